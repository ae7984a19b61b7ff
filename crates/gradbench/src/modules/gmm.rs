//! `gmm`: the log posterior of a mixture of Gaussians.

use serde::Deserialize;
use wengert::grad;

use super::input::{Matrix, check_work, read};
use super::{Failure, Measured, Output, Settings, measure};
use crate::problems::gmm::{Data, Parameters, log_posterior};

#[derive(Deserialize)]
struct Input {
    d: usize,
    k: usize,
    n: usize,
    x: Matrix,
    m: i64,
    gamma: f64,
    alpha: Vec<f64>,
    mu: Matrix,
    q: Matrix,
    l: Matrix,
}

pub(super) fn evaluate(function: &str, input: &str, settings: &Settings) -> Result<Measured, Failure> {
    let (input, runs) = read::<Input>(input)?;
    let data = input.checked()?;
    let (point, samples) = (data.parameters(), data.samples());
    let compiled = settings.compile();
    if function == "objective" {
        let f = compiled.function(|p: Parameters| log_posterior(&p, &samples));
        measure(&runs, || Ok(f.plan(&point).map(|_| ())?), |()| Ok(f.try_call(&point)?), Output::of)
    } else {
        let f = compiled.function(|p: Parameters| grad(&p, |p| log_posterior(&p, &samples)));
        measure(&runs, || Ok(f.plan(&point).map(|_| ())?), |()| Ok(f.try_call(&point)?), gradient)
    }
}

impl Input {
    fn checked(self) -> Result<Data, Failure> {
        let Input { d, k, n, .. } = self;
        if d == 0 || k == 0 || n == 0 {
            return Err(Failure::new(format!("d = {d}, k = {k}, n = {n}: each is at least 1")));
        }
        self.x.check("x", n, d)?;
        self.mu.check("mu", k, d)?;
        self.q.check("q", k, d)?;
        self.l.check("l", k, d * (d - 1) / 2)?;
        if self.alpha.len() != k {
            return Err(Failure::new(format!("alpha has {} numbers, and k is {k}", self.alpha.len())));
        }
        let work = [d, d, k, n].iter().try_fold(1u64, |work, &size| work.checked_mul(size as u64));
        check_work(&format!("d = {d}, k = {k}, n = {n}"), work)?;
        if self.gamma.is_nan() || self.gamma <= 0.0 {
            return Err(Failure::new(format!("gamma is {}, and has to be above zero", self.gamma)));
        }
        // The prior has the logarithm of the gamma function of (m + 2) / 2.
        if !(-1..=1 << 52).contains(&self.m) {
            return Err(Failure::new(format!("m is {}, and is from -1 to 2^52", self.m)));
        }
        let Input { m, gamma, alpha, .. } = self;
        let [x, mu, q, l] = [self.x, self.mu, self.q, self.l].map(Matrix::into_numbers);
        Ok(Data { d, k, n, alpha, mu, q, l, x, gamma, m })
    }
}

fn gradient(g: Parameters) -> Output {
    Output::Fields(vec![
        ("alpha", Output::of(g.alpha)),
        ("mu", Output::of(g.mu)),
        ("q", Output::of(g.q)),
        ("l", Output::of(g.l)),
    ])
}
