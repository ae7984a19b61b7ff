//! Disjoint pieces of one slice, written by several threads.
//!
//! The partition is the caller's and follows from lengths alone, so that the bits of a result do not depend on the
//! number of threads.

use std::marker::PhantomData;

use crate::pool::Pool;

/// A slice cut into chunks of equal length; the last one may be shorter.
pub(crate) struct Chunks<'a, T> {
    start: *mut T,
    length: usize,
    chunk: usize,
    slice: PhantomData<&'a mut [T]>,
}

// SAFETY: it stands for `&'a mut [T]`, which may be sent if `T` may. Test `every_element_is_visited_once`.
unsafe impl<T: Send> Send for Chunks<'_, T> {}
// SAFETY: through a shared reference only `take` reaches the elements, and its contract gives every chunk to one
// thread at a time. Test `every_element_is_visited_once`.
unsafe impl<T: Send> Sync for Chunks<'_, T> {}

impl<'a, T> Chunks<'a, T> {
    pub(crate) fn new(slice: &'a mut [T], chunk: usize) -> Self {
        assert!(chunk > 0, "a chunk has at least one element");
        Chunks { start: slice.as_mut_ptr(), length: slice.len(), chunk, slice: PhantomData }
    }

    fn count(&self) -> usize {
        self.length.div_ceil(self.chunk)
    }

    /// The chunk of this number; an empty slice behind the last one.
    ///
    /// # Safety
    /// While the slice is in use, no other one of the same number may be.
    #[expect(clippy::mut_from_ref, reason = "the caller promises that every chunk has one user")]
    pub(crate) unsafe fn take(&self, number: usize) -> &mut [T] {
        let first = number.saturating_mul(self.chunk).min(self.length);
        let length = self.chunk.min(self.length - first);
        // SAFETY: `first + length <= self.length`, so the chunk is inside the slice that `'a` borrows exclusively;
        // chunks of different numbers do not overlap, and the caller promises that nobody else has this one. Test
        // `every_element_is_visited_once`.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(first), length) }
    }
}

/// Calls `f(number, chunk)` for every chunk of `chunk` elements of `out` (the last one may be shorter) on the threads of
/// the pool. A slice of one chunk stays on the calling thread.
///
/// # Panics
/// If `chunk` is 0, or `f` panics.
///
/// ```
/// use wengert_kernels::{Pool, parallel::for_chunks};
/// let mut squares = [0; 10];
/// for_chunks(&Pool::new(2), &mut squares, 4, |number, chunk| {
///     for (k, square) in chunk.iter_mut().enumerate() {
///         *square = (4 * number + k).pow(2);
///     }
/// });
/// assert_eq!(squares[9], 81);
/// ```
pub fn for_chunks<T: Send>(pool: &Pool, out: &mut [T], chunk: usize, f: impl Fn(usize, &mut [T]) + Sync) {
    for_chunks_with(pool, out, chunk, &mut [] as &mut [u8], |number, chunk, _| f(number, chunk));
}

/// As [`for_chunks`], with scratch: it is divided into equal pieces, one for each thread, and `f` gets its thread's piece.
/// Its contents are undefined.
///
/// # Panics
/// If `chunk` is 0, or `f` panics.
///
/// ```
/// use wengert_kernels::{Pool, parallel::for_chunks_with};
/// let pool = Pool::new(2);
/// let (mut out, mut scratch) = ([3, 1, 2, 9, 8, 7], vec![0; 3 * pool.threads()]);
/// for_chunks_with(&pool, &mut out, 3, &mut scratch, |_, chunk, scratch| {
///     scratch.copy_from_slice(chunk);
///     scratch.sort_unstable();
///     chunk.copy_from_slice(scratch);
/// });
/// assert_eq!(out, [1, 2, 3, 7, 8, 9]);
/// ```
pub fn for_chunks_with<T: Send, S: Send>(
    pool: &Pool,
    out: &mut [T],
    chunk: usize,
    scratch: &mut [S],
    f: impl Fn(usize, &mut [T], &mut [S]) + Sync,
) {
    let piece = scratch.len() / pool.threads();
    let (chunks, pieces) = (Chunks::new(out, chunk), Chunks::new(scratch, piece.max(1)));
    if chunks.count() == 0 {
        return;
    }
    let part = |number: usize, thread: usize| {
        // SAFETY: the pool calls a part once, and no two threads have one number in one run: the chunk and the piece of
        // scratch have one user. Tests `every_element_is_visited_once` and `scratch_belongs_to_one_thread`.
        let (chunk, piece) = unsafe { (chunks.take(number), pieces.take(thread)) };
        f(number, chunk, piece);
    };
    if chunks.count() == 1 {
        return part(0, 0);
    }
    if let Err(panicked) = pool.run(chunks.count(), &part) {
        panic!("{}", panicked.message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn every_element_is_visited_once() {
        for threads in [1, 2, 3] {
            let pool = Pool::new(threads);
            for (length, chunk) in [(0, 1), (1, 1), (7, 3), (9, 3), (100, 1), (5, 100), (1000, 7)] {
                let mut out = vec![0usize; length];
                let calls = AtomicUsize::new(0);
                for_chunks(&pool, &mut out, chunk, |number, part| {
                    calls.fetch_add(1, Ordering::Relaxed);
                    assert!(part.len() == chunk || number == length / chunk);
                    part.iter_mut().enumerate().for_each(|(k, x)| *x += number * chunk + k + 1);
                });
                assert!(out.iter().enumerate().all(|(k, &x)| x == k + 1), "{length} by {chunk}");
                assert_eq!(calls.into_inner(), usize::div_ceil(length, chunk));
            }
        }
    }

    #[test]
    fn scratch_belongs_to_one_thread() {
        let pool = Pool::new(3);
        let (mut out, mut scratch) = (vec![0usize; 3000], vec![0usize; 30]);
        for_chunks_with(&pool, &mut out, 10, &mut scratch, |number, chunk, scratch| {
            assert_eq!(scratch.len(), 10);
            scratch.fill(number);
            std::thread::yield_now();
            chunk.copy_from_slice(scratch);
        });
        assert!(out.iter().enumerate().all(|(k, &x)| x == k / 10));
    }

    #[test]
    fn a_panic_reaches_the_caller_and_leaves_the_pool_usable() {
        let pool = Pool::new(2);
        let mut out = vec![0u8; 100];
        let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for_chunks(&pool, &mut out, 10, |number, _| assert_ne!(number, 3, "three is refused"));
        }));
        let message = refused.expect_err("it panics").downcast_ref::<String>().cloned().unwrap_or_default();
        assert!(message.contains("three is refused"), "{message}");
        for_chunks(&pool, &mut out, 10, |_, chunk| chunk.fill(1));
        assert_eq!(out, [1; 100]);
    }
}
