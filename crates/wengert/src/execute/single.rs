//! Runs loops over a few numbers: straight-line code, once for every step.

use wengert_kernels::arena::{Carver, Line as Lines, typed_mut};
use wengert_kernels::region::{Slice, SliceMut};

use crate::plan::{Feed, NumberSteps, ScanPlan};

/// Runs a loop of a known number of steps.
pub(super) fn scan(
    plan: &ScanPlan,
    numbers: &NumberSteps,
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
    let code = &numbers.code;
    let memory = typed_mut::<f64>(Carver::new(scratch).take(plan.arena.clone()), code.memory());
    begin(memory, numbers, invariants);
    feed(memory, &numbers.carry, starts);
    let (carried, given) = numbers.outputs.split_at(results.len());
    for step in 0..plan.length {
        let row = if plan.reverse { plan.length - 1 - step } else { step };
        for feed in &numbers.rows {
            memory[feed.place] = number(rows[feed.operand], row * plan.row_sizes[feed.operand] + feed.element);
        }
        let valid = code.again(memory);
        debug_assert!(valid, "there are no guards in a step");
        for ((out, &first), &size) in stacked.iter_mut().zip(given).zip(&plan.given_sizes) {
            store(&memory[first..first + size], out, row * size);
        }
        for feed in &numbers.carry {
            memory[feed.place] = memory[carried[feed.operand] + feed.element];
        }
    }
    for ((out, &first), part) in results.iter_mut().zip(carried).zip(&plan.carry) {
        store(&memory[first..first + part.count], out, 0);
    }
}

/// Prepares memory for steps with these invariants.
pub(super) fn begin(memory: &mut [f64], numbers: &NumberSteps, invariants: &[Slice<'_>]) {
    numbers.code.begin(memory);
    feed(memory, &numbers.invariants, invariants);
}

/// Writes elements of operands to their places.
fn feed(memory: &mut [f64], feeds: &[Feed], operands: &[Slice<'_>]) {
    for feed in feeds {
        memory[feed.place] = number(operands[feed.operand], feed.element);
    }
}

/// An element as a number: a condition is 1 or 0, an integer the real number that it is converted to.
#[inline(always)]
pub(super) fn number(operand: Slice<'_>, element: usize) -> f64 {
    match operand {
        Slice::F64(x) => x[element],
        Slice::U8(x) => f64::from(x[element]),
        Slice::I64(x) => x[element] as f64,
        Slice::F32(_) | Slice::Output(_) => unreachable!("a step over numbers in double precision"),
    }
}

/// An operand that is one integer or condition, which is 1 or 0.
#[inline(always)]
pub(super) fn integer(operand: Slice<'_>) -> i64 {
    match operand {
        Slice::I64(x) => x[0],
        Slice::U8(x) => i64::from(x[0]),
        Slice::F32(_) | Slice::F64(_) | Slice::Output(_) => unreachable!("a register holds an integer"),
    }
}

/// Writes a result that is one integer or condition.
#[inline(always)]
pub(super) fn store_integer(number: i64, out: &mut SliceMut<'_>) {
    match out {
        SliceMut::I64(out) => out[0] = number,
        SliceMut::U8(out) => out[0] = u8::from(number != 0),
        SliceMut::F32(_) | SliceMut::F64(_) => unreachable!("a register holds an integer"),
    }
}

/// Writes numbers as elements of a result, from this one on.
#[inline(always)]
pub(super) fn store(numbers: &[f64], out: &mut SliceMut<'_>, from: usize) {
    match out {
        SliceMut::F64(out) => out[from..from + numbers.len()].copy_from_slice(numbers),
        SliceMut::U8(out) => {
            let out = &mut out[from..from + numbers.len()];
            out.iter_mut().zip(numbers).for_each(|(out, &number)| *out = u8::from(number != 0.0));
        }
        SliceMut::I64(_) | SliceMut::F32(_) => unreachable!("a step over numbers in double precision"),
    }
}
