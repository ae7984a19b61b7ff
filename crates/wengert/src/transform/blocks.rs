//! The Jacobian of a Program by output and input leaf.

use super::derive::active;
use super::jacobian::{Front, columns};
use super::linearize::linearize;
use super::transpose;
use crate::array::Type;
use crate::error::Error;
use crate::program::{Builder, Program, Value, dce, same_inputs};
use crate::task::Gives;

/// The Jacobian by output and input leaf, row by row, of the outputs from number `first` on: forward if there are at most as
/// many numbers in as out, else backward. A block has the axes of its output, then those of its input. All outputs stand
/// before the blocks if they are asked for.
pub(super) fn blocks(program: &Program, leaves: usize, first: usize, gives: Gives) -> Result<Program, Error> {
    let active = active(program, leaves);
    let mut b = Builder::new();
    let args = same_inputs(&mut b, program);
    let (outs, linear) = linearize(&mut b, program, &args, &active)?;
    let linear = linear.without_outputs_before(first);
    let outputs: Vec<Type> = outs[first..].iter().map(|&out| b.ty(out).clone()).collect();
    let inputs: Vec<Type> = program.input_types()[..leaves].to_vec();
    let size = |types: &[Type]| types.iter().map(Type::size).sum::<usize>();
    let results = if size(&inputs) <= size(&outputs) {
        let known: Vec<Option<Value>> = linear.residuals.iter().map(|&residual| Some(residual)).collect();
        let seeds: Vec<Option<usize>> = places(&linear.inputs[..leaves], known.len());
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
            linear.inputs[..leaves].iter().map(|&active| active && reached.next() == Some(true)).collect();
        backward(&mut b, &transposed, &known, &seeds, &reached, &inputs, &outputs)?
    };
    let values = if gives == Gives::LowerOrdersToo { outs } else { Vec::new() };
    Ok(dce(b.finish(&[values, results].concat())))
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
