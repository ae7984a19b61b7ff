//! [`Rounded`]: a number with a bound on the rounding error it carries; and the errors of a
//! recording's value and derivatives.
//!
//! Running error analysis (J. H. Wilkinson, *Rounding Errors in Algebraic Processes*, 1963): with
//! `u = 2^-53`, a result `y = f(x)` carries `|f'(x)| e_x + c u |y|`, to first order, where `c` is
//! the accuracy of `f` in units of `u`. The drivers run over this carrier as over any other, so a
//! derivative of any order brings its own bound.

use std::cmp::Ordering;

use super::rule::Rounding;
use crate::algorithm::{Algorithm, Base};
use crate::algorithm::{Hvp, Jvp, Vjp};
use crate::ops::{Binary, Compare, Unary};
use crate::real::{Carrier, real_operators};
use crate::tape::Var;
use crate::tape::trace::Trace;
use crate::task::Gives;

/// Half the distance from 1 to the next number: the largest relative error of one rounding.
pub(super) const UNIT: f64 = f64::EPSILON / 2.0;

/// The accuracy of functions beyond arithmetic: 4 units in the last place are at most 8 `u`.
const FUNCTION: f64 = 8.0;

/// A number and a bound on how far rounding has carried it from the exact one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rounded {
    value: f64,
    error: f64,
}

impl Rounded {
    pub(super) fn exact(value: f64) -> Self {
        Rounded { value, error: 0.0 }
    }

    /// An argument `x + h t`: its sum is rounded once.
    pub(super) fn displaced(value: f64) -> Self {
        Rounded { value, error: UNIT * value.abs() }
    }

    /// The bound.
    pub(super) fn error(self) -> f64 {
        self.error
    }

    /// `value` after one operation that is right to `accuracy` units `u`, with what it inherits.
    fn new(value: f64, inherited: f64, accuracy: f64) -> Self {
        // The last term is the rounding of a result so small that it has lost digits.
        Rounded { value, error: inherited + accuracy * UNIT * value.abs() + f64::from_bits(1) }
    }

    /// The share of this number's error in a result, where the derivative is `slope`.
    fn through(self, slope: f64) -> f64 {
        if self.error == 0.0 { 0.0 } else { slope.abs() * self.error }
    }
}

impl Base for Rounded {
    fn capture(var: Var) -> Self {
        Rounded::exact(var.value)
    }
    fn plain(self) -> f64 {
        self.value
    }
}

real_operators! { [] Rounded }

impl Carrier for Rounded {
    type Mask = bool;

    fn carry_constant(value: f64) -> Self {
        // In single precision a constant with more digits is rounded. In double precision it is
        // not, and the bound is wider by one rounding than it need be.
        if f64::from(value as f32) == value { Rounded::exact(value) } else { Rounded::displaced(value) }
    }
    fn carry_unary(self, op: Unary) -> Self {
        let y = op.eval(self.value);
        let accuracy = op.roundings().map_or(FUNCTION, f64::from);
        // What is detached keeps its error, though it has no derivative.
        let slope = if op == Unary::Detach { 1.0 } else { op.partial(self.value, y) };
        Rounded::new(y, self.through(slope), accuracy)
    }
    fn carry_binary(self, other: Self, op: Binary) -> Self {
        let (x, y) = (self.value, other.value);
        let z = op.eval(x, y);
        let accuracy = op.roundings().map_or(FUNCTION, f64::from);
        let inherited = match other.error {
            0.0 => self.through(op.partial_x(x, y, z)),
            _ => self.through(op.partial_x(x, y, z)) + other.through(op.partial_y(x, y, z)),
        };
        Rounded::new(z, inherited, accuracy)
    }
    fn carry_compare(self, other: Self, op: Compare) -> bool {
        op.eval(self.value, other.value)
    }
    fn carry_select(mask: bool, yes: Self, no: Self) -> Self {
        if mask { yes } else { no }
    }
    fn carry_all_finite(self) -> bool {
        self.value.is_finite()
    }
}

impl PartialEq for Rounded {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl PartialOrd for Rounded {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.value.partial_cmp(&other.value)
    }
}

impl PartialEq<f64> for Rounded {
    fn eq(&self, other: &f64) -> bool {
        self.value == *other
    }
}

impl PartialOrd<f64> for Rounded {
    fn partial_cmp(&self, other: &f64) -> Option<Ordering> {
        self.value.partial_cmp(other)
    }
}

fn exact(numbers: &[f64]) -> Vec<Rounded> {
    numbers.iter().map(|&x| Rounded::exact(x)).collect()
}

fn errors(numbers: &[Rounded]) -> Vec<f64> {
    numbers.iter().map(|number| number.error).collect()
}

/// What an algorithm gives over numbers that carry their errors.
fn run(trace: &Trace, inputs: &[Rounded], directions: &[f64], algorithm: &impl Algorithm) -> Vec<Rounded> {
    let values = trace.evaluate(inputs, Rounded::capture).expect("the point is the recorded one, so no guard flips");
    algorithm.run(trace, &values, &exact(directions))
}

/// The rounding errors of a recorded function's value, tangent and cotangent at a point.
pub(super) fn of_function(trace: &Trace, x: &[f64], tangent: &[f64], cotangent: &[f64]) -> Rounding {
    let displaced: Vec<Rounded> = x.iter().map(|&x| Rounded::displaced(x)).collect();
    let outputs = trace.outputs.len();
    Rounding {
        value: errors(&run(trace, &displaced, tangent, &Jvp)[..outputs]),
        tangent: errors(&run(trace, &exact(x), tangent, &Jvp)[outputs..]),
        cotangent: errors(&run(trace, &exact(x), cotangent, &Vjp)),
    }
}

/// The rounding errors of the gradient of a recorded function, of its tangent and its cotangent.
pub(super) fn of_gradient(trace: &Trace, x: &[f64], tangent: &[f64], cotangent: &[f64]) -> Rounding {
    let displaced: Vec<Rounded> = x.iter().map(|&x| Rounded::displaced(x)).collect();
    Rounding {
        value: errors(&run(trace, &displaced, &[1.0], &Vjp)),
        tangent: errors(&run(trace, &exact(x), tangent, &Hvp { gives: Gives::Derivative })),
        cotangent: errors(&run(trace, &exact(x), cotangent, &Hvp { gives: Gives::Derivative })),
    }
}

#[cfg(test)]
mod tests;
