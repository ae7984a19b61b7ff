//! Sparse derivatives: patterns, colourings, compressed evaluation.

pub mod colour;
pub mod matrix;

pub use self::colour::{Colouring, ColouringError, NO_COLOUR, Order, Partition, Recovery};
pub use self::matrix::{Csr, MatrixError, Stored};
pub use crate::pattern::{Pattern, PatternError};
