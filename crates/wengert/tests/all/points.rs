//! Points of recorded functions: what they hold besides leaves belongs to the recording, and what is frozen in them does not
//! belong to a driver around.

use std::collections::BTreeMap;

use wengert::prelude::*;
use wengert::sparsity::SparseRecorded;
use wengert::{Const, Tree, freeze};

use crate::support::caught::caught;

#[derive(Tree, Clone, Debug, PartialEq)]
struct Term<T = f64> {
    x: T,
    #[tree(static)]
    power: i32,
}

fn power(term: Term<Var>) -> Var {
    term.x.powi(term.power)
}

fn term(x: f64, power: i32) -> Term {
    Term { x, power }
}

/// Asserts that a call is refused because of the structure of its point.
#[track_caller]
fn refused<T>(f: impl FnOnce() -> T) {
    let Err(message) = caught("it", f) else { panic!("it was accepted") };
    assert!(message.contains("the point has another structure than the one recorded at"), "{message}");
}

#[test]
fn fields_that_are_not_differentiated_belong_to_the_recording() {
    let f = record(term(2.0, 3), power);
    assert_eq!(f.grad(term(3.0, 3)), term(27.0, 3));
    refused(|| f.value(term(3.0, 2)));
    refused(|| f.try_grad(term(3.0, 2)).is_ok());
    refused(|| f.hessian(term(3.0, 2)));
    refused(|| f.grad_many(&[term(3.0, 3), term(3.0, 2)]));
    refused(|| f.value_and_grad_many(&[term(3.0, 2)]));
    refused(|| f.sparse_hessian(term(3.0, 2)));
    refused(|| grad(3.0, |x| f.value(Term { x, power: 2 })));
    assert_eq!(grad(3.0, |x| f.value(Term { x, power: 3 })), 27.0);
    let hessian = SparseRecorded::hessian(&f, &term(1.0, 3)).unwrap();
    let mut values = [0.0];
    hessian.evaluate(&term(2.0, 3), &mut values).unwrap();
    assert_eq!(values, [12.0]);
    let refuse = |why: Result<(), wengert::sparsity::SparseError>| {
        let why = why.expect_err("another structure").to_string();
        assert!(why.contains("another structure") && why.contains("points.rs"), "{why}");
    };
    refuse(hessian.evaluate(&term(2.0, 2), &mut values));
    refuse(hessian.evaluate_many(&[term(2.0, 2)], &mut values));
    refuse(SparseRecorded::hessian(&f, &term(1.0, 2)).map(|_| ()));
}

#[test]
fn options_keys_and_lengths_belong_to_the_recording() {
    let sum = |(a, b): (Option<Var>, Option<Var>)| a.map_or(lift(0.0), |a| a * 2.0) + b.map_or(lift(0.0), |b| b * 3.0);
    let f = record((Some(1.0), None::<f64>), sum);
    assert_eq!(f.grad((Some(5.0), None::<f64>)), (Some(2.0), None));
    refused(|| f.grad((None::<f64>, Some(5.0))));

    let f = record(BTreeMap::from([("a", 1.0), ("b", 2.0)]), |m| m["a"] * m["b"].square());
    assert_eq!(f.grad(BTreeMap::from([("a", 2.0), ("b", 3.0)])), BTreeMap::from([("a", 9.0), ("b", 12.0)]));
    refused(|| f.grad(BTreeMap::from([("b", 2.0), ("c", 3.0)])));

    let f =
        record(vec![vec![1.0, 2.0], vec![3.0]], |x| x.iter().map(|x| x.iter().copied().sum::<Var>().square()).sum());
    assert_eq!(f.grad(vec![vec![1.0, 1.0], vec![1.0]]), vec![vec![4.0, 4.0], vec![2.0]]);
    refused(|| f.grad(vec![vec![1.0], vec![1.0, 1.0]]));
    // Points of other types count by their numbers, in order.
    assert_eq!(f.value([1.0, 2.0, 3.0]), 18.0);
    assert_eq!(f.grad(&[1.0, 2.0, 3.0][..]), [6.0, 6.0, 6.0]);
}

#[derive(Tree, Clone, Debug, PartialEq)]
struct Model<T = f64> {
    weight: T,
    #[tree(frozen)]
    scale: T,
}

fn model(m: Model<Var>) -> Var {
    m.weight.square() * m.scale.powi(3)
}

#[test]
fn a_driver_around_differentiates_by_what_is_frozen() {
    let f = record(Model { weight: 1.0, scale: 1.0 }, model);
    let at = |scale: Var| Model { weight: lift(2.0), scale };
    // w^2 s^3 at w = 2, s = 3: 3 w^2 s^2 by s, and 2 w s^3 by w.
    assert_eq!(f.grad(Model { weight: 2.0, scale: 3.0 }), Model { weight: 108.0, scale: 0.0 });
    assert_eq!(grad(3.0, |s| f.value(at(s))), 108.0);
    assert_eq!(grad(3.0, |s| f.grad(at(s)).weight), 108.0);
    assert_eq!(grad(3.0, |s| f.hessian(at(s)).weight.weight), 54.0);
    assert_eq!(hessian(3.0, |s| f.value(at(s))), 72.0);
    assert_eq!(grad(3.0, |s| f.jvp(at(s), [lift(1.0), lift(1.0)]).1), 108.0);
    assert_eq!(grad(3.0, |s| f.vjp(at(s), lift(2.0)).weight), 216.0);
    assert_eq!(grad(3.0, |s| f.sparse_hessian(at(s)).values()[0]), 54.0);
    // The driver itself does not, and neither does anyone by data.
    let gradient = grad(3.0, |s| f.grad(at(s)).scale);
    assert_eq!(gradient, 0.0);
    let data = record((1.0, Const(1.0)), |(w, Const(s))| w.square() * s.powi(3));
    assert_eq!(grad(3.0, |s| data.value((lift(2.0), Const(s)))), 0.0);
    // Through the drivers it is the same.
    assert_eq!(grad(3.0, |s| grad(at(s), model).weight), 108.0);
    // A constant needs no recording of its own, and numbers go on with the first.
    let before = f.recordings();
    assert_eq!(grad(2.0, |w| f.value(Model { weight: w, scale: lift(3.0) })), 108.0);
    assert_eq!(f.value(Model { weight: 2.0, scale: 3.0 }), 108.0);
    assert_eq!(f.recordings(), before);

    let second = |path: &str| path == "1";
    let g = record(freeze([1.0, 1.0], second), |x| x[0].square() * x[1].powi(3));
    assert_eq!(grad(3.0, |s| g.value(freeze([lift(2.0), s], second))), 108.0);
    // What is frozen is a part of the structure.
    refused(|| g.grad([2.0, 3.0]));
    refused(|| g.grad(freeze([2.0, 3.0], |path| path == "0")));
}

#[test]
fn a_strict_function_is_strict_about_what_is_frozen() {
    let f = record(Model { weight: 1.0, scale: 1.0 }, |m| if m.scale > 0.0 { model(m) } else { m.weight }).strict();
    let at = |scale: Var| Model { weight: lift(2.0), scale };
    assert_eq!(grad(3.0, |s| f.value(at(s))), 108.0);
    let message = caught("it", || grad(-3.0, |s| f.value(at(s)))).expect_err("a guard flips");
    assert!(message.contains("the recording is strict"), "{message}");
}
