//! Special values: zeros of both signs, infinities, NaN, ends of the range, exact results.

use super::check::{Random, at_every_level, cases, cases2, same};
use super::sweeps::{binary, unary};
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};
use wengert_kernels::{Level, Work, math};

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;
/// The smallest positive number.
const TINY: f64 = 5e-324;
const MAX: f64 = f64::MAX;

#[test]
fn exponentials() {
    let ends = [(NAN, NAN), (INF, INF), (MAX, INF), (0.0, 1.0), (-0.0, 1.0), (TINY, 1.0)];
    let exp = unary("exp");
    cases(exp, &ends);
    cases(exp, &[(-INF, 0.0), (-MAX, 0.0), (709.8, INF), (-745.2, 0.0), (-745.1, TINY)]);
    let exp2 = unary("exp2");
    cases(exp2, &ends);
    cases(exp2, &[(-INF, 0.0), (1024.0, INF), (1023.0, 2f64.powi(1023)), (-1074.0, TINY)]);
    // Half of the smallest number is a tie, which goes to the even zero.
    cases(exp2, &[(-1075.0, 0.0), (-1074.5, TINY), (-1022.0, f64::MIN_POSITIVE)]);
    let odd = [(NAN, NAN), (INF, INF), (0.0, 0.0), (-0.0, -0.0), (TINY, TINY), (-TINY, -TINY)];
    cases(unary("expm1"), &odd);
    cases(unary("expm1"), &[(-INF, -1.0), (-MAX, -1.0), (-50.0, -1.0), (MAX, INF), (710.0, INF)]);
}

#[test]
fn hyperbolic_functions() {
    let odd = [(NAN, NAN), (0.0, 0.0), (-0.0, -0.0), (TINY, TINY), (-TINY, -TINY)];
    cases(unary("sinh"), &odd);
    cases(unary("sinh"), &[(INF, INF), (-INF, -INF), (711.0, INF), (-MAX, -INF)]);
    cases(unary("cosh"), &[(NAN, NAN), (0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, INF)]);
    cases(unary("cosh"), &[(711.0, INF), (-MAX, INF), (TINY, 1.0), (1e-9, 1.0)]);
    cases(unary("tanh"), &odd);
    cases(unary("tanh"), &[(INF, 1.0), (-INF, -1.0), (MAX, 1.0), (-20.0, -1.0)]);
    cases(unary("sigmoid"), &[(NAN, NAN), (0.0, 0.5), (-0.0, 0.5), (INF, 1.0), (-INF, 0.0)]);
    cases(unary("sigmoid"), &[(MAX, 1.0), (-MAX, 0.0), (40.0, 1.0), (-745.1, TINY), (-745.2, 0.0)]);
    cases(unary("softplus"), &[(NAN, NAN), (INF, INF), (-INF, 0.0), (MAX, MAX), (-MAX, 0.0)]);
    cases(unary("softplus"), &[(0.0, std::f64::consts::LN_2), (-745.1, TINY), (50.0, 50.0)]);
}

#[test]
fn logarithms() {
    let ends = [(NAN, NAN), (INF, INF), (0.0, -INF), (-0.0, -INF), (-TINY, NAN), (-INF, NAN), (1.0, 0.0)];
    for name in ["ln", "log2", "log10"] {
        cases(unary(name), &ends);
    }
    let powers: Vec<(f64, f64)> =
        (-1074..1024).map(|k| (2f64.powi(k.max(-1022)) * 2f64.powi((k + 1022).min(0)), f64::from(k))).collect();
    cases(unary("log2"), &powers);
    let powers: Vec<(f64, f64)> = (0..23).map(|k| (10f64.powi(k), f64::from(k))).collect();
    cases(unary("log10"), &powers);
    let log1p = unary("log1p");
    cases(log1p, &[(NAN, NAN), (INF, INF), (0.0, 0.0), (-0.0, -0.0), (TINY, TINY), (-TINY, -TINY)]);
    cases(log1p, &[(-1.0, -INF), (-1.0 - f64::EPSILON, NAN), (-INF, NAN), (-MAX, NAN)]);
}

#[test]
fn trigonometric_functions() {
    let odd = [(NAN, NAN), (INF, NAN), (-INF, NAN), (0.0, 0.0), (-0.0, -0.0), (TINY, TINY), (-TINY, -TINY)];
    cases(unary("sin"), &odd);
    cases(unary("tan"), &odd);
    cases(unary("cos"), &[(NAN, NAN), (INF, NAN), (-INF, NAN), (0.0, 1.0), (-0.0, 1.0), (TINY, 1.0)]);
    let large = [131_072.00000000001, -131_073.0, 1e6, -1e22, MAX];
    cases(unary("sin"), &large.map(|x| (x, x.sin())));
    cases(unary("cos"), &large.map(|x| (x, x.cos())));
    cases(unary("tan"), &large.map(|x| (x, x.tan())));
    cases(unary("sin"), &[(FRAC_PI_2, 1.0), (-FRAC_PI_2, -1.0), (FRAC_PI_4, 0.7071067811865475)]);
    cases(unary("cos"), &[(PI, -1.0), (FRAC_PI_2, 6.123233995736766e-17)]);
}

#[test]
fn inverse_trigonometric_functions() {
    let odd = [(NAN, NAN), (0.0, 0.0), (-0.0, -0.0), (TINY, TINY), (-TINY, -TINY)];
    cases(unary("asin"), &odd);
    cases(unary("asin"), &[(1.0, FRAC_PI_2), (-1.0, -FRAC_PI_2), (1.0 + f64::EPSILON, NAN), (INF, NAN)]);
    cases(unary("atan"), &odd);
    cases(unary("atan"), &[(INF, FRAC_PI_2), (-INF, -FRAC_PI_2), (MAX, FRAC_PI_2), (-1.0, -FRAC_PI_4)]);
    cases(unary("acos"), &[(NAN, NAN), (0.0, FRAC_PI_2), (-0.0, FRAC_PI_2), (1.0, 0.0), (-1.0, PI)]);
    cases(unary("acos"), &[(1.0 + f64::EPSILON, NAN), (-INF, NAN), (TINY, FRAC_PI_2)]);
}

#[test]
fn inverse_hyperbolic_functions() {
    let odd = [(NAN, NAN), (0.0, 0.0), (-0.0, -0.0), (TINY, TINY), (-TINY, -TINY)];
    cases(unary("asinh"), &odd);
    cases(unary("asinh"), &[(INF, INF), (-INF, -INF), (MAX, 710.4758600739439), (-MAX, -710.4758600739439)]);
    cases(unary("atanh"), &odd);
    cases(unary("atanh"), &[(1.0, INF), (-1.0, -INF), (1.0 + f64::EPSILON, NAN), (-INF, NAN), (MAX, NAN)]);
    cases(unary("acosh"), &[(NAN, NAN), (1.0, 0.0), (INF, INF), (MAX, 710.4758600739439)]);
    cases(unary("acosh"), &[(1.0 - f64::EPSILON, NAN), (0.0, NAN), (-1.0, NAN), (-INF, NAN), (-MAX, NAN)]);
}

#[test]
fn activations() {
    for name in ["silu", "gelu_erf", "gelu_tanh"] {
        cases(unary(name), &[(NAN, NAN), (0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -0.0)]);
        cases(unary(name), &[(MAX, MAX), (-MAX, -0.0), (1000.0, 1000.0), (-1000.0, -0.0)]);
        // Half of the smallest number is a tie, which goes to the even zero.
        cases(unary(name), &[(TINY, 0.0), (-TINY, -0.0), (4.0 * TINY, 2.0 * TINY), (1e-300, 5e-301)]);
    }
    let slope = unary("gelu_tanh_slope");
    cases(
        slope,
        &[(NAN, NAN), (0.0, 0.5), (-0.0, 0.5), (INF, 1.0), (-INF, -0.0), (MAX, 1.0), (-MAX, -0.0), (TINY, 0.5)],
    );
    cases(unary("sech2"), &[(NAN, NAN), (0.0, 1.0), (-0.0, 1.0), (INF, 0.0), (-INF, 0.0), (MAX, 0.0), (TINY, 1.0)]);
}

#[test]
fn sums_of_exponentials_and_products_with_logarithms() {
    let logaddexp = binary("logaddexp");
    cases2(logaddexp, &[(-INF, -INF, -INF), (INF, INF, INF), (-INF, INF, INF), (INF, -INF, INF), (-INF, 2.0, 2.0)]);
    cases2(logaddexp, &[(INF, 1.0, INF), (MAX, -MAX, MAX), (-MAX, -MAX, -MAX), (MAX, MAX, MAX), (-MAX, 1.0, 1.0)]);
    cases2(logaddexp, &[(0.0, 0.0, std::f64::consts::LN_2), (-0.0, -0.0, std::f64::consts::LN_2)]);
    cases2(logaddexp, &[(NAN, 1.0, NAN), (1.0, NAN, NAN), (INF, NAN, NAN), (NAN, -INF, NAN)]);
    let xlogy = binary("xlogy");
    cases2(xlogy, &[(0.0, 0.0, 0.0), (-0.0, 0.0, 0.0), (0.0, INF, 0.0), (0.0, -1.0, 0.0), (0.0, NAN, NAN)]);
    cases2(xlogy, &[(2.0, 0.0, -INF), (-2.0, 0.0, INF), (2.0, -1.0, NAN), (INF, 1.0, NAN), (2.0, INF, INF)]);
    cases2(xlogy, &[(NAN, 1.0, NAN), (NAN, 0.0, NAN), (3.0, 1.0, 0.0), (-3.0, 1.0, -0.0)]);
}

/// IEEE 754-2019, section 9.2.
#[test]
fn angles_of_points() {
    let three_quarters = 3.0 * FRAC_PI_4;
    let table = [
        (0.0, 0.0, 0.0),
        (-0.0, 0.0, -0.0),
        (0.0, -0.0, PI),
        (-0.0, -0.0, -PI),
        (0.0, 3.0, 0.0),
        (-0.0, 3.0, -0.0),
        (0.0, -3.0, PI),
        (-0.0, -TINY, -PI),
        (3.0, 0.0, FRAC_PI_2),
        (-3.0, -0.0, -FRAC_PI_2),
        (TINY, 0.0, FRAC_PI_2),
        (INF, 1.0, FRAC_PI_2),
        (-INF, -MAX, -FRAC_PI_2),
        (1.0, INF, 0.0),
        (-1.0, INF, -0.0),
        (1.0, -INF, PI),
        (-1.0, -INF, -PI),
        (INF, INF, FRAC_PI_4),
        (-INF, INF, -FRAC_PI_4),
        (INF, -INF, three_quarters),
        (-INF, -INF, -three_quarters),
        (NAN, 1.0, NAN),
        (1.0, NAN, NAN),
        (INF, NAN, NAN),
        (TINY, TINY, FRAC_PI_4),
        (MAX, MAX, FRAC_PI_4),
        (MAX, -MAX, three_quarters),
        (TINY, MAX, 0.0),
        (TINY, -MAX, PI),
        (MAX, TINY, FRAC_PI_2),
        (TINY, 2.0, 0.0),
        (TINY, 1.0, TINY),
    ];
    cases2(binary("atan2"), &table);
}

#[test]
fn roots() {
    let odd = [(NAN, NAN), (INF, INF), (0.0, 0.0), (-0.0, -0.0)];
    cases(unary("sqrt"), &odd);
    cases(unary("sqrt"), &[(-TINY, NAN), (-INF, NAN), (4.0, 2.0)]);
    cases(unary("cbrt"), &odd);
    cases(unary("cbrt"), &[(-INF, -INF), (1.0, 1.0), (-1.0, -1.0)]);
    let cubes: Vec<(f64, f64)> = (1..=2000).map(|n| (f64::from(n).powi(3), f64::from(n))).collect();
    cases(unary("cbrt"), &cubes);
    cases(unary("cbrt"), &[(2f64.powi(-1074), 2f64.powi(-358)), (2f64.powi(1023), 2f64.powi(341))]);
    let hypot = binary("hypot");
    cases2(hypot, &[(0.0, 0.0, 0.0), (-0.0, 0.0, 0.0), (INF, NAN, INF), (NAN, -INF, INF), (NAN, 1.0, NAN)]);
    cases2(hypot, &[(1.0, NAN, NAN), (TINY, 0.0, TINY), (0.0, -MAX, MAX), (MAX, MAX, INF), (-3.0, 4.0, 5.0)]);
}

#[test]
fn error_functions() {
    let odd = [(NAN, NAN), (0.0, 0.0), (-0.0, -0.0), (TINY, TINY), (-TINY, -TINY)];
    cases(unary("erf"), &odd);
    cases(unary("erf"), &[(INF, 1.0), (-INF, -1.0), (6.0, 1.0), (-MAX, -1.0)]);
    cases(
        unary("erfinv"),
        &[(NAN, NAN), (0.0, 0.0), (-0.0, -0.0), (1.0, INF), (-1.0, -INF), (1.0 + f64::EPSILON, NAN)],
    );
    cases(unary("erfinv"), &[(-2.0, NAN), (INF, NAN), (-INF, NAN)]);
    cases(unary("erfc"), &[(NAN, NAN), (0.0, 1.0), (-0.0, 1.0), (INF, 0.0), (-INF, 2.0), (TINY, 1.0)]);
    cases(unary("erfc"), &[(MAX, 0.0), (-MAX, 2.0), (27.3, 0.0), (-6.0, 2.0)]);
}

/// IEEE 754-2019, section 9.2.1.
#[test]
fn powers() {
    let pow = binary("pow");
    for x in [0.0, -0.0, 1.0, -1.0, 2.5, INF, -INF, NAN, TINY, MAX] {
        cases2(pow, &[(x, 0.0, 1.0), (x, -0.0, 1.0), (1.0, x, 1.0)]);
    }
    for x in [2.0, -2.0, INF, -INF] {
        cases2(pow, &[(x, NAN, NAN), (NAN, x, NAN), (x, -INF, 0.0), (x, INF, INF)]);
        cases2(pow, &[(1.0 / x, INF, 0.0), (1.0 / x, -INF, INF)]);
    }
    cases2(pow, &[(-1.0, INF, 1.0), (-1.0, -INF, 1.0), (-1.0, MAX, 1.0), (-1.0, 3.0, -1.0)]);
    cases2(pow, &[(0.0, 3.0, 0.0), (-0.0, 3.0, -0.0), (-0.0, 2.0, 0.0), (-0.0, 0.5, 0.0)]);
    cases2(pow, &[(0.0, -3.0, INF), (-0.0, -3.0, -INF), (-0.0, -2.0, INF), (-0.0, -0.5, INF)]);
    cases2(pow, &[(-INF, 3.0, -INF), (-INF, 2.0, INF), (-INF, 0.5, INF)]);
    cases2(pow, &[(-INF, -3.0, -0.0), (-INF, -2.0, 0.0), (-INF, -0.5, 0.0)]);
    cases2(pow, &[(-2.0, 0.5, NAN), (-2.0, 1e-300, NAN), (-TINY, TINY, NAN)]);
    cases2(pow, &[(-2.0, 1023.0, -2f64.powi(1023)), (-2.0, 1024.0, INF), (-2.0, 1025.0, -INF)]);
    cases2(pow, &[(-2.0, -1073.0, -1e-323), (-2.0, -1077.0, -0.0), (2.0, -1074.0, TINY)]);
    // The last odd numbers, and the first that can only be even.
    let odd = 2f64.powi(53) - 1.0;
    cases2(pow, &[(-1.0, odd, -1.0), (-1.0, odd + 1.0, 1.0), (-1.0, 2f64.powi(52) + 1.0, -1.0)]);
    cases2(pow, &[(1.0 + f64::EPSILON, MAX, INF), (1.0 - f64::EPSILON, MAX, 0.0), (TINY, MAX, 0.0)]);
    cases2(pow, &[(10.0, 2.0, 100.0), (3.0, -1.0, 1.0 / 3.0), (7.0, 1.0, 7.0), (TINY, 1.0, TINY)]);
}

/// Sine and cosine together, over blocks of five.
#[derive(Clone)]
struct SinCos(Vec<[f64; 5]>);

impl Work for SinCos {
    type Output = Vec<([f64; 5], [f64; 5])>;
    #[inline(always)]
    fn run(self) -> Self::Output {
        self.0.iter().map(|&x| math::sin_cos(x)).collect()
    }
}

#[test]
fn sine_and_cosine_together_are_those_alone() {
    let mut random = Random::new(9);
    let blocks: Vec<[f64; 5]> =
        (0..20_000).map(|_| std::array::from_fn(|_| random.sign() * random.log_spaced(TINY, 1e7))).collect();
    for results in at_every_level(&SinCos(blocks.clone())) {
        for (x, (sin, cos)) in blocks.iter().zip(results) {
            for i in 0..5 {
                assert!(same(sin[i], math::sin([x[i]])[0]), "{:e}", x[i]);
                assert!(same(cos[i], math::cos([x[i]])[0]), "{:e}", x[i]);
            }
        }
    }
}

/// A number has the same result wherever it stands and however long the block is.
#[test]
fn results_do_not_depend_on_the_block() {
    let mut random = Random::new(10);
    for f in super::sweeps::UNARY {
        let x: Vec<f64> = (0..1003).map(|_| random.sign() * random.log_spaced(1e-9, 1e6)).collect();
        let mut whole = vec![0.0; x.len()];
        (f.kernel)(Level::Avx512, &x, &mut whole);
        for shift in [1, 3, 996] {
            let mut part = vec![0.0; x.len() - shift];
            (f.kernel)(Level::Avx512, &x[shift..], &mut part);
            for (a, b) in whole[shift..].iter().zip(&part) {
                assert!(same(*a, *b), "{}: {a:e} {b:e}", f.name);
            }
        }
    }
}
