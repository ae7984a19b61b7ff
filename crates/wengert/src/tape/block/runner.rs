//! Runs paths over plain numbers: record by record at first, and as code where a path is taken again and again.

use std::sync::Arc;

use super::sequence::PathSequence;
use super::{Block, Loop, MakeCode, Path, StepCode};
use crate::tape::trace::Flipped;

/// How often a path runs record by record before code is made of it, which takes as long as some hundred runs.
pub(super) const BEFORE_CODE: usize = 32;

/// Runs one path.
#[derive(Default)]
pub(super) struct PathRunner {
    runs: usize,
    code: Option<(Arc<dyn StepCode>, Vec<f64>)>,
    values: Vec<f64>,
}

impl PathRunner {
    /// Runs it for these numbers; gives the outputs to `take`. `None` if it is not the path that is taken there.
    pub(super) fn run<T>(
        &mut self,
        path: &Path,
        make: MakeCode,
        [carry, row, captures]: [&[f64]; 3],
        take: impl FnOnce(&[f64]) -> T,
    ) -> Option<T> {
        let (start, end) = (carry.len(), carry.len() + row.len());
        let fill = |inputs: &mut [f64]| {
            inputs[..start].copy_from_slice(carry);
            inputs[start..end].copy_from_slice(row);
            for (input, &capture) in inputs[end..].iter_mut().zip(&path.captures) {
                *input = captures[capture as usize];
            }
        };
        if let Some((code, memory)) = &mut self.code {
            fill(&mut memory[..path.trace.inputs]);
            return code.run(memory).map(take);
        }
        self.runs += 1;
        if self.runs > BEFORE_CODE {
            self.code = path.forward_code(make).map(|code| {
                let memory = code.begin();
                (code, memory)
            });
        }
        let trace = &path.trace;
        self.values.resize(trace.records.len(), 0.0);
        fill(&mut self.values[..trace.inputs]);
        trace.evaluate_in_place(&mut self.values).ok()?;
        let outputs: Vec<f64> = (0..trace.outputs.len()).map(|k| trace.output(k, &self.values)).collect();
        Some(take(&outputs))
    }
}

/// What a loop came to over plain numbers: the last carry, what the steps gave, the carries before the steps, the paths.
pub(super) struct Course {
    pub(super) last: Vec<f64>,
    pub(super) gives: Vec<f64>,
    pub(super) carries: Vec<f64>,
    pub(super) sequence: PathSequence,
}

impl Block {
    /// Takes the steps for these numbers of the sources, if every one goes a way that is known, and there are as many.
    pub(super) fn course(&self, sources: &[f64], keep: bool) -> Result<Course, Flipped> {
        let body = &self.body;
        let captures = &sources[self.captures_at()..self.rows_at()];
        let mut runners = Runners::new(body);
        let mut course = Course {
            last: sources[..body.carry].to_vec(),
            gives: Vec::with_capacity(body.count * body.gives),
            carries: Vec::with_capacity(if keep { body.count * body.carry } else { 0 }),
            sequence: PathSequence::of(body.sequence.len()),
        };
        let (mut row, mut next) = (Vec::new(), Vec::new());
        for (t, recorded) in body.sequence.range(0..body.sequence.len()).enumerate() {
            row.clear();
            if t < body.count {
                self.row(t, sources, &mut row);
                if keep {
                    course.carries.extend_from_slice(&course.last);
                }
            }
            next.clear();
            let structure = body.paths[recorded].structure;
            let gives = &mut course.gives;
            let path = runners.run(body, structure, [&course.last, &row, captures], |outputs| {
                next.extend_from_slice(&outputs[..body.carry]);
                gives.extend_from_slice(&outputs[body.carry..]);
            });
            course.sequence.push(path.ok_or(Flipped)?);
            std::mem::swap(&mut course.last, &mut next);
        }
        Ok(course)
    }
}

/// Those of all paths of a loop, the latest used first.
struct Runners {
    runners: Vec<PathRunner>,
    order: Vec<u8>,
}

impl Runners {
    fn new(body: &Loop) -> Self {
        let runners = body.paths.iter().map(|_| PathRunner::default()).collect();
        Runners { runners, order: (0..body.paths.len()).map(|k| k as u8).collect() }
    }

    /// Takes a step on a path of this structure; gives its number.
    fn run(
        &mut self,
        body: &Loop,
        structure: super::Structure,
        numbers: [&[f64]; 3],
        mut take: impl FnMut(&[f64]),
    ) -> Option<u8> {
        for place in 0..self.order.len() {
            let number = self.order[place];
            let path = &body.paths[usize::from(number)];
            let runner = &mut self.runners[usize::from(number)];
            if path.structure == structure && runner.run(path, body.make_code, numbers, &mut take).is_some() {
                self.order[..=place].rotate_right(1);
                return Some(number);
            }
        }
        None
    }
}
