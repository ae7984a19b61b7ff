//! Numbers of a matrix: determinants, norms, condition, rank.

use super::{check_matrix, check_square};
use crate::array::DType;
use crate::error::{Error, Misfit, misfit};
use crate::ops::{Binary, Compare, Logic, Unary};
use crate::primitives::linalg::{as_columns, as_rows, diagonal, places, scaled};
use crate::primitives::{Cholesky, Det, Lu, Reduce, Reducer, Slice, Svd};
use crate::program::{Builder, Value};
use crate::tensor::Tensor;
use crate::tensor::compose::{as_of, compose, compose_all, or_raise};
use crate::tensor::twins::TryReduce;

or_raise! {
    trait TryMeasure: "determinants, norms and ranks";

    /// The determinant. Its gradient is the matrix of cofactors, which is right at singular matrices too.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let a = Tensor::from([[1.0, 2.0], [2.0, 4.0]]);
    /// let slope = grad(&a, |a| a.det()).to_vec();
    /// [4.0, -2.0, -2.0, 1.0].iter().zip(slope).for_each(|(wanted, got)| assert!((wanted - got).abs() < 1e-14));
    /// ```
    #[doc(alias = "determinant")]
    fn det = try_det();
    /// `(sign, ln |det|)`; the sign has the derivative 0. The logarithm of a singular matrix is -inf, and has no derivative.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (sign, log) = Tensor::from([[0.0, 2.0], [3.0, 0.0]]).slogdet();
    /// assert_eq!(sign.item(), -1.0);
    /// assert!((log.item() - 6f64.ln()).abs() < 1e-15);
    /// ```
    #[doc(alias("logdet", "log_abs_det"))]
    fn slogdet = try_slogdet() -> (Tensor, Tensor);
    /// `ln det` of a symmetric positive definite matrix, read as `(A + A^T) / 2`: by its Cholesky factor.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let a = Tensor::from([[4.0, 0.0], [0.0, 9.0]]);
    /// assert!((a.logdet_spd().item() - 36f64.ln()).abs() < 1e-14);
    /// ```
    #[doc(alias = "logdet")]
    fn logdet_spd = try_logdet_spd();
    /// The square root of the sum of all squares, which has gradient 0 at the matrix of zeros.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[1.0, 2.0], [2.0, 4.0]]).frobenius_norm().item(), 5.0);
    /// ```
    #[doc(alias = "matrix_norm")]
    fn frobenius_norm = try_frobenius_norm();
    /// The largest singular value. Where it is not the only one as large, it has no derivative, and asking for it is an error.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let norm = Tensor::from([[0.0, 3.0], [-2.0, 0.0]]).spectral_norm();
    /// assert!((norm.item() - 3.0).abs() < 1e-14);
    /// ```
    #[doc(alias = "matrix_norm")]
    fn spectral_norm = try_spectral_norm();
    /// The quotient of the largest and the smallest singular value; infinite for a singular matrix.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let condition = Tensor::from([[0.0, 3.0], [-2.0, 0.0]]).cond_number();
    /// assert!((condition.item() - 1.5).abs() < 1e-14);
    /// ```
    #[doc(alias = "cond")]
    fn cond_number = try_cond_number();
    /// How many singular values (i64) are larger than the largest one times the longer side and the rounding unit.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[1.0, 2.0], [2.0, 4.0]]).matrix_rank().to_array().to_f64(), [1.0]);
    /// ```
    #[doc(alias = "rank")]
    fn matrix_rank = try_matrix_rank();
}

impl TryMeasure for Tensor {
    /// As [`Tensor::det`], with an error instead of a panic.
    ///
    /// # Errors
    /// If it is no square matrix of finite real numbers.
    #[track_caller]
    fn try_det(&self) -> Result<Tensor, Error> {
        compose("det", &[self], |b, args| {
            check_square(b, args[0])?;
            Ok(b.emit(Det, args)?[0])
        })
    }

    /// As [`Tensor::slogdet`], with an error instead of a panic.
    ///
    /// # Errors
    /// If it is no square matrix of finite real numbers.
    #[track_caller]
    fn try_slogdet(&self) -> Result<(Tensor, Tensor), Error> {
        let mut results = compose_all("slogdet", &[self], |b, args| {
            check_square(b, args[0])?;
            let factors = b.emit(Lu, args)?;
            let pivots = diagonal(b, factors[1]);
            let axis = b.shape(pivots).len() - 1;
            let signs = b.op(Unary::Sign, &[pivots]);
            let sign = b.op(Reduce::new(Reducer::Prod, &[axis]), &[signs]);
            let odd = odd(b, factors[2]);
            let minus = b.neg(sign);
            let sign = b.select(odd, minus, sign);
            let logs = logarithms(b, pivots);
            Ok(vec![sign, b.sum(logs, &[axis])])
        })?;
        let log = results.remove(1);
        Ok((results.remove(0), log))
    }

    /// As [`Tensor::logdet_spd`], with an error instead of a panic.
    ///
    /// # Errors
    /// If it is not square or not positive definite.
    #[track_caller]
    fn try_logdet_spd(&self) -> Result<Tensor, Error> {
        compose("logdet_spd", &[self], |b, args| {
            check_square(b, args[0])?;
            let l = b.emit(Cholesky, args)?[0];
            let on = diagonal(b, l);
            let logs = b.op(Unary::Ln, &[on]);
            let axis = b.shape(logs).len() - 1;
            let sum = b.sum(logs, &[axis]);
            Ok(scaled(b, 2.0, sum))
        })
    }

    /// As [`Tensor::frobenius_norm`], with an error instead of a panic.
    ///
    /// # Errors
    /// If it is no matrix of real numbers.
    #[track_caller]
    fn try_frobenius_norm(&self) -> Result<Tensor, Error> {
        as_of("frobenius_norm", &[self], self.try_norm_over([-2, -1]))
    }

    /// As [`Tensor::spectral_norm`], with an error instead of a panic.
    ///
    /// # Errors
    /// If it is no matrix of finite real numbers, or has no elements.
    #[track_caller]
    fn try_spectral_norm(&self) -> Result<Tensor, Error> {
        compose("spectral_norm", &[self], |b, args| Ok(extremes(b, args[0])?[0]))
    }

    /// As [`Tensor::cond_number`], with an error instead of a panic.
    ///
    /// # Errors
    /// If it is no matrix of finite real numbers, or has no elements.
    #[track_caller]
    fn try_cond_number(&self) -> Result<Tensor, Error> {
        compose("cond_number", &[self], |b, args| {
            let [largest, smallest] = extremes(b, args[0])?;
            Ok(b.div(largest, smallest))
        })
    }

    /// As [`Tensor::matrix_rank`], with an error instead of a panic.
    ///
    /// # Errors
    /// If it is no matrix of finite real numbers.
    #[track_caller]
    fn try_matrix_rank(&self) -> Result<Tensor, Error> {
        compose("matrix_rank", &[self], |b, args| {
            let (rows, columns) = check_matrix(b, args[0])?;
            let values = b.emit(Svd, args)?[1];
            let shape = b.shape(values).to_vec();
            let axis = shape.len() - 1;
            if shape[axis] == 0 {
                let ty = b.ty(values).with_shape(shape[..axis].to_vec()).with_dtype(DType::I64);
                return Ok(b.full(0.0, &ty));
            }
            let largest = b.op(Reduce::new(Reducer::Max, &[axis]), &[values]);
            let unit = if b.dtype(values) == DType::F32 { f64::from(f32::EPSILON) } else { f64::EPSILON };
            let bound = scaled(b, unit * rows.max(columns) as f64, largest);
            let bound = b.spread(bound, &shape, &[axis]);
            let counts = b.op(Compare::Gt, &[values, bound]);
            let counts = b.convert(counts, DType::I64);
            Ok(b.sum(counts, &[axis]))
        })
    }
}

/// `ln |x|` as `ln |c| + ln |x / c|` with `c` the number that `x` is, held: the derivatives are those at 1, times powers of
/// `1 / c` that go to the tangents one by one. Those at `x` itself, `1 / x^2` and on, leave the range where `x` is far from 1.
fn logarithms(b: &mut Builder, x: Value) -> Value {
    let held = b.op(Unary::Detach, &[x]);
    let (zero, ty) = (b.zeros_like(held), b.ty(held).clone());
    let (is_zero, one) = (b.op(Compare::Eq, &[held, zero]), b.full(1.0, &ty));
    let held = b.select(is_zero, one, held);
    let ratio = b.div(x, held);
    let [fixed, moving] = [held, ratio].map(|x| {
        let size = b.op(Unary::Abs, &[x]);
        b.op(Unary::Ln, &[size])
    });
    b.add(fixed, moving)
}

/// The largest and the smallest singular value.
fn extremes(b: &mut Builder, a: Value) -> Result<[Value; 2], Misfit> {
    let (rows, columns) = check_matrix(b, a)?;
    if rows == 0 || columns == 0 {
        misfit!("a matrix of {rows} by {columns} has no singular values");
    }
    let values = b.emit(Svd, &[a])?[1];
    let shape = b.shape(values).to_vec();
    let axis = shape.len() - 1;
    Ok([0, shape[axis] - 1].map(|place| {
        let one = b.op(Slice::along(&shape, axis, place, place + 1), &[values]);
        b.reshape(one, &shape[..axis])
    }))
}

/// Whether permutations are odd: whether their inversions are.
fn odd(b: &mut Builder, order: Value) -> Value {
    let n = b.shape(order)[b.shape(order).len() - 1];
    let (of_row, of_column) = (as_columns(b, order, n), as_rows(b, order, n));
    let larger = b.op(Compare::Gt, &[of_row, of_column]);
    let before = places(b, larger, Compare::Lt);
    let inversions = b.op(Logic::And, &[larger, before]);
    let inversions = b.convert(inversions, DType::I64);
    let rank = b.shape(inversions).len();
    let count = b.sum(inversions, &[rank - 2, rank - 1]);
    let ty = b.ty(count).clone();
    let two = b.full(2.0, &ty);
    let rest = b.op(Binary::Rem, &[count, two]);
    let zero = b.zeros_like(rest);
    b.op(Compare::Ne, &[rest, zero])
}
