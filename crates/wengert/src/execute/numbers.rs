//! Varying numbers: real literals of a recorded Program that become operands of what is derived from it.
//!
//! A plain number that a function captures is a literal where it is recorded, so that rewrites see it: `x * 1` is `x`. One
//! that changes from call to call, a step size or a schedule, would ask for a new plan each time. So Programs that differ
//! in such literals alone are recognised, and the literals that were seen to differ become inputs, behind the others.
//!
//! No bit changes. A literal may become an input only if everything computed from it and other constants alone moves, adds,
//! subtracts, multiplies, divides, compares or chooses: these have one right result, whether they are folded or run. An
//! exponent stays a literal. So does a zero, which rules of derivatives look for. Equal numbers become one input, and
//! Programs differ that have the same numbers equal in other places: what is computed of equal numbers is equal, is computed
//! once, and its cotangents meet before they go on.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::mem::discriminant;
use std::sync::Arc;

use crate::array::{Array, Type};
use crate::hash::FastHasher;
use crate::ops::{Binary, Unary};
use crate::primitives::{Choice, Cond, Form, Literal, Op, Recompute};
use crate::program::{Builder, Eqn, Program, Value, inline};

/// How numbers occur in an equation.
enum Occurrence<'a> {
    /// A real literal: it has the next number.
    Number(Literal),
    /// A region; the numbers in it follow in order.
    Region(&'a Program),
    /// A choice between Programs; the numbers in all of them follow in order.
    Choice(&'a Cond),
    /// Anything else: literals in it are part of the structure.
    Other,
}

fn occurrence(eqn: &Eqn) -> Occurrence<'_> {
    match &eqn.op {
        Op::Literal(literal @ (Literal::F32(_) | Literal::F64(_))) => Occurrence::Number(*literal),
        Op::Recompute(region) => Occurrence::Region(&region.program),
        Op::Cond(cond) if cond.by != Choice::Joint => Occurrence::Choice(cond),
        _ => Occurrence::Other,
    }
}

/// Hashes all but the values of numbers.
pub(super) fn hash_structure(program: &Program, state: &mut impl Hasher) {
    program.input_types().hash(state);
    program.outputs().hash(state);
    for eqn in program.eqns() {
        match occurrence(eqn) {
            Occurrence::Number(literal) => discriminant(&literal).hash(state),
            Occurrence::Region(region) => hash_structure(region, state),
            Occurrence::Choice(cond) => {
                (cond.by, cond.branches.len()).hash(state);
                cond.branches.iter().for_each(|branch| hash_structure(branch, state));
            }
            Occurrence::Other => eqn.op.hash(state),
        }
        eqn.args.hash(state);
    }
}

/// Whether two Programs are equal but for numbers, and for every number that differs `may` says yes: it is asked with the
/// number's place.
pub(super) fn is_same(own: &Program, other: &Program, may: &mut impl FnMut(usize) -> bool) -> bool {
    is_same_from(own, other, &mut 0, may)
}

fn is_same_from(own: &Program, other: &Program, place: &mut usize, may: &mut impl FnMut(usize) -> bool) -> bool {
    let is_alike = own.types == other.types
        && own.inputs().len() == other.inputs().len()
        && own.outputs() == other.outputs()
        && own.eqns().len() == other.eqns().len();
    is_alike
        && own.eqns().iter().zip(other.eqns()).all(|(a, b)| {
            let same = match (occurrence(a), occurrence(b)) {
                (Occurrence::Number(x), Occurrence::Number(y)) => {
                    let number = *place;
                    *place += 1;
                    x == y || (x.dtype() == y.dtype() && may(number))
                }
                (Occurrence::Region(x), Occurrence::Region(y)) => is_same_from(x, y, place, may),
                (Occurrence::Choice(x), Occurrence::Choice(y)) => {
                    let mut branches = x.branches.iter().zip(&y.branches);
                    x.by == y.by
                        && x.branches.len() == y.branches.len()
                        && branches.all(|(x, y)| is_same_from(x, y, place, may))
                }
                (Occurrence::Other, Occurrence::Other) => a.op == b.op,
                _ => false,
            };
            same && a.args == b.args
        })
}

/// The numbers of a Program, and which are equal.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Numbers {
    all: Vec<Literal>,
    /// For every number: the place of the first one that is equal.
    first: Vec<usize>,
}

impl Numbers {
    pub(super) fn of(program: &Program) -> Self {
        let mut all = Vec::new();
        collect(program, &mut all);
        let mut places: HashMap<Literal, usize, BuildHasherDefault<FastHasher>> = HashMap::default();
        let first = all.iter().enumerate().map(|(place, number)| *places.entry(*number).or_insert(place)).collect();
        Numbers { all, first }
    }

    pub(super) fn count(&self) -> usize {
        self.all.len()
    }

    /// Whether equal numbers stand in the same places.
    pub(super) fn are_equal_where(&self, other: &Numbers) -> bool {
        self.first == other.first
    }

    /// The wanted numbers that may be inputs: none that is zero, of either sign, because rules look for those, and equal
    /// ones together.
    pub(super) fn operands(&self, wanted: &[bool]) -> Vec<bool> {
        let mut fits: Vec<bool> = self.all.iter().map(|number| !number.is_zero()).collect();
        self.first.iter().zip(wanted).for_each(|(&first, &wanted)| fits[first] &= wanted);
        self.first.iter().map(|&first| fits[first]).collect()
    }

    /// The values of the inputs that the marked numbers become, in order.
    pub(super) fn values(&self, marked: &[bool]) -> Vec<Literal> {
        let inputs = (0..self.all.len()).filter(|&place| marked[place] && self.first[place] == place);
        inputs.map(|place| self.all[place]).collect()
    }

    /// Whether the marked ones are still numbers that may be inputs.
    pub(super) fn may_be(&self, marked: &[bool]) -> bool {
        self.all.iter().zip(marked).all(|(number, marked)| !marked || !number.is_zero())
    }
}

fn collect(program: &Program, numbers: &mut Vec<Literal>) {
    for eqn in program.eqns() {
        match occurrence(eqn) {
            Occurrence::Number(literal) => numbers.push(literal),
            Occurrence::Region(region) => collect(region, numbers),
            Occurrence::Choice(cond) => cond.branches.iter().for_each(|branch| collect(branch, numbers)),
            Occurrence::Other => {}
        }
    }
}

/// A number as an array.
pub(super) fn array(literal: Literal) -> Array {
    match literal {
        Literal::Bool(x) => Array::scalar(x),
        Literal::I64(x) => Array::scalar(x),
        Literal::F32(x) => Array::scalar(x),
        Literal::F64(x) => Array::scalar(x),
    }
}

/// For every number, whether it may become an input without a bit changing.
pub(super) fn movable(program: &Program) -> Vec<bool> {
    let mut constant = vec![false; program.types.len()];
    for eqn in program.eqns() {
        let is_constant = match eqn.op {
            Op::Literal(_) => true,
            _ => !eqn.args.is_empty() && eqn.args.iter().all(|arg| constant[arg.index()]),
        };
        eqn.outs().for_each(|out| constant[out.index()] = is_constant);
    }
    // From the back: whether everything that is computed from a constant, and from constants alone, is exact.
    let mut fits = vec![true; program.types.len()];
    for eqn in program.eqns().iter().rev() {
        let behind = eqn.outs().all(|out| !constant[out.index()] || fits[out.index()]);
        if !(is_exact(&eqn.op) && behind) {
            eqn.args.iter().for_each(|arg| fits[arg.index()] = false);
        }
    }
    let mut marks = Vec::new();
    for eqn in program.eqns() {
        match occurrence(eqn) {
            Occurrence::Number(_) => marks.push(fits[eqn.first.index()]),
            Occurrence::Region(region) => marks.extend(movable(region)),
            Occurrence::Choice(cond) => cond.branches.iter().for_each(|branch| marks.extend(movable(branch))),
            Occurrence::Other => {}
        }
    }
    marks
}

/// Whether an operation and its derivative give one right result of a constant and anything.
fn is_exact(op: &Op) -> bool {
    match op {
        Op::Unary(op) => matches!(op, Unary::Neg | Unary::Detach),
        Op::Binary(op) => {
            matches!(op, Binary::Add | Binary::Sub | Binary::Mul | Binary::Div | Binary::Max | Binary::Min)
        }
        Op::Compare(_) | Op::Select(_) | Op::Pad(_) | Op::Concat(_) => true,
        op => op.form(&[]) == Form::View,
    }
}

/// The Program with the marked numbers as inputs behind its own, equal ones as one.
pub(super) fn with_inputs(program: &Program, numbers: &Numbers, marked: &[bool]) -> Program {
    Lifting { numbers, marked, place: 0 }.lifted(program).0
}

/// The walk through the numbers of a Program, in order.
struct Lifting<'a> {
    numbers: &'a Numbers,
    marked: &'a [bool],
    place: usize,
}

impl Lifting<'_> {
    /// The Program, and for each of its further inputs the place of its number.
    fn lifted(&mut self, program: &Program) -> (Program, Vec<usize>) {
        let mut b = Builder::new();
        let mut values: Vec<Value> = Vec::with_capacity(program.types.len());
        for (ty, name) in program.input_types().iter().zip(program.input_names()) {
            values.push(b.input(name, ty.clone()));
        }
        let mut inputs = NumberInputs::default();
        for eqn in program.eqns() {
            let mut args: Vec<Value> = eqn.args.iter().map(|arg| values[arg.index()]).collect();
            b.line = eqn.line;
            match occurrence(eqn) {
                Occurrence::Number(_) => {
                    let first = self.numbers.first[self.place];
                    self.place += 1;
                    values.push(match self.marked[first] {
                        true => inputs.input(&mut b, first, program.ty(eqn.first)),
                        false => b.op(eqn.op.clone(), &args),
                    });
                }
                Occurrence::Region(region) => {
                    let (inner, places) = self.lifted(region);
                    inputs.pass(&mut b, &inner, &places, &mut args);
                    values.extend(b.ops(Recompute::new(inner), &args));
                }
                Occurrence::Choice(cond) => {
                    // The first operand chooses.
                    let own = args.len() - 1;
                    let lifted: Vec<(Program, Vec<usize>)> =
                        cond.branches.iter().map(|branch| self.lifted(branch)).collect();
                    lifted.iter().for_each(|(branch, places)| inputs.pass(&mut b, branch, places, &mut args));
                    let types: Vec<&[Type]> = lifted.iter().map(|(branch, _)| &branch.input_types()[own..]).collect();
                    let widened = lifted.iter().enumerate().map(|(k, (branch, _))| {
                        Arc::new(widened(branch, own, &types[..k].concat(), &types[k + 1..].concat()))
                    });
                    let branches = widened.collect();
                    values.extend(b.ops(Cond { branches, by: cond.by }, &args));
                }
                Occurrence::Other => values.extend(b.ops(eqn.op.clone(), &args)),
            }
        }
        let outputs: Vec<Value> = program.outputs().iter().map(|output| values[output.index()]).collect();
        (b.finish(&outputs), inputs.places)
    }
}

/// The inputs of a Program that stand for numbers.
#[derive(Default)]
struct NumberInputs {
    /// Their numbers, in order.
    places: Vec<usize>,
    values: HashMap<usize, Value>,
}

impl NumberInputs {
    /// The input for the number at a place.
    fn input(&mut self, b: &mut Builder, place: usize, ty: &Type) -> Value {
        *self.values.entry(place).or_insert_with(|| {
            self.places.push(place);
            b.input("", ty.clone())
        })
    }

    /// Adds to the operands of a Program inside the numbers that are its last inputs.
    fn pass(&mut self, b: &mut Builder, inner: &Program, places: &[usize], args: &mut Vec<Value>) {
        let types = inner.input_types();
        let types = &types[types.len() - places.len()..];
        args.extend(places.iter().zip(types).map(|(&place, ty)| self.input(b, place, ty)));
    }
}

/// A branch with inputs that the other one takes, before those from place `own` on and behind them.
fn widened(branch: &Program, own: usize, before: &[Type], behind: &[Type]) -> Program {
    let types = branch.input_types();
    let mut b = Builder::new();
    let input = |b: &mut Builder, ty: &Type| b.input("", ty.clone());
    let mut args: Vec<Value> = types[..own].iter().map(|ty| input(&mut b, ty)).collect();
    before.iter().for_each(|ty| {
        input(&mut b, ty);
    });
    args.extend(types[own..].iter().map(|ty| input(&mut b, ty)));
    behind.iter().for_each(|ty| {
        input(&mut b, ty);
    });
    let outs = inline(&mut b, branch, &args);
    b.finish(&outs)
}

#[cfg(test)]
mod tests;
