//! Cholesky's factor of a positive definite matrix (A.-L. Cholesky, 1910; published by E. Benoît, 1924).
//!
//! Large matrices are halved: the factor of the first half, a triangular system for the rows below it, a product that is
//! subtracted from the rest, and the factor of that (F. G. Gustavson, *Recursion leads to automatic variable blocking*, 1997).

use super::batch::Outs;
use super::lanes::{self, CholeskyLanes};
use super::number::check_finite;
use super::triangular::{
    LEAF, Rows, Triangular, each_large, half, negated, packed, right, right_library, right_scratch,
};
use super::{Failed, Fault, Number, Reads, SMALL};
use crate::arena::{Line, lines_for, typed_mut};
use crate::product::{Operand, Workspace};
use crate::{Float, Pool};

/// Squares of a symmetric update up to this size are computed whole.
const SQUARE: usize = 96;

/// Computes the lower triangle `l` with `l lᵀ = a` and a positive diagonal, in place, with zeros above the diagonal.
///
/// A matrix that is not positive definite is [`Fault::NotPositive`]. See the [module](super) for an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cholesky {
    /// Rows and columns.
    pub n: usize,
    /// Matrices of the batch.
    pub count: usize,
    /// Which entries are read.
    pub reads: Reads,
}

impl Cholesky {
    /// Bytes of workspace for this many threads.
    pub fn workspace<T: Number>(&self, threads: usize) -> usize {
        if self.n <= LEAF {
            return 0;
        }
        let (h, work) = (half(self.n), self.n.pow(3) / 6);
        let update = 2 * (self.n - h) * h;
        // The rows of a large one are divided among the threads.
        let rows = right_scratch(h) * if work >= super::triangular::LARGE { threads } else { 1 };
        let each = lines_for::<T>(update.max(rows)) * size_of::<Line>();
        if work >= super::triangular::LARGE { each } else { threads * each }
    }

    /// What its products allocate beside the workspace, on this number of threads.
    pub fn library<T: Number>(&self, threads: usize) -> Workspace {
        factor_library::<T>(self.n, self.n, threads)
    }

    /// Computes the factors of the batch.
    ///
    /// # Errors
    /// [`Failed`]: see above.
    ///
    /// # Panics
    /// If the slice does not have the stated size, or the workspace is too small.
    pub fn run<T: Number>(&self, a: &mut [T], workspace: &mut [Line], pool: &Pool) -> Result<(), Failed> {
        T::cholesky(self, a, workspace, pool)
    }

    /// As [`run`](Cholesky::run), compiled where it is called.
    pub(super) fn run_here<T: Number>(&self, a: &mut [T], workspace: &mut [Line], pool: &Pool) -> Result<(), Failed> {
        let (n, work) = (self.n, self.n.pow(3) / 6);
        if n == 0 {
            return Ok(());
        }
        let outs = Outs { numbers: [(a, n * n)], integers: (&mut [], 0) };
        if n <= SMALL {
            return lanes::run(pool, &CholeskyLanes { n, reads: self.reads }, [self.count, work.max(1)], outs);
        }
        each_large(pool, [self.count, work], outs, workspace, |_, [a], _, scratch, pool| {
            check_finite(a, n, |row, column| self.reads == Reads::Mean || column <= row)?;
            if self.reads == Reads::Mean {
                lower_mean(a, n);
            }
            let scratch = typed_mut(scratch, size_of_val(scratch) / size_of::<T>());
            factor(a, n, n, 0, scratch, pool)?;
            (0..n).for_each(|row| a[row * n + row + 1..(row + 1) * n].fill(T::ZERO));
            Ok(())
        })
    }
}

/// `(a + aᵀ) / 2` in the lower triangle, in blocks that stay in the caches.
pub(super) fn lower_mean<T: Number>(a: &mut [T], n: usize) {
    const SIDE: usize = 16;
    let half = T::from_f64(0.5);
    for rows in (0..n).step_by(SIDE) {
        for columns in (0..=rows).step_by(SIDE) {
            for row in rows..n.min(rows + SIDE) {
                for column in columns..row.min(columns + SIDE) {
                    a[row * n + column] = half * a[row * n + column] + half * a[column * n + row];
                }
            }
        }
    }
}

/// The factor of the `n` first rows and columns of `a`, in the lower triangle; `order` of the matrix come before them.
pub(super) fn factor<T: Number>(
    a: &mut [T],
    n: usize,
    by: usize,
    order: usize,
    scratch: &mut [T],
    pool: &Pool,
) -> Result<(), Fault> {
    if n <= LEAF {
        return leaf(a, n, by).map_err(|minor| Fault::NotPositive { minor: order + minor });
    }
    let h = half(n);
    let rest = n - h;
    factor(a, h, by, order, scratch, pool)?;
    let (above, below) = a.split_at_mut(h * by);
    let triangle = Triangular { data: above, strides: [by, 1], unit: false };
    right(triangle, h, true, &mut Rows { data: &mut below[..(rest - 1) * by + h], by, columns: h }, scratch, pool);
    let (minus, plus) = scratch.split_at_mut(rest * h);
    negated(below, by, [rest, h], minus);
    (0..rest).for_each(|row| plus[row * h..][..h].copy_from_slice(&below[row * by..][..h]));
    add_below(&mut below[h..], rest, by, [(&*minus, [h, 1]), (&*plus, [1, h])], h, pool);
    factor(&mut below[h..], rest, by, order + h, scratch, pool)
}

/// What the products of [`factor`] allocate.
pub(super) fn factor_library<T: Number>(n: usize, by: usize, threads: usize) -> Workspace {
    if n <= LEAF {
        return Workspace::default();
    }
    let (h, rest) = (half(n), n - half(n));
    let below = right_library::<T>([h, rest, by], [by, 1], true, threads);
    let update = add_below_library::<T>(rest, by, [[h, 1], [1, h]], h, threads);
    below.max(update).max(factor_library::<T>(h, by, threads)).max(factor_library::<T>(rest, by, threads))
}

/// What the products of [`add_below`] allocate.
pub(super) fn add_below_library<T: Number>(
    n: usize,
    by: usize,
    strides: [[usize; 2]; 2],
    depth: usize,
    threads: usize,
) -> Workspace {
    let [x, y] = strides;
    if n <= SQUARE {
        return packed::<T>([n, depth, n], [x, y, [by, 1]], threads);
    }
    let h = half(n);
    let inner = |n: usize| add_below_library::<T>(n, by, strides, depth, threads);
    packed::<T>([n - h, depth, h], [x, y, [by, 1]], threads).max(inner(h)).max(inner(n - h))
}

/// Adds a product, of operands with these strides, to the lower triangle of a square; what stands above it within small squares
/// changes too.
pub(super) fn add_below<T: Number>(
    a: &mut [T],
    n: usize,
    by: usize,
    operands: [(&[T], [usize; 2]); 2],
    depth: usize,
    pool: &Pool,
) {
    let operand = |(data, strides): (_, [usize; 2])| Operand::new(data, strides.map(usize::cast_signed));
    let [(x, x_strides), (y, y_strides)] = operands;
    let [whole_x, whole_y] = operands.map(operand);
    if n <= SQUARE {
        return Rows { data: a, by, columns: n }.add(n, depth, whole_x, whole_y, pool);
    }
    let h = half(n);
    add_below(a, h, by, operands, depth, pool);
    let (later_x, later_y) = ((&x[h * x_strides[0]..], x_strides), (&y[h * y_strides[1]..], y_strides));
    let below = &mut a[h * by..];
    Rows { data: &mut *below, by, columns: h }.add(n - h, depth, operand(later_x), whole_y, pool);
    add_below(&mut below[h..], n - h, by, [later_x, later_y], depth, pool);
}

/// The factor of a few rows, or the order of the first minor that is not positive.
fn leaf<T: Number>(a: &mut [T], n: usize, by: usize) -> Result<(), usize> {
    for column in 0..n {
        let pivot = a[column * by + column];
        if !(pivot > T::ZERO && pivot.finite()) {
            return Err(column + 1);
        }
        let pivot = Float::sqrt(pivot);
        a[column * by + column] = pivot;
        let mut factors = [T::ZERO; LEAF];
        for row in column + 1..n {
            let factor = a[row * by + column] / pivot;
            (a[row * by + column], factors[row]) = (factor, factor);
        }
        for row in column + 1..n {
            let line = &mut a[row * by + column + 1..=row * by + row];
            line.iter_mut().zip(&factors[column + 1..]).for_each(|(x, &y)| *x -= factors[row] * y);
        }
    }
    Ok(())
}
