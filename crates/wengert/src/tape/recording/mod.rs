//! The list while it is being recorded: one per thread, in levels.
//!
//! The list is a block of the newest records in thread-local cells, flushed to vectors when it is
//! full. A driver opens a [`Scope`]: a level with a generation of its own, whose records start at
//! its mark. A nested driver's level is a suffix of the same list; its inputs are copies, and
//! operands before its mark are its captures. When a scope ends its records are dropped, or, if
//! an outer level must differentiate through them, they become records of the outer level.
//!
//! Measured (`docs/tape.md`): `RefCell<Vec>` instead of the block costs 2 to 3 ns per operation.

mod active;
mod limit;
mod nested;
mod scope;
#[cfg(feature = "arrays")]
mod segment;
mod slow;

use std::cell::{Cell, RefCell};
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Var;
use super::block::{Block as LoopBlock, Thinning};
use super::record::{Form, INDEX_BITS, INDEX_MASK, Op, Record};
use crate::ops::{Binary, Unary};

use active::live;
use nested::Buffers;
use slow::{repair_both, repair_constant, repair_unary, store_constant};

pub(super) use active::active_in;
pub(super) use limit::{keeping, note_loop};
pub(crate) use nested::Nested;
pub(crate) use scope::{Inputs, Scope, line_of};
pub use scope::{TapeSize, release_memory};
#[cfg(feature = "arrays")]
pub(crate) use segment::{Entry, Operand, Unrolled, innermost, is_open, line_of_generation, push_external, segment};
pub(in crate::tape) use slow::{record_selection, record_slowly};

/// A place in the user's source.
pub(crate) type Line = &'static Location<'static>;

/// Records per block: small, so that the block, the inputs and the list's end share the first-level
/// cache; with 1024 a network with as many inputs as operations takes a sixth longer.
const BLOCK: usize = 256;

/// What is kept besides the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mode {
    /// Swept once: comparisons and numbers taken out leave no trace.
    Once,
    /// A step of a loop, run on other numbers: comparisons are guards, and no number may be taken out.
    Step,
    /// Replayed at other inputs: so too, but selections stay selections, and loops are recorded step by step.
    Replay,
    /// Every record goes the slow way and keeps its source line.
    Diagnose,
}

/// The tag of nothing: generation 1 is never given to a level.
const IDLE: u64 = 1 << INDEX_BITS;

struct Block {
    /// The tag of the next record: generation and index. Outside a level, and on diagnostic runs,
    /// its generation fits no `Var`, so that every operation takes the slow way.
    next: Cell<u64>,
    mode: Cell<Mode>,
    next_constant: Cell<u64>,
    /// Constants stored lately and their places, by a few bits of their hash: a loop's constants
    /// are stored once.
    cache: [Remembered; CACHE],
    /// The cache's entries of other ages are forgotten. Never 0.
    age: Cell<u32>,
    records: [Cell<u64>; BLOCK],
    values: [Cell<f64>; BLOCK],
    constants: [Cell<f64>; BLOCK],
}

/// How many constants are remembered; a row of data that is multiplied again and again fits, with few that fall on the
/// same entry. Entries cost nothing until they are used, because they are forgotten by their age.
const CACHE: usize = 1024;

/// A constant and where it is stored.
struct Remembered {
    bits: Cell<u64>,
    place: Cell<u32>,
    /// Age 0 is nobody's.
    age: Cell<u32>,
}

/// The flushed part of the list and the levels on it.
struct List {
    records: Vec<Record>,
    values: Vec<f64>,
    constants: Vec<f64>,
    /// The loops that records announce.
    blocks: Vec<LoopBlock>,
    /// Source lines, one per record, on diagnostic runs.
    lines: Vec<Line>,
    /// The line of the call that the library computes for, while it computes on variables of a diagnostic run.
    asked_at: Option<Line>,
    levels: Vec<Level>,
    /// Kept between sweeps, filled with -0.0.
    adjoints: Vec<f64>,
    buffers: Buffers,
    /// Which carries loops keep, of an outermost level with a limit of memory.
    thinning: Option<Thinning>,
    /// Generations that this thread may hand out.
    generations: std::ops::Range<u64>,
}

#[derive(Clone, Copy)]
struct Level {
    generation: u64,
    /// The index of the first record.
    mark: u64,
    constant_mark: u64,
    block_mark: usize,
    inputs: usize,
    mode: Mode,
    line: Line,
    /// Whether values of the Program of this level came back as variables: then the sweep over
    /// this list alone would lose what lies behind them.
    externals: bool,
}

thread_local! {
    static TAPE: Block = const {
        Block {
            next: Cell::new(IDLE),
            mode: Cell::new(Mode::Once),
            next_constant: Cell::new(0),
            cache: [const { Remembered { bits: Cell::new(0), place: Cell::new(0), age: Cell::new(0) } }; CACHE],
            age: Cell::new(1),
            records: [const { Cell::new(0) }; BLOCK],
            values: [const { Cell::new(0.0) }; BLOCK],
            constants: [const { Cell::new(0.0) }; BLOCK],
        }
    };
    static LIST: RefCell<List> = const {
        RefCell::new(List {
            records: Vec::new(),
            values: Vec::new(),
            constants: Vec::new(),
            blocks: Vec::new(),
            lines: Vec::new(),
            asked_at: None,
            levels: Vec::new(),
            adjoints: Vec::new(),
            buffers: Buffers::new(),
            thinning: None,
            generations: 0..0,
        })
    };
}

// ---- the fast way -------------------------------------------------------------------------------

/// Records `op(x, y)`. The record is written first; one rarely taken branch then repairs what is
/// not two variables of the current level, and flushes a full block.
#[cfg_attr(not(debug_assertions), inline(always))]
#[track_caller]
pub(super) fn record_both(op: Binary, x: Var, y: Var, value: f64) -> Var {
    let line = Location::caller();
    let record = Record::new(const_code(Op::Binary(op, Form::Both)), x.tag, y.tag);
    let tag = write(record, value);
    if ((x.tag ^ tag) | (y.tag ^ tag)) >> INDEX_BITS != 0 || is_last_of_block(tag) {
        return repair_both(op, x, y, value, line);
    }
    Var { value, tag }
}

/// Records `op(x)`.
#[cfg_attr(not(debug_assertions), inline(always))]
#[track_caller]
pub(super) fn record_unary(op: Unary, x: Var, value: f64) -> Var {
    let line = Location::caller();
    let (code, number) = Op::Unary(op).encode();
    let tag = write(Record::new(code, x.tag, number), value);
    if (x.tag ^ tag) >> INDEX_BITS != 0 || is_last_of_block(tag) {
        return repair_unary(op, x, value, line);
    }
    Var { value, tag }
}

/// Records `op(x, constant)` (`Form::Right`) or `op(constant, x)` (`Form::Left`).
#[cfg_attr(not(debug_assertions), inline(always))]
#[track_caller]
pub(super) fn record_constant(op: Binary, form: Form, x: Var, constant: f64, value: f64) -> Var {
    let line = Location::caller();
    let next = TAPE.with(|tape| tape.next.get());
    if (x.tag ^ next) >> INDEX_BITS != 0 || is_last_of_block(next) {
        return repair_constant(op, form, x, constant, value, line);
    }
    let place = match TAPE.with(|tape| tape.cached_place(constant)) {
        Some(place) => place,
        None => store_constant(constant),
    };
    let tag = write(Record::new(const_code(Op::Binary(op, form)), x.tag, u64::from(place)), value);
    Var { value, tag }
}

/// The code of an operation without a number.
#[cfg_attr(not(debug_assertions), inline(always))]
fn const_code(op: Op) -> u8 {
    op.encode().0
}

/// Writes a record as if it were one of the current level; gives its tag. The closure is kept this
/// small because a larger one is not inlined, which doubles the time of an operation.
#[cfg_attr(not(debug_assertions), inline(always))]
fn write(record: Record, value: f64) -> u64 {
    TAPE.with(|tape| {
        let tag = tape.next.get();
        let slot = tag as usize % BLOCK;
        tape.records[slot].set(record.0);
        tape.values[slot].set(value);
        tape.next.set(tag + 1);
        tag
    })
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn is_last_of_block(tag: u64) -> bool {
    tag as usize % BLOCK == BLOCK - 1
}

/// Whether comparisons and numbers taken out must be noticed.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn mode() -> Mode {
    TAPE.with(|tape| tape.mode.get())
}

/// Runs what the library computes on variables for a call at this line: a diagnosis then names the user's line, the outermost
/// one if calls are nested, and not that of a rule.
pub(crate) fn asked_at<R>(line: Line, compute: impl FnOnce() -> R) -> R {
    /// Puts back what was there before, also after a panic.
    struct Before(Option<Line>);
    impl Drop for Before {
        fn drop(&mut self) {
            LIST.with_borrow_mut(|list| list.asked_at = self.0);
        }
    }
    if mode() != Mode::Diagnose {
        return compute();
    }
    let _before = LIST.with_borrow_mut(|list| {
        let before = list.asked_at;
        list.asked_at = before.or(Some(line));
        Before(before)
    });
    compute()
}

impl Block {
    /// The index of this constant among the constants, if it was stored lately.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn cached_place(&self, constant: f64) -> Option<u32> {
        let known = &self.cache[cache_slot(constant)];
        (known.bits.get() == constant.to_bits() && known.age.get() == self.age.get()).then_some(known.place.get())
    }

    /// Appends a constant and remembers it; gives its place.
    fn store(&self, constant: f64) -> u32 {
        let next = self.next_constant.get();
        self.constants[next as usize % BLOCK].set(constant);
        let known = &self.cache[cache_slot(constant)];
        known.bits.set(constant.to_bits());
        known.place.set(next as u32);
        known.age.set(self.age.get());
        self.next_constant.set(next + 1);
        next as u32
    }

    fn constants_are_full(&self) -> bool {
        (self.next_constant.get() as usize).is_multiple_of(BLOCK)
    }

    fn forget_constants(&self) {
        let age = self.age.get().wrapping_add(1);
        if age == 0 {
            self.cache.iter().for_each(|known| known.age.set(0));
        }
        self.age.set(age.max(1));
    }

    /// Takes the newest record back.
    fn undo(&self) {
        self.next.set(self.next.get() - 1);
    }

    /// The index of the next record.
    fn index(&self) -> u64 {
        self.next.get() & INDEX_MASK
    }
}

/// The top bits of Fibonacci hashing (Knuth, 1973, section 6.4).
#[cfg_attr(not(debug_assertions), inline(always))]
fn cache_slot(constant: f64) -> usize {
    (constant.to_bits().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - CACHE.ilog2())) as usize
}

// ---- for others ---------------------------------------------------------------------------------

/// The mode of the innermost recording under way, if there is one.
pub(super) fn innermost_mode() -> Option<Mode> {
    LIST.with_borrow(|list| list.levels.last().map(|level| level.mode))
}

/// The place of a variable on the list; [`Source::PLAIN`](super::block::Source::PLAIN) for a constant.
///
/// # Panics
/// If its recording has ended.
pub(super) fn place_of(x: Var, name: &str, line: Line) -> u32 {
    let active = LIST.with_borrow(|list| list.is_active(x, name, line));
    if active { (x.tag & INDEX_MASK) as u32 } else { super::block::Source::PLAIN }
}

/// Leaves a loop on the list: a record that announces it, its results, and its end. Gives the results.
pub(super) fn push_block(block: LoopBlock, results: &[f64]) -> Vec<Var> {
    LIST.with_borrow_mut(|list| {
        TAPE.with(|tape| {
            let (line, number) = (block.body.line, list.blocks.len() as u64);
            list.blocks.push(block);
            let mut append = |op: Op, value: f64| list.append(tape, Record::new(op.encode().0, 0, number), value, line);
            append(Op::Loop, 0.0);
            let results = results.iter().map(|&value| append(Op::Result, value)).collect();
            append(Op::LoopEnd, 0.0);
            results
        })
    })
}

impl List {
    fn flush_records(&mut self, tape: &Block) {
        self.records.extend(tape.records.iter().map(|record| Record(record.get())));
        self.values.extend(tape.values.iter().map(Cell::get));
        assert!(
            tape.index() + (BLOCK as u64) < INDEX_MASK && self.records.len() as u64 == tape.index(),
            "the recording is full: it holds 2^28 operations at most; split the function, or \
             recompute parts of it with checkpoints"
        );
    }

    /// Appends a record to the current level and names it.
    fn append(&mut self, tape: &Block, record: Record, value: f64, line: Line) -> Var {
        let level = self.levels.last().expect("an active operand implies a level");
        let tag = (level.generation << INDEX_BITS) | tape.index();
        let next = tape.next.get();
        let slot = next as usize % BLOCK;
        tape.records[slot].set(record.0);
        tape.values[slot].set(value);
        tape.next.set(next + 1);
        if level.mode == Mode::Diagnose {
            self.lines.push(self.asked_at.unwrap_or(line));
        }
        if slot == BLOCK - 1 {
            self.flush_records(tape);
        }
        Var { value, tag }
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one record")]
    fn append_with_constant(
        &mut self,
        tape: &Block,
        op: Binary,
        form: Form,
        x: Var,
        constant: f64,
        value: f64,
        line: Line,
    ) -> Var {
        let place = self.place_of_constant(tape, constant);
        self.append(tape, Record::new(Op::Binary(op, form).encode().0, x.tag, place), value, line)
    }

    /// The index of this constant among the constants; stores it unless it is remembered.
    fn place_of_constant(&mut self, tape: &Block, constant: f64) -> u64 {
        if let Some(place) = tape.cached_place(constant) {
            return u64::from(place);
        }
        let place = tape.store(constant);
        if tape.constants_are_full() {
            self.constants.extend(tape.constants.iter().map(Cell::get));
        }
        u64::from(place)
    }

    /// The operand of a rare record: its index, with constants stored as records of their own.
    fn place(&mut self, tape: &Block, op: Op, operand: Var, line: Line) -> u64 {
        if self.is_active(operand, op.name(), line) {
            return operand.tag;
        }
        let place = self.place_of_constant(tape, operand.value);
        self.append(tape, Record::new(Op::Constant.encode().0, 0, place), operand.value, line).tag
    }

    /// Whether `x` is on the list (else it is a constant).
    #[track_caller]
    fn is_active(&self, x: Var, name: &str, line: Line) -> bool {
        live(self.has(x), name, line)
    }

    /// Whether `x` is on the list; `None` if the recording that it belongs to is not.
    fn has(&self, x: Var) -> Option<bool> {
        let active = x.tag >> INDEX_BITS != 0;
        (!active || self.level_of(x).is_some()).then_some(active)
    }

    fn level_of(&self, x: Var) -> Option<&Level> {
        self.levels.iter().rev().find(|level| level.generation == x.tag >> INDEX_BITS)
    }

    fn next_generation(&mut self) -> u64 {
        /// Generations are handed to threads in lots, so that no two threads ever share one.
        const LOT: u64 = 1 << 16;
        static NEXT: AtomicU64 = AtomicU64::new(LOT);
        const COUNT: u64 = 1 << (64 - INDEX_BITS);
        loop {
            if self.generations.is_empty() {
                // After 2^36 recordings the numbers begin again; lot 0 holds the reserved ones.
                let start = NEXT.fetch_add(LOT, Ordering::Relaxed) % COUNT;
                self.generations = start.max(2)..start + LOT;
            }
            let generation = self.generations.next().expect("the lot was just filled");
            if self.levels.iter().all(|level| level.generation != generation) {
                return generation;
            }
        }
    }

    /// Copies the unflushed tail behind the flushed part, so that the list is contiguous.
    fn gather(&mut self, tape: &Block) {
        let tail = tape.index() as usize % BLOCK;
        self.records.extend(tape.records[..tail].iter().map(|record| Record(record.get())));
        self.values.extend(tape.values[..tail].iter().map(Cell::get));
        let tail = tape.next_constant.get() as usize % BLOCK;
        self.constants.extend(tape.constants[..tail].iter().map(Cell::get));
    }

    /// Undoes [`List::gather`].
    fn scatter(&mut self, tape: &Block) {
        self.records.truncate(tape.index() as usize / BLOCK * BLOCK);
        self.values.truncate(tape.index() as usize / BLOCK * BLOCK);
        self.constants.truncate(tape.next_constant.get() as usize / BLOCK * BLOCK);
    }

    /// Drops the records and constants from the marks on.
    fn truncate(&mut self, tape: &Block, Level { mark, constant_mark, block_mark, .. }: Level) {
        self.blocks.truncate(block_mark);
        let (start, tail) = (mark as usize / BLOCK * BLOCK, mark as usize % BLOCK);
        if self.records.len() > start {
            for slot in 0..tail {
                tape.records[slot].set(self.records[start + slot].0);
                tape.values[slot].set(self.values[start + slot]);
            }
            self.records.truncate(start);
            self.values.truncate(start);
        }
        if self.levels.last().is_some_and(|level| level.mode == Mode::Diagnose) {
            let dropped = tape.index() - mark;
            self.lines.truncate(self.lines.len() - dropped as usize);
        }
        let (start, tail) = (constant_mark as usize / BLOCK * BLOCK, constant_mark as usize % BLOCK);
        if self.constants.len() > start {
            for slot in 0..tail {
                tape.constants[slot].set(self.constants[start + slot]);
            }
            self.constants.truncate(start);
        }
        if tape.next_constant.get() != constant_mark {
            tape.next_constant.set(constant_mark);
            tape.forget_constants();
        }
        tape.next.set((tape.next.get() & !INDEX_MASK) | mark);
    }

    /// Makes the innermost level the one that records go to.
    fn resume(&self, tape: &Block) {
        let (generation, mode) = match self.levels.last() {
            None => (IDLE >> INDEX_BITS, Mode::Once),
            Some(level) if level.mode == Mode::Diagnose => (IDLE >> INDEX_BITS, level.mode),
            Some(level) => (level.generation, level.mode),
        };
        tape.next.set((generation << INDEX_BITS) | tape.index());
        tape.mode.set(mode);
    }
}

#[cfg(test)]
mod tests;
