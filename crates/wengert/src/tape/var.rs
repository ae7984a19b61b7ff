//! [`Var`]: the scalar that records what is done with it.

use std::cmp::Ordering;
use std::fmt;
use std::ops::{BitAnd, BitOr, Not};
use std::panic::Location;

use super::record::{Form, Op};
use super::recording::{
    Mode, active_in, mode, record_both, record_constant, record_selection, record_slowly, record_unary,
};
use crate::ops::{Binary, Compare, LARGEST_POWER, Unary};
use crate::real::{Carrier, Mask, Real, binary_methods, real_operators, real_references, unary_methods};

/// The scalar of a recording: `Copy`, 16 bytes, used like `f64`.
///
/// A `Var` belongs to the driver call (`grad`, `record`, …) that made it. Used after that call
/// ended, or on another thread, it panics with a message, in release builds too. A `Var` made by
/// [`lift`] or from an `f64` is a constant and may be used anywhere.
///
/// Comparisons look at the value and steer ordinary control flow. Equality is that of the numbers.
///
/// ```
/// use wengert::prelude::*;
/// let g = grad([2.0, 5.0], |[x, y]| x.ln() + x * y - y.sin());
/// assert_eq!(g, [5.5, 2.0 - 5f64.cos()]);
/// ```
///
/// A closure bound with `let` before the call needs its argument's type, literals need a point
/// (`2.0 * x`, not `2 * x`), and a constant function says `lift(3.0)`:
///
/// ```
/// use wengert::prelude::*;
/// let f = |[x, y]: [Var; 2]| x * y;
/// assert_eq!(grad([2.0, 5.0], f), [5.0, 2.0]);
/// assert_eq!(grad([2.0], |_| lift(3.0)), [0.0]);
/// ```
#[derive(Clone, Copy)]
pub struct Var {
    pub(crate) value: f64,
    /// Generation (36 bits) and index (28 bits) on the list; 0 for a constant.
    pub(crate) tag: u64,
}

const _: () = assert!(size_of::<Var>() == 16);

/// A constant `Var`: nothing is differentiated by it. As the point of a nested driver it makes
/// the result a `Var`, which may depend on the variables of the outer one.
///
/// ```
/// use wengert::prelude::*;
/// // d/dx of (d/dy of x y^2 at y = 3) = 6
/// let d = grad(2.0, |x| grad(lift(3.0), |y| x * y * y));
/// assert_eq!(d, 6.0);
/// ```
pub fn lift(value: f64) -> Var {
    Var { value, tag: 0 }
}

impl Var {
    unary_methods! { pub fn }
    binary_methods! { Var }

    /// The plain number of a constant: of a `Var` that no variable of a driver under way flows into,
    /// of one that was [detached](Var::detach), of one that steps ([`floor`](Var::floor), …).
    ///
    /// Comparing and printing need no number: `if x > 0.0` and `println!("{x}")` work as they are.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// // The largest entry as a plain number, on purpose: the derivative leaves it out.
    /// let shifted = |[x, y]: [Var; 2]| ((x - x.detach().value()).exp() + y).ln();
    /// assert_eq!(grad([2.0, 1.0], shifted), [0.5, 0.5]);
    /// ```
    ///
    /// # Panics
    /// If a derivative flows to it from a variable of a driver under way: what is computed from the
    /// number would be missing from that derivative. Compute with the `Var` itself, or say
    /// [`detach`](Var::detach) first; [`Grad::status`](crate::Grad::status) then reports what was cut.
    ///
    /// Inside [`record`](crate::record) also if it was detached: the number would be frozen for all
    /// later inputs. Compare the `Var` itself (a guard), or use [`Real::select`].
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    pub fn value(self) -> f64 {
        self.taken_by("value")
    }

    /// As [`Var::value`], for a method of this name.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    pub(crate) fn taken_by(self, name: &'static str) -> f64 {
        if self.tag != 0 {
            take_out(self, name, Location::caller());
        }
        self.value
    }

    /// Whether it stands on a list, and is no constant.
    pub(crate) fn is_recorded(self) -> bool {
        self.tag != 0
    }

    /// The number, for a question with a yes or no that no comparison can answer.
    #[cfg(feature = "nalgebra")]
    #[track_caller]
    pub(crate) fn compared_by(self, name: &'static str) -> f64 {
        if self.tag != 0 && is_run_again(mode()) {
            frozen(name, Location::caller());
        }
        self.value
    }

    /// `self^n`
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    pub fn powi(self, n: i32) -> Self {
        Real::powi(self, n)
    }
    /// `self^exponent` for a constant or variable exponent.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    pub fn powf(self, exponent: impl Into<Var>) -> Self {
        self.with(exponent, Binary::Pow)
    }
    /// `e^(x^2) erfc(x)`, the scaled complementary error function.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    pub fn erfcx(self) -> Self {
        Real::erfcx(self)
    }
    /// Logarithm of the distribution function of the normal distribution, also where that underflows.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    pub fn log_normal_cdf(self) -> Self {
        Real::log_normal_cdf(self)
    }
    /// The value limited to `[low, high]`; the derivative passes strictly inside the bounds. Where `low` is above `high` the
    /// result is `high`.
    ///
    /// # Panics
    /// If both bounds are plain numbers, and not in order.
    #[track_caller]
    pub fn clamp(self, low: impl Into<Var>, high: impl Into<Var>) -> Self {
        let (low, high) = (low.into(), high.into());
        if !low.is_recorded() && !high.is_recorded() {
            let crossed = crate::real::crossed_bounds(low.value, high.value);
            assert!(crossed.is_none(), "clamp: {}", crossed.unwrap_or_default());
        }
        self.clamp_to(low, high)
    }
    /// `self * a + b`
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    pub fn mul_add(self, a: impl Into<Var>, b: impl Into<Var>) -> Self {
        self.with(a, Binary::Mul).with(b, Binary::Add)
    }
    /// Sine and cosine.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    pub fn sin_cos(self) -> (Self, Self) {
        (self.sin(), self.cos())
    }

    /// `op(self, other)`, where a constant `other` is a constant operand.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn with(self, other: impl Into<Var>, op: Binary) -> Self {
        let other = other.into();
        if other.tag == 0 { self.binary_constant(other.value, op) } else { self.binary(other, op) }
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn take_out(x: Var, name: &'static str, line: &'static Location<'static>) {
    if is_run_again(mode()) {
        frozen(name, line);
    }
    if let Some(driver) = active_in(x, name, line) {
        panic!(
            "`{name}` at {line} takes a number out of the function that is differentiated at {driver}: \
             what is computed from it would be missing from the derivative; compute with the Var itself, \
             or say `detach()` first if that is meant"
        );
    }
    if mode() == Mode::Diagnose {
        record_slowly(Op::Taken, [x, lift(0.0)], x.value, line);
    }
}

/// Whether what is recorded now will run on other numbers.
pub(crate) fn runs_again() -> bool {
    is_run_again(mode())
}

/// Whether what is recorded will run on other numbers.
#[cfg_attr(not(debug_assertions), inline(always))]
fn is_run_again(mode: Mode) -> bool {
    matches!(mode, Mode::Step | Mode::Replay)
}

#[cold]
#[track_caller]
fn frozen(name: &str, line: &'static Location<'static>) -> ! {
    if mode() == Mode::Step {
        panic!(
            "`{name}` at {line} takes a number out of a step of a loop: a step is recorded once for each way through it, and in \
             other steps the number would be wrong, also after `detach()`; compute with the Var itself, compare it (each \
             outcome is a way of its own), or pass numbers as rows of `scan`"
        )
    }
    panic!(
        "`{name}` at {line} takes a number out of a recorded function: at other inputs it would be \
         wrong, also after `detach()`; compare the Var itself (a guard is recorded), or use Real::select"
    )
}

impl Carrier for Var {
    type Mask = Cond;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn carry_constant(value: f64) -> Self {
        lift(value)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn carry_unary(self, op: Unary) -> Self {
        let value = op.eval(self.value);
        if op == Unary::Detach && mode() == Mode::Once {
            return lift(value);
        }
        if let Unary::Powi(n) = op
            && n.unsigned_abs() > LARGEST_POWER
        {
            return self.with(f64::from(n), Binary::Pow);
        }
        record_unary(op, self, value)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn carry_binary(self, other: Self, op: Binary) -> Self {
        record_both(op, self, other, op.eval(self.value, other.value))
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn carry_binary_constant(self, constant: f64, op: Binary) -> Self {
        record_constant(op, Form::Right, self, constant, op.eval(self.value, constant))
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn carry_constant_binary(constant: f64, other: Self, op: Binary) -> Self {
        record_constant(op, Form::Left, other, constant, op.eval(constant, other.value))
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn carry_compare(self, other: Self, op: Compare) -> Cond {
        let outcome = op.eval(self.value, other.value);
        if mode() != Mode::Replay || self.tag | other.tag == 0 {
            // In a step of a loop another outcome is another path.
            guard(self, other, op);
            return Cond { outcome, tag: 0 };
        }
        let var = record_comparison(Op::Condition, self, other, op, outcome, Location::caller());
        Cond { outcome, tag: var.tag }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn carry_select(mask: Cond, yes: Self, no: Self) -> Self {
        let chosen = if mask.outcome { yes } else { no };
        if mask.tag == 0 {
            return chosen;
        }
        record_selection(mask.var(), [yes, no], chosen.value, Location::caller())
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn carry_all_finite(self) -> bool {
        // Of a step that runs on other numbers it is not known.
        self.value.is_finite() && mode() != Mode::Step
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn carry_number(self) -> Option<f64> {
        (self.tag == 0).then_some(self.value)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn carry_value(self) -> f64 {
        self.taken_by("value")
    }
}

real_operators! { [] Var }
real_references! { [] Var }

/// The outcome of [`Real::compare`] on `Var`s.
#[derive(Clone, Copy, Debug)]
pub struct Cond {
    outcome: bool,
    /// As in [`Var`]; 0 if the outcome was not recorded.
    tag: u64,
}

impl Cond {
    fn var(self) -> Var {
        Var { value: f64::from(u8::from(self.outcome)), tag: self.tag }
    }

    #[track_caller]
    fn combine(self, other: Self, op: Op, outcome: bool) -> Self {
        let line = Location::caller();
        let value = f64::from(u8::from(outcome));
        let var = record_slowly(op, [self.var(), other.var()], value, line);
        Cond { outcome, tag: var.tag }
    }
}

impl Not for Cond {
    type Output = Self;
    #[track_caller]
    fn not(self) -> Self {
        let outcome = !self.outcome;
        if self.tag == 0 { Cond { outcome, tag: 0 } } else { self.combine(self, Op::Not, outcome) }
    }
}

impl BitAnd for Cond {
    type Output = Self;
    #[track_caller]
    fn bitand(self, other: Self) -> Self {
        match (self.known(), other.known()) {
            (Some(true), _) => other,
            (_, Some(true)) => self,
            (Some(false), _) => self,
            (_, Some(false)) => other,
            (None, None) => self.combine(other, Op::And, self.outcome & other.outcome),
        }
    }
}

impl BitOr for Cond {
    type Output = Self;
    #[track_caller]
    fn bitor(self, other: Self) -> Self {
        match (self.known(), other.known()) {
            (Some(false), _) => other,
            (_, Some(false)) => self,
            (Some(true), _) => self,
            (_, Some(true)) => other,
            (None, None) => self.combine(other, Op::Or, self.outcome | other.outcome),
        }
    }
}

impl Mask for Cond {
    const SYMBOLIC: bool = true;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn splat(outcome: bool) -> Self {
        Cond { outcome, tag: 0 }
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn known(self) -> Option<bool> {
        (self.tag == 0).then_some(self.outcome)
    }
}

#[cold]
#[inline(never)]
fn record_comparison(
    make: fn(Compare, Form) -> Op,
    x: Var,
    y: Var,
    op: Compare,
    outcome: bool,
    line: &'static Location<'static>,
) -> Var {
    let form = match (x.tag, y.tag) {
        (_, 0) => Form::Right,
        (0, _) => Form::Left,
        _ => Form::Both,
    };
    record_slowly(make(op, form), [x, y], f64::from(u8::from(outcome)), line)
}

/// The outcome of a comparison that steers control flow: a guard if the function will be replayed.
#[cfg_attr(not(debug_assertions), inline(always))]
#[track_caller]
fn guard(x: Var, y: Var, op: Compare) -> bool {
    let outcome = op.eval(x.value, y.value);
    if is_run_again(mode()) && x.tag | y.tag != 0 {
        record_comparison(Op::Guard, x, y, op, outcome, Location::caller());
    }
    outcome
}

#[track_caller]
fn guarded_ordering(x: Var, y: Var) -> Option<Ordering> {
    if guard(x, y, Compare::Lt) {
        Some(Ordering::Less)
    } else if guard(x, y, Compare::Gt) {
        Some(Ordering::Greater)
    } else if guard(x, y, Compare::Eq) {
        Some(Ordering::Equal)
    } else {
        None
    }
}

/// The comparison operators of `Var` with `$other`, brought to a `Var` by `$lift`.
macro_rules! comparisons {
    ($left:ty, $right:ty, |$x:ident, $y:ident| $pair:expr) => {
        impl PartialEq<$right> for $left {
            #[cfg_attr(not(debug_assertions), inline(always))]
            #[track_caller]
            fn eq(&self, other: &$right) -> bool {
                let ($x, $y) = (*self, *other);
                let (x, y) = $pair;
                guard(x, y, Compare::Eq)
            }
        }
        impl PartialOrd<$right> for $left {
            #[track_caller]
            fn partial_cmp(&self, other: &$right) -> Option<Ordering> {
                let ($x, $y) = (*self, *other);
                let (x, y) = $pair;
                guarded_ordering(x, y)
            }
            #[cfg_attr(not(debug_assertions), inline(always))]
            #[track_caller]
            fn lt(&self, other: &$right) -> bool {
                let ($x, $y) = (*self, *other);
                let (x, y) = $pair;
                guard(x, y, Compare::Lt)
            }
            #[cfg_attr(not(debug_assertions), inline(always))]
            #[track_caller]
            fn le(&self, other: &$right) -> bool {
                let ($x, $y) = (*self, *other);
                let (x, y) = $pair;
                guard(x, y, Compare::Le)
            }
            #[cfg_attr(not(debug_assertions), inline(always))]
            #[track_caller]
            fn gt(&self, other: &$right) -> bool {
                let ($x, $y) = (*self, *other);
                let (x, y) = $pair;
                guard(x, y, Compare::Gt)
            }
            #[cfg_attr(not(debug_assertions), inline(always))]
            #[track_caller]
            fn ge(&self, other: &$right) -> bool {
                let ($x, $y) = (*self, *other);
                let (x, y) = $pair;
                guard(x, y, Compare::Ge)
            }
        }
    };
}
comparisons!(Var, Var, |x, y| (x, y));
comparisons!(Var, f64, |x, y| (x, lift(y)));
comparisons!(f64, Var, |x, y| (lift(x), y));

impl Default for Var {
    /// The constant 0.
    fn default() -> Self {
        lift(0.0)
    }
}

impl fmt::Debug for Var {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.value, f)
    }
}

impl fmt::Display for Var {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.value, f)
    }
}
