//! The pattern of a matrix all of whose parts are layers, and where its entries stand.
//!
//! A matrix of a million rows has some millions of entries, and what finds them is bound by memory: rows are taken some at a
//! time, the seeds of all layers for these are written side by side, and each row is put in order where it will stay. Nothing
//! as large as the matrix is made beside the pattern and the places.

use std::ops::Range;

use wengert_kernels::arena::zeros;
use wengert_kernels::parallel::for_chunks;

use super::Pattern;
use super::gather::{Gathering, Packing};
use crate::threads;
use crate::transform::{CompressedPart, CompressedProgram, NO_SEED, SeedTable};

/// How many rows a thread takes at a time: the seeds of a few layers stay in its cache.
const ROWS: usize = 1 << 12;

/// The layers of one output, or of one input.
struct Stack<'a> {
    first: usize,
    size: usize,
    layers: Vec<Layer<'a>>,
}

struct Layer<'a> {
    of: &'a CompressedPart,
    seeds: &'a SeedTable,
}

/// Some rows of one stack, and where their entries go.
struct Block<'a> {
    /// The number of its stack, and which of its numbers.
    stack: usize,
    numbers: Range<usize>,
    /// Room for an entry of every layer, and for where each row ends in it.
    columns: &'a mut [u32],
    sources: &'a mut [u32],
    ends: &'a mut [usize],
    /// Further sources of entries that have one already.
    more: Vec<(u32, u32)>,
}

impl Gathering {
    /// The pattern of a matrix all of whose parts are layers, and where its entries stand.
    ///
    /// # Errors
    /// If there are more numbers than can be counted in 32 bits.
    pub(super) fn of_layers(rows: usize, cols: usize, made: &CompressedProgram) -> Result<(Pattern, Self), String> {
        let packing = Packing::new(&made.lengths())?;
        let stacks = stacks(&made.parts);
        let mut counts = blocks(&stacks);
        let pool = threads::current();
        for_chunks(&pool, &mut counts, 1, |_, block| {
            let (stack, numbers, count) = &mut block[0];
            *count = seeds(&stacks[*stack], numbers.clone()).into_iter().filter(|&seed| seed != NO_SEED).count();
        });
        let room = counts.iter().map(|(.., count)| count).sum();
        if u32::try_from(room).is_err() {
            return Err(format!("there are {room} entries, and there may be fewer than 2^32"));
        }
        let found = zeros::<u32>(room).zip(zeros::<u32>(room)).zip(zeros::<usize>(rows + 1));
        let why = || format!("there is no memory for {room} entries in {rows} rows");
        let ((mut columns, mut sources), mut ends) = found.ok_or_else(why)?;
        let mut all = divided(&stacks, &counts, (&mut columns, &mut sources, &mut ends));
        for_chunks(&pool, &mut all, 1, |_, block| block[0].fill(&stacks, packing));
        let more: Vec<Vec<(u32, u32)>> = all.into_iter().map(|block| block.more).collect();
        let more = joined(&stacks, &counts, more, (&mut columns, &mut sources, &mut ends));
        let pattern = Pattern::from_rows(cols, ends, columns).map_err(|why| why.to_string())?;
        Ok((pattern, Gathering::whole(packing, sources, more)))
    }
}

/// The layers of the same rows together.
fn stacks(parts: &[CompressedPart]) -> Vec<Stack<'_>> {
    let mut stacks: Vec<Stack<'_>> = Vec::new();
    for part in parts {
        let layer = Layer { of: part, seeds: part.layer.as_ref().expect("every part is a layer") };
        match stacks.last_mut() {
            Some(stack) if (stack.first, stack.size) == (part.first, part.size) => stack.layers.push(layer),
            _ => stacks.push(Stack { first: part.first, size: part.size, layers: vec![layer] }),
        }
    }
    stacks.sort_by_key(|stack| stack.first);
    stacks
}

/// Blocks of rows: the number of the stack, which of its numbers, and 0.
fn blocks(stacks: &[Stack<'_>]) -> Vec<(usize, Range<usize>, usize)> {
    let of_one = |(k, stack): (usize, &Stack<'_>)| {
        let size = stack.size;
        (0..size).step_by(ROWS).map(move |first| (k, first..size.min(first + ROWS), 0)).collect::<Vec<_>>()
    };
    stacks.iter().enumerate().flat_map(of_one).collect()
}

/// The seeds of some numbers of all layers, one layer after the other.
fn seeds(stack: &Stack<'_>, numbers: Range<usize>) -> Vec<u32> {
    let mut seeds = vec![NO_SEED; stack.layers.len() * numbers.len()];
    for (layer, seeds) in stack.layers.iter().zip(seeds.chunks_exact_mut(numbers.len().max(1))) {
        layer.seeds.seeds(numbers.clone(), seeds);
    }
    seeds
}

/// The blocks with their room. `ends` begins with that of no row.
fn divided<'a>(
    stacks: &[Stack<'_>],
    counts: &[(usize, Range<usize>, usize)],
    (mut columns, mut sources, ends): (&'a mut [u32], &'a mut [u32], &'a mut [usize]),
) -> Vec<Block<'a>> {
    let (mut row, mut ends) = (0, &mut ends[1..]);
    let mut all = Vec::with_capacity(counts.len());
    for (stack, numbers, count) in counts {
        let first = stacks[*stack].first + numbers.start;
        let (own_columns, own_sources, own_ends);
        (own_columns, columns) = columns.split_at_mut(*count);
        (own_sources, sources) = sources.split_at_mut(*count);
        // Rows of no part are empty.
        (own_ends, ends) = ends[first - row..].split_at_mut(numbers.len());
        row = first + numbers.len();
        let (numbers, more) = (numbers.clone(), Vec::new());
        all.push(Block { stack: *stack, numbers, columns: own_columns, sources: own_sources, ends: own_ends, more });
    }
    all
}

impl Block<'_> {
    /// Writes the entries of all rows, those of a row in the order of their columns.
    fn fill(&mut self, stacks: &[Stack<'_>], packing: Packing) {
        let stack = &stacks[self.stack];
        let (seeds, length) = (seeds(stack, self.numbers.clone()), self.numbers.len());
        // The order of the layers by their seeds is mostly that of the row before.
        let mut order: Vec<usize> = (0..stack.layers.len()).collect();
        let mut end = 0;
        for number in 0..length {
            let seed = |layer: usize| seeds[layer * length + number];
            end = match self.row(stack, packing, number, (&order, &seed, end)) {
                Some(end) => end,
                None => {
                    order.sort_unstable_by_key(|&layer| (seed(layer), layer));
                    self.row(stack, packing, number, (&order, &seed, end)).expect("the layers are in order now")
                }
            };
            self.ends[number] = end;
        }
    }

    /// Writes the entries of one row from a place on, and gives where they end; `None` if the layers were not in order.
    #[inline(always)]
    fn row(
        &mut self,
        stack: &Stack<'_>,
        packing: Packing,
        number: usize,
        (order, seed, begin): (&[usize], &impl Fn(usize) -> u32, usize),
    ) -> Option<usize> {
        let further = self.more.len();
        let (mut end, mut before) = (begin, 0);
        for &layer in order {
            let (column, of) = (seed(layer), stack.layers[layer].of);
            if column == NO_SEED {
                continue;
            }
            let source = packing.pack(of.result, of.place(self.numbers.start + number));
            match self.columns[begin..end].last() {
                // Of equal ones the first layer comes first: sums of several places have one order.
                Some(&last) if last > column || (last == column && before > layer) => {
                    self.more.truncate(further);
                    return None;
                }
                Some(&last) if last == column => self.more.push((end as u32 - 1, source)),
                _ => {
                    (self.columns[end], self.sources[end]) = (column, source);
                    end += 1;
                }
            }
            before = layer;
        }
        Some(end)
    }
}

/// Closes the gaps that are left where two layers had the same seed, and counts from the first entry of all. What comes back are
/// the further sources with their entries.
fn joined(
    stacks: &[Stack<'_>],
    counts: &[(usize, Range<usize>, usize)],
    more: Vec<Vec<(u32, u32)>>,
    (columns, sources, ends): (&mut Vec<u32>, &mut Vec<u32>, &mut [usize]),
) -> Vec<(u32, u32)> {
    let (mut row, mut begin, mut written) = (0, 0, 0);
    let mut all = Vec::new();
    for ((stack, numbers, count), more) in counts.iter().zip(more) {
        let first = stacks[*stack].first + numbers.start;
        ends[row + 1..=first].fill(written);
        row = first + numbers.len();
        let own = ends[row];
        if begin != written {
            columns.copy_within(begin..begin + own, written);
            sources.copy_within(begin..begin + own, written);
        }
        if written > 0 {
            ends[first + 1..=row].iter_mut().for_each(|end| *end += written);
        }
        all.extend(more.into_iter().map(|(entry, source)| (entry + written as u32, source)));
        begin += count;
        written += own;
    }
    ends[row + 1..].fill(written);
    columns.truncate(written);
    sources.truncate(written);
    all
}
