//! [`Real`]: everything a function can be run over.

use std::fmt::Debug;
use std::iter::{Product, Sum};
use std::ops::{Add, AddAssign, BitAnd, BitOr, Div, DivAssign, Mul, MulAssign, Neg, Not, Rem, Sub, SubAssign};

use crate::ops::{Binary, Compare, Unary};

/// The outcome of a comparison: one `bool`, one per lane, or one that was recorded.
pub trait Mask: Copy + Debug + Not<Output = Self> + BitAnd<Output = Self> + BitOr<Output = Self> + 'static {
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

/// The functions of one argument as methods, under the names people know: the body of the trait
/// [`Real`] and of `impl Var`. It only names: the functions are `unary`.
macro_rules! unary_methods {
    ($visibility:vis fn) => {
        $crate::real::unary_methods! { @list [$visibility]
            /// `|x|`; derivative 0 at 0.
            abs => Abs;
            /// -1, 0 or 1; derivative 0.
            sign => Sign;
            /// `x^2`
            square => Square;
            /// Square root; NaN below zero, derivative `inf` at zero.
            sqrt => Sqrt;
            /// `1/sqrt(x)`
            rsqrt => Rsqrt;
            /// Real cube root; derivative `inf` at zero.
            cbrt => Cbrt;
            /// `1/x`
            recip => Recip;
            /// `e^x`
            exp => Exp;
            /// `2^x`
            exp2 => Exp2;
            /// `e^x - 1`, accurate near 0.
            expm1 => Expm1;
            /// Natural logarithm; NaN below zero, `-inf` at zero.
            ln => Ln;
            /// Logarithm to base 2.
            log2 => Log2;
            /// Logarithm to base 10.
            log10 => Log10;
            /// `ln(1+x)`, accurate near 0.
            log1p => Log1p;
            /// Sine of an angle in radians.
            sin => Sin;
            /// Cosine of an angle in radians.
            cos => Cos;
            /// Tangent of an angle in radians.
            tan => Tan;
            /// Inverse sine; NaN outside `[-1, 1]`, derivative `inf` at ±1.
            asin => Asin;
            /// Inverse cosine; NaN outside `[-1, 1]`, derivative `-inf` at ±1.
            acos => Acos;
            /// Inverse tangent.
            atan => Atan;
            /// Hyperbolic sine.
            sinh => Sinh;
            /// Hyperbolic cosine.
            cosh => Cosh;
            /// Hyperbolic tangent.
            tanh => Tanh;
            /// `1/cosh(x)^2`, the derivative of `tanh`.
            sech2 => Sech2;
            /// Inverse hyperbolic sine.
            asinh => Asinh;
            /// Inverse hyperbolic cosine; NaN below 1.
            acosh => Acosh;
            /// Inverse hyperbolic tangent; NaN outside `[-1, 1]`.
            atanh => Atanh;
            /// `1/(1+e^-x)`
            sigmoid => Sigmoid;
            /// `ln(1+e^x)`
            softplus => Softplus;
            /// `max(x, 0)`; derivative 0 at 0.
            relu => Relu;
            /// `x Phi(x)`, with the normal distribution function.
            gelu_erf => GeluErf;
            /// The tanh approximation of [`gelu_erf`](Self::gelu_erf).
            gelu_tanh => GeluTanh;
            /// The derivative of [`gelu_tanh`](Self::gelu_tanh).
            gelu_tanh_slope => GeluTanhSlope;
            /// `x sigmoid(x)`
            silu => Silu;
            /// Error function.
            erf => Erf;
            /// `1 - erf(x)`, accurate in the right tail.
            erfc => Erfc;
            /// Density of the normal distribution.
            normal_pdf => NormalPdf;
            /// Distribution function of the normal distribution, accurate in the left tail.
            normal_cdf => NormalCdf;
            /// Quantile of the normal distribution, the inverse of `normal_cdf`; NaN outside `[0, 1]`.
            normal_quantile => NormalQuantile;
            /// `normal_quantile(e^x)`, also where `e^x` underflows or rounds to 1; NaN above 0.
            normal_quantile_of_log => NormalQuantileOfLog;
            /// Inverse of the error function; NaN outside `[-1, 1]`.
            erfinv => Erfinv;
            /// `ln |Gamma(x)|`
            lgamma => Lgamma;
            /// Derivative of `lgamma`.
            digamma => Digamma;
            /// Largest integer not above x; derivative 0.
            floor => Floor;
            /// Smallest integer not below x; derivative 0.
            ceil => Ceil;
            /// Nearest integer, halves to even; derivative 0.
            round => Round;
            /// Integer part; derivative 0.
            trunc => Trunc;
            /// The same value with derivative 0 on purpose; the status of a gradient reports it. Its
            /// number may be taken out of a function that is differentiated.
            detach => Detach;
        }
    };
    (@list [$visibility:vis] $($(#[$doc:meta])* $name:ident => $op:ident;)*) => { $(
        $(#[$doc])*
        #[cfg_attr(not(debug_assertions), inline(always))]
        #[track_caller]
        $visibility fn $name(self) -> Self {
            $crate::real::Real::unary(self, $crate::ops::Unary::$op)
        }
    )* };
}
pub(crate) use unary_methods;

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
    /// Angle of the point with ordinate `self` and abscissa `other`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn atan2(self, other: Self) -> Self {
        self.binary(other, Binary::Atan2)
    }
    /// `sqrt(self^2 + other^2)` without overflow.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn hypot(self, other: Self) -> Self {
        self.binary(other, Binary::Hypot)
    }
    /// The larger one; NaN if one is NaN; equal ones share the derivative.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn max(self, other: Self) -> Self {
        self.binary(other, Binary::Max)
    }
    /// The smaller one; NaN if one is NaN; equal ones share the derivative.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn min(self, other: Self) -> Self {
        self.binary(other, Binary::Min)
    }
    /// `|self|` with the sign of `other`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn copysign(self, other: Self) -> Self {
        self.binary(other, Binary::Copysign)
    }
    /// `ln(e^self + e^other)` without overflow.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn logaddexp(self, other: Self) -> Self {
        self.binary(other, Binary::Logaddexp)
    }
    /// `self ln(other)`, 0 where `self` is 0.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn xlogy(self, other: Self) -> Self {
        self.binary(other, Binary::Xlogy)
    }
    /// `self ln(1 + other)`, 0 where `self` is 0.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn xlog1py(self, other: Self) -> Self {
        self.binary(other, Binary::Xlog1py)
    }
    /// Logarithm of the beta function of two positive numbers.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn betaln(self, other: Self) -> Self {
        self.binary(other, Binary::Betaln)
    }
    /// `self^exponent` for a constant exponent.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn powf(self, exponent: f64) -> Self {
        self.binary_constant(exponent, Binary::Pow)
    }
    /// `self^exponent`
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn pow(self, exponent: Self) -> Self {
        self.binary(exponent, Binary::Pow)
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
