//! Lines that are transformed one by one, by the libraries `rustfft` and `realfft`.

use std::sync::Arc;

use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftNum, FftPlanner};

use super::{Arrays, Kind, Number, PACKED, Tile, Transform};
use crate::Float;
use crate::arena::{Carver, Line, Plain, lines_for, typed_mut};
use crate::interleave::{self, Lines, deinterleave, interleave};

/// The fewest and the most lines that are packed together where they lie side by side.
const BESIDE: [usize; 2] = [16, 64];
/// Entries of a real line that are packed after each other, as those of complex ones are.
const TOGETHER: usize = interleave::ENTRIES;

/// Which of the libraries transforms a line.
#[doc(hidden)]
#[derive(Clone)]
pub enum LinePlan<T> {
    Complex(Arc<dyn Fft<T>>),
    RealToHalf(Arc<dyn RealToComplex<T>>),
    HalfToReal(Arc<dyn ComplexToReal<T>>),
}

pub(super) fn planned<T: FftNum>(transform: &Transform) -> LinePlan<T> {
    let n = transform.n;
    match (transform.kind, transform.inverse) {
        (Kind::Complex, false) => LinePlan::Complex(FftPlanner::new().plan_fft_forward(n)),
        (Kind::Complex, true) => LinePlan::Complex(FftPlanner::new().plan_fft_inverse(n)),
        (Kind::RealToHalf(_), _) => LinePlan::RealToHalf(RealFftPlanner::new().plan_fft_forward(n)),
        (Kind::HalfToReal(_), _) => LinePlan::HalfToReal(RealFftPlanner::new().plan_fft_inverse(n)),
    }
}

/// The transforms of all lines of an array.
#[derive(Clone)]
pub(super) struct Single<T> {
    transform: Transform,
    /// Lines before and beside each other.
    around: [usize; 2],
    line: LinePlan<T>,
}

impl<T: Number> Single<T> {
    pub(super) fn new(transform: Transform, around: [usize; 2]) -> Self {
        Single { transform, around, line: T::plan(&transform) }
    }

    /// Lines that are packed together.
    fn beside(&self, inner: usize) -> usize {
        let [fewest, most] = BESIDE;
        let lines = PACKED / self.transform.n.saturating_mul(size_of::<Complex<T>>());
        inner.clamp(1, lines.clamp(fewest, most))
    }

    /// Numbers from a packed line of this many to the next one. Lines whose lengths are powers of two would share a few sets
    /// of the first cache; lines that are packed together are a cache line farther apart.
    fn apart(length: usize, inner: usize) -> usize {
        if inner > 1 { length + size_of::<Line>() / size_of::<Complex<T>>() } else { length }
    }

    /// Lines of the workspace for complex numbers, real numbers, and the library's scratch.
    fn lines(&self, inner: usize) -> [usize; 3] {
        let (n, beside) = (self.transform.n, self.beside(inner));
        let all = |length: usize| beside * Self::apart(length, inner);
        let (complex, real, scratch) = match &self.line {
            LinePlan::Complex(fft) => (all(n), 0, fft.get_inplace_scratch_len()),
            LinePlan::RealToHalf(fft) => (all(n / 2 + 1), all(n), fft.get_scratch_len()),
            LinePlan::HalfToReal(fft) => (all(n / 2 + 1), all(n), fft.get_scratch_len()),
        };
        [2 * complex, real, 2 * scratch].map(lines_for::<T>)
    }

    /// How many tiles there are, and lines of one.
    pub(super) fn tiles(&self) -> [usize; 2] {
        let [outer, inner] = self.around;
        let beside = self.beside(inner);
        [outer * inner.div_ceil(beside), beside]
    }

    /// Lines of workspace of a thread.
    pub(super) fn workspace(&self) -> usize {
        self.lines(self.around[1]).iter().sum()
    }

    /// Transforms the lines of a tile.
    ///
    /// # Safety
    /// The arrays have all lines, and nobody else reads or writes those of the tile.
    pub(super) unsafe fn tile(&self, number: usize, arrays: &Arrays<T>, memory: &mut [Line]) {
        let lines = self.lines(arrays.inner);
        let mut carver = Carver::new(memory);
        let complex = carver.take(0..lines[0]);
        let real = carver.take(lines[0]..lines[0] + lines[1]);
        let library = carver.take(lines[0] + lines[1]..lines.iter().sum());
        let mut packed = Packed {
            complex: complex_numbers(typed_mut(complex, room::<T>(lines[0]))),
            real: typed_mut(real, room::<T>(lines[1])),
            scratch: complex_numbers(typed_mut(library, room::<T>(lines[2]))),
        };
        let beside = self.beside(arrays.inner);
        let blocks = arrays.inner.div_ceil(beside);
        let (row, first) = (number / blocks, number % blocks * beside);
        let tile = Tile { row, first, count: beside.min(arrays.inner - first) };
        self.transform(arrays, tile, &mut packed);
    }

    /// Some lines beside each other, or one whose elements do.
    fn transform(&self, arrays: &Arrays<T>, tile: Tile, packed: &mut Packed<'_, T>) {
        let Transform { n, taken, given, .. } = self.transform;
        let (inner, count) = (arrays.inner, tile.count);
        let source = |j: usize, line: usize| (tile.row * taken + j) * inner + tile.first + line;
        let target = |k: usize, line: usize| (tile.row * given + k) * inner + tile.first + line;
        let from = Lines { parts: arrays.x.map(|x| x.wrapping_add(source(0, 0))), inner, entries: taken, count };
        let to = Lines { parts: arrays.y.map(|y| y.wrapping_add(target(0, 0))), inner, entries: given, count };
        let [apart, half_apart] = [n, n / 2 + 1].map(|length| Self::apart(length, inner));
        let Packed { complex, real, scratch } = packed;
        match &self.line {
            LinePlan::Complex(fft) => {
                let scale = <T as Float>::from_f64(self.transform.scale);
                let scratch = &mut scratch[..fft.get_inplace_scratch_len()];
                // SAFETY: the lines are inside of the operands, as `run` has checked, and no other tile writes there. Tests
                // `transforms_agree_with_the_sum` and `the_same_bits_on_any_number_of_threads`.
                unsafe { interleave(from, [<T as Float>::from_f64(1.0); 2], pairs(complex), apart) };
                for line in complex.chunks_mut(apart).take(count) {
                    line[taken..n].fill(Complex::new(T::default(), T::default()));
                    fft.process_with_scratch(&mut line[..n], scratch);
                }
                // SAFETY: as above, of the results; what lies there has been read. Tests as above.
                unsafe { deinterleave(pairs(complex), apart, to, [scale; 2]) };
            }
            LinePlan::RealToHalf(fft) => {
                let scratch = &mut scratch[..fft.get_scratch_len()];
                each(taken, count, |j, line| real[line * apart + j] = arrays.get(0, source(j, line)));
                for (entries, half) in real.chunks_mut(apart).zip(complex.chunks_mut(half_apart)).take(count) {
                    entries[taken..n].fill(T::default());
                    let half = &mut half[..n / 2 + 1];
                    fft.process_with_scratch(&mut entries[..n], half, scratch).expect("all lengths are the plan's");
                }
                let [single, double] = self.transform.factors(self.transform.scale);
                // SAFETY: as above. Tests as above.
                unsafe { deinterleave(pairs(complex), half_apart, to, [double, self.transform.turned(double)]) };
                for (k, line) in self.singles(given).flat_map(|k| (0..count).map(move |line| (k, line))) {
                    arrays.set(0, target(k, line), complex[line * half_apart + k].re * single);
                    arrays.set(1, target(k, line), T::default());
                }
            }
            LinePlan::HalfToReal(fft) => {
                let scratch = &mut scratch[..fft.get_scratch_len()];
                let [single, double] = self.transform.factors(1.0);
                // SAFETY: as above. Tests as above.
                unsafe { interleave(from, [double, -self.transform.turned(double)], pairs(complex), half_apart) };
                for (k, line) in self.singles(taken).flat_map(|k| (0..count).map(move |line| (k, line))) {
                    let re = arrays.get(0, source(k, line)) * single;
                    complex[line * half_apart + k] = Complex::new(re, T::default());
                }
                for (half, entries) in complex.chunks_mut(half_apart).zip(real.chunks_mut(apart)).take(count) {
                    half[taken..n / 2 + 1].fill(Complex::new(T::default(), T::default()));
                    let half = &mut half[..n / 2 + 1];
                    fft.process_with_scratch(half, &mut entries[..n], scratch).expect("all lengths are the plan's");
                }
                let scale = <T as Float>::from_f64(self.transform.scale);
                each(given, count, |k, line| arrays.set(0, target(k, line), real[line * apart + k] * scale));
            }
        }
    }

    /// The entries of half a spectrum that are their own conjugates, among the first ones.
    fn singles(&self, first: usize) -> impl Iterator<Item = usize> + use<T> {
        let n = self.transform.n;
        let middle = (n.is_multiple_of(2) && n > 0).then_some(n / 2);
        [Some(0), middle].into_iter().flatten().filter(move |&k| k < first)
    }
}

/// Calls for every entry of every line, some entries of a line after each other: so that lines of the caches are written whole
/// on both sides.
#[inline(always)]
fn each(entries: usize, lines: usize, mut f: impl FnMut(usize, usize)) {
    if lines == 1 {
        (0..entries).for_each(|entry| f(entry, 0));
        return;
    }
    let whole = entries - entries % TOGETHER;
    for first in (0..whole).step_by(TOGETHER) {
        for line in 0..lines {
            (0..TOGETHER).for_each(|k| f(first + k, line));
        }
    }
    for entry in whole..entries {
        (0..lines).for_each(|line| f(entry, line));
    }
}

/// Numbers that fit into these lines.
fn room<T>(lines: usize) -> usize {
    lines * size_of::<Line>() / size_of::<T>()
}

/// Pairs of numbers as complex ones.
fn complex_numbers<T: Plain>(numbers: &mut [T]) -> &mut [Complex<T>] {
    let count = numbers.len() / 2;
    // SAFETY: `Complex<T>` is `repr(C)` of two `T`, so that it has their alignment and no padding, and any bytes are one;
    // the borrow is exclusive. Test `transforms_agree_with_the_sum`.
    unsafe { std::slice::from_raw_parts_mut(numbers.as_mut_ptr().cast(), count) }
}

/// Complex numbers as pairs.
fn pairs<T>(numbers: &mut [Complex<T>]) -> &mut [[T; 2]] {
    let count = numbers.len();
    // SAFETY: `Complex<T>` is `repr(C)` of two `T`, which is what the array is; the borrow is exclusive. Test
    // `transforms_agree_with_the_sum`.
    unsafe { std::slice::from_raw_parts_mut(numbers.as_mut_ptr().cast(), count) }
}

/// The memory of a thread.
struct Packed<'a, T> {
    complex: &'a mut [Complex<T>],
    real: &'a mut [T],
    scratch: &'a mut [Complex<T>],
}
