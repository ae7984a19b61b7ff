//! [`Csr`]: a sparse matrix, a [`Pattern`] with values in compressed sparse rows.

use std::fmt;
use std::ops::{Add, Mul};
use std::sync::Arc;

use crate::pattern::Pattern;

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
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Csr<T = f64> {
    pattern: Arc<Pattern>,
    values: Vec<T>,
    stored: Stored,
}

/// Which entries of a matrix are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stored {
    /// All that may differ from zero.
    Whole,
    /// Of a symmetric matrix those on and below the diagonal; those above it are the same numbers.
    Lower,
}

/// Why a pattern, values and vectors do not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatrixError(String);

impl fmt::Display for MatrixError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for MatrixError {}

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
        Ok(Csr { pattern, values, stored: Stored::Whole })
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
            return Err(MatrixError(format!("the entry ({row}, {col}) is above the diagonal, of a lower triangle")));
        }
        Ok(Csr { stored: Stored::Lower, ..matrix })
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
}

impl<T: Copy + Default + Add<Output = T> + Mul<Output = T>> Csr<T> {
    /// The matrix as rows of all its entries, zeros included.
    pub fn to_dense(&self) -> Vec<Vec<T>> {
        let mut dense = vec![vec![T::default(); self.cols()]; self.rows()];
        for ((row, col), &value) in self.pattern.entries().zip(&self.values) {
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
        if x.len() != self.cols() {
            let (rows, cols) = (self.rows(), self.cols());
            return Err(MatrixError(format!("matvec: a matrix of {rows} x {cols} and a vector of {}", x.len())));
        }
        let mut y = vec![T::default(); self.rows()];
        for ((row, col), &value) in self.pattern.entries().zip(&self.values) {
            y[row] = y[row] + value * x[col];
            if self.stored == Stored::Lower && row != col {
                y[col] = y[col] + value * x[row];
            }
        }
        Ok(y)
    }
}

/// For each entry of a symmetric pattern the place of its mirror image.
///
/// # Errors
/// If the pattern is not square, or an entry has no mirror image; it is named.
pub(super) fn twins(pattern: &Pattern) -> Result<Vec<u32>, MatrixError> {
    let (rows, cols) = (pattern.rows(), pattern.cols());
    if rows != cols {
        return Err(MatrixError(format!("a symmetric matrix is square, and this pattern is {rows} x {cols}")));
    }
    // Rows are taken in order, so that the mirror images in each row come in order too.
    let mut next = pattern.starts()[..rows].to_vec();
    let mut twins = Vec::with_capacity(pattern.nnz());
    for (row, col) in pattern.entries() {
        let place = next[col];
        if place == pattern.starts()[col + 1] || pattern.columns()[place] as usize != row {
            let (row, col) = if pattern.contains(col, row) { unmirrored(pattern) } else { (row, col) };
            return Err(MatrixError(format!(
                "the pattern is not symmetric: it has ({row}, {col}), not ({col}, {row})"
            )));
        }
        next[col] += 1;
        twins.push(place as u32);
    }
    Ok(twins)
}

fn unmirrored(pattern: &Pattern) -> (usize, usize) {
    pattern.entries().find(|&(row, col)| !pattern.contains(col, row)).expect("a pattern that is not symmetric")
}
