//! Two functions at the same time.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::Pool;

/// Calls two functions, at the same time if the pool has a thread for each.
///
/// # Panics
/// If one of them does.
pub(super) fn both<A: Send, B: Send>(
    pool: &Pool,
    one: impl FnOnce() -> A + Send,
    other: impl FnOnce() -> B + Send,
) -> (A, B) {
    fn once<R>(function: &Mutex<Option<impl FnOnce() -> R>>, result: &Mutex<Option<R>>) {
        let function = lock(function).take().expect("a part runs once");
        *lock(result) = Some(function());
    }
    let (one, other) = (Mutex::new(Some(one)), Mutex::new(Some(other)));
    let (first, second) = (Mutex::new(None), Mutex::new(None));
    let part = |number: usize, _: usize| if number == 0 { once(&one, &first) } else { once(&other, &second) };
    if let Err(panicked) = pool.run(2, &part) {
        panic!("{}", panicked.message);
    }
    (lock(&first).take().expect("it ran"), lock(&second).take().expect("it ran"))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_functions_run_once() {
        for threads in [1, 2, 3] {
            let pool = Pool::new(threads);
            let (mut one, mut other) = (vec![1, 2], String::from("a"));
            let results = both(
                &pool,
                || one.pop(),
                || {
                    other.push('b');
                    other.len()
                },
            );
            assert_eq!((results, one, other), ((Some(2), 2), vec![1], "ab".into()));
            let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                both(&pool, || (), || panic!("the other is refused"));
            }));
            let message = refused.expect_err("it panics").downcast_ref::<String>().cloned().unwrap_or_default();
            assert!(message.contains("the other is refused"), "{message}");
        }
    }
}
