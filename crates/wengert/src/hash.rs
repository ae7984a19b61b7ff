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
mod tests {
    use std::collections::HashSet;
    use std::hash::{Hash, Hasher};

    use super::FastHasher;

    fn hash(x: impl Hash) -> u64 {
        let mut hasher = FastHasher::default();
        x.hash(&mut hasher);
        hasher.finish()
    }

    #[test]
    fn lists_of_small_words_do_not_collide() {
        let mut seen = HashSet::new();
        for a in 0..40usize {
            for b in 0..40usize {
                for c in 0..40usize {
                    assert!(seen.insert(hash([a, b, c])), "{a} {b} {c}");
                }
            }
        }
        let lists: [&[usize]; 5] = [&[], &[0], &[0, 0], &[0, 0, 0], &[1]];
        assert_eq!(lists.map(hash).into_iter().collect::<HashSet<u64>>().len(), 5);
        assert_ne!(hash(("ab", "c")), hash(("a", "bc")));
    }

    #[test]
    fn low_and_high_bits_both_spread() {
        let low: HashSet<u64> = (0..256u64).map(|x| hash(x) & 0xffff).collect();
        let high: HashSet<u64> = (0..256u64).map(|x| hash(x << 40) >> 48).collect();
        assert!(low.len() > 250 && high.len() > 250, "{} {}", low.len(), high.len());
    }
}
