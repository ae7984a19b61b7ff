//! Softmax and its logarithm.

use std::sync::Arc;

use crate::array::Type;
use crate::error::{Error, Misfit};
use crate::ops::{Compare, Unary};
use crate::primitives::{Custom, Reduce, Reducer, Rule, check_float};
use crate::program::{Builder, Value};
use crate::tensor::compose::{axis_of, compose, or_raise};
use crate::tensor::reduce::{is_finite, minus};
use crate::tensor::{Dim, Tensor};

or_raise! {
    trait TrySoftmax: "softmax";

    /// `e^(x_i) / sum_j e^(x_j)` along an axis, without overflow: positive numbers that add up to 1.
    ///
    /// An element `-inf` has the probability 0, and its derivative is 0 too. A line that is all `-inf`, or has an
    /// element `inf`, has no distribution: it gives NaN. Of an empty axis it is empty.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([1000.0, f64::NEG_INFINITY, 1000.0]);
    /// assert_eq!(x.softmax(0).to_vec(), [0.5, 0.0, 0.5]);
    /// ```
    #[doc(alias("Softmax", "softmin"))]
    fn softmax = try_softmax(axis: impl Dim);
    /// `x_i - ln sum_j e^(x_j)` along an axis: the logarithm of [`Tensor::softmax`], which may have vanished where this
    /// has not. `-inf` where x is; its edges are those of the softmax.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([0.0, -1000.0]);
    /// assert_eq!(x.log_softmax(0).to_vec(), [0.0, -1000.0]);
    /// ```
    #[doc(alias = "LogSoftmax")]
    fn log_softmax = try_log_softmax(axis: impl Dim);
}

impl TrySoftmax for Tensor {
    /// As [`Tensor::softmax`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the axis does not exist or the elements are not real.
    #[track_caller]
    fn try_softmax(&self, axis: impl Dim) -> Result<Tensor, Error> {
        softmax_along(self, axis.dim().0)
    }

    /// As [`Tensor::log_softmax`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the axis does not exist or the elements are not real.
    #[track_caller]
    fn try_log_softmax(&self, axis: impl Dim) -> Result<Tensor, Error> {
        log_softmax_along(self, axis.dim().0)
    }
}

#[track_caller]
fn softmax_along(x: &Tensor, axis: isize) -> Result<Tensor, Error> {
    compose("softmax", &[x], |b, args| {
        let axis = real_axis(b, args[0], axis)?;
        if b.shape(args[0])[axis] == 0 {
            return Ok(args[0]);
        }
        Ok(b.op(softmax(b.ty(args[0]), axis, Shut::Nan), args))
    })
}

#[track_caller]
fn log_softmax_along(x: &Tensor, axis: isize) -> Result<Tensor, Error> {
    compose("log_softmax", &[x], |b, args| {
        let axis = real_axis(b, args[0], axis)?;
        Ok(log_softmax(b, args[0], axis))
    })
}

/// An axis of an operand that has to have real elements.
fn real_axis(b: &Builder, x: Value, axis: isize) -> Result<usize, Misfit> {
    check_float(b.ty(x))?;
    axis_of(axis, b.shape(x).len())
}

/// The result of a line whose elements are all `-inf`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shut {
    Nan,
    Zero,
}

/// The softmax of an array of this type, with its derivative: the cotangent `y (ct - sum_j ct_j y_j)`, in the result alone.
/// Derived from the quotient it would keep the powers and their sum too, and take twice the work.
pub(super) fn softmax(ty: &Type, axis: usize, shut: Shut) -> Custom {
    let mut b = Builder::new();
    let x = b.input("x", ty.clone());
    let shifted = shifted(&mut b, x, axis);
    let powers = b.op(Unary::Exp, &[shifted]);
    let mut sum = b.sum(powers, &[axis]);
    if shut == Shut::Zero {
        // 0/1 instead of 0/0.
        let zero = b.zeros_like(sum);
        let nothing = b.op(Compare::Eq, &[sum, zero]);
        let nothing = b.convert(nothing, ty.dtype);
        sum = b.add(sum, nothing);
    }
    let sum = b.spread(sum, &ty.shape, &[axis]);
    let value = b.div(powers, sum);
    let value = b.finish(&[value]);
    let mut b = Builder::new();
    let [_, y, ct] = ["x", "y", "ct"].map(|name| b.input(name, ty.clone()));
    let weighted = b.mul(ct, y);
    let mean = b.sum(weighted, &[axis]);
    let centred = minus(&mut b, ct, mean, &[axis]);
    let cotangent = b.mul(y, centred);
    let rule = Rule::Vjp(Arc::new(b.finish(&[cotangent])));
    Custom { name: "softmax".to_owned(), value: Arc::new(value), rule, surrogate: false }
}

/// `x` less its largest element along an axis, so that exponentials do not overflow. The shift is a constant to the
/// derivative, where it cancels. An infinite one is not subtracted: it would turn `-inf` into `inf - inf`.
pub(super) fn shifted(b: &mut Builder, x: Value, axis: usize) -> Value {
    let largest = b.op(Reduce::new(Reducer::Max, &[axis]), &[x]);
    let largest = b.op(Unary::Detach, &[largest]);
    let finite = is_finite(b, largest);
    let zero = b.zeros_like(largest);
    let shift = b.select(finite, largest, zero);
    minus(b, x, shift, &[axis])
}

/// See [`Tensor::log_softmax`].
pub(super) fn log_softmax(b: &mut Builder, x: Value, axis: usize) -> Value {
    if b.shape(x)[axis] == 0 {
        return x;
    }
    let (shifted, log) = shifted_and_log(b, x, axis);
    minus(b, shifted, log, &[axis])
}

/// `x` less its largest element along an axis, and the logarithm of the sum of its powers.
pub(super) fn shifted_and_log(b: &mut Builder, x: Value, axis: usize) -> (Value, Value) {
    let shifted = shifted(b, x, axis);
    let powers = b.op(Unary::Exp, &[shifted]);
    let sum = b.sum(powers, &[axis]);
    (shifted, b.op(Unary::Ln, &[sum]))
}
