//! Layers: affine maps, rows of a table, random omission.

use super::{check_type, scaled};
use crate::array::DType;
use crate::error::{Error, misfit};
use crate::ops::Compare;
use crate::primitives::{Gather, OutOfBounds, check_float, random};
use crate::tensor::compose::{axis_of, compose, or_raise, stretch};
use crate::tensor::linalg::matmul;
use crate::tensor::{Key, Tensor};

or_raise! {
    trait TryLayer: "layers";

    /// `x w + b` for every line along the last axis of x, with `weights` (inputs, outputs) and `bias` (outputs).
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let w = Tensor::from([[1.0, 0.0], [2.0, -1.0]]);
    /// let y = Tensor::from([3.0, 4.0]).linear(&w, &Tensor::from([0.5, 0.0]));
    /// assert_eq!(y.to_vec(), [11.5, -4.0]);
    /// ```
    #[doc(alias("dense", "fully_connected", "affine", "addmm"))]
    fn linear = try_linear(weights: &Tensor, bias: &Tensor);
    /// The row of this table, a matrix, for every number of `indices` (i64): the shape of the indices, then the columns.
    /// The derivative of a row that is taken several times is the sum. A number that is no row is an error when the
    /// numbers are known.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let table = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// let rows = |table: Tensor| table.embedding(&Tensor::from([1i64, 0, 1]));
    /// assert_eq!(rows(table.clone()).shape(), [3, 2]);
    /// assert_eq!(grad(table, |table| rows(table).sum()).to_vec(), [1.0, 1.0, 2.0, 2.0]);
    /// ```
    #[doc(alias = "lookup")]
    fn embedding = try_embedding(indices: &Tensor);
    /// Every element is 0 with the probability `rate`, else `x / (1 - rate)`, so that its mean stays (N. Srivastava and
    /// others, *Dropout: a simple way to prevent neural networks from overfitting*, 2014, with the factor in training).
    /// The key decides which; the derivative passes where the element does. Rate 0 is x itself, rate 1 is all 0.
    ///
    /// ```
    /// use wengert::{Key, prelude::*};
    /// let y = Tensor::ones(&[1000]).dropout(&Key::new(5), 0.75);
    /// assert!(y.to_vec().iter().all(|&y| y == 0.0 || y == 4.0));
    /// assert!((y.mean().item() - 1.0).abs() < 0.2);
    /// ```
    #[doc(alias = "Dropout")]
    fn dropout = try_dropout(key: &Key, rate: f64);
}

impl TryLayer for Tensor {
    /// As [`Tensor::linear`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the shapes or element types do not fit.
    #[track_caller]
    fn try_linear(&self, weights: &Tensor, bias: &Tensor) -> Result<Tensor, Error> {
        compose("linear", &[self, weights, bias], |b, args| {
            let (x, w) = (b.ty(args[0]).clone(), b.ty(args[1]).clone());
            check_float(&x)?;
            let axis = axis_of(-1, x.rank())?;
            if w.rank() != 2 || w.shape[0] != x.shape[axis] {
                misfit!("the weights are {w}, and have to be a matrix with {} rows", x.shape[axis]);
            }
            check_type("third operand, the bias,", &x.with_shape(vec![w.shape[1]]), b.ty(args[2]))?;
            let product = matmul(b, args[0], args[1])?;
            let shape = b.shape(product).to_vec();
            let bias = stretch(b, args[2], &shape);
            Ok(b.add(product, bias))
        })
    }

    /// As [`Tensor::embedding`], with an error instead of a panic.
    ///
    /// # Errors
    /// If it is no matrix or the indices are not i64.
    #[track_caller]
    fn try_embedding(&self, indices: &Tensor) -> Result<Tensor, Error> {
        compose("embedding", &[self, indices], |b, args| {
            if b.shape(args[0]).len() != 2 {
                misfit!("the table is {}, and has to be a matrix", b.ty(args[0]));
            }
            if b.ty(args[1]).dtype != DType::I64 {
                misfit!("the indices are {}, and have to be i64", b.ty(args[1]));
            }
            let mut shape = b.shape(args[1]).to_vec();
            shape.push(1);
            let indices = b.reshape(args[1], &shape);
            Ok(b.emit(Gather::new(&[0], OutOfBounds::Error), &[args[0], indices])?[0])
        })
    }

    /// As [`Tensor::dropout`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the rate is not from 0 to 1 or the elements are not real.
    #[track_caller]
    fn try_dropout(&self, key: &Key, rate: f64) -> Result<Tensor, Error> {
        compose("dropout", &[self, key.words()], |b, args| {
            let ty = b.ty(args[0]).clone();
            check_float(&ty)?;
            if !(0.0..=1.0).contains(&rate) {
                misfit!("the rate is {rate}, and has to be from 0 to 1");
            }
            let zeros = b.zeros_like(args[0]);
            if rate == 0.0 || rate == 1.0 {
                return Ok(if rate == 0.0 { args[0] } else { zeros });
            }
            let drawn = random::uniform(b, args[1], &ty.shape, ty.dtype);
            let bound = b.full(rate, &ty);
            let kept = b.op(Compare::Ge, &[drawn, bound]);
            let larger = scaled(b, args[0], 1.0 / (1.0 - rate));
            Ok(b.select(kept, larger, zeros))
        })
    }
}
