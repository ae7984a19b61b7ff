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

/// The signs with which the tangents of two duals are added.
#[derive(Clone, Copy)]
enum Signs {
    Alike,
    Opposite,
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
    /// arithmetic. Of small duals the copies vanish. Where operations of the numbers inside are recorded, or those numbers are
    /// duals of many tangents, so are these: a loop over them is no small piece of code.
    const APART: bool =
        size_of::<Self>() > 512 || R::Mask::SYMBOLIC || (R::RULES_APART && size_of::<R>() > 8 * size_of::<f64>());

    fn all_live(&self) -> bool {
        self.live.iter().all(|mask| mask.known() == Some(true))
    }

    /// Whether no structural zero meets an infinite factor. The factor is asked first: it nearly always is finite.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn takes(&self, factor: R) -> bool {
        factor.all_finite() || self.all_live()
    }

    /// Whether tangent `k` is structurally zero and operations are recorded: then nothing is computed with it, which would be an
    /// operation for every sweep. Plain numbers are multiplied and added whatever they are.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn is_left_out(&self, k: usize) -> bool {
        R::Mask::SYMBOLIC && self.live[k].known() == Some(false)
    }

    /// The tangents multiplied by `factor`; structural zeros stay.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn products(&self, factor: R) -> [R; N] {
        let mut eps = [R::constant(0.0); N];
        if self.takes(factor) {
            for (k, product) in eps.iter_mut().enumerate() {
                if !self.is_left_out(k) {
                    *product = factor * self.eps[k];
                }
            }
        } else {
            for (k, product) in eps.iter_mut().enumerate() {
                if !self.is_left_out(k) {
                    *product = R::select(self.live[k], factor * self.eps[k], R::constant(0.0));
                }
            }
        }
        eps
    }

    /// Where a tangent of either is live.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn joined(&self, other: &Self) -> [R::Mask; N] {
        let mut live = self.live;
        for (mask, &others) in live.iter_mut().zip(&other.live) {
            *mask = *mask | others;
        }
        live
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

    /// `re` with the tangents of both added, or those of `other` subtracted.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn sum(&self, other: &Self, re: R, signs: Signs) -> Self {
        if Self::APART { self.sum_apart(other, re, signs) } else { self.sum_here(other, re, signs) }
    }

    #[inline(never)]
    #[track_caller]
    fn sum_apart(&self, other: &Self, re: R, signs: Signs) -> Self {
        self.sum_here(other, re, signs)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn sum_here(&self, other: &Self, re: R, signs: Signs) -> Self {
        let mut eps = self.eps;
        for (k, tangent) in eps.iter_mut().enumerate() {
            if !other.is_left_out(k) {
                *tangent = match (signs, self.is_left_out(k)) {
                    (Signs::Alike, false) => *tangent + other.eps[k],
                    (Signs::Alike, true) => other.eps[k],
                    (Signs::Opposite, false) => *tangent - other.eps[k],
                    (Signs::Opposite, true) => -other.eps[k],
                };
            }
        }
        Dual { re, eps, live: self.joined(other) }
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
        let (x, y) = (self.products(by_x), other.products(by_y));
        let mut eps = x;
        for (k, tangent) in eps.iter_mut().enumerate() {
            if !other.is_left_out(k) {
                *tangent = if self.is_left_out(k) { y[k] } else { *tangent + y[k] };
            }
        }
        Dual { re, eps, live: self.joined(other) }
    }

    fn is_constant(&self) -> bool {
        self.live.iter().all(|mask| mask.known() == Some(false))
    }
}

impl<R: Real, const N: usize> Carrier for Dual<R, N> {
    type Mask = R::Mask;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn carry_constant(value: f64) -> Self {
        Dual::lift(R::constant(value))
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn carry_unary(self, op: Unary) -> Self {
        let y = self.re.unary(op);
        // Where operations are recorded, a partial derivative is one too.
        if op.is_flat() || (R::Mask::SYMBOLIC && self.is_constant()) {
            return Dual::lift(y);
        }
        match op {
            Unary::Neg => {
                let mut eps = self.eps;
                for tangent in &mut eps {
                    *tangent = -*tangent;
                }
                Dual { re: y, eps, live: self.live }
            }
            op => self.chain(y, op.partial(self.re, y)),
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn carry_binary(self, other: Self, op: Binary) -> Self {
        let (x, y) = (self.re, other.re);
        let z = x.binary(y, op);
        match op {
            Binary::Add => self.sum(&other, z, Signs::Alike),
            Binary::Sub => self.sum(&other, z, Signs::Opposite),
            Binary::Mul => self.mix(&other, z, y, x),
            // One division for all tangents: dz = (dx - z dy) / y.
            Binary::Div => self.sum(&other.chain(z, z), z, Signs::Opposite).chain(z, y.recip()),
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
            Binary::Div => {
                // What is structurally zero stays zero, also over zero.
                let whole = (constant != 0.0 && !constant.is_nan()) || self.all_live();
                let mut eps = self.eps;
                for (k, tangent) in eps.iter_mut().enumerate() {
                    if !self.is_left_out(k) {
                        let own = *tangent / constant;
                        *tangent = if whole { own } else { R::select(self.live[k], own, R::constant(0.0)) };
                    }
                }
                Dual { re: z, eps, live: self.live }
            }
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
        let (mut eps, mut live) = (yes.eps, yes.live);
        for k in 0..N {
            if !(yes.is_left_out(k) && no.is_left_out(k)) {
                eps[k] = R::select(mask, yes.eps[k], no.eps[k]);
            }
            // Alike on both sides, it does not depend on the mask.
            if yes.live[k].known().is_none() || yes.live[k].known() != no.live[k].known() {
                live[k] = (mask & yes.live[k]) | (!mask & no.live[k]);
            }
        }
        Dual { re: R::select(mask, yes.re, no.re), eps, live }
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
