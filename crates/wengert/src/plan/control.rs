//! Plans of the Programs inside an operation: branches, and the steps of loops.

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use wengert_kernels::region::Kind;
use wengert_kernels::schedule::Online;
use wengert_kernels::straight::Code;

use super::allocated::Allocated;
use super::called::CalledStep;
use super::donate::Donated;
use super::kernel::{bytes, kind};
use super::lanes::rows::RowSteps;
use super::phases::{Phases, Recorded};
use super::recompute::Effort;
use super::single::NumberSteps;
use super::{Costs, LINE, Options, OutputSource, Plan, ResultPlacement, Step, StepWork, build, lines_of};
use crate::array::Type;
use crate::primitives::{Cond, Op, Scan, Unwind, While};
use crate::program::{Builder, Program, cse, inline, same_inputs};

/// A loop of a known number of steps. Rows of operands and of results are windows of whole arrays; the carry goes from one
/// buffer to another and back, or stays where it is if a step can write where it reads.
#[derive(Debug)]
pub(crate) struct ScanPlan {
    /// One step: its inputs are invariants, carry and rows, its results the carry and rows.
    pub(crate) body: Plan,
    /// The same as code, which runs instead where the step is one over a few numbers or short vectors.
    pub(crate) code: Option<StepCode>,
    pub(crate) length: usize,
    pub(crate) reverse: bool,
    /// How many operands are the same in every step.
    pub(crate) invariants: usize,
    pub(crate) carry: Vec<CarryPlan>,
    /// Elements of a row of each operand, and of each result.
    pub(crate) row_sizes: Vec<usize>,
    pub(crate) given_sizes: Vec<usize>,
    /// Lines of the scratch in which steps run.
    pub(crate) arena: Range<usize>,
    /// How many steps run at once, each in its own part of these lines: more than one if no step takes what another one gives.
    pub(crate) workers: usize,
}

/// A step as straight-line code.
#[derive(Debug)]
pub(crate) enum StepCode {
    Numbers(NumberSteps),
    Rows(RowSteps),
}

impl StepCode {
    /// The code of a step with this plan, of whose inputs those at `carry` are the carry; `None` if it would be slower, or there is
    /// none.
    pub(super) fn new(step: &Program, plan: &Plan, carry: &Range<usize>) -> Option<StepCode> {
        let rows = || RowSteps::new(step, plan, carry).map(StepCode::Rows);
        NumberSteps::new(step, plan, carry).map(StepCode::Numbers).or_else(rows)
    }

    /// What a step is, in a table.
    pub(super) fn described(&self) -> String {
        let instructions = |code: &Code| code.parts().code.len();
        match self {
            StepCode::Numbers(numbers) => format!("{} instructions", instructions(&numbers.code)),
            StepCode::Rows(rows) => format!("rows of {}, {} instructions", rows.count, instructions(&rows.code)),
        }
    }

    /// Bytes of its memory.
    pub(super) fn bytes(&self) -> usize {
        match self {
            StepCode::Numbers(numbers) => numbers.code.memory() * size_of::<f64>(),
            StepCode::Rows(rows) => rows.bytes(),
        }
    }
}

/// A part of the carry.
#[derive(Debug)]
pub(crate) struct CarryPlan {
    pub(crate) kind: Kind,
    pub(crate) count: usize,
    /// Lines of a buffer.
    lines: usize,
    /// Those of the first buffer; none if it is that of a result.
    pub(crate) first: Option<Range<usize>>,
    /// Those of a second buffer; none if a step writes where it reads.
    pub(crate) second: Option<Range<usize>>,
}

/// The steps of a loop as long as a condition holds.
#[derive(Debug)]
pub(crate) struct Forwards {
    /// Whether there is a first step.
    pub(crate) condition: Plan,
    /// One step: its inputs are invariants and carry, its results the carry, whether there is another one, and the rows that
    /// are kept of it.
    pub(crate) step: Plan,
    /// The same as code, which runs instead.
    pub(crate) code: Option<CalledStep>,
    pub(crate) limit: Option<usize>,
}

impl Forwards {
    /// The plans that are run: where there is code, not that of a step.
    fn run_plans(&self) -> [Option<&Plan>; 2] {
        [Some(&self.condition), self.code.is_none().then_some(&self.step)]
    }

    /// What a step is, in a table.
    pub(super) fn described(&self) -> String {
        step_described(self.code.as_ref(), &self.step)
    }
}

/// What a step with this plan is, in a table.
pub(super) fn step_described(code: Option<&CalledStep>, plan: &Plan) -> String {
    code.map_or_else(|| format!("{} steps", plan.steps.len()), |called| called.code.described())
}

/// What is kept of every step of a loop for one that runs backwards over it, in columns that grow.
#[derive(Debug)]
pub(crate) struct Columns {
    /// Each part of the carry: how many elements it has, and whether it is kept.
    pub(crate) carry: Vec<(Kind, usize, bool)>,
    /// Where the parts that are not kept lie.
    pub(crate) moving: Vec<CarryPlan>,
    /// What else is kept of a step: residuals.
    pub(crate) rows: Vec<(Kind, usize)>,
}

/// A loop as long as a condition holds.
#[derive(Debug)]
pub(crate) struct WhilePlan {
    pub(crate) forwards: Forwards,
    /// How many operands are the same in every step.
    pub(crate) invariants: usize,
    pub(crate) carry: CarryForwards,
    /// The result that each part of the carry is, if it is one.
    pub(crate) given: Vec<Option<usize>>,
    /// Lines of the scratch: those of the condition's answer, and those in which it and the steps run.
    pub(crate) answer: usize,
    pub(crate) arena: Range<usize>,
}

/// What becomes of the carry of a loop.
#[derive(Debug)]
pub(crate) enum CarryForwards {
    /// It goes from step to step.
    Passes(Vec<CarryPlan>),
    /// What a loop backwards needs stays, as the record of this number.
    Stays(Columns, usize),
}

/// A loop forwards, of which is kept what is needed backwards, and one backwards over it.
#[derive(Debug)]
pub(crate) struct UnwindPlan {
    pub(crate) way: Way,
    /// A step backwards: its inputs are invariants, what is kept of the carry, the rows, and the carry of
    /// [`UnwindPlan::back`].
    pub(crate) second: Plan,
    /// The same as code, which runs instead.
    pub(crate) second_code: Option<CalledStep>,
    pub(crate) invariants: usize,
    /// The parts of the carry forwards: their kinds, and how many elements they have.
    pub(crate) carry: Vec<(Kind, usize)>,
    pub(crate) back: Vec<CarryPlan>,
    /// The result that each part of both carries is, if it is one.
    pub(crate) given: Vec<Option<usize>>,
    pub(crate) answer: usize,
    pub(crate) arena: Range<usize>,
}

/// How a loop that is unwound comes to what a step backwards takes.
#[derive(Debug)]
pub(crate) enum Way {
    /// Only some carries are kept: the places of one and of the snapshots.
    Some(Forwards, Snapshots),
    /// All that is needed is kept.
    All(Forwards, Columns),
    /// A loop before has taken the same steps, and kept it as the record of this number.
    Before(usize),
}

/// Where the carry of a loop forwards is, and a number of earlier ones.
#[derive(Debug)]
pub(crate) struct Snapshots {
    /// How many there are in memory at most.
    pub(crate) slots: usize,
    /// How many there are at most; as many as there are steps if there is no bound.
    pub(crate) all: Option<usize>,
    /// The directory for the file of those that are not in memory; needed where there are more.
    pub(crate) spill: Option<Arc<Path>>,
    pub(crate) carry: Vec<CarryPlan>,
    /// For each part of the carry: the lines of its snapshots, one after the other.
    pub(crate) lines: Vec<Range<usize>>,
}

/// What the plans inside are made with.
#[derive(Clone, Copy)]
pub(super) struct Inside<'a> {
    pub(super) options: &'a Options,
    pub(super) costs: &'a Costs,
    pub(super) effort: Effort,
}

/// A planned operation that holds Programs.
pub(super) struct Planned {
    pub(super) work: StepWork,
    /// Lines of scratch.
    pub(super) scratch: usize,
    /// Bytes that steps allocate for themselves.
    pub(super) allocated: Allocated,
}

impl Inside<'_> {
    /// The plan of an operation that holds Programs and has a way of its own to run; `None` for others. `record` is what a
    /// loop forwards keeps for one backwards, of both.
    pub(super) fn planned(self, op: &Op, record: Option<&Recorded>) -> Option<Planned> {
        match op {
            Op::Cond(cond) => Some(self.cond(cond)),
            Op::Scan(scan) => Some(self.scan(scan)),
            Op::While(op) => Some(self.repeat(op, record)),
            Op::Unwind(op) => Some(self.unwind(op, record)),
            _ => None,
        }
    }

    fn plan(self, program: &Arc<Program>, donated: Donated<'_>) -> Plan {
        let program = Cow::Borrowed(&**program);
        build(program, self.options, self.costs, ResultPlacement::Written, donated, self.effort)
    }

    fn cond(self, cond: &Cond) -> Planned {
        let plans: Box<[Plan]> = cond.branches.iter().map(|branch| self.plan(branch, Donated::Any(&[]))).collect();
        let scratch = plans.iter().map(|plan| plan.values + plan.scratch).max().unwrap_or(0);
        let allocated = plans.iter().map(|plan| plan.allocated).reduce(Allocated::max).unwrap_or_default();
        Planned { work: StepWork::Cond(plans), scratch, allocated }
    }

    fn scan(self, scan: &Scan) -> Planned {
        let inputs = scan.body.input_types();
        let rows = inputs.len() - scan.rows;
        let carry = rows - scan.carry..rows;
        let body = self.plan(&scan.body, Donated::Carry(carry.clone(), &[]));
        let workers = self.workers(scan, &body);
        let mut scratch = 0;
        let parts = carries(&body, &carry, &mut scratch);
        let own = taken(&mut scratch, workers * (body.values + body.scratch));
        // Where memory is short, rows must not take more of it than a plan: the bits are the same.
        let is_small = |code: &StepCode| {
            self.effort.copies || matches!(code, StepCode::Numbers(_)) || lines_of(code.bytes()) <= scratch
        };
        let code = if workers > 1 { None } else { StepCode::new(&scan.body, &body, &carry).filter(is_small) };
        let arena = code.as_ref().map_or(own, |code| 0..lines_of(code.bytes()));
        let allocated = if code.is_some() { Allocated::default() } else { body.allocated.times(workers) };
        let plan = ScanPlan {
            code,
            length: scan.length,
            reverse: scan.reverse,
            invariants: carry.start,
            carry: parts,
            row_sizes: inputs[rows..].iter().map(|ty| ty.size()).collect(),
            given_sizes: body.outputs[scan.carry..].iter().map(|output| output.ty.size()).collect(),
            arena: arena.clone(),
            workers,
            body,
        };
        Planned { work: StepWork::Scan(Box::new(plan)), scratch: arena.end, allocated }
    }

    /// How many steps of a loop run at once: if they are independent, worth a thread's while, and small, so that what a thread
    /// needs stays in its cache.
    fn workers(self, scan: &Scan, body: &Plan) -> usize {
        let is_apart = scan.carry == 0 && body.operations() >= MIN_OPERATIONS;
        let is_small = (body.values + body.scratch) * LINE + body.allocated.used() <= MAX_WORKER;
        if is_apart && is_small && scan.length > 1 { self.options.threads.max(1) } else { 1 }
    }

    fn repeat(self, op: &While, record: Option<&Recorded>) -> Planned {
        let inputs = op.body.input_types().len();
        let carry = inputs - op.given.len()..inputs;
        let condition = self.plan(&op.condition, Donated::Any(&[]));
        let mut scratch = ANSWER;
        let given = numbered(&op.given);
        let (program, step, carried) = match record {
            None => {
                let program = asking(&op.body, &op.condition, carry.start);
                let step = self.plan(&program, Donated::Carry(carry.clone(), &[]));
                let parts = carries(&step, &carry, &mut scratch);
                (program, step, CarryForwards::Passes(placed(parts, &given, &mut scratch)))
            }
            Some(Recorded { phases, number, .. }) => {
                let (step, mut columns) = self.keeping(phases, &phases.first, &carry, &mut scratch);
                let moving = given.iter().zip(&phases.keeps).filter(|(_, keeps)| !**keeps).map(|(given, _)| *given);
                columns.moving = placed(columns.moving, &moving.collect::<Vec<_>>(), &mut scratch);
                (phases.first.clone(), step, CarryForwards::Stays(columns, *number))
            }
        };
        let mut code = self.called(&program, &step, [carry.start; 2]);
        let arena = taken(&mut scratch, most_lines([Some(&condition), code.is_none().then_some(&step)]));
        placed_code(&mut code, &mut scratch);
        let allocated = condition.allocated.max(step.allocated);
        let forwards = Forwards { condition, step, code, limit: op.bounds.limit };
        let plan = WhilePlan { forwards, invariants: carry.start, carry: carried, given, answer: ANSWER, arena };
        Planned { work: StepWork::While(Box::new(plan)), scratch, allocated }
    }

    /// The plan of a step that keeps what is needed backwards, and where what is not kept lies.
    fn keeping(
        self,
        phases: &Phases,
        step: &Arc<Program>,
        carry: &Range<usize>,
        scratch: &mut usize,
    ) -> (Plan, Columns) {
        let step = self.plan(step, Donated::Carry(carry.clone(), &phases.keeps));
        let own = carry
            .clone()
            .zip(&phases.keeps)
            .map(|(k, &keeps)| (kind(step.inputs[k].dtype), step.inputs[k].size(), keeps));
        let own = own.collect();
        let rows = phases.rows.iter().map(|ty| (kind(ty.dtype), ty.size())).collect();
        let moving = carry.clone().zip(&phases.keeps).filter(|(_, keeps)| !**keeps).map(|(k, _)| k);
        let parts = parts_of(&step, carry.start, moving, scratch);
        (step, Columns { carry: own, moving: parts, rows })
    }

    fn unwind(self, op: &Unwind, record: Option<&Recorded>) -> Planned {
        let types = op.second.input_types();
        let end = op.first.input_types().len();
        let (carry, back) = (end - op.carry..end, end..types.len());
        let given = numbered(&op.given);
        let mut scratch = ANSWER;
        let (all, in_memory) = (op.bounds.snapshots, self.effort.snapshots);
        let (way, second, taken_back) = match (all.into_iter().chain(in_memory).min(), record) {
            (Some(slots), _) => {
                // No more than a terabyte, which is refused when it is asked for.
                let size: usize = types[carry.clone()].iter().map(bytes).sum();
                let slots = slots.min(op.bounds.limit.unwrap_or(usize::MAX)).min((1 << 40) / size.max(1));
                let all = if in_memory.is_some() { all } else { Some(slots) };
                let program = asking(&op.first, &op.condition, carry.start);
                let step = self.plan(&program, Donated::Carry(carry.clone(), &[]));
                let kept = snapshots(&step, &carry, (slots, all), &mut scratch);
                (Way::Some(self.forwards(op, &program, step), kept), op.second.clone(), back.clone())
            }
            (None, Some(Recorded { phases, number, .. })) => {
                (Way::Before(*number), phases.second.clone(), phases.back())
            }
            (None, None) => {
                let phases = Phases::of(op);
                let (step, mut columns) = self.keeping(&phases, &phases.first, &carry, &mut scratch);
                let nowhere = vec![None; columns.moving.len()];
                columns.moving = placed(columns.moving, &nowhere, &mut scratch);
                let back = phases.back();
                (Way::All(self.forwards(op, &phases.first, step), columns), phases.second, back)
            }
        };
        let program = second;
        let second = self.plan(&program, Donated::Carry(taken_back.clone(), &[]));
        let mut second_code = self.called(&program, &second, [carry.start, taken_back.start]);
        let parts = carries(&second, &taken_back, &mut scratch);
        let back = placed(parts, &given[op.carry..], &mut scratch);
        let mut way = way;
        let mut forwards = match &mut way {
            Way::Some(forwards, _) | Way::All(forwards, _) => Some(forwards),
            Way::Before(_) => None,
        };
        let plans = forwards.as_deref().map_or([None; 2], Forwards::run_plans);
        let plans = plans.into_iter().chain([second_code.is_none().then_some(&second)]);
        let arena = taken(&mut scratch, most_lines(plans.clone()));
        let mut allocated = plans.flatten().map(|plan| plan.allocated).reduce(Allocated::max).unwrap_or_default();
        if let Some(forwards) = &mut forwards {
            placed_code(&mut forwards.code, &mut scratch);
        }
        placed_code(&mut second_code, &mut scratch);
        if let Way::Some(_, Snapshots { all: Some(all), .. }) = way {
            // The schedule itself is there while its steps run.
            allocated.definitions = allocated.definitions.saturating_add(Online::bytes(all));
        }
        let plan = UnwindPlan {
            invariants: carry.start,
            carry: types[carry].iter().map(|ty| (kind(ty.dtype), ty.size())).collect(),
            way,
            back,
            given,
            answer: ANSWER,
            arena,
            second,
            second_code,
        };
        Planned { work: StepWork::Unwind(Box::new(plan)), scratch, allocated }
    }

    fn forwards(self, op: &Unwind, program: &Program, step: Plan) -> Forwards {
        let invariants = op.first.input_types().len() - op.carry;
        let code = self.called(program, &step, [invariants; 2]);
        Forwards { condition: self.plan(&op.condition, Donated::Any(&[])), step, code, limit: op.bounds.limit }
    }

    /// A step as code that is called with its operands: those from `carry` on are what the first results take the place of.
    fn called(self, step: &Program, plan: &Plan, [invariants, carry]: [usize; 2]) -> Option<CalledStep> {
        // Where memory is short, rows must not take more of it than a plan: the bits are the same.
        let is_small = |code: &CalledStep| {
            let lines = plan.values + plan.scratch;
            self.effort.copies || matches!(code.code, StepCode::Numbers(_)) || code.memory() <= lines
        };
        CalledStep::new(step, plan, [invariants, carry]).filter(is_small)
    }
}

/// A step that also says whether there is another one: to run a condition by itself costs as much as a small step.
fn asking(step: &Program, condition: &Program, invariants: usize) -> Arc<Program> {
    let mut b = Builder::new();
    let inputs = same_inputs(&mut b, step);
    let mut results = inline(&mut b, step, &inputs);
    let goes_on = inline(&mut b, condition, &[&inputs[..invariants], &results].concat());
    results.extend(goes_on);
    Arc::new(cse(b.finish(&results)))
}

/// Steps with fewer operations run one after the other: a thread costs as much.
const MIN_OPERATIONS: usize = 1 << 14;

/// Steps that need more bytes run one after the other.
const MAX_WORKER: usize = 4 << 20;

/// Lines for the answer of a condition.
const ANSWER: usize = 1;

/// The next lines of the scratch, as many as asked for.
fn taken(scratch: &mut usize, lines: usize) -> Range<usize> {
    let start = *scratch;
    *scratch = scratch.saturating_add(lines);
    start..*scratch
}

/// The lines in which each of these plans can run.
fn most_lines<'a>(plans: impl IntoIterator<Item = Option<&'a Plan>>) -> usize {
    plans.into_iter().flatten().map(|plan| plan.values + plan.scratch).max().unwrap_or(0)
}

/// Gives code the next lines for its memory.
fn placed_code(code: &mut Option<CalledStep>, scratch: &mut usize) {
    if let Some(code) = code {
        code.lines = taken(scratch, code.memory());
    }
}

/// Places for the carry of a loop forwards and this many snapshots of it, of as many as there are.
fn snapshots(
    step: &Plan,
    carry: &Range<usize>,
    (slots, all): (usize, Option<usize>),
    scratch: &mut usize,
) -> Snapshots {
    let mut parts = carries(step, carry, scratch);
    parts.iter_mut().for_each(|part| part.first = Some(taken(scratch, part.lines)));
    let one = |ty: &Type| taken(scratch, lines_of(bytes(ty).saturating_mul(slots)));
    let lines = step.inputs[carry.clone()].iter().map(one).collect();
    Snapshots { slots, all, spill: None, carry: parts, lines }
}

/// The number of each result among those that are marked.
fn numbered(marks: &[bool]) -> Vec<Option<usize>> {
    let mut numbers = 0..;
    marks.iter().map(|&given| if given { numbers.next() } else { None }).collect()
}

/// Says where the loops inside of these steps put the snapshots for which there is no memory.
pub(super) fn spill_into(directory: &Arc<Path>, steps: &mut [Step]) {
    for step in steps {
        let plans: Vec<&mut Plan> = match &mut step.work {
            StepWork::Region(_) | StepWork::Product(_) | StepWork::Kernel(..) => Vec::new(),
            StepWork::Cond(plans) => plans.iter_mut().collect(),
            StepWork::Scan(scan) => vec![&mut scan.body],
            StepWork::While(plan) => vec![&mut plan.forwards.condition, &mut plan.forwards.step],
            StepWork::Unwind(plan) => {
                let mut plans = vec![&mut plan.second];
                match &mut plan.way {
                    Way::Some(forwards, kept) => {
                        kept.spill = Some(directory.clone());
                        plans.extend([&mut forwards.condition, &mut forwards.step]);
                    }
                    Way::All(forwards, _) => plans.extend([&mut forwards.condition, &mut forwards.step]),
                    Way::Before(_) => {}
                }
                plans
            }
        };
        plans.into_iter().for_each(|plan| spill_into(directory, &mut plan.steps));
    }
}

/// The parts of a carry, given the plan of a step and where its carry stands among the inputs.
fn carries(step: &Plan, carry: &Range<usize>, scratch: &mut usize) -> Vec<CarryPlan> {
    parts_of(step, carry.start, carry.clone(), scratch)
}

/// Those of these inputs, of a carry that starts at `start`.
fn parts_of(step: &Plan, start: usize, inputs: impl Iterator<Item = usize>, scratch: &mut usize) -> Vec<CarryPlan> {
    let part = |k: usize| {
        let ty = &step.inputs[k];
        let lines = lines_of(bytes(ty));
        let stays = step.outputs[k - start].source == OutputSource::Donated(k);
        let second = (!stays).then(|| taken(scratch, lines));
        CarryPlan { kind: kind(ty.dtype), count: ty.size(), lines, first: None, second }
    };
    inputs.map(part).collect()
}

/// The same parts; those that are no result get a first buffer of their own.
fn placed(mut parts: Vec<CarryPlan>, given: &[Option<usize>], scratch: &mut usize) -> Vec<CarryPlan> {
    for (part, _) in parts.iter_mut().zip(given).filter(|(_, given)| given.is_none()) {
        part.first = Some(taken(scratch, part.lines));
    }
    parts
}
