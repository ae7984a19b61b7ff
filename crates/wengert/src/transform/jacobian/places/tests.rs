//! Tests of what is private here.

use super::*;
use crate::array::DType;
use crate::primitives::{Broadcast, Permute, Reshape, Reverse};
use crate::program::infer;

fn check(table: &SeedTable, op: impl Into<Op>) -> SeedTable {
    let op = op.into();
    let zero = Array::scalar(0i64);
    let list = table.list();
    let more: &[&Array] = if matches!(op, Op::Pad(_)) { &[&zero] } else { &[] };
    let args: Vec<&Array> = std::iter::once(&list).chain(more.iter().copied()).collect();
    let result = infer(&op, &args.iter().map(|arg| arg.ty()).collect::<Vec<_>>()).unwrap().swap_remove(0);
    let moved = table.moved(&op, more, &result.with_dtype(DType::F64)).unwrap();
    let expected = op.primitive().eval(&args).unwrap().swap_remove(0);
    assert_eq!(moved.list().known::<i64>(), expected.known::<i64>(), "{op:?} of {table:?}");
    assert_eq!(moved, moved.as_listed());
    check_some(&moved);
    check_slices(&moved);
    moved
}

/// Slices that are put together again; whether they go on evenly along the first axis.
fn check_slices(table: &SeedTable) -> bool {
    let mut even = false;
    for axis in (0..table.shape.len()).rev() {
        let mut cut = Type::new(DType::F64, &table.shape);
        cut.shape[axis] = 1;
        let slice = |k: usize| table.moved(&Slice::along(&table.shape, axis, k, k + 1).into(), &[], &cut).unwrap();
        let slices: Vec<SeedTable> = (0..table.shape[axis]).map(slice).collect();
        let back = SeedTable::evenly(axis, &slices.iter().map(Some).collect::<Vec<_>>());
        even = back.is_some();
        assert!(back.is_none_or(|back| back == *table), "axis {axis} of {table:?}");
    }
    even
}

#[test]
fn slices_that_go_on_evenly_are_a_box() {
    let table = SeedTable::in_order(7, &[3, 4]);
    assert!(check_slices(&table));
    let inner = check(&table, Slice::new(&[0, 1], &[3, 2], &[1, 1]));
    assert!(check_slices(&inner) && !check_slices(&inner.as_listed()));
    let turned = check(&table, Permute::new(&[1, 0]));
    assert!(check_slices(&turned) && check_slices(&check(&turned, Reverse::new(&[0]))));
    // A row without a seed is another box.
    assert!(!check_slices(&check(&table, Pad::new(&[1, 0], &[0, 0]))));
    let single = SeedTable::in_order(0, &[1, 4]);
    assert_eq!(SeedTable::evenly(0, &[Some(&single), None]), None);
    assert_eq!(SeedTable::evenly(0, &[Some(&single)]), None);
}

/// The seeds of some numbers, in both forms.
fn check_some(table: &SeedTable) {
    let list = table.list();
    let list = list.known::<i64>();
    let first = list.iter().find(|&&seed| seed > 0).map(|&seed| seed as usize - 1);
    assert_eq!([table.first_seed(), table.as_listed().first_seed()], [first; 2], "{table:?}");
    for (begin, end) in (0..=list.len()).flat_map(|end| (0..=end).map(move |begin| (begin, end))) {
        let expected: Vec<u32> =
            list[begin..end].iter().map(|&seed| if seed == 0 { NO_SEED } else { seed as u32 - 1 }).collect();
        for table in [table.clone(), table.as_listed()] {
            let mut seeds = vec![77; end - begin];
            table.seeds(begin..end, &mut seeds);
            assert_eq!(seeds, expected, "{begin}..{end} of {table:?}");
        }
    }
}

#[test]
fn strides_say_what_lists_would() {
    let table = SeedTable::in_order(7, &[3, 4]);
    let inner = check(&table, Slice::new(&[1, 0], &[3, 3], &[1, 2]));
    let padded = check(&inner, Pad::new(&[1, -1], &[0, 3]));
    let turned = check(&padded, Permute::new(&[1, 0]));
    let spread = check(&turned, Broadcast::new(&[4, 2, 3], &[0, 2]));
    let reversed = check(&spread, Reverse::new(&[0, 2]));
    let one = check(&reversed, Slice::new(&[1, 0, 0], &[3, 1, 3], &[1, 1, 1]));
    check(&check(&one, Reshape::new(&[2, 3, 1])), Reshape::new(&[6]));
    check(&check(&table, Reshape::new(&[2, 6])), Reshape::new(&[2, 2, 3]));
    check(&check(&table, Permute::new(&[1, 0])), Reshape::new(&[12]));
    check(&check(&table, Slice::new(&[0, 1], &[3, 2], &[1, 1])), Reshape::new(&[3]));
    check(&check(&table, Slice::new(&[1, 1], &[2, 2], &[1, 1])), Reshape::new(&[]));
    let none = check(&table, Pad::new(&[-3, 0], &[2, 0]));
    assert!(none.is_empty() && check(&none, Reshape::new(&[8])).is_empty());
}

#[test]
fn what_is_the_same_for_all_repeats() {
    let table = SeedTable::in_order(0, &[3]);
    let spread = check(&table, Broadcast::new(&[2, 3], &[1]));
    assert!(spread.repeats_along(0) && !spread.repeats_along(1));
    assert!(!check(&spread, Pad::new(&[1, 0], &[0, 0])).repeats_along(0));
}
