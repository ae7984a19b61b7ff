//! Sparse derivatives.

#[cfg(feature = "arrays")]
mod arrays;
mod colour;
mod matrix;
mod patterns;
mod random;
mod recorded;
