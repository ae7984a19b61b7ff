//! A list that gives its memory back while it is taken apart.

/// The elements of a list in order. What they lay in is given back on the way: a long list and what is made of it are never both
/// in memory.
pub(crate) struct Drained<T> {
    /// The elements that are left, the last one first.
    rest: Vec<T>,
}

/// Lists with room for fewer elements than these are kept to their end.
const SHORT: usize = 1024;

impl<T> Drained<T> {
    pub(crate) fn new(mut list: Vec<T>) -> Self {
        list.reverse();
        Drained { rest: list }
    }
}

impl<T> Iterator for Drained<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        let next = self.rest.pop();
        if self.rest.capacity() > SHORT && self.rest.len() < self.rest.capacity() / 2 {
            self.rest.shrink_to_fit();
        }
        next
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.rest.len(), Some(self.rest.len()))
    }
}

impl<T> ExactSizeIterator for Drained<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_comes_in_order_and_its_memory_goes() {
        for count in [0, 1, SHORT, 4 * SHORT + 3] {
            let mut drained = Drained::new((0..count).collect::<Vec<usize>>());
            let mut taken = Vec::new();
            while let Some(next) = drained.next() {
                taken.push(next);
                assert_eq!(drained.len(), count - taken.len());
                assert!(drained.rest.capacity() <= SHORT.max(2 * drained.len() + 1), "{count}: {}", drained.len());
            }
            assert!(taken.into_iter().eq(0..count));
        }
    }
}
