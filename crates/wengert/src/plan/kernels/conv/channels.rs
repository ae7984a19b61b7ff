//! Convolution with output channels as lanes.
//!
//! For few places and long sums: the gradient with respect to a kernel is a convolution whose window is as large as the
//! image and whose result is as small as the kernel. A tile is a few places of the result (of any images) times a vector
//! of output channels; its left operand is x where it lies, read at the places' elements plus the tap's, its right operand
//! a panel of the kernel with the channels beside each other. Nothing grows by the window.
//!
//! The sum is divided into parts that may run at the same time, and whose partial sums are added in their order; the
//! division follows from the shapes alone.

use std::sync::atomic::{AtomicBool, Ordering};

use wengert_kernels::parallel::{for_chunks, for_chunks_with};
use wengert_kernels::product::tile::{LARGEST, Steps};
use wengert_kernels::{Level, Pool, level};

use super::classes::{Copied, Geometry, ResidueClass, combined, fill_plane};
use super::number::{ConvNumber, all_finite};
use super::{LINE_BYTES, whole_lines};
use crate::plan::cost::{CHANNEL_PARTS, CHANNEL_STORE, CONV_PART, PANEL, PLANE_COPY};

/// Steps of a panel: it stays in the first cache.
const STEPS: usize = 256;
/// Places of a block of images, at least: the panels' cost is shared by them.
const PLACES: usize = 256;
/// The most bytes of partial sums for the sake of more parts.
const PARTIAL_BYTES: usize = 8 << 20;

/// A convolution in this form, prepared.
#[derive(Clone, Debug)]
pub(super) struct Channels {
    level: Level,
    /// Rows and lanes of a tile.
    rows: usize,
    lanes: usize,
    /// Tiles side by side that hold the output channels of a group.
    across: usize,
    /// Images of a block, and blocks.
    images: usize,
    blocks: usize,
    /// Channels whose planes are there at a time.
    channels: usize,
    /// Channels of a part of the sum, and parts.
    part: usize,
    parts: usize,
    classes: Vec<Gathered>,
    /// Numbers of the sums of a block: tiles of all classes.
    sums: usize,
    /// Whether an entry of the kernel that is not finite could meet a zero outside x.
    checks: bool,
    /// Numbers of a panel, and of the planes of a block.
    panel: usize,
    planes: usize,
}

/// One class of places.
#[derive(Clone, Debug)]
struct Gathered {
    /// The taps' numbers in the kernel.
    taps: Vec<usize>,
    /// Where the sums of a block begin.
    sums_at: usize,
    /// Where the places lie in the result and on a plane.
    out: Vec<usize>,
    places: Vec<usize>,
    /// Where the steps are: channels that are there at a time, and taps.
    steps: Vec<usize>,
    /// Elements from channel to channel and from image to image.
    channel: usize,
    image: usize,
    /// What a plane is copied from; nothing if x is read where it lies.
    copied: Option<Vec<Copied>>,
}

impl Gathered {
    fn new(geometry: &Geometry, class: &ResidueClass, channels: usize, sums_at: usize) -> Gathered {
        let [x, w, out] = &geometry.lengths;
        let (lengths, copied) = class.planes(x);
        let low = |axis: &super::classes::AxisClass| if copied.is_some() { axis.low() } else { 0 };
        let taps = class.taps(w);
        let axes: Vec<Vec<usize>> = class
            .axes
            .iter()
            .map(|axis| axis.taps.iter().map(|&(_, start)| (start - low(axis)) as usize).collect())
            .collect();
        let shifts = combined(&axes, &lengths);
        let axes: Vec<Vec<usize>> =
            class.axes.iter().map(|axis| (0..axis.count).map(|j| j * axis.step).collect()).collect();
        let [x_image, x_channel] = geometry.places[0].strides;
        let channel = if copied.is_some() { lengths.iter().product() } else { x_channel };
        Gathered {
            taps: taps.into_iter().map(|(place, _)| place).collect(),
            sums_at,
            out: class.out_places(out),
            places: combined(&axes, &lengths),
            steps: (0..channels).flat_map(|i| shifts.iter().map(move |shift| i * channel + shift)).collect(),
            channel,
            image: if copied.is_some() { channel * channels } else { x_image },
            copied,
        }
    }
}

impl Channels {
    /// Prepares it.
    pub(super) fn new<T: ConvNumber>(geometry: &Geometry) -> Channels {
        let level = level();
        let sizes = T::down_sizes(level);
        let (rows, lanes) = (sizes.rows[0], sizes.lanes);
        let across = geometry.outputs.div_ceil(lanes);
        let places = geometry.areas[2].max(1);
        let images = PLACES.div_ceil(places).min(geometry.images);
        let blocks = geometry.images.div_ceil(images);
        let images = geometry.images.div_ceil(blocks);
        let most_taps = geometry.classes.iter().map(|class| class.taps(&geometry.lengths[1]).len()).max().unwrap_or(0);
        let channels = (STEPS / most_taps.max(1)).clamp(1, geometry.inner);
        let (mut classes, mut sums) = (Vec::new(), 0);
        for class in &geometry.classes {
            classes.push(Gathered::new(geometry, class, channels, sums));
            sums += (images * class.places()).div_ceil(rows) * rows * across * lanes;
        }
        let sums = whole_lines::<T>(sums);
        let steps = geometry.inner.div_ceil(channels);
        let wanted = CHANNEL_PARTS / (geometry.groups * blocks);
        let worth = geometry.operations() / 2 / (geometry.groups * blocks * CONV_PART);
        let fits = PARTIAL_BYTES / (sums * size_of::<T>() * geometry.groups * blocks).max(1);
        let parts = wanted.min(worth).min(fits).clamp(1, steps);
        let part = steps.div_ceil(parts) * channels;
        let planes = classes.iter().filter(|class| class.copied.is_some()).map(|class| images * class.image).max();
        Channels {
            level,
            rows,
            lanes,
            across,
            images,
            blocks,
            channels,
            part,
            parts: geometry.inner.div_ceil(part),
            classes,
            sums,
            checks: geometry.has_padding(),
            panel: STEPS * lanes,
            planes: whole_lines::<T>(planes.unwrap_or(0)),
        }
    }

    /// What it costs about, in multiplications: for the choice of the form.
    pub(super) fn cost<T: ConvNumber>(&self, geometry: &Geometry) -> usize {
        let lanes = self.across * self.lanes;
        let of_class = |class: &Gathered| {
            let rows = (self.images * class.places.len()).next_multiple_of(self.rows);
            let steps = class.taps.len() * geometry.inner;
            let copied =
                if class.copied.is_some() { PLANE_COPY * self.images * geometry.inner * class.channel } else { 0 };
            rows * lanes * (steps + steps / 8) + PANEL * steps * lanes + copied
        };
        let blocks = geometry.groups * self.blocks;
        let stored = CHANNEL_STORE * geometry.images * geometry.groups * geometry.areas[2] * lanes * self.parts;
        blocks * self.classes.iter().map(of_class).sum::<usize>() + stored
    }

    /// Bytes of workspace.
    pub(super) fn workspace<T: ConvNumber>(&self, geometry: &Geometry, threads: usize) -> usize {
        let sums = self.sums * geometry.groups * self.blocks * self.parts;
        (sums + threads * (self.panel + self.planes)) * size_of::<T>() + LINE_BYTES
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
        let finite = AtomicBool::new(true);
        let all = self.sums * geometry.groups * self.blocks * self.parts;
        let (sums, rest) = workspace.split_at_mut(all);
        let scratch = &mut rest[..pool.threads() * (self.panel + self.planes)];
        for_chunks_with(pool, sums, self.sums, scratch, |number, sums, scratch| {
            if !self.part(geometry, number, [x, w], sums, scratch) {
                finite.store(false, Ordering::Relaxed);
            }
        });
        if !finite.into_inner() {
            return false;
        }
        let sums = &*sums;
        let image = geometry.groups * geometry.outputs * geometry.areas[2];
        for_chunks(pool, out, image, |image, out| self.join(geometry, image, sums, out));
        true
    }

    /// The sums of one part of the channels, for a block of images of a group; whether the kernel is finite there, if
    /// that matters.
    fn part<T: ConvNumber>(
        &self,
        geometry: &Geometry,
        number: usize,
        [x, w]: [&[T]; 2],
        sums: &mut [T],
        scratch: &mut [T],
    ) -> bool {
        let (block, part) = (number / self.parts, number % self.parts);
        let (group, first) = (block / self.blocks, block % self.blocks * self.images);
        let images = self.images.min(geometry.images - first);
        let inner = part * self.part..geometry.inner.min((part + 1) * self.part);
        let (panel, planes) = scratch.split_at_mut(self.panel);
        let mut finite = true;
        for class in &self.classes {
            let sums = &mut sums[class.sums_at..];
            if class.taps.is_empty() {
                let rows = (images * class.places.len()).next_multiple_of(self.rows);
                sums[..rows * self.across * self.lanes].fill(T::default());
            }
            for channel in inner.clone().step_by(self.channels) {
                let channels = self.channels.min(inner.end - channel);
                let x = &x[geometry.x_at(first, group) + channel * geometry.places[0].strides[1]..];
                let piece = Piece {
                    output: group * geometry.outputs,
                    images,
                    channel,
                    channels,
                    is_first: channel == inner.start,
                };
                let a = match &class.copied {
                    None => x,
                    Some(axes) => class.copy(geometry, &piece, axes, x, planes),
                };
                finite &= self.add(geometry, class, &piece, [a, w], sums, panel);
            }
        }
        finite
    }

    /// Adds the products of some channels to the tiles of a class.
    fn add<T: ConvNumber>(
        &self,
        geometry: &Geometry,
        class: &Gathered,
        piece: &Piece,
        [a, w]: [&[T]; 2],
        sums: &mut [T],
        panel: &mut [T],
    ) -> bool {
        let size = self.rows * self.lanes;
        let places = class.places.len();
        let rows = piece.images * places;
        let (mut tile, mut starts) = ([T::default(); LARGEST], [0; MOST_ROWS]);
        let mut finite = true;
        let all = &class.steps[..piece.channels * class.taps.len()];
        for (number, steps) in all.chunks(STEPS).enumerate() {
            let at = Steps::new(steps);
            let panel = &mut panel[..steps.len() * self.lanes];
            for across in 0..self.across {
                class.pack(geometry, piece, number * STEPS, across * self.lanes, self.lanes, w, panel);
                finite &= !self.checks || all_finite(panel);
                for (down, first) in (0..rows).step_by(self.rows).enumerate() {
                    for (k, start) in starts[..self.rows].iter_mut().enumerate() {
                        // Rows behind the last one repeat it; nobody reads them.
                        let row = (first + k).min(rows - 1);
                        *start = row / places * class.image + class.places[row % places];
                    }
                    let tile = &mut tile[..size];
                    T::down(self.level, a, &starts[..self.rows], panel, at, tile);
                    let sums = &mut sums[(down * self.across + across) * size..][..size];
                    if piece.is_first && number == 0 {
                        sums.copy_from_slice(tile);
                    } else {
                        sums.iter_mut().zip(tile).for_each(|(sum, tile)| *sum = *sum + *tile);
                    }
                }
            }
        }
        finite
    }

    /// Adds up the parts of an image's sums and puts them where they belong.
    fn join<T: ConvNumber>(&self, geometry: &Geometry, image: usize, sums: &[T], out: &mut [T]) {
        let (block, image, area) = (image / self.images, image % self.images, geometry.areas[2]);
        for (group, out) in out.chunks_exact_mut(geometry.outputs * area).enumerate() {
            let parts = &sums[(group * self.blocks + block) * self.parts * self.sums..][..self.parts * self.sums];
            for class in &self.classes {
                for (place, &target) in class.out.iter().enumerate() {
                    let row = image * class.out.len() + place;
                    let at = class.sums_at + row / self.rows * self.across * self.rows * self.lanes;
                    let at = at + row % self.rows * self.lanes;
                    for (across, out) in out.chunks_mut(self.lanes * area).enumerate() {
                        let at = at + across * self.rows * self.lanes;
                        for (lane, out) in out.chunks_exact_mut(area).enumerate() {
                            let mut parts = parts.chunks_exact(self.sums).map(|part| part[at + lane]);
                            let first = parts.next().expect("there is a part");
                            out[target] = parts.fold(first, |sum, part| sum + part);
                        }
                    }
                }
            }
        }
    }
}

/// The most rows of a tile of any level and type.
const MOST_ROWS: usize = 8;

/// The channels that are added at a time.
struct Piece {
    /// The first output channel of the group.
    output: usize,
    images: usize,
    /// The first channel, and how many.
    channel: usize,
    channels: usize,
    /// Whether nothing has been added before.
    is_first: bool,
}

impl Gathered {
    /// Copies the planes of some channels of a block of images, with zeros around.
    fn copy<'a, T: ConvNumber>(
        &self,
        geometry: &Geometry,
        piece: &Piece,
        axes: &[Copied],
        x: &[T],
        planes: &'a mut [T],
    ) -> &'a [T] {
        let (area, [images, channels]) = (geometry.areas[0], geometry.places[0].strides);
        for (image, planes) in planes.chunks_exact_mut(self.image).take(piece.images).enumerate() {
            let planes = planes.chunks_exact_mut(self.channel).take(piece.channels);
            for (channel, plane) in planes.enumerate() {
                fill_plane(axes, 0, &x[image * images + channel * channels..][..area], plane);
            }
        }
        planes
    }

    /// Puts output channels from `lane` on beside each other, from step `step` of the piece on; zeros fill it up.
    #[expect(clippy::too_many_arguments, reason = "the inner loop of one caller")]
    fn pack<T: ConvNumber>(
        &self,
        geometry: &Geometry,
        piece: &Piece,
        step: usize,
        lane: usize,
        lanes: usize,
        w: &[T],
        panel: &mut [T],
    ) {
        let area = geometry.areas[1];
        let used = lanes.min(geometry.outputs - lane);
        if used < lanes {
            panel.fill(T::default());
        }
        let (mut channel, mut tap, mut rest) = (step / self.taps.len(), step % self.taps.len(), panel);
        let all = self.taps.len() == area;
        while !rest.is_empty() && channel < piece.channels {
            let count = (self.taps.len() - tap).min(rest.len() / lanes);
            let (steps, behind) = std::mem::take(&mut rest).split_at_mut(count * lanes);
            let w = |k: usize| &w[geometry.w_at(piece.output + lane + k, piece.channel + channel)..][..area];
            let mut done = 0;
            while all && done + BESIDE <= used {
                transpose(std::array::from_fn(|k| &w(done + k)[tap..tap + count]), steps, lanes, done);
                done += BESIDE;
            }
            for k in done..used {
                let (w, steps) = (w(k), steps[k..].iter_mut().step_by(lanes));
                steps.zip(&self.taps[tap..]).for_each(|(step, &tap)| *step = w[tap]);
            }
            (channel, tap, rest) = (channel + 1, 0, behind);
        }
    }
}

/// Rows that are made columns side by side: what they write in a row of the panel is a piece of a cache line.
const BESIDE: usize = 8;

/// Rows of one length become columns of the panel, from column `at` on.
fn transpose<T: ConvNumber>(rows: [&[T]; BESIDE], panel: &mut [T], lanes: usize, at: usize) {
    let count = rows[0].len();
    let rows: [&[T]; BESIDE] = rows.map(|row| &row[..count]);
    for (k, panel) in panel.chunks_exact_mut(lanes).take(count).enumerate() {
        for (place, row) in panel[at..at + BESIDE].iter_mut().zip(rows) {
            *place = row[k];
        }
    }
}
