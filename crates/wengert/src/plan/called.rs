//! Steps of loops whose length is not known, as straight-line code that is called with the operands of the step's plan.
//!
//! What such a loop keeps of a step lies in columns that grow, so that code cannot have the carry in its own memory, as that of a
//! `Scan` has: it takes operands where they lie, and writes results there. Its bits are those of the plan, so that it does not
//! matter which of several steps of one loop are code.
//!
//! Most of these loops count. Straight-line code has real numbers and conditions; what is an integer, or a condition on integers
//! alone, is computed beside it, before it, in registers.

use std::ops::Range;

use super::control::StepCode;
use super::{Plan, lines_of};
use crate::array::DType;
use crate::ops::{Binary, Compare};
use crate::primitives::{Convert, Literal, Logic, Op};
use crate::program::{Args, Builder, Program, Value, dce, same_inputs};

/// A step as code.
#[derive(Debug)]
pub(crate) struct CalledStep {
    pub(crate) code: StepCode,
    pub(crate) integers: Integers,
    /// How many operands of the step are the same in every step, and how many there are.
    pub(crate) invariants: usize,
    pub(crate) operands: usize,
    /// The operand that lies where the first result does if the step writes where it reads; the others follow.
    pub(crate) carry: usize,
    /// The results of the step that the code gives, in its order, and how many elements each has.
    pub(crate) results: Vec<(usize, usize)>,
    /// Lines of the scratch for its memory.
    pub(crate) lines: Range<usize>,
}

/// What a step computes with integers.
#[derive(Debug, Default)]
pub(crate) struct Integers {
    /// How many registers there are. A condition is 1 or 0.
    pub(crate) registers: usize,
    /// Those that hold the same number in every step.
    pub(crate) numbers: Vec<(usize, i64)>,
    /// Those that an operand of the step is read into: the register, the operand.
    pub(crate) operands: Vec<(usize, usize)>,
    pub(crate) steps: Vec<IntegerStep>,
    /// The results that are integers, or conditions on them: the result, the register.
    pub(crate) results: Vec<(usize, usize)>,
    /// Registers that the code reads, as operands behind those of the step.
    pub(crate) read: Vec<usize>,
}

/// One operation on registers: where the result goes, and what it reads.
#[derive(Clone, Copy, Debug)]
pub(crate) enum IntegerStep {
    Of1(usize, fn(i64) -> i64, usize),
    Of2(usize, fn(i64, i64) -> i64, [usize; 2]),
}

impl CalledStep {
    /// The code of a step with this plan; `None` if it would be slower, or there is none. Of its operands the first ones are
    /// `invariants`, and from `carry` on they are what the first results take the place of.
    pub(super) fn new(step: &Program, plan: &Plan, [invariants, carry]: [usize; 2]) -> Option<CalledStep> {
        let Split { rest, integers, results } = Splitter::new(step).split()?;
        // Nothing is carried inside of the code: all that changes is an operand of a step.
        let code = StepCode::new(&rest, plan, &(invariants..invariants))?;
        let operands = step.input_types().len();
        Some(CalledStep { code, integers, invariants, operands, carry, results, lines: 0..0 })
    }

    /// Lines of its memory.
    pub(super) fn memory(&self) -> usize {
        lines_of(self.code.bytes())
    }
}

/// A step in two.
struct Split {
    /// What is left for the code, with operands behind those of the step for the registers that it reads.
    rest: Program,
    integers: Integers,
    /// The results that are the code's: which, and how many elements.
    results: Vec<(usize, usize)>,
}

/// Divides a step.
struct Splitter<'a> {
    step: &'a Program,
    /// For each value that a register can hold: whether it does, and which.
    registers: Vec<Option<usize>>,
    integers: Integers,
    /// For each equation: whether registers compute it.
    taken: Vec<bool>,
}

impl<'a> Splitter<'a> {
    fn new(step: &'a Program) -> Self {
        let registers = vec![None; step.types.len()];
        Splitter { step, registers, integers: Integers::default(), taken: vec![false; step.eqns().len()] }
    }

    /// Both parts; `None` if no result is the code's.
    fn split(mut self) -> Option<Split> {
        let step = self.step;
        for (k, eqn) in step.eqns().iter().enumerate() {
            self.taken[k] = self.take(&eqn.op, &eqn.args, eqn.first);
        }
        let mut b = Builder::new();
        let mut values: Vec<Option<Value>> = same_inputs(&mut b, step).into_iter().map(Some).collect();
        values.resize(step.types.len(), None);
        let rest = || step.eqns().iter().zip(&self.taken).filter(|(_, taken)| !**taken).map(|(eqn, _)| eqn);
        // Numbers are repeated; what else registers hold is read from there.
        for &arg in rest().flat_map(|eqn| &eqn.args) {
            if let (None, Some(register)) = (values[arg.index()], self.registers[arg.index()]) {
                let number = self.integers.numbers.iter().find(|(own, _)| *own == register);
                values[arg.index()] = Some(match number {
                    Some(&(_, number)) => b.op(literal(number, step.ty(arg).dtype), &[]),
                    None => {
                        self.integers.read.push(register);
                        b.input("", step.ty(arg).clone())
                    }
                });
            }
        }
        for eqn in rest() {
            let args: Option<Args> = eqn.args.iter().map(|arg| values[arg.index()]).collect();
            let outs = b.all_again(eqn.op.clone(), &args?, step.types_of(eqn));
            eqn.outs().zip(outs).for_each(|(out, new)| values[out.index()] = Some(new));
        }
        let (mut outputs, mut results) = (Vec::new(), Vec::new());
        for (k, &output) in step.outputs().iter().enumerate() {
            let is_integer = step.ty(output).dtype == DType::I64 || output.index() >= step.input_types().len();
            match if is_integer { self.register(output) } else { None } {
                Some(register) => self.integers.results.push((k, register)),
                None => {
                    outputs.push(values[output.index()]?);
                    results.push((k, step.ty(output).size()));
                }
            }
        }
        // The inputs stay in their order: those behind the step's were made last.
        (!results.is_empty()).then(|| Split { rest: dce(b.finish(&outputs)), integers: self.integers, results })
    }

    /// The register that holds a value, if one can; that of an operand is made when it is asked for.
    fn register(&mut self, value: Value) -> Option<usize> {
        let ty = self.step.ty(value);
        let is_operand = value.index() < self.step.input_types().len();
        if self.registers[value.index()].is_none() && is_operand && is_held(ty.dtype) && ty.size() == 1 {
            let register = self.new_register(value);
            self.integers.operands.push((register, value.index()));
        }
        self.registers[value.index()]
    }

    fn new_register(&mut self, value: Value) -> usize {
        let register = self.integers.registers;
        self.integers.registers += 1;
        self.registers[value.index()] = Some(register);
        register
    }

    /// Has registers compute an equation, if they can.
    fn take(&mut self, op: &Op, args: &[Value], out: Value) -> bool {
        let ty = self.step.ty(out);
        if !is_held(ty.dtype) || ty.size() != 1 {
            return false;
        }
        if let Op::Literal(literal) = op {
            let register = self.new_register(out);
            self.integers.numbers.push((register, number(*literal)));
            return true;
        }
        let (of_one, of_two) = (of_one(op), of_two(op));
        if of_one.is_none() && of_two.is_none() {
            return false;
        }
        let Some(from) = args.iter().map(|&arg| self.register(arg)).collect::<Option<Vec<usize>>>() else {
            return false;
        };
        let step = |to: usize| match (of_one, of_two, &from[..]) {
            (Some(f), _, &[x]) => Some(IntegerStep::Of1(to, f, x)),
            (_, Some(f), &[x, y]) => Some(IntegerStep::Of2(to, f, [x, y])),
            _ => None,
        };
        let to = self.integers.registers;
        let Some(step) = step(to) else { return false };
        self.new_register(out);
        self.integers.steps.push(step);
        true
    }
}

/// Whether registers hold numbers of this type.
fn is_held(dtype: DType) -> bool {
    matches!(dtype, DType::I64 | DType::Bool)
}

fn number(literal: Literal) -> i64 {
    match literal {
        Literal::Bool(x) => i64::from(x),
        Literal::I64(x) => x,
        Literal::F32(_) | Literal::F64(_) => unreachable!("a literal that registers hold"),
    }
}

fn literal(number: i64, dtype: DType) -> Literal {
    if dtype == DType::Bool { Literal::Bool(number != 0) } else { Literal::I64(number) }
}

/// The function of one integer that an operation is; its operand is known to be one.
fn of_one(op: &Op) -> Option<fn(i64) -> i64> {
    match op {
        Op::Reshape(_) | Op::Broadcast(_) | Op::Convert(Convert(DType::I64)) => Some(|x| x),
        Op::Convert(Convert(DType::Bool)) => Some(|x| i64::from(x != 0)),
        Op::Unary(op) => op.of_integers(),
        Op::Logic(Logic::Not) => Some(|x| 1 - x),
        _ => None,
    }
}

/// The function of two integers that an operation is.
fn of_two(op: &Op) -> Option<fn(i64, i64) -> i64> {
    match op {
        // A remainder by zero is an error, which names the line.
        Op::Binary(Binary::Rem) => None,
        Op::Binary(op) => op.of_integers(),
        Op::Compare(op) => Some(match op {
            Compare::Lt => |x, y| i64::from(x < y),
            Compare::Le => |x, y| i64::from(x <= y),
            Compare::Gt => |x, y| i64::from(x > y),
            Compare::Ge => |x, y| i64::from(x >= y),
            Compare::Eq => |x, y| i64::from(x == y),
            Compare::Ne => |x, y| i64::from(x != y),
            Compare::Unordered => |_, _| 0,
        }),
        Op::Logic(Logic::And) => Some(|x, y| x & y),
        Op::Logic(Logic::Or) => Some(|x, y| x | y),
        Op::Logic(Logic::Xor) => Some(|x, y| x ^ y),
        _ => None,
    }
}

#[cfg(all(test, feature = "text"))]
mod tests;
