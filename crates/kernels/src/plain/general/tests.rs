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
                let product = (0..n).fold((0.0, 0.0), |sum, k| add(sum, mul((a[i * n + k], 0.0), vectors[k * n + j])));
                let rest = sub(product, mul(values[j], vectors[i * n + j]));
                assert!(rest.0.hypot(rest.1) < 1e-12, "seed {seed}, value {j}");
            }
        }
    }
}
