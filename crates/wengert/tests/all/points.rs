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

/// Neither [`Hash`] nor numbers.
#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Linear,
    Square,
}

#[derive(Tree, Clone, Debug, PartialEq)]
struct Lists<T = f64> {
    a: Vec<T>,
    b: Vec<T>,
    #[tree(static)]
    kind: Kind,
    #[tree(static)]
    bounds: (f64, Box<f64>),
}

fn lists(a: &[f64], b: &[f64], bound: f64) -> Lists {
    Lists { a: a.to_vec(), b: b.to_vec(), kind: Kind::Square, bounds: (0.5, Box::new(bound)) }
}

#[test]
fn a_field_that_cannot_be_compared_hides_no_others() {
    let f = record(lists(&[1.0], &[2.0, 3.0], 1.0), |x| match x.kind {
        Kind::Linear => x.a[0],
        Kind::Square => x.a[0].square() * x.b[1] * *x.bounds.1,
    });
    assert_eq!(f.value(lists(&[2.0], &[2.0, 3.0], 1.0)), 12.0);
    refused(|| f.value(lists(&[1.0, 2.0], &[3.0], 1.0)));
    refused(|| f.value(lists(&[1.0], &[2.0, 3.0], 2.0)));
    // A direction has its leaves in the same places; what else it holds does not count.
    let (at, other) = (lists(&[1.0], &[2.0, 3.0], 1.0), lists(&[1.0, 0.0], &[0.0], 1.0));
    let message = caught("it", || f.jvp(&at, &other)).expect_err("other places");
    assert!(message.contains("the tangent has the leaf `a.1` where `b.0` is needed"), "{message}");
    let along = Lists { kind: Kind::Linear, ..lists(&[1.0], &[0.0, 0.0], 7.0) };
    assert_eq!(f.jvp(&at, &along).1, 6.0);
}

#[derive(Tree, Clone, Debug)]
struct Pair {
    a: Tensor,
    b: Tensor,
}

#[test]
fn directions_of_other_types_count_by_their_leaves() {
    let [one, two] = [1.0, 2.0].map(Tensor::from);
    let pair = Pair { a: one.clone(), b: two.clone() };
    let product = |p: Pair| p.a * p.b;
    assert_eq!(jvp(&pair, &vec![one.clone(), one.clone()], product).1.item(), 3.0);
    assert_eq!(hvp(&pair, [&one, &one], product).a.item(), 1.0);
    let list = vec![one.clone(), two];
    assert_eq!(jvp(&list, &pair, |x| &x[0] * &x[1]).1.item(), 4.0);
}

/// A tree by hand whose gradient is an array, and which does not say what its structure is.
#[derive(Clone, Copy)]
struct ByHand(f64, f64);

impl Tree for ByHand {
    type Leaf = f64;
    type Vars = [Var; 2];
    type Form = wengert::Several;
    type Grad = [f64; 2];
    type Each<U> = [U; 2];
    fn size(&self) -> usize {
        2
    }
    fn for_each_leaf(&self, visit: &mut impl FnMut(f64)) {
        visit(self.0);
        visit(self.1);
    }
    fn vars(&self, lift: &mut impl FnMut(f64) -> Var) -> [Var; 2] {
        [lift(self.0), lift(self.1)]
    }
    fn grad(&self, next: &mut impl FnMut() -> f64) -> [f64; 2] {
        [next(), next()]
    }
    fn each<U>(&self, next: &mut impl FnMut() -> U) -> [U; 2] {
        [next(), next()]
    }
    fn paths(&self, paths: &mut wengert::Paths) {
        paths.field("left", &self.0);
        paths.field("right", &self.1);
    }
}

#[test]
fn trees_by_hand_are_points_and_directions() {
    let f = record(ByHand(1.0, 2.0), |[x, y]| x * y);
    assert_eq!(f.grad(ByHand(3.0, 4.0)), [4.0, 3.0]);
    assert_eq!(f.grad([3.0, 4.0]), [4.0, 3.0]);
    assert_eq!(jvp(ByHand(3.0, 4.0), [1.0, 0.0], |[x, y]| x * y).1, 4.0);
    assert_eq!(jvp([3.0, 4.0], ByHand(0.0, 1.0), |[x, y]| x * y).1, 3.0);
}

#[test]
fn directions_of_matrices_have_their_shape() {
    let sum = |x: nalgebra::DMatrix<Var>| x.iter().copied().sum::<Var>();
    let at = nalgebra::DMatrix::from_element(2, 3, 1.0);
    assert_eq!(jvp(&at, &at, sum).1, 6.0);
    let message = caught("it", || jvp(&at, &at.transpose(), sum)).expect_err("another shape");
    assert!(message.contains("as many leaves as the point, and another shape"), "{message}");
}
