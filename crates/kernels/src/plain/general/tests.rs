//! Tests of what is private here.

use super::super::tests::numbers;
use super::*;

#[test]
fn values_and_vectors_belong_together() {
    for (seed, n) in (1..30).map(|seed| (seed, seed as usize % 8)) {
        let a = numbers(seed, n * n);
        let (values, vectors) = eig(&a, n).expect("it ends");
        for j in 0..n {
            for i in 0..n {
                let product: C64 = (0..n).map(|k| vectors[k * n + j].times(a[i * n + k])).sum();
                let rest = product - values[j] * vectors[i * n + j];
                assert!(rest.abs() < 1e-12, "seed {seed}, value {j}");
            }
        }
    }
}

#[test]
fn far_matrices_have_the_vectors_of_near_ones() {
    for (exponent, n) in [(-1000, 5), (-540, 3), (530, 4), (1020, 3)] {
        let near = numbers(n as u64, n * n);
        let factor = f64::powi(2.0, exponent / 2);
        let far: Vec<f64> = near.iter().map(|x| x * factor * factor).collect();
        let (wanted, its) = eig(&near, n).expect("it ends");
        let (values, vectors) = eig(&far, n).expect("it ends");
        let close = |x: C64, y: C64| (x - y).abs() < 1e-12;
        assert!(vectors.iter().zip(&its).all(|(&x, &y)| close(x, y)), "2^{exponent}");
        let back = |value: C64| value.times(1.0 / factor).times(1.0 / factor);
        assert!(values.iter().zip(&wanted).all(|(&x, &y)| close(back(x), y)), "2^{exponent}");
    }
}
