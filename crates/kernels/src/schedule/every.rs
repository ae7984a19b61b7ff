//! Uniform checkpointing: a snapshot before every `k`-th step, and each segment in between run again at once.
//!
//! With `n = ceil(l / k)` segments there are `n - 1` snapshots beside the initial carry. A segment keeps, while it is
//! reversed, the residuals of its steps or the carries before them:
//!
//! - [`Keep::Residuals`]: at most `n - 1` carries and `k` rows at a time, and `(n - 1) k < l` advances, as the last
//!   segment is recorded when the loop first gets there. With `C` bytes a carry and `R` bytes a row the least memory is
//!   about `2 sqrt(l C R)`, at `k = sqrt(l C / R)`.
//! - [`Keep::Carries`]: `n + k - 2` carries, at least about `2 sqrt(l)` of them, and `(n - 1) k + l - n < 2 l`
//!   advances.
//!
//! This is the square root rule (Chen, Xu, Zhang, Guestrin, "Training deep nets with sublinear memory cost", 2016) for
//! a loop. It is not optimal, but its pattern is regular: an engine can give segments of one length one plan.

use super::stored::Rows;
use super::walk::{Division, Item};
use super::{Action, Cost, Slot};

/// What is kept of the segment that is being reversed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Keep {
    /// The residuals of its steps, in rows.
    Residuals,
    /// The carries before its steps, in memory slots; the residuals are made step by step.
    Carries,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Every {
    steps: usize,
    every: usize,
    keep: Keep,
}

pub(super) enum Part {
    /// The working carry is that before a segment, which is to be passed or, if it is the last, reversed.
    Sweep {
        segment: usize,
    },
    /// The segments before this one are to be reversed.
    Back {
        segment: usize,
    },
    Rows(Rows),
    /// The carries before the steps `at..to` are to be stored, the working one first, and all from `from` on reversed.
    Carries {
        from: usize,
        at: usize,
        to: usize,
    },
    /// The steps `from..at` are to be reversed from the carries stored.
    Reverse {
        from: usize,
        at: usize,
    },
}

impl Every {
    pub(super) fn new(steps: usize, every: usize, keep: Keep) -> Self {
        Self { steps, every: every.clamp(1, steps.max(1)), keep }
    }

    fn segments(&self) -> usize {
        self.steps.div_ceil(self.every)
    }

    /// Where the carry before a segment is.
    fn home(segment: usize) -> Slot {
        if segment == 0 { Slot::Initial } else { Slot::Memory((segment - 1) as u32) }
    }

    /// The part that reverses a segment, from the carry before it as the working one.
    fn segment(&self, segment: usize) -> Part {
        let from = segment * self.every;
        let to = (from + self.every).min(self.steps);
        match self.keep {
            Keep::Residuals => Part::Rows(Rows::new(from, to)),
            Keep::Carries => Part::Carries { from, at: from, to },
        }
    }

    /// Where the carry before a step within a segment is.
    fn inner(&self, from: usize, step: usize) -> Slot {
        Slot::Memory((self.segments() - 1 + step - from - 1) as u32)
    }
}

impl Division for Every {
    type Part = Part;

    fn whole(&self) -> Option<Part> {
        (self.steps > 0).then_some(Part::Sweep { segment: 0 })
    }

    fn divide(&self, part: Part, items: &mut Vec<Item<Part>>) {
        match part {
            Part::Sweep { segment } if segment + 1 == self.segments() => {
                items.extend([Item::Part(self.segment(segment)), Item::Part(Part::Back { segment })]);
            }
            Part::Sweep { segment } => {
                let (from, to) = (segment * self.every, (segment + 1) * self.every);
                items.push(Item::Do(Action::Advance { from, to }));
                items.push(Item::Do(Action::Store { step: to, slot: Self::home(segment + 1) }));
                items.push(Item::Part(Part::Sweep { segment: segment + 1 }));
            }
            Part::Back { segment: 0 } => {}
            Part::Back { segment } => {
                let before = segment - 1;
                items.push(Item::Do(Action::Free { slot: Self::home(segment) }));
                items.push(Item::Do(Action::Restore { step: before * self.every, slot: Self::home(before) }));
                items.extend([Item::Part(self.segment(before)), Item::Part(Part::Back { segment: before })]);
            }
            Part::Rows(rows) => rows.divide(items, Part::Rows),
            Part::Carries { from, at, to } => {
                if at > from {
                    items.push(Item::Do(Action::Store { step: at, slot: self.inner(from, at) }));
                }
                if at + 1 < to {
                    items.push(Item::Do(Action::Advance { from: at, to: at + 1 }));
                    items.push(Item::Part(Part::Carries { from, at: at + 1, to }));
                } else {
                    items.push(Item::Part(Part::Reverse { from, at: to }));
                }
            }
            Part::Reverse { from, at } if at == from => {}
            Part::Reverse { from, at } => {
                let step = at - 1;
                let segment = from / self.every;
                let slot = if step == from { Self::home(segment) } else { self.inner(from, step) };
                items.push(Item::Do(Action::Restore { step, slot }));
                items.push(Item::Do(Action::Reverse { step }));
                if step > from {
                    items.push(Item::Do(Action::Free { slot }));
                }
                items.push(Item::Part(Part::Reverse { from, at: step }));
            }
        }
    }

    fn known(&self, _: &Part) -> Option<Cost> {
        // Only the whole is asked for.
        let segments = self.segments();
        let again = (segments - 1) as u64 * self.every as u64;
        Some(match self.keep {
            Keep::Residuals => Cost { advances: again, slots: segments - 1, rows: self.every, ..Cost::default() },
            Keep::Carries => Cost {
                advances: again + (self.steps - segments) as u64,
                slots: segments - 1 + self.every - 1,
                ..Cost::default()
            },
        })
    }
}
