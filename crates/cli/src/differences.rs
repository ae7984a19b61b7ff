//! Derivatives from values alone, to compare the exact ones with.
//!
//! Central differences at shrinking steps, extrapolated to step zero, with an estimate of the
//! error that is left (C. J. F. Ridders, "Accurate computation of F'(x) and F'(x) F''(x)", 1982).

/// How many steps are tried.
const STEPS: usize = 10;
/// How much each step is smaller than the one before.
const SHRINK: f64 = 1.4;

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
}

/// The derivative of `f` at `x`. The best of three widths of the first step: functions differ in
/// how far they are smooth.
pub(crate) fn derivative(x: f64, f: impl Fn(f64) -> f64) -> Estimate {
    let scale = if x == 0.0 { 1.0 } else { x.abs() };
    let widths = [0.1, 1e-2, 1e-4].map(|width| ridders(x, width * scale, &f));
    let better = |a: Estimate, b: Estimate| if b.error < a.error { b } else { a };
    let none = Estimate { value: f64::NAN, error: f64::INFINITY };
    widths.into_iter().filter(|estimate| estimate.value.is_finite()).fold(none, better)
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

    #[test]
    fn smooth_functions_are_differentiated_to_many_digits() {
        type Case = (fn(f64) -> f64, f64, f64);
        let cases: [Case; 6] = [
            (f64::sin, 0.7, 0.7_f64.cos()),
            (f64::exp, 3.0, 3_f64.exp()),
            (f64::ln, 1e-3, 1e3),
            (|x| x * x * x, -2.0, 12.0),
            (|x| 3.0 * x, 1e6, 3.0),
            (|_| 4.0, 0.0, 0.0),
        ];
        for (f, x, expected) in cases {
            let estimate = derivative(x, f);
            assert!(estimate.agrees(expected), "{x}: {estimate:?} {expected}");
            assert!((estimate.value - expected).abs() <= 1e-7 * expected.abs() + 1e-9, "{estimate:?}");
            assert!(!estimate.agrees(expected * 1.001 + 1e-4), "{x}: {estimate:?}");
        }
    }

    #[test]
    fn a_function_without_values_agrees_with_nothing() {
        let estimate = derivative(-1.0, f64::ln);
        assert!(!estimate.agrees(-1.0) || estimate.error.is_infinite());
        assert!(estimate.value.is_nan());
    }
}
