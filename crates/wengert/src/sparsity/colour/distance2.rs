//! Partial distance-2 colouring of a bipartite graph: columns that share no row may share a colour.

use super::{Colours, NO_COLOUR, Order};
use crate::pattern::Pattern;

/// Colours of the columns of `by_row`; `by_column` is its transposed pattern.
///
/// Greedy: each column in its turn receives the smallest colour that no column has with which it shares a row
/// (Gebremedhin, Manne and Pothen 2005, algorithm 3.2). Time grows with the sum of the squares of the rows' lengths.
pub(super) fn colours(by_row: &Pattern, by_column: &Pattern, order: Order) -> Colours {
    match order {
        Order::Natural => greedy(by_row, by_column, 0..by_row.cols()),
    }
}

fn greedy(by_row: &Pattern, by_column: &Pattern, order: impl Iterator<Item = usize>) -> Colours {
    let mut of = vec![NO_COLOUR; by_row.cols()];
    let mut count = 0;
    // The column that last forbade each colour, shifted by one.
    let mut forbidden_for: Vec<usize> = Vec::new();
    for column in order {
        if by_column.row(column).is_empty() {
            continue;
        }
        for &row in by_column.row(column) {
            for &other in by_row.row(row as usize) {
                let colour = of[other as usize];
                if colour != NO_COLOUR {
                    forbidden_for[colour as usize] = column + 1;
                }
            }
        }
        let colour = forbidden_for.iter().position(|&last| last != column + 1).unwrap_or(count);
        if colour == count {
            count += 1;
            forbidden_for.push(0);
        }
        of[column] = colour as u32;
    }
    Colours { of, count: count as u32 }
}
