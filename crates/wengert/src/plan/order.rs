//! The order in which steps run.

use std::collections::{BinaryHeap, HashMap};

use super::cluster::Clusters;
use super::flatten::{Flat, overwrites};
use crate::program::Value;

/// The steps in an order in which each has what it needs: as early as the program has them, but for steps that could
/// overwrite an operand, which wait for its other readers where these can run before.
pub(super) fn order(flat: &Flat, clusters: &mut Clusters) -> Vec<usize> {
    let count = clusters.list.len();
    let needs = clusters.needs();
    let mut missing: Vec<usize> = needs.iter().map(Vec::len).collect();
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (k, needs) in needs.into_iter().enumerate() {
        needs.into_iter().for_each(|other| after[other].push(k));
    }
    let key = |k: usize| std::cmp::Reverse((clusters.list[k].eqns.last().copied().unwrap_or(0), k));
    let mut ready: BinaryHeap<_> = (0..count).filter(|&k| missing[k] == 0).map(key).collect();
    let mut order = Vec::with_capacity(count);
    let mut readers = Readers::of(flat, clusters);
    let mut waiting = BinaryHeap::new();
    // Who waits in vain, because the others need what it computes, goes on.
    while let Some(std::cmp::Reverse((number, k))) = ready.pop().or_else(|| waiting.pop()) {
        if readers.done[k] {
            continue;
        }
        if !readers.must_wait[k] && readers.others(k) > 0 {
            readers.must_wait[k] = true;
            waiting.push(std::cmp::Reverse((number, k)));
            continue;
        }
        readers.done[k] = true;
        ready.extend(readers.free(k).into_iter().filter(|&k| readers.must_wait[k]).map(key));
        if !clusters.list[k].eqns.is_empty() {
            order.push(k);
        }
        for &next in &after[k] {
            missing[next] -= 1;
            if missing[next] == 0 {
                ready.push(key(next));
            }
        }
    }
    let live = clusters.list.iter().filter(|cluster| !cluster.eqns.is_empty()).count();
    assert!(order.len() == live, "the steps of a plan wait for each other in a circle");
    order
}

/// Who reads what could be overwritten.
struct Readers {
    /// For each step: the operand that it could overwrite.
    overwritten: Vec<Option<Value>>,
    /// For each such operand: its readers that have not run, and the steps that could overwrite it.
    left: HashMap<Value, (usize, Vec<usize>)>,
    /// For each step: those of its operands.
    reads: Vec<Vec<Value>>,
    /// Whether a step waits for others.
    must_wait: Vec<bool>,
    done: Vec<bool>,
}

impl Readers {
    fn of(flat: &Flat, clusters: &Clusters) -> Self {
        let count = clusters.list.len();
        let mut left: HashMap<Value, (usize, Vec<usize>)> = HashMap::new();
        let mut overwritten = vec![None; count];
        for (step, cluster) in clusters.list.iter().enumerate() {
            let &[k] = &cluster.eqns[..] else { continue };
            let eqn = &flat.program.eqns()[k];
            if overwrites(&eqn.op) {
                let base = flat.views[eqn.args[0].index()].base;
                overwritten[step] = Some(base);
                left.entry(base).or_default().1.push(step);
            }
        }
        let mut reads: Vec<Vec<Value>> = vec![Vec::new(); count];
        if !left.is_empty() {
            for (step, cluster) in clusters.list.iter().enumerate() {
                let args = cluster.eqns.iter().flat_map(|&k| &flat.program.eqns()[k].args);
                let bases = args.map(|arg| flat.views[arg.index()].base);
                reads[step] = bases.filter(|base| left.contains_key(base) && !clusters.holds(step, *base)).collect();
                reads[step].sort_unstable();
                reads[step].dedup();
                reads[step].iter().for_each(|base| left.entry(*base).or_default().0 += 1);
            }
        }
        Readers { overwritten, left, reads, must_wait: vec![false; count], done: vec![false; count] }
    }

    /// How many other steps still read the operand that one could overwrite.
    fn others(&self, step: usize) -> usize {
        self.overwritten[step].map_or(0, |base| self.left[&base].0 - 1)
    }

    /// Notes that a step has run; gives those that need not wait any more.
    fn free(&mut self, step: usize) -> Vec<usize> {
        let mut free = Vec::new();
        for base in std::mem::take(&mut self.reads[step]) {
            let (left, steps) = self.left.get_mut(&base).expect("a value that could be overwritten");
            *left -= 1;
            if *left == 1 {
                free.extend(steps.iter().copied().filter(|&step| !self.done[step]));
            }
        }
        free
    }
}
