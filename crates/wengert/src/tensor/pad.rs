//! Padding: elements added around a tensor and between its elements, or taken away.

use super::compose::{compose, or_raise};
use super::operand::{IntoOperand, Written, number};
use super::{Dim, Tensor};
use crate::error::{Error, Misfit, misfit};
use crate::primitives::Pad;

/// How much [`Tensor::pad`] adds along one axis: `(before, after)`, or `(before, after, between)` with elements between
/// the elements too. Sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no amount of padding along an axis",
    label = "`(before, after)` or `(before, after, between)` is needed here"
)]
pub trait Amount: Copy {
    /// Before, after, and between.
    #[doc(hidden)]
    fn amount(self) -> [isize; 3];
}

impl<A: Dim, B: Dim> Amount for (A, B) {
    fn amount(self) -> [isize; 3] {
        [self.0.dim().0, self.1.dim().0, 0]
    }
}

impl<A: Dim, B: Dim, C: Dim> Amount for (A, B, C) {
    fn amount(self) -> [isize; 3] {
        [self.0.dim().0, self.1.dim().0, self.2.dim().0]
    }
}

/// What [`Tensor::pad`] adds: an [`Amount`] for each axis (`[(1, 1), (0, 2)]`, `&amounts`), the same for all of them
/// (`(1, 2)`), or one number for all sides (`1`). Sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no padding",
    label = "one pair for each axis is needed here: `[(before, after), (before, after)]`",
    note = "a pair `(1, 2)` is for every axis, a number `1` for every side"
)]
pub trait Padding {
    /// The amounts.
    #[doc(hidden)]
    fn padding(self) -> Around;

    /// As of [`Dims`](super::Dims).
    #[doc(hidden)]
    fn either(&mut self) {}
}

/// Amounts of padding: before, after, and between.
#[derive(Clone, Debug)]
pub enum Around {
    /// The same for every axis.
    Every([isize; 3]),
    /// One for each axis.
    Each(Vec<[isize; 3]>),
}

impl<D: Dim> Padding for D {
    fn padding(self) -> Around {
        Around::Every([self.dim().0, self.dim().0, 0])
    }
}

impl<A: Dim, B: Dim> Padding for (A, B) {
    fn padding(self) -> Around {
        Around::Every(self.amount())
    }
}

impl<A: Dim, B: Dim, C: Dim> Padding for (A, B, C) {
    fn padding(self) -> Around {
        Around::Every(self.amount())
    }
}

/// Lists of one amount for each axis.
macro_rules! lists {
    ($( ($($size:tt)*) $list:ty; )*) => {
        $( impl<A: Amount, $($size)*> Padding for $list {
            fn padding(self) -> Around {
                Around::Each(self.iter().map(|&amount| amount.amount()).collect())
            }
        } )*
    };
}
lists! {
    () &[A];
    () &Vec<A>;
    () Vec<A>;
    (const N: usize) [A; N];
    (const N: usize) &[A; N];
}

or_raise! {
    trait TryPad: "padding";

    /// With `value` added before and after the elements along each axis, as NumPy's `pad`: a pair `(before, after)` for
    /// each axis, one pair for all of them, or one number for all sides. A third number, `(before, after, between)`, adds
    /// elements between the elements too. Negative numbers before and after take elements away.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([[1.0, 2.0]]);
    /// assert_eq!(x.pad([(0, 0), (1, 2)], 0.5).to_vec(), [0.5, 1.0, 2.0, 0.5, 0.5]);
    /// assert_eq!(x.pad(1, 0.0).shape(), [3, 4]);
    /// assert_eq!(x.pad((1, 0), 0.0).to_vec(), [0.0, 0.0, 0.0, 0.0, 1.0, 2.0]);
    /// assert_eq!(x.pad([(0, 0, 0), (-1, 0, 0)], 0.0).to_vec(), [2.0]);
    /// assert_eq!(x.pad([(0, 0, 0), (0, 0, 1)], 0.0).to_vec(), [1.0, 0.0, 2.0]);
    /// ```
    #[doc(alias = "zero_pad")]
    fn pad = try_pad(amounts: impl Padding, value: impl IntoOperand);
}

impl TryPad for Tensor {
    /// As [`Tensor::pad`], with an error instead of a panic.
    ///
    /// # Errors
    /// If there are not amounts for each axis, more is taken away than there is, or a number between elements is negative.
    #[track_caller]
    fn try_pad(&self, amounts: impl Padding, value: impl IntoOperand) -> Result<Tensor, Error> {
        pad(self, &amounts.padding(), &value.into_operand())
    }
}

#[track_caller]
fn pad(x: &Tensor, around: &Around, value: &Written) -> Result<Tensor, Error> {
    let mut operands = vec![x];
    operands.extend(value.tensor());
    compose("pad", &operands, |b, args| {
        let amounts = match around {
            Around::Every(amount) => vec![*amount; b.shape(args[0]).len()],
            Around::Each(amounts) => amounts.clone(),
        };
        let pad = padding(&amounts)?;
        let ty = b.ty(args[0]).with_shape(Vec::new());
        let value = match value {
            Written::Tensor(_) => args[1],
            Written::Number(value) => number(b, *value, &ty)?,
        };
        Ok(b.emit(pad, &[args[0], value])?[0])
    })
}

/// The operation with these amounts.
fn padding(amounts: &[[isize; 3]]) -> Result<Pad, Misfit> {
    // Beyond this nothing fits in memory, and sums of amounts could overflow.
    const MOST: usize = isize::MAX as usize / 8;
    if let Some(size) = amounts.iter().flatten().map(|amount| amount.unsigned_abs()).find(|&size| size > MOST) {
        misfit!("an amount of {size} elements does not fit in memory");
    }
    let side = |k: usize| amounts.iter().map(|amount| amount[k] as i64).collect();
    let between: Result<Vec<usize>, _> = amounts.iter().map(|amount| usize::try_from(amount[2])).collect();
    let Ok(interior) = between else { misfit!("there are no negative numbers of elements between elements") };
    Ok(Pad { low: side(0), high: side(1), interior })
}
