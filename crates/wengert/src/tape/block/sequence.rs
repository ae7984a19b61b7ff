//! Which path every step of a loop took, in as few bits as the number of paths asks for.

/// Bits of a word.
const WORD: usize = u64::BITS as usize;

/// Numbers of paths in the order of the steps. As long as there is one path they take nothing, of two a bit, of up to four
/// two, of up to 16 four, and otherwise a byte.
#[derive(Clone, Debug, Default)]
pub(crate) struct PathSequence {
    /// Bits of a step: none or a power of two, so that no number lies in two words.
    bits: usize,
    words: Vec<u64>,
    len: usize,
    /// How many steps there will be, if that is known.
    expected: usize,
}

impl PathSequence {
    /// For a loop of this many steps, or of more.
    pub(crate) fn of(expected: usize) -> Self {
        PathSequence { expected, ..PathSequence::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The path of a step, if there were as many.
    pub(crate) fn get(&self, step: usize) -> Option<usize> {
        (step < self.len).then(|| self.number(step))
    }

    /// The path of a step.
    ///
    /// # Panics
    /// If it has none.
    pub(crate) fn at(&self, step: usize) -> usize {
        self.get(step).expect("the step was taken")
    }

    /// The paths of some steps.
    pub(crate) fn range(&self, steps: std::ops::Range<usize>) -> impl Iterator<Item = usize> {
        steps.map(|step| self.at(step))
    }

    pub(crate) fn push(&mut self, path: u8) {
        let needed = (u8::BITS - path.leading_zeros()) as usize;
        if needed > self.bits {
            self.widen(needed.next_power_of_two());
        }
        if self.bits > 0 {
            let at = self.len * self.bits;
            if at.is_multiple_of(WORD) {
                self.words.push(0);
            }
            self.words[at / WORD] |= u64::from(path) << (at % WORD);
        }
        self.len += 1;
    }

    /// Bytes of the numbers.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&self.words[..])
    }

    fn number(&self, step: usize) -> usize {
        if self.bits == 0 {
            return 0;
        }
        let at = step * self.bits;
        let mask = (1 << self.bits) - 1;
        (self.words[at / WORD] >> (at % WORD) & mask) as usize
    }

    /// Gives a step this many bits.
    fn widen(&mut self, bits: usize) {
        let steps = self.expected.max(self.len + 1);
        let mut wide =
            PathSequence { bits, words: Vec::with_capacity((steps * bits).div_ceil(WORD)), ..PathSequence::of(steps) };
        (0..self.len).for_each(|step| wide.push(self.number(step) as u8));
        *self = wide;
    }
}

#[cfg(test)]
mod tests;
