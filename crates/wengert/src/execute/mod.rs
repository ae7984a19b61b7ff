//! Programs to values.

mod cache;
#[cfg(feature = "engine")]
pub(crate) mod engine;
#[cfg(feature = "engine")]
mod executor;
mod known;
#[cfg(not(feature = "engine"))]
mod plain;
#[cfg(feature = "engine")]
pub mod profile;
mod reference;

#[cfg(feature = "engine")]
pub(crate) use executor::{Prepared, Results, Settings};
#[cfg(feature = "engine")]
pub use executor::{set_threads, try_set_threads};
pub(crate) use known::{Made, Task, apply, apply_composite, apply_single, made};
#[cfg(not(feature = "engine"))]
pub(crate) use plain::{Prepared, Results, Settings};
pub use reference::reference_steps;
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
