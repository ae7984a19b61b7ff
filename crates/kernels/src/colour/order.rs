//! The orders in which greedy colouring takes vertices.
//!
//! Definitions as in Gebremedhin, Manne and Pothen (2005), section 7: largest first (Welsh and Powell 1967), smallest last
//! (Matula, Marble and Isaacson 1972), incidence degree (Brélaz 1979), dynamic largest first. Of equals one is
//! taken by a fixed rule, so that every order is the same on every run.

use super::Order;
use crate::pattern::Pattern;

/// Who is whose neighbour.
#[derive(Clone, Copy)]
pub(super) enum Graph<'a> {
    /// Columns that share a row; the pattern by rows, and by columns.
    Shared(&'a Pattern, &'a Pattern),
    /// Rows and columns of one number are one vertex, and an entry beside the diagonal is an edge.
    Symmetric(&'a Pattern),
}

/// The vertices that have entries, in this order; [`Order::Natural`] where an order is more than a way to sort.
pub(super) fn vertices(graph: Graph<'_>, order: Order) -> Vec<u32> {
    let natural: Vec<u32> = (0..graph.len() as u32).filter(|&vertex| !graph.is_bare(vertex)).collect();
    match order {
        Order::Natural | Order::Best | Order::BestWithin(_) => natural,
        Order::LargestFirst => largest_first(&graph.degrees(), natural),
        Order::SmallestLast => smallest_last(graph, &natural),
        Order::IncidenceDegree => incidence_degree(graph, &natural),
        Order::DynamicLargestFirst => dynamic_largest_first(graph, &natural),
        Order::Random(seed) => shuffled(natural, seed),
    }
}

/// The same vertices in a random order: Fisher and Yates' shuffle with the numbers of SplitMix64 (Steele, Lea and Flood 2014).
pub(super) fn shuffled<T>(mut list: Vec<T>, seed: u64) -> Vec<T> {
    let mut state = seed;
    for last in (1..list.len()).rev() {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let chosen = (u128::from(z ^ (z >> 31)) * (last as u128 + 1)) >> 64;
        list.swap(last, chosen as usize);
    }
    list
}

impl Graph<'_> {
    fn len(self) -> usize {
        match self {
            Graph::Shared(by_row, _) => by_row.cols(),
            Graph::Symmetric(pattern) => pattern.rows(),
        }
    }

    /// Whether a vertex has no entries, and so needs no colour.
    fn is_bare(self, vertex: u32) -> bool {
        match self {
            Graph::Shared(_, by_column) => by_column.row(vertex as usize).is_empty(),
            Graph::Symmetric(pattern) => pattern.row(vertex as usize).is_empty(),
        }
    }

    /// Calls `visit` once for each neighbour. `met` holds no number from `mark` on outside of calls with smaller marks.
    fn each_neighbour(self, vertex: u32, met: &mut Met, mut visit: impl FnMut(u32)) {
        match self {
            Graph::Symmetric(pattern) => {
                pattern.row(vertex as usize).iter().filter(|&&other| other != vertex).for_each(|&other| visit(other));
            }
            Graph::Shared(by_row, by_column) => {
                met.next();
                met.first(vertex);
                for &row in by_column.row(vertex as usize) {
                    for &other in by_row.row(row as usize) {
                        if met.first(other) {
                            visit(other);
                        }
                    }
                }
            }
        }
    }

    /// How many neighbours each vertex has.
    fn degrees(self) -> Vec<u32> {
        let mut met = Met::new(self.len());
        let degree = |vertex| {
            let mut degree = 0;
            self.each_neighbour(vertex, &mut met, |_| degree += 1);
            degree
        };
        (0..self.len() as u32).map(degree).collect()
    }
}

/// Which vertices were met in this round.
struct Met {
    round: u32,
    last: Vec<u32>,
}

impl Met {
    fn new(len: usize) -> Met {
        Met { round: 0, last: vec![0; len] }
    }

    fn next(&mut self) {
        if self.round == u32::MAX {
            self.last.fill(0);
            self.round = 0;
        }
        self.round += 1;
    }

    /// Whether the vertex is met for the first time in this round.
    fn first(&mut self, vertex: u32) -> bool {
        std::mem::replace(&mut self.last[vertex as usize], self.round) != self.round
    }
}

fn largest_first(degrees: &[u32], mut vertices: Vec<u32>) -> Vec<u32> {
    vertices.sort_by_key(|&vertex| std::cmp::Reverse(degrees[vertex as usize]));
    vertices
}

/// The vertex with the fewest neighbours among those that are left becomes the last of them.
fn smallest_last(graph: Graph<'_>, vertices: &[u32]) -> Vec<u32> {
    let (mut met, mut queue) = (Met::new(graph.len()), Buckets::new(&graph.degrees(), vertices));
    let mut order: Vec<u32> = Vec::with_capacity(vertices.len());
    while let Some(vertex) = queue.take_smallest() {
        order.push(vertex);
        graph.each_neighbour(vertex, &mut met, |other| queue.lower(other));
    }
    order.reverse();
    order
}

/// Next comes the vertex with the most neighbours among those that are left.
fn dynamic_largest_first(graph: Graph<'_>, vertices: &[u32]) -> Vec<u32> {
    let (mut met, mut queue) = (Met::new(graph.len()), Buckets::new(&graph.degrees(), vertices));
    let mut order = Vec::with_capacity(vertices.len());
    while let Some(vertex) = queue.take_largest() {
        order.push(vertex);
        graph.each_neighbour(vertex, &mut met, |other| queue.lower(other));
    }
    order
}

/// Next comes the vertex with the most neighbours among those that were taken.
fn incidence_degree(graph: Graph<'_>, vertices: &[u32]) -> Vec<u32> {
    let degrees = graph.degrees();
    let by_degree = largest_first(&degrees, vertices.to_vec());
    let (mut met, mut queue) = (Met::new(graph.len()), Buckets::new(&vec![0; graph.len()], &by_degree));
    let mut order = Vec::with_capacity(vertices.len());
    while let Some(vertex) = queue.take_largest() {
        order.push(vertex);
        graph.each_neighbour(vertex, &mut met, |other| queue.raise(other));
    }
    order
}

/// No vertex.
const NONE: u32 = u32::MAX;

/// Vertices by a number that changes by one at a time: a doubly linked list for each number.
struct Buckets {
    heads: Vec<u32>,
    next: Vec<u32>,
    previous: Vec<u32>,
    /// The number of each vertex; [`NONE`] if it was taken.
    key: Vec<u32>,
    smallest: usize,
    largest: usize,
}

impl Buckets {
    /// Of equals the one that is first in `vertices` is taken first.
    fn new(keys: &[u32], vertices: &[u32]) -> Buckets {
        let len = keys.len();
        let most = keys.iter().copied().max().unwrap_or(0) as usize;
        let mut buckets = Buckets {
            heads: vec![NONE; most + 1],
            next: vec![NONE; len],
            previous: vec![NONE; len],
            key: vec![NONE; len],
            smallest: 0,
            largest: most,
        };
        for &vertex in vertices.iter().rev() {
            buckets.insert(vertex, keys[vertex as usize]);
        }
        buckets
    }

    fn insert(&mut self, vertex: u32, key: u32) {
        let head = self.heads[key as usize];
        self.key[vertex as usize] = key;
        self.next[vertex as usize] = head;
        self.previous[vertex as usize] = NONE;
        if head != NONE {
            self.previous[head as usize] = vertex;
        }
        self.heads[key as usize] = vertex;
    }

    fn remove(&mut self, vertex: u32) {
        let (before, after) = (self.previous[vertex as usize], self.next[vertex as usize]);
        match before {
            NONE => self.heads[self.key[vertex as usize] as usize] = after,
            _ => self.next[before as usize] = after,
        }
        if after != NONE {
            self.previous[after as usize] = before;
        }
        self.key[vertex as usize] = NONE;
    }

    fn lower(&mut self, vertex: u32) {
        let key = self.key[vertex as usize];
        if key != NONE {
            self.remove(vertex);
            self.insert(vertex, key - 1);
            self.smallest = self.smallest.min(key as usize - 1);
        }
    }

    fn raise(&mut self, vertex: u32) {
        let key = self.key[vertex as usize];
        if key != NONE {
            self.remove(vertex);
            if key as usize + 1 == self.heads.len() {
                self.heads.push(NONE);
            }
            self.insert(vertex, key + 1);
            self.largest = self.largest.max(key as usize + 1);
        }
    }

    fn take_smallest(&mut self) -> Option<u32> {
        while *self.heads.get(self.smallest)? == NONE {
            self.smallest += 1;
        }
        let vertex = self.heads[self.smallest];
        self.remove(vertex);
        Some(vertex)
    }

    fn take_largest(&mut self) -> Option<u32> {
        while self.heads[self.largest] == NONE {
            self.largest = self.largest.checked_sub(1)?;
        }
        let vertex = self.heads[self.largest];
        self.remove(vertex);
        Some(vertex)
    }
}

#[cfg(test)]
mod tests;
