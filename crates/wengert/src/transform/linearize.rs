//! Linearisation: partial evaluation of the tangent program. What does not depend on a tangent is
//! the primal part and is computed once; the rest is the linear part, whose operands from the
//! primal part are its residuals.

use std::collections::HashSet;

use crate::array::Type;
use crate::error::Error;
use crate::primitives::Op;
use crate::program::{Args, Builder, Eqn, Program, Value, cse_everywhere, dce, same_inputs};
use crate::transform::{jvp, transpose};

/// A linear map between tangents at one point.
#[derive(Clone, Debug)]
pub(crate) struct Linear {
    /// Takes the residuals, then the tangents of the active inputs; gives the tangents of those
    /// outputs that have one.
    pub(crate) program: Program,
    /// The residuals: values of the primal part.
    pub(crate) residuals: Vec<Value>,
    /// Which inputs of the original program have a tangent.
    pub(crate) inputs: Vec<bool>,
    /// Which outputs of the original program have one.
    pub(crate) outputs: Vec<bool>,
}

/// Appends the primal part of a Program; gives its outputs and the linear part.
pub(crate) fn linearize(
    b: &mut Builder,
    program: &Program,
    args: &[Value],
    active: &[bool],
) -> Result<(Vec<Value>, Linear), Error> {
    // What is computed twice would be pulled back twice, and its two cotangents never meet again. In regions inside too: a
    // recomputed gradient is the plain one to the bit.
    let program = cse_everywhere(program.clone());
    let mut joint = Builder::new();
    joint.line = b.line;
    let primals = same_inputs(&mut joint, &program);
    let tangents = jvp::tangent_inputs(&mut joint, &program, active);
    let (outs, dots) = jvp::jvp(&mut joint, &program, &primals, &tangents)?;
    // Long programs are large: each is given back when it is done with.
    drop(program);
    let results: Vec<Value> = outs.iter().chain(dots.iter().flatten()).copied().collect();
    let joint = dce(joint.finish(&results));
    let (outs, linear, residuals) = split(b, &joint, args, outs.len());
    let linear = Linear {
        program: linear,
        residuals,
        inputs: tangents.iter().map(Option::is_some).collect(),
        outputs: dots.iter().map(Option::is_some).collect(),
    };
    Ok((outs, linear))
}

/// Divides a tangent program: the inputs after `args` are tangents, the outputs after the first
/// `count` are theirs.
fn split(b: &mut Builder, joint: &Program, args: &[Value], count: usize) -> (Vec<Value>, Program, Vec<Value>) {
    let mut unknown: Vec<bool> = vec![false; joint.types.len()];
    unknown[args.len()..joint.names.len()].fill(true);
    for eqn in &joint.eqns {
        if eqn.args.iter().any(|arg| unknown[arg.index()]) {
            eqn.outs().for_each(|out| unknown[out.index()] = true);
        }
    }
    // The primal part.
    let mut known: Vec<Option<Value>> = vec![None; joint.types.len()];
    known[..args.len()].iter_mut().zip(args).for_each(|(known, &arg)| *known = Some(arg));
    let line = b.line;
    let is_linear = |eqn: &&Eqn| eqn.args.iter().any(|arg| unknown[arg.index()]);
    for eqn in joint.eqns.iter().filter(|eqn| !is_linear(eqn)) {
        let args: Args = eqn.args.iter().map(|arg| known[arg.index()].expect("defined before")).collect();
        b.line = eqn.line.or(line);
        let outs = b.all_again(eqn.op.clone(), &args, joint.types_of(eqn));
        eqn.outs().zip(outs).for_each(|(out, value)| known[out.index()] = Some(value));
    }
    b.line = line;
    let outs = joint.outputs[..count].iter().map(|out| known[out.index()].expect("a primal output")).collect();
    // The linear part.
    let mut part = Residuals::new(joint, &unknown, known);
    let tangents: Vec<Value> =
        (args.len()..joint.names.len()).map(|k| part.linear.input("", joint.types[k].clone())).collect();
    part.map[args.len()..joint.names.len()].iter_mut().zip(tangents).for_each(|(map, value)| *map = Some(value));
    for eqn in joint.eqns.iter().filter(is_linear) {
        let args: Args = eqn.args.iter().map(|&arg| part.operand(arg)).collect();
        part.linear.line = eqn.line;
        let outs = part.linear.all_again(eqn.op.clone(), &args, joint.types_of(eqn));
        eqn.outs().zip(outs).for_each(|(out, value)| part.map[out.index()] = Some(value));
    }
    let dots: Vec<Value> = joint.outputs[count..].iter().map(|&out| part.operand(out)).collect();
    let (program, residuals) = part.finish(&dots);
    (outs, program, residuals)
}

/// The linear part while it is made: residuals become inputs when they are met; numbers and what is
/// only their repetition are written again instead.
struct Residuals<'a> {
    joint: &'a Program,
    known: Vec<Option<Value>>,
    map: Vec<Option<Value>>,
    linear: Builder,
    residuals: Vec<(Value, Value)>,
    /// The equation that defines a value, if it costs nothing to write again.
    cheap: Vec<Option<&'a Eqn>>,
}

impl<'a> Residuals<'a> {
    fn new(joint: &'a Program, unknown: &[bool], known: Vec<Option<Value>>) -> Self {
        let mut cheap: Vec<Option<&Eqn>> = vec![None; joint.types.len()];
        for eqn in &joint.eqns {
            let constant = match eqn.op {
                Op::Literal(_) | Op::Iota(_) => true,
                Op::Broadcast(_) => cheap[eqn.args[0].index()].is_some(),
                _ => false,
            };
            if constant && !unknown[eqn.first.index()] {
                cheap[eqn.first.index()] = Some(eqn);
            }
        }
        let map = vec![None; joint.types.len()];
        Residuals { joint, known, map, linear: Builder::new(), residuals: Vec::new(), cheap }
    }

    fn operand(&mut self, value: Value) -> Value {
        if let Some(own) = self.map[value.index()] {
            return own;
        }
        let own = if let Some(eqn) = self.cheap[value.index()] {
            let args: Args = eqn.args.iter().map(|&arg| self.operand(arg)).collect();
            self.linear.op(eqn.op.clone(), &args)
        } else {
            let input = self.linear.input("", self.joint.ty(value).clone());
            let residual = self.known[value.index()].expect("what is not linear is known");
            self.residuals.push((input, residual));
            input
        };
        self.map[value.index()] = Some(own);
        own
    }

    /// The linear Program with the residuals as its first inputs.
    fn finish(self, outputs: &[Value]) -> (Program, Vec<Value>) {
        let residuals: HashSet<Value> = self.residuals.iter().map(|&(own, _)| own).collect();
        let tangents: Vec<Value> = self.linear.inputs().filter(|input| !residuals.contains(input)).collect();
        let order: Vec<Value> = self.residuals.iter().map(|&(own, _)| own).chain(tangents).collect();
        let program = self.linear.with_inputs_in_order(&order).finish(outputs);
        (program, self.residuals.into_iter().map(|(_, residual)| residual).collect())
    }
}

impl Linear {
    /// The types of the tangents that go in.
    pub(crate) fn tangent_types(&self) -> &[Type] {
        &self.program.input_types()[self.residuals.len()..]
    }

    /// Appends the transposed map at cotangents of all outputs; gives those of all inputs.
    pub(crate) fn pull(&self, b: &mut Builder, cotangents: &[Option<Value>]) -> Result<Vec<Option<Value>>, Error> {
        let cotangents: Vec<Option<Value>> =
            cotangents.iter().zip(&self.outputs).filter(|(_, has)| **has).map(|(ct, _)| *ct).collect();
        let known = self.residuals.iter().map(|&residual| Some(residual));
        let args: Vec<Option<Value>> = known.chain(self.tangent_types().iter().map(|_| None)).collect();
        let pulled = transpose::transpose(b, &self.program, &args, &cotangents)?;
        let mut pulled = pulled[self.residuals.len()..].iter();
        Ok(self.inputs.iter().map(|&active| if active { *pulled.next()? } else { None }).collect())
    }
}
