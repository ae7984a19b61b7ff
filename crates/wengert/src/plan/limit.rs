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
    search.least = Some(plain);
    let mut before = usize::MAX;
    for levels in 0..=MOST_LEVELS {
        // Loops in blocks cost a run forwards for every level.
        let cut = match levels {
            0 => Some(Cow::Borrowed(&*program)),
            _ => limited::in_blocks(&program, levels).map(Cow::Owned),
        };
        let Some(cut) = cut else { break };
        // The first effort of what is not cut was the plan above.
        let first = usize::from(levels == 0);
        if search.attempt(&cut, first).is_some() || search.chain(&cut) {
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

    /// The first plan of a Program that fits, of more and more effort from this one on, and its effort; otherwise the one that
    /// needs least.
    fn best(&self, program: &Program, first: usize) -> (Plan, usize) {
        let mut least: Option<(Plan, usize)> = None;
        for (number, &effort) in EFFORTS.iter().enumerate().skip(first) {
            let plan = self.plan(program, effort);
            let fits = plan.peak_bytes() <= self.limit;
            if least.as_ref().is_none_or(|(least, _)| plan.peak_bytes() < least.peak_bytes()) {
                least = Some((plan, number));
            }
            if fits {
                break;
            }
        }
        least.expect("there is an effort")
    }

    /// The effort with which this Program fits, if it does; its plan is kept if no other one needs less.
    fn attempt(&mut self, program: &Program, first: usize) -> Option<usize> {
        let (plan, effort) = self.best(program, first);
        if plan.peak_bytes() < self.least_bytes() {
            self.least = Some(plan);
        }
        (self.least_bytes() <= self.limit).then_some(effort)
    }

    /// Whether this Program fits with stages of it computed again: as few as there have to be.
    fn chain(&mut self, program: &Program) -> bool {
        let mut cut = Cow::Borrowed(program);
        for _ in 0..MOST_ROUNDS {
            let Some(chain) = Chain::of(&cut) else { return false };
            let before = self.least_bytes();
            // The model is not exact: another way than that of the least memory may need less. With that one every effort was
            // tried, and with the others the one that takes least.
            let found = (0..chain.ways().min(SLACK)).find_map(|way| {
                let first = if way == 0 { 0 } else { EFFORTS.len() - 1 };
                Some((way, self.attempt(&chain.way(way), first)?))
            });
            if let Some((way, effort)) = found {
                self.with_more(&chain, way, effort);
                return true;
            }
            if self.least_bytes() >= before {
                return false;
            }
            cut = Cow::Owned(chain.way(0));
        }
        false
    }

    /// Keeps the plan of the way with the least work that still fits, where this one fits with this effort. A way that keeps more
    /// needs no less effort.
    fn with_more(&mut self, chain: &Chain, first: usize, effort: usize) {
        // What the model leaves out is much the same for all of them.
        let room = self.limit - self.least_bytes();
        let bytes = chain.bytes(first).saturating_add(room);
        let guess = (first..chain.ways()).take_while(|&way| chain.bytes(way) <= bytes).last().unwrap_or(first);
        let fits = |way: usize| {
            let (plan, _) = self.best(&chain.way(way), effort);
            (plan.peak_bytes() <= self.limit).then_some(plan)
        };
        if let Some(plan) = last_near(first, chain.ways() - 1, guess, fits) {
            self.least = Some(plan);
        }
    }
}

/// What belongs to the last number behind the first one that has something, if those up to some number have and no others; nothing if
/// none has. It is looked for around a guess, twice as far away each time, and then by halves.
fn last_near<T>(first: usize, last: usize, guess: usize, of: impl Fn(usize) -> Option<T>) -> Option<T> {
    let (mut least, mut most, mut found) = (first, last, None);
    let (mut next, mut stride, mut answers) = (guess, 1, [false; 2]);
    while least < most {
        next = next.clamp(least + 1, most);
        let own = of(next);
        answers[usize::from(own.is_some())] = true;
        next = match own {
            Some(_) => {
                (least, found) = (next, own);
                least + stride
            }
            None => {
                most = next - 1;
                (most + 1).saturating_sub(stride)
            }
        };
        stride *= 2;
        if answers == [true; 2] {
            next = (least + most).div_ceil(2);
        }
    }
    found
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

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn the_last_one_is_found_from_any_guess() {
        for (first, last) in [(0, 0), (0, 1), (3, 9), (0, 200)] {
            for end in first..=last {
                for guess in first..=last {
                    let calls = Cell::new(0);
                    let of = |number: usize| {
                        assert!((first + 1..=last).contains(&number), "{number} was known, or is none");
                        calls.set(calls.get() + 1);
                        (number <= end).then_some(number)
                    };
                    assert_eq!(last_near(first, last, guess, of).unwrap_or(first), end, "{first} to {last}, {guess}");
                    let away = guess.abs_diff(end);
                    let most = 2 * (away + 2).ilog2() + 2;
                    assert!(calls.get() <= most, "{} calls from {guess} to {end}", calls.get());
                }
            }
        }
    }
}
