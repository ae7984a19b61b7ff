//! Parameters of a differential equation from noisy observations, through 10,000 time steps.
//!
//! A. J. Lotka (1925) and V. Volterra (1926) describe prey `x` and predators `y` by
//!
//! ```text
//! x' = α x - β x y
//! y' = δ x y - γ y
//! ```
//!
//! Given measurements of both at 100 times, find `α, β, δ, γ` and the starting numbers. The
//! simulation is ordinary code over [`Real`]; its derivative is exact through every step of the
//! integrator, so there is no adjoint equation to derive and no step size to tune. L-BFGS from the
//! crate `argmin` minimises the misfit. Last, the Jacobian of the predictions says how well the
//! data determine each parameter.
//!
//! Run it with `cargo run --release -p wengert --example lotka_volterra`.

use std::hint::black_box;
use std::io::Write;
use std::time::{Duration, Instant};

use argmin::core::{CostFunction, Error, Executor, Gradient, State, TerminationReason, TerminationStatus};
use argmin::solver::linesearch::MoreThuenteLineSearch;
use argmin::solver::quasinewton::LBFGS;
use wengert::prelude::*;

/// What is estimated.
pub const NAMES: [&str; 6] = ["alpha", "beta", "delta", "gamma", "x0", "y0"];
/// The values that the observations are made with, in the order of [`NAMES`].
pub const TRUE: [f64; 6] = [1.1, 0.4, 0.1, 0.4, 10.0, 5.0];
/// Where the search starts.
pub const GUESS: [f64; 6] = [0.9, 0.3, 0.12, 0.5, 8.0, 6.0];
/// The time that is simulated: about three periods.
const HORIZON: f64 = 30.0;
/// How many times both populations are observed.
pub const OBSERVATIONS: usize = 100;
/// Standard deviation of the relative error of an observation.
const NOISE: f64 = 0.05;

/// One observation of prey and predators, as logarithms.
pub type Observation = [f64; 2];

/// One step of the classical Runge-Kutta method (W. Kutta, 1901).
fn step<R: Real>([alpha, beta, delta, gamma]: [R; 4], [x, y]: [R; 2], h: f64) -> [R; 2] {
    let slope = |[x, y]: [R; 2]| [x * (alpha - beta * y), y * (delta * x - gamma)];
    let ahead = |h: f64, [dx, dy]: [R; 2]| [x + dx * h, y + dy * h];
    let k1 = slope([x, y]);
    let k2 = slope(ahead(0.5 * h, k1));
    let k3 = slope(ahead(0.5 * h, k2));
    let k4 = slope(ahead(h, k3));
    let average = |i: usize| (k1[i] + (k2[i] + k3[i]) * 2.0 + k4[i]) * (1.0 / 6.0);
    ahead(h, [average(0), average(1)])
}

/// The logarithms of both populations at the times of observation.
///
/// The parameters come as logarithms too: they stay positive without constraints, and a unit step
/// means the same for all of them. The number of steps is a multiple of [`OBSERVATIONS`].
fn simulate<R: Real>(log_parameters: [R; 6], steps: usize) -> Vec<[R; 2]> {
    assert!(steps > 0 && steps.is_multiple_of(OBSERVATIONS), "{steps} steps do not reach every observation");
    let [alpha, beta, delta, gamma, x0, y0] = log_parameters.map(R::exp);
    let h = HORIZON / steps as f64;
    let mut state = [x0, y0];
    let mut seen = Vec::with_capacity(OBSERVATIONS);
    for k in 0..steps {
        state = step([alpha, beta, delta, gamma], state, h);
        if (k + 1).is_multiple_of(steps / OBSERVATIONS) {
            seen.push(state.map(R::ln));
        }
    }
    seen
}

/// Half the sum of squares of the relative errors: the negative logarithm of the likelihood, up to
/// the factor `1/σ²` and a constant.
pub fn misfit<R: Real>(log_parameters: [R; 6], steps: usize, data: &[Observation]) -> R {
    let predictions = simulate(log_parameters, steps);
    let pairs = predictions.into_iter().flatten().zip(data.iter().flatten());
    pairs.map(|(predicted, &observed)| (predicted - observed).square()).sum::<R>() * 0.5
}

/// Noisy observations of the true system; the same in every run.
pub fn observations(steps: usize) -> Vec<Observation> {
    let truth = simulate(TRUE.map(f64::ln), steps);
    let disturb = |k: usize, seen: Observation| {
        let [a, b] = normal_pair(k as u64);
        [seen[0] + NOISE * a, seen[1] + NOISE * b]
    };
    truth.into_iter().enumerate().map(|(k, seen)| disturb(k, seen)).collect()
}

/// Two independent standard normal numbers from a counter, by G. E. P. Box and M. E. Muller (1958).
fn normal_pair(counter: u64) -> [f64; 2] {
    // 53 bits to the open interval (0, 1).
    let uniform = |n: u64| ((hash(n) >> 11) as f64 + 0.5) * 2f64.powi(-53);
    let radius = (-2.0 * uniform(2 * counter).ln()).sqrt();
    let angle = std::f64::consts::TAU * uniform(2 * counter + 1);
    [radius * angle.cos(), radius * angle.sin()]
}

/// A hash of an integer: the finaliser of splitmix64 (G. L. Steele, D. Lea, C. H. Flood, 2014).
fn hash(n: u64) -> u64 {
    let mut z = n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The problem as `argmin` sees it: a function and its gradient.
struct Estimation<V, G> {
    value: V,
    gradient: G,
}

impl<V: Fn([f64; 6]) -> f64, G> CostFunction for Estimation<V, G> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, parameters: &Vec<f64>) -> Result<f64, Error> {
        Ok((self.value)(six(parameters)))
    }
}

impl<V, G: Fn([f64; 6]) -> [f64; 6]> Gradient for Estimation<V, G> {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;

    fn gradient(&self, parameters: &Vec<f64>) -> Result<Vec<f64>, Error> {
        Ok((self.gradient)(six(parameters)).to_vec())
    }
}

fn six(parameters: &[f64]) -> [f64; 6] {
    parameters.try_into().expect("argmin keeps the number of parameters")
}

/// The Euclidean length.
fn norm(vector: [f64; 6]) -> f64 {
    vector.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// What was found.
pub struct Estimate {
    /// The parameters, in the order of [`NAMES`].
    pub parameters: [f64; 6],
    /// Their relative standard errors.
    pub relative_errors: [f64; 6],
    /// The misfit at the first guess and at the end.
    pub misfit: [f64; 2],
    /// The length of the gradient at the end.
    pub gradient_norm: f64,
    /// Iterations of L-BFGS.
    pub iterations: u64,
    /// How often the optimiser asked for the misfit and for its gradient.
    pub evaluations: [u64; 2],
    /// Why the optimiser stopped.
    pub reason: String,
}

/// Estimates the parameters by L-BFGS with the line search of J. J. Moré and D. J. Thuente (1994).
pub fn estimate(steps: usize, data: &[Observation]) -> Result<Estimate, Error> {
    let guess = GUESS.map(f64::ln);
    // The first step of L-BFGS is the negative gradient; a step of length 10 would ask for 20,000
    // times as much prey. Scaled like this it changes the parameters by ten percent.
    let scale = 0.1 / norm(grad(guess, |p| misfit(p, steps, data)));
    // Runge-Kutta has no branches: one recording gives the gradient for all parameters.
    let recorded = record(guess, |p| misfit(p, steps, data) * scale);
    let problem = Estimation {
        // The same function over plain numbers: nothing is recorded.
        value: |p| misfit(p, steps, data) * scale,
        gradient: |p| recorded.grad(p),
    };
    let solver = LBFGS::new(MoreThuenteLineSearch::new(), 6).with_tolerance_grad(1e-8)?;
    let run = Executor::new(problem, solver).configure(|state| state.param(guess.to_vec()).max_iters(200)).run()?;
    let state = run.state();
    let best = six(state.get_best_param().ok_or_else(|| Error::msg("the optimiser found no point"))?);
    let count = |name: &str| run.problem().counts.get(name).copied().unwrap_or(0);
    let reason = match state.get_termination_status() {
        TerminationStatus::Terminated(TerminationReason::SolverExit(why)) => why.clone(),
        TerminationStatus::Terminated(reason) => reason.text().to_string(),
        TerminationStatus::NotTerminated => "not terminated".to_string(),
    };
    let (value, gradient) = value_and_grad(best, |p| misfit(p, steps, data));
    Ok(Estimate {
        parameters: best.map(f64::exp),
        relative_errors: standard_errors(best, steps, value),
        misfit: [misfit(guess, steps, data), value],
        gradient_norm: norm(gradient),
        iterations: state.get_iter(),
        evaluations: [count("cost_count"), count("gradient_count")],
        reason,
    })
}

/// The standard errors of the logarithms, to first order: the roots of the diagonal of
/// `s² (JᵀJ)⁻¹`, with the Jacobian `J` of the predictions and the variance
/// `s² = Σ residual² / (observations - parameters)`.
///
/// Six inputs and two hundred outputs: the driver computes the Jacobian forward.
fn standard_errors(log_parameters: [f64; 6], steps: usize, misfit: f64) -> [f64; 6] {
    let rows = jacobian(log_parameters, |p| simulate(p, steps));
    let mut normal = [[0.0; 6]; 6];
    for row in rows.iter().flatten() {
        for (i, normal_row) in normal.iter_mut().enumerate() {
            for (j, entry) in normal_row.iter_mut().enumerate() {
                *entry += row[i] * row[j];
            }
        }
    }
    let variance = 2.0 * misfit / (2 * OBSERVATIONS - 6) as f64;
    let inverse = inverse(normal);
    std::array::from_fn(|i| (variance * inverse[i][i]).sqrt())
}

/// The inverse of a symmetric positive definite matrix, by Gauss and Jordan; such a matrix needs no
/// exchange of rows.
fn inverse(mut a: [[f64; 6]; 6]) -> [[f64; 6]; 6] {
    let mut b: [[f64; 6]; 6] = std::array::from_fn(|i| std::array::from_fn(|j| f64::from(u8::from(i == j))));
    for k in 0..6 {
        let pivot = a[k][k];
        a[k] = a[k].map(|entry| entry / pivot);
        b[k] = b[k].map(|entry| entry / pivot);
        let (row_a, row_b) = (a[k], b[k]);
        for i in (0..6).filter(|&i| i != k) {
            let factor = a[i][k];
            for j in 0..6 {
                a[i][j] -= factor * row_a[j];
                b[i][j] -= factor * row_b[j];
            }
        }
    }
    b
}

/// The mean time of one call, over a few calls.
fn mean_time<R>(mut f: impl FnMut() -> R) -> Duration {
    const CALLS: u32 = 20;
    black_box(f());
    let start = Instant::now();
    for _ in 0..CALLS {
        black_box(f());
    }
    start.elapsed() / CALLS
}

fn ratio(time: Duration, unit: Duration) -> f64 {
    time.as_secs_f64() / unit.as_secs_f64()
}

/// Estimates the parameters and prints everything.
pub fn report(out: &mut impl Write, steps: usize) -> Result<Estimate, Error> {
    let data = observations(steps);
    writeln!(out, "{steps} steps of Runge-Kutta over {HORIZON} units of time; {OBSERVATIONS} observations of")?;
    writeln!(out, "both populations with {:.0} % noise.\n", 100.0 * NOISE)?;

    let start = Instant::now();
    let found = estimate(steps, &data)?;
    let elapsed = start.elapsed();

    writeln!(
        out,
        "  {:<8}{:>10}{:>10}{:>12}{:>10}{:>22}",
        "", "true", "guess", "estimated", "± error", "deviation in errors"
    )?;
    for (k, name) in NAMES.iter().enumerate() {
        let (truth, estimated) = (TRUE[k], found.parameters[k]);
        let error = estimated * found.relative_errors[k];
        let deviation = (estimated - truth) / error;
        writeln!(out, "  {name:<8}{truth:>10.4}{:>10.4}{estimated:>12.4}{error:>10.4}{deviation:>22.2}", GUESS[k])?;
    }

    let [before, after] = found.misfit;
    let [values, gradients] = found.evaluations;
    writeln!(out, "\nMisfit {before:.4} -> {after:.6} (expected at the truth: {:.4}),", expected_misfit())?;
    writeln!(out, "length of the gradient {:.1e}.", found.gradient_norm)?;
    writeln!(
        out,
        "{} iterations, {values} values, {gradients} gradients in {elapsed:.2?}: {}.",
        found.iterations, found.reason
    )?;

    let point = found.parameters.map(f64::ln);
    let value = mean_time(|| misfit(point, steps, &data));
    writeln!(out, "\nOne value         {value:>10.2?}")?;
    let fresh = mean_time(|| grad(point, |p| misfit(p, steps, &data)));
    writeln!(
        out,
        "One gradient      {fresh:>10.2?}  {:>5.1} values; the function runs and is recorded",
        ratio(fresh, value)
    )?;
    let recorded = record(point, |p| misfit(p, steps, &data));
    let replayed = mean_time(|| recorded.grad(point));
    let size = wengert::tape_size(point, |p| misfit(p, steps, &data));
    writeln!(
        out,
        "                  {replayed:>10.2?}  {:>5.1} values; the recording is replayed",
        ratio(replayed, value)
    )?;
    writeln!(out, "The recording has {} records, {:.1} MB.", size.records, size.bytes as f64 / 1e6)?;
    Ok(found)
}

/// Half of observations times variance.
fn expected_misfit() -> f64 {
    OBSERVATIONS as f64 * NOISE * NOISE
}

fn main() -> Result<(), Error> {
    report(&mut std::io::stdout().lock(), 10_000)?;
    Ok(())
}
