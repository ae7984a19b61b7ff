//! `root`: a point at which a function is zero.

use std::panic::Location;

use super::newton::{End, newton};
use super::{Function, LinearSolve, Moved, at, count, norm, point, within_tolerance};
use crate::error::{Error, OrRaise};
use crate::tensor::Tensor;
use crate::tree::Tree;

/// A point at which `f` is zero, found from `x0` on by Newton's method.
///
/// `x0` may be any tree of tensors, and `f` gives one with the same leaves; those that are [frozen](crate::freeze) stay what they
/// are, and what `f` gives for them does not count. It is recorded once and may capture anything. The
/// root is differentiated in every capture, in every mode and order, and under [`vmap`](crate::vmap), by the implicit function
/// theorem: `x_dot = -(df/dx)^-1 df/dc c_dot` solves a linear system ([`LinearSolve`]); no step of the search is
/// differentiated. Along `x0` the derivative is zero.
///
/// ```
/// use wengert::prelude::*;
/// use wengert::root;
/// // Kepler's equation: the eccentric anomaly E of the mean anomaly M
/// let anomaly = |m: &Tensor, e: &Tensor| root(m, |x| &x - e * x.sin() - m);
/// let (m, e) = (Tensor::from(0.8), Tensor::from(0.3));
/// let x = anomaly(&m, &e);
/// // dE/dM = 1 / (1 - e cos E)
/// let slope = grad(&m, |m| anomaly(&m, &e)).item();
/// assert!((slope - 1.0 / (1.0 - 0.3 * x.item().cos())).abs() < 1e-9);
/// ```
///
/// Steps go on below the tolerance as long as each leaves less than half of the norm: the tolerance says what is accepted at the
/// end, and knows nothing of the units of `f`. They are shortened where they do not make `f` smaller; their linear systems are
/// solved by GMRES, so that no Jacobian is made (J. E. Dennis, R. B. Schnabel, *Numerical methods for unconstrained optimization
/// and nonlinear equations*, 1983).
/// [`Root`] has options, and takes points that were found by other means.
///
/// # Panics
/// If the types of `f` are not those of the point; if the norm of `f` is not within the tolerance after the limit of steps,
/// or where no step makes it smaller; if the linear system of a step or of a derivative has no solution.
#[track_caller]
pub fn root<X, R>(x0: X, f: impl FnOnce(X::Vars) -> R) -> X::Grad
where
    X: Tree<Leaf = Tensor>,
    R: Tree<Leaf = Tensor>,
{
    Root::new().run(x0, f)
}

/// [`root`] with options.
///
/// ```
/// use wengert::prelude::*;
/// use wengert::Root;
/// // a point that was found by other means: bisection
/// let bisected = |a: &Tensor| {
///     let halved = |(low, high): (Tensor, Tensor)| {
///         let middle = (&low + &high) * 0.5;
///         let above = middle.powi(3).gt(a);
///         (above.where_(&low, &middle), above.where_(&middle, &high))
///     };
///     let (low, _) = fori(0..60, (Tensor::from(0.0), Tensor::from(4.0)), |_, ends| halved(ends));
///     Root::new().at(low, |x| x.powi(3) - a)
/// };
/// let g = grad(&Tensor::from(8.0), |a| bisected(&a));
/// assert!((g.item() - 1.0 / 12.0).abs() < 1e-9);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Root {
    tolerance: Option<f64>,
    limit: usize,
    linear: LinearSolve,
}

impl Default for Root {
    fn default() -> Self {
        Root { tolerance: None, limit: 50, linear: LinearSolve::new() }
    }
}

impl Root {
    /// Newton's method with at most 50 steps.
    pub fn new() -> Self {
        Root::default()
    }

    /// What the Euclidean norm of all numbers of `f` may be at the root: 1e-10 if it is not said, 1e-5 in single precision.
    #[must_use]
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = Some(tolerance);
        self
    }

    /// At most this many steps.
    #[must_use]
    pub fn limit(mut self, steps: usize) -> Self {
        self.limit = steps;
        self
    }

    /// How linear systems are solved, those of the steps and those of derivatives.
    #[must_use]
    pub fn linear(mut self, linear: LinearSolve) -> Self {
        self.linear = linear;
        self
    }

    /// Finds a root.
    ///
    /// # Panics
    /// As [`Root::try_run`] gives errors, and if a root that is only recorded here is not found when it is run.
    #[track_caller]
    pub fn run<X, R>(&self, x0: X, f: impl FnOnce(X::Vars) -> R) -> X::Grad
    where
        X: Tree<Leaf = Tensor>,
        R: Tree<Leaf = Tensor>,
    {
        self.try_run(x0, f).or_raise()
    }

    /// Finds a root.
    ///
    /// # Errors
    /// If the types of `f` are not those of the point, or no root is found.
    #[track_caller]
    pub fn try_run<X, R>(&self, x0: X, f: impl FnOnce(X::Vars) -> R) -> Result<X::Grad, Error>
    where
        X: Tree<Leaf = Tensor>,
        R: Tree<Leaf = Tensor>,
    {
        let moved = Moved::of(&x0);
        let function = Function::record("root", &x0, &moved, f)?;
        let found = self.found(&function, |x, captures, tolerance| {
            newton(&function, x, captures, tolerance, self.limit, self.linear)
        })?;
        Ok(point(&x0, &moved, found))
    }

    /// A root that was found by other means, as a function of what `f` captures: its value is `x`, and its derivative that of
    /// the equation, whatever `x` was computed of.
    ///
    /// # Panics
    /// As [`Root::try_at`] gives errors.
    #[track_caller]
    pub fn at<X, R>(&self, x: X, f: impl FnOnce(X::Vars) -> R) -> X::Grad
    where
        X: Tree<Leaf = Tensor>,
        R: Tree<Leaf = Tensor>,
    {
        self.try_at(x, f).or_raise()
    }

    /// As [`Root::at`].
    ///
    /// # Errors
    /// If the types of `f` are not those of the point, or its norm is not within the tolerance.
    #[track_caller]
    pub fn try_at<X, R>(&self, x: X, f: impl FnOnce(X::Vars) -> R) -> Result<X::Grad, Error>
    where
        X: Tree<Leaf = Tensor>,
        R: Tree<Leaf = Tensor>,
    {
        let moved = Moved::of(&x);
        let function = Function::record("root", &x, &moved, f)?;
        let found = self.found(&function, |x, captures, _| {
            let size = norm(&at(function.name, &function.closed.program, x, captures)?);
            Ok(End { x: x.to_vec(), size, steps: count(0) })
        })?;
        Ok(point(&x, &moved, found))
    }

    #[track_caller]
    fn found(
        &self,
        function: &Function,
        search: impl FnOnce(&[Tensor], &[Tensor], f64) -> Result<End, Error>,
    ) -> Result<Vec<Tensor>, Error> {
        let line = Location::caller();
        function.check_image("residual", line)?;
        if function.point.is_empty() {
            return Ok(Vec::new());
        }
        let tolerance = function.tolerance(self.tolerance, self.linear, line)?;
        let solver = function.program(line, |x, captures| {
            let End { x, size, steps } = search(x, captures, tolerance)?;
            within_tolerance(function.name, &x, ["root", "norm of the residual"], [&size, &steps], tolerance)
        })?;
        function.solved(solver, (*function.closed.program).clone(), self.linear, line)
    }
}
