//! Nanoseconds per entry of Fourier transforms: of many lines at a time, one after another and beside each other, and of the
//! same lines one by one.
//!
//! One thread, the best of several runs. Run with
//! `cargo run --release -p wengert-kernels --features fft --example fourier`.

#![expect(clippy::print_stdout, reason = "it prints a table")]

use std::hint::black_box;
use std::time::Instant;

use wengert_kernels::arena::Arena;
use wengert_kernels::fourier::{Kind, Number, Plan, Transform, Weights};
use wengert_kernels::{Float, Pool};

/// Runs, of which the fastest counts.
const RUNS: usize = 15;
/// Entries of an array, about.
const ENTRIES: usize = 1 << 18;

/// Seconds of the fastest run.
fn seconds(mut f: impl FnMut()) -> f64 {
    let run = |_| {
        let start = Instant::now();
        f();
        start.elapsed().as_secs_f64()
    };
    (0..RUNS).map(run).fold(f64::INFINITY, f64::min)
}

/// Seconds of transforms of arrays of this shape, `times` of them.
fn of<T: Number>(transform: Transform, around: [usize; 2], times: usize) -> f64 {
    let plan = Plan::<T>::new(transform, around);
    let lines = around[0] * around[1];
    let number = |k: usize| <T as Float>::from_f64((k % 1001) as f64 / 500.0 - 1.0);
    let x: [Vec<T>; 2] = [1, 7].map(|step| (0..lines * transform.taken).map(|k| number(k * step)).collect());
    let mut y: [Vec<T>; 2] = [0, 1].map(|_| vec![T::default(); lines * transform.given]);
    let mut arena = Arena::new(plan.workspace(1)).expect("memory");
    let pool = Pool::new(1);
    seconds(|| {
        for _ in 0..times {
            let [re, im] = &mut y;
            plan.run([black_box(&x[0]), &x[1]], [re, im], arena.as_lines_mut(), &pool);
        }
    })
}

fn row<T: Number>(kind: Kind, name: &str, n: usize) {
    let lines = (ENTRIES / n).max(1);
    let whole = Transform { n, taken: n, given: n, kind, inverse: false, scale: 1.0 };
    let [taken, given] = whole.limits();
    let transform = Transform { taken, given, ..whole };
    let each = 1e9 / (lines * n) as f64;
    let [rows, columns] = [[lines, 1], [1, lines]].map(|around| of::<T>(transform, around, 1) * each);
    let single = of::<T>(transform, [1, 1], lines) * each;
    println!("{name:<14} {n:>6} {lines:>7} {rows:>8.2} {columns:>8.2} {single:>8.2}");
}

fn main() {
    println!("{:<14} {:>6} {:>7} {:>8} {:>8} {:>8}", "kind", "n", "lines", "after", "beside", "single");
    for n in [8, 16, 60, 64, 100, 128, 256, 500, 512, 1000, 1024, 2048, 4096, 8192] {
        row::<f64>(Kind::Complex, "complex f64", n);
        row::<f32>(Kind::Complex, "complex f32", n);
        row::<f64>(Kind::RealToHalf(Weights::Plain), "to half f64", n);
        row::<f64>(Kind::HalfToReal(Weights::Doubled), "from half f64", n);
    }
}
