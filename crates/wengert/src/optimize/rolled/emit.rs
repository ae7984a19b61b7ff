//! The Program with its loops.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::choose::Loop;
use super::period::Source;
use crate::primitives::{Concat, Op, Reverse, Scan, Slice};
use crate::program::{Args, Builder, Program, Types, Value, same_inputs};

/// The Program with these loops, which do not overlap and are in order; `None` if one cannot be one.
pub(super) fn emitted<'a>(program: &'a Program, loops: &'a [Loop<'a>]) -> Option<Program> {
    let mut b = Builder::new();
    let mut now = same_inputs(&mut b, program);
    now.resize(program.types.len(), UNKNOWN);
    let mut emit = Emit { program, b, now, from: 0, stacks: Vec::new() };
    for found in loops {
        emit.straight(found.first);
        emit.rolled(found)?;
        emit.from = found.end();
    }
    emit.straight(program.eqns().len());
    let outputs: Vec<Value> = program.outputs().iter().map(|&output| emit.value(output)).collect();
    Some(emit.b.finish(&outputs))
}

/// A value that is not there.
const UNKNOWN: Value = Value(u32::MAX);

struct Emit<'a> {
    program: &'a Program,
    b: Builder,
    /// Each value outside of loops, as far as it is there.
    now: Vec<Value>,
    /// The first equation that is not done.
    from: usize,
    /// The loops that are done, with what they stack.
    stacks: Vec<(&'a Loop<'a>, Vec<Value>)>,
}

/// Values next to each other.
enum Piece {
    One(Value),
    /// Rows of a stack from one on, in their order or from the last to the first.
    Rows {
        stack: Value,
        first: usize,
        count: usize,
        by: isize,
    },
}

/// What is stacked along the steps of a loop, so that a step takes a row.
enum Rows {
    /// Slices of an array, from those of the first step on: an equation of the step.
    Slices(usize),
    /// Values that each step has for itself: an operand of an equation of the step.
    Own(usize, usize),
    /// Numbers that equations of the steps are.
    Literals(usize),
}

impl<'a> Emit<'a> {
    /// A value, which is taken from its stack if it is the first time.
    fn value(&mut self, value: Value) -> Value {
        if self.now[value.index()] != UNKNOWN {
            return self.now[value.index()];
        }
        let (stack, step) = self.row(value).expect("what is read is there");
        let shape = self.b.shape(stack).to_vec();
        let row = self.b.op(Slice::along(&shape, 0, step, step + 1), &[stack]);
        let row = self.b.reshape(row, &shape[1..]);
        self.now[value.index()] = row;
        row
    }

    /// Which row of which stack a value is.
    fn row(&self, value: Value) -> Option<(Value, usize)> {
        let behind = self.stacks.partition_point(|(found, _)| found.value(0, 0) <= value);
        let (found, stacks) = self.stacks[..behind].last().filter(|(found, _)| found.holds(value))?;
        let (step, place) = found.place(value);
        Some((stacks[found.stacked.iter().position(|&own| own == place)?], step))
    }

    /// The equations before this one, as they stand.
    fn straight(&mut self, to: usize) {
        for eqn in &self.program.eqns()[self.from..to] {
            self.b.line = eqn.line;
            if let Op::Concat(Concat { axis }) = eqn.op {
                let joined = self.joined(&eqn.args, axis);
                self.now[eqn.first.index()] = joined;
                continue;
            }
            let args: Args = eqn.args.iter().map(|&arg| self.value(arg)).collect();
            let types: Types = self.program.types_of(eqn).iter().cloned().collect();
            let first = self.b.again(eqn.op.clone(), &args, types);
            let results = first.into_iter().flat_map(|first| (first.0..).map(Value));
            eqn.outs().zip(results).for_each(|(out, result)| self.now[out.index()] = result);
        }
        self.from = to;
    }

    /// A loop, and what is read of it.
    fn rolled(&mut self, found: &'a Loop<'a>) -> Option<()> {
        let invariants = invariants(found);
        let carried: Vec<(usize, usize)> = (0..found.values())
            .flat_map(|place| (1..=found.depths[place] as usize).map(move |back| (place, back)))
            .collect();
        let rows = rows(found);
        self.b.line = (0..found.period).find_map(|k| found.eqn(0, k).line);
        let mut operands: Vec<Value> = invariants.iter().map(|&value| self.value(value)).collect();
        for &(place, back) in &carried {
            operands.push(self.value(found.value(-back.cast_signed(), place)));
        }
        for rows in &rows {
            operands.push(self.stacked(found, rows));
        }
        let results = if found.is_reshape() {
            let shape: Vec<usize> = [&[found.steps], &found.ty(0).shape[..]].concat();
            vec![self.b.reshape(operands[0], &shape)]
        } else {
            let body = body(found, &invariants, &carried, &rows)?;
            self.b.emit(Scan::new(body, found.steps, carried.len(), rows.len()), &operands).ok()?
        };
        let (last, stacks) = results.split_at(carried.len());
        for (&(place, back), &last) in carried.iter().zip(last) {
            let value = found.value((found.steps - back).cast_signed(), place);
            self.now[value.index()] = last;
        }
        self.stacks.push((found, stacks.to_vec()));
        Some(())
    }

    /// The operand of a loop whose rows its steps take.
    fn stacked(&mut self, found: &Loop<'_>, rows: &Rows) -> Value {
        match *rows {
            Rows::Slices(k) => self.slices(found, k),
            Rows::Own(k, operand) => {
                let pieces = self.pieces(&owned_values(found, k, operand));
                let layers: Vec<Value> = pieces.into_iter().map(|piece| self.layers(piece)).collect();
                self.next_to_each_other(&layers, 0)
            }
            Rows::Literals(k) => {
                let numbers = (0..found.steps).map(|step| found.eqn(step, k).op.clone());
                let numbers: Vec<Value> = numbers.map(|op| self.b.op(op, &[])).collect();
                let layers: Vec<Value> = numbers.into_iter().map(|number| self.b.reshape(number, &[1])).collect();
                self.next_to_each_other(&layers, 0)
            }
        }
    }

    /// These values along an axis.
    fn joined(&mut self, values: &[Value], axis: usize) -> Value {
        let mut parts = Vec::new();
        for piece in self.pieces(values) {
            parts.push(match piece {
                Piece::One(value) => self.value(value),
                rows @ Piece::Rows { .. } => {
                    let layers = self.layers(rows);
                    let moved = self.b.move_axis(layers, 0, axis);
                    let mut shape = self.b.shape(moved).to_vec();
                    let count = shape.remove(axis);
                    shape[axis] *= count;
                    self.b.reshape(moved, &shape)
                }
            });
        }
        self.next_to_each_other(&parts, axis)
    }

    fn next_to_each_other(&mut self, parts: &[Value], axis: usize) -> Value {
        match parts {
            [one] => *one,
            _ => self.b.op(Concat { axis }, parts),
        }
    }

    /// Values as rows that follow one another, where they do.
    fn pieces(&self, values: &[Value]) -> Vec<Piece> {
        let mut pieces: Vec<Piece> = Vec::new();
        for &value in values {
            let Some((stack, step)) = self.row(value) else {
                pieces.push(Piece::One(value));
                continue;
            };
            if let Some(Piece::Rows { stack: own, first, count, by }) = pieces.last_mut()
                && *own == stack
            {
                let next = |by: isize| first.checked_add_signed(by * (*count).cast_signed()) == Some(step);
                if let Some(found) = [1, -1].into_iter().find(|&found| next(found) && (*count == 1 || *by == found)) {
                    (*by, *count) = (found, *count + 1);
                    continue;
                }
            }
            pieces.push(Piece::Rows { stack, first: step, count: 1, by: 1 });
        }
        pieces
    }

    /// Values with a new axis in front, along which they lie.
    fn layers(&mut self, piece: Piece) -> Value {
        match piece {
            Piece::One(value) => {
                let value = self.value(value);
                let shape = [&[1], self.b.shape(value)].concat();
                self.b.reshape(value, &shape)
            }
            Piece::Rows { stack, first, count, by } => {
                let shape = self.b.shape(stack).to_vec();
                let low = if by < 0 { first + 1 - count } else { first };
                let whole = (low, count) == (0, shape[0]);
                let part = if whole { stack } else { self.b.op(Slice::along(&shape, 0, low, low + count), &[stack]) };
                if by < 0 && count > 1 { self.b.op(Reverse::new(&[0]), &[part]) } else { part }
            }
        }
    }

    /// The slices of all steps, along axis 0 in their order.
    fn slices(&mut self, found: &Loop<'_>, k: usize) -> Value {
        let eqn = found.eqn(0, k);
        let (Op::Slice(slice), Some((axis, by))) = (&eqn.op, found.fits[k].row) else {
            unreachable!("a slice that moves");
        };
        let far = by.unsigned_abs() * (found.steps - 1);
        let mut all = Slice::clone(slice);
        all.start[axis] = if by < 0 { slice.start[axis] - far } else { slice.start[axis] };
        (all.limit[axis], all.stride[axis]) = (all.start[axis] + far + 1, by.unsigned_abs());
        let operand = self.value(eqn.args[0]);
        let all = self.b.op(all, &[operand]);
        let all = if by < 0 { self.b.op(Reverse::new(&[axis]), &[all]) } else { all };
        self.b.move_axis(all, axis, 0)
    }
}

/// The values from before a loop that its steps take as they are.
fn invariants(found: &Loop<'_>) -> Vec<Value> {
    let mut seen = HashSet::new();
    let mut values = Vec::new();
    for (k, fit) in found.fits.iter().enumerate().filter(|(_, fit)| fit.row.is_none()) {
        let args = found.eqn(0, k).args.iter().zip(&fit.sources);
        let own = args.filter(|(_, source)| **source == Source::Invariant).map(|(&arg, _)| arg);
        values.extend(own.filter(|arg| seen.insert(*arg)));
    }
    values
}

/// What the steps take rows of; values that several equations take are there once.
fn rows(found: &Loop<'_>) -> Vec<Rows> {
    let mut rows = Vec::new();
    let mut own = HashSet::new();
    for (k, fit) in found.fits.iter().enumerate() {
        if fit.row.is_some() {
            rows.push(Rows::Slices(k));
        } else if found.varies(k) {
            rows.push(Rows::Literals(k));
        }
    }
    for (k, operand) in found.owned() {
        if own.insert(owned_values(found, k, operand)) {
            rows.push(Rows::Own(k, operand));
        }
    }
    rows
}

/// The values that an operand is in all steps.
fn owned_values(found: &Loop<'_>, k: usize, operand: usize) -> Vec<Value> {
    (0..found.steps).map(|step| found.eqn(step, k).args[operand]).collect()
}

/// One step.
fn body(found: &Loop<'_>, invariants: &[Value], carried: &[(usize, usize)], rows: &[Rows]) -> Option<Program> {
    let program = found.list.program;
    let mut b = Builder::new();
    let known: HashMap<Value, Value> =
        invariants.iter().map(|&value| (value, b.input("", program.ty(value).clone()))).collect();
    let carry: BTreeMap<(usize, usize), Value> =
        carried.iter().map(|&(place, back)| ((place, back), b.input("", found.ty(place).clone()))).collect();
    // What comes in a row: in the place of an equation, or of an operand.
    let mut whole: HashMap<usize, Value> = HashMap::new();
    let mut numbers: HashMap<Vec<Value>, Value> = HashMap::new();
    for row in rows {
        match *row {
            Rows::Slices(k) => {
                let (ty, (axis, _)) = (&program.types_of(found.eqn(0, k))[0], found.fits[k].row?);
                let mut shape = ty.shape.clone();
                shape.remove(axis);
                let row = b.input("", ty.with_shape(shape));
                whole.insert(k, row);
            }
            Rows::Literals(k) => {
                let row = b.input("", program.types_of(found.eqn(0, k))[0].clone());
                whole.insert(k, row);
            }
            Rows::Own(k, operand) => {
                let values = owned_values(found, k, operand);
                let row = b.input("", program.ty(values[0]).clone());
                numbers.insert(values, row);
            }
        }
    }
    let first = found.list.before(found.first);
    let mut own: Vec<Value> = Vec::with_capacity(found.values());
    for (k, fit) in found.fits.iter().enumerate() {
        let eqn = found.eqn(0, k);
        b.line = eqn.line;
        let types: Types = program.types_of(eqn).iter().cloned().collect();
        if let Some(&row) = whole.get(&k) {
            own.push(b.reshape(row, &types[0].shape));
            continue;
        }
        let mut args = Args::new();
        for (operand, (&arg, source)) in eqn.args.iter().zip(&fit.sources).enumerate() {
            args.push(match source {
                Source::Invariant => known[&arg],
                Source::Own => numbers[&owned_values(found, k, operand)],
                Source::Steps if arg.0 >= first => own[(arg.0 - first) as usize],
                Source::Steps => {
                    let (back, place) = found.back(arg);
                    *carry.get(&(place, back))?
                }
            });
        }
        let count = types.len() as u32;
        let result = b.again(eqn.op.clone(), &args, types);
        own.extend((0..count).map(|k| Value(result.expect("it has results").0 + k)));
    }
    let next = |&(place, back): &(usize, usize)| if back == 1 { own[place] } else { carry[&(place, back - 1)] };
    let mut results: Vec<Value> = carried.iter().map(next).collect();
    results.extend(found.stacked.iter().map(|&place| own[place]));
    Some(b.finish(&results))
}
