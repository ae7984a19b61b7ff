//! Store all: the residuals of every step are kept while the loop runs.
//!
//! No step runs twice, and memory grows with the length: `l` rows. It is what reverse mode does if nobody asks for
//! anything else, and what the last segment of `every.rs` does.

use super::walk::{Division, Item};
use super::{Action, Cost, Slot};

#[derive(Clone, Copy, Debug)]
pub(super) struct Stored {
    pub(super) steps: usize,
}

/// What remains of a stretch of steps that is recorded and then pulled back.
pub(super) enum Rows {
    /// The steps `at..to` are to be recorded, and all from `from` on to be pulled.
    Record { from: usize, at: usize, to: usize },
    /// The steps `from..at` are to be pulled.
    Pull { from: usize, at: usize },
}

impl Rows {
    pub(super) fn new(from: usize, to: usize) -> Self {
        Self::Record { from, at: from, to }
    }

    /// The row of a step is its number in the stretch.
    pub(super) fn divide<P>(self, items: &mut Vec<Item<P>>, part: impl Fn(Self) -> P) {
        match self {
            Self::Record { from, at, to } if at == to => items.push(Item::Part(part(Self::Pull { from, at }))),
            Self::Record { from, at, to } => {
                items.push(Item::Do(Action::Record { step: at, slot: Slot::Row((at - from) as u32) }));
                items.push(Item::Part(part(Self::Record { from, at: at + 1, to })));
            }
            Self::Pull { from, at } if at == from => {}
            Self::Pull { from, at } => {
                items.push(Item::Do(Action::Pull { step: at - 1, slot: Slot::Row((at - 1 - from) as u32) }));
                items.push(Item::Part(part(Self::Pull { from, at: at - 1 })));
            }
        }
    }
}

impl Division for Stored {
    type Part = Rows;

    fn whole(&self) -> Option<Rows> {
        Some(Rows::new(0, self.steps))
    }

    fn divide(&self, part: Rows, items: &mut Vec<Item<Rows>>) {
        part.divide(items, |rows| rows);
    }

    fn known(&self, _: &Rows) -> Option<Cost> {
        // Only the whole is asked for.
        Some(Cost { rows: self.steps, ..Cost::default() })
    }
}
