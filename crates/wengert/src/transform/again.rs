//! Which values a step of a loop computes again backwards, instead of keeping them.
//!
//! What the reverse of a loop needs of each step is kept for all steps, an array with an axis of time. Where the slope of a square is
//! needed and its argument too, the argument alone is kept, and doubled again: a loop is limited by the memory that these arrays pass
//! through long before it is by additions. The rule is that of `plan/recompute.rs`, store what is expensive and recompute what is
//! cheap (Griewank and Walther, *Evaluating Derivatives*, 2008, chapter 12), decided where the loop is divided, because an array
//! that a loop gives is not taken back later. Elementwise operations give the same bits wherever they run.

use std::collections::{BTreeMap, BTreeSet};

use super::partial::Parting;
use crate::primitives::Op;
use crate::program::{Eqn, Program, Value};

/// How many operations, of those that nothing else computes again, a value may take.
const WORK: usize = 8;

/// What a value of a step costs to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Price {
    /// Nothing: it is there in every step.
    Free,
    /// Its bytes, no longer than it is there anyway: a row that the loop is given.
    Lent,
    /// Its bytes, in an array of its own.
    Stacked,
    /// It is not kept, but made again of what is free, whatever that takes.
    #[cfg_attr(not(feature = "engine"), expect(dead_code, reason = "plans alone divide loops of unknown length so"))]
    Never,
}

/// The values of a step that are computed again where they are needed, each of what is kept, of what is free, and of others of them.
pub(crate) fn computed_again(program: &Program, parting: &Parting, prices: &[Price]) -> Vec<bool> {
    let mut step = Step::new(program, parting, prices);
    step.leave_out_what_others_give();
    step.replace_several_by_one();
    step.leave_out_what_others_give();
    step.again
}

/// A step while it is decided what is kept of it.
struct Step<'a> {
    program: &'a Program,
    prices: Vec<Price>,
    /// The equation of a value that is known and cheap.
    cheap: Vec<Option<&'a Eqn>>,
    kept: BTreeSet<Value>,
    again: Vec<bool>,
}

/// The way to have a value without keeping it.
struct Way {
    /// What is computed, the value itself first.
    computed: Vec<Value>,
    /// The rows that have to be kept for it.
    rows: Vec<Value>,
}

impl<'a> Step<'a> {
    fn new(program: &'a Program, parting: &Parting, prices: &[Price]) -> Self {
        let count = prices.len();
        let mut cheap: Vec<Option<&Eqn>> = vec![None; count];
        for eqn in program.eqns().iter().filter(|eqn| !parting.is_unknown(eqn) && is_cheap(&eqn.op)) {
            cheap[eqn.first.index()] = Some(eqn);
        }
        let free = |value: usize| prices[value] == Price::Free || parting.is_written_again(value);
        let prices: Vec<Price> = (0..count).map(|k| if free(k) { Price::Free } else { prices[k] }).collect();
        let kept = parting.needed(program).filter(|value| prices[value.index()] != Price::Free).collect();
        Step { program, prices, cheap, kept, again: vec![false; count] }
    }

    fn bytes(&self, value: Value) -> usize {
        self.program.ty(value).bytes()
    }

    /// How to make a value of others that are there, with `besides` among them; `None` if that is too much.
    fn way(&self, value: Value, besides: Option<Value>) -> Option<Way> {
        let mut way = Way { computed: Vec::new(), rows: Vec::new() };
        let mut open = vec![value];
        let mut left = self.bytes(value);
        while let Some(next) = open.pop() {
            let there = next != value && (self.kept.contains(&next) || self.again[next.index()]);
            let price = self.prices[next.index()];
            let met = way.computed.contains(&next) || way.rows.contains(&next);
            if there || price == Price::Free || Some(next) == besides || met {
                continue;
            }
            if price == Price::Lent && next != value {
                left = left.checked_sub(self.bytes(next))?;
                way.rows.push(next);
                continue;
            }
            way.computed.push(next);
            if way.computed.len() > WORK {
                return None;
            }
            open.extend(&self.cheap[next.index()]?.args);
        }
        Some(way)
    }

    fn leave_out(&mut self, value: Value, way: Way) {
        self.kept.remove(&value);
        self.kept.extend(way.rows);
        way.computed.iter().for_each(|value| self.again[value.index()] = true);
    }

    /// What is made of other values that are kept. Later ones first: they are made of earlier ones.
    fn leave_out_what_others_give(&mut self) {
        let kept: Vec<Value> = self.kept.iter().rev().copied().collect();
        for value in kept {
            if let Some(way) = self.way(value, None) {
                self.leave_out(value, way);
            }
        }
    }

    /// One value instead of several that are made of it, or of a larger one. Earlier ones first: more is made of them.
    fn replace_several_by_one(&mut self) {
        let mut made_of: BTreeMap<Value, Vec<Value>> = BTreeMap::new();
        for &value in &self.kept {
            for source in self.sources(value) {
                made_of.entry(source).or_default().push(value);
            }
        }
        for (source, mut made) in made_of {
            if self.kept.contains(&source) || self.again[source.index()] {
                continue;
            }
            made.retain(|value| self.kept.contains(value) && self.way(*value, Some(source)).is_some());
            let saved: usize = made.iter().map(|&value| self.bytes(value)).sum();
            if saved <= self.bytes(source) {
                continue;
            }
            self.kept.insert(source);
            for value in made {
                if let Some(way) = self.way(value, None) {
                    self.leave_out(value, way);
                }
            }
        }
    }

    /// The values that one is made of and that can be kept for it, as far back as it may be made again.
    fn sources(&self, value: Value) -> BTreeSet<Value> {
        let (mut sources, mut open, mut steps) = (BTreeSet::new(), vec![value], 0);
        while let Some(next) = open.pop() {
            for &arg in self.cheap[next.index()].iter().flat_map(|eqn| &eqn.args) {
                steps += 1;
                if steps > 2 * WORK || self.prices[arg.index()] == Price::Free {
                    continue;
                }
                if matches!(self.prices[arg.index()], Price::Stacked | Price::Lent) {
                    sources.insert(arg);
                }
                open.push(arg);
            }
        }
        sources
    }
}

/// Whether an operation takes less time than its result takes to be written and read.
fn is_cheap(op: &Op) -> bool {
    op.is_cheap() || matches!(op, Op::Broadcast(_) | Op::Reshape(_) | Op::Permute(_))
}
