//! [`Scalar`]: the type of a driver's point and result, `f64` or [`Var`]; and how a finished
//! recording is differentiated over it.

use std::cmp::Ordering;

use crate::algorithm::{Algorithm, Base};
use crate::leaf::Leaf;
use crate::ops::{Binary, Compare, Unary};
use crate::real::{Carrier, Real, real_operators};
use crate::tape::Var;
use crate::tape::lift;
use crate::tape::recording::{Inputs, Line, Nested, Scope, asked_at, line_of};
use crate::tape::trace::{Flipped, Trace};
use crate::task::Task;
#[cfg(feature = "arrays")]
#[cfg(feature = "arrays")]
use crate::tensor::Tensor;
#[cfg(feature = "arrays")]
use crate::tensor::graph::Closed;

impl Base for f64 {
    const CHUNKED: bool = true;

    fn capture(var: Var) -> Self {
        var.value
    }
    fn plain(self) -> f64 {
        self
    }
}

impl Base for Var {
    const CHUNKED: bool = true;

    fn capture(var: Var) -> Self {
        var
    }
    fn plain(self) -> f64 {
        self.value
    }
}

/// The type of a driver's point and result: `f64`, or [`Var`] where the result may depend on the
/// variables of an outer driver.
///
/// Sealed: implemented for these two.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the number of this point",
    label = "`f64` or `Var` is needed",
    note = "recorded functions take numbers; for tensors, `compile` traces a function once"
)]
pub trait Scalar: Leaf<Active = Var> + Real + Sealed + Lift {}

impl Scalar for f64 {}
impl Scalar for Var {}

/// The part of [`Scalar`] that is ours.
#[expect(private_interfaces, reason = "the seal: nobody outside can name or implement it")]
pub trait Sealed: Sized {
    /// An input of a recording at this point.
    fn enter(self, inputs: &mut Inputs<'_>) -> Var;
    /// What a function gets that captures it.
    fn outer(self) -> Var;
    /// The plain number.
    fn plain(self) -> f64;
    /// A plain number as a constant.
    fn from_plain(value: f64) -> Self;
    /// The numbers, if they are plain.
    fn as_plain(numbers: &[Self]) -> Option<&[f64]>;
    /// Ends the recording and computes.
    #[track_caller]
    fn finish(scope: Scope, outputs: &[Var], directions: &[Self], task: &Task) -> Vec<Self>;
    /// Runs an old recording at another point and computes.
    #[track_caller]
    fn replay(
        trace: &Trace,
        line: Line,
        point: &[Self],
        directions: &[Self],
        task: &Task,
    ) -> Result<Vec<Self>, Flipped>;
    /// As [`Sealed::replay`], with an algorithm that is no task.
    #[track_caller]
    fn replay_by(
        trace: &Trace,
        line: Line,
        point: &[Self],
        directions: &[Self],
        algorithm: &dyn Computation,
    ) -> Result<Vec<Self>, Flipped>;
    /// Computes on values that [`Sealed::hold`] gave.
    #[track_caller]
    fn resume(trace: &Trace, line: Line, values: &[Self], directions: &[Self], task: &Task) -> Vec<Self>;
    /// Ends the recording and keeps it with the values of its records and captures.
    fn hold(scope: Scope, outputs: &[Var]) -> (Trace, Vec<Self>);
}

/// What a recording that array operations came into is computed by, over numbers of this type.
#[cfg_attr(
    feature = "arrays",
    expect(private_interfaces, reason = "the seal: nobody outside can name or implement it")
)]
pub trait Lift: Sized {
    /// Applies a Program of rank-0 values to the point, the captures and the directions.
    #[cfg(feature = "arrays")]
    #[track_caller]
    fn apply_lifted(task: Task, closed: &Closed, point: &[Tensor], directions: &[Self], line: Line) -> Vec<Self>;
}

#[cfg(not(feature = "arrays"))]
impl Lift for f64 {}
#[cfg(not(feature = "arrays"))]
impl Lift for Var {}

#[expect(private_interfaces, reason = "the seal: nobody outside can name or implement it")]
impl Sealed for f64 {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn enter(self, inputs: &mut Inputs<'_>) -> Var {
        inputs.input(self)
    }
    fn outer(self) -> Var {
        crate::tape::lift(self)
    }
    fn plain(self) -> f64 {
        self
    }
    fn from_plain(value: f64) -> f64 {
        value
    }
    fn as_plain(numbers: &[f64]) -> Option<&[f64]> {
        Some(numbers)
    }
    fn finish(scope: Scope, outputs: &[Var], directions: &[f64], task: &Task) -> Vec<f64> {
        if *task == Task::Jvp
            && let Some(tangents) = scope.tangents_in_place(outputs, directions)
        {
            let values = outputs.iter().map(|output| output.value);
            return values.chain(tangents).collect();
        }
        let line = scope.line();
        let (trace, values) = f64::hold(scope, outputs);
        f64::resume(&trace, line, &values, directions, task)
    }
    fn replay(trace: &Trace, line: Line, point: &[f64], directions: &[f64], task: &Task) -> Result<Vec<f64>, Flipped> {
        let values = trace.evaluate(point, |capture| capture.value)?;
        Ok(f64::resume(trace, line, &values, directions, task))
    }
    fn replay_by(
        trace: &Trace,
        line: Line,
        point: &[f64],
        directions: &[f64],
        algorithm: &dyn Computation,
    ) -> Result<Vec<f64>, Flipped> {
        let values = trace.evaluate(point, |capture| capture.value)?;
        Ok(compute_numbers(trace, line, &values, directions, algorithm))
    }
    fn resume(trace: &Trace, line: Line, values: &[f64], directions: &[f64], task: &Task) -> Vec<f64> {
        compute_numbers(trace, line, values, directions, task)
    }
    fn hold(scope: Scope, outputs: &[Var]) -> (Trace, Vec<f64>) {
        let trace = scope.extract(outputs);
        if scope.must_stay() {
            scope.keep();
        } else {
            drop(scope);
        }
        let values = trace.values.clone();
        (trace, values)
    }
}

#[expect(private_interfaces, reason = "the seal: nobody outside can name or implement it")]
impl Sealed for Var {
    fn enter(self, inputs: &mut Inputs<'_>) -> Var {
        inputs.input_of(self)
    }
    fn outer(self) -> Var {
        self
    }
    fn plain(self) -> f64 {
        self.value
    }
    fn from_plain(value: f64) -> Var {
        lift(value)
    }
    fn as_plain(_: &[Var]) -> Option<&[f64]> {
        None
    }
    fn finish(scope: Scope, outputs: &[Var], directions: &[Var], task: &Task) -> Vec<Var> {
        let scope = match task {
            Task::Gradient | Task::ValueAndGradient | Task::Jvp => match scope.nested(outputs) {
                Ok(nested) => return where_it_lies(nested, outputs, directions, task),
                Err(scope) => scope,
            },
            _ => scope,
        };
        let line = scope.line();
        let (trace, values) = Var::hold(scope, outputs);
        Var::resume(&trace, line, &values, directions, task)
    }
    fn replay(trace: &Trace, line: Line, point: &[Var], directions: &[Var], task: &Task) -> Result<Vec<Var>, Flipped> {
        check_captures(trace, line);
        let values = asked_at(line, || trace.evaluate(point, Var::capture))?;
        Ok(Var::resume(trace, line, &values, directions, task))
    }
    fn replay_by(
        trace: &Trace,
        line: Line,
        point: &[Var],
        directions: &[Var],
        algorithm: &dyn Computation,
    ) -> Result<Vec<Var>, Flipped> {
        check_captures(trace, line);
        asked_at(line, || {
            let values = trace.evaluate(point, Var::capture)?;
            Ok(algorithm.on_variables(trace, &values, directions))
        })
    }
    fn resume(trace: &Trace, line: Line, values: &[Var], directions: &[Var], task: &Task) -> Vec<Var> {
        asked_at(line, || task.run(trace, values, directions))
    }
    fn hold(scope: Scope, outputs: &[Var]) -> (Trace, Vec<Var>) {
        let trace = scope.extract(outputs);
        if scope.is_outermost() {
            // No recording around: the point was a constant, and so is everything computed.
            drop(scope);
            let values = trace.values.iter().map(|&value| lift(value)).collect();
            return (trace, values);
        }
        let base = scope.keep();
        let count = trace.records.len();
        let mut values: Vec<Var> =
            trace.values[..count].iter().zip(base..).map(|(&value, tag)| Var { value, tag }).collect();
        values.extend(&trace.captures);
        (trace, values)
    }
}

/// Panics if a recording holds a variable of another one that has ended.
#[track_caller]
fn check_captures(trace: &Trace, line: Line) {
    let has_ended = |capture: &Var| capture.is_recorded() && line_of(*capture).is_none();
    assert!(
        !trace.captures.iter().any(has_ended),
        "the function asked for at {line} has captured a Var of a recording that has ended: what is recorded inside a driver's \
         function and captures its variables can be asked for inside it alone"
    );
}

/// An [`Algorithm`] over what drivers compute with, behind a pointer: as a type parameter it would be compiled again, with every rule of
/// every operation, in each crate that calls a driver.
pub(crate) trait Computation {
    fn on_numbers(&self, trace: &Trace, values: &[f64], directions: &[f64]) -> Vec<f64>;
    fn on_tainted(&self, trace: &Trace, values: &[Tainted], directions: &[Tainted]) -> Vec<Tainted>;
    fn on_variables(&self, trace: &Trace, values: &[Var], directions: &[Var]) -> Vec<Var>;
}

impl<A: Algorithm> Computation for A {
    fn on_numbers(&self, trace: &Trace, values: &[f64], directions: &[f64]) -> Vec<f64> {
        self.run(trace, values, directions)
    }
    fn on_tainted(&self, trace: &Trace, values: &[Tainted], directions: &[Tainted]) -> Vec<Tainted> {
        self.run(trace, values, directions)
    }
    fn on_variables(&self, trace: &Trace, values: &[Var], directions: &[Var]) -> Vec<Var> {
        self.run(trace, values, directions)
    }
}

/// Computes over plain numbers.
#[track_caller]
fn compute_numbers(
    trace: &Trace,
    line: Line,
    values: &[f64],
    directions: &[f64],
    algorithm: &dyn Computation,
) -> Vec<f64> {
    let Some(&capture) = trace.captures.first() else {
        return algorithm.on_numbers(trace, values, directions);
    };
    // Captured variables of an outer recording may be used, as long as no plain number that
    // comes out depends on them: it would be constant to the outer derivative.
    let inputs: Vec<Tainted> = values[..trace.inputs].iter().map(|&value| Tainted::clean(value)).collect();
    let directions: Vec<Tainted> = directions.iter().map(|&value| Tainted::clean(value)).collect();
    let values = trace.evaluate(&inputs, Tainted::capture).expect("the point is the same");
    let results = algorithm.on_tainted(trace, &values, &directions);
    if results.iter().any(|result| result.taint) {
        depends_on_outer(line, capture);
    }
    results.into_iter().map(|result| result.value).collect()
}

/// Computes from a level that lies on the list of the level around.
#[track_caller]
fn where_it_lies(nested: Nested, outputs: &[Var], directions: &[Var], task: &Task) -> Vec<Var> {
    let mut results = Vec::with_capacity(2 * outputs.len() + directions.len() + 8);
    if *task != Task::Gradient {
        results.extend(outputs.iter().map(|&output| nested.outside(output)));
    }
    match task {
        Task::Jvp => nested.tangents(outputs, directions, &mut results),
        _ => nested.gradient(outputs[0], &mut results),
    }
    results
}

#[cold]
#[track_caller]
fn depends_on_outer(line: Line, capture: Var) -> ! {
    depends_on_recording(line, line_of(capture))
}

/// Panics because a plain number depends on a variable of the recording with this line.
#[cold]
#[track_caller]
pub(crate) fn depends_on_recording(line: Line, outer: Option<Line>) -> ! {
    let outer = outer
        .map_or_else(|| "a recording that has ended".to_owned(), |line| format!("the recording started at {line}"));
    panic!(
        "the derivative asked for at {line} is a plain f64, but it depends on a Var of {outer}, \
         and as a plain number it would be a constant there: make the point a Var with `lift` \
         (then the result is a Var too)"
    )
}

/// A number that knows whether it depends on a variable of an outer recording.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tainted {
    value: f64,
    taint: bool,
}

impl Tainted {
    fn clean(value: f64) -> Self {
        Tainted { value, taint: false }
    }

    fn is_plain_zero(self) -> bool {
        self.value == 0.0 && !self.taint
    }
}

impl Base for Tainted {
    fn capture(var: Var) -> Self {
        Tainted { value: var.value, taint: true }
    }
    fn plain(self) -> f64 {
        self.value
    }
}

real_operators! { [] Tainted }

impl Carrier for Tainted {
    type Mask = bool;

    fn carry_constant(value: f64) -> Self {
        Tainted::clean(value)
    }
    fn carry_unary(self, op: Unary) -> Self {
        Tainted { value: self.value.unary(op), taint: self.taint && !op.is_flat() }
    }
    fn carry_binary(self, other: Self, op: Binary) -> Self {
        let value = self.value.binary(other.value, op);
        // A plain zero times an outer variable is zero whatever the variable is.
        let vanishes = value == 0.0
            && match op {
                Binary::Mul => self.is_plain_zero() || other.is_plain_zero(),
                Binary::Div => self.is_plain_zero(),
                _ => false,
            };
        Tainted { value, taint: (self.taint | other.taint) && !vanishes }
    }
    fn carry_compare(self, other: Self, op: Compare) -> bool {
        op.eval(self.value, other.value)
    }
    fn carry_select(mask: bool, yes: Self, no: Self) -> Self {
        if mask { yes } else { no }
    }
    fn carry_all_finite(self) -> bool {
        self.value.is_finite()
    }
}

impl PartialEq for Tainted {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl PartialOrd for Tainted {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.value.partial_cmp(&other.value)
    }
}

impl PartialEq<f64> for Tainted {
    fn eq(&self, other: &f64) -> bool {
        self.value == *other
    }
}

impl PartialOrd<f64> for Tainted {
    fn partial_cmp(&self, other: &f64) -> Option<Ordering> {
        self.value.partial_cmp(other)
    }
}
