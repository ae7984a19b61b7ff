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

pub(super) fn evaluate(function: &str, input: &str, settings: &Settings) -> Result<Measured, Failure> {
    let (Input { x, n }, runs) = read(input)?;
    if n < 2 {
        return Err(Failure::new(format!("n is {n}, and the points from -1 to 1 are at least two")));
    }
    if x.is_empty() {
        return Err(Failure::new("x is empty: a polynomial without coefficients is asked for"));
    }
    check_work(
        &format!("n = {n} points of a polynomial with {} coefficients", x.len()),
        n.checked_mul(x.len() as u64),
    )?;
    let points = usize::try_from(n).map_err(|_| Failure::new(format!("n = {n} points have no place in memory")))?;
    let x = Tensor::from(x);
    let value = |x: Tensor| residuals(&x, points);
    let slope = |x: Tensor| grad(x, |x| residuals(&x, points));
    let compiled = settings.compile();
    if function == "primal" {
        let f = compiled.function(value);
        measure(&runs, || Ok(f.plan(&x).map(|_| ())?), |()| Ok(f.try_call(&x)?), Output::of)
    } else {
        let f = compiled.function(slope);
        measure(&runs, || Ok(f.plan(&x).map(|_| ())?), |()| Ok(f.try_call(&x)?), Output::of)
    }
}

/// `1/2 sum_i (sign(t_i) - sum_j x_j t_i^j)^2`, `t_i = -1 + 2 i / (n - 1)`.
fn residuals(x: &Tensor, n: usize) -> Tensor {
    let t = Tensor::iota(n).to_f64() * 2.0 / (n - 1) as f64 - 1.0;
    let mut power = Tensor::ones(&[n]);
    let mut sum = Tensor::zeros(&[n]);
    for j in 0..x.size() {
        if j > 0 {
            power = &power * &t;
        }
        sum = sum + x.slice(j as isize) * &power;
    }
    0.5 * (t.sign() - sum).square().sum()
}
