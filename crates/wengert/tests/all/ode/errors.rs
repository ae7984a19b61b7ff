//! What is said where there is no solution.

use wengert::ErrorKind::{self, Misfit, Run};
use wengert::prelude::*;
use wengert::{Error, Ode};

use crate::support::caught::caught;

#[track_caller]
fn refused<T>(result: Result<T, Error>, kind: ErrorKind, parts: &[&str]) {
    let Err(error) = result else { panic!("it was accepted") };
    assert_eq!(error.kind(), kind, "{error}");
    says(&error.to_string(), parts);
}

#[track_caller]
fn says(message: &str, parts: &[&str]) {
    for part in parts.iter().chain(&["`odeint` ", " at crates/wengert/tests/all/ode/errors.rs:"]) {
        assert!(message.contains(part), "no `{part}`: {message}");
    }
}

/// What a call panics with.
fn said<T>(f: impl FnOnce() -> T) -> String {
    caught("it", f).err().expect("it panics")
}

fn one() -> Tensor {
    Tensor::from(1.0)
}

fn times() -> Tensor {
    Tensor::from([0.0, 1.0, 2.0])
}

#[test]
fn types_that_do_not_fit_are_shown() {
    for by in [Ode::new(), Ode::new().rk4(2)] {
        refused(by.try_run(one(), &one(), |_, y| y), Misfit, &["the times are f64[]", "vector of real numbers"]);
        refused(by.try_run(one(), &Tensor::zeros(&[0]), |_, y| y), Misfit, &["f64[0]", "one at least"]);
        refused(by.try_run(one(), &Tensor::from([1i64, 2]), |_, y| y), Misfit, &["i64[2]"]);
        refused(by.try_run(Tensor::from(1i64), &times(), |_, y| y), Misfit, &["leaf 0 of the state is i64[]", "real"]);
        let parts = ["leaf 0 of the slope is f64[2]", "of the state is f64[]"];
        refused(by.try_run(one(), &times(), |_, y| Tensor::stack(&[&y, &y], 0)), Misfit, &parts);
        refused(by.try_run(one(), &times(), |_, y| [y.clone(), y]), Misfit, &["slope has 2 leaves", "state has 1"]);
    }
}

#[test]
fn times_have_to_increase() {
    for by in [Ode::new(), Ode::new().rk4(2)] {
        let bad = Tensor::from([0.0, 2.0, 1.5, 3.0]);
        refused(by.try_run(one(), &bad, |_, y| y), Misfit, &["time 2 is 1.5", "larger than the one before, 2"]);
        refused(by.try_run(one(), &Tensor::from([0.0, 0.0]), |_, y| y), Misfit, &["time 1 is 0"]);
        refused(by.try_run(one(), &Tensor::from([0.0, f64::NAN]), |_, y| y), Misfit, &["time 1 is NaN"]);
        // Where their numbers are only recorded.
        let parts = ["have to increase", "-0.5"];
        says(&said(|| grad(&bad, |times| by.run(one(), &times, |_, y| y).sum())), &parts);
        says(&said(|| compile(move |times: Tensor| by.run(one(), &times, |_, y| y)).call(&bad)), &parts);
        says(
            &said(|| vmap(Tensor::stack(&[&times(), &times().flip(0)], 0), |t| by.run(one(), &t, |_, y| y))),
            &["example [1]"],
        );
    }
}

#[test]
fn a_step_has_to_be_measured() {
    let run = |ode: Ode| ode.try_run(one(), &times(), |_, y| y);
    for bad in [-1e-6, f64::NAN, f64::INFINITY] {
        refused(run(Ode::new().relative(bad)), Misfit, &["the relative tolerance is", "not negative"]);
        refused(run(Ode::new().absolute(bad)), Misfit, &["the absolute tolerance is", "not negative"]);
        refused(run(Ode::new().first_step(bad)), Misfit, &["the first step is", "positive"]);
    }
    refused(run(Ode::new().first_step(0.0)), Misfit, &["the first step is 0"]);
    refused(run(Ode::new().relative(0.0).absolute(0.0)), Misfit, &["both tolerances are 0"]);
    assert!(run(Ode::new().absolute(0.0)).is_ok() && run(Ode::new().relative(0.0).absolute(1e-6)).is_ok());
}

#[test]
fn the_limit_of_steps_is_told_with_where_it_was_reached() {
    let fast = |y: &Tensor| Ode::new().limit(20).try_run(y, &times(), |_, y| y * -1e4);
    let parts = ["does not reach t = 1", "after 20 steps", "limit"];
    refused(fast(&one()), Run, &parts);
    says(&said(|| grad(one(), |y| fast(&y).unwrap().sum())), &parts);
    says(&said(|| jvp(one(), one(), |y| fast(&y).unwrap())), &parts);
    says(&said(|| vmap(Tensor::ones(&[2]), |y| fast(&y).unwrap())), &["example [0]"]);
}

#[test]
fn a_singular_solution_is_an_error() {
    // y = 1 / (1 - t)
    let pole = |y: &Tensor| Ode::new().try_run(y, &times(), |_, y| y.square());
    let parts = ["does not reach t = 2", "at t = 1.00000", "singular"];
    refused(pole(&one()), Run, &parts);
    says(&said(|| grad(one(), |y| pole(&y).unwrap().sum())), &parts);
    let by_steps = Ode::new().rk4(50).try_run(one() * 2.0, &times(), |_, y| y.square());
    refused(by_steps, Run, &["the state is not finite at t = 1"]);
}

#[test]
fn what_is_no_number_is_an_error() {
    for by in [Ode::new(), Ode::new().rk4(2)] {
        refused(by.try_run(one() * f64::NAN, &times(), |_, y| y), Run, &["not finite at t = 0"]);
        refused(by.try_run(one() * f64::INFINITY, &times(), |_, y| -y), Run, &["not finite at t = 0"]);
        assert!(by.try_run(one(), &times(), |_, y| y.ln() - 1.0).is_err());
    }
    refused(Ode::new().try_run(-one(), &times(), |_, y| y.sqrt()), Run, &["its slope no number"]);
    // A derivative that does not need the state is none of a state that does not exist.
    let flat = |a: &Tensor| Ode::new().limit(3).run(a, &times(), |t, _| (t * 40.0).sin() * 100.0).slice(2);
    says(&said(|| grad(one(), |a| flat(&a))), &["after 3 steps"]);
}

#[test]
fn an_error_of_the_slope_has_the_line_of_the_slope() {
    let why =
        Ode::new().try_run(one(), &times(), |_, y| wengert::root(&y, |x| x.square() + 1.0)).unwrap_err().to_string();
    assert!(why.contains("`root") && why.contains("errors.rs:"), "{why}");
}
