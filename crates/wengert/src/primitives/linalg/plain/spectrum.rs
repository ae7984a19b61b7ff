//! Eigenvalues of symmetric matrices and singular values, by rotations of two columns at a time.
//!
//! C. G. J. Jacobi, 1846, for `eigh`; M. R. Hestenes, 1958, for `svd`. Both are accurate to the last digits for small matrices
//! and converge quadratically; nothing is faster to check.

use super::transposed;

/// How often all pairs are rotated at most: ten sweeps are enough for hundreds of columns.
const MOST_SWEEPS: usize = 80;

/// Vectors as columns, values, vectors as rows.
pub(crate) struct Spectrum {
    /// m by k, columns.
    pub(crate) left: Vec<f64>,
    /// k values.
    pub(crate) values: Vec<f64>,
    /// k by n, rows.
    pub(crate) right: Vec<f64>,
}

/// The factor 1 or -1 that makes the first component of a vector that is not negligible positive.
///
/// Negligible is what is less than 2^-40 of the largest one: such a component is as good as 0, and so is its sign.
pub(crate) fn turned(vector: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = vector.clone().fold(0.0f64, |largest, x| largest.max(x.abs()));
    let first = vector.into_iter().find(|x| x.abs() > largest * f64::powi(0.5, 40));
    if first.is_some_and(|x| x < 0.0) { -1.0 } else { 1.0 }
}

/// The rotation (cosine, sine) that makes two columns orthogonal, whose squared lengths are `p` and `q` and whose product is
/// `product`.
fn rotation(p: f64, q: f64, product: f64) -> (f64, f64) {
    let cotangent = (q - p) / (2.0 * product);
    let tangent = 1.0f64.copysign(cotangent) / (cotangent.abs() + cotangent.hypot(1.0));
    let cosine = 1.0 / tangent.hypot(1.0);
    (cosine, cosine * tangent)
}

/// Rotates two columns of a matrix.
fn rotate(a: &mut [f64], columns: usize, [p, q]: [usize; 2], (cosine, sine): (f64, f64)) {
    for row in a.chunks_exact_mut(columns) {
        (row[p], row[q]) = (cosine * row[p] - sine * row[q], sine * row[p] + cosine * row[q]);
    }
}

fn identity(n: usize) -> Vec<f64> {
    let mut eye = vec![0.0; n * n];
    (0..n).for_each(|k| eye[k * n + k] = 1.0);
    eye
}

/// The power of two by which the largest element is divided, so that squares neither overflow nor vanish.
fn scale(a: &[f64]) -> f64 {
    let largest = a.iter().fold(0.0f64, |largest, x| largest.max(x.abs()));
    if largest == 0.0 { 1.0 } else { f64::powi(2.0, largest.log2().floor().clamp(-1000.0, 1000.0) as i32) }
}

/// Ascending eigenvalues and the eigenvectors as columns of a symmetric matrix; `None` if the rotations do not end.
pub(crate) fn eigh(a: &[f64], n: usize) -> Option<(Vec<f64>, Vec<f64>)> {
    let scale = scale(a);
    let mut a: Vec<f64> = a.iter().map(|x| x / scale).collect();
    let mut v = identity(n);
    let mut sweeps = 0;
    loop {
        let mut rotated = false;
        for p in 0..n {
            for q in p + 1..n {
                let product = a[p * n + q];
                // Of what is left, less than an eighth of a unit of the largest element.
                if product.abs() <= 1e-17 {
                    continue;
                }
                rotated = true;
                let turn = rotation(a[p * n + p], a[q * n + q], product);
                rotate(&mut a, n, [p, q], turn);
                rotate_rows(&mut a, n, [p, q], turn);
                (a[p * n + q], a[q * n + p]) = (0.0, 0.0);
                rotate(&mut v, n, [p, q], turn);
            }
        }
        if !rotated {
            break;
        }
        sweeps += 1;
        if sweeps == MOST_SWEEPS {
            return None;
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| a[i * n + i].total_cmp(&a[j * n + j]));
    let values = order.iter().map(|&i| a[i * n + i] * scale).collect();
    let mut vectors = vec![0.0; n * n];
    for (k, &i) in order.iter().enumerate() {
        let sign = turned((0..n).map(|row| v[row * n + i]));
        (0..n).for_each(|row| vectors[row * n + k] = sign * v[row * n + i]);
    }
    Some((values, vectors))
}

/// Rotates two rows of a square matrix.
fn rotate_rows(a: &mut [f64], n: usize, [p, q]: [usize; 2], (cosine, sine): (f64, f64)) {
    for j in 0..n {
        let (x, y) = (a[p * n + j], a[q * n + j]);
        (a[p * n + j], a[q * n + j]) = (cosine * x - sine * y, sine * x + cosine * y);
    }
}

/// The reduced singular value decomposition, values descending; `None` if the rotations do not end.
pub(crate) fn svd(a: &[f64], m: usize, n: usize) -> Option<Spectrum> {
    if m < n {
        let Spectrum { left, values, right } = tall(&transposed(a, m, n), n, m)?;
        // The vectors that were left are turned with those that become so.
        let (left, right) = (transposed(&right, m, m), transposed(&left, n, m));
        return Some(signed(Spectrum { left, values, right }, m, n));
    }
    Some(signed(tall(a, m, n)?, m, n))
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

/// That of a matrix with at least as many rows as columns, the signs as they come.
fn tall(a: &[f64], m: usize, n: usize) -> Option<Spectrum> {
    let scale = scale(a);
    let mut u: Vec<f64> = a.iter().map(|x| x / scale).collect();
    let mut v = identity(n);
    let mut sweeps = 0;
    loop {
        let mut rotated = false;
        for p in 0..n {
            for q in p + 1..n {
                let dot = |i: usize, j: usize| (0..m).map(|row| u[row * n + i] * u[row * n + j]).sum::<f64>();
                let (p_square, q_square, product) = (dot(p, p), dot(q, q), dot(p, q));
                // As orthogonal as the rounding of a product of m terms can tell, or too small to be squared.
                let rounding = m as f64 * f64::EPSILON * p_square.sqrt() * q_square.sqrt();
                if product.abs() <= rounding || product.abs() < 1e-280 {
                    continue;
                }
                rotated = true;
                let turn = rotation(p_square, q_square, product);
                rotate(&mut u, n, [p, q], turn);
                rotate(&mut v, n, [p, q], turn);
            }
        }
        if !rotated {
            break;
        }
        sweeps += 1;
        if sweeps == MOST_SWEEPS {
            return None;
        }
    }
    let norm = |j: usize| (0..m).map(|row| u[row * n + j] * u[row * n + j]).sum::<f64>().sqrt();
    let norms: Vec<f64> = (0..n).map(norm).collect();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| norms[j].total_cmp(&norms[i]));
    let mut left = vec![0.0; m * n];
    let mut right = vec![0.0; n * n];
    for (k, &j) in order.iter().enumerate() {
        (0..n).for_each(|i| right[k * n + i] = v[i * n + j]);
        if norms[j] > 0.0 {
            (0..m).for_each(|i| left[i * n + k] = u[i * n + j] / norms[j]);
        } else {
            complete(&mut left, m, n, k);
        }
    }
    Some(Spectrum { left, values: order.iter().map(|&j| norms[j] * scale).collect(), right })
}

/// Fills column `k` with a unit vector orthogonal to those before it.
fn complete(left: &mut [f64], m: usize, n: usize, k: usize) {
    let mut best = (0.0, vec![0.0; m]);
    for axis in 0..m {
        let mut vector = vec![0.0; m];
        vector[axis] = 1.0;
        // Twice is enough (W. Kahan, in B. N. Parlett, *The Symmetric Eigenvalue Problem*, 1980).
        for column in (0..k).chain(0..k) {
            let along: f64 = (0..m).map(|i| vector[i] * left[i * n + column]).sum();
            (0..m).for_each(|i| vector[i] -= along * left[i * n + column]);
        }
        let norm = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
        if norm > best.0 {
            best = (norm, vector);
        }
        if norm > 0.5 {
            break;
        }
    }
    (0..m).for_each(|i| left[i * n + k] = best.1[i] / best.0);
}
