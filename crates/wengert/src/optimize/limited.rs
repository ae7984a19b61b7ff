//! What plans within a limit of memory ask for: loops that keep less, and stages that are computed again.

use std::sync::Arc;

pub(crate) use super::chain::Chain;
use super::segment::{Cuts, segmented};
use super::{Config, optimized};
use crate::primitives::Op;
use crate::program::{Program, everywhere};

/// What is [`ready`], with its loops in blocks of steps, this many times one in another; `None` if there is nothing to cut.
pub(crate) fn in_blocks(program: &Program, levels: usize) -> Option<Program> {
    let cut = segmented(program, Cuts::Levels(levels));
    (cut != *program).then(|| optimized(cut, &Config::default()))
}

/// Whether there is a loop backwards over one whose length is not known.
pub(crate) fn turns_back(program: &Program) -> bool {
    holds(program, &|op| matches!(op, Op::Unwind(_)))
}

/// Whether there is one that keeps as many carries as there are steps.
pub(crate) fn is_open_ended(program: &Program) -> bool {
    holds(program, &|op| matches!(op, Op::Unwind(unwind) if unwind.bounds.snapshots.is_none()))
}

/// Whether an operation is such, however deep inside.
fn holds(program: &Program, such: &impl Fn(&Op) -> bool) -> bool {
    let inside = |op: &Op| op.programs().into_iter().any(|program: &Arc<Program>| holds(program, such));
    program.eqns().iter().any(|eqn| such(&eqn.op) || inside(&eqn.op))
}

/// The Program whose loops of unknown length keep this many carries at most, where none of them says how many.
pub(crate) fn with_snapshots(program: &Program, snapshots: usize) -> Program {
    everywhere(program.clone(), &|mut program| {
        for eqn in &mut program.eqns {
            if let Op::Unwind(unwind) = &mut eqn.op {
                unwind.bounds.snapshots.get_or_insert(snapshots);
            }
        }
        program
    })
}
