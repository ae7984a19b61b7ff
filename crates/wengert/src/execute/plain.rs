//! What stands in the place of plans where there is no engine: the optimised Program, run by definition.

use crate::array::{Array, Data};
use crate::error::Error;
use crate::optimize;
use crate::program::Program;

/// The results of a run.
pub(crate) type Results = Vec<Array>;

/// How Programs are run; there is nothing to choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings;

impl Settings {
    /// Threads and memory are what planning needs to know.
    ///
    /// # Errors
    /// None; threads that are started have some.
    pub(crate) fn of(_threads: Option<usize>, _memory: Option<usize>) -> Result<Self, Error> {
        Ok(Settings)
    }

    /// What is set now.
    pub(crate) fn current() -> Self {
        Settings
    }
}

/// A Program that was optimised.
#[derive(Debug)]
pub(crate) struct Prepared {
    program: Program,
}

impl Prepared {
    /// Optimises a Program. The inputs that may be overwritten are not: every operation makes its results.
    ///
    /// # Errors
    /// None; planning has some.
    pub(crate) fn new(program: &Program, _settings: &Settings, _donated: &[bool]) -> Result<Self, Error> {
        super::PLANS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Ok(Prepared { program: optimize::ready(program) })
    }

    pub(crate) fn is_made_for(&self, _settings: &Settings) -> bool {
        true
    }

    /// Bytes of the memory that is kept.
    pub(crate) fn bytes(&self) -> usize {
        0
    }

    /// The results; `fill` gives the inputs, which have the types of the Program's.
    ///
    /// # Errors
    /// If an operation fails on its values.
    pub(crate) fn run(&self, fill: impl FnOnce(&mut Vec<Option<Data>>)) -> Result<Results, Error> {
        let mut inputs = Vec::new();
        fill(&mut inputs);
        let array = |(data, ty): (Option<Data>, &crate::array::Type)| {
            Array::from_data(ty.shape.clone(), data.expect("an input of every number"))
        };
        let inputs: Vec<Array> = inputs.into_iter().zip(self.program.input_types()).map(array).collect();
        self.program.run_reference(&inputs)
    }
}
