//! Regions: straight-line programs over the elements of arrays, run chunk by chunk.
//!
//! A region walks `groups * rows * cols` elements in row-major order. A *chunk* is a few whole rows; its intermediate
//! values live in *slots*, pieces of a scratch that stays in the nearest caches, and every [`Instr`] is a vector loop over
//! a chunk. A value has an element for each column of each row ([`Granularity::Full`]) or one for each row
//! ([`Granularity::Row`]). Rows are joined along their columns inside a chunk, so that a softmax or a layer norm is one
//! pass; sums over rows or over everything go to accumulators, one result per group.
//!
//! # Invariants
//!
//! - **A [`Region`] that exists is safe to run**: [`Region::new`] checks every index, kind, level and pattern, and
//!   [`Region::run`] checks the lengths of what it is given. No instruction writes where it reads.
//! - **The bits do not depend on the number of threads, nor on what else a region computes**: the trees of the sums follow
//!   from the number of their elements alone, however these are divided into chunks and parts.
//! - **Running allocates nothing.**

mod accumulate;
mod blocks;
mod code;
mod columns;
pub(crate) mod loops;
mod pattern;
mod reduce;
mod run;
mod take;
mod verify;

use std::fmt;
use std::ops::Range;

use crate::cost::{CHUNK_BYTES, CHUNK_ELEMENTS, MAX_PARTS, PART_WORK, QUICK_BYTES, QUICK_ELEMENTS, SHARING_PARTS};
use crate::pool::Panicked;
use reduce::LEAF;

pub use blocks::{Block, Blocks};
pub use code::{Binary, Call1, Call2, Compare, Instr, Join, Kind, Op, Pair, Twin, Unary};
pub use columns::TOGETHER;
pub use pattern::Pattern;
pub use reduce::tree;
pub use take::Take;
pub use verify::Invalid;

/// Elements that a region reads.
#[derive(Clone, Copy, Debug)]
pub enum Slice<'a> {
    /// Truth values, 0 or 1.
    U8(&'a [u8]),
    /// Integers.
    I64(&'a [i64]),
    /// Single precision.
    F32(&'a [f32]),
    /// Double precision.
    F64(&'a [f64]),
    /// The previous contents of the output with this number, which is overwritten. See [`Region::in_place`].
    Output(u16),
}

impl Slice<'_> {
    /// The elements from a position on; an output is returned unchanged.
    ///
    /// # Panics
    /// If there are fewer.
    #[inline]
    pub fn from(self, start: usize) -> Self {
        match self {
            Slice::U8(x) => Slice::U8(&x[start..]),
            Slice::I64(x) => Slice::I64(&x[start..]),
            Slice::F32(x) => Slice::F32(&x[start..]),
            Slice::F64(x) => Slice::F64(&x[start..]),
            Slice::Output(k) => Slice::Output(k),
        }
    }

    /// The elements of a range; an output is returned unchanged.
    ///
    /// # Panics
    /// If there are fewer.
    #[inline]
    pub fn range(self, range: Range<usize>) -> Self {
        match self {
            Slice::U8(x) => Slice::U8(&x[range]),
            Slice::I64(x) => Slice::I64(&x[range]),
            Slice::F32(x) => Slice::F32(&x[range]),
            Slice::F64(x) => Slice::F64(&x[range]),
            Slice::Output(k) => Slice::Output(k),
        }
    }
}

/// Elements that a region writes.
#[derive(Debug)]
pub enum SliceMut<'a> {
    /// Truth values.
    U8(&'a mut [u8]),
    /// Integers.
    I64(&'a mut [i64]),
    /// Single precision.
    F32(&'a mut [f32]),
    /// Double precision.
    F64(&'a mut [f64]),
}

impl<'a> SliceMut<'a> {
    /// The elements before this one, and those from it on.
    ///
    /// # Panics
    /// If there are fewer.
    #[inline]
    pub fn split_at(self, at: usize) -> (SliceMut<'a>, SliceMut<'a>) {
        macro_rules! split {
            ($x:expr, $kind:ident) => {{
                let (before, after) = $x.split_at_mut(at);
                (SliceMut::$kind(before), SliceMut::$kind(after))
            }};
        }
        match self {
            SliceMut::U8(x) => split!(x, U8),
            SliceMut::I64(x) => split!(x, I64),
            SliceMut::F32(x) => split!(x, F32),
            SliceMut::F64(x) => split!(x, F64),
        }
    }

    /// The elements, to be read.
    #[inline]
    pub fn read(&self) -> Slice<'_> {
        match self {
            SliceMut::U8(x) => Slice::U8(x),
            SliceMut::I64(x) => Slice::I64(x),
            SliceMut::F32(x) => Slice::F32(x),
            SliceMut::F64(x) => Slice::F64(x),
        }
    }

    /// The elements, for as long as this borrow.
    #[inline]
    pub fn reborrow(&mut self) -> SliceMut<'_> {
        match self {
            SliceMut::U8(x) => SliceMut::U8(x),
            SliceMut::I64(x) => SliceMut::I64(x),
            SliceMut::F32(x) => SliceMut::F32(x),
            SliceMut::F64(x) => SliceMut::F64(x),
        }
    }

    /// The elements of a range.
    ///
    /// # Panics
    /// If there are fewer.
    #[inline]
    pub fn range(&mut self, range: Range<usize>) -> SliceMut<'_> {
        match self {
            SliceMut::U8(x) => SliceMut::U8(&mut x[range]),
            SliceMut::I64(x) => SliceMut::I64(&mut x[range]),
            SliceMut::F32(x) => SliceMut::F32(&mut x[range]),
            SliceMut::F64(x) => SliceMut::F64(&mut x[range]),
        }
    }

    /// Writes these elements, which are as many and of the same kind.
    ///
    /// # Panics
    /// If they are not.
    pub fn copy_from(&mut self, elements: Slice<'_>) {
        match (self, elements) {
            (SliceMut::U8(x), Slice::U8(y)) => x.copy_from_slice(y),
            (SliceMut::I64(x), Slice::I64(y)) => x.copy_from_slice(y),
            (SliceMut::F32(x), Slice::F32(y)) => x.copy_from_slice(y),
            (SliceMut::F64(x), Slice::F64(y)) => x.copy_from_slice(y),
            (x, y) => panic!("{y:?} is copied to {x:?}"),
        }
    }
}

/// Which elements a value has: its level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Granularity {
    /// One for each column of each row.
    Full,
    /// One for each row.
    Row,
}

/// The elements that a region walks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Space {
    /// Groups, each with a result of its own in every accumulator.
    pub groups: usize,
    /// Rows of a group.
    pub rows: usize,
    /// Columns of a row.
    pub cols: usize,
}

impl Space {
    /// How many elements a value of this level has.
    pub fn count(&self, level: Granularity) -> usize {
        match level {
            Granularity::Full => self.groups * self.rows * self.cols,
            Granularity::Row => self.groups * self.rows,
        }
    }
}

/// A piece of scratch with a chunk of some value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot {
    /// The widest element it has to hold.
    pub kind: Kind,
    /// Which elements it has.
    pub level: Granularity,
}

/// An input read, or an output written, in place: its elements are contiguous.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Direct {
    /// Whether it is an input or an output, and its number.
    pub place: Place,
    /// Its elements.
    pub kind: Kind,
    /// Which elements it has.
    pub level: Granularity,
    /// Position of the first one.
    pub offset: usize,
}

/// An operand of a region by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// An input.
    Input(u16),
    /// An output.
    Output(u16),
}

/// Elements that are copied between memory and a slot.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Transfer {
    /// The number of the input or output.
    pub operand: u16,
    /// The elements.
    pub kind: Kind,
    /// Which elements there are.
    pub level: Granularity,
    /// Where they lie.
    pub pattern: Pattern,
}

/// A reduction that collects the elements of all chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Accumulator {
    /// The elements.
    pub kind: Kind,
    /// What joins them.
    pub join: Join,
    /// Which elements a chunk has.
    pub level: Granularity,
    /// Whether there is a result for each column of a group, or one for each group.
    pub width: Width,
    /// The number of the output; its elements follow each other.
    pub output: u16,
}

/// How many results of a group an accumulator has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Width {
    /// One for each column.
    Cols,
    /// One.
    One,
}

/// What a region consists of; see [`Region::new`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Parts {
    /// What it walks.
    pub space: Space,
    /// Pieces of scratch. The table of places has the slots first, then `directs`.
    pub slots: Vec<Slot>,
    /// Memory that is used in place.
    pub directs: Vec<Direct>,
    /// Slots that hold the same number everywhere, as bits (in the low bytes). No instruction writes them.
    pub constants: Vec<(u16, u64)>,
    /// Slots filled from a load at the start: its elements are the same in every row. No instruction writes them.
    pub repeated: Vec<(u16, u16)>,
    /// Elements copied into slots.
    pub loads: Vec<Transfer>,
    /// Values assembled from blocks.
    pub blocks: Vec<Blocks>,
    /// Values that are looked up.
    pub takes: Vec<Take>,
    /// Elements copied from slots.
    pub stores: Vec<Transfer>,
    /// Reductions over rows or over everything.
    pub accumulators: Vec<Accumulator>,
    /// The instructions in order.
    pub code: Vec<Instr>,
    /// How many operands it reads.
    pub inputs: usize,
    /// How many it writes.
    pub outputs: usize,
}

/// Why a region did not do its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failed {
    /// A function that an instruction calls panicked.
    Panicked(Panicked),
    /// An index has no row, in the first lookup of which that is so, by its number among [`Parts::takes`].
    Missing(usize),
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failed::Panicked(why) => why.fmt(f),
            Failed::Missing(take) => write!(f, "an index of lookup {take} has no row"),
        }
    }
}

impl std::error::Error for Failed {}

/// For each operand, of the inputs and of the outputs: the kind, and the least number of elements it must have; `None` if it is
/// not used.
type Needs = (Vec<Option<(Kind, usize)>>, Vec<Option<(Kind, usize)>>);

/// A checked region; see the [module](self).
#[derive(Clone, Debug)]
pub struct Region {
    parts: Parts,
    /// The offset in bytes of the addresses of the table's places, which are worked out once for a chunk: each is read by several
    /// instructions. A value made of blocks is read where it lies, if a chunk of it lies in one piece.
    addresses_at: usize,
    /// The offset in bytes of each slot in a chunk's scratch.
    offsets: Vec<usize>,
    /// The offset in bytes of each accumulator, after the slots.
    accumulators_at: Vec<usize>,
    /// Bytes of scratch of one thread.
    scratch: usize,
    /// The offset in bytes of each accumulator's partial results.
    partials_at: Vec<usize>,
    /// Bytes of all partial results.
    partials: usize,
    /// For each accumulator: the leaves of its groups.
    spans: Vec<accumulate::Span>,
    division: Division,
    /// Inputs and outputs that may be one piece of memory.
    in_place: Vec<(u16, u16)>,
    /// For each input and output: the kind, and the least number of elements it must have.
    needs: Needs,
    /// Stores of neighbouring columns.
    together: Vec<Range<usize>>,
}

/// How a region is divided: into parts, which threads take, and these into chunks. It depends on the region alone.
#[derive(Clone, Copy, Debug)]
struct Division {
    /// Rows of a chunk.
    chunk: usize,
    /// Parts of each group.
    parts_of_group: usize,
    /// Rows of a part.
    part_rows: usize,
    /// Groups of each part, if a group has one part only.
    groups_of_part: usize,
    /// Groups of each chunk: several if they are small.
    together: usize,
    /// Rows that the accumulators of columns join one after the other; parts consist of whole units if there are any.
    unit: usize,
}

impl Division {
    fn of(parts: &Parts) -> Division {
        let Space { groups, rows, cols } = parts.space;
        let bytes =
            |slot: &Slot| if slot.level == Granularity::Full { slot.kind.size() * cols } else { slot.kind.size() };
        let row = parts.slots.iter().map(bytes).sum::<usize>().max(1);
        let (least, most) = CHUNK_ELEMENTS;
        let quick =
            cols == 1 && QUICK_BYTES / row >= QUICK_ELEMENTS && parts.code.iter().all(|instr| instr.op.is_quick());
        let bytes = if quick { QUICK_BYTES } else { CHUNK_BYTES };
        let elements = (bytes / row).saturating_mul(cols).clamp(least, most);
        // Whole leaves of sums, where that is possible.
        let elements = if elements >= LEAF { elements / LEAF * LEAF } else { elements / 64 * 64 };
        let room = (elements / cols.max(1)).max(1);
        let chunk = room.min(rows.max(1));
        let chunks = rows.div_ceil(chunk);
        let work = cols.saturating_mul(1 + parts.code.len());
        let chunks_of_part = (PART_WORK / chunk.saturating_mul(work).max(1)).max(1);
        // Few groups: several parts each. Many: a part has several.
        let divided = |level: Granularity| {
            let wide = if level == Granularity::Full { cols } else { 1 };
            !(chunk * wide).is_multiple_of(LEAF) && chunk < rows
        };
        let shares = parts.accumulators.iter().any(|acc| acc.width == Width::One && divided(acc.level));
        let wanted = (if shares { SHARING_PARTS } else { MAX_PARTS } / groups.max(1)).max(1);
        let chunks_of_part = chunks_of_part.max(chunks.div_ceil(wanted));
        let unit = accumulate::unit(&parts.space);
        let by_units = parts.accumulators.iter().any(|acc| acc.width == Width::Cols);
        let part_rows = match chunks_of_part * chunk {
            part_rows if by_units => part_rows.next_multiple_of(unit),
            part_rows => part_rows,
        };
        let parts_of_group = rows.div_ceil(part_rows).max(1);
        let groups_of_part = match parts_of_group {
            1 => (PART_WORK / rows.saturating_mul(work).max(1)).max(groups.div_ceil(MAX_PARTS)).max(1),
            _ => 1,
        };
        // Groups of a leaf of a sum, or less, would spend their time in starting instructions. A chunk has no more of them than
        // there are.
        let small = parts_of_group == 1 && (1..=LEAF).contains(&rows.saturating_mul(cols));
        let together = if small { (room / rows).min(groups_of_part).min(groups).max(1) } else { 1 };
        Division { chunk: chunk * together, parts_of_group, part_rows, groups_of_part, together, unit }
    }

    fn count(&self, space: &Space) -> usize {
        if self.parts_of_group > 1 {
            space.groups * self.parts_of_group
        } else {
            space.groups.div_ceil(self.groups_of_part)
        }
    }
}

impl Region {
    /// What the region consists of.
    pub fn parts(&self) -> &Parts {
        &self.parts
    }

    /// Bytes of scratch that [`Region::run`] needs with this many threads, rounded to lines.
    pub fn scratch(&self, threads: usize) -> usize {
        self.partials + self.scratch * threads
    }

    /// The number of operations on elements: instructions times elements, not counting those that only move data, from places
    /// that are known beforehand.
    pub fn operations(&self) -> usize {
        let moves = |op: &Op| {
            matches!(op, Op::Load(_) | Op::Blocks(_) | Op::Store(_) | Op::Spread(_) | Op::Unary(Unary::Copy, _))
        };
        let full = self.parts.space.count(Granularity::Full);
        let level = |instr: &Instr| match instr.op {
            Op::Accumulate(_) | Op::JoinCols(..) => full,
            Op::Dot(_) | Op::AccumulateProduct(_) => 2 * full,
            Op::Pair(..) | Op::Twin(..) => 2 * self.parts.space.count(verify::level(&self.parts, instr.out)),
            _ => self.parts.space.count(verify::level(&self.parts, instr.out)),
        };
        self.parts.code.iter().filter(|instr| !moves(&instr.op)).map(level).sum()
    }

    /// Pairs of an input and an output that may share memory ([`Slice::Output`]): they have the same layout,
    /// and every chunk reads before it writes.
    pub fn in_place(&self) -> &[(u16, u16)] {
        &self.in_place
    }

    /// How many parts it has; they may run at the same time.
    pub fn part_count(&self) -> usize {
        self.division.count(&self.parts.space)
    }
}
