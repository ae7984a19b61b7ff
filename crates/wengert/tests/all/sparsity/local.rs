//! Patterns of a point: right there, no larger than those that hold everywhere, and never used where they do not hold.

use wengert::prelude::*;
use wengert::sparsity::{Method, Sparse};
use wengert::{Array, Program, cond, hessian, jacobian, scan, while_loop};

/// Numbers in no order, other ones for each seed.
fn point(seed: usize, count: usize) -> Tensor {
    Tensor::from((0..count).map(|k| ((k * 7 + seed * 13) as f64 * 0.61).sin() * 2.0).collect::<Vec<f64>>())
}

/// The larger of two by a choice, which has the derivative of the one that is taken.
fn larger(left: &Tensor, right: &Tensor) -> Tensor {
    left.gt(right).where_(left, right)
}

/// The matrix of the values, and the entries of the pattern outside.
fn check(what: &str, sparse: &Sparse, x: &Tensor, dense: &Tensor) {
    let (pattern, dense) = (sparse.pattern(), dense.to_vec());
    let mut values = vec![f64::NAN; pattern.nnz()];
    sparse.evaluate(x, &mut values).unwrap();
    let mut rest = dense.clone();
    for ((row, col), value) in pattern.entries().zip(values) {
        let expected = std::mem::take(&mut rest[row * pattern.cols() + col]);
        let method = sparse.method();
        assert!((value - expected).abs() <= 1e-13, "{what} by {method}: ({row}, {col}) is {value}, not {expected}");
    }
    assert_eq!(rest.iter().position(|&entry| entry != 0.0), None, "{what}: the pattern lacks an entry");
}

/// A pattern of a point against the dense Jacobian there, by every method, and at other points prepared again.
fn check_jacobian(what: &str, f: impl Fn(Tensor) -> Tensor + Copy, count: usize) {
    let global = Sparse::jacobian(f, &point(0, count)).unwrap();
    let first = Sparse::options().local().jacobian(f, &point(0, count)).unwrap();
    let mut flips = 0;
    for seed in 0..8 {
        let x = point(seed, count);
        let dense = jacobian(x.clone(), f);
        let local = first.at(&x).unwrap();
        assert!(local.pattern().nnz() < global.pattern().nnz(), "{what}: {}", local.explain());
        let outside = local.pattern().entries().find(|&(row, col)| !global.pattern().contains(row, col));
        assert_eq!(outside, None, "{what}: the pattern of a point has what that of all points lacks");
        check(what, &local, &x, &dense);
        for method in [Method::Columns, Method::Rows, Method::Bidirectional, Method::Dense] {
            check(what, &Sparse::options().local().method(method).jacobian(f, &x).unwrap(), &x, &dense);
        }
        if first.holds_at(&x).unwrap() {
            assert_eq!(first.pattern(), local.pattern(), "{what}: it holds at seed {seed}");
            check(what, &first, &x, &dense);
        } else {
            flips += 1;
            let mut values = vec![0.0; first.pattern().nnz()];
            let error = first.evaluate(&x, &mut values).unwrap_err().to_string();
            assert!(error.contains("a mask, an index or a condition has another value here"), "{error}");
            assert!(error.contains("local.rs"), "{error}");
        }
    }
    assert!(flips > 0, "{what}: no point has another pattern");
}

#[test]
fn what_a_choice_leaves_out_is_not_in_the_pattern() {
    check_jacobian("larger neighbour", |x| larger(&x.slice(0..6), &x.slice(1..7)).sin(), 7);
    check_jacobian("select", |x| x.gt(0.0).where_(x.square(), x.roll(1, 0) * x.roll(2, 0)), 9);
    check_jacobian("sorted", |x| x.sort(0).cumsum(0).slice(0..3), 5);
    check_jacobian("by computed index", |x| x.take(&x.argsort(0), 0) * x.slice(0..1), 6);
    let branches = |x: Tensor| {
        cond(&x.sum().gt(0.0), &x, |x: Tensor| x.slice(0..3) * x.slice(1..4), |x: Tensor| x.slice(2..5).exp())
    };
    check_jacobian("branches", branches, 5);
}

#[test]
fn a_choice_inside_a_loop_is_that_of_every_step() {
    let repeated = |x: Tensor| {
        let start = (x.slice(0..4) * 1.0, Tensor::from(0i64));
        let step = |(c, k): (Tensor, Tensor)| {
            let kept = x.slice(0..4).gt(x.slice(1..5));
            (kept.where_(c.sin(), c * x.slice(1..5)), k + 1i64)
        };
        while_loop(start, |(_, k)| k.lt(3i64), step).0
    };
    check_jacobian("masks in a loop", repeated, 5);
    // A choice among choices, and behind the loop one more.
    let nested = |x: Tensor| {
        let step = |(c, k): (Tensor, Tensor)| {
            let inner = while_loop(
                (c, Tensor::from(0i64)),
                |(_, k)| k.lt(2i64),
                |(c, k)| (x.slice(0..3).gt(0.0).where_(c.sin(), c * x.slice(1..4)), k + 1i64),
            );
            (inner.0 + x.argsort(0).slice(0..3).to_f64() * x.slice(0..3), k + 1i64)
        };
        let y = while_loop((x.slice(0..3) * 1.0, Tensor::from(0i64)), |(_, k)| k.lt(2i64), step).0;
        larger(&y, &x.slice(1..4))
    };
    check_jacobian("choices in loops in a loop", nested, 5);
    // Too many steps for each to have a pattern of its own.
    let long = |x: Tensor| {
        let step = |c: Tensor, weight: Tensor| {
            let turned = c.take(&x.argsort(0), 0) * weight;
            let kept = x.gt(0.0).where_(turned, c);
            (kept.clone(), kept.slice(0..0))
        };
        scan(x.clone(), Tensor::ones(&[30_000]), step).0
    };
    check_jacobian("indices in a long scan", long, 4);
}

#[test]
fn the_maximum_reaches_both_and_a_choice_the_one_that_it_takes() {
    let x = Tensor::from([1.0, 1.0, 0.0]);
    let f = |x: Tensor| x.slice(0..2).maximum(x.slice(1..3));
    let sparse = Sparse::options().local().jacobian(f, &x).unwrap();
    assert_eq!(sparse.pattern().nnz(), 4);
    check("halves of a tie", &sparse, &x, &jacobian(x.clone(), f));
    let f = |x: Tensor| larger(&x.slice(0..2), &x.slice(1..3));
    let sparse = Sparse::options().local().jacobian(f, &x).unwrap();
    assert_eq!(sparse.pattern().entries().collect::<Vec<_>>(), [(0, 1), (1, 1)]);
    check("the second of a tie", &sparse, &x, &jacobian(x.clone(), f));
}

#[test]
fn hessians_of_a_point_are_symmetric_and_right() {
    let f = |x: Tensor| {
        let (left, right) = (x.slice(0..6), x.slice(1..7));
        left.gt(&right).where_((left.clone() * &right).square(), right.exp()).sum()
    };
    let global = Sparse::hessian(f, &point(0, 7)).unwrap();
    let first = Sparse::options().local().hessian(f, &point(0, 7)).unwrap();
    for seed in 0..6 {
        let x = point(seed, 7);
        let dense = hessian(x.clone(), f);
        let local = first.at(&x).unwrap();
        assert_eq!(**local.pattern(), local.pattern().transposed());
        assert!(local.pattern().nnz() < global.pattern().nnz());
        check("hessian", &local, &x, &dense);
        for method in [Method::Star, Method::Acyclic, Method::Columns] {
            check("hessian", &Sparse::options().local().method(method).hessian(f, &x).unwrap(), &x, &dense);
        }
        let lower = Sparse::options().local().lower().hessian(f, &x).unwrap();
        let mut values = vec![f64::NAN; lower.pattern().nnz()];
        lower.evaluate(&x, &mut values).unwrap();
        for ((row, col), value) in lower.pattern().entries().zip(values) {
            assert!(col <= row && (value - dense.to_vec()[row * 7 + col]).abs() <= 1e-13);
        }
    }
}

#[test]
fn factors_of_a_lagrangian_decide_nothing() {
    let f = |x: Tensor| {
        let larger = larger(&x.slice(0..3), &x.slice(1..4));
        (x.square().sum(), larger.clone() * &larger * &larger)
    };
    let x = Tensor::from([1.0, 2.0, -1.0, 0.5]);
    let sparse = Sparse::options().local().hessian_of_lagrangian(f, &x).unwrap();
    assert_eq!(sparse.pattern().nnz(), 4, "{}", sparse.explain());
    assert!(sparse.explain().contains("those of a point"), "{}", sparse.explain());
    let mut values = vec![0.0; 4];
    sparse.evaluate_lagrangian(&x, 0.5, &[1.0, 2.0, 4.0], &mut values).unwrap();
    assert_eq!(values, [1.0, 1.0 + 6.0 * 2.0 * 3.0, 1.0, 1.0 + 6.0 * 0.5 * 4.0]);
    let falling = Tensor::from([3.0, 2.0, -1.0, 0.5]);
    let error = sparse.evaluate_lagrangian(&falling, 0.5, &[1.0; 3], &mut values).unwrap_err().to_string();
    assert!(error.contains("`at`"), "{error}");
}

#[test]
fn a_function_without_choices_has_one_pattern() {
    let f = |x: Tensor| x.slice(1..5) * x.slice(0..4).sin();
    let local = Sparse::options().local().jacobian(f, &point(0, 5)).unwrap();
    assert_eq!(local.pattern(), Sparse::jacobian(f, &point(1, 5)).unwrap().pattern());
    assert!(local.holds_at(&point(3, 5)).unwrap());
    check("no choice", &local, &point(3, 5), &jacobian(point(3, 5), f));
    let global = Sparse::jacobian(f, &point(0, 5)).unwrap();
    assert!(global.holds_at(&point(2, 5)).unwrap());
    assert_eq!(global.at(&point(2, 5)).unwrap().pattern(), global.pattern());
}

#[test]
fn a_pattern_of_a_point_needs_one_and_no_other() {
    let x = point(0, 4);
    let given = Sparse::jacobian(|x: Tensor| x.sin(), &x).unwrap().pattern().clone();
    let error = Sparse::options().local().pattern(given).jacobian(|x: Tensor| x.sin(), &x).unwrap_err().to_string();
    assert!(error.contains("it is one or the other") && error.contains("local.rs"), "{error}");
    let program: Program = "program(v0: f64[2]) { v1: f64[2] = sin v0; return v1 }".parse().unwrap();
    let others: [Array; 0] = [];
    let error = Sparse::options().local().program(&program, &others).unwrap_err().to_string();
    assert!(error.contains("prepared without one"), "{error}");
    let local = Sparse::options().local().jacobian(|x: Tensor| x.relu(), &x).unwrap();
    let error = local.at(&point(0, 5)).unwrap_err().to_string();
    assert!(error.contains("f64[5]") && error.contains("f64[4]") && error.contains("local.rs"), "{error}");
    let error = local.holds_at(&point(0, 5)).unwrap_err().to_string();
    assert!(error.starts_with("`holds_at`") && error.contains("local.rs"), "{error}");
}
