//! `atan`, `atan2`, `asin`, `acos`.
//!
//! The quotient of the smaller by the larger side is at most one; one polynomial does up to
//! there. The arc sine above one half is reduced with
//! `asin(x) = pi/2 - 2 asin(sqrt((1 - x)/2))`.

use super::pick;
use crate::math::select;
use crate::polynomial::paired;
use std::f64::consts::{FRAC_PI_2, PI};

/// `(atan(q) / q - 1) / z` with `z = q^2` on `z <= 1`, error 6.3e-11.
const ATAN: [f64; 12] = [
    -0.3333333332694414,
    0.19999998154086215,
    -0.14285624891483525,
    0.11109392308322223,
    -0.09073553118976409,
    0.0758665283364667,
    -0.06246315194128317,
    0.047294798621813336,
    -0.02991311194551696,
    0.014072923344697239,
    -0.0042216579909296476,
    0.0005930437556365282,
];

/// `(asin(s) / s - 1) / z` with `z = s^2` on `z <= 0.25`, error 2.5e-10.
const ASIN: [f64; 7] = [
    0.16666666686085643,
    0.07499992404401838,
    0.04464766388813485,
    0.030269138728589183,
    0.023611817008891752,
    0.010574415516912909,
    0.030974540371355073,
];

/// `atan(q)` for `q` from 0 to 1, with a relative error of 2^-32.
#[inline(always)]
fn atan_inside(q: f64) -> f64 {
    let z = q * q;
    q + q * (z * paired(z, z * z, &ATAN))
}

/// `pi/2 - atan(1/x)` beyond one, with the sign of `x`.
#[inline(always)]
pub(crate) fn atan(x: f32) -> f32 {
    let a = x.abs();
    let steep = a > 1.0;
    let low = pick(steep, 1.0, a);
    let high = pick(steep, a, 1.0);
    let angle = atan_inside(f64::from(low) / f64::from(high));
    (select(steep, FRAC_PI_2 - angle, angle) as f32).copysign(x)
}

/// The angle of the point `(x, y)`.
#[inline(always)]
pub(crate) fn atan2(y: f32, x: f32) -> f32 {
    let (a, b) = (y.abs(), x.abs());
    let steep = a > b;
    let low = pick(steep, b, a);
    let high = pick(steep, a, b);
    // Two zeros have the quotient zero, two infinities one.
    let high = pick(high == 0.0, 1.0, high);
    let quotient = f64::from(low) / f64::from(high);
    let quotient = select(low == f32::INFINITY, 1.0, quotient);
    let angle = atan_inside(quotient);
    let angle = select(steep, FRAC_PI_2 - angle, angle);
    let angle = select(x.is_sign_negative(), PI - angle, angle);
    let angle = (angle as f32).copysign(y);
    pick(x.is_nan() | y.is_nan(), f32::NAN, angle)
}

/// Whether `a > 1/2`, and `asin` of `a` or else of `sqrt((1 - a)/2)`; NaN for `a > 1`.
#[inline(always)]
fn asin_inside(a: f32) -> (bool, f64) {
    let large = a > 0.5;
    let a = f64::from(a);
    let z = select(large, 0.5 - 0.5 * a, a * a);
    let root = z.sqrt();
    let s = select(large, root, a);
    (large, s + s * (z * paired(z, z * z, &ASIN)))
}

#[inline(always)]
pub(crate) fn asin(x: f32) -> f32 {
    let (large, part) = asin_inside(x.abs());
    let reflected = FRAC_PI_2 - 2.0 * part;
    (select(large, reflected, part) as f32).copysign(x)
}

/// `pi/2 - asin(x)` in the middle, `2 asin(s)` near one, `pi - 2 asin(s)` near minus one.
#[inline(always)]
pub(crate) fn acos(x: f32) -> f32 {
    let (large, part) = asin_inside(x.abs());
    let end = select(x < 0.0, PI, 0.0);
    let base = select(large, end, FRAC_PI_2);
    let part = select(large, -2.0 * part, part);
    let part = select(x < 0.0, -part, part);
    (base - part) as f32
}
