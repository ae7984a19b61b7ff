//! [`Runs`]: patterns in which neighbouring rows that are translates of one another stand once.
//!
//! The values of an array Program have such patterns: in the interior of a grid each element depends on the same neighbours
//! of its own place, and a sum makes one long interval of columns. A row is a union of intervals; from row to row of a run
//! each interval moves by its own step. A million rows of a stencil are a few runs, a dense row is one interval, and where
//! nothing repeats, a run is one row and the whole is compressed rows with intervals for columns.

use super::{Pattern, PatternError, no_room};

/// The columns that each row depends on: runs of rows, of which only the first is written down.
#[derive(Clone, Debug)]
pub struct Runs {
    /// The first row of each run, then the number of rows.
    rows: Vec<u32>,
    /// Where the spans of each run begin, then their number.
    begins: Vec<usize>,
    /// By their first column in the first row of the run.
    spans: Vec<Span>,
}

/// An interval of columns, which moves from row to row of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Span {
    /// The first column in the first row; that of the n-th row after it is `first + n step`.
    pub(super) first: u32,
    /// How many columns.
    pub(super) width: u32,
    /// How far it moves from row to row; 0 in a run of one row.
    pub(super) step: i64,
}

impl Span {
    /// The same interval some rows further on.
    pub(super) fn moved(self, rows: usize) -> Span {
        Span { first: self.column(rows), ..self }
    }

    fn column(self, row: usize) -> u32 {
        (i64::from(self.first) + self.step * row as i64) as u32
    }

    /// The column behind the last, in the first row.
    fn end(self) -> u64 {
        u64::from(self.first) + u64::from(self.width)
    }

    /// Whether it has all columns of another one in every row of a run of this length.
    fn covers(self, other: Span, rows: usize) -> bool {
        // Both ends move evenly: they are in order in between if they are at both ends.
        [0, rows - 1].into_iter().all(|row| {
            let (own, other) = (self.moved(row), other.moved(row));
            own.first <= other.first && other.end() <= own.end()
        })
    }
}

impl Default for Runs {
    fn default() -> Runs {
        Runs::new()
    }
}

impl Runs {
    /// No rows.
    pub fn new() -> Runs {
        Runs { rows: vec![0], begins: vec![0], spans: Vec::new() }
    }

    /// Each row has a column of its own, the first one this.
    pub fn identity(rows: usize, first: usize) -> Runs {
        let mut runs = Runs::new();
        runs.push(rows, &[Span { first: first as u32, width: 1, step: i64::from(rows > 1) }]);
        runs
    }

    /// Every row has the same columns, given as intervals that increase and do not touch.
    pub(super) fn constant(rows: usize, intervals: &[(u32, u32)]) -> Runs {
        let mut runs = Runs::new();
        runs.push_row(intervals);
        runs.repeat_last(rows);
        runs
    }

    /// The rows of these patterns one after the other; `None` has this number of rows without columns.
    pub fn concatenated(parts: &[Option<&Runs>], size: usize) -> Runs {
        let mut all = Runs::new();
        for part in parts {
            match part {
                Some(part) => all.append(part),
                None => all.push(size, &[]),
            }
        }
        all
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows[self.rows.len() - 1] as usize
    }

    /// How many runs there are.
    pub fn count(&self) -> usize {
        self.begins.len() - 1
    }

    /// Whether no row has a column.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// How many entries the pattern has.
    pub fn nnz(&self) -> u64 {
        let mut intervals = Vec::new();
        let mut count = |run: usize| -> u64 {
            let spans = self.spans(run);
            let in_row =
                |intervals: &[(u32, u32)]| intervals.iter().map(|(from, to)| u64::from(to - from)).sum::<u64>();
            if spans.windows(2).all(|pair| pair[0].step == pair[1].step) {
                return self.length(run) as u64 * spans.iter().map(|span| u64::from(span.width)).sum::<u64>();
            }
            let rows = 0..self.length(run);
            rows.map(|row| {
                intervals_of(spans, row, &mut intervals);
                in_row(&intervals)
            })
            .sum()
        };
        (0..self.count()).map(&mut count).sum()
    }

    /// All entries, row by row.
    ///
    /// # Errors
    /// If there are more than memory could hold, or more columns than a pattern numbers.
    pub fn to_pattern(&self, cols: usize) -> Result<Pattern, PatternError> {
        let nnz = self.nnz();
        let fits = nnz.checked_mul(4).is_some_and(|bytes| bytes <= isize::MAX as u64);
        if !fits {
            return Err(PatternError(format!("a pattern of {nnz} entries does not fit in memory")));
        }
        let mut columns: Vec<u32> = Vec::new();
        if columns.try_reserve_exact(nnz as usize).is_err() {
            return Err(PatternError(format!("there is no memory for a pattern of {nnz} entries")));
        }
        let mut starts = Pattern::try_empty(0, cols)?.starts;
        if starts.try_reserve_exact(self.rows()).is_err() {
            return Err(no_room(self.rows()));
        }
        let mut intervals = Vec::new();
        for run in 0..self.count() {
            for row in 0..self.length(run) {
                intervals_of(self.spans(run), row, &mut intervals);
                intervals.iter().for_each(|&(from, to)| columns.extend(from..to));
                starts.push(columns.len());
            }
        }
        Pattern::from_rows(cols, starts, columns)
    }

    /// The columns of either, row by row.
    pub fn union(&self, other: &Runs) -> Runs {
        debug_assert_eq!(self.rows(), other.rows(), "patterns of one shape");
        let (mut a, mut b, mut row) = (0, 0, 0);
        let mut merged: Vec<Span> = Vec::new();
        let mut runs = Runs::with_room(self.count().max(other.count()), self.spans.len() + other.spans.len());
        while row < self.rows() {
            let end = self.rows[a + 1].min(other.rows[b + 1]) as usize;
            merge(self.from(a, row), other.from(b, row), end - row, &mut merged);
            runs.push(end - row, &merged);
            a += usize::from(self.rows[a + 1] as usize == end);
            b += usize::from(other.rows[b + 1] as usize == end);
            row = end;
        }
        runs
    }

    /// Whether every row has the same columns as the other's.
    pub fn same(&self, other: &Runs) -> bool {
        if self.rows == other.rows && self.begins == other.begins && self.spans == other.spans {
            return true;
        }
        if self.rows() != other.rows() {
            return false;
        }
        let (mut a, mut b) = (0, 0);
        let (mut own, mut others) = (Vec::new(), Vec::new());
        (0..self.rows()).all(|row| {
            a += usize::from(self.rows[a + 1] as usize == row);
            b += usize::from(other.rows[b + 1] as usize == row);
            intervals_of(self.spans(a), row - self.rows[a] as usize, &mut own);
            intervals_of(other.spans(b), row - other.rows[b] as usize, &mut others);
            own == others
        })
    }

    // What `moves` and `reach` build upon.

    pub(super) fn with_room(runs: usize, spans: usize) -> Runs {
        let mut new =
            Runs { rows: Vec::with_capacity(runs + 1), begins: Vec::with_capacity(runs + 1), spans: Vec::new() };
        new.spans.reserve(spans);
        new.rows.push(0);
        new.begins.push(0);
        new
    }

    /// The run with this row, if the one named or a neighbour of it is, without a search.
    pub(super) fn find(&self, row: usize, near: usize) -> usize {
        let holds =
            |run: usize| run < self.count() && (self.rows[run] as usize) <= row && row < self.rows[run + 1] as usize;
        let near_by = [near, near + 1, near.wrapping_sub(1)].into_iter().find(|&run| holds(run));
        near_by.unwrap_or_else(|| self.rows.partition_point(|&first| first as usize <= row) - 1)
    }

    /// The rows of a run.
    pub(super) fn bounds(&self, run: usize) -> std::ops::Range<usize> {
        self.rows[run] as usize..self.rows[run + 1] as usize
    }

    pub(super) fn spans(&self, run: usize) -> &[Span] {
        &self.spans[self.begins[run]..self.begins[run + 1]]
    }

    fn length(&self, run: usize) -> usize {
        self.bounds(run).len()
    }

    /// The spans of a run, as they are from one of its rows on.
    fn from(&self, run: usize, row: usize) -> impl Iterator<Item = Span> + Clone + '_ {
        let before = row - self.rows[run] as usize;
        self.spans(run).iter().map(move |span| span.moved(before))
    }

    /// Appends rows; the spans are sorted by their first column.
    pub(super) fn push(&mut self, rows: usize, spans: &[Span]) {
        if rows == 0 {
            return;
        }
        let total = self.rows() + rows;
        if self.goes_on(rows, spans) {
            let last = self.rows.len() - 1;
            self.rows[last] = total as u32;
            return;
        }
        self.spans.extend(spans.iter().map(|&span| Span { step: if rows == 1 { 0 } else { span.step }, ..span }));
        self.rows.push(total as u32);
        self.begins.push(self.spans.len());
    }

    /// Appends the rows of another one.
    pub(super) fn append(&mut self, other: &Runs) {
        (0..other.count()).for_each(|run| self.push(other.length(run), other.spans(run)));
    }

    /// Appends one row.
    pub(super) fn push_row(&mut self, intervals: &[(u32, u32)]) {
        let spans: Vec<Span> =
            intervals.iter().map(|&(from, to)| Span { first: from, width: to - from, step: 0 }).collect();
        self.push(1, &spans);
    }

    /// Makes of a single row this number of equal rows.
    fn repeat_last(&mut self, rows: usize) {
        if rows == 0 {
            *self = Runs::new();
        } else {
            let last = self.rows.len() - 1;
            self.rows[last] = rows as u32;
        }
    }

    /// Whether rows continue the last run, which is then made so: a single row takes the step to its successor.
    fn goes_on(&mut self, rows: usize, spans: &[Span]) -> bool {
        let Some(run) = self.count().checked_sub(1) else { return false };
        let (length, begin) = (self.length(run), self.begins[run]);
        let last = &mut self.spans[begin..];
        if last.len() != spans.len() {
            return false;
        }
        let step_to = |own: &Span, next: &Span| match length {
            1 => i64::from(next.first) - i64::from(own.first),
            _ => own.step,
        };
        let fits = last.iter().zip(spans).all(|(own, next)| {
            let step = step_to(own, next);
            own.width == next.width
                && (rows == 1 || next.step == step)
                && i64::from(own.first) + step * length as i64 == i64::from(next.first)
        });
        if fits && length == 1 {
            last.iter_mut().zip(spans).for_each(|(own, next)| own.step = step_to(own, next));
        }
        fits
    }
}

/// The intervals of a row of a run: increasing, none touching the next.
pub(super) fn intervals_of(spans: &[Span], row: usize, out: &mut Vec<(u32, u32)>) {
    out.clear();
    out.extend(spans.iter().map(|span| (span.column(row), span.column(row) + span.width)));
    tidy(out);
}

/// Sorts intervals and joins those that meet.
pub(super) fn tidy(intervals: &mut Vec<(u32, u32)>) {
    if !intervals.is_sorted() {
        intervals.sort_unstable();
    }
    let mut kept = 0;
    for k in 1..intervals.len() {
        let (from, to) = intervals[k];
        if from <= intervals[kept].1 {
            intervals[kept].1 = intervals[kept].1.max(to);
        } else {
            kept += 1;
            intervals[kept] = (from, to);
        }
    }
    intervals.truncate(kept + 1);
}

/// Adds a span behind those before it: joined with the last one where they touch in every row, or left out where that covers
/// it.
fn add(spans: &mut Vec<Span>, span: Span, rows: usize) {
    let Some(last) = spans.last_mut() else { return spans.push(span) };
    if last.step == span.step && u64::from(span.first) <= last.end() {
        last.width = (last.end().max(span.end()) - u64::from(last.first)) as u32;
    } else if span.covers(*last, rows) {
        *last = span;
    } else if !last.covers(span, rows) {
        spans.push(span);
    }
}

/// The spans of two runs of this length, sorted.
pub(super) fn merge(
    one: impl Iterator<Item = Span> + Clone,
    other: impl Iterator<Item = Span> + Clone,
    rows: usize,
    out: &mut Vec<Span>,
) {
    out.clear();
    let single = |span: Span| Span { step: if rows == 1 { 0 } else { span.step }, ..span };
    let sorted = one.clone().is_sorted_by_key(|span| span.first) && other.clone().is_sorted_by_key(|span| span.first);
    if !sorted {
        let mut all: Vec<Span> = one.chain(other).map(single).collect();
        all.sort_unstable_by_key(|span| (span.first, span.width));
        all.into_iter().for_each(|span| add(out, span, rows));
        return;
    }
    let (mut one, mut other) = (one.map(single).peekable(), other.map(single).peekable());
    loop {
        let takes_one = match (one.peek(), other.peek()) {
            (Some(a), Some(b)) => a.first <= b.first,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => return,
        };
        let next = if takes_one { one.next() } else { other.next() };
        add(out, next.expect("it was peeked at"), rows);
    }
}
