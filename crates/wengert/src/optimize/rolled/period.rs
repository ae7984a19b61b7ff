//! Where a list of equations repeats itself.
//!
//! A window that slides over the list has a period if its equations, by operation and type of the result, repeat themselves:
//! the least one is the window less its longest border (Knuth, Morris and Pratt 1977). That is a candidate, which is compared
//! equation by equation, with its operands, and extended as far as it holds. Windows grow, so that short periods are found in
//! short windows: the time is linear in the list for each size of window, of which there is a logarithmic number.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::ops::Range;

use smallvec::SmallVec;

use super::Least;
use crate::hash::FastHasher;
use crate::primitives::{Form, Op, Slice};
use crate::program::{Eqn, Program, Value};

/// A Program's equations, to be compared.
pub(super) struct List<'a> {
    pub(super) program: &'a Program,
    /// Operation and results of each equation as a number: those that differ are not the same in two steps.
    marks: Vec<u32>,
    /// How many values there are before each equation, and before the end.
    before: Vec<u32>,
    /// The last equation that reads each value; the number of equations for a result.
    last_reader: Vec<u32>,
}

/// Where an operand comes from, seen from step to step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// From before the loop: the same value.
    Invariant,
    /// From this step or an earlier one: the value at the same place of the next step.
    Steps,
    /// From before the loop: a value of its own in each step.
    Own,
}

/// How an equation of a step and the same one of the next step differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fit {
    pub(super) sources: SmallVec<[Source; 4]>,
    /// A slice that moves along this axis of its operand by this much.
    pub(super) row: Option<(usize, isize)>,
}

/// Whether steps may take values of their own from before the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owned {
    Nowhere,
    Anywhere,
}

/// Equations of which each is like the one a period behind it.
pub(super) struct Repeat {
    /// Those that are like another one; a further period belongs to the repetition.
    pub(super) like: Range<usize>,
    pub(super) period: usize,
    /// For the equations of a period, from the first one of `like`.
    pub(super) fits: Vec<Fit>,
}

impl Repeat {
    /// The same repetition, of which a step is this many of the steps that it was.
    pub(super) fn times(&self, times: usize) -> Self {
        let period = times * self.period;
        let farther =
            |fit: &Fit| Fit { row: fit.row.map(|(axis, by)| (axis, by * times.cast_signed())), ..fit.clone() };
        let fits = self.fits.iter().cycle().take(period).map(farther).collect();
        Repeat { like: self.like.start..self.end() - period, period, fits }
    }

    /// Whether it is long enough; shorter ones may be parts of the steps of another one.
    fn is_worth(&self, least: Least) -> bool {
        let equations = self.end() - self.like.start;
        equations >= least.equations && equations >= least.steps * self.period
    }

    /// The equation behind the last one.
    pub(super) fn end(&self) -> usize {
        self.like.end + self.period
    }
}

/// Values may be read this many steps later.
pub(super) const MAX_DEPTH: usize = 8;
/// In a window a period is repeated this many times.
const TIMES: usize = 4;
/// Periods that hold for too few steps are tried this many times for a window.
const TRIES: usize = 4;
/// A period in operations alone may be this many times shorter than one in operands too.
const MOST_MULTIPLES: usize = 64;

impl<'a> List<'a> {
    pub(super) fn of(program: &'a Program) -> Self {
        let mut values = program.input_types().len() as u32;
        let mut before = Vec::with_capacity(program.eqns().len() + 1);
        before.push(values);
        before.extend(program.eqns().iter().map(|eqn| {
            values += eqn.results;
            values
        }));
        let marks = program.eqns().iter().map(|eqn| mark(program, eqn)).collect();
        let mut last_reader = vec![0; program.types.len()];
        for (k, eqn) in program.eqns().iter().enumerate() {
            eqn.args.iter().for_each(|arg| last_reader[arg.index()] = k as u32);
        }
        program.outputs().iter().for_each(|output| last_reader[output.index()] = program.eqns().len() as u32);
        List { program, marks, before, last_reader }
    }

    /// Whether a value is read by this equation or one behind it, or is a result.
    pub(super) fn is_read_from(&self, eqn: usize, value: Value) -> bool {
        self.last_reader[value.index()] as usize >= eqn
    }

    pub(super) fn eqn(&self, k: usize) -> &'a Eqn {
        &self.program.eqns()[k]
    }

    /// What a planner makes of an equation.
    pub(super) fn form(&self, k: usize) -> Form {
        self.program.form(self.eqn(k))
    }

    pub(super) fn len(&self) -> usize {
        self.marks.len()
    }

    /// The first value that an equation may define.
    pub(super) fn before(&self, eqn: usize) -> u32 {
        self.before[eqn]
    }

    /// The equation that defines a value, which is no input.
    pub(super) fn definition(&self, value: Value) -> usize {
        self.before.partition_point(|&before| before <= value.0) - 1
    }

    /// The repetitions that can be loops, which do not overlap, in order. `make` makes one of a repetition, behind those that
    /// were made before it.
    pub(super) fn loops<T>(&self, least: Least, make: impl Fn(Repeat, &[T]) -> Option<T>) -> Vec<T> {
        let (mut made, mut starts): (Vec<T>, Vec<usize>) = Default::default();
        let mut gaps: Vec<Range<usize>> = std::iter::once(0..self.len()).collect();
        let mut borders = Vec::new();
        let mut window = (least.equations / 2).max(TIMES);
        while window <= self.len() {
            let mut left = Vec::new();
            for gap in gaps {
                let mut rest = gap.clone();
                let mut at = gap.start;
                while at + window <= gap.end {
                    let Some(repeat) = self.repeat_around(at..at + window, &rest, least, &mut borders) else {
                        // The next window of this size is as likely to tell.
                        at += window.div_ceil(2);
                        continue;
                    };
                    let (start, end) = (repeat.like.start, repeat.end());
                    at = end;
                    // If it is none, a longer period may be one: it is left to larger windows.
                    if let Some(found) = make(repeat, &made) {
                        left.push(rest.start..start);
                        rest.start = end;
                        made.push(found);
                        starts.push(start);
                    }
                }
                left.push(rest);
            }
            gaps = left;
            gaps.retain(|gap| gap.len() >= least.equations);
            window = window.saturating_mul(2);
        }
        let mut in_order: Vec<(usize, T)> = starts.into_iter().zip(made).collect();
        in_order.sort_by_key(|(start, _)| *start);
        in_order.into_iter().map(|(_, found)| found).collect()
    }

    /// The repetition that a window is part of, as far as it goes within a range.
    fn repeat_around(
        &self,
        window: Range<usize>,
        within: &Range<usize>,
        least: Least,
        borders: &mut Vec<u32>,
    ) -> Option<Repeat> {
        let shortest = least_period(&self.marks[window.clone()], borders);
        let longest = window.len() / TIMES;
        // The first step of a loop often differs from the others, and stands at one end of a window.
        let middle = window.start + window.len() / 2;
        let mut tries = 0;
        // Operands of their own are what a period looks like that is too short: with the right one they come again.
        for owned in [Owned::Nowhere, Owned::Anywhere] {
            for period in (shortest..=longest).step_by(shortest).take(MOST_MULTIPLES) {
                match self.extended(middle, period, within, owned) {
                    Some(repeat) if repeat.is_worth(least) => return Some(repeat),
                    Some(_) if tries + 1 == TRIES => return None,
                    Some(_) => tries += 1,
                    None => {}
                }
            }
        }
        None
    }

    /// The repetition with this period around an equation; `None` if not even one period is like the next one.
    fn extended(&self, middle: usize, period: usize, within: &Range<usize>, owned: Owned) -> Option<Repeat> {
        if middle + 2 * period > within.end {
            return None;
        }
        let fit = |k: usize| self.fit(k, k + period);
        let mut fits = VecDeque::with_capacity(period);
        for k in middle..middle + period {
            fits.push_back(fit(k).filter(|fit| owned == Owned::Anywhere || !fit.sources.contains(&Source::Own))?);
        }
        let goes_on = |k: usize, fits: &VecDeque<Fit>, place: usize| fit(k).is_some_and(|fit| fit == fits[place]);
        let mut end = middle + period;
        while end + period < within.end && goes_on(end, &fits, (end - middle) % period) {
            end += 1;
        }
        let mut start = middle;
        while start > within.start && goes_on(start - 1, &fits, period - 1) {
            start -= 1;
            fits.rotate_right(1);
        }
        Some(Repeat { like: start..end, period, fits: fits.into() })
    }

    /// How two equations differ, one of which is the other one in the next step; `None` if they are not.
    fn fit(&self, one: usize, next: usize) -> Option<Fit> {
        if self.marks[one] != self.marks[next] {
            return None;
        }
        let (x, y) = (self.eqn(one), self.eqn(next));
        let types = |eqn: &Eqn| self.program.types_of(eqn);
        if !x.has_lines_of(y) || x.args.len() != y.args.len() || types(x) != types(y) {
            return None;
        }
        let values = self.before[next] - self.before[one];
        let mut sources = SmallVec::new();
        for (&x, &y) in x.args.iter().zip(&y.args) {
            sources.push(self.source(x, y, self.before[next], values)?);
        }
        let row = match (&x.op, &y.op) {
            // Which number it is is seen when all steps are known.
            (Op::Literal(_), Op::Literal(_)) => None,
            (Op::Slice(a), Op::Slice(b)) if a != b => Some(moved(a, b).filter(|_| sources[..] == [Source::Invariant])?),
            (a, b) if a == b => None,
            _ => return None,
        };
        Some(Fit { sources, row })
    }

    /// The source of an operand that is `x` in a step and `y` in the next one, whose equation has `behind` values before it;
    /// steps are this number of values apart.
    fn source(&self, x: Value, y: Value, behind: u32, values: u32) -> Option<Source> {
        if x == y {
            return Some(Source::Invariant);
        }
        let types = (self.program.ty(x), self.program.ty(y));
        if types.0 != types.1 {
            return None;
        }
        // What lies farther back is no state: values from before the loop may be as far apart by chance.
        let is_near = behind - y.0 <= (MAX_DEPTH as u32).saturating_mul(values);
        let is_next = y.0.checked_sub(x.0) == Some(values);
        Some(if is_next && is_near { Source::Steps } else { Source::Own })
    }
}

/// Along which axis, and how far, one slice of one element there is moved from another one.
fn moved(a: &Slice, b: &Slice) -> Option<(usize, isize)> {
    let mut axes = (0..a.start.len()).filter(|&axis| (a.start[axis], a.limit[axis]) != (b.start[axis], b.limit[axis]));
    let axis = axes.next()?;
    let is_one = |slice: &Slice| slice.limit[axis] == slice.start[axis] + 1;
    if axes.next().is_some() || a.stride != b.stride || !is_one(a) || !is_one(b) {
        return None;
    }
    Some((axis, b.start[axis].cast_signed() - a.start[axis].cast_signed()))
}

fn mark(program: &Program, eqn: &Eqn) -> u32 {
    let mut hasher = FastHasher::default();
    match &eqn.op {
        Op::Literal(_) => 0u8.hash(&mut hasher),
        Op::Slice(_) => 1u8.hash(&mut hasher),
        op => op.hash(&mut hasher),
    }
    program.types_of(eqn).hash(&mut hasher);
    // Half of the bits are enough: equations whose marks are equal by chance are told apart when they are compared.
    hasher.finish() as u32
}

/// The least number by which a list can be moved so that it lies on itself; `borders` is room.
fn least_period(marks: &[u32], borders: &mut Vec<u32>) -> usize {
    borders.clear();
    borders.push(0);
    for k in 1..marks.len() {
        let mut border = borders[k - 1] as usize;
        while border > 0 && marks[border] != marks[k] {
            border = borders[border - 1] as usize;
        }
        borders.push((border + usize::from(marks[border] == marks[k])) as u32);
    }
    marks.len() - borders[marks.len() - 1] as usize
}
