//! Central differences of order 4 that choose their step and estimate their error.
//!
//! They look at a neighbourhood, a derivative at a point. Beside a narrow branch wide steps see the
//! other side, settle there to the last digit, and are wrong; [`Differences::of`] looks closer before a
//! derivative is refused.

use crate::rounded::UNIT;

/// A derivative by differences, and how far it may be from the exact one.
#[derive(Clone, Copy, Debug)]
pub(super) struct DifferenceEstimate {
    pub(super) value: f64,
    pub(super) error: f64,
    pub(super) step: f64,
    /// The largest quotient of a value of `phi` and its step: how fast it changes there, even if
    /// the derivative is zero.
    pub(super) size: f64,
}

/// The widest step, and by what factor the next one is narrower.
const WIDEST: f64 = 0.25;
const RATIO: f64 = 0.25;
/// How many steps are tried: down to `2^-36`.
const STEPS: usize = 18;

/// The differences over all steps.
#[derive(Clone, Debug)]
pub(super) struct Differences {
    /// One for every three neighbouring steps with finite numbers, wide steps first.
    estimates: Vec<DifferenceEstimate>,
}

impl Differences {
    /// The estimate with the smallest error.
    pub(super) fn best(&self) -> Option<DifferenceEstimate> {
        self.estimates.iter().copied().reduce(|best, next| if next.error < best.error { next } else { best })
    }

    /// The estimate that judges `stated`, where two numbers agree if they differ by at most `tolerance` times the sum of
    /// their errors: the best, if it agrees. Else the best of those with narrower steps that contradict it
    /// and agree with `stated`, if two neighbours do: then the function is another one closer to the point.
    pub(super) fn of(&self, stated: f64, error: f64, tolerance: f64) -> Option<DifferenceEstimate> {
        let best = self.best()?;
        let agree =
            |x: &DifferenceEstimate, value: f64, error: f64| (x.value - value).abs() <= tolerance * (x.error + error);
        if agree(&best, stated, error) {
            return Some(best);
        }
        let closer =
            |x: &DifferenceEstimate| x.step < best.step && !agree(x, best.value, best.error) && agree(x, stated, error);
        let pairs = self.estimates.windows(2).filter(|pair| pair.iter().all(closer));
        let sharper = |x: DifferenceEstimate, y: DifferenceEstimate| if y.error < x.error { y } else { x };
        Some(pairs.flatten().copied().reduce(sharper).unwrap_or(best))
    }
}

/// `phi'(0)` of a function that is 0 at 0, by `D(h) = (8 (phi(h) - phi(-h)) - (phi(2h) - phi(-2h))) / 12h`, where every value of
/// `phi` may be wrong by `noise`.
///
/// The error of `D(h)` has two parts. The formula is wrong by `h^4 phi'''''(0)/30` and higher
/// terms, call them `T`; a quarter of the step makes them 256 times smaller. The noise makes at most
/// `N = (8 + 8 + 1 + 1) noise / 12h = 1.5 noise / h`, and `4 N` at a quarter of the step. So
/// `|D(h) - D(h/4)|` is `T` to half a percent and `5 N`, and the error is at most
///
/// `error(h) = 1.01 max(|D(h) - D(h/4)|, |D(h) - D(h/16)|) + 6 N + 8 u |D(h)|`
///
/// where the second difference guards against a first one that is small by accident, and the last
/// term is the rounding of the formula itself. The step with the smallest estimate is taken: wide
/// steps are left because the formula is wrong there, narrow ones because of the noise.
pub(super) fn central(noise: f64, mut phi: impl FnMut(f64) -> f64) -> Differences {
    let mut step = WIDEST;
    let mut tried = [(0.0, f64::NAN, 0.0); STEPS];
    for entry in &mut tried {
        let [left, right] = [phi(-step), phi(step)];
        let [far_left, far_right] = [phi(-2.0 * step), phi(2.0 * step)];
        let value = (8.0 * (right - left) - (far_right - far_left)) / (12.0 * step);
        let size = [left, right, far_left, far_right].iter().fold(0.0, |size, phi| f64::max(size, phi.abs()));
        *entry = (step, value, size / step);
        step *= RATIO;
    }
    let mut estimates = Vec::new();
    for window in tried.windows(3) {
        let [(step, value, size), (_, next, _), (_, after, _)] = [window[0], window[1], window[2]];
        let spread = f64::max((value - next).abs(), (value - after).abs());
        let error = 1.01 * spread + 9.0 * noise / step + 8.0 * UNIT * value.abs();
        let all_finite = value.is_finite() && next.is_finite() && after.is_finite() && error.is_finite();
        if all_finite {
            estimates.push(DifferenceEstimate { value, error, step, size });
        }
    }
    Differences { estimates }
}

#[cfg(test)]
mod tests;
