//! `Var` and `Dual` as elements of nalgebra's matrices and ndarray's arrays: derivatives through
//! other people's algorithms against the formulas of matrix calculus (M. Giles, *An extended
//! collection of matrix derivative results for forward and reverse mode automatic differentiation*,
//! 2008).

mod matrices;

mod arrays;

mod numbers;

/// Panics if two lists of numbers differ by more than `bound` times the largest number wanted.
#[track_caller]
fn check<'a>(got: impl IntoIterator<Item = &'a f64>, wanted: impl IntoIterator<Item = &'a f64>, bound: f64) {
    let (got, wanted): (Vec<f64>, Vec<f64>) =
        (got.into_iter().copied().collect(), wanted.into_iter().copied().collect());
    assert_eq!(got.len(), wanted.len());
    let largest = wanted.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
    for (k, (got, wanted)) in got.iter().zip(&wanted).enumerate() {
        let error = (got - wanted).abs();
        assert!(error <= bound * largest, "number {k}: {got} where {wanted} is wanted, bound {bound:e}");
    }
}
