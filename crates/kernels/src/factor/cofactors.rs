//! Matrices of cofactors.

use super::batch::Outs;
use super::determinants::{is_odd, pivots};
use super::lanes::{self, MinorLanes};
use super::triangular::{Rows, packed};
use super::{Failed, Fault, Lu, Number, Side, Solve, Svd, Triangle};
use crate::Pool;
use crate::arena::{Line, lines_for, typed_mut};
use crate::plain::{self, well_conditioned};
use crate::product::{Operand, Workspace};

/// Up to this order cofactors are minors.
const MINORS: usize = 4;

/// Up to this order singular values are those of the definition, by rotations: it takes no memory of the library, and has the digits of
/// rows and columns of any size.
const ROTATED: usize = 64;

/// Computes the matrix of cofactors `c` of `a`, the derivative of its determinant: `det(a) a⁻ᵀ` where `a` is not singular.
///
/// Small matrices have it by their minors, and well-conditioned ones by the inverse. With `a = u diag(s) vᵀ` it is
/// `det(u vᵀ) u diag(p) vᵀ`, where p holds the products of all other singular values (G. W. Stewart, *On the adjugate matrix*,
/// 1998). Beyond the minors everything is in double precision, and rounded in the end.
///
/// ```
/// use wengert_kernels::Pool;
/// use wengert_kernels::arena::Arena;
/// use wengert_kernels::factor::Cofactors;
///
/// let (cofactors, mut c) = (Cofactors { n: 2, count: 1 }, [0.0; 4]);
/// let mut arena = Arena::new(cofactors.workspace::<f64>(1))?;
/// cofactors.run(&[1.0, 2.0, 3.0, 4.0], &mut c, arena.as_lines_mut(), &Pool::new(1)).unwrap();
/// assert_eq!(c, [4.0, -3.0, -2.0, 1.0]);
/// # Ok::<(), wengert_kernels::arena::TooLarge>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cofactors {
    /// Rows and columns.
    pub n: usize,
    /// Matrices of the batch.
    pub count: usize,
}

/// What is known of one matrix: its factors, the transposed inverse, and the order of its rows.
struct One<'a> {
    l: &'a mut [f64],
    u: &'a mut [f64],
    y: &'a mut [f64],
    order: &'a mut [i64],
}

impl Cofactors {
    fn lu(&self, count: usize) -> Lu {
        Lu { rows: self.n, columns: self.n, count }
    }

    fn svd(&self) -> Svd {
        Svd { rows: self.n, columns: self.n, count: 1 }
    }

    /// The systems of the transposed factors.
    fn systems(&self) -> [Solve; 2] {
        let (n, count) = (self.n, self.count);
        [(Triangle::Upper, false), (Triangle::Lower, true)].map(|(triangle, unit)| Solve {
            n,
            columns: n,
            count,
            triangle,
            side: Side::Left,
            transposed: true,
            unit,
        })
    }

    fn is_small(&self) -> bool {
        self.n <= MINORS
    }

    /// Whether singular values are those of the library.
    fn is_large(&self) -> bool {
        self.n > ROTATED
    }

    /// Lines of what is kept beside the work of the others: factors and inverses; their orders; singular vectors and values of one
    /// large matrix.
    fn lines(&self) -> [usize; 3] {
        let size = self.n * self.n;
        let of_one = if self.is_large() { 2 * lines_for::<f64>(size) + lines_for::<f64>(self.n) } else { 0 };
        [3 * lines_for::<f64>(size * self.count), lines_for::<i64>(self.n * self.count), of_one]
    }

    /// Bytes of workspace for this many threads.
    pub fn workspace<T: Number>(&self, threads: usize) -> usize {
        if self.is_small() {
            return 0;
        }
        let systems = self.systems().map(|solve| solve.workspace::<f64>(threads));
        let within = self.lu(self.count).workspace::<f64>(threads).max(systems[0]).max(systems[1]);
        let of_one = match self.is_large() {
            true => self.svd().workspace::<f64>(threads).max(self.lu(1).workspace::<f64>(threads)),
            false => 0,
        };
        self.lines().iter().sum::<usize>() * size_of::<Line>() + within.max(of_one)
    }

    /// What its products allocate beside the workspace, on this number of threads.
    pub fn library<T: Number>(&self, threads: usize) -> Workspace {
        if self.is_small() {
            return Workspace::default();
        }
        let n = self.n;
        let systems = self.systems().map(|solve| solve.library::<f64>(threads));
        let whole = packed::<f64>([n, n, n], [[n, 1], [n, 1], [n, 1]], threads);
        self.lu(self.count).library::<f64>(threads).max(systems[0]).max(systems[1]).max(whole)
    }

    /// Bytes that each thread keeps for the products inside of singular value decompositions.
    pub fn packing<T: Number>(&self) -> usize {
        if self.is_large() { self.svd().packing::<f64>() } else { 0 }
    }

    /// Bytes that the definition allocates for a matrix whose singular values it finds: vectors, their product and its factors.
    pub fn definition(&self) -> usize {
        if self.is_large() { 0 } else { (6 * self.n * self.n + 12 * self.n) * size_of::<f64>() }
    }

    /// Computes the cofactors of the batch.
    ///
    /// # Errors
    /// [`Failed`]: an entry is not finite, or an iteration does not converge.
    ///
    /// # Panics
    /// If a slice does not have the stated size, or the workspace is too small.
    pub fn run<T: Number>(&self, a: &[T], c: &mut [T], workspace: &mut [Line], pool: &Pool) -> Result<(), Failed> {
        T::cofactors(self, a, c, workspace, pool)
    }

    /// As [`run`](Cofactors::run), compiled where it is called.
    pub(super) fn run_here<T: Number>(
        &self,
        a: &[T],
        c: &mut [T],
        workspace: &mut [Line],
        pool: &Pool,
    ) -> Result<(), Failed> {
        let Cofactors { n, count } = *self;
        let size = n * n;
        assert_eq!(a.len(), size * count, "matrices of {n} rows");
        if size * count == 0 {
            return Ok(());
        }
        if self.is_small() {
            let outs = Outs { numbers: [(c, size)], integers: (&mut [], 0) };
            return lanes::run(pool, &MinorLanes { a, n }, [count, size * n], outs);
        }
        let [numbers, integers, of_one] = self.lines();
        let (numbers, rest) = workspace.split_at_mut(numbers);
        let (integers, rest) = rest.split_at_mut(integers);
        let (of_one, rest) = rest.split_at_mut(of_one);
        let mut numbers = numbers.chunks_exact_mut(lines_for::<f64>(size * count));
        let [l, u, y] = std::array::from_fn(|_| typed_mut::<f64>(numbers.next().expect("three of them"), size * count));
        let order = typed_mut::<i64>(integers, n * count);

        widen(a, y);
        let mut failed = self.lu(count).run(y, l, u, order, rest, pool).err();
        // The systems of a singular matrix are those of the identity: it goes another way.
        for (u, order) in u.chunks_exact_mut(size).zip(order.chunks_exact_mut(n)) {
            if !pivots(u, n).is_normal() {
                order[0] = SINGULAR;
                identity(u, n);
            }
        }
        y.chunks_exact_mut(size).for_each(|y| identity(y, n));
        for (solve, triangle) in self.systems().into_iter().zip([&*u, &*l]) {
            solve.run(triangle, y, rest, pool)?;
        }
        for index in 0..count {
            let at = index * size..(index + 1) * size;
            let a = &a[at.clone()];
            let one = One {
                l: &mut l[at.clone()],
                u: &mut u[at.clone()],
                y: &mut y[at.clone()],
                order: &mut order[index * n..(index + 1) * n],
            };
            let c = &mut c[at];
            if a.iter().any(|x| !x.finite()) {
                c.fill(T::NAN);
            } else if one.order[0] != SINGULAR && well_conditioned(a, one.y) {
                let det = pivots(one.u, n) * parity(one.order);
                for (row, &place) in one.y.chunks_exact(n).zip(&*one.order) {
                    let to = c[place as usize * n..][..n].iter_mut();
                    to.zip(row).for_each(|(to, &x)| *to = T::from_f64(det * x));
                }
            } else if let Err(fault) = self.by_singular_values(a, one, [&mut *of_one, &mut *rest], pool, c) {
                c.fill(T::NAN);
                failed = failed.filter(|failed| failed.index < index).or(Some(Failed { index, fault }));
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// Of one matrix.
    fn by_singular_values<T: Number>(
        &self,
        a: &[T],
        one: One<'_>,
        [of_one, rest]: [&mut [Line]; 2],
        pool: &Pool,
        c: &mut [T],
    ) -> Result<(), Fault> {
        let n = self.n;
        let One { l, u, y, order } = one;
        widen(a, l);
        if !self.is_large() {
            let cofactors = plain::cofactors_by_singular_values(l, n).ok_or(Fault::NoConvergence)?;
            c.iter_mut().zip(&cofactors).for_each(|(c, &x)| *c = T::from_f64(x));
            return Ok(());
        }
        let mut lines = of_one.chunks_exact_mut(lines_for::<f64>(n * n));
        let [left, right] = std::array::from_fn(|_| typed_mut::<f64>(lines.next().expect("two of them"), n * n));
        let values = typed_mut::<f64>(lines.into_remainder(), n);
        self.svd().run(l, left, values, right, rest, pool).map_err(|failed| failed.fault)?;
        let times = |left: &[f64], y: &mut [f64]| {
            y.fill(0.0);
            let [left, right] = [left, &*right].map(|x| Operand::new(x, [n.cast_signed(), 1]));
            Rows { data: y, by: n, columns: n }.add(n, n, left, right, pool);
        };
        times(left, y);
        self.lu(1).run(y, l, u, order, rest, pool).map_err(|failed| failed.fault)?;
        let sign = (0..n).fold(parity(order), |sign, row| sign * u[row * (n + 1)].signum());
        let others = |skipped: usize| (0..n).filter(|&k| k != skipped).map(|k| values[k]).product::<f64>();
        for column in 0..n {
            let factor = sign * others(column);
            (0..n).for_each(|row| left[row * n + column] *= factor);
        }
        times(left, y);
        c.iter_mut().zip(&*y).for_each(|(c, &y)| *c = T::from_f64(y));
        Ok(())
    }
}

fn widen<T: Number>(a: &[T], wide: &mut [f64]) {
    wide.iter_mut().zip(a).for_each(|(wide, &a)| *wide = a.to_f64());
}

/// The mark of a matrix without an inverse, in the place of the first row of its factors.
const SINGULAR: i64 = -1;

fn identity(a: &mut [f64], n: usize) {
    a.fill(0.0);
    a.iter_mut().step_by(n + 1).for_each(|x| *x = 1.0);
}

/// 1 of an even permutation, and -1 of an odd one.
fn parity(order: &[i64]) -> f64 {
    if is_odd(order) { -1.0 } else { 1.0 }
}
