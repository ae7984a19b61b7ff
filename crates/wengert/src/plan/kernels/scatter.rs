//! Elements added or written at indices that are computed.

use std::ops::Range;

use wengert_kernels::arena::typed_mut;
use wengert_kernels::parallel::for_chunks_with;
use wengert_kernels::region::Kind;

use super::gather::{Missing, Places};
use super::nest::each;
use super::{Call, Cell, GRAIN, Kernel, for_kind, rows_per_part, start, workspace};
use crate::array::Type;
use crate::error::Misfit;
use crate::plan::kernel::kind;
use crate::primitives::{self, Write};

/// Numbers of a run that are added up together.
const TILE: usize = 128;
/// A block from which on every part may look at all index vectors and take those that point into its piece.
const SHARED: usize = 16;

/// The kernel. The array may lie where the result does: then only the blocks are written.
///
/// Updates of one element are added in the order of the definition. In single precision the definition rounds once, so
/// several updates of one element meet in double precision: in a copy of the part, if there are many updates for its
/// size, else sorted by their places. A single update is added as it is: rounding the sum in double precision once more
/// gives the same number (S. A. Figueroa, *When is double rounding innocuous?*, 1995).
#[derive(Clone, Debug)]
pub(super) struct Scatter {
    write: Write,
    kind: Kind,
    places: Places,
    /// Elements of a part: whole items, or a piece of the only one.
    part: usize,
    sums: Sums,
}

/// How single precision is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sums {
    /// In a copy of an item, or of a piece of one.
    Copied,
    /// Sorted by places.
    Sorted,
}

impl Scatter {
    pub(super) fn new(op: &primitives::Scatter, x: &Type, indices: &Type) -> Self {
        let places = Places::new(&op.gather(), x, indices);
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
        Scatter { write: op.write, kind: kind(x.dtype), places, part: part.max(1), sums }
    }

    /// Numbers of 8 bytes that a thread needs.
    fn scratch(&self) -> usize {
        match (self.write, self.kind, self.sums) {
            (Write::Add, Kind::F32, Sums::Copied) => self.places.item.min(self.part),
            (Write::Add, Kind::F32, Sums::Sorted) => 2 * self.places.vectors,
            (Write::Add | Write::Set, Kind::U8 | Kind::I64 | Kind::F32 | Kind::F64, _) => 0,
        }
    }

    /// Runs `f` on every piece of an item: the piece, where it begins in its item, and the item's number.
    fn pieces<T: Cell>(
        &self,
        call: Call<'_, '_>,
        f: impl Fn(&Missing, &mut [T], Range<usize>, usize, &mut [f64]) + Sync,
    ) -> Result<(), Misfit> {
        let (places, indices) = (&self.places, i64::of(&call.args[1]));
        let (x, out) = (start::<T>(&call.args[0]), T::of_mut(&mut call.outs[0]));
        if places.size == 0 || places.item == 0 {
            if let Some(x) = x {
                out.copy_from_slice(x);
            }
            return places.check_all(indices);
        }
        let missing = Missing::new();
        let scratch = typed_mut::<f64>(call.workspace, self.scratch() * call.pool.threads());
        for_chunks_with(call.pool, out, self.part, scratch, |number, out, scratch| {
            let first = number * self.part;
            for (k, out) in out.chunks_mut(places.item).enumerate() {
                let first = first + k * places.item;
                if let Some(x) = x {
                    out.copy_from_slice(&x[first..first + out.len()]);
                }
                let (item, first) = (first / places.item, first % places.item);
                f(&missing, out, first..first + out.len(), item, scratch);
            }
        });
        missing.check(places, indices)
    }

    /// Calls `visit` with the update and the place, counted in the piece, of every run of an index vector that points
    /// into the piece.
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

    /// Joins every update into the elements themselves.
    fn join<T: Cell>(&self, call: Call<'_, '_>, join: impl Fn(&mut T, T) + Sync) -> Result<(), Misfit> {
        let operands = (i64::of(&call.args[1]), T::of(&call.args[2]));
        self.pieces::<T>(call, |missing, out, piece, item, _| {
            self.for_each_run(missing, &piece, item, operands, |run, place| match run {
                [update] => join(&mut out[place], *update),
                run => out[place..][..run.len()].iter_mut().zip(run).for_each(|(out, &update)| join(out, update)),
            });
        })
    }

    /// Writes every update, run by run.
    fn set<T: Cell>(&self, call: Call<'_, '_>) -> Result<(), Misfit> {
        let operands = (i64::of(&call.args[1]), T::of(&call.args[2]));
        self.pieces::<T>(call, |missing, out, piece, item, _| {
            self.for_each_run(missing, &piece, item, operands, |run, place| match run {
                [update] => out[place] = *update,
                run => out[place..][..run.len()].copy_from_slice(run),
            });
        })
    }

    /// Adds in a copy in double precision.
    fn add_copied(&self, call: Call<'_, '_>) -> Result<(), Misfit> {
        let operands = (i64::of(&call.args[1]), f32::of(&call.args[2]));
        self.pieces::<f32>(call, |missing, out, piece, item, scratch| {
            let sums = &mut scratch[..out.len()];
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
    fn add_sorted(&self, call: Call<'_, '_>) -> Result<(), Misfit> {
        let (indices, updates) = (i64::of(&call.args[1]), f32::of(&call.args[2]));
        let places = &self.places;
        let width = places.indexed.len();
        self.pieces::<f32>(call, |missing, out, piece, item, scratch| {
            // Numbers below 2^53 are whole in double precision: place and number of each index vector.
            let (pairs, _) = scratch.as_chunks_mut::<2>();
            let mut count = 0;
            let before = item * places.vectors;
            places.for_each(&indices[before * width..], 0..places.vectors, |vector, place| match place {
                None => missing.tell(before + vector),
                Some(place) if !piece.contains(&place) => {}
                Some(place) => {
                    pairs[count] = [place as f64, vector as f64];
                    count += 1;
                }
            });
            let pairs = &mut pairs[..count];
            pairs.sort_unstable_by(|x, y| x[0].total_cmp(&y[0]).then(x[1].total_cmp(&y[1])));
            for group in pairs.chunk_by(|x, y| x[0] == y[0]) {
                let place = group[0][0] as usize - piece.start;
                let update = |pair: &[f64; 2]| &updates[(before + pair[1] as usize) * places.size..][..places.size];
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

impl Kernel for Scatter {
    fn name(&self) -> String {
        match self.write {
            Write::Add => "scatter_add",
            Write::Set => "scatter_set",
        }
        .to_owned()
    }
    fn workspace(&self, threads: usize) -> usize {
        workspace::<f64>(self.scratch(), threads)
    }
    fn operations(&self) -> usize {
        self.places.count() * self.places.size
    }
    fn run(&self, call: Call<'_, '_>) -> Result<(), Misfit> {
        match (self.write, self.kind) {
            (Write::Set, kind) => for_kind!(kind, T => self.set::<T>(call)),
            (Write::Add, Kind::F64) => self.join(call, |x: &mut f64, update| *x += update),
            (Write::Add, Kind::I64) => self.join(call, |x: &mut i64, update| *x = x.wrapping_add(update)),
            (Write::Add, Kind::F32) if self.sums == Sums::Copied => self.add_copied(call),
            (Write::Add, Kind::F32) => self.add_sorted(call),
            (Write::Add, Kind::U8) => unreachable!("inference refuses to add truth values"),
        }
    }
}
