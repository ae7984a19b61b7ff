//! Bidirectional colouring: some entries are recovered from products with columns, the others from products with rows.
//!
//! A matrix with a few long rows and a few long columns has as many colours as its longest row is long, and as many rows'
//! colours as its longest column. If the long rows are served by products of their own, the rest of the matrix is short.
//! (Coleman and Verma 1998, who call the colouring a path p-coloring; Gebremedhin, Manne and Pothen 2005, section 5, star
//! bicoloring.) Here the rows are taken by falling length: for each length, the rows that are longer go to products with
//! rows and all others to products with columns; a bound of the colours chooses the lengths that are tried. The same is done
//! with the long columns.

use std::time::Instant;

use super::{Colours, NO_COLOUR, Order, shared};
use crate::pattern::Pattern;

/// How many ways to divide a matrix are coloured, of those that a bound does not exclude.
const TRIED: usize = 4;

/// Colours of columns and of rows; both patterns are of one matrix, by rows and by columns.
///
/// A time limit is spent on the best way that is found without one.
pub(super) fn colours(by_row: &Pattern, by_column: &Pattern, order: Order) -> (Colours, Colours) {
    let end = order.until();
    let quick = if end.is_some() { Order::Best } else { order };
    let mut ways: Vec<Way> = splits(by_row, by_column, Long::Rows);
    ways.extend(splits(by_column, by_row, Long::Columns));
    ways.sort_by_key(|way| way.bound);
    let mut best: Option<(Colours, Colours)> = None;
    let mut best_way = 0;
    for (place, way) in ways.iter().enumerate().take(TRIED) {
        if best.as_ref().is_some_and(|best| count(best) <= way.bound) {
            break;
        }
        let own = way.colours(by_row, by_column, quick);
        if best.as_ref().is_none_or(|best| count(&own) < count(best)) {
            (best, best_way) = (Some(own), place);
        }
    }
    let best = best.expect("a matrix can be served by products with columns alone");
    let left = end.map(|end| end.saturating_duration_since(Instant::now())).filter(|left| !left.is_zero());
    match left {
        Some(left) if count(&best) > ways[best_way].bound => {
            let own = ways[best_way].colours(by_row, by_column, Order::BestWithin(left / 2));
            if count(&own) < count(&best) { own } else { best }
        }
        _ => best,
    }
}

fn count((columns, rows): &(Colours, Colours)) -> usize {
    (columns.count + rows.count) as usize
}

/// Which are taken out of the others.
#[derive(Clone, Copy)]
enum Long {
    Rows,
    Columns,
}

/// What is longer than `above` is served by products of its own kind, all else by those of the other; at least `bound` colours are
/// needed in all.
struct Way {
    bound: usize,
    above: usize,
    long: Long,
}

impl Way {
    fn colours(&self, by_row: &Pattern, by_column: &Pattern, order: Order) -> (Colours, Colours) {
        let (columns, rows) = match self.long {
            Long::Rows => divided(by_row, by_column, self.above, order),
            Long::Columns => {
                let (rows, columns) = divided(by_column, by_row, self.above, order);
                (columns, rows)
            }
        };
        without_unneeded(by_row, by_column, columns, rows)
    }
}

/// The ways to serve the longest rows (or columns, which then are the rows here) by products of their own: none of them first.
fn splits(by_row: &Pattern, by_column: &Pattern, long: Long) -> Vec<Way> {
    let length = |row: u32| by_row.row(row as usize).len();
    let mut by_length: Vec<u32> = (0..by_row.rows() as u32).filter(|&row| length(row) > 0).collect();
    by_length.sort_by_key(|&row| std::cmp::Reverse(length(row)));
    // Of each column, how many of its entries are in long rows: the products with rows that it needs at least.
    let mut in_long = vec![0_usize; by_column.rows()];
    let mut most_in_long = 0;
    let longest = by_length.first().map_or(0, |&row| length(row));
    let mut splits = vec![Way { bound: longest, above: longest, long }];
    for own in by_length.chunk_by(|&a, &b| length(a) == length(b)) {
        for &col in own.iter().flat_map(|&row| by_row.row(row as usize)) {
            in_long[col as usize] += 1;
            most_in_long = most_in_long.max(in_long[col as usize]);
        }
        let last = by_length.partition_point(|&row| length(row) >= length(own[0]));
        let above = by_length.get(last).map_or(0, |&row| length(row));
        // All rows by products with rows is what the other direction begins with.
        if above > 0 {
            splits.push(Way { bound: above + most_in_long, above, long });
        }
    }
    splits
}

/// Colours of columns and rows where rows longer than `above` are served by products with rows.
fn divided(by_row: &Pattern, by_column: &Pattern, above: usize, order: Order) -> (Colours, Colours) {
    if (0..by_row.rows()).all(|row| by_row.row(row).len() <= above) {
        return (shared(by_row, Some(by_column), order), Colours::default());
    }
    let is_long = |row: usize| by_row.row(row).len() > above;
    let short = by_row.filtered(|row, _| !is_long(row));
    let long = by_column.filtered(|_, row| is_long(row));
    // A formula has colours for vertices without entries too. Here these may have entries of the other part, which must not be
    // added in products that serve this one.
    let (short_by_column, long_by_row) = (short.transposed(), long.transposed());
    let columns = shared(&short, Some(&short_by_column), order).of_vertices(&short_by_column);
    let rows = shared(&long, Some(&long_by_row), order).of_vertices(&long_by_row);
    (columns, rows)
}

/// Takes away each colour whose entries are recovered without it; that of the fewest vertices first.
fn without_unneeded(by_row: &Pattern, by_column: &Pattern, columns: Colours, rows: Colours) -> (Colours, Colours) {
    if columns.count == 0 || rows.count == 0 {
        return (columns, rows);
    }
    let mut sides = [Side::new(by_column, columns), Side::new(by_row, rows)];
    let addends = [Addends::new(by_row, &sides[0].colours), Addends::new(by_column, &sides[1].colours)];
    let mut classes: Vec<(usize, usize, u32)> = Vec::new();
    for (side, own) in sides.iter().enumerate() {
        classes.extend((0..own.colours.count).map(|colour| (own.classes[colour as usize].len(), side, colour)));
    }
    classes.sort_unstable();
    for (_, side, colour) in classes {
        let (own, other) = (&sides[side], &sides[1 - side]);
        // Each entry of the class must be alone among the entries of the other side's colour.
        let needed = own.classes[colour as usize].iter().any(|&vertex| {
            let mut entries = own.by_vertex.row(vertex as usize).iter();
            entries.any(|&across| {
                let others = other.colours.get(across as usize);
                others.is_none_or(|others| addends[1 - side].count(vertex, others) != 1)
            })
        });
        if !needed {
            // Nobody else has this colour, so that what is counted of the others stays true.
            for vertex in std::mem::take(&mut sides[side].classes[colour as usize]) {
                sides[side].colours.of[vertex as usize] = NO_COLOUR;
            }
        }
    }
    let [columns, rows] = sides.map(|side| side.colours.compact());
    (columns, rows)
}

/// Columns or rows with their colours.
struct Side<'a> {
    /// The entries of each vertex.
    by_vertex: &'a Pattern,
    colours: Colours,
    /// The vertices of each colour.
    classes: Vec<Vec<u32>>,
}

impl<'a> Side<'a> {
    fn new(by_vertex: &'a Pattern, colours: Colours) -> Side<'a> {
        let mut classes = vec![Vec::new(); colours.count as usize];
        for (vertex, &colour) in colours.of.iter().enumerate().filter(|(_, colour)| **colour != NO_COLOUR) {
            classes[colour as usize].push(vertex as u32);
        }
        Side { by_vertex, colours, classes }
    }
}

/// How many entries are added in each element of the products: for each row (or column) its colours, and their numbers.
struct Addends<'a> {
    pattern: &'a Pattern,
    /// In the places of a row: its colours, each once, and behind them [`NO_COLOUR`].
    slots: Vec<(u32, u32)>,
}

impl<'a> Addends<'a> {
    /// The entries of each row of `pattern`, by the colours of its columns.
    fn new(pattern: &'a Pattern, colours: &Colours) -> Addends<'a> {
        let mut slots = vec![(NO_COLOUR, 0); pattern.nnz()];
        let mut last = vec![(u32::MAX, 0); colours.count as usize];
        for row in 0..pattern.rows() {
            let mut end = pattern.starts()[row];
            for &col in pattern.row(row) {
                let Some(colour) = colours.get(col as usize) else { continue };
                let (met, slot) = &mut last[colour as usize];
                if *met != row as u32 {
                    (*met, *slot) = (row as u32, end);
                    slots[end].0 = colour;
                    end += 1;
                }
                slots[*slot].1 += 1;
            }
        }
        Addends { pattern, slots }
    }

    fn count(&self, row: u32, colour: u32) -> u32 {
        let (start, end) = (self.pattern.starts()[row as usize], self.pattern.starts()[row as usize + 1]);
        let mut own = self.slots[start..end].iter().take_while(|(other, _)| *other != NO_COLOUR);
        own.find(|(other, _)| *other == colour).map_or(0, |&(_, count)| count)
    }
}
