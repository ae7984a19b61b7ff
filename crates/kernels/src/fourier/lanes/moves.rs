//! Entries of lines, between arrays and where they are packed.

use std::ops::Range;

use super::vector::Vector;
use crate::Float;
use crate::arena::Plain;
use crate::fourier::Tile;
use crate::transpose::panel;

/// How the lines of a tile lie: in an array, and packed by vectors of them.
#[derive(Clone, Copy)]
pub(super) struct Moves {
    pub(super) tile: Tile,
    /// Numbers of an array from an entry to the next one: lines beside each other.
    pub(super) inner: usize,
    /// Packed numbers from a vector of lines to the next one.
    pub(super) room: usize,
    /// Whether the lines of the tile lie beside each other. There is one vector of them otherwise.
    pub(super) is_beside: bool,
}

impl Moves {
    /// Where an array has the first entry of a line that is not beside the others, whose lines have this many entries.
    fn line(&self, lane: usize, entries: usize) -> usize {
        let line = self.tile.first + lane;
        line / self.inner * entries * self.inner + line % self.inner
    }

    /// Where an array has an entry of lines beside each other.
    fn entry(&self, entry: usize, entries: usize) -> usize {
        (self.tile.row * entries + entry) * self.inner + self.tile.first
    }

    /// Packs one part of the first entries of all lines, `pitch` numbers from each other.
    ///
    /// # Safety
    /// The machine has the instructions of `V` and `LEVEL`, for which the caller is compiled; the array has the lines, and nobody
    /// writes them.
    #[inline(always)]
    pub(super) unsafe fn load<V: Vector, const LEVEL: u8>(
        &self,
        from: *const V::Number,
        entries: usize,
        packed: &mut [V::Number],
        pitch: usize,
    ) where
        V::Number: Plain,
    {
        let (Tile { count, .. }, to) = (self.tile, packed.as_mut_ptr());
        if entries == 0 {
            return;
        }
        let vectors = count.div_ceil(V::LANES);
        let end = (vectors - 1) * self.room + (entries - 1) * pitch + V::LANES;
        assert!(end <= packed.len() && (self.is_beside || vectors == 1), "packed lines in {} numbers", packed.len());
        // SAFETY: the caller's promise for the array; what is written is below `end`. Test `transforms_agree_with_the_sum`.
        unsafe {
            if self.is_beside {
                let whole = count / V::LANES;
                for entry in 0..entries {
                    let (from, to) = (from.add(self.entry(entry, entries)), to.add(entry * pitch));
                    for vector in 0..whole {
                        V::load(from.add(vector * V::LANES)).store(to.add(vector * self.room));
                    }
                    for lane in 0..count % V::LANES {
                        *to.add(whole * self.room + lane) = *from.add(whole * V::LANES + lane);
                    }
                }
            } else if self.inner == 1 {
                panel::<V::Number, LEVEL>(
                    [entries, count],
                    from.add(self.line(0, entries)),
                    entries.cast_signed(),
                    to,
                    pitch,
                );
            } else {
                for lane in 0..count {
                    let from = from.add(self.line(lane, entries));
                    (0..entries).for_each(|entry| *to.add(entry * pitch + lane) = *from.add(entry * self.inner));
                }
            }
        }
    }

    /// Writes zeros for entries of all lines.
    pub(super) fn clear<T: Float>(&self, packed: &mut [T], width: usize, pitch: usize, entries: Range<usize>) {
        for vector in 0..self.tile.count.div_ceil(width) {
            for entry in entries.clone() {
                packed[vector * self.room + entry * pitch..][..width].fill(T::default());
            }
        }
    }

    /// Writes one part of the first entries of all lines to an array. They are packed at the places that `place` gives, which are
    /// `pitch` numbers from each other unless lines lie beside each other.
    ///
    /// # Safety
    /// The machine has the instructions of `V` and `LEVEL`, for which the caller is compiled; the array has the lines, and nobody
    /// else reads or writes them.
    #[inline(always)]
    pub(super) unsafe fn store<V: Vector, const LEVEL: u8>(
        &self,
        packed: &[V::Number],
        pitch: usize,
        place: impl Fn(usize) -> usize,
        to: *mut V::Number,
        entries: usize,
    ) where
        V::Number: Plain,
    {
        let count = self.tile.count;
        let (whole, rest) = (count / V::LANES, count % V::LANES);
        if entries == 0 {
            return;
        }
        // SAFETY: the caller's promise for the array; slices of packed numbers are checked. Test as above.
        unsafe {
            if self.is_beside {
                for entry in 0..entries {
                    let (to, place) = (to.add(self.entry(entry, entries)), place(entry));
                    for vector in 0..whole {
                        let from = &packed[vector * self.room + place..][..V::LANES];
                        V::load(from.as_ptr()).store(to.add(vector * V::LANES));
                    }
                    for lane in 0..rest {
                        *to.add(whole * V::LANES + lane) = packed[whole * self.room + place + lane];
                    }
                }
                return;
            }
            let packed = &packed[..(entries - 1) * pitch + count];
            if self.inner == 1 {
                let to = to.add(self.line(0, entries));
                panel::<V::Number, LEVEL>([count, entries], packed.as_ptr(), pitch.cast_signed(), to, entries);
            } else {
                for lane in 0..count {
                    let to = to.add(self.line(lane, entries));
                    (0..entries).for_each(|entry| *to.add(entry * self.inner) = packed[entry * pitch + lane]);
                }
            }
        }
    }
}
