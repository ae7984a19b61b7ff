//! Products of rows with rows at several shifts: the sums of a shift are the lanes of a vector.

use super::super::registers::Vector;
use super::Pair;
use crate::Work;

/// The operands, checked.
pub(super) struct Dots<'a, V: Vector> {
    a: &'a [V::Number],
    b: &'a [V::Number],
    rows: &'a [Pair],
    count: usize,
    shifts: &'a [usize],
    sums: &'a mut [V::Number],
}

impl<'a, V: Vector> Dots<'a, V> {
    #[inline(always)]
    #[track_caller]
    pub(super) fn new(
        a: &'a [V::Number],
        b: &'a [V::Number],
        rows: &'a [Pair],
        count: usize,
        shifts: &'a [usize],
        sums: &'a mut [V::Number],
    ) -> Dots<'a, V> {
        let farthest = rows.iter().fold((0, 0), |(a, b), row| (row.a.max(a), row.b.max(b)));
        let shift = shifts.iter().copied().max().unwrap_or(0);
        let reach = [farthest.0.saturating_add(count), farthest.1.saturating_add(shift).saturating_add(count)];
        let there = reach[0] <= a.len() && reach[1] <= b.len();
        assert!(there, "rows reach {reach:?} elements of operands that have {} and {}", a.len(), b.len());
        assert!(sums.len() >= shifts.len() * V::LANES, "{} elements for {} sums", sums.len(), shifts.len());
        Dots { a, b, rows, count, shifts, sums }
    }

    /// Adds to the sums of the next `S` shifts from `first` on.
    #[inline(always)]
    fn add<const S: usize>(&mut self, first: usize) {
        let shifts = &self.shifts[first..first + S];
        let sums = self.sums[first * V::LANES..(first + S) * V::LANES].as_mut_ptr();
        // SAFETY: `dispatch_only` says that the vectors are there; `new` has seen that the operands have `count` elements from
        // each row and shift on, and there is a vector for each shift. Test `dots_agree_with_the_definition`.
        unsafe {
            let mut lanes: [V; S] = std::array::from_fn(|s| V::read(sums.add(s * V::LANES)));
            let whole = self.count - self.count % V::LANES;
            for row in self.rows {
                let a = self.a.as_ptr().add(row.a);
                let b: [*const V::Number; S] = std::array::from_fn(|s| self.b.as_ptr().add(row.b + shifts[s]));
                for c in (0..whole).step_by(V::LANES) {
                    let x = V::read(a.add(c));
                    for (lanes, b) in lanes.iter_mut().zip(&b) {
                        *lanes = x.times_plus(V::read(b.add(c)), *lanes);
                    }
                }
                if whole < self.count {
                    let left = self.count - whole;
                    let x = V::read_some(a.add(whole), left);
                    for (lanes, b) in lanes.iter_mut().zip(&b) {
                        *lanes = x.times_plus(V::read_some(b.add(whole), left), *lanes);
                    }
                }
            }
            for (s, lanes) in lanes.into_iter().enumerate() {
                lanes.write(sums.add(s * V::LANES));
            }
        }
    }
}

impl<V: Vector> Work for Dots<'_, V> {
    type Output = ();

    #[inline(always)]
    fn run(mut self) {
        let (mut done, all) = (0, self.shifts.len());
        // Enough sums at a time that none waits for the one before, in the registers of every level.
        while all - done >= 9 {
            self.add::<9>(done);
            done += 9;
        }
        if all - done >= 6 {
            self.add::<6>(done);
            done += 6;
        }
        if all - done >= 3 {
            self.add::<3>(done);
            done += 3;
        }
        while done < all {
            self.add::<1>(done);
            done += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{LEVELS, numbers};
    use super::super::{Pair, Tile};
    use crate::Level;

    /// Whole numbers, whose sums are exact in any order. The operands end where the last row does.
    fn check<T: Tile + From<i8> + std::ops::Add<Output = T> + PartialEq + std::fmt::Debug>() {
        let rows = [Pair { a: 0, b: 3 }, Pair { a: 5, b: 0 }, Pair { a: 40, b: 61 }];
        let all = [0, 9, 2, 2, 31, 7, 1, 12, 3, 4, 30, 6, 5, 8, 10, 11, 13, 14, 15, 16];
        for (level, shifts) in LEVELS.into_iter().flat_map(|level| [0, 1, 2, 5, 9, 20].map(|shifts| (level, shifts))) {
            let (lanes, shifts) = (T::dot_lanes(level), &all[..shifts]);
            for count in [0, 1, 2, 3, 5, 8, lanes - 1, lanes, 2 * lanes + 1, 33] {
                let (a, b) = (numbers::<T>(40 + count, 1), numbers::<T>(61 + 31 + count, 2));
                let mut sums = numbers::<T>(shifts.len() * lanes, 3);
                let mut wanted = sums.clone();
                for ((s, shift), row) in shifts.iter().enumerate().flat_map(|shift| rows.map(move |row| (shift, row))) {
                    for c in 0..count {
                        let sum = &mut wanted[s * lanes + c % lanes];
                        *sum = a[row.a + c].times_plus::<false>(b[row.b + shift + c], *sum);
                    }
                }
                T::dots(level, &a, &b, &rows, count, shifts, &mut sums);
                assert_eq!(sums, wanted, "{level:?}, {count} elements at {shifts:?}");
            }
        }
    }

    #[test]
    fn dots_agree_with_the_definition() {
        check::<f32>();
        check::<f64>();
    }

    #[test]
    #[should_panic(expected = "rows reach [2, 7] elements of operands that have 2 and 6")]
    fn rows_that_reach_too_far_are_refused() {
        let rows = [Pair { a: 0, b: 3 }];
        f64::dots(Level::Baseline, &[0.0; 2], &[0.0; 6], &rows, 2, &[0, 2], &mut [0.0; 16]);
    }

    #[test]
    #[should_panic(expected = "1 elements for 1 sums")]
    fn sums_without_room_are_refused() {
        f32::dots(Level::Baseline, &[0.0; 2], &[0.0; 6], &[], 2, &[0], &mut [0.0; 1]);
    }
}
