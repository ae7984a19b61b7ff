//! `atan`, `atan2`, `asin`, `acos`.
//!
//! The arc tangent of `a/b` is reduced with the formula for a difference of two angles, so
//! that the polynomial sees at most `tan(pi/8)`:
//!
//! ```text
//! a/b up to tan(pi/8):            atan(a/b)
//! from there up to tan(3pi/8):    pi/4 + atan((a - b)/(a + b))
//! above:                          pi/2 + atan(-b/a)
//! ```
//!
//! The quotient is that of pairs. The arc sine above one half is reduced with
//! `asin(x) = pi/2 - 2 asin(sqrt((1 - x)/2))`, where the square root is a pair.

use super::{power_of_two, select};
use crate::double::{Double, fast_two_sum, square, two_sum};
use crate::polynomial::{degree10, degree12};
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

/// `pi/2` minus the number nearest to it.
const FRAC_PI_2_REST: f64 = 6.123233995736766e-17;
/// `tan(pi/8)`.
const TAN_PI_8: f64 = 0.414_213_562_373_095_03;
/// `tan(3 pi/8)`.
const TAN_3PI_8: f64 = 2.414_213_562_373_095;

/// `(atan(q) / q - 1) / z` with `z = q^2` on `z <= 0.1717`, error 4.5e-17.
const ATAN: [f64; 11] = [
    -0.3333333333333333,
    0.1999999999999549,
    -0.1428571428466014,
    0.11111111014741562,
    -0.09090904557214267,
    0.0769218270524632,
    -0.06664504610032648,
    0.05858089538610203,
    -0.050851391487066376,
    0.03922268882347632,
    -0.0191659065063043,
];

/// `(asin(s) / s - 1) / z` with `z = s^2` on `z <= 0.25`, error 2.2e-17.
const ASIN: [f64; 13] = [
    0.16666666666666669,
    0.07499999999998433,
    0.04464285714635543,
    0.030381944138531247,
    0.02237217294214989,
    0.017352392720869973,
    0.013971212973552933,
    0.011479177415184906,
    0.01032281435018578,
    0.005457506718640358,
    0.01740087944269402,
    -0.014851887071247204,
    0.028757851367421566,
];

/// The angle of the point `(b, a)` in the upper half plane: `atan(a / |b|)`, or `pi` minus
/// that where `left`. For `a >= 0` and `b > 0` from 2^-1000 to 2^1000.
#[inline(always)]
fn angle(a: f64, b: f64, left: bool) -> f64 {
    let upper = a > TAN_3PI_8 * b;
    let middle = a > TAN_PI_8 * b;
    let (difference, total) = (two_sum(a, -b), two_sum(a, b));
    let pick = |up: f64, mid: f64, low: f64| {
        let not_upper = select(middle, mid, low);
        select(upper, up, not_upper)
    };
    let numerator = Double { hi: pick(-b, difference.hi, a), lo: pick(0.0, difference.lo, 0.0) };
    let denominator = Double { hi: pick(a, total.hi, b), lo: pick(0.0, total.lo, 0.0) };
    let q = numerator.over(denominator);
    let z = q.hi * q.hi;
    let rest = q.hi * (z * degree10(z, &ATAN)) + q.lo * (1.0 - z);
    let quarters = pick(2.0, 1.0, 0.0);
    let quarters = select(left, 4.0 - quarters, quarters);
    let (base, base_rest) = pi_quarters(quarters);
    let sign = select(left, -1.0, 1.0);
    let (q, rest) = (sign * q.hi, sign * rest);
    let head = fast_two_sum(base, q);
    head.hi + (head.lo + (rest + base_rest))
}

/// `n pi/4` for an integer from 0 to 4, as a pair.
#[inline(always)]
fn pi_quarters(n: f64) -> (f64, f64) {
    // The product is exact except for three, where the rounding is added to the rest.
    let hi = n * FRAC_PI_4;
    let lost = select(n == 3.0, (2.0 * FRAC_PI_4 - hi) + FRAC_PI_4, 0.0);
    (hi, 0.5 * n * FRAC_PI_2_REST + lost)
}

/// Above 2^60 the result rounds to `pi/2`, below 2^-28 to `x`.
#[inline(always)]
pub(crate) fn atan_one(x: f64) -> f64 {
    let a = x.abs();
    let bounded = select(a > 1.152921504606847e18, 1.152921504606847e18, a);
    let y = angle(bounded, 1.0, false).copysign(x);
    select(a < 3.7e-9, x, y)
}

/// The angle of the point `(x, y)`.
///
/// Both are first scaled by the same power of two, so that the larger is about one.
#[inline(always)]
pub(crate) fn atan2_one(y: f64, x: f64) -> f64 {
    let nan = x.is_nan() | y.is_nan();
    let (a, b) = (y.abs(), x.abs());
    // If one is infinite, only that matters: infinity becomes one, everything else zero.
    let infinite = (a == f64::INFINITY) | (b == f64::INFINITY);
    let a = select(infinite, select(a == f64::INFINITY, 1.0, 0.0), a);
    let b = select(infinite, select(b == f64::INFINITY, 1.0, 0.0), b);
    let left = x.is_sign_negative();
    let large = select(a > b, a, b);
    // The scale only needs the exponent. Subnormal numbers first become normal, and the
    // largest ones small enough for the reciprocal of their scale to be normal.
    let lift = select(large < 1e-290, 18_014_398_509_481_984.0, 1.0);
    let lift = select(large > 1e290, 1.0 / 18_014_398_509_481_984.0, lift);
    let exponent = f64::from_bits(((large * lift).to_bits() >> 52) | 0x4330_0000_0000_0000);
    let down = power_of_two(4_503_599_627_370_496.0 + 1023.0 - exponent);
    let (p, q) = (a * lift * down, b * lift * down);
    // Next to an axis the quotient is tiny: `angle` could not split it, and need not.
    let on_axis = p < 1e-18 * q;
    let p = select(on_axis, 0.0, p);
    let q = select(q < 1e-18 * p, 1e-18, q);
    let q = select(large == 0.0, 1.0, q);
    let y_over_x = a / select(b == 0.0, 1.0, b);
    let result = angle(p, q, left);
    let result = select(on_axis & !left, y_over_x, result);
    select(nan, f64::NAN, result.copysign(y))
}

/// What `asin` and `acos` share, for `a = |x|`.
struct Arc {
    /// Whether `a > 1/2`, so that `s` is `sqrt((1 - a)/2)` and not `a`.
    large: bool,
    s: f64,
    /// `asin` of the exact `s`, minus the rounded `s`.
    rest: f64,
}

/// NaN for `a > 1`.
#[inline(always)]
fn arc(a: f64) -> Arc {
    let large = a > 0.5;
    let z = select(large, 0.5 - 0.5 * a, a * a);
    let root = z.sqrt();
    // What the root lost to rounding: (z - root^2) / (2 root).
    let p = square(root);
    let lost = ((z - p.hi) - p.lo) / (root + root);
    let lost = select((z == 0.0) | !large, 0.0, lost);
    let s = select(large, root, a);
    let rest = s * (z * degree12(z, &ASIN)) + (lost + 0.5 * z * lost);
    Arc { large, s, rest }
}

#[inline(always)]
pub(crate) fn asin_one(x: f64) -> f64 {
    let Arc { large, s, rest } = arc(x.abs());
    let head = fast_two_sum(FRAC_PI_2, -2.0 * s);
    let reflected = head.hi + (head.lo + (FRAC_PI_2_REST - 2.0 * rest));
    let y = select(large, reflected, s + rest);
    y.copysign(x)
}

/// `pi/2 - asin(x)` in the middle, `2 asin(s)` near one, `pi - 2 asin(s)` near minus one.
#[inline(always)]
pub(crate) fn acos_one(x: f64) -> f64 {
    let Arc { large, s, rest } = arc(x.abs());
    let negative = x < 0.0;
    // base + factor * (s + rest), with base a multiple of pi/2.
    let multiple = select(negative, 2.0, 0.0);
    let multiple = select(large, multiple, 1.0);
    let size = select(large, -2.0, 1.0);
    let factor = select(negative, size, -size);
    let head = fast_two_sum(0.5 * multiple * PI, factor * s);
    head.hi + (head.lo + (multiple * FRAC_PI_2_REST + factor * rest))
}

lanes! {
    /// Arc tangent, from `-pi/2` to `pi/2`; keeps the sign of a zero.
    ///
    /// ```
    /// use std::f64::consts::{FRAC_PI_2, FRAC_PI_4};
    /// let x = [1.0, f64::NEG_INFINITY];
    /// assert_eq!(wengert_kernels::math::atan(x), [FRAC_PI_4, -FRAC_PI_2]);
    /// ```
    pub atan = atan_one;

    /// Arc sine, from `-pi/2` to `pi/2`; keeps the sign of a zero, NaN beyond one.
    ///
    /// ```
    /// assert_eq!(wengert_kernels::math::asin([1.0, 0.0]), [std::f64::consts::FRAC_PI_2, 0.0]);
    /// ```
    pub asin = asin_one;

    /// Arc cosine, from zero to `pi`; NaN beyond one.
    ///
    /// ```
    /// assert_eq!(wengert_kernels::math::acos([1.0, -1.0]), [0.0, std::f64::consts::PI]);
    /// ```
    pub acos = acos_one;
}

lanes2! {
    /// `atan2(y, x)`: the angle of the point `(x, y)`, from `-pi` to `pi`.
    ///
    /// Signs of zeros and infinities as in IEEE 754-2019, section 9.2: `atan2(0, -0)` is
    /// `pi`, `atan2(inf, inf)` is `pi/4`.
    ///
    /// ```
    /// use std::f64::consts::{FRAC_PI_4, PI};
    /// assert_eq!(wengert_kernels::math::atan2([2.0, 0.0], [2.0, -1.0]), [FRAC_PI_4, PI]);
    /// ```
    pub atan2 = atan2_one;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multiples_of_a_quarter_turn_are_pairs() {
        for n in 0..=4 {
            let n = f64::from(n);
            let (hi, lo) = pi_quarters(n);
            assert_eq!(hi, n * FRAC_PI_4);
            // n pi/4 = n (FRAC_PI_4 + FRAC_PI_2_REST / 2), and n FRAC_PI_4 - hi is exact.
            let lost = FRAC_PI_4.mul_add(n, -hi);
            assert_eq!(lo, lost + 0.5 * n * FRAC_PI_2_REST, "{n}");
        }
    }
}
