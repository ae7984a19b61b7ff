//! Where the numbers of a replay live: as few places as possible, so that they stay in cache.
//!
//! A recording of n operations has n values and n adjoints, eight lanes of each when it is replayed
//! at eight points: more than a cache holds from some ten thousand operations on. But an adjoint is
//! only needed from its first contribution until it is passed on, and a value that no derivative
//! asks for only until its last use. So places are handed out by liveness, as registers are
//! (linear scan: Poletto and Sarkar, 1999); only what the backward sweep reads is kept. On 10,000
//! Runge–Kutta steps this brings 128 bytes an operation and lane group down to about 20.

use crate::ops::Binary;
use crate::tape::record::{Form, Op, Record};
use crate::tape::trace::{Trace, for_each_edge};

/// One step forward: the record with places for operands, and the place of the result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Forward {
    pub(crate) record: Record,
    pub(crate) result: u32,
    /// The outcome that a guard expects: 1 or 0.
    pub(crate) expected: u32,
}

/// One step backward: the record with places of values, and the places of adjoints.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backward {
    pub(crate) record: Record,
    pub(crate) result: u32,
    /// The adjoint that is passed on.
    pub(crate) adjoint: u32,
    /// The adjoints it is passed to, by side.
    pub(crate) to: [Target; 2],
}

/// Where a contribution goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target(u32);

impl Target {
    const NOWHERE: Target = Target(u32::MAX);

    /// The place; `None` if nobody asks for the contribution.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn place(self) -> Option<usize> {
        (self != Target::NOWHERE).then_some(self.0 as usize)
    }
}

/// Both programs of a path and how many places they need.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) forward: Vec<Forward>,
    pub(crate) backward: Vec<Backward>,
    pub(crate) values: usize,
    pub(crate) adjoints: usize,
    /// The place of every output's value, or none for a constant.
    pub(crate) outputs: Vec<Option<u32>>,
    /// The place of the first output's adjoint, if a derivative flows from it.
    pub(crate) seed: Option<u32>,
    /// What one point sweeps: the records, with constants in place of those that the first output does not reach. Empty if
    /// it reaches all.
    pub(crate) swept: Vec<Record>,
}

/// Hands out places: those given back first.
#[derive(Default)]
struct Places {
    free: Vec<u32>,
    count: u32,
}

impl Places {
    fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.count += 1;
            self.count - 1
        })
    }
}

impl Layout {
    /// The layout of a trace without captures and selections.
    pub(crate) fn new(trace: &Trace) -> Self {
        let live = trace.reached(0..trace.outputs.len().min(1));
        let (values, forward, value_count) = forward_steps(trace, &live);
        let (backward, adjoint_count, seed) = backward_steps(trace, &live, &values);
        let outputs = (0..trace.outputs.len()).map(|k| trace.output_node(k).map(|node| values[node])).collect();
        let swept = reached_records(trace, &live);
        Layout { forward, backward, values: value_count, adjoints: adjoint_count, outputs, seed, swept }
    }
}

/// The records, with constants in place of those that are not live; empty if all are.
fn reached_records(trace: &Trace, live: &[bool]) -> Vec<Record> {
    if live[trace.inputs..trace.records.len()].iter().all(|&live| live) {
        return Vec::new();
    }
    let constant = Record::new(Op::Constant.encode().0, 0, 0);
    trace.records.iter().zip(live).map(|(&record, &live)| if live { record } else { constant }).collect()
}

/// The operands of a record that stand on the list.
fn for_each_operand(record: Record, mut visit: impl FnMut(usize)) {
    let (uses_a, uses_b) = record.op().operands();
    if uses_a {
        visit(record.a());
    }
    if uses_b {
        visit(record.b());
    }
}

/// The values that the backward sweep reads.
fn kept_values(trace: &Trace, live: &[bool]) -> Vec<bool> {
    let mut kept = vec![false; trace.values.len()];
    for i in (trace.inputs..trace.records.len()).filter(|&i| live[i]) {
        let record = trace.records[i];
        match record.op() {
            // Linear: the factors are constants.
            Op::Binary(Binary::Add | Binary::Sub, _)
            | Op::Binary(Binary::Mul, Form::Right | Form::Left)
            | Op::Binary(Binary::Div | Binary::Rem, Form::Right)
            | Op::Copy => {}
            Op::Binary(Binary::Mul, Form::Both) => for_each_operand(record, |k| kept[k] = true),
            // A rule may ask for the operands and for the result.
            _ => {
                for_each_operand(record, |k| kept[k] = true);
                kept[i] = true;
            }
        }
    }
    for k in 0..trace.outputs.len() {
        if let Some(node) = trace.output_node(k) {
            kept[node] = true;
        }
    }
    kept
}

/// The place of every value, the forward steps, and the number of places.
fn forward_steps(trace: &Trace, live: &[bool]) -> (Vec<u32>, Vec<Forward>, usize) {
    let count = trace.records.len();
    let kept = kept_values(trace, live);
    // What somebody needs: kept values, guards, and their operands; with the last use of each.
    let mut last_use = vec![0; trace.values.len()];
    let mut needed = kept.clone();
    for i in (trace.inputs..count).rev() {
        needed[i] |= matches!(trace.records[i].op(), Op::Guard(..));
        if needed[i] {
            for_each_operand(trace.records[i], |k| {
                needed[k] = true;
                last_use[k] = last_use[k].max(i);
            });
        }
    }
    let mut places = Places { free: Vec::new(), count: trace.inputs as u32 };
    let mut values: Vec<u32> = (0..trace.values.len() as u32).collect();
    let mut forward = Vec::new();
    for i in (trace.inputs..count).filter(|&i| needed[i]) {
        let original = trace.records[i];
        let record = original.map_operands(|k| values[k] as usize);
        // The result's place is taken before the operands' are given back, so that no step writes
        // where it reads.
        values[i] = places.take();
        forward.push(Forward { record, result: values[i], expected: u32::from(trace.values[i] == 1.0) });
        let mut given_back = usize::MAX;
        for_each_operand(original, |k| {
            if k >= trace.inputs && k != given_back && !kept[k] && last_use[k] == i {
                places.free.push(values[k]);
                given_back = k;
            }
        });
        if !kept[i] && last_use[i] == 0 {
            places.free.push(values[i]); // a guard
        }
    }
    (values, forward, places.count as usize)
}

/// The backward steps, the number of adjoints, and the place of the first output's.
fn backward_steps(trace: &Trace, live: &[bool], values: &[u32]) -> (Vec<Backward>, usize, Option<u32>) {
    let mut places = Places { free: Vec::new(), count: trace.inputs as u32 };
    let mut adjoints: Vec<Option<u32>> = vec![None; trace.values.len()];
    for (k, place) in adjoints[..trace.inputs].iter_mut().enumerate() {
        *place = Some(k as u32);
    }
    let Some(from) = trace.outputs.first().and_then(|_| trace.output_node(0)) else {
        return (Vec::new(), trace.inputs, None);
    };
    if from >= trace.inputs {
        adjoints[from] = Some(places.take());
    }
    let seed = adjoints[from];
    let mut backward = Vec::new();
    for i in (trace.inputs..=from).rev().filter(|&i| live[i]) {
        let record = trace.records[i];
        let Some(adjoint) = adjoints[i] else { continue };
        let mut to = [Target::NOWHERE; 2];
        for_each_edge(record, |side| {
            let k = record.operand(side);
            if matches!(trace.records[k].op(), Op::Constant) {
                return;
            }
            to[side as usize] = Target(*adjoints[k].get_or_insert_with(|| places.take()));
        });
        // Given back only now: no step adds where it reads.
        places.free.push(adjoint);
        backward.push(Backward { record: record.map_operands(|k| values[k] as usize), result: values[i], adjoint, to });
    }
    (backward, places.count as usize, seed)
}
