//! Clusters to steps: what each does, and where its operands lie.

mod sums;

use std::borrow::Cow;
use std::sync::Arc;

use super::allocated::Allocated;
use super::buffers::{self, Life};
use super::cluster::{self, Clusters};
use super::control::Inside;
use super::cost::Costs;
use super::flatten::Flat;
use super::kernel::{bytes, kind};
use super::kernels::{self, Planes};
use super::phases::{Recorded, recorded};
use super::recompute::Effort;
use super::region::{self, Lowered, Storage};
use super::shared::Shared;
use super::{
    Access, Accesses, Home, Map, MatrixProduct, Operation, Options, Provenance, Step, StepOperand, StepWork, lines_of,
    product, verify,
};
use crate::array::Type;
use crate::error::Line;
use crate::primitives::Op;
use crate::program::Value;

/// A step before its operands have places.
pub(super) struct Draft {
    work: StepWork,
    pub(super) reads: Vec<Value>,
    /// For each of these: the element from which on positions count; all 0 if there are none.
    starts: Vec<usize>,
    /// For each of these: how many elements the step sees from there on; all that are left if there are none.
    lengths: Vec<usize>,
    pub(super) writes: Vec<Value>,
    /// The element of the first of these at which a kernel begins.
    start: usize,
    scratch: usize,
    eqns: Vec<usize>,
    /// Operands, by their numbers, that lie where a result does.
    pub(super) in_place: Vec<(usize, usize)>,
}

/// Makes the steps of a plan, and gives their operands places.
pub(super) struct Planner<'a> {
    flat: &'a Flat,
    clusters: &'a Clusters,
    /// Parts of lanes by their first equation, until their step is made.
    pub(super) parts: Map<usize, Lowered>,
    /// Loops of which one runs backwards over the other, by their equations.
    records: Map<usize, Recorded>,
    shared: Shared,
    order: &'a [usize],
    /// Where which result lies each value does: the result, and what becomes it when parts of it are changed.
    results: Vec<Option<usize>>,
    options: &'a Options,
    costs: &'a Costs,
    effort: Effort,
    /// Results that shall be written where an input of their step lies.
    pub(super) in_place: Vec<Value>,
    /// The inputs that may be written over.
    pub(super) given: Vec<usize>,
    pub(super) values: usize,
    pub(super) scratch: usize,
    pub(super) allocated: Allocated,
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
            values: 0,
            scratch: 0,
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

    pub(super) fn steps(&mut self) -> Vec<Step> {
        let drafts = self.drafts();
        let mut drafts = self.add_products(drafts);
        self.overwrite(&mut drafts);
        let homes = self.place(&drafts);
        if cfg!(debug_assertions) {
            verify::check_memory(self.flat, &drafts, &homes, &self.results)
                .unwrap_or_else(|why| panic!("{why}\n{}", self.flat.program));
        }
        drafts.into_iter().map(|draft| self.finish(draft, &homes)).collect()
    }

    /// What every step does.
    pub(super) fn drafts(&mut self) -> Vec<Draft> {
        let stored = self.stored();
        self.order.iter().flat_map(|&step| self.draft(step, &stored)).collect()
    }

    fn region(&mut self, lowered: Lowered, eqns: Vec<usize>) -> Draft {
        let Lowered { parts, reads, writes } = lowered;
        let (region, starts) =
            self.shared.region(parts).unwrap_or_else(|why| panic!("a region of ours is invalid: {why}"));
        let scratch = lines_of(region.scratch(self.options.threads));
        let work = StepWork::Region(region);
        let lengths = Vec::new();
        Draft { work, reads, starts, lengths, writes, start: 0, scratch, eqns, in_place: Vec::new() }
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
        let outs: Vec<Value> = eqn.outs().collect();
        if outs.iter().all(|&out| flat.program.ty(out).size() == 0) {
            return None;
        }
        let mut reads: Vec<Value> = eqn.args.iter().map(|arg| flat.views[arg.index()].base).collect();
        let (mut start, mut starts, mut lengths) = (0, Vec::new(), Vec::new());
        let (work, scratch) = match &eqn.op {
            Op::Einsum(op) => {
                let views = [0, 1].map(|k| &flat.views[eqn.args[k].index()]);
                let matrices = product::matrices(op, views, eqn.first).expect("flattening made the operands fit");
                let dtype = flat.program.ty(eqn.first).dtype;
                let symmetric = product::is_symmetric(flat, op, [eqn.args[0], eqn.args[1]]);
                let product = MatrixProduct::new(matrices, symmetric);
                self.allocated = self.allocated.max(product::library(&product, dtype, self.options.threads).into());
                (StepWork::Product(Box::new(product)), 0)
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
                    Op::Scatter(op) => {
                        let fill = flat.literals[eqn.args[0].index()];
                        reads.drain(..usize::from(fill.is_some()));
                        Some(kernels::scatter(op, &args, fill))
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
        Some(Draft { work, reads, starts, lengths, writes: outs, start, scratch, eqns, in_place: Vec::new() })
    }

    /// Lets what a step writes take the place of an operand that it reads last and may overwrite: both lie in the arena, or
    /// where a result is. The step reads the operand once, so that nobody sees it change.
    fn overwrite(&mut self, drafts: &mut [Draft]) {
        let inputs = self.flat.program.input_types().len();
        let mut last = vec![0; self.flat.views.len()];
        for (step, draft) in drafts.iter().enumerate() {
            draft.reads.iter().for_each(|value| last[value.index()] = step);
        }
        // Backwards: where a value lies depends on what overwrites it.
        for (step, draft) in drafts.iter_mut().enumerate().rev() {
            let pairs = match &draft.work {
                StepWork::Kernel(kernel, ..) => kernel.in_place(),
                StepWork::Product(product) => product.in_place(),
                _ => continue,
            };
            for (read, write) in pairs.iter().map(|&(read, write)| (usize::from(read), usize::from(write))) {
                let (x, out) = (draft.reads[read], draft.writes[write]);
                let reads = draft.reads.iter().filter(|&&value| value == x).count();
                let same = self.flat.program.ty(x) == self.flat.program.ty(out) && self.flat.program.ty(x).size() > 0;
                let free = draft.in_place.iter().all(|&(other, taken)| other != read && taken != write);
                let movable = x.index() >= inputs && self.results[x.index()].is_none();
                if same && free && reads == 1 && last[x.index()] == step && movable {
                    draft.in_place.push((read, write));
                    self.results[x.index()] = self.results[out.index()];
                }
            }
        }
    }

    /// The first line of each value in the arena.
    pub(super) fn place(&mut self, drafts: &[Draft]) -> Vec<usize> {
        let mut numbers: Vec<Option<usize>> = vec![None; self.flat.views.len()];
        let mut lives: Vec<Life> = Vec::new();
        for (step, draft) in drafts.iter().enumerate() {
            self.scratch = self.scratch.max(draft.scratch);
            for (k, value) in draft.writes.iter().enumerate() {
                if let Some(&(read, _)) = draft.in_place.iter().find(|(_, write)| *write == k) {
                    numbers[value.index()] = numbers[draft.reads[read].index()];
                } else if self.results[value.index()].is_none() {
                    numbers[value.index()] = Some(lives.len());
                    let lines = lines_of(bytes(self.flat.program.ty(*value)));
                    lives.push(Life { lines, first: step, last: step });
                }
            }
            for value in &draft.reads {
                if let Some(number) = numbers[value.index()] {
                    lives[number].last = step;
                }
            }
        }
        let (places, total) = buffers::place(&lives);
        self.values = total;
        numbers.into_iter().map(|number| number.map_or(0, |number| places[number])).collect()
    }

    fn finish(&mut self, draft: Draft, homes: &[usize]) -> Step {
        let inputs = self.flat.program.input_types().len();
        let mut arena = Accesses::new();
        let mut results = Accesses::new();
        let overwritten = |k: usize| draft.in_place.iter().find(|(read, _)| *read == k).map(|&(_, write)| write);
        // The operand that is overwritten shares the buffer of a result.
        let reads = draft.reads.iter().enumerate().filter(|(k, _)| overwritten(*k).is_none());
        let both = reads.map(|(_, value)| (value, false)).chain(draft.writes.iter().map(|value| (value, true)));
        for (value, written) in both.clone() {
            if value.index() < inputs {
                continue;
            }
            let (list, range) = match self.results[value.index()] {
                Some(k) => (&mut results, k..k + 1),
                None => {
                    let start = homes[value.index()];
                    (&mut arena, start..start + lines_of(bytes(self.flat.program.ty(*value))))
                }
            };
            let access = Access { range, written };
            if !access.range.is_empty() && !list.contains(&access) {
                list.push(access);
            }
        }
        arena.sort_by_key(|access| access.range.start);
        results.sort_by_key(|access| access.range.start);
        let operand = |value: &Value| {
            let ty = self.flat.program.ty(*value);
            let at = |list: &[Access], start: usize| list.iter().position(|access| access.range.start == start);
            let home = match self.results[value.index()] {
                _ if value.index() < inputs => Home::Input(value.index()),
                Some(k) => Home::Result(at(&results, k).expect("a result of the step")),
                None if ty.size() == 0 => Home::Arena(usize::MAX),
                None => Home::Arena(at(&arena, homes[value.index()]).expect("a range of the step")),
            };
            StepOperand { home, start: 0, length: ty.size(), kind: kind(ty.dtype), count: ty.size() }
        };
        let read = |(k, value): (usize, &Value)| match overwritten(k) {
            Some(write) => StepOperand { home: Home::InPlace(write as u16), ..operand(value) },
            None => {
                // A window without elements may begin behind the end.
                let whole = operand(value);
                let start = draft.starts.get(k).copied().unwrap_or(0).min(whole.count);
                let length = draft.lengths.get(k).copied().unwrap_or(whole.count - start);
                StepOperand { start, length, ..whole }
            }
        };
        let write =
            |(k, value): (usize, &Value)| StepOperand { start: if k == 0 { draft.start } else { 0 }, ..operand(value) };
        let reads = draft.reads.iter().enumerate().map(read).collect();
        let writes = draft.writes.iter().enumerate().map(write).collect();
        let mut lines: Vec<Line> = Vec::new();
        let mut names: Vec<Cow<'static, str>> = Vec::with_capacity(draft.eqns.len());
        for &k in &draft.eqns {
            let eqn = &self.flat.program.eqns()[k];
            lines.extend(eqn.line.filter(|line| !lines.contains(line)));
            names.push(eqn.op.name());
        }
        let provenance = self.shared.provenance(Provenance { lines, names });
        Step { work: draft.work, reads, writes, arena, results, scratch: draft.scratch, provenance }
    }
}
