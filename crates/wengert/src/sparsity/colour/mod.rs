//! Graph colouring: which columns and rows of a sparse derivative one product can serve.
//!
//! A product `J s` with a seed `s` that is 1 at several columns gives the sum of these columns. Columns that have no row in
//! common can be told apart in it, so that a Jacobian needs as many products as there are *colours*, not columns (Curtis,
//! Powell and Reid 1974). Finding few colours is a problem of graphs: columns are vertices, two that must not share a colour
//! are neighbours. This module knows patterns alone.
//!
//! The terms and algorithms are those of Gebremedhin, Manne and Pothen, "What color is your Jacobian?" (SIAM Review 47, 2005).

use std::fmt;

use crate::pattern::Pattern;

mod distance2;
mod recovery;

pub use recovery::Recovery;

/// The colour of a column or row that no product serves: it has no entries, or those of the other side recover them.
pub const NO_COLOUR: u32 = u32::MAX;

/// What is divided into colours, and how entries are recovered from the products.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Partition {
    /// The columns: products `J s`. No row has two entries in columns of one colour.
    Columns,
    /// The rows: products `sᵀ J`. No column has two entries in rows of one colour.
    Rows,
    /// Columns and rows: every entry is alone in its row among those of its column's colour, or alone in its column among
    /// those of its row's colour.
    Bidirectional,
    /// The columns of a symmetric matrix, so that one of `(i, j)` and `(j, i)` is alone in its product.
    Star,
    /// The columns of a symmetric matrix, so that entries follow from the products one after the other, by substitution.
    Acyclic,
}

/// In which order columns or rows receive the smallest colour that is free for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// As they are numbered.
    Natural,
}

/// Colours of columns, rows or both: which of them one product serves.
///
/// ```
/// use wengert::sparsity::{Colouring, Order, Pattern};
/// // A matrix with three diagonals.
/// let near = |i: usize| (0..10).filter(move |j: &usize| i.abs_diff(*j) <= 1).map(move |j| (i, j));
/// let pattern = Pattern::from_entries(10, 10, (0..10).flat_map(near))?;
/// let colouring = Colouring::columns(&pattern, Order::Natural);
/// assert_eq!(colouring.count(), 3);
/// assert_eq!(colouring.column_colours()[..6], [0, 1, 2, 0, 1, 2]);
/// # Ok::<(), wengert::sparsity::PatternError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Colouring {
    partition: Partition,
    columns: Colours,
    rows: Colours,
}

/// A colour of each vertex of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Colours {
    /// Empty if there is none at all.
    of: Vec<u32>,
    count: u32,
}

/// Why colours do not fit a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColouringError(String);

impl fmt::Display for ColouringError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ColouringError {}

impl Colouring {
    /// Colours of columns, so that no row has two entries in columns of one colour: a partial distance-2 colouring of the
    /// bipartite graph of rows and columns. Columns without entries have [`NO_COLOUR`].
    pub fn columns(pattern: &Pattern, order: Order) -> Colouring {
        let columns = distance2::colours(pattern, &pattern.transposed(), order);
        Colouring { partition: Partition::Columns, columns, rows: Colours::default() }
    }

    /// Colours of rows, so that no column has two entries in rows of one colour. Rows without entries have [`NO_COLOUR`].
    pub fn rows(pattern: &Pattern, order: Order) -> Colouring {
        let rows = distance2::colours(&pattern.transposed(), pattern, order);
        Colouring { partition: Partition::Rows, columns: Colours::default(), rows }
    }

    /// What is divided into colours.
    pub fn partition(&self) -> Partition {
        self.partition
    }

    /// How many products are needed: colours of columns and of rows.
    pub fn count(&self) -> usize {
        self.column_count() + self.row_count()
    }

    /// How many colours columns have: products `J s`.
    pub fn column_count(&self) -> usize {
        self.columns.count as usize
    }

    /// How many colours rows have: products `sᵀ J`.
    pub fn row_count(&self) -> usize {
        self.rows.count as usize
    }

    /// The colour of each column, below [`Colouring::column_count`] or [`NO_COLOUR`]; empty if columns have none.
    pub fn column_colours(&self) -> &[u32] {
        &self.columns.of
    }

    /// The colour of each row, below [`Colouring::row_count`] or [`NO_COLOUR`]; empty if rows have none.
    pub fn row_colours(&self) -> &[u32] {
        &self.rows.of
    }

    /// Where the entries of a matrix of this pattern stand in the products; it also proves that all can be recovered.
    ///
    /// # Errors
    /// If the colouring is of another pattern: sizes differ, or an entry cannot be recovered, which is named. If the
    /// products have 2^32 elements or more.
    pub fn recovery(&self, pattern: &Pattern) -> Result<Recovery, ColouringError> {
        Recovery::new(self, pattern)
    }
}

impl Colours {
    /// The colour of a vertex, if it has one.
    fn get(&self, vertex: usize) -> Option<u32> {
        self.of.get(vertex).copied().filter(|&colour| colour != NO_COLOUR)
    }
}
