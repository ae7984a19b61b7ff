//! The logarithms, what is made of them, and `pow`.
//!
//! `x = 2^k (1 + f)` with `1 + f` between the roots of one half and of two. A polynomial in `f`
//! takes the place of the division in [`math`](crate::math): ten coefficients give 28 bits.

use super::exponential::exp_inside;
use super::{at_least, between, pick};
use crate::math::logarithm::split;
use crate::math::{clamp, power, select};
use crate::polynomial::paired;
use std::f64::consts::{LN_2, LOG2_E, LOG10_2, LOG10_E};

/// `(ln(1 + f) - f) / f^2` for `1 + f` from `sqrt(1/2)` to `sqrt(2)`, error 5.1e-9.
const LN: [f64; 10] = [
    -0.4999999994349637,
    0.333333227936071,
    -0.25000010940100675,
    0.2000144672220023,
    -0.16667536772428632,
    0.1423231785955222,
    -0.12420814467908906,
    0.1181213614232965,
    -0.11557287882015821,
    0.06769024113816001,
];

/// `ln(1 + e) / e` for `e` from 0 to 1, error 8.3e-10.
const LOG1P: [f64; 11] = [
    0.9999999991556823,
    -0.4999997949139123,
    0.3333249754352652,
    -0.24986496459409926,
    0.19885820285008451,
    -0.16087623009295732,
    0.12377995867871511,
    -0.08188040923582843,
    0.041006573693958395,
    -0.013187826565578388,
    0.0019866965936534606,
];

/// `(2 artanh(s) / s - 2) / z` with `z = s^2` on `z <= 0.02945`, error 7.3e-12.
const ARTANH: [f64; 5] =
    [0.6666666666737665, 0.39999998795219155, 0.2857175496835035, 0.22191373380944632, 0.19363186932161763];

/// `ln(1 + f)` for `1 + f` from `sqrt(1/2)` to `sqrt(2)`, with a relative error of 2^-28.
#[inline(always)]
fn ln_mantissa(f: f64) -> f64 {
    let square = f * f;
    f + square * paired(f, square, &LN)
}

/// What a logarithm returns where the formula does not hold: `y` is the formula's result.
#[inline(always)]
fn with_edges(x: f32, y: f64) -> f32 {
    let y = pick(x == f32::INFINITY, x, y as f32);
    let y = pick(x == 0.0, f32::NEG_INFINITY, y);
    // False for NaN as well.
    pick(x >= 0.0, y, f32::NAN)
}

/// For positive finite `x`.
#[inline(always)]
fn ln_inside(x: f32) -> f64 {
    let (k, m) = split(f64::from(x));
    k * LN_2 + ln_mantissa(m - 1.0)
}

#[inline(always)]
pub(crate) fn ln(x: f32) -> f32 {
    with_edges(x, ln_inside(x))
}

/// Exact for powers of two.
#[inline(always)]
pub(crate) fn log2(x: f32) -> f32 {
    let (k, m) = split(f64::from(x));
    with_edges(x, k + LOG2_E * ln_mantissa(m - 1.0))
}

#[inline(always)]
pub(crate) fn log10(x: f32) -> f32 {
    let (k, m) = split(f64::from(x));
    with_edges(x, k * LOG10_2 + LOG10_E * ln_mantissa(m - 1.0))
}

/// `ln(1 + x)` for finite `x > -1`; loses the sign of a zero.
///
/// Where `1 + x` is near one, the argument itself is `f`: nothing is lost to rounding.
#[inline(always)]
pub(crate) fn log1p_inside(x: f64) -> f64 {
    let (k, m) = split(1.0 + x);
    let f = select(k == 0.0, x, m - 1.0);
    k * LN_2 + ln_mantissa(f)
}

/// `ln(1 + e)` for `e` from 0 to 1, with a relative error of 2^-30.
#[inline(always)]
fn log1p_part(e: f64) -> f64 {
    e * paired(e, e * e, &LOG1P)
}

/// The result has the sign of `x`.
#[inline(always)]
pub(crate) fn log1p(x: f32) -> f32 {
    let y = log1p_inside(f64::from(x)) as f32;
    let y = pick(x == f32::INFINITY, x, y);
    let y = pick(x == -1.0, f32::NEG_INFINITY, y);
    // False for NaN as well.
    let y = pick(x >= -1.0, y, f32::NAN);
    y.copysign(x)
}

/// `max(x, 0) + ln(1 + e^-|x|)`.
#[inline(always)]
pub(crate) fn softplus(x: f32) -> f32 {
    // NaN is kept by the ramp.
    let ramp = if x <= 0.0 { 0.0 } else { x };
    (f64::from(ramp) + log1p_part(exp_inside(f64::from(at_least(-x.abs(), -110.0))))) as f32
}

/// `max + ln(1 + e^(min - max))`.
#[inline(always)]
pub(crate) fn logaddexp(x: f32, y: f32) -> f32 {
    let high = if x > y { x } else { y };
    let low = if x > y { y } else { x };
    let difference = f64::from(low) - f64::from(high);
    // Also where the difference is that of equal infinities, which is NaN.
    let difference = if difference > -110.0 { difference } else { -110.0 };
    let sum = (f64::from(high) + log1p_part(exp_inside(difference))) as f32;
    pick(x.is_nan() | y.is_nan(), f32::NAN, sum)
}

/// `x ln(y)`, and zero where `x` is, unless `y` is NaN.
#[inline(always)]
pub(crate) fn xlogy(x: f32, y: f32) -> f32 {
    let log = ln_inside(y);
    let log = select(y == f32::INFINITY, f64::INFINITY, log);
    let log = select(y == 0.0, f64::NEG_INFINITY, log);
    let product = (f64::from(x) * log) as f32;
    let product = pick(y >= 0.0, product, f32::NAN);
    pick((x == 0.0) & !y.is_nan(), 0.0, product)
}

/// `asinh(a) = ln(1 + a + a^2 / (1 + sqrt(1 + a^2)))` with the sign of `x`.
#[inline(always)]
pub(crate) fn asinh(x: f32) -> f32 {
    let a = f64::from(x.abs());
    let square = a * a;
    let y = log1p_inside(a + square / (1.0 + (1.0 + square).sqrt())) as f32;
    // Infinity and NaN are themselves.
    pick(x.abs() < f32::INFINITY, y, x).copysign(x)
}

/// `acosh(x) = ln(1 + t + sqrt(t (t + 2)))` with `t = x - 1`.
#[inline(always)]
pub(crate) fn acosh(x: f32) -> f32 {
    let t = f64::from(x) - 1.0;
    let y = log1p_inside(t + (t * (t + 2.0)).sqrt()) as f32;
    let y = pick(x == f32::INFINITY, x, y);
    // False for NaN as well.
    pick(x >= 1.0, y, f32::NAN)
}

/// `atanh(a) = ln(1 + 2a / (1 - a)) / 2` with the sign of `x`.
#[inline(always)]
pub(crate) fn atanh(x: f32) -> f32 {
    let a = f64::from(x.abs());
    let y = (0.5 * log1p_inside(2.0 * a / (1.0 - a))) as f32;
    let y = pick(x.abs() == 1.0, f32::INFINITY, y);
    // False for NaN as well.
    pick(x.abs() <= 1.0, y, f32::NAN).copysign(x)
}

/// `x^y = e^(y ln |x|)`, with the cases of the standard.
///
/// The product may be 104, which magnifies a relative error of the logarithm as much; so this
/// one is the odd series in `f / (2 + f)`, with 43 bits.
#[inline(always)]
pub(crate) fn pow(x: f32, y: f32) -> f32 {
    let (k, m) = split(f64::from(x.abs()));
    let f = m - 1.0;
    let s = f / (2.0 + f);
    let z = s * s;
    let log = k * LN_2 + s * (2.0 + z * paired(z, z * z, &ARTANH));
    // Beyond 2^66 an exponent decides nothing any more; an infinite one would meet ln 1 = 0.
    let product = between(y, -7.4e19, 7.4e19) * log;
    let size = exp_inside(clamp(product, -150.0, 150.0));
    power::with_edges(f64::from(x), f64::from(y), size) as f32
}
