//! Every special function against a table of reference values, and at its special values.

use super::erf::erfcx;
use super::trig::{cos_pi, sin_pi};
use super::*;
use std::f64::consts::PI;

const REFERENCE: &str = include_str!("reference.txt");

/// `2^-53`, the largest relative error of one rounding.
const UNIT: f64 = 0.5 * f64::EPSILON;

const INF: f64 = f64::INFINITY;

/// The rows of the table for `name`: arguments and value.
fn rows(name: &str) -> Vec<(Vec<f64>, f64)> {
    let rows: Vec<_> = REFERENCE
        .lines()
        .filter_map(|line| {
            let mut words = line.split(' ');
            if words.next() != Some(name) {
                return None;
            }
            let mut numbers: Vec<f64> = words.map(|word| word.parse().unwrap()).collect();
            let value = numbers.pop().unwrap();
            Some((numbers, value))
        })
        .collect();
    assert!(rows.len() >= 25, "{name}: {} rows in the table", rows.len());
    rows
}

/// Checks the table's rows for `name`: the error is at most `limit` roundings, a function of the
/// arguments and the size of the value, plus half a step of the value for the rounding of the
/// table itself, and two steps more where numbers are subnormal. Zeros and infinities of the table
/// are to be met exactly.
fn check(name: &str, function: impl Fn(&[f64]) -> f64, limit: impl Fn(&[f64], f64) -> f64) {
    for (arguments, expected) in rows(name) {
        let value = function(&arguments);
        if expected == 0.0 || expected.is_infinite() {
            assert_eq!(value, expected, "{name}{arguments:?}");
            continue;
        }
        let size = expected.abs();
        let subnormal = if size < f64::MIN_POSITIVE { 1e-323 } else { 0.0 };
        let allowed = UNIT * (limit(&arguments, size) + size) + subnormal;
        let error = (value - expected).abs();
        assert!(
            error <= allowed, // False for NaN.
            "{name}{arguments:?} = {value:e}, not {expected:e}: error {error:e} over {allowed:e}"
        );
    }
}

/// [`check`] of a function of one argument with at most `bound` roundings of its value.
fn check_relative(name: &str, bound: f64, function: impl Fn(f64) -> f64) {
    check(name, |a| function(a[0]), |_, size| bound * size);
}

/// As [`check_relative`], of a function of several arguments.
fn check_relative_of(name: &str, bound: f64, function: impl Fn(&[f64]) -> f64) {
    check(name, function, |_, size| bound * size);
}

/// Equal with the sign of zero, or both NaN.
fn check_value(name: &str, function: impl Fn(f64) -> f64, cases: &[(f64, f64)]) {
    for &(x, expected) in cases {
        let value = function(x);
        let same = value.to_bits() == expected.to_bits() || (value.is_nan() && expected.is_nan());
        assert!(same, "{name}({x:?}) = {value:?}, expected {expected:?}");
    }
}

// The bounds are the worst errors that the comments of the functions state.

#[test]
fn trigonometric_functions_match_the_table() {
    check_relative("sin_pi", 2.0, sin_pi);
    check_relative("cos_pi", 2.0, cos_pi);
}

#[test]
fn derivatives_of_sinc_match_the_table() {
    let sinc = |a: &[f64]| sinc_derivative(a[0] as u32, a[1]);
    check("sinc_derivative", sinc, |a, _| 3.0 * PI.powf(a[0]));
}

/// Near zero, derivatives of odd order are small against `pi^n`, yet accurate to themselves:
/// `s^(n)(t) = (-1)^((n+1)/2) t / (n + 2)` up to `t^3`.
#[test]
fn odd_derivatives_of_sinc_are_accurate_next_to_zero() {
    for n in (1..20_u32).step_by(2) {
        for x in [1e-9, -1e-50, 1e-290] {
            let sign = if n % 4 == 1 { -1.0 } else { 1.0 };
            let expected = sign * PI.powi(n as i32 + 1) * x / f64::from(n + 2);
            let error = (sinc_derivative(n, x) / expected - 1.0).abs();
            assert!(error < 20.0 * UNIT, "order {n} at {x}: {error:e}");
        }
    }
}

#[test]
fn error_functions_match_the_table() {
    check_relative("erf", 1.3, erf);
    check_relative("erfc", 3.0, erfc);
    check_relative("erfcx", 4.5, erfcx);
    check_relative("erfinv", 1.7, erfinv);
    check_relative("gelu_erf", 6.5, gelu_erf);
}

#[test]
fn functions_of_the_normal_distribution_match_the_table() {
    check("erfcx_derivative", |a| erfcx_derivative(a[0] as u32, a[1]), |a, size| (5.0 + 4.0 * a[0]) * size);
    check_relative("normal_pdf", 4.0, normal_pdf);
    check_relative("normal_cdf", 6.5, normal_cdf);
    // The third derivative next to 0 has the cancellation of a small number.
    check(
        "log_normal_cdf",
        |a| log_normal_cdf(a[0] as u32, a[1]),
        |a, size| if a[0] < 3.0 { 10.0 * size } else { 80.0 * size },
    );
    check_relative("normal_quantile", 5.0, normal_quantile);
    check_relative("normal_quantile_slope", 10.0, normal_quantile_slope);
    check_relative("normal_quantile_of_log", 5.0, normal_quantile_of_log);
    check_relative("normal_quantile_of_log_slope", 10.0, normal_quantile_of_log_slope);
}

#[test]
fn special_values_of_the_normal_distribution() {
    let nan = f64::NAN;
    check_value("normal_pdf", normal_pdf, &[(INF, 0.0), (-INF, 0.0), (1e300, 0.0), (nan, nan)]);
    check_value("normal_cdf", normal_cdf, &[(0.0, 0.5), (INF, 1.0), (-INF, 0.0), (-1e300, 0.0), (nan, nan)]);
    check_value("log_normal_cdf", |x| log_normal_cdf(0, x), &[(INF, -0.0), (-INF, -INF), (-1e200, -INF), (nan, nan)]);
    check_value("hazard", |x| log_normal_cdf(1, x), &[(INF, 0.0), (-INF, INF), (nan, nan)]);
    check_value("log_normal_cdf''", |x| log_normal_cdf(2, x), &[(-1e160, -1.0), (INF, -0.0), (nan, nan)]);
    let infinite = [(0.0, -INF), (1.0, INF), (0.5, 0.0), (-1e-9, nan), (1.0 + 1e-9, nan), (nan, nan)];
    check_value("normal_quantile", normal_quantile, &infinite);
    let of_log = [(0.0, INF), (-INF, -INF), (1e-9, nan), (nan, nan)];
    check_value("normal_quantile_of_log", normal_quantile_of_log, &of_log);
    for n in 0..6 {
        let (left, right) = if n % 2 == 0 { (INF, 0.0) } else { (-INF, -0.0) };
        check_value("erfcx_derivative", |x| erfcx_derivative(n, x), &[(-INF, left), (INF, right), (nan, nan)]);
    }
}

/// Orders beyond the third, against differences of the order below.
#[test]
fn logarithmic_derivatives_of_any_order_belong_together() {
    for n in 3..7 {
        for x in [-40.0, -20.0, -2.5, -0.7, 0.4, 2.0] {
            let h = 1e-4 * f64::max(1.0, f64::abs(x));
            let slope = (log_normal_cdf(n, x + h) - log_normal_cdf(n, x - h)) / (2.0 * h);
            let stated = log_normal_cdf(n + 1, x);
            let size = stated.abs() + log_normal_cdf(n, x).abs();
            assert!((slope - stated).abs() < 1e-5 * size, "order {n} at {x}: {slope:e}, {stated:e}");
        }
    }
}

#[test]
fn the_beta_function_matches_the_table() {
    check("betaln", |a| betaln(a[0], a[1]), |_, size| 30.0 * size.max(1.0));
    check_relative_of("polygamma_drop", 8.0, |a| polygamma_drop(a[0] as u32, a[1], a[2]));
    let nan = f64::NAN;
    for (x, y, expected) in [(0.0, 1.0, INF), (1.0, INF, -INF), (-1.0, 2.0, nan), (nan, 1.0, nan), (1.0, 1.0, 0.0)] {
        check_value("betaln(., y)", |x| betaln(x, y), &[(x, expected)]);
        check_value("betaln(x, .)", |y| betaln(y, x), &[(y, expected)]);
    }
    // One number does not hide behind another: B(x, 1) = 1/x.
    for x in [1e-300, 1e-8, 0.7, 30.0, 1e10, 1e160] {
        let error = (betaln(x, 1.0) + f64::ln(x)).abs();
        assert!(error <= 4.0 * UNIT * f64::ln(x).abs().max(1.0), "{x}: {error:e}");
    }
}

#[test]
fn logistic_functions_match_the_table() {
    check_relative("sigmoid", 2.7, sigmoid);
    check_relative("softplus", 1.9, softplus);
    check_relative("silu", 3.0, silu);
    check_relative("gelu_tanh", 3.7, gelu_tanh);
    check_relative("mish", 5.0, mish);
    check_relative("logit", 3.0, logit);
    check_relative("entr", 2.0, entr);
    check("xlogy", |a| xlogy(a[0], a[1]), |_, size| 1.9 * size);
    check("xlog1py", |a| xlog1py(a[0], a[1]), |_, size| 2.5 * size);
    check("logaddexp", |a| logaddexp(a[0], a[1]), |a, size| 3.2 * size.max(a[0].max(a[1]).abs()));
}

#[test]
fn lgamma_matches_the_table() {
    check("lgamma", |a| lgamma(a[0]), |a, size| if a[0] > 0.0 { 3.4 * size } else { 18.0 * size });
}

#[test]
fn digamma_matches_the_table() {
    check(
        "digamma",
        |a| digamma(a[0]),
        |a, size| match a[0] {
            x if x > 0.0 => 6.2 * size,
            x => 8.4 * size.max(1.0).max((1.0 - x).ln()),
        },
    );
}

#[test]
fn polygamma_matches_the_table() {
    check(
        "polygamma",
        |a| polygamma(a[0] as u32, a[1]),
        |a, size| match (a[0] as u32, a[1]) {
            (n, x) if x < 0.0 => 25.0 * size.max(polygamma(n, 1.0 - x).abs()),
            (..=20, _) => 11.0 * size,
            _ => 60.0 * size,
        },
    );
}

#[test]
fn polygamma_of_high_order_is_accurate_to_its_order() {
    // Beyond order 170 the factorial is out of range while the result need not be. Values by mpmath
    // with 60 digits.
    let cases = [
        (171, 172.38086015408894, 4.15929727851981e-76),
        (200, 274.91054331024003, -8.055361359653282e-116),
        (500, 261.7488976830194, -6.248270936795437e-78),
        (1000, 534.7363798666445, -6.4491199554332924e-164),
    ];
    for (n, x, expected) in cases {
        let error = (polygamma(n, x) / expected - 1.0).abs();
        assert!(error < 4.0 * f64::from(n) * UNIT, "polygamma({n}, {x}): {error:e}");
    }
    assert_eq!(polygamma(u32::MAX, 0.5), INF);
    assert_eq!(polygamma(u32::MAX, 1e300), 0.0);
    assert_eq!(polygamma(171, 5e-324), INF);
    assert_eq!(polygamma(172, -5e-324), INF);
}

#[test]
fn polygamma_matches_both_sides_of_the_recurrence() {
    // polygamma(n, x+1) - polygamma(n, x) = (-1)^n n! / x^(n+1), for every order up to 20, across
    // the reflection and the methods on either side of 3/8.
    let mut factorial = 1.0;
    for n in 1..=20_u32 {
        factorial *= f64::from(n);
        for x in [-7.5, -3.125, -1.75, -0.625, -0.375, 0.5, 2.25] {
            let step = factorial / f64::powi(x, n as i32 + 1) * f64::powi(-1.0, n as i32);
            let (left, right) = (polygamma(n, x + 1.0), polygamma(n, x));
            let scale = left.abs().max(right.abs()).max(step.abs());
            let error = (left - right - step).abs() / scale;
            assert!(error < 120.0 * UNIT, "order {n} at {x}: {error:e}");
        }
    }
}

#[test]
fn special_values_of_trigonometric_functions() {
    check_value("sin_pi", sin_pi, &[(0.0, 0.0), (-0.0, -0.0), (1.0, 0.0), (-1.0, -0.0), (2.0, 0.0), (-2.0, -0.0)]);
    check_value("sin_pi", sin_pi, &[(0.5, 1.0), (-0.5, -1.0), (1e300, 0.0), (INF, f64::NAN)]);
    check_value("sin_pi", sin_pi, &[(-INF, f64::NAN), (f64::NAN, f64::NAN)]);
    check_value("cos_pi", cos_pi, &[(0.0, 1.0), (0.5, 0.0), (-0.5, 0.0), (1.5, 0.0), (1.0, -1.0)]);
    check_value("cos_pi", cos_pi, &[(1e300, 1.0), (INF, f64::NAN), (f64::NAN, f64::NAN)]);
    for n in 0..30 {
        let derivative = |x| sinc_derivative(n, x);
        check_value("sinc_derivative", derivative, &[(INF, 0.0), (-INF, 0.0), (f64::NAN, f64::NAN)]);
        if n % 2 == 1 {
            assert_eq!(derivative(0.0), 0.0, "order {n}");
        }
    }
    assert_eq!(sinc_derivative(0, 0.0), 1.0);
    assert_eq!(sinc_derivative(0, -0.0), 1.0);
    assert_eq!(sinc_derivative(0, 5e-324), 1.0);
    for integer in [1.0, -1.0, 2.0, 17.0, -1e6, 1e300] {
        assert_eq!(sinc_derivative(0, integer), 0.0, "sinc({integer})");
    }
    // Out of range, though the derivative of s is not; and its zero at zero all the same.
    assert!(sinc_derivative(1000, 0.0).is_infinite());
    assert_eq!(sinc_derivative(1001, 0.0), 0.0);
}

#[test]
fn special_values_of_error_functions() {
    let nan = f64::NAN;
    check_value("erf", erf, &[(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (nan, nan)]);
    check_value("erfc", erfc, &[(0.0, 1.0), (INF, 0.0), (-INF, 2.0), (nan, nan)]);
    check_value("erfcx", erfcx, &[(0.0, 1.0), (-0.0, 1.0), (INF, 0.0), (-INF, INF), (nan, nan)]);
    check_value("erfcx", erfcx, &[(-26.65, INF), (-1e200, INF)]);
    check_value("erfinv", erfinv, &[(0.0, 0.0), (-0.0, -0.0), (1.0, INF), (-1.0, -INF), (nan, nan)]);
    check_value("erfinv", erfinv, &[(1.0 + f64::EPSILON, nan), (-2.0, nan), (INF, nan), (-INF, nan)]);
    check_value("gelu_erf", gelu_erf, &[(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -0.0)]);
    check_value("gelu_erf", gelu_erf, &[(-1e200, -0.0), (1e308, 1e308), (nan, nan)]);
}

#[test]
fn special_values_of_logistic_functions() {
    let nan = f64::NAN;
    check_value("sigmoid", sigmoid, &[(0.0, 0.5), (-0.0, 0.5), (INF, 1.0), (-INF, 0.0), (nan, nan)]);
    check_value("softplus", softplus, &[(INF, INF), (-INF, 0.0), (1e308, 1e308), (nan, nan)]);
    check_value("logit", logit, &[(0.0, -INF), (1.0, INF), (0.5, 0.0), (-0.1, nan), (1.1, nan), (nan, nan)]);
    check_value("entr", entr, &[(0.0, 0.0), (-0.0, 0.0), (1.0, -0.0), (-1e-300, -INF), (INF, -INF), (nan, nan)]);
    for (name, function) in [("silu", silu as fn(f64) -> f64), ("gelu_tanh", gelu_tanh), ("mish", mish)] {
        check_value(name, function, &[(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -0.0)]);
        check_value(name, function, &[(-1e200, -0.0), (1e308, 1e308), (nan, nan)]);
    }
    let pairs = [
        (-INF, -INF, -INF),
        (INF, 0.0, INF),
        (0.0, INF, INF),
        (INF, INF, INF),
        (INF, -INF, INF),
        (-INF, 3.0, 3.0),
        (3.0, -INF, 3.0),
        (1e308, -1e308, 1e308),
        (nan, INF, nan),
        (-INF, nan, nan),
        (nan, nan, nan),
    ];
    for (x, y, expected) in pairs {
        check_value("logaddexp(., y)", |x| logaddexp(x, y), &[(x, expected)]);
    }
    let pairs = [
        (0.0, 0.0, 0.0),
        (-0.0, 0.0, 0.0),
        (0.0, -1.0, 0.0),
        (0.0, INF, 0.0),
        (0.0, nan, nan),
        (nan, 1.0, nan),
        (1.0, 0.0, -INF),
        (-2.0, 0.0, INF),
        (1.0, -1.0, nan),
        (2.0, INF, INF),
    ];
    for (x, y, expected) in pairs {
        check_value("xlogy(., y)", |x| xlogy(x, y), &[(x, expected)]);
    }
}

#[test]
fn special_values_of_the_gamma_family() {
    let nan = f64::NAN;
    check_value("lgamma", lgamma, &[(1.0, 0.0), (2.0, 0.0), (0.0, INF), (-0.0, INF), (nan, nan)]);
    check_value("lgamma", lgamma, &[(-1.0, INF), (-2.0, INF), (-1e300, INF), (-INF, INF)]);
    check_value("lgamma", lgamma, &[(INF, INF), (2.6e305, INF), (1.7e308, INF)]);
    check_value("digamma", digamma, &[(0.0, -INF), (-0.0, INF), (5e-324, -INF), (-5e-324, INF)]);
    check_value("digamma", digamma, &[(-1.0, nan), (-2.0, nan), (-1e300, nan), (-INF, nan)]);
    check_value("digamma", digamma, &[(INF, INF), (nan, nan)]);
    assert_eq!(polygamma(0, 1.7).to_bits(), digamma(1.7).to_bits());
    for n in 1..25 {
        let odd = n % 2 == 1;
        let pole = if odd { INF } else { nan };
        let (left, right) = if odd { (INF, INF) } else { (INF, -INF) };
        let limit = if odd { 0.0 } else { -0.0 };
        let function = |x| polygamma(n, x);
        check_value("polygamma", function, &[(0.0, pole), (-0.0, pole), (-1.0, pole), (-2.0, pole)]);
        check_value("polygamma", function, &[(-1e300, pole), (5e-324, right), (-5e-324, left)]);
        check_value("polygamma", function, &[(INF, limit), (-INF, nan), (nan, nan)]);
    }
}

/// Neighbouring numbers on either side of a rounded zero have values of opposite signs, also where
/// the logarithms that cancel there are far larger than the result.
#[test]
fn lgamma_changes_sign_at_its_zeros() {
    for zero in [-2.4570247382208006, -2.7476826467274127, -9.99999972442663, -13.00000000016059] {
        let (below, above) = (lgamma(f64::next_down(zero)), lgamma(f64::next_up(zero)));
        assert!(below * above < 0.0, "around {zero}: {below:e} and {above:e}");
    }
}
