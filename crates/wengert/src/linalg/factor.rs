//! [`Factor`]: a matrix that is factored once and solved with many times.

use super::structured::changed;
use super::twins::{TryFactorise, TrySolve};
use super::{Side, TriangularSolve};
use crate::error::{Error, Misfit, OrRaise, misfit};
use crate::ops::Binary;
use crate::primitives::Triangle;
use crate::primitives::linalg::product_nt;
use crate::tensor::Tensor;
use crate::tensor::compose::{as_of, compose, refuse};
use crate::tensor::twins::{TryIndex, TryProduct, TryShape};

/// The factors of a matrix, to solve many systems with.
///
/// It is a value: of numbers it holds the factors, and a system costs two triangular ones. Of a matrix that a derivative flows
/// through it records systems with the matrix, whose derivatives are exact, and all of which, forward and backward, share one
/// factorisation in what runs.
///
/// ```
/// use wengert::linalg::Factor;
/// use wengert::prelude::*;
/// let a = Tensor::from([[4.0, 1.0], [1.0, 3.0]]);
/// let factor = Factor::cholesky(&a);
/// let x = factor.solve(&Tensor::from([5.0, 4.0]));
/// let y = factor.solve(&x);
/// assert!((a.matmul(&y) - &x).abs().max().item() < 1e-15);
/// // The derivative flows to the matrix and to every right-hand side.
/// let both = |a: &Tensor, b: &Tensor| {
///     let factor = Factor::lu(a);
///     factor.solve(&factor.solve(b)).sum()
/// };
/// let (by_a, by_b) = grad((&a, &x), |(a, b)| both(&a, &b));
/// assert_eq!((by_a.shape(), by_b.shape()), (&[2, 2][..], &[2][..]));
/// ```
#[derive(Clone, Debug)]
pub struct Factor {
    matrix: Tensor,
    factors: Factors,
}

#[derive(Clone, Debug)]
enum Factors {
    Lu {
        l: Tensor,
        u: Tensor,
        order: Tensor,
    },
    Cholesky {
        l: Tensor,
    },
    /// A Cholesky factor that was updated since it was computed.
    Updated {
        l: Tensor,
    },
    Qr {
        q: Tensor,
        r: Tensor,
    },
}

/// Twins that panic.
macro_rules! or_raise {
    ($( $(#[$about:meta])* fn $name:ident = $twin:ident; )*) => { $(
        $(#[$about])*
        ///
        /// # Panics
        /// If the matrix does not fit.
        #[track_caller]
        pub fn $name(a: &Tensor) -> Factor {
            Self::$twin(a).or_raise()
        }
    )* };
}

impl Factor {
    or_raise! {
        /// Of a square matrix, by elimination with pivots.
        ///
        /// ```
        /// use wengert::{Tensor, linalg::Factor};
        /// let factor = Factor::lu(&Tensor::from([[0.0, 2.0], [4.0, 0.0]]));
        /// assert_eq!(factor.solve(&Tensor::from([2.0, 4.0])).to_vec(), [1.0, 1.0]);
        /// ```
        fn lu = try_lu;
        /// Of a symmetric positive definite matrix, read as `(A + A^T) / 2`.
        ///
        /// ```
        /// use wengert::{Tensor, linalg::Factor};
        /// let factor = Factor::cholesky(&Tensor::from([[4.0, 0.0], [0.0, 9.0]]));
        /// assert_eq!(factor.solve(&Tensor::from([8.0, 9.0])).to_vec(), [2.0, 1.0]);
        /// ```
        fn cholesky = try_cholesky;
        /// Of a square or tall matrix with independent columns, for least squares.
        ///
        /// ```
        /// use wengert::{Tensor, linalg::Factor};
        /// let factor = Factor::qr(&Tensor::from([[1.0], [1.0]]));
        /// assert!((factor.solve(&Tensor::from([1.0, 3.0])).item() - 2.0).abs() < 1e-15);
        /// ```
        fn qr = try_qr;
    }

    /// As [`Factor::lu`], with an error instead of a panic.
    ///
    /// # Errors
    /// If it is no square matrix of finite real numbers.
    #[track_caller]
    pub fn try_lu(a: &Tensor) -> Result<Factor, Error> {
        square("Factor::lu", a)?;
        let (l, u, order) = as_of("Factor::lu", &[a], a.try_lu())?;
        Ok(Factor { matrix: a.clone(), factors: Factors::Lu { l, u, order } })
    }

    /// As [`Factor::cholesky`], with an error instead of a panic.
    ///
    /// # Errors
    /// If it is not square or not positive definite.
    #[track_caller]
    pub fn try_cholesky(a: &Tensor) -> Result<Factor, Error> {
        let l = as_of("Factor::cholesky", &[a], a.try_cholesky())?;
        Ok(Factor { matrix: a.clone(), factors: Factors::Cholesky { l } })
    }

    /// As [`Factor::qr`], with an error instead of a panic.
    ///
    /// # Errors
    /// If it is no matrix of finite real numbers, or wide.
    #[track_caller]
    pub fn try_qr(a: &Tensor) -> Result<Factor, Error> {
        let (q, r) = as_of("Factor::qr", &[a], a.try_qr())?;
        if let [.., rows, columns] = *a.shape()
            && rows < columns
        {
            return refuse("Factor::qr", &[a], format!("the matrix is {rows} by {columns}, and must not be wide"));
        }
        Ok(Factor { matrix: a.clone(), factors: Factors::Qr { q, r } })
    }

    /// The matrix.
    ///
    /// ```
    /// use wengert::{Tensor, linalg::Factor};
    /// assert_eq!(Factor::lu(&Tensor::eye(2)).matrix().shape(), [2, 2]);
    /// ```
    pub fn matrix(&self) -> &Tensor {
        &self.matrix
    }

    /// The Cholesky factor of `A + v v^T`, or of `A + V V^T` for a matrix V of k columns, in time of the order of `k n^2`.
    ///
    /// ```
    /// use wengert::{Tensor, linalg::Factor};
    /// let factor = Factor::cholesky(&Tensor::eye(2)).update(&Tensor::from([1.0, 0.0]));
    /// assert!((factor.solve(&Tensor::from([4.0, 3.0])) - Tensor::from([2.0, 3.0])).abs().max().item() < 1e-15);
    /// ```
    ///
    /// # Panics
    /// As [`Factor::try_update`] returns an error.
    #[track_caller]
    pub fn update(&self, v: &Tensor) -> Factor {
        self.try_update(v).or_raise()
    }

    /// As [`Factor::update`], with an error instead of a panic.
    ///
    /// # Errors
    /// If it is not the factor of [`Factor::cholesky`] of one matrix, or v does not fit.
    #[track_caller]
    pub fn try_update(&self, v: &Tensor) -> Result<Factor, Error> {
        self.changed("Factor::update", v, Binary::Add)
    }

    /// That of `A - v v^T`, or of `A - V V^T`.
    ///
    /// ```
    /// use wengert::{Tensor, linalg::Factor};
    /// let factor = Factor::cholesky(&Tensor::from([[4.0, 0.0], [0.0, 4.0]]));
    /// assert!(factor.downdate(&Tensor::from([1.0, 1.0])).solve(&Tensor::from([2.0, 2.0])).to_vec()[0] > 0.99);
    /// let why = factor.try_downdate(&Tensor::from([0.0, 3.0])).unwrap_err();
    /// assert!(why.to_string().contains("the result is not positive definite"), "{why}");
    /// ```
    ///
    /// # Panics
    /// As [`Factor::try_downdate`] returns an error.
    #[track_caller]
    pub fn downdate(&self, v: &Tensor) -> Factor {
        self.try_downdate(v).or_raise()
    }

    /// As [`Factor::downdate`], with an error instead of a panic.
    ///
    /// # Errors
    /// As of [`Factor::try_update`], and if the result is not positive definite.
    #[track_caller]
    pub fn try_downdate(&self, v: &Tensor) -> Result<Factor, Error> {
        self.changed("Factor::downdate", v, Binary::Sub)
    }

    #[track_caller]
    fn changed(&self, name: &'static str, v: &Tensor, sign: Binary) -> Result<Factor, Error> {
        let (Factors::Cholesky { l } | Factors::Updated { l }) = &self.factors else {
            return refuse(name, &[&self.matrix, v], "it takes a Cholesky factor");
        };
        let operands = [&self.matrix, v];
        let factors = Factors::Updated { l: as_of(name, &operands, changed(name, l, v, sign))? };
        let matrix = compose(name, &operands, |b, args| {
            let n = b.shape(args[0])[0];
            let k = b.ty(args[1]).size().checked_div(n).unwrap_or_default();
            let columns = b.reshape(args[1], &[n, k]);
            let squares = product_nt(b, columns, columns);
            Ok(b.op(sign, &[args[0], squares]))
        })?;
        Ok(Factor { matrix, factors })
    }

    /// `X` with `A X = B`, or with the smallest `|A X - B|` by [`Factor::qr`].
    ///
    /// ```
    /// use wengert::{Tensor, linalg::Factor};
    /// let factor = Factor::lu(&Tensor::from([[2.0, 0.0], [0.0, 4.0]]));
    /// assert_eq!(factor.solve(&Tensor::from([[2.0, 4.0], [4.0, 8.0]])).to_vec(), [1.0, 2.0, 1.0, 2.0]);
    /// ```
    ///
    /// # Panics
    /// As [`Factor::try_solve`] returns an error.
    #[track_caller]
    pub fn solve(&self, b: &Tensor) -> Tensor {
        self.try_solve(b).or_raise()
    }

    /// As [`Factor::solve`], with an error instead of a panic.
    ///
    /// # Errors
    /// If shapes or element types do not fit, or the matrix is singular.
    #[track_caller]
    pub fn try_solve(&self, b: &Tensor) -> Result<Tensor, Error> {
        let operands = [&self.matrix, b];
        if let Err(why) = self.check_right(b) {
            return refuse("Factor::solve", &operands, why);
        }
        as_of("Factor::solve", &operands, self.solved(b))
    }

    /// That a right-hand side fits the matrix; that the axes before stretch to each other is found on the way.
    fn check_right(&self, b: &Tensor) -> Result<(), Misfit> {
        if b.dtype() != self.matrix.dtype() {
            misfit!("the element types differ; convert one of them first");
        }
        let rows = self.matrix.shape()[self.matrix.rank() - 2];
        match *b.shape() {
            [] => misfit!("the right-hand side is a single number, and has to be a vector or a matrix"),
            [length] | [.., length, _] if length != rows => {
                misfit!("the matrix has {rows} rows, and the right-hand side {length}")
            }
            _ => Ok(()),
        }
    }

    #[track_caller]
    fn solved(&self, b: &Tensor) -> Result<Tensor, Error> {
        let (lower, upper) = (TriangularSolve::new(Side::Left, Triangle::Lower), Triangle::Upper);
        match &self.factors {
            Factors::Lu { .. } if self.matrix.known().is_none() => self.matrix.try_solve(b),
            Factors::Cholesky { .. } if self.matrix.known().is_none() => self.matrix.try_solve_spd(b),
            // One permutation for every right-hand side.
            Factors::Lu { l, u, order } if order.rank() == 1 => {
                let right = b.try_take(order, if b.rank() == 1 { 0 } else { -2 })?;
                let y = l.try_solve_triangular(&right, TriangularSolve { unit: true, ..lower })?;
                u.try_solve_triangular(&y, TriangularSolve::new(Side::Left, upper))
            }
            // After the first step, the vectors of a batch would be taken for a matrix.
            _ if b.rank() == 1 => {
                let solved = self.solved_in_steps(&b.try_expand_dims(-1)?)?;
                let last = solved.rank() - 1;
                solved.try_squeeze(&[last])
            }
            _ => self.solved_in_steps(b),
        }
    }

    #[track_caller]
    fn solved_in_steps(&self, b: &Tensor) -> Result<Tensor, Error> {
        let (lower, upper) = (TriangularSolve::new(Side::Left, Triangle::Lower), Triangle::Upper);
        match &self.factors {
            Factors::Lu { .. } => self.matrix.try_solve(b),
            // One that was updated is differentiated as it is: the matrix would have to be factored again.
            Factors::Cholesky { l } | Factors::Updated { l } => {
                let y = l.try_solve_triangular(b, lower)?;
                l.try_solve_triangular(&y, TriangularSolve { transpose: true, ..lower })
            }
            Factors::Qr { q, r } => {
                let seen = q.try_swap_axes(-1, -2)?.try_matmul(b)?;
                r.try_solve_triangular(&seen, TriangularSolve::new(Side::Left, upper))
            }
        }
    }
}

#[track_caller]
fn square(name: &str, a: &Tensor) -> Result<(), Error> {
    match *a.shape() {
        [.., rows, columns] if rows != columns => {
            refuse(name, &[a], format!("the matrix is {rows} by {columns}, and has to be square"))
        }
        _ => Ok(()),
    }
}
