//! Timing of one system on one workload, and the comparison of its gradient with the one written by hand.

use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::formulas::Workload;
use crate::hand;
use crate::systems::{Gradient, System};

/// How long a measurement repeats: until both hold.
#[derive(Clone, Copy)]
pub(crate) struct Effort {
    /// The time to fill.
    pub(crate) time: Duration,
    /// The least number of samples.
    pub(crate) samples: usize,
}

/// A call that takes longer is measured once and reported as too slow.
const TOO_SLOW: Duration = Duration::from_secs(20);

/// Shorter calls are timed several at a time, so that reading the clock does not count.
const SAMPLE: Duration = Duration::from_micros(50);

/// Milliseconds of one call.
#[derive(Clone, Copy)]
pub(crate) struct Timing {
    /// The median over the samples.
    pub(crate) median: f64,
    /// The shortest sample.
    pub(crate) min: f64,
}

/// Times a call that has run before; the first run here is discarded.
fn time(effort: Effort, mut call: impl FnMut()) -> Timing {
    call();
    let begin = Instant::now();
    call();
    let once = begin.elapsed().as_nanos().max(1);
    let calls = (SAMPLE.as_nanos() / once).max(1) as u32;
    let mut samples = Vec::new();
    let begin = Instant::now();
    while begin.elapsed() < effort.time || samples.len() < effort.samples {
        let begin = Instant::now();
        for _ in 0..calls {
            call();
        }
        samples.push(begin.elapsed().as_secs_f64() * 1e3 / f64::from(calls));
    }
    samples.sort_by(f64::total_cmp);
    Timing { median: samples[samples.len() / 2], min: samples[0] }
}

/// One system on one workload, checked and ready to be timed.
pub(crate) struct Prepared {
    workload: Workload,
    system: System,
    x: Vec<f64>,
    constants: Vec<f64>,
    gradient: Gradient,
    operations: u64,
}

/// The times of a [`Prepared`] pair.
pub(crate) struct Figures {
    workload: Workload,
    system: System,
    primal: Timing,
    gradient: Timing,
    operations: u64,
}

impl Prepared {
    /// Takes one gradient and compares it; an error says why the pair is not measured.
    pub(crate) fn new(workload: Workload, system: System) -> Result<Self, String> {
        if let Some(reason) = system.skips(workload) {
            return Err(reason.to_owned());
        }
        let x = workload.inputs();
        let constants = workload.constants();
        let mut gradient = system.prepare(workload);
        let mut result = vec![f64::NAN; x.len()];
        let begin = Instant::now();
        gradient(&x, &mut result);
        if begin.elapsed() > TOO_SLOW {
            return Err(format!("one gradient took {:.0} s", begin.elapsed().as_secs_f64()));
        }
        let mut by_hand = vec![f64::NAN; x.len()];
        hand::gradient(workload, &x, &constants, &mut by_hand, &mut Vec::new());
        agreement(&result, &by_hand)?;
        Ok(Self { workload, system, x, constants, gradient, operations: workload.operations() })
    }

    /// Times the function over `f64`, then the gradient.
    pub(crate) fn measure(&mut self, primal: Effort, gradient: Effort) -> Figures {
        let mut result = vec![0.0; self.x.len()];
        let primal = time(primal, || {
            black_box(self.workload.evaluate(black_box(&self.x[..]), &self.constants));
        });
        let gradient = time(gradient, || {
            (self.gradient)(black_box(&self.x), black_box(&mut result));
        });
        Figures { workload: self.workload, system: self.system, primal, gradient, operations: self.operations }
    }
}

impl Figures {
    /// Nanoseconds of a gradient for each operation of the function.
    fn ns_per_op(&self, milliseconds: f64) -> f64 {
        milliseconds * 1e6 / self.operations as f64
    }

    /// One line of JSON. The memory of a tape is not something the systems report, so it is null.
    pub(crate) fn json(&self) -> String {
        format!(
            "{},\"mode\":\"{}\",\"operations\":{},\"primal_ms\":{:.6},\"primal_min_ms\":{:.6},\"gradient_ms\":{:.6},\
             \"gradient_min_ms\":{:.6},\"ns_per_op\":{:.4},\"ns_per_op_min\":{:.4},\"bytes_per_op\":null}}",
            json_head(self.workload, self.system),
            self.system.mode(),
            self.operations,
            self.primal.median,
            self.primal.min,
            self.gradient.median,
            self.gradient.min,
            self.ns_per_op(self.gradient.median),
            self.ns_per_op(self.gradient.min),
        )
    }

    /// One line for people.
    pub(crate) fn text(&self) -> String {
        format!(
            "{}  {:<15} {:<15} {:>9.4} ms {:>9.4} ms {:>8.2} {:>8.2} {:>8.2}",
            self.workload.letter(),
            self.system.name(),
            self.system.mode(),
            self.primal.median,
            self.gradient.median,
            self.gradient.median / self.primal.median,
            self.ns_per_op(self.gradient.median),
            self.ns_per_op(self.gradient.min),
        )
    }
}

/// The line for a pair that is not measured.
pub(crate) fn json_skipped(workload: Workload, system: System, reason: &str) -> String {
    format!("{},\"mode\":\"{}\",\"skipped\":\"{reason}\"}}", json_head(workload, system), system.mode())
}

/// The members every line begins with.
fn json_head(workload: Workload, system: System) -> String {
    format!("{{\"suite\":\"scalar\",\"workload\":\"{}\",\"system\":\"{}\"", workload.letter(), system.name())
}

/// Entries agree to 1e-9 of their size, or of a thousandth of the largest where they are differences of larger terms.
fn agreement(found: &[f64], expected: &[f64]) -> Result<(), String> {
    let scale = expected.iter().fold(0.0, |m: f64, g| m.max(g.abs()));
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        let agrees = (found - expected).abs() <= 1e-9 * expected.abs().max(1e-3 * scale);
        // A NaN does not agree.
        if !agrees {
            return Err(format!("entry {i} of the gradient is {found}, by hand {expected}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every figure rests on this: each system that is measured gives the gradient written by hand.
    #[test]
    fn every_system_agrees_with_the_hand_written_gradient() {
        for workload in Workload::ALL {
            for system in System::ALL {
                if system.skips(workload).is_none() {
                    let prepared = Prepared::new(workload, system);
                    assert!(prepared.is_ok(), "{workload:?} {system:?}: {:?}", prepared.err());
                }
            }
        }
    }

    #[test]
    fn a_wrong_gradient_is_refused() {
        assert!(agreement(&[1.0, 2.0], &[1.0, 2.0]).is_ok());
        assert!(agreement(&[1.0, 2.0 + 1e-8], &[1.0, 2.0]).is_err());
        assert!(agreement(&[1.0, -2.0], &[1.0, 2.0]).is_err());
        assert!(agreement(&[1.0, f64::NAN], &[1.0, 2.0]).is_err());
    }
}
