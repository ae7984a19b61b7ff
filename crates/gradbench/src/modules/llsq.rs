//! `llsq`: how far a polynomial is from the sign of its argument, in least squares.

use serde::Deserialize;
use wengert::{Tensor, grad};

use super::input::{check_work, read};
use super::{Failure, Measured, Output, Settings, measure};

#[derive(Deserialize)]
struct Input {
    x: Vec<f64>,
    n: u64,
}

/// More points than these are refused: their numbers are an array of the input's.
const MOST_POINTS: u64 = 1 << 28;

pub(super) fn evaluate(function: &str, input: &str, settings: &Settings) -> Result<Measured, Failure> {
    let (Input { x, n }, runs) = read(input)?;
    if !(2..=MOST_POINTS).contains(&n) {
        return Err(Failure::new(format!("n is {n}, and the points from -1 to 1 are 2 to {MOST_POINTS}")));
    }
    if x.is_empty() {
        return Err(Failure::new("x is empty: a polynomial without coefficients is asked for"));
    }
    check_work(
        &format!("n = {n} points of a polynomial with {} coefficients", x.len()),
        n.checked_mul(x.len() as u64),
    )?;
    // What a compiled function makes of numbers alone is made while it is traced. So the numbers of the points are an
    // argument: points and powers are computed by every run.
    let (x, i) = (Tensor::from(x), Tensor::from((0..n).map(|i| i as f64).collect::<Vec<_>>()));
    let point = (&x, &i);
    let f = settings.compile().function(if function == "primal" { residuals } else { gradient });
    measure(&runs, || Ok(f.plan(point).map(|_| ())?), |()| Ok(f.try_call(point)?), Output::of)
}

fn gradient((x, i): (Tensor, Tensor)) -> Tensor {
    grad(&x, |x| residuals((x, i.clone())))
}

/// `1/2 sum_i (sign(t_i) - sum_j x_j t_i^j)^2`, `t_i = -1 + 2 i / (n - 1)`.
fn residuals((x, i): (Tensor, Tensor)) -> Tensor {
    let t = 2.0 * &i / (i.size() - 1) as f64 - 1.0;
    let mut left = t.sign() - x.slice(0isize);
    let mut power = t.clone();
    for j in 1..x.size() as isize {
        if j > 1 {
            power = &power * &t;
        }
        left -= x.slice(j) * &power;
    }
    0.5 * left.square().sum()
}
