//! Tests of what is private here.

use super::*;

#[test]
fn coefficients_are_those_of_the_table() {
    // Higham 2005, over the first: 1, 1/2, 1/10, 1/120.
    let wanted = [1.0, 0.5, 0.1, 1.0 / 120.0];
    assert!(coefficients(3).iter().zip(wanted).all(|(c, wanted)| (c - wanted).abs() < 1e-17));
    let last = 64_764_752_532_480_000f64.recip();
    assert!((coefficients(13)[13] / last - 1.0).abs() < 1e-14);
}
