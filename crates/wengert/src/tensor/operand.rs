//! What stands beside a tensor: another one, or a number, which takes the tensor's element type.

use super::Tensor;
use super::compose::{check_count, stretch};
use crate::array::{DType, Type};
use crate::error::{Misfit, misfit};
use crate::primitives::Literal;
use crate::program::{Builder, Value};

/// An operand of a [`Tensor`] operation: a tensor, by value or by reference, or a plain number.
///
/// A number takes the element type and the shape of the tensor that it meets, whatever its own type: `x + 0.5` is single
/// precision if `x` is, and `y + 0.5f32` double precision if `y` is. A real number is rounded once to that type; an integer is
/// meant exactly, and one that the type cannot hold is refused, as is 0.5 in integers.
///
/// Numbers on the right of an operator, and of the methods, are `f64`, `f32`, `i64`, `i32`, `usize`, and `bool` where truth
/// values are meant. On the left of an operator they are `f64` and `i64` alone, because with a choice Rust would not know the
/// type of `2.0` in `(2.0 * x).sin()`: write `x * 2.0f32`, or `x.mul(y)`.
///
/// ```
/// use wengert::{DType, prelude::*};
/// let x = Tensor::from([1.0f32, 2.0]);
/// let mean = (&x * 0.5f32).sum() / x.shape()[0];
/// assert_eq!((mean.dtype(), mean.item()), (DType::F32, 0.75));
/// assert_eq!((2.0 * &x - 1).to_vec(), [1.0, 3.0]);
/// ```
///
/// Sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no operand beside a tensor",
    label = "a tensor, a reference to one, or a number is needed here: `f64`, `f32`, `i64`, `i32` or `usize`"
)]
pub trait IntoOperand {
    /// The operand.
    #[doc(hidden)]
    fn into_operand(self) -> Written;
}

/// An operand as it was written.
#[derive(Clone, Debug)]
pub enum Written {
    /// A tensor.
    Tensor(Tensor),
    /// A number that takes its element type from a tensor.
    Number(PlainNumber),
}

/// A plain number in the user's source.
#[derive(Clone, Copy, Debug)]
pub enum PlainNumber {
    /// A truth value.
    Bool(bool),
    /// An integer.
    Whole(i128),
    /// A real number.
    Real(f64),
}

impl IntoOperand for Tensor {
    fn into_operand(self) -> Written {
        Written::Tensor(self)
    }
}

impl IntoOperand for &Tensor {
    fn into_operand(self) -> Written {
        Written::Tensor(self.clone())
    }
}

/// The numbers that are operands.
macro_rules! numbers {
    ($($from:ty => $variant:ident($to:ty)),*) => {
        $( impl IntoOperand for $from {
            fn into_operand(self) -> Written {
                Written::Number(PlainNumber::$variant(self as $to))
            }
        } )*
    };
}
numbers! {
    bool => Bool(bool), i64 => Whole(i128), i32 => Whole(i128), usize => Whole(i128), f32 => Real(f64), f64 => Real(f64)
}

impl Written {
    /// The tensor, if it is one.
    pub(super) fn tensor(&self) -> Option<&Tensor> {
        match self {
            Written::Tensor(tensor) => Some(tensor),
            Written::Number(_) => None,
        }
    }
}

impl PlainNumber {
    /// The element type that it has where it meets no tensor.
    pub(super) fn dtype(self) -> DType {
        match self {
            PlainNumber::Bool(_) => DType::Bool,
            PlainNumber::Whole(_) => DType::I64,
            PlainNumber::Real(_) => DType::F64,
        }
    }

    /// The nearest real number.
    pub(super) fn to_f64(self) -> f64 {
        match self {
            PlainNumber::Bool(x) => f64::from(u8::from(x)),
            PlainNumber::Whole(x) => x as f64,
            PlainNumber::Real(x) => x,
        }
    }

    /// As an element of this type.
    pub(super) fn literal(self, dtype: DType) -> Result<Literal, Misfit> {
        Ok(match (self, dtype) {
            (PlainNumber::Bool(x), DType::Bool) => Literal::Bool(x),
            (PlainNumber::Whole(x), DType::I64) if let Ok(x) = i64::try_from(x) => Literal::I64(x),
            // An integer is meant exactly; a number that may be rounded is written as a real one.
            (PlainNumber::Whole(x), DType::F64) if (x as f64) as i128 == x => Literal::F64(x as f64),
            (PlainNumber::Whole(x), DType::F32) if (x as f32) as i128 == x => Literal::F32(x as f32),
            (PlainNumber::Real(x), DType::F64) => Literal::F64(x),
            (PlainNumber::Real(x), DType::F32) => Literal::F32(x as f32),
            (PlainNumber::Bool(x), _) => misfit!("the truth value {x} does not go with elements of type {dtype}"),
            (PlainNumber::Whole(x), _) => misfit!("the integer {x} is no element of type {dtype}; convert first"),
            (PlainNumber::Real(x), _) => {
                misfit!("the real number {x:?} does not go with elements of type {dtype}; convert first")
            }
        })
    }
}

/// The number everywhere in an array of a type, as literal and broadcast: never a captured array.
pub(super) fn number(b: &mut Builder, number: PlainNumber, ty: &Type) -> Result<Value, Misfit> {
    check_count(&ty.shape)?;
    let literal = number.literal(ty.dtype)?;
    let scalar = b.op(literal, &[]);
    Ok(b.broadcast_scalar(scalar, &ty.shape))
}

/// The tensors among operands: what [`super::compose`] takes.
pub(super) fn tensors(sides: &[Written]) -> Vec<&Tensor> {
    sides.iter().filter_map(Written::tensor).collect()
}

/// The values of all operands, in one shape and element type: that of the tensors among them, or of
/// the first number if there is none. `args` are the values of the tensors.
pub(super) fn aligned(b: &mut Builder, sides: &[Written], args: &[Value]) -> Result<Vec<Value>, Misfit> {
    let mut shape = Vec::new();
    let mut dtype = None;
    for &arg in args {
        shape = super::compose::joint_shape(&shape, b.shape(arg))?;
        let own = b.ty(arg).dtype;
        match dtype {
            None => dtype = Some(own),
            Some(dtype) if dtype == own => {}
            Some(dtype) => misfit!("the element types {dtype} and {own} differ; convert one of them first"),
        }
    }
    let widest = |sides: &[Written]| {
        sides
            .iter()
            .filter_map(|side| match side {
                Written::Tensor(_) => None,
                Written::Number(number) => Some(number.dtype()),
            })
            .max()
    };
    let dtype = dtype.or_else(|| widest(sides)).unwrap_or(DType::F64);
    let ty = Type { dtype, shape };
    let mut args = args.iter();
    let mut values = Vec::with_capacity(sides.len());
    for side in sides {
        values.push(match side {
            Written::Tensor(_) => {
                let arg = *args.next().expect("every tensor has its value");
                stretch(b, arg, &ty.shape)
            }
            Written::Number(literal) => number(b, *literal, &ty)?,
        });
    }
    Ok(values)
}
