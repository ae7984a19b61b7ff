//! Patterns of derivatives of a recording, by sets of inputs that go forwards over the list (Griewank and Walther,
//! *Evaluating Derivatives*, 2008, chapter 7).
//!
//! A row of a Jacobian has the inputs that its output depends on. Two inputs meet in the Hessian where one record is not
//! linear in operands that depend on them (*nonlinear interactions*; Walther, 2008).
//!
//! A set is made only where it is asked for, at outputs and at the operands of what is not linear, and where two records read
//! it: a chain of additions of which each has one reader is walked once, at its end, so that a sum of a million terms takes
//! the time of its terms. A set is shared by records that have the same, and freed after its last reader.

use std::rc::Rc;

use super::edge::{TooMany, bends};
use crate::tape::record::Record;
use crate::tape::trace::{Trace, for_each_edge};
use wengert_kernels::pattern::Pattern;

/// The most entries that are collected.
const MOST: usize = 1 << 29;

/// Which outputs depend on which inputs.
pub(super) fn jacobian_pattern(trace: &Trace) -> Result<Pattern, TooMany> {
    let outputs: Vec<Option<usize>> = (0..trace.outputs.len()).map(|k| trace.output_node(k)).collect();
    let mut sets = Sets::new(trace, outputs.iter().copied().flatten());
    for i in trace.inputs..trace.records.len() {
        sets.advance(i);
    }
    let mut starts = vec![0];
    let mut columns: Vec<u32> = Vec::new();
    for node in outputs {
        if let Some(set) = node.and_then(|node| sets.read(node)) {
            columns.extend(set.inputs());
        }
        if columns.len() > MOST {
            return Err(TooMany);
        }
        starts.push(columns.len());
    }
    Ok(Pattern::from_rows(trace.inputs, starts, columns).expect("sets are sorted, and inputs fewer than 2^28"))
}

/// Which inputs interact in a weighted sum of these outputs; symmetric.
pub(super) fn hessian_pattern(trace: &Trace, outputs: &[bool]) -> Result<Pattern, TooMany> {
    let reached = trace.reached((0..outputs.len()).filter(|&k| outputs[k]));
    let asked: Vec<usize> = (trace.inputs..trace.records.len())
        .filter(|&i| reached[i])
        .flat_map(|i| interacting(trace.records[i]).into_iter().flatten())
        .collect();
    let mut sets = Sets::new(trace, asked.into_iter());
    let mut entries = Entries::default();
    for (i, &record) in trace.records.iter().enumerate().skip(trace.inputs) {
        if reached[i] {
            let [first, second] = interacting(record).map(|place| place.and_then(|place| sets.read(place)));
            let [aa, ab, bb] = bends(record);
            for (needed, one, other) in [(aa, &first, &first), (ab, &first, &second), (bb, &second, &second)] {
                if let (true, Some(one), Some(other)) = (needed, one, other) {
                    entries.add(one, other)?;
                }
            }
        }
        sets.advance(i);
    }
    Ok(entries.symmetric(trace.inputs))
}

/// The operands of a record that meet in its second derivatives.
fn interacting(record: Record) -> [Option<usize>; 2] {
    let [aa, ab, bb] = bends(record);
    [(aa | ab).then(|| record.a()), (ab | bb).then(|| record.b())]
}

/// The inputs that a record depends on, sorted.
#[derive(Clone, Debug)]
enum Set {
    One([u32; 1]),
    Many(Rc<[u32]>),
}

impl Set {
    fn inputs(&self) -> &[u32] {
        match self {
            Set::One(input) => input,
            Set::Many(inputs) => inputs,
        }
    }
}

/// The sets that are alive while a list is walked.
struct Sets<'a> {
    trace: &'a Trace,
    /// Whether a record depends on an input.
    active: Vec<bool>,
    /// How often the set of a record will be read: by records after it, and where it is asked for.
    readers: Vec<u32>,
    /// Whose sets are made: those that are asked for, or have several readers.
    made: Vec<bool>,
    /// Where the set of a record stands in `sets`.
    place: Vec<u32>,
    sets: Vec<Option<Set>>,
    free: Vec<u32>,
    /// The last record in whose set each input was found.
    seen: Vec<u32>,
    found: Vec<u32>,
    stack: Vec<usize>,
}

impl<'a> Sets<'a> {
    /// `asked` are the records whose sets will be read, once for each time they stand there.
    fn new(trace: &'a Trace, asked: impl Iterator<Item = usize>) -> Self {
        assert!(trace.blocks.is_empty(), "a recorded function has its loops step by step");
        let count = trace.records.len();
        let mut active = vec![false; trace.values.len()];
        active[..trace.inputs].fill(true);
        let mut readers = vec![0; trace.values.len()];
        let mut made = vec![false; count];
        for place in asked {
            readers[place] += 1;
            if place < count {
                made[place] = true;
            }
        }
        for i in trace.inputs..count {
            let record = trace.records[i];
            for_each_edge(record, |side| active[i] |= active[record.operand(side)]);
        }
        // A record that nobody reads reads nothing itself.
        for i in (trace.inputs..count).rev() {
            if readers[i] > 0 && active[i] {
                let record = trace.records[i];
                for_each_edge(record, |side| readers[record.operand(side)] += 1);
            }
            made[i] |= readers[i] > 1;
        }
        Sets {
            trace,
            active,
            readers,
            made,
            place: vec![u32::MAX; count],
            sets: Vec::new(),
            free: Vec::new(),
            seen: vec![u32::MAX; trace.inputs],
            found: Vec::new(),
            stack: Vec::new(),
        }
    }

    /// Makes the set of a record, if it is to be made; those before it are.
    fn advance(&mut self, i: usize) {
        if !self.made[i] || !self.active[i] || self.readers[i] == 0 {
            return;
        }
        let set = self.gather(i);
        let place = self.free.pop().unwrap_or_else(|| {
            self.sets.push(None);
            self.sets.len() as u32 - 1
        });
        self.sets[place as usize] = Some(set);
        self.place[i] = place;
    }

    /// The set of a record that was asked for; `None` if it depends on no input.
    fn read(&mut self, i: usize) -> Option<Set> {
        if !self.active[i] {
            return None;
        }
        if i < self.trace.inputs {
            return Some(Set::One([i as u32]));
        }
        Some(self.consume(i))
    }

    /// The set of a record whose set was made, for one of its readers.
    fn consume(&mut self, i: usize) -> Set {
        let place = self.place[i] as usize;
        self.readers[i] -= 1;
        if self.readers[i] > 0 {
            return self.sets[place].clone().expect("a set lives until its last reader");
        }
        self.free.push(place as u32);
        self.sets[place].take().expect("a set lives until its last reader")
    }

    /// The union of the sets of the operands of a record, through all records between whose sets were not made.
    fn gather(&mut self, i: usize) -> Set {
        self.found.clear();
        let mut largest: Option<Set> = None;
        self.push_operands(i);
        while let Some(node) = self.stack.pop() {
            if node < self.trace.inputs {
                self.find(i, node as u32);
            } else if self.made[node] {
                let set = self.consume(node);
                set.inputs().iter().for_each(|&input| self.find(i, input));
                if largest.as_ref().is_none_or(|largest| largest.inputs().len() < set.inputs().len()) {
                    largest = Some(set);
                }
            } else {
                self.push_operands(node);
            }
        }
        // All of it is in the set of one operand: they share it.
        if let Some(largest) = largest.filter(|largest| largest.inputs().len() == self.found.len()) {
            return largest;
        }
        if let [input] = self.found[..] {
            return Set::One([input]);
        }
        self.found.sort_unstable();
        Set::Many(Rc::from(&self.found[..]))
    }

    fn find(&mut self, i: usize, input: u32) {
        let seen = &mut self.seen[input as usize];
        if *seen != i as u32 {
            *seen = i as u32;
            self.found.push(input);
        }
    }

    fn push_operands(&mut self, i: usize) {
        let record = self.trace.records[i];
        for_each_edge(record, |side| {
            let operand = record.operand(side);
            if self.active[operand] {
                self.stack.push(operand);
            }
        });
    }
}

/// Entries of a symmetric matrix, as they are found.
#[derive(Default)]
struct Entries {
    /// Row and column, in one number that sorts as they do.
    entries: Vec<u64>,
    /// How many there were when they were sorted last.
    sorted: usize,
}

impl Entries {
    fn add(&mut self, one: &Set, other: &Set) -> Result<(), TooMany> {
        for &row in one.inputs() {
            for &col in other.inputs() {
                self.entries.push(u64::from(row) << 32 | u64::from(col));
                self.entries.push(u64::from(col) << 32 | u64::from(row));
            }
            if self.entries.len() > 4 * self.sorted + (1 << 20) {
                self.tidy();
            }
        }
        if self.sorted > MOST / 2 { Err(TooMany) } else { Ok(()) }
    }

    /// Sorts them, each once.
    fn tidy(&mut self) {
        self.entries.sort_unstable();
        self.entries.dedup();
        self.sorted = self.entries.len();
    }

    fn symmetric(mut self, size: usize) -> Pattern {
        self.tidy();
        let mut starts = vec![0; size + 1];
        self.entries.iter().for_each(|entry| starts[(entry >> 32) as usize + 1] += 1);
        for row in 0..size {
            starts[row + 1] += starts[row];
        }
        let columns = self.entries.iter().map(|&entry| entry as u32).collect();
        Pattern::from_rows(size, starts, columns).expect("entries are sorted, and inputs fewer than 2^28")
    }
}
