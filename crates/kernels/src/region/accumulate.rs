//! Accumulators: the running reductions of a group, over chunks, parts and threads.
//!
//! The bits of a result depend on how many elements it has and on their order alone: not on chunks, on parts, on what else
//! the region computes, or on the length of its rows.
//!
//! - One result per group: [`LEAF`] elements that follow each other are a leaf ([`fold`](super::reduce)), neighbouring
//!   leaves are joined in pairs, these in pairs, and so on. A part leaves behind the results of its complete leaves,
//!   and the elements of the others as they are.
//! - One for each column: units of rows ([`unit`]) are joined one after the other, row by row in each.

use std::ops::Range;

use super::code::Kind;
use super::pattern::{for_float, for_kind};
use super::reduce::{Joined, LEAF, dot_cols, dot_rows, join_cols, join_rows};
use super::run::{Chunk, Memory};
use super::{Accumulator, Division, Granularity, Space, Width};
use crate::float::Float;

/// The largest number of units of one group.
const UNITS: usize = 64;
/// The least number of elements of a unit.
const UNIT_ELEMENTS: usize = 1 << 13;
/// Leaves that are joined in one call.
const AT_ONCE: usize = 8;
/// Bytes of a number in a tree.
const NODE: usize = 8;
/// The largest number of unfinished nodes in the tree of a group: two for each power of two.
const NODES: usize = 2 * usize::BITS as usize;

/// Rows that the accumulators of columns join one after the other.
pub(super) fn unit(space: &Space) -> usize {
    space.rows.div_ceil(UNITS).max(UNIT_ELEMENTS.div_ceil(space.cols.max(1))).max(1)
}

/// The elements of a group, divided into parts and leaves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    /// Elements of a group.
    count: usize,
    /// Elements of a part; the last one may have fewer.
    part: usize,
    parts: usize,
    /// Whether chunks begin and end inside of leaves.
    buffered: bool,
}

impl Span {
    pub(super) fn new(division: &Division, space: &Space, level: Granularity) -> Span {
        let wide = if level == Granularity::Full { space.cols } else { 1 };
        let (count, part, parts) = match division.parts_of_group {
            0 | 1 => (space.rows * wide, space.rows * wide, 1),
            parts => (space.rows * wide, division.part_rows * wide, parts),
        };
        let whole = |elements: usize| elements.is_multiple_of(LEAF) || elements >= count;
        Span { count, part, parts, buffered: !(whole(division.chunk * wide) && whole(part)) }
    }

    fn leaves(&self) -> usize {
        self.count.div_ceil(LEAF)
    }

    /// The leaves of which a part has all elements.
    fn whole(&self, part: usize) -> Range<usize> {
        let (start, end) = (part * self.part, self.count.min((part + 1) * self.part));
        let first = start.div_ceil(LEAF);
        let last = if end == self.count { self.leaves() } else { end / LEAF };
        first..last.max(first)
    }

    /// Where the elements of a leaf shared by several parts lie: the number of the first boundary inside it.
    fn shared(&self, leaf: usize) -> usize {
        leaf * LEAF / self.part
    }

    /// The largest number of nodes that a part leaves behind.
    fn nodes(&self) -> usize {
        (0..self.parts).map(|part| sizes(self.whole(part)).count()).max().unwrap_or(0)
    }

    /// Bytes of scratch for elements of this size: the number of nodes, the nodes, and a leaf that is not full yet.
    pub(super) fn scratch(&self, size: usize) -> usize {
        let levels = 2 * (usize::BITS - self.whole(0).len().leading_zeros()) as usize + 2;
        NODE * (1 + levels.min(NODES)) + if self.buffered { LEAF * size } else { 0 }
    }

    /// Bytes of the partial results of a group: the nodes of every part, then the leaves that parts share.
    pub(super) fn partials(&self, size: usize) -> usize {
        let shared = if self.part.is_multiple_of(LEAF) { 0 } else { LEAF * size * (self.parts - 1) };
        (NODE * self.nodes() * self.parts + shared).next_multiple_of(NODE)
    }
}

/// The leaves of the largest subtrees that a range of leaves consists of, in order.
fn sizes(leaves: Range<usize>) -> impl Iterator<Item = usize> {
    let mut at = leaves.start;
    std::iter::from_fn(move || {
        let left = leaves.end - at;
        let aligned = if at == 0 { usize::MAX } else { 1 << at.trailing_zeros() };
        let size = if left == 0 { return None } else { aligned.min(1 << left.ilog2()) };
        at += size;
        Some(size)
    })
}

/// Appends a subtree of `size` leaves that ends at leaf `end`, and joins pairs of halves.
#[inline(always)]
fn push<T: Joined>(
    acc: &Accumulator,
    nodes: &mut [T::Wide],
    held: &mut usize,
    node: T::Wide,
    at: (Range<usize>, usize),
) {
    let (Range { start: first, end }, mut size) = at;
    nodes[*held] = node;
    *held += 1;
    while end.is_multiple_of(2 * size) && end >= first + 2 * size {
        *held -= 1;
        nodes[*held - 1] = T::join_wide(acc.join, nodes[*held - 1], nodes[*held]);
        size *= 2;
    }
}

/// All subtrees of a group joined: the smaller ones, which are the last, first.
fn root<T: Joined>(acc: &Accumulator, nodes: &[T::Wide]) -> T {
    let Some((&last, rest)) = nodes.split_last() else { return T::narrow(T::start_wide(acc.join)) };
    T::narrow(rest.iter().rfold(last, |sum, &node| T::join_wide(acc.join, node, sum)))
}

/// What a chunk hands to an accumulator: elements, or products of elements.
trait Feed<T> {
    /// Joins `sums.len()` runs of `width` elements from `at` on.
    fn join(&self, at: usize, width: usize, sums: &mut [T]);
    /// Writes elements from `at` on.
    fn copy(&self, at: usize, to: &mut [T]);
}

struct Single<'a, T>(&'a Accumulator, &'a [T]);

impl<T: Joined> Feed<T> for Single<'_, T> {
    fn join(&self, at: usize, width: usize, sums: &mut [T]) {
        join_cols(self.0.join, &self.1[at..at + width * sums.len()], sums, width);
    }
    fn copy(&self, at: usize, to: &mut [T]) {
        to.copy_from_slice(&self.1[at..at + to.len()]);
    }
}

struct Weighted<'a, T>(&'a [T], &'a [T]);

impl<T: Joined + Float> Feed<T> for Weighted<'_, T> {
    fn join(&self, at: usize, width: usize, sums: &mut [T]) {
        let range = at..at + width * sums.len();
        dot_cols(&self.0[range.clone()], &self.1[range], sums, width);
    }
    fn copy(&self, at: usize, to: &mut [T]) {
        let factors = self.0[at..].iter().zip(&self.1[at..]);
        to.iter_mut().zip(factors).for_each(|(to, (&x, &y))| *to = x * y);
    }
}

impl Chunk<'_> {
    /// Resets an accumulator to the neutral element.
    pub(super) fn start(&self, k: usize) {
        let acc = &self.memory.region.parts.accumulators[k];
        let (to, cols) = (self.accumulator(k), self.memory.region.parts.space.cols);
        // SAFETY: an accumulator has what `scratch_bytes` says (`Region::laid_out`): a number for each column, twice, or
        // a count and nodes.
        for_kind!(acc.kind, T => unsafe {
            match acc.width {
                Width::Cols => std::slice::from_raw_parts_mut(to.cast::<T>(), 2 * cols).fill(T::start(acc.join)),
                Width::One => *to.cast::<usize>() = 0,
            }
        });
    }

    /// # Safety
    /// `x` is valid for the chunk's elements of the accumulator's level.
    pub(super) unsafe fn accumulate(&self, k: usize, x: *const u8) {
        let acc = &self.memory.region.parts.accumulators[k];
        let (_, n) = self.range(acc.level);
        // SAFETY: the caller's promise.
        for_kind!(acc.kind, T => unsafe {
            let x = std::slice::from_raw_parts(x.cast::<T>(), n);
            match acc.width {
                _ if self.memory.region.division.together > 1 => self.groups(acc, &Single(acc, x), |rows, sums| {
                    let cols = sums.len();
                    join_rows(acc.join, &x[rows.start * cols..rows.end * cols], sums);
                }),
                Width::Cols => {
                    let cols = self.memory.region.parts.space.cols;
                    self.by_units::<T>(k, |rows, sums| join_rows(acc.join, &x[rows.start * cols..rows.end * cols], sums));
                }
                Width::One => self.feed(k, &Single(acc, x), n),
            }
        });
    }

    /// # Safety
    /// `x` is valid for the chunk's elements of this level, `y` for those of the accumulator's, which are real numbers.
    pub(super) unsafe fn accumulate_product(&self, k: usize, x: *const u8, level: Granularity, y: *const u8) {
        let acc = &self.memory.region.parts.accumulators[k];
        let cols = self.memory.region.parts.space.cols;
        let (x_count, y_count) = (self.range(level).1, self.range(acc.level).1);
        // SAFETY: the caller's promise.
        for_float!(acc.kind, T => unsafe {
            let x = std::slice::from_raw_parts(x.cast::<T>(), x_count);
            let y = std::slice::from_raw_parts(y.cast::<T>(), y_count);
            let by_rows = |rows: Range<usize>, sums: &mut [T]| {
                let wide = if level == Granularity::Full { cols } else { 1 };
                dot_rows(&x[rows.start * wide..rows.end * wide], &y[rows.start * cols..rows.end * cols], sums);
            };
            match acc.width {
                _ if self.memory.region.division.together > 1 => self.groups(acc, &Weighted(x, y), by_rows),
                Width::Cols => self.by_units::<T>(k, by_rows),
                Width::One => self.feed(k, &Weighted(x, y), y_count),
            }
        });
    }

    /// Joins the elements of each group of a chunk of whole groups, and writes the results to the output. A group has one
    /// leaf at most, and one unit: the bits are those of groups that are joined alone.
    fn groups<T: Joined>(&self, acc: &Accumulator, x: &impl Feed<T>, by_rows: impl Fn(Range<usize>, &mut [T])) {
        let Space { rows, cols, .. } = self.memory.region.parts.space;
        let groups = self.rows / rows;
        let wide = if acc.width == Width::Cols { cols } else { 1 };
        let output = self.memory.outputs[usize::from(acc.output)].cast::<T>();
        // SAFETY: the output has a number for each group, or as many as columns (`Region::new`, `run`), and these groups are
        // this part's alone.
        let results = unsafe { std::slice::from_raw_parts_mut(output.add(self.group * wide), groups * wide) };
        if acc.width == Width::One {
            let each = if acc.level == Granularity::Full { rows * cols } else { rows };
            return x.join(0, each, results);
        }
        results.fill(T::start(acc.join));
        for (group, results) in results.chunks_exact_mut(cols).enumerate() {
            by_rows(group * rows..(group + 1) * rows, results);
        }
    }

    /// Calls `join` for the rows of the chunk, unit by unit, and hands over the units that have ended.
    fn by_units<T: Joined>(&self, k: usize, join: impl Fn(Range<usize>, &mut [T])) {
        let region = self.memory.region;
        let (Space { rows, cols, .. }, unit) = (region.parts.space, region.division.unit);
        let start = self.first - self.group * rows;
        // SAFETY: as in `start`.
        let sums = unsafe { std::slice::from_raw_parts_mut(self.accumulator(k).cast::<T>(), 2 * cols) };
        let (sums, total) = sums.split_at_mut(cols);
        let mut row = start;
        while row < start + self.rows {
            let end = rows.min((row / unit + 1) * unit).min(start + self.rows);
            join(row - start..end - start, sums);
            if end == rows || end.is_multiple_of(unit) {
                self.hand_over(k, row / unit, sums, total);
            }
            row = end;
        }
    }

    /// Adds a unit to the total of the group, or stores it with the units of all parts.
    fn hand_over<T: Joined>(&self, k: usize, unit: usize, sums: &mut [T], total: &mut [T]) {
        let acc = &self.memory.region.parts.accumulators[k];
        if self.memory.region.division.parts_of_group > 1 {
            let at = self.group * self.memory.units() + unit;
            // SAFETY: there is a place of `cols` numbers for every unit of every group, which is of one part alone.
            let to = unsafe { self.memory.partial(k).cast::<T>().add(at * sums.len()) };
            // SAFETY: as above.
            unsafe { std::ptr::copy_nonoverlapping(sums.as_ptr(), to, sums.len()) };
        } else {
            join_rows(acc.join, sums, total);
        }
        sums.fill(T::start(acc.join));
    }

    /// Joins the next `n` elements of the group to the tree, leaf by leaf.
    fn feed<T: Joined>(&self, k: usize, x: &impl Feed<T>, n: usize) {
        let region = self.memory.region;
        let (acc, span) = (&region.parts.accumulators[k], region.spans[k]);
        let wide = if acc.level == Granularity::Full { region.parts.space.cols } else { 1 };
        let begin = (self.first - self.group * region.parts.space.rows) * wide;
        let whole = span.whole(self.part);
        let state = self.accumulator(k);
        let levels = (span.scratch(0) / NODE) - 1;
        // SAFETY: as in `start`: a count, `levels` nodes of eight bytes, and a leaf if the span is buffered.
        let (held, nodes) = unsafe {
            (&mut *state.cast::<usize>(), std::slice::from_raw_parts_mut(state.add(NODE).cast::<T::Wide>(), levels))
        };
        let mut done = 0;
        while done < n {
            let at = begin + done;
            let leaf = at / LEAF;
            let (from, end) = (leaf * LEAF, span.count.min((leaf + 1) * LEAF));
            let count = (end - at).min(n - done);
            if whole.contains(&leaf) && count == LEAF {
                let mut sums = [T::start(acc.join); AT_ONCE];
                let sums = &mut sums[..AT_ONCE.min((n - done) / LEAF).min(whole.end - leaf)];
                x.join(done, LEAF, sums);
                for (number, sum) in sums.iter().enumerate() {
                    push::<T>(acc, nodes, held, sum.wide(), (whole.start..leaf + number + 1, 1));
                }
                done += LEAF * sums.len();
                continue;
            }
            let mut sum = [T::start(acc.join)];
            if whole.contains(&leaf) && at == from && at + count == end {
                x.join(done, count, &mut sum);
                push::<T>(acc, nodes, held, sum[0].wide(), (whole.start..leaf + 1, 1));
            } else {
                // SAFETY: a chunk that ends inside of a leaf, which is then `buffered`; or a leaf that parts share, each
                // of which writes its own elements. Both have room for a leaf.
                let place = unsafe {
                    match whole.contains(&leaf) {
                        true => state.add(NODE * (1 + levels)).cast::<T>(),
                        false => self.memory.shared(k, self.group, leaf).cast::<T>(),
                    }
                };
                // SAFETY: as above.
                x.copy(done, unsafe { std::slice::from_raw_parts_mut(place.add(at - from), count) });
                if whole.contains(&leaf) && at + count == end {
                    // SAFETY: all elements of the leaf have been written.
                    join_cols(acc.join, unsafe { std::slice::from_raw_parts(place, end - from) }, &mut sum, end - from);
                    push::<T>(acc, nodes, held, sum[0].wide(), (whole.start..leaf + 1, 1));
                }
            }
            done += count;
        }
    }

    /// Hands an accumulator's numbers to the part's place, or to the output if the group has no other part.
    pub(super) fn finish(&self, k: usize) {
        let memory = self.memory;
        let (acc, span) = (&memory.region.parts.accumulators[k], memory.region.spans[k]);
        let (from, cols) = (self.accumulator(k), memory.region.parts.space.cols);
        let split = memory.region.division.parts_of_group > 1;
        for_kind!(acc.kind, T => {
            type Wide = <T as Joined>::Wide;
            // SAFETY: as in `start`; the place of a part and the group's results in the output are this part's alone.
            unsafe {
                match acc.width {
                    // The units were handed over.
                    Width::Cols if split => {}
                    Width::Cols => {
                        let to = memory.outputs[usize::from(acc.output)].cast::<T>().add(self.group * cols);
                        std::ptr::copy_nonoverlapping(from.cast::<T>().add(cols), to, cols);
                    }
                    Width::One => {
                        let nodes = std::slice::from_raw_parts(from.add(NODE).cast::<Wide>(), *from.cast::<usize>());
                        if split {
                            let at = self.group * span.partials(size_of::<T>()) + NODE * span.nodes() * self.part;
                            let to = memory.partial(k).add(at).cast::<Wide>();
                            std::ptr::copy_nonoverlapping(nodes.as_ptr(), to, nodes.len());
                        } else {
                            let to = memory.outputs[usize::from(acc.output)].cast::<T>().add(self.group);
                            *to = root::<T>(acc, nodes);
                        }
                    }
                }
            }
        });
    }
}

impl Memory<'_> {
    /// Units of rows of a group.
    fn units(&self) -> usize {
        self.region.parts.space.rows.div_ceil(self.region.division.unit)
    }

    /// The elements of a leaf that parts share.
    fn shared(&self, k: usize, group: usize, leaf: usize) -> *mut u8 {
        let (acc, span) = (&self.region.parts.accumulators[k], self.region.spans[k]);
        let size = acc.kind.size();
        let nodes = NODE * span.nodes() * span.parts;
        // SAFETY: behind the nodes of the group there is a leaf for every boundary of two parts (`Span::partials`).
        unsafe { self.partial(k).add(group * span.partials(size) + nodes + span.shared(leaf) * LEAF * size) }
    }

    /// Joins the partial results of each group, in the order of its parts.
    pub(super) fn combine(&self, k: usize) {
        let acc = &self.region.parts.accumulators[k];
        let (cols, units) = (self.region.parts.space.cols, self.units());
        for_kind!(acc.kind, T => {
            for group in 0..self.region.parts.space.groups {
                let output = self.outputs[usize::from(acc.output)].cast::<T>();
                // SAFETY: all parts have ended; there is a place of `cols` numbers for every unit of every group, and the
                // output has a number for each group, or as many as columns (`Region::new`, `run`).
                unsafe {
                    if acc.width == Width::One {
                        *output.add(group) = self.joined::<T>(k, group);
                        continue;
                    }
                    let from = self.partial(k).cast::<T>().add(group * units * cols);
                    let to = std::slice::from_raw_parts_mut(output.add(group * cols), cols);
                    to.fill(T::start(acc.join));
                    join_rows(acc.join, std::slice::from_raw_parts(from, units * cols), to);
                }
            }
        });
    }

    /// Joins what the parts of a group left behind.
    fn joined<T: Joined>(&self, k: usize, group: usize) -> T {
        let (acc, span) = (&self.region.parts.accumulators[k], self.region.spans[k]);
        let (mut nodes, mut held, mut leaf) = ([T::start_wide(acc.join); NODES + 1], 0, 0);
        let take = |leaf: usize| {
            let count = LEAF.min(span.count - leaf * LEAF);
            // SAFETY: the parts that have elements of the leaf have written them all.
            let x = unsafe { std::slice::from_raw_parts(self.shared(k, group, leaf).cast::<T>(), count) };
            let mut sum = [T::start(acc.join)];
            join_cols(acc.join, x, &mut sum, count);
            sum[0].wide()
        };
        for part in 0..span.parts {
            let whole = span.whole(part);
            if whole.is_empty() {
                continue;
            }
            while leaf < whole.start {
                push::<T>(acc, &mut nodes, &mut held, take(leaf), (0..leaf + 1, 1));
                leaf += 1;
            }
            let at = group * span.partials(size_of::<T>()) + NODE * span.nodes() * part;
            // SAFETY: the part has written as many nodes as its leaves are subtrees.
            let from = unsafe { self.partial(k).add(at).cast::<T::Wide>() };
            for (number, size) in sizes(whole).enumerate() {
                leaf += size;
                // SAFETY: as above.
                push::<T>(acc, &mut nodes, &mut held, unsafe { *from.add(number) }, (0..leaf, size));
            }
        }
        while leaf < span.leaves() {
            push::<T>(acc, &mut nodes, &mut held, take(leaf), (0..leaf + 1, 1));
            leaf += 1;
        }
        root::<T>(acc, &nodes[..held])
    }
}

/// Bytes of scratch of an accumulator.
pub(super) fn scratch_bytes(acc: &Accumulator, span: &Span, space: &Space) -> usize {
    match acc.width {
        Width::Cols => 2 * 8 * space.cols,
        Width::One => span.scratch(acc.kind.size()),
    }
}

/// Bytes of the partial results of an accumulator whose groups have several parts.
pub(super) fn partial_bytes(acc: &Accumulator, span: &Span, space: &Space, division: &Division) -> usize {
    space.groups
        * match acc.width {
            Width::Cols => acc.kind.size() * space.cols * space.rows.div_ceil(division.unit),
            Width::One => span.partials(acc.kind.size()),
        }
}
