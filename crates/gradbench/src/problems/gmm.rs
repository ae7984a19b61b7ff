//! Log posterior of a mixture of Gaussians with a Wishart prior, ADBench's GMM.
//!
//! Formula: Šrajer, Kukelova and Fitzgibbon, "A benchmark of selected algorithmic differentiation tools on some problems
//! in computer vision and machine learning" (2018), with the sign of the prior as GradBench has it.

use std::f64::consts::PI;

use wengert::prelude::*;
use wengert::{Compile, Real, Scan};

/// The numbers of a problem: `n` samples of dimension `d`, `k` components.
#[derive(Clone, Debug, PartialEq)]
pub struct Data {
    /// Length of a sample.
    pub d: usize,
    /// Components.
    pub k: usize,
    /// Samples.
    pub n: usize,
    /// Weights of the components before they are normalised, `k` numbers.
    pub alpha: Vec<f64>,
    /// Means, `k` rows of `d`.
    pub mu: Vec<f64>,
    /// Logarithms of the diagonals of the factors `Q`, `k` rows of `d`.
    pub q: Vec<f64>,
    /// Their strictly lower triangles, column by column: `k` rows of `d (d - 1) / 2`.
    pub l: Vec<f64>,
    /// Samples, `n` rows of `d`.
    pub x: Vec<f64>,
    /// Scale of the prior, above zero.
    pub gamma: f64,
    /// Degrees of freedom of the prior beyond `d + 1`.
    pub m: i64,
}

/// What the objective is differentiated by.
#[derive(Tree, Clone, Debug)]
pub struct Parameters {
    /// Weights before they are normalised, `[k]`.
    pub alpha: Tensor,
    /// Means, `[k, d]`.
    pub mu: Tensor,
    /// Logarithms of the diagonals of `Q`, `[k, d]`.
    pub q: Tensor,
    /// Their strictly lower triangles, column by column, `[k, d (d - 1) / 2]`.
    pub l: Tensor,
}

impl Data {
    /// The point at which the objective is differentiated.
    pub fn parameters(&self) -> Parameters {
        let (d, k) = (self.d, self.k);
        Parameters {
            alpha: Tensor::from_vec(&[k], self.alpha.clone()),
            mu: Tensor::from_vec(&[k, d], self.mu.clone()),
            q: Tensor::from_vec(&[k, d], self.q.clone()),
            l: Tensor::from_vec(&[k, d * (d - 1) / 2], self.l.clone()),
        }
    }

    /// What is constant.
    pub fn samples(&self) -> Samples {
        Samples { x: Tensor::from_vec(&[self.n, self.d], self.x.clone()), gamma: self.gamma, m: self.m }
    }
}

/// What is constant: the samples and the prior.
#[derive(Clone, Debug)]
pub struct Samples {
    x: Tensor,
    gamma: f64,
    m: i64,
}

impl Samples {
    fn dimension(&self) -> usize {
        self.x.shape()[1]
    }

    /// The part of the objective that depends on no parameter: `- n d/2 log 2π` of the likelihood, and for every component
    /// `N' d (log γ - 1/2 log 2) - log Γ_d(N'/2)` with `N' = d + m + 1` of the prior.
    fn constant(&self, components: usize) -> f64 {
        let (n, d) = (self.x.shape()[0] as f64, self.dimension());
        let freedom = (d as i64 + self.m + 1) as f64;
        let multivariate = 0.25 * (d * (d - 1)) as f64 * PI.ln()
            + (1..=d).map(|j| Real::lgamma(freedom / 2.0 + (1.0 - j as f64) / 2.0)).sum::<f64>();
        let prior = freedom * d as f64 * (self.gamma.ln() - 0.5 * 2f64.ln()) - multivariate;
        -n * d as f64 / 2.0 * (2.0 * PI).ln() + components as f64 * prior
    }
}

/// Numbers of a block of samples turned by every component: half a mebibyte, so that what is computed of it stays in the second
/// cache. A block has at least four samples for each row of a factor, so that adding to the factors' gradients is a small part of
/// its work, and there are at least four blocks.
const BLOCK: usize = 1 << 16;

/// The log posterior:
///
/// ```text
/// - n d/2 log 2π + sum_i logsumexp_k(alpha_k + s_k - 1/2 |Q_k (x_i - mu_k)|²) - n logsumexp(alpha)
/// + sum_k (m s_k - γ²/2 (|exp q_k|² + |l_k|²)) + k C
/// ```
///
/// with `s_k = sum q_k`, and `C` the normalisation of the prior.
pub fn log_posterior(p: &Parameters, samples: &Samples) -> Tensor {
    let (k, d) = (p.q.shape()[0] as isize, samples.dimension());
    let diagonal = p.q.exp();
    let sums = p.q.sum_over(1);
    let factors = triangles(&p.l, d) + diagonal.diag_embed(0);
    // All `Q_k x_i` are one product with a matrix of k d columns; the means go through `Q` once, not n times.
    let rows = factors.reshape(&[k * d as isize, d as isize]);
    let means = Tensor::einsum("kji,ki->kj", &[&factors, &p.mu]);
    let offsets = &p.alpha + &sums;
    // The part of some samples; of each the differences are `k d` numbers, which are computed again for the gradient.
    let fit = |x: &Tensor| {
        let turned = x.matmul(&rows.t()).reshape(&[-1, k, d as isize]);
        let distances = (turned - &means).square().sum_over(2);
        (&offsets - 0.5 * distances).logsumexp_over(1).sum()
    };
    let count = samples.x.shape()[0];
    let block = (BLOCK / (k as usize * d).max(1)).max(4 * d);
    let whole = if count >= 4 * block { count / block * block } else { 0 };
    let mut sum = fit(&samples.x.slice(whole as isize..));
    if whole > 0 {
        let blocks = samples.x.slice(..whole as isize).reshape(&[-1, block as isize, d as isize]);
        (sum, _) = Scan::new().every(1).run(sum, &blocks, |sum, x| (sum + fit(&x), ()));
    }
    let fit = sum - count as f64 * p.alpha.logsumexp();
    let spread = diagonal.square().sum() + p.l.square().sum();
    let prior = samples.m as f64 * sums.sum() - (0.5 * samples.gamma * samples.gamma) * spread;
    fit + prior + samples.constant(k as usize)
}

/// Strictly lower triangular matrices from the lists of their columns.
fn triangles(l: &Tensor, d: usize) -> Tensor {
    let k = l.shape()[0];
    // The zeros of the upper triangle are read from one column of zeros behind the list.
    let below = |row: usize, column: usize| match row > column {
        true => column * (d - 1) - column * column.saturating_sub(1) / 2 + row - column - 1,
        false => d * (d - 1) / 2,
    };
    let places: Vec<i64> = (0..d).flat_map(|row| (0..d).map(move |column| below(row, column) as i64)).collect();
    let with_zero = Tensor::concat(&[l, &Tensor::zeros(&[k, 1])], 1);
    with_zero.take(&Tensor::from_vec(&[d, d], places), 1)
}

/// A function of the parameters.
type Function<T> = Box<dyn Fn(&Parameters) -> T + Send + Sync>;

/// The objective and its gradient, compiled for these samples.
pub struct Compiled {
    objective: Function<Tensor>,
    gradient: Function<Parameters>,
}

impl Compiled {
    /// For the samples of a problem, on this many threads.
    pub fn new(data: &Data, threads: usize) -> Self {
        let (samples, again) = (data.samples(), data.samples());
        let objective = Compile::new().threads(threads).function(move |p: Parameters| log_posterior(&p, &samples));
        let gradient =
            Compile::new().threads(threads).function(move |p: Parameters| grad(&p, |p| log_posterior(&p, &again)));
        Compiled { objective: Box::new(move |p| objective.call(p)), gradient: Box::new(move |p| gradient.call(p)) }
    }

    /// The log posterior.
    pub fn objective(&self, p: &Parameters) -> f64 {
        (self.objective)(p).item()
    }

    /// Its gradient by every parameter.
    pub fn gradient(&self, p: &Parameters) -> Parameters {
        (self.gradient)(p)
    }
}

/// A gradient in ADBench's order: alpha; the means row by row; for every component its row of `q`, then that of `l`.
pub fn in_order(g: &Parameters) -> Vec<f64> {
    let (k, d) = (g.q.shape()[0], g.q.shape()[1]);
    let (q, l) = (g.q.to_vec(), g.l.to_vec());
    let below = d * (d - 1) / 2;
    let mut all = g.alpha.to_vec();
    all.extend(g.mu.to_vec());
    for component in 0..k {
        all.extend(&q[component * d..][..d]);
        all.extend(&l[component * below..][..below]);
    }
    all
}
