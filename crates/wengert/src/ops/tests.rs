//! Tests of what is private here.

use super::*;

#[test]
fn codes_and_names_are_unique_and_decode_to_their_operation() {
    for (k, &op) in Unary::ALL.iter().enumerate() {
        let (code, number) = op.encode();
        assert_eq!((code as usize, Unary::decode(code, number)), (k, op));
    }
    for (k, &op) in Binary::ALL.iter().enumerate() {
        let (code, number) = op.encode();
        assert_eq!((code as usize, Binary::decode(code, number)), (k, op));
    }
    let names: std::collections::HashSet<_> =
        Unary::ALL.iter().map(|op| op.name()).chain(Binary::ALL.iter().map(|op| op.name())).collect();
    assert_eq!(names.len(), Unary::ALL.len() + Binary::ALL.len());
}

#[test]
fn sech2_keeps_its_digits_in_the_tails() {
    let sech2 = |x: f64| Unary::Sech2.eval(x);
    for k in -3400..=3400 {
        let x = f64::from(k) * 0.1 + 0.0123;
        let expected = x.cosh().recip().powi(2);
        assert!((sech2(x) - expected).abs() <= 8.0 * f64::EPSILON * expected, "{x}: {}", sech2(x));
        // The two formulas that carriers choose from agree.
        let beside = crate::Real::sech2_beside_tanh(x, x.tanh());
        assert!((sech2(x) - beside).abs() <= 8.0 * f64::EPSILON * expected, "{x}: {beside}");
    }
    assert_eq!([0.0, f64::INFINITY, -f64::INFINITY, -800.0].map(sech2), [1.0, 0.0, 0.0, 0.0]);
    assert!(sech2(f64::NAN).is_nan());
}
