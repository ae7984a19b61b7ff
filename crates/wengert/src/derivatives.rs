//! What drivers compute from a finished recording: Programs, applied to its leaves and captures.

use std::panic::Location;
use std::sync::Arc;

use crate::array::Type;
use crate::error::{Error, ErrorKind, Line};
use crate::execute::{Known, Made, Operands, Task, made};
use crate::program::{Builder, Program, Value, dce, same_inputs};
use crate::tensor::Tensor;
use crate::tensor::graph::{Closed, apply_known, apply_program, numbers_for};
use crate::transform::jacobian::{Front, columns};
use crate::transform::linearize::linearize;
use crate::transform::vmap::vmap;
use crate::transform::{jvp, transpose};

/// Which inputs are differentiated: the leaves, not the captures.
fn active(closed: &Closed) -> Vec<bool> {
    (0..closed.program.input_types().len()).map(|k| k < closed.leaves).collect()
}

fn error(driver: &str, line: Line, why: String) -> Error {
    Error::new(ErrorKind::Misfit, driver, why).at(Some(line))
}

/// That the leaves can be differentiated by.
pub(crate) fn check_leaves(driver: &str, line: Line, leaves: &[Tensor]) -> Result<(), Error> {
    match leaves.iter().position(|leaf| !leaf.dtype().is_float()) {
        Some(k) => Err(error(
            driver,
            line,
            format!(
                "leaf {k} of the point is {}, and there is no derivative by integers or truth values: capture it \
                 in the closure, or mark its field #[tree(static)]",
                leaves[k].ty()
            ),
        )),
        None => Ok(()),
    }
}

/// That the loss is a single real number.
pub(crate) fn check_loss(driver: &str, line: Line, loss: &Type) -> Result<(), Error> {
    if loss.shape.is_empty() && loss.dtype.is_float() {
        return Ok(());
    }
    let why = format!("the loss is {loss}, and has to be a single real number: reduce it with `sum` or `mean`");
    Err(error(driver, line, why))
}

/// What a driver computes from a finished recording, applied to its leaves, its captures and further operands: at once, or
/// recorded in the level around. What was derived before is found by the recording.
#[track_caller]
pub(crate) fn apply(
    driver: &str,
    task: &Task,
    closed: &Closed,
    leaves: &[Tensor],
    more: &[Tensor],
) -> Result<Vec<Tensor>, Error> {
    let line = Location::caller();
    let operands: Vec<&Tensor> = leaves.iter().chain(&closed.captures).collect();
    let more: Vec<&Tensor> = more.iter().collect();
    let known = derived(task, closed, numbers_for(&operands, &more)).map_err(|error| error.at(Some(line)))?;
    apply_known(driver, &known, &operands, &more)
}

/// The Program for a task, or the one that was derived from the same recording before.
pub(crate) fn derived(task: &Task, closed: &Closed, which: Operands) -> Result<Known, Error> {
    made(task, closed.leaves, &closed.program, which, |program| {
        // Numbers that are operands are like captures.
        let closed =
            &Closed { program: program.clone(), leaves: closed.leaves, captures: Vec::new(), taken: Vec::new() };
        match task {
            Task::Itself => Ok(Made::new(closed.program.clone())),
            Task::Values => Ok(Made::new(values(closed))),
            Task::Gradient => gradient(closed, Results::Gradient).map(Made::new),
            Task::ValuesAndGradient => gradient(closed, Results::ValuesAndGradient).map(Made::new),
            Task::Pushed => pushed(closed).map(Made::new),
            Task::Pulled => pulled(closed).map(Made::new),
            Task::Pullback => pullback_programs(closed),
            Task::HessianVector => hvp(closed).map(Made::new),
            Task::Blocks => blocks(closed).map(Made::new),
            Task::HessianBlocks => blocks(&gradient_closed(closed)?).map(Made::new),
            Task::Mapped(axes, length, places) => batched(closed, axes, *length, places).map(Made::new),
        }
    })
}

/// The outputs.
fn values(closed: &Closed) -> Program {
    dce(closed.program.clone())
}

/// What the Program of a gradient gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Results {
    Gradient,
    /// All outputs before the gradient.
    ValuesAndGradient,
}

/// The gradient of the first output.
fn gradient(closed: &Closed, wanted: Results) -> Result<Program, Error> {
    let (program, active) = (&closed.program, active(closed));
    let mut b = Builder::new();
    let args = same_inputs(&mut b, program);
    let (outs, linear) = linearize(&mut b, program, &args, &active)?;
    let mut cotangents = vec![None; outs.len()];
    let loss = b.ty(outs[0]).clone();
    cotangents[0] = Some(b.full(1.0, &loss));
    let pulled = linear.pull(&mut b, &cotangents)?;
    drop(linear);
    let mut results = if wanted == Results::ValuesAndGradient { outs } else { Vec::new() };
    for (k, ct) in pulled.into_iter().enumerate().filter(|(k, _)| active[*k]) {
        results.push(ct.unwrap_or_else(|| b.zeros_like(args[k])));
    }
    Ok(dce(b.finish(&results)))
}

/// The outputs, then their tangents; takes a tangent for each leaf besides.
fn pushed(closed: &Closed) -> Result<Program, Error> {
    let program = &closed.program;
    let mut b = Builder::new();
    let args = same_inputs(&mut b, program);
    let dots = jvp::tangent_inputs(&mut b, program, &active(closed));
    let (mut outs, dots) = jvp::jvp(&mut b, program, &args, &dots)?;
    for k in 0..dots.len() {
        let dot = dots[k].unwrap_or_else(|| b.zeros_like(outs[k]));
        outs.push(dot);
    }
    Ok(dce(b.finish(&outs)))
}

/// `Jᵀ c`; takes a cotangent for each output besides.
fn pulled(closed: &Closed) -> Result<Program, Error> {
    let program = &closed.program;
    let active = active(closed);
    let mut b = Builder::new();
    let args = same_inputs(&mut b, program);
    let cotangents: Vec<Option<Value>> = program.output_types().into_iter().map(|ty| Some(b.input("", ty))).collect();
    let (_, linear) = linearize(&mut b, program, &args, &active)?;
    let cotangents = linear.pull(&mut b, &cotangents)?;
    let results = cotangents.into_iter().zip(&args).take(closed.leaves);
    let results: Vec<Value> = results.map(|(ct, &arg)| ct.unwrap_or_else(|| b.zeros_like(arg))).collect();
    Ok(dce(b.finish(&results)))
}

/// The Hessian of the first output times a vector: forward over reverse; takes the vector besides.
fn hvp(closed: &Closed) -> Result<Program, Error> {
    let pushed = pushed(&gradient_closed(closed)?)?;
    Ok(pushed.with_outputs(closed.leaves..))
}

/// The gradient of the first output as a function of the same leaves and captures.
fn gradient_closed(closed: &Closed) -> Result<Closed, Error> {
    let program = gradient(closed, Results::Gradient)?;
    Ok(Closed { program, leaves: closed.leaves, captures: closed.captures.clone(), taken: Vec::new() })
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

/// The outputs with the residuals; and, from the residuals and a cotangent for each output, those of the leaves.
fn pullback_programs(closed: &Closed) -> Result<Made, Error> {
    let program = &closed.program;
    let active = active(closed);
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
    Ok(Made::new(primal).with_back(dce(back.finish(&results))))
}

/// The outputs, and the transposed Jacobian at this point.
#[track_caller]
pub(crate) fn pullback(driver: &str, closed: &Closed, leaves: &[Tensor]) -> Result<(Vec<Tensor>, Pulled), Error> {
    let line = Location::caller();
    let operands: Vec<&Tensor> = leaves.iter().chain(&closed.captures).collect();
    let known = derived(&Task::Pullback, closed, numbers_for(&operands, &[])).map_err(|error| error.at(Some(line)))?;
    let mut values = apply_known(driver, &known, &operands, &[])?;
    let outputs = closed.program.output_types();
    let residuals = values.split_off(outputs.len());
    let program = known.made.back.clone().expect("a pullback has two parts");
    Ok((values, Pulled { program, residuals, outputs }))
}

/// `Jᵀ c`.
#[track_caller]
pub(crate) fn pull(driver: &str, pulled: &Pulled, cotangents: &[Tensor]) -> Result<Vec<Tensor>, Error> {
    let operands: Vec<&Tensor> = pulled.residuals.iter().chain(cotangents).collect();
    apply_program(driver, &pulled.program, &operands)
}

/// The Program with the mapped axes, where the operands have them and where the results shall.
fn batched(closed: &Closed, axes: &[Option<usize>], length: usize, places: &[usize]) -> Result<Program, Error> {
    let program = &closed.program;
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
    let place = |b: &mut Builder, (out, batched): (Value, bool), place: usize| {
        let out = if batched { out } else { b.repeat_in_front(out, length) };
        b.move_axis(out, 0, place)
    };
    let outs: Vec<Value> = outs.into_iter().zip(places).map(|(out, &at)| place(&mut b, out, at)).collect();
    Ok(dce(b.finish(&outs)))
}

/// The Jacobian by output and input leaf, row by row: forward if there are at most as many numbers
/// in as out, else backward. A block has the axes of its output, then those of its input.
fn blocks(closed: &Closed) -> Result<Program, Error> {
    let program = &closed.program;
    let active = active(closed);
    let mut b = Builder::new();
    let args = same_inputs(&mut b, program);
    let (outs, linear) = linearize(&mut b, program, &args, &active)?;
    let outputs: Vec<Type> = outs.iter().map(|&out| b.ty(out).clone()).collect();
    let inputs: Vec<Type> = program.input_types()[..closed.leaves].to_vec();
    let size = |types: &[Type]| types.iter().map(Type::size).sum::<usize>();
    let results = if size(&inputs) <= size(&outputs) {
        let known: Vec<Option<Value>> = linear.residuals.iter().map(|&residual| Some(residual)).collect();
        let seeds: Vec<Option<usize>> = places(&linear.inputs[..closed.leaves], known.len());
        forward(&mut b, &linear.program, &known, &seeds, &linear.outputs, &inputs, &outputs)?
    } else {
        let mut back = Builder::new();
        let residuals: Vec<Option<Value>> =
            linear.residuals.iter().map(|&residual| Some(back.input("", b.ty(residual).clone()))).collect();
        let known: Vec<Option<Value>> = linear.residuals.iter().map(|&residual| Some(residual)).collect();
        let args: Vec<Option<Value>> =
            residuals.iter().copied().chain(linear.tangent_types().iter().map(|_| None)).collect();
        let has_tangent = outputs.iter().zip(&linear.outputs).filter(|(_, has)| **has);
        let cotangents: Vec<Option<Value>> = has_tangent.map(|(ty, _)| Some(back.input("", ty.clone()))).collect();
        let pulled = transpose::transpose(&mut back, &linear.program, &args, &cotangents)?;
        let mut reached: Vec<bool> = Vec::new();
        let mut results = Vec::new();
        for ct in &pulled[known.len()..] {
            reached.push(ct.is_some());
            results.extend(ct);
        }
        let transposed = dce(back.finish(&results));
        let seeds = places(&linear.outputs, known.len());
        let mut reached = reached.into_iter();
        let reached: Vec<bool> =
            linear.inputs[..closed.leaves].iter().map(|&active| active && reached.next() == Some(true)).collect();
        backward(&mut b, &transposed, &known, &seeds, &reached, &inputs, &outputs)?
    };
    Ok(dce(b.finish(&results)))
}

/// The number of each marked entry among the inputs of a linear Program, after the known ones.
fn places(marks: &[bool], known: usize) -> Vec<Option<usize>> {
    let mut next = known;
    let place = |&mark: &bool| {
        mark.then(|| {
            next += 1;
            next - 1
        })
    };
    marks.iter().map(place).collect()
}

fn with_linear(known: &[Option<Value>], program: &Program) -> Vec<Option<Value>> {
    let mut args = known.to_vec();
    args.resize(program.input_types().len(), None);
    args
}

/// The blocks from columns: a column per number of an input.
fn forward(
    b: &mut Builder,
    program: &Program,
    known: &[Option<Value>],
    seeds: &[Option<usize>],
    has_tangent: &[bool],
    inputs: &[Type],
    outputs: &[Type],
) -> Result<Vec<Value>, Error> {
    let args = with_linear(known, program);
    let mut blocks = vec![None; inputs.len() * outputs.len()];
    for (j, seed) in seeds.iter().enumerate() {
        let Some(seed) = seed else { continue };
        let mut columns = columns(b, program, &args, *seed, Front::Value)?.into_iter();
        for (i, _) in has_tangent.iter().enumerate().filter(|(_, has)| **has) {
            if let Some(column) = columns.next().flatten() {
                let rank = b.shape(column).len();
                blocks[i * inputs.len() + j] = Some(b.move_axis(column, 0, rank - 1));
            }
        }
    }
    Ok(shaped(b, blocks, inputs, outputs))
}

/// The blocks from rows: a row per number of an output.
fn backward(
    b: &mut Builder,
    program: &Program,
    known: &[Option<Value>],
    seeds: &[Option<usize>],
    reached: &[bool],
    inputs: &[Type],
    outputs: &[Type],
) -> Result<Vec<Value>, Error> {
    let args = with_linear(known, program);
    let mut blocks = vec![None; inputs.len() * outputs.len()];
    for (i, seed) in seeds.iter().enumerate() {
        let Some(seed) = seed else { continue };
        let mut rows = columns(b, program, &args, *seed, Front::Seeds)?.into_iter();
        for (j, _) in reached.iter().enumerate().filter(|(_, reached)| **reached) {
            blocks[i * inputs.len() + j] = rows.next().flatten();
        }
    }
    Ok(shaped(b, blocks, inputs, outputs))
}

/// The blocks with the axes of their output, then those of their input; zeros where there is none.
fn shaped(b: &mut Builder, blocks: Vec<Option<Value>>, inputs: &[Type], outputs: &[Type]) -> Vec<Value> {
    let pairs = outputs.iter().flat_map(|output| inputs.iter().map(move |input| (output, input)));
    let pairs: Vec<(&Type, &Type)> = pairs.collect();
    let shape = |(output, input): (&Type, &Type)| [&output.shape[..], &input.shape[..]].concat();
    let one = |b: &mut Builder, block: Option<Value>, pair: (&Type, &Type)| match block {
        Some(block) => b.reshape(block, &shape(pair)),
        None => b.full(0.0, &pair.0.with_shape(shape(pair))),
    };
    blocks.into_iter().zip(pairs).map(|(block, pair)| one(b, block, pair)).collect()
}
