//! The pool: every part once, on any number of threads, whatever the parts do.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;
use wengert_kernels::Pool;

/// Thread counts that cover no workers, one, several, and more than the machine may have.
const THREADS: [usize; 4] = [1, 2, 3, 7];

#[test]
fn every_part_runs_once() {
    for threads in THREADS {
        let pool = Pool::new(threads);
        for round in 0..2000 {
            let parts = round % 37;
            let counts: Vec<AtomicUsize> = (0..parts).map(|_| AtomicUsize::new(0)).collect();
            pool.run(parts, &|part, worker| {
                assert!(worker < threads);
                counts[part].fetch_add(1, Ordering::Relaxed);
            })
            .unwrap();
            assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == 1), "{threads} threads, {parts} parts");
        }
    }
}

#[test]
fn borrowed_data_is_seen_by_all_parts() {
    for threads in THREADS {
        let pool = Pool::new(threads);
        for round in 0..500 {
            // The data is new in every round, so a part that ran late would read what is gone.
            let data: Vec<usize> = (0..64).map(|i| i * round).collect();
            let results: Vec<Mutex<usize>> = (0..64).map(|_| Mutex::new(0)).collect();
            pool.run(64, &|part, _| *results[part].lock().unwrap() = data[part] + 1).unwrap();
            let results: Vec<usize> = results.into_iter().map(|result| result.into_inner().unwrap()).collect();
            assert!(results.iter().zip(&data).all(|(result, x)| *result == x + 1), "round {round}");
        }
    }
}

#[test]
fn no_two_threads_share_a_number() {
    let pool = Pool::new(7);
    let inside: Vec<AtomicUsize> = (0..7).map(|_| AtomicUsize::new(0)).collect();
    for _ in 0..200 {
        pool.run(50, &|_, worker| {
            assert_eq!(inside[worker].fetch_add(1, Ordering::SeqCst), 0);
            thread::yield_now();
            inside[worker].fetch_sub(1, Ordering::SeqCst);
        })
        .unwrap();
    }
}

#[test]
fn the_workers_take_part() {
    for threads in [2, 3, 7] {
        // Every part waits for all others: this ends only if each is on a thread of its own.
        let (pool, barrier) = (Pool::new(threads), Barrier::new(threads));
        for _ in 0..20 {
            pool.run(threads, &|_, _| {
                barrier.wait();
            })
            .unwrap();
        }
        thread::sleep(Duration::from_millis(5));
        pool.run(threads, &|_, _| {
            barrier.wait();
        })
        .expect("parked workers wake");
    }
}

#[test]
fn the_caller_waits_for_slow_parts() {
    let pool = Pool::new(3);
    for _ in 0..3 {
        let done = AtomicUsize::new(0);
        let barrier = Barrier::new(3);
        pool.run(3, &|_, worker| {
            barrier.wait();
            if worker != 0 {
                // Longer than the caller spins, so it parks and must be woken.
                thread::sleep(Duration::from_millis(20));
            }
            done.fetch_add(1, Ordering::Relaxed);
        })
        .unwrap();
        assert_eq!(done.into_inner(), 3);
    }
}

#[test]
fn a_panic_is_an_error_and_the_pool_stays_usable() {
    for threads in THREADS {
        let pool = Pool::new(threads);
        for guilty in [0, 7, 99] {
            let begun = AtomicUsize::new(0);
            let error = pool
                .run(100, &|part, _| {
                    begun.fetch_add(1, Ordering::Relaxed);
                    assert!(part != guilty, "part {part} is guilty");
                })
                .unwrap_err();
            assert_eq!(error.message, format!("part {guilty} is guilty"));
            if threads == 1 {
                assert_eq!(begun.into_inner(), guilty + 1, "the parts after it are skipped");
            }
            let sum = AtomicUsize::new(0);
            pool.run(10, &|part, _| {
                sum.fetch_add(part, Ordering::Relaxed);
            })
            .unwrap();
            assert_eq!(sum.into_inner(), 45);
        }
        let error = pool.run(1, &|_, _| std::panic::panic_any(5_u8)).unwrap_err();
        assert_eq!(error.message, "the panic carried no text");
    }
}

/// Panics when it is dropped.
struct Spring;

impl Drop for Spring {
    fn drop(&mut self) {
        std::panic::panic_any(0_u8);
    }
}

#[test]
fn a_payload_that_panics_when_dropped_does_no_harm() {
    let pool = Pool::new(2);
    let barrier = Barrier::new(2);
    let error = pool.run(2, &|_, worker| {
        barrier.wait();
        if worker == 1 {
            std::panic::panic_any(Spring);
        }
    });
    assert_eq!(error.unwrap_err().message, "the panic carried no text");
    pool.run(2, &|_, _| ()).unwrap();
}

#[test]
fn a_run_inside_a_part_is_done_in_place() {
    for threads in THREADS {
        let pool = Pool::new(threads);
        let count = AtomicUsize::new(0);
        pool.run(20, &|_, worker| {
            let thread = thread::current().id();
            pool.run(5, &|_, inner| {
                assert_eq!((thread::current().id(), inner), (thread, worker));
                count.fetch_add(1, Ordering::Relaxed);
            })
            .unwrap();
        })
        .unwrap();
        assert_eq!(count.into_inner(), 100);
        // An inner failure is the inner caller's, and does not stop the outer run.
        pool.run(3, &|_, _| assert!(pool.run(2, &|_, _| panic!("inner")).is_err())).unwrap();
    }
}

#[test]
fn pools_nest_in_one_another() {
    let (outer, inner) = (Pool::new(2), Pool::new(3));
    let count = AtomicUsize::new(0);
    for _ in 0..100 {
        outer
            .run(4, &|_, _| {
                let add = |_, _| {
                    count.fetch_add(1, Ordering::Relaxed);
                };
                inner.run(4, &add).unwrap();
            })
            .unwrap();
    }
    assert_eq!(count.into_inner(), 1600);
}

#[test]
fn callers_share_a_pool() {
    let pool = Arc::new(Pool::new(3));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..500 {
                    let sum = AtomicUsize::new(0);
                    let add = |part, _| {
                        sum.fetch_add(part, Ordering::Relaxed);
                    };
                    pool.run(11, &add).unwrap();
                    assert_eq!(sum.into_inner(), 55);
                }
            });
        }
    });
}

#[test]
fn a_second_caller_does_not_wait_for_the_first() {
    let pool = Pool::new(2);
    let (entered, released) = (Barrier::new(2), Barrier::new(2));
    thread::scope(|scope| {
        scope.spawn(|| {
            let hold = |part, _| {
                if part == 0 {
                    entered.wait();
                    released.wait();
                }
            };
            pool.run(2, &hold).unwrap();
        });
        entered.wait();
        // The first run cannot end before this one has.
        let count = AtomicUsize::new(0);
        pool.run(9, &|_, worker| {
            assert_eq!(worker, 0);
            count.fetch_add(1, Ordering::Relaxed);
        })
        .unwrap();
        assert_eq!(count.into_inner(), 9);
        released.wait();
    });
}

#[test]
fn pools_are_dropped_idle_parked_and_unused() {
    for threads in THREADS {
        drop(Pool::new(threads));
        for wait in [0, 2] {
            let pool = Pool::new(threads);
            pool.run(threads, &|_, _| ()).unwrap();
            thread::sleep(Duration::from_millis(wait));
            drop(pool);
        }
    }
}

/// More threads than a process could hold: the pool takes the most it may have.
#[test]
fn a_pool_of_too_many_threads_takes_as_many_as_may_be() {
    let pool = Pool::new(20_000);
    assert_eq!(pool.threads(), Pool::MOST);
    let done = AtomicUsize::new(0);
    let run = pool.run(10_000, &|_, worker| {
        assert!(worker < Pool::MOST);
        done.fetch_add(1, Ordering::Relaxed);
    });
    assert_eq!((run, done.into_inner()), (Ok(()), 10_000));
}
