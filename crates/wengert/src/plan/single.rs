//! Steps over a few numbers, as straight-line code: no steps of a plan, no operands, no memory of their own.
//!
//! A step of a plan takes a tenth of a microsecond to begin, and a number a nanosecond to compute. Where a loop carries a few
//! numbers its body becomes the list that recordings of scalars are (`straight/`), and a trip is one run of its code. It has the
//! bits of the plan: functions are those of many numbers, sums are joined by the trees of regions, and products of matrices add up
//! as those do (`lanes/scalars.rs`).

use std::ops::Range;

use wengert_kernels::region::Kind;
use wengert_kernels::straight::{Code, Op as Instruction};

use super::Plan;
use super::cluster::computes;
use super::flatten::{Flattening, flatten};
use super::lanes::scalars::{Load, Scalars};
use crate::array::DType;
use crate::primitives::Op;
use crate::program::{Program, Value};
use crate::straight;
use crate::straight::list::{Func, List, Node};

/// A step as code.
#[derive(Debug)]
pub(crate) struct NumberSteps {
    pub(crate) code: Code,
    /// What the inputs of the code are: elements of invariants, of the carry and of rows, each counted by itself.
    pub(crate) invariants: Vec<Feed>,
    pub(crate) carry: Vec<Feed>,
    pub(crate) rows: Vec<Feed>,
    /// The place of the first result of each output; the others follow it.
    pub(crate) outputs: Vec<usize>,
}

/// An input of the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Feed {
    /// Its place.
    pub(crate) place: usize,
    /// Which operand it is of, and which of its elements.
    pub(crate) operand: usize,
    pub(crate) element: usize,
}

/// The most elements of an array, the most equations, and the most scalar operations of a step.
const MAX_ELEMENTS: usize = 64;
pub(super) const MAX_EQNS: usize = 256;
pub(super) const MAX_OPERATIONS: usize = 1024;

/// What an instruction, a function, and a step of a plan take, in nanoseconds.
const INSTRUCTION: f64 = 1.5;
pub(super) const CALL: f64 = 12.0;
pub(super) const STEP: f64 = 150.0;

impl NumberSteps {
    /// The code of a step with this plan, of whose inputs those at `carry` are the carry; `None` if it is not all numbers, or
    /// would be slower.
    pub(super) fn new(step: &Program, plan: &Plan, carry: &Range<usize>) -> Option<NumberSteps> {
        if step.eqns().len() > MAX_EQNS || !values(step).all(|value| is_small(step, value)) {
            return None;
        }
        let flat = flatten(step.clone(), Flattening { written: false, keeps_copies: true, copies_gathered: false });
        let mut scalars = Scalars::new(&flat, None);
        for k in (0..flat.program.eqns().len()).filter(|&k| computes(&flat, k)) {
            if !is_scalar(&flat.program.eqns()[k].op) {
                return None;
            }
            scalars.eqn(k);
            if scalars.list.len() > MAX_OPERATIONS {
                return None;
            }
        }
        let (mut results, mut outputs) = (Vec::new(), Vec::new());
        for &output in flat.program.outputs() {
            outputs.push(results.len());
            results.extend(scalars.operand(output, None));
        }
        let Scalars { list, loads, .. } = scalars;
        let computed = (0..list.len()).all(|k| is_computed(&list, Node(k as u32)));
        if !computed || !results.iter().all(|&node| is_stored(&list, node)) {
            return None;
        }
        let kept = loads.iter().map(|(value, ..)| value.index() < carry.start).collect();
        let code = straight::code(list, kept, results);
        outputs.iter_mut().for_each(|first| *first += code.parts().results_at);
        let feeds = |inputs: Range<usize>| -> Vec<Feed> {
            let all = loads.iter().enumerate().filter(|(_, (value, ..))| inputs.contains(&value.index()));
            let feed = |(place, &(value, element, _)): (usize, &Load)| Feed {
                place,
                operand: value.index() - inputs.start,
                element,
            };
            all.map(feed).collect()
        };
        let [invariants, carried, rows] = [0..carry.start, carry.clone(), carry.end..usize::MAX].map(feeds);
        let steps = NumberSteps { code, invariants, carry: carried, rows, outputs };
        (steps.time() < STEP * plan.steps().len() as f64 + plan.operations() as f64).then_some(steps)
    }

    /// Nanoseconds of a step.
    fn time(&self) -> f64 {
        let calls = |op: Instruction| is_function(op) || is_call(op);
        let each = self.code.parts().code.iter().map(|instr| if calls(instr.op) { CALL } else { INSTRUCTION });
        each.sum::<f64>() + INSTRUCTION * (self.carry.len() + self.rows.len()) as f64
    }
}

/// Whether an instruction is a function with a loop of its own where there are many numbers.
pub(super) fn is_function(op: Instruction) -> bool {
    matches!(op, Instruction::Unary(_) | Instruction::Binary(_) | Instruction::Twin(_))
}

/// Whether an instruction calls a function for every number.
pub(super) fn is_call(op: Instruction) -> bool {
    matches!(op, Instruction::Call1 | Instruction::Call2)
}

pub(super) fn values(step: &Program) -> impl Iterator<Item = Value> {
    step.inputs().chain(step.eqns().iter().flat_map(|eqn| eqn.outs()))
}

/// Whether a value is a few numbers, or counts them.
fn is_small(step: &Program, value: Value) -> bool {
    let ty = step.ty(value);
    ty.dtype != DType::F32 && ty.size() <= MAX_ELEMENTS && ty.size() > 0
}

/// Whether an operation is one of scalar operations.
fn is_scalar(op: &Op) -> bool {
    let is_elementwise = matches!(op, Op::Unary(_) | Op::Binary(_) | Op::Compare(_) | Op::Logic(_));
    is_elementwise
        || matches!(op, Op::Select(_) | Op::Convert(_) | Op::Concat(_) | Op::Pad(_) | Op::Update(_))
        || matches!(op, Op::Einsum(_) | Op::Reduce(_))
}

/// Whether the code can compute an operation: real numbers in double precision, conditions, and integers that are only read.
pub(super) fn is_computed(list: &List, node: Node) -> bool {
    let scalar = list.get(node);
    match scalar.func {
        Func::Input(_) => scalar.kind != Kind::F32,
        // An integer is fed as the real number that it is converted to; what has been computed is a condition.
        Func::Convert(to) => {
            let from_input = scalar.from == Kind::I64 && matches!(list.get(scalar.args[0]).func, Func::Input(_));
            to == Kind::F64 && (scalar.from == Kind::U8 || from_input)
        }
        Func::Number(_) => matches!(scalar.kind, Kind::F64 | Kind::U8),
        _ => matches!(scalar.kind, Kind::F64 | Kind::U8) && matches!(scalar.from, Kind::F64 | Kind::U8),
    }
}

/// Whether an operation can be a result.
pub(super) fn is_stored(list: &List, node: Node) -> bool {
    matches!(list.get(node).kind, Kind::F64 | Kind::U8)
}

#[cfg(all(test, feature = "text"))]
mod tests;
