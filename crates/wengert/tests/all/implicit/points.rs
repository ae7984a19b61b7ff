//! `root`, `fixed_point` and `minimise`: closed forms, derivatives in every mode, points found by other means.

use wengert::prelude::*;
use wengert::{FixedPoint, LinearSolve, Minimise, Root, fixed_point, linear_solve, minimise, root};

use super::{check_derivatives, near, numbers};

fn tight() -> LinearSolve {
    LinearSolve::new().tolerance(1e-13)
}

#[test]
fn keplers_equation_has_its_closed_derivatives() {
    let anomaly = |m: &Tensor, e: &Tensor| root(m, |x| &x - e * x.sin() - m);
    let (m, e) = (Tensor::from(0.8), Tensor::from(0.3));
    let x = anomaly(&m, &e).item();
    assert!((x - 0.3 * x.sin() - 0.8).abs() < 1e-15);
    let rate = 1.0 / (1.0 - 0.3 * x.cos());
    let (by_m, by_e) = grad((&m, &e), |(m, e)| anomaly(&m, &e));
    assert!((by_m.item() - rate).abs() < 1e-12 && (by_e.item() - x.sin() * rate).abs() < 1e-12);
    let second = grad(&m, |m| grad(&m, |m| anomaly(&m, &e))).item();
    assert!((second - -0.3 * x.sin() * rate.powi(3)).abs() < 1e-11);
    let third = grad(&m, |m| grad(&m, |m| grad(&m, |m| anomaly(&m, &e)))).item();
    let (s, c) = (0.3 * x.sin(), 0.3 * x.cos());
    assert!((third - (3.0 * s * s * rate.powi(5) - c * rate.powi(4))).abs() < 1e-10);
}

#[test]
fn derivatives_agree_three_ways_and_in_two_orders() {
    let w = numbers(1, &[3]);
    let by = Root::new().linear(tight());
    check_derivatives("root", &w, |w| by.run(&Tensor::zeros(&[3]), |x| &x * 2.0 + (w * x.roll(1, 0)).sin() - w.exp()));
    check_derivatives("root, whose start varies", &w, |w| by.run(w, |x| &x * 2.0 + x.sin() - w.exp()));
    let tree = |w: &Tensor| {
        let (x, y) = by.run((w, &w.sum()), |(x, y)| (&x + &y * w - x.square().sum() * 0.1, &y * 3.0 - x.sum() - 1.0));
        x * y
    };
    check_derivatives("root of a tree", &w, tree);
    let fixed = FixedPoint::new().linear(tight()).tolerance(1e-13);
    check_derivatives("fixed point", &w, |w| fixed.run(&Tensor::zeros(&[3]), |x| (w * x.roll(1, 0)).cos() * 0.4 + w));
    let lowest = Minimise::new().linear(tight().conjugate_gradients());
    check_derivatives("minimise", &w, |w| {
        lowest.run(&Tensor::zeros(&[3]), |x| (&x - w).square().sum() + (&x * x.roll(1, 0)).cos().sum() * 0.3)
    });
}

#[test]
fn ridge_regression_has_the_solution_of_its_normal_equations() {
    let (a, y) = (numbers(2, &[8, 3]), numbers(3, &[8]));
    let fit =
        |p: &Tensor| minimise(&Tensor::zeros(&[3]), |w| (a.matmul(&w) - &y).square().sum() + p * w.square().sum());
    let normal = |p: &Tensor| {
        let right = a.t().matmul(&y);
        LinearSolve::new().conjugate_gradients().tolerance(1e-14).run(right, |w| a.t().matmul(&a.matmul(&w)) + p * w)
    };
    let p = Tensor::from(0.3);
    near("weights", &fit(&p), &normal(&p), 1e-10);
    let one = Tensor::from(1.0);
    near("path", &jvp(&p, &one, |p| fit(&p)).1, &jvp(&p, &one, |p| normal(&p)).1, 1e-9);
    let (slope, wanted) = (hvp(&p, &one, |p| fit(&p).square().sum()), hvp(&p, &one, |p| normal(&p).square().sum()));
    near("second", &slope, &wanted, 1e-8);
}

#[test]
fn the_lowest_point_of_a_bent_valley_is_found() {
    let rosenbrock = |x: &Tensor, a: &Tensor| {
        let (first, second) = (x.slice(0), x.slice(1));
        (a - &first).square() + (&second - first.square()).square() * 100.0
    };
    let lowest = |a: &Tensor| minimise(&Tensor::from([-1.2, 1.0]), |x| rosenbrock(&x, a));
    let a = Tensor::from(1.0);
    near("point", &lowest(&a), &Tensor::from([1.0, 1.0]), 1e-10);
    // The lowest point is (a, a^2).
    near("derivative", &jvp(&a, &Tensor::from(1.0), |a| lowest(&a)).1, &Tensor::from([1.0, 2.0]), 1e-8);
}

#[test]
fn a_point_found_by_other_means_has_the_derivative_of_its_equation() {
    let a = Tensor::from(2.0);
    let x = Tensor::from(2f64.sqrt());
    let by_root = |a: &Tensor| Root::new().at(&x, |x| x.square() - a);
    assert_eq!(by_root(&a).item(), 2f64.sqrt());
    let slope = grad(&a, |a| by_root(&a)).item();
    assert!((slope - 0.5 / 2f64.sqrt()).abs() < 1e-12);
    // The way on which the point was computed does not count, be it right or wrong.
    let twice = |a: &Tensor| Root::new().at(&(&x + (a - 2.0) * 5.0), |x| x.square() - a);
    assert!((grad(&a, |a| twice(&a)).item() - 0.5 / 2f64.sqrt()).abs() < 1e-12);
    let by_fixed = |a: &Tensor| FixedPoint::new().at(&x, |x| (&x + a / &x) * 0.5);
    assert!((grad(&a, |a| by_fixed(&a)).item() - 0.5 / 2f64.sqrt()).abs() < 1e-9);
    let by_minimum = |a: &Tensor| Minimise::new().at(&x, |x| x.powi(3) / 3.0 - a * &x);
    assert!((grad(&a, |a| by_minimum(&a)).item() - 0.5 / 2f64.sqrt()).abs() < 1e-12);
    let second = grad(&a, |a| grad(&a, |a| by_root(&a))).item();
    assert!((second - -0.25 * 2f64.powf(-1.5)).abs() < 1e-11);
}

#[test]
fn the_start_has_no_derivative_and_no_share_in_it() {
    let x0 = Tensor::from([1.0, 2.0]);
    let g = grad(&x0, |x0| root(&x0, |x| x.square() - 2.0).sum());
    assert_eq!(g.to_vec(), [0.0, 0.0]);
    // Where the start depends on what the equation depends on, only the equation counts.
    let a = Tensor::from(3.0);
    let slope = grad(&a, |a| root(&(&a * &a), |x| x.square() - &a)).item();
    assert!((slope - 0.5 / 3f64.sqrt()).abs() < 1e-12);
}

#[test]
fn an_infinite_slope_of_what_is_not_differentiated_is_not_seen() {
    // The square root of 0 has an infinite slope along b, and a none.
    let b = Tensor::from(0.0);
    let found = |a: &Tensor| root(&Tensor::from(1.0), |x| x.square() - a - b.sqrt());
    let a = Tensor::from(4.0);
    let (_, tangent) = jvp(&a, &Tensor::from(1.0), |a| found(&a));
    assert!((tangent.item() - 0.25).abs() < 1e-12);
    assert!((grad(&a, |a| found(&a)).item() - 0.25).abs() < 1e-12);
}

#[test]
fn every_example_has_a_root_of_its_own() {
    let a = Tensor::from([2.0, 50.0, 3e4, 0.01]);
    let of = |a: &Tensor| root(&Tensor::from(1.0), |x| x.powi(3) - a);
    let cubes: Vec<f64> = a.to_vec().iter().map(|a| a.cbrt()).collect();
    near("roots", &vmap(&a, |a| of(&a)), &Tensor::from(cubes.clone()), 1e-9);
    let slopes: Vec<f64> = cubes.iter().map(|x| 1.0 / (3.0 * x * x)).collect();
    near("inside", &vmap(&a, |a| grad(&a, |a| of(&a))), &Tensor::from(slopes.clone()), 1e-9);
    near("around", &grad(&a, |a| vmap(&a, |a| of(&a)).sum()), &Tensor::from(slopes), 1e-9);
    let points = vmap(&a, |a| fixed_point(&Tensor::from(0.0), |x| (x + &a).cos() * 0.5));
    for (x, a) in points.to_vec().iter().zip(a.to_vec()) {
        assert!((x - 0.5 * (x + a).cos()).abs() < 1e-9);
    }
    let lowest = |a: &Tensor| minimise(&Tensor::from([0.0, 0.0]), |x| (&x - a).square().sum() + x.sum().square());
    near("lowest", &vmap(&a, |a| lowest(&a)).slice(1), &lowest(&a.slice(1)), 1e-8);
}

#[test]
fn an_example_that_takes_another_branch_has_no_root_to_find() {
    // x^2 = a has none where a is negative.
    let a = Tensor::from([4.0, -1.0, 9.0]);
    let chosen = |a: &Tensor| cond(&a.gt(0.0), a, |a| root(&Tensor::from(1.0), |x| x.square() - &a), |a| a * 5.0);
    near("values", &vmap(&a, |a| chosen(&a)), &Tensor::from([2.0, -5.0, 3.0]), 1e-9);
    let want = Tensor::from([0.25, 5.0, 1.0 / 6.0]);
    near("inside", &vmap(&a, |a| grad(&a, |a| chosen(&a))), &want, 1e-9);
    near("around", &grad(&a, |a| vmap(&a, |a| chosen(&a)).sum()), &want, 1e-9);
    let nested = grad(&a, |a| vmap(&a, |a| grad(&a, |a| chosen(&a))).sum());
    near("second", &nested, &Tensor::from([-1.0 / 32.0, 0.0, -1.0 / 108.0]), 1e-9);
}

#[test]
fn points_stand_inside_of_each_other_and_of_loops() {
    let w = numbers(4, &[2]);
    let by = Root::new().linear(tight());
    let implicit_euler = |w: &Tensor| fori(0..3, w.cos(), |_, u| by.run(&u, |x| &x - &u + (x.powi(3) + w * &x) * 0.1));
    check_derivatives("a root in a loop", &w, implicit_euler);
    let nested = |w: &Tensor| {
        by.run(&Tensor::zeros(&[2]), |x| {
            let inner = by.run(&Tensor::zeros(&[2]), |y| &y * 2.0 + y.sin() - &x);
            inner + &x * 0.5 - w
        })
    };
    check_derivatives("a root in a root", &w, nested);
    // An inner minimum as a function of the outer point: bilevel optimisation.
    let inner =
        |p: &Tensor| minimise(&Tensor::zeros(&[2]), |x| (&x - w.sin()).square().sum() + p.exp() * x.square().sum());
    let outer = minimise(&Tensor::from(0.0), |p| (inner(&p) - w.sin() * 0.4).square().sum());
    // x = sin w / (1 + e^p), which is 0.4 sin w at e^p = 1.5
    assert!((outer.item() - 1.5f64.ln()).abs() < 1e-7, "{}", outer.item());
    let solved = |w: &Tensor| by.run(w, |x| &x * 2.0 + linear_solve(&x, |y| &y * 3.0 + y.roll(1, 0)) - w.exp());
    check_derivatives("a system in a root", &w, |w| {
        let _ = solved;
        by.run(w, |x| &x * 2.0 + tight().run(&x, |y| &y * 3.0 + y.roll(1, 0)) - w.exp())
    });
}

#[test]
fn both_precisions_are_solved_as_far_as_they_go() {
    let x = root(Tensor::from([1.0, 1.0]).to_f32(), |x| x.square() - 2.0);
    near("root", &x.to_f64(), &Tensor::from([2f64.sqrt(); 2]), 1e-6);
    let x = minimise(Tensor::from([1.0, 1.0]).to_f32(), |x| (&x - 2.0).square().sum());
    near("minimum", &x.to_f64(), &Tensor::from([2.0; 2]), 1e-6);
}

#[test]
fn a_status_says_that_the_derivative_is_whole() {
    let a = Tensor::from(3.0);
    let connected = wengert::Grad::of(|a: Tensor| root(&a, |x| x.square() - &a)).status(&a);
    assert_eq!(connected, wengert::Status::Connected);
    let start = wengert::Grad::of(|a: Tensor| root(&a, |x| x.square() - 2.0)).status(&a);
    assert_eq!(start, wengert::Status::Zero);
    let cut = wengert::Grad::of(|a: Tensor| root(&Tensor::from(1.0), |x| x.square() - a.detach())).status(&a);
    assert!(matches!(cut, wengert::Status::Severed(_)), "{cut:?}");
}

#[test]
fn small_fixed_points_are_found_to_their_own_digits() {
    for size in [1e-12, 1e-30, 1.0, 1e3] {
        // x / size = cos(a x / size), from nothing on.
        let point = |a: &Tensor| fixed_point(&Tensor::from(0.0), |x| (a * (x / size)).cos() * size);
        let (x, slope) = value_and_grad(&Tensor::from(1.0), |a| point(&a) / size);
        let x = x.item();
        assert!((x - x.cos()).abs() < 1e-9, "{size}: {x}");
        near("slope", &slope, &Tensor::from(-x * x.sin() / (1.0 + x.sin())), 1e-9);
    }
    // What goes to 0 is 0 within the tolerance, and takes no further steps.
    let point = FixedPoint::new().limit(300).run(&Tensor::from(1.0), |x| x * 0.9);
    assert!(point.item() < 1e-9, "{point:?}");
    assert_eq!(FixedPoint::new().limit(0).run(&Tensor::from(0.0), |x| x * 0.9).item(), 0.0);
}

/// A tolerance knows no units: a current of 1e-11 is within it at once.
#[test]
fn points_of_small_equations_are_found_to_their_own_digits() {
    let voltage = |i: &Tensor| root(Tensor::from(0.5), |v| ((v / 0.025).exp() - 1.0) * 1e-14 - i);
    let (v, slope) = value_and_grad(&Tensor::from(1e-11), |i| voltage(&i));
    assert!((v.item() / (0.025 * 1001f64.ln()) - 1.0).abs() < 1e-12, "{v:?}");
    assert!((slope.item() / (0.025 / 1.001e-11) - 1.0).abs() < 1e-10, "{slope:?}");
    for size in [3e-11, 1e-30, 1.0] {
        let target = Tensor::from([1.0, -2.0]) * size;
        let found = |t: &Tensor| {
            minimise(&Tensor::zeros(&[2]), |x| {
                (x.slice(0) - t.slice(0)).square() + (x.slice(1) - t.slice(1)).square() * 3.0
            })
        };
        near("minimum", &(found(&target) / size), &Tensor::from([1.0, -2.0]), 1e-9);
    }
    // Steps that overshoot, or that the search has to shorten, on the way.
    for unit in [1.0, 1e-11, 1e-15, 1e-40] {
        let solved = |start: f64, level: f64, f: fn(Tensor) -> Tensor| {
            let a = Tensor::from(level);
            let (x, slope) = value_and_grad(&a, |a| root(Tensor::from(start), |x| (f(x) - &a) * unit));
            (x.item(), slope.item())
        };
        type Case = ([f64; 2], fn(Tensor) -> Tensor, [f64; 2]);
        let cases: [Case; 4] = [
            ([-5.0, 0.5], |x| x.exp(), [0.5f64.ln(), 2.0]),
            ([2.0, 0.5], |x| x.tanh(), [0.5f64.atanh(), 4.0 / 3.0]),
            ([0.1, 2.0], |x| x.powi(3), [2f64.cbrt(), 1.0 / (3.0 * 2f64.cbrt().powi(2))]),
            ([30.0, 0.5], |x| x.atan(), [0.5f64.tan(), 1.0 + 0.5f64.tan().powi(2)]),
        ];
        for ([start, level], f, [x, slope]) in cases {
            let (found, by) = solved(start, level, f);
            assert!((found - x).abs() < 1e-10 && (by - slope).abs() < 1e-9, "{unit}, from {start}: {found}, {by}");
        }
        let valley = |x: Tensor| {
            let (x, y) = (x.slice(0), x.slice(1));
            ((1.0 - &x).square() + (y - x.square()).square() * 100.0) * unit
        };
        near("valley", &minimise(&Tensor::from([-1.2, 1.0]), valley), &Tensor::from([1.0, 1.0]), 1e-6);
    }
    // A double root is come near to as far as steps go.
    let double = root(Tensor::from(1.0), |x| (x - 3.0).square());
    assert!((double.item() - 3.0).abs() < 1e-10, "{double:?}");
}

/// Nothing is to be found of an empty leaf, beside others and alone.
#[test]
fn empty_leaves_are_found_at_once() {
    let empty = || Tensor::zeros(&[0]);
    let c = Tensor::from(2.0);
    let by_root = |c: Tensor| root((empty(), Tensor::from(1.0)), |(a, b)| (a, b.square() - &c)).1;
    near("a root", &by_root(c.clone()), &c.sqrt(), 1e-12);
    near("its slope", &grad(&c, by_root), &(0.5 / c.sqrt()), 1e-12);
    let by_point = |c: &Tensor| fixed_point((Tensor::from(1.0), empty()), |(b, a)| (0.5 * (&b + c / &b), a)).0;
    near("a fixed point", &by_point(&c), &c.sqrt(), 1e-9);
    let by_least = |c: Tensor| minimise((empty(), Tensor::from(1.0)), |(a, b)| (b - &c).square() + a.sum()).1;
    near("a minimum", &by_least(c.clone()), &c, 1e-6);
    near("its slope", &grad(&c, by_least), &Tensor::from(1.0), 1e-9);
    assert_eq!(root(empty(), |x| x * 2.0).shape(), [0]);
    assert_eq!(fixed_point(empty(), |x| x * 0.5).shape(), [0]);
    assert_eq!(minimise(empty(), |x| x.square().sum()).shape(), [0]);
}
