//! A smile of volatilities: the SABR model calibrated by its exact Jacobian.
//!
//! P. S. Hagan, D. Kumar, A. S. Lesniewski and D. E. Woodward, *Managing smile risk* (2002), let the forward `F` and its
//! volatility move together, `dF = α F^β dW`, `dα = ν α dZ`, with the correlation `ρ` of W and Z, and give the volatility that
//! the formula of Black needs for each strike (their equation 2.17a). With `β` chosen, three parameters are fitted to the
//! quotes by the method of Levenberg (1944) and Marquardt (1963), in which every step needs the residuals and their Jacobian:
//! one call gives both.
//!
//! The quotes are published: QuantLib's own tests compare with them, and were made with α = 0.3, ν = 0.02, ρ = 0.01.
//!
//! Run it with `cargo run --release -p wengert --example sabr`.

use std::io::{self, Write};

use wengert::prelude::*;

/// What the forward is today, and in how many years the options expire.
pub const FORWARD: f64 = 0.039;
const EXPIRY: f64 = 1.0;
/// The exponent β, chosen and not fitted.
const BETA: f64 = 0.6;
/// Strikes and the volatilities quoted for them.
pub const SMILE: [(f64, f64); 11] = [
    (0.030, 1.16725837321531),
    (0.036, 1.12524190877505),
    (0.042, 1.09056348513411),
    (0.048, 1.06114533019077),
    (0.054, 1.03567243073732),
    (0.060, 1.01326171139321),
    (0.066, 0.993292584155381),
    (0.072, 0.975312934134512),
    (0.078, 0.958983602256592),
    (0.084, 0.944043915545469),
    (0.090, 0.930289384251337),
];

/// The implied volatility of a strike; the parameters are α, ν, ρ.
pub fn volatility<R: Real>(strike: f64, [alpha, nu, rho]: [R; 3]) -> R {
    let log_moneyness = (FORWARD / strike).ln();
    let power = (FORWARD * strike).powf(0.5 * (1.0 - BETA));
    let l = ((1.0 - BETA) * log_moneyness).powi(2);
    let z = nu / alpha * (power * log_moneyness);
    // z / x(z), and its series where both vanish, at the money.
    let ratio = if z.abs() < 1e-5 {
        lit(1.0) - rho * z * 0.5
    } else {
        let root = (lit(1.0) - lit(2.0) * rho * z + z * z).sqrt();
        z / ((root + z - rho) / (lit(1.0) - rho)).ln()
    };
    let by_level = (alpha * ((1.0 - BETA) / power)).square() / 24.0;
    let by_skew = rho * nu * alpha * (0.25 * BETA / power);
    let by_smile = (lit(2.0) - lit(3.0) * rho * rho) * nu * nu / 24.0;
    let correction = lit(1.0) + (by_level + by_skew + by_smile) * EXPIRY;
    alpha / (power * (1.0 + l / 24.0 + l * l / 1920.0)) * ratio * correction
}

/// α, ν, ρ from numbers without bounds: two logarithms and a hyperbolic arc.
pub fn parameters<R: Real>([a, b, c]: [R; 3]) -> [R; 3] {
    [a.exp(), b.exp(), c.tanh()]
}

/// What was found, and how.
pub struct Calibration {
    /// α, ν, ρ.
    pub parameters: [f64; 3],
    /// The largest difference from a quote.
    pub worst: f64,
    /// Steps tried.
    pub steps: usize,
}

/// The parameters that fit best, from a guess.
pub fn calibrate(guess: [f64; 3]) -> Calibration {
    let [alpha, nu, rho] = guess;
    let mut at = [alpha.ln(), nu.ln(), rho.atanh()];
    let misfit = |free: [Var; 3]| SMILE.map(|(strike, quote)| volatility(strike, parameters(free)) - quote);
    let (mut residuals, mut jacobian) = value_and_jacobian(at, misfit);
    let squares = |r: [f64; 11]| r.iter().map(|r| r * r).sum::<f64>();
    let mut damping = 1e-2;
    for steps in 1.. {
        // The step that solves J s = r, but is not long where J says little.
        let step = Tensor::from(jacobian).lstsq_damped(&Tensor::from(residuals), &Tensor::from(damping)).to_vec();
        let tried: [f64; 3] = std::array::from_fn(|k| at[k] - step[k]);
        let (r, j) = value_and_jacobian(tried, misfit);
        if squares(r) < squares(residuals) {
            (at, residuals, jacobian) = (tried, r, j);
            damping /= 10.0;
        } else {
            damping *= 4.0;
        }
        if step.iter().all(|s| s.abs() < 1e-12) || steps == 200 {
            let worst = residuals.iter().fold(0.0, |most: f64, r| most.max(r.abs()));
            return Calibration { parameters: parameters(at), worst, steps };
        }
    }
    unreachable!("the loop ends by its return")
}

/// Calibrates and prints what was found, and how the smile depends on it.
pub fn report(out: &mut impl Write) -> io::Result<Calibration> {
    let found = calibrate([0.45, 0.6, 0.0]);
    let [alpha, nu, rho] = found.parameters;
    writeln!(out, "alpha {alpha:.9}, nu {nu:.9}, rho {rho:.7} after {} steps", found.steps)?;
    writeln!(out, "largest difference from a quote: {:.1e}\n", found.worst)?;
    writeln!(out, "strike   quote      by alpha   by nu      by rho")?;
    let slopes = jacobian(found.parameters, |p| SMILE.map(|(strike, _)| volatility(strike, p)));
    for ((strike, quote), [by_alpha, by_nu, by_rho]) in SMILE.into_iter().zip(slopes) {
        writeln!(out, "{strike:.3}    {quote:.6}  {by_alpha:>9.6}  {by_nu:>9.6}  {by_rho:>9.6}")?;
    }
    Ok(found)
}

fn main() -> io::Result<()> {
    report(&mut io::stdout().lock()).map(|_| ())
}
