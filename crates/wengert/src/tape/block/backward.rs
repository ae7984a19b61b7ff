//! The transpose of a block: its steps backwards, each from its carry.

use std::ops::Range;
use std::sync::Arc;

use super::forward::{Known, divided, interned, joined};
use super::runner::{BEFORE_CODE, PathRunner};
use super::sequence::PathSequence;
use super::steps::{is_plain, plain, take_steps};
use super::{Block, Labels, Path, Pull, Rows, Step, StepCode, Steps};
use crate::real::Real;

impl Block {
    /// The cotangents of the sources, given the values of the list and the cotangents of the results.
    #[track_caller]
    pub(crate) fn pull_back<R: Real>(&self, values: &[R], seeds: &[Option<R>]) -> Vec<Option<R>> {
        let sources = self.numbers(values);
        if let Some(sources) = plain(&sources).filter(|_| is_plain::<R>()) {
            let number = |seed: R| plain(&[seed]).expect("the carrier is plain")[0];
            let seeds: Vec<Option<f64>> = seeds.iter().map(|seed| seed.map(number)).collect();
            return self.pull_back_plain(&sources, &seeds).into_iter().map(|ct| ct.map(R::constant)).collect();
        }
        self.pull_back_over(&sources, seeds)
    }

    /// Over any carrier: a loop that takes the carries of this one as rows, the last one first, and carries the cotangents of
    /// the carry and the sums of those of the captures.
    #[track_caller]
    fn pull_back_over<R: Real>(&self, sources: &[R], seeds: &[Option<R>]) -> Vec<Option<R>> {
        const FLIPPED: &str = "the point is the same, so no guard flips";
        let body = &self.body;
        let (size, width, gives) = (body.carry, body.row, body.gives);
        let captures = &sources[self.captures_at()..self.rows_at()];
        let structures = self.structures();
        let carries = self.again(sources, |carry, _| carry.to_vec()).expect(FLIPPED).gives;
        let mut known = Known::default();
        let none = vec![None; body.captures];
        let (live, start) = divided(&[&seeds[..size], &none].concat());
        let label = interned(&mut known.carries, live);
        // The carry, the row and the cotangents of what a step gives, from the last step to the first.
        let mut numbers = Vec::with_capacity(body.count * (size + width + gives));
        let (mut labels, mut row) = (Vec::with_capacity(body.count), Vec::new());
        for t in (0..body.count).rev() {
            numbers.extend_from_slice(&carries[t * size..(t + 1) * size]);
            self.row(t, sources, &mut row);
            numbers.extend_from_slice(&row);
            let (live, cts) = divided(&seeds[size + t * gives..size + (t + 1) * gives]);
            numbers.extend(cts);
            labels.push(interned(&mut known.rows, (structures.known[structures.of.of(t) as usize], live)));
        }
        drop(carries);
        let rows = Rows::Each(size + width + gives, numbers);
        let row_gives = if self.has_row_sources() { width } else { 0 };
        let steps = Steps { label, ..self.steps(start, rows, Labels::collected(labels)) };
        let taken = take_steps(steps, &mut |key, cts, row| {
            let (live, (structure, given_live)) = known.of(key);
            let (carry, row) = row.split_at(size);
            let (row, given) = row.split_at(width);
            let (_, path, values) = self.path_taken(*structure, carry, row, captures)?;
            let (cts, mut sums) = {
                let all: Vec<Option<R>> = joined(live, cts).collect();
                (all[..size].to_vec(), all[size..].to_vec())
            };
            let seeds: Vec<Option<R>> = cts.into_iter().chain(joined(given_live, given)).collect();
            let inputs = path.trace.pull_back_to_inputs(&values, &seeds);
            for (&capture, ct) in path.captures.iter().zip(&inputs[size + width..]) {
                let sum = &mut sums[capture as usize];
                *sum = add(*sum, *ct);
            }
            let (live, carry) = divided(&[&inputs[..size], &sums].concat());
            let (given_live, gives) = divided(&inputs[size..size + row_gives]);
            let after = interned(&mut known.carries, live);
            let given = interned(&mut known.given, given_live);
            Some(Step { carry, gives, after, given, ends: false })
        });
        let taken = taken.expect(FLIPPED);
        let mut cotangents: Vec<Option<R>> = joined(&known.carries[taken.label as usize], &taken.carry).collect();
        if row_gives > 0 {
            let rows = taken.given.iter().zip(taken.gives.chunks(row_gives)).rev();
            rows.for_each(|(&label, gives)| cotangents.extend(joined(&known.given[label as usize], gives)));
        }
        cotangents
    }

    /// Over plain numbers: from the carries that were kept, by code.
    fn pull_back_plain(&self, sources: &[f64], seeds: &[Option<f64>]) -> Vec<Option<f64>> {
        let body = &self.body;
        let (size, width, gives) = (body.carry, body.row, body.gives);
        let same = |(source, number): (&super::Source, &f64)| source.value.to_bits() == number.to_bits();
        let recorded = self.sources.iter().zip(sources).all(same);
        let course = (!recorded).then(|| self.course(sources, true).expect("the point is the same, so no guard flips"));
        let (sequence, kept, every) = match &course {
            Some(course) => (&course.sequence, &course.carries, 1),
            None => (&body.sequence, &body.carries, body.every),
        };
        let captures = &sources[self.captures_at()..self.rows_at()];
        let mut pulls: Vec<Option<PathPull>> = body.paths.iter().map(|_| None).collect();
        let mut cotangents = vec![None; self.sources.len()];
        let mut cts = seeds[..size].to_vec();
        let mut next = Vec::with_capacity(size);
        let mut runners: Vec<PathRunner> = body.paths.iter().map(|_| PathRunner::default()).collect();
        let (mut row, mut segment) = (Vec::new(), Vec::with_capacity(every.min(body.count) * size));
        for from in (0..body.count).step_by(every).rev() {
            let to = body.count.min(from + every);
            segment.clear();
            segment.extend_from_slice(&kept[from / every * size..][..size]);
            self.fill_segment(sources, sequence, from..to, &mut runners, &mut segment);
            for t in (from..to).rev() {
                self.row(t, sources, &mut row);
                let carry = &segment[(t - from) * size..][..size];
                let own_seeds = &seeds[size + t * gives..size + (t + 1) * gives];
                let number = sequence.at(t);
                let path = &body.paths[number];
                let pull = PathPull::of(&mut pulls[number], path, &cts, own_seeds);
                next.clear();
                next.resize(size, None);
                pull.run(path, self, [carry, &row, captures], &cts, own_seeds, |input, ct| {
                    let place = match input {
                        input if input < size => return next[input] = Some(ct),
                        input if input < size + width => match self.has_row_sources() {
                            true => self.rows_at() + t * width + input - size,
                            false => return,
                        },
                        input => self.captures_at() + path.captures[input - size - width] as usize,
                    };
                    let sum: &mut Option<f64> = &mut cotangents[place];
                    *sum = add(*sum, Some(ct));
                });
                std::mem::swap(&mut cts, &mut next);
            }
        }
        cotangents[..size].copy_from_slice(&cts);
        cotangents
    }

    /// Appends the carries before the other ones of these steps to that before the first, given the paths of all steps.
    fn fill_segment(
        &self,
        sources: &[f64],
        sequence: &PathSequence,
        steps: Range<usize>,
        runners: &mut [PathRunner],
        carries: &mut Vec<f64>,
    ) {
        let body = &self.body;
        let captures = &sources[self.captures_at()..self.rows_at()];
        let (mut row, mut next) = (Vec::new(), Vec::new());
        for (k, number) in sequence.range(steps.start..steps.end - 1).enumerate() {
            self.row(steps.start + k, sources, &mut row);
            next.clear();
            let take = |outputs: &[f64]| next.extend_from_slice(&outputs[..body.carry]);
            let numbers = [&carries[k * body.carry..], &row, captures];
            runners[number].run(&body.paths[number], body.make_code, numbers, take).expect("the path that was taken");
            carries.extend_from_slice(&next);
        }
    }
}

/// The sum of what may be structurally zero.
fn add<R: Real>(x: Option<R>, y: Option<R>) -> Option<R> {
    match (x, y) {
        (Some(x), Some(y)) => Some(x + y),
        (x, y) => x.or(y),
    }
}

/// Pulls back through one path, for the set of cotangents that was there last.
struct PathPull {
    pull: Arc<Pull>,
    runs: usize,
    code: Option<(Arc<dyn StepCode>, Vec<f64>)>,
}

impl PathPull {
    /// The one of this path and these cotangents.
    fn of<'a>(place: &'a mut Option<Self>, path: &Path, cts: &[Option<f64>], seeds: &[Option<f64>]) -> &'a mut Self {
        let live = || cts.iter().chain(seeds).map(Option::is_some);
        if !place.as_ref().is_some_and(|known| known.pull.seeds.iter().copied().eq(live())) {
            let live: Vec<bool> = live().collect();
            *place = Some(PathPull { pull: path.pull(&live), runs: 0, code: None });
        }
        place.as_mut().expect("it was just made")
    }

    /// Hands the cotangents of the inputs that are reached to `give`, each with the number of its input.
    fn run(
        &mut self,
        path: &Path,
        block: &Block,
        [carry, row, captures]: [&[f64]; 3],
        cts: &[Option<f64>],
        seeds: &[Option<f64>],
        mut give: impl FnMut(usize, f64),
    ) {
        let own = path.captures.iter().map(|&capture| captures[capture as usize]);
        let inputs = carry.iter().chain(row).copied().chain(own);
        self.runs += 1;
        if self.code.is_none() && self.runs > BEFORE_CODE {
            self.code = path.backward_code(&self.pull, block.body.make_code).map(|code| {
                let memory = code.begin();
                (code, memory)
            });
        }
        let Some((code, memory)) = &mut self.code else {
            let inputs: Vec<f64> = inputs.collect();
            let values = path.trace.evaluate(&inputs, |_| unreachable!("a path is closed"));
            let values = values.expect("the path that was taken");
            let seeds: Vec<Option<f64>> = cts.iter().chain(seeds).copied().collect();
            let cotangents = path.trace.pull_back_to_inputs(&values, &seeds);
            let reached = cotangents.into_iter().enumerate().filter_map(|(input, ct)| Some((input, ct?)));
            return reached.for_each(|(input, ct)| give(input, ct));
        };
        let all = inputs.chain(cts.iter().chain(seeds).filter_map(|ct| *ct));
        memory.iter_mut().zip(all).for_each(|(place, number)| *place = number);
        let results = code.run(memory).expect("code of a path that is known has no guards");
        self.pull.reached.iter().zip(results).for_each(|(&input, &ct)| give(input, ct));
    }
}
