//! Discrete Fourier transforms of many lines at a time, over a pool of threads.
//!
//! A [`Plan`] knows the length, the direction, which sides are real, and how many entries come in and go out; it is made once,
//! with all factors that the transform needs, and shared between threads. It runs over the lines along one axis of an array of
//! `outer` by length by `inner` elements, whose real and imaginary parts are arrays of their own. Lines are packed into the
//! workspace, transformed there, and unpacked: where the length is a product of small primes and there are enough lines to fill
//! vectors, many at a time by code of this crate (`lanes`), otherwise one by one by the libraries `rustfft` and `realfft`.
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
//! let plan = Plan::<f64>::new(Transform { n: 4, taken: 4, given: 3, kind, inverse: false, scale: 1.0 }, [1, 1]);
//! let mut arena = Arena::new(plan.workspace(1))?;
//! let (mut re, mut im) = ([0.0; 3], [0.0; 3]);
//! plan.run([&[1.0, 2.0, 3.0, 4.0], &[]], [&mut re, &mut im], arena.as_lines_mut(), &Pool::new(1));
//! assert_eq!((re, im), ([10.0, -2.0, -2.0], [0.0, 2.0, 0.0]));
//! # Ok::<(), wengert_kernels::arena::TooLarge>(())
//! ```

use std::fmt;

use rustfft::FftNum;

use crate::arena::{Line, Plain};
use crate::{Float, Pool};
use lanes::{Lanes, Vectors};
use library::{LinePlan, Single, planned};

mod lanes;
mod library;

/// The work of one part, in entries.
const GRAIN: usize = 1 << 13;
/// Bytes of lines that are packed together where they lie beside each other, if they are more than the fewest: a part of the second
/// cache. The more there are, the longer the pieces that are read of pages that lie far apart.
const PACKED: usize = 512 << 10;
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

    /// The factors of entries of half a spectrum that are their own conjugates, and of the others.
    fn factors<T: Float>(&self, scale: f64) -> [T; 2] {
        [1.0, self.weight()].map(|weight| T::from_f64(scale * weight))
    }

    /// The factor of the imaginary part of an entry of half a spectrum, of which the code for lines has angles of the other sign
    /// if the transform is inverse.
    fn turned<T: Float>(&self, factor: T) -> T {
        if self.inverse { -factor } else { factor }
    }
}

/// `f32` and `f64`.
///
/// What is heavy is compiled here, once for each: a generic function would be compiled anew by every crate that calls it, with all
/// algorithms of the libraries and the lanes of every level.
pub trait Number: Float + Plain + FftNum + Vectors {
    /// The factors of a transform.
    #[doc(hidden)]
    fn plan(transform: &Transform) -> LinePlan<Self>;
    /// [`Plan::run`].
    #[doc(hidden)]
    fn run(plan: &Plan<Self>, x: [&[Self]; 2], y: [&mut [Self]; 2], workspace: &mut [Line], pool: &Pool);
    /// [`Plan::run_in_place`].
    #[doc(hidden)]
    fn run_in_place(plan: &Plan<Self>, y: [&mut [Self]; 2], workspace: &mut [Line], pool: &Pool);
}

macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl Number for $number {
            fn plan(transform: &Transform) -> LinePlan<Self> {
                planned(transform)
            }
            fn run(plan: &Plan<Self>, x: [&[Self]; 2], y: [&mut [Self]; 2], workspace: &mut [Line], pool: &Pool) {
                plan.transformed(x, y, workspace, pool);
            }
            fn run_in_place(plan: &Plan<Self>, y: [&mut [Self]; 2], workspace: &mut [Line], pool: &Pool) {
                plan.transformed_in_place(y, workspace, pool);
            }
        }
    )*};
}
numbers!(f32 f64);

/// A transform of all lines of an array, with its factors.
#[derive(Clone)]
pub struct Plan<T> {
    transform: Transform,
    around: [usize; 2],
    way: Way<T>,
}

/// How lines are transformed.
#[derive(Clone)]
enum Way<T> {
    /// Many at a time, in the lanes of vectors.
    Lanes(Lanes<T>),
    /// One by one.
    Single(Single<T>),
}

impl<T> fmt::Debug for Plan<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Plan").field(&self.transform).field(&self.around).finish()
    }
}

impl<T: Number> Plan<T> {
    /// Prepares the transform of the lines along the middle axis of an array of `outer` by length by `inner` elements; `around` is
    /// `[outer, inner]`.
    ///
    /// # Panics
    /// If the length is 0, or more entries come in or go out than there are.
    pub fn new(transform: Transform, around: [usize; 2]) -> Plan<T> {
        let [from, to] = transform.limits();
        assert!(transform.n > 0, "a transform of length 0");
        assert!(transform.taken <= from && transform.given <= to, "{transform:?} has {from} and {to} entries");
        let lanes = Lanes::new(transform, around).map(Way::Lanes);
        let way = lanes.unwrap_or_else(|| Way::Single(Single::new(transform, around)));
        Plan { transform, around, way }
    }

    /// What it computes.
    pub fn transform(&self) -> Transform {
        self.transform
    }

    /// Lines of workspace of a thread.
    fn piece(&self) -> usize {
        match &self.way {
            Way::Lanes(lanes) => lanes.workspace(),
            Way::Single(single) => single.workspace(),
        }
    }

    /// Bytes of workspace for this number of threads.
    pub fn workspace(&self, threads: usize) -> usize {
        threads * self.piece() * size_of::<Line>()
    }

    /// Transforms the lines along the middle axis of arrays of `outer` by `taken` by `inner` elements, into arrays of
    /// `outer` by `given` by `inner`. Parts are real first, imaginary second; of a real side the second one is
    /// ignored.
    ///
    /// # Panics
    /// If a slice does not have the stated size, or the workspace is too small.
    pub fn run(&self, x: [&[T]; 2], y: [&mut [T]; 2], workspace: &mut [Line], pool: &Pool) {
        T::run(self, x, y, workspace, pool);
    }

    fn transformed(&self, x: [&[T]; 2], y: [&mut [T]; 2], workspace: &mut [Line], pool: &Pool) {
        let [outer, inner] = self.around;
        let sizes = [self.transform.taken, self.transform.given].map(|length| outer * length * inner);
        let real = matches!(self.transform.kind, Kind::RealToHalf(_));
        let half = matches!(self.transform.kind, Kind::HalfToReal(_));
        assert!(x[0].len() == sizes[0] && (real || x[1].len() == sizes[0]), "operands of {} elements", sizes[0]);
        assert!(y[0].len() == sizes[1] && (half || y[1].len() == sizes[1]), "results of {} elements", sizes[1]);
        let arrays = Arrays { x: x.map(<[T]>::as_ptr), y: y.map(<[T]>::as_mut_ptr), inner };
        self.all(arrays, workspace, pool);
    }

    /// As [`run`](Plan::run), in place. As many entries go out as come in, and no side is real.
    ///
    /// # Panics
    /// If that is not so, a slice does not have the stated size, or the workspace is too small.
    pub fn run_in_place(&self, y: [&mut [T]; 2], workspace: &mut [Line], pool: &Pool) {
        T::run_in_place(self, y, workspace, pool);
    }

    fn transformed_in_place(&self, y: [&mut [T]; 2], workspace: &mut [Line], pool: &Pool) {
        let [outer, inner] = self.around;
        let Transform { taken, given, kind, .. } = self.transform;
        assert!(taken == given && kind == Kind::Complex, "{:?} is not done in place", self.transform);
        assert!(y.iter().all(|y| y.len() == outer * given * inner), "arrays of {outer} by {given} by {inner}");
        let y = y.map(<[T]>::as_mut_ptr);
        self.all(Arrays { x: y.map(<*mut T>::cast_const), y, inner }, workspace, pool);
    }

    /// Runs over all lines, some at a time on each thread.
    fn all(&self, arrays: Arrays<T>, workspace: &mut [Line], pool: &Pool) {
        let piece = self.piece();
        assert!(workspace.len() >= piece * pool.threads(), "{piece} lines of workspace for each thread");
        let scratch = crate::parallel::Chunks::new(workspace, piece.max(1));
        let [count, lines] = match &self.way {
            Way::Lanes(lanes) => lanes.tiles(),
            Way::Single(single) => single.tiles(),
        };
        let group = (GRAIN / (self.transform.n * lines)).max(1);
        let part = |number: usize, thread: usize| {
            // SAFETY: no two threads have one number in one run: each piece has one user. Test
            // `the_same_bits_on_any_number_of_threads`.
            let memory = unsafe { scratch.take(thread) };
            for tile in number * group..count.min((number + 1) * group) {
                match &self.way {
                    // SAFETY: `run` and `run_in_place` have seen that all lines are there, and each tile is that of one part.
                    // Tests `transforms_agree_with_the_sum` and as above.
                    Way::Lanes(lanes) => unsafe { lanes.tile(tile, &arrays, memory) },
                    // SAFETY: as above. Tests as above.
                    Way::Single(single) => unsafe { single.tile(tile, &arrays, memory) },
                }
            }
        };
        let parts = count.div_ceil(group);
        if parts <= 1 {
            (0..parts).for_each(|number| part(number, 0));
        } else if let Err(panicked) = pool.run(parts, &part) {
            panic!("{}", panicked.message);
        }
    }
}

/// Lines side by side: those at `first..first + count` of the inner axis, in one row of the outer one.
#[derive(Clone, Copy)]
struct Tile {
    row: usize,
    first: usize,
    count: usize,
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
