//! The derivative of LU factors whose rows keep their order: the triangles `l'` and `u'` with `l' u + l u' = a`, and the transpose
//! of that map.
//!
//! Both triangles stand in one matrix, `l'` below the diagonal and `u'` on it and above. Large matrices are halved. With
//! `l = [l₁ 0; l₂₁ l₂]`, `u = [u₁ u₁₂; 0 u₂]` and so on, the blocks of the equation are
//!
//! ```text
//! l₁' u₁ + l₁ u₁' = a₁       l₁ u₁₂' = a₁₂ - l₁' u₁₂       l₂₁' u₁ = a₂₁ - l₂₁ u₁'      l₂' u₂ + l₂ u₂' = a₂ - l₂₁' u₁₂ - l₂₁ u₁₂'
//! ```
//!
//! and those of the transposed one, where `s uᵀ` is to be `x` below the diagonal, and `lᵀ s` on it and above, from the last
//! to the first
//!
//! ```text
//! s₂ of x₂                   s₂₁ u₁ᵀ = x₂₁ - s₂ u₁₂ᵀ       l₁ᵀ s₁₂ = x₁₂ - l₂₁ᵀ s₂      s₁ of x₁ - below(s₁₂ u₁₂ᵀ) - above(l₂₁ᵀ s₂₁)
//! ```
//!
//! These are the rules of the tangent in blocks; the halving is that of I. Murray, *Differentiation of the Cholesky
//! decomposition* (2016).

use super::batch::Outs;
use super::cholesky::{add_below, add_below_library};
use super::lanes::{self, LuTangentLanes};
use super::triangular::{
    LARGE, Rows, Triangular, each_large, half, left, left_library, left_scratch, negated, packed, right, right_library,
    right_scratch,
};
use super::{Failed, Fault, Number, SMALL};
use crate::arena::{Line, lines_for, typed_mut};
use crate::product::{Operand, Workspace};
use crate::{Pool, Work, dispatch};

/// Matrices up to this size are not halved.
const LEAF: usize = 32;

/// Computes the triangles `l'` and `u'` with `l' u + l u' = a`, in place of `a`: `l'` below the diagonal, where `l` has ones, and
/// `u'` on it and above. Or, if it is transposed, the `s` with the products `s uᵀ` and `lᵀ s`, of which the first is `x` below
/// the diagonal, and the second on it and above; in place of `x`.
///
/// Of `l` nothing is read but what stands below the diagonal, and of `u` nothing below it. A zero on the diagonal of `u` is
/// [`Fault::Singular`], but for the last one, which nothing is divided by.
///
/// ```
/// use wengert_kernels::Pool;
/// use wengert_kernels::arena::Arena;
/// use wengert_kernels::factor::LuTangent;
///
/// let tangent = LuTangent { n: 2, count: 1, transposed: false };
/// let mut arena = Arena::new(tangent.workspace::<f64>(1))?;
/// let (l, u, mut a) = ([1.0, 0.0, 0.5, 1.0], [4.0, 2.0, 0.0, 3.0], [1.0, 0.0, 0.0, 0.0]);
/// tangent.run(&l, &u, &mut a, arena.as_lines_mut(), &Pool::new(1)).unwrap();
/// assert_eq!(a, [1.0, 0.0, -0.125, 0.25]);
/// # Ok::<(), wengert_kernels::arena::TooLarge>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LuTangent {
    /// Rows and columns.
    pub n: usize,
    /// Matrices of the batch.
    pub count: usize,
    /// Whether it is the transposed map.
    pub transposed: bool,
}

impl LuTangent {
    fn work(&self) -> usize {
        self.n.saturating_pow(3) / 3 * 2
    }

    /// Bytes of workspace for this many threads.
    pub fn workspace<T: Number>(&self, threads: usize) -> usize {
        if self.n <= LEAF {
            return 0;
        }
        let (h, rest) = (half(self.n), self.n - half(self.n));
        let most = h.max(rest);
        let copies = if self.transposed { most * most } else { (2 * rest * h).max(h * h) };
        let is_large = self.work() >= LARGE;
        // The rows of a large one are divided among the threads.
        let rows = right_scratch(h) * if is_large { threads } else { 1 };
        // One copy is needed beside what a system from the left takes.
        let left = left_scratch(h, rest) + if self.transposed { rest * rest } else { 0 };
        let each = lines_for::<T>(copies.max(rows).max(left)) * size_of::<Line>();
        if is_large { each } else { threads * each }
    }

    /// What its products allocate beside the workspace, on this number of threads.
    pub fn library<T: Number>(&self, threads: usize) -> Workspace {
        let of = if self.transposed { cotangent_library::<T> } else { tangent_library::<T> };
        of(self.n, self.n, threads)
    }

    /// Computes the results of the batch.
    ///
    /// # Errors
    /// [`Failed`]: see above.
    ///
    /// # Panics
    /// If a slice does not have the stated size, or the workspace is too small.
    pub fn run<T: Number>(
        &self,
        l: &[T],
        u: &[T],
        x: &mut [T],
        workspace: &mut [Line],
        pool: &Pool,
    ) -> Result<(), Failed> {
        T::lu_tangent(self, [l, u], x, workspace, pool)
    }

    /// As [`run`](LuTangent::run), compiled where it is called.
    pub(super) fn run_here<T: Number>(
        &self,
        [l, u]: [&[T]; 2],
        x: &mut [T],
        workspace: &mut [Line],
        pool: &Pool,
    ) -> Result<(), Failed> {
        let (n, size) = (self.n, self.n * self.n);
        assert_eq!([l.len(), u.len()], [size * self.count; 2], "factors of {n} rows");
        if n == 0 {
            return Ok(());
        }
        let outs = Outs { numbers: [(x, size)], integers: (&mut [], 0) };
        if n <= SMALL {
            let kernel = LuTangentLanes { l, u, n, transposed: self.transposed };
            return lanes::run(pool, &kernel, [self.count, self.work().max(1)], outs);
        }
        each_large(pool, [self.count, self.work()], outs, workspace, |index, [x], _, scratch, pool| {
            let [l, u] = [l, u].map(|factor| &factor[index * size..(index + 1) * size]);
            if let Some(pivot) = (0..n - 1).find(|pivot| u[pivot * (n + 1)] == T::ZERO) {
                return Err(Fault::Singular { pivot });
            }
            let scratch = typed_mut(scratch, size_of_val(scratch) / size_of::<T>());
            let factors = Factors { l, u, by: n };
            let of = if self.transposed { cotangent } else { tangent };
            of(factors, x, n, scratch, pool);
            Ok(())
        })
    }
}

/// The factors from some row and column on; rows are `by` elements from each other.
#[derive(Clone, Copy)]
struct Factors<'a, T> {
    l: &'a [T],
    u: &'a [T],
    by: usize,
}

impl<T: Number> Factors<'_, T> {
    fn behind(self, h: usize) -> Self {
        let first = h * (self.by + 1);
        Factors { l: &self.l[first..], u: &self.u[first..], by: self.by }
    }
}

/// Solves `l' u + l u' = x` for the `n` first rows and columns, in place.
fn tangent<T: Number>(factors: Factors<'_, T>, x: &mut [T], n: usize, scratch: &mut [T], pool: &Pool) {
    let Factors { l, u, by } = factors;
    if n <= LEAF {
        return dispatch(TangentLeaf { l, u, x, n, by });
    }
    let h = half(n);
    let rest = n - h;
    tangent(factors, x, h, scratch, pool);
    let (above, below) = x.split_at_mut(h * by);
    let [depth, step] = [h.cast_signed(), by.cast_signed()];
    // Right of the first square, and below it.
    negated(above, by, [h, h], scratch);
    (0..h).for_each(|row| scratch[row * h + row..(row + 1) * h].fill(T::ZERO));
    let moved = Operand::new(&*scratch, [depth, 1]);
    Rows { data: &mut above[h..], by, columns: rest }.add(h, h, moved, Operand::new(&u[h..], [step, 1]), pool);
    let triangle = Triangular { data: l, strides: [by, 1], unit: true };
    left(triangle, h, true, &mut Rows { data: &mut above[h..], by, columns: rest }, scratch, pool);
    negated(above, by, [h, h], scratch);
    (0..h).for_each(|row| scratch[row * h..][..row].fill(T::ZERO));
    let moved = Operand::new(&*scratch, [depth, 1]);
    let mut rows = Rows { data: &mut *below, by, columns: h };
    rows.add(rest, h, Operand::new(&l[h * by..], [step, 1]), moved, pool);
    // `x u = b` is `x aᵀ = b` with the lower triangle `a = uᵀ`.
    let triangle = Triangular { data: u, strides: [1, by], unit: false };
    let mut rows = Rows { data: &mut below[..(rest - 1) * by + h], by, columns: h };
    right(triangle, h, true, &mut rows, scratch, pool);
    // What is left of the last square.
    let (own, known) = scratch[..2 * rest * h].split_at_mut(rest * h);
    negated(below, by, [rest, h], own);
    negated(&l[h * by..], by, [rest, h], known);
    let mut rows = Rows { data: &mut below[h..], by, columns: rest };
    rows.add(rest, h, Operand::new(&*own, [depth, 1]), Operand::new(&u[h..], [step, 1]), pool);
    rows.add(rest, h, Operand::new(&*known, [depth, 1]), Operand::new(&above[h..], [step, 1]), pool);
    tangent(factors.behind(h), &mut below[h..], rest, scratch, pool);
}

/// What the products of [`tangent`] allocate.
fn tangent_library<T: Number>(n: usize, by: usize, threads: usize) -> Workspace {
    if n <= LEAF {
        return Workspace::default();
    }
    let (h, rest) = (half(n), n - half(n));
    let own = packed::<T>([h, h, rest], [[h, 1], [by, 1], [by, 1]], threads)
        .max(left_library::<T>([h, rest, by], [by, 1], true, threads))
        .max(packed::<T>([rest, h, h], [[by, 1], [h, 1], [by, 1]], threads))
        .max(right_library::<T>([h, rest, by], [1, by], true, threads))
        .max(packed::<T>([rest, h, rest], [[h, 1], [by, 1], [by, 1]], threads));
    own.max(tangent_library::<T>(h, by, threads)).max(tangent_library::<T>(rest, by, threads))
}

/// Solves the transposed equations for the `n` first rows and columns, in place.
fn cotangent<T: Number>(factors: Factors<'_, T>, x: &mut [T], n: usize, scratch: &mut [T], pool: &Pool) {
    let Factors { l, u, by } = factors;
    if n <= LEAF {
        return dispatch(CotangentLeaf { l, u, x, n, by });
    }
    let h = half(n);
    let rest = n - h;
    let (above, below) = x.split_at_mut(h * by);
    cotangent(factors.behind(h), &mut below[h..], rest, scratch, pool);
    let step = by.cast_signed();
    let (u_beside, l_below) = (&u[h..], &l[h * by..]);
    let (last, free) = scratch.split_at_mut(rest * rest);
    negated(&below[h..], by, [rest, rest], last);
    let last = Operand::new(&*last, [rest.cast_signed(), 1]);
    Rows { data: &mut *below, by, columns: h }.add(rest, rest, last, Operand::new(u_beside, [1, step]), pool);
    let mut rows = Rows { data: &mut above[h..], by, columns: rest };
    rows.add(h, rest, Operand::new(l_below, [1, step]), last, pool);
    left(Triangular { data: l, strides: [1, by], unit: true }, h, false, &mut rows, free, pool);
    let mut rows = Rows { data: &mut below[..(rest - 1) * by + h], by, columns: h };
    right(Triangular { data: u, strides: [by, 1], unit: false }, h, false, &mut rows, scratch, pool);
    // A triangle of each of two products; that above the diagonal is found on the other side of it.
    let sum = &mut scratch[..h * h];
    sum.fill(T::ZERO);
    add_below(sum, h, h, [(&above[h..], [by, 1]), (u_beside, [1, by])], rest, pool);
    for row in 0..h {
        let entries = above[row * by..][..row].iter_mut().zip(&sum[row * h..]);
        entries.for_each(|(x, &sum)| *x -= sum);
    }
    sum.fill(T::ZERO);
    add_below(sum, h, h, [(below, [1, by]), (l_below, [by, 1])], rest, pool);
    for row in 0..h {
        let entries = above[row * (by + 1)..][..h - row].iter_mut().zip(row..h);
        entries.for_each(|(x, column)| *x -= sum[column * h + row]);
    }
    cotangent(factors, above, h, scratch, pool);
}

/// What the products of [`cotangent`] allocate.
fn cotangent_library<T: Number>(n: usize, by: usize, threads: usize) -> Workspace {
    if n <= LEAF {
        return Workspace::default();
    }
    let (h, rest) = (half(n), n - half(n));
    let own = packed::<T>([rest, rest, h], [[rest, 1], [1, by], [by, 1]], threads)
        .max(packed::<T>([h, rest, rest], [[1, by], [rest, 1], [by, 1]], threads))
        .max(left_library::<T>([h, rest, by], [1, by], false, threads))
        .max(right_library::<T>([h, rest, by], [by, 1], false, threads))
        .max(add_below_library::<T>(h, h, [[by, 1], [1, by]], rest, threads))
        .max(add_below_library::<T>(h, h, [[1, by], [by, 1]], rest, threads));
    own.max(cotangent_library::<T>(h, by, threads)).max(cotangent_library::<T>(rest, by, threads))
}

/// The equation of the tangent, by elimination.
struct TangentLeaf<'a, T> {
    l: &'a [T],
    u: &'a [T],
    x: &'a mut [T],
    n: usize,
    by: usize,
}

impl<T: Number> Work for TangentLeaf<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let TangentLeaf { l, u, x, n, by } = self;
        for step in 0..n - 1 {
            let (known, rest) = x.split_at_mut((step + 1) * by);
            let slopes = &known[step * by..][step..n];
            let factors = &u[step * by..][step..n];
            for row in step + 1..n {
                let line = &mut rest[(row - step - 1) * by..][step..n];
                let factor = l[row * by + step];
                let slope = (line[0] - factor * slopes[0]) / factors[0];
                line[0] = slope;
                let pairs = factors[1..].iter().zip(&slopes[1..]);
                line[1..].iter_mut().zip(pairs).for_each(|(x, (&u, &s))| *x = *x - slope * u - factor * s);
            }
        }
    }
}

/// The transposed equations, from the last row and column to the first. What is known stands in a square of its own, and its
/// transpose beside it, so that all sums are along rows.
struct CotangentLeaf<'a, T> {
    l: &'a [T],
    u: &'a [T],
    x: &'a mut [T],
    n: usize,
    by: usize,
}

impl<T: Number> Work for CotangentLeaf<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let CotangentLeaf { l, u, x, n, by } = self;
        let (mut known, mut turned) = ([[T::ZERO; LEAF]; LEAF], [[T::ZERO; LEAF]; LEAF]);
        for step in (0..n).rev() {
            let mut sums = [T::ZERO; LEAF];
            for k in step + 1..n {
                let factor = u[step * by + k];
                sums.iter_mut().zip(&turned[k]).for_each(|(sum, &s)| *sum += factor * s);
            }
            for row in step + 1..n {
                let s = (x[row * by + step] - sums[row]) / u[step * (by + 1)];
                (known[row][step], turned[step][row]) = (s, s);
            }
            let mut sums = [T::ZERO; LEAF];
            for k in step + 1..n {
                let factor = l[k * by + step];
                sums.iter_mut().zip(&known[k]).for_each(|(sum, &s)| *sum += factor * s);
            }
            for column in step..n {
                let s = x[step * by + column] - sums[column];
                (known[step][column], turned[column][step]) = (s, s);
            }
        }
        for (row, known) in known.iter().enumerate().take(n) {
            x[row * by..][..n].copy_from_slice(&known[..n]);
        }
    }
}
