//! [`Recovery`]: from the products with coloured seeds to the entries of the matrix.

use super::{Colouring, ColouringError, Partition};
use crate::pattern::Pattern;

/// Where the entries of a matrix stand in its products with coloured seeds.
///
/// The products stand one after the other in one list, the compressed matrix: first those with columns, `J s`, as
/// `[colour][row]`; behind them those with rows, `sᵀ J`, as `[colour][column]`. The seed `s` of a colour is 1 at the columns
/// or rows of that colour and 0 elsewhere. Entries are written row by row as the pattern lists them.
///
/// ```
/// use wengert::sparsity::{Colouring, Order, Pattern};
/// let pattern = Pattern::from_entries(3, 3, [(0, 0), (1, 1), (1, 2), (2, 2)])?;
/// let colouring = Colouring::columns(&pattern, Order::Natural);
/// assert_eq!(colouring.column_colours(), [0, 0, 1]);
/// let recovery = colouring.recovery(&pattern)?;
/// // The matrix [[1, 0, 0], [0, 2, 3], [0, 0, 4]] times the seeds (1, 1, 0) and (0, 0, 1).
/// let mut values = [0.0; 4];
/// recovery.apply(&[1.0, 2.0, 0.0, 0.0, 3.0, 4.0], &mut values);
/// assert_eq!(values, [1.0, 2.0, 3.0, 4.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// The place of each entry in the compressed matrix.
    sources: Vec<u32>,
    /// How many elements the compressed matrix has.
    compressed: usize,
}

impl Recovery {
    pub(super) fn new(colouring: &Colouring, pattern: &Pattern) -> Result<Recovery, ColouringError> {
        check_sizes(colouring, pattern)?;
        let compressed = compressed_len(colouring, pattern)?;
        let sources = match colouring.partition {
            Partition::Columns => column_sources(colouring, pattern)?,
            Partition::Rows => row_sources(colouring, pattern)?,
            partition => return Err(ColouringError(format!("{partition:?} comes with its colouring"))),
        };
        Ok(Recovery { sources, compressed })
    }

    /// How many elements the compressed matrix has.
    pub fn compressed_len(&self) -> usize {
        self.compressed
    }

    /// How many entries are recovered.
    pub fn nnz(&self) -> usize {
        self.sources.len()
    }

    /// The place of each entry in the compressed matrix.
    pub fn sources(&self) -> &[u32] {
        &self.sources
    }

    /// Writes the entries, without allocating.
    ///
    /// # Panics
    /// If `compressed` does not have [`Recovery::compressed_len`] elements, or `values` not [`Recovery::nnz`].
    #[track_caller]
    pub fn apply<T: Copy>(&self, compressed: &[T], values: &mut [T]) {
        assert_eq!(compressed.len(), self.compressed, "the elements of the compressed matrix");
        assert_eq!(values.len(), self.sources.len(), "the values of the matrix");
        for (value, &source) in values.iter_mut().zip(&self.sources) {
            *value = compressed[source as usize];
        }
    }
}

fn check_sizes(colouring: &Colouring, pattern: &Pattern) -> Result<(), ColouringError> {
    for (kind, given, needed) in
        [("columns", colouring.columns.of.len(), pattern.cols()), ("rows", colouring.rows.of.len(), pattern.rows())]
    {
        if given != needed && given != 0 {
            return Err(ColouringError(format!("colours of {given} {kind}, and the pattern has {needed}")));
        }
    }
    Ok(())
}

fn compressed_len(colouring: &Colouring, pattern: &Pattern) -> Result<usize, ColouringError> {
    let (columns, rows) = (u128::from(colouring.columns.count), u128::from(colouring.rows.count));
    let elements = columns * pattern.rows() as u128 + rows * pattern.cols() as u128;
    match u32::try_from(elements) {
        Ok(elements) => Ok(elements as usize),
        Err(_) => Err(ColouringError(format!("{} products of {elements} elements: there may be 2^32", columns + rows))),
    }
}

fn column_sources(colouring: &Colouring, pattern: &Pattern) -> Result<Vec<u32>, ColouringError> {
    let rows = pattern.rows();
    let mut sources = Vec::with_capacity(pattern.nnz());
    // The row in which each colour was last met, shifted by one, and the column.
    let mut met = vec![(0, 0); colouring.column_count()];
    for row in 0..rows {
        for &col in pattern.row(row) {
            let Some(colour) = colouring.columns.get(col as usize) else {
                return Err(ColouringError(format!("column {col} has no colour, and an entry in row {row}")));
            };
            let last = &mut met[colour as usize];
            if last.0 == row + 1 {
                let other = last.1;
                return Err(ColouringError(format!("columns {other} and {col} share colour {colour} and row {row}")));
            }
            *last = (row + 1, col);
            sources.push((colour as usize * rows + row) as u32);
        }
    }
    Ok(sources)
}

fn row_sources(colouring: &Colouring, pattern: &Pattern) -> Result<Vec<u32>, ColouringError> {
    let cols = pattern.cols();
    let mut sources = Vec::with_capacity(pattern.nnz());
    // The row of each element of the products.
    let mut met = vec![u32::MAX; colouring.row_count() * cols];
    for (row, col) in pattern.entries() {
        let Some(colour) = colouring.rows.get(row) else {
            return Err(ColouringError(format!("row {row} has no colour, and an entry in column {col}")));
        };
        let source = colour as usize * cols + col;
        if met[source] != u32::MAX {
            let other = met[source];
            return Err(ColouringError(format!("rows {other} and {row} share colour {colour} and column {col}")));
        }
        met[source] = row as u32;
        sources.push(source as u32);
    }
    Ok(sources)
}
