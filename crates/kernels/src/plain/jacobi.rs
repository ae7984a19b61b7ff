//! Eigenvalues and singular values by rotations of two columns at a time: plain, slow and accurate.
//!
//! A cyclic Jacobi method for symmetric matrices (C. G. J. Jacobi, 1846; H. Rutishauser, *The Jacobi method for real symmetric
//! matrices*, 1966), and its one-sided form for singular values (M. R. Hestenes, *Inversion of matrices by
//! biorthogonalization and related results*, 1958), which finds small singular values to high relative accuracy (J. Demmel and
//! K. Veselić, *Jacobi's method is more accurate than QR*, 1992). Both scale by the largest entry first, so that nothing
//! overflows on the way.

/// Sweeps after which it is given up: a dozen are enough for every matrix of finite numbers.
const SWEEPS: usize = 60;

/// The largest magnitude.
fn largest(a: &[f64]) -> f64 {
    a.iter().fold(0.0, |largest, x| largest.max(x.abs()))
}

/// Cosine and sine of the rotation that makes two columns orthogonal, given their squared lengths and their product.
fn rotation(alpha: f64, beta: f64, gamma: f64) -> (f64, f64, f64) {
    let zeta = (beta - alpha) / (2.0 * gamma);
    let tangent = zeta.signum() / (zeta.abs() + zeta.hypot(1.0));
    let cosine = 1.0 / tangent.hypot(1.0);
    (cosine, cosine * tangent, tangent)
}

/// Turns two columns of a row-major matrix with rows of this length.
fn turn(matrix: &mut [f64], width: usize, [p, q]: [usize; 2], (cosine, sine): (f64, f64)) {
    for row in matrix.chunks_exact_mut(width) {
        let (x, y) = (row[p], row[q]);
        row[p] = cosine * x - sine * y;
        row[q] = sine * x + cosine * y;
    }
}

/// The identity of this size.
fn identity(n: usize) -> Vec<f64> {
    let mut matrix = vec![0.0; n * n];
    (0..n).for_each(|k| matrix[k * n + k] = 1.0);
    matrix
}

/// The columns of a matrix in another order.
fn with_columns(matrix: &[f64], width: usize, order: &[usize]) -> Vec<f64> {
    let mut out = Vec::with_capacity(matrix.len() / width * order.len());
    matrix.chunks_exact(width).for_each(|row| out.extend(order.iter().map(|&k| row[k])));
    out
}

/// Orthonormal columns again, after many rotations: one step of Newton and Schulz, `V - V (V^T V - 1) / 2`.
fn polished(v: &[f64], rows: usize, n: usize) -> Vec<f64> {
    let mut over = vec![0.0; n * n];
    for row in v.chunks_exact(n) {
        for i in 0..n {
            (0..n).for_each(|j| over[i * n + j] += row[i] * row[j]);
        }
    }
    (0..n).for_each(|k| over[k * n + k] -= 1.0);
    let mut out = v.to_vec();
    for row in 0..rows {
        for j in 0..n {
            out[row * n + j] -= 0.5 * (0..n).map(|k| v[row * n + k] * over[k * n + j]).sum::<f64>();
        }
    }
    out
}

/// `v^T A v` of every column.
fn quotients(a: &[f64], v: &[f64], n: usize) -> Vec<f64> {
    let of = |k: usize| -> f64 {
        let image = |row: usize| (0..n).map(|j| a[row * n + j] * v[j * n + k]).sum::<f64>();
        (0..n).map(|row| v[row * n + k] * image(row)).sum()
    };
    (0..n).map(of).collect()
}

/// Eigenvalues in increasing order, and orthonormal eigenvectors as columns, of a symmetric matrix of finite numbers;
/// `None` if the rotations do not end.
pub(super) fn symmetric(a: &[f64], n: usize) -> Option<(Vec<f64>, Vec<f64>)> {
    let scale = largest(a);
    let mut v = identity(n);
    if n == 0 || scale == 0.0 {
        return Some((vec![0.0; n], v));
    }
    let given: Vec<f64> = a.iter().map(|x| x / scale).collect();
    let mut a = given.clone();
    for sweep in 0.. {
        let off = |a: &[f64]| (0..n).any(|p| (p + 1..n).any(|q| a[p * n + q] != 0.0));
        if !off(&a) {
            break;
        }
        if sweep == SWEEPS {
            return None;
        }
        for p in 0..n {
            for q in p + 1..n {
                let (on, other, between) = (a[p * n + p], a[q * n + q], a[p * n + q]);
                // What cannot change the diagonal by a bit is done with.
                if between.abs() <= f64::EPSILON / 4.0 * on.abs().min(other.abs())
                    || (sweep > 3 && between.abs() <= f64::EPSILON / 64.0 * f64::EPSILON)
                {
                    (a[p * n + q], a[q * n + p]) = (0.0, 0.0);
                    continue;
                }
                let (cosine, sine, tangent) = rotation(on, other, between);
                turn(&mut a, n, [p, q], (cosine, sine));
                for k in 0..n {
                    let (x, y) = (a[p * n + k], a[q * n + k]);
                    a[p * n + k] = cosine * x - sine * y;
                    a[q * n + k] = sine * x + cosine * y;
                }
                (a[p * n + p], a[q * n + q]) = (on - tangent * between, other + tangent * between);
                (a[p * n + q], a[q * n + p]) = (0.0, 0.0);
                turn(&mut v, n, [p, q], (cosine, sine));
            }
        }
    }
    // Both are then as good as one rounding of each number makes them.
    let v = polished(&v, n, n);
    let found = quotients(&given, &v, n);
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| found[i].total_cmp(&found[j]));
    let values = order.iter().map(|&k| scale * found[k]).collect();
    Some((values, with_columns(&v, n, &order)))
}

/// `U` (m × n, orthonormal columns), singular values in decreasing order, `V` (n × n, orthonormal columns) of a matrix of
/// finite numbers with at least as many rows as columns: `A = U diag(s) V^T`; `None` if the rotations do not end.
pub(super) fn singular(a: &[f64], m: usize, n: usize) -> Option<(Vec<f64>, Vec<f64>, Vec<f64>)> {
    debug_assert!(m >= n, "it takes tall matrices");
    let scale = largest(a);
    let mut v = identity(n);
    if n == 0 || scale == 0.0 {
        let mut u = vec![0.0; m * n];
        (0..n).for_each(|k| u[k * n + k] = 1.0);
        return Some((u, vec![0.0; n], v));
    }
    let mut u: Vec<f64> = a.iter().map(|x| x / scale).collect();
    let product = |u: &[f64], p: usize, q: usize| u.chunks_exact(n).map(|row| row[p] * row[q]).sum::<f64>();
    let tolerance = f64::EPSILON * (m as f64).sqrt();
    for sweep in 0.. {
        let mut turned = false;
        if sweep == SWEEPS {
            return None;
        }
        for p in 0..n {
            for q in p + 1..n {
                let (alpha, beta, gamma) = (product(&u, p, p), product(&u, q, q), product(&u, p, q));
                // A column whose square underflows has no angle with another one.
                let is_nothing = alpha.min(beta) < f64::MIN_POSITIVE || gamma.abs() < 1e-290;
                if is_nothing || gamma.abs() <= tolerance * (alpha.sqrt() * beta.sqrt()) {
                    continue;
                }
                turned = true;
                let (cosine, sine, _) = rotation(alpha, beta, gamma);
                turn(&mut u, n, [p, q], (cosine, sine));
                turn(&mut v, n, [p, q], (cosine, sine));
            }
        }
        if !turned {
            break;
        }
    }
    let v = polished(&v, n, n);
    let lengths: Vec<f64> = (0..n).map(|k| product(&u, k, k).sqrt()).collect();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| lengths[j].total_cmp(&lengths[i]));
    let mut values: Vec<f64> = order.iter().map(|&k| lengths[k]).collect();
    let (mut u, v) = (with_columns(&u, n, &order), with_columns(&v, n, &order));
    // Columns without a length of their own get a direction that is orthogonal to the others.
    let none = values[0] * f64::EPSILON * 1e-3;
    let kept = values.iter().take_while(|&&value| value > none).count();
    for (k, value) in values.iter_mut().enumerate() {
        if k < kept {
            u.chunks_exact_mut(n).for_each(|row| row[k] /= *value);
        } else {
            *value = 0.0;
        }
    }
    let mut basis = Orthonormal::of_columns(&u, n, kept, m);
    (0..m).for_each(|place| {
        if basis.count() < n {
            let mut unit = vec![0.0; m];
            unit[place] = 1.0;
            basis.extend(&unit, 0.5 / (m as f64).sqrt());
        }
    });
    for k in kept..n {
        (0..m).for_each(|row| u[row * n + k] = basis.vectors[k][row]);
    }
    values.iter_mut().for_each(|value| *value *= scale);
    Some((u, values, v))
}

/// Orthonormal vectors, to which others are added.
#[derive(Clone, Debug)]
pub struct Orthonormal {
    /// The vectors.
    pub vectors: Vec<Vec<f64>>,
}

impl Orthonormal {
    /// The first columns of a row-major matrix with orthonormal columns.
    pub fn of_columns(matrix: &[f64], width: usize, count: usize, rows: usize) -> Self {
        let column = |k: usize| (0..rows).map(|row| matrix[row * width + k]).collect();
        Orthonormal { vectors: (0..count).map(column).collect() }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.vectors.len()
    }

    /// Adds the direction of what of `x` is orthogonal to all vectors, unless that is shorter than `least`. Twice by Gram and
    /// Schmidt is enough (W. Kahan and B. N. Parlett, in *The Symmetric Eigenvalue Problem*, 1980).
    pub fn extend(&mut self, x: &[f64], least: f64) {
        let mut rest = x.to_vec();
        for _ in 0..2 {
            for vector in &self.vectors {
                let along: f64 = vector.iter().zip(&rest).map(|(v, x)| v * x).sum();
                rest.iter_mut().zip(vector).for_each(|(x, v)| *x -= along * v);
            }
        }
        let length = rest.iter().map(|x| x * x).sum::<f64>().sqrt();
        if length > least {
            rest.iter_mut().for_each(|x| *x /= length);
            self.vectors.push(rest);
        }
    }
}

#[cfg(test)]
mod tests;
