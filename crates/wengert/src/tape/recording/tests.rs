//! Tests of what is private here.

use super::TAPE;
use crate::grad;

/// Ages begin again after 2^32 recordings: then nothing may be found that an earlier recording of the same age stored.
#[test]
fn constants_are_forgotten_when_ages_begin_again() {
    let worker = || {
        assert_eq!(TAPE.with(|tape| tape.age.get()), 1, "a thread's first recording");
        assert_eq!(grad(1.0, |x| x * 2.5), 2.5);
        TAPE.with(|tape| tape.age.set(u32::MAX));
        assert_eq!(grad(1.0, |x| x * 7.5), 7.5);
        assert_eq!(TAPE.with(|tape| tape.age.get()), 1);
        assert_eq!(grad(1.0, |x| x * 8.5 * 2.5), 21.25);
    };
    std::thread::spawn(worker).join().expect("no assertion fails");
}
