//! The tape lifted into a Program: a variable is a value of rank 0 there.
//!
//! A level's records become equations in order, each once, when an array operation asks for one of
//! its variables. A value of a Program that is read back as a variable is a record whose number is
//! known and whose definition is the Program's; a level with such a record is differentiated as a
//! Program.

use std::panic::Location;

use crate::array::{Array, DType, Type};
use crate::error::{Error, ErrorKind, Line, OrRaise};
use crate::execute::NumberOperands;
use crate::primitives::{Literal, Logic, Select};
use crate::program::Value;
use crate::scalar::{Lift, Scalar};
use crate::tape::record::{Form, Op};
use crate::tape::recording::{
    Entry, Mode, Operand, Scope, Unrolled, innermost, line_of_generation, push_external, segment,
};
use crate::tape::{Var, lift};
use crate::task::Task;
use crate::tensor::Tensor;
use crate::tensor::derived::{self, derived};
use crate::tensor::graph::{self, Closed, with_graph};

impl From<Var> for Tensor {
    /// The variable as a tensor of rank 0.
    #[track_caller]
    fn from(x: Var) -> Tensor {
        of_var(x, Location::caller())
    }
}

fn of_var(x: Var, line: Line) -> Tensor {
    let Some((generation, record)) = x.place("Tensor::from", line) else { return Tensor::from(x.value) };
    lift_level(generation);
    let value = with_graph(generation, |graph| graph.records[record]).expect("a variable's record has a value");
    Tensor::traced(generation, value, Type::new(DType::F64, &[]))
}

impl Tensor {
    /// A tensor with one element as a variable of the innermost recording: the way back from arrays
    /// to scalar code.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let data = Tensor::from([1.0, 2.0, 3.0]);
    /// // d/dx of x sum(x data) = 2 x 6
    /// let d = grad(2.0, |x| x * (Tensor::from(x) * &data).sum().to_var());
    /// assert_eq!(d, 24.0);
    /// ```
    ///
    /// # Panics
    /// If it does not have exactly one real element, or where its number does not exist: inside
    /// `vmap` and inside `record`.
    #[track_caller]
    pub fn to_var(&self) -> Var {
        self.try_to_var().or_raise()
    }

    /// As [`Tensor::to_var`], with an error instead of a panic.
    ///
    /// # Errors
    /// If it does not have exactly one real element, or where its number does not exist.
    #[track_caller]
    pub fn try_to_var(&self) -> Result<Var, Error> {
        let line = Location::caller();
        let error = |kind, why: &str| Err(Error::new(kind, "to_var", why).of([self.ty()]).at(Some(line)));
        if self.size() != 1 || !self.dtype().is_float() {
            return error(ErrorKind::Misfit, "it has to have exactly one real element");
        }
        let number = graph::force(self, line)?.to_f64()[0];
        let Some((generation, _, mode)) = innermost().filter(|_| self.known().is_none()) else {
            return Ok(lift(number));
        };
        if mode != Mode::Once {
            let why = "inside `record`, a step of a loop and diagnoses arrays cannot come back as variables: the number \
                       would be frozen there";
            return error(ErrorKind::Unavailable, why);
        }
        let (var, record) = push_external(number, graph::is_active(self), line);
        let scalar = as_f64_scalar(self)?;
        with_graph(generation, |graph| graph.externals.insert(record, scalar));
        Ok(var)
    }
}

/// The one element as `f64` of rank 0.
#[track_caller]
fn as_f64_scalar(x: &Tensor) -> Result<Tensor, Error> {
    let results = graph::build("to_var", &[x], |b, args| {
        let scalar = b.reshape(args[0], &[]);
        Ok(vec![b.convert(scalar, DType::F64)])
    })?;
    Ok(results.into_iter().next().expect("one result"))
}

/// Lifts what the level's tape has recorded since the last time.
fn lift_level(generation: u64) {
    let start = with_graph(generation, |graph| graph.records.len());
    let Some(segment) = segment(generation, start) else { return };
    let mut entries = segment.entries.iter().enumerate();
    while let Some((k, entry)) = entries.next() {
        if let Some(unrolled) = &entry.unrolled {
            let results = self::unrolled(generation, unrolled);
            let count = results.len();
            let values = std::iter::once(None).chain(results.into_iter().map(Some)).chain([None]);
            with_graph(generation, |graph| graph.records.extend(values));
            entries.nth(count);
            continue;
        }
        let number = segment.start + k;
        let value =
            if number < segment.inputs { Some(input(generation, entry)) } else { record(generation, number, entry) };
        with_graph(generation, |graph| graph.records.push(value));
    }
}

/// An input of the level: a leaf, whose number is known.
fn input(generation: u64, entry: &Entry) -> Value {
    let point = match entry.a {
        Operand::Outer(var) => of_var(var, Location::caller()),
        Operand::Own(_) | Operand::None => Tensor::from(entry.value),
    };
    with_graph(generation, |graph| {
        let leaf = graph.leaf("", Type::new(DType::F64, &[]), Some(point));
        let value = leaf.as_traced().expect("a leaf is traced").value;
        graph.know(value, Array::scalar(entry.value));
        value
    })
}

/// The value of a record; none for one that only steers or announces.
fn record(generation: u64, number: usize, entry: &Entry) -> Option<Value> {
    let operand = |operand: Operand| match operand {
        Operand::Own(index) => with_graph(generation, |graph| graph.records[index]),
        Operand::Outer(var) => {
            let line = Location::caller();
            let outer = of_var(var, line);
            Some(with_graph(generation, |graph| graph.operand(&outer)))
        }
        Operand::None => None,
    };
    let operands = [operand(entry.a), operand(entry.b)];
    match entry.op {
        // The input of a finished nested recording at a plain point is a constant.
        Op::Input => equation(generation, Op::Constant, operands, entry.value, entry.line),
        Op::Constant => match with_graph(generation, |graph| graph.externals.get(&number).cloned()) {
            Some(tensor) => Some(with_graph(generation, |graph| graph.operand(&tensor))),
            None => equation(generation, Op::Constant, operands, entry.value, entry.line),
        },
        Op::Select => {
            // The condition stands in the record before, which `Choose` announced.
            let announced = with_graph(generation, |graph| graph.records[number - 1])?;
            let [yes, no] = operands;
            with_graph(generation, |graph| {
                graph.builder.line = entry.line;
                Some(graph.builder.op(Select, &[announced, yes?, no?]))
            })
        }
        op => equation(generation, op, operands, entry.constant, entry.line),
    }
}

/// The equation of an operation on these operands; none for one that only steers or announces.
fn equation(generation: u64, op: Op, [a, b]: [Option<Value>; 2], constant: f64, line: Option<Line>) -> Option<Value> {
    let emit = |op: crate::primitives::Op, args: &[Value]| {
        with_graph(generation, |graph| {
            graph.builder.line = line;
            Some(graph.builder.op(op, args))
        })
    };
    let number = || emit(Literal::F64(constant).into(), &[]);
    // A condition that is a constant stands on the tape as a number.
    let truth = |value: Value| with_graph(generation, |graph| graph.builder.convert(value, DType::Bool));
    let pair = |form: Form| match form {
        Form::Both => Some([a?, b?]),
        Form::Right => Some([a?, number()?]),
        Form::Left => Some([number()?, a?]),
    };
    match op {
        Op::Constant => number(),
        Op::Copy => a,
        Op::Unary(op) => emit(op.into(), &[a?]),
        Op::Binary(op, form) => emit(op.into(), &pair(form)?),
        Op::Condition(op, form) => emit(op.into(), &pair(form)?),
        Op::Not => emit(Logic::Not.into(), &[truth(a?)]),
        Op::And => emit(Logic::And.into(), &[truth(a?), truth(b?)]),
        Op::Or => emit(Logic::Or.into(), &[truth(a?), truth(b?)]),
        Op::Choose => Some(truth(a?)),
        // A comparison that steered: the path was taken at this point.
        Op::Guard(..) | Op::Taken => None,
        Op::Input | Op::Select | Op::Loop | Op::Result | Op::LoopEnd => {
            unreachable!("it is lifted where its surroundings are known")
        }
    }
}

/// The values of the results of a loop, written out: equations know no paths. `None` for what is not used.
fn unrolled(generation: u64, block: &Unrolled) -> Vec<Value> {
    let line = Location::caller();
    let operand = |operand: &Operand| match operand {
        Operand::Own(index) => {
            with_graph(generation, |graph| graph.records[*index]).expect("a variable's record has a value")
        }
        Operand::Outer(var) => {
            let outer = of_var(*var, line);
            with_graph(generation, |graph| graph.operand(&outer))
        }
        Operand::None => unreachable!("a source has a place"),
    };
    let mut values: Vec<Option<Value>> = block.sources.iter().map(|source| Some(operand(source))).collect();
    let trace = &block.trace;
    for i in trace.inputs..trace.records.len() {
        let record = trace.records[i];
        let op = record.op();
        let of = |uses: bool, index: usize| if uses { values[index] } else { None };
        let (uses_a, uses_b) = op.operands();
        let constant = if op.has_constant() { trace.constants[record.b()] } else { 0.0 };
        let (a, b) = (of(uses_a, record.a()), of(uses_b, record.b()));
        values.push(equation(generation, op, [a, b], constant, None));
    }
    let result = |k: usize| match trace.output_node(k) {
        Some(node) => values[node],
        None => equation(generation, Op::Constant, [None; 2], trace.output(k, &trace.values), None),
    };
    (0..trace.outputs.len()).map(|k| result(k).expect("a number has a value")).collect()
}

/// A lifted recording and its point.
#[derive(Clone, Debug)]
pub(crate) struct Lifted {
    closed: Closed,
    point: Vec<Tensor>,
    line: Line,
}

/// Ends a recording that array operations came into: its Program.
fn leave(scope: Scope, outputs: &[Var]) -> Lifted {
    let (generation, line) = (scope.generation(), scope.line());
    let outputs: Vec<Tensor> = outputs.iter().map(|&output| of_var(output, line)).collect();
    lift_level(generation);
    let point = with_graph(generation, |graph| graph.points());
    let closed = graph::close(generation, &outputs, "grad", line).or_raise();
    drop(scope);
    Lifted { closed, point, line }
}

/// Ends such a recording and computes from it.
#[track_caller]
pub(crate) fn finish<S: Scalar>(scope: Scope, outputs: &[Var], directions: &[S], task: &Task) -> Vec<S> {
    compute(&leave(scope, outputs), directions, task)
}

/// Ends such a recording: its outputs, and what their transpose needs.
#[track_caller]
pub(crate) fn hold<S: Scalar>(scope: Scope, outputs: &[Var]) -> (Vec<S>, Lifted) {
    let lifted = leave(scope, outputs);
    (compute(&lifted, &[], &Task::Value), lifted)
}

/// `Jᵀ c`.
#[track_caller]
pub(crate) fn pull<S: Scalar>(lifted: &Lifted, cotangents: &[S]) -> Vec<S> {
    let outputs = lifted.closed.program.outputs().len();
    crate::tree::check_size::<S>("pull", "cotangent", outputs, cotangents.len());
    compute(lifted, cotangents, &Task::Vjp)
}

#[track_caller]
fn compute<S: Scalar>(lifted: &Lifted, directions: &[S], task: &Task) -> Vec<S> {
    let Lifted { closed, point, line } = lifted;
    S::apply_lifted(*task, closed, point, directions, line)
}

#[expect(private_interfaces, reason = "the seal: nobody outside can name or implement it")]
impl Lift for f64 {
    fn apply_lifted(task: Task, closed: &Closed, point: &[Tensor], directions: &[f64], line: Line) -> Vec<f64> {
        plain(task, closed, point, directions, line)
    }
}

#[expect(private_interfaces, reason = "the seal: nobody outside can name or implement it")]
impl Lift for Var {
    fn apply_lifted(task: Task, closed: &Closed, point: &[Tensor], directions: &[Var], _: Line) -> Vec<Var> {
        variables(task, closed, point, directions)
    }
}

/// The results as plain numbers. They may not depend on a variable of an outer recording: as numbers
/// they would be constants there.
fn plain(task: Task, closed: &Closed, point: &[Tensor], directions: &[f64], line: Line) -> Vec<f64> {
    let bound = derived(task.into(), closed, NumberOperands::Varying).map_err(|error| error.at(Some(line))).or_raise();
    let operands: Vec<&Tensor> = point.iter().chain(&closed.captures).collect();
    let used = bound.made.program.used_inputs();
    for (operand, used) in operands.iter().zip(used) {
        if let (true, Some(traced)) = (used, operand.as_traced()) {
            crate::scalar::depends_on_recording(line, line_of_generation(traced.generation));
        }
    }
    let forced = |operand: &&Tensor| graph::force(operand, line).or_raise();
    let inputs: Vec<Array> = operands.iter().map(forced).collect();
    let directions: Vec<Array> = directions.iter().map(|&x| Array::scalar(x)).collect();
    bound
        .run(inputs.iter(), directions.iter())
        .map_err(|error| error.at(Some(line)))
        .or_raise()
        .iter()
        .map(|result| result.to_f64()[0])
        .collect()
}

/// The results as variables of the level around.
#[track_caller]
fn variables(task: Task, closed: &Closed, point: &[Tensor], directions: &[Var]) -> Vec<Var> {
    let directions: Vec<Tensor> = directions.iter().map(|&x| Tensor::from(x)).collect();
    let results = derived::apply("grad", task, closed, point, &directions).or_raise();
    results.iter().map(Tensor::to_var).collect()
}
