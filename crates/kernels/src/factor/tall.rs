//! QR factors of tall matrices by Cholesky factors of Gram matrices, again and again (Y. Yamamoto, Y. Nakatsukasa, Y. Yanagisawa
//! and T. Fukaya, *Roundoff error analysis of the CholeskyQR2 algorithm*, 2015; T. Fukaya, R. Kannan, Y. Nakatsukasa,
//! Y. Yamamoto and Y. Yanagisawa, *Shifted Cholesky QR for computing the QR factorization of ill-conditioned matrices*, 2020).
//!
//! With `aᵀ a = l lᵀ`, `q = a l⁻ᵀ` has columns that are nearly orthonormal, and the same again of `q` makes them so to the last
//! digits. Nearly all of it is in products, where reflections go through a tall matrix once for every column. The error of
//! `q r = a` is that of substitution, whatever a factor is. Where columns depend on each other nearly, the Gram matrix has lost
//! that, and a multiple of the identity is added, with which a round brings them some five digits further apart; the next ones
//! follow. A matrix with columns that are zero, or left as zeros, has reflections (A. S. Householder, 1958), one after the other.

use super::Number;
use super::cholesky::{factor, factor_library};
use super::triangular::{
    Rows, Triangular, half, left, left_library, left_scratch, packed, right, right_library, right_scratch,
};
use crate::product::{Accumulate, Operand, Target, Workspace, product};
use crate::{Float, Pool, Work, dispatch};

/// How many times as high as wide.
const TALL: usize = 2;

/// Squares of a Gram matrix up to this size are computed whole.
const SQUARE: usize = 32;

/// How far a factor of the last round may be from the identity: what it makes of the columns is orthonormal up to rounding, and
/// its inverse may be taken.
const NEAR: f64 = 1.0 / 16.0;

/// The most rounds: two for most matrices, and one more for every five digits or so of the condition beyond 10^7.
const ROUNDS: usize = 8;

/// The most that a round tries to add to the diagonal, each sixteen times the one before.
const SHIFTS: usize = 8;

/// A pivot below this many rounding units of its column's squared length holds nothing but rounding errors.
const LEAST_PIVOT: f64 = 256.0;

/// A matrix of this many rows and columns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tall {
    pub(super) rows: usize,
    pub(super) columns: usize,
}

impl Tall {
    /// Whether matrices of this shape are tall.
    pub(super) fn fits(self) -> bool {
        self.rows >= TALL * self.columns
    }

    /// Numbers of scratch.
    pub(super) fn scratch(self, threads: usize) -> usize {
        let Tall { rows, columns: n } = self;
        let update = if n > 1 { 2 * (n - half(n)) * half(n) } else { 0 };
        let rest = update.max(threads * right_scratch(n)).max(left_scratch(n, n));
        rows * n + 3 * n * n + 2 * n + rest
    }

    /// What its products allocate beside that.
    pub(super) fn library<T: Number>(self, threads: usize) -> Workspace {
        let Tall { rows, columns: n } = self;
        let second = packed::<T>([rows, n, n], [[n, 1], [1, n], [n, 1]], threads);
        let whole = packed::<T>([n, n, n], [[1, n], [1, n], [n, 1]], threads);
        let solved = right_library::<T>([n, rows, n], [n, 1], true, threads);
        let inverse = left_library::<T>([n, n, n], [n, 1], true, threads);
        let factors = factor_library::<T>(n, n, threads).max(gram_library::<T>(rows, n, n, threads));
        second.max(whole).max(solved).max(inverse).max(factors)
    }

    /// Writes the factors.
    pub(super) fn run<T: Number>(self, a: &[T], q: &mut [T], r: &mut [T], scratch: &mut [T], pool: &Pool) {
        if !self.by_products(a, q, r, scratch, pool) {
            let (near, rest) = scratch.split_at_mut(a.len());
            let (back, rest) = rest.split_at_mut(self.columns);
            let (products, rest) = rest.split_at_mut(self.columns);
            dispatch(Reflected { a, q, r, near, back, products, turns: &mut rest[..self.columns] });
        }
    }

    /// Writes the factors, if rounds lead to them; else `q` and `r` hold anything.
    fn by_products<T: Number>(self, a: &[T], q: &mut [T], r: &mut [T], scratch: &mut [T], pool: &Pool) -> bool {
        let Tall { rows, columns: n } = self;
        let (near, rest) = scratch.split_at_mut(rows * n);
        let (l, rest) = rest.split_at_mut(n * n);
        let (before, rest) = rest.split_at_mut(n * n);
        let (inverse, rest) = rest.split_at_mut(n * n);
        let (powers, rest) = rest.split_at_mut(n);
        let (back, rest) = rest.split_at_mut(n);
        if !dispatch(Scaled { a, q: &mut *near, powers: &mut *powers, back: &mut *back }) {
            return false;
        }
        let by = n.cast_signed();
        identity(before, n);
        for _ in 0..ROUNDS {
            if !self.gram_factor(near, l, powers, rest, pool) {
                return false;
            }
            // All factors so far, the last one first.
            let (last, factors) = (Operand::new(&*l, [1, by]), Operand::new(&*before, [by, 1]));
            product([n, n, n], last, factors, Target::new(&mut *r, [n, 1]), Accumulate::Overwrite, pool);
            let triangle = Triangular { data: &*l, strides: [n, 1], unit: false };
            if is_near_one(l, n) {
                identity(inverse, n);
                left(triangle, n, true, &mut Rows { data: &mut *inverse, by: n, columns: n }, rest, pool);
                let (near, inverse) = (Operand::new(&*near, [by, 1]), Operand::new(&*inverse, [1, by]));
                product([rows, n, n], near, inverse, Target::new(&mut *q, [n, 1]), Accumulate::Overwrite, pool);
                for (row, r) in r.chunks_exact_mut(n).enumerate() {
                    r[..row].fill(T::ZERO);
                    r[row..].iter_mut().zip(&back[row..]).for_each(|(x, &back)| *x *= back);
                }
                return true;
            }
            before.copy_from_slice(r);
            right(triangle, n, true, &mut Rows { data: &mut *near, by: n, columns: n }, rest, pool);
        }
        false
    }

    /// The Cholesky factor of the products of columns with each other, with something added to the diagonal if it is lost in
    /// rounding otherwise; false if a column is zero.
    fn gram_factor<T: Number>(self, q: &[T], l: &mut [T], lengths: &mut [T], scratch: &mut [T], pool: &Pool) -> bool {
        let Tall { rows, columns: n } = self;
        let unit = LEAST_PIVOT * T::EPSILON.to_f64();
        let mut shift = 0.0;
        for _ in 0..SHIFTS {
            products(q, rows, [0, n], l, pool);
            let diagonal = (0..n).map(|k| l[k * (n + 1)]);
            lengths.iter_mut().zip(diagonal).for_each(|(length, x)| *length = x);
            if !lengths.iter().all(|&x| x > T::ZERO && x.finite()) {
                return false;
            }
            l.iter_mut().step_by(n + 1).for_each(|x| *x += T::from_f64(shift));
            let exists = factor(l, n, n, 0, scratch, pool).is_ok();
            (0..n).for_each(|row| l[row * n + row + 1..(row + 1) * n].fill(T::ZERO));
            let is_clear = |k: usize| l[k * (n + 1)].to_f64().powi(2) >= unit * lengths[k].to_f64();
            if exists && (shift > 0.0 || (0..n).all(is_clear)) {
                return true;
            }
            let trace: f64 = lengths.iter().map(|x| x.to_f64()).sum();
            shift = if shift == 0.0 { n as f64 * T::EPSILON.to_f64() * trace } else { 16.0 * shift };
        }
        false
    }
}

fn identity<T: Number>(x: &mut [T], n: usize) {
    x.fill(T::ZERO);
    x.iter_mut().step_by(n + 1).for_each(|x| *x = T::ONE);
}

/// Whether a factor of a Gram matrix is one of columns that were nearly orthonormal.
fn is_near_one<T: Number>(l: &[T], n: usize) -> bool {
    let distance = |row: usize, column: usize| l[row * n + column] - if row == column { T::ONE } else { T::ZERO };
    (0..n).all(|row| (0..=row).all(|column| Float::abs(distance(row, column)) <= T::from_f64(NEAR)))
}

/// The lower triangle of the products of columns with each other, of those from one to another.
fn products<T: Number>(q: &[T], rows: usize, [from, to]: [usize; 2], gram: &mut [T], pool: &Pool) {
    let (n, size) = (q.len() / rows, to - from);
    let columns =
        |at: usize| [Operand::new(&q[at..], [1, n.cast_signed()]), Operand::new(&q[at..], [n.cast_signed(), 1])];
    if size <= SQUARE {
        let ([left, right], out) = (columns(from), Target::new(&mut gram[from * (n + 1)..], [n, 1]));
        return product([size, rows, size], left, right, out, Accumulate::Overwrite, pool);
    }
    let h = half(size);
    products(q, rows, [from, from + h], gram, pool);
    let ([below, _], [_, before]) = (columns(from + h), columns(from));
    let out = Target::new(&mut gram[(from + h) * n + from..], [n, 1]);
    product([size - h, rows, h], below, before, out, Accumulate::Overwrite, pool);
    products(q, rows, [from + h, to], gram, pool);
}

/// What the products of [`products`] allocate, of `size` of `n` columns.
fn gram_library<T: Number>(rows: usize, n: usize, size: usize, threads: usize) -> Workspace {
    let strides = [[1, n], [n, 1], [n, 1]];
    if size <= SQUARE {
        return packed::<T>([size, rows, size], strides, threads);
    }
    let h = half(size);
    let inner = |size: usize| gram_library::<T>(rows, n, size, threads);
    packed::<T>([size - h, rows, h], strides, threads).max(inner(h)).max(inner(size - h))
}

/// Copies the columns of `a` to `q`, each by a power of two that brings its largest entry near 1, the inverses of which are given
/// back; false if a column is zero.
struct Scaled<'a, T> {
    a: &'a [T],
    q: &'a mut [T],
    powers: &'a mut [T],
    back: &'a mut [T],
}

impl<T: Number> Work for Scaled<'_, T> {
    type Output = bool;
    #[inline(always)]
    fn run(self) -> bool {
        let Scaled { a, q, powers, back } = self;
        let n = back.len();
        back.fill(T::ZERO);
        for row in a.chunks_exact(n) {
            for (largest, &x) in back.iter_mut().zip(row) {
                let x = Float::abs(x);
                *largest = if x > *largest { x } else { *largest };
            }
        }
        let has_zeros = back.contains(&T::ZERO);
        for (power, back) in powers.iter_mut().zip(&mut *back) {
            [*power, *back] = back.scale();
        }
        for (q, row) in q.chunks_exact_mut(n).zip(a.chunks_exact(n)) {
            for ((q, &x), &power) in q.iter_mut().zip(row).zip(&*powers) {
                *q = x * power;
            }
        }
        !has_zeros
    }
}

/// The factors by reflections, one after the other, whatever the matrix is.
struct Reflected<'a, T> {
    a: &'a [T],
    q: &'a mut [T],
    r: &'a mut [T],
    /// The matrix; then the vectors of the reflections, in the columns from the diagonal on, and the triangle above it.
    near: &'a mut [T],
    back: &'a mut [T],
    products: &'a mut [T],
    turns: &'a mut [T],
}

impl<T: Number> Work for Reflected<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Reflected { a, q, r, near, back, products, turns } = self;
        let n = back.len();
        Scaled { a, q: &mut *near, powers: &mut *products, back: &mut *back }.run();
        r.fill(T::ZERO);
        for k in 0..n {
            let squares = near[k * n..].chunks_exact(n).fold(T::ZERO, |sum, row| sum + row[k] * row[k]);
            let (head, length) = (near[k * n + k], Float::sqrt(squares));
            // To the side that the head is not on; a column of zeros stays.
            let to = if head > T::ZERO { -length } else { length };
            near[k * n + k] = head - to;
            let size = (length + Float::abs(head)) * length;
            let products = &mut products[k + 1..];
            products.fill(T::ZERO);
            for row in near[k * n..].chunks_exact(n) {
                products.iter_mut().zip(&row[k + 1..]).for_each(|(sum, &x)| *sum += row[k] * x);
            }
            for row in near[k * n..].chunks_exact_mut(n).filter(|_| size > T::ZERO) {
                let (v, row) = row[k..].split_first_mut().expect("a column");
                row.iter_mut().zip(&*products).for_each(|(x, &product)| *x -= *v * (product / size));
            }
            turns[k] = if to < T::ZERO { -T::ONE } else { T::ONE };
            r[k * n + k] = length * back[k];
            let above = near[k * n..][..n].iter().zip(&*back);
            for (r, (&x, &back)) in r[k * n..][..n].iter_mut().zip(above).skip(k + 1) {
                *r = x * turns[k] * back;
            }
        }
        q.fill(T::ZERO);
        q[..n * n].iter_mut().step_by(n + 1).for_each(|x| *x = T::ONE);
        for k in (0..n).rev() {
            let vectors = || near[k * n..].chunks_exact(n).map(|row| row[k]);
            let size = vectors().fold(T::ZERO, |sum, v| sum + v * v) * T::from_f64(0.5);
            products.fill(T::ZERO);
            for (row, v) in q[k * n..].chunks_exact(n).zip(vectors()) {
                products[k..].iter_mut().zip(&row[k..]).for_each(|(sum, &x)| *sum += v * x);
            }
            for (row, v) in q[k * n..].chunks_exact_mut(n).zip(vectors()).filter(|_| size > T::ZERO) {
                row[k..].iter_mut().zip(&products[k..]).for_each(|(x, &product)| *x -= v * (product / size));
            }
        }
        for row in q.chunks_exact_mut(n) {
            row.iter_mut().zip(&*turns).for_each(|(x, &turn)| *x *= turn);
        }
    }
}
