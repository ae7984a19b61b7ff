//! Whether a step still does what was recorded of it.

use crate::tape::record::Record;
use crate::tape::trace::{Output, Trace};

/// A recording and the variables that it captured, by their tags: behind its own inputs if it is closed, else behind its records.
pub(super) struct Recording<'a> {
    pub(super) trace: &'a Trace,
    pub(super) captures: Vec<u64>,
    /// How many inputs it has beside captures.
    pub(super) inputs: usize,
}

/// An operand, by what it means.
#[derive(PartialEq)]
enum Operand {
    Own(usize),
    Capture(u64),
}

impl Recording<'_> {
    fn operand(&self, place: usize) -> Operand {
        let (trace, inputs) = (self.trace, self.inputs);
        let more = trace.inputs - inputs;
        match place {
            place if place < inputs => Operand::Own(place),
            place if place < trace.inputs => Operand::Capture(self.captures[place - inputs]),
            place if place < trace.records.len() => Operand::Own(place - more),
            place => Operand::Capture(self.captures[place - trace.records.len()]),
        }
    }

    fn records(&self) -> &[Record] {
        &self.trace.records[self.trace.inputs..]
    }

    /// The number that a record computes with.
    fn constant(&self, record: Record) -> f64 {
        if record.op().has_constant() { self.trace.constants[record.b()] } else { 0.0 }
    }
}

/// What the second one does differently, as the end of a sentence; `None` if it does the same on other numbers. Of loops inside the
/// numbers are compared and not the paths, which may be others.
pub(super) fn difference(x: &Recording<'_>, y: &Recording<'_>) -> Option<String> {
    let loops = !x.trace.blocks.is_empty() || !y.trace.blocks.is_empty();
    let same = x.records().len() == y.records().len()
        && x.records().iter().zip(y.records()).all(|(&p, &q)| {
            let (uses_a, uses_b) = p.op().operands();
            p.op() == q.op()
                && (!uses_a || x.operand(p.a()) == y.operand(q.a()))
                && (!uses_b || x.operand(p.b()) == y.operand(q.b()))
        });
    if !same {
        // Another number of paths makes another list of the same loop inside.
        return (!loops).then(|| "computes something else when it runs again".to_owned());
    }
    let differs = |(p, q): (f64, f64)| (p.to_bits() != q.to_bits()).then_some((p, q));
    let constants = x.records().iter().zip(y.records()).map(|(&p, &q)| (x.constant(p), y.constant(q)));
    let blocks = x.trace.blocks.iter().zip(&y.trace.blocks).flat_map(|(p, q)| p.constants().zip(q.constants()));
    if let Some((p, q)) = constants.chain(blocks).find_map(differs) {
        return Some(format!("computes with the number {p} at first, and later with {q} in its place"));
    }
    x.trace.outputs.iter().zip(&y.trace.outputs).find_map(|pair| match pair {
        (Output::Constant(p), Output::Constant(q)) => {
            differs((*p, *q)).map(|(p, q)| format!("gives the number {p} at first, and later {q} in its place"))
        }
        (Output::Node(p), Output::Node(q)) if x.operand(*p) == y.operand(*q) => None,
        _ => Some("gives something else when it runs again".to_owned()),
    })
}
