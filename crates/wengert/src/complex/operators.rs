//! `+ - * /` and unary `-` of complex numbers, over any [`Real`].

use std::iter::{Product, Sum};
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use super::Complex;
use super::functions::{product, quotient};
use crate::real::{Lit, Real};
use crate::tape::Var;

/// One operator: with a complex number, with a real one of the same carrier, and assigning.
macro_rules! operator {
    ($trait:ident $method:ident, $assign:ident $assign_method:ident, $pair:expr, $real:expr) => {
        impl<R: Real> $trait for Complex<R> {
            type Output = Complex<R>;
            #[track_caller]
            fn $method(self, other: Complex<R>) -> Complex<R> {
                $pair(self, other)
            }
        }
        impl<R: Real> $trait<R> for Complex<R> {
            type Output = Complex<R>;
            #[track_caller]
            fn $method(self, other: R) -> Complex<R> {
                $real(self, other)
            }
        }
        /// With a plain number.
        impl $trait<f64> for Complex<Var> {
            type Output = Complex<Var>;
            #[track_caller]
            fn $method(self, other: f64) -> Complex<Var> {
                $real(self, Var::from(other))
            }
        }
        /// With a complex constant.
        impl $trait<Complex<f64>> for Complex<Var> {
            type Output = Complex<Var>;
            #[track_caller]
            fn $method(self, other: Complex<f64>) -> Complex<Var> {
                $pair(self, Complex::constant(other.re, other.im))
            }
        }
        impl<R: Real> $trait<Complex<R>> for Lit {
            type Output = Complex<R>;
            #[track_caller]
            fn $method(self, other: Complex<R>) -> Complex<R> {
                $trait::$method(Complex::from(R::constant(self.value())), other)
            }
        }
        operator! { @left $trait $method, f64, f64 }
        operator! { @left $trait $method, f64, Var }
        operator! { @left $trait $method, Var, Var }
        impl<R: Real, T> $assign<T> for Complex<R>
        where
            Complex<R>: $trait<T, Output = Complex<R>>,
        {
            #[track_caller]
            fn $assign_method(&mut self, other: T) {
                *self = $trait::$method(*self, other);
            }
        }
    };
    (@left $trait:ident $method:ident, $number:ty, $carrier:ty) => {
        impl $trait<Complex<$carrier>> for $number {
            type Output = Complex<$carrier>;
            #[track_caller]
            fn $method(self, other: Complex<$carrier>) -> Complex<$carrier> {
                $trait::$method(Complex::from(<$carrier>::from(self)), other)
            }
        }
    };
}
operator! { Add add, AddAssign add_assign, sum, plus_real }
operator! { Sub sub, SubAssign sub_assign, difference, minus_real }
operator! { Mul mul, MulAssign mul_assign, product, times_real }
operator! { Div div, DivAssign div_assign, quotient, over_real }

#[track_caller]
fn sum<R: Real>(z: Complex<R>, w: Complex<R>) -> Complex<R> {
    Complex { re: z.re + w.re, im: z.im + w.im }
}

#[track_caller]
fn plus_real<R: Real>(z: Complex<R>, x: R) -> Complex<R> {
    Complex { re: z.re + x, im: z.im }
}

#[track_caller]
fn difference<R: Real>(z: Complex<R>, w: Complex<R>) -> Complex<R> {
    Complex { re: z.re - w.re, im: z.im - w.im }
}

#[track_caller]
fn minus_real<R: Real>(z: Complex<R>, x: R) -> Complex<R> {
    Complex { re: z.re - x, im: z.im }
}

#[track_caller]
fn times_real<R: Real>(z: Complex<R>, x: R) -> Complex<R> {
    Complex { re: z.re * x, im: z.im * x }
}

#[track_caller]
fn over_real<R: Real>(z: Complex<R>, x: R) -> Complex<R> {
    Complex { re: z.re / x, im: z.im / x }
}

impl<R: Real> Neg for Complex<R> {
    type Output = Self;
    #[track_caller]
    fn neg(self) -> Self {
        Complex { re: -self.re, im: -self.im }
    }
}

impl<R: Real> Sum for Complex<R> {
    #[track_caller]
    fn sum<I: Iterator<Item = Self>>(mut terms: I) -> Self {
        let Some(first) = terms.next() else { return Complex::constant(0.0, 0.0) };
        terms.fold(first, |sum, term| sum + term)
    }
}

impl<R: Real> Product for Complex<R> {
    #[track_caller]
    fn product<I: Iterator<Item = Self>>(mut factors: I) -> Self {
        let Some(first) = factors.next() else { return Complex::constant(1.0, 0.0) };
        factors.fold(first, |product, factor| product * factor)
    }
}
