//! Views for `faer`.

use faer::sparse::{SparseColMatRef, SparseRowMatRef, SymbolicSparseColMatRef, SymbolicSparseRowMatRef};

use super::narrow;
use crate::sparsity::csc::Csc;
use crate::sparsity::matrix::{Csr, MatrixError};

impl<T> Csr<T> {
    /// The matrix as faer sees it, with the feature `faer`: columns and values are borrowed; of the starts of rows a list in 32
    /// bits is made at the first call, because faer has one type for both, and kept.
    ///
    /// ```
    /// use wengert::sparsity::{Csr, Pattern};
    /// let a = Csr::new(Pattern::from_entries(2, 2, [(0, 0), (0, 1), (1, 1)])?, vec![1.0, 2.0, 3.0])?;
    /// let view = a.as_faer()?;
    /// assert_eq!(view.get(0, 1), Some(&2.0));
    /// assert!(std::ptr::eq(view.val(), a.values()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there are 2^31 rows or columns or more, which faer does not number in 32 bits.
    pub fn as_faer(&self) -> Result<SparseRowMatRef<'_, u32, T>, MatrixError> {
        let (rows, cols) = (self.rows(), self.cols());
        check_sizes(rows, cols)?;
        let columns = self.pattern().columns();
        let symbolic = SymbolicSparseRowMatRef::new_checked(rows, cols, self.narrow_starts(), None, columns);
        Ok(SparseRowMatRef::new(symbolic, self.values()))
    }
}

impl<T: Clone> Csr<T> {
    /// A copy of a matrix of faer, with the feature `faer`.
    ///
    /// # Errors
    /// If the columns of a row are not sorted or a number stands twice, which faer allows; if there are 2^32 columns or entries or
    /// more.
    pub fn from_faer<I: faer::Index>(matrix: SparseRowMatRef<'_, I, T>) -> Result<Csr<T>, MatrixError> {
        let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in 0..matrix.nrows() {
            for col in matrix.col_idx_of_row(row) {
                columns.push(narrow(col)?);
            }
            values.extend_from_slice(matrix.val_of_row(row));
            starts.push(columns.len());
        }
        Csr::from_rows(matrix.ncols(), starts, columns, values)
    }
}

impl<T> Csc<T> {
    /// The matrix as faer sees it; [`Csr::as_faer`] says what is borrowed.
    ///
    /// # Errors
    /// As [`Csr::as_faer`].
    pub fn as_faer(&self) -> Result<SparseColMatRef<'_, u32, T>, MatrixError> {
        let (rows, cols) = (self.rows(), self.cols());
        check_sizes(rows, cols)?;
        let rows_of_entries = self.row_indices();
        let symbolic = SymbolicSparseColMatRef::new_checked(rows, cols, self.narrow_starts(), None, rows_of_entries);
        Ok(SparseColMatRef::new(symbolic, self.values()))
    }
}

impl<T: Clone> Csc<T> {
    /// A copy of a matrix of faer, with the feature `faer`.
    ///
    /// # Errors
    /// As [`Csr::from_faer`], for the transposed matrix.
    pub fn from_faer<I: faer::Index>(matrix: SparseColMatRef<'_, I, T>) -> Result<Csc<T>, MatrixError> {
        Csr::from_faer(matrix.transpose()).map(Csc::of_transposed)
    }
}

fn check_sizes(rows: usize, cols: usize) -> Result<(), MatrixError> {
    let most = i32::MAX as usize;
    match rows > most || cols > most {
        true => {
            Err(MatrixError::new(format!("as_faer: a matrix of {rows} x {cols}, and faer numbers 2^31 - 1 in 32 bits")))
        }
        false => Ok(()),
    }
}
