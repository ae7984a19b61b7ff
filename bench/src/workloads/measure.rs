//! How a workload is timed, and the line that says so.
//!
//! The first call is timed apart: a system that plans or compiles does it then. Another call warms up; then calls are
//! repeated for about a second, at least five times. The same for the primal. The peak of memory is that of the process
//! while the derivative is repeated: so a workload has a process of its own.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::case::Case;
use crate::growth::{forget_peak, peak_mb};

/// The name of this system.
pub(super) const SYSTEM: &str = "wengert";
/// The least number of calls of which the median is taken.
const CALLS: usize = 5;

/// How long, and with how many threads, a workload is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Effort {
    pub(super) threads: usize,
    pub(super) time: Duration,
    pub(super) primal: Primal,
}

/// Whether the primal is timed too.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Primal {
    Timed,
    LeftOut,
}

/// What was measured of a workload. Times are in seconds.
#[derive(Debug, PartialEq)]
pub(super) struct Line {
    /// Ours, or a way of it.
    pub(super) system: String,
    pub(super) workload: String,
    pub(super) dtype: String,
    pub(super) threads: usize,
    /// The first call.
    pub(super) compile_s: f64,
    pub(super) median_s: f64,
    pub(super) min_s: f64,
    /// The median of the primal, if it was timed.
    pub(super) primal_s: Option<f64>,
    /// Calls of which the median was taken.
    pub(super) reps: usize,
    /// The largest resident memory in MiB, where the system tells it.
    pub(super) peak_rss_mb: Option<f64>,
    /// The value and the norm of the derivative.
    pub(super) check: [f64; 2],
}

impl Line {
    /// The line as JSON, with the fields that every system's lines have.
    pub(super) fn to_json(&self) -> Value {
        json!({
            "system": self.system, "workload": self.workload, "dtype": self.dtype, "threads": self.threads,
            "compile_s": self.compile_s, "median_s": self.median_s, "min_s": self.min_s, "primal_s": self.primal_s,
            "reps": self.reps, "peak_rss_mb": self.peak_rss_mb, "check": self.check,
        })
    }

    /// Reads a line that [`to_json`](Self::to_json) wrote; an error names the field that is not there.
    pub(super) fn from_json(line: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(line).map_err(|error| format!("{error}: {line}"))?;
        let missing = |field: &str| format!("no `{field}` in {line}");
        let number = |field: &str| value[field].as_f64().ok_or_else(|| missing(field));
        let count = |field: &str| value[field].as_u64().map(|n| n as usize).ok_or_else(|| missing(field));
        let text = |field: &str| value[field].as_str().map(str::to_owned).ok_or_else(|| missing(field));
        // A number that is not finite is written as null.
        let checked = |k: usize| value["check"].get(k).map(|n| n.as_f64().unwrap_or(f64::NAN));
        let (Some(first), Some(second)) = (checked(0), checked(1)) else { return Err(missing("check")) };
        Ok(Line {
            system: text("system")?,
            workload: text("workload")?,
            dtype: text("dtype")?,
            threads: count("threads")?,
            compile_s: number("compile_s")?,
            median_s: number("median_s")?,
            min_s: number("min_s")?,
            primal_s: value["primal_s"].as_f64(),
            reps: count("reps")?,
            peak_rss_mb: value["peak_rss_mb"].as_f64(),
            check: [first, second],
        })
    }
}

/// Measures a case.
pub(super) fn measure(workload: &str, dtype: &str, mut case: Case, effort: Effort) -> Line {
    wengert::set_threads(effort.threads);
    let begin = Instant::now();
    (case.derivative)();
    let compile_s = begin.elapsed().as_secs_f64();
    let check = (case.check)();
    (case.derivative)();
    forget_peak();
    let times = repeated(&mut case.derivative, effort.time);
    let peak_rss_mb = peak_mb();
    let primal_s = match effort.primal {
        Primal::Timed => {
            (case.primal)();
            Some(median(&repeated(&mut case.primal, effort.time)))
        }
        Primal::LeftOut => None,
    };
    Line {
        system: SYSTEM.to_owned(),
        workload: workload.to_owned(),
        dtype: dtype.to_owned(),
        threads: effort.threads,
        compile_s,
        median_s: median(&times),
        min_s: times[0],
        primal_s,
        reps: times.len(),
        peak_rss_mb,
        check,
    }
}

/// The sorted seconds of calls that are repeated for `time`, at least five.
fn repeated(call: &mut dyn FnMut(), time: Duration) -> Vec<f64> {
    let mut times = Vec::new();
    let begin = Instant::now();
    while times.len() < CALLS || begin.elapsed() < time {
        let before = Instant::now();
        call();
        times.push(before.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    times
}

/// The middle of sorted times; of two middles, their mean.
fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    match sorted.len() % 2 {
        1 => sorted[middle],
        _ => (sorted[middle - 1] + sorted[middle]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use super::*;

    fn line() -> Line {
        Line {
            system: SYSTEM.to_owned(),
            workload: "W6".to_owned(),
            dtype: "f32".to_owned(),
            threads: 2,
            compile_s: 0.5,
            median_s: 0.25,
            min_s: 0.125,
            primal_s: Some(0.0625),
            reps: 7,
            peak_rss_mb: None,
            check: [1.5, 2.5],
        }
    }

    #[test]
    fn lines_come_back_from_json() {
        let json = line().to_json().to_string();
        assert_eq!(Line::from_json(&json), Ok(line()));
        let without = Line { primal_s: None, ..line() };
        assert_eq!(Line::from_json(&without.to_json().to_string()), Ok(without));
        assert!(Line::from_json(&json.replace("median_s", "median")).unwrap_err().contains("`median_s`"));
        let nan = Line { check: [f64::NAN, 1.0], ..line() };
        assert!(Line::from_json(&nan.to_json().to_string()).unwrap().check[0].is_nan());
    }

    #[test]
    fn lines_have_the_fields_of_every_system() {
        let wanted = [
            "check",
            "compile_s",
            "dtype",
            "median_s",
            "min_s",
            "peak_rss_mb",
            "primal_s",
            "reps",
            "system",
            "threads",
            "workload",
        ];
        let json = line().to_json();
        let mut fields: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
        fields.sort_unstable();
        assert_eq!(fields, wanted);
    }

    #[test]
    fn medians_are_those_of_the_middle() {
        assert_eq!(median(&[1.0, 2.0, 9.0]), 2.0);
        assert_eq!(median(&[1.0, 2.0, 4.0, 9.0]), 3.0);
    }

    #[test]
    fn the_primal_is_called_only_if_it_is_timed() {
        for (primal, timed) in [(Primal::Timed, true), (Primal::LeftOut, false)] {
            let calls = Rc::new(Cell::new([0; 2]));
            let count = |k: usize| {
                let calls = Rc::clone(&calls);
                Box::new(move || {
                    let mut now = calls.get();
                    now[k] += 1;
                    calls.set(now);
                })
            };
            let case = Case { primal: count(0), derivative: count(1), check: Box::new(|| [1.0, 2.0]) };
            let effort = Effort { threads: 1, time: Duration::ZERO, primal };
            let line = measure("W0", "f64", case, effort);
            assert_eq!((line.reps, line.check, line.primal_s.is_some()), (CALLS, [1.0, 2.0], timed));
            // The first call and the one that warms up are not among those timed.
            assert_eq!(calls.get(), [if timed { CALLS + 1 } else { 0 }, CALLS + 2]);
        }
    }
}
