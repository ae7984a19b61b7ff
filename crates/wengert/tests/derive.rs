//! `#[derive(Tree)]`: structs as points and results of every driver. What it refuses is tested beside
//! it, in its own crate.
#![cfg(feature = "derive")]

use std::rc::Rc;

use wengert::prelude::*;

#[derive(Tree, Clone, Debug, PartialEq)]
struct Inner<T = f64>(T, [T; 2]);

#[derive(Tree, Clone, Debug, PartialEq)]
struct Point<T = f64> {
    a: T,
    b: [T; 3],
    c: Vec<T>,
    d: (T, T),
    inner: Inner<T>,
    #[tree(static)]
    name: String,
}

fn point() -> Point {
    Point {
        a: 2.0,
        b: [1.0, -1.0, 0.5],
        c: vec![3.0, 4.0],
        d: (0.25, 8.0),
        inner: Inner(5.0, [6.0, 7.0]),
        name: "start".to_owned(),
    }
}

/// A number of its own from every leaf, in the order of the fields: `sum_k (k+1) x_k^2`.
fn weighted_squares(p: &Point<Var>) -> Var {
    let Inner(first, rest) = &p.inner;
    let leaves = [p.a].into_iter().chain(p.b).chain(p.c.iter().copied());
    let leaves = leaves.chain([p.d.0, p.d.1, *first]).chain(*rest);
    leaves.zip(1..).map(|(x, k)| x.square() * f64::from(k)).sum()
}

#[test]
fn a_gradient_has_the_type_of_the_struct() {
    let (value, g): (f64, Point) = value_and_grad(point(), |p| weighted_squares(&p));
    let wanted = Point {
        a: 2.0 * 2.0,
        b: [4.0, -6.0, 4.0],
        c: vec![5.0 * 6.0, 6.0 * 8.0],
        d: (7.0 * 0.5, 8.0 * 16.0),
        inner: Inner(9.0 * 10.0, [10.0 * 12.0, 11.0 * 14.0]),
        name: "start".to_owned(),
    };
    assert_eq!(g, wanted);
    let squares = [4.0, 1.0, 1.0, 0.25, 9.0, 16.0, 0.0625, 64.0, 25.0, 36.0, 49.0];
    assert_eq!(value, squares.iter().zip(1..).map(|(x, k)| x * f64::from(k)).sum::<f64>());
    assert_eq!(grad(&point(), |p| weighted_squares(&p)), wanted);
    assert_eq!(point().size(), 11);
}

#[test]
fn the_function_sees_static_fields() {
    let g = grad(point(), |p| if p.name == "start" { p.a * 3.0 } else { p.a });
    assert_eq!(g.a, 3.0);
}

#[test]
fn a_hessian_is_a_struct_of_structs() {
    let p = Inner(2.0, [3.0, 5.0]);
    let h: Inner<Inner> = hessian(p, |Inner(x, [y, z])| x * x * y + y * z);
    assert_eq!(h, Inner(Inner(6.0, [4.0, 0.0]), [Inner(4.0, [0.0, 1.0]), Inner(0.0, [1.0, 0.0])]));
    let nested: Point<Point> = hessian(point(), |p| weighted_squares(&p));
    assert_eq!((nested.a.a, nested.a.b), (2.0, [0.0; 3]));
    assert_eq!(nested.inner.1[1].inner, Inner(0.0, [0.0, 22.0]));
    assert_eq!(nested.d.1.name, "start");
}

#[test]
fn gradients_nest_with_structs_of_variables() {
    // d/dx of the y-derivative of x y^2 + y^3 z: 2 y, summed with the others
    let p = Inner(2.0, [3.0, 5.0]);
    let f = |Inner(x, [y, z]): Inner<Var>| x * y * y + y.powi(3) * z;
    let g = grad(&p, |p: Inner<Var>| {
        let Inner(dx, [dy, dz]): Inner<Var> = grad(p, f);
        dx + dy * 10.0 + dz * 100.0
    });
    let (x, y, z) = (2.0, 3.0, 5.0);
    let by_y = 2.0 * y + 10.0 * (2.0 * x + 6.0 * y * z) + 100.0 * 3.0 * y * y;
    assert_eq!(g, Inner(10.0 * 2.0 * y, [by_y, 10.0 * 3.0 * y * y]));
}

#[test]
fn structs_are_results() {
    let j: Inner<[f64; 2]> = jacobian([2.0, 3.0], |[x, y]| Inner(x * y, [x + y, y]));
    assert_eq!(j, Inner([3.0, 2.0], [[1.0, 1.0], [0.0, 1.0]]));
    let j: Inner<Inner> = jacobian(Inner(2.0, [3.0, 5.0]), |Inner(x, [y, z])| Inner(x * y, [z, x]));
    assert_eq!(j, Inner(Inner(3.0, [2.0, 0.0]), [Inner(0.0, [0.0, 1.0]), Inner(1.0, [0.0, 0.0])]));
    let (y, dy) = jvp([2.0, 3.0], [1.0, 0.0], |[x, y]| Inner(x * y, [x, y]));
    assert_eq!((y, dy), (Inner(6.0, [2.0, 3.0]), Inner(3.0, [1.0, 0.0])));
    let (_, pullback) = vjp(Inner(2.0, [3.0, 5.0]), |Inner(x, [y, z])| Inner(x * y, [z, x]));
    assert_eq!(pullback.pull(Inner(1.0, [10.0, 100.0])), Inner(103.0, [2.0, 10.0]));
    let hv = hvp(Inner(2.0, [3.0, 5.0]), Inner(1.0, [0.0, 0.0]), |Inner(x, [y, _])| x * x * y);
    assert_eq!(hv, Inner(6.0, [4.0, 0.0]));
}

/// Everything that passes through: a lifetime, a constant, a type with bounds, a `where` clause,
/// and the leaf named instead of the first; static fields of the parameters' types.
#[derive(Tree)]
#[tree(leaf = "S")]
struct Model<'a, K: Copy, S, const N: usize = 2>
where
    K: Into<f64>,
    [K; N]: Sized,
{
    weights: [S; N],
    layers: Vec<Inner<S>>,
    #[tree(static)]
    gain: K,
    #[tree(static)]
    inputs: &'a [f64],
    #[tree(static)]
    shared: Rc<[f64; N]>,
}

#[test]
fn other_parameters_pass_through() {
    let inputs = [3.0, 4.0];
    let model = Model {
        weights: [1.0, 2.0],
        layers: vec![Inner(0.5, [0.25, 0.125])],
        gain: 2f32,
        inputs: &inputs,
        shared: Rc::new([10.0, 20.0]),
    };
    let g: Model<f32, f64> = grad(&model, |m| {
        let gain: f64 = m.gain.into();
        let terms = m.weights.iter().zip(m.inputs).zip(*m.shared);
        terms.map(|((&weight, &input), shared)| weight * (gain * input * shared)).sum::<Var>() * m.layers[0].0
    });
    assert_eq!(g.weights, [0.5 * 2.0 * 30.0, 0.5 * 2.0 * 80.0]);
    assert_eq!(g.layers, [Inner(60.0 + 320.0, [0.0, 0.0])]);
    assert_eq!((g.gain, g.inputs), (2.0, &inputs[..]));
    assert!(Rc::ptr_eq(&g.shared, &model.shared));
}

/// Names that could be taken for the leaf parameter, or for what the derive itself writes.
#[derive(Tree, Debug, PartialEq)]
struct Names<T> {
    r#type: T,
    lift: T,
    next: [T; 1],
    #[tree(static)]
    visit: shadow::T,
}

mod shadow {
    /// A type of the leaf parameter's name.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct T;
}

#[test]
fn names_do_not_clash() {
    let names = Names { r#type: 1.0, lift: 2.0, next: [3.0], visit: shadow::T };
    let g = grad(names, |n| n.r#type * n.lift * n.next[0]);
    assert_eq!(g, Names { r#type: 6.0, lift: 3.0, next: [2.0], visit: shadow::T });
}
