//! Blocks of a product whose left or right operand is read where it lies, summed in registers.
//!
//! Both forms give a *tile*: some rows of [`Number::across`] or [`Number::down`] lanes, one element each, summed over the
//! steps in their order, each sum starting from zero. A tile's bits do not depend on how many rows it has, so a remainder
//! of rows may take any of the sizes. Multiplication and addition are fused where the instruction set has it (every level
//! but the baseline).
//!
//! The loops are plain: inlined into [`dispatch_only`]'s copies they become one broadcast and one vector multiply-add per
//! row and vector. The sizes are those at which the compiler keeps all sums in registers, found by measuring: at 4 and 8
//! rows it vectorises across rows instead and is more than 60 times slower.

use std::fmt::Debug;
use std::ops::{Add, Mul};

use wengert_kernels::arena::Plain;
use wengert_kernels::dispatch::dispatch_only;
use wengert_kernels::region::{Slice, SliceMut};
use wengert_kernels::{Level, Work, dispatch};

/// Rows of the tiles of the first form, the largest first; a remainder takes the smaller ones.
pub(super) const ROWS: [usize; 3] = [6, 2, 1];
/// Elements of the largest tile of any level and form.
pub(super) const TILE: usize = 384;

/// The numbers of a convolution.
pub(super) trait Number: Plain + Debug + Default + PartialOrd + Add<Output = Self> + Mul<Output = Self> {
    /// `self * factor + term`, rounded once where `FUSED`.
    fn multiply_add<const FUSED: bool>(self, factor: Self, term: Self) -> Self;

    /// The elements of an operand of this type.
    fn operand<'a>(slice: &Slice<'a>) -> &'a [Self];

    /// The elements of a result of this type.
    fn result<'a>(slice: &'a mut SliceMut<'_>) -> &'a mut [Self];

    /// Whether it is neither infinite nor NaN.
    fn is_finite(self) -> bool;

    /// The lanes of a row of the first form.
    fn across(level: Level) -> usize;

    /// The rows and lanes of the second form.
    fn down(level: Level) -> (usize, usize);

    /// The first form, lanes are places of `b`: for `rows` (of [`ROWS`]) rows r and all lanes l
    /// `tile[r, l] = sum over k of a[k, r] b[steps[k] + l]`, where `a` has `rows` columns.
    fn tile_across(level: Level, rows: usize, a: &[Self], b: &[Self], steps: &[usize], tile: &mut [Self]);

    /// The second form, lanes are columns of `b`: for the rows r that `starts` gives
    /// `tile[r, l] = sum over k of a[starts[r] + steps[k]] b[k, l]`, where `steps` are below `span`.
    fn tile_down(
        level: Level,
        a: &[Self],
        starts: &[usize],
        span: usize,
        steps: &[usize],
        b: &[Self],
        tile: &mut [Self],
    );
}

/// The first form on `V` vectors of `L` lanes.
struct Across<'a, T, const R: usize, const V: usize, const L: usize, const FUSED: bool> {
    a: &'a [T],
    b: &'a [T],
    steps: &'a [usize],
    tile: &'a mut [T],
}

impl<T: Number, const R: usize, const V: usize, const L: usize, const FUSED: bool> Work
    for Across<'_, T, R, V, L, FUSED>
{
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let mut sums = [[[T::default(); L]; V]; R];
        for (a, &step) in self.a.chunks_exact(R).zip(self.steps) {
            let b = &self.b[step..][..V * L];
            let a: &[T; R] = a.try_into().expect("a chunk of as many");
            add_outer::<T, R, V, L, FUSED>(a, b, &mut sums);
        }
        store(&sums, self.tile);
    }
}

/// The second form.
struct Down<'a, T, const R: usize, const V: usize, const L: usize, const FUSED: bool> {
    a: &'a [T],
    starts: &'a [usize],
    span: usize,
    steps: &'a [usize],
    b: &'a [T],
    tile: &'a mut [T],
}

impl<T: Number, const R: usize, const V: usize, const L: usize, const FUSED: bool> Work
    for Down<'_, T, R, V, L, FUSED>
{
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let mut sums = [[[T::default(); L]; V]; R];
        // One length for all rows, so that a step is checked once.
        let rows: [&[T]; R] = std::array::from_fn(|row| &self.a[self.starts[row]..][..self.span]);
        for (b, &step) in self.b.chunks_exact(V * L).zip(self.steps) {
            let a: [T; R] = std::array::from_fn(|row| rows[row][step]);
            add_outer::<T, R, V, L, FUSED>(&a, b, &mut sums);
        }
        store(&sums, self.tile);
    }
}

/// `sums[r] += a[r] * b`.
#[inline(always)]
fn add_outer<T: Number, const R: usize, const V: usize, const L: usize, const FUSED: bool>(
    a: &[T; R],
    b: &[T],
    sums: &mut [[[T; L]; V]; R],
) {
    let mut vectors = [[T::default(); L]; V];
    for v in 0..V {
        for l in 0..L {
            vectors[v][l] = b[v * L + l];
        }
    }
    for r in 0..R {
        for v in 0..V {
            for l in 0..L {
                sums[r][v][l] = a[r].multiply_add::<FUSED>(vectors[v][l], sums[r][v][l]);
            }
        }
    }
}

#[inline(always)]
fn store<T: Number, const R: usize, const V: usize, const L: usize>(sums: &[[[T; L]; V]; R], tile: &mut [T]) {
    for (row, tile) in sums.iter().zip(tile.chunks_exact_mut(V * L)) {
        for (vector, tile) in row.iter().zip(tile.chunks_exact_mut(L)) {
            tile.copy_from_slice(vector);
        }
    }
}

/// Whether all numbers are finite.
pub(super) fn all_finite<T: Number>(numbers: &[T]) -> bool {
    dispatch(Finite(numbers))
}

struct Finite<'a, T>(&'a [T]);

impl<T: Number> Work for Finite<'_, T> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        // Without an early end, so that it is a vector loop.
        self.0.iter().fold(true, |finite, number| finite & number.is_finite())
    }
}

/// The first form with the tile of so many rows.
fn by_rows<T: Number, const LEVEL: u8, const V: usize, const L: usize, const FUSED: bool>(
    rows: usize,
    a: &[T],
    b: &[T],
    steps: &[usize],
    tile: &mut [T],
) {
    match rows {
        6 => dispatch_only::<LEVEL, _>(Across::<T, 6, V, L, FUSED> { a, b, steps, tile }),
        2 => dispatch_only::<LEVEL, _>(Across::<T, 2, V, L, FUSED> { a, b, steps, tile }),
        1 => dispatch_only::<LEVEL, _>(Across::<T, 1, V, L, FUSED> { a, b, steps, tile }),
        _ => unreachable!("a tile has 6, 2 or 1 rows"),
    }
}

/// The sizes of tiles for one type, whose vectors have `$wide`, `$middle` and `$narrow` lanes.
macro_rules! number {
    ($number:ty, $kind:ident, $wide:literal, $middle:literal, $narrow:literal) => {
        impl Number for $number {
            #[inline(always)]
            fn multiply_add<const FUSED: bool>(self, factor: Self, term: Self) -> Self {
                if FUSED { self.mul_add(factor, term) } else { self * factor + term }
            }

            fn operand<'a>(slice: &Slice<'a>) -> &'a [Self] {
                let Slice::$kind(elements) = *slice else { unreachable!("the operand has the type of the kernel") };
                elements
            }

            fn result<'a>(slice: &'a mut SliceMut<'_>) -> &'a mut [Self] {
                let SliceMut::$kind(elements) = slice else { unreachable!("the result has the type of the kernel") };
                elements
            }

            #[inline(always)]
            fn is_finite(self) -> bool {
                <$number>::is_finite(self)
            }

            fn across(level: Level) -> usize {
                match level {
                    Level::Avx512 => 4 * $wide,
                    Level::Avx2 => 2 * $middle,
                    Level::Baseline => 2 * $narrow,
                }
            }

            fn down(level: Level) -> (usize, usize) {
                match level {
                    Level::Avx512 => (6, 2 * $wide),
                    Level::Avx2 => (6, 2 * $middle),
                    Level::Baseline => (6, 2 * $narrow),
                }
            }

            fn tile_across(level: Level, rows: usize, a: &[Self], b: &[Self], steps: &[usize], tile: &mut [Self]) {
                match level {
                    Level::Avx512 => by_rows::<Self, { Level::Avx512 as u8 }, 4, $wide, true>(rows, a, b, steps, tile),
                    Level::Avx2 => by_rows::<Self, { Level::Avx2 as u8 }, 2, $middle, true>(rows, a, b, steps, tile),
                    Level::Baseline => {
                        by_rows::<Self, { Level::Baseline as u8 }, 2, $narrow, false>(rows, a, b, steps, tile)
                    }
                }
            }

            fn tile_down(
                level: Level,
                a: &[Self],
                starts: &[usize],
                span: usize,
                steps: &[usize],
                b: &[Self],
                tile: &mut [Self],
            ) {
                match level {
                    Level::Avx512 => {
                        dispatch_only::<{ Level::Avx512 as u8 }, _>(Down::<Self, 6, 2, $wide, true> {
                            a,
                            starts,
                            span,
                            steps,
                            b,
                            tile,
                        });
                    }
                    Level::Avx2 => {
                        dispatch_only::<{ Level::Avx2 as u8 }, _>(Down::<Self, 6, 2, $middle, true> {
                            a,
                            starts,
                            span,
                            steps,
                            b,
                            tile,
                        });
                    }
                    Level::Baseline => {
                        dispatch_only::<{ Level::Baseline as u8 }, _>(Down::<Self, 6, 2, $narrow, false> {
                            a,
                            starts,
                            span,
                            steps,
                            b,
                            tile,
                        });
                    }
                }
            }
        }
    };
}

number!(f32, F32, 16, 8, 4);
number!(f64, F64, 8, 4, 2);
