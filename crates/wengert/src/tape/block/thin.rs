//! Which carries the loops of a recording keep within a limit of memory.
//!
//! A loop of n steps that keeps the carry of every k-th one holds n / k carries while it waits for the sweep, and k while the sweep
//! runs k steps again: k steps more memory for one loop at a time, less for all of them. Where everything does not fit, all loops
//! run stretches of about the same number of bytes again, the shortest with which the whole fits: so little is computed again,
//! and the sum is least where stretches are as long as the square root of the number of steps.

use super::{Block, Loop, PlainRows, Source};
use crate::tape::record::Record;
use crate::tape::trace::Trace;

/// Bytes of the list and of its sweep for a record: the record and its value, both again in the finished list, the value and the
/// adjoint of the sweep, and whether it was reached.
pub(crate) const BYTES_OF_RECORD: usize = 2 * (size_of::<Record>() + size_of::<f64>()) + 2 * size_of::<f64>() + 1;

/// Bytes of a constant, on the list and in the finished one.
pub(crate) const BYTES_OF_CONSTANT: usize = 2 * size_of::<f64>();

/// Bytes that a path takes while it is made and runs, its code forwards and backwards included: about 400 a record were counted.
const CODE_OF_RECORD: usize = 512;
const CODE_OF_PATH: usize = 4096;

/// Bytes of a path with its code, and that of the loops in it.
pub(super) fn path_bytes(trace: &Trace) -> usize {
    trace.bytes() + code_bytes(trace)
}

fn code_bytes(trace: &Trace) -> usize {
    let inner = trace.blocks.iter().flat_map(|block| &block.body.paths);
    trace.records.len() * CODE_OF_RECORD + CODE_OF_PATH + inner.map(|path| code_bytes(&path.trace)).sum::<usize>()
}

/// What is known of a loop once it was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LoopSize {
    /// How many steps it has, and how many numbers it carries.
    pub(crate) count: usize,
    pub(crate) carry: usize,
    /// Of how many steps it keeps a carry, without a limit.
    pub(crate) asked: usize,
    /// The same, as it was recorded.
    pub(crate) every: usize,
    /// Bytes besides the carries, as long as the recording is there.
    pub(crate) besides: usize,
    /// Bytes besides a stretch of carries, while the sweep is in it.
    pub(crate) sweep: usize,
}

impl LoopSize {
    /// Of a block; `asked` is how often a carry would be kept without a limit.
    pub(crate) fn of(block: &Block, asked: usize) -> LoopSize {
        let body = &*block.body;
        let rows = if let PlainRows::Numbers(numbers) = &body.rows { size_of_val(&numbers[..]) } else { 0 };
        let paths: usize = body.paths.iter().map(|path| path_bytes(&path.trace)).sum();
        // Sources on the list and in the finished one; their numbers and cotangents; the cotangents of the results.
        let sources = block.sources.len();
        let cotangents = size_of::<Option<f64>>();
        LoopSize {
            count: body.count,
            carry: body.carry,
            asked,
            every: body.every,
            besides: 2 * sources * size_of::<Source>() + body.sequence.bytes() + paths + rows,
            sweep: sources * (size_of::<f64>() + cotangents) + block.results() * 2 * cotangents + inner(body),
        }
    }

    /// Bytes of the carries that are kept, and of a stretch of them that is run again.
    fn carries(&self, every: usize) -> (usize, usize) {
        let bytes = self.carry.saturating_mul(size_of::<f64>());
        (self.count.div_ceil(every).saturating_mul(bytes), every.min(self.count).saturating_mul(bytes))
    }

    /// How often a carry is kept if stretches of this many bytes are run again.
    fn every(&self, stretch: usize) -> usize {
        let most = stretch / self.carry.saturating_mul(size_of::<f64>()).max(1);
        most.min(self.count).max(self.asked).max(1)
    }
}

/// Bytes of the loops inside of a step, which keep all their carries while the sweep is in it.
fn inner(body: &Loop) -> usize {
    let of_path = |blocks: &[Block]| {
        blocks.iter().map(|block| block.body.count * block.body.carry * 8 + inner(&block.body)).sum()
    };
    body.paths.iter().map(|path| of_path(&path.trace.blocks)).max().unwrap_or(0)
}

/// Bytes of a recording and its sweep, where the loops keep carries as they do with stretches of this many bytes; `fixed` are
/// those of all that is no loop.
fn peak(fixed: usize, loops: &[LoopSize], stretch: usize) -> usize {
    let (mut all, mut sweep) = (fixed, 0);
    for own in loops {
        let (kept, again) = own.carries(own.every(stretch));
        all = all.saturating_add(kept).saturating_add(own.besides);
        sweep = sweep.max(again.saturating_add(own.sweep));
    }
    all.saturating_add(sweep)
}

/// How often each loop keeps a carry so that the whole takes this many bytes at most; otherwise the least number of bytes.
pub(crate) fn thinned(fixed: usize, loops: &[LoopSize], limit: usize) -> Result<Vec<usize>, usize> {
    let longest = loops.iter().map(|own| own.carries(own.count.max(1)).1).max().unwrap_or(0);
    let mut least = usize::MAX;
    let mut stretch = 0;
    loop {
        let bytes = peak(fixed, loops, stretch);
        if bytes <= limit {
            return Ok(loops.iter().map(|own| own.every(stretch)).collect());
        }
        least = least.min(bytes);
        if stretch >= longest {
            return Err(least);
        }
        // In steps of a thirty-second: that is near enough to the best.
        stretch += (stretch / 32).max(size_of::<f64>());
    }
}

/// How the loops of a recording keep carries, and what was learnt of them.
#[derive(Debug, Default)]
pub(crate) struct Thinning {
    /// Bytes of carries that may be kept, if nothing is known of the loops.
    room: usize,
    /// How often each loop keeps a carry, and how many steps it has, where that is known.
    known: Vec<(usize, usize)>,
    /// The loops so far.
    pub(crate) loops: Vec<LoopSize>,
}

/// What one loop keeps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keeping {
    /// Its number in the recording.
    pub(crate) number: usize,
    pub(crate) every: usize,
    /// The most carries.
    pub(crate) most: Option<usize>,
    /// How many steps it has, if that is known.
    pub(crate) count: Option<usize>,
}

impl Thinning {
    /// For a first recording, which shows how long loops are and what their paths take: much of the limit may have to be left
    /// for these.
    pub(crate) fn within(limit: usize) -> Self {
        Thinning { room: limit / 8, ..Thinning::default() }
    }

    /// For another one of the same function, whose loops were these.
    pub(crate) fn known(loops: &[LoopSize], every: Vec<usize>) -> Self {
        let known = every.into_iter().zip(loops.iter().map(|own| own.count)).collect();
        Thinning { known, ..Thinning::default() }
    }

    /// What the next loop keeps, which carries `carry` numbers and would keep those of every `every`-th step.
    pub(crate) fn next(&mut self, carry: usize, every: usize) -> Keeping {
        let number = self.loops.len();
        self.loops.push(LoopSize::default());
        if let Some(&(every, count)) = self.known.get(number) {
            return Keeping { number, every, most: None, count: Some(count) };
        }
        let taken: usize = self.loops.iter().map(|own| own.carries(own.every.max(1)).0).sum();
        let room = self.room.saturating_sub(taken) / carry.saturating_mul(size_of::<f64>()).max(1);
        Keeping { number, every, most: Some(room.max(1)), count: None }
    }
}

/// How often a carry is kept of a loop that keeps one of `every` steps, but no more than `snapshots`, at the end of its steps.
pub(crate) fn asked(count: usize, every: usize, snapshots: Option<usize>) -> usize {
    let Some(most) = snapshots.map(|most| most.max(1)) else { return every };
    let mut own = every;
    while count.div_ceil(own) > most {
        own *= 2;
    }
    own
}

#[cfg(test)]
mod tests;
