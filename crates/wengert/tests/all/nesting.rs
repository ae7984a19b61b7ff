//! Nested derivatives: perturbation confusion, captures, higher orders by nesting.

use wengert::prelude::*;

#[test]
fn an_inner_derivative_does_not_see_the_outer_variable() {
    // d/dx (x * d/dy (x + y)) = 1, at every point of either
    assert_eq!(grad(3.0, |x| x * grad(x, |y| x + y)), 1.0);
    assert_eq!(grad(3.0, |x| x * grad(lift(7.0), |y| x + y)), 1.0);
    assert_eq!(grad(3.0, |x| x * grad(7.0, |y| x + y)), 1.0);
    // d/dx (x * d/dy (x y)) at y = x: 2x
    assert_eq!(grad(3.0, |x| x * grad(x, |y| x * y)), 6.0);
    // d/dx d/dy sin(x y) at y = x^2
    let d = grad(0.7, |x| grad(x * x, |y| (x * y).sin()));
    let x: f64 = 0.7;
    let u = x * x * x;
    assert!((d - (u.cos() - x * u.sin() * 3.0 * x * x)).abs() < 1e-14);
}

#[test]
fn third_derivatives_and_a_hessian_come_from_nesting() {
    let third = grad(0.4, |x| grad(x, |x| grad(x, |x| (x * 2.0).sin())));
    assert!((third + 8.0 * 0.8f64.cos()).abs() < 1e-13);
    let point = [0.6, -1.2];
    let f = |[x, y]: [Var; 2]| (x * y).exp() + x.powi(3) * y;
    let nested = jacobian(point, |p| grad(p, f));
    let direct = hessian(point, f);
    let over_reverse = [0, 1].map(|k| grad(point, |p| grad(p, f)[k]));
    for i in 0..2 {
        for j in 0..2 {
            assert!((nested[i][j] - direct[i][j]).abs() < 1e-13);
            assert!((over_reverse[i][j] - direct[i][j]).abs() < 1e-13);
        }
    }
}

#[test]
#[should_panic(expected = "make the point a Var with `lift`")]
fn a_plain_inner_result_that_depends_on_an_outer_variable_is_an_error() {
    grad(3.0, |x| x * grad(7.0, |y| x * y * y));
}

#[test]
#[should_panic(expected = "nesting.rs")]
fn the_error_names_the_lines() {
    grad(3.0, |x| x * value_and_grad(7.0, |y| x + y).0);
}

#[test]
#[should_panic(expected = "uses a Var whose recording has ended")]
fn a_variable_that_outlives_its_recording_is_an_error() {
    let mut leaked = lift(0.0);
    grad(3.0, |x| {
        leaked = x;
        x * x
    });
    let _ = leaked * 2.0;
}

#[test]
fn the_tape_works_after_a_panic_in_a_function() {
    let result = std::panic::catch_unwind(|| grad(3.0, |x| grad(x, |y| if y > 1.0 { panic!("user") } else { y })));
    assert!(result.is_err());
    assert_eq!(grad(3.0, |x| x * x), 6.0);
}

#[test]
fn long_nested_recordings_cross_the_blocks() {
    let chain = |x: Var, n: usize| (0..n).fold(x, |y, k| y * 0.9999 + x * (1.0 / (k + 1) as f64));
    for n in [10, 300, 511, 512, 513, 1023, 1024, 1025, 5000] {
        // linear in x: derivative independent of x
        let slope = grad(2.0, |x| chain(x, n));
        let nested = grad(2.0, |x| x * grad(x, |y| chain(y, n)) + grad(5.0, |z| chain(z, n)) * x);
        assert!((nested - 2.0 * slope).abs() < 1e-12 * slope, "{n}");
        let deep = grad(2.0, |x| {
            let before = chain(x, n);
            let inner = grad(x, |y| grad(y, |z| chain(z, n) * z) * before);
            inner * x
        });
        // before = s x; d/dy (2 s y) * before = 2 s * s x; times x: 2 s^2 x^2; derivative 4 s^2 x
        assert!((deep - 4.0 * slope * slope * 2.0).abs() < 1e-10 * deep, "{n}: {deep}");
    }
}

#[test]
fn a_nested_derivative_at_a_constant_point_keeps_its_point_when_it_is_evaluated_again() {
    // d/dy x^2 y^2 at y = 5 is 10 x^2
    let f = |[x]: [Var; 1]| grad(lift(5.0), |y| x * x * y * y);
    assert_eq!(hessian([3.0], f), [[20.0]]);
    assert_eq!(hvp([3.0], [2.0], f), [40.0]);
    let recorded = record([3.0], f);
    assert_eq!([recorded.value([3.0]), recorded.value([2.0])], [90.0, 40.0]);
    assert_eq!(recorded.value_many(&[[3.0], [2.0]]), [90.0, 40.0]);
    assert_eq!(recorded.grad([2.0]), [40.0]);
    let plain = |[x]: [Var; 1]| x * x * grad(5.0, |y| y * y * 2.0);
    assert_eq!(hessian([3.0], plain), [[40.0]]);
    assert_eq!(record([3.0], plain).hessian([2.0]), [[40.0]]);
}
