//! The tables by which schedules for two levels of memory decide; the formulas are in `mod.rs`.

use super::super::binomial::advances;
use super::{Disk, STEP};

/// `m`, `n` and `h` up to some number of blocks and slots.
#[derive(Debug)]
pub(crate) struct Tables {
    disk: Disk,
    /// How many steps a block has.
    pub(crate) block: usize,
    /// The length of a row, which is one more than that of the longest loop, in blocks.
    pub(crate) width: usize,
    /// How many slots there are in memory at most, and on disk if it has bounds.
    slots: usize,
    on_disk: usize,
    /// By free slots on disk, if these have bounds, free slots in memory, and length.
    pub(crate) m: Vec<Best<How>>,
    /// `n`, by `k`; 0 if every step is reversed from the carry on disk.
    pub(crate) n: Vec<Best<usize>>,
    /// Whether the carry on disk is given up at once.
    pub(crate) h: Vec<Best<bool>>,
}

/// The least time, and what achieves it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Best<C> {
    pub(crate) time: u64,
    pub(crate) choice: C,
}

/// Where the first carry is stored.
#[derive(Clone, Copy, Debug)]
pub(crate) enum How {
    /// Reversed from memory alone.
    Plain,
    /// In memory, and the next after `k` blocks.
    Memory { k: usize },
    /// On disk, and the next where `n` says.
    Disk,
}

/// A loop longer than the tables: `first` blocks, then sections of `each` blocks, as long as the rest is not in the
/// tables either. The snapshots before the sections are on disk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sections {
    /// 0 if the loop is reversed from memory alone.
    pub(crate) first: usize,
    pub(crate) each: usize,
    pub(crate) time: u64,
}

impl Tables {
    /// For up to `blocks` blocks of `block` steps, up to `slots` slots in memory and what `disk` has.
    pub(crate) fn new(blocks: usize, block: usize, slots: usize, disk: Disk) -> Self {
        let width = blocks + 1;
        let on_disk = disk.slots.unwrap_or(0);
        let entries = (on_disk + 1) * (slots + 1) * width;
        let mut tables = Self {
            disk,
            block,
            width,
            slots,
            on_disk,
            m: vec![Best { time: u64::MAX, choice: How::Plain }; entries],
            n: vec![Best { time: u64::MAX, choice: 0 }; entries],
            h: vec![Best { time: u64::MAX, choice: true }; entries],
        };
        for d in 0..=on_disk {
            for s in 0..=slots {
                for l in 0..width {
                    tables.fill(d, s, l);
                }
            }
        }
        tables
    }

    /// How many slots on disk there may be.
    pub(crate) fn bound(&self) -> Option<usize> {
        self.disk.slots
    }

    /// Where the row begins for numbers of free slots.
    pub(crate) fn row(&self, on_disk: usize, s: usize) -> usize {
        (on_disk.min(self.on_disk) * (self.slots + 1) + s.min(self.slots)) * self.width
    }

    /// `m(l, s, d)`, and `n` and `h` for one slot less on disk, which is the same if that has no bounds.
    fn fill(&mut self, d: usize, s: usize, l: usize) {
        let row = self.row(d, s);
        let mut least = Best { time: self.plain(l, s), choice: How::Plain };
        if s > 0 {
            let rest = self.row(d, s - 1);
            let (time, k) = self.least_cut(l, &self.m[rest..], 0, &self.m[row..]);
            if time < least.time {
                least = Best { time, choice: How::Memory { k } };
            }
        }
        let fewer = if self.disk.slots.is_some() { d.checked_sub(1) } else { Some(d) };
        let Some(below) = fewer.map(|d| self.row(d, s)) else {
            self.m[row + l] = least;
            return;
        };
        let (time, choice) = self.least_cut(l, &self.m[below..], self.disk.read, &self.h[below..]);
        let alone = self.alone(l, s);
        let n = if alone <= time { Best { time: alone, choice: 0 } } else { Best { time, choice } };
        let written = n.time.saturating_add(self.disk.write);
        if written < least.time {
            least = Best { time: written, choice: How::Disk };
        }
        self.m[row + l] = least;
        self.n[below + l] = n;
        self.h[below + l] = Best { time: least.time.min(n.time), choice: least.time < n.time };
    }

    /// The least of `k a + rest(l - k) + between + first(k)` over `k`, and that `k`.
    fn least_cut<A, B>(&self, l: usize, rest: &[Best<A>], between: u64, first: &[Best<B>]) -> (u64, usize) {
        let advance = (self.block as u64).saturating_mul(STEP);
        (1..l).fold((u64::MAX, 0), |least, k| {
            let ends = rest[l - k].time.saturating_add(first[k].time).saturating_add(between);
            let time = ends.saturating_add(advance.saturating_mul(k as u64));
            least.min((time, k))
        })
    }

    /// The time of `l` blocks in memory alone.
    fn plain(&self, l: usize, s: usize) -> u64 {
        let steps = l * self.block;
        match s {
            _ if steps <= 1 => 0,
            0 => u64::MAX,
            _ => advances(steps, s).saturating_mul(STEP),
        }
    }

    /// The time of `l` blocks from the one carry on disk, if there is no memory; else there is a better way. Single
    /// steps have it from `n`.
    fn alone(&self, l: usize, s: usize) -> u64 {
        if s > 0 || self.block == 1 || l == 0 {
            return u64::MAX;
        }
        let steps = l * self.block;
        let reads = (steps as u64 - 1).saturating_mul(self.disk.read);
        advances(steps, 1).saturating_mul(STEP).saturating_add(reads)
    }

    /// `e` for up to `blocks` blocks, and its `k`.
    pub(crate) fn start(&self, slots: usize, on_disk: usize, blocks: usize) -> Vec<Best<usize>> {
        let rest = &self.m[self.row(on_disk, slots)..];
        let mut start: Vec<Best<usize>> = Vec::with_capacity(blocks + 1);
        for l in 0..=blocks {
            let alone = self.plain_from_start(l, slots);
            let (time, k) = self.least_cut(l, rest, 0, &start);
            start.push(if alone <= time { Best { time: alone, choice: 0 } } else { Best { time, choice: k } });
        }
        start
    }

    /// The time of `l` blocks from the initial carry and in memory alone.
    fn plain_from_start(&self, l: usize, slots: usize) -> u64 {
        advances(l * self.block, slots + 1).saturating_mul(STEP)
    }

    /// The best sections of a loop of `blocks` blocks, more than the tables have, with the tables' `e`.
    pub(crate) fn sections(&self, slots: usize, blocks: usize, start: &[Best<usize>]) -> Sections {
        debug_assert!(self.disk.slots.is_none(), "every section needs a slot on disk");
        let row = self.row(0, slots);
        let (m, h) = (&self.m[row..], &self.h[row..]);
        let longest = self.width - 1;
        let run = |l: usize| (l as u64).saturating_mul(self.block as u64).saturating_mul(STEP);
        let prices = self.disk.write.saturating_add(self.disk.read);
        let section = |l: usize| run(l).saturating_add(h[l].time).saturating_add(prices);
        // The least time of a step, so the least of two fractions.
        let dearer =
            |p: &usize, q: &usize| (u128::from(section(*p)) * *q as u128).cmp(&(u128::from(section(*q)) * *p as u128));
        let each = (1..=longest).rev().min_by(dearer).expect("tables for a block");
        let after = |l: usize| {
            let count = l.saturating_sub(longest).div_ceil(each);
            section(each).saturating_mul(count as u64).saturating_add(m[l - count * each].time)
        };
        let time = |l: usize| run(l).saturating_add(start[l].time).saturating_add(after(blocks - l));
        let first = (1..=longest).min_by_key(|&l| time(l)).expect("tables for a block");
        let alone = self.plain_from_start(blocks, slots);
        if alone <= time(first) {
            Sections { first: 0, each, time: alone }
        } else {
            Sections { first, each, time: time(first) }
        }
    }
}
