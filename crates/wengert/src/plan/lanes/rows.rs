//! Steps over short vectors, as straight-line code over rows of numbers.
//!
//! Where everything that a step of a loop computes goes along one short axis element by element, the places of its straight-line
//! code are rows along that axis, and an instruction works on a whole row in vector registers. What is the same all along the axis
//! is a row of equal numbers. A step of a plan would take longer to begin than the row takes. The instructions are those of
//! regions, and there are no sums: every bit is that of the plan.

use std::ops::Range;

use wengert_kernels::straight::Code;

use super::super::cluster::computes;
use super::super::flatten::{Flat, Flattening, flatten};
use super::super::single::{
    CALL, MAX_EQNS, MAX_OPERATIONS, STEP, is_call, is_computed, is_function, is_stored, values,
};
use super::super::{LINE, Plan};
use super::scalars::{Load, Scalars};
use super::{Lane, arg_axis, is_along, moves};
use crate::array::DType;
use crate::primitives::Op;
use crate::program::{Program, Value};
use crate::straight;
use crate::straight::list::Node;

/// A step as code over rows.
#[derive(Debug)]
pub(crate) struct RowSteps {
    pub(crate) code: Code,
    /// How many numbers a row has, and how many there is room for.
    pub(crate) count: usize,
    pub(crate) width: usize,
    /// What the inputs of the code are: rows of invariants, of the carry and of rows of operands, each counted by itself.
    pub(crate) invariants: Vec<RowFeed>,
    /// With the place in which the next step finds it.
    pub(crate) carry: Vec<(RowFeed, usize)>,
    pub(crate) rows: Vec<RowFeed>,
    /// The rows of each output.
    pub(crate) outputs: Vec<Vec<StoredRow>>,
}

/// An input of the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowFeed {
    /// Its place.
    pub(crate) place: usize,
    /// Which operand it is of, its first element there, and how far the others are apart.
    pub(crate) operand: usize,
    pub(crate) element: usize,
    pub(crate) stride: isize,
}

/// A row of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoredRow {
    /// Its place.
    pub(crate) place: usize,
    /// Its first element in the output, and how far the others are apart; 0 if there is one only.
    pub(crate) element: usize,
    pub(crate) stride: usize,
}

/// The most numbers of a row, and the most bytes of all places: they stay in the nearest cache.
const MAX_ROW: usize = 512;
const MAX_BYTES: usize = 32 << 10;
/// The least numbers of a row.
const MIN_ROW: usize = 3;
/// The most elements of an array.
const MAX_ELEMENTS: usize = 4096;
/// Numbers of a vector register: rows are padded to a power of two of them.
const VECTOR: usize = LINE / size_of::<f64>();

/// What an instruction takes to begin, and for every vector register, and a function for every one, in nanoseconds.
const START: f64 = 3.0;
const ARITHMETIC: f64 = 0.5;
const FUNCTION: f64 = 8.0;

impl RowSteps {
    /// The code of a step with this plan, of whose inputs those at `carry` are the carry; `None` if there is no such axis, or it
    /// would be slower.
    pub(in crate::plan) fn new(step: &Program, plan: &Plan, carry: &Range<usize>) -> Option<RowSteps> {
        let fits = |value: Value| {
            let ty = step.ty(value);
            ty.dtype != DType::F32 && (1..=MAX_ELEMENTS).contains(&ty.size())
        };
        if step.eqns().len() > MAX_EQNS || !values(step).all(fits) {
            return None;
        }
        let flat = flatten(step.clone(), Flattening { written: true, keeps_copies: true, copies_gathered: false });
        let steps = lengths(&flat).into_iter().find_map(|count| RowSteps::along(&flat, count, carry))?;
        steps.is_faster(plan).then_some(steps)
    }

    /// The code if the rows have this length.
    fn along(flat: &Flat, count: usize, carry: &Range<usize>) -> Option<RowSteps> {
        let lanes = lanes(flat, count)?;
        let mut scalars = Scalars::new(flat, Some(&lanes));
        for k in (0..flat.program.eqns().len()).filter(|&k| computes(flat, k)) {
            scalars.eqn(k);
            if scalars.list.len() > MAX_OPERATIONS {
                return None;
            }
        }
        let (mut results, mut outputs) = (Vec::new(), Vec::new());
        for output in flat.program.outputs() {
            let elements = &scalars.elements[output];
            outputs.push(stored(lanes[output.index()], elements.len(), results.len()));
            results.extend(elements);
        }
        let Scalars { list, loads, .. } = scalars;
        let computed = (0..list.len()).all(|k| is_computed(&list, Node(k as u32)));
        if !computed || !results.iter().all(|&node| is_stored(&list, node)) {
            return None;
        }
        let kept = loads.iter().map(|(value, ..)| value.index() < carry.start).collect();
        let code = straight::code(list, kept, results);
        let first = code.parts().results_at;
        outputs.iter_mut().flatten().for_each(|row| row.place += first);
        let feeds = |inputs: Range<usize>| -> Vec<RowFeed> {
            let all = loads.iter().enumerate().filter(|(_, (value, ..))| inputs.contains(&value.index()));
            let feed = |(place, &(value, element, stride)): (usize, &Load)| RowFeed {
                place,
                operand: value.index() - inputs.start,
                element,
                stride,
            };
            all.map(feed).collect()
        };
        let [invariants, carried, rows] = [0..carry.start, carry.clone(), carry.end..usize::MAX].map(feeds);
        // What a step takes of the carry has to be what the one before gives, row by row.
        let next = |feed: RowFeed| {
            let same = |row: &&StoredRow| row.element == feed.element && row.stride.cast_signed() == feed.stride;
            Some((feed, outputs[feed.operand].iter().find(same)?.place))
        };
        let carry = carried.into_iter().map(next).collect::<Option<Vec<_>>>()?;
        let width = count.next_power_of_two().max(VECTOR);
        Some(RowSteps { code, count, width, invariants, carry, rows, outputs })
    }

    /// How many bytes of memory it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.code.rows_memory(self.width) * size_of::<f64>()
    }

    /// Nanoseconds of a step.
    fn time(&self) -> f64 {
        let moved = 2 * self.carry.len() + self.rows.len() + self.outputs.iter().map(Vec::len).sum::<usize>();
        self.computing(self.width) + moved as f64 * (START + ARITHMETIC * (self.width / VECTOR) as f64)
    }

    /// Nanoseconds of the instructions on this many numbers.
    fn computing(&self, numbers: usize) -> f64 {
        let vectors = numbers as f64 / VECTOR as f64;
        let time = |op| match op {
            _ if is_call(op) => CALL * numbers as f64,
            _ if is_function(op) => FUNCTION * vectors,
            _ => ARITHMETIC * vectors,
        };
        self.code.parts().code.iter().map(|instr| START + time(instr.op)).sum()
    }

    /// Whether it takes less time than a plan, whose steps work on the same numbers but have to begin.
    fn is_faster(&self, plan: &Plan) -> bool {
        self.bytes() <= MAX_BYTES && self.time() < STEP * plan.steps().len() as f64 + self.computing(self.count)
    }
}

/// Whether an operation can be one of rows: no sum, whose bits would depend on the order.
fn may_be(op: &Op) -> bool {
    let is_elementwise = matches!(op, Op::Unary(_) | Op::Binary(_) | Op::Compare(_) | Op::Logic(_));
    is_elementwise || matches!(op, Op::Select(_) | Op::Convert(_) | Op::Concat(_) | Op::Pad(_) | Op::Update(_))
}

/// The lengths of axes that what is computed has, the longest first.
fn lengths(flat: &Flat) -> Vec<usize> {
    let computed = (0..flat.program.eqns().len()).filter(|&k| computes(flat, k));
    let shapes = computed.map(|k| &flat.program.ty(flat.program.eqns()[k].first).shape);
    let mut lengths: Vec<usize> =
        shapes.flat_map(|shape| shape.iter().copied()).filter(|length| (MIN_ROW..=MAX_ROW).contains(length)).collect();
    lengths.sort_unstable_by(|a, b| b.cmp(a));
    lengths.dedup();
    lengths
}

/// For each value the axis of rows of this length, if all that is computed goes along such axes; none for what is the same all
/// along them, and for inputs, of which every reader takes the elements that it needs.
fn lanes(flat: &Flat, count: usize) -> Option<Vec<Option<Lane>>> {
    let program = &flat.program;
    let mut lanes = vec![None; flat.views.len()];
    for (k, eqn) in program.eqns().iter().enumerate().filter(|(k, _)| computes(flat, *k)) {
        if !may_be(&eqn.op) {
            return None;
        }
        let fits = |lane: Option<Lane>| (0..eqn.args.len()).all(|n| operand_fits(flat, &lanes, (k, n), lane));
        let shape = &program.ty(eqn.first).shape;
        let along = (0..shape.len()).filter(|&axis| shape[axis] == count);
        let mut along = along.map(|axis| Lane { axis, count, inner: shape[axis + 1..].iter().product() });
        let found = along.find(|lane| !moves(flat, k, lane) && fits(Some(*lane)));
        if found.is_none() && !fits(None) {
            return None;
        }
        lanes[eqn.first.index()] = found;
    }
    Some(lanes)
}

/// Whether an operand of an equation has its elements in the rows in which the result has them.
fn operand_fits(flat: &Flat, lanes: &[Option<Lane>], (k, n): (usize, usize), lane: Option<Lane>) -> bool {
    let eqn = &flat.program.eqns()[k];
    let view = &flat.views[eqn.args[n].index()];
    if flat.literals[eqn.args[n].index()].is_some() || view.base.index() < flat.program.input_types().len() {
        return true;
    }
    let axis = lane.and_then(|lane| arg_axis(&eqn.op, n, lane.axis));
    match (lanes[view.base.index()], axis) {
        (Some(own), Some(axis)) => is_along(view, axis, own),
        (Some(_), None) => false,
        (None, Some(axis)) => view.strides[axis] == 0,
        (None, None) => true,
    }
}

/// Where the rows of a value lie in it; their places follow each other from `first` on.
fn stored(lane: Option<Lane>, rows: usize, first: usize) -> Vec<StoredRow> {
    let row = |e: usize| {
        let (element, stride) = match lane {
            Some(Lane { count, inner, .. }) => (e / inner * inner * count + e % inner, inner),
            None => (e, 0),
        };
        StoredRow { place: first + e, element, stride }
    };
    (0..rows).map(row).collect()
}

#[cfg(all(test, feature = "text"))]
mod tests;
