//! Programs to values.

#[cfg(feature = "engine")]
mod apart;
mod cache;
#[cfg(feature = "engine")]
mod called;
#[cfg(feature = "engine")]
mod carried;
#[cfg(feature = "engine")]
mod columns;
mod compiled;
#[cfg(feature = "engine")]
mod control;
#[cfg(feature = "engine")]
pub(crate) mod engine;
#[cfg(feature = "engine")]
mod executor;
mod known;
#[cfg(all(feature = "engine", not(feature = "spill")))]
mod memory_only;
mod moved;
mod numbers;
#[cfg(not(feature = "engine"))]
mod plain;
#[cfg(feature = "engine")]
pub mod profile;
#[cfg(feature = "engine")]
mod rows;
#[cfg(feature = "engine")]
mod single;
#[cfg(feature = "engine")]
mod snapshots;
#[cfg(feature = "spill")]
mod spill;

pub use compiled::CompiledProgram;
#[cfg(feature = "engine")]
pub(crate) use executor::{Prepared, Results, Settings};
#[cfg(feature = "engine")]
pub use executor::{set_threads, try_set_threads};
pub(crate) use known::{BoundProgram, Made, NumberOperands, apply, apply_composite, apply_single, made, made_itself};
#[cfg(not(feature = "engine"))]
pub(crate) use plain::{Prepared, Results, Settings};

use std::sync::atomic::{AtomicU64, Ordering};

use crate::array::Array;
use crate::error::Error;
use crate::program::{Program, check_inputs};

/// How many plans this process has made.
static PLANS: AtomicU64 = AtomicU64::new(0);

/// How many Programs this process has optimised and planned.
///
/// What is called again finds its plan: at new data, and from the third value on of a plain number that it captures.
///
/// ```
/// use wengert::{plans_made, prelude::*};
/// let x = Tensor::from([1.0, 2.0]);
/// let slope = |rate: f64| grad(&x, |x| (x.square() * rate).sum()).to_vec();
/// assert_eq!((slope(0.5), slope(0.25)), (vec![1.0, 2.0], vec![0.5, 1.0]));
/// let before = plans_made();
/// assert_eq!(slope(2.0), [4.0, 8.0]);
/// assert_eq!(plans_made(), before);
/// ```
pub fn plans_made() -> u64 {
    PLANS.load(Ordering::Relaxed)
}

impl Program {
    /// The results at these inputs: optimised, planned and run, on the threads of the drivers. The plan is kept for the
    /// next call with an equal Program. Without the feature `engine` the equations run by their definitions.
    ///
    /// ```
    /// use wengert::{Array, Program};
    /// let program: Program = "program(v0: f64[2]) { v1: f64[2] = square v0; return v1 }".parse()?;
    /// let results = program.run(&[Array::new(&[2], vec![3.0, -0.5])])?;
    /// assert_eq!(results[0].to_f64(), [9.0, 0.25]);
    /// # Ok::<(), wengert::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the inputs do not have the types of the Program's, there is not enough memory, or an operation fails on its
    /// values (an index out of range).
    pub fn run(&self, inputs: &[Array]) -> Result<Vec<Array>, Error> {
        check_inputs(self, inputs)?;
        Ok(apply(self, inputs.iter())?.into_iter().collect())
    }
}
