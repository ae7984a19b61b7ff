//! Partial evaluation of a loop: a loop of what is known, whose residuals are stacked, and one of the rest that takes them.

use std::borrow::Cow;

use super::super::loops::settled;
use super::{ByRole, Scan};
use crate::array::Type;
use crate::primitives::{Call, Op, Source, Split};
use crate::program::{Args, Builder, Program, Value, dce, inline};
use crate::transform::again::{Price, computed_again};
use crate::transform::partial::{Parting, Parts, divide_keeping, split_inside, unknown_outputs, varying};

/// Where a residual of a step comes from, as an input of the step that is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kept {
    /// An operand of the loop: an invariant or a row of it.
    Operand(usize),
    /// Computed from invariants alone: kept once.
    Once(usize),
    /// A row of what the known loop stacks.
    Stacked(usize),
}

impl Scan {
    /// The loop in two, or `None` if nothing is known but operands.
    pub(super) fn split_steps(&self, unknown: &[bool]) -> Option<Split> {
        let mut marks = unknown.to_vec();
        let body = settled(&mut marks, self.carry_range(), |marks| {
            let body = split_inside(Cow::Borrowed(&*self.body), marks);
            let after = unknown_outputs(&body, marks)[..self.carry].to_vec();
            Ok((body, after))
        });
        let body = body.expect("nothing fails");
        let mut is_known: Vec<bool> = unknown_outputs(&body, &marks).iter().map(|unknown| !unknown).collect();
        self.carry_range().zip(&mut is_known).for_each(|(k, known)| *known = !marks[k]);
        let mut known = Builder::new();
        let inputs = marks.iter().zip(body.input_types());
        let args: Vec<Option<Value>> =
            inputs.map(|(unknown, ty)| (!unknown).then(|| known.input("", ty.clone()))).collect();
        // What is the same in every step is kept once.
        let varies = varying(&body, self.roles()[0].end);
        let mut prices: Vec<Price> =
            varies.iter().map(|&varies| if varies { Price::Stacked } else { Price::Free }).collect();
        self.roles()[2].clone().for_each(|row| prices[row] = Price::Lent);
        let again = |parting: &Parting| computed_again(&body, parting, &prices);
        let parts = divide_keeping(&mut known, &body, &args, &is_known, again);
        let known = Known::of(self, &body, &marks, known, &parts);
        let computes = is_known.contains(&true) || known.kept.iter().any(|kept| !matches!(kept, Kept::Operand(_)));
        if !computes {
            return None;
        }
        let (rest, unknown_args) = self.rest(&body, &marks, &parts, &known);
        let known_args = (0..marks.len()).filter(|&k| !marks[k]).collect();
        Some(Split { known: known.finish(self, &marks, &parts), known_args, is_known, unknown: rest, unknown_args })
    }

    /// The loop of what is unknown, and its operands. They are in order: invariants, carry, rows.
    fn rest(&self, body: &Program, marks: &[bool], parts: &Parts, known: &Known) -> (Op, Vec<Source>) {
        let [invariants, carry, rows] = self.roles();
        // Residuals, then unknown inputs, as the unknown part takes them: each with its source, and its type in a step.
        let mut inputs: ByRole<(usize, Source)> = ByRole::new();
        for (k, kept) in known.kept.iter().enumerate() {
            match *kept {
                Kept::Operand(own) if rows.contains(&own) => inputs.rows.push((k, Source::Operand(own))),
                Kept::Operand(own) => inputs.invariants.push((k, Source::Operand(own))),
                Kept::Once(residual) => inputs.invariants.push((k, Source::Residual(residual))),
                Kept::Stacked(residual) => inputs.rows.push((k, Source::Residual(known.once.len() + residual))),
            }
        }
        let unknown = (0..marks.len()).filter(|&k| marks[k]);
        for (place, k) in unknown.enumerate() {
            let own = (known.kept.len() + place, Source::Operand(k));
            match k {
                k if invariants.contains(&k) => inputs.invariants.push(own),
                k if carry.contains(&k) => inputs.carry.push(own),
                _ => inputs.rows.push(own),
            }
        }
        let counts = (inputs.carry.len(), inputs.rows.len());
        let order = inputs.all();
        let types = parts.unknown.input_types();
        let mut b = Builder::new();
        let mut args: Vec<Option<Value>> = vec![None; types.len()];
        for &(place, _) in &order {
            args[place] = Some(b.input("", types[place].clone()));
        }
        let args: Args = args.into_iter().map(|arg| arg.expect("every input has a place")).collect();
        let outs = inline(&mut b, &parts.unknown, &args);
        debug_assert_eq!(body.outputs().len() - parts.outputs.iter().flatten().count(), outs.len());
        let scan = self.with(dce(b.finish(&outs)), counts.0, counts.1);
        (scan.into(), order.into_iter().map(|(_, source)| source).collect())
    }
}

/// The known part of a step, divided further: what depends on invariants alone is computed before the loop.
struct Known {
    b: Builder,
    /// Each residual.
    kept: Vec<Kept>,
    /// Values of invariants alone that are residuals, in the builder.
    once: Vec<Value>,
    /// Values of a step that are residuals.
    stacked: Vec<Value>,
}

impl Known {
    fn of(scan: &Scan, body: &Program, marks: &[bool], b: Builder, parts: &Parts) -> Known {
        let [invariants, carry, _] = scan.roles();
        let varies = varying(body, invariants.end);
        let (mut once, mut stacked) = (Vec::new(), Vec::new());
        let kept = parts.residuals.iter().map(|&(value, own)| {
            if value.index() < marks.len() && !carry.contains(&value.index()) {
                return Kept::Operand(value.index());
            }
            if varies[value.index()] {
                stacked.push(own);
                Kept::Stacked(stacked.len() - 1)
            } else {
                once.push(own);
                Kept::Once(once.len() - 1)
            }
        });
        let kept = kept.collect();
        Known { b, kept, once, stacked }
    }

    /// Gives the known results, what is kept once, what is stacked.
    fn finish(self, scan: &Scan, marks: &[bool], parts: &Parts) -> Op {
        let [_, carry, rows] = scan.roles().map(|role| role.filter(|&k| !marks[k]).count());
        let outputs: Vec<Value> = parts.outputs.iter().flatten().copied().collect();
        let results: Vec<Value> = outputs.iter().chain(&self.stacked).copied().collect();
        let Known { b, once, .. } = self;
        if once.is_empty() {
            return scan.with(dce(b.finish(&results)), carry, rows).into();
        }
        let before = b.clone().finish(&once);
        let step = scan.with(dce(b.finish(&results)), carry, rows);
        // One operation: first what is the same in every step, then the loop.
        let mut b = Builder::new();
        let [invariants, ..] = scan.roles();
        let types: Vec<Type> = before.input_types().to_vec();
        let known: Vec<usize> = (0..marks.len()).filter(|&k| !marks[k]).collect();
        let is_row = |k: usize| k >= scan.carry_range().end;
        let mut args = Vec::with_capacity(known.len());
        for (&k, ty) in known.iter().zip(&types) {
            let ty = if is_row(k) { super::stacked(ty, scan.length) } else { ty.clone() };
            args.push(b.input("", ty));
        }
        let used = known.iter().take_while(|k| invariants.contains(k)).count();
        let alone =
            crate::program::with_inputs(dce(before), &(0..known.len()).map(|k| k < used).collect::<Vec<bool>>());
        let once = inline(&mut b, &alone, &args[..used]);
        let mut results = b.ops(step, &args);
        let stacked = results.split_off(outputs.len());
        let all: Vec<Value> = results.into_iter().chain(once).chain(stacked).collect();
        Call::new(b.finish(&all)).into()
    }
}
