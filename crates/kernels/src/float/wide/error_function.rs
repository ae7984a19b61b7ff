//! `erf`, `erfc`, and the inverse of `erf`.
//!
//! As `f32`, `erf` is one from 3.92 on: up to there it is `x` times one polynomial in `x^2`.
//! `erfc(a) = e^(-a^2) G(t)` with `t = (a - 3)/(a + 3)` down to the end of the range at 10.06
//! (Schonfelder, "Chebyshev expansions for the error and related functions", 1978).

use super::at_most;
use super::exponential::exp_inside;
use crate::math::error_function::erfinv_one;
use crate::math::select;
use crate::polynomial::paired;

/// The middle of the interval of `x^2`.
const ERF_CENTRE: f64 = 7.85;
/// `erf(x) / x` in `x^2 - 7.85`, for `x^2` up to 15.7, error 8.6e-10.
const ERF: [f64; 18] = [
    0.3568888139354082,
    -0.022703759603878784,
    0.002155141562617247,
    -0.00022411503032536634,
    2.381444347288524e-05,
    -2.496842256055768e-06,
    2.525507678005415e-07,
    -2.432361749186065e-08,
    2.219266132982553e-09,
    -1.8917576189394685e-10,
    1.473371727104609e-11,
    -1.1194628511754424e-12,
    9.09025135339669e-14,
    -5.836436829251727e-15,
    1.7605534926787448e-16,
    -1.2505175332168581e-17,
    2.3603055123700482e-18,
    -1.180442649252834e-19,
];

/// `erfc(x) e^(x^2)` in `t` for `x` from 0 to 10.2, error 1.5e-10.
const ERFC: [f64; 12] = [
    0.17900115104692332,
    -0.3262335590322826,
    0.2456038198481338,
    -0.15011597152696485,
    0.07166542531204001,
    -0.024392325309482238,
    0.004272529518479924,
    0.0007091862163606028,
    -0.0006084069698639759,
    3.339838948237408e-05,
    7.50130129238628e-05,
    8.802919628103659e-06,
];

/// Rounds to one from 3.92 on, with some room for the error of the polynomial at the end.
#[inline(always)]
pub(crate) fn erf(x: f32) -> f32 {
    let a = f64::from(at_most(x.abs(), 3.962));
    let z = a * a - ERF_CENTRE;
    ((a * paired(z, z * z, &ERF)) as f32).copysign(x)
}

/// `erfc(a)` for `a` from 0 to 10.2, with a relative error of 2^-28.
#[inline(always)]
pub(crate) fn erfc_inside(a: f64) -> f64 {
    let t = (a - 3.0) / (a + 3.0);
    exp_inside(-(a * a)) * paired(t, t * t, &ERFC)
}

/// Zero as `f32` from 10.06 on.
#[inline(always)]
pub(crate) fn erfc(x: f32) -> f32 {
    let right = erfc_inside(f64::from(at_most(x.abs(), 10.2)));
    select(x < 0.0, 2.0 - right, right) as f32
}

/// That of double precision: its step needs more digits than the others here have.
#[inline(always)]
pub(crate) fn erfinv(x: f32) -> f32 {
    erfinv_one(f64::from(x)) as f32
}
