//! [`Csc`]: a sparse matrix in compressed sparse columns.

use std::ops::{Add, Mul};
use std::sync::Arc;

use super::matrix::{Csr, MatrixError};
use wengert_kernels::pattern::{Pattern, Stored};

/// A sparse matrix in compressed sparse columns: what many factorisations read.
///
/// It is kept as the compressed rows of the transposed matrix, which are the same lists.
///
/// ```
/// use wengert::sparsity::{Csr, Pattern};
/// let pattern = Pattern::from_entries(2, 3, [(0, 0), (0, 2), (1, 0)])?;
/// let a = Csr::new(pattern, vec![1.0, 2.0, 3.0])?.to_csc();
/// assert_eq!((a.starts(), a.row_indices(), a.values()), (&[0, 2, 2, 3][..], &[0, 1, 0][..], &[1.0, 3.0, 2.0][..]));
/// assert_eq!(a.col(0), (&[0, 1][..], &[1.0, 3.0][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Csc<T = f64> {
    transposed: Csr<T>,
}

impl<T> Csc<T> {
    /// The matrix with these column starts (one more than there are columns), rows and values.
    ///
    /// # Errors
    /// If in a column rows are unsorted, given twice or outside the matrix; if starts do not increase, or lengths do not fit.
    pub fn from_columns(
        rows: usize,
        starts: Vec<usize>,
        row_indices: Vec<u32>,
        values: Vec<T>,
    ) -> Result<Csc<T>, MatrixError> {
        let of_columns = |error: MatrixError| MatrixError::new(format!("of the transposed matrix: {error}"));
        Csr::from_rows(rows, starts, row_indices, values).map(Csc::of_transposed).map_err(of_columns)
    }

    /// The matrix whose transposed matrix is this one; nothing is copied.
    ///
    /// Of a symmetric matrix whose lower triangle is stored, the upper triangle is then.
    pub fn of_transposed(transposed: Csr<T>) -> Csc<T> {
        Csc { transposed }
    }

    /// The transposed matrix in compressed rows; nothing is copied.
    pub fn into_transposed(self) -> Csr<T> {
        self.transposed
    }

    /// Which entries the transposed matrix has.
    pub fn pattern_of_transposed(&self) -> &Arc<Pattern> {
        self.transposed.pattern()
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.transposed.cols()
    }

    /// How many columns there are.
    pub fn cols(&self) -> usize {
        self.transposed.rows()
    }

    /// How many entries are stored.
    pub fn nnz(&self) -> usize {
        self.transposed.nnz()
    }

    /// Where each column begins in [`Csc::row_indices`] and [`Csc::values`], and the end of the last.
    pub fn starts(&self) -> &[usize] {
        self.transposed.pattern().starts()
    }

    /// The same in 32 bits; the list is made at the first call and kept.
    pub fn narrow_starts(&self) -> &[u32] {
        self.transposed.narrow_starts()
    }

    /// The rows of all entries, column by column.
    pub fn row_indices(&self) -> &[u32] {
        self.transposed.pattern().columns()
    }

    /// The values, column by column.
    pub fn values(&self) -> &[T] {
        self.transposed.values()
    }

    /// The values to be written, column by column.
    pub fn values_mut(&mut self) -> &mut [T] {
        self.transposed.values_mut()
    }

    /// The rows and values of what is stored of a column, rows increasing.
    ///
    /// # Panics
    /// If there is no such column.
    #[track_caller]
    pub fn col(&self, col: usize) -> (&[u32], &[T]) {
        assert!(col < self.cols(), "Csc::col: column {col} of a matrix of {} x {}", self.rows(), self.cols());
        self.transposed.row(col)
    }

    /// The stored value at a place; `None` where there is no entry.
    pub fn get(&self, row: usize, col: usize) -> Option<&T> {
        self.transposed.get(col, row)
    }
}

impl<T: Copy> Csc<T> {
    /// What is stored as (row, column, value), column by column.
    pub fn triplets(&self) -> impl Iterator<Item = (usize, usize, T)> + '_ {
        self.transposed.triplets().map(|(col, row, value)| (row, col, value))
    }

    /// The same matrix in compressed rows.
    pub fn to_csr(&self) -> Csr<T> {
        self.transposed.transpose()
    }
}

impl<T: Copy + Default + Add<Output = T> + Mul<Output = T>> Csc<T> {
    /// The matrix as rows of all its entries, zeros included.
    pub fn to_dense(&self) -> Vec<Vec<T>> {
        self.to_csr().to_dense()
    }

    /// The product `A x`.
    ///
    /// # Errors
    /// If `x` does not have as many elements as there are columns.
    pub fn matvec(&self, x: &[T]) -> Result<Vec<T>, MatrixError> {
        self.check_vector("matvec", x.len(), self.cols())?;
        self.transposed.matvec_transposed(x)
    }

    /// The product `Aᵀ y`.
    ///
    /// # Errors
    /// If `y` does not have as many elements as there are rows.
    pub fn matvec_transposed(&self, y: &[T]) -> Result<Vec<T>, MatrixError> {
        self.check_vector("matvec_transposed", y.len(), self.rows())?;
        self.transposed.matvec(y)
    }

    /// Here, so that messages name the matrix as the caller sees it.
    fn check_vector(&self, what: &str, given: usize, needed: usize) -> Result<(), MatrixError> {
        let (rows, cols) = (self.rows(), self.cols());
        match given == needed {
            true => Ok(()),
            false => Err(MatrixError::new(format!("{what}: a matrix of {rows} x {cols} and a vector of {given}"))),
        }
    }
}

impl<T: Copy> Csr<T> {
    /// The same matrix in compressed columns; of a symmetric matrix whose lower triangle is stored these are columns of its
    /// lower triangle alone.
    pub fn to_csc(&self) -> Csc<T> {
        let stored_whole = match self.stored() {
            Stored::Whole => self.transpose(),
            Stored::Lower => self.upper(),
        };
        Csc::of_transposed(stored_whole)
    }
}
