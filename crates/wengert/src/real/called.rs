//! [`Called`]: a carrier whose operations are calls.

use std::cmp::Ordering;

use crate::ops::{Binary, Compare, Unary};
use crate::real::{Carrier, Real, real_operators};

/// A number that computes what the one inside computes, by functions that are compiled once for its type.
///
/// Operations of numbers that are made of several, or recorded, are long, and inlined wherever they stand. The rules of ninety
/// operations have some three hundred of them: as one function over eight tangents half a megabyte, for which the compiler took
/// as long as for a tenth of the library. Beside such numbers a call costs little.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Called<R>(pub(crate) R);

#[inline(never)]
#[track_caller]
fn sum<R: Real>(x: &R, y: &R) -> R {
    *x + *y
}

#[inline(never)]
#[track_caller]
fn difference<R: Real>(x: &R, y: &R) -> R {
    *x - *y
}

#[inline(never)]
#[track_caller]
fn product<R: Real>(x: &R, y: &R) -> R {
    *x * *y
}

#[inline(never)]
#[track_caller]
fn quotient<R: Real>(x: &R, y: &R) -> R {
    *x / *y
}

#[inline(never)]
#[track_caller]
fn binary<R: Real>(x: &R, y: &R, op: Binary) -> R {
    x.binary(*y, op)
}

#[inline(never)]
#[track_caller]
fn with_constant<R: Real>(x: &R, constant: f64, op: Binary) -> R {
    x.binary_constant(constant, op)
}

#[inline(never)]
#[track_caller]
fn of_constant<R: Real>(constant: f64, x: &R, op: Binary) -> R {
    R::constant_binary(constant, *x, op)
}

#[inline(never)]
#[track_caller]
fn unary<R: Real>(x: &R, op: Unary) -> R {
    x.unary(op)
}

#[inline(never)]
#[track_caller]
fn select<R: Real>(mask: R::Mask, yes: &R, no: &R) -> R {
    R::select(mask, *yes, *no)
}

impl<R: Real> Carrier for Called<R> {
    type Mask = R::Mask;
    const PLAIN: bool = R::PLAIN;

    fn carry_constant(value: f64) -> Self {
        Called(R::constant(value))
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn carry_unary(self, op: Unary) -> Self {
        Called(unary(&self.0, op))
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn carry_binary(self, other: Self, op: Binary) -> Self {
        let (x, y) = (&self.0, &other.0);
        Called(match op {
            Binary::Add => sum(x, y),
            Binary::Sub => difference(x, y),
            Binary::Mul => product(x, y),
            Binary::Div => quotient(x, y),
            op => binary(x, y, op),
        })
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn carry_binary_constant(self, constant: f64, op: Binary) -> Self {
        Called(with_constant(&self.0, constant, op))
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn carry_constant_binary(constant: f64, other: Self, op: Binary) -> Self {
        Called(of_constant(constant, &other.0, op))
    }

    #[track_caller]
    fn carry_compare(self, other: Self, op: Compare) -> R::Mask {
        self.0.compare(other.0, op)
    }

    #[track_caller]
    fn carry_decide(self, other: Self, op: Compare) -> Option<bool> {
        self.0.decide(other.0, op)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn carry_select(mask: R::Mask, yes: Self, no: Self) -> Self {
        Called(select(mask, &yes.0, &no.0))
    }

    fn carry_all_finite(self) -> bool {
        self.0.all_finite()
    }

    fn carry_number(self) -> Option<f64> {
        self.0.carry_number()
    }

    #[track_caller]
    fn carry_value(self) -> f64 {
        self.0.carry_value()
    }

    #[track_caller]
    fn carry_sech2_beside_tanh(self, tanh: Self) -> Self {
        Called(self.0.carry_sech2_beside_tanh(tanh.0))
    }
}

real_operators! { [R: Real] Called<R> }

impl<R: Real> PartialEq for Called<R> {
    #[track_caller]
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<R: Real> PartialOrd for Called<R> {
    #[track_caller]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.0.partial_cmp(&other.0)
    }
}

impl<R: Real> PartialEq<f64> for Called<R> {
    #[track_caller]
    fn eq(&self, other: &f64) -> bool {
        self.0 == *other
    }
}

impl<R: Real> PartialOrd<f64> for Called<R> {
    #[track_caller]
    fn partial_cmp(&self, other: &f64) -> Option<Ordering> {
        self.0.partial_cmp(other)
    }
}
