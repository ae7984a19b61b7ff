//! Sparse derivatives: patterns, colourings, compressed evaluation.

#[cfg(feature = "arrays")]
mod arrays;
mod choice;
pub mod colour;
mod csc;
mod edge;
#[cfg(any(feature = "faer", feature = "sprs", feature = "nalgebra-sparse"))]
mod exchange;
#[cfg(feature = "arrays")]
mod gather;
pub mod matrix;
mod method;
mod options;
#[cfg(feature = "arrays")]
mod planner;
#[cfg(feature = "arrays")]
mod prepared;
mod recorded;
mod trace;

pub use self::colour::{Colouring, ColouringError, NO_COLOUR, Order, Partition, Recovery};
pub use self::csc::Csc;
pub use self::matrix::{Csr, MatrixError, Stored};
pub use self::method::Method;
pub use self::options::SparseOptions;
#[cfg(feature = "arrays")]
pub use self::prepared::Sparse;
pub use self::recorded::{SparseError, SparseRecorded};
pub use crate::pattern::{Pattern, PatternError};
