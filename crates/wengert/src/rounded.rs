//! [`Rounded`]: a number with a bound on the rounding error it carries.
//!
//! Running error analysis (J. H. Wilkinson, *Rounding Errors in Algebraic Processes*, 1963): with
//! `u = 2^-53`, a result `y = f(x)` carries `|f'(x)| e_x + c u |y|`, to first order, where `c` is
//! the accuracy of `f` in units of `u`. Whatever runs over a carrier runs over this one, so that
//! derivatives and coefficients of any order bring their own bounds.

use std::cmp::Ordering;

use crate::ops::{Binary, Compare, Unary};
use crate::real::{Carrier, real_operators};

/// Half the distance from 1 to the next number: the largest relative error of one rounding.
pub(crate) const UNIT: f64 = f64::EPSILON / 2.0;

/// The accuracy of functions beyond arithmetic: 4 units in the last place are at most 8 `u`.
const FUNCTION: f64 = 8.0;

/// A number and a bound on how far rounding has carried it from the exact one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounded {
    value: f64,
    error: f64,
}

impl Rounded {
    pub(crate) fn exact(value: f64) -> Self {
        Rounded { value, error: 0.0 }
    }

    /// An argument `x + h t`: its sum is rounded once.
    pub(crate) fn displaced(value: f64) -> Self {
        Rounded { value, error: UNIT * value.abs() }
    }

    /// The number.
    pub(crate) fn value(self) -> f64 {
        self.value
    }

    /// The bound.
    pub(crate) fn error(self) -> f64 {
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

#[cfg(test)]
mod tests;
