//! Runs a loop forwards and one backwards over it where not all of its carries are kept in memory. Those beyond what there is
//! room for lie in a file, if there is a directory for it. Where the number of all is bounded, what lies between two is computed
//! again, in the order that a schedule says.

use smallvec::SmallVec;
use wengert_kernels::arena::{Carver, Line as Lines, typed_mut};
use wengert_kernels::pool::Pool;
use wengert_kernels::region::{Slice, SliceMut};
use wengert_kernels::schedule::{Action, Online, Slot};

use super::called::LoopStep;
use super::control::{Inputs, Outputs, Turning, begins, each, endless, turning};
use super::engine::cast_mut;
#[cfg(not(feature = "spill"))]
use super::memory_only::Spill;
#[cfg(feature = "spill")]
use super::spill::Spill;
use crate::error::Error;
use crate::plan::{Forwards as Steps, Snapshots, UnwindPlan};

/// The loop forwards: its carry, and what is kept of earlier ones.
struct Forwards<'a> {
    step: LoopStep<'a>,
    invariants: &'a [Slice<'a>],
    /// The carry before the first step.
    starts: &'a [Slice<'a>],
    carry: SmallVec<[Turning<'a>; 4]>,
    /// For each part of the carry: its snapshots, one after the other.
    kept: SmallVec<[SliceMut<'a>; 4]>,
    /// How many snapshots that is.
    slots: usize,
    /// Where the others are.
    spill: Option<Spill>,
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
        self.step.run(&inputs, &mut outputs, arena, pool)?;
        drop((inputs, outputs));
        self.carry.iter_mut().for_each(Turning::turn);
        Ok(())
    }

    /// Keeps the carry, which is that before a step.
    fn store(&mut self, slot: usize, step: usize) -> Result<(), Error> {
        if let Some(place) = slot.checked_sub(self.slots) {
            let spill = self.spill.as_mut().expect("there are more snapshots only where there is a file for them");
            return spill.write(place, step, self.carry.iter().map(Turning::now));
        }
        for ((kept, part), count) in self.kept.iter_mut().zip(&self.carry).zip(&self.counts) {
            kept.range(slot * count..(slot + 1) * count).copy_from(part.now());
        }
        Ok(())
    }

    /// Makes what was kept the carry.
    fn restore(&mut self, slot: usize, step: usize) -> Result<(), Error> {
        if let Some(place) = slot.checked_sub(self.slots) {
            let spill = self.spill.as_mut().expect("what is read was written");
            return spill.read(place, step, self.carry.iter_mut().map(Turning::now_mut));
        }
        for ((kept, part), count) in self.kept.iter().zip(&mut self.carry).zip(&self.counts) {
            part.set(kept.read().range(slot * count..(slot + 1) * count));
        }
        Ok(())
    }

    /// Makes the carry before a step the carry, where all are kept.
    fn return_to(&mut self, step: usize) -> Result<(), Error> {
        match step.checked_sub(1) {
            Some(slot) => self.restore(slot, step),
            None => {
                self.restart();
                Ok(())
            }
        }
    }

    fn restart(&mut self) {
        self.carry.iter_mut().zip(self.starts).for_each(|(part, &start)| part.set(start));
    }

    /// What an action asks for, but for a step backwards.
    fn act(&mut self, action: Action, arena: &mut [Lines], pool: &Pool) -> Result<(), Error> {
        match action {
            Action::Advance { from, to } => (from..to).try_for_each(|_| self.advance(arena, pool)),
            Action::Store { step, slot: Slot::Memory(slot) } => self.store(slot as usize, step),
            Action::Restore { step, slot: Slot::Memory(slot) } => self.restore(slot as usize, step),
            Action::Restore { slot: Slot::Initial, .. } => {
                self.restart();
                Ok(())
            }
            Action::Free { .. } => Ok(()),
            other => unreachable!("an online schedule does not {other}"),
        }
    }
}

/// In which order carries are kept, and computed again.
enum Order {
    /// As many as this schedule has slots; the last of these are those of the file.
    Online(Online),
    /// All: that before step `t > 0` in slot `t - 1`.
    All,
}

impl Order {
    /// Takes the next step forwards.
    fn step(
        &mut self,
        step: usize,
        forwards: &mut Forwards<'_>,
        arena: &mut [Lines],
        pool: &Pool,
    ) -> Result<(), Error> {
        match self {
            Order::Online(schedule) => schedule.step().try_for_each(|action| forwards.act(action, arena, pool)),
            Order::All => {
                if let Some(slot) = step.checked_sub(1) {
                    forwards.store(slot, step)?;
                }
                forwards.advance(arena, pool)
            }
        }
    }

    /// The way back over this many steps.
    fn back(self, steps: usize) -> Box<dyn Iterator<Item = Action> + Send> {
        match self {
            Order::Online(schedule) => Box::new(schedule.finish().actions()),
            Order::All => Box::new((0..steps).rev().map(|step| Action::Reverse { step })),
        }
    }
}

/// Runs the loop.
pub(super) fn unwind(
    plan: &UnwindPlan,
    (forth, snapshots): (&Steps, &Snapshots),
    reads: &[Slice<'_>],
    writes: &mut [SliceMut<'_>],
    scratch: &mut [Lines],
    pool: &Pool,
) -> Result<(), Error> {
    let (invariants, starts) = reads.split_at(plan.invariants);
    let (starts, back_starts) = starts.split_at(plan.carry.len());
    let mut writes = each(writes);
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
    let step = LoopStep::new(&forth.step, &forth.code, &mut carver, invariants);
    let mut second = LoopStep::new(&plan.second, &plan.second_code, &mut carver, invariants);
    let counts = plan.carry.iter().map(|&(_, count)| count).collect();
    let size = plan.carry.iter().map(|&(kind, count)| kind.size() * count).sum();
    let (slots, spill) = (snapshots.slots, snapshots.spill.clone().map(|directory| Spill::new(directory, size)));
    let mut forwards = Forwards { step, invariants, starts, carry, kept, slots, spill, counts, answer };
    let mut order = snapshots.all.map_or(Order::All, |all| Order::Online(Online::new(all)));
    let mut steps = 0;
    begins(&forth.condition, &reads[..plan.invariants + plan.carry.len()], forwards.answer, arena, pool)?;
    while forwards.answer[0] != 0 {
        if forth.limit == Some(steps) {
            return Err(endless("unwind", steps));
        }
        order.step(steps, &mut forwards, arena, pool)?;
        steps += 1;
    }
    for (part, given) in forwards.carry.iter().zip(given) {
        if let Some(k) = given {
            writes[*k].as_mut().expect("a result is written by one part").copy_from(part.now());
        }
    }
    let keeps_all = matches!(order, Order::All);
    for action in order.back(steps) {
        let Action::Reverse { step } = action else {
            forwards.act(action, arena, pool)?;
            continue;
        };
        if keeps_all {
            forwards.return_to(step)?;
        }
        let (mut inputs, mut outputs) = (forwards.operands(), Outputs::new());
        back.iter_mut().for_each(|part| part.pass(&mut inputs, &mut outputs));
        second.run(&inputs, &mut outputs, arena, pool)?;
        drop((inputs, outputs));
        back.iter_mut().for_each(Turning::turn);
    }
    back.iter_mut().for_each(Turning::end);
    Ok(())
}
