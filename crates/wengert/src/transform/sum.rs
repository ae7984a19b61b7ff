//! Sums of cotangents: what the uses of a value contribute, in the order in which they come.
//!
//! A use of a part of an array contributes zeros around a block. Blocks that come one after the other and do not overlap are
//! joined, in whatever order they lie (`beside.rs`), so that an array that is read slice by slice, or turned around a torus, has
//! its cotangent without a sum; what is small beside its array is added to the part alone.

use super::beside::{Beside, Padded};
use crate::primitives::{Cotangent, DynamicSlice, Logic, Op, Update, Write};
use crate::program::{Builder, Eqn, Value};

/// The cotangent of a value, as far as its uses have contributed.
#[derive(Debug, Default)]
pub(super) struct Sum {
    /// What was contributed before the blocks.
    before: Option<Value>,
    /// The last contributions, if they are blocks beside each other.
    blocks: Option<Beside>,
    /// Where it counts: where one of the contributions does; everywhere if there is none.
    mask: Option<Value>,
}

impl Sum {
    /// Adds a contribution; a place that counts in one of them counts in the sum.
    pub(super) fn add(&mut self, b: &mut Builder, ct: Cotangent) {
        self.mask = match self.before.is_none() && self.blocks.is_none() {
            true => ct.mask,
            false => self.mask.zip(ct.mask).and_then(|(x, y)| in_one_of(b, x, y)),
        };
        let Some(block) = Padded::of(b, ct.value) else {
            self.settle(b);
            self.before = Some(sum(b, self.before, ct.value));
            return;
        };
        let block = match &mut self.blocks {
            Some(blocks) => blocks.join(block, ct.value),
            None => Some(block),
        };
        if let Some(block) = block {
            self.settle(b);
            self.blocks = Some(Beside::of(b, block, ct.value));
        }
    }

    /// The sum, which is then empty; `None` if nothing was contributed.
    pub(super) fn take(&mut self, b: &mut Builder) -> Option<Cotangent> {
        self.settle(b);
        let mask = self.mask.take();
        self.before.take().map(|value| Cotangent { value, mask })
    }

    /// Adds the blocks.
    fn settle(&mut self, b: &mut Builder) {
        let Some(blocks) = self.blocks.take() else { return };
        if self.before.is_some() && blocks.are_sparse() {
            for part in blocks.contributions() {
                self.before = Some(sum(b, self.before, part));
            }
            return;
        }
        let value = blocks.value(b);
        self.before = Some(sum(b, self.before, value));
    }
}

/// Where one of two masks counts; `None` if that is everywhere, as of both sides of a selection. The first one is what has been
/// joined so far.
pub(crate) fn in_one_of(b: &mut Builder, x: Value, y: Value) -> Option<Value> {
    let sofar = alternatives(b, x);
    let is_outside = |b: &Builder, of: Value| sofar.iter().any(|&one| are_opposite(b, one, of));
    // Outside of `o` counts already: of `o and c`, `c` is new.
    let y = match both(b, y) {
        Some([o, c]) if is_outside(b, o) => c,
        Some([o, c]) if is_outside(b, c) => o,
        _ => y,
    };
    if sofar.iter().any(|&one| are_same(b, one, y)) {
        return Some(x);
    }
    if is_outside(b, y) {
        return None;
    }
    match (both(b, x), both(b, y)) {
        (Some([o, c]), _) if are_opposite(b, o, y) => Some(b.op(Logic::Or, &[y, c])),
        // Both sides of a selection inside of another one.
        (Some([o, one]), Some([same, other])) if o == same && are_opposite(b, one, other) => Some(o),
        _ => Some(b.op(Logic::Or, &[x, y])),
    }
}

/// How many masks are looked at that were joined to one.
const ALTERNATIVES: usize = 8;

/// The masks that one was joined of.
fn alternatives(b: &Builder, mask: Value) -> Vec<Value> {
    let mut found = vec![mask];
    let mut k = 0;
    while k < found.len() && found.len() < ALTERNATIVES {
        match args_of(b, found[k], Logic::Or) {
            Some([x, y]) => {
                found[k] = x;
                found.push(y);
            }
            None => k += 1,
        }
    }
    found
}

fn args_of<const N: usize>(b: &Builder, mask: Value, op: Logic) -> Option<[Value; N]> {
    let eqn = b.definition(mask).filter(|eqn| eqn.op == Op::Logic(op))?;
    eqn.args[..].try_into().ok()
}

fn both(b: &Builder, mask: Value) -> Option<[Value; 2]> {
    args_of(b, mask, Logic::And)
}

fn are_opposite(b: &Builder, x: Value, y: Value) -> bool {
    args_of(b, x, Logic::Not) == Some([y]) || args_of(b, y, Logic::Not) == Some([x])
}

fn are_same(b: &Builder, x: Value, y: Value) -> bool {
    let not = |mask: Value| args_of::<1>(b, mask, Logic::Not);
    x == y || not(x).is_some_and(|of| not(y) == Some(of))
}

/// The sum of two contributions, of which there may be one only.
fn sum(b: &mut Builder, before: Option<Value>, value: Value) -> Value {
    let Some(before) = before else { return value };
    let increased = increased(b, before, value).or_else(|| increased(b, value, before));
    increased.unwrap_or_else(|| b.add(before, value))
}

/// How many times larger than its part a cotangent is, at least, where only the part is added to.
pub(super) const PART: usize = 4;

/// The sum of a contribution and one that is zero but for a small part: the part is added to, so that a function that
/// reads an array row by row does not pay for all of it each time. `None` if it is not such.
fn increased(b: &mut Builder, sum: Value, part: Value) -> Option<Value> {
    let eqn = b.definition(part)?.clone();
    let whole = b.ty(part).size();
    let is_small = |b: &Builder, block: Value| PART * b.ty(block).size() <= whole;
    match (&eqn.op, &eqn.args[..]) {
        (Op::Pad(pad), &[block, zero]) if b.is_zero(zero) && is_small(b, block) => {
            let start: Option<Vec<usize>> = pad.low.iter().map(|&low| usize::try_from(low).ok()).collect();
            let grows = pad.high.iter().all(|&count| count >= 0);
            let stride = pad.interior.iter().map(|interior| interior + 1).collect();
            let update = Update { start: start.filter(|_| grows)?, stride, write: Write::Add };
            Some(match b.definition(sum).cloned() {
                // What was taken out is put in.
                Some(Eqn { op: Op::Update(other), args, .. })
                    if other.write == Write::Set
                        && (&other.start, &other.stride) == (&update.start, &update.stride)
                        && b.shape(args[1]) == b.shape(block)
                        && b.is_zero(args[1]) =>
                {
                    b.op(other, &[args[0], block])
                }
                _ => b.op(update, &[sum, block]),
            })
        }
        (Op::Scatter(scatter), &[zeros, indices, block])
            if scatter.write == Write::Add && b.is_zero(zeros) && is_small(b, block) =>
        {
            Some(b.op(scatter.clone(), &[sum, indices, block]))
        }
        (Op::DynamicUpdate(update), &[zeros, block, start]) if b.is_zero(zeros) && is_small(b, block) => {
            let before = b.op(DynamicSlice::new(b.shape(block)), &[sum, start]);
            let after = b.add(before, block);
            Some(b.op(*update, &[sum, after, start]))
        }
        _ => None,
    }
}
