//! Where a step begins, and what goes from step to step.
//!
//! A repetition can be cut into steps anywhere within its period. The best cut is the one over which the fewest bytes go: a
//! step of `u = f(u)` begins where only `u` is known that is still needed.

use std::collections::BTreeMap;

use super::period::{Fit, List, MAX_DEPTH, Repeat, Source};
use crate::array::Type;
use crate::primitives::{Form, Literal, Op};
use crate::program::{Eqn, Value};

/// A loop in a list of equations.
pub(super) struct Loop<'a> {
    pub(super) list: &'a List<'a>,
    /// The first equation of the first step.
    pub(super) first: usize,
    /// How many equations a step has.
    pub(super) period: usize,
    pub(super) steps: usize,
    /// How the equations of a step differ from those of the next one.
    pub(super) fits: Vec<Fit>,
    /// For each value of a step: for how many steps it is carried.
    pub(super) depths: Vec<u32>,
    /// Values of a step that are read behind the loop, and not of the last steps alone.
    pub(super) stacked: Vec<usize>,
}

/// This many values of every step may be read behind the loop: they are stacked.
const MOST_STACKED: usize = 2;
/// Values that each step has for itself are put into one array: up to this number of bytes each, or if they are rows of one
/// already.
const MOST_OWNED: usize = 1 << 10;
/// A step of fewer equations than this, which fuse, is several of the user's: they share what a trip costs,
const EQUATIONS: usize = 16;
/// as long as this many trips are left.
const TRIPS: usize = 16;

impl<'a> Loop<'a> {
    /// The loop that a repetition is, behind others; `None` if it is none that is worth it.
    pub(super) fn of(list: &'a List<'a>, repeat: Repeat, before: &[Loop<'a>]) -> Option<Self> {
        let times = (EQUATIONS / repeat.period).min((repeat.end() - repeat.like.start) / repeat.period / TRIPS);
        let is_fused = |k: usize| matches!(list.form(k), Form::Number | Form::View | Form::Elementwise);
        let longer = (times > 1 && repeat.like.clone().take(repeat.period).all(is_fused)).then(|| repeat.times(times));
        let found = Loop::cut(list, repeat)?;
        let does = found.computes() || found.moves_rows(before);
        if found.steps < 2
            || !does
            || 2 * found.added(before) > found.period
            || found.stacked.len() > MOST_STACKED
            || !found.owns_little(before)
        {
            return None;
        }
        let longer = longer.filter(|_| found.stacked.is_empty()).and_then(|longer| Loop::cut(list, longer));
        let fits = |longer: &Loop<'a>| longer.stacked.is_empty() && longer.steps > 1 && longer.owns_little(before);
        Some(longer.filter(fits).unwrap_or(found))
    }

    /// The steps of a repetition.
    fn cut(list: &'a List<'a>, repeat: Repeat) -> Option<Self> {
        let Repeat { like, period, mut fits } = repeat;
        let reads = Reads::of(list, like.end, period, &fits, like.start)?;
        let offset = reads.best_cut(list, like.end, period, like.start);
        fits.rotate_left(offset);
        let mut first = like.start + offset;
        let mut steps = (like.end + period - first) / period;
        let mut depths = reads.depths(list, like.end, period, first);
        depths.truncate((list.before(first + period) - list.before(first)) as usize);
        // An invariant that the first steps compute.
        let is_known = |first: usize| {
            let mut args = (0..period).flat_map(|k| list.eqn(first + k).args.iter().zip(&fits[k].sources));
            args.all(|(arg, source)| *source != Source::Invariant || arg.0 < list.before(first))
        };
        while !is_known(first) {
            (first, steps) = (first + period, steps - 1);
            if steps < 2 {
                return None;
            }
        }
        let mut found = Loop { list, first, period, steps, fits, depths, stacked: Vec::new() };
        found.stacked = found.read_behind();
        if !found.stacked.is_empty() && steps > 2 {
            // What is read of the last step alone needs no stack: it stays outside.
            found.steps -= 1;
            found.stacked = found.read_behind();
        }
        Some(found)
    }

    /// Whether a step does more than to name numbers and to look at arrays in another way.
    fn computes(&self) -> bool {
        (0..self.period).any(|k| !matches!(self.list.form(self.first + k), Form::Number | Form::View))
    }

    /// Whether a step gives a row of a stack another shape: that is one operation on the stack.
    fn moves_rows(&self, before: &[Loop<'a>]) -> bool {
        let is_row = |step: usize| before.iter().any(|other| other.holds(self.eqn(step, 0).args[0]));
        self.is_reshape() && (0..self.steps).any(is_row)
    }

    /// Whether a step gives one value of its own another shape, and nothing else.
    pub(super) fn is_reshape(&self) -> bool {
        self.period == 1
            && self.stacked.len() == 1
            && matches!(self.eqn(0, 0).op, Op::Reshape(_))
            && self.fits[0].sources[..] == [Source::Own]
    }

    /// The equations for each step that put what it has for itself into an array: its number, and the shape of a row.
    fn added(&self, before: &[Loop<'a>]) -> usize {
        let is_stacked = |(k, operand): (usize, usize)| {
            let value = self.eqn(self.steps / 2, k).args[operand];
            before.iter().any(|other| other.holds(value))
        };
        let literals = (0..self.period).filter(|&k| self.varies(k)).count();
        2 * literals + self.owned().filter(|&own| !is_stacked(own)).count()
    }

    /// Whether what steps have for themselves is from before the loop, and stacked already, or little.
    fn owns_little(&self, before: &[Loop<'a>]) -> bool {
        self.owned().all(|(k, operand)| {
            let mut values = (0..self.steps).map(|step| self.eqn(step, k).args[operand]);
            values.all(|value| {
                let stacked = || before.iter().any(|other| other.holds(value));
                value.0 < self.list.before(self.first)
                    && (self.list.program.ty(value).bytes() <= MOST_OWNED || stacked())
            })
        })
    }

    /// The operands that are values of their own in each step: which one of which equation.
    pub(super) fn owned(&self) -> impl Iterator<Item = (usize, usize)> {
        let of = |(k, fit): (usize, &'_ Fit)| {
            let owned = fit.sources.iter().enumerate().filter(|(_, source)| **source == Source::Own);
            owned.map(move |(operand, _)| (k, operand)).collect::<Vec<_>>()
        };
        self.fits.iter().enumerate().flat_map(of)
    }

    /// Whether a value is one of its steps.
    pub(super) fn holds(&self, value: Value) -> bool {
        (self.list.before(self.first)..self.list.before(self.end())).contains(&value.0)
    }

    /// The equation behind the last step.
    pub(super) fn end(&self) -> usize {
        self.first + self.steps * self.period
    }

    /// How many values a step has.
    pub(super) fn values(&self) -> usize {
        self.depths.len()
    }

    /// The value at a place of a step, which may be one before the loop.
    pub(super) fn value(&self, step: isize, place: usize) -> Value {
        let first = i64::from(self.list.before(self.first));
        Value((first + step as i64 * self.values() as i64 + place as i64) as u32)
    }

    /// An equation of a step.
    pub(super) fn eqn(&self, step: usize, k: usize) -> &'a Eqn {
        self.list.eqn(self.first + step * self.period + k)
    }

    /// How many steps before the first one a value is from, and its place in that step.
    pub(super) fn back(&self, value: Value) -> (usize, usize) {
        let before = (self.list.before(self.first) - value.0) as usize;
        let steps = before.div_ceil(self.values());
        (steps, steps * self.values() - before)
    }

    pub(super) fn ty(&self, place: usize) -> &'a Type {
        self.list.program.ty(self.value(0, place))
    }

    /// The number that an equation of the first step is, if it is another one in other steps.
    pub(super) fn varies(&self, k: usize) -> bool {
        let literal = |step: usize| -> Option<Literal> {
            match &self.eqn(step, k).op {
                Op::Literal(literal) => Some(*literal),
                _ => None,
            }
        };
        literal(0).is_some_and(|first| (1..self.steps).any(|step| literal(step) != Some(first)))
    }

    /// The places of values that are read behind the loop, other than those that it gives at its end.
    fn read_behind(&self) -> Vec<usize> {
        let is_given = |step: usize, place: usize| self.steps - step <= self.depths[place] as usize;
        let is_read = |step: usize, place: usize| {
            self.list.is_read_from(self.end(), self.value(step.cast_signed(), place)) && !is_given(step, place)
        };
        (0..self.values()).filter(|&place| (0..self.steps).any(|step| is_read(step, place))).collect()
    }

    /// Which value of which step a value of the loop is.
    pub(super) fn place(&self, value: Value) -> (usize, usize) {
        let behind = (value.0 - self.list.before(self.first)) as usize;
        (behind / self.values(), behind % self.values())
    }
}

/// The last step of a repetition: which of its values, and of earlier ones, are read, and where last.
struct Reads {
    /// The equation that defines a value, and how far behind it the value is read at most.
    farthest: Vec<(usize, usize, Value)>,
}

impl Reads {
    /// Those of the last period before an end; `None` if one goes too far back.
    fn of(list: &List<'_>, end: usize, period: usize, fits: &[Fit], start: usize) -> Option<Self> {
        let mut farthest = Vec::new();
        for k in end..end + period {
            let fit = &fits[(k - start) % period];
            for (&arg, _) in list.eqn(k).args.iter().zip(&fit.sources).filter(|(_, source)| **source == Source::Steps) {
                if arg.0 < list.before(start) {
                    return None;
                }
                let defined = list.definition(arg);
                if k - defined > MAX_DEPTH * period {
                    return None;
                }
                farthest.push((defined, k - defined, arg));
            }
        }
        Some(Reads { farthest })
    }

    /// The cut, as a number of equations from the start, over which the fewest bytes go.
    fn best_cut(&self, list: &List<'_>, end: usize, period: usize, start: usize) -> usize {
        // For each cut: by how many bytes more go over it than over the one before.
        let mut change = vec![0i128; period + 1];
        for (value, (defined, distance)) in self.by_place(list, end, period) {
            let ty = list.program.ty(value);
            // Of cuts with as many bytes the one with fewer values.
            let bytes = ((ty.bytes() as i128) << 32) + 1;
            // Cuts are before an equation: those behind the definition, up to the one before the reader.
            let (from, length) = ((defined + 1 - start) % period, distance % period);
            change[from] += bytes;
            match from + length {
                to if to <= period => change[to] -= bytes,
                to => {
                    change[0] += bytes;
                    change[to - period] -= bytes;
                }
            }
        }
        let mut over = 0;
        let sums = change[..period].iter().map(|change| {
            over += change;
            over
        });
        sums.enumerate().min_by_key(|&(cut, bytes)| (bytes, cut)).map_or(0, |(cut, _)| cut)
    }

    /// For each value of a step that begins at an equation: over how many beginnings of steps it goes.
    fn depths(&self, list: &List<'_>, end: usize, period: usize, first: usize) -> Vec<u32> {
        let values = (list.before(end) - list.before(end - period)) as usize;
        let mut depths = vec![0; values];
        for &(defined, distance, value) in &self.farthest {
            // Moved to a step that begins behind `first`, by whole periods.
            let into = (defined + period - first) % period;
            let depth = (into + distance) / period;
            let place =
                (value.0 - list.before(defined)) as usize + (list.before(first + into) - list.before(first)) as usize;
            depths[place] = depths[place].max(depth as u32);
        }
        depths
    }

    /// The farthest reader of each value, by its place in a period.
    fn by_place(&self, list: &List<'_>, end: usize, period: usize) -> impl Iterator<Item = (Value, (usize, usize))> {
        let values = list.before(end) - list.before(end - period);
        let mut farthest = BTreeMap::new();
        for &(defined, distance, value) in &self.farthest {
            let own = farthest.entry(value.0 % values.max(1)).or_insert((value, (defined, distance)));
            if own.1.1 < distance {
                *own = (value, (defined, distance));
            }
        }
        farthest.into_values()
    }
}
