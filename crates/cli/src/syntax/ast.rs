//! The tree of a program, kept in one flat vector.
//!
//! Expressions refer to each other by index, so that building, dropping and walking a chain of
//! a million operators needs no recursion.

use std::collections::HashMap;
use std::fmt;

use super::span::Span;

/// Index of an expression in [`Ast::expressions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct NodeId(pub(crate) u32);

/// Index of a name in [`Ast::names`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Symbol(pub(crate) u32);

/// A parsed program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ast {
    /// Every expression; operands stand before the expressions that use them.
    pub(crate) expressions: Vec<Expression>,
    /// Every name once.
    pub(crate) names: Vec<String>,
    /// The statements in order.
    pub(crate) body: Vec<Statement>,
    symbols: HashMap<String, Symbol>,
}

/// An expression and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Expression {
    /// What it is.
    pub(crate) kind: ExpressionKind,
    /// Where it stands, without parentheses around it.
    pub(crate) span: Span,
    /// Where it stands with all parentheses around it.
    pub(crate) outer: Span,
}

/// The forms of an expression. Parentheses leave no trace.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ExpressionKind {
    /// A number; never negative, infinite or NaN when it comes from the parser.
    Number(f64),
    /// A variable, an input or a constant.
    Name(Symbol),
    /// `-x` or `!x`.
    Prefix(Prefix, NodeId),
    /// `x + y` and its like.
    Infix(Infix, NodeId, NodeId),
    /// A call by name; the checker looks the name up.
    Call { name: Symbol, name_span: Span, arguments: Vec<NodeId> },
    /// `[x, y]`: an array of numbers, or of arrays of one shape.
    Array(Vec<NodeId>),
    /// `A[0, :]`: a part of an array.
    Part { array: NodeId, subscripts: Vec<Subscript> },
    /// `A.T`: the axes in the opposite order.
    Transposed(NodeId),
}

/// What stands for one axis in the brackets of a part. Numbers below zero count from the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subscript {
    /// `2`: one place; the axis goes.
    At(i64),
    /// `1:3`: places from the first up to, but without, the second; from the start or to the end if left out.
    Range(Option<i64>, Option<i64>),
}

impl fmt::Display for Subscript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bound = |bound: &Option<i64>| bound.map_or(String::new(), |bound| bound.to_string());
        match self {
            Self::At(place) => write!(f, "{place}"),
            Self::Range(start, end) => write!(f, "{}:{}", bound(start), bound(end)),
        }
    }
}

/// Operators in front of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prefix {
    /// `-`
    Neg,
    /// `!`
    Not,
}

#[cfg(test)]
impl Prefix {
    /// The operator as written.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Neg => "-",
            Self::Not => "!",
        }
    }
}

/// Operators between two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Infix {
    /// `||`
    Or,
    /// `&&`
    And,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `%`
    Rem,
    /// `@`, the product of vectors and matrices
    MatMul,
    /// `^`, also written `**`; the only one that groups to the right
    Pow,
}

/// How tightly the operators in front bind: between `*` and `^`.
pub(crate) const PREFIX_STRENGTH: u8 = 6;

impl Infix {
    /// Every operator between two operands.
    pub(crate) const ALL: &[Self] = &[
        Self::Or,
        Self::And,
        Self::Less,
        Self::LessEqual,
        Self::Greater,
        Self::GreaterEqual,
        Self::Equal,
        Self::NotEqual,
        Self::Add,
        Self::Sub,
        Self::Mul,
        Self::Div,
        Self::Rem,
        Self::MatMul,
        Self::Pow,
    ];

    /// The operator as written.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Or => "||",
            Self::And => "&&",
            Self::Less => "<",
            Self::LessEqual => "<=",
            Self::Greater => ">",
            Self::GreaterEqual => ">=",
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Add => "+",
            Self::Sub => "-",
            Self::Mul => "*",
            Self::Div => "/",
            Self::Rem => "%",
            Self::MatMul => "@",
            Self::Pow => "^",
        }
    }

    /// How tightly it binds; larger is tighter.
    pub(crate) fn strength(self) -> u8 {
        match self {
            Self::Or => 1,
            Self::And => 2,
            _ if self.is_comparison() => 3,
            Self::Add | Self::Sub => 4,
            Self::Mul | Self::Div | Self::Rem | Self::MatMul => 5,
            _ => 7,
        }
    }

    /// Whether it compares two numbers. Comparisons do not chain: `a < b < c` is refused.
    pub(crate) fn is_comparison(self) -> bool {
        use Infix::{Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};
        matches!(self, Less | LessEqual | Greater | GreaterEqual | Equal | NotEqual)
    }
}

/// A statement.
#[derive(Clone, Debug)]
pub(crate) enum Statement {
    /// `input x1, x2`
    Input(Vec<(Symbol, Span)>),
    /// `a = x1 * x2`, with or without `let`
    Assign { target: Symbol, target_span: Span, value: NodeId },
    /// `if c { } else if d { } else { }`
    If { arms: Vec<Arm>, otherwise: Option<Vec<Statement>> },
    /// `return b, a + 1`
    Return { span: Span, values: Vec<NodeId> },
    /// The expressions of a last line without `return`.
    Bare { values: Vec<NodeId> },
}

/// A condition and what happens where it holds.
#[derive(Clone, Debug)]
pub(crate) struct Arm {
    /// The condition.
    pub(crate) condition: NodeId,
    /// The statements in its braces.
    pub(crate) block: Vec<Statement>,
}

impl Ast {
    /// Adds an expression whose operands are already there.
    pub(crate) fn push(&mut self, kind: ExpressionKind, span: Span) -> NodeId {
        let id = NodeId(u32::try_from(self.expressions.len()).unwrap_or(u32::MAX));
        self.expressions.push(Expression { kind, span, outer: span });
        id
    }

    /// Notes that an expression stands in parentheses, which are here.
    pub(crate) fn enclose(&mut self, id: NodeId, parentheses: Span) {
        self.expressions[id.0 as usize].outer = parentheses;
    }

    /// The symbol of a name.
    pub(crate) fn intern(&mut self, name: &str) -> Symbol {
        if let Some(symbol) = self.symbols.get(name) {
            return *symbol;
        }
        let symbol = Symbol(u32::try_from(self.names.len()).unwrap_or(u32::MAX));
        self.names.push(name.to_owned());
        self.symbols.insert(name.to_owned(), symbol);
        symbol
    }

    /// The expression `id`.
    pub(crate) fn expression(&self, id: NodeId) -> &Expression {
        &self.expressions[id.0 as usize]
    }

    /// The name of `symbol`.
    pub(crate) fn name(&self, symbol: Symbol) -> &str {
        &self.names[symbol.0 as usize]
    }
}

impl ExpressionKind {
    /// The operands, left to right.
    pub(crate) fn operands(&self) -> Vec<NodeId> {
        match self {
            Self::Number(_) | Self::Name(_) => Vec::new(),
            Self::Prefix(_, x) => vec![*x],
            Self::Infix(_, x, y) => vec![*x, *y],
            Self::Call { arguments, .. } => arguments.clone(),
            Self::Array(elements) => elements.clone(),
            Self::Part { array, .. } => vec![*array],
            Self::Transposed(x) => vec![*x],
        }
    }
}
