//! All columns of a linear Program at once, from structural seeds.
//!
//! The identity that a Jacobian starts from is never made: as long as a tangent is diagonal (each
//! of its numbers depends on the one seed at the same place), or a few diagonals beside each other (`bands.rs`), only these
//! are carried. They meet elementwise factors as vectors, a contraction as one factor of a product without a sum, and
//! become a full matrix by moving numbers, where an operation asks for one.
//!
//! A function that takes its input apart, number by number, is followed along each seed by itself: a number depends on
//! few seeds, and along the others its tangent does not exist, so that nothing is computed for it and `0 * inf` does
//! not arise. This is how a compiler of scalar code would differentiate it, and what the planner's lanes are made for.

mod bands;
mod layers;
mod places;
mod terms;

use crate::array::{Type, row_major};
use crate::error::{Error, ErrorKind};
use crate::ops::Binary;
use crate::primitives::{Concat, Op, Pad, Slice};
use crate::program::{Builder, Eqn, Program, Value};
use bands::Band;
pub(crate) use bands::Front;
use layers::Layer;
pub(crate) use layers::{Compression, Facts, SeedColours};
pub(crate) use places::{NO_SEED, SeedTable};
use terms::Term;

/// How a value depends on the seeds.
#[derive(Clone, Debug)]
enum Seeded {
    /// It is known: not linear in anything.
    Known(Value),
    /// Not at all.
    Zero,
    /// On one seed for each of its numbers, at each of these distances, which differ.
    Bands(Vec<Band>),
    /// On one seed for each of its numbers in each of these tables, which differ.
    Layers(Vec<Layer>),
    /// Along these seeds, increasing, a value of its own type each, all ones if there is none; along the others it does
    /// not depend on anything.
    Apart(Vec<(usize, Option<Value>)>),
    /// With an axis of seeds in front, or of their colours.
    Dense(Value),
}

/// What is known of an output of a linear Program.
#[derive(Clone, Debug)]
pub(crate) enum CompressedOutput {
    /// It does not depend on any seed.
    Zero,
    /// The seed of each number and its factors, once for each seed that a number may depend on.
    Layers(Vec<(SeedTable, Value)>),
    /// A row for each colour of the run.
    Colours(Value),
}

impl CompressedOutput {
    /// How many values it has.
    pub(crate) fn count(&self) -> usize {
        match self {
            CompressedOutput::Zero => 0,
            CompressedOutput::Layers(layers) => layers.len(),
            CompressedOutput::Colours(_) => 1,
        }
    }
}

/// How many seeds are followed one by one at most.
const MAX_APART: usize = 64;
/// The elements of a value that is followed along single seeds: with more, one equation for all seeds is better.
const MAX_APART_SIZE: usize = 256;
/// How many equations following single seeds may make.
const MAX_EQUATIONS: usize = 1 << 14;

/// Appends the columns of a linear Program for the input with this number: every output with one
/// more axis in front, along which that input's numbers run. `None` is structurally zero. The
/// inputs without a value in `args` are the linear ones. What is made of bands lies in memory with
/// the axes in front that `front` says.
pub(crate) fn columns(
    b: &mut Builder,
    program: &Program,
    args: &[Option<Value>],
    input: usize,
    front: Front,
) -> Result<Vec<Option<Value>>, Error> {
    let seeds = Seeds { length: program.types[input].size(), front, map: SeedMap::Places };
    let mut values: Vec<Seeded> = args.iter().map(|arg| arg.map_or(Seeded::Zero, Seeded::Known)).collect();
    values[input] = Seeded::Bands(vec![Band::DIAGONAL]);
    let values = walk(b, program, values, seeds)?.expect("every operation takes full matrices");
    let dense = |b: &mut Builder, output: &Value| match &values[output.index()] {
        Seeded::Known(_) | Seeded::Zero => None,
        Seeded::Bands(_) | Seeded::Layers(_) | Seeded::Apart(_) | Seeded::Dense(_) => {
            Some(densify(b, program, *output, &values[output.index()], seeds))
        }
    };
    Ok(program.outputs.iter().map(|output| dense(b, output)).collect())
}

/// Appends the products of a linear Program with the seeds of all its inputs that have a first seed in `firsts`, in as
/// few numbers as their structure allows; the inputs without a value in `args` are the linear ones. `None` if colours are
/// needed, and there are none.
pub(crate) fn compressed(
    b: &mut Builder,
    program: &Program,
    args: &[Option<Value>],
    firsts: &[Option<usize>],
    with: Compression<'_>,
) -> Result<Option<Vec<CompressedOutput>>, Error> {
    let length = with.colours.map_or(0, |colours| colours.count);
    let seeds = Seeds { length, front: Front::Seeds, map: SeedMap::Compressed(with) };
    let mut values: Vec<Seeded> = args.iter().map(|arg| arg.map_or(Seeded::Zero, Seeded::Known)).collect();
    for (input, first) in firsts.iter().enumerate() {
        if let Some(first) = *first {
            let place = SeedTable::in_order(first, &program.types[input].shape);
            values[input] = match program.types[input].size() {
                0 => Seeded::Zero,
                _ => Seeded::Layers(vec![Term { place, scale: None }]),
            };
        }
    }
    let Some(values) = walk(b, program, values, seeds)? else { return Ok(None) };
    let output = |b: &mut Builder, output: &Value| match &values[output.index()] {
        // Colours from the seeds on.
        layers @ Seeded::Layers(_) if with.most == 0 => {
            CompressedOutput::Colours(densify(b, program, *output, layers, seeds))
        }
        Seeded::Layers(layers) => {
            let ty = program.ty(*output);
            let met = layers::met(b, layers, ty);
            let layers = met.as_ref().unwrap_or(layers);
            let one = |layer: &Layer| (layer.place.clone(), terms::numbers(b, layer.scale, ty));
            CompressedOutput::Layers(layers.iter().map(one).collect())
        }
        Seeded::Dense(value) => CompressedOutput::Colours(*value),
        Seeded::Known(_) | Seeded::Zero | Seeded::Bands(_) | Seeded::Apart(_) => CompressedOutput::Zero,
    };
    Ok(Some(program.outputs.iter().map(|value| output(b, value)).collect()))
}

/// Appends the equations of a linear Program; gives all its values. `None` if colours are needed, and there are none.
fn walk(
    b: &mut Builder,
    program: &Program,
    mut values: Vec<Seeded>,
    seeds: Seeds<'_>,
) -> Result<Option<Vec<Seeded>>, Error> {
    let line = b.line;
    let limit = b.eqns().len() + MAX_EQUATIONS;
    for eqn in &program.eqns {
        b.line = eqn.line.or(line);
        let operands: Vec<Seeded> = eqn.args.iter().map(|arg| values[arg.index()].clone()).collect();
        if b.eqns().len() < limit
            && let Some(results) = push_apart(b, program, eqn, &operands, seeds.length)
        {
            values.extend(results);
            continue;
        }
        let Some(results) = push(b, program, eqn, &operands, seeds)? else { return Ok(None) };
        values.extend(results);
    }
    b.line = line;
    Ok(Some(values))
}

/// The seeds, and how a matrix with an axis of them is to lie in memory where there is a choice.
#[derive(Clone, Copy, Debug)]
struct Seeds<'a> {
    /// How many rows a matrix has.
    length: usize,
    front: Front,
    map: SeedMap<'a>,
}

/// The row of a matrix that belongs to a seed.
#[derive(Clone, Copy, Debug)]
enum SeedMap<'a> {
    /// Each has its own, in order.
    Places,
    /// That of its colour, which it shares with others.
    Compressed(Compression<'a>),
}

fn push(
    b: &mut Builder,
    program: &Program,
    eqn: &Eqn,
    operands: &[Seeded],
    seeds: Seeds<'_>,
) -> Result<Option<Vec<Seeded>>, Error> {
    let known: Option<Vec<Value>> =
        operands.iter().map(|operand| if let Seeded::Known(value) = operand { Some(*value) } else { None }).collect();
    if let Some(args) = known {
        return Ok(Some(b.ops(eqn.op.clone(), &args).into_iter().map(Seeded::Known).collect()));
    }
    if operands.iter().all(|operand| matches!(operand, Seeded::Known(_) | Seeded::Zero)) {
        return Ok(Some(eqn.outs().map(|_| Seeded::Zero).collect()));
    }
    if let SeedMap::Compressed(with) = seeds.map {
        if let Some(result) = layers::push(b, program, eqn, operands, with) {
            return Ok(Some(vec![result]));
        }
        if matches!(eqn.op, Op::Call(_)) {
            return expanded(b, eqn, operands, seeds);
        }
        if with.colours.is_none() {
            return Ok(None);
        }
    }
    if let Some(bands) = bands::push(b, program, eqn, operands, seeds.length) {
        return Ok(Some(vec![Seeded::Bands(bands)]));
    }
    if let Some(result) = contracted(b, program, eqn, operands, seeds.length) {
        return Ok(Some(vec![Seeded::Dense(result)]));
    }
    // Everything else takes full matrices.
    let (mut args, mut batched) = (Vec::new(), Vec::new());
    for (arg, operand) in eqn.args.iter().zip(operands) {
        let (value, has_axis) = match operand {
            Seeded::Known(value) => (*value, false),
            Seeded::Zero => (b.full(0.0, program.ty(*arg)), false),
            dense => (densify(b, program, *arg, dense, seeds), true),
        };
        args.push(value);
        batched.push(has_axis);
    }
    let outs = eqn.op.batch(b, &args, &batched, seeds.length).map_err(|why| {
        let error = Error::new(ErrorKind::Unsupported, &eqn.op.name(), why.0);
        error.of(args.iter().map(|&arg| b.ty(arg))).at(b.line)
    })?;
    let seeded = outs.into_iter().map(|(out, has_axis)| match has_axis {
        true => Seeded::Dense(out),
        false => Seeded::Dense(b.repeat_in_front(out, seeds.length)),
    });
    Ok(Some(seeded.collect()))
}

/// The results of an operation whose equations take its place.
fn expanded(b: &mut Builder, eqn: &Eqn, operands: &[Seeded], seeds: Seeds<'_>) -> Result<Option<Vec<Seeded>>, Error> {
    let inside = eqn.op.expansion();
    let Some(values) = walk(b, &inside, operands.to_vec(), seeds)? else { return Ok(None) };
    Ok(Some(inside.outputs.iter().map(|output| values[output.index()].clone()).collect()))
}

/// The result of a contraction of a diagonal with what is known.
fn contracted(b: &mut Builder, program: &Program, eqn: &Eqn, operands: &[Seeded], length: usize) -> Option<Value> {
    use Seeded::{Bands, Known};
    let Op::Einsum(einsum) = &eqn.op else { return None };
    let (bands, other, place) = match operands {
        [Bands(bands), Known(other)] => (bands, other, 0),
        [Known(other), Bands(bands)] => (bands, other, 1),
        _ => return None,
    };
    let &[Term { place: 0, scale }] = &bands[..] else { return None };
    if program.ty(eqn.args[place]).size() != length {
        return None;
    }
    let own = [einsum.lhs(), einsum.rhs()];
    Some(contract(b, (own[place], own[1 - place], einsum.out()), scale, *other, program, eqn, place))
}

/// The results along each seed, if what the operands depend on is known seed by seed. A single number of bands depends on
/// one seed for each of them: there this begins.
fn push_apart(
    b: &mut Builder,
    program: &Program,
    eqn: &Eqn,
    operands: &[Seeded],
    length: usize,
) -> Option<Vec<Seeded>> {
    if let (Op::Slice(slice), [Seeded::Bands(bands)]) = (&eqn.op, operands) {
        if program.ty(eqn.first).size() != 1 || length > MAX_APART {
            return None;
        }
        let strides = row_major(&program.ty(eqn.args[0]).shape);
        let number = slice.start.iter().zip(strides).map(|(start, stride)| start * stride).sum();
        // Bands are in the order of their distances, and so are the seeds.
        let reached = bands.iter().filter_map(|band| Some((band.seed(number, length)?, band.scale)));
        let along = reached.map(|(seed, scale)| (seed, scale.map(|scale| b.op(slice.clone(), &[scale]))));
        let along: Vec<_> = along.collect();
        return Some(vec![if along.is_empty() { Seeded::Zero } else { Seeded::Apart(along) }]);
    }
    let mut seeds: Vec<usize> = Vec::new();
    for operand in operands {
        match operand {
            Seeded::Apart(parts) => seeds.extend(parts.iter().map(|&(seed, _)| seed)),
            Seeded::Known(_) | Seeded::Zero => {}
            Seeded::Bands(_) | Seeded::Layers(_) | Seeded::Dense(_) => return None,
        }
    }
    seeds.sort_unstable();
    seeds.dedup();
    if seeds.is_empty() || eqn.outs().any(|out| program.ty(out).size() > MAX_APART_SIZE) {
        return None;
    }
    let mut results: Vec<Vec<(usize, Option<Value>)>> = vec![Vec::new(); eqn.results as usize];
    for seed in seeds {
        let along = |operand: &Seeded| match operand {
            Seeded::Known(value) => Along::Known(*value),
            Seeded::Apart(parts) => match parts.iter().find(|(own, _)| *own == seed) {
                Some((_, Some(value))) => Along::Value(*value),
                Some((_, None)) => Along::Ones,
                None => Along::Zero,
            },
            _ => Along::Zero,
        };
        let operands: Vec<Along> = operands.iter().map(along).collect();
        for (result, value) in results.iter_mut().zip(one_seed(b, program, eqn, &operands)) {
            result.push((seed, value));
        }
    }
    Some(results.into_iter().map(Seeded::Apart).collect())
}

/// An operand along one seed.
#[derive(Clone, Copy)]
enum Along {
    Known(Value),
    Value(Value),
    Ones,
    Zero,
}

/// The results of an equation along one seed, on which an operand at least depends; `None` for ones.
fn one_seed(b: &mut Builder, program: &Program, eqn: &Eqn, operands: &[Along]) -> Vec<Option<Value>> {
    use Along::{Known, Ones, Zero};
    let made = |b: &mut Builder, k: usize| match operands[k] {
        Known(value) | Along::Value(value) => value,
        Ones => b.full(1.0, program.ty(eqn.args[k])),
        Zero => b.full(0.0, program.ty(eqn.args[k])),
    };
    match (&eqn.op, operands) {
        (Op::Binary(Binary::Mul), [Known(factor), Ones] | [Ones, Known(factor)]) => return vec![Some(*factor)],
        (Op::Binary(Binary::Add), [Along::Value(x), Zero] | [Zero, Along::Value(x)])
        | (Op::Binary(Binary::Sub), [Along::Value(x), Zero]) => return vec![Some(*x)],
        (Op::Binary(Binary::Add), [Ones, Zero] | [Zero, Ones]) | (Op::Binary(Binary::Sub), [Ones, Zero]) => {
            return vec![None];
        }
        (Op::Binary(Binary::Sub), [Zero, _]) => {
            let y = made(b, 1);
            return vec![Some(b.neg(y))];
        }
        (
            Op::Reshape(_) | Op::Slice(_) | Op::Permute(_) | Op::Broadcast(_) | Op::Reverse(_) | Op::Convert(_),
            [Ones],
        ) => {
            return vec![None];
        }
        _ => {}
    }
    let args: Vec<Value> = (0..operands.len()).map(|k| made(b, k)).collect();
    b.ops(eqn.op.clone(), &args).into_iter().map(Some).collect()
}

/// `einsum` of a diagonal with a known operand: the diagonal's own labels run along the axis of
/// seeds, those that stay in the result once more, where only equal indices count.
fn contract(
    b: &mut Builder,
    (own, other, out): (&[u8], &[u8], &[u8]),
    scale: Option<Value>,
    factor: Value,
    program: &Program,
    eqn: &Eqn,
    place: usize,
) -> Value {
    let own_ty = program.ty(eqn.args[place]).clone();
    let out_shape = program.ty(eqn.first).shape.clone();
    // The product without a sum over the seeds' labels: own labels, then those only in the result.
    let rest: Vec<u8> = out.iter().copied().filter(|label| !own.contains(label)).collect();
    let labels: Vec<u8> = own.iter().chain(&rest).copied().collect();
    let scale = scale.unwrap_or_else(|| b.full(1.0, &own_ty));
    let factor_only: Vec<usize> = (0..other.len()).filter(|&k| !labels.contains(&other[k])).collect();
    let factor = b.sum(factor, &factor_only);
    let other: Vec<u8> = other.iter().copied().filter(|label| labels.contains(label)).collect();
    let length_of = |label: u8| match own.iter().position(|&own| own == label) {
        Some(k) => own_ty.shape[k],
        None => out_shape[out.iter().position(|&out| out == label).expect("it is in the result")],
    };
    let shape: Vec<usize> = labels.iter().map(|&label| length_of(label)).collect();
    let spread = |b: &mut Builder, x: Value, own: &[u8]| {
        let mut order: Vec<usize> = (0..own.len()).collect();
        let place = |label: u8| labels.iter().position(|&other| other == label).expect("a label of the product");
        order.sort_by_key(|&k| place(own[k]));
        let x = b.permute(x, &order);
        let kept: Vec<usize> = order.iter().map(|&k| place(own[k])).collect();
        let new: Vec<usize> = (0..labels.len()).filter(|axis| !kept.contains(axis)).collect();
        b.spread(x, &shape, &new)
    };
    let (scale, factor) = (spread(b, scale, own), spread(b, factor, &other));
    let mut product = b.mul(scale, factor);
    // Labels that stay: a second axis for each.
    let mut axes: Vec<u8> = rest.clone();
    for (axis, label) in own.iter().enumerate().filter(|(_, label)| out.contains(label)) {
        product = embed_diagonal(b, product, axis);
        axes.push(*label);
    }
    let order: Vec<usize> = out
        .iter()
        .map(|label| own.len() + axes.iter().position(|axis| axis == label).expect("every label of the result"))
        .collect();
    let order: Vec<usize> = (0..own.len()).chain(order).collect();
    let product = b.permute(product, &order);
    let seeds = [own_ty.size()];
    b.reshape(product, &[&seeds[..], &out_shape[..]].concat())
}

/// The value with its axis of seeds.
fn densify(b: &mut Builder, program: &Program, value: Value, seeded: &Seeded, seeds: Seeds<'_>) -> Value {
    let Seeds { length, front, map } = seeds;
    match seeded {
        Seeded::Dense(dense) => *dense,
        Seeded::Known(_) | Seeded::Zero => {
            let zero = b.full(0.0, program.ty(value));
            b.repeat_in_front(zero, length)
        }
        Seeded::Apart(parts) => joined(b, program.ty(value), parts, length),
        Seeded::Layers(layers) => match map {
            SeedMap::Compressed(Compression { facts, colours: Some(colours), .. }) => {
                layers::compressed(b, layers, program.ty(value), colours, facts)
            }
            SeedMap::Compressed(_) | SeedMap::Places => unreachable!("layers are compressed, by colours"),
        },
        Seeded::Bands(bands) => {
            let ty = program.ty(value);
            match bands[..] {
                [Term { place: 0, scale }] if ty.size() == length => diagonal(b, scale, ty),
                _ => bands::matrix(b, bands, ty, length, front),
            }
        }
    }
}

/// The matrix of a diagonal, which is the same across it.
fn diagonal(b: &mut Builder, scale: Option<Value>, ty: &Type) -> Value {
    let scale = scale.unwrap_or_else(|| b.full(1.0, ty));
    let flat = b.reshape(scale, &[ty.size()]);
    let square = embed_diagonal(b, flat, 0);
    b.reshape(square, &[&[ty.size()], &ty.shape[..]].concat())
}

/// The values along single seeds one after the other, zeros along all others.
fn joined(b: &mut Builder, ty: &Type, parts: &[(usize, Option<Value>)], length: usize) -> Value {
    let mut rows = Vec::new();
    let mut next = 0;
    let zeros = |b: &mut Builder, count: usize| b.full(0.0, &ty.with_shape([&[count], &ty.shape[..]].concat()));
    for &(seed, value) in parts {
        if seed > next {
            rows.push(zeros(b, seed - next));
        }
        let value = value.unwrap_or_else(|| b.full(1.0, ty));
        rows.push(b.reshape(value, &[&[1], &ty.shape[..]].concat()));
        next = seed + 1;
    }
    if length > next {
        rows.push(zeros(b, length - next));
    }
    if rows.len() == 1 { rows[0] } else { b.op(Concat { axis: 0 }, &rows) }
}

/// One more axis at the end, as long as `axis`; the numbers stand where the two indices are equal,
/// and zeros elsewhere. It moves numbers and multiplies none.
fn embed_diagonal(b: &mut Builder, x: Value, axis: usize) -> Value {
    let shape = b.shape(x).to_vec();
    let (rank, n) = (shape.len(), shape[axis]);
    let x = b.move_axis(x, axis, rank - 1);
    let outer: Vec<usize> = shape.iter().enumerate().filter(|(k, _)| *k != axis).map(|(_, &length)| length).collect();
    let with = |last: &[usize]| [&outer[..], last].concat();
    // Rows of n + 1 numbers, one after the other, hold the k-th number at k (n + 1) = k n + k.
    let column = b.reshape(x, &with(&[n, 1]));
    let ty = b.ty(column).clone();
    let zero = b.full(0.0, &ty.with_shape(Vec::new()));
    let mut high = vec![0; rank + 1];
    high[rank] = n as i64;
    let padded = b.op(Pad::new(&vec![0; rank + 1], &high), &[column, zero]);
    let flat = b.reshape(padded, &with(&[n * (n + 1)]));
    let flat_shape = b.shape(flat).to_vec();
    let cut = b.op(Slice::along(&flat_shape, rank - 1, 0, n * n), &[flat]);
    let square = b.reshape(cut, &with(&[n, n]));
    b.move_axis(square, rank - 1, axis)
}
