//! The derivative planner: the ways to a sparse derivative, what each is predicted to take, and which is chosen.

mod prepare;

pub(super) use prepare::{choices, entries, prepare, whole};

use super::Method;
pub(super) use super::choice::{Choice, Work, table};
use crate::primitives::{Form, Op};
use crate::program::Program;

impl Work {
    /// Of a Program, as it is written: moves of elements are free, every other equation takes one operation for each
    /// element that it reads or writes, a contraction one for each product.
    pub(super) fn of(program: &Program) -> Work {
        let mut work = Work::default();
        for eqn in program.eqns() {
            let form = program.form(eqn);
            if matches!(form, Form::View | Form::Number) {
                continue;
            }
            let results = eqn.outs().map(|out| program.ty(out));
            let (sizes, bytes): (Vec<u64>, Vec<u64>) =
                results.map(|ty| (ty.size() as u64, (ty.size() * ty.dtype.size()) as u64)).unzip();
            let read = eqn.args.iter().map(|&arg| program.ty(arg).size() as u64).max().unwrap_or(0);
            let own = match &eqn.op {
                Op::Einsum(einsum) => {
                    let shapes = [&program.ty(eqn.args[0]).shape, &program.ty(eqn.args[1]).shape];
                    let labels = einsum.lhs().iter().zip(shapes[0]);
                    let gone = einsum.rhs().iter().zip(shapes[1]).filter(|(label, _)| !einsum.lhs().contains(label));
                    labels.chain(gone).map(|(_, &length)| length as u64).product()
                }
                op => {
                    let inside: u64 = op.programs().iter().map(|program| Work::of(program).operations).sum();
                    inside + read.max(sizes.iter().copied().max().unwrap_or(0))
                }
            };
            work.operations += own;
            work.bytes += bytes.iter().sum::<u64>();
        }
        work
    }

    /// This, and another one several times.
    pub(super) fn and(self, times: usize, other: Work) -> Work {
        let times = times as u64;
        Work {
            operations: self.operations.saturating_add(times.saturating_mul(other.operations)),
            bytes: self.bytes.saturating_add(times.saturating_mul(other.bytes)),
        }
    }
}

impl Choice {
    fn of(method: Method, passes: usize, work: Work, note: &str) -> Self {
        Choice { method, passes, work, note: note.to_owned(), possible: true }
    }

    fn impossible(method: Method, why: &str) -> Self {
        let note = format!("not possible: {why}");
        Choice { method, passes: 0, work: Work::default(), note, possible: false }
    }
}

/// The way that takes the fewest operations, among those that are possible.
pub(super) fn best(choices: &[Choice]) -> Option<&Choice> {
    choices.iter().filter(|choice| choice.possible).min_by_key(|choice| choice.work.operations)
}
