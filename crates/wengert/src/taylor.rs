//! [`Taylor`]: a truncated power series as a number.

use std::cmp::Ordering;
use std::panic::Location;

use crate::ops::{Binary, Compare, Unary};
use crate::real::{Carrier, Mask, Real, flows, real_operators, real_references};
use crate::series::{self, SeriesGraph, SeriesNode};

/// A truncated Taylor series `c_0 + c_1 t + … + c_(N-1) t^(N-1)`: all derivatives of a function of
/// one variable up to order `N - 1` in one run.
///
/// `f(Taylor::variable(x))` has the coefficients `c_k = f^(k)(x) / k!`. An operation costs at most
/// `O(N^2)` per function that its derivatives are made of; nesting `N - 1` duals instead costs
/// `2^(N-1)`. Over another carrier it gives mixed derivatives: `Taylor<3, Dual>` carries the
/// tangents of the first three coefficients.
///
/// Coefficients are finite where the function is analytic; at the edge of its domain they are what
/// the recurrences give, infinite or NaN: those of `sqrt` at 0 are `0, inf, NaN, …`. At a kink the
/// first derivative is that of the [table of conventions](crate::ops), and the pieces on either
/// side are not looked at. Those of `lgamma` and `digamma` at `x` are infinite or NaN at orders so
/// high that `k! / x^k` is out of range: their rule asks for the derivatives themselves.
///
/// Coefficients of a constant beyond the first are structurally zero: they stay zero through an
/// infinite derivative (`sqrt` of a constant 0).
///
/// ```
/// use wengert::prelude::*;
/// let y = Taylor::<5>::variable(0.0).exp();
/// assert_eq!(y.coefficients(), [1.0, 1.0, 1.0 / 2.0, 1.0 / 6.0, 1.0 / 24.0]);
/// assert_eq!(y.derivative(4), 1.0);
/// // the order is fixed by the type; `taylor` takes it as a number
/// assert_eq!(taylor(0.0, 1.0, 4, |x| x.exp()), y.coefficients());
/// ```
///
/// Source of the method: R. E. Moore, *Interval Analysis* (1966); A. Griewank and A. Walther,
/// *Evaluating Derivatives* (2008), chapter 13.
#[derive(Clone, Copy, Debug)]
pub struct Taylor<const N: usize, R: Real = f64> {
    coefficients: [R; N],
    /// Coefficients from here on are structurally zero, and hold 0. At least 1.
    length: usize,
}

impl<const N: usize, R: Real> Taylor<N, R> {
    /// The series with these coefficients: number `k` belongs to `t^k`.
    pub fn new(coefficients: [R; N]) -> Self {
        const { assert!(N > 0, "a Taylor series has at least one coefficient") };
        Taylor { coefficients, length: N }
    }

    /// The independent variable at `x`: the series `x + t`.
    pub fn variable(x: R) -> Self {
        Taylor::from_fn(x, 2, |_| Some(R::constant(1.0)))
    }

    /// A value that does not depend on `t`: structurally zero but for the first coefficient.
    pub fn lift(x: R) -> Self {
        Taylor::from_fn(x, 1, |_| None)
    }

    /// The coefficients; number `k` belongs to `t^k`.
    pub fn coefficients(self) -> [R; N] {
        self.coefficients
    }

    /// The value at `t = 0`.
    pub fn re(self) -> R {
        self.coefficients[0]
    }

    /// The derivative of order `k` by `t` at `t = 0`: `k! c_k`.
    ///
    /// # Panics
    /// If `k` is not below `N`.
    #[track_caller]
    pub fn derivative(self, k: usize) -> R {
        assert!(k < N, "a Taylor series of {N} coefficients has no derivative of order {k}");
        factorial_times(k, self.coefficients[k])
    }

    /// The series with value `y` and length at most `length`, whose other coefficients are given
    /// by `next`, in increasing order; `None` is a structural zero.
    #[inline]
    #[track_caller]
    fn from_fn(y: R, length: usize, mut next: impl FnMut(usize) -> Option<R>) -> Self {
        const { assert!(N > 0, "a Taylor series has at least one coefficient") };
        let mut coefficients = [R::constant(0.0); N];
        coefficients[0] = y;
        let length = length.min(N);
        for (k, coefficient) in coefficients[..length].iter_mut().enumerate().skip(1) {
            *coefficient = next(k).unwrap_or(R::constant(0.0));
        }
        Taylor { coefficients, length }
    }

    /// The coefficients that are not structurally zero.
    fn live(&self) -> &[R] {
        &self.coefficients[..self.length]
    }

    fn is_constant(&self) -> bool {
        self.length == 1
    }

    /// The length of a product, or more.
    fn product_length(&self, other: &Self) -> usize {
        self.length + other.length - 1
    }

    /// `self / other`, whose value is `z`.
    #[inline]
    #[track_caller]
    fn over(numerator: &[R], denominator: &Self, z: R) -> Self {
        let length = if denominator.is_constant() { numerator.len() } else { N };
        let mut quotient = Taylor { length: length.min(N), ..Taylor::lift(z) };
        for k in 1..quotient.length {
            let next = series::quotient(numerator, denominator.live(), &quotient.coefficients[..k], k);
            quotient.coefficients[k] = next.unwrap_or(R::constant(0.0));
        }
        quotient
    }

    /// The series with value `y` of an operation on these operands, by the rule of its derivative.
    #[track_caller]
    fn by_rule<const A: usize>(operands: [&Self; A], y: R, op: impl FnOnce([SeriesNode; A]) -> series::Op) -> Self {
        let mut graph = SeriesGraph::default();
        let operands = operands.map(|operand| graph.given(operand.live()));
        let node = graph.insert(op(operands), y);
        graph.extend(node, N - 1);
        let found = graph.coefficients(node);
        Taylor::from_fn(y, found.len(), |k| Some(found[k]))
    }
}

/// `k! c`, where `k!` may be out of range though the product is not.
fn factorial_times<R: Real>(k: usize, c: R) -> R {
    let factorial = |from: usize, to: usize| (from..=to).fold(1.0, |product, j| product * j as f64);
    let c = c * factorial(2, k.min(170));
    (171..=k).fold(c, |c, j| c * j as f64)
}

impl<const N: usize, R: Real> Carrier for Taylor<N, R> {
    type Mask = R::Mask;

    #[inline]
    fn carry_constant(value: f64) -> Self {
        Taylor::lift(R::constant(value))
    }

    #[inline]
    #[track_caller]
    fn carry_unary(self, op: Unary) -> Self {
        let y = self.re().unary(op);
        if op.is_flat() || self.is_constant() {
            return Taylor::lift(y);
        }
        match op {
            Unary::Neg => Taylor::from_fn(y, self.length, |k| Some(-self.coefficients[k])),
            Unary::Square => {
                let live = self.live();
                Taylor::from_fn(y, self.product_length(&self), |k| series::product(live, live, k))
            }
            Unary::Recip => Taylor::over(&[], &self, y),
            op => Taylor::by_rule([&self], y, |[x]| series::Op::Unary(op, x)),
        }
    }

    #[inline]
    #[track_caller]
    fn carry_binary(self, other: Self, op: Binary) -> Self {
        let z = self.re().binary(other.re(), op);
        if self.is_constant() && (other.is_constant() || op.is_flat_in_y()) {
            return Taylor::lift(z);
        }
        let (x, y) = (self.live(), other.live());
        let longest = self.length.max(other.length);
        match op {
            Binary::Add => Taylor::from_fn(z, longest, |k| series::sum(x, y, k)),
            Binary::Sub => Taylor::from_fn(z, longest, |k| series::difference(x, y, k)),
            Binary::Mul => Taylor::from_fn(z, self.product_length(&other), |k| series::product(x, y, k)),
            Binary::Div => Taylor::over(x, &other, z),
            op => Taylor::by_rule([&self, &other], z, |[x, y]| series::Op::Binary(op, x, y)),
        }
    }

    #[inline]
    #[track_caller]
    fn carry_binary_constant(self, constant: f64, op: Binary) -> Self {
        let z = self.re().binary_constant(constant, op);
        match op {
            Binary::Add | Binary::Sub | Binary::Rem => Taylor::from_fn(z, self.length, |k| Some(self.coefficients[k])),
            Binary::Mul | Binary::Div => {
                Taylor::from_fn(z, self.length, |k| Some(self.coefficients[k].binary_constant(constant, op)))
            }
            _ if self.is_constant() => Taylor::lift(z),
            op => Taylor::by_rule([&self, &Taylor::constant(constant)], z, |[x, y]| series::Op::Binary(op, x, y)),
        }
    }

    #[inline]
    #[track_caller]
    fn carry_constant_binary(constant: f64, other: Self, op: Binary) -> Self {
        let z = R::constant_binary(constant, other.re(), op);
        if other.is_constant() || op.is_flat_in_y() {
            return Taylor::lift(z);
        }
        match op {
            Binary::Add => Taylor::from_fn(z, other.length, |k| Some(other.coefficients[k])),
            Binary::Sub => Taylor::from_fn(z, other.length, |k| Some(-other.coefficients[k])),
            Binary::Mul => Taylor::from_fn(z, other.length, |k| Some(other.coefficients[k] * constant)),
            Binary::Div => Taylor::over(&[], &other, z),
            op => Taylor::by_rule([&Taylor::constant(constant), &other], z, |[x, y]| series::Op::Binary(op, x, y)),
        }
    }

    #[inline]
    #[track_caller]
    fn carry_compare(self, other: Self, op: Compare) -> R::Mask {
        self.re().compare(other.re(), op)
    }

    #[inline]
    #[track_caller]
    fn carry_decide(self, other: Self, op: Compare) -> Option<bool> {
        self.re().decide(other.re(), op)
    }

    #[inline]
    #[track_caller]
    fn carry_select(mask: R::Mask, yes: Self, no: Self) -> Self {
        match mask.known() {
            Some(true) => yes,
            Some(false) => no,
            None => {
                let part = |k| R::select(mask, yes.coefficients[k], no.coefficients[k]);
                Taylor::from_fn(part(0), yes.length.max(no.length), |k| Some(part(k)))
            }
        }
    }

    #[inline]
    fn carry_all_finite(self) -> bool {
        self.coefficients.iter().all(|coefficient| coefficient.all_finite())
    }

    #[inline]
    fn carry_number(self) -> Option<f64> {
        if self.is_constant() { self.re().carry_number() } else { None }
    }

    #[track_caller]
    fn carry_value(self) -> f64 {
        if self.is_constant() { self.re().value() } else { flows("Taylor", Location::caller()) }
    }
}

real_operators! { [const N: usize, R: Real] Taylor<N, R> }
real_references! { [const N: usize, R: Real] Taylor<N, R> }

impl<const N: usize, R: Real> PartialEq for Taylor<N, R> {
    /// Compares the values: the other coefficients never steer control flow.
    #[track_caller]
    fn eq(&self, other: &Self) -> bool {
        self.re() == other.re()
    }
}

impl<const N: usize, R: Real> PartialOrd for Taylor<N, R> {
    #[track_caller]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.re().partial_cmp(&other.re())
    }
}

impl<const N: usize, R: Real> PartialEq<f64> for Taylor<N, R> {
    #[track_caller]
    fn eq(&self, other: &f64) -> bool {
        self.re() == *other
    }
}

impl<const N: usize, R: Real> PartialOrd<f64> for Taylor<N, R> {
    #[track_caller]
    fn partial_cmp(&self, other: &f64) -> Option<Ordering> {
        self.re().partial_cmp(other)
    }
}
