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
    let steered = if lit(0.0) < x && lit(9.0) >= x && lit(5.0) > x && lit(-1.0) <= x && lit(0.1) != x {
        lit(0.5) * x
    } else {
        -x
    };
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
    assert!((grad(x, mixed) - slope).abs() < 1e-7 * slope.abs(), "{slope}");

    let exact = grad(x, mixed);
    let second = grad(x, |x| grad(x, mixed));
    let recorded = record(x, mixed);
    let nested = mixed(Dual::new(Dual::variable(x), Dual::constant(1.0)));
    let series = mixed(Taylor::<3, f64>::variable(x));
    let lanes = mixed(Lanes([x, x]));
    let found = [
        ("Var", exact, exact),
        ("record", recorded.value(x), value),
        ("record at another point", recorded.grad(2.25), grad(2.25, mixed)),
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
    assert_eq!(grad(3.0, cut), 3.0);
    assert_eq!(cut(Dual::variable(3.0)).tangent(), 3.0);
    assert_eq!(cut(Dual::new(Dual::variable(3.0), Dual::constant(1.0))).tangent().re(), 3.0);
    assert_eq!(cut(Taylor::<2, f64>::variable(3.0)).derivative(1), 3.0);
    assert_eq!(taken(Dual::<f64>::constant(3.0)).re(), 9.0);
    assert_eq!(taken(Lanes([3.0; 4])), Lanes([9.0; 4]));
    let refused: [(&str, &dyn Fn()); 4] = [
        ("Var", &|| _ = grad(3.0, taken)),
        ("Dual", &|| _ = taken(Dual::variable(3.0))),
        ("Taylor", &|| _ = taken(Taylor::<2, f64>::variable(3.0))),
        ("lanes", &|| _ = taken(Lanes([3.0, 4.0]))),
    ];
    for (what, call) in refused {
        let message = caught(what, call).expect_err(what);
        assert!(
            message.contains("`value` at") && message.contains("generic.rs") && message.contains(what),
            "{message}"
        );
    }
}

/// Code as over `f64`, with the attribute: what it writes means the same over every carrier.
mod attribute {
    use wengert::{Lanes, prelude::*};

    use super::near;

    #[wengert::generic]
    mod laws {
        use wengert::prelude::*;

        const G: f64 = 9.81;

        pub(super) struct Pendulum<R> {
            pub(super) length: R,
            pub(super) steps: usize,
        }

        impl<R: Real> Pendulum<R> {
            const HALF: f64 = 0.5;

            pub(super) fn swing(&self, angle: R, dt: f64) -> R {
                let (mut x, mut v) = (angle, R::from(0.0));
                let h = dt / self.steps as f64;
                for i in 0..2 * self.steps {
                    let a = -G * x.sin() / self.length - 0.1 * h * v;
                    v += h * a * (1.0 + 1.0 / (2 * i + 1) as f64);
                    x += Self::HALF * h * v;
                }
                if 0.0 < x { 2.0 * std::f64::consts::PI - x } else { (1.0 - x) / (2.0 + x * x) }
            }
        }

        pub(super) fn quadrature<R: Real>(f: impl Fn(R) -> R, from: f64, to: f64, n: usize) -> R {
            let width = (to - from) / n as f64;
            (0..n).map(|k| width * f(R::from(from + (k as f64 + 0.5) * width))).sum()
        }
    }

    fn by_hand(length: f64, angle: f64, dt: f64, steps: usize) -> f64 {
        let (mut x, mut v) = (angle, 0.0);
        let h = dt / steps as f64;
        for i in 0..2 * steps {
            let a = -9.81 * f64::sin(x) / length - 0.1 * h * v;
            v += h * a * (1.0 + 1.0 / (2 * i + 1) as f64);
            x += 0.5 * h * v;
        }
        if 0.0 < x { 2.0 * std::f64::consts::PI - x } else { (1.0 - x) / (2.0 + x * x) }
    }

    #[test]
    fn code_over_numbers_is_code_over_carriers() {
        for angle in [0.7, -0.4] {
            let swing = |length: f64| by_hand(length, angle, 0.3, 4);
            let exact = laws::Pendulum { length: 1.3, steps: 4 }.swing(angle, 0.3);
            assert_eq!(exact.to_bits(), swing(1.3).to_bits(), "the same bits over f64");
            let slope = (swing(1.3 + 1e-6) - swing(1.3 - 1e-6)) / 2e-6;
            let by_tape = grad(1.3, |length| laws::Pendulum { length, steps: 4 }.swing(lift(angle), 0.3));
            let dual = laws::Pendulum { length: Dual::variable(1.3), steps: 4 }.swing(Dual::constant(angle), 0.3);
            let lanes = laws::Pendulum { length: Lanes([1.3, 1.3]), steps: 4 }.swing(Lanes([angle; 2]), 0.3);
            assert!((by_tape - slope).abs() < 1e-7 * (1.0 + slope.abs()), "{by_tape} {slope}");
            assert!(near(dual.tangent(), by_tape) && near(lanes.0[1], exact), "{dual:?} {lanes:?}");
        }
        let integral = |a: Var| laws::quadrature(|x: Var| (a * x).exp(), 0.0, 1.0, 64);
        assert!((grad(0.5, integral) - (4.0 - 2.0 * 0.5_f64.exp())).abs() < 1e-3);
    }

    /// Plain numbers, and types that are no carriers, meet the same literals.
    #[wengert::generic]
    fn others(x: f64, y: f32, t: &Tensor, z: Complex<f64>, s: &Pair<f64>) -> (f64, f32, f64, Complex<f64>, Pair<f64>) {
        let by_reference: f64 = [x, x].iter().map(|x| 1.0 - x).sum();
        (
            2.0 * x * x - by_reference,
            0.1 * y,
            (1.0 - t).sum().item() + (2.0 / (0.5 + 2.0 * t)).sum().item(),
            1.0 / z,
            3.0 * s,
        )
    }

    #[derive(Tree, Clone, Debug, PartialEq)]
    #[tree(f32)]
    struct Pair<T = f64> {
        left: T,
        right: [T; 1],
    }

    #[test]
    fn literals_meet_other_types_as_before() {
        let t = Tensor::from([0.25, 0.75]);
        let found = others(3.0, 0.3, &t, Complex::new(0.0, 2.0), &Pair { left: 1.0, right: [2.0] });
        assert_eq!((found.0, found.1, found.2), (22.0, 0.1 * 0.3, 4.0));
        assert_eq!((found.3.re, found.3.im), (0.0, -0.5));
        assert_eq!(found.4, Pair { left: 3.0, right: [6.0] });
    }

    #[test]
    fn single_precision_is_a_point() {
        let f = |p: Pair<Var>| p.left * p.left * p.right[0] + p.right[0].exp();
        let g = grad(Pair { left: F32(0.1), right: [F32(0.5)] }, f);
        let (x, y) = (f64::from(0.1_f32), 0.5_f64);
        assert_eq!(g, Pair { left: F32((2.0 * x * y) as f32), right: [F32((x * x + y.exp()) as f32)] });
        let h = hessian([F32(0.5), F32(2.0)], |[x, y]| x * x * y);
        assert_eq!(h, [[F32(4.0), F32(1.0)], [F32(1.0), F32(0.0)]]);
        assert_eq!(jvp(vec![F32(3.0)], [F32(2.0)], |x| 1.0 / x[0]), (1.0 / 3.0, -2.0 / 9.0));
        // A literal alone is an `f64` still.
        assert_eq!(grad(2.0, |x| x * x), 4.0);
    }
}

/// A function that asks for nalgebra's numbers and ours has one `sin`, literals on both sides, and our functions.
#[test]
fn one_function_over_the_numbers_of_nalgebra_and_ours() {
    use nalgebra::{DVector, Matrix2, RealField, Vector2};

    fn ours<R: Real>(x: R) -> R {
        x.lgamma() + x.sin()
    }

    #[wengert::generic]
    fn both<R: Carrier + RealField>(x: R) -> R {
        let turn = Matrix2::new(x.cos(), -x.sin(), x.sin(), x.cos());
        let v = 2.0 * (turn * Vector2::new(x, 1.0 - x)) - 0.5 * &Vector2::new(x, x);
        let solved = turn.lu().solve(&v).map_or(x, |y| y.norm());
        let shifted = 0.5 * DVector::from_element(3, x);
        solved
            + shifted.sum()
            + ours(x) / (3.0 + x.powi(2))
            + 1.0 / x.softplus()
            + x.max(R::from(0.5)) * x.atan2(R::from(2.0))
    }

    let x = 0.8;
    let slope = (both(x + 1e-6) - both(x - 1e-6)) / 2e-6;
    let by_tape = grad(x, both);
    assert!((by_tape - slope).abs() < 1e-7 * (1.0 + slope.abs()), "{by_tape} {slope}");
    assert!(near(both(Dual::variable(x)).tangent(), by_tape));
}
