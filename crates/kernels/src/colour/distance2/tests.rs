//! Tests of what is private here.

use super::*;

#[test]
fn bits_and_walks_choose_the_same_colours() {
    for seed in 0..40_u64 {
        let mut state = seed;
        let mut next = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let (rows, cols) = (1 + next(60), 1 + next(60));
        let entries: Vec<_> = (0..next(400)).map(|_| (next(rows), next(cols))).collect();
        let pattern = Pattern::from_entries(rows, cols, entries).unwrap();
        let transposed = pattern.transposed();
        let order: Vec<u32> = (0..cols as u32).filter(|&col| !transposed.row(col as usize).is_empty()).collect();
        assert_eq!(narrow(&pattern, &transposed, &order), Some(wide(&pattern, &transposed, &order)), "seed {seed}");
    }
}

#[test]
fn rows_longer_than_a_word_take_as_many_colours_as_they_are_long() {
    // Row 0 has columns 0..200, row 1 columns 150..300: the columns from 200 on take the smallest colours again.
    let pattern = Pattern::from_entries(2, 300, (0..200).map(|c| (0, c)).chain((150..300).map(|c| (1, c)))).unwrap();
    let transposed = pattern.transposed();
    let colours = greedy(&pattern, &transposed, &(0..300).collect::<Vec<_>>());
    assert_eq!(colours.count, 200);
    assert_eq!((colours.of[0], colours.of[199], colours.of[200], colours.of[299]), (0, 199, 0, 99));
}
