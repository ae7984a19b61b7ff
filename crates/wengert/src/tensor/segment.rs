//! What meets at computed positions: extremes and products of updates, segments, counts.

use super::compose::{axis_of, check_count, check_stretch, compose, or_raise, stretch};
use super::{Dim, Tensor};
use crate::array::{DType, Type};
use crate::error::{Error, Misfit, misfit};
use crate::primitives::{Fold, OutOfBounds, Scatter, ScatterReduce, Write, check_float};
use crate::program::{Builder, Value};

or_raise! {
    trait TrySegment: "extremes and products at indices, segments and counts";

    /// With the largest of each element and the `updates` at its index along an axis; they have the shape that
    /// [`Tensor::take`] gives. NaN if one is NaN. Equal largest ones share the derivative, the element among them. An index
    /// out of range is an error.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let best = Tensor::from([0.0, 5.0, 0.0]);
    /// let y = best.scatter_max(&Tensor::from([0i64, 1, 0]), &Tensor::from([2.0, 3.0, 4.0]), 0);
    /// assert_eq!(y.to_vec(), [4.0, 5.0, 0.0]);
    /// ```
    #[doc(alias("maximum_at", "index_reduce", "scatter_reduce", "amax"))]
    fn scatter_max = try_scatter_max(indices: &Tensor, updates: &Tensor, axis: impl Dim);
    /// With the smallest of each element and the `updates` at its index; as [`Tensor::scatter_max`].
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let first = Tensor::full(&[2], f64::INFINITY);
    /// let y = first.scatter_min(&Tensor::from([1i64, 1]), &Tensor::from([2.0, 3.0]), 0);
    /// assert_eq!(y.to_vec(), [f64::INFINITY, 2.0]);
    /// ```
    #[doc(alias("minimum_at", "index_reduce", "scatter_reduce", "amin"))]
    fn scatter_min = try_scatter_min(indices: &Tensor, updates: &Tensor, axis: impl Dim);
    /// With each element multiplied by all `updates` at its index along an axis; they have the shape that [`Tensor::take`]
    /// gives. The derivative in a factor is the product of the others, without a division: any of them may be zero. An index
    /// out of range is an error.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (x, at) = (Tensor::from([2.0, 10.0]), Tensor::from([0i64, 0, 1]));
    /// assert_eq!(x.scatter_mul(&at, &Tensor::from([3.0, 0.0, 0.5]), 0).to_vec(), [0.0, 5.0]);
    /// let slope = grad(Tensor::from([3.0, 0.0, 0.5]), |u| x.scatter_mul(&at, &u, 0).sum());
    /// assert_eq!(slope.to_vec(), [0.0, 6.0, 10.0]);
    /// ```
    #[doc(alias("multiply_at", "index_reduce", "scatter_reduce"))]
    fn scatter_mul = try_scatter_mul(indices: &Tensor, updates: &Tensor, axis: impl Dim);
    /// The sums of the rows of each of `count` segments; `segments` (i64) says for each row to which it belongs, in any
    /// order. 0 for a segment without rows. A number that is no segment is an error.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let rows = Tensor::from([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
    /// let sums = rows.segment_sum(&Tensor::from([1i64, 0, 1]), 3);
    /// assert_eq!(sums.to_vec(), [3.0, 4.0, 6.0, 8.0, 0.0, 0.0]);
    /// ```
    #[doc(alias("group_by", "scatter_sum"))]
    fn segment_sum = try_segment_sum(segments: &Tensor, count: usize);
    /// The means of the rows of each segment, as [`Tensor::segment_sum`] takes them; NaN for a segment without rows, as
    /// [`Tensor::mean`] of nothing.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let means = Tensor::from([1.0, 2.0, 6.0]).segment_mean(&Tensor::from([1i64, 0, 1]), 2);
    /// assert_eq!(means.to_vec(), [2.0, 3.5]);
    /// ```
    #[doc(alias("group_by", "scatter_mean"))]
    fn segment_mean = try_segment_mean(segments: &Tensor, count: usize);
    /// The products of the rows of each segment, as [`Tensor::segment_sum`] takes them; 1 for a segment without rows. The
    /// derivative does not divide: zeros do no harm.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let products = Tensor::from([2.0, 3.0, 4.0]).segment_prod(&Tensor::from([1i64, 0, 1]), 3);
    /// assert_eq!(products.to_vec(), [3.0, 8.0, 1.0]);
    /// ```
    #[doc(alias("segment_mul", "scatter_prod"))]
    fn segment_prod = try_segment_prod(segments: &Tensor, count: usize);
    /// The largest elements among the rows of each segment, as [`Tensor::segment_sum`] takes them; `-inf` (of integers the
    /// smallest one) for a segment without rows, NaN if one is NaN. Equal largest ones share the derivative.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let largest = |x: Tensor| x.segment_max(&Tensor::from([1i64, 0, 1, 1]), 2);
    /// let x = Tensor::from([4.0, 3.0, 1.0, 4.0]);
    /// assert_eq!(largest(x.clone()).to_vec(), [3.0, 4.0]);
    /// assert_eq!(grad(x, |x| largest(x).sum()).to_vec(), [0.5, 1.0, 0.0, 0.5]);
    /// ```
    #[doc(alias = "global_max_pool")]
    fn segment_max = try_segment_max(segments: &Tensor, count: usize);
    /// The smallest elements among the rows of each segment; `inf` (of integers the largest one) for a segment without rows;
    /// else as [`Tensor::segment_max`].
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let smallest = Tensor::from([2i64, 3, 4]).segment_min(&Tensor::from([1i64, 0, 1]), 2);
    /// assert_eq!(smallest.to_vec(), [3.0, 2.0]);
    /// ```
    #[doc(alias = "group_by")]
    fn segment_min = try_segment_min(segments: &Tensor, count: usize);
    /// How often each of the numbers `0, 1, …, length - 1` is among the elements, which are integers in any shape: a vector
    /// of integers. A number that is none of them is an error.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1i64, 3, 1]).bincount(4).to_vec(), [0.0, 2.0, 0.0, 1.0]);
    /// ```
    #[doc(alias("histogram", "histc"))]
    fn bincount = try_bincount(length: usize);
    /// For each of the numbers `0, 1, …, length - 1` the sum of the `weights`, in the shape of `self`, where it stands among
    /// the elements: a histogram that is differentiated by its weights.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (bins, weights) = (Tensor::from([1i64, 0, 1]), Tensor::from([0.5, 2.0, 0.25]));
    /// assert_eq!(bins.bincount_with(&weights, 2).to_vec(), [2.0, 0.75]);
    /// let slope = grad(weights, |w| bins.bincount_with(&w, 2).square().sum());
    /// assert_eq!(slope.to_vec(), [1.5, 4.0, 1.5]);
    /// ```
    #[doc(alias = "histogram")]
    fn bincount_with = try_bincount_with(weights: &Tensor, length: usize);
}

impl TrySegment for Tensor {
    /// As [`Tensor::scatter_max`], with an error instead of a panic.
    ///
    /// # Errors
    /// If shapes or element types do not fit, the elements are truth values, or an index is out of range.
    #[track_caller]
    fn try_scatter_max(&self, indices: &Tensor, updates: &Tensor, axis: impl Dim) -> Result<Tensor, Error> {
        fold_at("scatter_max", [self, indices, updates], axis.dim().0, Fold::Max)
    }

    /// As [`Tensor::scatter_min`], with an error instead of a panic.
    ///
    /// # Errors
    /// As [`Tensor::try_scatter_max`].
    #[track_caller]
    fn try_scatter_min(&self, indices: &Tensor, updates: &Tensor, axis: impl Dim) -> Result<Tensor, Error> {
        fold_at("scatter_min", [self, indices, updates], axis.dim().0, Fold::Min)
    }

    /// As [`Tensor::scatter_mul`], with an error instead of a panic.
    ///
    /// # Errors
    /// As [`Tensor::try_scatter_max`].
    #[track_caller]
    fn try_scatter_mul(&self, indices: &Tensor, updates: &Tensor, axis: impl Dim) -> Result<Tensor, Error> {
        fold_at("scatter_mul", [self, indices, updates], axis.dim().0, Fold::Mul)
    }

    /// As [`Tensor::segment_sum`], with an error instead of a panic.
    ///
    /// # Errors
    /// If there is not one segment per row, or one is out of range.
    #[track_caller]
    fn try_segment_sum(&self, segments: &Tensor, count: usize) -> Result<Tensor, Error> {
        compose("segment_sum", &[self, segments], |b, args| segment_sum(b, args[0], args[1], count))
    }

    /// As [`Tensor::segment_mean`], with an error instead of a panic.
    ///
    /// # Errors
    /// As [`Tensor::try_segment_sum`], or if the elements are not real.
    #[track_caller]
    fn try_segment_mean(&self, segments: &Tensor, count: usize) -> Result<Tensor, Error> {
        compose("segment_mean", &[self, segments], |b, args| {
            let ty = b.ty(args[0]).clone();
            check_float(&ty)?;
            let sums = segment_sum(b, args[0], args[1], count)?;
            let ones = b.full(1.0, &ty.with_shape(b.shape(args[1]).to_vec()));
            let rows = segment_sum(b, ones, args[1], count)?;
            let shape = b.shape(sums).to_vec();
            let rows = b.spread(rows, &shape, &(1..shape.len()).collect::<Vec<usize>>());
            Ok(b.div(sums, rows))
        })
    }

    /// As [`Tensor::segment_prod`], with an error instead of a panic.
    ///
    /// # Errors
    /// As [`Tensor::try_segment_sum`], or if the elements are truth values.
    #[track_caller]
    fn try_segment_prod(&self, segments: &Tensor, count: usize) -> Result<Tensor, Error> {
        fold_segments("segment_prod", self, segments, count, Fold::Mul)
    }

    /// As [`Tensor::segment_max`], with an error instead of a panic.
    ///
    /// # Errors
    /// As [`Tensor::try_segment_prod`].
    #[track_caller]
    fn try_segment_max(&self, segments: &Tensor, count: usize) -> Result<Tensor, Error> {
        fold_segments("segment_max", self, segments, count, Fold::Max)
    }

    /// As [`Tensor::segment_min`], with an error instead of a panic.
    ///
    /// # Errors
    /// As [`Tensor::try_segment_prod`].
    #[track_caller]
    fn try_segment_min(&self, segments: &Tensor, count: usize) -> Result<Tensor, Error> {
        fold_segments("segment_min", self, segments, count, Fold::Min)
    }

    /// As [`Tensor::bincount`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the elements are no integers, or one is out of range.
    #[track_caller]
    fn try_bincount(&self, length: usize) -> Result<Tensor, Error> {
        compose("bincount", &[self], |b, args| {
            let size = b.ty(args[0]).size();
            let ones = b.full(1.0, &Type::new(DType::I64, &[size]));
            let bins = b.reshape(args[0], &[size]);
            segment_sum(b, ones, bins, length)
        })
    }

    /// As [`Tensor::bincount_with`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the elements are no integers, one is out of range, or the weights have another shape.
    #[track_caller]
    fn try_bincount_with(&self, weights: &Tensor, length: usize) -> Result<Tensor, Error> {
        compose("bincount_with", &[self, weights], |b, args| {
            let (bins, weights) = (b.ty(args[0]).clone(), b.ty(args[1]).clone());
            if bins.shape != weights.shape {
                misfit!("the weights are {weights}, and there is one for each element of {bins}");
            }
            let [bins, weights] = [0, 1].map(|k| b.reshape(args[k], &[bins.size()]));
            segment_sum(b, weights, bins, length)
        })
    }
}

#[track_caller]
fn fold_at(name: &str, operands: [&Tensor; 3], axis: isize, fold: Fold) -> Result<Tensor, Error> {
    compose(name, &operands, |b, args| {
        let Updates { axis, indices, updates } = placed(b, args, axis)?;
        let scatter = ScatterReduce::new(&[axis], OutOfBounds::Error, fold, true);
        Ok(b.emit(scatter, &[args[0], indices, updates])?[0])
    })
}

#[track_caller]
fn fold_segments(name: &str, rows: &Tensor, segments: &Tensor, count: usize, fold: Fold) -> Result<Tensor, Error> {
    compose(name, &[rows, segments], |b, args| {
        let ty = segments_type(b, args[0], args[1], count)?;
        // What stands where no row comes; of integers the nearest ones.
        let none = match fold {
            Fold::Max => f64::NEG_INFINITY,
            Fold::Min => f64::INFINITY,
            Fold::Mul => 1.0,
        };
        let start = b.full(none, &ty);
        let Updates { indices, updates, .. } = placed(b, &[start, args[1], args[0]], 0)?;
        let scatter = ScatterReduce::new(&[0], OutOfBounds::Error, fold, false);
        Ok(b.emit(scatter, &[start, indices, updates])?[0])
    })
}

fn segment_sum(b: &mut Builder, rows: Value, segments: Value, count: usize) -> Result<Value, Misfit> {
    let ty = segments_type(b, rows, segments, count)?;
    let zeros = b.full(0.0, &ty);
    let Updates { indices, updates, .. } = placed(b, &[zeros, segments, rows], 0)?;
    Ok(b.emit(Scatter::new(&[0], OutOfBounds::Error, Write::Add), &[zeros, indices, updates])?[0])
}

/// The type of a row for each segment.
fn segments_type(b: &Builder, rows: Value, segments: Value, count: usize) -> Result<Type, Misfit> {
    let mut ty = b.ty(rows).clone();
    if b.shape(segments).len() != 1 || ty.rank() == 0 || b.shape(segments)[0] != ty.shape[0] {
        misfit!("a vector with one segment for each row is needed");
    }
    ty.shape[0] = count;
    check_count(&ty.shape)?;
    Ok(ty)
}

/// Updates along an axis as a scatter takes them.
pub(super) struct Updates {
    pub(super) axis: usize,
    pub(super) indices: Value,
    pub(super) updates: Value,
}

/// `args` are the tensor, the indices and the updates, in whose shape the axes of the indices take the place of the axis.
pub(super) fn placed(b: &mut Builder, args: &[Value], axis: isize) -> Result<Updates, Misfit> {
    let shape = b.shape(args[0]).to_vec();
    let axis = axis_of(axis, shape.len())?;
    let own = b.shape(args[1]).to_vec();
    let indices = super::index::vectors(b, args[1])?;
    let wanted: Vec<usize> = shape[..axis].iter().chain(&own).chain(&shape[axis + 1..]).copied().collect();
    check_count(&wanted)?;
    check_stretch(b.shape(args[2]), &wanted)?;
    let updates = stretch(b, args[2], &wanted);
    let (inner, rank) = (own.len(), wanted.len());
    let order: Vec<usize> = (axis..axis + inner).chain(0..axis).chain(axis + inner..rank).collect();
    Ok(Updates { axis, indices, updates: b.permute(updates, &order) })
}
