//! The dynamic program for chains, and the schedules that it finds.

use super::stages::Sizes;

/// Memory is counted in this many parts of what keeping everything takes.
const PARTS: usize = 512;

/// One step of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Runs a stage and keeps its residuals, with what the next one takes.
    Keep(usize),
    /// Runs stages and keeps nothing of them but what the one behind them takes.
    Pass {
        /// The first one.
        first: usize,
        /// The one behind the last one.
        behind: usize,
    },
    /// Runs the late equations of a stage, whose residuals go.
    Late(usize),
}

/// The least work for every run of stages and every amount of memory.
#[derive(Debug)]
pub(super) struct Table {
    stages: usize,
    /// Bytes of a part of memory.
    part: f64,
    /// For each run of stages, and each amount of memory: the work of all that is run, the first time and again.
    work: Vec<f32>,
    /// What to do: 0 keeps the residuals of the first stage; k keeps what the k-th stage after it takes.
    choice: Vec<u8>,
    /// What keeping the residuals of a stage takes, in parts.
    kept: Vec<usize>,
    /// What the operands of a stage take, in parts.
    taken: Vec<usize>,
    /// What the late equations of a stage take besides, in parts.
    after: Vec<usize>,
    /// The amounts of memory with less work than any smaller one.
    ways: Vec<usize>,
}

impl Table {
    /// `None` if there is only one way.
    pub(super) fn of(sizes: &Sizes) -> Option<Table> {
        let all = sizes.kept.iter().fold(0usize, |sum, &bytes| sum.saturating_add(bytes));
        let most = sizes.after.iter().copied().max().unwrap_or(0).saturating_add(all);
        let part = (most as f64 / PARTS as f64).max(1.0);
        let count = sizes.work.len();
        let parts = |bytes: &[usize]| bytes.iter().map(|&bytes| (bytes as f64 / part).round() as usize).collect();
        let mut table = Table {
            stages: count,
            part,
            work: vec![f32::INFINITY; count * count * (PARTS + 1)],
            choice: vec![0; count * count * (PARTS + 1)],
            kept: parts(&sizes.kept),
            taken: parts(&sizes.taken),
            after: parts(&sizes.after),
            ways: Vec::new(),
        };
        // Work until before each stage.
        let mut until = vec![0.0];
        sizes.work.iter().for_each(|work| until.push(until[until.len() - 1] + work));
        for length in 0..count {
            for first in 0..count - length {
                table.fill(first, first + length, &until);
            }
        }
        let mut least = f32::INFINITY;
        for (memory, &work) in table.work[table.row(0, count - 1)].iter().enumerate() {
            if work < least {
                least = work;
                table.ways.push(memory);
            }
        }
        (table.ways.len() > 1).then_some(table)
    }

    /// The amounts of memory with less work than any smaller one, from the least on; in parts.
    pub(super) fn ways(&self) -> &[usize] {
        &self.ways
    }

    /// What this many parts of memory are.
    pub(super) fn bytes(&self, parts: usize) -> usize {
        (parts as f64 * self.part) as usize
    }

    /// The work of the schedule in this much memory; infinite if there is none.
    #[cfg(test)]
    pub(super) fn work_in(&self, memory: usize) -> f32 {
        self.work[self.row(0, self.stages - 1)][memory]
    }

    /// What runs in which order, in this much memory.
    pub(super) fn schedule(&self, memory: usize) -> Vec<Act> {
        let mut acts = Vec::new();
        // What is still to be done, the next on top.
        let mut open = vec![Open::Run { first: 0, last: self.stages - 1, memory }];
        while let Some(next) = open.pop() {
            let (first, last, memory) = match next {
                Open::Late(stage) => {
                    acts.push(Act::Late(stage));
                    continue;
                }
                Open::Run { first, last, memory } => (first, last, memory),
            };
            match usize::from(self.choice[self.row(first, last).start + memory]) {
                0 => {
                    acts.push(Act::Keep(first));
                    open.push(Open::Late(first));
                    if first < last {
                        open.push(Open::Run { first: first + 1, last, memory: memory - self.kept[first] });
                    }
                }
                ahead => {
                    let behind = first + ahead;
                    acts.push(Act::Pass { first, behind });
                    open.push(Open::Run { first, last: behind - 1, memory });
                    open.push(Open::Run { first: behind, last, memory: memory - self.taken[behind] });
                }
            }
        }
        acts
    }

    fn row(&self, first: usize, last: usize) -> std::ops::Range<usize> {
        let start = (first * self.stages + last) * (PARTS + 1);
        start..start + PARTS + 1
    }

    fn fill(&mut self, first: usize, last: usize, until: &[f64]) {
        let run = |to: usize| (until[to] - until[first]) as f32;
        let (mut work, mut choice) = (vec![f32::INFINITY; PARTS + 1], vec![0u8; PARTS + 1]);
        let kept = self.kept[first];
        let least = kept + self.after[first];
        if least <= PARTS && first == last {
            work[least..].fill(run(first + 1));
        } else if least <= PARTS {
            let behind = &self.work[self.row(first + 1, last)][least - kept..=PARTS - kept];
            work[least..].iter_mut().zip(behind).for_each(|(work, behind)| *work = run(first + 1) + behind);
        }
        for middle in first + 1..=last {
            let taken = self.taken[middle];
            if taken > PARTS {
                continue;
            }
            let behind = &self.work[self.row(middle, last)][..=PARTS - taken];
            let before = &self.work[self.row(first, middle - 1)][taken..];
            let again = run(middle);
            let places = work[taken..].iter_mut().zip(&mut choice[taken..]);
            for ((work, choice), (behind, before)) in places.zip(behind.iter().zip(before)) {
                let other = again + behind + before;
                if other < *work {
                    *work = other;
                    *choice = (middle - first) as u8;
                }
            }
        }
        let row = self.row(first, last);
        self.work[row.clone()].copy_from_slice(&work);
        self.choice[row].copy_from_slice(&choice);
    }
}

/// Part of a schedule that is still to be found.
enum Open {
    Run { first: usize, last: usize, memory: usize },
    Late(usize),
}
