//! Updates of rows that follow each other: the first axes of an array, or of each of many items, are indexed.
//!
//! The updates of an item are taken one after the other, as they lie: reading them is most of the time, and in another
//! order it takes two to four times as long, so that several threads gain nothing where there is one item. (Measured with
//! 100,000 rows of 64: 2.8 ms as they lie, 8.1 sorted by counting, 6.2 so on two threads, 7.3 if each of two threads takes
//! the updates of half of the rows.) Sums in single precision meet in a copy in double precision. Where there is much more
//! to copy than to add, or too much for the caches, and where rows are sorted already,
//!
//! - long rows take all their updates at once: these are sorted by counting (D. E. Knuth, *The art of computer
//!   programming* 3, 5.2, algorithm D; stable, so that a row meets its updates in the definition's order), unless they are
//!   sorted, as those of segments often are;
//! - short rows are divided into pieces whose copy stays in the cache, and their updates first by piece, in the same way.

use wengert_kernels::arena::{Line, lines_for, typed_mut};
use wengert_kernels::parallel::{for_chunks, for_chunks_with};
use wengert_kernels::{Pool, dispatch};

use super::super::gather::{BlockPlaces, Missing};
use super::super::{Cell, GRAIN, KernelCall, rows_per_part};
use super::rows::{
    Add, AddOne, BitUpdates, Combine, DirectUpdates, GroupedUpdates, ListedUpdates, NOWHERE, Narrowed, Widened,
};
use super::{Start, operands};
use crate::error::Misfit;

/// Index vectors that become row numbers at a time.
const BLOCK: usize = 1024;
/// Numbers from which on a row keeps its sums in registers.
const WIDE: usize = 8;
/// Elements that a thread begins with at a time.
const BEGUN: usize = 4 * GRAIN;
/// Sums of a piece that stay in the second cache, with what is added.
const PIECE: usize = 1 << 14;
/// The most sums that are copied at once: 8 MiB.
const COPY: usize = 1 << 20;
/// The most rows for each update at which counting the rows pays.
const SPARSE: usize = 16;
/// The most rows for each update at which all rows are copied for their sums, and the same for one of many items.
const COPIED: [usize; 2] = [4, 16];

/// How the updates of rows are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RowScatter {
    items: usize,
    /// Rows of an item.
    count: usize,
    /// Elements of a row.
    size: usize,
    /// Updates of an item.
    updates: usize,
    /// Whether a sum is more precise than its elements.
    precise: bool,
}

impl RowScatter {
    /// For places that are rows, unless there are so few updates of single precision that they are better sorted as pairs.
    /// `precise` says that the sum of several updates is more precise than its elements.
    pub(super) fn new(places: &BlockPlaces, precise: bool) -> Option<RowScatter> {
        let (count, size) = (places.rows()?, places.size);
        let fits = u32::try_from(count).is_ok() && u32::try_from(places.vectors).is_ok_and(|n| n < NOWHERE);
        let BlockPlaces { items, vectors: updates, .. } = *places;
        let rows = RowScatter { items, count, size, updates, precise };
        let dense = if items == 1 { rows.is_counted() } else { count <= updates.saturating_mul(COPIED[1]) };
        (fits && items > 0 && count > 0 && (dense || !precise || updates == 1)).then_some(rows)
    }

    /// Whether there are updates enough to look at every row.
    fn is_counted(self) -> bool {
        self.count <= self.updates.saturating_mul(SPARSE)
    }

    /// Whether rows are so long that they take their updates one row after the other.
    fn is_wide(self) -> bool {
        self.size >= WIDE
    }

    /// The power of two of rows in a piece, and how many pieces there are.
    fn pieces(self) -> (u32, usize) {
        let shift = (PIECE / self.size.min(PIECE)).ilog2();
        (shift, self.count.div_ceil(1 << shift))
    }

    /// Whether the sums of all rows are copied.
    fn is_copied(self) -> bool {
        self.count * self.size <= COPY && self.count <= self.updates.saturating_mul(COPIED[0])
    }

    /// Lines for row and update numbers, and for the sums of each thread.
    pub(super) fn scratch(self) -> [usize; 2] {
        // An update that is the only one meets nothing.
        let precise = self.precise && self.updates > 1;
        if self.items > 1 {
            return [0, if precise { lines_for::<f64>(self.count * self.size) } else { 0 }];
        }
        let counted = lines_for::<u32>(self.count) + lines_for::<u32>(self.updates);
        match (precise, self.is_wide()) {
            (_, true) if !self.is_counted() => [0, 0],
            (false, true) => [lines_for::<u32>(self.count), 0],
            (false, false) => [0, 0],
            (true, wide) if self.is_copied() => {
                let ends = if wide { lines_for::<u32>(self.count) } else { 0 };
                [ends.max(lines_for::<f64>(self.count * self.size)), 0]
            }
            (true, true) => [counted, 0],
            (true, false) => {
                let near = lines_for::<u32>(self.pieces().1) + lines_for::<u32>(2 * self.updates);
                [near, lines_for::<f64>(PIECE.min(self.count * self.size))]
            }
        }
    }

    /// Takes the updates, where sums are elements.
    pub(super) fn plain<T, C>(
        self,
        places: &BlockPlaces,
        call: KernelCall<'_, '_>,
        start: Start<'_, T>,
    ) -> Result<(), Misfit>
    where
        T: Cell,
        C: Combine<Item = T, Sum = T>,
    {
        if self.items > 1 {
            return self.each_item(places, call, start, |item, updates, out, _| item.direct::<C>(updates, out));
        }
        let (indices, updates) = operands::<T>(call.args);
        let missing = Missing::new();
        let item = ItemUpdates { rows: self, places, indices, missing: &missing, before: 0 };
        let out = T::of_mut(&mut call.outs[0]);
        if self.is_wide() && self.is_counted() && item.is_sorted() {
            item.counted::<C>(call.pool, updates, start, out, call.workspace);
        } else {
            for_chunks(call.pool, out, BEGUN, |number, out| start.begin(number * BEGUN, out));
            item.direct::<C>(updates, out);
        }
        missing.check(places, indices)
    }

    /// Adds updates of single precision.
    pub(super) fn precise(
        self,
        places: &BlockPlaces,
        call: KernelCall<'_, '_>,
        start: Start<'_, f32>,
    ) -> Result<(), Misfit> {
        if self.updates == 1 {
            return self.plain::<f32, AddOne>(places, call, start);
        }
        if self.items > 1 {
            return self.each_item(places, call, start, |item, updates, out, scratch| {
                in_double(out, scratch, |sums| item.direct::<Add<f32>>(updates, sums));
            });
        }
        let (indices, updates) = operands::<f32>(call.args);
        let missing = Missing::new();
        let item = ItemUpdates { rows: self, places, indices, missing: &missing, before: 0 };
        let out = f32::of_mut(&mut call.outs[0]);
        if self.is_wide() && (!self.is_copied() || item.is_sorted()) {
            item.counted::<Add<f32>>(call.pool, updates, start, out, call.workspace);
        } else if self.is_copied() {
            start.begin(0, out);
            in_double(out, call.workspace, |sums| item.direct::<Add<f32>>(updates, sums));
        } else {
            item.near(call.pool, updates, start, out, call.workspace);
        }
        missing.check(places, indices)
    }

    /// Makes every row to which updates come `value`; an index vector without a row is passed by.
    pub(super) fn fill<T: Cell>(self, places: &BlockPlaces, indices: &[i64], value: T, out: &mut [T]) {
        let missing = Missing::new();
        let [vectors, elements] = [self.updates * places.width(), self.count * self.size];
        for item in 0..self.items {
            let (indices, out) = (&indices[item * vectors..][..vectors], &mut out[item * elements..][..elements]);
            let item = ItemUpdates { rows: self, places, indices, missing: &missing, before: 0 };
            item.each_block(|_, rows| {
                for &row in rows.iter().filter(|row| **row != NOWHERE) {
                    out[row as usize * self.size..][..self.size].fill(value);
                }
            });
        }
    }

    /// Calls `f` for every item with its updates, its elements, and scratch of its thread.
    fn each_item<T: Cell>(
        self,
        places: &BlockPlaces,
        call: KernelCall<'_, '_>,
        start: Start<'_, T>,
        f: impl Fn(&ItemUpdates<'_>, &[T], &mut [T], &mut [Line]) + Sync,
    ) -> Result<(), Misfit> {
        let (indices, updates) = operands::<T>(call.args);
        let (missing, width) = (Missing::new(), places.width());
        let (item, own) = (self.count * self.size, self.updates * self.size);
        let share = rows_per_part(item.max(own));
        let scratch = &mut call.workspace[..self.scratch()[1] * call.pool.threads()];
        for_chunks_with(call.pool, T::of_mut(&mut call.outs[0]), share * item, scratch, |number, out, scratch| {
            start.begin(number * share * item, out);
            for (k, out) in (number * share..).zip(out.chunks_exact_mut(item)) {
                let before = k * self.updates;
                let indices = &indices[before * width..][..self.updates * width];
                let here = ItemUpdates { rows: self, places, indices, missing: &missing, before };
                f(&here, &updates[k * own..][..own], out, scratch);
            }
        });
        missing.check(places, indices)
    }
}

/// The updates of one item.
struct ItemUpdates<'a> {
    rows: RowScatter,
    places: &'a BlockPlaces,
    /// Of this item, as the updates are.
    indices: &'a [i64],
    missing: &'a Missing,
    /// Index vectors of the items before.
    before: usize,
}

impl ItemUpdates<'_> {
    /// Calls `visit` with the number of the first update of every block and the rows of all.
    #[inline(always)]
    fn each_block(&self, mut visit: impl FnMut(usize, &[u32])) {
        let mut rows = [0; BLOCK];
        for first in (0..self.rows.updates).step_by(BLOCK) {
            let rows = &mut rows[..BLOCK.min(self.rows.updates - first)];
            if !self.places.resolve(self.indices, first, rows) {
                let gap = rows.iter().position(|&row| row == NOWHERE);
                gap.into_iter().for_each(|gap| self.missing.tell(self.before + first + gap));
            }
            visit(first, rows);
        }
    }

    /// Whether all updates have rows, which never decrease. Most that are not are found out at once.
    fn is_sorted(&self) -> bool {
        let (mut rows, mut last) = ([0; BLOCK], 0);
        (0..self.rows.updates).step_by(BLOCK).all(|first| {
            let rows = &mut rows[..BLOCK.min(self.rows.updates - first)];
            let sorted = self.places.resolve(self.indices, first, rows) && last <= rows[0] && rows.is_sorted();
            last = rows[rows.len() - 1];
            sorted
        })
    }

    /// One update after the other.
    fn direct<C: Combine>(&self, updates: &[C::Item], sums: &mut [C::Sum]) {
        let size = self.rows.size;
        self.each_block(|first, rows| {
            let updates = &updates[first * size..][..rows.len() * size];
            dispatch(DirectUpdates::<C> { rows, updates, size, sums: &mut *sums });
        });
    }

    /// Row by row.
    fn counted<C: Combine>(
        &self,
        pool: &Pool,
        updates: &[C::Item],
        start: Start<'_, C::Item>,
        out: &mut [C::Item],
        workspace: &mut [Line],
    ) {
        let RowScatter { count, size, .. } = self.rows;
        let (ends, order) = workspace.split_at_mut(lines_for::<u32>(count));
        let ends = typed_mut::<u32>(ends, count);
        // What is sorted needs no order.
        let order = if self.is_sorted() {
            self.ends_of_runs(ends);
            None
        } else {
            let order = typed_mut::<u32>(order, self.rows.updates);
            self.sort(ends, order);
            Some(&*order)
        };
        let ends = &*ends;
        let rows = (GRAIN / (size * (1 + self.rows.updates / count))).max(1);
        for_chunks(pool, out, rows * size, |number, out| {
            let first = number * rows;
            start.begin(first * size, out);
            let before = first.checked_sub(1).map_or(0, |before| ends[before] as usize);
            dispatch(GroupedUpdates::<C> {
                ends: &ends[first..][..out.len() / size],
                start: before,
                order,
                updates,
                size,
                out,
            });
        });
    }

    /// Where the updates of each row end, if they follow each other.
    fn ends_of_runs(&self, ends: &mut [u32]) {
        let (mut next, mut row, mut ended) = (0, 0, 0);
        self.each_block(|first, rows| {
            for (number, &own) in (first as u32..).zip(rows) {
                if own != row {
                    ends[next..own as usize].fill(number);
                    (next, row) = (own as usize, own);
                }
            }
            ended = (first + rows.len()) as u32;
        });
        ends[next..].fill(ended);
    }

    /// The numbers of the updates sorted by their rows, and where those of each row end.
    fn sort(&self, ends: &mut [u32], order: &mut [u32]) {
        ends.fill(0);
        self.each_block(|_, rows| {
            for &row in rows {
                if let Some(count) = ends.get_mut(row as usize) {
                    *count += 1;
                }
            }
        });
        starts(ends);
        self.each_block(|first, rows| {
            for (number, &row) in (first as u32..).zip(rows) {
                if let Some(end) = ends.get_mut(row as usize) {
                    order[*end as usize] = number;
                    *end += 1;
                }
            }
        });
    }

    /// Piece by piece.
    fn near(&self, pool: &Pool, updates: &[f32], start: Start<'_, f32>, out: &mut [f32], workspace: &mut [Line]) {
        let RowScatter { size, .. } = self.rows;
        let (shift, pieces) = self.rows.pieces();
        let [shared, own] = self.rows.scratch();
        let (shared, sums) = workspace.split_at_mut(shared);
        let (ends, pairs) = shared.split_at_mut(lines_for::<u32>(pieces));
        let ends = typed_mut::<u32>(ends, pieces);
        let (pairs, _) = typed_mut::<u32>(pairs, 2 * self.rows.updates).as_chunks_mut::<2>();
        ends.fill(0);
        self.each_block(|_, rows| {
            for &row in rows {
                if let Some(count) = ends.get_mut((row >> shift) as usize).filter(|_| row != NOWHERE) {
                    *count += 1;
                }
            }
        });
        starts(ends);
        let within = (1 << shift) - 1;
        self.each_block(|first, rows| {
            for (number, &row) in (first..).zip(rows) {
                if let Some(end) = ends.get_mut((row >> shift) as usize).filter(|_| row != NOWHERE) {
                    let payload = if size == 1 { updates[number].to_bits() } else { number as u32 };
                    pairs[*end as usize] = [row & within, payload];
                    *end += 1;
                }
            }
        });
        let (ends, pairs) = (&*ends, &*pairs);
        let sums = &mut sums[..own * pool.threads()];
        for_chunks_with(pool, out, size << shift, sums, |number, out, sums| {
            start.begin(number * (size << shift), out);
            let before = number.checked_sub(1).map_or(0, |before| ends[before] as usize);
            let pairs = &pairs[before..ends[number] as usize];
            if pairs.is_empty() {
                return;
            }
            in_double(out, sums, |sums| match size {
                1 => dispatch(BitUpdates { pairs, sums }),
                _ => dispatch(ListedUpdates::<Add<f32>> { pairs, updates, size, sums }),
            });
        });
    }
}

/// Lets `f` add to a copy of the elements in double precision.
fn in_double(out: &mut [f32], scratch: &mut [Line], f: impl FnOnce(&mut [f64])) {
    let sums = typed_mut::<f64>(scratch, out.len());
    dispatch(Widened { from: out, to: sums });
    f(sums);
    dispatch(Narrowed { from: sums, to: out });
}

/// Where each of several runs of these lengths begins.
fn starts(counts: &mut [u32]) {
    let mut start = 0;
    for count in counts {
        start += std::mem::replace(count, start);
    }
}
