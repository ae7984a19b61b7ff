//! Factors of the edges of a list, and what is multiplied by them: cotangents and tangents, one or several at a time.

use super::Var;
use crate::real::{Called, Real};

/// `∂ result / ∂ operand`, in the form that costs least.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Factor<R> {
    /// 1
    One,
    /// -1
    MinusOne,
    /// A constant factor.
    Constant(f64),
    /// One over a constant: `x / c` is never `x * (1/c)`, nor is its adjoint.
    Over(f64),
    /// A value that is known only when running.
    Times(R),
}

impl<R: Real> Factor<R> {
    /// The factor as a number.
    #[track_caller]
    pub(crate) fn number(self) -> R {
        match self {
            Factor::One => R::constant(1.0),
            Factor::MinusOne => R::constant(-1.0),
            Factor::Constant(c) => R::constant(c),
            Factor::Over(c) => R::constant(1.0 / c),
            Factor::Times(r) => r,
        }
    }
}

impl<R> Factor<Called<R>> {
    /// The factor for the numbers inside.
    pub(super) fn inside(self) -> Factor<R> {
        match self {
            Factor::One => Factor::One,
            Factor::MinusOne => Factor::MinusOne,
            Factor::Constant(c) => Factor::Constant(c),
            Factor::Over(c) => Factor::Over(c),
            Factor::Times(Called(r)) => Factor::Times(r),
        }
    }
}

impl Factor<Var> {
    /// The factor for plain numbers; the value of one that is known only when running.
    pub(crate) fn of_numbers(self) -> Factor<f64> {
        match self {
            Factor::One => Factor::One,
            Factor::MinusOne => Factor::MinusOne,
            Factor::Constant(c) => Factor::Constant(c),
            Factor::Over(c) => Factor::Over(c),
            Factor::Times(r) => Factor::Times(r.value),
        }
    }
}

/// What adjoints and tangents are made of: a vector over the carrier `R`.
pub(crate) trait Cotangent<R: Real>: Copy {
    /// How many components it has.
    const LANES: usize;
    /// Component `k`.
    fn lane(self, k: usize) -> R;
    /// The vector of these components.
    fn of_lanes(lane: impl Fn(usize) -> R) -> Self;
    fn zero() -> Self;
    #[track_caller]
    fn plus(self, other: Self) -> Self;
    #[track_caller]
    fn times(self, factor: Factor<R>) -> Self;
    #[track_caller]
    fn masked(self, mask: R::Mask) -> Self;
}

impl<R: Real> Cotangent<R> for R {
    const LANES: usize = 1;

    fn lane(self, _: usize) -> R {
        self
    }
    fn of_lanes(lane: impl Fn(usize) -> R) -> R {
        lane(0)
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn zero() -> Self {
        R::constant(0.0)
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn plus(self, other: Self) -> Self {
        self + other
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn times(self, factor: Factor<R>) -> Self {
        match factor {
            Factor::One => self,
            Factor::MinusOne => -self,
            Factor::Constant(c) => self * c,
            Factor::Over(c) => self / c,
            Factor::Times(r) => r * self,
        }
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn masked(self, mask: R::Mask) -> Self {
        R::select(mask, self, R::constant(0.0))
    }
}

/// `K` cotangents that are pulled back together, so that a partial is computed once for all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pack<R, const K: usize>(pub(crate) [R; K]);

impl<R: Real, const K: usize> Cotangent<R> for Pack<R, K> {
    const LANES: usize = K;

    fn lane(self, k: usize) -> R {
        self.0[k]
    }
    fn of_lanes(lane: impl Fn(usize) -> R) -> Self {
        Pack(std::array::from_fn(lane))
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn zero() -> Self {
        Pack([R::constant(0.0); K])
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn plus(self, other: Self) -> Self {
        Pack(std::array::from_fn(|k| self.0[k] + other.0[k]))
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn times(self, factor: Factor<R>) -> Self {
        Pack(self.0.map(|ct| ct.times(factor)))
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn masked(self, mask: R::Mask) -> Self {
        Pack(self.0.map(|ct| ct.masked(mask)))
    }
}
