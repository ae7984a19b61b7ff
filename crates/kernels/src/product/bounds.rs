//! Whether matrices stay inside their data, and apart from themselves.

/// The place of the first element of an operand whose lowest element is `data[0]`.
///
/// Panics if the highest is beyond `length`. An operand without elements reaches nothing.
#[track_caller]
pub(super) fn first(
    name: &str,
    length: usize,
    dims: &[usize; 2],
    strides: &[isize; 2],
    batch: &[usize],
    batch_strides: &[isize],
) -> usize {
    if dims.contains(&0) {
        return 0;
    }
    let (mut below, mut above) = (0_i128, 0_i128);
    let axes = dims.iter().zip(strides).chain(batch.iter().zip(batch_strides));
    for (&count, &stride) in axes {
        // In 128 bits the product of two lengths cannot overflow; a sum of many could.
        let distance = (count as i128 - 1) * stride as i128;
        below = below.saturating_add(distance.min(0));
        above = above.saturating_add(distance.max(0));
    }
    let reach = above.saturating_sub(below);
    assert!(
        reach < length as i128,
        "operand {name} of {dims:?} with strides {strides:?} and batch {batch:?} with strides {batch_strides:?} \
         needs {} elements, and there are {length}",
        reach.saturating_add(1)
    );
    // It is less than a slice's length, as was just seen.
    below.unsigned_abs() as usize
}

/// Panics unless the elements of a result are inside `length` and all in different places.
///
/// They are if each stride leads beyond all that the smaller strides reach.
#[track_caller]
pub(super) fn check_disjoint(
    length: usize,
    dims: [usize; 2],
    strides: [usize; 2],
    batch: &[usize],
    batch_strides: &[usize],
) {
    let axes = || {
        let matrix = dims.into_iter().zip(strides);
        matrix.chain(batch.iter().copied().zip(batch_strides.iter().copied())).filter(|(count, _)| *count > 1)
    };
    let add = |sum: u128, (count, stride): (usize, usize)| sum.saturating_add((count as u128 - 1) * stride as u128);
    let total = axes().fold(0, add);
    assert!(
        total < length as u128,
        "result c of {dims:?} with strides {strides:?} and batch {batch:?} with strides {batch_strides:?} \
         needs {} elements, and there are {length}",
        total.saturating_add(1)
    );
    for (at, (_, stride)) in axes().enumerate() {
        let smaller = axes().enumerate().filter(|(other, (_, step))| (*step, *other) < (stride, at));
        let within = smaller.map(|(_, axis)| axis).fold(0, add);
        assert!(
            within < stride as u128,
            "result c of {dims:?} with strides {strides:?} and batch {batch:?} with strides {batch_strides:?} \
             has elements in the same place"
        );
    }
}
