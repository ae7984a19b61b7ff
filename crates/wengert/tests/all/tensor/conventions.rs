//! The rows of the table of conventions that are about arrays: values and derivatives at ties and
//! edges.

use wengert::Pool;
use wengert::prelude::*;
use wengert::primitives::OutOfBounds;

/// Value and derivative of the sum of the results, weighted by 1, 2, 3, … in order.
#[track_caller]
fn pinned(x: &Tensor, f: impl Fn(&Tensor) -> Tensor, value: &[f64], gradient: &[f64]) {
    assert_eq!(f(x).to_vec(), value);
    let weighted = |x: Tensor| {
        let y = f(&x).flatten();
        let weights: Vec<f64> = (1..=y.size()).map(|k| k as f64).collect();
        (y * Tensor::from(weights)).sum()
    };
    assert_eq!(grad(x, weighted).to_vec(), gradient);
}

#[test]
fn ties_of_extremes() {
    let x = Tensor::from([1.0, 3.0, 3.0]);
    pinned(&x, |x| x.max(), &[3.0], &[0.0, 0.5, 0.5]);
    pinned(&-&x, |x| x.min(), &[-3.0], &[0.0, 0.5, 0.5]);
    pinned(&Tensor::from([1.0, 1.0, 1.0]), |x| x.cummax(0), &[1.0; 3], &[2.75, 1.75, 1.5]);
    let tied = Tensor::from([1.0, 1.0, 1.0]).reshape(&[1, 1, 3]);
    pinned(&tied, |x| x.max_pool(&Pool { window: [2], stride: [1], padding: [(0, 0)] }), &[1.0, 1.0], &[1.0, 2.0, 0.0]);
    assert_eq!(x.argmax(0).item(), 1.0);
    assert_eq!(Tensor::from([1.0, f64::NAN, 5.0, f64::NAN]).argmax(0).item(), 1.0);
}

#[test]
fn ties_of_orders() {
    let x = Tensor::from([2.0, 1.0, 2.0, 1.0]);
    assert_eq!(x.argsort(0).to_vec(), [1.0, 3.0, 0.0, 2.0]);
    pinned(&x, |x| x.sort(0), &[1.0, 1.0, 2.0, 2.0], &[3.0, 1.0, 4.0, 2.0]);
    let (values, places) = Tensor::from([1.0, 2.0, 2.0, 2.0]).top_k(2, 0);
    assert_eq!((values.to_vec(), places.to_vec()), (vec![2.0, 2.0], vec![1.0, 2.0]));
    assert_eq!(Tensor::from([f64::NAN, 1.0, 0.0]).argsort(0).to_vec(), [2.0, 1.0, 0.0]);
}

#[test]
fn edges_of_reductions() {
    pinned(&Tensor::from([0.0, 2.0, 3.0]), |x| x.prod(), &[0.0], &[6.0, 0.0, 0.0]);
    pinned(&Tensor::from([2.0, 0.0, 3.0]), |x| x.cumprod(0), &[2.0, 0.0, 0.0], &[1.0, 22.0, 0.0]);
    pinned(&Tensor::from([0.0, 0.0]), |x| x.norm(), &[0.0], &[0.0, 0.0]);
    pinned(&Tensor::from([2.0, 2.0]), |x| x.std(0), &[0.0], &[0.0, 0.0]);
    let lowest = Tensor::from([f64::NEG_INFINITY; 2]);
    assert_eq!(lowest.logsumexp().item(), f64::NEG_INFINITY);
    assert!(grad(&lowest, |x| x.logsumexp()).to_vec().iter().all(|x| x.is_nan()));
    assert!(Tensor::zeros(&[0]).try_max().is_err());
    assert_eq!(Tensor::zeros(&[0]).sum().item(), 0.0);
}

#[test]
fn places_out_of_range() {
    let (x, place) = (Tensor::from([1.0, 2.0, 3.0]), Tensor::from([5i64]));
    assert!(x.try_take(&place, 0).is_err());
    pinned(&x, |x| x.take_or(&place, 0, OutOfBounds::Clamp), &[3.0], &[0.0, 0.0, 1.0]);
    pinned(&x, |x| x.take_or(&place, 0, OutOfBounds::Fill), &[0.0], &[0.0, 0.0, 0.0]);
    let updates = Tensor::from([7.0, 8.0]);
    let twice = Tensor::from([1i64, 1]);
    pinned(&updates, |u| x.scatter_set(&twice, u, 0), &[1.0, 8.0, 3.0], &[0.0, 2.0]);
}
