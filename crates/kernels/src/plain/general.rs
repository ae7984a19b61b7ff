//! Eigenvalues and vectors of a general matrix, from its Schur form.

use super::complex::schur::similar;
use super::schur::schur;
use super::{C64, first_place, moderated};

/// Eigenvalues, ascending by real and then by imaginary part, and their vectors as columns, of length 1, the first component that
/// is not negligible real and positive. A value that is real has a real vector, and the values and vectors of a pair are
/// conjugate. `None` if the steps do not end.
pub fn eig(a: &[f64], n: usize) -> Option<(Vec<C64>, Vec<C64>)> {
    let (a, back) = moderated(a);
    let (q, t) = schur(&a, n)?;
    let complex = |x: &[f64]| x.iter().map(|&x| x.into()).collect::<Vec<C64>>();
    let (mut u, mut s) = (complex(&q), complex(&t));
    for k in 1..n {
        if t[k * n + k - 1] != 0.0 {
            triangular(&mut s, &mut u, n, k - 1);
        }
    }
    let mut pairs: Vec<(C64, Vec<C64>)> = Vec::with_capacity(n);
    for k in 0..n {
        let paired = k > 0 && t[k * n + k - 1] != 0.0;
        if paired {
            // The conjugate of the one before.
            let (value, vector) = &pairs[k - 1];
            let other = (value.conj(), vector.iter().map(|x| x.conj()).collect());
            pairs.push(other);
            continue;
        }
        let value = s[k * n + k];
        pairs.push((value, vector(&s, &u, n, k, value.im == 0.0)));
    }
    Some(ordered(pairs.into_iter().map(|(value, vector)| (value.times(back), vector)).collect()))
}

/// Values and vectors in their order: the vectors as columns.
pub(super) fn ordered(mut pairs: Vec<(C64, Vec<C64>)>) -> (Vec<C64>, Vec<C64>) {
    let n = pairs.len();
    pairs.sort_by(|(x, _), (y, _)| x.re.total_cmp(&y.re).then(x.im.total_cmp(&y.im)));
    let mut vectors = vec![C64::ZERO; n * n];
    for (j, (_, vector)) in pairs.iter().enumerate() {
        (0..n).for_each(|i| vectors[i * n + j] = vector[i]);
    }
    (pairs.into_iter().map(|(value, _)| value).collect(), vectors)
}

/// Makes a block of two rows, which stands for a pair of complex values, triangular by a unitary similarity.
fn triangular(s: &mut [C64], u: &mut [C64], n: usize, k: usize) {
    let [a, b, c, d] = [s[k * n + k], s[k * n + k + 1], s[(k + 1) * n + k], s[(k + 1) * n + k + 1]].map(|x| x.re);
    let half = 0.5 * (a - d);
    let imaginary = (-(half * half + b * c)).max(0.0).sqrt();
    // The eigenvector of d + half + i imaginary.
    let length = half.hypot(imaginary).hypot(c);
    let (x, y) = (C64::new(half / length, imaginary / length), C64::from(c / length));
    similar(s, u, n, k, (x, y));
    s[(k + 1) * n + k] = C64::ZERO;
    let real = 0.5 * (a + d);
    (s[k * n + k], s[(k + 1) * n + k + 1]) = (C64::new(real, imaginary), C64::new(real, -imaginary));
}

/// The vector of the k-th value of a triangular matrix, back in the space of the matrix; real if it is said to be.
pub(super) fn vector(s: &[C64], u: &[C64], n: usize, k: usize, real: bool) -> Vec<C64> {
    let value = s[k * n + k];
    let largest = s.iter().fold(f64::MIN_POSITIVE, |largest, x| largest.max(x.re.abs()).max(x.im.abs()));
    let mut y = vec![C64::ZERO; n];
    y[k] = C64::ONE;
    for i in (0..k).rev() {
        let sum: C64 = (i + 1..=k).map(|j| s[i * n + j] * y[j]).sum();
        let gap = value - s[i * n + i];
        // Two values that are one: the vectors are nearly parallel then, and no derivative is given.
        let gap = if gap.abs() < f64::EPSILON * largest { C64::from(f64::EPSILON * largest) } else { gap };
        y[i] = sum / gap;
    }
    let mut v: Vec<C64> = (0..n).map(|i| (0..=k).map(|j| u[i * n + j] * y[j]).sum()).collect();
    let place = first_place(v.iter().map(|x| x.abs()));
    let first = place.map_or(C64::ONE, |place| v[place]);
    let turn = C64::from(first.abs()) / first;
    v.iter_mut().for_each(|x| *x = *x * turn);
    if real {
        v.iter_mut().for_each(|x| x.im = 0.0);
    } else if let Some(place) = place {
        v[place].im = 0.0;
    }
    let length = v.iter().fold(0.0f64, |length, x| length.hypot(x.re).hypot(x.im));
    v.iter().map(|x| C64::new(x.re / length, x.im / length)).collect()
}

#[cfg(test)]
mod tests;
