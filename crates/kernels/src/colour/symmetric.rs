//! Star and acyclic colouring of a symmetric matrix, whose rows and columns of one number are one vertex.
//!
//! Both are colourings in which neighbours differ. In a *star* colouring no path of four vertices has two colours alone, so that
//! the vertices of any two colours are stars, and each edge can be read at the leaf of its star. In an *acyclic* colouring no
//! cycle has two colours alone, so that they are trees, which are solved from their leaves on. The greedy rules are those of
//! Gebremedhin, Tarafdar, Manne and Pothen, "New acyclic and star coloring algorithms with application to computing Hessians"
//! (SIAM J. Sci. Comput. 29, 2007). They keep stars and trees by edges and walk over the neighbours of neighbours, which takes
//! quadratic time at a vertex that all others touch; here each vertex keeps one slot for each *colour* among its neighbours, and
//! what is walked over are colours.

use std::time::Instant;

use super::lattice::{self, Lattice, Rule};
use super::order::{self, Graph};
use super::{Colouring, Colours, NO_COLOUR, Order, Partition};
use crate::pattern::Pattern;

/// The best of formulas and several orders, random ones among them where that takes little work or there is time.
pub(super) fn best(pattern: &Pattern, partition: Partition, until: Option<Instant>) -> Colours {
    let orders =
        [Order::Natural, Order::SmallestLast, Order::IncidenceDegree, Order::LargestFirst, Order::DynamicLargestFirst];
    let bound = fewest(pattern, partition);
    let tries = (100_000 / (1 + pattern.nnz())).min(30);
    // Large patterns are coloured in few orders.
    let orders_tried = (8_000_000 / (1 + pattern.nnz())).max(2);
    let all = orders.into_iter().take(orders_tried).chain((1..).map(Order::Random));
    let mut best = greedy(pattern, partition, &order::vertices(Graph::Symmetric(pattern), Order::Natural));
    if best.count > bound {
        let own =
            by_formula(pattern, partition, bound, best.count).map(|own| without_unneeded(pattern, partition, own));
        best = own.filter(|own| own.count < best.count).unwrap_or(best);
    }
    for order in all.skip(1) {
        let late = until.is_some_and(|until| Instant::now() >= until);
        let enough = matches!(order, Order::Random(seed) if until.is_none() && seed > tries as u64);
        if best.count <= bound || late || enough {
            break;
        }
        let own = greedy(pattern, partition, &order::vertices(Graph::Symmetric(pattern), order));
        if own.count < best.count {
            best = own;
        }
    }
    best
}

/// Colours by a formula, with at least `bound` and fewer than `count` colours. Columns that differ in every row are a star
/// colouring too.
fn by_formula(pattern: &Pattern, partition: Partition, bound: u32, count: u32) -> Option<Colours> {
    let (rule, from) = match partition {
        Partition::Star => (Rule::Distance2, lattice::longest(pattern).try_into().unwrap_or(u32::MAX)),
        _ => (Rule::Acyclic, bound),
    };
    let mut lattice = Lattice::new(pattern, rule);
    (from..count).find_map(|count| lattice.colours(count))
}

/// A bound of the colours: with an edge 2; with a path of four vertices or a triangle 3 for a star colouring, with a cycle 3 for an
/// acyclic one. With entries of the diagonal alone 1.
fn fewest(pattern: &Pattern, partition: Partition) -> u32 {
    let degrees: Vec<usize> =
        (0..pattern.rows()).map(|row| pattern.row(row).len() - usize::from(pattern.contains(row, row))).collect();
    let degree = |row: usize| degrees[row];
    let edges = pattern.entries().filter(|(row, col)| row < col).count();
    let three = match partition {
        // Only in stars does each edge have an end without other edges.
        Partition::Star => pattern.entries().any(|(row, col)| row < col && degree(row) > 1 && degree(col) > 1),
        // Only forests have fewer edges than vertices in each of their trees.
        _ => edges > 0 && edges >= (0..pattern.rows()).filter(|&row| degree(row) > 0).count(),
    };
    match (pattern.nnz(), edges) {
        (0, _) => 0,
        (_, 0) => 1,
        _ => 2 + u32::from(three),
    }
}

/// A colouring with vertices in this order, without colours that no entry needs.
pub(super) fn greedy(pattern: &Pattern, partition: Partition, order: &[u32]) -> Colours {
    let columns = match partition {
        Partition::Star => star(pattern, order),
        _ => acyclic(pattern, order),
    };
    without_unneeded(pattern, partition, columns)
}

/// Takes away colours without which all entries are recovered; there is none where the diagonal is in the pattern, because
/// entries of the diagonal are in the product of their own colour alone.
fn without_unneeded(pattern: &Pattern, partition: Partition, columns: Colours) -> Colours {
    let mut needed = vec![false; columns.count as usize];
    let mut sizes = vec![0; columns.count as usize];
    for vertex in 0..pattern.rows() {
        if let Some(colour) = columns.get(vertex) {
            needed[colour as usize] |= pattern.contains(vertex, vertex);
            sizes[colour as usize] += 1;
        }
    }
    let mut doubtful: Vec<u32> = (0..columns.count).filter(|&colour| !needed[colour as usize]).collect();
    doubtful.sort_by_key(|&colour| sizes[colour as usize]);
    let mut colouring = Colouring { partition, columns, rows: Colours::default() };
    for colour in doubtful {
        let without = |&own: &u32| if own == colour { NO_COLOUR } else { own };
        let of = colouring.columns.of.iter().map(without).collect();
        let fewer = Colouring { columns: Colours { of, ..colouring.columns }, ..colouring.clone() };
        if fewer.recovery(pattern).is_ok() {
            colouring = fewer;
        }
    }
    colouring.columns.compact()
}

/// A star colouring of a symmetric pattern, vertices taken in this order.
fn star(pattern: &Pattern, order: &[u32]) -> Colours {
    let mut greedy = Greedy::new(pattern);
    let mut stars = Stars { slots: vec![Star { single: MANY, hub_there: false }; pattern.nnz()] };
    for &vertex in order {
        greedy.forbid_neighbours(vertex);
        stars.forbid_paths(&mut greedy, vertex);
        let colour = greedy.smallest_free(vertex);
        stars.join(&mut greedy, vertex, colour);
        greedy.of[vertex as usize] = colour;
    }
    greedy.finish()
}

/// An acyclic colouring of a symmetric pattern, vertices taken in this order.
fn acyclic(pattern: &Pattern, order: &[u32]) -> Colours {
    let mut greedy = Greedy::new(pattern);
    let mut trees =
        Trees { parent: (0..pattern.nnz() as u32).collect(), visited: vec![(NO_VERTEX, NO_VERTEX); pattern.nnz()] };
    for &vertex in order {
        greedy.forbid_neighbours(vertex);
        trees.forbid_cycles(&mut greedy, vertex);
        let colour = greedy.smallest_free(vertex);
        trees.join(&mut greedy, vertex, colour);
        greedy.of[vertex as usize] = colour;
    }
    greedy.finish()
}

const NO_VERTEX: u32 = u32::MAX;

/// What both rules share: colours so far, and for each vertex the colours among its neighbours.
struct Greedy<'a> {
    pattern: &'a Pattern,
    of: Vec<u32>,
    count: u32,
    /// The colours among the neighbours of each vertex, in the places of its row; the first [`Greedy::used`] are taken.
    slot_colours: Vec<u32>,
    used: Vec<u32>,
    /// The vertex for which each colour was last forbidden.
    forbidden: Vec<u32>,
    /// The slot of each colour among the neighbours of the vertex in its turn.
    own_slot: Vec<u32>,
}

impl<'a> Greedy<'a> {
    fn new(pattern: &'a Pattern) -> Greedy<'a> {
        Greedy {
            pattern,
            of: vec![NO_COLOUR; pattern.rows()],
            count: 0,
            slot_colours: vec![NO_COLOUR; pattern.nnz()],
            used: vec![0; pattern.rows()],
            forbidden: Vec::new(),
            own_slot: Vec::new(),
        }
    }

    fn colour(&self, vertex: u32) -> Option<u32> {
        Some(self.of[vertex as usize]).filter(|&colour| colour != NO_COLOUR)
    }

    fn neighbours(&self, vertex: u32) -> impl Iterator<Item = u32> + use<'a> {
        self.pattern.row(vertex as usize).iter().copied().filter(move |&other| other != vertex)
    }

    fn slots(&self, vertex: u32) -> std::ops::Range<usize> {
        let start = self.pattern.starts()[vertex as usize];
        start..start + self.used[vertex as usize] as usize
    }

    fn slot(&self, vertex: u32, colour: u32) -> Option<usize> {
        let slots = self.slots(vertex);
        let place = self.slot_colours[slots.clone()].iter().position(|&other| other == colour)?;
        Some(slots.start + place)
    }

    fn new_slot(&mut self, vertex: u32, colour: u32) -> usize {
        let slot = self.slots(vertex).end;
        self.slot_colours[slot] = colour;
        self.used[vertex as usize] += 1;
        slot
    }

    fn forbid_neighbours(&mut self, vertex: u32) {
        for slot in self.slots(vertex) {
            let colour = self.slot_colours[slot] as usize;
            self.forbidden[colour] = vertex;
            self.own_slot[colour] = slot as u32;
        }
    }

    fn smallest_free(&mut self, vertex: u32) -> u32 {
        let free = self.forbidden.iter().position(|&last| last != vertex);
        let colour = free.unwrap_or(self.forbidden.len()) as u32;
        if colour == self.count {
            self.count += 1;
            self.forbidden.push(NO_VERTEX);
            self.own_slot.push(0);
        }
        colour
    }

    fn finish(self) -> Colours {
        Colours { of: self.of, count: self.count }
    }
}

/// The neighbours of a vertex in one colour.
#[derive(Clone, Copy)]
struct Star {
    /// The neighbour, if there is one; else [`MANY`], and the vertex is the hub.
    single: u32,
    /// The single neighbour is the hub of its star: it has several neighbours in the colour of this vertex.
    hub_there: bool,
}

const MANY: u32 = u32::MAX;

/// One star for each slot.
struct Stars {
    slots: Vec<Star>,
}

impl Stars {
    /// Forbids the colours that would end a path of four vertices in two colours.
    fn forbid_paths(&self, greedy: &mut Greedy<'_>, vertex: u32) {
        for near in greedy.neighbours(vertex) {
            let Some(colour) = greedy.colour(near) else { continue };
            // As a hub of its own the vertex must not continue what is behind its neighbour; else only what has a hub there.
            let hub_here = self.slots[greedy.own_slot[colour as usize] as usize].single == MANY;
            for slot in greedy.slots(near) {
                if hub_here || self.slots[slot].hub_there {
                    greedy.forbidden[greedy.slot_colours[slot] as usize] = vertex;
                }
            }
        }
    }

    fn join(&mut self, greedy: &mut Greedy<'_>, vertex: u32, colour: u32) {
        for near in greedy.neighbours(vertex) {
            let own = greedy.colour(near).map(|colour| (colour, greedy.own_slot[colour as usize] as usize));
            let Some(slot) = greedy.slot(near, colour) else {
                let slot = greedy.new_slot(near, colour);
                let hub_there = own.is_some_and(|(_, own)| self.slots[own].single == MANY);
                self.slots[slot] = Star { single: vertex, hub_there };
                continue;
            };
            let before = std::mem::replace(&mut self.slots[slot].single, MANY);
            // With colours at both ends of its edges the neighbour is now a hub.
            let Some((near_colour, own)) = own else { continue };
            self.slots[own].hub_there = true;
            if before != MANY {
                let other = greedy.slot(before, near_colour).expect("edges are in the slots of both ends");
                self.slots[other].hub_there = true;
            }
        }
    }
}

/// Trees of two colours: disjoint sets (Tarjan 1975) of slots, because all edges of one slot are in one tree.
struct Trees {
    parent: Vec<u32>,
    /// At the root of each tree: the vertex in whose turn it was last seen, and the neighbour where.
    visited: Vec<(u32, u32)>,
}

impl Trees {
    /// Forbids the colours that would close a cycle of two colours.
    fn forbid_cycles(&mut self, greedy: &mut Greedy<'_>, vertex: u32) {
        for near in greedy.neighbours(vertex) {
            if greedy.colour(near).is_none() {
                continue;
            }
            for slot in greedy.slots(near) {
                let colour = greedy.slot_colours[slot] as usize;
                if greedy.forbidden[colour] == vertex {
                    continue;
                }
                let root = self.root(slot);
                match self.visited[root] {
                    (last, from) if last == vertex && from != near => greedy.forbidden[colour] = vertex,
                    _ => self.visited[root] = (vertex, near),
                }
            }
        }
    }

    fn join(&mut self, greedy: &mut Greedy<'_>, vertex: u32, colour: u32) {
        for near in greedy.neighbours(vertex) {
            let slot = greedy.slot(near, colour).unwrap_or_else(|| greedy.new_slot(near, colour));
            if let Some(near_colour) = greedy.colour(near) {
                let (a, b) = (self.root(slot), self.root(greedy.own_slot[near_colour as usize] as usize));
                self.parent[a.max(b)] = a.min(b) as u32;
            }
        }
    }

    /// The root of a tree; on the way every second link is shortened.
    fn root(&mut self, slot: usize) -> usize {
        let mut at = slot;
        while self.parent[at] as usize != at {
            self.parent[at] = self.parent[self.parent[at] as usize];
            at = self.parent[at] as usize;
        }
        at
    }
}
