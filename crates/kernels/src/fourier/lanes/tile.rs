//! What is done with the lines of one tile.

use super::moves::Moves;
use super::radix::{Complex, Sorted, last, pass};
use super::vector::Vector;
use super::{Lanes, Shared};
use crate::fourier::{Arrays, Kind, Number, Tile, Transform};
use crate::{Float, Level, Work};

macro_rules! works {
    ($($(#[$doc:meta])* $level:ident)*) => {$(
        $(#[$doc])*
        pub(super) struct $level<'a, T: Number>(pub(super) Job<'a, T>);

        impl<T: Number> Work for $level<'_, T> {
            type Output = ();
            #[inline(always)]
            fn run(self) {
                // SAFETY: this runs at the level of the job, which the machine has. Test `transforms_agree_with_the_sum`.
                unsafe { self.0.run::<T::$level, { Level::$level as u8 }>() }
            }
        }
    )*};
}
works! {
    /// The work on a tile, with the vectors of every machine.
    Baseline
    /// The same with vectors of 32 bytes.
    Avx2
    /// The same with those of 64 bytes.
    Avx512
}

/// A tile of lines to transform.
pub(super) struct Job<'a, T> {
    pub(super) lanes: &'a Lanes<T>,
    pub(super) arrays: &'a Arrays<T>,
    pub(super) tile: Tile,
    /// For the packed lines of each vector of the tile, and of one more if lines lie one after another.
    pub(super) memory: &'a mut [T],
}

impl<T: Number> Job<'_, T> {
    /// # Safety
    /// The machine has the instructions of `V` and `LEVEL`, and the caller is compiled for them. The arrays have the lines of the
    /// tile, and nobody else reads or writes them.
    #[inline(always)]
    unsafe fn run<V: Vector<Number = T>, const LEVEL: u8>(self) {
        let Job { lanes, arrays, tile, memory } = self;
        let Transform { n, taken, given, kind, inverse, .. } = lanes.transform;
        let (room, is_beside, shared) = (lanes.room(), lanes.is_beside(), &*lanes.shared);
        assert!(lanes.width == V::LANES && memory.len() == lanes.numbers(), "memory of a tile");
        let (packed, sorted) = memory.split_at_mut(room * lanes.vectors);
        let moves = Moves { tile, inner: arrays.inner, room, is_beside };
        let (single, pair) = (V::LANES, 2 * V::LANES);
        // The inverse of a pair is the transform of the pair turned round, turned round.
        let other = usize::from(kind == Kind::Complex && inverse);
        // SAFETY: the caller's promise. Test `transforms_agree_with_the_sum`.
        unsafe {
            if let Kind::RealToHalf(_) = kind {
                moves.load::<V, LEVEL>(arrays.x[0], taken, packed, single);
                moves.clear(packed, single, single, taken..n);
            } else {
                let end = shared.length + usize::from(kind != Kind::Complex);
                for part in 0..2 {
                    let packed = &mut packed[part * single..];
                    moves.load::<V, LEVEL>(arrays.x[part ^ other], taken, packed, pair);
                    moves.clear(packed, single, pair, taken..end);
                }
            }
            let places = if is_beside { &shared.places } else { &shared.sorted };
            for lines in packed.chunks_exact_mut(room).take(tile.count.div_ceil(single)) {
                if let Kind::HalfToReal(_) = kind {
                    shared.join::<V>(lines, &lanes.transform);
                }
                shared.transform::<V>(
                    lines,
                    if is_beside { None } else { Some(sorted) },
                    last_factors(&lanes.transform),
                );
                if let Kind::RealToHalf(_) = kind {
                    shared.split::<V>(if is_beside { lines } else { sorted }, places, &lanes.transform);
                }
            }
            let packed = if is_beside { &*packed } else { &*sorted };
            if let Kind::HalfToReal(_) = kind {
                let place = |entry: usize| places[entry / 2] as usize * pair + entry % 2 * single;
                moves.store::<V, LEVEL>(packed, single, place, arrays.y[0], given);
            } else {
                for part in 0..2 {
                    let place = |entry: usize| places[entry] as usize * pair;
                    moves.store::<V, LEVEL>(&packed[part * single..], pair, place, arrays.y[part ^ other], given);
                }
            }
        }
    }
}

/// The factors of both parts of what the last pass gives.
fn last_factors<T: Number>(transform: &Transform) -> [T; 2] {
    let scale = <T as Float>::from_f64(transform.scale);
    match transform.kind {
        Kind::Complex => [scale; 2],
        // Those of half a spectrum follow when it is split.
        Kind::RealToHalf(_) => [<T as Float>::from_f64(1.0); 2],
        // What was joined is the conjugate.
        Kind::HalfToReal(_) => [scale, -scale],
    }
}

impl<T: Number> Shared<T> {
    /// Transforms the packed lines of a vector in their place, or there in order.
    ///
    /// # Safety
    /// The machine has the instructions of `V`, and the caller is compiled for them.
    #[inline(always)]
    unsafe fn transform<V: Vector<Number = T>>(&self, lines: &mut [T], sorted: Option<&mut [T]>, factors: [T; 2]) {
        let (pair, length) = (2 * V::LANES, self.length);
        let (end, passes) = self.passes.split_last().expect("a length has a factor");
        assert!(
            length * pair <= lines.len() && sorted.as_ref().is_none_or(|sorted| lines.len() == sorted.len()),
            "lines"
        );
        let entries = lines.as_mut_ptr();
        let to = match sorted {
            Some(sorted) => Sorted::Into(sorted.as_mut_ptr(), &self.heads, length / end.radix),
            None => Sorted::No,
        };
        // SAFETY: the machine has the instructions; entries below `length` are in both slices, as asserted, and each entry
        // that comes out is below `length`. Test `transforms_agree_with_the_sum`.
        unsafe {
            let Some((first, middle)) = passes.split_first() else {
                return last::<V>(end, entries, [0, length], factors, to);
            };
            pass::<V>(first, entries, length);
            let part = length / first.radix;
            for start in (0..length).step_by(part) {
                for middle in middle {
                    pass::<V>(middle, entries.add(start * pair), part);
                }
                last::<V>(end, entries, [start, part], factors, to);
            }
        }
    }

    /// Half the spectra of real lines, from the transforms of their even entries with odd ones as imaginary parts.
    ///
    /// With `e` and `o` the transforms of even and odd entries, what is there is `z = e + i o`. So `2 e[k] = z[k] + conj(z[-k])`,
    /// `2 i o[k] = z[k] - conj(z[-k])`, and the entry is `e[k] + exp(-2 pi i k / n) o[k]`.
    ///
    /// # Safety
    /// The machine has the instructions of `V`, and the caller is compiled for them.
    #[inline(always)]
    unsafe fn split<V: Vector<Number = T>>(&self, lines: &mut [T], places: &[u32], transform: &Transform) {
        let length = self.length;
        let [single, double] = transform.factors::<T>(transform.scale);
        let double = double * <T as Float>::from_f64(0.5);
        let turned = transform.turned(double);
        let mut at = |entry: usize| lines[places[entry] as usize * 2 * V::LANES..][..2 * V::LANES].as_mut_ptr();
        // SAFETY: the machine has the instructions; `at` checks places. Test as above.
        unsafe {
            let (single, double, turned) = (V::splat(single), V::splat(double), V::splat(turned));
            let zero = V::splat(T::default());
            let (first, end) = (at(0), at(length));
            let z = Complex::<V>::load(first);
            Complex { re: (z.re + z.im) * single, im: zero }.store(first);
            Complex { re: (z.re - z.im) * single, im: zero }.store(end);
            for k in 1..=length / 2 {
                let (low, high) = (at(k), at(length - k));
                let (x, y) = (Complex::<V>::load(low), Complex::<V>::load(high));
                let even = Complex { re: x.re + y.re, im: x.im - y.im };
                let odd = Complex { re: x.im + y.im, im: y.re - x.re }.times(self.turns[k]);
                let (sum, gap) = (even + odd, even - odd);
                sum.scaled([double, turned]).store(low);
                Complex { re: gap.re * double, im: zero - gap.im * turned }.store(high);
            }
        }
    }

    /// The conjugate of what `split` begins with, twice: from half the spectra, which are given with their weights.
    ///
    /// # Safety
    /// The machine has the instructions of `V`, and the caller is compiled for them.
    #[inline(always)]
    unsafe fn join<V: Vector<Number = T>>(&self, lines: &mut [T], transform: &Transform) {
        let length = self.length;
        let [single, double] = transform.factors::<T>(1.0);
        // Angles are positive.
        let turned = -transform.turned(double);
        let mut at = |entry: usize| lines[entry * 2 * V::LANES..][..2 * V::LANES].as_mut_ptr();
        // SAFETY: the machine has the instructions; `at` checks entries. Test as above.
        unsafe {
            let (single, double, turned) = (V::splat(single), V::splat(double), V::splat(turned));
            let (first, end) = (at(0), at(length));
            let (x, y) = (V::load(first) * single, V::load(end) * single);
            Complex { re: x + y, im: y - x }.store(first);
            for k in 1..=length / 2 {
                let (low, high) = (at(k), at(length - k));
                let x = Complex::<V>::load(low).scaled([double, turned]);
                let y = Complex::<V>::load(high).scaled([double, turned]);
                let [re, im] = self.turns[k];
                let odd = Complex { re: x.re - y.re, im: x.im + y.im }.times([re, -im]);
                let (re, im) = (x.re + y.re, x.im - y.im);
                Complex { re: re - odd.im, im: (y.im - x.im) - odd.re }.store(low);
                Complex { re: re + odd.im, im: im - odd.re }.store(high);
            }
        }
    }
}
