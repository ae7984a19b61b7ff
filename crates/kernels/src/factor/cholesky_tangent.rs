//! The derivative of Cholesky's factor: the triangle `x` with `x lᵀ + l xᵀ = a`, and the transpose of that map
//! (S. P. Smith, *Differentiation of the Cholesky algorithm*, 1995; in blocks: I. Murray, *Differentiation of the Cholesky
//! decomposition*, 2016).
//!
//! Large matrices are halved as those of the [factor](super::Cholesky) are. With `l = [l₁ 0; l₂₁ l₂]`, and `x`, `a` alike, the
//! blocks of the equation are
//!
//! ```text
//! x₁ l₁ᵀ + l₁ x₁ᵀ = a₁        x₂₁ l₁ᵀ = a₂₁ - l₂₁ x₁ᵀ        x₂ l₂ᵀ + l₂ x₂ᵀ = a₂ - x₂₁ l₂₁ᵀ - l₂₁ x₂₁ᵀ
//! ```
//!
//! and those of the transposed one, `2 tril(s l) = tril(x)` with a symmetric `s`, from the last to the first
//!
//! ```text
//! 2 tril(s₂ l₂) = x₂           s₂₁ l₁ = x₂₁ / 2 - s₂ l₂₁         2 tril(s₁ l₁) = x₁ - 2 tril(s₂₁ᵀ l₂₁)
//! ```

use super::batch::Outs;
use super::cholesky::{add_below, add_below_library, lower_mean};
use super::lanes::{self, TangentLanes};
use super::triangular::{
    LARGE, Rows, Triangular, each_large, half, negated, packed, right, right_library, right_scratch, singular,
};
use super::{Failed, Number, SMALL};
use crate::arena::{Line, lines_for, typed_mut};
use crate::product::{Operand, Workspace};
use crate::{Pool, Work, dispatch};

/// Triangles up to this size are not halved.
const LEAF: usize = 32;

/// Computes the lower triangle `x` with `x lᵀ + l xᵀ = (a + aᵀ) / 2`, in place on `a`, with zeros above the diagonal; or, if it
/// is transposed, the symmetric `s` with `2 tril(s l) = tril(x)`, in place on `x`, of which nothing above the diagonal is read.
/// Nothing above the diagonal of `l` is read.
///
/// A zero on the diagonal of `l` is [`Fault::Singular`](super::Fault::Singular). Entries that are not finite reach the result as
/// in substitution.
///
/// ```
/// use wengert_kernels::Pool;
/// use wengert_kernels::arena::Arena;
/// use wengert_kernels::factor::CholeskyTangent;
///
/// // The slope of the root of 9 is 1/6.
/// let (l, mut a) = ([3.0], [1.0]);
/// let tangent = CholeskyTangent { n: 1, count: 1, transposed: false };
/// let mut arena = Arena::new(tangent.workspace::<f64>(1))?;
/// tangent.run(&l, &mut a, arena.as_lines_mut(), &Pool::new(1)).unwrap();
/// assert_eq!(a, [1.0 / 6.0]);
/// # Ok::<(), wengert_kernels::arena::TooLarge>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CholeskyTangent {
    /// Rows and columns.
    pub n: usize,
    /// Matrices of the batch.
    pub count: usize,
    /// Whether it is the transposed map.
    pub transposed: bool,
}

impl CholeskyTangent {
    fn work(&self) -> usize {
        self.n.saturating_pow(3) / 3
    }

    /// Bytes of workspace for this many threads.
    pub fn workspace<T: Number>(&self, threads: usize) -> usize {
        if self.n <= LEAF {
            return 0;
        }
        let (h, rest) = (half(self.n), self.n - half(self.n));
        let copies = if self.transposed { rest * rest.max(h) } else { 2 * rest * h };
        let is_large = self.work() >= LARGE;
        // The rows of a large one are divided among the threads.
        let rows = right_scratch(h) * if is_large { threads } else { 1 };
        let each = lines_for::<T>(copies.max(rows)) * size_of::<Line>();
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
    pub fn run<T: Number>(&self, l: &[T], x: &mut [T], workspace: &mut [Line], pool: &Pool) -> Result<(), Failed> {
        T::cholesky_tangent(self, l, x, workspace, pool)
    }

    /// As [`run`](CholeskyTangent::run), compiled where it is called.
    pub(super) fn run_here<T: Number>(
        &self,
        l: &[T],
        x: &mut [T],
        workspace: &mut [Line],
        pool: &Pool,
    ) -> Result<(), Failed> {
        let (n, size) = (self.n, self.n * self.n);
        assert_eq!(l.len(), size * self.count, "factors of {n} rows");
        if n == 0 {
            return Ok(());
        }
        let outs = Outs { numbers: [(x, size)], integers: (&mut [], 0) };
        if n <= SMALL {
            let kernel = TangentLanes { l, n, transposed: self.transposed };
            return lanes::run(pool, &kernel, [self.count, self.work().max(1)], outs);
        }
        each_large(pool, [self.count, self.work()], outs, workspace, |index, [x], _, scratch, pool| {
            let l = &l[index * size..(index + 1) * size];
            singular(l, n)?;
            let scratch = typed_mut(scratch, size_of_val(scratch) / size_of::<T>());
            if self.transposed {
                let half = T::from_f64(0.5);
                (0..n).for_each(|row| x[row * n..=row * (n + 1)].iter_mut().for_each(|x| *x = half * *x));
                cotangent(l, x, n, n, scratch, pool);
            } else {
                lower_mean(x, n);
                tangent(l, x, n, n, scratch, pool);
            }
            Ok(())
        })
    }
}

/// Solves `x lᵀ + l xᵀ = a` for the `n` first rows and columns, `by` elements from each other, in place on the lower triangle;
/// zeros stand above it afterwards.
fn tangent<T: Number>(l: &[T], x: &mut [T], n: usize, by: usize, scratch: &mut [T], pool: &Pool) {
    if n <= LEAF {
        return dispatch(TangentLeaf { l, x, n, by });
    }
    let h = half(n);
    let rest = n - h;
    tangent(l, x, h, by, scratch, pool);
    let (above, below) = x.split_at_mut(h * by);
    negated(&l[h * by..], by, [rest, h], scratch);
    let minus = Operand::new(&*scratch, [h.cast_signed(), 1]);
    // The triangle above has zeros in its other half.
    let transposed = Operand::new(&*above, [1, by.cast_signed()]);
    Rows { data: &mut *below, by, columns: h }.add(rest, h, minus, transposed, pool);
    let triangle = Triangular { data: l, strides: [by, 1], unit: false };
    let mut rows = Rows { data: &mut below[..(rest - 1) * by + h], by, columns: h };
    right(triangle, h, true, &mut rows, scratch, pool);
    let (minus, known) = scratch[..2 * rest * h].split_at_mut(rest * h);
    negated(&l[h * by..], by, [rest, h], minus);
    (0..rest).for_each(|row| known[row * h..][..h].copy_from_slice(&below[row * by..][..h]));
    let pairs = [(&*minus, &*known), (&*known, &*minus)];
    for (x, y) in pairs {
        let operands = [(x, [h, 1]), (y, [1, h])];
        add_below(&mut below[h..], rest, by, operands, h, pool);
    }
    (0..h).for_each(|row| above[row * by + h..][..rest].fill(T::ZERO));
    tangent(&l[h * (by + 1)..], &mut below[h..], rest, by, scratch, pool);
}

/// What the products of [`tangent`] allocate.
fn tangent_library<T: Number>(n: usize, by: usize, threads: usize) -> Workspace {
    if n <= LEAF {
        return Workspace::default();
    }
    let (h, rest) = (half(n), n - half(n));
    let own = packed::<T>([rest, h, h], [[h, 1], [1, by], [by, 1]], threads)
        .max(right_library::<T>([h, rest, by], [by, 1], true, threads))
        .max(add_below_library::<T>(rest, by, [[h, 1], [1, h]], h, threads));
    own.max(tangent_library::<T>(h, by, threads)).max(tangent_library::<T>(rest, by, threads))
}

/// Solves `tril(s l) = x` for the `n` first rows and columns, in place: `x` stands in the lower triangle, and `s` in both.
fn cotangent<T: Number>(l: &[T], x: &mut [T], n: usize, by: usize, scratch: &mut [T], pool: &Pool) {
    if n <= LEAF {
        return dispatch(CotangentLeaf { l, x, n, by });
    }
    let h = half(n);
    let rest = n - h;
    let (above, below) = x.split_at_mut(h * by);
    cotangent(&l[h * (by + 1)..], &mut below[h..], rest, by, scratch, pool);
    let l_below = &l[h * by..];
    let step = by.cast_signed();
    negated(&below[h..], by, [rest, rest], scratch);
    let minus = Operand::new(&*scratch, [rest.cast_signed(), 1]);
    Rows { data: &mut *below, by, columns: h }.add(rest, rest, minus, Operand::new(l_below, [step, 1]), pool);
    // `x l = b` is `x aᵀ = b` with the upper triangle `a = lᵀ`.
    let triangle = Triangular { data: l, strides: [1, by], unit: false };
    let mut rows = Rows { data: &mut below[..(rest - 1) * by + h], by, columns: h };
    right(triangle, h, false, &mut rows, scratch, pool);
    negated(l_below, by, [rest, h], scratch);
    add_below(above, h, by, [(below, [1, by]), (&*scratch, [h, 1])], rest, pool);
    mirror(above, below, [h, rest], by);
    cotangent(l, above, h, by, scratch, pool);
}

/// Copies the rectangle below a square to its right, transposed, in blocks that stay in the caches.
fn mirror<T: Number>(above: &mut [T], below: &[T], [h, rest]: [usize; 2], by: usize) {
    const SIDE: usize = 16;
    for rows in (0..h).step_by(SIDE) {
        for columns in (0..rest).step_by(SIDE) {
            for row in rows..h.min(rows + SIDE) {
                let count = SIDE.min(rest - columns);
                let line = &mut above[row * by + h + columns..][..count];
                line.iter_mut().enumerate().for_each(|(k, x)| *x = below[(columns + k) * by + row]);
            }
        }
    }
}

/// What the products of [`cotangent`] allocate.
fn cotangent_library<T: Number>(n: usize, by: usize, threads: usize) -> Workspace {
    if n <= LEAF {
        return Workspace::default();
    }
    let (h, rest) = (half(n), n - half(n));
    let own = packed::<T>([rest, rest, h], [[rest, 1], [by, 1], [by, 1]], threads)
        .max(right_library::<T>([h, rest, by], [1, by], false, threads))
        .max(add_below_library::<T>(h, by, [[1, by], [h, 1]], rest, threads));
    own.max(cotangent_library::<T>(h, by, threads)).max(cotangent_library::<T>(rest, by, threads))
}

/// The equation of the tangent, column by column.
struct TangentLeaf<'a, T> {
    l: &'a [T],
    x: &'a mut [T],
    n: usize,
    by: usize,
}

impl<T: Number> Work for TangentLeaf<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let TangentLeaf { l, x, n, by } = self;
        let half = T::from_f64(0.5);
        for column in 0..n {
            let pivot = l[column * (by + 1)];
            let slope = half * x[column * (by + 1)] / pivot;
            x[column * (by + 1)] = slope;
            x[column * by + column + 1..][..n - column - 1].fill(T::ZERO);
            let (mut factors, mut slopes) = ([T::ZERO; LEAF], [T::ZERO; LEAF]);
            for row in column + 1..n {
                let at = row * by + column;
                x[at] = (x[at] - l[at] * slope) / pivot;
                (factors[row], slopes[row]) = (l[at], x[at]);
            }
            for row in column + 1..n {
                let line = &mut x[row * by + column + 1..=row * by + row];
                let pairs = factors[column + 1..].iter().zip(&slopes[column + 1..]);
                line.iter_mut().zip(pairs).for_each(|(x, (&l, &s))| *x = *x - slopes[row] * l - factors[row] * s);
            }
        }
    }
}

/// The equation of the cotangent, from the last column to the first. What is known stands in a square of its own, whose rows are
/// as long as the triangle at most.
struct CotangentLeaf<'a, T> {
    l: &'a [T],
    x: &'a mut [T],
    n: usize,
    by: usize,
}

impl<T: Number> Work for CotangentLeaf<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let CotangentLeaf { l, x, n, by } = self;
        let mut known = [[T::ZERO; LEAF]; LEAF];
        for column in (0..n).rev() {
            let pivot = l[column * (by + 1)];
            // The column of `s`, without its element on the diagonal: `(x - Σ s l) / pivot`.
            let mut sums = [T::ZERO; LEAF];
            for k in column + 1..n {
                let factor = l[k * by + column];
                sums.iter_mut().zip(&known[k]).for_each(|(sum, &s)| *sum += factor * s);
            }
            let mut last = T::ZERO;
            for row in column + 1..n {
                let s = (x[row * by + column] - sums[row]) / pivot;
                (known[row][column], known[column][row]) = (s, s);
                last += s * l[row * by + column];
            }
            known[column][column] = (x[column * (by + 1)] - last) / pivot;
        }
        for (row, known) in known.iter().enumerate().take(n) {
            x[row * by..][..n].copy_from_slice(&known[..n]);
        }
    }
}
