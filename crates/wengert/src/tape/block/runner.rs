//! Runs paths: record by record over any carrier; over plain numbers as code, where a path is taken again and again.

use std::sync::Arc;

use super::sequence::PathSequence;
use super::{Block, Direction, Flow, Loop, MakeCode, Path, StepCode, Structure};
use crate::real::Real;
use crate::tape::trace::{Adjoints, Flipped};

/// What a step is given: numbers, or tangents of them. A path takes some of the captures.
#[derive(Clone, Copy)]
pub(super) struct StepInputs<'a, T> {
    pub(super) carry: &'a [T],
    pub(super) row: &'a [T],
    pub(super) captures: &'a [T],
}

impl<'a, T: Copy> StepInputs<'a, T> {
    /// The inputs of a path, one after the other.
    fn of(self, path: &'a Path) -> impl Iterator<Item = T> + Clone + 'a {
        let captured = path.captures.iter().map(move |&capture| self.captures[capture as usize]);
        self.carry.iter().chain(self.row).copied().chain(captured)
    }

    /// Writes them.
    fn write(self, path: &Path, inputs: &mut [T]) {
        let (start, end) = (self.carry.len(), self.carry.len() + self.row.len());
        inputs[..start].copy_from_slice(self.carry);
        inputs[start..end].copy_from_slice(self.row);
        for (input, &capture) in inputs[end..].iter_mut().zip(&path.captures) {
            *input = self.captures[capture as usize];
        }
    }
}

/// Runs one path of a loop over a carrier.
pub(super) trait PathRunner<R: Real>: Default {
    /// Gives the outputs to `take`; `None` if it is not the path that is taken there.
    fn forward<T>(
        &mut self,
        path: &Path,
        make: MakeCode,
        inputs: StepInputs<'_, R>,
        take: impl FnOnce(&[R]) -> T,
    ) -> Option<T>;

    /// Gives the outputs and their tangents to `take`, given those of the inputs; `None` if it is not the path that is taken there.
    fn tangents<T>(
        &mut self,
        path: &Path,
        make: MakeCode,
        inputs: StepInputs<'_, R>,
        tangents: StepInputs<'_, Option<R>>,
        take: impl FnOnce(&[R], &[Option<R>]) -> T,
    ) -> Option<T>;

    /// Hands the cotangents of the inputs that are reached to `give`, each with the number of its input, given those of the carry
    /// after the step and of what it gave. The path is the one that was taken there.
    fn backward(
        &mut self,
        path: &Path,
        make: MakeCode,
        inputs: StepInputs<'_, R>,
        seeds: [&[Option<R>]; 2],
        give: impl FnMut(usize, R),
    );
}

/// Record by record. Its memory is kept from step to step.
pub(super) struct ByRecord<R> {
    values: Vec<R>,
    outputs: Vec<R>,
    tangents: Vec<Option<R>>,
    output_tangents: Vec<Option<R>>,
    adjoints: Adjoints<R>,
}

impl<R> Default for ByRecord<R> {
    fn default() -> Self {
        let (values, outputs, tangents, output_tangents) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        ByRecord { values, outputs, tangents, output_tangents, adjoints: Adjoints::default() }
    }
}

impl<R: Real> ByRecord<R> {
    /// The values of all records, and the outputs among them.
    #[track_caller]
    fn evaluate(&mut self, path: &Path, inputs: StepInputs<'_, R>) -> Option<()> {
        let trace = &path.trace;
        self.values.resize(trace.records.len(), R::constant(0.0));
        inputs.write(path, &mut self.values[..trace.inputs]);
        trace.evaluate_in_place(&mut self.values).ok()?;
        self.outputs.clear();
        self.outputs.extend((0..trace.outputs.len()).map(|k| trace.output(k, &self.values)));
        Some(())
    }
}

impl<R: Real> PathRunner<R> for ByRecord<R> {
    fn forward<T>(
        &mut self,
        path: &Path,
        _: MakeCode,
        inputs: StepInputs<'_, R>,
        take: impl FnOnce(&[R]) -> T,
    ) -> Option<T> {
        self.evaluate(path, inputs)?;
        Some(take(&self.outputs))
    }

    fn tangents<T>(
        &mut self,
        path: &Path,
        _: MakeCode,
        inputs: StepInputs<'_, R>,
        tangents: StepInputs<'_, Option<R>>,
        take: impl FnOnce(&[R], &[Option<R>]) -> T,
    ) -> Option<T> {
        self.evaluate(path, inputs)?;
        let trace = &path.trace;
        self.tangents.clear();
        self.tangents.extend(tangents.of(path));
        trace.push_forward_in_place(&self.values, &mut self.tangents);
        let tangent = |k: usize| trace.output_node(k).and_then(|node| self.tangents[node]);
        self.output_tangents.clear();
        self.output_tangents.extend((0..trace.outputs.len()).map(tangent));
        Some(take(&self.outputs, &self.output_tangents))
    }

    fn backward(
        &mut self,
        path: &Path,
        _: MakeCode,
        inputs: StepInputs<'_, R>,
        [cts, given]: [&[Option<R>]; 2],
        mut give: impl FnMut(usize, R),
    ) {
        self.evaluate(path, inputs).expect("the path that was taken");
        path.trace.pull_back_in_place(&self.values, cts.iter().chain(given).copied(), &mut self.adjoints);
        for input in 0..path.trace.inputs {
            if let Some(ct) = self.adjoints.of(input) {
                give(input, ct);
            }
        }
    }
}

/// Over plain numbers: record by record at first, and then as code.
#[derive(Default)]
pub(super) struct ByCode {
    forward: Option<Running>,
    tangents: Option<RunningFlow>,
    backward: Option<RunningFlow>,
    by_record: ByRecord<f64>,
}

/// Code in its memory.
struct Running {
    code: Arc<dyn StepCode>,
    memory: Vec<f64>,
}

impl Running {
    fn new(code: Arc<dyn StepCode>) -> Self {
        let memory = code.begin();
        Running { code, memory }
    }
}

/// Derivatives along a path, from the set of inputs or outputs that had some last.
struct RunningFlow {
    flow: Arc<Flow>,
    running: Option<Running>,
}

impl RunningFlow {
    /// The one of this path from these inputs or outputs, which is about to run; its code, if it has some by now.
    fn of<'a>(
        known: &'a mut Option<Self>,
        path: &Path,
        make: MakeCode,
        direction: Direction,
        seeds: impl Iterator<Item = bool> + Clone,
    ) -> Option<(&'a Flow, &'a mut Running)> {
        if !path.trace.blocks.is_empty() {
            return None;
        }
        if !known.as_ref().is_some_and(|known| known.flow.seeds.iter().copied().eq(seeds.clone())) {
            let flow = path.flow(direction, &seeds.collect::<Vec<bool>>());
            *known = Some(RunningFlow { flow, running: None });
        }
        let RunningFlow { flow, running } = known.as_mut().expect("it was just made");
        if running.is_none() {
            *running = path.flow_code(direction, flow, make).map(Running::new);
        }
        Some((flow, running.as_mut()?))
    }
}

impl PathRunner<f64> for ByCode {
    fn forward<T>(
        &mut self,
        path: &Path,
        make: MakeCode,
        inputs: StepInputs<'_, f64>,
        take: impl FnOnce(&[f64]) -> T,
    ) -> Option<T> {
        if self.forward.is_none() {
            self.forward = path.forward_code(make).map(Running::new);
        }
        let Some(Running { code, memory }) = &mut self.forward else {
            return self.by_record.forward(path, make, inputs, take);
        };
        inputs.write(path, &mut memory[..path.trace.inputs]);
        code.run(memory).map(take)
    }

    fn tangents<T>(
        &mut self,
        path: &Path,
        make: MakeCode,
        inputs: StepInputs<'_, f64>,
        tangents: StepInputs<'_, Option<f64>>,
        take: impl FnOnce(&[f64], &[Option<f64>]) -> T,
    ) -> Option<T> {
        let live = tangents.of(path).map(|tangent| tangent.is_some());
        let Some((flow, running)) = RunningFlow::of(&mut self.tangents, path, make, Direction::Forwards, live) else {
            return self.by_record.tangents(path, make, inputs, tangents, take);
        };
        let (numbers, seeds) = running.memory.split_at_mut(path.trace.inputs);
        inputs.write(path, numbers);
        seeds.iter_mut().zip(tangents.of(path).flatten()).for_each(|(place, tangent)| *place = tangent);
        let results = running.code.run(&mut running.memory)?;
        let (outputs, results) = results.split_at(path.trace.outputs.len());
        let of_outputs = &mut self.by_record.output_tangents;
        of_outputs.clear();
        of_outputs.resize(outputs.len(), None);
        flow.reached.iter().zip(results).for_each(|(&output, &tangent)| of_outputs[output] = Some(tangent));
        Some(take(outputs, of_outputs))
    }

    fn backward(
        &mut self,
        path: &Path,
        make: MakeCode,
        inputs: StepInputs<'_, f64>,
        [cts, given]: [&[Option<f64>]; 2],
        mut give: impl FnMut(usize, f64),
    ) {
        let live = cts.iter().chain(given).map(Option::is_some);
        let Some((flow, running)) = RunningFlow::of(&mut self.backward, path, make, Direction::Backwards, live) else {
            return self.by_record.backward(path, make, inputs, [cts, given], give);
        };
        let (numbers, seeds) = running.memory.split_at_mut(path.trace.inputs);
        inputs.write(path, numbers);
        let all = cts.iter().chain(given).filter_map(|ct| *ct);
        seeds.iter_mut().zip(all).for_each(|(place, ct)| *place = ct);
        let results = running.code.run(&mut running.memory).expect("code of a path that is known has no guards");
        flow.reached.iter().zip(results).for_each(|(&input, &ct)| give(input, ct));
    }
}

/// What a loop came to: the last carry, what the steps gave, the carries before some of the steps, the paths.
pub(super) struct Course<R> {
    pub(super) last: Vec<R>,
    pub(super) gives: Vec<R>,
    pub(super) carries: Vec<R>,
    pub(super) sequence: PathSequence,
}

impl Block {
    /// Takes the steps for these numbers of the sources, if every one goes a way that is known, and there are as many. If asked,
    /// keeps the carry before as many steps as the recording did.
    #[track_caller]
    pub(super) fn course<R: Real, P: PathRunner<R>>(&self, sources: &[R], keep: bool) -> Result<Course<R>, Flipped> {
        let body = &self.body;
        let captures = &sources[self.captures_at()..self.rows_at()];
        let mut runners = Runners::<P>::new(body);
        let kept = if keep { body.count.div_ceil(body.every) } else { 0 };
        let mut course = Course {
            last: sources[..body.carry].to_vec(),
            gives: Vec::with_capacity(body.count * body.gives),
            carries: Vec::with_capacity(kept * body.carry),
            sequence: PathSequence::of(body.sequence.len()),
        };
        let (mut row, mut next) = (Vec::new(), Vec::new());
        for (t, recorded) in body.sequence.range(0..body.sequence.len()).enumerate() {
            row.clear();
            if t < body.count {
                self.row(t, sources, &mut row);
                if keep && t.is_multiple_of(body.every) {
                    course.carries.extend_from_slice(&course.last);
                }
            }
            let inputs = StepInputs { carry: &course.last, row: &row, captures };
            let gives = &mut course.gives;
            let path = runners.find(body, body.paths[recorded].structure, |runner, path| {
                runner.forward(path, body.make_code, inputs, |outputs| {
                    next.clear();
                    next.extend_from_slice(&outputs[..body.carry]);
                    gives.extend_from_slice(&outputs[body.carry..]);
                })
            });
            course.sequence.push(path.ok_or(Flipped)?);
            std::mem::swap(&mut course.last, &mut next);
        }
        Ok(course)
    }
}

/// Those of all paths of a loop, the latest used first.
pub(super) struct Runners<P> {
    runners: Vec<P>,
    order: Vec<u8>,
}

impl<P: Default> Runners<P> {
    pub(super) fn new(body: &Loop) -> Self {
        let runners = body.paths.iter().map(|_| P::default()).collect();
        Runners { runners, order: (0..body.paths.len()).map(|k| k as u8).collect() }
    }

    /// The number of the path of this structure on which `take` succeeds.
    pub(super) fn find(
        &mut self,
        body: &Loop,
        structure: Structure,
        mut take: impl FnMut(&mut P, &Path) -> Option<()>,
    ) -> Option<u8> {
        for place in 0..self.order.len() {
            let number = self.order[place];
            let path = &body.paths[usize::from(number)];
            if path.structure == structure && take(&mut self.runners[usize::from(number)], path).is_some() {
                self.order[..=place].rotate_right(1);
                return Some(number);
            }
        }
        None
    }
}
