//! The transpose of a block: its steps backwards, each from its carry.

use std::ops::Range;

use super::forward::{FLIPPED, Known, divided, interned, joined};
use super::recorder::take_steps;
use super::runner::{ByCode, ByRecord, PathRunner, StepInputs};
use super::sequence::PathSequence;
use super::steps::{Carried, cast};
use super::{Block, Labels, Rows, Step, Steps};
use crate::real::Real;
use crate::tape::Var;
use crate::tape::trace::Adjoints;

impl Block {
    /// The cotangents of the sources, given the values of the list and the cotangents of the results.
    #[track_caller]
    pub(crate) fn pull_back<R: Real>(&self, values: &[R], seeds: &[Option<R>]) -> Vec<Option<R>> {
        match Carried::of(self.numbers(values)) {
            Carried::Plain(sources) => {
                let same = |(source, number): (&super::Source, &f64)| source.value.to_bits() == number.to_bits();
                let recorded = self.sources.iter().zip(&sources).all(same);
                let kept = recorded.then_some((&self.body.sequence, &self.body.carries[..]));
                cast(self.pull_back_by::<_, ByCode>(&sources, &cast::<_, Vec<_>>(seeds.to_vec()), kept))
            }
            Carried::Variables(sources) => cast(self.pull_back_over(&sources, &cast::<_, Vec<_>>(seeds.to_vec()))),
            Carried::Other(sources) => self.pull_back_by::<_, ByRecord<R>>(&sources, seeds, None),
        }
    }

    /// Over variables: a loop that takes the carries of this one as rows, the last one first, and carries the cotangents of
    /// the carry and the sums of those of the captures.
    #[track_caller]
    fn pull_back_over(&self, sources: &[Var], seeds: &[Option<Var>]) -> Vec<Option<Var>> {
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
        let mut adjoints = Adjoints::default();
        let row_gives = if self.has_row_sources() { width } else { 0 };
        let steps = Steps { label, ..self.steps(start, rows, Labels::collected(labels)) };
        let taken = take_steps(steps, &mut |key, cts, row| {
            let (live, (structure, given_live)) = known.of(key);
            let (carry, row) = row.split_at(size);
            let (row, given) = row.split_at(width);
            let (path, values) = self.path_taken(*structure, carry, row, captures)?;
            let (cts, mut sums) = {
                let all: Vec<Option<Var>> = joined(live, cts).collect();
                (all[..size].to_vec(), all[size..].to_vec())
            };
            let seeds = cts.into_iter().chain(joined(given_live, given));
            path.trace.pull_back_in_place(&values, seeds, &mut adjoints);
            let inputs: Vec<Option<Var>> = (0..path.trace.inputs).map(|input| adjoints.of(input)).collect();
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
        let mut cotangents: Vec<Option<Var>> = joined(&known.carries[taken.label as usize], &taken.carry).collect();
        if row_gives > 0 {
            let rows = taken.given.iter().zip(taken.gives.chunks(row_gives)).rev();
            rows.for_each(|(&label, gives)| cotangents.extend(joined(&known.given[label as usize], gives)));
        }
        cotangents
    }

    /// Over a carrier that leaves no loop, from the carries that were kept: of the recorded course, or of one that is taken first.
    #[track_caller]
    fn pull_back_by<R: Real, P: PathRunner<R>>(
        &self,
        sources: &[R],
        seeds: &[Option<R>],
        kept: Option<(&PathSequence, &[R])>,
    ) -> Vec<Option<R>> {
        let body = &self.body;
        let (size, width, gives, every) = (body.carry, body.row, body.gives, body.every);
        let course = kept.is_none().then(|| self.course::<R, P>(sources, true).expect(FLIPPED));
        let own = || course.as_ref().map(|course| (&course.sequence, &course.carries[..]));
        let (sequence, kept) = kept.or_else(own).expect("one of the two is there");
        let captures = &sources[self.captures_at()..self.rows_at()];
        let mut runners: Vec<P> = body.paths.iter().map(|_| P::default()).collect();
        let mut cotangents = vec![None; self.sources.len()];
        let (mut cts, mut next) = (seeds[..size].to_vec(), Vec::with_capacity(size));
        let (mut row, mut segment) = (Vec::new(), Vec::with_capacity(every.min(body.count) * size));
        for from in (0..body.count).step_by(every).rev() {
            let to = body.count.min(from + every);
            segment.clear();
            segment.extend_from_slice(&kept[from / every * size..][..size]);
            self.fill_segment(sources, sequence, from..to, &mut runners, &mut segment);
            for t in (from..to).rev() {
                self.row(t, sources, &mut row);
                let inputs = StepInputs { carry: &segment[(t - from) * size..][..size], row: &row, captures };
                let given = &seeds[size + t * gives..size + (t + 1) * gives];
                let number = sequence.at(t);
                let path = &body.paths[number];
                next.clear();
                next.resize(size, None);
                runners[number].backward(path, body.make_code, inputs, [&cts, given], |input, ct| {
                    let place = match input {
                        input if input < size => return next[input] = Some(ct),
                        input if input < size + width => match self.has_row_sources() {
                            true => self.rows_at() + t * width + input - size,
                            false => return,
                        },
                        input => self.captures_at() + path.captures[input - size - width] as usize,
                    };
                    cotangents[place] = add(cotangents[place], Some(ct));
                });
                std::mem::swap(&mut cts, &mut next);
            }
        }
        cotangents[..size].copy_from_slice(&cts);
        cotangents
    }

    /// Appends the carries before the other ones of these steps to that before the first, given the paths of all steps.
    #[track_caller]
    fn fill_segment<R: Real, P: PathRunner<R>>(
        &self,
        sources: &[R],
        sequence: &PathSequence,
        steps: Range<usize>,
        runners: &mut [P],
        carries: &mut Vec<R>,
    ) {
        let body = &self.body;
        let captures = &sources[self.captures_at()..self.rows_at()];
        let (mut row, mut next) = (Vec::new(), Vec::new());
        for (k, number) in sequence.range(steps.start..steps.end - 1).enumerate() {
            self.row(steps.start + k, sources, &mut row);
            let inputs = StepInputs { carry: &carries[k * body.carry..], row: &row, captures };
            let take = |outputs: &[R]| {
                next.clear();
                next.extend_from_slice(&outputs[..body.carry]);
            };
            runners[number]
                .forward(&body.paths[number], body.make_code, inputs, take)
                .expect("the path that was taken");
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
