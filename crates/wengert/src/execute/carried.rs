//! Steps over a few numbers whose carry stays in the memory of their code: between two steps it is moved from where one wrote it to
//! where the next one reads it, and no operand is handed over.

use smallvec::SmallVec;
use wengert_kernels::region::{Slice, SliceMut};

use super::called::Called;
use super::single;
use crate::plan::{CalledStep, NumberSteps};

/// Such a step of a loop.
pub(super) struct CarriedStep<'s, 'a> {
    numbers: &'a NumberSteps,
    called: &'s mut Called<'a>,
    /// What is moved between two steps: from where a result is to where it is read.
    moves: SmallVec<[(Place, Place); 8]>,
    /// Values of the moves that go to registers, which one step may both read and give.
    turned: SmallVec<[i64; 8]>,
    /// What a step reads of its rows.
    rows: SmallVec<[RowFeed; 8]>,
    /// What it reads of registers: the place, the register.
    read: SmallVec<[(usize, usize); 4]>,
    /// Where the results are.
    results: SmallVec<[(Place, usize); 8]>,
}

/// Where a number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Of the code.
    Memory(usize),
    /// An integer or a condition.
    Register(usize),
}

/// An element of a row, and where it goes.
struct RowFeed {
    row: usize,
    element: usize,
    to: Place,
}

impl<'s, 'a> CarriedStep<'s, 'a> {
    /// The step with this carry. Operands between the invariants and the carry are rows, which [`CarriedStep::run`] is given.
    pub(super) fn new(numbers: &'a NumberSteps, called: &'s mut Called<'a>, starts: &[Slice<'_>]) -> Self {
        let CalledStep { integers, invariants, operands, carry, results: of_code, .. } = called.step;
        let count = of_code.len() + integers.results.len();
        let mut results: SmallVec<[(Place, usize); 8]> = SmallVec::from_elem((Place::Memory(0), 0), count);
        for (&(result, size), &first) in of_code.iter().zip(&numbers.outputs) {
            results[result] = (Place::Memory(first), size);
        }
        for &(result, register) in &integers.results {
            results[result] = (Place::Register(register), 1);
        }
        let (mut moves, mut rows) = (SmallVec::new(), SmallVec::new());
        let mut read = SmallVec::new();
        let mut feed =
            |operand: usize, element: usize, to: Place, called: &mut Called<'a>| match operand.checked_sub(*carry) {
                Some(part) => {
                    called.put(to, starts[part], element);
                    let from = match results[part].0 {
                        Place::Memory(first) => Place::Memory(first + element),
                        register => register,
                    };
                    moves.push((from, to));
                }
                None => rows.push(RowFeed { row: operand - invariants, element, to }),
            };
        // What is the same in every step has been read.
        for &(register, operand) in integers.operands.iter().filter(|(_, operand)| operand >= invariants) {
            feed(operand, 0, Place::Register(register), called);
        }
        for row in &numbers.rows {
            match row.operand + invariants {
                operand if operand < *operands => feed(operand, row.element, Place::Memory(row.place), called),
                operand => read.push((row.place, integers.read[operand - operands])),
            }
        }
        CarriedStep { numbers, called, moves, turned: SmallVec::new(), rows, read, results }
    }

    /// Runs the step, given its rows.
    pub(super) fn run<'r>(&mut self, row: impl Fn(usize) -> Slice<'r>) {
        // Elements of one row follow each other.
        let mut known: Option<(usize, Slice<'r>)> = None;
        for feed in &self.rows {
            let elements = match known {
                Some((number, elements)) if number == feed.row => elements,
                _ => row(feed.row),
            };
            known = Some((feed.row, elements));
            self.called.put(feed.to, elements, feed.element);
        }
        self.called.compute();
        let Called { memory, registers, .. } = &mut *self.called;
        for &(place, register) in &self.read {
            memory[place] = registers[register] as f64;
        }
        let valid = self.numbers.code.again(memory);
        debug_assert!(valid, "there are no guards in a step");
    }

    /// Whether a result, which is one condition, holds.
    pub(super) fn holds(&self, result: usize) -> bool {
        match self.results[result].0 {
            Place::Memory(place) => self.called.memory[place] != 0.0,
            Place::Register(register) => self.called.registers[register] != 0,
        }
    }

    /// Writes a result.
    pub(super) fn store(&self, result: usize, out: &mut SliceMut<'_>) {
        match self.results[result] {
            (Place::Memory(first), size) => single::store(&self.called.memory[first..first + size], out, 0),
            (Place::Register(register), _) => single::store_integer(self.called.registers[register], out),
        }
    }

    /// Makes what the step gave the carry of the next one. After it the results may be gone: an integer that the step gives as it
    /// read it stands where the next one is read.
    pub(super) fn turn(&mut self) {
        let Called { memory, registers, .. } = &mut *self.called;
        self.turned.clear();
        for &(from, to) in &self.moves {
            match (from, to) {
                // Results of the code lie apart from what it takes.
                (Place::Memory(from), Place::Memory(to)) => memory[to] = memory[from],
                (Place::Register(from), Place::Memory(to)) => memory[to] = registers[from] as f64,
                (Place::Memory(from), Place::Register(_)) => self.turned.push(i64::from(memory[from] != 0.0)),
                (Place::Register(from), Place::Register(_)) => self.turned.push(registers[from]),
            }
        }
        let mut turned = self.turned.iter();
        for &(_, to) in &self.moves {
            if let Place::Register(to) = to {
                registers[to] = *turned.next().expect("one for each");
            }
        }
    }
}

impl Called<'_> {
    /// Writes an element of an operand to its place.
    fn put(&mut self, to: Place, operand: Slice<'_>, element: usize) {
        match to {
            Place::Memory(place) => self.memory[place] = single::number(operand, element),
            Place::Register(register) => self.registers[register] = single::integer(operand),
        }
    }
}
