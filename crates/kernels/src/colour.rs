//! Graph colouring: which columns and rows of a sparse derivative one product can serve.
//!
//! A product `J s` with a seed `s` that is 1 at several columns gives the sum of these columns. Columns that have no row in
//! common can be told apart in it, so that a Jacobian needs as many products as there are *colours*, not columns (Curtis,
//! Powell and Reid 1974). Finding few colours is a problem of graphs: columns are vertices, two that must not share a colour
//! are neighbours. This module knows patterns alone.
//!
//! The terms and algorithms are those of Gebremedhin, Manne and Pothen, "What color is your Jacobian?" (SIAM Review 47, 2005).

use std::fmt;
use std::time::{Duration, Instant};

use self::order::Graph;
use crate::pattern::{Pattern, Stored, twins};

mod order;

mod distance2;
mod exact;
mod lattice;
mod search;

mod bidirectional;
mod symmetric;

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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// The best that is found of formulas for grids and bands, several orders and their improvements, with work that the
    /// pattern alone decides: the colours are the same on every run.
    #[default]
    Best,
    /// The same, and random orders until this much time has passed or nothing is left to gain. It ends later if what it has
    /// begun takes longer.
    BestWithin(Duration),
    /// As they are numbered.
    Natural,
    /// By falling numbers of neighbours.
    LargestFirst,
    /// The last is the one with the fewest neighbours, the one before it that with the fewest of the others, and so on.
    SmallestLast,
    /// Next comes the one with the most neighbours among those before it.
    IncidenceDegree,
    /// Next comes the one with the most neighbours among those behind it.
    DynamicLargestFirst,
    /// A random order that follows from this number.
    Random(u64),
}

/// Colours of columns, rows or both: which of them one product serves.
///
/// ```
/// use wengert_kernels::colour::{Colouring, Order};
/// use wengert_kernels::pattern::Pattern;
/// // A matrix with three diagonals.
/// let near = |i: usize| (0..10).filter(move |j: &usize| i.abs_diff(*j) <= 1).map(move |j| (i, j));
/// let pattern = Pattern::from_entries(10, 10, (0..10).flat_map(near))?;
/// let colouring = Colouring::columns(&pattern, Order::Natural);
/// assert_eq!(colouring.count(), 3);
/// assert_eq!(colouring.column_colours()[..6], [0, 1, 2, 0, 1, 2]);
/// # Ok::<(), wengert_kernels::pattern::PatternError>(())
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
    /// bipartite graph of rows and columns.
    ///
    /// At least as many colours as the longest row has entries are needed. Columns without entries may have [`NO_COLOUR`].
    pub fn columns(pattern: &Pattern, order: Order) -> Colouring {
        let columns = shared(pattern, None, order);
        Colouring { partition: Partition::Columns, columns, rows: Colours::default() }
    }

    /// Colours of rows, so that no column has two entries in rows of one colour; [`Colouring::columns`] of the transposed
    /// pattern.
    pub fn rows(pattern: &Pattern, order: Order) -> Colouring {
        let rows = shared(&pattern.transposed(), Some(pattern), order);
        Colouring { partition: Partition::Rows, columns: Colours::default(), rows }
    }

    /// Colours of columns and rows, so that each entry is recovered from a product with columns or one with rows.
    ///
    /// It needs few colours where a few rows and a few columns are long: 3 for an arrow, which needs as many as it is large by
    /// columns or rows alone. It never has more than the better of these two with [`Order::Best`].
    ///
    /// ```
    /// use wengert_kernels::colour::{Colouring, Order};
    /// use wengert_kernels::pattern::Pattern;
    /// let arrow = (0..50).flat_map(|i| [(0, i), (i, 0), (i, i)]);
    /// let pattern = Pattern::from_entries(50, 50, arrow)?;
    /// let colouring = Colouring::bidirectional(&pattern, Order::Best);
    /// assert_eq!((colouring.column_count(), colouring.row_count()), (2, 1));
    /// # Ok::<(), wengert_kernels::pattern::PatternError>(())
    /// ```
    pub fn bidirectional(pattern: &Pattern, order: Order) -> Colouring {
        let (columns, rows) = bidirectional::colours(pattern, &pattern.transposed(), order);
        Colouring { partition: Partition::Bidirectional, columns, rows }
    }

    /// Colours of the columns of a symmetric matrix, so that of each entry and its mirror image one is alone in its product:
    /// a star colouring.
    ///
    /// Entries of the diagonal may be missing.
    ///
    /// # Errors
    /// If the pattern is not square or not symmetric, or has 2^32 entries or more.
    pub fn star(pattern: &Pattern, order: Order) -> Result<Colouring, ColouringError> {
        check_symmetric(pattern)?;
        Ok(Colouring::of_symmetric(Partition::Star, pattern, order))
    }

    /// Colours of the columns of a symmetric matrix, so that all entries follow from the products by substitution: an acyclic
    /// colouring. It needs fewer colours than [`Colouring::star`], and rounding errors are added up along a substitution.
    ///
    /// # Errors
    /// As [`Colouring::star`].
    pub fn acyclic(pattern: &Pattern, order: Order) -> Result<Colouring, ColouringError> {
        check_symmetric(pattern)?;
        Ok(Colouring::of_symmetric(Partition::Acyclic, pattern, order))
    }

    /// Colours that somebody chose; whether they fit a pattern is what [`Colouring::recovery`] tells. The list of a side that
    /// has no colours is empty.
    ///
    /// # Errors
    /// If a colour is not below the number of columns (or rows) and not [`NO_COLOUR`]; if colours are given for a side that the
    /// partition does not have.
    pub fn new(partition: Partition, columns: Vec<u32>, rows: Vec<u32>) -> Result<Colouring, ColouringError> {
        let unused = match partition {
            Partition::Columns | Partition::Star | Partition::Acyclic => ("rows", rows.len()),
            Partition::Rows => ("columns", columns.len()),
            Partition::Bidirectional => ("columns", 0),
        };
        if unused.1 > 0 {
            return Err(ColouringError(format!(
                "{partition:?}: colours of {} {}, which need none",
                unused.1, unused.0
            )));
        }
        let [columns, rows] = [("column", columns), ("row", rows)].map(|(kind, of)| Colours::given(kind, of));
        Ok(Colouring { partition, columns: columns?, rows: rows? })
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
        Recovery::new(self, pattern, Stored::Whole)
    }

    /// The same for the entries on and below the diagonal of a symmetric matrix, in the order of [`Pattern::lower`].
    ///
    /// # Errors
    /// As [`Colouring::recovery`], and if the pattern is not symmetric.
    pub fn recovery_of_lower(&self, pattern: &Pattern) -> Result<Recovery, ColouringError> {
        Recovery::new(self, pattern, Stored::Lower)
    }

    fn of_symmetric(partition: Partition, pattern: &Pattern, order: Order) -> Colouring {
        let columns = match order {
            Order::Best | Order::BestWithin(_) => symmetric::best(pattern, partition, order.until()),
            order => symmetric::greedy(pattern, partition, &order::vertices(Graph::Symmetric(pattern), order)),
        };
        Colouring { partition, columns, rows: Colours::default() }
    }
}

/// Colours of the columns of `by_row`; the transposed pattern is made if it is needed and not given.
fn shared(by_row: &Pattern, by_column: Option<&Pattern>, order: Order) -> Colours {
    if matches!(order, Order::Best | Order::BestWithin(_)) {
        return search::best(by_row, by_column, order.until());
    }
    let made = by_column.is_none().then(|| by_row.transposed());
    let by_column = by_column.or(made.as_ref()).expect("given or made");
    distance2::greedy(by_row, by_column, &order::vertices(Graph::Shared(by_row, by_column), order))
}

fn check_symmetric(pattern: &Pattern) -> Result<(), ColouringError> {
    if u32::try_from(pattern.nnz()).is_err() {
        return Err(ColouringError(format!("{} entries: there may be fewer than 2^32", pattern.nnz())));
    }
    twins(pattern).map(|_| ()).map_err(|error| ColouringError(error.to_string()))
}

impl Order {
    /// When a search in this order ends, if time ends it.
    fn until(self) -> Option<Instant> {
        match self {
            Order::BestWithin(time) => Instant::now().checked_add(time),
            _ => None,
        }
    }
}

impl Colours {
    /// Colours that somebody chose.
    fn given(kind: &str, of: Vec<u32>) -> Result<Colours, ColouringError> {
        let has_one = |colour: &&u32| **colour != NO_COLOUR;
        let count = of.iter().filter(has_one).max().map_or(0, |&most| most + 1);
        if count as usize > of.len() {
            let vertex = of.iter().position(|&colour| colour != NO_COLOUR && colour == count - 1).unwrap_or(0);
            let (colour, all) = (count - 1, of.len());
            return Err(ColouringError(format!("{kind} {vertex} has colour {colour}, and {all} colours are enough")));
        }
        Ok(Colours { of, count })
    }

    /// The colour of a vertex, if it has one.
    fn get(&self, vertex: usize) -> Option<u32> {
        self.of.get(vertex).copied().filter(|&colour| colour != NO_COLOUR)
    }

    /// The same colours for those vertices alone that have entries; `by_vertex` has a row for each.
    fn of_vertices(mut self, by_vertex: &Pattern) -> Colours {
        for (vertex, colour) in self.of.iter_mut().enumerate() {
            if by_vertex.row(vertex).is_empty() {
                *colour = NO_COLOUR;
            }
        }
        self.compact()
    }

    /// The same colours, numbered without gaps.
    fn compact(mut self) -> Colours {
        let mut number = vec![NO_COLOUR; self.count as usize];
        let mut count = 0;
        for colour in self.of.iter_mut().filter(|colour| **colour != NO_COLOUR) {
            let own = &mut number[*colour as usize];
            if *own == NO_COLOUR {
                *own = count;
                count += 1;
            }
            *colour = *own;
        }
        self.count = count;
        self
    }
}
