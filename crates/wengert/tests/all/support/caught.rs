//! Panics as messages.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a check found wrong.
pub(crate) type Checked = Result<(), String>;

/// The result of `f`, or what it panicked with.
pub(crate) fn caught<T>(what: &str, f: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(f)).map_err(|payload| {
        let text = payload.downcast_ref::<String>().cloned();
        let text = text.or_else(|| payload.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        format!("{what} panicked: {}", text.unwrap_or_default())
    })
}
