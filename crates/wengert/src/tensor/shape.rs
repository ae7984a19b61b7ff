//! Shapes: the same elements in other places.

use super::compose::{axes_of, axis_of, check_stretch, compose, or_raise, stretch};
use super::{Axes, Dim, Dims, Tensor};
use crate::array::{DType, element_count};
use crate::error::{Error, Misfit, misfit};
use crate::primitives::{Convert, Reverse};
use crate::program::{Builder, Value};

or_raise! {
    trait TryShape: "shapes";

    /// The elements, in row-major order, in another shape; one length may be -1 and follows from
    /// the others.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    /// let rows = Tensor::zeros(&[2, 3]).shape()[0];
    /// assert_eq!(x.reshape([2, -1]).shape(), [2, 3]);
    /// assert_eq!(x.reshape((rows, -1)).shape(), [2, 3]);
    /// assert_eq!(x.reshape(&[3, 2]).reshape(-1).shape(), [6]);
    /// assert_eq!(x.sum().reshape(()).rank(), 0);
    /// ```
    #[doc(alias = "view")]
    fn reshape = try_reshape(shape: impl Dims);
    /// The elements as a vector.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[1.0, 2.0], [3.0, 4.0]]).flatten().to_vec(), [1.0, 2.0, 3.0, 4.0]);
    /// ```
    #[doc(alias = "ravel")]
    fn flatten = try_flatten();
    /// The axes in another order: axis k of the result is axis `order[k]`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::zeros(&[2, 3, 4]).permute([2, 0, 1]).shape(), [4, 2, 3]);
    /// ```
    #[doc(alias = "transpose")]
    fn permute = try_permute(order: impl Dims);
    /// The axes in reverse order; a matrix is transposed.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[1.0, 2.0], [3.0, 4.0]]).t().to_vec(), [1.0, 3.0, 2.0, 4.0]);
    /// ```
    #[doc(alias = "transpose")]
    fn t = try_t();
    /// Two axes in each other's place.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::zeros(&[2, 3, 4]).swap_axes(-1, -2).shape(), [2, 4, 3]);
    /// ```
    #[doc(alias = "swapaxes")]
    #[doc(alias = "mT")]
    fn swap_axes = try_swap_axes(first: impl Dim, second: impl Dim);
    /// The axis `from` at the place `to`, the others in order.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::zeros(&[2, 3, 4]).move_axis(0, -1).shape(), [3, 4, 2]);
    /// ```
    #[doc(alias = "moveaxis")]
    #[doc(alias = "movedim")]
    fn move_axis = try_move_axis(from: impl Dim, to: impl Dim);
    /// The elements repeated along new axes in front and along axes of length 1, to this shape.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([1.0, 2.0]);
    /// assert_eq!(x.broadcast_to([2, 2]).to_vec(), [1.0, 2.0, 1.0, 2.0]);
    /// assert_eq!(x.reshape([2, 1]).broadcast_to(Tensor::zeros(&[2, 2]).shape()).to_vec(), [1.0, 1.0, 2.0, 2.0]);
    /// ```
    #[doc(alias = "expand")]
    fn broadcast_to = try_broadcast_to(shape: impl Dims);
    /// With one more axis of length 1 at this place of the result.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([1.0, 2.0]);
    /// assert_eq!((x.expand_dims(0).shape(), x.expand_dims(-1).shape()), (&[1, 2][..], &[2, 1][..]));
    /// ```
    #[doc(alias = "unsqueeze")]
    #[doc(alias = "newaxis")]
    fn expand_dims = try_expand_dims(axis: impl Dim);
    /// Without axes of length 1: without these, or with `..` without every one that is 1 long.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::zeros(&[1, 3, 1]);
    /// assert_eq!(x.squeeze(0).shape(), [3, 1]);
    /// assert_eq!(x.squeeze([0, -1]).shape(), [3]);
    /// assert_eq!(x.squeeze(..).shape(), [3]);
    /// ```
    fn squeeze = try_squeeze(axes: impl Axes);
    /// The opposite order along axes.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(x.flip(0).to_vec(), [3.0, 4.0, 1.0, 2.0]);
    /// assert_eq!(x.flip(..).to_vec(), [4.0, 3.0, 2.0, 1.0]);
    /// ```
    #[doc(alias("fliplr", "flipud", "reverse"))]
    fn flip = try_flip(axes: impl Axes);
    /// Another element type: real numbers become integers by truncation, NaN 0; truth values
    /// become 0 and 1; anything but 0 is true. The derivative passes between real types only.
    ///
    /// ```
    /// use wengert::{DType, prelude::*};
    /// let x = Tensor::from([-1.5, 0.0, 2.5]);
    /// assert_eq!(x.convert(DType::I64).to_vec(), [-1.0, 0.0, 2.0]);
    /// assert_eq!(x.convert(DType::Bool).to_vec(), [1.0, 0.0, 1.0]);
    /// ```
    #[doc(alias = "astype")]
    #[doc(alias = "to")]
    fn convert = try_convert(dtype: DType);
    /// In single precision.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([0.1]).to_f32().to_vec(), [f64::from(0.1f32)]);
    /// ```
    #[doc(alias = "float")]
    fn to_f32 = try_to_f32();
    /// In double precision.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([3i64]).to_f64().sqrt().to_vec(), [3f64.sqrt()]);
    /// ```
    #[doc(alias = "double")]
    fn to_f64 = try_to_f64();
    /// As integers, by truncation.
    ///
    /// ```
    /// use wengert::{DType, prelude::*};
    /// let x = Tensor::from([2.9, -2.9]).to_i64();
    /// assert_eq!((x.dtype(), x.to_vec()), (DType::I64, vec![2.0, -2.0]));
    /// ```
    #[doc(alias = "long")]
    fn to_i64 = try_to_i64();
}

/// The lengths, none of which may be negative.
pub(super) fn lengths_of(lengths: &[isize]) -> Result<Vec<usize>, Misfit> {
    let found: Result<Vec<usize>, _> = lengths.iter().map(|&length| usize::try_from(length)).collect();
    match found {
        Ok(found) => Ok(found),
        Err(_) => misfit!("a length of {lengths:?} is negative"),
    }
}

/// The shape with its one length of -1 replaced.
fn inferred(shape: &[isize], size: usize) -> Result<Vec<usize>, Misfit> {
    let mut unknown = (0..shape.len()).filter(|&axis| shape[axis] == -1);
    let Some(axis) = unknown.next() else { return lengths_of(shape) };
    if unknown.next().is_some() {
        misfit!("more than one length of the shape {shape:?} is -1, and only one follows from the others");
    }
    let mut known = lengths_of(&[&shape[..axis], &shape[axis + 1..]].concat())?;
    match element_count(&known) {
        Some(count) if count > 0 && size.is_multiple_of(count) => known.insert(axis, size / count),
        _ => misfit!("no length in the place of -1 gives the shape {shape:?} {size} elements"),
    }
    Ok(known)
}

/// The value in another shape of the same size.
pub(super) fn reshaped(b: &mut Builder, x: Value, shape: &[usize]) -> Result<Value, Misfit> {
    if b.shape(x) == shape {
        return Ok(x);
    }
    Ok(b.emit(crate::primitives::Reshape::new(shape), &[x])?[0])
}

impl TryShape for Tensor {
    /// As [`Tensor::reshape`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the shape does not have this number of elements, or several lengths are -1.
    #[track_caller]
    fn try_reshape(&self, shape: impl Dims) -> Result<Tensor, Error> {
        reshape(self, &shape.dims())
    }

    /// As [`Tensor::flatten`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the recording of the tensor has ended.
    #[track_caller]
    fn try_flatten(&self) -> Result<Tensor, Error> {
        compose("flatten", &[self], |b, args| {
            let size = b.ty(args[0]).size();
            reshaped(b, args[0], &[size])
        })
    }

    /// As [`Tensor::permute`], with an error instead of a panic.
    ///
    /// # Errors
    /// If `order` does not name each axis once.
    #[track_caller]
    fn try_permute(&self, order: impl Dims) -> Result<Tensor, Error> {
        permute(self, &order.dims())
    }

    /// As [`Tensor::t`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the recording of the tensor has ended.
    #[track_caller]
    fn try_t(&self) -> Result<Tensor, Error> {
        compose("t", &[self], |b, args| {
            let order: Vec<usize> = (0..b.shape(args[0]).len()).rev().collect();
            Ok(b.permute(args[0], &order))
        })
    }

    /// As [`Tensor::swap_axes`], with an error instead of a panic.
    ///
    /// # Errors
    /// If an axis does not exist.
    #[track_caller]
    fn try_swap_axes(&self, first: impl Dim, second: impl Dim) -> Result<Tensor, Error> {
        swap_axes(self, first.dim().0, second.dim().0)
    }

    /// As [`Tensor::move_axis`], with an error instead of a panic.
    ///
    /// # Errors
    /// If an axis does not exist.
    #[track_caller]
    fn try_move_axis(&self, from: impl Dim, to: impl Dim) -> Result<Tensor, Error> {
        move_axis(self, from.dim().0, to.dim().0)
    }

    /// As [`Tensor::broadcast_to`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the shape does not stretch to the other.
    #[track_caller]
    fn try_broadcast_to(&self, shape: impl Dims) -> Result<Tensor, Error> {
        broadcast_to(self, &shape.dims())
    }

    /// As [`Tensor::expand_dims`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the result has no such axis.
    #[track_caller]
    fn try_expand_dims(&self, axis: impl Dim) -> Result<Tensor, Error> {
        expand_dims(self, axis.dim().0)
    }

    /// As [`Tensor::squeeze`], with an error instead of a panic.
    ///
    /// # Errors
    /// If an axis does not exist, is named twice or is not 1 long.
    #[track_caller]
    fn try_squeeze(&self, axes: impl Axes) -> Result<Tensor, Error> {
        squeeze(self, axes.axes())
    }

    /// As [`Tensor::flip`], with an error instead of a panic.
    ///
    /// # Errors
    /// If an axis does not exist.
    #[track_caller]
    fn try_flip(&self, axes: impl Axes) -> Result<Tensor, Error> {
        flip(self, axes.axes())
    }

    /// As [`Tensor::convert`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the recording of the tensor has ended.
    #[track_caller]
    fn try_convert(&self, dtype: DType) -> Result<Tensor, Error> {
        converted("convert", self, dtype)
    }

    /// As [`Tensor::to_f32`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the recording of the tensor has ended.
    #[track_caller]
    fn try_to_f32(&self) -> Result<Tensor, Error> {
        converted("to_f32", self, DType::F32)
    }

    /// As [`Tensor::to_f64`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the recording of the tensor has ended.
    #[track_caller]
    fn try_to_f64(&self) -> Result<Tensor, Error> {
        converted("to_f64", self, DType::F64)
    }

    /// As [`Tensor::to_i64`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the recording of the tensor has ended.
    #[track_caller]
    fn try_to_i64(&self) -> Result<Tensor, Error> {
        converted("to_i64", self, DType::I64)
    }
}

#[track_caller]
fn reshape(x: &Tensor, shape: &[isize]) -> Result<Tensor, Error> {
    compose("reshape", &[x], |b, args| {
        let shape = inferred(shape, b.ty(args[0]).size())?;
        reshaped(b, args[0], &shape)
    })
}

#[track_caller]
fn permute(x: &Tensor, order: &[isize]) -> Result<Tensor, Error> {
    compose("permute", &[x], |b, args| {
        let rank = b.shape(args[0]).len();
        if order.len() != rank {
            misfit!("the order {order:?} does not name each of the {rank} axes once");
        }
        let order = axes_of(order, rank)?;
        Ok(b.permute(args[0], &order))
    })
}

#[track_caller]
fn swap_axes(x: &Tensor, first: isize, second: isize) -> Result<Tensor, Error> {
    compose("swap_axes", &[x], |b, args| {
        let rank = b.shape(args[0]).len();
        let (first, second) = (axis_of(first, rank)?, axis_of(second, rank)?);
        let mut order: Vec<usize> = (0..rank).collect();
        order.swap(first, second);
        Ok(b.permute(args[0], &order))
    })
}

#[track_caller]
fn move_axis(x: &Tensor, from: isize, to: isize) -> Result<Tensor, Error> {
    compose("move_axis", &[x], |b, args| {
        let rank = b.shape(args[0]).len();
        let (from, to) = (axis_of(from, rank)?, axis_of(to, rank)?);
        Ok(b.move_axis(args[0], from, to))
    })
}

#[track_caller]
fn broadcast_to(x: &Tensor, shape: &[isize]) -> Result<Tensor, Error> {
    compose("broadcast_to", &[x], |b, args| {
        let shape = lengths_of(shape)?;
        check_stretch(b.shape(args[0]), &shape)?;
        Ok(stretch(b, args[0], &shape))
    })
}

#[track_caller]
fn expand_dims(x: &Tensor, axis: isize) -> Result<Tensor, Error> {
    compose("expand_dims", &[x], |b, args| {
        let mut shape = b.shape(args[0]).to_vec();
        let axis = axis_of(axis, shape.len() + 1)?;
        shape.insert(axis, 1);
        Ok(b.reshape(args[0], &shape))
    })
}

#[track_caller]
fn squeeze(x: &Tensor, axes: Option<Vec<isize>>) -> Result<Tensor, Error> {
    compose("squeeze", &[x], |b, args| {
        let shape = b.shape(args[0]).to_vec();
        let gone: Vec<usize> = match axes {
            None => (0..shape.len()).filter(|&axis| shape[axis] == 1).collect(),
            Some(axes) => axes_of(&axes, shape.len())?,
        };
        if let Some(&axis) = gone.iter().find(|&&axis| shape[axis] != 1) {
            misfit!("axis {axis} is {} long, and only one of length 1 can go", shape[axis]);
        }
        let left: Vec<usize> = (0..shape.len()).filter(|axis| !gone.contains(axis)).map(|axis| shape[axis]).collect();
        Ok(b.reshape(args[0], &left))
    })
}

#[track_caller]
fn flip(x: &Tensor, axes: Option<Vec<isize>>) -> Result<Tensor, Error> {
    compose("flip", &[x], |b, args| {
        let rank = b.shape(args[0]).len();
        let mut axes = axes.map_or_else(|| Ok((0..rank).collect()), |axes| axes_of(&axes, rank))?;
        axes.sort_unstable();
        Ok(b.emit(Reverse::new(&axes), args)?[0])
    })
}

#[track_caller]
fn converted(name: &str, x: &Tensor, dtype: DType) -> Result<Tensor, Error> {
    compose(
        name,
        &[x],
        |b, args| {
            if b.ty(args[0]).dtype == dtype { Ok(args[0]) } else { Ok(b.emit(Convert(dtype), args)?[0]) }
        },
    )
}
