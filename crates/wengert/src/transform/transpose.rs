//! The transpose of a linear Program: its equations backwards.
//!
//! A cotangent carries a mask where it comes through a `select`: in the branch not taken it is a
//! structural zero, and `0 * inf` must not make NaN of it. Elementwise rules multiply and mask
//! again; what moves or adds numbers moves and joins masks; where several uses meet, the masks are
//! joined. It is not "zero times anything is zero": `0 * ln(x)` at 0 stays NaN.

use crate::error::{Error, ErrorKind};
use crate::ops::Binary;
use crate::primitives::{Concat, Cotangent, DynamicSlice, Logic, Op, Operand, Pad, Primitive, Update, Write};
use crate::program::{Args, Builder, Eqn, Program, Value};
use crate::transform::masked;

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
    let mut pending: Vec<Option<Cotangent>> = vec![None; program.types.len()];
    for (&output, &ct) in program.outputs.iter().zip(cotangents) {
        if let (None, Some(ct)) = (known[output.index()], ct) {
            accumulate(b, &mut pending[output.index()], ct);
        }
    }
    for eqn in program.eqns.iter().rev() {
        let cts: Vec<Option<Cotangent>> = eqn.outs().map(|out| pending[out.index()].take()).collect();
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
                accumulate(b, &mut pending[arg.index()], ct);
            }
        }
    }
    b.line = line;
    pending.truncate(args.len());
    Ok(pending)
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

/// Adds a contribution; a place that counts in one of them counts in the sum.
fn accumulate(b: &mut Builder, place: &mut Option<Cotangent>, ct: Cotangent) {
    *place = Some(match *place {
        None => ct,
        Some(sum) => Cotangent {
            value: joined(b, sum.value, ct.value)
                .or_else(|| increased(b, sum.value, ct.value))
                .or_else(|| increased(b, ct.value, sum.value))
                .unwrap_or_else(|| b.add(sum.value, ct.value)),
            mask: sum.mask.zip(ct.mask).map(|(x, y)| if x == y { x } else { b.op(Logic::Or, &[x, y]) }),
        },
    });
}

/// The sum of two contributions of neighbouring slices, each zero where the other is not: their concatenation. `None` if
/// they are not such.
fn joined(b: &mut Builder, x: Value, y: Value) -> Option<Value> {
    let (x, y) = (Padded::of(b, x)?, Padded::of(b, y)?);
    let mut axes = (0..x.low.len()).filter(|&axis| (x.low[axis], x.high[axis]) != (y.low[axis], y.high[axis]));
    let (axis, None) = (axes.next()?, axes.next()) else { return None };
    let (before, after) = if x.low[axis] < y.low[axis] { (x, y) } else { (y, x) };
    if before.low[axis] + before.length(b, axis) != after.low[axis] {
        return None;
    }
    // What was joined before is one list.
    let mut parts = Vec::new();
    for part in [before.inner, after.inner] {
        match b.definition(part) {
            Some(Eqn { op: Op::Concat(concat), args, .. }) if concat.axis == axis => parts.extend(args),
            _ => parts.push(part),
        }
    }
    let whole = b.op(Concat { axis }, &parts);
    let (low, mut high) = (before.low, before.high);
    high[axis] = after.high[axis];
    let all = low.iter().chain(&high).all(|&count| count == 0);
    Some(if all { whole } else { b.op(Pad::new(&low, &high), &[whole, after.zero]) })
}

/// How many times larger than its part a cotangent is, at least, where only the part is added to.
const PART: usize = 4;

/// The sum of a contribution and one that is zero but for a small part: the part is added to, so that a function that
/// reads an array row by row does not pay for all of it each time. `None` if it is not such.
fn increased(b: &mut Builder, sum: Value, part: Value) -> Option<Value> {
    let eqn = b.definition(part)?.clone();
    let whole = b.ty(part).size();
    let is_small = |b: &Builder, block: Value| PART * b.ty(block).size() <= whole;
    match (&eqn.op, &eqn.args[..]) {
        (Op::Pad(pad), &[block, zero]) if b.is_zero(zero) && is_small(b, block) => {
            let start: Option<Vec<usize>> = pad.low.iter().map(|&low| usize::try_from(low).ok()).collect();
            let grows = pad.high.iter().all(|&count| count >= 0);
            let stride = pad.interior.iter().map(|interior| interior + 1).collect();
            let update = Update { start: start.filter(|_| grows)?, stride, write: Write::Add };
            Some(match b.definition(sum).cloned() {
                // What was taken out is put in.
                Some(Eqn { op: Op::Update(other), args, .. })
                    if other.write == Write::Set
                        && (&other.start, &other.stride) == (&update.start, &update.stride)
                        && b.shape(args[1]) == b.shape(block)
                        && b.is_zero(args[1]) =>
                {
                    b.op(other, &[args[0], block])
                }
                _ => b.op(update, &[sum, block]),
            })
        }
        (Op::Scatter(scatter), &[zeros, indices, block])
            if scatter.write == Write::Add && b.is_zero(zeros) && is_small(b, block) =>
        {
            Some(b.op(scatter.clone(), &[sum, indices, block]))
        }
        (Op::DynamicUpdate(update), &[zeros, block, start]) if b.is_zero(zeros) && is_small(b, block) => {
            let before = b.op(DynamicSlice::new(b.shape(block)), &[sum, start]);
            let after = b.add(before, block);
            Some(b.op(*update, &[sum, after, start]))
        }
        _ => None,
    }
}

/// A value that is zero outside of a block.
struct Padded {
    inner: Value,
    zero: Value,
    low: Vec<i64>,
    high: Vec<i64>,
}

impl Padded {
    fn of(b: &Builder, value: Value) -> Option<Padded> {
        let eqn = b.definition(value)?;
        let (Op::Pad(pad), &[inner, zero]) = (&eqn.op, &eqn.args[..]) else { return None };
        let grows = pad.low.iter().chain(&pad.high).all(|&count| count >= 0) && pad.interior.iter().all(|&k| k == 0);
        let (low, high) = (pad.low.clone(), pad.high.clone());
        (grows && b.is_zero(zero)).then_some(Padded { inner, zero, low, high })
    }

    fn length(&self, b: &Builder, axis: usize) -> i64 {
        b.shape(self.inner)[axis] as i64
    }
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
    if let Op::Select(_) = eqn.op {
        let pulled = transposed(b, &eqn.op, &values, operands)?;
        return Ok(behind_select(b, pulled, operands[0].known(), masks[0]));
    }
    // A result without a cotangent constrains nothing; one without a mask counts everywhere.
    let masked = cts.iter().all(|ct| ct.is_none_or(|ct| ct.mask.is_some()));
    if !masked {
        let pulled = transposed(b, &eqn.op, &values, operands)?;
        return Ok(pulled.into_iter().map(|ct| ct.map(|value| Cotangent { value, mask: None })).collect());
    }
    if eqn.op.transposes_elementwise() {
        let mask = masks[0].expect("the one result is masked");
        let multiplies = matches!(eqn.op, Op::Binary(Binary::Mul | Binary::Div));
        let pulled = transposed(b, &eqn.op, &values, operands)?;
        let masked = pulled.into_iter().map(|ct| {
            let value = ct?;
            let value = if multiplies { mask_out(b, mask, value) } else { value };
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

pub(super) fn mask_out(b: &mut Builder, mask: Value, value: Value) -> Value {
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
