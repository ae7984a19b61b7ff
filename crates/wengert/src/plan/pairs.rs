//! Two operations in one loop: `a * b + c` reads its three operands once, and a sum of products never stores them. Each
//! operation rounds as it does alone.

use super::Map;

use wengert_kernels::region::Pair;

use super::flatten::Flat;
use crate::ops::Binary;
use crate::primitives::{Op, Reducer};
use crate::program::Value;

/// An equation that takes another one in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Joined {
    /// The equation that is computed inside.
    pub(super) inner: usize,
    pub(super) how: How,
}

/// What two equations are together.
#[derive(Clone, Copy, Debug)]
pub(super) enum How {
    /// One instruction on three operands; the equation inside is this operand of the other.
    Pair(Pair, usize),
    /// The sum of a product.
    Dot,
}

/// What the readers of a value are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reader {
    /// Several, or the value is stored.
    Many,
    /// One equation, with a result for each of its elements.
    Same,
    /// One equation of another level.
    Other,
}

/// The equations of a region that are computed together with the one that uses them, by the number of that one.
pub(super) fn pairs(flat: &Flat, eqns: &[usize], reader: impl Fn(Value) -> Reader) -> Map<usize, Joined> {
    let mut found: Map<usize, Joined> = Map::default();
    // What computes each value.
    let makers: Map<Value, usize> = eqns.iter().map(|&k| (flat.program.eqns()[k].first, k)).collect();
    for &k in eqns {
        let eqn = &flat.program.eqns()[k];
        if !flat.program.ty(eqn.first).dtype.is_float() {
            continue;
        }
        let candidate = |operand: usize| {
            let arg = eqn.args[operand];
            let view = &flat.views[arg.index()];
            let inner = *makers.get(&view.base)?;
            let Op::Binary(op) = flat.program.eqns()[inner].op else { return None };
            let how = match (&eqn.op, reader(view.base)) {
                (Op::Binary(outer), Reader::Same) => How::Pair(joined(op, *outer, operand)?, operand),
                (Op::Reduce(reduce), Reader::Same | Reader::Other)
                    if op == Binary::Mul && reduce.reducer == Reducer::Sum =>
                {
                    How::Dot
                }
                _ => return None,
            };
            let free = view.is_in_order() && flat.literals[arg.index()].is_none() && !found.contains_key(&inner);
            free.then_some(Joined { inner, how })
        };
        if let Some(joined) = (0..eqn.args.len()).find_map(candidate) {
            found.insert(k, joined);
        }
    }
    found
}

impl Joined {
    /// The operands, given those of the equation inside and those of the one around.
    pub(super) fn operands<T: Clone>(&self, inner: &[T], outer: &[T]) -> Vec<T> {
        let mut operands = inner.to_vec();
        if let How::Pair(_, operand) = self.how {
            operands.push(outer[1 - operand].clone());
        }
        operands
    }
}

/// The one loop for `inner` as this operand of `outer`.
fn joined(inner: Binary, outer: Binary, operand: usize) -> Option<Pair> {
    match (inner, outer, operand) {
        (Binary::Mul, Binary::Add, _) => Some(Pair::MulAdd),
        (Binary::Mul, Binary::Sub, 0) => Some(Pair::MulSub),
        (Binary::Mul, Binary::Sub, _) => Some(Pair::SubMul),
        (Binary::Add, Binary::Mul, _) => Some(Pair::AddMul),
        (Binary::Sub, Binary::Mul, _) => Some(Pair::SubTimes),
        (Binary::Mul, Binary::Mul, _) => Some(Pair::MulMul),
        (Binary::Add, Binary::Add, _) => Some(Pair::AddAdd),
        _ => None,
    }
}
