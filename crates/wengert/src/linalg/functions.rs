//! Functions of matrices, and products of many.

use std::panic::Location;

use super::solve::inverse;
use super::{check_matrix, check_square, split};
use crate::error::{Error, ErrorKind, OrRaise, misfit};
use crate::primitives::Expm;
use crate::primitives::linalg::{contract, identity, product};
use crate::tensor::Tensor;
use crate::tensor::compose::{as_of, check_count, compose, joint_shape, or_raise, stretch};
use crate::tensor::twins::TryEinsum;

or_raise! {
    trait TryMatrixFunction: "functions of matrices";

    /// The exponential of square matrices, `sum_k A^k / k!`.
    ///
    /// By scaling and squaring: a diagonal Padé approximant of degree 3, 5, 7, 9 or 13, by the norm, and for norms above that
    /// of degree 13 of `A / 2^s`, squared s times (A. H. Al-Mohy, N. J. Higham, *Computing the Fréchet derivative of the
    /// matrix exponential*, 2009, whose bounds hold for value and derivative). Its derivative runs through the same products.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let turn = Tensor::from([[0.0, -1.0], [1.0, 0.0]]).expm().to_vec();
    /// assert!((turn[0] - 1f64.cos()).abs() < 1e-15 && (turn[2] - 1f64.sin()).abs() < 1e-15);
    /// ```
    #[doc(alias = "matrix_exp")]
    fn expm = try_expm();
    /// The n-th power of square matrices, by repeated squaring; of the inverse if n is negative.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let fibonacci = Tensor::from([[1.0, 1.0], [1.0, 0.0]]);
    /// assert_eq!(fibonacci.matrix_power(10).to_vec(), [89.0, 55.0, 55.0, 34.0]);
    /// ```
    #[doc(alias = "mpow")]
    fn matrix_power = try_matrix_power(n: i32);
    /// The Kronecker product: every element of `self` times all of `other`, in blocks.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([[1.0, 2.0]]).kron(&Tensor::from([[1.0], [10.0]]));
    /// assert_eq!((x.shape(), x.to_vec()), (&[2, 2][..], vec![1.0, 2.0, 10.0, 20.0]));
    /// ```
    #[doc(alias = "kronecker")]
    fn kron = try_kron(other: &Tensor);
}

impl TryMatrixFunction for Tensor {
    /// As [`Tensor::expm`], with an error instead of a panic.
    ///
    /// # Errors
    /// If it is no square matrix of finite real numbers.
    #[track_caller]
    fn try_expm(&self) -> Result<Tensor, Error> {
        compose("expm", &[self], |b, args| {
            check_square(b, args[0])?;
            Ok(b.op(Expm, args))
        })
    }

    /// As [`Tensor::matrix_power`], with an error instead of a panic.
    ///
    /// # Errors
    /// If it is no square matrix, or n is negative and it is singular.
    #[track_caller]
    fn try_matrix_power(&self, n: i32) -> Result<Tensor, Error> {
        compose("matrix_power", &[self], |b, args| {
            check_square(b, args[0])?;
            let mut base = if n < 0 { inverse(b, args[0]) } else { args[0] };
            let mut power = None;
            let mut left = n.unsigned_abs();
            while left > 0 {
                if left % 2 == 1 {
                    power = Some(power.map_or(base, |power| product(b, power, base)));
                }
                left /= 2;
                if left > 0 {
                    base = product(b, base, base);
                }
            }
            let ty = b.ty(args[0]).clone();
            Ok(power.unwrap_or_else(|| identity(b, &ty)))
        })
    }

    /// As [`Tensor::kron`], with an error instead of a panic.
    ///
    /// # Errors
    /// If they are no matrices of one real element type, or the result does not fit in memory.
    #[track_caller]
    fn try_kron(&self, other: &Tensor) -> Result<Tensor, Error> {
        compose("kron", &[self, other], |b, args| {
            let ((m, n), (p, q)) = (check_matrix(b, args[0])?, check_matrix(b, args[1])?);
            if b.dtype(args[0]) != b.dtype(args[1]) {
                misfit!("the element types differ; convert one of them first");
            }
            let (Some(rows), Some(columns)) = (m.checked_mul(p), n.checked_mul(q)) else {
                misfit!("the result does not fit in memory");
            };
            let lead = joint_shape(&split(b.shape(args[0])).0, &split(b.shape(args[1])).0)?;
            let [x, y] = [(0, m, n), (1, p, q)]
                .map(|(k, rows, columns)| stretch(b, args[k], &[&lead[..], &[rows, columns]].concat()));
            check_count(&[&lead[..], &[rows, columns]].concat())?;
            let blocks = contract(b, ["ij", "kl", "ikjl"], x, y);
            Ok(b.reshape(blocks, &[&lead[..], &[rows, columns]].concat()))
        })
    }
}

/// The product of matrices in the order with the fewest multiplications; the first and the last may be vectors.
///
/// ```
/// use wengert::linalg::multi_dot;
/// use wengert::prelude::*;
/// let (a, b) = (Tensor::ones(&[2, 3]), Tensor::ones(&[3, 4]));
/// assert_eq!(multi_dot(&[&a, &b, &Tensor::ones(&[4])]).to_vec(), [12.0, 12.0]);
/// ```
///
/// # Panics
/// As [`try_multi_dot`] returns an error.
#[doc(alias = "chain_matmul")]
#[track_caller]
pub fn multi_dot(matrices: &[&Tensor]) -> Tensor {
    try_multi_dot(matrices).or_raise()
}

/// As [`multi_dot`], with an error instead of a panic.
///
/// # Errors
/// If there is no operand or more than 50, one is neither matrix nor vector at an end, or shapes or element types do not fit.
#[track_caller]
pub fn try_multi_dot(matrices: &[&Tensor]) -> Result<Tensor, Error> {
    let line = Location::caller();
    let refuse = |why: String| {
        let error = Error::new(ErrorKind::Misfit, "multi_dot", why);
        Err(error.of(matrices.iter().map(|matrix| matrix.ty())).at(Some(line)))
    };
    let letters: Vec<char> = ('a'..='z').chain('A'..='Z').collect();
    let last = matrices.len().wrapping_sub(1);
    if matrices.is_empty() || matrices.len() > 50 {
        return refuse(format!("it takes 1 to 50 matrices, and got {}", matrices.len()));
    }
    let mut operands = Vec::with_capacity(matrices.len());
    for (k, matrix) in matrices.iter().enumerate() {
        operands.push(match matrix.rank() {
            2 => format!("{}{}", letters[k], letters[k + 1]),
            1 if k == 0 => letters[1].to_string(),
            1 if k == last => letters[k].to_string(),
            rank => {
                return refuse(format!("operand {k} has {rank} axes, and has to be a matrix, or a vector at an end"));
            }
        });
    }
    for (k, pair) in matrices.windows(2).enumerate() {
        let (columns, rows) = (pair[0].shape()[pair[0].rank() - 1], pair[1].shape()[0]);
        if columns != rows {
            return refuse(format!(
                "the rows of operand {k} are {columns} long, the columns of operand {} {rows}",
                k + 1
            ));
        }
    }
    let first = (matrices[0].rank() == 2).then_some(letters[0]);
    let end = (matrices[last].rank() == 2 || last == 0).then_some(letters[last + 1]);
    let out: String = first.into_iter().chain(end).collect();
    as_of("multi_dot", matrices, Tensor::try_einsum(&format!("{}->{out}", operands.join(",")), matrices))
}
