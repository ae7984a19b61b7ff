//! Looking into a derivative: what it is connected to, where a NaN came from, the list itself.
//!
//! Everything here runs the function once more, with every record on the slow path, so that it
//! keeps the user's source line. An ordinary run pays nothing for it.

mod grad;
#[cfg(feature = "arrays")]
mod status;
#[cfg(feature = "arrays")]
mod tensor;

use std::fmt;

pub use grad::{Grad, GradError, MemoryError, SeveredError};

use crate::drive::run_recorded;
use crate::leaf::{Active, Leaf};
use crate::ops::Unary;
use crate::scalar::Sealed;
use crate::tape::Var;
use crate::tape::record::{Form, Op};
use crate::tape::recording::{Line, Mode};
use crate::tape::sweep::visit_edges;
use crate::tape::trace::{Output, Trace};
use crate::tree::{Tree, leaves};

/// The leaves that derivatives can be looked into: `f64` and `Tensor`.
///
/// Sealed: implemented for these two.
pub trait Diagnose: Leaf {
    /// The status of every leaf.
    #[doc(hidden)]
    #[track_caller]
    fn statuses<T: Tree<Leaf = Self>>(x: &T, f: impl FnOnce(T::Vars) -> Self::Active) -> Vec<Status>;

    /// The first operation that made a number that is not finite.
    #[doc(hidden)]
    #[track_caller]
    fn nonfinite<T: Tree<Leaf = Self>>(x: &T, f: impl FnOnce(T::Vars) -> Self::Active) -> Option<NonFinite>;

    /// The value and the gradient in this many bytes.
    #[doc(hidden)]
    #[track_caller]
    fn within<T: Tree<Leaf = Self>>(
        bytes: usize,
        x: &T,
        f: impl Fn(T::Vars) -> Self::Active,
    ) -> Result<(Self, T::Grad), MemoryError>;
}

impl Diagnose for f64 {
    fn statuses<T: Tree<Leaf = f64>>(x: &T, f: impl FnOnce(T::Vars) -> Var) -> Vec<Status> {
        statuses(&diagnosed(x, f))
    }
    fn nonfinite<T: Tree<Leaf = f64>>(x: &T, f: impl FnOnce(T::Vars) -> Var) -> Option<NonFinite> {
        nonfinite(&diagnosed(x, f))
    }
    fn within<T: Tree<Leaf = f64>>(
        bytes: usize,
        x: &T,
        f: impl Fn(T::Vars) -> Var,
    ) -> Result<(f64, T::Grad), MemoryError> {
        grad::within(bytes, x, f)
    }
}

/// Records `f` with source lines.
#[track_caller]
fn diagnosed<T: Tree<Leaf = f64>, O: Tree<Leaf = Var>>(x: &T, f: impl FnOnce(T::Vars) -> O) -> Trace {
    let (scope, output) = run_recorded(Mode::Diagnose, x, f);
    f64::hold(scope, &leaves(&output)).0
}

// ---- status -------------------------------------------------------------------------------------

/// How the result of a function depends on one of its inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The derivative is that of everything the result takes from this input.
    Connected,
    /// The result does not depend on this input, or only through steps such as `floor` and
    /// `sign`, whose derivative is zero.
    Zero,
    /// A dependence was cut, so that the derivative leaves a part out.
    Severed(Cut),
}

/// Where and how a dependence was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// What cut it: `detach`, `convert` for integers made of real numbers, `surrogate` for a rule that is
    /// another one on purpose.
    pub by: &'static str,
    /// The user's line.
    pub at: Line,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Status::Connected => f.write_str("connected"),
            Status::Zero => f.write_str("structurally zero"),
            Status::Severed(cut) => write!(f, "severed by `{}` at {}", cut.by, cut.at),
        }
    }
}

/// The status of every input of a diagnostic run.
fn statuses(trace: &Trace) -> Vec<Status> {
    let connected = trace.reached(0..trace.outputs.len());
    let mut statuses: Vec<Status> = connected[..trace.inputs]
        .iter()
        .map(|&connected| if connected { Status::Connected } else { Status::Zero })
        .collect();
    // What the result depends on in any way, cut or not.
    let mut wanted = vec![false; trace.values.len()];
    for k in 0..trace.outputs.len() {
        if let Some(node) = trace.output_node(k) {
            wanted[node] = true;
        }
    }
    for i in (trace.inputs..trace.records.len()).rev() {
        // Nobody knows where a number that was taken out goes, so it counts as used.
        wanted[i] |= trace.records[i].op() == Op::Taken;
        if wanted[i] && !is_flat(trace.records[i].op()) {
            operands(trace, i, |k| wanted[k] = true);
        }
    }
    let cuts = (trace.inputs..trace.records.len()).filter_map(|i| match trace.records[i].op() {
        Op::Unary(Unary::Detach) if wanted[i] => Some((i, "detach")),
        _ => None,
    });
    for (i, by) in cuts {
        let cut = Cut { by, at: trace.lines[i] };
        for input in inputs_of(trace, i) {
            if !matches!(statuses[input], Status::Severed(_)) {
                statuses[input] = Status::Severed(cut);
            }
        }
    }
    statuses
}

/// A step whose derivative is zero by its nature, not by a cut.
fn is_flat(op: Op) -> bool {
    matches!(op, Op::Unary(op) if op.is_flat() && op != Unary::Detach)
}

fn operands(trace: &Trace, i: usize, mut visit: impl FnMut(usize)) {
    let record = trace.records[i];
    let (uses_a, uses_b) = record.op().operands();
    if uses_a {
        visit(record.a());
    }
    if uses_b {
        visit(record.b());
    }
}

/// The inputs that record `i` depends on with a derivative that is not zero by nature.
fn inputs_of(trace: &Trace, i: usize) -> impl Iterator<Item = usize> {
    let mut wanted = vec![false; trace.values.len()];
    wanted[i] = true;
    for k in (trace.inputs..=i).rev() {
        if wanted[k] && !is_flat(trace.records[k].op()) {
            operands(trace, k, |operand| wanted[operand] = true);
        }
    }
    (0..trace.inputs).filter(move |&input| wanted[input])
}

// ---- NaN hunting --------------------------------------------------------------------------------

/// The sweep in which a number stopped being finite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// While the function ran.
    Forward,
    /// While adjoints flowed back.
    Backward,
}

/// The first operation that made a NaN or an infinity: see [`find_nonfinite`].
#[derive(Clone, Debug, PartialEq)]
pub struct NonFinite {
    /// In which sweep.
    pub pass: Pass,
    /// The operation's name.
    pub operation: &'static str,
    /// The values of its operands.
    pub operands: Vec<f64>,
    /// What came out: the value, or the adjoint it passed on.
    pub result: f64,
    /// The place of the number in a tensor, in row-major order.
    pub element: Option<usize>,
    /// The user's line.
    pub at: Line,
}

impl fmt::Display for NonFinite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operands: Vec<String> = self.operands.iter().map(f64::to_string).collect();
        let what = match self.pass {
            Pass::Forward => "gives",
            Pass::Backward => "passes back the adjoint",
        };
        let (operation, operands, result, at) = (self.operation, operands.join(", "), self.result, self.at);
        write!(f, "{operation}({operands}) at {at} {what} {result}")?;
        match self.element {
            Some(element) => write!(f, " in element {element}"),
            None => Ok(()),
        }
    }
}

/// The operation that a NaN or an infinity of the value or the gradient comes from, with the user's line; `None` if both are
/// finite, whatever stands between them.
///
/// Of a value that is not finite it is the first operation, of those that the value is made of, that produced such a number. If
/// the value is finite, it is the first in the reverse sweep. What a selection leaves out is neither.
///
/// ```
/// use wengert::prelude::*;
/// use wengert::{Pass, find_nonfinite};
/// let found = find_nonfinite([0.0, 1.0], |[x, y]| (x * x).sqrt() + y).expect("0 * inf");
/// assert_eq!((found.pass, found.operation), (Pass::Backward, "sqrt"));
/// assert!(find_nonfinite([0.5, 1.0], |[x, y]| (x * x).sqrt() + y).is_none());
/// ```
#[track_caller]
pub fn find_nonfinite<T: Tree<Leaf: Diagnose>>(x: T, f: impl FnOnce(T::Vars) -> Active<T>) -> Option<NonFinite> {
    T::Leaf::nonfinite(&x, f)
}

fn nonfinite(trace: &Trace) -> Option<NonFinite> {
    let found = |i: usize, pass, result| NonFinite {
        pass,
        operation: trace.records[i].op().name(),
        operands: operand_values(trace, i),
        result,
        element: None,
        at: trace.lines[i],
    };
    let output = trace.output_node(0)?;
    if !trace.values[output].is_finite() {
        let mut used = vec![false; trace.values.len()];
        used[output] = true;
        for i in (trace.inputs..trace.records.len()).rev().filter(|&i| trace.records[i].op() != Op::Taken) {
            if used[i] {
                taken_operands(trace, i, |k| used[k] = true);
            }
        }
        let first = (0..trace.records.len()).find(|&i| used[i] && !trace.values[i].is_finite());
        return first.map(|i| found(i, Pass::Forward, trace.values[i]));
    }
    let live = trace.reached(0..1);
    let mut adjoints = vec![0.0; trace.values.len()];
    adjoints[output] = 1.0;
    let mut first = None;
    for i in (trace.inputs..trace.records.len()).rev().filter(|&i| live[i]) {
        let (record, adjoint) = (trace.records[i], adjoints[i]);
        let mut bad = None;
        let mut add = |k: usize, part: f64| {
            adjoints[k] += part;
            if bad.is_none() && !adjoints[k].is_finite() {
                bad = Some(if part.is_finite() { adjoints[k] } else { part });
            }
        };
        if record.op() == Op::Select {
            taken_operands(trace, i, |k| add(k, adjoint));
        } else {
            visit_edges(record, &trace.constants, &trace.values, i, |side, factor| {
                add(record.operand(side), adjoint * factor.number());
            });
        }
        if let (Some(result), None) = (bad, &first) {
            first = Some(found(i, Pass::Backward, result));
        }
    }
    first.filter(|_| adjoints[..trace.inputs].iter().any(|adjoint| !adjoint.is_finite()))
}

/// As [`operands`], of a selection the one that it takes.
fn taken_operands(trace: &Trace, i: usize, mut visit: impl FnMut(usize)) {
    let record = trace.records[i];
    match record.op() {
        Op::Select if trace.values[trace.records[i - 1].a()] == 1.0 => visit(record.a()),
        Op::Select => visit(record.b()),
        _ => operands(trace, i, visit),
    }
}

/// The values of a record's operands, constants in their places.
fn operand_values(trace: &Trace, i: usize) -> Vec<f64> {
    listed_operands(trace, i)
        .into_iter()
        .map(|operand| match operand {
            Operand::Node(k) => trace.values[k],
            Operand::Constant(value) => value,
        })
        .collect()
}

// ---- the list -----------------------------------------------------------------------------------

/// One entry of a [`Listing`].
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// The operation's name; `input` for the inputs, which come first.
    pub operation: &'static str,
    /// Its operands in order.
    pub operands: Vec<Operand>,
    /// The number that belongs to the operation: the exponent of `powi`, the order of `polygamma`
    /// and `sinc`.
    pub number: Option<i64>,
    /// Its value.
    pub value: f64,
    /// The adjoint: the derivative of the first output by this entry.
    pub adjoint: f64,
    /// The partial derivative of this entry by each operand on the list, in order; structurally
    /// zero ones are left out.
    pub partials: Vec<(usize, f64)>,
    /// The user's line.
    pub at: Line,
}

/// An operand of an entry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operand {
    /// The result of another entry.
    Node(usize),
    /// A constant.
    Constant(f64),
}

/// A Wengert list with values and adjoints, for people to read: see [`listing`].
#[derive(Clone, Debug, PartialEq)]
pub struct Listing {
    /// The entries in the order of execution.
    pub entries: Vec<Listed>,
    /// How many of them are inputs.
    pub inputs: usize,
    /// Where the outputs stand; a constant output stands nowhere.
    pub outputs: Vec<Operand>,
}

/// The Wengert list of a function at a point: every operation with its value, and its adjoint
/// with respect to the first output.
///
/// ```
/// use wengert::prelude::*;
/// let list = wengert::listing([2.0, 5.0], |[x, y]| x.ln() + x * y - y.sin());
/// let names: Vec<_> = list.entries.iter().map(|entry| entry.operation).collect();
/// assert_eq!(names, ["input", "input", "ln", "mul", "add", "sin", "sub"]);
/// assert_eq!(list.entries[0].adjoint, 5.5);
/// ```
#[track_caller]
pub fn listing<T: Tree<Leaf = f64>, O: Tree<Leaf = Var>>(x: T, f: impl FnOnce(T::Vars) -> O) -> Listing {
    let trace = diagnosed(&x, f);
    let mut seeds = vec![None; trace.outputs.len()];
    if let Some(first) = seeds.first_mut() {
        *first = Some(1.0);
    }
    let adjoints: Vec<f64> = trace.pull_back(&trace.values, &seeds);
    let entries = (0..trace.records.len())
        .map(|i| {
            let mut partials = Vec::new();
            let record = trace.records[i];
            visit_edges(record, &trace.constants, &trace.values, i, |side, factor| {
                partials.push((record.operand(side), factor.number()));
            });
            let op = trace.records[i].op();
            Listed {
                operation: op.name(),
                operands: listed_operands(&trace, i),
                number: op.number(),
                value: trace.values[i],
                adjoint: adjoints[i],
                partials,
                at: trace.lines[i],
            }
        })
        .collect();
    let outputs = trace
        .outputs
        .iter()
        .map(|output| match *output {
            Output::Node(node) => Operand::Node(node),
            Output::Constant(value) => Operand::Constant(value),
            Output::Capture(var) => Operand::Constant(var.value),
        })
        .collect();
    Listing { entries, inputs: trace.inputs, outputs }
}

fn listed_operands(trace: &Trace, i: usize) -> Vec<Operand> {
    let record = trace.records[i];
    // A capture of an outer recording is a constant to this list.
    let node = |k: usize| match k < trace.records.len() {
        true => Operand::Node(k),
        false => Operand::Constant(trace.values[k]),
    };
    match record.op() {
        Op::Input => Vec::new(),
        Op::Constant => vec![Operand::Constant(trace.constants[record.b()])],
        Op::Binary(_, Form::Right) | Op::Guard(_, Form::Right) | Op::Condition(_, Form::Right) => {
            vec![node(record.a()), Operand::Constant(trace.constants[record.b()])]
        }
        Op::Binary(_, Form::Left) | Op::Guard(_, Form::Left) | Op::Condition(_, Form::Left) => {
            vec![Operand::Constant(trace.constants[record.b()]), node(record.a())]
        }
        op if op.operands().1 => vec![node(record.a()), node(record.b())],
        _ => vec![node(record.a())],
    }
}
