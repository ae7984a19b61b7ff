//! Loop rerolling: straight-line code that repeats itself becomes a loop.
//!
//! A loop of Rust is recorded step by step: ten thousand steps of seven operations are seventy thousand equations, each of
//! which would be differentiated, optimised and planned. Nearly always they are the same seven, on operands that move along
//! with the step, and then they are one [`Scan`](crate::primitives::Scan):
//!
//! ```text
//! u1 = f(u0, w); u2 = f(u1, w); …; un = f(u(n-1), w)      becomes      un = scan over n steps { u -> f(u, w) } from u0
//! ```
//!
//! That is the inverse of loop unrolling (rerolling, as compilers know it; Cooper and Torczon, *Engineering a Compiler*, 2011,
//! §8.5, has what it inverts). The rest of the system then sees a loop as if it had been written as one: its derivative is a
//! loop, it is planned once, and a limit of memory cuts it into blocks. Every step computes what it did, so values keep
//! their bits; sums of cotangents are taken step by step, as a loop's are.
//!
//! An operand of an equation of a step may be
//!
//! - a value of this step, or of one of the steps before, always as many steps back: the loop carries it;
//! - a value from before the loop, the same in every step: an invariant;
//! - the next slice of an array, along any axis and with any stride: a row;
//! - a value from before the loop that each step has for itself, such as a number: these are put into an array, whose rows
//!   they are.
//!
//! What is read of the steps behind the loop is the last carry, or stacked by the loop: one or two values of each step. Where
//! these are put next to each other (`stack`, `concat`), the stack is taken as it is.

mod choose;
mod emit;
mod period;

use crate::program::{Program, dce};
use choose::Loop;
use period::List;

/// What is worth being a loop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Least {
    /// It has this many steps,
    pub(crate) steps: usize,
    /// with this many equations in all of them.
    pub(crate) equations: usize,
}

/// Below this a plan of all steps takes milliseconds to make, and may join what stands in neighbouring steps.
const LEAST: Least = Least { steps: 64, equations: 512 };

/// Nested loops are found from the inside out, up to this many one in another.
const MAX_ROUNDS: usize = 4;

/// The Program with its repetitions as loops; `None` if there are none.
pub(crate) fn rolled(program: &Program) -> Option<Program> {
    rolled_from(program, LEAST)
}

/// As [`rolled`], from this size on.
pub(crate) fn rolled_from(program: &Program, least: Least) -> Option<Program> {
    let mut rolled = once(program, least)?;
    // Steps that hold a loop repeat themselves too.
    for _ in 1..MAX_ROUNDS {
        match once(&rolled, least) {
            Some(again) => rolled = again,
            None => break,
        }
    }
    Some(rolled)
}

fn once(program: &Program, least: Least) -> Option<Program> {
    if program.eqns().len() < least.equations {
        return None;
    }
    let list = List::of(program);
    let loops = list.loops(least, |repeat, before: &[Loop<'_>]| Loop::of(&list, repeat, before));
    if loops.is_empty() {
        return None;
    }
    Some(dce(emit::emitted(program, &loops)?))
}

impl Program {
    /// The same values with repeated code as loops: equations that repeat themselves at least this many times, each time on
    /// what the time before gave, become one [`Scan`](crate::primitives::Scan).
    ///
    /// A repetition is sure to be found if there are 12 or more of it. Drivers and [`compile`](crate::compile()) do this by themselves to what they record, from 64 repetitions with 512
    /// equations on.
    ///
    /// ```
    /// use wengert::Program;
    /// let text = "program(v0: f64[2]) {
    ///   v1: f64[2] = sin v0
    ///   v2: f64[2] = sin v1
    ///   v3: f64[2] = sin v2
    ///   v4: f64[2] = sin v3
    ///   v5: f64[2] = sin v4
    ///   v6: f64[2] = sin v5
    ///   v7: f64[2] = sin v6
    ///   v8: f64[2] = sin v7
    ///   return v8
    /// }";
    /// let program: Program = text.parse()?;
    /// assert_eq!(program.rolled(4).count(), 2, "a loop, and what it does: {}", program.rolled(4));
    /// # Ok::<(), wengert::Error>(())
    /// ```
    #[must_use]
    pub fn rolled(&self, steps: usize) -> Program {
        let steps = steps.max(2);
        rolled_from(self, Least { steps, equations: steps }).unwrap_or_else(|| self.clone())
    }
}
