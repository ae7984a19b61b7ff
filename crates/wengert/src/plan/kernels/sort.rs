//! The permutation that sorts.

use wengert_kernels::arena::typed_mut;
use wengert_kernels::parallel::for_chunks_with;
use wengert_kernels::region::Kind;

use super::{Call, Cell, Kernel, for_kind, rows_per_part, workspace};
use crate::array::Type;
use crate::error::Misfit;
use crate::plan::kernel::kind;
use crate::primitives;

/// Positions along an axis in the order of their elements.
///
/// An element becomes an integer of the same rank, and the pairs of rank and position are sorted: all differ, so a sort
/// that is not stable, and needs no memory, gives the stable order (the pattern-defeating quicksort of the standard
/// library; O. R. L. Peters, 2021). Where both fit into one word, words are sorted.
#[derive(Clone, Copy, Debug)]
pub(super) struct ArgSort {
    kind: Kind,
    descending: bool,
    length: usize,
    inner: usize,
    size: usize,
}

impl ArgSort {
    pub(super) fn new(op: primitives::ArgSort, x: &Type) -> Self {
        let (length, inner) = (x.shape[op.axis], x.shape[op.axis + 1..].iter().product());
        ArgSort { kind: kind(x.dtype), descending: op.descending, length, inner, size: x.size() }
    }

    /// The lines through one block of the axes from this one on.
    fn block<T: Ranked>(&self, x: &[T], out: &mut [i64], pairs: &mut [[i64; 2]]) {
        let small = T::SMALL && u32::try_from(self.length).is_ok();
        for column in 0..self.inner {
            let line = x[column..].iter().step_by(self.inner);
            if small {
                let words = &mut pairs.as_flattened_mut()[..self.length];
                for ((word, x), position) in words.iter_mut().zip(line).zip(0..) {
                    *word = x.rank(self.descending) << 32 | position;
                }
                words.sort_unstable();
                let line = out[column..].iter_mut().step_by(self.inner);
                line.zip(&*words).for_each(|(out, word)| *out = word & i64::from(u32::MAX));
                continue;
            }
            for ((pair, x), position) in pairs.iter_mut().zip(line).zip(0..) {
                *pair = [x.rank(self.descending), position];
            }
            pairs.sort_unstable_by_key(|&[rank, position]| (rank, position));
            let line = out[column..].iter_mut().step_by(self.inner);
            line.zip(&*pairs).for_each(|(out, pair)| *out = pair[1]);
        }
    }
}

impl Kernel for ArgSort {
    fn name(&self) -> String {
        "argsort".to_owned()
    }
    fn workspace(&self, threads: usize) -> usize {
        workspace::<i64>(2 * self.length, threads)
    }
    fn operations(&self) -> usize {
        self.size * (self.length.max(2).ilog2() as usize + 1)
    }
    fn run(&self, call: Call<'_, '_>) -> Result<(), Misfit> {
        let block = (self.length * self.inner).max(1);
        let blocks = rows_per_part(16 * block);
        let scratch = typed_mut::<i64>(call.workspace, 2 * self.length * call.pool.threads());
        let (pairs, _) = scratch.as_chunks_mut::<2>();
        for_kind!(self.kind, T => {
            let x = T::of(&call.args[0]);
            for_chunks_with(call.pool, i64::of_mut(&mut call.outs[0]), blocks * block, pairs, |number, out, pairs| {
                let from = &x[number * blocks * block..][..out.len()];
                for (x, out) in from.chunks_exact(block).zip(out.chunks_exact_mut(block)) {
                    self.block(x, out, pairs);
                }
            });
        });
        Ok(())
    }
}

/// Elements with a place in an order.
trait Ranked: Cell {
    /// Whether the ranks are those of an i32.
    const SMALL: bool;
    /// An integer in the order of the elements; equal elements have one, and NaN has the largest.
    fn rank(self, descending: bool) -> i64;
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
