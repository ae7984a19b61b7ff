//! Sparse derivatives: patterns, colourings, compressed evaluation.

pub mod colour;
mod csc;
#[cfg(any(feature = "faer", feature = "sprs", feature = "nalgebra-sparse"))]
mod exchange;
pub mod matrix;

pub use self::colour::{Colouring, ColouringError, NO_COLOUR, Order, Partition, Recovery};
pub use self::csc::Csc;
pub use self::matrix::{Csr, MatrixError, Stored};
pub use crate::pattern::{Pattern, PatternError};
