//! Linearisation: partial evaluation of the tangent program. What does not depend on a tangent is
//! the primal part and is computed once; the rest is the linear part, whose operands from the
//! primal part are its residuals.

use std::borrow::Cow;

use crate::array::Type;
use crate::error::Error;
use crate::program::{Builder, Program, Value, cse_everywhere, dce, same_inputs};
use crate::transform::partial::{divide, split_inside};
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

/// How many times as long a Program with its tangents is, if nothing is unusual.
const WITH_TANGENTS: usize = 4;

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
    // A list that grows to a long one leaves holes in memory.
    let mut joint = Builder::with_room(WITH_TANGENTS * program.eqns().len(), WITH_TANGENTS * program.types.len());
    joint.line = b.line;
    let primals = same_inputs(&mut joint, &program);
    let tangents = jvp::tangent_inputs(&mut joint, &program, active);
    let (outs, dots) = jvp::jvp(&mut joint, &program, &primals, &tangents)?;
    // Long programs are large: each is given back when it is done with.
    drop(program);
    let results: Vec<Value> = outs.iter().chain(dots.iter().flatten()).copied().collect();
    let joint = dce(joint.finish(&results));
    // The inputs after those of the Program are tangents, the outputs after its own are theirs.
    let is_tangent: Vec<bool> = (0..joint.input_types().len()).map(|k| k >= args.len()).collect();
    let joint = split_inside(Cow::Owned(joint), &is_tangent);
    let known: Vec<Option<Value>> =
        is_tangent.iter().enumerate().map(|(k, tangent)| (!tangent).then(|| args[k])).collect();
    let is_primal: Vec<bool> = (0..results.len()).map(|k| k < outs.len()).collect();
    let parts = divide(b, &joint, &known, &is_primal);
    let outs = parts.outputs.into_iter().flatten().collect();
    let linear = Linear {
        program: parts.unknown,
        residuals: parts.residuals.into_iter().map(|(_, residual)| residual).collect(),
        inputs: tangents.iter().map(Option::is_some).collect(),
        outputs: dots.iter().map(Option::is_some).collect(),
    };
    Ok((outs, linear))
}

impl Linear {
    /// The types of the tangents that go in.
    pub(crate) fn tangent_types(&self) -> &[Type] {
        &self.program.input_types()[self.residuals.len()..]
    }

    /// The same map without the outputs before this one.
    pub(crate) fn without_outputs_before(mut self, first: usize) -> Linear {
        let before = self.outputs[..first].iter().filter(|&&has| has).count();
        self.outputs.drain(..first);
        if before > 0 {
            self.program = self.program.with_outputs(before..);
        }
        self
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
