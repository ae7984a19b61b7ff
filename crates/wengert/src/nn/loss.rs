//! Losses: how far a prediction is from its target.

use super::softmax::{log_softmax, shifted_and_log};
use super::{check_type, scaled};
use crate::array::{DType, Type};
use crate::error::{Error, Misfit, misfit};
use crate::ops::{Binary, Compare, Unary};
use crate::primitives::{Gather, OutOfBounds, check_float};
use crate::program::{Builder, Value};
use crate::tensor::Tensor;
use crate::tensor::compose::{axis_of, compose, or_raise, together};
use crate::tensor::reduce::mean;

or_raise! {
    trait TryLoss: "losses";

    /// `-log_softmax(x)[label]` for each row: the last axis of `self`, the logits, goes over the classes, and `labels`
    /// (i64) has the other axes. The derivative of a row is its softmax, less 1 at the label.
    ///
    /// A label whose logit is `-inf` gives `inf`. A label that is no class is an error when the numbers are known.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let logits = Tensor::from([[0.0, 0.0], [0.0, -1000.0]]);
    /// let loss = logits.softmax_cross_entropy(&Tensor::from([0i64, 1]));
    /// assert_eq!(loss.to_vec(), [2f64.ln(), 1000.0]);
    /// ```
    #[doc(alias("cross_entropy", "nll_loss", "softmax_cross_entropy_with_integer_labels"))]
    fn softmax_cross_entropy = try_softmax_cross_entropy(labels: &Tensor);
    /// `-sum_i p_i log_softmax(x)_i` for each row, with probabilities `p` of the type of the logits; a class of
    /// probability 0 adds 0, also where its logit is `-inf`. The derivative of a row in the logits is
    /// `softmax(x) sum(p) - p`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let loss = Tensor::from([[0.0, 0.0]]).softmax_cross_entropy_with(&Tensor::from([[0.25, 0.75]]));
    /// assert!((loss.item() - 2f64.ln()).abs() < 1e-15);
    /// ```
    #[doc(alias = "cross_entropy_with_probabilities")]
    fn softmax_cross_entropy_with = try_softmax_cross_entropy_with(probabilities: &Tensor);
    /// `-y ln s(z) - (1 - y) ln(1 - s(z))` with the [sigmoid](Tensor::sigmoid) s of each logit z in `self`, and
    /// `targets` y from 0 to 1 in a shape that goes with it. Computed as `softplus(-|z|)` and `(1 - y) z` for positive
    /// logits, `-y z` for others, in which nothing overflows or cancels; an infinite logit that is right gives 0.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let z = Tensor::from([-1000.0, 40.0]);
    /// assert_eq!(z.sigmoid_cross_entropy(&Tensor::from([1.0, 1.0])).to_vec(), [1000.0, (-40f64).exp()]);
    /// ```
    #[doc(alias("binary_cross_entropy", "bce_with_logits", "binary_cross_entropy_with_logits"))]
    fn sigmoid_cross_entropy = try_sigmoid_cross_entropy(targets: &Tensor);
    /// `mean((x - y)^2)` over all elements; NaN of none.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([1.0, 4.0]);
    /// let (loss, slope) = value_and_grad(&x, |x| x.mse(&Tensor::from([1.0, 2.0])));
    /// assert_eq!((loss.item(), slope.to_vec()), (2.0, vec![0.0, 2.0]));
    /// ```
    #[doc(alias("mse_loss", "mean_squared_error"))]
    fn mse = try_mse(other: &Tensor);
    /// `r^2/2` where `|r| <= delta`, else `delta (|r| - delta/2)`, with `r = x - y`, for each element (P. J. Huber,
    /// *Robust estimation of a location parameter*, 1964). Its derivative is r limited to `[-delta, delta]`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (x, y) = (Tensor::from([0.5, 3.0]), Tensor::zeros(&[2]));
    /// assert_eq!(x.huber(&y, 1.0).to_vec(), [0.125, 2.5]);
    /// assert_eq!(grad(&x, |x| x.huber(&y, 1.0).sum()).to_vec(), [0.5, 1.0]);
    /// ```
    #[doc(alias("huber_loss", "smooth_l1_loss"))]
    fn huber = try_huber(other: &Tensor, delta: f64);
}

impl TryLoss for Tensor {
    /// As [`Tensor::softmax_cross_entropy`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the logits have no axis or are not real, or the labels are not i64 or of another shape than the rows.
    #[track_caller]
    fn try_softmax_cross_entropy(&self, labels: &Tensor) -> Result<Tensor, Error> {
        compose("softmax_cross_entropy", &[self, labels], |b, args| {
            let ty = b.ty(args[0]).clone();
            check_float(&ty)?;
            let axis = axis_of(-1, ty.rank())?;
            check_type("second operand, the labels,", &Type::new(DType::I64, &ty.shape[..axis]), b.ty(args[1]))?;
            let mut indices = ty.shape;
            let length = std::mem::replace(&mut indices[axis], 1);
            let indices = b.reshape(args[1], &indices);
            let gather = Gather { batch: axis, axes: vec![axis], mode: OutOfBounds::Error };
            if length == 0 {
                let picked = b.op(gather, &[args[0], indices]);
                return Ok(b.neg(picked));
            }
            // The class is picked first: the logarithm's cotangent is then one number a row, and no array of zeros but for one.
            let (shifted, log) = shifted_and_log(b, args[0], axis);
            let picked = b.op(gather, &[shifted, indices]);
            let picked = b.sub(picked, log);
            Ok(b.neg(picked))
        })
    }

    /// As [`Tensor::softmax_cross_entropy_with`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the logits have no axis or are not real, or the probabilities are of another type.
    #[track_caller]
    fn try_softmax_cross_entropy_with(&self, probabilities: &Tensor) -> Result<Tensor, Error> {
        compose("softmax_cross_entropy_with", &[self, probabilities], |b, args| {
            let ty = b.ty(args[0]).clone();
            check_float(&ty)?;
            let axis = axis_of(-1, ty.rank())?;
            check_type("second operand, the probabilities,", &ty, b.ty(args[1]))?;
            let logs = log_softmax(b, args[0], axis);
            let terms = b.op(Binary::Weighted, &[args[1], logs]);
            let sum = b.sum(terms, &[axis]);
            Ok(b.neg(sum))
        })
    }

    /// As [`Tensor::sigmoid_cross_entropy`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the elements are not real or of different types, or the shapes do not go together.
    #[track_caller]
    fn try_sigmoid_cross_entropy(&self, targets: &Tensor) -> Result<Tensor, Error> {
        compose("sigmoid_cross_entropy", &[self, targets], |b, args| {
            let (z, y) = real_pair(b, args)?;
            let ty = b.ty(z).clone();
            let one = b.full(1.0, &ty);
            let zero = b.full(0.0, &ty);
            let is_right = b.op(Compare::Gt, &[z, zero]);
            // With |z| instead of both signs: ln(1 + e^-|z|), and what is linear there.
            let (rest, less, opposite) = (b.sub(one, y), b.neg(y), b.neg(z));
            let weight = b.select(is_right, rest, less);
            let linear = b.op(Binary::Weighted, &[weight, z]);
            let below = b.select(is_right, opposite, z);
            let tail = b.op(Unary::Softplus, &[below]);
            Ok(b.add(linear, tail))
        })
    }

    /// As [`Tensor::mse`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the elements are not real or of different types, or the shapes differ.
    #[track_caller]
    fn try_mse(&self, other: &Tensor) -> Result<Tensor, Error> {
        compose("mse", &[self, other], |b, args| {
            check_float(b.ty(args[0]))?;
            // Stretching shapes would more often be a mistake here than intended: [n] against [n, 1].
            check_type("second operand", &b.ty(args[0]).clone(), b.ty(args[1]))?;
            let residual = b.sub(args[0], args[1]);
            let squares = b.op(Unary::Square, &[residual]);
            let axes: Vec<usize> = (0..b.shape(squares).len()).collect();
            mean(b, squares, &axes)
        })
    }

    /// As [`Tensor::huber`], with an error instead of a panic.
    ///
    /// # Errors
    /// If `delta` is not positive, the elements are not real or of different types, or the shapes do not go together.
    #[track_caller]
    fn try_huber(&self, other: &Tensor, delta: f64) -> Result<Tensor, Error> {
        compose("huber", &[self, other], |b, args| {
            if delta.is_nan() || delta <= 0.0 {
                misfit!("delta is {delta}, and has to be positive");
            }
            let (x, y) = real_pair(b, args)?;
            let residual = b.sub(x, y);
            let ty = b.ty(residual).clone();
            let size = b.op(Unary::Abs, &[residual]);
            let (bound, half) = (b.full(delta, &ty), b.full(delta / 2.0, &ty));
            let square = b.op(Unary::Square, &[residual]);
            let near = scaled(b, square, 0.5);
            let excess = b.sub(size, half);
            let far = b.mul(bound, excess);
            let inside = b.op(Compare::Le, &[size, bound]);
            Ok(b.select(inside, near, far))
        })
    }
}

/// Two real operands of one element type, stretched to each other.
fn real_pair(b: &mut Builder, args: &[Value]) -> Result<(Value, Value), Misfit> {
    check_float(b.ty(args[0]))?;
    super::check_same_dtype("second operand", b.ty(args[0]), b.ty(args[1]))?;
    together(b, args[0], args[1])
}
