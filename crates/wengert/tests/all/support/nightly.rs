//! How much is tried: what a run by hand has time for, or what a night has.

use std::ops::Range;

/// Whether `WENGERT_NIGHTLY=1` asks for a night's trials.
pub(crate) fn nightly() -> bool {
    std::env::var("WENGERT_NIGHTLY").is_ok_and(|value| value == "1")
}

/// The seeds of this many random trials, by day or at night. `WENGERT_FIRST_SEED` begins with another one than 0, so that
/// another night tries others.
pub(crate) fn seeds(day: u64, night: u64) -> Range<u64> {
    let first = std::env::var("WENGERT_FIRST_SEED").map_or(0, |seed| seed.parse().expect("a whole number"));
    first..first + if nightly() { night } else { day }
}
