//! Eigenvalues and vectors of a general matrix, from its Schur form.

use super::schur::schur;

/// A complex number: real and imaginary part.
type Complex = (f64, f64);

fn mul(x: Complex, y: Complex) -> Complex {
    (x.0 * y.0 - x.1 * y.1, x.0 * y.1 + x.1 * y.0)
}

fn add(x: Complex, y: Complex) -> Complex {
    (x.0 + y.0, x.1 + y.1)
}

fn sub(x: Complex, y: Complex) -> Complex {
    (x.0 - y.0, x.1 - y.1)
}

fn conj(x: Complex) -> Complex {
    (x.0, -x.1)
}

fn div(x: Complex, y: Complex) -> Complex {
    // Scaled, so that the square of the divisor neither overflows nor vanishes.
    let size = y.0.abs().max(y.1.abs());
    let y = (y.0 / size, y.1 / size);
    let (product, square) = (mul(x, conj(y)), y.0 * y.0 + y.1 * y.1);
    (product.0 / square / size, product.1 / square / size)
}

/// Eigenvalues, ascending by real and then by imaginary part, and their vectors as columns, of length 1, the first component that
/// is not negligible real and positive. A value that is real has a real vector, and the values and vectors of a pair are
/// conjugate. `None` if the steps do not end.
pub fn eig(a: &[f64], n: usize) -> Option<(Vec<Complex>, Vec<Complex>)> {
    let (q, t) = schur(a, n)?;
    let real = |x: &[f64]| x.iter().map(|&x| (x, 0.0)).collect::<Vec<Complex>>();
    let (mut u, mut s) = (real(&q), real(&t));
    for k in 1..n {
        if t[k * n + k - 1] != 0.0 {
            triangular(&mut s, &mut u, n, k - 1);
        }
    }
    let mut pairs: Vec<(Complex, Vec<Complex>)> = Vec::with_capacity(n);
    for k in 0..n {
        let paired = k > 0 && t[k * n + k - 1] != 0.0;
        if paired {
            // The conjugate of the one before.
            let (value, vector) = &pairs[k - 1];
            let other = (conj(*value), vector.iter().map(|&x| conj(x)).collect());
            pairs.push(other);
            continue;
        }
        let value = s[k * n + k];
        pairs.push((value, vector(&s, &u, n, k)));
    }
    pairs.sort_by(|x, y| x.0.0.total_cmp(&y.0.0).then(x.0.1.total_cmp(&y.0.1)));
    let mut vectors = vec![(0.0, 0.0); n * n];
    for (j, (_, vector)) in pairs.iter().enumerate() {
        (0..n).for_each(|i| vectors[i * n + j] = vector[i]);
    }
    Some((pairs.into_iter().map(|(value, _)| value).collect(), vectors))
}

/// Makes a block of two rows, which stands for a pair of complex values, triangular by a unitary similarity.
fn triangular(s: &mut [Complex], u: &mut [Complex], n: usize, k: usize) {
    let [a, b, c, d] = [s[k * n + k], s[k * n + k + 1], s[(k + 1) * n + k], s[(k + 1) * n + k + 1]].map(|x| x.0);
    let half = 0.5 * (a - d);
    let imaginary = (-(half * half + b * c)).max(0.0).sqrt();
    // The eigenvector of d + half + i imaginary.
    let length = half.hypot(imaginary).hypot(c);
    let (x, y) = ((half / length, imaginary / length), (c / length, 0.0));
    // Its unitary complement is (-conj(y), conj(x)).
    for j in 0..n {
        let (upper, lower) = (s[k * n + j], s[(k + 1) * n + j]);
        s[k * n + j] = add(mul(conj(x), upper), mul(conj(y), lower));
        s[(k + 1) * n + j] = sub(mul(x, lower), mul(y, upper));
    }
    for row in s.chunks_exact_mut(n).chain(u.chunks_exact_mut(n)) {
        let (left, right) = (row[k], row[k + 1]);
        row[k] = add(mul(left, x), mul(right, y));
        row[k + 1] = sub(mul(right, conj(x)), mul(left, conj(y)));
    }
    s[(k + 1) * n + k] = (0.0, 0.0);
    let real = 0.5 * (a + d);
    (s[k * n + k], s[(k + 1) * n + k + 1]) = ((real, imaginary), (real, -imaginary));
}

/// The vector of the k-th value of a triangular matrix, back in the space of the matrix.
fn vector(s: &[Complex], u: &[Complex], n: usize, k: usize) -> Vec<Complex> {
    let value = s[k * n + k];
    let largest = s.iter().fold(f64::MIN_POSITIVE, |largest, x| largest.max(x.0.abs()).max(x.1.abs()));
    let mut y = vec![(0.0, 0.0); n];
    y[k] = (1.0, 0.0);
    for i in (0..k).rev() {
        let sum = (i + 1..=k).fold((0.0, 0.0), |sum, j| add(sum, mul(s[i * n + j], y[j])));
        let gap = sub(value, s[i * n + i]);
        // Two values that are one: the vectors are nearly parallel then, and no derivative is given.
        let gap = if gap.0.hypot(gap.1) < f64::EPSILON * largest { (f64::EPSILON * largest, 0.0) } else { gap };
        y[i] = div(sum, gap);
    }
    let mut v: Vec<Complex> =
        (0..n).map(|i| (0..=k).fold((0.0, 0.0), |sum, j| add(sum, mul(u[i * n + j], y[j])))).collect();
    let size = v.iter().fold(0.0f64, |size, x| size.max(x.0.hypot(x.1)));
    let first = v.iter().find(|x| x.0.hypot(x.1) > size * f64::powi(0.5, 40)).copied().unwrap_or((1.0, 0.0));
    let turn = div((first.0.hypot(first.1), 0.0), first);
    v.iter_mut().for_each(|x| *x = mul(*x, turn));
    if value.1 == 0.0 {
        v.iter_mut().for_each(|x| x.1 = 0.0);
    } else if let Some(x) = v.iter_mut().find(|x| x.0.hypot(x.1) > size * f64::powi(0.5, 40)) {
        x.1 = 0.0;
    }
    let length = v.iter().fold(0.0f64, |length, x| length.hypot(x.0).hypot(x.1));
    v.iter().map(|x| (x.0 / length, x.1 / length)).collect()
}

#[cfg(test)]
mod tests;
