//! [`Complex`]: complex numbers as pairs of real ones, over numbers and over tensors.
//!
//! A derivative is taken in the two real numbers of each complex one, so there is no conjugate in any rule. The gradient of a
//! real function L is again a complex number, `dL/dre + i dL/dim`: the direction in which L grows fastest, as in PyTorch
//! (JAX gives its conjugate). Of a holomorphic function, [`holomorphic_grad`] gives the complex derivative.
//!
//! ```
//! use wengert::prelude::*;
//! // |z - w|^2 grows fastest away from w.
//! let w = Complex::new(1.0, -1.0);
//! let g = grad(Complex::new(3.0, 0.5), |z| (z - w).norm_sqr());
//! assert_eq!(g, Complex::new(4.0, 3.0));
//!
//! // The same over tensors. A turn by a right angle changes no length.
//! let z = Complex::new(Tensor::from([1.0, 2.0]), Tensor::from([0.0, -1.0]));
//! let g = grad(&z, |z| (z * Complex::new(0.0, 1.0)).norm_sqr().sum());
//! assert_eq!((g.re.to_vec(), g.im.to_vec()), (vec![2.0, 4.0], vec![0.0, -2.0]));
//! ```

#[cfg(feature = "num_complex")]
mod exchange;
mod functions;
mod holomorphic;
mod operators;
#[cfg(feature = "arrays")]
mod parts;
#[cfg(feature = "arrays")]
mod products;
#[cfg(feature = "arrays")]
mod tensor;

pub use holomorphic::{HolomorphicLeaf, NotHolomorphic, holomorphic_grad, try_holomorphic_grad};
#[cfg(feature = "arrays")]
pub use parts::{ComplexOperand, IntoComplex};
#[cfg(feature = "arrays")]
pub use products::ComplexProducts;

use std::fmt;

use crate::leaf::Active;
use crate::real::Real;
#[cfg(feature = "arrays")]
use crate::tensor::Tensor;
use crate::tree::{Paths, Several, Structure, Tree};

/// `re + i im`: a complex number over any [`Real`](crate::Real), as `f64`, [`Var`](crate::Var) and duals are, or an array of
/// them over a pair of tensors of one shape.
///
/// It is a [`Tree`] of its two parts: every driver takes it and gives derivatives of its type. The gradient of a real
/// function is `dL/dre + i dL/dim`.
///
/// Over numbers it is `Copy`, and has operators and functions as numbers do; over tensors as tensors do: with numbers,
/// tensors and complex ones on both sides, shapes stretched to each other. Where a part is infinite or NaN, results are what
/// the formulas give, which may be NaN where C99 has an infinity.
///
/// ```
/// use wengert::Complex;
/// let z = Complex::new(1.0, 2.0);
/// assert_eq!(z * z.conj(), Complex::new(5.0, 0.0));
/// assert_eq!(2.0 * z + 1.0, Complex::new(3.0, 4.0));
/// assert_eq!((z / z).to_string(), "1 + 0i");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Complex<T> {
    /// The real part.
    pub re: T,
    /// The imaginary part.
    pub im: T,
}

impl<T> Complex<T> {
    /// `re + i im`
    pub const fn new(re: T, im: T) -> Self {
        Complex { re, im }
    }
}

impl<R: Real> From<R> for Complex<R> {
    fn from(re: R) -> Self {
        Complex { re, im: R::constant(0.0) }
    }
}

/// With an imaginary part of zeros.
#[cfg(feature = "arrays")]
impl From<Tensor> for Complex<Tensor> {
    fn from(re: Tensor) -> Self {
        let im = Tensor::zeros_of(re.dtype(), re.shape());
        Complex { re, im }
    }
}

impl fmt::Display for Complex<f64> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.im.is_sign_negative() { '-' } else { '+' };
        write!(f, "{} {sign} {}i", self.re, self.im.abs())
    }
}

impl<T: Tree> Tree for Complex<T> {
    type Leaf = T::Leaf;
    type Vars = Complex<T::Vars>;
    type Grad = Complex<T::Grad>;
    type Each<U> = Complex<T::Each<U>>;
    type Form = Several;
    const HAS_DATA: bool = T::HAS_DATA;

    fn size(&self) -> usize {
        self.re.size() + self.im.size()
    }
    fn for_each_leaf(&self, visit: &mut impl FnMut(T::Leaf)) {
        self.re.for_each_leaf(visit);
        self.im.for_each_leaf(visit);
    }
    fn visit_leaves(&self, visit: &mut impl FnMut(&T::Leaf)) {
        self.re.visit_leaves(visit);
        self.im.visit_leaves(visit);
    }
    fn structure(&self, structure: &mut Structure) {
        self.re.structure(structure);
        self.im.structure(structure);
    }
    fn paths(&self, paths: &mut Paths) {
        paths.field("re", &self.re);
        paths.field("im", &self.im);
    }
    fn vars(&self, lift: &mut impl FnMut(Self::Leaf) -> Active<Self>) -> Self::Vars {
        let re = self.re.vars(lift);
        Complex { re, im: self.im.vars(lift) }
    }
    fn grad(&self, next: &mut impl FnMut() -> T::Leaf) -> Self::Grad {
        let re = self.re.grad(next);
        Complex { re, im: self.im.grad(next) }
    }
    fn each<U>(&self, next: &mut impl FnMut() -> U) -> Self::Each<U> {
        let re = self.re.each(next);
        Complex { re, im: self.im.each(next) }
    }
}
