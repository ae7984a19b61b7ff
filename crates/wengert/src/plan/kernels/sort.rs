//! The permutation that sorts, or the beginning of it.

use wengert_kernels::arena::typed_mut;
use wengert_kernels::parallel::for_chunks_with;
use wengert_kernels::region::Kind;
use wengert_kernels::{Work, dispatch};

use super::{Cell, Kernel, KernelCall, for_kind, rows_per_part, workspace};
use crate::array::Type;
use crate::error::Misfit;
use crate::plan::kernel::kind;
use crate::primitives;

/// Elements that are compared with a bound at once.
const BLOCK: usize = 64;

/// Positions along an axis in the order of their elements.
///
/// An element becomes an integer of the same rank, and the pairs of rank and position are sorted: all differ, so a sort
/// that is not stable, and needs no memory, gives the stable order (the pattern-defeating quicksort of the standard
/// library; O. R. L. Peters, 2021). Where both fit into one word, words are sorted.
///
/// If few of many positions are wanted, the elements that come before the last of the best ones so far are collected, a
/// block at a time is asked whether it has one, and now and then all but the best are dropped (by selection; C. A. R. Hoare,
/// *Algorithm 65: find*, 1961). What equals the last one comes after it, as the order is stable.
#[derive(Clone, Copy, Debug)]
pub(super) struct ArgSortKernel {
    kind: Kind,
    descending: bool,
    length: usize,
    /// How many positions of each line are wanted.
    count: usize,
    inner: usize,
    size: usize,
}

impl ArgSortKernel {
    pub(super) fn new(op: primitives::ArgSort, x: &Type) -> Self {
        let (length, inner) = (x.shape[op.axis], x.shape[op.axis + 1..].iter().product());
        let count = op.count.unwrap_or(length);
        ArgSortKernel { kind: kind(x.dtype), descending: op.descending, length, count, inner, size: x.size() }
    }

    /// The lines through one block of the axes from this one on.
    fn block<T: Ranked, E: SortEntry>(&self, x: &[T], out: &mut [i64], entries: &mut [E]) {
        for column in 0..self.inner {
            let first = if self.inner == 1 && self.length >= 4 * (self.count + BLOCK) {
                self.best(x, entries)
            } else {
                let line = x[column..].iter().step_by(self.inner);
                for ((entry, &x), position) in entries.iter_mut().zip(line).zip(0..) {
                    *entry = E::new(x.rank(self.descending), position);
                }
                self.first(entries)
            };
            let line = out[column..].iter_mut().step_by(self.inner);
            line.zip(first).for_each(|(out, entry)| *out = entry.position() as i64);
        }
    }

    /// The first entries, in order.
    fn first<'a, E: SortEntry>(&self, entries: &'a mut [E]) -> &'a [E] {
        if self.count < entries.len() {
            entries.select_nth_unstable(self.count);
        }
        let first = &mut entries[..self.count];
        first.sort_unstable();
        first
    }

    /// The same of a long line of which few are wanted.
    fn best<'a, T: Ranked, E: SortEntry>(&self, line: &[T], entries: &'a mut [E]) -> &'a [E] {
        let (count, descending) = (self.count, self.descending);
        let entry = |position: usize| E::new(line[position].rank(descending), position);
        (0..count).for_each(|k| entries[k] = entry(k));
        let last = |entries: &[E]| entries.iter().max().map_or(line[0], |last| line[last.position()]);
        let (mut kept, mut bound, mut at) = (count, last(&entries[..count]), count);
        while at < line.len() {
            at += dispatch(Behind { line: &line[at..], bound, descending });
            let end = (at + BLOCK).min(line.len());
            // Written in any case, and kept if it is better: there is no unpredictable branch.
            for (x, position) in line[at..end].iter().zip(at..) {
                entries[kept] = E::new(x.rank(descending), position);
                kept += usize::from(x.comes_before(bound, descending));
            }
            at = end;
            if kept > 2 * count + BLOCK {
                entries[..kept].select_nth_unstable(count);
                (kept, bound) = (count, last(&entries[..count]));
            }
        }
        self.first(&mut entries[..kept])
    }
}

impl Kernel for ArgSortKernel {
    fn name(&self) -> String {
        "argsort".to_owned()
    }
    fn workspace(&self, threads: usize) -> usize {
        workspace::<i64>(2 * self.length, threads)
    }
    fn operations(&self) -> usize {
        self.size * (self.count.max(2).ilog2() as usize + 1)
    }
    fn run(&self, call: KernelCall<'_, '_>) -> Result<(), Misfit> {
        let (from, to) = (self.length * self.inner, self.count * self.inner);
        let scratch = typed_mut::<i64>(call.workspace, 2 * self.length * call.pool.threads());
        let (pairs, _) = scratch.as_chunks_mut::<2>();
        if to == 0 {
            return Ok(());
        }
        let blocks = rows_per_part(16 * from);
        for_kind!(self.kind, T => {
            let x = T::of(&call.args[0]);
            for_chunks_with(call.pool, i64::of_mut(&mut call.outs[0]), blocks * to, pairs, |number, out, pairs| {
                let x = x[number * blocks * from..].chunks_exact(from);
                for (x, out) in x.zip(out.chunks_exact_mut(to)) {
                    if T::SMALL && u32::try_from(self.length).is_ok() {
                        self.block(x, out, &mut pairs.as_flattened_mut()[..self.length]);
                    } else {
                        self.block(x, out, pairs);
                    }
                }
            });
        });
        Ok(())
    }
}

/// Rank and position as one thing, in the order of the result.
trait SortEntry: Ord + Copy {
    fn new(rank: i64, position: usize) -> Self;
    fn position(self) -> usize;
}

impl SortEntry for i64 {
    fn new(rank: i64, position: usize) -> Self {
        rank << 32 | position as i64
    }
    fn position(self) -> usize {
        (self & i64::from(u32::MAX)) as usize
    }
}

impl SortEntry for [i64; 2] {
    fn new(rank: i64, position: usize) -> Self {
        [rank, position as i64]
    }
    fn position(self) -> usize {
        self[1] as usize
    }
}

/// How many elements there are, in whole blocks, before the first block with one that comes before a bound.
struct Behind<'a, T> {
    line: &'a [T],
    bound: T,
    descending: bool,
}

impl<T: Ranked> Work for Behind<'_, T> {
    type Output = usize;
    #[inline(always)]
    fn run(self) -> usize {
        let (blocks, _) = self.line.as_chunks::<BLOCK>();
        let Behind { bound, .. } = self;
        // One comparison for each order, so that vectors can do it.
        let first = match (bound.is_last(), self.descending) {
            (true, _) => blocks.iter().position(|block| block.iter().any(|x| !x.is_last())),
            (_, true) => blocks.iter().position(|block| block.iter().fold(false, |any, x| any | (*x > bound))),
            (_, false) => blocks.iter().position(|block| block.iter().fold(false, |any, x| any | (*x < bound))),
        };
        first.unwrap_or(blocks.len()) * BLOCK
    }
}

/// Elements with a place in an order.
trait Ranked: Cell {
    /// Whether the ranks are those of an i32.
    const SMALL: bool;
    /// An integer in the order of the elements; equal elements have one, and NaN has the largest.
    fn rank(self, descending: bool) -> i64;
    /// Whether it is NaN, which is last in both orders.
    #[inline(always)]
    fn is_last(self) -> bool {
        self.partial_cmp(&self).is_none()
    }
    /// Whether it comes before another one, wherever they stand.
    #[inline(always)]
    fn comes_before(self, other: Self, descending: bool) -> bool {
        if other.is_last() {
            !self.is_last()
        } else if descending {
            self > other
        } else {
            self < other
        }
    }
}

impl Ranked for u8 {
    const SMALL: bool = true;
    fn rank(self, descending: bool) -> i64 {
        i64::from(self).rank(descending)
    }
}

impl Ranked for i64 {
    const SMALL: bool = false;
    fn rank(self, descending: bool) -> i64 {
        if descending { !self } else { self }
    }
}

impl Ranked for f32 {
    const SMALL: bool = true;
    fn rank(self, descending: bool) -> i64 {
        if self.is_nan() {
            return i64::from(i32::MAX);
        }
        let bits = (self + 0.0).to_bits().cast_signed();
        i64::from(bits ^ (i32::MAX & (bits >> 31))).rank(descending)
    }
}

impl Ranked for f64 {
    const SMALL: bool = false;
    fn rank(self, descending: bool) -> i64 {
        if self.is_nan() {
            return i64::MAX;
        }
        // The bits of negative numbers turned are in order; adding 0 makes 0 of -0.
        let bits = (self + 0.0).to_bits().cast_signed();
        (bits ^ (i64::MAX & (bits >> 63))).rank(descending)
    }
}
