//! An orbit from positions: Kepler's equation by somebody else's solver, differentiated by the equation itself.
//!
//! A body on an ellipse of eccentricity `e` is, at the mean anomaly `M` (its time since perihelion, as an angle), at the eccentric
//! anomaly `E` with `E - e sin E = M`. No formula gives `E`; [`solve`] is a solver in plain Rust, as a library's would be, with
//! branches and as many steps as it takes. Wengert does not look into it. What it has to know is the equation's own derivative,
//! `(1 - e cos E) E_dot = M_dot + sin E e_dot`, which is given as tensor operations, so that it has derivatives in turn.
//!
//! With it the orbit of Halley's comet is fitted to positions in its plane, by Gauss and Newton's method, and the Hessian of the
//! misfit says how well they determine it.
//!
//! Run it with `cargo run --release -p wengert --example kepler`.

use std::io::Write;

use wengert::prelude::*;
use wengert::{Array, CustomRule, Error, RegisteredRule};

/// Semi-major axis in astronomical units, eccentricity, and mean anomaly at the first time.
pub const HALLEY: [f64; 3] = [17.834, 0.967_14, 0.1];
/// Radians a year of the mean anomaly, by Kepler's third law.
const YEAR: f64 = std::f64::consts::TAU;

/// The eccentric anomaly for a mean anomaly `m`, by Newton's method inside a bracket that it halves where Newton leaves it.
///
/// # Errors
/// If the orbit is no ellipse.
pub fn solve(m: f64, e: f64) -> Result<f64, String> {
    if !(0.0..1.0).contains(&e) {
        return Err(format!("the eccentricity is {e}, and the orbit no ellipse"));
    }
    let (mut low, mut high) = (m - e, m + e);
    let mut x = m + e * m.sin();
    for _ in 0..100 {
        let off = x - e * x.sin() - m;
        if off > 0.0 {
            high = x
        } else {
            low = x
        }
        let next = x - off / (1.0 - e * x.cos());
        let next = if next > low && next < high { next } else { low + (high - low) / 2.0 };
        if next == x || (next - x).abs() <= f64::EPSILON * x.abs() {
            return Ok(next);
        }
        x = next;
    }
    Ok(x)
}

/// The eccentric anomalies for an array of mean anomalies and one eccentricity, as an operation with derivatives.
///
/// # Errors
/// If the rule did not hold at the samples, where it is checked.
pub fn kepler() -> Result<RegisteredRule, Error> {
    let value = |x: &[Array]| -> Result<Array, String> {
        let e = x[1].to_f64()[0];
        let solved = x[0].to_f64().into_iter().map(|m| solve(m, e)).collect::<Result<Vec<f64>, String>>()?;
        Ok(Array::new(x[0].shape(), solved))
    };
    CustomRule::foreign("kepler", |x| x[0].clone(), value)
        .jvp(|x, y, dot| vec![(&dot[0] + y[0].sin() * &dot[1]) / (1.0 - &x[1] * y[0].cos())])
        .one_by_one()
        .register(&[&[Tensor::from([0.4, 1.9, -2.5]), Tensor::from(0.6)]])
}

/// Positions in the plane of the orbit at times in years, one row each: `x` towards perihelion, `y` along the motion there.
pub fn positions(kepler: &RegisteredRule, orbit: &Tensor, times: &Tensor) -> Tensor {
    let (a, e, start) = (orbit.slice(0), orbit.slice(1), orbit.slice(2));
    let mean = YEAR * times / a.powf(1.5) + start;
    let anomaly = kepler.call(&[&mean, &e]).remove(0);
    let (x, y) = (&a * (anomaly.cos() - &e), &a * (1.0 - e.square()).sqrt() * anomaly.sin());
    Tensor::stack(&[&x, &y], 1)
}

/// Times and positions of the comet without a solver: eccentric anomalies are chosen, and Kepler's equation gives the times.
pub fn observations() -> (Tensor, Tensor) {
    let [a, e, start] = HALLEY;
    let anomalies: Vec<f64> = (0..12).map(|k| 0.6 + 0.2 * f64::from(k)).collect();
    let times = anomalies.iter().map(|x| (x - e * x.sin() - start) * a.powf(1.5) / YEAR).collect::<Vec<f64>>();
    let places = anomalies.iter().flat_map(|x| [a * (x.cos() - e), a * (1.0 - e * e).sqrt() * x.sin()]);
    (Tensor::from(times), Tensor::from(places.collect::<Vec<f64>>()).reshape(&[12, 2]))
}

/// What was found.
pub struct Fit {
    /// The orbit, as [`HALLEY`].
    pub orbit: Tensor,
    /// How many steps it took.
    pub steps: usize,
    /// Half the sum of squares that is left, and its Hessian.
    pub misfit: f64,
    /// By the orbit's numbers.
    pub hessian: Tensor,
}

/// Fits the orbit to positions by Gauss and Newton's method, halving a step that does not help, from a rough guess.
///
/// # Errors
/// What the solver refuses.
pub fn fit(times: &Tensor, places: &Tensor, guess: [f64; 3]) -> Result<Fit, Error> {
    let kepler = kepler()?;
    let residuals = |orbit: Tensor| (positions(&kepler, &orbit, times) - places).reshape(&[-1]);
    let squares = |orbit: Tensor| 0.5 * residuals(orbit).square().sum();
    let mut orbit = Tensor::from(guess);
    let mut steps = 0;
    while steps < 100 {
        let (off, slopes) = value_and_jacobian(&orbit, residuals);
        let step = slopes.lstsq(&off);
        let before = squares(orbit.clone()).item();
        let is_better = |scale: &f64| {
            let next = &orbit - *scale * &step;
            (0.0..1.0).contains(&next.to_vec()[1]) && next.to_vec()[0] > 0.0 && squares(next).item() < before
        };
        let Some(scale) = (0..30).map(|k| 0.5f64.powi(k)).find(is_better) else { break };
        orbit = &orbit - scale * &step;
        steps += 1;
    }
    let (misfit, _, hessian) = value_grad_and_hessian(&orbit, squares);
    Ok(Fit { orbit, steps, misfit: misfit.item(), hessian })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::stdout().lock();
    let (times, places) = observations();
    let fit = fit(&times, &places, [16.0, 0.93, 0.15])?;
    writeln!(out, "{} steps, half the sum of squares {:.1e}", fit.steps, fit.misfit)?;
    // Positions with errors of 1/1000 of an astronomical unit determine the orbit this well.
    let covariance = fit.hessian.inv() * 1e-6;
    for (k, name) in ["semi-major axis", "eccentricity", "mean anomaly"].into_iter().enumerate() {
        let error = covariance.to_vec()[4 * k].sqrt();
        writeln!(out, "{name:>16}: {:.12} ± {error:.1e}, in truth {}", fit.orbit.to_vec()[k], HALLEY[k])?;
    }
    Ok(())
}
