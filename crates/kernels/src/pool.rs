//! A few threads that share the parts of one piece of work.
//!
//! The work is a function of the part's number. Threads claim parts from one counter, so which
//! thread computes which part is a matter of chance; a result has the same bits for any number of
//! threads if the *partition* depends on the shape of the data alone and every part writes a
//! place of its own. That is the caller's half of the promise.
//!
//! Between runs a worker spins for a few microseconds, then gives its time slice away, then
//! parks. Regions that follow one another find the workers awake and cost less than a
//! microsecond to enter; a program that computes nothing costs nothing.
//!
//! # The protocol
//!
//! A run lives on its caller's stack. One word of the pool says whether a run is open, which one it
//! is, and how many workers are inside. A worker may look at the run only after it has counted
//! itself in while the word said open; the caller closes the word and leaves only when the count
//! is zero. A worker that wakes late finds the word closed and goes back to sleep, so nobody waits
//! for a thread that has nothing to do. The unit tests run this code under schedules that a seed
//! decides, with the orderings checked (`pool/model.rs`).

use std::any::Any;
use std::cell::Cell;
use std::error::Error;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::Ordering;
#[cfg(not(test))]
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize};
use std::sync::{Arc, PoisonError};
#[cfg(not(test))]
use std::sync::{Condvar, Mutex, MutexGuard};
use std::thread;
#[cfg(not(test))]
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

#[cfg(test)]
use model::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Builder, Condvar, JoinHandle, Mutex, MutexGuard};

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

/// How long a thread without work spins before it gives its time slices away.
const SPIN: Duration = Duration::from_micros(8);
/// How long it gives them away before it parks. Waking a parked thread costs its caller a few
/// microseconds and the thread itself some tens, so it pays to wait about that long.
const YIELD: Duration = Duration::from_micros(100);

/// The run in the word is open: workers may count themselves in.
const OPEN: u64 = 1 << 63;
/// The caller has parked and wants to be woken by the worker that counts itself out last.
const WAITING: u64 = 1 << 62;
/// The low half counts the workers inside; between it and the flags is the number of the run.
const COUNT: u64 = (1 << 32) - 1;
/// Bits of the run's number, which tells a worker that it has not yet been in this one.
const RUN: u64 = !(OPEN | WAITING | COUNT);

/// A part of a run panicked: what [`Pool::run`] returns instead of unwinding through other threads.
///
/// ```
/// use wengert_kernels::Pool;
/// let error = Pool::new(2).run(8, &|part, _| assert_ne!(part, 5, "five is refused")).unwrap_err();
/// assert!(error.message.contains("five is refused"));
/// assert!(error.to_string().starts_with("a part of the work panicked: "));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panicked {
    /// What the first panic said, or a phrase that says it was not text.
    pub message: String,
}

impl fmt::Display for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a part of the work panicked: {}", self.message)
    }
}

impl Error for Panicked {}

/// Threads that run the parts of a piece of work; see [`Pool::run`].
///
/// A pool may be shared and dropped by any thread. Dropping it joins its workers.
#[derive(Debug)]
pub struct Pool {
    shared: Arc<Shared>,
    threads: usize,
    /// Whether the workers have been started; spares a lock on every run after the first.
    started: AtomicBool,
    workers: Mutex<Vec<JoinHandle<()>>>,
    /// Held by the thread whose run is in the word.
    busy: AtomicBool,
}

/// What the workers see.
#[derive(Debug)]
struct Shared {
    /// [`OPEN`], [`WAITING`], the number of the run, the number of workers inside.
    word: AtomicU64,
    /// The run that the word speaks of. It may be read only by a worker that is counted.
    run: AtomicPtr<Run<'static>>,
    /// Workers that have parked or are about to.
    sleepers: AtomicUsize,
    /// Set once, when the pool is dropped.
    closing: AtomicBool,
    /// Guards nothing but the moments between looking and parking.
    lock: Mutex<()>,
    /// Wakes workers.
    work: Condvar,
    /// Wakes the caller.
    done: Condvar,
}

/// One piece of work, on the stack of its caller.
struct Run<'a> {
    function: &'a (dyn Fn(usize, usize) + Sync),
    parts: usize,
    /// The next part that nobody has claimed.
    next: AtomicUsize,
    /// A part has panicked; no further one is begun.
    stopped: AtomicBool,
    message: Mutex<Option<String>>,
    #[cfg(test)]
    watched: model::Watched,
}

thread_local! {
    /// The pool whose part this thread is running, by address, and its number there.
    static CURRENT: Cell<(*const Shared, usize)> = const { Cell::new((ptr::null(), 0)) };
}

impl Pool {
    /// The most threads of one pool. Linux gives a process 65,530 memory mappings, and a thread takes four (its stack
    /// and that of its signals, each with a guard page): some ten thousand threads end the process while they start,
    /// before any code of ours can give an error. No machine that we know of has as many cores as this.
    pub const MOST: usize = 1024;

    /// A pool of `threads` threads, the caller among them: 1 (and 0) mean no workers at all, more than [`Pool::MOST`]
    /// mean that many.
    ///
    /// The workers are started by the first run that has something for them. If the system
    /// refuses to start some, the others do their work.
    ///
    /// ```
    /// assert_eq!(wengert_kernels::Pool::new(3).threads(), 3);
    /// assert_eq!(wengert_kernels::Pool::new(0).threads(), 1);
    /// assert_eq!(wengert_kernels::Pool::new(20_000).threads(), wengert_kernels::Pool::MOST);
    /// ```
    pub fn new(threads: usize) -> Pool {
        Pool {
            shared: Arc::new(Shared {
                word: AtomicU64::new(0),
                run: AtomicPtr::new(ptr::null_mut()),
                sleepers: AtomicUsize::new(0),
                closing: AtomicBool::new(false),
                lock: Mutex::new(()),
                work: Condvar::new(),
                done: Condvar::new(),
            }),
            threads: threads.clamp(1, Pool::MOST),
            started: AtomicBool::new(false),
            workers: Mutex::new(Vec::new()),
            busy: AtomicBool::new(false),
        }
    }

    /// The number of threads, the caller among them; every `worker` that a part sees is below it.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Calls `function(part, worker)` once for every part in `0..parts`, and returns when all are done.
    ///
    /// `worker` is 0 on the calling thread and 1, 2, … on the workers; no two threads have the
    /// same number in one run, so it may name the scratch space of a thread. Nothing is allocated,
    /// except by the first run, which starts the workers.
    ///
    /// A run inside a part of the same pool is done in place by the thread that calls it, under
    /// that thread's number. When several threads call `run` at the same time, one has the
    /// workers and each other does its parts alone, as number 0 of
    /// its own run: it neither waits for work that it knows nothing of, nor can it deadlock with a
    /// part that waits for it.
    ///
    /// # Errors
    ///
    /// [`Panicked`] if a part panics. Parts that have begun are finished, the others are
    /// skipped, and the pool can be used again.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU64, Ordering};
    /// use wengert_kernels::Pool;
    ///
    /// let (pool, numbers) = (Pool::new(2), [1, 2, 3, 4, 5]);
    /// let sum = AtomicU64::new(0);
    /// pool.run(numbers.len(), &|part, _worker| {
    ///     sum.fetch_add(numbers[part], Ordering::Relaxed);
    /// })?;
    /// assert_eq!(sum.into_inner(), 15);
    /// # Ok::<(), wengert_kernels::Panicked>(())
    /// ```
    pub fn run(&self, parts: usize, function: &(dyn Fn(usize, usize) + Sync)) -> Result<(), Panicked> {
        let (current, number) = CURRENT.get();
        let is_inside = ptr::eq(current, Arc::as_ptr(&self.shared));
        if is_inside || parts <= 1 || self.threads == 1 || self.busy.swap(true, Ordering::Acquire) {
            return alone(&self.shared, if is_inside { number } else { 0 }, parts, function);
        }
        let run = Run {
            function,
            parts,
            next: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
            message: Mutex::new(None),
            #[cfg(test)]
            watched: model::Watched::new(),
        };
        self.start();
        self.share(&run);
        self.busy.store(false, Ordering::Release);
        match run.message.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(message) => Err(Panicked { message }),
            None => Ok(()),
        }
    }

    /// Starts the workers, once. Only the thread that holds `busy` comes here.
    fn start(&self) {
        if self.started.load(Ordering::Relaxed) {
            return;
        }
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        for number in 1..self.threads {
            let shared = Arc::clone(&self.shared);
            let name = format!("wengert-{number}");
            match Builder::new().name(name).spawn(move || shared.serve(number)) {
                Ok(handle) => workers.push(handle),
                // A system that has no thread left today may have none tomorrow: asking before
                // every run would cost more than it can gain.
                Err(_) => break,
            }
        }
        self.started.store(true, Ordering::Relaxed);
    }

    /// Opens `run` to the workers, works on it, and waits until no worker is in it.
    fn share(&self, run: &Run<'_>) {
        let shared = &*self.shared;
        shared.run.store(ptr::from_ref(run).cast_mut().cast(), Ordering::Relaxed);
        // Only this thread changes a closed word, so the number cannot change in between.
        let last = shared.word.load(Ordering::Relaxed);
        let opened = OPEN | ((last & RUN).wrapping_add(COUNT + 1) & RUN);
        // Sequentially consistent, as are the sleepers' steps: either this thread sees the sleeper,
        // or the sleeper sees the open word.
        shared.word.store(opened, Ordering::SeqCst);
        if shared.sleepers.load(Ordering::SeqCst) > 0 {
            shared.wake(run.parts - 1);
        }
        // It catches every panic, so the closing below is always reached.
        run.work(shared, 0);
        shared.close();
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::SeqCst);
        {
            let _lock = self.shared.guard();
            self.shared.work.notify_all();
        }
        for worker in self.workers.get_mut().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // A worker cannot panic, since it catches what its parts throw; if it did, there is
            // nobody to tell.
            let _ = worker.join();
        }
    }
}

impl Shared {
    /// Takes the lock, which guards no data and so cannot be left broken.
    fn guard(&self) -> MutexGuard<'_, ()> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes as many parked workers as there are parts for them.
    fn wake(&self, parts: usize) {
        let _lock = self.guard();
        if parts >= self.sleepers.load(Ordering::Relaxed) {
            self.work.notify_all();
        } else {
            (0..parts).for_each(|_| self.work.notify_one());
        }
    }

    /// Closes the word and waits until the last worker has counted itself out.
    fn close(&self) {
        let mut word = self.word.fetch_and(!OPEN, Ordering::Acquire);
        let mut pause = Pause::new();
        while word & COUNT != 0 {
            if !pause.again() {
                let mut lock = self.guard();
                word = self.word.fetch_or(WAITING, Ordering::Acquire);
                while word & COUNT != 0 {
                    lock = self.done.wait(lock).unwrap_or_else(PoisonError::into_inner);
                    word = self.word.load(Ordering::Acquire);
                }
                return;
            }
            word = self.word.load(Ordering::Acquire);
        }
    }

    /// The life of worker `number`.
    fn serve(&self, number: usize) {
        let mut last = 0;
        while let Some(word) = self.next_run(last) {
            last = word & RUN;
            // The compare in it fails if the run was closed, or another worker came or left.
            if self.word.compare_exchange(word, word + 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
                last = last.wrapping_sub(COUNT + 1) & RUN;
                continue;
            }
            let run = self.run.load(Ordering::Relaxed);
            // SAFETY: the pointer was stored before the word was opened, and this thread has
            // counted itself into the open word with acquire ordering, so it reads the pointer to
            // the run that is open. That run is on the stack of `share`, which does not return
            // before the count is zero, and it is only ever shared (`Run` is `Sync`). The lifetime
            // 'static is not let out of `work`. Test `borrowed_data_is_seen_by_all_parts`.
            unsafe { &*run }.work(self, number);
            let before = self.word.fetch_sub(1, Ordering::Release);
            if before & WAITING != 0 && before & COUNT == 1 {
                let _lock = self.guard();
                self.done.notify_all();
            }
        }
    }

    /// Waits for a word that is open with a run other than `last`; nothing when the pool is dropped.
    fn next_run(&self, last: u64) -> Option<u64> {
        let fresh = |word: u64| word & OPEN != 0 && word & RUN != last;
        let mut pause = Pause::new();
        loop {
            let word = self.word.load(Ordering::Relaxed);
            if fresh(word) {
                return Some(word);
            }
            if self.closing.load(Ordering::Relaxed) {
                return None;
            }
            if pause.again() {
                continue;
            }
            let mut lock = self.guard();
            self.sleepers.fetch_add(1, Ordering::SeqCst);
            // Woken too late for a run, a thread is awake for the next one: it pauses again first.
            if !fresh(self.word.load(Ordering::SeqCst)) && !self.closing.load(Ordering::SeqCst) {
                lock = self.work.wait(lock).unwrap_or_else(PoisonError::into_inner);
            }
            self.sleepers.fetch_sub(1, Ordering::SeqCst);
            drop(lock);
            pause = Pause::new();
        }
    }
}

/// Runs all parts on this thread, in order: without the counter from which threads claim them, because a small region takes
/// little longer than a few accesses to memory that others might see.
fn alone(
    shared: &Shared,
    number: usize,
    parts: usize,
    function: &(dyn Fn(usize, usize) + Sync),
) -> Result<(), Panicked> {
    let outer = CURRENT.replace((shared, number));
    let result = catch_unwind(AssertUnwindSafe(|| (0..parts).for_each(|part| function(part, number))));
    CURRENT.set(outer);
    result.map_err(|payload| Panicked { message: message_of(payload) })
}

impl Run<'_> {
    /// Claims parts until none is left. Never unwinds.
    fn work(&self, shared: &Shared, number: usize) {
        #[cfg(test)]
        self.watched.used();
        let outer = CURRENT.replace((shared, number));
        let result = catch_unwind(AssertUnwindSafe(|| {
            while !self.stopped.load(Ordering::Relaxed) {
                let part = self.next.fetch_add(1, Ordering::Relaxed);
                if part >= self.parts {
                    break;
                }
                (self.function)(part, number);
            }
        }));
        CURRENT.set(outer);
        if let Err(payload) = result {
            self.stopped.store(true, Ordering::Relaxed);
            let message = message_of(payload);
            let mut first = self.message.lock().unwrap_or_else(PoisonError::into_inner);
            first.get_or_insert(message);
        }
        #[cfg(test)]
        self.watched.used();
    }
}

/// The text of a panic.
fn message_of(payload: Box<dyn Any + Send>) -> String {
    let message = match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (_, Some(text)) => text.clone(),
        _ => "the panic carried no text".to_owned(),
    };
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        // A payload may panic when it is dropped, and so may what that panic carries. One level
        // is caught; the second is leaked, because a worker that unwinds would never count itself out.
        std::mem::forget(second);
    }
    message
}

/// Spins, then gives time slices away, for a bounded time.
struct Pause {
    begun: Option<Instant>,
}

impl Pause {
    fn new() -> Pause {
        Pause { begun: None }
    }

    /// Waits for a moment. False if it is time to park.
    fn again(&mut self) -> bool {
        #[cfg(test)]
        if let Some(again) = model::pause() {
            return again;
        }
        // Looking at the clock costs about as much as these pauses together.
        for _ in 0..8 {
            std::hint::spin_loop();
        }
        let waited = self.begun.get_or_insert_with(Instant::now).elapsed();
        if waited > SPIN {
            thread::yield_now();
        }
        waited < SPIN + YIELD
    }
}
