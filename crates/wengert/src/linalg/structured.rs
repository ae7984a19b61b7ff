//! Matrices that are known by fewer numbers, and factors that change by little.

use std::panic::Location;

use super::solve::solved;
use crate::array::DType;
use crate::control::Scan;
use crate::error::{Error, Misfit, OrRaise, misfit};
use crate::ops::{Binary, Compare, Unary};
use crate::primitives::{
    Broadcast, Concat, Ensure, Fft, FftKind, FftScale, Gather, HalfWeights, Iota, MatrixKind, MatrixSolve, OutOfBounds,
    Reduce, Reducer, Reverse, Slice, check_float,
};
use crate::program::{Builder, Value};
use crate::signal::{Convolved, convolution, spectral_product};
use crate::tensor::Tensor;
use crate::tensor::compose::{compose, or_raise, stretch};
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
    compose("toeplitz", &[column, row], full)
}

/// `T X = B` for the square matrix of [`toeplitz`]. A vector is one right-hand side, a matrix has one in each column.
///
/// It is solved as a full matrix with pivots, in time of the order of `n^3` and memory of `n^2`, and value and derivatives share
/// the factors. The recurrence of N. Levinson (1947) takes `n^2`, but divides by all leading minors, and so fails for matrices
/// that are not singular.
///
/// ```
/// use wengert::linalg::solve_toeplitz;
/// use wengert::prelude::*;
/// // The first leading minor is 0.
/// let (column, row) = (Tensor::from([0.0, 2.0]), Tensor::from([0.0, 4.0]));
/// assert_eq!(solve_toeplitz(&column, &row, &Tensor::from([8.0, 2.0])).to_vec(), [1.0, 2.0]);
/// ```
///
/// # Panics
/// As [`try_solve_toeplitz`] returns an error.
#[track_caller]
pub fn solve_toeplitz(column: &Tensor, row: &Tensor, right: &Tensor) -> Tensor {
    try_solve_toeplitz(column, row, right).or_raise()
}

/// As [`solve_toeplitz`], with an error instead of a panic.
///
/// # Errors
/// If shapes or element types do not fit, or the matrix is singular.
#[track_caller]
pub fn try_solve_toeplitz(column: &Tensor, row: &Tensor, right: &Tensor) -> Result<Tensor, Error> {
    compose("solve_toeplitz", &[column, row, right], |b, args| {
        let matrix = full(b, &args[..2])?;
        solved(b, &[matrix, args[2]], MatrixSolve::new(MatrixKind::General))
    })
}

/// `T X` for the matrix of [`toeplitz`] and a vector or matrix, by Fourier transforms: the matrix is not formed.
///
/// ```
/// use wengert::linalg::matmul_toeplitz;
/// use wengert::prelude::*;
/// let (column, row) = (Tensor::from([1.0, 2.0, 3.0]), Tensor::from([1.0, 5.0]));
/// let y = matmul_toeplitz(&column, &row, &Tensor::from([1.0, 1.0]));
/// assert!((y - Tensor::from([6.0, 3.0, 5.0])).abs().max().item() < 1e-14);
/// ```
///
/// # Panics
/// As [`try_matmul_toeplitz`] returns an error.
#[track_caller]
pub fn matmul_toeplitz(column: &Tensor, row: &Tensor, x: &Tensor) -> Tensor {
    try_matmul_toeplitz(column, row, x).or_raise()
}

/// As [`matmul_toeplitz`], with an error instead of a panic.
///
/// # Errors
/// If shapes or element types do not fit.
#[track_caller]
pub fn try_matmul_toeplitz(column: &Tensor, row: &Tensor, x: &Tensor) -> Result<Tensor, Error> {
    compose("matmul_toeplitz", &[column, row, x], |b, args| {
        let (diagonals, [m, n]) = diagonals(b, &args[..2])?;
        Columns::new(b, args[0], args[2], n)?.each(b, |b, x| match (m, b.ty(x).size()) {
            (0, _) | (_, 0) => {
                let mut ty = b.ty(x).clone();
                *ty.shape.last_mut().expect("columns have an axis") = m;
                Ok(b.full(0.0, &ty))
            }
            _ => convolution(b, &[diagonals, x], &[-1], Convolved::Valid),
        })
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

/// `C X = B` for the matrix of [`circulant`], by Fourier transforms, in which it is diagonal: in time of the order of `n log n` for
/// each right-hand side. A vector is one of them, a matrix has one in each column.
///
/// ```
/// use wengert::linalg::{circulant, solve_circulant};
/// use wengert::prelude::*;
/// let (c, b) = (Tensor::from([4.0, 1.0, 0.0, 1.0]), Tensor::from([1.0, 2.0, 3.0, 4.0]));
/// let x = solve_circulant(&c, &b);
/// assert!((circulant(&c).matmul(&x) - &b).abs().max().item() < 1e-14);
/// ```
///
/// # Panics
/// As [`try_solve_circulant`] returns an error.
#[track_caller]
pub fn solve_circulant(column: &Tensor, right: &Tensor) -> Tensor {
    try_solve_circulant(column, right).or_raise()
}

/// As [`solve_circulant`], with an error instead of a panic.
///
/// # Errors
/// If shapes or element types do not fit, or an eigenvalue is 0 but for rounding: at most `log2(2 n)` units in the last place
/// of the largest one.
#[track_caller]
pub fn try_solve_circulant(column: &Tensor, right: &Tensor) -> Result<Tensor, Error> {
    compose("solve_circulant", &[column, right], |b, args| {
        let n = vector(b, args[0])?;
        Columns::new(b, args[0], args[1], n)?.each(b, |b, x| match b.ty(x).size() {
            0 => Ok(x),
            _ => quotient(b, args[0], x, n),
        })
    })
}

/// `C X` for the matrix of [`circulant`] and a vector or matrix, by Fourier transforms: the matrix is not formed.
///
/// ```
/// use wengert::linalg::matmul_circulant;
/// use wengert::prelude::*;
/// let y = matmul_circulant(&Tensor::from([1.0, 2.0, 3.0]), &Tensor::from([0.0, 1.0, 0.0]));
/// assert!((y - Tensor::from([3.0, 1.0, 2.0])).abs().max().item() < 1e-14);
/// ```
///
/// # Panics
/// As [`try_matmul_circulant`] returns an error.
#[track_caller]
pub fn matmul_circulant(column: &Tensor, x: &Tensor) -> Tensor {
    try_matmul_circulant(column, x).or_raise()
}

/// As [`matmul_circulant`], with an error instead of a panic.
///
/// # Errors
/// If shapes or element types do not fit.
#[track_caller]
pub fn try_matmul_circulant(column: &Tensor, x: &Tensor) -> Result<Tensor, Error> {
    compose("matmul_circulant", &[column, x], |b, args| {
        let n = vector(b, args[0])?;
        Columns::new(b, args[0], args[1], n)?.each(b, |b, x| match b.ty(x).size() {
            0 => Ok(x),
            _ => spectral_product(b, [args[0], x], &[1], &[n], &[n]),
        })
    })
}

/// The matrix of a first column and row.
fn full(b: &mut Builder, args: &[Value]) -> Result<Value, Misfit> {
    let (diagonals, [m, n]) = diagonals(b, args)?;
    Ok(along_diagonals(b, diagonals, [m, n], n - 1))
}

/// From the end of the row to the end of the column: the diagonals, from the upper right to the lower left; rows and columns.
fn diagonals(b: &mut Builder, args: &[Value]) -> Result<(Value, [usize; 2]), Misfit> {
    let [m, n] = [vector(b, args[0])?, vector(b, args[1])?];
    if b.dtype(args[0]) != b.dtype(args[1]) {
        misfit!("the element types differ; convert one of them first");
    }
    if n == 0 {
        misfit!("the row is empty, and has to begin with the diagonal");
    }
    let behind = b.op(Slice::along(&[n], 0, 1, n), &[args[1]]);
    let turned = b.op(Reverse::new(&[0]), &[behind]);
    Ok((b.op(Concat { axis: 0 }, &[turned, args[0]]), [m, n]))
}

/// A vector, or the columns of matrices as rows.
struct Columns {
    rows: Value,
    is_vector: bool,
}

impl Columns {
    /// Of what stands beside a matrix with this many columns, of the element type of `like`.
    fn new(b: &mut Builder, like: Value, x: Value, n: usize) -> Result<Self, Misfit> {
        if b.dtype(x) != b.dtype(like) {
            misfit!("the element types differ; convert one of them first");
        }
        let shape = b.shape(x).to_vec();
        let rank = shape.len();
        let length = match shape[..] {
            [] => misfit!("a single number is no vector or matrix"),
            [length] | [.., length, _] => length,
        };
        if length != n {
            misfit!("the matrix has {n} columns, and what stands beside it {length} rows");
        }
        let rows = if rank > 1 { b.move_axis(x, rank - 2, rank - 1) } else { x };
        Ok(Columns { rows, is_vector: rank == 1 })
    }

    /// A function of the last axis, with its result in the form of what was given.
    fn each(
        self,
        b: &mut Builder,
        f: impl FnOnce(&mut Builder, Value) -> Result<Value, Misfit>,
    ) -> Result<Value, Misfit> {
        let y = f(b, self.rows)?;
        let rank = b.shape(y).len();
        Ok(if self.is_vector { y } else { b.move_axis(y, rank - 1, rank - 2) })
    }
}

/// The quotient of spectra along the last axis, back in space.
fn quotient(b: &mut Builder, column: Value, x: Value, n: usize) -> Result<Value, Misfit> {
    let forwards = |b: &mut Builder, x: Value| {
        let axis = b.shape(x).len() - 1;
        b.emit(Fft::new(&[axis], &[n]).kind(FftKind::RealToHalf(HalfWeights::Plain)), &[x])
    };
    let (own, x) = (forwards(b, column)?, forwards(b, x)?);
    // By the largest part, so that no square overflows or vanishes that counts.
    let detached = [own[0], own[1]].map(|x| {
        let x = b.op(Unary::Detach, &[x]);
        b.op(Unary::Abs, &[x])
    });
    let sizes = b.op(Binary::Max, &detached);
    let scale = b.op(Reduce::new(Reducer::Max, &[0]), &[sizes]);
    let ty = b.ty(scale).clone();
    let [none, one] = [0.0, 1.0].map(|x| b.full(x, &ty));
    let some = b.op(Compare::Gt, &[scale, none]);
    let scale = b.select(some, scale, one);
    let half = b.shape(own[0]).to_vec();
    let scales = b.broadcast_scalar(scale, &half);
    let [re, im] = [own[0], own[1]].map(|x| b.div(x, scales));
    let [a, c] = [re, im].map(|x| b.mul(x, x));
    let squares = b.add(a, c);
    let moduli = b.op(Unary::Detach, &[squares]);
    let moduli = b.op(Unary::Sqrt, &[moduli]);
    let [least, largest] = [Reducer::Min, Reducer::Max].map(|by| b.op(Reduce::new(by, &[0]), &[moduli]));
    let unit = if ty.dtype == DType::F32 { f64::from(f32::EPSILON) } else { f64::EPSILON };
    let factor = b.full(unit * (2.0 * n as f64).log2(), &ty);
    let bound = b.mul(factor, largest);
    let holds = b.op(Compare::Gt, &[least, bound]);
    let [least, largest] = [least, largest].map(|x| b.mul(x, scale));
    let [wr, wi] = [re, im].map(|x| b.div(x, squares));
    let shape = b.shape(x[0]).to_vec();
    let [wr, wi, scales] = [wr, wi, scales].map(|x| stretch(b, x, &shape));
    let [xr, xi] = [x[0], x[1]].map(|x| b.div(x, scales));
    let [ac, bd, ad, bc] = [(xr, wr), (xi, wi), (xr, wi), (xi, wr)].map(|(x, w)| b.mul(x, w));
    let (re, im) = (b.add(ac, bd), b.sub(bc, ad));
    let back = Fft::new(&[shape.len() - 1], &[n]).kind(FftKind::HalfToReal(HalfWeights::Doubled)).inverse();
    let x = b.emit(back.scale(FftScale::Length).counts(&[n]), &[re, im])?[0];
    let why = "the matrix is singular but for rounding: the moduli of its eigenvalues go from {} to {}";
    Ok(b.op(Ensure::new("solve_circulant", why), &[x, holds, least, largest]))
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

    /// Of the lower Cholesky factor L of a matrix A, that of `A + v v^T`, in time of the order of the elements of L. A matrix V
    /// is an update by each of its columns: the factor of `A + V V^T`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (l, v) = (Tensor::from([[2.0, 0.0], [1.0, 2.0]]), Tensor::from([1.0, 3.0]));
    /// let new = l.cholesky_update(&v);
    /// let wanted = l.matmul(&l.t()) + v.outer(&v);
    /// assert!((new.matmul(&new.t()) - wanted).abs().max().item() < 1e-14);
    /// ```
    fn cholesky_update = try_cholesky_update(v: &Tensor);
    /// That of `A - v v^T`, or `A - V V^T`, by hyperbolic rotations: an error if the result is not positive definite.
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
        changed("cholesky_update", self, v, Binary::Add)
    }

    /// As [`Tensor::cholesky_downdate`], with an error instead of a panic.
    ///
    /// # Errors
    /// If L is no square matrix of real numbers, v no vector of its length, or the result is not positive definite.
    #[track_caller]
    fn try_cholesky_downdate(&self, v: &Tensor) -> Result<Tensor, Error> {
        changed("cholesky_downdate", self, v, Binary::Sub)
    }
}

/// The factor of `A + V V^T` or `A - V V^T`: for each column of V a rotation for each column of the factor (P. E. Gill, G. H.
/// Golub, W. Murray, M. A. Saunders, *Methods for modifying matrix factorizations*, 1974). If the last matrix of a downdate is
/// positive definite, so are all before it.
#[track_caller]
pub(super) fn changed(name: &'static str, l: &Tensor, v: &Tensor, sign: Binary) -> Result<Tensor, Error> {
    let line = Location::caller();
    let turned = compose(name, &[l, v], |b, args| {
        let n = super::check_square(b, args[0])?;
        if b.shape(args[0]).len() != 2 {
            misfit!("it takes one matrix; map over more");
        }
        let (ty, dtype) = (b.ty(args[1]), b.dtype(args[0]));
        if !matches!(ty.shape[..], [length] | [length, _] if length == n) || ty.dtype != dtype {
            misfit!(
                "the vector is {ty}, and has to have {n} elements of type {dtype}, or to be a matrix of such columns"
            );
        }
        Ok(b.permute(args[0], &[1, 0]))
    })?;
    let places = Tensor::try_iota(l.shape()[0])?;
    let one = |turned: &Tensor, v: &Tensor| {
        let (_, columns) = Scan::new().try_run(v, (turned, &places), |v, (column, k)| {
            let step = crate::tensor::compose::compose_all(name, &[&v, &column, &k], |b, args| {
                // Errors of a step are the caller's.
                b.line = Some(line);
                Ok(rotated(b, name, args, sign).to_vec())
            });
            let mut step = step.or_raise();
            let column = step.remove(1);
            (step.remove(0), column)
        })?;
        Ok::<Tensor, Error>(columns)
    };
    if v.rank() == 1 {
        return one(&turned, v)?.try_t();
    }
    let by_column = v.try_t()?;
    let (turned, ()) = Scan::new().try_run(&turned, &by_column, |turned, v| (one(&turned, &v).or_raise(), ()))?;
    turned.try_t()
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
