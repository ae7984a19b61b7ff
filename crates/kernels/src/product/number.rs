//! Numbers and tasks, as the loops see them.

use super::library::{self, Kernels};
use super::{blocks, vector};
use crate::Level;
use crate::arena::Plain;

/// What the loops need of a number. Nobody outside can name it, so nobody can implement it.
pub trait Number: Plain + Default {
    /// `self * factor + term`; rounded once if `FUSED`.
    fn times_plus<const FUSED: bool>(self, factor: Self, term: Self) -> Self;
    /// `self + other`.
    fn plus(self, other: Self) -> Self;
    /// Runs a task in blocks of registers that suit the level.
    fn blocks(task: TileTask<Self>, level: Level);
    /// Runs a task in order whose right operand is one column.
    fn by_vector(task: TileTask<Self>, level: Level);
    /// The library's kernels for this level, if it has any.
    fn kernels(level: Level) -> Option<Kernels<Self>>;
}

macro_rules! impl_number_for_floats {
    ($($float:ident $kernels:ident),*) => {$(
        impl Number for $float {
            #[inline(always)]
            fn times_plus<const FUSED: bool>(self, factor: Self, term: Self) -> Self {
                if FUSED { self.mul_add(factor, term) } else { self * factor + term }
            }

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self + other
            }

            fn blocks(task: TileTask<Self>, level: Level) {
                blocks::$float(task, level);
            }

            fn by_vector(task: TileTask<Self>, level: Level) {
                vector::$float(task, level);
            }

            fn kernels(level: Level) -> Option<Kernels<Self>> {
                library::$kernels(level)
            }
        }
    )*};
}

impl_number_for_floats!(f32 of_f32, f64 of_f64);

impl Number for i64 {
    #[inline(always)]
    fn times_plus<const FUSED: bool>(self, factor: Self, term: Self) -> Self {
        self.wrapping_mul(factor).wrapping_add(term)
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    fn blocks(task: TileTask<Self>, level: Level) {
        blocks::i64(task, level);
    }

    fn by_vector(task: TileTask<Self>, level: Level) {
        vector::i64(task, level);
    }

    /// There are none for integers.
    fn kernels(_level: Level) -> Option<Kernels<Self>> {
        None
    }
}

/// How blocks read the right operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packed {
    InPlace,
    Gathered,
}

impl Packed {
    /// Of a task in order.
    pub(super) fn of<T>(task: &TileTask<T>) -> Packed {
        if task.b.strides[1] == 1 { Packed::InPlace } else { Packed::Gathered }
    }
}

/// A matrix to read: where its first element lies, and its strides.
#[derive(Clone, Copy, Debug)]
pub(super) struct MatrixView<T> {
    pub(super) start: *const T,
    pub(super) strides: [isize; 2],
}

/// A matrix to write.
#[derive(Clone, Copy, Debug)]
pub(super) struct MatrixViewMut<T> {
    pub(super) start: *mut T,
    pub(super) strides: [isize; 2],
}

/// How far the element of row `i` and column `j` is from the first. It cannot overflow where there
/// is an element, since that lies in a slice.
#[inline(always)]
fn distance(strides: [isize; 2], i: usize, j: usize) -> isize {
    (i as isize).wrapping_mul(strides[0]).wrapping_add((j as isize).wrapping_mul(strides[1]))
}

/// The strides of a matrix, with 1 for an axis of length 1, whose stride leads nowhere.
fn without_idle(strides: [isize; 2], counts: [usize; 2]) -> [isize; 2] {
    [0, 1].map(|axis| if counts[axis] == 1 { 1 } else { strides[axis] })
}

impl<T: Copy> MatrixView<T> {
    /// The matrix that begins at row `i` and column `j`.
    #[inline(always)]
    pub(super) fn at(self, i: usize, j: usize) -> MatrixView<T> {
        MatrixView { start: self.start.wrapping_offset(distance(self.strides, i, j)), ..self }
    }

    pub(super) fn transposed(self) -> MatrixView<T> {
        MatrixView { strides: [self.strides[1], self.strides[0]], ..self }
    }
}

impl<T: Copy> MatrixViewMut<T> {
    /// The matrix that begins at row `i` and column `j`.
    #[inline(always)]
    pub(super) fn at(self, i: usize, j: usize) -> MatrixViewMut<T> {
        MatrixViewMut { start: self.start.wrapping_offset(distance(self.strides, i, j)), ..self }
    }
}

/// One product of two matrices, or a tile of it.
///
/// Its maker has checked that all elements of the three matrices lie in slices that live
/// as long as it does, and that nobody else touches those of `c`.
#[derive(Clone, Copy, Debug)]
pub struct TileTask<T> {
    /// m, k and n.
    pub(super) dims: [usize; 3],
    pub(super) a: MatrixView<T>,
    pub(super) b: MatrixView<T>,
    pub(super) c: MatrixViewMut<T>,
    /// Whether the product is added to what `c` holds.
    pub(super) add: bool,
    /// Whether the operands have been exchanged since the caller named them.
    pub(super) swapped: bool,
}

impl<T: Copy> TileTask<T> {
    /// Multiply-adds.
    pub(super) fn work(&self) -> usize {
        let [m, k, n] = self.dims;
        m.saturating_mul(k).saturating_mul(n)
    }

    /// Copies the result over the diagonal of the symmetric matrix at whose diagonal it begins.
    pub(super) fn mirror(&self) {
        let [rows, _, columns] = self.dims;
        for j in 1..columns {
            for i in 0..rows.min(j) {
                // SAFETY: row `i` and column `j` are within the dimensions of the task. Row `j` and column `i` are
                // elements of the symmetric matrix, whose maker says that all of them are there, and that those across
                // the diagonal from a task are touched by it alone. Test `symmetric_results_agree_with_the_triple_loop`.
                unsafe { *self.c.at(j, i).start = *self.c.at(i, j).start };
            }
        }
    }

    /// The same product so that the rows of the result are contiguous, if its rows or columns
    /// are: the transposed result is the product of the transposed operands, exchanged.
    pub(super) fn in_order(mut self) -> TileTask<T> {
        let [m, k, n] = self.dims;
        self.a.strides = without_idle(self.a.strides, [m, k]);
        self.b.strides = without_idle(self.b.strides, [k, n]);
        self.c.strides = without_idle(self.c.strides, [m, n]);
        // A product with one column is a matrix by a vector; with one row it becomes one.
        if n == 1 || (m > 1 && self.c.strides[1] <= self.c.strides[0]) {
            return self;
        }
        let [rows, columns] = self.c.strides;
        TileTask {
            dims: [n, k, m],
            a: self.b.transposed(),
            b: self.a.transposed(),
            c: MatrixViewMut { strides: [columns, rows], ..self.c },
            swapped: true,
            ..self
        }
    }
}
