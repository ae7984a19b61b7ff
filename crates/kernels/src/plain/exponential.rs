//! The exponential of one matrix by scaling and squaring.

use super::solve;

/// Up to which 1-norm the approximant of degree 13 is right to the last digits (A. H. Al-Mohy, N. J. Higham, 2009).
const LARGEST: f64 = 4.74;

fn product(x: &[f64], y: &[f64], n: usize) -> Vec<f64> {
    let at = |i: usize, j: usize| (0..n).map(|k| x[i * n + k] * y[k * n + j]).sum();
    (0..n * n).map(|place| at(place / n, place % n)).collect()
}

/// The largest sum of a column of absolute values.
fn norm(a: &[f64], n: usize) -> f64 {
    (0..n).map(|j| (0..n).map(|i| a[i * n + j].abs()).sum::<f64>()).fold(0.0, f64::max)
}

/// The exponential: the diagonal Padé approximant of degree 13 of `A / 2^s`, term by term, squared s times.
pub fn expm(a: &[f64], n: usize) -> Vec<f64> {
    let squarings = (norm(a, n) / LARGEST).log2().ceil().clamp(0.0, 1100.0) as i32;
    let a: Vec<f64> = a.iter().map(|x| x * f64::powi(2.0, -squarings)).collect();
    let identity: Vec<f64> = (0..n * n).map(|place| f64::from(u8::from(place / n == place % n))).collect();
    let (mut numerator, mut denominator, mut power) = (identity.clone(), identity.clone(), identity);
    let mut c = 1.0;
    for k in 0..13 {
        c *= f64::from(13 - k) / f64::from((26 - k) * (k + 1));
        power = product(&power, &a, n);
        let sign = if k % 2 == 0 { -1.0 } else { 1.0 };
        for (place, x) in power.iter().enumerate() {
            numerator[place] += c * x;
            denominator[place] += sign * c * x;
        }
    }
    let mut x = solve(&denominator, n, &numerator, n, false).unwrap_or_else(|_| vec![f64::NAN; n * n]);
    (0..squarings).for_each(|_| x = product(&x, &x, n));
    x
}

/// The derivative along a direction: in the upper right of the exponential of `[[A, E], [0, A]]`, with E made as large as A.
pub fn expm_frechet(a: &[f64], e: &[f64], n: usize) -> Vec<f64> {
    let size = norm(e, n);
    if size == 0.0 {
        return vec![0.0; n * n];
    }
    let scale = size / norm(a, n).max(1.0);
    let twice = 2 * n;
    let at = |i: usize, j: usize| match (i < n, j < n) {
        (true, true) => a[i * n + j],
        (true, false) => e[i * n + j - n] / scale,
        (false, true) => 0.0,
        (false, false) => a[(i - n) * n + j - n],
    };
    let block: Vec<f64> = (0..twice * twice).map(|place| at(place / twice, place % twice)).collect();
    let x = expm(&block, twice);
    (0..n * n).map(|place| x[place / n * twice + n + place % n] * scale).collect()
}
