//! `+ - * / %`, unary `-`, and their assigning forms.

use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Rem, RemAssign, Sub, SubAssign};

use super::Tensor;
use super::compose::{compose, or_raise, single};
use super::operand::{IntoOperand, Written, aligned, tensors};
use crate::error::{Error, OrRaise};
use crate::ops::{Binary, Unary};
use crate::primitives::Op;
use crate::real::lit_operators;

or_raise! {
    trait TryArithmetic: "arithmetic";

    /// `self + other`, the shapes stretched to each other; also written `x + y`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (x, y) = (Tensor::from([1.0, 2.0]), Tensor::from([3.0, 4.0]));
    /// assert_eq!((x.add(&y).to_vec(), (&x + &y).to_vec()), (vec![4.0, 6.0], vec![4.0, 6.0]));
    /// ```
    #[doc(alias = "plus")]
    fn add = try_add(other: impl IntoOperand);
    /// `self - other`; also written `x - y`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (x, y) = (Tensor::from([1.0, 2.0]), Tensor::from([3.0, 4.0]));
    /// assert_eq!((x.sub(&y).to_vec(), (&x - &y).to_vec()), (vec![-2.0, -2.0], vec![-2.0, -2.0]));
    /// ```
    #[doc(alias = "subtract")]
    fn sub = try_sub(other: impl IntoOperand);
    /// `self * other`, element by element; also written `x * y`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (x, y) = (Tensor::from([1.0, 2.0]), Tensor::from([3.0, 4.0]));
    /// assert_eq!((x.mul(&y).to_vec(), (&x * &y).to_vec()), (vec![3.0, 8.0], vec![3.0, 8.0]));
    /// ```
    #[doc(alias = "multiply")]
    fn mul = try_mul(other: impl IntoOperand);
    /// `self / other`, element by element, of real numbers; also written `x / y`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (x, y) = (Tensor::from([1.0, 2.0]), Tensor::from([3.0, 4.0]));
    /// assert_eq!((x.div(&y).to_vec(), (&x / &y).to_vec()), (vec![1.0 / 3.0, 0.5], vec![1.0 / 3.0, 0.5]));
    /// ```
    #[doc(alias = "divide")]
    fn div = try_div(other: impl IntoOperand);
    /// `self - other trunc(self/other)`, with the sign of `self`; also written `x % y`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (x, y) = (Tensor::from([1.0, 2.0]), Tensor::from([3.0, 4.0]));
    /// assert_eq!((x.rem(&y).to_vec(), (&x % &y).to_vec()), (vec![1.0, 2.0], vec![1.0, 2.0]));
    /// ```
    #[doc(alias = "fmod")]
    fn rem = try_rem(other: impl IntoOperand);
    /// `-self`; also written `-x`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!((-Tensor::from([1.0, -2.0])).to_vec(), [-1.0, 2.0]);
    /// ```
    #[doc(alias = "negative")]
    fn neg = try_neg();
}

/// An elementwise operation of two operands, of which at least one is a tensor.
#[track_caller]
pub(super) fn elementwise(name: &str, op: impl Into<Op>, x: Written, y: Written) -> Result<Tensor, Error> {
    let op = op.into();
    if let (Written::Tensor(x), Written::Tensor(y)) = (&x, &y)
        && x.ty() == y.ty()
    {
        return single(name, op, &[x, y]);
    }
    let sides = [x, y];
    compose(name, &tensors(&sides), |b, args| {
        let values = aligned(b, &sides, args)?;
        Ok(b.emit(op, &values)?[0])
    })
}

/// The arithmetic of two operands.
macro_rules! arithmetic {
    ($($method:ident = $twin:ident: $op:expr;)*) => { $(
        #[doc = concat!("As [`Tensor::", stringify!($method), "`], with an error instead of a panic.")]
        ///
        /// # Errors
        /// If shapes or element types do not fit.
        #[track_caller]
        fn $twin(&self, other: impl IntoOperand) -> Result<Tensor, Error> {
            elementwise(stringify!($method), $op, self.into_operand(), other.into_operand())
        }
    )* };
}

impl TryArithmetic for Tensor {
    arithmetic! {
        add = try_add: Binary::Add;
        sub = try_sub: Binary::Sub;
        mul = try_mul: Binary::Mul;
        div = try_div: Binary::Div;
        rem = try_rem: Binary::Rem;
    }

    /// As [`Tensor::neg`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the elements are truth values.
    #[track_caller]
    fn try_neg(&self) -> Result<Tensor, Error> {
        single("neg", Unary::Neg, &[self])
    }
}

/// One operator: the `try_` method, and the trait for every combination of tensors, references and numbers. One
/// implementation takes everything on the right, so that the type of the result does not wait for that of a literal.
macro_rules! operator {
    ($trait:ident $method:ident, $assign:ident $assign_method:ident, $twin:ident, $op:expr) => {
        impl<T: IntoOperand> $assign<T> for Tensor {
            #[track_caller]
            fn $assign_method(&mut self, other: T) {
                *self = self.$twin(other).or_raise();
            }
        }
        operator! { @right $trait $method $twin, Tensor }
        operator! { @right $trait $method $twin, &Tensor }
        operator! { @left $trait $method $op, f64, Tensor }
        operator! { @left $trait $method $op, f64, &Tensor }
        operator! { @left $trait $method $op, i64, Tensor }
        operator! { @left $trait $method $op, i64, &Tensor }
    };
    (@right $trait:ident $method:ident $twin:ident, $tensor:ty) => {
        impl<T: IntoOperand> $trait<T> for $tensor {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, other: T) -> Tensor {
                self.$twin(other).or_raise()
            }
        }
    };
    (@left $trait:ident $method:ident $op:expr, $number:ty, $tensor:ty) => {
        impl $trait<$tensor> for $number {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, other: $tensor) -> Tensor {
                elementwise(stringify!($method), $op, self.into_operand(), other.into_operand()).or_raise()
            }
        }
    };
}
operator! { Add add, AddAssign add_assign, try_add, Binary::Add }
operator! { Sub sub, SubAssign sub_assign, try_sub, Binary::Sub }
operator! { Mul mul, MulAssign mul_assign, try_mul, Binary::Mul }
operator! { Div div, DivAssign div_assign, try_div, Binary::Div }
operator! { Rem rem, RemAssign rem_assign, try_rem, Binary::Rem }

lit_operators! { [] Tensor => Tensor: Add add Sub sub Mul mul Div div Rem rem }
lit_operators! { [] &Tensor => Tensor: Add add Sub sub Mul mul Div div Rem rem }

impl Neg for Tensor {
    type Output = Tensor;
    #[track_caller]
    fn neg(self) -> Tensor {
        self.try_neg().or_raise()
    }
}

impl Neg for &Tensor {
    type Output = Tensor;
    #[track_caller]
    fn neg(self) -> Tensor {
        self.try_neg().or_raise()
    }
}
