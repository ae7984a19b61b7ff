//! [`Dual`]: a value and its tangents; nests for higher order.

use std::cmp::Ordering;
use std::panic::Location;

use crate::ops::{Binary, Compare, Unary};
use crate::real::{Carrier, Mask, Real, flows, real_operators, real_references};

/// A value with `N` tangents (one unless said): forward mode.
///
/// `f(x + Σ ε_k v_k) = f(x) + Σ ε_k ∂f(x) v_k`. Over another carrier it gives higher orders:
/// `Dual<Dual<f64>>` carries second derivatives.
///
/// A tangent that nothing was ever put into is structurally zero: it stays zero through an
/// operation with an infinite derivative (`sqrt` of a constant 0), where `0 * inf` would be NaN.
///
/// ```
/// use wengert::prelude::*;
/// let x = Dual::variable(3.0);
/// assert_eq!((x * x).tangent(), 6.0);
/// // second order: nest
/// let x = Dual::new(Dual::variable(3.0), Dual::constant(1.0));
/// assert_eq!((x * x * x).tangent().tangent(), 18.0);
/// ```
///
/// Source of the method: W. K. Clifford's dual numbers (1873) as in R. E. Wengert, *A simple
/// automatic derivative evaluation program* (1964).
#[derive(Clone, Copy, Debug)]
pub struct Dual<R: Real = f64, const N: usize = 1> {
    re: R,
    eps: [R; N],
    /// Where the tangent is more than structurally zero; a dead tangent holds 0.
    live: [R::Mask; N],
}

impl<R: Real> Dual<R, 1> {
    /// A value and its tangent.
    pub fn new(re: R, eps: R) -> Self {
        Dual::with_tangents(re, [eps])
    }

    /// The independent variable: tangent 1.
    pub fn variable(re: R) -> Self {
        Dual::with_tangents(re, [R::constant(1.0)])
    }

    /// The tangent.
    pub fn tangent(self) -> R {
        self.eps[0]
    }
}

impl<R: Real, const N: usize> Dual<R, N> {
    /// A value and its tangents.
    pub fn with_tangents(re: R, eps: [R; N]) -> Self {
        Dual { re, eps, live: [R::Mask::splat(true); N] }
    }

    /// A value whose tangents are structurally zero.
    pub fn lift(re: R) -> Self {
        Dual { re, eps: [R::constant(0.0); N], live: [R::Mask::splat(false); N] }
    }

    /// A value with tangent 1 in place `k` and structural zeros elsewhere; all zero for `k >= N`.
    pub fn seed(re: R, k: usize) -> Self {
        let mut dual = Dual::lift(re);
        if k < N {
            dual.eps[k] = R::constant(1.0);
            dual.live[k] = R::Mask::splat(true);
        }
        dual
    }

    /// The value without its tangents.
    pub fn re(self) -> R {
        self.re
    }

    /// The tangents; structurally zero ones are 0.
    pub fn tangents(self) -> [R; N] {
        self.eps
    }

    /// Whether the loops over tangents are functions of their own, which read the tangents where they lie. Inlined,
    /// every operand is copied first: of eight lanes of fifteen tangents a kilobyte, which takes longer than the
    /// arithmetic. Of small duals the copies vanish. Where the rules of the numbers inside are functions of their own, so are
    /// these: a loop over them is no small piece of code.
    const APART: bool = size_of::<Self>() > 512 || R::RULES_APART;

    fn all_live(&self) -> bool {
        self.live.iter().all(|mask| mask.known() == Some(true))
    }

    /// Whether no structural zero meets an infinite factor. The factor is asked first: it nearly always is finite.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn takes(&self, factor: R) -> bool {
        factor.all_finite() || self.all_live()
    }

    /// The tangents multiplied by `factor`; structural zeros stay.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn products(&self, factor: R) -> [R; N] {
        if self.takes(factor) {
            std::array::from_fn(|k| factor * self.eps[k])
        } else {
            std::array::from_fn(|k| R::select(self.live[k], factor * self.eps[k], R::constant(0.0)))
        }
    }

    /// Where a tangent of either is live.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn joined(&self, other: &Self) -> [R::Mask; N] {
        std::array::from_fn(|k| self.live[k] | other.live[k])
    }

    /// `re` with the tangents of `self` multiplied by `factor`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn chain(&self, re: R, factor: R) -> Self {
        if Self::APART { self.chain_apart(re, factor) } else { self.chain_here(re, factor) }
    }

    #[inline(never)]
    #[track_caller]
    fn chain_apart(&self, re: R, factor: R) -> Self {
        self.chain_here(re, factor)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn chain_here(&self, re: R, factor: R) -> Self {
        Dual { re, eps: self.products(factor), live: self.live }
    }

    /// `re` with the tangents of both added.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn sum(&self, other: &Self, re: R) -> Self {
        if Self::APART { self.sum_apart(other, re) } else { self.sum_here(other, re) }
    }

    #[inline(never)]
    #[track_caller]
    fn sum_apart(&self, other: &Self, re: R) -> Self {
        self.sum_here(other, re)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn sum_here(&self, other: &Self, re: R) -> Self {
        Dual {
            re,
            eps: std::array::from_fn(|k| self.added(k, self.eps[k], other, other.eps[k])),
            live: self.joined(other),
        }
    }

    /// `mine + others` in place `k`. Where outcomes may be symbolic, what is structurally zero is not added: it would be an
    /// operation for every point.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn added(&self, k: usize, mine: R, other: &Self, others: R) -> R {
        if R::Mask::SYMBOLIC && other.live[k].known() == Some(false) {
            mine
        } else if R::Mask::SYMBOLIC && self.live[k].known() == Some(false) {
            others
        } else {
            mine + others
        }
    }

    /// `re` with the tangents of both, multiplied by the partial derivatives and added.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn mix(&self, other: &Self, re: R, by_x: R, by_y: R) -> Self {
        if Self::APART { self.mix_apart(other, re, by_x, by_y) } else { self.mix_here(other, re, by_x, by_y) }
    }

    #[inline(never)]
    #[track_caller]
    fn mix_apart(&self, other: &Self, re: R, by_x: R, by_y: R) -> Self {
        self.mix_here(other, re, by_x, by_y)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn mix_here(&self, other: &Self, re: R, by_x: R, by_y: R) -> Self {
        let x = self.products(by_x);
        let eps = if other.takes(by_y) {
            std::array::from_fn(|k| self.added(k, x[k], other, by_y * other.eps[k]))
        } else {
            let y = other.products(by_y);
            std::array::from_fn(|k| self.added(k, x[k], other, y[k]))
        };
        Dual { re, eps, live: self.joined(other) }
    }

    fn is_constant(&self) -> bool {
        self.live.iter().all(|mask| mask.known() == Some(false))
    }
}

impl<R: Real, const N: usize> Carrier for Dual<R, N> {
    type Mask = R::Mask;
    const RULES_APART: bool = N > 1 || R::RULES_APART;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn carry_constant(value: f64) -> Self {
        Dual::lift(R::constant(value))
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn carry_unary(self, op: Unary) -> Self {
        let y = self.re.unary(op);
        if op.is_flat() {
            return Dual::lift(y);
        }
        match op {
            Unary::Neg => Dual { re: y, eps: std::array::from_fn(|k| -self.eps[k]), live: self.live },
            op => self.chain(y, op.partial(self.re, y)),
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn carry_binary(self, other: Self, op: Binary) -> Self {
        let (x, y) = (self.re, other.re);
        let z = x.binary(y, op);
        match op {
            Binary::Add => self.sum(&other, z),
            Binary::Sub => self.sum(&-other, z),
            Binary::Mul => self.mix(&other, z, y, x),
            // One division for all tangents: dz = (dx - z dy) / y.
            Binary::Div => self.sum(&-other.chain(z, z), z).chain(z, y.recip()),
            op if other.is_constant() || op.is_flat_in_y() => self.chain(z, op.partial_x(x, y, z)),
            op if self.is_constant() => other.chain(z, op.partial_y(x, y, z)),
            op => {
                let (by_x, by_y) = op.partials(x, y, z);
                self.mix(&other, z, by_x, by_y)
            }
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn carry_binary_constant(self, constant: f64, op: Binary) -> Self {
        let z = self.re.binary_constant(constant, op);
        match op {
            Binary::Add | Binary::Sub | Binary::Rem => Dual { re: z, ..self },
            Binary::Mul => self.chain(z, R::constant(constant)),
            Binary::Div => Dual { re: z, eps: self.eps.map(|tangent| tangent / constant), live: self.live },
            op => self.chain(z, op.partial_x(self.re, R::constant(constant), z)),
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn carry_constant_binary(constant: f64, other: Self, op: Binary) -> Self {
        let z = R::constant_binary(constant, other.re, op);
        match op {
            Binary::Add => Dual { re: z, ..other },
            Binary::Mul => other.chain(z, R::constant(constant)),
            op if op.is_flat_in_y() => Dual::lift(z),
            op => other.chain(z, op.partial_y(R::constant(constant), other.re, z)),
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn carry_compare(self, other: Self, op: Compare) -> R::Mask {
        self.re.compare(other.re, op)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn carry_decide(self, other: Self, op: Compare) -> Option<bool> {
        self.re.decide(other.re, op)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn carry_select(mask: R::Mask, yes: Self, no: Self) -> Self {
        Dual {
            re: R::select(mask, yes.re, no.re),
            eps: std::array::from_fn(|k| R::select(mask, yes.eps[k], no.eps[k])),
            live: std::array::from_fn(|k| (mask & yes.live[k]) | (!mask & no.live[k])),
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn carry_all_finite(self) -> bool {
        self.re.all_finite() && self.eps.iter().all(|tangent| tangent.all_finite())
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn carry_number(self) -> Option<f64> {
        if self.is_constant() { self.re.carry_number() } else { None }
    }

    #[track_caller]
    fn carry_value(self) -> f64 {
        if self.is_constant() { self.re.value() } else { flows("Dual", Location::caller()) }
    }
}

real_operators! { [R: Real, const N: usize] Dual<R, N> }
real_references! { [R: Real, const N: usize] Dual<R, N> }

impl<R: Real, const N: usize> PartialEq for Dual<R, N> {
    /// Compares the values: tangents never steer control flow.
    #[track_caller]
    fn eq(&self, other: &Self) -> bool {
        self.re == other.re
    }
}

impl<R: Real, const N: usize> PartialOrd for Dual<R, N> {
    #[track_caller]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.re.partial_cmp(&other.re)
    }
}

impl<R: Real, const N: usize> PartialEq<f64> for Dual<R, N> {
    #[track_caller]
    fn eq(&self, other: &f64) -> bool {
        self.re == *other
    }
}

impl<R: Real, const N: usize> PartialOrd<f64> for Dual<R, N> {
    #[track_caller]
    fn partial_cmp(&self, other: &f64) -> Option<Ordering> {
        self.re.partial_cmp(other)
    }
}
