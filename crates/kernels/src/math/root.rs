//! `sqrt`, `cbrt`, `hypot`.

use super::logarithm::split_any;
use super::{power_of_two, round, scale, select};
use crate::double::upper_half;
use crate::polynomial::degree3;

/// `cbrt(m)` for `m` from `sqrt(1/2)` to `sqrt(2)`, error 9.2e-5.
const CBRT: [f64; 4] = [0.49515345405776395, 0.7317953965293592, -0.2827043645567611, 0.05581122472051606];
/// The cube root of two.
const CBRT_2: f64 = 1.2599210498948732;

/// Rounded correctly, by the hardware.
#[inline(always)]
pub(crate) fn sqrt_one(x: f64) -> f64 {
    x.sqrt()
}

/// `x = 2^(3n + j) m` with `j` from -1 to 1, so `cbrt(x) = 2^n cbrt(2^j m)`.
///
/// A polynomial gives 13 bits, a step of Halley's method about 39. These are cut to 26, so
/// that their square is exact, and a step of Newton's method gives the rest as a correction:
/// the only rounding of the size of the result is the last.
#[inline(always)]
pub(crate) fn cbrt_one(x: f64) -> f64 {
    let (k, m) = split_any(x.abs());
    let n = round(k * (1.0 / 3.0));
    let j = k - 3.0 * n;
    let m = m * power_of_two(j);
    let factor = select(j > 0.5, CBRT_2, 1.0);
    let factor = select(j < -0.5, 1.0 / CBRT_2, factor);
    // 2^j m is at most sqrt(8); the polynomial takes m itself.
    let start = factor * degree3(m * power_of_two(-j), &CBRT);
    let cube = start * start * start;
    let better = start * ((cube + 2.0 * m) / (2.0 * cube + m));
    let t = upper_half(better);
    let quotient = m / (t * t);
    let root = t + t * ((quotient - t) / (t + t + quotient));
    let y = scale(root, n).copysign(x);
    // Zeros, infinities and NaN are their own cube roots.
    select((x == 0.0) | x.is_nan() | (x.abs() == f64::INFINITY), x, y)
}

/// `sqrt(a^2 + b^2)`, both scaled by a power of two where a square would leave the range.
#[inline(always)]
pub(crate) fn hypot_one(a: f64, b: f64) -> f64 {
    let (a, b) = (a.abs(), b.abs());
    let large = select(a > b, a, b);
    let down = select(large > 1e150, DOWN, 1.0);
    let factor = select(large < 1e-140, UP, down);
    let (p, q) = (a * factor, b * factor);
    let back = select(large > 1e150, UP, 1.0);
    let back = select(large < 1e-140, DOWN, back);
    let y = (p * p + q * q).sqrt() * back;
    select((a == f64::INFINITY) | (b == f64::INFINITY), f64::INFINITY, y)
}

/// `2^600`.
const UP: f64 = f64::from_bits(0x6570_0000_0000_0000);
/// `2^-600`.
const DOWN: f64 = f64::from_bits(0x1a70_0000_0000_0000);

lanes! {
    /// Square root, rounded correctly; NaN below zero, keeps the sign of a zero.
    ///
    /// ```
    /// assert_eq!(wengert_kernels::math::sqrt([9.0, 0.25]), [3.0, 0.5]);
    /// ```
    pub sqrt = sqrt_one;

    /// Cube root, also of negative numbers; keeps the sign of a zero.
    ///
    /// ```
    /// assert_eq!(wengert_kernels::math::cbrt([27.0, -0.125]), [3.0, -0.5]);
    /// ```
    pub cbrt = cbrt_one;
}

lanes2! {
    /// `sqrt(a^2 + b^2)`, which neither overflows nor underflows on the way.
    ///
    /// Infinite if one of the two is, even if the other is NaN.
    ///
    /// ```
    /// assert_eq!(wengert_kernels::math::hypot([3.0, 3e300], [4.0, 4e300]), [5.0, 5e300]);
    /// ```
    pub hypot = hypot_one;
}
