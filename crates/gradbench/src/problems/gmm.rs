//! Log posterior of a mixture of Gaussians with a Wishart prior, ADBench's GMM.
//!
//! Formula: Šrajer, Kukelova and Fitzgibbon, "A benchmark of selected algorithmic differentiation tools on some problems
//! in computer vision and machine learning" (2018), with the sign of the prior as GradBench has it.

use std::cmp::Ordering;
use std::f64::consts::PI;
use std::ops::Range;

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
        let mut columns = vec![1.0; self.n];
        columns.extend((0..self.d).flat_map(|i| self.x.iter().skip(i).step_by(self.d)));
        let places = (0..self.d).step_by(self.d.div_ceil((self.d / ROWS).max(1)));
        let ends = places.clone().skip(1).chain([self.d]);
        let columns = Tensor::from_vec(&[self.d + 1, self.n], columns);
        let groups = places.zip(ends).map(|(begin, end)| begin..end).collect();
        Samples { columns, groups, gamma: self.gamma, m: self.m }
    }
}

/// What is constant: the samples and the prior.
#[derive(Clone, Debug)]
pub struct Samples {
    /// A column for each sample, a one before its coordinates: `[d + 1, n]`.
    columns: Tensor,
    /// The rows of a factor, by groups: those of one group are taken to have the same length.
    groups: Vec<Range<usize>>,
    gamma: f64,
    m: i64,
}

impl Samples {
    fn dimension(&self) -> usize {
        self.columns.shape()[0] - 1
    }

    fn count(&self) -> usize {
        self.columns.shape()[1]
    }

    /// The part of the objective that depends on no parameter: `- n d/2 log 2π` of the likelihood, and for every component
    /// `N' d (log γ - 1/2 log 2) - log Γ_d(N'/2)` with `N' = d + m + 1` of the prior.
    fn constant(&self, components: usize) -> f64 {
        let (n, d) = (self.count() as f64, self.dimension());
        let freedom = (d as i64 + self.m + 1) as f64;
        let multivariate = 0.25 * (d * (d - 1)) as f64 * PI.ln()
            + (1..=d).map(|j| Real::lgamma(freedom / 2.0 + (1.0 - j as f64) / 2.0)).sum::<f64>();
        let prior = freedom * d as f64 * (self.gamma.ln() - 0.5 * 2f64.ln()) - multivariate;
        -n * d as f64 / 2.0 * (2.0 * PI).ln() + components as f64 * prior
    }
}

/// Rows of a factor, which is a lower triangle, that are taken for as long as the last of them. With fewer there are more products,
/// with more more zeros in them.
const ROWS: usize = 8;

/// Numbers of a block of samples turned by every component: a quarter of a mebibyte, so that what is computed of it stays in the
/// second cache. A block has at least four samples for each row of a factor, so that adding to the factors' gradients is a small part
/// of its work, and there are at least four blocks.
const BLOCK: usize = 1 << 15;
/// Samples that blocks are made of: two cache lines of numbers.
const STEP: usize = 16;

/// The log posterior:
///
/// ```text
/// - n d/2 log 2π + sum_i logsumexp_k(alpha_k + s_k - 1/2 |Q_k (x_i - mu_k)|²) - n logsumexp(alpha)
/// + sum_k (m s_k - γ²/2 (|exp q_k|² + |l_k|²)) + k C
/// ```
///
/// with `s_k = sum q_k`, and `C` the normalisation of the prior.
pub fn log_posterior(p: &Parameters, samples: &Samples) -> Tensor {
    let (k, d) = (p.q.shape()[0], samples.dimension());
    let diagonal = p.q.exp();
    let sums = p.q.sum_over(1);
    let maps = maps(p, &diagonal, samples);
    let offsets = (&p.alpha + &sums).expand_dims(-1);
    // The part of some samples; of each the differences are `k d` numbers, which are computed again for the gradient. All samples
    // lie beside each other, so that sums over rows and components are sums of long vectors.
    let fit = |columns: &Tensor| {
        let distances = maps.iter().map(|(map, length)| {
            let shape = [k, map.shape()[0] / k, columns.shape()[1]].map(|length| length as isize);
            map.matmul(&columns.slice(..*length)).reshape(&shape).square().sum_over(1)
        });
        let distances = distances.reduce(|sum, part| sum + part).expect("a factor has rows");
        (&offsets - 0.5 * distances).logsumexp_over(0).sum()
    };
    let count = samples.count();
    let block = (BLOCK / (k * d).max(1)).max(4 * d).next_multiple_of(STEP);
    let whole = if count >= 4 * block { count / block * block } else { 0 };
    let mut sum = fit(&samples.columns.slice((.., whole as isize..)));
    if whole > 0 {
        let blocks = samples.columns.slice((.., ..whole as isize)).reshape(&[d as isize + 1, -1, block as isize]);
        (sum, _) = Scan::new().every(1).run(sum, &blocks.permute(&[1, 0, 2]), |sum, columns| (sum + fit(&columns), ()));
    }
    let fit = sum - count as f64 * p.alpha.logsumexp();
    let spread = diagonal.square().sum() + p.l.square().sum();
    let prior = samples.m as f64 * sums.sum() - (0.5 * samples.gamma * samples.gamma) * spread;
    fit + prior + samples.constant(k)
}

/// What takes a column of samples to its differences from every mean, turned by the factors, for each group of rows: a matrix with
/// a row `[-Q_k mu_k, Q_k]` for each row of each component's factor, of which only the columns up to the last row of the group are
/// there, and how many they are. So the means go through `Q` once, not `n` times, and their gradient comes out of the product that
/// the factors' comes out of.
fn maps(p: &Parameters, diagonal: &Tensor, samples: &Samples) -> Vec<(Tensor, isize)> {
    let (k, d) = (p.q.shape()[0], samples.dimension());
    // The entries of all groups are taken at once from the list of the triangle, the diagonal and a zero.
    let below = d * (d - 1) / 2;
    let place = |row: usize, column: usize| match row.cmp(&column) {
        Ordering::Greater => column * (d - 1) - column * column.saturating_sub(1) / 2 + row - column - 1,
        Ordering::Equal => below + row,
        Ordering::Less => below + d,
    };
    let entries = |group: &Range<usize>| (group.clone(), 0..group.end);
    let places = samples.groups.iter().map(entries).flat_map(|(rows, columns)| {
        rows.flat_map(move |row| columns.clone().map(move |column| place(row, column) as i64))
    });
    let places: Vec<i64> = places.collect();
    let list = Tensor::concat(&[&p.l, diagonal, &Tensor::zeros(&[k, 1])], 1);
    let taken = list.take(&Tensor::from_vec(&[places.len()], places), 1);
    let mut at = 0;
    let map = |group: &Range<usize>| {
        let (rows, columns) = (group.len() as isize, group.end as isize);
        let factors = taken.slice((.., at..at + rows * columns)).reshape(&[k as isize, rows, columns]);
        at += rows * columns;
        let means = Tensor::einsum("kji,ki->kj", &[&factors, &p.mu.slice((.., ..columns))]);
        let map = Tensor::concat(&[&-means.expand_dims(-1), &factors], 2);
        (map.reshape(&[k as isize * rows, columns + 1]), columns + 1)
    };
    samples.groups.iter().map(map).collect()
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
