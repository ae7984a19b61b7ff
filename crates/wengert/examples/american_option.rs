//! An American put on a binomial tree, and its sensitivities by differentiating the tree.
//!
//! J. C. Cox, S. A. Ross and M. Rubinstein, *Option pricing: a simplified approach* (1979): in each step the price goes up by
//! `u = exp(σ √Δt)` or down by `1/u`, and going backwards the option is worth what waiting or exercising brings, whichever is
//! more. The gradient takes at every node the side that was taken there.
//!
//! A warning that belongs to every tree: its value is made of straight pieces in the spot price (strike minus price, averages,
//! and the larger of two), so that the second derivative by the spot is zero wherever it exists. That derivative is exact,
//! and not the gamma that a trader means. The nodes two steps below the root give it, as A. Pelsser and T. Vorst (*The binomial model and the
//! Greeks*, 1994) recommend.
//!
//! Run it with `cargo run --release -p wengert --example american_option`.

use std::io::{self, Write};

use wengert::prelude::*;

/// The right to sell at a price, at any time until it expires.
#[derive(Clone, Copy, Debug)]
pub struct Put {
    /// The price agreed on.
    pub strike: f64,
    /// Years until it expires.
    pub expiry: f64,
}

/// Spot price, volatility, interest rate.
pub type Market<R> = [R; 3];

/// What the put is worth, on a tree with this many steps.
pub fn value<R: Real>(put: Put, market: Market<R>, steps: usize) -> R {
    backwards(put, market, steps, 0)[0]
}

/// The values at the nodes after `until` steps, the lowest price first.
fn backwards<R: Real>(put: Put, [spot, volatility, rate]: Market<R>, steps: usize, until: usize) -> Vec<R> {
    let dt = put.expiry / steps as f64;
    let up = (volatility * dt.sqrt()).exp();
    let (down, growth) = (up.recip(), (rate * dt).exp());
    let chance = (growth - down) / (up - down);
    let (above, below) = (chance / growth, (lit(1.0) - chance) / growth);
    // From `steps` steps down to as many up.
    let moves = (0..=2 * steps).map(|k| spot * up.powi(k as i32 - steps as i32));
    let exercised: Vec<R> = moves.map(|price| lit(put.strike) - price).collect();
    let mut values: Vec<R> = exercised.iter().step_by(2).map(|&paid| paid.max(R::constant(0.0))).collect();
    for level in (until..steps).rev() {
        for j in 0..=level {
            let held = above * values[j + 1] + below * values[j];
            values[j] = held.max(exercised[steps - level + 2 * j]);
        }
    }
    values.truncate(until + 1);
    values
}

/// The second derivative by the spot price, from three nodes two steps below the root.
pub fn gamma(put: Put, market: Market<f64>, steps: usize) -> f64 {
    let [spot, volatility, _] = market;
    let [low, middle, high] = backwards(put, market, steps, 2)[..] else { unreachable!("three nodes after two steps") };
    let square = (2.0 * volatility * (put.expiry / steps as f64).sqrt()).exp();
    let (s_low, s_high) = (spot / square, spot * square);
    let slopes = [(middle - low) / (spot - s_low), (high - middle) / (s_high - spot)];
    (slopes[1] - slopes[0]) / (0.5 * (s_high - s_low))
}

/// The value of the put without the right to exercise early, by the formula of Black and Scholes (1973).
pub fn european<R: Real>(put: Put, [spot, volatility, rate]: Market<R>) -> R {
    let normal = |x: R| (x * -std::f64::consts::FRAC_1_SQRT_2).erfc() * 0.5;
    let deviation = volatility * put.expiry.sqrt();
    let d1 = ((spot / put.strike).ln() + (rate + volatility * volatility * 0.5) * put.expiry) / deviation;
    (-rate * put.expiry).exp() * put.strike * normal(deviation - d1) - spot * normal(-d1)
}

/// Prints values and sensitivities for more and more steps.
pub fn report(out: &mut impl Write) -> io::Result<()> {
    // The example of Hull's textbook: five months, worth 4.278 on a tree of 100 steps and 4.283 on one of 500.
    let (put, market) = (Put { strike: 50.0, expiry: 5.0 / 12.0 }, [50.0, 0.4, 0.1]);
    writeln!(out, "steps      value     delta       vega        rho      gamma")?;
    for steps in [30, 100, 500] {
        let (v, [delta, vega, rho]) = value_and_grad(market, |m| value(put, m, steps));
        let gamma = gamma(put, market, steps);
        writeln!(out, "{steps:>5} {v:>10.5} {delta:>9.5} {vega:>10.5} {rho:>10.5} {gamma:>10.6}")?;
    }
    let (v, [delta, vega, rho]) = value_and_grad(market, |m| european(put, m));
    let gamma = hessian(market, |m| european(put, m))[0][0];
    writeln!(out, "without early exercise:\n      {v:>10.5} {delta:>9.5} {vega:>10.5} {rho:>10.5} {gamma:>10.6}")
}

fn main() -> io::Result<()> {
    report(&mut io::stdout().lock())
}
