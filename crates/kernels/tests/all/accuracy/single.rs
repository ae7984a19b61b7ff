//! The functions of `f32`, and those of `f64` called one number at a time.
//!
//! The reference for `f32` is the function of `f64`, which the other sweeps hold to at most four
//! units in its last place: 2^-27 of a unit of `f32`, so what is measured here is the error of
//! the `f32` function to eight digits.

use super::check::Range::{Log, LogSigned, Near, Points, Uniform};
use super::check::{Random, Range, levels, points_of_a_range, same};
use super::reference::exponent_of;
use crate::nightly::nightly;
use wengert_kernels::{Float, Level, Work, dispatch_at};

/// A function of one or two numbers, over slices, for both types.
struct Function {
    name: &'static str,
    single: fn(Level, &[f32], &[f32], &mut [f32]),
    double: fn(Level, &[f64], &[f64], &mut [f64]),
    /// One number, outside of [`dispatch_at`].
    one: fn(f32, f32) -> f32,
    /// Units in the last place of `f32`.
    bound: f64,
}

/// A loop over slices at a level that calls the function by its name.
macro_rules! kernel {
    ($float:ty, |$x:ident, $y:ident| $body:expr) => {
        |level, a, b, c| {
            struct Loop<'a>(&'a [$float], &'a [$float], &'a mut [$float]);
            impl Work for Loop<'_> {
                type Output = ();
                #[inline(always)]
                fn run(self) {
                    for ((z, &$x), &$y) in self.2.iter_mut().zip(self.0).zip(self.1) {
                        *z = $body;
                    }
                }
            }
            dispatch_at(level, Loop(a, b, c));
        }
    };
}

macro_rules! unary {
    ($name:ident, $bound:expr) => {
        Function {
            name: stringify!($name),
            single: kernel!(f32, |x, _y| Float::$name(x)),
            double: kernel!(f64, |x, _y| Float::$name(x)),
            one: |x, _| Float::$name(x),
            bound: $bound,
        }
    };
}

macro_rules! binary {
    ($name:ident, $bound:expr) => {
        Function {
            name: stringify!($name),
            single: kernel!(f32, |x, y| Float::$name(x, y)),
            double: kernel!(f64, |x, y| Float::$name(x, y)),
            one: |x, y| Float::$name(x, y),
            bound: $bound,
        }
    };
}

/// A function of a slice, which has other code than the function of one number.
macro_rules! slice {
    ($name:ident, $slice:ident, $bound:expr) => {
        Function {
            name: stringify!($name),
            single: |level, a, _, c| {
                struct Slices<'a>(&'a [f32], &'a mut [f32]);
                impl Work for Slices<'_> {
                    type Output = ();
                    #[inline(always)]
                    fn run(self) {
                        Float::$slice(self.0, self.1);
                    }
                }
                dispatch_at(level, Slices(a, c));
            },
            double: |level, a, _, c| {
                struct Slices<'a>(&'a [f64], &'a mut [f64]);
                impl Work for Slices<'_> {
                    type Output = ();
                    #[inline(always)]
                    fn run(self) {
                        Float::$slice(self.0, self.1);
                    }
                }
                dispatch_at(level, Slices(a, c));
            },
            one: |x, _| Float::$name(x),
            bound: $bound,
        }
    };
}

/// In the order of the crate's table.
const UNARY: [Function; 33] = [
    unary!(exp, 0.6),
    unary!(exp2, 0.6),
    unary!(expm1, 0.6),
    unary!(ln, 0.6),
    unary!(log1p, 0.6),
    unary!(log2, 0.6),
    unary!(log10, 0.6),
    unary!(sqrt, 0.5),
    unary!(rsqrt, 1.5),
    unary!(cbrt, 0.6),
    slice!(sin, sin_slice, 0.6),
    slice!(cos, cos_slice, 0.6),
    slice!(tan, tan_slice, 0.6),
    unary!(asin, 0.6),
    unary!(acos, 0.6),
    unary!(atan, 0.6),
    unary!(sinh, 0.6),
    unary!(cosh, 0.6),
    unary!(tanh, 0.6),
    unary!(sech2, 0.6),
    unary!(asinh, 0.6),
    unary!(acosh, 0.6),
    unary!(atanh, 0.6),
    unary!(sigmoid, 0.6),
    unary!(softplus, 0.6),
    unary!(silu, 0.6),
    unary!(gelu_erf, 0.6),
    unary!(gelu_tanh, 0.6),
    unary!(gelu_tanh_slope, 0.6),
    unary!(erf, 0.6),
    unary!(erfc, 0.6),
    unary!(erfinv, 0.6),
    unary!(relu, 0.0),
];

const BINARY: [Function; 5] =
    [binary!(pow, 0.6), binary!(atan2, 0.6), binary!(hypot, 0.6), binary!(logaddexp, 0.6), binary!(xlogy, 0.6)];

/// The largest `f32` and the smallest positive one.
const MAX: f64 = f32::MAX as f64;
const TINY: f64 = 1.401298464324817e-45;

/// The error of `y` in units in the last place of the value; infinity counts as `2^128`.
fn error_in_ulps(y: f32, value: f64) -> f64 {
    if y.is_nan() || value.is_nan() {
        return if y.is_nan() && value.is_nan() { 0.0 } else { f64::INFINITY };
    }
    let bounded = |v: f64| if v.abs() >= 2f64.powi(128) { 2f64.powi(128).copysign(v) } else { v };
    let (y, value) = (bounded(f64::from(y)), bounded(value));
    let exponent = if value == 0.0 { -149 } else { (exponent_of(value) - 23).max(-149) };
    (y - value).abs() * 2f64.powi(-exponent)
}

/// The same for a function, whose error is relative to something larger than the value in places.
fn error_of(function: &Function, [x, y]: [f32; 2], found: f32, value: f64) -> f64 {
    let error = error_in_ulps(found, value);
    match function.name {
        // Where e^x + e^y is about one: to the larger argument.
        "logaddexp" => {
            let larger = f64::from(x.abs().max(y.abs())) / value.abs();
            if larger.is_finite() { error / larger.max(1.0) } else { error }
        }
        // Around its zero: to 1/4.
        "gelu_tanh_slope" if (-2.0..-0.3).contains(&x) => (f64::from(found) - value).abs() * 2f64.powi(25),
        _ => error,
    }
}

/// Evenly spaced among all bits, of both signs, with the NaNs.
fn all_bits(random: &mut Random) -> Vec<f64> {
    (0..2 * points_of_a_range())
        .map(|_| f64::from(f32::from_bits(random.uniform(0.0, 4_294_967_296.0) as u32)))
        .collect()
}

/// The numbers of a range, rounded to `f32`.
fn rounded(points: Vec<f64>) -> Vec<f32> {
    points.into_iter().map(|x| x as f32).collect()
}

/// The largest error of a function at some points, after comparing the levels, and where it is.
fn worst(function: &Function, x: &[f32], y: &[f32]) -> (f64, [f32; 2]) {
    let mut z = vec![0.0; x.len()];
    (function.single)(Level::Baseline, x, y, &mut z);
    for level in levels() {
        let mut other = vec![0.0; x.len()];
        (function.single)(level, x, y, &mut other);
        for (i, (a, b)) in z.iter().zip(&other).enumerate() {
            let name = function.name;
            assert!(same(f64::from(*a), f64::from(*b)), "{name}({:e}, {:e}): {a:e}, {level:?} {b:e}", x[i], y[i]);
        }
    }
    let wide = |v: &[f32]| v.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
    let mut reference = vec![0.0; x.len()];
    (function.double)(Level::Avx512, &wide(x), &wide(y), &mut reference);
    let at = |i: usize| [x[i], y[i]];
    let errors = z.iter().zip(&reference).enumerate().map(|(i, (&z, &value))| (i, error_of(function, at(i), z, value)));
    errors.fold((0.0, [0.0; 2]), |found, (i, error)| if error > found.0 { (error, at(i)) } else { found })
}

#[expect(clippy::print_stdout, reason = "the measured errors are a result of the test")]
fn report(function: &Function, (error, at): (f64, [f32; 2])) {
    println!("f32 {}: {error:.4} ulp at {at:?}, bound {}", function.name, function.bound);
    assert!(error <= function.bound, "{}({at:?}) is off by {error} ulp", function.name);
}

#[test]
fn single_functions_of_one_number_are_accurate() {
    let step = if nightly() { 1 } else { 3 };
    let turns: Vec<f64> =
        (1..200_000).step_by(step).map(|k| f64::from(k) * 157.0 * std::f64::consts::FRAC_PI_4).collect();
    let ranges = [
        Uniform(-1.5, 1.5),
        Uniform(-12.0, 12.0),
        Uniform(-180.0, 180.0),
        LogSigned(1e-12, 1e3),
        Uniform(0.9, 1.1),
        Log(1.0, MAX),
        Uniform(80.0, 110.0),
        Uniform(-110.0, -80.0),
        Points(&turns),
    ];
    let mut random = Random::new(11);
    let mut points = rounded(all_bits(&mut random));
    for range in &ranges {
        points.extend(rounded(range.points(&mut random)));
    }
    for function in &UNARY {
        report(function, worst(function, &points, &points));
    }
}

#[test]
fn single_functions_of_two_numbers_are_accurate() {
    let mut random = Random::new(12);
    let ranges: [[Range; 2]; 7] = [
        [Uniform(-3.0, 3.0), Uniform(-3.0, 3.0)],
        [Uniform(0.0, 10.0), Uniform(-40.0, 40.0)],
        [LogSigned(TINY, MAX), LogSigned(TINY, MAX)],
        [Near(&[1.0]), LogSigned(1e3, 1e9)],
        [Uniform(0.99, 1.01), Uniform(-8800.0, 8800.0)],
        [LogSigned(1e-3, 1e3), LogSigned(1e-9, 1e9)],
        [Log(TINY, MAX), Uniform(-2.0, 2.0)],
    ];
    let (mut x, mut y) = (rounded(all_bits(&mut random)), rounded(all_bits(&mut random)));
    for [first, second] in &ranges {
        x.extend(rounded(first.points(&mut random)));
        y.extend(rounded(second.points(&mut random)));
    }
    for function in &BINARY {
        report(function, worst(function, &x, &y));
    }
}

/// Ends of domains and ranges, and numbers at which functions are exact or change their formula.
const SPECIAL: [f32; 30] = [
    0.0,
    -0.0,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
    1e-45,
    -1e-45,
    f32::MIN_POSITIVE,
    -f32::MIN_POSITIVE,
    f32::MAX,
    f32::MIN,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.0,
    -2.0,
    3.0,
    -3.0,
    1.0 + f32::EPSILON,
    -1.0 - f32::EPSILON,
    1.0 - f32::EPSILON / 2.0,
    88.8,
    -88.8,
    -104.1,
    33_554_434.0,
    -1e10,
    3e-5,
    16.0,
    -150.5,
];

/// The tables of special values pin the functions of `f64`; here those of `f32` follow, with the
/// sign of a zero.
#[test]
fn single_functions_have_the_special_values_of_double_ones() {
    let pairs: Vec<(f32, f32)> = SPECIAL.iter().flat_map(|&x| SPECIAL.map(|y| (x, y))).collect();
    let (x, y): (Vec<f32>, Vec<f32>) = pairs.into_iter().unzip();
    let wide = |v: &[f32]| v.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
    for function in UNARY.iter().chain(&BINARY) {
        let mut reference = vec![0.0; x.len()];
        (function.double)(Level::Baseline, &wide(&x), &wide(&y), &mut reference);
        for level in levels() {
            let mut z = vec![0.0; x.len()];
            (function.single)(level, &x, &y, &mut z);
            for (i, (z, value)) in z.iter().zip(&reference).enumerate() {
                let (name, x, y) = (function.name, x[i], y[i]);
                let close = error_of(function, [x, y], *z, *value) <= function.bound;
                let close = close && z.is_sign_negative() == value.is_sign_negative();
                assert!(close || (z.is_nan() && value.is_nan()), "{name}({x:e}, {y:e}) is {z:e}, not {value:e}");
            }
        }
    }
}

/// A number has the same result in a vector, at the end of a slice and alone.
#[test]
fn results_do_not_depend_on_the_place() {
    let mut random = Random::new(13);
    let mut draw = || (0..1003).map(|_| (random.sign() * random.log_spaced(1e-9, 1e9)) as f32).collect();
    let (x, y): (Vec<f32>, Vec<f32>) = (draw(), draw());
    for function in UNARY.iter().chain(&BINARY) {
        let name = function.name;
        let mut whole = vec![0.0; x.len()];
        (function.single)(Level::Avx512, &x, &y, &mut whole);
        for shift in (1..66).chain([987, 1000, 1002]) {
            let mut part = vec![0.0; x.len() - shift];
            (function.single)(Level::Avx512, &x[shift..], &y[shift..], &mut part);
            for (i, (a, b)) in whole[shift..].iter().zip(&part).enumerate() {
                assert!(same(f64::from(*a), f64::from(*b)), "{name}({:e}, {:e})", x[shift + i], y[shift + i]);
            }
        }
        for ((&x, &y), &z) in x.iter().zip(&y).zip(&whole) {
            assert!(same(f64::from((function.one)(x, y)), f64::from(z)), "{name}({x:e}, {y:e}) alone");
        }
    }
}

/// Functions without mathematics, for both types: the result is exact, zeros keep their sign.
macro_rules! plain_functions_are_exact {
    ($float:ident) => {{
        let integers = 2.0 / $float::EPSILON;
        let mut random = Random::new(14);
        let mut points: Vec<$float> = vec![0.0, 0.5, 1.5, 2.5, 1.0, 1.0 - $float::EPSILON / 2.0, 1e-40 as $float];
        points.extend([$float::INFINITY, $float::NAN, $float::MAX, $float::MIN_POSITIVE]);
        points.extend([integers, integers / 2.0, integers / 2.0 - 0.5, integers / 4.0 + 0.5, integers / 4.0 + 0.25]);
        points.extend((0..20_000).map(|_| random.log_spaced(1e-3, 1e17) as $float));
        points.extend((0..20_000).map(|_| (random.uniform(0.0, 100.0) * 4.0).floor() as $float / 4.0));
        let same = |a: $float, b: $float| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
        for x in points.iter().flat_map(|&x| [x, -x]) {
            assert!(same(Float::floor(x), $float::floor(x)), "floor {x:e}");
            assert!(same(Float::ceil(x), $float::ceil(x)), "ceil {x:e}");
            assert!(same(Float::round(x), $float::round_ties_even(x)), "round {x:e}");
            assert!(same(Float::trunc(x), $float::trunc(x)), "trunc {x:e}");
            assert!(same(Float::abs(x), $float::abs(x)), "abs {x:e}");
            let sign = if x == 0.0 || x.is_nan() { x } else { $float::signum(x) };
            assert!(same(Float::sign(x), sign), "sign {x:e}");
            let relu = if x > 0.0 || x.is_nan() { x } else { 0.0 };
            assert!(same(Float::relu(x), relu), "relu {x:e}");
            for y in [0.0, -0.0, 1.0, -2.5, $float::INFINITY, $float::NAN] {
                let nan = x.is_nan() || y.is_nan();
                let order = if x == y { y.is_sign_negative() } else { x > y };
                let (larger, smaller) = if order { (x, y) } else { (y, x) };
                assert!(same(Float::max(x, y), if nan { $float::NAN } else { larger }), "max {x:e} {y:e}");
                assert!(same(Float::min(x, y), if nan { $float::NAN } else { smaller }), "min {x:e} {y:e}");
                assert!(same(Float::copysign(x, y), $float::copysign(x, y)), "copysign {x:e} {y:e}");
                assert!(same(Float::mul_add(x, y, x), $float::mul_add(x, y, x)), "mul_add {x:e} {y:e}");
            }
        }
    }};
}

#[test]
fn functions_without_mathematics_are_exact() {
    plain_functions_are_exact!(f32);
    plain_functions_are_exact!(f64);
    assert_eq!((f32::from_f64(0.1), 0.1_f32.to_f64()), (0.1, f64::from(0.1_f32)));
    assert_eq!((f64::from_f64(0.1), 0.1_f64.to_f64()), (0.1, 0.1));
}

/// A power over a slice, at a level.
struct Powers<'a, F>(&'a [F], i32, &'a mut [F]);

impl<F: Float> Work for Powers<'_, F> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        F::powi_slice(self.0, self.1, self.2);
    }
}

#[test]
fn integer_powers_agree_with_the_standard_library() {
    let mut random = Random::new(15);
    let mut x: Vec<f64> = (0..997).map(|_| random.uniform(-4.0, 4.0)).collect();
    x.extend([0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN]);
    let narrow: Vec<f32> = x.iter().map(|&x| x as f32).collect();
    for n in [0, 1, 2, 3, -1, -2, -3, 7, 10, -31, 64, 1000, i32::MAX, i32::MIN] {
        for level in levels() {
            let (mut y, mut z) = (vec![0.0; x.len()], vec![0.0_f32; x.len()]);
            dispatch_at(level, Powers(&x, n, &mut y));
            dispatch_at(level, Powers(&narrow, n, &mut z));
            for ((x, y), (narrow, z)) in x.iter().zip(&y).zip(narrow.iter().zip(&z)) {
                assert!(same(*y, Float::powi(*x, n)) && same(*y, x.powi(n)), "{x:e}^{n} is {y:e} at {level:?}");
                assert!(same(f64::from(*z), f64::from(Float::powi(*narrow, n))), "{narrow:e}^{n}");
                assert!(
                    n.abs_diff(0) > 1000 || error_in_ulps(*z, f64::from(*narrow).powi(n)) <= 0.51,
                    "{narrow:e}^{n}"
                );
            }
        }
    }
}

/// Runs a function of `f64` one number at a time and as a block.
macro_rules! blocks_agree {
    ($($name:ident)*) => {$(
        let mut random = Random::new(16);
        for _ in 0..20_000 {
            let x = random.sign() * random.log_spaced(1e-9, 1e6);
            let [y] = wengert_kernels::math::$name([x]);
            assert!(same(y, Float::$name(x)), "{}({x:e})", stringify!($name));
        }
    )*};
}

#[test]
fn double_functions_are_those_on_blocks() {
    blocks_agree!(exp exp2 expm1 ln log1p log2 log10 sqrt cbrt sin cos tan asin acos atan sinh cosh tanh);
    blocks_agree!(sech2 asinh acosh atanh sigmoid softplus silu gelu_erf gelu_tanh gelu_tanh_slope erf erfc erfinv);
}
