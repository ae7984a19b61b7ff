//! Normalisation: mean 0 and variance 1, or a mean square of 1, over features or over a batch.

use super::check_type;
use crate::array::Type;
use crate::error::{Error, Misfit, misfit};
use crate::ops::Unary;
use crate::primitives::check_float;
use crate::program::{Builder, Value};
use crate::tensor::Tensor;
use crate::tensor::compose::{axis_of, compose, or_raise, stretch};
use crate::tensor::reduce::{mean, minus};

or_raise! {
    trait TryNormalise: "normalisation";

    /// `gain (x - mean) / sqrt(var + epsilon) + bias` with mean and variance (divisor n) over the last axis; `gain` and
    /// `bias` are vectors of its length (J. L. Ba, J. R. Kiros, G. E. Hinton, *Layer normalization*, 2016).
    ///
    /// Of equal elements it is the bias. With `epsilon` 0 these give NaN.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([[1.0, 3.0], [5.0, 5.0]]);
    /// let y = x.layer_norm(&Tensor::ones(&[2]), &Tensor::zeros(&[2]), 3.0);
    /// assert_eq!(y.to_vec(), [-0.5, 0.5, 0.0, 0.0]);
    /// ```
    #[doc(alias("LayerNorm", "normalize"))]
    fn layer_norm = try_layer_norm(gain: &Tensor, bias: &Tensor, epsilon: f64);
    /// `gain x / sqrt(mean(x^2) + epsilon)` over the last axis, whose length the vector `gain` has (B. Zhang,
    /// R. Sennrich, *Root mean square layer normalization*, 2019). Of zeros it is 0; with `epsilon` 0 these give NaN.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([[3.0, 4.0], [0.0, 2.0]]);
    /// let y = x.rms_norm(&Tensor::ones(&[2]), 0.0);
    /// assert!((y.square().mean_over(1) - 1.0).abs().max().item() < 1e-15);
    /// ```
    #[doc(alias = "RMSNorm")]
    fn rms_norm = try_rms_norm(gain: &Tensor, epsilon: f64);
    /// As [`Tensor::layer_norm`], over the first axis, the batch; `gain` and `bias` have the shape of the other axes
    /// (S. Ioffe, C. Szegedy, *Batch normalization*, 2015, algorithm 1). The derivative passes through mean and
    /// variance. For a running estimate of them take `mean_over(0)` and `var_over(0, 0)` along.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([[1.0, 10.0], [3.0, 30.0]]);
    /// let y = x.batch_norm(&Tensor::ones(&[2]), &Tensor::zeros(&[2]), 0.0);
    /// assert_eq!(y.to_vec(), [-1.0, -1.0, 1.0, 1.0]);
    /// ```
    #[doc(alias = "BatchNorm")]
    fn batch_norm = try_batch_norm(gain: &Tensor, bias: &Tensor, epsilon: f64);
    /// As [`Tensor::batch_norm`], with given statistics in the shape of the other axes instead of those of the batch:
    /// what a trained model computes.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (x, two) = (Tensor::from([[1.0], [5.0]]), Tensor::from([2.0]));
    /// let (ones, zeros) = (Tensor::ones(&[1]), Tensor::zeros(&[1]));
    /// let y = x.batch_norm_with([&two, &Tensor::from([4.0])], &ones, &zeros, 0.0);
    /// assert_eq!(y.to_vec(), [-0.5, 1.5]);
    /// ```
    fn batch_norm_with = try_batch_norm_with(statistics: [&Tensor; 2], gain: &Tensor, bias: &Tensor, epsilon: f64);
}

impl TryNormalise for Tensor {
    /// As [`Tensor::layer_norm`], with an error instead of a panic.
    ///
    /// # Errors
    /// If there is no axis, the elements are not real, `gain` or `bias` are of another type, or `epsilon` is negative.
    #[track_caller]
    fn try_layer_norm(&self, gain: &Tensor, bias: &Tensor, epsilon: f64) -> Result<Tensor, Error> {
        compose("layer_norm", &[self, gain, bias], |b, args| {
            let (axis, line) = last_axis(b, args[0])?;
            check_affine(b, &line, args[1], args[2])?;
            check_epsilon(epsilon)?;
            let normal = standardised(b, args[0], axis, epsilon)?;
            Ok(affine(b, normal, args[1], args[2]))
        })
    }

    /// As [`Tensor::rms_norm`], with an error instead of a panic.
    ///
    /// # Errors
    /// If there is no axis, the elements are not real, `gain` is of another type, or `epsilon` is negative.
    #[track_caller]
    fn try_rms_norm(&self, gain: &Tensor, epsilon: f64) -> Result<Tensor, Error> {
        compose("rms_norm", &[self, gain], |b, args| {
            let (axis, line) = last_axis(b, args[0])?;
            check_type("second operand, the gain,", &line, b.ty(args[1]))?;
            check_epsilon(epsilon)?;
            let squares = b.op(Unary::Square, &[args[0]]);
            let size = mean(b, squares, &[axis])?;
            let shape = b.shape(args[0]).to_vec();
            let factor = inverse_root(b, size, epsilon);
            let factor = b.spread(factor, &shape, &[axis]);
            let normal = b.mul(args[0], factor);
            let gain = stretch(b, args[1], &shape);
            Ok(b.mul(normal, gain))
        })
    }

    /// As [`Tensor::batch_norm`], with an error instead of a panic.
    ///
    /// # Errors
    /// If there is no axis, the elements are not real, `gain` or `bias` are of another type, or `epsilon` is negative.
    #[track_caller]
    fn try_batch_norm(&self, gain: &Tensor, bias: &Tensor, epsilon: f64) -> Result<Tensor, Error> {
        compose("batch_norm", &[self, gain, bias], |b, args| {
            let features = features(b, args[0])?;
            check_affine(b, &features, args[1], args[2])?;
            check_epsilon(epsilon)?;
            let normal = standardised(b, args[0], 0, epsilon)?;
            Ok(affine(b, normal, args[1], args[2]))
        })
    }

    /// As [`Tensor::batch_norm_with`], with an error instead of a panic; `statistics` are mean and variance.
    ///
    /// # Errors
    /// If there is no axis, the elements are not real, a further operand is of another type, or `epsilon` is negative.
    #[track_caller]
    fn try_batch_norm_with(
        &self,
        statistics: [&Tensor; 2],
        gain: &Tensor,
        bias: &Tensor,
        epsilon: f64,
    ) -> Result<Tensor, Error> {
        let [centre, spread] = statistics;
        compose("batch_norm_with", &[self, centre, spread, gain, bias], |b, args| {
            let features = features(b, args[0])?;
            check_type("second operand, the mean,", &features, b.ty(args[1]))?;
            check_type("third operand, the variance,", &features, b.ty(args[2]))?;
            check_affine(b, &features, args[3], args[4])?;
            check_epsilon(epsilon)?;
            let centred = minus(b, args[0], args[1], &[0]);
            let factor = inverse_root(b, args[2], epsilon);
            let shape = b.shape(centred).to_vec();
            let factor = stretch(b, factor, &shape);
            let normal = b.mul(centred, factor);
            Ok(affine(b, normal, args[3], args[4]))
        })
    }
}

/// The last axis of a real operand, and the type of a line along it.
fn last_axis(b: &Builder, x: Value) -> Result<(usize, Type), Misfit> {
    let ty = b.ty(x);
    check_float(ty)?;
    let axis = axis_of(-1, ty.rank())?;
    Ok((axis, ty.with_shape(vec![ty.shape[axis]])))
}

/// The type of one member of the batch along the first axis of a real operand.
fn features(b: &Builder, x: Value) -> Result<Type, Misfit> {
    let ty = b.ty(x);
    check_float(ty)?;
    axis_of(0, ty.rank())?;
    Ok(ty.with_shape(ty.shape[1..].to_vec()))
}

fn check_affine(b: &Builder, wanted: &Type, gain: Value, bias: Value) -> Result<(), Misfit> {
    check_type("gain", wanted, b.ty(gain))?;
    check_type("bias", wanted, b.ty(bias))
}

fn check_epsilon(epsilon: f64) -> Result<(), Misfit> {
    if epsilon >= 0.0 {
        return Ok(());
    }
    misfit!("epsilon is {epsilon}, and has to be a number that is not negative")
}

/// `1 / sqrt(x + epsilon)`
fn inverse_root(b: &mut Builder, x: Value, epsilon: f64) -> Value {
    let ty = b.ty(x).clone();
    let epsilon = b.full(epsilon, &ty);
    let raised = b.add(x, epsilon);
    b.op(Unary::Rsqrt, &[raised])
}

/// `(x - mean) / sqrt(var + epsilon)` along an axis.
fn standardised(b: &mut Builder, x: Value, axis: usize, epsilon: f64) -> Result<Value, Misfit> {
    let centre = mean(b, x, &[axis])?;
    let centred = minus(b, x, centre, &[axis]);
    let squares = b.op(Unary::Square, &[centred]);
    let variance = mean(b, squares, &[axis])?;
    let factor = inverse_root(b, variance, epsilon);
    let shape = b.shape(x).to_vec();
    let factor = b.spread(factor, &shape, &[axis]);
    Ok(b.mul(centred, factor))
}

/// `gain x + bias`, both stretched over axes in front.
fn affine(b: &mut Builder, x: Value, gain: Value, bias: Value) -> Value {
    let shape = b.shape(x).to_vec();
    let (gain, bias) = (stretch(b, gain, &shape), stretch(b, bias, &shape));
    let product = b.mul(x, gain);
    b.add(product, bias)
}
