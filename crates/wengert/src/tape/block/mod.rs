//! Loops on the tape (reverse mode over checkpointed steps): a loop is one entry of the list, whatever its steps do.
//!
//! A step is recorded once for each way that control flow takes through it, its *path*: a [`Trace`] with guards, whose inputs
//! are the carry, a row, and what the step captured. An iteration keeps its carry and the number of its path. The sweep over
//! the list meets the loop as a [`Block`], whose reverse runs the steps again from their carries, the last one first.
//!
//! - `steps.rs` says what a loop is, and takes its steps one after the other.
//! - `recorder.rs` runs it over `Var`, and leaves a block on the list.
//! - `compare.rs` finds steps that do something else than what was recorded.
//! - `kept.rs` finds paths again that were recorded before.
//! - `runner.rs` runs paths record by record over any carrier, and over plain numbers as code where that pays.
//! - `forward.rs`, `tangent.rs`, `backward.rs` are the sweeps of a block; over `Var` each is a loop again, so that a derivative
//!   of a loop takes the memory of a loop, in every order.
//! - `thin.rs` says which carries loops keep within a limit of memory.
//! - `unroll.rs` writes a block out, for what knows no loops.
//!
//! On the list a block is a record that announces it ([`Op::Loop`]), one for each result, and one behind them
//! ([`Op::LoopEnd`]), where a sweep that comes backwards knows all their cotangents.
//!
//! What is structurally zero is never multiplied, as everywhere: the parts of a carry that have a cotangent are a property of
//! the iteration, and a path is kept for each such set (`Structure`).
//!
//! [`Op::Loop`]: super::record::Op::Loop
//! [`Op::LoopEnd`]: super::record::Op::LoopEnd

mod sequence;
mod steps;

mod compare;
mod kept;
mod recorder;
mod runner;

mod backward;
mod forward;
mod tangent;
mod thin;
mod unroll;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use self::sequence::PathSequence;
use super::recording::Line;
use super::trace::Trace;
use crate::real::Real;

pub(crate) use kept::forget_paths;
pub(crate) use steps::{Labels, Rows, Step, Steps, Taken, take_steps};
pub(crate) use thin::{BYTES_OF_CONSTANT, BYTES_OF_RECORD, Keeping, LoopSize, Thinning, thinned};

/// Code of a path for plain numbers: made by [`crate::straight`], which stands behind the tape in the order of modules.
pub(crate) trait StepCode: Send + Sync + std::fmt::Debug {
    /// Memory that the code runs in.
    fn begin(&self) -> Vec<f64>;
    /// The results for the inputs, which are the first numbers of the memory; `None` if a guard comes out differently.
    fn run<'a>(&self, memory: &'a mut [f64]) -> Option<&'a [f64]>;
}

/// What makes code of a path.
pub(crate) type MakeCode = fn(&Trace, Asked<'_>) -> Arc<dyn StepCode>;

/// What code of a path computes, from its inputs and then the derivatives that are given.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Asked<'a> {
    /// The outputs, if no guard comes out differently.
    Outputs,
    /// As this, and then the tangents of the outputs that are reached, given those of the inputs that have some.
    Tangents { inputs: &'a [bool], reached: &'a [usize] },
    /// The cotangents of the inputs that are reached, given those of the outputs that have some. That the path is taken is known.
    Cotangents { outputs: &'a [bool], reached: &'a [usize] },
}

/// A loop on a list: what it was given there, and the loop itself.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// The start of the carry, then what the paths captured, then the rows one after the other (none if no row is a variable).
    pub(crate) sources: Vec<Source>,
    pub(crate) body: Arc<Loop>,
}

/// Where a number that a loop is given comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source {
    /// The number while recording.
    pub(crate) value: f64,
    /// Its place on the list; [`Source::PLAIN`] if it is a constant.
    pub(crate) node: u32,
}

impl Source {
    /// No place on the list.
    pub(crate) const PLAIN: u32 = u32::MAX;

    /// Its place on the list, if it has one.
    pub(crate) fn place(self) -> Option<usize> {
        (self.node != Source::PLAIN).then_some(self.node as usize)
    }

    /// The number, given those of the list.
    pub(crate) fn number<R: Real>(self, values: &[R]) -> R {
        self.place().map_or_else(|| R::constant(self.value), |place| values[place])
    }
}

/// A recorded loop.
#[derive(Debug)]
pub(crate) struct Loop {
    pub(crate) line: Line,
    /// How many numbers are carried, stand in a row, are given by a step, were captured.
    pub(crate) carry: usize,
    pub(crate) row: usize,
    pub(crate) gives: usize,
    pub(crate) captures: usize,
    /// How many steps were taken.
    pub(crate) count: usize,
    /// The rows that are no variables; empty if the rows are among the sources.
    pub(crate) rows: PlainRows,
    pub(crate) paths: Vec<Arc<Path>>,
    /// The path of every step; of a loop that asks before each, one more for the answer that ended it.
    pub(crate) sequence: PathSequence,
    /// Carries, from the start on.
    pub(crate) carries: Vec<f64>,
    /// Of how many steps one keeps its carry.
    pub(crate) every: usize,
    pub(crate) make_code: MakeCode,
}

/// Rows of plain numbers.
#[derive(Clone, Debug)]
pub(crate) enum PlainRows {
    /// They are variables, and among the sources; or there are none.
    Elsewhere,
    /// One number, which counts from this one.
    Counted(i64),
    /// Numbers, row after row.
    Numbers(Vec<f64>),
}

/// What is fixed about a step besides its path: sets of numbers that are more than structurally zero, by the labels that the
/// loop gave them. Loops of users have one structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Structure {
    /// Of the carry before the step, and of its row.
    pub(crate) before: Key,
    /// Of the carry after it.
    pub(crate) after: u32,
    /// Of what it gives.
    pub(crate) given: u32,
    /// Whether it ends the loop, and is no step.
    pub(crate) ends: bool,
}

/// What a step is told about its carry and its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) carry: u32,
    pub(crate) row: u32,
}

/// One way through a step.
#[derive(Debug)]
pub(crate) struct Path {
    /// Takes the carry, the row and the captures of this path; gives the carry and what the step gives. It captures nothing.
    pub(crate) trace: Trace,
    /// Which of the captures of the loop it takes.
    pub(crate) captures: Vec<u32>,
    pub(crate) structure: Structure,
    forward: Coded,
    /// By direction, the newest last.
    flows: [Mutex<Vec<Arc<Flow>>>; 2],
}

/// How many flows a path knows in each direction. A loop has few, unless its function reads other results of the steps in every
/// step and call.
const FLOWS: usize = 16;

/// How often something ran record by record before code is made of it, which takes as long as some hundred runs.
const BEFORE_CODE: usize = 32;

/// What runs record by record at first.
#[derive(Debug, Default)]
struct Coded {
    runs: AtomicUsize,
    code: OnceLock<Arc<dyn StepCode>>,
}

impl Coded {
    /// The code, if it is there or to be made by now: of a recording with a loop inside, which is run by its own code, there is none.
    fn code(&self, trace: &Trace, make: impl FnOnce() -> Arc<dyn StepCode>) -> Option<Arc<dyn StepCode>> {
        if let Some(code) = self.code.get() {
            return Some(Arc::clone(code));
        }
        let early = !trace.blocks.is_empty() || self.runs.fetch_add(1, Ordering::Relaxed) < BEFORE_CODE;
        (!early).then(|| Arc::clone(self.code.get_or_init(make)))
    }
}

/// Which way derivatives take along a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    /// Tangents.
    Forwards,
    /// Cotangents.
    Backwards,
}

/// Derivatives along a path, from a set of its inputs (forwards) or outputs (backwards).
#[derive(Debug)]
struct Flow {
    /// Which have derivatives.
    seeds: Vec<bool>,
    /// The outputs, or inputs, that they reach.
    reached: Vec<usize>,
    coded: Coded,
}

impl Path {
    fn new(trace: Trace, captures: Vec<u32>, structure: Structure) -> Self {
        debug_assert!(trace.captures.is_empty(), "a path is closed");
        Path { trace, captures, structure, forward: Coded::default(), flows: Default::default() }
    }

    /// Its code, if it is used often.
    fn forward_code(&self, make: MakeCode) -> Option<Arc<dyn StepCode>> {
        self.forward.code(&self.trace, || make(&self.trace, Asked::Outputs))
    }

    /// Derivatives of these inputs, or outputs.
    fn flow(&self, direction: Direction, seeds: &[bool]) -> Arc<Flow> {
        let mut known = self.flows[direction as usize].lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(flow) = known.iter().find(|flow| flow.seeds == seeds) {
            return Arc::clone(flow);
        }
        let reached = match direction {
            Direction::Forwards => self.trace.reached_outputs(seeds),
            Direction::Backwards => self.trace.reached_inputs(seeds),
        };
        if known.len() == FLOWS {
            known.remove(0);
        }
        let flow = Arc::new(Flow { seeds: seeds.to_vec(), reached, coded: Coded::default() });
        known.push(Arc::clone(&flow));
        flow
    }

    /// The code of these, if they are used often.
    fn flow_code(&self, direction: Direction, flow: &Flow, make: MakeCode) -> Option<Arc<dyn StepCode>> {
        let Flow { seeds, reached, coded } = flow;
        let asked = match direction {
            Direction::Forwards => Asked::Tangents { inputs: seeds, reached },
            Direction::Backwards => Asked::Cotangents { outputs: seeds, reached },
        };
        coded.code(&self.trace, || make(&self.trace, asked))
    }
}

impl Block {
    /// How many results it has: the last carry, then what the steps gave, one after the other.
    pub(crate) fn results(&self) -> usize {
        self.body.carry + self.body.count * self.body.gives
    }

    /// The same block on another list.
    pub(crate) fn moved(&self, mut map: impl FnMut(usize) -> usize) -> Block {
        let mut sources = self.sources.clone();
        for source in &mut sources {
            if let Some(place) = source.place() {
                source.node = u32::try_from(map(place)).expect("lists have fewer than 2^28 records");
            }
        }
        Block { sources, body: Arc::clone(&self.body) }
    }

    /// The numbers that do not come from the list; 0 for those that do.
    fn constants(&self) -> impl Iterator<Item = f64> + '_ {
        let rows: &[f64] = if let PlainRows::Numbers(numbers) = &self.body.rows { numbers } else { &[] };
        let given = self.sources[..self.captures_at()].iter().chain(&self.sources[self.rows_at()..]);
        given.map(|source| if source.place().is_none() { source.value } else { 0.0 }).chain(rows.iter().copied())
    }

    /// The sources that derivatives of these results flow to, on the paths that were recorded.
    pub(crate) fn reached(&self, results: &[bool]) -> Vec<bool> {
        let body = &self.body;
        let (size, width) = (body.carry, body.row);
        let mut reached = vec![false; self.sources.len()];
        let mut seeds = results[..size].to_vec();
        for t in (0..body.count).rev() {
            seeds.truncate(size);
            seeds.extend_from_slice(&results[size + t * body.gives..size + (t + 1) * body.gives]);
            let path = &body.paths[body.sequence.at(t)];
            let flow = path.flow(Direction::Backwards, &seeds);
            seeds.fill(false);
            for &input in &flow.reached {
                match input {
                    input if input < size => seeds[input] = true,
                    input if input >= size + width => {
                        reached[self.captures_at() + path.captures[input - size - width] as usize] = true;
                    }
                    input if self.has_row_sources() => reached[self.rows_at() + t * width + input - size] = true,
                    _ => {}
                }
            }
        }
        reached[..size].copy_from_slice(&seeds[..size]);
        reached
    }

    /// Bytes that it takes, paths included.
    pub(crate) fn bytes(&self) -> usize {
        let body = &self.body;
        let paths: usize = body.paths.iter().map(|path| path.trace.bytes()).sum();
        let rows = if let PlainRows::Numbers(numbers) = &body.rows { size_of_val(&numbers[..]) } else { 0 };
        size_of_val(&self.sources[..]) + size_of_val(&body.carries[..]) + body.sequence.bytes() + paths + rows
    }

    /// Where the captures stand among the sources, and the rows.
    fn captures_at(&self) -> usize {
        self.body.carry
    }
    fn rows_at(&self) -> usize {
        self.body.carry + self.body.captures
    }

    /// Whether the rows are variables.
    fn has_row_sources(&self) -> bool {
        self.sources.len() > self.rows_at()
    }

    /// The row of a step, given the numbers of the sources.
    fn row<R: Real>(&self, t: usize, sources: &[R], row: &mut Vec<R>) {
        row.clear();
        match &self.body.rows {
            PlainRows::Elsewhere => {
                let at = self.rows_at() + t * self.body.row;
                row.extend_from_slice(&sources[at..at + self.body.row]);
            }
            PlainRows::Counted(from) => row.push(R::constant((from + t as i64) as f64)),
            PlainRows::Numbers(numbers) => {
                let own = &numbers[t * self.body.row..(t + 1) * self.body.row];
                row.extend(own.iter().map(|&number| R::constant(number)));
            }
        }
    }

    /// The numbers of the sources, given those of the list.
    fn numbers<R: Real>(&self, values: &[R]) -> Vec<R> {
        self.sources.iter().map(|source| source.number(values)).collect()
    }
}
