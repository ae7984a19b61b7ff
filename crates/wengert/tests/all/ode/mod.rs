//! Differential equations: against closed forms, the order of the methods, derivatives three ways and in two orders.

mod adaptive;
mod classical;
mod continuous;
mod errors;
mod rest;
mod varying;

use wengert::prelude::*;
use wengert::{DType, Ode};

use crate::implicit::{check_derivatives, near};

/// The methods, with an error that none of them has at the lengths and tolerances here.
fn methods() -> [(&'static str, Ode); 2] {
    [("dormand_prince", Ode::new().relative(1e-11).absolute(1e-12)), ("rk4", Ode::new().rk4(150))]
}

#[test]
fn closed_forms_are_met_at_all_times() {
    let times = Tensor::from([0.5, 0.6, 1.7, 2.0]);
    for (name, by) in methods() {
        let after = &times - 0.5;
        // y' = -2 y
        let decay = by.run(&Tensor::from([1.0, -3.0]), &times, |_, y| y * -2.0);
        near(name, &decay.slice((.., 0)), &(&after * -2.0).exp(), 1e-9);
        near(name, &decay.slice((.., 1)), &((&after * -2.0).exp() * -3.0), 1e-9);
        // y' = 3 t^2, which both integrate but for roundings; the first row is the state that was given.
        let cubic = by.run(&Tensor::from(0.125), &times, |t, _| t.square() * 3.0);
        near(name, &cubic, &times.powi(3), 1e-12);
        assert_eq!(cubic.slice(0).item(), 0.125);
        // An oscillator, as a tree of two.
        let (q, p) = by.run((Tensor::from(1.0), Tensor::from(0.0)), &times, |_, (q, p)| (p, q * -9.0));
        near(name, &q, &(&after * 3.0).cos(), 1e-7);
        near(name, &p, &((&after * 3.0).sin() * -3.0), 1e-7);
        // y' = y^2 with a pole at 1.5
        let to_pole = by.run(&Tensor::from(1.0), &Tensor::from([0.5, 1.0, 1.4]), |_, y| y.square());
        near(name, &to_pole, &Tensor::from([1.0, 2.0, 10.0]), 1e-5);
    }
}

/// Prey and predators at t = 10 from (10, 5) on, with rates 1.5, 1, 3, 1: by mpmath 1.3, `odefun` of Taylor series with 30 digits.
#[test]
fn prey_and_predators_are_where_a_series_of_many_digits_has_them() {
    let rates = Tensor::from([1.5, 1.0, 3.0, 1.0]);
    let field = |(x, y): (Tensor, Tensor)| {
        let [a, b, c, d] = [0, 1, 2, 3].map(|k| rates.slice(k));
        (&x * (a - b * &y), &y * (d * &x - c))
    };
    let start = (Tensor::from(10.0), Tensor::from(5.0));
    let (x, y) = Ode::new().relative(1e-12).absolute(1e-12).run(start, &Tensor::from([0.0, 10.0]), |_, z| field(z));
    near("prey", &x.slice(1), &Tensor::from(PREY), 1e-8);
    near("predators", &y.slice(1), &Tensor::from(PREDATORS), 1e-8);
}

const PREY: f64 = 0.287_212_964_202_123_7;
const PREDATORS: f64 = 0.44977746350619196;

#[test]
fn derivatives_agree_three_ways_and_in_two_orders() {
    let times = Tensor::from([0.0, 0.3, 1.0]);
    let w = Tensor::from([0.7, -0.4, 1.2]);
    for (name, by) in [("dormand_prince", methods()[0].1.first_step(0.05)), ("rk4", Ode::new().rk4(6))] {
        // In the start, and in what is captured.
        check_derivatives(name, &w, |w| by.run(w, &times, |t, y| (y.roll(1, 0) * w).sin() - y * t));
        // In the times themselves.
        let at = |w: &Tensor| Tensor::concat(&[&Tensor::from([0.1]), &w.exp().cumsum(0)], 0);
        check_derivatives(name, &(&w * 0.3), |w| by.run(&Tensor::from([0.4]), &at(w), |t, y| y.cos() * t - w.sum()));
    }
}

#[test]
fn derivatives_are_those_of_closed_forms_to_order_three() {
    let times = Tensor::from([0.0, 0.7, 1.5]);
    for (name, by) in methods() {
        // y = exp(a t) at 1.5: t^n exp(a t)
        let grown = |a: &Tensor| by.run(&Tensor::from(1.0), &times, |_, y| a * y).slice(2);
        let a = Tensor::from(-0.8);
        let y = (-0.8f64 * 1.5).exp();
        let first = grad(&a, |a| grown(&a)).item();
        let second = grad(&a, |a| grad(&a, |a| grown(&a))).item();
        let third = grad(&a, |a| grad(&a, |a| grad(&a, |a| grown(&a)))).item();
        for (n, (got, wanted)) in [(first, 1.5 * y), (second, 2.25 * y), (third, 3.375 * y)].into_iter().enumerate() {
            assert!((got - wanted).abs() < 1e-7, "{name}, order {}: {got} instead of {wanted}", n + 1);
        }
        // Along the times: the slope at the last, and back at the first.
        let by_times = grad(&times, |times| by.run(&Tensor::from(2.0), &times, |t, y| y * t).slice(2));
        let last = 2.0 * (1.5f64 * 1.5 / 2.0).exp();
        near(name, &by_times, &Tensor::from([0.0, 0.0, 1.5 * last]), 1e-7);
        let from = Tensor::from([0.4, 1.0]);
        let by_times = grad(&from, |times| by.run(&Tensor::from(2.0), &times, |_, y| y * 3.0).slice(1));
        let last = 2.0 * (3.0f64 * 0.6).exp();
        near(name, &by_times, &Tensor::from([-3.0 * last, 3.0 * last]), 2e-7);
    }
}

#[test]
fn every_example_takes_steps_of_its_own() {
    let (start, rates) = (Tensor::from([1.0, -2.0, 0.5]), Tensor::from([-1.0, 3.0, -40.0]));
    let times = Tensor::from([0.0, 0.4, 1.0]);
    for (name, by) in [("dormand_prince", Ode::new()), ("rk4", Ode::new().rk4(60))] {
        let solve = |y: &Tensor, a: &Tensor| by.run(y, &times, |t, y| a * y.sin() + t);
        let together = vmap((&start, &rates), |(y, a)| solve(&y, &a));
        let slopes = vmap((&start, &rates), |(y, a)| grad((&y, &a), |(y, a)| solve(&y, &a).square().sum()));
        let around = grad((&start, &rates), |(y, a)| vmap((&y, &a), |(y, a)| solve(&y, &a).square().sum()).sum());
        for k in 0..3 {
            let (y, a) = (start.slice(k), rates.slice(k));
            near(name, &together.slice(k), &solve(&y, &a), 1e-13);
            let (by_y, by_a) = grad((&y, &a), |(y, a)| solve(&y, &a).square().sum());
            near(name, &slopes.0.slice(k), &by_y, 1e-11);
            near(name, &slopes.1.slice(k), &by_a, 1e-11);
            near(name, &around.1.slice(k), &by_a, 1e-11);
        }
        // Times of its own for every example.
        let ends = Tensor::from([[0.0, 1.0], [0.5, 0.75], [-1.0, 2.0]]);
        let rows = vmap(&ends, |times| by.run(&Tensor::from(1.0), &times, |_, y| y * -0.5).slice(1));
        near(name, &rows, &Tensor::from([(-0.5f64).exp(), (-0.125f64).exp(), (-1.5f64).exp()]), 1e-7);
    }
}

#[test]
fn an_example_that_takes_another_branch_is_not_solved() {
    // Where a is positive, the solution of y' = y^2 has a pole before t = 1.
    let a = Tensor::from([-1.0, 4.0, -3.0]);
    let times = Tensor::from([0.0, 1.0]);
    let chosen =
        |a: &Tensor| cond(&a.lt(0.0), a, |a| Ode::new().run(&a, &times, |_, y| y.square()).slice(1), |a| a * 7.0);
    // a / (1 - a), with the slope 1 / (1 - a)^2
    near("values", &vmap(&a, |a| chosen(&a)), &Tensor::from([-0.5, 28.0, -0.75]), 1e-7);
    let want = Tensor::from([0.25, 7.0, 1.0 / 16.0]);
    near("inside", &vmap(&a, |a| grad(&a, |a| chosen(&a))), &want, 1e-7);
    near("around", &grad(&a, |a| vmap(&a, |a| chosen(&a)).sum()), &want, 1e-7);
}

#[test]
fn single_precision_and_both_beside_each_other_are_solved() {
    let times = Tensor::from([0.0, 1.0]);
    for by in [Ode::new(), Ode::new().rk4(20)] {
        let single = by.run(&Tensor::from([1.0, 2.0]).to_f32(), &times.to_f32(), |t, y| y * t);
        assert_eq!(single.dtype(), DType::F32);
        near("single", &single.to_f64().slice(1), &Tensor::from([0.5f64.exp(), 2.0 * 0.5f64.exp()]), 2e-3);
        let (one, other) =
            by.run((Tensor::from(1.0), Tensor::from(1.0).to_f32()), &times, |_, (x, y)| (x * -1.0, y * -1.0));
        assert_eq!((one.dtype(), other.dtype()), (DType::F64, DType::F32));
        near("double", &one.slice(1), &Tensor::from((-1.0f64).exp()), 1e-6);
        near("single beside it", &other.slice(1).to_f64(), &Tensor::from((-1.0f64).exp()), 1e-6);
    }
}

#[test]
fn one_time_gives_the_start_and_no_numbers_give_none() {
    for by in [Ode::new(), Ode::new().rk4(2)] {
        assert_eq!(by.run(&Tensor::from([1.0, 2.0]), &Tensor::from([3.0]), |_, y| y).to_vec(), [1.0, 2.0]);
        let none = by.run(&Tensor::zeros(&[0]), &Tensor::from([0.0, 1.0]), |_, y| y);
        assert_eq!(none.shape(), [2, 0]);
    }
}

#[test]
fn a_status_says_that_the_derivative_is_whole() {
    let times = Tensor::from([0.0, 1.0]);
    for by in [Ode::new(), Ode::new().rk4(2)] {
        let whole = wengert::Grad::of(|a: Tensor| by.run(&Tensor::from(1.0), &times, |_, y| &a * y).slice(1));
        assert_eq!(whole.status(&Tensor::from(0.5)), wengert::Status::Connected);
        let cut = wengert::Grad::of(|a: Tensor| by.run(&Tensor::from(1.0), &times, |_, y| a.detach() * y).slice(1));
        assert!(matches!(cut.status(&Tensor::from(0.5)), wengert::Status::Severed(_)));
    }
}

#[test]
fn solutions_stand_in_other_solvers_and_compiled_functions() {
    // The rate at which exp(-a) is 0.3: shooting.
    let times = Tensor::from([0.0, 1.0]);
    let last = |a: &Tensor| Ode::new().run(&Tensor::from(1.0), &times, |_, y| -(a * y)).slice(1);
    let rate = wengert::root(&Tensor::from(1.0), |a| last(&a) - 0.3);
    near("shooting", &rate, &Tensor::from(-0.3f64.ln()), 1e-7);
    let compiled = compile(|a: Tensor| grad(&a, |a| last(&a)));
    let wanted = grad(&rate, |a| last(&a));
    assert_eq!(compiled.call(&rate).item(), wanted.item());
    near("checkpointed", &grad(&rate, |a| checkpoint(&a, |a| last(&a))), &wanted, 1e-15);
}
