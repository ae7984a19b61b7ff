//! Transpositions, by blocks that stay in registers.
//!
//! A block of 8 by 8 elements of four bytes is read as eight vectors and written as eight, with three rounds of exchanges
//! between them: of neighbours, of neighbouring pairs, and of halves. One of 4 by 4 elements of eight bytes takes two, and so does
//! one of 8 by 8 with AVX-512, whose halves are exchanged while they are read.

use crate::arena::Plain;
use crate::dispatch::{Work, dispatch_only};
use crate::{Level, level};

/// How many columns are written for all rows before the next columns: the rows of the source stay in the first-level cache,
/// and their pages in its translation buffer.
const COLUMNS: usize = 64;

/// `out[i * to + j] = x[first + i + j * from]` for all rows `i` and columns `j` of a shape.
///
/// ```
/// use wengert_kernels::transpose::transpose;
///
/// let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]; // Two rows of three.
/// let mut out = [0.0; 6];
/// transpose([3, 2], &x, 0, 3, &mut out, 2);
/// assert_eq!(out, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
/// ```
///
/// # Panics
/// If an element is outside of its slice, or rows of the result overlap.
#[track_caller]
pub fn transpose<T: Plain>(shape: [usize; 2], x: &[T], first: usize, from: isize, out: &mut [T], to: usize) {
    run(level(), shape, x, first, from, out, to);
}

/// As [`transpose`], at a level that a test chooses.
#[track_caller]
fn run<T: Plain>(level: Level, shape: [usize; 2], x: &[T], first: usize, from: isize, out: &mut [T], to: usize) {
    let [rows, cols] = shape;
    if rows == 0 || cols == 0 {
        return;
    }
    let far = from.checked_mul(cols.cast_signed() - 1).and_then(|far| first.checked_add_signed(far));
    let last = far.and_then(|far| far.max(first).checked_add(rows));
    assert!(last.is_some_and(|last| last <= x.len()), "{shape:?} from {first} by {from} is outside of {}", x.len());
    let end = to.checked_mul(rows - 1).and_then(|start| start.checked_add(cols));
    assert!(end.is_some_and(|end| end <= out.len()), "{shape:?} by {to} is outside of {}", out.len());
    assert!(rows == 1 || cols <= to, "rows of {cols} overlap, {to} from each other");
    let matrix = Matrix { shape, x: x[first..].as_ptr(), from, out: out.as_mut_ptr(), to };
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 | Level::Avx512 if size_of::<T>() == 4 => {
            dispatch_only::<{ Level::Avx2 as u8 }, _>(InBlocks::<T, 8>(matrix));
        }
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 if size_of::<T>() == 8 && rows.min(cols) >= 8 => {
            dispatch_only::<{ Level::Avx512 as u8 }, _>(InBlocks::<T, 8>(matrix));
        }
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 | Level::Avx512 if size_of::<T>() == 8 => {
            dispatch_only::<{ Level::Avx2 as u8 }, _>(InBlocks::<T, 4>(matrix));
        }
        _ => dispatch_only::<{ Level::Baseline as u8 }, _>(InBlocks::<T, 1>(matrix)),
    }
}

/// As [`transpose`], through pointers and with the instructions of `LEVEL`.
///
/// # Safety
/// The caller is compiled for `LEVEL`. All elements of the shape can be read and written, and rows of the result do not overlap.
#[cfg(any(feature = "gemm", feature = "fft"))]
#[inline(always)]
pub(crate) unsafe fn panel<T: Plain, const LEVEL: u8>(
    shape: [usize; 2],
    x: *const T,
    from: isize,
    out: *mut T,
    to: usize,
) {
    let matrix = Matrix { shape, x, from, out, to };
    match size_of::<T>() {
        4 if LEVEL >= Level::Avx2 as u8 => InBlocks::<T, 8>(matrix).run(),
        8 if LEVEL >= Level::Avx512 as u8 && shape[0].min(shape[1]) >= 8 => InBlocks::<T, 8>(matrix).run(),
        8 if LEVEL >= Level::Avx2 as u8 => InBlocks::<T, 4>(matrix).run(),
        _ => InBlocks::<T, 1>(matrix).run(),
    }
}

/// A matrix to transpose, all of whose elements are in bounds.
struct Matrix<T> {
    shape: [usize; 2],
    x: *const T,
    from: isize,
    out: *mut T,
    to: usize,
}

impl<T: Plain> Matrix<T> {
    /// Where row `i` and column `j` are read, and written.
    #[inline(always)]
    fn places(&self, i: usize, j: usize) -> (*const T, *mut T) {
        let from = i.cast_signed().wrapping_add(j.cast_signed().wrapping_mul(self.from));
        (self.x.wrapping_offset(from), self.out.wrapping_add(i * self.to + j))
    }

    /// Transposes some rows and columns, one element after the other.
    #[inline(always)]
    fn each(&self, rows: std::ops::Range<usize>, cols: std::ops::Range<usize>) {
        for i in rows {
            for j in cols.clone() {
                let (from, to) = self.places(i, j);
                // SAFETY: the row and the column are within the shape, all of whose elements `run` has seen to be inside of
                // both slices. Test `blocks_agree_with_the_definition`.
                unsafe { to.write(from.read()) };
            }
        }
    }
}

/// A matrix that is transposed in blocks of `N` by `N` elements, 32 bytes a row, or 64 with AVX-512.
struct InBlocks<T, const N: usize>(Matrix<T>);

impl<T: Plain, const N: usize> Work for InBlocks<T, N> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        assert!(N == 1 || matches!(N * size_of::<T>(), 32 | 64), "a row of a block is a vector");
        let matrix = self.0;
        let [rows, cols] = matrix.shape;
        if N == 1 || rows < N || cols < N {
            return matrix.each(0..rows, 0..cols);
        }
        for first in (0..cols).step_by(COLUMNS) {
            let cols = first..cols.min(first + COLUMNS);
            for i in (0..rows).step_by(N).map(|i| i.min(rows - N)) {
                for j in cols.clone().step_by(N).map(|j| j.min(cols.end - N)) {
                    let (from, to) = matrix.places(i, j);
                    // SAFETY: N rows and columns from here on are within the shape, all of whose elements `run` has seen to
                    // be inside of both slices; `run` chooses N = 8 for four bytes, 4 or 8 for eight, and the level that has
                    // the vectors. Blocks at the ends write elements of others once more. Test
                    // `blocks_agree_with_the_definition`.
                    #[cfg(target_arch = "x86_64")]
                    unsafe {
                        match (N, size_of::<T>()) {
                            (8, 8) => x86_64::eight_bytes_wide(from.cast(), matrix.from, to.cast(), matrix.to),
                            (8, _) => x86_64::four_bytes(from.cast(), matrix.from, to.cast(), matrix.to),
                            _ => x86_64::eight_bytes(from.cast(), matrix.from, to.cast(), matrix.to),
                        }
                    }
                    #[cfg(not(target_arch = "x86_64"))]
                    unreachable!("`run` chooses blocks where there are vectors: {from:?} {to:?}");
                }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::x86_64::{
        _mm256_loadu_pd, _mm256_loadu_ps, _mm256_permute2f128_pd, _mm256_permute2f128_ps, _mm256_shuffle_ps,
        _mm256_storeu_pd, _mm256_storeu_ps, _mm256_unpackhi_pd, _mm256_unpackhi_ps, _mm256_unpacklo_pd,
        _mm256_unpacklo_ps, _mm512_castpd256_pd512, _mm512_insertf64x4, _mm512_permutex2var_pd, _mm512_setr_epi64,
        _mm512_storeu_pd, _mm512_unpackhi_pd, _mm512_unpacklo_pd,
    };

    /// Eight rows and columns of elements of four bytes, of which only the bits matter.
    ///
    /// # Safety
    /// AVX2 is there; eight elements can be read at `x + j * from` and written at `out + i * to`, for eight `j` and `i`.
    #[inline(always)]
    pub(super) unsafe fn four_bytes(x: *const f32, from: isize, out: *mut f32, to: usize) {
        // SAFETY: the caller's promise. Test `blocks_agree_with_the_definition`.
        unsafe {
            let read = |j: isize| _mm256_loadu_ps(x.wrapping_offset(j * from));
            let x = [read(0), read(1), read(2), read(3), read(4), read(5), read(6), read(7)];
            // Of each half, the rows 0 and 1, and so on.
            let low = |k: usize| _mm256_unpacklo_ps(x[k], x[k + 1]);
            let high = |k: usize| _mm256_unpackhi_ps(x[k], x[k + 1]);
            let pairs = [low(0), high(0), low(2), high(2), low(4), high(4), low(6), high(6)];
            // The rows 0 to 3 and 4 to 7.
            let first = |k: usize| _mm256_shuffle_ps::<0b01_00_01_00>(pairs[k], pairs[k + 2]);
            let second = |k: usize| _mm256_shuffle_ps::<0b11_10_11_10>(pairs[k], pairs[k + 2]);
            let fours = [first(0), second(0), first(1), second(1), first(4), second(4), first(5), second(5)];
            for k in 0..4 {
                let (upper, lower) = (fours[k], fours[k + 4]);
                _mm256_storeu_ps(out.wrapping_add(k * to), _mm256_permute2f128_ps::<0x20>(upper, lower));
                _mm256_storeu_ps(out.wrapping_add((k + 4) * to), _mm256_permute2f128_ps::<0x31>(upper, lower));
            }
        }
    }

    /// Four rows and columns of elements of eight bytes, of which only the bits matter.
    ///
    /// # Safety
    /// AVX2 is there; four elements can be read at `x + j * from` and written at `out + i * to`, for four `j` and `i`.
    #[inline(always)]
    pub(super) unsafe fn eight_bytes(x: *const f64, from: isize, out: *mut f64, to: usize) {
        // SAFETY: the caller's promise. Test `blocks_agree_with_the_definition`.
        unsafe {
            let read = |j: isize| _mm256_loadu_pd(x.wrapping_offset(j * from));
            let x = [read(0), read(1), read(2), read(3)];
            let pairs = [
                [_mm256_unpacklo_pd(x[0], x[1]), _mm256_unpacklo_pd(x[2], x[3])],
                [_mm256_unpackhi_pd(x[0], x[1]), _mm256_unpackhi_pd(x[2], x[3])],
            ];
            for (k, [upper, lower]) in pairs.into_iter().enumerate() {
                _mm256_storeu_pd(out.wrapping_add(k * to), _mm256_permute2f128_pd::<0x20>(upper, lower));
                _mm256_storeu_pd(out.wrapping_add((k + 2) * to), _mm256_permute2f128_pd::<0x31>(upper, lower));
            }
        }
    }

    /// Eight rows and columns of elements of eight bytes, of which only the bits matter.
    ///
    /// # Safety
    /// AVX-512 is there; eight elements can be read at `x + j * from` and written at `out + i * to`, for eight `j` and `i`.
    #[inline(always)]
    pub(super) unsafe fn eight_bytes_wide(x: *const f64, from: isize, out: *mut f64, to: usize) {
        // SAFETY: the caller's promise. Test `blocks_agree_with_the_definition`.
        unsafe {
            // Four elements of the rows `j` and `j + 4`.
            let read = |j: isize, i: usize| {
                let at = |j: isize| _mm256_loadu_pd(x.wrapping_offset(j * from).wrapping_add(i));
                _mm512_insertf64x4::<1>(_mm512_castpd256_pd512(at(j)), at(j + 4))
            };
            // The first and third pairs of two vectors in turn, and the second and fourth ones.
            let even = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
            let odd = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
            for i in [0, 4] {
                let x = [read(0, i), read(1, i), read(2, i), read(3, i)];
                let low = [_mm512_unpacklo_pd(x[0], x[1]), _mm512_unpacklo_pd(x[2], x[3])];
                let high = [_mm512_unpackhi_pd(x[0], x[1]), _mm512_unpackhi_pd(x[2], x[3])];
                let write = |k: usize, y| _mm512_storeu_pd(out.wrapping_add((i + k) * to), y);
                write(0, _mm512_permutex2var_pd(low[0], even, low[1]));
                write(1, _mm512_permutex2var_pd(high[0], even, high[1]));
                write(2, _mm512_permutex2var_pd(low[0], odd, low[1]));
                write(3, _mm512_permutex2var_pd(high[0], odd, high[1]));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Transposes a matrix with gaps, there and back, and compares every element and every gap.
    fn check<T: Plain + PartialEq + std::fmt::Debug>([rows, cols]: [usize; 2], of: fn(usize) -> T) {
        for (level, gap) in Level::ALL.into_iter().flat_map(|level| [0, 3].map(|gap| (level, gap))) {
            for from in [(rows + gap).cast_signed(), -(rows + gap).cast_signed()] {
                let first = if from < 0 { (cols - 1) * (rows + gap) } else { gap };
                // No longer than what is read and written.
                let far = first.max(first.wrapping_add_signed(from * (cols.cast_signed() - 1)));
                let x: Vec<T> = (0..far + rows).map(of).collect();
                let to = cols + gap;
                let before: Vec<T> = (0..to * (rows - 1) + cols).map(|k| of(k + 7)).collect();
                let mut out = before.clone();
                run(level.min(crate::machine_level()), [rows, cols], &x, first, from, &mut out, to);
                for (k, (&after, &before)) in out.iter().zip(&before).enumerate() {
                    let (i, j) = (k / to, k % to);
                    let at = first.wrapping_add_signed(j.cast_signed() * from).wrapping_add(i);
                    let wanted = if j < cols { x[at] } else { before };
                    assert_eq!(after, wanted, "{level:?}, {rows} by {cols}, {from} to {to}: {i} {j}");
                }
            }
        }
    }

    #[test]
    fn blocks_agree_with_the_definition() {
        let sides = [1, 3, 4, 7, 8, 9, 16, 31, 64, 65, 130];
        for shape in sides.into_iter().flat_map(|rows| sides.map(|cols| [rows, cols])) {
            check::<u8>(shape, |k| (k % 251) as u8);
            check::<f32>(shape, |k| k as f32);
            check::<i64>(shape, |k| k as i64);
            check::<f64>(shape, |k| k as f64);
        }
    }

    #[test]
    fn what_is_outside_is_refused() {
        let refused = |shape: [usize; 2], first: usize, from: isize, to: usize| {
            let (x, mut out) = ([1.0; 12], [0.0; 12]);
            std::panic::catch_unwind(move || transpose(shape, &x, first, from, &mut out, to)).is_err()
        };
        assert!(!refused([3, 4], 0, 3, 4) && !refused([3, 4], 9, -3, 4) && !refused([0, 9], 99, 9, 9));
        assert!(refused([3, 4], 1, 3, 4) && refused([3, 4], 0, 4, 4) && refused([3, 4], 0, -3, 4));
        assert!(refused([3, 4], 0, 3, 5) && refused([3, 4], 0, 3, 3) && refused([3, 4], 8, -3, 4));
        assert!(
            refused([2, 3], usize::MAX, 1, 3) && refused([2, 3], 0, isize::MAX, 3) && refused([2, 3], 0, 1, usize::MAX)
        );
        assert!(refused([usize::MAX, 1], 0, 1, 1) && refused([1, usize::MAX], 0, 0, 1));
    }
}
