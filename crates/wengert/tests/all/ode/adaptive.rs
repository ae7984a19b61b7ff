//! Steps that adapt: the error follows the tolerance, whatever the times that are asked for.

use std::cell::Cell;

use wengert::prelude::*;
use wengert::{Ode, to_program};

/// The error at the end of an oscillation, and the numbers of steps.
fn error_at(tolerance: f64) -> f64 {
    let by = Ode::new().relative(tolerance).absolute(tolerance);
    let (q, _) = by.run((Tensor::from(1.0), Tensor::from(0.0)), &Tensor::from([0.0, 20.0]), |_, (q, p)| (p, -q));
    (q.slice(1).item() - 20f64.cos()).abs()
}

#[test]
fn the_error_follows_the_tolerance() {
    // The error of all steps is a small multiple of that of one: ten times less is asked for, ten times less is there.
    for tolerance in [1e-4, 1e-6, 1e-8, 1e-10] {
        let error = error_at(tolerance);
        assert!(error < 40.0 * tolerance && error > 0.01 * tolerance, "{error:e} at {tolerance:e}");
    }
}

#[test]
fn the_steps_do_not_depend_on_the_times_that_are_asked_for() {
    let start = || (Tensor::from(1.0), Tensor::from(0.0));
    let field = |(q, p): (Tensor, Tensor)| (p, -q);
    let few = Ode::new().run(start(), &Tensor::from([0.0, 5.0]), |_, z| field(z)).0;
    let times = Tensor::linspace(0.0, 5.0, 101);
    let many = Ode::new().run(start(), &times, |_, z| field(z)).0;
    assert_eq!(few.slice(1).item(), many.slice(100).item());
    // Between the steps the extension is as good as the steps: 1e-8 is asked for.
    let error = (many - times.cos()).abs().max().item();
    assert!(error < 1e-6, "{error:e}");
}

#[test]
fn a_change_of_scale_is_followed() {
    // Fast at first, slow after that, and a bump that is 1e-3 wide far away.
    let times = Tensor::from([0.0, 1.0, 50.0, 100.0]);
    let by = Ode::new().relative(1e-9).absolute(1e-11);
    let fast = by.run(&Tensor::from(1.0), &times, |_, y| y * -50.0);
    assert!((fast.slice(1).item() - (-50f64).exp()).abs() < 1e-10 && fast.slice(3).item().abs() < 1e-9);
    let van_der_pol = |by: Ode| {
        let start = (Tensor::from(2.0), Tensor::from(0.0));
        let last = by.run(start, &Tensor::from([0.0, 12.0]), |_, (x, v)| (v.clone(), (1.0 - x.square()) * v * 5.0 - x));
        last.0.slice(1).item()
    };
    let (one, other) = (van_der_pol(by), van_der_pol(Ode::new().relative(1e-12).absolute(1e-13)));
    assert!((one - other).abs() < 1e-6, "{one} and {other}");
}

#[test]
fn a_slope_that_is_a_step_is_refined() {
    // y' = 1 from t = 1/3 on
    let y =
        Ode::new().run(&Tensor::from(0.0), &Tensor::from([0.0, 1.0]), |t, y| (t.gt(1.0 / 3.0)).where_(1.0, &y * 0.0));
    assert!((y.slice(1).item() - 2.0 / 3.0).abs() < 1e-7, "{}", y.slice(1).item());
}

#[test]
fn a_step_is_recorded_once() {
    let calls = Cell::new(0);
    let times = Tensor::linspace(0.0, 10.0, 50);
    let _ = to_program(Tensor::from(1.0), |y| {
        Ode::new().run(&y, &times, |_, y| {
            calls.set(calls.get() + 1);
            -y
        })
    });
    assert_eq!(calls.get(), 1);
}

#[test]
fn numbers_that_are_refused_leave_nothing_in_derivatives() {
    // The first step, much too long, reaches where the slope is no number.
    let by = Ode::new().first_step(4.0);
    let times = Tensor::from([0.0, 4.0]);
    let root = |a: &Tensor| by.run(&Tensor::from(1.0), &times, |_, y| -(a * y.sqrt())).slice(1);
    // y = (1 - a t / 2)^2, along a: - t (1 - a t / 2)
    let a = Tensor::from(0.3);
    assert!((root(&a).item() - 0.16).abs() < 1e-7);
    assert!((grad(&a, |a| root(&a)).item() + 4.0 * 0.4).abs() < 1e-6);
    let (_, tangent) = jvp(&a, &Tensor::from(1.0), |a| root(&a));
    assert!((tangent.item() + 1.6).abs() < 1e-6);
}
