//! The Greeks of a portfolio of European options, by automatic differentiation and in closed form.
//!
//! An option's value depends on the spot price, the volatility, the interest rate and the time that
//! has passed. Its derivatives by these have names: delta, vega, rho and theta are the first ones;
//! gamma (spot twice), vanna (spot and volatility) and volga (volatility twice) the second ones.
//!
//! The pricing formula is written once, over [`Real`]. One reverse sweep gives all first derivatives
//! of all positions together, and two products of the Hessian with a vector give all second ones.
//! Nothing else about the formula has to be worked out; the closed forms below serve to check.
//!
//! Run it with `cargo run --release -p wengert --example greeks`.

use std::io::{self, Write};

use wengert::prelude::*;

/// The right to buy, or the right to sell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Pays `max(S - K, 0)` at expiry.
    Call,
    /// Pays `max(K - S, 0)` at expiry.
    Put,
}

/// A number of equal options; a negative quantity was sold.
#[derive(Clone, Copy, Debug)]
pub struct Position {
    /// How many.
    pub quantity: f64,
    /// Call or put.
    pub kind: Kind,
    /// The price agreed on, `K`.
    pub strike: f64,
    /// Years from now until the option is exercised, `T`.
    pub expiry: f64,
    /// What the market quotes for this strike and expiry.
    pub volatility: f64,
}

/// Price of the underlying share now.
const SPOT: f64 = 100.0;
/// Continuously compounded interest.
const RATE: f64 = 0.03;

/// Ten positions on one share; the volatilities form the usual smile.
pub const PORTFOLIO: [Position; 10] = [
    position(100.0, Kind::Call, 90.0, 0.25, 0.24),
    position(-150.0, Kind::Call, 105.0, 0.25, 0.21),
    position(80.0, Kind::Put, 95.0, 0.25, 0.23),
    position(50.0, Kind::Call, 110.0, 0.50, 0.20),
    position(-60.0, Kind::Put, 85.0, 0.50, 0.26),
    position(40.0, Kind::Call, 100.0, 1.00, 0.21),
    position(-30.0, Kind::Put, 110.0, 1.00, 0.20),
    position(25.0, Kind::Call, 130.0, 1.50, 0.19),
    position(20.0, Kind::Put, 80.0, 2.00, 0.25),
    position(-10.0, Kind::Call, 70.0, 2.00, 0.28),
];

const fn position(quantity: f64, kind: Kind, strike: f64, expiry: f64, volatility: f64) -> Position {
    Position { quantity, kind, strike, expiry, volatility }
}

/// The normal distribution function `N(x) = erfc(-x/√2)/2`, accurate in both tails.
fn normal_cdf<R: Real>(x: R) -> R {
    (x * -std::f64::consts::FRAC_1_SQRT_2).erfc() * 0.5
}

/// The value of one option by the formula of F. Black and M. Scholes, *The pricing of options and
/// corporate liabilities* (1973):
///
/// `S N(d1) - K e^(-r T) N(d2)` for a call and `K e^(-r T) N(-d2) - S N(-d1)` for a put, with
/// `d1 = (ln(S/K) + (r + σ²/2) T) / (σ √T)` and `d2 = d1 - σ √T`.
///
/// `passed` is the time that has passed since now; `T` is what remains.
pub fn option_value<R: Real>(option: &Position, [spot, volatility, rate, passed]: [R; 4]) -> R {
    let remaining = R::constant(option.expiry) - passed;
    let deviation = volatility * remaining.sqrt();
    let drift = (rate + volatility.square() * 0.5) * remaining;
    let d1 = ((spot / option.strike).ln() + drift) / deviation;
    let d2 = d1 - deviation;
    let discounted_strike = (-rate * remaining).exp() * option.strike;
    match option.kind {
        Kind::Call => spot * normal_cdf(d1) - discounted_strike * normal_cdf(d2),
        Kind::Put => discounted_strike * normal_cdf(-d2) - spot * normal_cdf(-d1),
    }
}

/// The value and its derivatives; of one option, of a position, or of a portfolio.
#[derive(Clone, Copy, Debug, Default)]
pub struct Greeks {
    /// `V`
    pub value: f64,
    /// `∂V/∂S`
    pub delta: f64,
    /// `∂V/∂σ`
    pub vega: f64,
    /// `∂V/∂r`
    pub rho: f64,
    /// `∂V/∂t`, per year that passes
    pub theta: f64,
    /// `∂²V/∂S²`
    pub gamma: f64,
    /// `∂²V/∂S∂σ`
    pub vanna: f64,
    /// `∂²V/∂σ²`
    pub volga: f64,
}

impl Greeks {
    /// Their names, in the order of [`numbers`](Self::numbers).
    pub const NAMES: [&str; 8] = ["value", "delta", "vega", "rho", "theta", "gamma", "vanna", "volga"];

    /// All of them in order.
    pub fn numbers(self) -> [f64; 8] {
        let Greeks { value, delta, vega, rho, theta, gamma, vanna, volga } = self;
        [value, delta, vega, rho, theta, gamma, vanna, volga]
    }

    fn from_numbers([value, delta, vega, rho, theta, gamma, vanna, volga]: [f64; 8]) -> Self {
        Greeks { value, delta, vega, rho, theta, gamma, vanna, volga }
    }
}

/// The sum over positions: derivatives of a sum are sums.
pub fn total(greeks: &[Greeks]) -> Greeks {
    let mut sum = [0.0; 8];
    for one in greeks {
        for (sum, number) in sum.iter_mut().zip(one.numbers()) {
            *sum += number;
        }
    }
    Greeks::from_numbers(sum)
}

/// The Greeks of every position by automatic differentiation.
///
/// Every position gets market variables of its own, so that one gradient of the portfolio's value
/// tells the positions apart. Then no two positions share a variable, the Hessian consists of 4×4
/// blocks on its diagonal, and its product with "1 at every spot, 0 elsewhere" holds the spot
/// column of every block: two products give what the whole Hessian would.
pub fn automatic(portfolio: &[Position]) -> Vec<Greeks> {
    let market: Vec<[f64; 4]> = portfolio.iter().map(|p| [SPOT, p.volatility, RATE, 0.0]).collect();
    let value_of = |market: Vec<[Var; 4]>| {
        let values = portfolio.iter().zip(market).map(|(p, m)| option_value(p, m) * p.quantity);
        values.sum::<Var>()
    };

    let first = grad(&market, value_of);
    let by_spot = hvp(&market, vec![[1.0, 0.0, 0.0, 0.0]; portfolio.len()], value_of);
    let by_volatility = hvp(&market, vec![[0.0, 1.0, 0.0, 0.0]; portfolio.len()], value_of);

    let of_position = |k: usize| {
        let [delta, vega, rho, theta] = first[k];
        let [gamma, vanna, ..] = by_spot[k];
        let [_, volga, ..] = by_volatility[k];
        let value = portfolio[k].quantity * option_value(&portfolio[k], market[k]);
        Greeks { value, delta, vega, rho, theta, gamma, vanna, volga }
    };
    (0..portfolio.len()).map(of_position).collect()
}

/// The Greeks of a position by the formulas of the textbooks, for instance J. C. Hull, *Options,
/// Futures, and Other Derivatives*, and E. G. Haug, *The Complete Guide to Option Pricing Formulas*.
pub fn closed_form(p: &Position) -> Greeks {
    let (s, k, t, sigma, r) = (SPOT, p.strike, p.expiry, p.volatility, RATE);
    let d1 = ((s / k).ln() + (r + sigma * sigma / 2.0) * t) / (sigma * t.sqrt());
    let d2 = d1 - sigma * t.sqrt();
    let density = (-d1 * d1 / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let sign = if p.kind == Kind::Call { 1.0 } else { -1.0 };
    let (n1, n2) = (normal_cdf(sign * d1), normal_cdf(sign * d2));
    let discounted_strike = k * (-r * t).exp();
    let vega = s * density * t.sqrt();
    let of_one = [
        sign * (s * n1 - discounted_strike * n2),
        sign * n1,
        vega,
        sign * t * discounted_strike * n2,
        -s * density * sigma / (2.0 * t.sqrt()) - sign * r * discounted_strike * n2,
        density / (s * sigma * t.sqrt()),
        -density * d2 / sigma,
        vega * d1 * d2 / sigma,
    ];
    Greeks::from_numbers(of_one.map(|number| p.quantity * number))
}

/// The portfolio's Greeks by bumping the market and valuing again, as it is done where derivatives
/// are not at hand: central differences, with steps that balance truncation and rounding.
pub fn bumped(portfolio: &[Position]) -> Greeks {
    let value = |[ds, dv, dr, dt]: [f64; 4]| -> f64 {
        let one = |p: &Position| p.quantity * option_value(p, [SPOT + ds, p.volatility + dv, RATE + dr, dt]);
        portfolio.iter().map(one).sum()
    };
    // Rounding costs ε/h in a first and ε/h² in a second difference, truncation h².
    let (small, large) = (f64::EPSILON.cbrt(), f64::EPSILON.sqrt().sqrt());
    let first = |k: usize, scale: f64| {
        let step = |h: f64| value(std::array::from_fn(|i| if i == k { h } else { 0.0 }));
        let h = small * scale;
        (step(h) - step(-h)) / (2.0 * h)
    };
    let (hs, hv) = (large * SPOT, large);
    let at = |i: f64, j: f64| value([i * hs, j * hv, 0.0, 0.0]);
    Greeks {
        value: at(0.0, 0.0),
        delta: first(0, SPOT),
        vega: first(1, 1.0),
        rho: first(2, 1.0),
        theta: first(3, 1.0),
        gamma: (at(1.0, 0.0) - 2.0 * at(0.0, 0.0) + at(-1.0, 0.0)) / (hs * hs),
        vanna: (at(1.0, 1.0) - at(1.0, -1.0) - at(-1.0, 1.0) + at(-1.0, -1.0)) / (4.0 * hs * hv),
        volga: (at(0.0, 1.0) - 2.0 * at(0.0, 0.0) + at(0.0, -1.0)) / (hv * hv),
    }
}

/// `|a - b| / |b|`
pub fn relative_error(a: f64, b: f64) -> f64 {
    ((a - b) / b).abs()
}

/// Prints the positions with their Greeks, then the portfolio's Greeks in three ways.
pub fn report(out: &mut impl Write) -> io::Result<()> {
    let automatic = automatic(&PORTFOLIO);
    let closed: Vec<Greeks> = PORTFOLIO.iter().map(closed_form).collect();

    writeln!(out, "Spot {SPOT}, rate {RATE}. Ten positions; 40 first derivatives by one reverse sweep,")?;
    writeln!(out, "the second ones by two products with the Hessian.\n")?;
    write!(out, "  qty kind    K    T    σ ")?;
    for name in Greeks::NAMES {
        write!(out, "{name:>11}")?;
    }
    writeln!(out, "  worst error")?;
    for ((p, a), c) in PORTFOLIO.iter().zip(&automatic).zip(&closed) {
        let kind = if p.kind == Kind::Call { "call" } else { "put" };
        write!(out, "{:>5} {kind:<4} {:>4} {:.2} {:.2} ", p.quantity, p.strike, p.expiry, p.volatility)?;
        let mut worst: f64 = 0.0;
        for (a, c) in a.numbers().into_iter().zip(c.numbers()) {
            write!(out, "{a:>11.4}")?;
            worst = worst.max(relative_error(a, c));
        }
        writeln!(out, "{worst:>13.1e}")?;
    }

    writeln!(out, "\nThe portfolio: derivatives, closed forms, and valuing again at bumped markets.\n")?;
    writeln!(out, "         {:>22}{:>22}{:>10}{:>16}{:>10}", "automatic", "closed form", "error", "bumped", "error")?;
    let columns = [total(&automatic), total(&closed), bumped(&PORTFOLIO)].map(Greeks::numbers);
    for (k, name) in Greeks::NAMES.iter().enumerate() {
        let [a, c, b] = columns.map(|column| column[k]);
        let (error, bumped_error) = (relative_error(a, c), relative_error(b, c));
        writeln!(out, "  {name:<7}{a:>22.13}{c:>22.13}{error:>10.1e}{b:>16.7}{bumped_error:>10.1e}")?;
    }
    Ok(())
}

fn main() -> io::Result<()> {
    report(&mut io::stdout().lock())
}
