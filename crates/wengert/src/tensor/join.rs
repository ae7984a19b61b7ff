//! Several tensors as one, one as several, and repetition: concat, stack, split, tile, repeat,
//! roll, pad; diagonals and triangles.

use super::Tensor;
use super::compose::{axis_of, check_count, compose, compose_all, or_raise, refuse};
use super::operand::{IntoOperand, Written, number};
use crate::array::{DType, Type};
use crate::error::{Error, Misfit, OrRaise, misfit};
use crate::ops::Compare;
use crate::primitives::{Broadcast, Concat, Iota, Pad, Reduce, Reducer, Slice};
use crate::program::{Builder, Value};

or_raise! {
    /// The pieces of these lengths along an axis; they have to add up to its length.
    fn split = try_split(lengths: &[usize], axis: isize) -> Vec<Tensor>;
    /// The tensor repeated as a whole, `counts[k]` times along axis k; one count for each axis.
    fn tile = try_tile(counts: &[usize]);
    /// Every element repeated this many times along an axis.
    fn repeat = try_repeat(count: usize, axis: isize);
    /// The elements moved forward along an axis; those that leave at the end enter at the start.
    fn roll = try_roll(by: isize, axis: isize);
    /// With `value` added before, after and between the elements of each axis: `(low, high,
    /// interior)` for each. Negative `low` and `high` take elements away.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([1.0, 2.0]);
    /// assert_eq!(x.pad(&[(1, 0, 1)], 0.5).to_vec(), [0.5, 1.0, 0.5, 2.0]);
    /// ```
    fn pad = try_pad(amounts: &[(i64, i64, usize)], value: impl IntoOperand);
    /// The elements `x[.., i, i + offset]` of the last two axes, as a last axis.
    fn diagonal = try_diagonal(offset: isize);
    /// Matrices with the last axis as their diagonal, moved right by `offset`, and 0 elsewhere.
    fn diag_embed = try_diag_embed(offset: isize);
    /// The sum of the diagonal of the last two axes.
    fn trace = try_trace();
    /// The last two axes with 0 below the diagonal moved right by `offset`.
    fn triu = try_triu(offset: isize);
    /// The last two axes with 0 above the diagonal moved right by `offset`.
    fn tril = try_tril(offset: isize);
}

impl Tensor {
    /// The tensors one after the other along an axis.
    ///
    /// # Panics
    /// As [`Tensor::try_concat`] returns an error.
    #[track_caller]
    pub fn concat(tensors: &[&Tensor], axis: isize) -> Tensor {
        Self::try_concat(tensors, axis).or_raise()
    }

    /// As [`Tensor::concat`], with an error instead of a panic.
    ///
    /// # Errors
    /// If there is no tensor, or shapes or element types do not fit.
    #[track_caller]
    pub fn try_concat(tensors: &[&Tensor], axis: isize) -> Result<Tensor, Error> {
        if tensors.is_empty() {
            return refuse("concat", tensors, "it takes at least one tensor");
        }
        compose("concat", tensors, |b, args| {
            let axis = axis_of(axis, b.shape(args[0]).len())?;
            Ok(b.emit(Concat { axis }, args)?[0])
        })
    }

    /// The tensors, of one shape, along a new axis of the result.
    ///
    /// # Panics
    /// As [`Tensor::try_stack`] returns an error.
    #[track_caller]
    pub fn stack(tensors: &[&Tensor], axis: isize) -> Tensor {
        Self::try_stack(tensors, axis).or_raise()
    }

    /// As [`Tensor::stack`], with an error instead of a panic.
    ///
    /// # Errors
    /// If there is no tensor, or shapes or element types differ.
    #[track_caller]
    pub fn try_stack(tensors: &[&Tensor], axis: isize) -> Result<Tensor, Error> {
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

    /// As [`Tensor::split`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the axis does not exist or the lengths do not add up to its length.
    #[track_caller]
    pub fn try_split(&self, lengths: &[usize], axis: isize) -> Result<Vec<Tensor>, Error> {
        compose_all("split", &[self], |b, args| {
            let shape = b.shape(args[0]).to_vec();
            let axis = axis_of(axis, shape.len())?;
            let total = lengths.iter().try_fold(0usize, |sum, &length| sum.checked_add(length));
            if total != Some(shape[axis]) {
                misfit!("the lengths {lengths:?} do not add up to axis {axis}, which is {} long", shape[axis]);
            }
            let mut start = 0;
            let mut pieces = Vec::with_capacity(lengths.len());
            for length in lengths {
                pieces.push(b.op(Slice::along(&shape, axis, start, start + length), args));
                start += length;
            }
            Ok(pieces)
        })
    }

    /// As [`Tensor::tile`], with an error instead of a panic.
    ///
    /// # Errors
    /// If there are not as many counts as axes, or the result does not fit in memory.
    #[track_caller]
    pub fn try_tile(&self, counts: &[usize]) -> Result<Tensor, Error> {
        compose("tile", &[self], |b, args| {
            let shape = b.shape(args[0]).to_vec();
            if counts.len() != shape.len() {
                misfit!("there are {} counts for {} axes", counts.len(), shape.len());
            }
            let spread =
                counts.iter().zip(&shape).flat_map(|(&count, &length)| [count, length]).collect::<Vec<usize>>();
            let places: Vec<usize> = (0..shape.len()).map(|axis| 2 * axis + 1).collect();
            merged(b, args[0], &spread, &places)
        })
    }

    /// As [`Tensor::repeat`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the axis does not exist, or the result does not fit in memory.
    #[track_caller]
    pub fn try_repeat(&self, count: usize, axis: isize) -> Result<Tensor, Error> {
        compose("repeat", &[self], |b, args| {
            let shape = b.shape(args[0]).to_vec();
            let axis = axis_of(axis, shape.len())?;
            let counts = (0..shape.len()).map(|k| if k == axis { count } else { 1 });
            let spread = shape.iter().zip(counts).flat_map(|(&length, count)| [length, count]).collect::<Vec<usize>>();
            let places: Vec<usize> = (0..shape.len()).map(|axis| 2 * axis).collect();
            merged(b, args[0], &spread, &places)
        })
    }

    /// As [`Tensor::roll`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the axis does not exist.
    #[track_caller]
    pub fn try_roll(&self, by: isize, axis: isize) -> Result<Tensor, Error> {
        compose("roll", &[self], |b, args| {
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

    /// As [`Tensor::pad`], with an error instead of a panic.
    ///
    /// # Errors
    /// If there are not amounts for each axis, or more is taken away than there is.
    #[track_caller]
    pub fn try_pad(&self, amounts: &[(i64, i64, usize)], value: impl IntoOperand) -> Result<Tensor, Error> {
        let value = value.into_operand();
        let mut operands = vec![self];
        operands.extend(value.tensor());
        compose("pad", &operands, |b, args| {
            // Beyond this nothing fits in memory, and sums of amounts could overflow.
            const MOST: usize = isize::MAX as usize / 8;
            let sizes = |&(low, high, interior): &(i64, i64, usize)| {
                [low.unsigned_abs() as usize, high.unsigned_abs() as usize, interior]
            };
            if let Some(size) = amounts.iter().flat_map(sizes).find(|&size| size > MOST) {
                misfit!("an amount of {size} elements does not fit in memory");
            }
            let ty = b.ty(args[0]).with_shape(Vec::new());
            let value = match &value {
                Written::Tensor(_) => args[1],
                Written::Number(value) => number(b, *value, &ty)?,
            };
            let pad = Pad {
                low: amounts.iter().map(|&(low, _, _)| low).collect(),
                high: amounts.iter().map(|&(_, high, _)| high).collect(),
                interior: amounts.iter().map(|&(_, _, interior)| interior).collect(),
            };
            Ok(b.emit(pad, &[args[0], value])?[0])
        })
    }

    /// As [`Tensor::diagonal`], with an error instead of a panic.
    ///
    /// # Errors
    /// If there are less than two axes.
    #[track_caller]
    pub fn try_diagonal(&self, offset: isize) -> Result<Tensor, Error> {
        compose("diagonal", &[self], |b, args| diagonal(b, args[0], offset))
    }

    /// As [`Tensor::trace`], with an error instead of a panic.
    ///
    /// # Errors
    /// If there are less than two axes, or the elements are truth values.
    #[track_caller]
    pub fn try_trace(&self) -> Result<Tensor, Error> {
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
    pub fn try_diag_embed(&self, offset: isize) -> Result<Tensor, Error> {
        compose("diag_embed", &[self], |b, args| {
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

    /// As [`Tensor::triu`], with an error instead of a panic.
    ///
    /// # Errors
    /// If there are less than two axes.
    #[track_caller]
    pub fn try_triu(&self, offset: isize) -> Result<Tensor, Error> {
        triangle("triu", self, offset, Compare::Ge)
    }

    /// As [`Tensor::tril`], with an error instead of a panic.
    ///
    /// # Errors
    /// If there are less than two axes.
    #[track_caller]
    pub fn try_tril(&self, offset: isize) -> Result<Tensor, Error> {
        triangle("tril", self, offset, Compare::Le)
    }
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
    let offset = number(b, super::operand::PlainNumber::Whole(offset as i64), &ty)?;
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
