//! Programs to values.

#[cfg(feature = "engine")]
pub(crate) mod engine;
#[cfg(feature = "engine")]
mod executor;
#[cfg(feature = "engine")]
pub mod profile;
mod reference;

#[cfg(feature = "engine")]
pub use executor::set_threads;
pub(crate) use reference::{eval, run};

use crate::array::Array;
use crate::error::Error;
use crate::program::Program;

impl Program {
    /// Runs the equations in order on the reference executor: slow and obvious.
    ///
    /// # Errors
    /// If the inputs do not have the types of the Program's, or an operation fails on its values
    /// (an index out of range).
    pub fn run(&self, inputs: &[Array]) -> Result<Vec<Array>, Error> {
        run(self, inputs)
    }
}

/// The results of a Program that is made for this call: optimised and run by the engine, if there is one.
pub(crate) fn apply(program: &Program, inputs: &[Array]) -> Result<Vec<Array>, Error> {
    #[cfg(feature = "engine")]
    return executor::apply(program, inputs);
    #[cfg(not(feature = "engine"))]
    run(&program.optimize(), inputs)
}
