//! A batch of matrices, cut into parts by shape alone.

use std::sync::Mutex;

use super::{Failed, Fault, Number};
use crate::Pool;
use crate::arena::Line;
use crate::parallel::Chunks;

/// The work of one part, in multiplications: a few microseconds.
const GRAIN: usize = 1 << 14;

/// Where parts say which matrices have no factorisation.
#[derive(Default)]
pub(super) struct Report(Mutex<Option<Failed>>);

impl Report {
    /// A fault of the matrix with this number. The first one is kept.
    #[cold]
    pub(super) fn add(&self, index: usize, fault: Fault) {
        let mut first = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if first.is_none_or(|first| index < first.index) {
            *first = Some(Failed { index, fault });
        }
    }

    pub(super) fn result(self) -> Result<(), Failed> {
        self.0.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).map_or(Ok(()), Err)
    }
}

/// What a part computes: the numbers of its matrices, their pieces of the results, and the scratch of its thread.
pub(super) struct Part<'a, T, const K: usize> {
    pub(super) first: usize,
    pub(super) count: usize,
    pub(super) outs: [&'a mut [T]; K],
    pub(super) integers: &'a mut [i64],
    pub(super) scratch: &'a mut [Line],
}

/// The results of a batch: slices, and the size of one matrix's piece in each.
pub(super) struct Outs<'a, T, const K: usize> {
    pub(super) numbers: [(&'a mut [T], usize); K],
    pub(super) integers: (&'a mut [i64], usize),
}

/// Calls `f` for every part of a batch, on the threads of the pool. `work` is that of one matrix; parts have a multiple of
/// `unit` matrices.
pub(super) fn parts<T: Number, const K: usize>(
    pool: &Pool,
    [count, work, unit]: [usize; 3],
    outs: Outs<'_, T, K>,
    scratch: &mut [Line],
    f: impl Fn(Part<'_, T, K>) + Sync,
) {
    if count == 0 {
        return;
    }
    let group = (GRAIN / work.max(1)).clamp(1, count).next_multiple_of(unit);
    let piece = scratch.len() / pool.threads();
    let scratch = Chunks::new(scratch, piece.max(1));
    for (out, size) in &outs.numbers {
        assert_eq!(out.len(), size * count, "the results of {count} matrices");
    }
    assert_eq!(outs.integers.0.len(), outs.integers.1 * count, "the permutations of {count} matrices");
    let integers = Chunks::new(outs.integers.0, (outs.integers.1 * group).max(1));
    let numbers = outs.numbers.map(|(out, size)| Chunks::new(out, (size * group).max(1)));
    let part = |number: usize, thread: usize| {
        // SAFETY: a part runs once, and no two threads have one number in one run: all pieces have one user. Test
        // `the_same_bits_on_any_number_of_threads`.
        let (outs, integers, scratch) = unsafe {
            let outs = std::array::from_fn(|k| numbers[k].take(number));
            (outs, integers.take(number), scratch.take(thread))
        };
        let first = number * group;
        f(Part { first, count: group.min(count - first), outs, integers, scratch });
    };
    let parts = count.div_ceil(group);
    if parts == 1 {
        part(0, 0);
    } else if let Err(panicked) = pool.run(parts, &part) {
        panic!("{}", panicked.message);
    }
}

/// The pieces of one matrix.
pub(super) struct One<'a, T, const K: usize> {
    pub(super) index: usize,
    pub(super) outs: [&'a mut [T]; K],
    pub(super) integers: &'a mut [i64],
    pub(super) scratch: &'a mut [Line],
}

/// Calls `f` for every matrix of a batch, on the threads of the pool. The results of one with a fault are set to NaN.
pub(super) fn each<T: Number, const K: usize>(
    pool: &Pool,
    [count, work]: [usize; 2],
    outs: Outs<'_, T, K>,
    scratch: &mut [Line],
    f: impl Fn(One<'_, T, K>) -> Result<(), Fault> + Sync,
) -> Result<(), Failed> {
    let report = Report::default();
    let sizes: [usize; K] = std::array::from_fn(|k| outs.numbers[k].1);
    let integers = outs.integers.1;
    parts(pool, [count, work, 1], outs, scratch, |mut part| {
        for k in 0..part.count {
            let piece = |out: usize| k * sizes[out]..(k + 1) * sizes[out];
            let mut out = 0;
            let outs = part.outs.each_mut().map(|numbers| {
                out += 1;
                &mut numbers[piece(out - 1)]
            });
            let integers = &mut part.integers[k * integers..(k + 1) * integers];
            let index = part.first + k;
            if let Err(fault) = f(One { index, outs, integers, scratch: part.scratch }) {
                report.add(index, fault);
                part.outs.iter_mut().enumerate().for_each(|(out, numbers)| numbers[piece(out)].fill(T::NAN));
            }
        }
    });
    report.result()
}
