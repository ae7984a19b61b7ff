//! A Program made again: equation by equation, inside another list, in the Programs inside.

use std::sync::Arc;

use super::{Args, Builder, Drained, Program, Types, Value};
use crate::primitives::Op;

/// The Program made again, equation by equation: `emit` appends one, whose operands are values of the new Program and
/// whose results have these types, and gives its results.
pub(crate) fn rebuild(
    program: Program,
    mut emit: impl FnMut(&mut Builder, Op, &[Value], Types) -> Option<Value>,
) -> Program {
    let Program { eqns, outputs, names, types } = program;
    let mut b = Builder::with_room(eqns.len(), types.len());
    let mut values: Vec<Value> = Vec::with_capacity(types.len());
    let mut types = Drained::new(types);
    values.extend(names.iter().zip(&mut types).map(|(name, ty)| b.input(name, ty)));
    let mut args = Args::new();
    for eqn in Drained::new(eqns) {
        args.clear();
        args.extend(eqn.args.iter().map(|arg| values[arg.index()]));
        b.line = eqn.line;
        let first = emit(&mut b, eqn.op, &args, types.by_ref().take(eqn.results as usize).collect());
        // The results of an equation follow one another.
        values.extend((0..eqn.results).map(|k| Value(first.expect("an equation with results").0 + k)));
    }
    let outputs: Vec<Value> = outputs.iter().map(|output| values[output.index()]).collect();
    b.finish(&outputs)
}

/// Inputs of a builder like those of a Program.
pub(crate) fn same_inputs(b: &mut Builder, program: &Program) -> Vec<Value> {
    let inputs = program.input_types().iter().zip(program.input_names());
    inputs.map(|(ty, name)| b.input(name, ty.clone())).collect()
}

/// Appends the equations of a Program with these values as its inputs; gives its outputs.
pub(crate) fn inline(b: &mut Builder, program: &Program, args: &[Value]) -> Vec<Value> {
    let mut values: Vec<Value> = Vec::with_capacity(program.types.len());
    values.extend(args);
    let line = b.line;
    for eqn in &program.eqns {
        let args: Args = eqn.args.iter().map(|&arg| values[arg.index()]).collect();
        b.line = eqn.line.or(line);
        values.extend(b.ops(eqn.op.clone(), &args));
    }
    b.line = line;
    program.outputs.iter().map(|&output| values[output.index()]).collect()
}

/// What `own` makes of a Program, after it has made the same of the Programs inside.
pub(crate) fn everywhere(mut program: Program, own: &impl Fn(Program) -> Program) -> Program {
    for eqn in &mut program.eqns {
        let inner = eqn.op.programs();
        if !inner.is_empty() {
            let inner = inner.into_iter().map(|inner| Arc::new(everywhere(Program::clone(inner), own))).collect();
            eqn.op = eqn.op.with_programs(inner);
        }
    }
    own(program)
}
