//! Matrices of `nalgebra-sparse`, which own their lists: columns are copied into words, values are moved.

use nalgebra_sparse::pattern::SparsityPattern;
use nalgebra_sparse::{CscMatrix, CsrMatrix};

use super::narrow;
use crate::sparsity::csc::Csc;
use crate::sparsity::matrix::{Csr, MatrixError};
use wengert_kernels::pattern::Pattern;

impl<T> Csr<T> {
    /// The matrix as one of nalgebra-sparse, with the feature `nalgebra-sparse`. Values are moved; the pattern is copied, because
    /// that library owns it, in words.
    ///
    /// ```
    /// use wengert::sparsity::{Csr, Pattern};
    /// let a = Csr::new(Pattern::from_entries(2, 2, [(0, 0), (0, 1), (1, 1)])?, vec![1.0, 2.0, 3.0])?;
    /// let theirs = a.clone().into_nalgebra();
    /// assert_eq!(theirs.row(0).values(), [1.0, 2.0]);
    /// assert_eq!(Csr::from_nalgebra(theirs)?, a);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn into_nalgebra(self) -> CsrMatrix<T> {
        let (pattern, values) = self.into_parts();
        CsrMatrix::try_from_pattern_and_values(copied(&pattern), values).expect("a value for each entry")
    }

    /// A matrix of nalgebra-sparse, with the feature `nalgebra-sparse`; values are moved.
    ///
    /// # Errors
    /// If there are 2^32 columns or entries or more.
    pub fn from_nalgebra(matrix: CsrMatrix<T>) -> Result<Csr<T>, MatrixError> {
        let cols = matrix.ncols();
        let (starts, columns, values) = matrix.disassemble();
        of_parts(cols, starts, columns, values)
    }
}

impl<T> Csc<T> {
    /// The matrix as one of nalgebra-sparse; [`Csr::into_nalgebra`] says what is copied.
    pub fn into_nalgebra(self) -> CscMatrix<T> {
        let (pattern, values) = self.into_transposed().into_parts();
        CscMatrix::try_from_pattern_and_values(copied(&pattern), values).expect("a value for each entry")
    }

    /// A matrix of nalgebra-sparse, with the feature `nalgebra-sparse`; values are moved.
    ///
    /// # Errors
    /// If there are 2^32 rows or entries or more.
    pub fn from_nalgebra(matrix: CscMatrix<T>) -> Result<Csc<T>, MatrixError> {
        let rows = matrix.nrows();
        let (starts, row_indices, values) = matrix.disassemble();
        of_parts(rows, starts, row_indices, values).map(Csc::of_transposed)
    }
}

fn copied(pattern: &Pattern) -> SparsityPattern {
    let columns = pattern.columns().iter().map(|&col| col as usize).collect();
    SparsityPattern::try_from_offsets_and_indices(pattern.rows(), pattern.cols(), pattern.starts().to_vec(), columns)
        .expect("a pattern is sorted and within its size")
}

fn of_parts<T>(cols: usize, starts: Vec<usize>, columns: Vec<usize>, values: Vec<T>) -> Result<Csr<T>, MatrixError> {
    let columns = columns.into_iter().map(narrow).collect::<Result<Vec<u32>, MatrixError>>()?;
    Csr::from_rows(cols, starts, columns, values)
}
