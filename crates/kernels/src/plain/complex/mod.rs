//! Factorisations of one complex matrix by the textbook, in double precision.
//!
//! Row-major slices of finite numbers, as everywhere in [`plain`](super). Whole rows are added to rows, which vector
//! instructions do. Factors are those of real matrices with the transposed matrix replaced by the conjugate one: what is chosen
//! there by a sign is chosen here by a phase.

mod eig;
mod reflect;
pub(super) mod schur;
mod spectrum;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

pub use eig::eig;
use reflect::{reflect, reflector};
pub use schur::{commutator, ordered_schur};
pub use spectrum::{ComplexSpectrum, eigh, svd};

use super::{C64, moderating};

/// A matrix with squares that neither overflow nor vanish, and the factor that leads back.
fn moderated(a: &[C64]) -> (Cow<'_, [C64]>, f64) {
    let (factor, back) = moderating(a.iter().fold(0.0, |largest, x| largest.max(x.re.abs()).max(x.im.abs())));
    let a = if factor == 1.0 { Cow::Borrowed(a) } else { a.iter().map(|x| x.times(factor)).collect() };
    (a, back)
}

/// `(A + A^H) / 2`
pub fn hermitian(a: &[C64], n: usize) -> Vec<C64> {
    (0..n * n).map(|place| a[place].times(0.5) + a[place % n * n + place / n].conj().times(0.5)).collect()
}

/// `A^H` of a matrix with this many rows and columns.
pub fn adjoint(a: &[C64], m: usize, n: usize) -> Vec<C64> {
    (0..m * n).map(|place| a[place % m * n + place / m].conj()).collect()
}

/// `y -= factor x`
fn subtract(y: &mut [C64], factor: C64, x: &[C64]) {
    y.iter_mut().zip(x).for_each(|(y, &x)| *y -= factor * x);
}

/// Two rows of this length, to change the first.
fn two_rows(a: &mut [C64], width: usize, to: usize, from: usize) -> (&mut [C64], &[C64]) {
    if to < from {
        let (low, high) = a.split_at_mut(from * width);
        (&mut low[to * width..][..width], &high[..width])
    } else {
        let (low, high) = a.split_at_mut(to * width);
        (&mut high[..width], &low[from * width..][..width])
    }
}

/// The lower factor L of a Hermitian matrix `L L^H`, with a positive diagonal.
///
/// # Errors
/// The order of the first leading minor that is not positive.
pub fn cholesky(a: &[C64], n: usize) -> Result<Vec<C64>, usize> {
    let mut l = a.to_vec();
    for k in 0..n {
        let rest = l[k * n + k].re;
        // NaN is not positive either.
        if rest.is_nan() || rest <= 0.0 {
            return Err(k + 1);
        }
        let pivot = rest.sqrt();
        l[k * n + k] = pivot.into();
        // Nothing above the diagonal is read.
        l[k * n + k + 1..(k + 1) * n].fill(C64::ZERO);
        let column: Vec<C64> = (k + 1..n).map(|i| l[i * n + k].times(1.0 / pivot)).collect();
        let turned: Vec<C64> = column.iter().map(|x| x.conj()).collect();
        for (place, &factor) in column.iter().enumerate() {
            let i = k + 1 + place;
            let row = &mut l[i * n..(i + 1) * n];
            subtract(&mut row[k + 1..=i], factor, &turned[..=place]);
            row[k] = factor;
        }
    }
    Ok(l)
}

/// `A[p] = L U` with the pivot of largest modulus in each column, the first of equal ones: L, U and p, as the real
/// [`lu`](super::lu) has them.
pub fn lu(a: &[C64], m: usize, n: usize) -> (Vec<C64>, Vec<C64>, Vec<usize>) {
    let rank = m.min(n);
    let mut a = a.to_vec();
    let mut order: Vec<usize> = (0..m).collect();
    for k in 0..rank {
        let mut pivot = k;
        for i in k + 1..m {
            if a[i * n + k].abs() > a[pivot * n + k].abs() {
                pivot = i;
            }
        }
        order.swap(k, pivot);
        (0..n).for_each(|j| a.swap(k * n + j, pivot * n + j));
        let divisor = a[k * n + k];
        if divisor == C64::ZERO {
            continue;
        }
        for i in k + 1..m {
            let factor = a[i * n + k] / divisor;
            let (row, above) = two_rows(&mut a, n, i, k);
            subtract(&mut row[k + 1..], factor, &above[k + 1..]);
            row[k] = factor;
        }
    }
    let l = |place: usize| match (place / rank, place % rank) {
        (i, j) if i == j => C64::ONE,
        (i, j) if i > j => a[i * n + j],
        _ => C64::ZERO,
    };
    let u = |place: usize| if place / n <= place % n { a[place] } else { C64::ZERO };
    ((0..m * rank).map(l).collect(), (0..rank * n).map(u).collect(), order)
}

/// Solves `T X = B` in place, where the elements of a triangle are given by row and column, for X with this many columns.
pub fn substitute(at: impl Fn(usize, usize) -> C64, n: usize, x: &mut [C64], columns: usize, forward: bool) {
    for k in 0..n {
        let i = if forward { k } else { n - 1 - k };
        for j in if forward { 0..i } else { i + 1..n } {
            let (row, known) = two_rows(x, columns, i, j);
            subtract(row, at(i, j), known);
        }
        let divisor = at(i, i);
        x[i * columns..(i + 1) * columns].iter_mut().for_each(|x| *x = *x / divisor);
    }
}

/// `A^-1 B`.
///
/// # Errors
/// The first pivot that is 0.
pub fn solve(a: &[C64], n: usize, right: &[C64], columns: usize) -> Result<Vec<C64>, usize> {
    let (l, u, order) = lu(a, n, n);
    if let Some(zero) = (0..n).find(|i| u[i * n + i] == C64::ZERO) {
        return Err(zero);
    }
    let mut x = Vec::with_capacity(right.len());
    order.iter().for_each(|&row| x.extend_from_slice(&right[row * columns..(row + 1) * columns]));
    substitute(|i, j| l[i * n + j], n, &mut x, columns, true);
    substitute(|i, j| u[i * n + j], n, &mut x, columns, false);
    Ok(x)
}

/// `A = Q R`, reduced, by reflections, with a diagonal of R that is real and not negative.
pub fn qr(a: &[C64], m: usize, n: usize) -> (Vec<C64>, Vec<C64>) {
    let rank = m.min(n);
    let mut r = a.to_vec();
    let mut reflectors: Vec<Vec<C64>> = Vec::with_capacity(rank);
    for k in 0..rank {
        let reflector = reflector((k..m).map(|i| r[i * n + k]).collect());
        reflect(&reflector, &mut r, n, k);
        reflectors.push(reflector);
    }
    let mut q = reflect::identity(m, rank);
    for (k, reflector) in reflectors.iter().enumerate().rev() {
        reflect(reflector, &mut q, rank, k);
    }
    for k in 0..rank {
        (k + 1..m.min(rank)).for_each(|i| r[i * n + k] = C64::ZERO);
        let pivot = r[k * n + k];
        let phase = pivot.phase();
        r[k * n..(k + 1) * n].iter_mut().skip(k).for_each(|x| *x = *x * phase.conj());
        r[k * n + k] = pivot.abs().into();
        (0..m).for_each(|i| q[i * rank + k] = q[i * rank + k] * phase);
    }
    r.truncate(rank * n);
    (q, r)
}
