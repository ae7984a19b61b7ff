//! Elements added or written at indices that are computed.

mod counted;
mod fold;
mod rows;

use std::ops::Range;

use counted::RowScatter;
pub(super) use fold::ScatterReduceKernel;
use rows::{Add, Put};

use wengert_kernels::arena::{Line, lines_for, typed_mut};
use wengert_kernels::parallel::for_chunks_with;
use wengert_kernels::region::{Kind, Slice};

use super::gather::{BlockPlaces, Missing};
use super::nest::each;
use super::{Cell, Kernel, KernelCall, for_kind, original, rows_per_part};
use crate::array::Type;
use crate::error::Misfit;
use crate::plan::kernel::kind;
use crate::primitives::{self, Literal, Write};

/// Numbers of a run that are added up together.
const TILE: usize = 128;
/// A block from which on every part may look at all index vectors and take those that point into its piece.
const SHARED: usize = 16;

/// The kernel. The array may lie where the result does: then only the blocks are written. It may also be one number
/// everywhere, which is not in memory at all.
///
/// Updates of one element are added in the order of the definition. In single precision the definition rounds once, so
/// several updates of one element meet in double precision: row by row where blocks are rows of one array
/// ([`counted`]); else in a copy of the item, if there are many updates for its size, or sorted by their places. An update that is the only one of its element is added as it is: rounding the sum
/// in double precision once more gives the same number (S. A. Figueroa, *When is double rounding innocuous?*, 1995).
#[derive(Clone, Debug)]
pub(super) struct ScatterKernel {
    write: Write,
    kind: Kind,
    places: BlockPlaces,
    /// Elements of a part: whole items, or a piece of the only one.
    part: usize,
    sums: Sums,
    /// If the updates are of rows of one array.
    rows: Option<RowScatter>,
    /// What every element of the array is, if that is known.
    fill: Option<Literal>,
}

/// Where the elements come from to which updates are added.
#[derive(Clone, Copy)]
enum Start<'a, T> {
    /// They are where the result is.
    There,
    Array(&'a [T]),
    Everywhere(T),
}

impl<T: Cell> Start<'_, T> {
    /// Writes the elements of a piece of the result, which begins at `first`.
    fn begin(self, first: usize, out: &mut [T]) {
        match self {
            Start::There => {}
            Start::Array(x) => out.copy_from_slice(&x[first..first + out.len()]),
            Start::Everywhere(x) => out.fill(x),
        }
    }
}

/// The indices and the updates.
fn operands<'a, T: Cell>(args: &[Slice<'a>]) -> (&'a [i64], &'a [T]) {
    let [.., indices, updates] = args else { panic!("indices and updates") };
    (i64::of(indices), T::of(updates))
}

/// How single precision is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sums {
    /// In a copy of an item, or of a piece of one.
    Copied,
    /// Sorted by places.
    Sorted,
}

impl ScatterKernel {
    /// `fill` is what every element of the array is, if that is known: then it is no operand.
    pub(super) fn new(op: &primitives::Scatter, x: &Type, indices: &Type, fill: Option<Literal>) -> Self {
        let places = BlockPlaces::new(&op.gather(), x, indices);
        // Blocks of which each is inside one index of the first axis stay inside a piece of whole such indices.
        let first = op.axes.first().filter(|axis| **axis == op.batch).map(|_| places.indexed[0].stride);
        let part = match first {
            Some(first) if places.items == 1 && places.size >= SHARED => {
                let eighth = (places.item / first.max(1)).div_ceil(8) * first;
                eighth.max(rows_per_part(first) * first)
            }
            _ => rows_per_part(places.item) * places.item,
        };
        let room = places.item.min(part);
        let sums = if room <= 8 * places.vectors * places.size { Sums::Copied } else { Sums::Sorted };
        let kind = kind(x.dtype);
        let rows = RowScatter::new(&places, (op.write, kind) == (Write::Add, Kind::F32));
        ScatterKernel { write: op.write, kind, places, part: part.max(1), sums, rows, fill }
    }

    fn start<'a, T: Cell>(&self, args: &[Slice<'a>]) -> Start<'a, T> {
        match self.fill {
            Some(fill) => Start::Everywhere(T::of_literal(fill)),
            None => original(&args[0]).map_or(Start::There, Start::Array),
        }
    }

    /// Lines that a thread needs.
    fn scratch(&self) -> usize {
        match (self.write, self.kind, self.sums) {
            (Write::Add, Kind::F32, Sums::Copied) => lines_for::<f64>(self.places.item.min(self.part)),
            (Write::Add, Kind::F32, Sums::Sorted) => lines_for::<i64>(2 * self.places.vectors),
            (Write::Add | Write::Set, Kind::U8 | Kind::I64 | Kind::F32 | Kind::F64, _) => 0,
        }
    }

    /// Runs `f` on every piece of an item: the piece, where it begins in its item, and the item's number.
    fn pieces<T: Cell>(
        &self,
        call: KernelCall<'_, '_>,
        f: impl Fn(&Missing, &mut [T], Range<usize>, usize, &mut [Line]) + Sync,
    ) -> Result<(), Misfit> {
        let (places, (indices, _)) = (&self.places, operands::<T>(call.args));
        let (start, out) = (self.start::<T>(call.args), T::of_mut(&mut call.outs[0]));
        if places.size == 0 || places.item == 0 {
            start.begin(0, out);
            return places.check_all(indices);
        }
        let missing = Missing::new();
        let scratch = &mut call.workspace[..self.scratch() * call.pool.threads()];
        for_chunks_with(call.pool, out, self.part, scratch, |number, out, scratch| {
            let first = number * self.part;
            for (k, out) in out.chunks_mut(places.item).enumerate() {
                let first = first + k * places.item;
                start.begin(first, out);
                let (item, first) = (first / places.item, first % places.item);
                f(&missing, out, first..first + out.len(), item, scratch);
            }
        });
        missing.check(places, indices)
    }

    /// Calls `visit` with the update and the place, counted from the beginning of the piece, of every index vector,
    /// where blocks are single elements. A place outside the piece is a number that no index in the piece reaches.
    #[inline(always)]
    fn for_each_element<T: Cell>(
        &self,
        missing: &Missing,
        piece: &Range<usize>,
        item: usize,
        (indices, updates): (&[i64], &[T]),
        mut visit: impl FnMut(T, usize),
    ) {
        let places = &self.places;
        let (before, width) = (item * places.vectors, places.indexed.len());
        let updates = &updates[before..][..places.vectors];
        places.for_each(&indices[before * width..], 0..places.vectors, |vector, place| match place {
            None => missing.tell(before + vector),
            Some(place) => visit(updates[vector], place.wrapping_sub(piece.start)),
        });
    }

    /// Calls `visit` with the update and the place, counted from the beginning of the piece, of every run of an index
    /// vector that points into the piece.
    #[inline(always)]
    fn for_each_run<'a, T: Cell>(
        &self,
        missing: &Missing,
        piece: &Range<usize>,
        item: usize,
        (indices, updates): (&[i64], &'a [T]),
        mut visit: impl FnMut(&'a [T], usize),
    ) {
        let places = &self.places;
        let (before, width) = (item * places.vectors, places.indexed.len());
        places.for_each(&indices[before * width..], 0..places.vectors, |vector, place| match place {
            None => missing.tell(before + vector),
            Some(place) if !piece.contains(&place) => {}
            Some(place) => {
                let update = &updates[(before + vector) * places.size..][..places.size];
                self.runs(update, place - piece.start, &mut visit);
            }
        });
    }

    /// Calls `visit` with every run of a block and its place.
    #[inline(always)]
    fn runs<'a, T: Cell>(&self, update: &'a [T], place: usize, visit: &mut impl FnMut(&'a [T], usize)) {
        if self.places.block.is_empty() {
            return visit(update, place);
        }
        let mut runs = update.chunks_exact(self.places.run);
        each(&self.places.block, place.cast_signed(), &mut |place| {
            visit(runs.next().expect("a run for each place"), place.cast_unsigned());
        });
    }

    /// Adds every update to the elements themselves.
    fn add<T: Cell + Addend>(&self, call: KernelCall<'_, '_>) -> Result<(), Misfit> {
        let operands = operands::<T>(call.args);
        self.pieces::<T>(call, |missing, out, piece, item, _| {
            self.add_piece(missing, &piece, item, operands, out);
        })
    }

    /// Adds the updates of one piece to the elements themselves.
    #[inline(always)]
    fn add_piece<T: Cell + Addend>(
        &self,
        missing: &Missing,
        piece: &Range<usize>,
        item: usize,
        operands: (&[i64], &[T]),
        out: &mut [T],
    ) {
        if self.places.size > 1 {
            return self.for_each_run(missing, piece, item, operands, |run, place| add(run, place, out));
        }
        self.for_each_element(missing, piece, item, operands, |update, place| {
            if let Some(out) = out.get_mut(place) {
                *out = out.plus(update);
            }
        });
    }

    /// Writes every update, run by run.
    fn set<T: Cell>(&self, call: KernelCall<'_, '_>) -> Result<(), Misfit> {
        let operands = operands::<T>(call.args);
        self.pieces::<T>(call, |missing, out, piece, item, _| {
            if self.places.size > 1 {
                return self.for_each_run(missing, &piece, item, operands, |run, place| match run {
                    [update] => out[place] = *update,
                    run => out[place..][..run.len()].copy_from_slice(run),
                });
            }
            self.for_each_element(missing, &piece, item, operands, |update, place| {
                if let Some(out) = out.get_mut(place) {
                    *out = update;
                }
            });
        })
    }

    /// Whether two index vectors point to one place in the piece.
    fn meet(&self, indices: &[i64], piece: &Range<usize>, item: usize, seen: &mut [u8]) -> bool {
        let (places, width) = (&self.places, self.places.indexed.len());
        seen.fill(0);
        let mut meet = 0;
        places.for_each(&indices[item * places.vectors * width..], 0..places.vectors, |_, place| {
            if let Some(seen) = place.and_then(|place| seen.get_mut(place.wrapping_sub(piece.start))) {
                meet |= *seen;
                *seen = 1;
            }
        });
        meet != 0
    }

    /// Adds in a copy in double precision, if updates meet.
    fn add_copied(&self, call: KernelCall<'_, '_>) -> Result<(), Misfit> {
        let operands = operands::<f32>(call.args);
        self.pieces::<f32>(call, |missing, out, piece, item, scratch| {
            if !self.meet(operands.0, &piece, item, typed_mut(scratch, out.len())) {
                return self.add_piece(missing, &piece, item, operands, out);
            }
            let sums = typed_mut::<f64>(scratch, out.len());
            sums.iter_mut().zip(&*out).for_each(|(sum, &x)| *sum = f64::from(x));
            self.for_each_run(missing, &piece, item, operands, |run, place| match run {
                [update] => sums[place] += f64::from(*update),
                run => {
                    let sums = &mut sums[place..][..run.len()];
                    sums.iter_mut().zip(run).for_each(|(sum, &update)| *sum += f64::from(update));
                }
            });
            out.iter_mut().zip(sums).for_each(|(out, sum)| *out = *sum as f32);
        })
    }

    /// Adds the updates of one place after the other.
    fn add_sorted(&self, call: KernelCall<'_, '_>) -> Result<(), Misfit> {
        let (indices, updates) = operands::<f32>(call.args);
        let places = &self.places;
        let width = places.indexed.len();
        self.pieces::<f32>(call, |missing, out, piece, item, scratch| {
            // Place and number of each index vector.
            let (pairs, _) = typed_mut::<i64>(scratch, 2 * places.vectors).as_chunks_mut::<2>();
            let mut count = 0;
            let before = item * places.vectors;
            places.for_each(&indices[before * width..], 0..places.vectors, |vector, place| match place {
                None => missing.tell(before + vector),
                Some(place) if !piece.contains(&place) => {}
                Some(place) => {
                    pairs[count] = [place as i64, vector as i64];
                    count += 1;
                }
            });
            let pairs = &mut pairs[..count];
            pairs.sort_unstable_by_key(|&[place, vector]| (place, vector));
            for group in pairs.chunk_by(|x, y| x[0] == y[0]) {
                let place = group[0][0] as usize - piece.start;
                let update = |pair: &[i64; 2]| &updates[(before + pair[1] as usize) * places.size..][..places.size];
                self.add_group(group.iter().map(update), place, out);
            }
        })
    }

    /// Adds updates at one place.
    fn add_group<'a>(&self, updates: impl Iterator<Item = &'a [f32]> + Clone, place: usize, out: &mut [f32]) {
        let run = self.places.run;
        let mut done = 0;
        each(&self.places.block, place.cast_signed(), &mut |place| {
            let out = &mut out[place.cast_unsigned()..][..run];
            for (k, out) in out.chunks_mut(TILE).enumerate() {
                let mut sums = [0.0; TILE];
                sums.iter_mut().zip(&*out).for_each(|(sum, &x)| *sum = f64::from(x));
                for update in updates.clone() {
                    let update = &update[done + k * TILE..];
                    sums.iter_mut().zip(&update[..out.len()]).for_each(|(sum, &update)| *sum += f64::from(update));
                }
                out.iter_mut().zip(sums).for_each(|(out, sum)| *out = sum as f32);
            }
            done += run;
        });
    }
}

/// Numbers that are added to others in place.
pub(super) trait Addend: Copy {
    fn plus(self, other: Self) -> Self;
}

impl Addend for f32 {
    fn plus(self, other: f32) -> f32 {
        self + other
    }
}

impl Addend for f64 {
    fn plus(self, other: f64) -> f64 {
        self + other
    }
}

impl Addend for i64 {
    fn plus(self, other: i64) -> i64 {
        self.wrapping_add(other)
    }
}

/// Adds a run of updates to the elements from `place` on.
#[inline(always)]
fn add<T: Addend>(run: &[T], place: usize, out: &mut [T]) {
    match run {
        [update] => out[place] = out[place].plus(*update),
        run => out[place..][..run.len()].iter_mut().zip(run).for_each(|(out, &update)| *out = out.plus(update)),
    }
}

impl Kernel for ScatterKernel {
    fn name(&self) -> String {
        match self.write {
            Write::Add => "scatter_add",
            Write::Set => "scatter_set",
        }
        .to_owned()
    }
    fn workspace(&self, threads: usize) -> usize {
        let [shared, own] = self.rows.map_or([0, self.scratch()], RowScatter::scratch);
        (shared + own * threads) * size_of::<Line>()
    }
    fn in_place(&self) -> &[(u16, u16)] {
        // An array that is known is no operand.
        if self.fill.is_some() { &[] } else { &[(0, 0)] }
    }
    fn operations(&self) -> usize {
        self.places.count() * self.places.size
    }
    fn run(&self, call: KernelCall<'_, '_>) -> Result<(), Misfit> {
        let args = call.args;
        if let Some(rows) = self.rows {
            return match (self.write, self.kind) {
                (Write::Set, kind) => {
                    for_kind!(kind, T => rows.plain::<T, Put<T>>(&self.places, call, self.start(args)))
                }
                (Write::Add, Kind::F64) => rows.plain::<f64, Add<f64>>(&self.places, call, self.start(args)),
                (Write::Add, Kind::I64) => rows.plain::<i64, Add<i64>>(&self.places, call, self.start(args)),
                (Write::Add, Kind::F32) => rows.precise(&self.places, call, self.start(args)),
                (Write::Add, Kind::U8) => unreachable!("inference refuses to add truth values"),
            };
        }
        match (self.write, self.kind) {
            (Write::Set, kind) => for_kind!(kind, T => self.set::<T>(call)),
            (Write::Add, Kind::F64) => self.add::<f64>(call),
            (Write::Add, Kind::I64) => self.add::<i64>(call),
            (Write::Add, Kind::F32) if self.sums == Sums::Copied => self.add_copied(call),
            (Write::Add, Kind::F32) => self.add_sorted(call),
            (Write::Add, Kind::U8) => unreachable!("inference refuses to add truth values"),
        }
    }
}
