//! Values that are looked up: rows of an array in memory, at indices in memory.
//!
//! The elements of such a value are rows of the array one after the other, in the order of the indices, as of NumPy's `take`
//! along the first axis. A region that computes with them reads them where they lie: by itself a lookup is written and read
//! again, which takes longer than most of what is done with it.

use super::{Granularity, Kind, Space};
use crate::{Work, dispatch};

/// Rows of an array at indices.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Take {
    /// The number of the input with the array.
    pub array: u16,
    /// The position of its first element.
    pub offset: usize,
    /// How many rows it has.
    pub count: usize,
    /// How many elements a row has, at least one.
    pub size: usize,
    /// The number of the input with the indices, which are integers.
    pub indices: u16,
    /// The position of the first index.
    pub first: usize,
    /// The elements.
    pub kind: Kind,
    /// Which elements the value has.
    pub level: Granularity,
    /// Whether an index without a row is an error. Zeros stand there in any case.
    pub must: bool,
}

impl Take {
    /// How many indices there are in this space; `None` if its elements are no whole rows.
    pub fn rows(&self, space: &Space) -> Option<usize> {
        let count = space.count(self.level);
        (self.size > 0 && count.is_multiple_of(self.size)).then(|| count / self.size)
    }

    /// How many elements the array and the indices must have; `None` if that is more than there can be, or there are no whole
    /// rows.
    pub(super) fn ends(&self, space: &Space) -> Option<[usize; 2]> {
        let array = self.count.checked_mul(self.size).and_then(|size| size.checked_add(self.offset))?;
        let indices = self.first.checked_add(self.rows(space)?)?;
        [array, indices].iter().all(|&end| end <= isize::MAX as usize / 8).then_some([array, indices])
    }

    /// Copies elements `start..start + count` to `to`. Whether all of their indices have a row.
    ///
    /// # Safety
    /// `inputs` has the array and the indices, valid for reads of the elements that they need ([`Take::ends`]); `to` is valid
    /// for writes of `count` elements and overlaps none of them; `start + count` is at most what the space has.
    #[inline(always)]
    pub(super) unsafe fn take(&self, inputs: &[*mut u8], to: *mut u8, start: usize, count: usize) -> bool {
        let (first, skipped) = (start / self.size, start % self.size);
        let array = inputs[usize::from(self.array)].cast_const();
        // SAFETY: the caller's promise; elements of one width are copied alike. Test `regions_agree_with_the_interpreter`.
        unsafe {
            let indices = inputs[usize::from(self.indices)].cast_const().cast::<i64>().add(self.first + first);
            let indices = std::slice::from_raw_parts(indices, (skipped + count).div_ceil(self.size));
            match self.kind.size() {
                1 => self.take_as::<u8>(array, (indices, skipped), to, count),
                4 => self.take_as::<u32>(array.cast(), (indices, skipped), to.cast(), count),
                _ => self.take_as::<u64>(array.cast(), (indices, skipped), to.cast(), count),
            }
        }
    }

    /// As [`Take::take`], of elements of this width.
    ///
    /// # Safety
    /// As there.
    #[inline(always)]
    unsafe fn take_as<T: Copy + Default>(
        &self,
        array: *const T,
        (indices, skipped): (&[i64], usize),
        to: *mut T,
        count: usize,
    ) -> bool {
        // SAFETY: the caller's promise. Test as above.
        let (array, out) = unsafe {
            let array = std::slice::from_raw_parts(array.add(self.offset), self.count * self.size);
            (array, std::slice::from_raw_parts_mut(to, count))
        };
        dispatch(Rows { array, size: self.size, indices, skipped, out })
    }
}

/// Rows at indices, without the first elements of the first one, as many as there is room for.
struct Rows<'a, T> {
    array: &'a [T],
    size: usize,
    indices: &'a [i64],
    skipped: usize,
    out: &'a mut [T],
}

impl<T: Copy + Default> Work for Rows<'_, T> {
    type Output = bool;

    #[inline(always)]
    fn run(mut self) -> bool {
        let mut all = true;
        if self.skipped > 0 {
            // The rest of a row that an earlier chunk began.
            let rest = (self.size - self.skipped).min(self.out.len());
            let (out, after) = std::mem::take(&mut self.out).split_at_mut(rest);
            all &= part(self.array, self.size, self.indices[0], self.skipped, out);
            (self.out, self.indices) = (after, &self.indices[1..]);
        }
        let whole = match self.size {
            1 => self.fixed::<1>(),
            2 => self.fixed::<2>(),
            3 => self.fixed::<3>(),
            4 => self.fixed::<4>(),
            6 => self.fixed::<6>(),
            8 => self.fixed::<8>(),
            16 => self.fixed::<16>(),
            size => {
                let mut whole = true;
                for (out, &index) in self.out.chunks_mut(size).zip(self.indices) {
                    whole &= part(self.array, size, index, 0, out);
                }
                whole
            }
        };
        all & whole
    }
}

impl<T: Copy + Default> Rows<'_, T> {
    /// Rows of `N` elements from their first one on.
    #[inline(always)]
    fn fixed<const N: usize>(self) -> bool {
        let (rows, _) = self.array.as_chunks::<N>();
        let (out, rest) = self.out.as_chunks_mut::<N>();
        let (indices, last) = self.indices.split_at(out.len());
        let mut all = true;
        for (out, &index) in out.iter_mut().zip(indices) {
            // Each written where it goes: chosen first, a row would go by way of the stack.
            match rows.get(place(index)) {
                Some(row) => *out = *row,
                None => (*out, all) = ([T::default(); N], false),
            }
        }
        match last.first() {
            Some(&index) => all & part(self.array, N, index, 0, rest),
            None => all,
        }
    }
}

/// An index as one that no row has if it is negative.
#[inline(always)]
fn place(index: i64) -> usize {
    usize::try_from(index as u64).unwrap_or(usize::MAX)
}

/// Elements of a row from `from` on, zeros if there is no such row. Whether there is.
#[inline(always)]
fn part<T: Copy + Default>(array: &[T], size: usize, index: i64, from: usize, out: &mut [T]) -> bool {
    let begin = place(index).checked_mul(size).and_then(|begin| begin.checked_add(from));
    let row = begin.and_then(|begin| array.get(begin..begin.checked_add(out.len())?));
    match row {
        Some(row) => out.copy_from_slice(row),
        None => out.fill(T::default()),
    }
    row.is_some()
}
