//! Sparse derivatives.

mod colour;
mod matrix;
mod patterns;
