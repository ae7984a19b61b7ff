//! Nanoseconds per element of every function, for both types and every level of the machine.
//!
//! One thread, slices of 512 numbers in the first cache, the best of several runs. Run with
//! `cargo run --release -p wengert-kernels --example speed`, with a part of a name to see only
//! the functions that contain it. A loop that the compiler left scalar shows as a row without
//! gain from level to level.

use std::hint::black_box;
use std::time::Instant;
use wengert_kernels::{Float, Level, Work, dispatch_at, machine_level};

/// Numbers in a slice.
const LENGTH: usize = 512;
/// Calls in a run.
const CALLS: usize = 400;
/// Runs, of which the fastest counts.
const RUNS: usize = 15;

/// A kernel over slices at a level; functions of one number leave the second slice alone.
type Kernel<F> = fn(Level, &[F], &[F], &mut [F]);

/// A row of the table: the name, the kernels, and the arguments.
struct Row {
    name: &'static str,
    single: Kernel<f32>,
    double: Kernel<f64>,
    range: (f64, f64),
}

/// A loop over slices that calls a function by its name.
macro_rules! kernel {
    ($float:ty, |$x:ident, $y:ident| $body:expr) => {
        |level, a, b, c| {
            struct Loop<'a>(&'a [$float], &'a [$float], &'a mut [$float]);
            impl Work for Loop<'_> {
                type Output = ();
                #[inline(always)]
                fn run(self) {
                    for ((z, &$x), &$y) in self.2.iter_mut().zip(self.0).zip(self.1) {
                        *z = $body;
                    }
                }
            }
            dispatch_at(level, Loop(a, b, c));
        }
    };
}

/// Rows of functions of one number.
macro_rules! unary {
    ($($name:ident $low:literal $high:literal,)*) => {
        vec![$(Row {
            name: stringify!($name),
            single: kernel!(f32, |x, _y| Float::$name(x)),
            double: kernel!(f64, |x, _y| Float::$name(x)),
            range: ($low, $high),
        },)*]
    };
}

/// Rows of functions of two numbers.
macro_rules! binary {
    ($($name:ident $low:literal $high:literal,)*) => {
        vec![$(Row {
            name: stringify!($name),
            single: kernel!(f32, |x, y| Float::$name(x, y)),
            double: kernel!(f64, |x, y| Float::$name(x, y)),
            range: ($low, $high),
        },)*]
    };
}

/// A kernel that hands the whole slice on.
macro_rules! slice_kernel {
    ($float:ty, |$x:ident, $y:ident| $body:expr) => {
        |level, a, _b, c| {
            struct Slices<'a>(&'a [$float], &'a mut [$float]);
            impl Work for Slices<'_> {
                type Output = ();
                #[inline(always)]
                fn run(self) {
                    let ($x, $y) = (self.0, self.1);
                    $body;
                }
            }
            dispatch_at(level, Slices(a, c));
        }
    };
}

/// Rows of functions of slices.
macro_rules! slices {
    ($($name:literal $low:literal $high:literal |$x:ident, $y:ident| $body:expr;)*) => {
        vec![$(Row {
            name: $name,
            single: slice_kernel!(f32, |$x, $y| $body),
            double: slice_kernel!(f64, |$x, $y| $body),
            range: ($low, $high),
        },)*]
    };
}

fn rows() -> Vec<Row> {
    let mut rows = unary! {
        exp -10.0 10.0, exp2 -10.0 10.0, expm1 -10.0 10.0, ln 0.1 10.0, log2 0.1 10.0, log10 0.1 10.0,
        log1p 0.1 10.0, asin -1.0 1.0, acos -1.0 1.0, atan -5.0 5.0, sinh -5.0 5.0, cosh -5.0 5.0,
        tanh -5.0 5.0, sech2 -5.0 5.0, asinh -5.0 5.0, acosh 1.0 5.0, atanh -1.0 1.0, sigmoid -5.0 5.0,
        softplus -5.0 5.0, relu -5.0 5.0, gelu_erf -5.0 5.0, gelu_tanh -5.0 5.0, silu -5.0 5.0,
        gelu_tanh_slope -5.0 5.0, erf -5.0 5.0,
        erfc -5.0 5.0, erfinv -1.0 1.0, sqrt 0.1 10.0, rsqrt 0.1 10.0, cbrt -5.0 5.0, abs -5.0 5.0, sign -5.0 5.0,
        floor -5.0 5.0, ceil -5.0 5.0, round -5.0 5.0, trunc -5.0 5.0,
    };
    rows.extend(slices! {
        "sin_slice" -5.0 5.0 |x, y| Float::sin_slice(x, y);
        "cos_slice" -5.0 5.0 |x, y| Float::cos_slice(x, y);
        "tan_slice" -5.0 5.0 |x, y| Float::tan_slice(x, y);
        "powi_slice 3" -5.0 5.0 |x, y| Float::powi_slice(x, 3, y);
    });
    rows.extend(binary! {
        pow 0.1 5.0, atan2 -5.0 5.0, hypot -5.0 5.0, max -5.0 5.0, min -5.0 5.0, copysign -5.0 5.0,
        logaddexp -5.0 5.0, xlogy 0.1 5.0,
    });
    rows
}

/// The best time of one call over its length, in nanoseconds.
fn measure<F: Float>(kernel: Kernel<F>, level: Level, (low, high): (f64, f64)) -> f64 {
    // Not in order: a branch on the value would otherwise be foretold.
    let at = |i: usize| F::from_f64(low + (high - low) * ((i * 193) % LENGTH) as f64 / LENGTH as f64);
    let x: Vec<F> = (0..LENGTH).map(at).collect();
    let y: Vec<F> = (0..LENGTH).map(|i| at(i + 7)).collect();
    let mut z = vec![F::default(); LENGTH];
    let mut best = f64::INFINITY;
    for _ in 0..RUNS {
        let start = Instant::now();
        for _ in 0..CALLS {
            kernel(level, black_box(&x), black_box(&y), black_box(&mut z));
        }
        best = best.min(start.elapsed().as_secs_f64());
    }
    best * 1e9 / (CALLS * LENGTH) as f64
}

#[expect(clippy::print_stdout, reason = "the table is what the program is for")]
fn main() {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let levels: Vec<Level> = Level::ALL.into_iter().filter(|&level| level <= machine_level()).collect();
    let titles: Vec<String> = levels.iter().map(|level| format!("{:>10}", format!("{level:?}"))).collect();
    println!("{:<20}f32, ns   {1} | f64 {1}", "", titles.concat());
    for row in rows().iter().filter(|row| row.name.contains(&wanted)) {
        let cells = |times: Vec<f64>| times.iter().map(|t| format!("{t:>10.3}")).collect::<String>();
        let single = cells(levels.iter().map(|&level| measure(row.single, level, row.range)).collect());
        let double = cells(levels.iter().map(|&level| measure(row.double, level, row.range)).collect());
        println!("{:<30}{single} |     {double}", row.name);
    }
}
