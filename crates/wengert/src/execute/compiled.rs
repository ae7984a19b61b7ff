//! [`CompiledProgram`]: a Program with its plan, to be run many times.

use super::{Prepared, Settings};
use crate::array::Array;
use crate::error::Error;
#[cfg(feature = "engine")]
use crate::plan::Plan;
use crate::program::{Program, check_inputs};

/// A Program that was optimised and planned once and is then only run; from [`Program::compile`], or with options from
/// [`Compile::program`](crate::Compile::program).
///
/// It may be run by many threads at once; each run at the same time has memory of its own, which is kept for later ones.
///
/// ```
/// use wengert::{Array, Program};
/// let program: Program = "program(v0: f64[2]) { v1: f64[2] = square v0; return v1 }".parse()?;
/// let square = program.compile()?;
/// for x in [1.0, 2.0, 3.0] {
///     assert_eq!(square.run(&[Array::new(&[2], vec![x, -x])])?[0].to_f64(), [x * x, x * x]);
/// }
/// # Ok::<(), wengert::Error>(())
/// ```
#[derive(Debug)]
pub struct CompiledProgram {
    program: Program,
    prepared: Prepared,
}

impl CompiledProgram {
    pub(crate) fn new(program: &Program, settings: &Settings) -> Result<Self, Error> {
        Ok(CompiledProgram { program: program.clone(), prepared: Prepared::new(program, settings, &[])? })
    }

    /// The results at these inputs.
    ///
    /// # Errors
    /// If the inputs do not have the types of the Program's, there is not enough memory, or an operation fails on its
    /// values (an index out of range).
    pub fn run(&self, inputs: &[Array]) -> Result<Vec<Array>, Error> {
        check_inputs(&self.program, inputs)?;
        let results = self.prepared.run(|list| list.extend(inputs.iter().map(|input| Some(input.data().clone()))))?;
        Ok(results.into_iter().collect())
    }

    /// The Program, as it was given.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// What runs, which says how much memory it takes and explains itself.
    #[cfg(feature = "engine")]
    pub fn plan(&self) -> &Plan {
        &self.prepared.plan
    }
}

impl Program {
    /// Optimises and plans the Program, to be run many times on the threads of the drivers. Without the feature `engine`
    /// it is optimised, and its equations run by their definitions.
    ///
    /// # Errors
    /// None at present: without a limit every Program can be planned. Memory is asked for when it runs.
    #[track_caller]
    pub fn compile(&self) -> Result<CompiledProgram, Error> {
        let line = std::panic::Location::caller();
        CompiledProgram::new(self, &Settings::current()).map_err(|error| error.at(Some(line)))
    }
}
