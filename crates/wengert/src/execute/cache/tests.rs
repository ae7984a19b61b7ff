//! Tests of what is private here.

use super::*;

impl Weight for usize {
    fn bytes(&self) -> usize {
        *self
    }
}

#[test]
fn the_least_recently_used_goes_first() {
    let mut cache = Bounded::new(3, 1000);
    for value in [1usize, 2, 3] {
        // All under one hash: the key decides.
        cache.keep(7, value);
    }
    assert_eq!(cache.find(7, |&value| value == 1), Some(1));
    cache.keep(7, 4);
    assert_eq!(cache.values(), [3, 1, 4]);
    assert_eq!(cache.find(7, |&value| value == 2), None);
    assert_eq!(cache.find(8, |_| true), None);
}

#[test]
fn bytes_are_bounded_too() {
    let mut cache = Bounded::new(100, 10);
    for value in [4usize, 3, 2, 6] {
        cache.keep(value as u64, value);
    }
    assert_eq!(cache.values(), [4, 3, 2, 6], "all but one are 9");
    cache.keep(5, 5);
    assert_eq!(cache.values(), [3, 2, 6, 5]);
    cache.keep(50, 50);
    assert_eq!(cache.values(), [5, 50], "what is too much alone leaves the rest its place");
    for value in [4, 3, 2] {
        cache.keep(value as u64, value);
    }
    assert_eq!(cache.values(), [50, 4, 3, 2], "and is not forgotten for a small one");
    cache.keep(60, 60);
    assert_eq!(cache.values(), [4, 3, 2, 60], "but for another large one");
}
