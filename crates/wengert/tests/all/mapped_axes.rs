//! `vmap` over chosen axes: where examples lie in the point and in the result, and results that are the same for all.

use wengert::prelude::*;
use wengert::{Key, Vmap};

fn error<R>(mapped: Result<R, wengert::Error>) -> String {
    match mapped {
        Ok(_) => "no error".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[derive(Tree, Clone)]
struct Line {
    slope: Tensor,
    start: Tensor,
}

/// Every axis of the point and of the result, counted from either end, against the examples one by one.
#[test]
fn every_axis_of_point_and_result() {
    let x = Key::new(1).normal(&[2, 3, 4]);
    let f = |x: &Tensor| x.sum_over(0).outer(&x.sum_over(1).sin());
    for axis in 0..3isize {
        let examples: Vec<Tensor> =
            (0..x.shape()[axis as usize]).map(|k| f(&x.take(&Tensor::from(k as i64), axis))).collect();
        let examples: Vec<&Tensor> = examples.iter().collect();
        for place in 0..3isize {
            let want = Tensor::stack(&examples, place);
            for (axis, place) in [(axis, place), (axis - 3, place), (axis, place - 3)] {
                let got = Vmap::new().inputs(&[axis]).outputs(&[place]).run(&x, |x| f(&x));
                assert_eq!((got.shape(), got.to_vec()), (want.shape(), want.to_vec()), "axis {axis}, place {place}");
            }
        }
    }
}

/// What does not depend on the example comes out once, also as a part of a struct, of a gradient and of a nested map.
#[test]
fn results_without_the_axis() {
    let line = Line { slope: Tensor::from([1.0, 2.0]), start: Tensor::from(0.5) };
    let xs = Tensor::from([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
    let of_one = |x: &Tensor| {
        let doubled = Line { slope: &line.slope * 2.0, start: line.start.exp() };
        (doubled, (&line.slope * x).sum())
    };
    let (doubled, y) = Vmap::new().outputs(&[None, None, Some(0)]).run(&xs, |x| of_one(&x));
    assert_eq!(doubled.slope.to_vec(), [2.0, 4.0]);
    assert_eq!((doubled.start.shape().len(), doubled.start.item()), (0, 0.5f64.exp()));
    assert_eq!(y.to_vec(), [5.0, 11.0, 17.0]);
    // By default it is repeated.
    assert_eq!(vmap(&xs, |x| of_one(&x)).0.slope.shape(), [3, 2]);
    // Mapped at two levels, of which the outer one moves it.
    let scales = Tensor::from([10.0, 100.0]);
    let nested = vmap(&scales, |s| Vmap::new().outputs(&[None]).run(&xs, |_| &line.slope * &s));
    assert_eq!(nested.to_vec(), [10.0, 20.0, 100.0, 200.0]);
    // Differentiated.
    let g = grad(&line, |line| {
        let (shared, own) = Vmap::new()
            .outputs(&[None, Some(0)])
            .run(&xs, |x| (line.slope.square(), (&line.slope * x).sum() * &line.start));
        shared.sum() + own.sum()
    });
    assert_eq!((g.slope.to_vec(), g.start.item()), (vec![2.0 + 4.5, 4.0 + 6.0], 33.0));
}

/// How many examples there are where no leaf says so.
#[test]
fn a_length_of_its_own() {
    let x = Tensor::from([1.0, 2.0]);
    let rows = Vmap::new().inputs(&[None, None]).length(2).run((&x, &x), |(x, y)| x * y);
    assert_eq!(rows.to_vec(), [1.0, 4.0, 1.0, 4.0]);
    assert_eq!(Vmap::new().length(2).run(&x, |x| x.exp()).shape(), [2]);
    let none = Vmap::new().inputs(&[None]).outputs(&[None]).length(0).run(&x, |x| x * 3.0);
    assert_eq!(none.to_vec(), [3.0, 6.0]);
}

#[test]
fn mistakes_are_named() {
    let (x, y) = (Tensor::zeros(&[3, 2]), Tensor::zeros(&[4, 2]));
    let sum = |(x, y): (Tensor, Tensor)| x.sum() + y.sum();
    let cases = [
        (
            error(Vmap::new().outputs(&[None]).try_run(&x, |x| x.sin())),
            "leaf 0 of the result, f64[2], depends on what is mapped",
        ),
        (
            error(Vmap::new().outputs(&[Some(0), None]).try_run(&x, |x| (x.sin(), x.sum()))),
            "leaf 1 of the result, f64[], depends on what is mapped",
        ),
        (error(Vmap::new().try_run((&x, &y), sum)), "the mapped axes of leaf 0 and leaf 1 are 3 and 4 long"),
        (error(Vmap::new().length(5).try_run(&x, |x| x)), "the mapped axis of leaf 0 is 3 long, and `length` says 5"),
        (
            error(Vmap::new().inputs(&[Some(0), None, None]).try_run((&x, &y), sum)),
            "3 axes are given for a point with 2 leaves",
        ),
        (error(Vmap::new().inputs(&[None]).try_run((&x, &y), sum)), "no leaf of the point is mapped"),
        (error(Vmap::new().inputs(&[2]).try_run(&x, |x| x)), "leaf 0 has no axis 2"),
        (error(Vmap::new().inputs(&[-3]).try_run(&x, |x| x)), "leaf 0 has no axis -3"),
        (
            error(Vmap::new().outputs(&[2]).try_run(&x, |x| x)),
            "leaf 0 of the result, f64[2], has no place 2 for a new axis",
        ),
        (error(Vmap::new().outputs(&[-3]).try_run(&x, |x| x)), "leaf 0 of the result, f64[2], has no place -3"),
        (error(Vmap::new().outputs(&[0, 1]).try_run(&x, |x| x)), "2 places are given for a result with 1 leaves"),
    ];
    for (error, wanted) in cases {
        assert!(error.contains(wanted) && error.contains("mapped_axes.rs"), "{error} has no {wanted}");
    }
}
