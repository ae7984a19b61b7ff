//! The orbit of Mars from where it was seen, through a thousand steps of an integrator.
//!
//! Five numbers are fitted: position and velocity at the start, and the pull of the sun, `GM`. The predictions go through a
//! thousand steps of the classical method of W. Kutta (1901); their Jacobian by the five numbers is exact for these
//! steps, so that the method of C. F. Gauss (who invented it for the orbit of Ceres, 1809) converges quadratically. The observations
//! are made by Kepler's equation, which knows nothing of the integrator, and the elements of the orbit are compared.
//!
//! Run it with `cargo run --release -p wengert --example orbit`.

use std::f64::consts::TAU;
use std::io::{self, Write};

use wengert::prelude::*;

/// Astronomical units for the semi-major axis, and the eccentricity: of Mars.
pub const AXIS: f64 = 1.523_679;
/// The eccentricity.
pub const ECCENTRICITY: f64 = 0.0934;
/// The pull of the sun, in astronomical units and years: by Kepler's third law a year is the period at the distance 1.
pub const PULL: f64 = TAU * TAU;
/// Years that were observed, in as many equal parts.
pub const YEARS: f64 = 2.0;
/// How often it was seen.
pub const SEEN: usize = 40;
/// Steps of the integrator.
pub const STEPS: usize = 1000;

/// Position, velocity, pull.
pub type Guess<T> = [T; 5];

/// Where it is at the times of observation.
pub fn predict<R: Real>([x, y, vx, vy, pull]: Guess<R>) -> Vec<[R; 2]> {
    let h = YEARS / STEPS as f64;
    let motion = |[x, y, vx, vy]: [R; 4]| {
        let square = x * x + y * y;
        let force = -pull / (square * square.sqrt());
        [vx, vy, force * x, force * y]
    };
    let ahead = |s: [R; 4], d: [R; 4], h: f64| std::array::from_fn(|i| s[i] + d[i] * h);
    let mut state = [x, y, vx, vy];
    let mut seen = Vec::new();
    for step in 1..=STEPS {
        let k1 = motion(state);
        let k2 = motion(ahead(state, k1, 0.5 * h));
        let k3 = motion(ahead(state, k2, 0.5 * h));
        let k4 = motion(ahead(state, k3, h));
        state = std::array::from_fn(|i| state[i] + (k1[i] + lit(2.0) * (k2[i] + k3[i]) + k4[i]) * (h / 6.0));
        if step.is_multiple_of(STEPS / SEEN) {
            seen.push([state[0], state[1]]);
        }
    }
    seen
}

/// Where Mars was: Kepler's equation `M = E - e sin E`, solved by Newton's method.
pub fn observations() -> Vec<[f64; 2]> {
    let place = |k: usize| {
        let mean = PULL.sqrt() * AXIS.powf(-1.5) * YEARS * k as f64 / SEEN as f64;
        let mut anomaly = mean;
        for _ in 0..20 {
            anomaly -= (anomaly - ECCENTRICITY * anomaly.sin() - mean) / (1.0 - ECCENTRICITY * anomaly.cos());
        }
        let minor = AXIS * (1.0 - ECCENTRICITY * ECCENTRICITY).sqrt();
        [AXIS * (anomaly.cos() - ECCENTRICITY), minor * anomaly.sin()]
    };
    (1..=SEEN).map(place).collect()
}

/// Semi-major axis, eccentricity, period: from the energy and the angular momentum.
pub fn elements([x, y, vx, vy, pull]: Guess<f64>) -> [f64; 3] {
    let energy = 0.5 * (vx * vx + vy * vy) - pull / x.hypot(y);
    let axis = -0.5 * pull / energy;
    let momentum = x * vy - y * vx;
    [axis, (1.0 - momentum * momentum / (pull * axis)).sqrt(), TAU * (axis.powi(3) / pull).sqrt()]
}

/// The root of the mean square of the distances.
fn miss(places: &[[f64; 2]], seen: &[[f64; 2]]) -> f64 {
    let squares = places.iter().zip(seen).map(|(p, s)| (p[0] - s[0]).powi(2) + (p[1] - s[1]).powi(2));
    (squares.sum::<f64>() / SEEN as f64).sqrt()
}

/// The numbers that fit best, and the root of the mean square of the errors before every step and at the end.
pub fn fit(guess: Guess<f64>) -> (Guess<f64>, Vec<f64>) {
    let seen = observations();
    let mut at = guess;
    let mut errors = Vec::new();
    for _ in 0..20 {
        let (places, slopes) = value_and_jacobian(at, predict);
        let misfit: Vec<f64> = places.iter().flatten().zip(seen.iter().flatten()).map(|(p, s)| p - s).collect();
        errors.push(miss(&places, &seen));
        let step = Tensor::from_vec(&[2 * SEEN, 5], slopes.concat().concat()).lstsq(&Tensor::from(misfit)).to_vec();
        // Far away, half a step or less may be better than a whole one.
        let tried = |share: f64| std::array::from_fn(|k| at[k] - share * step[k]);
        let shares = [1.0, 0.5, 0.25, 0.125, 0.0625];
        let better = shares.into_iter().find(|&share| miss(&predict(tried(share)), &seen) < errors[errors.len() - 1]);
        at = tried(better.unwrap_or(1.0));
        if step.iter().all(|s| s.abs() < 1e-10) {
            break;
        }
    }
    (at, errors)
}

/// Fits and prints the way, and the elements beside those of Mars.
pub fn report(out: &mut impl Write) -> io::Result<[f64; 3]> {
    let (found, errors) = fit([1.3, 0.05, -0.3, 5.4, 38.0]);
    for (k, error) in errors.iter().enumerate() {
        writeln!(out, "{k:>3}  misfit {error:.3e}")?;
    }
    let elements = elements(found);
    let truth = [AXIS, ECCENTRICITY, AXIS.powf(1.5)];
    for ((name, found), truth) in ["axis", "eccentricity", "period"].into_iter().zip(elements).zip(truth) {
        writeln!(out, "{name:<12}  {found:.9}, of Mars {truth:.9}")?;
    }
    writeln!(out, "pull of sun   {:.7}, 4 pi^2 is {PULL:.7}", found[4])?;
    Ok(elements)
}

fn main() -> io::Result<()> {
    report(&mut io::stdout().lock()).map(|_| ())
}
