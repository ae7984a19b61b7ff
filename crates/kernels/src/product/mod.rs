//! Products of matrices, with any strides, over a pool of threads.
//!
//! Three ways lead to a result:
//!
//! - a matrix times a vector is limited by memory, and is read in the order in which it lies;
//! - a small product is summed in blocks of registers, which needs no packing and no memory;
//! - the others are packed, and multiplied by the register kernels of the library `gemm`.
//!
//! The first is taken by shape alone. Between the others strides decide too, and they give the same
//! bits: both sum `DEPTH` products in their order from zero, and add up these sums in their order.
//! So the bits of an element depend on its row, its column and the level, never on how operands and
//! results lie, nor on the other rows and columns of its matrix or on the batch.
//!
//! A large result is cut into tiles, and many small products into groups. How, depends on their shape and, for those that are
//! packed, on the number of threads; the bits do not. They are not the same on every
//! [`Level`]: from AVX2 on multiplication and addition are fused, and the blocks differ.
//!
//! # Accuracy
//!
//! Each element is a sum of products in some order, so to first order the error is at most
//! `k * eps * sum(|a| * |b|)`, where `eps` is [`f64::EPSILON`] or [`f32::EPSILON`] (Higham,
//! Accuracy and Stability of Numerical Algorithms, 2002, section 3.1). NaN and infinities come out
//! as of the plain triple loop. Integers wrap around.
//!
//! # Memory
//!
//! What is packed lies in memory of the thread that packs, which keeps it for the next product; [`workspace`] bounds it.
//!
//! ```
//! use wengert_kernels::Pool;
//! use wengert_kernels::product::{Accumulate, Operand, Target, product};
//!
//! // A matrix of two rows, by the transpose of one that lies in memory row by row.
//! let a = Operand::new(&[1.0, 2.0, 3.0, 4.0], [2, 1]);
//! let b = Operand::new(&[5.0, 6.0, 7.0, 8.0], [1, 2]);
//! let mut c = [0.0; 4];
//! product([2, 2, 2], a, b, Target::new(&mut c, [2, 1]), Accumulate::Overwrite, &Pool::new(1));
//! assert_eq!(c, [17.0, 23.0, 39.0, 53.0]);
//! ```

use crate::cost::{
    BLOCKS_GATHERED, BLOCKS_NARROW, BLOCKS_WIDE, PRODUCT_BLOCK, PRODUCT_EACH, PRODUCT_FEW, PRODUCT_GRAIN, PRODUCT_HALF,
    PRODUCT_HALVED, PRODUCT_PANELS, PRODUCT_PAYS, PRODUCT_SIDE, PRODUCT_TILES,
};
use crate::{Level, Pool, level};
use number::{MatrixView, MatrixViewMut, Packed, TileTask};

mod blocks;
mod bounds;
mod library;
mod number;
mod pack;
mod packed;
mod registers;
#[cfg(test)]
mod tests;
pub mod tile;
mod vector;

/// How many products are summed at once, from zero: a panel of six rows in double precision takes half of a first cache. With
/// half as many, results are read and written twice as often. Measured on 29 November 2026, Intel Xeon with AVX-512: blocks are 1
/// to 4 % faster than with 256, and packed products of 1,024 by 1,024 by 1,024 3 to 6 %.
pub const DEPTH: usize = 512;

/// A matrix, or a batch of them, that is read.
///
/// `strides` are the distances in `data` from one row to the next and from one column to the
/// next, `batch` those of the batch axes. They may be 0 or negative. The lowest element that they
/// reach is `data[0]`: a matrix with a negative stride begins where its last element is the first.
///
/// ```
/// use wengert_kernels::{Pool, product::{Accumulate, Operand, Target, product}};
/// let reversed = Operand::new(&[1, 2, 3], [0, -1]); // The row 3, 2, 1.
/// let mut c = [0_i64];
/// let weights = Operand::new(&[1, 10, 100], [1, 0]);
/// product([1, 3, 1], reversed, weights, Target::new(&mut c, [1, 1]), Accumulate::Overwrite, &Pool::new(1));
/// assert_eq!(c, [123]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Operand<'a, T> {
    /// The numbers.
    pub data: &'a [T],
    /// From row to row and from column to column.
    pub strides: [isize; 2],
    /// Along each axis of the batch.
    pub batch: &'a [isize],
}

impl<'a, T> Operand<'a, T> {
    /// One matrix.
    pub fn new(data: &'a [T], strides: [isize; 2]) -> Operand<'a, T> {
        Operand { data, strides, batch: &[] }
    }

    /// A batch of matrices, with the distances from one to the next along each axis.
    pub fn batched(self, batch: &'a [isize]) -> Operand<'a, T> {
        Operand { batch, ..self }
    }
}

/// A matrix, or a batch of them, that is written. No two elements may lie in the same place.
#[derive(Debug)]
pub struct Target<'a, T> {
    /// The numbers.
    pub data: &'a mut [T],
    /// From row to row and from column to column.
    pub strides: [usize; 2],
    /// Along each axis of the batch.
    pub batch: &'a [usize],
}

impl<'a, T> Target<'a, T> {
    /// One matrix.
    pub fn new(data: &'a mut [T], strides: [usize; 2]) -> Target<'a, T> {
        Target { data, strides, batch: &[] }
    }

    /// A batch of matrices, with the distances from one to the next along each axis.
    pub fn batched(self, batch: &'a [usize]) -> Target<'a, T> {
        Target { batch, ..self }
    }
}

/// What happens to the numbers already in the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Accumulate {
    /// They are ignored.
    Overwrite,
    /// The product is added to them.
    Add,
}

/// Whether a product of this inner length that is added to a result ([`Accumulate::Add`]) gives the bits of the product alone,
/// added afterwards: it does where there is something to sum, and all of it is summed at once, from zero.
///
/// ```
/// use wengert_kernels::product::adds_alike;
/// assert!(adds_alike(16) && !adds_alike(0) && !adds_alike(100_000));
/// ```
pub const fn adds_alike(inner: usize) -> bool {
    0 < inner && inner <= DEPTH
}

/// Numbers that have products: `f32`, `f64`, and `i64`, which wraps around.
pub trait Product: number::Number {}

impl Product for f32 {}
impl Product for f64 {}
impl Product for i64 {}

/// `c = a b`, or `c += a b`, for an `m` by `k` matrix `a` and a `k` by `n` matrix `b`; `dims` is `[m, k, n]`.
///
/// If `k` is 0 the product is zero. The batches of the operands must be empty; see [`products`]
/// for the rest, and the [module](self) for an example, for accuracy and for memory.
///
/// # Panics
///
/// If a matrix reaches beyond its data, or two elements of the result lie in one place.
#[track_caller]
pub fn product<T: Product>(
    dims: [usize; 3],
    a: Operand<'_, T>,
    b: Operand<'_, T>,
    c: Target<'_, T>,
    accumulate: Accumulate,
    pool: &Pool,
) {
    products(&[], dims, a, b, c, accumulate, pool);
}

/// One [`product`] for every index of the axes `batch`, whose lengths it gives.
///
/// ```
/// use wengert_kernels::{Pool, product::{Accumulate, Operand, Target, products}};
///
/// // Three rows of two, each by a column of its own.
/// let (a, b) = ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0, 1.0, 0.5, 0.5, 2.0, 1.0]);
/// let mut c = [0.0; 3];
/// products(
///     &[3],
///     [1, 2, 1],
///     Operand::new(&a, [2, 1]).batched(&[2]),
///     Operand::new(&b, [1, 1]).batched(&[2]),
///     Target::new(&mut c, [1, 1]).batched(&[1]),
///     Accumulate::Overwrite,
///     &Pool::new(1),
/// );
/// assert_eq!(c, [3.0, 3.5, 16.0]);
/// ```
///
/// # Panics
///
/// If the number of a matrix's batch strides is not the number of axes in `batch`, if it reaches beyond its data, or if two
/// elements of the result lie in one place. (Results that interleave so that no stride is beyond
/// the reach of all smaller ones are refused too, though they might be disjoint.)
#[track_caller]
pub fn products<T: Product>(
    batch: &[usize],
    dims: [usize; 3],
    a: Operand<'_, T>,
    b: Operand<'_, T>,
    c: Target<'_, T>,
    accumulate: Accumulate,
    pool: &Pool,
) {
    run_products(level(), Known::Nothing, batch, dims, a, b, c, accumulate, pool);
}

/// As [`products`] for results that are symmetric, with as many columns as rows: what is under the diagonal is copied
/// from above it, and not computed where that is less work. So the result is symmetric to the bit, whatever its size, on every
/// [`Level`].
///
/// The caller knows it, as of `a = xᵀ d` and `b = x` with a diagonal `d`; it is not checked.
///
/// ```
/// use wengert_kernels::{Pool, product::{Operand, Target, symmetric}};
///
/// let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]; // Three rows of two.
/// let mut c = [0.0; 4];
/// let (transposed, x) = (Operand::new(&x, [1, 2]), Operand::new(&x, [2, 1]));
/// symmetric(&[], [2, 3], transposed, x, Target::new(&mut c, [2, 1]), &Pool::new(1));
/// assert_eq!(c, [35.0, 44.0, 44.0, 56.0]);
/// ```
///
/// # Panics
///
/// As [`products`].
#[track_caller]
pub fn symmetric<T: Product>(
    batch: &[usize],
    [n, k]: [usize; 2],
    a: Operand<'_, T>,
    b: Operand<'_, T>,
    c: Target<'_, T>,
    pool: &Pool,
) {
    run_products(level(), Known::Symmetric, batch, [n, k, n], a, b, c, Accumulate::Overwrite, pool);
}

/// What is known about a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Nothing,
    Symmetric,
}

/// As [`products`], at a level that a test chooses.
#[expect(clippy::too_many_arguments, reason = "the arguments of `products`, and the level for tests")]
#[track_caller]
fn run_products<T: Product>(
    level: Level,
    known: Known,
    batch: &[usize],
    dims: [usize; 3],
    a: Operand<'_, T>,
    b: Operand<'_, T>,
    c: Target<'_, T>,
    accumulate: Accumulate,
    pool: &Pool,
) {
    let [m, k, n] = dims;
    let c_strides = c.strides.map(usize::cast_signed);
    assert!(
        [a.batch.len(), b.batch.len(), c.batch.len()] == [batch.len(); 3],
        "a, b and c have {}, {} and {} batch strides for {} axes",
        a.batch.len(),
        b.batch.len(),
        c.batch.len(),
        batch.len()
    );
    if m == 0 || n == 0 || batch.contains(&0) {
        return;
    }
    let a_start = bounds::first("a", a.data.len(), &[m, k], &a.strides, batch, a.batch);
    let b_start = bounds::first("b", b.data.len(), &[k, n], &b.strides, batch, b.batch);
    bounds::check_disjoint(c.data.len(), [m, n], c.strides, batch, c.batch);
    let call = Call {
        first: TileTask {
            dims,
            a: MatrixView { start: a.data.as_ptr().wrapping_add(a_start), strides: a.strides },
            b: MatrixView { start: b.data.as_ptr().wrapping_add(b_start), strides: b.strides },
            c: MatrixViewMut { start: c.data.as_mut_ptr(), strides: c_strides },
            add: accumulate == Accumulate::Add,
            swapped: false,
        }
        .in_order(),
        axes: Axes { lengths: batch, a: a.batch, b: b.batch, c: c.batch },
        level,
        known,
    };
    call.run(pool);
}

/// What all threads see of a call.
struct Call<'a, T> {
    /// The first task of the batch, in order.
    first: TileTask<T>,
    axes: Axes<'a>,
    level: Level,
    known: Known,
}

/// The axes of a batch.
struct Axes<'a> {
    lengths: &'a [usize],
    a: &'a [isize],
    b: &'a [isize],
    c: &'a [usize],
}

// SAFETY: the threads only read `a` and `b`, which are borrowed for the call, and each writes
// tiles of `c` that no other thread has: the parts of `Call::run` are disjoint in batch and tile,
// and `check_disjoint` has seen that different elements lie in different places.
// Tests `the_same_bits_on_any_number_of_threads` and `batches_are_many_products`.
unsafe impl<T: Sync> Sync for Call<'_, T> {}

impl<T: Product> Call<'_, T> {
    /// Divides the work by shape and threads, on which no bit depends, and runs the parts.
    fn run(&self, pool: &Pool) {
        let method = Method::of(&self.first, self.level);
        let each = self.first.work();
        if self.axes.lengths.is_empty() && each < PRODUCT_GRAIN {
            // Below this there is one tile. A product of 4 by 4 matrices takes a few nanoseconds,
            // less than the divisions below.
            method.run(self.first, self.level);
            if self.known == Known::Symmetric {
                self.first.mirror();
            }
            return;
        }
        let count = self.axes.lengths.iter().product::<usize>();
        let tiles = match self.known {
            Known::Symmetric => Tiles::half(self.first.dims, method),
            Known::Nothing => Tiles::of(&self.first, method, pool.threads()),
        };
        let group = if tiles.count() > 1 { 1 } else { (PRODUCT_GRAIN / each.max(1)).clamp(1, count) };
        let parts = count.div_ceil(group) * tiles.count();
        let part = |part: usize| {
            let (batch, tile) = (part / tiles.count() * group, part % tiles.count());
            for index in batch..count.min(batch + group) {
                let task = tiles.cut(self.task(index), tile);
                method.run(task, self.level);
                if self.known == Known::Symmetric {
                    task.mirror();
                }
            }
        };
        if parts == 1 || each.saturating_mul(count) < PRODUCT_PAYS {
            (0..parts).for_each(part);
        } else if let Err(panicked) = pool.run(parts, &|number, _| part(number)) {
            panic!("{}", panicked.message);
        }
    }

    /// The task with number `index`, the last axis of the batch running fastest.
    fn task(&self, index: usize) -> TileTask<T> {
        let mut task = self.first;
        let mut rest = index;
        for axis in (0..self.axes.lengths.len()).rev() {
            let at = rest % self.axes.lengths[axis];
            rest /= self.axes.lengths[axis];
            let (a, b) = match self.first.swapped {
                false => (self.axes.a[axis], self.axes.b[axis]),
                true => (self.axes.b[axis], self.axes.a[axis]),
            };
            task.a.start = task.a.start.wrapping_offset(at as isize * a);
            task.b.start = task.b.start.wrapping_offset(at as isize * b);
            task.c.start = task.c.start.wrapping_add(at * self.axes.c[axis]);
        }
        task
    }
}

/// The ways to a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Vector,
    Blocks,
    Packed,
}

impl Method {
    /// The way for a task in order, by its shape and strides.
    fn of<T: Product>(task: &TileTask<T>, level: Level) -> Method {
        let [_, k, n] = task.dims;
        // In order, a product with one row or one column has one column.
        if n == 1 && k > 0 {
            Method::Vector
        } else if k == 0 || task.work() <= small(Packed::of(task), n) || T::kernels(level).is_none() {
            Method::Blocks
        } else {
            Method::Packed
        }
    }

    fn run<T: Product>(self, task: TileTask<T>, level: Level) {
        match self {
            Method::Vector => T::by_vector(task, level),
            Method::Blocks => T::blocks(task, level),
            Method::Packed => packed::run(task, level),
        }
    }
}

/// The largest work, in multiply-adds, that is done in blocks; `packed` says that the right operand has
/// to be gathered from the columns of a transposed matrix, or from one with gaps.
fn small(packed: Packed, n: usize) -> usize {
    match packed {
        Packed::InPlace if n <= 256 => BLOCKS_NARROW,
        Packed::InPlace => BLOCKS_WIDE,
        Packed::Gathered => BLOCKS_GATHERED,
    }
}

/// How a result is cut.
#[derive(Clone, Copy, Debug)]
struct Tiles {
    /// Whether a tile begins at the diagonal and goes to the end of its rows.
    half: bool,
    /// Rows and columns of a tile; those at the end may be smaller.
    sides: [usize; 2],
    /// Tiles along the rows and along the columns.
    counts: [usize; 2],
}

impl Tiles {
    /// Halves the longer side until the tiles are too many, too short, or too little work. Each tile packs what the
    /// others have packed too: there are few of them for few threads, and one for one.
    fn of<T: Copy>(task: &TileTask<T>, method: Method, threads: usize) -> Tiles {
        let ([m, _, n], work) = (task.dims, task.work());
        let few = PRODUCT_FEW.min(PRODUCT_EACH * threads);
        let mut counts = [1, 1];
        while 2 * counts[0] * counts[1] <= PRODUCT_TILES.min(work / PRODUCT_GRAIN) {
            let sides = [m.div_ceil(counts[0]), n.div_ceil(counts[1])];
            // A vector has one side only, and no packing that speaks against short ones.
            let shortest = match method {
                Method::Vector => 16,
                Method::Blocks => PRODUCT_BLOCK,
                Method::Packed if threads == 1 => break,
                // A second thread is worth more than its packing.
                Method::Packed if counts == [1, 1] => PRODUCT_HALF,
                Method::Packed => PRODUCT_SIDE[usize::from(counts[0] * counts[1] >= few)],
            };
            // Of a square, halves of columns are whole vectors. Where only the right operand is packed, columns are cut first:
            // no two tiles pack the same.
            let has_columns = sides[1] >= 2 * shortest && method == Method::Packed && task.a.strides[1] == 1;
            let longer = usize::from(sides[1] >= sides[0] || (has_columns && 4 * sides[1] >= sides[0]));
            if sides[longer] < 2 * shortest {
                break;
            }
            counts[longer] *= 2;
        }
        // Whole blocks of registers, for every level: 12 rows are 2 of 6 and 3 of 4.
        let sides = [m.div_ceil(counts[0]).next_multiple_of(24), n.div_ceil(counts[1]).next_multiple_of(32)];
        Tiles { half: false, sides, counts: [m.div_ceil(sides[0]), n.div_ceil(sides[1])] }
    }

    /// Rows from the diagonal on, of a symmetric result. The longest come first, so that threads end together. A small one
    /// is one tile.
    fn half([n, _, _]: [usize; 3], method: Method) -> Tiles {
        let rows = match n < PRODUCT_HALVED[usize::from(method != Method::Packed)] {
            true => n,
            false => n.div_ceil(PRODUCT_PANELS).next_multiple_of(24).max(48),
        };
        Tiles { half: true, sides: [rows, n], counts: [n.div_ceil(rows), 1] }
    }

    fn count(self) -> usize {
        self.counts[0] * self.counts[1]
    }

    /// Tile number `tile` of a task.
    fn cut<T: Copy>(self, task: TileTask<T>, tile: usize) -> TileTask<T> {
        let [m, k, n] = task.dims;
        let i = tile / self.counts[1] * self.sides[0];
        let j = if self.half { i } else { tile % self.counts[1] * self.sides[1] };
        let dims = [self.sides[0].min(m - i), k, self.sides[1].min(n - j)];
        TileTask { dims, a: task.a.at(i, 0), b: task.b.at(0, j), c: task.c.at(i, j), ..task }
    }
}

/// Whether a product of this size packs a right operand with these strides from its columns. Few rows read one that lies in order
/// without packing it: what many products read is better [transposed](crate::transpose) once. For one product that takes longer.
///
/// ```
/// use wengert_kernels::product::gathers;
/// assert!(gathers([64, 512, 128], [1, 512]));
/// assert!(!gathers([1024, 512, 128], [128, 1]), "its rows are contiguous");
/// assert!(!gathers([1, 512, 128], [1, 512]), "a vector reads it in the order in which it lies");
/// ```
pub fn gathers(dims: [usize; 3], strides: [isize; 2]) -> bool {
    let [m, k, n] = dims;
    let work = m.saturating_mul(n).saturating_mul(k);
    let idle = m == 1 || k == 1 || n == 1 || strides[1] == 1;
    !idle && work > small(Packed::Gathered, n)
}

/// Bytes that products allocate for themselves, which their threads keep.
///
/// ```
/// use wengert_kernels::product::Workspace;
/// let (one, other) = (Workspace { own: 500, others: 0 }, Workspace { own: 100, others: 1000 });
/// assert_eq!(one.max(other).bytes(), 1500, "what one keeps is there while the other one runs");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Workspace {
    /// Those of the calling thread.
    pub own: usize,
    /// Those of all other threads together.
    pub others: usize,
}

impl Workspace {
    /// What either of two takes, one after the other.
    #[must_use]
    pub fn max(self, other: Workspace) -> Workspace {
        Workspace { own: self.own.max(other.own), others: self.others.max(other.others) }
    }

    /// What it takes on as many threads at the same time, if each calls it.
    #[must_use]
    pub fn times(self, threads: usize) -> Workspace {
        Workspace { own: self.own, others: self.bytes().saturating_mul(threads.max(1)).saturating_sub(self.own) }
    }

    /// All of it.
    pub fn bytes(self) -> usize {
        self.own.saturating_add(self.others)
    }
}

/// An upper bound of what a product of this size allocates on up to `threads` threads at the same
/// time; `strides` are those of the left operand, the right one and the result, of which half is
/// computed if it is `symmetric`.
///
/// Products of vectors, small ones and those of integers need nothing.
///
/// ```
/// use wengert_kernels::product::{Workspace, workspace};
/// let rows = |n: isize| [[n, 1]; 3];
/// assert_eq!(workspace::<f64>([8, 8, 8], rows(8), false, 2), Workspace::default());
/// assert_eq!(workspace::<i64>([512, 512, 512], rows(512), false, 2), Workspace::default());
/// ```
pub fn workspace<T: Product>(dims: [usize; 3], strides: [[isize; 2]; 3], symmetric: bool, threads: usize) -> Workspace {
    let [a, b] = [strides[0], strides[1]].map(|strides| MatrixView { start: std::ptr::null(), strides });
    let c = MatrixViewMut { start: std::ptr::null_mut(), strides: strides[2] };
    let task = TileTask::<T> { dims, a, b, c, add: false, swapped: false }.in_order();
    if dims.contains(&0) || Method::of(&task, level()) != Method::Packed {
        return Workspace::default();
    }
    let Some(kernels) = T::kernels(level()) else { return Workspace::default() };
    let [m, k, n] = task.dims;
    let tiles = match symmetric {
        true => Tiles::half(task.dims, Method::Packed),
        false => Tiles::of(&task, Method::Packed, threads),
    };
    // The last tile of an axis is smaller, and may be packed where the others are not.
    let sides = |axis: usize, length: usize| {
        let side = tiles.sides[axis].min(length);
        [side, length - (tiles.counts[axis] - 1) * tiles.sides[axis]]
    };
    let pairs = sides(0, m).into_iter().flat_map(|rows| sides(1, n).map(|columns| [rows, k, columns]));
    // Half of a result has tiles of many widths, with one of which the right operand is packed.
    let narrower = symmetric.then_some([tiles.sides[0].min(m), k, n - 1]);
    let along = [task.a.strides[1], task.b.strides[1]];
    let own = pairs.chain(narrower).map(|dims| packed::bytes(&kernels, dims, along)).max().unwrap_or_default();
    Workspace { own, others: 0 }.times(threads)
}
