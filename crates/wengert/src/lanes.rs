//! [`Lanes`]: several points at once, one per SIMD lane.

use std::cmp::Ordering;
use std::ops::{BitAnd, BitOr, Not};
use std::panic::Location;

use wengert_kernels::math;

use crate::number::Float;
use crate::ops::{Binary, Compare, Unary};
use crate::real::{Carrier, Mask, Real, real_operators, real_references};

/// `N` numbers that go through a function together, one point per lane.
///
/// A comparison operator on lanes that disagree cannot steer one control flow; it panics and says
/// so. [`Real::select`] works lane by lane.
#[derive(Clone, Copy, Debug)]
pub struct Lanes<const N: usize>(pub [f64; N]);

/// The outcome of a comparison in every lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneMask<const N: usize> {
    /// All bits of a byte or none: a selection widens them and is then three operations on bits, which always become
    /// SIMD instructions; one on `bool`s may become branches. Bytes, because a [`Dual`](crate::Dual) carries a mask
    /// for every tangent, and those should not be as large as the tangents.
    bits: [u8; N],
}

impl<const N: usize> LaneMask<N> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn from_fn(outcome: impl Fn(usize) -> bool) -> Self {
        LaneMask { bits: std::array::from_fn(|k| u8::from(outcome(k)).wrapping_neg()) }
    }

    /// The one outcome of all lanes.
    #[track_caller]
    fn unanimous(self) -> bool {
        self.known().expect(
            "a comparison came out differently in different lanes, so it cannot steer their common \
             control flow: use Real::select on Real::compare",
        )
    }
}

impl<const N: usize> Not for LaneMask<N> {
    type Output = Self;
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn not(self) -> Self {
        LaneMask { bits: self.bits.map(|bits| !bits) }
    }
}

impl<const N: usize> BitAnd for LaneMask<N> {
    type Output = Self;
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn bitand(self, other: Self) -> Self {
        LaneMask { bits: std::array::from_fn(|k| self.bits[k] & other.bits[k]) }
    }
}

impl<const N: usize> BitOr for LaneMask<N> {
    type Output = Self;
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn bitor(self, other: Self) -> Self {
        LaneMask { bits: std::array::from_fn(|k| self.bits[k] | other.bits[k]) }
    }
}

impl<const N: usize> Mask for LaneMask<N> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn splat(outcome: bool) -> Self {
        LaneMask::from_fn(|_| outcome)
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn known(self) -> Option<bool> {
        let first = self.bits.first().is_none_or(|&bits| bits != 0);
        let every = LaneMask::splat(first);
        (self == every).then_some(first)
    }
}

impl<const N: usize> Default for Lanes<N> {
    fn default() -> Self {
        Lanes([0.0; N])
    }
}

/// The comparison operators, each by its own outcome: lanes that agree on `<` need not agree on `==`, and a panic points at
/// the user's line.
macro_rules! steering {
    ($right:ty, |$other:ident| $lanes:expr) => {
        steering! { @one lt Lt, $right, |$other| $lanes }
        steering! { @one le Le, $right, |$other| $lanes }
        steering! { @one gt Gt, $right, |$other| $lanes }
        steering! { @one ge Ge, $right, |$other| $lanes }
    };
    (@one $name:ident $op:ident, $right:ty, |$other:ident| $lanes:expr) => {
        #[track_caller]
        fn $name(&self, $other: &$right) -> bool {
            self.compare($lanes, Compare::$op).unanimous()
        }
    };
}

impl<const N: usize> PartialEq for Lanes<N> {
    #[track_caller]
    fn eq(&self, other: &Self) -> bool {
        self.compare(*other, Compare::Eq).unanimous()
    }
}

impl<const N: usize> PartialOrd for Lanes<N> {
    #[track_caller]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        if self.compare(*other, Compare::Unordered).unanimous() {
            None
        } else if self.compare(*other, Compare::Lt).unanimous() {
            Some(Ordering::Less)
        } else if self.compare(*other, Compare::Eq).unanimous() {
            Some(Ordering::Equal)
        } else {
            Some(Ordering::Greater)
        }
    }
    steering! { Self, |other| *other }
}

impl<const N: usize> PartialEq<f64> for Lanes<N> {
    #[track_caller]
    fn eq(&self, other: &f64) -> bool {
        *self == Lanes([*other; N])
    }
}

impl<const N: usize> PartialOrd<f64> for Lanes<N> {
    #[track_caller]
    fn partial_cmp(&self, other: &f64) -> Option<Ordering> {
        self.partial_cmp(&Lanes([*other; N]))
    }
    steering! { f64, |other| Lanes([*other; N]) }
}

real_operators! { [const N: usize] Lanes<N> }
real_references! { [const N: usize] Lanes<N> }

impl<const N: usize> Float for Lanes<N> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn from_f64(value: f64) -> Self {
        Lanes([value; N])
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn map(self, f: impl Fn(f64) -> f64) -> Self {
        Lanes(std::array::from_fn(|k| f(self.0[k])))
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn map2(self, other: Self, f: impl Fn(f64, f64) -> f64) -> Self {
        Lanes(std::array::from_fn(|k| f(self.0[k], other.0[k])))
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn sqrt(self) -> Self {
        Lanes(math::sqrt(self.0))
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn cbrt(self) -> Self {
        Lanes(math::cbrt(self.0))
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn exp(self) -> Self {
        Lanes(math::exp(self.0))
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn exp2(self) -> Self {
        Lanes(math::exp2(self.0))
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn expm1(self) -> Self {
        Lanes(math::expm1(self.0))
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn ln(self) -> Self {
        Lanes(math::ln(self.0))
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn log2(self) -> Self {
        Lanes(math::log2(self.0))
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn log10(self) -> Self {
        Lanes(math::log10(self.0))
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn log1p(self) -> Self {
        Lanes(math::log1p(self.0))
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn sin(self) -> Self {
        Lanes(math::sin(self.0))
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn cos(self) -> Self {
        Lanes(math::cos(self.0))
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn tan(self) -> Self {
        Lanes(math::tan(self.0))
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn asin(self) -> Self {
        Lanes(math::asin(self.0))
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn acos(self) -> Self {
        Lanes(math::acos(self.0))
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn atan(self) -> Self {
        Lanes(math::atan(self.0))
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn sinh(self) -> Self {
        Lanes(math::sinh(self.0))
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn cosh(self) -> Self {
        Lanes(math::cosh(self.0))
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn tanh(self) -> Self {
        Lanes(math::tanh(self.0))
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn sigmoid(self) -> Self {
        Lanes(math::sigmoid(self.0))
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn softplus(self) -> Self {
        Lanes(math::softplus(self.0))
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn erf(self) -> Self {
        Lanes(math::erf(self.0))
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn erfc(self) -> Self {
        Lanes(math::erfc(self.0))
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn powf(self, other: Self) -> Self {
        Lanes(math::pow(self.0, other.0))
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn atan2(self, other: Self) -> Self {
        Lanes(math::atan2(self.0, other.0))
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn hypot(self, other: Self) -> Self {
        Lanes(math::hypot(self.0, other.0))
    }
}

impl<const N: usize> Carrier for Lanes<N> {
    type Mask = LaneMask<N>;
    const PLAIN: bool = true;
    const RULES_APART: bool = false;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn carry_constant(value: f64) -> Self {
        Lanes([value; N])
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn carry_unary(self, op: Unary) -> Self {
        match op {
            Unary::Neg => self.map(|x| -x),
            // Written out, all lanes are computed at once.
            op => op.written_out(self).unwrap_or_else(|| op.eval(self)),
        }
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn carry_binary(self, other: Self, op: Binary) -> Self {
        match op {
            Binary::Add => self.map2(other, |x, y| x + y),
            Binary::Sub => self.map2(other, |x, y| x - y),
            Binary::Mul => self.map2(other, |x, y| x * y),
            Binary::Div => self.map2(other, |x, y| x / y),
            op => op.eval(self, other),
        }
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn carry_compare(self, other: Self, op: Compare) -> LaneMask<N> {
        LaneMask::from_fn(|k| op.eval(self.0[k], other.0[k]))
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn carry_decide(self, other: Self, op: Compare) -> Option<bool> {
        self.compare(other, op).known()
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn carry_select(mask: LaneMask<N>, yes: Self, no: Self) -> Self {
        Lanes(std::array::from_fn(|k| {
            // Sign extension: all 64 bits or none.
            let bits = i64::from(mask.bits[k].cast_signed()).cast_unsigned();
            f64::from_bits((yes.0[k].to_bits() & bits) | (no.0[k].to_bits() & !bits))
        }))
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn carry_all_finite(self) -> bool {
        // All are asked: stopping at the first would be a branch for each lane.
        self.0.iter().fold(true, |finite, x| finite & x.is_finite())
    }
    #[track_caller]
    fn carry_value(self) -> f64 {
        let first = self.0.first().copied().unwrap_or(0.0);
        assert!(
            self.0.iter().all(|x| x.to_bits() == first.to_bits()),
            "`value` at {} takes one number out of lanes that hold different ones: read them one by one, as `lanes.0[k]`",
            Location::caller()
        );
        first
    }
}
