//! Tests of what is private here.

use super::super::tests::numbers;
use super::*;

fn product(a: &[f64], b: &[f64], [m, k, n]: [usize; 3]) -> Vec<f64> {
    let mut out = vec![0.0; m * n];
    for i in 0..m {
        for j in 0..n {
            out[i * n + j] = (0..k).map(|l| a[i * k + l] * b[l * n + j]).sum();
        }
    }
    out
}

fn transposed(a: &[f64], m: usize, n: usize) -> Vec<f64> {
    (0..n).flat_map(|j| (0..m).map(move |i| a[i * n + j])).collect()
}

fn check_near(got: &[f64], wanted: &[f64], within: f64) {
    assert!(got.iter().zip(wanted).all(|(x, y)| (x - y).abs() <= within), "{got:?} is not {wanted:?}");
}

#[test]
fn a_symmetric_matrix_is_its_eigenvectors_and_values_again() {
    for n in [0, 1, 2, 3, 7, 20] {
        for scale in [1.0, 1e300, 1e-300] {
            let x = numbers(n as u64, n * n);
            let a: Vec<f64> = (0..n * n).map(|k| scale / 2.0 * (x[k] + x[k % n.max(1) * n + k / n.max(1)])).collect();
            let (values, v) = symmetric(&a, n).expect("it converges");
            assert!(values.is_sorted());
            let vt = transposed(&v, n, n);
            check_near(&product(&vt, &v, [n; 3]), &identity(n), 1e-14);
            let mut scaled = v.clone();
            scaled.chunks_exact_mut(n.max(1)).for_each(|row| row.iter_mut().zip(&values).for_each(|(x, y)| *x *= y));
            check_near(&product(&scaled, &vt, [n; 3]), &a, 1e-14 * scale * (n + 1) as f64);
        }
    }
}

#[test]
fn a_matrix_is_its_singular_vectors_and_values_again() {
    for (m, n) in [(0, 0), (3, 0), (1, 1), (3, 2), (5, 5), (9, 4)] {
        for rank in [n, n / 2] {
            let left = numbers(m as u64, m * rank);
            let right = numbers(9 + n as u64, rank * n);
            let a = product(&left, &right, [m, rank, n]);
            let (u, values, v) = singular(&a, m, n).expect("it converges");
            assert!(values.is_sorted_by(|x, y| x >= y) && values[rank..].iter().all(|&x| x < 1e-14), "{values:?}");
            check_near(&product(&transposed(&u, m, n), &u, [n, m, n]), &identity(n), 1e-14);
            let vt = transposed(&v, n, n);
            check_near(&product(&vt, &v, [n; 3]), &identity(n), 1e-14);
            let mut scaled = u.clone();
            scaled.chunks_exact_mut(n.max(1)).for_each(|row| row.iter_mut().zip(&values).for_each(|(x, y)| *x *= y));
            check_near(&product(&scaled, &vt, [m, n, n]), &a, 1e-13);
        }
    }
}

/// Rows twice leave columns of nothing but rounding, which get smaller with every sweep.
#[test]
fn rows_that_are_repeated_have_singular_values() {
    for seed in 0..400 {
        for n in [6, 8, 12] {
            let mut a = numbers(seed, n * n);
            for row in n - 2..n {
                (0..n).for_each(|column| a[row * n + column] = a[column] - a[(n - 3) * n + column]);
            }
            let (_, values, _) =
                singular(&a, n, n).unwrap_or_else(|| panic!("it does not end: order {n}, seed {seed}"));
            assert!(values[n - 2..].iter().all(|&x| x < 1e-14 * values[0]), "{values:?}");
        }
    }
}
