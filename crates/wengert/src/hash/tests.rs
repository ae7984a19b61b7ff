//! Tests of what is private here.

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
