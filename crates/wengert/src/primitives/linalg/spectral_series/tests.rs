//! Tests of what is private here.

use super::*;
use crate::array::Type;
use crate::program::Builder;

fn of(op: Unary) -> Program {
    let mut b = Builder::new();
    let x = b.input("x", Type::new(DType::F64, &[]));
    let y = b.op(op, &[x]);
    b.finish(&[y])
}

/// Of the exponential: `e^z` times the series of `H_(j-k)/j!`, to 30 terms.
fn exponential(points: &[f64]) -> f64 {
    let order = points.len() - 1;
    let middle = points.iter().sum::<f64>() / points.len() as f64;
    let mut products = [0.0; 60];
    products[0] = 1.0;
    for point in points {
        for d in 1..60 {
            products[d] += (point - middle) * products[d - 1];
        }
    }
    let mut factorial: f64 = (1..=order).map(|k| k as f64).product();
    let mut sum = 0.0;
    for (d, product) in products.iter().enumerate() {
        if d > 0 {
            factorial *= (order + d) as f64;
        }
        sum += product / factorial;
    }
    middle.exp() * sum
}

#[test]
fn differences_of_the_exponential_keep_their_digits_at_every_gap() {
    let program = of(Unary::Exp);
    for derivative in [0, 2] {
        let h = Differences::new(&program, derivative);
        for gap in (0..=16).map(|k| 10f64.powi(-k)).chain([0.0, 2.5]) {
            for points in [&[0.3, 0.3 + gap][..], &[0.3, 0.3, 0.3 + gap], &[0.3, 0.3 + gap, 1.0, 0.3 - gap]] {
                let (got, wanted) = (h.at(points), exponential(points));
                assert!((got - wanted).abs() <= 2e-13 * wanted, "{got} is not {wanted} at {points:?}");
            }
        }
    }
}

#[test]
fn differences_of_the_reciprocal_keep_their_digits_at_every_gap() {
    let program = of(Unary::Recip);
    let h = Differences::new(&program, 0);
    for gap in (0..=15).map(|k| 10f64.powi(-k)).chain([0.0, 30.0]) {
        for points in [vec![0.5, 0.5 + gap], vec![0.5, 0.5 + gap, 0.5 + 3.0 * gap, 0.7]] {
            let sign = if points.len() % 2 == 0 { -1.0 } else { 1.0 };
            let wanted = sign / points.iter().product::<f64>();
            let got = h.at(&points);
            assert!((got - wanted).abs() <= 2e-13 * wanted.abs(), "{got} is not {wanted} at {points:?}");
        }
    }
}

#[test]
fn a_kink_between_points_is_seen() {
    let program = of(Unary::Abs);
    let h = Differences::new(&program, 0);
    let x = f64::powi(0.5, 30);
    assert_eq!(h.at(&[-x, 3.0 * x]), 0.5);
    assert_eq!(h.at(&[-x, -3.0 * x]), -1.0);
}

/// `h` of one argument, made of these steps.
fn made(steps: impl FnOnce(&mut Builder, crate::program::Value) -> crate::program::Value) -> Program {
    let mut b = Builder::new();
    let x = b.input("x", Type::new(DType::F64, &[]));
    let y = steps(&mut b, x);
    b.finish(&[y])
}

/// Where a derivative cancels, or an argument inside is rounded, its error is more than its own rounding: two points that are one
/// but for rounding, and one of them twice.
#[test]
fn points_that_are_one_but_for_rounding_have_the_derivative_there() {
    let times = |factor: f64, op: Unary| {
        made(move |b, x| {
            let ty = b.ty(x).clone();
            let factor = b.full(factor, &ty);
            let x = b.mul(factor, x);
            b.op(op, &[x])
        })
    };
    let entropy = made(|b, x| {
        let ln = b.op(Unary::Ln, &[x]);
        b.mul(x, ln)
    });
    let shifted = made(|b, x| {
        let ty = b.ty(x).clone();
        let far = b.full(1000.0, &ty);
        let up = b.add(x, far);
        let down = b.sub(up, far);
        b.op(Unary::Sin, &[down])
    });
    let e = std::f64::consts::E;
    // The function, a point, and half of its second derivative there.
    let cases: [(&Program, f64, f64); 5] = [
        (&entropy, 1.0 / e, e / 2.0),
        (&times(3.0, Unary::Sin), std::f64::consts::FRAC_PI_6, -4.5),
        (&times(10.0, Unary::Sin), 94.36, -50.0 * 943.6f64.sin()),
        (&times(100.0, Unary::Sin), 0.1727, -5000.0 * 17.27f64.sin()),
        (&shifted, 0.7, -0.5 * 0.7f64.sin()),
    ];
    for (program, x, wanted) in cases {
        let h = Differences::new(program, 0);
        let slope = Differences::new(program, 1);
        for gap in [1e-16, 2.3e-16, 5e-16, 3e-15, 1e-14, 9e-14, 1.6e-11, 1e-9] {
            let y = x * (1.0 + gap);
            for points in [[x, x, y], [x, y, y]] {
                let got = h.at(&points);
                assert!((got - wanted).abs() <= 1e-5 * wanted.abs(), "{got} is not {wanted} at {points:?}");
                let got = slope.at(&points[..2]) + slope.at(&points[1..]);
                let wanted = 4.0 * wanted;
                assert!((got - wanted).abs() <= 1e-5 * wanted.abs(), "{got} is not {wanted}: slopes at {points:?}");
            }
        }
    }
}
