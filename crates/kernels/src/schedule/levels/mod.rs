//! Two levels of memory: snapshots of carries in a few slots of memory and, at a price, on disk.
//!
//! Aupy, Herrmann, Hovland, Robert, "Optimal multistage algorithm for adjoint computation", 2016, for a disk without
//! bounds; Herrmann and Pallez, "H-Revolve: a framework for adjoint computation on synchronous hierarchical platforms",
//! 2020, for bounded levels. Let `m(l, s, d)` be the least time of `l` steps whose first carry is the working one, with
//! `s` and `d` free slots in memory and on disk, and `h(l, s, d)` the same if the first carry is also on disk, in a
//! slot that is not counted in `d`. With `a` the time of a step, `w` and `r` those of writing and reading,
//!
//! ```text
//! m(1, s, d) = h(1, s, d) = 0
//! m(l, s, d) = min of  min over k of  k a + m(l - k, s - 1, d) + m(k, s, d)      in memory, if s >= 1
//!                      w + n(l, s, d - 1)                                        on disk, if d >= 1
//! n(l, s, d) = min over k of  k a + m(l - k, s, d) + r + h(k, s, d)
//! h(l, s, d) = min of  m(l, s, d + 1),  n(l, s, d)                               given up, or read again
//! e(l, s, d) = min over k of  k a + m(l - k, s, d) + e(k, s, d),   e(1) = 0      the whole loop
//! ```
//!
//! as the initial carry is at hand without a price. Copies in memory count nothing. Exhaustive searches of short loops
//! find nothing better (`tests.rs`).
//!
//! The tables take time `l^2 s d`, without the `d` for a disk that never fills. Where that is too much, two things make
//! them smaller; neither is optimal, and neither is done as long as tables of bounded size allow.
//!
//! - *Blocks* of `g` steps: the tables are for blocks, snapshots on disk are taken between blocks only, and what is
//!   reversed from memory alone is reversed as `binomial.rs` does, whose times `m` takes as one more choice.
//! - *Sections*: a disk that never fills gets a snapshot every `p` blocks on the way forwards, and each section is
//!   reversed by the tables. The best schedules of long loops are of this kind but for their ends (Aupy and Herrmann,
//!   "Periodicity in optimal hierarchical checkpointing schemes for adjoint computations", 2017); with `g = 1` no more
//!   than a step is lost in the loops of `tests.rs`.
//!
//! A disk that is too small for that gets the better of two schedules: tables for blocks that know its bound, or blocks
//! so large that there is a slot for each. In a loop of 10^6 steps with 10 slots in memory and 20 on disk, blocks are of
//! 2625 steps, and blocks of 328 would take a ninth less time.

mod tables;

use std::sync::Arc;

use super::binomial::{Gap, advances, reach};
use super::walk::{Division, Item};
use super::{Action, Cost, Slot};
pub(super) use tables::Tables;
use tables::{Best, How, Sections};

/// How many sums the tables may take, and for how many slots they may be. With more slots in memory they choose as with
/// that many; more on disk stay empty.
const WORK: usize = 1 << 25;
const MOST_SLOTS: usize = 255;
const MOST_ON_DISK: usize = 63;

/// The time of a step, in the unit of a disk's times.
const STEP: u64 = 1000;

/// The slower level of memory. Times are in thousandths of the time that a step takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Disk {
    /// How many carries it holds; `None` is as many as there are steps.
    pub slots: Option<usize>,
    pub write: u64,
    pub read: u64,
}

impl Disk {
    /// The time of advances, writes and reads, in thousandths of the time of a step; saturates.
    pub fn time(&self, cost: &Cost) -> u64 {
        let products = [(cost.advances, STEP), (cost.writes, self.write), (cost.reads, self.read)];
        products.iter().fold(0u64, |sum, &(count, each)| sum.saturating_add(count.saturating_mul(each)))
    }
}

#[derive(Clone, Debug)]
pub(super) struct Levels {
    steps: usize,
    slots: usize,
    /// How many carries the disk holds, as far as they are of use.
    on_disk: usize,
    tables: Arc<Tables>,
    /// `e` by number of blocks, by `k`; 0 if the loop is reversed from memory alone.
    start: Arc<[Best<usize>]>,
    /// How a loop begins that is longer than the tables.
    sections: Option<Sections>,
}

/// Unlike the steps of a [`Gap`], `from` and `to` count blocks; of the slots in memory and on disk the first `used` and
/// `on_disk` are taken.
pub(super) enum Part {
    /// The blocks before this one, whose first carry is the working one; all slots are free.
    Start(usize),
    Inner(Inner),
    Held(Held),
    /// What is reversed from one carry and memory alone.
    Gap(Gap),
}

/// The first carry is the working one; if `held`, it is also in the first free slot in memory.
#[derive(Clone, Copy)]
pub(super) struct Inner {
    from: usize,
    to: usize,
    used: usize,
    on_disk: usize,
    held: bool,
}

/// The first carry is the working one and in the last slot on disk that is taken.
#[derive(Clone, Copy)]
pub(super) struct Held {
    from: usize,
    to: usize,
    used: usize,
    on_disk: usize,
}

impl Levels {
    /// More slots than steps are of no use, and not counted.
    pub(super) fn new(steps: usize, slots: usize, disk: Disk) -> Self {
        let slots = slots.min(steps).min(u32::MAX as usize);
        match disk.slots.filter(|&bound| bound < steps) {
            None => Self::unbounded(steps, slots, disk, None),
            Some(bound) => {
                let bounded = Self::bounded(steps, slots, disk, bound);
                if bounded.tables.block == 1 && bounded.on_disk == bound {
                    return bounded;
                }
                let unbounded = Self::unbounded(steps, slots, disk, Some(bound));
                if bounded.time() <= unbounded.time() { bounded } else { unbounded }
            }
        }
    }

    /// With tables that know how many slots there are on disk.
    fn bounded(steps: usize, slots: usize, disk: Disk, bound: usize) -> Self {
        let (rows, layers) = (slots.min(MOST_SLOTS), bound.min(MOST_ON_DISK));
        // A table of n lengths takes n^2 sums for each number of slots.
        let longest = (WORK / (rows + 1) / (layers + 1)).isqrt();
        let block = steps.div_ceil(longest).max(1);
        let disk = Disk { slots: Some(layers), ..disk };
        let tables = Tables::new(steps.div_ceil(block), block, rows, disk);
        Self::with(Arc::new(tables), steps, slots, layers)
    }

    /// With tables for a disk that never fills; if it has a bound, because there is a slot for every block but the
    /// first.
    pub(super) fn unbounded(steps: usize, slots: usize, disk: Disk, bound: Option<usize>) -> Self {
        let rows = slots.min(MOST_SLOTS);
        let longest = (WORK / (rows + 1)).isqrt();
        // The tables are for the whole loop, or for sections up to twice as long as they are likely to be.
        let most = steps.min(2 * distance(steps, slots, disk));
        let least = bound.map_or(1, |bound| steps.div_ceil(bound + 1));
        let block = least.max(most.div_ceil(longest)).max(1);
        let tables = Tables::new(steps.div_ceil(block).min(longest), block, rows, Disk { slots: None, ..disk });
        Self::with(Arc::new(tables), steps, slots, steps)
    }

    /// From tables that may be for other lengths and numbers of slots; `on_disk` is how many of these there are. If the
    /// tables know a bound, it must be at least as large, and they must be for the whole loop.
    pub(super) fn with(tables: Arc<Tables>, steps: usize, slots: usize, on_disk: usize) -> Self {
        debug_assert!(tables.bound().is_none_or(|bound| on_disk <= bound), "the tables end below");
        let blocks = steps.div_ceil(tables.block);
        let start = tables.start(slots, on_disk, blocks.min(tables.width - 1));
        let sections = (blocks >= tables.width).then(|| tables.sections(slots, blocks, &start));
        Self { steps, slots, on_disk, start: start.into(), sections, tables }
    }

    /// The time that the tables promise, which is that of the schedule if the last block is whole.
    pub(super) fn time(&self) -> u64 {
        match self.sections {
            Some(sections) => sections.time,
            None => self.start.last().map_or(0, |best| best.time),
        }
    }

    /// The first step of a block.
    fn step(&self, block: usize) -> usize {
        (block * self.tables.block).min(self.steps)
    }

    /// Where the best for a number of blocks is in the tables, by the slots in memory and on disk that are taken; `None`
    /// if it is that of a longer loop, which begins with a section.
    fn place(&self, blocks: usize, used: usize, on_disk: usize) -> Option<usize> {
        (blocks < self.tables.width).then(|| self.tables.row(self.on_disk - on_disk, self.slots - used) + blocks)
    }

    /// The `k` of `e`, or the length of the first section before all others; 0 if there is no use for the disk.
    fn first(&self, blocks: usize) -> usize {
        match self.sections {
            Some(sections) if blocks >= self.tables.width => sections.first,
            _ => self.start[blocks].choice,
        }
    }

    /// The `k` of `n`, or the length of a section.
    fn next(&self, blocks: usize, used: usize, on_disk: usize) -> usize {
        let each = || self.sections.map_or(0, |sections| sections.each);
        self.place(blocks, used, on_disk).map_or_else(each, |place| self.tables.n[place].choice)
    }

    /// The blocks `0..to` from the initial carry.
    fn divide_start(&self, to: usize, items: &mut Vec<Item<Part>>) {
        match self.first(to) {
            0 => {
                let gap = Gap { from: 0, to: self.step(to), home: Slot::Initial, used: 0, after: None };
                items.push(Item::Part(Part::Gap(gap)));
            }
            k => {
                items.push(Item::Do(Action::Advance { from: 0, to: self.step(k) }));
                items.push(Item::Part(Part::Inner(Inner { from: k, to, used: 0, on_disk: 0, held: false })));
                items.push(Item::Do(Action::Restore { step: 0, slot: Slot::Initial }));
                items.push(Item::Part(Part::Start(k)));
            }
        }
    }

    fn divide_inner(&self, inner: Inner, items: &mut Vec<Item<Part>>) {
        let Inner { from, to, used, on_disk, held } = inner;
        let (first, end) = (self.step(from), self.step(to));
        let slot = Slot::Memory(used as u32);
        let how = self.place(to - from, used, on_disk).map_or(How::Disk, |place| self.tables.m[place].choice);
        let in_memory = match how {
            How::Plain => end - first > 1,
            How::Memory { .. } => true,
            How::Disk => false,
        };
        match (held, in_memory) {
            (true, false) => items.push(Item::Do(Action::Free { slot })),
            (false, true) => items.push(Item::Do(Action::Store { step: first, slot })),
            (true, true) | (false, false) => {}
        }
        match how {
            How::Plain if end - first == 1 => items.push(Item::Do(Action::Reverse { step: first })),
            How::Plain => {
                items.push(Item::Part(Part::Gap(Gap {
                    from: first,
                    to: end,
                    home: slot,
                    used: used + 1,
                    after: None,
                })));
                items.push(Item::Do(Action::Free { slot }));
            }
            How::Memory { k } => {
                let middle = from + k;
                items.push(Item::Do(Action::Advance { from: first, to: self.step(middle) }));
                items.push(Item::Part(Part::Inner(Inner { from: middle, to, used: used + 1, on_disk, held: false })));
                items.push(Item::Do(Action::Restore { step: first, slot }));
                items.push(Item::Part(Part::Inner(Inner { to: middle, held: true, ..inner })));
            }
            How::Disk => {
                items.push(Item::Do(Action::Store { step: first, slot: Slot::Disk(on_disk as u32) }));
                self.divide_held(Held { from, to, used, on_disk: on_disk + 1 }, items);
            }
        }
    }

    /// The carry on disk is kept for one more reading, or until all is reversed.
    fn divide_held(&self, held: Held, items: &mut Vec<Item<Part>>) {
        let Held { from, to, used, on_disk } = held;
        let step = self.step(from);
        let home = held.home();
        match self.next(to - from, used, on_disk) {
            0 => {
                items.push(Item::Part(Part::Gap(Gap { from: step, to: self.step(to), home, used, after: None })));
                items.push(Item::Do(Action::Free { slot: home }));
            }
            k => {
                let middle = from + k;
                items.push(Item::Do(Action::Advance { from: step, to: self.step(middle) }));
                items.push(Item::Part(Part::Inner(Inner { from: middle, to, used, on_disk, held: false })));
                items.push(Item::Do(Action::Restore { step, slot: home }));
                items.push(Item::Part(Part::Held(Held { to: middle, ..held })));
            }
        }
    }

    /// Whether the carry on disk is given up at once.
    fn gives_up(&self, held: Held) -> bool {
        let place = self.place(held.to - held.from, held.used, held.on_disk);
        place.is_some_and(|place| self.tables.h[place].choice)
    }
}

impl Held {
    /// Where the first carry is.
    fn home(self) -> Slot {
        Slot::Disk((self.on_disk - 1) as u32)
    }
}

impl Division for Levels {
    type Part = Part;

    fn whole(&self) -> Option<Part> {
        (self.steps > 0).then_some(Part::Start(self.steps.div_ceil(self.tables.block)))
    }

    fn divide(&self, part: Part, items: &mut Vec<Item<Part>>) {
        match part {
            Part::Start(to) => self.divide_start(to, items),
            Part::Inner(inner) => self.divide_inner(inner, items),
            Part::Held(held) if self.gives_up(held) => {
                let Held { from, to, used, on_disk } = held;
                items.push(Item::Do(Action::Free { slot: held.home() }));
                items.push(Item::Part(Part::Inner(Inner { from, to, used, on_disk: on_disk - 1, held: false })));
            }
            Part::Held(held) => self.divide_held(held, items),
            Part::Gap(gap) => gap.divide(self.slots, |index| Slot::Memory(index as u32), items, Part::Gap),
        }
    }

    fn known(&self, part: &Part) -> Option<Cost> {
        match part {
            Part::Gap(gap) => {
                let reads = match gap.home {
                    Slot::Disk(_) => (gap.to - gap.from - 1) as u64,
                    Slot::Initial | Slot::Memory(_) | Slot::Row(_) => 0,
                };
                Some(Cost { reads, ..gap.cost(self.slots) })
            }
            Part::Start(_) | Part::Inner(_) | Part::Held(_) => None,
        }
    }
}

/// How far snapshots on disk are apart at best if what lies between is reversed from memory alone: between the lengths
/// `C(s + r, s)` the time of a step is monotone, and over `r` it falls and then rises.
fn distance(steps: usize, slots: usize, disk: Disk) -> usize {
    let prices = disk.write as f64 + disk.read as f64;
    let time = |m: usize| prices / m as f64 + STEP as f64 * advances(m, slots + 1) as f64 / m as f64;
    let mut best = 1;
    for r in 1.. {
        let next = reach(slots + 1, r).min(steps as u64) as usize;
        if next <= best || time(next) > time(best) {
            break;
        }
        best = next;
    }
    best
}
