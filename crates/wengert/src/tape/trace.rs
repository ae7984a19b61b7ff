//! [`Trace`]: a finished recording as a value of its own, to be swept as often as one likes.

use super::Var;
use super::block::Block;
use super::cotangent::Cotangent;
use super::record::{Form, Op, Record, Side};
use super::recording::Line;
use super::sweep::{self, visit_edges};
use crate::real::{Carrier, Mask, Real};

/// What a recorded function returned, leaf by leaf.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Output {
    /// The result of a record.
    Node(usize),
    /// A number that depends on nothing.
    Constant(f64),
    /// A variable of an outer recording.
    Capture(Var),
}

/// A list cut off from its recording. Records are numbered from 0, the inputs first; operands
/// from `records.len()` on are captures, variables of outer recordings.
#[derive(Clone, Debug)]
pub(crate) struct Trace {
    pub(crate) records: Vec<Record>,
    pub(crate) constants: Vec<f64>,
    /// The values while recording: records, then captures.
    pub(crate) values: Vec<f64>,
    pub(crate) captures: Vec<Var>,
    pub(crate) inputs: usize,
    pub(crate) outputs: Vec<Output>,
    /// One per record, from a diagnostic run; else empty.
    pub(crate) lines: Vec<Line>,
    /// Whether a selection masks adjoints.
    pub(crate) selects: bool,
    /// The loops.
    pub(crate) blocks: Vec<Block>,
}

/// Adjoints of records, in memory that may serve again.
#[derive(Clone, Debug)]
pub(crate) struct Adjoints<A> {
    sums: Vec<A>,
    /// Which are more than structurally zero. The first contribution is stored, not added: 0 + x costs a record on the tape.
    started: Vec<bool>,
}

impl<A> Default for Adjoints<A> {
    fn default() -> Self {
        Adjoints { sums: Vec::new(), started: Vec::new() }
    }
}

impl<A: Copy> Adjoints<A> {
    fn begin(&mut self, count: usize, zero: A) {
        self.sums.resize(count, zero);
        self.started.clear();
        self.started.resize(count, false);
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn add(&mut self, place: usize, ct: A, plus: impl FnOnce(A, A) -> A) {
        self.sums[place] = if self.started[place] { plus(self.sums[place], ct) } else { ct };
        self.started[place] = true;
    }

    /// The adjoint in a place; `None` if it is structurally zero.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn of(&self, place: usize) -> Option<A> {
        self.started[place].then(|| self.sums[place])
    }
}

/// A guard came out differently: the recording is not valid at this point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flipped;

impl Trace {
    /// Cuts off the records from `mark` on.
    #[expect(clippy::too_many_arguments, reason = "the parts of a level, seen by nobody else")]
    pub(super) fn new(
        records: &[Record],
        values: &[f64],
        constants: &[f64],
        lines: &[Line],
        blocks: &[Block],
        inputs: usize,
        mark: usize,
        var_before: impl Fn(usize) -> Var,
        mut outputs: Vec<Output>,
    ) -> Self {
        let count = records.len();
        let mut captures: Vec<Var> = Vec::new();
        let mut place_of = std::collections::HashMap::new();
        let mut selects = false;
        // A nested recording takes only the constants it uses along.
        let mut own_constants = if mark == 0 { constants.to_vec() } else { Vec::new() };
        let mut constant_of = std::collections::HashMap::new();
        let mut own_blocks: Vec<Block> = Vec::new();
        let mut renumber = |index: usize| match index.checked_sub(mark) {
            Some(index) => index,
            None => *place_of.entry(index).or_insert_with(|| {
                captures.push(var_before(index));
                count + captures.len() - 1
            }),
        };
        let records: Vec<Record> = records
            .iter()
            .enumerate()
            .map(|(i, &record)| {
                let op = record.op();
                selects |= op == Op::Select;
                // An input that copies an outer variable is an independent variable here.
                if i < inputs {
                    return Record::new(Op::Input.encode().0, 0, 0);
                }
                // The input of a finished nested recording at a plain point is a constant.
                if op == Op::Input {
                    own_constants.push(values[i]);
                    return Record::new(Op::Constant.encode().0, 0, own_constants.len() as u64 - 1);
                }
                if op == Op::Loop {
                    own_blocks.push(blocks[record.b()].moved(&mut renumber));
                }
                if op.is_of_loop() {
                    // Loops on a list do not overlap.
                    return record.with_b(own_blocks.len() - 1);
                }
                let record = record.map_operands(&mut renumber);
                if mark == 0 || !op.has_constant() {
                    return record;
                }
                let place = *constant_of.entry(record.b()).or_insert_with(|| {
                    own_constants.push(constants[record.b()]);
                    own_constants.len() - 1
                });
                record.with_b(place)
            })
            .collect();
        for output in &mut outputs {
            if let Output::Capture(var) = *output {
                let index = (var.tag & super::record::INDEX_MASK) as usize;
                *output = Output::Node(renumber(index));
            }
        }
        let mut values = values.to_vec();
        values.extend(captures.iter().map(|var| var.value));
        let (constants, lines, blocks) = (own_constants, lines.to_vec(), own_blocks);
        Trace { records, constants, values, captures, inputs, outputs, lines, selects, blocks }
    }

    /// The same recording with the recorded outcomes in place of guards, which have been tested elsewhere.
    pub(crate) fn without_guards(&self) -> Trace {
        let mut trace = self.clone();
        for (record, &value) in trace.records.iter_mut().zip(&self.values) {
            if matches!(record.op(), Op::Guard(..)) {
                trace.constants.push(value);
                *record = Record::new(Op::Constant.encode().0, 0, trace.constants.len() as u64 - 1);
            }
        }
        trace
    }

    /// Runs the recording at other inputs: the values of all records and captures.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    pub(crate) fn evaluate<R: Real>(&self, inputs: &[R], capture: impl Fn(Var) -> R) -> Result<Vec<R>, Flipped> {
        let count = self.records.len();
        let mut values = vec![R::constant(0.0); count + self.captures.len()];
        values[..self.inputs].copy_from_slice(inputs);
        for (value, &var) in values[count..].iter_mut().zip(&self.captures) {
            *value = capture(var);
        }
        self.evaluate_in_place(&mut values)?;
        Ok(values)
    }

    /// As [`Trace::evaluate`], where the inputs and captures stand among the values.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    pub(crate) fn evaluate_in_place<R: Real>(&self, values: &mut [R]) -> Result<(), Flipped> {
        for i in self.inputs..self.records.len() {
            let record = self.records[i];
            if is_of_loop(record) {
                if record.op() == Op::Loop {
                    let block = &self.blocks[record.b()];
                    let results = block.evaluate(values)?;
                    values[i + 1..i + 1 + results.len()].copy_from_slice(&results);
                }
                continue;
            }
            let before = self.records[i.saturating_sub(1)];
            values[i] = sweep::evaluate(record, before, &self.constants, values, self.values[i]).ok_or(Flipped)?;
        }
        Ok(())
    }

    /// The value of output `k`.
    pub(crate) fn output<R: Real>(&self, k: usize, values: &[R]) -> R {
        match self.outputs[k] {
            Output::Node(node) => values[node],
            Output::Constant(value) => R::constant(value),
            Output::Capture(_) => unreachable!("captures are renumbered when the trace is made"),
        }
    }

    /// Where output `k` stands, if it is on the list.
    pub(crate) fn output_node(&self, k: usize) -> Option<usize> {
        match self.outputs[k] {
            Output::Node(node) => Some(node),
            Output::Constant(_) | Output::Capture(_) => None,
        }
    }

    /// The inputs that a derivative of the given outputs flows to.
    pub(crate) fn reached_inputs(&self, outputs: &[bool]) -> Vec<usize> {
        let live = self.reached((0..outputs.len()).filter(|&k| outputs[k]));
        (0..self.inputs).filter(|&input| live[input]).collect()
    }

    /// The outputs that a derivative of the given inputs flows to, of a recording without loops.
    pub(crate) fn reached_outputs(&self, inputs: &[bool]) -> Vec<usize> {
        debug_assert!(self.blocks.is_empty(), "a loop has several results");
        let mut live = vec![false; self.values.len()];
        live[..self.inputs].copy_from_slice(inputs);
        for i in self.inputs..self.records.len() {
            let record = self.records[i];
            let mut reached = false;
            for_each_edge(record, |side| reached |= live[record.operand(side)]);
            live[i] = reached;
        }
        (0..self.outputs.len()).filter(|&k| self.output_node(k).is_some_and(|node| live[node])).collect()
    }

    /// The same recording with its captures as inputs behind the others; and the captures.
    pub(crate) fn closed(mut self) -> (Trace, Vec<Var>) {
        let (inputs, count, more) = (self.inputs, self.records.len(), self.captures.len());
        let place = |index: usize| match index {
            index if index < inputs => index,
            index if index < count => index + more,
            index => index - count + inputs,
        };
        let mut records: Vec<Record> = self.records.iter().map(|record| record.map_operands(place)).collect();
        records.splice(inputs..inputs, std::iter::repeat_n(Record::new(Op::Input.encode().0, 0, 0), more));
        self.values[inputs..].rotate_right(more);
        for output in &mut self.outputs {
            if let Output::Node(node) = output {
                *node = place(*node);
            }
        }
        let blocks = self.blocks.iter().map(|block| block.moved(place)).collect();
        let captures = std::mem::take(&mut self.captures);
        (Trace { records, inputs: inputs + more, blocks, ..self }, captures)
    }

    /// Bytes that it takes.
    pub(crate) fn bytes(&self) -> usize {
        let blocks: usize = self.blocks.iter().map(Block::bytes).sum();
        size_of_val(&self.records[..]) + size_of_val(&self.constants[..]) + size_of_val(&self.values[..]) + blocks
    }

    /// The records that a derivative of the given outputs flows through.
    pub(crate) fn reached(&self, outputs: impl Iterator<Item = usize>) -> Vec<bool> {
        let mut live = vec![false; self.values.len()];
        for node in outputs.filter_map(|k| self.output_node(k)) {
            live[node] = true;
        }
        for i in (self.inputs..self.records.len()).rev() {
            if live[i] {
                // The factors do not matter here, so the recorded values serve.
                let record = self.records[i];
                for_each_edge(record, |side| live[record.operand(side)] = true);
            }
            if self.records[i].code() == LOOP_END {
                let block = &self.blocks[self.records[i].b()];
                let results: Vec<bool> = live[i - block.results()..i].to_vec();
                for (source, reached) in block.sources.iter().zip(block.reached(&results)) {
                    if let (Some(place), true) = (source.place(), reached) {
                        live[place] = true;
                    }
                }
            }
        }
        live
    }

    /// The adjoints of all records and captures, given those of the outputs; `None` for an output
    /// whose adjoint is structurally zero.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    pub(crate) fn pull_back<R: Real, A: Cotangent<R>>(&self, values: &[R], seeds: &[Option<A>]) -> Vec<A> {
        if self.selects {
            return self.pull_back_masked(values, seeds);
        }
        let mut adjoints = Adjoints::default();
        self.pull_back_in_place(values, seeds.iter().copied(), &mut adjoints);
        adjoints.sums
    }

    /// The adjoints of all records and captures, into memory that is kept. Selections are taken for both of their sides: of those on
    /// a path of a loop, which chooses by guards, no output depends.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    pub(crate) fn pull_back_in_place<R: Real, A: Cotangent<R>>(
        &self,
        values: &[R],
        seeds: impl Iterator<Item = Option<A>>,
        adjoints: &mut Adjoints<A>,
    ) {
        adjoints.begin(values.len(), A::zero());
        for (k, seed) in seeds.enumerate() {
            if let (Some(node), Some(seed)) = (self.output_node(k), seed) {
                adjoints.add(node, seed, A::plus);
            }
        }
        for i in (self.inputs..self.records.len()).rev() {
            let record = self.records[i];
            if record.code() == LOOP_END {
                let block = &self.blocks[record.b()];
                let results = i - block.results()..i;
                if results.clone().any(|k| adjoints.started[k]) {
                    let seeds: Vec<Option<A>> = results.map(|k| adjoints.of(k)).collect();
                    for (source, ct) in block.sources.iter().zip(pull_back_block(block, values, &seeds)) {
                        if let (Some(place), Some(ct)) = (source.place(), ct) {
                            adjoints.add(place, ct, A::plus);
                        }
                    }
                }
                continue;
            }
            let Some(ct) = adjoints.of(i) else { continue };
            visit_edges(record, &self.constants, values, i, |side, factor| {
                adjoints.add(record.operand(side), ct.times(factor), A::plus);
            });
        }
    }

    /// As [`Trace::pull_back`], with the branches not taken masked out of every contribution.
    #[track_caller]
    fn pull_back_masked<R: Real, A: Cotangent<R>>(&self, values: &[R], seeds: &[Option<A>]) -> Vec<A> {
        /// An adjoint and where it counts; everywhere if there is no mask.
        type Masked<R, A> = Option<(A, Option<<R as Carrier>::Mask>)>;
        let mut adjoints: Vec<Masked<R, A>> = vec![None; values.len()];
        let add = |place: &mut Masked<R, A>, ct: A, mask: Option<R::Mask>| {
            *place = Some(match *place {
                None => (ct, mask),
                Some((sum, before)) => (sum.plus(ct), before.zip(mask).map(|(x, y)| x | y)),
            });
        };
        for (k, seed) in seeds.iter().enumerate() {
            if let (Some(node), Some(seed)) = (self.output_node(k), *seed) {
                add(&mut adjoints[node], seed, None);
            }
        }
        for i in (self.inputs..self.records.len()).rev() {
            let record = self.records[i];
            if record.code() == LOOP_END {
                let block = &self.blocks[record.b()];
                let results = i - block.results()..i;
                // What counts everywhere goes back together, the rest one by one: the infinite factors of one must not meet the
                // mask of another.
                let all: Vec<Option<A>> = adjoints[results.clone()]
                    .iter()
                    .map(|adjoint| adjoint.filter(|(_, mask)| mask.is_none()).map(|(ct, _)| ct))
                    .collect();
                let mut groups = vec![(all, None)];
                for (k, place) in results.enumerate() {
                    if let Some((ct, Some(mask))) = adjoints[place] {
                        let mut seeds = vec![None; block.results()];
                        seeds[k] = Some(ct);
                        groups.push((seeds, Some(mask)));
                    }
                }
                for (seeds, mask) in groups.into_iter().filter(|(seeds, _)| seeds.iter().any(Option::is_some)) {
                    for (source, ct) in block.sources.iter().zip(pull_back_block(block, values, &seeds)) {
                        if let (Some(place), Some(ct)) = (source.place(), ct) {
                            add(&mut adjoints[place], mask.map_or(ct, |mask| ct.masked(mask)), mask);
                        }
                    }
                }
                continue;
            }
            let Some((ct, mask)) = adjoints[i] else { continue };
            if record.op() == Op::Select {
                let condition = sweep::mask(values[self.records[i - 1].a()]);
                for (k, chosen) in [(record.a(), condition), (record.b(), !condition)] {
                    let here = mask.map_or(chosen, |mask| mask & chosen);
                    match here.known() {
                        Some(false) => {}
                        Some(true) => add(&mut adjoints[k], ct, None),
                        None => add(&mut adjoints[k], ct.masked(here), Some(here)),
                    }
                }
                continue;
            }
            visit_edges(record, &self.constants, values, i, |side, factor| {
                let contribution = ct.times(factor);
                let contribution = mask.map_or(contribution, |mask| contribution.masked(mask));
                add(&mut adjoints[record.operand(side)], contribution, mask);
            });
        }
        adjoints.into_iter().map(|adjoint| adjoint.map_or_else(A::zero, |(ct, _)| ct)).collect()
    }

    /// The tangents of all records, given those of the inputs; `None` is structurally zero.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    pub(crate) fn push_forward<R: Real, A: Cotangent<R>>(&self, values: &[R], inputs: &[Option<A>]) -> Vec<Option<A>> {
        let mut tangents = Vec::with_capacity(values.len());
        tangents.extend_from_slice(inputs);
        self.push_forward_in_place(values, &mut tangents);
        tangents
    }

    /// As [`Trace::push_forward`], behind the tangents of the inputs.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    pub(crate) fn push_forward_in_place<R: Real, A: Cotangent<R>>(&self, values: &[R], tangents: &mut Vec<Option<A>>) {
        tangents.resize(values.len(), None);
        for i in self.inputs..self.records.len() {
            let record = self.records[i];
            if is_of_loop(record) {
                if record.op() == Op::Loop {
                    let block = &self.blocks[record.b()];
                    let sources: Vec<Option<A>> =
                        block.sources.iter().map(|source| source.place().and_then(|place| tangents[place])).collect();
                    if sources.iter().any(Option::is_some) {
                        let results = push_forward_block(block, values, &sources);
                        tangents[i + 1..i + 1 + results.len()].copy_from_slice(&results);
                    }
                }
                continue;
            }
            let mut sum: Option<A> = None;
            if record.op() == Op::Select {
                let condition = sweep::mask(values[self.records[i - 1].a()]);
                for (k, chosen) in [(record.a(), condition), (record.b(), !condition)] {
                    let Some(tangent) = tangents[k] else { continue };
                    let part = match chosen.known() {
                        Some(false) => continue,
                        Some(true) => tangent,
                        None => tangent.masked(chosen),
                    };
                    sum = Some(sum.map_or(part, |sum| sum.plus(part)));
                }
            } else if self.depends(record, tangents) {
                visit_edges(record, &self.constants, values, i, |side, factor| {
                    if let Some(tangent) = tangents[record.operand(side)] {
                        let part = tangent.times(factor);
                        sum = Some(sum.map_or(part, |sum: A| sum.plus(part)));
                    }
                });
            }
            tangents[i] = sum;
        }
    }

    fn depends<A>(&self, record: Record, tangents: &[Option<A>]) -> bool {
        let mut depends = false;
        for_each_edge(record, |side| depends |= tangents[record.operand(side)].is_some());
        depends
    }

    /// Whether every partial derivative on the list is finite, so that a zero that was not
    /// structural does no harm.
    pub(crate) fn has_finite_partials(&self, values: &[f64]) -> bool {
        let mut finite = !self.selects && self.blocks.is_empty();
        for i in self.inputs..self.records.len() {
            visit_edges(self.records[i], &self.constants, values, i, |_, factor| {
                finite &= factor.number().is_finite();
            });
        }
        finite
    }
}

const LOOP: u8 = Op::Loop.encode().0;
const LOOP_END: u8 = Op::LoopEnd.encode().0;

/// Whether a record belongs to a loop.
#[cfg_attr(not(debug_assertions), inline(always))]
fn is_of_loop(record: Record) -> bool {
    (LOOP..=LOOP_END).contains(&record.code())
}

/// The cotangents of the sources of a loop, one vector of them after the other.
#[cold]
#[track_caller]
fn pull_back_block<R: Real, A: Cotangent<R>>(block: &Block, values: &[R], seeds: &[Option<A>]) -> Vec<Option<A>> {
    by_lanes(seeds, |seeds| block.pull_back(values, seeds))
}

/// The tangents of its results.
#[cold]
#[track_caller]
fn push_forward_block<R: Real, A: Cotangent<R>>(block: &Block, values: &[R], sources: &[Option<A>]) -> Vec<Option<A>> {
    by_lanes(sources, |sources| block.push_forward(values, sources))
}

/// A linear map of numbers that may be structurally zero, of each component of vectors.
fn by_lanes<R: Real, A: Cotangent<R>>(
    vectors: &[Option<A>],
    map: impl Fn(&[Option<R>]) -> Vec<Option<R>>,
) -> Vec<Option<A>> {
    let lane =
        |k: usize| -> Vec<Option<R>> { vectors.iter().map(|vector| vector.map(|vector| vector.lane(k))).collect() };
    let lanes: Vec<Vec<Option<R>>> = (0..A::LANES).map(|k| map(&lane(k))).collect();
    (0..lanes[0].len())
        .map(|place| lanes[0][place].map(|_| A::of_lanes(|k| lanes[k][place].expect("as in lane 0"))))
        .collect()
}

/// The sides of a record that a derivative flows to.
pub(crate) fn for_each_edge(record: Record, mut edge: impl FnMut(Side)) {
    let (flows_to_a, flows_to_b) = match record.op() {
        Op::Unary(op) => (!op.is_flat(), false),
        Op::Binary(op, Form::Both) => (true, !op.is_flat_in_y()),
        Op::Binary(_, Form::Right) => (true, false),
        Op::Binary(op, Form::Left) => (!op.is_flat_in_y(), false),
        Op::Copy => (true, false),
        Op::Select => (true, true),
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
        | Op::LoopEnd => (false, false),
    };
    if flows_to_a {
        edge(Side::A);
    }
    if flows_to_b {
        edge(Side::B);
    }
}
