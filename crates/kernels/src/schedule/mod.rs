//! Checkpoint schedules: in which order the steps of a loop run again when it is differentiated backwards.
//!
//! A loop of `l` steps, `c[t+1] = F(c[t])`, is reversed from its end, and the adjoint of step `t` needs what step `t`
//! computed, so `c[t]`. Keeping all of it takes memory in proportion to `l`. A schedule keeps some carries as snapshots
//! and runs steps again from there. It is a list of [`Action`]s, made one at a time, that an engine executes without
//! deciding anything.
//!
//! Which one when:
//!
//! | scheme | keeps | steps run again | for |
//! |---|---|---|---|
//! | `Scheme::Stored` | the residuals of all steps | none | loops that fit in memory |
//! | `Scheme::Every` | `l / k` carries and what `k` steps leave | less than `l`, or than `2 l` | long loops, memory of about `sqrt(l)` |
//! | `Scheme::Recursive` | `log2 l` carries | `l log2(l) / 2` | a simple bound, without a limit of memory |
//! | `Scheme::Binomial` | a given number of carries | the fewest there are | a limit of memory, large residuals |
//! | `Scheme::Mixed` | carries or residuals | the fewest there are | a limit of memory, small residuals |
//! | `Scheme::Levels` | carries in memory and on disk | the least time there is | loops whose snapshots do not fit |
//! | [`Online`] | a given number of carries | at most `l` more than `Scheme::Binomial` | loops that end when they end |
//!
//! Loops ask for [`Online`] alone so far, whose length need not be known. The others are compiled for tests only, where they are
//! what it is measured against.
//!
//! The fewest advances and the least time are those of all schedules that there are, for mixed schedules and those of
//! two levels as long as tables of bounded size have the loop: up to 1746 steps with 10 slots, or 381 steps with 20 more
//! on a disk. Longer loops get what their files say.
//!
//! **What is counted.** Every step's residuals are computed once, by [`Action::Reverse`] or [`Action::Record`]. An
//! *advance* is a run of a step beside that one, so a schedule runs the body `l + advances` times.
//!
//! **What is free.** The carry before the first step is an operand of the loop; it is read from [`Slot::Initial`] as
//! often as needed and takes no slot. So no slots at all are enough for any length, at `l (l - 1) / 2` advances.
//! One set of residuals, of the step that is being reversed, is always there and not counted either.
//!
//! **The result of the loop.** `c[l]` is computed by the action that runs the last step: the first `Reverse`, the
//! `Record` of step `l - 1`, or for [`Online`] the last `Advance`. An engine that owes the result before it is given
//! the cotangent stops there, in a `Reverse` between the primal and its adjoint.
//!
//! Literature: Griewank, "Achieving logarithmic growth of temporal and spatial complexity in reverse automatic
//! differentiation", 1992; each file names its own.

mod walk;

mod binomial;
#[cfg(test)]
mod every;
#[cfg(test)]
mod levels;
#[cfg(test)]
mod mixed;
mod online;
#[cfg(test)]
mod recursive;
#[cfg(test)]
mod stored;

#[cfg(test)]
mod search;
#[cfg(test)]
mod simulate;
#[cfg(test)]
mod tests;

use std::fmt;

#[cfg(test)]
use binomial::Binomial;
#[cfg(test)]
use every::Every;
#[cfg(test)]
pub use every::Keep;
#[cfg(test)]
pub use levels::Disk;
#[cfg(test)]
use levels::Levels;
#[cfg(test)]
use mixed::Mixed;
pub use online::{Online, Reversal};
#[cfg(test)]
use recursive::Recursive;
#[cfg(test)]
use stored::Stored;
#[cfg(test)]
use walk::{Walk, cost};

/// A place for a carry or for the residuals of a step. Slots of each kind are numbered from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Slot {
    /// The carry before the first step; only ever read.
    Initial,
    /// Memory for one carry. In a mixed schedule the residuals of a step take several from this one on.
    Memory(u32),
    /// Memory for the residuals of one step.
    Row(u32),
    /// A carry in slower and larger memory.
    Disk(u32),
}

/// What an engine does next. Its state is one working carry, what the slots hold, and the cotangent, which is that of
/// the carry after the step that is reversed next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Runs the steps `from..to` and keeps nothing; the working carry, before the one, becomes that before the other.
    Advance { from: usize, to: usize },
    /// Copies the working carry, which is that before `step`, into a slot that is free.
    Store { step: usize, slot: Slot },
    /// Makes the carry before `step` the working carry; the slot keeps it.
    Restore { step: usize, slot: Slot },
    /// Runs `step` from the working carry, keeps its residuals in a slot that is free, and makes its result the working
    /// carry.
    Record { step: usize, slot: Slot },
    /// Runs `step` from the working carry for its residuals, and then its adjoint; there is no working carry after it.
    Reverse { step: usize },
    /// Runs the adjoint of `step` on the residuals in the slot, which is free after it. The working carry stays.
    Pull { step: usize, slot: Slot },
    /// The slot's carry is not needed any more.
    Free { slot: Slot },
}

/// What a schedule takes, known without running it. Counts that exceed 64 bits are the largest number of 64 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Runs of a step beside the one that every step needs.
    pub advances: u64,
    /// Carries written to disk.
    pub writes: u64,
    /// Carries read from disk.
    pub reads: u64,
    /// Memory slots, each for a carry: an upper bound.
    pub slots: usize,
    /// Rows, each for the residuals of a step, beside the slots.
    pub rows: usize,
    /// Disk slots, each for a carry: an upper bound.
    pub disk: usize,
}

impl Cost {
    /// How often a step runs again on average, `advances / l`; zero for a loop without steps.
    pub fn recomputation(&self, steps: usize) -> f64 {
        if steps == 0 { 0.0 } else { self.advances as f64 / steps as f64 }
    }

    /// What one after the other take: the sum of the work, the larger of the places.
    fn and(self, other: Self) -> Self {
        Self {
            advances: self.advances.saturating_add(other.advances),
            writes: self.writes.saturating_add(other.writes),
            reads: self.reads.saturating_add(other.reads),
            slots: self.slots.max(other.slots),
            rows: self.rows.max(other.rows),
            disk: self.disk.max(other.disk),
        }
    }
}

/// How a loop of known length is reversed.
#[cfg(test)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// The residuals of every step are kept: see `stored.rs`.
    Stored,
    /// A snapshot before every `every`-th step, and of the segment being reversed what `keep` says: see `every.rs`.
    /// Zero counts as one.
    Every { every: usize, keep: Keep },
    /// Halves, halves of halves, …: see `recursive.rs`.
    Recursive,
    /// The fewest advances with `slots` snapshots of carries: see `binomial.rs`.
    Binomial { slots: usize },
    /// The fewest advances where a step's residuals may take `room` of the `slots`: see `mixed.rs`. Zero counts as one.
    Mixed { slots: usize, room: usize },
    /// The least time with `slots` snapshots in memory and others on disk: see `levels/mod.rs`.
    Levels { slots: usize, disk: Disk },
}

/// A scheme for a loop of one length: what it takes, and its actions as often as they are asked for.
#[cfg(test)]
#[derive(Clone, Debug)]
pub struct Schedule {
    cost: Cost,
    kind: Kind,
}

/// One of each scheme, with the tables it decides by.
#[cfg(test)]
#[derive(Clone, Debug)]
enum Kind {
    Stored(Stored),
    Every(Every),
    Recursive(Recursive),
    Binomial(Binomial),
    Mixed(Mixed),
    Levels(Levels),
}

#[cfg(test)]
impl Schedule {
    /// The schedule of a loop of `steps` steps; no steps, no actions.
    ///
    /// It takes no time worth mentioning, except for mixed schedules and those of two levels: these fill tables, at
    /// most some tens of millions of sums however long the loop is, in up to a few tenths of a second.
    pub fn new(scheme: Scheme, steps: usize) -> Self {
        match scheme {
            Scheme::Stored => Self::of(Stored { steps }, Kind::Stored),
            Scheme::Every { every, keep } => Self::of(Every::new(steps, every, keep), Kind::Every),
            Scheme::Recursive => Self::of(Recursive { steps }, Kind::Recursive),
            Scheme::Binomial { slots } => Self::of(Binomial::new(steps, slots), Kind::Binomial),
            Scheme::Mixed { slots, room } => Self::of(Mixed::new(steps, slots, room), Kind::Mixed),
            Scheme::Levels { slots, disk } => Self::of(Levels::new(steps, slots, disk), Kind::Levels),
        }
    }

    fn of<D: walk::Division>(division: D, kind: impl Fn(D) -> Kind) -> Self {
        Self { cost: cost(&division), kind: kind(division) }
    }

    /// What the actions take together.
    pub fn cost(&self) -> Cost {
        self.cost
    }

    /// The actions in order. What is kept between two of them is in proportion to the slots, not to the steps.
    pub fn actions(&self) -> Box<dyn Iterator<Item = Action> + Send> {
        match self.kind.clone() {
            Kind::Stored(division) => Box::new(Walk::new(division)),
            Kind::Every(division) => Box::new(Walk::new(division)),
            Kind::Recursive(division) => Box::new(Walk::new(division)),
            Kind::Binomial(division) => Box::new(Walk::new(division)),
            Kind::Mixed(division) => Box::new(Walk::new(division)),
            Kind::Levels(division) => Box::new(Walk::new(division)),
        }
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Initial => write!(f, "initial"),
            Self::Memory(index) => write!(f, "m{index}"),
            Self::Row(index) => write!(f, "r{index}"),
            Self::Disk(index) => write!(f, "d{index}"),
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Advance { from, to } => write!(f, "advance {from}..{to}"),
            Self::Store { step, slot } => write!(f, "store {step} in {slot}"),
            Self::Restore { step, slot } => write!(f, "restore {step} from {slot}"),
            Self::Record { step, slot } => write!(f, "record {step} in {slot}"),
            Self::Reverse { step } => write!(f, "reverse {step}"),
            Self::Pull { step, slot } => write!(f, "pull {step} from {slot}"),
            Self::Free { slot } => write!(f, "free {slot}"),
        }
    }
}
