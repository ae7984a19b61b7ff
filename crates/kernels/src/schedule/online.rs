//! Online checkpointing: snapshots of a loop whose length nobody knows until it ends, in a fixed number of slots.
//!
//! While the loop runs, levels decide which snapshot gives way, after Wang, Moin and Iaccarino, "Minimal repetition
//! dynamic checkpointing algorithm for unsteady adjoint calculation", 2009: a snapshot is *dispensable* if a later one
//! has a higher level. With a free slot, or after freeing a dispensable snapshot, the next snapshot has level 0; if
//! none is dispensable, the last one moves on by a step and up by a level. Here the last one is the working carry,
//! which takes no slot: it is stored when the loop goes on and it stays.
//!
//! When the length is known, the snapshots cut the loop into gaps, and each gap is reversed as in `binomial.rs`, with
//! the slots that are free by then. With `x[0] = 0`, the snapshots `x[1], …, x[m]`, `x[m + 1] = l` and `t` of
//! `binomial.rs` the advances are
//!
//! ```text
//! l + sum over i of  t(x[i + 1] - x[i], slots + 1 - i)
//! ```
//!
//! as every step is advanced once before the end is known. Had the length been known, the body would run less often; in
//! loops of up to 2000 steps with up to 64 slots (`tests.rs`) it runs at most half more often, from 12 steps on at most
//! a third, and on average over the lengths less than 7%. No step is advanced more than `r + 1` times there, with `r`
//! of `binomial.rs`. Stumm and Walther, "New algorithms for optimal online checkpointing", 2010, place snapshots so
//! that less is lost in loops that are not much longer than the slots; that is not done here.

use super::binomial::Gap;
use super::walk::{Division, Item, Walk};
use super::{Action, Cost, Slot};

/// The forward sweep of a loop: before each step it says what to keep.
#[derive(Clone, Debug)]
pub struct Online {
    slots: usize,
    /// How many steps have run.
    steps: usize,
    /// The level of the working carry.
    level: u32,
    /// In the order of their steps.
    snapshots: Vec<Snapshot>,
}

#[derive(Clone, Copy, Debug)]
struct Snapshot {
    step: usize,
    level: u32,
    slot: u32,
}

/// The way back, once the loop has ended.
#[derive(Clone, Debug)]
pub struct Reversal {
    slots: usize,
    steps: usize,
    /// The carries at hand: the initial one, then the snapshots.
    starts: Vec<usize>,
    /// The slots of the snapshots. There are others only if every step but the first has one, and then none is needed.
    order: Vec<u32>,
}

pub(super) enum Part {
    /// The gaps of this many first carries are to be reversed.
    Gaps(usize),
    Gap(Gap),
}

impl Online {
    pub fn new(slots: usize) -> Self {
        Self { slots, steps: 0, level: 0, snapshots: Vec::new() }
    }

    /// Runs the next step: at most a `Free`, a `Store`, and the `Advance`.
    pub fn step(&mut self) -> impl Iterator<Item = Action> + use<> {
        let (free, store) = self.keep();
        let advance = Action::Advance { from: self.steps, to: self.steps + 1 };
        self.steps += 1;
        [free, store, Some(advance)].into_iter().flatten()
    }

    /// Decides whether the working carry stays when the loop goes on, and which snapshot gives way for it.
    fn keep(&mut self) -> (Option<Action>, Option<Action>) {
        if self.steps == 0 {
            return (None, None);
        }
        let (free, slot) = if self.snapshots.len() < self.slots {
            (None, self.snapshots.len() as u32)
        } else if let Some(index) = self.dispensable() {
            let slot = self.snapshots.remove(index).slot;
            (Some(Action::Free { slot: Slot::Memory(slot) }), slot)
        } else {
            self.level += 1;
            return (None, None);
        };
        self.snapshots.push(Snapshot { step: self.steps, level: self.level, slot });
        self.level = 0;
        (free, Some(Action::Store { step: self.steps, slot: Slot::Memory(slot) }))
    }

    /// The last snapshot with a lower level than a later one or the working carry.
    fn dispensable(&self) -> Option<usize> {
        let mut highest = self.level;
        self.snapshots.iter().rposition(|snapshot| {
            let lower = snapshot.level < highest;
            highest = highest.max(snapshot.level);
            lower
        })
    }

    /// The loop has ended after the steps that ran.
    pub fn finish(self) -> Reversal {
        let starts: Vec<usize> = [0].into_iter().chain(self.snapshots.iter().map(|snapshot| snapshot.step)).collect();
        let order = self.snapshots.iter().map(|snapshot| snapshot.slot).collect();
        Reversal { slots: self.slots, steps: self.steps, starts, order }
    }

    /// A bound of the bytes that a schedule with this many slots takes itself, forwards and back: its snapshots' numbers, in a
    /// list that doubles, and what waits on the way back, one part for each slot at most.
    pub fn bytes(slots: usize) -> usize {
        // More than any memory has, without overflow.
        let slots = slots.min(1 << 48);
        // A list that grows is there twice for a moment.
        let grown = |count: usize, size: usize| count.next_power_of_two() * 3 / 2 * size;
        let named = (slots + 1) * (size_of::<usize>() + size_of::<u32>());
        named + grown(slots + 1, size_of::<Snapshot>()).max(grown(slots + 8, size_of::<Item<Part>>()))
    }

    /// What a loop of this many steps will take, forwards and back, from the decisions alone.
    pub fn cost(slots: usize, steps: usize) -> Cost {
        let mut online = Self::new(slots);
        for _ in 0..steps {
            online.keep();
            online.steps += 1;
        }
        let back = online.finish().cost();
        Cost { advances: back.advances.saturating_add(steps as u64), ..back }
    }
}

impl Reversal {
    /// What the way back takes, without the steps that ran.
    pub fn cost(&self) -> Cost {
        let gaps = (0..self.starts.len()).map(|start| self.gap(start).cost(self.slots).advances);
        let advances = gaps.fold(0u64, u64::saturating_add);
        Cost { advances, slots: self.slots.min(self.steps.saturating_sub(1)), ..Cost::default() }
    }

    /// The actions in order.
    pub fn actions(self) -> impl Iterator<Item = Action> + Send {
        Walk::new(self)
    }

    /// The steps from the carry of this number to the next.
    fn gap(&self, start: usize) -> Gap {
        let to = self.starts.get(start + 1).copied().unwrap_or(self.steps);
        let home = if start == 0 { Slot::Initial } else { Slot::Memory(self.order[start - 1]) };
        Gap { from: self.starts[start], to, home, used: start, after: None }
    }
}

impl Division for Reversal {
    type Part = Part;

    fn whole(&self) -> Option<Part> {
        (self.steps > 0).then_some(Part::Gaps(self.starts.len()))
    }

    fn divide(&self, part: Part, items: &mut Vec<Item<Part>>) {
        match part {
            Part::Gaps(0) => {}
            Part::Gaps(count) => {
                let gap = self.gap(count - 1);
                items.push(Item::Do(Action::Restore { step: gap.from, slot: gap.home }));
                items.push(Item::Part(Part::Gap(gap)));
                if gap.used > 0 {
                    items.push(Item::Do(Action::Free { slot: gap.home }));
                }
                items.push(Item::Part(Part::Gaps(count - 1)));
            }
            Part::Gap(gap) => {
                gap.divide(self.slots, |index| Slot::Memory(self.order[index]), items, Part::Gap);
            }
        }
    }

    fn known(&self, _: &Part) -> Option<Cost> {
        // Only the whole is asked for.
        Some(self.cost())
    }
}
