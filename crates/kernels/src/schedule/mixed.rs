//! Mixed checkpointing: a slot holds a carry to restart from, or a part of the residuals of a step.
//!
//! Maddison, "Step-based checkpointing with high-level algorithmic differentiation", 2024. Where the residuals of a
//! step take no more room than `w` carries, keeping them in `w` slots may be better than a snapshot: that step never
//! runs again. Let `p(l, s)` be the fewest advances of `l` steps whose first carry is the working one and held nowhere,
//! with `s` free slots. Either the residuals of the first step are kept until all others are reversed, or its carry is,
//! until the steps before the next carry or residuals are what is left, which then have its slot too:
//!
//! ```text
//! p(1, s) = 0,   p(l, s) = min of  p(l - 1, s - w)                                            if s >= w
//!                                  min over k of  k + p(l - k, s - 1) + p(k, s)               if s >= 1
//! e(1, s) = 0,   e(l, s) = min of  p(l, s),  min over k of  k + p(l - k, s) + e(k, s)
//! ```
//!
//! where `e` is for the whole loop, whose first carry is always at hand. Maddison counts the runs for residuals too and
//! knows no such carry: there, `w = 1` and the count is `l + p(l, s)`. Exhaustive searches of short loops find nothing
//! better (`tests.rs`).
//!
//! There is no formula, so `p` is a table, filled in time `l^2 s`. Loops longer than a table of bounded size, or with
//! more slots, are first cut as by `binomial.rs`, and their pieces by the table. That is not optimal, but no worse than
//! binomial.

use std::sync::Arc;

use super::binomial::split;
use super::walk::{Division, Item};
use super::{Action, Cost, Slot};

/// How many sums the table may take, and for how many slots it may be.
const WORK: usize = 1 << 24;
const MOST_SLOTS: usize = 1 << 12;

#[derive(Clone, Debug)]
pub(super) struct Mixed {
    steps: usize,
    slots: usize,
    table: Arc<Table>,
    /// `e(l, slots)` by length.
    start: Arc<[Best]>,
}

/// Steps whose first carry is the working one; of the slots the first `used` are taken.
pub(super) enum Part {
    /// The steps `0..to`, all slots free.
    Start { to: usize },
    /// The steps `from..to`; if `held`, the carry before `from` is also in the first free slot.
    Inner { from: usize, to: usize, used: usize, held: bool },
}

/// `p(l, s)` up to some length and number of slots.
#[derive(Debug)]
pub(super) struct Table {
    room: usize,
    /// The length of a row, which is one more than that of the longest loop.
    width: usize,
    /// Row by row, by the number of free slots.
    best: Vec<Best>,
}

/// The fewest advances, and the `k` that achieves them; 0 says that residuals are kept, and where there is one step or
/// none, or no way, nothing.
#[derive(Clone, Copy, Debug)]
struct Best {
    advances: u64,
    k: usize,
}

const NO_WAY: Best = Best { advances: u64::MAX, k: 0 };
const NOTHING: Best = Best { advances: 0, k: 0 };

impl Table {
    /// For loops up to `steps` and up to `slots`.
    pub(super) fn new(steps: usize, slots: usize, room: usize) -> Self {
        let width = steps + 1;
        let mut best = vec![NO_WAY; width * (slots + 1)];
        for s in 0..=slots {
            let (fewer, row) = best.split_at_mut(width * s);
            let row = &mut row[..width];
            row[..width.min(2)].fill(NOTHING);
            for l in 2..width {
                let keep = if s >= room { fewer[width * (s - room) + l - 1].advances } else { u64::MAX };
                let mut least = Best { advances: keep, k: 0 };
                if s > 0 {
                    least = least_cut(l, &fewer[width * (s - 1)..], row, least);
                }
                row[l] = least;
            }
        }
        Self { room, width, best }
    }

    /// For `p(l, s)`; `None` if neither the table has it nor all residuals fit.
    fn best(&self, l: usize, s: usize) -> Option<Best> {
        if self.fits(l, s) {
            return Some(NOTHING);
        }
        let within = l < self.width && s < self.best.len() / self.width;
        within.then(|| self.best[self.width * s..][l])
    }

    /// Whether the residuals of all steps but the last have room.
    fn fits(&self, l: usize, s: usize) -> bool {
        l <= 1 || self.room.checked_mul(l - 1).is_some_and(|room| room <= s)
    }

    /// `e(l, s)` for the lengths up to `longest` that the table has.
    fn start(&self, s: usize, longest: usize) -> Arc<[Best]> {
        let Some(row) = self.best.chunks_exact(self.width).nth(s) else { return Arc::default() };
        let mut start = row[..self.width.min(longest + 1)].to_vec();
        for l in 2..start.len() {
            start[l] = least_cut(l, row, &start, row[l]);
        }
        start.into()
    }

    /// `p(l, s)`, which the table must have.
    #[cfg(test)]
    pub(super) fn advances(&self, l: usize, s: usize) -> u64 {
        self.best[self.width * s..][l].advances
    }
}

/// The least of `k + rest(l - k) + first(k)` over `k`, and of `least`, which is preferred.
fn least_cut(l: usize, rest: &[Best], first: &[Best], mut least: Best) -> Best {
    for k in 1..l {
        let advances = (k as u64).saturating_add(rest[l - k].advances).saturating_add(first[k].advances);
        if advances < least.advances {
            least = Best { advances, k };
        }
    }
    least
}

impl Mixed {
    /// More slots than all residuals take are of no use, and not counted.
    pub(super) fn new(steps: usize, slots: usize, room: usize) -> Self {
        let room = room.max(1);
        let slots = slots.min(steps.saturating_mul(room)).min(u32::MAX as usize);
        // A table of n lengths takes n^2 / 2 sums for each number of slots.
        let rows = slots.min(MOST_SLOTS);
        let longest = (2 * WORK / (rows + 1)).isqrt();
        Self::with(Arc::new(Table::new(steps.min(longest), rows, room)), steps, slots)
    }

    /// From a table that may be for other lengths and numbers of slots.
    pub(super) fn with(table: Arc<Table>, steps: usize, slots: usize) -> Self {
        Self { steps, slots, start: table.start(slots, steps), table }
    }

    /// For `e(l, slots)`.
    fn best_start(&self, l: usize) -> Option<Best> {
        if self.table.fits(l, self.slots) { Some(NOTHING) } else { self.start.get(l).copied() }
    }
}

impl Division for Mixed {
    type Part = Part;

    fn whole(&self) -> Option<Part> {
        (self.steps > 0).then_some(Part::Start { to: self.steps })
    }

    fn divide(&self, part: Part, items: &mut Vec<Item<Part>>) {
        match part {
            Part::Start { to: 1 } => items.push(Item::Do(Action::Reverse { step: 0 })),
            Part::Start { to } => {
                let k = self.best_start(to).map_or_else(|| split(to, self.slots + 1), |best| best.k);
                if k == 0 {
                    items.push(Item::Part(Part::Inner { from: 0, to, used: 0, held: false }));
                    return;
                }
                items.push(Item::Do(Action::Advance { from: 0, to: k }));
                items.push(Item::Part(Part::Inner { from: k, to, used: 0, held: false }));
                items.push(Item::Do(Action::Restore { step: 0, slot: Slot::Initial }));
                items.push(Item::Part(Part::Start { to: k }));
            }
            Part::Inner { from, to, used, held } => {
                let slot = Slot::Memory(used as u32);
                let free = self.slots - used;
                let k = self.table.best(to - from, free).map_or_else(|| split(to - from, free), |best| best.k);
                match (k, held) {
                    (0, true) => items.push(Item::Do(Action::Free { slot })),
                    (0, false) | (_, true) => {}
                    (_, false) => items.push(Item::Do(Action::Store { step: from, slot })),
                }
                if to - from == 1 {
                    items.push(Item::Do(Action::Reverse { step: from }));
                } else if k == 0 {
                    items.push(Item::Do(Action::Record { step: from, slot }));
                    let used = used + self.table.room;
                    items.push(Item::Part(Part::Inner { from: from + 1, to, used, held: false }));
                    items.push(Item::Do(Action::Pull { step: from, slot }));
                } else {
                    items.push(Item::Do(Action::Advance { from, to: from + k }));
                    items.push(Item::Part(Part::Inner { from: from + k, to, used: used + 1, held: false }));
                    items.push(Item::Do(Action::Restore { step: from, slot }));
                    items.push(Item::Part(Part::Inner { from, to: from + k, used, held: true }));
                }
            }
        }
    }

    fn known(&self, part: &Part) -> Option<Cost> {
        let best = match *part {
            Part::Start { to } => self.best_start(to),
            Part::Inner { from, to, used, .. } => self.table.best(to - from, self.slots - used),
        };
        // No more than what all residuals take, or a carry for each step.
        let slots = self.slots.min(self.table.room.saturating_mul(self.steps - 1));
        best.map(|best| Cost { advances: best.advances, slots, ..Cost::default() })
    }
}
