//! Two operations in one loop: `a * b + c` reads its three operands once, and each operation rounds as it does alone.

use std::collections::HashMap;

use wengert_kernels::region::Pair;

use super::flatten::Flat;
use crate::ops::Binary;
use crate::primitives::Op;
use crate::program::Value;

/// An equation that takes another one in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Joined {
    /// The equation that is computed inside.
    pub(super) inner: usize,
    /// Which operand it is.
    operand: usize,
    pub(super) pair: Pair,
}

/// The equations of a region that are computed together with the one that uses them, by the number of that one. `alone` says
/// whether a value is used once, by an equation of the same level, and stored nowhere.
pub(super) fn pairs(flat: &Flat, eqns: &[usize], alone: impl Fn(Value) -> bool) -> HashMap<usize, Joined> {
    let mut found: HashMap<usize, Joined> = HashMap::new();
    for &k in eqns {
        let eqn = &flat.program.eqns()[k];
        let Op::Binary(outer) = eqn.op else { continue };
        if !flat.program.ty(eqn.first).dtype.is_float() {
            continue;
        }
        let candidate = |operand: usize| {
            let arg = eqn.args[operand];
            let view = &flat.views[arg.index()];
            let inner = eqns.iter().copied().find(|&other| flat.program.eqns()[other].first == view.base)?;
            let Op::Binary(op) = flat.program.eqns()[inner].op else { return None };
            let free = view.is_in_order() && flat.literals[arg.index()].is_none() && alone(view.base);
            let pair = joined(op, outer, operand)?;
            (free && !found.contains_key(&inner)).then_some(Joined { inner, operand, pair })
        };
        if let Some(joined) = candidate(0).or_else(|| candidate(1)) {
            found.insert(k, joined);
        }
    }
    found
}

impl Joined {
    /// The three operands, given those of the equation inside and those of the one around.
    pub(super) fn operands<T: Clone>(&self, inner: &[T], outer: &[T]) -> [T; 3] {
        [inner[0].clone(), inner[1].clone(), outer[1 - self.operand].clone()]
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
