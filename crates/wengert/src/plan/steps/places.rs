//! Where operands of steps lie: in place of others, in the arena, where results are.

use std::borrow::Cow;

use super::super::allocated::Allocated;
use super::super::buffers::{self, Life};
use super::super::kernel::{bytes, kind};
use super::super::shared::Shared;
use super::super::{
    Access, Accesses, Home, Lookup, Map, Operation, Provenance, Step, StepOperand, StepWork, lines_of, verify,
};
use super::{Draft, Drafts};
use crate::array::Type;
use crate::error::Line;
use crate::primitives::Op;
use crate::program::{Drained, Program, Value};

/// Gives the operands of steps places. Of what the steps were made from it needs the types and the lines alone.
pub(in super::super) struct Placer<'a> {
    program: &'a Program,
    shared: Shared,
    /// Where which result each value lies: the result, and what becomes it when parts of it are changed.
    results: Vec<Option<usize>>,
    /// Of the values that are a part of a result: where they begin there.
    parts: Map<Value, usize>,
    /// Lines of the arena for values.
    pub(in super::super) values: usize,
    /// Lines of the arena for one step at a time.
    pub(in super::super) scratch: usize,
    /// Bytes that steps allocate for themselves.
    pub(in super::super) allocated: Allocated,
}

impl<'a> Placer<'a> {
    /// For these steps of a flattened Program; and their list.
    pub(in super::super) fn new(program: &'a Program, drafts: Drafts) -> (Self, Vec<Draft>) {
        let Drafts { list, results, parts, allocated, shared } = drafts;
        (Placer { program, shared, results, parts, values: 0, scratch: 0, allocated }, list)
    }

    /// The steps with their operands in place.
    pub(in super::super) fn steps(&mut self, mut drafts: Vec<Draft>) -> Vec<Step> {
        self.overwrite(&mut drafts);
        let homes = self.place(&drafts);
        if cfg!(debug_assertions) {
            verify::check_memory(self.program, &drafts, &homes, (&self.results, &self.parts))
                .unwrap_or_else(|why| panic!("{why}\n{}", self.program));
        }
        Drained::new(drafts).map(|draft| self.finish(draft, &homes)).collect()
    }

    /// Lets what a step writes take the place of an operand that it reads last and may overwrite: both lie in the arena, or
    /// where a result is. The step reads the operand once, so that nobody sees it change.
    fn overwrite(&mut self, drafts: &mut [Draft]) {
        let inputs = self.program.input_types().len();
        let mut last = vec![0; self.program.types.len()];
        for (step, draft) in drafts.iter().enumerate() {
            draft.reads.iter().for_each(|value| last[value.index()] = step);
        }
        // Backwards: where a value lies depends on what overwrites it.
        for (step, draft) in drafts.iter_mut().enumerate().rev() {
            let pairs = match &draft.work {
                StepWork::Kernel(kernel, ..) => kernel.in_place(),
                StepWork::Product(product) => product.in_place(),
                _ => continue,
            };
            for &(read, write) in pairs {
                let (x, out) = (draft.reads[usize::from(read)], draft.writes[usize::from(write)]);
                let reads = draft.reads.iter().filter(|&&value| value == x).count();
                let same = self.program.ty(x) == self.program.ty(out) && self.program.ty(x).size() > 0;
                let free = draft.in_place.iter().all(|&(other, taken)| other != read && taken != write);
                let movable = x.index() >= inputs && self.results[x.index()].is_none();
                if same && free && reads == 1 && last[x.index()] == step && movable {
                    draft.in_place.push((read, write));
                    self.results[x.index()] = self.results[out.index()];
                }
            }
        }
    }

    /// The first line of each value in the arena.
    pub(in super::super) fn place(&mut self, drafts: &[Draft]) -> Vec<usize> {
        let mut numbers: Vec<Option<usize>> = vec![None; self.program.types.len()];
        let mut lives: Vec<Life> = Vec::new();
        for (step, draft) in drafts.iter().enumerate() {
            self.scratch = self.scratch.max(draft.scratch);
            for (k, value) in draft.writes.iter().enumerate() {
                if let Some(&(read, _)) = draft.in_place.iter().find(|(_, write)| usize::from(*write) == k) {
                    numbers[value.index()] = numbers[draft.reads[usize::from(read)].index()];
                } else if self.results[value.index()].is_none() {
                    numbers[value.index()] = Some(lives.len());
                    let lines = lines_of(bytes(self.program.ty(*value)));
                    lives.push(Life { lines, first: step, last: step });
                }
            }
            for value in &draft.reads {
                if let Some(number) = numbers[value.index()] {
                    lives[number].last = step;
                }
            }
        }
        let (places, total) = buffers::place(&lives);
        self.values = total;
        numbers.into_iter().map(|number| number.map_or(0, |number| places[number])).collect()
    }

    /// A step with its operands in place.
    fn finish(&mut self, draft: Draft, homes: &[usize]) -> Step {
        let inputs = self.program.input_types().len();
        let mut arena = Accesses::new();
        let mut results = Accesses::new();
        let overwritten =
            |k: usize| draft.in_place.iter().find(|(read, _)| usize::from(*read) == k).map(|&(_, write)| write);
        // The operand that is overwritten shares the buffer of a result.
        let reads = draft.reads.iter().enumerate().filter(|(k, _)| overwritten(*k).is_none());
        let both = reads.map(|(_, value)| (value, false)).chain(draft.writes.iter().map(|value| (value, true)));
        for (value, written) in both.clone() {
            if value.index() < inputs {
                continue;
            }
            let (list, range) = match self.results[value.index()] {
                Some(k) => (&mut results, k..k + 1),
                None => {
                    let start = homes[value.index()];
                    (&mut arena, start..start + lines_of(bytes(self.program.ty(*value))))
                }
            };
            let access = Access { range, written };
            if !access.range.is_empty() && !list.contains(&access) {
                list.push(access);
            }
        }
        arena.sort_by_key(|access| access.range.start);
        results.sort_by_key(|access| access.range.start);
        let operand = |value: &Value| {
            let ty = self.program.ty(*value);
            let at = |list: &[Access], start: usize| list.iter().position(|access| access.range.start == start);
            let home = match self.results[value.index()] {
                _ if value.index() < inputs => Home::Input(value.index()),
                Some(k) => {
                    let k = at(&results, k).expect("a result of the step");
                    self.parts.get(value).map_or(Home::Result(k), |&first| Home::Part(k, first))
                }
                None if ty.size() == 0 => Home::Arena(usize::MAX),
                None => Home::Arena(at(&arena, homes[value.index()]).expect("a range of the step")),
            };
            StepOperand { home, start: 0, length: ty.size(), kind: kind(ty.dtype), count: ty.size() }
        };
        let read = |(k, value): (usize, &Value)| match overwritten(k) {
            Some(write) => StepOperand { home: Home::InPlace(write), ..operand(value) },
            None => {
                // A window without elements may begin behind the end.
                let whole = operand(value);
                let start = draft.starts.get(k).copied().unwrap_or(0).min(whole.count);
                let length = draft.lengths.get(k).copied().unwrap_or(whole.count - start);
                StepOperand { start, length, ..whole }
            }
        };
        let write =
            |(k, value): (usize, &Value)| StepOperand { start: if k == 0 { draft.start } else { 0 }, ..operand(value) };
        let reads = draft.reads.iter().enumerate().map(read).collect();
        let writes = draft.writes.iter().enumerate().map(write).collect();
        let mut lines: Vec<Line> = Vec::new();
        let mut names: Vec<Cow<'static, str>> = Vec::with_capacity(draft.eqns.len());
        let mut lookups: Vec<Lookup> = Vec::new();
        let is_region = matches!(draft.work, StepWork::Region(_));
        for &k in &draft.eqns {
            let eqn = &self.program.eqns()[k];
            lines.extend(eqn.line.filter(|line| !lines.contains(line)));
            names.push(eqn.op.name());
            if is_region && matches!(eqn.op, Op::Gather(_)) {
                let types: Vec<&Type> = eqn.args.iter().map(|&arg| self.program.ty(arg)).collect();
                lookups.push(Lookup { operation: Operation::new(eqn.op.clone(), &types), line: eqn.line });
            }
        }
        let provenance = self.shared.provenance(Provenance { lines, names, lookups });
        Step { work: draft.work, reads, writes, arena, results, scratch: draft.scratch, provenance }
    }
}
