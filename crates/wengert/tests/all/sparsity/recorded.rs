//! Sparse derivatives of recorded functions of numbers.

use wengert::prelude::*;
use wengert::sparsity::{Csr, Method, Pattern, SparseError, SparseOptions, SparseRecorded};
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

#[test]
fn a_path_with_another_pattern_is_an_error_and_then_the_pattern() {
    let f = record([1.0, 1.0], |[x, y]| if x > 0.0 { x * y } else { y * y });
    let hessian = SparseRecorded::hessian(&f, &[1.0, 1.0]).unwrap();
    assert_eq!((hessian.pattern().nnz(), hessian.method(), hessian.colours()), (2, Method::EdgePushing, 1));
    let mut values = [7.0; 2];
    let changed = hessian.evaluate(&[-1.0, 1.0], &mut values).unwrap_err();
    assert!(matches!(changed, SparseError::PatternChanged { before: 2, now: 1, .. }), "{changed}");
    assert!(changed.to_string().contains("recorded.rs") && values == [7.0; 2], "{changed}");
    let mut values = [0.0];
    hessian.evaluate(&[-1.0, 1.0], &mut values).unwrap();
    assert_eq!((values, hessian.pattern().row(1).to_vec()), ([2.0], vec![1]));
    // Back again: the plan is known.
    assert!(hessian.evaluate(&[1.0, 1.0], &mut values).is_err());
    assert_eq!((hessian.pattern().nnz(), f.recordings()), (2, 2));
}

#[test]
fn another_path_with_the_same_pattern_goes_on() {
    let f = record([1.0, 1.0], |[x, y]| if x > 0.0 { x * y } else { x * y * 2.0 });
    let hessian = SparseRecorded::hessian(&f, &[1.0, 1.0]).unwrap();
    let mut values = [0.0; 6];
    hessian.evaluate_many(&[[1.0, 1.0], [-1.0, 1.0], [2.0, 1.0]], &mut values).unwrap();
    assert_eq!(values, [1.0, 1.0, 2.0, 2.0, 1.0, 1.0]);
}

#[test]
fn a_strict_function_keeps_its_path() {
    let f = record([1.0, 1.0], |[x, y]| if x > 0.0 { x * y } else { y * y }).strict();
    let jacobian = SparseRecorded::jacobian(&f, &[1.0, 1.0]).unwrap();
    let flipped = jacobian.evaluate(&[-1.0, 1.0], &mut [0.0; 2]).unwrap_err();
    assert!(matches!(flipped, SparseError::GuardFlipped(_)), "{flipped}");
    jacobian.evaluate(&[2.0, 3.0], &mut [0.0; 2]).unwrap();
}

#[test]
fn a_given_pattern_says_what_is_wanted() {
    let f = record([1.0, 1.0, 1.0], |[x, y, z]| [x * y, z.sin()]);
    let given = |entries: &[(usize, usize)]| Pattern::from_entries(2, 3, entries.iter().copied()).unwrap();
    let own = given(&[(0, 0), (0, 2), (1, 2)]);
    for method in [Method::Direct, Method::Columns, Method::Rows, Method::Bidirectional, Method::Dense] {
        let options = SparseOptions::default().pattern(own.clone()).method(method);
        let jacobian = options.recorded_jacobian(&f, &[1.0; 3]).unwrap();
        let mut values = [9.0; 3];
        jacobian.evaluate(&[1.0, 5.0, 0.0], &mut values).unwrap();
        assert_eq!((values, &*jacobian.pattern()), ([5.0, 0.0, 1.0], &own), "{method}");
    }
    let refused = SparseOptions::default().pattern(own).check(true).recorded_jacobian(&f, &[1.0; 3]).unwrap_err();
    assert!(matches!(refused, SparseError::Missing { row: 0, col: 1, .. }), "{refused}");
    let wrong = Pattern::from_entries(3, 3, []).unwrap();
    let refused = SparseOptions::default().pattern(wrong).recorded_jacobian(&f, &[1.0; 3]).unwrap_err();
    assert!(refused.to_string().contains("3 x 3, and the derivative 2 x 3"), "{refused}");
}

#[test]
fn parts_are_computed_alone() {
    let f = record([1.0; 3], |[x, y, z]| x * y * z);
    let lower = SparseOptions::default().lower().recorded_hessian(&f, &[1.0; 3]).unwrap();
    let mut values = [0.0; 3];
    lower.evaluate(&[2.0, 3.0, 5.0], &mut values).unwrap();
    assert_eq!(values, [5.0, 3.0, 2.0]);
    let row = SparseOptions::default().rows([2]).recorded_hessian(&f, &[1.0; 3]).unwrap();
    row.evaluate(&[2.0, 3.0, 5.0], &mut values[..2]).unwrap();
    assert_eq!(values[..2], [3.0, 2.0]);
    let refused = SparseOptions::default().lower().recorded_jacobian(&f, &[1.0; 3]).unwrap_err();
    assert!(refused.to_string().contains("no lower triangle"), "{refused}");
}

#[test]
fn sizes_that_do_not_fit_are_named() {
    let f = record(vec![1.0; 3], |x| vec![x[0] * x[1], x[2]]);
    let jacobian = SparseRecorded::jacobian(&f, &vec![1.0; 3]).unwrap();
    let message = |result: Result<(), SparseError>| result.unwrap_err().to_string();
    let short = message(jacobian.evaluate(&vec![1.0; 2], &mut [0.0; 3]));
    assert!(short.contains("the point has 2 numbers where 3") && short.contains("recorded.rs"), "{short}");
    let few = message(jacobian.evaluate(&vec![1.0; 3], &mut [0.0; 2]));
    assert!(few.contains("the vector of values has 2 numbers where 3"), "{few}");
    let lagrangian = SparseRecorded::hessian_of_lagrangian(&f, &vec![1.0; 3]).unwrap();
    let many = message(lagrangian.evaluate_lagrangian(&vec![1.0; 3], 1.0, &[1.0; 2], &mut [0.0; 2]));
    assert!(many.contains("the vector of multipliers has 2 numbers where 1"), "{many}");
    assert!(message(lagrangian.evaluate(&vec![1.0; 3], &mut [0.0; 2])).contains("evaluate_lagrangian"));
    assert!(SparseOptions::default().method(Method::Star).recorded_jacobian(&f, &vec![1.0; 3]).is_err());
}

#[test]
fn long_sums_take_time_in_proportion() {
    // A pattern of every partial sum would have 10^10 entries.
    let size = 100_000;
    let f = record(vec![0.5; size], |x| {
        let sum: Var = x.iter().map(|&x| x.sin()).sum();
        let differences: Vec<Var> = x.windows(2).map(|w| w[1] - w[0]).collect();
        (sum, differences)
    });
    let jacobian = f.sparse_jacobian(vec![0.1; size]);
    assert_eq!(jacobian.nnz(), size + 2 * (size - 1));
    let by_sets = SparseOptions::default().method(Method::Rows).recorded_jacobian(&f, &vec![0.1; size]).unwrap();
    assert_eq!(by_sets.pattern(), *jacobian.pattern());
    let hessian = f.sparse_hessian_of_lagrangian(vec![0.1; size], 2.0, vec![1.0; size - 1]);
    assert_eq!((hessian.nnz(), hessian.values()[7]), (size, -2.0 * 0.1f64.sin()));
}

#[test]
fn what_is_empty_or_constant_has_empty_patterns() {
    let f = record([1.0, 2.0], |[x, _]| vec![x, Var::from(3.0), x]);
    assert_eq!(f.sparse_jacobian([1.0, 2.0]).to_dense(), [[1.0, 0.0], [0.0, 0.0], [1.0, 0.0]]);
    assert_eq!(f.sparse_hessian_of_lagrangian([1.0, 2.0], 1.0, [1.0, 1.0]).nnz(), 0);
    let none = record(Vec::<f64>::new(), |x: Vec<Var>| x);
    assert_eq!(
        (none.sparse_jacobian(Vec::<f64>::new()).rows(), none.sparse_jacobian(Vec::<f64>::new()).cols()),
        (0, 0)
    );
    let constant = record([1.0], |_| Var::from(2.0));
    assert_eq!(constant.sparse_hessian([1.0]).nnz(), 0);
}

#[test]
fn infinite_derivatives_stay_where_they_are() {
    let f = record([1.0, 1.0, 1.0], |[x, y, z]| [x.sqrt() * y, z * z, y.ln()]);
    let x = [0.0, 2.0, 3.0];
    let want = f.jacobian(x).map(Vec::from);
    for method in [Method::Direct, Method::Columns, Method::Rows, Method::Bidirectional, Method::Dense] {
        let jacobian = SparseOptions::default().method(method).recorded_jacobian(&f, &x).unwrap();
        let mut values = vec![0.0; jacobian.pattern().nnz()];
        jacobian.evaluate(&x, &mut values).unwrap();
        check_dense(&Csr::new(jacobian.pattern(), values).unwrap(), &want, &format!("{method}"));
    }
}

#[test]
fn the_ways_are_listed_with_their_costs() {
    let f = record(vec![0.5; 20], |x| x.windows(2).map(|w| (w[0] * w[1]).sin()).sum::<Var>());
    let hessian = SparseRecorded::hessian(&f, &vec![0.5; 20]).unwrap();
    let text = hessian.explain();
    for part in ["sparse_hessian of 20 x 20", "-> edge pushing", "star", "dense", "taken: edge pushing"] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    let forced = SparseOptions::default().method(Method::Star).recorded_hessian(&f, &vec![0.5; 20]).unwrap();
    assert!(forced.explain().contains("taken: star, as it was asked for"), "{}", forced.explain());
}

#[test]
fn a_captured_outer_variable_is_an_error_at_plain_points() {
    let outcome = std::panic::catch_unwind(|| {
        grad(2.0, |outer| {
            let f = record([1.0], |[x]| x * x * outer);
            lift(f.sparse_hessian([1.0]).values()[0])
        })
    });
    let message = *outcome.unwrap_err().downcast::<String>().unwrap();
    assert!(message.contains("depends on a Var"), "{message}");
    let g = grad(2.0, |outer| {
        let f = record([1.0], |[x]| x * x * outer);
        f.sparse_hessian([lift(1.0)]).values()[0]
    });
    assert_eq!(g, 2.0);
}

#[test]
fn what_elimination_would_make_dense_is_computed_by_products() {
    // Layers of 40 between two inputs and one output: the second derivatives of a layer by itself are 40 x 40.
    let network = |[x, y]: [Var; 2]| {
        let mut layer: Vec<Var> = (0..40).map(|k| (x * (0.1 * f64::from(k)) + y).tanh()).collect();
        for _ in 0..3 {
            layer =
                (0..40).map(|k| layer.iter().map(|&x| x * (0.004 * f64::from(k) - 0.05)).sum::<Var>().tanh()).collect();
        }
        layer.into_iter().sum::<Var>()
    };
    let f = record([0.3, 0.4], network);
    let hessian = SparseRecorded::hessian(&f, &[0.3, 0.4]).unwrap();
    assert_eq!(hessian.method(), Method::Star, "{}", hessian.explain());
    check_dense(&f.sparse_hessian([0.1, 0.2]), &f.hessian([0.1, 0.2]).map(Vec::from), "network");
    // States of a recurrence with three parameters, each of which depends on all before it.
    let f = record([0.9, 0.1, 0.5], |[a, b, start]| {
        let states = std::iter::successors(Some(start), |&x| Some(a * x.sin() + b)).take(2000);
        states.collect::<Vec<Var>>()
    });
    let jacobian = SparseRecorded::jacobian(&f, &[0.9, 0.1, 0.5]).unwrap();
    assert_eq!((jacobian.method(), jacobian.pattern().nnz()), (Method::Columns, 1 + 3 * 1999));
    check_dense(
        &f.sparse_jacobian([0.8, 0.2, 0.4]),
        &f.jacobian([0.8, 0.2, 0.4]).iter().map(|r| r.to_vec()).collect::<Vec<_>>(),
        "states",
    );
}
