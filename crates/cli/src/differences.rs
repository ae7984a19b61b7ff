//! Derivatives from values alone, to compare the exact ones with.
//!
//! Central differences at shrinking steps, extrapolated to step zero, with an estimate of the
//! error that is left (C. J. F. Ridders, "Accurate computation of F'(x) and F'(x) F''(x)", 1982).
//!
//! Differences look at a neighbourhood, a derivative at a point. Beside a narrow branch
//! (`select(abs(x - 1) < 0.01, x*x, x)` at 1) wide differences see the other side, converge to the last
//! digit, and are wrong. So one width alone refuses nothing: see [`compare`].

/// How many steps are tried.
const STEPS: usize = 10;
/// How much each step is smaller than the one before.
const SHRINK: f64 = 1.4;

use serde::Serialize;

/// What differences say about a derivative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verdict {
    /// It can be the true one.
    Agrees,
    /// Two widths agree with each other, and not with it.
    Differs,
    /// Nothing: no two widths agree with each other.
    Unclear,
}

/// A derivative and how far it may be from the true one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Estimate {
    /// The extrapolated difference quotient.
    pub(crate) value: f64,
    /// The estimated error; infinite or NaN if nothing can be said.
    pub(crate) error: f64,
}

impl Estimate {
    /// Whether `derivative` can be the true one.
    ///
    /// It may be off by ten times the estimated error, because that is an estimate, and by a
    /// part in a million. A point where `f` has no finite values near it agrees with nothing.
    pub(crate) fn agrees(self, derivative: f64) -> bool {
        (self.value - derivative).abs() <= self.tolerance()
    }

    /// The largest distance that [`Estimate::agrees`] allows.
    pub(crate) fn tolerance(self) -> f64 {
        10.0 * self.error + 1e-6 * self.value.abs() + 1e-10
    }

    /// Whether it is finite and known to a part in a thousand.
    fn can_tell(self) -> bool {
        self.tolerance() <= 1e-3 * self.value.abs() + 1e-6
    }

    /// Whether both can be right.
    fn fits(self, other: Estimate) -> bool {
        (self.value - other.value).abs() <= self.tolerance() + other.tolerance()
    }

    fn better(self, other: Estimate) -> Estimate {
        if other.error < self.error || self.error.is_nan() { other } else { self }
    }
}

/// The widths of the first step that are tried at once: functions differ in how far they are smooth.
const WIDTHS: [f64; 3] = [0.1, 1e-2, 1e-4];
/// The widths for a second look, each a tenth of the one before.
const CLOSER: [f64; 10] = [1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10];

/// Differences of `f` at `x`, and what they say about `derivative`.
///
/// If the best of three widths agrees, it agrees. If not, more widths are tried, and two neighbouring
/// ones that can tell and agree with each other count as one statement. `derivative` agrees if a
/// statement that contradicts the best width says so: that width has looked beyond a branch or a kink.
/// It differs if there are statements and none says so.
pub(crate) fn compare(x: f64, derivative: f64, f: impl Fn(f64) -> f64) -> (Estimate, Verdict) {
    let scale = if x == 0.0 { 1.0 } else { x.abs() };
    let at = |width: f64| ridders(x, width * scale, &f);
    let none = Estimate { value: f64::NAN, error: f64::INFINITY };
    let best = WIDTHS.map(at).into_iter().filter(|estimate| estimate.value.is_finite()).fold(none, Estimate::better);
    if best.agrees(derivative) {
        return (best, Verdict::Agrees);
    }
    let closer = CLOSER.map(at);
    let pairs = closer.windows(2).map(|pair| [pair[0], pair[1]]);
    let statements: Vec<[Estimate; 2]> =
        pairs.filter(|[wide, narrow]| wide.can_tell() && narrow.can_tell() && wide.fits(*narrow)).collect();
    let supports = |pair: &&[Estimate; 2]| {
        // A statement that also fits the best does not support a derivative that the best refuses.
        pair.iter().all(|estimate| estimate.agrees(derivative) && !estimate.fits(best))
    };
    match (statements.iter().find(supports), statements.is_empty()) {
        (Some([wide, narrow]), _) => (wide.better(*narrow), Verdict::Agrees),
        (None, false) => (best, Verdict::Differs),
        (None, true) => (best, Verdict::Unclear),
    }
}

/// Neville's table over the steps: row `j` removes the error of order `2j` in the step.
fn ridders(x: f64, width: f64, f: &impl Fn(f64) -> f64) -> Estimate {
    let quotient = |step: f64| {
        // The points are rounded; divide by their true distance.
        let (above, below) = (x + step, x - step);
        (f(above) - f(below)) / (above - below)
    };
    let mut best = Estimate { value: f64::NAN, error: f64::INFINITY };
    let mut step = width;
    let mut column = vec![quotient(step)];
    for _ in 1..STEPS {
        step /= SHRINK;
        let mut next = vec![quotient(step)];
        let mut factor = SHRINK * SHRINK;
        for (order, coarse) in column.iter().enumerate() {
            let fine = next[order];
            let value = (fine * factor - coarse) / (factor - 1.0);
            let error = (value - fine).abs().max((value - coarse).abs());
            if error <= best.error {
                best = Estimate { value, error };
            }
            next.push(value);
            factor *= SHRINK * SHRINK;
        }
        // Rounding has taken over: smaller steps only make it worse.
        if let (Some(last), Some(before)) = (next.last(), column.last())
            && (last - before).abs() >= 2.0 * best.error
        {
            break;
        }
        column = next;
    }
    // What rounding leaves even where all steps agree, as for straight lines.
    best.error += f64::EPSILON * f(x).abs() / step;
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    type Case = (fn(f64) -> f64, f64, f64);

    #[test]
    fn smooth_functions_are_differentiated_to_many_digits() {
        let cases: [Case; 7] = [
            (f64::sin, 0.7, 0.7_f64.cos()),
            (f64::exp, 3.0, 3_f64.exp()),
            (f64::ln, 1e-3, 1e3),
            (|x| x * x * x, -2.0, 12.0),
            (|x| 3.0 * x, 1e6, 3.0),
            (|_| 4.0, 0.0, 0.0),
            // Its last seven digits are rounding: narrow differences are noise.
            (|x| (x + 1e8) - 1e8 + x * x, 1.5, 4.0),
        ];
        for (f, x, expected) in cases {
            let (estimate, verdict) = compare(x, expected, f);
            assert_eq!(verdict, Verdict::Agrees, "{x}: {estimate:?} {expected}");
            let (estimate, verdict) = compare(x, expected * 1.001 + 1e-3, f);
            assert_eq!(verdict, Verdict::Differs, "{x}: {estimate:?}");
            if x != 1.5 {
                assert!((estimate.value - expected).abs() <= 1e-7 * expected.abs() + 1e-9, "{estimate:?}");
                assert_eq!(compare(x, expected * 1.00001 + 1e-6, f).1, Verdict::Differs, "{x}: {estimate:?}");
            }
        }
    }

    #[test]
    fn a_narrow_branch_is_no_difference() {
        for width in [0.5, 0.09, 0.01, 1e-3, 3e-5, 1e-6, 1e-7] {
            let inside = |x: f64| if (x - 1.0).abs() < width { x * x } else { x };
            let (estimate, verdict) = compare(1.0, 2.0, inside);
            assert_eq!(verdict, Verdict::Agrees, "{width}: {estimate:?}");
            assert!((estimate.value - 2.0).abs() < 1e-3, "{width}: {estimate:?}");
            assert_eq!(compare(1.0, 3.0, inside).1, Verdict::Differs, "{width}");
            // The branch begins beside the point: only wide differences look into it.
            let beside = |x: f64| if x > 1.0 + width { 5.0 * x + 3.0 * (x - 1.0 - width) } else { 5.0 * x };
            assert_eq!(compare(1.0, 5.0, beside).1, Verdict::Agrees, "beside {width}");
            assert_eq!(compare(1.0, 3.0, beside).1, Verdict::Differs, "beside {width}");
        }
    }

    #[test]
    fn a_kink_differs_and_a_point_without_neighbours_says_nothing() {
        assert_eq!(compare(0.0, 0.0, |x| x.max(0.0)).1, Verdict::Differs);
        let (estimate, verdict) = compare(-1.0, -1.0, f64::ln);
        assert!(estimate.value.is_nan() && verdict == Verdict::Unclear);
    }
}
