//! `#[derive(Tree)]`: structs as points and results of every driver. What it refuses is tested beside
//! it, in its own crate.

use std::rc::Rc;

use wengert::TreeMath;
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

// ---- structs of tensors -----------------------------------------------------------------------------

#[derive(Tree, Clone, Debug)]
struct Layer {
    w: Tensor,
    b: Tensor,
}

#[derive(Tree, Clone, Debug)]
struct Net {
    layers: Vec<Layer>,
    pair: (Tensor, [Tensor; 2]),
    #[tree(static)]
    rate: f64,
}

fn net() -> Net {
    let layer = |start: f64| Layer {
        w: Tensor::from([[start, start + 1.0], [start + 2.0, start + 3.0]]),
        b: Tensor::from([0.5, -0.5]),
    };
    let pair = (Tensor::from(2.0), [Tensor::from([1.0]), Tensor::from([3.0, -4.0])]);
    Net { layers: vec![layer(1.0), layer(-2.0)], pair, rate: 0.25 }
}

/// The sum of the squares of all numbers, and a product of two leaves: the gradient is `2 x` but for these two.
fn loss(net: &Net) -> Tensor {
    net.dot(net) + net.pair.0.clone() * net.pair.1[0].sum()
}

fn numbers(net: &Net) -> Vec<f64> {
    let mut numbers = Vec::new();
    net.for_each_leaf(&mut |leaf| numbers.extend(leaf.to_vec()));
    numbers
}

#[test]
fn a_gradient_by_tensors_has_the_type_of_the_struct() {
    let (value, g): (Tensor, Net) = value_and_grad(&net(), |net| loss(&net));
    let x = numbers(&net());
    assert_eq!(value.item(), x.iter().map(|x| x * x).sum::<f64>() + 2.0);
    let mut wanted: Vec<f64> = x.iter().map(|x| 2.0 * x).collect();
    (wanted[12], wanted[13]) = (4.0 + 1.0, 2.0 + 2.0);
    assert_eq!(numbers(&g), wanted);
    assert_eq!((net().size(), g.rate, g.layers.len()), (7, 0.25, 2));
    assert_eq!(g.layers[1].w.shape(), [2, 2]);
}

#[test]
fn structs_of_tensors_are_results_and_directions() {
    let (y, y_dot) =
        jvp(&net(), &net(), |net| Layer { w: net.pair.0 * net.pair.1[1].clone(), b: net.layers[0].b.sum() });
    assert_eq!((y.w.to_vec(), y.b.item()), (vec![6.0, -8.0], 0.0));
    assert_eq!((y_dot.w.to_vec(), y_dot.b.item()), (vec![12.0, -16.0], 0.0));
    let (_, pullback) = vjp(net(), |net| Layer { w: net.pair.0, b: net.layers[0].b.clone() });
    let g: Net = pullback.pull(Layer { w: Tensor::from(3.0), b: Tensor::from([4.0, 5.0]) });
    assert_eq!((g.pair.0.item(), g.layers[0].b.to_vec()), (3.0, vec![4.0, 5.0]));
    let hv: Net = hvp(&net(), &net(), |net| loss(&net));
    assert_eq!(hv.pair.0.item(), 2.0 * 2.0 + 1.0);
    assert_eq!(hv.layers[0].w.to_vec(), [2.0, 4.0, 6.0, 8.0]);
    // a list with an item for every leaf, where a struct of tensors has no place for it
    let mut count = 0;
    let each: Vec<usize> = net().each(&mut || {
        count += 1;
        count
    });
    assert_eq!(each, [1, 2, 3, 4, 5, 6, 7]);
}

/// What passes through a struct of tensors: a constant, and a type for a static field.
#[derive(Tree, Clone)]
#[tree(leaf = "Tensor")]
struct Stack<F: Clone, const N: usize> {
    layers: [Layer; N],
    #[tree(static)]
    activation: F,
}

#[test]
fn a_struct_of_tensors_may_have_parameters() {
    let stack = Stack { layers: [net().layers[0].clone()], activation: |x: Tensor| x.square() };
    let g = grad(&stack, |s| (s.activation)(s.layers[0].b.clone()).sum());
    assert_eq!(g.layers[0].b.to_vec(), [1.0, -1.0]);
    let moved = stack - g * 0.5;
    assert_eq!((moved.activation)(moved.layers[0].b.clone()).to_vec(), [0.0, 0.0]);
}

// ---- trees as vectors -------------------------------------------------------------------------------

#[test]
fn structs_add_and_scale() {
    let (x, y) = (point(), point() * 2.0);
    assert_eq!(&x + &x, y);
    assert_eq!(&y - &x, x);
    assert_eq!((-x.clone()) + y, x);
    assert_eq!(0.5 * (x.clone() + &x), x);
    assert_eq!(&x - x.clone(), x.zeros_like());
    // of variables, with derivatives: |p - 3 p|^2 = 4 |p|^2
    let g = grad(&x, |p: Point<Var>| {
        let d = &p - 3.0 * &p;
        d.dot(&d)
    });
    assert_eq!(g, 8.0 * x);
    let net = net();
    assert_eq!(numbers(&(&net - 0.25 * &net)), numbers(&net.scaled(0.75)));
    assert_eq!((&net + &net).rate, 0.25);
}

#[test]
fn scalar_products_and_norms_are_leaves() {
    assert_eq!(vec![[1.0, 2.0], [3.0, 4.0]].dot(&vec![[1.0, 10.0], [100.0, 1000.0]]), 4321.0);
    assert_eq!([3.0, 4.0].norm(), 5.0);
    assert_eq!(grad([1.0, 0.0, 0.0], |x| x.norm()), [1.0, 0.0, 0.0]);
    let net = net();
    let length = numbers(&net).iter().map(|x| x * x).sum::<f64>().sqrt();
    assert!((net.norm().item() - length).abs() <= 4.0 * f64::EPSILON * length);
    assert_eq!(net.norm().shape(), [0; 0]);
    // single precision is summed in double
    let single = vec![Tensor::from([1e-30_f32, 0.0]), Tensor::from(1e-30_f32)];
    assert_eq!(single.dot(&single).dtype(), wengert::DType::F64);
    assert!((single.norm().item() / (2f64.sqrt() * f64::from(1e-30_f32)) - 1.0).abs() < 1e-15);
}

#[test]
fn the_gradient_of_a_norm_at_zero_is_zero() {
    assert_eq!(grad([0.0, 0.0], |x| x.norm()), [0.0, 0.0]);
    let zero = net().zeros_like();
    assert_eq!(numbers(&grad(&zero, |net| net.norm())), vec![0.0; 16]);
    // where one leaf alone is zero the second derivative is that of the whole vector: v / |x|
    let x = (Tensor::from([0.0, 0.0]), Tensor::from(4.0));
    let v = (Tensor::from([1.0, 2.0]), Tensor::from(0.0));
    let hv = hvp(&x, &v, |x| x.norm());
    assert_eq!(hv.0.to_vec(), [0.25, 0.5]);
}

#[test]
fn leaves_are_mapped_in_place() {
    let x = (2.0, [3.0, 4.0]);
    assert_eq!(x.map(|x| x * x), (4.0, [9.0, 16.0]));
    assert_eq!(x.map2(&(1.0, [2.0, 3.0]), |x, y| x - y), (1.0, [1.0, 1.0]));
}

#[test]
#[should_panic(expected = "`sub` at crates/wengert/tests/all/derive.rs")]
fn trees_of_different_shapes_are_not_stretched() {
    let mut other = net();
    other.pair.1[1] = Tensor::from([1.0]);
    let _difference = net() - other;
}

#[test]
#[should_panic(expected = "`add`: the trees have 7 and 5 leaves")]
fn trees_of_different_sizes_do_not_add() {
    let mut other = net();
    other.layers.pop();
    let _sum = net() + other;
}

/// Operators of its own.
#[derive(Tree, Debug, PartialEq)]
#[tree(no_operators)]
struct Angle<T = f64>(T);

impl<T: Real> std::ops::Add for Angle<T> {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Angle((self.0 + other.0) % T::constant(360.0))
    }
}

#[test]
fn a_struct_may_have_its_own_operators() {
    assert_eq!(Angle(350.0) + Angle(20.0), Angle(10.0));
}
