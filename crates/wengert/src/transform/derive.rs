//! What drivers ask of a closed Program, as a Program: the gradient, products with the Jacobian, mapped axes.
//!
//! The first inputs are the leaves of the driver's point, which are differentiated by; the others are captures.

use super::blocks::blocks;
use super::linearize::linearize;
use super::vmap::vmap;
use crate::array::Type;
use crate::error::{Error, ErrorKind};
use crate::program::{Builder, Program, Value, dce, same_inputs, with_outputs};
use crate::task::{Gives, Task};

/// The Program for a task. It takes the inputs, then the directions that the task takes.
pub(crate) fn derive(task: Task, program: &Program, leaves: usize) -> Result<Program, Error> {
    let active = || active(program, leaves);
    let count = program.outputs().len();
    match task {
        Task::Value => Ok(dce(program.clone())),
        Task::Gradient => gradient(program, leaves, Gives::Derivative),
        Task::ValueAndGradient => gradient(program, leaves, Gives::LowerOrdersToo),
        Task::Jvp => Ok(dce(program.jvp(&active())?)),
        Task::Vjp => Ok(program.vjp(&active())?.with_outputs(count..)),
        Task::ValueAndVjp => Ok(dce(program.vjp(&active())?)),
        Task::Jacobian => blocks(program, leaves, 0, Gives::Derivative),
        Task::ValueAndJacobian => blocks(program, leaves, 0, Gives::LowerOrdersToo),
        Task::Hessian => blocks(&gradient(program, leaves, Gives::Derivative)?, leaves, 0, Gives::Derivative),
        Task::ValueGradientAndHessian => {
            blocks(&gradient(program, leaves, Gives::LowerOrdersToo)?, leaves, count, Gives::LowerOrdersToo)
        }
        // Forward over reverse.
        Task::Hvp => {
            let pushed = derive(Task::Jvp, &gradient(program, leaves, Gives::Derivative)?, leaves)?;
            Ok(pushed.with_outputs(leaves..))
        }
        Task::ValueGradientAndHvp => {
            let pushed = derive(Task::Jvp, &gradient(program, leaves, Gives::LowerOrdersToo)?, leaves)?;
            // Values, gradient, tangents of the values, tangents of the gradient.
            let values = count + leaves;
            let marked: Vec<bool> = (0..2 * values).map(|k| k < values || k >= values + count).collect();
            Ok(with_outputs(&pushed, &marked))
        }
        Task::Taylor { .. } => {
            let why = "there are no Taylor coefficients through array operations; nest `jvp` instead";
            Err(Error::new(ErrorKind::Unsupported, "taylor", why))
        }
    }
}

/// Which inputs are differentiated: the leaves, not the captures.
pub(super) fn active(program: &Program, leaves: usize) -> Vec<bool> {
    (0..program.input_types().len()).map(|k| k < leaves).collect()
}

/// How many times as long as a Program its gradient is, if nothing is unusual.
const LONGER: usize = 4;

/// The gradient of the first output.
fn gradient(program: &Program, leaves: usize, gives: Gives) -> Result<Program, Error> {
    let active = active(program, leaves);
    // A list that grows to a long one leaves holes in memory.
    let mut b = Builder::with_room(LONGER * program.eqns().len(), LONGER * program.types.len());
    let args = same_inputs(&mut b, program);
    let (outs, linear) = linearize(&mut b, program, &args, &active)?;
    let mut cotangents = vec![None; outs.len()];
    let loss = b.ty(outs[0]).clone();
    cotangents[0] = Some(b.full(1.0, &loss));
    let pulled = linear.pull(&mut b, &cotangents)?;
    drop(linear);
    let mut results = if gives == Gives::LowerOrdersToo { outs } else { Vec::new() };
    for (k, ct) in pulled.into_iter().enumerate().filter(|(k, _)| active[*k]) {
        results.push(ct.unwrap_or_else(|| b.zeros_like(args[k])));
    }
    let mut gradient = dce(b.finish(&results));
    gradient.shrink_to_fit();
    Ok(gradient)
}

/// The outputs with the residuals; and, from the residuals and a cotangent for each output, those of the leaves.
pub(crate) fn pullback(program: &Program, leaves: usize) -> Result<(Program, Program), Error> {
    let active = active(program, leaves);
    let mut b = Builder::new();
    let args = same_inputs(&mut b, program);
    let (outs, mut linear) = linearize(&mut b, program, &args, &active)?;
    let outputs: Vec<Type> = outs.iter().map(|&out| b.ty(out).clone()).collect();
    let mut back = Builder::new();
    let residuals: Vec<Value> =
        linear.residuals.iter().map(|&residual| back.input("", b.ty(residual).clone())).collect();
    let primal = dce(b.finish(&[&outs[..], &linear.residuals[..]].concat()));
    linear.residuals = residuals;
    let cotangents: Vec<Option<Value>> = outputs.iter().map(|ty| Some(back.input("", ty.clone()))).collect();
    let pulled = linear.pull(&mut back, &cotangents)?;
    let results = pulled.into_iter().zip(program.input_types()).zip(&active).filter(|(_, active)| **active);
    let results: Vec<Value> = results.map(|((ct, ty), _)| ct.unwrap_or_else(|| back.full(0.0, ty))).collect();
    Ok((primal, dce(back.finish(&results))))
}

/// The Program with the mapped axes, where the operands have them and where the results shall; a result without a place has none.
///
/// # Errors
/// If such a result has the axis after all, or an operation has no such form.
pub(crate) fn mapped(
    program: &Program,
    axes: &[Option<usize>],
    length: usize,
    places: &[Option<usize>],
) -> Result<Program, Error> {
    let mut b = Builder::new();
    let (mut args, mut flags) = (Vec::new(), Vec::new());
    for (k, ty) in program.input_types().iter().enumerate() {
        let axis = axes.get(k).copied().flatten();
        let mut shape = ty.shape.clone();
        if let Some(axis) = axis {
            shape.insert(axis, length);
        }
        let input = b.input("", ty.with_shape(shape));
        args.push(axis.map_or(input, |axis| b.move_axis(input, axis, 0)));
        flags.push(axis.is_some());
    }
    let outs = vmap(&mut b, program, &args, &flags, length)?;
    if let Some(k) = outs.iter().zip(places).position(|((_, batched), place)| *batched && place.is_none()) {
        let why = format!(
            "leaf {k} of the result, {}, depends on what is mapped, so that it is another one for each example: give it a place \
             in `outputs`",
            program.output_types()[k]
        );
        return Err(Error::new(ErrorKind::Misfit, "vmap", why));
    }
    let place = |b: &mut Builder, (out, batched): (Value, bool), place: Option<usize>| {
        let Some(place) = place else { return out };
        let out = if batched { out } else { b.repeat_in_front(out, length) };
        b.move_axis(out, 0, place)
    };
    let outs: Vec<Value> = outs.into_iter().zip(places).map(|(out, &at)| place(&mut b, out, at)).collect();
    Ok(dce(b.finish(&outs)))
}
