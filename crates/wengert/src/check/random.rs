//! Random directions that are the same in every run.

/// SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, *Fast splittable pseudorandom number
/// generators*, 2014).
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in `[-1, -1/4]` or `[1/4, 1]`: never so small that its argument is left out.
    pub(super) fn direction(&mut self) -> f64 {
        let bits = self.next();
        let size = 0.25 + 0.75 * (bits >> 11) as f64 / (1u64 << 53) as f64;
        if bits & 1 == 0 { size } else { -size }
    }
}

#[cfg(test)]
mod tests;
