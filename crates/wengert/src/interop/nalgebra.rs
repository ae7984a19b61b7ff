//! nalgebra: [`Var`] and [`Dual`] as elements of matrices, and matrices as points of drivers.
//!
//! With `RealField` every decomposition runs over them: a pivot is chosen by the values, and the
//! derivative is that of the steps taken. The exponential of a matrix is the one function that takes
//! a number out to choose its steps, which a driver refuses over `Var` as it refuses
//! [`Var::value`]; over `Dual` it runs.

use std::f64::consts;
use std::ops::Mul;

use approx::{AbsDiffEq, RelativeEq, UlpsEq};
use nalgebra::allocator::Allocator;
use nalgebra::{ArrayStorage, Const, DefaultAllocator, Dim, Dyn, Matrix, OMatrix, Storage, VecStorage};
use num_traits::ToPrimitive;
use simba::scalar::{ComplexField, Field, RealField, SubsetOf};
use simba::simd::{PrimitiveSimdValue, SimdValue};

use super::{constants, forward, forward_with};
use crate::dual::Dual;
use crate::ops::Compare;
use crate::real::{Carrier, Lit, Real};
use crate::tape::Var;
use crate::tree::{Several, Tree};

/// `|x - y| <= epsilon`, or `<= max_relative` times the larger one; as comparisons.
#[track_caller]
fn relative_eq<R: Real>(x: R, y: R, epsilon: R, max_relative: R) -> bool {
    if x == y {
        return true;
    }
    if !super::is_finite(x) || !super::is_finite(y) {
        return false;
    }
    let distance = Real::abs(x - y);
    distance <= epsilon || distance <= Real::max(Real::abs(x), Real::abs(y)) * max_relative
}

/// `sinh(x)/x`, 1 at 0.
#[track_caller]
fn sinhc<R: Real>(x: R) -> R {
    near_zero(x, 1.0, || Real::sinh(x) / x)
}

/// `sin(x)/x`, 1 at 0.
#[track_caller]
fn sinc<R: Real>(x: R) -> R {
    near_zero(x, -1.0, || Real::sin(x) / x)
}

/// The sum of `sign^k x^(2k) / (2k + 1)!` for `|x| < 2`, where the derivatives of the quotient cancel, and that elsewhere. The last
/// term, of k = 18, is below 1e-30, and so are its derivatives of any order that anybody asks for.
#[track_caller]
fn near_zero<R: Real>(x: R, sign: f64, quotient: impl FnOnce() -> R) -> R {
    let square = Real::square(x);
    let series = || {
        (1..19).rev().fold(R::constant(1.0), |sum, k| {
            let k = f64::from(k);
            sum * square * (sign / (2.0 * k * (2.0 * k + 1.0))) + 1.0
        })
    };
    R::branch(square.less(R::constant(4.0)), series, quotient)
}

/// `lit(2.0) * matrix`, of any elements that are carriers; nalgebra has it for primitive numbers alone.
impl<T: Carrier, R: Dim, C: Dim, S: Storage<T, R, C>> Mul<Matrix<T, R, C, S>> for Lit
where
    DefaultAllocator: Allocator<R, C>,
{
    type Output = OMatrix<T, R, C>;
    #[track_caller]
    fn mul(self, matrix: Matrix<T, R, C, S>) -> Self::Output {
        matrix * T::from(self.value())
    }
}

impl<T: Carrier, R: Dim, C: Dim, S: Storage<T, R, C>> Mul<&Matrix<T, R, C, S>> for Lit
where
    DefaultAllocator: Allocator<R, C>,
{
    type Output = OMatrix<T, R, C>;
    #[track_caller]
    fn mul(self, matrix: &Matrix<T, R, C, S>) -> Self::Output {
        matrix * T::from(self.value())
    }
}

/// The approximate comparisons that need nothing but [`Real`].
macro_rules! approximate {
    ([$($generics:tt)*] $carrier:ty) => {
        impl<$($generics)*> AbsDiffEq for $carrier {
            type Epsilon = Self;
            constants! { default_epsilon = f64::EPSILON }
            #[track_caller]
            fn abs_diff_eq(&self, other: &Self, epsilon: Self) -> bool {
                Real::abs(*self - *other) <= epsilon
            }
        }

        impl<$($generics)*> RelativeEq for $carrier {
            constants! { default_max_relative = f64::EPSILON }
            #[track_caller]
            fn relative_eq(&self, other: &Self, epsilon: Self, max_relative: Self) -> bool {
                relative_eq(*self, *other, epsilon, max_relative)
            }
        }
    };
}
approximate! { [] Var }
approximate! { [R: Real, const N: usize] Dual<R, N> }

impl UlpsEq for Var {
    fn default_max_ulps() -> u32 {
        f64::default_max_ulps()
    }
    /// Counts the steps between the plain numbers. Inside [`record`](crate::record), where that could
    /// not be a guard, it panics.
    #[track_caller]
    fn ulps_eq(&self, other: &Self, epsilon: Self, max_ulps: u32) -> bool {
        const NAME: &str = "ulps_eq";
        self.compared_by(NAME).ulps_eq(&other.compared_by(NAME), epsilon.compared_by(NAME), max_ulps)
    }
}

impl<R: Real + UlpsEq<Epsilon = R>, const N: usize> UlpsEq for Dual<R, N> {
    fn default_max_ulps() -> u32 {
        R::default_max_ulps()
    }
    #[track_caller]
    fn ulps_eq(&self, other: &Self, epsilon: Self, max_ulps: u32) -> bool {
        self.re().ulps_eq(&other.re(), epsilon.re(), max_ulps)
    }
}

/// A carrier is one number, not several lanes, in the eyes of simba; and `f64` and `f32` are
/// subsets of it: the way in makes a constant, the way out takes the value.
macro_rules! simd_and_subsets {
    ([$($generics:tt)*] $carrier:ty) => {
        impl<$($generics)*> PrimitiveSimdValue for $carrier {}

        #[expect(
            unsafe_code,
            reason = "simba declares two methods unsafe, and so must we; the bodies do nothing unsafe"
        )]
        impl<$($generics)*> SimdValue for $carrier {
            const LANES: usize = 1;
            type Element = Self;
            type SimdBool = bool;

            #[cfg_attr(not(debug_assertions), inline(always))]
            fn splat(value: Self) -> Self {
                value
            }
            #[cfg_attr(not(debug_assertions), inline(always))]
            fn extract(&self, _: usize) -> Self {
                *self
            }
            #[cfg_attr(not(debug_assertions), inline(always))]
            unsafe fn extract_unchecked(&self, _: usize) -> Self {
                *self
            }
            #[cfg_attr(not(debug_assertions), inline(always))]
            fn replace(&mut self, _: usize, value: Self) {
                *self = value;
            }
            #[cfg_attr(not(debug_assertions), inline(always))]
            unsafe fn replace_unchecked(&mut self, _: usize, value: Self) {
                *self = value;
            }
            #[cfg_attr(not(debug_assertions), inline(always))]
            fn select(self, condition: bool, other: Self) -> Self {
                if condition { self } else { other }
            }
        }

        impl<$($generics)*> Field for $carrier {}

        impl<$($generics)*> SubsetOf<$carrier> for $carrier {
            #[inline]
            fn to_superset(&self) -> Self {
                *self
            }
            #[inline]
            fn from_superset_unchecked(element: &Self) -> Self {
                *element
            }
            #[inline]
            fn is_in_subset(_: &Self) -> bool {
                true
            }
        }
    };
}
simd_and_subsets! { [] Var }
simd_and_subsets! { [R: Real, const N: usize] Dual<R, N> }

macro_rules! subset {
    ([$($generics:tt)*] $primitive:ty, $carrier:ty, |$x:ident| $number:expr) => {
        impl<$($generics)*> SubsetOf<$carrier> for $primitive {
            #[inline]
            fn to_superset(&self) -> $carrier {
                Real::constant(f64::from(*self))
            }
            #[inline]
            #[track_caller]
            fn from_superset_unchecked($x: &$carrier) -> $primitive {
                $number as $primitive
            }
            #[inline]
            fn is_in_subset(_: &$carrier) -> bool {
                true
            }
        }
    };
}
subset! { [] f64, Var, |x| x.taken_by("to_subset") }
subset! { [] f32, Var, |x| x.taken_by("to_subset") }
subset! { [R: Real + ToPrimitive, const N: usize] f64, Dual<R, N>, |x| super::number(x) }
subset! { [R: Real + ToPrimitive, const N: usize] f32, Dual<R, N>, |x| super::number(x) }

macro_rules! fields {
    ([$($generics:tt)*] $carrier:ty) => {
        impl<$($generics)*> ComplexField for $carrier {
            type RealField = Self;

            forward! {
                modulus as abs, norm1 as abs, abs, modulus_squared as square, floor, ceil, trunc, recip,
                sqrt, cbrt, exp, exp2, exp_m1 as expm1, ln, ln_1p as log1p, log2, log10, sin, cos, tan,
                asin, acos, atan, sinh, cosh, tanh, asinh, acosh, atanh,
            }
            forward_with! { hypot, powf as pow, powc as pow }

            #[inline]
            fn from_real(re: Self) -> Self {
                re
            }
            #[inline]
            fn real(self) -> Self {
                self
            }
            #[inline]
            fn imaginary(self) -> Self {
                Real::constant(0.0)
            }
            #[inline]
            fn conjugate(self) -> Self {
                self
            }
            /// 0, or pi for a negative number; derivative 0.
            #[track_caller]
            fn argument(self) -> Self {
                let positive = self.compare(Real::constant(0.0), Compare::Ge);
                Real::select(positive, Real::constant(0.0), Real::constant(consts::PI))
            }
            /// The modulus and the sign, 1 for a zero; derivative of the sign 0.
            #[track_caller]
            fn to_exp(self) -> (Self, Self) {
                let positive = self.compare(Real::constant(0.0), Compare::Ge);
                let sign = Real::select(positive, Real::constant(1.0), Real::constant(-1.0));
                (Real::abs(self), sign)
            }
            #[track_caller]
            fn signum(self) -> Self {
                super::signum(self)
            }
            #[inline]
            #[track_caller]
            fn scale(self, factor: Self) -> Self {
                self * factor
            }
            #[inline]
            #[track_caller]
            fn unscale(self, factor: Self) -> Self {
                self / factor
            }
            #[track_caller]
            fn round(self) -> Self {
                super::round(self)
            }
            #[track_caller]
            fn fract(self) -> Self {
                super::fract(self)
            }
            #[inline]
            #[track_caller]
            fn mul_add(self, a: Self, b: Self) -> Self {
                Real::mul_add(self, a, b)
            }
            #[inline]
            #[track_caller]
            fn sin_cos(self) -> (Self, Self) {
                (Real::sin(self), Real::cos(self))
            }
            /// `sin(x)/x`, 1 at 0, with its derivatives there.
            #[track_caller]
            fn sinc(self) -> Self {
                sinc(self)
            }
            /// `sinh(x)/x`, 1 at 0, with its derivatives there.
            #[track_caller]
            fn sinhc(self) -> Self {
                sinhc(self)
            }
            #[track_caller]
            fn log(self, base: Self) -> Self {
                super::log(self, base)
            }
            #[inline]
            #[track_caller]
            fn powi(self, n: i32) -> Self {
                Real::powi(self, n)
            }
            #[track_caller]
            fn is_finite(&self) -> bool {
                super::is_finite(*self)
            }
            #[track_caller]
            fn try_sqrt(self) -> Option<Self> {
                (self >= 0.0).then(|| Real::sqrt(self))
            }
        }

        impl<$($generics)*> RealField for $carrier {
            forward_with! { copysign, max, min, atan2 }
            constants! {
                pi = consts::PI,
                two_pi = consts::TAU,
                frac_pi_2 = consts::FRAC_PI_2,
                frac_pi_3 = consts::FRAC_PI_3,
                frac_pi_4 = consts::FRAC_PI_4,
                frac_pi_6 = consts::FRAC_PI_6,
                frac_pi_8 = consts::FRAC_PI_8,
                frac_1_pi = consts::FRAC_1_PI,
                frac_2_pi = consts::FRAC_2_PI,
                frac_2_sqrt_pi = consts::FRAC_2_SQRT_PI,
                e = consts::E,
                log2_e = consts::LOG2_E,
                log10_e = consts::LOG10_E,
                ln_2 = consts::LN_2,
                ln_10 = consts::LN_10,
            }

            #[track_caller]
            fn is_sign_positive(&self) -> bool {
                !super::is_sign_negative(*self)
            }
            #[track_caller]
            fn is_sign_negative(&self) -> bool {
                super::is_sign_negative(*self)
            }
            #[track_caller]
            fn clamp(self, low: Self, high: Self) -> Self {
                Real::clamp_to(self, low, high)
            }
            fn min_value() -> Option<Self> {
                Some(Real::constant(f64::MIN))
            }
            fn max_value() -> Option<Self> {
                Some(Real::constant(f64::MAX))
            }
        }
    };
}
fields! { [] Var }
fields! { [R: Real<Mask: Send + Sync> + RealField + ToPrimitive, const N: usize] Dual<R, N> }

/// The storage of a matrix of known size, from its items column by column.
fn array_storage<T, const R: usize, const C: usize>(
    _: (Const<R>, Const<C>),
    mut items: impl Iterator<Item = T>,
) -> ArrayStorage<T, R, C> {
    ArrayStorage(std::array::from_fn(|_| {
        std::array::from_fn(|_| items.next().expect("the matrix has as many items as its shape"))
    }))
}

/// The storage of a matrix of any size, from its items column by column.
fn vec_storage<T, R: Dim, C: Dim>((rows, columns): (R, C), items: impl Iterator<Item = T>) -> VecStorage<T, R, C> {
    VecStorage::new(rows, columns, items.collect())
}

/// Matrices with these dimensions and this storage as trees: the leaves go column by column, as
/// nalgebra's own iterators do. `$store` makes the storage from the shape and the items.
///
/// The storage is named instead of `OMatrix`, whose storage asks more of its items than a Hessian,
/// a matrix of any type, can promise.
macro_rules! matrix_tree {
    ([$($generics:tt)*] $rows:ty, $columns:ty, $storage:ident<$($dimension:ty),*>, $store:ident) => {
        impl<T: Tree, $($generics)*> Tree for Matrix<T, $rows, $columns, $storage<T, $($dimension),*>> {
            type Leaf = T::Leaf;
            type Vars = Matrix<T::Vars, $rows, $columns, $storage<T::Vars, $($dimension),*>>;
            type Grad = Matrix<T::Grad, $rows, $columns, $storage<T::Grad, $($dimension),*>>;
            type Each<U> = Matrix<T::Each<U>, $rows, $columns, $storage<T::Each<U>, $($dimension),*>>;
            type Form = Several;
            const HAS_DATA: bool = T::HAS_DATA;

            fn size(&self) -> usize {
                self.iter().map(Tree::size).sum()
            }
            fn for_each_leaf(&self, visit: &mut impl FnMut(T::Leaf)) {
                self.iter().for_each(|item| item.for_each_leaf(visit));
            }
            fn visit_leaves(&self, visit: &mut impl FnMut(&T::Leaf)) {
                self.iter().for_each(|item| item.visit_leaves(visit));
            }
            fn structure(&self, structure: &mut crate::tree::Structure) {
                structure.number(self.nrows());
                structure.number(self.ncols());
                self.iter().for_each(|item| item.structure(structure));
            }
            fn paths(&self, paths: &mut crate::tree::Paths) {
                self.iter().enumerate().for_each(|(k, item)| paths.field(k, item));
            }
            fn vars(&self, lift: &mut impl FnMut(T::Leaf) -> crate::leaf::Active<T>) -> Self::Vars {
                Matrix::from_data($store(self.shape_generic(), self.iter().map(|item| item.vars(lift))))
            }
            fn grad(&self, next: &mut impl FnMut() -> T::Leaf) -> Self::Grad {
                Matrix::from_data($store(self.shape_generic(), self.iter().map(|item| item.grad(next))))
            }
            fn each<U>(&self, next: &mut impl FnMut() -> U) -> Self::Each<U> {
                Matrix::from_data($store(self.shape_generic(), self.iter().map(|item| item.each(next))))
            }
        }
    };
}
matrix_tree! { [const R: usize, const C: usize] Const<R>, Const<C>, ArrayStorage<R, C>, array_storage }
matrix_tree! { [C: Dim] Dyn, C, VecStorage<Dyn, C>, vec_storage }
matrix_tree! { [const R: usize] Const<R>, Dyn, VecStorage<Const<R>, Dyn>, vec_storage }
