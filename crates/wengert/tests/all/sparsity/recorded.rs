//! Sparse derivatives of recorded functions of numbers.

use wengert::prelude::*;
use wengert::sparsity::Csr;
use wengert::{Recorded, jacobian};

fn check_dense(sparse: &Csr, dense: &[Vec<f64>], what: &str) {
    let largest = dense.iter().flatten().filter(|x| x.is_finite()).fold(0.0, |m: f64, x| m.max(x.abs()));
    let got = sparse.to_dense();
    assert_eq!((got.len(), sparse.cols()), (dense.len(), dense.first().map_or(sparse.cols(), Vec::len)), "{what}");
    for (i, (got, want)) in got.iter().zip(dense).enumerate() {
        for (j, (&got, &want)) in got.iter().zip(want).enumerate() {
            let same = got == want || (got.is_nan() && want.is_nan()) || (got - want).abs() <= 1e-13 * largest;
            assert!(same, "{what}: entry ({i}, {j}) is {got} instead of {want}");
        }
    }
}

#[test]
fn a_chained_rosenbrock_is_tridiagonal() {
    let f =
        |x: Vec<Var>| x.windows(2).map(|w| 100.0 * (w[1] - w[0] * w[0]).powi(2) + (1.0 - w[0]).powi(2)).sum::<Var>();
    let x: Vec<f64> = (0..12).map(|k| 0.3 + 0.1 * f64::from(k)).collect();
    let recorded = record(vec![0.0; 12], f);
    let h = recorded.sparse_hessian(x.clone());
    assert_eq!(h.nnz(), 34);
    check_dense(&h, &recorded.hessian(x.clone()), "rosenbrock");
    let j = recorded.sparse_jacobian(x.clone());
    assert_eq!(j.nnz(), 12);
    check_dense(&j, &[recorded.grad(x)], "gradient");
}

#[test]
fn the_same_operand_twice_counts_twice() {
    let f = record([1.0, 1.0], |[x, y]| {
        let s = x * y;
        s * s + (s / s) * x + s.powf(3.0) + s.pow(s)
    });
    let x = [1.2, 0.7];
    check_dense(&f.sparse_hessian(x), &f.hessian(x).map(Vec::from), "aliases");
}

#[test]
fn the_branch_not_taken_stays_out() {
    let f = record([1.0, 4.0], |[x, y]| Real::select(x.less(0.0.into()), y, (x * y).sqrt()) + y * y);
    for x in [[1.0, 4.0], [-1.0, 4.0], [0.0, 0.0], [-0.5, 0.0]] {
        check_dense(&f.sparse_hessian(x), &f.hessian(x).map(Vec::from), &format!("{x:?}"));
        check_dense(&f.sparse_jacobian(x), &[f.grad(x).to_vec()], &format!("{x:?}"));
    }
}

#[test]
fn a_flipped_guard_has_a_pattern_of_its_own() {
    let f = record([1.0, 1.0], |[x, y]| if x > 0.0 { x * y } else { y * y });
    assert_eq!(f.sparse_hessian([1.0, 1.0]).to_dense(), [[0.0, 1.0], [1.0, 0.0]]);
    let other = f.sparse_hessian([-1.0, 1.0]);
    assert_eq!((other.nnz(), other.to_dense()), (1, vec![vec![0.0, 0.0], vec![0.0, 2.0]]));
    assert_eq!((f.sparse_hessian([2.0, 1.0]).nnz(), f.recordings()), (2, 2));
}

#[test]
fn values_of_variables_are_differentiated() {
    let f = record([1.0, 1.0], |[x, y]| (x * y).exp() + x.powi(3));
    let third = jacobian([0.4, 0.3], |x| f.sparse_hessian(x).values().to_vec());
    let want = jacobian([0.4, 0.3], |x| f.hessian(x));
    for (got, want) in third.iter().zip(want.iter().flatten()) {
        assert!((got[0] - want[0]).abs() + (got[1] - want[1]).abs() < 1e-12, "{third:?} {want:?}");
    }
}

#[test]
fn a_lagrangian_has_the_pattern_of_all_outputs() {
    let f: Recorded<_, _, _> = record([0.0; 3], |[x, y, z]| (x * x, vec![x * y, z.exp(), y + z]));
    let h = f.sparse_hessian_of_lagrangian([1.0, 2.0, 0.5], 0.0, [3.0, 4.0, 5.0]);
    assert_eq!(h.to_dense(), [[0.0, 3.0, 0.0], [3.0, 0.0, 0.0], [0.0, 0.0, 4.0 * 0.5f64.exp()]]);
    assert!(h.pattern().contains(0, 0));
}
