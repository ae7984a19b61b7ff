//! What a loop keeps of its steps for one backwards: a column for each part, which grows by what a step gives.

use std::ops::Range;

use smallvec::SmallVec;
use wengert_kernels::arena::{Carver, Plain, zeros};
use wengert_kernels::pool::Pool;
use wengert_kernels::region::{Kind, Slice, SliceMut};

use super::called::LoopStep;
use super::carried::CarriedStep;
use super::control::{Inputs, Outputs, Turning, begins, endless, turning};
use crate::error::{Error, ErrorKind};
use crate::plan::{Columns, Forwards};

/// What loops have kept, by number, until the loop backwards has run.
pub(super) type Records = Vec<Option<Record>>;

/// What a loop has kept.
#[derive(Debug)]
pub(super) struct Record {
    steps: usize,
    /// The parts of the carry before every step, and after the last one.
    carry: SmallVec<[Column; 2]>,
    /// What else steps gave.
    rows: SmallVec<[Column; 2]>,
}

impl Record {
    /// How many steps the loop took.
    pub(super) fn steps(&self) -> usize {
        self.steps
    }

    /// A part of what was kept of a step.
    pub(super) fn row(&self, part: usize, step: usize) -> Slice<'_> {
        let rows = part.checked_sub(self.carry.len());
        rows.map_or_else(|| &self.carry[part], |part| &self.rows[part]).read(step)
    }

    /// What was kept of a step.
    pub(super) fn read<'a>(&'a self, step: usize, inputs: &mut Inputs<'a>) {
        inputs.extend(self.carry.iter().chain(&self.rows).map(|column| column.read(step)));
    }
}

/// Runs a loop forwards, and gives what it keeps. The results are parts of its last carry.
pub(super) fn forwards<'a>(
    (forwards, columns, invariants): (&Forwards, &Columns, usize),
    operands: &[Slice<'_>],
    (given, writes): (&[Option<usize>], &mut [Option<SliceMut<'a>>]),
    (mut carver, answer, arena): (Carver<'a>, &mut [u8], Range<usize>),
    pool: &Pool,
) -> Result<Record, Error> {
    let (invariants, starts) = operands.split_at(invariants);
    let moves = |k: &usize| !columns.carry[*k].2;
    let moving: SmallVec<[usize; 4]> = (0..starts.len()).filter(moves).collect();
    let of_moving: SmallVec<[Option<usize>; 4]> = moving.iter().map(|&k| given[k]).collect();
    let moving: SmallVec<[Slice<'_>; 4]> = moving.into_iter().map(|k| starts[k]).collect();
    let mut carry = turning(&columns.moving, &of_moving, &moving, writes, &mut carver);
    let arena = carver.take(arena);
    let mut step = LoopStep::new(&forwards.step, &forwards.code, &mut carver, invariants);
    let mut record = Record { steps: 0, carry: SmallVec::new(), rows: SmallVec::new() };
    for (&(kind, count, keeps), &start) in columns.carry.iter().zip(starts) {
        if keeps {
            let mut column = Column::new(kind, count);
            column.grow()?;
            column.last().copy_from(start);
            record.carry.push(column);
        }
    }
    record.rows.extend(columns.rows.iter().map(|&(kind, count)| Column::new(kind, count)));
    begins(&forwards.condition, operands, answer, arena, pool)?;
    if let Some(step) = step.carried(starts) {
        carried(step, &mut record, (columns, forwards.limit), answer[0] != 0, &mut carry)?;
        // The loop below takes no step.
        answer[0] = 0;
    }
    while answer[0] != 0 {
        if forwards.limit == Some(record.steps) {
            return Err(endless("while", record.steps));
        }
        let (mut inputs, mut outputs) = (Inputs::from_slice(invariants), Outputs::new());
        let (mut kept, mut moving) = (record.carry.iter_mut(), carry.iter_mut());
        for (.., keeps) in &columns.carry {
            if *keeps {
                let column = kept.next().expect("a column for every part that is kept");
                column.grow()?;
                let (before, after) = column.last_two();
                inputs.push(before);
                outputs.push(after);
            } else {
                moving.next().expect("a place for every other part").pass(&mut inputs, &mut outputs);
            }
        }
        outputs.push(SliceMut::U8(answer));
        for row in &mut record.rows {
            row.grow()?;
            outputs.push(row.last());
        }
        step.run(&inputs, &mut outputs, arena, pool)?;
        drop((inputs, outputs));
        carry.iter_mut().for_each(Turning::turn);
        record.steps += 1;
    }
    carry.iter_mut().for_each(Turning::end);
    let kept = columns.carry.iter().zip(given).filter(|((.., keeps), _)| *keeps);
    for (column, (_, given)) in record.carry.iter().zip(kept) {
        if let Some(k) = given {
            let result = writes[*k].as_mut().expect("a result is written by one part");
            result.copy_from(column.read(record.steps));
        }
    }
    Ok(record)
}

/// Takes the steps of a loop whose carry stays in the memory of its code; what is kept is written to columns.
fn carried(
    mut step: CarriedStep<'_, '_>,
    record: &mut Record,
    (columns, limit): (&Columns, Option<usize>),
    mut goes_on: bool,
    moving: &mut [Turning<'_>],
) -> Result<(), Error> {
    let parts = columns.carry.len();
    let places =
        |keeps: bool| columns.carry.iter().enumerate().filter(move |(_, part)| part.2 == keeps).map(|(k, _)| k);
    let kept: SmallVec<[usize; 4]> = places(true).collect();
    while goes_on {
        if limit == Some(record.steps) {
            return Err(endless("while", record.steps));
        }
        step.run(|_| unreachable!("all that changes is carried"));
        for (column, &k) in record.carry.iter_mut().zip(&kept) {
            column.grow()?;
            step.store(k, &mut column.last());
        }
        for (k, column) in record.rows.iter_mut().enumerate() {
            column.grow()?;
            step.store(parts + 1 + k, &mut column.last());
        }
        goes_on = step.holds(parts);
        record.steps += 1;
        // The last results stay where they are.
        if goes_on {
            step.turn();
        }
    }
    if record.steps > 0 {
        places(false).zip(moving).for_each(|(k, part)| step.store(k, &mut part.now_mut()));
    }
    Ok(())
}

/// Values of one part, one after the other.
#[derive(Debug)]
enum Column {
    U8(Blocks<u8>),
    I64(Blocks<i64>),
    F32(Blocks<f32>),
    F64(Blocks<f64>),
}

impl Column {
    fn new(kind: Kind, count: usize) -> Self {
        match kind {
            Kind::U8 => Column::U8(Blocks::new(count)),
            Kind::I64 => Column::I64(Blocks::new(count)),
            Kind::F32 => Column::F32(Blocks::new(count)),
            Kind::F64 => Column::F64(Blocks::new(count)),
        }
    }

    /// Makes room for one more value.
    fn grow(&mut self) -> Result<(), Error> {
        let has_room = match self {
            Column::U8(x) => x.grow(),
            Column::I64(x) => x.grow(),
            Column::F32(x) => x.grow(),
            Column::F64(x) => x.grow(),
        };
        has_room.ok_or_else(|| {
            let why = "there is no memory for what a loop keeps of its steps".to_owned();
            Error::new(ErrorKind::Unavailable, "unwind", why).of_memory()
        })
    }

    /// The value of a step.
    fn read(&self, step: usize) -> Slice<'_> {
        match self {
            Column::U8(x) => Slice::U8(x.read(step)),
            Column::I64(x) => Slice::I64(x.read(step)),
            Column::F32(x) => Slice::F32(x.read(step)),
            Column::F64(x) => Slice::F64(x.read(step)),
        }
    }

    /// The last value but one, and the last one to be written.
    fn last_two(&mut self) -> (Slice<'_>, SliceMut<'_>) {
        macro_rules! split {
            ($blocks:expr, $kind:ident) => {{
                let (before, last) = $blocks.last_two();
                (Slice::$kind(before), SliceMut::$kind(last))
            }};
        }
        match self {
            Column::U8(x) => split!(x, U8),
            Column::I64(x) => split!(x, I64),
            Column::F32(x) => split!(x, F32),
            Column::F64(x) => split!(x, F64),
        }
    }

    /// The last value, to be written.
    fn last(&mut self) -> SliceMut<'_> {
        match self {
            Column::U8(x) => SliceMut::U8(x.last()),
            Column::I64(x) => SliceMut::I64(x.last()),
            Column::F32(x) => SliceMut::F32(x.last()),
            Column::F64(x) => SliceMut::F64(x.last()),
        }
    }
}

/// Values in blocks, which stay where they are while more are added: each has twice as many as the one before, up to
/// [`LARGEST`] bytes. No value lies in two.
#[derive(Debug)]
struct Blocks<T> {
    blocks: Vec<Vec<T>>,
    /// The first value of each block.
    starts: Vec<usize>,
    /// Elements of a value.
    count: usize,
    /// How many values there are.
    values: usize,
}

/// Bytes of the first block, and of the largest.
const SMALLEST: usize = 1 << 12;
const LARGEST: usize = 1 << 25;

impl<T: Plain + Default> Blocks<T> {
    fn new(count: usize) -> Self {
        Blocks { blocks: Vec::new(), starts: Vec::new(), count, values: 0 }
    }

    /// Makes room for one more value; `None` if there is no memory.
    fn grow(&mut self) -> Option<()> {
        let first = self.starts.last().copied().unwrap_or(0);
        let full = self.blocks.last().is_none_or(|block| (self.values - first) * self.count == block.len());
        if full && self.count > 0 {
            let size = size_of::<T>() * self.count;
            let fitting = |bytes: usize| (bytes / size).max(1);
            let values = (2 * (self.values - first)).clamp(fitting(SMALLEST), fitting(LARGEST).max(fitting(SMALLEST)));
            self.blocks.push(zeros(values * self.count)?);
            self.starts.push(self.values);
        }
        self.values += 1;
        Some(())
    }

    fn read(&self, value: usize) -> &[T] {
        let block = self.starts.partition_point(|start| *start <= value);
        let Some(block) = block.checked_sub(1) else { return &[] };
        &self.blocks[block][(value - self.starts[block]) * self.count..][..self.count]
    }

    fn last(&mut self) -> &mut [T] {
        self.last_two().1
    }

    /// The last value but one, if there is one, and the last one.
    fn last_two(&mut self) -> (&[T], &mut [T]) {
        let Some((last, earlier)) = self.blocks.split_last_mut() else { return (&[], &mut []) };
        let within = self.values - 1 - self.starts[self.starts.len() - 1];
        let (before, last) = last.split_at_mut(within * self.count);
        let before = match before.is_empty() {
            true => earlier.last().map_or(&[][..], |block| block),
            false => before,
        };
        (&before[before.len().saturating_sub(self.count)..], &mut last[..self.count])
    }
}

#[cfg(test)]
mod tests;
