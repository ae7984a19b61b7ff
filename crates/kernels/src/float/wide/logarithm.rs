//! The logarithms, what is made of them, and `pow`.
//!
//! `x = 2^k (1 + f)` with `1 + f` between the roots of one half and of two. A polynomial in `f`
//! takes the place of the division in [`math`](crate::math): eleven coefficients give 31 bits.

use super::exponential::exp_inside;
use super::{at_least, between};
use crate::math::logarithm::split;
use crate::math::{power, select};
use crate::polynomial::{degree4, degree10};
use std::f64::consts::{LN_2, LOG2_E, LOG10_2, LOG10_E};

/// `(ln(1 + f) - f) / f^2` for `1 + f` from `sqrt(1/2)` to `sqrt(2)`, error 8.0e-10.
const LN: [f64; 11] = [
    -0.5000000005545165,
    0.33333332792999204,
    -0.24999971698140327,
    0.2000005738825762,
    -0.16669006307204182,
    0.14285624989907217,
    -0.1243226805928479,
    0.11037689258302641,
    -0.10769472428395056,
    0.10589881969443307,
    -0.06020956499496654,
];

/// `(2 artanh(s) / s - 2) / z` with `z = s^2` on `z <= 0.02945`, error 7.3e-12.
const ARTANH: [f64; 5] =
    [0.6666666666737665, 0.39999998795219155, 0.2857175496835035, 0.22191373380944632, 0.19363186932161763];

/// `ln(1 + f)` for `1 + f` from `sqrt(1/2)` to `sqrt(2)`, with a relative error of 2^-31.
#[inline(always)]
fn ln_mantissa(f: f64) -> f64 {
    f + (f * f) * degree10(f, &LN)
}

/// What a logarithm returns where the formula does not hold: `y` is the formula's result.
#[inline(always)]
fn with_edges(x: f64, y: f64) -> f64 {
    let y = if x == f64::INFINITY { x } else { y };
    let y = if x == 0.0 { f64::NEG_INFINITY } else { y };
    // False for NaN as well.
    if x >= 0.0 { y } else { f64::NAN }
}

#[inline(always)]
pub(crate) fn ln(x: f64) -> f64 {
    let (k, m) = split(x);
    with_edges(x, k * LN_2 + ln_mantissa(m - 1.0))
}

/// Exact for powers of two.
#[inline(always)]
pub(crate) fn log2(x: f64) -> f64 {
    let (k, m) = split(x);
    with_edges(x, k + LOG2_E * ln_mantissa(m - 1.0))
}

#[inline(always)]
pub(crate) fn log10(x: f64) -> f64 {
    let (k, m) = split(x);
    with_edges(x, k * LOG10_2 + LOG10_E * ln_mantissa(m - 1.0))
}

/// `ln(1 + x)` for finite `x > -1`, NaN below -1; loses the sign of a zero.
///
/// Where `1 + x` is near one, the argument itself is `f`: nothing is lost to rounding.
#[inline(always)]
pub(crate) fn log1p_inside(x: f64) -> f64 {
    let (k, m) = split(1.0 + x);
    let f = select(k == 0.0, x, m - 1.0);
    let y = k * LN_2 + ln_mantissa(f);
    // False for NaN as well.
    if x >= -1.0 { y } else { f64::NAN }
}

/// The result has the sign of `x`.
#[inline(always)]
pub(crate) fn log1p(x: f64) -> f64 {
    let y = log1p_inside(x);
    let y = if x == f64::INFINITY { x } else { y };
    let y = if x == -1.0 { f64::NEG_INFINITY } else { y };
    y.copysign(x)
}

/// `max(x, 0) + ln(1 + e^-|x|)`.
#[inline(always)]
pub(crate) fn softplus(x: f64) -> f64 {
    // The ramp is zero for NaN, but the tail is then NaN.
    let ramp = if x > 0.0 { x } else { 0.0 };
    ramp + log1p_inside(exp_inside(at_least(-x.abs(), -110.0)))
}

/// `max + ln(1 + e^(min - max))`.
#[inline(always)]
pub(crate) fn logaddexp(x: f64, y: f64) -> f64 {
    let high = if x > y { x } else { y };
    let low = if x > y { y } else { x };
    let sum = high + log1p_inside(exp_inside(at_least(low - high, -110.0)));
    // The difference of equal infinities is NaN.
    let sum = if high.abs() == f64::INFINITY { high } else { sum };
    if x.is_nan() | y.is_nan() { f64::NAN } else { sum }
}

/// `x ln(y)`, and zero where `x` is, unless `y` is NaN.
#[inline(always)]
pub(crate) fn xlogy(x: f64, y: f64) -> f64 {
    let product = x * ln(y);
    if (x == 0.0) & !y.is_nan() { 0.0 } else { product }
}

/// `asinh(a) = ln(1 + a + a^2 / (1 + sqrt(1 + a^2)))` with the sign of `x`.
#[inline(always)]
pub(crate) fn asinh(x: f64) -> f64 {
    let a = x.abs();
    let square = a * a;
    let y = log1p_inside(a + square / (1.0 + (1.0 + square).sqrt()));
    (if a == f64::INFINITY { a } else { y }).copysign(x)
}

/// `acosh(x) = ln(1 + t + sqrt(t (t + 2)))` with `t = x - 1`.
#[inline(always)]
pub(crate) fn acosh(x: f64) -> f64 {
    let t = x - 1.0;
    let y = log1p_inside(t + (t * (t + 2.0)).sqrt());
    let y = if x == f64::INFINITY { x } else { y };
    if x >= 1.0 { y } else { f64::NAN }
}

/// `atanh(a) = ln(1 + 2a / (1 - a)) / 2` with the sign of `x`.
#[inline(always)]
pub(crate) fn atanh(x: f64) -> f64 {
    let a = x.abs();
    let y = 0.5 * log1p_inside(2.0 * a / (1.0 - a));
    // Beyond one the quotient is below -2, or NaN for infinities, and so the logarithm NaN.
    (if a == 1.0 { f64::INFINITY } else { y }).copysign(x)
}

/// `x^y = e^(y ln |x|)`, with the cases of the standard.
///
/// The product may be 104, which magnifies a relative error of the logarithm as much; so this
/// one is the odd series in `f / (2 + f)`, with 43 bits.
#[inline(always)]
pub(crate) fn pow(x: f64, y: f64) -> f64 {
    let (k, m) = split(x.abs());
    let f = m - 1.0;
    let s = f / (2.0 + f);
    let z = s * s;
    let log = k * LN_2 + s * (2.0 + z * degree4(z, &ARTANH));
    // Beyond 2^66 an exponent decides nothing any more; an infinite one would meet ln 1 = 0.
    let product = between(y, -7.4e19, 7.4e19) * log;
    power::with_edges(x, y, exp_inside(between(product, -150.0, 150.0)))
}
