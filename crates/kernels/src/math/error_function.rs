//! `erf`, `erfc`, and the inverse of `erf`.
//!
//! Up to three quarters, `erf(x)` is `x` times a polynomial in `x^2`. Above,
//! `erfc(x) = e^(-x^2) G(t) / (x + 4)` with `t = (x - 4)/(x + 4)`: this variable, from
//! Schonfelder ("Chebyshev expansions for the error and related functions", 1978), makes one
//! polynomial do up to the end of the range at 27.3. The square is a pair, because a unit in
//! its last place would be magnified up to 700 times by the exponential.
//!
//! The inverse begins with a polynomial in `w = -ln(1 - x^2)`, or in the root of `w` (M. Giles, *Approximating the erfinv
//! function*, 2012), and takes one step of Halley's method, which triples the digits.

use super::exponential::{Reduced, exp_one, reduce};
use super::logarithm::ln_one;
use super::{scale, select};
use crate::double::{Double, fast_two_sum, square, two_sum};
use crate::polynomial::{degree3, degree10, degree19};

/// `erf(x) / x - 1` in `x^2 <= 0.5625`, error 2.6e-17.
const ERF: [f64; 11] = [
    0.1283791670955126,
    -0.37612638903183715,
    0.11283791670952596,
    -0.026866170644428485,
    0.005223977615420539,
    -0.0008548326188759752,
    0.00012055289567541706,
    -1.4924196305569617e-05,
    1.643068417974155e-06,
    -1.5940066854661717e-07,
    1.1472499701094691e-08,
];

/// `erfc(x) e^(x^2) (x + 4)` in `t` for `x` from 0.75 to 27.3, error 9.5e-17:
/// the coefficient of degree zero.
const ERFC_CENTRE: f64 = 1.095995661000491;
/// The other coefficients, from degree one on.
const ERFC: [f64; 20] = [
    -0.976548729080882,
    0.7732087022652366,
    -0.5408538313132331,
    0.33085158787804325,
    -0.1740109372400035,
    0.07638151490846472,
    -0.026370053339209755,
    0.006112055667609221,
    -0.00028095887559569224,
    -0.0004550527834947949,
    0.0001768128746107766,
    -3.634650415249022e-06,
    -1.88610852059258e-05,
    4.692672761184935e-06,
    1.4246385833640156e-06,
    -8.425137250330523e-07,
    -7.613333836750051e-08,
    1.1941217804803672e-07,
    1.313846306461801e-09,
    -1.2108229241330187e-08,
];

/// The derivative of the same in `t`, error 0.043: it only multiplies what `t` lost to rounding.
const ERFC_SLOPE: [f64; 4] = [-0.9474553136003097, 1.5594080049673793, -2.0886586709168333, 1.4505748549015263];

/// `erfinv(a) / a` in `w - 2.5` with `w = -ln(1 - a^2)` up to 5, error 4.0e-9.
const INVERSE: [f64; 11] = [
    1.501409351110792,
    0.24664028942745514,
    -0.004177320040540122,
    -0.0012527485028416628,
    0.00021825772396383332,
    -4.9596917942159365e-06,
    -3.4234142742220455e-06,
    4.6541741050231655e-07,
    1.598430613390006e-08,
    -8.739010702830122e-09,
    4.671932509038665e-10,
];

/// `erfinv(a)` in `sqrt(w) - INVERSE_CENTRE` for `w` from 5 on to that of the last number before 1, error 7.2e-8.
const INVERSE_TAIL: [f64; 11] = [
    4.009444608794248,
    1.009849545291505,
    0.00086928841793134,
    -0.0006795534622289111,
    0.00023304156143683763,
    -6.223010764668787e-05,
    1.5943434347474243e-05,
    -5.666275265995331e-06,
    1.0310582806583286e-06,
    4.982358605206462e-07,
    -1.843073483446507e-07,
];
const INVERSE_CENTRE: f64 = 4.168033988749895;

/// `erf(x) - x` for `|x| <= 3/4`.
#[inline(always)]
pub(super) fn erf_rest(x: f64) -> f64 {
    x * degree10(x * x, &ERF)
}

/// `erf(x)` for `|x| <= 3/4`.
#[inline(always)]
fn erf_small(x: f64) -> f64 {
    x + erf_rest(x)
}

/// `erfc(a + low)` for `a >= 3/4`, as a pair times `2^k`; `z` is the square of `a + low`.
///
/// The square is an argument, because the caller may know it better than `a`.
#[inline(always)]
pub(super) fn scaled_erfc(a: f64, low: f64, z: Double) -> (f64, Double) {
    let Reduced { k, r, t } = reduce(-z.hi, -z.lo);
    let head = fast_two_sum(1.0, r);
    let exponential = Double { hi: head.hi, lo: head.lo + t };
    // The function is steep in t, which is why t is a pair.
    let divisor = two_sum(a, 4.0);
    let divisor = Double { hi: divisor.hi, lo: divisor.lo + low };
    let difference = two_sum(a, -4.0);
    let t = Double { hi: difference.hi, lo: difference.lo + low }.over(divisor);
    let g = fast_two_sum(ERFC_CENTRE, t.hi * degree19(t.hi, &ERFC));
    let g = Double { hi: g.hi, lo: g.lo + t.lo * degree3(t.hi, &ERFC_SLOPE) };
    (k, exponential.times(g).over(divisor))
}

/// `erfc(a)` for `a >= 3/4`; zero from 27.3 on.
#[inline(always)]
fn erfc_large(a: f64) -> f64 {
    let a = select(a > 27.4, 27.4, a);
    let (k, pair) = scaled_erfc(a, 0.0, square(a));
    scale(pair.sum(), k)
}

#[inline(always)]
pub(crate) fn erf_one(x: f64) -> f64 {
    let a = x.abs();
    let large = (1.0 - erfc_large(a)).copysign(x);
    select(a > 0.75, large, erf_small(x))
}

/// `1 - erf(x)` in the middle, `2 - erfc(-x)` on the left.
#[inline(always)]
pub(crate) fn erfc_one(x: f64) -> f64 {
    let a = x.abs();
    let right = erfc_large(a);
    let large = select(x < 0.0, 2.0 - right, right);
    select(a > 0.75, large, 1.0 - erf_small(x))
}

/// Half the root of pi: what `e^(-y^2)` is of the derivative of `erf`.
const ROOT_PI_HALF: f64 = 0.886226925452758;

/// The equation is `erf(y) = a` up to `y = 3/4`, and `erfc(y) = 1 - a` above, where the difference is exact and `erfc` keeps its
/// relative accuracy.
#[inline(always)]
pub(crate) fn erfinv_one(x: f64) -> f64 {
    let a = x.abs();
    let rest = 1.0 - a;
    // NaN beyond one.
    let w = -ln_one(rest * (1.0 + a));
    let near = a * degree10(w - 2.5, &INVERSE);
    let far = degree10(w.sqrt() - INVERSE_CENTRE, &INVERSE_TAIL);
    let y = select(w > 5.0, far, near);
    let residual = select(y > 0.75, rest - erfc_large(y), erf_small(y) - a);
    let newton = residual * (ROOT_PI_HALF * exp_one(y * y));
    // The second derivative is -2y times the first: Halley's divisor is 1 + y newton.
    let y = y - newton / (1.0 + y * newton);
    select(a == 1.0, f64::INFINITY, y).copysign(x)
}

lanes! {
    /// Error function, `2/sqrt(pi)` times the integral of `e^(-t^2)` from zero to `x`; keeps
    /// the sign of a zero.
    ///
    /// ```
    /// assert_eq!(wengert_kernels::math::erf([0.0, 7.0, -7.0]), [0.0, 1.0, -1.0]);
    /// ```
    pub erf = erf_one;

    /// Complementary error function, `1 - erf(x)`, accurate on the right, where it decays
    /// like `e^(-x^2)` down to the subnormal numbers at 27.2.
    ///
    /// ```
    /// assert_eq!(wengert_kernels::math::erfc([0.0, 28.0, -7.0]), [1.0, 0.0, 2.0]);
    /// ```
    pub erfc = erfc_one;

    /// Inverse of [`erf`]; infinite at one and minus one, NaN beyond; keeps the sign of a zero.
    ///
    /// ```
    /// assert_eq!(wengert_kernels::math::erfinv([0.0, 1.0, -1.0]), [0.0, f64::INFINITY, f64::NEG_INFINITY]);
    /// ```
    pub erfinv = erfinv_one;
}
