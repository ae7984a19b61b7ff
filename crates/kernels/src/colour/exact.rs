//! The fewest colours of a small graph, by search with backtracking.

use super::{Colours, NO_COLOUR};
use crate::pattern::Pattern;

/// Colours of these columns, with fewer than `best` has where the search finds them in bounded time; none needs fewer than
/// `bound`.
///
/// The vertex with the most colours among its neighbours is next, and of those the one with the most neighbours (Brélaz 1979);
/// it tries the colours in use and one new one.
pub(super) fn colours(by_row: &Pattern, by_column: &Pattern, vertices: &[u32], bound: usize, best: Colours) -> Colours {
    let len = vertices.len();
    let mut number = vec![u32::MAX; by_row.cols()];
    vertices.iter().zip(0..).for_each(|(&vertex, place)| number[vertex as usize] = place);
    let neighbours = |&vertex: &u32| {
        let shared = by_column.row(vertex as usize).iter().flat_map(|&row| by_row.row(row as usize));
        let mut all: Vec<u32> =
            shared.map(|&col| number[col as usize]).filter(|&at| at != number[vertex as usize]).collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    let mut search = Search {
        neighbours: vertices.iter().map(neighbours).collect(),
        of: vec![NO_COLOUR; len],
        among: vec![vec![0; best.count as usize]; len],
        saturation: vec![0; len],
        bound: bound as u32,
        count: best.count,
        found: None,
        steps: 300_000 / len.max(1),
    };
    search.bound = search.bound.max(search.clique());
    search.extend(0, 0);
    let Some(found) = search.found else { return best };
    let mut of = vec![NO_COLOUR; by_row.cols()];
    vertices.iter().zip(found).for_each(|(&vertex, colour)| of[vertex as usize] = colour);
    Colours { of, count: search.count }
}

struct Search {
    neighbours: Vec<Vec<u32>>,
    of: Vec<u32>,
    /// How many neighbours of each vertex have each colour.
    among: Vec<Vec<u32>>,
    /// How many colours there are among the neighbours of each vertex.
    saturation: Vec<u32>,
    bound: u32,
    /// The fewest colours so far.
    count: u32,
    found: Option<Vec<u32>>,
    steps: usize,
}

impl Search {
    /// The size of a set of vertices that are all neighbours: at least as many colours are needed. For each vertex, its neighbours
    /// join in turn where they fit, those with the most neighbours first.
    fn clique(&self) -> u32 {
        let degree = |vertex: u32| self.neighbours[vertex as usize].len();
        let from = |first: u32| {
            let mut candidates = self.neighbours[first as usize].clone();
            candidates.sort_by_key(|&vertex| std::cmp::Reverse(degree(vertex)));
            let mut clique = vec![first];
            for vertex in candidates {
                let fits = |other: &u32| self.neighbours[vertex as usize].binary_search(other).is_ok();
                if clique.iter().all(fits) {
                    clique.push(vertex);
                }
            }
            clique.len() as u32
        };
        (0..self.neighbours.len() as u32).map(from).max().unwrap_or(0)
    }

    /// Colours what is left, where `coloured` vertices have `used` colours.
    fn extend(&mut self, coloured: usize, used: u32) {
        if coloured == self.of.len() {
            self.count = used;
            self.found = Some(self.of.clone());
            return;
        }
        let open = (0..self.of.len()).filter(|&vertex| self.of[vertex] == NO_COLOUR);
        let next = open.max_by_key(|&vertex| (self.saturation[vertex], self.neighbours[vertex].len()));
        let Some(vertex) = next else { return };
        for colour in 0..=used {
            let in_use = used.max(colour + 1);
            if in_use >= self.count || self.count <= self.bound || self.steps == 0 {
                return;
            }
            if self.among[vertex][colour as usize] == 0 {
                self.steps -= 1;
                self.of[vertex] = colour;
                self.mark(vertex, colour, true);
                self.extend(coloured + 1, in_use);
                self.mark(vertex, colour, false);
                self.of[vertex] = NO_COLOUR;
            }
        }
    }

    /// Tells the neighbours that a vertex has this colour, or no longer has it.
    fn mark(&mut self, vertex: usize, colour: u32, has: bool) {
        for place in 0..self.neighbours[vertex].len() {
            let other = self.neighbours[vertex][place] as usize;
            let among = &mut self.among[other][colour as usize];
            match has {
                true => {
                    self.saturation[other] += u32::from(*among == 0);
                    *among += 1;
                }
                false => {
                    *among -= 1;
                    self.saturation[other] -= u32::from(*among == 0);
                }
            }
        }
    }
}
