//! [`Bounded`]: a cache of what was made before, found by a hash and bounded in number and bytes.

use std::collections::HashMap;

/// What a cached value holds on to.
pub(crate) trait Weight {
    /// Bytes.
    fn bytes(&self) -> usize;
}

/// Values by the hash of a key that they contain: at most this many, of at most this many bytes in all besides the largest one.
/// The least recently used is dropped first.
///
/// The largest one does not count, because it may be too much alone: a program of many steps would be forgotten, and planned
/// again, whenever a small one is kept.
#[derive(Debug)]
pub(crate) struct Bounded<T> {
    entries: HashMap<u64, Vec<CacheEntry<T>>>,
    len: usize,
    /// Counts what was asked for.
    clock: u64,
    most: usize,
    most_bytes: usize,
}

#[derive(Debug)]
struct CacheEntry<T> {
    value: T,
    used: u64,
}

impl<T: Clone + Weight> Bounded<T> {
    pub(crate) fn new(most: usize, most_bytes: usize) -> Self {
        Bounded { entries: HashMap::new(), len: 0, clock: 0, most, most_bytes }
    }

    /// The value with this hash for which `fits` holds; the newest if there are several.
    pub(crate) fn find(&mut self, hash: u64, fits: impl Fn(&T) -> bool) -> Option<T> {
        let entry = self.entries.get_mut(&hash)?.iter_mut().rev().find(|entry| fits(&entry.value))?;
        self.clock += 1;
        entry.used = self.clock;
        Some(entry.value.clone())
    }

    /// Keeps a value.
    pub(crate) fn keep(&mut self, hash: u64, value: T) {
        self.clock += 1;
        let used = self.clock;
        self.entries.entry(hash).or_default().push(CacheEntry { value, used });
        self.len += 1;
        while self.len > 1 && (self.len > self.most || self.bytes() > self.most_bytes) {
            self.forget_oldest();
        }
    }

    /// What is kept besides the largest, in bytes. Each value is asked once: the answer changes when other threads use it.
    fn bytes(&self) -> usize {
        let all = self.entries.values().flatten().map(|entry| entry.value.bytes());
        let (sum, largest) = all.fold((0, 0), |(sum, largest), bytes| (sum + bytes, bytes.max(largest)));
        sum - largest
    }

    fn forget_oldest(&mut self) {
        let oldest = self.entries.iter().flat_map(|(&hash, list)| list.iter().map(move |entry| (entry.used, hash)));
        let Some((used, hash)) = oldest.min() else { return };
        if let Some(list) = self.entries.get_mut(&hash) {
            list.retain(|entry| entry.used != used);
            if list.is_empty() {
                self.entries.remove(&hash);
            }
            self.len -= 1;
        }
    }

    #[cfg(test)]
    fn values(&self) -> Vec<T> {
        let mut entries: Vec<&CacheEntry<T>> = self.entries.values().flatten().collect();
        entries.sort_by_key(|entry| entry.used);
        entries.into_iter().map(|entry| entry.value.clone()).collect()
    }
}

#[cfg(test)]
mod tests;
