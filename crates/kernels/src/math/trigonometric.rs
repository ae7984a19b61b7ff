//! `sin`, `cos`, `tan`.
//!
//! `x = k pi/2 + r` with `|r| <= pi/4`; the quadrant `k mod 4` chooses the sine or cosine of
//! `r` and the sign. `pi/2` is taken in four parts, of which `k` times the first three are
//! exact while `|x|` is at most [`LARGEST`] (Cody and Waite 1980), and the remainder is a
//! pair, so that it keeps its digits where `x` is next to a multiple of `pi/2`.
//!
//! Larger arguments need hundreds of digits of `pi` (Payne and Hanek 1983). If a block has
//! one, those lanes are computed by the standard library: a cold path, one branch per block.

use super::{SHIFT, select};
use crate::double::{Double, fast_two_sum, two_sum};
use crate::polynomial::{degree5, degree6};
use std::f64::consts::FRAC_2_PI;

/// The largest argument that the vector path reduces; `k` has then 17 bits.
pub(crate) const LARGEST: f64 = 131_072.0;

/// `pi/2` in parts of 36, 36, 36 and 53 bits.
const PI_2: [f64; 4] = [1.5707963267923333, 2.5633441515839558e-12, 1.0562999066944068e-23, 4.3359050650618903e-35];

/// `(sin(r) / r - 1) / z` with `z = r^2` on `z <= 0.6175`, error 9.3e-18.
const SIN: [f64; 7] = [
    -0.16666666666666666,
    0.008333333333333331,
    -0.0001984126984126504,
    2.755731921931959e-06,
    -2.5052106225650122e-08,
    1.60585305421325e-10,
    -7.586633672657066e-13,
];

/// `(cos(r) - 1 + z/2) / z^2` on the same interval, error 2.3e-18.
const COS: [f64; 6] = [
    0.041666666666666664,
    -0.0013888888888887389,
    2.48015872987538e-05,
    -2.755731726556589e-07,
    2.0876144984413913e-09,
    -1.1382539967177458e-11,
];

/// The remainder of `x` by `pi/2`, and the quadrant in the two lowest bits.
#[inline(always)]
fn reduce(x: f64) -> (u64, Double) {
    let shifted = x * FRAC_2_PI + SHIFT;
    let k = shifted - SHIFT;
    let exact = x - k * PI_2[0];
    let second = two_sum(exact, -(k * PI_2[1]));
    let third = two_sum(second.hi, -(k * PI_2[2]));
    let low = (second.lo + third.lo) - k * PI_2[3];
    (shifted.to_bits(), fast_two_sum(third.hi, low))
}

/// Sine of the remainder: `r + r^3 P(r^2)`, and `cos(r)` times the low half.
#[inline(always)]
fn sin_remainder(r: Double) -> Double {
    let z = r.hi * r.hi;
    Double { hi: r.hi, lo: r.hi * (z * degree6(z, &SIN)) + r.lo * (1.0 - 0.5 * z) }
}

/// Cosine of the remainder: `1 - z/2 + z^2 P(z)`, and `-sin(r)` times the low half.
#[inline(always)]
fn cos_remainder(r: Double) -> Double {
    let z = r.hi * r.hi;
    let head = fast_two_sum(1.0, -0.5 * z);
    Double { hi: head.hi, lo: head.lo + (z * z * degree5(z, &COS) - r.hi * r.lo) }
}

/// `a` if the lowest bit of `quadrant` is not set, else `b`; negative if the second is set.
#[inline(always)]
fn by_quadrant(quadrant: u64, a: f64, b: f64) -> f64 {
    let value = select(quadrant & 1 == 0, a, b);
    f64::from_bits(value.to_bits() ^ ((quadrant & 2) << 62))
}

/// Sine and cosine for `|x| <= LARGEST` or NaN.
#[inline(always)]
pub(crate) fn sin_cos_one(x: f64) -> (f64, f64) {
    let (quadrant, r) = reduce(x);
    let (sin, cos) = (sin_remainder(r).sum(), cos_remainder(r).sum());
    let sine = by_quadrant(quadrant, sin, cos);
    // Keeps the sign of a zero, which the reduction loses.
    let sine = select(x.abs() < 1e-8, x, sine);
    (sine, by_quadrant(quadrant.wrapping_add(1), sin, cos))
}

#[inline(always)]
pub(crate) fn sin_one(x: f64) -> f64 {
    sin_cos_one(x).0
}

#[inline(always)]
pub(crate) fn cos_one(x: f64) -> f64 {
    sin_cos_one(x).1
}

/// `sin / cos` of the remainder, or `-cos / sin` in odd quadrants, as a quotient of pairs.
#[inline(always)]
pub(crate) fn tan_one(x: f64) -> f64 {
    let (quadrant, r) = reduce(x);
    let (sin, cos) = (sin_remainder(r), cos_remainder(r));
    let (sin, cos) = (fast_two_sum(sin.hi, sin.lo), fast_two_sum(cos.hi, cos.lo));
    let even = quadrant & 1 == 0;
    let numerator = Double { hi: select(even, sin.hi, -cos.hi), lo: select(even, sin.lo, -cos.lo) };
    let denominator = Double { hi: select(even, cos.hi, sin.hi), lo: select(even, cos.lo, sin.lo) };
    let y = numerator.quotient(denominator);
    select(x.abs() < 1e-8, x, y)
}

/// Whether some number of the block is beyond the vector path; false for NaN.
#[inline(always)]
fn any_large<const N: usize>(x: &[f64; N]) -> bool {
    let mut any = false;
    for x in x {
        any |= x.abs() > LARGEST;
    }
    any
}

/// Replaces the results of large arguments by those of the standard library.
#[cold]
#[inline(never)]
fn repair(x: &[f64], y: &mut [f64], function: fn(f64) -> f64) {
    for (y, &x) in y.iter_mut().zip(x) {
        if x.abs() > LARGEST {
            *y = function(x);
        }
    }
}

lanes! {
    sin_lanes = sin_one;
    cos_lanes = cos_one;
    tan_lanes = tan_one;
}

/// Sine of an angle in radians; keeps the sign of a zero, NaN at infinity.
///
/// A block with a number above 131072 takes a slow path for that number.
///
/// ```
/// assert_eq!(wengert_kernels::math::sin([0.0, 1e-9]), [0.0, 1e-9]);
/// ```
#[inline(always)]
pub fn sin<const N: usize>(x: [f64; N]) -> [f64; N] {
    let mut y = sin_lanes(x);
    if any_large(&x) {
        repair(&x, &mut y, f64::sin);
    }
    y
}

/// Cosine of an angle in radians; NaN at infinity.
///
/// A block with a number above 131072 takes a slow path for that number.
///
/// ```
/// assert_eq!(wengert_kernels::math::cos([0.0, 1e-9]), [1.0, 1.0]);
/// ```
#[inline(always)]
pub fn cos<const N: usize>(x: [f64; N]) -> [f64; N] {
    let mut y = cos_lanes(x);
    if any_large(&x) {
        repair(&x, &mut y, f64::cos);
    }
    y
}

/// Sine and cosine at little more than the cost of one; the same bits as [`sin()`] and
/// [`cos()`].
///
/// ```
/// use wengert_kernels::math::{cos, sin, sin_cos};
/// let x = [0.5, -7.0];
/// assert_eq!(sin_cos(x), (sin(x), cos(x)));
/// ```
#[inline(always)]
pub fn sin_cos<const N: usize>(x: [f64; N]) -> ([f64; N], [f64; N]) {
    let (mut sine, mut cosine) = ([0.0; N], [0.0; N]);
    for ((s, c), &x) in sine.iter_mut().zip(&mut cosine).zip(&x) {
        (*s, *c) = sin_cos_one(x);
    }
    if any_large(&x) {
        repair(&x, &mut sine, f64::sin);
        repair(&x, &mut cosine, f64::cos);
    }
    (sine, cosine)
}

/// Tangent of an angle in radians; keeps the sign of a zero, NaN at infinity.
///
/// A block with a number above 131072 takes a slow path for that number.
///
/// ```
/// assert_eq!(wengert_kernels::math::tan([0.0, 1e-9]), [0.0, 1e-9]);
/// ```
#[inline(always)]
pub fn tan<const N: usize>(x: [f64; N]) -> [f64; N] {
    let mut y = tan_lanes(x);
    if any_large(&x) {
        repair(&x, &mut y, f64::tan);
    }
    y
}
