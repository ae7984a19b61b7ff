//! Tests of what is private here.

use super::*;

#[test]
fn strided_positions_are_those_of_the_indices() {
    let shape = [2, 3, 2];
    let strides = [6isize, -2, 1];
    let mut expected = Vec::new();
    for_each_index(&shape, |index| {
        expected.push((4 + 6 * index[0] + index[2]).wrapping_sub(2 * index[1]));
    });
    assert_eq!(Strided::new(&shape, &strides, 4).collect::<Vec<_>>(), expected);
    assert_eq!(Strided::new(&[2, 0], &[1, 1], 0).count(), 0);
    assert_eq!(Strided::new(&[], &[], 7).collect::<Vec<_>>(), [7]);
}

#[test]
fn sizes_that_overflow_are_none() {
    assert_eq!(element_count(&[usize::MAX, 2]), None);
    assert_eq!(element_count(&[usize::MAX, 0, 2]), None);
    assert_eq!(element_count(&[1 << 40, 0, 2]), Some(0));
    assert_eq!(element_count(&[1 << 40, 1 << 30]), None);
    assert_eq!(element_count(&[]), Some(1));
}
