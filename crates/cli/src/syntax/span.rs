//! Ranges of bytes in the source.

use std::ops::Range;

/// A half-open range of bytes; four bytes an end, because sources are at most 16 MiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    /// The first byte.
    pub(crate) start: u32,
    /// One past the last byte.
    pub(crate) end: u32,
}

impl Span {
    /// The span of `range`; the bounds fit because sources are limited when they are read.
    pub(crate) fn new(range: Range<usize>) -> Self {
        let fit = |offset| u32::try_from(offset).unwrap_or(u32::MAX);
        Self { start: fit(range.start), end: fit(range.end) }
    }

    /// The smallest span that holds both.
    pub(crate) fn to(self, other: Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// The range of bytes, for slicing.
    pub(crate) fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}
