//! A matrix times a vector, at the speed of the memory that holds the matrix.
//!
//! An element of the result is a sum in [`LANES`] lanes: each adds up every sixteenth of the products, in their order from zero, and the
//! lanes are added up in a fixed tree, halves to halves. Where a vector ends within the lanes, those that are left take a product of
//! zeros. A sum of more than [`PIECE`] products is done piece by piece, and the pieces are added up in their order.
//!
//! The matrix is read once, in the order in which it lies. If its rows are contiguous, the lanes of some rows at a time stay in
//! registers. If its columns are, those of one lane are added to sums of many rows in the nearest cache, and the lanes' sums to each
//! other as the tree has it: the bits do not depend on the layout. A matrix with neither is read along its shorter stride.

use super::number::{Number, TileTask};
use super::registers::{LaneArray, Vector};
use crate::dispatch::{Work, dispatch_only};
use crate::{Level, machine_level};
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__m256, __m256d, __m512, __m512d};
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// Elements of the vector, or of the result, that are held on the stack: whole vectors of every level.
const PIECE: usize = 512;
/// Lanes of a sum.
const LANES: usize = 16;
/// The levels of the tree of lanes, and its leaves.
const LEVELS: usize = LANES.ilog2() as usize + 1;

/// Whether multiply-add is one instruction everywhere; on x86-64 it is from AVX2 on.
const ALWAYS_FUSED: bool = cfg!(target_arch = "aarch64");

/// Defines the function of a type; gives for each level its vectors, how many of them hold the lanes of a row, and for how many rows
/// the lanes are held at once: in eight registers, so that no sum waits for the one before, and twice as many are left.
macro_rules! by_vector {
    ($($number:ident: $wide:ty [$c4:literal; $m4:literal], $middle:ty [$c3:literal; $m3:literal], $narrow:ty [$c1:literal; $m1:literal];)*) => {$(
        /// Runs a task of this type in order whose right operand is one column.
        pub(super) fn $number(task: TileTask<$number>, level: Level) {
            match level.min(machine_level()) {
                Level::Baseline => {
                    dispatch_only::<{ Level::Baseline as u8 }, _>(ByVector::<$narrow, $c1, $m1>(task, PhantomData));
                }
                Level::Avx2 => dispatch_only::<{ Level::Avx2 as u8 }, _>(ByVector::<$middle, $c3, $m3>(task, PhantomData)),
                Level::Avx512 => dispatch_only::<{ Level::Avx512 as u8 }, _>(ByVector::<$wide, $c4, $m4>(task, PhantomData)),
            }
        }
    )*};
}

#[cfg(target_arch = "x86_64")]
by_vector! {
    f32: __m512 [1; 8], __m256 [2; 4], LaneArray<f32, 4, ALWAYS_FUSED> [4; 2];
    f64: __m512d [2; 4], __m256d [4; 2], LaneArray<f64, 2, ALWAYS_FUSED> [8; 1];
    i64: LaneArray<i64, 8, false> [2; 4], LaneArray<i64, 4, false> [4; 2], LaneArray<i64, 2, false> [8; 1];
}

#[cfg(not(target_arch = "x86_64"))]
by_vector! {
    f32: LaneArray<f32, 4, ALWAYS_FUSED> [4; 2], LaneArray<f32, 4, ALWAYS_FUSED> [4; 2], LaneArray<f32, 4, ALWAYS_FUSED> [4; 2];
    f64: LaneArray<f64, 2, ALWAYS_FUSED> [8; 1], LaneArray<f64, 2, ALWAYS_FUSED> [8; 1], LaneArray<f64, 2, ALWAYS_FUSED> [8; 1];
    i64: LaneArray<i64, 2, false> [8; 1], LaneArray<i64, 2, false> [8; 1], LaneArray<i64, 2, false> [8; 1];
}

/// A task whose rows have their lanes in `C` vectors, for `M` rows at once.
struct ByVector<V: Vector, const C: usize, const M: usize>(TileTask<V::Number>, PhantomData<V>);

impl<V: Vector, const C: usize, const M: usize> Work for ByVector<V, C, M> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        const { assert!(C * V::LANES == LANES && PIECE.is_multiple_of(LANES), "whole vectors") };
        let task = &self.0;
        let [down, along] = task.a.strides;
        // SAFETY: `dispatch_only` says that the vectors are there. Test `products_agree_with_the_triple_loop`.
        unsafe {
            match along.unsigned_abs() <= down.unsigned_abs() && task.dims[1] > 1 {
                true if along == 1 => self.rows::<true>(task),
                true => self.rows::<false>(task),
                false if down == 1 => columns::<V, true>(task),
                false => columns::<V, false>(task),
            }
        }
    }
}

/// The `count` numbers from `place` on, each `stride` from the one before, or as many as there are lanes; the other lanes are 0.
///
/// # Safety
///
/// The vectors must be there, and so must the numbers. With `CONTIGUOUS` the stride must be 1.
#[inline(always)]
unsafe fn read<V: Vector, const CONTIGUOUS: bool>(place: *const V::Number, stride: isize, count: usize) -> V {
    if CONTIGUOUS {
        // SAFETY: as the caller promises.
        return unsafe { if count >= V::LANES { V::read(place) } else { V::read_some(place, count) } };
    }
    let mut lanes = [V::Number::default(); LANES];
    for (l, lane) in lanes[..V::LANES.min(count)].iter_mut().enumerate() {
        // SAFETY: as the caller promises.
        *lane = unsafe { place.wrapping_offset(l as isize * stride).read() };
    }
    // SAFETY: there are no more lanes than that in a vector, which the caller says is there.
    unsafe { V::read(lanes.as_ptr()) }
}

/// Adds `sum` to element `i` of the result, or writes it.
///
/// # Safety
///
/// The task must have a row `i`.
#[inline(always)]
unsafe fn put<T: Number>(task: &TileTask<T>, i: usize, sum: T, add: bool) {
    let place = task.c.at(i, 0).start;
    // SAFETY: row `i` is within the dimensions of the task, whose maker says that the elements of `c` are there and ours. Test
    // `products_agree_with_the_triple_loop`.
    unsafe { place.write(if add { place.read().plus(sum) } else { sum }) };
}

impl<V: Vector, const C: usize, const M: usize> ByVector<V, C, M> {
    /// The matrix row by row.
    ///
    /// # Safety
    ///
    /// The vectors must be there.
    #[inline(always)]
    unsafe fn rows<const CONTIGUOUS: bool>(&self, task: &TileTask<V::Number>) {
        let [m, k, _] = task.dims;
        let mut copied = [const { MaybeUninit::<V::Number>::uninit() }; PIECE];
        for p in (0..k).step_by(PIECE) {
            let depth = PIECE.min(k - p);
            let place = task.b.at(p, 0);
            let vector = if place.strides[0] == 1 {
                place.start
            } else {
                for (q, x) in copied[..depth].iter_mut().enumerate() {
                    // SAFETY: row `p + q` is within the dimensions of the task, whose maker says that the elements of `b` can
                    // be read. Test `products_agree_with_the_triple_loop`.
                    x.write(unsafe { place.at(q, 0).start.read() });
                }
                copied.as_ptr().cast()
            };
            let part = Part { p, depth, vector, add: task.add || p > 0 };
            let mut i = 0;
            // SAFETY: the rows are within the dimensions of the task; the caller says that the vectors are there, and `vector`
            // has `depth` elements.
            unsafe {
                while i + M <= m {
                    self.dots::<M, CONTIGUOUS>(task, i, &part);
                    i += M;
                }
                while i + 2 <= m {
                    self.dots::<2, CONTIGUOUS>(task, i, &part);
                    i += 2;
                }
                if i < m {
                    self.dots::<1, CONTIGUOUS>(task, i, &part);
                }
            }
        }
    }

    /// The products of `R` rows, from row `i` on, with a part of the vector.
    ///
    /// # Safety
    ///
    /// The vectors must be there, the task must have these rows and the columns of the part, and the part its elements.
    #[inline(always)]
    #[expect(clippy::needless_range_loop, reason = "by index, and of constant length: the sums stay in registers")]
    unsafe fn dots<const R: usize, const CONTIGUOUS: bool>(
        &self,
        task: &TileTask<V::Number>,
        i: usize,
        part: &Part<V::Number>,
    ) {
        let stride = task.a.strides[1];
        let starts: [*const V::Number; R] = std::array::from_fn(|r| task.a.at(i + r, part.p).start);
        let (whole, step) = (part.depth - part.depth % LANES, |q: usize| q as isize * stride);
        // SAFETY: the caller says that the vectors are there, and that the rows have as many columns as the part has elements, all
        // of which can be read. What is read of fewer columns is masked. Test `products_agree_with_the_triple_loop`.
        unsafe {
            let mut sums = [[V::splat(V::Number::default()); C]; R];
            for q in (0..whole).step_by(LANES) {
                for c in 0..C {
                    let at = q + c * V::LANES;
                    let x = V::read(part.vector.add(at));
                    for r in 0..R {
                        let values = read::<V, CONTIGUOUS>(starts[r].wrapping_offset(step(at)), stride, V::LANES);
                        sums[r][c] = values.times_plus(x, sums[r][c]);
                    }
                }
            }
            if whole < part.depth {
                for c in 0..C {
                    let at = whole + c * V::LANES;
                    let left = part.depth.saturating_sub(at);
                    let x = read::<V, true>(part.vector.wrapping_add(at), 1, left);
                    for r in 0..R {
                        let values = read::<V, CONTIGUOUS>(starts[r].wrapping_offset(step(at)), stride, left);
                        sums[r][c] = values.times_plus(x, sums[r][c]);
                    }
                }
            }
            for (r, sums) in sums.iter_mut().enumerate() {
                // Loops of constant length: the sums stay in registers.
                if C == 8 {
                    for c in 0..4 {
                        sums[c] = sums[c].plus(sums[(c + 4) % C]);
                    }
                }
                if C >= 4 {
                    for c in 0..2 {
                        sums[c] = sums[c].plus(sums[(c + 2) % C]);
                    }
                }
                if C >= 2 {
                    sums[0] = sums[0].plus(sums[1 % C]);
                }
                put(task, i + r, sums[0].tree(), part.add);
            }
        }
    }
}

/// A part of the vector, from element `p` on.
struct Part<T> {
    p: usize,
    depth: usize,
    /// Its elements, contiguous.
    vector: *const T,
    /// Whether its products are added to what is in the result.
    add: bool,
}

/// Sums of many rows, for every level of the tree.
type Sums<T> = [[MaybeUninit<T>; PIECE]; LEVELS];

/// The matrix column by column, for many rows at a time.
///
/// # Safety
///
/// The vectors must be there. With `CONTIGUOUS` the columns must be contiguous.
#[inline(always)]
unsafe fn columns<V: Vector, const CONTIGUOUS: bool>(task: &TileTask<V::Number>) {
    let [m, k, _] = task.dims;
    let mut sums: Sums<V::Number> = [const { [const { MaybeUninit::uninit() }; PIECE] }; LEVELS];
    for (i, p) in (0..m).step_by(PIECE).flat_map(|i| (0..k).step_by(PIECE).map(move |p| (i, p))) {
        let (count, depth) = (PIECE.min(m - i), PIECE.min(k - p));
        // SAFETY: the caller says that the vectors are there; the rows and columns are within the dimensions of the task.
        unsafe {
            add_lanes::<V, CONTIGUOUS>(task, [i, p], [count, depth], &mut sums);
            write::<V>(task, i, &sums[0], count, [depth % LANES > 0, task.add || p > 0]);
        }
    }
}

/// The sums of `count` rows over `depth` columns, lane by lane, added up by the tree: into `sums[0]`, whole vectors of it.
///
/// # Safety
///
/// The vectors must be there, and the task must have these rows and columns.
#[inline(always)]
unsafe fn add_lanes<V: Vector, const CONTIGUOUS: bool>(
    task: &TileTask<V::Number>,
    [i, p]: [usize; 2],
    [count, depth]: [usize; 2],
    sums: &mut Sums<V::Number>,
) {
    // Neighbours are the lanes that are added to each other first: 0 and 8, then 4 and 12.
    let lane = |leaf: usize| leaf.reverse_bits() >> (usize::BITS - LANES.ilog2());
    let mut held = 0;
    for leaf in 0..LANES {
        if lane(leaf) < depth {
            let columns = (depth - lane(leaf)).div_ceil(LANES);
            // SAFETY: as the caller says: the last column is `depth - 1` at most.
            unsafe { add_all::<V, CONTIGUOUS>(task, i, [p + lane(leaf), columns], &mut sums[held], count) };
        }
        held += 1;
        for width in (0..leaf.trailing_ones()).map(|levels| 1 << levels) {
            held -= 1;
            // The first lane of the right side has the lowest number of all in it: where it has no column, none has.
            if lane(leaf + 1 - width) < depth {
                let (left, right) = sums.split_at_mut(held);
                for v in (0..count).step_by(V::LANES) {
                    let [left, right] =
                        [left[held - 1].as_mut_ptr(), right[0].as_mut_ptr()].map(|sums| sums.cast::<V::Number>());
                    // SAFETY: there are whole vectors in a level, `add_all` has written those of all lanes that have a column, and
                    // the caller says that the vectors are there. Test `products_agree_with_the_triple_loop`.
                    unsafe { V::read(left.add(v)).plus(V::read(right.add(v))).write(left.add(v)) };
                }
            }
        }
    }
}

/// The sums of `count` rows over `columns` columns from column `first` on, every [`LANES`]-th, each times its element of the vector, in
/// their order.
///
/// # Safety
///
/// The vectors must be there, and the task must have these columns, at least one, and these rows from row `i` on, at most [`PIECE`].
#[inline(always)]
unsafe fn add_all<V: Vector, const CONTIGUOUS: bool>(
    task: &TileTask<V::Number>,
    i: usize,
    [first, columns]: [usize; 2],
    sums: &mut [MaybeUninit<V::Number>; PIECE],
    count: usize,
) {
    let mut done = 0;
    // SAFETY: as the caller says.
    unsafe {
        while done + 8 <= columns {
            add_columns::<V, 8, CONTIGUOUS>(task, i, first + done * LANES, sums, [count, usize::from(done > 0)]);
            done += 8;
        }
        if done + 4 <= columns {
            add_columns::<V, 4, CONTIGUOUS>(task, i, first + done * LANES, sums, [count, usize::from(done > 0)]);
            done += 4;
        }
        if done + 2 <= columns {
            add_columns::<V, 2, CONTIGUOUS>(task, i, first + done * LANES, sums, [count, usize::from(done > 0)]);
            done += 2;
        }
        if done < columns {
            add_columns::<V, 1, CONTIGUOUS>(task, i, first + done * LANES, sums, [count, usize::from(done > 0)]);
        }
    }
}

/// Adds `N` columns from row `i` and column `p` on, every [`LANES`]-th, each times its element of the vector, to what is in `sums` or
/// to zero.
///
/// # Safety
///
/// As [`add_all`]; with `add` above zero, whole vectors of `sums` must have been written.
#[inline(always)]
unsafe fn add_columns<V: Vector, const N: usize, const CONTIGUOUS: bool>(
    task: &TileTask<V::Number>,
    i: usize,
    p: usize,
    sums: &mut [MaybeUninit<V::Number>; PIECE],
    [count, add]: [usize; 2],
) {
    let stride = task.a.strides[0];
    let starts: [*const V::Number; N] = std::array::from_fn(|q| task.a.at(i, p + q * LANES).start);
    let sums = sums.as_mut_ptr().cast::<V::Number>();
    // SAFETY: the columns and rows are within the dimensions of the task, whose maker says that the elements of both operands can be
    // read; fewer rows than lanes are masked. `sums` are the first of a level, which is whole vectors. The caller says that the
    // vectors are there. Test `products_agree_with_the_triple_loop`.
    unsafe {
        let factors: [V; N] = std::array::from_fn(|q| V::splat(task.b.at(p + q * LANES, 0).start.read()));
        for v in (0..count).step_by(V::LANES) {
            let mut total = if add > 0 { V::read(sums.add(v)) } else { V::splat(V::Number::default()) };
            for q in 0..N {
                let start = starts[q].wrapping_offset(v as isize * stride);
                total = read::<V, CONTIGUOUS>(start, stride, count - v).times_plus(factors[q], total);
            }
            total.write(sums.add(v));
        }
    }
}

/// Writes the sums of `count` rows from row `i` on, or adds them to what is there; `zero` says that a lane has taken a product of zeros.
///
/// # Safety
///
/// The vectors must be there, the sums must have been written, whole vectors, and the task must have these rows.
#[inline(always)]
unsafe fn write<V: Vector>(
    task: &TileTask<V::Number>,
    i: usize,
    sums: &[MaybeUninit<V::Number>; PIECE],
    count: usize,
    [zero, add]: [bool; 2],
) {
    let place = task.c.at(i, 0);
    let whole = if place.strides[0] == 1 { count - count % V::LANES } else { 0 };
    let from = sums.as_ptr().cast::<V::Number>();
    // SAFETY: the sums have been written; the rows are within the dimensions of the task, whose maker says that the elements of `c`
    // are there and ours; whole vectors of them are contiguous. Test `products_agree_with_the_triple_loop`.
    unsafe {
        for v in (0..whole).step_by(V::LANES) {
            let (mut sum, to) = (V::read(from.add(v)), place.at(v, 0).start);
            if zero {
                sum = sum.plus(V::splat(V::Number::default()));
            }
            if add { V::read(to).plus(sum) } else { sum }.write(to);
        }
        for r in whole..count {
            let sum = from.add(r).read();
            put(task, i + r, if zero { sum.plus(V::Number::default()) } else { sum }, add);
        }
    }
}
