//! The executor behind the drivers: one pool of threads, and plans with the memory that they run in.

use std::borrow::Cow;
use std::panic::Location;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use wengert_kernels::pool::Pool;

use super::engine::Memory;
pub(crate) use super::engine::Results;
use super::profile;
use crate::array::Data;
use crate::error::{Error, OrRaise};
use crate::optimize;
use crate::plan::{Options, Plan, check_threads};
use crate::program::Program;
use crate::threads;

/// Sets how many threads the drivers use from now on, the caller's among them.
///
/// The default is one for every core, or the number in the environment variable `WENGERT_THREADS`, at most 1024.
/// The numbers do not depend on it, to the bit. A function that was compiled keeps the threads that it has. Where the
/// system refuses to start some of them, the others do the work.
///
/// ```
/// use wengert::prelude::*;
/// wengert::set_threads(2);
/// assert_eq!(grad(&Tensor::from([1.0, 2.0]), |x| x.square().sum()).to_vec(), [2.0, 4.0]);
/// ```
///
/// # Panics
/// Above 1024 threads, where [`try_set_threads`] gives an error.
#[track_caller]
pub fn set_threads(threads: usize) {
    try_set_threads(threads).or_raise();
}

/// As [`set_threads`], with an error instead of a panic.
///
/// ```
/// assert!(wengert::try_set_threads(20_000).unwrap_err().to_string().contains("1024"));
/// ```
///
/// # Errors
/// Above 1024 threads: no machine has as many cores, and a process that starts more threads than its system holds is
/// ended by it. What was set before stays.
#[track_caller]
pub fn try_set_threads(threads: usize) -> Result<(), Error> {
    let line = Location::caller();
    check_threads(threads, "set_threads").map_err(|error| error.at(Some(line)))?;
    threads::set(threads);
    Ok(())
}

/// How Programs are run.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) pool: Arc<Pool>,
    /// Bytes that a plan may take.
    pub(crate) memory: Option<usize>,
    /// The directory for what a loop keeps beyond that.
    pub(crate) spill: Option<Arc<Path>>,
}

impl Settings {
    /// These threads, or those of the drivers, and this much memory.
    ///
    /// # Errors
    /// If there cannot be as many threads.
    pub(crate) fn of(threads: Option<usize>, memory: Option<usize>) -> Result<Self, Error> {
        check_threads(threads.unwrap_or(1), "compile")?;
        let own = threads.map(|threads| Arc::new(Pool::new(threads)));
        Ok(Settings { pool: own.unwrap_or_else(|| Settings::current().pool), memory, spill: None })
    }

    /// With a directory for what a loop keeps beyond its memory.
    #[cfg(feature = "spill")]
    pub(crate) fn spilling(mut self, directory: Option<Arc<Path>>) -> Self {
        self.spill = directory;
        self
    }

    /// What is set for the drivers now.
    pub(crate) fn current() -> Self {
        Settings { pool: threads::current(), memory: None, spill: None }
    }
}

/// A plan, its threads, and memory that waits for its next run: one piece for every run at the same time.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) plan: Arc<Plan>,
    pool: Arc<Pool>,
    idle: Mutex<Vec<Memory>>,
    profile: profile::ProfileCell,
}

impl Prepared {
    /// Optimises and plans a Program. The marked inputs may be overwritten by results.
    ///
    /// # Errors
    /// If it needs more memory than it may take.
    pub(crate) fn new(program: &Program, settings: &Settings, donated: &[bool]) -> Result<Self, Error> {
        super::PLANS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let options = Options { threads: settings.pool.threads(), memory: settings.memory };
        let plan = Plan::donating(Cow::Owned(optimize::ready(program)), &options, donated, settings.spill.as_ref())?;
        profile::log_plan(&plan);
        let (idle, profile) = (Mutex::new(Vec::new()), profile::ProfileCell::default());
        Ok(Prepared { plan: Arc::new(plan), pool: settings.pool.clone(), idle, profile })
    }

    /// Whether these settings would make the same plan.
    pub(crate) fn is_made_for(&self, settings: &Settings) -> bool {
        Arc::ptr_eq(&self.pool, &settings.pool) && self.plan.options().memory == settings.memory
    }

    /// Bytes of the memory that waits.
    pub(crate) fn bytes(&self) -> usize {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).iter().map(Memory::bytes).sum()
    }

    /// The results. `fill` gives the inputs, whose types are those of the Program's; those that were marked and have no
    /// other holder when it returns are overwritten.
    ///
    /// # Errors
    /// If there is not enough memory, an operation fails on its values, or a thread panicked.
    pub(crate) fn run(&self, fill: impl FnOnce(&mut Vec<Option<Data>>)) -> Result<Results, Error> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut memory = match idle {
            Some(memory) => memory,
            None => self.plan.memory()?,
        };
        fill(memory.inputs());
        let results = profile::run(&self.plan, &self.profile, &mut memory, &self.pool);
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(memory);
        results
    }
}
