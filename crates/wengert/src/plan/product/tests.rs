//! Tests of what is private here.

use super::*;

/// The batch and the sizes of `nd,kdh->knh`, a matrix by a batch of others.
fn sizes(count: usize, width: usize) -> (Vec<usize>, [usize; 3]) {
    let op = Einsum::from_labels(b"nd", b"kdh", b"knh").unwrap();
    let views = [View::whole(Value(0), &[50, 70]), View::whole(Value(1), &[count, 70, width])];
    let matrices = matrices(&op, [&views[0], &views[1]], Value(2)).unwrap();
    (matrices.batch.to_vec(), matrices.dims)
}

#[test]
fn columns_are_what_lies_together_unless_that_is_far_shorter() {
    assert_eq!(sizes(16, 10), (vec![16], [50, 70, 10]));
    assert_eq!(sizes(16, 64), (vec![16], [50, 70, 64]));
    assert_eq!(sizes(16, 2), (vec![2], [50, 70, 16]));
}
