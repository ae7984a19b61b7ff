//! Sparse matrices whose numbers are tensors: systems and products, composed of the operations of Programs.
//!
//! A sparse matrix is a [`Pattern`](crate::sparsity::Pattern) and a tensor of values, one for each entry, row by row, in its last
//! axis. The values are differentiated, in every mode and order and under [`vmap`](crate::vmap), and so is the other operand; the
//! pattern is fixed. A derivative by the values has exactly the pattern: nothing of the size of the full matrix is made.
//!
//! | what | function | derivative by the values |
//! |---|---|---|
//! | `A X = B` | [`solve`], [`solve_spd`] | `-(A^-T X_bar) X^T` at the entries |
//! | `A^T X = B` | [`solve_transposed`] | `-X (A^-1 X_bar)^T` at the entries |
//! | `A X` | [`multiply`] | `Y_bar X^T` at the entries |
//! | `A^T X` | [`multiply_transposed`] | `X Y_bar^T` at the entries |
//! | `U V^T` at the entries | [`outer`] | sparse products |
//!
//! Axes before are a batch, and those of two operands stretch to each other. A vector is one column.
//!
//! With the feature `linalg` systems are solved by the library faer: what follows from the pattern is found once for each pattern,
//! and the factors of a matrix are kept, so that a value and its gradient have one factorisation. Without it they run by plain
//! elimination in the order of the rows, which is right, and slow for large systems.
//!
//! Each function has a `try_` twin that returns the error instead of a panic.
//!
//! ```
//! use wengert::prelude::*;
//! use wengert::sparse;
//! use wengert::sparsity::Pattern;
//!
//! // -(k u')' = 1 on a line, the conductivity k between neighbours unknown.
//! let n: usize = 4;
//! let entries = (0..n).flat_map(|i| (0..n).filter(move |j| i.abs_diff(*j) <= 1).map(move |j| (i, j)));
//! let pattern = Pattern::from_entries(n, n, entries)?;
//! // Which conductivities are added up in each entry, and with which sign.
//! let mut stiffness = vec![0.0; pattern.nnz() * (n + 1)];
//! for (entry, (row, col)) in pattern.entries().enumerate() {
//!     let of = &mut stiffness[entry * (n + 1)..];
//!     if row == col {
//!         (of[row], of[row + 1]) = (1.0, 1.0);
//!     } else {
//!         of[row.max(col)] = -1.0;
//!     }
//! }
//! let stiffness = Tensor::from_vec(&[pattern.nnz(), n + 1], stiffness);
//! let load = Tensor::ones(&[n]);
//! let compliance = |k: &Tensor| sparse::solve_spd(&pattern, &stiffness.matmul(k), &load).dot(&load);
//! let slope = grad(Tensor::ones(&[n + 1]), |k| compliance(&k)).to_vec();
//! // By symmetry, and because more conductivity never makes it hotter.
//! assert!((slope[0] - slope[n]).abs() < 1e-13 && slope.iter().all(|&slope| slope <= 0.0));
//! # Ok::<(), wengert::sparsity::PatternError>(())
//! ```

pub use crate::primitives::{MatrixKind, SharedPattern};

use crate::error::{Error, Misfit, OrRaise, misfit};
use crate::primitives::{Op, SparseOuter, SparseProduct, SparseSolve, check_float};
use crate::program::{Builder, Value};
use crate::tensor::Tensor;
use crate::tensor::compose::{compose, joint_shape, stretch};

/// `X` with `A X = B`, where A has these values at the entries of the pattern, row by row. A vector is one right-hand side, a matrix
/// has one in each column.
///
/// All systems with one matrix, forward and transposed, have one factorisation. `values[.., nnz]`, `b[n]` or `b[.., n, k]`; if the
/// values have no axes before, all right-hand sides are solved together, whatever axes they have.
///
/// A singular matrix is an error that names a row, a pattern of which every matrix is singular one that says so. A right-hand
/// side with an entry that is NaN or infinite has NaN as its solution. Close to a singular matrix the solution and its derivatives
/// are as accurate as elimination with pivots makes them.
///
/// ```
/// use wengert::prelude::*;
/// use wengert::sparse;
/// use wengert::sparsity::Pattern;
/// let pattern = Pattern::from_entries(2, 2, [(0, 0), (1, 0), (1, 1)])?;
/// let values = Tensor::from([2.0, 1.0, 4.0]);
/// let b = Tensor::from([2.0, 9.0]);
/// assert_eq!(sparse::solve(&pattern, &values, &b).to_vec(), [1.0, 2.0]);
/// // The derivative of the last unknown, (9 - v1 x0) / v2 with x0 = 2 / v0.
/// let slope = grad(&values, |v| sparse::solve(&pattern, &v, &b).slice(1));
/// assert_eq!(slope.to_vec(), [0.125, -0.25, -0.5]);
/// let why = sparse::try_solve(&pattern, &Tensor::from([2.0, 1.0, 0.0]), &b).unwrap_err();
/// assert!(why.to_string().contains("the matrix is singular: row"), "{why}");
/// # Ok::<(), wengert::sparsity::PatternError>(())
/// ```
///
/// # Panics
/// As [`try_solve`] returns an error.
#[track_caller]
pub fn solve(pattern: impl Into<SharedPattern>, values: &Tensor, b: &Tensor) -> Tensor {
    try_solve(pattern, values, b).or_raise()
}

/// As [`solve`], with an error instead of a panic.
///
/// # Errors
/// If the matrix is not square, or singular; if shapes or element types do not fit; if a value is not finite.
#[track_caller]
pub fn try_solve(pattern: impl Into<SharedPattern>, values: &Tensor, b: &Tensor) -> Result<Tensor, Error> {
    let op = SparseSolve::new(pattern, MatrixKind::General);
    compose("sparse::solve", &[values, b], |b, args| applied(b, op, args))
}

/// As [`solve`], of the transposed matrix: `A^T X = B`.
///
/// # Panics
/// As [`try_solve_transposed`] returns an error.
#[track_caller]
pub fn solve_transposed(pattern: impl Into<SharedPattern>, values: &Tensor, b: &Tensor) -> Tensor {
    try_solve_transposed(pattern, values, b).or_raise()
}

/// As [`solve_transposed`], with an error instead of a panic.
///
/// # Errors
/// As of [`try_solve`].
#[track_caller]
pub fn try_solve_transposed(pattern: impl Into<SharedPattern>, values: &Tensor, b: &Tensor) -> Result<Tensor, Error> {
    let op = SparseSolve::new(pattern, MatrixKind::General).transposed();
    compose("sparse::solve_transposed", &[values, b], |b, args| applied(b, op, args))
}

/// As [`solve`], of a symmetric positive definite matrix, which is read as `(A + A^T) / 2`: by its Cholesky factor, in about half
/// the time.
///
/// The pattern has to have both triangles and the diagonal. The derivative by the values is symmetric.
///
/// # Panics
/// As [`try_solve_spd`] returns an error.
#[track_caller]
pub fn solve_spd(pattern: impl Into<SharedPattern>, values: &Tensor, b: &Tensor) -> Tensor {
    try_solve_spd(pattern, values, b).or_raise()
}

/// As [`solve_spd`], with an error instead of a panic.
///
/// # Errors
/// If the pattern is not symmetric, or lacks an entry of the diagonal; if the matrix is not positive definite; if shapes or element
/// types do not fit; if a value is not finite.
#[track_caller]
pub fn try_solve_spd(pattern: impl Into<SharedPattern>, values: &Tensor, b: &Tensor) -> Result<Tensor, Error> {
    let op = SparseSolve::new(pattern, MatrixKind::Positive);
    compose("sparse::solve_spd", &[values, b], |b, args| applied(b, op, args))
}

/// `A X`, where A has these values at the entries of the pattern, row by row: `values[.., nnz]`, `x[cols]` or `x[.., cols, k]`.
///
/// An entry that is not in the pattern is no number: it meets neither NaN nor an infinity of X.
///
/// ```
/// use wengert::prelude::*;
/// use wengert::sparse;
/// use wengert::sparsity::Pattern;
/// let pattern = Pattern::from_entries(2, 3, [(0, 2), (1, 0)])?;
/// let y = sparse::multiply(&pattern, &Tensor::from([3.0, 4.0]), &Tensor::from([1.0, f64::NAN, 2.0]));
/// assert_eq!(y.to_vec(), [6.0, 4.0]);
/// # Ok::<(), wengert::sparsity::PatternError>(())
/// ```
///
/// # Panics
/// As [`try_multiply`] returns an error.
#[track_caller]
pub fn multiply(pattern: impl Into<SharedPattern>, values: &Tensor, x: &Tensor) -> Tensor {
    try_multiply(pattern, values, x).or_raise()
}

/// As [`multiply`], with an error instead of a panic.
///
/// # Errors
/// If shapes or element types do not fit.
#[track_caller]
pub fn try_multiply(pattern: impl Into<SharedPattern>, values: &Tensor, x: &Tensor) -> Result<Tensor, Error> {
    let op = SparseProduct::new(pattern);
    compose("sparse::multiply", &[values, x], |b, args| applied(b, op, args))
}

/// `A^T X`, as [`multiply`]: `x[rows]` or `x[.., rows, k]`.
///
/// # Panics
/// As [`try_multiply_transposed`] returns an error.
#[track_caller]
pub fn multiply_transposed(pattern: impl Into<SharedPattern>, values: &Tensor, x: &Tensor) -> Tensor {
    try_multiply_transposed(pattern, values, x).or_raise()
}

/// As [`multiply_transposed`], with an error instead of a panic.
///
/// # Errors
/// If shapes or element types do not fit.
#[track_caller]
pub fn try_multiply_transposed(
    pattern: impl Into<SharedPattern>,
    values: &Tensor,
    x: &Tensor,
) -> Result<Tensor, Error> {
    let op = SparseProduct::new(pattern).transposed();
    compose("sparse::multiply_transposed", &[values, x], |b, args| applied(b, op, args))
}

/// The elements of `U V^T` at the entries of the pattern, row by row, of which no other is computed: `u[rows]` or `u[.., rows, k]`,
/// `v[cols]` or `v[.., cols, k]`, the result `[.., nnz]`. For an entry (i, j) it is `sum_k u[i, k] v[j, k]`.
///
/// ```
/// use wengert::prelude::*;
/// use wengert::sparse;
/// use wengert::sparsity::Pattern;
/// let pattern = Pattern::from_entries(2, 2, [(0, 1), (1, 0)])?;
/// let at = sparse::outer(&pattern, &Tensor::from([2.0, 3.0]), &Tensor::from([5.0, 7.0]));
/// assert_eq!(at.to_vec(), [14.0, 15.0]);
/// # Ok::<(), wengert::sparsity::PatternError>(())
/// ```
///
/// # Panics
/// As [`try_outer`] returns an error.
#[track_caller]
pub fn outer(pattern: impl Into<SharedPattern>, u: &Tensor, v: &Tensor) -> Tensor {
    try_outer(pattern, u, v).or_raise()
}

/// As [`outer`], with an error instead of a panic.
///
/// # Errors
/// If shapes or element types do not fit.
#[track_caller]
pub fn try_outer(pattern: impl Into<SharedPattern>, u: &Tensor, v: &Tensor) -> Result<Tensor, Error> {
    let op = SparseOuter { pattern: pattern.into() };
    compose("sparse::outer", &[u, v], |b, args| {
        let [u, v] = [args[0], args[1]].map(|x| of_columns(b, x));
        let (u, v) = (u?, v?);
        let lead = joint_shape(lead(b, u, 2), lead(b, v, 2))?;
        let [u, v] = [u, v].map(|x| stretched(b, x, &lead, 2));
        Ok(b.emit(op, &[u, v])?[0])
    })
}

/// How many patterns were analysed for systems of [`solve`] in this process, with the feature `linalg`.
///
/// What is found out about a pattern is kept as long as a plan has a system with it: [`factorisations_made`] has an example.
#[cfg(feature = "linalg")]
pub fn analyses_made() -> u64 {
    crate::plan::sparse_counts()[0]
}

/// How many sparse matrices were factored in this process, with the feature `linalg`.
///
/// ```
/// use wengert::prelude::*;
/// use wengert::sparse;
/// use wengert::sparsity::Pattern;
/// let pattern = Pattern::from_entries(2, 2, [(0, 0), (1, 0), (1, 1)])?;
/// let b = Tensor::from([2.0, 9.0]);
/// let slope = |last: f64| {
///     let values = Tensor::from([2.0, 1.0, last]);
///     value_and_grad(&values, |v| sparse::solve(&pattern, &v, &b).square().sum())
/// };
/// slope(4.0);
/// assert_eq!((sparse::analyses_made(), sparse::factorisations_made()), (1, 1));
/// slope(4.0);
/// slope(5.0);
/// assert_eq!((sparse::analyses_made(), sparse::factorisations_made()), (1, 2));
/// # Ok::<(), wengert::sparsity::PatternError>(())
/// ```
#[cfg(feature = "linalg")]
pub fn factorisations_made() -> u64 {
    crate::plan::sparse_counts()[1]
}

/// An operation on values and a matrix or vector, the axes before stretched to each other; if the values have none, those of the
/// other operand are columns.
fn applied(b: &mut Builder, op: impl Into<Op>, args: &[Value]) -> Result<Value, Misfit> {
    check_float(b.ty(args[0]))?;
    if b.shape(args[0]).is_empty() {
        misfit!("the values are a single number, and have to be a vector, a number for each entry of the pattern");
    }
    let is_vector = b.shape(args[1]).len() == 1;
    let right = of_columns(b, args[1])?;
    let (ahead, behind) = (lead(b, args[0], 1).to_vec(), lead(b, right, 2).to_vec());
    if ahead.is_empty() && !behind.is_empty() {
        let rank = behind.len();
        // [.., n, k] to [n, .., k] and to [n, .. k], and back.
        let right = b.move_axis(right, rank, 0);
        let columns = b.shape(right)[1..].to_vec();
        let flat = [b.shape(right)[0], columns.iter().product()];
        let right = b.reshape(right, &flat);
        let out = b.emit(op, &[args[0], right])?[0];
        let apart = [&[b.shape(out)[0]], &columns[..]].concat();
        let out = b.reshape(out, &apart);
        return Ok(b.move_axis(out, 0, rank));
    }
    let joint = joint_shape(&ahead, &behind)?;
    let values = stretched(b, args[0], &joint, 1);
    let right = stretched(b, right, &joint, 2);
    let out = b.emit(op, &[values, right])?[0];
    if !is_vector {
        return Ok(out);
    }
    let shape = b.shape(out)[..b.shape(out).len() - 1].to_vec();
    Ok(b.reshape(out, &shape))
}

/// A matrix, or a vector as one of one column.
fn of_columns(b: &mut Builder, x: Value) -> Result<Value, Misfit> {
    check_float(b.ty(x))?;
    match *b.shape(x) {
        [] => misfit!("an operand is a single number, and has to be a vector or a matrix"),
        [length] => Ok(b.reshape(x, &[length, 1])),
        _ => Ok(x),
    }
}

/// The axes before the last ones, which are the operand's own.
fn lead(b: &Builder, x: Value, own: usize) -> &[usize] {
    let shape = b.shape(x);
    &shape[..shape.len() - own]
}

fn stretched(b: &mut Builder, x: Value, lead: &[usize], own: usize) -> Value {
    let shape = b.shape(x);
    let shape = [lead, &shape[shape.len() - own..]].concat();
    stretch(b, x, &shape)
}
