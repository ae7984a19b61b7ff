//! [`Real`]: everything a function can be run over; [`Carrier`], what each of them implements; [`Lit`], a number on the left.

use std::fmt::Debug;
use std::ops::{BitAnd, BitOr, Not};

use crate::ops::{Binary, Compare, Unary};

mod called;
mod carrier;
mod lit;
mod operators;

pub(crate) use called::Called;
pub use carrier::Carrier;
pub(crate) use carrier::flows;
pub use lit::{Lit, lit};
pub(crate) use operators::{lit_operators, real_operators, real_references};

/// The outcome of a comparison: one `bool`, one per lane, or one that was recorded.
pub trait Mask: Copy + Debug + Not<Output = Self> + BitAnd<Output = Self> + BitOr<Output = Self> + 'static {
    /// Whether outcomes may be known only when what is computed here is run.
    #[doc(hidden)]
    const SYMBOLIC: bool = false;

    /// The same outcome everywhere.
    fn splat(outcome: bool) -> Self;
    /// The outcome, if it is the same everywhere and does not depend on the inputs of a recording.
    fn known(self) -> Option<bool>;
}

impl Mask for bool {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn splat(outcome: bool) -> Self {
        outcome
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn known(self) -> Option<bool> {
        Some(self)
    }
}

/// The functions of one argument that people call by name, as methods: of the trait [`Real`] and of `Var`. It only names:
/// the functions are `unary`.
macro_rules! unary_methods {
    ($visibility:vis fn) => {
        $crate::ops::unary_list! { [$crate::real::unary_methods] [@list [$visibility]] }
    };
    (
        @list [$visibility:vis]
        $(#[$about:meta])*
        pub enum $family:ident ($codes:ident) {
            $( $(#[$doc:meta])* $op:ident $(($($number:tt)*))? = $text:literal $([$($called:tt)*])?, )*
        }
    ) => {
        $( $crate::real::unary_methods! { @method [$visibility] [$(#[$doc])*] $op $($($called)*)? } )*
    };
    (
        @method [$visibility:vis] [$(#[$doc:meta])*] $op:ident $name:ident
        $(, $twin:ident: ($x:ident) $line:literal, $at:expr => $value:expr $(, as $($alias:literal)+)?)?
    ) => {
        $(#[$doc])*
        $($($(#[doc(alias = $alias)])+)?)?
        #[cfg_attr(not(debug_assertions), inline(always))]
        #[track_caller]
        $visibility fn $name(self) -> Self {
            $crate::real::Real::unary(self, $crate::ops::Unary::$op)
        }
    };
    (@method [$visibility:vis] [$(#[$doc:meta])*] $op:ident $($unnamed:tt)*) => {};
}
pub(crate) use unary_methods;

/// The functions of two arguments that people call by name, as methods: of the trait [`Real`], of `Var` and of [`Lit`].
macro_rules! binary_methods {
    ($which:ident) => {
        $crate::ops::binary_list! { [$crate::real::binary_methods] [@list $which] }
    };
    (
        @list $which:ident
        $(#[$about:meta])*
        pub enum $family:ident ($codes:ident) {
            $( $(#[$doc:meta])* $op:ident = $text:literal $([$($called:tt)*])?, )*
        }
    ) => {
        $( $crate::real::binary_methods! { @$which [$(#[$doc])*] $op $($($called)*)? } )*
    };
    (
        @Real [$(#[$doc:meta])*] $op:ident $name:ident
        | $tensors:ident, $twin:ident: ($x:ident, $y:ident) $line:literal, $at:tt => $value:expr
        $(, as $($alias:literal)+)?
    ) => {
        $(#[$doc])*
        ///
        /// `x` is `self`, and `y` the argument.
        $($(#[doc(alias = $alias)])+)?
        #[cfg_attr(not(debug_assertions), inline(always))]
        #[track_caller]
        fn $name(self, y: impl Into<Self>) -> Self {
            self.binary_with(y, $crate::ops::Binary::$op)
        }
    };
    (
        @Lit [$(#[$doc:meta])*] $op:ident $name:ident
        | $tensors:ident, $twin:ident: ($x:ident, $y:ident) $line:literal, $at:tt => $value:expr
        $(, as $($alias:literal)+)?
    ) => {
        $(#[$doc])*
        ///
        /// `x` is `self`, and `y` the argument.
        $($(#[doc(alias = $alias)])+)?
        #[cfg_attr(not(debug_assertions), inline(always))]
        #[track_caller]
        pub fn $name<R: Carrier>(self, y: R) -> R {
            R::carry_constant_binary(self.0, y, $crate::ops::Binary::$op)
        }
    };
    // Its `powf` takes variables too.
    (@Var [$(#[$doc:meta])*] Pow $($called:tt)*) => {};
    (
        @Var [$(#[$doc:meta])*] $op:ident $name:ident
        | $tensors:ident, $twin:ident: ($x:ident, $y:ident) $line:literal, $at:tt => $value:expr
        $(, as $($alias:literal)+)?
    ) => {
        $(#[$doc])*
        ///
        /// `x` is `self`, and `y` the argument.
        $($(#[doc(alias = $alias)])+)?
        #[cfg_attr(not(debug_assertions), inline(always))]
        #[track_caller]
        pub fn $name(self, y: impl Into<Var>) -> Self {
            self.with(y, $crate::ops::Binary::$op)
        }
    };
    (@$which:ident [$(#[$doc:meta])*] $op:ident $($unnamed:tt)*) => {};
}
pub(crate) use binary_methods;

/// What a differentiable scalar function is generic over: plain numbers, [`Dual`](crate::Dual)s,
/// [`Taylor`](crate::Taylor) series, [`Var`](crate::Var)s on the tape, [`Lanes`](crate::Lanes).
///
/// Every [`Carrier`] is `Real`. Numbers stand on either side of an operator: on the right as they are, on the left in
/// [`lit`](crate::lit), which `#[wengert::generic]` writes for you. Functions of two arguments take carriers and numbers.
///
/// Comparison operators (`<`, `==`) look at the primal value and steer ordinary Rust control
/// flow; inside [`record`](crate::record) they are guards. [`compare`](Real::compare) and
/// [`select`](Real::select) keep both branches in the recording and need no guard; the branch
/// not taken never reaches a derivative, not even with a NaN or an infinity.
///
/// ```
/// use wengert::prelude::*;
/// fn f<R: Real>(x: R) -> R {
///     (lit(1.0) - x * x).max(0.0) + (x * x + 1.0) * x.sin()
/// }
/// assert_eq!(f(2.0), 5.0 * 2f64.sin());
/// assert_eq!(f(Dual::variable(0.0)).tangent(), 1.0);
/// assert_eq!(grad(0.0, |x| f(x)), 1.0);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a number that functions over `Real` run over",
    label = "not `f64`, `F32`, `Var`, `Dual`, `Taylor` or `Lanes`",
    note = "an `f32` is `F32(x)` or `f64::from(x)`, an integer `n as f64`, a reference to a number `*x`",
    note = "a `Tensor` has the functions of `Real` as methods of its own: `x.sin()`, `x.maximum(y)`"
)]
pub trait Real: Carrier {
    /// A number that nothing is differentiated by.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn constant(value: f64) -> Self {
        Self::carry_constant(value)
    }
    /// `op(self)`
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn unary(self, op: Unary) -> Self {
        self.carry_unary(op)
    }
    /// `op(self, other)`
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn binary(self, other: Self, op: Binary) -> Self {
        self.carry_binary(other, op)
    }
    /// `op(self, other)` of a carrier or a number, which is a constant operand.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn binary_with(self, other: impl Into<Self>, op: Binary) -> Self {
        let other = other.into();
        if Self::PLAIN {
            return self.binary(other, op);
        }
        match other.carry_number() {
            Some(constant) => self.binary_constant(constant, op),
            None => self.binary(other, op),
        }
    }
    /// Whether `op` holds between the two, without steering control flow.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn compare(self, other: Self, op: Compare) -> Self::Mask {
        self.carry_compare(other, op)
    }
    /// Whether `op` holds between the two, steering control flow as the comparison operators do;
    /// `None` where lanes disagree.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn decide(self, other: Self, op: Compare) -> Option<bool> {
        self.carry_decide(other, op)
    }
    /// `yes` where the mask is true, else `no`; the other one is masked out of every derivative.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
        Self::carry_select(mask, yes, no)
    }
    /// Whether the value and everything carried with it are finite.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn all_finite(self) -> bool {
        self.carry_all_finite()
    }
    /// The plain number, of what no derivative flows through: of a constant, or after [`detach`](Real::detach).
    ///
    /// ```
    /// use wengert::prelude::*;
    /// // The largest entry as a plain number, on purpose: the derivative leaves it out.
    /// fn shifted<R: Real>(x: R) -> R {
    ///     (x - x.detach().value()).exp()
    /// }
    /// assert_eq!(grad(2.0, |x| shifted(x)), 1.0);
    /// assert_eq!(shifted(Dual::variable(2.0)).tangent(), 1.0);
    /// ```
    ///
    /// # Panics
    /// If a derivative flows to it, inside [`record`](crate::record) also if it was detached: see
    /// [`Var::value`](crate::Var::value). If lanes hold different numbers.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn value(self) -> f64 {
        self.carry_value()
    }

    /// `op(self, constant)`; what the operators with an `f64` on the right mean.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn binary_constant(self, constant: f64, op: Binary) -> Self {
        self.carry_binary_constant(constant, op)
    }
    /// `op(constant, other)`; what the operators with an `f64` on the left mean.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn constant_binary(constant: f64, other: Self, op: Binary) -> Self {
        Self::carry_constant_binary(constant, other, op)
    }

    /// `yes()` where the mask is true, else `no()`; runs only what is needed where it can.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn branch(mask: Self::Mask, yes: impl FnOnce() -> Self, no: impl FnOnce() -> Self) -> Self {
        match mask.known() {
            Some(true) => yes(),
            Some(false) => no(),
            None => {
                let (yes, no) = (yes(), no());
                Self::select(mask, yes, no)
            }
        }
    }
    /// `self < other` as a mask for [`select`](Real::select).
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn less(self, other: Self) -> Self::Mask {
        self.compare(other, Compare::Lt)
    }
    /// `self == other` as a mask for [`select`](Real::select).
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn equal(self, other: Self) -> Self::Mask {
        self.compare(other, Compare::Eq)
    }
    unary_methods! { fn }
    binary_methods! { Real }

    /// `sech2(self)`, given `tanh(self)`: as `(1-y)(1+y)` where that keeps its digits, which costs
    /// two operations. A carrier that would have to choose between the two formulas element by
    /// element computes `sech2` instead.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn sech2_beside_tanh(self, tanh: Self) -> Self {
        self.carry_sech2_beside_tanh(tanh)
    }
    /// `self^exponent` for a constant or variable exponent.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn powf(self, exponent: impl Into<Self>) -> Self {
        self.binary_with(exponent, Binary::Pow)
    }
    /// `self^n` for a constant integer.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn powi(self, n: i32) -> Self {
        match n {
            1 => self,
            2 => self.unary(Unary::Square),
            n => self.unary(Unary::Powi(n)),
        }
    }
    /// `self * a + b`, rounded twice.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn mul_add(self, a: impl Into<Self>, b: impl Into<Self>) -> Self {
        self.binary_with(a, Binary::Mul).binary_with(b, Binary::Add)
    }
    /// n-th derivative of digamma.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn polygamma(self, n: u32) -> Self {
        self.unary(Unary::Polygamma(n))
    }
    /// `sin(pi x)/(pi x)`, 1 at 0.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn sinc(self) -> Self {
        self.unary(Unary::Sinc(0))
    }
    /// `e^(x^2) erfc(x)`, the scaled complementary error function.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn erfcx(self) -> Self {
        self.unary(Unary::Erfcx(0))
    }
    /// Logarithm of the distribution function of the normal distribution, also where that underflows.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn log_normal_cdf(self) -> Self {
        self.unary(Unary::LogNormalCdf(0))
    }
    /// `ln sigmoid(x) = -softplus(-x)`
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn log_sigmoid(self) -> Self {
        -(-self).softplus()
    }
    /// `x` above 0, `slope * x` from 0 down.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn leaky_relu(self, slope: f64) -> Self {
        Self::branch(Self::constant(0.0).less(self), || self, || self * slope)
    }
    /// `x` above 0, `e^x - 1` from 0 down.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn elu(self) -> Self {
        Self::branch(Self::constant(0.0).less(self), || self, || self.expm1())
    }
    /// `x` above 0, `alpha (e^(x/alpha) - 1)` from 0 down, for a positive `alpha`: its derivative is continuous, 1 at 0
    /// (Barron, *Continuously differentiable exponential linear units*, 2017).
    ///
    /// # Panics
    /// If `alpha` is not positive.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn celu(self, alpha: f64) -> Self {
        assert!(alpha > 0.0, "celu: alpha is {alpha}, and has to be positive");
        Self::branch(Self::constant(0.0).less(self), || self, || (self / alpha).expm1() * alpha)
    }
    /// `min(max(x, 0), 6)` with derivative 0 at both bounds.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn relu6(self) -> Self {
        limited(self, Self::constant(0.0), Self::constant(6.0))
    }
    /// `x` limited to `[low, high]`; the derivative passes strictly inside the bounds, and belongs
    /// to the bound elsewhere. NaN stays NaN. Where `low` is above `high` the result is `high`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn clamp(self, low: impl Into<Self>, high: impl Into<Self>) -> Self {
        self.clamp_to(low.into(), high.into())
    }
    /// As [`clamp`](Real::clamp), with bounds that are carriers.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn clamp_to(self, low: Self, high: Self) -> Self {
        let low = Self::branch(high.compare(low, Compare::Lt), || high, || low);
        limited(self, low, high)
    }
    /// `self + weight (other - self)`: `self` where the weight is 0.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn lerp(self, other: impl Into<Self>, weight: impl Into<Self>) -> Self {
        self + (other.into() - self).binary_with(weight, Binary::Mul)
    }
}

impl<R: Carrier> Real for R {}

/// `x` limited to `[low, high]`, which are known to be in order.
#[cfg_attr(not(debug_assertions), inline(always))]
#[track_caller]
pub(crate) fn limited<R: Real>(x: R, low: R, high: R) -> R {
    let above = || R::branch(x.compare(high, Compare::Ge), || high, || x);
    R::branch(x.compare(low, Compare::Le), || low, above)
}

/// What is wrong with bounds that are known when they are written: nothing lies between them.
pub(crate) fn crossed_bounds(low: f64, high: f64) -> Option<String> {
    let in_order = low <= high;
    (!in_order).then(|| format!("the bounds are {low:?} and {high:?}, and the lower one must not be above the other"))
}
