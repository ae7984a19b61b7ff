//! Partial distance-2 colouring of a bipartite graph: columns that share no row may share a colour.
//!
//! Greedy: each column in its turn receives the smallest colour that no column has with which it shares a row
//! (Gebremedhin, Manne and Pothen 2005, algorithm 3.2). What is theirs is the rule; here the colours that a row has are kept as
//! bits, so that time grows with the entries, and not with the squares of the rows' lengths.

use super::{Colours, NO_COLOUR};
use crate::pattern::Pattern;

/// Colours of the columns of `by_row`, taken in this order; `by_column` is its transposed pattern.
pub(super) fn greedy(by_row: &Pattern, by_column: &Pattern, order: &[u32]) -> Colours {
    match narrow(by_row, by_column, order) {
        Some(colours) => colours,
        None => wide(by_row, by_column, order),
    }
}

/// As long as 64 colours are enough: a word for each row.
fn narrow(by_row: &Pattern, by_column: &Pattern, order: &[u32]) -> Option<Colours> {
    let mut of = vec![NO_COLOUR; by_row.cols()];
    let mut taken = vec![0_u64; by_row.rows()];
    let mut count = 0;
    for &column in order {
        let rows = by_column.row(column as usize);
        let colour = rows.iter().fold(0, |all, &row| all | taken[row as usize]).trailing_ones();
        if colour == u64::BITS {
            return None;
        }
        rows.iter().for_each(|&row| taken[row as usize] |= 1 << colour);
        of[column as usize] = colour;
        count = count.max(colour + 1);
    }
    Some(Colours { of, count })
}

/// Rows longer than this keep their colours as bits, where any number of colours is needed.
const LONG_ROW: usize = 64;

/// With any number of colours: short rows are walked, long ones keep their colours as bits.
fn wide(by_row: &Pattern, by_column: &Pattern, order: &[u32]) -> Colours {
    let mut of = vec![NO_COLOUR; by_row.cols()];
    let mut long: Vec<Bits> = Vec::new();
    let mut place = vec![u32::MAX; by_row.rows()];
    for row in (0..by_row.rows()).filter(|&row| by_row.row(row).len() > LONG_ROW) {
        place[row] = long.len() as u32;
        long.push(Bits::default());
    }
    // The turn in which each colour was last forbidden.
    let mut forbidden: Vec<u32> = Vec::new();
    let mut own_long = Vec::new();
    for (turn, &column) in (1..).zip(order) {
        own_long.clear();
        for &row in by_column.row(column as usize) {
            if place[row as usize] != u32::MAX {
                own_long.push(place[row as usize] as usize);
                continue;
            }
            for &other in by_row.row(row as usize) {
                let colour = of[other as usize];
                if colour != NO_COLOUR {
                    forbidden[colour as usize] = turn;
                }
            }
        }
        let colour = smallest_free(&long, &own_long, &forbidden, turn);
        if colour == forbidden.len() {
            forbidden.push(0);
        }
        own_long.iter().for_each(|&row| long[row].insert(colour));
        of[column as usize] = colour as u32;
    }
    Colours { of, count: forbidden.len() as u32 }
}

fn smallest_free(long: &[Bits], own_long: &[usize], forbidden: &[u32], turn: u32) -> usize {
    let first = own_long.iter().map(|&row| long[row].full).max().unwrap_or(0);
    for word in first..=forbidden.len() / 64 {
        let mut free = !own_long.iter().fold(0, |all, &row| all | long[row].word(word));
        while free != 0 {
            let colour = word * 64 + free.trailing_zeros() as usize;
            if forbidden.get(colour) != Some(&turn) {
                return colour.min(forbidden.len());
            }
            free &= free - 1;
        }
    }
    forbidden.len()
}

/// A set of colours.
#[derive(Default)]
struct Bits {
    words: Vec<u64>,
    /// How many words from the first on are full.
    full: usize,
}

impl Bits {
    fn word(&self, index: usize) -> u64 {
        self.words.get(index).copied().unwrap_or(0)
    }

    fn insert(&mut self, colour: usize) {
        if self.words.len() <= colour / 64 {
            self.words.resize(colour / 64 + 1, 0);
        }
        self.words[colour / 64] |= 1 << (colour % 64);
        while self.word(self.full) == u64::MAX {
            self.full += 1;
        }
    }
}

#[cfg(test)]
mod tests;
