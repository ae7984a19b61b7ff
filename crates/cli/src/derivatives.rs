//! The derivatives of a program, by the drivers of the library.

use wengert::{Var, hessian, jacobian, jvp, value_and_grad};

use crate::eval;
use crate::program::Program;

/// The adjoint of every entry of the list: the derivative of the only output in it.
///
/// One reverse sweep over the program with a shift at every operation; the adjoints of the
/// inputs, which come first, are the gradient.
pub(crate) fn adjoints(program: &Program, point: &[f64], operations: usize) -> Vec<f64> {
    let at = (point.to_vec(), vec![-0.0; operations]);
    let (_, (gradient, shifts)) = value_and_grad(at, |(inputs, shifts): (Vec<Var>, Vec<Var>)| {
        let run = eval::run_shifted(program, &inputs, &shifts);
        run.value(run.outputs[0])
    });
    let mut adjoints = gradient;
    adjoints.extend(shifts);
    adjoints
}

/// The derivative of every entry of the list along a direction, by forward mode.
pub(crate) fn tangents(program: &Program, point: &[f64], direction: &[f64]) -> Vec<f64> {
    let (_, tangents) = jvp(point.to_vec(), direction.to_vec(), |inputs: Vec<Var>| {
        let run = eval::run(program, &inputs);
        run.entries.iter().map(|entry| entry.value).collect::<Vec<Var>>()
    });
    tangents
}

/// A row for each output, a column for each input.
pub(crate) fn jacobian_of(program: &Program, point: &[f64]) -> Vec<Vec<f64>> {
    jacobian(point.to_vec(), |inputs: Vec<Var>| eval::outputs(program, &inputs))
}

/// The second derivatives of the only output.
pub(crate) fn hessian_of(program: &Program, point: &[f64]) -> Vec<Vec<f64>> {
    hessian(point.to_vec(), |inputs: Vec<Var>| eval::outputs(program, &inputs)[0])
}
