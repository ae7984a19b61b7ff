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
//! Run it with `cargo run --release -p wengert --features nalgebra --example gaussian_process`.

use std::io::{self, Write};

use nalgebra::{DMatrix, DVector, RealField};
use wengert::prelude::*;

/// The flow of every year, in 10^8 cubic metres.
pub const NILE: [f64; 100] = [
    1120.0, 1160.0, 963.0, 1210.0, 1160.0, 1160.0, 813.0, 1230.0, 1370.0, 1140.0, 995.0, 935.0, 1110.0, 994.0, 1020.0,
    960.0, 1180.0, 799.0, 958.0, 1140.0, 1100.0, 1210.0, 1150.0, 1250.0, 1260.0, 1220.0, 1030.0, 1100.0, 774.0, 840.0,
    874.0, 694.0, 940.0, 833.0, 701.0, 916.0, 692.0, 1020.0, 1050.0, 969.0, 831.0, 726.0, 456.0, 824.0, 702.0, 1120.0,
    1100.0, 832.0, 764.0, 821.0, 768.0, 845.0, 864.0, 862.0, 698.0, 845.0, 744.0, 796.0, 1040.0, 759.0, 781.0, 865.0,
    845.0, 944.0, 984.0, 897.0, 822.0, 1010.0, 771.0, 676.0, 649.0, 846.0, 812.0, 742.0, 801.0, 1040.0, 860.0, 874.0,
    848.0, 890.0, 744.0, 749.0, 838.0, 1050.0, 918.0, 986.0, 797.0, 923.0, 975.0, 815.0, 1020.0, 906.0, 901.0, 1170.0,
    912.0, 746.0, 919.0, 718.0, 714.0, 740.0,
];

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

/// The expected level of every year, given the whole series: `(K - r I) K⁻¹ y`.
pub fn levels(variances: [f64; 2], flow: &[f64]) -> DVector<f64> {
    let k = covariance(variances.map(f64::ln), flow.len());
    let y = DVector::from_row_slice(flow);
    let weights = k.cholesky().expect("variances are positive").solve(&y);
    y - weights * variances[0]
}

/// Prints the variances and the level every ten years.
pub fn report(out: &mut impl Write) -> io::Result<Estimate> {
    let found = estimate(&NILE);
    for (name, (variance, error)) in ["noise", "step"].into_iter().zip(found.variances.into_iter().zip(found.errors)) {
        writeln!(out, "variance of the {name:<5}  {variance:>8.1}, give or take {:.0}%", 100.0 * error)?;
    }
    writeln!(out, "by {} steps of Newton's method\n\nyear  flow  level", found.steps)?;
    let levels = levels(found.variances, &NILE);
    for k in (0..100).step_by(10) {
        writeln!(out, "{}  {:>4}  {:>6.1}", 1871 + k, NILE[k], levels[k])?;
    }
    Ok(found)
}

fn main() -> io::Result<()> {
    report(&mut io::stdout().lock()).map(|_| ())
}
