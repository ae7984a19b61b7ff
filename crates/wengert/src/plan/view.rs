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
mod tests {
    use super::*;
    use crate::array::Array;

    /// The elements of a view of `0, 1, 2, …`.
    fn elements(view: &View) -> Vec<f64> {
        let size = view.count();
        let strided = crate::array::Strided::new(&view.shape, &view.strides, view.offset);
        let found: Vec<f64> = strided.map(|k| k as f64).collect();
        assert_eq!(found.len(), size);
        found
    }

    #[test]
    fn views_have_the_elements_of_the_operation() {
        let shape = [4, 3, 2];
        let ops: [Op; 7] = [
            Permute { order: vec![2, 0, 1] }.into(),
            Broadcast::new(&[4, 5, 3, 2], &[0, 2, 3]).into(),
            Slice::new(&[1, 0, 1], &[4, 3, 2], &[2, 1, 1]).into(),
            Reverse { axes: vec![0, 2] }.into(),
            Reshape::new(&[2, 2, 6]).into(),
            Reshape::new(&[1, 24]).into(),
            Slice::new(&[2, 0, 0], &[2, 3, 2], &[1, 1, 1]).into(),
        ];
        let whole = View::whole(Value(0), &shape);
        let array = Array::new(&shape, (0..24).map(f64::from).collect());
        for first in &ops {
            let Some(once) = whole.of(first) else { panic!("{first:?} is a view of what is in order") };
            let wanted = first.eval(&[&array]).unwrap().remove(0);
            assert_eq!(elements(&once), wanted.to_f64(), "{first:?}");
            for second in &ops {
                let fits = second.infer(&[wanted.ty()]).is_ok();
                if let (true, Some(twice)) = (fits, fits.then(|| once.of(second)).flatten()) {
                    let wanted = second.eval(&[&wanted]).unwrap().remove(0);
                    assert_eq!(
                        (elements(&twice), &twice.shape[..]),
                        (wanted.to_f64(), wanted.shape()),
                        "{first:?} {second:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn reshapes_that_no_strides_can_say_are_no_views() {
        let whole = View::whole(Value(0), &[4, 6]);
        let turned = whole.of(&Permute { order: vec![1, 0] }.into()).unwrap();
        assert_eq!(turned.of(&Reshape::new(&[24]).into()), None);
        let split = turned.of(&Reshape::new(&[2, 3, 4]).into()).unwrap();
        assert_eq!(split.strides[..], [3, 1, 6]);
        assert!(whole.is_in_order() && !turned.is_in_order());
    }

    #[test]
    fn repetition_is_seen() {
        let column = View::whole(Value(0), &[4]).of(&Broadcast::new(&[4, 7], &[0]).into()).unwrap();
        assert_eq!((column.spread(4), column.repeated()), (Some(7), None));
        let row = View::whole(Value(0), &[7]).of(&Broadcast::new(&[4, 7], &[1]).into()).unwrap();
        assert_eq!((row.spread(7), row.repeated()), (None, Some(7)));
        let all = View::whole(Value(0), &[]).of(&Broadcast::new(&[4, 7], &[]).into()).unwrap();
        assert_eq!((all.spread(1), all.repeated()), (Some(28), None));
    }
}
