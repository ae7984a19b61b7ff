//! The matrix of cofactors: the derivative of the determinant, at singular matrices too.

use super::{Spectrum, det, lu, parity, svd};

/// Beyond this condition number, in the norm of Frobenius, the inverse has lost more digits than singular vectors do: about four.
const WELL_CONDITIONED: f64 = 1e4;

/// The matrix of cofactors of a matrix of this order; `None` if it is made of singular vectors, and their rotations do not end.
///
/// Up to the order 4 by minors; beyond it as `det(A) A^-T`, where the matrix is well conditioned; else, with `A = U diag(s) V^T`,
/// as `det(U V^T) U diag(c) V^T`, where c holds the products of all other singular values (G. W. Stewart, *On the adjugate
/// matrix*, 1998).
pub fn cofactors(a: &[f64], n: usize) -> Option<Vec<f64>> {
    let quick = match n {
        0..=2 => Some(of_two(a)),
        3 => Some(of_three(a)),
        4 => Some(of_four(a)),
        _ => by_inverse(a, n),
    };
    // The difference of two products that overflow is no number.
    quick.filter(|cofactors| !cofactors.iter().any(|x| x.is_nan())).or_else(|| by_singular_values(a, n))
}

fn of_two(a: &[f64]) -> Vec<f64> {
    match *a {
        [] => Vec::new(),
        [_] => vec![1.0],
        [a, b, c, d] => vec![d, -c, -b, a],
        _ => unreachable!("matrices up to two by two"),
    }
}

fn of_three(a: &[f64]) -> Vec<f64> {
    let at = |i: usize, j: usize| a[i % 3 * 3 + j % 3];
    // Rows and columns in turn have the sign in their order.
    let one = |i: usize, j: usize| at(i + 1, j + 1) * at(i + 2, j + 2) - at(i + 1, j + 2) * at(i + 2, j + 1);
    (0..9).map(|place| one(place / 3, place % 3)).collect()
}

fn of_four(a: &[f64]) -> Vec<f64> {
    let at = |i: usize, j: usize| a[i * 4 + j];
    // The minors of two neighbouring rows, of which the minors of three are made.
    let pairs = |row: usize| {
        let minor = |j: usize, k: usize| at(row, j) * at(row + 1, k) - at(row, k) * at(row + 1, j);
        [0, 1, 2, 3].map(|j| [0, 1, 2, 3].map(|k| if j < k { minor(j, k) } else { 0.0 }))
    };
    let (upper, lower) = (pairs(0), pairs(2));
    let one = |i: usize, j: usize| {
        let (minors, row) = if i < 2 { (&lower, 1 - i) } else { (&upper, 5 - i) };
        let [p, q, r] = match j {
            0 => [1, 2, 3],
            1 => [0, 2, 3],
            2 => [0, 1, 3],
            _ => [0, 1, 2],
        };
        let minor = at(row, p) * minors[q][r] - at(row, q) * minors[p][r] + at(row, r) * minors[p][q];
        if (i + j).is_multiple_of(2) { minor } else { -minor }
    };
    (0..16).map(|place| one(place / 4, place % 4)).collect()
}

/// `det(A) A^-T`; `None` where the matrix is singular or nearly so.
fn by_inverse(a: &[f64], n: usize) -> Option<Vec<f64>> {
    let (l, u, order) = lu(a, n, n);
    let det = (0..n).fold(parity(&order), |product, i| product * u[i * n + i]);
    if !det.is_normal() {
        return None;
    }
    // A^T = U^T L^T P: the unit vectors through U^T from the first row on, through L^T from the last one, and in their places.
    let mut y = vec![0.0; n * n];
    for i in 0..n {
        let (before, row) = y.split_at_mut(i * n);
        let row = &mut row[..n];
        row[i] = 1.0;
        for (j, above) in before.chunks(n).enumerate() {
            subtract(u[j * n + i], above, row);
        }
        row.iter_mut().for_each(|x| *x /= u[i * n + i]);
    }
    for i in (0..n).rev() {
        let (row, behind) = y[i * n..].split_at_mut(n);
        for (k, below) in behind.chunks(n).enumerate() {
            subtract(l[(i + 1 + k) * n + i], below, row);
        }
    }
    if !well_conditioned(a, &y) {
        return None;
    }
    let mut cofactors = vec![0.0; n * n];
    for (row, &place) in y.chunks(n).zip(&order) {
        cofactors[place * n..][..n].iter_mut().zip(row).for_each(|(to, x)| *to = det * x);
    }
    Some(cofactors)
}

/// Whether the cofactors of a matrix may be made of its inverse.
pub(crate) fn well_conditioned<T: crate::Float>(a: &[T], inverse: &[f64]) -> bool {
    let size = |squares: f64| squares.sqrt();
    let a = size(a.iter().map(|x| x.to_f64() * x.to_f64()).sum());
    // Of sizes whose squares overflow it is no number, or infinite.
    a * size(inverse.iter().map(|x| x * x).sum()) <= WELL_CONDITIONED
}

/// `x - factor y`
fn subtract(factor: f64, y: &[f64], x: &mut [f64]) {
    x.iter_mut().zip(y).for_each(|(x, y)| *x -= factor * y);
}

/// By singular values, whatever the matrix is.
pub(crate) fn by_singular_values(a: &[f64], n: usize) -> Option<Vec<f64>> {
    let Spectrum { left, values, right } = svd(a, n, n)?;
    let others = |skipped: usize| (0..n).filter(|&l| l != skipped).map(|l| values[l]).product::<f64>();
    let factors: Vec<f64> = (0..n).map(others).collect();
    let sum = |weight: &dyn Fn(usize) -> f64| -> Vec<f64> {
        let at = |i: usize, j: usize| (0..n).map(|l| left[i * n + l] * weight(l) * right[l * n + j]).sum();
        (0..n * n).map(|place| at(place / n, place % n)).collect()
    };
    let sign = 1.0f64.copysign(det(&sum(&|_| 1.0), n));
    Some(sum(&|l| sign * factors[l]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers in `[-1, 1)` without a pattern, which make regular matrices.
    fn numbers(seed: u64, count: usize) -> Vec<f64> {
        let number = |k: usize| {
            let x = ((k as f64 + 1.0) * 12.9898 + seed as f64 * 78.233).sin() * 43758.5453;
            2.0 * (x - x.floor()) - 1.0
        };
        (0..count).map(number).collect()
    }

    #[track_caller]
    fn check(what: &str, got: &[f64], want: &[f64], bound: f64) {
        let largest = want.iter().fold(0.0f64, |largest, x| largest.max(x.abs()));
        for (got, want) in got.iter().zip(want) {
            assert!((got - want).abs() <= bound * largest, "{what}: {got:e} instead of {want:e}");
        }
    }

    /// Each element by itself: the determinant without its row and column.
    fn by_minors(a: &[f64], n: usize) -> Vec<f64> {
        let one = |i: usize, j: usize| {
            let minor: Vec<f64> =
                (0..n * n).filter(|place| place / n != i && place % n != j).map(|place| a[place]).collect();
            if (i + j).is_multiple_of(2) { det(&minor, n - 1) } else { -det(&minor, n - 1) }
        };
        (0..n * n).map(|place| one(place / n, place % n)).collect()
    }

    #[test]
    fn every_way_gives_the_minors() {
        assert_eq!(cofactors(&[], 0), Some(Vec::new()));
        for n in 1..9 {
            for seed in 0..20 {
                let a = numbers(seed * 7 + n as u64, n * n);
                let want = by_minors(&a, n);
                check("cofactors", &cofactors(&a, n).unwrap(), &want, 1e-12);
                check("singular values", &by_singular_values(&a, n).unwrap(), &want, 1e-12);
                if let Some(quick) = (n > 0).then(|| by_inverse(&a, n)).flatten() {
                    check("inverse", &quick, &want, 1e-11);
                }
            }
        }
        let regular: Vec<f64> = (0..49).map(|k| if k % 8 == 0 { 3.0 } else { 0.1 * f64::from(k % 5) }).collect();
        assert!(by_inverse(&regular, 7).is_some());
    }

    #[test]
    fn singular_matrices_and_large_numbers_have_cofactors() {
        for n in 3..8 {
            // The last row is the first one, then nothing.
            let mut a = numbers(n as u64, n * n);
            let first = a[..n].to_vec();
            a[n * (n - 1)..].copy_from_slice(&first);
            check("singular", &cofactors(&a, n).unwrap(), &by_minors(&a, n), 1e-12);
            assert!(n < 5 || by_inverse(&a, n).is_none());
            a[n * (n - 1)..].fill(0.0);
            check("a row of zeros", &cofactors(&a, n).unwrap(), &by_minors(&a, n), 1e-12);
            assert_eq!(cofactors(&vec![0.0; n * n], n), Some(vec![0.0; n * n]));
        }
        // A product of two elements that overflows, beside others.
        let mut wide = vec![0.0; 9];
        [1e200, 1e200, 1e-200].iter().enumerate().for_each(|(i, &x)| wide[i * 4] = x);
        assert_eq!(cofactors(&wide, 3).unwrap(), [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, f64::INFINITY]);
        // The difference of two, which singular vectors do not take: rank one.
        assert!(cofactors(&[1e200; 9], 3).unwrap().iter().all(|x| x.is_finite()));
        // Factors whose product overflows, or vanishes.
        for size in [1e-100, 1e100] {
            let a: Vec<f64> = numbers(3, 25).iter().map(|x| x * size).collect();
            assert!(by_inverse(&a, 5).is_none());
        }
    }
}
