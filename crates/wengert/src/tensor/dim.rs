//! Lengths, axes and positions as people have them: `usize` from a shape, `isize`, plain literals.

use super::Tensor;

/// A length, an axis, a position or a distance: `usize`, as [`Tensor::shape`] gives it, `isize`, `i32`, the type of a
/// plain literal, `i64` or `u32`.
///
/// A negative axis or position counts from the end. What is beyond `isize` is beyond every array, and is refused as such.
/// Sealed.
///
/// ```
/// use wengert::prelude::*;
/// let x = Tensor::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
/// let rows = x.shape()[0];
/// assert_eq!(x.slice(rows - 1).to_vec(), x.slice(-1).to_vec());
/// assert_eq!(x.slice((..rows, 1..)).shape(), [2, 2]);
/// assert_eq!(x.sum_over(x.rank() - 1).to_vec(), x.sum_over(-1).to_vec());
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no length, axis or position",
    label = "a `usize`, an `isize` or a plain literal is needed here",
    note = "negative axes and positions count from the end: `-1` is the last"
)]
pub trait Dim: Copy {
    /// As an integer with a sign.
    #[doc(hidden)]
    fn dim(self) -> Signed;
}

/// An integer with a sign: the number, or the nearest that there is.
#[derive(Clone, Copy, Debug)]
pub struct Signed(pub(crate) isize);

/// The integers that are lengths, axes and positions.
macro_rules! integers {
    ($($integer:ty)*) => {
        $( impl Dim for $integer {
            fn dim(self) -> Signed {
                // No array is as long as the largest `isize`, and none has as many axes.
                let nearest = if self > 0 { isize::MAX } else { isize::MIN };
                Signed(isize::try_from(self).unwrap_or(nearest))
            }
        } )*
    };
}
integers! { usize isize i32 i64 u32 }

/// Several lengths or axes in order: an array, a vector or a slice of one type of integer (`[2, -1]`, `x.shape()`), or a
/// tuple of any (`(x.shape()[0], -1)`); a single number is a list of one, `()` the empty list. Sealed.
///
/// An empty array has no type of its own, so that `x.reshape(&[])` does not compile: write `x.reshape(())`.
///
/// ```
/// use wengert::prelude::*;
/// let x = Tensor::iota(6);
/// let y = Tensor::zeros(&[3, 2]);
/// assert_eq!(x.reshape([2, 3]).shape(), [2, 3]);
/// assert_eq!(x.reshape(y.shape()).shape(), [3, 2]);
/// assert_eq!(x.reshape((y.shape()[0], -1)).shape(), [3, 2]);
/// assert_eq!(y.reshape(-1).shape(), [6]);
/// assert_eq!(y.sum().reshape(()).rank(), 0);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no list of lengths or axes",
    label = "an array, a slice, a vector or a tuple of integers is needed here",
    note = "as in `[2, -1]`, `x.shape()`, `&lengths` or `(n, -1)`"
)]
pub trait Dims {
    /// The integers in order.
    #[doc(hidden)]
    fn dims(self) -> Vec<isize>;

    /// Leaves the choice between `[2, 3]` and `&[2, 3]` to the user: clippy asks for the first one unless the trait has a
    /// method that takes `&mut self`.
    #[doc(hidden)]
    fn either(&mut self) {}
}

/// Axes of a tensor: one (`0`), several (`[0, -1]`, `(0, -1)`) or all (`..`). Negative numbers count from the end. Sealed.
///
/// ```
/// use wengert::prelude::*;
/// let x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
/// assert_eq!(x.sum_over(0).to_vec(), [4.0, 6.0]);
/// assert_eq!(x.sum_over(-1).to_vec(), [3.0, 7.0]);
/// assert_eq!(x.sum_over([0, 1]).item(), 10.0);
/// assert_eq!(x.sum_over(..).item(), 10.0);
/// assert_eq!(x.sum_keep(1).shape(), [2, 1]);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` names no axes",
    label = "an axis (`0`, `-1`), several (`[0, -1]`) or all (`..`) are needed here"
)]
pub trait Axes {
    /// The axes; `None` for all.
    #[doc(hidden)]
    fn axes(self) -> Option<Vec<isize>>;

    /// As of [`Dims`].
    #[doc(hidden)]
    fn either(&mut self) {}
}

impl Axes for () {
    fn axes(self) -> Option<Vec<isize>> {
        None
    }
}

impl Axes for std::ops::RangeFull {
    fn axes(self) -> Option<Vec<isize>> {
        None
    }
}

impl Dims for () {
    fn dims(self) -> Vec<isize> {
        Vec::new()
    }
}

/// Lists of one type, which are lengths or axes.
macro_rules! lists {
    ($( ($($generics:tt)*) $list:ty, |$own:ident| $dims:expr; )*) => {
        $(
            impl<D: Dim, $($generics)*> Dims for $list {
                fn dims(self) -> Vec<isize> {
                    let $own = self;
                    $dims
                }
            }

            impl<D: Dim, $($generics)*> Axes for $list {
                fn axes(self) -> Option<Vec<isize>> {
                    let $own = self;
                    Some($dims)
                }
            }
        )*
    };
}
lists! {
    () D, |one| vec![one.dim().0];
    () &[D], |all| signed(all);
    () &&[D], |all| signed(all);
    () &Vec<D>, |all| signed(all);
    () Vec<D>, |all| signed(&all);
    () &Box<[D]>, |all| signed(all);
    (const N: usize) [D; N], |all| signed(&all);
    (const N: usize) &[D; N], |all| signed(all);
}

fn signed<D: Dim>(all: &[D]) -> Vec<isize> {
    all.iter().map(|one| one.dim().0).collect()
}

/// Tuples, whose entries may be of different types.
macro_rules! tuples {
    ($(($($entry:ident)+);)*) => {
        $(
            impl<$($entry: Dim),+> Dims for ($($entry,)+) {
                fn dims(self) -> Vec<isize> {
                    #[expect(non_snake_case, reason = "the types of a tuple name its fields too")]
                    let ($($entry,)+) = self;
                    vec![$($entry.dim().0),+]
                }
            }

            impl<$($entry: Dim),+> Axes for ($($entry,)+) {
                fn axes(self) -> Option<Vec<isize>> {
                    Some(self.dims())
                }
            }
        )*
    };
}
tuples! {
    (A);
    (A B);
    (A B C);
    (A B C D);
    (A B C D E);
    (A B C D E F);
}

/// References to all of them: what [`super::compose`] takes.
pub(crate) fn references<T: AsRef<Tensor>>(tensors: &[T]) -> Vec<&Tensor> {
    tensors.iter().map(AsRef::as_ref).collect()
}

impl AsRef<Tensor> for Tensor {
    fn as_ref(&self) -> &Tensor {
        self
    }
}
