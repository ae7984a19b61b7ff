//! Tests of what is private here.

use super::*;

fn check(pattern: &Pattern, entries: &[usize]) {
    let mut columns: Vec<usize> = Vec::new();
    for (row, &entry) in entries.iter().enumerate() {
        assert!((pattern.starts()[row]..pattern.starts()[row + 1]).contains(&entry), "row {row} has its own entry");
        columns.push(pattern.columns()[entry] as usize);
    }
    columns.sort_unstable();
    columns.dedup();
    assert_eq!(columns.len(), pattern.rows());
}

/// Whether rows from `row` on find columns that are not taken, by trying.
fn exists(pattern: &Pattern, row: usize, taken: &mut Vec<u32>) -> bool {
    if row == pattern.rows() {
        return true;
    }
    pattern.row(row).iter().any(|&col| {
        if taken.contains(&col) {
            return false;
        }
        taken.push(col);
        let found = exists(pattern, row + 1, taken);
        taken.pop();
        found
    })
}

#[test]
fn random_patterns_have_a_matching_if_one_exists() {
    let mut state = 1u64;
    let mut found = [0, 0];
    for size in 0..400 {
        let n = size % 7 + 1;
        let mut entries = Vec::new();
        for row in 0..n {
            for col in 0..n {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                if state >> 61 < 3 {
                    entries.push((row, col));
                }
            }
        }
        let pattern = Pattern::from_entries(n, n, entries).unwrap();
        let possible = exists(&pattern, 0, &mut Vec::new());
        match matched(&pattern) {
            Ok(entries) => check(&pattern, &entries),
            Err(why) => {
                let mut columns: Vec<u32> = why.rows.iter().flat_map(|&row| pattern.row(row).to_vec()).collect();
                columns.sort_unstable();
                columns.dedup();
                assert!(columns.len() == why.columns && why.columns < why.rows.len(), "{why:?}");
            }
        }
        assert_eq!(matched(&pattern).is_ok(), possible);
        found[usize::from(possible)] += 1;
    }
    assert!(found[0] > 50 && found[1] > 50, "{found:?}");
}

#[test]
fn long_paths_take_no_stack() {
    // Each row but the last has its own column and the next; the last has the first: all have to move.
    let n = 100_000;
    let entries = (0..n).flat_map(|row| [(row, (row + 1) % n), (row, if row + 1 == n { 0 } else { row })]);
    let pattern = Pattern::from_entries(n, n, entries).unwrap();
    check(&pattern, &matched(&pattern).unwrap());
}
