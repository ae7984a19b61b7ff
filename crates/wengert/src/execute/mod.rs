//! Programs to values.

mod reference;

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
