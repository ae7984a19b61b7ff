//! A chain over a table: sequential quadratic programming with sparse derivatives, and somebody else's solver.
//!
//! A chain of `n` links hangs between two nails, and a table is in its way. Its joints minimise their mean height under one
//! nonlinear equation a link, that it keeps its length, and one inequality a joint, that it is not below the table. Each
//! step solves the quadratic problem with the Hessian of the Lagrangian and the Jacobian of the equations (Nocedal and
//! Wright, *Numerical Optimization*, 2006, chapter 18), both sparse and prepared once.
//!
//! The solver is Clarabel, an interior point method in Rust. The nonlinear solvers that are callable from Rust (Ipopt) are C++
//! libraries; Clarabel builds with cargo alone, and takes what they take: the upper triangle of the Hessian and the Jacobian, as
//! compressed columns. The lower triangle row by row is the upper one column by column, so that [`columns`] moves nothing.
//!
//! The result is checked by mechanics: between two joints that nothing holds the slope of the links grows by the same amount,
//! the weight of a joint over the horizontal tension, and on the table the chain is flat.
//!
//! Run it with `cargo run --release -p wengert --example hanging_chain`.

use std::io::Write;

use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, NonnegativeConeT, SolverStatus, ZeroConeT};
use wengert::prelude::*;
use wengert::sparsity::{Csr, Sparse};
use wengert::{Error, span};

/// The nails are at (0, 0) and (1, 0), and the chain is this long.
pub const LENGTH: f64 = 1.6;
/// The height of the table.
pub const TABLE: f64 = -0.4;
/// A step ends the search when it moves no joint farther, and the equations hold as well.
pub const TOLERANCE: f64 = 1e-8;

/// What was found.
pub struct Chain {
    /// Where the joints are, without the nails.
    pub joints: Vec<[f64; 2]>,
    /// How many quadratic problems were solved.
    pub steps: usize,
    /// Entries of the Jacobian and of the Hessian's lower triangle.
    pub entries: [usize; 2],
}

/// The mean height of the joints, and how far the square of each link's length is from what it has to be; `x` holds the
/// horizontal positions in its first row and the heights in its second.
fn problem(x: Tensor) -> (Tensor, Tensor) {
    let joints = x.shape()[1];
    let links = joints as f64 + 1.0;
    // From the first nail to the last.
    let whole = x.pad(&[(0, 0, 0), (1, 1, 0)], 0.0) + Tensor::from([1.0, 0.0]).reshape(&[2, 1]) * nail(joints);
    let steps = whole.slice((.., 1..)) - whole.slice((.., span(0, -1)));
    (x.slice(1).mean(), steps.square().sum_over(0) - (LENGTH / links).powi(2))
}

/// A 1 behind as many zeros as there are joints and a nail.
fn nail(joints: usize) -> Tensor {
    Tensor::from([1.0]).pad(&[(joints as i64 + 1, 0, 0)], 0.0)
}

/// The chain of this many links.
///
/// # Errors
/// What the derivatives or the solver refuse.
pub fn hang(links: usize) -> Result<Chain, Box<dyn std::error::Error>> {
    let joints = links - 1;
    let mut x = start(joints);
    let jacobian = Sparse::jacobian(|x: Tensor| problem(x).1, &x)?;
    let hessian = Sparse::options().lower().hessian_of_lagrangian(|x: Tensor| problem(x), &x)?;
    let gradient = compile(|x: Tensor| {
        let constraints = problem(x.clone()).1;
        (grad(&x, |x| problem(x).0), constraints)
    });
    let entries = [jacobian.pattern().nnz(), hessian.pattern().nnz()];
    // A longer link would hang lower, so that factors are positive where the chain hangs, and the Hessian is positive
    // semidefinite with such.
    let mut factors = vec![links as f64; links];
    for steps in 1..=100 {
        let (slope, constraints) = gradient.call(&x);
        let quadratic = at(&hessian, |values| hessian.evaluate_lagrangian(&x, 1.0, &factors, values))?;
        let linear = at(&jacobian, |values| jacobian.evaluate(&x, values))?;
        let above = x.slice(1).to_vec().into_iter().map(|height| height - TABLE);
        let bounds: Vec<f64> = constraints.to_vec().into_iter().map(|c| -c).chain(above).collect();
        let mut solver = DefaultSolver::new(
            &columns(&quadratic),
            &slope.to_vec(),
            &columns(&with_table(linear, joints)?.transpose()),
            &bounds,
            &[ZeroConeT(links), NonnegativeConeT(joints)],
            DefaultSettings {
                verbose: false,
                tol_gap_abs: 1e-11,
                tol_gap_rel: 1e-11,
                tol_feas: 1e-11,
                ..Default::default()
            },
        )?;
        solver.solve();
        if !matches!(
            solver.solution.status,
            SolverStatus::Solved | SolverStatus::AlmostSolved | SolverStatus::InsufficientProgress
        ) {
            return Err(format!("step {steps}: the quadratic problem is {:?}", solver.solution.status).into());
        }
        let step = &solver.solution.x;
        factors = solver.solution.z[..links].iter().map(|factor| factor.max(0.1)).collect();
        // The equations are quadratic: within a few lengths of a link they are not what the step takes them for.
        let longest = step.iter().fold(0.0, |most: f64, d| most.max(d.abs()));
        let part = (2.0 * LENGTH / links as f64 / longest).min(1.0);
        x = &x + part * Tensor::from(step.clone()).reshape(&[2, joints as isize]);
        let off =
            constraints.to_vec().into_iter().chain(step.iter().copied()).fold(0.0, |most: f64, d| most.max(d.abs()));
        if off < TOLERANCE {
            let found = x.to_vec();
            let joints = (0..joints).map(|k| [found[k], found[joints + k]]).collect();
            return Ok(Chain { joints, steps, entries });
        }
    }
    Err("the search does not end within 100 steps".into())
}

/// A bow between the nails.
fn start(joints: usize) -> Tensor {
    let along: Vec<f64> = (1..=joints).map(|k| k as f64 / (joints as f64 + 1.0)).collect();
    let heights: Vec<f64> = along.iter().map(|s| 2.0 * s * (s - 1.0)).collect();
    Tensor::from([along, heights].concat()).reshape(&[2, joints as isize])
}

/// A prepared matrix with the values that `evaluate` writes.
fn at(
    prepared: &Sparse,
    evaluate: impl FnOnce(&mut [f64]) -> Result<(), Error>,
) -> Result<Csr, Box<dyn std::error::Error>> {
    let mut values = vec![0.0; prepared.pattern().nnz()];
    evaluate(&mut values)?;
    Ok(Csr::new(prepared.pattern().clone(), values)?)
}

/// The Jacobian with a row below for each joint: minus its height, which the table bounds.
fn with_table(jacobian: Csr, joints: usize) -> Result<Csr, Box<dyn std::error::Error>> {
    let (rows, cols) = (jacobian.rows(), jacobian.cols());
    let below = (0..joints).map(|k| (rows + k, joints + k, -1.0));
    Ok(Csr::from_triplets(rows + joints, cols, jacobian.triplets().chain(below))?)
}

/// The transposed matrix as the solver stores it: rows are columns.
fn columns(transposed: &Csr) -> CscMatrix {
    let pattern = transposed.pattern();
    let rows = pattern.columns().iter().map(|&row| row as usize).collect();
    CscMatrix::new(pattern.cols(), pattern.rows(), pattern.starts().to_vec(), rows, transposed.values().to_vec())
}

/// The slopes of the links, from nail to nail.
pub fn slopes(joints: &[[f64; 2]]) -> Vec<f64> {
    let whole: Vec<[f64; 2]> = std::iter::once([0.0, 0.0]).chain(joints.iter().copied()).chain([[1.0, 0.0]]).collect();
    whole.windows(2).map(|pair| (pair[1][1] - pair[0][1]) / (pair[1][0] - pair[0][0])).collect()
}

/// How far the chain is from mechanics: the largest difference between two changes of the slope at joints that are above the
/// table, and the largest slope between two that are on it.
pub fn misfit(joints: &[[f64; 2]]) -> [f64; 2] {
    let slopes = slopes(joints);
    let is_on_table = |k: usize| joints[k][1] < TABLE + 1e-7;
    let free = (0..joints.len()).filter(|&k| !is_on_table(k));
    let changes: Vec<f64> = free.map(|k| slopes[k + 1] - slopes[k]).collect();
    let spread = changes.iter().fold(0.0, |most: f64, change| most.max((change - changes[0]).abs()));
    let lying = (1..joints.len()).filter(|&k| is_on_table(k - 1) && is_on_table(k));
    [spread, lying.fold(0.0, |most: f64, k| most.max(slopes[k].abs()))]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::stdout().lock();
    for links in [20, 200] {
        let chain = hang(links)?;
        let [spread, lying] = misfit(&chain.joints);
        let lowest = chain.joints.iter().filter(|joint| joint[1] < TABLE + 1e-7).count();
        writeln!(
            out,
            "{links} links: {} steps, {} and {} entries, {lowest} joints on the table; off by {spread:.1e} and {lying:.1e}",
            chain.steps, chain.entries[0], chain.entries[1],
        )?;
    }
    Ok(())
}
