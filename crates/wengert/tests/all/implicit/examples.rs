//! Systems inside of systems under `vmap`, where some examples have nothing to solve: those that are at their solution from the
//! start, are there before the others, take another branch, or have no part in a derivative. Nobody asks about them, and nothing in
//! their maps may fail.

use wengert::prelude::*;
use wengert::{FixedPoint, LinearSolve, Root, fixed_point, linear_solve, odeint, root};

use super::near;

fn methods() -> [(&'static str, LinearSolve); 3] {
    let tight = LinearSolve::new().tolerance(1e-12);
    [("gmres", tight), ("bicgstab", tight.bicgstab()), ("cg", tight.conjugate_gradients())]
}

type Function<'a> = &'a dyn Fn(&Tensor) -> Tensor;

/// All examples at once beside one after the other.
#[track_caller]
fn one_by_one(what: &str, examples: &Tensor, f: impl Fn(&Tensor) -> Tensor) {
    let alone: Vec<Tensor> = (0..examples.shape()[0]).map(|k| f(&examples.slice(k))).collect();
    near(what, &vmap(examples, |x| f(&x)), &Tensor::stack(&alone, 0), 1e-9);
}

#[test]
fn a_system_whose_map_solves_another_one() {
    for (name, by) in methods() {
        let inner = |x: &Tensor| by.run(x, |z| z * Tensor::from([2.0, 3.0]));
        let outer = |b: &Tensor| by.run(b, |x| &x * Tensor::from([1.5, 2.5]) + inner(&x));
        // Nothing on the right; and one whose solution is there after a step.
        let examples = Tensor::from([[0.0, 0.0], [1.0, 0.5], [1.0, 0.0], [-2.0, 1.0]]);
        one_by_one(name, &examples, outer);
        one_by_one(name, &examples, |b| grad(b, |b| outer(&b).square().sum()));
        let slope = grad(&examples, |b| vmap(&b, |b| outer(&b)).slice(1).square().sum());
        near(name, &slope.slice(1), &grad(&examples.slice(1), |b| outer(&b).square().sum()), 1e-9);
        assert_eq!(slope.slice(0).to_vec(), [0.0; 2], "{name}");
    }
}

#[test]
fn points_whose_equations_have_points() {
    let fixed = |b: &Tensor| {
        fixed_point(Tensor::from(0.0), |y| fixed_point(Tensor::from(0.0), |z| z.sin() * 0.3 + &y * 0.5) * 0.5 + b)
    };
    let roots = |b: &Tensor| root(b * 0.0, |y| root(&y * 0.0, |z| &z * 2.0 + z.sin() - &y) + &y + y.sin() * 0.3 - b);
    let mixed = |b: &Tensor| root(b * 0.0, |y| linear_solve(&y, |z| &z * (y.square() + 2.0)) + y.sinh() - b);
    let examples = Tensor::from([0.5646188964615221, 0.7268088710555457, 0.0, 0.3]);
    let ways: [(&str, Function); 3] = [("fixed", &fixed), ("roots", &roots), ("mixed", &mixed)];
    for (name, f) in ways {
        one_by_one(name, &examples, f);
        one_by_one(name, &examples, |b| grad(b, |b| f(&b).square()));
        for k in 0..4 {
            let slope = grad(&examples, |b| vmap(&b, |b| f(&b)).slice(k));
            let want = grad(&examples.slice(k), |b| f(&b)).item();
            let along = jvp(&examples, &Tensor::eye(4).slice(k), |b| vmap(&b, |b| f(&b))).1;
            for (i, (slope, along)) in slope.to_vec().iter().zip(along.to_vec()).enumerate() {
                let want = if i == k { want } else { 0.0 };
                assert!((slope - want).abs() < 1e-7 && (along - want).abs() < 1e-7, "{name} {k} {i}: {slope} {along}");
            }
        }
    }
}

#[test]
fn what_a_map_gives_where_nobody_asks_may_be_no_number() {
    let (xs, keep) = (Tensor::from([0.5, f64::NAN, 0.7]), Tensor::from([true, false, true]));
    for (name, by) in methods() {
        let chosen = |by: LinearSolve| {
            move |(x, k): (Tensor, Tensor)| {
                cond(&k, &x, |x: Tensor| by.run(Tensor::from(1.0), |y| y * &x), |_: Tensor| Tensor::from(0.0))
            }
        };
        near(name, &vmap((&xs, &keep), chosen(by)), &Tensor::from([2.0, 0.0, 1.0 / 0.7]), 1e-9);
    }
    let chosen = |(x, k): (Tensor, Tensor)| {
        let solved = |x: Tensor| Root::new().run(Tensor::from(1.0), |y| &y * &x - 1.0);
        cond(&k, &x, solved, |_: Tensor| Tensor::from(0.0))
    };
    near("root", &vmap((&xs, &keep), chosen), &Tensor::from([2.0, 0.0, 1.0 / 0.7]), 1e-9);
    let chosen = |(x, k): (Tensor, Tensor)| {
        let solved = |x: Tensor| FixedPoint::new().run(Tensor::from(1.0), |y| (&y * &x).cos() * 0.5);
        cond(&k, &x, solved, |_: Tensor| Tensor::from(0.0))
    };
    let alone = |x: f64| fixed_point(Tensor::from(1.0), |y| (&y * x).cos() * 0.5).item();
    near("fixed point", &vmap((&xs, &keep), chosen), &Tensor::from([alone(0.5), 0.0, alone(0.7)]), 1e-9);
}

#[test]
fn a_trajectory_in_an_equation_that_one_example_has_solved() {
    let shot = |b: &Tensor| {
        root(Tensor::from(0.3), |y| {
            let z = odeint(&y, &Tensor::from([0.0, 1.0]), |_, z| -z.sin());
            z.slice(1) + y.sin() * 0.3 - b
        })
    };
    one_by_one("values", &Tensor::from([0.2, 0.5]), shot);
    one_by_one("values", &Tensor::from([0.5, 0.0, 0.2]), shot);
}
