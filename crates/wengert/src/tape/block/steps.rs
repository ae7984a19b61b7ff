//! What a loop is, and how its steps are taken one after the other.

use std::any::Any;

use super::{Key, MakeCode};
use crate::real::Real;
use crate::tape::Var;
use crate::tape::recording::Line;
use crate::tape::trace::Flipped;

/// A loop that is about to run.
pub(crate) struct Steps<R> {
    pub(crate) line: Line,
    /// How many steps; `None` for as many as there are until one ends the loop.
    pub(crate) count: Option<usize>,
    /// How many steps there may be of a loop that one of them ends.
    pub(crate) limit: Option<usize>,
    /// How many carries are kept of it; all if nothing is said.
    pub(crate) snapshots: Option<usize>,
    pub(crate) start: Vec<R>,
    /// The label of the start.
    pub(crate) label: u32,
    pub(crate) rows: Rows<R>,
    pub(crate) labels: Labels,
    /// How often a carry is kept.
    pub(crate) every: usize,
    /// Whether the step is a user's function: then recordings of the same path are compared now and then.
    pub(crate) checked: bool,
    pub(crate) make_code: MakeCode,
}

/// What the steps are given one after the other.
#[derive(Clone, Debug)]
pub(crate) enum Rows<R> {
    /// Nothing.
    None,
    /// A number that counts from this one.
    Counted(i64),
    /// Numbers, so many for each step.
    Each(usize, Vec<R>),
}

impl<R> Steps<R> {
    /// How often the step is asked at most: once more than there may be steps, which has to end the loop.
    pub(super) fn most(&self) -> usize {
        self.count.or(self.limit.map(|limit| limit.saturating_add(1))).unwrap_or(usize::MAX)
    }
}

/// The labels of the rows.
#[derive(Clone, Debug)]
pub(crate) enum Labels {
    /// The same for all.
    Same(u32),
    /// One for each.
    Each(Vec<u32>),
}

impl Labels {
    pub(crate) fn of(&self, t: usize) -> u32 {
        match self {
            Labels::Same(label) => *label,
            Labels::Each(labels) => labels[t],
        }
    }

    /// Labels one after the other.
    pub(super) fn collected(labels: Vec<u32>) -> Self {
        match labels.first() {
            Some(&first) if labels.iter().all(|&label| label == first) => Labels::Same(first),
            Some(_) => Labels::Each(labels),
            None => Labels::Same(0),
        }
    }
}

impl<R: Real> Rows<R> {
    /// How many numbers a row has.
    pub(super) fn width(&self) -> usize {
        match self {
            Rows::None => 0,
            Rows::Counted(_) => 1,
            Rows::Each(width, _) => *width,
        }
    }

    /// The row of a step.
    pub(super) fn row(&self, t: usize, row: &mut Vec<R>) {
        row.clear();
        match self {
            Rows::None => {}
            Rows::Counted(from) => row.push(R::constant((from + t as i64) as f64)),
            Rows::Each(width, numbers) => row.extend_from_slice(&numbers[t * width..(t + 1) * width]),
        }
    }
}

/// What a step came to.
pub(crate) struct Step<R> {
    pub(crate) carry: Vec<R>,
    pub(crate) gives: Vec<R>,
    /// The labels of both.
    pub(crate) after: u32,
    pub(crate) given: u32,
    /// Whether the loop ends instead of taking the step.
    pub(crate) ends: bool,
}

/// What a loop came to.
pub(crate) struct Taken<R> {
    pub(crate) carry: Vec<R>,
    pub(crate) label: u32,
    /// Step after step.
    pub(crate) gives: Vec<R>,
    pub(crate) given: Vec<u32>,
    /// Whether a step ended it.
    pub(crate) ended: bool,
}

/// A step: `None` where no recorded path of an inner loop fits. It depends on nothing but what it is given.
pub(crate) type Body<'a, R> = dyn FnMut(Key, &[R], &[R]) -> Option<Step<R>> + 'a;

/// Takes the steps of a loop over `Var`, for code that is generic: every other carrier takes them without this. They are recorded as a
/// block where a recording is under way that can hold one.
#[track_caller]
pub(crate) fn take_steps<R: Real>(steps: Steps<R>, body: &mut Body<'_, R>) -> Result<Taken<R>, Flipped> {
    let to = |numbers: &[Var]| -> Vec<R> { numbers.iter().map(|&x| cast(x)).collect() };
    let taken = super::recorder::take_steps(cast(steps), &mut |key, carry, row| {
        body(key, &to(carry), &to(row)).map(cast::<Step<R>, Step<Var>>)
    })?;
    Ok(cast(taken))
}

/// Takes these steps, one after the other.
#[track_caller]
pub(super) fn run(
    steps: &Steps<Var>,
    range: std::ops::Range<usize>,
    body: &mut Body<'_, Var>,
) -> Result<Taken<Var>, Flipped> {
    let mut taken =
        Taken { carry: steps.start.clone(), label: steps.label, gives: Vec::new(), given: Vec::new(), ended: false };
    let mut row = Vec::new();
    for t in range {
        steps.rows.row(t, &mut row);
        let step = body(Key { carry: taken.label, row: steps.labels.of(t) }, &taken.carry, &row).ok_or(Flipped)?;
        if step.ends {
            taken.ended = true;
            break;
        }
        if steps.limit == Some(t) {
            break;
        }
        taken.carry = step.carry;
        taken.label = step.after;
        if !step.gives.is_empty() {
            taken.gives.extend(step.gives);
            taken.given.push(step.given);
        }
    }
    Ok(taken)
}

/// The same value, if its type is this one.
fn same<A: 'static, B: 'static>(value: A) -> Result<B, A> {
    let mut slot = Some(value);
    let found = (&mut slot as &mut dyn Any).downcast_mut::<Option<B>>().and_then(Option::take);
    found.ok_or_else(|| slot.take().expect("it was not taken"))
}

/// The same value under the other name of its type.
pub(super) fn cast<A: 'static, B: 'static>(value: A) -> B {
    same(value).unwrap_or_else(|_| unreachable!("the carrier is another one"))
}

/// Numbers of a carrier, by how loops run over it.
pub(super) enum Carried<R> {
    /// By code.
    Plain(Vec<f64>),
    /// As a loop again.
    Variables(Vec<Var>),
    /// Record by record.
    Other(Vec<R>),
}

impl<R: Real> Carried<R> {
    pub(super) fn of(numbers: Vec<R>) -> Self {
        match same(numbers) {
            Ok(numbers) => Carried::Plain(numbers),
            Err(numbers) => same(numbers).map_or_else(Carried::Other, Carried::Variables),
        }
    }
}
