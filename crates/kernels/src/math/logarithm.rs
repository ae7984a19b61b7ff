//! `ln`, `log1p`, `log2`, `log10`, and the extended logarithm that `pow` needs.
//!
//! `x = 2^k (1 + f)` with `1 + f` between the roots of one half and of two, so
//! `ln x = k ln 2 + ln(1 + f)`. With `s = f / (2 + f)`, `ln(1 + f)` is the odd series
//! `2 artanh(s) = 2s + 2s^3/3 + ...`. Because `2s = f - s f`, it is also
//! `f - h + s (h + R)` with `h = f^2 / 2` and `R = s^2 P(s^2)`, in which the largest term is
//! exact; this arrangement is due to K. C. Ng (log of 4.3BSD, 1985).

use super::select;
use crate::double::{Double, fast_two_sum, square, two_sum};
use crate::polynomial::degree7;
use std::f64::consts::{LOG2_E, LOG10_E, SQRT_2};

/// `ln 2` to 32 bits, so that its product with an exponent is exact.
const LN_2_HIGH: f64 = 0.6931471803691238;
/// `ln 2 - LN_2_HIGH`.
const LN_2_LOW: f64 = 1.9082149292705877e-10;
/// `log10 2` to 32 bits.
const LOG10_2_HIGH: f64 = 0.3010299955494702;
/// `log10 2 - LOG10_2_HIGH`.
const LOG10_2_LOW: f64 = 1.1451100898021838e-10;
/// `log2 e` minus the number nearest to it.
const LOG2_E_REST: f64 = 2.0355273740931033e-17;
/// `log10 e` minus the number nearest to it.
const LOG10_E_REST: f64 = 1.098319650216765e-17;
/// Two thirds minus the number nearest to it.
const TWO_THIRDS_REST: f64 = 3.700743415417188e-17;

/// `(2 artanh(s) / s - 2) / z` with `z = s^2` on `z <= 0.02945`, error 3.7e-17.
const LN: [f64; 8] = [
    0.6666666666666666,
    0.4000000000000088,
    0.28571428570801954,
    0.22222222392089008,
    0.18181795600060793,
    0.15386241881938595,
    0.13268714792348096,
    0.1308723619665962,
];

/// `(P - 2/3) / z` for the `P` above, error 2.6e-17.
const LN_TAIL: [f64; 8] = [
    0.4,
    0.2857142857142937,
    0.22222222221654733,
    0.1818181833565416,
    0.15384594934597917,
    0.13334806212100603,
    0.11706195689881364,
    0.11723603622905411,
];

/// `x = 2^k m` with `m` from `sqrt(1/2)` to `sqrt(2)`; for normal positive `x`, else anything.
///
/// Subtracting the bits of `sqrt(1/2)` makes the exponent change where the mantissa passes
/// that number; its exponent is then that of `x / m`.
#[inline(always)]
pub(crate) fn split(x: f64) -> (f64, f64) {
    let half_root = (0.5 * SQRT_2).to_bits();
    let offset = 1.0_f64.to_bits() - half_root;
    let bits = x.to_bits().wrapping_add(offset);
    let mantissa = (bits & 0x000f_ffff_ffff_ffff) + half_root;
    // The exponent, put into the low bits of 2^52.
    let exponent = f64::from_bits((bits >> 52) | 0x4330_0000_0000_0000);
    (exponent - (4_503_599_627_370_496.0 + 1023.0), f64::from_bits(mantissa))
}

/// The same for every positive finite `x`: subnormal numbers are first made normal.
#[inline(always)]
pub(crate) fn split_any(x: f64) -> (f64, f64) {
    let tiny = x < f64::MIN_POSITIVE;
    let (k, m) = split(select(tiny, x * 18_014_398_509_481_984.0, x));
    (select(tiny, k - 54.0, k), m)
}

/// `ln(1 + f) - f` for `f` from `sqrt(1/2) - 1` to `sqrt(2) - 1`, as `(-h, s (h + R))`.
#[inline(always)]
fn after_linear(f: f64) -> (f64, f64) {
    let s = f / (2.0 + f);
    let z = s * s;
    let half_square = 0.5 * f * f;
    (-half_square, s * (half_square + z * degree7(z, &LN)))
}

/// `k ln 2 + ln(1 + f) + low`, where `low` is small beside the result.
#[inline(always)]
fn assemble(k: f64, f: f64, low: f64) -> f64 {
    let (square, rest) = after_linear(f);
    let head = fast_two_sum(k * LN_2_HIGH, f);
    head.hi + (head.lo + (square + (rest + (k * LN_2_LOW + low))))
}

/// What a logarithm returns where the formula does not hold: `y` is the formula's result.
#[inline(always)]
fn with_edges(x: f64, y: f64) -> f64 {
    let y = select(x == f64::INFINITY, x, y);
    let y = select(x == 0.0, f64::NEG_INFINITY, y);
    // False for NaN as well.
    select(x >= 0.0, y, f64::NAN)
}

#[inline(always)]
pub(crate) fn ln_one(x: f64) -> f64 {
    let (k, m) = split_any(x);
    with_edges(x, assemble(k, m - 1.0, 0.0))
}

/// `ln(1 + x + low)`, where `low` is at most about a unit in the last place of `x`.
///
/// `1 + x` is rounded to `u`; what is lost is a relative change of `u`. Where `u` is near
/// one, the argument itself is `f`, and only `low` is left to add.
#[inline(always)]
pub(crate) fn log1p_pair(x: f64, low: f64) -> f64 {
    let u = two_sum(1.0, x);
    let (k, m) = split(u.hi);
    let near = k == 0.0;
    let f = select(near, x, m - 1.0);
    let lost = select(near, low, u.lo + low);
    let y = assemble(k, f, lost / u.hi);
    let y = select(x == f64::INFINITY, x, y);
    let y = select(x == -1.0, f64::NEG_INFINITY, y);
    let y = select(x >= -1.0, y, f64::NAN);
    // Keeps the sign of a zero, which the sum above loses.
    select(x == 0.0, x, y)
}

#[inline(always)]
pub(crate) fn log1p_one(x: f64) -> f64 {
    log1p_pair(x, 0.0)
}

/// `ln m` as a pair with an error of about 2^-57, for `log2` and `log10`.
#[inline(always)]
fn ln_mantissa(m: f64) -> Double {
    let f = m - 1.0;
    let (square, rest) = after_linear(f);
    let head = fast_two_sum(f, square);
    fast_two_sum(head.hi, head.lo + rest)
}

/// `log2 x = k + log2(e) ln m`.
#[inline(always)]
pub(crate) fn log2_one(x: f64) -> f64 {
    let (k, m) = split_any(x);
    let log = ln_mantissa(m).times(Double { hi: LOG2_E, lo: LOG2_E_REST });
    let head = fast_two_sum(k, log.hi);
    with_edges(x, head.hi + (head.lo + log.lo))
}

/// `log10 x = k log10(2) + log10(e) ln m`.
#[inline(always)]
pub(crate) fn log10_one(x: f64) -> f64 {
    let (k, m) = split_any(x);
    let log = ln_mantissa(m).times(Double { hi: LOG10_E, lo: LOG10_E_REST });
    let head = fast_two_sum(k * LOG10_2_HIGH, log.hi);
    with_edges(x, head.hi + (head.lo + (log.lo + k * LOG10_2_LOW)))
}

/// `ln x` with a relative error of about 2^-64, for positive finite `x`.
///
/// The series of `2 artanh(s)` itself, its first two terms in pairs.
#[inline(always)]
pub(crate) fn ln_pair(x: f64) -> Double {
    let (k, m) = split_any(x);
    let f = m - 1.0;
    let s = Double { hi: f, lo: 0.0 }.over(fast_two_sum(2.0, f));
    let z = square(s.hi);
    let z = Double { hi: z.hi, lo: z.lo + 2.0 * (s.hi * s.lo) };
    let second = fast_two_sum(2.0 / 3.0, z.hi * degree7(z.hi, &LN_TAIL));
    let second = Double { hi: second.hi, lo: second.lo + TWO_THIRDS_REST };
    let cubic = s.times(z.times(second));
    let head = fast_two_sum(2.0 * s.hi, cubic.hi);
    let log = fast_two_sum(head.hi, head.lo + (2.0 * s.lo + cubic.lo));
    let head = fast_two_sum(k * LN_2_HIGH, log.hi);
    fast_two_sum(head.hi, head.lo + (log.lo + k * LN_2_LOW))
}

lanes! {
    /// Natural logarithm.
    ///
    /// Minus infinity at zero of either sign, NaN below, infinity at infinity.
    ///
    /// ```
    /// use wengert_kernels::math::ln;
    /// assert_eq!(ln([1.0, 2.0, 0.0]), [0.0, std::f64::consts::LN_2, f64::NEG_INFINITY]);
    /// assert!(ln([-1.0])[0].is_nan());
    /// ```
    pub ln = ln_one;

    /// `ln(1 + x)`, accurate near zero, where it is about `x`; keeps the sign of a zero.
    ///
    /// Minus infinity at -1, NaN below.
    ///
    /// ```
    /// assert_eq!(wengert_kernels::math::log1p([1e-20, -1.0]), [1e-20, f64::NEG_INFINITY]);
    /// ```
    pub log1p = log1p_one;

    /// Logarithm to base two; exact for powers of two.
    ///
    /// ```
    /// assert_eq!(wengert_kernels::math::log2([8.0, 0.25]), [3.0, -2.0]);
    /// ```
    pub log2 = log2_one;

    /// Logarithm to base ten.
    ///
    /// ```
    /// assert_eq!(wengert_kernels::math::log10([1.0, 1000.0]), [0.0, 3.0]);
    /// ```
    pub log10 = log10_one;
}

#[cfg(test)]
mod tests {
    use super::super::power_of_two;
    use super::*;

    #[test]
    fn splitting_is_exact_and_within_its_range() {
        let root = SQRT_2;
        for x in [1.0, root, root * (1.0 + f64::EPSILON), 0.5 * root, 3e-320, 5e-324, 1.7e308] {
            let (k, m) = split_any(x);
            assert!((0.5 * root..=root).contains(&m), "{x:e}: {m}");
            let back = m * power_of_two((k * 0.5).floor()) * power_of_two(k - (k * 0.5).floor());
            assert_eq!(back, x);
        }
    }
}
