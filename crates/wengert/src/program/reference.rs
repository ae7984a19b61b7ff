//! The reference executor: every equation by its definition, one after the other. It is the oracle
//! for everything faster.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{Program, Value};
use crate::array::{Array, Type};
use crate::error::{Error, ErrorKind, Line, Misfit};
use crate::primitives::Op;

/// How many operations this process has evaluated.
static STEPS: AtomicU64 = AtomicU64::new(0);

/// How many operations this process has evaluated on the reference executor, those in the Programs of other operations
/// not counted.
///
/// The engine is as fast as it is only if none of a Program's steps go to the reference executor; tests ask.
///
/// ```
/// use wengert::{Array, Program, reference_steps};
/// let program: Program = "program(v0: f64[]) { v1: f64[] = exp v0; v2: f64[] = sin v1; return v2 }".parse()?;
/// let before = reference_steps();
/// program.run_reference(&[Array::new(&[], vec![1.0])])?;
/// assert_eq!(reference_steps() - before, 2);
/// # Ok::<(), wengert::Error>(())
/// ```
pub fn reference_steps() -> u64 {
    STEPS.load(Ordering::Relaxed)
}

impl Program {
    /// Runs the equations in order, each by its definition: slow and obvious. It is what the engine is tested against.
    ///
    /// # Errors
    /// If the inputs do not have the types of the Program's, or an operation fails on its values.
    pub fn run_reference(&self, inputs: &[Array]) -> Result<Vec<Array>, Error> {
        run(self, inputs)
    }
}

/// Evaluates one operation.
pub(crate) fn eval(op: &Op, args: &[&Array], line: Option<Line>) -> Result<Vec<Array>, Error> {
    let types = || args.iter().map(|arg| arg.ty()).collect::<Vec<&Type>>();
    defined(op, args).map_err(|why| op.failure(why, &types()).of_call(&op.name(), line))
}

/// As [`eval`], with the reason alone where it fails.
pub(crate) fn defined(op: &Op, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
    STEPS.fetch_add(1, Ordering::Relaxed);
    op.eval(args)
}

/// Runs a Program; a value is dropped after its last use.
fn run(program: &Program, inputs: &[Array]) -> Result<Vec<Array>, Error> {
    check_inputs(program, inputs)?;
    let last = last_uses(program);
    let mut values: Vec<Option<Array>> = inputs.iter().cloned().map(Some).collect();
    values.resize(program.types.len(), None);
    for (k, eqn) in program.eqns().iter().enumerate() {
        let args: Vec<&Array> =
            eqn.args.iter().map(|arg| values[arg.index()].as_ref().expect("defined before it is used")).collect();
        let results = eval(&eqn.op, &args, eqn.line)?;
        for (out, result) in eqn.outs().zip(results) {
            debug_assert_eq!(result.ty(), program.ty(out), "`{}` computes what it inferred", eqn.op.name());
            values[out.index()] = Some(result);
        }
        for arg in eqn.args.iter().copied().chain(eqn.outs()) {
            if last[arg.index()] <= k {
                values[arg.index()] = None;
            }
        }
    }
    let take = |output: &Value| values[output.index()].clone().expect("an output is not dropped");
    Ok(program.outputs().iter().map(take).collect())
}

/// The number of the last equation that uses each value; outputs are used at the end.
fn last_uses(program: &Program) -> Vec<usize> {
    let mut last = vec![0; program.types.len()];
    for (k, eqn) in program.eqns().iter().enumerate() {
        eqn.args.iter().copied().chain(eqn.outs()).for_each(|value| last[value.index()] = k);
    }
    program.outputs().iter().for_each(|output| last[output.index()] = usize::MAX);
    last
}

pub(crate) fn check_inputs(program: &Program, inputs: &[Array]) -> Result<(), Error> {
    let types: Vec<&Type> = inputs.iter().map(Array::ty).collect();
    let error = |why: String| Error::new(ErrorKind::Misfit, "run", why).of(types.iter().copied());
    let wanted = program.input_types();
    if wanted.len() != inputs.len() {
        return Err(error(format!("the program takes {} inputs, and got {}", wanted.len(), inputs.len())));
    }
    match wanted.iter().zip(&types).position(|(wanted, ty)| wanted != *ty) {
        Some(k) => Err(error(format!("input {k} has to be {}, and is {}", wanted[k], types[k]))),
        None => Ok(()),
    }
}
