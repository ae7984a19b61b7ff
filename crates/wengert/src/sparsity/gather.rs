//! [`Gathering`]: from the parts that a Program computes to the entries of a matrix.

use std::ops::Range;

use wengert_kernels::parallel::for_chunks;

use super::Pattern;
use crate::array::Data;
use crate::threads;
use crate::transform::{CompressedPart, CompressedProgram, Side};

/// How many entries a thread writes at a time.
const GRAIN: usize = 1 << 15;

/// Where the entries of a matrix stand in the results of a Program; some are the sum of several places.
#[derive(Clone, Debug)]
pub(super) struct Gathering {
    packing: Packing,
    /// The entries that are written; all, in order, if there is no list.
    entries: Option<Vec<u32>>,
    /// A source of each of these.
    sources: Sources,
    /// Further sources, with their entries, in the order of these.
    more: Vec<(u32, u32)>,
}

/// The fewest entries of a run, on average: below, they are cheaper to keep one by one.
const LEAST_RUN: usize = 64;

/// The sources of entries that follow each other.
#[derive(Clone, Debug)]
enum Sources {
    Apart(Vec<u32>),
    /// The first entry of each run and its source; the next source is that of the next entry.
    Runs(Vec<(u32, u32)>, usize),
}

/// A result and a place in it as one number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packing {
    /// How many bits the place has.
    bits: u32,
    results: usize,
}

/// The colours of one run, and the sources of the entries in the matrix `[colour][row]` (or `[colour][column]`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Coloured<'a> {
    pub(super) sources: &'a [u32],
    pub(super) first: usize,
    pub(super) count: usize,
    /// Whether all entries are written, those without a source as 0: what is computed first.
    pub(super) whole: bool,
}

impl Packing {
    /// For results of these sizes, and one more with a single 0.
    pub(super) fn new(sizes: &[usize]) -> Result<Self, String> {
        let results = sizes.len();
        let longest = sizes.iter().copied().max().unwrap_or(1).max(1);
        let bits = usize::BITS - (longest - 1).leading_zeros();
        match bits < 32 && results < 1 << (32 - bits) {
            true => Ok(Packing { bits, results }),
            false => Err(format!("{results} parts of {longest} numbers are more than 2^32 numbers: allow less memory")),
        }
    }

    pub(super) fn pack(self, result: usize, place: usize) -> u32 {
        (result << self.bits | place) as u32
    }

    /// The source of what nothing computes.
    fn nothing(self) -> u32 {
        self.pack(self.results, 0)
    }

    fn unpack(self, source: u32) -> (usize, usize) {
        let source = source as usize;
        (source >> self.bits, source & ((1 << self.bits) - 1))
    }
}

impl Sources {
    fn new(packing: Packing, sources: Vec<u32>) -> Self {
        // The next number may be the first place of the next result.
        let follows = |k: usize| sources[k] == sources[k - 1].wrapping_add(1) && packing.unpack(sources[k]).1 > 0;
        let begins = |k: &usize| *k == 0 || !follows(*k);
        let runs = (0..sources.len()).filter(begins);
        if runs.clone().count() * LEAST_RUN > sources.len() {
            return Sources::Apart(sources);
        }
        Sources::Runs(runs.map(|k| (k as u32, sources[k])).collect(), sources.len())
    }

    /// Calls `visit` with the sources of these entries: the first entry of some that follow each other, its source, and how
    /// many they are.
    fn visit(&self, entries: Range<usize>, mut visit: impl FnMut(usize, u32, usize)) {
        match self {
            Sources::Apart(sources) => {
                for (&source, entry) in sources[entries.clone()].iter().zip(entries) {
                    visit(entry, source, 1);
                }
            }
            Sources::Runs(runs, count) => {
                let first = runs.partition_point(|&(begin, _)| begin as usize <= entries.start).saturating_sub(1);
                for (k, &(begin, source)) in runs.iter().enumerate().skip(first) {
                    let end = runs.get(k + 1).map_or(*count, |&(next, _)| next as usize);
                    let [from, to] = [entries.start.max(begin as usize), entries.end.min(end)];
                    if from >= to {
                        break;
                    }
                    visit(from, source + (from - begin as usize) as u32, to - from);
                }
            }
        }
    }

    /// How many there are.
    fn len(&self) -> usize {
        match self {
            Sources::Apart(sources) => sources.len(),
            Sources::Runs(_, count) => *count,
        }
    }
}

impl Gathering {
    /// The places of all entries, in order, and further ones.
    pub(super) fn whole(packing: Packing, sources: Vec<u32>, more: Vec<(u32, u32)>) -> Self {
        Gathering { packing, entries: None, sources: Sources::new(packing, sources), more }
    }

    /// Where the entries of a pattern stand in parts of these products; entries that a layer has and the pattern lacks are
    /// given to `missed`.
    ///
    /// # Errors
    /// If there are more numbers than can be counted in 32 bits.
    pub(super) fn of_parts(
        pattern: &Pattern,
        side: Side,
        made: &CompressedProgram,
        coloured: Option<Coloured<'_>>,
        mut missed: impl FnMut(usize, usize),
    ) -> Result<Self, String> {
        let parts = &made.parts;
        let packing = Packing::new(&made.lengths())?;
        let mut first = vec![packing.nothing(); pattern.nnz()];
        let mut more = Vec::new();
        // Layers belong to the first run.
        let first_run = coloured.is_none_or(|coloured| coloured.first == 0);
        for part in parts {
            let Some(layer) = &part.layer else { continue };
            layer.for_each(|number, seed| {
                let (row, col) = entry(side, part.first + number, seed);
                let source = packing.pack(part.result, part.place(number));
                match find(pattern, row, col) {
                    None => missed(row, col),
                    Some(_) if !first_run => {}
                    Some(entry) if first[entry] == packing.nothing() => first[entry] = source,
                    Some(entry) => more.push((entry as u32, source)),
                }
            });
        }
        // Those of one entry stay in their order: sums have one.
        more.sort_by_key(|&(entry, _)| entry);
        if let Some(coloured) = coloured {
            colours(pattern, side, parts, coloured, packing, (&mut first, &mut more));
            more.sort_by_key(|&(entry, _)| entry);
        }
        let whole = coloured.is_none_or(|coloured| coloured.whole);
        let has = |source: &u32| *source != packing.nothing();
        if whole {
            return Ok(Self::whole(packing, first, more));
        }
        let entries = (0..first.len()).filter(|&entry| has(&first[entry])).map(|entry| entry as u32).collect();
        first.retain(has);
        Ok(Gathering { packing, entries: Some(entries), sources: Sources::Apart(first), more })
    }

    /// Sources as places in all results one after the other, behind which stands a single 0, and the further sources with their
    /// entries. All entries have one.
    pub(super) fn flat(&self, lengths: &[usize]) -> (Vec<i64>, Vec<(i64, i64)>) {
        let begins: Vec<usize> =
            lengths.iter().chain(&[1]).scan(0, |next, length| Some(std::mem::replace(next, *next + length))).collect();
        let flat = |source: u32| {
            let (part, place) = self.packing.unpack(source);
            (begins[part] + place) as i64
        };
        let more = self.more.iter().map(|&(entry, source)| (entry as i64, flat(source)));
        let mut sources = Vec::with_capacity(self.sources.len());
        self.sources.visit(0..self.sources.len(), |_, source, count| {
            sources.extend((flat(source)..).take(count));
        });
        (sources, more.collect())
    }

    /// Writes the entries. Those of a run that is not the first are written where it has some.
    pub(super) fn apply(&self, parts: &[&Data], values: &mut [f64]) {
        let all: Option<Vec<&[f64]>> = parts.iter().map(|part| f64s(part)).collect();
        if let (Some(mut all), None) = (all, &self.entries) {
            all.push(&[0.0]);
            let number = |source: u32| {
                let (part, place) = self.packing.unpack(source);
                all[part][place]
            };
            for_chunks(&threads::current(), values, GRAIN, |chunk, values| {
                let first = chunk * GRAIN;
                if let Sources::Apart(sources) = &self.sources {
                    for (value, &source) in values.iter_mut().zip(&sources[first..]) {
                        *value = number(source);
                    }
                } else {
                    self.sources.visit(first..first + values.len(), |entry, source, count| {
                        let (part, place) = self.packing.unpack(source);
                        values[entry - first..][..count].copy_from_slice(&all[part][place..][..count]);
                    });
                }
                let begin = self.more.partition_point(|&(entry, _)| (entry as usize) < first);
                for &(entry, source) in &self.more[begin..] {
                    let Some(value) = values.get_mut(entry as usize - first) else { break };
                    *value += number(source);
                }
            });
            return;
        }
        self.sources.visit(0..self.sources.len(), |k, source, count| {
            for step in 0..count {
                let entry = self.entries.as_ref().map_or(k + step, |entries| entries[k + step] as usize);
                values[entry] = self.number(parts, source + step as u32);
            }
        });
        for &(entry, source) in &self.more {
            values[entry as usize] += self.number(parts, source);
        }
    }

    fn number(&self, parts: &[&Data], source: u32) -> f64 {
        let (part, place) = self.packing.unpack(source);
        match parts.get(part) {
            Some(Data::F64(elements)) => elements[place],
            Some(Data::F32(elements)) => f64::from(elements[place]),
            Some(Data::I64(_) | Data::Bool(_)) => unreachable!("derivatives are real"),
            None => 0.0,
        }
    }
}

/// The row and column of an entry, where lines are rows for products with columns, and columns for products with rows.
fn entry(side: Side, line: usize, seed: usize) -> (usize, usize) {
    match side {
        Side::Columns => (line, seed),
        Side::Rows => (seed, line),
    }
}

fn find(pattern: &Pattern, row: usize, col: usize) -> Option<usize> {
    let place = pattern.row(row).binary_search(&u32::try_from(col).ok()?).ok()?;
    Some(pattern.starts()[row] + place)
}

/// Sources in products with coloured seeds, of the entries that have none.
fn colours(
    pattern: &Pattern,
    side: Side,
    parts: &[CompressedPart],
    coloured: Coloured<'_>,
    packing: Packing,
    (first, more): (&mut [u32], &mut Vec<(u32, u32)>),
) {
    let lines = match side {
        Side::Columns => pattern.rows(),
        Side::Rows => pattern.cols(),
    };
    // Those of layers, in the order of their entries.
    let known = more.len();
    let mut part_of = vec![usize::MAX; lines];
    // Of several layers any one will do: each has the whole line.
    for (k, part) in parts.iter().enumerate() {
        part_of[part.first..part.first + part.size].fill(k);
    }
    for (number, (row, col)) in pattern.entries().enumerate() {
        let source = coloured.sources[number];
        if source == u32::MAX || first[number] != packing.nothing() {
            continue;
        }
        let (colour, line) = (source as usize / lines, source as usize % lines);
        let Some(part) = parts.get(part_of[line]) else { continue };
        if part.layer.is_none() {
            if let Some(colour) = colour.checked_sub(coloured.first).filter(|&colour| colour < coloured.count) {
                let place = colour * part.size + line - part.first;
                first[number] = packing.pack(part.result, place);
            }
            continue;
        }
        // A layer has the whole line: what it lacks is 0. The entry of a symmetric matrix may be read where its mirror image
        // stands.
        let is_own = line == if side == Side::Columns { row } else { col };
        if let Some(mirror) = if is_own { None } else { find(pattern, col, row) } {
            first[number] = first[mirror];
            let begin = more[..known].partition_point(|&(entry, _)| (entry as usize) < mirror);
            let its = more[begin..known].iter().take_while(|&&(entry, _)| entry as usize == mirror);
            let its: Vec<(u32, u32)> = its.map(|&(_, source)| (number as u32, source)).collect();
            more.extend(its);
        }
    }
}

fn f64s(data: &Data) -> Option<&[f64]> {
    if let Data::F64(elements) = data { Some(elements) } else { None }
}

#[cfg(test)]
mod tests;
