//! Elements at indices that are computed.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use wengert_kernels::parallel::for_chunks;
use wengert_kernels::region::Kind;

use super::nest::{Axis, each, merged};
use super::{Call, Cell, Kernel, for_kind, rows_per_part};
use crate::array::{Type, row_major};
use crate::error::Misfit;
use crate::plan::kernel::kind;
use crate::primitives::{self, OutOfBounds};

/// An axis that is indexed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Indexed {
    axis: usize,
    length: usize,
    pub(super) stride: usize,
}

/// Where the index vectors point: what gather and scatter share.
///
/// The shared axes are a loop over *items*: a piece of the array with index vectors of its own. An index vector is the
/// place of a *block* in its item.
#[derive(Clone, Debug)]
pub(super) struct Places {
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

impl Places {
    pub(super) fn new(op: &primitives::Gather, x: &Type, indices: &Type) -> Self {
        let strides = row_major(&x.shape);
        let indexed = op.axes.iter().map(|&axis| Indexed { axis, length: x.shape[axis], stride: strides[axis] });
        let others = (op.batch..x.rank()).filter(|axis| !op.axes.contains(axis));
        let (shape, others): (Vec<usize>, Vec<isize>) =
            others.map(|axis| (x.shape[axis], strides[axis].cast_signed())).unzip();
        let mut block = merged(&shape, &others);
        let run = block.pop_if(|last| last.stride == 1).map_or(1, |last| last.length);
        let last = indices.rank() - 1;
        Places {
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

    /// What the definition says of an index vector that does not exist, if that is an error.
    pub(super) fn check(&self, indices: &[i64], vector: usize) -> Result<(), Misfit> {
        let width = self.indexed.len();
        for (indexed, &index) in self.indexed.iter().zip(&indices[vector * width..]) {
            self.mode.resolve(index, indexed.axis, indexed.length)?;
        }
        Ok(())
    }

    /// Checks all index vectors, where no block is moved.
    pub(super) fn check_all(&self, indices: &[i64]) -> Result<(), Misfit> {
        (0..self.count()).try_for_each(|vector| self.check(indices, vector))
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
    pub(super) fn check(self, places: &Places, indices: &[i64]) -> Result<(), Misfit> {
        match self.0.into_inner() {
            usize::MAX => Ok(()),
            vector => places.check(indices, vector),
        }
    }
}

/// The kernel.
#[derive(Clone, Debug)]
pub(super) struct Gather {
    kind: Kind,
    places: Places,
}

impl Gather {
    pub(super) fn new(op: &primitives::Gather, x: &Type, indices: &Type) -> Self {
        Gather { kind: kind(x.dtype), places: Places::new(op, x, indices) }
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
}

impl Kernel for Gather {
    fn name(&self) -> String {
        "gather".to_owned()
    }
    fn operations(&self) -> usize {
        self.places.count() * self.places.size
    }
    fn run(&self, call: Call<'_, '_>) -> Result<(), Misfit> {
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
