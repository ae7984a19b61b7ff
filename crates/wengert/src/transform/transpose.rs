//! The transpose of a linear Program: its equations backwards.
//!
//! A cotangent carries a mask where it comes through a `select`: in the branch not taken it is a
//! structural zero, and `0 * inf` must not make NaN of it. Elementwise rules multiply and mask
//! again; what moves or adds numbers moves and joins masks; where several uses meet, the masks are
//! joined. It is not "zero times anything is zero": `0 * ln(x)` at 0 stays NaN.

use std::borrow::Cow;

use crate::error::{Error, ErrorKind};
use crate::primitives::{Cotangent, Logic, Masks, Op, Operand};
use crate::program::{Args, Builder, Eqn, Program, Value};
use crate::transform::masked;
use crate::transform::partial::split_inside;
use crate::transform::sum::Sum;

/// Appends the transpose of a Program that is linear in the inputs without a value. Gives the
/// cotangents of these inputs, `None` where structurally zero, and `None` for the others.
pub(crate) fn transpose(
    b: &mut Builder,
    program: &Program,
    args: &[Option<Value>],
    cotangents: &[Option<Value>],
) -> Result<Vec<Option<Value>>, Error> {
    let cotangents: Vec<Option<Cotangent>> =
        cotangents.iter().map(|ct| ct.map(|value| Cotangent { value, mask: None })).collect();
    let pulled = transpose_masked(b, program, args, &cotangents)?;
    Ok(pulled.into_iter().map(|ct| ct.map(|ct| ct.value)).collect())
}

/// As [`transpose`], with masks on the cotangents.
pub(crate) fn transpose_masked(
    b: &mut Builder,
    program: &Program,
    args: &[Option<Value>],
    cotangents: &[Option<Cotangent>],
) -> Result<Vec<Option<Cotangent>>, Error> {
    // An operation that gives values beside what is linear is divided: the values are factors of others.
    let linear: Vec<bool> = args.iter().map(Option::is_none).collect();
    let program = &split_inside(Cow::Borrowed(program), &linear);
    let mut known: Vec<Option<Value>> = args.to_vec();
    let line = b.line;
    // What does not depend on the linear inputs is computed forward.
    for eqn in &program.eqns {
        let operands: Option<Args> = eqn.args.iter().map(|arg| known[arg.index()]).collect();
        match operands {
            Some(operands) => {
                b.line = eqn.line.or(line);
                known.extend(b.ops(eqn.op.clone(), &operands).into_iter().map(Some));
            }
            None => known.extend(known_results(b, program, eqn, &known)),
        }
    }
    let mut pending: Vec<Sum> = std::iter::repeat_with(Sum::default).take(program.types.len()).collect();
    for (&output, &ct) in program.outputs.iter().zip(cotangents) {
        if let (None, Some(ct)) = (known[output.index()], ct) {
            pending[output.index()].add(b, ct);
        }
    }
    for eqn in program.eqns.iter().rev() {
        let cts: Vec<Option<Cotangent>> = eqn.outs().map(|out| pending[out.index()].take(b)).collect();
        if cts.iter().all(Option::is_none) {
            continue;
        }
        b.line = eqn.line.or(line);
        let operands = eqn.args.iter().map(|arg| match known[arg.index()] {
            Some(value) => Operand::Known(value),
            None => Operand::Linear(program.ty(*arg).clone()),
        });
        let operands: Vec<Operand> = operands.collect();
        let pulled = pull(b, eqn, &cts, &operands)?;
        for (arg, ct) in eqn.args.iter().zip(pulled) {
            if let (Some(ct), None) = (ct, known[arg.index()]) {
                pending[arg.index()].add(b, ct);
            }
        }
    }
    b.line = line;
    Ok(pending[..args.len()].iter_mut().map(|sum| sum.take(b)).collect())
}

/// What is known of an equation that depends on linear inputs. A region may give masks and indices
/// along with numbers; they do not depend on what it is linear in and are computed with zeros there.
fn known_results(b: &mut Builder, program: &Program, eqn: &Eqn, known: &[Option<Value>]) -> Vec<Option<Value>> {
    let real: Vec<bool> = eqn.outs().map(|out| program.ty(out).dtype.is_float()).collect();
    if eqn.op.programs().is_empty() || !real.contains(&false) {
        return vec![None; real.len()];
    }
    let operands = eqn.args.iter().map(|arg| known[arg.index()].unwrap_or_else(|| b.full(0.0, program.ty(*arg))));
    let operands: Vec<Value> = operands.collect();
    let outs = b.ops(eqn.op.clone(), &operands);
    outs.into_iter().zip(real).map(|(out, real)| (!real).then_some(out)).collect()
}

/// The cotangents of the operands of one equation.
fn pull(
    b: &mut Builder,
    eqn: &Eqn,
    cts: &[Option<Cotangent>],
    operands: &[Operand],
) -> Result<Vec<Option<Cotangent>>, Error> {
    if let Some(pulled) = eqn.op.transpose_masked(b, cts, operands) {
        return pulled.map_err(|why| unsupported(b, &eqn.op, operands, &why.0));
    }
    let values: Vec<Option<Value>> = cts.iter().map(|ct| ct.map(|ct| ct.value)).collect();
    let masks: Vec<Option<Value>> = cts.iter().map(|ct| ct.and_then(|ct| ct.mask)).collect();
    if eqn.op.masks() == Masks::Chosen {
        let pulled = transposed(b, &eqn.op, &values, operands)?;
        return Ok(behind_select(b, pulled, operands[0].known(), masks[0]));
    }
    // A result without a cotangent constrains nothing; one without a mask counts everywhere.
    let masked = cts.iter().all(|ct| ct.is_none_or(|ct| ct.mask.is_some()));
    if !masked {
        let pulled = transposed(b, &eqn.op, &values, operands)?;
        return Ok(pulled.into_iter().map(|ct| ct.map(|value| Cotangent { value, mask: None })).collect());
    }
    if eqn.op.masks() == Masks::Elementwise {
        let mask = masks[0].expect("the one result is masked");
        let pulled = transposed(b, &eqn.op, &values, operands)?;
        let masked = pulled.into_iter().map(|ct| {
            let value = ct?;
            let value = if eqn.op.multiplies() { mask_out(b, mask, value) } else { value };
            Some(Cotangent { value, mask: Some(mask) })
        });
        return Ok(masked.collect());
    }
    masked::pull(b, eqn, &values, &masks, operands)
}

pub(super) fn transposed(
    b: &mut Builder,
    op: &Op,
    cotangents: &[Option<Value>],
    operands: &[Operand],
) -> Result<Vec<Option<Value>>, Error> {
    // A rule of a user's can bring what is not linear here: a product of two linear operands, say.
    let linear = |set: &Vec<usize>| (0..operands.len()).all(|k| !operands[k].is_linear() || set.contains(&k));
    if !op.linear_in(operands.len()).iter().any(linear) {
        return Err(unsupported(b, op, operands, "it is not linear in what is transposed, and has no transpose"));
    }
    op.transpose(b, cotangents, operands).map_err(|why| unsupported(b, op, operands, &why.0))
}

fn unsupported(b: &Builder, op: &Op, operands: &[Operand], why: &str) -> Error {
    let types: Vec<_> = operands.iter().map(|operand| operand.ty(b)).collect();
    Error::new(ErrorKind::Unsupported, &op.name(), why).of(&types).at(b.line)
}

/// A value where it counts, and 0 elsewhere.
pub(crate) fn mask_out(b: &mut Builder, mask: Value, value: Value) -> Value {
    let zero = b.zeros_like(value);
    b.select(mask, value, zero)
}

/// The cotangents of `yes` and `no`: each counts where it was chosen.
fn behind_select(
    b: &mut Builder,
    pulled: Vec<Option<Value>>,
    chosen: Value,
    mask: Option<Value>,
) -> Vec<Option<Cotangent>> {
    let with_mask = |b: &mut Builder, here: Value| mask.map_or(here, |mask| b.op(Logic::And, &[mask, here]));
    let yes = pulled[1].map(|value| Cotangent { value, mask: Some(with_mask(b, chosen)) });
    let no = pulled[2].map(|value| {
        let not_chosen = b.op(Logic::Not, &[chosen]);
        Cotangent { value, mask: Some(with_mask(b, not_chosen)) }
    });
    vec![None, yes, no]
}
