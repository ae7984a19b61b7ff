//! [`Real`]: everything a function can be run over.

use std::fmt::Debug;
use std::iter::{Product, Sum};
use std::ops::{Add, AddAssign, BitAnd, BitOr, Div, DivAssign, Mul, MulAssign, Neg, Not, Rem, Sub, SubAssign};

use crate::ops::{Binary, Compare, Unary};

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
    (@method [$visibility:vis] [$(#[$doc:meta])*] $op:ident $name:ident $($called:tt)*) => {
        $(#[$doc])*
        #[cfg_attr(not(debug_assertions), inline(always))]
        #[track_caller]
        $visibility fn $name(self) -> Self {
            $crate::real::Real::unary(self, $crate::ops::Unary::$op)
        }
    };
    (@method [$visibility:vis] [$(#[$doc:meta])*] $op:ident $($unnamed:tt)*) => {};
}
pub(crate) use unary_methods;

/// The functions of two arguments that people call by name, as methods: of the trait [`Real`], and of `Var`, which takes
/// numbers too.
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
    (@Real [$(#[$doc:meta])*] $op:ident $name:ident | $($called:tt)*) => {
        $(#[$doc])*
        ///
        /// `x` is `self`, and `y` the argument.
        #[cfg_attr(not(debug_assertions), inline(always))]
        #[track_caller]
        fn $name(self, y: Self) -> Self {
            self.binary(y, $crate::ops::Binary::$op)
        }
    };
    // Its `powf` takes variables too.
    (@Var [$(#[$doc:meta])*] Pow $($called:tt)*) => {};
    (@Var [$(#[$doc:meta])*] $op:ident $name:ident | $($called:tt)*) => {
        $(#[$doc])*
        ///
        /// `x` is `self`, and `y` the argument.
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
/// A carrier implements six functions: `constant`, `unary`, `binary`, `select`, `compare`,
/// `all_finite`. Everything else stands on top of them.
///
/// Comparison operators (`<`, `==`) look at the primal value and steer ordinary Rust control
/// flow; inside [`record`](crate::record) they are guards. [`compare`](Real::compare) and
/// [`select`](Real::select) keep both branches in the recording and need no guard; the branch
/// not taken never reaches a derivative, not even with a NaN or an infinity.
///
/// ```
/// use wengert::prelude::*;
/// fn f<R: Real>(x: R) -> R {
///     (x * x + 1.0) * x.sin()
/// }
/// assert_eq!(f(2.0), 5.0 * 2f64.sin());
/// assert_eq!(f(Dual::variable(0.0)).tangent(), 1.0);
/// assert_eq!(grad(0.0, |x| f(x)), 1.0);
/// ```
pub trait Real:
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
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
    + Sum
    + Product
    + 'static
{
    /// The outcome of a comparison.
    type Mask: Mask;

    /// Whether this is a plain number, of which nothing is differentiated or recorded: then a rule computes its factors in
    /// place, and need not keep them together for derivatives of higher order.
    const PLAIN: bool = false;

    /// A number that nothing is differentiated by.
    fn constant(value: f64) -> Self;
    /// `op(self)`
    #[track_caller]
    fn unary(self, op: Unary) -> Self;
    /// `op(self, other)`
    #[track_caller]
    fn binary(self, other: Self, op: Binary) -> Self;
    /// Whether `op` holds between the two, without steering control flow.
    #[track_caller]
    fn compare(self, other: Self, op: Compare) -> Self::Mask;
    /// Whether `op` holds between the two, steering control flow as the comparison operators do;
    /// `None` where lanes disagree.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn decide(self, other: Self, op: Compare) -> Option<bool> {
        Some(op.eval(self, other))
    }
    /// `yes` where the mask is true, else `no`; the other one is masked out of every derivative.
    #[track_caller]
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;
    /// Whether the value and everything carried with it are finite.
    fn all_finite(self) -> bool;

    /// `op(self, constant)`; what the operators with an `f64` on the right mean.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn binary_constant(self, constant: f64, op: Binary) -> Self {
        self.binary(Self::constant(constant), op)
    }
    /// `op(constant, other)`; what the operators with an `f64` on the left mean.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn constant_binary(constant: f64, other: Self, op: Binary) -> Self {
        Self::constant(constant).binary(other, op)
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
        let small = (tanh * tanh).less(Self::constant(0.75));
        let product = || if Self::PLAIN { (-tanh + 1.0) * (tanh + 1.0) } else { tanh.unary(Unary::OneMinusSquare) };
        Self::branch(small, product, || self.sech2())
    }
    /// `self^exponent` for a constant exponent.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn powf(self, exponent: f64) -> Self {
        self.binary_constant(exponent, Binary::Pow)
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
    fn mul_add(self, a: Self, b: Self) -> Self {
        self * a + b
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
        self.clamp_to(Self::constant(0.0), Self::constant(6.0))
    }
    /// `x` limited to `[low, high]`; the derivative passes strictly inside the bounds, and belongs
    /// to the bound elsewhere. NaN stays NaN.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn clamp_to(self, low: Self, high: Self) -> Self {
        let above = || Self::branch(self.compare(high, Compare::Ge), || high, || self);
        Self::branch(self.compare(low, Compare::Le), || low, above)
    }
    /// `self + weight (other - self)`: `self` where the weight is 0.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn lerp(self, other: Self, weight: Self) -> Self {
        self + weight * (other - self)
    }
}

impl Real for f64 {
    type Mask = bool;
    const PLAIN: bool = true;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn constant(value: f64) -> Self {
        value
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn unary(self, op: Unary) -> Self {
        op.eval(self)
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn binary(self, other: Self, op: Binary) -> Self {
        op.eval(self, other)
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn compare(self, other: Self, op: Compare) -> bool {
        op.eval(self, other)
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn select(mask: bool, yes: Self, no: Self) -> Self {
        if mask { yes } else { no }
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn all_finite(self) -> bool {
        self.is_finite()
    }
}

/// The operators of a carrier that implements [`Real`]'s six functions: with itself, with `f64` on
/// either side, assigning, `Sum` and `Product`. The macro only names.
macro_rules! real_operators {
    ([$($generics:tt)*] $carrier:ty) => {
        $crate::real::real_operators! { @binary [$($generics)*] $carrier, Add add AddAssign add_assign }
        $crate::real::real_operators! { @binary [$($generics)*] $carrier, Sub sub SubAssign sub_assign }
        $crate::real::real_operators! { @binary [$($generics)*] $carrier, Mul mul MulAssign mul_assign }
        $crate::real::real_operators! { @binary [$($generics)*] $carrier, Div div DivAssign div_assign }
        $crate::real::real_operators! { @binary [$($generics)*] $carrier, Rem rem RemAssign rem_assign }

        impl<$($generics)*> std::ops::Neg for $carrier {
            type Output = Self;
            #[cfg_attr(not(debug_assertions), inline(always))]
            #[track_caller]
            fn neg(self) -> Self {
                $crate::real::Real::unary(self, $crate::ops::Unary::Neg)
            }
        }
        impl<$($generics)*> std::iter::Sum for $carrier {
            #[track_caller]
            fn sum<I: Iterator<Item = Self>>(mut terms: I) -> Self {
                let Some(first) = terms.next() else { return $crate::real::Real::constant(0.0) };
                terms.fold(first, |sum, term| sum + term)
            }
        }
        impl<$($generics)*> std::iter::Product for $carrier {
            #[track_caller]
            fn product<I: Iterator<Item = Self>>(mut factors: I) -> Self {
                let Some(first) = factors.next() else { return $crate::real::Real::constant(1.0) };
                factors.fold(first, |product, factor| product * factor)
            }
        }
        impl<'item, $($generics)*> std::iter::Sum<&'item $carrier> for $carrier {
            #[track_caller]
            fn sum<I: Iterator<Item = &'item $carrier>>(terms: I) -> Self {
                terms.copied().sum()
            }
        }
        impl<'item, $($generics)*> std::iter::Product<&'item $carrier> for $carrier {
            #[track_caller]
            fn product<I: Iterator<Item = &'item $carrier>>(factors: I) -> Self {
                factors.copied().product()
            }
        }
        impl<$($generics)*> From<f64> for $carrier {
            #[cfg_attr(not(debug_assertions), inline(always))]
            fn from(value: f64) -> Self {
                $crate::real::Real::constant(value)
            }
        }
    };
    (@binary [$($generics:tt)*] $carrier:ty, $op:ident $method:ident $assign:ident $assign_method:ident) => {
        impl<$($generics)*> std::ops::$op for $carrier {
            type Output = Self;
            #[cfg_attr(not(debug_assertions), inline(always))]
            #[track_caller]
            fn $method(self, other: Self) -> Self {
                $crate::real::Real::binary(self, other, $crate::ops::Binary::$op)
            }
        }
        impl<$($generics)*> std::ops::$op<f64> for $carrier {
            type Output = Self;
            #[cfg_attr(not(debug_assertions), inline(always))]
            #[track_caller]
            fn $method(self, constant: f64) -> Self {
                $crate::real::Real::binary_constant(self, constant, $crate::ops::Binary::$op)
            }
        }
        impl<$($generics)*> std::ops::$op<$carrier> for f64 {
            type Output = $carrier;
            #[cfg_attr(not(debug_assertions), inline(always))]
            #[track_caller]
            fn $method(self, other: $carrier) -> $carrier {
                $crate::real::Real::constant_binary(self, other, $crate::ops::Binary::$op)
            }
        }
        impl<$($generics)*> std::ops::$assign for $carrier {
            #[cfg_attr(not(debug_assertions), inline(always))]
            #[track_caller]
            fn $assign_method(&mut self, other: Self) {
                *self = $crate::real::Real::binary(*self, other, $crate::ops::Binary::$op);
            }
        }
        impl<$($generics)*> std::ops::$assign<f64> for $carrier {
            #[cfg_attr(not(debug_assertions), inline(always))]
            #[track_caller]
            fn $assign_method(&mut self, constant: f64) {
                *self = $crate::real::Real::binary_constant(*self, constant, $crate::ops::Binary::$op);
            }
        }
    };
}
pub(crate) use real_operators;
