//! Linear algebra: factorisations, systems, determinants, functions of matrices, composed of the operations of
//! [`Tensor`](crate::Tensor).
//!
//! A matrix stands in the last two axes of a tensor; the axes before are a batch, and those of two operands stretch to each
//! other. Most functions are methods of `Tensor`, and each has a `try_` twin that returns the error instead of a panic. All
//! are differentiated in every mode and order, and mapped by [`vmap`](crate::vmap).
//!
//! | what | methods |
//! |---|---|
//! | factorisations | `cholesky`, `lu`, `qr`, `eigh`, `eigvalsh`, `eig`, `schur`, `svd`, `singular_values` |
//! | systems | `solve`, `solve_spd`, `solve_triangular`, `lstsq`, `lstsq_damped`, `inv`; [`Factor`], factored once |
//! | numbers of a matrix | `det`, `slogdet`, `logdet_spd`, `frobenius_norm`, `spectral_norm`, `cond_number`, `matrix_rank` |
//! | functions and products | `expm`, `matrix_power`, `kron`, [`multi_dot`] |
//! | functions of a spectrum, where values repeat | [`spectral()`], [`singular()`], [`sqrtm`], [`logm`], [`polar`], [`nuclear_norm`], [`low_rank`], [`pinv`] |
//! | equations | [`sylvester`], [`lyapunov`], [`lyapunov_discrete`], [`riccati`], [`riccati_discrete`] |
//! | structured matrices | [`toeplitz`], [`circulant`], [`solve_toeplitz`], [`solve_circulant`], [`matmul_toeplitz`], [`matmul_circulant`], `cholesky_update`, `cholesky_downdate` |
//!
//! [`Complex<Tensor>`](crate::Complex) has `solve`, `solve_triangular`, `inv`, `cholesky`, `lu`, `qr`, `eigh`, `eigvalsh`, `eig`, `schur`,
//! `svd` and `singular_values` of complex matrices.
//!
//! A matrix that is singular or not positive definite, an entry that is no number, a rank that is missing: these are errors
//! that name the operation, the matrix of the batch, and the user's line. Under `vmap` and in branches only what counts is
//! looked at. `docs/linalg.md` says which derivatives exist where.
//!
//! ```
//! use wengert::prelude::*;
//! let a = Tensor::from([[4.0, 1.0], [1.0, 3.0]]);
//! let b = Tensor::from([1.0, 2.0]);
//! let energy = |a: &Tensor| b.dot(&a.solve_spd(&b)) + a.logdet_spd();
//! let slope = grad(&a, |a| energy(&a));
//! let x = a.solve(&b).to_vec();
//! let inverse = a.inv().to_vec();
//! assert!((slope.to_vec()[1] - (inverse[1] - x[0] * x[1])).abs() < 1e-15);
//! ```

mod complex;
mod equations;
mod factor;
mod factorise;
mod function;
mod functions;
mod measures;
mod singular;
mod solve;
mod spectral;
mod structured;

/// The families of `try_` methods of this folder.
pub(crate) mod twins {
    pub use super::factorise::TryFactorise;
    pub use super::functions::TryMatrixFunction;
    pub use super::measures::TryMeasure;
    pub use super::solve::TrySolve;
    pub use super::structured::TryCholeskyUpdate;
}

pub use crate::primitives::{Side, Triangle, TriangularSolve};
pub use equations::{
    lyapunov, lyapunov_discrete, riccati, riccati_discrete, sylvester, try_lyapunov, try_lyapunov_discrete,
    try_riccati, try_riccati_discrete, try_sylvester,
};
pub use factor::Factor;
pub use functions::{multi_dot, try_multi_dot};
pub use singular::{
    Singular, low_rank, nuclear_norm, pinv, polar, singular, try_low_rank, try_nuclear_norm, try_pinv, try_polar,
    try_singular,
};
pub use spectral::{Spectral, logm, spectral, sqrtm, try_logm, try_spectral, try_sqrtm};
pub use structured::{
    circulant, matmul_circulant, matmul_toeplitz, solve_circulant, solve_toeplitz, toeplitz, try_circulant,
    try_matmul_circulant, try_matmul_toeplitz, try_solve_circulant, try_solve_toeplitz, try_toeplitz,
};

use crate::error::{Misfit, misfit};
use crate::primitives::check_float;
use crate::program::{Builder, Value};
use crate::tensor::compose::{joint_shape, stretch};

/// Checks matrices of real numbers: rows and columns.
fn check_matrix(b: &Builder, x: Value) -> Result<(usize, usize), Misfit> {
    check_float(b.ty(x))?;
    match b.shape(x) {
        [.., rows, columns] => Ok((*rows, *columns)),
        shape => misfit!("it takes matrices: at least two axes are needed, and there are {}", shape.len()),
    }
}

/// Checks square matrices of real numbers: their order.
fn check_square(b: &Builder, x: Value) -> Result<usize, Misfit> {
    match check_matrix(b, x)? {
        (rows, columns) if rows == columns => Ok(rows),
        (rows, columns) => misfit!("the matrix is {rows} by {columns}, and has to be square"),
    }
}

/// A matrix and a right-hand side, the axes before stretched to each other; a vector is a matrix of one column, or one row
/// where the matrix stands on the right.
struct System {
    a: Value,
    right: Value,
    is_vector: bool,
    side: Side,
}

impl System {
    fn new(b: &mut Builder, a: Value, right: Value, side: Side) -> Result<Self, Misfit> {
        let (rows, columns) = check_matrix(b, a)?;
        if b.dtype(a) != b.dtype(right) {
            misfit!("the element types differ; convert one of them first");
        }
        let is_vector = b.shape(right).len() == 1;
        let right = match (b.shape(right), side) {
            ([], _) => misfit!("the right-hand side is a single number, and has to be a vector or a matrix"),
            (&[length], Side::Left) => b.reshape(right, &[length, 1]),
            (&[length], Side::Right) => b.reshape(right, &[1, length]),
            _ => right,
        };
        let (lead, own) = split(b.shape(a));
        let (other, shape) = split(b.shape(right));
        let (wanted, what, got) = match side {
            Side::Left => (rows, "rows", shape[0]),
            Side::Right => (columns, "columns", shape[1]),
        };
        if got != wanted {
            misfit!("the matrix has {wanted} {what}, and the right-hand side {got}");
        }
        let lead = joint_shape(&lead, &other)?;
        let a = stretch(b, a, &[&lead[..], &own].concat());
        let right = stretch(b, right, &[&lead[..], &shape].concat());
        Ok(System { a, right, is_vector, side })
    }

    /// The solution in the form of the right-hand side.
    fn given(&self, b: &mut Builder, x: Value) -> Value {
        if !self.is_vector {
            return x;
        }
        let (mut lead, own) = split(b.shape(x));
        lead.push(if self.side == Side::Left { own[0] } else { own[1] });
        b.reshape(x, &lead)
    }
}

/// The axes before the matrices, and theirs.
fn split(shape: &[usize]) -> (Vec<usize>, [usize; 2]) {
    let at = shape.len() - 2;
    (shape[..at].to_vec(), [shape[at], shape[at + 1]])
}
