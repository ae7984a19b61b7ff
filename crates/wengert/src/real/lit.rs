//! [`Lit`]: a plain number on the left of an operator, in code that is generic over its numbers.

use std::cmp::Ordering;
use std::ops::{Add, Div, Mul, Neg, Rem, Sub};

use super::{Carrier, binary_methods, lit_operators};
use crate::ops::Binary;

/// A plain number that stands left of an operator: `lit(1.0) - x` for any `x` that is [`Real`](crate::Real).
///
/// The result has the type of `x`, and is what `1.0 - x` is over every one of them. Against another `Lit` it stays one.
///
/// Rust knows `1.0 - x` for an `x` of type `f64`, [`Var`](crate::Var) or [`Dual`](crate::Dual). It does not for an `R` that
/// is only known to be `Real`: the operator belongs to `f64`, and a bound on `R` says nothing about that.
/// `#[wengert::generic]` on a function writes `lit` around the literals that need it.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Lit(f64);

/// A plain number that may stand left of an operator, in code generic over its numbers; see [`Lit`].
///
/// ```
/// use wengert::prelude::*;
/// fn logistic_map<R: Real>(r: f64, x: R) -> R {
///     lit(r) * x * (lit(1.0) - x)
/// }
/// assert_eq!(logistic_map(3.0, 0.25), 0.5625);
/// assert_eq!(grad(0.25, |x| logistic_map(3.0, x)), 1.5);
/// // Functions of two arguments whose first is a number, and comparisons:
/// fn f<R: Real>(x: R) -> R {
///     if lit(0.0) < x { lit(2.0).powf(x) } else { lit(1.0).max(x) }
/// }
/// assert_eq!((f(3.0), f(-1.0)), (8.0, 1.0));
/// ```
#[cfg_attr(not(debug_assertions), inline(always))]
pub const fn lit(value: f64) -> Lit {
    Lit(value)
}

impl Lit {
    /// `lit(1.0)`
    pub(crate) const ONE: Lit = Lit(1.0);

    /// The number.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub const fn value(self) -> f64 {
        self.0
    }

    /// `x^y`, where `x` is `self`, and `y` the argument.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    pub fn powf<R: Carrier>(self, y: R) -> R {
        R::carry_constant_binary(self.0, y, Binary::Pow)
    }

    binary_methods! { Lit }
}

impl From<f64> for Lit {
    fn from(value: f64) -> Lit {
        Lit(value)
    }
}

impl From<Lit> for f64 {
    fn from(lit: Lit) -> f64 {
        lit.0
    }
}

impl Neg for Lit {
    type Output = Lit;
    fn neg(self) -> Lit {
        Lit(-self.0)
    }
}

/// `lit op x` for carriers, numbers and literals, and `x op lit` for numbers; carriers have theirs from `real_operators!`.
macro_rules! operators {
    ($($op:ident $method:ident)*) => { $(
        impl<R: Carrier> $op<R> for Lit {
            type Output = R;
            #[cfg_attr(not(debug_assertions), inline(always))]
            #[track_caller]
            fn $method(self, other: R) -> R {
                R::carry_constant_binary(self.0, other, Binary::$op)
            }
        }
        impl $op for Lit {
            type Output = Lit;
            #[cfg_attr(not(debug_assertions), inline(always))]
            fn $method(self, other: Lit) -> Lit {
                Lit($op::$method(self.0, other.0))
            }
        }
        impl $op<Lit> for f64 {
            type Output = f64;
            #[cfg_attr(not(debug_assertions), inline(always))]
            fn $method(self, other: Lit) -> f64 {
                $op::$method(self, other.0)
            }
        }
        impl $op<f32> for Lit {
            type Output = f32;
            #[cfg_attr(not(debug_assertions), inline(always))]
            fn $method(self, other: f32) -> f32 {
                $op::$method(self.0 as f32, other)
            }
        }
        impl $op<&f32> for Lit {
            type Output = f32;
            #[cfg_attr(not(debug_assertions), inline(always))]
            fn $method(self, other: &f32) -> f32 {
                $op::$method(self.0 as f32, *other)
            }
        }
        impl $op<Lit> for f32 {
            type Output = f32;
            #[cfg_attr(not(debug_assertions), inline(always))]
            fn $method(self, other: Lit) -> f32 {
                $op::$method(self, other.0 as f32)
            }
        }
    )* };
}
operators! { Add add Sub sub Mul mul Div div Rem rem }
lit_operators! { [] &f64 => f64: Add add Sub sub Mul mul Div div Rem rem }

impl<R: Carrier> PartialEq<R> for Lit {
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn eq(&self, other: &R) -> bool {
        *other == self.0
    }
}

impl<R: Carrier> PartialOrd<R> for Lit {
    #[track_caller]
    fn partial_cmp(&self, other: &R) -> Option<Ordering> {
        other.partial_cmp(&self.0).map(Ordering::reverse)
    }
    // Each on its own: a recorded comparison is one guard, where `partial_cmp` needs up to three.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn lt(&self, other: &R) -> bool {
        *other > self.0
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn le(&self, other: &R) -> bool {
        *other >= self.0
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn gt(&self, other: &R) -> bool {
        *other < self.0
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn ge(&self, other: &R) -> bool {
        *other <= self.0
    }
}

impl PartialEq<f32> for Lit {
    fn eq(&self, other: &f32) -> bool {
        (self.0 as f32) == *other
    }
}

impl PartialOrd<f32> for Lit {
    fn partial_cmp(&self, other: &f32) -> Option<Ordering> {
        (self.0 as f32).partial_cmp(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_numbers() {
        const HALF: Lit = lit(0.5);
        assert_eq!(f64::from((HALF + lit(1.0)) * -lit(2.0)), -3.0);
        assert_eq!(lit(1.0) - 0.25_f32, 0.75_f32);
        assert_eq!([1.0, 2.0].iter().map(|x| lit(1.0) / x).sum::<f64>(), 1.5);
        assert!(lit(0.1) == 0.1_f32 && lit(0.1) <= 0.1 && 1.0 - lit(2.0) == -1.0);
    }
}
