//! `exp`, `exp2`, `expm1`, and the reduction that all functions built on `e^x` share.
//!
//! `x = k ln 2 + r` with `|r| <= ln 2 / 2`, so `e^x = 2^k e^r`. `ln 2` is taken in two parts,
//! of which `k` times the first is exact (Cody and Waite, "Software Manual for the Elementary
//! Functions", 1980). What is lost in the subtraction is kept and enters the polynomial's
//! last sum, so `1 + r + ...` is nearly rounded correctly.

use super::{clamp, power_of_two, round, scale, select};
use crate::double::{fast_two_sum, two_product};
use crate::polynomial::degree10;
use std::f64::consts::{LN_2, LOG2_E};

/// `ln 2` to 32 bits, so that its product with an integer of 21 bits is exact.
const LN_2_HIGH: f64 = 0.6931471803691238;
/// `ln 2 - LN_2_HIGH`.
const LN_2_LOW: f64 = 1.9082149292705877e-10;
/// `ln 2` minus the number nearest to it.
const LN_2_REST: f64 = 2.3190468138462996e-17;

/// `(e^r - 1 - r) / r^2` on `|r| <= 0.34662`, error 2.5e-18.
const EXP: [f64; 11] = [
    0.5,
    0.1666666666666667,
    0.04166666666666667,
    0.008333333333326132,
    0.0013888888888883746,
    0.00019841269874827454,
    2.4801587325552618e-05,
    2.755725539154403e-06,
    2.7557273636924405e-07,
    2.5105220609870554e-08,
    2.0914689542549555e-09,
];

/// `e^x = 2^k (1 + r + t)` with `|r| < 0.3466` and `|t| < 0.07`.
#[derive(Clone, Copy)]
pub(super) struct Reduced {
    /// An integer.
    pub(super) k: f64,
    pub(super) r: f64,
    /// The rest; its error is about 2^-56.
    pub(super) t: f64,
}

/// Reduces `e^(x + low)` for `|x| < 2^20` and `|low|` below a unit in the last place of `x`.
#[inline(always)]
pub(super) fn reduce(x: f64, low: f64) -> Reduced {
    let k = round(x * LOG2_E);
    let high = x - k * LN_2_HIGH;
    let low = k * LN_2_LOW - low;
    let r = high - low;
    let lost = (high - r) - low;
    let t = r * r * degree10(r, &EXP) + (lost + lost * r);
    Reduced { k, r, t }
}

impl Reduced {
    /// `e^x`; overflows and underflows as it should, for `k` within the range of [`scale`].
    #[inline(always)]
    pub(super) fn exp(self) -> f64 {
        let head = fast_two_sum(1.0, self.r);
        scale(head.hi + (head.lo + self.t), self.k)
    }
}

/// `e^x` for one number.
///
/// Below -746 the result rounds to zero and above 710 it is infinite; the clamp keeps `k`
/// within the range of [`scale`].
#[inline(always)]
pub(crate) fn exp_one(x: f64) -> f64 {
    reduce(clamp(x, -746.0, 710.0), 0.0).exp()
}

/// `2^x = 2^k e^((x - k) ln 2)`, where `x - k` is exact.
#[inline(always)]
pub(crate) fn exp2_one(x: f64) -> f64 {
    let x = clamp(x, -1076.0, 1025.0);
    let k = round(x);
    let part = x - k;
    let power = two_product(part, LN_2);
    let r = power.hi;
    let lost = power.lo + part * LN_2_REST;
    let t = r * r * degree10(r, &EXP) + (lost + lost * r);
    Reduced { k, r, t }.exp()
}

/// `e^x - 1 = 2^k ((1 - 2^-k) + r + t)`.
///
/// The sum of the first two is split without error, so nothing cancels that is not exact.
/// Below -40 the result rounds to -1. The sign of a zero is that of the argument.
#[inline(always)]
pub(crate) fn expm1_one(x: f64) -> f64 {
    let Reduced { k, r, t } = reduce(clamp(x, -40.0, 710.0), 0.0);
    let small = select(k > 60.0, 60.0, k);
    let head = fast_two_sum(1.0 - power_of_two(-small), r);
    scale(head.hi + (head.lo + t), k).copysign(x)
}

lanes! {
    /// `e^x`.
    ///
    /// Infinite above 709.78, zero below -745.13, subnormal from -708.4 down; `e^NaN` is NaN.
    ///
    /// ```
    /// assert_eq!(wengert_kernels::math::exp([0.0, 1.0]), [1.0, std::f64::consts::E]);
    /// ```
    pub exp = exp_one;

    /// `2^x`; exact for integers.
    ///
    /// ```
    /// assert_eq!(wengert_kernels::math::exp2([-1.0, 10.0]), [0.5, 1024.0]);
    /// ```
    pub exp2 = exp2_one;

    /// `e^x - 1`, accurate near zero, where it is about `x`; keeps the sign of a zero.
    ///
    /// ```
    /// assert_eq!(wengert_kernels::math::expm1([1e-20, -100.0]), [1e-20, -1.0]);
    /// ```
    pub expm1 = expm1_one;
}
