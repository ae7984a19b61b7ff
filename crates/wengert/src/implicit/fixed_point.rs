//! `fixed_point`: a point that a function leaves as it is.

use std::cell::RefCell;
use std::panic::Location;
use std::sync::Arc;

use super::{Function, LinearSolve, Moved, at, count, norm, plus, point, within_tolerance};
use crate::control::While;
use crate::error::{Error, OrRaise};
use crate::program::{Builder, Program, Value, inline};
use crate::tensor::Tensor;
use crate::tree::Tree;

/// The point `x = f(x)` to which `f`, applied again and again, leads from `x0`.
///
/// `x0` may be any tree of tensors, and `f` gives one with the same leaves; those that are [frozen](crate::freeze) stay what they
/// are, and what `f` gives for them does not count. It is recorded once and may capture anything. The
/// point is differentiated in every capture, in every mode and order, and under [`vmap`](crate::vmap), by the implicit
/// function theorem: `(1 - df/dx) x_dot = df/dc c_dot` is solved ([`LinearSolve`]); no iteration is differentiated. Along `x0`
/// the derivative is zero.
///
/// ```
/// use wengert::prelude::*;
/// use wengert::fixed_point;
/// // x = cos(a x)
/// let point = |a: &Tensor| fixed_point(&Tensor::from(0.5), |x| (a * x).cos());
/// let a = Tensor::from(1.0);
/// let x = point(&a).item();
/// assert!((x - x.cos()).abs() < 1e-9);
/// let slope = -x * x.sin() / (1.0 + x.sin());
/// assert!((grad(&a, |a| point(&a)).item() - slope).abs() < 1e-9);
/// ```
///
/// # Panics
/// If the types of `f` are not those of the point; if the norm of `f(x) - x` is not within the tolerance after the limit of
/// steps; if the linear system of a derivative has no solution. [`FixedPoint`] has options.
#[track_caller]
pub fn fixed_point<X, R>(x0: X, f: impl FnOnce(X::Vars) -> R) -> X::Grad
where
    X: Tree<Leaf = Tensor>,
    R: Tree<Leaf = Tensor>,
{
    FixedPoint::new().run(x0, f)
}

/// How far below the least one so far the share of a step in its point has to be, within how many steps, for steps that are within
/// the tolerance to go on: it stays where a point goes to 0, and falls by turns where steps go to and fro.
const FALLS: f64 = 0.99;
const STALLED: i64 = 4;

/// [`fixed_point`] with options.
///
/// ```
/// use wengert::prelude::*;
/// use wengert::FixedPoint;
/// // x = 4 / x goes to and fro; half steps lead to the root of 4
/// let point = FixedPoint::new().damping(0.5).run(&Tensor::from(1.0), |x| 4.0 / x);
/// assert!((point.item() - 2.0).abs() < 1e-9);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct FixedPoint {
    tolerance: Option<f64>,
    limit: usize,
    damping: f64,
    linear: LinearSolve,
}

impl Default for FixedPoint {
    fn default() -> Self {
        FixedPoint { tolerance: None, limit: 1000, damping: 1.0, linear: LinearSolve::new() }
    }
}

impl FixedPoint {
    /// Whole steps, at most 1000.
    pub fn new() -> Self {
        FixedPoint::default()
    }

    /// What the Euclidean norm of all numbers of `f(x) - x` may be: 1e-10 if it is not said, 1e-5 in single precision.
    ///
    /// A point whose own norm is below 1 has its digits too: steps go on until `f(x) - x` is smaller than this share of x, or
    /// that share no longer falls.
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

    /// Steps `x + damping (f(x) - x)` instead of whole ones.
    #[must_use]
    pub fn damping(mut self, damping: f64) -> Self {
        self.damping = damping;
        self
    }

    /// How the linear systems of derivatives are solved.
    #[must_use]
    pub fn linear(mut self, linear: LinearSolve) -> Self {
        self.linear = linear;
        self
    }

    /// Finds a fixed point.
    ///
    /// # Panics
    /// As [`FixedPoint::try_run`] gives errors, and if a point that is only recorded here is not found when it is run.
    #[track_caller]
    pub fn run<X, R>(&self, x0: X, f: impl FnOnce(X::Vars) -> R) -> X::Grad
    where
        X: Tree<Leaf = Tensor>,
        R: Tree<Leaf = Tensor>,
    {
        self.try_run(x0, f).or_raise()
    }

    /// Finds a fixed point.
    ///
    /// # Errors
    /// If the types of `f` are not those of the point, or no fixed point is found.
    #[track_caller]
    pub fn try_run<X, R>(&self, x0: X, f: impl FnOnce(X::Vars) -> R) -> Result<X::Grad, Error>
    where
        X: Tree<Leaf = Tensor>,
        R: Tree<Leaf = Tensor>,
    {
        let moved = Moved::of(&x0);
        let found = self.found(Function::record("fixed_point", &x0, &moved, f)?, self.limit)?;
        Ok(point(&x0, &moved, found))
    }

    /// A fixed point that was found by other means, as a function of what `f` captures: its value is `x`, and its derivative that
    /// of the equation, whatever `x` was computed of.
    ///
    /// # Panics
    /// As [`FixedPoint::try_at`] gives errors.
    #[track_caller]
    pub fn at<X, R>(&self, x: X, f: impl FnOnce(X::Vars) -> R) -> X::Grad
    where
        X: Tree<Leaf = Tensor>,
        R: Tree<Leaf = Tensor>,
    {
        self.try_at(x, f).or_raise()
    }

    /// As [`FixedPoint::at`].
    ///
    /// # Errors
    /// If the types of `f` are not those of the point, or the norm of `f(x) - x` is not within the tolerance.
    #[track_caller]
    pub fn try_at<X, R>(&self, x: X, f: impl FnOnce(X::Vars) -> R) -> Result<X::Grad, Error>
    where
        X: Tree<Leaf = Tensor>,
        R: Tree<Leaf = Tensor>,
    {
        let moved = Moved::of(&x);
        let found = self.found(Function::record("fixed_point", &x, &moved, f)?, 0)?;
        Ok(point(&x, &moved, found))
    }

    #[track_caller]
    fn found(&self, mut function: Function, limit: usize) -> Result<Vec<Tensor>, Error> {
        let line = Location::caller();
        function.check_image("result", line)?;
        if function.point.is_empty() {
            return Ok(Vec::new());
        }
        function.closed.program = Arc::new(without_point(&function.closed.program, function.point.len()));
        let tolerance = function.tolerance(self.tolerance, self.linear, line)?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let damping = Tensor::from(self.damping);
        let solver = function.program(line, |x, captures| {
            let way = |x: &[Tensor]| at(function.name, &function.closed.program, x, captures);
            let first = way(x)?;
            let size = norm(&first);
            let share = &size / norm(x);
            let failed = RefCell::new(None);
            let (x, _, state) = While::new().try_run(
                (x.to_vec(), first, vec![size, count(0), share, count(0)]),
                |(_, _, state)| {
                    let [size, steps, share, stalled] = [&state[0], &state[1], &state[2], &state[3]];
                    let is_far = size.gt(tolerance).or(share.gt(tolerance).and(stalled.lt(STALLED)));
                    // What is no number does not become one.
                    is_far.and(size.lt(f64::INFINITY)).and(steps.lt(limit))
                },
                |(x, step, state)| {
                    let x = plus(&x, &damping, &step);
                    let step = way(&x).unwrap_or_else(|why| {
                        failed.replace(Some(why));
                        step
                    });
                    let size = norm(&step);
                    let share = &size / norm(&x);
                    let falls = share.lt(&state[2] * FALLS);
                    let least = falls.where_(share, &state[2]);
                    let stalled = falls.where_(count(0), &state[3] + 1);
                    (x, step, vec![size, &state[1] + 1, least, stalled])
                },
            )?;
            if let Some(why) = failed.into_inner() {
                return Err(why);
            }
            let [size, steps] = [&state[0], &state[1]];
            within_tolerance(function.name, &x, ["fixed point", "norm of f(x) - x"], [size, steps], tolerance)
        })?;
        function.solved(solver, (*function.closed.program).clone(), self.linear, line)
    }
}

/// `f(x, c) - x` of `f`.
fn without_point(f: &Program, leaves: usize) -> Program {
    let mut b = Builder::new();
    let inputs: Vec<Value> = f.input_types().iter().map(|ty| b.input("", ty.clone())).collect();
    let image = inline(&mut b, f, &inputs);
    let steps: Vec<Value> = image.iter().zip(&inputs[..leaves]).map(|(&image, &x)| b.sub(image, x)).collect();
    b.finish(&steps)
}
