//! The numbers that matrices are made of.

use super::Fault;
use crate::Float;
use crate::arena::Plain;
use crate::product::Product;

/// `f32` and `f64`.
pub trait Number: Float + Product + Plain + faer::traits::RealField {
    /// The distance from 1 to the next larger number.
    const EPSILON: Self;
    /// Not a number.
    const NAN: Self;
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// Neither NaN nor infinite.
    fn finite(self) -> bool;
    /// A power of two `p` and its inverse, so that `p * self` is near 1; for a positive number. Zero gives 1.
    fn scale(self) -> [Self; 2];
}

macro_rules! number {
    ($float:ident, $bits:ident, $mantissa:literal, $largest:literal) => {
        impl Number for $float {
            const EPSILON: Self = $float::EPSILON;
            const NAN: Self = $float::NAN;
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            #[inline(always)]
            fn finite(self) -> bool {
                self.is_finite()
            }
            #[inline(always)]
            fn scale(self) -> [Self; 2] {
                // Both exponents are those of normal numbers.
                let exponent = (self.to_bits() >> $mantissa).clamp(1, 2 * $largest - 1);
                let exponent = if self > 0.0 { exponent } else { $largest };
                [2 * $largest - exponent, exponent].map(|exponent| $float::from_bits(exponent << $mantissa))
            }
        }
    };
}
number!(f32, u32, 23, 127);
number!(f64, u64, 52, 1023);

/// That all entries are finite which `reads` says that are read of row and column, or the first that is not.
pub(super) fn check_finite<T: Number>(
    a: &[T],
    columns: usize,
    reads: impl Fn(usize, usize) -> bool,
) -> Result<(), Fault> {
    for (row, entries) in a.chunks_exact(columns.max(1)).enumerate() {
        // Without a branch for each entry, so that vectors can do it.
        if entries.iter().fold(true, |all, x| all & x.finite()) {
            continue;
        }
        if let Some(column) = (0..columns).find(|&column| !entries[column].finite() && reads(row, column)) {
            return Err(Fault::NotFinite { row, column });
        }
    }
    Ok(())
}

/// The largest modulus.
pub(super) fn largest<T: Number>(a: &[T]) -> T {
    a.iter().fold(T::ZERO, |largest, &x| if Float::abs(x) > largest { Float::abs(x) } else { largest })
}
