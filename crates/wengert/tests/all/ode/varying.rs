//! Derivatives where nothing moves, or moves as the method has it exactly, and the equation changes along the way.

use wengert::prelude::*;
use wengert::{Ode, odeint};

use crate::implicit::near;

fn ends(end: f64) -> Tensor {
    Tensor::from([0.0, end])
}

/// The slope of the last state along the start, which is at rest at `y0`.
fn from_rest(ode: Ode, end: f64, y0: f64, f: impl Fn(&Tensor, &Tensor) -> Tensor) -> f64 {
    grad(&Tensor::from(y0), |y| ode.run(&y, &ends(end), |t, y| f(&t, &y)).slice(1)).item()
}

fn is_near(what: &str, found: f64, exact: f64, tolerance: f64) {
    assert!((found - exact).abs() <= tolerance * exact.abs().max(1e-3), "{what}: {found} and not {exact}");
}

#[test]
fn a_rate_that_changes_with_time_is_followed_at_rest() {
    for ode in [Ode::new(), Ode::new().continuous_adjoint(), Ode::new().relative(1e-6), Ode::new().relative(1e-12)] {
        // e^(sin 20), and others where the rate is 0 at the start.
        is_near("cos t", from_rest(ode, 20.0, 0.0, |t, y| t.cos() * y), 20f64.sin().exp(), 1e-4);
        is_near("t^4", from_rest(ode, 2.0, 0.0, |t, y| t.powi(4) * y), 6.4f64.exp(), 1e-4);
        is_near("-20 t^4", from_rest(ode, 2.0, 0.0, |t, y| t.powi(4) * y * -20.0), 0.0, 1e-4);
        let fast = from_rest(ode, 1.0, 0.0, |t, y| (t * 10.0).sin() * y * 20.0);
        is_near("20 sin 10 t", fast, (2.0 * (1.0 - 10f64.cos())).exp(), 1e-4);
    }
    let asked: Tensor = Tensor::linspace(0.0, 20.0, 201);
    let slope = grad(&Tensor::from(0.0), |y| odeint(&y, &asked, |t, y| t.cos() * y).slice(-1)).item();
    is_near("many times", slope, 20f64.sin().exp(), 1e-6);
}

#[test]
fn a_rate_that_changes_with_a_clock_among_the_states_is_followed_too() {
    // y' = cos(c) (1 - y), c' = 1, from rest at 1: the slope is e^(-sin 20).
    let last =
        |y: &Tensor| odeint((y, Tensor::from(0.0)), &ends(20.0), |_, (y, c)| ((1.0 - y) * c.cos(), c * 0.0 + 1.0)).0;
    let slope = grad(&Tensor::from(1.0), |y| last(&y).slice(1)).item();
    is_near("clock", slope, (-(20f64.sin())).exp(), 1e-6);
    // One that swings, beside a part at rest that is faster: 20 sin(10 t) z.
    let beside = |z: &Tensor| {
        odeint((Tensor::from(1.0), Tensor::from(0.0), z), &ends(1.0), |t, (p, q, z)| {
            (q.clone(), -p, (t * 10.0).sin() * z * 20.0)
        })
    };
    let slope = grad(&Tensor::from(0.0), |z| beside(&z).2.slice(1)).item();
    is_near("beside", slope, (2.0 * (1.0 - 10f64.cos())).exp(), 1e-5);
}

#[test]
fn a_force_of_strength_zero_has_a_derivative() {
    for ode in [Ode::new(), Ode::new().continuous_adjoint()] {
        // y' = p cos t and y' = 1 + p cos 3 t at p = 0, and p = 1e-30.
        for p in [0.0, 1e-30] {
            let at = Tensor::from(p);
            let last = |p: &Tensor| ode.run(&Tensor::from(0.0), &ends(20.0), |t, _| t.cos() * p).slice(1);
            is_near("force", grad(&at, |p| last(&p)).item(), 20f64.sin(), 1e-5);
            let last = |p: &Tensor| ode.run(&Tensor::from(0.0), &ends(20.0), |t, _| (t * 3.0).cos() * p + 1.0).slice(1);
            is_near("beside motion", grad(&at, |p| last(&p)).item(), 60f64.sin() / 3.0, 1e-5);
        }
        // A thermostat at its set point, y' = 0.1 (1 + p sin t - y): central differences of the values at p = ±0.01.
        let last = |p: &Tensor| ode.run(&Tensor::from(1.0), &ends(20.0), |t, y| (t.sin() * p + 1.0 - y) * 0.1).slice(1);
        let differences = (last(&Tensor::from(0.01)) - last(&Tensor::from(-0.01))).item() / 0.02;
        is_near("thermostat", grad(&Tensor::from(0.0), |p| last(&p)).item(), differences, 1e-5);
    }
}

#[test]
fn what_grows_beside_what_decays_as_fast_is_as_exact_as_asked() {
    let rates = Tensor::from([-10.0, 9.0]);
    for (relative, tolerance) in [(1e-8, 1e-5), (1e-12, 1e-9)] {
        let ode = Ode::new().relative(relative).absolute(relative * 1e-2);
        let last = |y: &Tensor| ode.run(y, &ends(2.0), |_, y| y * &rates).slice(1).sum();
        let slope = grad(Tensor::zeros(&[2]), |y| last(&y)).to_vec();
        is_near("growing", slope[1], 18f64.exp(), tolerance);
        is_near("decaying", slope[0], 0.0, 1e-3);
    }
    // The continuous adjoint, where the state decays backwards as its cotangent grows.
    for rate in [2.0, 10.0] {
        for (relative, tolerance) in [(1e-8, 1e-5), (1e-12, 1e-9)] {
            let ode = Ode::new().continuous_adjoint().relative(relative).absolute(relative * 1e-2);
            is_near("backwards", from_rest(ode, 1.0, 0.0, |_, y| y * rate), rate.exp(), tolerance);
        }
    }
}

#[test]
fn units_that_differ_by_many_orders_take_no_more_steps() {
    let start = || (Tensor::from(1e10), Tensor::from(1.0));
    let (y, _) = Ode::new().limit(500).run(start(), &ends(10.0), |_, (y, z)| (-&z * &y, &z * -0.3));
    let exact = 1e10 * ((-3f64).exp_m1() / 0.3).exp();
    near("y", &(y.slice(1) / exact), &Tensor::from(1.0), 1e-6);
    let (a, b) = Ode::new().limit(500).run(start(), &ends(10.0), |_, (a, b)| (&a * -0.5, &a * 1e10 - &b * 0.2));
    near("a", &(a.slice(1) / 1e10), &Tensor::from((-5f64).exp()), 1e-6);
    // b' = 1e20 e^(-t/2) - b/5, from 1: (1e20 / -0.3) (e^-5 - e^-2) + e^-2
    near("b", &(b.slice(1) / 1e20), &Tensor::from(((-5f64).exp() - (-2f64).exp()) / -0.3), 1e-6);
}

#[test]
fn what_is_captured_hides_nothing_whatever_its_size() {
    // A driven part, of which a constant is far from 1, beside one at rest.
    let last = |ode: Ode, c: &Tensor, z: &Tensor, field: &dyn Fn(&Tensor, &Tensor) -> Tensor, end: f64| {
        let y0 = (Tensor::from(1.0), z);
        ode.run(y0, &ends(end), |t, (y, z)| (1.0 - y * 1e-6 / c, field(&t, &z))).1.slice(1)
    };
    for ode in [Ode::new(), Ode::new().continuous_adjoint()] {
        for c in [1.0, 1e-3, 1e-6] {
            let c = Tensor::from(c);
            let slope = |field: &dyn Fn(&Tensor, &Tensor) -> Tensor, end: f64| {
                grad(&Tensor::from(0.0), |z| last(ode, &c, &z, field, end)).item()
            };
            is_near("stable", slope(&|_, z| z * -20.0, 10.0), 0.0, 1e-3);
            let swung = slope(&|t, z| (t * 10.0).sin() * z * 20.0, 1.0);
            is_near("swung", swung, (2.0 * (1.0 - 10f64.cos())).exp(), 1e-4);
        }
    }
}

#[test]
fn captures_without_a_derivative_leave_the_rest_of_the_tangent() {
    let integers = Tensor::iota(2);
    for ode in [Ode::new(), Ode::new().continuous_adjoint()] {
        for (bound, root) in [(f64::INFINITY, 0.0), (3.0, 0.0), (f64::INFINITY, 2.0)] {
            let (bound, root) = (Tensor::from(bound), Tensor::from(root));
            let last = |y: &Tensor| {
                let field = |t: &Tensor, y: &Tensor| {
                    (t.cos() * y).minimum(&bound) + root.sqrt() * 0.0 + integers.slice(0).to_f64() * 0.0
                };
                ode.run(y, &ends(20.0), |t, y| field(&t, &y)).slice(1)
            };
            is_near("captured", grad(&Tensor::from(0.0), |y| last(&y)).item(), 20f64.sin().exp(), 1e-4);
        }
    }
}

#[test]
fn single_precision_and_lanes_are_followed_at_rest() {
    let single = |y: &Tensor| odeint(y, &ends(20.0).to_f32(), |t, y| t.cos() * y).slice(1);
    let slope = grad(&Tensor::from(0.0f32), |y| single(&y)).to_f64().item();
    is_near("single", slope, 20f64.sin().exp(), 1e-2);
    let strengths = Tensor::from([0.0, 0.5, 0.0]);
    let last = |p: &Tensor| odeint(&Tensor::from(0.0), &ends(20.0), |t, _| t.cos() * p).slice(1);
    let slopes = grad(&strengths, |p| vmap(&p, |p| last(&p)).sum());
    near("lanes", &slopes, &Tensor::from([20f64.sin(); 3]), 1e-5);
}
