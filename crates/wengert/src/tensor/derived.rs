//! From a closed Program to numbers: transformed for a purpose, found again by what was recorded, applied.

use std::panic::Location;
use std::sync::Arc;

use super::Tensor;
use super::graph::{Closed, apply_bound, apply_program, numbers_for};
use crate::array::Type;
use crate::error::Error;
use crate::execute::{BoundProgram, Made, NumberOperands, made};
use crate::optimize;
use crate::program::Program;
use crate::task::Task;
use crate::transform;

/// What a closed Program is transformed into.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Transformation {
    /// What a driver asks for.
    Derivative(Task),
    /// That, in a plan that takes this many bytes at most.
    Within(Task, usize),
    /// The outputs with the residuals, and the linear part backwards.
    Pullback,
    /// One more axis: where each leaf has it, its length, and where each output has it, if it is to have it.
    Mapped { axes: Vec<Option<usize>>, length: usize, places: Vec<Option<usize>> },
}

impl Transformation {
    /// Whether repeated code is taken as loops: matrices of derivatives follow which element depends on which, for which a
    /// loop is one thing and its steps are many.
    fn is_of_loops(&self) -> bool {
        match self {
            Transformation::Derivative(task) | Transformation::Within(task, _) => !task.is_matrix(),
            Transformation::Pullback | Transformation::Mapped { .. } => true,
        }
    }
}

impl From<Task> for Transformation {
    fn from(task: Task) -> Self {
        Transformation::Derivative(task)
    }
}

/// A transformation of a closed Program, applied to its leaves, its captures and further operands: at once, or recorded in
/// the level around.
#[track_caller]
pub(crate) fn apply(
    driver: &str,
    what: impl Into<Transformation>,
    closed: &Closed,
    leaves: &[Tensor],
    more: &[Tensor],
) -> Result<Vec<Tensor>, Error> {
    let line = Location::caller();
    let operands: Vec<&Tensor> = leaves.iter().chain(&closed.captures).collect();
    let more: Vec<&Tensor> = more.iter().collect();
    let which = numbers_for(&operands, &more);
    let bound = derived(what.into(), closed, which).map_err(|error| error.at(Some(line)))?;
    apply_bound(driver, &bound, &operands, &more)
}

/// The transformed Program, or the one that was derived from the same recording before.
pub(crate) fn derived(what: Transformation, closed: &Closed, which: NumberOperands) -> Result<BoundProgram, Error> {
    let leaves = closed.leaves;
    made(&(what.clone(), leaves), &closed.program, which, |program| {
        let loops = if what.is_of_loops() { optimize::rolled(program) } else { None };
        let program = loops.as_ref().unwrap_or(program);
        match &what {
            Transformation::Derivative(task) => transform::derive(*task, program, leaves).map(Made::new),
            Transformation::Within(task, bytes) => {
                transform::derive(*task, program, leaves).map(|program| Made::new(program).within(*bytes))
            }
            Transformation::Pullback => {
                let (primal, back) = transform::pullback(program, leaves)?;
                Ok(Made::new(primal).with_back(back))
            }
            Transformation::Mapped { axes, length, places } => {
                transform::mapped(program, axes, *length, places).map(Made::new)
            }
        }
    })
}

/// A linearised function at a point.
#[derive(Clone, Debug)]
pub struct Pulled {
    /// Takes the residuals, then a cotangent for each output; gives the cotangents of the leaves.
    pub(crate) program: Arc<Program>,
    pub(crate) residuals: Vec<Tensor>,
    /// The types of the outputs.
    pub(crate) outputs: Vec<Type>,
}

/// The outputs, and the transposed Jacobian at this point.
#[track_caller]
pub(crate) fn pullback(driver: &str, closed: &Closed, leaves: &[Tensor]) -> Result<(Vec<Tensor>, Pulled), Error> {
    let line = Location::caller();
    let operands: Vec<&Tensor> = leaves.iter().chain(&closed.captures).collect();
    let which = numbers_for(&operands, &[]);
    let bound = derived(Transformation::Pullback, closed, which).map_err(|error| error.at(Some(line)))?;
    let mut values = apply_bound(driver, &bound, &operands, &[])?;
    let outputs = closed.program.output_types();
    let residuals = values.split_off(outputs.len());
    let program = bound.made.back.clone().expect("a pullback has two parts");
    Ok((values, Pulled { program, residuals, outputs }))
}

/// `Jᵀ c`.
#[track_caller]
pub(crate) fn pull(driver: &str, pulled: &Pulled, cotangents: &[Tensor]) -> Result<Vec<Tensor>, Error> {
    let operands: Vec<&Tensor> = pulled.residuals.iter().chain(cotangents).collect();
    apply_program(driver, &pulled.program, &operands)
}
