//! Elementary functions of one number, for `f32` and `f64`, that loops turn into vector code.
//!
//! A plain `for` over slices that calls a method of [`Float`] becomes vector instructions
//! inside [`dispatch`](crate::dispatch()): every method is inlined and has no branch on a value.
//!
//! ```
//! use wengert_kernels::{Float, Work, dispatch};
//!
//! /// `y = tanh(x)` for both types.
//! struct Tanh<'a, F>(&'a [F], &'a mut [F]);
//!
//! impl<F: Float> Work for Tanh<'_, F> {
//!     type Output = ();
//!     #[inline(always)]
//!     fn run(self) {
//!         for (y, x) in self.1.iter_mut().zip(self.0) {
//!             *y = x.tanh();
//!         }
//!     }
//! }
//!
//! let mut y = [0.0_f32; 3];
//! dispatch(Tanh(&[0.0, -50.0, 1e-9], &mut y));
//! assert_eq!(y, [0.0, -1.0, 1e-9]);
//! ```
//!
//! The exceptions are `sin`, `cos` and `tan`, which branch for large angles, and
//! [`powi`](Float::powi), which has a loop: over slices call [`Float::sin_slice`],
//! [`Float::cos_slice`], [`Float::tan_slice`] and [`Float::powi_slice`]. They give the same bits.
//!
//! The functions of `f64` are those of [`math`](crate::math), with a few more; those of `f32`
//! are computed in `f64` and rounded once. The bits do not depend on the level, except those of
//! NaN and of sine, cosine and tangent of an `f64` beyond 131072. The accuracy is in the table
//! of the [crate](crate#functions).

mod double;
mod single;
pub(crate) mod wide;

use std::fmt::Debug;
use std::ops::{Add, Div, Mul, Neg, Sub};

mod sealed {
    /// Keeps [`Float`](super::Float) to the two types whose accuracy is tested.
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// Numbers that the kernels compute with: `f32` and `f64`.
///
/// Where nothing else is said, NaN gives NaN and odd functions keep the sign of a zero.
///
/// ```
/// use wengert_kernels::Float;
///
/// fn gaussian<F: Float>(x: F) -> F {
///     (-(x * x)).exp()
/// }
/// assert_eq!(gaussian(1.0_f32), 0.36787945);
/// assert_eq!(gaussian(1.0_f64), 0.36787944117144233);
/// ```
pub trait Float:
    sealed::Sealed
    + Copy
    + PartialOrd
    + PartialEq
    + Default
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + Send
    + Sync
    + Debug
    + 'static
{
    /// The nearest number of this type, ties to even.
    fn from_f64(x: f64) -> Self;
    /// The same number; exact.
    fn to_f64(self) -> f64;

    /// `|x|`
    fn abs(self) -> Self;
    /// -1, 0 or 1; a zero is itself.
    fn sign(self) -> Self;
    /// Square root, rounded correctly; NaN below zero.
    fn sqrt(self) -> Self;
    /// `1 / sqrt(x)`, rounded twice; infinite at zero with its sign, NaN below.
    fn rsqrt(self) -> Self;
    /// Cube root, also of negative numbers.
    fn cbrt(self) -> Self;
    /// `e^x`; overflows to infinity and underflows to zero.
    fn exp(self) -> Self;
    /// `2^x`; exact for integers.
    fn exp2(self) -> Self;
    /// `e^x - 1`, accurate near zero.
    fn expm1(self) -> Self;
    /// Natural logarithm; minus infinity at zero, NaN below.
    fn ln(self) -> Self;
    /// Logarithm to base two, exact for powers of two; minus infinity at zero, NaN below.
    fn log2(self) -> Self;
    /// Logarithm to base ten; minus infinity at zero, NaN below.
    fn log10(self) -> Self;
    /// `ln(1 + x)`, accurate near zero; minus infinity at -1, NaN below.
    fn log1p(self) -> Self;
    /// Sine of an angle in radians; NaN at infinity. For loops see [`sin_slice`](Float::sin_slice).
    fn sin(self) -> Self;
    /// Cosine of an angle in radians; NaN at infinity. For loops see [`cos_slice`](Float::cos_slice).
    fn cos(self) -> Self;
    /// Tangent of an angle in radians; NaN at infinity. For loops see [`tan_slice`](Float::tan_slice).
    fn tan(self) -> Self;
    /// Arc sine, from `-pi/2` to `pi/2`; NaN beyond one.
    fn asin(self) -> Self;
    /// Arc cosine, from 0 to `pi`; NaN beyond one.
    fn acos(self) -> Self;
    /// Arc tangent, from `-pi/2` to `pi/2`.
    fn atan(self) -> Self;
    /// `(e^x - e^-x) / 2`
    fn sinh(self) -> Self;
    /// `(e^x + e^-x) / 2`
    fn cosh(self) -> Self;
    /// `(e^x - e^-x) / (e^x + e^-x)`
    fn tanh(self) -> Self;
    /// `1 / cosh(x)^2`, the derivative of `tanh`; decays like `4 e^-2|x|` down to the subnormal
    /// numbers.
    fn sech2(self) -> Self;
    /// [`tanh`](Float::tanh) and [`sech2`](Float::sech2), with the same bits.
    fn tanh_sech2(self) -> (Self, Self);
    /// Inverse of `sinh`.
    fn asinh(self) -> Self;
    /// Inverse of `cosh`; NaN below one.
    fn acosh(self) -> Self;
    /// Inverse of `tanh`; infinite at one and minus one, NaN beyond.
    fn atanh(self) -> Self;
    /// `1 / (1 + e^-x)`, accurate in both tails.
    fn sigmoid(self) -> Self;
    /// `ln(1 + e^x)`, without overflow.
    fn softplus(self) -> Self;
    /// `max(x, 0)`; 0 at -0.
    fn relu(self) -> Self;
    /// `x/2 erfc(-x / sqrt 2)`: `x` times the normal distribution function (Hendrycks and
    /// Gimpel, "Gaussian error linear units", 2016); -0 at minus infinity.
    fn gelu_erf(self) -> Self;
    /// `x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))`, the approximation of the same paper;
    /// -0 at minus infinity.
    fn gelu_tanh(self) -> Self;
    /// The derivative of [`gelu_tanh`](Float::gelu_tanh); 1 at infinity, -0 at minus infinity.
    fn gelu_tanh_slope(self) -> Self;
    /// [`gelu_tanh`](Float::gelu_tanh) and [`gelu_tanh_slope`](Float::gelu_tanh_slope), with the same bits.
    fn gelu_tanh_with_slope(self) -> (Self, Self);
    /// `x / (1 + e^-x)`; -0 at minus infinity.
    fn silu(self) -> Self;
    /// Error function, `2/sqrt(pi)` times the integral of `e^(-t^2)` from 0 to `x`.
    fn erf(self) -> Self;
    /// `1 - erf(x)`, accurate in the right tail.
    fn erfc(self) -> Self;
    /// Inverse of `erf`; infinite at one and minus one, NaN beyond.
    fn erfinv(self) -> Self;
    /// Largest integer not above `x`.
    fn floor(self) -> Self;
    /// Smallest integer not below `x`.
    fn ceil(self) -> Self;
    /// Nearest integer, halves to even.
    fn round(self) -> Self;
    /// Integer part, towards zero.
    fn trunc(self) -> Self;
    /// `x^n` by repeated squaring, the reciprocal of that for negative `n`; `x^0` is one, also
    /// of NaN. The error grows like `n/2` roundings of an `f64`.
    fn powi(self, n: i32) -> Self;

    /// `x^y`, with the cases of IEEE 754-2019, section 9.2.1: one to any power and anything to
    /// the power zero are one, even with NaN; a negative number to a power that is no integer
    /// is NaN.
    fn pow(self, y: Self) -> Self;
    /// Angle of the point with ordinate `self` and abscissa `x`, from `-pi` to `pi`; zeros and
    /// infinities as in IEEE 754-2019, section 9.2.
    fn atan2(self, x: Self) -> Self;
    /// `sqrt(x^2 + y^2)` without overflow or underflow on the way; infinite if one is, even if
    /// the other is NaN.
    fn hypot(self, y: Self) -> Self;
    /// The larger number; NaN if one is NaN; `max(-0, 0)` is 0.
    fn max(self, y: Self) -> Self;
    /// The smaller number; NaN if one is NaN; `min(-0, 0)` is -0.
    fn min(self, y: Self) -> Self;
    /// `|self|` with the sign of `y`.
    fn copysign(self, y: Self) -> Self;
    /// `ln(e^x + e^y)` without overflow. Where the result cancels to nearly zero, the error is
    /// relative to the larger argument.
    fn logaddexp(self, y: Self) -> Self;
    /// `self * ln(y)`, and zero where `self` is zero, unless `y` is NaN.
    fn xlogy(self, y: Self) -> Self;
    /// `self * a + b`, rounded once. One instruction from the level Avx2 on; at the baseline it
    /// is emulated and some sixty times slower.
    fn mul_add(self, a: Self, b: Self) -> Self;

    /// `y = sin(x)` in vector code, with the same bits as [`sin`](Float::sin).
    ///
    /// Angles beyond 131072 (`f64`) or 33554432 (`f32`) are computed again, one at a time.
    ///
    /// ```
    /// use wengert_kernels::Float;
    /// let mut y = [0.0; 2];
    /// Float::sin_slice(&[0.0_f32, 1e30], &mut y);
    /// assert_eq!(y, [0.0, -0.79116344]);
    /// ```
    ///
    /// # Panics
    ///
    /// If the slices differ in length.
    fn sin_slice(x: &[Self], y: &mut [Self]);
    /// `y = cos(x)` in vector code, with the same bits as [`cos`](Float::cos); see
    /// [`sin_slice`](Float::sin_slice).
    ///
    /// # Panics
    ///
    /// If the slices differ in length.
    fn cos_slice(x: &[Self], y: &mut [Self]);
    /// [`sin_slice`](Float::sin_slice) and [`cos_slice`](Float::cos_slice) at once.
    ///
    /// # Panics
    ///
    /// If the slices differ in length.
    fn sin_cos_slice(x: &[Self], sine: &mut [Self], cosine: &mut [Self]);
    /// `y = tan(x)` in vector code, with the same bits as [`tan`](Float::tan); see
    /// [`sin_slice`](Float::sin_slice).
    ///
    /// # Panics
    ///
    /// If the slices differ in length.
    fn tan_slice(x: &[Self], y: &mut [Self]);
    /// `y = x^n` in vector code, with the same bits as [`powi`](Float::powi).
    ///
    /// ```
    /// use wengert_kernels::Float;
    /// let mut y = [0.0; 2];
    /// Float::powi_slice(&[2.0_f64, -1.0], -3, &mut y);
    /// assert_eq!(y, [0.125, -1.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// If the slices differ in length.
    fn powi_slice(x: &[Self], n: i32, y: &mut [Self]);
}

/// Writes the functions of a type that need no mathematics; both types are binary formats.
macro_rules! plain_functions {
    ($float:ty, $first_integers:expr) => {
        #[inline(always)]
        fn to_f64(self) -> f64 {
            f64::from(self)
        }
        #[inline(always)]
        fn abs(self) -> $float {
            <$float>::abs(self)
        }
        #[inline(always)]
        fn sign(self) -> $float {
            // The product keeps zeros and NaN.
            let sign = if self > 0.0 { 1.0 } else { self * 0.0 };
            if self < 0.0 { -1.0 } else { sign }
        }
        #[inline(always)]
        fn sqrt(self) -> $float {
            <$float>::sqrt(self)
        }
        #[inline(always)]
        fn rsqrt(self) -> $float {
            1.0 / <$float>::sqrt(self)
        }
        #[inline(always)]
        fn relu(self) -> $float {
            // False for NaN, which is kept.
            if self <= 0.0 { 0.0 } else { self }
        }
        #[inline(always)]
        fn round(self) -> $float {
            // Beyond this sum there are integers only, so it rounds; the instruction for it is
            // not in the baseline.
            let rounded = (<$float>::abs(self) + $first_integers) - $first_integers;
            let rounded = <$float>::copysign(rounded, self);
            if <$float>::abs(self) < $first_integers { rounded } else { self }
        }
        #[inline(always)]
        fn floor(self) -> $float {
            let rounded = Float::round(self);
            let above = if rounded > self { 1.0 } else { 0.0 };
            <$float>::copysign(rounded - above, self)
        }
        #[inline(always)]
        fn ceil(self) -> $float {
            let rounded = Float::round(self);
            let below = if rounded < self { 1.0 } else { 0.0 };
            <$float>::copysign(rounded + below, self)
        }
        #[inline(always)]
        fn trunc(self) -> $float {
            let rounded = Float::round(<$float>::abs(self));
            let above = if rounded > <$float>::abs(self) { 1.0 } else { 0.0 };
            <$float>::copysign(rounded - above, self)
        }
        #[inline(always)]
        fn max(self, y: $float) -> $float {
            let larger = if self > y { self } else { y };
            // Equal numbers have the same bits, except zeros, which may differ in sign.
            let equal = <$float>::from_bits(self.to_bits() & y.to_bits());
            let larger = if self == y { equal } else { larger };
            // A NaN in y is taken by the first line.
            if self.is_nan() { self } else { larger }
        }
        #[inline(always)]
        fn min(self, y: $float) -> $float {
            let smaller = if self < y { self } else { y };
            let equal = <$float>::from_bits(self.to_bits() | y.to_bits());
            let smaller = if self == y { equal } else { smaller };
            if self.is_nan() { self } else { smaller }
        }
        #[inline(always)]
        fn copysign(self, y: $float) -> $float {
            <$float>::copysign(self, y)
        }
        #[inline(always)]
        fn mul_add(self, a: $float, b: $float) -> $float {
            <$float>::mul_add(self, a, b)
        }
    };
}
use plain_functions;

/// `y = function(x)`, with `large` numbers computed again by `repair`, which is not inlined.
///
/// The function is called by name: as a parameter it would not be inlined.
macro_rules! slice_function {
    ($name:ident, $float:ty, $function:path, $large:expr, $repair:path) => {
        #[inline(always)]
        fn $name(x: &[$float], y: &mut [$float]) {
            assert_eq!(x.len(), y.len(), "the slices have one length");
            let mut any = false;
            for (y, &x) in y.iter_mut().zip(x) {
                *y = $function(x);
                any |= $large(x);
            }
            if any {
                $crate::float::repair(x, y, $large, $repair);
            }
        }
    };
}
use slice_function;

/// Replaces the results of large arguments.
#[cold]
#[inline(never)]
fn repair<F: Float>(x: &[F], y: &mut [F], large: fn(F) -> bool, function: fn(F) -> F) {
    for (y, &x) in y.iter_mut().zip(x) {
        if large(x) {
            *y = function(x);
        }
    }
}

/// `base^n` by repeated squaring, or its reciprocal.
#[inline(always)]
fn power_by_squaring(base: f64, n: i32) -> f64 {
    let (mut square, mut power, mut rest) = (base, 1.0, n.unsigned_abs());
    while rest != 0 {
        if rest & 1 == 1 {
            power *= square;
        }
        rest >>= 1;
        square *= square;
    }
    if n < 0 { 1.0 / power } else { power }
}

/// Numbers that are raised to a power together: a few vectors, so that they stay in registers.
const BLOCK: usize = 32;

/// The same for a block: the loop over the bits of `n` is outside of that over the numbers.
#[inline(always)]
fn block_of_powers<F: Float>(x: &[F; BLOCK], n: i32, y: &mut [F; BLOCK]) {
    let (mut square, mut power, mut rest) = (x.map(F::to_f64), [1.0; BLOCK], n.unsigned_abs());
    while rest != 0 {
        if rest & 1 == 1 {
            for (power, square) in power.iter_mut().zip(&square) {
                *power *= *square;
            }
        }
        rest >>= 1;
        for square in &mut square {
            *square *= *square;
        }
    }
    for (y, power) in y.iter_mut().zip(&power) {
        *y = F::from_f64(if n < 0 { 1.0 / *power } else { *power });
    }
}

/// The same for a slice; its end is a block with other numbers behind it.
#[inline(always)]
fn powers_by_squaring<F: Float>(x: &[F], n: i32, y: &mut [F]) {
    assert_eq!(x.len(), y.len(), "the slices have one length");
    let ((x, x_rest), (y, y_rest)) = (x.as_chunks(), y.as_chunks_mut());
    for (x, y) in x.iter().zip(y) {
        block_of_powers(x, n, y);
    }
    let (mut last, mut powers) = ([F::default(); BLOCK], [F::default(); BLOCK]);
    last[..x_rest.len()].copy_from_slice(x_rest);
    block_of_powers(&last, n, &mut powers);
    y_rest.copy_from_slice(&powers[..y_rest.len()]);
}
