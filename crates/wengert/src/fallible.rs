//! The `try_` methods of [`Tensor`](crate::Tensor): what a method without `try_` does, with an [`Error`](crate::Error) in place of a
//! panic. They are in traits by families, all of them in the [prelude](crate::prelude), so that the page of `Tensor` lists each
//! method once.
//!
//! ```
//! use wengert::prelude::*;
//! let (x, y) = (Tensor::zeros(&[2, 3]), Tensor::zeros(&[4]));
//! let error = x.try_add(&y).unwrap_err().to_string();
//! assert!(error.contains("`add` of f64[2,3] and f64[4]"), "{error}");
//! ```

pub use crate::linalg::twins::*;
pub use crate::nn::twins::*;
pub use crate::tensor::twins::*;
