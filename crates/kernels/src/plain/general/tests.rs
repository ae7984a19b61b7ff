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
