//! Choices that nothing sees, of arrays: what [`demanded`](crate::straight::demand::demanded) is for lists of numbers.
//!
//! The derivative of `where_` masks every product behind it. Where one product takes another one, and both are masked alike, the inner
//! mask is read only where the outer one lets it through. Element by element, each value gets the conditions under which its
//! elements are read, backwards over the Program; choices that these decide are dropped, and a sum of two choices by one condition,
//! each with a number on the same side, becomes one choice.

use super::Config;
use crate::ops::{Binary, Unary};
use crate::primitives::{Logic, Op, Select};
use crate::program::{Builder, Eqn, Program, Value, rebuild};
use crate::straight::demand::{Conditions, Demand, binary_passes, unary_passes};

/// The Program without choices that its results do not see.
pub(super) fn drop_unseen(program: Program, _: &Config) -> Program {
    let is_choice = |op: &Op| matches!(op, Op::Select(_));
    if !program.eqns().iter().any(|eqn| is_choice(&eqn.op)) {
        return program;
    }
    let demands = Demands::of(&program);
    let plan: Vec<Rewritten> = program.eqns().iter().map(|eqn| rewritten(&program, eqn, &demands)).collect();
    let mut plan = plan.into_iter();
    rebuild(program, |b, op, args, types| match plan.next() {
        Some(Rewritten::Operand(k)) => Some(args[k]),
        Some(Rewritten::Joinable(of)) => joined(b, of, args).or_else(|| b.again(op, args, types)),
        Some(Rewritten::Same) | None => b.again(op, args, types),
    })
}

/// What becomes of an equation.
#[derive(Clone, Copy, Debug)]
enum Rewritten {
    /// It stays.
    Same,
    /// It is its operand of this number.
    Operand(usize),
    /// It becomes one choice if both operands, which nothing else reads, are choices by the same condition.
    Joinable(Binary),
}

fn rewritten(program: &Program, eqn: &Eqn, demands: &Demands) -> Rewritten {
    match &eqn.op {
        Op::Select(_) => match demands.decides(program, eqn) {
            Some(holds) => Rewritten::Operand(if holds { 1 } else { 2 }),
            None => Rewritten::Same,
        },
        &Op::Binary(op @ (Binary::Add | Binary::Sub | Binary::Mul))
            if eqn.args.iter().all(|&arg| demands.is_read_once(program, arg)) =>
        {
            Rewritten::Joinable(op)
        }
        _ => Rewritten::Same,
    }
}

/// An operation on two choices by the same condition as one choice, where one side of it is a number.
fn joined(b: &mut Builder, op: Binary, args: &[Value]) -> Option<Value> {
    // The operands of a choice, and whether its sign changes.
    let choice = |value: Value| match b.defined_by(value)? {
        (Op::Select(_), args) => Some((<[Value; 3]>::try_from(args).ok()?, false)),
        (Op::Unary(Unary::Neg), args) => match b.defined_by(args[0])? {
            (Op::Select(_), args) => Some((<[Value; 3]>::try_from(args).ok()?, true)),
            _ => None,
        },
        _ => None,
    };
    let ((left, minus_left), (right, minus_right)) = (choice(args[0])?, choice(args[1])?);
    let are_numbers = |side: usize| b.repeated(left[side]).is_some() && b.repeated(right[side]).is_some();
    if left[0] != right[0] || !b.dtype(args[0]).is_float() || !(are_numbers(1) || are_numbers(2)) {
        return None;
    }
    let signed = |b: &mut Builder, value: Value, minus: bool| if minus { b.op(Unary::Neg, &[value]) } else { value };
    let [holds, fails] = [1, 2].map(|side| {
        let (x, y) = (signed(b, left[side], minus_left), signed(b, right[side], minus_right));
        b.op(op, &[x, y])
    });
    Some(b.op(Select, &[left[0], holds, fails]))
}

/// Where the elements of every value are read, if anywhere, and how often the value is an operand or a result.
struct Demands {
    demands: Vec<Option<Demand<Value>>>,
    uses: Vec<u32>,
    /// The equation that defines each value; none of inputs.
    origins: Vec<Option<usize>>,
}

/// The conditions of a Program.
struct Masks<'a> {
    program: &'a Program,
    origins: &'a [Option<usize>],
}

impl Conditions for Masks<'_> {
    type Condition = Value;

    fn made_of(&self, condition: Value) -> Option<(Logic, &[Value])> {
        let eqn = &self.program.eqns()[self.origins[condition.index()]?];
        match eqn.op {
            Op::Logic(op) => Some((op, &eqn.args)),
            _ => None,
        }
    }
}

impl Demands {
    fn of(program: &Program) -> Demands {
        let count = program.types.len();
        let mut all = Demands { demands: vec![None; count], uses: vec![0; count], origins: vec![None; count] };
        for (k, eqn) in program.eqns().iter().enumerate() {
            eqn.outs().for_each(|out| all.origins[out.index()] = Some(k));
        }
        program.outputs().iter().for_each(|&output| all.read(output, Demand::ALWAYS));
        for eqn in program.eqns().iter().rev() {
            match &eqn.op {
                Op::Select(_) => all.choice(program, eqn),
                op => {
                    // The first of its results, if it has any.
                    let own = eqn.outs().next().and_then(|out| all.demands[out.index()]);
                    let demand = match own {
                        None if eqn.results == 1 => continue,
                        Some(own) if passes(op) && all.is_aligned(program, eqn) => own,
                        _ => Demand::ALWAYS,
                    };
                    eqn.args.iter().for_each(|&arg| all.read(arg, demand));
                }
            }
        }
        all
    }

    fn masks<'a>(&'a self, program: &'a Program) -> Masks<'a> {
        Masks { program, origins: &self.origins }
    }

    fn choice(&mut self, program: &Program, eqn: &Eqn) {
        let Some(own) = self.demands[eqn.first.index()] else { return };
        let [mask, x, y] = eqn.args[..] else { unreachable!("a choice has three operands") };
        let sides = [true, false].map(|holds| own.and(&self.masks(program), mask, holds));
        match self.decides(program, eqn) {
            Some(holds) => self.read(if holds { x } else { y }, own),
            None => {
                self.read(mask, own);
                self.read(x, sides[0]);
                self.read(y, sides[1]);
            }
        }
    }

    /// The side that every element which is read of a choice takes, if it is one.
    fn decides(&self, program: &Program, eqn: &Eqn) -> Option<bool> {
        self.demands[eqn.first.index()]?.decides(&self.masks(program), eqn.args[0])
    }

    /// Whether the elements of operands and result stand at the same places, and are real numbers.
    fn is_aligned(&self, program: &Program, eqn: &Eqn) -> bool {
        let shape = &program.ty(eqn.first).shape;
        eqn.args.iter().map(|&arg| program.ty(arg)).all(|ty| ty.shape == *shape && ty.dtype.is_float())
    }

    fn read(&mut self, value: Value, demand: Demand<Value>) {
        let known = &mut self.demands[value.index()];
        *known = Some(known.map_or(demand, |known| known.or(&demand)));
        self.uses[value.index()] += 1;
    }

    /// Whether a value is read once, and what it changes the sign of too.
    fn is_read_once(&self, program: &Program, value: Value) -> bool {
        let once = |value: Value| self.uses[value.index()] == 1;
        let origin = self.origins[value.index()].map(|k| &program.eqns()[k]);
        once(value) && origin.is_none_or(|eqn| eqn.op != Op::Unary(Unary::Neg) || once(eqn.args[0]))
    }
}

/// Whether an operation takes the same time whatever its operands are, subnormal numbers apart.
fn passes(op: &Op) -> bool {
    match op {
        Op::Unary(op) => unary_passes(*op),
        Op::Binary(op) => binary_passes(*op),
        Op::Compare(_) => true,
        _ => false,
    }
}

#[cfg(all(test, feature = "text"))]
mod tests;
