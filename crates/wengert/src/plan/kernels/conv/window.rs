//! The positions of the extremes of windows.
//!
//! The windows of a row of the result are compared side by side: tap by tap, in the order of the elements, so that the
//! first of equal ones stays. Windows of 2x2 beside each other are the common ones and have a loop of their own.

use std::fmt::Debug;
use std::marker::PhantomData;
use std::ops::Range;

use wengert_kernels::parallel::for_chunks;
use wengert_kernels::region::{Slice, SliceMut};
use wengert_kernels::{Work, dispatch};

use crate::array::{DType, Type, for_each_index, row_major};
use crate::error::Misfit;
use crate::plan::kernel::{Kernel, KernelCall};
use crate::primitives::{Extreme, WindowArg};

/// Windows that are compared side by side.
const LANES: usize = 64;
/// The least number of comparisons of a part.
const PART: usize = 1 << 16;

/// The kernel of the positions of extremes for an operand of this type.
///
/// The operation has to have been inferred for it: `out` is the type of its result. It agrees with the definition to the
/// bit: the first of equal elements, the first NaN if there is one, never the padding.
pub(crate) fn window_arg(op: &WindowArg, args: &[&Type], out: &Type) -> Box<dyn Kernel> {
    match args[0].dtype {
        DType::Bool => Box::new(Windows::<u8>::new(op, args[0], out)),
        DType::I64 => Box::new(Windows::<i64>::new(op, args[0], out)),
        DType::F32 => Box::new(Windows::<f32>::new(op, args[0], out)),
        DType::F64 => Box::new(Windows::<f64>::new(op, args[0], out)),
    }
}

/// Elements that windows compare.
trait Compared: Copy + Default + PartialOrd + Debug + Send + Sync + 'static {
    /// The elements of an operand of this type.
    fn operand<'a>(slice: &Slice<'a>) -> &'a [Self];
}

macro_rules! compared {
    ($element:ty, $kind:ident) => {
        impl Compared for $element {
            fn operand<'a>(slice: &Slice<'a>) -> &'a [Self] {
                let Slice::$kind(elements) = *slice else { unreachable!("the operand has the type of the kernel") };
                elements
            }
        }
    };
}

compared!(u8, U8);
compared!(i64, I64);
compared!(f32, F32);
compared!(f64, F64);

/// The operation, prepared.
#[derive(Debug)]
struct Windows<T> {
    extreme: Extreme,
    /// Elements and windows of an image.
    area: usize,
    windows: usize,
    /// The last axis: elements, windows, and what the options say.
    length: usize,
    count: usize,
    window: usize,
    stride: usize,
    low: usize,
    /// For every row of windows, where the rows of elements that it reaches begin.
    rows: Vec<Vec<usize>>,
    /// Whether windows are 2x2 and beside each other.
    pairs: bool,
    /// Images of a part.
    images: usize,
    element: PhantomData<T>,
}

impl<T: Compared> Windows<T> {
    fn new(op: &WindowArg, x: &Type, out: &Type) -> Self {
        let leading = x.rank() - op.window.len();
        let (lengths, counts) = (&x.shape[leading..], &out.shape[leading..]);
        let (strides, outer) = (row_major(lengths), lengths.len().saturating_sub(1));
        let mut rows = Vec::new();
        for_each_index(&counts[..outer], |place| {
            let range = |axis: usize| -> Range<usize> {
                let (start, low) = (place[axis] * op.stride[axis], op.padding[axis].0);
                start.saturating_sub(low)..(start + op.window[axis]).saturating_sub(low).min(lengths[axis])
            };
            let mut starts = vec![0];
            for (axis, &stride) in strides[..outer].iter().enumerate() {
                let longer = |&start: &usize| range(axis).map(move |index| start + index * stride);
                starts = starts.iter().flat_map(longer).collect();
            }
            rows.push(starts);
        });
        let last = |values: &[usize], without: usize| values.last().copied().unwrap_or(without);
        let windows: usize = counts.iter().product();
        let work = windows * op.window.iter().product::<usize>();
        Windows {
            extreme: op.extreme,
            area: lengths.iter().product(),
            windows,
            length: last(lengths, 1),
            count: last(counts, 1),
            window: last(&op.window, 1),
            stride: last(&op.stride, 1),
            low: op.padding.last().map_or(0, |padding| padding.0),
            pairs: op.window == [2, 2]
                && op.stride == [2, 2]
                && op.padding.iter().all(|&(low, _)| low == 0)
                && op.padding.iter().all(|&(_, high)| high == 0),
            images: PART.div_ceil(work.max(1)),
            rows,
            element: PhantomData,
        }
    }

    /// The windows of one row, `from` the first window on.
    #[inline(always)]
    fn compare(&self, extreme: Extreme, starts: &[usize], from: usize, x: &[T], out: &mut [i64]) {
        let (mut best, mut places) = ([T::default(); LANES], [-1; LANES]);
        for start in starts {
            let row = &x[*start..][..self.length];
            for tap in 0..self.window {
                // The windows whose tap is not in the padding.
                let first = self.low.saturating_sub(tap).div_ceil(self.stride).max(from);
                let end = (self.length + self.low).saturating_sub(tap).div_ceil(self.stride).min(from + out.len());
                if first >= end {
                    continue;
                }
                let element = first * self.stride + tap - self.low;
                let (lanes, place) = (first - from..end - from, (start + element) as i64);
                let (best, places) = (&mut best[lanes.clone()], &mut places[lanes]);
                if self.stride == 1 {
                    let row = &row[element..element + best.len()];
                    replace(extreme, best, places, row.iter(), place, 1);
                } else {
                    let row = row[element..].iter().step_by(self.stride);
                    replace(extreme, best, places, row, place, self.stride as i64);
                }
            }
        }
        out.copy_from_slice(&places[..out.len()]);
    }
}

/// Puts elements in the place of those that they replace, or of none.
#[inline(always)]
fn replace<'a, T: Compared>(
    extreme: Extreme,
    best: &mut [T],
    places: &mut [i64],
    row: impl Iterator<Item = &'a T>,
    first: i64,
    step: i64,
) {
    for (lane, ((best, place), new)) in best.iter_mut().zip(places).zip(row).enumerate() {
        let replaces = (*place < 0) | extreme.replaces(new, best);
        *best = if replaces { *new } else { *best };
        *place = if replaces { first + lane as i64 * step } else { *place };
    }
}

/// The windows of some images.
struct Images<'a, T> {
    windows: &'a Windows<T>,
    x: &'a [T],
    out: &'a mut [i64],
}

impl<T: Compared> Images<'_, T> {
    #[inline(always)]
    fn compare(self, extreme: Extreme) {
        let Images { windows, x, out } = self;
        for (x, out) in x.chunks_exact(windows.area).zip(out.chunks_exact_mut(windows.windows)) {
            for (starts, out) in windows.rows.iter().zip(out.chunks_exact_mut(windows.count)) {
                if windows.pairs {
                    pairs(extreme, starts[0], windows.length, x, out);
                    continue;
                }
                for (block, out) in out.chunks_mut(LANES).enumerate() {
                    windows.compare(extreme, starts, block * LANES, x, out);
                }
            }
        }
    }
}

impl<T: Compared> Work for Images<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        // The extreme is a constant in each loop.
        match self.windows.extreme {
            Extreme::Max => self.compare(Extreme::Max),
            Extreme::Min => self.compare(Extreme::Min),
        }
    }
}

/// A row of windows of 2x2: the upper row of elements begins at `start`, the lower one behind it.
///
/// Every tap gets an array of its own, and loops over them whose length is not known to the compiler: it makes vectors of
/// these, and scalar code of short ones.
#[inline(always)]
fn pairs<T: Compared>(extreme: Extreme, start: usize, length: usize, x: &[T], out: &mut [i64]) {
    let (upper, lower) = x[start..start + 2 * length].split_at(length);
    for (block, out) in out.chunks_mut(LANES).enumerate() {
        let (first, count) = (2 * block * LANES, out.len());
        let [mut best, mut beside, mut below, mut across] = [[T::default(); LANES]; 4];
        split(&upper[first..first + 2 * count], &mut best, &mut beside);
        split(&lower[first..first + 2 * count], &mut below, &mut across);
        let mut taps = [0_i32; LANES];
        for (tap, new) in [(1, &beside), (2, &below), (3, &across)] {
            for ((best, taken), new) in best[..count].iter_mut().zip(&mut taps[..count]).zip(&new[..count]) {
                let replaces = extreme.replaces(new, best);
                *best = if replaces { *new } else { *best };
                *taken = if replaces { tap } else { *taken };
            }
        }
        for (lane, (out, &tap)) in out.iter_mut().zip(&taps[..count]).enumerate() {
            let place = start + first + 2 * lane;
            *out = place as i64 + i64::from(tap >> 1) * length as i64 + i64::from(tap & 1);
        }
    }
}

/// The elements with even and those with odd places.
#[inline(always)]
fn split<T: Copy>(row: &[T], even: &mut [T; LANES], odd: &mut [T; LANES]) {
    for ((pair, even), odd) in row.as_chunks::<2>().0.iter().zip(even).zip(odd) {
        (*even, *odd) = (pair[0], pair[1]);
    }
}

impl<T: Compared> Kernel for Windows<T> {
    fn name(&self) -> String {
        let name = match self.extreme {
            Extreme::Max => "window_argmax",
            Extreme::Min => "window_argmin",
        };
        if self.pairs { format!("{name}, 2x2") } else { name.to_owned() }
    }

    fn operations(&self) -> usize {
        self.rows.iter().map(|starts| starts.len() * self.window * self.count).sum()
    }

    fn run(&self, call: KernelCall<'_, '_>) -> Result<(), Misfit> {
        let x = T::operand(&call.args[0]);
        let SliceMut::I64(out) = &mut call.outs[0] else { unreachable!("positions are integers") };
        if out.is_empty() {
            return Ok(());
        }
        for_chunks(call.pool, out, self.images * self.windows, |part, out| {
            let first = part * self.images * self.area;
            let x = &x[first..][..out.len() / self.windows * self.area];
            dispatch(Images { windows: self, x, out });
        });
        Ok(())
    }
}
