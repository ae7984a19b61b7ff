//! Linear algebra of tensors: functions of matrices, made of the operations of [`primitives`](crate::primitives).
//!
//! A matrix stands in the last two axes; the axes before are a batch. Every function has a `try_` form that returns the error.

mod function;
mod singular;
mod spectral;

pub use singular::{
    Singular, low_rank, nuclear_norm, pinv, polar, singular, try_low_rank, try_nuclear_norm, try_pinv, try_polar,
    try_singular,
};
pub use spectral::{Spectral, logm, spectral, sqrtm, try_logm, try_spectral, try_sqrtm};
