//! Schedules as recursions, walked without being written out.

use super::{Action, Cost, Slot};

/// A schedule given by a rule: a part of it is some actions and smaller parts, in order.
pub(super) trait Division {
    type Part;

    /// The part that is the whole schedule; none if there is nothing to do.
    fn whole(&self) -> Option<Self::Part>;

    /// Appends what the part consists of.
    fn divide(&self, part: Self::Part, items: &mut Vec<Item<Self::Part>>);

    /// What a part takes, if there is a formula or a table for it.
    fn known(&self, part: &Self::Part) -> Option<Cost>;
}

pub(super) enum Item<P> {
    Do(Action),
    Part(P),
}

/// The actions of a division, one at a time. It holds what is still to do on the way from the whole to the action:
/// a constant number of items for each level of the recursion, and in every scheme a level takes a slot.
pub(super) struct Walk<D: Division> {
    division: D,
    /// The next item is the last.
    items: Vec<Item<D::Part>>,
}

impl<D: Division> Walk<D> {
    pub(super) fn new(division: D) -> Self {
        let items = division.whole().into_iter().map(Item::Part).collect();
        Self { division, items }
    }

    /// How many items wait.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        self.items.len()
    }
}

impl<D: Division> Iterator for Walk<D> {
    type Item = Action;

    fn next(&mut self) -> Option<Action> {
        loop {
            match self.items.pop()? {
                Item::Do(action) => return Some(action),
                Item::Part(part) => divide_reversed(&self.division, part, &mut self.items),
            }
        }
    }
}

/// Appends what the part consists of, the first item last.
fn divide_reversed<D: Division>(division: &D, part: D::Part, items: &mut Vec<Item<D::Part>>) {
    let start = items.len();
    division.divide(part, items);
    items[start..].reverse();
}

/// What the actions of a division take, with as few of them made as its known parts allow.
pub(super) fn cost<D: Division>(division: &D) -> Cost {
    let mut total = Cost::default();
    let mut items: Vec<Item<D::Part>> = division.whole().into_iter().map(Item::Part).collect();
    while let Some(item) = items.pop() {
        match item {
            Item::Do(action) => total = total.and(cost_of(action)),
            Item::Part(part) => match division.known(&part) {
                Some(known) => total = total.and(known),
                None => divide_reversed(division, part, &mut items),
            },
        }
    }
    total
}

fn cost_of(action: Action) -> Cost {
    let nothing = Cost::default();
    match action {
        Action::Advance { from, to } => Cost { advances: (to - from) as u64, ..nothing },
        Action::Store { slot, .. } | Action::Record { slot, .. } => match slot {
            Slot::Memory(index) => Cost { slots: index as usize + 1, ..nothing },
            Slot::Row(index) => Cost { rows: index as usize + 1, ..nothing },
            Slot::Disk(index) => Cost { disk: index as usize + 1, writes: 1, ..nothing },
            Slot::Initial => nothing,
        },
        Action::Restore { slot: Slot::Disk(_), .. } => Cost { reads: 1, ..nothing },
        Action::Restore { .. } | Action::Reverse { .. } | Action::Pull { .. } | Action::Free { .. } => nothing,
    }
}
