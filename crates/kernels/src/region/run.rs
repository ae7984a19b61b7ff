//! Running a region: parts over threads, chunks in a part, instructions on a chunk.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::code::{Instr, Kind, Op};
use super::pattern::{for_float, for_kind, gather, scatter};
use super::reduce::{dot_cols, join_cols};
use super::{Blocks, Failed, Granularity, Place, Region, Slice, SliceMut, loops, verify};
use crate::arena::Line;
use crate::pool::Pool;

/// Where operands lie; shared by the threads.
pub(super) struct Memory<'a> {
    pub(super) region: &'a Region,
    inputs: &'a [*mut u8],
    pub(super) outputs: &'a [*mut u8],
    scratch: *mut u8,
    /// The first lookup with an index that has no row.
    missing: AtomicUsize,
}

// SAFETY: the pointers belong to slices that the caller of `Region::run` lends for the whole call. Parts read inputs, and
// write elements of outputs and pieces of scratch that no other part touches: patterns of stores are injective, chunks
// are disjoint, and each thread has a scratch of its own. Test `threads_do_not_change_the_bits`.
unsafe impl Sync for Memory<'_> {}

/// How many threads remember that they have filled the constant slots.
const MARKS: usize = 64;
/// The most inputs or outputs of a region that need no list on the heap.
pub(super) const MAX_OPERANDS: usize = 256;
/// As many as small regions have, for which clearing the longest lists would take longer than computing.
const FEW_OPERANDS: usize = 16;

impl Region {
    /// Runs the region. `scratch` has [`Region::scratch`] bytes for the threads of the pool.
    ///
    /// # Errors
    /// If a function that an instruction calls panicked, or an index of a lookup has no row where it must.
    ///
    /// # Panics
    /// If an operand is missing, has another kind or is too short, if an input is an output without being one of
    /// [`Region::in_place`], or if the scratch is too small.
    pub fn run(
        &self,
        inputs: &[Slice<'_>],
        outputs: &mut [SliceMut<'_>],
        scratch: &mut [Line],
        pool: &Pool,
    ) -> Result<(), Failed> {
        assert!(size_of_val(scratch) >= self.scratch(pool.threads()), "the scratch of a region is too small");
        assert!(inputs.len() == self.parts.inputs && outputs.len() == self.parts.outputs, "operands of a region");
        assert!(inputs.len() <= MAX_OPERANDS && outputs.len() <= MAX_OPERANDS, "a region has too many operands");
        if inputs.len().max(outputs.len()) <= FEW_OPERANDS {
            self.run_at([std::ptr::null_mut(); FEW_OPERANDS], inputs, outputs, scratch, pool)
        } else {
            self.run_at([std::ptr::null_mut(); MAX_OPERANDS], inputs, outputs, scratch, pool)
        }
    }

    /// Runs the region with lists of this many pointers.
    fn run_at<const MOST: usize>(
        &self,
        none: [*mut u8; MOST],
        inputs: &[Slice<'_>],
        outputs: &mut [SliceMut<'_>],
        scratch: &mut [Line],
        pool: &Pool,
    ) -> Result<(), Failed> {
        let (mut reads, mut writes) = (none, none);
        for (k, output) in outputs.iter_mut().enumerate() {
            writes[k] = checked(raw_mut(output), self.needs.1[k], "output", k);
        }
        for (k, input) in inputs.iter().enumerate() {
            reads[k] = match input {
                Slice::Output(o) => {
                    assert!(self.in_place.contains(&(k as u16, *o)), "input {k} cannot be output {o}");
                    let (kind, pointer, length) = raw_mut(&mut outputs[usize::from(*o)]);
                    checked((kind, pointer, length), self.needs.0[k], "input", k)
                }
                other => checked(raw(other), self.needs.0[k], "input", k),
            };
        }
        if self.parts.space.groups == 0 {
            return Ok(());
        }
        let memory = Memory {
            region: self,
            inputs: &reads[..inputs.len()],
            outputs: &writes[..outputs.len()],
            scratch: scratch.as_mut_ptr().cast(),
            missing: AtomicUsize::new(usize::MAX),
        };
        let memory = &memory;
        let count = self.division.count(&self.parts.space);
        // Which threads have filled the constant slots; threads beyond the limit fill them for every part.
        let prepared: [AtomicBool; MARKS] = [const { AtomicBool::new(false) }; MARKS];
        // Also with one thread: a function that panics is an error there too.
        pool.run(count, &|part, thread| {
            // A thread reads and writes only its own mark: two accesses take less than one that others wait for.
            let mark = prepared.get(thread);
            let ready = mark.is_some_and(|mark| mark.load(Ordering::Relaxed));
            memory.run(part, thread, ready);
            if let Some(mark) = mark {
                mark.store(true, Ordering::Relaxed);
            }
        })
        .map_err(Failed::Panicked)?;
        match memory.missing.load(Ordering::Relaxed) {
            usize::MAX => {}
            take => return Err(Failed::Missing(take)),
        }
        if self.division.parts_of_group > 1 {
            for k in 0..self.parts.accumulators.len() {
                memory.combine(k);
            }
        }
        Ok(())
    }
}

fn raw(slice: &Slice<'_>) -> (Kind, *mut u8, usize) {
    match slice {
        Slice::U8(x) => (Kind::U8, x.as_ptr().cast_mut(), x.len()),
        Slice::I64(x) => (Kind::I64, x.as_ptr().cast_mut().cast(), x.len()),
        Slice::F32(x) => (Kind::F32, x.as_ptr().cast_mut().cast(), x.len()),
        Slice::F64(x) => (Kind::F64, x.as_ptr().cast_mut().cast(), x.len()),
        Slice::Output(_) => unreachable!("resolved by the caller"),
    }
}

fn raw_mut(slice: &mut SliceMut<'_>) -> (Kind, *mut u8, usize) {
    match slice {
        SliceMut::U8(x) => (Kind::U8, x.as_mut_ptr(), x.len()),
        SliceMut::I64(x) => (Kind::I64, x.as_mut_ptr().cast(), x.len()),
        SliceMut::F32(x) => (Kind::F32, x.as_mut_ptr().cast(), x.len()),
        SliceMut::F64(x) => (Kind::F64, x.as_mut_ptr().cast(), x.len()),
    }
}

/// The pointer of an operand that has what the region needs.
fn checked(
    (kind, pointer, length): (Kind, *mut u8, usize),
    need: Option<(Kind, usize)>,
    what: &str,
    number: usize,
) -> *mut u8 {
    if let Some((wanted, end)) = need {
        assert!(
            kind == wanted && length >= end,
            "{what} {number} of a region is {length} of {kind:?}, not {end} of {wanted:?}"
        );
    }
    pointer
}

impl Memory<'_> {
    /// Runs one part; the thread's constant slots may be ready from an earlier part.
    fn run(&self, part: usize, thread: usize, ready: bool) {
        let region = self.region;
        let (space, division) = (&region.parts.space, &region.division);
        let mut chunk = Chunk {
            memory: self,
            // SAFETY: `Region::run` checked that the scratch has a piece for every thread, after the partial results.
            scratch: unsafe { self.scratch.add(region.partials + thread * region.scratch) },
            first: 0,
            rows: 0,
            group: 0,
            part: 0,
        };
        if !ready {
            chunk.prepare();
        }
        chunk.address_slots();
        if division.parts_of_group > 1 {
            let (group, k) = (part / division.parts_of_group, part % division.parts_of_group);
            let rows = k * division.part_rows..space.rows.min((k + 1) * division.part_rows);
            chunk.part = k;
            chunk.run_rows(group, rows);
        } else {
            let groups = part * division.groups_of_part..space.groups.min((part + 1) * division.groups_of_part);
            for group in groups.clone().step_by(division.together) {
                match division.together {
                    1 => chunk.run_rows(group, 0..space.rows),
                    together => chunk.run_groups(group, together.min(groups.end - group)),
                }
            }
        }
    }
}

/// The rows that are being computed.
pub(super) struct Chunk<'a> {
    pub(super) memory: &'a Memory<'a>,
    scratch: *mut u8,
    /// The number of the first row, over all groups.
    pub(super) first: usize,
    pub(super) rows: usize,
    pub(super) group: usize,
    /// The part of the group.
    pub(super) part: usize,
}

impl Chunk<'_> {
    /// The position of the first among all elements, and how many there are.
    #[inline(always)]
    pub(super) fn range(&self, level: Granularity) -> (usize, usize) {
        match level {
            Granularity::Full => {
                let cols = self.memory.region.parts.space.cols;
                (self.first * cols, self.rows * cols)
            }
            Granularity::Row => (self.first, self.rows),
        }
    }

    #[inline(always)]
    fn slot(&self, slot: u16) -> *mut u8 {
        // SAFETY: offsets of slots are inside the scratch of a thread (`Region::laid_out`).
        unsafe { self.scratch.add(self.memory.region.offsets[usize::from(slot)]) }
    }

    /// Where the address of a place of the table stands for this chunk.
    #[inline(always)]
    fn address(&self, place: u16) -> *mut *mut u8 {
        // SAFETY: there is an address for every place of the table (`Region::laid_out`), and `Region::new` checked that places
        // exist. The addresses lie inside the scratch of a thread, which begins at a line.
        unsafe { self.scratch.add(self.memory.region.addresses_at).cast::<*mut u8>().add(usize::from(place)) }
    }

    /// Writes down where the slots lie: every value is in its slot.
    fn address_slots(&self) {
        for slot in 0..self.memory.region.parts.slots.len() as u16 {
            // SAFETY: as in `address`.
            unsafe { self.address(slot).write(self.slot(slot)) };
        }
    }

    /// Writes down where the rows of this chunk lie in the operands that are used in place.
    fn address_directs(&self) {
        let parts = &self.memory.region.parts;
        for (k, direct) in parts.directs.iter().enumerate() {
            let base = match direct.place {
                Place::Input(k) => self.memory.inputs[usize::from(k)],
                Place::Output(k) => self.memory.outputs[usize::from(k)],
            };
            let (start, _) = self.range(direct.level);
            // SAFETY: `run` checked that the operand has `offset + count(level)` elements; for the table, as in `address`.
            unsafe {
                let own = base.add((direct.offset + start) * direct.kind.size());
                self.address((parts.slots.len() + k) as u16).write(own);
            }
        }
    }

    /// The address from which a place of the table is read for this chunk.
    #[inline(always)]
    pub(super) fn read(&self, place: u16) -> *const u8 {
        // SAFETY: as in `address`; the table was filled by `address_slots` and `address_directs`.
        unsafe { self.address(place).read().cast_const() }
    }

    /// The address to which the value of a place of the table is written for this chunk, and its level.
    #[inline(always)]
    fn write(&self, place: u16) -> (*mut u8, Granularity) {
        let parts = &self.memory.region.parts;
        // SAFETY: as in `read`.
        let address = unsafe { &mut *self.address(place) };
        let level = match parts.slots.get(usize::from(place)) {
            Some(slot) => {
                if !parts.blocks.is_empty() {
                    // Blocks that lie in one piece may have been read where they lie.
                    *address = self.slot(place);
                }
                slot.level
            }
            None => parts.directs[usize::from(place) - parts.slots.len()].level,
        };
        (*address, level)
    }

    /// The address from which blocks are read, if this chunk of them lies in one piece.
    #[inline(always)]
    fn lies(&self, blocks: &Blocks, start: usize, count: usize) -> Option<*mut u8> {
        let (operand, position) = blocks.lies(start, count)?;
        // SAFETY: the elements are some of those that the operand was checked to have (`Blocks::needs`).
        Some(unsafe { self.memory.inputs[usize::from(operand)].add(position * blocks.kind().size()) })
    }

    #[inline(always)]
    pub(super) fn accumulator(&self, k: usize) -> *mut u8 {
        // SAFETY: as for slots.
        unsafe { self.scratch.add(self.memory.region.accumulators_at[k]) }
    }

    /// Fills the constant slots.
    fn prepare(&mut self) {
        let region = self.memory.region;
        let chunk = region.division.chunk;
        for &(slot, bits) in &region.parts.constants {
            let own = region.parts.slots[usize::from(slot)];
            let count = if own.level == Granularity::Full { chunk * region.parts.space.cols } else { chunk };
            let to = self.slot(slot);
            // SAFETY: the slot holds `count` elements of its kind (`Region::laid_out`).
            unsafe {
                match own.kind {
                    Kind::U8 => std::slice::from_raw_parts_mut(to, count).fill(bits as u8),
                    Kind::F32 => std::slice::from_raw_parts_mut(to.cast::<u32>(), count).fill(bits as u32),
                    Kind::I64 | Kind::F64 => std::slice::from_raw_parts_mut(to.cast::<u64>(), count).fill(bits),
                }
            }
        }
        for &(slot, load) in &region.parts.repeated {
            let load = &region.parts.loads[usize::from(load)];
            let count = (chunk * region.parts.space.cols).min(load.pattern.count());
            let from = self.memory.inputs[usize::from(load.operand)];
            // SAFETY: `run` checked the operand's length against the pattern's end; the slot holds `count` elements.
            unsafe { gather(load.kind, &load.pattern, from, self.slot(slot), 0, count) };
        }
    }

    /// Runs rows of a group, chunk by chunk, with fresh accumulators, whose results go to the part's memory or to the outputs.
    fn run_rows(&mut self, group: usize, rows: std::ops::Range<usize>) {
        let region = self.memory.region;
        self.group = group;
        for k in 0..region.parts.accumulators.len() {
            self.start(k);
        }
        let mut row = rows.start;
        while row < rows.end {
            self.rows = region.division.chunk.min(rows.end - row);
            self.first = group * region.parts.space.rows + row;
            self.code();
            row += self.rows;
        }
        for k in 0..region.parts.accumulators.len() {
            self.finish(k);
        }
    }

    /// Runs several whole groups as one chunk; their results go to the outputs.
    fn run_groups(&mut self, group: usize, count: usize) {
        let region = self.memory.region;
        self.group = group;
        self.rows = count * region.parts.space.rows;
        self.first = group * region.parts.space.rows;
        self.code();
    }

    /// Runs the instructions on the rows.
    fn code(&self) {
        let region = self.memory.region;
        self.address_directs();
        let code = &region.parts.code;
        let mut done = 0;
        for stores in &region.together {
            code[done..stores.start].iter().for_each(|instr| self.step(instr));
            self.store_columns(&code[stores.clone()]);
            done = stores.end;
        }
        code[done..].iter().for_each(|instr| self.step(instr));
    }

    fn step(&self, instr: &Instr) {
        let (out, level) = match instr.op {
            Op::Store(_) | Op::Accumulate(_) | Op::AccumulateProduct(_) => (std::ptr::null_mut(), Granularity::Full),
            _ => self.write(instr.out),
        };
        let (start, n) = self.range(level);
        let at = |place: u16| self.read(place);
        let region = self.memory.region;
        // SAFETY: `Region::new` checked that places exist, hold the kind and level, and that the result is none of the
        // operands; `run` checked the operands' lengths. So every pointer is valid for the `n` elements of the level.
        unsafe {
            match instr.op {
                Op::Unary(f, kind) => loops::unary(f, kind, at(instr.a), out, n),
                Op::Binary(f, kind) => loops::binary(f, kind, at(instr.a), at(instr.b), out, n),
                Op::Compare(f, kind) => loops::compare(f, kind, at(instr.a), at(instr.b), out, n),
                Op::Select(kind) => loops::select(kind, at(instr.a), at(instr.b), at(instr.c), out, n),
                Op::Convert(from, to) => loops::convert(from, to, at(instr.a), out, n),
                Op::Pair(f, kind) => loops::pair(f, kind, [at(instr.a), at(instr.b), at(instr.c)], out, n),
                Op::Twin(f, kind) => loops::twin(f, kind, at(instr.a), [out, self.write(instr.b).0], n),
                Op::Power(power, kind) => loops::power(power, kind, at(instr.a), out, n),
                Op::Call1(f, number, kind) => loops::call1(f, number, kind, at(instr.a), out, n),
                Op::Call2(f, number, kind) => loops::call2(f, number, kind, at(instr.a), at(instr.b), out, n),
                Op::Spread(kind) => loops::spread(kind, at(instr.a), out, self.rows, region.parts.space.cols),
                Op::JoinCols(join, kind) => {
                    let cols = region.parts.space.cols;
                    for_kind!(kind, T => {
                        let x = std::slice::from_raw_parts(at(instr.a).cast::<T>(), self.rows * cols);
                        let out = std::slice::from_raw_parts_mut(out.cast::<T>(), self.rows);
                        join_cols(join, x, out, cols);
                    });
                }
                Op::Dot(kind) => {
                    let cols = region.parts.space.cols;
                    for_float!(kind, T => {
                        // Rows that are all the same are read from the first, which stays in the first-level cache.
                        let same = region.parts.repeated.iter().any(|&(slot, _)| slot == instr.b);
                        let counts = [self.rows * cols, if same { cols } else { self.rows * cols }];
                        let x = std::slice::from_raw_parts(at(instr.a).cast::<T>(), counts[0]);
                        let y = std::slice::from_raw_parts(at(instr.b).cast::<T>(), counts[1]);
                        dot_cols(x, y, std::slice::from_raw_parts_mut(out.cast::<T>(), self.rows), cols);
                    });
                }
                Op::Load(k) => {
                    let load = &region.parts.loads[usize::from(k)];
                    let from = self.memory.inputs[usize::from(load.operand)];
                    gather(load.kind, &load.pattern, from, out, start, n);
                }
                Op::Blocks(k) => {
                    let blocks = &region.parts.blocks[usize::from(k)];
                    // No output has the memory of an operand of blocks (`in_place`), so that it stays until it is read.
                    match self.lies(blocks, start, n).filter(|_| usize::from(instr.out) < region.parts.slots.len()) {
                        Some(address) => self.address(instr.out).write(address),
                        None => blocks.gather(self.memory.inputs, out, start, n),
                    }
                }
                Op::Take(k) => {
                    let take = &region.parts.takes[usize::from(k)];
                    if !take.take(self.memory.inputs, out, start, n) && take.must {
                        self.memory.missing.fetch_min(usize::from(k), Ordering::Relaxed);
                    }
                }
                Op::Store(k) => {
                    let store = &region.parts.stores[usize::from(k)];
                    let (start, n) = self.range(store.level);
                    let to = self.memory.outputs[usize::from(store.operand)];
                    scatter(store.kind, &store.pattern, at(instr.a), to, start, n);
                }
                Op::Accumulate(k) => self.accumulate(usize::from(k), at(instr.a)),
                Op::AccumulateProduct(k) => {
                    let level = verify::level(&region.parts, instr.a);
                    self.accumulate_product(usize::from(k), at(instr.a), level, at(instr.b));
                }
            }
        }
    }
}

impl Memory<'_> {
    /// The partial results of an accumulator.
    #[inline(always)]
    pub(super) fn partial(&self, k: usize) -> *mut u8 {
        // SAFETY: offsets of partial results are inside the scratch (`Region::laid_out`, checked by `run`).
        unsafe { self.scratch.add(self.region.partials_at[k]) }
    }
}
