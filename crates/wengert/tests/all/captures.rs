//! Captured outer values, at every depth of nesting and in every driver.
//!
//! The inner function is `F(y) = c y0² y1 + sin(c y1)`, where `c` is captured: a plain number or a
//! variable of an outer driver. Every driver's result is combined to one number, whose closed form
//! is written down once; the derivatives of the closed form by `c` are those of nested duals.

use std::panic::{AssertUnwindSafe, catch_unwind};

use wengert::prelude::*;
use wengert::vjp;

/// The inner function.
fn inner([y0, y1]: [Var; 2], c: Var) -> Var {
    y0 * y0 * y1 * c + (c * y1).sin()
}

/// The value, the two first and the three second derivatives of the inner function.
fn closed_form<R: Real>([y0, y1]: [R; 2], c: R) -> [R; 6] {
    let angle = c * y1;
    [
        c * y0 * y0 * y1 + angle.sin(),
        c * y0 * y1 * 2.0,
        c * y0 * y0 + c * angle.cos(),
        c * y1 * 2.0,
        c * y0 * 2.0,
        -(c * c * angle.sin()),
    ]
}

const DRIVERS: [&str; 19] = [
    "value_and_grad",
    "grad",
    "value_and_grad_aux",
    "jvp",
    "vjp",
    "jacobian backward",
    "jacobian forward",
    "hessian",
    "hvp",
    "taylor",
    "record: value",
    "record: grad",
    "record: value_and_grad",
    "record: jvp",
    "record: vjp",
    "record: jacobian",
    "record: hessian",
    "record: hvp",
    "record: try_grad",
];

/// The closed form of what [`combined_at_numbers`] and [`combined_at_vars`] give for a driver.
fn expected<R: Real>(driver: &str, y: [R; 2], c: R) -> R {
    let [f, f0, f1, f00, f01, f11] = closed_form(y, c);
    match driver {
        "value_and_grad" | "record: value_and_grad" => f + f0 * 2.0 + f1 * 3.0,
        "grad" | "record: grad" | "record: try_grad" => f0 * 2.0 + f1 * 3.0,
        // the further result is c y0
        "value_and_grad_aux" => f + c * y[0] * 5.0 + f0 * 2.0 + f1 * 3.0,
        "jvp" | "record: jvp" => f + (f0 * 0.5 - f1) * 2.0,
        // results F and c F, cotangent (2, 1)
        "vjp" | "record: vjp" => (f0 * 2.0 + f1 * 3.0) * (c + 2.0),
        "jacobian backward" | "jacobian forward" | "record: jacobian" => f0 * 2.0 + f1 * 3.0 + c * f1,
        "hessian" | "record: hessian" => f00 + f01 * 5.0 + f11 * 3.0,
        "hvp" | "record: hvp" => (f00 * 0.5 - f01) * 2.0 + (f01 * 0.5 - f11) * 3.0,
        // half the second derivative along (0.5, -1), and the first
        "taylor" => (f00 * 0.25 - f01 + f11) * 0.5 * 2.0 + (f0 * 0.5 - f1),
        "record: value" => f,
        other => panic!("no driver {other}"),
    }
}

/// Runs a driver at a point of `$scalar` and combines its results; `$at` makes a number one.
macro_rules! combined {
    ($name:ident, $scalar:ty, $at:expr) => {
        fn $name(driver: &str, y: [$scalar; 2], c: Var) -> $scalar {
            let at = $at;
            let f = |y: [Var; 2]| inner(y, c);
            let both = |y: [Var; 2]| [inner(y, c), inner(y, c) * c];
            let tangent = [at(0.5), at(-1.0)];
            let weigh = |g: [$scalar; 2]| g[0] * 2.0 + g[1] * 3.0;
            let second = |h: [[$scalar; 2]; 2]| h[0][0] + h[0][1] * 2.0 + h[1][0] * 3.0 + h[1][1] * 3.0;
            // recorded at another point
            let recorded = || record([0.7, -0.2], f);
            match driver {
                "value_and_grad" => {
                    let (value, gradient) = value_and_grad(y, f);
                    value + weigh(gradient)
                }
                "grad" => weigh(grad(y, f)),
                "value_and_grad_aux" => {
                    let (value, further, gradient) = value_and_grad_aux(y, |y| (f(y), c * y[0]));
                    value + further * 5.0 + weigh(gradient)
                }
                "jvp" => {
                    let (value, tangent) = jvp(y, tangent, f);
                    value + tangent * 2.0
                }
                "vjp" => weigh(vjp(y, both).1.pull([at(2.0), at(1.0)])),
                "jacobian backward" => {
                    let [of_f] = jacobian(y, |y| [f(y)]);
                    let [of_product] = jacobian(y, |y| [f(y) * c]);
                    weigh(of_f) + of_product[1]
                }
                "jacobian forward" => {
                    let [of_f, of_product, _] = jacobian(y, |y| [f(y), f(y) * c, y[0]]);
                    weigh(of_f) + of_product[1]
                }
                "hessian" => second(hessian(y, f)),
                "hvp" => weigh(hvp(y, tangent, f)),
                "taylor" => {
                    let series = taylor(y, tangent, 2, f);
                    series[2] * 2.0 + series[1]
                }
                "record: value" => recorded().value(y),
                "record: grad" => weigh(recorded().grad(y)),
                "record: try_grad" => weigh(recorded().strict().try_grad(y).expect("no guards")),
                "record: value_and_grad" => {
                    let (value, gradient) = recorded().value_and_grad(y);
                    value + weigh(gradient)
                }
                "record: jvp" => {
                    let (value, tangent) = recorded().jvp(y, tangent);
                    value + tangent * 2.0
                }
                "record: vjp" => weigh(record([0.7, -0.2], both).vjp(y, [at(2.0), at(1.0)])),
                "record: jacobian" => {
                    let [of_f, of_product] = record([0.7, -0.2], both).jacobian(y);
                    weigh(of_f) + of_product[1]
                }
                "record: hessian" => second(recorded().hessian(y)),
                "record: hvp" => weigh(recorded().hvp(y, tangent)),
                other => panic!("no driver {other}"),
            }
        }
    };
}
combined!(combined_at_numbers, f64, |number: f64| number);
combined!(combined_at_vars, Var, lift);

#[track_caller]
fn close(what: &str, got: f64, expected: f64) {
    assert!((got - expected).abs() <= 1e-13 * expected.abs().max(1.0), "{what}: {got}, expected {expected}");
}

const Y: [f64; 2] = [0.6, 1.3];
const C: f64 = 0.8;

#[test]
fn depth_one_with_a_captured_number() {
    for driver in DRIVERS {
        close(driver, combined_at_numbers(driver, Y, lift(C)), expected(driver, Y, C));
    }
}

#[test]
fn depth_two_with_a_captured_number() {
    for driver in DRIVERS {
        // the point depends on the outer variable, the captured value does not
        let got = grad(1.5, |a| combined_at_vars(driver, [a * 0.4, a * a], lift(C)));
        let a = Dual::variable(1.5);
        close(driver, got, expected(driver, [a * 0.4, a * a], Dual::constant(C)).tangent());
        // nothing depends on it: a plain point is allowed
        let plain = grad(1.5, |a| a * combined_at_numbers(driver, Y, lift(C)));
        close(driver, plain, expected(driver, Y, C));
    }
}

#[test]
fn depth_two_with_a_captured_variable() {
    for driver in DRIVERS {
        let y = Y.map(Dual::constant);
        let got = grad(C, |c| combined_at_vars(driver, Y.map(lift), c));
        close(driver, got, expected(driver, y, Dual::variable(C)).tangent());
        // captured value and point depend on it
        let got = grad(C, |c| combined_at_vars(driver, [c * c, c.exp()], c * 2.0));
        let c = Dual::variable(C);
        close(driver, got, expected(driver, [c * c, c.exp()], c * 2.0).tangent());
        // second order from outside
        let got = hessian(C, |c| combined_at_vars(driver, Y.map(lift), c));
        let c = Dual::new(Dual::variable(C), Dual::constant(1.0));
        close(driver, got, expected(driver, Y.map(Dual::constant), c).tangent().tangent());
        // forward and by a recording from outside
        let got = jvp(C, 1.0, |c| combined_at_vars(driver, Y.map(lift), c)).1;
        close(driver, got, expected(driver, y, Dual::variable(C)).tangent());
        let recorded = record(0.3, |c| combined_at_vars(driver, Y.map(lift), c));
        close(driver, recorded.grad(C), expected(driver, y, Dual::variable(C)).tangent());
    }
}

/// `d/da (d/db G(a, b)) at b = B`, by two drivers around the one under test.
fn twice(g: impl Fn(Var, Var) -> Var) -> f64 {
    grad(A, |a| grad(lift(B), |b| g(a, b)) * a)
}

const A: f64 = 0.9;
const B: f64 = 1.2;

/// The same of a closed form, by duals in duals.
fn twice_expected(g: impl Fn(Dual<Dual>, Dual<Dual>) -> Dual<Dual>) -> f64 {
    let a = Dual::variable(A);
    let by_b = g(Dual::lift(a), Dual::variable(Dual::constant(B))).tangent();
    (by_b * a).tangent()
}

#[test]
fn depth_three_with_values_of_every_level() {
    for driver in DRIVERS {
        let y = Y.map(Dual::constant);
        // captured: a number, the outermost variable, the one in between, and both
        let got = twice(|_, b| combined_at_vars(driver, [b, b * 0.5], lift(C)) * b);
        let want = twice_expected(|_, b| expected(driver, [b, b * 0.5], Dual::constant(C)) * b);
        close(driver, got, want);
        let got = twice(|a, b| combined_at_vars(driver, Y.map(lift), a) * b);
        let want = twice_expected(|a, b| expected(driver, y, a) * b);
        close(driver, got, want);
        let got = twice(|a, b| combined_at_vars(driver, Y.map(lift), b) * b * a);
        let want = twice_expected(|a, b| expected(driver, y, b) * b * a);
        close(driver, got, want);
        let got = twice(|a, b| combined_at_vars(driver, [a, b], a * b));
        let want = twice_expected(|a, b| expected(driver, [a, b], a * b));
        close(driver, got, want);
        // the plain result of a function that captures nothing
        let got = twice(|a, b| a * b * combined_at_numbers(driver, Y, lift(C)));
        close(driver, got, 2.0 * A * expected(driver, Y, C));
    }
}

#[test]
fn a_recording_made_outside_is_used_at_every_depth() {
    let f = record([0.7, -0.2], |y| inner(y, lift(C)));
    let closed = |y: [Dual<Dual>; 2]| closed_form(y, Dual::constant(C));
    let got = twice(|a, b| f.value([a, b]) + f.grad([a * b, b])[1] + f.hessian([b, a])[0][0] * b);
    let want = twice_expected(|a, b| closed([a, b])[0] + closed([a * b, b])[2] + closed([b, a])[3] * b);
    close("record outside", got, want);
    assert_eq!(f.recordings(), 1);
}

// ---- what would be silently constant ------------------------------------------------------------

fn message<R>(run: impl FnOnce() -> R) -> Option<String> {
    let panic = catch_unwind(AssertUnwindSafe(run)).err()?;
    Some(*panic.downcast::<String>().expect("a message with the lines"))
}

#[test]
fn a_plain_result_that_depends_on_an_outer_variable_names_both_lines() {
    for driver in DRIVERS {
        let outer = line!() + 1;
        let text = message(|| grad(C, |c| c * combined_at_numbers(driver, Y, c)))
            .unwrap_or_else(|| panic!("{driver}: the result is silently constant"));
        assert_eq!(text.matches("captures.rs:").count(), 2, "{driver}: {text}");
        assert!(text.contains(&format!("captures.rs:{outer}:")), "{driver}: {text}");
        assert!(text.contains("lift"), "{driver}: {text}");
    }
    // the innermost of three, capturing the outermost
    let text = message(|| twice(|a, b| b * combined_at_numbers("grad", Y, a))).expect("silently constant");
    assert_eq!(text.matches("captures.rs:").count(), 2, "{text}");
    // the tape is in order afterwards
    assert_eq!(grad(3.0, |x| x * grad(x, |y| x * y)), 6.0);
}

/// What the drivers of many points give for the inner function at ten points, more than are evaluated together, as one
/// number.
const MANY: [&str; 4] = ["value_many", "grad_many", "value_and_grad_many", "for_each_grad"];

fn combined_at_many(driver: &str, c: Var) -> f64 {
    let points: Vec<[f64; 2]> = (0..10).map(|k| [Y[0] + 0.1 * f64::from(k), Y[1]]).collect();
    let recorded = record([0.7, -0.2], |y| inner(y, c));
    match driver {
        "value_many" => recorded.value_many(&points).iter().sum(),
        "grad_many" => recorded.grad_many(&points).iter().map(|[first, second]| first + second).sum(),
        "value_and_grad_many" => recorded.value_and_grad_many(&points).iter().map(|(value, g)| value + g[0]).sum(),
        _ => {
            let mut sum = 0.0;
            recorded.for_each_grad(&points, |_, value, g| sum += value + g[1]);
            sum
        }
    }
}

#[test]
fn many_points_of_a_recording_that_captures_an_outer_variable_name_both_lines() {
    for driver in MANY {
        let outer = line!() + 1;
        let text = message(|| grad(C, |c| c * combined_at_many(driver, c)))
            .unwrap_or_else(|| panic!("{driver}: the numbers are silently constant"));
        assert_eq!(text.matches("captures.rs:").count(), 2, "{driver}: {text}");
        assert!(text.contains(&format!("captures.rs:{outer}:")), "{driver}: {text}");
        // A variable of a recording that is not differentiated in between, and a capture that is a number.
        assert!(message(|| twice(|a, b| b * combined_at_many(driver, a))).is_some(), "{driver}: silently constant");
        close(driver, grad(C, |c| c * combined_at_many(driver, lift(C))), combined_at_many(driver, lift(C)));
    }
    // What is asked for does not depend on the variable, or nothing does.
    assert_eq!(grad(2.0, |c| c * record(1.0, |y| y * y + c).grad_many(&[3.0, 4.0])[1]), 8.0);
    assert_eq!(grad(2.0, |c| c * record(1.0, |y| y * y + c.floor()).value_many(&[3.0])[0]), 11.0);
}

#[test]
fn only_what_is_asked_for_must_not_depend() {
    // the gradient of y² + c does not depend on c, nor do the second derivatives of y² + c y
    assert_eq!(grad(2.0, |c| c * grad(3.0, |y| y * y + c)), 6.0);
    assert_eq!(grad(2.0, |c| c * hvp(3.0, 1.0, |y| y * y + y * c)), 2.0);
    assert_eq!(grad(2.0, |c| c * hessian(3.0, |y| y * y + y * c)), 2.0);
    assert_eq!(grad(2.0, |c| c * hessian([3.0, 1.0], |[x, y]| x * y + (x - y) / c)[0][1]), 1.0);
    assert!(message(|| grad(2.0, |c| c * hessian([3.0, 1.0], |[x, y]| x * y * c)[0][1])).is_some());
    assert_eq!(grad(2.0, |c| c * jacobian(3.0, |y| [y * y + c])[0]), 6.0);
    assert_eq!(grad(2.0, |c| c * record(1.0, |y| y * y + c).grad(3.0)), 6.0);
    assert!(message(|| grad(2.0, |c| c * value_and_grad(3.0, |y| y * y + c).1)).is_some());
    assert!(message(|| grad(2.0, |c| c * grad(3.0, |y| y * y + y * c))).is_some());
    // severed on purpose, or through a function that is flat
    assert_eq!(grad(2.0, |c| c * grad(3.0, |y| y * y + y * c.detach())), 8.0);
    assert_eq!(grad(2.5, |c| c * value_and_grad(3.0, |y| y * y + c.floor()).0), 11.0);
    // a condition on an outer variable steers, and carries no derivative
    assert_eq!(grad(2.0, |c| c * grad(3.0, |y| if c > 1.0 { y * y } else { y })), 6.0);
}

#[test]
fn the_result_may_be_a_captured_variable_or_a_constant() {
    assert_eq!(grad(2.0, |c| grad(lift(3.0), |_| c) + c), 1.0);
    assert_eq!(grad(2.0, |c| value_and_grad(lift(3.0), |_| c * c).0), 4.0);
    assert_eq!(grad(2.0, |c| jvp(lift(3.0), lift(1.0), |_| c * c).0), 4.0);
    assert_eq!(grad(2.0, |c| jacobian(lift(3.0), |y| [c, y * c, lift(1.0)])[1]), 1.0);
    assert_eq!(grad(2.0, |c| hessian([lift(3.0); 2], |_| c * c)[0][1] + c), 1.0);
    assert_eq!(grad(2.0, |c| record(1.0, |_: Var| c * c).value(lift(3.0))), 4.0);
    assert_eq!(grad(2.0, |c| c * record(1.0, |_: Var| c * c).grad(3.0)), 0.0);
}
