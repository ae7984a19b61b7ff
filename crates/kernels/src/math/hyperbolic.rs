//! `sinh`, `cosh`, `tanh`, and the functions of statistics that are made of `e^-|x|`:
//! `sigmoid` and `softplus`.
//!
//! All start from `e^x = 2^k (1 + r + t)`, whose two summands carry a few more digits than one
//! number; quotients are therefore taken of pairs, and only their last rounding counts.

use super::exponential::{Reduced, reduce};
use super::logarithm::log1p_pair;
use super::{clamp, power_of_two, scale, select};
use crate::double::{Double, fast_two_sum, square};
use crate::polynomial::degree7;

/// `(sinh(x) / x - 1) / z` with `z = x^2` on `z <= 1`, error 9.4e-18.
const SINH: [f64; 8] = [
    0.16666666666666666,
    0.008333333333333333,
    0.00019841269841269773,
    2.755731922404034e-06,
    2.505210836405804e-08,
    1.6059048396350562e-10,
    7.646625361656657e-13,
    2.8445264169895285e-15,
];

/// `e^|x|` as `2^k` times a pair, and `e^-|x| / 2^k`; for `|x|` at most 711.
#[inline(always)]
fn both_exponentials(x: f64) -> (f64, Double, f64) {
    let Reduced { k, r, t } = reduce(clamp(x.abs(), 0.0, 711.0), 0.0);
    let head = fast_two_sum(1.0, r);
    let growing = Double { hi: head.hi, lo: head.lo + t };
    let small = select(k > 60.0, 60.0, k);
    let decay = power_of_two(-small);
    (k, growing, decay * decay / growing.sum())
}

/// Up to one, `x + x^3 P(x^2)`; above, `(e^|x| - e^-|x|) / 2` with the sign of `x`.
#[inline(always)]
pub(crate) fn sinh_one(x: f64) -> f64 {
    let (k, growing, decaying) = both_exponentials(x);
    let high = fast_two_sum(growing.hi, -decaying);
    let large = scale(high.hi + (high.lo + growing.lo), k - 1.0).copysign(x);
    let z = x * x;
    let small = x + x * (z * degree7(z, &SINH));
    select(x.abs() > 1.0, large, small)
}

/// `(e^|x| + e^-|x|) / 2`.
#[inline(always)]
pub(crate) fn cosh_one(x: f64) -> f64 {
    let (k, growing, decaying) = both_exponentials(x);
    let high = fast_two_sum(growing.hi, decaying);
    scale(high.hi + (high.lo + growing.lo), k - 1.0)
}

/// `tanh` and its derivative, from `e = e^-2|x|`: `(1 - e) / (1 + e)` with the sign of `x`, and `4 e / (1 + e)^2`.
///
/// Each alone is this too: what it does not need is not computed.
#[inline(always)]
pub(crate) fn tanh_sech2_one(x: f64) -> (f64, f64) {
    let exponent = -2.0 * x.abs();
    let Reduced { k, r, t } = reduce(select(exponent < -748.0, -748.0, exponent), 0.0);
    let head = fast_two_sum(1.0, r);
    let scaled = fast_two_sum(head.hi, head.lo + t);
    // Below 2^-64 it cannot be seen beside one.
    let near = select(k < -64.0, -64.0, k);
    let factor = power_of_two(near);
    let e = Double { hi: factor * scaled.hi, lo: factor * scaled.lo };
    let sum = fast_two_sum(1.0, e.hi);
    let sum = Double { hi: sum.hi, lo: sum.lo + e.lo };
    let difference = fast_two_sum(1.0, -e.hi);
    let difference = fast_two_sum(difference.hi, difference.lo - e.lo);
    let reciprocal = 1.0 / sum.hi;
    let tanh = difference.over_about(sum, reciprocal).copysign(x);
    let total = square(sum.hi);
    let total = Double { hi: total.hi, lo: total.lo + 2.0 * (sum.hi * sum.lo) };
    let sech2 = scaled.over_about(total, reciprocal * reciprocal);
    // Below 2^-28 the tangent rounds to x; the formula would do, except that its pairs lose their second half to underflow.
    (select(x.abs() < 3.7e-9, x, tanh), sech2 * factor * power_of_two(k - near + 2.0))
}

/// `(e^x - e^-x) / (e^x + e^-x)`.
#[inline(always)]
pub(crate) fn tanh_one(x: f64) -> f64 {
    tanh_sech2_one(x).0
}

/// `1 / cosh(x)^2`.
#[inline(always)]
pub(crate) fn sech2_one(x: f64) -> f64 {
    tanh_sech2_one(x).1
}

/// `e^-|x|` as `2^k` times a pair; for `|x|` at most 746.
#[inline(always)]
fn decaying_exponential(x: f64) -> (f64, Double) {
    let Reduced { k, r, t } = reduce(clamp(-x.abs(), -746.0, 0.0), 0.0);
    let head = fast_two_sum(1.0, r);
    (k, fast_two_sum(head.hi, head.lo + t))
}

/// With `z = e^-|x|`: `1 / (1 + z)` on the right, `z / (1 + z)` on the left.
#[inline(always)]
pub(crate) fn sigmoid_one(x: f64) -> f64 {
    let (k, pair) = decaying_exponential(x);
    // Below 2^-64 the summand z cannot be seen in 1 + z.
    let factor = power_of_two(select(k < -64.0, -64.0, k));
    let head = fast_two_sum(1.0, factor * pair.hi);
    let denominator = Double { hi: head.hi, lo: head.lo + factor * pair.lo };
    let right = x >= 0.0;
    let numerator = Double { hi: select(right, 1.0, pair.hi), lo: select(right, 0.0, pair.lo) };
    let k = select(right, 0.0, k);
    scale(numerator.quotient(denominator), k)
}

/// `max(x, 0) + ln(1 + e^-|x|)`.
#[inline(always)]
pub(crate) fn softplus_one(x: f64) -> f64 {
    let (k, pair) = decaying_exponential(x);
    let tail = log1p_pair(scale(pair.hi, k), scale(pair.lo, k));
    let ramp = select(x > 0.0, x, 0.0);
    // The comparison above is false for NaN, but the tail is then NaN.
    ramp + tail
}

lanes! {
    /// Hyperbolic sine, `(e^x - e^-x) / 2`; keeps the sign of a zero.
    ///
    /// ```
    /// assert_eq!(wengert_kernels::math::sinh([1e-9, -800.0]), [1e-9, f64::NEG_INFINITY]);
    /// ```
    pub sinh = sinh_one;

    /// Hyperbolic cosine, `(e^x + e^-x) / 2`.
    ///
    /// ```
    /// assert_eq!(wengert_kernels::math::cosh([0.0, 800.0]), [1.0, f64::INFINITY]);
    /// ```
    pub cosh = cosh_one;

    /// Hyperbolic tangent, `(e^x - e^-x) / (e^x + e^-x)`; keeps the sign of a zero.
    ///
    /// ```
    /// assert_eq!(wengert_kernels::math::tanh([1e-9, -50.0]), [1e-9, -1.0]);
    /// ```
    pub tanh = tanh_one;

    /// `1 / cosh(x)^2`, the derivative of [`tanh`](super::tanh), accurate in the tails.
    ///
    /// ```
    /// assert_eq!(wengert_kernels::math::sech2([0.0, 400.0]), [1.0, 0.0]);
    /// ```
    pub sech2 = sech2_one;

    /// Logistic function, `1 / (1 + e^-x)`. On the left it decays like `e^x`, down to the
    /// subnormal numbers.
    ///
    /// ```
    /// assert_eq!(wengert_kernels::math::sigmoid([0.0, 40.0, -800.0]), [0.5, 1.0, 0.0]);
    /// ```
    pub sigmoid = sigmoid_one;

    /// `ln(1 + e^x)`, the integral of [`sigmoid`]. Does not overflow: on the right it is `x`
    /// plus a tail, on the left it decays like `e^x`.
    ///
    /// ```
    /// assert_eq!(wengert_kernels::math::softplus([1e300, -800.0]), [1e300, 0.0]);
    /// ```
    pub softplus = softplus_one;
}
