//! What a convolution is along each axis: arithmetic progressions, without input dilation.
//!
//! With an input dilation d most taps of the kernel meet a gap. Which ones do depends on the place p of the result only
//! through its remainder by `d / gcd(stride, d)`: place p meets element `(p stride + k kernel_dilation - low) / d` of x
//! through tap k if that is whole. So the places with one remainder are a convolution of their own, with fewer taps and
//! no dilation: their j-th one meets element `start[k] + j step`. No multiplication by the zeros of gaps is left.

use crate::plan::view::View;
use crate::primitives::Conv;

/// The places of one axis with one remainder, and the taps that meet x there.
#[derive(Clone, Debug)]
pub(super) struct AxisClass {
    /// The first place of the result, and the distance of the next one.
    pub(super) out: usize,
    pub(super) out_step: usize,
    /// How many places there are.
    pub(super) count: usize,
    /// How many elements of x are between what neighbouring places meet.
    pub(super) step: usize,
    /// The taps: their number in the kernel, and the element of x at the first place, which may be outside. Both rise.
    pub(super) taps: Vec<(usize, i64)>,
    /// The length of x.
    pub(super) length: usize,
}

impl AxisClass {
    /// The first element of x that is met, maybe outside.
    pub(super) fn low(&self) -> i64 {
        self.taps.first().map_or(0, |&(_, start)| start)
    }

    /// From the first to the last element that a tap meets.
    pub(super) fn travel(&self) -> usize {
        self.count.saturating_sub(1) * self.step
    }

    /// From the first to the last element that is met.
    pub(super) fn reach(&self) -> usize {
        let high = self.taps.last().map_or(0, |&(_, start)| start);
        (high - self.low()) as usize + self.travel() + 1
    }

    /// Whether all that is met lies in x.
    pub(super) fn is_inside(&self) -> bool {
        self.low() >= 0 && self.low() as usize + self.reach() <= self.length
    }
}

/// The remainders along one axis.
fn axis_classes(op: &Conv, axis: usize, x: usize, w: usize, out: usize) -> Vec<AxisClass> {
    let (stride, dilation) = (op.stride[axis], op.input_dilation[axis]);
    let period = dilation / gcd(stride, dilation);
    let class = |first: usize| {
        let count = (out - first).div_ceil(period);
        let step = if count > 1 { period * stride / dilation } else { 1 };
        let tap = |k: usize| {
            let place = (first * stride + k * op.kernel_dilation[axis]) as i64 - op.padding[axis].0;
            (place % dilation as i64 == 0).then_some((k, place / dilation as i64))
        };
        // The first element at or behind the beginning of x, if a place reaches it before the end.
        let meets = |&(_, start): &(usize, i64)| {
            let skipped = if start < 0 { start.unsigned_abs().div_ceil(step as u64) as usize } else { 0 };
            skipped < count && start + ((skipped * step) as i64) < x as i64
        };
        let taps = (0..w).filter_map(tap).filter(meets).collect();
        AxisClass { out: first, out_step: period, count, step, taps, length: x }
    };
    (0..period.min(out)).map(class).collect()
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Places, row-major, on planes of these lengths: from all combinations of the axes' elements.
pub(super) fn combined(axes: &[Vec<usize>], lengths: &[usize]) -> Vec<usize> {
    let mut places = vec![0];
    for (axis, length) in axes.iter().zip(lengths) {
        places = places.iter().flat_map(|place| axis.iter().map(move |element| place * length + element)).collect();
    }
    places
}

/// The places of all axes with one combination of remainders.
#[derive(Clone, Debug)]
pub(super) struct ResidueClass {
    pub(super) axes: Vec<AxisClass>,
}

impl ResidueClass {
    /// How many places it has.
    pub(super) fn places(&self) -> usize {
        self.axes.iter().map(|axis| axis.count).product()
    }

    /// Whether its places meet x at all.
    pub(super) fn meets(&self) -> bool {
        self.axes.iter().all(|axis| !axis.taps.is_empty())
    }

    /// Whether all that its places meet lies in x.
    pub(super) fn is_inside(&self) -> bool {
        self.axes.iter().all(AxisClass::is_inside)
    }

    /// The numbers of its taps in the kernel, in order, each with the element of x that it meets first on every axis.
    pub(super) fn taps(&self, w: &[usize]) -> Vec<(usize, Vec<i64>)> {
        let mut taps = vec![(0, Vec::new())];
        for (axis, &length) in self.axes.iter().zip(w) {
            let longer = |(place, starts): &(usize, Vec<i64>)| {
                let (place, starts) = (*place * length, starts.clone());
                axis.taps
                    .iter()
                    .map(move |&(k, start)| (place + k, [&starts[..], &[start]].concat()))
                    .collect::<Vec<_>>()
            };
            taps = taps.iter().flat_map(longer).collect();
        }
        taps
    }

    /// The planes from which its places read, by their lengths, and what each axis of them is copied from if zeros belong around x.
    pub(super) fn planes(&self, x: &[usize]) -> (Vec<usize>, Option<Vec<Copied>>) {
        if self.is_inside() {
            return (x.to_vec(), None);
        }
        let copied = |axis: &AxisClass| Copied { first: axis.low(), step: 1, count: axis.reach(), length: axis.length };
        (self.axes.iter().map(AxisClass::reach).collect(), Some(self.axes.iter().map(copied).collect()))
    }

    /// Where its places lie in the result, in order, and how far the next one of the last axis is.
    pub(super) fn out_places(&self, out: &[usize]) -> Vec<usize> {
        let mut places = vec![0];
        for (axis, &length) in self.axes.iter().zip(out) {
            let places_of =
                |&place: &usize| (0..axis.count).map(move |j| place * length + axis.out + j * axis.out_step);
            places = places.iter().flat_map(places_of).collect();
        }
        places
    }
}

/// Where the planes of an operand lie: from image to image, or output channel to output channel, and from channel to
/// channel. The elements of a plane follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Planes {
    pub(crate) offset: usize,
    pub(crate) strides: [usize; 2],
}

impl Planes {
    /// The planes of a view, if they are whole.
    pub(crate) fn of(view: &View) -> Option<Planes> {
        let axes = view.shape[2..].iter().zip(&view.strides[2..]).rev();
        let mut next = 1;
        for (&length, &stride) in axes {
            if length > 1 && stride != next {
                return None;
            }
            next *= length.cast_signed();
        }
        let [first, second] = [0, 1].map(|k| usize::try_from(view.strides[k]).ok());
        Some(Planes { offset: view.offset, strides: [first?, second?] })
    }
}

/// A convolution of non-empty arrays with a non-empty result, by its numbers.
#[derive(Clone, Debug)]
pub(super) struct Geometry {
    /// Images of the result.
    pub(super) images: usize,
    /// Groups of both kinds; one kind is always 1.
    pub(super) groups: usize,
    /// How many images further in x the next group is.
    image_step: usize,
    /// How many channels further in x the next group is.
    channel_step: usize,
    /// Where x and the kernel lie.
    pub(super) places: [Planes; 2],
    /// Channels of the kernel: those that are summed over.
    pub(super) inner: usize,
    /// Output channels of a group.
    pub(super) outputs: usize,
    /// Spatial lengths of x, the kernel and the result, and their products.
    pub(super) lengths: [Vec<usize>; 3],
    pub(super) areas: [usize; 3],
    /// The combinations of remainders.
    pub(super) classes: Vec<ResidueClass>,
}

impl Geometry {
    pub(super) fn new(op: &Conv, [x, w, out]: [&[usize]; 3], places: [Planes; 2]) -> Geometry {
        let lengths = [x, w, out].map(|shape| shape[2..].to_vec());
        let groups = op.groups * op.batch_groups;
        let mut classes = vec![ResidueClass { axes: Vec::new() }];
        for (axis, &length) in lengths[0].iter().enumerate() {
            let of_axis = axis_classes(op, axis, length, lengths[1][axis], lengths[2][axis]);
            let longer = |class: &ResidueClass| {
                let axes = class.axes.clone();
                of_axis
                    .iter()
                    .map(move |axis| ResidueClass { axes: [&axes[..], std::slice::from_ref(axis)].concat() })
                    .collect::<Vec<_>>()
            };
            classes = classes.iter().flat_map(longer).collect();
        }
        let areas = [0, 1, 2].map(|k| lengths[k].iter().product());
        Geometry {
            images: out[0],
            groups,
            image_step: if op.batch_groups > 1 { out[0] } else { 0 },
            channel_step: if op.groups > 1 { w[1] } else { 0 },
            places,
            inner: w[1],
            outputs: w[0] / groups,
            lengths,
            areas,
            classes,
        }
    }

    /// Where the channels begin in x that an image and group of the result are made of.
    pub(super) fn x_at(&self, image: usize, group: usize) -> usize {
        let [images, channels] = self.places[0].strides;
        (image + group * self.image_step) * images + group * self.channel_step * channels
    }

    /// Where a channel of the kernel begins.
    pub(super) fn w_at(&self, output: usize, channel: usize) -> usize {
        let [outputs, channels] = self.places[1].strides;
        output * outputs + channel * channels
    }

    /// Whether something outside x is met: a zero that must not be multiplied by an infinity.
    pub(super) fn has_padding(&self) -> bool {
        self.classes.iter().any(|class| class.meets() && !class.is_inside())
    }

    /// Multiplications and additions, without those with what is outside x in gaps.
    pub(super) fn operations(&self) -> usize {
        let of_class =
            |class: &ResidueClass| class.places() * class.axes.iter().map(|axis| axis.taps.len()).product::<usize>();
        let sums: usize = self.classes.iter().map(of_class).sum();
        2 * sums * self.images * self.groups * self.outputs * self.inner
    }
}

/// One axis of a copied plane: from which element of x on, at which distance, how many, out of how many.
#[derive(Clone, Copy, Debug)]
pub(super) struct Copied {
    pub(super) first: i64,
    pub(super) step: usize,
    pub(super) count: usize,
    pub(super) length: usize,
}

impl Copied {
    /// Those of `0..count` that lie in x.
    fn inside(&self, first: i64) -> (usize, usize) {
        let step = self.step as i64;
        let begin = if first < 0 { (-first + step - 1) / step } else { 0 };
        let room = self.length as i64 - 1 - first;
        let end = if room < 0 { 0 } else { room / step + 1 };
        let end = (end as usize).min(self.count);
        ((begin as usize).min(end), end)
    }
}

/// Copies every `step`-th element of x until `to` is full.
pub(super) fn copy_every<T: Copy>(step: usize, x: &[T], to: &mut [T]) {
    match step {
        1 => to.copy_from_slice(&x[..to.len()]),
        2 => {
            // Pairs become vectors; the last element may have no other one behind it.
            let Some((last, to)) = to.split_last_mut() else { return };
            *last = x[2 * to.len()];
            for (to, &[first, _]) in to.iter_mut().zip(x.as_chunks().0) {
                *to = first;
            }
        }
        _ => {
            for (to, x) in to.iter_mut().zip(x.chunks(step)) {
                *to = x[0];
            }
        }
    }
}

/// Fills a plane from x, with zeros for what is outside; `skip` elements of the first axis are passed over.
pub(super) fn fill_plane<T: Copy + Default>(axes: &[Copied], skip: i64, x: &[T], plane: &mut [T]) {
    let [axis, rest @ ..] = axes else {
        plane[0] = x[0];
        return;
    };
    let first = axis.first + skip;
    let (begin, end) = axis.inside(first);
    let row = plane.len() / axis.count;
    let (before, plane) = plane.split_at_mut(begin * row);
    let (plane, behind) = plane.split_at_mut((end - begin) * row);
    before.fill(T::default());
    behind.fill(T::default());
    if begin == end {
        return;
    }
    let start = (first + (begin * axis.step) as i64) as usize;
    let stride = x.len() / axis.length;
    let starts = (start..).step_by(axis.step).map(|start| start * stride);
    match rest {
        [] => copy_every(axis.step, &x[start..], plane),
        // All rows alike: finding the ends again for each would take longer than copying a short row.
        [inner] => {
            let (begin, end) = inner.inside(inner.first);
            let skipped = (inner.first + (begin * inner.step) as i64) as usize;
            for (row, start) in plane.chunks_exact_mut(row).zip(starts) {
                row[..begin].fill(T::default());
                row[end..].fill(T::default());
                if begin < end {
                    copy_every(inner.step, &x[start + skipped..][..stride - skipped], &mut row[begin..end]);
                }
            }
        }
        _ => {
            for (plane, start) in plane.chunks_exact_mut(row).zip(starts) {
                fill_plane(rest, 0, &x[start..][..stride], plane);
            }
        }
    }
}
