//! Linear systems: square, triangular, and in the sense of least squares.

use super::{Side, System, TriangularSolve, check_matrix, check_square};
use crate::array::DType;
use crate::error::{Error, Misfit, misfit};
use crate::ops::{Binary, Compare, Unary};
use crate::primitives::linalg::{diagonal, identity, product, product_tn, transposed};
use crate::primitives::{Concat, Ensure, MatrixKind, MatrixSolve, Qr, Reduce, Reducer, Triangle};
use crate::program::{Builder, Value};
use crate::tensor::Tensor;
use crate::tensor::compose::{compose, or_raise};

or_raise! {
    trait TrySolve: "systems of equations";

    /// `X` with `A X = B`. A vector is one right-hand side, a matrix has one in each column.
    ///
    /// All systems with one matrix, forward and backward, share its factors. A singular matrix is an error that names the
    /// pivot, a NaN or infinity in it one that names the entry. In a right-hand side these are numbers as any other: the solution
    /// is NaN, of a matrix in that column alone.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let a = Tensor::from([[2.0, 1.0], [1.0, 3.0]]);
    /// let x = a.solve(&Tensor::from([3.0, 4.0]));
    /// assert_eq!(x.to_vec(), [1.0, 1.0]);
    /// let why = Tensor::from([[1.0, 2.0], [2.0, 4.0]]).try_solve(&x).unwrap_err();
    /// assert!(why.to_string().contains("the matrix is singular: pivot 1 is 0"), "{why}");
    /// ```
    #[doc(alias = "linsolve")]
    fn solve = try_solve(b: &Tensor);
    /// As [`Tensor::solve`], of a symmetric positive definite matrix, which is read as `(A + A^T) / 2`: by its Cholesky
    /// factor.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([[4.0, 2.0], [2.0, 5.0]]).solve_spd(&Tensor::from([6.0, 7.0]));
    /// assert!((x - 1.0).abs().max().item() < 1e-15);
    /// ```
    #[doc(alias("cho_solve", "cholesky_solve"))]
    fn solve_spd = try_solve_spd(b: &Tensor);
    /// `X` with `op(T) X = B`, or `X op(T) = B`, where T is a triangle of `self`: the other half is not read, and its derivative
    /// is 0. A NaN or infinity that is read makes the unknowns NaN that depend on it, and is no error.
    ///
    /// ```
    /// use wengert::linalg::{Side, Triangle, TriangularSolve};
    /// use wengert::prelude::*;
    /// let t = Tensor::from([[2.0, f64::NAN], [1.0, 4.0]]);
    /// let lower = TriangularSolve::new(Side::Left, Triangle::Lower);
    /// assert_eq!(t.solve_triangular(&Tensor::from([2.0, 9.0]), lower).to_vec(), [1.0, 2.0]);
    /// ```
    #[doc(alias = "triangular_solve")]
    fn solve_triangular = try_solve_triangular(b: &Tensor, options: TriangularSolve);
    /// The inverse. To multiply by it, [`Tensor::solve`] is faster and more accurate.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[2.0, 0.0], [0.0, 4.0]]).inv().to_vec(), [0.5, 0.0, 0.0, 0.25]);
    /// ```
    #[doc(alias = "inverse")]
    fn inv = try_inv();
    /// The `X` with the smallest `|A X - B|`, of a tall or square matrix with independent columns; of a wide one with
    /// independent rows the shortest X with `A X = B`. By orthogonal factors, so that nothing is squared.
    ///
    /// A rank that is missing but for rounding is an error: `pinv` and [`Tensor::lstsq_damped`] have a solution then. So is a
    /// NaN or infinity in A; one in a right-hand side makes the solution NaN, of a matrix in that column alone.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let a = Tensor::from([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]);
    /// let line = a.lstsq(&Tensor::from([1.0, 3.0, 5.0])).to_vec();
    /// assert!((line[0] - 1.0).abs() < 1e-14 && (line[1] - 2.0).abs() < 1e-14);
    /// ```
    #[doc(alias = "least_squares")]
    fn lstsq = try_lstsq(b: &Tensor);
    /// The `X` with the smallest `|A X - B|^2 + damping^2 |X|^2` (A. N. Tikhonov, 1963), for any matrix; the damping is a single
    /// number, which has a derivative too. NaN and infinities are as in [`Tensor::lstsq`].
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let a = Tensor::from([[1.0, 1.0], [1.0, 1.0]]);
    /// let x = a.lstsq_damped(&Tensor::from([2.0, 2.0]), &Tensor::from(1e-6));
    /// assert!((x - 1.0).abs().max().item() < 1e-9);
    /// ```
    #[doc(alias("ridge", "tikhonov"))]
    fn lstsq_damped = try_lstsq_damped(b: &Tensor, damping: &Tensor);
}

impl TrySolve for Tensor {
    /// As [`Tensor::solve`], with an error instead of a panic.
    ///
    /// # Errors
    /// If shapes or element types do not fit, or the matrix is singular.
    #[track_caller]
    fn try_solve(&self, b: &Tensor) -> Result<Tensor, Error> {
        compose("solve", &[self, b], |b, args| solved(b, args, MatrixSolve::new(MatrixKind::General)))
    }

    /// As [`Tensor::solve_spd`], with an error instead of a panic.
    ///
    /// # Errors
    /// If shapes or element types do not fit, or the matrix is not positive definite.
    #[track_caller]
    fn try_solve_spd(&self, b: &Tensor) -> Result<Tensor, Error> {
        compose("solve_spd", &[self, b], |b, args| solved(b, args, MatrixSolve::new(MatrixKind::Positive)))
    }

    /// As [`Tensor::solve_triangular`], with an error instead of a panic.
    ///
    /// # Errors
    /// If shapes or element types do not fit, or there is a 0 on the diagonal.
    #[track_caller]
    fn try_solve_triangular(&self, b: &Tensor, options: TriangularSolve) -> Result<Tensor, Error> {
        compose("solve_triangular", &[self, b], |b, args| {
            check_square(b, args[0])?;
            let system = System::new(b, args[0], args[1], options.side)?;
            let x = b.emit(options, &[system.a, system.right])?[0];
            Ok(system.given(b, x))
        })
    }

    /// As [`Tensor::inv`], with an error instead of a panic.
    ///
    /// # Errors
    /// If it is not square, or singular.
    #[track_caller]
    fn try_inv(&self) -> Result<Tensor, Error> {
        compose("inv", &[self], |b, args| {
            check_square(b, args[0])?;
            Ok(inverse(b, args[0]))
        })
    }

    /// As [`Tensor::lstsq`], with an error instead of a panic.
    ///
    /// # Errors
    /// If shapes or element types do not fit, or the rank is missing.
    #[track_caller]
    fn try_lstsq(&self, b: &Tensor) -> Result<Tensor, Error> {
        compose("lstsq", &[self, b], |b, args| {
            let (rows, columns) = check_matrix(b, args[0])?;
            let system = System::new(b, args[0], args[1], Side::Left)?;
            let x = if rows >= columns {
                shortest_residual(b, "lstsq", system.a, system.right)?
            } else {
                shortest_solution(b, "lstsq", system.a, system.right)?
            };
            Ok(system.given(b, x))
        })
    }

    /// As [`Tensor::lstsq_damped`], with an error instead of a panic.
    ///
    /// # Errors
    /// If shapes or element types do not fit, or the damping is no single number.
    #[track_caller]
    fn try_lstsq_damped(&self, b: &Tensor, damping: &Tensor) -> Result<Tensor, Error> {
        compose("lstsq_damped", &[self, b, damping], |b, args| {
            let (_, columns) = check_matrix(b, args[0])?;
            if b.ty(args[2]) != &b.ty(args[0]).with_shape(Vec::new()) {
                misfit!("the damping is {}, and has to be a single {}", b.ty(args[2]), b.dtype(args[0]));
            }
            let system = System::new(b, args[0], args[1], Side::Left)?;
            let axis = b.shape(system.a).len() - 2;
            let mut square = b.ty(system.a).clone();
            square.shape[axis] = columns;
            let eye = identity(b, &square);
            let damping = b.broadcast_scalar(args[2], &square.shape);
            let below = b.mul(damping, eye);
            let mut zeros = b.ty(system.right).clone();
            zeros.shape[axis] = columns;
            let zeros = b.full(0.0, &zeros);
            let a = b.op(Concat { axis }, &[system.a, below]);
            let right = b.op(Concat { axis }, &[system.right, zeros]);
            let x = shortest_residual(b, "lstsq_damped", a, right)?;
            Ok(system.given(b, x))
        })
    }
}

/// The system of a square matrix, in the form of its right-hand side.
pub(super) fn solved(b: &mut Builder, args: &[Value], op: MatrixSolve) -> Result<Value, Misfit> {
    check_square(b, args[0])?;
    let system = System::new(b, args[0], args[1], Side::Left)?;
    let x = b.emit(op, &[system.a, system.right])?[0];
    Ok(system.given(b, x))
}

/// The inverse of square matrices.
pub(super) fn inverse(b: &mut Builder, a: Value) -> Value {
    let ty = b.ty(a).clone();
    let eye = identity(b, &ty);
    b.op(MatrixSolve::new(MatrixKind::General), &[a, eye])
}

/// The solution of a tall system: `R^-1 Q^T B`.
fn shortest_residual(b: &mut Builder, name: &str, a: Value, right: Value) -> Result<Value, Misfit> {
    let factors = b.emit(Qr, &[a])?;
    let seen = product_tn(b, factors[0], right);
    let seen = of_full_rank(b, name, factors[1], seen);
    Ok(b.emit(TriangularSolve::new(Side::Left, Triangle::Upper), &[factors[1], seen])?[0])
}

/// The shortest solution of a wide system, by the factors of its transpose: `Q R^-T B`.
fn shortest_solution(b: &mut Builder, name: &str, a: Value, right: Value) -> Result<Value, Misfit> {
    let turned = transposed(b, a);
    let factors = b.emit(Qr, &[turned])?;
    let right = of_full_rank(b, name, factors[1], right);
    let back = TriangularSolve { transpose: true, ..TriangularSolve::new(Side::Left, Triangle::Upper) };
    let y = b.emit(back, &[factors[1], right])?[0];
    Ok(product(b, factors[0], y))
}

/// The value, if no element on the diagonal of a triangle is 0 but for rounding.
fn of_full_rank(b: &mut Builder, name: &str, r: Value, value: Value) -> Value {
    let order = b.shape(r)[b.shape(r).len() - 1];
    let on = diagonal(b, r);
    let axis = b.shape(on).len() - 1;
    if b.ty(on).size() == 0 {
        return value;
    }
    let sizes = b.op(Unary::Abs, &[on]);
    let sizes = b.op(Unary::Detach, &[sizes]);
    let [least, largest] = [Reducer::Min, Reducer::Max].map(|reducer| b.op(Reduce::new(reducer, &[axis]), &[sizes]));
    let unit = if b.dtype(r) == DType::F32 { f64::from(f32::EPSILON) } else { f64::EPSILON };
    let ty = b.ty(largest).clone();
    let factor = b.full(unit * order as f64, &ty);
    let bound = b.op(Binary::Mul, &[factor, largest]);
    let holds = b.op(Compare::Gt, &[least, bound]);
    let why = "the rank is missing: on the diagonal of R are {} and {}; `pinv` and `lstsq_damped` have a solution then";
    b.op(Ensure::new(name, why), &[value, holds, largest, least])
}
