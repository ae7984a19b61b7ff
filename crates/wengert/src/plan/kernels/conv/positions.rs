//! Convolution with places of the result as lanes.
//!
//! If the kernel moves one element at a time, the places of one tap are a *shifted* plane of x: with x's rows end to end,
//! place q meets element `q + shift`. So the tiles of the result run over q with x as the right operand where it lies, a
//! row for each channel and tap, and nothing is copied; the elements at the ends of rows, where a window would reach into
//! the next row, are computed and thrown away. If the kernel moves s at a time, x is first divided into s planes by the
//! remainder of the place (as in a polyphase filter, Bellanger, Bonnerot and Coudreuse 1976), on which it moves one at a
//! time; where windows reach outside x, it is copied with zeros around. Such copies are made for a *band* of rows that
//! stays in the cache.

use std::sync::atomic::{AtomicBool, Ordering};

use wengert_kernels::parallel::{for_chunks, for_chunks_with};
use wengert_kernels::product::tile::{LARGEST, Run, Steps};
use wengert_kernels::{Level, Pool, level};

use super::classes::{Copied, Geometry, ResidueClass, fill_plane};
use super::number::{ConvNumber, all_finite};
use super::{LINE_BYTES, whole_lines};
use crate::plan::cost::{CONV_PART, PLACE_PARTS, PLACE_STORE_STEPS, PLANE_COPY};

/// Bytes of the planes of a band: they and the rows of the kernel stay in the second cache.
const BAND_BYTES: usize = 384 << 10;

/// Bytes of a run from which on it is a line of its own: a vector of any level.
const LINE: usize = 64;

/// A convolution in this form, prepared.
#[derive(Clone, Debug)]
pub(super) struct Positions {
    level: Level,
    /// Output channels of a unit, and the tiles' first rows and numbers of rows.
    block: usize,
    tiles: Vec<(usize, usize)>,
    /// Units of a part; a unit is a block of output channels of an image.
    units: usize,
    classes: Vec<BandClass>,
    /// Whether an entry of the kernel that is not finite could meet a zero outside x.
    checks: bool,
    /// Numbers of the rearranged kernel.
    packed: usize,
    /// Numbers of the planes of one thread.
    planes: usize,
}

/// One class of places.
#[derive(Clone, Debug)]
struct BandClass {
    /// The taps' numbers in the kernel.
    taps: Vec<usize>,
    /// Where the rearranged kernel begins.
    packed_at: usize,
    /// The places on x where it lies, if that is possible.
    in_place: Option<Grid>,
    /// The places on planes.
    copied: Grid,
    /// What a channel's planes are copied from; they have all one length.
    planes: Vec<Vec<Copied>>,
    /// Elements of a plane.
    plane: usize,
    /// The first axis: places, places of a band, steps through x, distance in the result.
    count: usize,
    band: usize,
    step: usize,
    out_step: usize,
    /// Distance of places of the last axis in the result.
    stride: usize,
}

/// The places of a band as runs of a long line.
#[derive(Clone, Debug)]
struct Grid {
    /// Where each row of the right operand begins: channels, and taps in them.
    steps: Vec<usize>,
    /// The places: from which column on, from which element of the result on, how many.
    runs: Vec<Run>,
    /// Runs of one place of the first axis.
    runs_of_place: usize,
    /// How far the first place is in the long line, from what precedes it on.
    reach: usize,
}

impl Grid {
    /// Of planes of these lengths: `shifts` holds, for each tap, its place in a channel.
    fn new(
        class: &ResidueClass,
        out: &[usize],
        planes: &[usize],
        shifts: &[usize],
        channel: usize,
        inner: usize,
    ) -> Grid {
        let rank = class.axes.len();
        let steps: Vec<usize> = (0..inner).flat_map(|i| shifts.iter().map(move |shift| i * channel + shift)).collect();
        let last = class.axes.last().map_or(1, |axis| axis.count);
        let mut columns = vec![0];
        for (axis, length) in class.axes.iter().zip(planes).take(rank.saturating_sub(1)) {
            columns = columns.iter().flat_map(|column| (0..axis.count).map(move |j| column * length + j)).collect();
        }
        let width = planes.last().copied().unwrap_or(1);
        let places = class.out_places(out);
        let run = |(column, place): (&usize, &usize)| Run { column: column * width, out: *place, count: last };
        let runs: Vec<Run> = columns.iter().zip(places.iter().step_by(last)).map(run).collect();
        let first = if rank > 1 { class.axes[0].count } else { 1 };
        let reach = steps.iter().max().map_or(0, |step| step + 1);
        Grid { steps, runs_of_place: runs.len() / first, runs, reach }
    }

    /// Joins runs that follow each other in both arrays; they are no longer divisible by the first axis.
    fn joined(mut self) -> Grid {
        let mut joined: Vec<Run> = Vec::new();
        for run in self.runs {
            match joined.last_mut() {
                Some(last) if last.column + last.count == run.column && last.out + last.count == run.out => {
                    last.count += run.count;
                }
                _ => joined.push(run),
            }
        }
        (self.runs, self.runs_of_place) = (joined, 0);
        self
    }
}

impl BandClass {
    fn new(geometry: &Geometry, class: &ResidueClass, packed_at: usize, size: usize) -> BandClass {
        let [x, w, out] = &geometry.lengths;
        let taps = class.taps(w);
        // Steps and lengths of the planes, for as many places of the first axis as a band has.
        let plane_lengths: Vec<usize> = class.axes.iter().map(|axis| (axis.reach() - 1) / axis.step + 1).collect();
        let phase_of = |starts: &[i64]| -> Vec<usize> {
            class.axes.iter().zip(starts).map(|(axis, start)| (start - axis.low()) as usize % axis.step).collect()
        };
        let mut phases: Vec<Vec<usize>> = taps.iter().map(|(_, starts)| phase_of(starts)).collect();
        phases.sort_unstable();
        phases.dedup();
        // Along a single axis there are no rows to divide into bands.
        let count = if class.axes.len() > 1 { class.axes[0].count } else { 1 };
        let band = band(&plane_lengths, count, phases.len() * geometry.inner * size);
        let lengths: Vec<usize> = plane_lengths
            .iter()
            .enumerate()
            .map(|(k, length)| if k == 0 { length - (count - band) } else { *length })
            .collect();
        let plane: usize = lengths.iter().product();
        let shift = |starts: &[i64]| {
            let phase = phases.binary_search(&phase_of(starts)).expect("it is one of them");
            let axes = class.axes.iter().zip(starts).zip(&lengths);
            let place = axes
                .fold(0, |place, ((axis, start), length)| place * length + (start - axis.low()) as usize / axis.step);
            phase * plane + place
        };
        let shifts: Vec<usize> = taps.iter().map(|(_, starts)| shift(starts)).collect();
        let mut copied = Grid::new(class, out, &lengths, &shifts, phases.len() * plane, geometry.inner);
        copied.runs.truncate(band * copied.runs_of_place);
        let copied_axis = |((axis, phase), &count): ((&super::classes::AxisClass, &usize), &usize)| Copied {
            first: axis.low() + *phase as i64,
            step: axis.step,
            count,
            length: axis.length,
        };
        let planes = phases.iter().map(|phase| class.axes.iter().zip(phase).zip(&lengths).map(copied_axis).collect());
        let still = class.axes.iter().all(|axis| axis.step == 1 && axis.is_inside());
        let in_place = still.then(|| {
            let place = |starts: &[i64]| {
                starts.iter().zip(x).fold(0, |place, (&start, length)| place * length + start as usize)
            };
            let shifts: Vec<usize> = taps.iter().map(|(_, starts)| place(starts)).collect();
            let grid = Grid::new(class, out, x, &shifts, geometry.places[0].strides[1], geometry.inner);
            if class.axes.last().is_none_or(|axis| axis.out_step == 1) { grid.joined() } else { grid }
        });
        BandClass {
            packed_at,
            in_place,
            copied,
            planes: planes.collect(),
            plane,
            count,
            band,
            step: class.axes.first().map_or(1, |axis| axis.step),
            out_step: class.axes.first().map_or(0, |axis| axis.out_step)
                * geometry.lengths[2].iter().skip(1).product::<usize>(),
            stride: class.axes.last().map_or(1, |axis| axis.out_step),
            taps: taps.into_iter().map(|(place, _)| place).collect(),
        }
    }

    /// Numbers of the planes of all channels.
    fn planes(&self, inner: usize) -> usize {
        inner * self.planes.len() * self.plane
    }

    /// Columns of the long line for all places, or a band.
    fn columns(grid: &Grid) -> usize {
        grid.runs.last().map_or(0, |run| run.column + run.count)
    }
}

/// How many places of the first axis are done at a time.
fn band(lengths: &[usize], count: usize, bytes: usize) -> usize {
    let [first, rest @ ..] = lengths else { return 1 };
    if rest.is_empty() {
        return 1;
    }
    let row = rest.iter().product::<usize>() * bytes;
    let seam = first - count;
    (BAND_BYTES / row.max(1)).saturating_sub(seam).max(seam).clamp(1, count)
}

/// The sizes of tiles that add up to this many rows.
fn tiles(rows: usize, sizes: &[usize]) -> Vec<(usize, usize)> {
    let mut tiles = Vec::new();
    let mut first = 0;
    while first < rows {
        let count = *sizes.iter().find(|&&count| count <= rows - first).expect("one is 1");
        tiles.push((first, count));
        first += count;
    }
    tiles
}

impl Positions {
    /// Prepares it.
    pub(super) fn new<T: ConvNumber>(geometry: &Geometry) -> Positions {
        let level = level();
        let rows = T::across_sizes(level).rows;
        let block = block(geometry, rows[0]);
        let (mut classes, mut packed) = (Vec::new(), 0);
        for class in &geometry.classes {
            let prepared = BandClass::new(geometry, class, packed, size_of::<T>());
            packed = whole_lines::<T>(packed + geometry.groups * geometry.outputs * prepared.copied.steps.len());
            classes.push(prepared);
        }
        let all = geometry.images * geometry.groups * (geometry.outputs / block);
        let work = geometry.operations() / 2 / all.max(1);
        let units = CONV_PART.div_ceil(work.max(1)).min(all.div_ceil(PLACE_PARTS)).max(1);
        let planes = classes.iter().map(|class| class.planes(geometry.inner)).max().unwrap_or(0);
        let planes = whole_lines::<T>(planes + T::across_sizes(level).lanes);
        Positions {
            level,
            block,
            tiles: tiles(block, rows),
            units,
            classes,
            checks: geometry.has_padding(),
            packed,
            planes,
        }
    }

    /// What it costs about, in multiplications of whole vectors: for the choice of the form.
    pub(super) fn cost<T: ConvNumber>(&self, geometry: &Geometry) -> usize {
        let lanes = T::across_sizes(self.level).lanes;
        // A tile with few rows waits for its own sums; lines do not, but read a number for each product.
        let of_tiles: usize = self.tiles.iter().map(|&(_, rows)| rows.max(3)).sum();
        let of_class = |class: &BandClass| {
            let grid = class.in_place.as_ref().unwrap_or(&class.copied);
            let rows = if self.by_lines::<T>(class.stride, grid.runs.first()) { 2 } else { of_tiles };
            let bands = if class.in_place.is_some() { 1 } else { class.count.div_ceil(class.band) };
            let steps = grid.steps.len() + PLACE_STORE_STEPS;
            let copied = if class.in_place.is_some() { 0 } else { bands * class.planes(geometry.inner) };
            bands * BandClass::columns(grid).div_ceil(lanes) * rows * steps * lanes + PLANE_COPY * copied
        };
        let units = geometry.images * geometry.groups * (geometry.outputs / self.block);
        units * self.classes.iter().map(of_class).sum::<usize>()
    }

    /// Bytes of workspace.
    pub(super) fn workspace<T: ConvNumber>(&self, threads: usize) -> usize {
        (self.packed + threads * self.planes) * size_of::<T>() + LINE_BYTES
    }

    /// Computes the result. Nothing is promised about it if this returns false: then the kernel has an entry that is not
    /// finite, which a zero outside x would meet.
    pub(super) fn run<T: ConvNumber>(
        &self,
        geometry: &Geometry,
        [x, w]: [&[T]; 2],
        out: &mut [T],
        workspace: &mut [T],
        pool: &Pool,
    ) -> bool {
        let (packed, rest) = workspace.split_at_mut(self.packed);
        if !self.pack(geometry, w, packed, pool) {
            return false;
        }
        let packed = &*packed;
        let unit = self.block * geometry.areas[2];
        let scratch = &mut rest[..pool.threads() * self.planes];
        for_chunks_with(pool, out, self.units * unit, scratch, |part, out, scratch| {
            let mut tile = [T::default(); LARGEST];
            for (k, out) in out.chunks_exact_mut(unit).enumerate() {
                self.unit(geometry, part * self.units + k, [x, packed], out, scratch, &mut tile);
            }
        });
        true
    }

    /// Arranges the kernel in the order in which tiles take it; whether all its entries are finite, if that matters.
    fn pack<T: ConvNumber>(&self, geometry: &Geometry, w: &[T], packed: &mut [T], pool: &Pool) -> bool {
        let finite = AtomicBool::new(true);
        for class in &self.classes {
            let steps = class.copied.steps.len();
            let packed = &mut packed[class.packed_at..][..geometry.groups * geometry.outputs * steps];
            if packed.is_empty() {
                continue;
            }
            // Small blocks of depthwise kernels are taken together.
            let blocks = (4096 / (self.block * steps)).max(1);
            for_chunks(pool, packed, blocks * self.block * steps, |number, packed| {
                for (k, packed) in packed.chunks_exact_mut(self.block * steps).enumerate() {
                    self.pack_block(class, geometry, (number * blocks + k) * self.block, w, packed);
                }
                if self.checks && !all_finite(packed) {
                    finite.store(false, Ordering::Relaxed);
                }
            });
        }
        finite.into_inner()
    }

    fn pack_block<T: ConvNumber>(
        &self,
        class: &BandClass,
        geometry: &Geometry,
        output: usize,
        w: &[T],
        packed: &mut [T],
    ) {
        let (steps, area) = (class.copied.steps.len(), geometry.areas[1]);
        for &(first, rows) in &self.tiles {
            let tile = &mut packed[first * steps..][..rows * steps];
            for row in 0..rows {
                let plane = |channel| &w[geometry.w_at(output + first + row, channel)..][..area];
                let taps = (0..geometry.inner).flat_map(|channel| {
                    let plane = plane(channel);
                    class.taps.iter().map(move |&tap| plane[tap])
                });
                tile[row..].iter_mut().step_by(rows).zip(taps).for_each(|(packed, w)| *packed = w);
            }
        }
    }

    /// One block of output channels of one image.
    fn unit<T: ConvNumber>(
        &self,
        geometry: &Geometry,
        unit: usize,
        [x, packed]: [&[T]; 2],
        out: &mut [T],
        scratch: &mut [T],
        tile: &mut [T; LARGEST],
    ) {
        let blocks = geometry.outputs / self.block;
        let (image, group, block) = (unit / (blocks * geometry.groups), unit / blocks % geometry.groups, unit % blocks);
        let x = &x[geometry.x_at(image, group)..];
        let area = geometry.areas[2];
        for class in &self.classes {
            let steps = class.copied.steps.len();
            if steps == 0 {
                out.chunks_exact_mut(area).for_each(|out| class.each_place(out, |out| *out = T::default()));
                continue;
            }
            let at = class.packed_at + (group * blocks + block) * self.block * steps;
            let a = &packed[at..][..self.block * steps];
            let reach =
                |grid: &Grid| grid.reach + BandClass::columns(grid).next_multiple_of(T::across_sizes(self.level).lanes);
            match class.in_place.as_ref().filter(|grid| reach(grid) <= x.len()) {
                Some(grid) => self.line(grid, &grid.runs, class.stride, [a, x], out, area, tile),
                None => {
                    for first in (0..class.count).step_by(class.band) {
                        let count = class.band.min(class.count - first);
                        class.copy(geometry, first, x, scratch);
                        let runs = &class.copied.runs[..count * class.copied.runs_of_place];
                        let skipped = first * class.out_step;
                        self.line(&class.copied, runs, class.stride, [a, scratch], &mut out[skipped..], area, tile);
                    }
                }
            }
        }
    }

    /// All tiles of a long line. `out` begins where the runs' places count from, its channels `area` apart.
    #[expect(clippy::too_many_arguments, reason = "the inner loop of one caller")]
    fn line<T: ConvNumber>(
        &self,
        grid: &Grid,
        runs: &[Run],
        stride: usize,
        [a, b]: [&[T]; 2],
        out: &mut [T],
        area: usize,
        tile: &mut [T; LARGEST],
    ) {
        let (lanes, steps) = (T::across_sizes(self.level).lanes, grid.steps.len());
        let at = Steps::new(&grid.steps);
        if self.by_lines::<T>(stride, runs.first()) {
            return T::lines(self.level, a, b, at, runs, out);
        }
        let columns = runs.last().map_or(0, |run| run.column + run.count);
        let mut begun = 0;
        for column in (0..columns).step_by(lanes) {
            while runs[begun].column + runs[begun].count <= column {
                begun += 1;
            }
            let runs = &runs[begun..];
            for &(first, rows) in &self.tiles {
                let a = &a[first * steps..][..rows * steps];
                T::across(self.level, rows, a, &b[column..], at, &mut tile[..rows * lanes]);
                for (row, tile) in tile[..rows * lanes].chunks_exact(lanes).enumerate() {
                    store(runs, column, stride, tile, &mut out[(first + row) * area..]);
                }
            }
        }
    }

    /// Whether runs of this kind are done line by line: where there is one output channel, a tile is a single row, and its sums
    /// would wait for one another.
    fn by_lines<T: ConvNumber>(&self, stride: usize, run: Option<&Run>) -> bool {
        self.block == 1 && stride == 1 && run.is_some_and(|run| run.count >= LINE / size_of::<T>())
    }
}

/// Puts a row of a tile where its runs belong.
fn store<T: Copy>(runs: &[Run], column: usize, stride: usize, tile: &[T], out: &mut [T]) {
    for run in runs.iter().take_while(|run| run.column < column + tile.len()) {
        let skipped = column.saturating_sub(run.column);
        let lane = run.column.saturating_sub(column);
        let count = (run.count - skipped).min(tile.len() - lane);
        let tile = &tile[lane..lane + count];
        let out = &mut out[run.out + skipped * stride..];
        match stride {
            1 => out[..count].copy_from_slice(tile),
            2 => {
                let Some((&last, tile)) = tile.split_last() else { continue };
                out[2 * tile.len()] = last;
                for (out, &tile) in out.as_chunks_mut::<2>().0.iter_mut().zip(tile) {
                    out[0] = tile;
                }
            }
            _ => {
                for (out, &tile) in out.chunks_mut(stride).zip(tile) {
                    out[0] = tile;
                }
            }
        }
    }
}

impl BandClass {
    /// Copies the planes of a band of all channels.
    fn copy<T: ConvNumber>(&self, geometry: &Geometry, first: usize, x: &[T], planes: &mut [T]) {
        let (area, channels) = (geometry.areas[0], geometry.places[0].strides[1]);
        let skip = (first * self.step) as i64;
        for (channel, planes) in
            planes[..self.planes(geometry.inner)].chunks_exact_mut(self.planes.len() * self.plane).enumerate()
        {
            let x = &x[channel * channels..][..area];
            for (axes, plane) in self.planes.iter().zip(planes.chunks_exact_mut(self.plane)) {
                fill_plane(axes, skip, x, plane);
            }
        }
    }

    /// Calls `visit` for every place of the class in a plane of the result.
    fn each_place<T>(&self, out: &mut [T], mut visit: impl FnMut(&mut T)) {
        for band in (0..self.count).step_by(self.band) {
            let count = self.band.min(self.count - band) * self.copied.runs_of_place;
            for run in &self.copied.runs[..count] {
                let out = &mut out[band * self.out_step + run.out..];
                out.iter_mut().step_by(self.stride).take(run.count).for_each(&mut visit);
            }
        }
    }
}

/// Output channels of a unit: those of a group, or, where images and groups are few, a divisor of them.
fn block(geometry: &Geometry, rows: usize) -> usize {
    let (outputs, others) = (geometry.outputs, geometry.images * geometry.groups);
    let enough = |block: usize| others * (outputs / block) >= PLACE_PARTS || block <= rows;
    (1..=outputs).rev().filter(|&block| outputs.is_multiple_of(block)).find(|&block| enough(block)).unwrap_or(1)
}
