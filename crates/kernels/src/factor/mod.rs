//! Factorisations of matrices, batch by batch, over a pool of threads.
//!
//! All matrices are row-major. A call takes a batch of them, one behind the other, and three ways lead to a result:
//!
//! - matrices up to [`SMALL`] rows and columns are taken eight at a time, one in each lane of a vector;
//! - triangles ([`Cholesky`], [`Lu`] and their derivatives [`CholeskyTangent`] and [`LuTangent`], [`Solve`]) are halved again and again, so that nearly all work is in products
//!   ([`product`](mod@crate::product)), which use all threads for a large matrix; and so are [`Determinants`] and [`Cofactors`], which are made of
//!   triangles;
//! - the others ([`Qr`], [`Eigh`], [`Svd`]) are computed by the library `faer`, on one thread for each matrix; except QR factors
//!   of tall matrices, which are made of products and triangles, and the tridiagonal matrices that symmetric ones become, which
//!   are divided here. Threads share that for a single large matrix, and the reflection of its vectors.
//!
//! Which one it is, and how a batch is cut into parts, follows **from shapes alone**, or from the matrix: the bits of a result are the same on any
//! number of threads, and do not depend on the other matrices of the batch.
//!
//! # Errors
//!
//! Entries that are not finite are found before anything iterates over them; a triangular system has them in its solution. A matrix that has no factorisation has NaN as
//! its results, all others of the batch have theirs, and the error names the first one ([`Failed`]).
//!
//! # Memory
//!
//! Each operation says how many bytes of workspace it takes. Beside these, products pack their operands
//! ([`product::workspace`](crate::product::workspace)), and so do those inside of the library.
//!
//! ```
//! use wengert_kernels::Pool;
//! use wengert_kernels::arena::Arena;
//! use wengert_kernels::factor::{Cholesky, Failed, Fault, Reads};
//!
//! let cholesky = Cholesky { n: 2, count: 2, reads: Reads::Lower };
//! let mut arena = Arena::new(cholesky.workspace::<f64>(1))?;
//! let mut a = [4.0, 0.0, 2.0, 5.0, 1.0, 0.0, 2.0, 1.0];
//! let failed = cholesky.run(&mut a, arena.as_lines_mut(), &Pool::new(1));
//! assert_eq!(a[..4], [2.0, 0.0, 1.0, 2.0]);
//! assert_eq!(failed, Err(Failed { index: 1, fault: Fault::NotPositive { minor: 2 } }));
//! # Ok::<(), wengert_kernels::arena::TooLarge>(())
//! ```

use std::error::Error;
use std::fmt;

mod batch;
mod both;
mod cholesky;
mod cholesky_tangent;
mod cofactors;
mod determinants;
mod divide;
mod eigh;
#[expect(clippy::needless_range_loop, reason = "rows and columns are the indices of formulas")]
mod lanes;
pub(crate) mod library;
mod lu;
mod lu_tangent;
mod number;
mod qr;
mod secular;
mod svd;
mod tall;
mod triangular;

pub use cholesky::Cholesky;
pub use cholesky_tangent::CholeskyTangent;
pub use cofactors::Cofactors;
pub use determinants::Determinants;
pub use eigh::Eigh;
pub use lu::Lu;
pub use lu_tangent::LuTangent;
pub use number::Number;
pub use qr::Qr;
pub use svd::Svd;
pub use triangular::{Side, Solve, Triangle};

/// Matrices with at most this many rows and columns are taken in lanes.
pub const SMALL: usize = 8;

/// Which entries of a symmetric operand are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reads {
    /// Those on the diagonal and below; the others may hold anything.
    Lower,
    /// All: the operand is `(a + aᵀ) / 2`.
    Mean,
}

/// An entry that is no finite number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Entry {
    /// Not a number.
    Nan,
    /// Infinite and positive.
    Infinite,
    /// Infinite and negative.
    MinusInfinite,
}

impl fmt::Display for Entry {
    /// As of the number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Entry::Nan => "NaN",
            Entry::Infinite => "inf",
            Entry::MinusInfinite => "-inf",
        })
    }
}

/// Why a matrix has no factorisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// An entry that is read is NaN or infinite.
    NotFinite {
        /// Its row.
        row: usize,
        /// Its column.
        column: usize,
        /// What it is.
        entry: Entry,
    },
    /// The leading minor of this order, counted from 1, is not positive: there is no Cholesky factor.
    NotPositive {
        /// Its order.
        minor: usize,
    },
    /// This entry of a triangle's diagonal is zero.
    Singular {
        /// Its row.
        pivot: usize,
    },
    /// Too many steps of an iteration.
    NoConvergence,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::NotFinite { row, column, entry } => write!(f, "the entry in row {row}, column {column} is {entry}"),
            Fault::NotPositive { minor } => write!(f, "the leading minor of order {minor} is not positive"),
            Fault::Singular { pivot } => write!(f, "entry {pivot} of the diagonal is zero"),
            Fault::NoConvergence => write!(f, "the iteration does not converge"),
        }
    }
}

/// The first matrix of a batch that has no factorisation. Its results are NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Failed {
    /// Its number in the batch.
    pub index: usize,
    /// What is wrong with it.
    pub fault: Fault,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "matrix {} of the batch: {}", self.index, self.fault)
    }
}

impl Error for Failed {}
