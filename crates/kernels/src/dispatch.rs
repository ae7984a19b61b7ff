//! Chooses at run time for which instruction set a piece of work runs.
//!
//! A function that is inlined into one with `#[target_feature]` is compiled with those
//! features: the same plain loop over `[f64; 8]` becomes one 512-bit instruction, two of
//! 256 bits, or four of 128 bits. So the caller writes its loop once, as [`Work`], and
//! [`dispatch`] holds one copy per [`Level`].
//!
//! The results do not depend on the level: addition, subtraction, multiplication, division,
//! square root and comparison round alike everywhere, and the compiler never contracts
//! `a * b + c` by itself. Work that calls `f64::mul_add` keeps this property too, but runs
//! about sixty times slower at the baseline, where the operation is emulated.

use std::sync::OnceLock;

/// Name of the environment variable that lowers the level.
const VARIABLE: &str = "WENGERT_LEVEL";

/// Instruction sets for which [`dispatch`] holds a copy of the work, in rising order.
///
/// ```
/// use wengert_kernels::Level;
/// assert!(Level::Baseline < Level::Avx2 && Level::Avx2 < Level::Avx512);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// What every machine of the architecture has; 128-bit vectors on x86-64.
    Baseline,
    /// x86-64 with AVX2, FMA, BMI1 and BMI2 (Haswell, 2013); 256-bit vectors.
    Avx2,
    /// The same with AVX-512 F, VL, DQ, BW and CD (Skylake server, 2017); 512-bit vectors.
    Avx512,
}

impl Level {
    /// All levels, in rising order.
    ///
    /// ```
    /// use wengert_kernels::Level;
    /// assert_eq!(Level::ALL[0], Level::Baseline);
    /// ```
    pub const ALL: [Level; 3] = [Level::Baseline, Level::Avx2, Level::Avx512];
}

/// Work that is compiled once for each instruction set.
///
/// Mark `run`, and everything it calls in its hot loop, `#[inline(always)]`:
/// only what is inlined is compiled with the wider instructions. The rest runs correctly,
/// with the instructions of the baseline. A large function handed in as a generic parameter
/// or closure is not inlined, even if it is marked so: call it by name.
///
/// ```
/// use wengert_kernels::{Work, dispatch};
///
/// struct Sum<'a>(&'a [f64]);
/// impl Work for Sum<'_> {
///     type Output = f64;
///     #[inline(always)]
///     fn run(self) -> f64 {
///         self.0.iter().sum()
///     }
/// }
/// assert_eq!(dispatch(Sum(&[1.0, 2.0])), 3.0);
/// ```
pub trait Work {
    /// What the work returns.
    type Output;
    /// Does the work. Mark it `#[inline(always)]`.
    fn run(self) -> Self::Output;
}

/// Runs `work` compiled for [`level`]. May be nested; see [`Work`] for an example.
#[inline]
pub fn dispatch<W: Work>(work: W) -> W::Output {
    dispatch_at(level(), work)
}

/// Runs `work` compiled for `wanted`, or for the best level of the machine if that is lower.
///
/// The environment variable is ignored here: tests and measurements compare the levels.
///
/// ```
/// use wengert_kernels::{Level, Work, dispatch_at};
///
/// struct Twice(f64);
/// impl Work for Twice {
///     type Output = f64;
///     #[inline(always)]
///     fn run(self) -> f64 {
///         2.0 * self.0
///     }
/// }
/// assert_eq!(dispatch_at(Level::Avx2, Twice(4.0)), 8.0);
/// ```
#[inline]
pub fn dispatch_at<W: Work>(wanted: Level, work: W) -> W::Output {
    match wanted.min(machine_level()) {
        Level::Baseline => work.run(),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `machine_level` returned Avx2 or more, so the processor and the system
        // support every feature that `run_avx2` enables. Test `every_level_runs_the_work`.
        Level::Avx2 => unsafe { run_avx2(work) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `machine_level` returned Avx512, so the processor and the system support
        // every feature that `run_avx512` enables. Test `every_level_runs_the_work`.
        Level::Avx512 => unsafe { run_avx512(work) },
        #[cfg(not(target_arch = "x86_64"))]
        Level::Avx2 | Level::Avx512 => work.run(),
    }
}

/// Runs `work` compiled for `LEVEL` alone: for work that is written for one level, such as the tile of a matrix product, whose
/// other copies would be large and never run.
///
/// ```
/// use wengert_kernels::{Level, Work, dispatch::dispatch_only};
///
/// struct Twice(f64);
/// impl Work for Twice {
///     type Output = f64;
///     #[inline(always)]
///     fn run(self) -> f64 {
///         2.0 * self.0
///     }
/// }
/// assert_eq!(dispatch_only::<{ Level::Baseline as u8 }, _>(Twice(4.0)), 8.0);
/// ```
///
/// # Panics
/// If the machine does not have the level.
#[inline]
pub fn dispatch_only<const LEVEL: u8, W: Work>(work: W) -> W::Output {
    const { assert!(LEVEL <= Level::Avx512 as u8, "LEVEL is the number of a level") };
    assert!(LEVEL <= machine_level() as u8, "the machine does not have the level of this work");
    // Constants of their own: below level 2 the compiler would compile the work for levels that are not reached.
    #[cfg(target_arch = "x86_64")]
    if const { LEVEL == Level::Avx512 as u8 } {
        // SAFETY: the machine has the level, as checked. Test `every_level_runs_the_work`.
        return unsafe { run_avx512(work) };
    } else if const { LEVEL == Level::Avx2 as u8 } {
        // SAFETY: as above.
        return unsafe { run_avx2(work) };
    }
    work.run()
}

/// Whether products of matrices round a multiplication and the addition after it once, as one instruction: from AVX2 on, and
/// everywhere on aarch64.
pub(crate) fn is_fused() -> bool {
    cfg!(target_arch = "aarch64") || level() >= Level::Avx2
}

/// The level that [`dispatch`] uses: the best of the machine, unless the environment
/// variable `WENGERT_LEVEL` is `baseline`, `avx2` or `avx512` and lower.
///
/// Both are read once per process. The variable never raises the level above what the
/// machine has; empty is the same as unset.
///
/// ```
/// assert!(wengert_kernels::level() <= wengert_kernels::machine_level());
/// ```
///
/// # Panics
///
/// If the variable has any other value: a misspelt word must not pass for a measurement.
#[inline]
pub fn level() -> Level {
    static LEVEL: OnceLock<Level> = OnceLock::new();
    *LEVEL.get_or_init(|| {
        let text = std::env::var_os(VARIABLE).unwrap_or_default();
        match parse_level(&text.to_string_lossy()) {
            Ok(wanted) => wanted.unwrap_or(Level::Avx512).min(machine_level()),
            Err(message) => panic!("{message}"),
        }
    })
}

/// The best level that this machine supports, whatever the environment says.
///
/// ```
/// assert!(wengert_kernels::machine_level() >= wengert_kernels::Level::Baseline);
/// ```
#[inline]
pub fn machine_level() -> Level {
    static MACHINE: OnceLock<Level> = OnceLock::new();
    *MACHINE.get_or_init(detect)
}

/// Asks the processor for exactly the features that `run_avx2` and `run_avx512` enable.
#[cfg(target_arch = "x86_64")]
fn detect() -> Level {
    let avx2 = is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2");
    let avx512 = avx2
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512cd");
    match (avx512, avx2) {
        (true, _) => Level::Avx512,
        (false, true) => Level::Avx2,
        (false, false) => Level::Baseline,
    }
}

/// Other architectures have only the baseline.
#[cfg(not(target_arch = "x86_64"))]
fn detect() -> Level {
    Level::Baseline
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2")]
fn run_avx2<W: Work>(work: W) -> W::Output {
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx512cd,avx2,fma,bmi1,bmi2")]
fn run_avx512<W: Work>(work: W) -> W::Output {
    work.run()
}

/// The level that `text` names, ignoring case and surrounding blanks; `None` if it is empty.
fn parse_level(text: &str) -> Result<Option<Level>, String> {
    match text.trim().to_ascii_lowercase().as_str() {
        "" => Ok(None),
        "baseline" => Ok(Some(Level::Baseline)),
        "avx2" => Ok(Some(Level::Avx2)),
        "avx512" => Ok(Some(Level::Avx512)),
        _ => Err(format!("the environment variable {VARIABLE} is `{text}`; it must be baseline, avx2 or avx512")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds `self.1` to every element and returns the sum.
    struct AddAndSum<'a>(&'a mut [f64], f64);

    impl Work for AddAndSum<'_> {
        type Output = f64;
        #[inline(always)]
        fn run(self) -> f64 {
            for x in self.0.iter_mut() {
                *x += self.1;
            }
            self.0.iter().sum()
        }
    }

    #[test]
    fn every_level_runs_the_work() {
        for level in Level::ALL {
            let mut data: Vec<f64> = (0..37).map(f64::from).collect();
            let sum = dispatch_at(level, AddAndSum(&mut data, 0.5));
            assert_eq!(sum, 666.0 + 18.5, "{level:?}");
            assert_eq!(data[36], 36.5, "{level:?}");
        }
        let mut data = [1.0, 2.0, 3.0];
        assert_eq!(dispatch_only::<{ Level::Baseline as u8 }, _>(AddAndSum(&mut data, 0.5)), 7.5);
        if machine_level() >= Level::Avx2 {
            assert_eq!(dispatch_only::<{ Level::Avx2 as u8 }, _>(AddAndSum(&mut data, 0.5)), 9.0);
        }
        if machine_level() >= Level::Avx512 {
            assert_eq!(dispatch_only::<{ Level::Avx512 as u8 }, _>(AddAndSum(&mut data, 0.5)), 10.5);
        }
    }

    /// Runs one work inside another, at another level, and returns a value that owns memory.
    struct Outer(Level);

    impl Work for Outer {
        type Output = Vec<f64>;
        #[inline(always)]
        fn run(self) -> Vec<f64> {
            let mut data = vec![1.0; 16];
            let sum = dispatch_at(self.0, AddAndSum(&mut data, 1.0));
            let again = dispatch(AddAndSum(&mut data, 1.0));
            vec![sum, again]
        }
    }

    #[test]
    fn dispatch_nests_and_returns_values() {
        for outer in Level::ALL {
            for inner in Level::ALL {
                assert_eq!(dispatch_at(outer, Outer(inner)), [32.0, 48.0]);
            }
        }
    }

    #[test]
    fn the_variable_is_parsed() {
        let cases = [
            ("", None),
            ("  ", None),
            ("baseline", Some(Level::Baseline)),
            ("AVX2", Some(Level::Avx2)),
            (" avx512\n", Some(Level::Avx512)),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_level(text), Ok(expected), "{text:?}");
        }
        for text in ["avx", "avx-512", "0", "baseline,avx2"] {
            let message = parse_level(text).unwrap_err();
            assert!(message.contains(text) && message.contains("baseline, avx2 or avx512"));
        }
    }
}
