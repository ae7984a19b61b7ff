//! `asinh`, `acosh`, `atanh`.
//!
//! All are `ln(1 + t)` with a `t` that neither cancels nor is rounded to one number: the
//! logarithm takes it as a pair.

use super::logarithm::log1p_pair;
use super::select;
use crate::double::{Double, fast_two_sum, square, two_product, two_sum};
use std::f64::consts::LN_2;

/// From here on `ln(2x)` is the result to the last bit, and squares are not far from overflow.
const HUGE: f64 = 1e17;

/// `asinh(a) = ln(1 + a + a^2 / (1 + sqrt(1 + a^2)))` with the sign of `x`.
///
/// For small `a` the second summand is about `a^2 / 2` and rounded; for large ones it is about
/// `a`, and its rounding counts half.
#[inline(always)]
pub(crate) fn asinh_one(x: f64) -> f64 {
    let a = x.abs();
    let huge = a > HUGE;
    let bounded = select(huge, 1.0, a);
    let z = bounded * bounded;
    let t = fast_two_sum(bounded, z / (1.0 + (1.0 + z).sqrt()));
    let y = log1p_pair(select(huge, a, t.hi), select(huge, 0.0, t.lo));
    (y + select(huge, LN_2, 0.0)).copysign(x)
}

/// `acosh(x) = ln(1 + t + sqrt(t (t + 2)))` with `t = x - 1`, which is exact for small ones.
///
/// The root is a pair, because it decides the result near one.
#[inline(always)]
pub(crate) fn acosh_one(x: f64) -> f64 {
    let huge = x > HUGE;
    let t = select(huge, 1.0, x) - 1.0;
    let sum = two_sum(2.0, t);
    let product = two_product(t, sum.hi);
    let root = product.hi.sqrt();
    let root_square = square(root);
    let lost = ((product.hi - root_square.hi) - root_square.lo) + (product.lo + t * sum.lo);
    let root_low = select(root == 0.0, 0.0, lost / (root + root));
    let total = two_sum(root, t);
    let y = log1p_pair(select(huge, x, total.hi), select(huge, 0.0, total.lo + root_low));
    let y = y + select(huge, LN_2, 0.0);
    // False for NaN as well.
    select(x >= 1.0, y, f64::NAN)
}

/// `atanh(a) = ln(1 + 2a / (1 - a)) / 2` with the sign of `x`.
///
/// Below 2^-28 it rounds to `x`.
#[inline(always)]
pub(crate) fn atanh_one(x: f64) -> f64 {
    let a = x.abs();
    let inside = a < 1.0;
    let bounded = select(inside, a, 0.5);
    let t = Double { hi: bounded + bounded, lo: 0.0 }.over(fast_two_sum(1.0, -bounded));
    let y = 0.5 * log1p_pair(t.hi, t.lo);
    let y = select(a == 1.0, f64::INFINITY, y);
    let y = select(inside | (a == 1.0), y, f64::NAN).copysign(x);
    select(a < 3.7e-9, x, y)
}

lanes! {
    /// Inverse of the hyperbolic sine; keeps the sign of a zero.
    ///
    /// ```
    /// assert_eq!(wengert_kernels::math::asinh([0.0, 1e-20]), [0.0, 1e-20]);
    /// ```
    pub asinh = asinh_one;

    /// Inverse of the hyperbolic cosine; NaN below one.
    ///
    /// ```
    /// assert_eq!(wengert_kernels::math::acosh([1.0, f64::INFINITY]), [0.0, f64::INFINITY]);
    /// ```
    pub acosh = acosh_one;

    /// Inverse of the hyperbolic tangent; keeps the sign of a zero, infinite at one and minus
    /// one, NaN beyond.
    ///
    /// ```
    /// assert_eq!(wengert_kernels::math::atanh([1e-20, -1.0]), [1e-20, f64::NEG_INFINITY]);
    /// ```
    pub atanh = atanh_one;
}
