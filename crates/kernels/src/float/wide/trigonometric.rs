//! `sin`, `cos`, `tan`.
//!
//! `x = k pi + r` with `|r| <= pi/2`, so `sin x` is `sin r` with the sign of `(-1)^k`; for the
//! cosine, `x = (k + 1/2) pi + r` and `cos x = -(-1)^k sin r`: one odd polynomial does all.
//! `pi` is taken in two parts, of which `k` times the first is exact while `|x|` is at most
//! [`LARGEST`] (Cody and Waite, "Software Manual for the Elementary Functions", 1980).
//!
//! Larger arguments are multiplied with 96 bits of `2/pi`, those that decide the result (Payne
//! and Hanek, "Radian reduction for trigonometric functions", 1983), in integers.

use crate::math::{SHIFT, select};
use crate::polynomial::{degree3, degree4};
use std::f64::consts::{FRAC_1_PI, FRAC_2_PI, FRAC_PI_2};

/// The largest argument that the vector path reduces; `k + 1/2` has then 25 bits.
pub(crate) const LARGEST: f64 = 33_554_432.0;

/// `pi` in parts of 28 and 53 bits.
const PI: [f64; 2] = [3.141592651605606, 1.984187159361081e-9];

/// `(sin(r) / r - 1) / z` with `z = r^2` on `z <= 2.4675`, error 2.8e-11.
const SIN_HALF_TURN: [f64; 5] = [
    -0.1666666666388068,
    0.008333332768663713,
    -0.0001984108653964382,
    2.7536461911650733e-06,
    -2.408015221587895e-08,
];

/// `(sin(r) / r - 1) / z` with `z = r^2` on `z <= 0.617`, error 2.8e-11.
const SIN: [f64; 4] =
    [-0.16666666663852564, 0.008333331873650577, -0.00019840086163020333, 2.7249851596168045e-06];

/// `(cos(r) - 1 + z/2) / z^2` on the same interval, error 2.3e-12.
const COS: [f64; 4] =
    [0.04166666666431893, -0.0013888887671132451, 2.4800599899457505e-05, -2.7300897268581585e-07];

/// `x`, negative if the lowest bit of `odd` is set.
#[inline(always)]
fn negate_if_odd(x: f64, odd: u64) -> f64 {
    f64::from_bits(x.to_bits() ^ (odd << 63))
}

/// `sin(r)` for `|r| <= pi/2`; the product keeps the sign of a zero.
#[inline(always)]
fn sin_half_turn(r: f64) -> f64 {
    let z = r * r;
    r * (1.0 + z * degree4(z, &SIN_HALF_TURN))
}

/// `sin(x)` for `|x|` up to [`LARGEST`]; NaN at infinity.
#[inline(always)]
pub(crate) fn sin(x: f64) -> f64 {
    let shifted = x * FRAC_1_PI + SHIFT;
    let k = shifted - SHIFT;
    let r = (x - k * PI[0]) - k * PI[1];
    negate_if_odd(sin_half_turn(r), shifted.to_bits())
}

/// `cos(x)` for `|x|` up to [`LARGEST`]; NaN at infinity.
#[inline(always)]
pub(crate) fn cos(x: f64) -> f64 {
    let shifted = (x * FRAC_1_PI - 0.5) + SHIFT;
    let k = (shifted - SHIFT) + 0.5;
    let r = (x - k * PI[0]) - k * PI[1];
    negate_if_odd(sin_half_turn(r), shifted.to_bits().wrapping_add(1))
}

/// `sin(r)` and `cos(r)` for `|r| <= pi/4`.
#[inline(always)]
fn sin_cos_quarter(r: f64) -> (f64, f64) {
    let z = r * r;
    (r * (1.0 + z * degree3(z, &SIN)), (1.0 - 0.5 * z) + (z * z) * degree3(z, &COS))
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
pub(crate) fn tan(x: f64) -> f64 {
    let shifted = x * FRAC_2_PI + SHIFT;
    let k = shifted - SHIFT;
    let r = (x - k * (0.5 * PI[0])) - k * (0.5 * PI[1]);
    tan_quarter(shifted.to_bits(), r)
}

/// `2/pi` in binary, from the place of one half on.
const TWO_OVER_PI: [u64; 4] = [0xa2f9_836e_4e44_1529, 0xfc27_57d1_f534_ddc0, 0xdb62_9599_3c43_9041, 0xfe51_63ab_debb_c561];

/// The 32 bits of `2/pi` from the place `2^-(start + 1)` on; zero in front of the point.
fn bits_of_two_over_pi(start: i32) -> u64 {
    let mut bits = 0;
    for place in start..start + 32 {
        let bit = match usize::try_from(place) {
            Ok(place) => (TWO_OVER_PI[place / 64] >> (63 - place % 64)) & 1,
            Err(_) => 0,
        };
        bits = 2 * bits + bit;
    }
    bits
}

/// The quadrant in the two lowest bits and the remainder by `pi/2`, of a finite `|x| >= 2^24`
/// that is an `f32`.
///
/// `|x| = m 2^e` with an integer `m` of 24 bits. Bits of `2/pi` from `2^(2-e)` up only add whole
/// turns to `x 2/pi`, so 96 bits from the next place on are enough: the first counts half a
/// turn, the last `2^-94` of a quarter.
fn reduce_large(x: f32) -> (u64, f64) {
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

/// `sin(x)` for finite `|x| >= 2^24`, one number at a time.
#[cold]
#[inline(never)]
pub(crate) fn sin_large(x: f32) -> f32 {
    let (quadrant, r) = reduce_large(x);
    by_quadrant(quadrant, r, 0) as f32
}

/// `cos(x)` for finite `|x| >= 2^24`, one number at a time.
#[cold]
#[inline(never)]
pub(crate) fn cos_large(x: f32) -> f32 {
    let (quadrant, r) = reduce_large(x);
    by_quadrant(quadrant, r, 1) as f32
}

/// `tan(x)` for finite `|x| >= 2^24`, one number at a time.
#[cold]
#[inline(never)]
pub(crate) fn tan_large(x: f32) -> f32 {
    let (quadrant, r) = reduce_large(x);
    tan_quarter(quadrant, r) as f32
}
