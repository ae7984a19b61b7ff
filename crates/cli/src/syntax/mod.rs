//! The input language: text to tokens, tokens to a tree, and the tree back to text.
//!
//! A program is a list of statements, each ended by a line end or `;`. Inside parentheses and brackets line
//! ends count as blanks. A comment runs from `#` or `//` to the end of its line.
//!
//! ```text
//! input x1, x2            # optional: declares the inputs and their order
//! let a = x1 * x2         # `let` is optional
//! a = a * a
//! if x1 > 0 && a <= 3 { b = sin(a) } else { b = 0 }
//! return b, a + 1         # or a bare list of expressions as the last statement
//! ```
//!
//! Arrays are `[1, x, 3]` and `[[1, 2], [3, 4]]`; `A[0, 1:3]` is a part, `A.T` the transpose, `A @ B` the product.
//!
//! Operators, from the tightest: `[…]` and `.T` behind an operand; `^` (also `**`, groups to the right); `-` and `!` in front;
//! `*` `/` `%` `@`; `+` `-`; comparisons (one at a time); `&&`; `||`. So `-x^2` is `-(x^2)`, and
//! `2^-x` needs no parentheses.
//!
//! Nothing in these modules recurses along a chain of operators, and nesting is bounded by
//! [`parse::MAX_DEPTH`], so that no text can overflow the stack.

pub(crate) mod ast;
pub(crate) mod diagnostic;
pub(crate) mod functions;
mod parse;
#[cfg(test)]
mod print;
pub(crate) mod span;
mod token;

#[cfg(test)]
mod tests;

pub(crate) use parse::parse;
pub(crate) use token::is_name;
