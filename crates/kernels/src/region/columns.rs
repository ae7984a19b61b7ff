//! Columns of a table that are stored together, row by row.
//!
//! Where a few numbers for each row become neighbours in memory, each of them is a store of its own to places that lie far apart:
//! every cache line is written once per column. Stores that follow each other in the code and fill neighbouring columns
//! write a row at a time instead.
//!
//! Measured on 30 November 2026 (Intel Xeon with AVX-512, while two builds were running), nanoseconds an element: 2 columns of 2 numbers
//! 2.0 to 3.3 one after the other and 0.7 to 0.9 together, 3 of 3 2.7 to 5.8 and 1.0 to 1.2, 8 of 30 3.0 to 3.8 and 0.9 to 1.8. Loads of
//! neighbouring columns, and blocks that are transposed in registers, gained little.

use std::ops::Range;

use super::code::{Instr, Kind, Op};
use super::pattern::for_kind;
use super::run::Chunk;
use super::{Parts, Transfer};

/// The most columns that a region stores together: as many numbers in double precision as a cache line holds.
pub const TOGETHER: usize = 8;

/// The stores, by the numbers of their instructions, that are done together: at least two of them, each range after the one before.
pub(super) fn together(parts: &Parts) -> Vec<Range<usize>> {
    let mut all: Vec<Range<usize>> = Vec::new();
    for (k, pair) in parts.code.windows(2).enumerate() {
        let [Some(before), Some(after)] = [&pair[0], &pair[1]].map(|instr| store(parts, instr)) else { continue };
        if !are_neighbours(before, after) {
            continue;
        }
        match all.last_mut() {
            Some(last) if last.end == k + 1 && last.len() < TOGETHER => last.end = k + 2,
            Some(last) if last.end > k => {}
            _ => all.push(k..k + 2),
        }
    }
    all
}

fn store<'a>(parts: &'a Parts, instr: &Instr) -> Option<&'a Transfer> {
    match instr.op {
        Op::Store(k) => Some(&parts.stores[usize::from(k)]),
        _ => None,
    }
}

/// Whether two stores fill columns of the same rows, the second one behind the first.
fn are_neighbours(before: &Transfer, after: &Transfer) -> bool {
    let [same, next] = [before, after].map(|t| (t.operand, t.kind, t.level));
    let dims = before.pattern.dims();
    same == next
        && matches!(dims, [(_, stride)] if *stride > 1)
        && dims == after.pattern.dims()
        && after.pattern.offset() == before.pattern.offset() + 1
}

impl Chunk<'_> {
    /// Runs stores that are done together.
    pub(super) fn store_columns(&self, instrs: &[Instr]) {
        let region = self.memory.region;
        let stores = instrs.iter().filter_map(|instr| store(&region.parts, instr));
        let Some(first) = stores.clone().next() else { return };
        let (start, rows) = self.range(first.level);
        let [(_, stride)] = *first.pattern.dims() else { unreachable!("`are_neighbours` has seen one axis") };
        let stride = stride.unsigned_abs();
        let mut from = [std::ptr::null(); TOGETHER];
        from.iter_mut().zip(instrs).for_each(|(from, instr)| *from = self.read(instr.a));
        let base = self.memory.outputs[usize::from(first.operand)];
        debug_assert!(
            stores.count() == instrs.len() && instrs.len() <= TOGETHER,
            "stores alone, as many as there is room for"
        );
        for_kind!(first.kind, T => {
            // SAFETY: the elements of the chunk's rows are among those of each store, whose pattern `Region::new` and whose output
            // `run` have checked. Every place that is read holds as many elements as the chunk has rows, as in `step`. Tests
            // `columns_are_stored_together`, `random_regions_compute_their_definition`.
            unsafe {
                let to = base.cast::<T>().add(first.pattern.offset() + start * stride);
                let from = from.map(<*const u8>::cast::<T>);
                match instrs.len() {
                    2 => write_rows::<T, 2>(&from, to, stride, rows),
                    3 => write_rows::<T, 3>(&from, to, stride, rows),
                    4 => write_rows::<T, 4>(&from, to, stride, rows),
                    5 => write_rows::<T, 5>(&from, to, stride, rows),
                    6 => write_rows::<T, 6>(&from, to, stride, rows),
                    7 => write_rows::<T, 7>(&from, to, stride, rows),
                    _ => write_rows::<T, TOGETHER>(&from, to, stride, rows),
                }
            }
        });
    }
}

/// Writes rows of `N` elements, `stride` apart.
///
/// # Safety
/// The first `N` of `from` are valid for reads of `rows` elements, and `to` for writes of all rows; they do not overlap.
#[inline(always)]
unsafe fn write_rows<T: Copy, const N: usize>(from: &[*const T; TOGETHER], to: *mut T, stride: usize, rows: usize) {
    for row in 0..rows {
        // SAFETY: the caller's promise.
        unsafe {
            let elements: [T; N] = std::array::from_fn(|k| *from[k].add(row));
            to.add(row * stride).cast::<[T; N]>().write_unaligned(elements);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Direct, Granularity, Pattern, Place, Space};
    use super::*;

    /// Of stores with these offsets and strides: the first of those that are done together, and how many.
    fn tables(stores: &[(usize, isize)]) -> Vec<(usize, usize)> {
        let transfer = |&(offset, stride): &(usize, isize)| store(0, Kind::F64, Granularity::Full, offset, stride);
        of(stores.iter().map(transfer).collect())
    }

    fn store(operand: u16, kind: Kind, level: Granularity, offset: usize, stride: isize) -> Transfer {
        Transfer { operand, kind, level, pattern: Pattern::new(offset, &[5], &[stride]).unwrap() }
    }

    fn of(stores: Vec<Transfer>) -> Vec<(usize, usize)> {
        let code = (0..stores.len()).map(|k| Instr { op: Op::Store(k as u16), a: 0, b: 0, c: 0, out: 0 });
        let all = together(&Parts {
            space: Space { groups: 1, rows: 5, cols: 1 },
            slots: Vec::new(),
            directs: vec![Direct { place: Place::Input(0), kind: Kind::F64, level: Granularity::Full, offset: 0 }],
            constants: Vec::new(),
            repeated: Vec::new(),
            loads: Vec::new(),
            blocks: Vec::new(),
            takes: Vec::new(),
            stores,
            accumulators: Vec::new(),
            code: code.collect(),
            inputs: 1,
            outputs: 2,
        });
        all.into_iter().map(|range| (range.start, range.len())).collect()
    }

    #[test]
    fn neighbours_are_stored_together() {
        let columns = |count: usize| (0..count).map(|k| (k, 20)).collect::<Vec<_>>();
        assert_eq!(tables(&columns(1)), []);
        assert_eq!(tables(&columns(3)), [(0, 3)]);
        assert_eq!(tables(&columns(8)), [(0, 8)]);
        assert_eq!(tables(&columns(11)), [(0, 8), (8, 3)]);
        assert_eq!(tables(&columns(9)), [(0, 8)], "the last one is alone");
        assert_eq!(tables(&[(0, 20), (1, 20), (3, 20), (4, 20), (2, 20)]), [(0, 2), (2, 2)]);
        assert_eq!(tables(&[(0, 20), (1, 21), (0, 1), (1, 1), (9, -2), (10, -2)]), []);
    }

    #[test]
    fn stores_of_other_tables_are_no_neighbours() {
        let first = || store(0, Kind::F64, Granularity::Full, 0, 20);
        let with = |next: Transfer| of(vec![first(), next]);
        assert_eq!(with(store(0, Kind::F64, Granularity::Full, 1, 20)), [(0, 2)]);
        assert_eq!(with(store(1, Kind::F64, Granularity::Full, 1, 20)), []);
        assert_eq!(with(store(0, Kind::I64, Granularity::Full, 1, 20)), []);
        assert_eq!(with(store(0, Kind::F64, Granularity::Row, 1, 20)), []);
    }
}
