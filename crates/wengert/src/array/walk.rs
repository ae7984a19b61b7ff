//! Positions of elements in row-major order, and whether there is memory for them.

use wengert_kernels::arena::check_room_for;

/// The number of elements of a shape; `None` if it does not fit in memory.
///
/// An array without elements has to fit without its empty axes: what reduces or cuts them away makes the rest of the
/// shape real, and strides are products of it.
pub(crate) fn element_count(shape: &[usize]) -> Option<usize> {
    let count = shape.iter().try_fold(1usize, |count, &length| count.checked_mul(length.max(1)))?;
    let fits = count <= isize::MAX as usize / 8;
    fits.then_some(if shape.contains(&0) { 0 } else { count })
}

/// Whether there is memory for this many elements of this many bytes: memory and swap space together are as large, and the
/// allocator gives them.
pub(crate) fn has_room(count: usize, size: usize) -> bool {
    let enough = |bytes: usize| check_room_for(bytes).is_ok() && Vec::<u8>::new().try_reserve_exact(bytes).is_ok();
    count.checked_mul(size).is_some_and(enough)
}

/// The row-major strides of a shape.
pub(crate) fn row_major(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis];
    }
    strides
}

/// Calls `visit` with every multi-index of a shape in row-major order.
pub(crate) fn for_each_index(shape: &[usize], mut visit: impl FnMut(&[usize])) {
    let count: usize = shape.iter().product();
    let mut index = vec![0; shape.len()];
    for _ in 0..count {
        visit(&index);
        for axis in (0..shape.len()).rev() {
            index[axis] += 1;
            if index[axis] < shape[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
}

/// The positions `offset + sum_k index_k * stride_k` for every multi-index of a shape, in row-major
/// order. Strides may be zero (a broadcast axis) or negative (a reversed one).
#[derive(Clone, Debug)]
pub(crate) struct Strided {
    shape: Vec<usize>,
    strides: Vec<isize>,
    index: Vec<usize>,
    position: isize,
    left: usize,
}

impl Strided {
    pub(crate) fn new(shape: &[usize], strides: &[isize], offset: usize) -> Self {
        Strided {
            shape: shape.to_vec(),
            strides: strides.to_vec(),
            index: vec![0; shape.len()],
            position: offset.cast_signed(),
            left: shape.iter().product(),
        }
    }
}

impl Iterator for Strided {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        let position = self.position.cast_unsigned();
        for axis in (0..self.shape.len()).rev() {
            self.index[axis] += 1;
            self.position += self.strides[axis];
            if self.index[axis] < self.shape[axis] {
                break;
            }
            self.position -= self.strides[axis] * self.shape[axis].cast_signed();
            self.index[axis] = 0;
        }
        Some(position)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Strided {}

#[cfg(test)]
mod tests;
