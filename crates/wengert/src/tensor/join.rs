//! Several tensors as one, one as several, and repetition: concat, stack, split, unstack, tile, repeat, roll; diagonals
//! and triangles.

use super::compose::{axis_of, check_count, compose, compose_all, or_raise, refuse};
use super::operand::number;
use super::shape::lengths_of;
use super::{Dim, Dims, Tensor, references};
use crate::array::{DType, Type};
use crate::error::{Error, Misfit, OrRaise, misfit};
use crate::ops::Compare;
use crate::primitives::{Broadcast, Concat, Iota, Pad, Reduce, Reducer, Slice};
use crate::program::{Builder, Value};

/// What [`Tensor::split`] cuts an axis into: a number of equal parts (`3`), or pieces of these lengths (`[2, 1]`,
/// `&lengths`, `vec![1; n]`). Sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither a number of parts nor a list of lengths",
    label = "`3` for three equal parts, or `[2, 1]` for pieces of these lengths is needed here"
)]
pub trait Parts {
    /// The lengths, or the number of equal ones.
    #[doc(hidden)]
    fn parts(self) -> Cuts;

    /// As of [`Dims`](super::Dims).
    #[doc(hidden)]
    fn either(&mut self) {}
}

/// How an axis is cut.
#[derive(Clone, Debug)]
pub enum Cuts {
    /// Into this many equal parts.
    Equal(isize),
    /// Into pieces of these lengths.
    Lengths(Vec<isize>),
}

impl<D: Dim> Parts for D {
    fn parts(self) -> Cuts {
        Cuts::Equal(self.dim().0)
    }
}

/// Lists of lengths; what is a list is said at [`Dims`].
macro_rules! lengths {
    ($( ($($size:tt)*) $list:ty; )*) => {
        $( impl<D: Dim, $($size)*> Parts for $list {
            fn parts(self) -> Cuts {
                Cuts::Lengths(self.dims())
            }
        } )*
    };
}
lengths! {
    () &[D];
    () &&[D];
    () &Vec<D>;
    () Vec<D>;
    () &Box<[D]>;
    (const N: usize) [D; N];
    (const N: usize) &[D; N];
}

or_raise! {
    trait TryJoin: "joining, splitting and repetition" {
        /// As [`Tensor::concat`], with an error instead of a panic.
        ///
        /// # Errors
        /// Where that panics.
        fn try_concat(tensors: impl IntoIterator<Item: AsRef<Tensor>>, axis: impl Dim) -> Result<Tensor, Error>;
        /// As [`Tensor::stack`], with an error instead of a panic.
        ///
        /// # Errors
        /// Where that panics.
        fn try_stack(tensors: impl IntoIterator<Item: AsRef<Tensor>>, axis: impl Dim) -> Result<Tensor, Error>;
    }

    /// The pieces along an axis: as many equal ones as a number says, or of the lengths of a list, which have to add up to
    /// that of the axis.
    ///
    /// A number is that of the pieces, as in NumPy; a list holds lengths, as in PyTorch.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([1.0, 2.0, 3.0, 4.0]);
    /// assert_eq!(x.split(2, 0)[1].to_vec(), [3.0, 4.0]);
    /// assert_eq!(x.split([1, 3], 0)[1].to_vec(), [2.0, 3.0, 4.0]);
    /// ```
    #[doc(alias = "chunk")]
    #[doc(alias = "array_split")]
    fn split = try_split(parts: impl Parts, axis: impl Dim) -> Vec<Tensor>;
    /// The slices along an axis, which disappears: the reverse of [`Tensor::stack`].
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let columns = Tensor::from([[1.0, 2.0], [3.0, 4.0]]).unstack(1);
    /// assert_eq!(columns[0].to_vec(), [1.0, 3.0]);
    /// assert_eq!(Tensor::stack(&columns, 0).to_vec(), [1.0, 3.0, 2.0, 4.0]);
    /// ```
    #[doc(alias = "unbind")]
    fn unstack = try_unstack(axis: impl Dim) -> Vec<Tensor>;
    /// The tensor repeated as a whole, `counts[k]` times along axis k; one count for each axis.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[1.0, 2.0]]).tile([2, 2]).to_vec(), [1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0]);
    /// ```
    fn tile = try_tile(counts: impl Dims);
    /// Every element repeated this many times along an axis.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.0, 2.0]).repeat(2, 0).to_vec(), [1.0, 1.0, 2.0, 2.0]);
    /// ```
    #[doc(alias = "repeat_interleave")]
    fn repeat = try_repeat(count: impl Dim, axis: impl Dim);
    /// The elements moved forward along an axis; those that leave at the end enter at the start.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([1.0, 2.0, 3.0]);
    /// assert_eq!(x.roll(1, 0).to_vec(), [3.0, 1.0, 2.0]);
    /// assert_eq!(x.roll(-1, -1).to_vec(), [2.0, 3.0, 1.0]);
    /// ```
    #[doc(alias = "circshift")]
    fn roll = try_roll(by: impl Dim, axis: impl Dim);
    /// The elements `x[.., i, i + offset]` of the last two axes, as a last axis.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!((x.diagonal(0).to_vec(), x.diagonal(-1).to_vec()), (vec![1.0, 4.0], vec![3.0]));
    /// ```
    #[doc(alias = "diag")]
    fn diagonal = try_diagonal(offset: impl Dim);
    /// Matrices with the last axis as their diagonal, moved right by `offset`, and 0 elsewhere.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.0, 2.0]).diag_embed(0).to_vec(), [1.0, 0.0, 0.0, 2.0]);
    /// ```
    #[doc(alias = "diag")]
    #[doc(alias = "diagflat")]
    fn diag_embed = try_diag_embed(offset: impl Dim);
    /// The sum of the diagonal of the last two axes.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[1.0, 2.0], [3.0, 4.0]]).trace().item(), 5.0);
    /// ```
    fn trace = try_trace();
    /// The last two axes with 0 below the diagonal moved right by `offset`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[1.0, 2.0], [3.0, 4.0]]).triu(0).to_vec(), [1.0, 2.0, 0.0, 4.0]);
    /// ```
    fn triu = try_triu(offset: impl Dim);
    /// The last two axes with 0 above the diagonal moved right by `offset`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[1.0, 2.0], [3.0, 4.0]]).tril(-1).to_vec(), [0.0, 0.0, 3.0, 0.0]);
    /// ```
    fn tril = try_tril(offset: impl Dim);
}

impl Tensor {
    /// The tensors one after the other along an axis: an array, a slice or a vector of tensors or of references, or an
    /// iterator of them.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (x, y) = (Tensor::from([1.0, 2.0]), Tensor::from([3.0]));
    /// assert_eq!(Tensor::concat([&x, &y], 0).to_vec(), [1.0, 2.0, 3.0]);
    /// let pieces: Vec<Tensor> = x.split(2, 0);
    /// assert_eq!(Tensor::concat(&pieces, 0).to_vec(), [1.0, 2.0]);
    /// assert_eq!(Tensor::concat(pieces.iter().rev(), 0).to_vec(), [2.0, 1.0]);
    /// ```
    ///
    /// # Panics
    /// As [`Tensor::try_concat`] returns an error.
    #[doc(alias = "cat")]
    #[doc(alias = "concatenate")]
    #[doc(alias = "hstack")]
    #[doc(alias = "vstack")]
    #[track_caller]
    pub fn concat(tensors: impl IntoIterator<Item: AsRef<Tensor>>, axis: impl Dim) -> Tensor {
        Self::try_concat(tensors, axis).or_raise()
    }

    /// The tensors, of one shape, along a new axis of the result; given as to [`Tensor::concat`].
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([1.0, 2.0]);
    /// assert_eq!(Tensor::stack([&x, &x.square()], 1).to_vec(), [1.0, 1.0, 2.0, 4.0]);
    /// let rows = Tensor::stack((0..3).map(|k| &x * k as f64), 0);
    /// assert_eq!(rows.shape(), [3, 2]);
    /// ```
    ///
    /// # Panics
    /// As [`Tensor::try_stack`] returns an error.
    #[doc(alias = "vstack")]
    #[track_caller]
    pub fn stack(tensors: impl IntoIterator<Item: AsRef<Tensor>>, axis: impl Dim) -> Tensor {
        Self::try_stack(tensors, axis).or_raise()
    }
}

impl TryJoin for Tensor {
    /// As [`Tensor::concat`], with an error instead of a panic.
    ///
    /// # Errors
    /// If there is no tensor, or shapes or element types do not fit.
    #[track_caller]
    fn try_concat(tensors: impl IntoIterator<Item: AsRef<Tensor>>, axis: impl Dim) -> Result<Tensor, Error> {
        concat(&references(&tensors.into_iter().collect::<Vec<_>>()), axis.dim().0)
    }

    /// As [`Tensor::stack`], with an error instead of a panic.
    ///
    /// # Errors
    /// If there is no tensor, or shapes or element types differ.
    #[track_caller]
    fn try_stack(tensors: impl IntoIterator<Item: AsRef<Tensor>>, axis: impl Dim) -> Result<Tensor, Error> {
        stack(&references(&tensors.into_iter().collect::<Vec<_>>()), axis.dim().0)
    }

    /// As [`Tensor::split`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the axis does not exist, its length is no multiple of the number of parts, or the lengths do not add up to it.
    #[track_caller]
    fn try_split(&self, parts: impl Parts, axis: impl Dim) -> Result<Vec<Tensor>, Error> {
        split(self, &parts.parts(), axis.dim().0)
    }

    /// As [`Tensor::unstack`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the axis does not exist.
    #[track_caller]
    fn try_unstack(&self, axis: impl Dim) -> Result<Vec<Tensor>, Error> {
        unstack(self, axis.dim().0)
    }

    /// As [`Tensor::tile`], with an error instead of a panic.
    ///
    /// # Errors
    /// If there are not as many counts as axes, or the result does not fit in memory.
    #[track_caller]
    fn try_tile(&self, counts: impl Dims) -> Result<Tensor, Error> {
        tile(self, &counts.dims())
    }

    /// As [`Tensor::repeat`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the axis does not exist, the count is negative, or the result does not fit in memory.
    #[track_caller]
    fn try_repeat(&self, count: impl Dim, axis: impl Dim) -> Result<Tensor, Error> {
        repeat(self, count.dim().0, axis.dim().0)
    }

    /// As [`Tensor::roll`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the axis does not exist.
    #[track_caller]
    fn try_roll(&self, by: impl Dim, axis: impl Dim) -> Result<Tensor, Error> {
        roll(self, by.dim().0, axis.dim().0)
    }

    /// As [`Tensor::diagonal`], with an error instead of a panic.
    ///
    /// # Errors
    /// If there are less than two axes.
    #[track_caller]
    fn try_diagonal(&self, offset: impl Dim) -> Result<Tensor, Error> {
        diagonal_of(self, offset.dim().0)
    }

    /// As [`Tensor::trace`], with an error instead of a panic.
    ///
    /// # Errors
    /// If there are less than two axes, or the elements are truth values.
    #[track_caller]
    fn try_trace(&self) -> Result<Tensor, Error> {
        compose("trace", &[self], |b, args| {
            let diagonal = diagonal(b, args[0], 0)?;
            let axis = b.shape(diagonal).len() - 1;
            Ok(b.emit(Reduce::new(Reducer::Sum, &[axis]), &[diagonal])?[0])
        })
    }

    /// As [`Tensor::diag_embed`], with an error instead of a panic.
    ///
    /// # Errors
    /// If it is a single number, or the result does not fit in memory.
    #[track_caller]
    fn try_diag_embed(&self, offset: impl Dim) -> Result<Tensor, Error> {
        diag_embed(self, offset.dim().0)
    }

    /// As [`Tensor::triu`], with an error instead of a panic.
    ///
    /// # Errors
    /// If there are less than two axes.
    #[track_caller]
    fn try_triu(&self, offset: impl Dim) -> Result<Tensor, Error> {
        triangle("triu", self, offset.dim().0, Compare::Ge)
    }

    /// As [`Tensor::tril`], with an error instead of a panic.
    ///
    /// # Errors
    /// If there are less than two axes.
    #[track_caller]
    fn try_tril(&self, offset: impl Dim) -> Result<Tensor, Error> {
        triangle("tril", self, offset.dim().0, Compare::Le)
    }
}

#[track_caller]
fn concat(tensors: &[&Tensor], axis: isize) -> Result<Tensor, Error> {
    if tensors.is_empty() {
        return refuse("concat", tensors, "it takes at least one tensor");
    }
    compose("concat", tensors, |b, args| {
        let axis = axis_of(axis, b.shape(args[0]).len())?;
        Ok(b.emit(Concat { axis }, args)?[0])
    })
}

#[track_caller]
fn stack(tensors: &[&Tensor], axis: isize) -> Result<Tensor, Error> {
    let Some(first) = tensors.first() else {
        return refuse("stack", tensors, "it takes at least one tensor");
    };
    if tensors.iter().any(|tensor| tensor.ty() != first.ty()) {
        return refuse("stack", tensors, "the types differ");
    }
    compose("stack", tensors, |b, args| {
        let mut shape = b.shape(args[0]).to_vec();
        let axis = axis_of(axis, shape.len() + 1)?;
        shape.insert(axis, 1);
        let layers: Vec<Value> = args.iter().map(|&arg| b.reshape(arg, &shape)).collect();
        Ok(b.emit(Concat { axis }, &layers)?[0])
    })
}

impl Cuts {
    /// The lengths of the pieces of an axis.
    fn lengths(&self, axis: usize, length: usize) -> Result<Vec<usize>, Misfit> {
        match self {
            Cuts::Equal(count) => match usize::try_from(*count) {
                Ok(count) if count > 0 && length.is_multiple_of(count) => {
                    check_count(&[count])?;
                    Ok(vec![length / count; count])
                }
                Ok(count) if count > 0 => {
                    misfit!(
                        "axis {axis} is {length} long, and {count} equal parts do not divide it; name their lengths"
                    )
                }
                _ => misfit!("there is no splitting into {count} parts"),
            },
            Cuts::Lengths(lengths) => {
                let lengths = lengths_of(lengths)?;
                let total = lengths.iter().try_fold(0usize, |sum, &length| sum.checked_add(length));
                if total != Some(length) {
                    misfit!("the lengths {lengths:?} do not add up to axis {axis}, which is {length} long");
                }
                Ok(lengths)
            }
        }
    }
}

#[track_caller]
fn split(x: &Tensor, cuts: &Cuts, axis: isize) -> Result<Vec<Tensor>, Error> {
    compose_all("split", &[x], |b, args| {
        let shape = b.shape(args[0]).to_vec();
        let axis = axis_of(axis, shape.len())?;
        let mut start = 0;
        let mut pieces = Vec::new();
        for length in cuts.lengths(axis, shape[axis])? {
            pieces.push(b.op(Slice::along(&shape, axis, start, start + length), args));
            start += length;
        }
        Ok(pieces)
    })
}

#[track_caller]
fn unstack(x: &Tensor, axis: isize) -> Result<Vec<Tensor>, Error> {
    compose_all("unstack", &[x], |b, args| {
        let shape = b.shape(args[0]).to_vec();
        let axis = axis_of(axis, shape.len())?;
        let mut without = shape.clone();
        without.remove(axis);
        let layer = |b: &mut Builder, k: usize| {
            let layer = b.op(Slice::along(&shape, axis, k, k + 1), args);
            b.reshape(layer, &without)
        };
        Ok((0..shape[axis]).map(|k| layer(b, k)).collect())
    })
}

#[track_caller]
fn tile(x: &Tensor, counts: &[isize]) -> Result<Tensor, Error> {
    compose("tile", &[x], |b, args| {
        let shape = b.shape(args[0]).to_vec();
        let counts = lengths_of(counts)?;
        if counts.len() != shape.len() {
            misfit!("there are {} counts for {} axes", counts.len(), shape.len());
        }
        let spread = counts.iter().zip(&shape).flat_map(|(&count, &length)| [count, length]).collect::<Vec<usize>>();
        let places: Vec<usize> = (0..shape.len()).map(|axis| 2 * axis + 1).collect();
        merged(b, args[0], &spread, &places)
    })
}

#[track_caller]
fn repeat(x: &Tensor, count: isize, axis: isize) -> Result<Tensor, Error> {
    compose("repeat", &[x], |b, args| {
        let shape = b.shape(args[0]).to_vec();
        let axis = axis_of(axis, shape.len())?;
        let Ok(count) = usize::try_from(count) else { misfit!("the count {count} is negative") };
        let counts = (0..shape.len()).map(|k| if k == axis { count } else { 1 });
        let spread = shape.iter().zip(counts).flat_map(|(&length, count)| [length, count]).collect::<Vec<usize>>();
        let places: Vec<usize> = (0..shape.len()).map(|axis| 2 * axis).collect();
        merged(b, args[0], &spread, &places)
    })
}

#[track_caller]
fn roll(x: &Tensor, by: isize, axis: isize) -> Result<Tensor, Error> {
    compose("roll", &[x], |b, args| {
        let shape = b.shape(args[0]).to_vec();
        let axis = axis_of(axis, shape.len())?;
        let length = shape[axis];
        if length == 0 {
            return Ok(args[0]);
        }
        let cut = length - by.rem_euclid(length.cast_signed()).cast_unsigned();
        let end = b.op(Slice::along(&shape, axis, cut, length), args);
        let start = b.op(Slice::along(&shape, axis, 0, cut), args);
        Ok(b.op(Concat { axis }, &[end, start]))
    })
}

#[track_caller]
fn diagonal_of(x: &Tensor, offset: isize) -> Result<Tensor, Error> {
    compose("diagonal", &[x], |b, args| diagonal(b, args[0], offset))
}

#[track_caller]
fn diag_embed(x: &Tensor, offset: isize) -> Result<Tensor, Error> {
    compose("diag_embed", &[x], |b, args| {
        let ty = b.ty(args[0]).clone();
        let axis = axis_of(-1, ty.rank())?;
        let side = ty.shape[axis].saturating_add(offset.unsigned_abs());
        check_count(&[side, side])?;
        let mut shape = ty.shape.clone();
        shape[axis] = side;
        shape.push(side);
        check_count(&shape)?;
        // The number of the diagonal element in each row, moved down if the offset is negative.
        let shift = (-offset).max(0) as i64;
        let mut pad = Pad::new(&vec![0; ty.rank()], &vec![0; ty.rank()]);
        (pad.low[axis], pad.high[axis]) = (shift, offset.max(0) as i64);
        let zero = b.full(0.0, &ty.with_shape(Vec::new()));
        let rows = b.op(pad, &[args[0], zero]);
        let spread = b.spread(rows, &shape, &[axis + 1]);
        let on = band(b, &shape, offset, Compare::Eq)?;
        let zeros = b.zeros_like(spread);
        Ok(b.select(on, spread, zeros))
    })
}

/// `x` spread to a shape with two axes for each of its own, which are then taken together.
fn merged(b: &mut Builder, x: Value, spread: &[usize], places: &[usize]) -> Result<Value, Misfit> {
    let shape: Option<Vec<usize>> = spread.chunks(2).map(|pair| pair[0].checked_mul(pair[1])).collect();
    let Some(shape) = shape else { misfit!("the result does not fit in memory") };
    let spread = b.emit(Broadcast::new(spread, places), &[x])?[0];
    Ok(b.reshape(spread, &shape))
}

/// The last two axes.
fn matrix_axes(shape: &[usize]) -> Result<(usize, usize), Misfit> {
    match shape.len().checked_sub(2) {
        Some(rows) => Ok((rows, rows + 1)),
        None => misfit!("it takes matrices: at least two axes are needed, and there are {}", shape.len()),
    }
}

/// Where `column - row` compares so with the offset, in the last two axes of a shape.
fn band(b: &mut Builder, shape: &[usize], offset: isize, compare: Compare) -> Result<Value, Misfit> {
    let (row, column) = matrix_axes(shape)?;
    check_count(shape)?;
    let [rows, columns] = [row, column].map(|axis| {
        let numbers = b.op(Iota { length: shape[axis] }, &[]);
        b.op(Broadcast::new(&shape[row..], &[axis - row]), &[numbers])
    });
    let distance = b.sub(columns, rows);
    let ty = Type::new(DType::I64, &shape[row..]);
    let offset = number(b, super::operand::PlainNumber::Whole(offset as i128), &ty)?;
    let mask = b.op(compare, &[distance, offset]);
    Ok(super::compose::stretch(b, mask, shape))
}

#[track_caller]
fn triangle(name: &str, x: &Tensor, offset: isize, compare: Compare) -> Result<Tensor, Error> {
    compose(name, &[x], |b, args| {
        let shape = b.shape(args[0]).to_vec();
        let mask = band(b, &shape, offset, compare)?;
        let zeros = b.zeros_like(args[0]);
        Ok(b.select(mask, args[0], zeros))
    })
}

/// The diagonal of the last two axes: every n-th of the elements in a row.
pub(super) fn diagonal(b: &mut Builder, x: Value, offset: isize) -> Result<Value, Misfit> {
    let shape = b.shape(x).to_vec();
    let (row, column) = matrix_axes(&shape)?;
    let (rows, columns) = (shape[row], shape[column]);
    let (down, right) = (offset.min(0).unsigned_abs(), offset.max(0).cast_unsigned());
    let count = rows.saturating_sub(down).min(columns.saturating_sub(right));
    let flat: Vec<usize> = shape[..row].iter().copied().chain([rows * columns]).collect();
    let elements = b.reshape(x, &flat);
    let mut slice = Slice::along(&flat, row, 0, 0);
    if count > 0 {
        let first = down * columns + right;
        (slice.start[row], slice.limit[row]) = (first, first + (count - 1) * (columns + 1) + 1);
        slice.stride[row] = columns + 1;
    }
    Ok(b.op(slice, &[elements]))
}
