//! [`SeedTable`]: the seed of each number of a value, through everything that moves numbers.

use std::hash::Hasher;
use std::ops::Range;

use crate::array::{Array, Type, for_each_index, row_major};
use crate::hash::FastHasher;
use crate::primitives::{Op, Pad, Slice};

/// What stands in the place of a seed where there is none.
pub(crate) const NO_SEED: u32 = u32::MAX;

/// For each number of a value, in row-major order, the seed that it depends on, or none.
#[derive(Clone, Debug)]
pub(crate) struct SeedTable {
    shape: Vec<usize>,
    form: Form,
}

#[derive(Clone, Debug)]
enum Form {
    /// Inside a box of indices `first + Σ strides[axis] i[axis]`, outside of it none. Axes along which the box is one wide
    /// have stride 0, so that equal tables are equal in form.
    Affine { first: i64, strides: Vec<i64>, within: Vec<Range<usize>> },
    /// One by one, the seed and 1, or 0 where there is none: what fills and pads with zeros then fills with none.
    Listed { seeds: Array, hash: u64 },
}

impl SeedTable {
    /// One seed after the other.
    pub(super) fn in_order(first: usize, shape: &[usize]) -> Self {
        let strides = row_major(shape).into_iter().map(|stride| stride as i64).collect();
        let within = shape.iter().map(|&length| 0..length).collect();
        Self::affine(shape.to_vec(), first as i64, strides, within)
    }

    fn affine(shape: Vec<usize>, mut first: i64, mut strides: Vec<i64>, mut within: Vec<Range<usize>>) -> Self {
        if within.iter().any(Range::is_empty) {
            first = 0;
            strides.fill(0);
            within.fill(0..0);
        }
        for (stride, range) in strides.iter_mut().zip(&within) {
            if range.len() == 1 {
                first += *stride * range.start as i64;
                *stride = 0;
            }
        }
        SeedTable { shape, form: Form::Affine { first, strides, within } }
    }

    fn listed(seeds: Array) -> Self {
        let mut hasher = FastHasher::default();
        seeds.known::<i64>().iter().for_each(|&seed| hasher.write_u64(seed.cast_unsigned()));
        SeedTable { shape: seeds.shape().to_vec(), form: Form::Listed { seeds, hash: hasher.finish() } }
    }

    /// Whether no number has a seed.
    pub(super) fn is_empty(&self) -> bool {
        match &self.form {
            Form::Affine { within, .. } => within.iter().any(Range::is_empty),
            Form::Listed { seeds, .. } => seeds.known::<i64>().iter().all(|&seed| seed == 0),
        }
    }

    /// The seed of the first number that has one.
    pub(super) fn first_seed(&self) -> Option<usize> {
        match &self.form {
            Form::Listed { seeds, .. } => {
                seeds.known::<i64>().iter().find(|&&seed| seed > 0).map(|&seed| seed as usize - 1)
            }
            Form::Affine { first, strides, within } => {
                let begin = strides.iter().zip(within).map(|(stride, range)| stride * range.start as i64).sum::<i64>();
                (!self.is_empty()).then_some((first + begin) as usize)
            }
        }
    }

    /// Calls `visit` with every number that has a seed, in row-major order, and its seed.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(usize, usize)) {
        match &self.form {
            Form::Listed { seeds, .. } => {
                let listed = seeds.known::<i64>().iter().enumerate().filter(|(_, seed)| **seed > 0);
                listed.for_each(|(number, &seed)| visit(number, seed as usize - 1));
            }
            Form::Affine { first, strides, within } => {
                if within.iter().any(Range::is_empty) {
                    return;
                }
                let Some((row, outer)) = within.split_last() else { return visit(0, *first as usize) };
                let places = row_major(&self.shape);
                let outer_shape: Vec<usize> = outer.iter().map(Range::len).collect();
                let last = *strides.last().expect("there is an axis");
                for_each_index(&outer_shape, |index| {
                    let (mut number, mut seed) = (row.start, first + last * row.start as i64);
                    for (axis, &i) in index.iter().enumerate() {
                        number += places[axis] * (i + outer[axis].start);
                        seed += strides[axis] * (i + outer[axis].start) as i64;
                    }
                    for step in 0..row.len() {
                        visit(number + step, (seed + last * step as i64) as usize);
                    }
                });
            }
        }
    }

    /// Writes the seeds of some numbers, or [`NO_SEED`]. There are fewer than 2^32 - 1 seeds.
    pub(crate) fn seeds(&self, numbers: Range<usize>, seeds: &mut [u32]) {
        let (first, strides, within) = match &self.form {
            Form::Listed { seeds: listed, .. } => {
                let listed = &listed.known::<i64>()[numbers];
                // One less than 0 is what stands for none.
                return seeds
                    .iter_mut()
                    .zip(listed)
                    .for_each(|(seed, &listed)| *seed = (listed as u32).wrapping_sub(1));
            }
            Form::Affine { first, strides, within } => (*first, strides, within),
        };
        seeds.fill(NO_SEED);
        if numbers.is_empty() || within.iter().any(Range::is_empty) {
            return;
        }
        let Some((row, outer)) = within.split_last() else { return seeds[0] = first as u32 };
        let length = *self.shape.last().expect("there is an axis");
        let last = *strides.last().expect("there is an axis");
        let mut line = numbers.start / length;
        let mut index = unravelled(line, &self.shape[..outer.len()]);
        while line * length < numbers.end {
            if outer.iter().zip(&index).all(|(range, i)| range.contains(i)) {
                let begin = first + strides.iter().zip(&index).map(|(stride, &i)| stride * i as i64).sum::<i64>();
                let from = row.start.max(numbers.start.saturating_sub(line * length));
                let to = row.end.min(numbers.end - line * length);
                for i in from..to {
                    seeds[line * length + i - numbers.start] = (begin + last * i as i64) as u32;
                }
            }
            line += 1;
            for (i, &length) in index.iter_mut().zip(&self.shape).rev() {
                *i += 1;
                if *i < length {
                    break;
                }
                *i = 0;
            }
        }
    }

    /// The numbers one by one: the seed and 1, or 0.
    fn list(&self) -> Array {
        match &self.form {
            Form::Listed { seeds, .. } => seeds.clone(),
            Form::Affine { .. } => {
                let mut seeds = vec![0i64; self.shape.iter().product()];
                self.for_each(|number, seed| seeds[number] = seed as i64 + 1);
                Array::new(&self.shape, seeds)
            }
        }
    }

    /// The same table in the form that lists, in which all can be compared.
    pub(super) fn as_listed(&self) -> Self {
        match self.form {
            Form::Listed { .. } => self.clone(),
            Form::Affine { .. } => Self::listed(self.list()),
        }
    }

    /// Whether it is in the form that lists.
    pub(super) fn is_listed(&self) -> bool {
        matches!(self.form, Form::Listed { .. })
    }

    /// Whether every number along this axis has the same seed as the others.
    pub(super) fn repeats_along(&self, axis: usize) -> bool {
        match &self.form {
            Form::Affine { strides, within, .. } => {
                strides[axis] == 0 && (within[axis] == (0..self.shape[axis]) || self.is_empty())
            }
            Form::Listed { .. } => false,
        }
    }

    /// The table of what an operation that only moves numbers gives, where this is that of its first operand; the others
    /// are `others`. `None` if it cannot move indices.
    pub(super) fn moved(&self, op: &Op, others: &[&Array], result: &Type) -> Option<Self> {
        let affine = match (&self.form, op) {
            (Form::Affine { first, strides, within }, Op::Slice(slice)) => {
                self.sliced(*first, strides, within, slice, result)
            }
            (Form::Affine { first, strides, within }, Op::Pad(pad)) => {
                self.padded(*first, strides, within, pad, result)
            }
            (Form::Affine { first, strides, within }, Op::Permute(permute)) => {
                let strides = permute.order.iter().map(|&axis| strides[axis]).collect();
                let within = permute.order.iter().map(|&axis| within[axis].clone()).collect();
                Some(Self::affine(result.shape.clone(), *first, strides, within))
            }
            (Form::Affine { first, strides, within }, Op::Broadcast(broadcast)) => {
                let mut spread = vec![0; result.rank()];
                let mut wider: Vec<Range<usize>> = result.shape.iter().map(|&length| 0..length).collect();
                for (own, &axis) in broadcast.axes.iter().enumerate() {
                    spread[axis] = strides[own];
                    wider[axis] = within[own].clone();
                }
                Some(Self::affine(result.shape.clone(), *first, spread, wider))
            }
            (Form::Affine { first, strides, within }, Op::Reverse(reverse)) => {
                let (mut first, mut strides, mut within) = (*first, strides.clone(), within.clone());
                for &axis in &reverse.axes {
                    let length = self.shape[axis];
                    first += strides[axis] * (length as i64 - 1);
                    strides[axis] = -strides[axis];
                    within[axis] = length - within[axis].end..length - within[axis].start;
                }
                Some(Self::affine(result.shape.clone(), first, strides, within))
            }
            (Form::Affine { first, strides, within }, Op::Reshape(_)) => self.reshaped(*first, strides, within, result),
            _ => None,
        };
        affine.or_else(|| {
            let seeds = self.list();
            let args: Vec<&Array> = std::iter::once(&seeds).chain(others.iter().copied()).collect();
            Some(Self::listed(op.primitive().eval(&args).ok()?.swap_remove(0)))
        })
    }

    fn sliced(
        &self,
        first: i64,
        strides: &[i64],
        within: &[Range<usize>],
        slice: &Slice,
        result: &Type,
    ) -> Option<Self> {
        let offsets = strides.iter().zip(&slice.start).map(|(stride, &start)| stride * start as i64);
        let first = first + offsets.sum::<i64>();
        let mut ranges = Vec::with_capacity(within.len());
        for (axis, range) in within.iter().enumerate() {
            let (start, step) = (slice.start[axis], slice.stride[axis]);
            // The first index that is at least this one.
            let index = |bound: usize| bound.saturating_sub(start).div_ceil(step).min(result.shape[axis]);
            ranges.push(index(range.start)..index(range.end));
        }
        let strides = strides.iter().zip(&slice.stride).map(|(stride, &step)| stride * step as i64).collect();
        Some(Self::affine(result.shape.clone(), first, strides, ranges))
    }

    fn padded(&self, first: i64, strides: &[i64], within: &[Range<usize>], pad: &Pad, result: &Type) -> Option<Self> {
        if pad.interior.iter().any(|&interior| interior != 0) {
            return None;
        }
        let first = first - strides.iter().zip(&pad.low).map(|(stride, low)| stride * low).sum::<i64>();
        let moved = |bound: usize, axis: usize| {
            let length = result.shape[axis] as i64;
            (bound as i64 + pad.low[axis]).clamp(0, length) as usize
        };
        let within = within.iter().enumerate().map(|(axis, range)| moved(range.start, axis)..moved(range.end, axis));
        Some(Self::affine(result.shape.clone(), first, strides.to_vec(), within.collect()))
    }

    /// In another shape, if the same strides can say it.
    fn reshaped(&self, first: i64, strides: &[i64], within: &[Range<usize>], result: &Type) -> Option<Self> {
        let long = |shape: &[usize]| (0..shape.len()).filter(|&axis| shape[axis] != 1).collect::<Vec<usize>>();
        let (own, new) = (long(&self.shape), long(&result.shape));
        let mut to = (vec![0; result.rank()], vec![0..1; result.rank()]);
        if own.iter().map(|&axis| self.shape[axis]).eq(new.iter().map(|&axis| result.shape[axis])) {
            // Axes of length 1 alone come or go; one without a seed makes the table empty.
            for (&from, &axis) in own.iter().zip(&new) {
                to.0[axis] = strides[from];
                to.1[axis] = within[from].clone();
            }
            let empty = within.iter().any(Range::is_empty);
            let within = if empty { vec![0..0; result.rank()] } else { to.1 };
            return (!empty || result.rank() > 0).then(|| Self::affine(result.shape.clone(), first, to.0, within));
        }
        if within.iter().zip(&self.shape).any(|(range, &length)| *range != (0..length)) {
            return None;
        }
        // Runs of axes whose numbers follow each other, innermost first: length and stride.
        let mut runs: Vec<(usize, i64)> = Vec::new();
        for &axis in own.iter().rev() {
            match runs.last_mut() {
                Some((length, stride)) if strides[axis] == *stride * *length as i64 => *length *= self.shape[axis],
                _ => runs.push((self.shape[axis], strides[axis])),
            }
        }
        let mut runs = runs.into_iter();
        let (mut left, mut stride) = (1, 0);
        for &axis in new.iter().rev() {
            let length = result.shape[axis];
            if left == 1 {
                (left, stride) = runs.next()?;
            }
            if length == 0 || left % length != 0 {
                return None;
            }
            to.0[axis] = stride;
            to.1[axis] = 0..length;
            (left, stride) = (left / length, stride * length as i64);
        }
        (left == 1 && runs.next().is_none()).then(|| Self::affine(result.shape.clone(), first, to.0, to.1))
    }

    /// The table of several values of one operation that moves all of them, such as one after the other.
    pub(super) fn joined(op: &Op, parts: &[Option<&SeedTable>], types: &[&Type]) -> Option<Self> {
        let list = |part: &Option<&SeedTable>, ty: &&Type| match part {
            Some(table) => table.list(),
            None => Array::new(&ty.shape, vec![0i64; ty.size()]),
        };
        let lists: Vec<Array> = parts.iter().zip(types).map(|(part, ty)| list(part, ty)).collect();
        let lists: Vec<&Array> = lists.iter().collect();
        Some(Self::listed(op.primitive().eval(&lists).ok()?.swap_remove(0)))
    }

    /// The table of values of length 1 along an axis one after the other, if their seeds go on evenly.
    pub(super) fn evenly(axis: usize, parts: &[Option<&SeedTable>]) -> Option<Self> {
        let boxes = parts.iter().map(|part| match part {
            Some(SeedTable { form: Form::Affine { first, strides, within }, .. }) => Some((first, strides, within)),
            _ => None,
        });
        let boxes = boxes.collect::<Option<Vec<_>>>()?;
        let [(first, strides, within), (second, ..), ..] = boxes[..] else { return None };
        let step = second - first;
        for (begin, (its, its_strides, its_within)) in boxes.iter().enumerate().map(|(k, its)| (step * k as i64, its)) {
            if **its != first + begin || *its_strides != strides || *its_within != within {
                return None;
            }
        }
        if within[axis] != (0..1) {
            return None;
        }
        let (mut shape, mut strides, mut within) = (parts[0]?.shape.clone(), strides.clone(), within.clone());
        (shape[axis], strides[axis], within[axis]) = (parts.len(), step, 0..parts.len());
        Some(Self::affine(shape, *first, strides, within))
    }

    /// What each number has in a list of facts about seeds, and `none` without a seed.
    pub(super) fn look_up(&self, facts: &[u32], none: f64) -> Vec<f64> {
        let mut found = vec![none; self.shape.iter().product()];
        self.for_each(|number, seed| found[number] = f64::from(facts[seed]));
        found
    }
}

/// The index of an element of this number, in row-major order.
fn unravelled(mut number: usize, shape: &[usize]) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for (i, &length) in index.iter_mut().zip(shape).rev() {
        *i = number % length;
        number /= length;
    }
    index
}

impl PartialEq for SeedTable {
    fn eq(&self, other: &SeedTable) -> bool {
        use Form::{Affine, Listed};
        self.shape == other.shape
            && match (&self.form, &other.form) {
                (
                    Affine { first, strides, within },
                    Affine { first: its_first, strides: its_strides, within: its_within },
                ) => (first, strides, within) == (its_first, its_strides, its_within),
                (Listed { seeds, hash }, Listed { seeds: its_seeds, hash: its_hash }) => {
                    hash == its_hash && seeds.known::<i64>() == its_seeds.known::<i64>()
                }
                _ => self.list().known::<i64>() == other.list().known::<i64>(),
            }
    }
}

#[cfg(test)]
mod tests;
