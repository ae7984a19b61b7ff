//! Functions that cancel, scales at the ends of the range, and ranks that are not full: what divided differences and frames meet
//! besides values that repeat.

use wengert::linalg::{logm, low_rank, nuclear_norm, pinv, polar, singular, spectral, sqrtm};
use wengert::prelude::*;

use super::matrix;
use crate::nn::support::points;

#[track_caller]
fn near(what: &str, got: &Tensor, want: &Tensor, relative: f64) {
    let (got, want) = (got.to_vec(), want.to_vec());
    let size = want.iter().fold(0.0f64, |size, x| size.max(x.abs()));
    assert!(size.is_finite() && size > 0.0, "{what}: {want:?} is no test");
    let off = got.iter().zip(&want).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
    assert!(off <= relative * size, "{what}: off by {:e} of the largest number", off / size);
}

type Function = fn(&Tensor) -> Tensor;

/// Functions, and formulas of the same functions that do not cancel.
const PAIRS: [(&str, Function, Function); 4] = [
    ("exp(x) - 1", |x| x.exp() - 1.0, |x| x.expm1()),
    ("ln(1 + x)", |x| (x + 1.0).ln(), |x| x.log1p()),
    ("sqrt(1 + x) - 1", |x| (x + 1.0).sqrt() - 1.0, |x| x / ((x + 1.0).sqrt() + 1.0)),
    ("sigmoid(x) - 1/2", |x| x.sigmoid() - 0.5, |x| (x * 0.5).tanh() * 0.5),
];

#[test]
fn functions_that_cancel_have_the_derivatives_of_those_that_do_not() {
    let b = points(3, &[5, 2]);
    let c = points(4, &[5, 5]);
    let along = points(5, &[5, 5]);
    let small = matrix(2, 2, &[1e-6, 1e-16, 1e-16, 1.00001e-6]);
    for (name, cancels, other) in PAIRS {
        // Three eigenvalues are rounding of zero.
        let a = b.matmul(&b.t());
        let loss = |a: &Tensor, h: Function| (spectral(a).map(h) * &c).sum();
        let gradient = |h| grad(&a, |a| loss(&a, h));
        near(name, &gradient(cancels), &gradient(other), 1e-13);
        let product = |h| hvp(&a, &along, |a| loss(&a, h));
        near(&format!("{name}, second derivative"), &product(cancels), &product(other), 1e-12);
        let beside = |h: Function| grad(&small, |a| spectral(&a).map(h).slice((0, 1)));
        near(&format!("{name}, nearly equal and small"), &beside(cancels), &beside(other), 1e-13);
    }
}

#[test]
fn scales_do_not_change_the_digits() {
    let q = points(6, &[4, 4]).qr().0;
    let along = points(7, &[4, 4]);
    // Of h(s A) = s^p h(A) the derivative has the factor s^p too, where directions are scaled likewise.
    let functions: [(&str, Function, f64); 3] =
        [("sqrt", |x| x.sqrt(), 0.5), ("recip", |x| x.recip(), -1.0), ("cube root", |x| x.cbrt(), 1.0 / 3.0)];
    for gap in [1e-3, 1e-7, 1e-11] {
        let a = (&q * Tensor::from([1.0, 1.0 + gap, 1.5, 2.0])).matmul(&q.t());
        for (name, h, power) in functions {
            for exponent in [-240i32, -120, 120, 240] {
                let scale = 2f64.powi(exponent);
                let factor = scale.powf(power);
                let loss = |a: &Tensor, s: f64| (spectral(&(a * s)).map(h) * &along).sum();
                let what = format!("{name} at gap {gap:e}, scaled by 2^{exponent}");
                near(&what, &(grad(&a, |a| loss(&a, scale)) / factor), &grad(&a, |a| loss(&a, 1.0)), 1e-13);
                let second = |s| hvp(&a, &along, |a| loss(&a, s));
                near(&format!("{what}, second derivative"), &(second(scale) / factor), &second(1.0), 1e-11);
            }
        }
    }
    let a = matrix(2, 2, &[7e-49, 1e-56, 1e-56, 7.0000001e-49]);
    let c = matrix(2, 2, &[0.3, 1.0, 1.0, -0.7]);
    let factor = 2f64.powi(160);
    let by_scale = grad(&a, |a| (sqrtm(&(a * factor)) * &c).sum()) / 2f64.powi(80);
    near("sqrtm", &grad(&a, |a| (sqrtm(&a) * &c).sum()), &by_scale, 1e-13);
}

#[test]
fn ranks_that_are_not_full() {
    let rows = matrix(3, 3, &[0.3, 1.1, 0.7, 0.3, 1.1, 0.7, -0.9, 0.45, 0.13]);
    near("of the transpose", &pinv(&rows).t(), &pinv(&rows.t()), 1e-13);
    for n in 2..=8 {
        let ones = Tensor::ones(&[n, n]);
        assert!((nuclear_norm(&ones).item() - n as f64).abs() < 1e-13 * n as f64);
        near("pinv of ones", &pinv(&ones), &(&ones / (n * n) as f64), 1e-13);
    }
    // Whole numbers of every rank, in both precisions.
    for seed in 0..240u64 {
        let (n, rank) = (2 + seed as usize % 7, 1 + seed as usize / 7 % 3);
        let whole = |seed, shape: &[usize]| (points(seed, shape) * 3.0).round();
        let a = whole(seed, &[n, rank]).matmul(&whole(seed + 1000, &[rank, n]));
        for a in [a.clone(), &a * 0.1] {
            let (u, s, vt) = a.svd();
            let off = ((&u * &s).matmul(&vt) - &a).abs().max().item();
            assert!(off <= 1e-13 * a.abs().max().item().max(1e-300), "seed {seed}: off by {off:e}");
            let turned = (u.t().matmul(&u) - Tensor::eye(n)).abs().max().item();
            assert!(turned <= 1e-13, "seed {seed}: {turned:e} from orthonormal");
            let inverse = pinv(&a);
            near("A A+ A", &(a.matmul(&inverse).matmul(&a) + &Tensor::eye(n)), &(&a + &Tensor::eye(n)), 1e-11);
            a.to_f32().svd();
            let _ = (polar(&(&a + Tensor::eye(n) * 40.0)), nuclear_norm(&a), singular(&a).values());
        }
    }
}

/// A derivative is linear in its direction, whatever the size of that.
#[test]
fn directions_of_any_size_have_the_same_digits() {
    let (tall, w, v) = (points(1, &[4, 2]), points(2, &[4, 2]), points(3, &[4, 2]));
    let functions: [(&str, Function); 4] = [
        ("polar", |a| polar(a).0),
        ("pinv", |a| pinv(a).t()),
        ("map", |a| singular(a).map(|x| x.sin())),
        ("projector", |a| singular(a).projector(0..1).0),
    ];
    for (name, f) in functions {
        for is_wide in [false, true] {
            let turned = |x: &Tensor| if is_wide { x.t() } else { x.clone() };
            let (a, v, w) = (turned(&tall), turned(&v), turned(&w));
            let weights = points(4, f(&a).shape());
            let (_, forwards) = jvp(&a, &v, |a| f(&a));
            let backwards = grad(&a, |a| (f(&a) * &weights).sum());
            for size in [1e-200, 1e-160, 1e160, 1e200] {
                let (_, scaled) = jvp(&a, &(&v * size), |a| f(&a));
                near(name, &(scaled / size), &forwards, 1e-12);
                let scaled = grad(&a, |a| (f(&a) * &weights * size).sum());
                near(name, &(scaled / size), &backwards, 1e-12);
            }
            let (_, moved) = jvp(&(&a * 1e160), &(&w * 1e160), |a| polar(&a).0);
            near("polar of large numbers", &moved, &jvp(&a, &w, |a| polar(&a).0).1, 1e-12);
        }
    }
}

/// Values that are one but for rounding, where a second derivative is that at the value.
#[test]
fn second_derivatives_where_values_are_one_but_for_rounding() {
    let e = 1.0 / std::f64::consts::E;
    let bent = Tensor::from([[0.0, 1.0], [1.0, 0.0]]);
    for gap in [2e-16, 5e-16, 3e-15, 1e-13, 1e-11] {
        let a = Tensor::from([[e, 0.0], [0.0, e * (1.0 + gap)]]);
        let first = |a: &Tensor| jvp(a, &bent, |a| spectral(&a).map(|x| x * x.ln())).1;
        let (_, second) = jvp(&a, &bent, |a| first(&a));
        near("map", &second, &(Tensor::eye(2) / e), 1e-5);
        let product = hvp(&a, &bent, |a| spectral(&a).trace(|x| x * x.ln()));
        near("trace", &product, &(&bent / e), 1e-5);
    }
}

/// Of `f(s A) = s^p f(A)` the second derivative along two directions that are scaled likewise has the factor `s^p`, also where that
/// of the formula itself, of the size `s^(p - 2)`, leaves the range of numbers.
#[test]
fn second_derivatives_at_the_ends_of_the_range() {
    let a = points(8, &[3, 3]);
    let a = a.matmul(&a.t()) + Tensor::eye(3);
    let (d, w, tall) = (points(9, &[3, 3]), points(10, &[3, 3]), points(11, &[3, 2]));
    let (w, d) = (&w, &d);
    type Loss<'a> = &'a dyn Fn(&Tensor) -> Tensor;
    let functions: [(&str, f64, Loss); 12] = [
        ("sqrtm", 0.5, &|a| (sqrtm(a) * w).sum()),
        ("logm", 0.0, &|a| (logm(a) * w).sum()),
        ("map", -1.0, &|a| (spectral(a).map(|x| x.recip()) * w).sum()),
        ("trace", 0.0, &|a| spectral(a).trace(|x| x.ln())),
        ("projector", 0.0, &|a| (spectral(a).projector(0..1) * w).sum()),
        ("sum", 1.0, &|a| spectral(a).sum(0..1)),
        ("vectors", 0.0, &|a| (spectral(a).vectors(1..2) * w).sum()),
        ("values", 1.0, &|a| (spectral(a).values() * Tensor::from([0.3, -0.2, 0.7])).sum()),
        ("polar", 0.0, &|a| (polar(a).0 * w).sum()),
        ("low_rank", 1.0, &|a| (low_rank(a, 1) * w).sum()),
        ("nuclear_norm", 1.0, &|a| nuclear_norm(a)),
        ("slogdet", 0.0, &|a| a.slogdet().1),
    ];
    let check = |name: &str, power: f64, f: Loss, [a, d]: [&Tensor; 2]| {
        let forwards = |a: &Tensor, d: &Tensor| jvp(a, d, |a| jvp(a, d, |a| f(&a)).1).1;
        let backwards = |a: &Tensor, d: &Tensor| (hvp(a, d, |a| f(&a)) * d).sum();
        for exponent in [-960i32, -700, -540, -340, 340, 540, 700, 960] {
            let s = 2f64.powi(exponent);
            let (large, along) = (a * s, d * s);
            let what = format!("{name} at 2^{exponent}");
            near(&format!("{what}, forwards"), &(forwards(&large, &along) / s.powf(power)), &forwards(a, d), 1e-10);
            // What flows back has the size of `s^(p - 1)`.
            if (power - 1.0) * f64::from(exponent) < 1000.0 && (power - 1.0) * f64::from(exponent) > -950.0 {
                near(
                    &format!("{what}, backwards"),
                    &(backwards(&large, &along) / s.powf(power)),
                    &backwards(a, d),
                    1e-10,
                );
            }
        }
    };
    for (name, power, f) in functions {
        check(name, power, f, [&a, d]);
    }
    let weights = points(12, &[3, 2]);
    check("polar of a tall matrix", 0.0, &|a| (polar(a).0 * &weights).sum(), [&tall, &points(13, &[3, 2])]);
    // In single precision determinants meet that at the square root of its range.
    for s in [1e-30f64, 1e-20, 1e20, 1e30] {
        let along = |a: &Tensor, d: &Tensor| jvp(a, d, |a| jvp(a, d, |a| a.slogdet().1).1).1.to_f64();
        near("slogdet", &along(&(&a * s).to_f32(), &(d * s).to_f32()), &along(&a, d), 1e-3);
    }
}
