//! Sparse derivatives.

mod colour;
#[cfg(any(feature = "faer", feature = "sprs", feature = "nalgebra-sparse"))]
mod exchange;
mod matrix;
mod patterns;
