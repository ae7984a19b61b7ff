//! What planning does, counted: the elementary operations of its searches, in tests. For long programs their number per
//! equation has to be the same, whatever their length.

/// Counts this many operations; does nothing outside of tests.
#[inline]
pub(super) fn count(operations: usize) {
    #[cfg(test)]
    tests::DONE.with(|done| done.set(done.get() + operations));
    let _ = operations;
}

/// What was counted on this thread so far.
#[cfg(test)]
pub(super) fn counted() -> usize {
    tests::DONE.with(std::cell::Cell::get)
}

#[cfg(test)]
mod tests;
