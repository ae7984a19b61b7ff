//! Equations for matrices: Sylvester, Lyapunov, Riccati.

use super::{check_matrix, check_square, split};
use crate::error::{Error, Misfit, OrRaise, misfit};
use crate::primitives::linalg::{product, transposed};
use crate::primitives::{MatrixEquation, MatrixKind, MatrixSolve, Riccati, Sylvester};
use crate::program::{Builder, Value};
use crate::tensor::Tensor;
use crate::tensor::compose::{compose, joint_shape, stretch};

/// Functions and their twins that panic.
macro_rules! twins {
    ($( $(#[$about:meta])* fn $name:ident = $twin:ident ($($arg:ident),*), $errors:literal, $body:expr; )*) => { $(
        $(#[$about])*
        ///
        /// # Panics
        #[doc = concat!("As [`", stringify!($twin), "`] returns an error.")]
        #[track_caller]
        pub fn $name($($arg: &Tensor),*) -> Tensor {
            $twin($($arg),*).or_raise()
        }

        #[doc = concat!("As [`", stringify!($name), "`], with an error instead of a panic.")]
        ///
        /// # Errors
        #[doc = $errors]
        #[track_caller]
        pub fn $twin($($arg: &Tensor),*) -> Result<Tensor, Error> {
            compose(stringify!($name), &[$($arg),*], $body)
        }
    )* };
}

twins! {
    /// The `X` with `A X + X B = C` (J. J. Sylvester, 1884).
    ///
    /// It exists if no eigenvalue of A and of -B are the same. Its derivative is the same equation with another right-hand side.
    ///
    /// ```
    /// use wengert::linalg::sylvester;
    /// use wengert::prelude::*;
    /// let (a, b) = (Tensor::from([[2.0, 1.0], [0.0, 3.0]]), Tensor::from([[1.0]]));
    /// let x = sylvester(&a, &b, &Tensor::from([[5.0], [4.0]]));
    /// assert_eq!(x.to_vec(), [4.0 / 3.0, 1.0]);
    /// ```
    fn sylvester = try_sylvester(a, b, c),
        "If shapes or element types do not fit, an entry is NaN or infinite, or the equation is singular.",
        |b, args| {
            let (_, args) = batch(b, args)?;
            Ok(b.emit(Sylvester::new(MatrixEquation::Continuous), &args)?[0])
        };
    /// The `X` with `A X + X A^T = Q` (A. M. Lyapunov, 1892): the covariance of a stable linear system that noise of covariance
    /// `-Q` drives.
    ///
    /// ```
    /// use wengert::linalg::lyapunov;
    /// use wengert::prelude::*;
    /// let x = lyapunov(&Tensor::from([[-1.0, 1.0], [0.0, -2.0]]), &-Tensor::eye(2));
    /// assert!((x.to_vec()[3] - 0.25).abs() < 1e-15);
    /// ```
    fn lyapunov = try_lyapunov(a, q),
        "If shapes or element types do not fit, an entry is NaN or infinite, or the equation is singular.",
        |b, args| {
            let (_, args) = batch(b, args)?;
            let turned = transposed(b, args[0]);
            Ok(b.emit(Sylvester::new(MatrixEquation::Continuous), &[args[0], turned, args[1]])?[0])
        };
    /// The `X` with `X = A X A^T + Q`: the covariance of a stable linear recurrence that noise of covariance Q drives.
    ///
    /// ```
    /// use wengert::linalg::lyapunov_discrete;
    /// use wengert::prelude::*;
    /// let x = lyapunov_discrete(&Tensor::from([[0.5]]), &Tensor::from([[3.0]]));
    /// assert_eq!(x.to_vec(), [4.0]);
    /// ```
    fn lyapunov_discrete = try_lyapunov_discrete(a, q),
        "If shapes or element types do not fit, an entry is NaN or infinite, or the equation is singular.",
        |b, args| {
            let (_, args) = batch(b, args)?;
            let turned = transposed(b, args[0]);
            Ok(b.emit(Sylvester::new(MatrixEquation::Discrete), &[args[0], turned, args[1]])?[0])
        };
    /// The stabilising `X` with `A^T X + X A - X B R^-1 B^T X + Q = 0`: the cost to go of the linear regulator `u = -R^-1 B^T X x` (R. E.
    /// Kalman, 1960). Q and R are read as their symmetric parts, and R has to be positive definite.
    ///
    /// Its derivative is that of the equation, not of the steps that solve it.
    ///
    /// ```
    /// use wengert::linalg::riccati;
    /// use wengert::prelude::*;
    /// let (a, b) = (Tensor::from([[0.0, 1.0], [0.0, 0.0]]), Tensor::from([[0.0], [1.0]]));
    /// let x = riccati(&a, &b, &Tensor::eye(2), &Tensor::eye(1)).to_vec();
    /// assert!((x[0] - 3f64.sqrt()).abs() < 1e-14 && (x[1] - 1.0).abs() < 1e-14);
    /// ```
    fn riccati = try_riccati(a, b, q, r),
        "If shapes or element types do not fit, an entry is NaN or infinite, R is not positive definite, or there is no stabilising solution.",
        |b, args| regulator(b, args, MatrixEquation::Continuous);
    /// The stabilising `X` with `X = A^T X A - A^T X B (R + B^T X B)^-1 B^T X A + Q`: as [`riccati`], in discrete time.
    ///
    /// ```
    /// use wengert::linalg::riccati_discrete;
    /// use wengert::prelude::*;
    /// let one = Tensor::eye(1);
    /// let x = riccati_discrete(&one, &one, &one, &one).item();
    /// assert!((x - (1.0 + 5f64.sqrt()) / 2.0).abs() < 1e-14);
    /// ```
    fn riccati_discrete = try_riccati_discrete(a, b, q, r),
        "If shapes or element types do not fit, an entry is NaN or infinite, R is not positive definite, or there is no stabilising solution.",
        |b, args| regulator(b, args, MatrixEquation::Discrete);
}

/// The matrices with the axes before stretched to each other, of which the first is square: its order.
fn batch(b: &mut Builder, args: &[Value]) -> Result<(usize, Vec<Value>), Misfit> {
    let order = check_square(b, args[0])?;
    let mut lead = Vec::new();
    for &arg in args {
        check_matrix(b, arg)?;
        if b.dtype(arg) != b.dtype(args[0]) {
            misfit!("the element types differ; convert first");
        }
        lead = joint_shape(&lead, &split(b.shape(arg)).0)?;
    }
    let mut stretched = Vec::with_capacity(args.len());
    for &arg in args {
        let shape = [&lead[..], &split(b.shape(arg)).1].concat();
        stretched.push(stretch(b, arg, &shape));
    }
    Ok((order, stretched))
}

fn regulator(b: &mut Builder, args: &[Value], equation: MatrixEquation) -> Result<Value, Misfit> {
    let (order, args) = batch(b, args)?;
    let [a, input, q, r] = args[..] else { unreachable!("four matrices") };
    let (rows, inputs) = check_matrix(b, input)?;
    if rows != order {
        misfit!("A is {order} by {order}, and B has {rows} rows");
    }
    if check_square(b, r)? != inputs || check_square(b, q)? != order {
        let own = [q, r].map(|x| split(b.shape(x)).1[0]);
        misfit!("with {order} states and {inputs} inputs, Q is {0} by {0} and R {1} by {1}", own[0], own[1]);
    }
    let turned = transposed(b, input);
    let weighted = b.op(MatrixSolve::new(MatrixKind::Positive), &[r, turned]);
    let control = product(b, input, weighted);
    Ok(b.emit(Riccati { equation }, &[a, control, q])?[0])
}
