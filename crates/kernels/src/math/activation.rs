//! `silu`, the two forms of `gelu`, the slope of one, `logaddexp`, `xlogy`.

use super::error_function::{erf_rest, scaled_erfc};
use super::exponential::{Reduced, reduce};
use super::logarithm::{ln_one, log1p_pair};
use super::{clamp, power_of_two, scale, select};
use crate::double::{Double, fast_two_sum, square, two_product, two_sum};
use std::f64::consts::FRAC_1_SQRT_2;

/// `2 sqrt(2/pi)`.
const SLOPE: Double = Double { hi: 1.5957691216057308, lo: -9.96930880911092e-17 };
/// `0.044715`.
const CUBIC: Double = Double { hi: 0.044715, lo: 2.1960211427085595e-18 };
/// `1 / sqrt(2)` minus the number nearest to it.
const FRAC_1_SQRT_2_REST: f64 = -4.833646656726457e-17;

/// What a quotient by `1 + e^-w` needs: the power of two `k` and the pair `e` of `e^-|w|`, and `1 + e^-|w|`.
#[derive(Clone, Copy)]
struct Logistic {
    right: bool,
    k: f64,
    e: Double,
    denominator: Double,
}

impl Logistic {
    /// For the pair `w` and `low`, which is small beside `w`.
    #[inline(always)]
    fn new(w: f64, low: f64) -> Self {
        let right = w >= 0.0;
        let low = select(right, -low, low);
        let Reduced { k, r, t } = reduce(clamp(-w.abs(), -1400.0, 0.0), low);
        let head = fast_two_sum(1.0, r);
        let e = fast_two_sum(head.hi, head.lo + t);
        let factor = power_of_two(select(k < -64.0, -64.0, k));
        let head = fast_two_sum(1.0, factor * e.hi);
        Logistic { right, k, e, denominator: Double { hi: head.hi, lo: head.lo + factor * e.lo } }
    }

    /// `x / (1 + e^-w)`; `|x|` may be anything down to 2^-900.
    ///
    /// With `e^-|w|`, the quotient is `x / (1 + e)` on the right and `x e / (1 + e)` on the left, and the power of two in `e`
    /// is multiplied last.
    #[inline(always)]
    fn times(self, x: f64) -> f64 {
        let Logistic { right, k, e, denominator } = self;
        let left = two_product(x, e.hi);
        let left = Double { hi: left.hi, lo: left.lo + x * e.lo };
        let numerator = Double { hi: select(right, x, left.hi), lo: select(right, 0.0, left.lo) };
        scale(numerator.quotient(denominator), select(right, 0.0, k))
    }

    /// `1 / (1 + e^w)`, in working precision.
    #[inline(always)]
    fn other(self) -> f64 {
        select(self.right, scale(self.e.hi, self.k), 1.0) / self.denominator.hi
    }
}

/// What both ends of an activation are: `x` on the right, zero with the sign of `x` on the left,
/// half of `x` around zero, where the products of pairs would underflow.
#[inline(always)]
fn with_ends(x: f64, bound: f64, y: f64) -> f64 {
    let y = select(x > bound, x, y);
    let y = select(x < -bound, -0.0, y);
    select(x.abs() < 1e-20, 0.5 * x, y)
}

/// `x / (1 + e^-x)`.
#[inline(always)]
pub(crate) fn silu_one(x: f64) -> f64 {
    let inside = clamp(x, -800.0, 800.0);
    with_ends(x, 800.0, Logistic::new(inside, 0.0).times(inside))
}

/// `2 sqrt(2/pi) (x + 0.044715 x^3)`.
#[inline(always)]
fn gelu_argument(x: f64) -> Double {
    let cubic = CUBIC.times(square(x));
    let head = two_sum(1.0, cubic.hi);
    let factor = fast_two_sum(head.hi, head.lo + cubic.lo);
    let linear = Double { hi: x, lo: 0.0 }.times(SLOPE);
    linear.times(factor)
}

/// `x / (1 + e^-w)` with `w = 2 sqrt(2/pi) (x + 0.044715 x^3)`, which is a pair: its size magnifies its rounding in the tail. And
/// its derivative, `s (1 + x w' t)` with `s = 1 / (1 + e^-w)`, `t = 1 / (1 + e^w)` and
/// `w' = 2 sqrt(2/pi) (1 + 3 0.044715 x^2)`.
///
/// Each alone is this too: what it does not need is not computed.
#[inline(always)]
pub(crate) fn gelu_tanh_with_slope_one(x: f64) -> (f64, f64) {
    let inside = clamp(x, -25.0, 25.0);
    let w = gelu_argument(inside);
    let logistic = Logistic::new(w.hi, w.lo);
    let slope = SLOPE.hi * (1.0 + 3.0 * CUBIC.hi * (inside * inside));
    let y = logistic.times(1.0 + inside * slope * logistic.other());
    let y = select(x > 25.0, 1.0, y);
    (with_ends(x, 25.0, logistic.times(inside)), select(x < -25.0, -0.0, y))
}

/// The first of [`gelu_tanh_with_slope_one`].
#[inline(always)]
pub(crate) fn gelu_tanh_one(x: f64) -> f64 {
    gelu_tanh_with_slope_one(x).0
}

/// The second of [`gelu_tanh_with_slope_one`].
#[inline(always)]
pub(crate) fn gelu_tanh_slope_one(x: f64) -> f64 {
    gelu_tanh_with_slope_one(x).1
}

/// `x/2 erfc(-x / sqrt 2)`.
///
/// The complement is made of `e^(-x^2/2)`, whose argument is an exact pair.
#[inline(always)]
pub(crate) fn gelu_erf_one(x: f64) -> f64 {
    let inside = clamp(x, -40.0, 40.0);
    let a = inside.abs();
    let quotient = two_product(a, FRAC_1_SQRT_2);
    let low = quotient.lo + a * FRAC_1_SQRT_2_REST;
    let whole = square(a);
    let half = Double { hi: 0.5 * whole.hi, lo: 0.5 * whole.lo };
    let (k, tail) = scaled_erfc(quotient.hi, low, half);
    // Left of the middle x/2 erfc, right of it x minus that; in the middle x/2 + x/2 erf.
    let right = 0.5 * tail.sum() * power_of_two(select(k < -200.0, -200.0, k));
    let body = two_sum(1.0, -right);
    let large =
        select(inside < 0.0, scale(0.5 * (inside * tail.hi + inside * tail.lo), k), inside * (body.hi + body.lo));
    let side = 1.0_f64.copysign(inside);
    let head = fast_two_sum(1.0, side * quotient.hi);
    let small = 0.5 * inside * (head.hi + (head.lo + side * (erf_rest(quotient.hi) + low)));
    let y = select(quotient.hi > 0.75, large, small);
    with_ends(x, 40.0, y)
}

/// `max + ln(1 + e^(min - max))`; the error is relative to the larger of `|max|` and the result.
#[inline(always)]
pub(crate) fn logaddexp_one(x: f64, y: f64) -> f64 {
    let high = select(x > y, x, y);
    let low = select(x > y, y, x);
    let difference = two_sum(low, -high);
    // Far away only the sign matters, and a difference that overflowed has no low half.
    let far = (difference.hi <= -800.0) | difference.hi.is_nan();
    let Reduced { k, r, t } = reduce(select(far, -800.0, difference.hi), select(far, 0.0, difference.lo));
    let head = fast_two_sum(1.0, r);
    let e = fast_two_sum(head.hi, head.lo + t);
    let sum = high + log1p_pair(scale(e.hi, k), scale(e.lo, k));
    // The difference of equal infinities is NaN.
    let sum = select(high.abs() == f64::INFINITY, high, sum);
    select(x.is_nan() | y.is_nan(), f64::NAN, sum)
}

/// `x ln(y)`, and zero where `x` is, unless `y` is NaN.
#[inline(always)]
pub(crate) fn xlogy_one(x: f64, y: f64) -> f64 {
    let product = x * ln_one(y);
    select((x == 0.0) & !y.is_nan(), 0.0, product)
}

lanes! {
    /// `x / (1 + e^-x)` (Elfwing, Uchibe and Doya, "Sigmoid-weighted linear units", 2018); -0 at
    /// minus infinity.
    ///
    /// ```
    /// assert_eq!(wengert_kernels::math::silu([0.0, 800.0, -800.0]), [0.0, 800.0, -0.0]);
    /// ```
    pub silu = silu_one;

    /// `x/2 erfc(-x / sqrt 2)` (Hendrycks and Gimpel, "Gaussian error linear units", 2016); -0
    /// at minus infinity.
    ///
    /// ```
    /// assert_eq!(wengert_kernels::math::gelu_erf([0.0, 40.0, -40.0]), [0.0, 40.0, -0.0]);
    /// ```
    pub gelu_erf = gelu_erf_one;

    /// `x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))`, the approximation of the same paper; -0
    /// at minus infinity.
    ///
    /// ```
    /// assert_eq!(wengert_kernels::math::gelu_tanh([0.0, 40.0, -40.0]), [0.0, 40.0, -0.0]);
    /// ```
    pub gelu_tanh = gelu_tanh_one;

    /// The derivative of [`gelu_tanh`], from 0 on the left over a little below it to 1 on the right. Around its zero near
    /// -0.75 the error is relative to 1/4, the logistic function there.
    ///
    /// ```
    /// assert_eq!(wengert_kernels::math::gelu_tanh_slope([0.0, 40.0, -40.0]), [0.5, 1.0, -0.0]);
    /// ```
    pub gelu_tanh_slope = gelu_tanh_slope_one;
}

lanes2! {
    /// `ln(e^x + e^y)` without overflow. Where the result cancels to nearly zero, the error is
    /// relative to the larger argument.
    ///
    /// ```
    /// let minus = f64::NEG_INFINITY;
    /// assert_eq!(wengert_kernels::math::logaddexp([minus, 1e300], [minus, 0.0]), [minus, 1e300]);
    /// ```
    pub logaddexp = logaddexp_one;

    /// `x ln(y)`, and zero where `x` is zero, unless `y` is NaN.
    ///
    /// ```
    /// assert_eq!(wengert_kernels::math::xlogy([0.0, 2.0], [0.0, 1.0]), [0.0, 0.0]);
    /// ```
    pub xlogy = xlogy_one;
}
