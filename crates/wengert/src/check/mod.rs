//! Checks that derivatives are right: against differences, forward against backward, first and
//! second order.
//!
//! [`check_grads`] takes a function as the drivers take it. [`check_rule`] takes a [`Rule`], a
//! value with derivatives written by hand. [`check_carriers`] takes a [`Generic`] function, written
//! over [`Real`](crate::Real), and compares every carrier and driver.
//!
//! ```
//! use wengert::check::check_grads;
//! use wengert::prelude::*;
//! check_grads([2.0, 5.0], |[x, y]| x.ln() + x * y - y.sin()).unwrap();
//! // What is detached is a constant to the derivative, not to the function.
//! let error = check_grads(2.0, |x| x * x.detach()).unwrap_err();
//! assert!(error.to_string().contains("central differences"));
//! ```
//!
//! # Tolerances
//!
//! No tolerance is a fixed number. Differences estimate their own error from several steps;
//! the rounding error of the function and of its derivatives is bounded by running error analysis,
//! which is the same sweep over numbers that carry an error. Two numbers agree if they differ by
//! at most [`Config::tolerance`] times the sum of their errors. Where the estimated error of the
//! differences is so large that they could not refuse a derivative wrong by one part in ten
//! thousand, the check says so instead of passing ([`CheckError::Unresolved`]).
//!
//! # What such checks cannot see
//!
//! - *Saturated regions.* Where a function is flat to the last bit (`tanh(40)`), differences are
//!   zero whatever the derivative's leading digits are.
//! - *Kinks.* At a kink a derivative is a convention. Differences give the mean of both sides;
//!   close to a kink they straddle it and disagree with a derivative that is right.
//! - *Arguments too coarse for the step.* Where neighbouring floating-point numbers are further
//!   apart than the scale on which the function changes (`sin(1e17)`), no step is narrow enough.
//! - *Other points.* A check speaks of one point and of the branch taken there.
//! - *Errors in the value.* The derivative of a wrong function can be right.

mod carriers;
mod difference;
mod random;
mod rounding;
mod rule;

use std::fmt;

pub use carriers::{
    CarrierError, Generic, Through, check_carriers, check_single_precision, everywhere, rounding_errors,
};
pub use rule::{Rounding, Rule, check_rule};

use crate::api;
use crate::scalar::Sealed;
use crate::tape::Var;
use crate::tape::recording::Mode;
use crate::tape::trace::Trace;
use crate::tree::{Paths, Tree, leaves};

/// How much to check.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// How many random directions; 3 unless said.
    pub directions: usize,
    /// The highest order of derivatives, 1 or 2; 2 unless said.
    pub orders: u32,
    /// Where the random directions start.
    pub seed: u64,
    /// How many estimated errors two numbers may differ by; 4 unless said. The estimates are of
    /// first order, and those of the differences suppose that the widest step taken is narrow.
    pub tolerance: f64,
}

impl Default for Config {
    fn default() -> Self {
        Config { directions: 3, orders: 2, seed: 0x5eed, tolerance: 4.0 }
    }
}

/// What a passed check has compared.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// How many pairs of numbers.
    pub comparisons: usize,
    /// The largest difference as a part of its bound, at most 1.
    pub worst: f64,
    /// The coarsest bound of the comparisons with differences, relative to the sum of the
    /// magnitudes compared: a relative error below it would not have been seen.
    pub resolution: f64,
}

/// Two ways to the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Comparison {
    /// The tangent and central differences of the value.
    Differences,
    /// `<Jᵀ c, t>` and `<c, J t>`: backward and forward.
    Transpose,
    /// The tangent of a combination and the combination of tangents.
    Linearity,
}

/// Two numbers that should agree and do not.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Disagreement {
    /// Which two.
    pub comparison: Comparison,
    /// 1 for the derivative of the function, 2 for that of its gradient.
    pub order: u32,
    /// The tangent `t`, leaf by leaf.
    pub direction: Vec<f64>,
    /// The cotangent `c`, result by result.
    pub cotangent: Vec<f64>,
    /// The number under test.
    pub stated: f64,
    /// The number it was compared with.
    pub expected: f64,
    /// How far they may be apart.
    pub bound: f64,
}

/// Differences whose estimated error is too large to judge by.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Unresolved {
    /// 1 for the derivative of the function, 2 for that of its gradient.
    pub order: u32,
    /// The tangent, leaf by leaf.
    pub direction: Vec<f64>,
    /// The derivative by differences.
    pub difference: f64,
    /// Its estimated error.
    pub error: f64,
    /// The step, as a part of the direction.
    pub step: f64,
}

/// Why a check did not pass.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum CheckError {
    /// Two numbers that should agree do not.
    Disagree(Box<Disagreement>),
    /// A number at the point itself is NaN or infinite.
    NotFinite {
        /// Which one: point, value, tangent or cotangent.
        what: &'static str,
        /// 1 for the function and its derivative, 2 for the gradient and its derivative.
        order: u32,
        /// Its place among the leaves.
        place: usize,
        /// The number.
        number: f64,
    },
    /// The function is finite at the point, but not at any pair of steps beside it.
    NowhereFinite {
        /// 1 for the function, 2 for its gradient.
        order: u32,
    },
    /// The differences are too inaccurate to tell.
    Unresolved(Box<Unresolved>),
    /// A rule gives another number of results than its function has.
    WrongSize {
        /// Which result: tangent or cotangent.
        what: &'static str,
        /// How many there should be.
        wanted: usize,
        /// How many there are.
        got: usize,
    },
}

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CheckError::Disagree(disagreement) => disagreement.fmt(f),
            CheckError::NotFinite { what, order, place, number } => write!(
                f,
                "order {order}: the {what} at the point is not finite (number {place} of it is \
                 {number}), so no derivative can be checked there"
            ),
            CheckError::NowhereFinite { order } => write!(
                f,
                "order {order}: the {} is finite at the point but not on both sides of it, so it \
                 cannot be differenced; the point lies on the edge of the domain",
                subject(*order)
            ),
            CheckError::Unresolved(unresolved) => unresolved.fmt(f),
            CheckError::WrongSize { what, wanted, got } => {
                write!(f, "the rule gives a {what} of {got} numbers where {wanted} are needed")
            }
        }
    }
}

impl std::error::Error for CheckError {}

fn subject(order: u32) -> &'static str {
    if order == 1 { "function" } else { "gradient" }
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (stated, expected) = match (self.comparison, self.order) {
            (Comparison::Differences, 1) => ("the tangent (jvp)", "central differences of the function"),
            (Comparison::Differences, _) => ("the Hessian product (hvp)", "central differences of the gradient"),
            (Comparison::Transpose, 1) => ("the cotangent <Jᵀc, t> (backward)", "the tangent <c, Jt> (forward)"),
            (Comparison::Transpose, _) => ("<Hc, t>", "<c, Ht>: the Hessian is not symmetric"),
            (Comparison::Linearity, _) => ("J(t + 2s)", "Jt + 2Js: the tangent is not linear in the direction"),
        };
        write!(
            f,
            "order {}: {stated} and {expected} disagree: {:e} against {:e}, {:.1e} apart where {:.1e} is \
             allowed, along t = {}",
            self.order,
            self.stated,
            self.expected,
            (self.stated - self.expected).abs(),
            self.bound,
            Direction(&self.direction)
        )?;
        if self.cotangent.len() > 1 {
            write!(f, " with c = {}", Direction(&self.cotangent))?;
        }
        if self.comparison == Comparison::Differences {
            write!(
                f,
                "; either the derivative is wrong, or the function has a kink or a jump near the point \
                 (abs, max, floor, a comparison), which differences straddle: check at another point"
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for Unresolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "order {}: central differences of the {} do not settle: {:e} with an estimated error of {:.1e} \
             at best (step {:.1e} of t = {}); a kink, a jump or the edge of the domain lies close to the \
             point, or the function is too noisy there: check at another point",
            self.order,
            subject(self.order),
            self.difference,
            self.error,
            self.step,
            Direction(&self.direction)
        )
    }
}

/// A vector in a message: the first eight numbers.
struct Direction<'a>(&'a [f64]);

impl fmt::Display for Direction<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 8;
        write!(f, "[")?;
        for (k, part) in self.0.iter().take(SHOWN).enumerate() {
            write!(f, "{}{part}", if k == 0 { "" } else { ", " })?;
        }
        match self.0.len().checked_sub(SHOWN + 1) {
            None => write!(f, "]"),
            Some(_) => write!(f, ", … {} numbers]", self.0.len()),
        }
    }
}

/// Checks the first and second derivatives of a scalar function at `x` in random directions.
///
/// Order 1: the tangent (`jvp`) against central differences of the function, the gradient
/// (`grad`) against the tangent, linearity of the tangent. Order 2: the same of the gradient,
/// whose tangent is `hvp`; there the second comparison is the symmetry of the Hessian.
///
/// ```
/// use wengert::check::check_grads;
/// use wengert::prelude::*;
/// let report = check_grads(vec![0.3, -1.2], |x| (x[0] * x[1]).exp() + x[1].atan()).unwrap();
/// assert!(report.resolution < 1e-8);
/// ```
///
/// # Errors
/// The first disagreement, or why nothing can be said; see [`CheckError`].
#[track_caller]
pub fn check_grads<T: Tree<Leaf = f64>>(x: T, f: impl Fn(T::Vars) -> Var) -> Result<Report, CheckError> {
    check_grads_with(x, f, &Config::default())
}

/// As [`check_grads`], as much as the configuration says.
///
/// # Errors
/// As [`check_grads`].
#[track_caller]
pub fn check_grads_with<T: Tree<Leaf = f64>>(
    x: T,
    f: impl Fn(T::Vars) -> Var,
    config: &Config,
) -> Result<Report, CheckError> {
    let (point, frozen) = (leaves(&x), Paths::frozen_leaves(&x));
    let mut report = rule::check_order(&point, &frozen, &ScalarRule { shape: &x, f: &f }, config, 1)?;
    if config.orders >= 2 {
        report.include(rule::check_order(&point, &frozen, &GradientOf { shape: &x, f: &f }, config, 2)?);
    }
    Ok(report)
}

/// Checks `jvp` and `vjp` of a function with several results at `x` in random directions: the
/// tangent against differences, and the transpose identity `<c, J t> = <Jᵀ c, t>`.
///
/// ```
/// use wengert::check::{Config, check_transpose};
/// use wengert::prelude::*;
/// check_transpose([0.3, 1.2], |[x, y]| (x * y, [x.sin(), y]), &Config::default()).unwrap();
/// ```
///
/// # Errors
/// As [`check_grads`].
#[track_caller]
pub fn check_transpose<T: Tree<Leaf = f64>, O: Tree<Leaf = Var>>(
    x: T,
    f: impl Fn(T::Vars) -> O,
    config: &Config,
) -> Result<Report, CheckError> {
    let frozen = Paths::frozen_leaves(&x);
    rule::check_order(&leaves(&x), &frozen, &Driven { shape: &x, f: &|x| leaves(&f(x)) }, config, 1)
}

impl Report {
    fn include(&mut self, other: Report) {
        self.comparisons += other.comparisons;
        self.worst = self.worst.max(other.worst);
        self.resolution = self.resolution.max(other.resolution);
    }
}

/// Numbers in the shape of another tree; derivatives come out as plain vectors.
struct Shaped<'a, T: ?Sized> {
    shape: &'a T,
    numbers: &'a [f64],
}

impl<T: Tree<Leaf: crate::scalar::Scalar> + ?Sized> Tree for Shaped<'_, T> {
    type Leaf = f64;
    type Vars = T::Vars;
    type Grad = Vec<f64>;
    type Each<U> = Vec<U>;
    type Form = crate::tree::Several;

    fn size(&self) -> usize {
        self.numbers.len()
    }
    fn for_each_leaf(&self, visit: &mut impl FnMut(f64)) {
        self.numbers.iter().for_each(|&number| visit(number));
    }
    fn vars(&self, lift: &mut impl FnMut(f64) -> Var) -> T::Vars {
        let mut numbers = self.numbers.iter();
        self.shape.vars(&mut |_| lift(*numbers.next().expect("as many numbers as leaves")))
    }
    fn grad(&self, next: &mut impl FnMut() -> f64) -> Vec<f64> {
        self.numbers.iter().map(|_| next()).collect()
    }
    fn each<U>(&self, next: &mut impl FnMut() -> U) -> Vec<U> {
        self.numbers.iter().map(|_| next()).collect()
    }
}

/// A recording of `f` at a point.
#[track_caller]
fn trace_of<T: Tree<Leaf = f64>>(x: &T, f: impl FnOnce(T::Vars) -> Vec<Var>) -> Trace {
    let (scope, outputs) = crate::drive::run_recorded(Mode::Once, x, f);
    f64::hold(scope, &outputs).0
}

/// A function with the derivatives that the drivers give it.
struct Driven<'a, T: ?Sized, F> {
    shape: &'a T,
    f: &'a F,
}

impl<T: Tree<Leaf: crate::scalar::Scalar> + ?Sized, F: Fn(T::Vars) -> Vec<Var>> Rule for Driven<'_, T, F> {
    fn value(&self, x: &[f64]) -> Vec<f64> {
        let vars = Shaped { shape: self.shape, numbers: x }.vars(&mut crate::lift);
        (self.f)(vars).iter().map(|output| output.value).collect()
    }
    fn jvp(&self, x: &[f64], tangent: &[f64]) -> Vec<f64> {
        api::jvp(Shaped { shape: self.shape, numbers: x }, tangent, self.f).1
    }
    fn vjp(&self, x: &[f64], cotangent: &[f64]) -> Vec<f64> {
        api::vjp(Shaped { shape: self.shape, numbers: x }, self.f).1.pull(cotangent)
    }
    fn rounding(&self, x: &[f64], tangent: &[f64], cotangent: &[f64]) -> Rounding {
        let trace = trace_of(&Shaped { shape: self.shape, numbers: x }, self.f);
        rounding::of_function(&trace, x, tangent, cotangent)
    }
}

/// A scalar function with its tangent by `jvp` and its cotangent by `grad`.
struct ScalarRule<'a, T: ?Sized, F> {
    shape: &'a T,
    f: &'a F,
}

impl<T: Tree<Leaf: crate::scalar::Scalar> + ?Sized, F: Fn(T::Vars) -> Var> Rule for ScalarRule<'_, T, F> {
    fn value(&self, x: &[f64]) -> Vec<f64> {
        vec![(self.f)(Shaped { shape: self.shape, numbers: x }.vars(&mut crate::lift)).value]
    }
    fn jvp(&self, x: &[f64], tangent: &[f64]) -> Vec<f64> {
        vec![api::jvp(Shaped { shape: self.shape, numbers: x }, tangent, self.f).1]
    }
    fn vjp(&self, x: &[f64], cotangent: &[f64]) -> Vec<f64> {
        let gradient = api::grad(Shaped { shape: self.shape, numbers: x }, self.f);
        gradient.iter().map(|partial| cotangent[0] * partial).collect()
    }
    fn rounding(&self, x: &[f64], tangent: &[f64], cotangent: &[f64]) -> Rounding {
        let trace = trace_of(&Shaped { shape: self.shape, numbers: x }, |x| vec![(self.f)(x)]);
        rounding::of_function(&trace, x, tangent, cotangent)
    }
}

/// The gradient of a function as a function of its own, whose Jacobian is the Hessian.
struct GradientOf<'a, T: ?Sized, F> {
    shape: &'a T,
    f: &'a F,
}

impl<T: Tree<Leaf: crate::scalar::Scalar> + ?Sized, F: Fn(T::Vars) -> Var> Rule for GradientOf<'_, T, F> {
    fn value(&self, x: &[f64]) -> Vec<f64> {
        api::grad(Shaped { shape: self.shape, numbers: x }, self.f)
    }
    fn jvp(&self, x: &[f64], tangent: &[f64]) -> Vec<f64> {
        api::hvp(Shaped { shape: self.shape, numbers: x }, tangent, self.f)
    }
    fn vjp(&self, x: &[f64], cotangent: &[f64]) -> Vec<f64> {
        api::hvp(Shaped { shape: self.shape, numbers: x }, cotangent, self.f)
    }
    fn rounding(&self, x: &[f64], tangent: &[f64], cotangent: &[f64]) -> Rounding {
        let trace = trace_of(&Shaped { shape: self.shape, numbers: x }, |x| vec![(self.f)(x)]);
        rounding::of_gradient(&trace, x, tangent, cotangent)
    }
}
