//! One point: all values again in the order of the tape, then the tape's own sweep.
//!
//! The steps of a [`Layout`] are made for lanes, whose values would not fit the caches without
//! it. A single point needs eight bytes for a value, and would read forty for the two steps of an operation to save
//! them; a record is eight bytes, forward and backward.

use super::Ask;
use super::layout::Layout;
use crate::tape::sweep;
use crate::tape::trace::{Flipped, Trace};

/// The values and adjoints of all records.
#[derive(Default)]
pub(super) struct Single {
    values: Vec<f64>,
    /// -0.0 everywhere between runs.
    adjoints: Vec<f64>,
    pub(super) outputs: Vec<f64>,
    pub(super) partials: Vec<f64>,
}

impl Single {
    /// Runs a trace that has a layout at `point`. False: the sweep met a derivative that needs care, and there are no
    /// partials.
    pub(super) fn run(&mut self, trace: &Trace, layout: &Layout, point: &[f64], ask: Ask) -> Result<bool, Flipped> {
        self.values.resize(trace.records.len(), 0.0);
        self.values[..trace.inputs].copy_from_slice(point);
        sweep::evaluate_plain(&trace.records, &trace.constants, &trace.values, &mut self.values, trace.inputs)
            .ok_or(Flipped)?;
        self.outputs.clear();
        self.outputs.extend((0..trace.outputs.len()).map(|k| trace.output(k, &self.values)));
        Ok(ask == Ask::Value || self.sweep(trace, layout))
    }

    /// The partial derivatives of the first output; false if they need care.
    fn sweep(&mut self, trace: &Trace, layout: &Layout) -> bool {
        self.partials.clear();
        let Some(from) = trace.outputs.first().and_then(|_| trace.output_node(0)) else {
            self.partials.resize(trace.inputs, 0.0);
            return true;
        };
        let count = trace.inputs.max(from + 1);
        if self.adjoints.len() < count {
            self.adjoints.resize(count, -0.0);
        }
        let adjoints = &mut self.adjoints[..count];
        let records = if layout.swept.is_empty() { &trace.records } else { &layout.swept };
        let swept = sweep::gradient(records, &trace.constants, &self.values, adjoints, from, trace.inputs);
        if swept.is_some() {
            // + 0.0: what was not reached holds -0.0.
            self.partials.extend(adjoints[..trace.inputs].iter().map(|adjoint| adjoint + 0.0));
            adjoints[..trace.inputs].fill(-0.0);
        }
        swept.is_some()
    }
}
