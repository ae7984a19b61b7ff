//! LU factors with partial pivoting.
//!
//! The columns are halved (S. Toledo, *Locality of reference in LU decomposition with partial pivoting*, 1997): the factor of
//! the first half, a triangular system for the rows beside it, a product that is subtracted from the rest, and the factor of
//! that. Every row has the largest entry of its column on the diagonal, the first one if there are several.

use super::batch::Outs;
use super::lanes::{self, LuLanes};
use super::number::check_finite;
use super::triangular::{LEAF, Rows, Triangular, each_large, half, left, left_library, left_scratch, negated, packed};
use super::{Failed, Number, SMALL};
use crate::arena::{Line, lines_for, typed_mut};
use crate::product::{Operand, Workspace};
use crate::{Float, Pool};

/// Computes `l`, `rows` by `k` with ones on its diagonal and zeros above, `u`, `k` by `columns` with zeros below its
/// diagonal, and the order of the rows, so that row `i` of `l u` is row `order[i]` of `a`; `k` is the smaller side.
///
/// A singular matrix has factors too: a zero stands on the diagonal of `u`.
///
/// ```
/// use wengert_kernels::Pool;
/// use wengert_kernels::arena::Arena;
/// use wengert_kernels::factor::Lu;
///
/// let lu = Lu { rows: 2, columns: 2, count: 1 };
/// let mut arena = Arena::new(lu.workspace::<f64>(1))?;
/// let (mut l, mut u, mut order) = ([0.0; 4], [0.0; 4], [0; 2]);
/// lu.run(&[1.0, 2.0, 4.0, 4.0], &mut l, &mut u, &mut order, arena.as_lines_mut(), &Pool::new(1)).unwrap();
/// assert_eq!((l, u, order), ([1.0, 0.0, 0.25, 1.0], [4.0, 4.0, 0.0, 1.0], [1, 0]));
/// # Ok::<(), wengert_kernels::arena::TooLarge>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lu {
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// Matrices of the batch.
    pub count: usize,
}

impl Lu {
    fn work(&self) -> usize {
        let rank = self.rows.min(self.columns);
        self.rows.saturating_mul(self.columns).saturating_mul(rank) / 3
    }

    /// Numbers of scratch: the packed factors, and what they are computed with.
    fn scratch(&self) -> usize {
        let rank = self.rows.min(self.columns);
        let h = if rank <= LEAF { rank } else { half(rank).max(rank - half(rank)) };
        let wide = if self.columns > rank { rank * rank + left_scratch(rank, self.columns - rank) } else { 0 };
        self.rows * self.columns + (h * h + (self.rows * h).max(left_scratch(h, rank))).max(wide)
    }

    /// Bytes of workspace for this many threads.
    pub fn workspace<T: Number>(&self, threads: usize) -> usize {
        if self.rows <= SMALL && self.columns <= SMALL {
            return 0;
        }
        let each = lines_for::<T>(self.scratch()) * size_of::<Line>();
        if self.work() >= super::triangular::LARGE { each } else { threads * each }
    }

    /// What its products allocate beside the workspace, on this number of threads.
    pub fn library<T: Number>(&self, threads: usize) -> Workspace {
        if self.rows <= SMALL && self.columns <= SMALL {
            return Workspace::default();
        }
        let rank = self.rows.min(self.columns);
        let wide = match self.columns > rank {
            true => left_library::<T>([rank, self.columns - rank, self.columns], [rank, 1], true, threads),
            false => Workspace::default(),
        };
        wide.max(self.columns_library::<T>(0, rank, threads))
    }

    /// The same of [`Panel::factor`].
    fn columns_library<T: Number>(&self, first: usize, columns: usize, threads: usize) -> Workspace {
        if columns <= LEAF {
            return Workspace::default();
        }
        let (h, rest, by) = (half(columns), columns - half(columns), self.columns);
        let beside = left_library::<T>([h, rest, by], [h, 1], true, threads);
        let rows = self.rows - first - h;
        let update = packed::<T>([rows, h, rest], [[h, 1], [by, 1], [by, 1]], threads);
        let inner = self.columns_library::<T>(first, h, threads);
        beside.max(update).max(inner).max(self.columns_library::<T>(first + h, rest, threads))
    }

    /// Computes the factors of the batch.
    ///
    /// # Errors
    /// [`Failed`]: an entry is not finite.
    ///
    /// # Panics
    /// If a slice does not have the stated size, or the workspace is too small.
    pub fn run<T: Number>(
        &self,
        a: &[T],
        l: &mut [T],
        u: &mut [T],
        order: &mut [i64],
        workspace: &mut [Line],
        pool: &Pool,
    ) -> Result<(), Failed> {
        T::lu(self, a, l, u, order, workspace, pool)
    }

    /// As [`run`](Lu::run), compiled where it is called.
    pub(super) fn run_here<T: Number>(
        &self,
        a: &[T],
        l: &mut [T],
        u: &mut [T],
        order: &mut [i64],
        workspace: &mut [Line],
        pool: &Pool,
    ) -> Result<(), Failed> {
        let Lu { rows, columns, count } = *self;
        let (size, rank) = (rows * columns, rows.min(columns));
        assert_eq!(a.len(), size * count, "matrices of {rows} rows and {columns} columns");
        if size == 0 {
            for order in order.chunks_exact_mut(rows.max(1)) {
                order.iter_mut().zip(0..).for_each(|(order, row)| *order = row);
            }
            return Ok(());
        }
        let outs = Outs { numbers: [(l, rows * rank), (u, rank * columns)], integers: (order, rows) };
        if rows <= SMALL && columns <= SMALL {
            return lanes::run(pool, &LuLanes { a, rows, columns }, [count, self.work().max(1)], outs);
        }
        each_large(pool, [count, self.work()], outs, workspace, |index, [l, u], order, scratch, pool| {
            let a = &a[index * size..(index + 1) * size];
            order.iter_mut().zip(0..).for_each(|(order, row)| *order = row);
            check_finite(a, columns, |_, _| true)?;
            let scratch = typed_mut::<T>(scratch, self.scratch());
            let (packed, scratch) = scratch.split_at_mut(size);
            packed.copy_from_slice(a);
            let mut panel = Panel { a: packed, rows, by: columns, order };
            panel.factor(0, rank, scratch, pool);
            if columns > rank {
                panel.beside(0, rank, columns, scratch, pool);
            }
            unpack(packed, [rows, columns], l, u);
            Ok(())
        })
    }
}

/// Writes both factors.
fn unpack<T: Number>(packed: &[T], [rows, columns]: [usize; 2], l: &mut [T], u: &mut [T]) {
    let rank = rows.min(columns);
    for (row, packed) in packed.chunks_exact(columns).enumerate() {
        let below = row.min(rank);
        let l = &mut l[row * rank..][..rank];
        l[..below].copy_from_slice(&packed[..below]);
        l[below..].fill(T::ZERO);
        if row < rank {
            l[row] = T::ONE;
            let u = &mut u[row * columns..][..columns];
            u[..row].fill(T::ZERO);
            u[row..].copy_from_slice(&packed[row..]);
        }
    }
}

/// A matrix that is factored in place.
struct Panel<'a, T> {
    a: &'a mut [T],
    rows: usize,
    by: usize,
    order: &'a mut [i64],
}

impl<T: Number> Panel<'_, T> {
    /// The factors of some columns, from the row of the first one on.
    fn factor(&mut self, first: usize, columns: usize, scratch: &mut [T], pool: &Pool) {
        if columns <= LEAF {
            return self.leaf(first, columns);
        }
        let h = half(columns);
        self.factor(first, h, scratch, pool);
        self.beside(first, h, first + columns, scratch, pool);
        self.factor(first + h, columns - h, scratch, pool);
    }

    /// What the factors of `h` columns make of the columns between them and `end`.
    fn beside(&mut self, first: usize, h: usize, end: usize, scratch: &mut [T], pool: &Pool) {
        let (by, middle) = (self.by, first + h);
        let columns = end - middle;
        let (above, below) = self.a.split_at_mut(middle * by);
        let (triangle, scratch) = scratch.split_at_mut(h * h);
        for row in 0..h {
            triangle[row * h..][..h].copy_from_slice(&above[(first + row) * by + first..][..h]);
        }
        let triangle = Triangular { data: triangle, strides: [h, 1], unit: true };
        let known = &mut above[first * by + middle..];
        left(triangle, h, true, &mut Rows { data: known, by, columns }, scratch, pool);
        let rows = self.rows - middle;
        if rows == 0 {
            return;
        }
        negated(&below[first..], by, [rows, h], scratch);
        let minus = Operand::new(&*scratch, [h.cast_signed(), 1]);
        let known = Operand::new(&above[first * by + middle..], [by.cast_signed(), 1]);
        Rows { data: &mut below[middle..], by, columns }.add(rows, h, minus, known, pool);
    }

    /// A few columns, one after another. Rows are exchanged as a whole.
    fn leaf(&mut self, first: usize, columns: usize) {
        let (by, end) = (self.by, first + columns);
        for column in first..end {
            let modulus = |row: usize| Float::abs(self.a[row * by + column]);
            let mut place = column;
            for row in column + 1..self.rows {
                if modulus(row) > modulus(place) {
                    place = row;
                }
            }
            if place != column {
                let (upper, lower) = self.a.split_at_mut(place * by);
                upper[column * by..][..by].swap_with_slice(&mut lower[..by]);
                self.order.swap(column, place);
            }
            let (above, below) = self.a.split_at_mut((column + 1) * by);
            let line = &above[column * by..];
            let pivot = line[column];
            // A column of zeros has nothing to subtract.
            if pivot == T::ZERO {
                continue;
            }
            for row in below.chunks_exact_mut(by) {
                let factor = row[column] / pivot;
                row[column] = factor;
                let rest = row[column + 1..end].iter_mut().zip(&line[column + 1..end]);
                rest.for_each(|(x, &y)| *x -= factor * y);
            }
        }
    }
}
