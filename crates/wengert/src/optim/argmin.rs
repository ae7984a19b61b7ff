//! Functions as problems of the optimisers of the crate `argmin`, with all derivatives they ask for: [`Dense`] with the
//! whole Hessian, [`MatrixFree`] with its products with vectors alone. Feature `argmin`.
//!
//! ```
//! use argmin::core::{Executor, State};
//! use argmin::solver::trustregion::{Steihaug, TrustRegion};
//! use wengert::optim::argmin::MatrixFree;
//! use wengert::prelude::*;
//! // Rosenbrock's function: a bent valley, with its lowest point at (1, 1).
//! let problem = MatrixFree::new(|x: Vec<Var>| (1.0 - x[0]).square() + 100.0 * (x[1] - x[0] * x[0]).square());
//! let solver = TrustRegion::new(Steihaug::new().with_max_iters(20));
//! let run = Executor::new(problem, solver).configure(|state| state.param(vec![-1.2, 1.0]).max_iters(60)).run().unwrap();
//! let best = run.state().get_best_param().unwrap();
//! assert!((best[0] - 1.0).abs() < 1e-6 && (best[1] - 1.0).abs() < 1e-6);
//! ```

use std::sync::Arc;

use argmin::core::{CostFunction, Error, Gradient, Hessian};
use argmin_math::ArgminDot;

use crate::drive::recorded_value;
use crate::tape::Var;

/// A function with its gradient and the whole Hessian, a `Vec` of rows.
#[derive(Clone, Debug)]
pub struct Dense<F>(F);

impl<F: Fn(Vec<Var>) -> Var> Dense<F> {
    /// The problem of finding where this function is lowest.
    ///
    /// ```
    /// use argmin::core::Hessian;
    /// use wengert::{Var, optim::argmin::Dense};
    /// let problem = Dense::new(|x: Vec<Var>| (x[0] - 1.0).square());
    /// assert_eq!(problem.hessian(&vec![0.0]).unwrap(), [[2.0]]);
    /// ```
    pub const fn new(f: F) -> Self {
        Dense(f)
    }
}

/// A function with its gradient and, at every point, its [`Curvature`]: the Hessian as a product with vectors, which costs
/// a small multiple of the function and never n x n numbers.
#[derive(Clone, Debug)]
pub struct MatrixFree<F>(Arc<F>);

impl<F: Fn(Vec<Var>) -> Var> MatrixFree<F> {
    /// The problem of finding where this function is lowest.
    ///
    /// ```
    /// use argmin::core::Gradient;
    /// use wengert::{Var, optim::argmin::MatrixFree};
    /// let problem = MatrixFree::new(|x: Vec<Var>| (x[0] - 1.0).square());
    /// assert_eq!(problem.gradient(&vec![0.0]).unwrap(), [-2.0]);
    /// ```
    pub fn new(f: F) -> Self {
        MatrixFree(Arc::new(f))
    }
}

/// The Hessian of a function at a point, known by its products with vectors: `h.dot(&v)` is [`crate::hvp`].
#[derive(Debug)]
pub struct Curvature<F> {
    f: Arc<F>,
    point: Vec<f64>,
}

impl<F> Clone for Curvature<F> {
    fn clone(&self) -> Self {
        Curvature { f: self.f.clone(), point: self.point.clone() }
    }
}

impl<F: Fn(Vec<Var>) -> Var> ArgminDot<Vec<f64>, Vec<f64>> for Curvature<F> {
    fn dot(&self, vector: &Vec<f64>) -> Vec<f64> {
        crate::hvp(&self.point, vector, &*self.f)
    }
}

/// Value and gradient of either problem.
macro_rules! first_order {
    ($problem:ident) => {
        impl<F: Fn(Vec<Var>) -> Var> CostFunction for $problem<F> {
            type Param = Vec<f64>;
            type Output = f64;

            fn cost(&self, x: &Vec<f64>) -> Result<f64, Error> {
                // Recorded and not swept: line searches ask for many values.
                Ok(recorded_value(x, |x| (self.0)(x)))
            }
        }

        impl<F: Fn(Vec<Var>) -> Var> Gradient for $problem<F> {
            type Param = Vec<f64>;
            type Gradient = Vec<f64>;

            fn gradient(&self, x: &Vec<f64>) -> Result<Vec<f64>, Error> {
                Ok(crate::grad(x, |x| (self.0)(x)))
            }
        }
    };
}
first_order!(Dense);
first_order!(MatrixFree);

impl<F: Fn(Vec<Var>) -> Var> Hessian for Dense<F> {
    type Param = Vec<f64>;
    type Hessian = Vec<Vec<f64>>;

    fn hessian(&self, x: &Vec<f64>) -> Result<Vec<Vec<f64>>, Error> {
        Ok(crate::hessian(x, &self.0))
    }
}

impl<F: Fn(Vec<Var>) -> Var> Hessian for MatrixFree<F> {
    type Param = Vec<f64>;
    type Hessian = Curvature<F>;

    fn hessian(&self, x: &Vec<f64>) -> Result<Curvature<F>, Error> {
        Ok(Curvature { f: self.0.clone(), point: x.clone() })
    }
}
