//! Loops over long arrays, strip by strip: all steps of some elements, before the first step of the next ones.
//!
//! A step over a million paths streams a million numbers through the memory, and the next step streams them again; what the
//! derivative needs of every step lies there in between. Where every element goes its own way, the loops can change places
//! (strip mining and interchange; Allen and Kennedy, *Optimizing Compilers for Modern Architectures*, 2001, chapters 5 and 9):
//!
//! ```text
//! for t { c = step(c, x[t]) }; for t backwards { … }     over all lanes
//! for strips { for t { … }; for t backwards { … } }      over the lanes of a strip, whose numbers stay in the cache
//! ```
//!
//! A *lane* is a place along an axis that no equation of a *group* mixes with others, except in sums over all of them. A group
//! holds loops of a known number of steps, forwards and backwards, and the equations between them. It becomes a loop over strips
//! without a carry, so that threads take strips; a sum over lanes is one over the strips of sums over the lanes of a strip. How
//! long a strip is depends on the number of lanes alone, so bits depend neither on threads nor on limits of memory.

mod emit;
mod group;
mod kinds;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use super::{Config, optimized};
use crate::primitives::Op;
use crate::program::{Program, everywhere};
use group::Group;

/// Fewer lanes than this stay together: their numbers are in the cache anyway.
const MIN_LANES: usize = 1 << 15;

/// The lanes of a strip.
const STRIP: usize = 1024;

/// Loops that move fewer bytes than this through the memory stay as they are.
const MIN_BYTES: usize = 8 << 20;

/// Lanes, and how many of them are taken at once.
#[derive(Clone, Copy, Debug)]
struct Lanes {
    count: usize,
    strip: usize,
}

/// The Program, and those in it, with loops over long arrays taken strip by strip.
pub(crate) fn in_strips(program: Program) -> Program {
    if !has_long_loop(&program) {
        return program;
    }
    // From outside to inside: the outermost loops that can be taken in strips are.
    let program = of_long_loops(&program).unwrap_or(program);
    let program = everywhere(program, &|program| of_long_loops(&program).unwrap_or(program));
    optimized(program, &Config::default())
}

/// The Program with its own loops in strips; `None` if there are none.
fn of_long_loops(program: &Program) -> Option<Program> {
    lane_counts(program).into_iter().rev().find_map(|count| {
        let lanes = Lanes { count, strip: STRIP };
        let group = Group::of(program, lanes).filter(|group| group.is_worth(program))?;
        let rest = emit::emitted(program, &group)?;
        Some(of_long_loops(&rest).unwrap_or(rest))
    })
}

fn has_long_loop(program: &Program) -> bool {
    let inside = |op: &Op| op.programs().into_iter().any(|program| has_long_loop(program));
    !lane_counts(program).is_empty() || program.eqns().iter().any(|eqn| inside(&eqn.op))
}

/// How many lanes the loops of a Program may have: the lengths of what they carry.
fn lane_counts(program: &Program) -> BTreeSet<usize> {
    let mut counts = BTreeSet::new();
    for eqn in program.eqns() {
        match &eqn.op {
            Op::Scan(scan) => {
                let [_, carry, _] = scan.roles();
                let lengths = scan.body.input_types()[carry].iter().flat_map(|ty| &ty.shape);
                counts.extend(lengths.copied().filter(|&length| length >= MIN_LANES));
            }
            Op::Recompute(_) => counts.extend(lane_counts(eqn.op.programs()[0])),
            _ => {}
        }
    }
    counts
}
