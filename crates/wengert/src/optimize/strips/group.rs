//! The equations that are taken in strips together.

use std::collections::{BTreeMap, BTreeSet};

use super::kinds::Kind;
use super::{Lanes, MIN_BYTES};
use crate::primitives::{Form, Op};
use crate::program::{Eqn, Program, Value};

/// Where an equation stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Before the loop over strips.
    Before,
    /// In it.
    Inside,
    /// Behind it, because it needs a whole result.
    Behind,
}

/// Loops over the same lanes, with what stands between them.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) lanes: Lanes,
    /// Of each equation.
    pub(super) places: Vec<Place>,
    /// Equations that stand before the loop, and are computed in it too: their results cost less than memory.
    pub(super) again: Vec<bool>,
    /// What a strip has of each value that it has anything of.
    pub(super) kinds: Vec<Option<Kind>>,
    /// Arrays from before of which each strip takes a part, with the axis of the lanes.
    pub(super) taken: BTreeMap<Value, usize>,
    /// Values from before that each strip takes whole.
    pub(super) whole: BTreeSet<Value>,
}

impl Group {
    /// The group of the loops with so many lanes; `None` if there is none.
    pub(super) fn of(program: &Program, lanes: Lanes) -> Option<Group> {
        let count = program.eqns().len();
        let mut group = Group {
            lanes,
            places: vec![Place::Before; count],
            again: vec![false; count],
            kinds: vec![None; program.types.len()],
            taken: BTreeMap::new(),
            whole: BTreeSet::new(),
        };
        let mut makers = vec![None; program.types.len()];
        for (k, eqn) in program.eqns().iter().enumerate() {
            eqn.outs().for_each(|out| makers[out.index()] = Some(k));
        }
        let mut finder = Finder { program, makers, group: &mut group };
        (0..count).for_each(|k| finder.place(k));
        group.places.contains(&Place::Inside).then_some(group)
    }

    /// The results that are wanted outside: those of equations inside that others read.
    pub(super) fn given(&self, program: &Program) -> Vec<Value> {
        let mut is_wanted = vec![false; program.types.len()];
        for (eqn, &place) in program.eqns().iter().zip(&self.places) {
            if place != Place::Inside {
                eqn.args.iter().for_each(|arg| is_wanted[arg.index()] = true);
            }
        }
        program.outputs().iter().for_each(|output| is_wanted[output.index()] = true);
        let inside = program.eqns().iter().zip(&self.places).filter(|(_, place)| **place == Place::Inside);
        inside.flat_map(|(eqn, _)| eqn.outs()).filter(|out| is_wanted[out.index()]).collect()
    }

    /// Whether what the loops no longer move through the memory is more than what the results cost.
    pub(super) fn is_worth(&self, program: &Program) -> bool {
        let Lanes { count, strip } = self.lanes;
        let mut saved = 0usize;
        for (eqn, &place) in program.eqns().iter().zip(&self.places) {
            if let (Op::Scan(scan), Place::Inside) = (&eqn.op, place) {
                let [_, carry, _] = scan.roles();
                let types = scan.body.input_types()[carry].iter();
                let each: usize = types.filter(|ty| ty.shape.contains(&count)).map(|ty| ty.bytes()).sum();
                saved = saved.saturating_add(each.saturating_mul(scan.length));
            }
        }
        let cost = self.given(program).into_iter().fold(0usize, |cost, value| {
            let each = match self.kinds[value.index()] {
                Some(Kind::Partial) => count / strip,
                _ => 1,
            };
            cost.saturating_add(program.ty(value).bytes().saturating_mul(each))
        });
        saved >= MIN_BYTES && saved >= cost.saturating_mul(4)
    }
}

/// Whether an operation is a loop of a known number of steps, or holds one that is written out where it stands.
fn has_loop(op: &Op) -> bool {
    match op {
        Op::Scan(_) => true,
        Op::Call(_) | Op::Recompute(_) => op.programs()[0].eqns().iter().any(|eqn| has_loop(&eqn.op)),
        _ => false,
    }
}

struct Finder<'a> {
    program: &'a Program,
    /// The equation of each value.
    makers: Vec<Option<usize>>,
    group: &'a mut Group,
}

impl Finder<'_> {
    /// Decides where an equation stands; those before it have been decided.
    fn place(&mut self, k: usize) {
        let eqn = &self.program.eqns()[k];
        let is_at = |place: Place| {
            let made = |arg: &Value| self.makers[arg.index()].is_some_and(|maker| self.group.places[maker] == place);
            eqn.args.iter().any(made)
        };
        let (follows, is_behind) = (is_at(Place::Inside), is_at(Place::Behind));
        let begins = has_loop(&eqn.op);
        if !is_behind && (follows || begins) && self.joins(k) {
            self.group.places[k] = Place::Inside;
        } else if follows || is_behind {
            self.group.places[k] = Place::Behind;
        }
    }

    /// Whether an equation can be taken in strips: then its operands are, as far as it needs them so.
    fn joins(&mut self, k: usize) -> bool {
        let eqn = &self.program.eqns()[k];
        let Some((args, outs)) = self.way(eqn) else { return false };
        if !self.can_have(eqn, &args) {
            return false;
        }
        self.have(eqn, &args);
        eqn.outs().zip(outs).for_each(|(out, kind)| self.group.kinds[out.index()] = Some(kind));
        true
    }

    /// What it needs of its operands, and gives.
    fn way(&self, eqn: &Eqn) -> Option<(Vec<Kind>, Vec<Kind>)> {
        let lanes = self.group.lanes;
        let known: Vec<Option<Kind>> = eqn.args.iter().map(|arg| self.group.kinds[arg.index()]).collect();
        match &eqn.op {
            Op::Scan(scan) => {
                let around = lanes.around(scan, &known)?;
                let args = around.operands(scan);
                let has_lanes = args.iter().any(|kind| matches!(kind, Kind::Lane(_)));
                has_lanes.then(|| (args, around.results(scan)))
            }
            Op::Call(_) | Op::Recompute(_) => {
                let guess = |(known, &arg): (&Option<Kind>, &Value)| match known {
                    Some(kind) => Some(*kind),
                    None => lanes.guess(self.program.ty(arg)),
                };
                let all: Vec<Kind> = known.iter().zip(&eqn.args).map(guess).collect::<Option<_>>()?;
                let outs = lanes.results(self.program, eqn, &all)?;
                Some((all, outs))
            }
            _ if eqn.outs().len() != 1 => None,
            _ if known.contains(&Some(Kind::Partial)) => {
                // Of the sum of each strip, as steps that are computed again do with theirs: so that both have the same bits.
                let all: Vec<Kind> = known.iter().map(|kind| kind.unwrap_or(Kind::Same)).collect();
                let outs = lanes.results(self.program, eqn, &all)?;
                Some((all, outs))
            }
            _ => {
                let mut ways = lanes.ways(self.program, eqn, known.iter().copied());
                let (kind, needed) = ways.find(|(_, needed)| self.can_have(eqn, needed))?;
                Some((needed, vec![kind]))
            }
        }
    }

    /// Whether an equation can have its operands like this.
    fn can_have(&self, eqn: &Eqn, needed: &[Kind]) -> bool {
        eqn.args.iter().zip(needed).enumerate().all(|(place, (&arg, &kind))| {
            // The same operand cannot be needed in two ways.
            let mut earlier = eqn.args.iter().zip(needed).take(place);
            let is_free = match (self.group.kinds[arg.index()], kind) {
                (Some(own), _) => own == kind,
                (None, Kind::Same) => self.is_before(arg),
                (None, Kind::Lane(_)) => self.is_before(arg) && !self.group.whole.contains(&arg),
                (None, Kind::Partial) => false,
            };
            is_free && earlier.all(|(&other, &own)| other != arg || own == kind)
        })
    }

    /// Makes sure that strips have their part of the operands: what is cheap is computed for each strip, the rest is taken from
    /// arrays.
    fn have(&mut self, eqn: &Eqn, needed: &[Kind]) {
        let mut open = self.marked(eqn, needed);
        while let Some((value, axis)) = open.pop() {
            match self.cheap(value, axis) {
                Some((k, needed)) => {
                    self.group.again[k] = true;
                    open.extend(self.marked(&self.program.eqns()[k], &needed));
                }
                None => {
                    self.group.taken.insert(value, axis);
                }
            }
        }
    }

    /// Notes what strips have of the operands of an equation; gives those of which they have had nothing.
    fn marked(&mut self, eqn: &Eqn, needed: &[Kind]) -> Vec<(Value, usize)> {
        let mut fresh = Vec::new();
        for (&arg, &kind) in eqn.args.iter().zip(needed) {
            match (self.group.kinds[arg.index()], kind) {
                (None, Kind::Lane(axis)) => {
                    self.group.kinds[arg.index()] = Some(kind);
                    fresh.push((arg, axis));
                }
                (None, _) => {
                    self.group.whole.insert(arg);
                }
                (Some(_), _) => {}
            }
        }
        fresh
    }

    /// Whether a value is there before the loop.
    fn is_before(&self, value: Value) -> bool {
        self.makers[value.index()].is_none_or(|maker| self.group.places[maker] == Place::Before)
    }

    /// The equation of a value, if it is cheap, and what it needs.
    fn cheap(&self, value: Value, axis: usize) -> Option<(usize, Vec<Kind>)> {
        let k = self.makers[value.index()]?;
        let eqn = &self.program.eqns()[k];
        let form = self.program.form(eqn);
        if eqn.outs().len() != 1 || !matches!(form, Form::View | Form::Elementwise) {
            return None;
        }
        let needed = self.group.lanes.along(self.program, eqn, axis)?;
        self.can_have(eqn, &needed).then_some((k, needed))
    }
}
