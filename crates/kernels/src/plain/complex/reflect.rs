//! Reflections (A. S. Householder, 1958), and the forms that they bring matrices to.

use super::super::C64;

/// The first columns of the identity with this many rows.
pub(super) fn identity(rows: usize, columns: usize) -> Vec<C64> {
    let mut matrix = vec![C64::ZERO; rows * columns];
    (0..rows.min(columns)).for_each(|k| matrix[k * columns + k] = C64::ONE);
    matrix
}

/// The unit vector v such that `x - 2 v (v^H x)` is a multiple of the first axis; zeros if x is one.
pub(super) fn reflector(mut x: Vec<C64>) -> Vec<C64> {
    if x.iter().skip(1).all(|&x| x == C64::ZERO) {
        return vec![C64::ZERO; x.len()];
    }
    let largest = x.iter().fold(0.0f64, |largest, x| largest.max(x.re.abs()).max(x.im.abs()));
    x.iter_mut().for_each(|x| *x = C64::new(x.re / largest, x.im / largest));
    let norm = |x: &[C64]| x.iter().map(|x| x.square()).sum::<f64>().sqrt();
    let first = x[0].phase().times(norm(&x));
    x[0] += first;
    let length = norm(&x);
    x.iter_mut().for_each(|x| *x = C64::new(x.re / length, x.im / length));
    x
}

/// Reflects the rows from `first` on of a matrix with this many columns.
pub(super) fn reflect(v: &[C64], a: &mut [C64], columns: usize, first: usize) {
    if columns == 0 {
        return;
    }
    let rows = &mut a[first * columns..];
    let mut along = vec![C64::ZERO; columns];
    for (row, v) in rows.chunks_exact(columns).zip(v) {
        let turned = v.conj();
        along.iter_mut().zip(row).for_each(|(sum, &x)| *sum += turned * x);
    }
    for (row, v) in rows.chunks_exact_mut(columns).zip(v) {
        super::subtract(row, v.times(2.0), &along);
    }
}

/// Reflects the columns from `first` on: `A (1 - 2 v v^H)`.
pub(super) fn reflect_columns(v: &[C64], a: &mut [C64], columns: usize, first: usize) {
    for row in a.chunks_exact_mut(columns) {
        let row = &mut row[first..];
        let along = row.iter().zip(v).map(|(&x, &v)| x * v).sum::<C64>().times(2.0);
        row.iter_mut().zip(v).for_each(|(x, v)| *x -= along * v.conj());
    }
}

/// `A = Q H Q^H` with a unitary Q and 0 below the first diagonal under the main one of H: of a Hermitian matrix, H is tridiagonal.
pub(super) fn hessenberg(a: &[C64], n: usize) -> (Vec<C64>, Vec<C64>) {
    let (mut q, mut h) = (identity(n, n), a.to_vec());
    for k in 0..n.saturating_sub(2) {
        let v = reflector((k + 1..n).map(|i| h[i * n + k]).collect());
        reflect(&v, &mut h, n, k + 1);
        reflect_columns(&v, &mut h, n, k + 1);
        reflect_columns(&v, &mut q, n, k + 1);
        (k + 2..n).for_each(|i| h[i * n + k] = C64::ZERO);
    }
    (q, h)
}

/// `A = P B Q^H` of a matrix with at least as many rows as columns: P has orthonormal columns, Q is unitary, B is given by its
/// diagonal and the one above, and 0 elsewhere (G. Golub, W. Kahan, 1965).
pub(super) struct Bidiagonal {
    pub(super) left: Vec<C64>,
    pub(super) diagonal: Vec<C64>,
    pub(super) above: Vec<C64>,
    pub(super) right: Vec<C64>,
}

impl Bidiagonal {
    pub(super) fn of(a: &[C64], m: usize, n: usize) -> Bidiagonal {
        let (mut b, mut right) = (a.to_vec(), identity(n, n));
        let mut reflectors = Vec::with_capacity(n);
        for k in 0..n {
            let v = reflector((k..m).map(|i| b[i * n + k]).collect());
            reflect(&v, &mut b, n, k);
            reflectors.push(v);
            if k + 2 < n {
                let v = reflector(b[k * n + k + 1..(k + 1) * n].iter().map(|x| x.conj()).collect());
                reflect_columns(&v, &mut b, n, k + 1);
                reflect_columns(&v, &mut right, n, k + 1);
            }
        }
        let mut left = identity(m, n);
        for (k, v) in reflectors.iter().enumerate().rev() {
            reflect(v, &mut left, n, k);
        }
        let diagonal = (0..n).map(|k| b[k * n + k]).collect();
        let above = (1..n).map(|k| b[(k - 1) * n + k]).collect();
        Bidiagonal { left, diagonal, above, right }
    }
}
