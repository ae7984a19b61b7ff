//! Rematerialisation: a residual that costs less than its memory is computed again where it is needed instead of being stored.
//!
//! A value that only regions read, made of a few cheap operations from what is in memory anyway, becomes part of every
//! region that reads it. So the slope of a rectifier is recomputed from its argument, a centred value from the value and
//! its mean. The rule is the classical one, store what is expensive and recompute what is cheap (Griewank and Walther,
//! *Evaluating Derivatives*, 2008, chapter 12), with bytes for prices. How much may be done again is an [`Effort`]: without
//! a limit of memory only what pays, and more where it is needed to stay below one.

use std::collections::BTreeSet;

use smallvec::SmallVec;

use super::Indices;
use super::cluster::{Clusters, MAX_READS, Role, reads_elsewhere};
use super::cost::{CHEAP, DIVISION, FUNCTION};
use super::flatten::Flat;
use super::kernel::bytes;
use super::takes::Again;
use super::work::count;
use crate::ops::{Binary, Unary};
use crate::primitives::Op;
use crate::program::Value;

/// How much may be computed again to save memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    /// How much work a value may cost again in one region, in additions.
    work: usize,
    /// What a function such as exp costs; nothing if it is never done again.
    function: Option<usize>,
    /// How many bytes may be read again for one that is not stored.
    reads: usize,
    /// Whether memory is spent on copies: one that is kept for later readers of the same elements instead of being
    /// made again, and that of an operand which a product would gather.
    pub(super) copies: bool,
    /// How many carries of a loop of unknown length lie in memory for its reverse, where the others go to a file.
    pub(super) snapshots: Option<usize>,
}

impl Effort {
    /// With this many carries of a loop in memory.
    pub(super) fn with_snapshots(self, snapshots: Option<usize>) -> Self {
        Effort { snapshots, ..self }
    }
}

/// First what pays by itself, then more and more work for less memory.
pub(super) const EFFORTS: [Effort; 3] = [
    Effort { work: 8 * CHEAP, function: None, reads: 2, copies: true, snapshots: None },
    Effort { work: 64 * CHEAP, function: Some(FUNCTION), reads: 4, copies: false, snapshots: None },
    Effort { work: 1024 * CHEAP, function: Some(FUNCTION), reads: 64, copies: false, snapshots: None },
];

/// Moves cheap values into the regions that read them. `results` says which values the caller gets. Rows are looked up again only of
/// what is in memory all the time, so that no array lives longer for it.
pub(super) fn recompute(flat: &Flat, clusters: &mut Clusters, results: &[Option<usize>], effort: Effort) {
    // For each value: its reading steps; what defines it; whether something else than a region reads it.
    let mut readers: Vec<ReadingSteps> = vec![ReadingSteps::default(); flat.views.len()];
    for (step, cluster) in clusters.list.iter().enumerate() {
        for &k in &cluster.eqns {
            for base in bases(flat, k) {
                readers[base.index()].insert(step);
            }
        }
    }
    let mut definitions: Vec<Option<usize>> = vec![None; flat.views.len()];
    for (k, eqn) in flat.program.eqns().iter().enumerate() {
        eqn.outs().for_each(|out| definitions[out.index()] = Some(k));
    }
    // Later values first: they are made of earlier ones.
    for k in (0..flat.program.eqns().len()).rev() {
        let value = flat.program.eqns()[k].first;
        let Some(home) = clusters.home[value.index()] else { continue };
        let others: Vec<usize> = readers[value.index()].iter().filter(|&step| step != home).collect();
        let free = clusters.list[home].space.is_some()
            && clusters.roles[value.index()] == Role::Full
            && results[value.index()].is_none();
        if others.is_empty() || !free {
            continue;
        }
        let attempt = |&step: &usize| {
            let (clusters, readers, definitions) = (&*clusters, &readers[..], &definitions[..]);
            let clones = BTreeSet::new();
            let (work, bytes, reads) = (0, 0, 0);
            Attempt { flat, clusters, readers, results, definitions, effort, step, work, bytes, reads, clones }.run(k)
        };
        let plans: Option<Vec<BTreeSet<usize>>> = others.iter().map(attempt).collect();
        let Some(plans) = plans else { continue };
        for (&step, clones) in others.iter().zip(&plans) {
            for &clone in clones {
                let reads: Vec<Value> = bases(flat, clone).filter(|&base| !clusters.holds(step, base)).collect();
                clusters.clone_into(step, clone, flat.program.eqns()[clone].first, reads.into_iter());
                for base in bases(flat, clone) {
                    readers[base.index()].insert(step);
                }
            }
        }
        readers[value.index()].keep_only(home);
    }
    drop_unused(flat, clusters, results);
    clusters.copy_alone(flat);
}

/// The steps that read a value, increasing.
#[derive(Clone, Debug, Default)]
struct ReadingSteps(SmallVec<[u32; 4]>);

impl ReadingSteps {
    fn insert(&mut self, step: usize) {
        if let Err(place) = self.0.binary_search(&(step as u32)) {
            count(1 + (self.0.len() - place) / 64);
            self.0.insert(place, step as u32);
        }
    }

    fn contains(&self, step: usize) -> bool {
        self.0.binary_search(&(step as u32)).is_ok()
    }

    fn keep_only(&mut self, step: usize) {
        self.0.retain(|own| *own as usize == step);
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().map(|&step| step as usize)
    }
}

/// The stored values that an equation reads.
fn bases(flat: &Flat, k: usize) -> impl Iterator<Item = Value> + '_ {
    let args = flat.program.eqns()[k].args.iter();
    args.filter(|arg| flat.literals[arg.index()].is_none()).map(|arg| flat.views[arg.index()].base)
}

/// The way to have a value in one more region.
struct Attempt<'a> {
    flat: &'a Flat,
    clusters: &'a Clusters,
    readers: &'a [ReadingSteps],
    results: &'a [Option<usize>],
    definitions: &'a [Option<usize>],
    effort: Effort,
    step: usize,
    work: usize,
    /// Operands that the region would read besides.
    reads: usize,
    /// Bytes that the region would read besides.
    bytes: usize,
    clones: BTreeSet<usize>,
}

impl Attempt<'_> {
    /// The equations that the region needs for the value of equation `k`; `None` if that costs too much.
    fn run(mut self, k: usize) -> Option<BTreeSet<usize>> {
        let value = self.flat.program.eqns()[k].first;
        let ty = self.flat.program.ty(value);
        let space = self.clusters.list[self.step].space?;
        if space.count != ty.size() {
            return None;
        }
        self.clone(k)?;
        // Every reader in the region takes the element of its own place.
        count(self.clusters.list[self.step].eqns.len());
        let reads_in_order = || {
            self.clusters.list[self.step].eqns.iter().all(|&reader| {
                let elsewhere = reads_elsewhere(self.flat, reader);
                self.flat.program.eqns()[reader].args.iter().all(|arg| {
                    let view = &self.flat.views[arg.index()];
                    // Not only the first ones, as elements of rows.
                    view.base != value
                        || (!elsewhere && view.is_in_order() && self.flat.program.ty(*arg).size() == space.count)
                })
            })
        };
        if !reads_in_order() {
            return None;
        }
        let operands = self.clusters.read_count(self.step) + self.reads;
        // Saved: one write, and a read here.
        let most = bytes(ty).saturating_mul(self.effort.reads);
        (operands <= MAX_READS && self.bytes <= most).then_some(self.clones)
    }

    fn clone(&mut self, k: usize) -> Option<()> {
        let (flat, clusters) = (self.flat, self.clusters);
        let eqn = &flat.program.eqns()[k];
        count(1);
        self.work += price(&eqn.op, self.effort.function)?;
        let again = match &eqn.op {
            Op::Gather(_) => Some(Again::of(flat, k).filter(|again| flat.stays[again.array.index()])?),
            _ => None,
        };
        if self.work > self.effort.work
            || clusters.list[self.step].eqns.len() + self.clones.len() >= super::cluster::MAX_EQNS
        {
            return None;
        }
        self.clones.insert(k);
        let count = flat.program.ty(eqn.first).size();
        for arg in eqn.args.iter().filter(|arg| flat.literals[arg.index()].is_none()) {
            let view = &flat.views[arg.index()];
            let base = view.base;
            if clusters.holds(self.step, base) {
                // What the region has itself may come too late, or be a row's.
                return None;
            }
            let in_order = view.is_in_order() && flat.program.ty(base).size() == count;
            let in_memory = match clusters.home[base.index()] {
                None => true,
                Some(home) => {
                    clusters.list[home].space.is_none()
                        || self.results[base.index()].is_some()
                        || self.readers[base.index()].iter().any(|step| step != home)
                }
            };
            if in_memory {
                if !self.readers[base.index()].contains(self.step) {
                    let again = again.as_ref().filter(|again| again.array == base);
                    self.bytes += again.map_or_else(|| bytes(flat.program.ty(base)), |again| again.bytes);
                    self.reads += 1;
                }
                continue;
            }
            let definition = self.definitions[base.index()]?;
            if self.clones.contains(&definition) {
                continue;
            }
            if !in_order || clusters.roles[base.index()] != Role::Full {
                return None;
            }
            self.clone(definition)?;
        }
        Some(())
    }
}

/// What an operation costs per element, in additions; `None` if it is never done twice.
fn price(op: &Op, function: Option<usize>) -> Option<usize> {
    match op {
        op if op.is_cheap() => Some(CHEAP),
        // Where it is worth it at all.
        Op::Gather(_) => Some(CHEAP),
        Op::Unary(Unary::Recip | Unary::Sqrt | Unary::Rsqrt) | Op::Binary(Binary::Div) => Some(DIVISION),
        Op::Unary(_) | Op::Binary(_) => function,
        _ => None,
    }
}

/// Takes out of the regions what neither they nor others read any more.
fn drop_unused(flat: &Flat, clusters: &mut Clusters, results: &[Option<usize>]) {
    let mut needed: Vec<bool> = results.iter().map(Option::is_some).collect();
    for (step, cluster) in clusters.list.iter().enumerate() {
        for &k in &cluster.eqns {
            for base in bases(flat, k).filter(|&base| !clusters.holds(step, base)) {
                needed[base.index()] = true;
            }
        }
    }
    for step in 0..clusters.list.len() {
        if clusters.list[step].space.is_none() {
            continue;
        }
        let mut used: BTreeSet<Value> = BTreeSet::new();
        let eqns = clusters.list[step].eqns.clone();
        let mut kept = Indices::with_capacity(eqns.len());
        for &k in eqns.iter().rev() {
            let value = flat.program.eqns()[k].first;
            let stored = needed[value.index()] && clusters.home[value.index()] == Some(step);
            if stored || used.contains(&value) {
                kept.push(k);
                used.extend(bases(flat, k));
            }
        }
        kept.reverse();
        clusters.list[step].eqns = kept;
    }
}
