//! Buffer donation: results written over inputs.
//!
//! The caller of a plan may give inputs away: a training step has no use for the parameters that it replaces. A result
//! is written over such an input if one region reads the input, element by element, before it writes the result, a product is
//! added to it, or a kernel changes a part of it; and if no later step reads the input. Earlier steps then read the input from the result's buffer,
//! which still holds it. Of kernels that change one part after the other the first takes the input's place, and the others are
//! in place anyway (`Planner::overwrite`).

use std::ops::Range;

use super::cluster::{Clusters, Role, reads_elsewhere};
use super::flatten::{Flat, overwrites};
use super::{Access, Home, OutputSource, PlanOutput, Step, StepWork};
use crate::array::DType;
use crate::program::Value;

/// A result that may be written over an input.
#[derive(Clone, Copy, Debug)]
pub(super) struct DonatedPair {
    pub(super) input: usize,
    output: usize,
    /// The value of the flattened Program that is written first where the result lies: the result, or what becomes it when
    /// parts of it are changed.
    pub(super) value: Value,
}

/// Which inputs are given away.
#[derive(Clone, Debug)]
pub(super) enum Donated<'a> {
    /// Those that are marked, for any result.
    Any(&'a [bool]),
    /// The carry of a loop: these inputs, each for the result that takes its place in the next step, which are the first ones;
    /// but for the parts that are marked, if any are, because they are kept.
    Carry(Range<usize>, &'a [bool]),
}

impl Donated<'_> {
    pub(super) fn is_given(&self, input: usize) -> bool {
        match self {
            Donated::Any(marks) => marks.get(input) == Some(&true),
            Donated::Carry(range, kept) => range.contains(&input) && kept.get(input - range.start) != Some(&true),
        }
    }

    /// Whether this result may be written over this input.
    fn fits(&self, input: usize, output: usize) -> bool {
        match self {
            Donated::Any(_) => true,
            Donated::Carry(range, _) => input == range.start + output,
        }
    }
}

/// The pairs worth trying: the result's step is the last one that reads the input.
pub(super) fn wanted(
    flat: &Flat,
    clusters: &Clusters,
    order: &[usize],
    outputs: &[PlanOutput],
    donated: &Donated<'_>,
) -> Vec<DonatedPair> {
    let inputs = flat.program.input_types();
    if !(0..inputs.len()).any(|k| donated.is_given(k)) {
        return Vec::new();
    }
    let mut last: Vec<Option<usize>> = vec![None; inputs.len()];
    // The last steps that read an input elsewhere than where they write.
    let mut last_elsewhere = last.clone();
    for &step in order {
        for &k in &clusters.list[step].eqns {
            for &arg in &flat.program.eqns()[k].args {
                let base = flat.views[arg.index()].base;
                if base.index() < inputs.len() && flat.literals[arg.index()].is_none() {
                    last[base.index()] = Some(step);
                    if reads_elsewhere(flat, k) && clusters.list[step].space.is_some() {
                        last_elsewhere[base.index()] = Some(step);
                    }
                }
            }
        }
    }
    // An input that is a result as it is stays.
    let given = outputs.iter().filter_map(|output| match output.source {
        OutputSource::Input(k) => Some(k),
        _ => None,
    });
    let mut free: Vec<bool> = (0..inputs.len()).map(|k| donated.is_given(k)).collect();
    given.for_each(|k| free[k] = false);
    let mut pairs = Vec::new();
    for (k, (output, &result)) in outputs.iter().zip(flat.program.outputs()).enumerate() {
        if output.source != OutputSource::Fresh || output.ty.dtype == DType::Bool {
            continue;
        }
        let Some((value, step)) = first_written(flat, clusters, result) else { continue };
        let is_last = |input: usize| last[input] == Some(step) && last_elsewhere[input] != Some(step);
        let is_free = |&input: &usize| free[input] && is_last(input) && inputs[input] == output.ty;
        if let Some(input) = (0..inputs.len()).find(|input| is_free(input) && donated.fits(*input, k)) {
            free[input] = false;
            pairs.push(DonatedPair { input, output: k, value });
        }
    }
    pairs
}

/// The value that is written first where a result lies if whatever changes a part of it does so in place, and its step.
fn first_written(flat: &Flat, clusters: &Clusters, result: Value) -> Option<(Value, usize)> {
    let inputs = flat.program.input_types().len();
    let mut value = result;
    loop {
        let step = clusters.home[value.index()]?;
        let cluster = &clusters.list[step];
        if cluster.space.is_some() {
            return (clusters.roles[value.index()] == Role::Full).then_some((value, step));
        }
        let &[k] = &cluster.eqns[..] else { return None };
        let eqn = &flat.program.eqns()[k];
        if !overwrites(&eqn.op) || flat.literals[eqn.args[0].index()].is_some() {
            return None;
        }
        match flat.views[eqn.args[0].index()].base {
            base if base.index() < inputs => return Some((value, step)),
            base => value = base,
        }
    }
}

/// Writes the result over the input if the step that writes it first allows it.
pub(super) fn settle(pair: &DonatedPair, steps: &mut [Step], outputs: &mut [PlanOutput]) {
    let Some(at) = steps.iter().position(|step| step.writes_result(pair.output)) else { return };
    let step = &mut steps[at];
    let home = Home::Input(pair.input);
    let mut reads = (0..step.reads.len()).filter(|&k| step.reads[k].home == home);
    let (Some(read), None) = (reads.next(), reads.next()) else { return };
    let is_written = |home: Home| matches!(home, Home::Result(k) if step.results[k].range.start == pair.output);
    let write = step.writes.iter().position(|operand| is_written(operand.home)).expect("the step writes the result");
    let in_place = match &step.work {
        StepWork::Region(region) => region.in_place(),
        StepWork::Kernel(kernel, _) => kernel.in_place(),
        StepWork::Product(product) => product.in_place(),
        _ => return,
    };
    if step.reads[read].start > 0 || !in_place.contains(&(read as u16, write as u16)) {
        return;
    }
    step.reads[read].home = Home::InPlace(write as u16);
    outputs[pair.output].source = OutputSource::Donated(pair.input);
    steps[..at].iter_mut().for_each(|step| step.read_from_result(pair.input, pair.output));
    debug_assert!(steps[at..].iter().all(|step| step.reads.iter().all(|operand| operand.home != home)));
}

impl Step {
    fn writes_result(&self, result: usize) -> bool {
        self.results.iter().any(|access| access.written && access.range.start == result)
    }

    /// Takes an input from the place of a result, which the step does not use otherwise.
    fn read_from_result(&mut self, input: usize, result: usize) {
        if self.reads.iter().all(|operand| operand.home != Home::Input(input)) {
            return;
        }
        let at = self.results.partition_point(|access| access.range.start < result);
        self.results.insert(at, Access { range: result..result + 1, written: false });
        for operand in self.reads.iter_mut().chain(&mut self.writes) {
            match &mut operand.home {
                Home::Result(k) | Home::Part(k, _) if *k >= at => *k += 1,
                home if *home == Home::Input(input) => *home = Home::Result(at),
                _ => {}
            }
        }
    }
}
