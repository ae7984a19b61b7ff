//! `ode`: the classical method of Runge and Kutta, and the gradient of its last component.
//!
//! The derivative is that of the program. A component that the steps do not reach is zero with a gradient of zeros, which is
//! computed like any other.

use serde::Deserialize;
use wengert::{Tensor, checkpoint, fori, grad};

use super::input::{check_work, read};
use super::{Failure, Measured, Output, Settings, measure};

#[derive(Deserialize)]
struct Input {
    x: Vec<f64>,
    s: u64,
}

/// The loop has a list of its steps.
const MOST_STEPS: u64 = 1 << 24;

pub(super) fn evaluate(function: &str, input: &str, settings: &Settings) -> Result<Measured, Failure> {
    let (Input { x, s }, runs) = read(input)?;
    if x.is_empty() {
        return Err(Failure::new("x is empty: a system of at least one equation is asked for"));
    }
    if !(1..=MOST_STEPS).contains(&s) {
        return Err(Failure::new(format!("s is {s}, and is from 1 to {MOST_STEPS}")));
    }
    check_work(&format!("s = {s} steps of {} equations", x.len()), s.checked_mul(x.len() as u64))?;
    let x = Tensor::from(x);
    let value = |x: Tensor| solve(&x, s);
    let slope = |x: Tensor| grad(x, |x| solve(&x, s).slice(-1));
    let compiled = settings.compile();
    if function == "primal" {
        let f = compiled.function(value);
        measure(&runs, || Ok(f.plan(&x).map(|_| ())?), |()| Ok(f.try_call(&x)?), Output::of)
    } else {
        let f = compiled.function(slope);
        measure(&runs, || Ok(f.plan(&x).map(|_| ())?), |()| Ok(f.try_call(&x)?), Output::of)
    }
}

/// `y(2)` of `y' = F(y)`, `y(0) = 0`, in `s` steps.
fn solve(x: &Tensor, s: u64) -> Tensor {
    let h = 2.0 / s as f64;
    // A step keeps its start alone for the derivative, a quarter of its values: the others are cheap to compute again.
    fori(0..s as i64, Tensor::zeros(x.shape()), |_, y: Tensor| checkpoint((&y, x), |(y, x)| step(&x, &y, h)))
}

fn step(x: &Tensor, y: &Tensor, h: f64) -> Tensor {
    let k1 = slope(x, y);
    let k2 = slope(x, &(y + &k1 * (h / 2.0)));
    let k3 = slope(x, &(y + &k2 * (h / 2.0)));
    let k4 = slope(x, &(y + &k3 * h));
    y + (k1 + 2.0 * k2 + 2.0 * k3 + k4) * (h / 6.0)
}

/// `F(y)_0 = x_0`, `F(y)_i = x_i y_(i-1)`.
fn slope(x: &Tensor, y: &Tensor) -> Tensor {
    let before = y.slice(..-1isize).pad(&[(1, 0, 0)], 1.0);
    x * before
}
