//! What one update does to the element it meets, and the loops over rows of updates.
//!
//! The loops are compiled for every instruction set; rows of a few lengths have loops of their own, which stay in vectors.

use std::ops::Range;

use wengert_kernels::Work;

use super::super::Cell;

/// No row: the index vector has no place.
pub(super) const NOWHERE: u32 = u32::MAX;

/// How elements and updates become sums, and sums elements. Updates of an element are taken in the definition's order.
pub(super) trait Combine: Copy + Send + Sync {
    /// Elements and updates.
    type Item: Cell;
    /// What is summed: more precise than an element where the definition rounds once.
    type Sum: Cell;
    /// Whether nothing but the last update of an element counts.
    const LAST: bool = false;
    fn widen(x: Self::Item) -> Self::Sum;
    fn take(sum: Self::Sum, update: Self::Item) -> Self::Sum;
    /// Whether the sum surely stays as it is. Where that is common, nothing has to be written.
    #[inline(always)]
    fn keeps(_sum: Self::Sum, _update: Self::Item) -> bool {
        false
    }
    fn narrow(sum: Self::Sum) -> Self::Item;
}

/// Updates are added.
#[derive(Clone, Copy)]
pub(super) struct Add<T>(std::marker::PhantomData<T>);

/// An update is added that is the only one of its element. Rounding the sum in double precision once more gives the same
/// number (S. A. Figueroa, *When is double rounding innocuous?*, 1995).
#[derive(Clone, Copy)]
pub(super) struct AddOne;

/// Updates are written.
#[derive(Clone, Copy)]
pub(super) struct Put<T>(std::marker::PhantomData<T>);

macro_rules! add {
    ($combine:ty, $item:ident, $sum:ident, $widen:expr, $take:expr, $narrow:expr) => {
        impl Combine for $combine {
            type Item = $item;
            type Sum = $sum;
            #[inline(always)]
            fn widen(x: $item) -> $sum {
                $widen(x)
            }
            #[inline(always)]
            fn take(sum: $sum, update: $item) -> $sum {
                $take(sum, $widen(update))
            }
            #[inline(always)]
            fn narrow(sum: $sum) -> $item {
                $narrow(sum)
            }
        }
    };
}
add!(Add<f32>, f32, f64, f64::from, |x: f64, y: f64| x + y, |sum: f64| sum as f32);
add!(AddOne, f32, f32, |x: f32| x, |x: f32, y: f32| x + y, |sum: f32| sum);
add!(Add<f64>, f64, f64, |x: f64| x, |x: f64, y: f64| x + y, |sum: f64| sum);
add!(Add<i64>, i64, i64, |x: i64| x, i64::wrapping_add, |sum: i64| sum);

impl<T: Cell> Combine for Put<T> {
    type Item = T;
    type Sum = T;
    const LAST: bool = true;
    #[inline(always)]
    fn widen(x: T) -> T {
        x
    }
    #[inline(always)]
    fn take(_: T, update: T) -> T {
        update
    }
    #[inline(always)]
    fn narrow(sum: T) -> T {
        sum
    }
}

/// Updates that go to their rows one after the other.
pub(super) struct DirectUpdates<'a, C: Combine> {
    /// The row of each update, or [`NOWHERE`].
    pub(super) rows: &'a [u32],
    pub(super) updates: &'a [C::Item],
    /// Elements of a row.
    pub(super) size: usize,
    pub(super) sums: &'a mut [C::Sum],
}

impl<C: Combine> DirectUpdates<'_, C> {
    /// Rows of `N` elements.
    #[inline(always)]
    fn fixed<const N: usize>(self) {
        let (sums, _) = self.sums.as_chunks_mut::<N>();
        let (updates, _) = self.updates.as_chunks::<N>();
        for (&row, update) in self.rows.iter().zip(updates) {
            if let Some(sums) = sums.get_mut(row as usize) {
                if N == 1 && C::keeps(sums[0], update[0]) {
                    continue;
                }
                *sums = std::array::from_fn(|k| C::take(sums[k], update[k]));
            }
        }
    }
}

impl<C: Combine> DirectUpdates<'_, C> {
    /// Whether most rows are those of the update before, as in sorted segments.
    #[inline(always)]
    fn has_runs(&self) -> bool {
        let changes = self.rows.iter().zip(&self.rows[1..]).fold(0, |sum, (x, y)| sum + u32::from(x != y));
        changes as usize * 8 < self.rows.len()
    }

    /// Rows of one element, which are kept in a register as long as they do not change: through memory, every addition
    /// would wait for the one before to be written.
    #[inline(always)]
    fn runs(self) {
        let mut updates = self.updates;
        for run in self.rows.chunk_by(|x, y| x == y) {
            let (own, rest) = updates.split_at(run.len());
            if let Some(sum) = self.sums.get_mut(run[0] as usize) {
                *sum = own.iter().fold(*sum, |sum, &update| match C::keeps(sum, update) {
                    true => sum,
                    false => C::take(sum, update),
                });
            }
            updates = rest;
        }
    }
}

impl<C: Combine> Work for DirectUpdates<'_, C> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        match self.size {
            1 if self.has_runs() => self.runs(),
            1 => self.fixed::<1>(),
            2 => self.fixed::<2>(),
            3 => self.fixed::<3>(),
            4 => self.fixed::<4>(),
            8 => self.fixed::<8>(),
            16 => self.fixed::<16>(),
            size => {
                for (&row, update) in self.rows.iter().zip(self.updates.chunks_exact(size)) {
                    if row != NOWHERE {
                        let sums = &mut self.sums[row as usize * size..][..size];
                        sums.iter_mut().zip(update).for_each(|(sum, &update)| *sum = C::take(*sum, update));
                    }
                }
            }
        }
    }
}

/// Updates that are not all of them, one after the other: rows and numbers.
pub(super) struct ListedUpdates<'a, C: Combine> {
    pub(super) pairs: &'a [[u32; 2]],
    /// Of all numbers.
    pub(super) updates: &'a [C::Item],
    pub(super) size: usize,
    pub(super) sums: &'a mut [C::Sum],
}

impl<C: Combine> ListedUpdates<'_, C> {
    #[inline(always)]
    fn fixed<const N: usize>(self) {
        let (sums, _) = self.sums.as_chunks_mut::<N>();
        let (updates, _) = self.updates.as_chunks::<N>();
        for &[row, number] in self.pairs {
            let (sums, update) = (&mut sums[row as usize], &updates[number as usize]);
            *sums = std::array::from_fn(|k| C::take(sums[k], update[k]));
        }
    }
}

impl<C: Combine> Work for ListedUpdates<'_, C> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        match self.size {
            1 => self.fixed::<1>(),
            2 => self.fixed::<2>(),
            3 => self.fixed::<3>(),
            4 => self.fixed::<4>(),
            8 => self.fixed::<8>(),
            16 => self.fixed::<16>(),
            size => {
                for &[row, number] in self.pairs {
                    let update = &self.updates[number as usize * size..][..size];
                    let sums = &mut self.sums[row as usize * size..][..size];
                    sums.iter_mut().zip(update).for_each(|(sum, &update)| *sum = C::take(*sum, update));
                }
            }
        }
    }
}

/// Places and the bits of what is added there.
pub(super) struct BitUpdates<'a> {
    pub(super) pairs: &'a [[u32; 2]],
    pub(super) sums: &'a mut [f64],
}

impl Work for BitUpdates<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        for &[place, bits] in self.pairs {
            self.sums[place as usize] += f64::from(f32::from_bits(bits));
        }
    }
}

/// Rows of which each takes all its updates at once: its sums stay in registers.
pub(super) struct GroupedUpdates<'a, C: Combine> {
    /// Where the updates of each row end in the order; those of the first one begin at `start`.
    pub(super) ends: &'a [u32],
    pub(super) start: usize,
    /// The numbers of updates, row by row; `None` if that is the order they have.
    pub(super) order: Option<&'a [u32]>,
    pub(super) updates: &'a [C::Item],
    pub(super) size: usize,
    pub(super) out: &'a mut [C::Item],
}

/// Elements of a group of sums: a vector, or a few.
const GROUP: usize = 8;

impl<C: Combine> GroupedUpdates<'_, C> {
    /// Adds to every row the updates of its range of the order. What becomes numbers is small enough to be inlined, and with it
    /// everything here: a closure that added would be compiled for the baseline alone.
    #[inline(always)]
    fn each<I: Iterator<Item = usize> + Clone>(self, numbers: impl Fn(Range<usize>) -> I) {
        let mut start = self.start;
        for (&end, out) in self.ends.iter().zip(self.out.chunks_exact_mut(self.size)) {
            let end = end as usize;
            if start < end {
                row::<C>(numbers(if C::LAST { end - 1 } else { start }..end), self.updates, out);
            }
            start = end;
        }
    }
}

/// Adds to the elements from `at` on, in this many groups, and says where the next ones begin.
#[inline(always)]
fn groups<C: Combine, const N: usize>(
    numbers: impl Iterator<Item = usize>,
    updates: &[C::Item],
    at: usize,
    out: &mut [C::Item],
) -> usize {
    let size = out.len();
    let (out, _) = out[at..at + N * GROUP].as_chunks_mut::<GROUP>();
    let mut sums: [[C::Sum; GROUP]; N] = std::array::from_fn(|n| std::array::from_fn(|k| C::widen(out[n][k])));
    for number in numbers {
        let (update, _) = updates[number * size + at..][..N * GROUP].as_chunks::<GROUP>();
        for (sums, update) in sums.iter_mut().zip(update) {
            *sums = std::array::from_fn(|k| C::take(sums[k], update[k]));
        }
    }
    for (out, sums) in out.iter_mut().zip(&sums) {
        *out = std::array::from_fn(|k| C::narrow(sums[k]));
    }
    at + N * GROUP
}

/// Adds the updates of these numbers to a row.
#[inline(always)]
fn row<C: Combine>(numbers: impl Iterator<Item = usize> + Clone, updates: &[C::Item], out: &mut [C::Item]) {
    let (mut at, size) = (0, out.len());
    while at + 4 * GROUP <= size {
        at = groups::<C, 4>(numbers.clone(), updates, at, out);
    }
    if at + 2 * GROUP <= size {
        at = groups::<C, 2>(numbers.clone(), updates, at, out);
    }
    if at + GROUP <= size {
        at = groups::<C, 1>(numbers.clone(), updates, at, out);
    }
    for (k, out) in out.iter_mut().enumerate().skip(at) {
        let sum = numbers.clone().fold(C::widen(*out), |sum, number| C::take(sum, updates[number * size + k]));
        *out = C::narrow(sum);
    }
}

impl<C: Combine> Work for GroupedUpdates<'_, C> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        match self.order {
            Some(order) => self.each(|range| order[range].iter().map(|&number| number as usize)),
            None => self.each(|range| range),
        }
    }
}

/// Elements in double precision.
pub(super) struct Widened<'a> {
    pub(super) from: &'a [f32],
    pub(super) to: &'a mut [f64],
}

impl Work for Widened<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        self.to.iter_mut().zip(self.from).for_each(|(to, &from)| *to = f64::from(from));
    }
}

/// Sums in single precision.
pub(super) struct Narrowed<'a> {
    pub(super) from: &'a [f64],
    pub(super) to: &'a mut [f32],
}

impl Work for Narrowed<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        self.to.iter_mut().zip(self.from).for_each(|(to, &from)| *to = from as f32);
    }
}
