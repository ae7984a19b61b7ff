//! Fusion of lookups into regions, which read the rows where they lie.
//!
//! Rows of an array at indices, `x[i]`, are a value of a region like any elementwise result; the array and the indices must be
//! in memory before the region runs. So a message along the edges of a graph is computed from the rows of both ends in one
//! pass, and the rows are never written by themselves.

use wengert_kernels::region::{Granularity, Take};

use super::LINE;
use super::flatten::Flat;
use super::kernel::{bytes, kind};
use crate::primitives::{Gather, Op, OutOfBounds};
use crate::program::Value;

/// Whether an equation of a flattened Program looks up whole rows.
pub(super) fn is_take(flat: &Flat, k: usize) -> bool {
    let eqn = &flat.program.eqns()[k];
    let Op::Gather(Gather { batch: 0, axes, mode: OutOfBounds::Error | OutOfBounds::Fill }) = &eqn.op else {
        return false;
    };
    // What changes a part of an array does so in place after its readers, and a region may read late.
    let stays = |arg: &Value| {
        let view = &flat.views[arg.index()];
        flat.literals[arg.index()].is_none() && view.is_in_order() && !flat.changed[view.base.index()]
    };
    let [array, out] = [eqn.args[0], eqn.first].map(|value| flat.program.ty(value).size());
    // For a few rows no large array is kept that would not be there anyway.
    let lives = flat.stays[flat.views[eqn.args[0].index()].base.index()] || array <= out;
    axes[..] == [0] && eqn.args.iter().all(stays) && lives && array > 0 && out > 0
}

/// A lookup whose rows are worth looking up again instead of storing them: they are long beside their indices.
pub(super) struct Again {
    pub(super) array: Value,
    /// Bytes that are read of the array, in lines of the cache.
    pub(super) bytes: usize,
}

impl Again {
    /// Such an equation, if it is one.
    pub(super) fn of(flat: &Flat, k: usize) -> Option<Again> {
        const SHORTEST: usize = 4 * size_of::<i64>();
        let eqn = &flat.program.eqns()[k];
        let [array, indices] = eqn.args[..] else { return None };
        let row = bytes(flat.program.ty(eqn.first)).checked_div(flat.program.ty(indices).size())?;
        let array = flat.views[array.index()].base;
        let lines = flat.program.ty(indices).size().saturating_mul(row.next_multiple_of(LINE));
        let again = Again { array, bytes: lines.min(bytes(flat.program.ty(array))) };
        (is_take(flat, k) && row >= SHORTEST).then_some(again)
    }
}

/// The lookup of such an equation; `operand` gives the number of a stored value that the region reads.
pub(super) fn take(flat: &Flat, k: usize, level: Granularity, mut operand: impl FnMut(Value) -> u16) -> Take {
    let eqn = &flat.program.eqns()[k];
    let Op::Gather(gather) = &eqn.op else { unreachable!("`{:?}` is no lookup", eqn.op) };
    let [array, indices] = [0, 1].map(|k| &flat.views[eqn.args[k].index()]);
    let count = array.shape[0];
    Take {
        array: operand(array.base),
        offset: array.offset,
        count,
        size: array.count() / count,
        indices: operand(indices.base),
        first: indices.offset,
        kind: kind(flat.program.ty(eqn.first).dtype),
        level,
        must: gather.mode == OutOfBounds::Error,
    }
}

#[cfg(all(test, feature = "text"))]
mod tests;
