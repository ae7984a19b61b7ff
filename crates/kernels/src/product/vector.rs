//! A matrix times a vector, at the speed of the memory that holds the matrix.
//!
//! The matrix is read once, in the order in which it lies. If its rows are contiguous, four rows
//! at a time are multiplied by the vector, in sums of as many lanes as two vectors have, which
//! are added up in a fixed tree. If its columns are, eight columns of one lane at a time are added
//! to a piece of the result in the nearest caches, and the lanes' pieces in the same tree: the bits
//! do not depend on the layout. A matrix with neither is read along its shorter stride.

use super::number::{Number, TileTask};
use crate::{Level, Work, dispatch_at, machine_level};

/// Elements of the vector, or of the result, that are held on the stack.
const PIECE: usize = 512;
/// Lanes of a sum along a row.
const LANES: usize = 32;
/// Columns of a lane that are added in one go.
const COLUMNS: usize = 8;

/// Whether multiply-add is one instruction everywhere; on x86-64 it is from AVX2 on.
const ALWAYS_FUSED: bool = cfg!(target_arch = "aarch64");

/// Runs a task in order whose right operand is one column.
pub(super) fn run<T: Number>(task: TileTask<T>, level: Level) {
    match level.min(machine_level()) {
        Level::Baseline => dispatch_at(level, ByVector::<T, ALWAYS_FUSED>(task)),
        Level::Avx2 | Level::Avx512 => dispatch_at(level, ByVector::<T, true>(task)),
    }
}

struct ByVector<T, const FUSED: bool>(TileTask<T>);

impl<T: Number, const FUSED: bool> Work for ByVector<T, FUSED> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let task = &self.0;
        let along_rows = task.a.strides[1].unsigned_abs() <= task.a.strides[0].unsigned_abs();
        if along_rows && task.dims[1] > 1 {
            if task.a.strides[1] == 1 { rows::<T, FUSED, true>(task) } else { rows::<T, FUSED, false>(task) }
        } else if task.a.strides[0] == 1 {
            columns::<T, FUSED, true>(task);
        } else {
            columns::<T, FUSED, false>(task);
        }
    }
}

/// Adds `sum` to element `i` of the result, or writes it.
#[inline(always)]
fn put<T: Number>(task: &TileTask<T>, i: usize, sum: T, add: bool) {
    let place = task.c.at(i, 0).start;
    // SAFETY: row `i` is within the dimensions of the task, whose maker says that the elements of
    // `c` are there and ours. Test `products_agree_with_the_triple_loop`.
    unsafe { place.write(if add { place.read().plus(sum) } else { sum }) };
}

/// Copies elements `p..` of the right operand, until `piece` is full.
#[inline(always)]
fn fetch<T: Number>(task: &TileTask<T>, p: usize, piece: &mut [T]) {
    for (q, x) in piece.iter_mut().enumerate() {
        // SAFETY: row `p + q` is within the dimensions of the task, whose maker says that the
        // elements of `b` can be read. Test as above.
        *x = unsafe { task.b.at(p + q, 0).start.read() };
    }
}

/// The matrix row by row.
#[inline(always)]
fn rows<T: Number, const FUSED: bool, const CONTIGUOUS: bool>(task: &TileTask<T>) {
    let [m, k, _] = task.dims;
    let mut piece = [T::default(); PIECE];
    for p in (0..k).step_by(PIECE) {
        let piece = &mut piece[..PIECE.min(k - p)];
        fetch(task, p, piece);
        let add = task.add || p > 0;
        let mut i = 0;
        while i + 4 <= m {
            for (r, sum) in dots::<T, 4, FUSED, CONTIGUOUS>(task, i, p, piece).into_iter().enumerate() {
                put(task, i + r, sum, add);
            }
            i += 4;
        }
        while i < m {
            let [sum] = dots::<T, 1, FUSED, CONTIGUOUS>(task, i, p, piece);
            put(task, i, sum, add);
            i += 1;
        }
    }
}

/// The products of `M` rows, from row `i` and column `p` on, with a piece of the vector.
#[inline(always)]
fn dots<T: Number, const M: usize, const FUSED: bool, const CONTIGUOUS: bool>(
    task: &TileTask<T>,
    i: usize,
    p: usize,
    piece: &[T],
) -> [T; M] {
    let mut sums = [[T::default(); LANES]; M];
    let (blocks, rest) = piece.as_chunks::<LANES>();
    for (block, x) in blocks.iter().enumerate() {
        for (r, sums) in sums.iter_mut().enumerate() {
            let row = task.a.at(i + r, p + block * LANES);
            let mut values = [T::default(); LANES];
            if CONTIGUOUS {
                // SAFETY: the row has `LANES` more columns, since the piece has as many elements,
                // and they are contiguous; the maker of the task says that they can be read. They
                // need not be aligned. Test `products_agree_with_the_triple_loop`.
                values = unsafe { row.start.cast::<[T; LANES]>().read_unaligned() };
            } else {
                for (l, value) in values.iter_mut().enumerate() {
                    // SAFETY: as above, one by one.
                    *value = unsafe { row.at(0, l).start.read() };
                }
            }
            for ((sum, x), value) in sums.iter_mut().zip(x).zip(values) {
                *sum = value.times_plus::<FUSED>(*x, *sum);
            }
        }
    }
    // A loop: what `map` calls is compiled for the baseline, not for the instruction set of this function.
    let mut totals = [T::default(); M];
    for (total, lanes) in totals.iter_mut().zip(sums) {
        *total = tree(lanes);
    }
    for (q, x) in rest.iter().enumerate() {
        for (r, total) in totals.iter_mut().enumerate() {
            // SAFETY: as above: column `p + blocks + q` is one of the piece.
            let value = unsafe { task.a.at(i + r, p + blocks.len() * LANES + q).start.read() };
            *total = value.times_plus::<FUSED>(*x, *total);
        }
    }
    totals
}

/// The sum of the lanes: halves added to halves.
#[inline(always)]
fn tree<T: Number>(mut lanes: [T; LANES]) -> T {
    let mut width = LANES / 2;
    while width > 0 {
        for l in 0..width {
            lanes[l] = lanes[l].plus(lanes[l + width]);
        }
        width /= 2;
    }
    lanes[0]
}

/// The matrix column by column: the sums of [`rows`], for many rows at a time.
#[inline(always)]
fn columns<T: Number, const FUSED: bool, const CONTIGUOUS: bool>(task: &TileTask<T>) {
    let [m, k, _] = task.dims;
    let mut lanes = [[T::default(); PIECE]; LEVELS];
    for i in (0..m).step_by(PIECE) {
        let count = PIECE.min(m - i);
        for p in (0..k).step_by(PIECE) {
            let depth = PIECE.min(k - p);
            let blocks = depth / LANES;
            if blocks > 0 {
                add_lanes::<T, FUSED, CONTIGUOUS>(task, [i, p], blocks, count, &mut lanes);
            } else {
                lanes[0][..count].fill(T::default());
            }
            let sums = &mut lanes[0][..count];
            add_all::<T, FUSED, CONTIGUOUS>(task, i, [p + blocks * LANES, 1, depth % LANES], sums);
            for (r, sum) in sums.iter().enumerate() {
                put(task, i + r, *sum, task.add || p > 0);
            }
        }
    }
}

/// The levels of the tree of lanes, and its leaves.
const LEVELS: usize = LANES.ilog2() as usize + 1;

/// The sums over whole blocks of columns, lane by lane, added up as [`tree`] does: into `lanes[0]`.
#[inline(always)]
fn add_lanes<T: Number, const FUSED: bool, const CONTIGUOUS: bool>(
    task: &TileTask<T>,
    [i, p]: [usize; 2],
    blocks: usize,
    count: usize,
    lanes: &mut [[T; PIECE]; LEVELS],
) {
    let mut held = 0;
    for leaf in 0..LANES {
        // Neighbours are the lanes that are added to each other first: 0 and 16, then 8 and 24.
        let lane = leaf.reverse_bits() >> (usize::BITS - LANES.ilog2());
        lanes[held][..count].fill(T::default());
        add_all::<T, FUSED, CONTIGUOUS>(task, i, [p + lane, LANES, blocks], &mut lanes[held][..count]);
        held += 1;
        for _ in 0..leaf.trailing_ones() {
            held -= 1;
            let (left, right) = lanes.split_at_mut(held);
            let left = &mut left[held - 1][..count];
            left.iter_mut().zip(&right[0]).for_each(|(sum, other)| *sum = sum.plus(*other));
        }
    }
}

/// Adds `count` columns from column `first` on, every `step`-th, each times its element of the vector, in their order.
#[inline(always)]
fn add_all<T: Number, const FUSED: bool, const CONTIGUOUS: bool>(
    task: &TileTask<T>,
    i: usize,
    [first, step, count]: [usize; 3],
    sums: &mut [T],
) {
    let mut done = 0;
    while done + COLUMNS <= count {
        add_columns::<T, COLUMNS, FUSED, CONTIGUOUS>(task, i, [first + done * step, step], sums);
        done += COLUMNS;
    }
    while done < count {
        add_columns::<T, 1, FUSED, CONTIGUOUS>(task, i, [first + done * step, step], sums);
        done += 1;
    }
}

/// Adds `N` columns from row `i` and column `p` on, every `step`-th, each times its element of the vector.
#[inline(always)]
fn add_columns<T: Number, const N: usize, const FUSED: bool, const CONTIGUOUS: bool>(
    task: &TileTask<T>,
    i: usize,
    [p, step]: [usize; 2],
    sums: &mut [T],
) {
    // SAFETY: row `p + q * step` of the right operand is within the dimensions of the task, whose maker says that the
    // elements of `b` can be read. Test `products_agree_with_the_triple_loop`.
    let factors: [T; N] = std::array::from_fn(|q| unsafe { task.b.at(p + q * step, 0).start.read() });
    let stride = if CONTIGUOUS { 1 } else { task.a.strides[0] };
    let starts: [*const T; N] = std::array::from_fn(|q| task.a.at(i, p + q * step).start);
    for (r, sum) in sums.iter_mut().enumerate() {
        let mut total = *sum;
        for (start, x) in starts.iter().zip(factors) {
            // SAFETY: row `i + r` and the column are within the dimensions of the task, since
            // `sums` holds no more rows; its maker says that the elements can be read.
            // Test `products_agree_with_the_triple_loop`.
            let value = unsafe { start.offset(r as isize * stride).read() };
            total = value.times_plus::<FUSED>(x, total);
        }
        *sum = total;
    }
}
