//! [`Float`]: plain numbers, the leaves under every carrier; and [`F32`], the single-precision one.

use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::ops::{Binary, Compare, Unary};
use crate::real::{Carrier, real_operators, real_references};
use wengert_kernels::special;

/// A plain number: `f64`, `f32`, or [`Lanes`](crate::Lanes) of `f64`. The leaf under every carrier.
///
/// The default methods go through `f64`, one number at a time; lanes override what they can do
/// faster.
pub trait Float:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    /// The nearest number of this type.
    fn from_f64(value: f64) -> Self;
    /// `f` of every number, computed in `f64`.
    fn map(self, f: impl Fn(f64) -> f64) -> Self;
    /// `f` of every pair of numbers, computed in `f64`.
    fn map2(self, other: Self, f: impl Fn(f64, f64) -> f64) -> Self;
    /// Square root.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn sqrt(self) -> Self {
        self.map(f64::sqrt)
    }
    /// Cube root.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn cbrt(self) -> Self {
        self.map(f64::cbrt)
    }
    /// `e^x`
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn exp(self) -> Self {
        self.map(f64::exp)
    }
    /// `2^x`
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn exp2(self) -> Self {
        self.map(f64::exp2)
    }
    /// `e^x - 1`
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn expm1(self) -> Self {
        self.map(f64::exp_m1)
    }
    /// Natural logarithm.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn ln(self) -> Self {
        self.map(f64::ln)
    }
    /// Logarithm to base 2.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn log2(self) -> Self {
        self.map(f64::log2)
    }
    /// Logarithm to base 10.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn log10(self) -> Self {
        self.map(f64::log10)
    }
    /// `ln(1+x)`
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn log1p(self) -> Self {
        self.map(f64::ln_1p)
    }
    /// Sine.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn sin(self) -> Self {
        self.map(f64::sin)
    }
    /// Cosine.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn cos(self) -> Self {
        self.map(f64::cos)
    }
    /// Tangent.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn tan(self) -> Self {
        self.map(f64::tan)
    }
    /// Inverse sine.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn asin(self) -> Self {
        self.map(f64::asin)
    }
    /// Inverse cosine.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn acos(self) -> Self {
        self.map(f64::acos)
    }
    /// Inverse tangent.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn atan(self) -> Self {
        self.map(f64::atan)
    }
    /// `self^exponent`
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn powf(self, exponent: Self) -> Self {
        self.map2(exponent, f64::powf)
    }
    /// Angle of the point with ordinate `self` and abscissa `other`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn atan2(self, other: Self) -> Self {
        self.map2(other, f64::atan2)
    }
    /// `sqrt(self^2 + other^2)` without overflow.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn hypot(self, other: Self) -> Self {
        self.map2(other, f64::hypot)
    }
    /// Hyperbolic sine.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn sinh(self) -> Self {
        self.map(f64::sinh)
    }
    /// Hyperbolic cosine.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn cosh(self) -> Self {
        self.map(f64::cosh)
    }
    /// Hyperbolic tangent.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn tanh(self) -> Self {
        self.map(f64::tanh)
    }
    /// `1/(1+e^-x)`
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn sigmoid(self) -> Self {
        self.map(special::sigmoid)
    }
    /// `ln(1+e^x)`
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn softplus(self) -> Self {
        self.map(special::softplus)
    }
    /// Error function.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn erf(self) -> Self {
        self.map(special::erf)
    }
    /// Complementary error function.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn erfc(self) -> Self {
        self.map(special::erfc)
    }
}

impl Float for f64 {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn from_f64(value: f64) -> Self {
        value
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn map(self, f: impl Fn(f64) -> f64) -> Self {
        f(self)
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn map2(self, other: Self, f: impl Fn(f64, f64) -> f64) -> Self {
        f(self, other)
    }
}

/// A single-precision number as a [`Real`](crate::Real). (`f32` itself cannot be one: Rust gives it no
/// arithmetic with the `f64` literals that generic code is written with.)
///
/// Functions beyond `+ - * /` are computed in `f64` and rounded once.
///
/// It is a point of drivers too, alone and in arrays, lists and structs: the derivative is computed in `f64` and rounded
/// once, and the value is an `f64`. (An `f32` cannot be a point: in `grad(2.0, …)` the literal could then be either.)
///
/// ```
/// use wengert::prelude::*;
/// let (value, g) = value_and_grad([F32(0.5), F32(3.0)], |[x, y]| x * x * y);
/// assert_eq!((value, g), (0.75, [F32(3.0), F32(0.25)]));
/// let singles: Vec<f32> = vec![1.0, 2.0];
/// let point: Vec<F32> = singles.into_iter().map(F32).collect();
/// assert_eq!(grad(point, |x| x.iter().map(|x| x * x).sum())[1].0, 4.0_f32);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct F32(pub f32);

real_operators! { [] F32 }
real_references! { [] F32 }

impl From<f32> for F32 {
    fn from(value: f32) -> Self {
        F32(value)
    }
}

impl From<F32> for f32 {
    fn from(number: F32) -> f32 {
        number.0
    }
}

impl From<F32> for f64 {
    fn from(number: F32) -> f64 {
        f64::from(number.0)
    }
}

impl PartialEq<f64> for F32 {
    fn eq(&self, other: &f64) -> bool {
        f64::from(self.0) == *other
    }
}

impl PartialOrd<f64> for F32 {
    fn partial_cmp(&self, other: &f64) -> Option<std::cmp::Ordering> {
        f64::from(self.0).partial_cmp(other)
    }
}

impl Float for F32 {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn from_f64(value: f64) -> Self {
        F32(value as f32)
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn map(self, f: impl Fn(f64) -> f64) -> Self {
        F32(f(f64::from(self.0)) as f32)
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn map2(self, other: Self, f: impl Fn(f64, f64) -> f64) -> Self {
        F32(f(f64::from(self.0), f64::from(other.0)) as f32)
    }
}

impl Carrier for F32 {
    type Mask = bool;
    const PLAIN: bool = true;
    const RULES_APART: bool = false;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn carry_constant(value: f64) -> Self {
        F32(value as f32)
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn carry_unary(self, op: Unary) -> Self {
        self.map(|x| op.eval(x))
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn carry_binary(self, other: Self, op: Binary) -> Self {
        // One rounding from f64 to f32 after + - * / gives the correctly rounded f32 result
        // (Figueroa, 1995): f64 has more than twice the digits.
        self.map2(other, |x, y| op.eval(x, y))
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn carry_compare(self, other: Self, op: Compare) -> bool {
        op.eval(self.0, other.0)
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn carry_select(mask: bool, yes: Self, no: Self) -> Self {
        if mask { yes } else { no }
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn carry_all_finite(self) -> bool {
        self.0.is_finite()
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn carry_number(self) -> Option<f64> {
        Some(f64::from(self.0))
    }
}
