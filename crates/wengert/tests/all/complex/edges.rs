//! Next to the unit circle, and at both ends of the range.

use wengert::holomorphic_grad;
use wengert::prelude::*;

use super::{list, near};

#[test]
fn logarithms_near_the_unit_circle() {
    // The logarithm of mpmath with 40 digits.
    let rows = [
        ((1.0 + 1e-5, 3e-6), 9.999_954_500_308_843e-6),
        ((0.0, 1.0 - 1e-9), -9.999_999_722_180_686e-10),
        ((-1.0 + 1e-12, 1e-7), -9.949_778_782_803_685e-13),
        ((1.0, 1e-160), 0.5e-320),
    ];
    for ((re, im), want) in rows {
        let got = Complex::new(re, im).ln().re;
        assert!((got - want).abs() <= 4e-16 * want.abs() + 5e-324, "ln of {re} + {im} i: {got} instead of {want}");
        // The derivative is 1/z, the second -1/z^2.
        let z = Complex::new(re, im);
        near(holomorphic_grad(z, |z| z.ln()), z.recip(), 8.0, "the first derivative");
        near(
            holomorphic_grad(z, |z| holomorphic_grad(z, |z| z.ln())),
            -z.square().recip(),
            16.0,
            "the second derivative",
        );
    }
}

#[test]
fn powers_and_roots_at_the_ends_of_the_range() {
    let zero = Complex::new(0.0, 0.0);
    for (z, n) in [(Complex::new(1e200, -3e199), -2), (Complex::new(0.0, 4e120), -3), (Complex::new(-1e308, 1e308), -7)]
    {
        assert_eq!(z.powi(n), zero, "{z:?} to the power {n}");
        assert_eq!(z.powf(f64::from(n)), zero, "{z:?} to the power {n}");
        assert_eq!(grad(z, |z| z.powi(n).re + z.powi(n).im), zero, "{z:?} to the power {n}");
    }
    let least = 5e-324;
    for (z, want) in [
        (Complex::new(least, 0.0), Complex::new(least.sqrt(), 0.0)),
        (Complex::new(-least, 0.0), Complex::new(0.0, least.sqrt())),
        // Half of the least number is 0.
        (Complex::new(0.0, least), Complex::new(1.0, 1.0) * (2f64.powi(-537) * 0.5f64.sqrt())),
        (Complex::new(0.0, 2.0 * least), Complex::new(least.sqrt(), least.sqrt())),
        (Complex::new(1.5e308, 0.0), Complex::new(1.5e308f64.sqrt(), 0.0)),
        (Complex::new(0.0, -1.6e308), Complex::new(0.8e308f64.sqrt(), -(0.8e308f64.sqrt()))),
    ] {
        near(z.sqrt(), want, 4.0, "root");
        // The slope is half of the inverse of the root.
        near(holomorphic_grad(z, |z| z.sqrt()) * want, Complex::new(0.5, 0.0), 8.0, "slope of the root");
        let both = Complex::<Tensor>::new(Tensor::from([z.re, 1.0]), Tensor::from([z.im, 0.0]));
        near(list(&both.sqrt())[0], want, 4.0, "root of a tensor");
    }
    assert_eq!(zero.powc(zero), Complex::new(1.0, 0.0));
    assert_eq!(zero.powc(Complex::new(0.5, 3.0)), zero);
    assert!(!zero.powc(Complex::new(-1.0, 0.0)).re.is_finite());
}

/// Second derivatives of inverse functions vanish at 0, relative to which they keep their digits.
#[test]
fn second_derivatives_of_inverse_functions_near_zero() {
    let one = || Complex::new(1.0, 0.0);
    type Function<T> = fn(Complex<T>) -> Complex<T>;
    // The second derivative of each over z, which is even.
    let functions: [(&str, Function<Var>, Function<f64>); 6] = [
        ("asin", |z| z.asin(), |w| w.powf(-1.5)),
        ("acos", |z| z.acos(), |w| -w.powf(-1.5)),
        ("asinh", |z| z.asinh(), |w| -(Complex::new(2.0, 0.0) - w).powf(-1.5)),
        ("atan", |z| z.atan(), |w| -(Complex::new(2.0, 0.0) - w).powi(-2) * 2.0),
        ("atanh", |z| z.atanh(), |w| w.powi(-2) * 2.0),
        ("acosh", |z| z.acosh(), |w| w.powf(-1.5)),
    ];
    for size in [0.9, 0.05, 0.04, 1.0 / 32.0, 0.03, 1e-3, 1e-9, 1e-30, 1e-160, 1e-300] {
        for (re, im) in [(1.0, 0.0), (0.0, 1.0), (0.3, -0.8), (-0.7, 0.6), (-0.5, -0.5)] {
            let z = Complex::new(re * size * 0.9, im * size * 0.9);
            for (name, f, over_z) in functions {
                let want = over_z(one() - z.square()) * z;
                // On the way from -1 to 1 the sides of the cut of `acosh` are `i acos` and `-i acos`.
                let want = if name == "acosh" { want * Complex::new(0.0, -1f64.copysign(z.im)) } else { want };
                let second = |z| holomorphic_grad(z, |z| holomorphic_grad(z, f));
                near(second(z), want, 256.0, &format!("the second derivative of {name} at {z}"));
            }
        }
    }
    // Zeros keep their signs.
    let signs = |z: Complex<f64>| [z.re.is_sign_negative(), z.im.is_sign_negative()];
    for (re, im) in [(0.0, 0.0), (-0.0, 0.0), (0.0, -0.0), (-0.0, 0.01), (0.01, -0.0), (-0.01, 0.0)] {
        let z = Complex::new(re, im);
        for value in [z.asin(), z.asinh(), z.atan(), z.atanh()] {
            assert_eq!(signs(value), signs(z), "at {z}: {value}");
        }
    }
}

/// Wherever the formula changes, zeros have the signs of C99: odd functions, mirrored at the real axis.
#[test]
fn inverse_tangents_keep_the_signs_of_zeros_at_every_size() {
    for size in [1e-10, 0.01, 0.5, 3.0, 1e8, 1e9, 1e10, 1e160, 1e300, f64::INFINITY] {
        for (a, b) in [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)] {
            let (z, beside) = (Complex::new(a * 0.0, b * size).atanh(), Complex::new(a * size, b * 0.0).atan());
            assert_eq!(
                (z.re.is_sign_negative(), z.im.is_sign_negative()),
                (a < 0.0, b < 0.0),
                "atanh of {a} 0, {b} {size}"
            );
            let signs = (beside.re.is_sign_negative(), beside.im.is_sign_negative());
            assert_eq!(signs, (a < 0.0, b < 0.0), "atan of {a} {size}, {b} 0");
        }
    }
    // Behind it a root is cut there: its slope is that of the side.
    for side in [0.0, -0.0] {
        let slope = grad((-1e10, side), |(x, y)| Complex::new(x, y).atan().sqrt().im).0;
        let wanted =
            -0.5e-20 / (std::f64::consts::FRAC_PI_2 - 1e-10).sqrt() * if side.is_sign_negative() { -1.0 } else { 1.0 };
        assert!((slope / wanted - 1.0).abs() < 1e-12, "{slope} instead of {wanted}");
        let z = Complex::new(Tensor::from(-1e10), Tensor::from(side));
        let slope = grad(&z, |z| z.atan().sqrt().im);
        assert!((slope.re.item() / wanted - 1.0).abs() < 1e-12, "{} instead of {wanted}", slope.re.item());
    }
}
