//! Sparse derivatives.

mod arrays;
mod colour;
mod exchange;
mod golden;
mod local;
mod matrix;
mod patterns;
mod random;
mod recorded;
