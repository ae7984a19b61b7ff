//! Masks made of indices alone: truth values that are known before anything runs.
//!
//! What counts outside of a triangle, or in which parts of a list, is asked of comparisons of indices, and rules ask for more of it:
//! whether any element of a row counts, which elements a substitution reaches. Such values depend on one index, or on the
//! difference of two. So they are known by a list that is as long as an axis, or two, however many elements they have.
//! One that is the same everywhere becomes a constant, which rewrites then use, and one that is there already is taken again.

use std::collections::HashMap;

use super::Config;
use crate::array::{Array, DType, Data, Type};
use crate::ops::Binary;
use crate::primitives::{Cumulative, Literal, Op, Reduce, Reducer, Running};
use crate::program::{Builder, Program, Value, rebuild};

/// Longer lists are not made: what is computed before a run is to be little beside the run.
const LONGEST: usize = 1 << 16;

/// Of what the elements of a value are functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Of {
    /// Of the index along an axis.
    Axis(usize),
    /// Of the difference of the indices along an axis and a later one.
    Difference(usize, usize),
}

/// The elements of integers or truth values by what they are functions of: by the index, or by the difference from the least one,
/// which is 1 less the length of the later axis.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Known {
    of: Of,
    numbers: Vec<i64>,
}

impl Known {
    /// The number that all elements are.
    fn uniform(&self) -> Option<i64> {
        let (first, rest) = self.numbers.split_first()?;
        rest.iter().all(|number| number == first).then_some(*first)
    }

    /// The same of a value whose axes are those of this one, each at the place that `place` gives.
    fn moved(&self, place: impl Fn(usize) -> usize) -> Known {
        let mut numbers = self.numbers.clone();
        let of = match self.of {
            Of::Axis(axis) => Of::Axis(place(axis)),
            Of::Difference(p, q) => {
                let [p, q] = [p, q].map(place);
                if p > q {
                    numbers.reverse();
                }
                Of::Difference(p.min(q), p.max(q))
            }
        };
        Known { of, numbers }
    }
}

/// The Program with what is known of masks in the place of the equations that compute them.
pub(super) fn known_masks(program: Program, _: &Config) -> Program {
    if !program.types[program.input_types().len()..].iter().any(|ty| is_counted(ty.dtype)) {
        return program;
    }
    let mut known: HashMap<Value, Known> = HashMap::new();
    let mut there: HashMap<(Type, Known), Value> = HashMap::new();
    rebuild(program, |b, op, args, types| {
        let made = (types.len() == 1).then(|| result(b, &op, args, &types[0], &known)).flatten();
        let Some(made) = made else { return b.again(op, args, types) };
        let ty = types[0].clone();
        if let (Some(number), false) = (made.uniform(), matches!(op, Op::Iota(_))) {
            let literal = if ty.dtype == DType::Bool { Literal::Bool(number != 0) } else { Literal::I64(number) };
            let scalar = b.op(literal, &[]);
            return Some(b.broadcast_scalar(scalar, &ty.shape));
        }
        let value = match there.get(&(ty.clone(), made.clone())) {
            Some(&value) => value,
            None => b.again(op, args, types)?,
        };
        there.insert((ty, made.clone()), value);
        known.insert(value, made);
        Some(value)
    })
}

/// Whether elements of this type are followed: real numbers are not.
fn is_counted(dtype: DType) -> bool {
    matches!(dtype, DType::Bool | DType::I64)
}

/// What is known of the result of an operation.
fn result(b: &Builder, op: &Op, args: &[Value], ty: &Type, known: &HashMap<Value, Known>) -> Option<Known> {
    if !is_counted(ty.dtype) || !args.iter().all(|&arg| is_counted(b.dtype(arg))) {
        return None;
    }
    if let Op::Iota(iota) = op {
        let numbers = (iota.length <= LONGEST).then(|| (0..iota.length as i64).collect())?;
        return Some(Known { of: Of::Axis(0), numbers });
    }
    let one = || known.get(args.first()?);
    match op {
        Op::Broadcast(broadcast) => {
            let (one, from) = (one()?, b.shape(args[0]));
            let stays = from.iter().zip(&broadcast.axes).all(|(&length, &axis)| length == ty.shape[axis]);
            stays.then(|| one.moved(|axis| broadcast.axes[axis]))
        }
        Op::Permute(permute) => Some(
            one()?.moved(|axis| permute.order.iter().position(|&own| own == axis).expect("every axis has a place")),
        ),
        Op::Reduce(reduce) => reduced(one()?, reduce, b.shape(args[0])),
        Op::Cumulative(cumulative) => run(one()?, cumulative, b.shape(args[0])),
        Op::Pad(_) | Op::Concat(_) | Op::Slice(_) | Op::Reverse(_) | Op::Reshape(_) => listed(b, op, args, ty, known),
        op if op.programs().is_empty() && b.form(op, args).is_elementwise() => elementwise(b, op, args, known),
        _ => None,
    }
}

/// What is known of a list that is made of lists and numbers.
fn listed(b: &Builder, op: &Op, args: &[Value], ty: &Type, known: &HashMap<Value, Known>) -> Option<Known> {
    if ty.rank() != 1 || ty.size() > LONGEST {
        return None;
    }
    let operand = |&arg: &Value| {
        let ty = b.ty(arg);
        let numbers = match known.get(&arg) {
            Some(known) if ty.rank() == 1 => known.numbers.clone(),
            Some(_) => return None,
            None if ty.size() <= LONGEST => vec![integer(b.repeated(arg)?)?; ty.size()],
            None => return None,
        };
        Some(array(&ty.shape, numbers, ty.dtype))
    };
    let arrays: Vec<Array> = args.iter().map(operand).collect::<Option<_>>()?;
    Some(Known { of: Of::Axis(0), numbers: evaluated(op, &arrays)? })
}

// ---- element by element -------------------------------------------------------------------------

fn elementwise(b: &Builder, op: &Op, args: &[Value], known: &HashMap<Value, Known>) -> Option<Known> {
    enum Operand<'a> {
        Number(i64),
        Known(&'a Known),
    }
    let operands: Vec<Operand<'_>> = args
        .iter()
        .map(|arg| match known.get(arg) {
            Some(known) => Some(Operand::Known(known)),
            None => integer(b.repeated(*arg)?).map(Operand::Number),
        })
        .collect::<Option<_>>()?;
    let mut lists: Vec<&Known> = Vec::new();
    for operand in &operands {
        if let Operand::Known(one) = operand {
            lists.push(one);
        }
    }
    let first = *lists.first()?;
    let dtypes = args.iter().map(|&arg| b.dtype(arg));
    if lists.iter().all(|list| list.of == first.of) {
        let length = first.numbers.len();
        let columns = operands.iter().map(|operand| match operand {
            Operand::Number(number) => vec![*number; length],
            Operand::Known(known) => known.numbers.clone(),
        });
        return Some(Known { of: first.of, numbers: evaluated(op, &lists_of(columns, dtypes))? });
    }
    // Indices that go in the same steps, along two axes: their difference, and how they compare, depend on that of the places.
    let ([x, y], Op::Compare(_) | Op::Binary(Binary::Sub)) = (&lists[..], op) else { return None };
    let (Of::Axis(p), Of::Axis(q)) = (x.of, y.of) else { return None };
    if args.len() != 2 || step(&x.numbers)? != step(&y.numbers)? {
        return None;
    }
    // For every difference of the earlier axis' index and the later one's a place that has it.
    let (rows, columns) = if p < q { (x, y) } else { (y, x) };
    let places = differences(rows.numbers.len(), columns.numbers.len())?.map(|d| (d.max(0), d.max(0) - d));
    let (early, late): (Vec<i64>, Vec<i64>) =
        places.map(|(i, j)| (rows.numbers[i as usize], columns.numbers[j as usize])).unzip();
    let both = if p < q { [early, late] } else { [late, early] };
    Some(Known { of: Of::Difference(p.min(q), p.max(q)), numbers: evaluated(op, &lists_of(both, dtypes))? })
}

fn integer(literal: Literal) -> Option<i64> {
    match literal {
        Literal::Bool(x) => Some(i64::from(x)),
        Literal::I64(x) => Some(x),
        Literal::F32(_) | Literal::F64(_) => None,
    }
}

/// By how much each number is above the one before, if that is the same everywhere.
fn step(numbers: &[i64]) -> Option<i64> {
    let mut steps = numbers.windows(2).map(|pair| pair[1].checked_sub(pair[0]));
    let Some(first) = steps.next() else { return Some(1) };
    steps.all(|step| step == first).then_some(first).flatten()
}

/// The differences of an index along an axis of `rows` and one along an axis of `columns`, ascending.
fn differences(rows: usize, columns: usize) -> Option<impl Iterator<Item = i64> + Clone> {
    (rows > 0 && columns > 0 && rows + columns <= LONGEST).then(|| 1 - columns as i64..rows as i64)
}

/// Numbers as an array of this type.
fn array(shape: &[usize], numbers: Vec<i64>, dtype: DType) -> Array {
    match dtype {
        DType::Bool => Array::new(shape, numbers.into_iter().map(|x| x != 0).collect::<Vec<bool>>()),
        _ => Array::new(shape, numbers),
    }
}

fn lists_of(columns: impl IntoIterator<Item = Vec<i64>>, dtypes: impl Iterator<Item = DType>) -> Vec<Array> {
    columns.into_iter().zip(dtypes).map(|(numbers, dtype)| array(&[numbers.len()], numbers, dtype)).collect()
}

/// The numbers that an operation gives, by its definition.
fn evaluated(op: &Op, arrays: &[Array]) -> Option<Vec<i64>> {
    // What fails is left for the run, which names the user's line.
    let results = op.eval(&arrays.iter().collect::<Vec<&Array>>()).ok()?;
    match results[0].data() {
        Data::Bool(x) => Some(x.iter().map(|&x| i64::from(x)).collect()),
        Data::I64(x) => Some(x.to_vec()),
        Data::F32(_) | Data::F64(_) => None,
    }
}

// ---- along axes ---------------------------------------------------------------------------------

/// How many of the numbers before each place are true, for numbers that are 0 and 1.
struct Counts {
    before: Vec<usize>,
    /// The difference at the first place.
    least: i64,
}

impl Counts {
    fn of(numbers: &[i64], columns: usize) -> Option<Self> {
        let mut before = Vec::with_capacity(numbers.len() + 1);
        before.push(0);
        for &number in numbers {
            before.push(before.last().copied()? + usize::try_from(number).ok().filter(|&number| number <= 1)?);
        }
        Some(Counts { before, least: 1 - columns as i64 })
    }

    /// Whether any, or all, of the differences from one to another are true.
    fn holds(&self, [from, to]: [i64; 2], all: bool) -> i64 {
        let [from, to] = [from, to + 1].map(|d| (d - self.least) as usize);
        let count = self.before[to] - self.before[from];
        i64::from(if all { count == to - from } else { count > 0 })
    }
}

/// `any` or `all` along axes.
fn reduced(one: &Known, reduce: &Reduce, shape: &[usize]) -> Option<Known> {
    let all = match reduce.reducer {
        Reducer::All => true,
        Reducer::Any => false,
        Reducer::Sum | Reducer::Prod | Reducer::Max | Reducer::Min => return None,
    };
    if reduce.axes.iter().any(|&axis| shape[axis] == 0) {
        return None;
    }
    let goes = |axis: usize| reduce.axes.contains(&axis);
    let place = |axis: usize| axis - reduce.axes.iter().filter(|&&own| own < axis).count();
    let whole = || {
        let truth = one.numbers.iter().map(|&x| x != 0);
        let holds = if all { truth.clone().all(|x| x) } else { truth.clone().any(|x| x) };
        // As of any axis: it is the same everywhere.
        Some(Known { of: Of::Axis(0), numbers: vec![i64::from(holds)] })
    };
    match one.of {
        Of::Axis(axis) if goes(axis) => whole(),
        Of::Difference(p, q) if goes(p) && goes(q) => whole(),
        Of::Difference(p, q) if goes(p) || goes(q) => {
            let [rows, columns] = [shape[p], shape[q]].map(|length| length as i64);
            let counts = Counts::of(&one.numbers, shape[q])?;
            let (stays, count) = if goes(q) { (p, rows) } else { (q, columns) };
            let window = |k: i64| if goes(q) { [k - columns + 1, k] } else { [-k, rows - 1 - k] };
            let numbers = (0..count).map(|k| counts.holds(window(k), all)).collect();
            Some(Known { of: Of::Axis(place(stays)), numbers })
        }
        Of::Axis(_) | Of::Difference(..) => Some(one.moved(place)),
    }
}

/// The largest or smallest so far along an axis.
fn run(one: &Known, cumulative: &Cumulative, shape: &[usize]) -> Option<Known> {
    let all = match cumulative.running {
        Running::Max => false,
        Running::Min => true,
        Running::Sum | Running::Prod | Running::Logsumexp => return None,
    };
    let (axis, reverse) = (cumulative.axis, cumulative.reverse);
    let (p, q) = match one.of {
        Of::Axis(own) if own == axis => {
            let alone = Op::from(Cumulative::new(cumulative.running, 0, reverse));
            let numbers = array(&[one.numbers.len()], one.numbers.clone(), DType::I64);
            return Some(Known { of: one.of, numbers: evaluated(&alone, &[numbers])? });
        }
        Of::Difference(p, q) if axis == p || axis == q => (p, q),
        Of::Axis(_) | Of::Difference(..) => return Some(one.clone()),
    };
    let counts = Counts::of(&one.numbers, shape[q])?;
    let [rows, columns] = [shape[p], shape[q]].map(|length| length as i64);
    // The differences that a place has seen.
    let seen = |i: i64, j: i64| match (axis == q, reverse) {
        (true, true) => [i - columns + 1, i - j],
        (true, false) => [i - j, i],
        (false, true) => [i - j, rows - 1 - j],
        (false, false) => [-j, i - j],
    };
    let at = |i: i64, j: i64| counts.holds(seen(i, j), all);
    // Along a line of equal differences windows grow or shrink, as they do along the axis: what its ends agree in holds between.
    let along = |d: i64| {
        let (first, last) = ((-d).max(0), (columns - 1).min(rows - 1 - d));
        let number = at(d + first, first);
        (number == at(d + last, last)).then_some(number)
    };
    let lines: Option<Vec<i64>> = differences(shape[p], shape[q])?.map(along).collect();
    if let Some(numbers) = lines {
        return Some(Known { of: one.of, numbers });
    }
    let across = |k: i64| {
        let ends = if axis == q { [(k, 0), (k, columns - 1)] } else { [(0, k), (rows - 1, k)] };
        let [first, last] = ends.map(|(i, j)| at(i, j));
        (first == last).then_some(first)
    };
    let (stays, count) = if axis == q { (p, rows) } else { (q, columns) };
    let numbers: Vec<i64> = (0..count).map(across).collect::<Option<_>>()?;
    Some(Known { of: Of::Axis(stays), numbers })
}

#[cfg(test)]
mod tests;
