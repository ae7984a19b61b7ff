//! Operands of a concatenation that are written where its result lies, instead of being copied there.
//!
//! What is made of blocks, as the entries of a Jacobian are, or the gradients of many leaves, is as large as its blocks together:
//! to write these and then to copy them moves everything three times. A block that nobody else reads, and that is one piece of the
//! result, is written there at once; the concatenation copies what is left. The bits are the same.

use std::sync::Arc;

use super::super::{Map, StepWork, kernels};
use super::{Draft, Planner};
use crate::primitives::Op;
use crate::program::{Args, Value};

impl Planner<'_> {
    /// Has steps write what they compute into results that it is a part of; which values these are, and where each begins.
    pub(super) fn write_parts(&mut self, drafts: &mut [Draft]) -> Map<Value, usize> {
        let mut parts: Map<Value, usize> = Map::default();
        let joins: Vec<usize> = (0..drafts.len()).filter(|&at| self.joins_a_result(&drafts[at])).collect();
        if joins.is_empty() {
            return parts;
        }
        let mut readers = vec![0usize; self.flat.views.len()];
        let mut writers: Map<Value, [usize; 2]> = Map::default();
        for (at, draft) in drafts.iter().enumerate() {
            draft.reads.iter().for_each(|value| readers[value.index()] += 1);
            if writes_anywhere(draft) {
                writers.extend(draft.writes.iter().enumerate().map(|(k, &value)| (value, [at, k])));
            }
        }
        for at in joins {
            self.write_parts_of(&mut drafts[at], &readers, &writers, &mut parts);
        }
        parts
    }

    /// Whether a step is a concatenation whose result is one of the plan, and each operand one piece of it.
    fn joins_a_result(&self, draft: &Draft) -> bool {
        let (StepWork::Kernel(..), &[k], &[out]) = (&draft.work, &draft.eqns[..], &draft.writes[..]) else {
            return false;
        };
        let Op::Concat(concat) = self.flat.program.eqns()[k].op else { return false };
        let in_one_row = self.flat.program.ty(out).shape[..concat.axis].iter().all(|&length| length == 1);
        in_one_row && self.results[out.index()].is_some() && !self.in_place.contains(&out)
    }

    fn write_parts_of(
        &mut self,
        draft: &mut Draft,
        readers: &[usize],
        writers: &Map<Value, [usize; 2]>,
        parts: &mut Map<Value, usize>,
    ) {
        let flat = self.flat;
        let out = draft.writes[0];
        let args = &flat.program.eqns()[draft.eqns[0]].args;
        // The last operand of each step that is a part: parts of one result stand in their order among what a step writes.
        let mut steps: Map<usize, usize> = Map::default();
        let (mut place, mut left, mut reads) = (0, Vec::new(), Args::new());
        for &arg in args {
            let view = &flat.views[arg.index()];
            let (base, first) = (view.base, place);
            place += view.count();
            let is_whole = view.is_in_order() && view.count() == flat.program.ty(base).size() && view.count() > 0;
            let is_free = readers[base.index()] == 1 && self.results[base.index()].is_none();
            let in_order = |&&[step, k]: &&[usize; 2]| steps.get(&step).is_none_or(|&before| before < k);
            match writers.get(&base).filter(in_order) {
                Some(&[step, k]) if is_whole && is_free && flat.literals[arg.index()].is_none() => {
                    steps.insert(step, k);
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
