//! The values of a block: its loop again, over any carrier.

use super::steps::{is_plain, plain, take_steps};
use super::{Block, Key, Labels, Path, Rows, Step, Steps, Structure, Taken};
use crate::real::Real;
use crate::tape::trace::Flipped;

/// What can stand before a step besides what the recording says.
pub(super) struct Structures {
    /// One of each.
    pub(super) known: Vec<Structure>,
    /// Which of them the steps have.
    pub(super) of: Labels,
}

impl Block {
    /// The results, given the values of the list. Every step goes one of the ways that are known, and has the structure that it
    /// had while recording; there are as many steps.
    #[track_caller]
    pub(crate) fn evaluate<R: Real>(&self, values: &[R]) -> Result<Vec<R>, Flipped> {
        let sources = self.numbers(values);
        if let Some(sources) = plain(&sources).filter(|_| is_plain::<R>()) {
            let course = self.course(&sources, false)?;
            return Ok(course.last.iter().chain(&course.gives).map(|&number| R::constant(number)).collect());
        }
        let taken = self.again(&sources, |_, outputs| outputs.to_vec())?;
        let mut results = taken.carry;
        results.extend(taken.gives);
        Ok(results)
    }

    /// Takes the steps over another carrier; each gives what `give` makes of its carry and of what it gives itself.
    #[track_caller]
    pub(super) fn again<R: Real>(
        &self,
        sources: &[R],
        give: impl Fn(&[R], &[R]) -> Vec<R>,
    ) -> Result<Taken<R>, Flipped> {
        let body = &self.body;
        let structures = self.structures();
        let captures = &sources[self.captures_at()..self.rows_at()];
        let steps = self.steps(sources[..body.carry].to_vec(), self.rows(sources), structures.of);
        let taken = take_steps(steps, &mut |key, carry, row| {
            let structure = structures.known[key.row as usize];
            let (_, path, values) = self.path_taken(structure, carry, row, captures)?;
            let outputs: Vec<R> = (0..path.trace.outputs.len()).map(|k| path.trace.output(k, &values)).collect();
            let (after, own) = outputs.split_at(body.carry);
            Some(Step { carry: after.to_vec(), gives: give(carry, own), after: 0, given: 0, ends: false })
        })?;
        if let Some(last) = body.sequence.get(body.count) {
            // The answer that ended the loop has to be the same.
            let structure = body.paths[last].structure;
            self.path_taken(structure, &taken.carry, &[], captures).ok_or(Flipped)?;
        }
        Ok(taken)
    }

    /// A loop of as many steps as this one.
    pub(super) fn steps<R: Real>(&self, start: Vec<R>, rows: Rows<R>, labels: Labels) -> Steps<R> {
        let body = &self.body;
        Steps {
            line: body.line,
            count: Some(body.count),
            limit: None,
            snapshots: None,
            start,
            label: 0,
            rows,
            labels,
            every: body.every,
            checked: false,
            make_code: body.make_code,
        }
    }

    /// The rows over a carrier.
    pub(super) fn rows<R: Real>(&self, sources: &[R]) -> Rows<R> {
        let body = &self.body;
        match &body.rows {
            super::PlainRows::Counted(from) => Rows::Counted(*from),
            _ if body.row == 0 => Rows::None,
            super::PlainRows::Elsewhere => Rows::Each(body.row, sources[self.rows_at()..].to_vec()),
            super::PlainRows::Numbers(numbers) => {
                Rows::Each(body.row, numbers.iter().map(|&number| R::constant(number)).collect())
            }
        }
    }

    /// The structures of the steps.
    pub(super) fn structures(&self) -> Structures {
        let body = &self.body;
        let mut known: Vec<Structure> = Vec::new();
        let number = body.paths.iter().map(|path| interned(&mut known, path.structure)).collect::<Vec<u32>>();
        let of = match known.iter().filter(|structure| !structure.ends).count() {
            1 => Labels::Same(known.iter().position(|structure| !structure.ends).expect("there is one") as u32),
            _ => Labels::collected(body.sequence.range(0..body.count).map(|path| number[path]).collect()),
        };
        Structures { known, of }
    }

    /// The path of this structure that a step takes, its number, and the values on it.
    #[track_caller]
    pub(super) fn path_taken<R: Real>(
        &self,
        structure: Structure,
        carry: &[R],
        row: &[R],
        captures: &[R],
    ) -> Option<(usize, &Path, Vec<R>)> {
        let paths = self.body.paths.iter().enumerate().filter(|(_, path)| path.structure == structure);
        paths.into_iter().find_map(|(number, path)| {
            let own = path.captures.iter().map(|&capture| captures[capture as usize]);
            let inputs: Vec<R> = carry.iter().chain(row).copied().chain(own).collect();
            let values = path.trace.evaluate(&inputs, |_| unreachable!("a path is closed")).ok()?;
            Some((number, path, values))
        })
    }
}

/// The number of an item in a list that has each once.
pub(super) fn interned<T: PartialEq>(known: &mut Vec<T>, item: T) -> u32 {
    let place = known.iter().position(|other| *other == item).unwrap_or_else(|| {
        known.push(item);
        known.len() - 1
    });
    place as u32
}

/// What a derived loop knows about its carry and its row: what is more than structurally zero of both, and the structure of the
/// step below.
#[derive(Default)]
pub(super) struct Known {
    pub(super) carries: Vec<Vec<bool>>,
    pub(super) rows: Vec<(Structure, Vec<bool>)>,
    pub(super) given: Vec<Vec<bool>>,
}

impl Known {
    pub(super) fn of(&self, key: Key) -> (&[bool], &(Structure, Vec<bool>)) {
        (&self.carries[key.carry as usize], &self.rows[key.row as usize])
    }
}

/// Numbers that may be structurally zero: which are more, and 0 in place of the others.
pub(super) fn divided<R: Real>(numbers: &[Option<R>]) -> (Vec<bool>, Vec<R>) {
    let live = numbers.iter().map(Option::is_some).collect();
    (live, numbers.iter().map(|number| number.unwrap_or(R::constant(0.0))).collect())
}

/// The opposite.
pub(super) fn joined<'a, R: Real>(live: &'a [bool], numbers: &'a [R]) -> impl Iterator<Item = Option<R>> + 'a {
    live.iter().zip(numbers).map(|(&live, &number)| live.then_some(number))
}
