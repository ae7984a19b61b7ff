//! The numbers that matrices are made of.

use super::lanes::LANES;
use super::{
    Cholesky, CholeskyTangent, Cofactors, Determinants, Eigh, Entry, Failed, Fault, Lu, LuTangent, Qr, Solve, Svd,
};
use crate::arena::{Line, Plain};
use crate::product::Product;
use crate::sparse::{Analysis, Factors, SparseFault};
use crate::{Float, Pool};

/// `f32` and `f64`.
pub trait Number: Float + Product + Plain + faer::traits::RealField {
    /// The distance from 1 to the next larger number.
    const EPSILON: Self;
    /// The part of the largest component of a vector up to which another one is negligible: 2^-40, and 2^-18 in single
    /// precision, which is as far above the rounding unit as a few hundred columns need.
    const NEGLIGIBLE: Self;
    /// Not a number.
    const NAN: Self;
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// Neither NaN nor infinite.
    fn finite(self) -> bool;
    /// As finite, and neither zero nor of fewer digits than others.
    fn normal(self) -> bool;
    /// Whether both have the same bits: 0 is not -0.
    fn same_bits(self, other: Self) -> bool;
    /// A power of two `p` and its inverse, so that `p * self` is near 1; for a positive number. Zero gives 1.
    fn scale(self) -> [Self; 2];

    // What the operations run, compiled here: a generic function would be compiled anew by every crate that calls it, the
    // library's code with it.
    #[doc(hidden)]
    fn cholesky(work: &Cholesky, a: &mut [Self], workspace: &mut [Line], pool: &Pool) -> Result<(), Failed>;
    #[doc(hidden)]
    fn cholesky_tangent(
        work: &CholeskyTangent,
        l: &[Self],
        x: &mut [Self],
        workspace: &mut [Line],
        pool: &Pool,
    ) -> Result<(), Failed>;
    #[doc(hidden)]
    fn cofactors(
        work: &Cofactors,
        a: &[Self],
        c: &mut [Self],
        workspace: &mut [Line],
        pool: &Pool,
    ) -> Result<(), Failed>;
    #[doc(hidden)]
    fn determinants(
        work: &Determinants,
        a: &[Self],
        det: &mut [Self],
        workspace: &mut [Line],
        pool: &Pool,
    ) -> Result<(), Failed>;
    #[doc(hidden)]
    fn eigh(
        work: &Eigh,
        a: &mut [Self],
        values: &mut [Self],
        workspace: &mut [Line],
        pool: &Pool,
    ) -> Result<(), Failed>;
    #[doc(hidden)]
    fn lu(
        work: &Lu,
        a: &[Self],
        l: &mut [Self],
        u: &mut [Self],
        order: &mut [i64],
        workspace: &mut [Line],
        pool: &Pool,
    ) -> Result<(), Failed>;
    #[doc(hidden)]
    fn lu_tangent(
        work: &LuTangent,
        factors: [&[Self]; 2],
        x: &mut [Self],
        workspace: &mut [Line],
        pool: &Pool,
    ) -> Result<(), Failed>;
    #[doc(hidden)]
    fn qr(
        work: &Qr,
        a: &[Self],
        q: &mut [Self],
        r: &mut [Self],
        workspace: &mut [Line],
        pool: &Pool,
    ) -> Result<(), Failed>;
    #[doc(hidden)]
    fn svd(
        work: &Svd,
        a: &[Self],
        u: &mut [Self],
        values: &mut [Self],
        vt: &mut [Self],
        workspace: &mut [Line],
        pool: &Pool,
    ) -> Result<(), Failed>;
    #[doc(hidden)]
    fn solve(work: &Solve, a: &[Self], b: &mut [Self], workspace: &mut [Line], pool: &Pool) -> Result<(), Failed>;
    #[doc(hidden)]
    fn sparse_factors(of: &Analysis, values: &[Self]) -> Result<Factors<Self>, SparseFault>;
    #[doc(hidden)]
    fn sparse_solve(
        of: &Analysis,
        factors: &Factors<Self>,
        transpose: bool,
        b: &mut [Self],
        columns: usize,
    ) -> Result<(), SparseFault>;
}

macro_rules! number {
    ($float:ident, $mantissa:literal, $largest:literal, $negligible:expr) => {
        impl Number for $float {
            const EPSILON: Self = $float::EPSILON;
            const NEGLIGIBLE: Self = $negligible;
            const NAN: Self = $float::NAN;
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            #[inline(always)]
            fn finite(self) -> bool {
                self.is_finite()
            }
            #[inline(always)]
            fn normal(self) -> bool {
                self.is_normal()
            }
            #[inline(always)]
            fn same_bits(self, other: Self) -> bool {
                self.to_bits() == other.to_bits()
            }
            #[inline(always)]
            fn scale(self) -> [Self; 2] {
                // Both exponents are those of normal numbers.
                let exponent = (self.to_bits() >> $mantissa).clamp(1, 2 * $largest - 1);
                let exponent = if self > 0.0 { exponent } else { $largest };
                [2 * $largest - exponent, exponent].map(|exponent| $float::from_bits(exponent << $mantissa))
            }

            fn cholesky(work: &Cholesky, a: &mut [Self], workspace: &mut [Line], pool: &Pool) -> Result<(), Failed> {
                work.run_here(a, workspace, pool)
            }
            fn cholesky_tangent(
                work: &CholeskyTangent,
                l: &[Self],
                x: &mut [Self],
                workspace: &mut [Line],
                pool: &Pool,
            ) -> Result<(), Failed> {
                work.run_here(l, x, workspace, pool)
            }
            fn cofactors(
                work: &Cofactors,
                a: &[Self],
                c: &mut [Self],
                workspace: &mut [Line],
                pool: &Pool,
            ) -> Result<(), Failed> {
                work.run_here(a, c, workspace, pool)
            }
            fn determinants(
                work: &Determinants,
                a: &[Self],
                det: &mut [Self],
                workspace: &mut [Line],
                pool: &Pool,
            ) -> Result<(), Failed> {
                work.run_here(a, det, workspace, pool)
            }
            fn eigh(
                work: &Eigh,
                a: &mut [Self],
                values: &mut [Self],
                workspace: &mut [Line],
                pool: &Pool,
            ) -> Result<(), Failed> {
                work.run_here(a, values, workspace, pool)
            }
            fn lu(
                work: &Lu,
                a: &[Self],
                l: &mut [Self],
                u: &mut [Self],
                order: &mut [i64],
                workspace: &mut [Line],
                pool: &Pool,
            ) -> Result<(), Failed> {
                work.run_here(a, l, u, order, workspace, pool)
            }
            fn lu_tangent(
                work: &LuTangent,
                factors: [&[Self]; 2],
                x: &mut [Self],
                workspace: &mut [Line],
                pool: &Pool,
            ) -> Result<(), Failed> {
                work.run_here(factors, x, workspace, pool)
            }
            fn qr(
                work: &Qr,
                a: &[Self],
                q: &mut [Self],
                r: &mut [Self],
                workspace: &mut [Line],
                pool: &Pool,
            ) -> Result<(), Failed> {
                work.run_here(a, q, r, workspace, pool)
            }
            fn svd(
                work: &Svd,
                a: &[Self],
                u: &mut [Self],
                values: &mut [Self],
                vt: &mut [Self],
                workspace: &mut [Line],
                pool: &Pool,
            ) -> Result<(), Failed> {
                work.run_here(a, u, values, vt, workspace, pool)
            }
            fn solve(
                work: &Solve,
                a: &[Self],
                b: &mut [Self],
                workspace: &mut [Line],
                pool: &Pool,
            ) -> Result<(), Failed> {
                work.run_here(a, b, workspace, pool)
            }
            fn sparse_factors(of: &Analysis, values: &[Self]) -> Result<Factors<Self>, SparseFault> {
                of.factors_here(values)
            }
            fn sparse_solve(
                of: &Analysis,
                factors: &Factors<Self>,
                transpose: bool,
                b: &mut [Self],
                columns: usize,
            ) -> Result<(), SparseFault> {
                of.solve_here(factors, transpose, b, columns)
            }
        }
    };
}
number!(f32, 23, 127, 1.0 / (1u32 << 18) as f32);
number!(f64, 52, 1023, 1.0 / (1u64 << 40) as f64);

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
            return Err(not_finite(row, column, entries[column]));
        }
    }
    Ok(())
}

/// The fault of an entry that is not finite.
pub(super) fn not_finite<T: Number>(row: usize, column: usize, x: T) -> Fault {
    let infinite = if x > T::ZERO { Entry::Infinite } else { Entry::MinusInfinite };
    Fault::NotFinite { row, column, entry: if x.to_f64().is_nan() { Entry::Nan } else { infinite } }
}

/// The sign of the first component that is not negligible: a component that is as good as 0 has no sign.
pub(super) fn orientation<T: Number>(vector: impl Iterator<Item = T> + Clone) -> T {
    let largest =
        vector.clone().fold(T::ZERO, |largest, x| if Float::abs(x) > largest { Float::abs(x) } else { largest });
    let least = largest * T::NEGLIGIBLE;
    let first = vector.into_iter().find(|&x| Float::abs(x) > least);
    if first.is_some_and(|x| x < T::ZERO) { -T::ONE } else { T::ONE }
}

/// The largest modulus; entries that are not numbers are passed over.
pub(super) fn largest<T: Number>(a: &[T]) -> T {
    // Several at a time, without an order between them, so that vectors can do it.
    let mut most = [T::ZERO; LANES];
    let mut chunks = a.chunks_exact(LANES);
    let larger = |most: T, x: T| if Float::abs(x) > most { Float::abs(x) } else { most };
    for chunk in &mut chunks {
        most.iter_mut().zip(chunk).for_each(|(most, &x)| *most = larger(*most, x));
    }
    most.iter().chain(chunks.remainder()).fold(T::ZERO, |most, &x| larger(most, x))
}
