//! Program to plan: which steps run, on which memory, in which order.
//!
//! A [`Plan`] is immutable and belongs to nobody: everything that running needs is placed before, and the memory is passed
//! in. Its steps are *regions* (chains of elementwise operations with what they are reduced to, run chunk by chunk in the
//! cache), products of matrices, and kernels for everything that moves or orders elements.

mod buffers;
mod cluster;
mod donate;
pub(crate) mod explain;
mod finish;
mod flatten;
pub(crate) mod kernel;
pub(crate) mod kernels;
mod lanes;
mod pairs;
mod product;
mod recompute;
mod region;
mod turn;
mod view;

use std::collections::{BinaryHeap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use wengert_kernels::arena::Line as Lines;
use wengert_kernels::region::{Kind, Region};

use crate::array::Type;
use crate::error::{Error, ErrorKind, Line};
use crate::primitives::{Op, Primitive};
use crate::program::{Program, Value};
use buffers::Life;
use cluster::{Clusters, cluster};
pub use explain::{Detail, StepInfo, StepKind, Summary};
use flatten::{Flat, Flattening, flatten};
use kernel::{Kernel, bytes, kind};
use kernels::Planes;
use lanes::Item;
pub(crate) use product::Product;
use recompute::{EFFORTS, Effort};
use region::{Lowered, Storage};

/// What a plan is made for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// How many threads run it, the caller's among them.
    pub threads: usize,
    /// The memory it may take, in bytes: the predicted peak of [`Plan::peak_bytes`]. Without a limit if `None`. Below what
    /// is fastest, more values are computed again where they are needed, instead of being stored.
    pub memory: Option<usize>,
}

impl Default for Options {
    fn default() -> Self {
        Options { threads: 1, memory: None }
    }
}

/// A Program whose steps and memory are fixed; see the [module](self).
#[derive(Debug)]
pub struct Plan {
    inputs: Vec<Type>,
    outputs: Vec<Output>,
    steps: Vec<Step>,
    /// Lines of the arena for values.
    values: usize,
    /// Lines of the arena after them, for one step at a time.
    scratch: usize,
    /// Bytes that the library of matrix products allocates for itself.
    library: usize,
    options: Options,
}

/// What a result is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Output {
    pub(crate) ty: Type,
    pub(crate) source: OutputSource,
}

/// Where a result comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputSource {
    /// An input, in this shape.
    Input(usize),
    /// A step writes it.
    Fresh,
    /// A step writes it where this input lies, which is given away.
    Donated(usize),
    /// The same numbers as an earlier result.
    Again(usize),
}

/// One step.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) work: Work,
    pub(crate) reads: Vec<Operand>,
    pub(crate) writes: Vec<Operand>,
    /// The ranges of the arena that it uses, increasing, and whether it writes them. Operands name them by number.
    pub(crate) pieces: Vec<Piece>,
    /// The results that it uses, increasing.
    pub(crate) results: Vec<Piece>,
    /// Lines of scratch.
    pub(crate) scratch: usize,
    /// The user's lines of its equations, without repetition.
    pub(crate) lines: Vec<Line>,
    /// The names of its equations' operations.
    pub(crate) names: Vec<String>,
}

/// A range of lines of the arena, or of results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) range: Range<usize>,
    pub(crate) written: bool,
}

/// An operand of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Operand {
    pub(crate) home: Home,
    pub(crate) kind: Kind,
    pub(crate) count: usize,
}

/// Where an operand lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    /// An input of the plan.
    Input(usize),
    /// A piece of the arena, by its number in the step.
    Piece(usize),
    /// A result, by its number in the step's list.
    Result(usize),
    /// What the operand that the step writes under this number holds before.
    InPlace(u16),
}

/// What a step does.
#[derive(Debug)]
pub(crate) enum Work {
    /// A fused region.
    Region(Box<Region>),
    /// Products of matrices.
    Product(Box<Product>),
    /// One operation on whole arrays.
    Kernel(Box<dyn Kernel>, Op, Vec<Type>),
    /// One of two plans: if the first operand holds, the first.
    Cond(Box<[Plan; 2]>),
}

const LINE: usize = size_of::<Lines>();

fn lines_of(bytes: usize) -> usize {
    bytes.div_ceil(LINE)
}

impl Plan {
    /// Plans a Program; optimise it before.
    ///
    /// ```
    /// use wengert::Program;
    /// use wengert::plan::{Options, Plan};
    /// let text = "program(v0: f64[8]) { v1: f64[8] = exp v0; v2: f64[] = sum[axes=[0]] v1; return v2 }";
    /// let program: Program = text.parse()?;
    /// let plan = Plan::new(&program, &Options::default())?;
    /// assert_eq!(plan.step_count(), 1, "one region: nothing is stored between exp and sum");
    /// # Ok::<(), wengert::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the predicted peak is above [`Options::memory`] whatever is computed again; the message says what would do.
    pub fn new(program: &Program, options: &Options) -> Result<Plan, Error> {
        Plan::donating(program, options, &[])
    }

    /// As [`Plan::new`]; results may be written where the marked inputs lie, which the caller gives away.
    pub(crate) fn donating(program: &Program, options: &Options, donated: &[bool]) -> Result<Plan, Error> {
        let with = |effort: Effort| build(program, options, Results::Shared, donated, effort);
        let [fastest, frugal @ ..] = EFFORTS;
        let mut least = with(fastest);
        let limit = options.memory.unwrap_or(usize::MAX);
        for effort in frugal {
            if least.peak_bytes() <= limit {
                break;
            }
            let plan = with(effort);
            if plan.peak_bytes() < least.peak_bytes() {
                least = plan;
            }
        }
        if least.peak_bytes() <= limit { Ok(least) } else { Err(least.too_large(limit)) }
    }

    fn too_large(&self, limit: usize) -> Error {
        let why = format!(
            "the program needs {} bytes ({} of values, {} of scratch, {} of results), and {limit} are allowed; {} would do",
            self.peak_bytes(),
            self.values.saturating_mul(LINE),
            self.scratch.saturating_mul(LINE).saturating_add(self.library),
            self.result_bytes(),
            self.peak_bytes()
        );
        Error::new(ErrorKind::Unavailable, "plan", why)
    }

    /// The predicted peak: arena, scratch, the matrix library's own memory, and results. Inputs are the caller's. What no
    /// machine has is `usize::MAX`.
    pub fn peak_bytes(&self) -> usize {
        self.arena_bytes().saturating_add(self.library).saturating_add(self.result_bytes())
    }

    /// Bytes of the arena.
    pub fn arena_bytes(&self) -> usize {
        self.values.saturating_add(self.scratch).saturating_mul(LINE)
    }

    /// Bytes of the results that are not inputs.
    pub fn result_bytes(&self) -> usize {
        let fresh = self.outputs.iter().filter(|output| output.source == OutputSource::Fresh);
        fresh.fold(0, |sum: usize, output| sum.saturating_add(bytes(&output.ty)))
    }

    /// How many steps there are.
    pub fn step_count(&self) -> usize {
        self.steps.len()
    }

    /// The types of the inputs.
    pub fn input_types(&self) -> &[Type] {
        &self.inputs
    }

    pub(crate) fn outputs(&self) -> &[Output] {
        &self.outputs
    }

    pub(crate) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Lines of the arena before the scratch, and of the scratch.
    pub(crate) fn arena_lines(&self) -> (usize, usize) {
        (self.values, self.scratch)
    }

    /// What it was made for.
    pub fn options(&self) -> &Options {
        &self.options
    }
}

/// Whether results may be inputs, or one another.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Results {
    Shared,
    /// Every result is written: the plan of a branch, whose results have their place in the plan around.
    Written,
}

fn build(program: &Program, options: &Options, results: Results, donated: &[bool], effort: Effort) -> Plan {
    let written = results == Results::Written;
    let how = Flattening { written, keeps_copies: effort.copies, copies_gathered: false };
    let mut flat = flatten(program, how);
    // What is gathered is known when chains lie as they will: those that were turned may be read as they are.
    let turned = turn::turned(&flat);
    if turned.is_some() || (flat.gathers && effort.copies) {
        flat = flatten(turned.as_ref().unwrap_or(program), Flattening { copies_gathered: effort.copies, ..how });
    }
    let items = lanes::items(&flat);
    let mut clusters = cluster(&flat, &items);
    let order = order(&clusters);
    let (mut outputs, places) = outputs(program, &flat);
    recompute::recompute(&flat, &mut clusters, &places, effort);
    let wanted = donate::wanted(&flat, &clusters, &order, &outputs, donated);
    let mut planner = Planner::new(&flat, &clusters, &order, places, options, effort);
    planner.in_place = wanted.iter().map(|pair| pair.value).collect();
    planner.parts = items.into_iter().filter_map(Item::part).collect();
    let mut steps = planner.steps();
    let (values, scratch, library) = (planner.values, planner.scratch, planner.library);
    wanted.iter().for_each(|pair| donate::settle(pair, &mut steps, &mut outputs));
    Plan { inputs: program.input_types().to_vec(), outputs, steps, values, scratch, library, options: options.clone() }
}

/// What each result is, and which result each value is.
fn outputs(program: &Program, flat: &Flat) -> (Vec<Output>, Vec<Option<usize>>) {
    let mut places = vec![None; flat.views.len()];
    let inputs = program.input_types().len();
    let mut list: Vec<Output> = Vec::new();
    for (k, (&value, ty)) in flat.program.outputs().iter().zip(program.output_types()).enumerate() {
        let source = match places[value.index()] {
            _ if value.index() < inputs => OutputSource::Input(value.index()),
            Some(earlier) => OutputSource::Again(earlier),
            None => {
                places[value.index()] = Some(k);
                OutputSource::Fresh
            }
        };
        list.push(Output { ty, source });
    }
    (list, places)
}

/// The steps in an order in which each has what it needs: as early as the program has them.
fn order(clusters: &Clusters) -> Vec<usize> {
    let count = clusters.list.len();
    let mut missing: Vec<usize> = (0..count).map(|k| clusters.before(k).count()).collect();
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); count];
    for k in 0..count {
        clusters.before(k).for_each(|other| after[other].push(k));
    }
    let key = |k: usize| std::cmp::Reverse((clusters.list[k].eqns.last().copied().unwrap_or(0), k));
    let mut ready: BinaryHeap<_> = (0..count).filter(|&k| missing[k] == 0).map(key).collect();
    let mut order = Vec::with_capacity(count);
    while let Some(std::cmp::Reverse((_, k))) = ready.pop() {
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

/// A step before its operands have places.
struct Draft {
    work: Work,
    reads: Vec<Value>,
    writes: Vec<Value>,
    scratch: usize,
    eqns: Vec<usize>,
}

struct Planner<'a> {
    flat: &'a Flat,
    clusters: &'a Clusters,
    /// Parts of lanes by their first equation, until their step is made.
    parts: HashMap<usize, Lowered>,
    order: &'a [usize],
    /// Which result each value is.
    results: Vec<Option<usize>>,
    options: &'a Options,
    effort: Effort,
    /// Results that shall be written where an input of their step lies.
    in_place: Vec<Value>,
    values: usize,
    scratch: usize,
    library: usize,
}

impl<'a> Planner<'a> {
    fn new(
        flat: &'a Flat,
        clusters: &'a Clusters,
        order: &'a [usize],
        results: Vec<Option<usize>>,
        options: &'a Options,
        effort: Effort,
    ) -> Self {
        let parts = HashMap::new();
        Planner {
            flat,
            clusters,
            parts,
            order,
            results,
            options,
            effort,
            in_place: Vec::new(),
            values: 0,
            scratch: 0,
            library: 0,
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

    fn steps(&mut self) -> Vec<Step> {
        let stored = self.stored();
        let drafts: Vec<Draft> = self.order.iter().flat_map(|&step| self.draft(step, &stored)).collect();
        let homes = self.place(&drafts);
        drafts.into_iter().map(|draft| self.finish(draft, &homes)).collect()
    }

    fn region(&self, lowered: Lowered, eqns: Vec<usize>) -> Draft {
        let scratch = lines_of(lowered.region.scratch(self.options.threads));
        let work = Work::Region(Box::new(lowered.region));
        Draft { work, reads: lowered.reads, writes: lowered.writes, scratch, eqns }
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
        let reads: Vec<Value> = eqn.args.iter().map(|arg| flat.views[arg.index()].base).collect();
        let (work, scratch) = match &eqn.op {
            Op::Einsum(op) => {
                let views = [0, 1].map(|k| &flat.views[eqn.args[k].index()]);
                let matrices = product::matrices(op, views, eqn.first).expect("flattening made the operands fit");
                let dtype = flat.program.ty(eqn.first).dtype;
                self.library = self.library.max(product::library(&matrices, dtype, self.options.threads));
                let symmetric = product::is_symmetric(flat, op, [eqn.args[0], eqn.args[1]]);
                (Work::Product(Box::new(Product::new(matrices, symmetric))), 0)
            }
            Op::Cond(cond) => {
                let branch = |inner: &Arc<Program>| build(inner, self.options, Results::Written, &[], self.effort);
                let plans = [&cond.yes, &cond.no].map(branch);
                let scratch = plans.iter().map(|plan| plan.values + plan.scratch).max().unwrap_or(0);
                self.library = plans.iter().map(|plan| plan.library).fold(self.library, usize::max);
                (Work::Cond(Box::new(plans)), scratch)
            }
            op => {
                let args: Vec<&Type> = eqn.args.iter().map(|&arg| flat.program.ty(arg)).collect();
                let results: Vec<Type> = outs.iter().map(|&out| flat.program.ty(out).clone()).collect();
                let planes = |k: usize| Planes::of(&flat.views[eqn.args[k].index()]).expect("flattening made it so");
                let kernel = match op {
                    _ if cluster::transposes(flat, eqns[0]) => {
                        kernels::copied(results[0].dtype, &flat.views[eqn.args[0].index()])
                    }
                    Op::Conv(op) => kernels::conv(op, &args, [planes(0), planes(1)], &results[0]),
                    op => kernels::kernel(op, &args, &results),
                };
                let scratch = lines_of(kernel.workspace(self.options.threads));
                (Work::Kernel(kernel, op.clone(), args.into_iter().cloned().collect()), scratch)
            }
        };
        Some(Draft { work, reads, writes: outs, scratch, eqns })
    }

    /// The first line of each value in the arena.
    fn place(&mut self, drafts: &[Draft]) -> Vec<usize> {
        let mut numbers: Vec<Option<usize>> = vec![None; self.flat.views.len()];
        let mut lives: Vec<Life> = Vec::new();
        for (step, draft) in drafts.iter().enumerate() {
            self.scratch = self.scratch.max(draft.scratch);
            for value in &draft.writes {
                if self.results[value.index()].is_none() {
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

    fn finish(&self, draft: Draft, homes: &[usize]) -> Step {
        let inputs = self.flat.program.input_types().len();
        let mut pieces: Vec<Piece> = Vec::new();
        let mut results: Vec<Piece> = Vec::new();
        let both = draft.reads.iter().map(|value| (value, false)).chain(draft.writes.iter().map(|value| (value, true)));
        for (value, written) in both.clone() {
            if value.index() < inputs {
                continue;
            }
            let (list, range) = match self.results[value.index()] {
                Some(k) => (&mut results, k..k + 1),
                None => {
                    let start = homes[value.index()];
                    (&mut pieces, start..start + lines_of(bytes(self.flat.program.ty(*value))))
                }
            };
            let piece = Piece { range, written };
            if !piece.range.is_empty() && !list.contains(&piece) {
                list.push(piece);
            }
        }
        pieces.sort_by_key(|piece| piece.range.start);
        results.sort_by_key(|piece| piece.range.start);
        let operand = |value: &Value| {
            let ty = self.flat.program.ty(*value);
            let at = |list: &[Piece], start: usize| list.iter().position(|piece| piece.range.start == start);
            let home = match self.results[value.index()] {
                _ if value.index() < inputs => Home::Input(value.index()),
                Some(k) => Home::Result(at(&results, k).expect("a result of the step")),
                None if ty.size() == 0 => Home::Piece(usize::MAX),
                None => Home::Piece(at(&pieces, homes[value.index()]).expect("a piece of the step")),
            };
            Operand { home, kind: kind(ty.dtype), count: ty.size() }
        };
        let (reads, writes) = (draft.reads.iter().map(operand).collect(), draft.writes.iter().map(operand).collect());
        let mut lines: Vec<Line> = Vec::new();
        let mut names: Vec<String> = Vec::new();
        for &k in &draft.eqns {
            let eqn = &self.flat.program.eqns()[k];
            lines.extend(eqn.line.filter(|line| !lines.contains(line)));
            names.push(eqn.op.name().into_owned());
        }
        Step { work: draft.work, reads, writes, pieces, results, scratch: draft.scratch, lines, names }
    }
}

impl Step {
    /// Operations on elements.
    pub(crate) fn operations(&self) -> usize {
        match &self.work {
            Work::Region(region) => region.operations(),
            Work::Product(product) => product.operations(),
            Work::Kernel(kernel, ..) => kernel.operations(),
            Work::Cond(plans) => plans[0].steps.iter().map(Step::operations).sum(),
        }
    }

    /// Bytes that it reads and writes.
    pub(crate) fn bytes(&self) -> usize {
        self.reads.iter().chain(&self.writes).map(|operand| operand.count * operand.kind.size()).sum()
    }
}
