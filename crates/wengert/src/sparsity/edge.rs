//! [`Elimination`]: sparse Hessians and Jacobians of a recording, by eliminating its records one by one from the last to the
//! first.
//!
//! Between two records stand *edges*, numbers that say how the outputs depend on what is left of the list. Of a Hessian an
//! edge `(i, p)` of two records is the second derivative of the outputs by both, as long as everything behind the later one
//! is eliminated; of a Jacobian an edge `(i, k)` is the derivative of output `k` by record `i`. Record `i` with operands `j`
//! is eliminated by the chain rule (*edge pushing*; Gower and Mello, 2012):
//!
//! ```text
//! edge(j, p) += d_j edge(i, p)                    for the edges to others; twice that where j is p
//! edge(j, k) += d_j d_k edge(i, i)                for that to itself
//! edge(j, k) += adjoint(i) d²_jk                  where the function of the record is not linear
//! ```
//!
//! The symmetry of the second derivatives is used everywhere: an edge is kept once. Only edges of what is live exist at a
//! time (Wang, Gebremedhin and Pothen, 2016), and an operation that is linear makes none: a sum of a million terms costs
//! what the gradient of a sum costs.
//!
//! Which edges there are is a property of the recording and not of the point. The symbolic phase finds it once, and hands every
//! edge a place in an array, which is free again when its record is eliminated. What remains for each point is a list of
//! multiplications and additions in that array, which `run.rs` goes through without looking for anything.

mod run;

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

pub(super) use self::run::{Kept, Plain, Weight, Work};
use crate::hash::FastHasher;
use crate::tape::record::{Form, Op, Record};
use crate::tape::trace::{Trace, for_each_edge};
use wengert_kernels::pattern::Pattern;

/// What is asked of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted<'a> {
    /// The Hessian of a weighted sum of these outputs.
    Hessian(&'a [bool]),
    /// The derivatives of these outputs.
    Jacobian(&'a [bool]),
}

/// The list of multiplications and additions that gives the derivatives of a recording at any point.
#[derive(Debug)]
pub(super) struct Elimination {
    /// What is done with the edges: see [`Words`].
    words: Vec<u32>,
    /// Of a Hessian the records that derivatives flow through, as ranges, the last one first. A Jacobian needs no adjoints.
    runs: Option<Vec<(u32, u32)>>,
    /// How many places there are for edges.
    places: usize,
    /// The outputs that are differentiated: their records, and for a Jacobian the place of the edge to itself.
    outputs: Vec<Seed>,
    /// The places that are not free at the end: those of all entries of a Jacobian, of the lower triangle of a Hessian.
    results: Vec<u32>,
}

/// Where an output begins.
#[derive(Clone, Copy, Debug)]
struct Seed {
    output: u32,
    node: u32,
    /// The place of its edge; unused by Hessians.
    place: u32,
}

/// There are more edges than the limit allows: the matrix is dense, or nearly so on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooMany;

impl std::fmt::Display for TooMany {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the derivative is not sparse: it has, or takes on the way, more entries than fit in memory")
    }
}

/// The words that say what happens at a record: its number; a header; if it has an edge to itself the place of that; if it
/// has one or is not linear the places of the edges between its operands (one, or three for two operands, [`NONE`] where
/// there is none); then for every edge to another record or output its place and those of the edges that take its part, one
/// for each operand.
struct Words;

impl Words {
    const KIND: u32 = 0b11;
    const ITSELF: u32 = 0b100;
    const BENDS: u32 = 0b1000;
    /// Where the number of other edges begins.
    const OTHERS: u32 = 4;
}

/// Which operands a derivative flows to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operands {
    OnlyA,
    OnlyB,
    Both,
    /// Both, and they are the same record.
    Same,
}

impl Operands {
    const ALL: [Operands; 4] = [Operands::OnlyA, Operands::OnlyB, Operands::Both, Operands::Same];

    /// Those of a record, as far as a derivative flows to them.
    fn of(record: Record, active: &[bool]) -> Option<Operands> {
        let (mut a, mut b) = (false, false);
        for_each_edge(record, |side| match side {
            crate::tape::record::Side::A => a = active[record.a()],
            crate::tape::record::Side::B => b = active[record.b()],
        });
        match (a, b) {
            (true, true) if record.a() == record.b() => Some(Operands::Same),
            (true, true) => Some(Operands::Both),
            (true, false) => Some(Operands::OnlyA),
            (false, true) => Some(Operands::OnlyB),
            (false, false) => None,
        }
    }

    /// The places that the edges between the operands of a record have among its words.
    fn pairs(self) -> usize {
        if self == Operands::Both { 3 } else { 1 }
    }
}

/// No place.
const NONE: u32 = u32::MAX;
/// Marks a place that takes twice the part: the edge of a record to its own operand.
const TWICE: u32 = 1 << 31;
/// Marks an output as the other end of an edge. Outputs come before all records.
const OUTPUT: u32 = 1 << 31;

/// Which second derivatives of a record by its operands are more than structurally zero: by `a` twice, by both, by `b` twice.
pub(super) fn bends(record: Record) -> [bool; 3] {
    match record.op() {
        Op::Unary(op) => [op.is_nonlinear(), false, false],
        Op::Binary(op, Form::Both) => op.is_nonlinear(),
        Op::Binary(op, Form::Right) => [op.is_nonlinear()[0], false, false],
        Op::Binary(op, Form::Left) => [op.is_nonlinear()[2], false, false],
        Op::Copy | Op::Select => [false; 3],
        Op::Input | Op::Constant | Op::Guard(..) | Op::Condition(..) | Op::Not | Op::And | Op::Or => [false; 3],
        Op::Choose | Op::Taken | Op::Loop | Op::Result | Op::LoopEnd => [false; 3],
    }
}

/// Those that matter to the operands a derivative flows to.
fn bends_in(record: Record, operands: Operands) -> [bool; 3] {
    let [aa, ab, bb] = bends(record);
    match operands {
        Operands::OnlyA => [aa, false, false],
        Operands::OnlyB => [false, false, bb],
        Operands::Both | Operands::Same => [aa, ab, bb],
    }
}

impl Elimination {
    /// The symbolic phase: the list, all entries, of a Hessian both triangles, and the place of each. `limit` is the most words
    /// that the list may take.
    pub(super) fn new(trace: &Trace, wanted: Wanted<'_>, limit: usize) -> Result<(Self, Pattern, Vec<u32>), TooMany> {
        assert!(trace.blocks.is_empty(), "a recorded function has its loops step by step");
        let live = Live::new(trace, wanted);
        let mut symbolic = Symbolic { edges: Edges::new(trace.records.len()), words: Vec::new() };
        let outputs = symbolic.begin(trace, wanted, &live);
        for i in (trace.inputs..trace.records.len()).rev() {
            if !live.flows[i] {
                debug_assert!(symbolic.edges.first[i] == NONE, "an edge ends where no derivative flows");
                continue;
            }
            symbolic.eliminate(trace, wanted, &live, i)?;
            if symbolic.words.len() > limit || symbolic.edges.places >= TWICE {
                return Err(TooMany);
            }
        }
        let (pattern, results) = match wanted {
            Wanted::Hessian(_) => symbolic.edges.lower_triangle(trace.inputs),
            Wanted::Jacobian(_) => symbolic.edges.rows(trace.inputs, trace.outputs.len()),
        };
        let runs = match wanted {
            Wanted::Hessian(_) => Some(live.runs(trace.inputs..trace.records.len())),
            Wanted::Jacobian(_) => None,
        };
        let mut words = symbolic.words;
        words.shrink_to_fit();
        let places = symbolic.edges.places as usize;
        drop(symbolic.edges);
        let (whole, all) = match wanted {
            Wanted::Hessian(_) => mirrored(&pattern, &results),
            Wanted::Jacobian(_) => (pattern, results.clone()),
        };
        Ok((Elimination { words, runs, places, outputs, results }, whole, all))
    }

    /// A place where nothing ever is.
    pub(super) fn nowhere(&self) -> u32 {
        self.places as u32
    }

    fn is_hessian(&self) -> bool {
        self.runs.is_some()
    }

    /// How many multiplications and additions a run takes, about.
    pub(super) fn operations(&self) -> usize {
        let adjoints: usize = self.runs.iter().flatten().map(|&(from, to)| (to - from) as usize).sum();
        2 * adjoints + self.words.len()
    }

    /// Bytes that it takes, and a run beside it: values, adjoints and edges.
    pub(super) fn bytes(&self, trace: &Trace) -> usize {
        let adjoints = if self.is_hessian() { trace.values.len() } else { 0 };
        let numbers = trace.values.len() + adjoints + self.places;
        4 * (self.words.len() + self.results.len()) + 8 * numbers
    }
}

/// Where derivatives flow.
struct Live {
    /// Records that depend on an input.
    active: Vec<bool>,
    /// Of these the ones that an output depends on.
    flows: Vec<bool>,
}

impl Live {
    fn new(trace: &Trace, wanted: Wanted<'_>) -> Self {
        let (Wanted::Hessian(outputs) | Wanted::Jacobian(outputs)) = wanted;
        let mut active = vec![false; trace.values.len()];
        active[..trace.inputs].fill(true);
        for i in trace.inputs..trace.records.len() {
            let record = trace.records[i];
            let mut depends = false;
            for_each_edge(record, |side| depends |= active[record.operand(side)]);
            active[i] = depends;
        }
        let mut flows = trace.reached((0..outputs.len()).filter(|&k| outputs[k]));
        flows.iter_mut().zip(&active).for_each(|(flows, active)| *flows &= active);
        Live { active, flows }
    }

    /// The records of a range that derivatives flow through, as ranges, the last one first.
    fn runs(&self, range: std::ops::Range<usize>) -> Vec<(u32, u32)> {
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for i in range.rev().filter(|&i| self.flows[i]) {
            match runs.last_mut() {
                Some(run) if run.0 as usize == i + 1 => run.0 = i as u32,
                _ => runs.push((i as u32, i as u32 + 1)),
            }
        }
        runs
    }
}

/// The symbolic phase under way.
struct Symbolic {
    edges: Edges,
    words: Vec<u32>,
}

impl Symbolic {
    /// The edges that the outputs begin with.
    fn begin(&mut self, trace: &Trace, wanted: Wanted<'_>, live: &Live) -> Vec<Seed> {
        let (Wanted::Hessian(outputs) | Wanted::Jacobian(outputs)) = wanted;
        let mut seeds = Vec::new();
        for output in (0..outputs.len()).filter(|&output| outputs[output]) {
            let Some(node) = trace.output_node(output).filter(|&node| live.active[node]) else { continue };
            let (node, output) = (node as u32, output as u32);
            let place = match wanted {
                Wanted::Hessian(_) => NONE,
                Wanted::Jacobian(_) => self.edges.between(node, OUTPUT | output),
            };
            seeds.push(Seed { output, node, place });
        }
        seeds
    }

    fn eliminate(&mut self, trace: &Trace, wanted: Wanted<'_>, live: &Live, i: usize) -> Result<(), TooMany> {
        let record = trace.records[i];
        let operands = Operands::of(record, &live.active).expect("a derivative flows to an operand");
        let bent = match wanted {
            Wanted::Hessian(_) => bends_in(record, operands),
            Wanted::Jacobian(_) => [false; 3],
        };
        let bends = bent.contains(&true);
        let own = self.edges.take(i as u32);
        if own.list.is_empty() && own.itself == NONE && !bends {
            self.edges.give_back(own);
            return Ok(());
        }
        let others = u32::try_from(own.list.len()).ok().filter(|&others| others < 1 << (32 - Words::OTHERS));
        let mut header = operands as u32 | others.ok_or(TooMany)? << Words::OTHERS;
        if own.itself != NONE {
            header |= Words::ITSELF;
        }
        if bends {
            header |= Words::BENDS;
        }
        self.words.extend([i as u32, header]);
        if own.itself != NONE {
            self.words.push(own.itself);
        }
        let (a, b) = match operands {
            Operands::OnlyB => (record.b() as u32, record.b() as u32),
            _ => (record.a() as u32, record.b() as u32),
        };
        if own.itself != NONE || bends {
            let all = own.itself != NONE;
            if operands == Operands::Both {
                // The branches of a selection are never there together.
                let mixed = all && record.op() != Op::Select;
                for (needed, j, k) in [(all || bent[0], a, a), (mixed || bent[1], a, b), (all || bent[2], b, b)] {
                    let place = if needed { self.edges.between(j, k) } else { NONE };
                    self.words.push(place);
                }
            } else {
                let place = self.edges.between(a, a);
                self.words.push(place);
            }
        }
        for &(other, place) in &own.list {
            let first = self.edges.between(a, other) | if a == other { TWICE } else { 0 };
            self.words.extend([place, first]);
            if operands == Operands::Both {
                let second = self.edges.between(b, other) | if b == other { TWICE } else { 0 };
                self.words.push(second);
            }
        }
        self.edges.give_back(own);
        Ok(())
    }
}

/// The edges that there are at a time, each with its later end.
struct Edges {
    /// The latest edge of every record; [`NONE`] if it has none. With [`HASHED`] set its edges are found by hash.
    first: Vec<u32>,
    list: Vec<Edge>,
    /// Edges of the list, and places, that are free.
    unused: Vec<u32>,
    free: Vec<u32>,
    places: u32,
    hashed: HashMap<u64, u32, BuildHasherDefault<FastHasher>>,
    /// The memory of [`Own::list`].
    memory: Vec<(u32, u32)>,
}

#[derive(Clone, Copy)]
struct Edge {
    other: u32,
    place: u32,
    next: u32,
}

/// The edges of one record.
struct Own {
    /// The place of that to itself, or [`NONE`].
    itself: u32,
    /// The other ends, and their places.
    list: Vec<(u32, u32)>,
}

/// So many edges of a record are looked through; those of records with more are hashed.
const SHORT: usize = 16;
const HASHED: u32 = 1 << 31;

impl Edges {
    fn new(records: usize) -> Self {
        Edges {
            first: vec![NONE; records],
            list: Vec::new(),
            unused: Vec::new(),
            free: Vec::new(),
            places: 0,
            hashed: HashMap::default(),
            memory: Vec::new(),
        }
    }

    /// The place of an edge, which is made if there is none.
    fn between(&mut self, j: u32, p: u32) -> u32 {
        let (later, other) = if p & OUTPUT == 0 && p > j { (p, j) } else { (j, p) };
        let first = self.first[later as usize];
        let hashed = first != NONE && first & HASHED != 0;
        if hashed {
            if let Some(&place) = self.hashed.get(&key(later, other)) {
                return place;
            }
        } else {
            let mut at = first;
            let mut seen = 0;
            while at != NONE {
                let edge = self.list[at as usize];
                if edge.other == other {
                    return edge.place;
                }
                at = edge.next;
                seen += 1;
            }
            if seen == SHORT {
                return self.hash_all(later, other);
            }
        }
        self.insert(later, other, hashed)
    }

    /// Has the edges of a record found by hash from now on, and makes another one.
    #[cold]
    fn hash_all(&mut self, later: u32, other: u32) -> u32 {
        let mut at = self.first[later as usize];
        while at != NONE {
            let edge = self.list[at as usize];
            self.hashed.insert(key(later, edge.other), edge.place);
            at = edge.next;
        }
        self.insert(later, other, true)
    }

    fn insert(&mut self, later: u32, other: u32, hashed: bool) -> u32 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places += 1;
            self.places - 1
        });
        let first = self.first[later as usize];
        let next = if first == NONE { NONE } else { first & !HASHED };
        let edge = Edge { other, place, next };
        let at = match self.unused.pop() {
            Some(at) => {
                self.list[at as usize] = edge;
                at
            }
            None => {
                self.list.push(edge);
                self.list.len() as u32 - 1
            }
        };
        if hashed {
            self.hashed.insert(key(later, other), place);
        }
        self.first[later as usize] = if hashed { at | HASHED } else { at };
        place
    }

    /// The edges of a record, which is left without any. Their places stay taken until they are given back.
    fn take(&mut self, i: u32) -> Own {
        let mut own = Own { itself: NONE, list: std::mem::take(&mut self.memory) };
        own.list.clear();
        let first = std::mem::replace(&mut self.first[i as usize], NONE);
        let hashed = first != NONE && first & HASHED != 0;
        let mut at = if first == NONE { NONE } else { first & !HASHED };
        while at != NONE {
            let Edge { other, place, next } = self.list[at as usize];
            if hashed {
                self.hashed.remove(&key(i, other));
            }
            if other == i {
                own.itself = place;
            } else {
                own.list.push((other, place));
            }
            self.unused.push(at);
            at = next;
        }
        own
    }

    fn give_back(&mut self, own: Own) {
        self.free.extend((own.itself != NONE).then_some(own.itself));
        self.free.extend(own.list.iter().map(|&(_, place)| place));
        self.memory = own.list;
    }

    /// What is left of a Hessian: the lower triangle, and the place of every entry.
    fn lower_triangle(&mut self, inputs: usize) -> (Pattern, Vec<u32>) {
        let mut starts = Vec::with_capacity(inputs + 1);
        let (mut columns, mut places) = (Vec::new(), Vec::new());
        starts.push(0);
        for row in 0..inputs {
            let mut own = self.take(row as u32);
            own.list.extend((own.itself != NONE).then_some((row as u32, own.itself)));
            own.list.sort_unstable();
            columns.extend(own.list.iter().map(|&(column, _)| column));
            places.extend(own.list.iter().map(|&(_, place)| place));
            starts.push(columns.len());
            self.memory = own.list;
        }
        let pattern = Pattern::from_rows(inputs, starts, columns);
        (pattern.expect("columns are sorted, and records fewer than 2^28"), places)
    }

    /// What is left of a Jacobian: its rows, and the place of every entry.
    fn rows(&mut self, inputs: usize, outputs: usize) -> (Pattern, Vec<u32>) {
        let mut by_input: Vec<Vec<(u32, u32)>> = Vec::with_capacity(inputs);
        let mut starts = vec![0usize; outputs + 1];
        for input in 0..inputs {
            let own = self.take(input as u32);
            for (output, _) in &own.list {
                starts[(output & !OUTPUT) as usize + 1] += 1;
            }
            by_input.push(own.list);
        }
        for output in 0..outputs {
            starts[output + 1] += starts[output];
        }
        let mut next = starts.clone();
        let count = *starts.last().unwrap_or(&0);
        let (mut columns, mut places) = (vec![0; count], vec![0; count]);
        for (input, own) in by_input.iter().enumerate() {
            for &(output, place) in own {
                let at = &mut next[(output & !OUTPUT) as usize];
                columns[*at] = input as u32;
                places[*at] = place;
                *at += 1;
            }
        }
        let pattern = Pattern::from_rows(inputs, starts, columns);
        (pattern.expect("columns come in order, and records are fewer than 2^28"), places)
    }
}

/// All entries of a symmetric matrix, given the lower triangle and the place of each of its entries.
fn mirrored(lower: &Pattern, results: &[u32]) -> (Pattern, Vec<u32>) {
    let size = lower.rows();
    let mut starts = vec![0; size + 1];
    for (row, col) in lower.entries() {
        starts[row + 1] += 1;
        if row != col {
            starts[col + 1] += 1;
        }
    }
    for row in 0..size {
        starts[row + 1] += starts[row];
    }
    let mut next = starts.clone();
    let count = starts[size];
    let (mut columns, mut places) = (vec![0; count], vec![0; count]);
    let mut put = |row: usize, col: usize, place: u32| {
        columns[next[row]] = col as u32;
        places[next[row]] = place;
        next[row] += 1;
    };
    // A row has its own entries before those that it gets from later rows.
    for ((row, col), &place) in lower.entries().zip(results) {
        put(row, col, place);
        if row != col {
            put(col, row, place);
        }
    }
    let pattern = Pattern::from_rows(size, starts, columns).expect("columns come in order");
    (pattern, places)
}

fn key(later: u32, other: u32) -> u64 {
    u64::from(later) << 32 | u64::from(other)
}
