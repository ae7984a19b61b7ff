//! The peers' active types as numbers the benchmark's functions run over.
//!
//! Each operation is the peer's own, with the constant passed as the peer documents it; nothing is recorded that a user of
//! the peer would not record.

use std::ops::{Add, Div, Mul, Neg, Sub};

use RustQuant_autodiff::{Powi, Variable};
use ad_trait::reverse_ad::adr::adr;
use ad_trait::{AD, F64};
use num_dual::{DualNum, DualSVec64};
use num_traits::Float;
use simba::scalar::ComplexField;
use xad_rs::{AReal, JetK, Real};

use crate::formulas::Num;

/// echidna's active types take the elementary functions from `num_traits` and the operators with `f64` on both sides.
macro_rules! echidna_number {
    ($type:ty) => {
        impl Num for $type {
            #[inline]
            fn value(self) -> f64 {
                echidna::Scalar::value(&self)
            }
            #[inline]
            fn rsub(self, c: f64) -> Self {
                c - self
            }
            #[inline]
            fn rdiv(self, c: f64) -> Self {
                c / self
            }
            #[inline]
            fn powi(self, n: i32) -> Self {
                Float::powi(self, n)
            }
            #[inline]
            fn exp(self) -> Self {
                Float::exp(self)
            }
            #[inline]
            fn ln(self) -> Self {
                Float::ln(self)
            }
            #[inline]
            fn sqrt(self) -> Self {
                Float::sqrt(self)
            }
            #[inline]
            fn tanh(self) -> Self {
                Float::tanh(self)
            }
        }
    };
}
echidna_number!(echidna::Reverse<f64>);
echidna_number!(echidna::BReverse<f64>);

/// xad-rs has one trait for all its modes, with methods by reference and `f64` on both sides of the operators.
macro_rules! xad_number {
    ($type:ty) => {
        impl Num for $type {
            #[inline]
            fn value(self) -> f64 {
                Real::value(&self)
            }
            #[inline]
            fn rsub(self, c: f64) -> Self {
                c - self
            }
            #[inline]
            fn rdiv(self, c: f64) -> Self {
                c / self
            }
            #[inline]
            fn powi(self, n: i32) -> Self {
                Real::powi(&self, n)
            }
            #[inline]
            fn exp(self) -> Self {
                Real::exp(&self)
            }
            #[inline]
            fn ln(self) -> Self {
                Real::ln(&self)
            }
            #[inline]
            fn sqrt(self) -> Self {
                Real::sqrt(&self)
            }
            #[inline]
            fn tanh(self) -> Self {
                Real::tanh(&self)
            }
        }
    };
}
xad_number!(AReal<f64>);
xad_number!(JetK<f64, 6>);

impl Num for Variable<'_> {
    #[inline]
    fn value(self) -> f64 {
        self.value
    }
    #[inline]
    fn rsub(self, c: f64) -> Self {
        c - self
    }
    #[inline]
    fn rdiv(self, c: f64) -> Self {
        c / self
    }
    #[inline]
    fn powi(self, n: i32) -> Self {
        Powi::powi(&self, n)
    }
    #[inline]
    fn exp(self) -> Self {
        Variable::exp(self)
    }
    #[inline]
    fn ln(self) -> Self {
        Variable::ln(self)
    }
    #[inline]
    fn sqrt(self) -> Self {
        Variable::sqrt(self)
    }
    #[inline]
    fn tanh(self) -> Self {
        Variable::tanh(self)
    }
}

impl Num for DualSVec64<6> {
    #[inline]
    fn value(self) -> f64 {
        self.re
    }
    #[inline]
    fn rsub(self, c: f64) -> Self {
        -self + c
    }
    #[inline]
    fn rdiv(self, c: f64) -> Self {
        DualNum::recip(&self) * c
    }
    #[inline]
    fn powi(self, n: i32) -> Self {
        DualNum::powi(&self, n)
    }
    #[inline]
    fn exp(self) -> Self {
        DualNum::exp(&self)
    }
    #[inline]
    fn ln(self) -> Self {
        DualNum::ln(&self)
    }
    #[inline]
    fn sqrt(self) -> Self {
        DualNum::sqrt(&self)
    }
    #[inline]
    fn tanh(self) -> Self {
        DualNum::tanh(&self)
    }
}

/// ad_trait's reverse type; it takes constants in a wrapper of its own, so the operators with `f64` are given here.
#[derive(Clone, Copy)]
pub(crate) struct Adr(pub(crate) adr);

impl Neg for Adr {
    type Output = Self;
    #[inline]
    fn neg(self) -> Self {
        Self(-self.0)
    }
}

/// The operators of [`Adr`], with the same type or a constant on the right.
macro_rules! adr_operators {
    ($($operator:ident, $method:ident);+) => {$(
        impl $operator for Adr {
            type Output = Self;
            #[inline]
            fn $method(self, other: Self) -> Self {
                Self($operator::$method(self.0, other.0))
            }
        }
        impl $operator<f64> for Adr {
            type Output = Self;
            #[inline]
            fn $method(self, other: f64) -> Self {
                Self($operator::$method(self.0, F64(other)))
            }
        }
    )+};
}
adr_operators!(Add, add; Sub, sub; Mul, mul; Div, div);

impl Num for Adr {
    #[inline]
    fn value(self) -> f64 {
        self.0.value()
    }
    #[inline]
    fn rsub(self, c: f64) -> Self {
        Self(AD::sub_l_scalar(c, self.0))
    }
    #[inline]
    fn rdiv(self, c: f64) -> Self {
        Self(AD::div_l_scalar(c, self.0))
    }
    /// ad_trait takes an integer power by `powf`, with a logarithm in its derivative; the square, the only power used here,
    /// is written as a product, which is several times faster.
    #[inline]
    fn powi(self, n: i32) -> Self {
        match n {
            2 => Self(self.0 * self.0),
            n => Self(ComplexField::powi(self.0, n)),
        }
    }
    #[inline]
    fn exp(self) -> Self {
        Self(ComplexField::exp(self.0))
    }
    #[inline]
    fn ln(self) -> Self {
        Self(ComplexField::ln(self.0))
    }
    #[inline]
    fn sqrt(self) -> Self {
        Self(ComplexField::sqrt(self.0))
    }
    #[inline]
    fn tanh(self) -> Self {
        Self(ComplexField::tanh(self.0))
    }
}
