//! A pattern in the text form of a Program: `0 1; -1 0 1 *3; -1 0`.
//!
//! Rows are separated by `;`. A row lists its columns, each counted from the row's own number, as the diagonals of a matrix are:
//! 0 is on the diagonal, 1 beside it on the right. `a..b` stands for all from a to b, and `*n` behind a row for n such rows. So
//! a stencil's matrix is a line, however large it is.

use std::fmt::Write;

#[cfg(feature = "text")]
use super::SharedPattern;
use crate::pattern::Pattern;
#[cfg(feature = "text")]
use crate::{
    error::{Misfit, misfit},
    primitives::parse::Fields,
};

/// The rows and entries that a text may stand for: a short one can stand for as many as it likes.
#[cfg(feature = "text")]
const MOST: usize = 1 << 26;

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

/// The pattern in the options `rows`, `cols` and `offsets`.
#[cfg(feature = "text")]
pub(super) fn read(fields: &mut Fields) -> Result<SharedPattern, Misfit> {
    let (rows, cols): (usize, usize) = (fields.integer("rows")?, fields.integer("cols")?);
    let text = fields.word("offsets")?;
    if rows > MOST {
        misfit!("the option `rows` is {rows}, and a text stands for {MOST} rows at most");
    }
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
        if width.saturating_mul(count as u64).saturating_add(columns.len() as u64) > MOST as u64 {
            misfit!("the option `offsets` has more than {MOST} entries, which is the most that a text stands for");
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
    let pattern = Pattern::from_rows(cols, starts, columns);
    pattern.map(SharedPattern::from).map_err(|why| Misfit(format!("the option `offsets` is no pattern: {why}")))
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
mod tests {
    use crate::Program;
    use crate::pattern::Pattern;

    use super::*;

    fn reads_back(pattern: &Pattern, text: &str) {
        assert_eq!(written(pattern), text);
        let (rows, cols, count) = (pattern.rows(), pattern.cols(), pattern.nnz());
        let line = format!("sparse_product[rows={rows}, cols={cols}, offsets={text:?}, transpose=false]");
        let program =
            format!("program(v0: f64[{count}], v1: f64[{cols},1]) {{ v2: f64[{rows},1] = {line} v0 v1; return v2 }}");
        let read: Program = program.parse().unwrap_or_else(|why| panic!("{why}\n{program}"));
        let again: Program = read.to_string().parse().unwrap();
        assert!(read.to_string().contains(text) && again == read, "{read}");
    }

    #[test]
    fn patterns_are_written_and_read() {
        let check = |rows, cols, entries: &[(usize, usize)], text: &str| {
            reads_back(&Pattern::from_entries(rows, cols, entries.iter().copied()).unwrap(), text);
        };
        check(0, 3, &[], "");
        check(1, 0, &[], "");
        check(3, 2, &[(1, 0)], "; -1; ");
        check(2, 5, &[(0, 0), (0, 1), (0, 3), (1, 0), (1, 1), (1, 2), (1, 3)], "0 1 3; -1..2");
        let bands = (0..100_000usize)
            .flat_map(|row| (row.saturating_sub(1)..(row + 2).min(100_000)).map(move |col| (row, col)));
        reads_back(&Pattern::from_entries(100_000, 100_000, bands).unwrap(), "0 1; -1..1 *99998; -1 0");
    }

    #[test]
    fn texts_that_are_no_pattern_are_refused() {
        let check = |rows: &str, cols: &str, offsets: &str, part: &str| {
            let program = format!(
                "program(v0: f64[1]) {{ v1: i64[1] = sparse_unit[rows={rows}, cols={cols}, offsets={offsets:?}]; return v1 }}"
            );
            let why = program.parse::<Program>().unwrap_err().to_string();
            assert!(why.contains(part), "{part} is not in: {why}");
        };
        check("2", "2", "0", "has 1 rows, and the option `rows` is 2");
        check("1", "2", "0; 0", "more than 1 rows");
        check("2", "2", "0 0 *2", "column 0 stands behind column 0");
        check("1", "1", "-1", "the offset -1 in row 0");
        check("1", "1", "2", "there are 1 columns");
        check("1", "1", "1..0", "\"1..0\" where an offset");
        check("1", "1", "0 *0", "\"*0\" where");
        check("1", "1", "0 *1 1", "behind a number of rows");
        check("1", "1", "x", "\"x\" where");
        check("99999999999", "1", "0 *99999999999", "67108864 rows at most");
        check("67108864", "4294967296", "0..4294967295 *67108864", "more than 67108864 entries");
        check("-1", "1", "", "cannot be -1");
    }
}
