//! A level's part of the list, read while it is recorded: what is lifted into a Program.

use super::{LIST, Line, List, Mode, TAPE};
use crate::tape::Var;
use crate::tape::record::{INDEX_BITS, INDEX_MASK, Op, Record};
use crate::tape::trace::Trace;

/// Records of one level that follow each other.
pub(crate) struct Segment {
    /// How many records of the level come before these.
    pub(crate) start: usize,
    /// How many inputs the level has: its first records.
    pub(crate) inputs: usize,
    /// The records: operation, operands, value, the number that belongs to it.
    pub(crate) entries: Vec<Entry>,
}

/// One record with everything it refers to.
pub(crate) struct Entry {
    pub(crate) op: Op,
    pub(crate) a: Operand,
    pub(crate) b: Operand,
    pub(crate) value: f64,
    /// The constant operand of a form that has one.
    pub(crate) constant: f64,
    pub(crate) line: Option<Line>,
    /// The loop that it announces, whose results are the next entries.
    pub(crate) unrolled: Option<Box<Unrolled>>,
}

/// A loop written out.
pub(crate) struct Unrolled {
    /// What its inputs are.
    pub(crate) sources: Vec<Operand>,
    pub(crate) trace: Trace,
}

/// Where an operand stands.
#[derive(Clone, Copy)]
pub(crate) enum Operand {
    /// The record of the same level with this number.
    Own(usize),
    /// A variable of an outer level.
    Outer(Var),
    /// There is none.
    None,
}

/// The innermost recording under way: its generation, line and mode.
pub(crate) fn innermost() -> Option<(u64, Line, Mode)> {
    LIST.with_borrow(|list| list.levels.last().map(|level| (level.generation, level.line, level.mode)))
}

/// Whether the recording with this generation is under way.
pub(crate) fn is_open(generation: u64) -> bool {
    LIST.with_borrow(|list| list.levels.iter().any(|level| level.generation == generation))
}

/// The line of the recording with this generation, if it is under way.
pub(crate) fn line_of_generation(generation: u64) -> Option<Line> {
    LIST.with_borrow(|list| list.levels.iter().find(|level| level.generation == generation).map(|level| level.line))
}

/// A variable of the innermost level with this value, which is defined elsewhere, and which a
/// derivative flows to if it is active; and the number of its record in the level.
pub(crate) fn push_external(value: f64, active: bool, line: Line) -> (Var, usize) {
    LIST.with_borrow_mut(|list| {
        TAPE.with(|tape| {
            let place = list.place_of_constant(tape, value);
            let record = Record::new(Op::Constant.encode().0, u64::from(active), place);
            let var = list.append(tape, record, value, line);
            let level = list.levels.last_mut().expect("a recording is under way");
            level.externals = true;
            (var, (var.tag & INDEX_MASK) as usize - level.mark as usize)
        })
    })
}

/// The records of a level from number `start` on.
pub(crate) fn segment(generation: u64, start: usize) -> Option<Segment> {
    LIST.with_borrow_mut(|list| {
        TAPE.with(|tape| {
            list.gather(tape);
            let segment = list.segment(generation, start);
            list.scatter(tape);
            segment
        })
    })
}

impl List {
    fn segment(&self, generation: u64, start: usize) -> Option<Segment> {
        let depth = self.levels.iter().position(|level| level.generation == generation)?;
        let level = self.levels[depth];
        let mark = level.mark as usize;
        let end = self.levels.get(depth + 1).map_or(self.records.len(), |inner| inner.mark as usize);
        let lines = self.lines_before(mark);
        let entries = (mark + start..end).map(|index| {
            let record = self.records[index];
            let op = record.op();
            let (uses_a, uses_b) = op.operands();
            let place = |index: usize| match index.checked_sub(mark) {
                Some(own) => Operand::Own(own),
                None => Operand::Outer(self.outer_var(index, depth)),
            };
            let operand = |uses: bool, index: usize| if uses { place(index) } else { Operand::None };
            let unrolled = (op == Op::Loop).then(|| {
                let block = &self.blocks[record.b()];
                let sources = block.sources.iter().filter_map(|source| source.place().map(place)).collect();
                Box::new(Unrolled { sources, trace: block.unrolled() })
            });
            Entry {
                op,
                a: operand(uses_a, record.a()),
                b: operand(uses_b, record.b()),
                value: self.values[index],
                constant: if op.has_constant() { self.constants[record.b()] } else { 0.0 },
                line: (level.mode == Mode::Diagnose).then(|| self.lines[lines + index - mark]),
                unrolled,
            }
        });
        Some(Segment { start, inputs: level.inputs, entries: entries.collect() })
    }

    /// How many source lines are kept for the records before `mark`: only diagnostic levels have
    /// them, and these are the innermost ones.
    fn lines_before(&self, mark: usize) -> usize {
        (self.lines.len() + mark).saturating_sub(self.records.len())
    }

    fn outer_var(&self, index: usize, depth: usize) -> Var {
        let level = self.levels[..depth].iter().rev().find(|level| level.mark <= index as u64);
        let level = level.expect("every record belongs to a level");
        Var { value: self.values[index], tag: (level.generation << INDEX_BITS) | index as u64 }
    }
}

impl Var {
    /// The generation of the recording it belongs to, and the number of its record there; `None`
    /// for a constant.
    ///
    /// # Panics
    /// If the recording has ended.
    pub(crate) fn place(self, name: &str, line: Line) -> Option<(u64, usize)> {
        LIST.with_borrow(|list| {
            if !list.is_active(self, name, line) {
                return None;
            }
            let level = list.level_of(self).expect("it is active");
            Some((level.generation, (self.tag & INDEX_MASK) as usize - level.mark as usize))
        })
    }
}
