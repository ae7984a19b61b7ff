//! A yield curve from quoted swap rates, and the deltas and gammas of a book of swaps by every quote.
//!
//! A swap exchanges a fixed rate each year for a floating one. At its quoted rate it is worth nothing, which determines the
//! discount factors year by year: `d_n = (1 - s_n (d_1 + … + d_{n-1})) / (1 + s_n)`, "bootstrapping" (J. C. Hull, *Options,
//! Futures, and Other Derivatives*). The value of a book depends on all quotes through all of this; one call gives the
//! value, its gradient (the deltas) and its Hessian (the gammas). They then explain what a move of the market does.
//!
//! Run it with `cargo run --release -p wengert --example yield_curve`.

use std::io::{self, Write};

use wengert::prelude::*;

/// Maturities in years, and the rates quoted for them.
pub const QUOTES: [(usize, f64); 6] = [(1, 0.0412), (2, 0.0387), (3, 0.0379), (5, 0.0376), (7, 0.0381), (10, 0.0390)];
/// The rates alone.
pub const RATES: [f64; 6] = [0.0412, 0.0387, 0.0379, 0.0376, 0.0381, 0.0390];
/// One basis point: what deltas and gammas are quoted for.
pub const POINT: f64 = 1e-4;

/// A swap in which the fixed rate is paid, from one year to another.
#[derive(Clone, Copy, Debug)]
pub struct Swap {
    /// The notional; below zero the fixed rate is received.
    pub notional: f64,
    /// When it starts, in years.
    pub start: usize,
    /// When it ends.
    pub end: usize,
    /// The fixed rate.
    pub rate: f64,
}

/// The book.
pub const BOOK: [Swap; 4] = [
    Swap { notional: 50e6, start: 0, end: 7, rate: 0.0350 },
    Swap { notional: -80e6, start: 0, end: 4, rate: 0.0400 },
    Swap { notional: 30e6, start: 5, end: 10, rate: 0.0390 },
    Swap { notional: -20e6, start: 2, end: 9, rate: 0.0360 },
];

/// The quoted rate of a maturity; between two quotes on the line through them.
fn par_rate<R: Real>(quotes: [R; 6], year: usize) -> R {
    let above = QUOTES.iter().position(|&(maturity, _)| year <= maturity).expect("the curve ends with the last quote");
    let (end, _) = QUOTES[above];
    if year == end {
        return quotes[above];
    }
    let (start, _) = QUOTES[above - 1];
    let share = (year - start) as f64 / (end - start) as f64;
    quotes[above - 1] * (1.0 - share) + quotes[above] * share
}

/// What one unit paid in 0, 1, …, 10 years is worth now.
pub fn discount_factors<R: Real>(quotes: [R; 6]) -> Vec<R> {
    let mut factors = vec![R::constant(1.0)];
    let mut annuity = R::constant(0.0);
    for year in 1..=10 {
        let rate = par_rate(quotes, year);
        let factor = (lit(1.0) - rate * annuity) / (lit(1.0) + rate);
        annuity += factor;
        factors.push(factor);
    }
    factors
}

/// The value of a book to who pays the fixed rates.
pub fn value<R: Real>(book: &[Swap], quotes: [R; 6]) -> R {
    let factors = discount_factors(quotes);
    let of_one = |swap: &Swap| {
        let annuity: R = factors[swap.start + 1..=swap.end].iter().copied().sum();
        (factors[swap.start] - factors[swap.end] - annuity * swap.rate) * swap.notional
    };
    book.iter().map(of_one).sum()
}

/// Prints deltas and gammas, and what they say of a move of the market beside a new valuation.
pub fn report(out: &mut impl Write) -> io::Result<()> {
    let (now, deltas, gammas) = value_grad_and_hessian(RATES, |quotes| value(&BOOK, quotes));
    writeln!(out, "The book is worth {now:.2}. By quote, for a basis point and for its square:\n")?;
    writeln!(out, "year  rate        delta    gamma")?;
    for (k, (year, rate)) in QUOTES.into_iter().enumerate() {
        write!(out, "{year:>4}  {rate:.4} {:>12.2} ", deltas[k] * POINT)?;
        for gamma in gammas[k] {
            write!(out, "{:>9.3}", gamma * POINT * POINT)?;
        }
        writeln!(out)?;
    }
    writeln!(out, "\n  move    valued again       by deltas  and by gammas")?;
    for points in [1.0, 25.0, 100.0] {
        // Short rates rise, long ones fall.
        let shift: [f64; 6] = std::array::from_fn(|k| (1.0 - 0.4 * k as f64) * points * POINT);
        let moved: f64 = value(&BOOK, std::array::from_fn(|k| RATES[k] + shift[k])) - now;
        let linear: f64 = (0..6).map(|k| deltas[k] * shift[k]).sum();
        let quadratic: f64 =
            (0..6).map(|k| (0..6).map(|l| 0.5 * shift[k] * gammas[k][l] * shift[l]).sum::<f64>()).sum();
        writeln!(out, "{points:>6} {moved:>15.2} {linear:>15.2} {:>14.2}", linear + quadratic)?;
    }
    Ok(())
}

fn main() -> io::Result<()> {
    report(&mut io::stdout().lock())
}
