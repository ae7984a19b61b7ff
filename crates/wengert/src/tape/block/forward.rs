//! The values of a block: its loop again, over any carrier.

use super::recorder::take_steps;
use super::runner::{ByCode, ByRecord, Course};
use super::steps::{Carried, cast};
use super::{Block, Key, Labels, Path, Rows, Step, Steps, Structure, Taken};
use crate::real::Real;
use crate::tape::Var;
use crate::tape::trace::Flipped;

/// Why derivatives of a loop find their way through it.
pub(super) const FLIPPED: &str = "the point is the same, so no guard flips";

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
        fn all<R>(course: Course<R>) -> Vec<R> {
            let mut results = course.last;
            results.extend(course.gives);
            results
        }
        match Carried::of(self.numbers(values)) {
            Carried::Plain(sources) => self.course::<_, ByCode>(&sources, false).map(|course| cast(all(course))),
            Carried::Other(sources) => self.course::<_, ByRecord<R>>(&sources, false).map(all),
            Carried::Variables(sources) => {
                let taken = self.again(&sources, |_, outputs| outputs.to_vec())?;
                let mut results = taken.carry;
                results.extend(taken.gives);
                Ok(cast(results))
            }
        }
    }

    /// Takes the steps over variables; each gives what `give` makes of its carry and of what it gives itself.
    #[track_caller]
    pub(super) fn again(
        &self,
        sources: &[Var],
        give: impl Fn(&[Var], &[Var]) -> Vec<Var>,
    ) -> Result<Taken<Var>, Flipped> {
        let body = &self.body;
        let structures = self.structures();
        let captures = &sources[self.captures_at()..self.rows_at()];
        let steps = self.steps(sources[..body.carry].to_vec(), self.rows(sources), structures.of);
        let taken = take_steps(steps, &mut |key, carry, row| {
            let structure = structures.known[key.row as usize];
            let (path, values) = self.path_taken(structure, carry, row, captures)?;
            let outputs: Vec<Var> = (0..path.trace.outputs.len()).map(|k| path.trace.output(k, &values)).collect();
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
    pub(super) fn steps(&self, start: Vec<Var>, rows: Rows<Var>, labels: Labels) -> Steps<Var> {
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

    /// The rows as variables.
    pub(super) fn rows(&self, sources: &[Var]) -> Rows<Var> {
        let body = &self.body;
        match &body.rows {
            super::PlainRows::Counted(from) => Rows::Counted(*from),
            _ if body.row == 0 => Rows::None,
            super::PlainRows::Elsewhere => Rows::Each(body.row, sources[self.rows_at()..].to_vec()),
            super::PlainRows::Numbers(numbers) => {
                Rows::Each(body.row, numbers.iter().map(|&number| Var::constant(number)).collect())
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

    /// The path of this structure that a step takes, and the values on it.
    #[track_caller]
    pub(super) fn path_taken(
        &self,
        structure: Structure,
        carry: &[Var],
        row: &[Var],
        captures: &[Var],
    ) -> Option<(&Path, Vec<Var>)> {
        let mut paths = self.body.paths.iter().filter(|path| path.structure == structure);
        paths.find_map(|path| {
            let own = path.captures.iter().map(|&capture| captures[capture as usize]);
            let inputs: Vec<Var> = carry.iter().chain(row).copied().chain(own).collect();
            let values = path.trace.evaluate(&inputs, |_| unreachable!("a path is closed")).ok()?;
            Some((&**path, values))
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
pub(super) fn divided(numbers: &[Option<Var>]) -> (Vec<bool>, Vec<Var>) {
    let live = numbers.iter().map(Option::is_some).collect();
    (live, numbers.iter().map(|number| number.unwrap_or(Var::constant(0.0))).collect())
}

/// The opposite.
pub(super) fn joined<'a>(live: &'a [bool], numbers: &'a [Var]) -> impl Iterator<Item = Option<Var>> + 'a {
    live.iter().zip(numbers).map(|(&live, &number)| live.then_some(number))
}
