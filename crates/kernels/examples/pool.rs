//! What it costs to enter a parallel region: `cargo run --release -p wengert-kernels --example pool`.

use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use wengert_kernels::Pool;

/// The median of many measurements, in microseconds.
fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Microseconds of an empty run with as many parts as threads, `pause` after the one before.
fn entering(pool: &Pool, pause: Duration, rounds: usize) -> f64 {
    let times = (0..rounds).map(|_| {
        if pause > Duration::from_millis(1) {
            thread::sleep(pause);
        } else {
            let begun = Instant::now();
            while begun.elapsed() < pause {}
        }
        let begun = Instant::now();
        pool.run(pool.threads(), &|part, _| {
            black_box(part);
        })
        .expect("an empty part does not panic");
        begun.elapsed().as_secs_f64() * 1e6
    });
    median(times.collect())
}

/// Microseconds of a run whose parts wait for one another, so that all threads have arrived.
fn meeting(pool: &Pool, pause: Duration, rounds: usize) -> f64 {
    let times = (0..rounds).map(|_| {
        if !pause.is_zero() {
            thread::sleep(pause);
        }
        let arrived = AtomicUsize::new(0);
        let begun = Instant::now();
        pool.run(pool.threads(), &|_, _| {
            arrived.fetch_add(1, Ordering::Relaxed);
            while arrived.load(Ordering::Relaxed) < pool.threads() {
                std::hint::spin_loop();
            }
        })
        .expect("waiting does not panic");
        begun.elapsed().as_secs_f64() * 1e6
    });
    median(times.collect())
}

#[expect(clippy::print_stdout, reason = "printing is what the example is for")]
fn main() {
    for threads in [1, 2] {
        let pool = Pool::new(threads);
        println!("{threads} threads, an empty run, median in microseconds:");
        println!("  at once          {:8.3}", entering(&pool, Duration::ZERO, 20_001));
        println!("  after 2 us       {:8.3}", entering(&pool, Duration::from_micros(2), 20_001));
        println!("  after 50 us      {:8.3}", entering(&pool, Duration::from_micros(50), 2001));
        println!("  after 500 us     {:8.3}", entering(&pool, Duration::from_micros(500), 501));
        println!("  after 5 ms       {:8.3}", entering(&pool, Duration::from_millis(5), 101));
        println!("  at once, all met {:8.3}", meeting(&pool, Duration::ZERO, 20_001));
        println!("  after 5 ms, met  {:8.3}", meeting(&pool, Duration::from_millis(5), 101));
    }
}
