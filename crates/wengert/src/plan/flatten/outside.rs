//! Products and copies that are the same in every step of a loop, moved in front of it.
//!
//! A step that multiplies with a transposed matrix would transpose it for itself again and again, as every reverse of a recurrent
//! network does. Only what gives the same bits wherever it is computed is moved, and only from loops that take a step: nothing runs
//! that did not run before. What else depends on what is the same for all steps is cheap, and stays, so that it need not be stored.

use std::sync::Arc;

use super::{Flat, Flattener, Flattening, flatten};
use crate::array::Type;
use crate::ops::Unary;
use crate::primitives::{Form, Op, Scan};
use crate::program::{Builder, Program, Value, dce};

/// Fewer elements are computed as fast as they are read.
const MIN_ELEMENTS: usize = 128;

impl Flattener {
    /// The loop without what is the same in every step, and its operands, of which there are more; `None` if there is no such thing.
    pub(super) fn outside(&mut self, scan: &Scan, args: &[Value]) -> Option<(Scan, Vec<Value>)> {
        let [invariants, ..] = scan.roles();
        if scan.length < 2 || invariants.is_empty() || !may_move(&scan.body) {
            return None;
        }
        let how = Flattening { written: false, keeps_copies: true, copies_gathered: true };
        let flat = flatten(Program::clone(&scan.body), how);
        let moved = moved(&flat, invariants.end);
        if moved.is_empty() {
            return None;
        }
        let mut operands = args[invariants.clone()].to_vec();
        operands.extend(self.computed(&flat.program, &args[invariants.clone()], &moved));
        operands.extend(&args[invariants.end..]);
        let body = Arc::new(without(&flat.program, invariants.end, &moved, &scan.body.output_types()));
        Some((Scan { body, ..scan.clone() }, operands))
    }

    /// The values of these equations of a step, by what they depend on.
    fn computed(&mut self, step: &Program, invariants: &[Value], moved: &[usize]) -> Vec<Value> {
        let mut is_needed = vec![false; step.eqns().len()];
        let maker = makers(step);
        let mut open = moved.to_vec();
        while let Some(k) = open.pop() {
            if !std::mem::replace(&mut is_needed[k], true) {
                open.extend(step.eqns()[k].args.iter().filter_map(|arg| maker[arg.index()]));
            }
        }
        let mut values: Vec<Option<Value>> = invariants.iter().copied().map(Some).collect();
        values.resize(step.types.len(), None);
        let line = self.b.line;
        for (k, eqn) in step.eqns().iter().enumerate().filter(|(k, _)| is_needed[*k]) {
            let args: Vec<Value> =
                eqn.args.iter().map(|arg| values[arg.index()].expect("it depends on invariants alone")).collect();
            self.b.line = eqn.line.or(line);
            let results = match &eqn.op {
                Op::Unary(Unary::Detach) if moved.contains(&k) => vec![self.copy(args[0])],
                op => self.eqn(op.clone(), &args),
            };
            eqn.outs().zip(results).for_each(|(out, result)| values[out.index()] = Some(result));
        }
        self.b.line = line;
        let of = |&k: &usize| values[step.eqns()[k].first.index()].expect("it is computed");
        let results: Vec<Value> = moved.iter().map(of).collect();
        results.into_iter().map(|value| self.in_order(value)).collect()
    }
}

/// Whether it is worth looking for what can be moved out of a step. What is computed again stays where it is.
fn may_move(step: &Program) -> bool {
    let ops = || step.eqns().iter().map(|eqn| &eqn.op);
    ops().any(|op| matches!(op, Op::Einsum(_) | Op::Scan(_))) && !ops().any(|op| matches!(op, Op::Recompute(_)))
}

/// The equations of a step, in order, whose values are computed in front of the loop.
fn moved(flat: &Flat, invariants: usize) -> Vec<usize> {
    let program = &flat.program;
    let mut is_fixed: Vec<bool> = (0..program.input_types().len()).map(|k| k < invariants).collect();
    let mut is_moved = vec![false; program.eqns().len()];
    let maker = makers(program);
    for (k, eqn) in program.eqns().iter().enumerate() {
        let form = program.form(eqn);
        let stays =
            matches!(form, Form::Planned | Form::Kernel | Form::ElementwiseKernel) && !matches!(eqn.op, Op::Einsum(_));
        let fixed = !stays && eqn.args.iter().all(|arg| is_fixed[arg.index()]);
        is_fixed.extend(eqn.outs().map(|_| fixed));
        let is_copy = |arg: Value| !flat.views[arg.index()].is_window() && flat.literals[arg.index()].is_none();
        let is_costly = match &eqn.op {
            Op::Einsum(_) => true,
            Op::Unary(Unary::Detach) => is_copy(eqn.args[0]),
            _ => false,
        };
        is_moved[k] = fixed && is_costly && program.ty(eqn.first).size() >= MIN_ELEMENTS;
    }
    // Only what the step itself reads: what others are made of alone is computed with them.
    let mut is_read = vec![false; program.eqns().len()];
    let readers = program.eqns().iter().filter(|eqn| !is_fixed[eqn.first.index()]).flat_map(|eqn| &eqn.args);
    let mut open: Vec<Value> = readers.chain(program.outputs()).copied().collect();
    let mut seen = vec![false; program.types.len()];
    while let Some(value) = open.pop() {
        let Some(k) = maker[value.index()].filter(|_| !std::mem::replace(&mut seen[value.index()], true)) else {
            continue;
        };
        if is_moved[k] {
            is_read[k] = true;
        } else {
            open.extend(&program.eqns()[k].args);
        }
    }
    (0..is_read.len()).filter(|&k| is_read[k]).collect()
}

/// The equation that makes each value; none of inputs.
fn makers(program: &Program) -> Vec<Option<usize>> {
    let mut makers = vec![None; program.types.len()];
    for (k, eqn) in program.eqns().iter().enumerate() {
        eqn.outs().for_each(|out| makers[out.index()] = Some(k));
    }
    makers
}

/// The step that takes the values of these equations behind its invariants, with results of these types: those of a flattened
/// step are stored values, whatever their shapes.
fn without(step: &Program, invariants: usize, moved: &[usize], results: &[Type]) -> Program {
    let mut b = Builder::new();
    let (fixed, others) = step.input_types().split_at(invariants);
    let mut values: Vec<Value> = fixed.iter().map(|ty| b.input("", ty.clone())).collect();
    let inputs: Vec<Value> = moved.iter().map(|&k| b.input("", step.ty(step.eqns()[k].first).clone())).collect();
    values.extend(others.iter().map(|ty| b.input("", ty.clone())).collect::<Vec<Value>>());
    for (k, eqn) in step.eqns().iter().enumerate() {
        if let Ok(place) = moved.binary_search(&k) {
            values.push(inputs[place]);
            continue;
        }
        let args: Vec<Value> = eqn.args.iter().map(|arg| values[arg.index()]).collect();
        b.line = eqn.line;
        values.extend(b.ops(eqn.op.clone(), &args));
    }
    let outputs = step.outputs().iter().zip(results);
    let outputs: Vec<Value> = outputs.map(|(output, ty)| b.reshape(values[output.index()], &ty.shape)).collect();
    dce(b.finish(&outputs))
}
