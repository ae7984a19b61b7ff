//! Elementwise functions of two arguments: values, derivatives, samples.

use super::Compare;
use crate::number::Float;
use crate::real::Real;
use crate::special;

super::family! {
    /// Elementwise functions of two arguments `x` and `y`.
    ///
    /// Ties and edges are in the [table of conventions](crate::ops).
    pub enum Binary (Code) {
        /// `x + y`
        Add = "add",
        /// `x - y`
        Sub = "sub",
        /// `x * y`
        Mul = "mul",
        /// `x / y`
        Div = "div",
        /// `x^y`; NaN for negative `x` unless `y` is an integer.
        Pow = "pow",
        /// Angle of the point with abscissa `y` and ordinate `x`, in `(-pi, pi]`.
        Atan2 = "atan2",
        /// `sqrt(x^2 + y^2)` without overflow or underflow in between.
        Hypot = "hypot",
        /// The larger operand; NaN if one is NaN; equal operands share the derivative.
        Max = "max",
        /// The smaller operand; NaN if one is NaN; equal operands share the derivative.
        Min = "min",
        /// `|x|` with the sign of `y`; derivative 0 in `y`.
        Copysign = "copysign",
        /// `ln(e^x + e^y)` without overflow.
        Logaddexp = "logaddexp",
        /// `x ln(y)`, and 0 where `x = 0` unless `y` is NaN.
        Xlogy = "xlogy",
        /// `x - y trunc(x/y)`, exact, with the sign of `x`; derivative `-trunc(x/y)` in `y`.
        Rem = "rem",
    }
}

impl Binary {
    /// `self(x, y)` for plain numbers (or lanes of them).
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn eval<F: Float>(self, x: F, y: F) -> F {
        match self {
            Self::Add => x + y,
            Self::Sub => x - y,
            Self::Mul => x * y,
            Self::Div => x / y,
            Self::Pow => x.powf(y),
            Self::Atan2 => x.atan2(y),
            Self::Hypot => x.hypot(y),
            Self::Max => x.map2(y, max),
            Self::Min => x.map2(y, |x, y| -max(-x, -y)),
            Self::Copysign => x.map2(y, f64::copysign),
            Self::Logaddexp => x.map2(y, special::logaddexp),
            Self::Xlogy => x.map2(y, special::xlogy),
            Self::Rem => x.map2(y, |x, y| x % y),
        }
    }

    /// `dz/dx` where `z = self(x, y)`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn partial_x<R: Real>(self, x: R, y: R, z: R) -> R {
        match self {
            Self::Add | Self::Sub | Self::Rem => R::constant(1.0),
            Self::Mul => y,
            Self::Div => y.recip(),
            Self::Pow => {
                // 0 * 0^-1 would be NaN. Elsewhere the formula is right at y = 0 too, and keeps
                // the mixed second derivative.
                let zero = R::constant(0.0);
                let corner = x.equal(zero) & y.equal(zero);
                R::branch(corner, || zero, || y * x.binary(y - 1.0, Self::Pow))
            }
            Self::Atan2 => {
                let radius = x.hypot(y);
                y / radius / radius
            }
            Self::Hypot => x / z,
            Self::Max => share(x, y, Compare::Gt),
            Self::Min => share(x, y, Compare::Lt),
            Self::Copysign => x.sign() * R::constant(1.0).binary(y, Self::Copysign),
            Self::Logaddexp => (x - y).sigmoid(),
            Self::Xlogy => y.ln(),
        }
    }

    /// `dz/dy` where `z = self(x, y)`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn partial_y<R: Real>(self, x: R, y: R, z: R) -> R {
        match self {
            Self::Add => R::constant(1.0),
            Self::Sub => R::constant(-1.0),
            Self::Mul => x,
            Self::Div => -(z / y),
            Self::Pow => {
                let zero = R::constant(0.0);
                let base = x.equal(zero) & y.compare(zero, Compare::Ge);
                R::branch(base, || zero, || z * x.ln())
            }
            Self::Atan2 => {
                let radius = x.hypot(y);
                -(x / radius / radius)
            }
            Self::Hypot => y / z,
            Self::Max => share(y, x, Compare::Gt),
            Self::Min => share(y, x, Compare::Lt),
            Self::Copysign => R::constant(0.0),
            Self::Logaddexp => (y - x).sigmoid(),
            Self::Xlogy => x / y,
            // (x - z)/y is the integer trunc(x/y), up to rounding; x/y itself may round up to it.
            Self::Rem => -((x - z) / y).unary(crate::ops::Unary::Round),
        }
    }

    /// Both partials, sharing what they share: a division's two cotangents need one quotient.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn partials<R: Real>(self, x: R, y: R, z: R) -> (R, R) {
        match self {
            Self::Div => {
                let quotient = y.recip();
                (quotient, -(z * quotient))
            }
            Self::Atan2 => {
                let radius = x.hypot(y);
                (y / radius / radius, -(x / radius / radius))
            }
            Self::Add
            | Self::Sub
            | Self::Mul
            | Self::Pow
            | Self::Hypot
            | Self::Max
            | Self::Min
            | Self::Copysign
            | Self::Logaddexp
            | Self::Xlogy
            | Self::Rem => (self.partial_x(x, y, z), self.partial_y(x, y, z)),
        }
    }

    /// Whether the derivative in `y` is structurally zero.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub const fn is_flat_in_y(self) -> bool {
        matches!(self, Self::Copysign)
    }

    /// The sign between the operands, if one writes the operation so.
    pub const fn symbol(self) -> Option<&'static str> {
        match self {
            Self::Add => Some("+"),
            Self::Sub => Some("-"),
            Self::Mul => Some("*"),
            Self::Div => Some("/"),
            Self::Rem => Some("%"),
            Self::Pow
            | Self::Atan2
            | Self::Hypot
            | Self::Max
            | Self::Min
            | Self::Copysign
            | Self::Logaddexp
            | Self::Xlogy => None,
        }
    }

    /// Points inside the domain and away from ties, for the rule tests.
    pub const fn samples(self) -> &'static [(f64, f64)] {
        match self {
            Self::Pow | Self::Xlogy => &[(0.6, 1.7), (2.2, 0.4), (1.3, 3.0)],
            Self::Div | Self::Atan2 | Self::Hypot => &[(0.6, 1.7), (-2.2, 0.4), (1.3, -3.0), (-0.5, -0.8)],
            Self::Rem => &[(5.3, 1.7), (-5.3, 1.7), (2.2, -0.9)],
            Self::Add | Self::Sub | Self::Mul | Self::Max | Self::Min | Self::Copysign | Self::Logaddexp => {
                &[(0.6, 1.7), (-2.2, 0.4), (1.3, -3.0), (-0.5, -0.8)]
            }
        }
    }
}

/// The larger number; NaN if one is NaN; `max(-0, 0) = 0`.
#[cfg_attr(not(debug_assertions), inline(always))]
fn max(x: f64, y: f64) -> f64 {
    if x > y {
        x
    } else if y > x {
        y
    } else if x == y {
        if x.is_sign_positive() { x } else { y }
    } else {
        f64::NAN
    }
}

/// 1 if `x wins y`, 1/2 if they are equal, else 0.
#[cfg_attr(not(debug_assertions), inline(always))]
fn share<R: Real>(x: R, y: R, wins: Compare) -> R {
    let loser = || R::branch(x.equal(y), || R::constant(0.5), || R::constant(0.0));
    R::branch(x.compare(y, wins), || R::constant(1.0), loser)
}
