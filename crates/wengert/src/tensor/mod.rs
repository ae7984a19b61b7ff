//! [`Tensor`]: the array of a recording. Outside one its operations run at once; inside one they
//! are recorded.

pub(crate) mod compose;
mod construct;
mod convert;
mod display;
mod elementwise;
pub(crate) mod graph;
mod index;
mod join;
pub(crate) mod linalg;
mod operand;
mod operators;
mod random;
pub(crate) mod reduce;
mod running;
mod shape;
mod slice;
mod sort;
#[cfg(test)]
mod tests;
mod update;
mod window;

use crate::array::{Array, DType, Type};
use crate::error::{Error, OrRaise};
use crate::program::Value;

pub use operand::IntoOperand;
pub use random::Key;
pub use reduce::Axes;
pub use slice::{AxisIndex, Place, Ranges, span, step};
pub use update::{IntoUpdate, Part, SliceMut};
pub use window::{ConvOptions, Pool};

/// An array with element type and shape at run time. Cloning is cheap; a clone is a value of its
/// own.
///
/// ```
/// use wengert::prelude::*;
/// let x = Tensor::from([1.0, 2.0, 3.0]);
/// assert_eq!(x.shape(), [3]);
/// assert_eq!(x.to_vec(), [1.0, 2.0, 3.0]);
/// ```
#[derive(Clone)]
pub struct Tensor(Repr);

#[derive(Clone)]
enum Repr {
    /// Numbers.
    Known(Array),
    /// A value of a recording that is under way.
    Traced(Traced),
}

/// A value of the Program of the recording with this generation.
#[derive(Clone, Debug)]
pub(crate) struct Traced {
    pub(crate) generation: u64,
    pub(crate) value: Value,
    pub(crate) ty: Type,
}

impl Tensor {
    /// A tensor of these numbers.
    pub fn from_array(array: Array) -> Self {
        Tensor(Repr::Known(array))
    }

    pub(crate) fn traced(generation: u64, value: Value, ty: Type) -> Self {
        Tensor(Repr::Traced(Traced { generation, value, ty }))
    }

    /// The numbers, if this is not a value of a recording.
    pub(crate) fn known(&self) -> Option<&Array> {
        match &self.0 {
            Repr::Known(array) => Some(array),
            Repr::Traced(_) => None,
        }
    }

    pub(crate) fn as_traced(&self) -> Option<&Traced> {
        match &self.0 {
            Repr::Known(_) => None,
            Repr::Traced(traced) => Some(traced),
        }
    }

    /// The numbers for writing; `None` for a value of a recording.
    pub(crate) fn known_mut(&mut self) -> Option<&mut Array> {
        match &mut self.0 {
            Repr::Known(array) => Some(array),
            Repr::Traced(_) => None,
        }
    }

    /// Element type and shape.
    pub fn ty(&self) -> &Type {
        match &self.0 {
            Repr::Known(array) => array.ty(),
            Repr::Traced(traced) => &traced.ty,
        }
    }

    /// The lengths of the axes; none for a single number.
    pub fn shape(&self) -> &[usize] {
        &self.ty().shape
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.ty().dtype
    }

    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.ty().rank()
    }

    /// The number of elements.
    pub fn size(&self) -> usize {
        self.ty().size()
    }

    /// The numbers. Inside a recording the operations before are run for it; the number that is
    /// taken out is a constant to the derivative.
    ///
    /// # Panics
    /// Where no numbers exist yet: inside `vmap` and the branches of `cond`; or if the recording
    /// has ended.
    #[track_caller]
    pub fn to_array(&self) -> Array {
        self.try_to_array().or_raise()
    }

    /// As [`Tensor::to_array`], with an error instead of a panic.
    ///
    /// # Errors
    /// Where no numbers exist yet, or if the recording has ended.
    #[track_caller]
    pub fn try_to_array(&self) -> Result<Array, Error> {
        graph::read(self)
    }

    /// As [`Tensor::try_to_array`], giving up the tensor, so that its numbers need not be copied.
    ///
    /// # Errors
    /// As [`Tensor::try_to_array`].
    #[track_caller]
    pub fn try_into_array(self) -> Result<Array, Error> {
        match self.0 {
            Repr::Known(array) => Ok(array),
            Repr::Traced(_) => graph::read(&self),
        }
    }

    /// The elements as `f64` in row-major order; see [`Tensor::to_array`].
    #[track_caller]
    pub fn to_vec(&self) -> Vec<f64> {
        self.to_array().to_f64()
    }

    /// The number of a tensor with one element, as `f64`; see [`Tensor::to_array`].
    ///
    /// # Panics
    /// If it does not have exactly one element, and as [`Tensor::to_array`].
    #[track_caller]
    pub fn item(&self) -> f64 {
        self.try_item().or_raise()
    }

    /// As [`Tensor::item`], with an error instead of a panic.
    ///
    /// # Errors
    /// If it does not have exactly one element, and as [`Tensor::try_to_array`].
    #[track_caller]
    pub fn try_item(&self) -> Result<f64, Error> {
        use crate::error::ErrorKind;
        if self.size() != 1 {
            let why = "it has to have exactly one element";
            let error = Error::new(ErrorKind::Misfit, "item", why).of([self.ty()]);
            return Err(error.at(Some(std::panic::Location::caller())));
        }
        Ok(self.try_to_array()?.to_f64()[0])
    }
}
