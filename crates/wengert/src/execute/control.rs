//! Runs the loops of a plan: the plan of a step again and again, in memory that is there before the first one.

use std::ops::Range;

use smallvec::SmallVec;
use wengert_kernels::arena::{Carver, Line as Lines, typed_mut};
use wengert_kernels::pool::Pool;
use wengert_kernels::region::{Slice, SliceMut};

use super::called::LoopStep;
use super::columns::{self, Records};
use super::engine::{PlanInputs, cast_mut, run};
use crate::error::{Error, ErrorKind};
use crate::plan::{CarryForwards, CarryPlan, Plan, ScanPlan, StepCode, UnwindPlan, Way, WhilePlan};

/// A part of the carry: the buffer of the result, and a second one if a step cannot write where it reads. Steps write to the
/// one and the other in turn, so that the last one writes the result.
struct Carry<'a> {
    result: SliceMut<'a>,
    other: Option<SliceMut<'a>>,
}

/// Runs a loop of a known number of steps.
pub(super) fn scan(
    plan: &ScanPlan,
    reads: &[Slice<'_>],
    writes: &mut [SliceMut<'_>],
    scratch: &mut [Lines],
    pool: &Pool,
) -> Result<(), Error> {
    match &plan.code {
        Some(StepCode::Numbers(numbers)) => {
            super::single::scan(plan, numbers, reads, writes, scratch);
            return Ok(());
        }
        Some(StepCode::Rows(rows)) => {
            super::rows::scan(plan, rows, reads, writes, scratch);
            return Ok(());
        }
        None => {}
    }
    if plan.workers > 1 {
        return super::apart::scan(plan, reads, writes, scratch, pool);
    }
    let (invariants, varying) = reads.split_at(plan.invariants);
    let (starts, rows) = varying.split_at(plan.carry.len());
    let (results, stacked) = writes.split_at_mut(plan.carry.len());
    let mut carver = Carver::new(scratch);
    let mut carry: SmallVec<[Carry<'_>; 4]> = SmallVec::new();
    for (result, part) in results.iter_mut().zip(&plan.carry) {
        let other = part.second.clone().map(|lines| cast_mut(carver.take(lines), part.kind, part.count));
        carry.push(Carry { result: result.reborrow(), other });
    }
    let arena = carver.take(plan.arena.clone());
    // What stays in one buffer, and what no step writes, begins there.
    for (part, &start) in carry.iter_mut().zip(starts) {
        if part.other.is_none() || plan.length == 0 {
            part.result.copy_from(start);
        }
    }
    for step in 0..plan.length {
        let row = if plan.reverse { plan.length - 1 - step } else { step };
        let ends_in_result = (plan.length - 1 - step).is_multiple_of(2);
        let mut inputs = Inputs::from_slice(invariants);
        let mut outputs: Outputs<'_> = SmallVec::new();
        for (part, &start) in carry.iter_mut().zip(starts) {
            let (from, to) = match (&mut part.other, ends_in_result) {
                (None, _) => {
                    inputs.push(Slice::U8(&[]));
                    outputs.push(part.result.reborrow());
                    continue;
                }
                (Some(other), true) => (&*other, &mut part.result),
                (Some(other), false) => (&part.result, other),
            };
            inputs.push(if step == 0 { start } else { from.read() });
            outputs.push(to.reborrow());
        }
        for (rows, size) in rows.iter().zip(&plan.row_sizes) {
            inputs.push(rows.range(row * size..(row + 1) * size));
        }
        for (rows, size) in stacked.iter_mut().zip(&plan.given_sizes) {
            outputs.push(rows.range(row * size..(row + 1) * size));
        }
        run(&plan.body, PlanInputs::Slices(&inputs), &mut outputs, &mut *arena, pool, None)?;
    }
    Ok(())
}

/// A part of the carry of a loop whose number of steps is not known.
pub(super) struct Turning<'a> {
    /// The newest value.
    now: SliceMut<'a>,
    /// Where the next one is written, and then they change places; none if a step writes where it reads.
    next: Option<SliceMut<'a>>,
    /// Whether one of the buffers is that of a result, and it is the second one now.
    is_result: bool,
    is_turned: bool,
}

pub(super) type Inputs<'a> = SmallVec<[Slice<'a>; 24]>;
pub(super) type Outputs<'a> = SmallVec<[SliceMut<'a>; 24]>;

/// The parts of a carry in their buffers, which hold the values of the start.
pub(super) fn turning<'a>(
    parts: &[CarryPlan],
    given: &[Option<usize>],
    starts: &[Slice<'_>],
    writes: &mut [Option<SliceMut<'a>>],
    carver: &mut Carver<'a>,
) -> SmallVec<[Turning<'a>; 4]> {
    let seconds: SmallVec<[Option<SliceMut<'a>>; 4]> =
        parts.iter().map(|part| buffer(part, &part.second, carver)).collect();
    let mut carry = SmallVec::new();
    for (((part, &given), &start), next) in parts.iter().zip(given).zip(starts).zip(seconds) {
        let mut now = match given {
            Some(k) => writes[k].take().expect("a result is written by one part"),
            None => buffer(part, &part.first, carver).expect("what is no result has a buffer of its own"),
        };
        now.copy_from(start);
        carry.push(Turning { now, next, is_result: given.is_some(), is_turned: false });
    }
    carry
}

fn buffer<'a>(part: &CarryPlan, lines: &Option<Range<usize>>, carver: &mut Carver<'a>) -> Option<SliceMut<'a>> {
    lines.clone().map(|lines| cast_mut(carver.take(lines), part.kind, part.count))
}

impl<'a> Turning<'a> {
    /// The newest value.
    pub(super) fn now(&self) -> Slice<'_> {
        self.now.read()
    }

    /// The newest value, to be written.
    pub(super) fn now_mut(&mut self) -> SliceMut<'_> {
        self.now.reborrow()
    }

    /// Makes this the newest value.
    pub(super) fn set(&mut self, value: Slice<'_>) {
        self.now.copy_from(value);
    }

    /// What a step reads and writes.
    pub(super) fn pass<'b>(&'b mut self, inputs: &mut Inputs<'b>, outputs: &mut Outputs<'b>) {
        match &mut self.next {
            Some(next) => {
                inputs.push(self.now.read());
                outputs.push(next.reborrow());
            }
            None => {
                inputs.push(Slice::U8(&[]));
                outputs.push(self.now.reborrow());
            }
        }
    }

    pub(super) fn turn(&mut self) {
        if let Some(next) = &mut self.next {
            std::mem::swap(&mut self.now, next);
            self.is_turned = !self.is_turned;
        }
    }

    /// Puts the last value where the result is.
    pub(super) fn end(&mut self) {
        if let Some(next) = &mut self.next
            && self.is_result
            && self.is_turned
        {
            next.copy_from(self.now.read());
        }
    }
}

/// The results, each to be written by one part of a carry.
pub(super) fn each<'a>(writes: &'a mut [SliceMut<'_>]) -> SmallVec<[Option<SliceMut<'a>>; 8]> {
    writes.iter_mut().map(|out| Some(out.reborrow())).collect()
}

/// Asks whether a loop takes a step at all.
pub(super) fn begins(
    condition: &Plan,
    inputs: &[Slice<'_>],
    answer: &mut [u8],
    arena: &mut [Lines],
    pool: &Pool,
) -> Result<(), Error> {
    run(condition, PlanInputs::Slices(inputs), &mut [SliceMut::U8(answer)], arena, pool, None)
}

pub(super) fn endless(operation: &str, limit: usize) -> Error {
    let why = format!("the loop has not ended after {limit} steps, which is its limit");
    Error::new(ErrorKind::Run, operation, why)
}

/// Runs a loop as long as its condition holds. What it keeps for a loop backwards is added to the records.
pub(super) fn repeat(
    plan: &WhilePlan,
    reads: &[Slice<'_>],
    writes: &mut [SliceMut<'_>],
    scratch: &mut [Lines],
    (pool, records): (&Pool, &mut Records),
) -> Result<(), Error> {
    let mut writes = each(writes);
    let mut carver = Carver::new(scratch);
    let answer = typed_mut::<u8>(carver.take(0..plan.answer), 1);
    let parts = match &plan.carry {
        CarryForwards::Passes(parts) => parts,
        CarryForwards::Stays(columns, number) => {
            let way = (&plan.forwards, columns, plan.invariants);
            let record =
                columns::forwards(way, reads, (&plan.given, &mut writes), (carver, answer, plan.arena.clone()), pool)?;
            if records.len() <= *number {
                records.resize_with(number + 1, || None);
            }
            records[*number] = Some(record);
            return Ok(());
        }
    };
    let (invariants, starts) = reads.split_at(plan.invariants);
    let mut carry = turning(parts, &plan.given, starts, &mut writes, &mut carver);
    let arena = carver.take(plan.arena.clone());
    let mut step = LoopStep::new(&plan.forwards.step, &plan.forwards.code, &mut carver, invariants);
    let mut steps = 0;
    begins(&plan.forwards.condition, reads, answer, arena, pool)?;
    if let Some(mut step) = step.carried(starts) {
        let mut goes_on = answer[0] != 0;
        while goes_on {
            if plan.forwards.limit == Some(steps) {
                return Err(endless("while", steps));
            }
            step.run(|_| unreachable!("all that changes is carried"));
            goes_on = step.holds(carry.len());
            steps += 1;
            // The last results stay where they are.
            if goes_on {
                step.turn();
            }
        }
        if steps > 0 {
            carry.iter_mut().enumerate().for_each(|(k, part)| step.store(k, &mut part.now_mut()));
        }
        return Ok(());
    }
    while answer[0] != 0 {
        if plan.forwards.limit == Some(steps) {
            return Err(endless("while", steps));
        }
        let (mut inputs, mut outputs): (Inputs<'_>, Outputs<'_>) = (Inputs::from_slice(invariants), SmallVec::new());
        carry.iter_mut().for_each(|part| part.pass(&mut inputs, &mut outputs));
        outputs.push(SliceMut::U8(answer));
        step.run(&inputs, &mut outputs, arena, pool)?;
        drop((inputs, outputs));
        carry.iter_mut().for_each(Turning::turn);
        steps += 1;
    }
    carry.iter_mut().for_each(Turning::end);
    Ok(())
}

/// Runs a loop forwards, keeps what one backwards needs, and runs that.
pub(super) fn unwind(
    plan: &UnwindPlan,
    reads: &[Slice<'_>],
    writes: &mut [SliceMut<'_>],
    scratch: &mut [Lines],
    (pool, records): (&Pool, &mut Records),
) -> Result<(), Error> {
    let (forth, back_starts) = reads.split_at(plan.invariants + plan.carry.len());
    let (given, given_back) = plan.given.split_at(plan.carry.len());
    let record = match &plan.way {
        Way::Some(forwards, snapshots) => {
            return super::snapshots::unwind(plan, (forwards, snapshots), reads, writes, scratch, pool);
        }
        Way::All(forwards, columns) => {
            let mut writes = each(writes);
            let mut carver = Carver::new(&mut *scratch);
            let answer = typed_mut::<u8>(carver.take(0..plan.answer), 1);
            let way = (forwards, columns, plan.invariants);
            columns::forwards(way, forth, (given, &mut writes), (carver, answer, plan.arena.clone()), pool)?
        }
        Way::Before(number) => records[*number].take().expect("the loop forwards has run"),
    };
    let mut writes = each(writes);
    let mut carver = Carver::new(scratch);
    let mut back = turning(&plan.back, given_back, back_starts, &mut writes, &mut carver);
    let arena = carver.take(plan.arena.clone());
    let invariants = &reads[..plan.invariants];
    let mut second = LoopStep::new(&plan.second, &plan.second_code, &mut carver, invariants);
    if let Some(mut second) = second.carried(back_starts) {
        for step in (0..record.steps()).rev() {
            second.run(|row| record.row(row, step));
            if step > 0 {
                second.turn();
            }
        }
        if record.steps() > 0 {
            back.iter_mut().enumerate().for_each(|(k, part)| second.store(k, &mut part.now_mut()));
        }
        return Ok(());
    }
    for step in (0..record.steps()).rev() {
        let (mut inputs, mut outputs) = (Inputs::from_slice(invariants), Outputs::new());
        record.read(step, &mut inputs);
        back.iter_mut().for_each(|part| part.pass(&mut inputs, &mut outputs));
        second.run(&inputs, &mut outputs, arena, pool)?;
        drop((inputs, outputs));
        back.iter_mut().for_each(Turning::turn);
    }
    back.iter_mut().for_each(Turning::end);
    Ok(())
}
