//! Views for `sprs`.

use sprs::{CsMatViewI, SpIndex};

use super::narrow;
use crate::sparsity::csc::Csc;
use crate::sparsity::matrix::{Csr, MatrixError};

impl<T> Csr<T> {
    /// The matrix as sprs sees it, with the feature `sprs`; nothing is copied.
    ///
    /// ```
    /// use wengert::sparsity::{Csr, Pattern};
    /// let a = Csr::new(Pattern::from_entries(2, 2, [(0, 0), (0, 1), (1, 1)])?, vec![1.0, 2.0, 3.0])?;
    /// let view = a.as_sprs();
    /// assert_eq!(view.get(0, 1), Some(&2.0));
    /// assert!(std::ptr::eq(view.data(), a.values()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn as_sprs(&self) -> CsMatViewI<'_, T, u32, usize> {
        let pattern = self.pattern();
        CsMatViewI::new((self.rows(), self.cols()), pattern.starts(), pattern.columns(), self.values())
    }
}

impl<T: Copy> Csr<T> {
    /// A copy of a matrix of sprs, by rows or by columns, with the feature `sprs`.
    ///
    /// # Errors
    /// If there are 2^32 columns or entries or more.
    pub fn from_sprs<I: SpIndex, P: SpIndex>(matrix: CsMatViewI<'_, T, I, P>) -> Result<Csr<T>, MatrixError> {
        match matrix.is_csr() {
            true => outer_as_rows(matrix),
            false => Ok(outer_as_rows(matrix.transpose_into())?.transpose()),
        }
    }
}

impl<T> Csc<T> {
    /// The matrix as sprs sees it, with the feature `sprs`; nothing is copied.
    pub fn as_sprs(&self) -> CsMatViewI<'_, T, u32, usize> {
        CsMatViewI::new_csc((self.rows(), self.cols()), self.starts(), self.row_indices(), self.values())
    }
}

impl<T: Copy> Csc<T> {
    /// A copy of a matrix of sprs, by rows or by columns, with the feature `sprs`.
    ///
    /// # Errors
    /// As [`Csr::from_sprs`].
    pub fn from_sprs<I: SpIndex, P: SpIndex>(matrix: CsMatViewI<'_, T, I, P>) -> Result<Csc<T>, MatrixError> {
        Csr::from_sprs(matrix.transpose_into()).map(Csc::of_transposed)
    }
}

/// A matrix that is stored by rows.
fn outer_as_rows<T: Copy, I: SpIndex, P: SpIndex>(matrix: CsMatViewI<'_, T, I, P>) -> Result<Csr<T>, MatrixError> {
    let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in matrix.outer_iterator() {
        for (col, &value) in row.iter() {
            columns.push(narrow(col)?);
            values.push(value);
        }
        starts.push(columns.len());
    }
    Csr::from_rows(matrix.cols(), starts, columns, values)
}
