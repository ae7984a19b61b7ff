//! Runs the pool's own code one thread at a time, in an order that a seed decides, to explore many random schedules.
//!
//! In the unit tests the pool takes its atomics, locks and threads from here. On a thread that [`explore`] has started each
//! of their operations is a point at which another thread may run; on any other thread they are those of `std`. Exactly
//! one thread runs between two points, so a schedule is a function of its seed. It finds threads that wait for one another
//! for ever, and threads that never end; parts that run twice or not at all, by the tests' own counts; and reads
//! of something that has ended, or without an ordering that makes its writes visible. For that every thread, lock and atomic has a
//! vector clock (L. Lamport, *Time, clocks, and the ordering of events in a distributed system*, 1978), which an operation
//! passes on as far as its [`Ordering`] does. It does not find faults that need a reader to see
//! *writes* in another order than they happened: the interleavings are sequentially consistent.

use std::cell::RefCell;
use std::fmt;
use std::io;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::Ordering;
use std::sync::{self as real, Arc, LockResult, PoisonError, TryLockError};

/// The number of steps after which a schedule counts as endless.
const MOST_STEPS: usize = 50_000;

/// How much a thread has seen of every other one.
type Clock = Vec<u64>;

fn join(clock: &mut Clock, other: &Clock) {
    clock.resize(clock.len().max(other.len()), 0);
    clock.iter_mut().zip(other).for_each(|(own, other)| *own = (*own).max(*other));
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Ready,
    /// For the lock at this address.
    Locked(usize),
    /// In the condition variable at this address.
    Waiting(usize),
    /// For the end of this thread.
    Joining(usize),
    Done,
}

/// A watched object: when it was made, and when each thread last used it.
#[derive(Debug)]
struct Watch {
    made: (usize, u64),
    used: Clock,
    ended: bool,
}

#[derive(Debug)]
struct State {
    turn: usize,
    threads: Vec<(Status, Clock)>,
    random: u64,
    /// Whether threads may wake spuriously.
    spurious: bool,
    steps: usize,
    watches: Vec<Watch>,
    failure: Option<String>,
}

#[derive(Debug)]
struct Execution {
    state: real::Mutex<State>,
    changed: real::Condvar,
}

thread_local! {
    /// The execution that this thread is part of, and its number there.
    static HERE: RefCell<Option<(Arc<Execution>, usize)>> = const { RefCell::new(None) };
}

fn here() -> Option<(Arc<Execution>, usize)> {
    HERE.with_borrow(Clone::clone)
}

impl State {
    fn draw(&mut self, bound: usize) -> usize {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) as usize % bound
    }

    fn wake(&mut self, which: impl Fn(Status) -> bool) {
        self.threads.iter_mut().filter(|(status, _)| which(*status)).for_each(|(status, _)| *status = Status::Ready);
    }

    fn wake_one(&mut self, place: usize) {
        let waiting = |state: &Self| -> Vec<usize> {
            let is = |k: &usize| state.threads[*k].0 == Status::Waiting(place);
            (0..state.threads.len()).filter(is).collect()
        };
        let all = waiting(self);
        if !all.is_empty() {
            let chosen = all[self.draw(all.len())];
            self.threads[chosen].0 = Status::Ready;
        }
    }

    /// Chooses the thread that runs after thread `me`.
    fn choose(&mut self, me: usize) {
        self.steps += 1;
        if self.spurious && self.draw(16) == 0 {
            self.wake(|status| matches!(status, Status::Waiting(_)));
        }
        let ready: Vec<usize> = (0..self.threads.len()).filter(|&k| self.threads[k].0 == Status::Ready).collect();
        let stays = ready.contains(&me) && self.draw(3) > 0;
        match ready.len() {
            _ if stays => {}
            0 if self.threads.iter().all(|(status, _)| *status == Status::Done) => {}
            0 => {
                let all: Vec<Status> = self.threads.iter().map(|(status, _)| *status).collect();
                self.failure.get_or_insert(format!("all threads wait: {all:?}"));
            }
            count => self.turn = ready[self.draw(count)],
        }
        if self.steps > MOST_STEPS {
            self.failure.get_or_insert("it does not end".to_owned());
        }
    }
}

impl Execution {
    fn state(&self) -> real::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the chosen thread run, and returns when that is `me`. After a failure no thread runs.
    fn switch(&self, me: usize, status: Status) {
        let mut state = self.state();
        state.threads[me].0 = status;
        state.threads[me].1[me] += 1;
        state.choose(me);
        self.changed.notify_all();
        while state.turn != me || state.failure.is_some() || state.threads[me].0 != Status::Ready {
            if state.threads[me].0 == Status::Done {
                return;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Starts a thread of this execution with what its parent has seen.
    fn spawn(self: &Arc<Self>, parent: Option<usize>, f: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
        let number = {
            let mut state = self.state();
            let number = state.threads.len();
            let mut clock = parent.map_or(Clock::new(), |parent| state.threads[parent].1.clone());
            clock.resize(number + 1, 0);
            clock[number] = 1;
            state.threads.push((Status::Ready, clock));
            number
        };
        let execution = self.clone();
        let body = move || {
            HERE.set(Some((execution.clone(), number)));
            {
                let mut state = execution.state();
                while state.turn != number || state.failure.is_some() {
                    state = execution.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
            }
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f));
            if let Err(panic) = outcome {
                let text = panic.downcast_ref::<String>().cloned();
                let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
                execution.state().failure.get_or_insert(text.unwrap_or_default());
            }
            execution.state().wake(|status| status == Status::Joining(number));
            execution.switch(number, Status::Done);
        };
        std::thread::Builder::new().spawn(body)?;
        Ok(JoinHandle(Awaited::Modelled(number)))
    }
}

/// Runs `body` under this many schedules; each is a thread of its own, which may start others.
///
/// # Panics
/// With the seed and what went wrong.
pub(super) fn explore(schedules: u64, body: impl Fn() + Send + Sync + Clone + 'static) {
    for seed in 0..schedules {
        let state = State {
            turn: 0,
            threads: Vec::new(),
            random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5eed,
            spurious: seed % 2 == 1,
            steps: 0,
            watches: Vec::new(),
            failure: None,
        };
        let execution = Arc::new(Execution { state: real::Mutex::new(state), changed: real::Condvar::new() });
        execution.spawn(None, body.clone()).expect("the system has a thread left");
        let mut state = execution.state();
        while state.failure.is_none() && !state.threads.iter().all(|(status, _)| *status == Status::Done) {
            state = execution.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if let Some(failure) = &state.failure {
            // Waiting threads are left behind.
            panic!("schedule {seed}, step {}: {failure}", state.steps);
        }
    }
}

/// A point at which another thread may run.
pub(super) fn point() {
    if let Some((execution, me)) = here() {
        execution.switch(me, Status::Ready);
    }
}

/// In an execution: whether a thread that waits goes on spinning, by chance.
pub(super) fn pause() -> Option<bool> {
    let (execution, me) = here()?;
    execution.switch(me, Status::Ready);
    Some(execution.state().draw(3) == 0)
}

// ---- memory ---------------------------------------------------------------------------------------

/// What was released at a place.
#[derive(Debug)]
struct Location(real::Mutex<Clock>);

impl Location {
    const fn new() -> Location {
        Location(real::Mutex::new(Clock::new()))
    }

    fn pass(&self, acquires: bool, releases: bool, keeps: bool) {
        let Some((execution, me)) = here() else { return };
        let mut state = execution.state();
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if acquires {
            join(&mut state.threads[me].1, &place);
        }
        if !keeps {
            place.clear();
        }
        if releases {
            join(&mut place, &state.threads[me].1);
        }
    }
}

fn acquires(order: Ordering) -> bool {
    matches!(order, Ordering::Acquire | Ordering::AcqRel | Ordering::SeqCst)
}

fn releases(order: Ordering) -> bool {
    matches!(order, Ordering::Release | Ordering::AcqRel | Ordering::SeqCst)
}

macro_rules! atomic {
    ($name:ident $(<$t:ident>)?, $value:ty) => {
        pub(crate) struct $name $(<$t>)? {
            value: real::atomic::$name $(<$t>)?,
            location: Location,
        }

        impl $(<$t>)? fmt::Debug for $name $(<$t>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.value.fmt(f)
            }
        }

        impl $(<$t>)? $name $(<$t>)? {
            pub(crate) const fn new(value: $value) -> Self {
                Self { value: real::atomic::$name::new(value), location: Location::new() }
            }
            pub(crate) fn load(&self, order: Ordering) -> $value {
                point();
                self.location.pass(acquires(order), false, true);
                self.value.load(Ordering::SeqCst)
            }
        }
    };
}

atomic!(AtomicBool, bool);
atomic!(AtomicU64, u64);
atomic!(AtomicUsize, usize);
atomic!(AtomicPtr<T>, *mut T);

macro_rules! store {
    ($name:ident $(<$t:ident>)?, $value:ty) => {
        impl $(<$t>)? $name $(<$t>)? {
            pub(crate) fn store(&self, value: $value, order: Ordering) {
                point();
                self.location.pass(false, releases(order), false);
                self.value.store(value, Ordering::SeqCst);
            }
        }
    };
}

store!(AtomicBool, bool);
store!(AtomicU64, u64);
store!(AtomicPtr<T>, *mut T);

macro_rules! change {
    ($name:ident, $value:ty: $($method:ident)*) => {
        impl $name {$(
            pub(crate) fn $method(&self, value: $value, order: Ordering) -> $value {
                point();
                self.location.pass(acquires(order), releases(order), true);
                self.value.$method(value, Ordering::SeqCst)
            }
        )*}
    };
}

change!(AtomicBool, bool: swap);
change!(AtomicU64, u64: fetch_and fetch_or fetch_sub);
change!(AtomicUsize, usize: fetch_add fetch_sub);

impl AtomicU64 {
    pub(crate) fn compare_exchange(&self, old: u64, new: u64, good: Ordering, bad: Ordering) -> Result<u64, u64> {
        point();
        let result = self.value.compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst);
        match result {
            Ok(_) => self.location.pass(acquires(good), releases(good), true),
            Err(_) => self.location.pass(acquires(bad), false, true),
        }
        result
    }
}

/// Something that lives on a stack and is used by other threads: every use has to come after it was made, and its end
/// after every use, by an order that the atomics give.
#[derive(Debug)]
pub(crate) struct Watched(Option<usize>);

impl Watched {
    pub(crate) fn new() -> Watched {
        Watched(here().map(|(execution, me)| {
            let mut state = execution.state();
            let made = (me, state.threads[me].1[me]);
            state.watches.push(Watch { made, used: Clock::new(), ended: false });
            state.watches.len() - 1
        }))
    }

    /// Another thread, or this one, looks at it.
    pub(crate) fn used(&self) {
        let (Some(number), Some((execution, me))) = (self.0, here()) else { return };
        let mut guard = execution.state();
        let state = &mut *guard;
        let (clock, watch) = (&state.threads[me].1, &mut state.watches[number]);
        let (maker, made) = watch.made;
        if watch.ended || clock.get(maker).is_none_or(|&seen| seen < made) {
            let when = if watch.ended { "after its end" } else { "without having seen that it was made" };
            state.failure.get_or_insert(format!("thread {me} uses a run {when}"));
            return;
        }
        watch.used.resize(watch.used.len().max(me + 1), 0);
        watch.used[me] = clock[me];
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let (Some(number), Some((execution, me))) = (self.0, here()) else { return };
        let mut guard = execution.state();
        let state = &mut *guard;
        let (clock, watch) = (&state.threads[me].1, &mut state.watches[number]);
        watch.ended = true;
        let unseen = |(k, used): (usize, &u64)| *used > clock.get(k).copied().unwrap_or(0);
        if watch.used.iter().enumerate().any(unseen) {
            state.failure.get_or_insert(format!("thread {me} ends a run before it has seen its last use"));
        }
    }
}

// ---- locks ------------------------------------------------------------------------------------------

#[derive(Debug)]
pub(crate) struct Mutex<T> {
    inner: real::Mutex<T>,
    location: Location,
}

pub(crate) struct MutexGuard<'a, T> {
    mutex: &'a Mutex<T>,
    guard: Option<real::MutexGuard<'a, T>>,
}

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Mutex<T> {
        Mutex { inner: real::Mutex::new(value), location: Location::new() }
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    pub(crate) fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let with = |guard| MutexGuard { mutex: self, guard: Some(guard) };
        let Some((execution, me)) = here() else {
            return self.inner.lock().map(with).map_err(|poisoned| PoisonError::new(with(poisoned.into_inner())));
        };
        execution.switch(me, Status::Ready);
        loop {
            match self.inner.try_lock() {
                Ok(guard) => {
                    self.location.pass(true, false, true);
                    return Ok(with(guard));
                }
                Err(TryLockError::Poisoned(poisoned)) => return Err(PoisonError::new(with(poisoned.into_inner()))),
                Err(TryLockError::WouldBlock) => execution.switch(me, Status::Locked(self.address())),
            }
        }
    }

    pub(crate) fn into_inner(self) -> LockResult<T> {
        self.inner.into_inner()
    }

    pub(crate) fn get_mut(&mut self) -> LockResult<&mut T> {
        self.inner.get_mut()
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        self.guard.as_ref().expect("it is locked")
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.guard.as_mut().expect("it is locked")
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        if self.guard.is_some() {
            self.mutex.location.pass(false, true, true);
            self.guard = None;
            if let Some((execution, _)) = here() {
                let address = self.mutex.address();
                execution.state().wake(|status| status == Status::Locked(address));
            }
        }
    }
}

#[derive(Debug)]
pub(crate) struct Condvar(real::Condvar);

impl Condvar {
    pub(crate) const fn new() -> Condvar {
        Condvar(real::Condvar::new())
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    pub(crate) fn wait<'a, T>(&self, mut guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        let mutex = guard.mutex;
        let Some((execution, me)) = here() else {
            let inner = guard.guard.take().expect("it is locked");
            let with = |guard| MutexGuard { mutex, guard: Some(guard) };
            return self.0.wait(inner).map(with).map_err(|poisoned| PoisonError::new(with(poisoned.into_inner())));
        };
        // No other thread runs between the two, so a wake is lost only if it would be lost in reality.
        drop(guard);
        execution.switch(me, Status::Waiting(self.address()));
        mutex.lock()
    }

    pub(crate) fn notify_one(&self) {
        match here() {
            Some((execution, _)) => {
                point();
                execution.state().wake_one(self.address());
            }
            None => self.0.notify_one(),
        }
    }

    pub(crate) fn notify_all(&self) {
        match here() {
            Some((execution, _)) => {
                point();
                let address = self.address();
                execution.state().wake(|status| status == Status::Waiting(address));
            }
            None => self.0.notify_all(),
        }
    }
}

// ---- threads ----------------------------------------------------------------------------------------

#[derive(Debug)]
pub(crate) struct JoinHandle<T>(Awaited<T>);

#[derive(Debug)]
enum Awaited<T> {
    Real(std::thread::JoinHandle<T>),
    Modelled(usize),
}

impl JoinHandle<()> {
    pub(crate) fn join(self) -> std::thread::Result<()> {
        let number = match self.0 {
            Awaited::Real(handle) => return handle.join(),
            Awaited::Modelled(number) => number,
        };
        let (execution, me) = here().expect("it is joined where it was started");
        loop {
            let clock = {
                let state = execution.state();
                let (status, clock) = &state.threads[number];
                (*status == Status::Done).then(|| clock.clone())
            };
            match clock {
                Some(clock) => {
                    join(&mut execution.state().threads[me].1, &clock);
                    return Ok(());
                }
                None => execution.switch(me, Status::Joining(number)),
            }
        }
    }
}

/// The part of `std::thread::Builder` that the pool uses.
pub(crate) struct Builder(std::thread::Builder);

impl Builder {
    pub(crate) fn new() -> Builder {
        Builder(std::thread::Builder::new())
    }

    pub(crate) fn name(self, name: String) -> Builder {
        Builder(self.0.name(name))
    }

    pub(crate) fn spawn(self, f: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
        match here() {
            Some((execution, me)) => execution.spawn(Some(me), f),
            None => self.0.spawn(f).map(|handle| JoinHandle(Awaited::Real(handle))),
        }
    }
}
