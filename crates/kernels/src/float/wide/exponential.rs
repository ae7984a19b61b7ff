//! `exp`, `exp2`, `expm1` and the hyperbolic functions.
//!
//! `e^x = 2^t` with `t = x log2(e)`, and `t = k + f` with `|f| <= 1/2`. Single-precision results
//! leave their range while `k` has eight bits, so the rounding of `t` does not count, and `2^k`
//! is always a normal number: it is multiplied by adding `k` to the exponent's bits.

use super::{at_most, between};
use crate::math::SHIFT;
use crate::polynomial::degree6;
use std::f64::consts::{LN_2, LOG2_E};

/// `2^f` on `|f| <= 0.5001`, error 2.0e-9.
const EXP2: [f64; 7] = [
    1.0,
    0.6931472067342503,
    0.2402265092256076,
    0.05550327159647605,
    0.00961805662050108,
    0.0013400454984126323,
    0.00015461467905285986,
];

/// `(2^f - 1) / f` on `|f| <= 0.5001`, error 1.7e-10.
const EXP2_M1: [f64; 7] = [
    LN_2,
    0.2402265092256076,
    0.05550410883930555,
    0.00961805662050108,
    0.001333350234150156,
    0.00015461467905285986,
    1.529734162283227e-05,
];

/// `k + SHIFT` and `f` with `t = k + f`.
#[inline(always)]
fn fraction(t: f64) -> (f64, f64) {
    let shifted = t + SHIFT;
    (shifted, t - (shifted - SHIFT))
}

/// `x 2^k`, where `shifted` is `k + SHIFT`, for positive `x` and a normal result.
///
/// A NaN that comes from `f32` has zeros in its low bits, so it stays NaN.
#[inline(always)]
fn raise(x: f64, shifted: f64) -> f64 {
    f64::from_bits(x.to_bits().wrapping_add(shifted.to_bits() << 52))
}

/// `2^t` for `|t|` up to 1000, with a relative error of 2^-28.
#[inline(always)]
fn exp2_inside(t: f64) -> f64 {
    let (shifted, f) = fraction(t);
    raise(degree6(f, &EXP2), shifted)
}

/// `e^x` for `|x|` up to 690, with a relative error of 2^-28.
#[inline(always)]
pub(crate) fn exp_inside(x: f64) -> f64 {
    exp2_inside(x * LOG2_E)
}

/// `e^x - 1` for `|x|` up to 690, with a relative error of 2^-30; loses the sign of a zero.
#[inline(always)]
pub(crate) fn expm1_inside(x: f64) -> f64 {
    let (shifted, f) = fraction(x * LOG2_E);
    let power = raise(1.0, shifted);
    // The second summand is zero for k = 0, so a small result is the polynomial's.
    (power * f) * degree6(f, &EXP2_M1) + (power - 1.0)
}

/// Above 89 the result is infinite as `f32`, below -104 zero.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    exp_inside(between(x, -110.0, 90.0)) as f32
}

/// Exact for integers.
#[inline(always)]
pub(crate) fn exp2(x: f32) -> f32 {
    exp2_inside(between(x, -160.0, 130.0)) as f32
}

/// Below -18 the result rounds to -1.
#[inline(always)]
pub(crate) fn expm1(x: f32) -> f32 {
    (expm1_inside(between(x, -30.0, 90.0)) as f32).copysign(x)
}

/// `(e + e / (e + 1)) / 2` with `e = e^|x| - 1`.
#[inline(always)]
pub(crate) fn sinh(x: f32) -> f32 {
    let e = expm1_inside(f64::from(at_most(x.abs(), 91.0)));
    ((0.5 * (e + e / (e + 1.0))) as f32).copysign(x)
}

/// `(e^|x| + e^-|x|) / 2`.
#[inline(always)]
pub(crate) fn cosh(x: f32) -> f32 {
    let e = exp_inside(f64::from(at_most(x.abs(), 91.0)));
    (0.5 * (e + 1.0 / e)) as f32
}

/// `tanh` and its derivative, from `e = e^-2|x|`: `(1 - e) / (1 + e)` with the sign of `x`, and `4 e / (1 + e)^2`.
///
/// Each alone is this too: what it does not need is not computed.
#[inline(always)]
pub(crate) fn tanh_sech2(x: f32) -> (f32, f32) {
    let (shifted, f) = fraction(f64::from(-2.0 * at_most(x.abs(), 60.0)) * LOG2_E);
    let power = raise(1.0, shifted);
    let rest = (power * f) * degree6(f, &EXP2_M1);
    // Where the exponential is nearly one, what it lacks is the polynomial's.
    let (e, less) = (power + rest, (1.0 - power) - rest);
    let part = 1.0 / (1.0 + e);
    (((less * part) as f32).copysign(x), (4.0 * e * (part * part)) as f32)
}

#[inline(always)]
pub(crate) fn tanh(x: f32) -> f32 {
    tanh_sech2(x).0
}

#[inline(always)]
pub(crate) fn sech2(x: f32) -> f32 {
    tanh_sech2(x).1
}
