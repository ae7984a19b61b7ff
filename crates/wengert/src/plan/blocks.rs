//! Fusion of padding and concatenation into regions, which read the elements in place.
//!
//! A padded or concatenated array is a value of a region like any elementwise result, but it takes its
//! elements from other positions than its own: its operands must be in memory before the region runs. So the gradient of a
//! stencil, a sum of arrays that are each padded on another side, is one pass over memory, and so is a stencil on a torus.

use wengert_kernels::region::{Block, Blocks, Granularity};

use super::flatten::Flat;
use super::kernel::kind;
use super::region::bits;
use super::view::View;
use crate::primitives::{Concat, Op, Pad};
use crate::program::Value;

/// Whether a padded array is a block inside of numbers. `is_number` says of an operand that it is one number everywhere.
pub(super) fn pads(pad: &Pad, shape: &[usize], is_number: [bool; 2]) -> bool {
    let kept = |axis: usize| kept(pad, shape, axis).is_some_and(|(_, length)| length > 0);
    is_number == [false, true]
        && pad.interior.iter().all(|&count| count == 0)
        && shape.len() <= Blocks::MAX_AXES
        && (0..shape.len()).all(kept)
}

/// Of the operand of a padding, along an axis: the first index that is kept, and how many are.
fn kept(pad: &Pad, shape: &[usize], axis: usize) -> Option<(usize, usize)> {
    let cut = |count: i64| usize::try_from(-count.min(0)).ok();
    let (first, last) = (cut(pad.low[axis])?, cut(pad.high[axis])?);
    Some((first, shape[axis].saturating_sub(first).saturating_sub(last)))
}

/// Whether an equation of a flattened Program is assembled from blocks.
pub(super) fn is_blocks(flat: &Flat, k: usize) -> bool {
    let eqn = &flat.program.eqns()[k];
    let is_number = |arg: Value| flat.literals[arg.index()].is_some();
    match &eqn.op {
        Op::Pad(pad) => {
            let [x, fill] = [eqn.args[0], eqn.args[1]];
            pads(pad, &flat.program.ty(x).shape, [x, fill].map(is_number))
        }
        Op::Concat(_) => {
            let fits = |&arg: &Value| !is_number(arg) && flat.program.ty(arg).size() > 0;
            eqn.args.len() <= Blocks::MAX_BLOCKS
                && flat.program.ty(eqn.first).shape.len() <= Blocks::MAX_AXES
                && eqn.args.iter().all(fits)
        }
        _ => false,
    }
}

/// The blocks of such an equation; `operand` gives the number of a stored value that the region reads.
pub(super) fn blocks(flat: &Flat, k: usize, level: Granularity, operand: impl FnMut(Value) -> u16) -> Blocks {
    let eqn = &flat.program.eqns()[k];
    let ty = flat.program.ty(eqn.first);
    let views = || eqn.args.iter().map(|arg| &flat.views[arg.index()]);
    let (fill, blocks) = match &eqn.op {
        Op::Pad(pad) => {
            let fill = flat.literals[eqn.args[1].index()].expect("what is around a block is a number");
            (Some(bits(fill)), vec![padded(pad, &flat.views[eqn.args[0].index()], operand)])
        }
        Op::Concat(concat) => (None, joined(*concat, views(), operand)),
        op => unreachable!("`{op:?}` is not put together of blocks"),
    };
    Blocks::new(kind(ty.dtype), level, &ty.shape, fill, blocks).expect("padding and joining fit their results")
}

fn padded(pad: &Pad, view: &View, mut operand: impl FnMut(Value) -> u16) -> Block {
    let (mut offset, mut low, mut lengths) = (view.offset.cast_signed(), Vec::new(), Vec::new());
    for axis in 0..view.shape.len() {
        let (first, length) = kept(pad, &view.shape, axis).expect("a padding of an array that exists");
        offset += first.cast_signed() * view.strides[axis];
        low.push(usize::try_from(pad.low[axis]).unwrap_or(0));
        lengths.push(length);
    }
    Block { operand: operand(view.base), low, lengths, offset: offset.cast_unsigned(), strides: view.strides.to_vec() }
}

fn joined<'v>(
    concat: Concat,
    views: impl Iterator<Item = &'v View>,
    mut operand: impl FnMut(Value) -> u16,
) -> Vec<Block> {
    let mut at = 0;
    let block = |view: &View| {
        let mut low = vec![0; view.shape.len()];
        low[concat.axis] = at;
        at += view.shape[concat.axis];
        Block {
            operand: operand(view.base),
            low,
            lengths: view.shape.to_vec(),
            offset: view.offset,
            strides: view.strides.to_vec(),
        }
    };
    views.map(block).collect()
}

#[cfg(all(test, feature = "text"))]
pub(super) mod tests;
