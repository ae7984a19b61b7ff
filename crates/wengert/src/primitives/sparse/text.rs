//! A pattern in the text form of a Program: `0 1; -1 0 1 *3; -1 0`.
//!
//! Rows are separated by `;`. A row lists its columns, each counted from the row's own number, as the diagonals of a matrix are:
//! 0 is on the diagonal, 1 beside it on the right. `a..b` stands for all from a to b, and `*n` behind a row for n such rows. So
//! a stencil's matrix is a line, however large it is.

#[cfg(feature = "text")]
use std::collections::HashMap;
use std::fmt::Write;

#[cfg(feature = "text")]
use super::SharedPattern;
#[cfg(feature = "text")]
use crate::{
    error::{Misfit, misfit},
    primitives::parse::Fields,
};
use wengert_kernels::pattern::Pattern;

/// The rows of a pattern as text.
pub(super) fn written(pattern: &Pattern) -> String {
    let mut text = String::new();
    let mut row = 0;
    while row < pattern.rows() {
        let alike = (row + 1..pattern.rows()).take_while(|&other| offsets(pattern, other).eq(offsets(pattern, row)));
        let count = 1 + alike.count();
        text.push_str(if row == 0 { "" } else { "; " });
        let mut words = runs(offsets(pattern, row));
        if count > 1 {
            words.push(format!("*{count}"));
        }
        text.push_str(&words.join(" "));
        row += count;
    }
    text
}

fn offsets(pattern: &Pattern, row: usize) -> impl Iterator<Item = i64> + '_ {
    pattern.row(row).iter().map(move |&col| i64::from(col) - row as i64)
}

/// Increasing numbers, three and more that follow each other as one word.
fn runs(numbers: impl Iterator<Item = i64>) -> Vec<String> {
    let mut runs: Vec<(i64, i64)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => runs.push((number, number)),
        }
    }
    let mut words = Vec::with_capacity(runs.len());
    for (first, last) in runs {
        let mut word = first.to_string();
        match last - first {
            0 => {}
            1 => write!(word, " {last}").expect("a string takes all"),
            _ => write!(word, "..{last}").expect("a string takes all"),
        }
        words.push(word);
    }
    words
}

/// The rows and entries of all patterns of a text together: a short one can stand for as many as it likes.
#[cfg(feature = "text")]
const MOST: usize = 1 << 27;

/// The patterns of a text, each of which is made once.
#[cfg(feature = "text")]
pub(crate) struct Patterns {
    /// How many rows and entries others may have.
    room: usize,
    /// By rows, columns and offsets.
    known: HashMap<(usize, usize, String), SharedPattern>,
}

#[cfg(feature = "text")]
impl Patterns {
    pub(crate) fn new() -> Self {
        Patterns { room: MOST, known: HashMap::new() }
    }
}

/// The pattern in the options `rows`, `cols` and `offsets`.
#[cfg(feature = "text")]
pub(super) fn read(fields: &mut Fields) -> Result<SharedPattern, Misfit> {
    let (rows, cols): (usize, usize) = (fields.integer("rows")?, fields.integer("cols")?);
    let key = (rows, cols, fields.word("offsets")?);
    if let Some(known) = fields.patterns().known.get(&key) {
        return Ok(known.clone());
    }
    let (pattern, room) = made(rows, cols, &key.2, fields.patterns().room)?;
    let patterns = fields.patterns();
    patterns.room = room;
    patterns.known.insert(key, pattern.clone());
    Ok(pattern)
}

/// A pattern, and the room that it leaves to others.
#[cfg(feature = "text")]
fn made(rows: usize, cols: usize, text: &str, room: usize) -> Result<(SharedPattern, usize), Misfit> {
    let Some(room) = room.checked_sub(rows) else {
        misfit!("the option `rows` is {rows}, and the patterns of a text have {MOST} rows and entries at most");
    };
    let mut starts = Vec::new();
    starts.push(0);
    let mut columns: Vec<u32> = Vec::new();
    let pieces = text.split(';').filter(|_| rows > 0 || !text.is_empty());
    for piece in pieces {
        let (runs, count) = row(piece)?;
        let width = runs.iter().fold(0u64, |sum, &(first, last)| sum.saturating_add((last - first) as u64 + 1));
        if count > rows - (starts.len() - 1) {
            misfit!("the option `offsets` has more than {rows} rows");
        }
        if width.saturating_mul(count as u64).saturating_add(columns.len() as u64) > room as u64 {
            misfit!("the option `offsets` has more than {room} entries, and the patterns of a text {MOST} at most");
        }
        for _ in 0..count {
            let own = (starts.len() - 1) as i64;
            for offset in runs.iter().flat_map(|&(first, last)| first..=last) {
                match own.checked_add(offset).and_then(|col| u32::try_from(col).ok()) {
                    Some(col) => columns.push(col),
                    None => misfit!("the option `offsets` has the offset {offset} in row {own}, where no column is"),
                }
            }
            starts.push(columns.len());
        }
    }
    if starts.len() != rows + 1 {
        misfit!("the option `offsets` has {} rows, and the option `rows` is {rows}", starts.len() - 1);
    }
    let room = room - columns.len();
    let pattern = Pattern::from_rows(cols, starts, columns);
    let pattern = pattern.map_err(|why| Misfit(format!("the option `offsets` is no pattern: {why}")))?;
    Ok((SharedPattern::from(pattern), room))
}

/// The runs of a row, and how many such rows there are.
#[cfg(feature = "text")]
fn row(text: &str) -> Result<(Vec<(i64, i64)>, usize), Misfit> {
    let (mut runs, mut count) = (Vec::new(), None);
    for word in text.split_ascii_whitespace() {
        let wrong = || Misfit(format!("the option `offsets` has the word {word:?} where an offset has to be"));
        if count.is_some() {
            misfit!("the option `offsets` has {word:?} behind a number of rows");
        }
        if let Some(times) = word.strip_prefix('*') {
            count = Some(times.parse::<usize>().ok().filter(|&count| count > 0).ok_or_else(wrong)?);
            continue;
        }
        let number = |text: &str| text.parse::<i64>().ok().filter(|x| x.unsigned_abs() <= 1 << 32);
        let (first, last) = match word.split_once("..") {
            Some((first, last)) => (number(first), number(last)),
            None => (number(word), number(word)),
        };
        match (first, last) {
            (Some(first), Some(last)) if first <= last => runs.push((first, last)),
            _ => return Err(wrong()),
        }
    }
    Ok((runs, count.unwrap_or(1)))
}

#[cfg(all(test, feature = "text"))]
mod tests;
