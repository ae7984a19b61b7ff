//! [`Pattern`]: which entries of a sparse matrix may differ from zero.
//!
//! Plain data: the library states the patterns of Jacobians in it, and colours and fills them. [`Runs`] holds a pattern as runs of
//! rows that are alike; [`Reach`] says how the results of an operation reach into an operand.

mod places;
mod reach;
mod runs;
#[cfg(test)]
mod tests;

use std::fmt;

pub use places::Places;
pub use reach::{Boxes, Lists, Preceding, Reach};
pub use runs::Runs;

/// Which entries of a matrix may differ from zero, row by row (compressed sparse rows without values).
///
/// The columns of a row increase, and none stands twice. Rows and columns without entries are allowed, and so are matrices
/// without rows or columns.
///
/// ```
/// # use wengert_kernels::pattern::Pattern;
/// let pattern = Pattern::from_entries(2, 3, [(0, 2), (1, 1), (0, 0), (0, 2)])?;
/// assert_eq!(pattern.row(0), [0, 2]);
/// assert_eq!(pattern.nnz(), 3);
/// # Ok::<(), wengert_kernels::pattern::PatternError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Pattern {
    cols: usize,
    /// Where each row begins in `columns`, and the end of the last.
    starts: Vec<usize>,
    columns: Vec<u32>,
}

/// Which entries of a matrix are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stored {
    /// All that may differ from zero.
    Whole,
    /// Of a symmetric matrix those on and below the diagonal; those above it are the same numbers.
    Lower,
}

/// Why rows, columns or entries do not make a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternError(String);

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PatternError {}

/// That of a pattern with more rows than there is memory for.
fn no_room(rows: usize) -> PatternError {
    PatternError(format!("there is no memory for a pattern of {rows} rows"))
}

impl Pattern {
    /// The pattern of these entries (row, column), in any order; an entry may stand more than once.
    ///
    /// # Errors
    /// If an entry is outside the matrix, or there are more than 2^32 rows or columns.
    pub fn from_entries(
        rows: usize,
        cols: usize,
        entries: impl IntoIterator<Item = (usize, usize)>,
    ) -> Result<Pattern, PatternError> {
        check_columns(cols)?;
        if rows as u64 > 1 << 32 {
            return Err(PatternError(format!("there are {rows} rows, and a pattern has 2^32 at most")));
        }
        let mut entries: Vec<(usize, usize)> = entries.into_iter().collect();
        if let Some((row, col)) = entries.iter().find(|(row, col)| *row >= rows || *col >= cols) {
            return Err(PatternError(format!("the entry ({row}, {col}) is outside a matrix of {rows} x {cols}")));
        }
        entries.sort_unstable();
        entries.dedup();
        let mut starts = vec![0; rows + 1];
        for (row, _) in &entries {
            starts[row + 1] += 1;
        }
        for row in 0..rows {
            starts[row + 1] += starts[row];
        }
        Ok(Pattern { cols, starts, columns: entries.iter().map(|&(_, col)| col as u32).collect() })
    }

    /// The pattern with these row starts (one more than there are rows) and columns.
    ///
    /// # Errors
    /// If the starts do not begin with 0, decrease, or do not end with the number of columns given; if the columns of a row
    /// do not increase; if one is outside the matrix; if there are more than 2^32 columns.
    pub fn from_rows(cols: usize, starts: Vec<usize>, columns: Vec<u32>) -> Result<Pattern, PatternError> {
        check_columns(cols)?;
        if starts.first() != Some(&0) || starts.last() != Some(&columns.len()) {
            let message = format!("the starts of rows must go from 0 to {}, the number of entries", columns.len());
            return Err(PatternError(message));
        }
        if let Some(row) = (1..starts.len()).find(|&row| starts[row] < starts[row - 1]) {
            return Err(PatternError(format!("row {} starts behind the one after it", row - 1)));
        }
        for (row, bounds) in starts.windows(2).enumerate() {
            let own = &columns[bounds[0]..bounds[1]];
            if let Some(pair) = own.windows(2).find(|pair| pair[0] >= pair[1]) {
                let (one, next) = (pair[0], pair[1]);
                return Err(PatternError(format!("in row {row} column {next} stands behind column {one}")));
            }
            if let Some(&last) = own.last().filter(|&&last| last as usize >= cols) {
                return Err(PatternError(format!("row {row} has column {last}, and there are {cols} columns")));
            }
        }
        Ok(Pattern { cols, starts, columns })
    }

    /// The pattern of a square matrix of this size that has its diagonal alone.
    ///
    /// # Panics
    /// If there are more than 2^32 rows.
    pub fn diagonal(size: usize) -> Pattern {
        assert!(check_columns(size).is_ok(), "a pattern with {size} columns: there may be 2^32");
        Pattern { cols: size, starts: (0..=size).collect(), columns: (0..size).map(|col| col as u32).collect() }
    }

    /// The pattern of a matrix without entries.
    ///
    /// # Panics
    /// If there are more than 2^32 columns.
    pub fn empty(rows: usize, cols: usize) -> Pattern {
        assert!(check_columns(cols).is_ok(), "a pattern with {cols} columns: there may be 2^32");
        Pattern { cols, starts: vec![0; rows + 1], columns: Vec::new() }
    }

    /// As [`Pattern::empty`].
    ///
    /// # Errors
    /// If there are more than 2^32 columns, or no memory for as many rows.
    pub fn try_empty(rows: usize, cols: usize) -> Result<Pattern, PatternError> {
        check_columns(cols)?;
        let mut starts = Vec::new();
        let count = rows.checked_add(1).filter(|&count| starts.try_reserve_exact(count).is_ok());
        starts.resize(count.ok_or_else(|| no_room(rows))?, 0);
        Ok(Pattern { cols, starts, columns: Vec::new() })
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// How many columns there are.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// How many entries may differ from zero.
    pub fn nnz(&self) -> usize {
        self.columns.len()
    }

    /// The columns of a row, increasing.
    pub fn row(&self, row: usize) -> &[u32] {
        &self.columns[self.starts[row]..self.starts[row + 1]]
    }

    /// Where each row begins in [`Pattern::columns`], and the end of the last.
    pub fn starts(&self) -> &[usize] {
        &self.starts
    }

    /// The columns of all entries, row by row.
    pub fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// All entries (row, column), row by row.
    pub fn entries(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        (0..self.rows()).flat_map(|row| self.row(row).iter().map(move |&col| (row, col as usize)))
    }

    /// Whether this entry may differ from zero.
    pub fn contains(&self, row: usize, col: usize) -> bool {
        u32::try_from(col).is_ok_and(|col| self.row(row).binary_search(&col).is_ok())
    }

    /// The rows of these patterns, one after the other; each has this number of columns.
    pub fn stacked(blocks: &[Pattern], cols: usize) -> Pattern {
        let (mut starts, mut columns) = (vec![0], Vec::new());
        for block in blocks {
            debug_assert_eq!(block.cols, cols, "blocks of one width");
            starts.extend(block.starts[1..].iter().map(|start| columns.len() + start));
            columns.extend(&block.columns);
        }
        Pattern { cols, starts, columns }
    }

    /// The entries of either.
    pub fn union(&self, other: &Pattern) -> Pattern {
        self.combined(other, |own, other, columns| {
            columns.extend(own);
            columns.extend(other.iter().filter(|col| own.binary_search(col).is_err()));
        })
    }

    /// The entries of both.
    pub fn intersection(&self, other: &Pattern) -> Pattern {
        self.combined(other, |own, other, columns| {
            columns.extend(own.iter().filter(|col| other.binary_search(col).is_ok()));
        })
    }

    /// The pattern whose rows come from those of two patterns of one shape.
    fn combined(&self, other: &Pattern, row_of: impl Fn(&[u32], &[u32], &mut Vec<u32>)) -> Pattern {
        debug_assert_eq!((self.rows(), self.cols), (other.rows(), other.cols), "patterns of one shape");
        let (mut starts, mut columns) = (vec![0], Vec::new());
        for row in 0..self.rows() {
            let begin = columns.len();
            row_of(self.row(row), other.row(row), &mut columns);
            columns[begin..].sort_unstable();
            starts.push(columns.len());
        }
        Pattern { cols: self.cols, starts, columns }
    }

    /// The same entries with rows and columns exchanged.
    ///
    /// # Panics
    /// If there are more than 2^32 rows.
    pub fn transposed(&self) -> Pattern {
        assert!(check_columns(self.rows()).is_ok(), "a pattern with {} columns: there may be 2^32", self.rows());
        let mut starts = vec![0; self.cols + 1];
        for &col in &self.columns {
            starts[col as usize + 1] += 1;
        }
        for col in 0..self.cols {
            starts[col + 1] += starts[col];
        }
        let mut next = starts.clone();
        let mut columns = vec![0; self.nnz()];
        for row in 0..self.rows() {
            for &col in self.row(row) {
                columns[next[col as usize]] = row as u32;
                next[col as usize] += 1;
            }
        }
        Pattern { cols: self.rows(), starts, columns }
    }

    /// The entries on and below the diagonal.
    pub fn lower(&self) -> Pattern {
        self.filtered(|row, col| col <= row)
    }

    /// The entries on and above the diagonal.
    pub fn upper(&self) -> Pattern {
        self.filtered(|row, col| col >= row)
    }

    /// The entries (row, column) for which `keeps` answers yes, in a matrix of the same size.
    ///
    /// ```
    /// # use wengert_kernels::pattern::Pattern;
    /// let pattern = Pattern::from_entries(2, 3, [(0, 0), (0, 2), (1, 1)])?;
    /// // What the products of a solver that wants row 0 alone must serve.
    /// assert_eq!(pattern.filtered(|row, _| row == 0).nnz(), 2);
    /// # Ok::<(), wengert_kernels::pattern::PatternError>(())
    /// ```
    pub fn filtered(&self, mut keeps: impl FnMut(usize, usize) -> bool) -> Pattern {
        let mut starts = Vec::with_capacity(self.starts.len());
        let mut columns = Vec::new();
        starts.push(0);
        for row in 0..self.rows() {
            columns.extend(self.row(row).iter().filter(|&&col| keeps(row, col as usize)));
            starts.push(columns.len());
        }
        Pattern { cols: self.cols, starts, columns }
    }

    /// These columns alone, which increase, numbered anew.
    pub fn of_columns(&self, chosen: &[u32]) -> Pattern {
        let mut number = vec![u32::MAX; self.cols];
        chosen.iter().zip(0..).for_each(|(&col, place)| number[col as usize] = place);
        let kept = self.filtered(|_, col| number[col] != u32::MAX);
        let columns = kept.columns.iter().map(|&col| number[col as usize]).collect();
        Pattern { cols: chosen.len(), starts: kept.starts, columns }
    }
}

/// `Pattern(2 x 3, 4 entries)`: the entries themselves may be millions.
impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pattern({} x {}, {} entries)", self.rows(), self.cols, self.nnz())
    }
}

/// The distances of neighbours in row-major order.
fn distances(shape: &[usize]) -> Vec<usize> {
    let mut distances = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        distances[axis - 1] = distances[axis] * shape[axis];
    }
    distances
}

/// Columns are numbered in 32 bits.
fn check_columns(cols: usize) -> Result<(), PatternError> {
    match cols as u64 > 1 << 32 {
        true => Err(PatternError(format!("there are {cols} columns, and a pattern has 2^32 at most"))),
        false => Ok(()),
    }
}

/// The places of the entries, column by column.
pub fn by_column(pattern: &Pattern) -> Vec<u32> {
    let mut next = vec![0; pattern.cols() + 1];
    for &col in pattern.columns() {
        next[col as usize + 1] += 1;
    }
    for col in 0..pattern.cols() {
        next[col + 1] += next[col];
    }
    let mut places = vec![0; pattern.nnz()];
    for (place, &col) in pattern.columns().iter().enumerate() {
        places[next[col as usize]] = place as u32;
        next[col as usize] += 1;
    }
    places
}

/// For each entry of a symmetric pattern the place of its mirror image.
///
/// # Errors
/// If the pattern is not square, or an entry has no mirror image; it is named.
pub fn twins(pattern: &Pattern) -> Result<Vec<u32>, PatternError> {
    let (rows, cols) = (pattern.rows(), pattern.cols());
    if rows != cols {
        return Err(PatternError(format!("a symmetric matrix is square, and this pattern is {rows} x {cols}")));
    }
    // Rows are taken in order, so that the mirror images in each row come in order too.
    let mut next = pattern.starts()[..rows].to_vec();
    let mut twins = Vec::with_capacity(pattern.nnz());
    for (row, col) in pattern.entries() {
        let place = next[col];
        if place == pattern.starts()[col + 1] || pattern.columns()[place] as usize != row {
            let (row, col) = if pattern.contains(col, row) { unmirrored(pattern) } else { (row, col) };
            return Err(PatternError(format!(
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
