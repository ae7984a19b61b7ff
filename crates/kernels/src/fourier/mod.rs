//! Discrete Fourier transforms of many lines at a time, over a pool of threads.
//!
//! A [`Plan`] knows the length, the direction, which sides are real, and how many entries come in and go out; it is made once,
//! with all factors that the transform needs, and shared between threads. It runs over the lines along one axis of an array of
//! `outer` by length by `inner` elements, whose real and imaginary parts are arrays of their own. Lines are packed into the
//! workspace, transformed there by the libraries `rustfft` and `realfft`, and unpacked.
//!
//! Every length takes of the order of `n log n` operations: small prime factors by J. W. Cooley and J. W. Tukey (1965), large
//! ones by C. M. Rader (1968) or L. I. Bluestein (1970). A real line takes half the work of a complex one. The
//! error is a few times `eps log n` of the root of the mean square of the result (J. C. Schatzman, *Accuracy of the discrete
//! Fourier transform and the fast Fourier transform*, 1996).
//!
//! What runs is chosen by lengths and the machine, never by the number of threads: that does not change a bit. Nothing is
//! allocated while a plan runs.
//!
//! ```
//! use wengert_kernels::Pool;
//! use wengert_kernels::arena::Arena;
//! use wengert_kernels::fourier::{Kind, Plan, Transform, Weights};
//!
//! let kind = Kind::RealToHalf(Weights::Plain);
//! let plan = Plan::<f64>::new(Transform { n: 4, taken: 4, given: 3, kind, inverse: false, scale: 1.0 });
//! let mut arena = Arena::new(plan.workspace(1, 1))?;
//! let (mut re, mut im) = ([0.0; 3], [0.0; 3]);
//! plan.run([1, 1], [&[1.0, 2.0, 3.0, 4.0], &[]], [&mut re, &mut im], arena.as_lines_mut(), &Pool::new(1));
//! assert_eq!((re, im), ([10.0, -2.0, -2.0], [0.0, 2.0, 0.0]));
//! # Ok::<(), wengert_kernels::arena::TooLarge>(())
//! ```

use std::fmt;
use std::sync::Arc;

use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftNum, FftPlanner};

use crate::arena::{Carver, Line, Plain, lines_for, typed_mut};
use crate::interleave::{self, Lines, deinterleave, interleave};
use crate::{Float, Pool};

/// The work of one part, in entries.
const GRAIN: usize = 1 << 13;
/// The fewest and the most lines that are packed together where they lie side by side. The more there are, the longer the pieces
/// that are read of pages that lie far apart.
const BESIDE: [usize; 2] = [16, 64];
/// Bytes of packed lines, if there are more than the fewest: a part of the second cache.
const PACKED: usize = 512 << 10;
/// Entries of a real line that are packed after each other, as those of complex ones are.
const TOGETHER: usize = interleave::ENTRIES;

/// Which sides of a transform are real.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// None.
    Complex,
    /// What comes in; of the result there are the entries 0 to `n / 2`, with these weights.
    RealToHalf(Weights),
    /// What goes out, the real part; the operand has the entries 0 to `n / 2`, which count with these weights: doubled they
    /// stand for a whole spectrum, whose other entries are their conjugates. The imaginary parts of entries 0 and `n / 2` are
    /// not read.
    HalfToReal(Weights),
}

/// The weights of the entries of half a spectrum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Weights {
    /// All 1.
    Plain,
    /// 2 for all but those that are their own conjugates: 0 and, if `n` is even, `n / 2`.
    Doubled,
}

/// `y_k = scale * sum over j of x_j exp(-2 pi i j k / n)`, with `+` if it is the inverse one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transform {
    /// The length.
    pub n: usize,
    /// Entries that come in, at most as many as there are; the others are zero.
    pub taken: usize,
    /// Entries that go out, from the first one on.
    pub given: usize,
    /// Which sides are real.
    pub kind: Kind,
    /// Whether angles are positive.
    pub inverse: bool,
    /// A factor of the result.
    pub scale: f64,
}

impl Transform {
    /// Entries that there may be on both sides: taken and given.
    pub fn limits(&self) -> [usize; 2] {
        match self.kind {
            Kind::Complex => [self.n, self.n],
            Kind::RealToHalf(_) => [self.n, self.n / 2 + 1],
            Kind::HalfToReal(_) => [self.n / 2 + 1, self.n],
        }
    }

    /// The factor of an entry of half a spectrum that is not its own conjugate, beside that of the library, whose weights are
    /// plain forwards and doubled backwards.
    fn weight(&self) -> f64 {
        match self.kind {
            Kind::RealToHalf(Weights::Doubled) => 2.0,
            Kind::HalfToReal(Weights::Plain) => 0.5,
            Kind::Complex | Kind::RealToHalf(Weights::Plain) | Kind::HalfToReal(Weights::Doubled) => 1.0,
        }
    }
}

/// `f32` and `f64`.
pub trait Number: Float + Plain + FftNum {
    /// The factors of a transform. It is compiled here: a generic function would be compiled anew by every crate that calls
    /// it, with all algorithms of the libraries.
    #[doc(hidden)]
    fn plan(transform: &Transform) -> LinePlan<Self>;
}

impl Number for f32 {
    fn plan(transform: &Transform) -> LinePlan<f32> {
        planned(transform)
    }
}

impl Number for f64 {
    fn plan(transform: &Transform) -> LinePlan<f64> {
        planned(transform)
    }
}

/// A transform with its factors.
#[derive(Clone)]
pub struct Plan<T> {
    transform: Transform,
    line: LinePlan<T>,
}

/// Which of the libraries transforms a line.
#[doc(hidden)]
#[derive(Clone)]
pub enum LinePlan<T> {
    Complex(Arc<dyn Fft<T>>),
    RealToHalf(Arc<dyn RealToComplex<T>>),
    HalfToReal(Arc<dyn ComplexToReal<T>>),
}

fn planned<T: FftNum>(transform: &Transform) -> LinePlan<T> {
    let n = transform.n;
    match (transform.kind, transform.inverse) {
        (Kind::Complex, false) => LinePlan::Complex(FftPlanner::new().plan_fft_forward(n)),
        (Kind::Complex, true) => LinePlan::Complex(FftPlanner::new().plan_fft_inverse(n)),
        (Kind::RealToHalf(_), _) => LinePlan::RealToHalf(RealFftPlanner::new().plan_fft_forward(n)),
        (Kind::HalfToReal(_), _) => LinePlan::HalfToReal(RealFftPlanner::new().plan_fft_inverse(n)),
    }
}

impl<T> fmt::Debug for Plan<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Plan").field(&self.transform).finish()
    }
}

impl<T: Number> Plan<T> {
    /// Prepares a transform.
    ///
    /// # Panics
    /// If the length is 0, or more entries come in or go out than there are.
    pub fn new(transform: Transform) -> Plan<T> {
        let [from, to] = transform.limits();
        assert!(transform.n > 0, "a transform of length 0");
        assert!(transform.taken <= from && transform.given <= to, "{transform:?} has {from} and {to} entries");
        Plan { transform, line: T::plan(&transform) }
    }

    /// What it computes.
    pub fn transform(&self) -> Transform {
        self.transform
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

    /// Bytes of workspace for this number of threads, where `inner` elements lie between two of a line.
    pub fn workspace(&self, inner: usize, threads: usize) -> usize {
        threads * self.lines(inner).iter().sum::<usize>() * size_of::<Line>()
    }

    /// Transforms the lines along the middle axis of arrays of `outer` by `taken` by `inner` elements, into arrays of
    /// `outer` by `given` by `inner`. Parts are real first, imaginary second; of a real side the second one is
    /// ignored.
    ///
    /// # Panics
    /// If a slice does not have the stated size, or the workspace is too small.
    pub fn run(&self, [outer, inner]: [usize; 2], x: [&[T]; 2], y: [&mut [T]; 2], workspace: &mut [Line], pool: &Pool) {
        let sizes = [self.transform.taken, self.transform.given].map(|length| outer * length * inner);
        let real = matches!(self.transform.kind, Kind::RealToHalf(_));
        let half = matches!(self.transform.kind, Kind::HalfToReal(_));
        assert!(x[0].len() == sizes[0] && (real || x[1].len() == sizes[0]), "operands of {} elements", sizes[0]);
        assert!(y[0].len() == sizes[1] && (half || y[1].len() == sizes[1]), "results of {} elements", sizes[1]);
        let arrays = Arrays { x: x.map(<[T]>::as_ptr), y: y.map(<[T]>::as_mut_ptr), inner };
        self.all(arrays, outer, workspace, pool);
    }

    /// As [`run`](Plan::run), in place. As many entries go out as come in, and no side is real.
    ///
    /// # Panics
    /// If that is not so, a slice does not have the stated size, or the workspace is too small.
    pub fn run_in_place(&self, [outer, inner]: [usize; 2], y: [&mut [T]; 2], workspace: &mut [Line], pool: &Pool) {
        let Transform { taken, given, kind, .. } = self.transform;
        assert!(taken == given && kind == Kind::Complex, "{:?} is not done in place", self.transform);
        assert!(y.iter().all(|y| y.len() == outer * given * inner), "arrays of {outer} by {given} by {inner}");
        let y = y.map(<[T]>::as_mut_ptr);
        self.all(Arrays { x: y.map(<*mut T>::cast_const), y, inner }, outer, workspace, pool);
    }

    /// Runs over all lines, some at a time on each thread.
    fn all(&self, arrays: Arrays<T>, outer: usize, workspace: &mut [Line], pool: &Pool) {
        let inner = arrays.inner;
        let beside = self.beside(inner);
        let blocks = inner.div_ceil(beside);
        let group = (GRAIN / (self.transform.n * beside)).max(1);
        let lines = self.lines(inner);
        let piece: usize = lines.iter().sum();
        assert!(workspace.len() >= piece * pool.threads(), "{piece} lines of workspace for each thread");
        let scratch = crate::parallel::Chunks::new(workspace, piece.max(1));
        let count = outer * blocks;
        let part = |number: usize, thread: usize| {
            // SAFETY: no two threads have one number in one run: each piece has one user. Test
            // `the_same_bits_on_any_number_of_threads`.
            let mut carver = Carver::new(unsafe { scratch.take(thread) });
            let complex = carver.take(0..lines[0]);
            let real = carver.take(lines[0]..lines[0] + lines[1]);
            let library = carver.take(lines[0] + lines[1]..piece);
            let mut packed = Packed {
                complex: complex_numbers(typed_mut(complex, room::<T>(lines[0]))),
                real: typed_mut(real, room::<T>(lines[1])),
                scratch: complex_numbers(typed_mut(library, room::<T>(lines[2]))),
            };
            for block in number * group..count.min((number + 1) * group) {
                let (row, first) = (block / blocks, block % blocks * beside);
                let tile = Tile { row, first, count: beside.min(inner - first) };
                self.tile(&arrays, tile, &mut packed);
            }
        };
        let parts = count.div_ceil(group);
        if parts <= 1 {
            (0..parts).for_each(|number| part(number, 0));
        } else if let Err(panicked) = pool.run(parts, &part) {
            panic!("{}", panicked.message);
        }
    }

    /// Some lines beside each other, or one whose elements do.
    fn tile(&self, arrays: &Arrays<T>, tile: Tile, packed: &mut Packed<'_, T>) {
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
                let [single, double] = self.factors(self.transform.scale);
                // SAFETY: as above. Tests as above.
                unsafe { deinterleave(pairs(complex), half_apart, to, [double, self.turned(double)]) };
                for (k, line) in self.singles(given).flat_map(|k| (0..count).map(move |line| (k, line))) {
                    arrays.set(0, target(k, line), complex[line * half_apart + k].re * single);
                    arrays.set(1, target(k, line), T::default());
                }
            }
            LinePlan::HalfToReal(fft) => {
                let scratch = &mut scratch[..fft.get_scratch_len()];
                let [single, double] = self.factors(1.0);
                // SAFETY: as above. Tests as above.
                unsafe { interleave(from, [double, -self.turned(double)], pairs(complex), half_apart) };
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

    /// The factors of entries of half a spectrum that are their own conjugates, and of the others.
    fn factors(&self, scale: f64) -> [T; 2] {
        [1.0, self.transform.weight()].map(|weight| <T as Float>::from_f64(scale * weight))
    }

    /// The entries of half a spectrum that are their own conjugates, among the first ones.
    fn singles(&self, first: usize) -> impl Iterator<Item = usize> + use<T> {
        let n = self.transform.n;
        let middle = (n.is_multiple_of(2) && n > 0).then_some(n / 2);
        [Some(0), middle].into_iter().flatten().filter(move |&k| k < first)
    }

    /// The factor of the imaginary part of an entry of half a spectrum, of which the library has angles of the other sign if the
    /// transform is inverse.
    fn turned(&self, factor: T) -> T {
        if self.transform.inverse { -factor } else { factor }
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

/// Lines side by side: those at `first..first + count` of the inner axis, in one row of the outer one.
#[derive(Clone, Copy)]
struct Tile {
    row: usize,
    first: usize,
    count: usize,
}

/// The memory of a thread.
struct Packed<'a, T> {
    complex: &'a mut [Complex<T>],
    real: &'a mut [T],
    scratch: &'a mut [Complex<T>],
}

/// Operands and results, real part first. They may be the same arrays.
struct Arrays<T> {
    x: [*const T; 2],
    y: [*mut T; 2],
    inner: usize,
}

// SAFETY: each tile reads and writes elements of its own lines only, a tile runs on one thread, and it has read its lines
// before it writes them; `run` and `run_in_place` have seen that all lines are inside. Tests `transforms_agree_with_the_sum`
// and `the_same_bits_on_any_number_of_threads`.
unsafe impl<T: Sync> Sync for Arrays<T> {}

impl<T: Copy> Arrays<T> {
    #[inline(always)]
    fn get(&self, part: usize, place: usize) -> T {
        // SAFETY: `place` is that of an element of a line, inside of the operands as `run` has checked; an operand that is
        // not there is not read. Tests as above.
        unsafe { *self.x[part].add(place) }
    }
    #[inline(always)]
    fn set(&self, part: usize, place: usize, value: T) {
        // SAFETY: as in `get`, and no other tile has this element.
        unsafe { *self.y[part].add(place) = value }
    }
}
