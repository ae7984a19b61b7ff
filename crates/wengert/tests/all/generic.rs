//! Functions generic over their numbers: literals on the left, numbers beside carriers, and what each carrier makes of them.

use wengert::prelude::*;
use wengert::{Lanes, Var};

use crate::support::caught::caught;

/// Every operator, comparison and function with a number on either side.
fn mixed<R: Real>(x: R) -> R {
    let mut y = (lit(1.0) - x) * (lit(2.0) + x) / (lit(4.0) / x) + lit(7.5) % x;
    y += 0.25;
    y -= (lit(1.0) + lit(0.5)) * x;
    y *= 2.0;
    y /= 3.0;
    y = y + lit(1.0) - x * lit(0.5) + R::from(0.125) % 0.1;
    let powers = lit(2.0).powf(x) + x.powf(1.5) + x.powf(x) + lit(3.0).pow(x) + x.pow(2.0);
    let ends = x.max(0.3).min(x + 1.0) + lit(0.2).max(x) + lit(9.0).min(x) + x.clamp(0.1, 5.0);
    let plane = x.hypot(2.0) + lit(2.0).hypot(x) + x.atan2(0.5) + lit(0.5).atan2(x) + x.mul_add(2.0, x);
    let rest = x.lerp(2.0, 0.25) + x.logaddexp(0.5) + lit(0.5).xlogy(x) + lit(-1.5).copysign(x);
    let steered = if lit(0.0) < x && lit(9.0) >= x && !(lit(5.0) <= x) && lit(0.1) != x { lit(0.5) * x } else { -x };
    y + powers + ends + plane + rest + steered
}

/// The same with everything on the right, in functions of two numbers.
fn written_out(x: f64) -> f64 {
    let y = (1.0 - x) * (2.0 + x) / (4.0 / x) + 7.5 % x;
    let y = (y + 0.25 - 1.5 * x) * 2.0 / 3.0 + 1.0 - x * 0.5 + 0.125 % 0.1;
    let powers = 2f64.powf(x) + x.powf(1.5) + x.powf(x) + 3f64.powf(x) + x.powf(2.0);
    let ends = x.max(0.3).min(x + 1.0) + x.max(0.2) + x.min(9.0) + x.clamp(0.1, 5.0);
    let plane = x.hypot(2.0) + x.hypot(2.0) + x.atan2(0.5) + 0.5f64.atan2(x) + (x * 2.0 + x);
    let rest = x + 0.25 * (2.0 - x) + (x.exp() + 0.5f64.exp()).ln() + 0.5 * x.ln() + 1.5f64.copysign(x);
    y + powers + ends + plane + rest + 0.5 * x
}

fn near(x: f64, y: f64) -> bool {
    (x - y).abs() <= 1e-9 * (1.0 + y.abs())
}

#[test]
fn numbers_stand_on_either_side_of_every_carrier() {
    let x = 1.75;
    let (value, step) = (mixed(x), 1e-6);
    assert!(near(value, written_out(x)), "{value} {}", written_out(x));
    let slope = (written_out(x + step) - written_out(x - step)) / (2.0 * step);
    assert!((grad(x, |x| mixed(x)) - slope).abs() < 1e-7 * slope.abs(), "{slope}");

    let exact = grad(x, |x| mixed(x));
    let second = grad(x, |x| grad(x, |x| mixed(x)));
    let recorded = record(x, |x| mixed(x));
    let nested = mixed(Dual::new(Dual::variable(x), Dual::constant(1.0)));
    let series = mixed(Taylor::<3, f64>::variable(x));
    let lanes = mixed(Lanes([x, x]));
    let found = [
        ("Var", exact, exact),
        ("record", recorded.value(x), value),
        ("record at another point", recorded.grad(2.25), grad(2.25, |x| mixed(x))),
        ("Dual", mixed(Dual::variable(x)).tangent(), exact),
        ("Dual<Dual>", nested.tangent().tangent(), second),
        ("Dual<Var>", grad(x, |x| mixed(Dual::variable(x)).tangent()), second),
        ("Taylor", series.derivative(1), exact),
        ("Taylor, second", series.derivative(2), second),
        ("Lanes", lanes.0[1], value),
    ];
    for (carrier, found, expected) in found {
        assert!(near(found, expected), "{carrier}: {found} {expected}");
    }
    let single = mixed(F32(x as f32)).0;
    assert!((f64::from(single) - value).abs() < 1e-5 * value.abs(), "{single} {value}");
}

#[test]
fn a_literal_compares_as_a_number_does() {
    let by_lit = record(2.0, |x: Var| if lit(1.0) < x { lit(1.0) / x } else { lit(3.0) - x });
    let by_number = record(2.0, |x: Var| if 1.0 < x { 1.0 / x } else { 3.0 - x });
    for x in [4.0, 0.5] {
        assert_eq!((by_lit.value(x), by_lit.grad(x)), (by_number.value(x), by_number.grad(x)));
    }
    assert_eq!((by_lit.recordings(), by_number.recordings()), (2, 2));
}

fn cut<R: Real>(x: R) -> R {
    x * x.detach().value()
}

fn taken<R: Real>(x: R) -> R {
    x * x.value()
}

#[test]
fn numbers_are_taken_out_behind_detach_alone() {
    assert_eq!(cut(3.0), 9.0);
    assert_eq!(grad(3.0, |x| cut(x)), 3.0);
    assert_eq!(cut(Dual::variable(3.0)).tangent(), 3.0);
    assert_eq!(cut(Dual::new(Dual::variable(3.0), Dual::constant(1.0))).tangent().re(), 3.0);
    assert_eq!(cut(Taylor::<2, f64>::variable(3.0)).derivative(1), 3.0);
    assert_eq!(taken(Dual::<f64>::constant(3.0)).re(), 9.0);
    assert_eq!(taken(Lanes([3.0; 4])), Lanes([9.0; 4]));
    let refused: [(&str, &dyn Fn()); 4] = [
        ("Var", &|| drop(grad(3.0, |x| taken(x)))),
        ("Dual", &|| drop(taken(Dual::variable(3.0)))),
        ("Taylor", &|| drop(taken(Taylor::<2, f64>::variable(3.0)))),
        ("lanes", &|| drop(taken(Lanes([3.0, 4.0])))),
    ];
    for (what, call) in refused {
        let message = caught(what, call).expect_err(what);
        assert!(
            message.contains("`value` at") && message.contains("generic.rs") && message.contains(what),
            "{message}"
        );
    }
}
