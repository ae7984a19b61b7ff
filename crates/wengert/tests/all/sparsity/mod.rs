//! Sparse derivatives.

mod recorded;
