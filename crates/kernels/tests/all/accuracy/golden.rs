//! Values computed with mpmath: the reference agrees to 2^-90, the kernels within their bounds.

use super::check::error_in_ulps;
use super::reference::{Dd, Exact, dd};
use super::sweeps::{BINARY, UNARY};
use wengert_kernels::Level;

/// A line of the table: name, arguments, value.
fn parse(line: &str) -> (&str, Vec<f64>, Exact) {
    let words: Vec<&str> = line.split(' ').collect();
    let numbers: Vec<f64> = words[1..words.len() - 1].iter().map(|w| w.parse().expect("a number")).collect();
    let (arguments, value) = numbers.split_at(numbers.len() - 2);
    let value = Dd { hi: value[0], lo: value[1] };
    let exponent = words[words.len() - 1].parse().expect("an exponent");
    (words[0], arguments.to_vec(), Exact { value, exponent })
}

/// The relative difference of two exact values.
fn difference(a: Exact, b: Exact) -> f64 {
    let shifted = a.value.ldexp(a.exponent - b.exponent);
    ((shifted - b.value) / b.value).hi.abs()
}

#[test]
fn reference_and_kernels_agree_with_mpmath() {
    let mut seen = vec![];
    for line in include_str!("../../golden/values.txt").lines().filter(|l| !l.starts_with('#')) {
        let (name, x, exact) = parse(line);
        let (reference, y, bound) = if let [x] = x[..] {
            let f = UNARY.iter().find(|f| f.name == name).expect("a function of the table");
            let mut y = [0.0];
            (f.kernel)(Level::Baseline, &[x], &mut y);
            ((f.reference)(x), y[0], f.bound)
        } else {
            let f = BINARY.iter().find(|f| f.name == name).expect("a function of the table");
            let mut y = [0.0];
            (f.kernel)(Level::Baseline, &[x[0]], &[x[1]], &mut y);
            ((f.reference)(x[0], x[1]), y[0], f.bound)
        };
        assert!(difference(reference, exact) < 2f64.powi(-90), "reference: {line}");
        assert!(error_in_ulps(y, exact) <= bound, "{line}: {y:e}");
        seen.push(name);
    }
    seen.dedup();
    assert_eq!(seen.len(), UNARY.len() + BINARY.len());
}

#[test]
fn errors_are_counted_in_units_of_the_last_place() {
    let one = dd(1.0);
    let at = |exponent| Exact { value: one, exponent };
    assert_eq!(error_in_ulps(1.0, at(0)), 0.0);
    assert_eq!(error_in_ulps(1.0 + f64::EPSILON, at(0)), 1.0);
    assert_eq!(error_in_ulps(0.0, at(-1075)), 0.5);
    assert_eq!(error_in_ulps(1e-323, at(-1074)), 1.0);
    assert_eq!(error_in_ulps(f64::INFINITY, at(1024)), 0.0);
    assert_eq!(error_in_ulps(f64::MAX, Exact { value: dd(2.0 - f64::EPSILON), exponent: 1023 }), 0.0);
    assert_eq!(error_in_ulps(f64::INFINITY, Exact { value: dd(2.0 - f64::EPSILON), exponent: 1023 }), 1.0);
    assert_eq!(error_in_ulps(f64::NAN, at(0)), f64::INFINITY);
    let quarter = Dd { hi: 1.0, lo: 0.25 * f64::EPSILON };
    assert_eq!(error_in_ulps(8.0, Exact { value: quarter, exponent: 3 }), 0.25);
}
