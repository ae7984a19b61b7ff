//! Functions of single-precision numbers, computed in double precision.
//!
//! An `f32` is taken as an `f64`, the function is computed with a relative error of about 2^-30
//! by shorter polynomials than those of [`math`](crate::math), and the result is rounded to
//! `f32` once. So the error is little more than half a unit in the last place, nothing
//! overflows, underflows or cancels on the way that would not in the result, subnormal numbers
//! are ordinary ones, and the bits are the same at every level without fused multiply-add.
//! Native polynomials of 24 bits handle twice as many numbers in a vector, but need pairs of
//! numbers in each reduction to come near this accuracy.
//!
//! Arguments and results here are `f64`; the polynomials are from `tests/golden/fit.py`.

pub(crate) mod activation;
pub(crate) mod arc;
pub(crate) mod error_function;
pub(crate) mod exponential;
pub(crate) mod logarithm;
pub(crate) mod root;
pub(crate) mod trigonometric;

/// `x`, but at least `low`; NaN stays NaN.
#[inline(always)]
fn at_least(x: f64, low: f64) -> f64 {
    if x < low { low } else { x }
}

/// `x`, but at most `high`; NaN stays NaN.
#[inline(always)]
fn at_most(x: f64, high: f64) -> f64 {
    if x > high { high } else { x }
}

/// `x`, but at least `low` and at most `high`; NaN stays NaN.
#[inline(always)]
fn between(x: f64, low: f64, high: f64) -> f64 {
    at_most(at_least(x, low), high)
}
