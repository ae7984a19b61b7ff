//! Linear algebra of tensors: values, derivatives, repeated spectra, masks, bad input.

mod cholesky;
mod complex;
mod determinants;
mod errors;
mod functions;
mod masks;
mod repeated;

use wengert::prelude::*;

use crate::nn::support::points;

/// A matrix without a pattern whose diagonal is well above the rest.
fn dominant(seed: u64, n: usize) -> Tensor {
    points(seed, &[n, n]) + Tensor::eye(n) * (n as f64)
}

/// A symmetric positive definite matrix.
fn positive(seed: u64, n: usize) -> Tensor {
    let x = points(seed, &[n, n]);
    x.matmul(&x.t()) + Tensor::eye(n)
}

/// An orthogonal matrix.
fn orthogonal(seed: u64, n: usize) -> Tensor {
    points(seed, &[n, n]).qr().0
}

/// The largest element.
fn largest(x: &Tensor) -> f64 {
    x.abs().max().item()
}
