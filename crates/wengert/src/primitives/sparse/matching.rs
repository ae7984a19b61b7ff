//! Matchings of the rows of a pattern with its columns: whether a matrix can be regular at all.

use std::collections::VecDeque;

use wengert_kernels::pattern::Pattern;

/// Rows that have their entries in fewer columns.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unmatched {
    /// The rows, increasing.
    pub(super) rows: Vec<usize>,
    /// How many columns they have together.
    pub(super) columns: usize,
}

const NONE: usize = usize::MAX;

/// For each row one of its entries, no two of them in one column; the diagonal if it is there.
///
/// By shortest augmenting paths, all of one length at a time, so that it takes at most the root of the number of rows times
/// the number of entries (J. E. Hopcroft, R. M. Karp, *An n^5/2 algorithm for maximum matchings in bipartite graphs*, 1973).
///
/// # Errors
/// Rows for which there are too few columns (P. Hall, *On representatives of subsets*, 1935).
pub(super) fn matched(pattern: &Pattern) -> Result<Vec<usize>, Unmatched> {
    let mut matching = Matching::by_diagonal(pattern);
    while matching.free().next().is_some() {
        let level = matching.levels();
        if !matching.augment(level) {
            return Err(matching.unmatched());
        }
    }
    Ok(matching.entry)
}

struct Matching<'a> {
    pattern: &'a Pattern,
    /// The entry of each row, and the row of each column.
    entry: Vec<usize>,
    row: Vec<usize>,
}

impl<'a> Matching<'a> {
    /// The diagonal, and for other rows the first column that is free.
    fn by_diagonal(pattern: &'a Pattern) -> Self {
        let mut matching = Matching { pattern, entry: vec![NONE; pattern.rows()], row: vec![NONE; pattern.cols()] };
        for row in 0..pattern.rows().min(pattern.cols()) {
            if let Ok(place) = pattern.row(row).binary_search(&(row as u32)) {
                matching.take(row, pattern.starts()[row] + place);
            }
        }
        for row in 0..pattern.rows() {
            let free = |&entry: &usize| matching.row[matching.column(entry)] == NONE;
            if matching.entry[row] == NONE
                && let Some(entry) = matching.entries(row).find(free)
            {
                matching.take(row, entry);
            }
        }
        matching
    }

    fn take(&mut self, row: usize, entry: usize) {
        self.entry[row] = entry;
        let column = self.column(entry);
        self.row[column] = row;
    }

    fn column(&self, entry: usize) -> usize {
        self.pattern.columns()[entry] as usize
    }

    fn entries(&self, row: usize) -> std::ops::Range<usize> {
        self.pattern.starts()[row]..self.pattern.starts()[row + 1]
    }

    /// Rows without a column.
    fn free(&self) -> impl Iterator<Item = usize> + '_ {
        self.entry.iter().enumerate().filter(|&(_, &entry)| entry == NONE).map(|(row, _)| row)
    }

    /// How many rows an alternating path from a row without a column passes to each row; [`NONE`] if there is no path.
    fn levels(&self) -> Vec<usize> {
        let mut level = vec![NONE; self.pattern.rows()];
        let mut queue: VecDeque<usize> = self.free().collect();
        queue.iter().for_each(|&row| level[row] = 0);
        while let Some(row) = queue.pop_front() {
            for entry in self.entries(row) {
                let next = self.row[self.column(entry)];
                if next != NONE && level[next] == NONE {
                    level[next] = level[row] + 1;
                    queue.push_back(next);
                }
            }
        }
        level
    }

    /// Augments along disjoint paths from level to level; whether there was one.
    fn augment(&mut self, mut level: Vec<usize>) -> bool {
        let mut next: Vec<usize> = self.pattern.starts()[..self.pattern.rows()].to_vec();
        let starts: Vec<usize> = self.free().collect();
        let mut augmented = false;
        for start in starts {
            // Rows of the path, each with the entry by which it goes on.
            let mut path = vec![start];
            while let Some(&row) = path.last() {
                if next[row] == self.entries(row).end {
                    level[row] = NONE;
                    path.pop();
                    if let Some(&before) = path.last() {
                        next[before] += 1;
                    }
                    continue;
                }
                let other = self.row[self.column(next[row])];
                if other == NONE {
                    path.iter().for_each(|&row| self.take(row, next[row]));
                    // None of these rows is on another path.
                    path.drain(..).for_each(|row| level[row] = NONE);
                    augmented = true;
                } else if level[other] != NONE && level[other] == level[row] + 1 {
                    path.push(other);
                } else {
                    next[row] += 1;
                }
            }
        }
        augmented
    }

    /// The rows on alternating paths from one without a column: all their columns are taken by rows of theirs.
    fn unmatched(&self) -> Unmatched {
        let level = self.levels();
        let rows: Vec<usize> = (0..level.len()).filter(|&row| level[row] != NONE).collect();
        Unmatched { columns: rows.len() - self.free().count(), rows }
    }
}

#[cfg(test)]
mod tests;
