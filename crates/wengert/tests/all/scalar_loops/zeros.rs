//! No steps, few steps, and what is structurally zero: an infinite derivative that nobody asked for makes no NaN.

use wengert::loops::{Loops, fori, scan, while_loop};
use wengert::prelude::*;

use super::{FUNCTIONS, Run, near};

#[test]
fn no_steps() {
    assert_eq!(value_and_grad(2.0, |x| fori(0..0, x, |_, c| c * c)), (2.0, 1.0));
    assert_eq!(value_and_grad(2.0, |x| fori(std::ops::Range { start: 5, end: -5 }, x * x, |_, c| c * c)), (4.0, 4.0));
    assert_eq!(value_and_grad(2.0, |x| while_loop(x, |c| c < 0.0, |c| c * c)), (2.0, 1.0));
    let (value, slope) = value_and_grad(2.0, |x| {
        let none: [f64; 0] = [];
        let (c, given) = scan(x, &none, |c, r| (c * r, c));
        assert!(given.is_empty());
        c * x
    });
    assert_eq!((value, slope), (4.0, 4.0));
    assert_eq!(grad([2.0, 3.0], |[x, _]| fori(0..100, x, |_, c| c)), [1.0, 0.0]);
}

/// Every number of steps around that at which a block begins, and at which code is made.
#[test]
fn every_number_of_steps() {
    for count in (0..12).chain([31, 32, 33, 34, 35, 36, 37, 38, 39, 69, 70, 71]) {
        let f =
            |run: Run, [x, y]: [Var; 2]| run.fori(count, x, |i, c| if c > y { c * 0.5 + i * 0.01 } else { c + x * y });
        let want = value_and_grad([0.4, 0.7], |p| f(Run::Plain, p));
        for run in Run::loops() {
            let got = value_and_grad([0.4, 0.7], |p| f(run, p));
            assert_eq!(got.0, want.0, "{count} steps");
            near(&format!("{count} steps, {run:?}"), &got.1, &want.1, 1000);
        }
    }
}

/// The derivative of a step is infinite where no cotangent comes to it, or no tangent.
#[test]
fn infinite_derivatives_that_are_not_asked_for() {
    // The root of a carry that stays 0 is carried along and not used.
    let unused = |x: Var| fori(0..50, (x, lift(0.0) * x), |_, (a, b)| (a * 0.9, b.sqrt() * a)).0;
    assert!((grad(2.0, unused) - f64::powi(0.9, 50)).abs() < 1e-15);
    // The last step alone has it in its result.
    let ends = |x: Var| {
        let (_, given) = scan([x, x - x], &[1.0; 40], |[a, b], r| ([a * 0.5 + b * r, b], b.sqrt()));
        given[3] * 0.0 + x
    };
    assert!(grad(2.0, ends).is_nan(), "zero times infinity is NaN where it is asked for");
    let not_asked = |x: Var| {
        let ([a, _], given) = scan([x, x - x], &[1.0; 40], |[a, b], r| ([a * 0.5 + r, b], b.sqrt()));
        assert_eq!(given[3], 0.0);
        a
    };
    assert_eq!(grad(2.0, not_asked), f64::powi(0.5, 40));
    let forward = |x: Var| fori(0..50, (x, lift(0.0)), |_, (a, b)| (a * 0.9, b.sqrt())).0;
    for f in [&forward as &dyn Fn(Var) -> Var, &unused] {
        let (_, slope) = jvp(2.0, 1.0, f);
        assert!(slope.is_finite(), "{slope}");
    }
    let constant_root = |x: Var| fori(0..50, (lift(0.0), x), |_, (a, b)| (a.sqrt(), b * 0.5 + a));
    assert_eq!(jvp(2.0, 1.0, |x| constant_root(x).1).1, f64::powi(0.5, 50));
    assert_eq!(grad(2.0, |x| constant_root(x).1), f64::powi(0.5, 50));
    let nested = grad(2.0, |x| grad(x, |x| constant_root(x).1) * x + jvp(x, lift(1.0), |x| constant_root(x).1).1);
    assert_eq!(nested, f64::powi(0.5, 50));
}

/// The branch of a selection that is not taken.
#[test]
fn selections_mask_what_is_not_taken() {
    let f = |run: Run, x: Var| {
        run.fori(40, x, |_, c| {
            // The root has an infinite derivative, which is multiplied by zero.
            let positive = Real::less(lift(0.5), c);
            Real::select(positive, c * 0.99, (c - c).sqrt())
        })
    };
    let want = value_and_grad(0.9, |x| f(Run::Plain, x));
    let got = value_and_grad(0.9, |x| f(Run::Loop(Loops::new()), x));
    assert_eq!(got, want);
}

/// At many points: the paths of one call are not those of another.
#[test]
fn points_do_not_know_each_other() {
    for (name, f) in FUNCTIONS {
        for k in 0..20 {
            let point = [0.1 + 0.07 * f64::from(k), 1.4 - 0.06 * f64::from(k)];
            let want = value_and_grad(point, |p| f(Run::Plain, p));
            let got = value_and_grad(point, |p| f(Run::loops()[0], p));
            assert_eq!(got.0, want.0, "{name} at {point:?}");
            near(name, &got.1, &want.1, 100_000);
        }
    }
}
