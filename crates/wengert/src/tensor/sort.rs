//! Order along an axis: sort, argsort, top_k, median.

use super::compose::{axis_of, compose, compose_all, or_raise};
use super::index::along;
use super::{Dim, Tensor};
use crate::error::{Error, Misfit, misfit};
use crate::ops::Compare;
use crate::primitives::{ArgSort, Slice, check_float};
use crate::program::{Builder, Value};

or_raise! {
    trait TrySort: "order";

    /// The elements along an axis in increasing order, NaN last; equal ones keep their order.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([3.0, 1.0, 2.0]);
    /// assert_eq!(x.sort(0).to_vec(), [1.0, 2.0, 3.0]);
    /// assert_eq!(grad(&x, |x| (x.sort(0) * Tensor::from([1.0, 2.0, 3.0])).sum()).to_vec(), [3.0, 1.0, 2.0]);
    /// ```
    fn sort = try_sort(axis: impl Dim);
    /// The elements along an axis in decreasing order, NaN last; equal ones keep their order.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([3.0, 1.0, 2.0]).sort_descending(0).to_vec(), [3.0, 2.0, 1.0]);
    /// ```
    fn sort_descending = try_sort_descending(axis: impl Dim);
    /// The positions of the elements along an axis in increasing order; as [`Tensor::sort`].
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([3.0, 1.0, 2.0]).argsort(0).to_vec(), [1.0, 2.0, 0.0]);
    /// ```
    #[doc(alias("rank", "order"))]
    fn argsort = try_argsort(axis: impl Dim);
    /// The positions of the elements along an axis in decreasing order.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([3.0, 1.0, 2.0]).argsort_descending(0).to_vec(), [0.0, 2.0, 1.0]);
    /// ```
    fn argsort_descending = try_argsort_descending(axis: impl Dim);
    /// The k largest elements along an axis in decreasing order and their positions, the lowest
    /// position first of equal ones.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (values, places) = Tensor::from([1.0, 3.0, 2.0]).top_k(2, 0);
    /// assert_eq!((values.to_vec(), places.to_vec()), (vec![3.0, 2.0], vec![1.0, 2.0]));
    /// ```
    #[doc(alias("topk", "largest"))]
    fn top_k = try_top_k(k: usize, axis: impl Dim) -> (Tensor, Tensor);
    /// The middle element along an axis, which disappears, in order of size; the mean of both if
    /// their number is even. NaN if one is NaN.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[3.0, 1.0, 2.0], [4.0, 9.0, 5.0]]).median(1).to_vec(), [2.0, 5.0]);
    /// ```
    fn median = try_median(axis: impl Dim);
}

impl TrySort for Tensor {
    /// As [`Tensor::sort`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the axis does not exist.
    #[track_caller]
    fn try_sort(&self, axis: impl Dim) -> Result<Tensor, Error> {
        in_order("sort", self, axis.dim().0, false)
    }

    /// As [`Tensor::sort_descending`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the axis does not exist.
    #[track_caller]
    fn try_sort_descending(&self, axis: impl Dim) -> Result<Tensor, Error> {
        in_order("sort_descending", self, axis.dim().0, true)
    }

    /// As [`Tensor::argsort`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the axis does not exist.
    #[track_caller]
    fn try_argsort(&self, axis: impl Dim) -> Result<Tensor, Error> {
        places("argsort", self, axis.dim().0, false)
    }

    /// As [`Tensor::argsort_descending`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the axis does not exist.
    #[track_caller]
    fn try_argsort_descending(&self, axis: impl Dim) -> Result<Tensor, Error> {
        places("argsort_descending", self, axis.dim().0, true)
    }

    /// As [`Tensor::top_k`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the axis does not exist or has less than k elements.
    #[track_caller]
    fn try_top_k(&self, k: usize, axis: impl Dim) -> Result<(Tensor, Tensor), Error> {
        top_k(self, k, axis.dim().0)
    }

    /// As [`Tensor::median`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the axis does not exist or is empty, or the elements are not real.
    #[track_caller]
    fn try_median(&self, axis: impl Dim) -> Result<Tensor, Error> {
        median(self, axis.dim().0)
    }
}

#[track_caller]
fn in_order(name: &str, x: &Tensor, axis: isize, descending: bool) -> Result<Tensor, Error> {
    compose(name, &[x], |b, args| Ok(sorted(b, args[0], axis, descending)?.0))
}

#[track_caller]
fn places(name: &str, x: &Tensor, axis: isize, descending: bool) -> Result<Tensor, Error> {
    compose(name, &[x], |b, args| order(b, args[0], axis, descending))
}

#[track_caller]
fn top_k(x: &Tensor, k: usize, axis: isize) -> Result<(Tensor, Tensor), Error> {
    let mut results = compose_all("top_k", &[x], |b, args| {
        let axis = axis_of(axis, b.shape(args[0]).len())?;
        let first = b.emit(ArgSort::new(axis, true).first(k), &[args[0]])?[0];
        Ok(vec![along(b, args[0], first, axis)?, first])
    })?;
    let places = results.remove(1);
    Ok((results.remove(0), places))
}

#[track_caller]
fn median(x: &Tensor, axis: isize) -> Result<Tensor, Error> {
    compose("median", &[x], |b, args| {
        check_float(b.ty(args[0]))?;
        let (sorted, axis) = sorted(b, args[0], axis, false)?;
        let shape = b.shape(sorted).to_vec();
        let length = shape[axis];
        if length == 0 {
            misfit!("there is no middle of no elements: axis {axis} is empty");
        }
        let mut without = shape.clone();
        without.remove(axis);
        let at = |b: &mut Builder, place: usize| {
            let element = b.op(Slice::along(&shape, axis, place, place + 1), &[sorted]);
            b.reshape(element, &without)
        };
        let upper = at(b, length / 2);
        let middle = if length % 2 == 1 {
            upper
        } else {
            let lower = at(b, length / 2 - 1);
            let ty = b.ty(lower).clone();
            let half = b.full(0.5, &ty);
            let (lower, upper) = (b.mul(lower, half), b.mul(upper, half));
            b.add(lower, upper)
        };
        // NaN comes last in the order.
        let last = at(b, length - 1);
        let nan = b.op(Compare::Unordered, &[last, last]);
        Ok(b.select(nan, last, middle))
    })
}

fn order(b: &mut Builder, x: Value, axis: isize, descending: bool) -> Result<Value, Misfit> {
    let axis = axis_of(axis, b.shape(x).len())?;
    Ok(b.emit(ArgSort::new(axis, descending), &[x])?[0])
}

/// The elements in order, and the number of the axis.
pub(super) fn sorted(b: &mut Builder, x: Value, axis: isize, descending: bool) -> Result<(Value, usize), Misfit> {
    let order = order(b, x, axis, descending)?;
    let axis = axis_of(axis, b.shape(x).len())?;
    Ok((along(b, x, order, axis)?, axis))
}
