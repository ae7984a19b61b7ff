//! Matrices that are known by fewer numbers, and factors that change by little.

use crate::array::DType;
use crate::control::Scan;
use crate::error::{Error, Misfit, OrRaise, misfit};
use crate::ops::{Binary, Compare};
use crate::primitives::{Broadcast, Concat, Ensure, Gather, Iota, OutOfBounds, Reverse, Slice, check_float};
use crate::program::{Builder, Value};
use crate::tensor::Tensor;
use crate::tensor::compose::{compose, or_raise};
use crate::tensor::twins::{TryConstruct, TryShape};

/// The matrix that is constant along its diagonals, with this first column and row; of the row the first element is not read.
///
/// ```
/// use wengert::linalg::toeplitz;
/// use wengert::prelude::*;
/// let t = toeplitz(&Tensor::from([1.0, 2.0, 3.0]), &Tensor::from([1.0, 5.0]));
/// assert_eq!(t.to_vec(), [1.0, 5.0, 2.0, 1.0, 3.0, 2.0]);
/// ```
///
/// # Panics
/// As [`try_toeplitz`] returns an error.
#[track_caller]
pub fn toeplitz(column: &Tensor, row: &Tensor) -> Tensor {
    try_toeplitz(column, row).or_raise()
}

/// As [`toeplitz`], with an error instead of a panic.
///
/// # Errors
/// If they are no vectors of one real element type, or the row is empty.
#[track_caller]
pub fn try_toeplitz(column: &Tensor, row: &Tensor) -> Result<Tensor, Error> {
    compose("toeplitz", &[column, row], |b, args| {
        let [m, n] = [vector(b, args[0])?, vector(b, args[1])?];
        if b.dtype(args[0]) != b.dtype(args[1]) {
            misfit!("the element types differ; convert one of them first");
        }
        if n == 0 {
            misfit!("the row is empty, and has to begin with the diagonal");
        }
        // From the end of the row to the end of the column: the diagonals, from the upper right to the lower left.
        let behind = b.op(Slice::along(&[n], 0, 1, n), &[args[1]]);
        let turned = b.op(Reverse::new(&[0]), &[behind]);
        let diagonals = b.op(Concat { axis: 0 }, &[turned, args[0]]);
        Ok(along_diagonals(b, diagonals, [m, n], n - 1))
    })
}

/// The square matrix whose columns are the given one, each moved down by one more, around the end.
///
/// ```
/// use wengert::linalg::circulant;
/// use wengert::prelude::*;
/// let c = circulant(&Tensor::from([1.0, 2.0, 3.0]));
/// assert_eq!(c.to_vec(), [1.0, 3.0, 2.0, 2.0, 1.0, 3.0, 3.0, 2.0, 1.0]);
/// ```
///
/// # Panics
/// As [`try_circulant`] returns an error.
#[track_caller]
pub fn circulant(column: &Tensor) -> Tensor {
    try_circulant(column).or_raise()
}

/// As [`circulant`], with an error instead of a panic.
///
/// # Errors
/// If it is no vector of real numbers.
#[track_caller]
pub fn try_circulant(column: &Tensor) -> Result<Tensor, Error> {
    compose("circulant", &[column], |b, args| {
        let n = vector(b, args[0])?;
        let twice = b.op(Concat { axis: 0 }, &[args[0], args[0]]);
        Ok(along_diagonals(b, twice, [n, n], n))
    })
}

fn vector(b: &Builder, x: Value) -> Result<usize, Misfit> {
    check_float(b.ty(x))?;
    match b.shape(x) {
        [length] => Ok(*length),
        shape => misfit!("it takes vectors, and {} has {} axes", b.ty(x), shape.len()),
    }
}

/// `out[i, j] = x[first + i - j]`
fn along_diagonals(b: &mut Builder, x: Value, shape: [usize; 2], first: usize) -> Value {
    let [rows, columns] = [0, 1].map(|axis| {
        let count = b.op(Iota { length: shape[axis] }, &[]);
        b.op(Broadcast::new(&shape, &[axis]), &[count])
    });
    let distance = b.sub(rows, columns);
    let ty = b.ty(distance).clone();
    let first = b.full(first as f64, &ty);
    let place = b.add(distance, first);
    let place = b.reshape(place, &[shape[0], shape[1], 1]);
    b.op(Gather::new(&[0], OutOfBounds::Error), &[x, place])
}

or_raise! {
    trait TryCholeskyUpdate: "changes of factors";

    /// Of the lower Cholesky factor L of a matrix A, that of `A + v v^T`, in time of the order of the elements of L.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (l, v) = (Tensor::from([[2.0, 0.0], [1.0, 2.0]]), Tensor::from([1.0, 3.0]));
    /// let new = l.cholesky_update(&v);
    /// let wanted = l.matmul(&l.t()) + v.outer(&v);
    /// assert!((new.matmul(&new.t()) - wanted).abs().max().item() < 1e-14);
    /// ```
    fn cholesky_update = try_cholesky_update(v: &Tensor);
    /// That of `A - v v^T`, by hyperbolic rotations: an error if the result is not positive definite.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (l, v) = (Tensor::from([[2.0, 0.0], [1.0, 2.0]]), Tensor::from([1.0, 0.5]));
    /// let back = l.cholesky_update(&v).cholesky_downdate(&v);
    /// assert!((back - &l).abs().max().item() < 1e-14);
    /// ```
    fn cholesky_downdate = try_cholesky_downdate(v: &Tensor);
}

impl TryCholeskyUpdate for Tensor {
    /// As [`Tensor::cholesky_update`], with an error instead of a panic.
    ///
    /// # Errors
    /// If L is no square matrix of real numbers, or v no vector of its length.
    #[track_caller]
    fn try_cholesky_update(&self, v: &Tensor) -> Result<Tensor, Error> {
        rank_one("cholesky_update", self, v, Binary::Add)
    }

    /// As [`Tensor::cholesky_downdate`], with an error instead of a panic.
    ///
    /// # Errors
    /// If L is no square matrix of real numbers, v no vector of its length, or the result is not positive definite.
    #[track_caller]
    fn try_cholesky_downdate(&self, v: &Tensor) -> Result<Tensor, Error> {
        rank_one("cholesky_downdate", self, v, Binary::Sub)
    }
}

/// The factor of `A + v v^T` or `A - v v^T`: a rotation for each column (P. E. Gill, G. H. Golub, W. Murray, M. A. Saunders,
/// *Methods for modifying matrix factorizations*, 1974).
#[track_caller]
fn rank_one(name: &'static str, l: &Tensor, v: &Tensor, sign: Binary) -> Result<Tensor, Error> {
    let checked = compose(name, &[l, v], |b, args| {
        let n = super::check_square(b, args[0])?;
        if b.shape(args[0]).len() != 2 {
            misfit!("it takes one matrix; map over more");
        }
        if b.ty(args[1]) != &b.ty(args[0]).with_shape(vec![n]) {
            misfit!("the vector is {}, and has to have {n} elements of type {}", b.ty(args[1]), b.dtype(args[0]));
        }
        Ok(b.permute(args[0], &[1, 0]))
    })?;
    let places = Tensor::try_iota(l.shape()[0])?;
    let (_, columns) = Scan::new().try_run(v, (&checked, &places), |v, (column, k)| {
        let step = crate::tensor::compose::compose_all(name, &[&v, &column, &k], |b, args| {
            Ok(rotated(b, name, args, sign).to_vec())
        });
        let mut step = crate::error::OrRaise::or_raise(step);
        let column = step.remove(1);
        (step.remove(0), column)
    })?;
    columns.try_t()
}

/// One column: v and the column after the rotation that takes the k-th element of v away.
fn rotated(b: &mut Builder, name: &str, args: &[Value], sign: Binary) -> [Value; 2] {
    let [v, column, k] = [args[0], args[1], args[2]];
    let ty = b.ty(v).clone();
    let places = b.op(Iota { length: ty.shape[0] }, &[]);
    let k = b.convert(k, DType::I64);
    let k = b.broadcast_scalar(k, &ty.shape);
    let zero = b.zeros_like(v);
    let on = b.op(Compare::Eq, &[places, k]);
    let behind = b.op(Compare::Gt, &[places, k]);
    let [pivot, own] = [column, v].map(|x| {
        let only = b.select(on, x, zero);
        b.sum(only, &[0])
    });
    let [squared, moved] = [pivot, own].map(|x| b.mul(x, x));
    let rest = b.op(sign, &[squared, moved]);
    let none = b.zeros_like(rest);
    let holds = b.op(Compare::Gt, &[rest, none]);
    let why = "the result is not positive definite: the square of a pivot would be {}";
    let rest = b.op(Ensure::new(name, why), &[rest, holds, rest]);
    let length = b.op(crate::ops::Unary::Sqrt, &[rest]);
    let [cosine, sine] = [length, own].map(|x| {
        let quotient = b.div(x, pivot);
        b.broadcast_scalar(quotient, &ty.shape)
    });
    let turned = b.mul(sine, v);
    let sum = b.op(sign, &[column, turned]);
    let below = b.div(sum, cosine);
    let [kept, moved] = [b.mul(cosine, v), b.mul(sine, below)];
    let v = b.sub(kept, moved);
    let v = b.select(behind, v, zero);
    let length = b.broadcast_scalar(length, &ty.shape);
    let below = b.select(behind, below, zero);
    [v, b.select(on, length, below)]
}
