//! Derivatives of determinants of order three and more, where singular values repeat. A determinant is a polynomial: that of
//! `A + t D`, of order n, has the derivative `n! det(D)` of order n along t, whatever A is, and none beyond it.

use wengert::prelude::*;

use super::{dominant, largest, points};

/// The derivative of an order along a line, forward through and through.
fn along(order: usize, a: &Tensor, d: &Tensor) -> f64 {
    fn derivative(order: usize, f: &dyn Fn(&Tensor) -> Tensor, t: &Tensor) -> Tensor {
        match order {
            0 => f(t),
            _ => jvp(t, &Tensor::from(1.0), |t| derivative(order - 1, f, &t)).1,
        }
    }
    derivative(order, &|t| (a + d * t).det(), &Tensor::from(0.0)).item()
}

/// Well-conditioned matrices whose singular values repeat, exactly or but for rounding.
fn repeated(n: usize) -> Vec<Tensor> {
    let eye = Tensor::eye(n);
    let mut all = vec![eye.clone(), &eye * -2.0, eye.take(&Tensor::from((0..n as i64).rev().collect::<Vec<i64>>()), 0)];
    all.extend([1e-14, 1e-13, 1e-12, 1e-9, 1e-6].map(|size| &eye + points(11, &[n, n]) * size));
    let mut last = vec![1.0; n];
    last[n - 1] = 3.0;
    all.push(eye * Tensor::from(last));
    all
}

#[test]
fn third_derivatives_where_singular_values_repeat() {
    for n in [2, 3] {
        let d = points(12, &[n, n]);
        let want = if n == 3 { 6.0 * d.det().item() } else { 0.0 };
        for a in repeated(n) {
            let third = along(3, &a, &d);
            assert!((third - want).abs() < 1e-12, "{a:?}: {third} instead of {want}");
            let backwards = grad(&a, |a| (hvp(&a, &d, |a| a.det()) * &d).sum());
            let third = (backwards * &d).sum().item();
            assert!((third - want).abs() < 1e-12, "backwards at {a:?}: {third} instead of {want}");
        }
    }
    // Of t I: n (n - 1) (n - 2) t^(n - 3).
    for n in [1, 4, 5, 7] {
        let eye = Tensor::eye(n);
        let want = (n * (n - 1)) as f64 * (n as f64 - 2.0);
        let third = along(3, &eye, &eye);
        assert!((third - want).abs() < 1e-11 * want.abs().max(1.0), "order {n}: {third} instead of {want}");
    }
}

#[test]
fn derivatives_of_the_fourth_and_fifth_order() {
    for n in [3, 4] {
        let d = points(13, &[n, n]);
        let want = if n == 4 { 24.0 * d.det().item() } else { 0.0 };
        for a in [Tensor::eye(n), Tensor::eye(n) * 0.5 + points(14, &[n, n]) * 1e-12] {
            let fourth = along(4, &a, &d);
            assert!((fourth - want).abs() < 1e-10, "order {n}: {fourth} instead of {want}");
        }
    }
    assert!(along(5, &Tensor::eye(3), &points(15, &[3, 3])).abs() < 1e-9);
}

/// The coefficients of `det(A + t D)` in t, by Leibniz' sum over permutations.
fn coefficients(a: &[f64], d: &[f64], n: usize) -> Vec<f64> {
    fn expand(row: usize, n: usize, taken: &[usize], at: &dyn Fn(usize, usize) -> [f64; 2]) -> Vec<f64> {
        let mut sum = vec![0.0; n + 1];
        if row == n {
            sum[0] = 1.0;
            return sum;
        }
        for column in (0..n).filter(|column| !taken.contains(column)) {
            // As many inversions as columns on its right are taken.
            let sign = if taken.iter().filter(|&&other| other > column).count() % 2 == 0 { 1.0 } else { -1.0 };
            let rest = expand(row + 1, n, &[taken, &[column]].concat(), at);
            let [value, slope] = at(row, column);
            for power in 0..=n {
                let before = if power > 0 { rest[power - 1] } else { 0.0 };
                sum[power] += sign * (value * rest[power] + slope * before);
            }
        }
        sum
    }
    expand(0, n, &[], &|row, column| [a[row * n + column], d[row * n + column]])
}

/// Whatever the rank is, and however often singular values repeat.
#[test]
fn determinants_of_small_matrices_have_derivatives_of_every_order() {
    for n in 1..=4 {
        let d = points(16, &[n, n]);
        let thin = points(17, &[n, 1]).matmul(&points(18, &[1, n]));
        let mut all = repeated(n);
        all.extend([Tensor::zeros(&[n, n]), Tensor::ones(&[n, n]), thin.clone(), thin * 1e-9 + Tensor::eye(n)]);
        for a in all {
            let wanted = coefficients(&a.to_vec(), &d.to_vec(), n);
            let mut factorial = 1.0;
            for order in 0..=n + 1 {
                factorial *= order.max(1) as f64;
                let wanted = factorial * wanted.get(order).copied().unwrap_or(0.0);
                let found = along(order, &a, &d);
                assert!(
                    (found - wanted).abs() < 1e-13 * 3f64.powi(n as i32),
                    "{order} of {a:?}: {found}, not {wanted}"
                );
            }
            let second = (grad(&a, |a| (grad(&a, |a| a.det()) * &d).sum()) * &d).sum().item();
            let third = (grad(&a, |a| (hvp(&a, &d, |a| a.det()) * &d).sum()) * &d).sum().item();
            for (order, found) in [(2, second), (3, third)] {
                let wanted = wanted.get(order).map_or(0.0, |x| x * [2.0, 6.0][order - 2]);
                assert!(
                    (found - wanted).abs() < 1e-13 * 3f64.powi(n as i32),
                    "{order} of {a:?}: {found}, not {wanted}"
                );
            }
        }
    }
}

#[test]
fn every_matrix_of_a_batch_goes_its_own_way() {
    // A multiple of the identity, and a matrix whose singular values are far apart.
    let flat = dominant(1, 3) * Tensor::from([[1.0], [0.1], [1e-5]]);
    let d = points(12, &[3, 3]);
    let third = |a: Tensor| (grad(a, |a| (hvp(&a, &d, |a| a.det()) * &d).sum()) * &d).sum();
    let both = vmap(Tensor::stack(&[&(Tensor::eye(3) * 3.0), &flat], 0), third).to_vec();
    let want = 6.0 * d.det().item();
    assert!(both.iter().all(|third| (third - want).abs() < 1e-10), "{both:?} instead of {want}");
    // In single precision too.
    let single = grad(&Tensor::eye(3).to_f32(), |a| (hvp(&a, &d.to_f32(), |a| a.det()) * d.to_f32()).sum());
    let double = grad(&Tensor::eye(3), |a| (hvp(&a, &d, |a| a.det()) * &d).sum());
    assert!(largest(&(single.to_f64() - double)) < 1e-5);
}
