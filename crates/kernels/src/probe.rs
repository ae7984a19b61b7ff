//! What the machine can do at best: how fast it copies memory, and how many multiplications and additions it does.
//!
//! The limits of the roofline model (Williams, Waterman and Patterson 2009, "Roofline: an insightful visual performance
//! model for multicore architectures"): a step that moves `b` bytes and does `f` operations takes at least
//! `max(b / bandwidth, f / peak)` seconds, unless its bytes are in the caches.
//!
//! Numbers are measured, so they are as noisy as the machine: the best of several rounds, each a few milliseconds.

use std::hint::black_box;
use std::sync::Barrier;
use std::time::Instant;

use crate::dispatch::{Level, Work, dispatch, level};

/// Bytes of each of the two arrays of a thread that [`copy_bandwidth`] copies: beyond the last cache of most machines.
const COPIED: usize = 64 << 20;
/// Rounds, of which the best counts.
const ROUNDS: usize = 5;
/// Chains of multiply-adds beside each other: more than the latency of one times the two that start at once, and few
/// enough for the sixteen registers of the smaller levels.
const CHAINS: usize = 10;
/// Multiply-adds of every chain in a round.
const STEPS: usize = 1 << 18;

/// Bytes per second that this many threads copy together, read and written ones counted, between arrays that no cache
/// holds. It takes about a tenth of a second and 128 MiB for each thread.
///
/// ```
/// let bandwidth = wengert_kernels::probe::copy_bandwidth(1);
/// assert!(bandwidth > 1e8, "{bandwidth}: memory slower than a disk");
/// ```
pub fn copy_bandwidth(threads: usize) -> f64 {
    let bytes = (2 * COPIED * threads.max(1)) as f64;
    bytes
        / best(threads, || {
            let source = vec![1u8; COPIED];
            let mut target = vec![0u8; COPIED];
            move || {
                target.copy_from_slice(black_box(&source));
                black_box(&mut target);
            }
        })
}

/// Operations per second on numbers of single precision that this many threads do together, where nothing is read from
/// memory. A fused multiply-add counts as two operations; where the instruction set has none, products and sums
/// alternate.
///
/// ```
/// let peak = wengert_kernels::probe::peak_f32(1);
/// assert!(peak > 1e7, "{peak}");
/// ```
pub fn peak_f32(threads: usize) -> f64 {
    let level = level();
    peak(threads, || dispatch(PeakF32(level)), bytes(level) / 4)
}

/// As [`peak_f32`], in double precision.
///
/// ```
/// let peak = wengert_kernels::probe::peak_f64(1);
/// assert!(peak > 1e7, "{peak}");
/// ```
pub fn peak_f64(threads: usize) -> f64 {
    let level = level();
    peak(threads, || dispatch(PeakF64(level)), bytes(level) / 8)
}

fn peak(threads: usize, run: impl Fn() + Sync, width: usize) -> f64 {
    let operations = (2 * CHAINS * STEPS * width * threads.max(1)) as f64;
    operations / best(threads, || &run)
}

/// Bytes of a vector.
fn bytes(level: Level) -> usize {
    match level {
        Level::Baseline => 16,
        Level::Avx2 => 32,
        Level::Avx512 => 64,
    }
}

/// The time in seconds of the fastest round in which every thread does its work once; `prepare` runs before it.
fn best<F: FnMut()>(threads: usize, prepare: impl Fn() -> F + Sync) -> f64 {
    let start = Barrier::new(threads.max(1));
    let rounds = || {
        let mut work = prepare();
        let mut times = [0.0; ROUNDS];
        for time in &mut times {
            start.wait();
            let begin = Instant::now();
            work();
            // A round takes until the last thread is done.
            start.wait();
            *time = begin.elapsed().as_secs_f64();
        }
        times.into_iter().fold(f64::INFINITY, f64::min)
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(rounds)).collect();
        let own = rounds();
        others.into_iter().map(|other| other.join().unwrap_or(own)).fold(own, f64::max)
    })
}

/// Chains of multiply-adds of vectors that stay in registers, in single precision.
struct PeakF32(Level);
/// The same in double precision.
struct PeakF64(Level);

impl Work for PeakF32 {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        match self.0 {
            // Without the instruction a fused multiply-add is emulated, sixty times slower.
            Level::Baseline => chains([0.999f32; 4], [0.001; 4], |x, y, z| x * y + z),
            Level::Avx2 => chains([0.999f32; 8], [0.001; 8], f32::mul_add),
            Level::Avx512 => chains([0.999f32; 16], [0.001; 16], f32::mul_add),
        }
    }
}

impl Work for PeakF64 {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        match self.0 {
            Level::Baseline => chains([0.999f64; 2], [0.001; 2], |x, y, z| x * y + z),
            Level::Avx2 => chains([0.999f64; 4], [0.001; 4], f64::mul_add),
            Level::Avx512 => chains([0.999f64; 8], [0.001; 8], f64::mul_add),
        }
    }
}

/// `sum = sum * factor + term` in [`CHAINS`] independent chains, [`STEPS`] times.
#[inline(always)]
fn chains<T: Copy, const WIDTH: usize>(factor: [T; WIDTH], term: [T; WIDTH], step: impl Fn(T, T, T) -> T) {
    let (factor, term) = (black_box(factor), black_box(term));
    let mut sums = [term; CHAINS];
    for _ in 0..STEPS {
        for sum in &mut sums {
            for lane in 0..WIDTH {
                sum[lane] = step(sum[lane], factor[lane], term[lane]);
            }
        }
    }
    black_box(sums);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn double_precision_is_not_faster_than_single() {
        // Half of it where both are vectors. Other programs share the machine, so half is left to them, and the best of several
        // tries counts; a loop that the compiler did not make vectors of is far below in each.
        let (mut single, mut double) = (0.0f64, 0.0f64);
        for _ in 0..20 {
            (single, double) = (single.max(peak_f32(1)), double.max(peak_f64(1)));
            if double < 2.0 * single && single < 8.0 * double {
                return;
            }
        }
        panic!("f32 {single:e}, f64 {double:e}");
    }

    #[test]
    fn threads_copy_together() {
        // Where two threads share one core they get half each; an order below that would be a mistake in the count.
        let (one, two) = (copy_bandwidth(1), copy_bandwidth(2));
        assert!(one.is_finite() && two > 0.1 * one, "{one:e} {two:e}");
    }
}
