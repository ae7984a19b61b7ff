//! Clusters to steps: what each does (here), and where its operands lie (`places.rs`).

mod joins;
mod places;
mod sums;

use std::sync::Arc;

use smallvec::SmallVec;

use super::allocated::Allocated;
use super::cluster::{self, Clusters};
use super::control::Inside;
use super::cost::Costs;
use super::flatten::Flat;
use super::kernels::{self, Planes};
use super::phases::{Recorded, recorded};
use super::recompute::Effort;
use super::region::{self, Lowered, Storage};
use super::shared::Shared;
use super::{Indices, Map, MatrixProduct, Operation, Options, StepWork, lines_of, product};
use crate::array::Type;
use crate::primitives::Op;
use crate::program::{Args, Value};
pub(super) use places::Placer;

/// A step before its operands have places.
pub(super) struct Draft {
    work: StepWork,
    pub(super) reads: Args,
    /// For each of these: the element from which on positions count; all 0 if there are none.
    starts: Indices,
    /// For each of these: how many elements the step sees from there on; all that are left if there are none.
    lengths: Indices,
    pub(super) writes: Args,
    /// The element of the first of these at which a kernel begins.
    start: usize,
    scratch: usize,
    eqns: Indices,
    /// Operands, by their numbers, that lie where a result does.
    pub(super) in_place: SmallVec<[(u16, u16); 4]>,
}

/// Every step of a plan, before its operands have places.
pub(super) struct Drafts {
    pub(super) list: Vec<Draft>,
    /// Where which result each value lies: the result.
    pub(super) results: Vec<Option<usize>>,
    /// Of the values that are a part of a result: where they begin there.
    pub(super) parts: Map<Value, usize>,
    pub(super) allocated: Allocated,
    pub(super) shared: Shared,
}

/// Says what the steps of a plan do.
pub(super) struct Planner<'a> {
    flat: &'a Flat,
    clusters: &'a Clusters,
    /// Parts of lanes by their first equation, until their step is made.
    pub(super) parts: Map<usize, Lowered>,
    /// Loops of which one runs backwards over the other, by their equations.
    records: Map<usize, Recorded>,
    shared: Shared,
    order: &'a [usize],
    /// Where which result each value lies: the result.
    results: Vec<Option<usize>>,
    options: &'a Options,
    costs: &'a Costs,
    effort: Effort,
    /// Results that shall be written where an input of their step lies.
    pub(super) in_place: Vec<Value>,
    /// The inputs that may be written over.
    pub(super) given: Vec<usize>,
    allocated: Allocated,
}

impl<'a> Planner<'a> {
    pub(super) fn new(
        flat: &'a Flat,
        clusters: &'a Clusters,
        order: &'a [usize],
        results: Vec<Option<usize>>,
        (options, costs): (&'a Options, &'a Costs),
        effort: Effort,
    ) -> Self {
        let parts = Map::default();
        let eqns = order.iter().flat_map(|&step| &clusters.list[step].eqns);
        let records = if effort.snapshots.is_none() { recorded(flat, eqns.copied()) } else { Map::default() };
        Planner {
            flat,
            clusters,
            parts,
            records,
            shared: Shared::default(),
            order,
            results,
            options,
            costs,
            effort,
            in_place: Vec::new(),
            given: Vec::new(),
            allocated: Allocated::default(),
        }
    }

    /// Values that a step other than their own reads, or that are results.
    fn stored(&self) -> Vec<bool> {
        let mut stored: Vec<bool> = self.results.iter().map(Option::is_some).collect();
        for &step in self.order {
            for &k in &self.clusters.list[step].eqns {
                for &arg in &self.flat.program.eqns()[k].args {
                    let base = self.flat.views[arg.index()].base;
                    if self.flat.literals[arg.index()].is_none() && !self.clusters.holds(step, base) {
                        stored[base.index()] = true;
                    }
                }
            }
        }
        stored
    }

    /// What every step does.
    pub(super) fn drafted(mut self) -> Drafts {
        let list = self.drafts();
        let mut list = self.add_products(list);
        let parts = self.write_parts(&mut list);
        Drafts { list, results: self.results, parts, allocated: self.allocated, shared: self.shared }
    }

    /// One step for each cluster.
    fn drafts(&mut self) -> Vec<Draft> {
        let stored = self.stored();
        let mut drafts = Vec::with_capacity(self.order.len());
        drafts.extend(self.order.iter().filter_map(|&step| self.draft(step, &stored)));
        drafts
    }

    fn region(&mut self, lowered: Lowered, eqns: Indices) -> Draft {
        let Lowered { parts, reads, writes } = lowered;
        let (region, starts) =
            self.shared.region(parts).unwrap_or_else(|why| panic!("a region of ours is invalid: {why}"));
        let scratch = lines_of(region.scratch(self.options.threads));
        let work = StepWork::Region(region);
        let (reads, writes) = (Args::from(&reads[..]), Args::from(&writes[..]));
        Draft {
            work,
            reads,
            starts,
            lengths: Indices::new(),
            writes,
            start: 0,
            scratch,
            eqns,
            in_place: SmallVec::new(),
        }
    }

    /// The step of a cluster; none if it has nothing to compute.
    fn draft(&mut self, step: usize, stored: &[bool]) -> Option<Draft> {
        let cluster = &self.clusters.list[step];
        let eqns = cluster.eqns.clone();
        let flat = self.flat;
        if eqns.is_empty() {
            return None;
        }
        if cluster.space.is_some_and(|extent| extent.count > 0) {
            let is_home = |value: Value| self.clusters.home[value.index()] == Some(step);
            let storage = |value: Value| match stored[value.index()] && is_home(value) {
                false => Storage::None,
                true if self.in_place.contains(&value) => Storage::InPlace,
                true => Storage::Own,
            };
            let lowered = region::lower(flat, self.clusters, step, storage);
            return Some(self.region(lowered, eqns));
        }
        if let Some(lowered) = self.parts.remove(&eqns[0]) {
            return Some(self.region(lowered, eqns));
        }
        let eqn = &flat.program.eqns()[eqns[0]];
        let outs: Args = eqn.outs().collect();
        // What has no elements is computed only for the sake of operands that can be wrong: an index is out of range all the same.
        let is_empty = |value: Value| flat.program.ty(value).size() == 0;
        let can_fail =
            || eqn.op.harmless().iter().any(|&(k, _)| !is_empty(eqn.args[k])) && eqn.op.programs().is_empty();
        if outs.iter().all(|&out| is_empty(out)) && !can_fail() {
            return None;
        }
        let mut reads: Args = eqn.args.iter().map(|arg| flat.views[arg.index()].base).collect();
        let (mut start, mut starts, mut lengths) = (0, Indices::new(), Indices::new());
        let (work, scratch) = match &eqn.op {
            Op::Einsum(op) => {
                let views = [0, 1].map(|k| &flat.views[eqn.args[k].index()]);
                let matrices = product::matrices(op, views, eqn.first).expect("flattening made the operands fit");
                let dtype = flat.program.ty(eqn.first).dtype;
                let symmetric = product::is_symmetric(flat, op, [eqn.args[0], eqn.args[1]]);
                let product = MatrixProduct::new(matrices, symmetric);
                self.allocated = self.allocated.max(product::library(&product, dtype, self.options.threads).into());
                (StepWork::Product(self.shared.product(product)), 0)
            }
            op if !op.programs().is_empty() => {
                let views = || eqn.args.iter().map(|arg| &flat.views[arg.index()]);
                (starts, lengths) = views().map(|view| (view.offset, view.count())).unzip();
                let inside = Inside { options: self.options, costs: self.costs, effort: self.effort };
                let planned =
                    inside.planned(op, self.records.get(&eqns[0])).expect("what is not planned by itself was inlined");
                self.allocated = self.allocated.max(planned.allocated);
                (planned.work, planned.scratch)
            }
            op => {
                let args: Vec<&Type> = eqn.args.iter().map(|&arg| flat.program.ty(arg)).collect();
                let results: Vec<Type> = outs.iter().map(|&out| flat.program.ty(out).clone()).collect();
                let planes = |k: usize| Planes::of(&flat.views[eqn.args[k].index()]).expect("flattening made it so");
                start = kernels::start(op, &args);
                let own = match op {
                    _ if cluster::transposes(flat, eqns[0]) => {
                        Some(kernels::copied(results[0].dtype, &flat.views[eqn.args[0].index()]))
                    }
                    Op::Concat(op) => {
                        let views: Vec<_> = eqn.args.iter().map(|arg| &flat.views[arg.index()]).collect();
                        let whole = |&arg: &Value| {
                            let view = &flat.views[arg.index()];
                            view.is_in_order() && view.count() == flat.program.ty(view.base).size()
                        };
                        (!eqn.args.iter().all(whole)).then(|| kernels::joined(*op, results[0].dtype, &views))
                    }
                    Op::Conv(op) => Some(kernels::conv(op, &args, [planes(0), planes(1)], &results[0])),
                    op @ (Op::Scatter(_) | Op::ScatterReduce(_)) => {
                        let fill = flat.literals[eqn.args[0].index()];
                        reads.drain(..usize::from(fill.is_some()));
                        match op {
                            Op::Scatter(op) => Some(kernels::scatter(op, &args, fill)),
                            Op::ScatterReduce(op) => Some(kernels::scatter_reduce(op, &args, fill)),
                            _ => None,
                        }
                    }
                    _ => None,
                };
                let (kernel, operation) = match own {
                    Some(kernel) => (Arc::from(kernel), Arc::new(Operation::new(op.clone(), &args))),
                    None => self.shared.kernel(op, &args, &results),
                };
                let scratch = lines_of(kernel.workspace(self.options.threads));
                self.allocated = self.allocated.max(kernel.allocated(self.options.threads));
                (StepWork::Kernel(kernel, operation), scratch)
            }
        };
        Some(Draft { work, reads, starts, lengths, writes: outs, start, scratch, eqns, in_place: SmallVec::new() })
    }
}
