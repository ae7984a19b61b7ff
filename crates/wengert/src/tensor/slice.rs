//! Parts of a tensor by ranges and positions that are known when the function is written.

use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use super::compose::{compose, or_raise};
use super::{Dim, Tensor};
use crate::error::{Error, Misfit, misfit};
use crate::primitives::{Reverse, Slice};
use crate::program::{Builder, Value};

/// What is taken along one axis: a position, which removes the axis, or a range, of any [`Dim`]. Negative
/// numbers count from the end. Sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no position or range along an axis",
    label = "a position (`0`, `-1`), a range (`1..3`, `..`), `span(1, -1)` or `step(.., 2)` is needed here"
)]
pub trait AxisIndex {
    /// What it means.
    #[doc(hidden)]
    fn place(self) -> Place;
}

/// What is taken along one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// One position; the axis disappears.
    At(isize),
    /// Every `step`-th position from `start` to before `end`; from the end if `step` is negative.
    Range {
        /// The first position.
        start: isize,
        /// The position before which it ends; `None` for the end of the axis.
        end: Option<isize>,
        /// The step.
        step: isize,
    },
}

/// Every `step`-th position of a range; backwards from its end if `step` is negative.
///
/// ```
/// use wengert::{Tensor, step};
/// let x = Tensor::from([0.0, 1.0, 2.0, 3.0, 4.0]);
/// assert_eq!(x.slice(step(1.., 2)).to_vec(), [1.0, 3.0]);
/// assert_eq!(x.slice(step(.., -2)).to_vec(), [4.0, 2.0, 0.0]);
/// ```
pub fn step(range: impl AxisIndex, step: impl Dim) -> Place {
    let step = step.dim().0;
    match range.place() {
        Place::At(position) => Place::At(position),
        Place::Range { start, end, .. } => Place::Range { start, end, step },
    }
}

/// The positions from `start` to before `end`, as `start..end`: for an end that is counted from the
/// end of the axis, because `1..-1` is an empty range to a reader, and to clippy a mistake.
///
/// ```
/// use wengert::{Tensor, span};
/// let x = Tensor::from([0.0, 1.0, 2.0, 3.0]);
/// assert_eq!(x.slice(span(1, -1)).to_vec(), [1.0, 2.0]);
/// ```
pub fn span(start: impl Dim, end: impl Dim) -> Place {
    range(start.dim().0, Some(end.dim().0))
}

impl AxisIndex for Place {
    fn place(self) -> Place {
        self
    }
}

impl<D: Dim> AxisIndex for D {
    fn place(self) -> Place {
        Place::At(self.dim().0)
    }
}

fn range(start: isize, end: Option<isize>) -> Place {
    Place::Range { start, end, step: 1 }
}

/// The end of a range that includes this position: after -1, the last, comes the end of the axis.
fn after(last: isize) -> Option<isize> {
    if last == -1 { None } else { Some(last.saturating_add(1)) }
}

impl AxisIndex for RangeFull {
    fn place(self) -> Place {
        range(0, None)
    }
}

impl<D: Dim> AxisIndex for Range<D> {
    fn place(self) -> Place {
        range(self.start.dim().0, Some(self.end.dim().0))
    }
}

impl<D: Dim> AxisIndex for RangeFrom<D> {
    fn place(self) -> Place {
        range(self.start.dim().0, None)
    }
}

impl<D: Dim> AxisIndex for RangeTo<D> {
    fn place(self) -> Place {
        range(0, Some(self.end.dim().0))
    }
}

impl<D: Dim> AxisIndex for RangeInclusive<D> {
    fn place(self) -> Place {
        range(self.start().dim().0, after(self.end().dim().0))
    }
}

impl<D: Dim> AxisIndex for RangeToInclusive<D> {
    fn place(self) -> Place {
        range(0, after(self.end.dim().0))
    }
}

/// What is taken along the first axes: one position or range, or a tuple, array or slice of them;
/// the axes that follow are taken whole. Sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no part of a tensor",
    label = "a position, a range, or a tuple of them is needed here: `0`, `1..3`, `(.., -1)`"
)]
pub trait Ranges {
    /// One entry per axis.
    #[doc(hidden)]
    fn places(self) -> Vec<Place>;
}

impl<I: AxisIndex> Ranges for I {
    fn places(self) -> Vec<Place> {
        vec![self.place()]
    }
}

impl Ranges for () {
    fn places(self) -> Vec<Place> {
        Vec::new()
    }
}

impl<I: AxisIndex, const N: usize> Ranges for [I; N] {
    fn places(self) -> Vec<Place> {
        self.into_iter().map(AxisIndex::place).collect()
    }
}

impl Ranges for &[Place] {
    fn places(self) -> Vec<Place> {
        self.to_vec()
    }
}

/// Tuples of positions and ranges.
macro_rules! tuples {
    ($(($($index:ident)+);)*) => {
        $( impl<$($index: AxisIndex),+> Ranges for ($($index,)+) {
            fn places(self) -> Vec<Place> {
                #[expect(non_snake_case, reason = "the types of a tuple name its fields too")]
                let ($($index,)+) = self;
                vec![$($index.place()),+]
            }
        } )*
    };
}
tuples! {
    (A);
    (A B);
    (A B C);
    (A B C D);
    (A B C D E);
    (A B C D E F);
}

or_raise! {
    trait TrySlice: "parts";

    /// The part at positions and ranges, one for each of the first axes.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    /// assert_eq!(x.slice(1).to_vec(), [4.0, 5.0, 6.0]);
    /// assert_eq!(x.slice((.., 1..)).to_vec(), [2.0, 3.0, 5.0, 6.0]);
    /// assert_eq!(x.slice((-1, -1)).item(), 6.0);
    /// assert_eq!(x.slice((x.shape()[0] - 1, ..x.shape()[1] - 1)).to_vec(), [4.0, 5.0]);
    /// ```
    fn slice = try_slice(ranges: impl Ranges);
}

impl TrySlice for Tensor {
    /// As [`Tensor::slice`], with an error instead of a panic.
    ///
    /// # Errors
    /// If there are more ranges than axes, or one is not within its axis.
    #[track_caller]
    fn try_slice(&self, ranges: impl Ranges) -> Result<Tensor, Error> {
        slice(self, &ranges.places())
    }
}

#[track_caller]
fn slice(x: &Tensor, places: &[Place]) -> Result<Tensor, Error> {
    compose("slice", &[x], |b, args| {
        let cut = Sliced::new(places, b.shape(args[0]))?;
        Ok(cut.read(b, args[0]))
    })
}

/// A part of a shape.
#[derive(Clone, Debug)]
pub(super) struct Sliced {
    /// The positions in increasing order.
    pub(super) slice: Slice,
    /// The axes that are read backwards.
    pub(super) reversed: Vec<usize>,
    /// How many positions there are along each axis.
    pub(super) lengths: Vec<usize>,
    /// The shape without the axes at a position.
    pub(super) shape: Vec<usize>,
}

impl Sliced {
    /// The part of a shape that ranges name.
    pub(super) fn new(places: &[Place], shape: &[usize]) -> Result<Self, Misfit> {
        if places.len() > shape.len() {
            misfit!("there are {} positions and ranges for {} axes", places.len(), shape.len());
        }
        let mut cut = Sliced {
            slice: Slice::new(&vec![0; shape.len()], shape, &vec![1; shape.len()]),
            reversed: Vec::new(),
            lengths: shape.to_vec(),
            shape: Vec::new(),
        };
        for (axis, &length) in shape.iter().enumerate() {
            match places.get(axis) {
                None => cut.shape.push(length),
                Some(&Place::At(position)) => {
                    let found = from_start(position, length).filter(|&found| found < length);
                    let Some(position) = found else {
                        misfit!("the position {position} is out of range for axis {axis}, which is {length} long");
                    };
                    cut.put(axis, position, position + 1, 1, 1);
                }
                Some(&Place::Range { start, end, step }) => {
                    let bounds = from_start(start, length).zip(end.map_or(Some(length), |end| from_start(end, length)));
                    let Some((start, end)) = bounds.filter(|(start, end)| start <= end) else {
                        misfit!("{} does not fit axis {axis}, which is {length} long", described(start, end));
                    };
                    if step == 0 {
                        misfit!("the step along axis {axis} is 0");
                    }
                    let stride = step.unsigned_abs();
                    let count = (end - start).div_ceil(stride);
                    // Backwards the last position counts, forwards the first.
                    let skipped = if step < 0 && count > 0 { (end - start - 1) % stride } else { 0 };
                    cut.put(axis, start + skipped, end, stride, count);
                    cut.shape.push(count);
                    if step < 0 {
                        cut.reversed.push(axis);
                    }
                }
            }
        }
        Ok(cut)
    }

    fn put(&mut self, axis: usize, start: usize, limit: usize, stride: usize, count: usize) {
        // A single position needs no step, and a large one could overflow.
        let stride = if count > 1 { stride } else { 1 };
        let limit = if count == 1 { start + 1 } else { limit };
        (self.slice.start[axis], self.slice.limit[axis], self.slice.stride[axis]) = (start, limit, stride);
        self.lengths[axis] = count;
    }

    /// The part of a value.
    pub(super) fn read(&self, b: &mut Builder, x: Value) -> Value {
        let whole = self.lengths == b.shape(x);
        let part = if whole { x } else { b.op(self.slice.clone(), &[x]) };
        let part = self.turned(b, part);
        b.reshape(part, &self.shape)
    }

    /// The axes that are read backwards, turned.
    pub(super) fn turned(&self, b: &mut Builder, x: Value) -> Value {
        if self.reversed.is_empty() { x } else { b.op(Reverse::new(&self.reversed), &[x]) }
    }
}

/// A position or an end of a range counted from the start of its axis, at most its length.
fn from_start(position: isize, length: usize) -> Option<usize> {
    let position = if position < 0 { position.checked_add_unsigned(length)? } else { position };
    usize::try_from(position).ok().filter(|&position| position <= length)
}

/// A range as one writes it.
fn described(start: isize, end: Option<isize>) -> String {
    format!("the range {start}..{}", end.map_or(String::new(), |end| end.to_string()))
}
