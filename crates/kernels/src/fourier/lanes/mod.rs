//! Many lines at a time, one in each lane of a vector.
//!
//! Lines lie beside each other in an array, or one after another, and are packed so that an entry of all of them is two vectors,
//! real and imaginary parts. So a transform needs no exchange between lanes, and a line is computed alike whichever its lane.
//! Passes of a length of up to eight are done in registers, the first one over all entries, the others over what the first one
//! leaves in a cache.
//!
//! A real line of even length is a complex one of half the length, of even entries with odd ones as imaginary parts (W. H. Press
//! et al., *Numerical Recipes*, 1992, section 12.3).

use std::sync::Arc;

use super::{Arrays, Kind, Number, PACKED, Tile, Transform};
use crate::arena::{Line, lines_for, typed_mut};
use crate::dispatch::dispatch_only;
use crate::{Float, Level};
use radix::{Pass, RADICES, root};
use tile::{Avx2, Avx512, Baseline, Job};

mod moves;
mod radix;
mod tile;
mod vector;

pub(super) use vector::Vectors;

/// The most bytes of packed lines of a vector: with what is sorted, they lie in the second cache.
const MOST: usize = 512 << 10;
/// The most bytes of an entry of lines that are packed together.
const BESIDE: usize = 512;

/// The transforms of all lines of an array.
#[derive(Clone, Debug)]
pub(super) struct Lanes<T> {
    transform: Transform,
    /// Lines before and beside each other.
    around: [usize; 2],
    level: Level,
    /// Lines of a vector.
    width: usize,
    /// Vectors that are packed together.
    vectors: usize,
    shared: Arc<Shared<T>>,
}

/// What does not depend on the array.
#[derive(Debug)]
struct Shared<T> {
    /// Entries of the complex transform.
    length: usize,
    passes: Vec<Pass<T>>,
    /// Where the last pass leaves each entry; where there are half spectra the one behind the last stays behind.
    places: Vec<u32>,
    /// `0, 1, 2, ...`
    sorted: Vec<u32>,
    /// The first entry that each transform of the last pass gives.
    heads: Vec<u32>,
    /// `exp(-2 pi i k / n)` for the first half of half a spectrum.
    turns: Vec<[T; 2]>,
}

impl<T: Number> Lanes<T> {
    /// The transforms, if the length is a product of small primes, lines fit a cache, and fill at least half of a vector.
    pub(super) fn new(transform: Transform, around: [usize; 2]) -> Option<Self> {
        let level = crate::level();
        let bytes = match level {
            Level::Baseline => 16,
            Level::Avx2 => 32,
            Level::Avx512 => 64,
        };
        let width = bytes / size_of::<T>();
        let is_real = transform.kind != Kind::Complex;
        let length = if is_real { transform.n / 2 } else { transform.n };
        let lines = around[0].saturating_mul(around[1]);
        if is_real && !transform.n.is_multiple_of(2) || 2 * lines < width || length.saturating_mul(2 * bytes) > MOST {
            return None;
        }
        let radices = radices(length)?;
        let vectors = if around[1] < width {
            1
        } else {
            (PACKED / (length * 2 * bytes)).clamp(1, BESIDE / bytes).min(around[1].div_ceil(width))
        };
        Some(Lanes {
            transform,
            around,
            level,
            width,
            vectors,
            shared: Arc::new(Shared::new(transform, length, &radices)),
        })
    }

    /// Whether the lines of a tile lie beside each other, not one after another.
    fn is_beside(&self) -> bool {
        self.around[1] >= self.width
    }

    /// How many tiles there are, and lines of one.
    pub(super) fn tiles(&self) -> [usize; 2] {
        let [outer, inner] = self.around;
        let lines = self.width * self.vectors;
        let tiles = if self.is_beside() { outer * inner.div_ceil(lines) } else { (outer * inner).div_ceil(lines) };
        [tiles, lines]
    }

    /// Numbers of the packed lines of a vector: of half a spectrum there is one entry more.
    fn room(&self) -> usize {
        (self.shared.length + 1) * 2 * self.width
    }

    /// Numbers that a thread packs: those of a tile, and of a vector of lines that are sorted where they lie one after another.
    fn numbers(&self) -> usize {
        self.room() * (self.vectors + usize::from(!self.is_beside()))
    }

    /// Lines of workspace of a thread.
    pub(super) fn workspace(&self) -> usize {
        lines_for::<T>(self.numbers())
    }

    /// Transforms the lines of a tile.
    ///
    /// # Safety
    /// The arrays have all lines, and nobody else reads or writes those of the tile.
    pub(super) unsafe fn tile(&self, number: usize, arrays: &Arrays<T>, memory: &mut [Line]) {
        let memory = typed_mut::<T>(memory, self.numbers());
        let [outer, inner] = self.around;
        let lines = self.width * self.vectors;
        let (row, first, count) = if self.is_beside() {
            let blocks = inner.div_ceil(lines);
            let first = number % blocks * lines;
            (number / blocks, first, lines.min(inner - first))
        } else {
            (0, number * lines, lines.min(outer * inner - number * lines))
        };
        let tile = Tile { row, first, count };
        let job = Job { lanes: self, arrays, tile, memory };
        // `dispatch_only` checks that the machine has the level.
        match self.level {
            Level::Avx512 => dispatch_only::<{ Level::Avx512 as u8 }, _>(Avx512(job)),
            Level::Avx2 => dispatch_only::<{ Level::Avx2 as u8 }, _>(Avx2(job)),
            Level::Baseline => dispatch_only::<{ Level::Baseline as u8 }, _>(Baseline(job)),
        }
    }
}

/// The radices of a length, longest first, as few as there are; `None` if it has another prime factor, or is 1.
fn radices(length: usize) -> Option<Vec<usize>> {
    let (mut rest, mut radices) = (length, Vec::new());
    for radix in RADICES {
        // Sixteen is four by four.
        while rest > 1 && rest.is_multiple_of(radix) && !(radix == 8 && (rest / 8).trailing_zeros() == 1) {
            radices.push(radix);
            rest /= radix;
        }
    }
    (rest == 1 && !radices.is_empty()).then_some(radices)
}

impl<T: Number> Shared<T> {
    fn new(transform: Transform, length: usize, radices: &[usize]) -> Self {
        let mut rest = length;
        let mut passes = Vec::with_capacity(radices.len());
        for &radix in radices {
            passes.push(Pass::new(radix, rest));
            rest /= radix;
        }
        // The digits of an entry that comes out, the lowest one first, are those of its place, the highest one first.
        let place = |entry: usize| {
            let (mut rest, mut weight, mut place) = (entry, length, 0);
            for radix in radices {
                weight /= radix;
                place += rest % radix * weight;
                rest /= radix;
            }
            place
        };
        let mut places: Vec<u32> = (0..length).map(|entry| place(entry) as u32).collect();
        let last = radices.last().copied().unwrap_or(1);
        let mut heads = vec![0; length / last];
        for (entry, &place) in places.iter().enumerate().take(length / last) {
            heads[place as usize / last] = entry as u32;
        }
        places.push(length as u32);
        let halves = if transform.kind == Kind::Complex { 0 } else { length / 2 + 1 };
        let turns = (0..halves).map(|k| root(k, transform.n).map(<T as Float>::from_f64)).collect();
        Shared { length, passes, places, sorted: (0..=length as u32).collect(), heads, turns }
    }
}
