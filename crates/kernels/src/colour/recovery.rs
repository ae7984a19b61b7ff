//! [`Recovery`]: from the products with coloured seeds to the entries of the matrix.

use std::collections::VecDeque;
use std::ops::Sub;

use super::{Colouring, ColouringError, Partition};
use crate::pattern::{Pattern, Stored, by_column, twins};

/// Where the entries of a matrix stand in its products with coloured seeds.
///
/// The products stand one after the other in one list, the compressed matrix: first those with columns, `J s`, as
/// `[colour][row]`; behind them those with rows, `sᵀ J`, as `[colour][column]`. The seed `s` of a colour is 1 at the columns
/// or rows of that colour and 0 elsewhere. Values are written row by row as the pattern lists its entries.
///
/// With [`Partition::Acyclic`] some entries are not alone in any product; those beside them are subtracted, in an order in which
/// they are known (Gebremedhin, Tarafdar, Pothen and Walther 2009). For all other partitions recovery moves numbers only, so
/// that a NaN or an infinity stays where it is.
///
/// ```
/// use wengert_kernels::colour::{Colouring, Order};
/// use wengert_kernels::pattern::Pattern;
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
    /// The place of each value in the compressed matrix.
    sources: Vec<u32>,
    /// Pairs of values, one after the other: the second is subtracted from the first.
    subtractions: Vec<[u32; 2]>,
    /// How many elements the compressed matrix has.
    compressed: usize,
}

impl Recovery {
    pub(super) fn new(colouring: &Colouring, pattern: &Pattern, stored: Stored) -> Result<Recovery, ColouringError> {
        check_sizes(colouring, pattern)?;
        let compressed = compressed_len(colouring, pattern)?;
        let (sources, subtractions) = match colouring.partition {
            Partition::Columns => (column_sources(colouring, pattern)?, Vec::new()),
            Partition::Rows => (row_sources(colouring, pattern)?, Vec::new()),
            Partition::Bidirectional => (direct(colouring, pattern, Sides::Both, compressed)?, Vec::new()),
            Partition::Star => {
                twins(pattern).map_err(|error| ColouringError(error.to_string()))?;
                (direct(colouring, pattern, Sides::Mirrored, compressed)?, Vec::new())
            }
            Partition::Acyclic => {
                let twins = twins(pattern).map_err(|error| ColouringError(error.to_string()))?;
                substitution(colouring, pattern, &twins, compressed)?
            }
        };
        let all = Recovery { sources, subtractions, compressed };
        match stored {
            Stored::Whole => Ok(all),
            Stored::Lower => all.of_lower(pattern),
        }
    }

    /// How many elements the compressed matrix has.
    pub fn compressed_len(&self) -> usize {
        self.compressed
    }

    /// How many values are recovered.
    pub fn nnz(&self) -> usize {
        self.sources.len()
    }

    /// The place of each value in the compressed matrix; where there are [`Recovery::subtractions`], of the sum that it is in.
    pub fn sources(&self) -> &[u32] {
        &self.sources
    }

    /// Pairs of values: in this order, the second is subtracted from the first.
    pub fn subtractions(&self) -> &[[u32; 2]] {
        &self.subtractions
    }

    /// Writes the values, without allocating.
    ///
    /// # Panics
    /// If `compressed` does not have [`Recovery::compressed_len`] elements, or `values` not [`Recovery::nnz`].
    #[track_caller]
    pub fn apply<T: Copy + Sub<Output = T>>(&self, compressed: &[T], values: &mut [T]) {
        let (given, needed) = (compressed.len(), self.compressed);
        assert!(given == needed, "Recovery::apply: {given} elements of a compressed matrix of {needed}");
        let (given, needed) = (values.len(), self.nnz());
        assert!(given == needed, "Recovery::apply: {given} values for {needed} entries");
        for (value, &source) in values.iter_mut().zip(&self.sources) {
            *value = compressed[source as usize];
        }
        for &[target, known] in &self.subtractions {
            values[target as usize] = values[target as usize] - values[known as usize];
        }
    }

    /// The same for the entries on and below the diagonal alone.
    fn of_lower(&self, pattern: &Pattern) -> Result<Recovery, ColouringError> {
        let twins = twins(pattern).map_err(|error| ColouringError(error.to_string()))?;
        // The place of each entry among those of the lower triangle, and of an entry above it that of its mirror image.
        let mut place = vec![0; pattern.nnz()];
        let mut sources = Vec::with_capacity(pattern.nnz() / 2 + 1);
        for (entry, (row, col)) in pattern.entries().enumerate() {
            if col <= row {
                place[entry] = sources.len() as u32;
                place[twins[entry] as usize] = sources.len() as u32;
                sources.push(self.sources[entry]);
            }
        }
        let below: Vec<bool> = pattern.entries().map(|(row, col)| col <= row).collect();
        let own = self.subtractions.iter().filter(|[target, _]| below[*target as usize]);
        let subtractions = own.map(|pair| pair.map(|entry| place[entry as usize])).collect();
        Ok(Recovery { sources, subtractions, compressed: self.compressed })
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
    match u32::try_from(elements.max(pattern.nnz() as u128)) {
        Ok(_) => Ok(elements as usize),
        Err(_) => Err(ColouringError(format!(
            "{} products of {elements} elements for {} entries: both must be below 2^32",
            columns + rows,
            pattern.nnz()
        ))),
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
    let row_of = rows_of_entries(pattern);
    let mut sources = vec![0; pattern.nnz()];
    // The column in which each colour was last met, and the row.
    let mut met = vec![(u32::MAX, 0); colouring.row_count()];
    for place in by_column(pattern) {
        let (row, col) = (row_of[place as usize], pattern.columns()[place as usize]);
        let Some(colour) = colouring.rows.get(row as usize) else {
            return Err(ColouringError(format!("row {row} has no colour, and an entry in column {col}")));
        };
        let last = &mut met[colour as usize];
        if last.0 == col {
            let other = last.1;
            return Err(ColouringError(format!("rows {other} and {row} share colour {colour} and column {col}")));
        }
        *last = (col, row);
        sources[place as usize] = (colour as usize * cols + col as usize) as u32;
    }
    Ok(sources)
}

/// In which products an entry is.
#[derive(Clone, Copy)]
enum Sides {
    /// That of its column's colour, and that of its row's.
    Both,
    /// That of its column's colour; and its mirror image, which is the same number, in that of its row's.
    Mirrored,
}

impl Sides {
    /// The two places in the compressed matrix where an entry is added.
    fn places(self, colouring: &Colouring, pattern: &Pattern, row: usize, col: usize) -> [Option<usize>; 2] {
        let (rows, cols) = (pattern.rows(), pattern.cols());
        let at = |colour: Option<u32>, len: usize, place: usize| Some(colour? as usize * len + place);
        let first = at(colouring.columns.get(col), rows, row);
        let second = match self {
            Sides::Both => at(colouring.rows.get(row), cols, col).map(|at| colouring.column_count() * rows + at),
            Sides::Mirrored => at(colouring.columns.get(row), rows, col),
        };
        [first, second]
    }
}

/// Every entry is read where it is alone.
fn direct(
    colouring: &Colouring,
    pattern: &Pattern,
    sides: Sides,
    compressed: usize,
) -> Result<Vec<u32>, ColouringError> {
    let mut addends = vec![0_u32; compressed];
    for (row, col) in pattern.entries() {
        let [first, second] = sides.places(colouring, pattern, row, col);
        let own = match sides {
            Sides::Both => [first, second],
            // The mirror image is an entry of its own.
            Sides::Mirrored => [first, None],
        };
        own.into_iter().flatten().for_each(|place| addends[place] += 1);
    }
    let mut sources = Vec::with_capacity(pattern.nnz());
    for (row, col) in pattern.entries() {
        let mut places = sides.places(colouring, pattern, row, col);
        // Mirror images are read at one place.
        if matches!(sides, Sides::Mirrored) && row > col {
            places.reverse();
        }
        let alone = places.into_iter().flatten().find(|&place| addends[place] == 1);
        sources.push(alone.ok_or_else(|| unrecovered(row, col))? as u32);
    }
    Ok(sources)
}

fn unrecovered(row: usize, col: usize) -> ColouringError {
    ColouringError(format!("the entry ({row}, {col}) cannot be recovered from products with these colours"))
}

/// Sources and subtractions of a symmetric matrix: what is alone in a product is known, and is taken out of the other product
/// that it is in, where then another may be alone.
fn substitution(
    colouring: &Colouring,
    pattern: &Pattern,
    twins: &[u32],
    compressed: usize,
) -> Result<(Vec<u32>, Vec<[u32; 2]>), ColouringError> {
    let places = |row, col| Sides::Mirrored.places(colouring, pattern, row, col);
    // Of each product's element: how many unknown entries are added in it, and the exclusive or of their numbers. Mirror images
    // are the number of the one that is first in the pattern.
    let mut unknown = vec![(0_u32, 0_u32); compressed];
    for (entry, (row, col)) in pattern.entries().enumerate() {
        if let [Some(place), _] = places(row, col) {
            unknown[place].0 += 1;
            unknown[place].1 ^= twins[entry].min(entry as u32);
        }
    }
    let row_of = rows_of_entries(pattern);
    let mut ready: VecDeque<u32> = (0..compressed as u32).filter(|&place| unknown[place as usize].0 == 1).collect();
    let mut sources = vec![u32::MAX; pattern.nnz()];
    let mut subtractions = Vec::new();
    while let Some(place) = ready.pop_front() {
        let (1, entry) = unknown[place as usize] else { continue };
        let [row, col] = [row_of[entry as usize] as usize, pattern.columns()[entry as usize] as usize];
        let both = [entry, twins[entry as usize]];
        both.iter().for_each(|&entry| sources[entry as usize] = place);
        subtract_others(colouring, pattern, place as usize, both, &mut subtractions);
        let mut own = places(row, col);
        if row == col {
            own[1] = None;
        }
        for place in own.into_iter().flatten() {
            let (count, all) = &mut unknown[place];
            *count -= 1;
            *all ^= entry;
            if *count == 1 {
                ready.push_back(place as u32);
            }
        }
    }
    match sources.iter().position(|&source| source == u32::MAX) {
        Some(entry) => Err(unrecovered(row_of[entry] as usize, pattern.columns()[entry] as usize)),
        None => Ok((sources, subtractions)),
    }
}

/// Subtracts, from an entry and its mirror image, all other entries that are added at this place of the products.
fn subtract_others(
    colouring: &Colouring,
    pattern: &Pattern,
    place: usize,
    both: [u32; 2],
    subtractions: &mut Vec<[u32; 2]>,
) {
    let (colour, row) = ((place / pattern.rows()) as u32, place % pattern.rows());
    let start = pattern.starts()[row];
    let same = |&(_, &col): &(usize, &u32)| colouring.columns.of[col as usize] == colour;
    for (offset, _) in pattern.row(row).iter().enumerate().filter(same) {
        let other = (start + offset) as u32;
        if !both.contains(&other) {
            subtractions.push([both[0], other]);
            if both[0] != both[1] {
                subtractions.push([both[1], other]);
            }
        }
    }
}

fn rows_of_entries(pattern: &Pattern) -> Vec<u32> {
    pattern.entries().map(|(row, _)| row as u32).collect()
}
