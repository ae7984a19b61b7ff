//! Factors against what defines them: products, orthogonality, order, phases.

use super::*;

/// Parts between -1 and 1 that look random, so that the matrix has full rank.
fn matrix(seed: u64, m: usize, n: usize) -> Vec<C64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    (0..m * n).map(|_| C64::new(next(), next())).collect()
}

fn product(x: &[C64], y: &[C64], [m, k, n]: [usize; 3]) -> Vec<C64> {
    let at = |place: usize| (0..k).map(|j| x[place / n * k + j] * y[j * n + place % n]).sum();
    (0..m * n).map(at).collect()
}

#[track_caller]
fn near(x: &[C64], y: &[C64], what: &str) {
    assert_eq!(x.len(), y.len(), "{what}");
    for (x, y) in x.iter().zip(y) {
        assert!((*x - *y).abs() < 1e-12, "{what}: {x:?} instead of {y:?}");
    }
}

/// `X^H X = 1` for this many rows and columns.
#[track_caller]
fn orthonormal(x: &[C64], m: usize, n: usize, what: &str) {
    near(&product(&adjoint(x, m, n), x, [n, m, n]), &reflect::identity(n, n), what);
}

const SHAPES: [[usize; 2]; 12] =
    [[0, 0], [1, 1], [2, 2], [3, 3], [6, 6], [9, 9], [3, 1], [1, 3], [5, 2], [2, 5], [7, 4], [4, 7]];

/// Matrices of every shape, and of each one with dependent columns.
fn each(check: impl Fn(&[C64], usize, usize)) {
    for (seed, [m, n]) in SHAPES.into_iter().enumerate() {
        let mut a = matrix(seed as u64, m, n);
        check(&a, m, n);
        if n > 1 {
            (0..m).for_each(|i| a[i * n + 1] = a[i * n] * C64::new(0.5, -2.0));
            check(&a, m, n);
            a.fill(C64::ZERO);
            check(&a, m, n);
        }
    }
}

#[test]
fn triangular_factors() {
    each(|a, m, n| {
        let (l, u, order) = lu(a, m, n);
        let rank = m.min(n);
        let permuted: Vec<C64> = order.iter().flat_map(|&row| a[row * n..(row + 1) * n].to_vec()).collect();
        near(&product(&l, &u, [m, rank, n]), &permuted, "LU");
        assert!(l.iter().all(|x| x.abs() < 1.0 + 1e-15), "pivots are largest");
    });
}

#[test]
fn orthogonal_factors() {
    each(|a, m, n| {
        let (q, r) = qr(a, m, n);
        let rank = m.min(n);
        near(&product(&q, &r, [m, rank, n]), a, "QR");
        orthonormal(&q, m, rank, "Q");
        for k in 0..rank {
            assert!(r[k * n + k].im == 0.0 && r[k * n + k].re >= 0.0, "the diagonal is real and not negative");
            assert!((0..k).all(|j| r[k * n + j] == C64::ZERO), "R is triangular");
        }
    });
}

#[test]
fn positive_definite_factors_and_systems() {
    for n in 0..8 {
        let square = matrix(n as u64, n, n);
        let mut a = product(&square, &adjoint(&square, n, n), [n, n, n]);
        (0..n).for_each(|k| a[k * n + k] += C64::from(0.1));
        let l = cholesky(&hermitian(&a, n), n).expect("it is positive definite");
        near(&product(&l, &adjoint(&l, n, n), [n, n, n]), &a, "L L^H");
        assert!((0..n * n).all(|place| place / n >= place % n || l[place] == C64::ZERO));
        let right = matrix(99, n, 2);
        let x = solve(&square, n, &right, 2).expect("it is regular");
        near(&product(&square, &x, [n, n, 2]), &right, "A X");
        if n > 2 {
            a[(n - 2) * (n + 1)] -= C64::from(1e3);
            assert_eq!(cholesky(&a, n), Err(n - 1));
        }
    }
    let one = [C64::new(1.0, 1.0), C64::new(2.0, 0.0), C64::new(0.0, 2.0), C64::new(2.0, 2.0)];
    assert_eq!(solve(&one, 2, &[C64::ONE; 2], 1), Err(1));
}

#[test]
fn hermitian_spectra() {
    each(|a, m, n| {
        if m != n {
            return;
        }
        let a = hermitian(a, n);
        let (w, v) = eigh(&a, n).expect("it ends");
        orthonormal(&v, n, n, "V");
        let scaled: Vec<C64> = v.iter().enumerate().map(|(place, v)| v.times(w[place % n])).collect();
        near(&product(&a, &v, [n, n, n]), &scaled, "A V = V w");
        assert!(w.is_sorted());
        phases(&v, n);
    });
}

#[test]
fn singular_spectra() {
    each(|a, m, n| {
        let ComplexSpectrum { left, values, right } = svd(a, m, n).expect("it ends");
        let rank = m.min(n);
        orthonormal(&left, m, rank, "U");
        orthonormal(&adjoint(&right, rank, n), n, rank, "V");
        let scaled: Vec<C64> = left.iter().enumerate().map(|(place, u)| u.times(values[place % rank])).collect();
        near(&product(&scaled, &right, [m, rank, n]), a, "U s V^H");
        assert!(values.iter().rev().is_sorted() && values.iter().all(|&s| s >= 0.0));
        phases(&left, rank);
    });
}

#[test]
fn general_spectra() {
    each(|a, m, n| {
        if m != n || a.iter().all(|&x| x == C64::ZERO) {
            return;
        }
        let (w, v) = eig(a, n).expect("it ends");
        let scaled: Vec<C64> = v.iter().enumerate().map(|(place, &v)| v * w[place % n]).collect();
        near(&product(a, &v, [n, n, n]), &scaled, "A V = V w");
        assert!(w.iter().map(|w| w.re).is_sorted());
        phases(&v, n);
    });
    // What a shift by the last two rows alone turns in circles.
    let turn = [C64::ZERO, C64::ZERO, C64::ONE, C64::ONE, C64::ZERO, C64::ZERO, C64::ZERO, C64::ONE, C64::ZERO];
    let (w, _) = eig(&turn, 3).expect("it ends");
    assert!(w.iter().all(|&w| (w * w * w - C64::ONE).abs() < 1e-14));
}

/// The first component of each column is real and positive, but for those that are negligible.
#[track_caller]
fn phases(v: &[C64], columns: usize) {
    if columns == 0 {
        return;
    }
    for j in 0..columns {
        let column: Vec<C64> = v.chunks_exact(columns).map(|row| row[j]).collect();
        let (first, _) = spectrum::turned(&column).expect("it has a length");
        assert!(column[first].im == 0.0 && column[first].re > 0.0);
    }
}

#[test]
fn schur_forms_are_ordered_and_their_equations_hold() {
    let held = std::cell::Cell::new(0);
    each(|a, m, n| {
        if m != n {
            return;
        }
        let what = format!("{n}");
        let (t, u) = ordered_schur(a, n).expect("it ends");
        near(&product(&product(&u, &t, [n, n, n]), &adjoint(&u, n, n), [n, n, n]), a, &what);
        orthonormal(&u, n, n, &what);
        assert!((0..n * n).all(|place| place / n <= place % n || t[place] == C64::ZERO), "{what}");
        assert!((1..n).all(|k| t[(k - 1) * n + k - 1].re < t[k * n + k].re + 1e-12), "{what}");
        for k in 0..n {
            let first = u.chunks_exact(n).find(|row| row[k].abs() > 1e-9).expect("a unit vector");
            assert!(first[k].re > 0.0 && first[k].im == 0.0, "{what}");
        }
        let c = matrix(9, n, n);
        for turned in [false, true] {
            // Dependent columns make 0 a repeated value.
            let Ok(x) = commutator(&t, n, &c, turned, 1e-12) else { continue };
            let t = if turned { adjoint(&t, n, n) } else { t.clone() };
            let (left, right) = (product(&t, &x, [n, n, n]), product(&x, &t, [n, n, n]));
            let below = |place: usize| place / n > place % n;
            let got: Vec<C64> =
                (0..n * n).filter(|&place| below(place)).map(|place| left[place] - right[place]).collect();
            let wanted: Vec<C64> = (0..n * n).filter(|&place| below(place)).map(|place| c[place]).collect();
            near(&got, &wanted, &what);
            assert!((0..n * n).all(|place| below(place) || x[place] == C64::ZERO), "{what}");
            held.set(held.get() + 1);
        }
    });
    // Both equations of the six square matrices of full rank at least.
    assert!(held.get() >= 12, "{}", held.get());
    let [one, zero] = [C64::ONE, C64::ZERO];
    assert!(commutator(&[one, one, zero, one], 2, &[one; 4], false, 1e-12).is_err());
}

#[test]
fn far_matrices_have_the_forms_of_near_ones() {
    for (exponent, n) in [(-1000, 5), (-540, 3), (530, 4), (1020, 3)] {
        let near_one = matrix(n as u64, n, n);
        let factor = f64::powi(2.0, exponent / 2);
        let far: Vec<C64> = near_one.iter().map(|x| x.times(factor).times(factor)).collect();
        let back = |x: &C64| x.times(1.0 / factor).times(1.0 / factor);
        let (wanted, its) = ordered_schur(&near_one, n).expect("it ends");
        let (t, u) = ordered_schur(&far, n).expect("it ends");
        near(&u, &its, "vectors");
        near(&t.iter().map(back).collect::<Vec<C64>>(), &wanted, "form");
        let (values, vectors) = eig(&far, n).expect("it ends");
        let scaled: Vec<C64> = vectors.iter().enumerate().map(|(place, &v)| v * back(&values[place % n])).collect();
        near(&product(&near_one, &vectors, [n, n, n]), &scaled, "A V = V w");
    }
}
