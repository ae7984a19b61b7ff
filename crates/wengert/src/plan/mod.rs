//! Program to plan: which steps run, on which memory, in which order.
//!
//! A [`Plan`] is immutable and can be shared: everything that running needs is placed beforehand, and the memory is passed
//! in. Its steps are *regions* (chains of elementwise operations with what they are reduced to, run chunk by chunk in the
//! cache), products of matrices, and kernels for everything that moves or orders elements.

mod allocated;
mod blocks;
mod buffers;
mod called;
mod cluster;
mod control;
mod cost;
mod donate;
pub(crate) mod explain;
mod finish;
mod flatten;
mod instruction;
pub(crate) mod kernel;
pub(crate) mod kernels;
mod lanes;
mod limit;
mod order;
mod pairs;
mod phases;
mod precedence;
mod product;
mod recompute;
mod region;
mod shared;
mod single;
mod steps;
mod takes;
mod turn;
mod verify;
mod view;
mod work;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasherDefault;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use smallvec::{SmallVec, smallvec};
use wengert_kernels::arena::Line as Lines;
use wengert_kernels::pool::Pool;
use wengert_kernels::region::{Kind, Region};

use crate::array::Type;
use crate::error::{Error, ErrorKind, Line};
use crate::hash::FastHasher;
use crate::primitives::Op;
use crate::program::Program;
use allocated::Allocated;
pub(crate) use called::{CalledStep, IntegerStep, Integers};
use cluster::cluster;
pub(crate) use control::{
    CarryForwards, CarryPlan, Columns, Forwards, ScanPlan, Snapshots, StepCode, UnwindPlan, Way, WhilePlan,
};
pub use cost::Costs;
use donate::Donated;
pub use explain::{Detail, StepInfo, StepKind, Summary};
use flatten::{Flat, Flattening, flatten};
use kernel::{Kernel, bytes};
#[cfg(feature = "linalg")]
pub(crate) use kernels::sparse_counts;
use lanes::Item;
pub(crate) use lanes::rows::{RowFeed, RowSteps, StoredRow};
use order::order;
pub(crate) use product::MatrixProduct;
use recompute::{EFFORTS, Effort};
pub(crate) use single::{Feed, NumberSteps};
use steps::{Placer, Planner};

/// What a plan is made for: threads and memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// How many threads run it, the caller's among them; at most 1024.
    pub threads: usize,
    /// The memory it may take, in bytes: the predicted peak of [`Plan::peak_bytes`]. Without a limit if `None`. Below what
    /// is fastest, more values are computed again where they are needed instead of being stored (rematerialisation).
    pub memory: Option<usize>,
}

impl Default for Options {
    fn default() -> Self {
        Options { threads: 1, memory: None }
    }
}

/// Whether this many threads can be asked for, as an error of `operation`.
pub(crate) fn check_threads(threads: usize, operation: &str) -> Result<(), Error> {
    if threads <= Pool::MOST {
        return Ok(());
    }
    let why = format!(
        "{threads} threads are more than the {} that are allowed: each has a stack and memory of its own, and a process \
         that starts more than its system holds is ended by it",
        Pool::MOST
    );
    Err(Error::new(ErrorKind::Unavailable, operation, why))
}

/// A Program whose steps and memory are fixed; see the [module](self).
#[derive(Debug)]
pub struct Plan {
    inputs: Vec<Type>,
    outputs: Vec<PlanOutput>,
    steps: Vec<Step>,
    /// How many of the steps are lanes.
    lanes: usize,
    /// Lines of the arena for values.
    values: usize,
    /// Lines of the arena after them, for one step at a time.
    scratch: usize,
    /// Bytes that steps allocate for themselves.
    allocated: Allocated,
    options: Options,
    /// The operations of the plan without a limit of memory, if this one has a limit.
    unlimited: Option<usize>,
}

/// A result of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlanOutput {
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
    pub(crate) work: StepWork,
    // Short lists lie in the step itself, so that the steps of a loop over many rows are read in order.
    pub(crate) reads: SmallVec<[StepOperand; 2]>,
    pub(crate) writes: SmallVec<[StepOperand; 1]>,
    /// The ranges of the arena that it uses, increasing, and whether it writes them. Operands name them by number.
    pub(crate) arena: Accesses,
    /// The results that it uses, increasing.
    pub(crate) results: Accesses,
    /// Lines of scratch.
    pub(crate) scratch: usize,
    pub(crate) provenance: Arc<Provenance>,
}

/// A lookup inside of a region: what its error tells.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Lookup {
    pub(crate) operation: Operation,
    pub(crate) line: Option<Line>,
}

/// What a step was made of: for people, running it does not need it.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Provenance {
    /// The user's lines of its equations, without repetition.
    pub(crate) lines: Vec<Line>,
    /// The names of its equations' operations.
    pub(crate) names: Vec<Cow<'static, str>>,
    /// The lookups of a region, in its order.
    pub(crate) lookups: Vec<Lookup>,
}

/// The accesses of a step, in order.
pub(crate) type Accesses = SmallVec<[Access; 2]>;

/// A range of lines of the arena, or of results, that a step reads or writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) range: Range<usize>,
    pub(crate) written: bool,
}

/// An operand of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StepOperand {
    pub(crate) home: Home,
    /// The element from which on a region counts the positions that it reads, and a kernel those that it writes.
    pub(crate) start: usize,
    /// How many elements the step sees from there on.
    pub(crate) length: usize,
    pub(crate) kind: Kind,
    /// How many elements lie there.
    pub(crate) count: usize,
}

/// Where an operand lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    /// An input of the plan.
    Input(usize),
    /// A range of the arena, by its number in the step's list.
    Arena(usize),
    /// A result, by its number in the step's list.
    Result(usize),
    /// A part of a result, by its number in the step's list: where it begins. It is only written.
    Part(usize, usize),
    /// The previous contents of the operand that the step writes under this number.
    InPlace(u16),
}

/// What a step does.
#[derive(Debug)]
pub(crate) enum StepWork {
    /// A fused region.
    Region(Arc<Region>),
    /// Products of matrices.
    Product(Arc<MatrixProduct>),
    /// One operation on whole arrays, and what it is.
    Kernel(Arc<dyn Kernel>, Arc<Operation>),
    /// One of two plans: if the first operand holds, the first.
    Cond(Box<[Plan]>),
    /// A plan again and again.
    Scan(Box<ScanPlan>),
    /// A plan as long as another one says.
    While(Box<WhilePlan>),
    /// A plan as long as another one says, and a third one backwards.
    Unwind(Box<UnwindPlan>),
}

/// The names of branches in a table: yes and no, or the indices.
fn branch_names(count: usize) -> impl Iterator<Item = &'static str> {
    let names: &[&str] = if count == 2 { &["y", "n"] } else { &["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"] };
    names.iter().copied().chain(std::iter::repeat("+"))
}

impl StepWork {
    /// The plans inside, each with its name in a table.
    pub(crate) fn plans(&self) -> SmallVec<[(&'static str, &Plan); 2]> {
        match self {
            StepWork::Region(_) | StepWork::Product(_) | StepWork::Kernel(..) => SmallVec::new(),
            StepWork::Cond(plans) => branch_names(plans.len()).zip(plans).collect(),
            StepWork::Scan(scan) => smallvec![(".", &scan.body)],
            StepWork::While(plan) => smallvec![("?", &plan.forwards.condition), (".", &plan.forwards.step)],
            StepWork::Unwind(plan) => match &plan.way {
                Way::Some(forwards, _) | Way::All(forwards, _) => {
                    smallvec![("?", &forwards.condition), (".", &forwards.step), ("-", &plan.second)]
                }
                Way::Before(_) => smallvec![("-", &plan.second)],
            },
        }
    }
}

/// The operation of a kernel, with the types of its operands as the user has them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Operation {
    pub(crate) op: Op,
    pub(crate) types: Vec<Type>,
}

impl Operation {
    fn new(op: Op, types: &[&Type]) -> Self {
        Operation { op, types: types.iter().copied().cloned().collect() }
    }
}

/// Numbers of equations or of elements: without memory of their own as long as they are few.
type Indices = SmallVec<[usize; 2]>;

/// Tables of the planner: keys are small, and no attacker chooses them.
type Map<K, V> = HashMap<K, V, BuildHasherDefault<FastHasher>>;
/// As [`Map`].
type Set<K> = HashSet<K, BuildHasherDefault<FastHasher>>;

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
    /// If the predicted peak is above [`Options::memory`] even with everything computed again that can be (the message says
    /// how much would be enough), or if [`Options::threads`] is above 1024.
    pub fn new(program: &Program, options: &Options) -> Result<Plan, Error> {
        Plan::made(Cow::Borrowed(program), options, &Costs::REFERENCE, &[], None)
    }

    /// As [`Plan::new`], with the times of another machine: another choice of steps, within the same error of the results.
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub fn with_costs(program: &Program, options: &Options, costs: &Costs) -> Result<Plan, Error> {
        Plan::made(Cow::Borrowed(program), options, costs, &[], None)
    }

    /// As [`Plan::new`]; results may be written where the marked inputs lie, which the caller gives away. Within a limit of
    /// memory the snapshots of loops for which there is no room go to a file in the directory, if there is one.
    pub(crate) fn donating(
        program: Cow<'_, Program>,
        options: &Options,
        donated: &[bool],
        spill: Option<&Arc<Path>>,
    ) -> Result<Plan, Error> {
        Plan::made(program, options, &Costs::REFERENCE, donated, spill)
    }

    fn made(
        program: Cow<'_, Program>,
        options: &Options,
        costs: &Costs,
        donated: &[bool],
        spill: Option<&Arc<Path>>,
    ) -> Result<Plan, Error> {
        check_threads(options.threads, "plan")?;
        match options.memory {
            Some(limit) => limit::within(limit, &program, options, costs, donated, spill),
            // There is only one attempt, which may drop our own Program on the way.
            None => Ok(build(program, options, costs, ResultPlacement::Shared, Donated::Any(donated), EFFORTS[0])),
        }
    }

    fn too_large(&self, limit: usize) -> Error {
        let needed = self.peak_bytes();
        let why = format!(
            "the program needs {needed} bytes ({} of values, {} of scratch, {} of results, {} of the call itself), and {limit} are \
             allowed; {needed} would do",
            self.values.saturating_mul(LINE),
            self.scratch.saturating_mul(LINE).saturating_add(self.allocated.bytes()),
            self.result_bytes(),
            self.call_bytes(),
        );
        Error::new(ErrorKind::Unavailable, "plan", why).of_too_few_bytes(needed)
    }

    /// The predicted peak: arena, scratch, what libraries and definitions allocate, results, and lists of operands and results. Inputs
    /// are the caller's. A peak that overflows is `usize::MAX`.
    pub fn peak_bytes(&self) -> usize {
        let own = [self.allocated.bytes(), self.result_bytes(), self.call_bytes()];
        own.iter().fold(self.arena_bytes(), |sum, &bytes| sum.saturating_add(bytes))
    }

    /// Bytes of what a call allocates besides: its list of operands, and of results each one's shape and count of holders.
    /// Measured: 344, 160 a result, 82 an operand where there are many, and some hundred where loops are.
    pub fn call_bytes(&self) -> usize {
        1024 + 192 * self.outputs.len() + 96 * self.inputs.len()
    }

    /// What keeping to [`Options::memory`] costs: the operations on elements of this plan, as [`Summary::operations`] counts
    /// them, divided by those of the plan of the same Program without a limit. 1 without a limit, and where everything can be
    /// kept. Of loops whose length is not known a step is counted, so that what is run again between their snapshots is not
    /// in it.
    ///
    /// ```
    /// use wengert::{Compile, Tensor, grad};
    /// let with = |bytes| Compile::new().threads(1).memory(bytes).function(|x: Tensor| {
    ///     grad(&x, |x| (0..40).fold(x, |y, _| (&y * y.sin()).cumsum(0)).sum())
    /// });
    /// let x = Tensor::from(vec![0.01; 1000]);
    /// assert_eq!(with(1 << 20).plan(&x)?.recomputation(), 1.0);
    /// let least = with(1).plan(&x).unwrap_err().enough_bytes().expect("a limit was set");
    /// assert!(with(least).plan(&x)?.recomputation() > 1.1);
    /// # Ok::<(), wengert::Error>(())
    /// ```
    ///
    /// [`Summary::operations`]: crate::plan::Summary::operations
    pub fn recomputation(&self) -> f64 {
        match self.unlimited {
            Some(operations) if operations > 0 => self.operations() as f64 / operations as f64,
            _ => 1.0,
        }
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

    /// How many steps are parts of the Program mapped over lanes.
    pub fn lane_count(&self) -> usize {
        self.lanes
    }

    pub(crate) fn outputs(&self) -> &[PlanOutput] {
        &self.outputs
    }

    pub(crate) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Operations on elements.
    fn operations(&self) -> usize {
        self.steps.iter().map(Step::operations).sum()
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

/// Where results lie: whether they may be inputs, or one another.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ResultPlacement {
    Shared,
    /// Every result is written: this is the plan of a branch, whose results have buffers in the surrounding plan.
    Written,
}

fn build(
    program: Cow<'_, Program>,
    options: &Options,
    costs: &Costs,
    results: ResultPlacement,
    donated: Donated<'_>,
    effort: Effort,
) -> Plan {
    let written = results == ResultPlacement::Written;
    let how = Flattening { written, keeps_copies: effort.copies, copies_gathered: false };
    let (inputs, output_types) = (program.input_types().to_vec(), program.output_types());
    let mut flat = flatten(program.into_owned(), how);
    if let Some(turned) = turn::turned(&flat) {
        flat = flatten(turned, how);
    }
    (0..inputs.len()).filter(|&input| donated.is_given(input)).for_each(|input| flat.stays[input] = false);
    let items = lanes::items(&flat, costs);
    let mut clusters = cluster(&flat, &items);
    let order = order(&flat, &mut clusters, &donated);
    let (mut outputs, places) = outputs(output_types, &flat);
    recompute::recompute(&flat, &mut clusters, &places, effort);
    if cfg!(debug_assertions) {
        verify::check_order(&flat, &clusters, &order).unwrap_or_else(|why| panic!("{why}\n{}", flat.program));
    }
    let wanted = donate::wanted(&flat, &clusters, &order, &outputs, &donated);
    let mut planner = Planner::new(&flat, &clusters, &order, places, (options, costs), effort);
    planner.in_place = wanted.iter().map(|pair| pair.value).collect();
    planner.given = wanted.iter().map(|pair| pair.input).collect();
    planner.parts = items.into_iter().filter_map(Item::part).collect();
    let lanes = planner.parts.len();
    let drafts = planner.drafted();
    // What is left is to place operands: of a long plan all else would lie beside its steps.
    drop((clusters, order));
    let program = flat.into_program();
    let (mut placer, drafts) = Placer::new(&program, drafts);
    let mut steps = placer.steps(drafts);
    let Placer { values, scratch, allocated, .. } = placer;
    wanted.iter().for_each(|pair| donate::settle(pair, &mut steps, &mut outputs));
    Plan { inputs, outputs, steps, lanes, values, scratch, allocated, options: options.clone(), unlimited: None }
}

/// What each result is, and which result each value is.
fn outputs(types: Vec<Type>, flat: &Flat) -> (Vec<PlanOutput>, Vec<Option<usize>>) {
    let mut places = vec![None; flat.views.len()];
    let inputs = flat.program.input_types().len();
    let mut list: Vec<PlanOutput> = Vec::new();
    for (k, (&value, ty)) in flat.program.outputs().iter().zip(types).enumerate() {
        let source = match places[value.index()] {
            _ if value.index() < inputs => OutputSource::Input(value.index()),
            Some(earlier) => OutputSource::Again(earlier),
            None => {
                places[value.index()] = Some(k);
                OutputSource::Fresh
            }
        };
        list.push(PlanOutput { ty, source });
    }
    (list, places)
}

impl Step {
    /// The user's line of its first equation.
    pub(crate) fn line(&self) -> Option<Line> {
        self.provenance.lines.first().copied()
    }

    /// Operations on elements.
    pub(crate) fn operations(&self) -> usize {
        match &self.work {
            StepWork::Region(region) => region.operations(),
            StepWork::Product(product) => product.operations(),
            StepWork::Kernel(kernel, ..) => kernel.operations(),
            StepWork::Cond(plans) => plans.iter().map(Plan::operations).max().unwrap_or(0),
            StepWork::Scan(scan) => scan.length.saturating_mul(scan.body.operations()),
            // How often they run is not known.
            StepWork::While(_) | StepWork::Unwind(_) => {
                self.work.plans().iter().map(|(_, plan)| plan.operations()).sum()
            }
        }
    }

    /// Bytes that it reads and writes.
    pub(crate) fn bytes(&self) -> usize {
        self.reads.iter().chain(&self.writes).map(|operand| operand.count * operand.kind.size()).sum()
    }
}
