//! A posterior by Laplace's approximation, and by Hamiltonian Monte Carlo started from it.
//!
//! The O-rings of the space shuttle: on 7 of 23 flights at least one was damaged, the more often the colder it was (S. R.
//! Dalal, E. B. Fowlkes and B. Hoadley, 1989). The logarithm of the odds is a line in the temperature. Newton's method finds its
//! maximum with the exact gradient and Hessian; the Hessian there is the inverse covariance of P.-S. Laplace's
//! approximation (1774). Its Cholesky factor makes the posterior round, and then leaps along the gradient (S. Duane, A. D. Kennedy, B. J.
//! Pendleton and D. Roweth, 1987) sample the posterior itself, which is not symmetric: the approximation cannot know that.
//!
//! Run it with `cargo run --release -p wengert --example laplace_hmc`.

use std::io::{self, Write};

use wengert::Key;
use wengert::prelude::*;

/// Degrees Fahrenheit at the launch, and whether an O-ring was damaged.
pub const FLIGHTS: [(f64, bool); 23] = [
    (53.0, true),
    (57.0, true),
    (58.0, true),
    (63.0, true),
    (66.0, false),
    (67.0, false),
    (67.0, false),
    (67.0, false),
    (68.0, false),
    (69.0, false),
    (70.0, true),
    (70.0, false),
    (70.0, true),
    (70.0, false),
    (72.0, false),
    (73.0, false),
    (75.0, false),
    (75.0, true),
    (76.0, false),
    (76.0, false),
    (78.0, false),
    (79.0, false),
    (81.0, false),
];

/// The negative logarithm of the likelihood: intercept and slope of the line, the prior flat.
pub fn potential<R: Real>([intercept, slope]: [R; 2]) -> R {
    let of_flight = |&(degrees, damaged): &(f64, bool)| {
        let odds = intercept + slope * degrees;
        // ln(1 + e^±odds), without overflow.
        if damaged { (-odds).softplus() } else { odds.softplus() }
    };
    FLIGHTS.iter().map(of_flight).sum()
}

/// Where the posterior is highest, and a factor `L` of the covariance `L Lᵀ` there: the inverse of the Hessian.
pub struct Laplace {
    /// The maximum.
    pub mode: [f64; 2],
    /// The lower triangle: `[[l11, 0], [l21, l22]]`.
    pub factor: [[f64; 2]; 2],
}

impl Laplace {
    /// A point of the posterior from one of the standard normal distribution.
    pub fn place<R: Real>(&self, [u, v]: [R; 2]) -> [R; 2] {
        let [[l11, _], [l21, l22]] = self.factor;
        [u * l11 + self.mode[0], u * l21 + v * l22 + self.mode[1]]
    }

    /// Standard deviations of both.
    pub fn deviations(&self) -> [f64; 2] {
        self.factor.map(|[a, b]| a.hypot(b))
    }
}

/// Newton's method from the line without a slope.
pub fn laplace() -> Laplace {
    let mut mode = [0.0, 0.0];
    loop {
        let (_, g, [[a, b], [_, c]]) = value_grad_and_hessian(mode, potential);
        let det = a * c - b * b;
        let step = [(c * g[0] - b * g[1]) / det, (a * g[1] - b * g[0]) / det];
        mode = [mode[0] - step[0], mode[1] - step[1]];
        if step[0].abs().max(step[1].abs()) < 1e-12 {
            // The covariance is [[c, -b], [-b, a]] / det.
            let l11 = (c / det).sqrt();
            let l21 = -b / det / l11;
            return Laplace { mode, factor: [[l11, 0.0], [l21, (a / det - l21 * l21).sqrt()]] };
        }
    }
}

/// Samples of the posterior, and the share of leaps that was accepted. Recorded once: a gradient then is a replay.
pub fn sample(laplace: &Laplace, count: usize, seed: u64) -> (Vec<[f64; 2]>, f64) {
    let round = record([0.0, 0.0], |at| potential(laplace.place(at)));
    let [of_momenta, of_choices] = Key::new(seed).split();
    let (momenta, choices) = (of_momenta.normal(&[count, 2]).to_vec(), of_choices.uniform(&[count]).to_vec());
    let (steps, h) = (5, 0.4);
    let (mut at, mut accepted) = ([0.0, 0.0], 0);
    let mut samples = Vec::with_capacity(count);
    for k in 0..count {
        let start = [momenta[2 * k], momenta[2 * k + 1]];
        let (before, mut slope) = round.value_and_grad(at);
        let (mut x, mut p, mut after) = (at, start, before);
        for _ in 0..steps {
            p = [p[0] - 0.5 * h * slope[0], p[1] - 0.5 * h * slope[1]];
            x = [x[0] + h * p[0], x[1] + h * p[1]];
            (after, slope) = round.value_and_grad(x);
            p = [p[0] - 0.5 * h * slope[0], p[1] - 0.5 * h * slope[1]];
        }
        let energy = |potential: f64, [a, b]: [f64; 2]| potential + 0.5 * (a * a + b * b);
        if choices[k].ln() < energy(before, start) - energy(after, p) {
            (at, accepted) = (x, accepted + 1);
        }
        samples.push(laplace.place(at));
    }
    (samples, f64::from(accepted) / count as f64)
}

/// Means and standard deviations.
pub fn moments(samples: &[[f64; 2]]) -> [[f64; 2]; 2] {
    let n = samples.len() as f64;
    let mean = [0, 1].map(|k| samples.iter().map(|s| s[k]).sum::<f64>() / n);
    let variance = [0, 1].map(|k| samples.iter().map(|s| (s[k] - mean[k]).powi(2)).sum::<f64>() / (n - 1.0));
    [mean, variance.map(f64::sqrt)]
}

/// Prints both, and the chance of damage at 31 degrees, the morning of the Challenger.
pub fn report(out: &mut impl Write, count: usize) -> io::Result<[[f64; 2]; 2]> {
    let laplace = laplace();
    let (samples, accepted) = sample(&laplace, count, 1);
    let [mean, deviation] = moments(&samples);
    writeln!(out, "            Laplace              {count} samples, {:.0}% accepted", 100.0 * accepted)?;
    for (k, name) in ["intercept", "slope"].into_iter().enumerate() {
        let (mode, width) = (laplace.mode[k], laplace.deviations()[k]);
        writeln!(out, "{name:<10} {mode:>8.4} ± {width:<8.4}  {:>8.4} ± {:<8.4}", mean[k], deviation[k])?;
    }
    let chance = |[a, b]: [f64; 2]| (a + 31.0 * b).sigmoid();
    let averaged = samples.iter().map(|&s| chance(s)).sum::<f64>() / count as f64;
    writeln!(out, "damage at 31 F: {:.4} at the maximum, {averaged:.4} on average", chance(laplace.mode))?;
    Ok([mean, deviation])
}

fn main() -> io::Result<()> {
    report(&mut io::stdout().lock(), 20_000).map(|_| ())
}
