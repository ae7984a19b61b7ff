//! Tiles of one row and of any length: sums of shifted lines.

use super::super::number::Number;
use super::super::registers::Vector;
use super::{Run, Steps};
use crate::Work;

/// The operands of lines, checked as far as runs do not matter.
pub(super) struct Lines<'a, V: Vector, const FUSED: bool> {
    a: &'a [V::Number],
    b: &'a [V::Number],
    steps: Steps<'a>,
    runs: &'a [Run],
    out: &'a mut [V::Number],
}

impl<'a, V: Vector, const FUSED: bool> Lines<'a, V, FUSED> {
    #[inline(always)]
    #[track_caller]
    pub(super) fn new(
        a: &'a [V::Number],
        b: &'a [V::Number],
        steps: Steps<'a>,
        runs: &'a [Run],
        out: &'a mut [V::Number],
    ) -> Lines<'a, V, FUSED> {
        assert!(a.len() >= steps.len(), "{} elements of a for {} steps", a.len(), steps.len());
        Lines { a, b, steps, runs, out }
    }

    /// Sums `C` vectors side by side.
    ///
    /// # Safety
    /// `b` has an element at each step and `C` vectors from there on; as many fit at `out`.
    #[inline(always)]
    unsafe fn sum<const C: usize>(&self, b: *const V::Number, out: *mut V::Number) {
        // SAFETY: `dispatch_only` says that the vectors are there; the rest is the caller's promise, and that of `new` for a.
        // Test `lines_are_tiles_of_one_row`.
        unsafe {
            let mut sums = [V::splat(Default::default()); C];
            for (k, &step) in self.steps.places.iter().enumerate() {
                let x = V::splat(*self.a.get_unchecked(k));
                for (c, sum) in sums.iter_mut().enumerate() {
                    *sum = x.times_plus(V::read(b.add(step + c * V::LANES)), *sum);
                }
            }
            for (c, sum) in sums.into_iter().enumerate() {
                sum.write(out.add(c * V::LANES));
            }
        }
    }

    #[inline(always)]
    fn run(self) {
        let (out, room) = (self.out.as_mut_ptr(), self.out.len());
        for run in self.runs {
            let b = self.b.get(run.column..).unwrap_or(&[]);
            let reach = self.steps.reach.saturating_add(run.count.saturating_sub(1));
            assert!(
                self.steps.is_empty() || b.len() >= reach,
                "steps reach {reach} elements of b, which has {}",
                b.len()
            );
            let end = run.out.checked_add(run.count).filter(|&end| end <= room);
            assert!(end.is_some(), "{room} elements for {run:?}");
            // SAFETY: as asserted, b has `count` elements from each step on, and the result has room for them. Test as above.
            unsafe { self.one(b.as_ptr(), out.add(run.out), run.count) };
        }
    }

    /// One run.
    ///
    /// # Safety
    /// `b` has `count` elements from each step on; as many fit at `out`.
    #[inline(always)]
    unsafe fn one(&self, b: *const V::Number, out: *mut V::Number, count: usize) {
        let mut done = 0;
        // SAFETY: no vector ends behind `count`. Test as above.
        unsafe {
            while done + 4 * V::LANES <= count {
                self.sum::<4>(b.wrapping_add(done), out.add(done));
                done += 4 * V::LANES;
            }
            if done + 2 * V::LANES <= count {
                self.sum::<2>(b.wrapping_add(done), out.add(done));
                done += 2 * V::LANES;
            }
            if done + V::LANES <= count {
                self.sum::<1>(b.wrapping_add(done), out.add(done));
                done += V::LANES;
            }
        }
        match count.checked_sub(V::LANES) {
            _ if done == count => {}
            // The last vector again has elements that are there: they get the same bits.
            // SAFETY: as above.
            Some(last) => unsafe { self.sum::<1>(b.wrapping_add(last), out.add(last)) },
            None => {
                for l in 0..count {
                    let products = self.steps.places.iter().zip(self.a);
                    // SAFETY: the caller's promise. Test as above.
                    let sum = products.fold(V::Number::default(), |sum, (&step, x)| unsafe {
                        x.times_plus::<FUSED>(b.add(step + l).read(), sum)
                    });
                    // SAFETY: as above.
                    unsafe { out.add(l).write(sum) };
                }
            }
        }
    }
}

impl<V: Vector, const FUSED: bool> Work for Lines<'_, V, FUSED> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        Lines::run(self);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{LEVELS, PLACES, numbers};
    use super::super::{Run, Steps, Tile};
    use crate::Level;

    fn check_lines<T: Tile + From<i8> + std::ops::Div<Output = T> + PartialEq + std::fmt::Debug>() {
        for (level, steps) in LEVELS.into_iter().flat_map(|level| [0, 1, 4, 7].map(|steps| (level, steps))) {
            let lanes = T::across_sizes(level).lanes;
            // Sums that are rounded, so that their bits tell the order and whether products are.
            let rounded =
                |count, seed| numbers::<T>(count, seed).into_iter().map(|x| x / T::from(3)).collect::<Vec<T>>();
            let (a, b) = (rounded(steps, 5), rounded(40 + 12 * lanes, 6));
            let steps = Steps::new(&PLACES[..steps]);
            let counts = [0, 1, 3, lanes - 1, lanes, lanes + 1, 2 * lanes + 3, 6 * lanes + 5];
            let mut runs: Vec<Run> = Vec::new();
            for (k, &count) in counts.iter().enumerate() {
                let out = runs.last().map_or(0, |run| run.out + run.count + k);
                runs.push(Run { column: 7 * k % 5, out, count });
            }
            let end = runs.last().map_or(0, |run| run.out + run.count);
            let (mut found, mut wanted) = (vec![T::from(99); end], vec![T::from(99); end]);
            T::lines(level, &a, &b, steps, &runs, &mut found);
            let mut tile = vec![T::default(); lanes];
            for (run, l) in runs.iter().flat_map(|run| (0..run.count).map(move |l| (run, l))) {
                T::across(level, 1, &a, &b[run.column + l..], steps, &mut tile);
                wanted[run.out + l] = tile[0];
            }
            assert_eq!(found, wanted, "{level:?}, {steps:?}");
        }
    }

    #[test]
    fn lines_are_tiles_of_one_row() {
        check_lines::<f32>();
        check_lines::<f64>();
    }

    #[test]
    #[should_panic(expected = "steps reach 6 elements of b, which has 5")]
    fn a_line_that_reaches_too_far_is_refused() {
        let runs = [Run { column: 3, out: 0, count: 4 }];
        f64::lines(Level::Baseline, &[1.0], &[0.0; 8], Steps::new(&[2]), &runs, &mut [0.0; 4]);
    }

    #[test]
    #[should_panic(expected = "4 elements for Run { column: 0, out: 1, count: 4 }")]
    fn a_line_without_room_is_refused() {
        let runs = [Run { column: 0, out: 1, count: 4 }];
        f32::lines(Level::Baseline, &[1.0], &[0.0; 8], Steps::new(&[2]), &runs, &mut [0.0; 4]);
    }
}
