//! Tests of what is private here.

use super::*;

#[test]
fn places_at_equal_distances_are_one_line() {
    let places = [Some(4), Some(6), Some(8), None, None, Some(3), Some(3), Some(2)];
    let lines = Places::of(places);
    assert_eq!(lines.lines.len(), 4, "{lines:?}");
    let back: Vec<i64> =
        lines.lines.iter().flat_map(|&line| (0..line.count as usize).map(move |k| line.at(k))).collect();
    assert_eq!(back, [4, 6, 8, -1, -1, 3, 3, 2]);
    assert!(Places::strided(&[2, 3], &[3, 1], 0).is_identity());
    assert!(!Places::strided(&[3, 2], &[1, 3], 0).is_identity());
    assert_eq!(Places::strided(&[2, 2], &[4, -1], 1), Places::of([1, 0, 5, 4].map(Some)));
    assert_eq!(Places::strided(&[], &[], 7), Places::of([Some(7)]));
    assert_eq!(Places::strided(&[2, 0], &[1, 1], 0).count(), 0);
}
