//! Elementary functions on blocks of numbers.
//!
//! Every function is written for one number, without a branch: both sides of a condition are
//! computed and one is selected. The loop over the block around it is then turned into vector
//! instructions, of the width that [`dispatch`](crate::dispatch()) enables. Everything is
//! `#[inline(always)]`, because a function that is not inlined keeps the baseline's
//! instructions.
//!
//! Call a function by its name, `math::exp(x)`. Passed as a generic parameter or closure it
//! is not inlined if it is large, and then runs with the scalar instructions of the baseline.
//!
//! No function uses fused multiply-add, so that the bits are the same on every machine; where
//! rounding must be known, pairs of numbers compute it (`double.rs`). The integer part of an
//! argument is found by adding and subtracting `1.5 * 2^52`, which leaves it in the low bits
//! of the sum: the only 64-bit integer operations are shifts, additions and logic, which all
//! vector instruction sets have.
//!
//! The polynomials are our own fits; `tests/golden/fit.py` prints them and all other
//! constants. A method with a known author is cited in its file.

/// Writes the loop over a block around a function of one number.
macro_rules! lanes {
    ($( $(#[$attribute:meta])* $visible:vis $name:ident = $one:path; )*) => {$(
        $(#[$attribute])*
        #[inline(always)]
        $visible fn $name<const N: usize>(x: [f64; N]) -> [f64; N] {
            let mut y = [0.0; N];
            for (y, &x) in y.iter_mut().zip(&x) {
                *y = $one(x);
            }
            y
        }
    )*};
}

/// Writes the loop over two blocks around a function of two numbers.
macro_rules! lanes2 {
    ($( $(#[$attribute:meta])* $visible:vis $name:ident = $one:path; )*) => {$(
        $(#[$attribute])*
        #[inline(always)]
        $visible fn $name<const N: usize>(a: [f64; N], b: [f64; N]) -> [f64; N] {
            let mut y = [0.0; N];
            for (y, (&a, &b)) in y.iter_mut().zip(a.iter().zip(&b)) {
                *y = $one(a, b);
            }
            y
        }
    )*};
}

pub(crate) mod activation;
pub(crate) mod arc;
pub(crate) mod error_function;
pub(crate) mod exponential;
pub(crate) mod hyperbolic;
pub(crate) mod inverse_hyperbolic;
pub(crate) mod logarithm;
pub(crate) mod power;
pub(crate) mod root;
pub(crate) mod trigonometric;

pub use activation::{gelu_erf, gelu_tanh, gelu_tanh_slope, logaddexp, silu, xlogy};
pub use arc::{acos, asin, atan, atan2};
pub use error_function::{erf, erfc, erfinv};
pub use exponential::{exp, exp2, expm1};
pub use hyperbolic::{cosh, sech2, sigmoid, sinh, softplus, tanh};
pub use inverse_hyperbolic::{acosh, asinh, atanh};
pub use logarithm::{ln, log1p, log2, log10};
pub use power::pow;
pub use root::{cbrt, hypot, sqrt};
pub use trigonometric::{cos, sin, sin_cos, tan};

/// Adding this rounds to an integer, which is then in the low bits of the sum (in two's
/// complement); subtracting it again gives the integer as a number. For `|x| < 2^51`.
pub(crate) const SHIFT: f64 = 6_755_399_441_055_744.0;

/// The integer nearest to `x`, ties to even; for `|x| < 2^51`. NaN stays NaN.
#[inline(always)]
pub(crate) fn round(x: f64) -> f64 {
    (x + SHIFT) - SHIFT
}

/// `2^k` for an integer `k` from -1022 to 1023; anything else gives some number.
#[inline(always)]
pub(crate) fn power_of_two(k: f64) -> f64 {
    f64::from_bits(((k + SHIFT).to_bits() << 52).wrapping_add(1.0_f64.to_bits()))
}

/// `x * 2^k` for an integer `k` from -2044 to 2046, with at most one rounding besides that of
/// an overflow: in two steps, because `2^k` itself may be out of range.
#[inline(always)]
pub(crate) fn scale(x: f64, k: f64) -> f64 {
    let half = round(k * 0.5);
    x * power_of_two(half) * power_of_two(k - half)
}

/// `a` if the condition holds, else `b`.
///
/// Written with masks: the compiler may turn `if` into a branch around the computation of
/// `a` or `b`, and the loop over the block then stays scalar (it did so for the sine).
#[inline(always)]
pub(crate) fn select(condition: bool, a: f64, b: f64) -> f64 {
    let mask = 0_u64.wrapping_sub(u64::from(condition));
    f64::from_bits((a.to_bits() & mask) | (b.to_bits() & !mask))
}

/// `x`, but at least `low` and at most `high`; NaN stays NaN.
#[inline(always)]
pub(crate) fn clamp(x: f64, low: f64, high: f64) -> f64 {
    let x = select(x < low, low, x);
    select(x > high, high, x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_are_exact() {
        for k in -1022..=1023 {
            assert_eq!(power_of_two(f64::from(k)), 2f64.powi(k), "{k}");
        }
        for k in -1074..=1023 {
            assert_eq!(scale(1.0, f64::from(k)), 2f64.powi(k.max(-1022)) * 2f64.powi(k - k.max(-1022)), "{k}");
        }
        assert_eq!(scale(1.5, 1024.0), f64::INFINITY);
        assert_eq!(scale(0.75, 1024.0), 0.75 * 2f64.powi(1023) * 2.0);
        assert_eq!(scale(1.0, -1076.0), 0.0);
    }

    #[test]
    fn rounding_goes_to_the_nearest_even() {
        for (x, y) in [(0.5, 0.0), (1.5, 2.0), (-2.5, -2.0), (-3.7, -4.0), (1e15, 1e15)] {
            assert_eq!(round(x), y);
        }
        assert!(round(f64::NAN).is_nan());
    }

    #[test]
    fn clamping_keeps_nan() {
        assert_eq!(clamp(-3.0, -1.0, 2.0), -1.0);
        assert_eq!(clamp(f64::INFINITY, -1.0, 2.0), 2.0);
        assert_eq!(clamp(0.5, -1.0, 2.0), 0.5);
        assert!(clamp(f64::NAN, -1.0, 2.0).is_nan());
    }
}
