//! The library `faer`: its matrices over slices, and its scratch over lines of an arena.
//!
//! Its sizes of scratch are known before it runs. Beside the scratch, its matrix products pack their operands into memory that
//! they allocate themselves, and that threads keep: [`packing`].

use std::mem::MaybeUninit;

use faer::diag::DiagMut;
use faer::dyn_stack::{MemStack, StackReq};
use faer::{Auto, MatMut, MatRef, Par, Spec};

use super::Number;
use crate::arena::{LINE, Line};

/// One thread for each call: the threads are the caller's.
pub(crate) const ALONE: Par = Par::Seq;

/// Columns one behind the other, as the library likes them: the transpose of rows.
pub(super) fn columns<T>(data: &[T], rows: usize, columns: usize) -> MatRef<'_, T> {
    MatRef::from_column_major_slice(data, rows, columns)
}

/// As [`columns`], to be written.
pub(crate) fn columns_mut<T>(data: &mut [T], rows: usize, columns: usize) -> MatMut<'_, T> {
    MatMut::from_column_major_slice_mut(data, rows, columns)
}

/// The diagonal of a matrix.
pub(super) fn diagonal<T>(data: &mut [T]) -> DiagMut<'_, T> {
    DiagMut::from_slice_mut(data)
}

/// The library's own choice of block sizes.
pub(crate) fn auto<T: faer::traits::ComplexField, C: Auto<T>>() -> Spec<C, T> {
    Spec::new(C::auto())
}

/// Products of at most this number of multiplications pack nothing (`NANO_GEMM_THRESHOLD` of the library).
const DIRECT: usize = 16 * 16 * 16;

/// Read in `private-gemm-x86` 0.1.22, `lib.rs`, where `MEM` is: two slabs, each as large as a third cache, which is taken for 2 MiB
/// on every machine, because that library asks for the real one with its feature `std` alone. Where another crate of a program
/// turns that on, the slabs are those of the machine.
#[cfg(target_arch = "x86_64")]
const SLABS: usize = 2 * (2 << 20);

/// Bytes that a thread keeps for the library's products once one of these sizes, or a smaller one, has run on it.
pub(super) fn packing<T: Number>([m, k, n]: [usize; 3]) -> usize {
    if m.saturating_mul(n).saturating_mul(k) <= DIRECT {
        return 0;
    }
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx512f")
        || std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
    {
        return SLABS;
    }
    // There it uses the library of our own products, from columns to columns.
    let columns = [[1, m.cast_signed()], [1, k.cast_signed()], [1, m.cast_signed()]];
    crate::product::workspace::<T>([m, k, n], columns, false, 1).bytes()
}

/// The lines that a request takes.
pub(super) fn lines(request: StackReq) -> usize {
    request.unaligned_bytes_required().div_ceil(LINE)
}

/// The scratch of a call.
pub(super) fn stack(scratch: &mut [Line]) -> &mut MemStack {
    // SAFETY: the bytes are borrowed exclusively, and `MaybeUninit<u8>` has the layout of `u8`. The library writes numbers,
    // which have no padding, so that the lines hold bytes again when the borrow ends. Test
    // `factors_multiply_to_the_matrix`.
    let bytes =
        unsafe { std::slice::from_raw_parts_mut(scratch.as_mut_ptr().cast::<MaybeUninit<u8>>(), size_of_val(scratch)) };
    MemStack::new(bytes)
}
