//! `exp`, `exp2`, `expm1` and the hyperbolic functions.
//!
//! `x = k ln 2 + r` with `|r| <= ln 2 / 2`, so `e^x = 2^k e^r`. Single-precision results leave
//! their range while `k` has eight bits, so `k ln 2` may be rounded, and `2^k` is always a
//! normal number: it is multiplied by adding `k` to the exponent's bits.

use super::{at_most, between};
use crate::math::SHIFT;
use crate::polynomial::degree5;
use std::f64::consts::{LN_2, LOG2_E};

/// `(e^r - 1 - r) / r^2` on `|r| <= 0.34662`, error 1.4e-9.
const EXP: [f64; 6] = [
    0.5000000013468551,
    0.16666666681626277,
    0.04166646489789655,
    0.008333310922439238,
    0.0013933653036328846,
    0.00019890994200629796,
];

/// `e^r - 1` for `|r| <= 0.34662`, with a relative error of 2^-32.
#[inline(always)]
fn expm1_part(r: f64) -> f64 {
    r + (r * r) * degree5(r, &EXP)
}

/// `x 2^k`, where `shifted` is `k + SHIFT`, for positive `x` and a normal result.
///
/// A NaN that comes from `f32` has zeros in its low bits, so it stays NaN.
#[inline(always)]
fn raise(x: f64, shifted: f64) -> f64 {
    f64::from_bits(x.to_bits().wrapping_add(shifted.to_bits() << 52))
}

/// `e^x` for `|x|` up to 700, with a relative error of 2^-32.
#[inline(always)]
pub(crate) fn exp_inside(x: f64) -> f64 {
    let shifted = x * LOG2_E + SHIFT;
    let r = x - (shifted - SHIFT) * LN_2;
    raise(1.0 + expm1_part(r), shifted)
}

/// `e^x - 1` for `|x|` up to 700, with a relative error of 2^-30; loses the sign of a zero.
#[inline(always)]
pub(crate) fn expm1_inside(x: f64) -> f64 {
    let shifted = x * LOG2_E + SHIFT;
    let r = x - (shifted - SHIFT) * LN_2;
    let power = raise(1.0, shifted);
    // The second summand is zero for k = 0, so a small result is the polynomial's.
    power * expm1_part(r) + (power - 1.0)
}

/// Above 89 the result is infinite as `f32`, below -104 zero.
#[inline(always)]
pub(crate) fn exp(x: f64) -> f64 {
    exp_inside(between(x, -110.0, 90.0))
}

/// `2^x = 2^k e^((x - k) ln 2)`, where `x - k` is exact.
#[inline(always)]
pub(crate) fn exp2(x: f64) -> f64 {
    let x = between(x, -160.0, 130.0);
    let shifted = x + SHIFT;
    let r = (x - (shifted - SHIFT)) * LN_2;
    raise(1.0 + expm1_part(r), shifted)
}

/// Below -18 the result rounds to -1.
#[inline(always)]
pub(crate) fn expm1(x: f64) -> f64 {
    expm1_inside(between(x, -30.0, 90.0)).copysign(x)
}

/// `(e + e / (e + 1)) / 2` with `e = e^|x| - 1`.
#[inline(always)]
pub(crate) fn sinh(x: f64) -> f64 {
    let e = expm1_inside(at_most(x.abs(), 91.0));
    (0.5 * (e + e / (e + 1.0))).copysign(x)
}

/// `(e^|x| + e^-|x|) / 2`.
#[inline(always)]
pub(crate) fn cosh(x: f64) -> f64 {
    let e = exp_inside(at_most(x.abs(), 91.0));
    0.5 * (e + 1.0 / e)
}

/// `e / (e + 2)` with `e = e^2|x| - 1`; from 9.1 on it rounds to one.
#[inline(always)]
pub(crate) fn tanh(x: f64) -> f64 {
    let e = expm1_inside(2.0 * at_most(x.abs(), 10.0));
    (e / (e + 2.0)).copysign(x)
}

/// `4 e / (1 + e)^2` with `e = e^-2|x|`.
#[inline(always)]
pub(crate) fn sech2(x: f64) -> f64 {
    let e = exp_inside(-2.0 * at_most(x.abs(), 60.0));
    let total = 1.0 + e;
    4.0 * e / (total * total)
}
