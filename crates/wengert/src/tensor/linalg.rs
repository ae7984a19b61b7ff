//! Products of tensors: dot, matmul, outer, einsum and their relatives, all contractions by labels.

use super::compose::{axes_of, axis_of, compose, joint_shape, or_raise, together};
use super::shape::reshaped;
use super::{Dim, Dims, Tensor};
use crate::error::{Error, Misfit, misfit};
use crate::primitives::{Concat, Einsum, Slice};
use crate::program::{Builder, Value};

or_raise! {
    trait TryProduct: "products";

    /// The matrix product of the last two axes, the axes before stretched to each other. A vector on
    /// the left is a row, on the right a column, and that axis disappears.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let a = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(a.matmul(&a).to_vec(), [7.0, 10.0, 15.0, 22.0]);
    /// assert_eq!(a.matmul(&Tensor::from([1.0, 1.0])).to_vec(), [3.0, 7.0]);
    /// ```
    #[doc(alias("mm", "bmm", "dot", "gemm"))]
    fn matmul = try_matmul(other: &Tensor);
    /// The sum over the last axis of `self` and the last but one (or only) of `other`; the other
    /// axes of both stay, one after the other.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.0, 2.0]).dot(&Tensor::from([3.0, 4.0])).item(), 11.0);
    /// ```
    #[doc(alias = "inner")]
    fn dot = try_dot(other: &Tensor);
    /// All products of an element of each: the axes of both, one after the other.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.0, 2.0]).outer(&Tensor::from([3.0, 4.0])).to_vec(), [3.0, 4.0, 6.0, 8.0]);
    /// ```
    #[doc(alias = "ger")]
    fn outer = try_outer(other: &Tensor);
    /// The sum of the products of all elements; both are read as vectors.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (x, y) = (Tensor::from([[1.0, 2.0]]), Tensor::from([[3.0, 4.0]]));
    /// assert_eq!(x.vdot(&y).item(), 11.0);
    /// ```
    #[doc(alias = "inner")]
    fn vdot = try_vdot(other: &Tensor);
    /// The sum over pairs of axes, one of each; the other axes of both stay, one after the other.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (x, y) = (Tensor::ones(&[2, 3, 4]), Tensor::ones(&[4, 3, 5]));
    /// assert_eq!(x.tensordot(&y, [1, 2], [1, 0]).shape(), [2, 5]);
    /// ```
    #[doc(alias = "contract")]
    fn tensordot = try_tensordot(other: &Tensor, axes: impl Dims, other_axes: impl Dims);
    /// The sum over the last `count` axes of `self` with the first `count` of `other`, in order; the other axes of both
    /// stay. NumPy's `tensordot(x, y, count)`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (x, y) = (Tensor::ones(&[2, 3, 4]), Tensor::ones(&[3, 4, 5]));
    /// assert_eq!(x.tensordot_by(&y, 2).to_vec(), [12.0; 10]);
    /// assert_eq!(x.tensordot_by(&y, 0).shape(), [2, 3, 4, 3, 4, 5]);
    /// ```
    #[doc(alias = "tensordot")]
    fn tensordot_by = try_tensordot_by(other: &Tensor, count: usize);
    /// The sum over pairs of axes for each index of pairs of shared ones, which come first in the
    /// result; then the other axes of both.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (x, y) = (Tensor::ones(&[7, 2, 3]), Tensor::ones(&[7, 3, 5]));
    /// assert_eq!(x.dot_general(&y, [&[2], &[1]], [&[0], &[0]]).shape(), [7, 2, 5]);
    /// ```
    fn dot_general = try_dot_general(other: &Tensor, contracted: [&[isize]; 2], batch: [&[isize]; 2]);
    /// The vector product of 3-vectors along an axis, the shapes stretched to each other.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (x, y) = (Tensor::from([1.0, 0.0, 0.0]), Tensor::from([0.0, 1.0, 0.0]));
    /// assert_eq!(x.cross(&y, -1).to_vec(), [0.0, 0.0, 1.0]);
    /// ```
    #[doc(alias = "cross_product")]
    fn cross = try_cross(other: &Tensor, axis: impl Dim);
}

/// The labels of einsum, in order.
pub(super) const LABELS: &[u8; 52] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// The first `count` labels.
fn labels(count: usize) -> Result<Vec<u8>, Misfit> {
    match LABELS.get(..count) {
        Some(labels) => Ok(labels.to_vec()),
        None => misfit!("there are {count} different axes, and at most {} are possible", LABELS.len()),
    }
}

impl TryProduct for Tensor {
    /// As [`Tensor::matmul`], with an error instead of a panic.
    ///
    /// # Errors
    /// If an operand is a single number, or shapes or element types do not fit.
    #[track_caller]
    fn try_matmul(&self, other: &Tensor) -> Result<Tensor, Error> {
        compose("matmul", &[self, other], |b, args| matmul(b, args[0], args[1]))
    }

    /// As [`Tensor::dot`], with an error instead of a panic.
    ///
    /// # Errors
    /// If an operand is a single number, or shapes or element types do not fit.
    #[track_caller]
    fn try_dot(&self, other: &Tensor) -> Result<Tensor, Error> {
        let axis = if other.rank() > 1 { -2 } else { -1 };
        compose("dot", &[self, other], |b, args| general(b, args, [&[-1], &[axis]], [&[], &[]]))
    }

    /// As [`Tensor::outer`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the element types differ or the result does not fit in memory.
    #[track_caller]
    fn try_outer(&self, other: &Tensor) -> Result<Tensor, Error> {
        compose("outer", &[self, other], |b, args| general(b, args, [&[], &[]], [&[], &[]]))
    }

    /// As [`Tensor::vdot`], with an error instead of a panic.
    ///
    /// # Errors
    /// If sizes or element types differ.
    #[track_caller]
    fn try_vdot(&self, other: &Tensor) -> Result<Tensor, Error> {
        compose("vdot", &[self, other], |b, args| {
            let mut vectors = Vec::with_capacity(2);
            for &arg in args {
                let size = b.ty(arg).size();
                vectors.push(reshaped(b, arg, &[size])?);
            }
            general(b, &vectors, [&[0], &[0]], [&[], &[]])
        })
    }

    /// As [`Tensor::tensordot`], with an error instead of a panic.
    ///
    /// # Errors
    /// If axes do not exist or differ in length, or the element types differ.
    #[track_caller]
    fn try_tensordot(&self, other: &Tensor, axes: impl Dims, other_axes: impl Dims) -> Result<Tensor, Error> {
        tensordot(self, other, &axes.dims(), &other_axes.dims())
    }

    /// As [`Tensor::tensordot_by`], with an error instead of a panic.
    ///
    /// # Errors
    /// If an operand has fewer axes, they differ in length, or the element types differ.
    #[track_caller]
    fn try_tensordot_by(&self, other: &Tensor, count: usize) -> Result<Tensor, Error> {
        compose("tensordot_by", &[self, other], |b, args| {
            let ranks = [0, 1].map(|k| b.shape(args[k]).len());
            if let Some(k) = (0..2).find(|&k| ranks[k] < count) {
                misfit!("operand {k} has {} axes, and {count} are to be summed", ranks[k]);
            }
            let signed = |axes: std::ops::Range<usize>| axes.map(usize::cast_signed).collect::<Vec<isize>>();
            general(b, args, [&signed(ranks[0] - count..ranks[0]), &signed(0..count)], [&[], &[]])
        })
    }

    /// As [`Tensor::dot_general`], with an error instead of a panic.
    ///
    /// # Errors
    /// If axes do not exist or differ in length, or the element types differ.
    #[track_caller]
    fn try_dot_general(
        &self,
        other: &Tensor,
        contracted: [&[isize]; 2],
        batch: [&[isize]; 2],
    ) -> Result<Tensor, Error> {
        compose("dot_general", &[self, other], |b, args| general(b, args, contracted, batch))
    }

    /// As [`Tensor::cross`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the axis is not 3 long, or shapes or element types do not fit.
    #[track_caller]
    fn try_cross(&self, other: &Tensor, axis: impl Dim) -> Result<Tensor, Error> {
        cross(self, other, axis.dim().0)
    }
}

#[track_caller]
fn tensordot(x: &Tensor, other: &Tensor, axes: &[isize], other_axes: &[isize]) -> Result<Tensor, Error> {
    compose("tensordot", &[x, other], |b, args| general(b, args, [axes, other_axes], [&[], &[]]))
}

#[track_caller]
fn cross(x: &Tensor, other: &Tensor, axis: isize) -> Result<Tensor, Error> {
    compose("cross", &[x, other], |b, args| {
        check_dtypes(b, args)?;
        crate::primitives::check_float(b.ty(args[0]))?;
        let (x, y) = together(b, args[0], args[1])?;
        let shape = b.shape(x).to_vec();
        let axis = axis_of(axis, shape.len())?;
        if shape[axis] != 3 {
            misfit!("axis {axis} is {} long, and vectors of 3 are needed", shape[axis]);
        }
        // Component by component: to turn whole vectors would copy short pieces.
        let [x, y] = [x, y].map(|x| [0, 1, 2].map(|k| b.op(Slice::along(&shape, axis, k, k + 1), &[x])));
        let parts = [(1, 2), (2, 0), (0, 1)].map(|(j, k)| {
            let (plus, minus) = (b.mul(x[j], y[k]), b.mul(x[k], y[j]));
            b.sub(plus, minus)
        });
        Ok(b.op(Concat { axis }, &parts))
    })
}

/// That all values have one element type.
pub(super) fn check_dtypes(b: &Builder, args: &[Value]) -> Result<(), Misfit> {
    let first = b.ty(args[0]).dtype;
    match args.iter().map(|&arg| b.ty(arg).dtype).find(|&dtype| dtype != first) {
        Some(other) => misfit!("the element types {first} and {other} differ; convert one of them first"),
        None => Ok(()),
    }
}

/// The matrix product, batched and with vectors.
pub(crate) fn matmul(b: &mut Builder, x: Value, y: Value) -> Result<Value, Misfit> {
    check_dtypes(b, &[x, y])?;
    let (left, right) = (b.shape(x).to_vec(), b.shape(y).to_vec());
    if left.is_empty() || right.is_empty() {
        misfit!("a single number is no matrix; multiply with `*`");
    }
    let inner = [left[left.len() - 1], right[right.len().saturating_sub(2)]];
    if inner[0] != inner[1] {
        misfit!("the rows of the first are {} long, the columns of the second {}", inner[0], inner[1]);
    }
    let batch = [&left[..left.len().saturating_sub(2)], &right[..right.len().saturating_sub(2)]];
    let shared = joint_shape(batch[0], batch[1])?;
    let names = labels(shared.len() + 3)?;
    let [row, sum, column] = [0, 1, 2].map(|k| names[shared.len() + k]);
    // An axis of length 1 that meets a longer one is not stretched but left out.
    let mut side = |x: Value, shape: &[usize], batch: &[usize], matrix: &[u8]| {
        let new = shared.len() - batch.len();
        let kept: Vec<usize> = (0..batch.len()).filter(|&axis| batch[axis] == shared[axis + new]).collect();
        let lengths = kept.iter().map(|&axis| batch[axis]).chain(shape[batch.len()..].iter().copied());
        let narrow = b.reshape(x, &lengths.collect::<Vec<usize>>());
        let own: Vec<u8> = kept.iter().map(|axis| names[axis + new]).chain(matrix.iter().copied()).collect();
        (narrow, own)
    };
    let rows: &[u8] = if left.len() > 1 { &[row, sum] } else { &[sum] };
    let columns: &[u8] = if right.len() > 1 { &[sum, column] } else { &[sum] };
    let (x, lhs) = side(x, &left, batch[0], rows);
    let (y, rhs) = side(y, &right, batch[1], columns);
    let mut out = names[..shared.len()].to_vec();
    out.extend((left.len() > 1).then_some(row));
    out.extend((right.len() > 1).then_some(column));
    Ok(b.emit(Einsum::from_labels(&lhs, &rhs, &out)?, &[x, y])?[0])
}

/// A contraction by numbers of axes: over `contracted`, for each index of `batch`.
fn general(b: &mut Builder, args: &[Value], contracted: [&[isize]; 2], batch: [&[isize]; 2]) -> Result<Value, Misfit> {
    check_dtypes(b, args)?;
    if contracted[0].len() != contracted[1].len() || batch[0].len() != batch[1].len() {
        misfit!("the axes of the operands do not come in pairs");
    }
    let shapes = [0, 1].map(|k| b.shape(args[k]).to_vec());
    let count = shapes[0].len() + shapes[1].len();
    let names = labels(count.saturating_sub(contracted[0].len() + batch[0].len()))?;
    let mut own: [Vec<Option<u8>>; 2] = [0, 1].map(|k| vec![None; shapes[k].len()]);
    let mut next = names.into_iter();
    let mut shared = Vec::new();
    for (pairs, stays) in [(batch, true), (contracted, false)] {
        let axes = [axes_of(pairs[0], shapes[0].len())?, axes_of(pairs[1], shapes[1].len())?];
        for (&first, &second) in axes[0].iter().zip(&axes[1]) {
            if shapes[0][first] != shapes[1][second] {
                let lengths = (shapes[0][first], shapes[1][second]);
                misfit!("axis {first} of the first is {} long, axis {second} of the second {}", lengths.0, lengths.1);
            }
            // With more pairs than axes the labels are used up.
            let fresh = own[0][first].is_none() && own[1][second].is_none();
            let Some(label) = next.next().filter(|_| fresh) else { misfit!("an axis is both shared and summed") };
            (own[0][first], own[1][second]) = (Some(label), Some(label));
            shared.extend(stays.then_some(label));
        }
    }
    let mut out = shared;
    let named = own.map(|own| {
        own.into_iter()
            .map(|label| {
                label.unwrap_or_else(|| {
                    let label = next.next().expect("there is a label for every axis");
                    out.push(label);
                    label
                })
            })
            .collect::<Vec<u8>>()
    });
    Ok(b.emit(Einsum::from_labels(&named[0], &named[1], &out)?, args)?[0])
}
