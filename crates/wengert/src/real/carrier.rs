//! [`Carrier`]: what a type of numbers implements so that every function over [`Real`](super::Real) runs over it.

use std::fmt::Debug;
use std::iter::{Product, Sum};
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Rem, Sub, SubAssign};
use std::panic::Location;

use super::{Lit, Mask, Real};
use crate::ops::{Binary, Compare, Unary};

/// A type of numbers that functions generic over [`Real`] run over, without the names of the functions.
///
/// It has the operators, with itself and with numbers, and the few functions that all others stand on. Each of these is
/// the function of [`Real`] of the same name without `carry_`; a carrier implements `constant`, `unary`, `binary`,
/// `select`, `compare`, `all_finite`.
///
/// Functions ask for [`Real`], but for those that ask for another trait of numbers too, whose methods have the same names:
/// with `R: Real + RealField` the compiler could not choose between two `x.sin()`. With `R: Carrier + RealField` it takes
/// that of the other trait, and where only `Real` has a method, that one.
///
/// ```
/// use wengert::prelude::*;
///
/// /// Numbers of another library.
/// trait Field: Copy {
///     fn sin(self) -> Self;
/// }
/// impl Field for f64 {
///     fn sin(self) -> f64 {
///         f64::sin(self)
///     }
/// }
/// fn ours<R: Real>(x: R) -> R {
///     x.lgamma()
/// }
/// fn both<R: Carrier + Field>(x: R) -> R {
///     lit(1.0) - x.sin() + ours(x) + x.relu()
/// }
/// assert_eq!(both(1.0), 2.0 - 1f64.sin());
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a number that functions over `Real` run over",
    label = "not `f64`, `F32`, `Var`, `Dual`, `Taylor` or `Lanes`",
    note = "an `f32` is `F32(x)` or `f64::from(x)`, an integer `n as f64`, a reference to a number `*x`",
    note = "a `Tensor` has the functions of `Real` as methods of its own: `x.sin()`, `x.maximum(y)`",
    note = "left of a type of your own, `#[wengert::generic]` leaves a literal that says its type: `2.0_f64 * v`"
)]
pub trait Carrier:
    Copy
    + Debug
    + PartialOrd
    + PartialOrd<f64>
    + Neg<Output = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Rem<Output = Self>
    + Add<f64, Output = Self>
    + Sub<f64, Output = Self>
    + Mul<f64, Output = Self>
    + Div<f64, Output = Self>
    + Rem<f64, Output = Self>
    + Add<Lit, Output = Self>
    + Sub<Lit, Output = Self>
    + Mul<Lit, Output = Self>
    + Div<Lit, Output = Self>
    + Rem<Lit, Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
    + AddAssign<f64>
    + SubAssign<f64>
    + MulAssign<f64>
    + DivAssign<f64>
    + Sum
    + Product
    + for<'item> Sum<&'item Self>
    + for<'item> Product<&'item Self>
    + From<f64>
    + 'static
{
    /// The outcome of a comparison.
    type Mask: Mask;

    /// Whether this is a plain number, of which nothing is differentiated or recorded: then a rule computes its factors in
    /// place, and need not keep them together for derivatives of higher order.
    const PLAIN: bool = false;

    /// Whether the rules of all operations are one function of this type, which every sweep over it calls, instead of a part of
    /// each sweep. A call costs little beside numbers that are made of several or recorded, and the rules of ninety
    /// operations over them are long: inlined into thirty sweeps they were a third of the machine code of this library.
    const RULES_APART: bool = true;

    /// [`Real::constant`]
    fn carry_constant(value: f64) -> Self;
    /// [`Real::unary`]
    #[track_caller]
    fn carry_unary(self, op: Unary) -> Self;
    /// [`Real::binary`]
    #[track_caller]
    fn carry_binary(self, other: Self, op: Binary) -> Self;
    /// [`Real::compare`]
    #[track_caller]
    fn carry_compare(self, other: Self, op: Compare) -> Self::Mask;
    /// [`Real::decide`]
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn carry_decide(self, other: Self, op: Compare) -> Option<bool> {
        Some(op.eval(self, other))
    }
    /// [`Real::select`]
    #[track_caller]
    fn carry_select(mask: Self::Mask, yes: Self, no: Self) -> Self;
    /// [`Real::all_finite`]
    fn carry_all_finite(self) -> bool;
    /// The number of a constant, if it is known to be one: nothing of it is recorded or differentiated.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn carry_number(self) -> Option<f64> {
        None
    }
    /// [`Real::value`]
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn carry_value(self) -> f64 {
        match self.carry_number() {
            Some(number) => number,
            None => flows("carrier", Location::caller()),
        }
    }
    /// [`Real::binary_constant`]
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn carry_binary_constant(self, constant: f64, op: Binary) -> Self {
        self.carry_binary(Self::carry_constant(constant), op)
    }
    /// [`Real::constant_binary`]
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn carry_constant_binary(constant: f64, other: Self, op: Binary) -> Self {
        Self::carry_constant(constant).carry_binary(other, op)
    }
    /// [`Real::sech2_beside_tanh`]
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn carry_sech2_beside_tanh(self, tanh: Self) -> Self {
        let small = (tanh * tanh).less(Self::carry_constant(0.75));
        let product = || if Self::PLAIN { (Lit::ONE - tanh) * (tanh + 1.0) } else { tanh.unary(Unary::OneMinusSquare) };
        Self::branch(small, product, || self.sech2())
    }
}

/// Refuses to take the number out of a carrier with tangents.
#[cold]
#[inline(never)]
#[track_caller]
pub(crate) fn flows(name: &str, line: &'static Location<'static>) -> ! {
    panic!(
        "`value` at {line} takes the number out of a {name} that a derivative flows through: what is computed from it would \
         be missing from the derivative; compute with the {name} itself, or say `detach()` first if that is meant"
    )
}

impl Carrier for f64 {
    type Mask = bool;
    const PLAIN: bool = true;
    const RULES_APART: bool = false;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn carry_constant(value: f64) -> Self {
        value
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn carry_unary(self, op: Unary) -> Self {
        op.eval(self)
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn carry_binary(self, other: Self, op: Binary) -> Self {
        op.eval(self, other)
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn carry_compare(self, other: Self, op: Compare) -> bool {
        op.eval(self, other)
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn carry_select(mask: bool, yes: Self, no: Self) -> Self {
        if mask { yes } else { no }
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn carry_all_finite(self) -> bool {
        self.is_finite()
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn carry_number(self) -> Option<f64> {
        Some(self)
    }
}
