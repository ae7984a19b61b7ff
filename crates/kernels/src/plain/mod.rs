//! Factorisations of one matrix by the textbook, in double precision: what operations are defined by. Those of complex matrices are
//! in [`complex`].
//!
//! Matrices are row-major slices of finite numbers. Methods: G. H. Golub, C. F. Van Loan, *Matrix Computations*, 4th edition, 2013.

mod cofactors;
pub mod complex;
mod exponential;
mod general;
mod jacobi;
mod number;
mod riccati;
mod schur;
mod spectrum;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

pub use cofactors::cofactors;
#[cfg(feature = "linalg")]
pub(crate) use cofactors::{by_singular_values as cofactors_by_singular_values, well_conditioned};
pub use exponential::{expm, expm_frechet};
pub use general::eig;
pub use jacobi::Orthonormal;
pub use number::C64;
pub use riccati::riccati;
pub use schur::MatrixEquation;
pub use schur::{Repeated, Unsolved, commutator, ordered_schur, sylvester};
pub use spectrum::{Spectrum, eigh, svd};

/// What an error says of a zero on the diagonal.
pub fn singular(pivot: usize) -> String {
    format!("the matrix is singular: pivot {pivot} is 0")
}

/// The first of these moduli that is not negligible: more than 2^-40 of the largest one.
fn first_place(mut sizes: impl Iterator<Item = f64> + Clone) -> Option<usize> {
    let largest = sizes.clone().fold(0.0, f64::max);
    sizes.position(|x| x > largest * f64::powi(0.5, 40))
}

/// A power of two for numbers of which this is the largest size, and its inverse: multiplied by the first, their squares neither
/// overflow nor vanish. 1 where they do not anyway.
fn moderating(largest: f64) -> (f64, f64) {
    const FAR: i32 = 300;
    if largest == 0.0 || (f64::powi(0.5, FAR)..=f64::powi(2.0, FAR)).contains(&largest) {
        return (1.0, 1.0);
    }
    let exponent = largest.log2().round().clamp(-1000.0, 1000.0);
    ((-exponent).exp2(), exponent.exp2())
}

/// A matrix with squares that neither overflow nor vanish, and the factor that leads back.
fn moderated(a: &[f64]) -> (Cow<'_, [f64]>, f64) {
    let (factor, back) = moderating(a.iter().fold(0.0, |largest, x| largest.max(x.abs())));
    let a = if factor == 1.0 { Cow::Borrowed(a) } else { a.iter().map(|x| x * factor).collect() };
    (a, back)
}

/// `(A + A^T) / 2`
pub fn symmetric(a: &[f64], n: usize) -> Vec<f64> {
    (0..n * n).map(|place| 0.5 * a[place] + 0.5 * a[place % n * n + place / n]).collect()
}

/// `A^T` of a matrix with this many rows and columns.
pub fn transposed(a: &[f64], m: usize, n: usize) -> Vec<f64> {
    (0..m * n).map(|place| a[place % m * n + place / m]).collect()
}

/// The lower factor of a symmetric matrix.
///
/// # Errors
/// The order of the first leading minor that is not positive.
pub fn cholesky(a: &[f64], n: usize) -> Result<Vec<f64>, usize> {
    let mut l = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            let sum: f64 = (0..j).map(|k| l[i * n + k] * l[j * n + k]).sum();
            let rest = a[i * n + j] - sum;
            if i > j {
                l[i * n + j] = rest / l[j * n + j];
            } else if rest > 0.0 {
                l[i * n + i] = rest.sqrt();
            } else {
                return Err(i + 1);
            }
        }
    }
    Ok(l)
}

/// The lower triangle X with `X L^T + L X^T = (A + A^T) / 2`, of a triangle L without a zero on its diagonal.
pub fn cholesky_tangent(l: &[f64], a: &[f64], n: usize) -> Vec<f64> {
    let a = symmetric(a, n);
    let mut x = vec![0.0; n * n];
    for j in 0..n {
        let sum: f64 = (0..j).map(|k| x[j * n + k] * l[j * n + k]).sum();
        x[j * n + j] = (0.5 * a[j * n + j] - sum) / l[j * n + j];
        for i in j + 1..n {
            let sum: f64 = (0..j).map(|k| x[i * n + k] * l[j * n + k] + l[i * n + k] * x[j * n + k]).sum();
            x[i * n + j] = (a[i * n + j] - sum - l[i * n + j] * x[j * n + j]) / l[j * n + j];
        }
    }
    x
}

/// The transpose of [`cholesky_tangent`] in A: the symmetric S whose product `2 S L` has the lower triangle of C.
pub fn cholesky_cotangent(l: &[f64], c: &[f64], n: usize) -> Vec<f64> {
    let mut s = vec![0.0; n * n];
    for j in (0..n).rev() {
        // An element on the diagonal asks for those below it.
        for i in (j..n).rev() {
            let sum: f64 = (j + 1..n).map(|k| s[i * n + k] * l[k * n + j]).sum();
            s[i * n + j] = (0.5 * c[i * n + j] - sum) / l[j * n + j];
            s[j * n + i] = s[i * n + j];
        }
    }
    s
}

/// `A[p] = L U` with the largest pivot of each column, the first of equal ones: L, U and p. L has ones on its diagonal and
/// m by min(m, n) elements. It always exists: below a pivot that is 0, L is 0.
pub fn lu(a: &[f64], m: usize, n: usize) -> (Vec<f64>, Vec<f64>, Vec<usize>) {
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
        if divisor == 0.0 {
            continue;
        }
        for i in k + 1..m {
            let factor = a[i * n + k] / divisor;
            a[i * n + k] = factor;
            (k + 1..n).for_each(|j| a[i * n + j] -= factor * a[k * n + j]);
        }
    }
    let l = |place: usize| match (place / rank, place % rank) {
        (i, j) if i == j => 1.0,
        (i, j) if i > j => a[i * n + j],
        _ => 0.0,
    };
    let u = |place: usize| if place / n <= place % n { a[place] } else { 0.0 };
    ((0..m * rank).map(l).collect(), (0..rank * n).map(u).collect(), order)
}

/// The triangles L' and U' with `L' U + L U' = A`, in one matrix: L' below the diagonal, where L has ones, and U' on it and above.
pub fn lu_tangent(l: &[f64], u: &[f64], a: &[f64], n: usize) -> Vec<f64> {
    let mut x = a.to_vec();
    for step in 0..n {
        for i in step + 1..n {
            x[i * n + step] = (x[i * n + step] - l[i * n + step] * x[step * n + step]) / u[step * n + step];
            for j in step + 1..n {
                x[i * n + j] -= x[i * n + step] * u[step * n + j] + l[i * n + step] * x[step * n + j];
            }
        }
    }
    x
}

/// The transpose of [`lu_tangent`] in A: the S whose product `S U^T` has the elements of C below the diagonal, and `L^T S` those on it
/// and above.
pub fn lu_cotangent(l: &[f64], u: &[f64], c: &[f64], n: usize) -> Vec<f64> {
    let mut s = c.to_vec();
    for step in (0..n).rev() {
        for i in step + 1..n {
            let sum: f64 = (step + 1..n).map(|k| s[i * n + k] * u[step * n + k]).sum();
            s[i * n + step] = (s[i * n + step] - sum) / u[step * n + step];
        }
        for j in step..n {
            let sum: f64 = (step + 1..n).map(|k| l[k * n + step] * s[k * n + j]).sum();
            s[step * n + j] -= sum;
        }
    }
    s
}

/// `A = Q R`, reduced, by reflections (A. S. Householder, 1958), with a diagonal of R that is not negative.
pub fn qr(a: &[f64], m: usize, n: usize) -> (Vec<f64>, Vec<f64>) {
    let rank = m.min(n);
    let mut r = a.to_vec();
    let mut reflectors: Vec<Vec<f64>> = Vec::with_capacity(rank);
    for k in 0..rank {
        let column: Vec<f64> = (k..m).map(|i| r[i * n + k]).collect();
        let reflector = reflector(column);
        reflect(&reflector, &mut r, n, k);
        reflectors.push(reflector);
    }
    let mut q = vec![0.0; m * rank];
    (0..rank).for_each(|k| q[k * rank + k] = 1.0);
    for (k, reflector) in reflectors.iter().enumerate().rev() {
        reflect(reflector, &mut q, rank, k);
    }
    for k in 0..rank {
        (k + 1..rank.min(m)).for_each(|i| r[i * n + k] = 0.0);
        if r[k * n + k] < 0.0 {
            (k..n).for_each(|j| r[k * n + j] = -r[k * n + j]);
            (0..m).for_each(|i| q[i * rank + k] = -q[i * rank + k]);
        }
    }
    r.truncate(rank * n);
    (q, r)
}

/// The unit vector v such that `x - 2 v (v^T x)` is a multiple of the first axis; zeros if x is one.
fn reflector(mut x: Vec<f64>) -> Vec<f64> {
    let largest = x.iter().fold(0.0f64, |largest, x| largest.max(x.abs()));
    if x[1..].iter().all(|&x| x == 0.0) {
        return vec![0.0; x.len()];
    }
    x.iter_mut().for_each(|x| *x /= largest);
    let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
    x[0] += norm.copysign(x[0]);
    let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
    x.iter_mut().for_each(|x| *x /= norm);
    x
}

/// Reflects the rows from `first` on of a matrix with this many columns.
fn reflect(v: &[f64], a: &mut [f64], columns: usize, first: usize) {
    reflect_within(v, a, columns, first, 0..columns);
}

/// As [`reflect`], of these columns alone; some at a time, so that whole rows are read.
fn reflect_within(v: &[f64], a: &mut [f64], width: usize, first: usize, columns: std::ops::Range<usize>) {
    const AT_ONCE: usize = 16;
    let mut start = columns.start;
    while start < columns.end {
        let end = columns.end.min(start + AT_ONCE);
        let mut sums = [0.0; AT_ONCE];
        let sums = &mut sums[..end - start];
        for (i, &v) in v.iter().enumerate() {
            let row = &a[(first + i) * width..][start..end];
            sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += v * x);
        }
        for (i, &v) in v.iter().enumerate() {
            let row = &mut a[(first + i) * width..][start..end];
            row.iter_mut().zip(&*sums).for_each(|(x, sum)| *x -= 2.0 * v * sum);
        }
        start = end;
    }
}

/// Solves `op(T) X = B` in place, where T is a triangle of this order, for B with this many columns.
fn substitute(at: impl Fn(usize, usize) -> f64, n: usize, x: &mut [f64], columns: usize, forward: bool) {
    for k in 0..n {
        let i = if forward { k } else { n - 1 - k };
        for column in 0..columns {
            let before = if forward { 0..i } else { i + 1..n };
            let sum: f64 = before.map(|j| at(i, j) * x[j * columns + column]).sum();
            x[i * columns + column] = (x[i * columns + column] - sum) / at(i, i);
        }
    }
}

/// `A^-1 B`, or `A^-T B`.
///
/// # Errors
/// The first pivot that is 0.
pub fn solve(a: &[f64], n: usize, right: &[f64], columns: usize, transpose: bool) -> Result<Vec<f64>, usize> {
    let (l, u, order) = lu(a, n, n);
    if let Some(zero) = (0..n).find(|i| u[i * n + i] == 0.0) {
        return Err(zero);
    }
    let mut x = vec![0.0; n * columns];
    if transpose {
        let mut y = right.to_vec();
        substitute(|i, j| u[j * n + i], n, &mut y, columns, true);
        substitute(|i, j| l[j * n + i], n, &mut y, columns, false);
        for (i, &row) in order.iter().enumerate() {
            x[row * columns..(row + 1) * columns].copy_from_slice(&y[i * columns..(i + 1) * columns]);
        }
        return Ok(x);
    }
    for (i, &row) in order.iter().enumerate() {
        x[i * columns..(i + 1) * columns].copy_from_slice(&right[row * columns..(row + 1) * columns]);
    }
    substitute(|i, j| l[i * n + j], n, &mut x, columns, true);
    substitute(|i, j| u[i * n + j], n, &mut x, columns, false);
    Ok(x)
}

/// `A^-1 B` for a symmetric matrix.
///
/// # Errors
/// The order of the first leading minor that is not positive.
pub fn solve_positive(a: &[f64], n: usize, right: &[f64], columns: usize) -> Result<Vec<f64>, usize> {
    let l = cholesky(a, n)?;
    let mut x = right.to_vec();
    substitute(|i, j| l[i * n + j], n, &mut x, columns, true);
    substitute(|i, j| l[j * n + i], n, &mut x, columns, false);
    Ok(x)
}

/// Whether a permutation is odd, as a factor 1 or -1.
pub fn parity(order: &[usize]) -> f64 {
    let mut seen = vec![false; order.len()];
    let mut sign = 1.0;
    for start in 0..order.len() {
        let mut place = start;
        let mut length = 0;
        while !std::mem::replace(&mut seen[place], true) {
            place = order[place];
            length += 1;
        }
        if length > 0 && length % 2 == 0 {
            sign = -sign;
        }
    }
    sign
}

/// The determinant.
pub fn det(a: &[f64], n: usize) -> f64 {
    let (_, u, order) = lu(a, n, n);
    (0..n).fold(parity(&order), |product, i| product * u[i * n + i])
}
