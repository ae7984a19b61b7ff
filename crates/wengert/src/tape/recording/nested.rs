//! Derivatives of a level where it lies: without a copy of the list as a value of its own.
//!
//! The records of a nested level stay on the list as those of the level around, and so do the operations that its derivative
//! takes. A sweep asks for inputs alone, so that nothing is computed for what the level captured. Buffers are kept between
//! sweeps: a nested derivative of a few operations takes less time than their allocation.

use super::{BLOCK, Block, LIST, List, Mode, Scope, TAPE, const_code};
use crate::ops::Binary;
use crate::real::Real;
use crate::tape::cotangent::{Cotangent, Factor};
use crate::tape::record::{INDEX_BITS, INDEX_MASK, Op, Record, Side};
use crate::tape::sweep::{Lookup, Visit, edges_apart, hot_uses_both, visit_hot_edges};
use crate::tape::trace::for_each_edge;
use crate::tape::{Var, lift};

/// Buffers of sweeps, empty between them.
#[derive(Default)]
pub(super) struct Buffers {
    records: Vec<Record>,
    values: Vec<f64>,
    over_vars: Vec<Option<Var>>,
    plain: Vec<Option<f64>>,
}

impl Buffers {
    pub(super) const fn new() -> Self {
        Buffers { records: Vec::new(), values: Vec::new(), over_vars: Vec::new(), plain: Vec::new() }
    }
}

/// A nested level that has ended: its records are those of the level around.
pub(crate) struct Nested {
    mark: usize,
    inputs: usize,
    /// The tag of record 0 in the level around.
    base: u64,
    /// The generation that its variables had.
    generation: u64,
    buffers: Buffers,
}

impl Scope {
    /// Ends a nested level that is swept once, without loops and selections. Gives itself back if it is another one.
    pub(crate) fn nested(self, outputs: &[Var]) -> Result<Nested, Self> {
        let opened = LIST.with_borrow_mut(|list| {
            let level = *list.levels.last().expect("the scope is open");
            let plain = level.mode != Mode::Diagnose && !level.externals && list.blocks.len() == level.block_mark;
            if self.is_outermost() || !plain {
                return None;
            }
            for &output in outputs {
                list.is_active(output, "the result", self.line);
            }
            let mut buffers = std::mem::take(&mut list.buffers);
            let mark = level.mark as usize;
            TAPE.with(|tape| list.copy(tape, mark, &mut buffers));
            if has_selections(&buffers.records) {
                buffers.clear();
                list.buffers = buffers;
                return None;
            }
            Some((mark, level.inputs, level.generation, buffers))
        });
        let Some((mark, inputs, generation, buffers)) = opened else { return Err(self) };
        let base = self.keep() & !INDEX_MASK;
        Ok(Nested { mark, inputs, base, generation, buffers })
    }

    /// Tangents of the outputs of an outermost level over plain numbers, for tangents of its inputs; `None` if the level needs
    /// more care.
    pub(crate) fn tangents_in_place(&self, outputs: &[Var], directions: &[f64]) -> Option<Vec<f64>> {
        LIST.with_borrow_mut(|list| {
            let level = *list.levels.last().expect("the scope is open");
            if !self.is_outermost() || level.externals || level.mode != Mode::Once || !list.blocks.is_empty() {
                return None;
            }
            TAPE.with(|tape| {
                list.gather(tape);
                let mut tangents = std::mem::take(&mut list.buffers.plain);
                let plain = !has_selections(&list.records);
                let results = plain.then(|| {
                    tangents.extend(directions.iter().map(|&tangent| Some(tangent)));
                    push_forward(&list.records, 0, &list.constants[..], &list.values[..], &mut tangents);
                    let own = |output: &Var| {
                        let active = list.is_active(*output, "the result", self.line);
                        active.then(|| tangents[(output.tag & INDEX_MASK) as usize]).flatten()
                    };
                    outputs.iter().map(|output| own(output).unwrap_or(0.0)).collect()
                });
                tangents.clear();
                list.buffers.plain = tangents;
                list.scatter(tape);
                results
            })
        })
    }
}

impl Nested {
    /// The gradient of the output by the inputs, as variables of the level around.
    #[track_caller]
    pub(crate) fn gradient(mut self, output: Var, results: &mut Vec<Var>) {
        let mut adjoints = std::mem::take(&mut self.buffers.over_vars);
        if let Some(from) = self.own(output) {
            adjoints.resize((from + 1).max(self.inputs), None);
            adjoints[from] = Some(Var { value: 1.0, tag: 0 });
            for i in (self.inputs..=from).rev() {
                let Some(ct) = adjoints[i] else { continue };
                let record = self.buffers.records[i];
                let mut descent = Descent { record, ct, mark: self.mark, adjoints: &mut adjoints };
                let y = || self.at(self.mark + i);
                if !visit_hot_edges(record, &Constants, &self, y, &mut descent) {
                    let edges = edges_apart(record, &Constants, &self, self.mark + i);
                    edges.into_iter().flatten().for_each(|(side, factor)| descent.edge(side, factor));
                }
            }
        } else {
            adjoints.resize(self.inputs, None);
        }
        results.extend(adjoints[..self.inputs].iter().map(|adjoint| adjoint.unwrap_or(Var { value: 0.0, tag: 0 })));
        self.buffers.over_vars = adjoints;
        self.end();
    }

    /// The tangents of the outputs, given those of the inputs.
    #[track_caller]
    pub(crate) fn tangents(mut self, outputs: &[Var], directions: &[Var], results: &mut Vec<Var>) {
        let mut tangents = std::mem::take(&mut self.buffers.over_vars);
        tangents.extend(directions.iter().map(|&tangent| Some(tangent)));
        push_forward(&self.buffers.records, self.mark, &Constants, &self, &mut tangents);
        let own = |output: &Var| self.own(*output).and_then(|place| tangents[place]);
        results.extend(outputs.iter().map(|output| own(output).unwrap_or(Var { value: 0.0, tag: 0 })));
        self.buffers.over_vars = tangents;
        self.end();
    }

    /// A result of the level as a variable of the level around.
    pub(crate) fn outside(&self, output: Var) -> Var {
        self.own(output).map_or(output, |place| self.at(self.mark + place))
    }

    /// The place of a variable of this level.
    fn own(&self, var: Var) -> Option<usize> {
        (var.tag >> INDEX_BITS == self.generation).then(|| (var.tag & INDEX_MASK) as usize - self.mark)
    }

    /// Hands the buffers back.
    fn end(mut self) {
        self.buffers.clear();
        LIST.with_borrow_mut(|list| list.buffers = self.buffers);
    }
}

/// The numbers of the list, those of the level as variables of the level around.
impl Lookup<Var> for Nested {
    fn at(&self, index: usize) -> Var {
        match index.checked_sub(self.mark) {
            Some(place) => Var { value: self.buffers.values[place], tag: self.base | index as u64 },
            None => LIST.with_borrow(|list| {
                let value = list.values.get(index).copied();
                let value = value.unwrap_or_else(|| TAPE.with(|tape| tape.values[index % BLOCK].get()));
                Var { value, tag: list.tag_before(index, self.mark) }
            }),
        }
    }
}

/// The constants of the list.
struct Constants;

impl Lookup<f64> for Constants {
    fn at(&self, place: usize) -> f64 {
        // Most were stored lately: they are found without a look at the list.
        let newest = TAPE.with(|tape| {
            let flushed = tape.next_constant.get() as usize / BLOCK * BLOCK;
            (place >= flushed).then(|| tape.constants[place % BLOCK].get())
        });
        newest.unwrap_or_else(|| LIST.with_borrow(|list| list.constants[place]))
    }
}

/// Adds the parts of one adjoint to those of its operands that are of the level.
struct Descent<'a> {
    record: Record,
    ct: Var,
    mark: usize,
    adjoints: &'a mut [Option<Var>],
}

impl Visit<Var> for Descent<'_> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn edge(&mut self, side: Side, factor: Factor<Var>) {
        let Some(place) = self.record.operand(side).checked_sub(self.mark) else { return };
        // 1 r is r to the bit, and costs no record.
        let part = match factor {
            Factor::Times(r) if self.ct.tag == 0 && self.ct.value == 1.0 => r,
            factor => self.ct.times(factor),
        };
        let adjoint = &mut self.adjoints[place];
        *adjoint = Some(adjoint.map_or(part, |sum| sum + part));
    }
}

/// A number that tangents are made of.
trait Tangent: Cotangent<Self> + Real {
    #[track_caller]
    fn scaled(self, factor: Factor<Self>) -> Self;
    #[track_caller]
    fn joined(self, other: Self) -> Self;
}

impl Tangent for f64 {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn scaled(self, factor: Factor<f64>) -> f64 {
        self.times(factor)
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn joined(self, other: f64) -> f64 {
        self + other
    }
}

impl Tangent for Var {
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn scaled(self, factor: Factor<Var>) -> Var {
        times(self, factor)
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn joined(self, other: Var) -> Var {
        joined(self, other, Binary::Add)
    }
}

/// The product of a tangent and a factor, as [`Cotangent::times`].
#[cfg_attr(not(debug_assertions), inline(always))]
#[track_caller]
fn times(tangent: Var, factor: Factor<Var>) -> Var {
    match factor {
        Factor::Times(r) => joined(r, tangent, Binary::Mul),
        // A constant leaves no record.
        factor if tangent.tag == 0 => lift(tangent.value.times(factor.of_numbers())),
        factor => tangent.times(factor),
    }
}

/// `op(x, y)`, as it is recorded anyway. Directions are constants at first: told apart here, they take the fast way of a constant operand. 1 r is r to the bit, and leaves no record.
#[cfg_attr(not(debug_assertions), inline(always))]
#[track_caller]
fn joined(x: Var, y: Var, op: Binary) -> Var {
    match (x.tag, y.tag) {
        (0, 0) => lift(op.eval(x.value, y.value)),
        (0, _) if op == Binary::Mul && x.value == 1.0 => y,
        (_, 0) if op == Binary::Mul && y.value == 1.0 => x,
        (0, _) => Var::constant_binary(x.value, y, op),
        (_, 0) => x.binary_constant(y.value, op),
        _ => x.binary(y, op),
    }
}

/// The tangents of records from those of the inputs, which are there; the records stand from `mark` on.
#[track_caller]
fn push_forward<R: Tangent>(
    records: &[Record],
    mark: usize,
    constants: &(impl Lookup<f64> + ?Sized),
    values: &(impl Lookup<R> + ?Sized),
    tangents: &mut Vec<Option<R>>,
) {
    for (i, &record) in records.iter().enumerate().skip(tangents.len()) {
        let mut ascent = Ascent { record, mark, tangents, sum: None };
        let depends = match hot_uses_both(record) {
            Some(both) => ascent.of(Side::A).is_some() || (both && ascent.of(Side::B).is_some()),
            None => {
                let mut depends = false;
                for_each_edge(record, |side| depends |= ascent.of(side).is_some());
                depends
            }
        };
        if depends {
            let y = || values.at(mark + i);
            if !visit_hot_edges(record, constants, values, y, &mut ascent) {
                let edges = edges_apart(record, constants, values, mark + i);
                edges.into_iter().flatten().for_each(|(side, factor)| ascent.edge(side, factor));
            }
        }
        let sum = ascent.sum;
        tangents.push(sum);
    }
}

/// Sums the parts of one tangent up, from the operands that have one.
struct Ascent<'a, R> {
    record: Record,
    mark: usize,
    tangents: &'a [Option<R>],
    sum: Option<R>,
}

impl<R: Tangent> Ascent<'_, R> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn of(&self, side: Side) -> Option<R> {
        self.tangents[self.record.operand(side).checked_sub(self.mark)?]
    }
}

impl<R: Tangent> Visit<R> for Ascent<'_, R> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn edge(&mut self, side: Side, factor: Factor<R>) {
        if let Some(tangent) = self.of(side) {
            let part = tangent.scaled(factor);
            self.sum = Some(self.sum.map_or(part, |sum| sum.joined(part)));
        }
    }
}

fn has_selections(records: &[Record]) -> bool {
    records.iter().any(|record| record.code() == const_code(Op::Select))
}

impl Buffers {
    fn clear(&mut self) {
        self.records.clear();
        self.values.clear();
        self.over_vars.clear();
        self.plain.clear();
    }
}

impl List {
    /// Copies the records from `mark` on, and their values.
    fn copy(&self, tape: &Block, mark: usize, buffers: &mut Buffers) {
        let (end, flushed) = (tape.index() as usize, self.records.len());
        if mark < flushed {
            buffers.records.extend_from_slice(&self.records[mark..]);
            buffers.values.extend_from_slice(&self.values[mark..]);
        }
        let newest = mark.max(flushed) - flushed..end - flushed;
        buffers.records.extend(tape.records[newest.clone()].iter().map(|record| Record(record.get())));
        buffers.values.extend(tape.values[newest].iter().map(std::cell::Cell::get));
    }

    /// The tag of the variable of an outer level that stands at `index`, before `mark`.
    pub(super) fn tag_before(&self, index: usize, mark: usize) -> u64 {
        debug_assert!(index < mark, "captures stand before the mark");
        let level = self.levels.iter().rev().find(|level| level.mark <= index as u64);
        (level.expect("every record belongs to a level").generation << INDEX_BITS) | index as u64
    }
}
