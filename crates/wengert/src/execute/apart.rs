//! Runs loops whose steps do not take what others give: threads take parts of the steps.

use std::sync::{Mutex, PoisonError};

use smallvec::SmallVec;
use wengert_kernels::arena::{Carver, Line as Lines};
use wengert_kernels::pool::Pool;
use wengert_kernels::region::{Slice, SliceMut};

use super::control::{Inputs, Outputs};
use super::engine::{PlanInputs, run};
use crate::error::{Error, ErrorKind};
use crate::plan::ScanPlan;

/// How many parts there are for each thread: one that is late leaves the last ones to the others.
const PARTS: usize = 4;

/// Steps that a thread takes: the first one, and where their rows are written.
type Part<'a> = Mutex<Option<(usize, usize, Outputs<'a>)>>;

/// Runs a loop without a carry. Which thread runs which steps does not show: each step writes rows of its own.
pub(super) fn scan(
    plan: &ScanPlan,
    reads: &[Slice<'_>],
    writes: &mut [SliceMut<'_>],
    scratch: &mut [Lines],
    pool: &Pool,
) -> Result<(), Error> {
    let (invariants, rows) = reads.split_at(plan.invariants);
    let each = plan.arena.len() / plan.workers;
    let mut carver = Carver::new(scratch);
    let mut arenas: SmallVec<[Mutex<&mut [Lines]>; 16]> = SmallVec::new();
    for worker in 0..plan.workers {
        let start = plan.arena.start + worker * each;
        arenas.push(Mutex::new(carver.take(start..start + each)));
    }
    let parts = parts(plan, writes);
    let failed: Mutex<Option<(usize, Error)>> = Mutex::new(None);
    let work = |part: usize, worker: usize| {
        let mine = parts[part].lock().unwrap_or_else(PoisonError::into_inner).take();
        let (from, to, mut rows_of_part) = mine.expect("a part is taken once");
        let mut arena = arenas[worker].lock().unwrap_or_else(PoisonError::into_inner);
        for step in 0..to - from {
            let row = if plan.reverse { to - 1 - step } else { from + step };
            let mut inputs = Inputs::from_slice(invariants);
            inputs
                .extend(rows.iter().zip(&plan.row_sizes).map(|(rows, size)| rows.range(row * size..(row + 1) * size)));
            let own = row - from;
            let given = rows_of_part.iter_mut().zip(&plan.given_sizes);
            let mut outputs: Outputs<'_> = given.map(|(rows, size)| rows.range(own * size..(own + 1) * size)).collect();
            if let Err(error) = run(&plan.body, PlanInputs::Slices(&inputs), &mut outputs, &mut arena[..], pool, None) {
                // The first one in the order of the steps is told, whatever the threads do.
                let step = if plan.reverse { plan.length - 1 - row } else { row };
                let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                if failed.as_ref().is_none_or(|(first, _)| step < *first) {
                    *failed = Some((step, error));
                }
                return;
            }
        }
    };
    let ran = pool.run(parts.len(), &work);
    ran.map_err(|why| Error::new(ErrorKind::Run, "scan", format!("a thread panicked: {}", why.message)))?;
    match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some((_, error)) => Err(error),
        None => Ok(()),
    }
}

/// The steps in parts of about the same length, with the rows that they write.
fn parts<'a>(plan: &ScanPlan, writes: &'a mut [SliceMut<'_>]) -> SmallVec<[Part<'a>; 64]> {
    let count = (plan.workers * PARTS).min(plan.length);
    let mut rest: Outputs<'a> = writes.iter_mut().map(SliceMut::reborrow).collect();
    let mut parts = SmallVec::new();
    for part in 0..count {
        let (from, to) = (plan.length * part / count, plan.length * (part + 1) / count);
        let mut own = Outputs::new();
        let mut after = Outputs::new();
        for (rows, size) in rest.into_iter().zip(&plan.given_sizes) {
            let (mine, others) = rows.split_at((to - from) * size);
            own.push(mine);
            after.push(others);
        }
        rest = after;
        parts.push(Mutex::new(Some((from, to, own))));
    }
    parts
}
