//! Binomial checkpointing (revolve): the fewest advances with a given number of snapshots of carries.
//!
//! Griewank and Walther, "Algorithm 799: revolve: an implementation of checkpointing for the reverse or adjoint mode of
//! computational differentiation", 2000. In their convention, which the functions below follow, the carry before the
//! first step is one of the `s` snapshots, so that `s = slots + 1` for a loop whose initial carry is an operand, and
//! the run of a step for its residuals is not an advance. Then
//!
//! ```text
//! t(1, s) = 0,   t(l, s) = min over k of  k + t(l - k, s - 1) + t(k, s)
//!         = r l - C(s + r, r - 1),   r the smallest with  C(s + r, s) >= l
//! ```
//!
//! No step is advanced more than `r` times. The best `k` are those where `C(s + r - 2, s) <= k <= C(s + r - 1, s)` and
//! `C(s + r - 2, s - 1) <= l - k <= C(s + r - 1, s - 1)`. The largest of them is taken: the rest, which is shortest
//! then, makes the fewest snapshots. Without a slot (`s = 1`), `t(l, 1) = l (l - 1) / 2`.

use super::walk::{Division, Item};
use super::{Action, Cost, Slot};

#[derive(Clone, Copy, Debug)]
pub(super) struct Binomial {
    steps: usize,
    slots: usize,
}

/// The steps `from..to`, of which the carry before the first is the working one and in `home`; of the slots the first
/// `used` are taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gap {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) home: Slot,
    pub(super) used: usize,
    /// What is to be freed before, and the carry read from its home again: what waits at each level of the recursion is one part.
    pub(super) after: Option<Slot>,
}

impl Gap {
    /// Appends the actions that reverse the gap with `slots` slots, which `slot` names.
    pub(super) fn divide<P>(
        self,
        slots: usize,
        slot: impl Fn(usize) -> Slot,
        items: &mut Vec<Item<P>>,
        part: impl Fn(Self) -> P,
    ) {
        let Self { from, to, home, used, after } = self;
        if let Some(slot) = after {
            items.push(Item::Do(Action::Free { slot }));
            items.push(Item::Do(Action::Restore { step: from, slot: home }));
            items.push(Item::Part(part(Self { after: None, ..self })));
            return;
        }
        if to - from == 1 {
            items.push(Item::Do(Action::Reverse { step: from }));
            return;
        }
        let middle = from + split(to - from, slots - used + 1);
        items.push(Item::Do(Action::Advance { from, to: middle }));
        if to - middle == 1 {
            items.push(Item::Do(Action::Reverse { step: middle }));
            items.push(Item::Do(Action::Restore { step: from, slot: home }));
            items.push(Item::Part(part(Self { to: middle, ..self })));
        } else {
            let slot = slot(used);
            items.push(Item::Do(Action::Store { step: middle, slot }));
            items.push(Item::Part(part(Self { from: middle, to, home: slot, used: used + 1, after })));
            items.push(Item::Part(part(Self { to: middle, after: Some(slot), ..self })));
        }
    }

    /// What reversing the gap with `slots` slots takes. Each of the snapshots needs a step of its own, and the last
    /// step needs none.
    pub(super) fn cost(&self, slots: usize) -> Cost {
        let steps = self.to - self.from;
        let advances = advances(steps, slots - self.used + 1);
        Cost { advances, slots: slots.min(self.used + steps.saturating_sub(2)), ..Cost::default() }
    }
}

impl Binomial {
    /// More slots than steps are of no use, and not counted.
    pub(super) fn new(steps: usize, slots: usize) -> Self {
        Self { steps, slots: slots.min(steps) }
    }
}

impl Division for Binomial {
    type Part = Gap;

    fn whole(&self) -> Option<Gap> {
        (self.steps > 0).then_some(Gap { from: 0, to: self.steps, home: Slot::Initial, used: 0, after: None })
    }

    fn divide(&self, part: Gap, items: &mut Vec<Item<Gap>>) {
        part.divide(self.slots, |index| Slot::Memory(index as u32), items, |gap| gap);
    }

    fn known(&self, part: &Gap) -> Option<Cost> {
        Some(part.cost(self.slots))
    }
}

/// `C(s + r, s)`, the longest loop that `s` snapshots, the first carry among them, reverse with at most `r` advances of
/// each step; saturates.
pub(super) fn reach(s: usize, r: usize) -> u64 {
    let (few, many) = (s.min(r) as u128, s.max(r) as u128);
    let mut result = 1u128;
    for i in 1..=few {
        // The product of `i` successive numbers is a multiple of `i!`, so this division is exact.
        result = result * (many + i) / i;
        if result > u128::from(u64::MAX) {
            return u64::MAX;
        }
    }
    result as u64
}

/// The smallest `r` with `C(s + r, s) >= l`, and `C(s + r - 1, s)`, which is less than `l`; zero and zero up to one
/// step. There must be a snapshot, `s >= 1`.
fn repetition(l: usize, s: usize) -> (usize, u128) {
    debug_assert!(s >= 1, "without any carry nothing can be reversed");
    match (l, s) {
        (0 | 1, _) => (0, 0),
        (_, 1) => (l - 1, l as u128 - 1),
        _ => {
            let (mut r, mut below, mut reached) = (0, 0, 1u128);
            while reached < l as u128 {
                r += 1;
                below = reached;
                reached = reached * (s as u128 + r as u128) / r as u128;
            }
            (r, below)
        }
    }
}

/// `t(l, s) = r l - C(s + r, r - 1)`; saturates.
pub(super) fn advances(l: usize, s: usize) -> u64 {
    let (r, below) = repetition(l, s);
    if r == 0 {
        return 0;
    }
    // C(s + r, r - 1) = C(s + r - 1, s) (s + r) / (s + 1).
    let saved = below * (s as u128 + r as u128) / (s as u128 + 1);
    u64::try_from(r as u128 * l as u128 - saved).unwrap_or(u64::MAX)
}

/// After how many of `l >= 2` steps the next snapshot is best taken: `k`, the largest of the best.
pub(super) fn split(l: usize, s: usize) -> usize {
    let (r, below) = repetition(l, s);
    if s == 1 {
        return l - 1;
    }
    let rest = reach(s - 1, r - 1);
    below.min((l as u64 - rest).into()) as usize
}
