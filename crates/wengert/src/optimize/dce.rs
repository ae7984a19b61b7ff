//! Dead code: equations that no output needs.

use crate::program::{Builder, Program, Value};
use crate::transform::same_inputs;

/// The Program without equations whose results are not used; its inputs stay.
pub(crate) fn dce(program: &Program) -> Program {
    let mut needed = vec![false; program.types.len()];
    program.outputs.iter().for_each(|output| needed[output.index()] = true);
    let mut keep = vec![false; program.eqns.len()];
    for (k, eqn) in program.eqns.iter().enumerate().rev() {
        if eqn.outs().any(|out| needed[out.index()]) {
            keep[k] = true;
            eqn.args.iter().for_each(|arg| needed[arg.index()] = true);
        }
    }
    let mut b = Builder::new();
    let mut values: Vec<Option<Value>> = same_inputs(&mut b, program).into_iter().map(Some).collect();
    for (eqn, keep) in program.eqns.iter().zip(keep) {
        if !keep {
            values.extend(eqn.outs().map(|_| None));
            continue;
        }
        let args: Vec<Value> = eqn.args.iter().map(|arg| values[arg.index()].expect("needed")).collect();
        b.line = eqn.line;
        values.extend(b.ops(eqn.op.clone(), &args).into_iter().map(Some));
    }
    let outputs: Vec<Value> = program.outputs.iter().map(|output| values[output.index()].expect("needed")).collect();
    b.finish(&outputs)
}
