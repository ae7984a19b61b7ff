//! Activity of recorded tensors: whether a derivative flows to a value from a variable of a driver, so
//! that its numbers must not leave the recording.

use std::convert::Infallible;

use super::super::Tensor;
use super::{ArrayGraph, InputSource, Reading, with_graph};
use crate::primitives::Op;
use crate::program::{Eqn, Program, Value};

/// Which values of a graph are active, as far as anybody asked: a loop that reads a number in every
/// step walks the list once.
#[derive(Default)]
pub(super) struct Activity {
    /// For every value, the generation of the driver whose variable flows to it.
    drivers: Vec<Option<u64>>,
    /// How many inputs and equations were looked at.
    sources: usize,
    eqns: usize,
}

/// Whether a derivative flows to the tensor from a variable of a driver under way.
pub(crate) fn is_active(tensor: &Tensor) -> bool {
    driver_of(tensor).is_some()
}

/// The generation of the driver whose derivative flows to the tensor, if there is one.
pub(super) fn driver_of(tensor: &Tensor) -> Option<u64> {
    let traced = tensor.as_traced()?;
    // Other levels are asked first: no graph is borrowed meanwhile.
    let new: Vec<InputSource> = with_graph(traced.generation, |graph| {
        graph.sources[graph.activity.sources..].iter().map(|(_, source)| source.clone()).collect()
    });
    let variables = with_graph(traced.generation, |graph| graph.reading == Reading::Allowed);
    let driver_of_source = |source: &InputSource| match source {
        InputSource::Leaf(_) if variables => Some(traced.generation),
        InputSource::Leaf(Some(tensor)) | InputSource::Capture(tensor) => driver_of(tensor),
        InputSource::Leaf(None) => None,
    };
    let drivers: Vec<Option<u64>> = new.iter().map(driver_of_source).collect();
    with_graph(traced.generation, |graph| {
        graph.settle(&drivers);
        graph.activity.drivers[traced.value.index()]
    })
}

impl ArrayGraph {
    /// Finds out about what was recorded since the last time, given the drivers of the new inputs.
    fn settle(&mut self, new: &[Option<u64>]) {
        let Activity { drivers, sources, eqns } = &mut self.activity;
        drivers.resize(self.builder.len(), None);
        let is_real = |value: Value| self.builder.ty(value).dtype.is_float();
        for ((input, _), driver) in self.sources[*sources..].iter().zip(new) {
            drivers[input.index()] = driver.filter(|_| is_real(*input));
        }
        for eqn in &self.builder.eqns()[*eqns..] {
            let operands: Vec<Option<u64>> = eqn.args.iter().map(|arg| drivers[arg.index()]).collect();
            for (out, driver) in eqn.outs().zip(through(eqn, &operands)) {
                drivers[out.index()] = driver.filter(|_| is_real(out));
            }
        }
        (*sources, *eqns) = (self.sources.len(), self.builder.eqns().len());
    }
}

/// The drivers of the results, given those of the operands: none behind a step, a comparison, or
/// `detach`, here or in the Programs inside.
fn through(eqn: &Eqn, operands: &[Option<u64>]) -> Vec<Option<u64>> {
    let any = operands.iter().flatten().next().copied();
    if let Op::Unary(op) = &eqn.op
        && op.is_flat()
    {
        return vec![None];
    }
    let inside = |program: &Program, inputs: &[Option<u64>]| Ok::<_, Infallible>(outputs(program, inputs));
    match eqn.op.wiring().flow(&eqn.op, operands, inside, |x, y| Ok(x.or(y))) {
        Some(Ok(drivers)) => drivers,
        None => vec![any; eqn.outs().len()],
    }
}

/// The drivers of a Program's outputs, given those of its inputs.
fn outputs(program: &Program, inputs: &[Option<u64>]) -> Vec<Option<u64>> {
    let mut drivers = inputs.to_vec();
    for eqn in program.eqns() {
        let operands: Vec<Option<u64>> = eqn.args.iter().map(|arg| drivers[arg.index()]).collect();
        let real = |out: Value| program.ty(out).dtype.is_float();
        drivers.extend(eqn.outs().zip(through(eqn, &operands)).map(|(out, driver)| driver.filter(|_| real(out))));
    }
    program.outputs().iter().map(|output| drivers[output.index()]).collect()
}
