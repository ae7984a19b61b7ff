//! Loops and branches that users write: against the same steps as a loop of Rust, which is recorded step by step.

mod called;
mod errors;
mod laws;
mod masks;
mod orders;
mod place;
mod random;
mod shared;
mod short;
mod strips;
mod structure;
mod truncated;
mod weights;
mod zero;

use wengert::prelude::*;
use wengert::scan;

/// Asserts that numbers agree up to `roundings` roundings of the largest.
#[track_caller]
fn near(what: &str, got: &Tensor, want: &Tensor, roundings: f64) {
    assert_eq!(got.shape(), want.shape(), "{what}");
    let (got, want) = (got.to_vec(), want.to_vec());
    let largest = want.iter().fold(0.0, |largest: f64, want| largest.max(want.abs()));
    assert!(want.iter().all(|want| want.is_finite()), "{what}: {want:?} is no test");
    for (got, want) in got.iter().zip(&want) {
        let off = (got - want).abs();
        assert!(off <= roundings * f64::EPSILON * largest, "{what}: {got} instead of {want}, off by {off:e}");
    }
}

/// The last carry of a scan whose steps give nothing else.
fn fold(init: &Tensor, xs: &Tensor, step: impl Fn(Tensor, Tensor) -> Tensor) -> Tensor {
    scan(init, xs, |c, x| (step(c, x), ())).0
}

/// The rows of an array.
fn rows(x: &Tensor) -> Vec<Tensor> {
    (0..x.shape()[0]).map(|k| x.slice(k as isize)).collect()
}

/// Numbers between -1 and 1 without a pattern, from a place of the sine.
fn numbers(from: usize, count: usize) -> Tensor {
    Tensor::from((from..from + count).map(|k| (k as f64 * 12.9898).sin()).collect::<Vec<f64>>())
}

/// The sum of numbers.
fn total(numbers: impl IntoIterator<Item = Tensor>) -> Tensor {
    numbers.into_iter().fold(Tensor::from(0.0), |sum, x| sum + x)
}

/// The bits of all numbers.
fn bits(tensors: &[Tensor]) -> Vec<u64> {
    tensors.iter().flat_map(|tensor| tensor.to_vec()).map(f64::to_bits).collect()
}

/// A number that depends on every element of the results in its own way.
fn weighted(results: &[Tensor]) -> Tensor {
    total(results.iter().enumerate().map(|(k, result)| {
        let weights = numbers(100 * k, result.shape().iter().product()).reshape(result.shape());
        (result * weights).sum()
    }))
}
