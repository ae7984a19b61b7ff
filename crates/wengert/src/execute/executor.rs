//! The executor behind the drivers: one pool of threads, and the plans of Programs that were seen before.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use wengert_kernels::pool::Pool;

use super::engine::Memory;
use super::profile;
use crate::array::Array;
use crate::error::Error;
use crate::plan::{Options, Plan};
use crate::program::Program;

/// A plan with memory that waits for its next run.
struct Prepared {
    plan: Plan,
    idle: Mutex<Vec<Memory>>,
    profile: profile::Cell,
}

/// Plans by the Programs they are made from.
type Plans = HashMap<u64, Vec<(Program, Arc<Prepared>)>>;

struct Executor {
    pool: Mutex<Arc<Pool>>,
    plans: Mutex<Plans>,
}

static EXECUTOR: LazyLock<Executor> =
    LazyLock::new(|| Executor { pool: Mutex::new(Arc::new(Pool::new(1))), plans: Mutex::new(HashMap::new()) });

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // What a panicking thread leaves is whole: every change under these locks is one call.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sets how many threads the drivers use from now on, the caller's among them.
pub fn set_threads(threads: usize) {
    *locked(&EXECUTOR.pool) = Arc::new(Pool::new(threads.max(1)));
    locked(&EXECUTOR.plans).clear();
}

/// Optimises, plans and runs a Program, or finds its plan.
pub(super) fn apply(program: &Program, inputs: &[Array]) -> Result<Vec<Array>, Error> {
    let pool = locked(&EXECUTOR.pool).clone();
    let prepared = prepared(program, pool.threads())?;
    let idle = locked(&prepared.idle).pop();
    let mut memory = match idle {
        Some(memory) => memory,
        None => prepared.plan.memory()?,
    };
    let results = profile::run(&prepared.plan, &prepared.profile, inputs, &mut memory, &pool);
    locked(&prepared.idle).push(memory);
    results
}

fn prepared(program: &Program, threads: usize) -> Result<Arc<Prepared>, Error> {
    let hash = program.structural_hash();
    let found = |plans: &Plans| {
        let (_, prepared) = plans.get(&hash)?.iter().find(|(own, _)| own == program)?;
        Some(prepared.clone())
    };
    if let Some(prepared) = found(&locked(&EXECUTOR.plans)) {
        return Ok(prepared);
    }
    let plan = Plan::new(&program.optimize(), &Options { threads, memory: None })?;
    profile::log_plan(&plan);
    let prepared = Arc::new(Prepared { plan, idle: Mutex::new(Vec::new()), profile: profile::Cell::default() });
    locked(&EXECUTOR.plans).entry(hash).or_default().push((program.clone(), prepared.clone()));
    Ok(prepared)
}
