//! Eigenvalues and eigenvectors of a symmetric tridiagonal matrix, by dividing it (J. J. M. Cuppen, *A divide and conquer method
//! for the symmetric tridiagonal eigenproblem*, 1981; M. Gu and S. C. Eisenstat, *A divide-and-conquer algorithm for the
//! symmetric tridiagonal eigenproblem*, 1995).
//!
//! With one entry beside the diagonal split off, `T = diag(T₁, T₂) + |e| v vᵀ`. The halves are decomposed in the same way, down
//! to single numbers; in the basis of their vectors `T` is a diagonal matrix plus one of rank one ([`secular`](super::secular)),
//! whose vectors, times those of the halves, are those of `T`. Nearly all of it is in these products.
//!
//! An entry of the rank-one part that is as good as zero, or can be made so by a rotation between two poles that are as good as
//! equal, leaves its pole as an eigenvalue (J. J. Dongarra and D. C. Sorensen, *A fully parallel algorithm for the symmetric
//! eigenvalue problem*, 1987). The rotations are applied to the small matrix, whose product with the halves stays one of blocks.

use std::sync::atomic::{AtomicBool, Ordering};

use super::both::both;
use super::lanes::LANES;
use super::number::largest;
use super::secular::{Roots, Vector, Weights, padded};
use super::triangular::packed;
use super::{Fault, Number};
use crate::parallel::{for_chunks, for_chunks_with};
use crate::product::{Accumulate, Operand, Target, Workspace, product};
use crate::{Float, Pool, dispatch};

/// What is as good as zero, in rounding units of the largest number: as in LAPACK's `dlaed2`.
const NEGLIGIBLE: f64 = 8.0;

/// From this size on, several threads may share a matrix, whose halves are then decomposed at the same time: some 50
/// microseconds for both. Chosen on an Intel Xeon with AVX-512, not measured against others.
pub(super) const APART: usize = 64;

/// How many pairs of a root and a pole there are in one part of the roots, and in one of the weights or vectors: some 4
/// microseconds. Chosen as [`APART`].
const ROOT_GRAIN: usize = 1 << 12;
const VECTOR_GRAIN: usize = 1 << 14;

/// Numbers and integers to work in.
type Scratch<'a, T> = (&'a mut [T], &'a mut [u32]);

/// Decomposes the matrix with this diagonal and these entries beside it: the values, ascending, in place of the diagonal, and
/// the vectors in the rows of `w`, `n` numbers from each other. A matrix below [`APART`] needs a pool of one thread.
pub(super) fn tridiagonal<T: Number>(
    d: &mut [T],
    e: &[T],
    w: &mut [T],
    scratch: Scratch<'_, T>,
    pool: &Pool,
) -> Result<(), Fault> {
    w.fill(T::ZERO);
    assert!(d.len() >= APART || pool.threads() == 1, "a small matrix has one thread");
    divide(d.len(), d, e, w, scratch, pool)
}

/// Numbers of scratch.
pub(super) fn numbers(n: usize, threads: usize) -> usize {
    2 * n * n + (NUMBERS + threads) * padded(n)
}

/// Integers of scratch.
pub(super) fn integers(n: usize) -> usize {
    INTEGERS * n
}

/// What its products allocate.
pub(super) fn library<T: Number>(n: usize, threads: usize) -> Workspace {
    let mut most = Workspace::default();
    // All parts of one depth have one of two sizes.
    let [mut least, mut largest] = [n, n];
    while largest > 1 {
        for size in [least, largest] {
            // All threads multiply for the whole, and one for each half, which may be another one at each call.
            let [inner, outer] = if size == n { [threads, 1] } else { [1, threads] };
            for half in [size / 2, size - size / 2] {
                let product = packed::<T>([size, half, half], [[size, 1], [n, 1], [size, 1]], inner);
                most = most.max(product.times(outer));
            }
        }
        [least, largest] = [least / 2, largest - largest / 2];
    }
    most
}

/// How many vectors of numbers and of integers merging takes, beside one of each thread.
const NUMBERS: usize = 8;
const INTEGERS: usize = 6;

/// As [`tridiagonal`], for a block `w` of a matrix of zeros, whose rows are `n` numbers from each other.
fn divide<T: Number>(
    n: usize,
    d: &mut [T],
    e: &[T],
    w: &mut [T],
    (reals, integers): Scratch<'_, T>,
    pool: &Pool,
) -> Result<(), Fault> {
    let size = d.len();
    if size == 1 {
        w[0] = T::ONE;
        return Ok(());
    }
    let half = size / 2;
    let beside = e[half - 1];
    let (above, below) = d.split_at_mut(half);
    above[half - 1] -= Float::abs(beside);
    below[0] -= Float::abs(beside);
    let (upper, lower) = w.split_at_mut(half * n);
    let (first, second) = (&e[..half - 1], &e[half..]);
    if pool.threads() > 1 {
        let alone = Pool::new(1);
        // Two halves take less than the whole, but for very small ones.
        let (one, other) = reals.split_at_mut(numbers(half, 1));
        let (ones, others) = integers.split_at_mut(INTEGERS * half);
        let (upper, lower) = both(
            pool,
            || divide(n, above, first, upper, (one, ones), &alone),
            || divide(n, below, second, &mut lower[half..], (other, others), &alone),
        );
        upper.and(lower)?;
    } else {
        divide(n, above, first, upper, (&mut *reals, &mut *integers), pool)?;
        divide(n, below, second, &mut lower[half..], (&mut *reals, &mut *integers), pool)?;
    }
    Merging::new(n, size, (reals, integers), pool).merge(d, beside, w)
}

/// What merging works in.
struct Merging<'a, T> {
    n: usize,
    /// The vectors of the rank-one problem, and their products with those of the halves, as rows.
    small: &'a mut [T],
    products: &'a mut [T],
    /// The vector of the rank-one part; then all values.
    z: &'a mut [T],
    /// The poles that are left, and their numbers of `z`, squared and as they become those of the roots.
    poles: &'a mut [T],
    squares: &'a mut [T],
    weights: &'a mut [T],
    /// Each root as a pole and the distance from it.
    found: &'a mut [[T; 2]],
    /// Rotations: of two coordinates each.
    cosines: &'a mut [T],
    sines: &'a mut [T],
    /// A vector of each thread.
    vectors: &'a mut [T],
    firsts: &'a mut [u32],
    seconds: &'a mut [u32],
    /// Coordinates: in the order of their poles; those that are left, and those that are not.
    order: &'a mut [u32],
    kept: &'a mut [u32],
    left_out: &'a mut [u32],
    /// The values in their order.
    sorted: &'a mut [u32],
    pool: &'a Pool,
}

/// How many poles are left, and how many rotations there were.
#[derive(Clone, Copy)]
struct Left {
    count: usize,
    turns: usize,
}

impl<'a, T: Number> Merging<'a, T> {
    /// For a block of this size.
    fn new(n: usize, size: usize, (numbers, integers): Scratch<'a, T>, pool: &'a Pool) -> Self {
        let long = padded(size);
        let (small, rest) = numbers.split_at_mut(size * size);
        let (products, rest) = rest.split_at_mut(size * size);
        let (found, rest) = rest.split_at_mut(2 * long);
        let (vectors, of_threads) = rest.split_at_mut((NUMBERS - 2) * long);
        let mut vectors = vectors.chunks_exact_mut(long);
        let [z, poles, squares, weights, cosines, sines] =
            std::array::from_fn::<_, { NUMBERS - 2 }, _>(|_| vectors.next().expect("a vector of numbers"));
        let mut integers = integers.chunks_exact_mut(size);
        let [firsts, seconds, order, kept, left_out, sorted] =
            std::array::from_fn::<_, INTEGERS, _>(|_| integers.next().expect("a vector of integers"));
        Merging {
            n,
            small,
            products,
            z,
            poles,
            squares,
            weights,
            found: found.as_chunks_mut().0,
            cosines,
            sines,
            vectors: of_threads,
            firsts,
            seconds,
            order,
            kept,
            left_out,
            sorted,
            pool,
        }
    }

    /// The decomposition of the whole, from those of the halves in the blocks of `w`.
    fn merge(&mut self, d: &mut [T], beside: T, w: &mut [T]) -> Result<(), Fault> {
        let size = d.len();
        self.read(beside, w, size);
        let rho = Float::abs(beside) + Float::abs(beside);
        let left = self.reduce(d, rho);
        self.solve(d, rho, left)?;
        self.sort(d, left);
        self.vectors(size, left);
        self.multiply(w, size);
        Ok(())
    }

    /// The vector of the rank-one part, of length 1, in the basis of the halves' vectors.
    fn read(&mut self, beside: T, w: &[T], size: usize) {
        let half = size / 2;
        let above = Float::sqrt(T::from_f64(0.5));
        let below = if beside < T::ZERO { -above } else { above };
        for (k, z) in self.z[..size].iter_mut().enumerate() {
            let row = &w[k * self.n..];
            *z = if k < half { row[half - 1] * above } else { row[half] * below };
        }
    }

    /// Which poles are left.
    fn reduce(&mut self, d: &mut [T], rho: T) -> Left {
        let (z, order) = (&mut self.z[..d.len()], &mut self.order[..d.len()]);
        order.iter_mut().zip(0..).for_each(|(at, k)| *at = k);
        order.sort_unstable_by(|&x, &y| ascending(d, x, y));
        let [diagonal, entry] = [largest(d), largest(z)];
        let most = if diagonal > entry { diagonal } else { entry };
        let negligible = T::from_f64(NEGLIGIBLE) * T::EPSILON * most;
        let (mut count, mut out, mut turns) = (0, 0, 0);
        let mut before: Option<usize> = None;
        for &place in &*order {
            let at = place as usize;
            if rho * Float::abs(z[at]) <= negligible {
                self.left_out[out] = place;
                out += 1;
                continue;
            }
            if let Some(last) = before {
                let length = Float::sqrt(z[at] * z[at] + z[last] * z[last]);
                let (cosine, sine) = (z[at] / length, z[last] / length);
                if Float::abs((d[at] - d[last]) * cosine * sine) <= negligible {
                    (z[last], z[at]) = (T::ZERO, length);
                    let (c, s) = (cosine * cosine, sine * sine);
                    (d[last], d[at]) = (d[last] * c + d[at] * s, d[last] * s + d[at] * c);
                    (self.firsts[turns], self.seconds[turns]) = (last as u32, place);
                    (self.cosines[turns], self.sines[turns]) = (cosine, sine);
                    turns += 1;
                    self.left_out[out] = last as u32;
                    out += 1;
                } else {
                    self.kept[count] = last as u32;
                    count += 1;
                }
            }
            before = Some(at);
        }
        if let Some(last) = before {
            self.kept[count] = last as u32;
            count += 1;
        }
        Left { count, turns }
    }

    /// The roots, and the vector of the rank-one part that they are exact for.
    fn solve(&mut self, d: &[T], rho: T, Left { count, .. }: Left) -> Result<(), Fault> {
        if count == 0 {
            return Ok(());
        }
        let whole = padded(count);
        for k in 0..whole {
            let at = self.kept[k.min(count - 1)] as usize;
            (self.poles[k], self.weights[k], self.squares[k]) = (d[at], self.z[at], self.z[at] * self.z[at]);
        }
        let (poles, squares) = (&self.poles[..whole], &self.squares[..whole]);
        let (found, all) = (&mut self.found[..whole], AtomicBool::new(true));
        let chunk = (ROOT_GRAIN / count).next_multiple_of(LANES).max(LANES);
        for_chunks(self.pool, found, chunk, |number, found| {
            if !dispatch(Roots { poles, squares, count, rho, first: number * chunk, found }) {
                all.store(false, Ordering::Relaxed);
            }
        });
        if !all.into_inner() {
            return Err(Fault::NoConvergence);
        }
        let (found, weights) = (&self.found[..whole], &mut self.weights[..whole]);
        let chunk = (VECTOR_GRAIN / count).next_multiple_of(LANES).max(LANES);
        for_chunks(self.pool, weights, chunk, |number, z| {
            dispatch(Weights { poles, count, found, first: number * chunk, z });
        });
        self.weights[count..whole].fill(T::ZERO);
        Ok(())
    }

    /// All values in their order: of the roots, and of the poles that are not left, behind them.
    fn sort(&mut self, d: &mut [T], Left { count, .. }: Left) {
        let (values, sorted) = (&mut self.z[..d.len()], &mut self.sorted[..d.len()]);
        for (k, value) in values.iter_mut().enumerate() {
            *value = match self.found[..count].get(k) {
                Some(&[from, by]) => from + by,
                None => d[self.left_out[k - count] as usize],
            };
        }
        sorted.iter_mut().zip(0..).for_each(|(at, k)| *at = k);
        sorted.sort_unstable_by(|&x, &y| ascending(values, x, y));
        d.iter_mut().zip(&*sorted).for_each(|(d, &k)| *d = values[k as usize]);
    }

    /// The vectors of the values, in the basis of the halves' vectors.
    fn vectors(&mut self, size: usize, left: Left) {
        let (whole, rows) = (padded(left.count), (VECTOR_GRAIN / size).max(1));
        let small = std::mem::take(&mut self.small);
        let scratch = std::mem::take(&mut self.vectors);
        let threads = self.pool.threads();
        for_chunks_with(
            self.pool,
            &mut small[..size * size],
            rows * size,
            &mut scratch[..threads * whole],
            |number, part, vector| {
                for (row, &k) in part.chunks_exact_mut(size).zip(&self.sorted[number * rows..]) {
                    self.vector(k as usize, left, vector, row);
                }
            },
        );
        (self.small, self.vectors) = (small, scratch);
    }

    /// That of the value with this number.
    fn vector(&self, k: usize, Left { count, turns }: Left, vector: &mut [T], row: &mut [T]) {
        row.fill(T::ZERO);
        if k < count {
            let whole = padded(count);
            let (poles, z) = (&self.poles[..whole], &self.weights[..whole]);
            dispatch(Vector { poles, z, found: self.found[k], out: &mut *vector });
            self.kept[..count].iter().zip(&*vector).for_each(|(&at, &x)| row[at as usize] = x);
        } else {
            row[self.left_out[k - count] as usize] = T::ONE;
        }
        for turn in (0..turns).rev() {
            let [first, second] = [self.firsts[turn], self.seconds[turn]].map(|at| at as usize);
            let (cosine, sine) = (self.cosines[turn], self.sines[turn]);
            let (x, y) = (row[first], row[second]);
            (row[first], row[second]) = (cosine * x + sine * y, cosine * y - sine * x);
        }
    }

    /// These, times the halves' vectors, in their place.
    fn multiply(&mut self, w: &mut [T], size: usize) {
        let (n, half) = (self.n, size / 2);
        for (columns, start) in [(half, 0), (size - half, half)] {
            let small = Operand::new(&self.small[start..size * size], [size.cast_signed(), 1]);
            let vectors = Operand::new(&w[start * (n + 1)..], [n.cast_signed(), 1]);
            let out = Target::new(&mut self.products[start..size * size], [size, 1]);
            product([size, columns, columns], small, vectors, out, Accumulate::Overwrite, self.pool);
        }
        for (row, product) in w.chunks_mut(n).zip(self.products.chunks_exact(size)) {
            row[..size].copy_from_slice(product);
        }
    }
}

/// By numbers at these places, and by the places where they are equal.
fn ascending<T: Number>(x: &[T], one: u32, other: u32) -> std::cmp::Ordering {
    let at = |k: u32| x[k as usize].to_f64();
    at(one).total_cmp(&at(other)).then(one.cmp(&other))
}
