//! Elementwise functions of two arguments: everything about them.

use wengert_kernels::region as kernels;

use super::{Compare, Domain, Reads};
use crate::number::Float;
use crate::real::Real;
use wengert_kernels::special;

/// The list of these functions: what is made for every one of them is made from it. Hands it to the macro `$then`, behind
/// `$first`. An entry has its doc comment, its name, and in brackets how people call it, if they do: the method of numbers,
/// behind the bar that of tensors and its twin that gives an error instead of a panic, and behind the colon, for the
/// command line, its arguments and a line about it; then an example, arguments and the value there, and its names in other
/// libraries.
macro_rules! binary_list {
    ([$($then:tt)+] [$($first:tt)*]) => { $($then)+! { $($first)*
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
            Pow = "pow" [pow | pow, try_pow: (x, y) "x^y", (2.0, 3.0) => 8.0, as "power"],
            /// `y x^(y-1)`, the derivative of `x^y` in `x`; 0 where `y` is 0.
            PowSlope = "pow_slope",
            /// `x^y ln(x)`, the derivative of `x^y` in `y`; 0 where `x` is 0 and `y` is not negative.
            PowLog = "pow_log",
            /// Angle of the point with abscissa `y` and ordinate `x`, in `(-pi, pi]`.
            Atan2 = "atan2" [
                atan2 | atan2, try_atan2: (y, x) "angle of the point (x, y)",
                (1.0, -1.0) => 2.356194, as "arctan2"
            ],
            /// `sqrt(x^2 + y^2)` without overflow or underflow in between.
            Hypot = "hypot" [hypot | hypot, try_hypot: (x, y) "sqrt(x^2 + y^2)", (3.0, 4.0) => 5.0],
            /// `x / hypot(x, y)`, the cosine of the angle of the point `(x, y)`; its derivatives do not cancel.
            HypotCos = "hypot_cos",
            /// The larger operand; NaN if one is NaN; equal operands share the derivative.
            Max = "max" [
                max | maximum, try_maximum: (x, y) "the larger; equal arguments share the derivative",
                (2.0, 3.0) => 3.0, as "fmax"
            ],
            /// The smaller operand; NaN if one is NaN; equal operands share the derivative.
            Min = "min" [
                min | minimum, try_minimum: (x, y) "the smaller; equal arguments share the derivative",
                (2.0, 3.0) => 2.0, as "fmin"
            ],
            /// `|x|` with the sign of `y`; derivative 0 in `y`.
            Copysign = "copysign" [
                copysign | copysign, try_copysign: (x, y) "|x| with the sign of y",
                (2.5, -1.0) => -2.5
            ],
            /// `ln(e^x + e^y)` without overflow.
            Logaddexp = "logaddexp" [
                logaddexp | logaddexp, try_logaddexp: (x, y) "ln(e^x + e^y)",
                (0.0, 0.0) => 0.693147, as "log_add_exp"
            ],
            /// `x ln(y)`, and 0 where `x = 0` unless `y` is NaN.
            Xlogy = "xlogy" [
                xlogy | xlogy, try_xlogy: (x, y) "x * ln(y), and 0 where x is 0",
                (0.0, 0.0) => 0.0, as "xlog"
            ],
            /// `x ln(1+y)`, accurate for `y` near 0, and 0 where `x = 0` unless `y` is NaN.
            Xlog1py = "xlog1py" [
                xlog1py | xlog1py, try_xlog1py: (x, y) "x * ln(1 + y), and 0 where x is 0",
                (2.0, 0.5) => 0.81093, as "xlog_1py"
            ],
            /// `x y`, and 0 where `x` is 0 and `y` infinite: a term with the weight `x`, of which there is none if that is 0.
            Weighted = "weighted",
            /// Logarithm of the beta function, `lgamma(x) + lgamma(y) - lgamma(x+y)` without their cancellation; NaN below 0.
            Betaln = "betaln" [
                betaln | betaln, try_betaln: (x, y) "logarithm of the beta function",
                (2.0, 3.0) => -2.484907, as "lbeta" "ln_beta"
            ],
            /// `digamma(x) - digamma(x+y)` without cancellation, the derivative of `betaln` in `x`.
            DigammaDrop = "digamma_drop",
            /// `polygamma(1, x) - polygamma(1, x+y)` without cancellation.
            TrigammaDrop = "trigamma_drop",
            /// `polygamma(2, x) - polygamma(2, x+y)` without cancellation.
            TetragammaDrop = "tetragamma_drop",
            /// `x - y trunc(x/y)`, exact, with the sign of `x`; derivative `-trunc(x/y)` in `y`.
            Rem = "rem" [(x, y) "remainder of x / y with the sign of x, the same as x % y"],
        }
    } };
}
pub(crate) use binary_list;

binary_list! { [super::family] [] }
binary_list! { [super::facts::called] [] }

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
            Self::PowSlope => x.map2(y, |x, y| {
                let p = x.powf(y - 1.0);
                if y == 0.0 && p.is_infinite() { 0.0 } else { y * p }
            }),
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
            Self::Weighted => x.map2(y, |x, y| if x == 0.0 && y.is_infinite() { 0.0 } else { x * y }),
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
            Self::Mul | Self::Weighted => y,
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
            Self::Mul | Self::Weighted => x,
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
            | Self::Weighted
            | Self::Betaln
            | Self::DigammaDrop
            | Self::TrigammaDrop
            | Self::TetragammaDrop
            | Self::Rem => (self.partial_x(x, y, z), self.partial_y(x, y, z)),
        }
    }

    /// As [`Unary::written_out`](super::Unary), for functions of two arguments.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn written_out<R: Real>(self, x: R, y: R) -> Option<R> {
        match self {
            Self::PowSlope => Some(pow_slope(x, y)),
            Self::PowLog => Some(times_log(x, y, x.binary(y, Self::Pow))),
            Self::HypotCos => Some(x / x.hypot(y)),
            Self::Weighted => Some(R::branch(is_absent(x, y), || R::constant(0.0), || x * y)),
            _ => None,
        }
    }

    /// Whether the derivative in `y` is structurally zero.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub const fn is_flat_in_y(self) -> bool {
        matches!(self, Self::Copysign)
    }

    /// The sets of operands in which it is linear when the others are held.
    pub const fn linear_in(self) -> &'static [&'static [usize]] {
        match self {
            Self::Add | Self::Sub => &[&[0, 1]],
            Self::Mul => &[&[0], &[1]],
            Self::Div => &[&[0]],
            _ => &[],
        }
    }

    /// Which second derivatives are more than structurally zero: by `x` twice, by `x` and `y`, by `y` twice. They are zero
    /// where the function is linear, or linear on both sides of a kink.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub const fn is_nonlinear(self) -> [bool; 3] {
        match self {
            Self::Add | Self::Sub | Self::Max | Self::Min | Self::Copysign | Self::Rem => [false; 3],
            Self::Mul | Self::Weighted => [false, true, false],
            Self::Div | Self::Xlogy | Self::Xlog1py => [false, true, true],
            Self::Pow | Self::PowSlope | Self::PowLog | Self::Atan2 | Self::Hypot | Self::HypotCos => [true; 3],
            Self::Logaddexp | Self::Betaln | Self::DigammaDrop | Self::TrigammaDrop | Self::TetragammaDrop => [true; 3],
        }
    }

    /// What [`Binary::partial_x`] and [`Binary::partial_y`] read, over whichever carrier.
    pub const fn reads(self) -> [Reads; 2] {
        const XY: Reads = Reads::X.and(Reads::Y);
        const ALL: Reads = XY.and(Reads::RESULT);
        match self {
            Self::Add | Self::Sub => [Reads::NOTHING; 2],
            Self::Mul | Self::Weighted => [Reads::Y, Reads::X],
            Self::Div => [Reads::Y, Reads::Y.and(Reads::RESULT)],
            Self::Pow | Self::HypotCos => [XY, ALL],
            Self::PowSlope => [ALL, XY],
            Self::PowLog => [XY, ALL],
            Self::Hypot => [ALL; 2],
            Self::Copysign => [XY, Reads::NOTHING],
            Self::Xlogy | Self::Xlog1py => [Reads::Y, XY],
            Self::Rem => [Reads::NOTHING, ALL],
            Self::Atan2 | Self::Max | Self::Min | Self::Logaddexp => [XY; 2],
            Self::Betaln | Self::DigammaDrop | Self::TrigammaDrop | Self::TetragammaDrop => [XY; 2],
        }
    }

    /// How many times the value is rounded: not at all where it is exact, once where it is the number nearest to the exact
    /// one; `None` of a function that is right to a few units in the last place.
    pub const fn roundings(self) -> Option<u32> {
        match self {
            Self::Max | Self::Min | Self::Copysign | Self::Rem => Some(0),
            Self::Add | Self::Sub | Self::Mul | Self::Div | Self::Weighted => Some(1),
            _ => None,
        }
    }

    /// The same function of integers, which wrap around; `None` if it takes real numbers only. The remainder by 0 is an
    /// error.
    pub fn of_integers(self) -> Option<fn(i64, i64) -> i64> {
        match self {
            Self::Add => Some(i64::wrapping_add),
            Self::Sub => Some(i64::wrapping_sub),
            Self::Mul => Some(i64::wrapping_mul),
            Self::Max => Some(Ord::max),
            Self::Min => Some(Ord::min),
            Self::Rem => Some(i64::wrapping_rem),
            _ => None,
        }
    }

    /// The vector kernel that computes it; `None` if [`Binary::eval`] is called for every element.
    pub(crate) fn kernel(self) -> Option<kernels::Binary> {
        use kernels::Binary as To;
        Some(match self {
            Self::Add => To::Add,
            Self::Sub => To::Sub,
            Self::Mul => To::Mul,
            Self::Div => To::Div,
            Self::Pow => To::Pow,
            Self::Atan2 => To::Atan2,
            Self::Hypot => To::Hypot,
            Self::Max => To::Max,
            Self::Min => To::Min,
            Self::Copysign => To::Copysign,
            Self::Logaddexp => To::Logaddexp,
            Self::Xlogy => To::Xlogy,
            Self::Rem | Self::PowSlope | Self::PowLog | Self::HypotCos | Self::Xlog1py | Self::Betaln => return None,
            Self::DigammaDrop | Self::TrigammaDrop | Self::TetragammaDrop | Self::Weighted => return None,
        })
    }

    /// Where it is well behaved, and where it is not.
    pub const fn domain(self) -> Domain<2> {
        const POSITIVE: Option<[f64; 2]> = Some([1.0, 3.0]);
        let (inside, edges): (_, &[[f64; 2]]) = match self {
            Self::Div | Self::Rem => ([None, POSITIVE], &[[1.0, 0.0], [0.0, 0.0]]),
            Self::Pow | Self::PowSlope | Self::PowLog => {
                ([POSITIVE, None], &[[0.0, -1.0], [0.0, 0.5], [-1.0, 0.5], [-2.0, 3.0], [0.0, 0.0]])
            }
            Self::Atan2 | Self::Hypot | Self::HypotCos => ([None, POSITIVE], &[[0.0, 0.0]]),
            Self::Xlogy => ([None, POSITIVE], &[[0.0, 0.0], [1.0, 0.0], [1.0, -1.0]]),
            Self::Xlog1py => ([None, POSITIVE], &[[0.0, -1.0], [1.0, -1.0], [1.0, -2.0]]),
            Self::Betaln | Self::DigammaDrop | Self::TrigammaDrop | Self::TetragammaDrop => {
                ([POSITIVE; 2], &[[0.0, 1.0], [-1.0, 1.0]])
            }
            Self::Logaddexp => ([None; 2], &[[1e308, -1e308]]),
            Self::Add | Self::Sub | Self::Mul | Self::Weighted | Self::Max | Self::Min | Self::Copysign => {
                ([None; 2], &[])
            }
        };
        Domain { inside, edges }
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
            | Self::Weighted
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
            Self::Add
            | Self::Sub
            | Self::Mul
            | Self::Max
            | Self::Min
            | Self::Copysign
            | Self::Logaddexp
            | Self::Weighted => &[(0.6, 1.7), (-2.2, 0.4), (1.3, -3.0), (-0.5, -0.8)],
        }
    }
}

/// `y x^(y-1)`. At y = 0 it would be NaN where 1/x is infinite: at 0, and next to it. Elsewhere the formula is right at y = 0 too,
/// and keeps the mixed second derivative.
#[cfg_attr(not(debug_assertions), inline(always))]
fn pow_slope<R: Real>(x: R, y: R) -> R {
    let zero = R::constant(0.0);
    let p = x.binary(y - 1.0, Binary::Pow);
    let corner = y.equal(zero) & p.abs().equal(R::constant(f64::INFINITY));
    R::branch(corner, || zero, || y * p)
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

/// Whether a term `y` with the weight `x` is left out.
#[cfg_attr(not(debug_assertions), inline(always))]
fn is_absent<R: Real>(x: R, y: R) -> R::Mask {
    x.equal(R::constant(0.0)) & y.abs().equal(R::constant(f64::INFINITY))
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
