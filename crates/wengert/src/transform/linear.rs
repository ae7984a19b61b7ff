//! Whether a Program is linear in some of its inputs: read off its equations.

use crate::ops::{Compare, Unary};
use crate::primitives::{Literal, Op, Wiring};
use crate::program::{Eqn, Program, Value};

/// How a value depends on the inputs that are asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dependence {
    /// Not at all, and it is zero.
    Zero,
    /// Not at all, and it is a multiple of such a zero, in a loop that begins with it: a sum of it with what is known is known, and with what is
    /// linear linear.
    Vanishing,
    /// Not at all.
    Known,
    /// Linearly.
    Linear,
    /// By the magnitude of what does linearly, of which nothing may be asked but whether it is finite.
    Magnitude,
}

/// Checks that the outputs are linear in the inputs marked: sums of multiples, without an offset.
///
/// # Errors
/// The first operation that is not, or the output that has an offset.
pub(crate) fn check_linear(program: &Program, inputs: &[bool]) -> Result<(), String> {
    let outputs = dependences(program, marked(inputs), Offsets::Refused)?;
    match outputs.iter().position(|&output| output == Dependence::Known) {
        Some(k) => Err(format!("result {k} does not depend on it linearly: it has an offset")),
        None => Ok(()),
    }
}

/// Checks that the outputs are linear in the inputs marked but for offsets: no coefficient depends on these inputs. Whether one of
/// them is finite may be asked, as the careful way of a masked contraction does: where it is, nothing depends on the answer.
///
/// # Errors
/// The first operation that is not.
pub(crate) fn check_affine(program: &Program, inputs: &[bool]) -> Result<(), String> {
    dependences(program, marked(inputs), Offsets::Allowed).map(drop)
}

fn marked(inputs: &[bool]) -> Vec<Dependence> {
    inputs.iter().map(|linear| if *linear { Dependence::Linear } else { Dependence::Known }).collect()
}

/// Whether something known may be added to what is linear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Offsets {
    Allowed,
    Refused,
}

fn dependences(program: &Program, inputs: Vec<Dependence>, offsets: Offsets) -> Result<Vec<Dependence>, String> {
    let mut values = inputs;
    for eqn in program.eqns() {
        let operands: Vec<Dependence> = eqn.args.iter().map(|arg| values[arg.index()]).collect();
        let results = match asked_if_finite(program, eqn, &operands, offsets) {
            Some(result) => vec![result],
            None => of_equation(eqn, &operands, offsets)?,
        };
        // Without elements there is nothing that is not zero.
        let empty = |out: Value| program.ty(out).size() == 0;
        values.extend(eqn.outs().zip(results).map(|(out, result)| match result {
            Dependence::Known if empty(out) => Dependence::Zero,
            result => result,
        }));
    }
    Ok(program.outputs().iter().map(|output| values[output.index()]).collect())
}

/// What a magnitude, and a comparison of it with infinity, depend on, where offsets are allowed.
fn asked_if_finite(program: &Program, eqn: &Eqn, operands: &[Dependence], offsets: Offsets) -> Option<Dependence> {
    let is_infinite = |value: Value| repeated(program, value).is_some_and(|x| x == f64::INFINITY);
    match (&eqn.op, operands) {
        (Op::Unary(Unary::Abs), [Dependence::Linear]) if offsets == Offsets::Allowed => Some(Dependence::Magnitude),
        (Op::Compare(Compare::Lt), [Dependence::Magnitude, _]) if is_infinite(eqn.args[1]) => Some(Dependence::Known),
        _ => None,
    }
}

/// The number that every element of a value is, if that can be seen.
fn repeated(program: &Program, mut value: Value) -> Option<f64> {
    loop {
        let eqn = program.eqns().iter().find(|eqn| eqn.outs().any(|out| out == value))?;
        match &eqn.op {
            Op::Literal(Literal::F64(x)) => return Some(*x),
            Op::Literal(Literal::F32(x)) => return Some(f64::from(*x)),
            Op::Broadcast(_) | Op::Reshape(_) => value = eqn.args[0],
            _ => return None,
        }
    }
}

fn of_equation(eqn: &Eqn, operands: &[Dependence], offsets: Offsets) -> Result<Vec<Dependence>, String> {
    use Dependence::{Known, Linear, Vanishing, Zero};
    let all = |result: Dependence| Ok(vec![result; eqn.outs().len()]);
    if operands.contains(&Dependence::Magnitude) {
        let line = eqn.line.map_or(String::new(), |line| format!(" at {line}"));
        return Err(format!("`{}`{line} takes the magnitude of it, which is not linear", eqn.op.name()));
    }
    let wiring = eqn.op.wiring();
    let depends = |operand: &Dependence| matches!(operand, Linear | Vanishing);
    let goes_inside = match wiring {
        Wiring::Apart => false,
        Wiring::OneOf { first } => !operands[..first].contains(&Linear),
        Wiring::Loop { .. } => true,
    };
    if goes_inside && operands.iter().any(depends) {
        let flow = |operands: &[Dependence]| {
            let inside = wiring.flow(
                &eqn.op,
                operands,
                |program, inputs| dependences(program, inputs.to_vec(), offsets),
                |yes, no| either(yes, no, offsets),
            );
            inside.expect("it holds Programs")
        };
        // A carry that begins with zero, and that a step multiplies, is zero times what it depends on.
        let vanishing = || -> Vec<Dependence> {
            operands.iter().map(|&operand| if operand == Zero { Vanishing } else { operand }).collect()
        };
        let has_zero = operands.contains(&Zero);
        return flow(operands).or_else(|why| if has_zero { flow(&vanishing()).map_err(|_| why) } else { Err(why) });
    }
    if !operands.contains(&Linear) {
        let vanishes = || operands.contains(&Vanishing) && is_made_of(&eqn.op, operands, &[Zero, Vanishing]);
        return all(if stays_zero(&eqn.op, operands) {
            Zero
        } else if vanishes() {
            Vanishing
        } else {
            Known
        });
    }
    // The linear operands stand in one set, and what else stands there is linear too, or zero.
    let fits = |set: &Vec<usize>| {
        let inside = |k: usize| set.contains(&k);
        let fits_there = |k: usize| operands[k] != Known || offsets == Offsets::Allowed;
        (0..operands.len()).all(|k| if inside(k) { fits_there(k) } else { operands[k] != Linear })
    };
    if eqn.op.linear_in(operands.len()).iter().any(fits) {
        return all(Linear);
    }
    let line = eqn.line.map_or(String::new(), |line| format!(" at {line}"));
    let adds = |set: &Vec<usize>| (0..operands.len()).all(|k| set.contains(&k) || operands[k] != Linear);
    let offset = eqn.op.linear_in(operands.len()).iter().any(adds);
    let why = if offset { ": it joins it with what does not depend on it, an offset" } else { "" };
    Err(format!("`{}`{line} is not linear in it{why}", eqn.op.name()))
}

fn either(yes: Dependence, no: Dependence, offsets: Offsets) -> Result<Dependence, String> {
    match (yes, no) {
        (Dependence::Linear, _) | (_, Dependence::Linear) if offsets == Offsets::Allowed => Ok(Dependence::Linear),
        (Dependence::Known, _) | (_, Dependence::Known) if offsets == Offsets::Allowed => Ok(Dependence::Known),
        (yes, no) if yes == no => Ok(yes),
        (Dependence::Zero, other) | (other, Dependence::Zero) => Ok(other),
        (Dependence::Vanishing, other) | (other, Dependence::Vanishing) => Ok(other),
        _ => Err("a branch or a step has an offset".to_owned()),
    }
}

/// Whether the result of known operands is known to be zero: of what moves and adds numbers, where
/// all that it moves is. A product is not, because the other factor may be infinite.
fn stays_zero(op: &Op, operands: &[Dependence]) -> bool {
    if let Op::Literal(literal) = op {
        return literal.dtype().is_float() && literal.is_zero();
    }
    !op.multiplies() && is_made_of(op, operands, &[Dependence::Zero])
}

/// Whether an operation is linear in operands that all are one of these.
fn is_made_of(op: &Op, operands: &[Dependence], kinds: &[Dependence]) -> bool {
    op.linear_in(operands.len()).iter().any(|set| set.iter().all(|k| kinds.contains(&operands[*k])))
}
