//! The tangent program: every equation is followed by its tangent.
//!
//! The tangent of a linear or bilinear operation follows from its linearity; the others state
//! theirs. A tangent that is structurally zero is `None`.

use crate::array::Type;
use crate::error::{Error, ErrorKind, Misfit};
use crate::primitives::{Op, OperandSet, WithTangents};
use crate::program::{Args, Builder, Eqn, Program, Value};

/// A tangent input for each input that is active and real.
pub(crate) fn tangent_inputs(b: &mut Builder, program: &Program, active: &[bool]) -> Vec<Option<Value>> {
    assert_eq!(active.len(), program.names.len(), "one mark per input");
    let types = program.input_types().iter().zip(active);
    types.map(|(ty, &active)| (active && ty.dtype.is_float()).then(|| b.input("", ty.clone()))).collect()
}

/// Appends a Program with the tangents of its equations; gives outputs and their tangents.
pub(crate) fn jvp(
    b: &mut Builder,
    program: &Program,
    args: &[Value],
    tangents: &[Option<Value>],
) -> Result<(Vec<Value>, Vec<Option<Value>>), Error> {
    let mut values: Vec<Value> = args.to_vec();
    let mut dots: Vec<Option<Value>> = tangents.to_vec();
    let line = b.line;
    for eqn in &program.eqns {
        b.line = eqn.line.or(line);
        let args: Args = eqn.args.iter().map(|arg| values[arg.index()]).collect();
        let tangents: Vec<Option<Value>> = eqn.args.iter().map(|arg| dots[arg.index()]).collect();
        let (outs, out_dots) = jvp_eqn(b, eqn, program.types_of(eqn), &args, &tangents)?;
        values.extend(outs);
        dots.extend(out_dots);
    }
    b.line = line;
    let of = |value: &Value| (values[value.index()], dots[value.index()]);
    Ok(program.outputs.iter().map(of).unzip())
}

fn jvp_eqn(
    b: &mut Builder,
    eqn: &Eqn,
    types: &[Type],
    args: &[Value],
    tangents: &[Option<Value>],
) -> Result<WithTangents, Error> {
    if tangents.iter().all(Option::is_none) {
        let outs: Vec<Value> = b.all_again(eqn.op.clone(), args, types).collect();
        let none = vec![None; outs.len()];
        return Ok((outs, none));
    }
    let misfit = |b: &Builder, why: Misfit| {
        let error = Error::new(ErrorKind::Unsupported, &eqn.op.name(), why.0);
        error.of(args.iter().map(|&arg| b.ty(arg))).at(b.line)
    };
    // Operations that hold Programs compute values and tangents together.
    if let Some(result) = eqn.op.jvp_with_values(b, args, tangents) {
        return result.map_err(|why| misfit(b, why));
    }
    let outs: Vec<Value> = b.all_again(eqn.op.clone(), args, types).collect();
    let dots = tangents_of(b, &eqn.op, args, &outs, tangents).map_err(|why| misfit(b, why))?;
    Ok((outs, dots))
}

/// The tangents of one operation whose results exist.
pub(crate) fn tangents_of(
    b: &mut Builder,
    op: &Op,
    args: &[Value],
    outs: &[Value],
    tangents: &[Option<Value>],
) -> Result<Vec<Option<Value>>, Misfit> {
    let sets = op.linear_in(args.len());
    let covered = |k: usize| sets.iter().any(|set| set.contains(&k));
    if (0..args.len()).any(|k| tangents[k].is_some() && !covered(k)) {
        return op.jvp(b, args, outs, tangents);
    }
    let mut total: Vec<Option<Value>> = vec![None; outs.len()];
    for set in &sets {
        if set.iter().all(|&k| tangents[k].is_none()) {
            continue;
        }
        let part = linear_tangents(b, op, args, tangents, set);
        for (total, part) in total.iter_mut().zip(part) {
            *total = b.add_present(*total, part);
        }
    }
    // Integers and truth values have no tangents.
    for (dot, &out) in total.iter_mut().zip(outs) {
        *dot = dot.filter(|_| b.dtype(out).is_float());
    }
    Ok(total)
}

/// The operation applied to the tangents of one set, the other operands held.
fn linear_tangents(
    b: &mut Builder,
    op: &Op,
    args: &[Value],
    tangents: &[Option<Value>],
    set: &OperandSet,
) -> Vec<Option<Value>> {
    use crate::ops::Binary;
    // A sum with one tangent missing is the other one.
    if let Op::Binary(sign @ (Binary::Add | Binary::Sub)) = op {
        match (tangents[0], tangents[1]) {
            (Some(x), None) => return vec![Some(x)],
            (None, Some(y)) => return vec![Some(if *sign == Binary::Sub { b.neg(y) } else { y })],
            _ => {}
        }
    }
    let mut operands = args.to_vec();
    for &k in set {
        operands[k] = tangents[k].unwrap_or_else(|| b.zeros_like(args[k]));
    }
    b.ops(op.clone(), &operands).into_iter().map(Some).collect()
}
