//! Eigenvalues and eigenvectors of symmetric matrices: by rotations where they are small, else by reflections that leave a
//! tridiagonal matrix (A. S. Householder, 1958), which is divided ([`divide`]).

use faer::Conj;
use faer::linalg::evd::tridiag::{tridiag_in_place, tridiag_in_place_scratch};
use faer::linalg::householder::{
    apply_block_householder_sequence_on_the_left_in_place_scratch as apply_scratch,
    apply_block_householder_sequence_on_the_left_in_place_with_conj as apply,
};
use faer::linalg::qr::no_pivoting::factor::recommended_block_size;

use super::batch::Outs;
use super::lanes::{self, EighLanes};
use super::number::{check_finite, largest, orientation};
use super::triangular::{LARGE, each_large};
use super::{Failed, Fault, Number, Reads, SMALL, divide, library};
use crate::Pool;
use crate::arena::{Carver, Line, lines_for, typed_mut};
use crate::parallel::for_chunks_with;
use crate::product::Workspace;
use crate::transpose::transpose;

/// Computes the eigenvalues of symmetric matrices in ascending order, and their eigenvectors in columns, in place of the
/// matrices. The first component of each that is not negligible is positive.
///
/// Vectors of equal values are some orthonormal ones. A single matrix of 64 rows or more is reflected to tridiagonal form on
/// one thread; the threads share the work of dividing that and of reflecting its vectors. In a batch each matrix has one
/// thread.
///
/// ```
/// use wengert_kernels::Pool;
/// use wengert_kernels::arena::Arena;
/// use wengert_kernels::factor::{Eigh, Reads};
///
/// let eigh = Eigh { n: 2, count: 1, reads: Reads::Mean };
/// let mut arena = Arena::new(eigh.workspace::<f64>(1))?;
/// let (mut a, mut values) = ([2.0, 0.0, 0.0, 1.0], [0.0; 2]);
/// eigh.run(&mut a, &mut values, arena.as_lines_mut(), &Pool::new(1)).unwrap();
/// assert_eq!((values, a), ([1.0, 2.0], [0.0, 1.0, 1.0, 0.0]));
/// # Ok::<(), wengert_kernels::arena::TooLarge>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Eigh {
    /// Rows and columns.
    pub n: usize,
    /// Matrices of the batch.
    pub count: usize,
    /// Which entries are read.
    pub reads: Reads,
}

impl Eigh {
    /// Bytes that each thread keeps for the products inside of it.
    pub fn packing<T: Number>(&self) -> usize {
        if self.n <= SMALL { 0 } else { library::packing::<T>([self.n; 3]) }
    }

    /// What its products allocate beside the workspace, on this number of threads.
    pub fn library<T: Number>(&self, threads: usize) -> Workspace {
        if self.n <= SMALL {
            return Workspace::default();
        }
        let [outer, inner] = self.division(threads);
        divide::library::<T>(self.n, inner).times(outer)
    }

    /// Whether threads share a matrix; its reflection to tridiagonal form stays on one.
    pub fn is_shared(&self) -> bool {
        self.count == 1 && self.n >= divide::APART
    }

    /// How many matrices there are at the same time, and how many threads each has.
    fn division(&self, threads: usize) -> [usize; 2] {
        if self.is_shared() { [1, threads] } else { [threads, 1] }
    }

    /// Bytes of workspace for this many threads.
    pub fn workspace<T: Number>(&self, threads: usize) -> usize {
        if self.n <= SMALL {
            return 0;
        }
        let [outer, inner] = self.division(threads);
        outer * self.lines::<T>(inner).iter().sum::<usize>() * size_of::<Line>()
    }

    /// How many vectors one part reflects: from the size alone, so that the bits do not depend on the threads.
    fn reflected(&self) -> usize {
        (self.n / 8).next_multiple_of(8).max(64).min(self.n)
    }

    /// The library's scratch for that.
    fn reflecting<T: Number>(&self, block: usize) -> usize {
        library::lines(apply_scratch::<T>(self.n - 1, block, self.reflected()))
    }

    /// Lines of the reflections' vectors and factors, of what stands beside the tridiagonal matrix, of what dividing takes in
    /// numbers and integers, and of the library's scratch, which are not taken at the same time; for this many threads at a
    /// matrix.
    fn lines<T: Number>(&self, threads: usize) -> [usize; 5] {
        let n = self.n;
        let block = recommended_block_size::<T>(n, n);
        let reduced = tridiag_in_place_scratch::<T>(n, library::ALONE, library::auto::<T, _>());
        let library = library::lines(reduced).max(threads * self.reflecting::<T>(block));
        let [vectors, factors, beside] = [n * n, block * (n - 1), n - 1].map(lines_for::<T>);
        let dividing = lines_for::<T>(divide::numbers(n, threads)).max(library);
        [vectors, factors, beside, dividing, lines_for::<u32>(divide::integers(n))]
    }

    /// Computes values and vectors of the batch; the vectors in place of the matrices.
    ///
    /// # Errors
    /// [`Failed`]: an entry is not finite, or an iteration does not converge.
    ///
    /// # Panics
    /// If a slice does not have the stated size, or the workspace is too small.
    pub fn run<T: Number>(
        &self,
        a: &mut [T],
        values: &mut [T],
        workspace: &mut [Line],
        pool: &Pool,
    ) -> Result<(), Failed> {
        T::eigh(self, a, values, workspace, pool)
    }

    /// As [`run`](Eigh::run), compiled where it is called.
    pub(super) fn run_here<T: Number>(
        &self,
        a: &mut [T],
        values: &mut [T],
        workspace: &mut [Line],
        pool: &Pool,
    ) -> Result<(), Failed> {
        let Eigh { n, count, reads } = *self;
        if n == 0 {
            return Ok(());
        }
        let outs = Outs { numbers: [(a, n * n), (values, n)], integers: (&mut [], 0) };
        let work = n.pow(3) * 9;
        const { assert!(divide::APART.pow(3) * 9 >= LARGE, "a shared matrix is a large one") };
        if n <= SMALL {
            return lanes::run(pool, &EighLanes { n, reads }, [count, work], outs);
        }
        let work = if self.is_shared() { work } else { work.min(LARGE - 1) };
        each_large(pool, [count, work], outs, workspace, |_, [a, values], _, scratch, pool| {
            self.one(a, values, scratch, pool)
        })
    }

    fn one<T: Number>(&self, a: &mut [T], values: &mut [T], scratch: &mut [Line], pool: &Pool) -> Result<(), Fault> {
        let n = self.n;
        check_finite(a, n, |row, column| self.reads == Reads::Mean || column <= row)?;
        let mut carver = Carver::new(scratch);
        let mut at = 0;
        let [vectors, factors, beside, dividing, integers] = self.lines::<T>(pool.threads()).map(|lines| {
            at += lines;
            carver.take(at - lines..at)
        });
        let block = recommended_block_size::<T>(n, n);
        let (vectors, factors) = (typed_mut::<T>(vectors, n * n), typed_mut::<T>(factors, block * (n - 1)));
        let beside = typed_mut::<T>(beside, n - 1);

        // The lower triangle, of columns.
        transpose([n, n], a, 0, n.cast_signed(), vectors, n);
        if self.reads == Reads::Mean {
            let half = T::from_f64(0.5);
            vectors.iter_mut().zip(&*a).for_each(|(x, &y)| *x = half * *x + half * y);
        }
        let up = scaled(vectors, n);
        tridiag_in_place(
            library::columns_mut(vectors, n, n),
            library::columns_mut(factors, block, n - 1),
            library::ALONE,
            library::stack(&mut *dividing),
            library::auto::<T, _>(),
        );
        for k in 0..n {
            values[k] = vectors[k * (n + 1)];
            if k + 1 < n {
                beside[k] = vectors[k * (n + 1) + 1];
            }
        }
        let numbers = typed_mut::<T>(&mut *dividing, divide::numbers(n, pool.threads()));
        divide::tridiagonal(values, beside, a, (numbers, typed_mut(integers, divide::integers(n))), pool)?;
        if !values.iter().all(|x| x.finite()) {
            return Err(Fault::NoConvergence);
        }
        let (reflections, together) = (&*vectors, self.reflected());
        let each = self.reflecting::<T>(block);
        for_chunks_with(pool, a, together * n, &mut dividing[..pool.threads() * each], |_, part, scratch| {
            let count = part.len() / n;
            apply(
                library::columns(reflections, n, n).submatrix(1, 0, n - 1, n - 1),
                library::columns(factors, block, n - 1),
                Conj::No,
                library::columns_mut(part, n, count).subrows_mut(1, n - 1),
                library::ALONE,
                library::stack(scratch),
            );
            part.chunks_exact_mut(n).for_each(|vector| _ = orient(vector));
        });
        values.iter_mut().for_each(|x| *x *= up);
        vectors.copy_from_slice(a);
        transpose([n, n], vectors, 0, n.cast_signed(), a, n);
        Ok(())
    }
}

/// Makes the largest entry of a lower triangle by columns about 1, by a power of two; its inverse.
fn scaled<T: Number>(a: &mut [T], n: usize) -> T {
    let mut columns = (0..n).map(|column| largest(&a[column * (n + 1)..(column + 1) * n]));
    let first = columns.next().unwrap_or(T::ZERO);
    let [down, up] = columns.fold(first, |most, x| if x > most { x } else { most }).scale();
    a.iter_mut().for_each(|x| *x *= down);
    up
}

/// Makes the first component that is not negligible positive; whether the vector was turned.
pub(super) fn orient<T: Number>(vector: &mut [T]) -> bool {
    let turned = orientation(vector.iter().copied()) < T::ZERO;
    if turned {
        vector.iter_mut().for_each(|x| *x = -*x);
    }
    turned
}
