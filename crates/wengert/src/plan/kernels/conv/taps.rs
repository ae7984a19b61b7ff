//! Convolution with taps as lanes.
//!
//! For windows as large as the image and few places, where an output channel has no others beside it: the gradient with
//! respect to a depthwise kernel. A place of the result is a product of the kernel with a shifted part of x; rows of the
//! kernel are read once for several places.

use std::sync::atomic::{AtomicBool, Ordering};

use wengert_kernels::parallel::for_chunks_with;
use wengert_kernels::product::tile::Pair;
use wengert_kernels::{Level, Pool, level};

use super::classes::{AxisClass, Copied, Geometry, combined, fill_plane};
use super::number::{ConvNumber, all_finite};
use super::{LINE_BYTES, whole_lines};
use crate::plan::cost::{CONV_PART, PLANE_COPY, TAP_STORE};

/// A convolution in this form, prepared.
#[derive(Clone, Debug)]
pub(super) struct Taps {
    level: Level,
    lanes: usize,
    /// Where rows of the kernel begin, and what the first place meets there; how long they are.
    rows: Vec<Pair>,
    count: usize,
    /// How far further each place meets x, and where it lies in the result.
    shifts: Vec<usize>,
    out: Vec<usize>,
    /// What a plane is copied from; nothing if x is read where it lies.
    copied: Option<Vec<Copied>>,
    /// Whether an entry of the kernel that is not finite could meet a zero outside x.
    checks: bool,
    /// Planes of the result of a part.
    units: usize,
    /// Numbers of the sums of a plane, and of a copy.
    sums: usize,
    plane: usize,
}

impl Taps {
    /// Prepares it, if the taps of the last axis meet neighbours, in one way for all places.
    pub(super) fn new<T: ConvNumber>(geometry: &Geometry) -> Option<Taps> {
        let ([class], [x, w, out]) = (&geometry.classes[..], &geometry.lengths) else { return None };
        let (last, before) = class.axes.split_last()?;
        let beside = |taps: &[(usize, i64)]| taps[1].0 == taps[0].0 + 1 && taps[1].1 == taps[0].1 + 1;
        if !class.meets() || !last.taps.windows(2).all(beside) {
            return None;
        }
        let (lengths, copied) = class.planes(x);
        let low = |axis: &AxisClass| if copied.is_some() { axis.low() } else { 0 };
        // A row of the kernel begins at the first tap of the last axis that meets x.
        let rows = |of: &dyn Fn(&AxisClass, &(usize, i64)) -> usize, lengths: &[usize]| {
            let first = std::iter::once(vec![of(last, &last.taps[0])]);
            let axes = before.iter().map(|axis| axis.taps.iter().map(|tap| of(axis, tap)).collect());
            combined(&axes.chain(first).collect::<Vec<_>>(), lengths)
        };
        let (a, b) = (rows(&|_, tap| tap.0, w), rows(&|axis, tap| (tap.1 - low(axis)) as usize, &lengths));
        let steps: Vec<Vec<usize>> =
            class.axes.iter().map(|axis| (0..axis.count).map(|j| j * axis.step).collect()).collect();
        let shifts = combined(&steps, &lengths);
        let (level, planes) = (level(), geometry.images * geometry.groups * geometry.outputs);
        let lanes = T::dot_lanes(level);
        let work = geometry.operations() / 2 / planes;
        Some(Taps {
            level,
            lanes,
            rows: a.into_iter().zip(b).map(|(a, b)| Pair { a, b }).collect(),
            count: last.taps.len(),
            sums: whole_lines::<T>(shifts.len() * lanes),
            out: class.out_places(out),
            shifts,
            plane: if copied.is_some() { whole_lines::<T>(lengths.iter().product()) } else { 0 },
            copied,
            checks: geometry.has_padding(),
            units: CONV_PART.div_ceil(work.max(1)),
        })
    }

    /// What it costs about, in multiplications: for the choice of the form. Each of them reads a number of x.
    pub(super) fn cost(&self, geometry: &Geometry) -> usize {
        let row = self.count.next_multiple_of(self.lanes);
        let products = 2 * self.rows.len() * row * self.shifts.len();
        let planes = geometry.images * geometry.groups * geometry.outputs;
        planes * (geometry.inner * (products + PLANE_COPY * self.plane) + TAP_STORE * self.sums)
    }

    /// Bytes of workspace.
    pub(super) fn workspace<T: ConvNumber>(&self, threads: usize) -> usize {
        threads * (self.sums + self.plane) * size_of::<T>() + LINE_BYTES
    }

    /// Computes the result. Nothing is promised about it if this returns false: then the kernel has an entry that is not
    /// finite, which a zero outside x would meet.
    pub(super) fn run<T: ConvNumber>(
        &self,
        geometry: &Geometry,
        operands: [&[T]; 2],
        out: &mut [T],
        workspace: &mut [T],
        pool: &Pool,
    ) -> bool {
        let finite = AtomicBool::new(true);
        let area = geometry.areas[2];
        let scratch = &mut workspace[..pool.threads() * (self.sums + self.plane)];
        for_chunks_with(pool, out, self.units * area, scratch, |part, out, scratch| {
            for (k, out) in out.chunks_exact_mut(area).enumerate() {
                if !self.unit(geometry, part * self.units + k, operands, out, scratch) {
                    finite.store(false, Ordering::Relaxed);
                }
            }
        });
        finite.into_inner()
    }

    /// One plane of the result; whether what it was made of is finite, if that matters.
    fn unit<T: ConvNumber>(
        &self,
        geometry: &Geometry,
        unit: usize,
        [x, w]: [&[T]; 2],
        out: &mut [T],
        scratch: &mut [T],
    ) -> bool {
        let all = geometry.groups * geometry.outputs;
        let (image, output) = (unit / all, unit % all);
        let x = &x[geometry.x_at(image, output / geometry.outputs)..];
        let (sums, plane) = scratch.split_at_mut(self.sums);
        let sums = &mut sums[..self.shifts.len() * self.lanes];
        sums.fill(T::default());
        for channel in 0..geometry.inner {
            let x = &x[channel * geometry.places[0].strides[1]..][..geometry.areas[0]];
            let w = &w[geometry.w_at(output, channel)..][..geometry.areas[1]];
            if self.checks && !all_finite(w) {
                return false;
            }
            let b = match &self.copied {
                None => x,
                Some(axes) => {
                    let plane = &mut plane[..axes.iter().map(|axis| axis.count).product()];
                    fill_plane(axes, 0, x, plane);
                    &*plane
                }
            };
            T::dots(self.level, w, b, &self.rows, self.count, &self.shifts, sums);
        }
        for (&place, lanes) in self.out.iter().zip(sums.chunks_exact(self.lanes)) {
            out[place] = lanes.iter().fold(T::default(), |sum, &lane| sum + lane);
        }
        true
    }
}
