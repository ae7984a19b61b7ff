//! Leaves that are frozen stay what they are, and functions get them as if they had captured them; and equations with loops inside.

use wengert::prelude::*;
use wengert::{Ode, fixed_point, freeze, linear_solve, minimise, root};

#[track_caller]
fn near(got: &Tensor, want: &Tensor, tolerance: f64) {
    super::near("the result", got, want, tolerance);
}

#[derive(Tree, Clone, Debug)]
struct Model {
    a: Tensor,
    #[tree(frozen)]
    b: Tensor,
    #[tree(frozen)]
    indices: Tensor,
}

fn model() -> Model {
    let indices = Tensor::from([1i64, 0]);
    Model { a: Tensor::from([0.3, 0.5]), b: Tensor::from([2.0, 3.0]), indices }
}

#[test]
fn searches_leave_frozen_leaves_where_they_are() {
    let m = model();
    let stays = |found: &Model| {
        assert_eq!((found.b.to_vec(), found.indices.to_vec()), (vec![2.0, 3.0], vec![1.0, 0.0]));
    };
    let lowest = |c: &Tensor| minimise(&m, |q: Model| (q.a - q.b.take(&q.indices, 0) * c).square().sum());
    let found = lowest(&Tensor::from(0.4));
    near(&found.a, &Tensor::from([1.2, 0.8]), 1e-9);
    stays(&found);
    let slope = grad(&Tensor::from(0.4), |c| lowest(&c).a.sum());
    near(&slope, &Tensor::from(5.0), 1e-9);
    // The residual of a frozen leaf asks for nothing.
    let zero = |c: &Tensor| {
        root(&m, |q: Model| Model { a: q.a.square() - &q.b * c, b: &q.b - 1.0, indices: q.indices.clone() })
    };
    let found = zero(&Tensor::from(0.5));
    near(&found.a, &Tensor::from([1.0, 1.5f64.sqrt()]), 1e-9);
    stays(&found);
    let slope = grad(&Tensor::from(0.5), |c| zero(&c).a.sum());
    near(&slope, &Tensor::from(1.0 + 1.5 / 1.5f64.sqrt()), 1e-9);
    let still = |c: &Tensor| fixed_point(&m, |q: Model| Model { a: q.a * 0.3 + &q.b * c, ..q });
    stays(&still(&Tensor::from(0.5)));
    near(&grad(&Tensor::from(0.5), |c| still(&c).a.sum()), &Tensor::from(5.0 / 0.7), 1e-8);
}

/// As data of the map: as unknowns they would make it a product of two, and integers cannot be solved for.
#[test]
fn linear_systems_have_frozen_leaves_as_data() {
    let right = |scale: &Tensor| Model { b: Tensor::from([2.0, 3.0]) * scale, ..model() };
    let solve = |b: Model| linear_solve(b, |x: Model| Model { a: x.a * x.b.take(&x.indices, 0), ..x });
    let found = solve(right(&Tensor::from(1.0)));
    near(&found.a, &Tensor::from([0.3 / 3.0, 0.5 / 2.0]), 1e-9);
    assert_eq!((found.b.to_vec(), found.indices.to_vec()), (vec![2.0, 3.0], vec![1.0, 0.0]));
    // The numbers of a frozen leaf come from where they come from: a and b take their parts in the slope.
    let scale = Tensor::from(0.5);
    let slope = grad(&scale, |c| {
        let found = solve(right(&c));
        found.a.sum() + found.b.sum()
    });
    near(&slope, &Tensor::from(-(0.1 + 0.25) / 0.25 + 5.0), 1e-8);
    // The map may give the leaves that are solved for alone.
    let alone = linear_solve(model(), |x: Model| vec![x.a * &x.b]);
    near(&alone.a, &Tensor::from([0.15, 0.5 / 3.0]), 1e-9);
}

#[test]
fn what_is_frozen_outside_is_too() {
    let start = freeze(vec![Tensor::from([0.3, 0.5]), Tensor::from([2.0, 3.0])], |path| path == "1");
    let found = minimise(&start, |q| (&q[0] - &q[1]).square().sum()).thaw();
    near(&found[0], &Tensor::from([2.0, 3.0]), 1e-9);
    assert_eq!(found[1].to_vec(), [2.0, 3.0]);
    // A driver around differentiates by the numbers that are held.
    let slope = grad(&Tensor::from([2.0, 3.0]), |b| {
        let start = freeze(vec![Tensor::from([0.3, 0.5]), b], |path| path == "1");
        let found = minimise(&start, |q| (&q[0] - q[1].square()).square().sum()).thaw();
        found[0].sum() + 2.0 * found[1].sum()
    });
    near(&slope, &Tensor::from([6.0, 8.0]), 1e-8);
}

#[test]
fn frozen_leaves_of_a_state_are_constants_of_the_equation() {
    let times = Tensor::from([0.0, 0.5, 1.0]);
    for ode in [Ode::new(), Ode::new().rk4(64), Ode::new().continuous_adjoint()] {
        let end =
            |c: &Tensor| ode.run(&model(), &times, |_, q: Model| Model { a: &q.a * c * q.b.take(&q.indices, 0), ..q });
        let rows = end(&Tensor::from(0.4));
        near(&rows.a.slice(2), &Tensor::from([0.3 * 1.2f64.exp(), 0.5 * 0.8f64.exp()]), 1e-6);
        assert_eq!((rows.b.shape(), rows.b.slice(1).to_vec()), (&[3, 2][..], vec![2.0, 3.0]));
        let slope = grad(&Tensor::from(0.4), |c| end(&c).a.slice(2).sum());
        near(&slope, &Tensor::from(0.9 * 1.2f64.exp() + 1.0 * 0.8f64.exp()), 1e-5);
    }
}

/// Carries that begin with what the unknown does not reach: some parts of their derivatives begin with zero, and become known,
/// others linear.
#[test]
fn loops_inside_may_begin_with_what_is_known() {
    let by_newton = |a: &Tensor, start: &dyn Fn(&Tensor) -> Tensor| {
        minimise(Tensor::from(0.1), |k| {
            let s = k.square() + 1.0;
            let root = while_loop(start(&s), |x| (x.square() - &s).abs().gt(1e-12), |x| (&x + &s / &x) * 0.5);
            (root - a).square() + 0.01 * k.square()
        })
    };
    for start in [&(|_: &Tensor| Tensor::from(1.0)) as &dyn Fn(&Tensor) -> Tensor, &|s| s.clone()] {
        let slope = grad(&Tensor::from(1.8), |a| by_newton(&a, start));
        near(&slope, &Tensor::from(1.196_146_642_904_72), 1e-8);
        let (_, forwards) = jvp(&Tensor::from(1.8), &Tensor::from(1.0), |a| by_newton(&a, start));
        near(&forwards, &slope, 1e-8);
    }
    let two_steps = |a: &Tensor| {
        minimise(Tensor::from(0.0), |y| {
            let start = (Tensor::from(0i64), a.clone());
            let (_, c) = while_loop(start, |(t, _)| t.lt(2i64), |(t, c)| (t + 1i64, c.sin() + y.cos()));
            y.square() + c.sin() * 0.1 + y * a
        })
    };
    near(&grad(&Tensor::from(0.3), |a| two_steps(&a)), &Tensor::from(-0.489_288_179), 1e-8);
    let no_step = |a: &Tensor| {
        minimise(Tensor::from(0.0), |y| {
            let c = fori(0..0, a.clone(), |_, c| (c.sin() + &y).tanh());
            y.square() + c * 0.1 + y * a
        })
    };
    near(&grad(&Tensor::from(0.3), |a| no_step(&a)), &Tensor::from(-0.5), 1e-9);
}
