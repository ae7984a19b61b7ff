//! The method of Dormand and Prince of order 5(4), with adaptive steps and a continuous extension of order 4.
//!
//! J. R. Dormand, P. J. Prince, *A family of embedded Runge-Kutta formulae* (1980). The extension, the control of the lengths and
//! the guess of the first one are those of E. Hairer, S. P. Nørsett, G. Wanner, *Solving ordinary differential equations I* (1993),
//! sections II.4 to II.6.

use std::cell::RefCell;

use super::along::pattern;
use super::{NAME, Slope, joined};
use crate::control::{Scan, While};
use crate::error::Error;
use crate::implicit::{chosen, count, ensured, plus};
use crate::primitives::Ensure;
use crate::tensor::Tensor;

/// When a step is refined, and how many there may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Control {
    pub(super) relative: f64,
    pub(super) absolute: f64,
    pub(super) first: Option<f64>,
    pub(super) limit: i64,
}

/// The coefficients of the stages after the first, with their times.
pub(super) const STAGES: [(f64, &[f64]); 5] = [
    (1.0 / 5.0, &[1.0 / 5.0]),
    (3.0 / 10.0, &[3.0 / 40.0, 9.0 / 40.0]),
    (4.0 / 5.0, &[44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0]),
    (8.0 / 9.0, &[19372.0 / 6561.0, -25360.0 / 2187.0, 64448.0 / 6561.0, -212.0 / 729.0]),
    (1.0, &[9017.0 / 3168.0, -355.0 / 33.0, 46732.0 / 5247.0, 49.0 / 176.0, -5103.0 / 18656.0]),
];

/// Those of the step, which is the last stage too: the slope there is the first of the next step.
pub(super) const STEP: [f64; 6] = [35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0];

/// The step of order 5 less that of order 4.
pub(super) const ERROR: [f64; 7] =
    [71.0 / 57600.0, 0.0, -71.0 / 16695.0, 71.0 / 1920.0, -17253.0 / 339200.0, 22.0 / 525.0, -1.0 / 40.0];

/// The part of the continuous extension that is no combination of states and slopes at both ends.
const EXTENSION: [f64; 7] = [
    -12715105075.0 / 11282082432.0,
    0.0,
    87487479700.0 / 32700410799.0,
    -10690763975.0 / 1880347072.0,
    701980252875.0 / 199316789632.0,
    -1453857185.0 / 822651844.0,
    69997945.0 / 29380423.0,
];

/// The last step that was taken, and what comes next. Its parts are the carry of the loops.
#[derive(Clone)]
struct Course {
    /// States at both ends.
    from: Vec<Tensor>,
    to: Vec<Tensor>,
    /// Slopes at both ends.
    slope_from: Vec<Tensor>,
    slope_to: Vec<Tensor>,
    /// What [`EXTENSION`] gives.
    middle: Vec<Tensor>,
    /// The times of both ends, the length that comes next, the number of steps.
    time: [Tensor; 4],
    /// What goes along, at the end of the step; nothing if no derivative is known.
    along: Vec<Tensor>,
}

/// A [`Course`] as a tree.
type Carry = (Vec<Tensor>, Vec<Tensor>, Vec<Tensor>, Vec<Tensor>, Vec<Tensor>, [Tensor; 4], Vec<Tensor>);

impl Course {
    fn of(carry: Carry) -> Self {
        let (from, to, slope_from, slope_to, middle, time, along) = carry;
        Course { from, to, slope_from, slope_to, middle, time, along }
    }

    fn carry(self) -> Carry {
        (self.from, self.to, self.slope_from, self.slope_to, self.middle, self.time, self.along)
    }
}

/// The states at all times.
pub(super) fn solve(slope: &Slope<'_>, y0: &[Tensor], times: &Tensor, control: &Control) -> Result<Vec<Tensor>, Error> {
    let (start, end) = (times.slice(0), times.slice(-1));
    let y0 = slope.finite(y0, &start)?;
    let first = slope.at(&start, &y0)?;
    let length = match control.first {
        Some(length) => &start * 0.0 + length,
        None => guess(slope, &y0, &first, &start, control)?,
    };
    let pattern = pattern(&y0[..slope.counted]);
    let along = slope.along.as_ref().map(|along| along.start(&pattern, &y0[..slope.counted], control));
    let course = Course {
        from: y0.clone(),
        to: y0.clone(),
        slope_from: first.clone(),
        slope_to: first.clone(),
        middle: first,
        time: [start.clone(), start, rounded(&length), count(0)],
        along: along.unwrap_or_default(),
    };
    let failed = RefCell::new(None);
    let (_, rest) = Scan::new().try_run(course.carry(), times.slice(1..), |carry, time| {
        reach(slope, &pattern, carry.clone(), &time, &end, control).unwrap_or_else(|why| {
            failed.replace(Some(why));
            let row = carry.0.clone();
            (carry, row)
        })
    })?;
    failed.into_inner().map_or_else(|| Ok(joined(&y0, rest)), Err)
}

/// Steps until a time is reached, and the state there.
fn reach(
    slope: &Slope<'_>,
    pattern: &[Tensor],
    carry: Carry,
    time: &Tensor,
    end: &Tensor,
    control: &Control,
) -> Result<(Carry, Vec<Tensor>), Error> {
    let failed = RefCell::new(None);
    let carry = While::new().try_run(
        carry,
        |carry| {
            let [_, to, length, steps] = &carry.5;
            to.lt(time).and(steps.lt(control.limit)).and((to + length).gt(to))
        },
        |carry| {
            stepped(slope, pattern, &Course::of(carry.clone()), end, control).map_or_else(
                |why| {
                    failed.replace(Some(why));
                    carry
                },
                Course::carry,
            )
        },
    )?;
    if let Some(why) = failed.into_inner() {
        return Err(why);
    }
    let course = Course::of(carry);
    let [_, to, length, steps] = &course.time;
    let reached = to.ge(time);
    let row = between(&course, time);
    let limit = Ensure::new(
        NAME,
        "it does not reach t = {}: it is at t = {} after {} steps, which is the limit; `values_only` lifts the bound of steps that \
         derivatives need",
    );
    let row = ensured(&row, &limit, &reached.or(steps.lt(control.limit)), &[time, to, steps])?;
    let short = Ensure::new(
        NAME,
        "it does not reach t = {}: at t = {}, after {} steps, a step within the tolerance would have to be of length {}, which \
         does not move the time; the solution is singular there, or its slope no number",
    );
    let row = ensured(&row, &short, &reached, &[time, to, steps, length])?;
    let row = slope.finite(&row, time)?;
    Ok((course.carry(), row))
}

/// The state at a time of the last step.
fn between(course: &Course, time: &Tensor) -> Vec<Tensor> {
    let [from, to, ..] = &course.time;
    let length = to - from;
    let part = (time - from) / &length;
    let rest = 1.0 - &part;
    let state = |k: usize| {
        let (y, middle) = (&course.from[k], &course.middle[k]);
        let [length, part, rest] = [&length, &part, &rest].map(|x| x.convert(y.dtype()));
        let change = &course.to[k] - y;
        let bend = &length * &course.slope_from[k] - &change;
        let other = &change - &length * &course.slope_to[k] - &bend;
        y + &part * (change + &rest * (bend + &part * (other + &rest * middle)))
    };
    (0..course.from.len()).map(state).collect()
}

/// One step, if its error is within the tolerance; else the same course with a shorter step to come.
fn stepped(
    slope: &Slope<'_>,
    pattern: &[Tensor],
    course: &Course,
    end: &Tensor,
    control: &Control,
) -> Result<Course, Error> {
    let [_, t, length, steps] = &course.time;
    // What would be left of the way after it is not worth a step.
    let last = (t + length * 1.01).ge(end);
    let next = last.where_(end, &(t + length));
    let length = last.where_(&(end - t), length);
    let y = &course.to;
    let mut slopes = vec![course.slope_to.clone()];
    let mut stages = vec![(t.clone(), y.clone())];
    for (part, factors) in STAGES {
        let (t, y) = (t + &length * part, plus(y, &length, &combined(factors, &slopes)));
        slopes.push(slope.at(&t, &y)?);
        stages.push((t, y));
    }
    let after = plus(y, &length, &combined(&STEP, &slopes));
    slopes.push(slope.at(&next, &after)?);
    stages.push((next.clone(), after.clone()));
    let own = slope.counted;
    let wrong = scaled(&combined(&ERROR, &slopes), &length);
    let error = size(&wrong[..own], &[&y[..own], &after[..own]], control);
    let (error, along) = match &slope.along {
        Some(along) => {
            let (other, along) = along.step(pattern, &course.along, &stages, [&length, end], control)?;
            (error.maximum(&other), along)
        }
        None => (error, Vec::new()),
    };
    let fits = error.le(1.0);
    // A number at least, and 0.2 where the error is none.
    let factor = (error.maximum(1e-12).powf(-0.2) * 0.9).clamp(0.2, 10.0);
    let factor = error.le(f64::MAX).where_(&factor, 0.2);
    let middle = scaled(&combined(&EXTENSION, &slopes), &length);
    let slope_after = slopes.pop().expect("there are seven");
    let [from, to, ..] = &course.time;
    Ok(Course {
        from: chosen(&fits, &course.to, &course.from),
        to: chosen(&fits, &after, &course.to),
        slope_from: chosen(&fits, &course.slope_to, &course.slope_from),
        slope_to: chosen(&fits, &slope_after, &course.slope_to),
        middle: chosen(&fits, &middle, &course.middle),
        time: [fits.where_(to, from), fits.where_(&next, to), rounded(&(&length * factor)), steps + 1],
        along: chosen(&fits, &along, &course.along),
    })
}

/// A length whose exponent, to base 2, is rounded down to eighths. So it has no derivative: steps are constants.
fn rounded(length: &Tensor) -> Tensor {
    ((length.log2() * 8.0).floor() * 0.125).exp2()
}

/// `a[0] k[0] + a[1] k[1] + …` without the terms that are zero.
pub(super) fn combined(factors: &[f64], slopes: &[Vec<Tensor>]) -> Vec<Tensor> {
    let leaf = |k: usize| {
        let terms = factors.iter().zip(slopes).filter(|(factor, _)| **factor != 0.0);
        let sum = terms.map(|(&factor, slope)| &slope[k] * factor).reduce(|sum, term| sum + term);
        sum.expect("there is a term")
    };
    (0..slopes[0].len()).map(leaf).collect()
}

pub(super) fn scaled(x: &[Tensor], factor: &Tensor) -> Vec<Tensor> {
    x.iter().map(|x| x * factor.convert(x.dtype())).collect()
}

/// The root of the mean square of `x / (absolute + relative |y|)`, with the larger of two states.
fn size(x: &[Tensor], y: &[&[Tensor]; 2], control: &Control) -> Tensor {
    let numbers: usize = x.iter().map(Tensor::size).sum();
    let square = |(k, x): (usize, &Tensor)| {
        let [one, other] = y.map(|y| y[k].to_f64().abs());
        (x.to_f64() / (one.maximum(&other) * control.relative + control.absolute)).square().sum()
    };
    let sum = x.iter().enumerate().map(square).reduce(|sum, next| sum + next).unwrap_or_else(|| Tensor::from(0.0));
    (sum / numbers.max(1) as f64).sqrt()
}

/// A length for the first step.
fn guess(slope: &Slope<'_>, y: &[Tensor], first: &[Tensor], t: &Tensor, control: &Control) -> Result<Tensor, Error> {
    let own = slope.counted;
    let of = |x: &[Tensor]| size(&x[..own], &[&y[..own], &y[..own]], control);
    let (state, change) = (of(y), of(first));
    let small = state.lt(1e-5).or(change.lt(1e-5));
    let length = small.where_(1e-6, &(state / &change * 0.01));
    let after = slope.at(&(t + &length), &plus(y, &length, first))?;
    let bent: Vec<Tensor> = after.iter().zip(first).map(|(after, first)| after - first).collect();
    let largest = change.maximum(&(of(&bent) / &length));
    let flat = largest.le(1e-15);
    let other = flat.where_((&length * 1e-3).maximum(1e-6), (0.01 / &largest).powf(0.2));
    Ok((length * 100.0).minimum(&other))
}
