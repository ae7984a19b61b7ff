//! The referee of schedules: runs actions on a loop that only counts, and refuses what an engine could not do.

use super::{Action, Cost, Slot};

/// The state of an engine, as far as it says which action is possible.
pub(super) struct Referee {
    /// How many memory slots the residuals of a step take.
    room: usize,
    /// The step before which the working carry is.
    working: Option<usize>,
    /// The steps from here on are reversed.
    end: usize,
    /// Memory, rows, disk.
    slots: [Vec<Option<Content>>; 3],
    /// What was done, and how many slots of each kind it took, which is one more than the largest number of one.
    done: Cost,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Carry(usize),
    Residuals(usize),
    /// Part of the residuals that begin in an earlier slot.
    More,
}

impl Referee {
    pub(super) fn new(steps: usize, room: usize) -> Self {
        Self { room, working: Some(0), end: steps, slots: Default::default(), done: Cost::default() }
    }

    pub(super) fn run(&mut self, actions: impl IntoIterator<Item = Action>) -> Result<(), String> {
        for action in actions {
            self.act(action).map_err(|why| format!("{action}: {why}"))?;
        }
        Ok(())
    }

    /// What was done, if every step is reversed and nothing is held.
    pub(super) fn finish(self) -> Result<Cost, String> {
        if self.end != 0 {
            return Err(format!("{} steps are not reversed", self.end));
        }
        if let Some(held) = self.slots.iter().flatten().flatten().next() {
            return Err(format!("{held:?} is still held"));
        }
        Ok(self.done)
    }

    fn act(&mut self, action: Action) -> Result<(), String> {
        match action {
            Action::Advance { from, to } => {
                self.expect_working(from)?;
                if from >= to || to > self.end {
                    return Err(format!("no steps before {}", self.end));
                }
                self.done.advances += (to - from) as u64;
                self.working = Some(to);
            }
            Action::Store { step, slot } => {
                self.expect_working(step)?;
                match slot {
                    Slot::Memory(_) => {}
                    Slot::Disk(_) => self.done.writes += 1,
                    Slot::Initial | Slot::Row(_) => return Err("no place for a carry".to_owned()),
                }
                self.put(slot, Content::Carry(step))?;
            }
            Action::Restore { step, slot } => {
                let held = if slot == Slot::Initial { Some(Content::Carry(0)) } else { *self.content(slot) };
                if held != Some(Content::Carry(step)) {
                    return Err(format!("it holds {held:?}"));
                }
                if step >= self.end {
                    return Err(format!("step {step} is reversed already"));
                }
                if matches!(slot, Slot::Disk(_)) {
                    self.done.reads += 1;
                }
                self.working = Some(step);
            }
            Action::Record { step, slot } => {
                self.expect_working(step)?;
                match slot {
                    Slot::Row(_) => self.put(slot, Content::Residuals(step))?,
                    Slot::Memory(index) => {
                        self.put(slot, Content::Residuals(step))?;
                        for more in 1..self.room as u32 {
                            self.put(Slot::Memory(index + more), Content::More)?;
                        }
                    }
                    Slot::Initial | Slot::Disk(_) => return Err("no place for residuals".to_owned()),
                }
                if step >= self.end {
                    return Err(format!("step {step} is reversed already"));
                }
                self.working = Some(step + 1);
            }
            Action::Reverse { step } => {
                self.expect_working(step)?;
                self.reverse(step)?;
                self.working = None;
            }
            Action::Pull { step, slot } => {
                self.take(slot, Content::Residuals(step))?;
                if let Slot::Memory(index) = slot {
                    for more in 1..self.room as u32 {
                        self.take(Slot::Memory(index + more), Content::More)?;
                    }
                }
                self.reverse(step)?;
            }
            Action::Free { slot } => match *self.content(slot) {
                Some(carry @ Content::Carry(_)) => self.take(slot, carry)?,
                held => return Err(format!("it holds {held:?}")),
            },
        }
        Ok(())
    }

    fn expect_working(&self, step: usize) -> Result<(), String> {
        if self.working == Some(step) { Ok(()) } else { Err(format!("the working carry is at {:?}", self.working)) }
    }

    fn reverse(&mut self, step: usize) -> Result<(), String> {
        if step + 1 != self.end {
            return Err(format!("the steps from {} on are reversed", self.end));
        }
        self.end = step;
        Ok(())
    }

    fn put(&mut self, slot: Slot, content: Content) -> Result<(), String> {
        match self.content(slot).replace(content) {
            None => Ok(()),
            Some(held) => Err(format!("{slot} holds {held:?}")),
        }
    }

    fn take(&mut self, slot: Slot, content: Content) -> Result<(), String> {
        match self.content(slot).take() {
            held if held == Some(content) => Ok(()),
            held => Err(format!("{slot} holds {held:?}")),
        }
    }

    /// What a slot holds, which is one of those that it takes from now on.
    fn content(&mut self, slot: Slot) -> &mut Option<Content> {
        let [memory, rows, disk] = &mut self.slots;
        let (slots, named, index) = match slot {
            Slot::Memory(index) => (memory, &mut self.done.slots, index as usize),
            Slot::Row(index) => (rows, &mut self.done.rows, index as usize),
            Slot::Disk(index) => (disk, &mut self.done.disk, index as usize),
            Slot::Initial => unreachable!("the initial carry is no slot to change"),
        };
        if slots.len() <= index {
            slots.resize(index + 1, None);
        }
        *named = slots.len();
        &mut slots[index]
    }
}
