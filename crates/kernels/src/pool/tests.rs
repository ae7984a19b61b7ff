//! The pool under schedules that chance decides: see [`model`](super::model).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::Pool;
use super::model::{Builder, explore, point};

/// How many schedules each test tries.
fn schedules() -> u64 {
    if std::env::var("WENGERT_NIGHTLY").is_ok_and(|value| value == "1") { 20_000 } else { 200 }
}

/// A run in which other threads may run in the middle of every part: each part runs once, and no two threads have one
/// number. `inside` is called in every part with the number of its thread.
fn run(pool: &Pool, parts: usize, inside: impl Fn(usize, usize) + Sync) {
    let counts: Vec<AtomicUsize> = (0..parts).map(|_| AtomicUsize::new(0)).collect();
    let taken: Vec<AtomicUsize> = (0..pool.threads()).map(|_| AtomicUsize::new(0)).collect();
    let done = pool.run(parts, &|part, worker| {
        assert_eq!(taken[worker].fetch_add(1, Ordering::SeqCst), 0, "two threads have the number {worker}");
        counts[part].fetch_add(1, Ordering::SeqCst);
        point();
        inside(part, worker);
        point();
        taken[worker].fetch_sub(1, Ordering::SeqCst);
    });
    assert_eq!(done, Ok(()));
    let counts: Vec<usize> = counts.into_iter().map(AtomicUsize::into_inner).collect();
    assert_eq!(counts, vec![1; parts], "how often each part has run when the call returns");
}

#[test]
fn one_caller_after_another_run() {
    explore(schedules(), || {
        let pool = Pool::new(3);
        // Workers that were woken for one run come late to the next one, or to the end.
        for parts in [2, 1, 5, 3] {
            run(&pool, parts, |_, _| {});
        }
    });
}

#[test]
fn two_callers_at_the_same_time() {
    explore(schedules(), || {
        let pool = Arc::new(Pool::new(2));
        let callers = [2, 3].map(|parts| {
            let pool = pool.clone();
            let call = move || (0..2).for_each(|_| run(&pool, parts, |_, _| {}));
            Builder::new().spawn(call).expect("the system has a thread left")
        });
        run(&pool, 3, |_, _| {});
        for caller in callers {
            caller.join().expect("it has not panicked");
        }
    });
}

#[test]
fn a_run_inside_a_part_and_beside_another_caller() {
    explore(schedules(), || {
        let pool = Arc::new(Pool::new(3));
        let other = pool.clone();
        let call = move || run(&other, 2, |_, _| run(&other, 2, |_, _| {}));
        let caller = Builder::new().spawn(call).expect("the system has a thread left");
        run(&pool, 3, |_, outer| {
            // It is done in place, under the number of the thread.
            let numbers = AtomicUsize::new(0);
            let nested = pool.run(2, &|_, worker| {
                numbers.fetch_add(usize::from(worker == outer), Ordering::SeqCst);
            });
            assert_eq!((nested, numbers.into_inner()), (Ok(()), 2));
        });
        caller.join().expect("it has not panicked");
    });
}

#[test]
fn a_pool_inside_a_part_of_another_pool() {
    explore(schedules() / 2, || {
        let (outer, inner) = (Pool::new(2), Pool::new(2));
        run(&outer, 2, |_, _| run(&inner, 2, |_, _| run(&outer, 2, |_, _| {})));
    });
}

#[test]
fn a_part_that_panics_leaves_the_pool_usable() {
    explore(schedules() / 2, || {
        let pool = Pool::new(3);
        let failed = pool.run(4, &|part, _| {
            point();
            // Without the message of a panic, which would be printed in every schedule.
            if part == 2 {
                std::panic::resume_unwind(Box::new("two"));
            }
        });
        assert_eq!(failed.map_err(|panicked| panicked.message), Err("two".to_owned()));
        run(&pool, 3, |_, _| {});
    });
}

/// The model finds what it is there to find: threads that wait for each other, and one that never ends.
#[test]
fn the_model_finds_what_it_is_for() {
    use super::model::{Condvar, Mutex, Watched};
    let message = |body: fn()| {
        let panic = std::panic::catch_unwind(|| explore(300, body)).expect_err("it is found");
        panic.downcast_ref::<String>().cloned().unwrap_or_default()
    };
    // Two locks, taken in both orders.
    let circle = || {
        let locks = Arc::new([Mutex::new(()), Mutex::new(())]);
        let other = locks.clone();
        let both = |first: &Mutex<()>, second: &Mutex<()>| drop((first.lock(), second.lock()));
        let thread = Builder::new().spawn(move || both(&other[1], &other[0])).expect("a thread");
        both(&locks[0], &locks[1]);
        thread.join().expect("it ends");
    };
    assert!(message(circle).contains("all threads wait"));
    // A wake that comes before the wait.
    let lost = || {
        let pair = Arc::new((Mutex::new(()), Condvar::new()));
        let other = pair.clone();
        let thread = Builder::new().spawn(move || other.1.notify_all()).expect("a thread");
        let lock = pair.0.lock().expect("not poisoned");
        drop(pair.1.wait(lock));
        thread.join().expect("it ends");
    };
    assert!(message(lost).contains("all threads wait"));
    // Something used by a thread that nobody joins.
    let early = || {
        let watched = Arc::new(Watched::new());
        let (other, flag) = (watched.clone(), Arc::new(super::AtomicBool::new(false)));
        let seen = flag.clone();
        let thread = Builder::new().spawn(move || {
            other.used();
            drop(other);
            seen.store(true, Ordering::Relaxed);
        });
        while !flag.load(Ordering::Acquire) {
            point();
        }
        drop(watched);
        thread.expect("a thread").join().expect("it ends");
    };
    assert!(message(early).contains("before it has seen its last use"));
}
