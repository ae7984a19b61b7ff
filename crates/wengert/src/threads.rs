//! The threads that all drivers share.

use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use wengert_kernels::Pool;

static POOL: LazyLock<RwLock<Arc<Pool>>> = LazyLock::new(|| RwLock::new(Arc::new(Pool::new(default_threads()))));

/// The threads of the drivers.
pub(crate) fn current() -> Arc<Pool> {
    POOL.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Sets how many there are from now on.
#[cfg(feature = "engine")]
pub(crate) fn set(threads: usize) {
    *POOL.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(Pool::new(threads));
}

/// What the variable WENGERT_THREADS says, else a thread for every core that the process may use.
fn default_threads() -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    wanted_threads(std::env::var("WENGERT_THREADS").ok().as_deref()).unwrap_or_else(cores)
}

/// A number of threads from 1 in text, limited to what a pool can have; `None` for any other text.
fn wanted_threads(text: Option<&str>) -> Option<usize> {
    let digits = text?.trim();
    let most = || digits.bytes().all(|byte| byte.is_ascii_digit()).then_some(Pool::MOST);
    // A number that no `usize` holds is one that is too large.
    let threads = digits.parse().ok().or_else(|| if digits.is_empty() { None } else { most() })?;
    (threads > 0).then(|| threads.min(Pool::MOST))
}

#[cfg(test)]
mod tests;
