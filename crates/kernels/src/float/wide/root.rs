//! `cbrt` and `hypot`.

use super::pick;
use crate::math::logarithm::split;
use crate::math::{power_of_two, round, select};
use crate::polynomial::degree3;

/// `cbrt(m)` for `m` from `sqrt(1/2)` to `sqrt(2)`, error 9.2e-5.
const CBRT: [f64; 4] = [0.49515345405776395, 0.7317953965293592, -0.2827043645567611, 0.05581122472051606];
/// The cube root of two.
const CBRT_2: f64 = 1.2599210498948732;

/// `x = 2^(3n + j) m` with `j` from -1 to 1, so `cbrt(x) = 2^n cbrt(2^j) cbrt(m)`.
///
/// A polynomial gives 13 bits of the root of `m`, a step of Halley's method 39.
#[inline(always)]
pub(crate) fn cbrt(x: f32) -> f32 {
    let (k, m) = split(f64::from(x.abs()));
    let n = round(k * (1.0 / 3.0));
    let j = k - 3.0 * n;
    let factor = select(j > 0.5, CBRT_2, 1.0);
    let factor = select(j < -0.5, 1.0 / CBRT_2, factor);
    let start = degree3(m, &CBRT);
    let cube = start * start * start;
    let root = start * ((cube + 2.0 * m) / (2.0 * cube + m));
    let y = ((power_of_two(n) * (factor * root)) as f32).copysign(x);
    // Zeros, infinities and NaN are their own cube roots.
    pick((x == 0.0) | x.is_nan() | (x.abs() == f32::INFINITY), x, y)
}

/// The squares neither overflow nor underflow.
#[inline(always)]
pub(crate) fn hypot(x: f32, y: f32) -> f32 {
    let (a, b) = (f64::from(x), f64::from(y));
    let root = (a * a + b * b).sqrt() as f32;
    let infinite = (x.abs() == f32::INFINITY) | (y.abs() == f32::INFINITY);
    pick(infinite, f32::INFINITY, root)
}
