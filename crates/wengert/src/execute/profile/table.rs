//! A profile as a table for the terminal.

use std::fmt::Write;
use std::time::Duration;

use super::{Limits, Profile, StepTime};
use crate::plan::explain::{amount, cut};

impl StepTime {
    /// Bytes per second of `runs` runs; NaN if no time passed.
    pub fn bandwidth(&self, runs: u64) -> f64 {
        rate(self.info.bytes(), runs, self.time)
    }

    /// Operations per second of `runs` runs; NaN if no time passed.
    pub fn speed(&self, runs: u64) -> f64 {
        rate(self.info.operations, runs, self.time)
    }
}

/// What is done in every run, per second.
fn rate(amount: usize, runs: u64, time: Duration) -> f64 {
    amount as f64 * runs as f64 / time.as_secs_f64()
}

impl Profile {
    /// The time outside of steps: results are allocated, operands are found.
    pub fn outside(&self) -> Duration {
        let steps: Duration = self.steps.iter().map(|step| step.time).sum();
        self.time.saturating_sub(steps)
    }

    /// The profile as a table: for every step its calls, the time of one, its share of the whole, what it moves and
    /// does in a second, and these as parts of what the machine does at best. More than 100% of the bandwidth of memory
    /// means that operands were in the caches.
    pub fn table(&self, limits: &Limits) -> String {
        let mut text = format!("{}; {} runs, {} each\n\n", self.plan, self.runs, lasting(self.time, self.runs));
        let _ = writeln!(
            text,
            "{:<5} {:<7} {:<25} {:<19} {:>6} {:>8} {:>6} {:>8} {:>6} {:>5} {:>8} {:>5}",
            "step", "kind", "what", "size", "calls", "a call", "share", "bytes", "GB/s", "limit", "GFLOP/s", "limit"
        );
        for (k, step) in self.steps.iter().enumerate() {
            self.row(k, step, limits, &mut text);
        }
        let outside = self.outside();
        let name = "outside of steps";
        let _ = writeln!(
            text,
            "{:<59} {:>6} {:>8} {:>6}",
            name,
            self.runs,
            lasting(outside, self.runs),
            share(outside, self.time)
        );
        let _ = writeln!(
            text,
            "\nlimits of the machine, {}: copies {:.1} GB/s; multiply-adds {:.1} GFLOP/s f32, {:.1} f64",
            if self.threads == 1 { "1 thread".to_owned() } else { format!("{} threads", self.threads) },
            limits.bandwidth * 1e-9,
            limits.peak_f32 * 1e-9,
            limits.peak_f64 * 1e-9
        );
        text
    }

    fn row(&self, k: usize, step: &StepTime, limits: &Limits, text: &mut String) {
        let info = &step.info;
        let (bandwidth, speed) = (step.bandwidth(self.runs), step.speed(self.runs));
        let peak = match info.elements {
            "f32" => Some(limits.peak_f32),
            "f64" => Some(limits.peak_f64),
            _ => None,
        };
        let _ = writeln!(
            text,
            "{k:<5} {:<7} {:<25} {:<19} {:>6} {:>8} {:>6} {:>8} {:>6} {:>5} {:>8} {:>5}",
            info.kind,
            cut(&info.what, 25),
            cut(&info.size, 19),
            amount(self.runs as usize),
            lasting(step.time, self.runs),
            share(step.time, self.time),
            amount(info.bytes()),
            giga(bandwidth),
            percent(bandwidth / limits.bandwidth),
            giga(speed),
            peak.map_or("-".to_owned(), |peak| percent(speed / peak)),
        );
    }
}

/// Billions in four digits at most; nothing where no time passed.
fn giga(rate: f64) -> String {
    match rate * 1e-9 {
        rate if !rate.is_finite() => "-".to_owned(),
        rate if rate < 9.995 => format!("{rate:.2}"),
        rate if rate < 99.95 => format!("{rate:.1}"),
        rate => format!("{rate:.0}"),
    }
}

fn percent(part: f64) -> String {
    if part.is_finite() { format!("{:.0}%", 100.0 * part) } else { "-".to_owned() }
}

fn share(part: Duration, whole: Duration) -> String {
    let part = 100.0 * part.as_secs_f64() / whole.as_secs_f64();
    if part.is_finite() { format!("{part:.1}%") } else { "-".to_owned() }
}

/// The mean time of a run.
fn lasting(time: Duration, runs: u64) -> String {
    let seconds = time.as_secs_f64() / runs.max(1) as f64;
    let (scale, unit) = match seconds {
        s if s < 1e-6 => (1e9, "ns"),
        s if s < 1e-3 => (1e6, "us"),
        s if s < 1.0 => (1e3, "ms"),
        _ => (1.0, "s"),
    };
    let value = seconds * scale;
    let digits = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.digits$} {unit}")
}
