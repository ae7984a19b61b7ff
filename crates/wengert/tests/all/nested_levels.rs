//! Drivers inside of drivers over numbers, where their records lie: against drivers of second order, and what they leave behind.

use wengert::prelude::*;
use wengert::tape_size;

/// Operations of every kind, with constants of their own; `length` times, so that levels begin and end anywhere in a block.
fn long([x, y]: [Var; 2], z: Var, length: usize) -> Var {
    (0..length).fold(x * y, |c, k| {
        let turned = (c * (1.0 + k as f64 * 1e-3)).sin().atan2(y + 2.0) - z / (c * c + 1.5);
        let other = (turned.exp() + 3.0 - x.abs()).ln() * y.powi(3) + (2.0 / (y + 4.0)).sqrt().hypot(z);
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

#[test]
fn captures_and_results_that_are_none() {
    let at = |f: fn([Var; 2]) -> Var| grad([0.7, 1.3], f);
    // What is captured is a factor; d/dx of y x^y and so on, by hand.
    assert_eq!(at(|[x, y]| grad(x, |u| u * u * y)), [2.6, 1.4]);
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
