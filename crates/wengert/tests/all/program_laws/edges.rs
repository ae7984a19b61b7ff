//! The edges of domains in the branch of a `select` that is not taken: nothing of them reaches a
//! derivative, of order 1 or 2, in any mode. The measure is the same Program with the argument made
//! harmless by a `select` of its own before the function.

use std::collections::BTreeMap;

use wengert::ops::{Binary, Unary};
use wengert::primitives::{
    Broadcast, Concat, Conv, Cumulative, DynamicUpdate, Einsum, Gather, Literal, Op, OutOfBounds, Pad, Permute,
    Recurrence, Reduce, Reducer, Reshape, Reverse, Running, Scatter, Select, Write,
};
use wengert::{Array, Builder, DType, Error, Program, Type, Value};

use crate::support::{Random, array, compare, epsilon, flat};

/// Where functions have edges, poles, kinks and overflow.
const EDGES: [f64; 13] =
    [0.0, -0.0, 1.0, -1.0, -2.0, 0.5, -0.5, 3.0, 800.0, -1e300, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];

/// What happens to the function's values before the `select`.
#[derive(Clone, Copy, Debug, PartialEq)]
enum After {
    Nothing,
    Squared,
    Exp,
    Times,
    By,
    Reversed,
    Moved,
    Padded,
    Joined,
    Reduced(Reducer),
    Running(Running, bool),
    Recurrence,
    Matrix,
    Contracted,
    Convolved,
    Gathered,
    Scattered,
    Written,
}

const AFTER: [After; 25] = [
    After::Nothing,
    After::Squared,
    After::Exp,
    After::Times,
    After::By,
    After::Reversed,
    After::Moved,
    After::Padded,
    After::Joined,
    After::Reduced(Reducer::Sum),
    After::Reduced(Reducer::Prod),
    After::Reduced(Reducer::Max),
    After::Reduced(Reducer::Min),
    After::Running(Running::Sum, false),
    After::Running(Running::Sum, true),
    After::Running(Running::Prod, true),
    After::Running(Running::Max, true),
    After::Running(Running::Logsumexp, true),
    After::Recurrence,
    After::Matrix,
    After::Contracted,
    After::Convolved,
    After::Gathered,
    After::Scattered,
    After::Written,
];

/// For functions of two arguments, whose pairs of edges are many: one of each way to meet a mask.
const AFTER_TWO: [After; 6] = [
    After::Nothing,
    After::Exp,
    After::Reduced(Reducer::Prod),
    After::Running(Running::Logsumexp, true),
    After::Recurrence,
    After::Contracted,
];

fn constants(b: &mut Builder, dtype: DType, numbers: &[f64]) -> Result<Value, Error> {
    let mut parts = Vec::new();
    for &number in numbers {
        let scalar = b.emit(Literal::of(number, dtype), &[])?[0];
        parts.push(b.emit(Reshape::new(&[1]), &[scalar])?[0]);
    }
    Ok(b.emit(Concat { axis: 0 }, &parts)?[0])
}

/// Index vectors of one number each.
fn indices(b: &mut Builder, numbers: &[i64]) -> Result<Value, Error> {
    let mut parts = Vec::new();
    for &number in numbers {
        let scalar = b.emit(Literal::I64(number), &[])?[0];
        parts.push(b.emit(Reshape::new(&[1, 1]), &[scalar])?[0]);
    }
    Ok(b.emit(Concat { axis: 0 }, &parts)?[0])
}

impl After {
    fn emit(self, b: &mut Builder, x: Value) -> Result<Value, Error> {
        let dtype = b.ty(x).dtype;
        let op: Op = match self {
            After::Nothing => return Ok(x),
            After::Squared => return Ok(b.emit(Binary::Mul, &[x, x])?[0]),
            After::Exp => Unary::Exp.into(),
            After::Times => {
                let weights = constants(b, dtype, &[0.5, -1.5])?;
                return Ok(b.emit(Binary::Mul, &[x, weights])?[0]);
            }
            After::By => {
                let weights = constants(b, dtype, &[0.5, -1.5])?;
                return Ok(b.emit(Binary::Div, &[weights, x])?[0]);
            }
            After::Reversed => Reverse::new(&[0]).into(),
            After::Moved => {
                let column = b.emit(Reshape::new(&[2, 1]), &[x])?[0];
                return Ok(b.emit(Permute::new(&[1, 0]), &[column])?[0]);
            }
            After::Padded => {
                let zero = b.emit(Literal::of(0.0, dtype), &[])?[0];
                let pad = Pad { low: vec![1], high: vec![0], interior: vec![1] };
                return Ok(b.emit(pad, &[x, zero])?[0]);
            }
            After::Joined => return Ok(b.emit(Concat { axis: 0 }, &[x, x])?[0]),
            After::Reduced(reducer) => Reduce::new(reducer, &[0]).into(),
            After::Running(running, reverse) => Cumulative::new(running, 0, reverse).into(),
            After::Recurrence => {
                let factors = constants(b, dtype, &[0.5, -1.5])?;
                return Ok(b.emit(Recurrence { axis: 0, reverse: true }, &[factors, x])?[0]);
            }
            After::Contracted => {
                let weights = constants(b, dtype, &[0.5, -1.5, 2.0, 0.25, -0.75, 1.0])?;
                let weights = b.emit(Reshape::new(&[3, 2]), &[weights])?[0];
                let einsum = Einsum::new("ij,j->i").unwrap_or_else(|why| panic!("{}", why.0));
                return Ok(b.emit(einsum, &[weights, x])?[0]);
            }
            After::Convolved => {
                let signal = b.emit(Reshape::new(&[1, 1, 2]), &[x])?[0];
                let kernel = constants(b, dtype, &[0.5, -1.5])?;
                let kernel = b.emit(Reshape::new(&[1, 1, 2]), &[kernel])?[0];
                let mut conv = Conv::new(1);
                conv.padding[0] = (1, 1);
                return Ok(b.emit(conv, &[signal, kernel])?[0]);
            }
            After::Gathered => {
                let indices = indices(b, &[1, 0, 1])?;
                return Ok(b.emit(Gather::new(&[0], OutOfBounds::Clamp), &[x, indices])?[0]);
            }
            After::Scattered => {
                let zeros = b.full(0.0, &Type::new(dtype, &[3]));
                let indices = indices(b, &[2, 0])?;
                return Ok(b.emit(Scatter::new(&[0], OutOfBounds::Fill, Write::Add), &[zeros, indices, x])?[0]);
            }
            After::Written => {
                let zeros = b.full(0.0, &Type::new(dtype, &[4]));
                let start = indices(b, &[1])?;
                let start = b.emit(Reshape::new(&[1]), &[start])?[0];
                return Ok(b.emit(DynamicUpdate, &[zeros, x, start])?[0]);
            }
            After::Matrix => {
                let rows = b.emit(Broadcast::new(&[3, 2], &[1]), &[x])?[0];
                let weights = constants(b, dtype, &[0.5, -1.5, 2.0, 0.25, -0.75, 1.0])?;
                let weights = b.emit(Reshape::new(&[3, 2]), &[weights])?[0];
                let products = b.emit(Binary::Mul, &[rows, weights])?[0];
                return Ok(b.emit(Reduce::new(Reducer::Sum, &[1]), &[products])?[0]);
            }
        };
        Ok(b.emit(op, &[x])?[0])
    }

    /// Which results depend on the first element: by adding up marks of it.
    fn reached(self) -> Result<Array, Error> {
        let mut b = Builder::new();
        let x = b.input("", Type::new(DType::F64, &[2]));
        let y = match self {
            After::By | After::Exp | After::Squared => x,
            After::Reduced(_) => After::Reduced(Reducer::Sum).emit(&mut b, x)?,
            After::Running(_, reverse) => After::Running(Running::Sum, reverse).emit(&mut b, x)?,
            other => other.emit(&mut b, x)?,
        };
        let program = b.finish(&[y]);
        let marks = program.run_reference(&[Array::new(&[2], vec![1.0, 0.0])])?;
        Ok(array(&marks[0].ty().with_dtype(DType::Bool), &marks[0].to_f64()))
    }
}

/// A Program of x, perhaps y, the elements that stand at an edge, the results that are not taken,
/// and z, which is taken instead.
fn program(
    op: &Op,
    dtype: DType,
    safe: [f64; 2],
    operands: usize,
    after: After,
    harmless: bool,
) -> Result<(Program, Array), Error> {
    let mut b = Builder::new();
    let ty = Type::new(dtype, &[2]);
    let reached = after.reached()?;
    let mut args: Vec<Value> = (0..operands).map(|_| b.input("", ty.clone())).collect();
    let at_edge = b.input("at_edge", ty.with_dtype(DType::Bool));
    let not_taken = b.input("not_taken", reached.ty().clone());
    let z = b.input("z", reached.ty().with_dtype(dtype));
    if harmless {
        for (arg, safe) in args.iter_mut().zip(safe) {
            let safe = b.full(safe, &ty);
            *arg = b.emit(Select, &[at_edge, safe, *arg])?[0];
        }
    }
    let f = b.emit(op.clone(), &args)?[0];
    let f = after.emit(&mut b, f)?;
    let instead = b.emit(Unary::Sin, &[z])?[0];
    let y = b.emit(Select, &[not_taken, instead, f])?[0];
    // The derivative of order 2 should not vanish for linear functions.
    let y = b.emit(Binary::Mul, &[y, y])?[0];
    Ok((b.finish(&[y]), reached))
}

/// Derivatives of a Program of order 1 and 2 in every mode, and what they take after its operands.
pub(crate) fn derivatives(program: &Program) -> Result<Vec<(&'static str, Program)>, Error> {
    let active = |program: &Program| program.input_types().iter().map(|ty| ty.dtype.is_float()).collect::<Vec<bool>>();
    let (jvp, vjp) = (program.jvp(&active(program))?, program.vjp(&active(program))?);
    Ok(vec![
        ("forward over forward", jvp.jvp(&active(&jvp))?),
        ("reverse over forward", jvp.vjp(&active(&jvp))?),
        ("forward over reverse", vjp.jvp(&active(&vjp))?),
        ("reverse over reverse", vjp.vjp(&active(&vjp))?),
        ("forward", jvp),
        ("reverse", vjp),
    ])
}

/// Runs the derivatives at the edges beside a harmless point; gives how many were compared.
fn check(
    op: Op,
    dtype: DType,
    after: &[After],
    edges: &[[f64; 2]],
    beside: [f64; 2],
    failures: &mut Vec<String>,
) -> Result<usize, Error> {
    let operands = if matches!(op, Op::Unary(_)) { 1 } else { 2 };
    let ty = Type::new(dtype, &[2]);
    let mut compared = 0;
    for &after in after {
        let (edgy, reached) = program(&op, dtype, beside, operands, after, false)?;
        let (harmless, _) = program(&op, dtype, beside, operands, after, true)?;
        for ((mode, edgy), (_, harmless)) in derivatives(&edgy)?.into_iter().zip(derivatives(&harmless)?) {
            let mut random = Random::new(3);
            let mut args: Vec<Array> = beside[..operands].iter().map(|&x| array(&ty, &[x, x])).collect();
            args.push(Array::new(&[2], vec![true, false]));
            args.push(reached.clone());
            args.extend(edgy.input_types()[args.len()..].iter().map(|ty| random.directions(ty)));
            // What is taken does not depend on the edge.
            let wanted = flat(&harmless.run_reference(&args)?);
            for edge in edges {
                for k in 0..operands {
                    args[k] = array(&ty, &[edge[k], beside[k]]);
                }
                let got = flat(&edgy.run_reference(&args)?);
                let checked = compare(mode, &got, &wanted, |k| 64.0 * epsilon(dtype) * wanted[k].abs().max(1.0));
                compared += 1;
                if let Err(why) = checked {
                    failures.push(format!("{op:?} at {edge:?}, then {after:?}: {why}"));
                }
            }
        }
    }
    Ok(compared)
}

fn report(failures: &[String], compared: usize, least: usize) {
    // A few of every kind, which is told by what comes after the edge.
    let mut kinds: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for failure in failures {
        let kind = failure.split("then").nth(1).and_then(|text| text.split(" number").next()).unwrap_or_default();
        kinds.entry(kind).or_default().push(failure);
    }
    let some: Vec<String> = kinds
        .iter()
        .map(|(kind, all)| format!("{kind}: {}\n  {}", all.len(), all[..all.len().min(3)].join("\n  ")))
        .collect();
    assert!(failures.is_empty(), "{} of {compared} fail:\n{}", failures.len(), some.join("\n"));
    assert!(compared > least, "only {compared} compared");
}

#[test]
fn functions_of_one_argument_that_are_not_taken_leave_no_trace() -> Result<(), Error> {
    let (mut failures, mut compared) = (Vec::new(), 0);
    for &op in Unary::ALL {
        let edges: Vec<[f64; 2]> = EDGES.iter().map(|&x| [x, 0.0]).collect();
        let samples = op.samples();
        compared += check(op.into(), DType::F64, &AFTER, &edges, [samples[samples.len() - 1], 0.0], &mut failures)?;
    }
    report(&failures, compared, 10_000);
    Ok(())
}

#[test]
fn single_precision_that_is_not_taken_leaves_no_trace() -> Result<(), Error> {
    let (mut failures, mut compared) = (Vec::new(), 0);
    for op in [Unary::Sqrt, Unary::Ln, Unary::Recip, Unary::Exp] {
        let edges: Vec<[f64; 2]> = EDGES.iter().map(|&x| [x, 0.0]).collect();
        compared += check(op.into(), DType::F32, &AFTER, &edges, [op.samples()[1], 0.0], &mut failures)?;
    }
    report(&failures, compared, 4 * 13 * AFTER.len());
    Ok(())
}

#[test]
fn functions_of_two_arguments_that_are_not_taken_leave_no_trace() -> Result<(), Error> {
    let (mut failures, mut compared) = (Vec::new(), 0);
    for &op in Binary::ALL {
        let edges: Vec<[f64; 2]> = EDGES.iter().flat_map(|&x| EDGES.map(|y| [x, y])).collect();
        let (x, y) = op.samples()[0];
        compared += check(op.into(), DType::F64, &AFTER_TWO, &edges, [x, y], &mut failures)?;
    }
    report(&failures, compared, 10_000);
    Ok(())
}
