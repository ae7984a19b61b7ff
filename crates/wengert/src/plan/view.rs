//! Views: values that are elements of another value in some order, and need no memory of their own.

use smallvec::{SmallVec, smallvec};
use wengert_kernels::region::Pattern;

use crate::primitives::{Broadcast, Op, Permute, Reshape, Reverse, Slice};
use crate::program::Value;

/// Elements of a stored value: position `offset + sum_k index_k * stride_k` for each index.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct View {
    /// The value that is stored, row-major.
    pub(super) base: Value,
    pub(super) offset: usize,
    pub(super) shape: Lengths,
    pub(super) strides: Strides,
}

/// Lengths of axes, without memory of their own as long as they are few.
pub(super) type Lengths = SmallVec<[usize; 4]>;
/// Strides, as [`Lengths`].
pub(super) type Strides = SmallVec<[isize; 4]>;
/// Lengths with strides, as [`Lengths`].
type JoinedAxes = SmallVec<[(usize, isize); 4]>;

/// The lengths from which a copy goes by blocks: a line of the cache has 8 or 16 numbers.
const CROSSED: usize = 8;
/// The number of elements from which that pays for a step of its own.
const CROSSED_COUNT: usize = 1 << 11;

/// The strides of an array in order.
fn in_order(shape: &[usize]) -> Strides {
    let mut strides: Strides = smallvec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis].cast_signed();
    }
    strides
}

impl View {
    /// A stored value itself.
    pub(super) fn whole(base: Value, shape: &[usize]) -> Self {
        View { base, offset: 0, shape: shape.into(), strides: in_order(shape) }
    }

    pub(super) fn count(&self) -> usize {
        self.shape.iter().product()
    }

    /// Lengths and strides without axes of length 1, neighbours that continue each other joined.
    fn joined(&self) -> JoinedAxes {
        joined(self.shape.iter().copied().zip(self.strides.iter().copied()))
    }

    /// Whether the elements follow each other, from the first of the base.
    pub(super) fn is_in_order(&self) -> bool {
        self.offset == 0 && self.is_window()
    }

    /// Whether the elements follow each other.
    pub(super) fn is_window(&self) -> bool {
        matches!(self.joined()[..], [] | [(_, 1)])
    }

    /// If every element of a base of `count` elements repeats `cols` times, in order: `cols`.
    pub(super) fn spread(&self, count: usize) -> Option<usize> {
        let found = match self.joined()[..] {
            [(cols, 0)] if count == 1 => cols,
            [(rows, 1), (cols, 0)] if rows == count => cols,
            _ => return None,
        };
        (self.offset == 0).then_some(found)
    }

    /// The length of a row, if every row is the same: the elements depend on the last axes alone.
    pub(super) fn repeated(&self) -> Option<usize> {
        match self.joined()[..] {
            [(_, 0), ref rest @ ..] if !rest.is_empty() => Some(rest.iter().map(|&(length, _)| length).product()),
            _ => None,
        }
    }

    /// Whether the elements are far apart along the last axis and follow each other along another one, both long enough
    /// for copying to go by blocks of both.
    pub(super) fn is_crossed(&self) -> bool {
        match self.joined()[..] {
            [ref outer @ .., (cols, stride)] if !matches!(stride, 0 | 1) => {
                let along = outer.iter().find(|&&(_, stride)| stride == 1);
                cols >= CROSSED && along.is_some_and(|&(rows, _)| rows >= CROSSED) && self.count() >= CROSSED_COUNT
            }
            _ => false,
        }
    }

    /// As the kernels know it; `None` if it has more axes than they walk.
    pub(super) fn pattern(&self) -> Option<Pattern> {
        Pattern::new(self.offset, &self.shape, &self.strides).filter(|p| p.dims().len() <= Pattern::MAX_DIMS)
    }

    /// The view that an operation makes of this one; `None` if it is no view.
    pub(super) fn of(&self, op: &Op) -> Option<View> {
        match op {
            Op::Permute(permute) => Some(self.permuted(permute)),
            Op::Broadcast(broadcast) => Some(self.broadcast(broadcast)),
            Op::Slice(slice) => Some(self.sliced(slice)),
            Op::Reverse(reverse) => Some(self.reversed(reverse)),
            Op::Reshape(reshape) => self.reshaped(reshape),
            _ => None,
        }
    }

    fn permuted(&self, op: &Permute) -> View {
        let pick = |k: &usize| (self.shape[*k], self.strides[*k]);
        let (shape, strides) = op.order.iter().map(pick).unzip();
        View { shape, strides, ..*self }
    }

    fn broadcast(&self, op: &Broadcast) -> View {
        let mut strides: Strides = smallvec![0; op.shape.len()];
        for (k, &axis) in op.axes.iter().enumerate() {
            strides[axis] = self.strides[k];
        }
        View { shape: op.shape[..].into(), strides, ..*self }
    }

    fn sliced(&self, op: &Slice) -> View {
        let mut offset = self.offset.cast_signed();
        let (mut shape, mut strides) = (Lengths::new(), Strides::new());
        for (k, &stride) in self.strides.iter().enumerate() {
            let length = (op.limit[k] - op.start[k]).div_ceil(op.stride[k]);
            if length > 0 {
                offset += op.start[k].cast_signed() * stride;
            }
            shape.push(length);
            strides.push(stride * op.stride[k].cast_signed());
        }
        View { base: self.base, offset: offset.cast_unsigned(), shape, strides }
    }

    fn reversed(&self, op: &Reverse) -> View {
        let mut view = self.clone();
        let mut offset = self.offset.cast_signed();
        for &axis in op.axes.iter().filter(|&&axis| self.shape[axis] > 0) {
            offset += (self.shape[axis] - 1).cast_signed() * self.strides[axis];
            view.strides[axis] = -self.strides[axis];
        }
        view.offset = offset.cast_unsigned();
        view
    }

    /// The same elements in another shape, where strides can say it.
    fn reshaped(&self, op: &Reshape) -> Option<View> {
        let shape = &op.shape;
        if self.count() == 0 {
            return Some(View { shape: shape[..].into(), strides: in_order(shape), ..*self });
        }
        // Joined axes are cut again into the lengths of the new shape, innermost first.
        let mut joined = self.joined();
        let mut strides: Strides = smallvec![0; shape.len()];
        let (mut left, mut step) = (1usize, 0isize);
        for (axis, &length) in shape.iter().enumerate().rev() {
            if length == 1 {
                continue;
            }
            if left == 1 {
                (left, step) = joined.pop()?;
            }
            if left % length != 0 {
                return None;
            }
            strides[axis] = step;
            left /= length;
            step *= length.cast_signed();
        }
        (left == 1 && joined.is_empty()).then(|| View { shape: shape[..].into(), strides, ..*self })
    }
}

/// Lengths and strides without axes of length 1, neighbours that continue each other joined.
pub(super) fn joined(axes: impl Iterator<Item = (usize, isize)>) -> JoinedAxes {
    let mut joined = JoinedAxes::new();
    for (length, stride) in axes.filter(|&(length, _)| length != 1) {
        match joined.last_mut() {
            Some((outer, step)) if *step == stride * length.cast_signed() => {
                *outer *= length;
                *step = stride;
            }
            _ => joined.push((length, stride)),
        }
    }
    joined
}

#[cfg(test)]
mod tests;
