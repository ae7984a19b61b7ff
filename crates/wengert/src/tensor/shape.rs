//! Shapes: the same elements in other places.

use super::Tensor;
use super::compose::{axes_of, axis_of, check_stretch, compose, or_raise, stretch};
use crate::array::{DType, element_count};
use crate::error::{Error, Misfit, misfit};
use crate::primitives::{Convert, Reverse};
use crate::program::{Builder, Value};

or_raise! {
    /// The elements, in row-major order, in another shape; one length may be -1 and follows from
    /// the others.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    /// assert_eq!(x.reshape(&[2, -1]).shape(), [2, 3]);
    /// ```
    fn reshape = try_reshape(shape: &[isize]);
    /// The elements as a vector.
    fn flatten = try_flatten();
    /// The axes in another order: axis k of the result is axis `order[k]`.
    fn permute = try_permute(order: &[isize]);
    /// The axes in reverse order; a matrix is transposed.
    fn t = try_t();
    /// Two axes in each other's place.
    fn swap_axes = try_swap_axes(first: isize, second: isize);
    /// The axis `from` at the place `to`, the others in order.
    fn move_axis = try_move_axis(from: isize, to: isize);
    /// The elements repeated along new axes in front and along axes of length 1, to this shape.
    fn broadcast_to = try_broadcast_to(shape: &[usize]);
    /// With one more axis of length 1 at this place of the result.
    fn expand_dims = try_expand_dims(axis: isize);
    /// Without an axis of length 1.
    fn squeeze = try_squeeze(axis: isize);
    /// The opposite order along axes.
    fn flip = try_flip(axes: impl super::Axes);
    /// Another element type: real numbers become integers by truncation, NaN 0; truth values
    /// become 0 and 1; anything but 0 is true. The derivative passes between real types only.
    fn convert = try_convert(dtype: DType);
    /// In single precision.
    fn to_f32 = try_to_f32();
    /// In double precision.
    fn to_f64 = try_to_f64();
    /// As integers, by truncation.
    fn to_i64 = try_to_i64();
}

/// The shape with its one length of -1 replaced.
fn inferred(shape: &[isize], size: usize) -> Result<Vec<usize>, Misfit> {
    let Some(unknown) = shape.iter().position(|&length| length == -1) else {
        let lengths = shape.iter().map(|&length| usize::try_from(length));
        return match lengths.collect::<Result<Vec<usize>, _>>() {
            Ok(shape) => Ok(shape),
            Err(_) => misfit!("the shape {shape:?} has a negative length"),
        };
    };
    let mut known = inferred(&[&shape[..unknown], &shape[unknown + 1..]].concat(), size)?;
    match element_count(&known) {
        Some(count) if count > 0 && size.is_multiple_of(count) => known.insert(unknown, size / count),
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

impl Tensor {
    /// As [`Tensor::reshape`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the shape does not have this number of elements.
    #[track_caller]
    pub fn try_reshape(&self, shape: &[isize]) -> Result<Tensor, Error> {
        compose("reshape", &[self], |b, args| {
            let shape = inferred(shape, b.ty(args[0]).size())?;
            reshaped(b, args[0], &shape)
        })
    }

    /// As [`Tensor::flatten`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the recording of the tensor has ended.
    #[track_caller]
    pub fn try_flatten(&self) -> Result<Tensor, Error> {
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
    pub fn try_permute(&self, order: &[isize]) -> Result<Tensor, Error> {
        compose("permute", &[self], |b, args| {
            let rank = b.shape(args[0]).len();
            if order.len() != rank {
                misfit!("the order {order:?} does not name each of the {rank} axes once");
            }
            let order = axes_of(order, rank)?;
            Ok(b.permute(args[0], &order))
        })
    }

    /// As [`Tensor::t`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the recording of the tensor has ended.
    #[track_caller]
    pub fn try_t(&self) -> Result<Tensor, Error> {
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
    pub fn try_swap_axes(&self, first: isize, second: isize) -> Result<Tensor, Error> {
        compose("swap_axes", &[self], |b, args| {
            let rank = b.shape(args[0]).len();
            let (first, second) = (axis_of(first, rank)?, axis_of(second, rank)?);
            let mut order: Vec<usize> = (0..rank).collect();
            order.swap(first, second);
            Ok(b.permute(args[0], &order))
        })
    }

    /// As [`Tensor::move_axis`], with an error instead of a panic.
    ///
    /// # Errors
    /// If an axis does not exist.
    #[track_caller]
    pub fn try_move_axis(&self, from: isize, to: isize) -> Result<Tensor, Error> {
        compose("move_axis", &[self], |b, args| {
            let rank = b.shape(args[0]).len();
            let (from, to) = (axis_of(from, rank)?, axis_of(to, rank)?);
            Ok(b.move_axis(args[0], from, to))
        })
    }

    /// As [`Tensor::broadcast_to`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the shape does not stretch to the other.
    #[track_caller]
    pub fn try_broadcast_to(&self, shape: &[usize]) -> Result<Tensor, Error> {
        compose("broadcast_to", &[self], |b, args| {
            check_stretch(b.shape(args[0]), shape)?;
            Ok(stretch(b, args[0], shape))
        })
    }

    /// As [`Tensor::expand_dims`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the result has no such axis.
    #[track_caller]
    pub fn try_expand_dims(&self, axis: isize) -> Result<Tensor, Error> {
        compose("expand_dims", &[self], |b, args| {
            let mut shape = b.shape(args[0]).to_vec();
            let axis = axis_of(axis, shape.len() + 1)?;
            shape.insert(axis, 1);
            Ok(b.reshape(args[0], &shape))
        })
    }

    /// As [`Tensor::squeeze`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the axis does not exist or is not 1 long.
    #[track_caller]
    pub fn try_squeeze(&self, axis: isize) -> Result<Tensor, Error> {
        compose("squeeze", &[self], |b, args| {
            let mut shape = b.shape(args[0]).to_vec();
            let axis = axis_of(axis, shape.len())?;
            if shape[axis] != 1 {
                misfit!("axis {axis} is {} long, and only one of length 1 can go", shape[axis]);
            }
            shape.remove(axis);
            Ok(b.reshape(args[0], &shape))
        })
    }

    /// As [`Tensor::flip`], with an error instead of a panic.
    ///
    /// # Errors
    /// If an axis does not exist.
    #[track_caller]
    pub fn try_flip(&self, axes: impl super::Axes) -> Result<Tensor, Error> {
        let axes = axes.axes();
        compose("flip", &[self], |b, args| {
            let rank = b.shape(args[0]).len();
            let mut axes = axes.map_or_else(|| Ok((0..rank).collect()), |axes| axes_of(&axes, rank))?;
            axes.sort_unstable();
            Ok(b.emit(Reverse::new(&axes), args)?[0])
        })
    }

    /// As [`Tensor::convert`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the recording of the tensor has ended.
    #[track_caller]
    pub fn try_convert(&self, dtype: DType) -> Result<Tensor, Error> {
        converted("convert", self, dtype)
    }

    /// As [`Tensor::to_f32`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the recording of the tensor has ended.
    #[track_caller]
    pub fn try_to_f32(&self) -> Result<Tensor, Error> {
        converted("to_f32", self, DType::F32)
    }

    /// As [`Tensor::to_f64`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the recording of the tensor has ended.
    #[track_caller]
    pub fn try_to_f64(&self) -> Result<Tensor, Error> {
        converted("to_f64", self, DType::F64)
    }

    /// As [`Tensor::to_i64`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the recording of the tensor has ended.
    #[track_caller]
    pub fn try_to_i64(&self) -> Result<Tensor, Error> {
        converted("to_i64", self, DType::I64)
    }
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
