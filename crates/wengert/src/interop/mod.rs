//! [`Var`] and [`Dual`] as elements of other people's arrays: the traits of `num-traits` that
//! [nalgebra](self::nalgebra) and [ndarray](self::ndarray) ask of a number.
//!
//! Every method is the operation of the same name of [`Real`], so its derivative is the one of
//! [`ops`](crate::ops), with these conventions where a trait leaves a choice:
//!
//! - A method that answers `bool` looks at the value and steers control flow, like a comparison:
//!   inside [`record`](crate::record) it is a guard.
//! - A conversion to a primitive number (`to_f64`, `to_subset`, `integer_decode`, …) takes the value
//!   out, like [`Var::value`], and panics where that does. Decompositions only compare; nalgebra's
//!   `exp` of a matrix converts, and runs over [`Dual`] only.
//! - `max` and `min` give NaN if one operand is NaN, where those of `f64` ignore it.
//! - `round` goes away from zero at halves, as these traits demand; [`Real::round`] goes to even.

use std::f64::consts;
use std::fmt;
use std::num::FpCategory;

use num_traits::{
    Bounded, FloatConst, FromPrimitive, Inv, Num, NumCast, One, ParseFloatError, Pow, Signed, ToPrimitive, Zero,
};

use crate::dual::Dual;
use crate::ops::{Binary, Compare};
use crate::real::Real;
use crate::tape::Var;

#[cfg(feature = "nalgebra")]
mod nalgebra;
#[cfg(feature = "ndarray")]
mod ndarray;
#[cfg(all(feature = "ndarray", feature = "arrays"))]
mod tensor;

/// The plain number, out of the recording.
#[track_caller]
fn number(x: &impl ToPrimitive) -> f64 {
    x.to_f64().expect("a carrier is a number")
}

/// `x` is NaN, as a comparison.
#[track_caller]
fn is_nan<R: Real>(x: R) -> bool {
    Compare::Ne.eval(x, x)
}

/// `-inf < x < inf`, as a comparison.
#[track_caller]
fn is_finite<R: Real>(x: R) -> bool {
    x > f64::NEG_INFINITY && x < f64::INFINITY
}

/// The sign bit is set, as a comparison; that of -0 and NaN counts.
#[track_caller]
fn is_sign_negative<R: Real>(x: R) -> bool {
    Real::constant_binary(1.0, x, Binary::Copysign) < 0.0
}

/// 1 with the sign of `x`, also that of a zero; NaN for NaN; derivative 0.
#[track_caller]
fn signum<R: Real>(x: R) -> R {
    R::branch(x.equal(x), || Real::constant_binary(1.0, x, Binary::Copysign), || x)
}

/// The nearest integer, halves away from zero; derivative 0.
#[track_caller]
fn round<R: Real>(x: R) -> R {
    // x - t and its double are exact, so an integer of 1 is added from exactly one half on.
    let t = Real::trunc(x);
    R::branch(x.equal(t), || t, || t + Real::trunc((x - t) * 2.0))
}

/// `x - trunc(x)`; derivative 1.
#[track_caller]
fn fract<R: Real>(x: R) -> R {
    x - Real::trunc(x)
}

/// `ln x / ln base`
#[track_caller]
fn log<R: Real>(x: R, base: R) -> R {
    Real::ln(x) / Real::ln(base)
}

/// Methods without arguments that are those of [`Real`] of this name, or of the name after `as`.
macro_rules! forward {
    (@one $name:ident) => {
        $crate::interop::forward! { @one $name $name }
    };
    (@one $name:ident $real:ident) => {
        #[inline]
        #[track_caller]
        fn $name(self) -> Self {
            Real::$real(self)
        }
    };
    ($($name:ident $(as $real:ident)?),* $(,)?) => {
        $($crate::interop::forward! { @one $name $($real)? })*
    };
}
use forward;

/// Methods with one argument that are those of [`Real`] of this name, or of the name after `as`.
macro_rules! forward_with {
    (@one $name:ident) => {
        $crate::interop::forward_with! { @one $name $name }
    };
    (@one $name:ident $real:ident) => {
        #[inline]
        #[track_caller]
        fn $name(self, other: Self) -> Self {
            Real::$real(self, other)
        }
    };
    ($($name:ident $(as $real:ident)?),* $(,)?) => {
        $($crate::interop::forward_with! { @one $name $($real)? })*
    };
}
use forward_with;

/// Functions without arguments that are constants.
macro_rules! constants {
    ($($name:ident = $value:expr),* $(,)?) => {
        $(
            #[inline]
            fn $name() -> Self {
                Real::constant($value)
            }
        )*
    };
}
#[cfg(feature = "nalgebra")]
use constants;

/// What needs nothing but [`Real`]: `Zero`, `One`, `Num`, `FromPrimitive`, `Signed`, `Bounded`,
/// `FloatConst`, `Inv`, `Pow`.
macro_rules! numbers {
    ([$($generics:tt)*] $carrier:ty) => {
        impl<$($generics)*> Zero for $carrier {
            constants! { zero = 0.0 }
            #[inline]
            #[track_caller]
            fn is_zero(&self) -> bool {
                *self == 0.0
            }
        }

        impl<$($generics)*> One for $carrier {
            constants! { one = 1.0 }
            #[inline]
            #[track_caller]
            fn is_one(&self) -> bool {
                *self == 1.0
            }
        }

        impl<$($generics)*> Num for $carrier {
            type FromStrRadixErr = ParseFloatError;
            fn from_str_radix(text: &str, radix: u32) -> Result<Self, ParseFloatError> {
                f64::from_str_radix(text, radix).map(Real::constant)
            }
        }

        impl<$($generics)*> FromPrimitive for $carrier {
            fn from_i64(n: i64) -> Option<Self> {
                Some(Real::constant(n as f64))
            }
            fn from_u64(n: u64) -> Option<Self> {
                Some(Real::constant(n as f64))
            }
            fn from_i128(n: i128) -> Option<Self> {
                Some(Real::constant(n as f64))
            }
            fn from_u128(n: u128) -> Option<Self> {
                Some(Real::constant(n as f64))
            }
            fn from_f64(n: f64) -> Option<Self> {
                Some(Real::constant(n))
            }
        }

        impl<$($generics)*> Signed for $carrier {
            #[inline]
            #[track_caller]
            fn abs(&self) -> Self {
                Real::abs(*self)
            }
            #[inline]
            #[track_caller]
            fn abs_sub(&self, other: &Self) -> Self {
                Real::relu(*self - *other)
            }
            #[inline]
            #[track_caller]
            fn signum(&self) -> Self {
                signum(*self)
            }
            #[inline]
            #[track_caller]
            fn is_positive(&self) -> bool {
                *self > 0.0
            }
            #[inline]
            #[track_caller]
            fn is_negative(&self) -> bool {
                *self < 0.0
            }
        }

        impl<$($generics)*> Bounded for $carrier {
            constants! { min_value = f64::MIN, max_value = f64::MAX }
        }

        impl<$($generics)*> FloatConst for $carrier {
            constants! {
                E = consts::E,
                FRAC_1_PI = consts::FRAC_1_PI,
                FRAC_1_SQRT_2 = consts::FRAC_1_SQRT_2,
                FRAC_2_PI = consts::FRAC_2_PI,
                FRAC_2_SQRT_PI = consts::FRAC_2_SQRT_PI,
                FRAC_PI_2 = consts::FRAC_PI_2,
                FRAC_PI_3 = consts::FRAC_PI_3,
                FRAC_PI_4 = consts::FRAC_PI_4,
                FRAC_PI_6 = consts::FRAC_PI_6,
                FRAC_PI_8 = consts::FRAC_PI_8,
                LN_10 = consts::LN_10,
                LN_2 = consts::LN_2,
                LOG10_E = consts::LOG10_E,
                LOG2_E = consts::LOG2_E,
                PI = consts::PI,
                SQRT_2 = consts::SQRT_2,
            }
        }

        impl<$($generics)*> Inv for $carrier {
            type Output = Self;
            #[inline]
            #[track_caller]
            fn inv(self) -> Self {
                Real::recip(self)
            }
        }

        impl<$($generics)*> Pow<$carrier> for $carrier {
            type Output = Self;
            #[inline]
            #[track_caller]
            fn pow(self, exponent: Self) -> Self {
                Real::pow(self, exponent)
            }
        }

        impl<$($generics)*> Pow<f64> for $carrier {
            type Output = Self;
            #[inline]
            #[track_caller]
            fn pow(self, exponent: f64) -> Self {
                Real::powf(self, exponent)
            }
        }

        impl<$($generics)*> Pow<i32> for $carrier {
            type Output = Self;
            #[inline]
            #[track_caller]
            fn pow(self, exponent: i32) -> Self {
                Real::powi(self, exponent)
            }
        }
    };
}
numbers! { [] Var }
numbers! { [R: Real, const N: usize] Dual<R, N> }

/// Conversions to these types by way of `f64`; those that the trait provides would name its own lines.
macro_rules! to_primitives {
    ($($name:ident -> $to:ty),* $(,)?) => { $(
        #[track_caller]
        fn $name(&self) -> Option<$to> {
            number(self).$name()
        }
    )* };
}

/// What also needs the plain number: `ToPrimitive`, by `$to_f64`, `NumCast` and `Float`.
macro_rules! floats {
    ([$($generics:tt)*] $carrier:ty, |$x:ident| $to_f64:expr) => {
        impl<$($generics)*> ToPrimitive for $carrier {
            #[track_caller]
            fn to_f64(&self) -> Option<f64> {
                let $x = *self;
                $to_f64
            }
            to_primitives! {
                to_i8 -> i8, to_i16 -> i16, to_i32 -> i32, to_i64 -> i64, to_i128 -> i128, to_isize -> isize,
                to_u8 -> u8, to_u16 -> u16, to_u32 -> u32, to_u64 -> u64, to_u128 -> u128, to_usize -> usize,
                to_f32 -> f32,
            }
        }

        impl<$($generics)*> NumCast for $carrier {
            #[track_caller]
            fn from<T: ToPrimitive>(n: T) -> Option<Self> {
                n.to_f64().map(Real::constant)
            }
        }

        impl<$($generics)*> num_traits::Float for $carrier {
            constants! {
                nan = f64::NAN,
                infinity = f64::INFINITY,
                neg_infinity = f64::NEG_INFINITY,
                neg_zero = -0.0,
                min_value = f64::MIN,
                min_positive_value = f64::MIN_POSITIVE,
                max_value = f64::MAX,
                epsilon = f64::EPSILON,
            }
            forward! {
                floor, ceil, trunc, abs, recip, sqrt, cbrt, exp, exp2, ln, log2, log10, sin, cos, tan,
                asin, acos, atan, sinh, cosh, tanh, asinh, acosh, atanh, exp_m1 as expm1, ln_1p as log1p,
            }
            forward_with! { powf as pow, max, min, hypot, atan2, copysign }

            #[track_caller]
            fn is_nan(self) -> bool {
                is_nan(self)
            }
            #[track_caller]
            fn is_infinite(self) -> bool {
                !is_finite(self) && !is_nan(self)
            }
            #[track_caller]
            fn is_finite(self) -> bool {
                is_finite(self)
            }
            #[track_caller]
            fn is_normal(self) -> bool {
                is_finite(self) && Real::abs(self) >= f64::MIN_POSITIVE
            }
            #[track_caller]
            fn classify(self) -> FpCategory {
                match () {
                    () if is_nan(self) => FpCategory::Nan,
                    () if !is_finite(self) => FpCategory::Infinite,
                    () if self == 0.0 => FpCategory::Zero,
                    () if Real::abs(self) < f64::MIN_POSITIVE => FpCategory::Subnormal,
                    () => FpCategory::Normal,
                }
            }
            #[track_caller]
            fn integer_decode(self) -> (u64, i16, i8) {
                num_traits::Float::integer_decode(number(&self))
            }
            #[track_caller]
            fn is_sign_positive(self) -> bool {
                !is_sign_negative(self)
            }
            #[track_caller]
            fn is_sign_negative(self) -> bool {
                is_sign_negative(self)
            }
            #[track_caller]
            fn round(self) -> Self {
                round(self)
            }
            #[track_caller]
            fn fract(self) -> Self {
                fract(self)
            }
            #[track_caller]
            fn signum(self) -> Self {
                signum(self)
            }
            #[inline]
            #[track_caller]
            fn mul_add(self, a: Self, b: Self) -> Self {
                Real::mul_add(self, a, b)
            }
            #[inline]
            #[track_caller]
            fn powi(self, n: i32) -> Self {
                Real::powi(self, n)
            }
            #[track_caller]
            fn log(self, base: Self) -> Self {
                log(self, base)
            }
            #[track_caller]
            fn to_degrees(self) -> Self {
                self * (180.0 / consts::PI)
            }
            #[track_caller]
            fn to_radians(self) -> Self {
                self * (consts::PI / 180.0)
            }
            #[track_caller]
            fn clamp(self, low: Self, high: Self) -> Self {
                Real::clamp_to(self, low, high)
            }
            #[track_caller]
            fn abs_sub(self, other: Self) -> Self {
                Real::relu(self - other)
            }
            #[inline]
            #[track_caller]
            fn sin_cos(self) -> (Self, Self) {
                (Real::sin(self), Real::cos(self))
            }
        }
    };
}
floats! { [] Var, |var| Some(var.taken_by("to_f64")) }
floats! { [R: Real + ToPrimitive, const N: usize] Dual<R, N>, |dual| dual.re().to_f64() }

impl<R: Real + fmt::Display, const N: usize> fmt::Display for Dual<R, N> {
    /// The value without its tangents.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.re(), f)
    }
}
