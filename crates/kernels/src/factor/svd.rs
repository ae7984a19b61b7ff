//! Singular values and vectors: by rotations where matrices are small, else by a bidiagonal matrix that is divided
//! (M. Gu and S. C. Eisenstat, *A divide-and-conquer algorithm for the bidiagonal SVD*, 1995).

use faer::dyn_stack::StackReq;
use faer::linalg::svd::{ComputeSvdVectors, svd, svd_scratch};

use super::batch::{Outs, each};
use super::eigh::orient;
use super::lanes::{self, SvdLanes};
use super::number::{check_finite, largest};
use super::{Failed, Fault, Number, SMALL, library};
use crate::Pool;
use crate::arena::{Line, lines_for, typed_mut};
use crate::transpose::transpose;

/// Computes `u`, `rows` by `k`, the singular values in descending order, and `vt`, `k` by `columns`, with
/// `u diag(values) vt = a` and orthonormal columns of `u` and rows of `vt`; `k` is the smaller side. The first
/// component of each column of `u` that is not negligible is positive.
///
/// Vectors of equal values, and those of zeros, are some orthonormal ones. Large matrices run on one thread.
///
/// ```
/// use wengert_kernels::Pool;
/// use wengert_kernels::arena::Arena;
/// use wengert_kernels::factor::Svd;
///
/// let svd = Svd { rows: 2, columns: 2, count: 1 };
/// let mut arena = Arena::new(svd.workspace::<f64>(1))?;
/// let (mut u, mut values, mut vt) = ([0.0; 4], [0.0; 2], [0.0; 4]);
/// svd.run(&[0.0, -3.0, 1.0, 0.0], &mut u, &mut values, &mut vt, arena.as_lines_mut(), &Pool::new(1)).unwrap();
/// assert_eq!((u, values, vt), ([1.0, 0.0, 0.0, 1.0], [3.0, 1.0], [0.0, -1.0, 1.0, 0.0]));
/// # Ok::<(), wengert_kernels::arena::TooLarge>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Svd {
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// Matrices of the batch.
    pub count: usize,
}

impl Svd {
    fn is_small(&self) -> bool {
        self.rows.max(self.columns) <= SMALL || self.rows == 0 || self.columns == 0
    }

    fn request<T: Number>(&self) -> StackReq {
        let thin = ComputeSvdVectors::Thin;
        svd_scratch::<T>(self.columns, self.rows, thin, thin, library::ALONE, library::auto::<T, _>())
    }

    /// Bytes that each thread keeps for the products inside of it.
    pub fn packing<T: Number>(&self) -> usize {
        if self.is_small() { 0 } else { library::packing::<T>([self.rows, self.rows.min(self.columns), self.columns]) }
    }

    /// Bytes of workspace for this many threads.
    pub fn workspace<T: Number>(&self, threads: usize) -> usize {
        if self.is_small() {
            return 0;
        }
        let (size, left) = (self.rows * self.columns, self.rows * self.rows.min(self.columns));
        let numbers = lines_for::<T>(size) + lines_for::<T>(left);
        threads * (numbers + library::lines(self.request::<T>())) * size_of::<Line>()
    }

    /// Computes the decompositions of the batch.
    ///
    /// # Errors
    /// [`Failed`]: an entry is not finite, or an iteration does not converge.
    ///
    /// # Panics
    /// If a slice does not have the stated size, or the workspace is too small.
    pub fn run<T: Number>(
        &self,
        a: &[T],
        u: &mut [T],
        values: &mut [T],
        vt: &mut [T],
        workspace: &mut [Line],
        pool: &Pool,
    ) -> Result<(), Failed> {
        T::svd(self, a, u, values, vt, workspace, pool)
    }

    /// As [`run`](Svd::run), compiled where it is called.
    pub(super) fn run_here<T: Number>(
        &self,
        a: &[T],
        u: &mut [T],
        values: &mut [T],
        vt: &mut [T],
        workspace: &mut [Line],
        pool: &Pool,
    ) -> Result<(), Failed> {
        let Svd { rows, columns, count } = *self;
        let (size, rank) = (rows * columns, rows.min(columns));
        assert_eq!(a.len(), size * count, "matrices of {rows} rows and {columns} columns");
        if size == 0 {
            return Ok(());
        }
        let outs = Outs { numbers: [(u, rows * rank), (values, rank), (vt, rank * columns)], integers: (&mut [], 0) };
        let work = size.saturating_mul(rank).saturating_mul(20);
        if self.is_small() {
            return lanes::run(pool, &SvdLanes { a, rows, columns }, [count, work], outs);
        }
        each(pool, [count, work], outs, workspace, |one| {
            self.one(&a[one.index * size..(one.index + 1) * size], one.outs, one.scratch)
        })
    }

    fn one<T: Number>(&self, a: &[T], [u, values, vt]: [&mut [T]; 3], scratch: &mut [Line]) -> Result<(), Fault> {
        let Svd { rows, columns, .. } = *self;
        let rank = rows.min(columns);
        check_finite(a, columns, |_, _| true)?;
        let (copy, rest) = scratch.split_at_mut(lines_for::<T>(rows * columns));
        let (left, rest) = rest.split_at_mut(lines_for::<T>(rows * rank));
        let (copy, left) = (typed_mut::<T>(copy, rows * columns), typed_mut::<T>(left, rows * rank));
        let [down, up] = largest(a).scale();
        copy.iter_mut().zip(a).for_each(|(copy, &x)| *copy = x * down);
        // By columns the rows are the transpose, whose left vectors are the right ones, in rows.
        let result = svd(
            library::columns(copy, columns, rows),
            library::diagonal(values),
            Some(library::columns_mut(vt, columns, rank)),
            Some(library::columns_mut(left, rows, rank)),
            library::ALONE,
            library::stack(rest),
            library::auto::<T, _>(),
        );
        if result.is_err() || !values.iter().all(|x| x.finite()) {
            return Err(Fault::NoConvergence);
        }
        for ((left, right), value) in left.chunks_exact_mut(rows).zip(vt.chunks_exact_mut(columns)).zip(values) {
            if orient(left) {
                right.iter_mut().for_each(|x| *x = -*x);
            }
            *value *= up;
        }
        transpose([rows, rank], left, 0, rows.cast_signed(), u, rank);
        Ok(())
    }
}
