//! Linear systems with sparse matrices, by the library `faer`.
//!
//! A matrix is given by compressed rows: where each row starts, the columns of its entries, increasing, and their numbers. What
//! depends on the places of the entries alone is done once ([`Analysis`]): an order of the rows in which the factors have few
//! entries (COLAMD: T. A. Davis, J. R. Gilbert, S. I. Larimore, E. G. Ng, 2004; AMD: P. R. Amestoy, T. A. Davis, I. S. Duff, 1996),
//! and the structure of the factors. For each set of numbers there are then factors ([`Factors`]), with which any number of
//! systems is solved, with the matrix and with its transpose.
//!
//! What is stored by rows is the transposed matrix stored by columns, and that is what is factored: the numbers are read where
//! they lie. Pivots are the largest number of a row.
//!
//! The bits of a result depend on the matrix and its own right-hand side only. One thread does a factorisation.
//!
//! # Memory
//!
//! Factors, and the scratch of a call, are allocated here: their sizes follow from the numbers, not from shapes. Where there is
//! not enough memory for them, that is [`SparseFault::Memory`].
//!
//! ```
//! use wengert_kernels::sparse::{Analysis, SparseFault, SparseKind};
//!
//! // [[0, 2], [4, 1]]
//! let analysis = Analysis::new(&[0, 1, 3], &[1, 0, 1], SparseKind::General)?;
//! let factors = analysis.factors(&[2.0, 4.0, 1.0])?;
//! let mut x = [2.0, 9.0];
//! analysis.solve(&factors, false, &mut x, 1)?;
//! assert_eq!(x, [2.0, 1.0]);
//! assert_eq!(analysis.factors(&[0.0, 4.0, 1.0]).and_then(|factors| {
//!     analysis.solve(&factors, false, &mut x, 1)
//! }), Err(SparseFault::Singular { row: 0 }));
//! # Ok::<(), SparseFault>(())
//! ```

mod factors;

use std::error::Error;
use std::fmt;

pub use factors::Factors;
use faer::sparse::SymbolicSparseColMatRef;
use faer::sparse::linalg::cholesky::{
    CholeskySymbolicParams, SymbolicCholesky, SymmetricOrdering, factorize_symbolic_cholesky,
};
use faer::sparse::linalg::lu::{LuSymbolicParams, SymbolicLu, factorize_symbolic_lu};

/// What is known of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SparseKind {
    /// Nothing: pivots are chosen.
    General,
    /// The places of its entries are symmetric; it is read as `(A + A^T) / 2`, and has to be positive definite.
    Positive,
}

/// Why a system is not solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SparseFault {
    /// An entry is NaN or infinite.
    NotFinite {
        /// Its number.
        entry: usize,
    },
    /// Nothing is left of a row but 0 when those before it in the order are eliminated.
    Singular {
        /// The row.
        row: usize,
    },
    /// What is left on the diagonal of a row is not positive.
    NotPositive {
        /// The row.
        row: usize,
    },
    /// The solution is too large for its type.
    Overflow,
    /// There is not enough memory.
    Memory,
}

impl fmt::Display for SparseFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SparseFault::NotFinite { entry } => write!(f, "entry {entry} is not finite"),
            SparseFault::Singular { row } => write!(f, "the pivot of row {row} is zero"),
            SparseFault::NotPositive { row } => write!(f, "the pivot of row {row} is not positive"),
            SparseFault::Overflow => write!(f, "the solution overflows"),
            SparseFault::Memory => write!(f, "there is not enough memory"),
        }
    }
}

impl Error for SparseFault {}

/// What is known of all matrices with entries at the same places.
#[derive(Debug)]
pub struct Analysis {
    starts: Vec<usize>,
    columns: Vec<usize>,
    symbolic: Symbolic,
}

#[derive(Debug)]
enum Symbolic {
    General(SymbolicLu<usize>),
    Positive {
        cholesky: SymbolicCholesky<usize>,
        /// For each entry the number of that on the other side of the diagonal.
        mirrors: Vec<usize>,
    },
}

impl Analysis {
    /// Analyses a square matrix with these starts of rows and columns.
    ///
    /// # Errors
    /// [`SparseFault::Memory`].
    ///
    /// # Panics
    /// If these are no compressed rows of a square matrix, with increasing columns; if the places are not symmetric and have to
    /// be.
    pub fn new(starts: &[usize], columns: &[u32], kind: SparseKind) -> Result<Analysis, SparseFault> {
        let order = starts.len() - 1;
        let columns: Vec<usize> = columns.iter().map(|&column| column as usize).collect();
        // Checks starts and columns.
        let matrix = SymbolicSparseColMatRef::new_checked(order, order, starts, None, &columns);
        let symbolic = match kind {
            SparseKind::General => {
                let symbolic = factorize_symbolic_lu(matrix, LuSymbolicParams::default());
                Symbolic::General(symbolic.map_err(|_| SparseFault::Memory)?)
            }
            SparseKind::Positive => {
                let params = CholeskySymbolicParams::default();
                let symbolic = factorize_symbolic_cholesky(matrix, faer::Side::Upper, SymmetricOrdering::Amd, params);
                let cholesky = symbolic.map_err(|_| SparseFault::Memory)?;
                Symbolic::Positive { cholesky, mirrors: mirrors(starts, &columns) }
            }
        };
        Ok(Analysis { starts: starts.to_vec(), columns, symbolic })
    }

    /// The order of the matrices.
    pub fn order(&self) -> usize {
        self.starts.len() - 1
    }

    /// About how many numbers the factors of a matrix have. With pivots their number depends on the matrix: then it is four times
    /// that of a Cholesky factor of `A + A^T`, in an order of its own.
    ///
    /// It takes as long as the analysis.
    pub fn estimated_size(&self) -> usize {
        if let Symbolic::Positive { cholesky, .. } = &self.symbolic {
            return cholesky.len_val();
        }
        let rows = self.starts.windows(2).enumerate();
        let mut above: Vec<(usize, usize)> = rows
            .flat_map(|(row, bounds)| {
                self.columns[bounds[0]..bounds[1]].iter().map(move |&col| (row.max(col), row.min(col)))
            })
            .collect();
        above.sort_unstable();
        above.dedup();
        let mut starts = vec![0; self.starts.len()];
        above.iter().for_each(|&(col, _)| starts[col + 1] += 1);
        (1..starts.len()).for_each(|col| starts[col] += starts[col - 1]);
        let rows: Vec<usize> = above.into_iter().map(|(_, row)| row).collect();
        let matrix = SymbolicSparseColMatRef::new_checked(self.order(), self.order(), &starts, None, &rows);
        let params = CholeskySymbolicParams::default();
        match factorize_symbolic_cholesky(matrix, faer::Side::Upper, SymmetricOrdering::Amd, params) {
            Ok(symbolic) => symbolic.len_val().saturating_mul(4),
            Err(_) => usize::MAX,
        }
    }

    /// The places of the transposed matrix by columns.
    fn matrix(&self) -> SymbolicSparseColMatRef<'_, usize> {
        SymbolicSparseColMatRef::new_checked(self.order(), self.order(), &self.starts, None, &self.columns)
    }
}

/// For each entry the number of that on the other side of the diagonal.
fn mirrors(starts: &[usize], columns: &[usize]) -> Vec<usize> {
    // The entries of a column, from the first row on, are those of the row of its number from the first column on.
    let mut next = starts.to_vec();
    let mut mirrors = Vec::with_capacity(columns.len());
    for (row, bounds) in starts.windows(2).enumerate() {
        for &column in &columns[bounds[0]..bounds[1]] {
            let mirror = next[column];
            assert!(mirror < starts[column + 1] && columns[mirror] == row, "the places are symmetric");
            mirrors.push(mirror);
            next[column] += 1;
        }
    }
    mirrors
}
