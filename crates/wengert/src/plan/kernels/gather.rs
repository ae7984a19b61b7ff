//! Elements at indices that are computed.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use wengert_kernels::parallel::for_chunks;
use wengert_kernels::region::Kind;
use wengert_kernels::{Work, dispatch};

use super::nest::{Axis, each, merged};
use super::{Cell, Kernel, KernelCall, for_kind, rows_per_part};
use crate::array::{Type, row_major};
use crate::error::Misfit;
use crate::plan::kernel::kind;
use crate::primitives::{self, OutOfBounds};

/// An axis that is indexed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Indexed {
    length: usize,
    pub(super) stride: usize,
}

/// Where the index vectors point: what gather and scatter share.
///
/// The shared axes are a loop over *items*: a piece of the array with index vectors of its own. An index vector is the
/// place of a *block* in its item.
#[derive(Clone, Debug)]
pub(super) struct BlockPlaces {
    mode: OutOfBounds,
    /// Items, and elements of the array in each.
    pub(super) items: usize,
    pub(super) item: usize,
    /// Index vectors of each item.
    pub(super) vectors: usize,
    pub(super) indexed: Vec<Indexed>,
    /// The axes of a block but for its runs, and the elements that follow each other.
    pub(super) block: Vec<Axis>,
    pub(super) run: usize,
    /// Elements of a block.
    pub(super) size: usize,
}

impl BlockPlaces {
    pub(super) fn new(op: &primitives::Gather, x: &Type, indices: &Type) -> Self {
        let strides = row_major(&x.shape);
        let indexed = op.axes.iter().map(|&axis| Indexed { length: x.shape[axis], stride: strides[axis] });
        let others = (op.batch..x.rank()).filter(|axis| !op.axes.contains(axis));
        let (shape, others): (Vec<usize>, Vec<isize>) =
            others.map(|axis| (x.shape[axis], strides[axis].cast_signed())).unzip();
        let mut block = merged(&shape, &others);
        let run = block.pop_if(|last| last.stride == 1).map_or(1, |last| last.length);
        let last = indices.rank() - 1;
        BlockPlaces {
            mode: op.mode,
            items: x.shape[..op.batch].iter().product(),
            item: x.shape[op.batch..].iter().product(),
            vectors: indices.shape[op.batch..last].iter().product(),
            indexed: indexed.collect(),
            block,
            run,
            size: shape.iter().product(),
        }
    }

    /// Entries of an index vector.
    pub(super) fn width(&self) -> usize {
        self.indexed.len()
    }

    /// All index vectors.
    pub(super) fn count(&self) -> usize {
        self.items * self.vectors
    }

    /// Where the block of an index vector begins in its item, if there is one.
    #[inline(always)]
    pub(super) fn place(&self, vector: &[i64]) -> Option<usize> {
        let mut place = 0;
        for (indexed, &index) in self.indexed.iter().zip(vector) {
            place += self.mode.inside(index, indexed.length)? * indexed.stride;
        }
        Some(place)
    }

    /// Calls `visit` with the number of every index vector of a range of one item, and where its block begins.
    #[inline(always)]
    pub(super) fn for_each(&self, indices: &[i64], range: Range<usize>, mut visit: impl FnMut(usize, Option<usize>)) {
        let width = self.indexed.len();
        if let ([Indexed { length, stride, .. }], true) = (&self.indexed[..], self.mode != OutOfBounds::Clamp) {
            for (vector, &index) in range.clone().zip(&indices[range]) {
                // A negative index is a large one.
                let index = index as u64;
                visit(vector, (index < *length as u64).then(|| index as usize * stride));
            }
            return;
        }
        for vector in range {
            visit(vector, self.place(&indices[vector * width..(vector + 1) * width]));
        }
    }

    /// How many blocks an item consists of, if an index vector is the number of one: the first axes are indexed.
    pub(super) fn rows(&self) -> Option<usize> {
        let whole = |indexed: &Indexed| indexed.length <= 1 || indexed.stride.is_multiple_of(self.size.max(1));
        let rows = self.block.is_empty() && self.size > 0 && self.indexed.iter().all(whole);
        rows.then(|| self.item / self.size)
    }

    /// How many blocks there are, if an index is the number of one or has none.
    fn numbered(&self) -> Option<usize> {
        match self.indexed[..] {
            [Indexed { length, stride, .. }] if self.mode != OutOfBounds::Clamp && stride == self.size => Some(length),
            _ => None,
        }
    }

    /// The numbers of the blocks of index vectors from `first` on, where [`rows`](Self::rows) has some; the largest number
    /// where there is none. Whether all have one.
    pub(super) fn resolve(&self, indices: &[i64], first: usize, rows: &mut [u32]) -> bool {
        let width = self.indexed.len();
        let indices = &indices[first * width..][..rows.len() * width];
        if let Some(length) = self.numbered() {
            return dispatch(Resolve { indices, length: length as u64, rows });
        }
        let mut all = true;
        for (number, row) in rows.iter_mut().enumerate() {
            let place = self.place(&indices[number * width..][..width]);
            *row = place.map_or(u32::MAX, |place| (place / self.size) as u32);
            all &= place.is_some();
        }
        all
    }

    /// What the definition says of an index vector that does not exist, if that is an error.
    pub(super) fn check(&self, indices: &[i64], vector: usize) -> Result<(), Misfit> {
        let width = self.indexed.len();
        for (indexed, &index) in self.indexed.iter().zip(&indices[vector * width..]) {
            self.mode.resolve(index, indexed.length)?;
        }
        Ok(())
    }

    /// Checks all index vectors, where no block is moved.
    pub(super) fn check_all(&self, indices: &[i64]) -> Result<(), Misfit> {
        (0..self.count()).try_for_each(|vector| self.check(indices, vector))
    }
}

/// Indices that are the numbers of blocks.
struct Resolve<'a> {
    indices: &'a [i64],
    length: u64,
    rows: &'a mut [u32],
}

impl Work for Resolve<'_> {
    type Output = bool;
    #[inline(always)]
    fn run(self) -> bool {
        let mut all = true;
        for (row, &index) in self.rows.iter_mut().zip(self.indices) {
            // A negative index is a large one.
            let inside = (index as u64) < self.length;
            *row = if inside { index as u32 } else { u32::MAX };
            all &= inside;
        }
        all
    }
}

/// The first index vector that has no place; threads tell of theirs.
pub(super) struct Missing(AtomicUsize);

impl Missing {
    pub(super) fn new() -> Self {
        Missing(AtomicUsize::new(usize::MAX))
    }

    #[cold]
    pub(super) fn tell(&self, vector: usize) {
        self.0.fetch_min(vector, Ordering::Relaxed);
    }

    /// The error of the first one.
    pub(super) fn check(self, places: &BlockPlaces, indices: &[i64]) -> Result<(), Misfit> {
        match self.0.into_inner() {
            usize::MAX => Ok(()),
            vector => places.check(indices, vector),
        }
    }
}

/// The kernel.
#[derive(Clone, Debug)]
pub(super) struct GatherKernel {
    kind: Kind,
    places: BlockPlaces,
}

impl GatherKernel {
    pub(super) fn new(op: &primitives::Gather, x: &Type, indices: &Type) -> Self {
        GatherKernel { kind: kind(x.dtype), places: BlockPlaces::new(op, x, indices) }
    }

    /// The blocks of a range of index vectors of one item.
    fn blocks<T: Cell>(
        &self,
        x: &[T],
        indices: &[i64],
        range: Range<usize>,
        out: &mut [T],
        mut miss: impl FnMut(usize),
    ) {
        let places = &self.places;
        if places.rows().is_some_and(|rows| u32::try_from(rows).is_ok_and(|rows| rows < u32::MAX)) {
            return self.rows(x, indices, range, out, miss);
        }
        if places.size == 1 {
            let mut out = out.iter_mut();
            return places.for_each(indices, range, |vector, place| {
                let out = out.next().expect("an element for each index vector");
                *out = place.map_or_else(T::default, |place| x[place]);
                if place.is_none() {
                    miss(vector);
                }
            });
        }
        let mut blocks = out.chunks_exact_mut(places.size);
        places.for_each(indices, range, |vector, place| {
            let out = blocks.next().expect("a block for each index vector");
            let Some(place) = place else {
                miss(vector);
                return out.fill(T::default());
            };
            let mut runs = out.chunks_exact_mut(places.run);
            if places.run == 1 {
                let mut out = out.iter_mut();
                return each(&places.block, place.cast_signed(), &mut |place| {
                    *out.next().expect("an element for each place") = x[place.cast_unsigned()];
                });
            }
            each(&places.block, place.cast_signed(), &mut |place| {
                let run = runs.next().expect("a run for each place");
                run.copy_from_slice(&x[place.cast_unsigned()..][..places.run]);
            });
        });
    }

    /// The same, where the blocks of an item follow each other.
    fn rows<T: Cell>(&self, x: &[T], indices: &[i64], range: Range<usize>, out: &mut [T], mut miss: impl FnMut(usize)) {
        let (places, mut rows) = (&self.places, [0; BLOCK]);
        if let (Some(length), 1) = (places.numbered(), places.size) {
            let indices = &indices[range.clone()];
            if !dispatch(Pick { x: &x[..length], indices, out }) {
                let gap = indices.iter().position(|&index| index as u64 >= length as u64);
                gap.into_iter().for_each(|gap| miss(range.start + gap));
            }
            return;
        }
        for (first, out) in range.clone().step_by(BLOCK).zip(out.chunks_mut(BLOCK * places.size)) {
            let rows = &mut rows[..BLOCK.min(range.end - first)];
            if !places.resolve(indices, first, rows) {
                rows.iter().position(|&row| row == u32::MAX).into_iter().for_each(|gap| miss(first + gap));
            }
            dispatch(Take { x, rows, size: places.size, out });
        }
    }
}

/// Index vectors that become row numbers at a time.
const BLOCK: usize = 1024;

/// The elements at indices; zeros where there is none. Whether there are all.
struct Pick<'a, T> {
    x: &'a [T],
    indices: &'a [i64],
    out: &'a mut [T],
}

impl<T: Cell> Work for Pick<'_, T> {
    type Output = bool;
    #[inline(always)]
    fn run(self) -> bool {
        let mut all = true;
        for (out, &index) in self.out.iter_mut().zip(self.indices) {
            // A negative index is a large one.
            let inside = (index as u64) < self.x.len() as u64;
            *out = if inside { self.x[index as usize] } else { T::default() };
            all &= inside;
        }
        all
    }
}

/// Rows of these numbers one after the other; zeros where there is none.
struct Take<'a, T> {
    x: &'a [T],
    rows: &'a [u32],
    size: usize,
    out: &'a mut [T],
}

impl<T: Cell> Take<'_, T> {
    /// Rows of `N` elements.
    #[inline(always)]
    fn fixed<const N: usize>(self) {
        let ((x, _), (out, _)) = (self.x.as_chunks::<N>(), self.out.as_chunks_mut::<N>());
        for (out, &row) in out.iter_mut().zip(self.rows) {
            *out = match x.get(row as usize) {
                Some(row) => *row,
                None => [T::default(); N],
            };
        }
    }
}

impl<T: Cell> Work for Take<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        match self.size {
            1 => self.fixed::<1>(),
            2 => self.fixed::<2>(),
            3 => self.fixed::<3>(),
            4 => self.fixed::<4>(),
            6 => self.fixed::<6>(),
            8 => self.fixed::<8>(),
            16 => self.fixed::<16>(),
            size => {
                for (out, &row) in self.out.chunks_exact_mut(size).zip(self.rows) {
                    match row {
                        u32::MAX => out.fill(T::default()),
                        row => out.copy_from_slice(&self.x[row as usize * size..][..size]),
                    }
                }
            }
        }
    }
}

impl Kernel for GatherKernel {
    fn name(&self) -> String {
        "gather".to_owned()
    }
    fn operations(&self) -> usize {
        self.places.count() * self.places.size
    }
    fn run(&self, call: KernelCall<'_, '_>) -> Result<(), Misfit> {
        let (places, indices) = (&self.places, i64::of(&call.args[1]));
        if places.size == 0 {
            return places.check_all(indices);
        }
        let missing = Missing::new();
        let rows = rows_per_part(places.size);
        let width = places.indexed.len();
        for_kind!(self.kind, T => {
            let x = T::of(&call.args[0]);
            for_chunks(call.pool, T::of_mut(&mut call.outs[0]), rows * places.size, |number, mut out| {
                let mut row = number * rows;
                while !out.is_empty() {
                    let (item, first) = (row / places.vectors, row % places.vectors);
                    let count = (places.vectors - first).min(out.len() / places.size);
                    let (here, rest) = out.split_at_mut(count * places.size);
                    let x = &x[item * places.item..][..places.item];
                    let indices = &indices[item * places.vectors * width..];
                    let before = item * places.vectors;
                    self.blocks(x, indices, first..first + count, here, |vector| missing.tell(before + vector));
                    (out, row) = (rest, row + count);
                }
            });
        });
        missing.check(places, indices)
    }
}
