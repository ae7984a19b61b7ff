//! Special functions of one `f64` that the standard library lacks.
//!
//! Each function is written for the whole of `f64`: signed zeros, infinities, NaN, poles, subnormal
//! and huge arguments give the limit or NaN that its comment states. Derivatives of these functions
//! are expressed in each other (`erf` in `exp`, `lgamma` in `digamma`, `digamma` in `polygamma`), so
//! an inaccurate tail here would be an inaccurate derivative elsewhere.
//!
//! The errors stated were measured against 50 digit arithmetic on thousands of points a function.
//! `u` stands for `2^-53 = 1.11e-16`, the largest relative error of one rounding, so a correctly
//! rounded function has error `1 u`. The table `reference.txt`, made by `reference.py`, keeps a
//! selection of those points, and the tests hold every function to its stated bound.

mod beta;
mod erf;
mod gamma;
mod logistic;
mod normal;
mod trig;

#[cfg(test)]
mod tests;

pub use beta::{betaln, polygamma_drop};
pub use erf::{erf, erfc, erfinv, gelu_erf};
pub use gamma::{digamma, lgamma, polygamma};
pub use logistic::{entr, gelu_tanh, gelu_tanh_slope, logaddexp, logit, mish, sigmoid, silu, softplus, xlog1py, xlogy};
pub use normal::{
    erfcx_derivative, log_normal_cdf, normal_cdf, normal_pdf, normal_quantile, normal_quantile_of_log,
    normal_quantile_of_log_slope, normal_quantile_slope,
};
pub use trig::sinc_derivative;

/// `e^(high + low)`, where `low` is the rounding error of `high` and far below one.
///
/// An exponent of size `h` that is rounded gives `exp` a relative error of `h` roundings;
/// carrying what the rounding lost brings it back to one.
fn exp_of_sum(high: f64, low: f64) -> f64 {
    let e = high.exp();
    if e == f64::INFINITY { e } else { e + e * low }
}
