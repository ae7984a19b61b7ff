//! The list of a task: a recorded function, or what is derived from it, as straight-line code of its own.

use super::Guard;
use super::list::{List, Node};
use super::symbol::{Symbol, write_list};
use crate::algorithm::Algorithm;
use crate::real::Real;
use crate::tape::record::{Form, Op};
use crate::tape::sweep;
use crate::tape::trace::{Adjoints, Trace};
use crate::task::Task;

/// What a list computes.
#[derive(Debug)]
pub(super) struct Derived {
    pub(super) list: List,
    /// How many inputs there are: those of the function, and the numbers of the direction.
    pub(super) inputs: usize,
    pub(super) results: Vec<Node>,
    pub(super) guards: Vec<Guard>,
    /// Which inputs are still in their places when the code has run; none of those beyond the list.
    pub(super) kept: Vec<bool>,
    /// Whether functions have the bits of arrays, not those of recording.
    pub(super) of_many: bool,
}

impl Derived {
    /// What is read of the list: operands of guards, and results.
    pub(super) fn roots(&self) -> Vec<Node> {
        let guarded = self.guards.iter().flat_map(|guard| [guard.x, guard.y]);
        guarded.chain(self.results.iter().copied()).collect()
    }
}

/// The list of what `task` asks of a recording without captures. A derivative is computed by the algorithm of one point over
/// symbols: the formulas, and their order, are those of plain numbers.
pub(super) fn derive(trace: &Trace, task: &Task) -> Derived {
    let inputs = trace.inputs + task.direction_size(trace.inputs, trace.outputs.len());
    let (list, (results, guards)) = write_list(|| {
        let symbols: Vec<Symbol> = (0..inputs as u32).map(Symbol::input).collect();
        let (point, direction) = symbols.split_at(trace.inputs);
        let (values, guards) = evaluate(trace, point);
        // The guards are in the list: what is derived need not ask again.
        let results = task.run(&trace.without_guards(), &values, direction);
        let results: Vec<Node> = results.into_iter().map(Symbol::node).collect();
        (results, guards)
    });
    Derived { list, inputs, results, guards, kept: Vec::new(), of_many: false }
}

/// The list of the cotangents of the `reached` inputs of a path, given the inputs and then the cotangents of the outputs that
/// have one. That it is the path which is taken there is known.
pub(super) fn transposed(trace: &Trace, seeds: &[bool], reached: &[usize]) -> Derived {
    let inputs = trace.inputs + seeds.iter().filter(|&&live| live).count();
    let (list, results) = write_list(|| {
        let symbols: Vec<Symbol> = (0..inputs as u32).map(Symbol::input).collect();
        let (point, cotangents) = symbols.split_at(trace.inputs);
        let (values, _) = evaluate(trace, point);
        let mut adjoints = Adjoints::default();
        trace.pull_back_in_place(&values, given(seeds, cotangents), &mut adjoints);
        let result = |&input: &usize| adjoints.of(input).expect("it is reached").node();
        reached.iter().map(result).collect::<Vec<Node>>()
    });
    Derived { list, inputs, results, guards: Vec::new(), kept: Vec::new(), of_many: false }
}

/// The list of the outputs of a path and then of the tangents of those that are `reached`, given the inputs and then the tangents
/// of those that have one.
pub(super) fn pushed(trace: &Trace, seeds: &[bool], reached: &[usize]) -> Derived {
    let inputs = trace.inputs + seeds.iter().filter(|&&live| live).count();
    let (list, (results, guards)) = write_list(|| {
        let symbols: Vec<Symbol> = (0..inputs as u32).map(Symbol::input).collect();
        let (point, tangents) = symbols.split_at(trace.inputs);
        let (values, guards) = evaluate(trace, point);
        let tangents = trace.push_forward(&values, &given(seeds, tangents).collect::<Vec<_>>());
        let outputs = (0..trace.outputs.len()).map(|k| trace.output(k, &values));
        let tangent = |&k: &usize| trace.output_node(k).and_then(|node| tangents[node]).expect("it is reached");
        let results = outputs.chain(reached.iter().map(tangent)).map(Symbol::node).collect::<Vec<Node>>();
        (results, guards)
    });
    Derived { list, inputs, results, guards, kept: Vec::new(), of_many: false }
}

/// Derivatives, of which those that are no seeds are structurally zero.
fn given(seeds: &[bool], symbols: &[Symbol]) -> impl Iterator<Item = Option<Symbol>> {
    let mut symbols = symbols.iter();
    seeds.iter().map(move |&live| live.then(|| *symbols.next().expect("one for each")))
}

/// The values of all records, and the guards on the way.
fn evaluate(trace: &Trace, point: &[Symbol]) -> (Vec<Symbol>, Vec<Guard>) {
    let mut values = point.to_vec();
    let mut guards = Vec::new();
    for i in trace.inputs..trace.records.len() {
        let (record, expected) = (trace.records[i], trace.values[i]);
        let (a, b) = (record.a(), record.b());
        let value = if let Op::Guard(compare, form) = record.op() {
            let constant = || Symbol::Number(trace.constants[b]);
            let (x, y) = match form {
                Form::Both => (values[a], values[b]),
                Form::Right => (values[a], constant()),
                Form::Left => (constant(), values[a]),
            };
            let (x, y) = (x.node(), y.node());
            guards.push(Guard { compare, x, y, expected: expected == 1.0 });
            Symbol::constant(expected)
        } else {
            let before = trace.records[i - 1];
            sweep::evaluate(record, before, &trace.constants, &values, expected)
                .expect("no guard, which alone can fail")
        };
        values.push(value);
    }
    (values, guards)
}
