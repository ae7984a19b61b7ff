//! Recursive bisection: a snapshot in the middle, then the second half, then the first, each the same way.
//!
//! The longest chain of second halves has `ceil(log2 l)` members, and the last of them, a single step, needs no
//! snapshot: `ceil(log2 l) - 1` slots beside the initial carry. The advances are `T(l) = floor(l/2) + T(floor(l/2)) +
//! T(ceil(l/2))`, which is the number of ones in the binary forms of `0..l` (McIlroy, "The number of 1's in binary
//! integers: bounds and extremal properties", 1974), at most `l log2(l) / 2`.
//!
//! With the same number of slots `binomial.rs` advances less; what speaks for halves is that the pattern needs no
//! coefficients, and that the number of slots follows from the length.

use super::walk::{Division, Item};
use super::{Action, Cost, Slot};

#[derive(Clone, Copy, Debug)]
pub(super) struct Recursive {
    pub(super) steps: usize,
}

/// The steps `from..to`, of which the carry before the first is the working one and in `home`; the slots from `used` on
/// are free.
pub(super) struct Half {
    from: usize,
    to: usize,
    home: Slot,
    used: u32,
}

impl Division for Recursive {
    type Part = Half;

    fn whole(&self) -> Option<Half> {
        (self.steps > 0).then_some(Half { from: 0, to: self.steps, home: Slot::Initial, used: 0 })
    }

    fn divide(&self, part: Half, items: &mut Vec<Item<Half>>) {
        let Half { from, to, home, used } = part;
        if to - from == 1 {
            items.push(Item::Do(Action::Reverse { step: from }));
            return;
        }
        let middle = from + (to - from) / 2;
        items.push(Item::Do(Action::Advance { from, to: middle }));
        if to - middle == 1 {
            items.push(Item::Do(Action::Reverse { step: middle }));
        } else {
            let slot = Slot::Memory(used);
            items.push(Item::Do(Action::Store { step: middle, slot }));
            items.push(Item::Part(Half { from: middle, to, home: slot, used: used + 1 }));
            items.push(Item::Do(Action::Free { slot }));
        }
        items.push(Item::Do(Action::Restore { step: from, slot: home }));
        items.push(Item::Part(Half { from, to: middle, home, used }));
    }

    fn known(&self, _: &Half) -> Option<Cost> {
        // Only the whole is asked for.
        let logarithm = self.steps.next_power_of_two().trailing_zeros() as usize;
        Some(Cost { advances: ones_below(self.steps as u64), slots: logarithm.saturating_sub(1), ..Cost::default() })
    }
}

/// The number of ones in the binary forms of all numbers below `n`: of every block of `2^(b+1)` numbers, the second
/// half has bit `b`.
fn ones_below(n: u64) -> u64 {
    (0..64).fold(0u64, |sum, bit| {
        let half = 1u128 << bit;
        let (blocks, rest) = (u128::from(n) / (2 * half), u128::from(n) % (2 * half));
        sum.saturating_add(u64::try_from(blocks * half + rest.saturating_sub(half)).unwrap_or(u64::MAX))
    })
}
