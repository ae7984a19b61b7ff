//! What is not determined is an error that says what is missing and what to use.

use wengert::linalg::{logm, low_rank, polar, singular, spectral, sqrtm, try_pinv, try_polar, try_spectral};
use wengert::prelude::*;

use super::matrix;
use crate::support::caught::caught;

/// The message of a panic, or what came out instead.
fn said(f: impl FnOnce() -> Tensor) -> String {
    match caught("it", f) {
        Ok(out) => format!("nothing is wrong: {out}"),
        Err(why) => why,
    }
}

#[track_caller]
fn says(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "{part:?} is not in {message:?}");
    }
    assert!(message.contains("errors.rs:"), "the line is not in {message:?}");
}

/// Eigenvalues 1, 1, 4.
fn pair() -> Tensor {
    matrix(3, 3, &[2.0, 1.0, 1.0, 1.0, 2.0, 1.0, 1.0, 1.0, 2.0])
}

#[test]
fn a_range_that_cuts_a_cluster() {
    let a = pair();
    let wanted = [
        "of f64[3,3]",
        "the range 0..1 cuts a cluster",
        "the eigenvalues 0 and 1 are 1.000000e0 and 1.000000e0",
        "the `projector`, the `sum` and the `map` of the whole cluster 0..2 are",
    ];
    says(&said(|| spectral(&a).projector(0..1)), &[&["`projector`"][..], &wanted].concat());
    says(&said(|| spectral(&a).vectors(0..1)), &[&["`vectors`"][..], &wanted].concat());
    // A sum has a value, and no derivative.
    assert!((spectral(&a).sum(0..1).item() - 1.0).abs() < 1e-15);
    says(&said(|| grad(&a, |a| spectral(&a).sum(0..1))), &[&["`sum`"][..], &wanted].concat());
    assert!((grad(&a, |a| spectral(&a).sum(0..2)).sum().item() - 0.0).abs() < 1e-14);
    says(&said(|| spectral(&a).projector(2..4)), &["there are 3 eigenvalues, and no range 2..4 of them"]);
    let batch = Tensor::stack(&[&matrix(3, 3, &[1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 3.0]), &a], 0);
    says(&said(|| spectral(&batch).projector(0..1)), &["(matrix [1])"]);
}

#[test]
fn a_gap_that_is_small_and_one_that_is_large_enough() {
    let with = |gap: f64| matrix(2, 2, &[1.0, 0.0, 0.0, 1.0 + gap]);
    assert_eq!(spectral(&with(1e-14)).projector(0..1).to_vec(), [1.0, 0.0, 0.0, 0.0]);
    says(
        &said(|| spectral(&with(1e-15)).projector(0..1)),
        &["their gap 1.1e-15 is not above 3.6e-15 (8 roundings of the norm for each row)"],
    );
    let large = |gap: f64| with(gap) * 1e10;
    assert_eq!(spectral(&large(1e-14)).projector(0..1).to_vec(), [1.0, 0.0, 0.0, 0.0]);
    says(&said(|| spectral(&large(1e-15)).projector(0..1)), &["cuts a cluster"]);
}

#[test]
fn single_values_of_a_cluster() {
    let a = pair();
    // Weights that agree within the cluster are right, backwards.
    let g = grad(&a, |a| (spectral(&a).values() * Tensor::from([2.0, 2.0, 5.0])).sum()).to_vec();
    assert!(g.iter().zip([3.0, 1.0, 1.0, 1.0, 3.0, 1.0, 1.0, 1.0, 3.0]).all(|(x, y)| (x - y).abs() < 1e-14), "{g:?}");
    let other = |a: &Tensor| (spectral(a).values() * Tensor::from([1.0, 3.0, 0.0])).sum();
    says(
        &said(|| grad(&a, |a| other(&a))),
        &[
            "`values` of f64[3,3]",
            "the eigenvalues 0..2 are all 1.000000e0",
            "what flows back to them differs",
            "`trace`",
        ],
    );
    // A direction that moves them together, and one that does not.
    assert!((jvp(&a, &pair(), |a| other(&a)).1.item() - 4.0).abs() < 1e-14);
    let apart = matrix(3, 3, &[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    says(&said(|| jvp(&a, &apart, |a| other(&a)).1), &["they move apart in this direction"]);
    let square = |a: &Tensor| spectral(a).values().square().sum();
    assert!(said(|| grad(&a, |a| square(&a))).starts_with("nothing"));
    let second = |e: &Tensor| said(|| grad(&a, |a| (grad(&a, |a| square(&a)) * e).sum()));
    says(&second(&apart), &["they move apart in this direction"]);
    says(&second(&pair()), &["a second derivative asks how they move apart"]);
}

#[test]
fn singular_values_that_are_zero() {
    let a = matrix(3, 2, &[1.0, 2.0, 2.0, 4.0, 0.0, 0.0]);
    let zero = ["the singular value 1 is ", "counts as 0"];
    says(&said(|| polar(&a).0), &[&["`polar` of f64[3,2]"][..], &zero].concat());
    says(&said(|| low_rank(&a, 2)), &[&["`low_rank` of f64[3,2]"][..], &zero].concat());
    says(&said(|| singular(&a).projector(0..2).0), &[&["`projector`"][..], &zero].concat());
    says(&said(|| singular(&a).map(|x| x.exp())), &[&["`map`"][..], &zero].concat());
    says(&said(|| grad(&a, |a| singular(&a).values().sum())), &[&["`values`"][..], &zero].concat());
    // A function that is 0 at 0 has a value, and one that is odd a derivative.
    assert!(said(|| singular(&a).map(|x| x.square())).starts_with("nothing"));
    says(&said(|| grad(&a, |a| singular(&a).map(|x| x.square()).sum())), &zero);
    assert!(said(|| grad(&a, |a| singular(&a).map(|x| x.sin()).sum())).starts_with("nothing"));
    assert!(try_polar(&a).is_err() && try_pinv(&a).is_ok());
}

#[test]
fn matrices_that_are_none() {
    let why = |a: &Tensor| try_spectral(a).expect_err("it is refused").to_string();
    says(&why(&Tensor::zeros(&[2, 3])), &["`spectral` of f64[2,3]", "the matrix is 2 by 3, and has to be square"]);
    says(&why(&Tensor::zeros(&[3])), &["f64[3] is no matrix: it needs at least two axes"]);
    says(&why(&matrix(2, 2, &[1.0, 2.0, f64::NAN, 1.0])), &["the element [1, 0] is NaN"]);
    says(
        &said(|| singular(&matrix(1, 2, &[1.0, f64::INFINITY])).values()),
        &["`singular`", "the element [0, 1] is inf"],
    );
    // Nothing to decompose is no error.
    assert_eq!(spectral(&Tensor::zeros(&[0, 0])).map(|x| x.exp()).shape(), [0, 0]);
    assert_eq!(grad(&Tensor::zeros(&[2, 0]), |a| singular(&a).trace(|x| x.square())).shape(), [2, 0]);
    assert_eq!(spectral(&Tensor::zeros(&[0, 2, 2])).sum(0..1).shape(), [0]);
}

#[test]
fn functions_that_are_none_of_one_number() {
    let (a, factor) = (pair(), Tensor::from(2.0));
    let why = said(|| spectral(&a).map(|x| x * &factor));
    says(&why, &["`map` at ", "the function captures f64[]"]);
    says(&said(|| spectral(&a).trace(|x| x.reshape(&[1]).exp())), &["`trace` at ", "has to make one number (f64[])"]);
    says(
        &said(|| spectral(&a).map(|x| Tensor::stack(&[x, x], 0).sum())),
        &["has to be made of functions of numbers alone"],
    );
}

#[test]
fn functions_without_a_value_at_an_eigenvalue() {
    // The eigenvalues are -1 and 3, and 0 and 2.
    let (indefinite, semidefinite) = (matrix(2, 2, &[1.0, 2.0, 2.0, 1.0]), Tensor::ones(&[2, 2]));
    let nan = ["of f64[2,2]", "the function is NaN at the eigenvalue 0, which is -1.000000e0"];
    says(&said(|| sqrtm(&indefinite)), &[&["`sqrtm`"][..], &nan].concat());
    says(&said(|| logm(&indefinite)), &[&["`logm`"][..], &nan].concat());
    says(&said(|| spectral(&indefinite).map(|x| x.powf(1.5))), &[&["`map`"][..], &nan].concat());
    says(&said(|| spectral(&indefinite).trace(|x| x.ln())), &[&["`trace`"][..], &nan].concat());
    says(&said(|| grad(&indefinite, |a| logm(&a).sum())), &[&["`logm`"][..], &nan].concat());
    says(&said(|| logm(&Tensor::zeros(&[2, 2]))), &["`logm`", "the function is -inf at the eigenvalue 0"]);
    let batch = Tensor::stack(&[&Tensor::eye(2), &indefinite], 0);
    says(&said(|| sqrtm(&batch)), &[&["(matrix [1])"][..], &nan[1..]].concat());
    // A sum is -inf, and has no derivative.
    let singular_one = Tensor::zeros(&[2, 2]);
    assert_eq!(spectral(&singular_one).trace(|x| x.ln()).item(), f64::NEG_INFINITY);
    let why = said(|| grad(&singular_one, |a| spectral(&a).trace(|x| x.ln())));
    says(&why, &["`trace`", "the derivative of the function is inf at the eigenvalue 0"]);
    // The root of a semidefinite matrix, one of whose eigenvalues is 0 but for rounding, has a value and no derivative.
    for x in [1.0, 0.1, 3e10] {
        let a = &semidefinite * x;
        let root = sqrtm(&a);
        assert!((root.matmul(&root) - &a).abs().max().item() < 1e-14 * x);
        let below = &a - Tensor::eye(2) * (3e-16 * x);
        assert!((sqrtm(&below) - &root).abs().max().item() < 1e-7 * x.sqrt());
        let why = said(|| grad(&a, |a| sqrtm(&a).sum()));
        says(&why, &["`sqrtm` of f64[2,2]", "the derivative of the function is inf at the eigenvalue 0"]);
        says(
            &said(|| sqrtm(&(&a - Tensor::eye(2) * (1e-14 * x)))),
            &["the function is NaN at the eigenvalue 0, which is -"],
        );
    }
}

#[test]
fn what_does_not_count_is_not_asked_for_a_value() {
    let (good, bad) = (matrix(2, 2, &[3.0, 0.5, 0.5, 2.0]), matrix(2, 2, &[1.0, 2.0, 2.0, 1.0]));
    for f in [|a: &Tensor| sqrtm(a).sum(), |a: &Tensor| logm(a).sum(), |a: &Tensor| spectral(a).trace(|x| x.sqrt())] {
        let alone = value_and_grad(&good, |a| f(&a));
        // A lane, and a branch.
        let (flags, both) = (Tensor::from([true, false]), Tensor::stack(&[&good, &bad], 0));
        let pick = |flag: &Tensor, a: &Tensor| cond(flag, a, |a| f(&a), |a| a.sum());
        let (values, slopes) = vmap((&flags, &both), |(flag, a)| value_and_grad(a, |a| pick(&flag, &a)));
        assert_eq!(values.to_vec(), [alone.0.item(), 6.0]);
        assert_eq!(slopes.slice(0).to_vec(), alone.1.to_vec());
        assert_eq!(slopes.slice(1).to_vec(), [1.0; 4]);
        let slope = grad(&bad, |a| cond(a.slice((0, 0)).gt(2.0), &a, |a| f(&a), |a| a.sum()));
        assert_eq!(slope.to_vec(), [1.0; 4]);
    }
    // The derivative of a root at 0 in a lane that is masked afterwards.
    let both = Tensor::stack(&[&good, &Tensor::zeros(&[2, 2])], 0);
    let flags = Tensor::from([true, false]);
    let slope = grad(&both, |both| flags.where_(sqrtm(&both).sum_over([1, 2]), 0.0).sum());
    assert_eq!(slope.slice(1).to_vec(), [0.0; 4]);
    assert_eq!(slope.slice(0).to_vec(), grad(&good, |a| sqrtm(&a).sum()).to_vec());
}
