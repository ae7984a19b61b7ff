//! A tangent that goes along with a solution, and bounds the lengths of steps.
//!
//! The error of a step's values says nothing of what is at rest, in whole or in part, and of what the method has exactly: there steps
//! would grow until derivatives are wrong by any factor. So a tangent in a general direction, of the start and of what the equation
//! captures, takes the same steps, and its error is within a tolerance as that of the values is (as solvers with forward
//! sensitivities control them: T. Maly, L. R. Petzold, *Numerical methods and software for sensitivity analysis of
//! differential-algebraic systems*, 1996). Where the adjoint equation is solved, it is a cotangent.

use super::dormand_prince::{Control, ERROR, STAGES, STEP, combined, scaled};
use crate::error::Error;
use crate::implicit::{chosen, dot, plus};
use crate::tensor::Tensor;

/// What the error of the tangent may be, in parts of that of the values.
const LOOSER: f64 = 10.0;
/// The least tolerances of numbers in double and in single precision.
const LEAST: [f64; 2] = [1e-13, 1e-6];
/// How much of a new direction is added after each step, in parts of the tolerance, so that what has decayed is still seen where it
/// would become unstable. An error of a hundredth of it reaches the tolerance: what decays is held to half of its stable length.
const NEW: f64 = 100.0;
/// The most that captures change the tangent by in a step: more would hide all that does not depend on them.
const SOURCE: f64 = 0.1;
/// At a cosine of the angle between the tangent and its derivative below this, the tangent decays.
const OPPOSITE: f64 = -0.9;
/// Below this part of the times no step is made shorter, whatever the tangent asks for.
const SHORTEST: f64 = 1e-12;

/// The derivative along time of a tangent of the state, at a time and a state; or of a cotangent, and behind it of the sums that go to
/// captures.
pub(super) type Linear<'a> = &'a dyn Fn(&Tensor, &[Tensor], &[Tensor]) -> Result<Vec<Tensor>, Error>;

/// The tangent of the slope along a direction of the captures, at a time and a state.
pub(super) type Source<'a> = &'a dyn Fn(&Tensor, &[Tensor]) -> Result<Vec<Tensor>, Error>;

/// What goes along.
pub(super) enum Kind<'a> {
    /// A tangent, with what captures add to it, if there are any.
    Tangent(Option<Source<'a>>),
    /// A cotangent, with the captures whose cotangents are summed.
    Cotangent(&'a [Tensor]),
}

/// A tangent or a cotangent, and how it goes along.
pub(super) struct Along<'a> {
    pub(super) linear: Linear<'a>,
    pub(super) kind: Kind<'a>,
    /// Whether some of it is computed in single precision.
    pub(super) single: bool,
}

/// The times and states of a step, from its beginning to its end, as numbers.
type Stages = [(Tensor, Vec<Tensor>)];

impl Along<'_> {
    /// The units of what goes along, at a state.
    fn units(&self, y: &[Tensor], control: &Control) -> Vec<Tensor> {
        let units = y.iter().map(|y| sizes(y, control.floor()));
        match self.kind {
            Kind::Tangent(_) => units.collect(),
            Kind::Cotangent(captures) => {
                units.chain(captures.iter().map(|p| sizes(p, 1.0))).map(|size| 1.0 / size).collect()
            }
        }
    }

    /// A new one, at a state: its numbers are of either sign and about as large as their units.
    pub(super) fn start(&self, pattern: &[Tensor], y: &[Tensor], control: &Control) -> Vec<Tensor> {
        let y: Vec<Tensor> = y.iter().map(Tensor::detach).collect();
        pattern.iter().zip(self.units(&y, control)).map(|(part, unit)| part * unit).collect()
    }

    /// The slopes in two parts: of what goes along, and of what stands beside it, the captures in one way or the other.
    fn slopes(&self, (t, y): &(Tensor, Vec<Tensor>), v: &[Tensor]) -> Result<[Vec<Tensor>; 2], Error> {
        let mut own = (self.linear)(t, y, v)?;
        let beside = match self.kind {
            Kind::Tangent(None) => Vec::new(),
            Kind::Tangent(Some(source)) => source(t, y)?,
            Kind::Cotangent(_) => own.split_off(y.len()),
        };
        // What has no derivative along some capture has no part in it.
        let beside = beside.iter().map(|x| x.is_finite().where_(x.detach(), 0.0));
        Ok([own.iter().map(Tensor::detach).collect(), beside.collect()])
    }

    /// Both parts as one slope, the second with a weight.
    fn joined(&self, [own, beside]: [Vec<Tensor>; 2], weight: &Tensor) -> Vec<Tensor> {
        match self.kind {
            Kind::Tangent(None) => own,
            Kind::Tangent(Some(_)) => plus(&own, weight, &beside),
            Kind::Cotangent(_) => [own, scaled(&beside, weight)].concat(),
        }
    }

    /// The error of a step in parts of its tolerance, and what goes along from there. Numbers to the derivative.
    pub(super) fn step(
        &self,
        pattern: &[Tensor],
        v: &[Tensor],
        stages: &Stages,
        [length, end]: [&Tensor; 2],
        control: &Control,
    ) -> Result<(Tensor, Vec<Tensor>), Error> {
        let fixed = |(t, y): &(Tensor, Vec<Tensor>)| (t.detach(), y[..v.len()].iter().map(Tensor::detach).collect());
        let stages: Vec<(Tensor, Vec<Tensor>)> = stages.iter().map(fixed).collect();
        let ((t, from), (_, to)) = (&stages[0], &stages[stages.len() - 1]);
        let length = length.detach();
        let larger: Vec<Tensor> = from.iter().zip(to).map(|(from, to)| from.abs().maximum(to.abs())).collect();
        let units = self.units(&larger, control);
        let by_units = |x: &[Tensor]| x.iter().zip(&units).map(|(x, unit)| x / unit).collect::<Vec<Tensor>>();
        let (slopes, after) = self.run(v, &stages, &length, &units)?;
        let wrong = scaled(&combined(&ERROR, &slopes), &length);
        let v = [v, &self.no_sums()].concat();
        let tolerance = control.along(self.single);
        let error = error([&wrong, &v, &after, &slopes[0]].map(|x| by_units(x))) / tolerance;
        let shortest = t.abs().maximum((end.detach() - t).abs()).to_f64() * SHORTEST;
        let error = length.to_f64().gt(shortest).where_(error, 0.0);
        let new = self.start(pattern, to, control);
        let state = &after[..to.len()];
        let size = norm(&by_units(state)).maximum(1.0);
        let mixed =
            state.iter().zip(&new).map(|(v, new)| v / size.convert(v.dtype()) + new * (tolerance * NEW).min(0.1));
        Ok((error, chosen(&size.lt(f64::MAX), &mixed.collect::<Vec<Tensor>>(), &new)))
    }

    /// The slopes at all stages, and what there is after the step.
    fn run(
        &self,
        v: &[Tensor],
        stages: &Stages,
        length: &Tensor,
        units: &[Tensor],
    ) -> Result<(Vec<Vec<Tensor>>, Vec<Tensor>), Error> {
        let first = self.slopes(&stages[0], v)?;
        // Sums have the last units.
        let source = first[1].iter().zip(&units[units.len() - first[1].len()..]).map(|(x, unit)| x / unit);
        let weight = (SOURCE / (norm(&source.collect::<Vec<Tensor>>()) * length.to_f64())).minimum(1.0);
        let mut slopes = vec![self.joined(first, &weight)];
        let from = [v, &self.no_sums()].concat();
        let tableau = STAGES.iter().map(|(_, factors)| *factors).chain([&STEP[..]]);
        let mut at = from.clone();
        for (factors, stage) in tableau.zip(&stages[1..]) {
            at = plus(&from, length, &combined(factors, &slopes));
            slopes.push(self.joined(self.slopes(stage, &at[..v.len()])?, &weight));
        }
        Ok((slopes, at))
    }

    /// The sums at the beginning of a step: arrays of zeros are no constants of a solver, but made of others.
    fn no_sums(&self) -> Vec<Tensor> {
        match self.kind {
            Kind::Tangent(_) => Vec::new(),
            Kind::Cotangent(captures) => captures.iter().map(|p| p.eq(0.0).convert(p.dtype()) * 0.0).collect(),
        }
    }
}

/// The norm of an error beside that of what goes along, before and after a step; `first` is its derivative at the beginning. 0 where
/// that does not exist.
fn error([wrong, before, after, first]: [Vec<Tensor>; 4]) -> Tensor {
    let [wrong, size_before, size_after, speed] = [&wrong, &before, &after, &first].map(|x| norm(x));
    // What only decays counts beside 1, which is the most it was; what grows, or turns, beside itself.
    let inwards = dot(&before, &first).le(&size_before * &speed * OPPOSITE);
    let decays = inwards.and(size_after.le(&size_before));
    let reference = decays.where_(size_before.maximum(1.0), size_before.maximum(&size_after));
    speed.lt(f64::MAX).and(wrong.eq(0.0).not()).where_(wrong / reference, 0.0)
}

fn norm(x: &[Tensor]) -> Tensor {
    dot(x, x).sqrt()
}

impl Control {
    /// The size of numbers of which the relative tolerance is the absolute one; 1 at most.
    fn floor(&self) -> f64 {
        if self.relative > 0.0 { (self.absolute / self.relative).clamp(1e-30, 1.0) } else { 1.0 }
    }

    /// The tolerance of what goes along.
    fn along(&self, single: bool) -> f64 {
        let relative = if self.relative > 0.0 { self.relative } else { self.absolute };
        (relative * LOOSER).clamp(LEAST[usize::from(single)], 0.1)
    }
}

/// How large numbers are, and at least this; those that are not finite are no larger.
fn sizes(x: &Tensor, least: f64) -> Tensor {
    x.is_finite().where_(x.detach().abs(), 0.0) + least
}

/// A direction of what a function captures, in which every number has a part of about its size.
pub(super) fn direction(captures: &[Tensor]) -> Vec<Tensor> {
    let captures: Vec<Tensor> = captures.iter().map(Tensor::detach).collect();
    pattern(&captures).iter().zip(&captures).map(|(part, p)| part * sizes(p, 1.0)).collect()
}

/// A vector of length 1 in which every number of the state has a part, of either sign. It is computed, because constants of a solver
/// are single numbers.
pub(super) fn pattern(y: &[Tensor]) -> Vec<Tensor> {
    let count: usize = y.iter().map(Tensor::size).sum();
    let mut before = 0.0;
    let leaf = |y: &Tensor| {
        // 1, 2, 3, … over all leaves.
        let one = y.detach().flatten().eq(0.0).to_f64() * 0.0 + 1.0;
        let place = one.cumsum(0) + before;
        before += y.size() as f64;
        // The fractional parts of multiples of the golden section do not repeat themselves.
        let part = &place * 0.618_033_988_749_894_8;
        let size = (&part - part.floor()) * 0.5 + 0.75;
        let half = place * 0.5;
        let sign = half.floor().eq(&half).where_(1.0, -1.0);
        (size * sign / (count.max(1) as f64).sqrt()).reshape(y.shape()).convert(y.dtype())
    };
    y.iter().map(leaf).collect()
}
