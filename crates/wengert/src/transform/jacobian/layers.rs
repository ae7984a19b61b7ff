//! Layers: what depends on one seed for each of its numbers, by a table that says which.
//!
//! Everything that moves numbers moves the table with them, as indices: slices, gathers, permutations, whatever the
//! operation. So a tangent stays as many vectors as a row of its matrix has entries, at most, until an operation mixes
//! numbers along a long axis; and where it does not, the layers of an output are the entries of a sparse matrix. A part that
//! is mapped over observations, which it picks by indices, has the entries of one block as layers, and the observations
//! as lanes. The index tables are found while the Program is transformed, and are no part of it.
//!
//! Where an operation takes something else, layers become a compressed matrix: a row for each colour of seeds, into which
//! each seed writes that has this colour (Curtis, Powell and Reid, 1974; Griewank and Walther, *Evaluating Derivatives*,
//! 2008, chapter 8).

use std::cell::RefCell;
use std::collections::HashMap;

use super::terms::{Place, Term, TermOperand, elementwise, numbers};
use super::{Seeded, places::SeedTable};
use crate::array::{Array, DType, Type, for_each_index};
use crate::ops::{Binary, Compare};
use crate::primitives::{Broadcast, Concat, Op, Permute, Reducer, Reshape, Slice, Write};
use crate::program::{Builder, Eqn, Program, Value};

pub(super) type Layer = Term<SeedTable>;

impl Place for SeedTable {
    fn arrange(places: &mut Vec<SeedTable>) {
        let mut seen: Vec<SeedTable> = Vec::with_capacity(places.len());
        for place in places.drain(..) {
            if !seen.contains(&place) {
                seen.push(place);
            }
        }
        *places = seen;
    }
}

/// How seeds are compressed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Compression<'a> {
    pub(crate) facts: &'a RefCell<Facts>,
    /// The colours; without them only layers can be carried.
    pub(crate) colours: Option<&'a SeedColours>,
    /// How many layers are carried at most.
    pub(crate) most: usize,
}

/// The colours of seeds, some of which are computed at a time.
#[derive(Clone, Debug)]
pub(crate) struct SeedColours {
    /// The colour of each seed.
    pub(crate) of: Vec<u32>,
    /// The colours of one run: `f64[count]`.
    pub(crate) numbers: Value,
    /// How many there are in one run.
    pub(crate) count: usize,
}

/// What is known while a Program is made: the numbers of constants, and tables that become its inputs.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    constants: HashMap<Value, Option<Array>>,
    tables: Vec<(Value, Array)>,
}

/// How deep a constant is followed to what it is computed from.
const MAX_DEPTH: usize = 64;

impl Facts {
    /// Notes the numbers of an input.
    pub(crate) fn note(&mut self, input: Value, array: Array) {
        self.constants.insert(input, Some(array));
    }

    /// The numbers of a value that is computed from constants alone.
    fn constant(&mut self, b: &Builder, value: Value, depth: usize) -> Option<Array> {
        if let Some(known) = self.constants.get(&value) {
            return known.clone();
        }
        let eqn = b.definition(value).filter(|_| depth < MAX_DEPTH)?;
        let args: Option<Vec<Array>> = eqn.args.iter().map(|&arg| self.constant(b, arg, depth + 1)).collect();
        let results = args.and_then(|args| eqn.op.primitive().eval(&args.iter().collect::<Vec<_>>()).ok());
        for (k, out) in eqn.outs().enumerate() {
            self.constants.insert(out, results.as_ref().map(|results| results[k].clone()));
        }
        self.constants[&value].clone()
    }

    /// An input for a table.
    fn table(&mut self, b: &mut Builder, table: Array) -> Value {
        if let Some((value, _)) = self.tables.iter().find(|(_, its)| its.same_bits(&table)) {
            return *value;
        }
        let value = b.input("", table.ty().clone());
        self.tables.push((value, table));
        value
    }

    /// The inputs that tables became, with their numbers.
    pub(crate) fn into_tables(self) -> Vec<(Value, Array)> {
        self.tables
    }
}

/// The result of an equation some of whose operands are layers, if it is layers too.
pub(super) fn push(
    b: &mut Builder,
    program: &Program,
    eqn: &Eqn,
    operands: &[Seeded],
    with: Compression<'_>,
) -> Option<Seeded> {
    let ty = program.ty(eqn.first);
    let sides = sides(operands)?;
    let layers = match elementwise(b, &eqn.op, &sides, ty) {
        Some(layers) => layers,
        None => moved(b, program, eqn, &sides, with)?,
    };
    let layers = distinct(b, layers, ty)?;
    match layers.len() {
        0 => Some(Seeded::Zero),
        count if count <= with.most => Some(Seeded::Layers(layers)),
        _ => None,
    }
}

/// Layers without empty ones and with those added up that have become the same: a slice may leave of two tables what they
/// have in common.
fn distinct(b: &mut Builder, layers: Vec<Layer>, ty: &Type) -> Option<Vec<Layer>> {
    let layers: Vec<Layer> = layers.into_iter().filter(|layer| !layer.place.is_empty()).collect();
    let is_met = |k: usize| layers[..k].iter().any(|before| before.place == layers[k].place);
    if !(0..layers.len()).any(is_met) {
        return Some(layers);
    }
    layers.into_iter().try_fold(Vec::new(), |sum, layer| added(b, sum, vec![layer], ty))
}

/// The operands, with tables that can be compared.
fn sides(operands: &[Seeded]) -> Option<Vec<TermOperand<SeedTable>>> {
    let tables = |operand: &Seeded| matches!(operand, Seeded::Layers(layers) if layers.iter().any(|layer| layer.place.is_listed()));
    let listed = operands.iter().any(tables);
    let side = |operand: &Seeded| match operand {
        Seeded::Layers(layers) if listed => Some(TermOperand::Terms(
            layers.iter().map(|layer| Term { place: layer.place.as_listed(), scale: layer.scale }).collect(),
        )),
        Seeded::Layers(layers) => Some(TermOperand::Terms(layers.clone())),
        Seeded::Known(value) => Some(TermOperand::Known(*value)),
        Seeded::Zero => Some(TermOperand::Zero),
        Seeded::Bands(_) | Seeded::Apart(_) | Seeded::Dense(_) => None,
    };
    operands.iter().map(side).collect()
}

/// The layers of a result of an operation that moves numbers, or adds a few of them.
fn moved(
    b: &mut Builder,
    program: &Program,
    eqn: &Eqn,
    operands: &[TermOperand<SeedTable>],
    with: Compression<'_>,
) -> Option<Vec<Layer>> {
    use TermOperand::{Known, Terms, Zero};
    let ty = program.ty(eqn.first);
    let own = program.ty(eqn.args[0]);
    match (&eqn.op, operands) {
        (
            Op::Slice(_) | Op::Permute(_) | Op::Reshape(_) | Op::Broadcast(_) | Op::Reverse(_) | Op::Roll(_),
            [Terms(layers)],
        ) => each(layers, |layer| {
            let scale = layer.scale.map(|scale| b.op(eqn.op.clone(), &[scale]));
            Some(Term { place: layer.place.moved(&eqn.op, &[], ty)?, scale })
        }),
        (Op::Pad(pad), [Terms(layers), fill]) => {
            if matches!(fill, Known(fill) if !b.is_zero(*fill)) || matches!(fill, Terms(_)) {
                return None;
            }
            // Factors that are all 1 stay so: there is no seed where numbers are filled in.
            let zero = b.full(0.0, &own.with_shape(Vec::new()));
            each(layers, |layer| {
                let scale = layer.scale.map(|scale| b.op(pad.clone(), &[scale, zero]));
                Some(Term { place: layer.place.moved(&eqn.op, &[&Array::scalar(0i64)], ty)?, scale })
            })
        }
        // At indices that are constants.
        (Op::Gather(_) | Op::DynamicSlice(_), [Terms(layers), indices @ ..]) => {
            let args: Option<Vec<Value>> =
                indices.iter().map(|index| if let Known(value) = index { Some(*value) } else { None }).collect();
            let args = args?;
            let constants: Option<Vec<Array>> =
                args.iter().map(|&index| with.facts.borrow_mut().constant(b, index, 0)).collect();
            let constants = constants?;
            let constants: Vec<&Array> = constants.iter().collect();
            each(layers, |layer| {
                let scale = numbers(b, layer.scale, own);
                let scale = Some(b.op(eqn.op.clone(), &[&[scale], &args[..]].concat()));
                Some(Term { place: layer.place.moved(&eqn.op, &constants, ty)?, scale })
            })
        }
        (Op::Concat(_), parts) => joined(b, program, eqn, parts),
        (Op::Update(update), parts @ [_, _]) if update.write == Write::Set => joined(b, program, eqn, parts),
        (Op::Update(update), [base, Terms(_)]) => {
            let mut set = update.clone();
            set.write = Write::Set;
            let set = Eqn { op: set.into(), ..eqn.clone() };
            let written = joined(b, program, &set, &[Zero, operands[1].clone()])?;
            elementwise(b, &Binary::Add.into(), &[base.clone(), Terms(written)], ty)
        }
        (Op::Reduce(reduce), [Terms(layers)]) if reduce.reducer == Reducer::Sum => {
            summed(b, layers.clone(), own, &reduce.axes, with.most)
        }
        (Op::Einsum(einsum), [Terms(layers), Known(other)]) => {
            contracted(b, layers, *other, program, eqn, [einsum.lhs(), einsum.rhs(), einsum.out()], with)
        }
        (Op::Einsum(einsum), [Known(other), Terms(layers)]) => {
            contracted(b, layers, *other, program, eqn, [einsum.rhs(), einsum.lhs(), einsum.out()], with)
        }
        _ => None,
    }
}

fn each(layers: &[Layer], mut f: impl FnMut(&Layer) -> Option<Layer>) -> Option<Vec<Layer>> {
    layers.iter().map(&mut f).collect()
}

/// Operands that are put together into one value: the first layers of all, the second ones, and so on.
fn joined(b: &mut Builder, program: &Program, eqn: &Eqn, parts: &[TermOperand<SeedTable>]) -> Option<Vec<Layer>> {
    let mut all: Vec<&[Layer]> = Vec::with_capacity(parts.len());
    for part in parts {
        all.push(match part {
            TermOperand::Terms(layers) => layers,
            TermOperand::Zero => &[],
            TermOperand::Known(value) if b.is_zero(*value) => &[],
            TermOperand::Known(_) => return None,
        });
    }
    let types: Vec<&Type> = eqn.args.iter().map(|&arg| program.ty(arg)).collect();
    let most = all.iter().map(|layers| layers.len()).max()?;
    let mut result = Vec::with_capacity(most);
    for k in 0..most {
        let tables: Vec<Option<&SeedTable>> =
            all.iter().map(|layers| layers.get(k).map(|layer| &layer.place)).collect();
        let place = SeedTable::joined(&eqn.op, &tables, &types)?;
        let scales = all.iter().zip(&types).map(|(layers, ty)| match layers.get(k) {
            Some(layer) => numbers(b, layer.scale, ty),
            None => b.full(0.0, ty),
        });
        let scales: Vec<Value> = scales.collect();
        result.push(Term { place, scale: Some(b.op(eqn.op.clone(), &scales)) });
    }
    Some(result)
}

/// The sum of layers over axes: one layer for each index along them, or one in all where all have the same seed.
fn summed(b: &mut Builder, mut layers: Vec<Layer>, ty: &Type, axes: &[usize], most: usize) -> Option<Vec<Layer>> {
    let mut ty = ty.clone();
    for &axis in axes.iter().rev() {
        let result = ty.with_shape(without(&ty.shape, axis));
        let mut sum: Vec<Layer> = Vec::new();
        for layer in &layers {
            let terms = if layer.place.repeats_along(axis) {
                let scale = numbers(b, layer.scale, &ty);
                let scale = Some(b.sum(scale, &[axis]));
                vec![Term { place: at(&layer.place, &ty, axis, 0, &result)?, scale }]
            } else if ty.shape[axis] <= most {
                let term = |index: usize| {
                    let scale = layer.scale.map(|scale| pick(b, scale, axis, index));
                    Some(Term { place: at(&layer.place, &ty, axis, index, &result)?, scale })
                };
                (0..ty.shape[axis]).map(term).collect::<Option<Vec<Layer>>>()?
            } else {
                return None;
            };
            for term in terms.into_iter().filter(|term| !term.place.is_empty()) {
                sum = added(b, sum, vec![term], &result)?;
            }
            if sum.len() > most {
                return None;
            }
        }
        (layers, ty) = (sum, result);
    }
    Some(layers)
}

fn added(b: &mut Builder, x: Vec<Layer>, y: Vec<Layer>, ty: &Type) -> Option<Vec<Layer>> {
    let listed = x.iter().chain(&y).any(|layer| layer.place.is_listed());
    let form = |layers: Vec<Layer>| match listed {
        true => TermOperand::Terms(
            layers.into_iter().map(|layer| Term { place: layer.place.as_listed(), ..layer }).collect(),
        ),
        false => TermOperand::Terms(layers),
    };
    elementwise(b, &Binary::Add.into(), &[form(x), form(y)], ty)
}

fn without(shape: &[usize], axis: usize) -> Vec<usize> {
    let mut shape = shape.to_vec();
    shape.remove(axis);
    shape
}

/// The table at one index of an axis.
fn at(place: &SeedTable, ty: &Type, axis: usize, index: usize, result: &Type) -> Option<SeedTable> {
    let slice = Slice::along(&ty.shape, axis, index, index + 1);
    let mut cut = ty.clone();
    cut.shape[axis] = 1;
    let cut = place.moved(&slice.into(), &[], &cut)?;
    cut.moved(&Reshape::new(&result.shape).into(), &[], result)
}

/// The numbers at one index of an axis.
fn pick(b: &mut Builder, x: Value, axis: usize, index: usize) -> Value {
    let shape = b.shape(x).to_vec();
    let cut = b.op(Slice::along(&shape, axis, index, index + 1), &[x]);
    b.reshape(cut, &without(&shape, axis))
}

/// The contraction of layers with what is known: a sum of a few products, one for each index of the labels that go.
fn contracted(
    b: &mut Builder,
    layers: &[Layer],
    other: Value,
    program: &Program,
    eqn: &Eqn,
    [own, its, out]: [&[u8]; 3],
    with: Compression<'_>,
) -> Option<Vec<Layer>> {
    let out_ty = program.ty(eqn.first).clone();
    let place = usize::from(matches!(&eqn.op, Op::Einsum(einsum) if einsum.lhs() != own || einsum.rhs() != its));
    let own_ty = program.ty(eqn.args[place]).clone();
    // What only the other operand has goes first.
    let lone: Vec<usize> = (0..its.len()).filter(|&k| !own.contains(&its[k]) && !out.contains(&its[k])).collect();
    let other = b.sum(other, &lone);
    let its: Vec<u8> = its.iter().copied().filter(|label| own.contains(label) || out.contains(label)).collect();
    let gone: Vec<usize> = (0..own.len()).filter(|&k| !out.contains(&own[k])).collect();
    let kept: Vec<u8> = own.iter().copied().filter(|label| out.contains(label)).collect();
    let lengths: Vec<usize> = gone.iter().map(|&k| own_ty.shape[k]).collect();
    if lengths.iter().product::<usize>().saturating_mul(layers.len()) > with.most {
        return None;
    }
    let mut sum: Vec<Layer> = Vec::new();
    let mut indices: Vec<Vec<usize>> = Vec::new();
    for_each_index(&lengths, |index| indices.push(index.to_vec()));
    for index in indices {
        let (mut factor, mut labels) = (other, its.clone());
        for (&axis, &i) in gone.iter().zip(&index) {
            if let Some(k) = labels.iter().position(|label| *label == own[axis]) {
                factor = pick(b, factor, k, i);
                labels.remove(k);
            }
        }
        let factor = spread(b, factor, &labels, out, &out_ty);
        for layer in layers {
            let (mut cut, mut scale, mut ty) = (layer.place.clone(), layer.scale, own_ty.clone());
            for (&axis, &i) in gone.iter().zip(&index).rev() {
                let result = ty.with_shape(without(&ty.shape, axis));
                cut = at(&cut, &ty, axis, i, &result)?;
                scale = scale.map(|scale| pick(b, scale, axis, i));
                ty = result;
            }
            let cut = spread_table(cut, &ty, &kept, out, &out_ty)?;
            let scale = scale.map(|scale| spread(b, scale, &kept, out, &out_ty));
            let scale = Some(scale.map_or(factor, |scale| b.mul(scale, factor)));
            if !cut.is_empty() {
                sum = added(b, sum, vec![Term { place: cut, scale }], &out_ty)?;
            }
        }
    }
    Some(sum)
}

/// In which order the axes with these labels stand in the result, and where.
fn spreading(labels: &[u8], out: &[u8]) -> (Vec<usize>, Vec<usize>) {
    let place = |label: u8| out.iter().position(|&other| other == label).expect("a label of the result");
    let mut order: Vec<usize> = (0..labels.len()).collect();
    order.sort_by_key(|&k| place(labels[k]));
    let axes = order.iter().map(|&k| place(labels[k])).collect();
    (order, axes)
}

fn spread(b: &mut Builder, x: Value, labels: &[u8], out: &[u8], ty: &Type) -> Value {
    let (order, axes) = spreading(labels, out);
    let x = b.permute(x, &order);
    let new: Vec<usize> = (0..out.len()).filter(|axis| !axes.contains(axis)).collect();
    b.spread(x, &ty.shape, &new)
}

fn spread_table(table: SeedTable, own: &Type, labels: &[u8], out: &[u8], ty: &Type) -> Option<SeedTable> {
    let (order, axes) = spreading(labels, out);
    let permuted = own.with_shape(order.iter().map(|&k| own.shape[k]).collect());
    let table = table.moved(&Permute::new(&order).into(), &[], &permuted)?;
    table.moved(&Broadcast::new(&ty.shape, &axes).into(), &[], ty)
}

/// The longest axis along which the layers of an output are told apart.
const SHORT: usize = 16;

/// The layers of an output, with those added up that have the same seeds at some index of a short axis; `None` if there are
/// none.
///
/// Tables may agree at some numbers and differ at others: one coordinate depends on itself by a layer whose seeds go along with
/// the coordinates, and by the layers of a sum over all of them. Along a short axis they are told apart, index by index, and
/// put together in the order of their seeds.
pub(super) fn met(b: &mut Builder, layers: &[Layer], ty: &Type) -> Option<Vec<Layer>> {
    if layers.len() < 2 {
        return None;
    }
    let axis = (0..ty.rank()).rev().find(|&axis| (2..=SHORT).contains(&ty.shape[axis]))?;
    let mut cut = ty.clone();
    cut.shape[axis] = 1;
    let slices: Vec<Op> = (0..ty.shape[axis]).map(|k| Slice::along(&ty.shape, axis, k, k + 1).into()).collect();
    let apart: Option<Vec<_>> = slices.iter().map(|slice| tables(layers, slice, &cut)).collect();
    let mut apart = apart?;
    let mut meets = vec![false; layers.len()];
    for its in apart.iter().flatten().map(|(_, its)| its).filter(|its| its.len() > 1) {
        its.iter().for_each(|&layer| meets[layer] = true);
    }
    // What meets another one somewhere is put together anew, and all that meets that elsewhere.
    let alone = |its: &[usize], meets: &[bool]| its.iter().all(|&layer| !meets[layer]);
    apart.iter_mut().for_each(|tables| tables.retain(|(_, its)| !alone(its, &meets)));
    let most = apart.iter().map(Vec::len).max().filter(|&most| most > 0)?;

    let concat: Op = Concat { axis }.into();
    let types = vec![&cut; slices.len()];
    let mut result: Vec<Layer> =
        layers.iter().zip(&meets).filter(|(_, meets)| !**meets).map(|(layer, _)| layer.clone()).collect();
    for k in 0..most {
        let here: Vec<Option<&(SeedTable, Vec<usize>)>> = apart.iter().map(|tables| tables.get(k)).collect();
        let places: Vec<Option<&SeedTable>> = here.iter().map(|table| table.map(|(place, _)| place)).collect();
        let place = SeedTable::evenly(axis, &places).or_else(|| SeedTable::joined(&concat, &places, &types))?;
        let scales = here.iter().zip(&slices).map(|(table, slice)| {
            let its = table.map_or(&[][..], |(_, its)| its);
            let factors = its.iter().map(|&layer| numbers(b, layers[layer].scale, ty)).collect::<Vec<Value>>();
            let sum = factors.into_iter().map(|scale| b.op(slice.clone(), &[scale])).collect::<Vec<Value>>();
            sum.into_iter().reduce(|x, y| b.add(x, y)).unwrap_or_else(|| b.full(0.0, &cut))
        });
        let scales: Vec<Value> = scales.collect();
        result.push(Term { place, scale: Some(b.op(concat.clone(), &scales)) });
    }
    Some(result)
}

/// The tables that layers have at an index of an axis, in the order of their first seeds, each with the layers that have it.
fn tables(layers: &[Layer], slice: &Op, cut: &Type) -> Option<Vec<(SeedTable, Vec<usize>)>> {
    let mut tables: Vec<(SeedTable, Vec<usize>)> = Vec::new();
    let listed = layers.iter().any(|layer| layer.place.is_listed());
    for (k, layer) in layers.iter().enumerate() {
        let table = layer.place.moved(slice, &[], cut)?;
        if table.is_empty() {
            continue;
        }
        let table = if listed { table.as_listed() } else { table };
        match tables.iter_mut().find(|(known, _)| *known == table) {
            Some((_, its)) => its.push(k),
            None => tables.push((table, vec![k])),
        }
    }
    tables.sort_by_key(|(table, _)| table.first_seed());
    Some(tables)
}

/// A row of numbers for each colour of a run: where a number depends on a seed of this colour its factor, else 0.
pub(super) fn compressed(
    b: &mut Builder,
    layers: &[Layer],
    ty: &Type,
    colours: &SeedColours,
    facts: &RefCell<Facts>,
) -> Value {
    let shape = [&[colours.count], &ty.shape[..]].concat();
    let numbers_of_run = b.convert(colours.numbers, ty.dtype);
    let behind: Vec<usize> = (1..shape.len()).collect();
    let colour = b.spread(numbers_of_run, &shape, &behind);
    let zeros = b.full(0.0, &ty.with_shape(shape));
    let mut sum = None;
    for layer in layers {
        // In the type of the numbers, which holds colours up to 2^24 exactly: the comparison is one more function of a region.
        let table = layer.place.look_up(&colours.of, -1.0);
        let table = match ty.dtype {
            DType::F32 => Array::new(&ty.shape, table.into_iter().map(|x| x as f32).collect()),
            _ => Array::new(&ty.shape, table),
        };
        let table = facts.borrow_mut().table(b, table);
        let table = b.repeat_in_front(table, colours.count);
        let mask = b.op(Compare::Eq, &[colour, table]);
        let scale = numbers(b, layer.scale, ty);
        let scale = b.repeat_in_front(scale, colours.count);
        let written = b.select(mask, scale, zeros);
        sum = Some(match sum {
            Some(sum) => b.add(sum, written),
            None => written,
        });
    }
    sum.unwrap_or(zeros)
}
