//! `lse`: the logarithm of a sum of exponentials.

use serde::Deserialize;
use wengert::{Tensor, grad};

use super::input::read;
use super::{Failure, Measured, Output, Settings, measure};

#[derive(Deserialize)]
struct Input {
    x: Vec<f64>,
}

pub(super) fn evaluate(function: &str, input: &str, settings: &Settings) -> Result<Measured, Failure> {
    let (Input { x }, runs) = read(input)?;
    if x.is_empty() {
        return Err(Failure::new("x is empty: the largest of no numbers is asked for"));
    }
    let x = Tensor::from(x);
    let function = settings.compile().function(if function == "primal" { log_sum_exp } else { gradient });
    let prepare = || Ok(function.plan(&x).map(|_| ())?);
    measure(&runs, prepare, |()| Ok(function.try_call(&x)?), Output::of)
}

/// `a + ln(sum exp(x - a))`, `a` the largest of `x`. It is the same for every `a`: to the derivative, `a` is a number.
fn log_sum_exp(x: Tensor) -> Tensor {
    let largest = x.max().detach();
    (x - &largest).exp().sum().ln() + largest
}

fn gradient(x: Tensor) -> Tensor {
    grad(x, log_sum_exp)
}
