//! [`Lanes`]: several points at once, one per SIMD lane.

use std::cmp::Ordering;
use std::ops::{BitAnd, BitOr, Not};

use crate::ops::{Binary, Compare, Unary};
use crate::real::{Float, Mask, Real, real_operators};

/// How many points one step of a batched replay carries: 8 `f64` fill an AVX-512 register.
pub(crate) const WIDTH: usize = 8;

/// `N` numbers that go through a function together, one point per lane.
///
/// A comparison operator on lanes that disagree cannot steer one control flow; it panics and says
/// so. [`Real::select`] works lane by lane.
#[derive(Clone, Copy, Debug)]
pub struct Lanes<const N: usize>(pub [f64; N]);

/// The outcome of a comparison in every lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneMask<const N: usize>(pub [bool; N]);

impl<const N: usize> Not for LaneMask<N> {
    type Output = Self;
    #[inline(always)]
    fn not(self) -> Self {
        LaneMask(std::array::from_fn(|k| !self.0[k]))
    }
}

impl<const N: usize> BitAnd for LaneMask<N> {
    type Output = Self;
    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        LaneMask(std::array::from_fn(|k| self.0[k] & other.0[k]))
    }
}

impl<const N: usize> BitOr for LaneMask<N> {
    type Output = Self;
    #[inline(always)]
    fn bitor(self, other: Self) -> Self {
        LaneMask(std::array::from_fn(|k| self.0[k] | other.0[k]))
    }
}

impl<const N: usize> Mask for LaneMask<N> {
    #[inline(always)]
    fn splat(outcome: bool) -> Self {
        LaneMask([outcome; N])
    }
    #[inline(always)]
    fn known(self) -> Option<bool> {
        let first = self.0.first().is_none_or(|&outcome| outcome);
        self.0.iter().all(|&outcome| outcome == first).then_some(first)
    }
}

impl<const N: usize> LaneMask<N> {
    /// The one outcome of all lanes.
    #[track_caller]
    fn unanimous(self) -> bool {
        self.known().expect(
            "a comparison came out differently in different lanes, so it cannot steer their common \
             control flow: use Real::select on Real::compare",
        )
    }
}

impl<const N: usize> Default for Lanes<N> {
    fn default() -> Self {
        Lanes([0.0; N])
    }
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
}

real_operators! { [const N: usize] Lanes<N> }

impl<const N: usize> Float for Lanes<N> {
    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        Lanes([value; N])
    }
    #[inline(always)]
    fn map(self, f: impl Fn(f64) -> f64) -> Self {
        Lanes(std::array::from_fn(|k| f(self.0[k])))
    }
    #[inline(always)]
    fn map2(self, other: Self, f: impl Fn(f64, f64) -> f64) -> Self {
        Lanes(std::array::from_fn(|k| f(self.0[k], other.0[k])))
    }
}

impl<const N: usize> Real for Lanes<N> {
    type Mask = LaneMask<N>;

    #[inline(always)]
    fn constant(value: f64) -> Self {
        Lanes([value; N])
    }
    #[inline(always)]
    fn unary(self, op: Unary) -> Self {
        match op {
            Unary::Neg => self.map(|x| -x),
            op => op.eval(self),
        }
    }
    #[inline(always)]
    fn binary(self, other: Self, op: Binary) -> Self {
        match op {
            Binary::Add => self.map2(other, |x, y| x + y),
            Binary::Sub => self.map2(other, |x, y| x - y),
            Binary::Mul => self.map2(other, |x, y| x * y),
            Binary::Div => self.map2(other, |x, y| x / y),
            op => op.eval(self, other),
        }
    }
    #[inline(always)]
    fn compare(self, other: Self, op: Compare) -> LaneMask<N> {
        LaneMask(std::array::from_fn(|k| op.eval(self.0[k], other.0[k])))
    }
    #[inline(always)]
    fn decide(self, other: Self, op: Compare) -> Option<bool> {
        self.compare(other, op).known()
    }
    #[inline(always)]
    fn select(mask: LaneMask<N>, yes: Self, no: Self) -> Self {
        Lanes(std::array::from_fn(|k| if mask.0[k] { yes.0[k] } else { no.0[k] }))
    }
    #[inline(always)]
    fn all_finite(self) -> bool {
        self.0.iter().all(|x| x.is_finite())
    }
}
