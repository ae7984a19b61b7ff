//! A product in blocks of registers, without packing what is in order and without allocating.
//!
//! The result is cut into stripes of two vectors, and these into blocks of a few rows. A block is
//! summed over the next [`DEPTH`] of k in registers, in their order, from zero, and the sums are added
//! up, so an element has the same bits wherever it lies in the result. The right operand is read in
//! place if its rows are contiguous and near each other; otherwise, and at the right edge, these rows
//! are gathered into a panel on the stack and padded with zeros, whose products are never written.
//!
//! The shape of the blocks is that of the usual kernels of matrix products (Goto and van de Geijn,
//! Anatomy of high-performance matrix multiplication, 2008).

use super::DEPTH;
use super::number::{MatrixView, Number, TileTask};
use super::registers::{LaneArray, Vector, prefetch};
use crate::arena::{LINE, Line};
use crate::dispatch::dispatch_only;
use crate::{Level, Work, machine_level};
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__m128, __m128d, __m256, __m256d, __m512, __m512d};
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// Rows of the left operand that all stripes read before the next ones: 120 KiB of the second cache at most. Whole blocks of
/// every level.
const ROWS_AT_ONCE: usize = 120;
/// Bytes from row to row of the right operand from which it is copied: every row lies on a page of its own, and many fall
/// into few sets of the cache.
const FAR: usize = 4096;

/// Whether multiply-add is one instruction everywhere; on x86-64 it is from AVX2 on.
const ALWAYS_FUSED: bool = cfg!(target_arch = "aarch64");

/// Defines the function of a type; gives for each level the vectors of a stripe, and those of
/// the last few columns.
macro_rules! blocks {
    ($($number:ident: $wide4:ty | $least4:ty, $wide3:ty | $least3:ty, $wide1:ty;)*) => {$(
        /// Runs a task of this type in the blocks of the level.
        ///
        /// 512-bit vectors have 32 registers, of which 16 hold sums here; the others have 16, of
        /// which 12 or 8 do.
        pub(super) fn $number(task: TileTask<$number>, level: Level) {
            match level.min(machine_level()) {
                Level::Baseline => Blocked::<$wide1, $wide1, 4>::at::<{ Level::Baseline as u8 }>(task),
                #[cfg(target_arch = "x86_64")]
                Level::Avx2 => Blocked::<$wide3, $least3, 6>::at::<{ Level::Avx2 as u8 }>(task),
                #[cfg(target_arch = "x86_64")]
                Level::Avx512 => Blocked::<$wide4, $least4, 8>::at::<{ Level::Avx512 as u8 }>(task),
                #[cfg(not(target_arch = "x86_64"))]
                Level::Avx2 | Level::Avx512 => Blocked::<$wide1, $wide1, 4>::at::<{ Level::Baseline as u8 }>(task),
            }
        }
    )*};
}

blocks! {
    f32: __m512 | __m128, __m256 | __m128, LaneArray<f32, 4, ALWAYS_FUSED>;
    f64: __m512d | __m256d, __m256d | __m128d, LaneArray<f64, 2, ALWAYS_FUSED>;
    i64: LaneArray<i64, 8, false> | LaneArray<i64, 4, false>,
        LaneArray<i64, 4, false> | LaneArray<i64, 2, false>, LaneArray<i64, 2, false>;
}

/// A task with its blocks: `ROWS` rows of two vectors `V`, the rest of the columns of one, or of `L`.
struct Blocked<V: Vector, L: Vector<Number = V::Number>, const ROWS: usize> {
    task: TileTask<V::Number>,
    /// Room for `DEPTH` rows of two vectors, or of as many as are summed; null if no stripe needs it.
    panel: *mut Line,
    vectors: PhantomData<L>,
}

impl<V: Vector, L: Vector<Number = V::Number>, const ROWS: usize> Blocked<V, L, ROWS> {
    /// Runs a task compiled for its level alone. A panel lies on the stack of a function of its own, whose pages are touched at every
    /// call: that took as long as products of 4 by 4 matrices themselves.
    #[inline]
    fn at<const LEVEL: u8>(task: TileTask<V::Number>) {
        let on = |panel| dispatch_only::<LEVEL, _>(Self { task, panel, vectors: PhantomData });
        if Self::needs_panel(&task) { with_panel(task.dims[1], on) } else { on(std::ptr::null_mut()) }
    }

    /// Whether some stripe is copied or gathered.
    #[inline]
    fn needs_panel(task: &TileTask<V::Number>) -> bool {
        let rest = task.dims[2] % (2 * V::LANES);
        let is_whole = [0, V::LANES, L::LANES].contains(&rest);
        task.b.strides[1] != 1 || !is_whole || is_far(&task.b) && task.dims[0] >= 3 * ROWS
    }
}

/// Whether rows lie so far apart that many of them are copied.
#[inline(always)]
fn is_far<T>(right: &MatrixView<T>) -> bool {
    right.strides[0].unsigned_abs().saturating_mul(size_of::<T>()) >= FAR
}

/// Rows of a panel that are few.
const SHORT: usize = 64;

/// Calls `f` with a panel on the stack that holds `rows` rows, at most [`DEPTH`].
fn with_panel(rows: usize, f: impl FnOnce(*mut Line)) {
    #[inline(never)]
    fn of<const LINES: usize>(f: impl FnOnce(*mut Line)) {
        let mut panel = [const { MaybeUninit::<Line>::uninit() }; LINES];
        f(panel.as_mut_ptr().cast());
    }
    const { assert!(LINE == 64, "two vectors are two lines at most") };
    if rows <= SHORT { of::<{ 2 * SHORT }>(f) } else { of::<{ 2 * DEPTH }>(f) }
}

impl<V: Vector, L: Vector<Number = V::Number>, const ROWS: usize> Work for Blocked<V, L, ROWS> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Blocked { task, panel, .. } = &self;
        let [m, k, n] = task.dims;
        if k == 0 {
            clear(task);
            return;
        }
        for (p, first) in (0..k).step_by(DEPTH).flat_map(|p| (0..m).step_by(ROWS_AT_ONCE).map(move |i| (p, i))) {
            let part = Part { rows: first..m.min(first + ROWS_AT_ONCE), p, depth: DEPTH.min(k - p), panel: *panel };
            let mut j = 0;
            while j < n {
                // A narrower stripe for the rest, rather than sums of zeros.
                j += match n - j {
                    columns if columns > V::LANES => stripe::<V, 2, ROWS>(task, &part, j),
                    columns if columns > L::LANES => stripe::<V, 1, ROWS>(task, &part, j),
                    _ => stripe::<L, 1, ROWS>(task, &part, j),
                };
            }
        }
    }
}

/// Rows of the result, and of the sums over k.
struct Part {
    rows: std::ops::Range<usize>,
    p: usize,
    depth: usize,
    panel: *mut Line,
}

/// The product if k is 0: zeros, or the previous contents.
fn clear<T: Number>(task: &TileTask<T>) {
    let [m, _, n] = task.dims;
    if !task.add {
        for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
            // SAFETY: the maker of the task says that the elements of `c` are there and ours.
            // Test `an_empty_sum_is_zero`.
            unsafe { task.c.at(i, j).start.write(T::default()) };
        }
    }
}

/// The columns from `j` on, at most `COUNT` vectors of them; returns how many columns that is.
#[inline(always)]
fn stripe<V: Vector, const COUNT: usize, const ROWS: usize>(
    task: &TileTask<V::Number>,
    part: &Part,
    j: usize,
) -> usize {
    let &Part { ref rows, p, depth, panel } = part;
    let width = COUNT * V::LANES;
    let columns = width.min(task.dims[2] - j);
    let mut right = task.b.at(p, j);
    let whole = columns == width && right.strides[1] == 1;
    if !whole || (is_far(&right) && rows.len() >= 3 * ROWS) {
        assert!(!panel.is_null(), "a panel was not expected");
        // SAFETY: it is there, and so it has room for as many rows as are summed, of two vectors of a line at most, aligned as
        // lines are; nobody else has it. Test `products_agree_with_the_triple_loop`.
        let panel = unsafe { std::slice::from_raw_parts_mut(panel.cast::<MaybeUninit<[V; COUNT]>>(), depth) };
        match whole {
            true => copy::<V, COUNT>(right, panel),
            false => gather::<V, COUNT>(right, columns, panel),
        }
        right = MatrixView { start: panel.as_ptr().cast(), strides: [width as isize, 1] };
    }
    let block = Stripe { depth, right, columns, add: task.add || p > 0 };
    let mut i = rows.start;
    while i + ROWS <= rows.end {
        block.rows::<V, COUNT, ROWS>(task, [i, p, j]);
        i += ROWS;
    }
    while i + 2 <= rows.end {
        block.rows::<V, COUNT, 2>(task, [i, p, j]);
        i += 2;
    }
    if i < rows.end {
        block.rows::<V, COUNT, 1>(task, [i, p, j]);
    }
    columns
}

/// Writes rows of `right`, which are whole vectors, into `panel`, and asks for those of the next panel.
#[inline(always)]
fn copy<V: Vector, const COUNT: usize>(right: MatrixView<V::Number>, panel: &mut [MaybeUninit<[V; COUNT]>]) {
    for (q, row) in panel.iter_mut().enumerate() {
        let from = right.at(q, 0).start;
        // SAFETY: row `q` of `right` has `COUNT` contiguous vectors within the dimensions of the task, whose maker says
        // that its elements can be read, and `dispatch_only` that the vectors are there. Test `rows_that_lie_far_apart`.
        row.write(std::array::from_fn(|l| unsafe { V::read(from.wrapping_add(l * V::LANES)) }));
        let next = right.at(q + DEPTH, 0).start;
        for l in 0..size_of::<[V; COUNT]>().div_ceil(LINE) {
            prefetch(next.cast::<u8>().wrapping_add(LINE * l));
        }
    }
}

/// Writes rows of `right` into `panel`: `columns` elements, then zeros.
#[inline(always)]
fn gather<V: Vector, const COUNT: usize>(
    right: MatrixView<V::Number>,
    columns: usize,
    panel: &mut [MaybeUninit<[V; COUNT]>],
) {
    for (q, row) in panel.iter_mut().enumerate() {
        let place = row.as_mut_ptr().cast::<V::Number>();
        for l in 0..COUNT * V::LANES {
            // SAFETY: if it is read, row `q` and column `l` are within the dimensions of the task,
            // whose maker says that its elements can be read; a row of the panel is this many
            // numbers long. Test `products_agree_with_the_triple_loop`.
            unsafe { place.add(l).write(if l < columns { right.at(q, l).start.read() } else { V::Number::default() }) };
        }
    }
}

/// What the blocks of a stripe have in common.
struct Stripe<T> {
    depth: usize,
    /// `depth` rows of whole vectors, contiguous.
    right: MatrixView<T>,
    /// How many of these columns count.
    columns: usize,
    add: bool,
}

impl<T: Number> Stripe<T> {
    /// Sums `M` rows from row `i`, depth `p` and column `j` on, and writes them.
    #[inline(always)]
    fn rows<V: Vector<Number = T>, const COUNT: usize, const M: usize>(
        &self,
        task: &TileTask<T>,
        [i, p, j]: [usize; 3],
    ) {
        let sums = self.sum::<V, COUNT, M>(task.a.at(i, p));
        let place = task.c.at(i, j);
        if place.strides[1] == 1 && self.columns == COUNT * V::LANES {
            for (r, sums) in sums.iter().enumerate() {
                for (l, sum) in sums.iter().enumerate() {
                    let place = place.at(r, l * V::LANES).start;
                    // SAFETY: row `i + r` of `c` has all columns of the stripe, contiguous; the
                    // maker of the task says that they are there and ours, and `dispatch_only` that the
                    // vectors are. Test `products_agree_with_the_triple_loop`.
                    unsafe { if self.add { V::read(place).plus(*sum) } else { *sum }.write(place) };
                }
            }
        } else {
            self.scatter::<V, COUNT, M>(task, [i, j], sums);
        }
    }

    /// `M` rows of `left` times `right`, summed in the order of k.
    #[inline(always)]
    fn sum<V: Vector<Number = T>, const COUNT: usize, const M: usize>(&self, left: MatrixView<T>) -> [[V; COUNT]; M] {
        // SAFETY: `dispatch_only` says that the vectors are there. Test `products_agree_with_the_triple_loop`.
        let mut sums = [[unsafe { V::splat(T::default()) }; COUNT]; M];
        let (mut left, mut right) = (left, self.right);
        for _ in 0..self.depth {
            // Where the columns lie far apart, as in a transposed matrix, nothing else fetches those of the next part in time.
            prefetch(left.at(0, DEPTH).start.cast());
            // SAFETY: `right` has `depth` rows of `COUNT` vectors: it is the panel, which `gather`
            // has filled so far, or a part of `b` that is as wide. Test as above.
            let row: [V; COUNT] = std::array::from_fn(|l| unsafe { V::read(right.start.wrapping_add(l * V::LANES)) });
            for (r, sums) in sums.iter_mut().enumerate() {
                // SAFETY: the caller's `left` has `M` rows and `depth` columns within the dimensions
                // of the task, whose maker says that its elements can be read. Test as above.
                let x = unsafe { V::splat(left.at(r, 0).start.read()) };
                for (sum, y) in sums.iter_mut().zip(&row) {
                    // SAFETY: `dispatch_only` says that the vectors are there. Test as above.
                    *sum = unsafe { x.times_plus(*y, *sum) };
                }
            }
            (left, right) = (left.at(0, 1), right.at(1, 0));
        }
        sums
    }

    /// Writes the first columns of `sums` one by one, where the result is not contiguous or narrower.
    #[inline(always)]
    fn scatter<V: Vector<Number = T>, const COUNT: usize, const M: usize>(
        &self,
        task: &TileTask<T>,
        [i, j]: [usize; 2],
        sums: [[V; COUNT]; M],
    ) {
        let values = sums.as_ptr().cast::<T>();
        for r in 0..M {
            for l in 0..self.columns {
                let place = task.c.at(i + r, j + l).start;
                // SAFETY: `sums` is `M` rows of `COUNT` vectors, which are numbers without padding; row
                // `i + r` and column `j + l` are within the dimensions of the task, whose maker says
                // that the elements of `c` are there and ours. Test as above.
                unsafe {
                    let sum = values.add(r * COUNT * V::LANES + l).read();
                    place.write(if self.add { place.read().plus(sum) } else { sum });
                }
            }
        }
    }
}
