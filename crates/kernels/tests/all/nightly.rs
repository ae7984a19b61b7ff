//! How much is tried: what a run by hand has time for, or what a night has.

/// Whether `WENGERT_NIGHTLY=1` asks for a night's trials.
pub(crate) fn nightly() -> bool {
    std::env::var("WENGERT_NIGHTLY").is_ok_and(|value| value == "1")
}
