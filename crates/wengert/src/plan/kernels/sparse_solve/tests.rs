//! Tests of what is private here.

use super::*;
use crate::api::{grad, hvp, value_and_grad};
use crate::functional::vmap;
use crate::sparse;
use crate::tensor::Tensor;
use wengert_kernels::pattern::Pattern;

/// A pattern that no other test has: a band with an entry in a corner.
fn pattern(n: usize) -> SharedPattern {
    let band = (0..n).flat_map(|row| (row.saturating_sub(1)..(row + 2).min(n)).map(move |col| (row, col)));
    Pattern::from_entries(n, n, band.chain([(0, n - 1), (n - 1, 0)])).unwrap().into()
}

fn numbers(pattern: &SharedPattern, seed: f64) -> Tensor {
    let one = |(row, col): (usize, usize)| if row == col { 5.0 + seed } else { ((row + 3 * col) as f64).sin() };
    Tensor::from_vec(&[pattern.nnz()], pattern.entries().map(one).collect::<Vec<f64>>())
}

#[test]
fn a_pattern_is_analysed_once_and_a_matrix_factored_once() {
    let pattern = pattern(11);
    for kind in [MatrixKind::General, MatrixKind::Positive] {
        let matrices = Matrices::of(&pattern, kind);
        let again = SharedPattern::from(Pattern::clone(&pattern));
        assert!(Arc::ptr_eq(&matrices, &Matrices::of(&again, kind)));
        let (v, b) = (numbers(&pattern, 0.0), Tensor::ones(&[11]));
        let loss = |v: &Tensor| match kind {
            MatrixKind::General => sparse::solve(&again, v, &b).square().sum(),
            MatrixKind::Positive => sparse::solve_spd(&again, v, &b).square().sum(),
        };
        let made = || matrices.made.load(Ordering::Relaxed);
        value_and_grad(&v, |v| loss(&v));
        assert_eq!(made(), 1, "forward and transposed");
        hvp(&v, &numbers(&pattern, 1.0), |v| loss(&v));
        grad(&v, |v| loss(&v));
        assert_eq!(made(), 1, "at the second order and in other plans");
        let first = matrices.analysis().unwrap() as *const Analysis;
        let other = numbers(&pattern, 2.0);
        assert_ne!(grad(&other, |v| loss(&v)).to_vec(), grad(&v, |v| loss(&v)).to_vec());
        assert_eq!((made(), matrices.analysis().unwrap() as *const Analysis), (2, first));
        let lanes = Tensor::stack(&[&numbers(&pattern, 3.0), &v, &other], 0);
        vmap(&lanes, |v| value_and_grad(&v, |v| loss(&v)));
        assert_eq!(made(), 3, "one of three lanes is new");
        // Factors in single precision are others.
        grad(v.to_f32(), |v| sparse::solve(&again, &v, &b.to_f32()).sum());
        assert_eq!(made(), if kind == MatrixKind::General { 4 } else { 3 });
    }
}

#[test]
fn what_is_kept_is_bounded() {
    let matrices = Matrices::of(&pattern(13), MatrixKind::General);
    matrices.size.set(MOST_KEPT / 2).unwrap();
    for seed in [0.0, 1.0, 2.0, 3.0, 1.0, 0.0] {
        let values = numbers(&matrices.pattern, seed).to_vec();
        matrices.solve(&values, false, (&mut [1.0; 13], 1)).unwrap();
        assert!(matrices.kept.lock().unwrap().len() <= 3);
    }
    // Of four in turn three are kept, and the one that was asked for last is the newest.
    assert_eq!(matrices.made.load(Ordering::Relaxed), 5);
}

#[test]
fn zeros_of_both_signs_are_two_matrices() {
    let matrices = Matrices::of(&pattern(12), MatrixKind::General);
    let mut values = numbers(&matrices.pattern, 0.0).to_vec();
    for zero in [0.0, -0.0] {
        values[1] = zero;
        matrices.solve(&values, true, (&mut [1.0; 12], 1)).unwrap();
    }
    assert_eq!(matrices.made.load(Ordering::Relaxed), 2);
}
