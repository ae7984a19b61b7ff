//! Sparse derivatives of a Program: products of its linear part with seeds that are compressed by their structure.

use std::cell::RefCell;

use super::jacobian::{CompressedOutput, Compression, Facts, NO_SEED, SeedColours, SeedTable, compressed};
use super::linearize::{Linear, linearize};
use super::{derive, transpose};
use crate::array::{Array, DType, Type};
use crate::error::Error;
use crate::primitives::{Concat, Form, Op};
use crate::program::{Builder, Program, Value, dce, same_inputs};
use crate::task::Task;

/// The colours of the columns, or of the rows, of a matrix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Colours<'a> {
    /// The colour of each column or row.
    pub(crate) of: &'a [u32],
    /// How many are computed in one run.
    pub(crate) count: usize,
}

/// Which products are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// With seeds of columns, forwards.
    Columns,
    /// With seeds of rows, backwards.
    Rows,
}

/// What is wanted of a Program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) side: Side,
    /// Without them, only what needs none.
    pub(crate) colours: Option<Colours<'a>>,
    /// How many layers are carried at most: 0 for colours from the seeds on.
    pub(crate) most: usize,
}

/// A Program that computes the entries of a sparse matrix.
#[derive(Debug)]
pub(crate) struct CompressedProgram {
    /// Takes the inputs of what it was made of, the colours of the run (`f64[count]`) if there are any, and the tables.
    pub(crate) program: Program,
    pub(crate) tables: Vec<Array>,
    /// What stands in the results.
    pub(crate) parts: Vec<CompressedPart>,
}

/// Entries of the rows of an output, or of the columns of an input.
#[derive(Clone, Debug)]
pub(crate) struct CompressedPart {
    /// The number of the first row (of products with columns) or column (with rows) of its output or input.
    pub(crate) first: usize,
    /// How many there are.
    pub(crate) size: usize,
    /// The column or row of each entry of a layer; none for a matrix with a row for each colour.
    pub(crate) layer: Option<SeedTable>,
    /// Which result of the Program it stands in.
    pub(crate) result: usize,
    /// Where the first entry of a layer stands there.
    pub(crate) begin: usize,
    /// How far from each other the entries of a layer are: 0 if all are one number, which the Program gives alone.
    pub(crate) step: usize,
}

impl CompressedPart {
    /// Where the entry of a layer stands that has this number among the rows or columns.
    pub(crate) fn place(&self, number: usize) -> usize {
        self.begin + number * self.step
    }
}

impl CompressedProgram {
    /// How many numbers each result has.
    pub(crate) fn lengths(&self) -> Vec<usize> {
        self.program.outputs().iter().map(|output| self.program.ty(*output).size()).collect()
    }
}

/// The Program for a sparse Jacobian by the first `active` inputs, given the numbers of those inputs that are constants.
/// `None` if it needs colours and there are none.
pub(crate) fn sparse(
    program: &Program,
    active: usize,
    constants: &[Option<Array>],
    wanted: Wanted<'_>,
) -> Result<Option<CompressedProgram>, Error> {
    let mut b = Builder::new();
    let args = same_inputs(&mut b, program);
    let numbers = wanted.colours.map(|colours| b.input("", Type::new(DType::F64, &[colours.count])));
    let facts = RefCell::new(Facts::default());
    for (&arg, constant) in args.iter().zip(constants) {
        if let Some(array) = constant {
            facts.borrow_mut().note(arg, array.clone());
        }
    }
    let is_active: Vec<bool> = (0..args.len()).map(|k| k < active).collect();
    let (outs, linear) = linearize(&mut b, program, &args, &is_active)?;
    let outputs: Vec<Type> = outs.iter().map(|&out| b.ty(out).clone()).collect();
    let colours = wanted.colours.zip(numbers).map(|(colours, numbers)| SeedColours {
        of: colours.of.to_vec(),
        numbers,
        count: colours.count,
    });
    let with = Compression { facts: &facts, colours: colours.as_ref(), most: wanted.most };
    let results = match wanted.side {
        Side::Columns => forward(&mut b, &linear, &program.input_types()[..active], &outputs, with)?,
        Side::Rows => backward(&mut b, &linear, &program.input_types()[..active], &outputs, with)?,
    };
    let Some(results) = results else { return Ok(None) };
    let (values, parts) = results;
    let (tables, arrays): (Vec<Value>, Vec<Array>) = facts.into_inner().into_tables().into_iter().unzip();
    let order: Vec<Value> = args.into_iter().chain(numbers).chain(tables).collect();
    let program = dce(b.with_inputs_in_order(&order).finish(&values));
    Ok(Some(CompressedProgram { program, tables: arrays, parts }))
}

/// The Program of the gradient of the first output by the first `active` inputs.
pub(crate) fn gradient_of(program: &Program, active: usize) -> Result<Program, Error> {
    derive(Task::Gradient, program, active)
}

/// Where the numbers of each leaf begin; only the first element of a pair counts for those that are marked.
fn firsts(types: &[Type]) -> Vec<usize> {
    types.iter().scan(0, |next, ty| Some(std::mem::replace(next, *next + ty.size()))).collect()
}

/// The results, and what stands in them.
type Parts = (Vec<Value>, Vec<CompressedPart>);

/// Products with seeds of the inputs.
fn forward(
    b: &mut Builder,
    linear: &Linear,
    inputs: &[Type],
    outputs: &[Type],
    with: Compression<'_>,
) -> Result<Option<Parts>, Error> {
    let residuals = linear.residuals.len();
    let mut args: Vec<Option<Value>> = linear.residuals.iter().map(|&residual| Some(residual)).collect();
    args.resize(linear.program.input_types().len(), None);
    let seeded = firsts(inputs).into_iter().enumerate().filter(|(k, _)| linear.inputs[*k]);
    let seeds: Vec<Option<usize>> =
        std::iter::repeat_n(None, residuals).chain(seeded.map(|(_, first)| Some(first))).collect();
    let Some(results) = compressed(b, &linear.program, &args, &seeds, with)? else { return Ok(None) };
    let rows = firsts(outputs).into_iter().zip(outputs).zip(&linear.outputs).filter(|(_, has)| **has);
    Ok(Some(parts(b, results, Side::Columns, rows.map(|(place, _)| place))))
}

/// Products with seeds of the outputs.
fn backward(
    b: &mut Builder,
    linear: &Linear,
    inputs: &[Type],
    outputs: &[Type],
    with: Compression<'_>,
) -> Result<Option<Parts>, Error> {
    let mut back = Builder::new();
    let residuals: Vec<Option<Value>> =
        linear.residuals.iter().map(|&residual| Some(back.input("", b.ty(residual).clone()))).collect();
    let args: Vec<Option<Value>> =
        residuals.iter().copied().chain(linear.tangent_types().iter().map(|_| None)).collect();
    let has = |marks: &[bool]| (0..marks.len()).filter(|&k| marks[k]).collect::<Vec<usize>>();
    let seeded = has(&linear.outputs);
    let cotangents: Vec<Option<Value>> = seeded.iter().map(|&k| Some(back.input("", outputs[k].clone()))).collect();
    let pulled = transpose::transpose(&mut back, &linear.program, &args, &cotangents)?;
    let reached: Vec<(usize, Value)> = has(&linear.inputs[..inputs.len()])
        .into_iter()
        .zip(&pulled[linear.residuals.len()..])
        .filter_map(|(k, ct)| Some((k, (*ct)?)))
        .collect();
    let values: Vec<Value> = reached.iter().map(|&(_, ct)| ct).collect();
    let transposed = dce(back.finish(&values));
    let mut args: Vec<Option<Value>> = linear.residuals.iter().map(|&residual| Some(residual)).collect();
    args.resize(transposed.input_types().len(), None);
    let rows = firsts(outputs);
    let seeds: Vec<Option<usize>> =
        std::iter::repeat_n(None, linear.residuals.len()).chain(seeded.iter().map(|&k| Some(rows[k]))).collect();
    let Some(results) = compressed(b, &transposed, &args, &seeds, with)? else { return Ok(None) };
    let columns = firsts(inputs);
    Ok(Some(parts(b, results, Side::Rows, reached.iter().map(|&(k, _)| (columns[k], &inputs[k])))))
}

fn parts<'a>(
    b: &mut Builder,
    outputs: Vec<CompressedOutput>,
    side: Side,
    places: impl Iterator<Item = (usize, &'a Type)>,
) -> Parts {
    let (mut values, mut parts) = (Vec::new(), Vec::new());
    let results: usize = outputs.iter().map(CompressedOutput::count).sum();
    for (output, (first, ty)) in outputs.into_iter().zip(places) {
        let size = ty.size();
        let part = |layer: Option<SeedTable>, result: usize, [begin, step]: [usize; 2]| CompressedPart {
            first,
            size,
            layer,
            result,
            begin,
            step,
        };
        match output {
            CompressedOutput::Zero => {}
            CompressedOutput::Layers(layers) => {
                let ones: Vec<Option<Value>> =
                    layers.iter().map(|&(_, value)| if size > 1 { uniform(b, value, 0) } else { None }).collect();
                // A result and a place in it have to be one number of 32 bits.
                let fits = size.saturating_mul(layers.len()).saturating_mul(results) < 1 << 30;
                if side == Side::Columns && fits && ones.iter().all(Option::is_none) && are_rows(&layers, size) {
                    let (tables, columns): (Vec<SeedTable>, Vec<Value>) = layers.into_iter().unzip();
                    let [result, count] = [values.len(), tables.len()];
                    values.push(beside(b, &columns, ty));
                    parts.extend(tables.into_iter().zip(0..).map(|(table, k)| part(Some(table), result, [k, count])));
                    continue;
                }
                for ((table, value), one) in layers.into_iter().zip(ones) {
                    parts.push(part(Some(table), values.len(), [0, usize::from(one.is_none())]));
                    values.push(one.unwrap_or(value));
                }
            }
            CompressedOutput::Colours(value) => {
                parts.push(part(None, values.len(), [0, 1]));
                values.push(value);
            }
        }
    }
    (values, parts)
}

/// Whether each number has a seed of every layer, in ascending order: then rows of them are rows of the matrix.
fn are_rows(layers: &[(SeedTable, Value)], size: usize) -> bool {
    let [(first, _), others @ ..] = layers else { return false };
    if others.is_empty() {
        return false;
    }
    let (mut before, mut here) = (vec![NO_SEED; size], vec![NO_SEED; size]);
    first.seeds(0..size, &mut before);
    for (table, _) in others {
        table.seeds(0..size, &mut here);
        if before.iter().zip(&here).any(|(before, here)| before >= here) {
            return false;
        }
        std::mem::swap(&mut before, &mut here);
    }
    !before.contains(&NO_SEED)
}

/// Values of one type along a new last axis.
fn beside(b: &mut Builder, columns: &[Value], ty: &Type) -> Value {
    let wide = [&ty.shape[..], &[1]].concat();
    let columns: Vec<Value> = columns.iter().map(|&column| b.reshape(column, &wide)).collect();
    b.op(Concat { axis: ty.rank() }, &columns)
}

/// How far the definition of a value is followed for the number that all its elements are.
const DEEPEST: usize = 16;

/// The number that all elements of a value are, if its definition says that they are one.
fn uniform(b: &mut Builder, value: Value, depth: usize) -> Option<Value> {
    if b.ty(value).rank() == 0 {
        return Some(value);
    }
    let (op, args) = b.defined_by(value).filter(|_| depth < DEEPEST)?;
    let (op, args) = (op.clone(), args.to_vec());
    match op {
        Op::Broadcast(_) | Op::Reshape(_) | Op::Permute(_) | Op::Reverse(_) | Op::Slice(_) => {
            uniform(b, args[0], depth + 1)
        }
        op if b.form(&op, &args) == Form::Elementwise => {
            let args: Option<Vec<Value>> = args.iter().map(|&arg| uniform(b, arg, depth + 1)).collect();
            Some(b.op(op, &args?))
        }
        _ => None,
    }
}
