//! Derivatives where nothing moves: the values say nothing of how long a step may be.

use wengert::prelude::*;
use wengert::{Ode, odeint};

use crate::implicit::near;

fn ends(end: f64) -> Tensor {
    Tensor::from([0.0, end])
}

/// Both adjoints.
fn methods() -> [Ode; 2] {
    [Ode::new(), Ode::new().continuous_adjoint()]
}

#[test]
fn an_equilibrium_has_the_derivatives_of_the_linear_equation() {
    let one = Tensor::from(1.0);
    for near_rest in [0.0, 1e-14, 1e-11, 1e-9, 1e-3] {
        // y' = 10 (1 - y), and the same with 1 as a parameter.
        let at = Tensor::from(1.0 + near_rest);
        for ode in methods() {
            let last = |y: &Tensor, c: &Tensor| ode.run(y, &ends(10.0), |_, y| (c - y) * 10.0).slice(1);
            let (from_start, from_rest) = grad((&at, &one), |(y, c)| last(&y, &c));
            assert!(from_start.item().abs() < 1e-7, "{from_start} from 1 + {near_rest}");
            assert!((from_rest.item() - 1.0).abs() < 1e-6, "{from_rest} from 1 + {near_rest}");
        }
        let tangent = jvp(&at, &one, |y| Ode::new().run(&y, &ends(10.0), |_, y| (1.0 - y) * 10.0).slice(1)).1;
        assert!(tangent.item().abs() < 1e-7, "{tangent}");
    }
}

#[test]
fn what_grows_from_rest_grows_as_fast_as_it_should() {
    // y' = r y from 0 on.
    for rate in [0.1, 0.5, 2.0] {
        let slope = grad(&Tensor::from(0.0), |y| odeint(&y, &ends(5.0), |_, y| y * rate).slice(1)).item();
        let exact = (5.0 * rate).exp();
        assert!((slope / exact - 1.0).abs() < 1e-6, "{slope} and not {exact}");
    }
    let times = Tensor::from([0.0, 1.0, 2.0]);
    let slope = jacobian(&Tensor::from(0.0), |y| odeint(&y, &times, |_, y| y * 2.0));
    near("times", &slope, &(&times * 2.0).exp(), 1e-5);
}

#[test]
fn a_pendulum_that_hangs_still_swings_in_its_derivative() {
    // q'' = -4 sin q - q' / 2; around 0 a damped oscillator.
    let times = Tensor::linspace(0.0, 20.0, 5);
    let course =
        |q: &Tensor| odeint((q, Tensor::from(0.0)), &times, |_, (q, p)| (p.clone(), q.sin() * -4.0 - p * 0.5)).0;
    let (damping, turning) = (0.25, (4.0f64 - 0.0625).sqrt());
    let angle = &times * turning;
    let exact = (&times * -damping).exp() * (angle.cos() + angle.sin() * (damping / turning));
    near("pendulum", &jacobian(&Tensor::from(0.0), |q| course(&q)), &exact, 1e-5);
    // In units that do not fit each other.
    let fast = odeint((Tensor::from(0.0), Tensor::from(0.0)), &ends(1e-2), |_, (q, p)| (p, q * -1e6));
    assert_eq!(fast.0.to_vec(), [0.0; 2]);
    let slope =
        grad(&Tensor::from(0.0), |q| odeint((q, Tensor::from(0.0)), &ends(1e-2), |_, (q, p)| (p, q * -1e6)).0.slice(1));
    assert!((slope.item() - 10f64.cos()).abs() < 1e-4, "{slope}");
}

#[test]
fn a_part_at_rest_beside_one_that_moves_is_seen() {
    let zero = Tensor::from(0.0);
    let beside = |z: &Tensor| odeint((Tensor::from(1.0), z), &ends(10.0), |_, (y, z)| (y * -0.1, z * -20.0)).1.slice(1);
    assert!(grad(&zero, |z| beside(&z)).item().abs() < 1e-6);
    // A force of strength a that begins at t = 5: y = a (t - 5 - (1 - e^-10 (t - 5)) / 10) / 10.
    let forced = |a: &Tensor| odeint(&zero, &ends(10.0), |t, y| y * -10.0 + a * (t - 5.0).maximum(0.0)).slice(1);
    let slope = grad(&zero, |a| forced(&a)).item();
    assert!((slope - 0.49).abs() < 1e-6, "{slope}");
    // Lanes at rest and in motion.
    let starts = Tensor::from([1.0, 1.5, 0.0]);
    let slopes = grad(&starts, |y| vmap(&y, |y| odeint(&y, &ends(10.0), |_, y| (1.0 - y) * 10.0).slice(1)).sum());
    assert!(slopes.to_vec().iter().all(|slope| slope.abs() < 1e-7), "{slopes}");
}

#[test]
fn one_fast_part_of_many_is_found() {
    let count = 4000;
    let fast = Tensor::iota(count).eq(17).to_f64() * 1000.0;
    let last = |y: &Tensor| odeint(y, &ends(0.1), |_, y| -(&fast * y)).slice(1).sum();
    let slope = grad(Tensor::zeros(&[count]), |y| last(&y)).to_vec();
    assert!(slope[17].abs() < 1e-6 && slope[18] == 1.0, "{} and {}", slope[17], slope[18]);
}

#[test]
fn a_derivative_that_is_refused_is_not_asked_for_values_alone() {
    // The norm of the identity has no derivative; the value needs none.
    let course = |ode: Ode| ode.try_run(&Tensor::eye(2), &ends(1.0), |_, a| &a / a.spectral_norm()).map(|y| y.slice(1));
    near("identity", &course(Ode::new().values_only()).unwrap(), &(Tensor::eye(2) * 2.0), 1e-8);
    let why = course(Ode::new()).unwrap_err().to_string();
    assert!(why.contains("ode/rest.rs:"), "{why}");
}

#[test]
fn a_derivative_that_is_infinite_at_the_start_moves_the_time() {
    // y' = 2 sqrt y: y = (sqrt y0 + t - 1)^2
    let times = Tensor::from([1.0, 2.0]);
    let y = odeint(&Tensor::from(1e-40), &times, |_, y| y.maximum(0.0).sqrt() * 2.0);
    near("root", &y.slice(1), &Tensor::from(1.0), 1e-3);
}

#[test]
fn what_is_the_same_everywhere_has_steps_of_any_length() {
    // One step after the guessed one, and ten times longer ones.
    let constant = |a: &Tensor| Ode::new().limit(12).run(a, &ends(1e6), |_, y| y * 0.0 + 1.0).slice(1);
    let (value, slope) = value_and_grad(&Tensor::from(2.0), |a| constant(&a));
    near("constant", &value, &Tensor::from(1e6 + 2.0), 1e-6);
    assert_eq!(slope.item(), 1.0);
}
