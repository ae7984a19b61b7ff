//! Positions of extremes.

use wengert_kernels::parallel::for_chunks;
use wengert_kernels::region::Kind;
use wengert_kernels::{Work, dispatch};

use super::reduce::{Join, LargestJoin};
use super::{Cell, GRAIN, Kernel, KernelCall, for_kind};
use crate::array::Type;
use crate::error::Misfit;
use crate::plan::kernel::kind;
use crate::primitives::{self, Extreme};

/// Columns whose best elements are kept side by side.
const TILE: usize = 64;

/// The position of the extreme along an axis.
#[derive(Clone, Debug)]
pub(super) struct ArgReduceKernel {
    extreme: Extreme,
    kind: Kind,
    length: usize,
    inner: usize,
    size: usize,
}

impl ArgReduceKernel {
    pub(super) fn new(op: primitives::ArgReduce, x: &Type) -> Self {
        let (length, inner) = (x.shape[op.axis], x.shape[op.axis + 1..].iter().product());
        ArgReduceKernel { extreme: op.extreme, kind: kind(x.dtype), length, inner, size: x.size() }
    }

    /// Positions for results from `first` on; a chunk begins wherever it likes.
    fn positions<T: FirstBest>(&self, x: &[T], first: usize, mut out: &mut [i64]) {
        let mut done = first;
        while !out.is_empty() {
            let (row, column) = (done / self.inner, done % self.inner);
            let x = &x[row * self.length * self.inner..][..self.length * self.inner];
            let count = (self.inner - column).min(TILE).min(out.len());
            let (here, rest) = out.split_at_mut(count);
            if self.inner == 1 {
                here[0] = T::first_best(self.extreme, x) as i64;
            } else {
                match self.extreme {
                    Extreme::Max => dispatch(ExtremeAcross::<T, true> { x, inner: self.inner, column, out: here }),
                    Extreme::Min => dispatch(ExtremeAcross::<T, false> { x, inner: self.inner, column, out: here }),
                }
            }
            (out, done) = (rest, done + count);
        }
    }
}

impl Kernel for ArgReduceKernel {
    fn name(&self) -> String {
        match self.extreme {
            Extreme::Max => "argmax",
            Extreme::Min => "argmin",
        }
        .to_owned()
    }
    fn operations(&self) -> usize {
        self.size
    }
    fn run(&self, call: KernelCall<'_, '_>) -> Result<(), Misfit> {
        let chunk = GRAIN.div_ceil(self.length.max(1));
        for_kind!(self.kind, T => {
            let x = T::of(&call.args[0]);
            for_chunks(call.pool, i64::of_mut(&mut call.outs[0]), chunk, |number, out| {
                self.positions(x, number * chunk, out);
            });
        });
        Ok(())
    }
}

/// Elements of which one is the best.
trait FirstBest: Cell {
    /// The position of the first of the best elements of a line that is not empty.
    fn first_best(extreme: Extreme, line: &[Self]) -> usize;
}

macro_rules! first_best {
    ($cell:ident) => {
        impl FirstBest for $cell {
            fn first_best(extreme: Extreme, line: &[$cell]) -> usize {
                dispatch(ExtremeAlong { extreme, line })
            }
        }
        impl Work for ExtremeAlong<'_, $cell> {
            type Output = usize;
            #[inline(always)]
            fn run(self) -> usize {
                match self.extreme {
                    Extreme::Max => first_of(best(LargestJoin::<false>, self.line), self.line),
                    Extreme::Min => first_of(best(LargestJoin::<true>, self.line), self.line),
                }
            }
        }
    };
}
first_best!(i64);
first_best!(f32);
first_best!(f64);

impl FirstBest for u8 {
    fn first_best(extreme: Extreme, line: &[u8]) -> usize {
        first_of(u8::from(extreme == Extreme::Max), line)
    }
}

/// The elements of a result that follow each other.
struct ExtremeAlong<'a, T> {
    extreme: Extreme,
    line: &'a [T],
}

/// The best element, NaN if there is one.
#[inline(always)]
fn best<T: Cell, J: Join<T>>(join: J, line: &[T]) -> T {
    let mut lanes = [join.start(); 16];
    let (blocks, rest) = line.as_chunks::<16>();
    for block in blocks {
        for (lane, &x) in lanes.iter_mut().zip(block) {
            *lane = join.take(*lane, x);
        }
    }
    for (lane, &x) in lanes.iter_mut().zip(rest) {
        *lane = join.take(*lane, x);
    }
    join.finish(lanes.into_iter().fold(join.start(), |x, y| join.join(x, y)))
}

/// The first element equal to `best`, or the first NaN if that is one. A line of truth values that are all the same has
/// none that is equal to the better one: then the first.
#[inline(always)]
fn first_of<T: Cell>(best: T, line: &[T]) -> usize {
    let nan = best.partial_cmp(&best).is_none();
    let found = |x: &T| if nan { x.partial_cmp(x).is_none() } else { *x == best };
    // Whole blocks are looked at without leaving the loop, which vectors can do.
    let whole = line.chunks(64).position(|block| block.iter().fold(false, |any, x| any | found(x)));
    let block = whole.unwrap_or(0) * 64;
    block + line[block..].iter().position(found).unwrap_or(0)
}

/// Neighbouring results, row by row.
struct ExtremeAcross<'a, T, const LARGEST: bool> {
    x: &'a [T],
    inner: usize,
    column: usize,
    out: &'a mut [i64],
}

impl<T: FirstBest, const LARGEST: bool> Work for ExtremeAcross<'_, T, LARGEST> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let extreme = if LARGEST { Extreme::Max } else { Extreme::Min };
        let mut best = [T::default(); TILE];
        let best = &mut best[..self.out.len()];
        best.copy_from_slice(&self.x[self.column..][..self.out.len()]);
        self.out.fill(0);
        for (k, row) in self.x.chunks_exact(self.inner).enumerate().skip(1) {
            let row = &row[self.column..][..best.len()];
            for ((best, place), x) in best.iter_mut().zip(self.out.iter_mut()).zip(row) {
                let wins = extreme.replaces(x, best);
                *best = if wins { *x } else { *best };
                *place = if wins { k as i64 } else { *place };
            }
        }
    }
}
