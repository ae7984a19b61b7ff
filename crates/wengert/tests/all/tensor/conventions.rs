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
fn norms_of_the_smallest_numbers_have_derivatives_in_both_modes() {
    let direction = Tensor::from([1.0, 0.0]);
    let close = |got: f64, want: f64, digits: f64| assert!((got - want).abs() <= digits, "{got} and not {want}");
    // A number below the normal ones has few digits, and so have quotients of such numbers.
    for (size, digits) in
        [(1.0, 1e-15), (1e-300, 1e-15), (3e-308, 1e-14), (1e-310, 1e-12), (5e-322, 1e-2), (5e-324, 0.3)]
    {
        let x = Tensor::from([size, 2.0 * size]);
        let want = [0.2f64.sqrt(), 0.8f64.sqrt()];
        close(x.norm().item() / size, 5f64.sqrt(), 10.0 * digits);
        close(grad(&x, |x| x.norm()).to_vec()[0], want[0], digits);
        close(jvp(&x, &direction, |x| x.norm()).1.item(), want[0], digits);
        close(grad(&x, |x| x.std(0)).to_vec()[1], 0.5, digits);
        close(jvp(&x, &direction, |x| x.std(0)).1.item(), -0.5, digits);
    }
    let x = Tensor::from([1e-40f32, 1e-40]);
    close(jvp(&x, &Tensor::from([1f32, 0.0]), |x| x.norm()).1.item(), 0.5f64.sqrt(), 1e-4);
}

#[test]
fn norms_of_the_largest_numbers_are_those_numbers() {
    // The logarithm of the largest number rounds to the next whole one.
    for x in [Tensor::from([-f64::MAX, 0.0]), Tensor::from([0.0, f64::MAX]), Tensor::from([f32::MAX, 0.0])] {
        let largest = x.abs().max();
        let (value, slope) = value_and_grad(&x, |x| x.norm());
        assert_eq!(value.item(), largest.item());
        assert_eq!(slope.to_vec(), (&x / &largest).floor().to_vec());
        assert_eq!(jvp(&x, &x.sign(), |x| x.norm()).1.item(), 1.0);
    }
    let x = Tensor::from([0.6 * f64::MAX, -0.6 * f64::MAX]);
    assert!((x.std(0).item() / f64::MAX - 0.6).abs() < 1e-15);
    assert!((x.norm().item() / f64::MAX - 0.72f64.sqrt()).abs() < 1e-15);
}

#[test]
fn infinities_at_the_start_of_running_extremes_and_sums() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let x = |elements: &[f64]| Tensor::from(elements.to_vec());
    // The first result is the first element, whatever it is.
    pinned(&x(&[-inf, -2.0, 1.0]), |x| x.cummax(0), &[-inf, -2.0, 1.0], &[1.0, 2.0, 3.0]);
    pinned(&x(&[-inf, -inf, 1.0]), |x| x.cummax(0), &[-inf, -inf, 1.0], &[2.0, 1.0, 3.0]);
    pinned(&x(&[inf, 2.0]), |x| x.cummin(0), &[inf, 2.0], &[1.0, 2.0]);
    pinned(&x(&[2.0, -inf]), |x| x.cummax_reversed(0), &[2.0, -inf], &[1.0, 2.0]);
    assert_eq!(grad(&x(&[nan, 1.0]), |x| x.cummax(0).slice(0)).to_vec(), [1.0, 0.0]);
    pinned(&x(&[-inf]), |x| x.cumlogsumexp(0), &[-inf], &[1.0]);

    // The results behind an element that counts are those without the others, to every order.
    for (elements, first) in [(&[-inf, 1.0, 2.0][..], 1), (&[-inf, -inf, 2.0, 0.5], 2), (&[1.0, -inf, 2.0], 0)] {
        let (point, behind) = (x(elements), x(&elements[first..]));
        for reverse in [false, true] {
            let running = |x: &Tensor| match reverse {
                false => x.cumlogsumexp(0),
                true => x.flip(0).cumlogsumexp_reversed(0).flip(0),
            };
            let from_there = |x: &Tensor| running(x).slice(first..);
            let rest = |x: &Tensor| running(x);
            let want = jacobian(&behind, |x| rest(&x));
            let all = jacobian(&point, |x| from_there(&x));
            assert_eq!(all.slice((.., first..)).to_vec(), want.to_vec());
            assert!(all.slice((.., ..first)).to_vec().iter().all(|&slope| slope == 0.0));
            let forwards = jvp(&point, &Tensor::ones(&[elements.len()]), |x| from_there(&x)).1;
            assert!(forwards.to_vec().iter().all(|&slope| (slope - 1.0).abs() < 1e-15), "{:?}", forwards.to_vec());
            let curved = |f: &dyn Fn(&Tensor) -> Tensor, x: &Tensor| hessian(x, |x| f(&x).square().sum());
            let (all, want) = (curved(&from_there, &point), curved(&rest, &behind));
            assert_eq!(all.slice((first.., first..)).to_vec(), want.to_vec());
            assert!(all.to_vec().iter().all(|slope| slope.is_finite()));
        }
    }
    // Where all so far are minus infinity: step by step, as of equal numbers.
    let none = x(&[-inf, -inf, -inf]);
    pinned(&none, |x| x.cumlogsumexp(0), &[-inf; 3], &[1.0 + 1.0 + 0.75, 1.0 + 0.75, 1.5]);
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
