//! Partial evaluation of a loop that is unwound: what a step backwards takes of a step forwards (residuals) is kept as it is
//! computed, and where the same loop has run forwards before, it keeps it on the way.
//!
//! Inside of a Program a loop backwards takes the carries of the loop forwards alone, and computes the rest again: so it can do
//! with a few of them (`execute/snapshots.rs`). Where there is memory for all, a step forwards computes what a step backwards
//! needs besides, as a `Scan` does that was split.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use super::Map;
use super::flatten::Flat;
use super::kernel::bytes;
use crate::array::Type;
use crate::primitives::{Op, Unwind};
use crate::program::{Builder, Eqn, Program, Value, cse, dce, inline, same_inputs, with_inputs};
use crate::transform::again::{Price, computed_again};
use crate::transform::partial::{Parting, divide_keeping, split_inside, varying};

/// The bytes that are kept of a step are at most this many times those of the carry: with more, residuals are computed again.
const MOST_KEPT: usize = 4;

/// Both steps of a loop that is unwound, the first with what it keeps for the second.
#[derive(Clone, Debug)]
pub(super) struct Phases {
    /// A step forwards: takes invariants and carry, and gives the carry, whether there is another step, and the rows.
    pub(super) first: Arc<Program>,
    /// A step backwards: takes invariants, the parts of the carry that are kept, the rows, and what is carried backwards.
    pub(super) second: Arc<Program>,
    /// Which parts of the carry are kept.
    pub(super) keeps: Vec<bool>,
    /// What else is kept of a step.
    pub(super) rows: Vec<Type>,
    invariants: usize,
}

/// Where a step backwards has a residual from.
enum Residual {
    Invariant(usize),
    Carry(usize),
    /// Of invariants alone: computed again, because the loop has no place for it.
    Again(usize),
    Row(usize),
}

impl Phases {
    /// The steps of a loop.
    pub(super) fn of(op: &Unwind) -> Phases {
        let end = op.first.input_types().len();
        let invariants = end - op.carry;
        let unknown: Vec<bool> = (0..op.second.input_types().len()).map(|k| k >= end).collect();
        let second = split_inside(Cow::Borrowed(&*op.second), &unknown);
        let mut b = Builder::new();
        let inputs = same_inputs(&mut b, &op.first);
        let known: Vec<Option<Value>> = (0..unknown.len()).map(|k| inputs.get(k).copied()).collect();
        let varies = varying(&second, invariants);
        // What is made of invariants alone has no place in the loop, and costs each step what it takes.
        let price = |(value, &varies): (usize, &bool)| match varies {
            true => Price::Stacked,
            false if value < invariants => Price::Free,
            false => Price::Never,
        };
        let prices: Vec<Price> = varies.iter().enumerate().map(price).collect();
        let again = |parting: &Parting| computed_again(&second, parting, &prices);
        let parts = divide_keeping(&mut b, &second, &known, &vec![false; second.outputs().len()], again);
        let (mut again, mut rows) = (Vec::new(), Vec::new());
        let mut keeps = op.given[..op.carry].to_vec();
        let mut residuals = Vec::with_capacity(parts.residuals.len());
        for &(value, own) in &parts.residuals {
            residuals.push(match value.index() {
                k if k < invariants => Residual::Invariant(k),
                k if k < end => {
                    keeps[k - invariants] = true;
                    Residual::Carry(k - invariants)
                }
                k if varies[k] => {
                    rows.push(own);
                    Residual::Row(rows.len() - 1)
                }
                _ => {
                    again.push(own);
                    Residual::Again(again.len() - 1)
                }
            });
        }
        let types: Vec<Type> = rows.iter().map(|&row| b.ty(row).clone()).collect();
        let carried = |marks: &dyn Fn(usize) -> bool| -> usize {
            (0..op.carry).filter(|&k| marks(k)).map(|k| bytes(&op.first.input_types()[invariants + k])).sum()
        };
        let kept = carried(&|k| keeps[k]) + types.iter().map(bytes).sum::<usize>();
        if kept > MOST_KEPT * carried(&|_| true) {
            return Phases::of_carries(op);
        }
        let before = with_inputs(dce(b.clone().finish(&again)), &first(invariants, end));
        let mut backwards = Backwards::new(op, &keeps, &types);
        let again = inline(&mut backwards.b, &before, &backwards.invariants);
        let args: Vec<Value> = residuals
            .iter()
            .map(|residual| match *residual {
                Residual::Invariant(k) => backwards.invariants[k],
                Residual::Carry(k) => backwards.carry[k].expect("it is kept"),
                Residual::Again(k) => again[k],
                Residual::Row(k) => backwards.rows[k],
            })
            .chain(backwards.back.iter().copied())
            .collect();
        let outs = inline(&mut backwards.b, &parts.unknown, &args);
        let second = Arc::new(cse(backwards.b.finish(&outs)));
        Phases { first: forwards(op, b, &inputs, &rows), second, keeps, rows: types, invariants }
    }

    /// The steps of a loop of which the carries alone are kept.
    fn of_carries(op: &Unwind) -> Phases {
        let end = op.first.input_types().len();
        let invariants = end - op.carry;
        let taken = op.second.used_inputs();
        let keeps: Vec<bool> = (0..op.carry).map(|k| op.given[k] || taken[invariants + k]).collect();
        let inputs: Vec<bool> = (0..taken.len()).map(|k| k < invariants || k >= end || keeps[k - invariants]).collect();
        let mut b = Builder::new();
        let own = same_inputs(&mut b, &op.first);
        let second = Arc::new(with_inputs(Program::clone(&op.second), &inputs));
        Phases { first: forwards(op, b, &own, &[]), second, keeps, rows: Vec::new(), invariants }
    }

    /// The inputs of a step backwards that are carried.
    pub(super) fn back(&self) -> Range<usize> {
        let kept = self.keeps.iter().filter(|keeps| **keeps).count();
        self.invariants + kept + self.rows.len()..self.second.input_types().len()
    }
}

/// Marks of the first ones.
fn first(count: usize, of: usize) -> Vec<bool> {
    (0..of).map(|k| k < count).collect()
}

/// A step forwards with its condition and rows, all of which are of these inputs.
fn forwards(op: &Unwind, mut b: Builder, inputs: &[Value], rows: &[Value]) -> Arc<Program> {
    let mut results = inline(&mut b, &op.first, inputs);
    let goes_on = inline(&mut b, &op.condition, &[&inputs[..inputs.len() - op.carry], &results].concat());
    results.extend(goes_on);
    results.extend(rows);
    Arc::new(cse(dce(b.finish(&results))))
}

/// The inputs of a step backwards.
struct Backwards {
    b: Builder,
    invariants: Vec<Value>,
    carry: Vec<Option<Value>>,
    rows: Vec<Value>,
    back: Vec<Value>,
}

impl Backwards {
    fn new(op: &Unwind, keeps: &[bool], rows: &[Type]) -> Self {
        let mut b = Builder::new();
        let types = op.second.input_types();
        let end = op.first.input_types().len();
        let (before, back) = types.split_at(end);
        let (invariants, carry) = before.split_at(end - op.carry);
        let mut inputs = |types: &[Type]| -> Vec<Value> { types.iter().map(|ty| b.input("", ty.clone())).collect() };
        let invariants = inputs(invariants);
        let carry = carry.iter().zip(keeps);
        let carry = carry.map(|(ty, keeps)| keeps.then(|| inputs(std::slice::from_ref(ty))[0])).collect();
        let (rows, back) = (inputs(rows), inputs(back));
        Backwards { b, invariants, carry, rows, back }
    }
}

/// One of two equations, a loop and one backwards over it, that are planned together.
#[derive(Debug)]
pub(super) struct Recorded {
    pub(super) phases: Phases,
    /// The number of what is kept.
    pub(super) number: usize,
}

/// The loops that are unwound after the same loop has run forwards, and those loops, by their equations. Equations run in this
/// order.
pub(super) fn recorded(flat: &Flat, order: impl Iterator<Item = usize>) -> Map<usize, Recorded> {
    let eqns = flat.program.eqns();
    let mut found: Map<usize, Recorded> = Map::default();
    let mut before: Vec<(usize, SameLoop)> = Vec::new();
    for k in order {
        match &eqns[k].op {
            // A loop without a number as a result is no step of the plan.
            Op::While(op) if eqns[k].outs().any(|out| flat.program.ty(out).size() > 0) => {
                let steps = (&*op.body, &*op.condition);
                before.push((k, SameLoop::of(flat, &eqns[k], steps, op.given.len(), op.bounds.limit)));
            }
            Op::Unwind(op) if op.bounds.snapshots.is_none() && op.carry > 0 => {
                let own = SameLoop::of(flat, &eqns[k], (&op.first, &op.condition), op.carry, op.bounds.limit);
                let Some(place) = before.iter().position(|(_, other)| *other == own) else { continue };
                let phases = Phases::of(op);
                let earlier = before[place].0;
                let Some(first) = of_operands(&phases.first, &eqns[k], &eqns[earlier], op.carry) else { continue };
                before.swap_remove(place);
                let number = found.len() / 2;
                found.insert(earlier, Recorded { phases: Phases { first, ..phases.clone() }, number });
                found.insert(k, Recorded { phases, number });
            }
            _ => {}
        }
    }
    found
}

/// What a loop forwards does, wherever its operands stand.
#[derive(PartialEq)]
struct SameLoop {
    /// The operands that its steps and its condition use, without those of the carry.
    invariants: Vec<Value>,
    carry: Vec<Value>,
    step: Program,
    limit: Option<usize>,
}

impl SameLoop {
    fn of(
        flat: &Flat,
        eqn: &Eqn,
        (step, condition): (&Program, &Program),
        carry: usize,
        limit: Option<usize>,
    ) -> SameLoop {
        let count = step.input_types().len() - carry;
        let (of_step, of_condition) = (step.used_inputs(), condition.used_inputs());
        let used = (0..count).filter(|&k| of_step[k] || of_condition[k]);
        let mut invariants: Vec<Value> = used.map(|k| eqn.args[k]).collect();
        invariants.sort_unstable();
        invariants.dedup();
        let mut b = Builder::new();
        let inputs: Vec<Value> = invariants.iter().map(|&value| b.input("", flat.program.ty(value).clone())).collect();
        let own: Vec<Value> = step.input_types()[count..].iter().map(|ty| b.input("", ty.clone())).collect();
        // What is not used can be anything.
        let of = |arg: &Value| invariants.binary_search(arg).map_or(own[0], |place| inputs[place]);
        let args: Vec<Value> = eqn.args[..count].iter().map(of).chain(own.iter().copied()).collect();
        let mut results = inline(&mut b, step, &args);
        let goes_on = inline(&mut b, condition, &[&args[..count], &results].concat());
        results.extend(goes_on);
        let carry = eqn.args[count..count + carry].to_vec();
        SameLoop { invariants, carry, step: cse(dce(b.finish(&results))), limit }
    }
}

/// A step of one equation's loop as a step of the other one's, which has the same carry; `None` if it uses an operand that
/// the other one does not have.
fn of_operands(step: &Program, eqn: &Eqn, other: &Eqn, carry: usize) -> Option<Arc<Program>> {
    let count = step.input_types().len() - carry;
    let theirs = other.args.len() - carry;
    let used = step.used_inputs();
    let place = |k: usize| match other.args[..theirs].iter().position(|arg| *arg == eqn.args[k]) {
        Some(place) => Some(place),
        // What is not used can be anything.
        None => (!used[k]).then_some(theirs),
    };
    let places: Vec<usize> = (0..count).map(place).collect::<Option<_>>()?;
    let Op::While(op) = &other.op else { return None };
    let mut b = Builder::new();
    let inputs = same_inputs(&mut b, &op.body);
    let args: Vec<Value> = places.into_iter().chain(theirs..inputs.len()).map(|k| inputs[k]).collect();
    let results = inline(&mut b, step, &args);
    Some(Arc::new(b.finish(&results)))
}
