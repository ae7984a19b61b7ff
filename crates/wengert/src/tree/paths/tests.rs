//! Tests of what is private here.

use super::*;

#[test]
fn a_part_without_a_name_adds_nothing_and_marks_end_with_their_part() {
    let mut paths = Paths { here: Some(String::new()), ..Paths::default() };
    paths.field("", &1.0);
    paths.under(&"a", |paths| {
        paths.field("", &[1.0]);
        paths.frozen_field("b", &(1.0, 2.0));
        paths.numbered(1);
    });
    assert_eq!(paths.iter().collect::<Vec<_>>(), ["", "a.0", "a.b.0", "a.b.1", "a.0"]);
    assert_eq!((0..5).map(|k| paths.is_frozen(k)).collect::<Vec<_>>(), [false, false, true, true, false]);
}
