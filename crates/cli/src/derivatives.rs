//! The derivatives of a program, by the drivers of the library.

use wengert::{Var, hessian, jacobian, jvp, taylor, value_and_grad};

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

/// The Taylor coefficients of every output along a direction, from order 0 on.
pub(crate) fn series_of(program: &Program, point: &[f64], direction: &[f64], order: usize) -> Vec<Vec<f64>> {
    taylor(point.to_vec(), direction.to_vec(), order, |inputs: Vec<Var>| eval::outputs(program, &inputs))
}

/// Derivatives from Taylor coefficients: the k-th times the factorial of k.
pub(crate) fn from_coefficients(coefficients: &[f64]) -> Vec<f64> {
    let mut factorial = 1.0;
    let mut derivatives = Vec::with_capacity(coefficients.len());
    for (order, coefficient) in (0_u32..).zip(coefficients) {
        factorial *= f64::from(order.max(1));
        derivatives.push(factorial * coefficient);
    }
    derivatives
}
