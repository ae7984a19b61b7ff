//! `minimise`: a point at which a function is lowest.

use std::cell::RefCell;
use std::panic::Location;

use super::newton::{QUICK, WIDE};
use super::{Function, LinearSolve, Moved, at, chosen, count, dot, norm, plus, point, within_tolerance};
use crate::api::{grad, value_and_grad};
use crate::array::{DType, Type};
use crate::control::While;
use crate::error::{Error, ErrorKind, OrRaise};
use crate::primitives::linearised;
use crate::program::{Program, Value};
use crate::tensor::Tensor;
use crate::tensor::graph;
use crate::tree::Tree;

/// A point at which `f`, which gives a single number, is lowest, found from `x0` on by Newton's method.
///
/// `x0` may be any tree of tensors; its leaves that are [frozen](crate::freeze) stay what they are, and `f` gets them as if it had
/// captured them. `f` is recorded once and may capture anything. The point is differentiated in every
/// capture, in every mode and order, and under [`vmap`](crate::vmap), by the implicit function theorem: `H x_dot = -d(grad
/// f)/dc c_dot` with the Hessian `H` of `f` is solved by conjugate gradients; no step of the search is differentiated. Along
/// `x0` the derivative is zero.
///
/// ```
/// use wengert::prelude::*;
/// use wengert::minimise;
/// // ridge regression; its path along the penalty
/// let a = Tensor::from([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]);
/// let y = Tensor::from([1.0, 2.0, 4.0]);
/// let fit = |penalty: &Tensor| {
///     minimise(&Tensor::zeros(&[2]), |w| (a.matmul(&w) - &y).square().sum() + penalty * w.square().sum())
/// };
/// let penalty = Tensor::from(0.1);
/// let slope = grad(&penalty, |p| fit(&p).square().sum()).item();
/// let moved = |by: f64| fit(&(&penalty + by)).square().sum().item();
/// assert!((slope - (moved(1e-4) - moved(-1e-4)) / 2e-4).abs() < 1e-5);
/// ```
///
/// The steps are those of the line search Newton-CG method (J. Nocedal, S. J. Wright, *Numerical optimization*, 2006, algorithm
/// 7.1): directions of conjugate gradients that end where the curvature is negative, and steps that are shortened until `f`
/// falls. They go on below the tolerance as long as each leaves less than half of the norm of the gradient: the tolerance says
/// what is accepted at the end, and knows nothing of the units of `f`.
///
/// What is found is a point where the gradient vanishes and near which `f` did not fall any more: a local minimum, unless the
/// search began at another stationary point. Where conjugate gradients meet a direction along which the curvature is not
/// positive, there is no derivative but an error; where they meet none, the derivative is that of the stationary point.
/// [`Minimise`] has options, and takes points that were found by other means.
///
/// # Panics
/// If `f` does not give a single real number; if the norm of the gradient is not within the tolerance after the limit of steps,
/// or where no step leads lower; if the linear system of a derivative has no solution.
#[track_caller]
pub fn minimise<X>(x0: X, f: impl FnOnce(X::Vars) -> Tensor) -> X::Grad
where
    X: Tree<Leaf = Tensor>,
{
    Minimise::new().run(x0, f)
}

/// [`minimise`] with options.
///
/// ```
/// use wengert::prelude::*;
/// use wengert::Minimise;
/// // a minimum that is known in closed form
/// let a = Tensor::from(3.0);
/// let lowest = |a: &Tensor| Minimise::new().at(a.sqrt(), |x| x.powi(3) / 3.0 - a * &x);
/// assert!((grad(&a, |a| lowest(&a)).item() - 0.5 / 3f64.sqrt()).abs() < 1e-10);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Minimise {
    tolerance: Option<f64>,
    limit: usize,
    linear: LinearSolve,
}

impl Default for Minimise {
    fn default() -> Self {
        Minimise { tolerance: None, limit: 100, linear: LinearSolve::new().conjugate_gradients() }
    }
}

impl Minimise {
    /// Newton's method with at most 100 steps.
    pub fn new() -> Self {
        Minimise::default()
    }

    /// What the Euclidean norm of all numbers of the gradient may be: 1e-10 if it is not said, 1e-5 in single precision. Where
    /// `f` is large, rounding keeps the gradient from being as small: say what is small there.
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

    /// How the linear systems of derivatives are solved: by conjugate gradients if it is not said.
    #[must_use]
    pub fn linear(mut self, linear: LinearSolve) -> Self {
        self.linear = linear;
        self
    }

    /// Finds a minimum.
    ///
    /// # Panics
    /// As [`Minimise::try_run`] gives errors, and if a minimum that is only recorded here is not found when it is run.
    #[track_caller]
    pub fn run<X>(&self, x0: X, f: impl FnOnce(X::Vars) -> Tensor) -> X::Grad
    where
        X: Tree<Leaf = Tensor>,
    {
        self.try_run(x0, f).or_raise()
    }

    /// Finds a minimum.
    ///
    /// # Errors
    /// If `f` does not give a single real number, or no minimum is found.
    #[track_caller]
    pub fn try_run<X>(&self, x0: X, f: impl FnOnce(X::Vars) -> Tensor) -> Result<X::Grad, Error>
    where
        X: Tree<Leaf = Tensor>,
    {
        let moved = Moved::of(&x0);
        let found = self.found(Function::record("minimise", &x0, &moved, f)?, self.limit)?;
        Ok(point(&x0, &moved, found))
    }

    /// A minimum that was found by other means, as a function of what `f` captures: its value is `x`, and its derivative that of
    /// the gradient's equation, whatever `x` was computed of.
    ///
    /// # Panics
    /// As [`Minimise::try_at`] gives errors.
    #[track_caller]
    pub fn at<X>(&self, x: X, f: impl FnOnce(X::Vars) -> Tensor) -> X::Grad
    where
        X: Tree<Leaf = Tensor>,
    {
        self.try_at(x, f).or_raise()
    }

    /// As [`Minimise::at`].
    ///
    /// # Errors
    /// If `f` does not give a single real number, or the norm of its gradient is not within the tolerance.
    #[track_caller]
    pub fn try_at<X>(&self, x: X, f: impl FnOnce(X::Vars) -> Tensor) -> Result<X::Grad, Error>
    where
        X: Tree<Leaf = Tensor>,
    {
        let moved = Moved::of(&x);
        let found = self.found(Function::record("minimise", &x, &moved, f)?, 0)?;
        Ok(point(&x, &moved, found))
    }

    #[track_caller]
    fn found(&self, function: Function, limit: usize) -> Result<Vec<Tensor>, Error> {
        let line = Location::caller();
        match &function.closed.program.output_types()[..] {
            [ty] if ty.rank() == 0 && ty.dtype.is_float() => {}
            other => {
                let list = other.iter().map(ToString::to_string).collect::<Vec<String>>().join(", ");
                let why = format!("the function gives ({list}), and has to give a single real number");
                return Err(super::error(function.name, ErrorKind::Misfit, why, line));
            }
        }
        if function.point.is_empty() {
            return Ok(Vec::new());
        }
        let (name, program) = (function.name, &function.closed.program);
        let lowest = |x: Vec<Tensor>, captures: &[Tensor]| -> Tensor {
            let mut result = at(name, program, &x, captures).or_raise();
            result.remove(0)
        };
        let slope = function.program(line, |x, captures| Ok(grad(x.to_vec(), |x| lowest(x, captures))))?;
        let tolerance = function.tolerance(self.tolerance, self.linear, line)?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let solver = function.program(line, |x, captures| {
            let valued = |x: &[Tensor]| value_and_grad(x.to_vec(), |x| lowest(x, captures));
            let (value, first) = valued(x);
            let size = norm(&first);
            let failed = RefCell::new(None);
            // Value, norm of the gradient, steps, whether steps lead lower, and go on within the tolerance.
            let state = vec![value.to_f64(), size, count(0), Tensor::from(true), Tensor::from(true)];
            let (x, _, state) = While::new().try_run(
                (x.to_vec(), first, state),
                |(_, _, state)| {
                    let defined = state[1].lt(f64::INFINITY);
                    let more = state[1].gt(tolerance).or(state[4].and(state[1].gt(0.0)));
                    defined.and(more).and(&state[3]).and(state[2].lt(limit))
                },
                |(x, g, state)| match stepped(name, &slope, captures, &valued, &x, &g, &state) {
                    Ok(next) => next,
                    Err(why) => {
                        failed.replace(Some(why));
                        (x, g, state)
                    }
                },
            )?;
            if let Some(why) = failed.into_inner() {
                return Err(why);
            }
            let [size, steps] = [&state[1], &state[2]];
            within_tolerance(name, &x, ["minimum", "norm of the gradient"], [size, steps], tolerance)
        })?;
        function.solved(solver, slope, self.linear, line)
    }
}

/// Leaves, their gradient, and what else a step carries.
type Carry = (Vec<Tensor>, Vec<Tensor>, Vec<Tensor>);

/// One step: a direction, and how far `f` falls along it.
#[track_caller]
fn stepped(
    name: &str,
    slope: &Program,
    captures: &[Tensor],
    valued: &impl Fn(&[Tensor]) -> (Tensor, Vec<Tensor>),
    x: &[Tensor],
    g: &[Tensor],
    state: &[Tensor],
) -> Result<Carry, Error> {
    let direction = direction(name, slope, captures, x, g, &state[1])?;
    let along = dot(g, &direction);
    let (value, size) = (&state[0], &state[1]);
    // Where `f` is as low as it gets, its differences are roundings: there a shorter gradient counts.
    let unit = if x.iter().any(|x| x.dtype() == DType::F32) { f64::from(f32::EPSILON) } else { f64::EPSILON };
    let slack = value.abs() * (8.0 * unit);
    let moved = |t: &Tensor| {
        let next = plus(x, t, &direction);
        let (value, g) = valued(&next);
        let size = norm(&g);
        (next, g, vec![value.to_f64(), size])
    };
    let falls = |reached: &[Tensor], t: &Tensor| {
        let falls = reached[0].le(value + t * &along * 1e-4);
        let flat = reached[0].le(value + &slack).and(reached[1].lt(size));
        falls.or(flat)
    };
    let whole = Tensor::from(1.0);
    let (next, slope, mut reached) = moved(&whole);
    reached.push(whole);
    let (next, slope, reached) = While::new().try_run(
        (next, slope, reached),
        |(_, _, reached)| falls(&reached, &reached[2]).not().and(reached[2].gt(1e-12)),
        |(_, _, reached)| {
            let half = &reached[2] * 0.5;
            let (next, slope, mut reached) = moved(&half);
            reached.push(half);
            (next, slope, reached)
        },
    )?;
    let lower = falls(&reached, &reached[2]);
    let chosen_state = |k: usize| lower.where_(&reached[k], &state[k]);
    let on = reached[1].lt(size * QUICK).or(norm(&direction).gt(norm(x) * WIDE));
    let after = vec![chosen_state(0), chosen_state(1), &state[2] + 1, lower.clone(), on];
    Ok((chosen(&lower, &next, x), chosen(&lower, &slope, g), after))
}

/// The direction of conjugate gradients on `H d = -g`, as far as the curvature is positive and the residual large: at most
/// `min(1/2, sqrt |g|) |g|`.
#[track_caller]
fn direction(
    name: &str,
    slope: &Program,
    captures: &[Tensor],
    x: &[Tensor],
    g: &[Tensor],
    size: &Tensor,
) -> Result<Vec<Tensor>, Error> {
    let point: Vec<&Tensor> = x.iter().chain(captures).collect();
    let mut map = None;
    let operands = graph::build(name, &point, |b, args| {
        let unsupported = |why: crate::error::Misfit| Error::new(ErrorKind::Unsupported, name, why.0);
        let (program, operands) = linearised(b, slope, args, None).map_err(unsupported)?;
        map = Some(program);
        Ok::<Vec<Value>, Error>(operands)
    })?;
    let map = map.expect("it was made");
    let curved = |v: &[Tensor]| {
        let operands: Vec<&Tensor> = operands.iter().chain(v).collect();
        graph::apply_program(name, &map, &operands).or_raise()
    };
    let minus = Tensor::from(-1.0);
    let types: Vec<&Type> = x.iter().map(Tensor::ty).collect();
    let zeros: Vec<Tensor> = types.iter().map(|ty| Tensor::zeros_of(ty.dtype, &ty.shape)).collect();
    let down = plus(&zeros, &minus, g);
    let goal = size * size.sqrt().clamp(0.0, 0.5);
    let most = 2 * types.iter().map(|ty| ty.size()).sum::<usize>() + 10;
    let square = dot(&down, &down);
    // The direction so far, the residual, the next direction; the square of the residual, the steps, whether to go on.
    let carry = (zeros, down.clone(), down, vec![square, count(0), Tensor::from(true)]);
    let (direction, ..) = While::new().try_run(
        carry,
        |(_, _, _, state)| {
            let far = state[0].sqrt().gt(&goal);
            far.and(&state[2]).and(state[1].lt(most as i64))
        },
        |(d, r, p, state)| {
            let q = curved(&p);
            let curvature = dot(&p, &q);
            let positive = curvature.gt(0.0);
            let alpha = &state[0] / &curvature;
            let (further, rest) = (plus(&d, &alpha, &p), plus(&r, &-&alpha, &q));
            // The first direction leads down whatever the curvature is.
            let first = state[1].eq(0);
            let otherwise = chosen(&first, &p, &d);
            let next = dot(&rest, &rest);
            let turned = plus(&rest, &(&next / &state[0]), &p);
            let d = chosen(&positive, &further, &otherwise);
            (d, rest, turned, vec![next, &state[1] + 1, positive])
        },
    )?;
    Ok(direction)
}
