//! What the drivers compute from a recording: gradients, products, whole matrices.
//!
//! Each is written once over a [`Base`], and so gives plain numbers at the outermost level and
//! variables of the outer recording in a nested one.

use crate::dual::Dual;
use crate::real::Real;
use crate::series::{self, SeriesGraph, SeriesNode};
use crate::tape::Var;
use crate::tape::cotangent::Pack;
use crate::tape::record::{Form, Op};
use crate::tape::sweep;
use crate::tape::trace::Trace;
use crate::task::{Gives, Task};

/// What a driver computes from a recording, over any base.
pub(crate) trait Algorithm {
    /// From the values of all records and captures, and the directions the driver was given.
    #[track_caller]
    fn run<B: Base>(&self, trace: &Trace, values: &[B], directions: &[B]) -> Vec<B>;
}

/// What a derivative is computed over at the bottom: plain numbers, variables of an outer
/// recording, or plain numbers that know whether they depend on one.
pub(crate) trait Base: Real {
    /// Whether sweeps carry eight columns or rows of a matrix. Not worth the code for what is rarely computed over, and of no
    /// use to symbols: what two sweeps share is one operation.
    const CHUNKED: bool = false;

    /// A capture as a number of this kind.
    fn capture(var: Var) -> Self;
    /// The number alone; NaN if it is not known yet.
    fn plain(self) -> f64;
}

/// The algorithms are chosen here, by value, so that they are compiled once with the library instead of in every crate that
/// calls a driver.
impl Algorithm for Task {
    #[track_caller]
    fn run<B: Base>(&self, trace: &Trace, values: &[B], directions: &[B]) -> Vec<B> {
        match self {
            Task::Value => Value.run(trace, values, directions),
            Task::ValueAndGradient => ValueAndGradient.run(trace, values, directions),
            Task::Gradient => Vjp.run(trace, values, &[B::constant(1.0)]),
            Task::Vjp => Vjp.run(trace, values, directions),
            Task::ValueAndVjp => [outputs(trace, values), Vjp.run(trace, values, directions)].concat(),
            Task::Jvp => Jvp.run(trace, values, directions),
            Task::Jacobian => Jacobian.run(trace, values, directions),
            Task::ValueAndJacobian => [outputs(trace, values), Jacobian.run(trace, values, directions)].concat(),
            Task::Hvp => Hvp { gives: Gives::Derivative }.run(trace, values, directions),
            Task::ValueGradientAndHvp => Hvp { gives: Gives::LowerOrdersToo }.run(trace, values, directions),
            Task::Hessian => Hessian { gives: Gives::Derivative }.run(trace, values, directions),
            Task::ValueGradientAndHessian => Hessian { gives: Gives::LowerOrdersToo }.run(trace, values, directions),
            Task::Taylor { order } => Expansion { order: *order }.run(trace, values, directions),
        }
    }
}

/// How many columns or rows of a matrix go through one sweep.
const CHUNK: usize = 8;

/// The values of the outputs.
fn outputs<B: Base>(trace: &Trace, values: &[B]) -> Vec<B> {
    (0..trace.outputs.len()).map(|k| trace.output(k, values)).collect()
}

/// The values of all outputs, then the gradient of the first one.
pub(crate) struct ValueAndGradient;

impl Algorithm for ValueAndGradient {
    #[track_caller]
    fn run<B: Base>(&self, trace: &Trace, values: &[B], _: &[B]) -> Vec<B> {
        let mut results = outputs(trace, values);
        let adjoints = trace.pull_back(values, &[Some(B::constant(1.0))]);
        results.extend(&adjoints[..trace.inputs]);
        results
    }
}

/// The values of the outputs.
pub(crate) struct Value;

impl Algorithm for Value {
    #[track_caller]
    fn run<B: Base>(&self, trace: &Trace, values: &[B], _: &[B]) -> Vec<B> {
        outputs(trace, values)
    }
}

/// `Jᵀ c` for the cotangent `c` in the directions.
pub(crate) struct Vjp;

impl Algorithm for Vjp {
    #[track_caller]
    fn run<B: Base>(&self, trace: &Trace, values: &[B], cotangents: &[B]) -> Vec<B> {
        let seeds: Vec<Option<B>> = cotangents.iter().map(|&ct| Some(ct)).collect();
        let mut adjoints = trace.pull_back(values, &seeds);
        adjoints.truncate(trace.inputs);
        adjoints
    }
}

/// The values of the outputs, then `J v` for the tangent `v` in the directions.
pub(crate) struct Jvp;

impl Algorithm for Jvp {
    #[track_caller]
    fn run<B: Base>(&self, trace: &Trace, values: &[B], tangents: &[B]) -> Vec<B> {
        let mut results = outputs(trace, values);
        let seeds: Vec<Option<B>> = tangents.iter().map(|&tangent| Some(tangent)).collect();
        let tangents = trace.push_forward(values, &seeds);
        results.extend(
            (0..trace.outputs.len())
                .map(|k| trace.output_node(k).and_then(|node| tangents[node]).unwrap_or(B::constant(0.0))),
        );
        results
    }
}

/// The Jacobian row by row: forward, column by column, if it has at most as many columns as rows;
/// else backward, row by row. A sweep carries eight of them.
pub(crate) struct Jacobian;

impl Algorithm for Jacobian {
    #[track_caller]
    fn run<B: Base>(&self, trace: &Trace, values: &[B], _: &[B]) -> Vec<B> {
        let (rows, columns) = (trace.outputs.len(), trace.inputs);
        let mut matrix = vec![B::constant(0.0); rows * columns];
        if !B::CHUNKED {
            if columns <= rows {
                forward::<B, 1>(trace, values, &mut matrix)
            } else {
                backward::<B, 1>(trace, values, &mut matrix)
            }
            return matrix;
        }
        // In a chunk a zero that is structural for one row meets the factors of another; that is
        // right only if they are finite, at this point and not only where it was recorded.
        let plain: Vec<f64> = values.iter().map(|value| value.plain()).collect();
        match (columns <= rows, trace.has_finite_partials(&plain)) {
            (true, true) => forward::<B, CHUNK>(trace, values, &mut matrix),
            (true, false) => forward::<B, 1>(trace, values, &mut matrix),
            (false, true) => backward::<B, CHUNK>(trace, values, &mut matrix),
            (false, false) => backward::<B, 1>(trace, values, &mut matrix),
        }
        matrix
    }
}

#[track_caller]
fn forward<B: Base, const K: usize>(trace: &Trace, values: &[B], matrix: &mut [B]) {
    let columns = trace.inputs;
    for start in (0..columns).step_by(K) {
        let mut seeds: Vec<Option<Pack<B, K>>> = vec![None; columns];
        for (k, seed) in seeds[start..].iter_mut().take(K).enumerate() {
            *seed = Some(unit(k));
        }
        let tangents = trace.push_forward(values, &seeds);
        for row in 0..trace.outputs.len() {
            let Some(tangent) = trace.output_node(row).and_then(|node| tangents[node]) else { continue };
            let entries = &mut matrix[row * columns + start..(row + 1) * columns];
            entries.iter_mut().zip(tangent.0).for_each(|(entry, part)| *entry = part);
        }
    }
}

#[track_caller]
fn backward<B: Base, const K: usize>(trace: &Trace, values: &[B], matrix: &mut [B]) {
    let (rows, columns) = (trace.outputs.len(), trace.inputs);
    for start in (0..rows).step_by(K) {
        let mut seeds: Vec<Option<Pack<B, K>>> = vec![None; rows];
        for (k, seed) in seeds[start..].iter_mut().take(K).enumerate() {
            *seed = Some(unit(k));
        }
        let adjoints = trace.pull_back(values, &seeds);
        for k in 0..K.min(rows - start) {
            let row = &mut matrix[(start + k) * columns..(start + k + 1) * columns];
            row.iter_mut().zip(&adjoints).for_each(|(entry, adjoint)| *entry = adjoint.0[k]);
        }
    }
}

fn unit<B: Base, const K: usize>(place: usize) -> Pack<B, K> {
    Pack(std::array::from_fn(|k| B::constant(if k == place { 1.0 } else { 0.0 })))
}

/// `H v` of the first output for the vector `v` in the directions: forward over reverse.
pub(crate) struct Hvp {
    pub(crate) gives: Gives,
}

impl Algorithm for Hvp {
    #[track_caller]
    fn run<B: Base>(&self, trace: &Trace, values: &[B], directions: &[B]) -> Vec<B> {
        let inputs: Vec<Dual<B>> = values.iter().zip(directions).map(|(&x, &v)| Dual::new(x, v)).collect();
        let adjoints = second_order(trace, &inputs);
        let mut results = Vec::new();
        if self.gives == Gives::LowerOrdersToo {
            results = outputs(trace, values);
            results.extend(adjoints.iter().map(|adjoint| adjoint.re()));
        }
        results.extend(adjoints.into_iter().map(Dual::tangent));
        results
    }
}

/// The Hessian of the first output, row by row: forward over reverse, eight columns a sweep.
pub(crate) struct Hessian {
    pub(crate) gives: Gives,
}

impl Algorithm for Hessian {
    #[track_caller]
    fn run<B: Base>(&self, trace: &Trace, values: &[B], _: &[B]) -> Vec<B> {
        let size = trace.inputs;
        let mut results = if self.gives == Gives::LowerOrdersToo { outputs(trace, values) } else { Vec::new() };
        let lower = match self.gives {
            Gives::Derivative => 0,
            Gives::LowerOrdersToo => size,
        };
        let start = results.len();
        results.resize(start + lower + size * size, B::constant(0.0));
        let (gradient, matrix) = results[start..].split_at_mut(lower);
        if B::CHUNKED {
            hessian::<B, CHUNK>(trace, values, gradient, matrix);
        } else {
            hessian::<B, 1>(trace, values, gradient, matrix);
        }
        results
    }
}

/// Fills the matrix, and the gradient if it has places.
#[track_caller]
fn hessian<B: Base, const K: usize>(trace: &Trace, values: &[B], gradient: &mut [B], matrix: &mut [B]) {
    let size = trace.inputs;
    for start in (0..size).step_by(K) {
        let inputs: Vec<Dual<B, K>> = values[..size]
            .iter()
            .enumerate()
            .map(|(i, &x)| i.checked_sub(start).map_or(Dual::lift(x), |k| Dual::seed(x, k)))
            .collect();
        let adjoints = second_order(trace, &inputs);
        if start == 0 {
            gradient.iter_mut().zip(&adjoints).for_each(|(place, adjoint)| *place = adjoint.re());
        }
        for (row, adjoint) in adjoints.into_iter().enumerate() {
            let entries = &mut matrix[row * size + start..(row + 1) * size];
            entries.iter_mut().zip(adjoint.tangents()).for_each(|(entry, part)| *entry = part);
        }
    }
}

/// The gradient of the first output over duals.
#[track_caller]
fn second_order<B: Base, const N: usize>(trace: &Trace, inputs: &[Dual<B, N>]) -> Vec<Dual<B, N>> {
    let values = trace
        .evaluate(inputs, |capture| Dual::lift(B::capture(capture)))
        .expect("the point is the same, so no guard flips");
    let mut adjoints = trace.pull_back(&values, &[Some(Dual::constant(1.0))]);
    adjoints.truncate(trace.inputs);
    adjoints
}

/// The coefficients up to `order` of `t -> f(x + t v)`, for the direction `v`: output after output.
#[derive(Clone, Copy)]
pub(crate) struct Expansion {
    pub(crate) order: usize,
}

impl Algorithm for Expansion {
    #[track_caller]
    fn run<B: Base>(&self, trace: &Trace, values: &[B], direction: &[B]) -> Vec<B> {
        if !trace.blocks.is_empty() {
            // Series know no loops.
            let flat = trace.unrolled();
            let inputs = &values[..trace.inputs];
            let values = flat.evaluate(inputs, B::capture).expect("no guard is left that could flip");
            return self.run(&flat, &values, direction);
        }
        let mut graph = SeriesGraph::default();
        let nodes = place(&mut graph, trace, values, direction);
        let mut results = Vec::with_capacity(trace.outputs.len() * (self.order + 1));
        for k in 0..trace.outputs.len() {
            let end = results.len() + self.order + 1;
            match trace.output_node(k) {
                Some(output) => {
                    let node = nodes[output];
                    graph.extend(node, self.order);
                    results.extend(graph.coefficients(node).iter().take(self.order + 1));
                }
                None => results.push(trace.output(k, values)),
            }
            results.resize(end, B::constant(0.0));
        }
        results
    }
}

/// A node of the graph for every record and capture.
#[track_caller]
fn place<B: Base>(graph: &mut SeriesGraph<B>, trace: &Trace, values: &[B], direction: &[B]) -> Vec<SeriesNode> {
    let mut nodes: Vec<SeriesNode> = Vec::with_capacity(values.len());
    // Operands may be captures, which are numbered after the records but come before them.
    let count = trace.records.len();
    let captures: Vec<SeriesNode> = values[count..].iter().map(|&value| graph.given(&[value])).collect();
    for (i, (&record, &value)) in trace.records.iter().zip(values).enumerate() {
        let of = |index: usize| {
            if index < count { nodes[index] } else { captures[index - count] }
        };
        let (a, b) = (record.a(), record.b());
        let node = match record.op() {
            Op::Input if i < trace.inputs => graph.given(&[value, direction[i]]),
            Op::Unary(op) => graph.insert(series::Op::Unary(op, of(a)), value),
            Op::Binary(op, form) => {
                let (x, y) = match form {
                    Form::Both => (of(a), of(b)),
                    Form::Right => (of(a), graph.constant(trace.constants[b])),
                    Form::Left => (graph.constant(trace.constants[b]), of(a)),
                };
                graph.insert(series::Op::Binary(op, x, y), value)
            }
            Op::Select => {
                let condition = sweep::mask(values[trace.records[i - 1].a()]);
                graph.select(condition, of(a), of(b))
            }
            Op::Copy => of(a),
            // An input further on is that of a nested driver whose point was a constant.
            Op::Input
            | Op::Constant
            | Op::Guard(..)
            | Op::Condition(..)
            | Op::Not
            | Op::And
            | Op::Or
            | Op::Choose
            | Op::Taken
            | Op::Loop
            | Op::Result
            | Op::LoopEnd => graph.given(&[value]),
        };
        nodes.push(node);
    }
    nodes.extend(captures);
    nodes
}
