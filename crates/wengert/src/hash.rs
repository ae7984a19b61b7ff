//! A fast hasher for the structure of Programs.

use std::hash::Hasher;

/// A hasher that folds words by multiplication and exclusive or, as `wyhash` does (Wang Yi, 2019): two halves of a
/// product of 128 bits.
///
/// A Program is small words, hashed every time it is recorded; the standard hasher takes longer for it than recording
/// does. It is no defence against who chooses Programs to collide: what is found by a hash is compared.
#[derive(Clone, Debug, Default)]
pub(crate) struct FastHasher(u64);

/// Odd numbers without pattern: digits of pi and of the golden ratio.
const FIRST: u64 = 0x2439_40b3_59d3_2e9d | 1;
const SECOND: u64 = 0x9e37_79b9_7f4a_7c15;

fn folded(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ ((product >> 64) as u64)
}

impl Hasher for FastHasher {
    fn write(&mut self, bytes: &[u8]) {
        let mut chunks = bytes.chunks_exact(8);
        for chunk in &mut chunks {
            self.write_u64(u64::from_le_bytes(chunk.try_into().expect("eight bytes")));
        }
        let rest = chunks.remainder();
        if !rest.is_empty() {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            self.write_u64(u64::from_le_bytes(last));
        }
        // The lengths of pieces count: "ab", "c" is not "a", "bc".
        self.write_u64(bytes.len() as u64);
    }

    fn write_u8(&mut self, word: u8) {
        self.write_u64(u64::from(word));
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = folded(self.0 ^ word ^ FIRST, SECOND).wrapping_add(word);
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn write_isize(&mut self, word: isize) {
        self.write_u64(word as u64);
    }

    fn finish(&self) -> u64 {
        folded(self.0 ^ SECOND, FIRST)
    }
}

#[cfg(test)]
mod tests;
