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
        /// `y x^(y-1)`, the derivative of `x^y` in `x`; 0 where `y` is 0.
        PowSlope = "pow_slope",
        /// `x^y ln(x)`, the derivative of `x^y` in `y`; 0 where `x` is 0 and `y` is not negative.
        PowLog = "pow_log",
        /// Angle of the point with abscissa `y` and ordinate `x`, in `(-pi, pi]`.
        Atan2 = "atan2",
        /// `sqrt(x^2 + y^2)` without overflow or underflow in between.
        Hypot = "hypot",
        /// `x / hypot(x, y)`, the cosine of the angle of the point `(x, y)`; its derivatives do not cancel.
        HypotCos = "hypot_cos",
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
        /// `x ln(1+y)`, accurate for `y` near 0, and 0 where `x = 0` unless `y` is NaN.
        Xlog1py = "xlog1py",
        /// Logarithm of the beta function, `lgamma(x) + lgamma(y) - lgamma(x+y)` without their cancellation; NaN below 0.
        Betaln = "betaln",
        /// `digamma(x) - digamma(x+y)` without cancellation, the derivative of `betaln` in `x`.
        DigammaDrop = "digamma_drop",
        /// `polygamma(1, x) - polygamma(1, x+y)` without cancellation.
        TrigammaDrop = "trigamma_drop",
        /// `polygamma(2, x) - polygamma(2, x+y)` without cancellation.
        TetragammaDrop = "tetragamma_drop",
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
            Self::PowSlope => x.map2(y, |x, y| if x == 0.0 && y == 0.0 { 0.0 } else { y * x.powf(y - 1.0) }),
            Self::PowLog => x.map2(y, |x, y| if x == 0.0 && y >= 0.0 { 0.0 } else { x.powf(y) * x.ln() }),
            Self::Atan2 => x.atan2(y),
            Self::Hypot => x.hypot(y),
            Self::HypotCos => x / x.hypot(y),
            Self::Max => x.map2(y, max),
            Self::Min => x.map2(y, |x, y| -max(-x, -y)),
            Self::Copysign => x.map2(y, f64::copysign),
            Self::Logaddexp => x.map2(y, special::logaddexp),
            Self::Xlogy => x.map2(y, special::xlogy),
            Self::Xlog1py => x.map2(y, special::xlog1py),
            Self::Betaln => x.map2(y, special::betaln),
            Self::DigammaDrop => x.map2(y, |x, y| special::polygamma_drop(0, x, y)),
            Self::TrigammaDrop => x.map2(y, |x, y| special::polygamma_drop(1, x, y)),
            Self::TetragammaDrop => x.map2(y, |x, y| special::polygamma_drop(2, x, y)),
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
            Self::Pow if R::PLAIN => pow_slope(x, y),
            Self::Pow => x.binary(y, Self::PowSlope),
            Self::PowSlope => {
                // y (y-1) x^(y-2). Near y = 0, where x^(y-2) may overflow while y times it does not, from the value;
                // elsewhere from the next power, as the value may underflow while it over x does not.
                let zero = R::constant(0.0);
                let corner = x.equal(zero) & y.equal(zero);
                let near = (y * y).less(R::constant(1.0));
                let next = || R::branch(near, || z / x * (y - 1.0), || y * x.binary(y - 1.0, Self::PowSlope));
                R::branch(corner, || zero, next)
            }
            Self::PowLog => mixed_slope(x, y),
            Self::Atan2 => cosine(y, x) / x.hypot(y),
            Self::Hypot if R::PLAIN => x / z,
            Self::Hypot => x.binary(y, Self::HypotCos),
            Self::HypotCos => {
                // y^2/h^3, not (1 - z^2)/h.
                let sine = y.binary(x, Self::HypotCos);
                sine / x.hypot(y) * sine
            }
            Self::Max => share(x, y, Compare::Gt),
            Self::Min => share(x, y, Compare::Lt),
            Self::Copysign => x.sign() * R::constant(1.0).binary(y, Self::Copysign),
            Self::Logaddexp => (x - y).sigmoid(),
            Self::Xlogy => y.ln(),
            Self::Xlog1py => y.log1p(),
            Self::Betaln => x.binary(y, Self::DigammaDrop),
            Self::DigammaDrop => x.binary(y, Self::TrigammaDrop),
            Self::TrigammaDrop => x.binary(y, Self::TetragammaDrop),
            // The fourth derivative of betaln has the digits that are left.
            Self::TetragammaDrop => x.polygamma(3) - (x + y).polygamma(3),
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
            Self::Pow if R::PLAIN => times_log(x, y, z),
            Self::Pow => x.binary(y, Self::PowLog),
            Self::PowSlope => mixed_slope(x, y),
            Self::PowLog => times_log(x, y, z),
            Self::Atan2 => -(cosine(x, y) / x.hypot(y)),
            Self::Hypot if R::PLAIN => y / z,
            Self::Hypot => y.binary(x, Self::HypotCos),
            Self::HypotCos => -(z * y.binary(x, Self::HypotCos) / x.hypot(y)),
            Self::Max => share(y, x, Compare::Gt),
            Self::Min => share(y, x, Compare::Lt),
            Self::Copysign => R::constant(0.0),
            Self::Logaddexp => (y - x).sigmoid(),
            Self::Xlogy => x / y,
            Self::Xlog1py => x / (y + 1.0),
            Self::Betaln => y.binary(x, Self::DigammaDrop),
            Self::DigammaDrop => -(x + y).polygamma(1),
            Self::TrigammaDrop => -(x + y).polygamma(2),
            Self::TetragammaDrop => -(x + y).polygamma(3),
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
            Self::Atan2 if R::PLAIN => {
                let radius = x.hypot(y);
                (y / radius / radius, -(x / radius / radius))
            }
            Self::Add
            | Self::Sub
            | Self::Mul
            | Self::Pow
            | Self::PowSlope
            | Self::PowLog
            | Self::Atan2
            | Self::Hypot
            | Self::HypotCos
            | Self::Max
            | Self::Min
            | Self::Copysign
            | Self::Logaddexp
            | Self::Xlogy
            | Self::Xlog1py
            | Self::Betaln
            | Self::DigammaDrop
            | Self::TrigammaDrop
            | Self::TetragammaDrop
            | Self::Rem => (self.partial_x(x, y, z), self.partial_y(x, y, z)),
        }
    }

    /// As [`Unary::written_out`](super::Unary), for functions of two arguments.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[cfg(feature = "arrays")]
    pub(crate) fn written_out<R: Real>(self, x: R, y: R) -> Option<R> {
        match self {
            Self::PowSlope => Some(pow_slope(x, y)),
            Self::PowLog => Some(times_log(x, y, x.binary(y, Self::Pow))),
            Self::HypotCos => Some(x / x.hypot(y)),
            _ => None,
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
            | Self::PowSlope
            | Self::PowLog
            | Self::Atan2
            | Self::Hypot
            | Self::HypotCos
            | Self::Max
            | Self::Min
            | Self::Copysign
            | Self::Logaddexp
            | Self::Xlogy
            | Self::Xlog1py
            | Self::Betaln
            | Self::DigammaDrop
            | Self::TrigammaDrop
            | Self::TetragammaDrop => None,
        }
    }

    /// Points inside the domain and away from ties, for the rule tests.
    pub const fn samples(self) -> &'static [(f64, f64)] {
        match self {
            Self::Pow | Self::PowSlope | Self::PowLog | Self::Xlogy | Self::Xlog1py => {
                &[(0.6, 1.7), (2.2, 0.4), (1.3, 3.0)]
            }
            Self::Betaln | Self::DigammaDrop | Self::TrigammaDrop | Self::TetragammaDrop => {
                &[(0.6, 1.7), (2.2, 0.4), (1.3, 30.0)]
            }
            Self::Div | Self::Atan2 | Self::Hypot | Self::HypotCos => {
                &[(0.6, 1.7), (-2.2, 0.4), (1.3, -3.0), (-0.5, -0.8)]
            }
            Self::Rem => &[(5.3, 1.7), (-5.3, 1.7), (2.2, -0.9)],
            Self::Add | Self::Sub | Self::Mul | Self::Max | Self::Min | Self::Copysign | Self::Logaddexp => {
                &[(0.6, 1.7), (-2.2, 0.4), (1.3, -3.0), (-0.5, -0.8)]
            }
        }
    }
}

/// `y x^(y-1)`. 0 * 0^-1 would be NaN; elsewhere the formula is right at y = 0 too, and keeps the mixed second derivative.
#[cfg_attr(not(debug_assertions), inline(always))]
fn pow_slope<R: Real>(x: R, y: R) -> R {
    let zero = R::constant(0.0);
    let corner = x.equal(zero) & y.equal(zero);
    R::branch(corner, || zero, || y * x.binary(y - 1.0, Binary::Pow))
}

/// `z ln(x)`, and 0 where `x` is 0 and `y` is not negative.
#[cfg_attr(not(debug_assertions), inline(always))]
fn times_log<R: Real>(x: R, y: R, z: R) -> R {
    let zero = R::constant(0.0);
    let base = x.equal(zero) & y.compare(zero, Compare::Ge);
    R::branch(base, || zero, || z * x.ln())
}

/// `x^(y-1) (1 + y ln x)`, the derivative of `x^y` in `x` and `y`; not by the product `x^y ln x`, whose second derivative
/// takes `1/x^2` times what underflows.
#[cfg_attr(not(debug_assertions), inline(always))]
fn mixed_slope<R: Real>(x: R, y: R) -> R {
    let p = x.binary(y - 1.0, Binary::Pow);
    let at_zero = || p + y * Binary::Pow.partial_y(x, y - 1.0, p);
    R::branch(x.equal(R::constant(0.0)), at_zero, || p * (y * x.ln() + 1.0))
}

/// `x / hypot(x, y)`: over plain numbers written out, else one operation.
#[cfg_attr(not(debug_assertions), inline(always))]
fn cosine<R: Real>(x: R, y: R) -> R {
    if R::PLAIN { x / x.hypot(y) } else { x.binary(y, Binary::HypotCos) }
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
