//! The one way to test a function: sweeps against the reference, at every level.

use super::reference::{Exact, exponent_of, ldexp};
use crate::nightly::nightly;
use wengert_kernels::{Level, Work, dispatch_at, machine_level};

/// Numbers in a range of a sweep: those of a night are what the errors in the table of the crate were found with.
pub(crate) fn points_of_a_range() -> usize {
    if nightly() { 400_000 } else { 100_000 }
}

/// A function of one number: its kernel over slices at a level, its reference, its bound.
pub(crate) struct Unary {
    pub(crate) name: &'static str,
    pub(crate) kernel: fn(Level, &[f64], &mut [f64]),
    pub(crate) reference: fn(f64) -> Exact,
    /// Units in the last place.
    pub(crate) bound: f64,
}

/// The same for a function of two numbers.
pub(crate) struct Binary {
    pub(crate) name: &'static str,
    pub(crate) kernel: fn(Level, &[f64], &[f64], &mut [f64]),
    pub(crate) reference: fn(f64, f64) -> Exact,
    /// Units in the last place.
    pub(crate) bound: f64,
}

/// Names a kernel, its reference of the same name, and the bound.
///
/// The kernel is called by its name inside the loop over the blocks: through a generic
/// parameter it would not be inlined, and so not be compiled for the level. The rest of the
/// slice is done one by one.
macro_rules! unary {
    ($name:ident, $bound:expr) => {
        $crate::accuracy::check::Unary {
            name: stringify!($name),
            kernel: |level, x, y| {
                struct Blocks<'a>(&'a [f64], &'a mut [f64]);
                impl wengert_kernels::Work for Blocks<'_> {
                    type Output = ();
                    #[inline(always)]
                    fn run(self) {
                        let (x, x_rest) = self.0.as_chunks::<8>();
                        let (y, y_rest) = self.1.as_chunks_mut::<8>();
                        for (y, x) in y.iter_mut().zip(x) {
                            *y = wengert_kernels::math::$name(*x);
                        }
                        for (y, x) in y_rest.iter_mut().zip(x_rest) {
                            [*y] = wengert_kernels::math::$name([*x]);
                        }
                    }
                }
                wengert_kernels::dispatch_at(level, Blocks(x, y));
            },
            reference: $crate::accuracy::reference::$name,
            bound: $bound,
        }
    };
}

/// The same for two arguments.
macro_rules! binary {
    ($name:ident, $bound:expr) => {
        $crate::accuracy::check::Binary {
            name: stringify!($name),
            kernel: |level, a, b, y| {
                struct Blocks<'a>(&'a [f64], &'a [f64], &'a mut [f64]);
                impl wengert_kernels::Work for Blocks<'_> {
                    type Output = ();
                    #[inline(always)]
                    fn run(self) {
                        let (a, a_rest) = self.0.as_chunks::<8>();
                        let (b, b_rest) = self.1.as_chunks::<8>();
                        let (y, y_rest) = self.2.as_chunks_mut::<8>();
                        for (y, (a, b)) in y.iter_mut().zip(a.iter().zip(b)) {
                            *y = wengert_kernels::math::$name(*a, *b);
                        }
                        for (y, (a, b)) in y_rest.iter_mut().zip(a_rest.iter().zip(b_rest)) {
                            [*y] = wengert_kernels::math::$name([*a], [*b]);
                        }
                    }
                }
                wengert_kernels::dispatch_at(level, Blocks(a, b, y));
            },
            reference: $crate::accuracy::reference::$name,
            bound: $bound,
        }
    };
}

/// The levels that this machine has.
pub(crate) fn levels() -> impl Iterator<Item = Level> {
    Level::ALL.into_iter().filter(|&level| level <= machine_level())
}

/// Whether two results are the same to the bit; every NaN is the same as every other.
pub(crate) fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

/// The distance of `y` from the exact value, in units in the last place of the exact value.
/// Infinity counts as `2^1024`, and is right above that.
pub(crate) fn error_in_ulps(y: f64, exact: Exact) -> f64 {
    let Exact { value, exponent } = exact;
    if value.hi == 0.0 || y.is_nan() {
        return if y == 0.0 { 0.0 } else { f64::INFINITY };
    }
    let top = exponent_of(value.hi) + exponent;
    if top >= 1024 && y.abs() == f64::INFINITY && (y > 0.0) == (value.hi > 0.0) {
        return 0.0;
    }
    let ulp = (top - 52).max(-1074);
    let scaled = if y.abs() == f64::INFINITY {
        ldexp(1.0, 1024 - ulp).copysign(y)
    } else {
        // In two halves, because 2^-ulp may be out of range.
        ldexp(y, -ulp)
    };
    let exact = value.ldexp(exponent - ulp);
    ((scaled - exact.hi) - exact.lo).abs()
}

/// A plain generator of random numbers; the same ones in every run.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed ^ 0x9e37_79b9_7f4a_7c15)
    }

    /// 53 random bits.
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 ^ (self.0 >> 31)) >> 11
    }

    /// Uniform between the bounds.
    pub(crate) fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.bits() as f64 * 2f64.powi(-53))
    }

    /// Uniform in the bits between two positive numbers: nearly uniform in the logarithm.
    pub(crate) fn log_spaced(&mut self, low: f64, high: f64) -> f64 {
        let (low, high) = (low.to_bits() as f64, high.to_bits() as f64);
        f64::from_bits(self.uniform(low, high) as u64 + self.bits() % 1024)
    }

    /// One of the points, up to a thousand numbers away.
    pub(crate) fn near(&mut self, points: &[f64]) -> f64 {
        let point = points[self.bits() as usize % points.len()];
        let away = (self.bits() % 2001) as i64 - 1000;
        f64::from_bits(point.to_bits().wrapping_add_signed(away))
    }

    pub(crate) fn sign(&mut self) -> f64 {
        if self.bits() & 1024 == 0 { 1.0 } else { -1.0 }
    }
}

/// A range of a sweep.
pub(crate) enum Range<'a> {
    Uniform(f64, f64),
    /// Between two positive numbers.
    Log(f64, f64),
    /// The same, with both signs.
    LogSigned(f64, f64),
    Near(&'a [f64]),
    /// These and no others.
    Points(&'a [f64]),
}

impl Range<'_> {
    pub(crate) fn points(&self, random: &mut Random) -> Vec<f64> {
        let mut draw = |f: &dyn Fn(&mut Random) -> f64| (0..points_of_a_range()).map(|_| f(random)).collect();
        match *self {
            Range::Uniform(low, high) => draw(&|r| r.uniform(low, high)),
            Range::Log(low, high) => draw(&|r| r.log_spaced(low, high)),
            Range::LogSigned(low, high) => draw(&|r| r.sign() * r.log_spaced(low, high)),
            Range::Near(points) => draw(&|r| r.near(points)),
            Range::Points(points) => points.to_vec(),
        }
    }
}

/// The largest error in a sweep and where it is.
struct Worst {
    error: f64,
    at: [f64; 2],
}

#[expect(clippy::print_stdout, reason = "the measured errors are a result of the test")]
fn report(name: &str, count: usize, worst: &Worst, bound: f64) {
    let Worst { error, at } = worst;
    println!("{name}: {error:.3} ulp at {at:?} of {count} points, bound {bound}");
    assert!(*error <= bound, "{name}({at:?}) is off by {error} ulp; the bound is {bound}");
}

/// Sweeps the ranges: the same bits at every level, and within the bound.
pub(crate) fn sweep(function: &Unary, ranges: &[Range]) {
    let mut random = Random::new(7);
    let mut worst = Worst { error: 0.0, at: [0.0; 2] };
    let mut count = 0;
    for range in ranges {
        let x = range.points(&mut random);
        let mut y = vec![0.0; x.len()];
        (function.kernel)(Level::Baseline, &x, &mut y);
        for level in levels() {
            let mut other = vec![0.0; x.len()];
            (function.kernel)(level, &x, &mut other);
            for ((x, a), b) in x.iter().zip(&y).zip(&other) {
                assert!(same(*a, *b), "{}({x:e}): {a:e}, at {level:?} {b:e}", function.name);
            }
        }
        for (&x, &y) in x.iter().zip(&y) {
            let error = error_in_ulps(y, (function.reference)(x));
            if error.is_nan() || error > worst.error {
                worst = Worst { error, at: [x, 0.0] };
            }
        }
        count += x.len();
    }
    report(function.name, count, &worst, function.bound);
}

/// The same for two arguments; the ranges are of both.
pub(crate) fn sweep2(function: &Binary, ranges: &[[Range; 2]]) {
    let mut random = Random::new(8);
    let mut worst = Worst { error: 0.0, at: [0.0; 2] };
    let mut count = 0;
    for [first, second] in ranges {
        let (a, b) = (first.points(&mut random), second.points(&mut random));
        let mut y = vec![0.0; a.len()];
        (function.kernel)(Level::Baseline, &a, &b, &mut y);
        for level in levels() {
            let mut other = vec![0.0; a.len()];
            (function.kernel)(level, &a, &b, &mut other);
            for (i, (p, q)) in y.iter().zip(&other).enumerate() {
                let name = function.name;
                assert!(same(*p, *q), "{name}({:e}, {:e}): {p:e}, at {level:?} {q:e}", a[i], b[i]);
            }
        }
        for ((&a, &b), &y) in a.iter().zip(&b).zip(&y) {
            let error = error_in_ulps(y, (function.reference)(a, b));
            if error.is_nan() || error > worst.error {
                worst = Worst { error, at: [a, b] };
            }
        }
        count += a.len();
    }
    report(function.name, count, &worst, function.bound);
}

/// Asserts exact results, in every lane and at every level.
pub(crate) fn cases(function: &Unary, table: &[(f64, f64)]) {
    for &(x, expected) in table {
        for level in levels() {
            for lane in 0..9 {
                let mut block = [0.7; 9];
                block[lane] = x;
                let mut y = [0.0; 9];
                (function.kernel)(level, &block, &mut y);
                let name = function.name;
                assert!(same(y[lane], expected), "{name}({x:e}) is {:e} at {level:?}", y[lane]);
            }
        }
    }
}

/// The same for two arguments.
pub(crate) fn cases2(function: &Binary, table: &[(f64, f64, f64)]) {
    for &(a, b, expected) in table {
        for level in levels() {
            let mut y = [0.0; 9];
            (function.kernel)(level, &[a; 9], &[b; 9], &mut y);
            for y in y {
                let name = function.name;
                assert!(same(y, expected), "{name}({a:e}, {b:e}) is {y:e} at {level:?}");
            }
        }
    }
}

/// Runs a piece of work and returns its result at every level of the machine.
pub(crate) fn at_every_level<W: Work + Clone>(work: &W) -> Vec<W::Output> {
    levels().map(|level| dispatch_at(level, work.clone())).collect()
}
