//! The bounds, and the ranges over which they are tested.

use super::check::Range::{Log, LogSigned, Near, Points, Uniform};
use super::check::{Binary, Random, Unary, sweep, sweep2};
use super::reference::dd;
use wengert_kernels::Level;

/// The smallest positive number.
const TINY: f64 = 5e-324;

/// Functions of one argument with the stated bounds, in the order of the crate's table.
pub(crate) const UNARY: [Unary; 31] = [
    unary!(exp, 1.0),
    unary!(exp2, 1.0),
    unary!(expm1, 1.25),
    unary!(ln, 1.0),
    unary!(log1p, 1.0),
    unary!(log2, 1.0),
    unary!(log10, 1.0),
    unary!(sqrt, 0.5),
    unary!(cbrt, 1.0),
    unary!(sin, 1.0),
    unary!(cos, 1.0),
    unary!(tan, 1.25),
    unary!(asin, 1.0),
    unary!(acos, 1.0),
    unary!(atan, 1.0),
    unary!(sinh, 1.0),
    unary!(cosh, 1.0),
    unary!(tanh, 1.0),
    unary!(sigmoid, 1.0),
    unary!(softplus, 1.25),
    unary!(erf, 1.5),
    unary!(erfc, 3.5),
    unary!(erfinv, 2.0),
    unary!(asinh, 1.25),
    unary!(acosh, 1.25),
    unary!(atanh, 1.0),
    unary!(silu, 1.0),
    unary!(gelu_erf, 3.5),
    unary!(gelu_tanh, 1.0),
    unary!(sech2, 1.0),
    unary!(gelu_tanh_slope, 5.0),
];

/// Functions of two arguments with the stated bounds.
pub(crate) const BINARY: [Binary; 5] =
    [binary!(pow, 1.0), binary!(atan2, 1.0), binary!(hypot, 1.25), binary!(logaddexp, 1.0), binary!(xlogy, 2.0)];

/// The function of this name.
pub(crate) fn unary(name: &str) -> &'static Unary {
    const ALL: &[Unary] = &UNARY;
    ALL.iter().find(|f| f.name == name).expect("the function is in the table")
}

/// The function of this name.
pub(crate) fn binary(name: &str) -> &'static Binary {
    const ALL: &[Binary] = &BINARY;
    ALL.iter().find(|f| f.name == name).expect("the function is in the table")
}

#[test]
fn exp() {
    sweep(
        unary("exp"),
        &[
            Uniform(-746.0, 710.0),
            Uniform(-1.5, 1.5),
            Uniform(-746.0, -707.0),
            LogSigned(TINY, 700.0),
            Near(&[0.34657359027997264, 1.0397207708399179, 709.782712893384, -708.3964185322641]),
        ],
    );
}

#[test]
fn exp2() {
    sweep(
        unary("exp2"),
        &[
            Uniform(-1076.0, 1025.0),
            Uniform(-1.5, 1.5),
            Uniform(-1076.0, -1021.0),
            LogSigned(TINY, 1000.0),
            Near(&[0.5, -0.5, 1023.5, -1022.0]),
        ],
    );
}

#[test]
fn expm1() {
    sweep(
        unary("expm1"),
        &[
            Uniform(-41.0, 710.0),
            Uniform(-1.5, 1.5),
            LogSigned(TINY, 30.0),
            Near(&[0.34657359027997264, -0.34657359027997264, 1.0397207708399179, -1.0397207708399179]),
        ],
    );
}

/// Ranges for logarithms: everything, around one, and the subnormal numbers.
const POSITIVE: [super::check::Range<'static>; 5] = [
    Log(TINY, f64::MAX),
    Uniform(0.4, 3.0),
    Log(TINY, 1e-300),
    Near(&[1.0, std::f64::consts::SQRT_2, std::f64::consts::FRAC_1_SQRT_2]),
    Uniform(0.99, 1.01),
];

#[test]
fn ln() {
    sweep(unary("ln"), &POSITIVE);
}

#[test]
fn log2() {
    sweep(unary("log2"), &POSITIVE);
}

#[test]
fn log10() {
    sweep(unary("log10"), &POSITIVE);
}

#[test]
fn log1p() {
    sweep(
        unary("log1p"),
        &[
            Log(TINY, f64::MAX),
            Uniform(-1.0, 3.0),
            LogSigned(TINY, 0.5),
            LogSigned(1e-17, 1e-3),
            Near(&[-0.9999999, 0.41421356237309515, -0.2928932188134524, 1.8284271247461903]),
        ],
    );
}

#[test]
fn sqrt() {
    sweep(unary("sqrt"), &POSITIVE);
}

#[test]
fn cbrt() {
    sweep(
        unary("cbrt"),
        &[LogSigned(TINY, f64::MAX), Uniform(0.3, 3.0), LogSigned(TINY, 1e-300), Near(&[1.0, 8.0, -0.125])],
    );
}

/// All doubles next to odd or even multiples of `pi/2` up to 131072, and arguments between.
fn angles(name: &str) {
    let turns: Vec<f64> = (1..=83_443).map(|k| f64::from(k) * std::f64::consts::FRAC_PI_2).collect();
    let halves: Vec<f64> = (0..=83_442).map(|k| (f64::from(k) + 0.5) * std::f64::consts::FRAC_PI_2).collect();
    sweep(
        unary(name),
        &[
            Uniform(-7.0, 7.0),
            Uniform(-131_072.0, 131_072.0),
            LogSigned(TINY, 131_072.0),
            LogSigned(1e-9, 1.0),
            Points(&turns),
            Near(&turns[..40]),
            Points(&halves),
            Near(&halves[..40]),
        ],
    );
}

#[test]
fn sin() {
    angles("sin");
}

#[test]
fn cos() {
    angles("cos");
}

#[test]
fn tan() {
    angles("tan");
}

#[test]
fn asin() {
    sweep(unary("asin"), &[Uniform(-1.0, 1.0), LogSigned(TINY, 1.0), Uniform(0.999, 1.0), Near(&[0.5, -0.5])]);
}

#[test]
fn acos() {
    sweep(
        unary("acos"),
        &[Uniform(-1.0, 1.0), LogSigned(1e-20, 1.0), Uniform(0.999, 1.0), Uniform(-1.0, -0.999), Near(&[0.5, -0.5])],
    );
}

#[test]
fn atan() {
    sweep(
        unary("atan"),
        &[
            Uniform(-5.0, 5.0),
            LogSigned(TINY, f64::MAX),
            LogSigned(1e-9, 1e9),
            Near(&[1.0, 0.41421356237309503, -2.414213562373095]),
        ],
    );
}

#[test]
fn sinh() {
    sweep(
        unary("sinh"),
        &[Uniform(-711.0, 711.0), Uniform(-3.0, 3.0), LogSigned(TINY, 700.0), Near(&[1.0, 1.0397207708399179])],
    );
}

#[test]
fn cosh() {
    sweep(unary("cosh"), &[Uniform(-711.0, 711.0), Uniform(-3.0, 3.0), LogSigned(TINY, 700.0)]);
}

#[test]
fn tanh() {
    sweep(
        unary("tanh"),
        &[
            Uniform(-23.0, 23.0),
            Uniform(-1.5, 1.5),
            LogSigned(TINY, 20.0),
            Near(&[0.17328679513998632, 0.5198603854199589, 3.7e-9]),
        ],
    );
}

#[test]
fn sigmoid() {
    sweep(
        unary("sigmoid"),
        &[Uniform(-746.0, 50.0), Uniform(-3.0, 3.0), Uniform(-746.0, -707.0), LogSigned(TINY, 700.0)],
    );
}

#[test]
fn softplus() {
    sweep(
        unary("softplus"),
        &[Uniform(-746.0, 50.0), Uniform(-3.0, 3.0), Uniform(-746.0, -707.0), LogSigned(TINY, 700.0)],
    );
}

#[test]
fn erf() {
    sweep(unary("erf"), &[Uniform(-6.2, 6.2), Uniform(-1.0, 1.0), LogSigned(TINY, 6.0), Near(&[0.5, -0.5])]);
}

#[test]
fn erfinv() {
    sweep(
        unary("erfinv"),
        &[
            Uniform(-1.0, 1.0),
            Uniform(0.4, 0.8),
            Uniform(0.99, 1.0),
            Uniform(0.999999999, 1.0),
            LogSigned(TINY, 0.5),
            Near(&[0.5, -0.5, 0.7111556336535151, 0.9966254]),
        ],
    );
}

#[test]
fn erfc() {
    sweep(
        unary("erfc"),
        &[
            Uniform(-6.5, 6.5),
            Uniform(0.3, 2.0),
            Uniform(0.5, 27.3),
            Uniform(26.0, 27.3),
            LogSigned(TINY, 27.0),
            Near(&[0.5, -0.5]),
        ],
    );
}

#[test]
fn pow() {
    sweep2(
        binary("pow"),
        &[
            [Uniform(0.1, 10.0), Uniform(-50.0, 50.0)],
            [Uniform(0.5, 2.0), Uniform(-1100.0, 1100.0)],
            [Log(TINY, f64::MAX), Uniform(-2.0, 2.0)],
            [Log(TINY, f64::MAX), LogSigned(1e-20, 1e3)],
            [Uniform(0.9999, 1.0001), Uniform(-7e6, 7e6)],
            [Near(&[1.0]), LogSigned(1e12, 1e17)],
        ],
    );
}

#[test]
fn atan2() {
    sweep2(
        binary("atan2"),
        &[
            [Uniform(-3.0, 3.0), Uniform(-3.0, 3.0)],
            [LogSigned(TINY, f64::MAX), LogSigned(TINY, f64::MAX)],
            [LogSigned(1e-3, 1e3), LogSigned(1e-30, 1e30)],
            [LogSigned(TINY, 1e-300), LogSigned(TINY, 1e-300)],
            [LogSigned(1e300, f64::MAX), LogSigned(1e300, f64::MAX)],
        ],
    );
}

#[test]
fn hypot() {
    sweep2(
        binary("hypot"),
        &[
            [Uniform(-3.0, 3.0), Uniform(-3.0, 3.0)],
            [LogSigned(TINY, f64::MAX), LogSigned(TINY, f64::MAX)],
            [LogSigned(1e-3, 1e3), LogSigned(1e-9, 1e9)],
            [LogSigned(TINY, 1e-300), LogSigned(TINY, 1e-300)],
            [LogSigned(1e300, f64::MAX), LogSigned(1e300, f64::MAX)],
        ],
    );
}

#[test]
fn asinh() {
    sweep(
        unary("asinh"),
        &[LogSigned(TINY, f64::MAX), Uniform(-3.0, 3.0), LogSigned(1e-9, 1e9), Near(&[1e17, 0.5, 0.2])],
    );
}

#[test]
fn acosh() {
    sweep(unary("acosh"), &[Log(1.0, f64::MAX), Uniform(1.0, 3.0), Uniform(1.0, 1.001), Log(1.0, 1e9), Near(&[1e17])]);
}

#[test]
fn atanh() {
    sweep(
        unary("atanh"),
        &[LogSigned(TINY, 1.0 - f64::EPSILON), Uniform(-1.0, 1.0), Uniform(0.999, 1.0), LogSigned(1e-9, 0.5)],
    );
}

/// Functions that are `x` on the right and decay on the left, up to `end`.
fn activations(name: &str, end: f64) {
    sweep(unary(name), &[Uniform(-end, 50.0), Uniform(-3.0, 3.0), Uniform(-end, -0.9 * end), LogSigned(TINY, 10.0)]);
}

#[test]
fn silu() {
    activations("silu", 755.0);
}

#[test]
fn gelu_erf() {
    activations("gelu_erf", 39.0);
}

#[test]
fn gelu_tanh() {
    activations("gelu_tanh", 22.0);
}

#[test]
fn gelu_tanh_slope() {
    sweep(
        unary("gelu_tanh_slope"),
        &[Uniform(-22.0, -2.0), Uniform(-0.3, 3.0), Uniform(-22.0, -20.0), LogSigned(1e-300, 0.3), Uniform(0.0, 26.0)],
    );
}

/// Around its zero the error is relative to 1/4.
#[test]
#[expect(clippy::print_stdout, reason = "the measured errors are a result of the test")]
fn gelu_tanh_slope_around_its_zero() {
    let f = unary("gelu_tanh_slope");
    let x = Uniform(-2.0, -0.3).points(&mut Random::new(17));
    let mut y = vec![0.0; x.len()];
    (f.kernel)(Level::Baseline, &x, &mut y);
    let error = |(&x, &y): (&f64, &f64)| {
        let exact = (f.reference)(x);
        (exact.value.ldexp(exact.exponent) - dd(y)).hi.abs() / (0.25 * f64::EPSILON)
    };
    let worst = x.iter().zip(&y).map(error).fold(0.0, f64::max);
    println!("gelu_tanh_slope between -2 and -0.3: {worst:.3} ulp of 1/4");
    assert!(worst <= f.bound, "{worst}");
}

#[test]
fn sech2() {
    sweep(unary("sech2"), &[Uniform(-374.0, 374.0), Uniform(-3.0, 3.0), Uniform(350.0, 374.0), LogSigned(TINY, 300.0)]);
}

/// Not where the result cancels to nearly zero: `e^x + e^y = 1`.
#[test]
fn logaddexp() {
    sweep2(
        binary("logaddexp"),
        &[
            [Uniform(0.0, 3.0), Uniform(-3.0, 3.0)],
            [Uniform(-800.0, 800.0), Uniform(1.0, 800.0)],
            [Uniform(-800.0, -1.4), Uniform(-800.0, -1.4)],
            [LogSigned(TINY, f64::MAX), Log(1.0, f64::MAX)],
        ],
    );
}

#[test]
fn xlogy() {
    sweep2(
        binary("xlogy"),
        &[[Uniform(-3.0, 3.0), Uniform(0.0, 3.0)], [LogSigned(1e-300, 1e300), Log(TINY, f64::MAX)]],
    );
}
