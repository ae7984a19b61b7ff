//! Partial evaluation of a Program: what does not depend on its unknown inputs, the rest, and the residuals between them.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::primitives::{Op, Source};
use crate::program::{Args, Builder, Eqn, Program, Value};

/// What a Program is divided into.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    /// The values of the known outputs in the builder that was given; `None` for the others.
    pub(crate) outputs: Vec<Option<Value>>,
    /// Takes the residuals, then the unknown inputs; gives the other outputs.
    pub(crate) unknown: Program,
    /// Each residual: its value in the Program that was divided, and in the builder.
    pub(crate) residuals: Vec<(Value, Value)>,
}

/// Divides a Program. Its known inputs have values in `b`, where the known part is appended; `known` marks the outputs that
/// it gives, which have to be known.
pub(crate) fn divide(b: &mut Builder, program: &Program, args: &[Option<Value>], known: &[bool]) -> Parts {
    divide_keeping(b, program, args, known, |_| Vec::new())
}

/// As [`divide`], where values that `again` marks are no residuals, but computed once more in the unknown part. It has to mark what
/// they are made of too, up to residuals and inputs.
pub(crate) fn divide_keeping(
    b: &mut Builder,
    program: &Program,
    args: &[Option<Value>],
    known: &[bool],
    again: impl FnOnce(&Parting) -> Vec<bool>,
) -> Parts {
    let unknown = unknown_values(program, args.iter().map(Option::is_none));
    let mut values: Vec<Option<Value>> = args.to_vec();
    values.resize(program.types.len(), None);
    let line = b.line;
    let parting = Parting::of(program, unknown, known);
    let is_unknown = |eqn: &&Eqn| parting.is_unknown(eqn);
    for eqn in program.eqns.iter().filter(|eqn| !is_unknown(eqn)) {
        let args: Args = eqn.args.iter().map(|arg| values[arg.index()].expect("defined before")).collect();
        b.line = eqn.line.or(line);
        let outs = b.all_again(eqn.op.clone(), &args, program.types_of(eqn));
        eqn.outs().zip(outs).for_each(|(out, value)| values[out.index()] = Some(value));
    }
    b.line = line;
    let of = |(out, known): (&Value, &bool)| known.then(|| values[out.index()].expect("a known output"));
    let outputs = program.outputs.iter().zip(known).map(of).collect();
    let again = again(&parting);
    let mut rest = Rest::new(program, &parting, values);
    for k in (0..args.len()).filter(|&k| args[k].is_none()) {
        rest.map[k] = Some(rest.b.input("", program.types[k].clone()));
    }
    // In their order, those that are computed again too: each finds its operands.
    let is_again = |eqn: &Eqn| again.get(eqn.first.index()) == Some(&true) && eqn.outs().len() == 1;
    for eqn in program.eqns.iter().filter(|eqn| is_unknown(eqn) || is_again(eqn)) {
        let args: Args = eqn.args.iter().map(|&arg| rest.operand(arg)).collect();
        rest.b.line = eqn.line;
        let outs = rest.b.all_again(eqn.op.clone(), &args, program.types_of(eqn));
        eqn.outs().zip(outs).for_each(|(out, value)| rest.map[out.index()] = Some(value));
    }
    let results: Vec<Value> = parting.others.iter().map(|&out| rest.operand(out)).collect();
    let (unknown, residuals) = rest.finish(&results);
    Parts { outputs, unknown, residuals }
}

/// What is known of a Program that is divided.
pub(crate) struct Parting {
    unknown: Vec<bool>,
    /// Numbers and what is only their repetition: the unknown part has them by writing them again.
    written_again: Vec<bool>,
    /// The outputs that the unknown part gives.
    others: Vec<Value>,
}

impl Parting {
    fn of(program: &Program, unknown: Vec<bool>, known: &[bool]) -> Parting {
        let mut written_again = vec![false; program.types.len()];
        for eqn in &program.eqns {
            let constant = match eqn.op {
                Op::Literal(_) | Op::Iota(_) => true,
                Op::Broadcast(_) => written_again[eqn.args[0].index()],
                _ => false,
            };
            if constant && !unknown[eqn.first.index()] {
                written_again[eqn.first.index()] = true;
            }
        }
        let others = program.outputs.iter().zip(known).filter(|(_, known)| !**known).map(|(&out, _)| out).collect();
        Parting { unknown, written_again, others }
    }

    pub(crate) fn is_unknown(&self, eqn: &Eqn) -> bool {
        eqn.args.iter().any(|arg| self.unknown[arg.index()])
    }

    pub(crate) fn is_written_again(&self, value: usize) -> bool {
        self.written_again[value]
    }

    /// The known values that the unknown part reads.
    pub(crate) fn needed<'a>(&'a self, program: &'a Program) -> impl Iterator<Item = Value> + 'a {
        let read = program.eqns.iter().filter(|eqn| self.is_unknown(eqn)).flat_map(|eqn| &eqn.args);
        read.chain(&self.others).copied().filter(|value| !self.unknown[value.index()])
    }
}

/// Which values depend on an unknown input.
fn unknown_values(program: &Program, inputs: impl Iterator<Item = bool>) -> Vec<bool> {
    let mut unknown: Vec<bool> = inputs.collect();
    unknown.resize(program.types.len(), false);
    for eqn in &program.eqns {
        if eqn.args.iter().any(|arg| unknown[arg.index()]) {
            eqn.outs().for_each(|out| unknown[out.index()] = true);
        }
    }
    unknown
}

/// Which values of a step of a loop differ from step to step, or could fail if they were computed where no step runs: all but
/// what depends on the first inputs alone, the invariants.
pub(crate) fn varying(body: &Program, invariants: usize) -> Vec<bool> {
    let mut varies: Vec<bool> = (0..body.input_types().len()).map(|k| k >= invariants).collect();
    for eqn in body.eqns() {
        let can_fail = !eqn.op.harmless().is_empty() || eqn.op.gives_up() || !eqn.op.programs().is_empty();
        let own = can_fail || eqn.args.iter().any(|arg| varies[arg.index()]);
        varies.extend(eqn.outs().map(|_| own));
    }
    varies
}

/// Which outputs depend on an unknown input.
pub(crate) fn unknown_outputs(program: &Program, inputs: &[bool]) -> Vec<bool> {
    let unknown = unknown_values(program, inputs.iter().copied());
    program.outputs.iter().map(|output| unknown[output.index()]).collect()
}

/// The Program with every operation that knows how to split in two equations: a known one with residuals, and one that takes
/// them.
pub(crate) fn split_inside<'a>(program: Cow<'a, Program>, inputs: &[bool]) -> Cow<'a, Program> {
    if program.eqns.iter().all(|eqn| eqn.op.programs().is_empty()) {
        return program;
    }
    let mut b = Builder::with_room(program.eqns.len(), program.types.len());
    let mut values: Vec<Value> = Vec::with_capacity(program.types.len());
    values.extend(program.names.iter().zip(&program.types).map(|(name, ty)| b.input(name, ty.clone())));
    let mut unknown = inputs.to_vec();
    for eqn in &program.eqns {
        let args: Args = eqn.args.iter().map(|arg| values[arg.index()]).collect();
        let flags: Vec<bool> = eqn.args.iter().map(|arg| unknown[arg.index()]).collect();
        b.line = eqn.line;
        let split = if flags.contains(&true) { eqn.op.split(&flags) } else { None };
        let Some(split) = split else {
            values.extend(b.all_again(eqn.op.clone(), &args, program.types_of(eqn)));
            unknown.extend(eqn.outs().map(|_| flags.contains(&true)));
            continue;
        };
        let known: Vec<Value> = split.known_args.iter().map(|&k| args[k]).collect();
        let mut known = b.ops(split.known, &known).into_iter();
        let count = split.is_known.iter().filter(|known| **known).count();
        let results: Vec<Value> = known.by_ref().take(count).collect();
        let residuals: Vec<Value> = known.collect();
        let operand = |source: &Source| match *source {
            Source::Operand(k) => args[k],
            Source::Residual(k) => residuals[k],
        };
        let rest: Vec<Value> = split.unknown_args.iter().map(operand).collect();
        let (mut results, mut rest) = (results.into_iter(), b.ops(split.unknown, &rest).into_iter());
        for &known in &split.is_known {
            values.push(if known { results.next() } else { rest.next() }.expect("one per result"));
            unknown.push(!known);
        }
    }
    let outputs: Vec<Value> = program.outputs.iter().map(|output| values[output.index()]).collect();
    Cow::Owned(b.finish(&outputs))
}

/// The unknown part while it is made: residuals become inputs when they are met; numbers and what is only their repetition are
/// written again instead.
struct Rest<'a> {
    program: &'a Program,
    /// The known values, in the builder of the known part.
    known: Vec<Option<Value>>,
    /// The values that exist here.
    map: Vec<Option<Value>>,
    b: Builder,
    /// The values of the Program that are residuals, each with its input here.
    residuals: Vec<(Value, Value)>,
    /// The equation that defines a value, if it is written again.
    cheap: Vec<Option<&'a Eqn>>,
}

impl<'a> Rest<'a> {
    fn new(program: &'a Program, parting: &Parting, known: Vec<Option<Value>>) -> Self {
        let mut cheap: Vec<Option<&Eqn>> = vec![None; program.types.len()];
        for eqn in program.eqns.iter().filter(|eqn| eqn.outs().len() == 1) {
            if parting.is_written_again(eqn.first.index()) {
                cheap[eqn.first.index()] = Some(eqn);
            }
        }
        let map = vec![None; program.types.len()];
        Rest { program, known, map, b: Builder::new(), residuals: Vec::new(), cheap }
    }

    fn operand(&mut self, value: Value) -> Value {
        // Chains may be long: what is written again waits on a list for its operands.
        let mut waiting = vec![value];
        while let Some(&next) = waiting.last() {
            if self.map[next.index()].is_none() {
                if let Some(eqn) = self.cheap[next.index()] {
                    let before = waiting.len();
                    waiting.extend(eqn.args.iter().rev().filter(|arg| self.map[arg.index()].is_none()));
                    if waiting.len() > before {
                        continue;
                    }
                }
                self.map[next.index()] = Some(self.written(next));
            }
            waiting.pop();
        }
        self.map[value.index()].expect("it was written")
    }

    /// A value that is known, here, given its operands: computed again, or a residual.
    fn written(&mut self, value: Value) -> Value {
        if let Some(eqn) = self.cheap[value.index()] {
            let args: Args = eqn.args.iter().map(|arg| self.map[arg.index()].expect("it came before")).collect();
            return self.b.op(eqn.op.clone(), &args);
        }
        let input = self.b.input("", self.program.ty(value).clone());
        self.residuals.push((value, input));
        input
    }

    /// The unknown part with the residuals as its first inputs, and the residuals.
    fn finish(self, outputs: &[Value]) -> (Program, Vec<(Value, Value)>) {
        let residuals: HashSet<Value> = self.residuals.iter().map(|&(_, input)| input).collect();
        let others: Vec<Value> = self.b.inputs().filter(|input| !residuals.contains(input)).collect();
        let order: Vec<Value> = self.residuals.iter().map(|&(_, input)| input).chain(others).collect();
        let program = self.b.with_inputs_in_order(&order).finish(outputs);
        let known = |value: Value| self.known[value.index()].expect("what is not unknown is known");
        (program, self.residuals.iter().map(|&(value, _)| (value, known(value))).collect())
    }
}
