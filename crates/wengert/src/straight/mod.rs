//! Straight-line code: what is used again of a recording of scalars, and the scalar parts of Programs.
//!
//! The tape records, and sweeps once. What runs more often is a [`List`](list::List) of scalar operations, made of a
//! recording together with what is derived from it (`derive.rs`, over the carrier of `symbol.rs`), or of the parts of a
//! Program that are scalars at each point ([`crate::plan`]). Common subexpressions are merged and operations simplified
//! while the list is written (`list.rs`), choices that nothing sees dropped (`demand.rs`), dead operations dropped and neighbours
//! joined (`pairs.rs`), places handed out by liveness
//! (`lower.rs`); [`wengert_kernels::straight`] runs the result at one point, or at many on vector lanes and threads.

pub(crate) mod demand;
mod derive;
pub(crate) mod instruction;
pub(crate) mod list;
mod lower;
pub(crate) mod order;
pub(crate) mod pairs;
mod symbol;

use std::sync::{Arc, Mutex, PoisonError};

use wengert_kernels::Pool;
use wengert_kernels::straight::{Code, Workspace};

use crate::ops::Compare;
use crate::tape::block::{Asked, StepCode};
use crate::tape::trace::Trace;
use crate::task::Task;
#[cfg(feature = "engine")]
use list::List;
use list::Node;

/// A comparison whose outcome decides whether a list is valid at a point.
#[derive(Clone, Copy, Debug)]
struct Guard {
    compare: Compare,
    x: Node,
    y: Node,
    expected: bool,
}

/// The code of a list that is part of a Program: a run takes the numbers of its inputs, and gives those of the results, with the
/// bits that arrays have. Of the inputs those that are `kept` are still there after a run.
#[cfg(feature = "engine")]
pub(crate) fn code(list: List, kept: Vec<bool>, results: Vec<Node>) -> Code {
    lower::lower(derive::Derived { list, inputs: kept.len(), results, guards: Vec::new(), kept, of_many: true })
}

/// What a task asks of a recorded function, as code.
#[derive(Debug)]
pub(crate) struct Straight {
    code: Code,
    /// Memory of earlier runs, one for each that was under way at the same time.
    idle: Mutex<Vec<Workspace>>,
}

/// Code for a path of a loop: see [`MakeCode`](crate::tape::block::MakeCode).
pub(crate) fn step_code(trace: &Trace, asked: Asked<'_>) -> Arc<dyn StepCode> {
    let derived = match asked {
        Asked::Outputs => derive::derive(trace, &Task::Value),
        Asked::Tangents { inputs, reached } => derive::pushed(trace, inputs, reached),
        Asked::Cotangents { outputs, reached } => derive::transposed(trace, outputs, reached),
    };
    Arc::new(PathCode(lower::lower(derived)))
}

/// The code of a path.
#[derive(Debug)]
struct PathCode(Code);

impl StepCode for PathCode {
    fn begin(&self) -> Vec<f64> {
        let mut memory = vec![0.0; self.0.memory()];
        self.0.begin(&mut memory);
        memory
    }

    fn run<'a>(&self, memory: &'a mut [f64]) -> Option<&'a [f64]> {
        let parts = self.0.parts();
        let results = parts.results_at..parts.results_at + parts.results;
        self.0.again(memory).then(|| &memory[results])
    }
}

impl Straight {
    /// The code for a recording without captures. A run takes the point and then the direction, if the task has one.
    pub(crate) fn new(trace: &Trace, task: &Task) -> Self {
        let code = lower::lower(derive::derive(trace, task));
        Straight { code, idle: Mutex::default() }
    }

    /// How many numbers a run takes.
    pub(crate) fn inputs(&self) -> usize {
        self.code.parts().inputs
    }

    /// How many numbers it gives.
    pub(crate) fn results(&self) -> usize {
        self.code.parts().results
    }

    /// How many points share an instruction.
    pub(crate) fn width(&self) -> usize {
        self.code.width()
    }

    /// `take` of the results at one point; `None` if a guard comes out differently there.
    pub(crate) fn run_one<R>(&self, point: &[f64], take: impl FnOnce(&[f64]) -> R) -> Option<R> {
        self.with_memory(|memory| self.code.run_one(memory, point).map(take))
    }

    /// Rows of results at many points, which are rows, each with one more number: how many guards come out differently.
    pub(crate) fn run_many(&self, points: &[f64], rows: &mut [f64], pool: &Pool) {
        self.with_memory(|memory| self.code.run_many(memory, points, rows, pool));
    }

    fn with_memory<R>(&self, run: impl FnOnce(&mut Workspace) -> R) -> R {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let mut memory = idle().pop().unwrap_or_default();
        let result = run(&mut memory);
        idle().push(memory);
        result
    }
}
