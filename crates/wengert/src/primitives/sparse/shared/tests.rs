//! Tests of what is private here.

use super::*;

fn pattern(rows: usize, cols: usize, entries: &[(usize, usize)]) -> SharedPattern {
    Pattern::from_entries(rows, cols, entries.iter().copied()).unwrap().into()
}

#[test]
fn entries_by_columns_know_their_numbers() {
    let pattern = pattern(3, 2, &[(0, 1), (1, 0), (1, 1), (2, 0)]);
    let turned = pattern.by_columns();
    let all: Vec<(usize, usize)> = pattern.entries().collect();
    let back: Vec<(usize, usize)> = turned.entries.iter().map(|&entry| all[entry]).collect();
    assert_eq!(back, turned.pattern.entries().map(|(col, row)| (row, col)).collect::<Vec<_>>());
}

#[test]
fn patterns_of_equal_entries_are_equal_and_others_are_not() {
    let [one, same, other] = [1, 1, 0].map(|col| pattern(2, 2, &[(0, 0), (1, col)]));
    assert!(one == same && one != other && one.0.hash == same.0.hash && one.0.hash != other.0.hash);
    assert_ne!(pattern(2, 2, &[]), pattern(2, 3, &[]));
}

#[test]
fn what_is_singular_for_all_values_is_named() {
    let check = |pattern: &SharedPattern, part: &str| {
        let why = pattern.check_regular().unwrap_err();
        assert!(why.0.contains(part), "{}", why.0);
    };
    check(&pattern(2, 3, &[]), "2 by 3, and has to be square");
    check(&pattern(2, 2, &[(0, 0), (0, 1)]), "row 1 has no entries");
    check(&pattern(2, 2, &[(0, 1), (1, 1)]), "column 0 has no entries");
    let two = pattern(3, 3, &[(0, 0), (1, 0), (2, 0), (2, 1), (2, 2)]);
    check(&two, "2 rows (0, 1) have their entries in 1 columns");
    assert_eq!(pattern(0, 0, &[]).check_regular().unwrap(), 0);
}

#[test]
fn what_cannot_be_positive_definite_is_named() {
    let check = |pattern: &SharedPattern, part: &str| {
        let why = pattern.check_symmetric().unwrap_err();
        assert!(why.0.contains(part), "{}", why.0);
    };
    check(&pattern(2, 2, &[(0, 0), (1, 0), (1, 1)]), "has the entry (1, 0) and not (0, 1)");
    check(&pattern(2, 2, &[(0, 0), (1, 0), (0, 1)]), "the entry (1, 1) is not in the pattern");
    assert_eq!(pattern(2, 2, &[(0, 0), (1, 0), (0, 1), (1, 1)]).check_symmetric().unwrap(), 2);
}
