//! Drivers inside of drivers over numbers, where their records lie: against drivers of second order, and what they leave behind.

use wengert::prelude::*;
use wengert::tape_size;

/// Operations of every kind, with constants of their own; `length` times, so that levels begin and end anywhere in a block.
fn long<R: Real>([x, y]: [R; 2], z: R, length: usize) -> R {
    (0..length).fold(x * y, |c, k| {
        let turned = (c * (1.0 + k as f64 * 1e-3)).sin().atan2(y + 2.0) - z / (c * c + 1.5);
        let other = (turned.exp() + 3.0 - x.abs()).ln() * y.powi(3) + (lit(2.0) / (y + 4.0)).sqrt().hypot(z);
        c * 0.3 + turned.max(other * 0.1) - z.square() * 0.2
    })
}

fn near(what: &str, got: &[f64], want: &[f64]) {
    let largest = want.iter().fold(1.0, |largest: f64, want| largest.max(want.abs()));
    for (got, want) in got.iter().zip(want) {
        assert!((got - want).abs() <= 1e-11 * largest && want.is_finite(), "{what}: {got} instead of {want}");
    }
    assert_eq!(got.len(), want.len(), "{what}");
}

const AT: [f64; 2] = [0.8, 0.4];

#[test]
fn both_modes_inside_of_both_modes() {
    for length in [1, 7, 12, 40] {
        let f = |x: [Var; 2]| long(x, x[0] * 0.3, length);
        let want = hessian(AT, f);
        let axes = [[1.0, 0.0], [0.0, 1.0]];
        let lifted = axes.map(|axis| axis.map(lift));
        // Records in front, so that the inner levels begin elsewhere.
        for before in [0, 100, 255, 256, 300] {
            let moved = |[x, y]: [Var; 2]| [(0..before).fold(x, |x, _| x + 0.0), y];
            let rr = [0, 1].map(|k| grad(AT, |x| grad(moved(x), f)[k]));
            let rf = lifted.map(|axis| grad(AT, |x| jvp(moved(x), axis, f).1));
            let fr = axes.map(|axis| jvp(AT, axis, |x| grad(moved(x), f)).1);
            let ff = axes.map(|v| lifted.map(|w| jvp(AT, v, |x| jvp(moved(x), w, f).1).1));
            let both = [0, 1].map(|k| grad(AT, |x| value_and_grad(moved(x), f).1[k]));
            for (name, got) in [("rr", rr), ("rf", rf), ("fr", fr), ("ff", ff), ("both", both)] {
                near(&format!("{name} of {length} behind {before}"), got.as_flattened(), want.as_flattened());
            }
        }
    }
}

/// The slope of [`long`] by duals with `N` tangents, of which it uses two.
fn slope_by_duals<R: Real, const N: usize>(x: [R; 2], length: usize) -> [R; 2] {
    let x = [Dual::<R, N>::seed(x[0], 0), Dual::seed(x[1], 1)];
    let tangents = long(x, x[0] * 0.3, length).tangents();
    [tangents[0], tangents[1]]
}

/// The Hessian of [`long`] by duals with `M` tangents over duals with `N`.
fn hessian_by_duals<const N: usize, const M: usize>(length: usize) -> [[f64; 2]; 2] {
    let slopes = slope_by_duals::<_, M>([Dual::<f64, N>::seed(AT[0], 0), Dual::seed(AT[1], 1)], length);
    slopes.map(|slope| [slope.tangents()[0], slope.tangents()[1]])
}

#[test]
fn duals_inside_of_both_modes() {
    for length in [1, 7, 40] {
        let want = hessian(AT, |x| long(x, x[0] * 0.3, length));
        let rd = [0, 1].map(|k| grad(AT, |x| slope_by_duals::<_, 2>(x, length)[k]));
        let rd_of_four = [0, 1].map(|k| grad(AT, |x| slope_by_duals::<_, 4>(x, length)[k]));
        let fd = [[1.0, 0.0], [0.0, 1.0]].map(|axis| jvp(AT, axis, |x| slope_by_duals::<_, 2>(x, length)).1);
        let recorded = [0, 1].map(|k| record(AT, |x| slope_by_duals::<_, 2>(x, length)[k]).grad(AT));
        // Small ones, and so large that their loops are functions of their own.
        let (small, inner, outer) = (hessian_by_duals::<2, 2>, hessian_by_duals::<9, 2>, hessian_by_duals::<2, 20>);
        let all = [rd, rd_of_four, fd, recorded, small(length), inner(length), outer(length)];
        for (got, name) in all.iter().zip(["rd", "rd of four", "fd", "recorded", "small", "inner", "outer"]) {
            near(&format!("{name} of {length}"), got.as_flattened(), want.as_flattened());
        }
    }
}

#[test]
fn selections_and_quotients_of_duals_keep_what_is_structurally_zero() {
    // y x^2 below y, and y x sin x from there on.
    let f = |x: Var, y: f64| {
        let [x, y] = [Dual::<Var, 3>::seed(x, 0), Dual::seed(lift(y), 1)];
        Real::select(x.less(y), x.square() * y, x.sin() * x * y)
    };
    let recorded = record(0.5, |x| f(x, 0.7).tangents()[0]);
    for x in [0.5f64, 0.9] {
        let want = if x < 0.7 { 2.0 * 0.7 } else { 0.7 * (2.0 * x.cos() - x * x.sin()) };
        near("selected", &[recorded.grad(x)], &[want]);
    }
    let chosen = |x: Var| f(x, 0.7).tangents();
    // The third tangent is zero on both sides.
    assert_eq!(record(0.5, |x| chosen(x)[2]).grad(0.5), 0.0);
    // Over 0 too.
    assert_eq!((Dual::<f64, 2>::seed(1.0, 0) / 0.0).tangents()[1], 0.0);
    assert_eq!((Dual::<f64, 2>::seed(1.0, 0) / Dual::lift(0.0)).tangents()[1], 0.0);
    assert!((Dual::<f64, 2>::seed(0.0, 0) / f64::NAN).tangents()[0].is_nan());
}

#[test]
fn duals_over_variables_record_nothing_for_what_is_structurally_zero() {
    type Pair = Dual<Var, 2>;
    let records = |f: fn(Pair, Pair) -> Pair| {
        let seeded = |x| f(Dual::seed(x, 0), Dual::seed(lift(2.0), 1)).tangents();
        let values = tape_size(0.7, |x| f(Dual::lift(x), Dual::lift(lift(2.0)))).records;
        tape_size(0.7, seeded).records - values
    };
    // The tangents of a product are its factors; those of a sum and a difference are one and minus one.
    assert_eq!(records(|x, y| x * y), 0);
    assert_eq!(records(|x, y| x + y), 0);
    assert_eq!(records(|x, y| y - x), 0);
    // By x alone: 2 x is one record, and so is its product with y; by y it is x squared.
    assert_eq!(records(|x, y| x.square() * y), 2);
}

#[test]
fn captures_and_results_that_are_none() {
    let at = |f: fn([Var; 2]) -> Var| grad([0.7, 1.3], f);
    // What is captured is a factor; d/dx of y x^y and so on, by hand.
    assert_eq!(at(|[x, y]| grad(x, |u| u * u * y)), [2.6, 1.4]);
    // A variable of the outer level beside a constant.
    assert_eq!(at(|[x, y]| grad(x, |u| u * (y * lift(2.0)) + lift(1.0) * y)), [0.0, 2.0]);
    assert_eq!(at(|[x, y]| grad(x, |_| y)), [0.0, 0.0]);
    assert_eq!(at(|[x, y]| grad(x, |_| lift(3.0)) + y), [0.0, 1.0]);
    assert_eq!(at(|[x, y]| grad(x, |u| u) * y), [0.0, 1.0]);
    assert_eq!(at(|[x, y]| value_and_grad(x, |_| y).0 * x), [1.3, 0.7]);
    assert_eq!(at(|[x, y]| value_and_grad(x, |u| u * y).0), [1.3, 0.7]);
    assert_eq!(at(|[x, y]| jvp(x, y, |u| (u * u, y)).1.0), [2.6, 1.4]);
    assert_eq!(at(|[x, y]| jvp(x, y, |u| (u * u, y)).1.1), [0.0, 0.0]);
    assert_eq!(at(|[x, y]| jvp(x, y, |u| [u, y, lift(2.0)]).0.into_iter().sum()), [1.0, 1.0]);
    // A point that is a constant; a function that chooses inside.
    assert_eq!(at(|[x, y]| grad(lift(2.0), |u| u * u * x * y)), [5.2, 2.8]);
    let kinked = |x: Var| record(0.5, |u: Var| Real::select(u.less(lift(1.0)), u * u, u.sqrt())).grad(x);
    assert_eq!(grad(0.7, |x| grad(x, |u| u * kinked(u))), 4.0);
    assert_eq!(jvp(0.7, 1.0, |x| grad(x, |u| u * kinked(u))).1, 4.0);
}

#[test]
fn what_is_structurally_zero_meets_no_infinite_factor() {
    // The square root's slope is infinite at 0, and nothing flows there.
    assert_eq!(grad(1.0, |x| grad([x, lift(0.0)], |[u, v]| u * u + v.sqrt().floor())[0]), 2.0);
    assert_eq!(jvp([1.0, 0.0], [1.0, 0.0], |[u, v]| u * u + v.sqrt().floor()).1, 2.0);
    assert_eq!(jvp(1.0, 1.0, |x| jvp(x, lift(1.0), |u| u * u + (x * 0.0).sqrt().floor()).1).1, 2.0);
}

#[test]
fn a_nested_gradient_takes_no_records_for_what_it_captures() {
    let records = |f: fn(Var) -> Var| tape_size(0.7, f).records;
    // An input each, `u * x`, and the slope by u, which is x itself.
    assert_eq!(records(|x| grad(x, |u| u * x)), 3);
    // `u * u`, its product with x and two terms of the slope by u, added.
    assert_eq!(records(|x| grad(x, |u| u * u * x)), 7);
}
