//! Sampled functions: their integrals by the trapezoidal rule, and values between the samples.

use super::{check_type, scaled};
use crate::error::{Error, Misfit, misfit};
use crate::ops::{Binary, Compare};
use crate::primitives::{Broadcast, Slice, check_float};
use crate::program::{Builder, Value};
use crate::tensor::compose::{axis_of, compose, or_raise};
use crate::tensor::{Bound, Dim, Tensor, at, places};

or_raise! {
    trait TryInterpolate: "sampled functions";

    /// The integral along an axis, which disappears, of samples at a distance of `dx`, by the trapezoidal rule:
    /// `dx sum_k (y_k + y_(k+1)) / 2`. Of fewer than two samples it is 0.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.0, 2.0, 4.0]).trapz(0.5, 0).item(), 2.25);
    /// ```
    #[doc(alias("trapezoid", "integrate"))]
    fn trapz = try_trapz(dx: f64, axis: impl Dim);
    /// As [`Tensor::trapz`], of samples at the places `x`, a vector: `sum_k (x_(k+1) - x_k) (y_k + y_(k+1)) / 2`. The
    /// derivative goes to the places too.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (y, x) = (Tensor::from([0.0, 1.0, 4.0]), Tensor::from([0.0, 1.0, 2.0]));
    /// assert_eq!(y.trapz_at(&x, 0).item(), 3.0);
    /// ```
    #[doc(alias = "trapezoid")]
    fn trapz_at = try_trapz_at(x: &Tensor, axis: impl Dim);
    /// The values at each `x` in `self` of the piecewise linear function with the values `fp` at the nodes `xp`, two
    /// vectors; below the first node its value, above the last its value. NaN gives NaN.
    ///
    /// The nodes must increase: this is not checked, and the results are meaningless otherwise. Where two nodes
    /// are equal the function jumps, and has the value of the last of them there. The derivative goes to `x`, `xp` and
    /// `fp`; at a node that in x is the slope on its right: 0 at the last one, and outside.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (xp, fp) = (Tensor::from([0.0, 1.0, 3.0]), Tensor::from([0.0, 10.0, 20.0]));
    /// let x = Tensor::from([-1.0, 0.5, 1.0, 2.0, 7.0]);
    /// assert_eq!(x.interp(&xp, &fp).to_vec(), [0.0, 5.0, 10.0, 15.0, 20.0]);
    /// assert_eq!(grad(x, |x| x.interp(&xp, &fp).sum()).to_vec(), [0.0, 10.0, 5.0, 5.0, 0.0]);
    /// ```
    #[doc(alias("interp1d", "interpolate"))]
    fn interp = try_interp(xp: &Tensor, fp: &Tensor);
}

impl TryInterpolate for Tensor {
    /// As [`Tensor::trapz`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the axis does not exist or the elements are not real.
    #[track_caller]
    fn try_trapz(&self, dx: f64, axis: impl Dim) -> Result<Tensor, Error> {
        trapz(self, dx, axis.dim().0)
    }

    /// As [`Tensor::trapz_at`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the axis does not exist, the elements are not real, or `x` is no vector of its length.
    #[track_caller]
    fn try_trapz_at(&self, x: &Tensor, axis: impl Dim) -> Result<Tensor, Error> {
        trapz_at(self, x, axis.dim().0)
    }

    /// As [`Tensor::interp`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the elements are not real or of different types, `xp` and `fp` are no vectors of one length, or empty.
    #[track_caller]
    fn try_interp(&self, xp: &Tensor, fp: &Tensor) -> Result<Tensor, Error> {
        compose("interp", &[self, xp, fp], |b, args| {
            let (x, nodes) = (b.ty(args[0]).clone(), b.ty(args[1]).clone());
            check_float(&x)?;
            super::check_same_dtype("second operand, the nodes,", &x, &nodes)?;
            check_type("third operand, the values,", &nodes, b.ty(args[2]))?;
            match nodes.shape[..] {
                [0] => misfit!("there are no nodes"),
                [count] => interpolated(b, args, count),
                _ => misfit!("the nodes are {nodes}, and have to be a vector"),
            }
        })
    }
}

#[track_caller]
fn trapz(y: &Tensor, dx: f64, axis: isize) -> Result<Tensor, Error> {
    compose("trapz", &[y], |b, args| {
        check_float(b.ty(args[0]))?;
        let axis = axis_of(axis, b.shape(args[0]).len())?;
        let (left, right) = neighbours(b, args[0], axis);
        let pairs = b.add(left, right);
        let sum = b.sum(pairs, &[axis]);
        Ok(scaled(b, sum, 0.5 * dx))
    })
}

#[track_caller]
fn trapz_at(y: &Tensor, x: &Tensor, axis: isize) -> Result<Tensor, Error> {
    compose("trapz_at", &[y, x], |b, args| {
        let ty = b.ty(args[0]).clone();
        check_float(&ty)?;
        let axis = axis_of(axis, ty.rank())?;
        check_type("second operand, the places,", &ty.with_shape(vec![ty.shape[axis]]), b.ty(args[1]))?;
        let (left, right) = neighbours(b, args[0], axis);
        let pairs = b.add(left, right);
        let (from, to) = neighbours(b, args[1], 0);
        let widths = b.sub(to, from);
        let shape = b.shape(pairs).to_vec();
        let widths = b.op(Broadcast::new(&shape, &[axis]), &[widths]);
        let areas = b.mul(pairs, widths);
        let sum = b.sum(areas, &[axis]);
        Ok(scaled(b, sum, 0.5))
    })
}

/// All elements along an axis but the last, and all but the first.
fn neighbours(b: &mut Builder, x: Value, axis: usize) -> (Value, Value) {
    let shape = b.shape(x).to_vec();
    let length = shape[axis];
    let left = b.op(Slice::along(&shape, axis, 0, length.saturating_sub(1)), &[x]);
    let right = b.op(Slice::along(&shape, axis, length.min(1), length), &[x]);
    (left, right)
}

/// See [`Tensor::interp`]; there is at least one node.
fn interpolated(b: &mut Builder, args: &[Value], count: usize) -> Result<Value, Misfit> {
    let [x, nodes, values] = [args[0], args[1], args[2]];
    let passed = places(b, nodes, x, Bound::Upper)?;
    let whole = b.ty(passed).clone();
    let (first, last, one) = (b.full(0.0, &whole), b.full((count - 1) as f64, &whole), b.full(1.0, &whole));
    // The interval between the last node that is not above x and the next one is never empty. Outside there is none, and
    // what is computed for it is not chosen.
    let before = b.sub(passed, one);
    let left = b.op(Binary::Max, &[before, first]);
    let right = b.op(Binary::Min, &[passed, last]);
    let [x_0, x_1] = [left, right].map(|place| at(b, nodes, place));
    let [f_0, f_1] = [left, right].map(|place| at(b, values, place));
    let (part, width, rise) = (b.sub(x, x_0), b.sub(x_1, x_0), b.sub(f_1, f_0));
    let part = b.div(part, width);
    let rise = b.mul(part, rise);
    let inside = b.add(f_0, rise);
    let shape = b.shape(x).to_vec();
    let [x_first, f_first, x_last, f_last] = [(nodes, 0), (values, 0), (nodes, count - 1), (values, count - 1)]
        .map(|(vector, place)| everywhere(b, vector, place, &shape));
    let below = b.op(Compare::Lt, &[x, x_first]);
    let above = b.op(Compare::Ge, &[x, x_last]);
    let result = b.select(above, f_last, inside);
    Ok(b.select(below, f_first, result))
}

/// One element of a vector, in every place of a shape.
fn everywhere(b: &mut Builder, vector: Value, place: usize, shape: &[usize]) -> Value {
    let length = b.shape(vector).to_vec();
    let element = b.op(Slice::along(&length, 0, place, place + 1), &[vector]);
    let element = b.reshape(element, &[]);
    b.broadcast_scalar(element, shape)
}
