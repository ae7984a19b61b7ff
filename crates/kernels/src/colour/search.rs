//! Few colours of columns: a formula where there is one, then the best of several greedy colourings, improved.

use std::cell::OnceCell;
use std::time::Instant;

use super::lattice::{self, Lattice, Rule};
use super::order::{self, Graph, shuffled};
use super::{Colours, NO_COLOUR, Order, distance2, exact};
use crate::pattern::Pattern;

/// Orders that sort more than the natural one, by what they tend to gain for their time.
const ORDERS: [Order; 4] =
    [Order::SmallestLast, Order::IncidenceDegree, Order::LargestFirst, Order::DynamicLargestFirst];

/// How many columns may be coloured with the fewest colours that there are, by search.
const SMALL: usize = 256;

/// Few colours of the columns of `by_row`, whose transposed pattern may be known; until a time, or within work that depends on the
/// pattern alone.
///
/// No colouring has fewer colours than the longest row has entries: the search ends where it has no more.
pub(super) fn best(by_row: &Pattern, by_column: Option<&Pattern>, until: Option<Instant>) -> Colours {
    let bound = lattice::longest(by_row);
    let mut lattice = Lattice::new(by_row, Rule::Distance2);
    if let Some(colours) = lattice.colours(bound.try_into().unwrap_or(u32::MAX)) {
        return colours;
    }
    let made = OnceCell::new();
    let by_column = by_column.unwrap_or_else(|| made.get_or_init(|| by_row.transposed()));
    let graph = Graph::Shared(by_row, by_column);
    let vertices = order::vertices(graph, Order::Natural);
    if vertices.len() == bound {
        return one_by_one(by_row.cols(), &vertices);
    }
    let mut search = Search { by_row, by_column, bound, until, best: distance2::greedy(by_row, by_column, &vertices) };
    search.by_formula(&mut lattice);
    search.beside_full_columns();
    search.by_orders(graph);
    search.by_classes();
    if vertices.len() <= SMALL && !search.is_done() {
        search.keep(exact::colours(by_row, by_column, &vertices, bound, search.best.clone()));
    }
    search.by_chance(vertices);
    search.best
}

/// A colour for each vertex alone.
fn one_by_one(cols: usize, vertices: &[u32]) -> Colours {
    let mut of = vec![NO_COLOUR; cols];
    vertices.iter().zip(0..).for_each(|(&vertex, colour)| of[vertex as usize] = colour);
    Colours { of, count: vertices.len() as u32 }
}

struct Search<'a> {
    by_row: &'a Pattern,
    by_column: &'a Pattern,
    bound: usize,
    until: Option<Instant>,
    best: Colours,
}

impl Search<'_> {
    fn is_done(&self) -> bool {
        self.best.count as usize <= self.bound || self.until.is_some_and(|until| Instant::now() >= until)
    }

    fn keep(&mut self, colours: Colours) -> bool {
        let better = colours.count < self.best.count;
        if better {
            self.best = colours;
        }
        better
    }

    /// Formulas with more colours than the bound, and fewer than there are.
    fn by_formula(&mut self, lattice: &mut Lattice<'_>) {
        let found = (self.bound as u32 + 1..self.best.count).find_map(|count| lattice.colours(count));
        if let Some(colours) = found {
            self.keep(colours);
        }
    }

    /// Columns that most rows have, as those of shared parameters: no two of them may have one colour, so that each gets one
    /// of its own, and what is left may have a formula.
    fn beside_full_columns(&mut self) {
        let (rows, cols) = (self.by_row.rows(), self.by_row.cols());
        let full = |col: u32| self.by_column.row(col as usize).len() > rows / 2;
        let (apart, others): (Vec<u32>, Vec<u32>) = (0..cols as u32).partition(|&col| full(col));
        if self.is_done() || apart.is_empty() {
            return;
        }
        let rest = self.by_row.of_columns(&others);
        let Some(colours) = Lattice::new(&rest, Rule::Distance2).colours(lattice::longest(&rest) as u32) else {
            return;
        };
        let mut of = vec![NO_COLOUR; cols];
        others.iter().zip(colours.of).for_each(|(&col, colour)| of[col as usize] = colour);
        apart.iter().zip(colours.count..).for_each(|(&col, colour)| of[col as usize] = colour);
        self.keep(Colours { of, count: colours.count + apart.len() as u32 });
    }

    /// Other orders, which look at the neighbours of each column: the work is that of the squares of the rows' lengths.
    fn by_orders(&mut self, graph: Graph<'_>) {
        let work: usize = (0..self.by_row.rows()).map(|row| self.by_row.row(row).len().pow(2)).sum();
        let mut left = 4 * self.by_row.nnz() + 20_000_000;
        for order in ORDERS {
            if self.is_done() || (self.until.is_none() && work > left) {
                return;
            }
            left = left.saturating_sub(work);
            let vertices = order::vertices(graph, order);
            self.keep(distance2::greedy(self.by_row, self.by_column, &vertices));
        }
    }

    /// Iterated greedy colouring (Culberson and Luo 1996): vertices of one colour after those of another never need more
    /// colours, and often fewer.
    fn by_classes(&mut self) {
        let (mut colours, mut in_vain) = (self.best.clone(), 0);
        let passes = (10_000_000 / self.by_row.nnz().max(1)).clamp(2, 60);
        for pass in 0..passes as u64 {
            if self.is_done() || in_vain > 20 {
                return;
            }
            let mut classes = classes(&colours);
            match pass % 3 {
                0 => classes.reverse(),
                1 => classes.sort_by_key(|class| std::cmp::Reverse(class.len())),
                _ => classes = shuffled(classes, pass),
            }
            colours = distance2::greedy(self.by_row, self.by_column, &classes.concat());
            in_vain = if self.keep(colours.clone()) { 0 } else { in_vain + 1 };
        }
    }

    /// Random orders, each improved, as long as there is time.
    fn by_chance(&mut self, mut vertices: Vec<u32>) {
        let mut seed = 0;
        while self.until.is_some() && !self.is_done() {
            seed += 1;
            vertices = shuffled(vertices, seed);
            let kept = self.best.clone();
            self.best = distance2::greedy(self.by_row, self.by_column, &vertices);
            self.by_classes();
            self.keep(kept);
        }
    }
}

/// The vertices of each colour.
fn classes(colours: &Colours) -> Vec<Vec<u32>> {
    let mut classes = vec![Vec::new(); colours.count as usize];
    for (vertex, &colour) in colours.of.iter().enumerate().filter(|(_, colour)| **colour != NO_COLOUR) {
        classes[colour as usize].push(vertex as u32);
    }
    classes
}
