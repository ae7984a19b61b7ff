//! Where the elements of a region lie in memory: any order of axes, broadcast or reversed ones, parts of an array.

use super::code::Kind;

/// Positions `offset + sum_k index_k * stride_k` for the multi-indices of `dims` in row-major order.
///
/// Strides may be 0 (a broadcast axis) or negative (a reversed one).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pattern {
    /// The position of the first element. All fields are private because `end` follows from them.
    offset: usize,
    /// Lengths and strides, outermost first; neighbours that continue each other are one.
    dims: Vec<(usize, isize)>,
    /// The largest position plus 1; 0 if there is no element.
    end: usize,
}

/// How many elements of a short run are copied at once, and how long a short run is at most: a call would take longer.
const PIECE: usize = 4;
const MANY: usize = 16;
/// The usual number of axes at most.
const FEW_DIMS: usize = 9;

impl Pattern {
    /// The pattern of these axes; `None` if a position would be negative, or a position or the count overflow.
    pub fn new(offset: usize, lengths: &[usize], strides: &[isize]) -> Option<Self> {
        assert_eq!(lengths.len(), strides.len(), "a stride per axis");
        let mut dims: Vec<(usize, isize)> = Vec::with_capacity(lengths.len());
        let (mut low, mut high) = (isize::try_from(offset).ok()?, isize::try_from(offset).ok()?);
        let empty = lengths.contains(&0);
        if !empty {
            lengths.iter().try_fold(1usize, |count, &length| count.checked_mul(length))?;
        }
        for (&length, &stride) in lengths.iter().zip(strides) {
            if length == 1 {
                continue;
            }
            if !empty {
                let reach = stride.checked_mul(isize::try_from(length - 1).ok()?)?;
                (low, high) = if reach < 0 { (low.checked_add(reach)?, high) } else { (low, high.checked_add(reach)?) };
            }
            match dims.last_mut() {
                Some((outer, step)) if *step == stride.checked_mul(isize::try_from(length).ok()?)? => {
                    *outer = outer.checked_mul(length)?;
                    *step = stride;
                }
                _ => dims.push((length, stride)),
            }
        }
        if low < 0 {
            return None;
        }
        let end = if empty { 0 } else { high.cast_unsigned().checked_add(1)? };
        Some(Pattern { offset, dims, end })
    }

    /// Elements one after the other.
    pub fn contiguous(count: usize) -> Self {
        Pattern { offset: 0, dims: if count == 1 { Vec::new() } else { vec![(count, 1)] }, end: count }
    }

    /// The position of the first element.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The smallest position of an element; `None` if there is no element.
    pub fn lowest(&self) -> Option<usize> {
        let back = |&(length, stride): &(usize, isize)| stride.min(0).unsigned_abs() * (length - 1);
        (self.end > 0).then(|| self.offset - self.dims.iter().map(back).sum::<usize>())
    }

    /// The same elements in memory that begins this many positions later; `None` if there is one before it.
    pub fn from_later(&self, start: usize) -> Option<Self> {
        match self.lowest() {
            Some(lowest) if lowest < start => None,
            Some(_) => Some(Pattern { offset: self.offset - start, dims: self.dims.clone(), end: self.end - start }),
            None => Some(self.clone()),
        }
    }

    /// How many elements there are.
    pub fn count(&self) -> usize {
        if self.end == 0 { 0 } else { self.dims.iter().map(|&(length, _)| length).product() }
    }

    /// The least number of elements of the memory.
    pub fn end(&self) -> usize {
        self.end
    }

    /// Lengths and strides after joining.
    pub fn dims(&self) -> &[(usize, isize)] {
        &self.dims
    }

    /// Whether the elements follow each other in memory.
    pub fn is_contiguous(&self) -> bool {
        matches!(self.dims[..], [] | [(_, 1)])
    }

    /// Whether all positions are the same.
    pub fn is_constant(&self) -> bool {
        self.dims.iter().all(|&(_, stride)| stride == 0)
    }

    /// Whether no position occurs twice: each axis steps over everything that the shorter steps reach.
    pub fn is_injective(&self) -> bool {
        let mut dims: Vec<(usize, usize)> =
            self.dims.iter().map(|&(length, stride)| (stride.unsigned_abs(), length)).collect();
        dims.sort_unstable();
        let mut reach = 0usize;
        dims.iter().all(|&(stride, length)| {
            let fits = stride > reach;
            reach = reach.saturating_add(stride.saturating_mul(length.saturating_sub(1)));
            fits || length <= 1
        })
    }

    /// Calls `visit` for runs of elements that cover `start..start + count`.
    #[inline(always)]
    fn for_runs(&self, start: usize, count: usize, visit: impl FnMut(Runs)) {
        // A list of indices large enough for any number of axes would have to be zeroed for every chunk.
        if self.dims.len() <= FEW_DIMS {
            self.for_runs_with([0; FEW_DIMS - 1], start, count, visit);
        } else {
            self.for_many_runs(start, count, visit);
        }
    }

    /// The same for many axes, which are rare: compiled once.
    #[cold]
    #[inline(never)]
    fn for_many_runs(&self, start: usize, count: usize, visit: impl FnMut(Runs)) {
        self.for_runs_with([0; Self::MAX_DIMS - 1], start, count, visit);
    }

    /// The same with a list of indices, one for each outer axis.
    #[inline(always)]
    fn for_runs_with<const N: usize>(
        &self,
        mut index: [usize; N],
        start: usize,
        count: usize,
        mut visit: impl FnMut(Runs),
    ) {
        if count == 0 {
            return;
        }
        let Some((&(inner, stride), outer)) = self.dims.split_last() else {
            return visit(Runs { rows: 1, step: 0, run: count, position: self.offset.cast_signed(), stride: 0 });
        };
        let (mut rest, mut left) = (start / inner, count);
        let mut column = start % inner;
        let depth = outer.len();
        let mut position = self.offset.cast_signed();
        for axis in (0..depth).rev() {
            let (length, step) = outer[axis];
            index[axis] = rest % length;
            rest /= length;
            position += index[axis].cast_signed() * step;
        }
        while left > 0 {
            let run = left.min(inner - column);
            // Whole runs along the last of the outer axes are visited together.
            let (mut rows, mut step) = (1, 0);
            if run == inner && depth > 0 {
                let (length, own) = outer[depth - 1];
                (rows, step) = ((left / inner).min(length - index[depth - 1]), own);
            }
            visit(Runs { rows, step, run, position: position + column.cast_signed() * stride, stride });
            left -= rows * run;
            column = 0;
            if depth > 0 {
                index[depth - 1] += rows - 1;
                position += step * (rows - 1).cast_signed();
            }
            for axis in (0..depth).rev() {
                let (length, step) = outer[axis];
                index[axis] += 1;
                position += step;
                if index[axis] < length {
                    break;
                }
                position -= step * length.cast_signed();
                index[axis] = 0;
            }
        }
    }

    /// How many axes [`Pattern`] walks at most: more than an array of fewer than 2^64 elements has, without those of
    /// length 1.
    pub const MAX_DIMS: usize = 64;

    /// Copies elements `start..start + count` of the pattern over `from` to `to`.
    ///
    /// # Safety
    /// `from` is valid for reads of [`Pattern::end`] elements, `to` for writes of `count`, they do not overlap,
    /// `start + count` is at most [`Pattern::count`], and there are at most [`Pattern::MAX_DIMS`] axes.
    #[inline(always)]
    pub(super) unsafe fn gather<T: Copy>(&self, from: *const T, to: *mut T, start: usize, count: usize) {
        let mut done = 0usize;
        self.for_runs(start, count, |runs| {
            let Runs { rows, step, run, mut position, stride } = runs;
            // SAFETY: the positions of a pattern are below its end (`Pattern::new`), and `done + rows * run` is at most
            // `count`. Tests of this file.
            unsafe {
                match (run, stride) {
                    // Loops of constant length: many short rows would spend their time in calls.
                    (2, 0 | 1) => return gather_rows::<T, 2>(from, to, &mut done, runs),
                    (3, 0 | 1) => return gather_rows::<T, 3>(from, to, &mut done, runs),
                    (4, 0 | 1) => return gather_rows::<T, 4>(from, to, &mut done, runs),
                    (8, 0 | 1) => return gather_rows::<T, 8>(from, to, &mut done, runs),
                    (16, 0 | 1) => return gather_rows::<T, 16>(from, to, &mut done, runs),
                    (1, _) => {
                        let to = to.add(done);
                        (0..rows).for_each(|k| *to.add(k) = *from.offset(position + k.cast_signed() * step));
                        done += rows;
                        return;
                    }
                    _ => {}
                }
            }
            for _ in 0..rows {
                // What is written beyond a short run is overwritten by the next one.
                let filled = run.next_multiple_of(PIECE);
                let short = run <= MANY && done + filled <= count;
                // SAFETY: as above; what is read and written beyond a short run is below the ends of both, as was just asked.
                unsafe {
                    let (from, to) = (from.offset(position), to.add(done));
                    match stride {
                        1 if short && position.cast_unsigned() + filled <= self.end => {
                            for k in (0..run).step_by(PIECE) {
                                let piece = from.add(k).cast::<[T; PIECE]>().read_unaligned();
                                to.add(k).cast::<[T; PIECE]>().write_unaligned(piece);
                            }
                        }
                        1 => std::ptr::copy_nonoverlapping(from, to, run),
                        0 if short => {
                            let piece = [*from; PIECE];
                            for k in (0..run).step_by(PIECE) {
                                to.add(k).cast::<[T; PIECE]>().write_unaligned(piece);
                            }
                        }
                        0 => {
                            let value = *from;
                            std::slice::from_raw_parts_mut(to, run).fill(value);
                        }
                        _ => (0..run).for_each(|k| *to.add(k) = *from.offset(k.cast_signed() * stride)),
                    }
                }
                done += run;
                position += step;
            }
        });
    }

    /// Copies `count` elements of `from` to the elements `start..start + count` of the pattern over `to`.
    ///
    /// # Safety
    /// As [`Pattern::gather`], with the roles exchanged.
    #[inline(always)]
    pub(super) unsafe fn scatter<T: Copy>(&self, from: *const T, to: *mut T, start: usize, count: usize) {
        let mut done = 0usize;
        self.for_runs(start, count, |runs| {
            let Runs { rows, step, run, mut position, stride } = runs;
            // SAFETY: as in `gather`.
            unsafe {
                match (run, stride) {
                    (2, 1) => return scatter_rows::<T, 2>(from, to, &mut done, runs),
                    (3, 1) => return scatter_rows::<T, 3>(from, to, &mut done, runs),
                    (4, 1) => return scatter_rows::<T, 4>(from, to, &mut done, runs),
                    (8, 1) => return scatter_rows::<T, 8>(from, to, &mut done, runs),
                    (16, 1) => return scatter_rows::<T, 16>(from, to, &mut done, runs),
                    _ => {}
                }
            }
            for _ in 0..rows {
                // SAFETY: as in `gather`.
                unsafe {
                    let (from, to) = (from.add(done), to.offset(position));
                    match stride {
                        1 => std::ptr::copy_nonoverlapping(from, to, run),
                        _ => (0..run).for_each(|k| *to.offset(k.cast_signed() * stride) = *from.add(k)),
                    }
                }
                done += run;
                position += step;
            }
        });
    }
}

/// Runs of elements of a pattern: `rows` of them, `run` elements each.
#[derive(Clone, Copy)]
struct Runs {
    rows: usize,
    /// From run to run.
    step: isize,
    run: usize,
    /// Of the first element.
    position: isize,
    /// From element to element.
    stride: isize,
}

/// Copies runs of `N` elements, which follow each other or are all the same, to `to + done`.
///
/// # Safety
/// As [`Pattern::gather`], for these runs.
#[inline(always)]
unsafe fn gather_rows<T: Copy, const N: usize>(from: *const T, to: *mut T, done: &mut usize, runs: Runs) {
    let Runs { rows, step, position, stride, .. } = runs;
    for k in 0..rows {
        // SAFETY: the caller's promise.
        unsafe {
            let from = from.offset(position + k.cast_signed() * step);
            let row = if stride == 0 { [*from; N] } else { from.cast::<[T; N]>().read_unaligned() };
            to.add(*done + k * N).cast::<[T; N]>().write_unaligned(row);
        }
    }
    *done += rows * N;
}

/// Copies runs of `N` elements from `from + done` to where they follow each other.
///
/// # Safety
/// As [`Pattern::scatter`], for these runs.
#[inline(always)]
unsafe fn scatter_rows<T: Copy, const N: usize>(from: *const T, to: *mut T, done: &mut usize, runs: Runs) {
    let Runs { rows, step, position, .. } = runs;
    for k in 0..rows {
        // SAFETY: the caller's promise.
        unsafe {
            let row = from.add(*done + k * N).cast::<[T; N]>().read_unaligned();
            to.offset(position + k.cast_signed() * step).cast::<[T; N]>().write_unaligned(row);
        }
    }
    *done += rows * N;
}

/// Runs `body` with the element type of a kind.
macro_rules! for_kind {
    ($kind:expr, $name:ident => $body:expr) => {
        match $kind {
            Kind::U8 => {
                type $name = u8;
                $body
            }
            Kind::I64 => {
                type $name = i64;
                $body
            }
            Kind::F32 => {
                type $name = f32;
                $body
            }
            Kind::F64 => {
                type $name = f64;
                $body
            }
        }
    };
}
pub(super) use for_kind;

/// Runs `body` with the type of real numbers of a kind.
macro_rules! for_float {
    ($kind:expr, $name:ident => $body:expr) => {
        match $kind {
            Kind::F32 => {
                type $name = f32;
                $body
            }
            Kind::F64 => {
                type $name = f64;
                $body
            }
            Kind::U8 | Kind::I64 => unreachable!("`Region::new` has checked the kind"),
        }
    };
}
pub(super) use for_float;

/// [`Pattern::gather`] with a kind known at run time.
///
/// # Safety
/// As there.
#[inline(always)]
pub(super) unsafe fn gather(kind: Kind, p: &Pattern, from: *const u8, to: *mut u8, start: usize, count: usize) {
    // SAFETY: the caller's promise.
    for_kind!(kind, T => unsafe { p.gather::<T>(from.cast(), to.cast(), start, count) });
}

/// [`Pattern::scatter`] with a kind known at run time.
///
/// # Safety
/// As there.
#[inline(always)]
pub(super) unsafe fn scatter(kind: Kind, p: &Pattern, from: *const u8, to: *mut u8, start: usize, count: usize) {
    // SAFETY: the caller's promise.
    for_kind!(kind, T => unsafe { p.scatter::<T>(from.cast(), to.cast(), start, count) });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The positions by definition.
    fn positions(offset: usize, lengths: &[usize], strides: &[isize]) -> Vec<usize> {
        let count: usize = lengths.iter().product();
        let at = |mut k: usize| {
            let mut position = offset.cast_signed();
            for axis in (0..lengths.len()).rev() {
                position += (k % lengths[axis]).cast_signed() * strides[axis];
                k /= lengths[axis];
            }
            position.cast_unsigned()
        };
        (0..count).map(at).collect()
    }

    #[test]
    fn elements_are_where_the_definition_says() {
        let cases: [(usize, &[usize], &[isize]); 18] = [
            (0, &[3, 4], &[4, 1]),
            (0, &[3, 4], &[1, 3]),
            (2, &[3, 4], &[0, 1]),
            (11, &[3, 4], &[-4, -1]),
            (5, &[2, 3, 1, 2], &[6, -2, 7, 1]),
            (7, &[], &[]),
            (1, &[4], &[0]),
            (3, &[2, 2, 5], &[0, 5, 0]),
            // Runs that are copied in pieces, the last of which reaches beyond the run or the memory.
            (1, &[3, 5], &[6, 1]),
            (0, &[2, 3, 6], &[7, 0, 1]),
            (4, &[3, 16], &[9, 1]),
            (9, &[4, 9], &[-2, 0]),
            // Many runs of two, three, four and one, one after the other.
            (1, &[2, 3, 2], &[20, 6, 1]),
            (2, &[2, 4, 3], &[20, 4, 1]),
            (21, &[2, 3, 4], &[6, -7, 1]),
            (12, &[3, 2, 3], &[-4, 7, 0]),
            (0, &[5, 2, 1], &[7, 3, 1]),
            (39, &[3, 3, 4], &[-9, -2, -1]),
        ];
        let memory: Vec<f64> = (0..40).map(f64::from).collect();
        for (offset, lengths, strides) in cases {
            let pattern = Pattern::new(offset, lengths, strides).unwrap();
            let wanted = positions(offset, lengths, strides);
            assert_eq!(pattern.count(), wanted.len());
            assert_eq!(pattern.end(), wanted.iter().max().unwrap() + 1);
            let lowest = *wanted.iter().min().unwrap();
            assert_eq!(pattern.lowest(), Some(lowest));
            assert_eq!(pattern.from_later(lowest), Pattern::new(offset - lowest, lengths, strides));
            assert_eq!(pattern.from_later(lowest + 1), None);
            for start in 0..wanted.len() {
                for count in 0..=wanted.len() - start {
                    let mut got = vec![-1.0; count];
                    // SAFETY: the memory is longer than the pattern's end, and `got` has `count` elements.
                    unsafe { pattern.gather(memory.as_ptr(), got.as_mut_ptr(), start, count) };
                    let wanted: Vec<f64> = wanted[start..start + count].iter().map(|&k| k as f64).collect();
                    assert_eq!(got, wanted, "{lengths:?} {strides:?} {start} {count}");
                }
            }
            let mut sorted = wanted.clone();
            sorted.sort_unstable();
            sorted.dedup();
            assert_eq!(pattern.is_injective(), sorted.len() == wanted.len(), "{lengths:?} {strides:?}");
            if !pattern.is_injective() {
                continue;
            }
            for (start, end) in (0..wanted.len()).flat_map(|start| (start..=wanted.len()).map(move |end| (start, end)))
            {
                let (mut out, count) = (vec![-1.0; 40], end - start);
                // SAFETY: `out` is longer than the pattern's end.
                unsafe { pattern.scatter(memory.as_ptr(), out.as_mut_ptr(), start, count) };
                assert!(wanted[start..end].iter().enumerate().all(|(k, &at)| out[at] == k as f64));
                assert_eq!(out.iter().filter(|&&x| x >= 0.0).count(), count);
            }
        }
    }

    #[test]
    fn negative_positions_and_overflow_are_refused() {
        assert_eq!(Pattern::new(3, &[3], &[-2]), None);
        assert_eq!(Pattern::new(0, &[3, 3], &[isize::MAX, 1]), None);
        assert_eq!(Pattern::new(5, &[0, 3], &[-100, 1]).unwrap().end(), 0);
        assert!(Pattern::new(0, &[2, 3], &[3, 1]).unwrap().is_contiguous());
        assert!(Pattern::new(4, &[2, 3], &[0, 0]).unwrap().is_constant());
    }
}
