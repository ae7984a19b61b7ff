//! How fast an equation is along its solution, which bounds the lengths of steps.
//!
//! The error of a step says nothing of what is at rest, in whole or in part: there steps would grow until they are unstable, and
//! with them the derivatives, though not the values. So the largest rate of the linearised equation is followed by power iteration,
//! one product of the Jacobian with a vector a step (as in B. P. Sommeijer, L. F. Shampine, J. G. Verwer, *RKC: an explicit solver
//! for parabolic PDEs*, 1997), and no step is longer than a part of its inverse.

use std::cell::RefCell;

use super::Slope;
use super::dormand_prince::Control;
use crate::control::While;
use crate::error::Error;
use crate::implicit::{chosen, count, dot};
use crate::tensor::Tensor;

/// What `R(z) - e^z` is divided by `z^6`: the error of a step of an equation `y' = r y`, with `z` the length times the rate.
const LINEAR_ERROR: f64 = 1.0 / 600.0 - 1.0 / 720.0;
/// The largest `|z|` of what decays: a third of where the method becomes unstable.
const DECAYING: f64 = 1.0;
/// The cosine of the angle between a vector and its image up to which it decays.
const OPPOSITE: f64 = -0.9;
/// How much of the first vector is in each one, so that a part that comes to rest is not lost.
const KEPT: f64 = 1e-6;
/// Iterations before the first step.
const BEFORE: i64 = 10;
/// What a step moves the time by, relatively, whatever the rate is.
const LEAST: f64 = 1e-12;

/// Where the power iteration is.
#[derive(Clone)]
pub(super) struct Rates {
    /// A vector of length 1, or nearly so; none if no derivative is known.
    pub(super) along: Vec<Tensor>,
    /// How much longer its image was.
    pub(super) rate: Tensor,
}

/// One iteration at a state, from the first vector where there is none before, and the longest step from there. Numbers to the
/// derivative.
///
/// The rate is the root of two of these ratios in a row: of an oscillator in units that do not fit the one alone is far too large,
/// and the other far too small.
pub(super) fn rates(
    slope: &Slope<'_>,
    first: &[Tensor],
    before: Option<&Rates>,
    t: &Tensor,
    y: &[Tensor],
    control: &Control,
) -> Result<(Rates, Tensor), Error> {
    let none = || Tensor::from(f64::MAX);
    let Some(linear) = slope.linear else {
        return Ok((Rates { along: Vec::new(), rate: Tensor::from(0.0) }, none()));
    };
    let y: Vec<Tensor> = y[..slope.counted].iter().map(Tensor::detach).collect();
    let along = before.map_or(first, |before| &before.along);
    let image: Vec<Tensor> = linear(&t.detach(), &y, along)?.iter().map(Tensor::detach).collect();
    let [square, length] = [along, &image].map(|x| dot(x, x));
    let rate = (&length / &square).sqrt();
    let usable = rate.gt(0.0).and(rate.lt(f64::MAX));
    // Where there is nothing to follow it begins anew.
    let next: Vec<Tensor> =
        image.iter().zip(first).map(|(x, first)| x / length.sqrt().convert(x.dtype()) + first * KEPT).collect();
    let after = Rates { along: chosen(&usable, &next, first), rate: usable.where_(&rate, 0.0) };
    let last = before.map_or(&rate, |before| &before.rate);
    let mean = last.gt(0.0).where_((&rate * last).sqrt(), &rate);
    let decays = dot(along, &image).le(&rate * square * OPPOSITE);
    let relative = if control.relative > 0.0 { control.relative } else { 1e-8 };
    let exact = (relative / LINEAR_ERROR).powf(1.0 / 6.0).clamp(0.01, DECAYING);
    let most = decays.where_(DECAYING, exact) / &mean;
    let least = t.detach().abs().to_f64() * LEAST;
    Ok((after, usable.where_(most.maximum(&least), f64::MAX)))
}

/// The rates at the start, where the vector has to turn into the direction of the fastest part.
pub(super) fn at_start(
    slope: &Slope<'_>,
    first: &[Tensor],
    t: &Tensor,
    y: &[Tensor],
    control: &Control,
) -> Result<(Rates, Tensor), Error> {
    let (Rates { along, rate }, most) = rates(slope, first, None, t, y, control)?;
    if slope.linear.is_none() {
        return Ok((Rates { along, rate }, most));
    }
    let failed = RefCell::new(None);
    let (along, rate, most, _) = While::new().try_run(
        (along, rate, most, count(1)),
        |(.., k)| k.lt(BEFORE),
        |(along, rate, most, k)| match rates(slope, first, Some(&Rates { along, rate }), t, y, control) {
            Ok((Rates { along, rate }, most)) => (along, rate, most, k + 1),
            Err(why) => {
                failed.replace(Some(why));
                (first.to_vec(), most.clone(), most, k + 1)
            }
        },
    )?;
    failed.into_inner().map_or(Ok((Rates { along, rate }, most)), Err)
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
