//! Which step has to run before which, while steps are still being joined.

use smallvec::{SmallVec, smallvec};

use super::Indices;
use super::work::count;

/// The steps with their dependences, and a topological order of them.
///
/// Before an edge is added or two steps become one, the steps *between* the two are looked at, from both ends in turn, and
/// put in order if there is no circle: as in Pearce and Kelly, *A dynamic topological sort algorithm for directed acyclic
/// graphs*, 2006. What is needed indirectly is never written down: for a chain of n steps that would be n² numbers. A
/// search that becomes too long is given up, and then the union is left out: so the time of planning is proportional to the
/// number of steps.
#[derive(Debug, Default)]
pub(super) struct Precedence {
    nodes: Vec<StepNode>,
    /// Number of the newest search.
    search: u32,
}

/// Steps at the other ends of edges: without memory of their own as long as they are few.
type Edges = SmallVec<[u32; 4]>;

#[derive(Debug)]
struct StepNode {
    /// The steps it needs and those that need it, by the numbers they had: [`Precedence::find`] gives those of now.
    edges: [Edges; 2],
    /// The step it has become part of; itself if it stands.
    part_of: u32,
    /// Its place in the order.
    place: u32,
    /// The last search that met it, and from which end.
    met: (u32, u8),
}

/// How many edges a search looks at before it is given up.
const MOST_EDGES: usize = 1024;

const NEEDS: usize = 0;
const NEEDED: usize = 1;

/// The steps that a search meets: mostly a few.
type Met = SmallVec<[u32; 8]>;

/// One end of a search: steps met, and how far their edges were followed.
struct End {
    /// Which edges it follows.
    direction: usize,
    met: Met,
    at: usize,
    edge: usize,
}

/// The steps between two, the two among them: those after the earlier one, and those before the later one.
struct Between {
    after: Met,
    before: Met,
}

impl Precedence {
    /// No steps, with room for this many.
    pub(super) fn with_room(steps: usize) -> Self {
        Precedence { nodes: Vec::with_capacity(steps), search: 0 }
    }

    /// A new step, the last one so far.
    pub(super) fn push(&mut self) -> usize {
        let own = u32::try_from(self.nodes.len()).expect("a plan has less than 2^32 steps");
        self.nodes.push(StepNode { edges: [Edges::new(), Edges::new()], part_of: own, place: own, met: (0, 0) });
        own as usize
    }

    fn find(&mut self, step: u32) -> u32 {
        let mut step = step;
        loop {
            let parent = self.nodes[step as usize].part_of;
            if parent == step {
                return step;
            }
            let above = self.nodes[parent as usize].part_of;
            self.nodes[step as usize].part_of = above;
            step = above;
        }
    }

    fn place(&self, step: u32) -> u32 {
        self.nodes[step as usize].place
    }

    /// The steps that one needs directly, each once.
    pub(super) fn needs(&mut self, step: usize) -> Indices {
        let own = step as u32;
        let mut needs = Indices::new();
        for k in 0..self.nodes[step].edges[NEEDS].len() {
            let need = self.find(self.nodes[step].edges[NEEDS][k]);
            if need != own {
                needs.push(need as usize);
            }
        }
        needs.sort_unstable();
        needs.dedup();
        needs
    }

    /// Adds that `step` needs `other`, which stands before it in the order: see [`Precedence::put_before`].
    pub(super) fn link(&mut self, other: usize, step: usize) {
        debug_assert!(self.nodes[other].place < self.nodes[step].place, "what is needed stands before");
        let needs = &mut self.nodes[step].edges[NEEDS];
        if !needs.contains(&(other as u32)) {
            needs.push(other as u32);
            self.nodes[other].edges[NEEDED].push(step as u32);
        }
    }

    /// Makes `first` stand before `second`, so that `second` may come to need it; `false` if it cannot, because it needs
    /// `second` itself, directly or not, or if that takes too long to find out.
    pub(super) fn put_before(&mut self, first: usize, second: usize) -> bool {
        let (first, second) = (first as u32, second as u32);
        if self.place(first) < self.place(second) {
            return true;
        }
        let Some(Between { after, before }) = self.between(second, first, false) else { return false };
        let mut places: Vec<u32> = after.iter().chain(&before).map(|&step| self.place(step)).collect();
        places.sort_unstable();
        for (&step, place) in before.iter().chain(&after).zip(places) {
            self.nodes[step as usize].place = place;
        }
        true
    }

    /// Makes `two` part of `one`; `false` if a step would have to run in the middle, or if that takes too long to find out.
    pub(super) fn merge(&mut self, one: usize, two: usize) -> bool {
        let (one, two) = (one as u32, two as u32);
        let (first, last) = if self.place(one) < self.place(two) { (one, two) } else { (two, one) };
        let Some(Between { after, before }) = self.between(first, last, true) else { return false };
        let mut places: Vec<u32> = after.iter().chain(&before).map(|&step| self.place(step)).collect();
        places.sort_unstable();
        // What the later one needs, the union, what needs the earlier one; one place is left over.
        let others =
            |list: &[u32]| list.iter().copied().filter(|&step| step != one && step != two).collect::<Vec<u32>>();
        let order = others(&before).into_iter().chain([one]).chain(others(&after));
        for (step, place) in order.zip(places) {
            self.nodes[step as usize].place = place;
        }
        let gone = std::mem::take(&mut self.nodes[two as usize].edges);
        self.nodes[two as usize].part_of = one;
        for (direction, mut list) in gone.into_iter().enumerate() {
            let own = &mut self.nodes[one as usize].edges[direction];
            if own.len() < list.len() {
                std::mem::swap(own, &mut list);
            }
            count(list.len());
            own.extend(list);
        }
        true
    }

    /// The steps between two, in order, where `first` stands before `last`; `None` if there is a way from the first to the
    /// last, or if the search became too long. An edge from the one to the other is none if `direct` is `true`.
    fn between(&mut self, first: u32, last: u32, direct: bool) -> Option<Between> {
        self.search += 1;
        let end = |direction: usize, step: u32| End { direction, met: smallvec![step], at: 0, edge: 0 };
        let mut ends = [end(NEEDED, first), end(NEEDS, last)];
        self.nodes[first as usize].met = (self.search, NEEDED as u8);
        self.nodes[last as usize].met = (self.search, NEEDS as u8);
        let range = self.place(first)..=self.place(last);
        let mut looked_at = 0;
        let mut open = [true, true];
        while open[0] || open[1] {
            for (end, open) in ends.iter_mut().zip(&mut open) {
                let Some((from, to)) = self.next_edge(end) else {
                    *open = false;
                    continue;
                };
                looked_at += 1;
                count(1);
                if looked_at > MOST_EDGES {
                    return None;
                }
                if from == to || !range.contains(&self.place(to)) {
                    continue;
                }
                let met = &mut self.nodes[to as usize].met;
                if met.0 != self.search {
                    *met = (self.search, end.direction as u8);
                    end.met.push(to);
                } else if met.1 != end.direction as u8 {
                    let ends = [(first, last), (last, first)].contains(&(from, to));
                    if !(direct && ends) {
                        return None;
                    }
                }
            }
        }
        let [mut after, mut before] = ends.map(|end| end.met);
        after.sort_unstable_by_key(|&step| self.place(step));
        before.sort_unstable_by_key(|&step| self.place(step));
        Some(Between { after, before })
    }

    /// The next edge that a search follows: from which step to which.
    fn next_edge(&mut self, end: &mut End) -> Option<(u32, u32)> {
        while let Some(&from) = end.met.get(end.at) {
            if let Some(&to) = self.nodes[from as usize].edges[end.direction].get(end.edge) {
                end.edge += 1;
                return Some((from, self.find(to)));
            }
            end.at += 1;
            end.edge = 0;
        }
        None
    }
}

#[cfg(test)]
mod tests;
