//! Scopes: one driver's part of the list, from its inputs to its end.

use std::panic::Location;

use super::{BLOCK, Block, LIST, Level, Line, List, Mode, TAPE, const_code, mode};
use crate::tape::Var;
use crate::tape::block::forget_paths;
use crate::tape::record::{INDEX_BITS, INDEX_MASK, Op, Record};
use crate::tape::sweep;
use crate::tape::trace::{Output, Trace};

/// One recording: opened by a driver, ended when dropped.
pub(crate) struct Scope {
    /// How many levels there are with this one.
    depth: usize,
    pub(super) line: Line,
    generation: u64,
}

impl Scope {
    /// Opens a level on top of the current one.
    #[track_caller]
    pub(crate) fn open(mode: Mode) -> Self {
        Scope::open_at(mode, Location::caller())
    }

    /// As [`open`](Self::open), for a driver called at this line.
    pub(crate) fn open_at(mode: Mode, line: Line) -> Self {
        LIST.with_borrow_mut(|list| {
            TAPE.with(|tape| {
                let outer = list.levels.last().map_or(Mode::Once, |level| level.mode);
                let level = Level {
                    generation: list.next_generation(),
                    mark: tape.index(),
                    constant_mark: tape.next_constant.get(),
                    block_mark: list.blocks.len(),
                    inputs: 0,
                    mode: mode.max(outer),
                    line,
                    externals: false,
                };
                list.levels.push(level);
                list.resume(tape);
                Scope { depth: list.levels.len(), line, generation: level.generation }
            })
        })
    }

    /// Whether no other recording is under way around this one.
    pub(crate) fn is_outermost(&self) -> bool {
        self.depth == 1
    }

    /// The generation of this level's variables.
    #[cfg(feature = "arrays")]
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// Whether values of a Program came back as variables of this level.
    #[cfg(feature = "arrays")]
    pub(crate) fn has_externals(&self) -> bool {
        LIST.with_borrow(|list| list.levels.last().is_some_and(|level| level.externals))
    }

    /// The driver's line.
    pub(crate) fn line(&self) -> Line {
        self.line
    }

    /// The inputs of this level: all are made before anything else is recorded.
    pub(crate) fn inputs(&self) -> Inputs<'_> {
        let index = TAPE.with(Block::index);
        Inputs { scope: self, tag: (self.generation << INDEX_BITS) | index }
    }

    /// The gradient of `output` by this level's inputs, swept in place and handed to `take` (an
    /// input that was not reached holds -0.0). Only for an outermost scope, which has no captures.
    /// `None`: the sweep met a derivative that needs care, or the level has a Program besides, and
    /// nothing has changed.
    ///
    /// Compiled once, with the library: users have hundreds of functions.
    pub(crate) fn gradient_in_place(&self, output: Var, take: &mut dyn FnMut(&[f64])) -> Option<()> {
        debug_assert!(self.is_outermost(), "a nested scope has captures");
        LIST.with_borrow_mut(|list| {
            TAPE.with(|tape| {
                let level = list.levels.last().expect("the scope is open");
                // A loop is swept with care too.
                if level.externals || list.blocks.len() > level.block_mark {
                    return None;
                }
                let inputs = level.inputs;
                let from = match list.is_active(output, "the result", self.line) {
                    true => Some((output.tag & INDEX_MASK) as usize),
                    false => None,
                };
                list.gather(tape);
                let count = inputs.max(from.map_or(0, |from| from + 1));
                if list.adjoints.len() < count {
                    list.adjoints.resize(count.max(2 * list.adjoints.len()).min(list.records.len()), -0.0);
                }
                let swept = from.map_or(Some(()), |from| {
                    let adjoints = &mut list.adjoints[..count];
                    sweep::gradient(&list.records, &list.constants, &list.values, adjoints, from, inputs)
                });
                list.scatter(tape);
                swept?;
                // Also if `take`, which is a user's code, panics: the next sweep adds to what it finds.
                let adjoints = Cleaned(&mut list.adjoints[..inputs]);
                take(adjoints.0);
                Some(())
            })
        })
    }

    /// The list of this level as a value of its own.
    pub(crate) fn extract(&self, outputs: &[Var]) -> Trace {
        LIST.with_borrow_mut(|list| {
            TAPE.with(|tape| {
                list.gather(tape);
                let level = *list.levels.last().expect("the scope is open");
                let mark = level.mark as usize;
                let diagnostic = level.mode == Mode::Diagnose;
                let trace = Trace::new(
                    &list.records[mark..],
                    &list.values[mark..],
                    &list.constants,
                    if diagnostic { &list.lines[list.lines.len() - (list.records.len() - mark)..] } else { &[] },
                    &list.blocks,
                    level.inputs,
                    mark,
                    |index| list.var_before(index, mark),
                    outputs.iter().map(|&output| list.output(output, mark, self.line)).collect(),
                );
                list.scatter(tape);
                trace
            })
        })
    }

    /// Whether the records must stay for the outer level's replay although nothing active came
    /// out of this level: they may hold its guards.
    pub(crate) fn must_stay(&self) -> bool {
        !self.is_outermost() && mode() != Mode::Once
    }

    /// Ends the level and leaves its records to the outer one. Returns the tag of its first record
    /// there.
    pub(crate) fn keep(self) -> u64 {
        LIST.with_borrow_mut(|list| {
            TAPE.with(|tape| {
                let level = list.levels.pop().expect("the scope is open");
                list.resume(tape);
                let outer = list.levels.last().expect("an outermost scope is not kept");
                let base = (outer.generation << INDEX_BITS) | level.mark;
                std::mem::forget(self);
                base
            })
        })
    }
}

/// Makes the inputs of a scope. It keeps the place of the next record to itself until the end:
/// through memory, each input would wait for the one before.
pub(crate) struct Inputs<'a> {
    scope: &'a Scope,
    tag: u64,
}

impl Inputs<'_> {
    /// An independent variable.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn input(&mut self, value: f64) -> Var {
        self.add(Record::new(const_code(Op::Input), 0, 0), value)
    }

    /// An independent variable that is a copy of an outer level's `x`.
    pub(crate) fn input_of(&mut self, x: Var) -> Var {
        let on_outer_level = LIST.with_borrow(|list| list.is_active(x, "input", self.scope.line));
        if on_outer_level {
            self.add(Record::new(const_code(Op::Copy), x.tag, 0), x.value)
        } else {
            self.input(x.value)
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn add(&mut self, record: Record, value: f64) -> Var {
        let tag = self.tag;
        let slot = tag as usize % BLOCK;
        TAPE.with(|tape| {
            tape.records[slot].set(record.0);
            tape.values[slot].set(value);
        });
        self.tag += 1;
        if slot == BLOCK - 1 {
            self.flush();
        }
        Var { value, tag }
    }

    /// Tells the tape how far the inputs have come.
    fn advance(&self) {
        TAPE.with(|tape| tape.next.set((tape.next.get() & !INDEX_MASK) | (self.tag & INDEX_MASK)));
    }

    #[inline(never)]
    fn flush(&self) {
        self.advance();
        LIST.with_borrow_mut(|list| TAPE.with(|tape| list.flush_records(tape)));
    }

    /// Everything recorded so far is an input.
    pub(crate) fn end(self) {
        self.advance();
        LIST.with_borrow_mut(|list| {
            let level = list.levels.last_mut().expect("the scope is open");
            level.inputs = ((self.tag & INDEX_MASK) - level.mark) as usize;
            if level.mode == Mode::Diagnose {
                let lines = list.lines.len() + level.inputs;
                list.lines.resize(lines, self.scope.line);
            }
        });
    }
}

impl List {
    /// The variable of an outer level that stands at `index`, before `mark`.
    fn var_before(&self, index: usize, mark: usize) -> Var {
        Var { value: self.values[index], tag: self.tag_before(index, mark) }
    }

    fn output(&self, output: Var, mark: usize, line: Line) -> Output {
        if !self.is_active(output, "the result", line) {
            return Output::Constant(output.value);
        }
        let index = (output.tag & INDEX_MASK) as usize;
        if index >= mark { Output::Node(index - mark) } else { Output::Capture(output) }
    }
}

/// Adjoints that are -0.0 again when this is gone, as a sweep has to find them.
struct Cleaned<'a>(&'a mut [f64]);

impl Drop for Cleaned<'_> {
    fn drop(&mut self) {
        self.0.fill(-0.0);
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        LIST.with_borrow_mut(|list| {
            TAPE.with(|tape| {
                // A panic may have left levels of scopes that were never closed above this one.
                list.levels.truncate(self.depth);
                if let Some(&level) = list.levels.last() {
                    list.truncate(tape, level);
                    list.levels.pop();
                }
                if list.levels.is_empty() {
                    list.thinning = None;
                }
                list.resume(tape);
            });
        });
    }
}

/// The line of the recording that `x` belongs to, if it is under way.
pub(crate) fn line_of(x: Var) -> Option<Line> {
    LIST.with_borrow(|list| list.level_of(x).map(|level| level.line))
}

/// Gives the memory that the tape of this thread keeps for reuse back to the system, and the code of loops that it remembers. Not
/// inside a recording.
///
/// # Panics
/// If a recording is under way on this thread.
#[track_caller]
pub fn release_memory() {
    if let Some(line) = LIST.with_borrow(|list| list.levels.last().map(|level| level.line)) {
        panic!("`release_memory`: the recording started at {line} is under way; call it after that");
    }
    LIST.with_borrow_mut(|list| {
        list.records = Vec::new();
        list.values = Vec::new();
        list.constants = Vec::new();
        list.blocks = Vec::new();
        list.lines = Vec::new();
        list.adjoints = Vec::new();
        list.buffers = super::Buffers::new();
    });
    forget_paths();
}

/// How large a recording is: see [`tape_size`](crate::tape_size).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TapeSize {
    /// Records, inputs included.
    pub records: usize,
    /// Constants stored beside them.
    pub constants: usize,
    /// Bytes of records, values, constants, loops, and of the adjoints of a reverse sweep.
    pub bytes: usize,
}

impl Scope {
    /// How large the recording is so far.
    pub(crate) fn size(&self) -> TapeSize {
        LIST.with_borrow(|list| {
            TAPE.with(|tape| {
                let level = list.levels.last().expect("the scope is open");
                let records = (tape.index() - level.mark) as usize;
                let constants = (tape.next_constant.get() - level.constant_mark) as usize;
                let loops: usize = list.blocks[level.block_mark..].iter().map(|block| block.bytes()).sum();
                let bytes =
                    records * (size_of::<Record>() + 2 * size_of::<f64>()) + constants * size_of::<f64>() + loops;
                TapeSize { records, constants, bytes }
            })
        })
    }
}
