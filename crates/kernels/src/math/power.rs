//! `pow`.
//!
//! `x^y = e^(y ln x)`. The product may be as large as 745, which magnifies a relative error
//! of the logarithm as much, so the logarithm and the product are pairs.

use super::exponential::reduce;
use super::logarithm::ln_pair;
use super::{clamp, select};
use crate::double::two_product;

/// `|x|^y` for finite positive `|x|` and any `y` but NaN.
///
/// Beyond 2^66 `y` decides nothing any more: the power of every number but one overflows or
/// underflows.
#[inline(always)]
fn magnitude(a: f64, y: f64) -> f64 {
    let y = clamp(y, -7.4e19, 7.4e19);
    let log = ln_pair(a);
    let product = two_product(y, log.hi);
    let low = product.lo + y * log.lo;
    let inside = product.hi.abs() < 760.0;
    let low = select(inside, low, 0.0);
    reduce(clamp(product.hi, -760.0, 760.0), low).exp()
}

/// Whether a number that is not negative is an integer; infinity is.
#[inline(always)]
fn is_integer(a: f64) -> bool {
    const LIMIT: f64 = 4_503_599_627_370_496.0;
    ((a + LIMIT) - LIMIT == a) | (a >= LIMIT)
}

/// `x^y` for one pair of numbers.
#[inline(always)]
pub(crate) fn pow_one(x: f64, y: f64) -> f64 {
    with_edges(x, y, magnitude(x.abs(), y))
}

/// `x^y`, where `magnitude` is `|x|^y` if `|x|` is positive and finite and `y` not NaN.
///
/// The cases are those of IEEE 754-2019, section 9.2.1.
#[inline(always)]
pub(crate) fn with_edges(x: f64, y: f64, magnitude: f64) -> f64 {
    let a = x.abs();
    let integer = is_integer(y.abs());
    let odd = integer & !is_integer(0.5 * y.abs());
    let negative = x.is_sign_negative();
    // Zero and infinity give zero or infinity, by the sign of y.
    let extreme = (a == 0.0) | (a == f64::INFINITY);
    let grows = (a > 1.0) == (y > 0.0);
    let size = select(grows, f64::INFINITY, 0.0);
    let size = select(extreme, size, magnitude);
    let size = select(negative & odd, -size, size);
    // A negative number has powers with integer exponents only.
    let size = select((x < 0.0) & !integer & !extreme, f64::NAN, size);
    let size = select(x.is_nan() | y.is_nan(), f64::NAN, size);
    select((x == 1.0) | (y == 0.0), 1.0, size)
}

lanes2! {
    /// `x^y`.
    ///
    /// As in IEEE 754-2019, section 9.2.1: one to any power and anything to the power zero
    /// are one, even with NaN; a negative number to a power that is no integer is NaN; zero
    /// and infinity give zero or infinity, negative for an odd power of a negative one.
    ///
    /// ```
    /// let y = wengert_kernels::math::pow([2.0, -2.0, 9.0], [10.0, 3.0, 0.5]);
    /// assert_eq!(y, [1024.0, -8.0, 3.0]);
    /// ```
    pub pow = pow_one;
}
