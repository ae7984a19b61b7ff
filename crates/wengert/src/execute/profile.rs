//! Where the time of plans goes: step by step, beside what the machine can do.
//!
//! [`collect`] profiles what a function runs, [`Plan::profile`](crate::plan::Plan::profile) one plan. Without a change
//! of code: with `profile` in the environment variable `WENGERT_LOG` every plan is profiled, and the tables are printed
//! to the standard error when the last thread that ran one ends, which is usually the end of the process; [`report`]
//! gives them before. With `plan` in it, every new plan is printed as
//! [`Plan::explain`](crate::plan::Plan::explain) has it; with `instructions`, those of its regions too.
//!
//! A profiled run reads the clock twice for every step. When nothing is profiled, a run checks one flag.

mod table;
#[cfg(all(test, feature = "text"))]
mod tests;

use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use wengert_kernels::pool::Pool;
use wengert_kernels::probe;

use super::engine::{Memory, Results};
use crate::array::Array;
use crate::error::Error;
use crate::optimize::logs;
use crate::plan::{Detail, Plan, StepInfo, Summary};

/// What was measured of a plan.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The plan in one line.
    pub plan: String,
    /// What its steps take together.
    pub summary: Summary,
    /// How many threads it runs on.
    pub threads: usize,
    /// How often it ran; runs that failed are left out.
    pub runs: u64,
    /// The time of all runs. What is not in a step is spent on results and operands.
    pub time: Duration,
    /// Every step with its time; the branches of a condition are part of it.
    pub steps: Vec<StepTime>,
}

/// A step and the time of all its runs.
#[derive(Clone, Debug)]
pub struct StepTime {
    /// What the step does.
    pub info: StepInfo,
    /// The time of all runs.
    pub time: Duration,
}

/// What the machine can do at best, as a small probe measures it: [`Limits::get`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Bytes per second that a copy reads and writes, of arrays larger than the caches.
    pub bandwidth: f64,
    /// Operations per second on single precision, a multiply-add being two.
    pub peak_f32: f64,
    /// The same in double precision.
    pub peak_f64: f64,
}

impl Limits {
    /// Measures the machine with this many threads. It takes about half a second, and some memory.
    ///
    /// ```
    /// let limits = wengert::profile::Limits::measure(1);
    /// assert!(limits.bandwidth > 0.0 && limits.peak_f64 > 0.0);
    /// ```
    pub fn measure(threads: usize) -> Self {
        Limits {
            bandwidth: probe::copy_bandwidth(threads),
            peak_f32: probe::peak_f32(threads),
            peak_f64: probe::peak_f64(threads),
        }
    }

    /// The limits with this many threads; they are measured once in a process.
    pub fn get(threads: usize) -> Self {
        static KNOWN: Mutex<Vec<(usize, Limits)>> = Mutex::new(Vec::new());
        let mut known = locked(&KNOWN);
        if let Some((_, limits)) = known.iter().find(|(own, _)| *own == threads) {
            return *limits;
        }
        let limits = Limits::measure(threads);
        known.push((threads, limits));
        limits
    }
}

impl Profile {
    fn new(plan: &Plan) -> Self {
        let step = |info| StepTime { info, time: Duration::ZERO };
        Profile {
            plan: plan.headline(),
            summary: plan.summary(),
            threads: plan.options().threads,
            runs: 0,
            time: Duration::ZERO,
            steps: plan.step_infos().into_iter().map(step).collect(),
        }
    }

    /// Adds a run, if it came to its end.
    fn add(&mut self, run: &RunTimes) {
        self.runs += 1;
        self.time += run.time;
        for (step, time) in self.steps.iter_mut().zip(&run.steps) {
            step.time += *time;
        }
    }
}

/// The times of one run.
struct RunTimes {
    time: Duration,
    steps: Vec<Duration>,
}

fn timed(plan: &Plan, memory: &mut Memory, pool: &Pool) -> Result<(Results, RunTimes), Error> {
    let mut steps: Vec<Duration> = Vec::with_capacity(plan.step_count());
    let start = Instant::now();
    let results = plan.run(memory, pool, Some(&mut |_, time| steps.push(time)))?;
    Ok((results, RunTimes { time: start.elapsed(), steps }))
}

impl Plan {
    /// Runs the plan repeatedly for `time`, at least once, and says where the time went. One run before is not
    /// counted: it touches the memory for the first time.
    ///
    /// ```
    /// use std::time::Duration;
    /// use wengert::plan::{Options, Plan};
    /// use wengert::{Array, Program};
    /// let text = "program(v0: f64[3]) { v1: f64[3] = exp v0; v2: f64[] = sum[axes=[0]] v1; return v2 }";
    /// let plan = Plan::new(&text.parse::<Program>()?, &Options::default())?;
    /// let profile = plan.profile(&[Array::new(&[3], vec![0.0, 1.0, 2.0])], Duration::ZERO)?;
    /// assert_eq!((profile.runs, profile.steps.len()), (1, 1));
    /// # Ok::<(), wengert::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of a run: inputs that do not fit, no memory, an index out of range.
    pub fn profile(&self, inputs: &[Array], time: Duration) -> Result<Profile, Error> {
        let pool = Pool::new(self.options().threads.max(1));
        let mut memory = self.memory()?;
        self.fill(&mut memory, inputs)?;
        self.run(&mut memory, &pool, None)?;
        let mut profile = Profile::new(self);
        let start = Instant::now();
        while profile.runs == 0 || start.elapsed() < time {
            self.fill(&mut memory, inputs)?;
            let (_, run) = timed(self, &mut memory, &pool)?;
            profile.add(&run);
        }
        Ok(profile)
    }
}

/// The profile of one plan of the executor, made when it is profiled first.
#[derive(Debug, Default)]
pub(super) struct ProfileCell(Arc<OnceLock<SharedProfile>>);

type SharedProfile = Arc<Mutex<Profile>>;

/// How many ask for profiles: the environment, and every running [`collect`].
static ASKED: LazyLock<AtomicUsize> = LazyLock::new(|| AtomicUsize::new(usize::from(*LOGS_PROFILES)));
static LOGS_PROFILES: LazyLock<bool> = LazyLock::new(|| logs("profile"));
static LOGS_PLANS: LazyLock<Option<Detail>> = LazyLock::new(|| match (logs("plan"), logs("instructions")) {
    (_, true) => Some(Detail::Instructions),
    (true, false) => Some(Detail::Steps),
    (false, false) => None,
});
/// The profiles that the environment asked for, in the order in which their plans ran first.
static PROFILES: Mutex<Vec<SharedProfile>> = Mutex::new(Vec::new());
/// Threads that have run a profiled plan and have not ended.
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// The plans that one [`collect`] has seen, each with its profile.
type CollectedPlans = Vec<(Arc<OnceLock<SharedProfile>>, Profile)>;

thread_local! {
    /// What [`collect`] gathers in this thread, beside what tells the plans apart; it is kept alive with the profile,
    /// so that no later plan is taken for it.
    static COLLECTED: RefCell<Vec<CollectedPlans>> = const { RefCell::new(Vec::new()) };
    /// Prints what is left when the last thread ends.
    static PRINTER: Option<Printer> = LOGS_PROFILES.then(Printer::new);
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // Every change under these locks is whole when it can panic.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a plan of the executor, and notes its times if somebody asked for them.
pub(super) fn run(plan: &Plan, cell: &ProfileCell, memory: &mut Memory, pool: &Pool) -> Result<Results, Error> {
    if ASKED.load(Ordering::Relaxed) == 0 {
        return plan.run(memory, pool, None);
    }
    if *LOGS_PROFILES {
        // Now, while nothing is timed: the end of a process is no place for threads.
        Limits::get(pool.threads());
        // A thread that is ending has printed already.
        let _ = PRINTER.try_with(|_| ());
    }
    let (results, run) = timed(plan, memory, pool)?;
    if *LOGS_PROFILES {
        let profile = cell.0.get_or_init(|| {
            let profile: SharedProfile = Arc::new(Mutex::new(Profile::new(plan)));
            locked(&PROFILES).push(profile.clone());
            profile
        });
        locked(profile).add(&run);
    }
    COLLECTED.with_borrow_mut(|levels| {
        for level in levels {
            let at = level.iter().position(|(other, _)| Arc::ptr_eq(other, &cell.0)).unwrap_or_else(|| {
                level.push((cell.0.clone(), Profile::new(plan)));
                level.len() - 1
            });
            level[at].1.add(&run);
        }
    });
    Ok(results)
}

/// Prints a new plan, if the environment asks for it.
#[expect(clippy::print_stderr, reason = "the user asks for it with WENGERT_LOG")]
pub(super) fn log_plan(plan: &Plan) {
    if let Some(detail) = *LOGS_PLANS {
        eprintln!("{}", plan.explain(detail));
    }
}

/// Runs a function, and profiles the plans that it runs in this thread, in the order in which they come first.
///
/// ```
/// use wengert::prelude::*;
/// let x = Tensor::from([1.0, 2.0, 3.0]);
/// let (gradient, profiles) = wengert::profile::collect(|| grad(&x, |x| x.exp().sum()));
/// assert_eq!(gradient.shape(), [3]);
/// assert!(profiles.iter().all(|profile| profile.runs >= 1));
/// ```
pub fn collect<R>(function: impl FnOnce() -> R) -> (R, Vec<Profile>) {
    /// Ends the level also when the function panics.
    struct Ending;
    impl Drop for Ending {
        fn drop(&mut self) {
            ASKED.fetch_sub(1, Ordering::Relaxed);
            COLLECTED.with_borrow_mut(|levels| levels.truncate(levels.len().saturating_sub(1)));
        }
    }
    ASKED.fetch_add(1, Ordering::Relaxed);
    COLLECTED.with_borrow_mut(|levels| levels.push(Vec::new()));
    let ending = Ending;
    let result = function();
    let profiles = COLLECTED.with_borrow_mut(|levels| levels.last_mut().map(std::mem::take)).unwrap_or_default();
    drop(ending);
    (result, profiles.into_iter().map(|(_, profile)| profile).collect())
}

/// The tables of all plans that ran so far, if `WENGERT_LOG` has the word `profile`; empty otherwise.
///
/// ```
/// if std::env::var_os("WENGERT_LOG").is_none() {
///     assert_eq!(wengert::profile::report(), "");
/// }
/// ```
pub fn report() -> String {
    let profiles = locked(&PROFILES).clone();
    let tables = profiles.iter().map(|profile| {
        let profile = locked(profile).clone();
        profile.table(&Limits::get(profile.threads))
    });
    tables.collect::<Vec<String>>().join("\n")
}

/// A thread that runs profiled plans.
struct Printer;

impl Printer {
    fn new() -> Self {
        THREADS.fetch_add(1, Ordering::AcqRel);
        Printer
    }
}

impl Drop for Printer {
    fn drop(&mut self) {
        if THREADS.fetch_sub(1, Ordering::AcqRel) == 1 {
            use std::io::Write;
            // Where the standard error is gone, there is nobody to tell.
            let _ = std::io::stderr().write_all(report().as_bytes());
        }
    }
}
