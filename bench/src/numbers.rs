//! The library's scalar as the benchmark's number, recorded once or recorded for replay.

use std::ops::{Add, Div, Mul, Neg, Sub};

use wengert::Var;

use crate::formulas::{CDF_B, CDF_P, INV_SQRT_2PI, Num};

impl Num for Var {
    #[inline]
    fn value(self) -> f64 {
        self.detach().value()
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
        self.powi(n)
    }
    #[inline]
    fn exp(self) -> Self {
        self.exp()
    }
    #[inline]
    fn ln(self) -> Self {
        self.ln()
    }
    #[inline]
    fn sqrt(self) -> Self {
        self.sqrt()
    }
    #[inline]
    fn tanh(self) -> Self {
        self.tanh()
    }
}

/// A `Var` that is recorded to be replayed at other inputs: it does not branch on its value, so
/// that one recording serves all points.
#[derive(Clone, Copy)]
pub(crate) struct Replayed(pub(crate) Var);

macro_rules! operators {
    ($($operator:ident $method:ident),*) => { $(
        impl $operator for Replayed {
            type Output = Self;
            fn $method(self, other: Self) -> Self {
                Replayed(self.0.$method(other.0))
            }
        }
        impl $operator<f64> for Replayed {
            type Output = Self;
            fn $method(self, constant: f64) -> Self {
                Replayed(self.0.$method(constant))
            }
        }
    )* };
}
operators!(Add add, Sub sub, Mul mul, Div div);

impl Neg for Replayed {
    type Output = Self;
    fn neg(self) -> Self {
        Replayed(-self.0)
    }
}

impl Num for Replayed {
    fn value(self) -> f64 {
        self.0.value()
    }
    fn rsub(self, c: f64) -> Self {
        Replayed(c - self.0)
    }
    fn rdiv(self, c: f64) -> Self {
        Replayed(c / self.0)
    }
    fn powi(self, n: i32) -> Self {
        Replayed(self.0.powi(n))
    }
    fn exp(self) -> Self {
        Replayed(self.0.exp())
    }
    fn ln(self) -> Self {
        Replayed(self.0.ln())
    }
    fn sqrt(self) -> Self {
        Replayed(self.0.sqrt())
    }
    fn tanh(self) -> Self {
        Replayed(self.0.tanh())
    }
    /// The same formula without a branch: `1/2 + sign(x) (1/2 - tail(|x|))`.
    fn normal_cdf(self) -> Self {
        let x = self.0;
        let z = x.abs();
        let t = 1.0 / (z * CDF_P + 1.0);
        let [b1, b2, b3, b4, b5] = CDF_B;
        let polynomial = ((((t * b5 + b4) * t + b3) * t + b2) * t + b1) * t;
        let tail = (z * z * -0.5).exp() * INV_SQRT_2PI * polynomial;
        Replayed(x.sign() * (0.5 - tail) + 0.5)
    }
}

/// (f) for replay: the largest logit is taken as a number of the recording and detached.
pub(crate) fn cross_entropy(x: &[Var], label: usize) -> Var {
    let max = x[1..].iter().fold(x[0], |max, &logit| max.max(logit)).detach();
    let sum: Var = x.iter().map(|&logit| (logit - max).exp()).sum();
    sum.ln() + max - x[label]
}
