//! A product in blocks of registers, without packing what is in order and without allocating.
//!
//! The result is cut into stripes of two vectors, and these into blocks of a few rows. A block is
//! summed over k in registers, in the order of k, so an element has the same bits wherever it lies
//! in the result. The right operand is read in place if its rows are contiguous; otherwise, and at
//! the right edge, its next [`DEPTH`] rows are gathered into a panel on the stack and filled up
//! with zeros, of which nothing comes to light.
//!
//! The shape of the blocks is that of the usual kernels of matrix products (Goto and van de Geijn,
//! Anatomy of high-performance matrix multiplication, 2008); the compiler keeps the sums in
//! registers, 95% as fast as the library where that need not pack.

use super::number::{Number, Task, View};
use crate::{Level, Work, dispatch_at, machine_level};
use std::mem::MaybeUninit;

/// Rows of the right operand that a panel holds: 16 KiB at 128 bytes a row.
const DEPTH: usize = 128;

/// Whether multiply-add is one instruction everywhere; on x86-64 it is from AVX2 on.
const ALWAYS_FUSED: bool = cfg!(target_arch = "aarch64");

/// Names the blocks of each type and level: rows, then columns of the stripes that are tried in
/// turn. 512-bit vectors have 32 registers, of which 16 hold sums; the others have 16, of which 12
/// or 8 do.
macro_rules! blocks {
    ($($number:ident: [$v4:expr, $v4_half:expr], [$v3:expr, $v3_half:expr], [$v1:expr, $v1_half:expr], $least:expr;)*) => {$(
        /// Runs a task of this type in the blocks of the level.
        pub(super) fn $number(task: Task<$number>, level: Level) {
            match level.min(machine_level()) {
                Level::Avx512 => dispatch_at(level, Blocks::<$number, 8, $v4, $v4_half, $least, true>(task)),
                Level::Avx2 => dispatch_at(level, Blocks::<$number, 6, $v3, $v3_half, $least, true>(task)),
                Level::Baseline => {
                    dispatch_at(level, Blocks::<$number, 4, $v1, $v1_half, $least, ALWAYS_FUSED>(task));
                }
            }
        }
    )*};
}

blocks! {
    f32: [32, 16], [16, 8], [8, 4], 4;
    f64: [16, 8], [8, 4], [4, 2], 2;
    i64: [16, 8], [8, 4], [4, 2], 2;
}

/// A task with its blocks: `ROWS` rows, stripes of `WIDE` columns, the rest of `HALF` or `LEAST`.
struct Blocks<T, const ROWS: usize, const WIDE: usize, const HALF: usize, const LEAST: usize, const FUSED: bool>(
    Task<T>,
);

impl<T: Number, const ROWS: usize, const WIDE: usize, const HALF: usize, const LEAST: usize, const FUSED: bool> Work
    for Blocks<T, ROWS, WIDE, HALF, LEAST, FUSED>
{
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let task = &self.0;
        let [_, k, n] = task.dims;
        if k == 0 {
            clear(task);
            return;
        }
        let mut j = 0;
        while j < n {
            let columns = n - j;
            // A narrower stripe for the rest, rather than sums of zeros.
            if columns > HALF {
                stripe::<T, ROWS, WIDE, FUSED>(task, j);
                j += WIDE;
            } else if columns > LEAST {
                stripe::<T, ROWS, HALF, FUSED>(task, j);
                j += HALF;
            } else {
                stripe::<T, ROWS, LEAST, FUSED>(task, j);
                j += LEAST;
            }
        }
    }
}

/// The product if k is 0: zeros, or what was there.
fn clear<T: Number>(task: &Task<T>) {
    let [m, _, n] = task.dims;
    if !task.add {
        for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
            // SAFETY: the maker of the task says that the elements of `c` are there and ours.
            // Test `an_empty_sum_is_zero`.
            unsafe { task.c.at(i, j).start.write(T::default()) };
        }
    }
}

/// The columns from `j` on, at most `WIDTH` of them.
#[inline(always)]
fn stripe<T: Number, const ROWS: usize, const WIDTH: usize, const FUSED: bool>(task: &Task<T>, j: usize) {
    let [m, k, n] = task.dims;
    let columns = WIDTH.min(n - j);
    let mut panel = [const { MaybeUninit::<[T; WIDTH]>::uninit() }; DEPTH];
    for p in (0..k).step_by(DEPTH) {
        let depth = DEPTH.min(k - p);
        let right = task.b.at(p, j);
        let right = if columns == WIDTH && right.strides[1] == 1 {
            right
        } else {
            gather(right, columns, &mut panel[..depth]);
            View { start: panel.as_ptr().cast(), strides: [WIDTH as isize, 1] }
        };
        let block = Block { depth, right, columns, add: task.add || p > 0 };
        let mut i = 0;
        while i + ROWS <= m {
            block.rows::<ROWS, WIDTH, FUSED>(task, i, p, j);
            i += ROWS;
        }
        while i + 2 <= m {
            block.rows::<2, WIDTH, FUSED>(task, i, p, j);
            i += 2;
        }
        if i < m {
            block.rows::<1, WIDTH, FUSED>(task, i, p, j);
        }
    }
}

/// Writes rows of `right` into `panel`: `columns` elements, then zeros.
#[inline(always)]
fn gather<T: Number, const WIDTH: usize>(right: View<T>, columns: usize, panel: &mut [MaybeUninit<[T; WIDTH]>]) {
    for (q, row) in panel.iter_mut().enumerate() {
        let mut values = [T::default(); WIDTH];
        for (l, value) in values[..columns].iter_mut().enumerate() {
            // SAFETY: the row and the column are within the dimensions of the task, whose maker
            // says that its elements can be read. Test `products_agree_with_the_triple_loop`.
            *value = unsafe { right.at(q, l).start.read() };
        }
        row.write(values);
    }
}

/// What the blocks of a stripe have in common.
struct Block<T> {
    depth: usize,
    /// `depth` rows of whole stripes, contiguous.
    right: View<T>,
    /// Of these so many columns count.
    columns: usize,
    add: bool,
}

impl<T: Number> Block<T> {
    /// Sums `M` rows from row `i` and depth `p` on, and writes them.
    #[inline(always)]
    fn rows<const M: usize, const WIDTH: usize, const FUSED: bool>(
        &self,
        task: &Task<T>,
        i: usize,
        p: usize,
        j: usize,
    ) {
        let left = task.a.at(i, p);
        let mut sums = [[T::default(); WIDTH]; M];
        for q in 0..self.depth {
            // SAFETY: `right` has `depth` rows of `WIDTH` contiguous elements: it is the panel,
            // which `gather` has filled so far, or a part of `b` that is `WIDTH` columns wide.
            // They need not be aligned. Test `products_agree_with_the_triple_loop`.
            let row = unsafe { self.right.at(q, 0).start.cast::<[T; WIDTH]>().read_unaligned() };
            for (r, sums) in sums.iter_mut().enumerate() {
                // SAFETY: row `i + r` and column `p + q` are within the dimensions of the task,
                // whose maker says that its elements can be read. Test as above.
                let x = unsafe { left.at(r, q).start.read() };
                for (sum, y) in sums.iter_mut().zip(row) {
                    *sum = x.times_plus::<FUSED>(y, *sum);
                }
            }
        }
        for (r, sums) in sums.iter().enumerate() {
            let place = task.c.at(i + r, j);
            if place.strides[1] == 1 && self.columns == WIDTH {
                let place = place.start.cast::<[T; WIDTH]>();
                let mut sums = *sums;
                if self.add {
                    // SAFETY: row `i + r` of `c` has `WIDTH` columns from `j` on, contiguous; the
                    // maker of the task says that they are there and ours. Test as above.
                    let old = unsafe { place.read_unaligned() };
                    for (sum, y) in sums.iter_mut().zip(old) {
                        *sum = y.plus(*sum);
                    }
                }
                // SAFETY: as for the reading.
                unsafe { place.write_unaligned(sums) };
            } else {
                for (l, sum) in sums[..self.columns].iter().enumerate() {
                    let place = place.at(0, l).start;
                    // SAFETY: column `j + l` is within the dimensions of the task. Test as above.
                    unsafe { place.write(if self.add { place.read().plus(*sum) } else { *sum }) };
                }
            }
        }
    }
}
