//! Scheduling: the order in which steps run.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::cluster::Clusters;
use super::donate::Donated;
use super::flatten::{Flat, overwrites};
use super::work::count;
use super::{Indices, Map, Set};
use crate::program::Value;

/// The steps in an order in which each has what it needs: as early as the program has them, but for the other readers of an
/// operand that a step could overwrite, which run before that step where a few steps are enough for it.
pub(super) fn order(flat: &Flat, clusters: &mut Clusters, donated: &Donated<'_>) -> Vec<usize> {
    let mut order = Order::of(clusters);
    let mut readers = PendingReaders::of(flat, clusters, donated);
    while let Some(Reverse((_, step))) = order.ready.pop() {
        if order.done[step] {
            continue;
        }
        let earlier = readers.others(step).and_then(|others| order.before(step, &others)).unwrap_or_default();
        for step in earlier.into_iter().chain([step]) {
            order.run(step);
            readers.note(step);
        }
    }
    let live = |step: &usize| !clusters.list[*step].eqns.is_empty();
    let found: Vec<usize> = order.list.into_iter().filter(live).collect();
    assert!(found.len() == (0..clusters.list.len()).filter(live).count(), "the steps of a plan wait for each other");
    found
}

/// The most steps that run early so that one may overwrite its operand: running more would keep their results too long.
const MOST_EARLY: usize = 16;

/// What has run, and what can.
struct Order {
    /// What each step needs, and which steps need it.
    needs: Vec<Indices>,
    after: Vec<Indices>,
    /// How many of its needs have not run.
    missing: Vec<usize>,
    /// The places of steps in the program.
    places: Vec<usize>,
    ready: BinaryHeap<Reverse<(usize, usize)>>,
    done: Vec<bool>,
    list: Vec<usize>,
}

impl Order {
    fn of(clusters: &mut Clusters) -> Self {
        let steps = clusters.list.len();
        let needs = clusters.take_needs();
        let mut after: Vec<Indices> = vec![Indices::new(); steps];
        for (step, needs) in needs.iter().enumerate() {
            needs.iter().for_each(|&other| after[other].push(step));
        }
        let missing: Vec<usize> = needs.iter().map(|needs| needs.len()).collect();
        let places: Vec<usize> =
            clusters.list.iter().map(|cluster| cluster.eqns.last().copied().unwrap_or(0)).collect();
        let ready = (0..steps).filter(|&step| missing[step] == 0).map(|step| Reverse((places[step], step))).collect();
        Order { needs, after, missing, places, ready, done: vec![false; steps], list: Vec::with_capacity(steps) }
    }

    fn run(&mut self, step: usize) {
        self.done[step] = true;
        self.list.push(step);
        for &next in &self.after[step] {
            self.missing[next] -= 1;
            if self.missing[next] == 0 {
                self.ready.push(Reverse((self.places[next], next)));
            }
        }
    }

    /// These steps and what they still need, in order; `None` if `step` is among it, or if they are too many.
    fn before(&self, step: usize, others: &[usize]) -> Option<Vec<usize>> {
        let mut list: Vec<usize> = Vec::new();
        // Steps whose needs were pushed above them are met a second time below these.
        let mut open: Vec<(usize, bool)> = others.iter().map(|&other| (other, false)).collect();
        let mut met = 0;
        while let Some((other, needs_are_listed)) = open.pop() {
            count(1);
            if self.done[other] || list.contains(&other) {
                continue;
            }
            if needs_are_listed {
                list.push(other);
                continue;
            }
            met += 1;
            if other == step || met > MOST_EARLY {
                return None;
            }
            open.push((other, true));
            open.extend(self.needs[other].iter().map(|&need| (need, false)));
        }
        Some(list)
    }
}

/// Who reads what could be overwritten.
struct PendingReaders {
    /// For each step: the operand that it could overwrite.
    overwritten: Vec<Option<Value>>,
    /// For each such operand: its readers that have not run.
    left: Map<Value, Set<usize>>,
    /// For each step: those of its operands.
    reads: Vec<Vec<Value>>,
}

impl PendingReaders {
    fn of(flat: &Flat, clusters: &Clusters, donated: &Donated<'_>) -> Self {
        let steps = clusters.list.len();
        let mut left: Map<Value, Set<usize>> = Map::default();
        let inputs = flat.program.input_types().len();
        let mut overwritten = vec![None; steps];
        for (step, cluster) in clusters.list.iter().enumerate() {
            let &[k] = &cluster.eqns[..] else { continue };
            let eqn = &flat.program.eqns()[k];
            if !overwrites(&eqn.op) {
                continue;
            }
            let base = flat.views[eqn.args[0].index()].base;
            // Neither a number nor an input is memory of the plan, unless it is given away.
            let is_input = base.index() < inputs && !donated.is_given(base.index());
            if flat.literals[base.index()].is_none() && !is_input {
                overwritten[step] = Some(base);
                left.entry(base).or_default();
            }
        }
        let mut reads: Vec<Vec<Value>> = vec![Vec::new(); steps];
        if !left.is_empty() {
            for (step, cluster) in clusters.list.iter().enumerate() {
                let args = cluster.eqns.iter().flat_map(|&k| &flat.program.eqns()[k].args);
                let bases = args.map(|arg| flat.views[arg.index()].base);
                reads[step] = bases.filter(|base| left.contains_key(base) && !clusters.holds(step, *base)).collect();
                reads[step].sort_unstable();
                reads[step].dedup();
                reads[step].iter().for_each(|base| {
                    left.entry(*base).or_default().insert(step);
                });
            }
        }
        PendingReaders { overwritten, left, reads }
    }

    /// The other steps that still read the operand that one could overwrite; `None` if there is none, or too many.
    fn others(&self, step: usize) -> Option<Vec<usize>> {
        let left = &self.left[&self.overwritten[step]?];
        let others = 1..=MOST_EARLY;
        if !others.contains(&(left.len() - 1)) {
            return None;
        }
        let mut others: Vec<usize> = left.iter().copied().filter(|&other| other != step).collect();
        others.sort_unstable();
        Some(others)
    }

    /// Notes that a step has run.
    fn note(&mut self, step: usize) {
        for base in std::mem::take(&mut self.reads[step]) {
            self.left.get_mut(&base).expect("a value that could be overwritten").remove(&step);
        }
    }
}
