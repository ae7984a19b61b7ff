//! Sparse matrices of other libraries: views of ours without copying where their layout allows, and ours made of theirs.
//!
//! All of them see what is stored: of a symmetric matrix whose lower triangle is stored, the lower triangle.

#[cfg(feature = "faer")]
mod faer;
#[cfg(feature = "nalgebra-sparse")]
mod nalgebra;
#[cfg(feature = "sprs")]
mod sprs;

use super::matrix::MatrixError;

/// A row or column of another library's matrix in 32 bits.
fn narrow(index: usize) -> Result<u32, MatrixError> {
    u32::try_from(index).map_err(|_| MatrixError::new(format!("row or column {index}, and a pattern has 2^32 at most")))
}
