//! Loops in blocks of steps: what the reverse of a loop reads of every step is computed again, block by block, instead of being
//! kept for all steps.
//!
//! A loop that is differentiated becomes two (`Scan::split`): one forwards, which stacks the residuals of its steps, and one
//! backwards, which reads them row by row. Of n steps in blocks of k, the first one keeps its carry at the n/k beginnings of
//! blocks. The second one computes the residuals of a block again from there, and then takes its own steps over the block:
//!
//! ```text
//! (c, S) = scan over blocks  { c -> scan over k steps, gives c at the beginning }
//! b      = scan over blocks, from the last { b, S[i] -> R = residuals of k steps from S[i]; scan over k steps of R, backwards }
//! ```
//!
//! That is n/k carries and k residuals instead of n residuals, for one more run forwards. Within a block the same is done again,
//! and so on: of the l-th level there are l more runs, and about (l + 1) n^(1/(l + 1)) of each. It is the multi-level scheme of
//! Griewank and Walther (*Evaluating Derivatives*, 2008, chapter 12), written as loops in loops: so it is an ordinary
//! Program, and its memory is what the plan of a Program says. No bit changes: every step runs as it did, in the same order,
//! and sums over steps go on from block to block.
//!
//! Several loops of one length can hang together, as in a second derivative: one backwards reads what another one backwards
//! stacks. They are cut at the same rows, and a block computes all again that it reads.

mod blocks;
mod ends;

use std::sync::Arc;

use crate::primitives::{Op, Scan};
use crate::program::{Program, Value, everywhere, inline};

/// How loops are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cuts {
    /// Those that say so, into blocks of [`Scan::every`] steps.
    Asked,
    /// All that saves memory, this many times one in another.
    #[cfg_attr(not(feature = "engine"), expect(dead_code, reason = "a limit of memory is one of plans"))]
    Levels(usize),
}

/// The Program with its loops, and those in the Programs inside, cut into blocks; the same if there is nothing to cut.
pub(crate) fn segmented(program: &Program, cuts: Cuts) -> Program {
    if !is_worth(program) {
        return program.clone();
    }
    everywhere(program.clone(), &|program| {
        if !is_worth(&program) {
            return program;
        }
        blocks::in_blocks(ends::apart(without_calls(program)), cuts)
    })
}

/// Whether a loop says how it is to be cut.
pub(crate) fn is_asked(program: &Program) -> bool {
    let inside = |op: &Op| op.programs().into_iter().any(|program: &Arc<Program>| is_asked(program));
    program.eqns().iter().any(|eqn| matches!(&eqn.op, Op::Scan(scan) if scan.every.is_some()) || inside(&eqn.op))
}

/// Whether there are two loops, of which one may read what the other one stacks.
fn is_worth(program: &Program) -> bool {
    let mut loops = 0;
    let mut inside = false;
    for eqn in program.eqns() {
        loops += usize::from(matches!(eqn.op, Op::Scan(_) | Op::Call(_)));
        inside |= eqn.op.programs().into_iter().any(|program: &Arc<Program>| is_worth(program));
    }
    loops > 1 || inside
}

/// The Program with calls written out: loops may stand in them.
pub(super) fn without_calls(program: Program) -> Program {
    if !program.eqns().iter().any(|eqn| matches!(eqn.op, Op::Call(_))) {
        return program;
    }
    let mut made = Made::of(&program);
    for eqn in program.eqns() {
        let args = made.values(&eqn.args);
        made.b.line = eqn.line;
        let results = match &eqn.op {
            Op::Call(call) => inline(&mut made.b, &call.program, &args),
            op => made.b.ops(op.clone(), &args),
        };
        made.extend(results.into_iter().map(Some));
    }
    without_calls(made.finish(&program))
}

/// A Program that is made again, with values that have gone.
struct Made {
    b: crate::program::Builder,
    values: Vec<Option<Value>>,
}

impl Made {
    fn of(program: &Program) -> Made {
        let mut b = crate::program::Builder::new();
        let values = crate::program::same_inputs(&mut b, program).into_iter().map(Some).collect();
        Made { b, values }
    }

    fn value(&self, old: Value) -> Value {
        self.values[old.index()].expect("what is read is made")
    }

    fn values(&self, old: &[Value]) -> Vec<Value> {
        old.iter().map(|&old| self.value(old)).collect()
    }

    fn extend(&mut self, results: impl Iterator<Item = Option<Value>>) {
        self.values.extend(results);
    }

    fn finish(self, program: &Program) -> Program {
        let outputs = self.values(program.outputs());
        crate::program::dce(self.b.finish(&outputs))
    }
}

/// Who reads each value: equations, and which operand it is. The results of a Program have a reader that is none.
fn readers(program: &Program) -> Vec<Vec<(usize, usize)>> {
    let mut readers = vec![Vec::new(); program.types.len()];
    for (k, eqn) in program.eqns().iter().enumerate() {
        eqn.args.iter().enumerate().for_each(|(operand, arg)| readers[arg.index()].push((k, operand)));
    }
    program.outputs().iter().for_each(|output| readers[output.index()].push((usize::MAX, 0)));
    readers
}

/// The loop of an equation.
fn scan_of(program: &Program, eqn: usize) -> Option<&Scan> {
    match &program.eqns().get(eqn)?.op {
        Op::Scan(scan) => Some(scan),
        _ => None,
    }
}
