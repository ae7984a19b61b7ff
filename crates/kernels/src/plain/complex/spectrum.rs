//! Eigenvalues of Hermitian matrices and singular values, with phases that are chosen.
//!
//! Reflections leave two diagonals, phases make them real, and rotations of real columns do the rest.

use super::super::{C64, first_place, jacobi};
use super::adjoint;
use super::reflect::{Bidiagonal, hessenberg};

/// Vectors as columns, values, the conjugates of vectors as rows.
#[derive(Clone, Debug)]
pub struct ComplexSpectrum {
    /// m by k, columns.
    pub left: Vec<C64>,
    /// k values.
    pub values: Vec<f64>,
    /// k by n, rows.
    pub right: Vec<C64>,
}

/// The factor of modulus 1 that makes the first component of a vector that is not negligible real and positive, and where that
/// is. Negligible is what is less than 2^-40 of the largest one.
pub(super) fn turned(vector: &[C64]) -> Option<(usize, C64)> {
    let first = first_place(vector.iter().map(|x| x.abs()))?;
    Some((first, vector[first].phase().conj()))
}

/// Turns a column, and its component that fixes the phase becomes real; the factor.
fn turn(matrix: &mut [C64], width: usize, column: usize) -> C64 {
    let rows = matrix.len() / width;
    let vector: Vec<C64> = (0..rows).map(|row| matrix[row * width + column]).collect();
    let Some((first, factor)) = turned(&vector) else { return C64::ONE };
    (0..rows).for_each(|row| matrix[row * width + column] = vector[row] * factor);
    matrix[first * width + column] = vector[first].abs().into();
    factor
}

/// `Q D S` with a diagonal of phases and a real matrix of this order.
fn combined(q: &[C64], phases: &[C64], s: &[f64]) -> Vec<C64> {
    let n = phases.len();
    let mut product = vec![C64::ZERO; q.len()];
    if n == 0 {
        return product;
    }
    for (out, row) in product.chunks_exact_mut(n).zip(q.chunks_exact(n)) {
        for ((&x, &phase), s) in row.iter().zip(phases).zip(s.chunks_exact(n)) {
            let factor = x * phase;
            out.iter_mut().zip(s).for_each(|(out, &s)| *out += factor.times(s));
        }
    }
    product
}

/// Ascending eigenvalues and the eigenvectors as columns of a Hermitian matrix; `None` if the rotations do not end.
pub fn eigh(a: &[C64], n: usize) -> Option<(Vec<f64>, Vec<C64>)> {
    let (q, t) = hessenberg(a, n);
    let mut phases = vec![C64::ONE; n];
    let mut real = vec![0.0; n * n];
    for k in 0..n {
        real[k * n + k] = t[k * n + k].re;
        if k > 0 {
            let under = t[k * n + k - 1];
            phases[k] = phases[k - 1] * under.phase();
            (real[k * n + k - 1], real[(k - 1) * n + k]) = (under.abs(), under.abs());
        }
    }
    let (values, s) = jacobi::symmetric(&real, n)?;
    let mut vectors = combined(&q, &phases, &s);
    for k in 0..n {
        turn(&mut vectors, n, k);
    }
    Some((values, vectors))
}

/// The reduced singular value decomposition, values descending; `None` if the rotations do not end.
pub fn svd(a: &[C64], m: usize, n: usize) -> Option<ComplexSpectrum> {
    let (mut left, values, mut right) = if m < n {
        let (left, values, right) = tall(&adjoint(a, m, n), n, m)?;
        (right, values, adjoint(&left, n, m))
    } else {
        let (left, values, right) = tall(a, m, n)?;
        (left, values, adjoint(&right, n, n))
    };
    let rank = values.len();
    for k in 0..rank {
        let factor = turn(&mut left, rank, k).conj();
        right[k * n..(k + 1) * n].iter_mut().for_each(|x| *x = *x * factor);
    }
    Some(ComplexSpectrum { left, values, right })
}

/// `A = U diag(s) V^H` of a matrix with at least as many rows as columns: U, s, V.
fn tall(a: &[C64], m: usize, n: usize) -> Option<(Vec<C64>, Vec<f64>, Vec<C64>)> {
    let Bidiagonal { left, diagonal, above, right } = Bidiagonal::of(a, m, n);
    let (mut from_left, mut from_right) = (vec![C64::ONE; n], vec![C64::ONE; n]);
    let mut real = vec![0.0; n * n];
    for k in 0..n {
        if k > 0 {
            let above = from_left[k - 1].conj() * above[k - 1];
            from_right[k] = above.phase().conj();
            real[(k - 1) * n + k] = above.abs();
        }
        let on = diagonal[k] * from_right[k];
        from_left[k] = on.phase();
        real[k * n + k] = on.abs();
    }
    let (u, values, v) = jacobi::singular(&real, n, n)?;
    Some((combined(&left, &from_left, &u), values, combined(&right, &from_right, &v)))
}
