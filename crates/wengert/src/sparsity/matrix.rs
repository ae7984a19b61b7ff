//! [`Csr`]: a sparse matrix, a [`Pattern`] with values in compressed sparse rows.
//!
//! Columns are numbered in 32 bits, which halves the memory that a product reads of them, and starts of rows in words, as slices
//! need them. `sprs` takes both as they are. `faer` wants one type for both, so that the starts are narrowed once for it, one
//! number a row; entries are never copied. `nalgebra-sparse` owns words for both, so that its columns are made anew, and only
//! the values move.

use std::fmt;
use std::ops::{Add, Mul};
use std::sync::{Arc, OnceLock};

use wengert_kernels::pattern::{Pattern, PatternError, Stored, by_column};

/// A sparse matrix in compressed sparse rows: a pattern, and a value for each of its entries.
///
/// The pattern is shared, because a solver asks for the same matrix with other values again and again. Values may be zero,
/// infinite or NaN; [`Csr::non_finite`] finds the first that is not finite.
///
/// ```
/// use wengert::sparsity::{Csr, Pattern};
/// let pattern = Pattern::from_entries(2, 3, [(0, 0), (0, 2), (1, 1)])?;
/// let a = Csr::new(pattern, vec![1.0, 2.0, 3.0])?;
/// assert_eq!(a.to_dense(), [[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]);
/// assert_eq!(a.matvec(&[1.0, 1.0, 1.0])?, [3.0, 3.0]);
/// assert_eq!(a.matvec_transposed(&[1.0, 1.0])?, [1.0, 3.0, 2.0]);
/// assert_eq!(a.triplets().collect::<Vec<_>>(), [(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Csr<T = f64> {
    pattern: Arc<Pattern>,
    values: Vec<T>,
    stored: Stored,
    narrow_starts: NarrowStarts,
}

/// The starts of rows in 32 bits, once somebody needs them; they follow from the pattern, and so are no part of an equality.
#[derive(Clone, Debug, Default)]
struct NarrowStarts(OnceLock<Arc<[u32]>>);

impl PartialEq for NarrowStarts {
    fn eq(&self, _: &NarrowStarts) -> bool {
        true
    }
}

/// Why a pattern, values and vectors do not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatrixError(String);

impl MatrixError {
    pub(crate) fn new(message: String) -> MatrixError {
        MatrixError(message)
    }
}

impl fmt::Display for MatrixError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for MatrixError {}

impl From<PatternError> for MatrixError {
    fn from(error: PatternError) -> MatrixError {
        MatrixError(error.to_string())
    }
}

impl<T> Csr<T> {
    /// The matrix with these values, row by row as the pattern lists its entries.
    ///
    /// # Errors
    /// If there are more or fewer values than entries, or 2^32 entries or more.
    pub fn new(pattern: impl Into<Arc<Pattern>>, values: Vec<T>) -> Result<Csr<T>, MatrixError> {
        let pattern = pattern.into();
        if values.len() != pattern.nnz() {
            let (given, needed) = (values.len(), pattern.nnz());
            return Err(MatrixError(format!("{given} values for a pattern of {needed} entries")));
        }
        if u32::try_from(values.len()).is_err() {
            return Err(MatrixError(format!("{} entries, and a matrix has fewer than 2^32", values.len())));
        }
        Ok(Csr { pattern, values, stored: Stored::Whole, narrow_starts: NarrowStarts::default() })
    }

    /// The symmetric matrix whose entries on and below the diagonal are these.
    ///
    /// # Errors
    /// As [`Csr::new`], and if the pattern is not square or has an entry above the diagonal.
    pub fn lower_of_symmetric(pattern: impl Into<Arc<Pattern>>, values: Vec<T>) -> Result<Csr<T>, MatrixError> {
        let matrix = Csr::new(pattern, values)?;
        let (rows, cols) = (matrix.rows(), matrix.cols());
        if rows != cols {
            return Err(MatrixError(format!("a symmetric matrix is square, and this one is {rows} x {cols}")));
        }
        if let Some((row, col)) = matrix.pattern.entries().find(|(row, col)| col > row) {
            return Err(MatrixError(format!("the entry ({row}, {col}) of a lower triangle is above the diagonal")));
        }
        Ok(Csr { stored: Stored::Lower, ..matrix })
    }

    /// The matrix with these row starts (one more than there are rows), columns and values.
    ///
    /// ```
    /// use wengert::sparsity::Csr;
    /// let unsorted = Csr::from_rows(3, vec![0, 2], vec![2, 0], vec![1.0, 2.0]);
    /// assert_eq!(unsorted.unwrap_err().to_string(), "in row 0 column 0 stands behind column 2");
    /// ```
    ///
    /// # Errors
    /// As [`Pattern::from_rows`] and [`Csr::new`]: columns that are unsorted, given twice or outside the matrix, starts that do
    /// not increase, lengths that do not fit.
    pub fn from_rows(
        cols: usize,
        starts: Vec<usize>,
        columns: Vec<u32>,
        values: Vec<T>,
    ) -> Result<Csr<T>, MatrixError> {
        Csr::new(Pattern::from_rows(cols, starts, columns)?, values)
    }

    /// The matrix with these entries (row, column, value), in any order.
    ///
    /// # Errors
    /// If an entry is outside the matrix or given twice, or there are more than 2^32 columns or entries.
    pub fn from_triplets(
        rows: usize,
        cols: usize,
        triplets: impl IntoIterator<Item = (usize, usize, T)>,
    ) -> Result<Csr<T>, MatrixError> {
        let mut triplets: Vec<(usize, usize, T)> = triplets.into_iter().collect();
        triplets.sort_by_key(|&(row, col, _)| (row, col));
        if let Some(pair) = triplets.windows(2).find(|pair| (pair[0].0, pair[0].1) == (pair[1].0, pair[1].1)) {
            return Err(MatrixError(format!("the entry ({}, {}) is given twice", pair[0].0, pair[0].1)));
        }
        let pattern = Pattern::from_entries(rows, cols, triplets.iter().map(|&(row, col, _)| (row, col)))?;
        Csr::new(pattern, triplets.into_iter().map(|(_, _, value)| value).collect())
    }

    /// Which entries there are; of a symmetric matrix those that are stored.
    pub fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    /// The values, row by row.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// The values to be written, row by row: what an evaluation fills again.
    pub fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }

    /// The pattern and the values.
    pub fn into_parts(self) -> (Arc<Pattern>, Vec<T>) {
        (self.pattern, self.values)
    }

    /// Whether all entries are stored, or the lower triangle of a symmetric matrix.
    pub fn stored(&self) -> Stored {
        self.stored
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.pattern.rows()
    }

    /// How many columns there are.
    pub fn cols(&self) -> usize {
        self.pattern.cols()
    }

    /// How many entries are stored.
    pub fn nnz(&self) -> usize {
        self.values.len()
    }

    /// The columns and values of what is stored of a row, columns increasing.
    ///
    /// # Panics
    /// If there is no such row.
    #[track_caller]
    pub fn row(&self, row: usize) -> (&[u32], &[T]) {
        assert!(row < self.rows(), "Csr::row: row {row} of a matrix of {} x {}", self.rows(), self.cols());
        let range = self.pattern.starts()[row]..self.pattern.starts()[row + 1];
        (&self.pattern.columns()[range.clone()], &self.values[range])
    }

    /// Where each row begins, and the end of the last, in 32 bits: for libraries that number entries as they number columns. The
    /// list is made at the first call and kept.
    pub fn narrow_starts(&self) -> &[u32] {
        self.narrow_starts.0.get_or_init(|| self.pattern.starts().iter().map(|&start| start as u32).collect())
    }

    /// The stored value at a place; `None` where there is no entry. Above the diagonal of a symmetric matrix whose lower triangle
    /// is stored that is the value of the mirror image.
    pub fn get(&self, row: usize, col: usize) -> Option<&T> {
        let (row, col) = match self.stored {
            Stored::Lower => (row.max(col), row.min(col)),
            Stored::Whole => (row, col),
        };
        if row >= self.rows() {
            return None;
        }
        let place = self.pattern.row(row).binary_search(&u32::try_from(col).ok()?).ok()?;
        Some(&self.values[self.pattern.starts()[row] + place])
    }
}

impl<T: Copy> Csr<T> {
    /// What is stored as (row, column, value), row by row: the pairs of indices that solvers for nonlinear programs ask for, and
    /// their values.
    pub fn triplets(&self) -> impl Iterator<Item = (usize, usize, T)> + '_ {
        self.pattern.entries().zip(&self.values).map(|((row, col), &value)| (row, col, value))
    }

    /// The transposed matrix. Of a symmetric matrix whose lower triangle is stored it is the matrix itself.
    pub fn transpose(&self) -> Csr<T> {
        if self.stored == Stored::Lower {
            return self.clone();
        }
        let pattern = self.pattern.transposed();
        let values = by_column(&self.pattern).into_iter().map(|place| self.values[place as usize]).collect();
        Csr { pattern: Arc::new(pattern), values, stored: Stored::Whole, narrow_starts: NarrowStarts::default() }
    }

    /// What is stored on and below the diagonal.
    pub fn lower(&self) -> Csr<T> {
        self.filtered(|row, col| col <= row)
    }

    /// What is on and above the diagonal; of a symmetric matrix whose lower triangle is stored its mirror image.
    pub fn upper(&self) -> Csr<T> {
        match self.stored {
            Stored::Whole => self.filtered(|row, col| col >= row),
            Stored::Lower => Csr { stored: Stored::Whole, ..self.clone() }.transpose(),
        }
    }

    /// All entries of a symmetric matrix whose lower triangle is stored; any other matrix as it is.
    pub fn whole(&self) -> Csr<T> {
        if self.stored == Stored::Whole {
            return self.clone();
        }
        let above = self.triplets().filter(|(row, col, _)| col < row).map(|(row, col, value)| (col, row, value));
        Csr::from_triplets(self.rows(), self.cols(), self.triplets().chain(above))
            .expect("entries of a lower triangle and those that mirror them differ")
    }

    /// These rows, in this order; a row may be taken more than once.
    ///
    /// # Errors
    /// If there is no such row, or the lower triangle of a symmetric matrix is stored.
    pub fn select_rows(&self, rows: &[usize]) -> Result<Csr<T>, MatrixError> {
        self.check_whole("select_rows")?;
        if let Some(row) = rows.iter().find(|&&row| row >= self.rows()) {
            return Err(MatrixError(format!(
                "select_rows: row {row} of a matrix of {} x {}",
                self.rows(),
                self.cols()
            )));
        }
        let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for &row in rows {
            let (own, numbers) = self.row(row);
            columns.extend_from_slice(own);
            values.extend_from_slice(numbers);
            starts.push(columns.len());
        }
        Csr::from_rows(self.cols(), starts, columns, values)
    }

    /// These columns, in this order; a column may be taken more than once.
    ///
    /// # Errors
    /// As [`Csr::select_rows`].
    pub fn select_columns(&self, columns: &[usize]) -> Result<Csr<T>, MatrixError> {
        self.check_whole("select_columns")?;
        if let Some(col) = columns.iter().find(|&&col| col >= self.cols()) {
            let (rows, cols) = (self.rows(), self.cols());
            return Err(MatrixError(format!("select_columns: column {col} of a matrix of {rows} x {cols}")));
        }
        Ok(self.transpose().select_rows(columns)?.transpose())
    }

    /// The entries (row, column) for which `keeps` answers yes.
    fn filtered(&self, keeps: impl Fn(usize, usize) -> bool) -> Csr<T> {
        let kept = self.triplets().filter(|&(row, col, _)| keeps(row, col));
        let values = kept.map(|(_, _, value)| value).collect();
        let pattern = Arc::new(self.pattern.filtered(keeps));
        Csr { pattern, values, stored: self.stored, narrow_starts: NarrowStarts::default() }
    }

    fn check_whole(&self, what: &str) -> Result<(), MatrixError> {
        match self.stored {
            Stored::Whole => Ok(()),
            Stored::Lower => Err(MatrixError(format!("{what}: of a symmetric matrix its lower triangle is stored"))),
        }
    }
}

impl<T: Copy + Default + Add<Output = T> + Mul<Output = T>> Csr<T> {
    /// The matrix as rows of all its entries, zeros included.
    pub fn to_dense(&self) -> Vec<Vec<T>> {
        let mut dense = vec![vec![T::default(); self.cols()]; self.rows()];
        for (row, col, value) in self.triplets() {
            dense[row][col] = value;
            if self.stored == Stored::Lower {
                dense[col][row] = value;
            }
        }
        dense
    }

    /// The product `A x`.
    ///
    /// # Errors
    /// If `x` does not have as many elements as there are columns.
    pub fn matvec(&self, x: &[T]) -> Result<Vec<T>, MatrixError> {
        self.check_vector("matvec", x.len(), self.cols())?;
        let mut y = vec![T::default(); self.rows()];
        for (row, y_row) in y.iter_mut().enumerate() {
            let (columns, values) = self.row(row);
            for (&col, &value) in columns.iter().zip(values) {
                *y_row = *y_row + value * x[col as usize];
            }
        }
        if self.stored == Stored::Lower {
            for (row, col, value) in self.triplets().filter(|(row, col, _)| row != col) {
                y[col] = y[col] + value * x[row];
            }
        }
        Ok(y)
    }

    /// The product `Aᵀ y`.
    ///
    /// # Errors
    /// If `y` does not have as many elements as there are rows.
    pub fn matvec_transposed(&self, y: &[T]) -> Result<Vec<T>, MatrixError> {
        self.check_vector("matvec_transposed", y.len(), self.rows())?;
        if self.stored == Stored::Lower {
            return self.matvec(y);
        }
        let mut x = vec![T::default(); self.cols()];
        for (row, col, value) in self.triplets() {
            x[col] = x[col] + value * y[row];
        }
        Ok(x)
    }

    fn check_vector(&self, what: &str, given: usize, needed: usize) -> Result<(), MatrixError> {
        let (rows, cols) = (self.rows(), self.cols());
        match given == needed {
            true => Ok(()),
            false => Err(MatrixError(format!("{what}: a matrix of {rows} x {cols} and a vector of {given}"))),
        }
    }
}

impl<T: Copy + Into<f64>> Csr<T> {
    /// The first stored value that is infinite or NaN, with its row and column.
    pub fn non_finite(&self) -> Option<(usize, usize, T)> {
        self.triplets().find(|&(_, _, value)| !value.into().is_finite())
    }
}
