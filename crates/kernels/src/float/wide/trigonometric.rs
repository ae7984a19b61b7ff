//! `sin`, `cos`, `tan`.
//!
//! `x / pi = k + f` with `|f| <= 1/2`, so `sin x` is `sin(pi f)` with the sign of `(-1)^k`; for
//! the cosine `x / pi = k + 1/2 + f`, and `cos x = -(-1)^k sin(pi f)`: one odd polynomial does
//! all. `1/pi` is taken in two parts; the product of an `f32` with the first is exact, and so is
//! the subtraction of `k` (the way of Cody and Waite, "Software Manual for the Elementary
//! Functions", 1980, with the inverse).
//!
//! Larger arguments are multiplied with 96 bits of `2/pi`, those that decide the result (Payne
//! and Hanek, "Radian reduction for trigonometric functions", 1983), in integers.

use crate::math::{SHIFT, select};
use crate::polynomial::{degree5, paired};
use std::f64::consts::FRAC_PI_2;

/// The largest argument that the vector path reduces; the error of `f` is then 2^-58, while `f`
/// itself is above 2^-32.
pub(crate) const LARGEST: f32 = 33_554_432.0;

/// `1/pi` in parts of 29 and 53 bits.
const FRAC_1_PI: [f64; 2] = [0.3183098854497075, 7.340831634506093e-10];

/// `sin(pi f) / f` in `f^2 <= 0.25002`, error 5.4e-11.
const SIN_PI: [f64; 6] = [
    3.1415926535361063,
    -5.1677127645868595,
    2.550163317709359,
    -0.5992521836011724,
    0.08205033513757401,
    -0.007028277084796333,
];

/// `(sin(r) / r - 1) / z` with `z = r^2` on `z <= 0.617`, error 2.8e-11.
const SIN: [f64; 4] = [-0.16666666663852564, 0.008333331873650577, -0.00019840086163020333, 2.7249851596168045e-06];

/// `(cos(r) - 1 + z/2) / z^2` on the same interval, error 2.3e-12.
const COS: [f64; 4] = [0.04166666666431893, -0.0013888887671132451, 2.4800599899457505e-05, -2.7300897268581585e-07];

/// `x`, negative if the lowest bit of `odd` is set.
#[inline(always)]
fn negate_if_odd(x: f64, odd: u64) -> f64 {
    f64::from_bits(x.to_bits() ^ (odd << 63))
}

/// `sin(pi f)` for `|f| <= 1/2`, negative for an odd `k`; the product keeps the sign of a zero.
#[inline(always)]
fn sin_pi(f: f64, k: u64) -> f32 {
    let z = f * f;
    negate_if_odd(f * degree5(z, &SIN_PI), k) as f32
}

/// `sin(x)` for `|x|` up to [`LARGEST`]; NaN at infinity.
#[inline(always)]
pub(crate) fn sin(x: f32) -> f32 {
    let x = f64::from(x);
    let t = x * FRAC_1_PI[0];
    let shifted = t + SHIFT;
    sin_pi((t - (shifted - SHIFT)) + x * FRAC_1_PI[1], shifted.to_bits())
}

/// `cos(x)` for `|x|` up to [`LARGEST`]; NaN at infinity.
///
/// Subtracting one half rounds only where `t` is small, and the result then far from zero.
#[inline(always)]
pub(crate) fn cos(x: f32) -> f32 {
    let x = f64::from(x);
    let t = x * FRAC_1_PI[0] - 0.5;
    let shifted = t + SHIFT;
    sin_pi((t - (shifted - SHIFT)) + x * FRAC_1_PI[1], shifted.to_bits().wrapping_add(1))
}

/// `sin(r)` and `cos(r)` for `|r| <= pi/4`.
#[inline(always)]
fn sin_cos_quarter(r: f64) -> (f64, f64) {
    let z = r * r;
    let square = z * z;
    (r * (1.0 + z * paired(z, square, &SIN)), (1.0 - 0.5 * z) + square * paired(z, square, &COS))
}

/// `sin(r) / cos(r)` in even quadrants, `-cos(r) / sin(r)` in odd ones.
#[inline(always)]
fn tan_quarter(quadrant: u64, r: f64) -> f64 {
    let (sin, cos) = sin_cos_quarter(r);
    let even = quadrant & 1 == 0;
    let numerator = select(even, sin, -cos);
    let denominator = select(even, cos, sin);
    numerator / denominator
}

/// `tan(x)` for `|x|` up to [`LARGEST`]; NaN at infinity.
#[inline(always)]
pub(crate) fn tan(x: f32) -> f32 {
    let x = f64::from(x);
    let t = x * (2.0 * FRAC_1_PI[0]);
    let shifted = t + SHIFT;
    let f = (t - (shifted - SHIFT)) + x * (2.0 * FRAC_1_PI[1]);
    tan_quarter(shifted.to_bits(), f * FRAC_PI_2) as f32
}

/// `2/pi` in binary, with 64 zeros in front of the point.
const TWO_OVER_PI: [u64; 5] =
    [0, 0xa2f9_836e_4e44_1529, 0xfc27_57d1_f534_ddc0, 0xdb62_9599_3c43_9041, 0xfe51_63ab_debb_c561];

/// The 32 bits of `2/pi` from the place `2^-(start + 1)` on, for `start` from -64 to 160.
fn bits_of_two_over_pi(start: i32) -> u64 {
    let place = (start + 64) as usize;
    let word = |index: usize| u128::from(TWO_OVER_PI[index]);
    let both = (word(place / 64) << 64) | word(place / 64 + 1);
    u64::from((both >> (96 - place % 64)) as u32)
}

/// The quadrant in the two lowest bits and the remainder by `pi/2`, for `|x| >= 2^24`; NaN if
/// `x` is infinite.
///
/// `|x| = m 2^e` with an integer `m` of 24 bits. Bits of `2/pi` from `2^(2-e)` up only add whole
/// turns to `x 2/pi`, so 96 bits from the next place on are enough: the first counts half a
/// turn, the last `2^-94` of a quarter.
fn reduce_large(x: f32) -> (u64, f64) {
    if !x.is_finite() {
        return (0, f64::NAN);
    }
    let bits = x.abs().to_bits();
    let mantissa = u64::from((bits & 0x007f_ffff) | 0x0080_0000);
    let exponent = (bits >> 23) as i32 - 150;
    // The product in units of 2^-94, of which 2^96 are four quarter turns.
    let [high, middle, low] = [0, 32, 64].map(|skip| mantissa * bits_of_two_over_pi(exponent - 2 + skip));
    let product = (u128::from(high) << 64) + (u128::from(middle) << 32) + u128::from(low);
    let turn = (product << 32) >> 32;
    let quadrant = (turn + (1 << 93)) >> 94;
    let rest = turn as i128 - ((quadrant as i128) << 94);
    let r = rest as f64 * (FRAC_PI_2 / (1_u128 << 94) as f64);
    if x < 0.0 { ((quadrant as u64).wrapping_neg(), -r) } else { (quadrant as u64, r) }
}

/// The sine (`turn` 0) or cosine (`turn` 1) in a quadrant.
fn by_quadrant(quadrant: u64, r: f64, turn: u64) -> f64 {
    let (sin, cos) = sin_cos_quarter(r);
    let quadrant = quadrant.wrapping_add(turn);
    negate_if_odd(if quadrant & 1 == 0 { sin } else { cos }, quadrant >> 1)
}

/// `sin(x)` for `|x| >= 2^24`, one number at a time.
#[cold]
#[inline(never)]
pub(crate) fn sin_large(x: f32) -> f32 {
    let (quadrant, r) = reduce_large(x);
    by_quadrant(quadrant, r, 0) as f32
}

/// `cos(x)` for `|x| >= 2^24`, one number at a time.
#[cold]
#[inline(never)]
pub(crate) fn cos_large(x: f32) -> f32 {
    let (quadrant, r) = reduce_large(x);
    by_quadrant(quadrant, r, 1) as f32
}

/// `tan(x)` for `|x| >= 2^24`, one number at a time.
#[cold]
#[inline(never)]
pub(crate) fn tan_large(x: f32) -> f32 {
    let (quadrant, r) = reduce_large(x);
    tan_quarter(quadrant, r) as f32
}
