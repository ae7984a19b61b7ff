//! Runs a loop forwards and one backwards over it where only some of its carries are kept: what lies between two is computed
//! again, in the order that a schedule says.

use smallvec::SmallVec;
use wengert_kernels::arena::{Carver, Line as Lines, typed_mut};
use wengert_kernels::pool::Pool;
use wengert_kernels::region::{Slice, SliceMut};

use super::control::{Inputs, Outputs, Turning, begins, endless, turning};
use super::engine::{PlanInputs, cast_mut, run};
use crate::error::Error;
use crate::plan::{Plan, Snapshots, UnwindPlan};
use crate::schedule::{Action, Online, Slot};

/// The loop forwards: its carry, and what is kept of earlier ones.
struct Forwards<'a> {
    step: &'a Plan,
    invariants: &'a [Slice<'a>],
    /// The carry before the first step.
    starts: &'a [Slice<'a>],
    carry: SmallVec<[Turning<'a>; 4]>,
    /// For each part of the carry: its snapshots, one after the other.
    kept: SmallVec<[SliceMut<'a>; 4]>,
    /// How many elements each part has.
    counts: SmallVec<[usize; 4]>,
    /// Whether there is another step.
    answer: &'a mut [u8],
}

impl Forwards<'_> {
    /// The invariants and the carry.
    fn operands(&self) -> Inputs<'_> {
        let mut operands = Inputs::from_slice(self.invariants);
        self.carry.iter().for_each(|part| operands.push(part.now()));
        operands
    }

    fn advance(&mut self, arena: &mut [Lines], pool: &Pool) -> Result<(), Error> {
        let (mut inputs, mut outputs) = (Inputs::from_slice(self.invariants), Outputs::new());
        self.carry.iter_mut().for_each(|part| part.pass(&mut inputs, &mut outputs));
        outputs.push(SliceMut::U8(self.answer));
        run(self.step, PlanInputs::Slices(&inputs), &mut outputs, arena, pool, None)?;
        drop((inputs, outputs));
        self.carry.iter_mut().for_each(Turning::turn);
        Ok(())
    }

    fn store(&mut self, slot: usize) {
        for ((kept, part), count) in self.kept.iter_mut().zip(&self.carry).zip(&self.counts) {
            kept.range(slot * count..(slot + 1) * count).copy_from(part.now());
        }
    }

    fn restore(&mut self, slot: Slot) {
        for (k, (part, count)) in self.carry.iter_mut().zip(&self.counts).enumerate() {
            let from = match slot {
                Slot::Memory(slot) => self.kept[k].read().range(slot as usize * count..(slot as usize + 1) * count),
                Slot::Initial => self.starts[k],
                Slot::Row(_) | Slot::Disk(_) => unreachable!("snapshots of carries are in memory"),
            };
            part.set(from);
        }
    }

    /// What an action asks for, but for a step backwards.
    fn act(&mut self, action: Action, arena: &mut [Lines], pool: &Pool) -> Result<(), Error> {
        match action {
            Action::Advance { from, to } => (from..to).try_for_each(|_| self.advance(arena, pool)),
            Action::Store { slot: Slot::Memory(slot), .. } => {
                self.store(slot as usize);
                Ok(())
            }
            Action::Restore { slot, .. } => {
                self.restore(slot);
                Ok(())
            }
            Action::Free { .. } => Ok(()),
            other => unreachable!("an online schedule does not {other}"),
        }
    }
}

/// Runs the loop.
pub(super) fn unwind(
    plan: &UnwindPlan,
    snapshots: &Snapshots,
    reads: &[Slice<'_>],
    writes: &mut [SliceMut<'_>],
    scratch: &mut [Lines],
    pool: &Pool,
) -> Result<(), Error> {
    let (invariants, starts) = reads.split_at(plan.invariants);
    let (starts, back_starts) = starts.split_at(plan.carry.len());
    let mut writes: SmallVec<[Option<SliceMut<'_>>; 8]> = writes.iter_mut().map(|out| Some(out.reborrow())).collect();
    let mut carver = Carver::new(scratch);
    let answer = typed_mut::<u8>(carver.take(0..plan.answer), 1);
    let (given, given_back) = plan.given.split_at(plan.carry.len());
    // The carry lies where no result does: it goes back and forth.
    let nowhere: SmallVec<[Option<usize>; 4]> = given.iter().map(|_| None).collect();
    let carry = turning(&snapshots.carry, &nowhere, starts, &mut writes, &mut carver);
    let kept = snapshots.lines.iter().zip(&plan.carry);
    let kept = kept.map(|(lines, &(kind, count))| cast_mut(carver.take(lines.clone()), kind, count * snapshots.slots));
    let kept = kept.collect();
    let mut back = turning(&plan.back, given_back, back_starts, &mut writes, &mut carver);
    let arena = carver.take(plan.arena.clone());
    let counts = plan.carry.iter().map(|&(_, count)| count).collect();
    let mut forwards = Forwards { step: &plan.first, invariants, starts, carry, kept, counts, answer };
    let mut schedule = Online::new(snapshots.slots);
    let mut steps = 0;
    begins(&plan.condition, &reads[..plan.invariants + plan.carry.len()], forwards.answer, arena, pool)?;
    while forwards.answer[0] != 0 {
        if plan.limit == Some(steps) {
            return Err(endless("unwind", steps));
        }
        schedule.step().try_for_each(|action| forwards.act(action, arena, pool))?;
        steps += 1;
    }
    for (part, given) in forwards.carry.iter().zip(given) {
        if let Some(k) = given {
            writes[*k].as_mut().expect("a result is written by one part").copy_from(part.now());
        }
    }
    for action in schedule.finish().actions() {
        if !matches!(action, Action::Reverse { .. }) {
            forwards.act(action, arena, pool)?;
            continue;
        }
        let (mut inputs, mut outputs) = (forwards.operands(), Outputs::new());
        back.iter_mut().for_each(|part| part.pass(&mut inputs, &mut outputs));
        run(&plan.second, PlanInputs::Slices(&inputs), &mut outputs, &mut *arena, pool, None)?;
        drop((inputs, outputs));
        back.iter_mut().for_each(Turning::turn);
    }
    back.iter_mut().for_each(Turning::end);
    Ok(())
}
