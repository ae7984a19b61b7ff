//! Runs loops over short vectors: straight-line code over rows of numbers, once for every step.

use wengert_kernels::arena::{Carver, Line as Lines, typed_mut};
use wengert_kernels::region::{Slice, SliceMut};

use super::single::{number, store};
use crate::plan::{RowFeed, RowSteps, ScanPlan, StoredRow};

/// Runs a loop of a known number of steps.
pub(super) fn scan(
    plan: &ScanPlan,
    steps: &RowSteps,
    reads: &[Slice<'_>],
    writes: &mut [SliceMut<'_>],
    scratch: &mut [Lines],
) {
    let (invariants, varying) = reads.split_at(plan.invariants);
    let (starts, rows) = varying.split_at(plan.carry.len());
    let (results, stacked) = writes.split_at_mut(plan.carry.len());
    if plan.length == 0 {
        results.iter_mut().zip(starts).for_each(|(result, &start)| result.copy_from(start));
        return;
    }
    let code = &steps.code;
    let width = steps.width;
    let memory = typed_mut::<f64>(Carver::new(scratch).take(plan.arena.clone()), code.rows_memory(width));
    begin(memory, steps, invariants);
    for (feed, _) in &steps.carry {
        fill(memory, starts[feed.operand], 0, feed, steps);
    }
    let (carried, given) = steps.outputs.split_at(results.len());
    for step in 0..plan.length {
        let row = if plan.reverse { plan.length - 1 - step } else { step };
        for feed in &steps.rows {
            let start = row * plan.row_sizes[feed.operand];
            fill(memory, rows[feed.operand], start, feed, steps);
        }
        code.again_rows(memory, width);
        for ((out, stored), &size) in stacked.iter_mut().zip(given).zip(&plan.given_sizes) {
            stored.iter().for_each(|stored| put(memory, stored, steps, out, row * size));
        }
        for (feed, next) in &steps.carry {
            memory.copy_within(next * width..(next + 1) * width, feed.place * width);
        }
    }
    for (out, stored) in results.iter_mut().zip(carried) {
        stored.iter().for_each(|stored| put(memory, stored, steps, out, 0));
    }
}

/// Prepares memory for steps with these invariants.
pub(super) fn begin(memory: &mut [f64], steps: &RowSteps, invariants: &[Slice<'_>]) {
    steps.code.begin_rows(memory, steps.width);
    for feed in &steps.invariants {
        fill(memory, invariants[feed.operand], 0, feed, steps);
    }
}

pub(super) fn row_mut(memory: &mut [f64], place: usize, width: usize) -> &mut [f64] {
    &mut memory[place * width..(place + 1) * width]
}

/// Writes elements of an operand, counted from `start`, to their row; whatever is behind them are numbers like them.
#[inline(always)]
pub(super) fn fill(memory: &mut [f64], operand: Slice<'_>, start: usize, feed: &RowFeed, steps: &RowSteps) {
    let (row, count) = (row_mut(memory, feed.place, steps.width), steps.count);
    let first = start + feed.element;
    match (operand, feed.stride) {
        (operand, 0) => row.fill(number(operand, first)),
        (Slice::F64(x), 1) => match x.get(first..first + row.len()) {
            // A copy of a length that is a multiple of a line is a few instructions.
            Some(x) => copy(row, x),
            None => {
                row[..count].copy_from_slice(&x[first..first + count]);
                row[count..].fill(x[first]);
            }
        },
        (operand, stride) => {
            for (k, to) in row[..count].iter_mut().enumerate() {
                *to = number(operand, (first.cast_signed() + k.cast_signed() * stride).cast_unsigned());
            }
            let filler = row[0];
            row[count..].fill(filler);
        }
    }
}

/// Copies a row.
#[inline(always)]
fn copy(to: &mut [f64], from: &[f64]) {
    let (to, _) = to.as_chunks_mut::<8>();
    let (from, _) = from.as_chunks::<8>();
    to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
}

/// Writes a row as elements of a result, counted from `start`.
#[inline(always)]
pub(super) fn put(memory: &[f64], stored: &StoredRow, steps: &RowSteps, out: &mut SliceMut<'_>, start: usize) {
    let row = &memory[stored.place * steps.width..][..steps.count];
    let first = start + stored.element;
    match stored.stride {
        0 => store(&row[..1], out, first),
        1 => store(row, out, first),
        stride => row.iter().enumerate().for_each(|(k, &x)| store(&[x], out, first + k * stride)),
    }
}
