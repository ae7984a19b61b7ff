//! Determinants.

use super::batch::Outs;
use super::lanes::{self, DetLanes};
use super::{Failed, Lu, Number, SMALL};
use crate::Pool;
use crate::arena::{Line, lines_for, typed_mut};
use crate::product::Workspace;

/// Computes determinants, as the product of the pivots of their LU factors.
///
/// ```
/// use wengert_kernels::Pool;
/// use wengert_kernels::arena::Arena;
/// use wengert_kernels::factor::Determinants;
///
/// let (determinants, mut det) = (Determinants { n: 2, count: 1 }, [0.0]);
/// let mut arena = Arena::new(determinants.workspace::<f64>(1))?;
/// determinants.run(&[1.0, 2.0, 4.0, 4.0], &mut det, arena.as_lines_mut(), &Pool::new(1)).unwrap();
/// assert_eq!(det, [-4.0]);
/// # Ok::<(), wengert_kernels::arena::TooLarge>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Determinants {
    /// Rows and columns.
    pub n: usize,
    /// Matrices of the batch.
    pub count: usize,
}

impl Determinants {
    fn lu(&self) -> Lu {
        Lu { rows: self.n, columns: self.n, count: self.count }
    }

    fn is_small(&self) -> bool {
        self.n <= SMALL
    }

    /// Lines of both factors and of the order of their rows.
    fn lines<T: Number>(&self) -> [usize; 2] {
        [lines_for::<T>(self.n * self.n * self.count), lines_for::<i64>(self.n * self.count)]
    }

    /// Bytes of workspace for this many threads.
    pub fn workspace<T: Number>(&self, threads: usize) -> usize {
        if self.is_small() {
            return 0;
        }
        let [factor, order] = self.lines::<T>();
        (2 * factor + order) * size_of::<Line>() + self.lu().workspace::<T>(threads)
    }

    /// What its products allocate beside the workspace, on this number of threads.
    pub fn library<T: Number>(&self, threads: usize) -> Workspace {
        if self.is_small() { Workspace::default() } else { self.lu().library::<T>(threads) }
    }

    /// Computes the determinants of the batch; that of a matrix without elements is 1.
    ///
    /// # Errors
    /// [`Failed`]: an entry is not finite.
    ///
    /// # Panics
    /// If a slice does not have the stated size, or the workspace is too small.
    pub fn run<T: Number>(&self, a: &[T], det: &mut [T], workspace: &mut [Line], pool: &Pool) -> Result<(), Failed> {
        T::determinants(self, a, det, workspace, pool)
    }

    /// As [`run`](Determinants::run), compiled where it is called.
    pub(super) fn run_here<T: Number>(
        &self,
        a: &[T],
        det: &mut [T],
        workspace: &mut [Line],
        pool: &Pool,
    ) -> Result<(), Failed> {
        let Determinants { n, count } = *self;
        let size = n * n;
        assert_eq!(a.len(), size * count, "matrices of {n} rows");
        if n == 0 {
            det.fill(T::ONE);
            return Ok(());
        }
        if self.is_small() {
            let outs = Outs { numbers: [(det, 1)], integers: (&mut [], 0) };
            return lanes::run(pool, &DetLanes { a, n }, [count, size * n / 3 + 1], outs);
        }
        let [factor, of_order] = self.lines::<T>();
        let (l, rest) = workspace.split_at_mut(factor);
        let (u, rest) = rest.split_at_mut(factor);
        let (order, rest) = rest.split_at_mut(of_order);
        let (l, u) = (typed_mut::<T>(l, size * count), typed_mut::<T>(u, size * count));
        let order = typed_mut::<i64>(order, n * count);
        let ended = self.lu().run(a, l, u, order, rest, pool);
        for (det, (u, order)) in det.iter_mut().zip(u.chunks_exact(size).zip(order.chunks_exact(n))) {
            let product = pivots(u, n);
            *det = if is_odd(order) { -product } else { product };
        }
        ended
    }
}

/// The product of the diagonal.
pub(super) fn pivots<T: Number>(u: &[T], n: usize) -> T {
    (0..n).fold(T::ONE, |product, row| product * u[row * (n + 1)])
}

/// Whether a permutation is odd.
pub(super) fn is_odd(order: &[i64]) -> bool {
    let behind = |k: usize| order[k + 1..].iter().filter(|&&other| other < order[k]).count();
    !(0..order.len()).map(behind).sum::<usize>().is_multiple_of(2)
}
