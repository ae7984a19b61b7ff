//! Tests of what is private here.

use super::Random;

#[test]
fn directions_have_both_signs_and_no_small_part() {
    let mut random = Random::new(7);
    let drawn: Vec<f64> = (0..1000).map(|_| random.direction()).collect();
    assert!(drawn.iter().all(|part| (0.25..=1.0).contains(&part.abs())));
    let positive = drawn.iter().filter(|part| **part > 0.0).count();
    assert!((400..600).contains(&positive), "{positive}");
}
