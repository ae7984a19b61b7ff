//! Plans within a limit of memory: what is kept gives way to what is computed again, from what costs least time to what needs
//! least memory.
//!
//! First cheap values are made again in the regions that read them, then whole stages of straight-line code, then blocks of
//! steps of loops, which are cut again and again. Each attempt is a plan, whose peak is known: nothing is believed but that.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use super::control::spill_into;
use super::donate::Donated;
use super::recompute::{EFFORTS, Effort};
use super::{Costs, Options, Plan, ResultPlacement, build};
use crate::error::Error;
use crate::optimize::limited::{self, Chain};
use crate::program::Program;

/// More are not kept of a loop of unknown length under a limit: with these, a loop of two thousand million steps runs three
/// times.
const MOST_SNAPSHOTS: usize = 1 << 16;

/// Loops are cut into blocks at most this many times: of a million steps that leaves four of each.
const MOST_LEVELS: usize = 10;

/// Stages are cut into stages at most this many times.
const MOST_ROUNDS: usize = 4;

/// As many ways of little memory are tried before it is said that none fits.
const SLACK: usize = 6;

/// The fastest plan that needs no more memory than this. What loops of unknown length keep beyond it goes into the directory, if there
/// is one.
pub(super) fn within(
    limit: usize,
    program: &Program,
    options: &Options,
    costs: &Costs,
    donated: &[bool],
    spill: Option<&Arc<Path>>,
) -> Result<Plan, Error> {
    let mut search = Search { limit, options, costs, donated, in_memory: None, least: None };
    // What loops of unknown length keep is part of the peak: as much as there is room for.
    if spill.is_some() && limited::turns_back(program) {
        let fits = |carries| search.plan(program, EFFORTS[0].with_snapshots(Some(carries))).peak_bytes() <= limit;
        search.in_memory = Some(last_that(1, MOST_SNAPSHOTS, fits));
    }
    let program = match search.in_memory.is_none() && limited::is_open_ended(program) {
        true => {
            let kept = |snapshots| limited::with_snapshots(program, snapshots);
            let fits = |snapshots| search.plan(&kept(snapshots), EFFORTS[0]).peak_bytes() <= limit;
            Cow::Owned(kept(last_that(1, MOST_SNAPSHOTS, fits)))
        }
        false => Cow::Borrowed(program),
    };
    // What fits as it is needs nothing; otherwise this says what is computed again.
    let mut plain = search.plan(&program, EFFORTS[0]);
    let operations = plain.operations();
    if plain.peak_bytes() <= limit {
        plain.unlimited = Some(operations);
        return Ok(spilling(plain, spill));
    }
    drop(plain);
    let mut before = usize::MAX;
    for levels in 0..=MOST_LEVELS {
        // Loops in blocks cost a run forwards for every level.
        let cut = match levels {
            0 => Some(Cow::Borrowed(&*program)),
            _ => limited::in_blocks(&program, levels).map(Cow::Owned),
        };
        let Some(cut) = cut else { break };
        if search.attempt(&cut) || search.chain(&cut) {
            break;
        }
        let least = search.least_bytes();
        if least >= before {
            break;
        }
        before = least;
    }
    let mut plan = search.least.take().expect("there was an attempt");
    plan.unlimited = Some(operations);
    if plan.peak_bytes() <= limit { Ok(spilling(plan, spill)) } else { Err(plan.too_large(limit)) }
}

/// The plan, whose loops put into the directory what has no room.
fn spilling(mut plan: Plan, spill: Option<&Arc<Path>>) -> Plan {
    if let Some(directory) = spill {
        spill_into(directory, &mut plan.steps);
    }
    plan
}

struct Search<'a> {
    limit: usize,
    options: &'a Options,
    costs: &'a Costs,
    donated: &'a [bool],
    /// How many carries of a loop of unknown length lie in memory, if the others lie elsewhere.
    in_memory: Option<usize>,
    /// What fits, or needs least so far.
    least: Option<Plan>,
}

impl Search<'_> {
    fn plan(&self, program: &Program, effort: Effort) -> Plan {
        let donated = Donated::Any(self.donated);
        let effort = if self.in_memory.is_some() { effort.with_snapshots(self.in_memory) } else { effort };
        build(Cow::Borrowed(program), self.options, self.costs, ResultPlacement::Shared, donated, effort)
    }

    fn least_bytes(&self) -> usize {
        self.least.as_ref().map_or(usize::MAX, Plan::peak_bytes)
    }

    /// The first plan of a Program that fits, of more and more effort; otherwise the one that needs least.
    fn best(&self, program: &Program) -> Plan {
        let [fastest, frugal @ ..] = EFFORTS;
        let mut least = self.plan(program, fastest);
        for effort in frugal {
            if least.peak_bytes() <= self.limit {
                break;
            }
            let plan = self.plan(program, effort);
            if plan.peak_bytes() < least.peak_bytes() {
                least = plan;
            }
        }
        least
    }

    /// Whether this Program fits; its plan is kept if no other one needs less.
    fn attempt(&mut self, program: &Program) -> bool {
        let plan = self.best(program);
        if plan.peak_bytes() < self.least_bytes() {
            self.least = Some(plan);
        }
        self.least_bytes() <= self.limit
    }

    /// Whether this Program fits with stages of it computed again: as few as there have to be.
    fn chain(&mut self, program: &Program) -> bool {
        let mut cut = Cow::Borrowed(program);
        for _ in 0..MOST_ROUNDS {
            let Some(chain) = Chain::of(&cut) else { return false };
            let before = self.least_bytes();
            // The model is not exact: another way than that of the least memory may need less.
            if let Some(first) = (0..chain.ways().min(SLACK)).find(|&way| self.attempt(&chain.way(way))) {
                let fits = |way| self.best(&chain.way(way)).peak_bytes() <= self.limit;
                let way = last_that(first, chain.ways() - 1, fits);
                if way > first {
                    self.least = Some(self.best(&chain.way(way)));
                }
                return true;
            }
            if self.least_bytes() >= before {
                return false;
            }
            cut = Cow::Owned(chain.way(0));
        }
        false
    }
}

/// The last number for which it holds, if it holds up to some number; the first one, if it holds for none.
fn last_that(first: usize, last: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut least, mut most) = (first, last);
    while least < most {
        let middle = (least + most).div_ceil(2);
        match holds(middle) {
            true => least = middle,
            false => most = middle - 1,
        }
    }
    least
}
