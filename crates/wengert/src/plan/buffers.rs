//! Buffer assignment by liveness: every buffer is placed before anything runs.

use std::collections::{BTreeMap, BTreeSet};

use super::work::count;

/// A value that lives in the arena, from the step that writes it to the last that reads it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Life {
    /// Lines of 64 bytes.
    pub(super) lines: usize,
    /// The step that writes it.
    pub(super) first: usize,
    /// The last step that reads it.
    pub(super) last: usize,
}

/// The first line of each value, and how many lines there are in all: values that live at the same time do not overlap.
///
/// Up to [`FEW`] values are placed largest first. More are placed in the order of the steps, forwards and backwards, and the
/// better result is taken: the time is then proportional to their number, up to a logarithm.
pub(super) fn place(lives: &[Life]) -> (Vec<usize>, usize) {
    if lives.len() <= FEW {
        return by_size(lives);
    }
    let forwards = by_step(lives);
    let last = lives.iter().map(|life| life.last).max().unwrap_or(0);
    let turned = |life: &Life| Life { lines: life.lines, first: last - life.last, last: last - life.first };
    let backwards = by_step(&lives.iter().map(turned).collect::<Vec<Life>>());
    if backwards.1 < forwards.1 { backwards } else { forwards }
}

/// The most values that are compared with each other.
const FEW: usize = 1024;

/// Largest first, each at the lowest offset that is free during its whole life (as in Pisarchyk and Lee, *Efficient memory
/// management for deep neural net inference*, 2020, "greedy by size").
fn by_size(lives: &[Life]) -> (Vec<usize>, usize) {
    let mut order: Vec<usize> = (0..lives.len()).collect();
    order.sort_by_key(|&k| (std::cmp::Reverse(lives[k].lines), lives[k].first));
    let mut places = vec![0usize; lives.len()];
    let mut placed: Vec<usize> = Vec::with_capacity(lives.len());
    let mut taken: Vec<(usize, usize)> = Vec::new();
    let mut total = 0usize;
    for k in order {
        let life = lives[k];
        count(placed.len());
        let meets = |other: &&usize| lives[**other].first <= life.last && life.first <= lives[**other].last;
        let range = |&other: &usize| (places[other], places[other].saturating_add(lives[other].lines));
        taken.clear();
        taken.extend(placed.iter().filter(meets).map(range));
        taken.sort_unstable();
        let mut at = 0usize;
        for &(start, end) in &taken {
            if start >= at.saturating_add(life.lines) {
                break;
            }
            at = at.max(end);
        }
        places[k] = at;
        total = total.max(at.saturating_add(life.lines));
        placed.push(k);
    }
    (places, total)
}

/// In the order of the steps: each in the smallest range that is free then, or at the end.
fn by_step(lives: &[Life]) -> (Vec<usize>, usize) {
    let mut starts: Vec<usize> = (0..lives.len()).filter(|&k| lives[k].lines > 0).collect();
    let mut ends = starts.clone();
    starts.sort_by_key(|&k| (lives[k].first, std::cmp::Reverse(lives[k].lines)));
    ends.sort_by_key(|&k| lives[k].last);
    let mut places = vec![0usize; lives.len()];
    let (mut free, mut total) = (Free::default(), 0usize);
    let mut ends = ends.into_iter().peekable();
    for k in starts {
        while let Some(&done) = ends.peek().filter(|&&done| lives[done].last < lives[k].first) {
            free.give(places[done], lives[done].lines);
            ends.next();
        }
        count(1);
        let lines = lives[k].lines;
        places[k] = free.take(lines).unwrap_or_else(|| {
            // A free range at the end grows.
            let at = free.take_last(total).unwrap_or(total);
            total = at.saturating_add(lines);
            at
        });
    }
    (places, total)
}

/// Ranges of lines that are free; neighbours are one.
#[derive(Default)]
struct Free {
    /// Their lengths, by their first line.
    ranges: BTreeMap<usize, usize>,
    /// The same by length.
    by_length: BTreeSet<(usize, usize)>,
}

impl Free {
    fn insert(&mut self, start: usize, lines: usize) {
        self.ranges.insert(start, lines);
        self.by_length.insert((lines, start));
    }

    fn remove(&mut self, start: usize, lines: usize) {
        self.ranges.remove(&start);
        self.by_length.remove(&(lines, start));
    }

    fn give(&mut self, start: usize, lines: usize) {
        let (mut start, mut end) = (start, start.saturating_add(lines));
        if let Some((&before, &length)) = self.ranges.range(..start).next_back().filter(|(k, n)| *k + *n == start) {
            self.remove(before, length);
            start = before;
        }
        if let Some(&length) = self.ranges.get(&end) {
            self.remove(end, length);
            end += length;
        }
        self.insert(start, end - start);
    }

    /// The start of the shortest range of at least this many lines.
    fn take(&mut self, lines: usize) -> Option<usize> {
        let &(length, start) = self.by_length.range((lines, 0)..).next()?;
        self.remove(start, length);
        if length > lines {
            self.insert(start + lines, length - lines);
        }
        Some(start)
    }

    /// The start of the range that ends here.
    fn take_last(&mut self, end: usize) -> Option<usize> {
        let (&start, &length) = self.ranges.last_key_value().filter(|(start, length)| *start + *length == end)?;
        self.remove(start, length);
        Some(start)
    }
}

#[cfg(test)]
mod tests;
