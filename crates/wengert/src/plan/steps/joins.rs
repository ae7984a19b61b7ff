//! Operands of a concatenation that are written where its result lies, instead of being copied there.
//!
//! What is made of blocks, as the entries of a Jacobian are, or the gradients of many leaves, is as large as its blocks together:
//! to write these and then to copy them moves everything three times. A block that nobody else reads, and that is one piece of the
//! result, is written there at once; the concatenation copies what is left. The bits are the same.

use std::sync::Arc;

use super::super::{Map, StepWork, kernels};
use super::{Draft, Planner};
use crate::primitives::{Concat, Op};
use crate::program::{Args, Value};

impl Planner<'_> {
    /// Has steps write what they compute into results that it is a part of; which values these are, and where each begins.
    pub(super) fn write_parts(&mut self, drafts: &mut [Draft]) -> Map<Value, usize> {
        let mut parts: Map<Value, usize> = Map::default();
        let joins: Vec<(usize, Concat)> =
            drafts.iter().enumerate().filter_map(|(at, draft)| Some((at, self.join_of_result(draft)?))).collect();
        if joins.is_empty() {
            return parts;
        }
        let mut readers = vec![0usize; self.flat.views.len()];
        let mut writers: Map<Value, usize> = Map::default();
        for (at, draft) in drafts.iter().enumerate() {
            draft.reads.iter().for_each(|value| readers[value.index()] += 1);
            if writes_anywhere(draft) {
                writers.extend(draft.writes.iter().map(|&value| (value, at)));
            }
        }
        for (at, concat) in joins {
            self.write_parts_of((&mut drafts[at], concat), &readers, &writers, &mut parts);
        }
        parts
    }

    /// The concatenation that a step is, if its result is one of the plan and each operand one piece of it.
    fn join_of_result(&self, draft: &Draft) -> Option<Concat> {
        let (StepWork::Kernel(..), &[k], &[out]) = (&draft.work, &draft.eqns[..], &draft.writes[..]) else {
            return None;
        };
        let Op::Concat(concat) = self.flat.program.eqns()[k].op else { return None };
        let in_one_row = self.flat.program.ty(out).shape[..concat.axis].iter().all(|&length| length == 1);
        let is_own = self.results[out.index()].is_some() && !self.in_place.contains(&out);
        (in_one_row && is_own).then_some(concat)
    }

    fn write_parts_of(
        &mut self,
        (draft, concat): (&mut Draft, Concat),
        readers: &[usize],
        writers: &Map<Value, usize>,
        parts: &mut Map<Value, usize>,
    ) {
        let flat = self.flat;
        let out = draft.writes[0];
        let args = &flat.program.eqns()[draft.eqns[0]].args;
        let mut steps: Vec<usize> = Vec::new();
        let (mut place, mut left, mut reads) = (0, Vec::new(), Args::new());
        for &arg in args {
            let view = &flat.views[arg.index()];
            let (base, first) = (view.base, place);
            place += view.count();
            let is_whole = view.is_in_order() && view.count() == flat.program.ty(base).size() && view.count() > 0;
            let is_free = readers[base.index()] == 1 && self.results[base.index()].is_none();
            // A step takes a result once.
            let step = writers.get(&base).filter(|step| !steps.contains(step));
            match step {
                Some(&step) if is_whole && is_free && flat.literals[arg.index()].is_none() => {
                    steps.push(step);
                    parts.insert(base, first);
                    self.results[base.index()] = self.results[out.index()];
                }
                _ => {
                    left.push((first, view));
                    reads.push(base);
                }
            }
        }
        if let (false, StepWork::Kernel(kernel, _)) = (steps.is_empty(), &mut draft.work) {
            *kernel = Arc::from(kernels::joined_rest(flat.program.ty(out).dtype, &left));
            draft.reads = reads;
        }
        debug_assert!(concat.axis < flat.program.ty(out).rank());
    }
}

/// Whether a step writes whole arrays, wherever they lie.
fn writes_anywhere(draft: &Draft) -> bool {
    let free = match &draft.work {
        StepWork::Region(_) => true,
        StepWork::Product(product) => product.in_place().is_empty(),
        StepWork::Kernel(kernel, _) => kernel.in_place().is_empty(),
        StepWork::Cond(_) | StepWork::Scan(_) | StepWork::While(_) | StepWork::Unwind(_) => false,
    };
    free && draft.start == 0 && draft.in_place.is_empty()
}
