//! Sparse derivatives.

#[cfg(feature = "arrays")]
mod arrays;
mod colour;
#[cfg(any(feature = "faer", feature = "sprs", feature = "nalgebra-sparse"))]
mod exchange;
mod golden;
mod matrix;
mod patterns;
mod random;
mod recorded;
