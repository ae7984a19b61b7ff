//! Runs the loops of a plan: the plan of a step again and again, in memory that is there before the first one.

use std::ops::Range;

use smallvec::SmallVec;
use wengert_kernels::arena::{Carver, Line as Lines, typed_mut};
use wengert_kernels::pool::Pool;
use wengert_kernels::region::{Kind, Slice, SliceMut};

use super::engine::{PlanInputs, cast_mut, run};
use crate::error::{Error, ErrorKind};
use crate::plan::{CarryPlan, Plan, ScanPlan, UnwindPlan, WhilePlan};

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
    if let Some(numbers) = &plan.numbers {
        super::single::scan(plan, numbers, reads, writes, scratch);
        return Ok(());
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
        inputs.extend(rows.iter().zip(&plan.row_sizes).map(|(rows, size)| rows.range(row * size..(row + 1) * size)));
        let given = stacked.iter_mut().zip(&plan.given_sizes);
        outputs.extend(given.map(|(rows, size)| rows.range(row * size..(row + 1) * size)));
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

/// Runs a loop as long as its condition holds.
pub(super) fn repeat(
    plan: &WhilePlan,
    reads: &[Slice<'_>],
    writes: &mut [SliceMut<'_>],
    scratch: &mut [Lines],
    pool: &Pool,
) -> Result<(), Error> {
    let (invariants, starts) = reads.split_at(plan.invariants);
    let mut writes: SmallVec<[Option<SliceMut<'_>>; 8]> = writes.iter_mut().map(|out| Some(out.reborrow())).collect();
    let mut carver = Carver::new(scratch);
    let answer = typed_mut::<u8>(carver.take(0..plan.answer), 1);
    let mut carry = turning(&plan.carry, &plan.given, starts, &mut writes, &mut carver);
    let arena = carver.take(plan.arena.clone());
    let mut steps = 0;
    begins(&plan.condition, reads, answer, arena, pool)?;
    while answer[0] != 0 {
        if plan.limit == Some(steps) {
            return Err(endless("while", steps));
        }
        let (mut inputs, mut outputs): (Inputs<'_>, Outputs<'_>) = (Inputs::from_slice(invariants), SmallVec::new());
        carry.iter_mut().for_each(|part| part.pass(&mut inputs, &mut outputs));
        outputs.push(SliceMut::U8(answer));
        run(&plan.body, PlanInputs::Slices(&inputs), &mut outputs, &mut *arena, pool, None)?;
        drop((inputs, outputs));
        carry.iter_mut().for_each(Turning::turn);
        steps += 1;
    }
    carry.iter_mut().for_each(Turning::end);
    Ok(())
}

/// What a part of the carry was before every step, one value after the other.
enum Trajectory {
    U8(Vec<u8>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

macro_rules! for_trajectory {
    ($of:expr, $numbers:ident => $body:expr) => {
        match $of {
            Trajectory::U8($numbers) => $body,
            Trajectory::I64($numbers) => $body,
            Trajectory::F32($numbers) => $body,
            Trajectory::F64($numbers) => $body,
        }
    };
}

impl Trajectory {
    fn new(kind: Kind) -> Self {
        match kind {
            Kind::U8 => Trajectory::U8(Vec::new()),
            Kind::I64 => Trajectory::I64(Vec::new()),
            Kind::F32 => Trajectory::F32(Vec::new()),
            Kind::F64 => Trajectory::F64(Vec::new()),
        }
    }

    /// Makes room for one more value of this many elements.
    fn grow(&mut self, count: usize) -> Result<(), Error> {
        let has_room = for_trajectory!(self, numbers => {
            let has_room = numbers.try_reserve(count).is_ok();
            if has_room {
                numbers.resize(numbers.len() + count, Default::default());
            }
            has_room
        });
        if has_room {
            return Ok(());
        }
        let why = "there is no memory for what a loop keeps of its steps".to_owned();
        Err(Error::new(ErrorKind::Unavailable, "unwind", why).of_memory())
    }

    /// The value before a step, of this many elements.
    fn read(&self, step: usize, count: usize) -> Slice<'_> {
        let all = match self {
            Trajectory::U8(x) => Slice::U8(x),
            Trajectory::I64(x) => Slice::I64(x),
            Trajectory::F32(x) => Slice::F32(x),
            Trajectory::F64(x) => Slice::F64(x),
        };
        all.range(step * count..(step + 1) * count)
    }

    /// The last value but one, and the last one to be written.
    fn last_two(&mut self, count: usize) -> (Slice<'_>, SliceMut<'_>) {
        macro_rules! split {
            ($numbers:expr, $kind:ident) => {{
                let start = $numbers.len() - count;
                let (before, last) = $numbers.split_at_mut(start);
                (Slice::$kind(&before[before.len() - count..]), SliceMut::$kind(last))
            }};
        }
        match self {
            Trajectory::U8(x) => split!(x, U8),
            Trajectory::I64(x) => split!(x, I64),
            Trajectory::F32(x) => split!(x, F32),
            Trajectory::F64(x) => split!(x, F64),
        }
    }

    /// The last value, to be written.
    fn last(&mut self, count: usize) -> SliceMut<'_> {
        match self {
            Trajectory::U8(x) => SliceMut::U8(last_of(x, count)),
            Trajectory::I64(x) => SliceMut::I64(last_of(x, count)),
            Trajectory::F32(x) => SliceMut::F32(last_of(x, count)),
            Trajectory::F64(x) => SliceMut::F64(last_of(x, count)),
        }
    }
}

fn last_of<T>(numbers: &mut [T], count: usize) -> &mut [T] {
    let start = numbers.len() - count;
    &mut numbers[start..]
}

/// Runs a loop forwards, keeps its carries, and runs one backwards over them.
pub(super) fn unwind(
    plan: &UnwindPlan,
    reads: &[Slice<'_>],
    writes: &mut [SliceMut<'_>],
    scratch: &mut [Lines],
    pool: &Pool,
) -> Result<(), Error> {
    if let Some(snapshots) = &plan.kept {
        return super::snapshots::unwind(plan, snapshots, reads, writes, scratch, pool);
    }
    let (invariants, starts) = reads.split_at(plan.invariants);
    let (starts, back_starts) = starts.split_at(plan.carry.len());
    let mut writes: SmallVec<[Option<SliceMut<'_>>; 8]> = writes.iter_mut().map(|out| Some(out.reborrow())).collect();
    let mut carver = Carver::new(scratch);
    let answer = typed_mut::<u8>(carver.take(0..plan.answer), 1);
    let (given, given_back) = plan.given.split_at(plan.carry.len());
    let mut back = turning(&plan.back, given_back, back_starts, &mut writes, &mut carver);
    let arena = carver.take(plan.arena.clone());
    let mut kept: SmallVec<[Trajectory; 4]> = plan.carry.iter().map(|&(kind, _)| Trajectory::new(kind)).collect();
    for ((kept, &(_, count)), &start) in kept.iter_mut().zip(&plan.carry).zip(starts) {
        kept.grow(count)?;
        kept.last(count).copy_from(start);
    }
    let mut steps = 0;
    begins(&plan.condition, &reads[..plan.invariants + plan.carry.len()], answer, arena, pool)?;
    while answer[0] != 0 {
        if plan.limit == Some(steps) {
            return Err(endless("unwind", steps));
        }
        let (mut inputs, mut outputs): (Inputs<'_>, Outputs<'_>) = (Inputs::from_slice(invariants), SmallVec::new());
        for (kept, &(_, count)) in kept.iter_mut().zip(&plan.carry) {
            kept.grow(count)?;
            let (before, after) = kept.last_two(count);
            inputs.push(before);
            outputs.push(after);
        }
        outputs.push(SliceMut::U8(answer));
        run(&plan.first, PlanInputs::Slices(&inputs), &mut outputs, &mut *arena, pool, None)?;
        steps += 1;
    }
    for ((kept, &(_, count)), given) in kept.iter().zip(&plan.carry).zip(given) {
        if let Some(k) = given {
            let result = writes[*k].as_mut().expect("a result is written by one part");
            result.copy_from(kept.read(steps, count));
        }
    }
    for step in (0..steps).rev() {
        let mut inputs = Inputs::from_slice(invariants);
        let mut outputs: Outputs<'_> = SmallVec::new();
        inputs.extend(kept.iter().zip(&plan.carry).map(|(kept, &(_, count))| kept.read(step, count)));
        back.iter_mut().for_each(|part| part.pass(&mut inputs, &mut outputs));
        run(&plan.second, PlanInputs::Slices(&inputs), &mut outputs, &mut *arena, pool, None)?;
        drop((inputs, outputs));
        back.iter_mut().for_each(Turning::turn);
    }
    back.iter_mut().for_each(Turning::end);
    Ok(())
}
