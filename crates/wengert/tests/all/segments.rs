//! Extremes and products of what meets at an index, counts, quantiles and grids: against the reductions that say the same.

use wengert::prelude::*;
use wengert::{DType, Interpolation};

use crate::support::Random;

type Function<'a> = &'a dyn Fn(&Tensor) -> Tensor;

fn close(what: &str, got: &Tensor, wanted: &Tensor) {
    assert_eq!(got.ty(), wanted.ty(), "{what}");
    for (k, (got, wanted)) in got.to_vec().into_iter().zip(wanted.to_vec()).enumerate() {
        let alike = got == wanted || got.is_nan() && wanted.is_nan();
        assert!(alike || (got - wanted).abs() <= 1e-13 * wanted.abs().max(1.0), "{what}: {k}: {got} and {wanted}");
    }
}

/// Two functions agree: value, gradient, Hessian, third derivatives, tangents, mapped, compiled.
fn agree(what: &str, x: &Tensor, f: Function, wanted: Function) {
    close(what, &f(x), &wanted(x));
    let weighted = |f: Function, x: &Tensor| {
        let y = f(x);
        let weights = (0..y.size()).map(|k| 0.37 * k as f64 + 0.5).collect();
        (&y * Tensor::from_vec(y.shape(), weights)).sum()
    };
    let direction = (x + 0.7).sin();
    let gradient = |f: Function| grad(x, |x| weighted(f, &x));
    let tangent = |f: Function| jvp(x, &direction, |x| f(&x)).1;
    // Squares, so that there is a Hessian where the function itself is linear piece by piece.
    let bent = |f: Function, x: &Tensor| weighted(f, x).square();
    let second = |f: Function| hvp(x, &direction, |x| bent(f, &x));
    let third = |f: Function| grad(x, |x| (hvp(&x, &direction, |x| bent(f, &x)) * &direction).sum());
    let mapped = |f: Function| {
        let points = Tensor::stack(&[x, &direction, &(x * -0.5)], 0);
        vmap(&points, |x| grad(&x, |x| weighted(f, &x)))
    };
    let compiled = |f: Function| compile(|x: Tensor| grad(&x, |x| weighted(f, &x))).call(x.clone());
    for (kind, by) in [
        ("gradient", &gradient as &dyn Fn(Function) -> Tensor),
        ("tangent", &tangent),
        ("second", &second),
        ("third", &third),
        ("mapped", &mapped),
        ("compiled", &compiled),
    ] {
        close(&format!("{what}, {kind}"), &by(f), &by(wanted));
    }
}

/// The rows of each segment one after the other.
fn each(x: &Tensor, segments: &[i64], count: i64, none: f64, f: Function) -> Tensor {
    let rows = |segment: i64| {
        let rows: Vec<i64> = (0..segments.len()).filter(|&k| segments[k] == segment).map(|k| k as i64).collect();
        match rows.is_empty() {
            true => Tensor::full(&x.shape()[1..], none),
            false => f(&x.take(&Tensor::from(rows), 0)),
        }
    };
    let all: Vec<Tensor> = (0..count).map(rows).collect();
    Tensor::stack(&all, 0)
}

/// Numbers in a shape, every third rounded so that some are equal and some are zero.
fn numbers(random: &mut Random, shape: &[usize]) -> Tensor {
    let count = shape.iter().product();
    let number = |k: usize, x: f64| if k.is_multiple_of(3) { x.round() } else { x };
    Tensor::from_vec(shape, (0..count).map(|k| number(k, 2.0 * random.direction())).collect())
}

#[test]
fn segments_are_reductions_of_their_rows() {
    let mut random = Random::new(41);
    let cases: [(&[usize], &[i64], i64); 4] = [
        (&[7], &[2, 0, 2, 4, 0, 2, 2], 5),
        (&[5, 3], &[1, 1, 0, 1, 3], 4),
        (&[4, 2, 2], &[0, 0, 0, 0], 1),
        (&[1, 2], &[1], 2),
    ];
    for (shape, segments, count) in cases {
        let x = numbers(&mut random, shape);
        let (at, n) = (Tensor::from(segments), count as usize);
        let against = |name: &str, f: Function, none: f64, reduction: Function| {
            agree(&format!("{name} of {shape:?}"), &x, f, &|x| each(x, segments, count, none, reduction));
        };
        against("sum", &|x| x.segment_sum(&at, n), 0.0, &|rows| rows.sum_over(0));
        against("mean", &|x| x.segment_mean(&at, n).is_finite().where_(x.segment_mean(&at, n), 9.0), 9.0, &|rows| {
            rows.mean_over(0)
        });
        against("prod", &|x| x.segment_prod(&at, n), 1.0, &|rows| rows.prod_over(0));
        let finite = |x: Tensor| x.is_finite().where_(&x, 9.0);
        against("max", &|x| finite(x.segment_max(&at, n)), 9.0, &|rows| rows.max_over(0));
        against("min", &|x| finite(x.segment_min(&at, n)), 9.0, &|rows| rows.min_over(0));
    }
}

#[test]
fn scatters_fold_the_element_with_its_updates() {
    let mut random = Random::new(43);
    let indices: &[i64] = &[1, 0, 1, 1, 3];
    let at = Tensor::from(indices);
    for axis in [0, -1] {
        let shape: [usize; 2] = if axis == 0 { [4, 2] } else { [2, 4] };
        let moved = |x: &Tensor| if axis == 0 { x.clone() } else { x.t() };
        let (x, updates) = (numbers(&mut random, &shape), moved(&numbers(&mut random, &[5, 2])));
        // The element first, then its updates.
        let folded = |x: &Tensor, updates: &Tensor, f: Function| {
            let rows = |k: i64| (0..5).filter(move |&j| indices[j] == k).map(|j| j as i64);
            let row = |k: i64| {
                let own = moved(x).take(&Tensor::from([k]), 0);
                let updates = moved(updates).take(&Tensor::from(rows(k).collect::<Vec<i64>>()), 0);
                f(&Tensor::concat(&[&own, &updates], 0))
            };
            let all: Vec<Tensor> = (0..4).map(row).collect();
            moved(&Tensor::stack(&all, 0))
        };
        type Scatter = fn(&Tensor, &Tensor, &Tensor, isize) -> Tensor;
        let folds: [(&str, Scatter, Function); 3] = [
            ("scatter_max", |x, at, u, axis| x.scatter_max(at, u, axis), &|rows| rows.max_over(0)),
            ("scatter_min", |x, at, u, axis| x.scatter_min(at, u, axis), &|rows| rows.min_over(0)),
            ("scatter_mul", |x, at, u, axis| x.scatter_mul(at, u, axis), &|rows| rows.prod_over(0)),
        ];
        for (name, scatter, fold) in folds {
            agree(name, &x, &|x| scatter(x, &at, &updates, axis), &|x| folded(x, &updates, fold));
            agree(name, &updates, &|u| scatter(&x, &at, u, axis), &|u| folded(&x, u, fold));
            // Both together.
            let both = |x: &Tensor| x.take(&Tensor::from([0i64, 1, 2, 3, 0]), axis) * 1.5;
            agree(name, &x, &|x| scatter(x, &at, &both(x), axis), &|x| folded(x, &both(x), fold));
        }
    }
}

/// An element and two updates that are the same share what flows to them, whichever of them is a variable.
#[test]
fn an_element_shares_with_its_updates() {
    let at = Tensor::from([1i64, 1, 2]);
    let (x, u) = (Tensor::from([1.0, 3.0, 2.0]), Tensor::from([3.0, 3.0, 5.0]));
    let third = 1.0 / 3.0;
    for sign in [1.0, -1.0] {
        let f = |x: &Tensor, u: &Tensor| match sign > 0.0 {
            true => x.scatter_max(&at, u, 0),
            false => -(-x).scatter_min(&at, &-u, 0),
        };
        assert_eq!(grad(&x, |x| f(&x, &u).sum()).to_vec(), [1.0, third, 0.0]);
        assert_eq!(grad(&u, |u| f(&x, &u).sum()).to_vec(), [third, third, 1.0]);
        let (of_x, of_u) = (Tensor::from([1.0, 10.0, 100.0]), Tensor::from([2.0, 3.0, 4.0]));
        assert_eq!(jvp(&x, &of_x, |x| f(&x, &u)).1.to_vec(), [1.0, 10.0 / 3.0, 0.0]);
        assert_eq!(jvp(&u, &of_u, |u| f(&x, &u)).1.to_vec(), [0.0, 5.0 / 3.0, 4.0]);
        let both = jvp((&x, &u), (&of_x, &of_u), |(x, u): (Tensor, Tensor)| f(&x, &u)).1;
        assert_eq!(both.to_vec(), [1.0, 5.0, 4.0]);
    }
}

#[test]
fn products_keep_every_derivative_at_zeros() {
    // Two zeros in one segment: only the mixed second derivative is left.
    let at = Tensor::from([0i64, 0, 0, 1]);
    let f = |u: Tensor| u.segment_prod(&at, 2).sum();
    let u = Tensor::from([0.0, 3.0, 0.0, 0.0]);
    assert_eq!(grad(&u, f).to_vec(), [0.0, 0.0, 0.0, 1.0]);
    assert_eq!(hvp(&u, Tensor::from([1.0, 0.0, 0.0, 0.0]), f).to_vec(), [0.0, 0.0, 3.0, 0.0]);
    // What is not finite stays in its segment.
    let u = Tensor::from([f64::INFINITY, 3.0, 0.5, 2.0]);
    assert_eq!(grad(&u, f).to_vec(), [1.5, f64::INFINITY, f64::INFINITY, 1.0]);
}

#[test]
fn ties_nothing_and_what_is_no_number() {
    let nan = f64::NAN;
    let at = Tensor::from([0i64, 0, 2, 2, 3]);
    let x = Tensor::from([1.0, 1.0, nan, 2.0, f64::NEG_INFINITY]);
    let largest = x.segment_max(&at, 4).to_vec();
    assert_eq!([largest[0], largest[1], largest[3]], [1.0, f64::NEG_INFINITY, f64::NEG_INFINITY]);
    assert!(largest[2].is_nan());
    // Where it is NaN nothing reaches it; of equal ones each has its share, infinite ones too.
    assert_eq!(grad(&x, |x| x.segment_max(&at, 4).sum()).to_vec(), [0.5, 0.5, 0.0, 0.0, 1.0]);
    assert_eq!(Tensor::from([5i64, 2]).segment_max(&Tensor::from([1i64, 1]), 2).to_vec(), [i64::MIN as f64, 5.0]);
    assert_eq!(Tensor::from([5i64, 2]).segment_min(&Tensor::from([1i64, 1]), 2).to_vec(), [i64::MAX as f64, 2.0]);
    assert_eq!(Tensor::from([5i64, 2]).segment_prod(&Tensor::from([1i64, 1]), 2).to_vec(), [1.0, 10.0]);
    assert!(x.segment_mean(&at, 4).to_vec()[1].is_nan());
    // An element shares with its updates.
    let twos = Tensor::from([2.0, 2.0]);
    let shares = grad((&twos, &twos), |(x, u)| x.scatter_max(&Tensor::from([1i64, 1]), &u, 0).sum());
    assert_eq!([shares.0.to_vec(), shares.1.to_vec()], [vec![1.0, 1.0 / 3.0], vec![1.0 / 3.0; 2]]);
    let none = Tensor::zeros(&[0, 2]).segment_max(&Tensor::zeros_of(DType::I64, &[0]), 1);
    assert_eq!(none.to_vec(), [f64::NEG_INFINITY; 2]);
    let single = Tensor::from([1.5f32, -2.0]).segment_prod(&Tensor::from([0i64, 0]), 1);
    assert_eq!((single.dtype(), single.to_vec()), (DType::F32, vec![-3.0]));
}

#[test]
fn counts_add_weights() {
    let bins = Tensor::from([[1i64, 0], [3, 1]]);
    assert_eq!((bins.bincount(4).dtype(), bins.bincount(4).to_vec()), (DType::I64, vec![1.0, 2.0, 0.0, 1.0]));
    let one = |k: i64| bins.eq(k).to_f64();
    let by_hand = |w: &Tensor| {
        let all: Vec<Tensor> = (0..4).map(|k| (w * one(k)).sum()).collect();
        Tensor::stack(&all, 0)
    };
    agree("bincount", &Tensor::from([[0.5, 2.0], [-1.0, 0.25]]), &|w| bins.bincount_with(w, 4), &by_hand);
    let lanes = vmap(&bins, |bins| bins.bincount(4));
    assert_eq!(lanes.to_vec(), [1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0]);
}

#[test]
fn quantiles_lie_between_elements_in_order() {
    let x = Tensor::from([[3.0, -1.0, 0.5, 8.0], [2.0, 2.5, 2.25, -7.0]]);
    let at = |x: &Tensor, place: i64| x.sort(1).take(&Tensor::from(place), 1);
    for (q, low, weight) in [(0.0, 0, 0.0), (0.3, 0, 0.9), (0.5, 1, 0.5), (0.4, 1, 0.2), (1.0, 2, 1.0)] {
        let wanted = |x: &Tensor| at(x, low) * (1.0 - weight) + at(x, low + 1) * weight;
        agree(&format!("quantile {q}"), &x, &|x| x.quantile(q, -1), &wanted);
        let several = |x: &Tensor| x.quantile([q, 0.5], 1);
        agree("several", &x, &several, &|x| Tensor::stack(&[&wanted(x), &x.median(1)], 0));
    }
    let x = Tensor::from([10.0, 40.0, 20.0, 30.0]);
    let by = |q: f64| {
        use Interpolation::{Higher, Linear, Lower, Midpoint, Nearest};
        [Linear, Lower, Higher, Nearest, Midpoint].map(|by| x.quantile_by(q, 0, by).item())
    };
    assert_eq!(by(0.5), [25.0, 20.0, 30.0, 30.0, 25.0]);
    assert_eq!(by(0.25), [17.5, 10.0, 20.0, 20.0, 15.0]);
    assert_eq!(by(1.0), [40.0; 5]);
    // Equal elements give themselves; infinite ones do not make NaN; NaN does.
    assert_eq!(Tensor::full(&[5], 0.1).quantile([0.1, 0.33, 0.77], 0).to_vec(), [0.1; 3]);
    let far = Tensor::from([f64::NEG_INFINITY, 0.0, f64::INFINITY]);
    assert_eq!(far.quantile([0.0, 0.25, 0.5, 0.75], 0).to_vec(), [-f64::INFINITY, -f64::INFINITY, 0.0, f64::INFINITY]);
    assert_eq!(Tensor::from([f64::MAX, -f64::MAX]).quantile(0.5, 0).item(), 0.0);
    assert!(Tensor::from([1.0, f64::NAN, 2.0]).quantile(0.0, 0).item().is_nan());
    assert_eq!(x.quantile(Vec::new(), 0).shape(), [0]);
    assert_eq!(Tensor::from([1f32, 2.0]).quantile(0.5, 0).dtype(), DType::F32);
}

#[test]
fn grids_vary_along_their_own_axis() {
    let (x, y) = (Tensor::from([1.0, 2.0]), Tensor::from([3.0, 4.0, 5.0]));
    let grid = |x: &Tensor| {
        let grid = Tensor::meshgrid(&[x, &y, &Tensor::from([1.0])]);
        assert!(grid.iter().all(|grid| grid.shape() == [x.size(), 3, 1]));
        &grid[0] * &grid[1]
    };
    agree("meshgrid", &x, &grid, &|x| x.reshape(&[2, 1, 1]) * y.reshape(&[1, 3, 1]));
    assert!(Tensor::meshgrid(Vec::<Tensor>::new()).is_empty());
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let (x, at) = (Tensor::from([1.0, 2.0, 3.0]), Tensor::from([0i64, 1, 5]));
    let message = |result: Result<Tensor, wengert::Error>| result.map(|_| ()).expect_err("it does not fit").to_string();
    for (result, parts) in [
        (x.try_segment_max(&at, 3), ["segment_max", "the index 5 is out of range for an axis that is 3 long"]),
        (x.try_segment_prod(&Tensor::from([0i64, -1, 0]), 3), ["segment_prod", "the index -1 is out of range"]),
        (x.try_segment_min(&Tensor::from([0i64]), 3), ["segment_min", "one segment for each row"]),
        (x.try_segment_mean(&x, 3), ["segment_mean", "indices are integers (i64), not f64"]),
        (Tensor::from([true]).try_segment_max(&Tensor::from([0i64]), 1), ["segment_max", "truth values"]),
        (x.try_scatter_mul(&at, &Tensor::from([1.0, 2.0]), 0), ["scatter_mul", "the shapes do not broadcast"]),
        (x.try_scatter_max(&at, &x, 1), ["scatter_max", "there is no axis 1"]),
        (x.try_bincount(3), ["bincount", "indices are integers (i64), not f64"]),
        (at.try_bincount(3), ["bincount", "the index 5 is out of range"]),
        // Where nothing is read or written, too.
        (Tensor::zeros(&[3, 0]).try_segment_sum(&at, 3), ["segment_sum", "the index 5 is out of range"]),
        (Tensor::zeros(&[3, 0]).try_segment_max(&at, 3), ["segment_max", "the index 5 is out of range"]),
        (x.try_segment_sum(&at, 0), ["segment_sum", "the index 0 is out of range for an axis that is 0 long"]),
        (Tensor::zeros(&[0, 3]).try_take(&at, 1), ["take", "the index 5 is out of range for an axis that is 3 long"]),
        (at.try_bincount_with(&Tensor::from([1.0]), 6), ["bincount_with", "one for each element of i64[3]"]),
        (x.try_quantile(1.5, 0), ["quantile", "a quantile is 1.5, and has to be from 0 to 1"]),
        (x.try_quantile([0.5, f64::NAN], 0), ["quantile", "a quantile is NaN"]),
        (x.try_quantile(0.5, 2), ["quantile", "there is no axis 2"]),
        (Tensor::zeros(&[0]).try_quantile(0.5, 0), ["quantile", "axis 0 is empty"]),
        (at.try_quantile(0.5, 0), ["quantile", "real numbers"]),
        (
            Tensor::try_meshgrid(&[&x, &Tensor::from(1.0)]).map(|mut grid| grid.remove(0)),
            ["meshgrid", "operand 1 is f64"],
        ),
        (x.try_celu(0.0), ["celu", "alpha is 0, and has to be positive"]),
    ] {
        let message = message(result);
        assert!(parts.iter().all(|part| message.contains(part)) && message.contains(file!()), "{message}");
    }
}

#[test]
fn named_functions_are_their_formulas() {
    let x = Tensor::from([-3.0, -0.5, 0.25, 2.0]);
    agree("mish", &x, &Tensor::mish, &|x| x * x.softplus().tanh());
    let p = Tensor::from([0.1, 0.4, 0.5, 0.9]);
    agree("logit", &p, &Tensor::logit, &|p| (p / (1.0 - p)).ln());
    agree("entr", &p, &Tensor::entr, &|p| -(p * p.ln()));
    agree("celu", &x, &|x| x.celu(0.5), &|x| x.gt(0.0).where_(x, ((x / 0.5).exp() - 1.0) * 0.5));
    // Far out where the formulas are not numbers.
    let far = Tensor::from([-f64::INFINITY, f64::INFINITY, -800.0]);
    assert_eq!(grad(&far, |x| x.mish().sum()).to_vec(), [0.0, 1.0, 0.0]);
}
