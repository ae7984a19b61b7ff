//! `sigmoid`, `silu`, the two forms of `gelu` and the slope of one.
//!
//! A quotient by `1 + e^-w` is right in both tails here, because `e^-w` does not overflow.

use super::error_function::erfc_inside;
use super::exponential::exp_inside;
use super::{at_least, at_most, between};
use crate::math::select;
use std::f64::consts::FRAC_1_SQRT_2;

#[inline(always)]
pub(crate) fn sigmoid(x: f32) -> f32 {
    (1.0 / (1.0 + exp_inside(between(-x, -90.0, 110.0)))) as f32
}

/// `x sigmoid(x)`; zero as `f32` from -110 down.
#[inline(always)]
pub(crate) fn silu(x: f32) -> f32 {
    let x = at_least(x, -150.0);
    (f64::from(x) / (1.0 + exp_inside(f64::from(at_least(-x, -90.0))))) as f32
}

/// `2 sqrt(2/pi)`.
const SCALE: f64 = 1.5957691216057308;

/// `x sigmoid(w)` with `w = 2 sqrt(2/pi) (x + 0.044715 x^3)`, zero as `f32` from -10 down, and its derivative
/// `s + x w' s (1 - s)` with `s = sigmoid(w)`, zero from -11 down.
///
/// Each alone is this too: what it does not need is not computed.
#[inline(always)]
pub(crate) fn gelu_tanh_with_slope(x: f32) -> (f32, f32) {
    // Beyond 20 the exponentials are too small to matter, or too large.
    let a = between(x, -20.0, 20.0);
    let square = a * a;
    let e = exp_inside(-(SCALE * a * (1.0 + 0.044715 * square)));
    // 1 / (1 + e^w) is e / (1 + e).
    let s = 1.0 / (1.0 + e);
    let slope = SCALE * (1.0 + 3.0 * 0.044715 * square);
    ((f64::from(at_least(x, -20.0)) * s) as f32, (s + a * slope * (s * (e * s))) as f32)
}

#[inline(always)]
pub(crate) fn gelu_tanh(x: f32) -> f32 {
    gelu_tanh_with_slope(x).0
}

#[inline(always)]
pub(crate) fn gelu_tanh_slope(x: f32) -> f32 {
    gelu_tanh_with_slope(x).1
}

/// `x/2 erfc(-x / sqrt 2)`; zero as `f32` from -14.5 down.
#[inline(always)]
pub(crate) fn gelu_erf(x: f32) -> f32 {
    let x = at_least(x, -20.0);
    let right = erfc_inside(f64::from(at_most(x.abs(), 14.42)) * FRAC_1_SQRT_2);
    (f64::from(x) * (0.5 * select(x < 0.0, right, 2.0 - right))) as f32
}
