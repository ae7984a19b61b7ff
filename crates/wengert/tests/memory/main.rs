//! What calls allocate, measured: nothing or no more than their results where a page says so, and within a few per cent what
//! plans predict.
//!
//! These tests are a binary of their own, because counting makes every allocation slower: it took a tenth of the time of all
//! other tests.

#[path = "../all/support/nightly.rs"]
#[expect(dead_code, reason = "nothing here is tried with seeds")]
mod nightly;

mod budgets;
mod calls;
mod factorisations;

use wengert::prelude::*;

/// Numbers between -1 and 1 that look random.
fn numbers(shape: &[usize], seed: u64) -> Tensor {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    Tensor::from_vec(shape, (0..shape.iter().product()).map(|_| next()).collect())
}
