//! Taylor series: against a table of 60 digit values, against nested derivatives, and by their laws.

use std::time::{Duration, Instant};

use wengert::Lanes;
use wengert::ops::{Binary, Unary};
use wengert::prelude::*;

/// The largest relative error of one rounding.
const U: f64 = f64::EPSILON / 2.0;

/// Checks coefficients that were computed by recurrences.
///
/// A coefficient near zero between larger ones is a difference of terms of their size, so errors
/// are taken relative to the geometric mean of the neighbours where that is larger. A recurrence
/// of quotients may lose a factor of two an order: the terms of `1/cosh` at order `k`, far from 0,
/// add up to `2^k` times their sum. Eight roundings allow for the rules and special functions.
#[track_caller]
fn check_series(what: &str, got: &[f64], want: &[f64]) {
    assert_eq!(got.len(), want.len(), "{what}");
    for (k, (&got_k, &want_k)) in got.iter().zip(want).enumerate() {
        let before = k.checked_sub(1).map_or(0.0, |k| want[k].abs());
        let after = want.get(k + 1).map_or(0.0, |next| next.abs());
        let scale = want_k.abs().max(before.sqrt() * after.sqrt());
        let tolerance = 8.0 * 2f64.powi(k as i32) * U * scale;
        assert!(
            (got_k - want_k).abs() <= tolerance,
            "{what}, coefficient {k}: {got_k:e}, not {want_k:e}: {:.1} roundings",
            (got_k - want_k).abs() / (U * scale)
        );
    }
}

/// Checks coefficients against a law whose two sides do arithmetic on series of size up to `scale`.
#[track_caller]
fn check_law(what: &str, left: &[f64], right: &[f64], scale: f64) {
    assert_eq!(left.len(), right.len(), "{what}");
    for (k, (l, r)) in left.iter().zip(right).enumerate() {
        let tolerance = 8.0 * 2f64.powi(k as i32) * U * scale;
        assert!((l - r).abs() <= tolerance, "{what}, coefficient {k}: {l:e} and {r:e}");
    }
}

// ---- the table ----------------------------------------------------------------------------------

const TABLE: &str = include_str!("../golden/taylor.txt");
const ORDER: usize = 12;

/// The lines of the table: function, point and coefficients.
fn table() -> impl Iterator<Item = (&'static str, Vec<f64>, Vec<f64>)> {
    TABLE.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let (name, numbers) = line.split_once(' ').expect("a name and numbers");
        let mut point: Vec<f64> = numbers.split(' ').map(|word| word.parse().expect("a number")).collect();
        let coefficients = point.split_off(point.len() - ORDER - 1);
        (name, point, coefficients)
    })
}

/// `x + t` and `y + 2 t` as series.
fn lines<const N: usize>(x: f64, y: f64) -> (Taylor<N>, Taylor<N>) {
    (Taylor::variable(x), Taylor::variable(0.0) * 2.0 + y)
}

#[test]
fn every_function_agrees_with_the_table() {
    let mut seen = std::collections::HashSet::new();
    for (name, point, want) in table() {
        seen.insert(name);
        let (recorded, carried) = if let [x] = point[..] {
            let &op = Unary::ALL.iter().find(|op| op.name() == name).expect("a function");
            let carried = Taylor::<{ ORDER + 1 }>::variable(x).unary(op);
            (taylor(x, 1.0, ORDER, |x| x.unary(op)), carried)
        } else {
            let &op = Binary::ALL.iter().find(|op| op.name() == name).expect("a function");
            let (x, y) = lines::<{ ORDER + 1 }>(point[0], point[1]);
            let along = [1.0, 2.0];
            (taylor([point[0], point[1]], along, ORDER, |[x, y]| x.binary(y, op)), x.binary(y, op))
        };
        let what = format!("{name} at {point:?}");
        check_series(&what, &recorded, &want);
        // The recorded function and the carrier go through the same recurrences.
        assert_eq!(recorded, carried.coefficients(), "{what}");
    }
    // What the table leaves out is compared with derivatives of derivatives, at points away from kinks.
    for &op in Unary::ALL.iter().filter(|op| !seen.contains(op.name())) {
        for &x in op.samples().iter().filter(|x| **x != 0.0) {
            check_series(&format!("{op:?} at {x}"), &taylor(x, 1.0, 4, |x| x.unary(op)), &nested(x, |x| x.unary(op)));
        }
    }
    for op in Binary::ALL {
        assert!(seen.contains(op.name()), "{} is missing from the table", op.name());
    }
}

#[test]
fn a_power_with_a_variable_exponent_is_right_where_the_exponent_passes_zero() {
    // x^y = e^(2 t ln(2 + t)) = 1 + 2 ln 2 t + (1 + 2 ln^2 2) t^2 + … for x = 2 + t, y = 2 t
    let (x, y) = lines::<3>(2.0, 0.0);
    let log = 2f64.ln();
    check_series("x^y", &x.pow(y).coefficients(), &[1.0, 2.0 * log, 1.0 + 2.0 * log * log]);
    assert_eq!(taylor(2.0, 1.0, 4, |x| x.powf(2.0)), [4.0, 4.0, 1.0, 0.0, 0.0]);
    // The mixed second derivative of x^y at (2, 0) is 1/x.
    let h = hessian([2.0, 0.0], |[x, y]| x.powf(y));
    assert_eq!([h[0][1], h[1][0]], [0.5, 0.5]);
}

// ---- nested derivatives -------------------------------------------------------------------------

/// The Taylor coefficients to order 4 of `f` at `x` along 1, by recordings within recordings.
fn nested(x: f64, f: impl Fn(Var) -> Var + Copy) -> [f64; 5] {
    let first = move |x: Var| grad(x, f);
    let second = move |x: Var| grad(x, first);
    let third = move |x: Var| grad(x, second);
    let value = jvp(x, 0.0, f).0;
    [value, grad(x, f), grad(x, first) / 2.0, grad(x, second) / 6.0, grad(x, third) / 24.0]
}

/// The Taylor coefficients to order 2 of `f` at `x` along `slope`, by duals of duals.
fn nested_duals(x: f64, slope: f64, f: impl Fn(Dual<Dual>) -> Dual<Dual>) -> [f64; 3] {
    let y = f(Dual::new(Dual::new(x, slope), Dual::constant(slope)));
    [y.re().re(), y.re().tangent(), y.tangent().tangent() / 2.0]
}

#[test]
fn every_function_agrees_with_nested_derivatives_at_its_samples() {
    for &op in Unary::ALL {
        for &x in op.samples() {
            let what = format!("{op:?} at {x}");
            let got = Taylor::<6>::variable(x).unary(op).coefficients();
            // One more, which nothing is compared with, is the neighbour of the last.
            let want = [&nested(x, |x| x.unary(op))[..], &got[5..]].concat();
            check_series(&what, &got, &want);
            check_series(&what, &got[..3], &nested_duals(x, 1.0, |x| x.unary(op)));
        }
    }
    for &op in Binary::ALL {
        for &(x, y) in op.samples() {
            let (series_x, series_y) = lines::<5>(x, y);
            let what = format!("{op:?} at {x}, {y}");
            // both operands vary
            let got = series_x.binary(series_y, op).coefficients();
            let want = nested(0.0, |t| (t + x).binary(t * 2.0 + y, op));
            check_series(&what, &got, &want);
            let dual = |t: Dual<Dual>| (t + x).binary(t * 2.0 + y, op);
            check_series(&what, &got[..3], &nested_duals(0.0, 1.0, dual));
            // one operand constant, as a series and as a number
            let want = nested(x, |x| x.binary_constant(y, op));
            check_series(&what, &series_x.binary(Taylor::constant(y), op).coefficients(), &want);
            check_series(&what, &series_x.binary_constant(y, op).coefficients(), &want);
            check_series(&what, &taylor(x, 1.0, 4, |x| x.binary_constant(y, op)), &want);
            let want = nested(0.0, |t| Var::constant_binary(x, t * 2.0 + y, op));
            check_series(&what, &Taylor::constant(x).binary(series_y, op).coefficients(), &want);
            check_series(&what, &Taylor::constant_binary(x, series_y, op).coefficients(), &want);
            check_series(&what, &taylor(y, 2.0, 4, |y| Var::constant_binary(x, y, op)), &want);
        }
    }
}

// ---- laws ---------------------------------------------------------------------------------------

/// `f` at the series `0.4 + t`.
fn at<const N: usize>(f: impl Fn(Taylor<N>) -> Taylor<N>) -> [f64; N] {
    f(Taylor::variable(0.4)).coefficients()
}

#[test]
fn products_and_quotients_undo_each_other() {
    let (f, g) = (at::<16>(Real::sin), at::<16>(|x| x.exp() + 1.0));
    let cauchy: Vec<f64> = (0..16).map(|k| (0..=k).map(|j| f[j] * g[k - j]).sum()).collect();
    let fg = taylor(0.4, 1.0, 15, |x| x.sin() * (x.exp() + 1.0));
    check_law("product", &fg, &cauchy, 1.0);
    let quotient = at::<16>(|x| x.sin() * (x.exp() + 1.0) / (x.exp() + 1.0));
    check_law("quotient", &quotient, &f, 1.0);
    check_law("reciprocal", &at::<16>(|x| (x + 1.0).recip().recip()), &at::<16>(|x| x + 1.0), 1.0);
    check_law("square", &at::<16>(|x| x.exp().square()), &at::<16>(|x| (x * 2.0).exp()), 2.0);
}

#[test]
fn inverse_functions_give_back_the_line() {
    type Function = fn(Taylor<12>) -> Taylor<12>;
    let line = at::<12>(|x| x);
    let pairs: [(&str, Function); 9] = [
        ("exp ln", |x| x.ln().exp()),
        ("sin asin", |x| x.asin().sin()),
        ("tan atan", |x| x.atan().tan()),
        ("tanh atanh", |x| x.atanh().tanh()),
        ("sinh asinh", |x| x.asinh().sinh()),
        ("erf erfinv", |x| x.erfinv().erf()),
        ("square sqrt", |x| x.sqrt().square()),
        ("cube cbrt", |x| x.cbrt().powi(3)),
        ("expm1 log1p", |x| x.log1p().expm1()),
    ];
    for (what, f) in pairs {
        // The coefficients in between grow like the powers of 1/0.4 at most.
        let scale = 2.5f64.powi(11);
        check_law(what, &at(f), &line, scale);
    }
}

#[test]
fn the_chain_rule_is_substitution_into_the_series() {
    // exp(0.4 + s) at s = t + t^2, by powers of s
    let exp = at::<8>(Real::exp);
    let s = Taylor::<8>::new([0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    let by_powers = (0..8).rev().fold(Taylor::constant(0.0), |sum, k| sum * s + exp[k]);
    check_law("substitution", &(s + 0.4).exp().coefficients(), &by_powers.coefficients(), 10.0);
}

#[test]
fn a_gradient_of_a_coefficient_is_a_multiple_of_the_next() {
    fn f<R: Real>(x: R) -> R {
        (x * x + 0.3).sqrt().tanh() + (x * 2.0).sin().lgamma()
    }
    let c = taylor(0.7, 1.0, 7, f);
    for k in 0..7 {
        let want = (k + 1) as f64 * c[k + 1];
        let scale = want.abs() + c[k].abs();
        let by_driver = grad(0.7, |x| taylor(x, lift(1.0), k, f)[k]);
        let by_carrier = grad(0.7, |x| f(Taylor::<8, Var>::variable(x)).coefficients()[k]);
        let mixed = f(Taylor::<8, Dual>::variable(Dual::variable(0.7))).coefficients()[k].tangent();
        check_law(&format!("order {k}"), &[by_driver, by_carrier, mixed], &[want; 3], 16.0 * scale);
    }
}

// ---- constants, kinks, edges --------------------------------------------------------------------

#[test]
fn structural_zeros_survive_infinite_derivatives() {
    let line = [1.0, 1.0, 0.0, 0.0];
    assert_eq!(taylor(1.0, 1.0, 3, |x| x + lift(0.0).sqrt()), line);
    let zero = Taylor::<4>::constant(0.0);
    for root in [zero.sqrt(), zero.powf(0.5), zero.cbrt(), zero.pow(zero + 1.0), zero.asin()] {
        assert_eq!((Taylor::variable(1.0) + root).coefficients(), line);
    }
    // A flat function gives constants: the root of its value 0 adds nothing.
    let flat = |x: Taylor<4>| x.floor() + x.detach().sign() - 1.0;
    let x = Taylor::variable(0.5);
    assert_eq!((x + flat(x).sqrt() + 0.5).coefficients(), line);
    assert_eq!(taylor(0.5, 1.0, 3, |x| x + 0.5 + (x.floor() + x.detach().sign() - 1.0).sqrt()), line);
    // 1 + t + 0 t^2 + … times infinity: the zeros are those of a line.
    let y = (Taylor::<4>::variable(1.0) * f64::INFINITY).coefficients();
    assert_eq!(y, [f64::INFINITY, f64::INFINITY, 0.0, 0.0]);
}

#[test]
fn kinks_and_edges_follow_the_table_of_conventions() {
    let at_zero = |op: fn(Var) -> Var| taylor(0.0, 1.0, 3, op);
    assert_eq!(at_zero(|x| x.abs()), [0.0; 4]);
    assert_eq!(at_zero(|x| x.relu()), [0.0; 4]);
    assert_eq!(at_zero(|x| x.max(-x)), [0.0; 4]);
    assert_eq!(at_zero(|x| x.powi(0)), [1.0, 0.0, 0.0, 0.0]);
    assert_eq!(at_zero(|x| x.powf(0.0)), [1.0, 0.0, 0.0, 0.0]);
    assert_eq!(at_zero(|x| x.powi(2)), [0.0, 0.0, 1.0, 0.0]);
    assert_eq!(at_zero(|x| x.powi(3)), [0.0, 0.0, 0.0, 1.0]);
    assert_eq!(at_zero(|x| x.powf(3.0)), [0.0, 0.0, 0.0, 1.0]);
    let root = at_zero(|x| x.sqrt());
    assert_eq!(root[..2], [0.0, f64::INFINITY]);
    assert!(!root[2].is_finite() && !root[3].is_finite());
    assert_eq!(at_zero(|x| x.recip())[..2], [f64::INFINITY, f64::NEG_INFINITY]);
    assert!(taylor(-1.0, 1.0, 2, |x| x.sqrt()).iter().all(|c| c.is_nan()));
    // Comparisons look at the value alone.
    let x = Taylor::<3>::variable(1.0);
    assert!(x == 1.0 && x < 2.0 && x == Taylor::constant(1.0) && x > Taylor::variable(0.5));
    assert!(x.all_finite() && !Taylor::new([0.0, f64::NAN]).all_finite());
}

#[test]
fn polynomials_are_exact_and_end() {
    let c = taylor(2.0, 1.0, 6, |x| x.powi(4) - x * x * 3.0 + (-x).abs() * 2.0);
    assert_eq!(c, [8.0, 22.0, 21.0, 8.0, 1.0, 0.0, 0.0]);
    let c = taylor([3.0, 4.0, 7.0], [1.0, 2.0, 0.0], 3, |[x, y, z]| [x * y + z, z, lift(5.0)]);
    assert_eq!(c, [vec![19.0, 10.0, 2.0, 0.0], vec![7.0, 0.0, 0.0, 0.0], vec![5.0, 0.0, 0.0, 0.0]]);
}

#[test]
fn order_zero_is_the_value() {
    assert_eq!(taylor(0.5, 1.0, 0, |x| x.sin()), [0.5f64.sin()]);
    assert_eq!(Taylor::<1>::variable(0.5).sin().coefficients(), [0.5f64.sin()]);
    assert_eq!(Taylor::<1>::variable(0.5).pow(Taylor::variable(3.0)).derivative(0), 0.125);
}

#[test]
fn derivatives_are_factorials_times_coefficients() {
    let y = Taylor::<6>::variable(0.3).exp();
    check_series("exp", &[0, 1, 2, 3, 4, 5].map(|k| y.derivative(k)), &[0.3f64.exp(); 6]);
    // 180! is beyond f64, 180! / 170! is not.
    let mut c = [0.0; 181];
    c[180] = 1.0 / (1..=170).map(f64::from).product::<f64>();
    let want: f64 = (171..=180).map(f64::from).product();
    assert!((Taylor::new(c).derivative(180) / want - 1.0).abs() < 1e-13);
}

// ---- high orders --------------------------------------------------------------------------------

#[test]
fn exp_has_one_over_factorials_up_to_order_100() {
    let c = taylor(0.0, 1.0, 100, |x| x.exp());
    let want = (1..=100).scan(1.0, |term, k| {
        *term /= f64::from(k);
        Some(*term)
    });
    assert_eq!(c[0], 1.0);
    for (k, (got, want)) in c[1..].iter().zip(want).enumerate() {
        assert!((got / want - 1.0).abs() < 101.0 * U, "order {}", k + 1);
    }
}

#[test]
fn every_function_reaches_order_60_in_little_time_and_stack() {
    // 128 KiB of stack: a recursion that grew with the order would not fit.
    let run = || {
        for &op in Unary::ALL {
            for &x in op.samples() {
                let start = Instant::now();
                let c = taylor(x, 1.0, 60, |x| (x + (x * 3.0).sin() * 1e-3).unary(op));
                assert!(c.iter().all(|c| c.is_finite()), "{op:?} at {x}: {c:?}");
                assert!(start.elapsed() < Duration::from_secs(1), "{op:?}");
            }
        }
        for &op in Binary::ALL {
            for &(x, y) in op.samples() {
                let start = Instant::now();
                let c = taylor([x, y], [1.0, 0.3], 60, |[x, y]| x.binary(y, op));
                assert!(c.iter().all(|c| c.is_finite()), "{op:?} at {x}, {y}: {c:?}");
                assert!(start.elapsed() < Duration::from_secs(1), "{op:?}");
            }
        }
    };
    let thread = std::thread::Builder::new().stack_size(128 << 10).spawn(run).expect("a thread");
    thread.join().expect("the run succeeds");
}

#[test]
fn order_100_of_a_composition_takes_less_than_a_second() {
    let start = Instant::now();
    let c = taylor(0.5, 1.0, 100, |x| x.exp().sin());
    assert!(start.elapsed() < Duration::from_secs(1));
    // sin(exp x) = Im e^(i e^x): its derivatives at x are the imaginary part of e^(iz) times
    // Touchard polynomials in iz, z = e^x, with Stirling numbers of the second kind.
    let z = 0.5f64.exp();
    let mut stirling = vec![1.0];
    let mut factorial = 1.0;
    for (k, &c) in c.iter().enumerate().take(16) {
        let (mut re, mut im) = (0.0, 0.0);
        let (mut power_re, mut power_im) = (1.0, 0.0);
        for s in &stirling {
            (re, im) = (re + s * power_re, im + s * power_im);
            (power_re, power_im) = (-power_im * z, power_re * z);
        }
        let want = (re * z.sin() + im * z.cos()) / factorial;
        assert!((c - want).abs() < 1e-13 * (1.0 + want.abs()), "order {k}: {c} and {want}");
        let shifted = std::iter::once(0.0).chain(stirling.iter().copied());
        let scaled = stirling.iter().enumerate().map(|(j, s)| j as f64 * s).chain([0.0]);
        stirling = shifted.zip(scaled).map(|(a, b)| a + b).collect();
        factorial *= (k + 1) as f64;
    }
}

#[test]
fn long_recordings_do_not_recurse() {
    let run = || {
        let c = taylor(1.0, 1.0, 2, |x| (0..100_000).fold(x, |y, _| y + x * 0.5));
        assert_eq!(c, [50_001.0, 50_001.0, 0.0]);
        let c = taylor(0.3, 1.0, 3, |x| (0..20_000).fold(x, |y, _| (y * 0.5 + x).sin()));
        assert!(c.iter().all(|c| c.is_finite()));
    };
    let thread = std::thread::Builder::new().stack_size(128 << 10).spawn(run).expect("a thread");
    thread.join().expect("the run succeeds");
}

// ---- nesting, recordings, lanes -----------------------------------------------------------------

#[test]
fn series_nest_in_derivatives_and_in_series() {
    // d/da of the third coefficient of sin(a x) at x = 0.2: c_3 = -a^3 cos(a x) / 6
    let (a, x): (f64, f64) = (1.5, 0.2);
    let want = (-3.0 * a * a * (a * x).cos() + a * a * a * x * (a * x).sin()) / 6.0;
    let got = grad(a, |a| taylor(lift(x), lift(1.0), 3, |x| (a * x).sin())[3]);
    assert!((got - want).abs() < 1e-14);
    // The direction is a variable too: c_2 of e^(x + t v) is v^2 e^x / 2.
    let got = grad([0.0, 3.0], |[x, v]| taylor(x, v, 2, |x| x.exp())[2]);
    assert_eq!(got, [4.5, 3.0]);
    // The series in a of the second coefficient in x of e^(a x) at x = 0: a^2 / 2
    let got = taylor(3.0, 1.0, 3, |a| taylor(lift(0.0), lift(1.0), 2, |x| (a * x).exp()).swap_remove(2));
    assert_eq!(got, [4.5, 3.0, 0.5, 0.0]);
    // The same with carriers: series in t whose coefficients are series in s.
    type Inner = Taylor<4>;
    let a = Taylor::<3, Inner>::lift(Inner::variable(3.0));
    let x = Taylor::<3, Inner>::variable(Inner::constant(0.0));
    assert_eq!((a * x).exp().coefficients()[2].coefficients(), [4.5, 3.0, 0.5, 0.0]);
    let both = (a * x + 0.5).tanh().coefficients()[2].coefficients()[1];
    let want = grad(3.0, |a| taylor(lift(0.0), lift(1.0), 2, |x| (a * x + 0.5).tanh())[2]);
    assert!((both - want).abs() < 1e-14);
}

#[test]
fn a_series_inside_a_recorded_function_holds_at_other_points() {
    // The rule of tanh has two branches; which one holds is decided anew at every point.
    let f = record(0.3, |x| taylor(x, lift(1.0), 4, |x| x.tanh() + x.max(1.0 - x)));
    for x in [0.3, 1.7, -2.4, 0.5, -0.1] {
        let want = taylor(x, 1.0, 4, |x| x.tanh() + x.max(1.0 - x));
        check_series(&format!("at {x}"), &f.value(x), &want);
    }
    let g = record(0.3, |x| taylor(x, lift(1.0), 3, |x| Real::select(x.less(lift(0.0)), -x, x.sqrt())));
    check_series("left", &g.value(-2.0), &[2.0, -1.0, 0.0, 0.0]);
    check_series("right", &g.value(4.0), &[2.0, 0.25, -1.0 / 64.0, 1.0 / 512.0]);
}

#[test]
fn lanes_take_the_branches_of_their_own_points() {
    fn f<R: Real>(x: R) -> R {
        let root = R::select(x.less(R::constant(0.0)), (x * x).exp(), x.sqrt());
        root + x.tanh() * x.atan2(R::constant(1.0))
    }
    let points = [0.2, -1.1, 2.5, -3.0];
    let y = f(Taylor::<5, Lanes<4>>::variable(Lanes(points)));
    for (lane, &x) in points.iter().enumerate() {
        let got = y.coefficients().map(|c| c.0[lane]);
        check_series(&format!("lane {lane}"), &got, &f(Taylor::<5>::variable(x)).coefficients());
    }
    let mask = Lanes([0.0, 3.0]).less(Lanes([1.0; 2]));
    let line = Taylor::<2, Lanes<2>>::variable(Lanes([1.0; 2]));
    let mixed = Taylor::select(mask, line, Taylor::constant(7.0));
    assert_eq!(mixed.coefficients().map(|c| c.0), [[1.0, 7.0], [1.0, 0.0]]);
}

#[test]
#[should_panic(expected = "make the point a Var with `lift`")]
fn plain_coefficients_that_depend_on_an_outer_variable_are_an_error() {
    grad(3.0, |a| a * taylor(0.5, 1.0, 2, |x| (a * x).exp())[2]);
}

#[test]
#[should_panic(expected = "`taylor`: the direction has 1 numbers where 2 are needed")]
fn a_direction_of_another_size_is_an_error() {
    taylor([1.0, 2.0], [1.0], 2, |[x, y]| x * y);
}

#[test]
#[should_panic(expected = "a Taylor series of 3 coefficients has no derivative of order 3")]
fn a_derivative_beyond_the_series_is_an_error() {
    Taylor::<3>::variable(1.0).derivative(3);
}
