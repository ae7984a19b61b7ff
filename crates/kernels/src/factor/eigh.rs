//! Eigenvalues and eigenvectors of symmetric matrices: by rotations where they are small, else by a tridiagonal matrix, and
//! from some size on by dividing that (J. J. M. Cuppen, *A divide and conquer method for the symmetric tridiagonal
//! eigenproblem*, 1981; M. Gu and S. C. Eisenstat, 1995).

use faer::dyn_stack::StackReq;
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};

use super::batch::{Outs, each};
use super::cholesky::lower_mean;
use super::lanes::{self, EighLanes};
use super::number::{check_finite, orientation};
use super::{Failed, Fault, Number, Reads, SMALL, library};
use crate::arena::{Line, lines_for, typed_mut};
use crate::transpose::transpose;
use crate::{Float, Pool};

/// Computes the eigenvalues of symmetric matrices in ascending order, and their eigenvectors in columns, in place of the
/// matrices. The first component of each that is not negligible is positive.
///
/// Vectors of equal values are some orthonormal ones. Large matrices run on one thread.
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

    /// Bytes of workspace for this many threads.
    pub fn workspace<T: Number>(&self, threads: usize) -> usize {
        if self.n <= SMALL {
            return 0;
        }
        threads * (lines_for::<T>(self.n * self.n) + library::lines(self.request::<T>())) * size_of::<Line>()
    }

    fn request<T: Number>(&self) -> StackReq {
        self_adjoint_evd_scratch::<T>(self.n, ComputeEigenvectors::Yes, library::ALONE, library::auto::<T, _>())
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
        if n <= SMALL {
            return lanes::run(pool, &EighLanes { n, reads }, [count, work], outs);
        }
        each(pool, [count, work], outs, workspace, |one| {
            let [a, values] = one.outs;
            self.one(a, values, one.scratch)
        })
    }

    fn one<T: Number>(&self, a: &mut [T], values: &mut [T], scratch: &mut [Line]) -> Result<(), Fault> {
        let n = self.n;
        check_finite(a, n, |row, column| self.reads == Reads::Mean || column <= row)?;
        let (copy, rest) = scratch.split_at_mut(lines_for::<T>(n * n));
        let copy = typed_mut::<T>(copy, n * n);
        if self.reads == Reads::Mean {
            lower_mean(a, n);
        }
        // The lower triangle, of columns.
        transpose([n, n], a, 0, n.cast_signed(), copy, n);
        let up = scaled(copy, n);
        let result = self_adjoint_evd(
            library::columns(copy, n, n),
            library::diagonal(values),
            Some(library::columns_mut(a, n, n)),
            library::ALONE,
            library::stack(rest),
            library::auto::<T, _>(),
        );
        if result.is_err() || !values.iter().all(|x| x.finite()) {
            return Err(Fault::NoConvergence);
        }
        values.iter_mut().for_each(|x| *x *= up);
        for vector in a.chunks_exact_mut(n) {
            orient(vector);
        }
        copy.copy_from_slice(a);
        transpose([n, n], copy, 0, n.cast_signed(), a, n);
        Ok(())
    }
}

/// Makes the largest entry of a lower triangle by columns about 1, by a power of two; its inverse.
fn scaled<T: Number>(a: &mut [T], n: usize) -> T {
    let mut most = T::ZERO;
    for column in 0..n {
        for row in column..n {
            let x = Float::abs(a[column * n + row]);
            most = if x > most { x } else { most };
        }
    }
    let [down, up] = most.scale();
    for column in 0..n {
        a[column * n + column..(column + 1) * n].iter_mut().for_each(|x| *x *= down);
    }
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
