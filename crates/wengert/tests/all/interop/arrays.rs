//! ndarray: arrays of `Var` and `Dual`, and arrays as points and results.

use ndarray::{Array, Array0, Array1, Array2, ArrayView2, Axis, array};
use wengert::prelude::*;

use super::check;

#[test]
fn a_gradient_through_dot() {
    let (x, y) = (array![1.0, 2.0, 3.0], array![0.5, -1.0, 4.0]);
    let (by_x, by_y): (Array1<f64>, Array1<f64>) = grad((&x, &y), |(x, y)| x.dot(&y));
    assert_eq!((&by_x, &by_y), (&y, &x));
    assert_eq!(grad(&x, |x| x.dot(&x)), &x * 2.0);
    // twelve numbers: ndarray's unrolled loop
    let long = Array::linspace(0.25, 3.0, 12);
    assert_eq!(grad(&long, |x| x.dot(&long.mapv(lift))), long);
}

#[test]
fn products_of_matrices() {
    // c^T A B d: by A it is c (B d)^T, by B it is (A^T c) d^T
    let a = array![[1.0, 2.0, -1.0], [0.5, 3.0, 4.0]];
    let b = array![[2.0, -1.0], [1.5, 0.25], [-3.0, 1.0]];
    let (c, d) = (array![3.0, -2.0], array![0.5, 7.0]);
    let f = |(a, b): (Array2<Var>, Array2<Var>)| c.mapv(lift).dot(&a.dot(&b).dot(&d.mapv(lift)));
    let (by_a, by_b) = grad((&a, &b), f);
    let outer = |x: &Array1<f64>, y: &Array1<f64>| {
        let (x, y) = (x.view().insert_axis(Axis(1)), y.view().insert_axis(Axis(0)));
        x.dot(&y)
    };
    check(&by_a, &outer(&c, &b.dot(&d)), 16.0 * f64::EPSILON);
    check(&by_b, &outer(&a.t().dot(&c), &d), 16.0 * f64::EPSILON);
    // |A A^T|^2 has the gradient 4 A A^T A
    let g = grad(&a, |a| a.dot(&a.t()).mapv(|x| x * x).sum());
    check(&g, &(a.dot(&a.t()).dot(&a) * 4.0), 64.0 * f64::EPSILON);
}

#[test]
fn duals_in_arrays() {
    let x = array![Dual::seed(2.0, 0), Dual::seed(3.0, 1), Dual::<f64, 2>::lift(5.0)];
    let f = x.dot(&x) + x.sum();
    assert_eq!((f.re(), f.tangents()), (48.0, [5.0, 7.0]));
    let scaled = &x * x[0];
    assert_eq!(scaled[1].tangents(), [3.0, 2.0]);
}

#[test]
fn sums_means_and_deviations() {
    let a = array![[1.0, 2.0, 4.0], [0.5, 3.0, -4.0]];
    assert_eq!(grad(&a, |a| a.sum()), Array2::<f64>::ones((2, 3)));
    check(&grad(&a, |a| a.mean().expect("not empty")), &Array2::from_elem((2, 3), 1.0 / 6.0), f64::EPSILON);
    assert_eq!(grad(&a, |a| a.product()), a.mapv(|x| a.product() / x));
    // the variance has the gradient 2 (x - mean)/n; the deviation half of it by the deviation
    let (mean, deviation) = (a.mean().expect("not empty"), a.std(0.0));
    let wanted = a.mapv(|x| (x - mean) / 6.0 / deviation);
    check(&grad(&a, |a| a.std(lift(0.0))), &wanted, 64.0 * f64::EPSILON);
    let rows = jacobian(&a, |a| a.sum_axis(Axis(1)));
    assert_eq!(rows, array![array![[1.0, 1.0, 1.0], [0.0; 3]], array![[0.0; 3], [1.0, 1.0, 1.0]]]);
}

#[test]
fn scalars_stand_on_both_sides() {
    let x = array![1.0, 2.0];
    let (by_scalar, by_array) = grad((3.0, &x), |(s, x)| (s * &x + &x * s + s / &x + (s - x.clone()) + &x / 2.0).sum());
    // s x + x s + s/x + s - x + x/2
    assert_eq!(by_scalar, 2.0 * 3.0 + 1.5 + 2.0);
    assert_eq!(by_array, array![6.0 - 3.0 - 0.5, 6.0 - 0.75 - 0.5]);
    let halves = array![Dual::variable(1.0)] * 2.0 + Dual::variable(1.0) * array![Dual::variable(3.0)];
    assert_eq!(halves[0].tangent(), 2.0 + 4.0);
}

#[test]
fn every_kind_of_array_is_a_tree() {
    // Leaves go in logical order, whatever the memory order: here a transposed view.
    let a = array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    let view: ArrayView2<f64> = a.t();
    let mut order = Vec::new();
    view.for_each_leaf(&mut |x| order.push(x));
    assert_eq!(order, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    assert_eq!(grad(view, |a| a.mapv(|x| x * x).sum()), &a.t() * 2.0);
    assert_eq!(grad(a.slice(ndarray::s![.., ..;2]), |a| a[[1, 1]] * a[[0, 0]]), array![[6.0, 0.0], [0.0, 1.0]]);
    assert_eq!(grad(a.to_shared(), |a| a[[1, 2]]).sum(), 1.0);
    let h: Array1<Array1<f64>> = hessian(array![2.0, 3.0], |x| x[0] * x[0] * x[1]);
    assert_eq!(h, array![array![6.0, 4.0], array![4.0, 0.0]]);
    let scalar: Array0<f64> = grad(ndarray::arr0(3.0), |x| x[()] * x[()]);
    assert_eq!(scalar[()], 6.0);
    let outer = grad(array![2.0, 3.0], |x| grad(&x, |y| y[0] * y[0] * y[1]).sum());
    assert_eq!(outer, array![2.0 * 3.0 + 2.0 * 2.0, 2.0 * 2.0]);
    let recorded = record(array![1.0, 2.0], |x: Array1<Var>| x.dot(&x));
    assert_eq!(recorded.grad(array![5.0, 6.0]), array![10.0, 12.0]);
}
