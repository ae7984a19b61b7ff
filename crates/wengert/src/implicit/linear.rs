//! `linear_solve`: a linear system, known by its map.

use std::panic::Location;
use std::sync::Arc;

use super::{Function, Moved, checked_tolerance, default_tolerance, point};
use crate::error::{Error, ErrorKind, OrRaise};
use crate::primitives::{Krylov, LinearMethod, Literal, Op, Solve};
use crate::program::{Builder, Program, Value, everywhere, inline};
use crate::tensor::Tensor;
use crate::tensor::graph::{self, Closed};
use crate::transform::linear::check_linear;
use crate::tree::Tree;

/// The `x` with `map(x) = b`, for a linear map that is known by its products: no matrix is made.
///
/// `b` may be any tree of tensors, and `map` gives one with the same leaves; those that are [frozen](crate::freeze) are data of the
/// map, which `x` has as they are. It is recorded once, and has to be linear without
/// an offset, which is read off its operations. It may capture anything: the solution is differentiated in `b` and in every
/// capture, in every mode and order, and under [`vmap`](crate::vmap), where every example is solved by itself.
///
/// The system is solved by restarted GMRES (Saad and Schultz 1986); [`LinearSolve`] has other methods and options. Its steps are
/// never differentiated: the tangent of `A x = b` is the solution of `A x_dot = b_dot - A_dot x`, and the cotangent of `b` that
/// of the transposed system.
///
/// ```
/// use wengert::prelude::*;
/// use wengert::linear_solve;
/// let b = Tensor::from([1.0, 0.0, -2.0]);
/// let c = Tensor::from(3.0);
/// // 3 x[i] - x[i - 1] = b[i], around the end
/// let solve = |b: &Tensor, c: &Tensor| linear_solve(b, |x| c * &x - x.roll(1, 0));
/// let x = solve(&b, &c);
/// assert!((&x * 3.0 - x.roll(1, 0) - &b).abs().max().item() < 1e-9);
/// // the sum of x is that of b over 2, in every direction of b
/// assert!((grad(&b, |b| solve(&b, &c).sum()) - 0.5).abs().max().item() < 1e-9);
/// // and - sum(b) / (c - 1)^2 along c
/// assert!((grad(&c, |c| solve(&b, &c).sum()).item() - 0.25).abs() < 1e-9);
/// ```
///
/// # Panics
/// If the map is not linear, or gives other shapes than it takes; if there is no solution within the tolerance after the
/// limit of steps, or the method breaks down: the message tells residual, tolerance and steps.
#[track_caller]
pub fn linear_solve<X, Y>(b: X, map: impl FnOnce(X::Vars) -> Y) -> X::Grad
where
    X: Tree<Leaf = Tensor>,
    Y: Tree<Leaf = Tensor>,
{
    LinearSolve::new().run(b, map)
}

/// [`linear_solve`] with options.
///
/// ```
/// use wengert::prelude::*;
/// use wengert::LinearSolve;
/// let b = Tensor::from([1.0, 2.0, 3.0]);
/// let solve = LinearSolve::new().conjugate_gradients().tolerance(1e-12);
/// let x = solve.run(&b, |x| &x * 4.0 - x.roll(1, 0) - x.roll(-1, 0));
/// assert!((x.sum().item() - 3.0).abs() < 1e-10);
/// let why = LinearSolve::new().try_run(&b, |x| x.sin()).unwrap_err();
/// assert!(why.to_string().contains("the map is not linear: `sin` at "), "{why}");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct LinearSolve {
    krylov: Krylov,
    pub(super) tolerance: Option<f64>,
    limit: Option<usize>,
}

impl Default for LinearSolve {
    fn default() -> Self {
        LinearSolve { krylov: Krylov::Gmres { restart: 30 }, tolerance: None, limit: None }
    }
}

impl LinearSolve {
    /// GMRES, restarted after 30 steps.
    pub fn new() -> Self {
        LinearSolve::default()
    }

    /// By GMRES (Y. Saad, M. H. Schultz, 1986), which is restarted after this many steps: it keeps twice as many vectors.
    #[must_use]
    pub fn gmres(mut self, restart: usize) -> Self {
        self.krylov = Krylov::Gmres { restart };
        self
    }

    /// By conjugate gradients (M. R. Hestenes, E. Stiefel, 1952): the map has to be symmetric and positive definite. That it is
    /// not is an error where the method notices; a point that it gives is a solution in any case, and derivatives do not rest
    /// on the claim.
    #[must_use]
    pub fn conjugate_gradients(mut self) -> Self {
        self.krylov = Krylov::ConjugateGradients;
        self
    }

    /// By Bi-CGSTAB (H. A. van der Vorst, 1992), which keeps few vectors and takes two products with the map in a step.
    #[must_use]
    pub fn bicgstab(mut self) -> Self {
        self.krylov = Krylov::BiCgStab;
        self
    }

    /// What the norm of `b - map(x)` may be, relative to that of `b`: 1e-10 if it is not said, and 1e-5 if some of it is in
    /// single precision. It counts for the systems of derivatives too, whose right-hand sides are tangents or cotangents.
    ///
    /// The norm is that of all numbers together. Where some are smaller than others by more than the tolerance, because their units or
    /// their weights in a loss are that far apart, they may be left as they are at the start: a derivative of 0. Numbers of about one size,
    /// or a smaller tolerance, help.
    #[must_use]
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = Some(tolerance);
        self
    }

    /// At most this many steps; 100 and ten for every number of `b` if it is not said.
    #[must_use]
    pub fn limit(mut self, steps: usize) -> Self {
        self.limit = Some(steps);
        self
    }

    /// The method for a system of unknowns like these.
    pub(super) fn method(&self, unknowns: &[Tensor]) -> LinearMethod {
        let size = unknowns.iter().map(Tensor::size).sum::<usize>();
        let tolerance = self.tolerance.unwrap_or(default_tolerance(unknowns));
        let limit = self.limit.unwrap_or(100 + 10 * size);
        LinearMethod { krylov: self.krylov, tolerance: Literal::F64(tolerance), limit }
    }

    /// Solves the system.
    ///
    /// # Panics
    /// As [`LinearSolve::try_run`] gives errors, and if a solution that is only recorded here does not exist when it is run.
    #[track_caller]
    pub fn run<X, Y>(&self, b: X, map: impl FnOnce(X::Vars) -> Y) -> X::Grad
    where
        X: Tree<Leaf = Tensor>,
        Y: Tree<Leaf = Tensor>,
    {
        self.try_run(b, map).or_raise()
    }

    /// Solves the system.
    ///
    /// # Errors
    /// If the map is not linear or gives other types than it takes; if there is no solution within tolerance and limit.
    #[track_caller]
    pub fn try_run<X, Y>(&self, b: X, map: impl FnOnce(X::Vars) -> Y) -> Result<X::Grad, Error>
    where
        X: Tree<Leaf = Tensor>,
        Y: Tree<Leaf = Tensor>,
    {
        let (line, name) = (Location::caller(), "linear_solve");
        checked_tolerance(name, self.tolerance, line)?;
        let moved = Moved::of(&b);
        let mut function = Function::record(name, &b, &moved, map)?;
        function.check_image("result of the map", line)?;
        let count = function.point.len();
        if count == 0 {
            return Ok(point(&b, &moved, Vec::new()));
        }
        if is_linear(&function).is_err() {
            function.closed = with_zeros(&function.closed);
        }
        is_linear(&function).map_err(|why| {
            let error = super::error(name, ErrorKind::Misfit, format!("the map is not linear: {why}"), line);
            error.of(function.point.iter().map(Tensor::ty))
        })?;
        let own = &function.closed.program;
        // What was captured comes first.
        let mut inner = Builder::new();
        let (unknowns, captures) = own.input_types().split_at(count);
        let captured: Vec<Value> = captures.iter().map(|ty| inner.input("", ty.clone())).collect();
        let mut args: Vec<Value> = unknowns.iter().map(|ty| inner.input("", ty.clone())).collect();
        args.extend(captured);
        let image = inline(&mut inner, own, &args);
        let method = self.method(&function.point);
        let map = everywhere(inner.finish(&image), &unchecked);
        let solve = Solve { checked: true, ..Solve::new(map, method, name) };
        let operands: Vec<&Tensor> = function.closed.captures.iter().chain(&function.point).collect();
        let x = graph::apply(solve, &operands).map_err(|error| error.at(Some(line)))?;
        Ok(point(&b, &moved, x))
    }
}

/// The systems inside of a map are parts of a linear map.
fn unchecked(mut program: Program) -> Program {
    for eqn in &mut program.eqns {
        if let Op::Solve(solve) = &mut eqn.op {
            solve.checked = false;
        }
    }
    program
}

/// Whether a function is linear in its point.
fn is_linear(function: &Function) -> Result<(), String> {
    let marks = |k: usize| k < function.point.len();
    let program = &function.closed.program;
    check_linear(program, &(0..program.input_types().len()).map(marks).collect::<Vec<bool>>())
}

/// A closed Program with the zeros that it captured as constants: where a sum begins, they are no offset.
fn with_zeros(closed: &Closed) -> Closed {
    let mut b = Builder::new();
    let (leaves, captured) = closed.program.input_types().split_at(closed.leaves);
    let mut args: Vec<Value> = leaves.iter().map(|ty| b.input("", ty.clone())).collect();
    let mut captures = Vec::new();
    for (capture, ty) in closed.captures.iter().zip(captured) {
        let is_zero = capture.known().is_some_and(|array| array.to_f64().iter().all(|&x| x == 0.0));
        if is_zero && ty.dtype.is_float() {
            args.push(b.full(0.0, ty));
        } else {
            args.push(b.input("", ty.clone()));
            captures.push(capture.clone());
        }
    }
    let outs = inline(&mut b, &closed.program, &args);
    Closed { program: Arc::new(b.finish(&outs)), leaves: closed.leaves, captures, taken: Vec::new() }
}
