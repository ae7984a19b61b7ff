//! Blocks of one array that do not overlap: what uses of its parts contribute to its cotangent, without an addition.
//!
//! A block is followed by the next one, in whatever order they came, with zeros in between where there are gaps. Nothing is added
//! to the zeros around a block: `0 + x` would be an operation for every element, and would take the sign of a zero.

use std::collections::BTreeMap;

use super::sum::PART;
use crate::primitives::{Concat, Op, Pad, Update, Write};
use crate::program::{Builder, Eqn, Value};

/// A value that is zero outside of a block.
#[derive(Debug)]
pub(super) struct Padded {
    inner: Value,
    zero: Value,
    low: Vec<i64>,
    high: Vec<i64>,
}

impl Padded {
    pub(super) fn of(b: &Builder, value: Value) -> Option<Padded> {
        let eqn = b.definition(value)?;
        let (Op::Pad(pad), &[inner, zero]) = (&eqn.op, &eqn.args[..]) else { return None };
        let grows = pad.low.iter().chain(&pad.high).all(|&count| count >= 0) && pad.interior.iter().all(|&k| k == 0);
        let (low, high) = (pad.low.clone(), pad.high.clone());
        (grows && b.is_zero(zero)).then_some(Padded { inner, zero, low, high })
    }
}

/// A block along the axis.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// Where it ends.
    end: i64,
    inner: Value,
    /// What was contributed: the block with zeros around it.
    padded: Value,
}

/// Blocks that lie beside each other along an axis: each is zero where the others are not.
#[derive(Debug)]
pub(super) struct Beside {
    /// The first contribution, from which the others differ along the axis alone.
    first: Padded,
    /// The same with zeros around it.
    padded: Value,
    /// The shape of the whole array.
    shape: Vec<usize>,
    /// The axis, and all blocks by where they begin along it, if there are several.
    along: Option<(usize, BTreeMap<i64, Part>)>,
}

impl Beside {
    /// One block; `padded` has it with zeros around it.
    pub(super) fn of(b: &Builder, block: Padded, padded: Value) -> Self {
        Beside { first: block, padded, shape: b.shape(padded).to_vec(), along: None }
    }

    /// Where a block begins along an axis, and the rest of it.
    fn part(&self, block: &Padded, axis: usize, padded: Value) -> (i64, Part) {
        let end = self.shape[axis] as i64 - block.high[axis];
        (block.low[axis], Part { end, inner: block.inner, padded })
    }

    /// Takes one more block in, or gives it back if it overlaps one that is there, or lies beside the others along another axis.
    pub(super) fn join(&mut self, block: Padded, padded: Value) -> Option<Padded> {
        let first = &self.first;
        let differs = |axis: &usize| (first.low[*axis], first.high[*axis]) != (block.low[*axis], block.high[*axis]);
        let mut axes = (0..self.shape.len()).filter(differs);
        let (Some(axis), None) = (axes.next(), axes.next()) else { return Some(block) };
        let (start, part) = self.part(&block, axis, padded);
        let only = self.part(first, axis, self.padded);
        let (along, parts) = self.along.get_or_insert_with(|| (axis, BTreeMap::from([only])));
        let last_before = parts.range(..part.end.max(start + 1)).next_back();
        if *along != axis || last_before.is_some_and(|(&own, before)| before.end > start || own == start) {
            return Some(block);
        }
        parts.insert(start, part);
        None
    }

    /// Whether the gaps between the blocks are much larger than they are.
    pub(super) fn are_sparse(&self) -> bool {
        let Some((_, parts)) = &self.along else { return false };
        let covered: i64 = parts.iter().map(|(start, part)| part.end - start).sum();
        let ends = parts.first_key_value().zip(parts.last_key_value());
        ends.is_some_and(|((start, _), (_, last))| covered * PART as i64 <= last.end - start)
    }

    /// What was contributed, in the order in which it lies.
    pub(super) fn contributions(self) -> Vec<Value> {
        match self.along {
            Some((_, parts)) => parts.into_values().map(|part| part.padded).collect(),
            None => vec![self.padded],
        }
    }

    /// The sum of the blocks: their concatenation, with zeros in between and around; where gaps are large, the first one with zeros
    /// around it, into which the others are written.
    pub(super) fn value(self, b: &mut Builder) -> Value {
        let sparse = self.are_sparse();
        let Beside { first, padded, shape, along } = self;
        let Some((axis, parts)) = along.filter(|(_, parts)| parts.len() > 1) else { return padded };
        let mut runs: Vec<Run> = Vec::new();
        for (start, part) in parts {
            match runs.last_mut() {
                Some(run) if !sparse || run.end == start => run.push(b, axis, start, part),
                _ => runs.push(Run { start, end: part.end, parts: vec![part.inner] }),
            }
        }
        let mut runs = runs.into_iter();
        let Some(run) = runs.next() else { return padded };
        let (mut low, mut high) = (first.low, first.high);
        (low[axis], high[axis]) = (run.start, shape[axis] as i64 - run.end);
        let all = low.iter().chain(&high).all(|&count| count == 0);
        let blocks = run.value(b, axis);
        let mut sum = if all { blocks } else { b.op(Pad::new(&low, &high), &[blocks, first.zero]) };
        for run in runs {
            low[axis] = run.start;
            let start = low.iter().map(|&low| low as usize).collect();
            let blocks = run.value(b, axis);
            sum = b.op(Update { start, stride: vec![1; low.len()], write: Write::Set }, &[sum, blocks]);
        }
        sum
    }
}

/// Blocks one after the other.
struct Run {
    start: i64,
    end: i64,
    parts: Vec<Value>,
}

impl Run {
    /// Adds a block, after zeros if it begins later.
    fn push(&mut self, b: &mut Builder, axis: usize, start: i64, part: Part) {
        if start > self.end {
            let mut gap = b.shape(part.inner).to_vec();
            gap[axis] = (start - self.end) as usize;
            let ty = b.ty(part.inner).with_shape(gap);
            self.parts.push(b.full(0.0, &ty));
        }
        self.parts.push(part.inner);
        self.end = part.end;
    }

    /// All of them; what was joined before is one list.
    fn value(self, b: &mut Builder, axis: usize) -> Value {
        let mut list: Vec<Value> = Vec::with_capacity(self.parts.len());
        for part in self.parts {
            match b.definition(part) {
                Some(Eqn { op: Op::Concat(concat), args, .. }) if concat.axis == axis => list.extend(args),
                _ => list.push(part),
            }
        }
        if list.len() == 1 { list[0] } else { b.op(Concat { axis }, &list) }
    }
}
