//! The tangents of a block: a loop that carries tangents beside values.

use super::forward::{FLIPPED, Known, divided, interned, joined};
use super::recorder::take_steps;
use super::runner::{ByCode, ByRecord, PathRunner, Runners, StepInputs};
use super::steps::{Carried, cast};
use super::{Block, Labels, Rows, Step, Steps};
use crate::real::Real;
use crate::tape::Var;

impl Block {
    /// The tangents of the results, given the values of the list and the tangents of the sources.
    #[track_caller]
    pub(crate) fn push_forward<R: Real>(&self, values: &[R], tangents: &[Option<R>]) -> Vec<Option<R>> {
        match Carried::of(self.numbers(values)) {
            Carried::Plain(sources) => {
                cast(self.push_forward_by::<_, ByCode>(&sources, &cast::<_, Vec<_>>(tangents.to_vec())))
            }
            Carried::Variables(sources) => {
                cast(self.push_forward_over(&sources, &cast::<_, Vec<_>>(tangents.to_vec())))
            }
            Carried::Other(sources) => self.push_forward_by::<_, ByRecord<R>>(&sources, tangents),
        }
    }

    /// Over a carrier that leaves no loop.
    #[track_caller]
    fn push_forward_by<R: Real, P: PathRunner<R>>(&self, sources: &[R], tangents: &[Option<R>]) -> Vec<Option<R>> {
        let body = &self.body;
        let (size, width) = (body.carry, body.row);
        let captures = self.captures_at()..self.rows_at();
        let mut runners = Runners::<P>::new(body);
        let (mut carry, mut next) = (sources[..size].to_vec(), Vec::with_capacity(size));
        let (mut dots, mut next_dots) = (tangents[..size].to_vec(), Vec::with_capacity(size));
        let (mut row, mut row_dots) = (Vec::with_capacity(width), vec![None; width]);
        let mut given = Vec::with_capacity(body.count * body.gives);
        for t in 0..body.count {
            self.row(t, sources, &mut row);
            if self.has_row_sources() {
                row_dots.copy_from_slice(&tangents[self.rows_at() + t * width..][..width]);
            }
            let inputs = StepInputs { carry: &carry, row: &row, captures: &sources[captures.clone()] };
            let of_inputs = StepInputs { carry: &dots, row: &row_dots, captures: &tangents[captures.clone()] };
            let structure = body.paths[body.sequence.at(t)].structure;
            let path = runners.find(body, structure, |runner, path| {
                runner.tangents(path, body.make_code, inputs, of_inputs, |outputs, tangents| {
                    next.clear();
                    next.extend_from_slice(&outputs[..size]);
                    next_dots.clear();
                    next_dots.extend_from_slice(&tangents[..size]);
                    given.extend_from_slice(&tangents[size..]);
                })
            });
            path.expect(FLIPPED);
            std::mem::swap(&mut carry, &mut next);
            std::mem::swap(&mut dots, &mut next_dots);
        }
        dots.extend(given);
        dots
    }

    /// Over variables: a loop again.
    #[track_caller]
    fn push_forward_over(&self, sources: &[Var], tangents: &[Option<Var>]) -> Vec<Option<Var>> {
        let body = &self.body;
        let (size, width) = (body.carry, body.row);
        let captures = &sources[self.captures_at()..self.rows_at()];
        let captured = &tangents[self.captures_at()..self.rows_at()];
        let structures = self.structures();
        let mut known = Known::default();
        let (live, dots) = divided(&tangents[..size]);
        let label = interned(&mut known.carries, live);
        let start = [&sources[..size], &dots].concat();
        let (rows, labels) = match self.has_row_sources() {
            false => {
                let none = |structure| (structure, vec![false; width]);
                known.rows = structures.known.iter().copied().map(none).collect();
                (self.rows(sources), structures.of)
            }
            true => {
                let (mut numbers, mut labels) = (Vec::with_capacity(2 * width * body.count), Vec::new());
                for t in 0..body.count {
                    let own = self.rows_at() + t * width..self.rows_at() + (t + 1) * width;
                    let (live, dots) = divided(&tangents[own.clone()]);
                    numbers.extend_from_slice(&sources[own]);
                    numbers.extend(dots);
                    let structure = structures.known[structures.of.of(t) as usize];
                    labels.push(interned(&mut known.rows, (structure, live)));
                }
                (Rows::Each(2 * width, numbers), Labels::collected(labels))
            }
        };
        let steps = Steps { label, ..self.steps(start, rows, labels) };
        let taken = take_steps(steps, &mut |key, carry, row| {
            let (live, (structure, row_live)) = known.of(key);
            let (carry, dots) = carry.split_at(size);
            let (row, row_dots) = row.split_at(width);
            let (path, values) = self.path_taken(*structure, carry, row, captures)?;
            let mut inputs: Vec<Option<Var>> = joined(live, dots).collect();
            match row_dots.is_empty() {
                true => inputs.extend(std::iter::repeat_n(None, width)),
                false => inputs.extend(joined(row_live, row_dots)),
            }
            inputs.extend(path.captures.iter().map(|&capture| captured[capture as usize]));
            let tangents = path.trace.push_forward(&values, &inputs);
            let outputs: Vec<Option<Var>> = (0..path.trace.outputs.len())
                .map(|k| path.trace.output_node(k).and_then(|node| tangents[node]))
                .collect();
            let (live, dots) = divided(&outputs[..size]);
            let (given_live, gives) = divided(&outputs[size..]);
            let mut carry: Vec<Var> = (0..size).map(|k| path.trace.output(k, &values)).collect();
            carry.extend(dots);
            let after = interned(&mut known.carries, live);
            let given = interned(&mut known.given, given_live);
            Some(Step { carry, gives, after, given, ends: false })
        });
        let taken = taken.expect(FLIPPED);
        let mut results: Vec<Option<Var>> =
            joined(&known.carries[taken.label as usize], &taken.carry[size..]).collect();
        if body.gives > 0 {
            for (label, gives) in taken.given.iter().zip(taken.gives.chunks(body.gives)) {
                results.extend(joined(&known.given[*label as usize], gives));
            }
        }
        results
    }
}
