//! Points that are known by equations: linear systems, roots, fixed points, minima.
//!
//! What finds the point is not differentiated. Its derivative is that of the equation, by the implicit function theorem: a
//! linear system, in every mode and order.

mod fixed_point;
mod linear;
mod minimise;
mod moved;
mod newton;
mod root;

use std::panic::Location;

pub use fixed_point::{FixedPoint, fixed_point};
pub use linear::{LinearSolve, linear_solve};
pub use minimise::{Minimise, minimise};
pub(crate) use moved::Moved;
pub use root::{Root, root};

use crate::array::{Array, DType};
use crate::error::{Error, ErrorKind, Line};
use crate::primitives::{Ensure, Implicit, Iota};
use crate::program::{Builder, Program, Value};
use crate::tensor::Tensor;
use crate::tensor::graph::{self, Closed, Reading};
use crate::tensor::level::{ArrayLevel, Mapped};
use crate::tree::{Tree, leaves};

pub(crate) fn error(name: &str, kind: ErrorKind, why: String, line: Line) -> Error {
    Error::new(kind, name, why).at(Some(line))
}

/// The tree of a point whose leaves that move are these, and whose frozen ones are what they were.
fn point<T: Tree<Leaf = Tensor>>(like: &T, moved: &Moved, found: Vec<Tensor>) -> T::Grad {
    tree(like, moved.with_frozen(found, Tensor::clone))
}

/// The tree of a result with these leaves.
pub(crate) fn tree<T: Tree<Leaf = Tensor>>(like: &T, results: Vec<Tensor>) -> T::Grad {
    let mut results = results.into_iter();
    like.grad(&mut || results.next().expect("one per leaf"))
}

/// A function of a point that was recorded once, for any point of its types, and what it captured.
pub(crate) struct Function {
    pub(crate) name: &'static str,
    pub(crate) closed: Closed,
    pub(crate) point: Vec<Tensor>,
}

impl Function {
    /// Records a function at the types of the leaves of a point that move, or of all of them; of a result with one for each leaf
    /// it gives those of the leaves that move.
    #[track_caller]
    fn record<X, R>(name: &'static str, x: &X, moved: &Moved, f: impl FnOnce(X::Vars) -> R) -> Result<Function, Error>
    where
        X: Tree<Leaf = Tensor>,
        R: Tree<Leaf = Tensor>,
    {
        Function::record_leaves(name, "point", moved.point(), |inputs| {
            moved.of_moved(leaves(&f(x.vars(&mut moved.given(inputs)))))
        })
    }

    /// Records a function of the leaves of a point, which it is given one after the other, that gives these leaves.
    #[track_caller]
    pub(crate) fn record_leaves(
        name: &'static str,
        what: &str,
        point: Vec<Tensor>,
        f: impl FnOnce(&mut dyn FnMut() -> Tensor) -> Vec<Tensor>,
    ) -> Result<Function, Error> {
        let line = Location::caller();
        if let Some(k) = point.iter().position(|leaf| !leaf.dtype().is_float()) {
            let why = format!("leaf {k} of the {what} is {}, and has to be real; convert first", point[k].ty());
            return Err(error(name, ErrorKind::Misfit, why, line));
        }
        let level = ArrayLevel::open(name, Reading::Symbolic);
        let mut given = point.iter();
        let result = f(&mut || level.input(given.next().expect("one for each leaf"), &Mapped::Whole));
        let closed = level.close(&result)?;
        Ok(Function { name, closed, point })
    }

    /// That it gives what it takes.
    fn check_image(&self, what: &str, line: Line) -> Result<(), Error> {
        self.check_gives(what, "point", &self.point, line)
    }

    /// That it gives what has the types of these leaves.
    pub(crate) fn check_gives(&self, what: &str, of: &str, wanted: &[Tensor], line: Line) -> Result<(), Error> {
        let gives = self.closed.program.output_types();
        let why = if gives.len() == wanted.len() {
            let Some(k) = gives.iter().zip(wanted).position(|(gives, wanted)| gives != wanted.ty()) else {
                return Ok(());
            };
            format!("leaf {k} of the {what} is {}, and that of the {of} is {}", gives[k], wanted[k].ty())
        } else {
            format!("the {what} has {} leaves, and the {of} has {}", gives.len(), wanted.len())
        };
        Err(error(self.name, ErrorKind::Misfit, why, line))
    }

    /// A Program of the leaves and the captures, as a tensor function of both writes it, which a user has asked for here.
    fn program(
        &self,
        line: Line,
        f: impl FnOnce(&[Tensor], &[Tensor]) -> Result<Vec<Tensor>, Error>,
    ) -> Result<Program, Error> {
        self.program_of(&self.point, line, f)
    }

    /// A Program of values like these and the captures.
    pub(crate) fn program_of(
        &self,
        inputs: &[Tensor],
        line: Line,
        f: impl FnOnce(&[Tensor], &[Tensor]) -> Result<Vec<Tensor>, Error>,
    ) -> Result<Program, Error> {
        let level = ArrayLevel::open_at(self.name, Reading::Symbolic, line);
        let all = inputs.iter().chain(&self.closed.captures);
        let all: Vec<Tensor> = all.map(|leaf| level.input(leaf, &Mapped::Whole)).collect();
        let (inputs, captures) = all.split_at(inputs.len());
        let results = f(inputs, captures)?;
        let closed = level.close(&results)?;
        debug_assert!(closed.captures.iter().all(|capture| capture.known().is_some()));
        Ok(with_constants(closed))
    }

    /// The point that a solver finds from these leaves on, with the derivative of an equation of it and the captures.
    #[track_caller]
    fn solved(&self, solver: Program, equation: Program, by: LinearSolve, line: Line) -> Result<Vec<Tensor>, Error> {
        let op = Implicit::new(solver, equation, by.method(&self.point), self.name);
        let operands: Vec<&Tensor> = self.point.iter().chain(&self.closed.captures).collect();
        graph::apply(op, &operands).map_err(|error| error.at(Some(line)))
    }

    /// What a norm may be: what the user says, if anything.
    fn tolerance(&self, asked: Option<f64>, by: LinearSolve, line: Line) -> Result<f64, Error> {
        for asked in [asked, by.tolerance] {
            checked_tolerance(self.name, asked, line)?;
        }
        Ok(asked.unwrap_or(default_tolerance(&self.point)))
    }
}

/// What a norm may be, if the user does not say: what is computed in single precision has its digits.
fn default_tolerance(point: &[Tensor]) -> f64 {
    if point.iter().any(|leaf| leaf.dtype() == DType::F32) { 1e-5 } else { 1e-10 }
}

/// Refuses a tolerance that no norm can be compared with.
fn checked_tolerance(name: &str, asked: Option<f64>, line: Line) -> Result<(), Error> {
    match asked {
        Some(asked) if !(asked >= 0.0 && asked.is_finite()) => {
            let why = format!("the tolerance is {asked}, and has to be a finite number that is not negative");
            Err(error(name, ErrorKind::Misfit, why, line))
        }
        _ => Ok(()),
    }
}

/// A closed Program with the numbers that it captured as constants: those that its author wrote.
fn with_constants(closed: Closed) -> Program {
    let mut b = Builder::new();
    let types = closed.program.input_types();
    let mut args: Vec<Value> = types[..closed.leaves].iter().map(|ty| b.input("", ty.clone())).collect();
    for capture in &closed.captures {
        let numbers = capture.known().expect("a solver captures numbers").to_f64();
        let counts = numbers.iter().enumerate().all(|(k, &number)| number == k as f64);
        args.push(match &numbers[..] {
            // The numbers of the steps of a loop.
            [_, _, ..] if counts => b.op(Iota { length: numbers.len() }, &[]),
            [] => b.full(0.0, capture.ty()),
            [first, rest @ ..] => {
                assert!(rest.iter().all(|number| number == first), "a solver captures single numbers: {capture:?}");
                b.full(*first, capture.ty())
            }
        });
    }
    let outs = crate::program::inline(&mut b, &closed.program, &args);
    b.finish(&outs)
}

/// A recorded Program at a point and captures.
#[track_caller]
pub(crate) fn at(name: &str, program: &Program, point: &[Tensor], captures: &[Tensor]) -> Result<Vec<Tensor>, Error> {
    let operands: Vec<&Tensor> = point.iter().chain(captures).collect();
    graph::apply_program(name, program, &operands)
}

/// The tensors, where a search has come to an end: that norm is at most a tolerance. Else an error that says what it is not, and
/// tells the norm and the number of steps.
#[track_caller]
fn within_tolerance(
    name: &str,
    x: &[Tensor],
    [what, norm]: [&str; 2],
    [size, steps]: [&Tensor; 2],
    tolerance: f64,
) -> Result<Vec<Tensor>, Error> {
    let undefined = format!("the {norm} is {{}} after {{}} steps: the function is not defined there, or overflows");
    let far = format!("it is no {what}: the {norm} is {{}} after {{}} steps, and may be {tolerance:e}");
    let defined = ensured(x, &Ensure::new(name, &undefined), &size.lt(f64::INFINITY), &[size, steps])?;
    ensured(&defined, &Ensure::new(name, &far), &size.le(tolerance), &[size, steps])
}

/// The tensors, where a norm is at most a bound; else an error that tells it and the number of steps.
#[track_caller]
pub(crate) fn ensured(
    x: &[Tensor],
    ensure: &Ensure,
    holds: &Tensor,
    details: &[&Tensor],
) -> Result<Vec<Tensor>, Error> {
    let one = |x: &Tensor| {
        let operands: Vec<&Tensor> = [x, holds].into_iter().chain(details.iter().copied()).collect();
        Ok(graph::apply(ensure.clone(), &operands)?.remove(0))
    };
    x.iter().map(one).collect()
}

// ---- lists of tensors as vectors ----------------------------------------------------------------

/// `x . y`, in double precision.
pub(crate) fn dot(x: &[Tensor], y: &[Tensor]) -> Tensor {
    let products = x.iter().zip(y).map(|(x, y)| (x.to_f64() * y.to_f64()).sum());
    products.reduce(|sum, next| sum + next).unwrap_or_else(|| Tensor::from(0.0))
}

/// The Euclidean norm of all numbers together. Large ones are scaled, so that their squares do not overflow.
fn norm(x: &[Tensor]) -> Tensor {
    let one = Tensor::from(1.0);
    let sizes = x.iter().filter(|x| !x.shape().contains(&0)).map(|x| x.abs().max().to_f64());
    let largest = sizes.reduce(|largest, next| largest.maximum(&next)).unwrap_or_else(|| Tensor::from(0.0));
    let scale = largest.gt(LARGE).and(largest.lt(f64::INFINITY)).where_(&largest, &one);
    let scaled: Vec<Tensor> = x.iter().map(|x| x.to_f64() / &scale).collect();
    dot(&scaled, &scaled).sqrt() * scale
}

/// Above this, sums of squares may overflow.
const LARGE: f64 = 1e140;

/// `x + factor y`
pub(crate) fn plus(x: &[Tensor], factor: &Tensor, y: &[Tensor]) -> Vec<Tensor> {
    x.iter().zip(y).map(|(x, y)| x + factor.convert(x.dtype()) * y).collect()
}

/// One of two lists.
pub(crate) fn chosen(condition: &Tensor, yes: &[Tensor], no: &[Tensor]) -> Vec<Tensor> {
    yes.iter().zip(no).map(|(yes, no)| condition.where_(yes, no)).collect()
}

/// A number of steps.
pub(crate) fn count(steps: i64) -> Tensor {
    Tensor::from_array(Array::scalar(steps))
}
