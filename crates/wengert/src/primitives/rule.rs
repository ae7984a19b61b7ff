//! Running an elementwise rule over a [`Builder`]: the partial derivatives in [`crate::ops`] are
//! written over [`Real`], and `Sym` is the carrier that appends equations.
//!
//! `Real` is `Copy` and has no room for a builder, so the builder of the rule that runs stands in
//! a thread-local for the time of that rule.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::ops::{BitAnd, BitOr, Not};

use super::{Convert, Logic, Select};
use crate::array::{DType, Type};
use crate::ops::{Binary, Compare, Unary};
use crate::program::{Builder, Value};
use crate::real::{Carrier, Mask, Real, real_operators};

/// The builder of the rule that runs, and the type of the values it is about.
struct Context {
    builder: Builder,
    ty: Type,
}

thread_local! {
    static CONTEXT: RefCell<Option<Context>> = const { RefCell::new(None) };
}

/// A value of the rule's type, or a number that has not met one: it is materialised only where an
/// equation needs it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sym {
    Constant(f64),
    Value(Value),
}

/// The outcome of a comparison within a rule.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SymMask {
    Known(bool),
    Value(Value),
}

/// Runs a rule whose values have the type `ty`; equations go to `b`.
pub(crate) fn with_rule<R>(b: &mut Builder, ty: &Type, rule: impl FnOnce() -> R) -> R {
    assert!(CONTEXT.with_borrow(Option::is_none), "a rule does not run another");
    let builder = std::mem::take(b);
    CONTEXT.set(Some(Context { builder, ty: ty.clone() }));
    let _guard = BuilderGuard(b);
    rule()
}

/// Gives the builder back when the rule has ended, also by a panic: the thread may go on to run other rules.
struct BuilderGuard<'a>(&'a mut Builder);

impl Drop for BuilderGuard<'_> {
    fn drop(&mut self) {
        if let Some(context) = CONTEXT.take() {
            *self.0 = context.builder;
        }
    }
}

fn with_builder<R>(f: impl FnOnce(&mut Builder, &Type) -> R) -> R {
    CONTEXT.with_borrow_mut(|context| {
        let context = context.as_mut().expect("a `Sym` is used within its rule");
        f(&mut context.builder, &context.ty)
    })
}

impl Sym {
    /// The value; a constant becomes an array of the rule's type.
    pub(crate) fn materialise(self, b: &mut Builder, ty: &Type) -> Value {
        match self {
            Sym::Value(value) => value,
            Sym::Constant(number) => b.full(number, ty),
        }
    }

    fn value(self) -> Value {
        with_builder(|b, ty| self.materialise(b, ty))
    }
}

impl SymMask {
    fn value(self) -> Value {
        match self {
            SymMask::Value(value) => value,
            SymMask::Known(known) => {
                with_builder(|b, ty| b.full(f64::from(u8::from(known)), &ty.with_dtype(DType::Bool)))
            }
        }
    }

    fn logic(self, other: SymMask, op: Logic) -> SymMask {
        let (x, y) = (self.value(), other.value());
        SymMask::Value(with_builder(|b, _| b.op(op, &[x, y])))
    }
}

impl Not for SymMask {
    type Output = Self;
    fn not(self) -> Self {
        match self {
            SymMask::Known(known) => SymMask::Known(!known),
            SymMask::Value(value) => SymMask::Value(with_builder(|b, _| b.op(Logic::Not, &[value]))),
        }
    }
}

impl BitAnd for SymMask {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        match (self, other) {
            (SymMask::Known(false), _) | (_, SymMask::Known(false)) => SymMask::Known(false),
            (SymMask::Known(true), mask) | (mask, SymMask::Known(true)) => mask,
            _ => self.logic(other, Logic::And),
        }
    }
}

impl BitOr for SymMask {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        match (self, other) {
            (SymMask::Known(true), _) | (_, SymMask::Known(true)) => SymMask::Known(true),
            (SymMask::Known(false), mask) | (mask, SymMask::Known(false)) => mask,
            _ => self.logic(other, Logic::Or),
        }
    }
}

impl Mask for SymMask {
    fn splat(outcome: bool) -> Self {
        SymMask::Known(outcome)
    }
    fn known(self) -> Option<bool> {
        match self {
            SymMask::Known(known) => Some(known),
            SymMask::Value(_) => None,
        }
    }
}

real_operators! { [] Sym }

impl Carrier for Sym {
    type Mask = SymMask;

    fn carry_constant(value: f64) -> Self {
        Sym::Constant(value)
    }
    fn carry_unary(self, op: Unary) -> Self {
        match self {
            Sym::Constant(x) => Sym::Constant(op.eval(x)),
            Sym::Value(x) => Sym::Value(with_builder(|b, _| b.op(op, &[x]))),
        }
    }
    fn carry_binary(self, other: Self, op: Binary) -> Self {
        match (self, other) {
            (Sym::Constant(x), Sym::Constant(y)) => Sym::Constant(op.eval(x, y)),
            // x * 1 and x / 1 are x to the bit.
            (Sym::Value(_), Sym::Constant(1.0)) if matches!(op, Binary::Mul | Binary::Div) => self,
            (Sym::Constant(1.0), Sym::Value(_)) if op == Binary::Mul => other,
            _ => {
                let (x, y) = (self.value(), other.value());
                Sym::Value(with_builder(|b, _| b.op(op, &[x, y])))
            }
        }
    }
    fn carry_compare(self, other: Self, op: Compare) -> SymMask {
        match (self, other) {
            (Sym::Constant(x), Sym::Constant(y)) => SymMask::Known(op.eval(x, y)),
            _ => {
                let (x, y) = (self.value(), other.value());
                SymMask::Value(with_builder(|b, _| b.op(op, &[x, y])))
            }
        }
    }
    fn carry_decide(self, _: Self, _: Compare) -> Option<bool> {
        None
    }
    fn carry_select(mask: SymMask, yes: Self, no: Self) -> Self {
        match mask {
            SymMask::Known(true) => yes,
            SymMask::Known(false) => no,
            SymMask::Value(mask) => {
                let (yes, no) = (yes.value(), no.value());
                Sym::Value(with_builder(|b, _| b.op(Select, &[mask, yes, no])))
            }
        }
    }
    fn carry_sech2_beside_tanh(self, _: Self) -> Self {
        self.sech2()
    }
    fn carry_all_finite(self) -> bool {
        matches!(self, Sym::Constant(x) if x.is_finite())
    }
}

/// A rule asks with `compare` and answers with `select` or `branch`: its values are not known when
/// it runs.
fn steering() -> ! {
    panic!("an elementwise rule steers control flow by a value; it has to use `compare` and `branch`")
}

impl PartialEq for Sym {
    fn eq(&self, _: &Self) -> bool {
        steering()
    }
}

impl PartialOrd for Sym {
    fn partial_cmp(&self, _: &Self) -> Option<Ordering> {
        steering()
    }
}

impl PartialEq<f64> for Sym {
    fn eq(&self, _: &f64) -> bool {
        steering()
    }
}

impl PartialOrd<f64> for Sym {
    fn partial_cmp(&self, _: &f64) -> Option<Ordering> {
        steering()
    }
}

/// Equations that rules of several families are made of.
impl Builder {
    /// A single number repeated to this shape.
    pub(crate) fn broadcast_scalar(&mut self, scalar: Value, shape: &[usize]) -> Value {
        if shape.is_empty() { scalar } else { self.op(super::Broadcast::new(shape, &[]), &[scalar]) }
    }

    pub(crate) fn add(&mut self, x: Value, y: Value) -> Value {
        self.op(Binary::Add, &[x, y])
    }

    pub(crate) fn sub(&mut self, x: Value, y: Value) -> Value {
        self.op(Binary::Sub, &[x, y])
    }

    pub(crate) fn mul(&mut self, x: Value, y: Value) -> Value {
        self.op(Binary::Mul, &[x, y])
    }

    pub(crate) fn div(&mut self, x: Value, y: Value) -> Value {
        self.op(Binary::Div, &[x, y])
    }

    pub(crate) fn neg(&mut self, x: Value) -> Value {
        self.op(Unary::Neg, &[x])
    }

    pub(crate) fn select(&mut self, mask: Value, yes: Value, no: Value) -> Value {
        self.op(Select, &[mask, yes, no])
    }

    /// Zeros (`false`) of the type of a value.
    pub(crate) fn zeros_like(&mut self, x: Value) -> Value {
        let ty = self.ty(x).clone();
        self.full(0.0, &ty)
    }

    pub(crate) fn reshape(&mut self, x: Value, shape: &[usize]) -> Value {
        if self.shape(x) == shape { x } else { self.op(super::Reshape::new(shape), &[x]) }
    }

    pub(crate) fn permute(&mut self, x: Value, order: &[usize]) -> Value {
        if order.iter().enumerate().all(|(k, &axis)| k == axis) { x } else { self.op(super::Permute::new(order), &[x]) }
    }

    /// The axis `from` moved to the place `to`, the others in order.
    pub(crate) fn move_axis(&mut self, x: Value, from: usize, to: usize) -> Value {
        let mut order: Vec<usize> = (0..self.shape(x).len()).filter(|&axis| axis != from).collect();
        order.insert(to, from);
        self.permute(x, &order)
    }

    /// The sum over axes.
    pub(crate) fn sum(&mut self, x: Value, axes: &[usize]) -> Value {
        if axes.is_empty() { x } else { self.op(super::Reduce::new(super::Reducer::Sum, axes), &[x]) }
    }

    /// Whether one of the truth values along axes holds.
    pub(crate) fn any(&mut self, mask: Value, axes: &[usize]) -> Value {
        if axes.is_empty() { mask } else { self.op(super::Reduce::new(super::Reducer::Any, axes), &[mask]) }
    }

    /// The inverse of a reduction's removal of axes: `x` repeated along `axes` of `shape`.
    pub(crate) fn spread(&mut self, x: Value, shape: &[usize], axes: &[usize]) -> Value {
        let kept: Vec<usize> = (0..shape.len()).filter(|axis| !axes.contains(axis)).collect();
        if axes.is_empty() { x } else { self.op(super::Broadcast::new(shape, &kept), &[x]) }
    }

    pub(crate) fn convert(&mut self, x: Value, dtype: DType) -> Value {
        if self.dtype(x) == dtype { x } else { self.op(Convert(dtype), &[x]) }
    }

    /// `x` with one more axis of this length in front, along which it repeats.
    pub(crate) fn repeat_in_front(&mut self, x: Value, length: usize) -> Value {
        let mut shape = vec![length];
        shape.extend(self.shape(x));
        self.spread(x, &shape, &[0])
    }

    /// The operands, all with the batch axis in front.
    pub(crate) fn batch_all(&mut self, args: &[Value], batched: &[bool], length: usize) -> Vec<Value> {
        let with_axis = |(&arg, &batched): (&Value, &bool)| {
            if batched { arg } else { self.repeat_in_front(arg, length) }
        };
        args.iter().zip(batched).map(with_axis).collect()
    }
}

#[cfg(test)]
mod tests;
