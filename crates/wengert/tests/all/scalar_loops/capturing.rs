//! What a step takes from around it.

use wengert::loops::{fori, scan};
use wengert::prelude::*;

use super::{near, panic_of};

/// One variable in the carry, captured, in a row and used before and after; another captured on one path only.
#[test]
fn the_same_variable_everywhere() {
    let f = |looped: bool, [x, y]: [Var; 2]| {
        let before = x * y;
        let rows = [x, before, x, y, y, x, before, x];
        let step = |c: [Var; 2], r: Var| {
            let sum = c[0] * x * 0.3 + r * before;
            [c[1], if sum > 0.5 { sum.sin() } else { sum + y * y }]
        };
        let last = match looped {
            true => scan([x, x], &rows, |c, r| (step(c, r), ())).0,
            false => rows.iter().fold([x, x], |c, &r| step(c, r)),
        };
        last[0] * x + last[1] * before
    };
    let point = [0.6, 0.8];
    near("captures", &grad(point, |p| f(true, p)), &grad(point, |p| f(false, p)), 1000);
    near(
        "captures, hessian",
        hessian(point, |p| f(true, p)).as_flattened(),
        hessian(point, |p| f(false, p)).as_flattened(),
        10_000,
    );
}

/// Variables of several levels in one step.
#[test]
fn variables_of_several_levels() {
    let f = |looped: bool| {
        grad(0.7, |x| {
            x * grad(x * 2.0, |y| {
                let step = |c: Var, z: Var| (c * x).sin() * y + z * c;
                let inner = |z: Var| match looped {
                    true => fori(0..20, y, |_, c| step(c, z) * 0.5),
                    false => (0..20).fold(y, |c, _| step(c, z) * 0.5),
                };
                inner(x) + jvp(y, x, inner).1
            })
        })
    };
    near("levels", &[f(true)], &[f(false)], 100_000);
}

/// A gradient at a plain point that depends on an outer variable is refused through a loop, and one that does not is not.
#[test]
fn plain_points_inside() {
    let d = grad(3.0, |x| x * grad(7.0, |y| fori(0..20, y, |_, c| c * 1.1) + x));
    near("plain", &[d], &[f64::powi(1.1, 20)], 100);
    let message = panic_of(|| {
        grad(3.0, |x| x * grad(7.0, |y| fori(0..20, y, |_, c| c * x)));
    });
    assert!(message.contains("make the point a Var with `lift`"), "{message}");
}

/// The sums over all steps of what each adds to the cotangent of a capture.
#[test]
fn captures_add_up() {
    let data: Vec<f64> = (0..1000).map(|k| f64::from(k % 17) * 0.1).collect();
    let loss = |[a, b]: [Var; 2]| scan(lift(0.0), &data, |sum, t| (sum + (a * t + b).square(), ())).0;
    let [da, db] = grad([0.5, -1.0], loss);
    let want = data.iter().fold([0.0; 2], |[da, db], t| {
        let residual = 0.5 * t - 1.0;
        [da + 2.0 * residual * t, db + 2.0 * residual]
    });
    near("sums", &[da, db], &want, 3000);
}

/// A recorded function leaves its selections on the list around it, where no result depends on them; loops beside it and around
/// it are swept all the same.
#[test]
fn recorded_functions_beside_a_loop() {
    let f = |looped: bool, x: Var| {
        let kinked = record(0.5, |y: Var| Real::select(y.less(lift(1.0)), y * y, y.sqrt()));
        let step = |c: Var| c * 0.9 + kinked.value(c * x) * 0.1;
        let y = kinked.value(x);
        let outside = match looped {
            true => fori(0..60, y, |_, c| step(c)),
            false => (0..60).fold(y, |c, _| step(c)),
        };
        let again = |c: Var| c * record(0.3, |y: Var| Real::select(y.less(lift(0.0)), -y, y.cos())).grad(c);
        let inside = match looped {
            true => fori(0..60, x, |_, c| again(c) + x),
            false => (0..60).fold(x, |c, _| again(c) + x),
        };
        outside * x + inside
    };
    for x in [0.7, 1.2] {
        let all = |looped: bool| {
            let (value, slope) = value_and_grad(x, |x| f(looped, x));
            let nested = grad(x, |x| grad(x, |x| f(looped, x)));
            [&[value, slope, nested, hessian(x, |x| f(looped, x))][..], &taylor(x, 1.0, 2, |x| f(looped, x))].concat()
        };
        near("recorded inside", &all(true), &all(false), 1_000_000);
    }
}

/// Which paths of a recorded function were found before, and in which order they were used, does not show in the steps of a loop.
#[test]
fn recorded_functions_with_branches_in_steps() {
    let branching = |x: Var| {
        if x > 1.0 {
            x.sqrt()
        } else if x > 0.1 {
            x.sin() * x
        } else if x > -50.0 {
            x.tanh()
        } else {
            x
        }
    };
    let rows: Vec<f64> = (0..24).map(|k| f64::from(k * 7 % 24 - 10) * 0.15).collect();
    let kept = record(0.5, branching).paths(1);
    let loops = |way: usize, slope: bool, a: Var| {
        let call = |x: Var| match slope {
            true => kept.grad(x),
            false => kept.value(x),
        };
        match way {
            0 => rows.iter().fold(a, |c, &x| call(c * 0.3 + x)),
            1 => scan(a, &rows, |c, x: Var| (call(c * 0.3 + x), ())).0,
            2 => fori(0..24, a, |k, c| call(c * 0.3 + (k * 7.0).sin() * 2.0)),
            3 => (0..24).fold(a, |c, k| call(c * 0.3 + (f64::from(k) * 7.0).sin() * 2.0)),
            4 => rows.iter().fold(lift(0.0), |sum, &x| sum + call(a * x)),
            _ => wengert::map(&rows, |x: Var| call(a * x)).into_iter().sum(),
        }
    };
    for (looped, stepped) in [(1, 0), (2, 3), (5, 4)] {
        for slope in [false, true] {
            for x in [0.4, -2.0, 3.0] {
                let all = |way: usize| {
                    let (value, first) = value_and_grad(x, |x| loops(way, slope, x));
                    [value, first, hessian(x, |x| loops(way, slope, x))]
                };
                near("branches of a recorded function", &all(looped), &all(stepped), 1_000_000);
            }
        }
    }
    // What loops have found is kept until another path is found outside, and then as many as was asked for.
    let before = kept.recordings();
    let _ = (kept.value(0.5), kept.value(5.0), kept.value(-5.0));
    assert_eq!(kept.recordings(), before);
    let _ = (kept.value(-60.0), kept.value(0.5), kept.value(5.0), kept.value(-5.0));
    assert_eq!(kept.recordings(), before + 4);
}
