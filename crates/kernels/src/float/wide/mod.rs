//! Functions of single-precision numbers, computed in double precision.
//!
//! An `f32` is taken as an `f64`, the function is computed with a relative error of about 2^-28
//! by shorter polynomials than those of [`math`](crate::math), and the result is rounded to
//! `f32` once. So the error is little more than half a unit in the last place, nothing
//! overflows, underflows or cancels on the way that would not in the result, subnormal numbers
//! are ordinary ones, and the bits are the same at every level without fused multiply-add.
//! Native polynomials of 24 bits handle twice as many numbers in a vector, but need pairs of
//! numbers in each reduction to come near this accuracy.
//!
//! What can be done in `f32` without rounding is done there, before and after: clamping, signs,
//! the ends of domains. A vector of it has twice as many numbers. The polynomials are from
//! `tests/golden/fit.py`.

pub(crate) mod activation;
pub(crate) mod arc;
pub(crate) mod error_function;
pub(crate) mod exponential;
pub(crate) mod logarithm;
pub(crate) mod root;
pub(crate) mod trigonometric;

/// `x`, but at least `low`; NaN stays NaN.
#[inline(always)]
fn at_least(x: f32, low: f32) -> f32 {
    if x < low { low } else { x }
}

/// `x`, but at most `high`; NaN stays NaN.
#[inline(always)]
fn at_most(x: f32, high: f32) -> f32 {
    if x > high { high } else { x }
}

/// `x`, but at least `low` and at most `high`, as `f64`; NaN stays NaN.
#[inline(always)]
fn between(x: f32, low: f32, high: f32) -> f64 {
    f64::from(at_most(at_least(x, low), high))
}

/// `a` if the condition holds, else `b`; with masks, as [`select`](crate::math) is.
#[inline(always)]
fn pick(condition: bool, a: f32, b: f32) -> f32 {
    let mask = 0_u32.wrapping_sub(u32::from(condition));
    f32::from_bits((a.to_bits() & mask) | (b.to_bits() & !mask))
}
