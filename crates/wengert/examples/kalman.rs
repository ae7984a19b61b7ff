//! The flow of the Nile: how much of its change is noise of the measurement, and how much is the river's own?
//!
//! A hundred years of the yearly flow at Aswan are read as a level that wanders, measured with noise: the local level model of
//! Durbin and Koopman, *Time Series Analysis by State Space Methods*, 2012, chapter 2. A Kalman filter (R. E. Kalman, 1960) gives the
//! likelihood of the two variances, one `scan` over the years; its covariance is updated in the form of Joseph (P. D. Joseph, 1964),
//! which stays symmetric and positive whatever the gain. Newton's method finds the most likely variances with the exact
//! Hessian of the whole recursion, whose inverse gives the errors of their logarithms.
//!
//! The filter is written for any number of states and measurements.
//!
//! Run it with `cargo run --release -p wengert --features linalg --example kalman`; the picture goes to `target/kalman.svg`, or to the
//! file given as argument.

#[path = "support/newton.rs"]
pub mod newton;
#[path = "support/nile.rs"]
pub mod nile;

use std::io::Write;
use std::path::{Path, PathBuf};

use newton::Minimum;
use nile::{Failure, Levels, flows};
use wengert::prelude::*;

/// The variances of the noise and of the steps in the book.
pub const PUBLISHED: [f64; 2] = [15_099.0, 1_469.1];

/// A linear system with normal noise: `x' = F x + w` and `y = H x + v`, where w has the covariance Q and v has R.
pub struct Model {
    /// F: one step of the states.
    pub step: Tensor,
    /// H: what is measured of the states.
    pub measured: Tensor,
    /// Q: the covariance of what drives the states.
    pub drive: Tensor,
    /// R: the covariance of the noise of the measurement.
    pub noise: Tensor,
}

/// What a filter knows of the states: their mean and covariance.
pub type Belief = (Tensor, Tensor);

impl Model {
    /// The belief after one more measurement, and minus the logarithm of how likely that was.
    pub fn update(&self, (mean, covariance): Belief, y: &Tensor) -> (Belief, Tensor) {
        let Model { step, measured, drive, noise } = self;
        let mean = step.matmul(&mean);
        let covariance = step.matmul(&covariance).matmul(&step.t()) + drive;

        let surprise = y - measured.matmul(&mean);
        let expected = measured.matmul(&covariance).matmul(&measured.t()) + noise;
        let gain = expected.solve_spd(&measured.matmul(&covariance)).t();
        let constant = surprise.size() as f64 * std::f64::consts::TAU.ln();
        let cost = 0.5 * (expected.logdet_spd() + surprise.dot(&expected.solve_spd(&surprise)) + constant);

        let mean = mean + gain.matmul(&surprise);
        // Joseph's form: a sum of two that are positive semidefinite.
        let kept = Tensor::eye(step.shape()[0]) - gain.matmul(measured);
        let covariance = kept.matmul(&covariance).matmul(&kept.t()) + gain.matmul(noise).matmul(&gain.t());
        ((mean, covariance), cost)
    }

    /// The beliefs after each measurement, the rows of `ys`, and minus the logarithm of the likelihood of all.
    pub fn filter(&self, start: Belief, ys: &Tensor) -> ((Tensor, Tensor), Tensor) {
        let (_, (means, covariances, costs)) = scan(start, ys, |belief, y| {
            let (belief, cost) = self.update(belief, &y);
            (belief.clone(), (belief.0, belief.1, cost))
        });
        ((means, covariances), costs.sum())
    }
}

/// The model of a level that wanders, from the logarithms of the variances of the noise and of the level's steps.
pub fn local_level(logarithms: &Tensor) -> Model {
    let variance = |k: usize| logarithms.slice(k).exp().reshape((1, 1));
    Model { step: Tensor::eye(1), measured: Tensor::eye(1), noise: variance(0), drive: variance(1) }
}

/// The beliefs about the level from the second year on, and minus the logarithm of the likelihood. Nothing is known before the
/// first year: then its flow is the mean, and the noise the variance.
pub fn levels(logarithms: &Tensor) -> ((Tensor, Tensor), Tensor) {
    let model = local_level(logarithms);
    let flows = Tensor::from(flows()).reshape((-1, 1));
    let start = (flows.slice(0), model.noise.clone());
    model.filter(start, &flows.slice(1..))
}

/// The most likely logarithms of the variances.
///
/// # Errors
/// If the search does not end.
pub fn fit() -> Result<Minimum, Failure> {
    let derivatives = compile(|logarithms: Tensor| value_grad_and_hessian(&logarithms, |x| levels(&x).1));
    newton::minimise(Tensor::from([8.0, 8.0]), |x| derivatives.call(x))
}

// ----------------------------------------------------------------------------------------- run

/// Fits the variances, prints them, and draws the level. Gives the variances.
///
/// # Errors
/// If the search does not end, or the picture cannot be written.
pub fn report(out: &mut impl Write, picture: &Path) -> Result<[f64; 2], Failure> {
    let found = fit()?;
    let last = found.course.len() - 1;
    writeln!(out, "{} years; Newton's method with the exact Hessian: {last} steps.", flows().len())?;
    for (k, [value, slope]) in found.course.iter().enumerate() {
        writeln!(out, "  {k:>3}  minus log likelihood {value:.9}  gradient {slope:.1e}")?;
    }
    let variances = found.point.exp().to_vec();
    for (name, (variance, deviation)) in
        ["noise of the measurement", "steps of the level"].iter().zip(variances.iter().zip(found.deviations()))
    {
        writeln!(out, "  variance of the {name:<24} {variance:>9.1}, within a factor of {:.2}", deviation.exp())?;
    }
    let [noise, steps] = PUBLISHED;
    writeln!(out, "  the book has {noise:.1} and {steps:.1}")?;
    let ((means, covariances), _) = levels(&found.point);
    let levels = Levels { means: means.to_vec(), deviations: covariances.sqrt().to_vec() };
    levels.draw(picture, "level after the year")?;
    writeln!(out, "The picture is in {}.", picture.display())?;
    Ok([variances[0], variances[1]])
}

fn main() -> Result<(), Failure> {
    let picture = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("target/kalman.svg"), PathBuf::from);
    report(&mut std::io::stdout().lock(), &picture).map(drop)
}
