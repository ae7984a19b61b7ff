//! ADBench's mixture of Gaussians: the log posterior and its gradient.

use std::f64::consts::PI;

use wengert::Real;
use wengert_gradbench::problems::gmm::Data;

/// Numbers kept between calls.
#[derive(Default)]
pub(crate) struct Scratch {
    /// `exp q`, like `q`.
    diagonal: Vec<f64>,
    /// Sums of the rows of `q`.
    sums: Vec<f64>,
    /// `x_i - mu_k` and `Q_k (x_i - mu_k)` of one sample, for every component.
    centred: Vec<f64>,
    turned: Vec<f64>,
    /// The terms of a sample, then their shares.
    terms: Vec<f64>,
    /// `sum_i r_ik Q_k (x_i - mu_k)`, for every component.
    pulls: Vec<f64>,
}

impl Scratch {
    fn prepare(&mut self, data: &Data) {
        let (d, k) = (data.d, data.k);
        self.diagonal.clear();
        self.diagonal.extend(data.q.iter().map(|q| q.exp()));
        self.sums.clear();
        self.sums.extend(data.q.chunks_exact(d).map(|row| row.iter().sum::<f64>()));
        for numbers in [&mut self.centred, &mut self.turned, &mut self.pulls] {
            numbers.clear();
            numbers.resize(k * d, 0.0);
        }
        self.terms.clear();
        self.terms.resize(k, 0.0);
    }
}

/// The log posterior.
pub(crate) fn objective(data: &Data, scratch: &mut Scratch) -> f64 {
    scratch.prepare(data);
    let fit: f64 = (0..data.n).map(|i| sample(data, i, scratch)).sum();
    total(data, scratch, fit)
}

/// The gradient in the order of ADBench; gives the log posterior.
pub(crate) fn gradient(data: &Data, scratch: &mut Scratch, gradient: &mut [f64]) -> f64 {
    let (d, k) = (data.d, data.k);
    let below = d * (d - 1) / 2;
    scratch.prepare(data);
    gradient.fill(0.0);
    let (alpha_bar, rest) = gradient.split_at_mut(k);
    let (mu_bar, icf_bar) = rest.split_at_mut(k * d);
    let mut fit = 0.0;
    for i in 0..data.n {
        let value = sample(data, i, scratch);
        fit += value;
        for component in 0..k {
            let share = (scratch.terms[component] - value).exp();
            alpha_bar[component] += share;
            let part = component * d..(component + 1) * d;
            let (centred, turned) = (&scratch.centred[part.clone()], &scratch.turned[part.clone()]);
            let (q_bar, l_bar) = icf_bar[component * (d + below)..][..d + below].split_at_mut(d);
            for ((pull, q_bar), (turned, centred)) in
                scratch.pulls[part].iter_mut().zip(q_bar).zip(turned.iter().zip(centred))
            {
                *pull += share * turned;
                *q_bar -= share * turned * centred;
            }
            let mut l_bar = l_bar;
            for column in 0..d {
                let (own, others) = l_bar.split_at_mut(d - column - 1);
                let factor = share * centred[column];
                own.iter_mut().zip(&turned[column + 1..]).for_each(|(bar, turned)| *bar -= factor * turned);
                l_bar = others;
            }
        }
    }
    finish(data, scratch, alpha_bar, mu_bar, icf_bar);
    total(data, scratch, fit)
}

/// What needs no sample: the weights' normalisation, the means, the diagonals and the prior.
fn finish(data: &Data, scratch: &Scratch, alpha_bar: &mut [f64], mu_bar: &mut [f64], icf_bar: &mut [f64]) {
    let (d, gamma) = (data.d, data.gamma);
    let below = d * (d - 1) / 2;
    let norm = logsumexp(&data.alpha);
    for (component, alpha_bar) in alpha_bar.iter_mut().enumerate() {
        let part = component * d..(component + 1) * d;
        let (diagonal, pulls) = (&scratch.diagonal[part.clone()], &scratch.pulls[part.clone()]);
        let l = &data.l[component * below..][..below];
        let mu_bar = &mut mu_bar[part];
        let (q_bar, l_bar) = icf_bar[component * (d + below)..][..d + below].split_at_mut(d);
        // Q^T times the pulls: column by column of Q.
        let mut rest = l;
        for column in 0..d {
            let (own, others) = rest.split_at(d - column - 1);
            let below: f64 = own.iter().zip(&pulls[column + 1..]).map(|(l, pull)| l * pull).sum();
            mu_bar[column] = diagonal[column] * pulls[column] + below;
            rest = others;
        }
        for (q_bar, diagonal) in q_bar.iter_mut().zip(diagonal) {
            *q_bar = *alpha_bar + diagonal * *q_bar + data.m as f64 - gamma * gamma * diagonal * diagonal;
        }
        l_bar.iter_mut().zip(l).for_each(|(bar, l)| *bar -= gamma * gamma * l);
        *alpha_bar -= data.n as f64 * (data.alpha[component] - norm).exp();
    }
}

/// The log likelihood of a sample; leaves its differences and terms in the scratch.
fn sample(data: &Data, i: usize, scratch: &mut Scratch) -> f64 {
    let d = data.d;
    let below = d * (d - 1) / 2;
    let x = &data.x[i * d..][..d];
    for component in 0..data.k {
        let part = component * d..(component + 1) * d;
        let (centred, turned) = (&mut scratch.centred[part.clone()], &mut scratch.turned[part.clone()]);
        for k in 0..d {
            centred[k] = x[k] - data.mu[part.start + k];
            turned[k] = scratch.diagonal[part.start + k] * centred[k];
        }
        let mut l = &data.l[component * below..][..below];
        for column in 0..d {
            let (own, others) = l.split_at(d - column - 1);
            let factor = centred[column];
            turned[column + 1..].iter_mut().zip(own).for_each(|(turned, l)| *turned += l * factor);
            l = others;
        }
        let distance: f64 = turned.iter().map(|x| x * x).sum();
        scratch.terms[component] = data.alpha[component] + scratch.sums[component] - 0.5 * distance;
    }
    logsumexp(&scratch.terms)
}

/// The log posterior from the log likelihoods of the samples.
fn total(data: &Data, scratch: &Scratch, fit: f64) -> f64 {
    let (n, d, k) = (data.n as f64, data.d as f64, data.k as f64);
    let freedom = d + data.m as f64 + 1.0;
    let gammas: f64 = (1..=data.d).map(|j| Real::lgamma(freedom / 2.0 + (1.0 - j as f64) / 2.0)).sum();
    let multivariate = d * (d - 1.0) / 4.0 * PI.ln() + gammas;
    let norm = freedom * d * (data.gamma.ln() - 0.5 * 2f64.ln()) - multivariate;
    let spread = scratch.diagonal.iter().chain(&data.l).map(|x| x * x).sum::<f64>();
    let prior = data.m as f64 * scratch.sums.iter().sum::<f64>() - 0.5 * data.gamma * data.gamma * spread + k * norm;
    fit - n * logsumexp(&data.alpha) - n * d / 2.0 * (2.0 * PI).ln() + prior
}

fn logsumexp(terms: &[f64]) -> f64 {
    let top = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    top + terms.iter().map(|term| (term - top).exp()).sum::<f64>().ln()
}
