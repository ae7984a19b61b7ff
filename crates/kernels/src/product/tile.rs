//! Tiles: products of a few rows by a few vectors, one operand of which is read in place, from any positions.
//!
//! Convolutions are made of them. The sums of a tile stay in registers, are taken in the order of the steps and
//! start from zero, so that an element has the same bits however many rows its tile has. The sizes are those at which all
//! sums, one row of the right operand and an element of the left one fit the registers of a [`Level`], and there are
//! enough sums that no round waits for the one before.

mod dots;
mod lines;

use self::dots::Dots;
use self::lines::Lines;
use super::number::Number;
use super::registers::{LaneArray, Vector};
use crate::dispatch::dispatch_only;
use crate::{Level, Work, machine_level};
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__m256, __m256d, __m512, __m512d};
use std::marker::PhantomData;

/// Whether multiply-add is one instruction everywhere; on x86-64 it is from AVX2 on.
const ALWAYS_FUSED: bool = cfg!(target_arch = "aarch64");
/// Whether it is one from AVX2 on; other processors have a single level.
const WIDE_FUSED: bool = cfg!(target_arch = "x86_64") || ALWAYS_FUSED;

/// The largest number of elements that a tile of any kind, level and type has.
pub const LARGEST: usize = 384;
/// The largest number of rows.
const MOST_ROWS: usize = 8;

/// Where the elements of the operand that is read in place lie, step by step; the farthest is looked up once.
#[derive(Clone, Copy, Debug)]
pub struct Steps<'a> {
    places: &'a [usize],
    /// One more than the farthest, or 0.
    reach: usize,
}

impl<'a> Steps<'a> {
    /// Steps at these places.
    pub fn new(places: &'a [usize]) -> Steps<'a> {
        Steps { places, reach: places.iter().max().map_or(0, |place| place.saturating_add(1)) }
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
}

/// What tiles of a level look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// How many rows a tile may have, the largest first; the last one is 1.
    pub rows: &'static [usize],
    /// How many lanes it has.
    pub lanes: usize,
}

/// Numbers that have tiles: `f32` and `f64`.
pub trait Tile: Number {
    /// The tiles of [`across`](Tile::across) at a level.
    fn across_sizes(level: Level) -> Sizes;

    /// `tile[r, l] = sum over k of a[k, r] b[steps[k] + l]` for `rows` rows, a number of the sizes, and all lanes; `a`
    /// has `rows` columns and lies row by row.
    ///
    /// ```
    /// use wengert_kernels::Level;
    /// use wengert_kernels::product::tile::{Steps, Tile};
    ///
    /// let lanes = f64::across_sizes(Level::Baseline).lanes;
    /// let b: Vec<f64> = (0..20).map(f64::from).collect();
    /// let mut tile = vec![0.0; lanes];
    /// // Each element twice, plus ten times the third one behind it.
    /// f64::across(Level::Baseline, 1, &[2.0, 10.0], &b, Steps::new(&[0, 3]), &mut tile);
    /// assert_eq!(tile[..2], [30.0, 42.0]);
    /// ```
    ///
    /// # Panics
    /// If a slice is too short, or there is no tile of this many rows.
    fn across(level: Level, rows: usize, a: &[Self], b: &[Self], steps: Steps<'_>, tile: &mut [Self]);

    /// The tiles of [`down`](Tile::down) at a level; there is one size.
    fn down_sizes(level: Level) -> Sizes;

    /// `tile[r, l] = sum over k of a[starts[r] + steps[k]] b[k, l]`; `b` has as many columns as the tile has lanes.
    ///
    /// # Panics
    /// If a slice is too short.
    fn down(level: Level, a: &[Self], starts: &[usize], b: &[Self], steps: Steps<'_>, tile: &mut [Self]);

    /// `out[run.out + l] = sum over k of a[k] b[steps[k] + run.column + l]` for all `l` below `run.count`, run by run: tiles of
    /// one row and of any length, with the bits of [`across`](Tile::across).
    ///
    /// ```
    /// use wengert_kernels::Level;
    /// use wengert_kernels::product::tile::{Run, Steps, Tile};
    ///
    /// let b: Vec<f64> = (0..20).map(f64::from).collect();
    /// let mut out = [0.0; 4];
    /// let runs = [Run { column: 0, out: 2, count: 2 }, Run { column: 5, out: 0, count: 1 }];
    /// f64::lines(Level::Baseline, &[2.0, 10.0], &b, Steps::new(&[0, 3]), &runs, &mut out);
    /// assert_eq!(out, [90.0, 0.0, 30.0, 42.0]);
    /// ```
    ///
    /// # Panics
    /// If a slice is too short.
    fn lines(level: Level, a: &[Self], b: &[Self], steps: Steps<'_>, runs: &[Run], out: &mut [Self]);

    /// The lanes of [`dots`](Tile::dots) at a level.
    fn dot_lanes(level: Level) -> usize;

    /// `sums[s, l] += sum over rows and c of a[row.a + c] b[row.b + shifts[s] + c]` for every shift and lane, over the `c` below
    /// `count` whose remainder by the number of lanes is `l`.
    ///
    /// ```
    /// use wengert_kernels::Level;
    /// use wengert_kernels::product::tile::{Pair, Tile};
    ///
    /// let lanes = f64::dot_lanes(Level::Baseline);
    /// let b: Vec<f64> = (0..9).map(f64::from).collect();
    /// let rows = [Pair { a: 0, b: 0 }, Pair { a: 2, b: 4 }];
    /// let mut sums = vec![0.0; 2 * lanes];
    /// f64::dots(Level::Baseline, &[1.0, 10.0, 0.0, 100.0], &b, &rows, 2, &[0, 3], &mut sums);
    /// let sums: Vec<f64> = sums.chunks_exact(lanes).map(|lanes| lanes.iter().sum()).collect();
    /// assert_eq!(sums, [0.0 + 10.0 + 500.0, 3.0 + 40.0 + 800.0]);
    /// ```
    ///
    /// # Panics
    /// If a slice is too short.
    fn dots(level: Level, a: &[Self], b: &[Self], rows: &[Pair], count: usize, shifts: &[usize], sums: &mut [Self]);
}

/// Where a row of either operand begins.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// Of the one.
    pub a: usize,
    /// Of the other, without a shift.
    pub b: usize,
}

/// Neighbouring columns of the right operand, and neighbouring elements that are made of them.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// The first column.
    pub column: usize,
    /// The first element.
    pub out: usize,
    /// How many there are.
    pub count: usize,
}

/// The operands of a tile of `C` vectors, of which everything that is read and written has been checked to be there.
struct Across<'a, V: Vector, const C: usize> {
    rows: usize,
    a: &'a [V::Number],
    b: &'a [V::Number],
    steps: Steps<'a>,
    tile: &'a mut [V::Number],
    vector: PhantomData<V>,
}

impl<'a, V: Vector, const C: usize> Across<'a, V, C> {
    #[inline(always)]
    #[track_caller]
    fn new(
        rows: usize,
        a: &'a [V::Number],
        b: &'a [V::Number],
        steps: Steps<'a>,
        tile: &'a mut [V::Number],
    ) -> Across<'a, V, C> {
        let lanes = C * V::LANES;
        assert!(a.len() >= rows * steps.len(), "{} elements of a for {rows} rows of {} steps", a.len(), steps.len());
        let reach = steps.reach.saturating_add(lanes - 1);
        assert!(steps.is_empty() || b.len() >= reach, "steps reach {reach} elements of b, which has {}", b.len());
        assert!(tile.len() >= rows * lanes, "a tile of {} elements for {rows} rows of {lanes}", tile.len());
        Across { rows, a, b, steps, tile, vector: PhantomData }
    }

    #[inline(always)]
    fn sum<const ROWS: usize>(self) {
        assert_eq!(self.rows, ROWS, "the number of rows decides");
        // SAFETY: `dispatch_only` says that the vectors are there. Test `tiles_agree_with_the_definition`.
        let mut sums = [[unsafe { V::splat(Default::default()) }; C]; ROWS];
        let mut a = self.a.as_ptr();
        for &step in self.steps.places {
            // SAFETY: a place is below `reach`, and `new` has seen that b has `C` vectors behind every such place. Test as
            // above.
            let b: [V; C] = std::array::from_fn(|c| unsafe { V::read(self.b.as_ptr().add(step + c * V::LANES)) });
            for (r, sums) in sums.iter_mut().enumerate() {
                // SAFETY: `new` has seen that a has `ROWS` elements for each step. Test as above.
                let x = unsafe { V::splat(a.add(r).read()) };
                for (sum, b) in sums.iter_mut().zip(&b) {
                    // SAFETY: `dispatch_only` says that the vectors are there. Test as above.
                    *sum = unsafe { x.times_plus(*b, *sum) };
                }
            }
            a = a.wrapping_add(ROWS);
        }
        store(&sums, self.tile);
    }
}

/// Writes sums row by row.
#[inline(always)]
fn store<V: Vector, const C: usize, const ROWS: usize>(sums: &[[V; C]; ROWS], tile: &mut [V::Number]) {
    assert!(tile.len() >= ROWS * C * V::LANES, "the caller has checked it");
    for (k, sum) in sums.as_flattened().iter().enumerate() {
        // SAFETY: the tile has room for this many vectors, as checked. Test `tiles_agree_with_the_definition`.
        unsafe { sum.write(tile.as_mut_ptr().add(k * V::LANES)) };
    }
}

/// The operands of the other form, checked.
struct Down<'a, V: Vector, const C: usize> {
    rows: [*const V::Number; MOST_ROWS],
    b: &'a [V::Number],
    steps: Steps<'a>,
    tile: &'a mut [V::Number],
}

impl<'a, V: Vector, const C: usize> Down<'a, V, C> {
    #[inline(always)]
    #[track_caller]
    fn new(
        rows: usize,
        a: &'a [V::Number],
        starts: &[usize],
        b: &'a [V::Number],
        steps: Steps<'a>,
        tile: &'a mut [V::Number],
    ) -> Down<'a, V, C> {
        let lanes = C * V::LANES;
        assert!(starts.len() >= rows, "{} starts for {rows} rows", starts.len());
        assert!(b.len() >= lanes * steps.len(), "{} elements of b for {} steps", b.len(), steps.len());
        assert!(tile.len() >= rows * lanes, "a tile of {} elements for {rows} rows of {lanes}", tile.len());
        let mut places = [a.as_ptr(); MOST_ROWS];
        for (place, &start) in places[..rows].iter_mut().zip(starts) {
            let reach = start.saturating_add(steps.reach);
            assert!(reach <= a.len(), "steps from {start} on reach {reach} elements of a, which has {}", a.len());
            *place = place.wrapping_add(start);
        }
        Down { rows: places, b, steps, tile }
    }

    #[inline(always)]
    fn sum<const ROWS: usize>(self) {
        // SAFETY: `dispatch_only` says that the vectors are there. Test `tiles_agree_with_the_definition`.
        let mut sums = [[unsafe { V::splat(Default::default()) }; C]; ROWS];
        let rows: [*const V::Number; ROWS] = std::array::from_fn(|r| self.rows[r]);
        let mut b = self.b.as_ptr();
        for &step in self.steps.places {
            // SAFETY: `new` has seen that b has `C` vectors for each step. Test as above.
            let right: [V; C] = std::array::from_fn(|c| unsafe { V::read(b.add(c * V::LANES)) });
            for (row, sums) in rows.iter().zip(&mut sums) {
                // SAFETY: `new` has seen that a has `reach` elements from each start on, and the step is below it. Test as
                // above.
                let x = unsafe { V::splat(row.add(step).read()) };
                for (sum, right) in sums.iter_mut().zip(&right) {
                    // SAFETY: `dispatch_only` says that the vectors are there. Test as above.
                    *sum = unsafe { x.times_plus(*right, *sum) };
                }
            }
            b = b.wrapping_add(C * V::LANES);
        }
        store(&sums, self.tile);
    }
}

/// A tile at a level: how many rows a tile of the one form may have, and the vectors side by side.
macro_rules! tiles {
    ($($work:ident: $($rows:literal)+ by $across:literal, $down_rows:literal by $down:literal;)*) => {$(
        #[doc = concat!("Tiles of at most ", stringify!($($rows)+), " rows.")]
        enum $work<'a, V: Vector> {
            Across(Across<'a, V, $across>),
            Down(Down<'a, V, $down>),
        }

        impl<V: Vector> $work<'_, V> {
            fn across_sizes() -> Sizes {
                const { assert!(MOST_ROWS * $across * V::LANES <= LARGEST) };
                Sizes { rows: &[$($rows),+], lanes: $across * V::LANES }
            }

            fn down_sizes() -> Sizes {
                Sizes { rows: &[$down_rows], lanes: $down * V::LANES }
            }
        }

        impl<V: Vector> Work for $work<'_, V> {
            type Output = ();

            #[inline(always)]
            fn run(self) {
                match self {
                    $work::Across(work) => match work.rows {
                        $($rows => work.sum::<$rows>(),)+
                        rows => panic!("there is no tile of {rows} rows"),
                    },
                    $work::Down(work) => work.sum::<$down_rows>(),
                }
            }
        }
    )*};
}

tiles! {
    // 32 registers: 24 sums, 3 of the right operand; of the other form 16 and 2, and 8 rows to point at.
    Wide: 8 4 2 1 by 3, 8 by 2;
    // 16 registers: 12 sums, 3 of the right operand, an element.
    Middle: 4 2 1 by 3, 6 by 2;
    // A product needs a register before it is added.
    Narrow: 4 2 1 by 2, 4 by 2;
}

/// Implements [`Tile`] with these vectors.
macro_rules! impl_tile {
    ($($number:ident: $wide:ty, $middle:ty, $narrow:ty;)*) => {$(
        impl Tile for $number {
            fn across_sizes(level: Level) -> Sizes {
                match level.min(machine_level()) {
                    Level::Baseline => Narrow::<$narrow>::across_sizes(),
                    Level::Avx2 => Middle::<$middle>::across_sizes(),
                    Level::Avx512 => Wide::<$wide>::across_sizes(),
                }
            }

            fn across(level: Level, rows: usize, a: &[Self], b: &[Self], steps: Steps<'_>, tile: &mut [Self]) {
                match level.min(machine_level()) {
                    Level::Baseline => {
                        dispatch_only::<{ Level::Baseline as u8 }, _>(Narrow::<$narrow>::Across(Across::new(rows, a, b, steps, tile)));
                    }
                    Level::Avx2 => {
                        dispatch_only::<{ Level::Avx2 as u8 }, _>(Middle::<$middle>::Across(Across::new(rows, a, b, steps, tile)));
                    }
                    Level::Avx512 => {
                        dispatch_only::<{ Level::Avx512 as u8 }, _>(Wide::<$wide>::Across(Across::new(rows, a, b, steps, tile)));
                    }
                }
            }

            fn down_sizes(level: Level) -> Sizes {
                match level.min(machine_level()) {
                    Level::Baseline => Narrow::<$narrow>::down_sizes(),
                    Level::Avx2 => Middle::<$middle>::down_sizes(),
                    Level::Avx512 => Wide::<$wide>::down_sizes(),
                }
            }

            fn down(level: Level, a: &[Self], starts: &[usize], b: &[Self], steps: Steps<'_>, tile: &mut [Self]) {
                let rows = Self::down_sizes(level).rows[0];
                match level.min(machine_level()) {
                    Level::Baseline => dispatch_only::<{ Level::Baseline as u8 }, _>(
                        Narrow::<$narrow>::Down(Down::new(rows, a, starts, b, steps, tile)),
                    ),
                    Level::Avx2 => {
                        dispatch_only::<{ Level::Avx2 as u8 }, _>(Middle::<$middle>::Down(Down::new(rows, a, starts, b, steps, tile)));
                    }
                    Level::Avx512 => {
                        dispatch_only::<{ Level::Avx512 as u8 }, _>(Wide::<$wide>::Down(Down::new(rows, a, starts, b, steps, tile)));
                    }
                }
            }

            fn lines(level: Level, a: &[Self], b: &[Self], steps: Steps<'_>, runs: &[Run], out: &mut [Self]) {
                match level.min(machine_level()) {
                    Level::Baseline => dispatch_only::<{ Level::Baseline as u8 }, _>(
                        Lines::<$narrow, ALWAYS_FUSED>::new(a, b, steps, runs, out),
                    ),
                    Level::Avx2 => {
                        dispatch_only::<{ Level::Avx2 as u8 }, _>(Lines::<$middle, WIDE_FUSED>::new(a, b, steps, runs, out));
                    }
                    Level::Avx512 => {
                        dispatch_only::<{ Level::Avx512 as u8 }, _>(Lines::<$wide, WIDE_FUSED>::new(a, b, steps, runs, out));
                    }
                }
            }

            fn dot_lanes(level: Level) -> usize {
                match level.min(machine_level()) {
                    Level::Baseline => <$narrow as Vector>::LANES,
                    Level::Avx2 => <$middle as Vector>::LANES,
                    Level::Avx512 => <$wide as Vector>::LANES,
                }
            }

            fn dots(
                level: Level,
                a: &[Self],
                b: &[Self],
                rows: &[Pair],
                count: usize,
                shifts: &[usize],
                sums: &mut [Self],
            ) {
                match level.min(machine_level()) {
                    Level::Baseline => dispatch_only::<{ Level::Baseline as u8 }, _>(
                        Dots::<$narrow>::new(a, b, rows, count, shifts, sums),
                    ),
                    Level::Avx2 => {
                        dispatch_only::<{ Level::Avx2 as u8 }, _>(Dots::<$middle>::new(a, b, rows, count, shifts, sums));
                    }
                    Level::Avx512 => {
                        dispatch_only::<{ Level::Avx512 as u8 }, _>(Dots::<$wide>::new(a, b, rows, count, shifts, sums));
                    }
                }
            }
        }
    )*};
}

#[cfg(target_arch = "x86_64")]
impl_tile! {
    f32: __m512, __m256, LaneArray<f32, 4, ALWAYS_FUSED>;
    f64: __m512d, __m256d, LaneArray<f64, 2, ALWAYS_FUSED>;
}

#[cfg(not(target_arch = "x86_64"))]
impl_tile! {
    f32: LaneArray<f32, 4, ALWAYS_FUSED>, LaneArray<f32, 4, ALWAYS_FUSED>, LaneArray<f32, 4, ALWAYS_FUSED>;
    f64: LaneArray<f64, 2, ALWAYS_FUSED>, LaneArray<f64, 2, ALWAYS_FUSED>, LaneArray<f64, 2, ALWAYS_FUSED>;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whole numbers, whose sums are exact in any order, as floats.
    pub(super) fn numbers<T: From<i8>>(count: usize, seed: usize) -> Vec<T> {
        (0..count).map(|k| T::from(((k * 37 + seed * 11) % 17) as i8 - 8)).collect()
    }

    pub(super) const LEVELS: [Level; 3] = [Level::Baseline, Level::Avx2, Level::Avx512];
    pub(super) const PLACES: [usize; 7] = [3, 0, 40, 7, 7, 22, 1];

    fn check<T: Tile + From<i8> + PartialEq + std::fmt::Debug>() {
        for (level, count) in LEVELS.into_iter().flat_map(|level| [0, 1, 4, 7].map(|count| (level, count))) {
            let places = &PLACES[..count];
            let steps = Steps::new(places);
            let sum = |of: &dyn Fn(usize) -> (T, T)| {
                (0..count).fold(T::default(), |sum, k| {
                    let (x, y) = of(k);
                    x.times_plus::<false>(y, sum)
                })
            };
            let sizes = T::across_sizes(level);
            for &rows in sizes.rows {
                // No longer than what is read.
                let reach = places.iter().max().map_or(0, |place| place + sizes.lanes);
                let (a, b) = (numbers::<T>(rows * count, 1), numbers::<T>(reach, 2));
                let mut tile = vec![T::from(99); rows * sizes.lanes];
                T::across(level, rows, &a, &b, steps, &mut tile);
                for (place, &found) in tile.iter().enumerate() {
                    let (r, l) = (place / sizes.lanes, place % sizes.lanes);
                    assert_eq!(found, sum(&|k| (a[k * rows + r], b[places[k] + l])), "{level:?}, {rows} rows, {r} {l}");
                }
            }
            let sizes = T::down_sizes(level);
            let starts: Vec<usize> = (0..sizes.rows[0]).map(|r| r * 5 % 13).collect();
            let reach = starts.iter().max().unwrap() + places.iter().max().map_or(0, |place| place + 1);
            let (a, b) = (numbers::<T>(reach, 3), numbers::<T>(sizes.lanes * count, 4));
            let mut tile = vec![T::from(99); starts.len() * sizes.lanes];
            T::down(level, &a, &starts, &b, steps, &mut tile);
            for (place, &found) in tile.iter().enumerate() {
                let (r, l) = (place / sizes.lanes, place % sizes.lanes);
                let expected = sum(&|k| (a[starts[r] + places[k]], b[k * sizes.lanes + l]));
                assert_eq!(found, expected, "{level:?}, down, {r} {l}");
            }
        }
    }

    #[test]
    fn tiles_agree_with_the_definition() {
        check::<f32>();
        check::<f64>();
    }

    #[test]
    #[should_panic(expected = "steps reach 11 elements of b, which has 10")]
    fn a_right_operand_that_is_too_short_is_refused() {
        let lanes = f64::across_sizes(Level::Baseline).lanes;
        let mut tile = [0.0; LARGEST];
        f64::across(Level::Baseline, 1, &[1.0], &[0.0; 10], Steps::new(&[11 - lanes]), &mut tile);
    }

    #[test]
    #[should_panic(expected = "steps from 4 on reach 7 elements of a, which has 6")]
    fn a_left_operand_that_is_too_short_is_refused() {
        let mut tile = [0.0; LARGEST];
        let starts = [0, 4, 0, 0, 0, 0, 0, 0];
        f64::down(Level::Baseline, &[0.0; 6], &starts, &[0.0; 64], Steps::new(&[2]), &mut tile);
    }

    #[test]
    #[should_panic(expected = "there is no tile of 3 rows")]
    fn a_number_of_rows_that_no_tile_has_is_refused() {
        f32::across(Level::Baseline, 3, &[], &[], Steps::new(&[]), &mut [0.0; LARGEST]);
    }
}
