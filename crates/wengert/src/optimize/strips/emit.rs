//! The Program with a group of equations in a loop over strips.

use std::sync::Arc;

use super::Lanes;
use super::group::{Group, Place};
use super::kinds::{Kind, is_zero};
use crate::array::{DType, Type};
use crate::error::Error;
use crate::ops::{Binary, Compare};
use crate::primitives::{
    Concat, DynamicSlice, Iota, Literal, Op, Pad, Permute, Reduce, Reducer, Reshape, Scan, Select, Slice,
};
use crate::program::{Args, Builder, Eqn, Program, Value, dce, same_inputs};

/// The Program with its group in strips.
pub(super) fn emitted(program: &Program, group: &Group) -> Option<Program> {
    let mut b = Builder::new();
    let mut now: Vec<Option<Value>> = same_inputs(&mut b, program).into_iter().map(Some).collect();
    now.resize(program.types.len(), None);
    let mut emit = Emit { program, group, b, now };
    emit.all_at(Place::Before);
    let given = group.given(program);
    let results = emit.strips(&given).ok()?;
    given.iter().zip(results).for_each(|(value, result)| emit.now[value.index()] = Some(result));
    emit.all_at(Place::Behind);
    let outputs: Vec<Value> = program.outputs().iter().map(|&output| emit.value(output)).collect();
    Some(dce(emit.b.finish(&outputs)))
}

struct Emit<'a> {
    program: &'a Program,
    group: &'a Group,
    b: Builder,
    /// Each value outside of the loop.
    now: Vec<Option<Value>>,
}

/// What a strip is given.
struct Given {
    /// The values that it reads, by those of the Program.
    values: Vec<Option<Value>>,
    /// Whether it is the first one; `None` if it is not.
    is_first: Option<Value>,
}

impl Emit<'_> {
    fn value(&self, value: Value) -> Value {
        self.now[value.index()].expect("what is read is there")
    }

    /// The equations at a place, as they stand.
    fn all_at(&mut self, place: Place) {
        for (eqn, _) in self.program.eqns().iter().zip(&self.group.places).filter(|(_, own)| **own == place) {
            let args: Args = eqn.args.iter().map(|&arg| self.value(arg)).collect();
            self.b.line = eqn.line;
            let results = self.b.ops(eqn.op.clone(), &args);
            eqn.outs().zip(results).for_each(|(out, result)| self.now[out.index()] = Some(result));
        }
    }

    /// The results of the group that are wanted outside.
    fn strips(&mut self, given: &[Value]) -> Result<Vec<Value>, Error> {
        let Lanes { count, strip } = self.group.lanes;
        let (strips, rest) = (count / strip, count % strip);
        let (body, operands, rows) = self.body(given)?;
        let mut inside =
            self.program.eqns().iter().zip(&self.group.places).filter(|(_, place)| **place == Place::Inside);
        self.b.line = inside.find_map(|(eqn, _)| eqn.line);
        let stacked = self.b.emit(Scan::new(body, strips, 0, rows), &operands)?;
        let mut results = Vec::with_capacity(given.len());
        for (&value, stacked) in given.iter().zip(stacked) {
            results.push(self.joined(value, stacked));
        }
        if rest > 0 {
            let last = self.rest(given, strips * strip, rest)?;
            for ((result, last), value) in results.iter_mut().zip(last).zip(given) {
                *result = match self.group.kinds[value.index()] {
                    Some(Kind::Lane(axis)) => self.b.op(Concat { axis }, &[*result, last]),
                    Some(Kind::Partial) => self.b.op(Binary::Add, &[*result, last]),
                    _ => continue,
                };
            }
        }
        Ok(results)
    }

    /// The lanes of all strips next to each other, or the sum over strips.
    fn joined(&mut self, value: Value, stacked: Value) -> Value {
        let shape = self.b.shape(stacked).to_vec();
        let axis = match self.group.kinds[value.index()] {
            Some(Kind::Lane(axis)) => axis,
            Some(Kind::Partial) => return self.b.op(Reduce::new(Reducer::Sum, &[0]), &[stacked]),
            _ => {
                let first = self.b.op(Slice::along(&shape, 0, 0, 1), &[stacked]);
                return self.b.op(Reshape::new(&shape[1..]), &[first]);
            }
        };
        let order: Vec<usize> = (1..=axis).chain([0]).chain(axis + 1..shape.len()).collect();
        let moved = if axis == 0 { stacked } else { self.b.op(Permute::new(&order), &[stacked]) };
        let mut joined: Vec<usize> = shape[1..].to_vec();
        joined[axis] *= shape[0];
        self.b.op(Reshape::new(&joined), &[moved])
    }

    /// The step over a strip, with the operands of the loop and how many of them are rows.
    fn body(&mut self, given: &[Value]) -> Result<(Program, Vec<Value>, usize), Error> {
        let Lanes { count, strip } = self.group.lanes;
        let strips = count / strip;
        let parts = self.group.taken.iter().map(|(&value, &axis)| (value, axis));
        let mut inner = Builder::new();
        let mut values = vec![None; self.program.types.len()];
        let mut operands = Vec::new();
        for &value in &self.group.whole {
            values[value.index()] = Some(inner.input("", self.program.ty(value).clone()));
            operands.push(self.value(value));
        }
        // Arrays with other axes before that of the lanes are taken as they lie.
        let (first, inside): (Vec<_>, Vec<_>) = parts.partition(|&(_, axis)| axis == 0);
        let mut arrays = Vec::new();
        for &(value, axis) in &inside {
            arrays.push((value, axis, inner.input("", self.program.ty(value).clone())));
            operands.push(self.value(value));
        }
        let mut rows = Vec::new();
        let number = self.b.op(Iota { length: strips }, &[]);
        for (value, axis, array) in arrays {
            let ty = self.program.ty(value);
            rows.push(self.starts(number, ty.rank(), axis));
            let start = inner.input("", Type::new(DType::I64, &[ty.rank()]));
            let sizes = self.group.lanes.narrowed(ty, Kind::Lane(axis)).shape;
            values[value.index()] = Some(inner.op(DynamicSlice::new(&sizes), &[array, start]));
        }
        for (value, _) in first {
            let (ty, whole) = (self.program.ty(value), self.value(value));
            let even = self.b.op(Slice::along(&ty.shape, 0, 0, strips * strip), &[whole]);
            let shape: Vec<usize> = [strips, strip].into_iter().chain(ty.shape[1..].iter().copied()).collect();
            rows.push(self.b.op(Reshape::new(&shape), &[even]));
            values[value.index()] = Some(inner.input("", self.group.lanes.narrowed(ty, Kind::Lane(0))));
        }
        let zero = self.b.full(0.0, &Type::new(DType::I64, &[strips]));
        rows.push(self.b.op(Compare::Eq, &[number, zero]));
        let is_first = Some(inner.input("", Type::new(DType::Bool, &[])));
        let count = rows.len();
        operands.extend(rows);
        let results = self.steps(&mut inner, self.group.lanes, Given { values, is_first }, given)?;
        Ok((inner.finish(&results), operands, count))
    }

    /// Where the block of each strip starts in an array.
    fn starts(&mut self, number: Value, rank: usize, axis: usize) -> Value {
        let strips = self.b.shape(number)[0];
        let strip = self.b.op(Literal::I64(self.group.lanes.strip as i64), &[]);
        let strip = self.b.broadcast_scalar(strip, &[strips]);
        let start = self.b.op(Binary::Mul, &[number, strip]);
        let column = self.b.op(Reshape::new(&[strips, 1]), &[start]);
        let zero = self.b.op(Literal::I64(0), &[]);
        let (low, high) = ([0, axis as i64], [0, (rank - 1 - axis) as i64]);
        self.b.op(Pad::new(&low, &high), &[column, zero])
    }

    /// The results of the last lanes, which are fewer than a strip has.
    fn rest(&mut self, given: &[Value], from: usize, count: usize) -> Result<Vec<Value>, Error> {
        let mut values = vec![None; self.program.types.len()];
        for &value in &self.group.whole {
            values[value.index()] = Some(self.value(value));
        }
        for (&value, &axis) in &self.group.taken {
            let (shape, array) = (self.program.ty(value).shape.to_vec(), self.value(value));
            values[value.index()] = Some(self.b.op(Slice::along(&shape, axis, from, from + count), &[array]));
        }
        let lanes = Lanes { strip: count, ..self.group.lanes };
        let mut b = std::mem::take(&mut self.b);
        let results = self.steps(&mut b, lanes, Given { values, is_first: None }, given);
        self.b = b;
        results
    }

    /// The equations of the group over the lanes of a strip.
    fn steps(&self, b: &mut Builder, lanes: Lanes, given: Given, wanted: &[Value]) -> Result<Vec<Value>, Error> {
        let Given { mut values, is_first } = given;
        let kind = |value: Value| self.group.kinds[value.index()].unwrap_or(Kind::Same);
        for (k, eqn) in self.program.eqns().iter().enumerate() {
            if self.group.places[k] != Place::Inside && !self.group.again[k] {
                continue;
            }
            let kinds: Vec<Kind> = eqn.args.iter().map(|&arg| kind(arg)).collect();
            let mut args: Args =
                eqn.args.iter().map(|arg| values[arg.index()].expect("what is read is there")).collect();
            b.line = eqn.line;
            if let Op::Scan(scan) = &eqn.op {
                let known: Vec<Option<Kind>> = kinds.iter().copied().map(Some).collect();
                let around = lanes.around(scan, &known).expect("it was found before");
                for (place, arg) in args.iter_mut().enumerate() {
                    let begins = around.inputs[place] == Kind::Partial && kinds[place] == Kind::Same;
                    if begins && !is_zero(self.program, eqn.args[place]) {
                        *arg = in_first_strip(b, is_first, *arg);
                    }
                }
            }
            let outs: Vec<Kind> = eqn.outs().map(kind).collect();
            let results = on_strip(lanes, b, eqn, (&args, &kinds), &outs)?;
            for (out, result) in eqn.outs().zip(results) {
                debug_assert_eq!(*b.ty(result), lanes.narrowed(self.program.ty(out), kind(out)), "{:?}", eqn.op);
                values[out.index()] = Some(result);
            }
        }
        Ok(wanted.iter().map(|value| values[value.index()].expect("it was computed")).collect())
    }
}

/// A summand of this number that is in the first strip alone.
fn in_first_strip(b: &mut Builder, is_first: Option<Value>, start: Value) -> Value {
    let zero = b.full(0.0, &b.ty(start).clone());
    let Some(is_first) = is_first else { return zero };
    let shape = b.shape(start).to_vec();
    let is_first = b.broadcast_scalar(is_first, &shape);
    b.op(Select, &[is_first, start, zero])
}

/// An equation over the lanes of a strip, on these operands.
fn on_strip(
    lanes: Lanes,
    b: &mut Builder,
    eqn: &Eqn,
    (args, kinds): (&[Value], &[Kind]),
    outs: &[Kind],
) -> Result<Vec<Value>, Error> {
    let op = match &eqn.op {
        Op::Scan(scan) => {
            let known: Vec<Option<Kind>> = kinds.iter().copied().map(Some).collect();
            let around = lanes.around(scan, &known).expect("it was found before");
            Op::Scan(Scan { body: Arc::new(narrowed(lanes, &scan.body, &around.inputs)?), ..scan.clone() })
        }
        op @ (Op::Call(_) | Op::Recompute(_)) => {
            op.with_programs(vec![Arc::new(narrowed(lanes, op.programs()[0], kinds)?)])
        }
        op => match outs {
            [Kind::Lane(axis)] => op.with_length(*axis, lanes.strip).unwrap_or_else(|| op.clone()),
            _ => op.clone(),
        },
    };
    b.emit(op, args)
}

/// A Program over the lanes of a strip, whose inputs lie like this.
fn narrowed(lanes: Lanes, program: &Program, inputs: &[Kind]) -> Result<Program, Error> {
    let kinds = lanes.kinds(program, inputs).expect("it was found before");
    let mut b = Builder::new();
    let mut values: Vec<Value> = Vec::with_capacity(kinds.len());
    for (ty, (&kind, name)) in program.input_types().iter().zip(inputs.iter().zip(program.input_names())) {
        values.push(b.input(name, lanes.narrowed(ty, kind)));
    }
    for eqn in program.eqns() {
        let args: Args = eqn.args.iter().map(|arg| values[arg.index()]).collect();
        let own: Vec<Kind> = eqn.args.iter().map(|arg| kinds[arg.index()]).collect();
        let outs: Vec<Kind> = eqn.outs().map(|out| kinds[out.index()]).collect();
        b.line = eqn.line;
        values.extend(on_strip(lanes, &mut b, eqn, (&args, &own), &outs)?);
    }
    let outputs: Vec<Value> = program.outputs().iter().map(|output| values[output.index()]).collect();
    Ok(b.finish(&outputs))
}
