//! Exhaustive search: the least time in which a short loop can be reversed, by any actions whatever.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

use super::levels::Disk;

/// What an engine has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Machine {
    pub(super) slots: u32,
    /// How many slots the residuals of a step take; `None` if there is no keeping them.
    pub(super) room: Option<u32>,
    pub(super) disk: Disk,
}

/// All that decides what can be done next; sets of steps are bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct State {
    /// The steps from here on are reversed.
    end: usize,
    working: Option<usize>,
    carries: u32,
    residuals: u32,
    on_disk: u32,
}

/// The time of the best schedule without the one run that every step needs, in thousandths of the time of a step: the
/// shortest path through all states (Dijkstra, "A note on two problems in connexion with graphs", 1959).
pub(super) fn least_time(steps: usize, machine: Machine) -> u64 {
    let start = State { end: steps, working: Some(0), carries: 0, residuals: 0, on_disk: 0 };
    let mut known = HashSet::new();
    let mut queue = BinaryHeap::from([Reverse((0, start))]);
    while let Some(Reverse((time, state))) = queue.pop() {
        if state.end == 0 {
            return time - 1000 * steps as u64;
        }
        if known.insert(state) {
            next(state, machine, |more, next| queue.push(Reverse((time + more, tidied(next)))));
        }
    }
    unreachable!("the initial carry is enough")
}

/// Without what is of no use any more.
fn tidied(state: State) -> State {
    let useful = (1 << state.end) - 1;
    State {
        working: state.working.filter(|&step| step < state.end),
        carries: state.carries & useful,
        residuals: state.residuals & useful,
        on_disk: state.on_disk & useful,
        ..state
    }
}

/// What is possible, and its time; here all runs of a step take time, also those for residuals.
fn next(state: State, machine: Machine, mut to: impl FnMut(u64, State)) {
    let room = machine.room.unwrap_or(0);
    let free = machine.slots - state.carries.count_ones() - room * state.residuals.count_ones();
    if let Some(at) = state.working {
        to(1000, State { working: Some(at + 1), ..state });
        if at + 1 == state.end {
            to(1000, State { working: None, end: at, ..state });
        }
        if free >= 1 {
            to(0, State { carries: state.carries | 1 << at, ..state });
        }
        if machine.room.is_some_and(|room| free >= room) {
            to(1000, State { working: Some(at + 1), residuals: state.residuals | 1 << at, ..state });
        }
        if machine.disk.slots.is_none_or(|slots| (state.on_disk.count_ones() as usize) < slots) {
            to(machine.disk.write, State { on_disk: state.on_disk | 1 << at, ..state });
        }
    }
    to(0, State { working: Some(0), ..state });
    for step in 0..state.end {
        let bit = 1 << step;
        if state.carries & bit != 0 {
            to(0, State { working: Some(step), ..state });
            to(0, State { carries: state.carries & !bit, ..state });
        }
        if state.on_disk & bit != 0 {
            to(machine.disk.read, State { working: Some(step), ..state });
            to(0, State { on_disk: state.on_disk & !bit, ..state });
        }
        if state.residuals & bit != 0 {
            to(0, State { residuals: state.residuals & !bit, ..state });
            if step + 1 == state.end {
                to(0, State { residuals: state.residuals & !bit, end: step, ..state });
            }
        }
    }
}
