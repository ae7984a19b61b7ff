//! Systems with a triangular matrix: substitution, halved again and again so that nearly all of it is in products.
//!
//! The halving is that of J. J. Dongarra, I. S. Duff, D. C. Sorensen and H. A. van der Vorst, *Numerical Linear Algebra for
//! High-Performance Computers* (1998), section 5; the error is that of plain substitution with sums in another order
//! (N. J. Higham, *Accuracy and Stability of Numerical Algorithms*, 2002, sections 8.1 and 13.2).

use super::batch::{Outs, each};
use super::lanes::{self, LANES, SolveLanes};
use super::{Failed, Fault, Number, SMALL};
use crate::arena::{Line, lines_for, typed_mut};
use crate::parallel::for_chunks_with;
use crate::product::{Accumulate, Operand, Target, Workspace, product, workspace};
use crate::transpose::transpose;
use crate::{Pool, Work, dispatch};

/// Triangles up to this size are not halved.
pub(super) const LEAF: usize = 16;
/// Rows of a right side that one thread takes at a time.
const ROWS: usize = 128;
/// The work of a matrix, in multiplications, from which on it has all threads.
pub(super) const LARGE: usize = 1 << 19;

/// On which side of the unknown the triangle stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// `a x = b`
    Left,
    /// `x a = b`
    Right,
}

/// Which triangle of a matrix is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Triangle {
    /// On the diagonal and below.
    Lower,
    /// On the diagonal and above.
    Upper,
}

/// Solves `op(a) x = b`, or `x op(a) = b`, in place on `b`, for the triangle `a` of `n` rows, where `op(a)` is `a` or its
/// transpose; `b` has `columns` columns on the left, and as many rows on the right. The other triangle of `a` is not
/// read, nor is the diagonal if it is one of ones.
///
/// A zero on the diagonal is [`Fault::Singular`]. Entries that are not finite reach the solution as in substitution.
///
/// ```
/// use wengert_kernels::Pool;
/// use wengert_kernels::arena::Arena;
/// use wengert_kernels::factor::{Side, Solve, Triangle};
///
/// let solve = Solve { n: 2, columns: 1, count: 1, triangle: Triangle::Lower, side: Side::Left, transposed: true, unit: false };
/// let mut arena = Arena::new(solve.workspace::<f64>(1))?;
/// let (a, mut b) = ([2.0, f64::NAN, 1.0, 4.0], [5.0, 4.0]);
/// solve.run(&a, &mut b, arena.as_lines_mut(), &Pool::new(1)).unwrap();
/// assert_eq!(b, [2.0, 1.0]);
/// # Ok::<(), wengert_kernels::arena::TooLarge>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Solve {
    /// Rows of the triangle.
    pub n: usize,
    /// Columns of the right side, or its rows if the triangle stands on the right.
    pub columns: usize,
    /// Matrices of the batch.
    pub count: usize,
    /// Which triangle is read.
    pub triangle: Triangle,
    /// Where it stands.
    pub side: Side,
    /// Whether it is transposed.
    pub transposed: bool,
    /// Whether its diagonal is read as ones.
    pub unit: bool,
}

impl Solve {
    fn work(&self) -> usize {
        self.n.saturating_mul(self.n).saturating_mul(self.columns) / 2
    }

    fn is_small(&self) -> bool {
        self.n <= SMALL && self.columns <= SMALL
    }

    /// Bytes of workspace for this many threads.
    pub fn workspace<T: Number>(&self, threads: usize) -> usize {
        let each = match self.side {
            _ if self.is_small() || self.n <= LEAF => 0,
            Side::Left => left_scratch(self.n, self.columns),
            Side::Right => right_scratch(self.n),
        };
        threads * lines_for::<T>(each) * size_of::<Line>()
    }

    /// What its products allocate beside the workspace, on this number of threads.
    pub fn library<T: Number>(&self, threads: usize) -> Workspace {
        if self.is_small() {
            return Workspace::default();
        }
        let strides = if self.transposed { [1, self.n] } else { [self.n, 1] };
        let lower = (self.triangle == Triangle::Lower) != self.transposed;
        match self.side {
            Side::Left => left_library::<T>([self.n, self.columns, self.columns], strides, lower, threads),
            Side::Right => {
                right_library::<T>([self.n, self.columns, self.n], [strides[1], strides[0]], !lower, threads)
            }
        }
    }

    /// Solves the systems of the batch.
    ///
    /// # Errors
    /// [`Failed`]: see above.
    ///
    /// # Panics
    /// If a slice does not have the stated size, or the workspace is too small.
    pub fn run<T: Number>(&self, a: &[T], b: &mut [T], workspace: &mut [Line], pool: &Pool) -> Result<(), Failed> {
        T::solve(self, a, b, workspace, pool)
    }

    /// As [`run`](Solve::run), compiled where it is called.
    pub(super) fn run_here<T: Number>(
        &self,
        a: &[T],
        b: &mut [T],
        workspace: &mut [Line],
        pool: &Pool,
    ) -> Result<(), Failed> {
        let (n, size) = (self.n, self.n * self.columns);
        assert_eq!(a.len(), n * n * self.count, "triangles of {n} rows");
        assert_eq!(b.len(), size * self.count, "right sides");
        if size == 0 {
            return Ok(());
        }
        let outs = Outs { numbers: [(b, size)], integers: (&mut [], 0) };
        if self.is_small() {
            let Solve { columns, triangle, side, transposed, unit, .. } = *self;
            let kernel = SolveLanes { a, n, columns, triangle, side, transposed, unit };
            return lanes::run(pool, &kernel, [self.count, self.work()], outs);
        }
        let solve = |index: usize, b: &mut [T], scratch: &mut [Line], pool: &Pool| {
            let a = &a[index * n * n..(index + 1) * n * n];
            if !self.unit {
                singular(a, n)?;
            }
            let scratch = typed_mut(scratch, size_of_val(scratch) / size_of::<T>());
            let a = Triangular { data: a, strides: if self.transposed { [1, n] } else { [n, 1] }, unit: self.unit };
            let lower = (self.triangle == Triangle::Lower) != self.transposed;
            match self.side {
                Side::Left => {
                    left(a, n, lower, &mut Rows { data: b, by: self.columns, columns: self.columns }, scratch, pool)
                }
                Side::Right => {
                    right(a.transposed(), n, !lower, &mut Rows { data: b, by: n, columns: n }, scratch, pool);
                }
            }
            Ok(())
        };
        each_large(pool, [self.count, self.work()], outs, workspace, |index, [b], _, scratch, pool| {
            solve(index, b, scratch, pool)
        })
    }
}

/// That there is no zero on the diagonal of a triangle of `n` rows.
pub(super) fn singular<T: Number>(a: &[T], n: usize) -> Result<(), Fault> {
    let zero = |&pivot: &usize| a[pivot * (n + 1)] == T::ZERO;
    (0..n).find(zero).map_or(Ok(()), |pivot| Err(Fault::Singular { pivot }))
}

/// Calls `f` for every matrix: one after another with all threads if they are large, else several at the same time.
pub(super) fn each_large<T: Number, const K: usize>(
    pool: &Pool,
    [count, work]: [usize; 2],
    outs: Outs<'_, T, K>,
    workspace: &mut [Line],
    f: impl Fn(usize, [&mut [T]; K], &mut [i64], &mut [Line], &Pool) -> Result<(), Fault> + Sync,
) -> Result<(), Failed> {
    let alone = Pool::new(1);
    let (outer, inner) = if work >= LARGE { (&alone, pool) } else { (pool, &alone) };
    each(outer, [count, work], outs, workspace, |one| f(one.index, one.outs, one.integers, one.scratch, inner))
}

/// A triangle with any strides. Only one half of it is read, which the functions know.
#[derive(Clone, Copy)]
pub(super) struct Triangular<'a, T> {
    pub(super) data: &'a [T],
    pub(super) strides: [usize; 2],
    pub(super) unit: bool,
}

impl<'a, T: Number> Triangular<'a, T> {
    fn transposed(self) -> Self {
        Triangular { strides: [self.strides[1], self.strides[0]], ..self }
    }
    /// From this row and column on.
    fn from(self, row: usize, column: usize) -> Self {
        Triangular { data: &self.data[row * self.strides[0] + column * self.strides[1]..], ..self }
    }
    #[inline(always)]
    fn at(self, row: usize, column: usize) -> T {
        self.data[row * self.strides[0] + column * self.strides[1]]
    }
    fn operand(self) -> Operand<'a, T> {
        Operand::new(self.data, self.strides.map(usize::cast_signed))
    }
}

/// Rows of a matrix, `by` elements from each other, from its first element on.
pub(super) struct Rows<'a, T> {
    pub(super) data: &'a mut [T],
    pub(super) by: usize,
    pub(super) columns: usize,
}

impl<T: Number> Rows<'_, T> {
    /// The rows before this one, and the others.
    pub(super) fn split(&mut self, row: usize) -> [Rows<'_, T>; 2] {
        let (data, rest) = self.data.split_at_mut((row * self.by).min(self.data.len()));
        let (by, columns) = (self.by, self.columns);
        [Rows { data, by, columns }, Rows { data: rest, by, columns }]
    }
    /// Adds a product.
    pub(super) fn add(&mut self, rows: usize, depth: usize, a: Operand<'_, T>, b: Operand<'_, T>, pool: &Pool) {
        let target = Target::new(&mut *self.data, [self.by, 1]);
        product([rows, depth, self.columns], a, b, target, Accumulate::Add, pool);
    }
}

/// Copies `-x` of rows and columns, as contiguous rows.
pub(super) fn negated<T: Number>(x: &[T], by: usize, [rows, columns]: [usize; 2], out: &mut [T]) {
    for row in 0..rows {
        let x = &x[row * by..][..columns];
        out[row * columns..][..columns].iter_mut().zip(x).for_each(|(out, &x)| *out = -x);
    }
}

/// Where a triangle is halved: the first half in whole leaves.
pub(super) fn half(n: usize) -> usize {
    (n / 2).next_multiple_of(LEAF).min(n - 1)
}

/// Numbers of scratch of [`left`].
pub(super) fn left_scratch(n: usize, columns: usize) -> usize {
    let most = if n <= LEAF { 0 } else { half(n).max(n - half(n)) };
    most * columns.min(most)
}

/// Solves `a x = b` in place on the `n` rows of `b`.
pub(super) fn left<T: Number>(
    a: Triangular<'_, T>,
    n: usize,
    lower: bool,
    b: &mut Rows<'_, T>,
    scratch: &mut [T],
    pool: &Pool,
) {
    if n <= LEAF {
        return dispatch(LeftLeaf { a, n, lower, b });
    }
    let (h, columns) = (half(n), b.columns);
    let below = n - h;
    let by = b.by;
    let [mut first, mut second] = b.split(h);
    // The part of the triangle that is a rectangle, and what is known first.
    if lower {
        left(a, h, lower, &mut first, scratch, pool);
        let rectangle = a.from(h, 0);
        if columns <= below {
            negated(first.data, by, [h, columns], scratch);
            let known = Operand::new(&*scratch, [columns.cast_signed(), 1]);
            second.add(below, h, rectangle.operand(), known, pool);
        } else {
            negate(rectangle, [below, h], scratch);
            let known = Operand::new(&*first.data, [by.cast_signed(), 1]);
            second.add(below, h, Operand::new(&*scratch, [h.cast_signed(), 1]), known, pool);
        }
        left(a.from(h, h), below, lower, &mut second, scratch, pool);
    } else {
        left(a.from(h, h), below, lower, &mut second, scratch, pool);
        let rectangle = a.from(0, h);
        if columns <= h {
            negated(second.data, by, [below, columns], scratch);
            let known = Operand::new(&*scratch, [columns.cast_signed(), 1]);
            first.add(h, below, rectangle.operand(), known, pool);
        } else {
            negate(rectangle, [h, below], scratch);
            let known = Operand::new(&*second.data, [by.cast_signed(), 1]);
            first.add(h, below, Operand::new(&*scratch, [below.cast_signed(), 1]), known, pool);
        }
        left(a, h, lower, &mut first, scratch, pool);
    }
}

/// What the products of [`left`] allocate on this number of threads; `strides` are those of the triangle, `by` that of the rows.
pub(super) fn left_library<T: Number>(
    [n, columns, by]: [usize; 3],
    strides: [usize; 2],
    lower: bool,
    threads: usize,
) -> Workspace {
    if n <= LEAF {
        return Workspace::default();
    }
    let (h, below) = (half(n), n - half(n));
    let (rows, depth) = if lower { (below, h) } else { (h, below) };
    let [rectangle, copy, known] = [strides, [columns, 1], [by, 1]];
    let operands = if columns <= rows { [rectangle, copy, known] } else { [[depth, 1], known, known] };
    let own = packed::<T>([rows, depth, columns], operands, threads);
    let inner = |n: usize| left_library::<T>([n, columns, by], strides, lower, threads);
    own.max(inner(h)).max(inner(below))
}

/// The same of [`right`], for the columns of rows.
pub(super) fn right_library<T: Number>(
    [n, rows, by]: [usize; 3],
    strides: [usize; 2],
    lower: bool,
    threads: usize,
) -> Workspace {
    if n <= LEAF {
        return Workspace::default();
    }
    let (h, rest) = (half(n), n - half(n));
    let (depth, columns) = if lower { (h, rest) } else { (rest, h) };
    let operands = [[depth, 1], [strides[1], strides[0]], [by, 1]];
    // The last rows may be fewer.
    let own = [rows.min(ROWS), rows % ROWS].map(|rows| packed::<T>([rows, depth, columns], operands, threads));
    let inner = |n: usize| right_library::<T>([n, rows, by], strides, lower, threads);
    own[0].max(own[1]).max(inner(h)).max(inner(rest))
}

/// What a product of rows allocates.
pub(super) fn packed<T: Number>(dims: [usize; 3], strides: [[usize; 2]; 3], threads: usize) -> Workspace {
    workspace::<T>(dims, strides.map(|strides| strides.map(usize::cast_signed)), false, threads)
}

/// Copies `-a`, as contiguous rows.
fn negate<T: Number>(a: Triangular<'_, T>, [rows, columns]: [usize; 2], out: &mut [T]) {
    for row in 0..rows {
        for column in 0..columns {
            out[row * columns + column] = -a.at(row, column);
        }
    }
}

/// Substitution, a row at a time.
struct LeftLeaf<'a, 'b, T> {
    a: Triangular<'a, T>,
    n: usize,
    lower: bool,
    b: &'a mut Rows<'b, T>,
}

impl<T: Number> Work for LeftLeaf<'_, '_, T> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let LeftLeaf { a, n, lower, b } = self;
        for step in 0..n {
            let at = if lower { step } else { n - 1 - step };
            let (before, rest) = b.data.split_at_mut(at * b.by);
            let (row, after) = rest.split_at_mut(b.by.min(rest.len()));
            let row = &mut row[..b.columns];
            for known in 0..step {
                let other = if lower { known } else { n - 1 - known };
                let factor = a.at(at, other);
                let from = if lower { &before[other * b.by..] } else { &after[(other - at - 1) * b.by..] };
                row.iter_mut().zip(&from[..b.columns]).for_each(|(x, &y)| *x -= factor * y);
            }
            if !a.unit {
                let pivot = a.at(at, at);
                row.iter_mut().for_each(|x| *x /= pivot);
            }
        }
    }
}

/// Numbers of scratch of [`right`] for each thread.
pub(super) fn right_scratch(n: usize) -> usize {
    if n <= LEAF { 0 } else { ROWS * half(n).max(n - half(n)) }
}

/// Solves `x aᵀ = b` in place on all rows of `b`, each of `n` columns, some rows at a time on each thread. `lower` says
/// which half of `a` there is.
pub(super) fn right<T: Number>(
    a: Triangular<'_, T>,
    n: usize,
    lower: bool,
    b: &mut Rows<'_, T>,
    scratch: &mut [T],
    pool: &Pool,
) {
    let by = b.by;
    let alone = Pool::new(1);
    let pool = if b.data.len() / by.max(1) * n * n >= LARGE { pool } else { &alone };
    for_chunks_with(pool, b.data, ROWS * by, scratch, |_, rows, scratch| {
        right_rows(a, n, lower, rows, by, scratch, &alone);
    });
}

/// The first `n` columns of some rows; the last row may end behind them.
fn right_rows<T: Number>(
    a: Triangular<'_, T>,
    n: usize,
    lower: bool,
    b: &mut [T],
    by: usize,
    scratch: &mut [T],
    pool: &Pool,
) {
    let rows = (b.len() + by - n) / by;
    if n <= LEAF {
        return dispatch(RightLeaf { a, n, lower, b, by, rows });
    }
    let h = half(n);
    let rest = n - h;
    if lower {
        right_rows(a, h, lower, &mut b[..(rows - 1) * by + h], by, scratch, pool);
        negated(b, by, [rows, h], scratch);
        let known = Operand::new(&*scratch, [h.cast_signed(), 1]);
        let rectangle = a.from(h, 0).transposed().operand();
        Rows { data: &mut b[h..], by, columns: rest }.add(rows, h, known, rectangle, pool);
        right_rows(a.from(h, h), rest, lower, &mut b[h..], by, scratch, pool);
    } else {
        right_rows(a.from(h, h), rest, lower, &mut b[h..], by, scratch, pool);
        negated(&b[h..], by, [rows, rest], scratch);
        let known = Operand::new(&*scratch, [rest.cast_signed(), 1]);
        let rectangle = a.from(0, h).transposed().operand();
        Rows { data: &mut *b, by, columns: h }.add(rows, rest, known, rectangle, pool);
        right_rows(a, h, lower, &mut b[..(rows - 1) * by + h], by, scratch, pool);
    }
}

/// Substitution for all rows at a time, which stand in columns meanwhile.
struct RightLeaf<'a, T> {
    a: Triangular<'a, T>,
    n: usize,
    lower: bool,
    b: &'a mut [T],
    by: usize,
    rows: usize,
}

impl<T: Number> Work for RightLeaf<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let RightLeaf { a, n, lower, b, by, rows } = self;
        let mut x = [[T::ZERO; ROWS]; LEAF];
        transpose([n, rows], b, 0, by.cast_signed(), x.as_flattened_mut(), ROWS);
        // In the order in which unknowns are found.
        let place = |step: usize| if lower { step } else { n - 1 - step };
        for step in 0..n {
            let mut factors = [T::ZERO; LEAF];
            (0..step).for_each(|known| factors[place(known)] = a.at(place(step), place(known)));
            let pivot = if a.unit { T::ONE } else { a.at(place(step), place(step)) };
            let (before, rest) = x.split_at_mut(place(step));
            let (unknown, after) = rest.split_first_mut().expect("a row of it");
            let (known, factors) = if lower { (before, &factors[..step]) } else { (after, &factors[n - step..n]) };
            let wide = rows - rows % WIDE;
            for start in (0..wide).step_by(WIDE) {
                substituted::<T, WIDE>(unknown, known, factors, pivot, start);
            }
            for start in (wide..rows).step_by(LANES) {
                substituted::<T, LANES>(unknown, known, factors, pivot, start);
            }
        }
        transpose([rows, n], x.as_flattened(), 0, ROWS.cast_signed(), b, by);
    }
}

/// How many numbers are kept in vectors while known rows are subtracted.
const WIDE: usize = 4 * LANES;

/// `(x - Σ factor y) / pivot` of some columns, for the known rows `y`.
#[inline(always)]
fn substituted<T: Number, const COUNT: usize>(
    x: &mut [T; ROWS],
    known: &[[T; ROWS]],
    factors: &[T],
    pivot: T,
    start: usize,
) {
    let x = &mut x[start..start + COUNT];
    let mut rest = [T::ZERO; COUNT];
    rest.copy_from_slice(x);
    for (y, &factor) in known.iter().zip(factors) {
        let y = &y[start..start + COUNT];
        rest.iter_mut().zip(y).for_each(|(x, &y)| *x -= factor * y);
    }
    // A product is as good but for one rounding, where the inverse is a normal number.
    let inverse = T::ONE / pivot;
    if inverse.normal() {
        rest.iter_mut().for_each(|x| *x *= inverse);
    } else {
        rest.iter_mut().for_each(|x| *x /= pivot);
    }
    x.copy_from_slice(&rest);
}
