//! Paths that this thread recorded lately, with the code that was made of them. A loop that is recorded again, as in every step of
//! an optimiser, finds its code: making it takes as long as some hundred steps.

use std::cell::RefCell;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::{Path, Structure};
use crate::hash::FastHasher;
use crate::tape::record::Op;
use crate::tape::trace::{Output, Trace};

/// How many paths are kept, and how many records and outputs they have together. With its code a record takes some 400 bytes.
const PATHS: usize = 64;
const RECORDS: usize = 4096;

thread_local! {
    /// The latest used first, each with its hash.
    static KEPT: RefCell<Vec<(u64, Arc<Path>)>> = const { RefCell::new(Vec::new()) };
}

/// The path that a step took; one that is kept if it is the same at another point. A step with a loop inside is not kept: what the
/// loop inside was, belongs to one point.
pub(super) fn path(trace: Trace, captures: Vec<u32>, structure: Structure) -> Arc<Path> {
    let size = size(&trace);
    if !trace.blocks.is_empty() || size > RECORDS {
        return Arc::new(Path::new(trace, captures, structure));
    }
    let hash = hash(&trace, &captures, structure);
    KEPT.with_borrow_mut(|kept| {
        let is_this = |(known, path): &(u64, Arc<Path>)| {
            *known == hash && path.structure == structure && path.captures == captures && are_same(&path.trace, &trace)
        };
        if let Some(place) = kept.iter().position(is_this) {
            kept[..=place].rotate_right(1);
        } else {
            let mut sum = size;
            let fits = |(_, path): &&(u64, Arc<Path>)| {
                sum += self::size(&path.trace);
                sum <= RECORDS
            };
            let stay = kept.iter().take(PATHS - 1).take_while(fits).count();
            kept.truncate(stay);
            kept.insert(0, (hash, Arc::new(Path::new(trace, captures, structure))));
        }
        Arc::clone(&kept[0].1)
    })
}

fn size(trace: &Trace) -> usize {
    trace.records.len() + trace.outputs.len()
}

/// Forgets all.
pub(crate) fn forget_paths() {
    KEPT.with_borrow_mut(|kept| *kept = Vec::new());
}

/// What a recording does whatever its numbers are: its records, the constants in them, and how guards came out.
fn parts(trace: &Trace) -> impl Iterator<Item = (u64, u64, bool)> {
    trace.records.iter().zip(&trace.values).map(|(record, &value)| {
        let op = record.op();
        let constant = if op.has_constant() { trace.constants[record.b()].to_bits() } else { 0 };
        (record.0, constant, matches!(op, Op::Guard(..)) && value == 1.0)
    })
}

/// The places of its outputs, and the numbers that are none.
fn outputs(trace: &Trace) -> impl Iterator<Item = (usize, u64)> {
    trace.outputs.iter().map(|output| match *output {
        Output::Node(node) => (node, 0),
        Output::Constant(number) => (usize::MAX, number.to_bits()),
        Output::Capture(_) => unreachable!("captures are renumbered when the trace is made"),
    })
}

fn are_same(x: &Trace, y: &Trace) -> bool {
    x.inputs == y.inputs && x.records.len() == y.records.len() && parts(x).eq(parts(y)) && outputs(x).eq(outputs(y))
}

fn hash(trace: &Trace, captures: &[u32], structure: Structure) -> u64 {
    let mut hasher = FastHasher::default();
    (trace.inputs, captures, structure).hash(&mut hasher);
    parts(trace).for_each(|part| part.hash(&mut hasher));
    outputs(trace).for_each(|output| output.hash(&mut hasher));
    hasher.finish()
}
