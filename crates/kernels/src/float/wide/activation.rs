//! `sigmoid`, `silu` and the two forms of `gelu`.
//!
//! A quotient by `1 + e^-w` is right in both tails here, because `e^-w` does not overflow.

use super::error_function::erfc_inside;
use super::exponential::exp_inside;
use super::{at_least, at_most, between};
use std::f64::consts::FRAC_1_SQRT_2;

#[inline(always)]
pub(crate) fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + exp_inside(between(-x, -90.0, 110.0)))
}

/// `x sigmoid(x)`; zero as `f32` from -110 down.
#[inline(always)]
pub(crate) fn silu(x: f64) -> f64 {
    let x = at_least(x, -150.0);
    x / (1.0 + exp_inside(at_least(-x, -90.0)))
}

/// `2 sqrt(2/pi)`.
const SCALE: f64 = 1.5957691216057308;

/// `x sigmoid(2 sqrt(2/pi) (x + 0.044715 x^3))`; zero as `f32` from -10 down.
#[inline(always)]
pub(crate) fn gelu_tanh(x: f64) -> f64 {
    let x = at_least(x, -20.0);
    let w = SCALE * x * (1.0 + 0.044715 * (x * x));
    x / (1.0 + exp_inside(at_least(-w, -90.0)))
}

/// `x/2 erfc(-x / sqrt 2)`; zero as `f32` from -14.5 down.
#[inline(always)]
pub(crate) fn gelu_erf(x: f64) -> f64 {
    let x = at_least(x, -20.0);
    let right = erfc_inside(at_most(x.abs() * FRAC_1_SQRT_2, 10.2));
    x * (0.5 * if x < 0.0 { right } else { 2.0 - right })
}
