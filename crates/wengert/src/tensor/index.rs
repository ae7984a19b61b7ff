//! Elements at computed positions: take, gather, scatter, blocks, one-hot, select_n.

use super::compose::{axis_of, check_count, compose, or_raise, refuse, stretch};
use super::segment::{Updates, placed};
use super::{Dim, Tensor};
use crate::array::{DType, Type};
use crate::error::{Error, Misfit, misfit};
use crate::ops::Compare;
use crate::primitives::{Broadcast, DynamicSlice, DynamicUpdate, Gather, Iota, OutOfBounds, Scatter, Write};
use crate::program::{Builder, Value};

or_raise! {
    trait TryIndex: "computed positions";

    /// The elements at `indices` along an axis, in whose place the axes of the indices stand. An
    /// index below 0 or beyond the axis is an error; [`Tensor::take_or`] has other answers.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let rows = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(rows.take(&Tensor::from([1i64, 1, 0]), 0).to_vec(), [3.0, 4.0, 3.0, 4.0, 1.0, 2.0]);
    /// ```
    #[doc(alias("index_select", "gather"))]
    fn take = try_take(indices: &Tensor, axis: impl Dim);
    /// As [`Tensor::take`], with an answer to indices out of range.
    ///
    /// ```
    /// use wengert::{Tensor, primitives::OutOfBounds};
    /// let (x, at) = (Tensor::from([1.0, 2.0]), Tensor::from([0i64, 5]));
    /// assert_eq!(x.take_or(&at, 0, OutOfBounds::Clamp).to_vec(), [1.0, 2.0]);
    /// assert_eq!(x.take_or(&at, 0, OutOfBounds::Fill).to_vec(), [1.0, 0.0]);
    /// ```
    #[doc(alias = "index_select")]
    fn take_or = try_take_or(indices: &Tensor, axis: impl Dim, mode: OutOfBounds);
    /// For every index the element at it along the axis in the same line: the shapes are equal but
    /// for the axis.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([[3.0, 1.0], [2.0, 4.0]]);
    /// let order = x.argsort(1);
    /// assert_eq!(x.take_along_axis(&order, 1).to_vec(), [1.0, 3.0, 2.0, 4.0]);
    /// ```
    #[doc(alias = "gather")]
    fn take_along_axis = try_take_along_axis(indices: &Tensor, axis: impl Dim);
    /// The elements at index vectors, the last axis of `indices`, over the first axes.
    ///
    /// ```
    /// use wengert::{Tensor, primitives::OutOfBounds};
    /// let x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// let picked = x.gather_nd(&Tensor::from([[0i64, 1], [1, 0]]), OutOfBounds::Error);
    /// assert_eq!(picked.to_vec(), [2.0, 3.0]);
    /// ```
    #[doc(alias = "gather")]
    fn gather_nd = try_gather_nd(indices: &Tensor, mode: OutOfBounds);
    /// With `updates` added at `indices` along an axis; they have the shape that
    /// [`Tensor::take`] gives. Updates to one place add up.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::zeros(&[3]).scatter_add(&Tensor::from([0i64, 2, 0]), &Tensor::from([1.0, 2.0, 3.0]), 0);
    /// assert_eq!(y.to_vec(), [4.0, 0.0, 2.0]);
    /// ```
    #[doc(alias = "index_add")]
    fn scatter_add = try_scatter_add(indices: &Tensor, updates: &Tensor, axis: impl Dim);
    /// With `updates` written at `indices` along an axis; of several to one place the last counts.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::zeros(&[3]).scatter_set(&Tensor::from([0i64, 2, 0]), &Tensor::from([1.0, 2.0, 3.0]), 0);
    /// assert_eq!(y.to_vec(), [3.0, 0.0, 2.0]);
    /// ```
    #[doc(alias("index_copy", "scatter"))]
    fn scatter_set = try_scatter_set(indices: &Tensor, updates: &Tensor, axis: impl Dim);
    /// As [`Tensor::scatter_add`] and [`Tensor::scatter_set`], with an answer to indices out of range.
    ///
    /// ```
    /// use wengert::{Tensor, primitives::{OutOfBounds, Write}};
    /// let (at, updates) = (Tensor::from([1i64, 7]), Tensor::from([5.0, 6.0]));
    /// let y = Tensor::zeros(&[2]).scatter_or(&at, &updates, 0, Write::Add, OutOfBounds::Fill);
    /// assert_eq!(y.to_vec(), [0.0, 5.0]);
    /// ```
    fn scatter_or = try_scatter_or(indices: &Tensor, updates: &Tensor, axis: impl Dim, write: Write, mode: OutOfBounds);
    /// With `updates` added or written at index vectors over the first axes; see
    /// [`Tensor::gather_nd`].
    ///
    /// ```
    /// use wengert::{Tensor, primitives::{OutOfBounds, Write}};
    /// let (at, updates) = (Tensor::from([[0i64, 1], [1, 0]]), Tensor::from([5.0, 6.0]));
    /// let y = Tensor::zeros(&[2, 2]).scatter_nd(&at, &updates, Write::Set, OutOfBounds::Error);
    /// assert_eq!(y.to_vec(), [0.0, 5.0, 6.0, 0.0]);
    /// ```
    #[doc(alias("scatter", "index_put"))]
    fn scatter_nd = try_scatter_nd(indices: &Tensor, updates: &Tensor, write: Write, mode: OutOfBounds);
    /// The block of these lengths at a computed start (one i64 per axis), moved to where it fits.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([1.0, 2.0, 3.0, 4.0]);
    /// assert_eq!(x.dynamic_slice(&Tensor::from([1i64]), &[2]).to_vec(), [2.0, 3.0]);
    /// ```
    #[doc(alias = "narrow")]
    fn dynamic_slice = try_dynamic_slice(start: &Tensor, lengths: &[usize]);
    /// With a block written at a computed start (one i64 per axis), moved to where it fits.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([1.0, 2.0, 3.0, 4.0]);
    /// let y = x.dynamic_update_slice(&Tensor::from([8.0, 9.0]), &Tensor::from([1i64]));
    /// assert_eq!(y.to_vec(), [1.0, 8.0, 9.0, 4.0]);
    /// ```
    fn dynamic_update_slice = try_dynamic_update_slice(update: &Tensor, start: &Tensor);
    /// For every integer a last axis with 1 at its place among `classes` and 0 elsewhere; all 0 for
    /// one out of range. In double precision.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([2i64, 0]).one_hot(3).to_vec(), [0.0, 0.0, 1.0, 1.0, 0.0, 0.0]);
    /// ```
    fn one_hot = try_one_hot(classes: usize);
    /// For every integer of `self` the element of the case with that number; what is not chosen
    /// never reaches a derivative. Below 0 the first case counts, beyond the last the last.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (x, y) = (Tensor::from([1.0, 2.0]), Tensor::from([10.0, 20.0]));
    /// assert_eq!(Tensor::from([1i64, 0]).select_n(&[&x, &y]).to_vec(), [10.0, 2.0]);
    /// ```
    #[doc(alias = "choose")]
    fn select_n = try_select_n(cases: &[&Tensor]);
}

fn check_indices(b: &Builder, indices: Value) -> Result<(), Misfit> {
    match b.ty(indices).dtype {
        DType::I64 => Ok(()),
        other => misfit!("indices are integers (i64), not {other}"),
    }
}

impl TryIndex for Tensor {
    /// As [`Tensor::take`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the axis does not exist, the indices are no integers, or one is out of range.
    #[track_caller]
    fn try_take(&self, indices: &Tensor, axis: impl Dim) -> Result<Tensor, Error> {
        taken("take", self, indices, axis.dim().0, OutOfBounds::Error)
    }

    /// As [`Tensor::take_or`], with an error instead of a panic.
    ///
    /// # Errors
    /// As [`Tensor::try_take`].
    #[track_caller]
    fn try_take_or(&self, indices: &Tensor, axis: impl Dim, mode: OutOfBounds) -> Result<Tensor, Error> {
        taken("take_or", self, indices, axis.dim().0, mode)
    }

    /// As [`Tensor::take_along_axis`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the shapes do not fit, the indices are no integers, or one is out of range.
    #[track_caller]
    fn try_take_along_axis(&self, indices: &Tensor, axis: impl Dim) -> Result<Tensor, Error> {
        taken_along(self, indices, axis.dim().0)
    }

    /// As [`Tensor::gather_nd`], with an error instead of a panic.
    ///
    /// # Errors
    /// If an index vector has more entries than there are axes, or one is out of range.
    #[track_caller]
    fn try_gather_nd(&self, indices: &Tensor, mode: OutOfBounds) -> Result<Tensor, Error> {
        compose("gather_nd", &[self, indices], |b, args| {
            let axes = first_axes(b, args)?;
            Ok(b.emit(Gather::new(&axes, mode), args)?[0])
        })
    }

    /// As [`Tensor::scatter_add`], with an error instead of a panic.
    ///
    /// # Errors
    /// If shapes or element types do not fit, or an index is out of range.
    #[track_caller]
    fn try_scatter_add(&self, indices: &Tensor, updates: &Tensor, axis: impl Dim) -> Result<Tensor, Error> {
        scattered("scatter_add", [self, indices, updates], axis.dim().0, Write::Add, OutOfBounds::Error)
    }

    /// As [`Tensor::scatter_set`], with an error instead of a panic.
    ///
    /// # Errors
    /// If shapes or element types do not fit, or an index is out of range.
    #[track_caller]
    fn try_scatter_set(&self, indices: &Tensor, updates: &Tensor, axis: impl Dim) -> Result<Tensor, Error> {
        scattered("scatter_set", [self, indices, updates], axis.dim().0, Write::Set, OutOfBounds::Error)
    }

    /// As [`Tensor::scatter_or`], with an error instead of a panic.
    ///
    /// # Errors
    /// If shapes or element types do not fit, or an index is out of range and the mode refuses it.
    #[track_caller]
    fn try_scatter_or(
        &self,
        indices: &Tensor,
        updates: &Tensor,
        axis: impl Dim,
        write: Write,
        mode: OutOfBounds,
    ) -> Result<Tensor, Error> {
        scattered("scatter_or", [self, indices, updates], axis.dim().0, write, mode)
    }

    /// As [`Tensor::scatter_nd`], with an error instead of a panic.
    ///
    /// # Errors
    /// If shapes or element types do not fit, or an index is out of range and the mode refuses it.
    #[track_caller]
    fn try_scatter_nd(
        &self,
        indices: &Tensor,
        updates: &Tensor,
        write: Write,
        mode: OutOfBounds,
    ) -> Result<Tensor, Error> {
        compose("scatter_nd", &[self, indices, updates], |b, args| {
            let axes = first_axes(b, args)?;
            Ok(b.emit(Scatter::new(&axes, mode, write), args)?[0])
        })
    }

    /// As [`Tensor::dynamic_slice`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the block is larger than the tensor or the start is not one integer per axis.
    #[track_caller]
    fn try_dynamic_slice(&self, start: &Tensor, lengths: &[usize]) -> Result<Tensor, Error> {
        compose("dynamic_slice", &[self, start], |b, args| Ok(b.emit(DynamicSlice::new(lengths), args)?[0]))
    }

    /// As [`Tensor::dynamic_update_slice`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the block is larger than the tensor, the start is not one integer per axis, or the element
    /// types differ.
    #[track_caller]
    fn try_dynamic_update_slice(&self, update: &Tensor, start: &Tensor) -> Result<Tensor, Error> {
        compose("dynamic_update_slice", &[self, update, start], |b, args| Ok(b.emit(DynamicUpdate, args)?[0]))
    }

    /// As [`Tensor::one_hot`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the elements are no integers or the result does not fit in memory.
    #[track_caller]
    fn try_one_hot(&self, classes: usize) -> Result<Tensor, Error> {
        compose("one_hot", &[self], |b, args| {
            check_indices(b, args[0])?;
            let mut shape = b.shape(args[0]).to_vec();
            let last = shape.len();
            shape.push(classes);
            check_count(&shape)?;
            let numbers = b.op(Iota { length: classes }, &[]);
            let numbers = b.op(Broadcast::new(&shape, &[last]), &[numbers]);
            let wanted = b.spread(args[0], &shape, &[last]);
            let hit = b.op(Compare::Eq, &[wanted, numbers]);
            Ok(b.convert(hit, DType::F64))
        })
    }

    /// As [`Tensor::select_n`], with an error instead of a panic.
    ///
    /// # Errors
    /// If there is no case, the elements are no integers, or the types of the cases differ or do not
    /// stretch to the shape.
    #[track_caller]
    fn try_select_n(&self, cases: &[&Tensor]) -> Result<Tensor, Error> {
        let operands: Vec<&Tensor> = std::iter::once(self).chain(cases.iter().copied()).collect();
        if cases.is_empty() {
            return refuse("select_n", &operands, "it takes at least one case");
        }
        compose("select_n", &operands, |b, args| {
            check_indices(b, args[0])?;
            let dtype = b.ty(args[1]).dtype;
            let mut shape = b.shape(args[0]).to_vec();
            for &case in &args[1..] {
                if b.ty(case).dtype != dtype {
                    misfit!("the element types of the cases differ; convert first");
                }
                shape = super::compose::joint_shape(&shape, b.shape(case))?;
            }
            let which = stretch(b, args[0], &shape);
            let mut chosen = stretch(b, args[1], &shape);
            for (k, &case) in args[2..].iter().enumerate() {
                let case = stretch(b, case, &shape);
                let ty = Type::new(DType::I64, &shape);
                let number = b.full(k as f64, &ty);
                let later = b.op(Compare::Gt, &[which, number]);
                chosen = b.select(later, case, chosen);
            }
            Ok(chosen)
        })
    }
}

#[track_caller]
fn taken(name: &str, x: &Tensor, indices: &Tensor, axis: isize, mode: OutOfBounds) -> Result<Tensor, Error> {
    compose(name, &[x, indices], |b, args| take(b, args, axis, mode))
}

#[track_caller]
fn taken_along(x: &Tensor, indices: &Tensor, axis: isize) -> Result<Tensor, Error> {
    compose("take_along_axis", &[x, indices], |b, args| {
        let axis = axis_of(axis, b.shape(args[0]).len())?;
        along(b, args[0], args[1], axis)
    })
}

#[track_caller]
fn scattered(
    name: &str,
    operands: [&Tensor; 3],
    axis: isize,
    write: Write,
    mode: OutOfBounds,
) -> Result<Tensor, Error> {
    compose(name, &operands, |b, args| scatter(b, args, axis, write, mode))
}

/// The axes that index vectors are for: as many of the first as a vector has entries.
fn first_axes(b: &Builder, args: &[Value]) -> Result<Vec<usize>, Misfit> {
    check_indices(b, args[1])?;
    let rank = b.shape(args[0]).len();
    match b.shape(args[1]).last() {
        Some(&entries) if entries <= rank => Ok((0..entries).collect()),
        Some(&entries) => misfit!("an index vector has {entries} entries for {rank} axes"),
        None => misfit!("the indices are a single number, and have to be vectors along their last axis"),
    }
}

/// The indices as vectors of one entry.
pub(super) fn vectors(b: &mut Builder, indices: Value) -> Result<Value, Misfit> {
    check_indices(b, indices)?;
    let mut shape = b.shape(indices).to_vec();
    shape.push(1);
    Ok(b.reshape(indices, &shape))
}

fn take(b: &mut Builder, args: &[Value], axis: isize, mode: OutOfBounds) -> Result<Value, Misfit> {
    let axis = axis_of(axis, b.shape(args[0]).len())?;
    let inner = b.shape(args[1]).len();
    let indices = vectors(b, args[1])?;
    let taken = b.emit(Gather::new(&[axis], mode), &[args[0], indices])?[0];
    // The axes of the indices come first; they go to the place of the axis.
    let rank = b.shape(taken).len();
    let order: Vec<usize> = (inner..inner + axis).chain(0..inner).chain(inner + axis..rank).collect();
    Ok(b.permute(taken, &order))
}

/// `args` are the tensor, the indices and the updates.
fn scatter(b: &mut Builder, args: &[Value], axis: isize, write: Write, mode: OutOfBounds) -> Result<Value, Misfit> {
    let Updates { axis, indices, updates } = placed(b, args, axis)?;
    Ok(b.emit(Scatter::new(&[axis], mode, write), &[args[0], indices, updates])?[0])
}

/// For every index the element at it along an axis in the same line.
pub(super) fn along(b: &mut Builder, x: Value, indices: Value, axis: usize) -> Result<Value, Misfit> {
    let (shape, mut result) = (b.shape(x).to_vec(), b.shape(indices).to_vec());
    if shape.len() != result.len() {
        misfit!("the indices have {} axes, and the operand {}", result.len(), shape.len());
    }
    if let Some(other) = (0..shape.len()).find(|&k| k != axis && shape[k] != result[k]) {
        misfit!("axis {other} is {} long, and {} in the indices", shape[other], result[other]);
    }
    check_indices(b, indices)?;
    let (length, count) = (shape[axis], result.remove(axis));
    let lines: usize = result.iter().product();
    let last = shape.len() - 1;
    let (x, indices) = (b.move_axis(x, axis, last), b.move_axis(indices, axis, last));
    let (x, indices) = (b.reshape(x, &[lines, length]), b.reshape(indices, &[lines, count, 1]));
    let gather = Gather { batch: 1, axes: vec![1], mode: OutOfBounds::Error };
    let taken = b.emit(gather, &[x, indices])?[0];
    result.push(count);
    let taken = b.reshape(taken, &result);
    Ok(b.move_axis(taken, last, axis))
}
