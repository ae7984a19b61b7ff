//! The library `faer`: its matrices over slices, and its scratch over lines of an arena.
//!
//! Its sizes of scratch are known before it runs. Beside the scratch, its matrix products pack their operands into memory that
//! they allocate themselves.

use std::mem::MaybeUninit;

use faer::diag::DiagMut;
use faer::dyn_stack::{MemStack, StackReq};
use faer::{Auto, MatMut, MatRef, Par, Spec};

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
