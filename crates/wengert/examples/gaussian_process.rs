//! A Gaussian process for the Nile: the likelihood through nalgebra's Cholesky factorisation of a matrix of variables.
//!
//! The flow of the Nile at Aswan, 1871 to 1970, is a level that wanders, seen with noise: a process with the covariance
//! `c + q min(s, t)` between years, plus `r` for the noise. The two variances maximise the marginal likelihood
//! `-½ (yᵀ K⁻¹ y + ln det K + n ln 2π)` (C. E. Rasmussen and C. K. I. Williams, *Gaussian Processes for Machine Learning*, 2006), by
//! Newton's method in their logarithms. Gradient and Hessian go through the factorisation as nalgebra wrote it; nobody
//! has told it what a derivative is.
//!
//! For this series the answer is known: r = 15099 and q = 1469.1 (J. Durbin and S. J. Koopman, *Time Series Analysis by State
//! Space Methods*, 2001, by the Kalman filter).
//!
//! Run it with `cargo run --release -p wengert --features nalgebra --example gaussian_process`; the picture goes to
//! `target/gaussian_process.svg`, or to the file given as argument.

#[path = "support/nile.rs"]
#[cfg_attr(test, expect(clippy::duplicate_mod, reason = "the tests hold both examples on the Nile"))]
pub mod nile;

use std::io::Write;
use std::path::{Path, PathBuf};

use nalgebra::{DMatrix, DVector, RealField};
use nile::{FIRST, Failure, Levels, flows};
use wengert::prelude::*;

/// The variance of the level in the first year: so large that it says nothing.
const START: f64 = 1e7;

/// The covariance of the years, from the logarithms of the noise and of the level's step.
pub fn covariance<T: RealField + Copy>([noise, step]: [T; 2], years: usize) -> DMatrix<T> {
    let number = |x: f64| nalgebra::convert::<f64, T>(x);
    let (noise, step) = (noise.exp(), step.exp());
    DMatrix::from_fn(years, years, |s, t| {
        let level = number(START) + step * number(s.min(t) as f64);
        if s == t { level + noise } else { level }
    })
}

/// The negative logarithm of the marginal likelihood.
pub fn cost<T: RealField + Copy>(logs: [T; 2], flow: &[f64]) -> T {
    let number = |x: f64| nalgebra::convert::<f64, T>(x);
    let y = DVector::from_iterator(flow.len(), flow.iter().map(|&x| number(x)));
    let factor = covariance(logs, flow.len()).cholesky().expect("variances are positive");
    let half_log_det = factor.l_dirty().diagonal().iter().fold(T::zero(), |sum, &pivot| sum + pivot.ln());
    number(0.5) * y.dot(&factor.solve(&y)) + half_log_det + number(0.5 * flow.len() as f64 * std::f64::consts::TAU.ln())
}

/// What was found.
pub struct Estimate {
    /// Variances of the noise and of the level's yearly step.
    pub variances: [f64; 2],
    /// Standard errors of their logarithms, by the Hessian.
    pub errors: [f64; 2],
    /// Steps of Newton's method.
    pub steps: usize,
}

/// The variances with the highest likelihood.
pub fn estimate(flow: &[f64]) -> Estimate {
    let mut at = [20_000f64.ln(), 1000f64.ln()];
    for steps in 1.. {
        let (_, g, [[a, b], [_, c]]) = value_grad_and_hessian(at, |logs| cost(logs, flow));
        let det = a * c - b * b;
        let step = [(c * g[0] - b * g[1]) / det, (a * g[1] - b * g[0]) / det];
        at = [at[0] - step[0], at[1] - step[1]];
        if step[0].abs().max(step[1].abs()) < 1e-9 || steps == 50 {
            return Estimate { variances: at.map(f64::exp), errors: [(c / det).sqrt(), (a / det).sqrt()], steps };
        }
    }
    unreachable!("the loop ends by its return")
}

/// The level of every year, given the whole series: mean `(K - r I) K⁻¹ y = y - r K⁻¹ y` and covariance `r (I - r K⁻¹)`.
pub fn levels(variances: [f64; 2], flow: &[f64]) -> Levels {
    let (noise, years) = (variances[0], flow.len());
    let inverse = covariance(variances.map(f64::ln), years).cholesky().expect("variances are positive").inverse();
    let y = DVector::from_row_slice(flow);
    let means = &y - &inverse * &y * noise;
    let deviations = (0..years).map(|t| (noise * (1.0 - noise * inverse[(t, t)])).sqrt()).collect();
    Levels { means: means.iter().copied().collect(), deviations }
}

/// Prints the variances and the level every ten years, and draws the levels.
///
/// # Errors
/// If the picture cannot be written.
pub fn report(out: &mut impl Write, picture: &Path) -> Result<Estimate, Failure> {
    let flow = flows();
    let found = estimate(&flow);
    for (name, (variance, error)) in ["noise", "step"].into_iter().zip(found.variances.into_iter().zip(found.errors)) {
        writeln!(out, "variance of the {name:<5}  {variance:>8.1}, give or take {:.0}%", 100.0 * error)?;
    }
    writeln!(out, "by {} steps of Newton's method\n\nyear  flow  level", found.steps)?;
    let levels = levels(found.variances, &flow);
    for k in (0..100).step_by(10) {
        writeln!(out, "{}  {:>4}  {:>6.1} ± {:.1}", FIRST + k as i32, flow[k], levels.means[k], levels.deviations[k])?;
    }
    levels.draw(picture, "level, given all years")?;
    writeln!(out, "\nThe picture is in {}.", picture.display())?;
    Ok(found)
}

fn main() -> Result<(), Failure> {
    let picture =
        std::env::args_os().nth(1).map_or_else(|| PathBuf::from("target/gaussian_process.svg"), PathBuf::from);
    report(&mut std::io::stdout().lock(), &picture).map(drop)
}
