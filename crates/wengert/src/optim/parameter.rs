//! What an optimiser can move: the arithmetic of leaves.

use std::fmt::Display;

use crate::array::Data;
use crate::leaf::Leaf;
use crate::tensor::Tensor;

/// What an optimiser can move: `f64` and [`Tensor`]. Sealed, as [`Leaf`] is.
pub trait Parameter: Leaf {
    /// Why a number or tensor cannot replace `self`.
    #[doc(hidden)]
    fn misfit(&self, other: &Self) -> Option<String>;
    /// Zero, of the same shape.
    #[doc(hidden)]
    fn zero(&self) -> Self;
    /// `a self + b other`; without `self`, whatever it is, if `a` is 0.
    #[doc(hidden)]
    #[track_caller]
    fn blend(&self, a: f64, other: &Self, b: f64) -> Self;
    /// The squares of the elements.
    #[doc(hidden)]
    #[track_caller]
    fn squared(&self) -> Self;
    /// `self / (sqrt(other) + epsilon)`. Where `other` is 0, so are the gradients of which it is made, and `self`: the slope of
    /// the root there is infinite, and multiplied by 0 it counts for nothing.
    #[doc(hidden)]
    #[track_caller]
    fn over_root(&self, other: &Self, epsilon: f64) -> Self;
    /// `factor self`
    #[doc(hidden)]
    #[track_caller]
    fn times(&self, factor: f64) -> Self;
    /// The elements limited to `[-bound, bound]`.
    #[doc(hidden)]
    #[track_caller]
    fn limited(&self, bound: f64) -> Self;
    /// The Euclidean norm, as a number.
    #[doc(hidden)]
    #[track_caller]
    fn length(&self) -> f64;
    /// A count as a leaf.
    #[doc(hidden)]
    fn from_count(count: u64) -> Self;
    /// The count that a leaf is, or why it is none.
    #[doc(hidden)]
    #[track_caller]
    fn count(&self) -> Result<u64, String>;
}

impl Parameter for f64 {
    fn misfit(&self, _: &Self) -> Option<String> {
        None
    }
    fn zero(&self) -> Self {
        0.0
    }
    fn blend(&self, a: f64, other: &Self, b: f64) -> Self {
        if a == 0.0 { b * other } else { a * self + b * other }
    }
    fn squared(&self) -> Self {
        self * self
    }
    fn over_root(&self, other: &Self, epsilon: f64) -> Self {
        self / (other.sqrt() + epsilon)
    }
    fn times(&self, factor: f64) -> Self {
        factor * self
    }
    fn limited(&self, bound: f64) -> Self {
        self.clamp(-bound, bound)
    }
    fn length(&self) -> f64 {
        self.abs()
    }
    fn from_count(count: u64) -> Self {
        count as f64
    }
    fn count(&self) -> Result<u64, String> {
        // Whole numbers up to here are exact.
        match *self >= 0.0 && *self <= 2f64.powi(53) && self.fract() == 0.0 {
            true => Ok(*self as u64),
            false => Err(no_count(self)),
        }
    }
}

impl Parameter for Tensor {
    fn misfit(&self, other: &Self) -> Option<String> {
        if self.dtype().is_float() && self.ty() == other.ty() {
            return None;
        }
        Some(format!("it is {}, and has to be {} with real elements", other.ty(), self.ty()))
    }
    fn zero(&self) -> Self {
        Tensor::zeros_of(self.dtype(), self.shape())
    }
    #[track_caller]
    fn blend(&self, a: f64, other: &Self, b: f64) -> Self {
        if a == 0.0 { other * b } else { self * a + other * b }
    }
    #[track_caller]
    fn squared(&self) -> Self {
        self.square()
    }
    #[track_caller]
    fn over_root(&self, other: &Self, epsilon: f64) -> Self {
        let is_zero = other.eq(0.0);
        let root = is_zero.where_(0.0, is_zero.where_(1.0, other).sqrt());
        self / (root + epsilon)
    }
    #[track_caller]
    fn times(&self, factor: f64) -> Self {
        self * factor
    }
    #[track_caller]
    fn limited(&self, bound: f64) -> Self {
        self.clamp(-bound, bound)
    }
    #[track_caller]
    fn length(&self) -> f64 {
        self.to_f64().norm().item()
    }
    fn from_count(count: u64) -> Self {
        Tensor::from(count.cast_signed())
    }
    #[track_caller]
    fn count(&self) -> Result<u64, String> {
        let Ok(numbers) = self.try_to_array() else {
            let why = "the number of its steps is not known while a loop or a compiled function is recorded, and rates and \
                       corrections depend on it: hand over points and gradients, and make the step outside";
            return Err(why.to_owned());
        };
        match numbers.data() {
            Data::I64(count) if count.len() == 1 && count[0] >= 0 => Ok(count[0].cast_unsigned()),
            data => Err(no_count(&format!("{data:?}"))),
        }
    }
}

fn no_count(found: &dyn Display) -> String {
    format!("the number of its steps, which was set from outside, is no whole number from 0: {found}")
}
