//! Eigenvalues of symmetric matrices and singular values, with signs that are chosen.

use super::{first_place, jacobi, transposed};

/// Vectors as columns, values, vectors as rows.
#[derive(Clone, Debug)]
pub struct Spectrum {
    /// m by k, columns.
    pub left: Vec<f64>,
    /// k values.
    pub values: Vec<f64>,
    /// k by n, rows.
    pub right: Vec<f64>,
}

/// The factor 1 or -1 that makes the first component of a vector that is not negligible positive.
///
/// Negligible is what is less than 2^-40 of the largest one: such a component is as good as 0, and so is its sign.
pub(super) fn turned(vector: impl Iterator<Item = f64> + Clone) -> f64 {
    let first = first_place(vector.clone().map(f64::abs));
    if first.and_then(|place| vector.clone().nth(place)).is_some_and(|x| x < 0.0) { -1.0 } else { 1.0 }
}

/// Ascending eigenvalues and the eigenvectors as columns of a symmetric matrix; `None` if the rotations do not end.
pub fn eigh(a: &[f64], n: usize) -> Option<(Vec<f64>, Vec<f64>)> {
    let (values, mut vectors) = jacobi::symmetric(a, n)?;
    for k in 0..n {
        let sign = turned((0..n).map(|row| vectors[row * n + k]));
        (0..n).for_each(|row| vectors[row * n + k] *= sign);
    }
    Some((values, vectors))
}

/// The reduced singular value decomposition, values descending; `None` if the rotations do not end.
pub fn svd(a: &[f64], m: usize, n: usize) -> Option<Spectrum> {
    if m < n {
        let (left, values, right) = jacobi::singular(&transposed(a, m, n), n, m)?;
        // The vectors that were left are turned with those that become so.
        return Some(signed(Spectrum { left: right, values, right: transposed(&left, n, m) }, m, n));
    }
    let (left, values, right) = jacobi::singular(a, m, n)?;
    Some(signed(Spectrum { left, values, right: transposed(&right, n, n) }, m, n))
}

/// Every pair of vectors turned so that the first component on the left is positive.
fn signed(mut spectrum: Spectrum, m: usize, n: usize) -> Spectrum {
    let k = spectrum.values.len();
    for j in 0..k {
        let sign = turned((0..m).map(|i| spectrum.left[i * k + j]));
        (0..m).for_each(|i| spectrum.left[i * k + j] *= sign);
        (0..n).for_each(|i| spectrum.right[j * n + i] *= sign);
    }
    spectrum
}
