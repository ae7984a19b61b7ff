//! [`Rule`]: a function with derivatives that somebody states; [`check_rule`] compares them.

use super::difference::{DifferenceEstimate, central};
use super::random::Random;
use super::{CheckError, Comparison, Config, Disagreement, Report, Unresolved};
use crate::rounded::UNIT;

/// A function from numbers to numbers with its tangents and cotangents, as somebody states them.
///
/// ```
/// use wengert::check::{Config, Rule, check_rule};
/// /// `x -> (x0 x1, x0)`
/// struct Product;
/// impl Rule for Product {
///     fn value(&self, x: &[f64]) -> Vec<f64> {
///         vec![x[0] * x[1], x[0]]
///     }
///     fn jvp(&self, x: &[f64], t: &[f64]) -> Vec<f64> {
///         vec![x[1] * t[0] + x[0] * t[1], t[0]]
///     }
///     fn vjp(&self, x: &[f64], c: &[f64]) -> Vec<f64> {
///         vec![x[1] * c[0] + c[1], x[0] * c[0]]
///     }
/// }
/// check_rule(&[2.0, -0.3], &Product, &Config::default()).unwrap();
/// ```
pub trait Rule {
    /// The function.
    fn value(&self, x: &[f64]) -> Vec<f64>;
    /// The Jacobian at `x` times a tangent.
    fn jvp(&self, x: &[f64], tangent: &[f64]) -> Vec<f64>;
    /// The transposed Jacobian at `x` times a cotangent.
    fn vjp(&self, x: &[f64], cotangent: &[f64]) -> Vec<f64>;
    /// Bounds on the rounding errors of the three.
    ///
    /// The default takes every result to be right to 8 units in the last place, and arguments to
    /// be rounded once. A function in which digits cancel states more.
    fn rounding(&self, x: &[f64], tangent: &[f64], cotangent: &[f64]) -> Rounding {
        let relative = |numbers: Vec<f64>| numbers.iter().map(|number| 16.0 * UNIT * number.abs()).collect();
        let mut value: Vec<f64> = relative(self.value(x));
        for (j, &argument) in x.iter().enumerate() {
            let mut unit = vec![0.0; x.len()];
            unit[j] = UNIT * argument.abs();
            value.iter_mut().zip(self.jvp(x, &unit)).for_each(|(error, moved)| *error += moved.abs());
        }
        Rounding { value, tangent: relative(self.jvp(x, tangent)), cotangent: relative(self.vjp(x, cotangent)) }
    }
}

/// Bounds on rounding errors, one for each number.
#[derive(Clone, Debug, PartialEq)]
pub struct Rounding {
    /// Of the value near the point, the rounding of the arguments included.
    pub value: Vec<f64>,
    /// Of the tangent.
    pub tangent: Vec<f64>,
    /// Of the cotangent.
    pub cotangent: Vec<f64>,
}

/// Compares a rule's derivatives with differences of its values and with each other, at `x`, in
/// random directions.
///
/// For a tangent `t` and a cotangent `c`: `<c, J t>` against central differences of `<c, f>`
/// along `t`; the transpose identity `<c, J t> = <Jᵀ c, t>`; and linearity,
/// `J(t + 2 s) = J t + 2 J s`, after projection on `c`.
///
/// # Errors
/// What disagrees, where the numbers are not finite, or that differences cannot tell.
pub fn check_rule(x: &[f64], rule: &impl Rule, config: &Config) -> Result<Report, CheckError> {
    check_order(x, &vec![false; x.len()], rule, config, 1)
}

/// As [`check_rule`]; messages say that the rule is the derivative of order `order - 1`. Arguments that are frozen do not move.
pub(super) fn check_order(
    x: &[f64],
    frozen: &[bool],
    rule: &impl Rule,
    config: &Config,
    order: u32,
) -> Result<Report, CheckError> {
    finite("point", x, order)?;
    let y = rule.value(x);
    finite("value", &y, order)?;
    let mut report = Report { comparisons: 0, worst: 0.0, resolution: 0.0 };
    let mut random = Random::new(config.seed ^ u64::from(order));
    for _ in 0..config.directions {
        let mut direction = || -> Vec<f64> {
            let part = |(&x, &frozen): (&f64, &bool)| {
                let part = random.direction() * scale_of(x);
                if frozen { 0.0 } else { part }
            };
            x.iter().zip(frozen).map(part).collect()
        };
        let (tangent, second) = (direction(), direction());
        let probe = Probe {
            rule,
            x,
            y: &y,
            tangent,
            second,
            cotangent: y.iter().map(|_| random.direction()).collect(),
            config,
            order,
        };
        probe.check(&mut report)?;
    }
    Ok(report)
}

/// A direction moves every argument by a part of itself; one that is zero, by a part of 1.
fn scale_of(x: f64) -> f64 {
    if x == 0.0 { 1.0 } else { x.abs() }
}

fn finite(what: &'static str, numbers: &[f64], order: u32) -> Result<(), CheckError> {
    match numbers.iter().position(|number| !number.is_finite()) {
        None => Ok(()),
        Some(place) => Err(CheckError::NotFinite { what, order, place, number: numbers[place] }),
    }
}

fn sized(what: &'static str, wanted: usize, numbers: Vec<f64>, order: u32) -> Result<Vec<f64>, CheckError> {
    if numbers.len() != wanted {
        return Err(CheckError::WrongSize { what, wanted, got: numbers.len() });
    }
    finite(what, &numbers, order)?;
    Ok(numbers)
}

/// One tangent and one cotangent at one point.
struct Probe<'a, R> {
    rule: &'a R,
    x: &'a [f64],
    y: &'a [f64],
    tangent: Vec<f64>,
    second: Vec<f64>,
    cotangent: Vec<f64>,
    config: &'a Config,
    order: u32,
}

impl<R: Rule> Probe<'_, R> {
    fn check(&self, report: &mut Report) -> Result<(), CheckError> {
        let jvp = |tangent: &[f64]| sized("tangent", self.y.len(), self.rule.jvp(self.x, tangent), self.order);
        let pushed = jvp(&self.tangent)?;
        let pulled = self.rule.vjp(self.x, &self.cotangent);
        let pulled = sized("cotangent", self.x.len(), pulled, self.order)?;
        let rounding = self.rule.rounding(self.x, &self.tangent, &self.cotangent);
        let forward = Dot::new(&self.cotangent, &pushed, &rounding.tangent);
        let backward = Dot::new(&self.tangent, &pulled, &rounding.cotangent);

        let estimate = self.difference(&rounding, &forward)?;
        // The scale on which the differences must be able to tell: the terms of the directional
        // derivative, those of the value (a direction is as large as the point), and how fast the
        // function changes where it was differenced.
        let value = Dot::new(&self.cotangent, self.y, &rounding.value);
        let scale = [backward.magnitude, value.magnitude, estimate.size].into_iter().fold(forward.magnitude, f64::max);
        self.resolved(&estimate, scale, report)?;
        let expected = Dot { value: estimate.value, magnitude: 0.0, error: estimate.error };
        self.compare(Comparison::Differences, &forward, &expected, report)?;

        self.compare(Comparison::Transpose, &backward, &forward, report)?;

        let combined: Vec<f64> = self.tangent.iter().zip(&self.second).map(|(t, s)| t + 2.0 * s).collect();
        let second_rounding = self.rule.rounding(self.x, &self.second, &self.cotangent);
        let combined_rounding = self.rule.rounding(self.x, &combined, &self.cotangent);
        let second = Dot::new(&self.cotangent, &jvp(&self.second)?, &second_rounding.tangent);
        let together = Dot::new(&self.cotangent, &jvp(&combined)?, &combined_rounding.tangent);
        // The combined tangent itself is rounded: one unit of every |t| + |2 s|.
        let sum = Dot {
            value: forward.value + 2.0 * second.value,
            magnitude: forward.magnitude + 2.0 * second.magnitude,
            error: forward.error + 2.0 * second.error + 4.0 * UNIT * self.size_of_terms(&pulled),
        };
        self.compare(Comparison::Linearity, &together, &sum, report)
    }

    /// The sum of the magnitudes that meet in `<Jᵀ c, |t| + 2|s|>`.
    fn size_of_terms(&self, pulled: &[f64]) -> f64 {
        let directions = self.tangent.iter().zip(&self.second).map(|(t, s)| t.abs() + 2.0 * s.abs());
        directions.zip(pulled).map(|(direction, pulled)| direction * pulled.abs()).sum()
    }

    /// Differences of `<c, f>` along the tangent, to judge the stated derivative by.
    fn difference(&self, rounding: &Rounding, stated: &Dot) -> Result<DifferenceEstimate, CheckError> {
        let noise = Dot::new(&self.cotangent, self.y, &rounding.value).error;
        // The value at the point is taken off every result first: it carries no derivative, and
        // large results that hardly change would cancel in the sum otherwise.
        let phi = |step: f64| {
            let moved: Vec<f64> = self.x.iter().zip(&self.tangent).map(|(x, t)| x + step * t).collect();
            let values = self.rule.value(&moved);
            values.iter().zip(self.y).zip(&self.cotangent).map(|((moved, y), c)| c * (moved - y)).sum()
        };
        let estimate = central(noise, phi).of(stated.value, stated.error, self.config.tolerance);
        estimate.ok_or(CheckError::NowhereFinite { order: self.order })
    }

    /// Whether the differences are good enough to refuse an error of one part in ten thousand.
    fn resolved(&self, estimate: &DifferenceEstimate, scale: f64, report: &mut Report) -> Result<(), CheckError> {
        /// A tenth of the relative error that must not pass.
        const RESOLUTION: f64 = 1e-5;
        let bound = self.config.tolerance * estimate.error;
        if bound > f64::max(RESOLUTION * scale, f64::MIN_POSITIVE) {
            return Err(CheckError::Unresolved(Box::new(Unresolved {
                order: self.order,
                direction: self.tangent.clone(),
                difference: estimate.value,
                error: estimate.error,
                step: estimate.step,
            })));
        }
        if scale > f64::MIN_POSITIVE {
            report.resolution = report.resolution.max(bound / scale);
        }
        Ok(())
    }

    fn compare(
        &self,
        comparison: Comparison,
        stated: &Dot,
        expected: &Dot,
        report: &mut Report,
    ) -> Result<(), CheckError> {
        let bound = self.config.tolerance * (stated.error + expected.error);
        let off = (stated.value - expected.value).abs();
        report.comparisons += 1;
        if off <= bound {
            if off > 0.0 {
                report.worst = report.worst.max(off / bound);
            }
            return Ok(());
        }
        Err(CheckError::Disagree(Box::new(Disagreement {
            comparison,
            order: self.order,
            direction: self.tangent.clone(),
            cotangent: self.cotangent.clone(),
            stated: stated.value,
            expected: expected.value,
            bound,
        })))
    }
}

/// A scalar product, the sum of the magnitudes of its terms, and a bound on its error.
struct Dot {
    value: f64,
    magnitude: f64,
    error: f64,
}

impl Dot {
    /// `<weights, numbers>` where every number may be wrong by its error. A sum of `n` products
    /// adds at most `n u` of the magnitudes.
    fn new(weights: &[f64], numbers: &[f64], errors: &[f64]) -> Self {
        let mut dot = Dot { value: 0.0, magnitude: 0.0, error: 0.0 };
        for ((weight, number), error) in weights.iter().zip(numbers).zip(errors) {
            dot.value += weight * number;
            dot.magnitude += (weight * number).abs();
            dot.error += weight.abs() * error;
        }
        dot.error += weights.len() as f64 * UNIT * dot.magnitude;
        dot
    }
}
