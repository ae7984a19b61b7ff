//! The continuous adjoint: derivatives of the solution, against closed forms and those of the steps.

use wengert::Ode;
use wengert::prelude::*;

use crate::implicit::near;

fn methods() -> [(&'static str, Ode); 2] {
    [("dormand_prince", Ode::new().relative(1e-11).absolute(1e-12)), ("rk4", Ode::new().rk4(200))]
}

/// A field of two numbers, of a time and a parameter.
fn field(t: &Tensor, y: &Tensor, w: &Tensor) -> Tensor {
    (y.roll(1, 0) * w).sin() - y * t + w.sum() * 0.1
}

#[test]
fn gradients_are_those_of_the_steps_up_to_the_tolerance() {
    let times = Tensor::from([0.1, 0.4, 1.3]);
    let weights = Tensor::from([[0.3, 1.0], [-0.7, 0.2], [1.1, -0.4]]);
    let point = (&Tensor::from([0.5, -0.8]), &times, &Tensor::from([0.9, 1.4]));
    for (name, by) in methods() {
        let loss = |by: Ode, y: &Tensor, times: &Tensor, w: &Tensor| {
            (by.run(y, times, |t, y| field(&t, &y, w)).square() * &weights).sum()
        };
        let one = grad(point, |(y, times, w)| loss(by.continuous_adjoint(), &y, &times, &w));
        let other = grad(point, |(y, times, w)| loss(by, &y, &times, &w));
        near(name, &one.0, &other.0, 1e-8);
        near(name, &one.1, &other.1, 1e-8);
        near(name, &one.2, &other.2, 1e-8);
        // Not the same numbers: it is another method.
        assert_ne!(one.2.to_vec(), other.2.to_vec());
        // The values are.
        let value = |by: Ode| loss(by, point.0, point.1, point.2).item();
        assert_eq!(value(by.continuous_adjoint()), value(by));
    }
}

#[test]
fn other_modes_and_orders_follow() {
    let times = Tensor::from([0.0, 1.0]);
    let w = Tensor::from([0.9, 1.4]);
    let direction = Tensor::from([1.0, -0.5]);
    for (name, by) in methods() {
        let loss = |by: Ode, w: &Tensor| by.run(w, &times, |t, y| field(&t, &y, w)).slice(1).square().sum();
        let (_, one) = jvp(&w, &direction, |w| loss(by.continuous_adjoint(), &w));
        let (_, other) = jvp(&w, &direction, |w| loss(by, &w));
        near(name, &one, &other, 1e-8);
        let one = hvp(&w, &direction, |w| loss(by.continuous_adjoint(), &w));
        let other = hvp(&w, &direction, |w| loss(by, &w));
        near(name, &one, &other, 1e-7);
        let examples = Tensor::stack(&[&w, &(&w * 0.5)], 0);
        let together = vmap(&examples, |w| grad(&w, |w| loss(by.continuous_adjoint(), &w)));
        for k in 0..2 {
            let w = examples.slice(k);
            near(name, &together.slice(k), &grad(&w, |w| loss(by.continuous_adjoint(), &w)), 1e-10);
        }
    }
}
