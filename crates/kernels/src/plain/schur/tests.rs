//! Tests of what is private here.

use super::super::tests::numbers;
use super::*;

fn matrix(seed: u64, n: usize) -> Vec<f64> {
    numbers(seed, n * n)
}

/// A matrix of full rank, whose eigenvalues are apart.
fn general(seed: u64, n: usize) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 51) as f64 - 2.0
    };
    (0..n * n).map(|_| next()).collect()
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
fn steps_end_near_multiples_of_the_identity() {
    let starts: [fn(usize) -> f64; 3] =
        [|_| 1.0, |k| if k == 0 { 1e3 } else { 1.0 }, |k| if k % 2 == 0 { -2.0 } else { 3.0 }];
    for (seed, n, power) in
        (0..6).flat_map(|seed| (3..10).flat_map(move |n| (4..17).map(move |power| (seed, n, power))))
    {
        let start = starts[seed as usize % 3];
        let off = general(100 * seed + n as u64, n).into_iter().enumerate();
        let diagonal = |place: usize| if place / n == place % n { start(place / n) } else { 0.0 };
        let a: Vec<f64> = off.map(|(place, x)| diagonal(place) + x * 10f64.powi(-power)).collect();
        let (q, t) = schur(&a, n).unwrap_or_else(|| panic!("seed {seed}, order {n}, 1e-{power}: it does not end"));
        let back = product(&product(&q, &t, [n, n, n]), &transposed(&q, n, n), [n, n, n]);
        assert!(a.iter().zip(&back).all(|(x, y)| (x - y).abs() < 1e-13 * start(0).abs()), "seed {seed}");
    }
    // Half of the right-hand side, but for what is off the identity.
    let near: Vec<f64> =
        general(7, 4).iter().enumerate().map(|(k, x)| f64::from(u8::from(k % 5 == 0)) + x * 1e-10).collect();
    let c = numbers(8, 16);
    let x = sylvester(MatrixEquation::Continuous, (&near, 4), (&near, 4), &c).expect("it has a solution");
    assert!(x.iter().zip(&c).all(|(x, c)| (x - 0.5 * c).abs() < 1e-8));
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

#[test]
fn ordered_forms_are_those_of_the_matrix() {
    for (seed, n) in (1..60).map(|seed| (seed, seed as usize % 9)) {
        let mut a = general(seed, n);
        if seed % 5 == 0 {
            a.iter_mut().for_each(|x| *x = x.round());
        }
        let (t, q) = ordered_schur(&a, n).expect("it ends");
        let back = product(&product(&q, &t, [n, n, n]), &transposed(&q, n, n), [n, n, n]);
        assert!(a.iter().zip(&back).all(|(x, y)| (x - y).abs() < 1e-12), "seed {seed}");
        let turned = product(&transposed(&q, n, n), &q, [n, n, n]);
        let eye = |place: usize| f64::from(u8::from(place / n == place % n));
        assert!(turned.iter().enumerate().all(|(place, x)| (x - eye(place)).abs() < 1e-13), "seed {seed}");
        let starts = blocks(&t, n);
        let values: Vec<(f64, f64)> =
            starts.windows(2).map(|ends| block_value(&t, n, ends[0], ends[1] - ends[0])).collect();
        assert!(values.windows(2).all(|two| two[0].0 < two[1].0 + 1e-12), "seed {seed}: {values:?}");
        for ends in starts.windows(2) {
            let (k, rows) = (ends[0], ends[1] - ends[0]);
            assert!(rows == 1 || t[k * n + k + 1] > 0.0, "seed {seed}");
            let first = q.chunks_exact(n).find(|row| row[k].abs() > 1e-9).expect("a unit vector");
            assert!(first[k] > 0.0 && (rows == 1 || first[k + 1] == 0.0), "seed {seed}");
        }
        // Blocks of the same sizes in the same places, from a matrix with its axes in another order.
        if seed % 5 != 0 && n > 1 {
            let moved: Vec<f64> = (0..n * n).map(|place| a[(n - 1 - place / n) * n + n - 1 - place % n]).collect();
            let (other, _) = ordered_schur(&moved, n).expect("it ends");
            let diagonal = |t: &[f64]| (0..n).map(|k| t[k * n + k]).sum::<f64>();
            assert!((diagonal(&other) - diagonal(&t)).abs() < 1e-12, "seed {seed}");
            assert_eq!(blocks(&other, n), starts, "seed {seed}");
        }
    }
}

#[test]
fn commutators_hold_below_the_blocks() {
    for (seed, n) in (1..40).map(|seed| (seed, seed as usize % 9)) {
        let (t, _) = ordered_schur(&general(seed, n), n).expect("it ends");
        let second: Vec<bool> = (0..n).map(|k| k > 0 && t[k * n + k - 1] != 0.0).collect();
        let c = matrix(seed + 70, n);
        for transpose in [false, true] {
            let x = commutator(&t, &second, &c, transpose, 1e-13).expect("values are apart");
            let t = if transpose { transposed(&t, n, n) } else { t.clone() };
            let (left, right) = (product(&t, &x, [n, n, n]), product(&x, &t, [n, n, n]));
            let size = x.iter().fold(1.0f64, |size, x| size.max(x.abs()));
            for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
                let place = i * n + j;
                if i > j && !(i == j + 1 && second[i]) {
                    assert!((left[place] - right[place] - c[place]).abs() < 1e-12 * size, "seed {seed} at {i}, {j}");
                } else {
                    assert_eq!(x[place], 0.0);
                }
            }
        }
    }
    let repeated = commutator(&[2.0, 1.0, 0.0, 2.0], &[false; 2], &[1.0; 4], false, 1e-13);
    assert_eq!(repeated, Err(Repeated { gap: 0.0, largest: 2.0 }));
}

#[test]
fn forms_of_far_matrices_are_those_of_near_ones() {
    for (exponent, n) in [(-1000, 5), (-540, 3), (530, 4), (1020, 3)] {
        let near = general(n as u64, n);
        let factor = f64::powi(2.0, exponent / 2);
        let far: Vec<f64> = near.iter().map(|x| x * factor * factor).collect();
        let (wanted, its) = ordered_schur(&near, n).expect("it ends");
        let (t, q) = ordered_schur(&far, n).expect("it ends");
        assert!(q.iter().zip(&its).all(|(x, y)| (x - y).abs() < 1e-12), "2^{exponent}");
        assert!(t.iter().zip(&wanted).all(|(x, y)| (x / factor / factor - y).abs() < 1e-12), "2^{exponent}");
        let c = general(9, n);
        let (one, two) = (schur(&near, n).expect("it ends"), schur(&far, n).expect("it ends"));
        assert!(one.0.iter().zip(&two.0).all(|(x, y)| (x - y).abs() < 1e-12), "2^{exponent}");
        let small: Vec<f64> = c.iter().map(|x| x * factor * factor).collect();
        let (x, y) = (
            sylvester(MatrixEquation::Continuous, (&near, n), (&near, n), &c),
            sylvester(MatrixEquation::Continuous, (&far, n), (&far, n), &small),
        );
        let (x, y) = (x.expect("it is regular"), y.expect("it is regular"));
        assert!(x.iter().zip(&y).all(|(x, y)| (x - y).abs() < 1e-9 * (1.0 + x.abs())), "2^{exponent}");
    }
}
