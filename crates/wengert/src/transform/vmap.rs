//! One more axis: every equation in its batched form. Inside, the batch axis is always in front.

use crate::error::{Error, ErrorKind, Misfit};
use crate::program::{Builder, Eqn, Program, Value};

/// Inputs of a builder like those of a program, with one more axis in front where marked.
pub(crate) fn batched_inputs(b: &mut Builder, program: &Program, batched: &[bool], length: usize) -> Vec<Value> {
    let inputs = program.input_types().iter().zip(program.input_names()).zip(batched);
    let input = |((ty, name), batched): ((&crate::array::Type, &String), &bool)| {
        let shape = if *batched { [&[length], &ty.shape[..]].concat() } else { ty.shape.clone() };
        b.input(name, ty.with_shape(shape))
    };
    inputs.map(input).collect()
}

/// Appends a Program with an axis of this length in front of the operands marked; gives its outputs
/// and whether they have it.
pub(crate) fn vmap(
    b: &mut Builder,
    program: &Program,
    args: &[Value],
    batched: &[bool],
    length: usize,
) -> Result<Vec<(Value, bool)>, Error> {
    let mut values: Vec<(Value, bool)> = args.iter().copied().zip(batched.iter().copied()).collect();
    let line = b.line;
    for eqn in &program.eqns {
        let (args, batched): (Vec<Value>, Vec<bool>) = eqn.args.iter().map(|arg| values[arg.index()]).unzip();
        b.line = eqn.line.or(line);
        if !batched.contains(&true) {
            values.extend(b.ops(eqn.op.clone(), &args).into_iter().map(|out| (out, false)));
            continue;
        }
        let outs = eqn.op.batch(b, &args, &batched, length).map_err(|why| unsupported(b, eqn, &args, why))?;
        values.extend(outs);
    }
    b.line = line;
    Ok(program.outputs.iter().map(|output| values[output.index()]).collect())
}

/// As [`vmap`], where only the lanes of `mask` count: an operation that could fail on the values of
/// the others gets harmless ones there.
pub(crate) fn vmap_guarded(
    b: &mut Builder,
    program: &Program,
    args: &[Value],
    batched: &[bool],
    length: usize,
    mask: Value,
) -> Result<Vec<(Value, bool)>, Error> {
    let mut values: Vec<(Value, bool)> = args.iter().copied().zip(batched.iter().copied()).collect();
    let line = b.line;
    for eqn in &program.eqns {
        let (mut args, mut batched): (Vec<Value>, Vec<bool>) = eqn.args.iter().map(|arg| values[arg.index()]).unzip();
        b.line = eqn.line.or(line);
        for (k, harmless) in eqn.op.harmless() {
            args[k] = b.batch_all(&args[k..=k], &batched[k..=k], length)[0];
            batched[k] = true;
            let ty = b.ty(args[k]).clone();
            let harmless = b.full(harmless, &ty);
            let mask = b.spread(mask, &ty.shape, &(1..ty.rank()).collect::<Vec<usize>>());
            args[k] = b.select(mask, args[k], harmless);
        }
        let inside = eqn.op.batch_masked(b, &args, &batched, length, mask);
        let outs = match inside.or_else(|| batched.contains(&true).then(|| eqn.op.batch(b, &args, &batched, length))) {
            Some(outs) => outs.map_err(|why| unsupported(b, eqn, &args, why))?,
            None => b.ops(eqn.op.clone(), &args).into_iter().map(|out| (out, false)).collect(),
        };
        values.extend(outs);
    }
    b.line = line;
    Ok(program.outputs.iter().map(|output| values[output.index()]).collect())
}

fn unsupported(b: &Builder, eqn: &Eqn, args: &[Value], why: Misfit) -> Error {
    let error = Error::new(ErrorKind::Unsupported, &eqn.op.name(), why.0);
    error.of(args.iter().map(|&arg| b.ty(arg))).at(b.line)
}
