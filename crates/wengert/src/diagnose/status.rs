//! Whether a derivative of a function of tensors reaches its inputs, or was cut on the way.

use std::convert::Infallible;

use super::{Cut, Status};
use crate::error::{Line, OrRaise};
use crate::ops::Unary;
use crate::primitives::{Op, Wiring};
use crate::program::{Builder, Eqn, Program, Value, same_inputs};
use crate::tensor::graph::Closed;
use crate::transform::linearize::linearize;

/// The status of every leaf.
pub(super) fn statuses(closed: &Closed, line: Line) -> Vec<Status> {
    let program = &closed.program;
    let mut b = Builder::new();
    let args = same_inputs(&mut b, program);
    let active: Vec<bool> = (0..args.len()).map(|k| k < closed.leaves).collect();
    let (outs, linear) = linearize(&mut b, program, &args, &active).or_raise();
    let mut cotangents = vec![None; outs.len()];
    let ty = b.ty(outs[0]).clone();
    cotangents[0] = Some(b.full(1.0, &ty));
    let pulled = linear.pull(&mut b, &cotangents).or_raise();
    let connected = |ct: &Option<Value>| if ct.is_some() { Status::Connected } else { Status::Zero };
    let statuses = pulled[..closed.leaves].iter().map(connected);
    let inputs: Vec<Ways> = (0..args.len()).map(|k| Ways::from_input(k, closed.leaves)).collect();
    let values = ways(program, inputs, line);
    // Nobody knows where a number that was taken out goes, so it counts as used.
    let used = program.outputs().iter().chain(&closed.taken).map(|value| &values[value.index()]);
    let all = used.fold(Ways::none(closed.leaves), |all, ways| all.or(ways));
    let severed = |(status, way): (Status, Way)| way.cut.map_or(status, Status::Severed);
    statuses.zip(all.0).map(severed).collect()
}

/// How a value depends on one leaf, with a derivative that is not zero by its nature.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Way {
    /// Without a cut.
    whole: bool,
    /// Through a cut, the first that was found.
    cut: Option<Cut>,
}

/// How it depends on each of the leaves.
#[derive(Clone, Debug, PartialEq)]
struct Ways(Vec<Way>);

impl Ways {
    fn none(leaves: usize) -> Self {
        Ways(vec![Way::default(); leaves])
    }

    fn from_input(k: usize, leaves: usize) -> Self {
        let mut ways = Ways::none(leaves);
        if let Some(way) = ways.0.get_mut(k) {
            way.whole = true;
        }
        ways
    }

    fn or(mut self, other: &Ways) -> Self {
        for (way, other) in self.0.iter_mut().zip(&other.0) {
            *way = Way { whole: way.whole || other.whole, cut: way.cut.or(other.cut) };
        }
        self
    }

    /// Behind a cut.
    fn behind(mut self, cut: Cut) -> Self {
        for way in &mut self.0 {
            *way = Way { whole: false, cut: way.cut.or(way.whole.then_some(cut)) };
        }
        self
    }
}

/// How all values of a Program depend on the leaves, as its inputs do.
fn ways(program: &Program, inputs: Vec<Ways>, line: Line) -> Vec<Ways> {
    let leaves = inputs.first().map_or(0, |ways| ways.0.len());
    let mut values = inputs;
    for eqn in program.eqns() {
        let args: Vec<Ways> = eqn.args.iter().map(|arg| values[arg.index()].clone()).collect();
        let at = eqn.line.unwrap_or(line);
        let results = through(eqn, &args, at).unwrap_or_else(|| {
            let all = if is_flat(&eqn.op) { Ways::none(leaves) } else { joined(&args, leaves) };
            let result = match cut(eqn, program, at) {
                Some(cut) => all.behind(cut),
                None => all,
            };
            vec![result; eqn.outs().len()]
        });
        values.extend(results);
    }
    values
}

fn joined(args: &[Ways], leaves: usize) -> Ways {
    args.iter().fold(Ways::none(leaves), |all, ways| all.or(ways))
}

/// The same of the results of a branch or a loop: each by what it comes from inside.
fn through(eqn: &Eqn, args: &[Ways], line: Line) -> Option<Vec<Ways>> {
    // The derivative of a custom operation is its rule; what happens inside its value does not count.
    if matches!(eqn.op, Op::Custom(_)) || args.is_empty() {
        return None;
    }
    let run = |program: &Program, inputs: &[Ways]| -> Result<Vec<Ways>, Infallible> {
        let values = ways(program, inputs.to_vec(), line);
        Ok(program.outputs().iter().map(|output| values[output.index()].clone()).collect())
    };
    let results = eqn.op.wiring().flow(&eqn.op, args, run, |one, other| Ok(one.or(&other)))?;
    results.ok()
}

/// An operation whose derivative is zero by its nature, not by a cut.
fn is_flat(op: &Op) -> bool {
    match op {
        Op::Unary(op) => op.is_flat() && *op != Unary::Detach,
        Op::Compare(_) | Op::Logic(_) | Op::ArgReduce(_) | Op::ArgSort(_) | Op::WindowArg(_) => true,
        _ => false,
    }
}

/// Whether the operation cuts the derivative, or an equation that defines its result does.
fn cut(eqn: &Eqn, program: &Program, at: Line) -> Option<Cut> {
    let by = match &eqn.op {
        Op::Unary(Unary::Detach) => Some("detach"),
        Op::Convert(to) if !to.0.is_float() && program.ty(eqn.args[0]).dtype.is_float() => Some("convert"),
        Op::Custom(custom) if custom.surrogate => Some("surrogate"),
        Op::Foreign(foreign) if foreign.code.is_surrogate => Some("surrogate"),
        _ => None,
    };
    if let Some(by) = by {
        return Some(Cut { by, at });
    }
    let programs = match &eqn.op {
        Op::Custom(_) => Vec::new(),
        // What happens inside a solver does not count.
        Op::Implicit(implicit) => vec![&implicit.equation],
        op if op.wiring() == Wiring::Apart => op.programs(),
        _ => Vec::new(),
    };
    let inside = |inner: &Program| {
        let leaves = inner.input_types().len();
        let values = ways(inner, (0..leaves).map(|k| Ways::from_input(k, leaves)).collect(), at);
        inner.outputs().iter().find_map(|output| values[output.index()].0.iter().find_map(|way| way.cut))
    };
    programs.into_iter().find_map(|program| inside(program))
}
