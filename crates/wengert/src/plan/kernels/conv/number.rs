//! The numbers that are convolved.

use std::fmt::Debug;
use std::ops::{Add, Mul};

use wengert_kernels::arena::Plain;
use wengert_kernels::product::tile::Tile;
use wengert_kernels::region::{Slice, SliceMut};
use wengert_kernels::{Work, dispatch};

/// The numbers of a convolution.
pub(super) trait ConvNumber:
    Tile + Plain + Debug + PartialOrd + Add<Output = Self> + Mul<Output = Self>
{
    /// The elements of an operand of this type.
    fn operand<'a>(slice: &Slice<'a>) -> &'a [Self];

    /// The elements of a result of this type.
    fn result<'a>(slice: &'a mut SliceMut<'_>) -> &'a mut [Self];

    /// Whether it is neither infinite nor NaN.
    fn is_finite(self) -> bool;
}

macro_rules! number {
    ($number:ty, $kind:ident) => {
        impl ConvNumber for $number {
            fn operand<'a>(slice: &Slice<'a>) -> &'a [Self] {
                let Slice::$kind(elements) = *slice else { unreachable!("the operand has the type of the kernel") };
                elements
            }

            fn result<'a>(slice: &'a mut SliceMut<'_>) -> &'a mut [Self] {
                let SliceMut::$kind(elements) = slice else { unreachable!("the result has the type of the kernel") };
                elements
            }

            #[inline(always)]
            fn is_finite(self) -> bool {
                <$number>::is_finite(self)
            }
        }
    };
}

number!(f32, F32);
number!(f64, F64);

/// Whether all numbers are finite.
pub(super) fn all_finite<T: ConvNumber>(numbers: &[T]) -> bool {
    dispatch(Finite(numbers))
}

struct Finite<'a, T>(&'a [T]);

impl<T: ConvNumber> Work for Finite<'_, T> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        // Without an early end, so that it is a vector loop.
        self.0.iter().fold(true, |finite, number| finite & number.is_finite())
    }
}
