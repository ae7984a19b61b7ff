//! Reduced QR factors, by Householder's reflections in blocks (R. Schreiber and C. Van Loan, *A storage-efficient WY
//! representation for products of Householder transformations*, 1989), or, of tall matrices, by Gram matrices.

use faer::Conj;
use faer::dyn_stack::StackReq;
use faer::linalg::householder::{
    apply_block_householder_on_the_left_in_place_scratch as apply_scratch,
    apply_block_householder_on_the_left_in_place_with_conj as apply,
};
use faer::linalg::qr::no_pivoting::factor::{qr_in_place, qr_in_place_scratch, recommended_block_size};

use super::batch::Outs;
use super::lanes::{self, QrLanes};
use super::number::check_finite;
use super::tall::Tall;
use super::triangular::{LARGE, each_large};
use super::{Failed, Number, SMALL, library};
use crate::Pool;
use crate::arena::{Carver, Line, lines_for, typed_mut};
use crate::product::Workspace;
use crate::transpose::transpose;

/// Computes `q`, `rows` by `k` with orthonormal columns, and the upper triangle `r`, `k` by `columns`, with `q r = a` and no
/// negative number on the diagonal of `r`; `k` is the smaller side.
///
/// The factors of a matrix of full column rank are unique. Else zeros stand on the diagonal of `r`, up to rounding, and
/// their columns of `q` are some that complete the others.
///
/// ```
/// use wengert_kernels::Pool;
/// use wengert_kernels::arena::Arena;
/// use wengert_kernels::factor::Qr;
///
/// let qr = Qr { rows: 2, columns: 1, count: 1 };
/// let mut arena = Arena::new(qr.workspace::<f64>(1))?;
/// let (mut q, mut r) = ([0.0f64; 2], [0.0f64; 1]);
/// qr.run(&[-3.0, 4.0], &mut q, &mut r, arena.as_lines_mut(), &Pool::new(1)).unwrap();
/// assert!((q[0] + 0.6).abs() + (q[1] - 0.8).abs() + (r[0] - 5.0).abs() < 1e-15);
/// # Ok::<(), wengert_kernels::arena::TooLarge>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Qr {
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// Matrices of the batch.
    pub count: usize,
}

impl Qr {
    fn work(&self) -> usize {
        let rank = self.rows.min(self.columns);
        self.rows.saturating_mul(self.columns).saturating_mul(rank).saturating_mul(2)
    }

    fn is_small(&self) -> bool {
        self.rows.max(self.columns) <= SMALL || self.rows == 0 || self.columns == 0
    }

    /// The way of its own that a tall matrix has.
    fn tall(&self) -> Option<Tall> {
        let tall = Tall { rows: self.rows, columns: self.columns };
        (!self.is_small() && tall.fits()).then_some(tall)
    }

    /// How many there are, and the work of each, by which threads are shared out: only a tall one has several.
    fn division(&self) -> [usize; 2] {
        let work = self.work();
        [self.count, if self.tall().is_some() { work } else { work.min(LARGE - 1) }]
    }

    /// Whether all threads compute each matrix.
    pub fn is_shared(&self) -> bool {
        self.division()[1] >= LARGE
    }

    /// Lines of the matrix by columns, of `q` by columns, of the reflections' factors, and of the library's scratch.
    fn lines<T: Number>(&self) -> [usize; 4] {
        let Qr { rows, columns, .. } = *self;
        let rank = rows.min(columns);
        let block = recommended_block_size::<T>(rows, columns);
        let factor = qr_in_place_scratch::<T>(rows, columns, block, library::ALONE, library::auto::<T, _>());
        let request = StackReq::any_of(&[factor, apply_scratch::<T>(rows, block, rank)]);
        let numbers = [rows * columns, rows * rank, block * rank].map(lines_for::<T>);
        [numbers[0], numbers[1], numbers[2], library::lines(request)]
    }

    /// Bytes that each thread keeps for the products inside of it.
    pub fn packing<T: Number>(&self) -> usize {
        if self.is_small() || self.tall().is_some() {
            return 0;
        }
        library::packing::<T>([self.rows, self.rows.min(self.columns), self.columns])
    }

    /// What its products allocate beside the workspace, on this number of threads.
    pub fn library<T: Number>(&self, threads: usize) -> Workspace {
        self.tall().map_or_else(Workspace::default, |tall| tall.library::<T>(threads))
    }

    /// Bytes of workspace for this many threads.
    pub fn workspace<T: Number>(&self, threads: usize) -> usize {
        if self.is_small() {
            return 0;
        }
        let [outer, inner] = if self.is_shared() { [1, threads] } else { [threads, 1] };
        let lines = self.tall().map(|tall| lines_for::<T>(tall.scratch(inner)));
        outer * lines.unwrap_or_else(|| self.lines::<T>().iter().sum()) * size_of::<Line>()
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
        q: &mut [T],
        r: &mut [T],
        workspace: &mut [Line],
        pool: &Pool,
    ) -> Result<(), Failed> {
        T::qr(self, a, q, r, workspace, pool)
    }

    /// As [`run`](Qr::run), compiled where it is called.
    pub(super) fn run_here<T: Number>(
        &self,
        a: &[T],
        q: &mut [T],
        r: &mut [T],
        workspace: &mut [Line],
        pool: &Pool,
    ) -> Result<(), Failed> {
        let Qr { rows, columns, count } = *self;
        let (size, rank) = (rows * columns, rows.min(columns));
        assert_eq!(a.len(), size * count, "matrices of {rows} rows and {columns} columns");
        if size == 0 {
            return Ok(());
        }
        let outs = Outs { numbers: [(q, rows * rank), (r, rank * columns)], integers: (&mut [], 0) };
        if self.is_small() {
            return lanes::run(pool, &QrLanes { a, rows, columns }, [count, self.work().max(1)], outs);
        }
        each_large(pool, self.division(), outs, workspace, |index, [q, r], _, scratch, pool| {
            let a = &a[index * size..(index + 1) * size];
            check_finite(a, columns, |_, _| true)?;
            match self.tall() {
                Some(tall) => tall.run(a, q, r, typed_mut(scratch, tall.scratch(pool.threads())), pool),
                None => self.reflected(a, q, r, scratch),
            }
            Ok(())
        })
    }

    /// By reflections.
    fn reflected<T: Number>(&self, a: &[T], q: &mut [T], r: &mut [T], scratch: &mut [Line]) {
        let Qr { rows, columns, .. } = *self;
        let rank = rows.min(columns);
        let block = recommended_block_size::<T>(rows, columns);
        let [first, second, third, fourth] = self.lines::<T>();
        let mut carver = Carver::new(scratch);
        let mut at = 0;
        let mut take = |lines: usize| {
            at += lines;
            carver.take(at - lines..at)
        };
        let packed = typed_mut::<T>(take(first), rows * columns);
        let product = typed_mut::<T>(take(second), rows * rank);
        let factors = typed_mut::<T>(take(third), block * rank);
        let stack = library::stack(take(fourth));
        transpose([columns, rows], a, 0, columns.cast_signed(), packed, rows);
        qr_in_place(
            library::columns_mut(packed, rows, columns),
            library::columns_mut(factors, block, rank),
            library::ALONE,
            stack,
            library::auto::<T, _>(),
        );
        product.fill(T::ZERO);
        (0..rank).for_each(|k| product[k * rows + k] = T::ONE);
        // The last block first: before block `j` is applied, `q` is the identity in the rows above it and the columns left of
        // it, so that it changes what is below and right of its corner only. That is half of the work.
        for j in (0..rank).step_by(block).rev() {
            let size = block.min(rank - j);
            apply(
                library::columns(packed, rows, columns).submatrix(j, j, rows - j, size),
                library::columns(factors, block, rank).submatrix(0, j, size, size),
                Conj::No,
                library::columns_mut(product, rows, rank).submatrix_mut(j, j, rows - j, rank - j),
                library::ALONE,
                stack,
            );
        }
        for k in 0..rank {
            let turn = if packed[k * rows + k] < T::ZERO { -T::ONE } else { T::ONE };
            product[k * rows..(k + 1) * rows].iter_mut().for_each(|x| *x *= turn);
            let r = &mut r[k * columns..(k + 1) * columns];
            r[..k].fill(T::ZERO);
            (k..columns).for_each(|column| r[column] = packed[column * rows + k] * turn);
        }
        transpose([rows, rank], product, 0, rows.cast_signed(), q, rank);
    }
}
