//! Tests of what is private here.

use super::super::tests::numbers;
use super::*;

fn matrix(seed: u64, n: usize) -> Vec<f64> {
    numbers(seed, n * n)
}

#[test]
fn schur_forms_are_similar_and_nearly_triangular() {
    for (seed, n) in (1..40).map(|seed| (seed, seed as usize % 9)) {
        let mut a = matrix(seed, n);
        if seed % 5 == 0 {
            // Repeated eigenvalues, and rows of zeros.
            a.iter_mut().for_each(|x| *x = x.round());
        }
        let (q, t) = schur(&a, n).expect("it ends");
        let back = product(&product(&q, &t, [n, n, n]), &transposed(&q, n, n), [n, n, n]);
        assert!(a.iter().zip(&back).all(|(x, y)| (x - y).abs() < 1e-13), "seed {seed}");
        for k in 1..n {
            assert!((0..k - 1).all(|j| t[k * n + j] == 0.0), "seed {seed}");
            assert!(k < 2 || t[k * n + k - 1] == 0.0 || t[(k - 1) * n + k - 2] == 0.0, "seed {seed}");
        }
    }
}

#[test]
fn equations_hold() {
    for (seed, m, n) in [(1, 1, 1), (2, 3, 4), (3, 5, 2), (4, 6, 6), (5, 0, 2)] {
        let (a, b) = (matrix(seed, m), matrix(seed + 50, n));
        let c = numbers(seed + 99, m * n);
        for equation in [MatrixEquation::Continuous, MatrixEquation::Discrete] {
            let x = sylvester(equation, (&a, m), (&b, n), &c).expect("it has a solution");
            let ax = product(&a, &x, [m, m, n]);
            let got: Vec<f64> = match equation {
                MatrixEquation::Continuous => ax.iter().zip(product(&x, &b, [m, n, n])).map(|(x, y)| x + y).collect(),
                MatrixEquation::Discrete => x.iter().zip(product(&ax, &b, [m, n, n])).map(|(x, y)| x - y).collect(),
            };
            let size = x.iter().fold(1.0f64, |size, x| size.max(x.abs()));
            assert!(got.iter().zip(&c).all(|(x, y)| (x - y).abs() < 1e-12 * size), "{equation:?} at seed {seed}");
        }
    }
    let eye = [1.0, 0.0, 0.0, 1.0];
    let minus = eye.map(|x: f64| -x);
    let singular = sylvester(MatrixEquation::Continuous, (&eye, 2), (&minus, 2), &eye);
    assert_eq!(singular, Err(Unsolved::Singular));
}
