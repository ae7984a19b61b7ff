//! Writing into a part of a tensor. A tensor is a value: clones keep the old numbers.

use std::ops::{AddAssign, Deref, DerefMut, DivAssign, MulAssign, SubAssign};
use std::panic::Location;

use super::compose::{compose, refuse, stretch};
use super::operand::{IntoOperand, Written, number};
use super::slice::{Place, Ranges, Sliced};
use super::{Tensor, graph};
use crate::array::{Array, DType, Element, Strided, row_major};
use crate::error::{Error, Misfit, OrRaise, misfit};
use crate::ops::Binary;
use crate::primitives::{Update, Write};
use crate::program::{Builder, Value};

/// A part of a tensor that is written to; see [`Tensor::slice_mut`].
#[derive(Debug)]
pub struct SliceMut<'a>(Part<'a>);

/// What is behind a [`SliceMut`]: it takes `+=`, `-=`, `*=`, `/=` and [`Part::assign`].
#[derive(Debug)]
pub struct Part<'a> {
    tensor: &'a mut Tensor,
    cut: Sliced,
    places: Vec<Place>,
}

impl<'a> Deref for SliceMut<'a> {
    type Target = Part<'a>;
    fn deref(&self) -> &Part<'a> {
        &self.0
    }
}

impl<'a> DerefMut for SliceMut<'a> {
    fn deref_mut(&mut self) -> &mut Part<'a> {
        &mut self.0
    }
}

impl Tensor {
    /// The part at positions and ranges, to be written to: in place if nobody else holds the
    /// numbers, else in a copy, so that clones keep theirs.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let mut x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// let before = x.clone();
    /// *x.slice_mut(0) += 10.0;
    /// x.slice_mut((.., 1)).assign([0.0, 5.0]);
    /// assert_eq!(x.to_vec(), [11.0, 0.0, 3.0, 5.0]);
    /// assert_eq!(before.to_vec(), [1.0, 2.0, 3.0, 4.0]);
    /// ```
    ///
    /// # Panics
    /// As [`Tensor::try_slice_mut`] returns an error.
    #[doc(alias("index_update", "at"))]
    #[track_caller]
    pub fn slice_mut(&mut self, ranges: impl Ranges) -> SliceMut<'_> {
        self.try_slice_mut(ranges).or_raise()
    }

    /// As [`Tensor::slice_mut`], with an error instead of a panic.
    ///
    /// # Errors
    /// If there are more ranges than axes, or one is not within its axis.
    #[track_caller]
    pub fn try_slice_mut(&mut self, ranges: impl Ranges) -> Result<SliceMut<'_>, Error> {
        let places = ranges.places();
        match Sliced::new(&places, self.shape()) {
            Ok(cut) => Ok(SliceMut(Part { tensor: self, cut, places })),
            Err(why) => refuse("slice_mut", &[self], why),
        }
    }
}

impl Part<'_> {
    /// Writes a value, stretched to the part.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let mut x = Tensor::zeros(&[3]);
    /// x.slice_mut(1..).assign(2.0);
    /// assert_eq!(x.to_vec(), [0.0, 2.0, 2.0]);
    /// ```
    ///
    /// # Panics
    /// As [`Part::try_assign`] returns an error.
    #[doc(alias("copy_", "fill_"))]
    #[track_caller]
    pub fn assign(&mut self, value: impl IntoUpdate) {
        self.try_assign(value).or_raise();
    }

    /// As [`Part::assign`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the shape or the element type does not fit; the tensor then stays as it is.
    #[track_caller]
    pub fn try_assign(&mut self, value: impl IntoUpdate) -> Result<(), Error> {
        self.write("assign", None, value.into_update())
    }

    /// Writes `value`, or the part and `value` through `op`.
    #[track_caller]
    fn write(&mut self, name: &str, op: Option<Binary>, value: Written) -> Result<(), Error> {
        let line = Location::caller();
        let mut operands = vec![&*self.tensor];
        operands.extend(value.tensor());
        let named = |error: Error, operands: &[&Tensor]| {
            error.named(name, operands.iter().map(|operand| operand.ty())).at(Some(line))
        };
        let cut = &self.cut;
        if graph::level(&operands).is_some() {
            *self.tensor = compose(name, &operands, |b, args| {
                if let Some(Binary::Add) = op {
                    let by = updated(b, cut, None, &value, args)?;
                    return cut.increase(b, args[0], by);
                }
                let update = updated(b, cut, op, &value, args)?;
                cut.replace(b, args[0], update)
            })?;
            return Ok(());
        }
        let update = compose(name, &operands, |b, args| updated(b, cut, op, &value, args))?;
        let update = update.try_to_array().map_err(|error| named(error, &operands))?;
        drop(operands);
        let array = self.tensor.known_mut().expect("outside a recording a tensor is known");
        cut.store(array, &update);
        Ok(())
    }

    /// The numbers of the part as they are.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let mut x = Tensor::from([1.0, 2.0, 3.0]);
    /// assert_eq!(x.slice_mut(1..).get().to_vec(), [2.0, 3.0]);
    /// ```
    ///
    /// # Panics
    /// If the recording of the tensor has ended.
    #[track_caller]
    pub fn get(&self) -> Tensor {
        self.tensor.slice(&self.places[..])
    }
}

/// What can be written to a part: a number, a tensor, or numbers that make one. Sealed.
pub trait IntoUpdate {
    /// The operand.
    #[doc(hidden)]
    fn into_update(self) -> Written;
}

impl<T: IntoOperand> IntoUpdate for T {
    fn into_update(self) -> Written {
        self.into_operand()
    }
}

impl<T: Element, const N: usize> IntoUpdate for [T; N] {
    fn into_update(self) -> Written {
        Written::Tensor(self.into())
    }
}

/// The new numbers of the part, in its shape.
fn updated(
    b: &mut Builder,
    cut: &Sliced,
    op: Option<Binary>,
    value: &Written,
    args: &[Value],
) -> Result<Value, Misfit> {
    let ty = b.ty(args[0]).with_shape(cut.shape.clone());
    let value = match value {
        Written::Number(value) => number(b, *value, &ty)?,
        Written::Tensor(_) => {
            let own = b.ty(args[1]).clone();
            if own.dtype != ty.dtype {
                misfit!("the element types {} and {} differ; convert one of them first", ty.dtype, own.dtype);
            }
            super::compose::check_stretch(&own.shape, &ty.shape)?;
            stretch(b, args[1], &ty.shape)
        }
    };
    let Some(op) = op else { return Ok(value) };
    let part = cut.read(b, args[0]);
    Ok(b.emit(op, &[part, value])?[0])
}

impl Sliced {
    /// `x` with the part replaced.
    fn replace(&self, b: &mut Builder, x: Value, update: Value) -> Result<Value, Misfit> {
        if self.lengths.contains(&0) {
            return Ok(x);
        }
        let block = b.reshape(update, &self.lengths);
        let block = self.turned(b, block);
        if self.lengths == b.shape(x) {
            return Ok(block);
        }
        Ok(b.emit(Update::of(&self.slice, Write::Set), &[x, block])?[0])
    }

    /// `x` with numbers added to the part.
    fn increase(&self, b: &mut Builder, x: Value, by: Value) -> Result<Value, Misfit> {
        let block = b.reshape(by, &self.lengths);
        let block = self.turned(b, block);
        if self.lengths == b.shape(x) {
            return Ok(b.emit(Binary::Add, &[x, block])?[0]);
        }
        Ok(b.emit(Update::of(&self.slice, Write::Add), &[x, block])?[0])
    }

    /// Writes the new numbers of the part into an array, in place if nobody else holds it.
    fn store(&self, array: &mut Array, update: &Array) {
        let strides = row_major(array.shape());
        let mut offset = 0;
        let mut steps = Vec::with_capacity(strides.len());
        for (axis, stride) in strides.iter().enumerate() {
            let step = (stride * self.slice.stride[axis]).cast_signed();
            let last = self.lengths[axis].saturating_sub(1);
            let backwards = self.reversed.contains(&axis);
            offset += stride * (self.slice.start[axis] + if backwards { last * self.slice.stride[axis] } else { 0 });
            steps.push(if backwards { -step } else { step });
        }
        let places = Strided::new(&self.lengths, &steps, offset);
        match array.dtype() {
            DType::Bool => put::<bool>(array, update, places),
            DType::I64 => put::<i64>(array, update, places),
            DType::F32 => put::<f32>(array, update, places),
            DType::F64 => put::<f64>(array, update, places),
        }
    }
}

fn put<T: Element>(array: &mut Array, update: &Array, places: Strided) {
    let elements = array.elements_mut::<T>().expect("the element types were compared");
    places.zip(update.known::<T>()).for_each(|(place, &element)| elements[place] = element);
}

/// The assigning operators on a part.
macro_rules! assigning {
    ($($trait:ident $method:ident $op:ident;)*) => {
        $( impl<T: IntoUpdate> $trait<T> for Part<'_> {
            #[track_caller]
            fn $method(&mut self, value: T) {
                self.write(stringify!($method), Some(Binary::$op), value.into_update()).or_raise();
            }
        } )*
    };
}
assigning! {
    AddAssign add_assign Add;
    SubAssign sub_assign Sub;
    MulAssign mul_assign Mul;
    DivAssign div_assign Div;
}
