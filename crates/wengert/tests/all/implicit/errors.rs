//! What is said where there is no solution: residual, tolerance, steps, and the user's line.

use wengert::ErrorKind::{self, Misfit, Run};
use wengert::prelude::*;
use wengert::{Error, FixedPoint, LinearSolve, Minimise, Root};

use crate::support::caught::caught;

#[track_caller]
fn refused<T>(result: Result<T, Error>, kind: ErrorKind, parts: &[&str]) {
    let Err(error) = result else { panic!("it was accepted") };
    assert_eq!(error.kind(), kind, "{error}");
    says(&error.to_string(), parts);
}

#[track_caller]
fn says(message: &str, parts: &[&str]) {
    for part in parts.iter().chain(&["errors.rs:"]) {
        assert!(message.contains(part), "no `{part}`: {message}");
    }
}

/// What a call panics with.
fn said<T>(f: impl FnOnce() -> T) -> String {
    caught("it", f).err().expect("it panics")
}

fn b() -> Tensor {
    Tensor::from([1.0, 2.0, 3.0])
}

#[test]
fn a_map_that_is_not_linear_is_refused_with_the_reason() {
    let by = LinearSolve::new();
    refused(by.try_run(b(), |x| x.sin()), Misfit, &["`linear_solve` of f64[3] at", "not linear", "`sin` at"]);
    refused(by.try_run(b(), |x| x * 2.0 + 1.0), Misfit, &["linear_solve", "offset"]);
    refused(by.try_run(b(), |x| &x * &x), Misfit, &["linear_solve", "not linear", "`mul`"]);
    refused(by.try_run(b(), |x| x.sum()), Misfit, &["leaf 0 of the result of the map is f64[]", "f64[3]"]);
    refused(by.try_run(b(), |x| (x.clone(), x)), Misfit, &["has 2 leaves, and the point has 1"]);
    refused(by.try_run(Tensor::from([1i64]), |x| x * 2), Misfit, &["leaf 0", "i64[1]", "has to be real"]);
}

#[test]
fn a_system_without_a_solution_tells_residual_tolerance_and_steps() {
    let parts = ["`linear_solve` at", "residual", "of the right-hand side after", "steps", "may be 1e-10"];
    let singular = |by: LinearSolve, b: &Tensor| by.try_run(b, |x| x.sum() * Tensor::ones(&[3]));
    let all = [LinearSolve::new(), LinearSolve::new().bicgstab(), LinearSolve::new().conjugate_gradients()];
    for by in all {
        refused(singular(by, &b()), Run, &parts);
        says(&said(|| grad(b(), |b| singular(by, &b).unwrap().sum())), &parts);
        says(&said(|| vmap(Tensor::stack(&[&b(), &b()], 0), |b| singular(by, &b).unwrap())), &["example [0]"]);
        let compiled = compile(move |b: Tensor| singular(by, &b).unwrap());
        refused(compiled.try_call(b()), Run, &parts);
    }
    refused(LinearSolve::new().try_run(b(), |x| x * 0.0), Run, &["residual is 1 of", "after 1 steps"]);
    let short = LinearSolve::new().limit(2);
    let spread = Tensor::from([1.0, 10.0, 100.0]);
    refused(short.try_run(b(), |x| x * &spread), Run, &["after 2 steps", "limit"]);
    let indefinite = Tensor::from([1.0, -1.0, 1.0]);
    let by = LinearSolve::new().conjugate_gradients();
    refused(by.try_run(Tensor::ones(&[3]), |x| &x * &indefinite * 2.0 - &x * 1.5), Run, &["positive definite"]);
    for by in all {
        let nan = by.try_run(b() * f64::NAN, |x| x * 2.0);
        refused(
            nan,
            Run,
            &["`linear_solve` at", "the right-hand side holds numbers that are not finite: its norm is NaN"],
        );
    }
    refused(LinearSolve::new().try_run(b(), |x| x * f64::INFINITY), Run, &["residual is NaN"]);
}

#[test]
fn a_point_that_does_not_solve_its_equation_has_no_derivative() {
    let a = Tensor::from(2.0);
    let wrong = |a: &Tensor| Root::new().try_at(Tensor::from(1.4), |x| x.square() - a);
    let parts = ["`root` at", "it is no root", "0.04", "after 0 steps", "1e-10"];
    refused(wrong(&a), Run, &parts);
    says(&said(|| grad(&a, |a| wrong(&a).unwrap())), &parts);
    says(&said(|| jvp(&a, &a, |a| wrong(&a).unwrap())), &parts);
    // A coarse point is accepted where that is said.
    assert!(Root::new().tolerance(0.1).try_at(Tensor::from(1.4), |x| x.square() - &a).is_ok());
    refused(FixedPoint::new().try_at(Tensor::from(1.0), |x| x.cos()), Run, &["`fixed_point` at", "no fixed point"]);
    refused(
        Minimise::new().try_at(Tensor::from(1.0), |x| x.square()),
        Run,
        &["`minimise` at", "no minimum", "is 2 after"],
    );
}

#[test]
fn a_derivative_that_does_not_need_the_point_fails_with_it() {
    // The derivative of a linear equation is the same at every point, and is one at none that is wrong.
    let (a, x) = (Tensor::from(2.0), Tensor::from(1.5));
    let wrong = |a: &Tensor| Root::new().at(&x, |x| x * 2.0 - a);
    let parts = ["`root` at", "it is no root", "is 1 after 0 steps"];
    says(&said(|| grad(&a, |a| wrong(&a))), &parts);
    says(&said(|| jvp(&a, &a, |a| wrong(&a))), &parts);
    says(&said(|| grad(&a, |a| grad(&a, |a| wrong(&a) * &a))), &parts);
    let lowest = |a: &Tensor| Minimise::new().at(&x, |x| x.square() - a * x);
    says(&said(|| grad(&a, |a| lowest(&a))), &["`minimise` at", "it is no minimum"]);
}

#[test]
fn a_search_that_ends_without_a_point_is_an_error() {
    let parts = ["`root` at", "it is no root", "steps"];
    let none = |a: &Tensor| Root::new().try_run(Tensor::from(0.7), |x| x.square() + a);
    refused(none(&Tensor::from(1.0)), Run, &parts);
    says(&said(|| grad(Tensor::from(1.0), |a| none(&a).unwrap())), &parts);
    let few = Root::new().limit(2).try_run(Tensor::from(100.0), |x| x.square() - 2.0);
    refused(few, Run, &["no root", "after 2 steps"]);
    // At 0 the slope is 0: the step's system has no solution.
    let flat = Root::new().try_run(Tensor::from(0.0), |x| x.square() - 2.0);
    refused(flat, Run, &["`root: the linear system of a step` at", "residual"]);
    let away = FixedPoint::new().limit(30).try_run(Tensor::from(1.0), |x| x * 2.0 + 1.0);
    refused(away, Run, &["no fixed point", "after 30 steps"]);
    let unbounded = Minimise::new().limit(20).try_run(Tensor::from(1.0), |x| -x.square());
    refused(unbounded, Run, &["no minimum", "steps"]);
}

#[test]
fn a_search_from_where_the_function_is_not_defined_says_so() {
    let outside = Tensor::from([1.0, -1.0]);
    let parts = |name: &'static str, norm: &'static str| {
        [name, norm, "is NaN after 0 steps: the function is not defined there"]
    };
    refused(Root::new().try_run(&outside, |x| x.ln()), Run, &parts("`root` at", "norm of the residual"));
    refused(FixedPoint::new().try_run(&outside, |x| x.ln()), Run, &parts("`fixed_point` at", "norm of f(x) - x"));
    let minimum = Minimise::new().try_run(&outside, |x| x.sqrt().sum());
    refused(minimum, Run, &parts("`minimise` at", "norm of the gradient"));
    // Far from the root, but within range: the squares of what it has there overflow, the search comes back.
    let root = Root::new().limit(2000).try_run(Tensor::from(1e200), |x| x - 3.0).unwrap();
    assert_eq!(root.item(), 3.0);
}

#[test]
fn a_tolerance_that_is_none_is_refused() {
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        let parts = |name: &'static str| [name, "the tolerance is", "has to be a finite number that is not negative"];
        let by = LinearSolve::new().tolerance(bad);
        refused(by.try_run(b(), |x| x * 2.0), Misfit, &parts("`linear_solve` at"));
        refused(Root::new().linear(by).try_run(b(), |x| x * 2.0), Misfit, &parts("`root` at"));
        refused(Root::new().tolerance(bad).try_run(b(), |x| x * 2.0), Misfit, &parts("`root` at"));
        refused(FixedPoint::new().tolerance(bad).try_run(b(), |x| x * 0.5), Misfit, &parts("`fixed_point` at"));
        refused(Minimise::new().tolerance(bad).try_run(b(), |x| x.square().sum()), Misfit, &parts("`minimise` at"));
    }
}

#[test]
fn derivatives_that_do_not_exist_are_errors() {
    // A double root: the derivative of the root along a is infinite.
    let a = Tensor::from(0.0);
    let double = |a: &Tensor| Root::new().at(Tensor::from(0.0), |x| x.square() - a);
    assert_eq!(double(&a).item(), 0.0);
    says(&said(|| grad(&a, |a| double(&a))), &["`root` at", "residual is 1 of the right-hand side"]);
    // A saddle is a stationary point, but its Hessian is not positive definite.
    // Along (1, -1), which is where the derivative leads, its curvature is negative.
    let apart = Tensor::from([1.0, -1.0]);
    let saddle = |a: &Tensor| {
        Minimise::new().at(Tensor::from([0.0, 0.0]), |x| x.slice(0) * x.slice(1) + a * (&x * &apart).sum())
    };
    says(&said(|| grad(&a, |a| (saddle(&a) * &apart).sum())), &["`minimise` at", "positive definite"]);
}

#[test]
fn types_that_do_not_fit_are_shown() {
    refused(Root::new().try_run(b(), |x| x.sum()), Misfit, &["`root` at", "leaf 0 of the residual is f64[]", "f64[3]"]);
    refused(Root::new().try_run(b(), |x| [x.clone(), x]), Misfit, &["the residual has 2 leaves, and the point has 1"]);
    refused(FixedPoint::new().try_run(b(), |x| x.to_f32()), Misfit, &["`fixed_point` at", "f32[3]"]);
    refused(Minimise::new().try_run(b(), |x| x), Misfit, &["`minimise` at", "gives (f64[3])", "single real number"]);
    refused(Root::new().try_run(Tensor::from([1i64]), |x| x), Misfit, &["i64[1]", "real"]);
}

#[test]
fn a_number_that_the_function_reads_is_an_error() {
    let parts = ["recorded without its point"];
    says(&said(|| Root::new().run(b(), |x| &x * x.sum().item())), &parts);
    says(&said(|| LinearSolve::new().run(b(), |x| &x * x.slice(0).item())), &parts);
}
