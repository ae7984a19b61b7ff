//! Eigenvalues and eigenvectors of matrices that are hard to divide: clusters, blocks, graded ones, and those known in closed
//! form.

use std::f64::consts::PI;

use wengert_kernels::factor::{Eigh, Number, Qr, Reads};

use crate::factor::{near, noise, times, with};

/// A symmetric matrix, by its entries on and under the diagonal.
fn symmetric(n: usize, entry: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    (0..n * n).map(|k| entry((k / n).max(k % n), (k / n).min(k % n))).collect()
}

fn tridiagonal(n: usize, diagonal: impl Fn(usize) -> f64, beside: impl Fn(usize) -> f64) -> Vec<f64> {
    symmetric(n, |row, column| match row - column {
        0 => diagonal(row),
        1 => beside(column),
        _ => 0.0,
    })
}

/// `q diag(values) qᵀ` with random orthonormal `q`.
fn spectrum(n: usize, value: impl Fn(usize) -> f64) -> Vec<f64> {
    let (a, mut q, mut r) = (noise::<f64>(n * n, 17), vec![0.0; n * n], vec![0.0; n * n]);
    let qr = Qr { rows: n, columns: n, count: 1 };
    with(|threads| qr.workspace::<f64>(threads), 1, |w, pool| qr.run(&a, &mut q, &mut r, w, pool)).unwrap();
    let scaled: Vec<f64> = (0..n * n).map(|k| q[k] * value(k % n)).collect();
    let product = times(&scaled, &q, [n, n, n], [false, true]);
    symmetric(n, |row, column| product[row * n + column])
}

/// The matrices of one size, for numbers with this rounding unit.
fn matrices(n: usize, unit: f64) -> Vec<(&'static str, Vec<f64>)> {
    let (half, last) = (n / 2, (n - 1) as f64);
    let noise = noise::<f64>(n * n, 23);
    let part = |k: usize| k as f64 / last;
    vec![
        ("noise", symmetric(n, |row, column| noise[row * n + column])),
        ("a multiple of the identity", tridiagonal(n, |_| 3.0, |_| 0.0)),
        ("a diagonal without order", tridiagonal(n, |k| noise[k], |_| 0.0)),
        ("Wilkinson's", tridiagonal(n, |k| (k as f64 - last / 2.0).abs(), |_| 1.0)),
        ("Wilkinson's, glued", tridiagonal(n, |k| (k % 11) as f64 - 5.0, |k| if k % 11 == 10 { 1e-8 } else { 1.0 })),
        ("glued by nothing much", tridiagonal(n, |k| (k % 4) as f64, |k| if k % 4 == 3 { 0.1 * unit } else { 1.0 })),
        ("zeros on the diagonal", tridiagonal(n, |_| 0.0, |k| (k + 1) as f64)),
        ("negative beside the diagonal", tridiagonal(n, |k| noise[k], |k| -noise[n + k].abs())),
        ("ones", symmetric(n, |_, _| 1.0)),
        ("a row", symmetric(n, |row, column| if column == 0 { noise[row] } else { 0.0 })),
        (
            "an arrow",
            symmetric(n, |row, column| {
                if row == column {
                    part(row)
                } else if column == 0 {
                    0.5
                } else {
                    0.0
                }
            }),
        ),
        ("Hilbert's", symmetric(n, |row, column| 1.0 / (row + column + 1) as f64)),
        ("graded", symmetric(n, |row, column| noise[row * n + column] * 10f64.powf(-8.0 * (part(row) + part(column))))),
        ("graded the other way", symmetric(n, |row, column| 10f64.powf(6.0 * (part(row) + part(column)) - 12.0))),
        (
            "blocks",
            symmetric(n, |row, column| if row / 3 == column / 3 { noise[row % 3 * 3 + column % 3] } else { 0.0 }),
        ),
        ("two values", spectrum(n, |k| if k < half { -1.0 } else { 1.0 })),
        ("a cluster", spectrum(n, |k| 1.0 + k as f64 * unit)),
        ("a cluster and one more", spectrum(n, |k| if k == 0 { 1.0 } else { unit * noise[k] })),
        ("geometric", spectrum(n, |k| unit.powf(part(k)))),
        ("nearly singular", spectrum(n, |k| if k < n - 2 { 1.0 + part(k) } else { unit * part(k) })),
        ("pairs", spectrum(n, |k| (k / 2) as f64 + (k % 2) as f64 * 1e3 * unit)),
    ]
}

fn check<T: Number>() {
    for n in [9, 10, 15, 16, 25, 40, 64, 97, 130, 201] {
        for (name, a) in matrices(n, T::EPSILON.to_f64()) {
            for scale in [1.0, 1e-30, 1e30] {
                let a: Vec<T> = a.iter().map(|&x| T::from_f64(x * scale)).collect();
                let what = format!("{name}, {n}, times {scale:e}");
                let (mut v, mut values) = (a.clone(), vec![T::NAN; n]);
                let eigh = Eigh { n, count: 1, reads: Reads::Lower };
                with(|threads| eigh.workspace::<T>(threads), 1, |w, pool| eigh.run(&mut v, &mut values, w, pool))
                    .unwrap_or_else(|failed| panic!("{what}: {failed}"));
                assert!(values.is_sorted(), "{what}: {values:?}");
                let norm = values.iter().fold(0.0, |norm: f64, x| norm.max(x.to_f64().abs()));
                let scaled: Vec<T> = (0..n * n).map(|k| v[k] * values[k % n]).collect();
                let product = times(&scaled, &v, [n, n, n], [false, true]);
                let residual = product.iter().zip(&a).fold(0.0, |most: f64, (x, a)| most.max((x - a.to_f64()).abs()));
                let units = residual / norm / T::EPSILON.to_f64();
                assert!(units <= 20.0 + 0.1 * n as f64, "{what}: the product is {units} units of its norm off");
                let eye = |k: usize| if k / n == k % n { 1.0 } else { 0.0 };
                near::<T>(&times(&v, &v, [n, n, n], [true, false]), eye, 8.0 + 0.2 * n as f64, &what);
            }
        }
    }
}

#[test]
fn hard_matrices_are_diagonalised() {
    check::<f64>();
    check::<f32>();
}

/// What threads share out, clusters and all, has the bits of one thread, and of a batch, whose matrices are not shared.
fn shared<T: Number>(sizes: &[usize]) {
    for &n in sizes {
        for (name, a) in matrices(n, T::EPSILON.to_f64()) {
            let a: Vec<T> = a.iter().map(|&x| T::from_f64(x)).collect();
            let bits = |count: usize, threads: usize| {
                let (mut v, mut values) = (a.repeat(count), vec![T::NAN; n * count]);
                let eigh = Eigh { n, count, reads: Reads::Lower };
                with(|threads| eigh.workspace::<T>(threads), threads, |w, pool| eigh.run(&mut v, &mut values, w, pool))
                    .unwrap_or_else(|failed| panic!("{name}, {n}: {failed}"));
                let last = [&v[n * n * (count - 1)..], &values[n * (count - 1)..]];
                last.map(|x| x.iter().map(|x| x.to_f64().to_bits()).collect::<Vec<_>>())
            };
            let one = bits(1, 1);
            for (count, threads) in [(1, 2), (1, 3), (1, 7), (2, 2)] {
                assert!(bits(count, threads) == one, "{name}, {n}: {count} of them on {threads} threads");
            }
        }
    }
}

#[test]
fn threads_share_a_matrix_and_leave_its_bits() {
    shared::<f64>(&[63, 64, 65, 130, 201, 300]);
    shared::<f32>(&[64, 131, 257]);
}

/// Second differences have the values `2 - 2 cos(pi k / (n + 1))`, and the vectors are sines.
#[test]
fn second_differences_have_sines_as_vectors() {
    for n in [9, 50, 128, 300] {
        let (mut v, mut values) = (tridiagonal(n, |_| 2.0, |_| -1.0), vec![f64::NAN; n]);
        let eigh = Eigh { n, count: 1, reads: Reads::Mean };
        with(|threads| eigh.workspace::<f64>(threads), 1, |w, pool| eigh.run(&mut v, &mut values, w, pool)).unwrap();
        let angle = |k: usize| PI * (k + 1) as f64 / (n + 1) as f64;
        near::<f64>(&values, |k| 2.0 - 2.0 * angle(k).cos(), 8.0, "values");
        let length = (2.0 / (n + 1) as f64).sqrt();
        // The gaps are as small as 1 / n² of the largest value.
        near::<f64>(&v, |k| length * (angle(k % n) * (k / n + 1) as f64).sin(), (n * n) as f64, "vectors");
    }
}
