//! `erf` and `erfc`.
//!
//! As `f32`, `erf` is one from 3.92 on: up to there it is `x` times one polynomial in `x^2`.
//! `erfc(a) = e^(-a^2) G(t)` with `t = (a - 3)/(a + 3)` down to the end of the range at 10.06
//! (Schonfelder, "Chebyshev expansions for the error and related functions", 1978).

use super::at_most;
use super::exponential::exp_inside;
use crate::polynomial::{degree11, degree17};

/// The middle of the interval of `x^2`.
const ERF_CENTRE: f64 = 7.7;
/// `erf(x) / x` in `x^2 - 7.7`, for `x^2` up to 15.4, error 6.7e-10.
const ERF: [f64; 18] = [
    0.36034363711237644,
    -0.023365758196498925,
    0.002259294702275337,
    -0.00023898260971814747,
    2.5775188809447718e-05,
    -2.736152507784537e-06,
    2.795547930767974e-07,
    -2.7136225494269044e-08,
    2.4894633593102053e-09,
    -2.1330740445738534e-10,
    1.674984726250999e-11,
    -1.2746223363767396e-12,
    1.0208108043506254e-13,
    -6.593464792486156e-15,
    2.1708779196822053e-16,
    -1.50462657610421e-17,
    2.6342623643343664e-18,
    -1.3216627866073912e-19,
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

/// Rounds to one from 3.92 on.
#[inline(always)]
pub(crate) fn erf(x: f64) -> f64 {
    let a = at_most(x.abs(), 3.924);
    (a * degree17(a * a - ERF_CENTRE, &ERF)).copysign(x)
}

/// `erfc(a)` for `a` from 0 to 10.2, with a relative error of 2^-28.
#[inline(always)]
pub(crate) fn erfc_inside(a: f64) -> f64 {
    exp_inside(-(a * a)) * degree11((a - 3.0) / (a + 3.0), &ERFC)
}

/// Zero as `f32` from 10.06 on.
#[inline(always)]
pub(crate) fn erfc(x: f64) -> f64 {
    let right = erfc_inside(at_most(x.abs(), 10.2));
    if x < 0.0 { 2.0 - right } else { right }
}
