//! Dead code: equations that no output needs, and in the Programs inside an equation what its used
//! results do not need.

use std::sync::Arc;

use super::{Args, Builder, Drained, Eqn, Program, Types, Value};
use crate::primitives::{Narrowed, Op, Wiring};

/// The Program without equations whose results are not used; its inputs stay.
pub(crate) fn dce(program: Program) -> Program {
    let inputs = vec![true; program.names.len()];
    sweep(program, &inputs)
}

/// As [`dce`], with some of the inputs only; the others are not used.
fn sweep(program: Program, inputs: &[bool]) -> Program {
    let mut needed = vec![false; program.types.len()];
    program.outputs.iter().for_each(|output| needed[output.index()] = true);
    let mut kept: Vec<Option<NeededPart>> = Vec::with_capacity(program.eqns.len());
    for eqn in program.eqns.iter().rev() {
        let kept_here = eqn.outs().any(|out| needed[out.index()]).then(|| NeededPart::of(eqn, &needed));
        match &kept_here {
            Some(NeededPart::Narrowed { args, .. }) => args.iter().for_each(|arg| needed[arg.index()] = true),
            Some(NeededPart::Whole) => eqn.args.iter().for_each(|arg| needed[arg.index()] = true),
            None => {}
        }
        kept.push(kept_here);
    }
    let stays = |kept: &Option<NeededPart>| matches!(kept, Some(NeededPart::Whole));
    if !inputs.contains(&false) && kept.iter().all(stays) {
        return program;
    }
    let Program { eqns, outputs, names, types } = program;
    let mut values: Vec<Option<Value>> = vec![None; types.len()];
    let mut b = Builder::with_room(kept.iter().flatten().count(), needed.iter().filter(|needed| **needed).count());
    let mut types = Drained::new(types);
    for ((value, name), &used) in values.iter_mut().zip(names).zip(inputs) {
        let ty = types.next().expect("an input has a type");
        *value = used.then(|| b.input(&name, ty));
    }
    for (eqn, kept) in Drained::new(eqns).zip(kept.into_iter().rev()) {
        let results: Types = types.by_ref().take(eqn.results as usize).collect();
        let Some(kept) = kept else { continue };
        b.line = eqn.line;
        let renamed =
            |args: &[Value]| -> Args { args.iter().map(|arg| values[arg.index()].expect("needed")).collect() };
        match kept {
            NeededPart::Whole => {
                let (outs, args) = (eqn.outs(), renamed(&eqn.args));
                let first = b.again(eqn.op, &args, results);
                let results = first.into_iter().flat_map(|first| (first.0..).map(Value));
                outs.zip(results).for_each(|(out, result)| values[out.index()] = Some(result));
            }
            NeededPart::Narrowed { op, args, outs } => {
                let results = b.ops(op, &renamed(&args));
                outs.iter().zip(results).for_each(|(out, result)| values[out.index()] = Some(result));
            }
        }
    }
    let outputs: Vec<Value> = outputs.iter().map(|output| values[output.index()].expect("needed")).collect();
    b.finish(&outputs)
}

/// The part of an equation that is needed.
enum NeededPart {
    Whole,
    /// One that holds Programs, with the operands and results that are needed.
    Narrowed {
        op: Op,
        args: Vec<Value>,
        outs: Vec<Value>,
    },
}

impl NeededPart {
    fn of(eqn: &Eqn, needed: &[bool]) -> Self {
        let first = match eqn.op.wiring() {
            Wiring::OneOf { first } => first,
            Wiring::Loop { .. } => return NeededPart::of_loop(eqn, needed),
            Wiring::Apart => return NeededPart::Whole,
        };
        let programs = eqn.op.programs();
        let outs: Vec<bool> = eqn.outs().map(|out| needed[out.index()]).collect();
        let inner: Vec<Program> = programs.iter().map(|program| with_outputs(program, &outs)).collect();
        let mut used = vec![false; inner[0].names.len()];
        for program in &inner {
            used.iter_mut().zip(program.used_inputs()).for_each(|(used, here)| *used |= here);
        }
        let same = |(new, old): (&Program, &&Arc<Program>)| new.eqns.len() == old.eqns.len();
        if !outs.contains(&false) && !used.contains(&false) && inner.iter().zip(&programs).all(same) {
            return NeededPart::Whole;
        }
        let inner = inner.into_iter().map(|program| Arc::new(sweep(program, &used))).collect();
        let (own, shared) = eqn.args.split_at(first);
        let shared = shared.iter().zip(&used).filter(|(_, used)| **used).map(|(arg, _)| *arg);
        NeededPart::Narrowed {
            op: eqn.op.with_programs(inner),
            args: own.iter().copied().chain(shared).collect(),
            outs: eqn.outs().zip(&outs).filter(|(_, needed)| **needed).map(|(out, _)| out).collect(),
        }
    }
}

impl NeededPart {
    fn of_loop(eqn: &Eqn, needed: &[bool]) -> Self {
        let needed: Vec<bool> = eqn.outs().map(|out| needed[out.index()]).collect();
        let Some(Narrowed { op, args, outs }) = eqn.op.narrowed(&needed) else { return NeededPart::Whole };
        let args = args.into_iter().map(|k| eqn.args[k]).collect();
        let all: Vec<Value> = eqn.outs().collect();
        NeededPart::Narrowed { op, args, outs: outs.into_iter().map(|k| all[k]).collect() }
    }
}

/// The Program with some of its inputs only, which are all that it uses.
pub(crate) fn with_inputs(program: Program, inputs: &[bool]) -> Program {
    sweep(program, inputs)
}

/// The Program with the outputs marked, and what they need.
pub(crate) fn with_outputs(program: &Program, marked: &[bool]) -> Program {
    let mut program = program.clone();
    let mut marks = marked.iter();
    program.outputs.retain(|_| marks.next() == Some(&true));
    dce(program)
}
