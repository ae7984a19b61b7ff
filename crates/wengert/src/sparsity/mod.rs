//! Sparse derivatives: patterns, colourings, compressed evaluation.

#[cfg(feature = "arrays")]
mod arrays;
mod choice;
mod csc;
mod drivers;
mod edge;
#[cfg(any(feature = "faer", feature = "sprs", feature = "nalgebra-sparse"))]
mod exchange;
#[cfg(feature = "arrays")]
mod gather;
#[cfg(feature = "arrays")]
mod layers;
pub mod matrix;
mod method;
mod options;
#[cfg(feature = "arrays")]
mod planner;
#[cfg(feature = "arrays")]
mod prepared;
mod recorded;
mod trace;
#[cfg(feature = "arrays")]
mod verify;

pub use self::csc::Csc;
#[cfg(feature = "arrays")]
pub use self::drivers::SparseTensor;
pub use self::drivers::{SparseLeaf, sparse_hessian, sparse_hessian_of_lagrangian, sparse_jacobian};
pub use self::matrix::{Csr, MatrixError};
pub use self::method::Method;
pub use self::options::SparseOptions;
#[cfg(feature = "arrays")]
pub use self::prepared::Sparse;
pub use self::recorded::{SparseError, SparseRecorded};
pub use wengert_kernels::colour::{Colouring, ColouringError, NO_COLOUR, Order, Partition, Recovery};
pub use wengert_kernels::pattern::{Pattern, PatternError, Stored};
