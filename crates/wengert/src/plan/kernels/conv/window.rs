//! The positions of the extremes of windows.
//!
//! The windows of a row of the result are compared side by side: tap by tap, in the order of the elements, so that the
//! first of equal ones stays. Windows that are far from each other, or a few alone, come one after the other.

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
const LANES: usize = 16;
/// Windows in a row from which on that pays.
const FEW: usize = 3;
/// The most elements from one window to the next with which they are compared side by side.
const WIDEST: usize = 4;
/// Taps that are compared at once, and a row of them that is copied where it reaches into the padding.
const GROUP: usize = 4;
const TAPS: usize = 4 * GROUP;
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
    /// Whether windows are compared side by side. Integers, which are rare, are not worth the code.
    const BESIDE: bool;
    /// The element that replaces no other one.
    fn replaces_none(extreme: Extreme) -> Self;
}

macro_rules! compared {
    ($element:ty, $kind:ident, $beside:literal, $least:expr, $most:expr) => {
        impl Compared for $element {
            const BESIDE: bool = $beside;
            #[inline(always)]
            fn replaces_none(extreme: Extreme) -> Self {
                match extreme {
                    Extreme::Max => $least,
                    Extreme::Min => $most,
                }
            }
            fn operand<'a>(slice: &Slice<'a>) -> &'a [Self] {
                let Slice::$kind(elements) = *slice else { unreachable!("the operand has the type of the kernel") };
                elements
            }
        }
    };
}

compared!(u8, U8, false, 0, u8::MAX);
compared!(i64, I64, false, i64::MIN, i64::MAX);
compared!(f32, F32, true, f32::NEG_INFINITY, f32::INFINITY);
compared!(f64, F64, true, f64::NEG_INFINITY, f64::INFINITY);

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
            images: PART.div_ceil(work.max(1)),
            rows,
            element: PhantomData,
        }
    }

    /// The element of the last axis at which a window's taps begin; before the first one in the padding.
    fn first(&self, window: usize) -> i64 {
        (window * self.stride) as i64 - self.low as i64
    }

    /// The windows of one row, some beside each other at a time, `S` elements apart.
    ///
    /// The last ones begin where as many are left; a few that are there twice are less work than a loop of another length.
    #[inline(always)]
    fn beside<const S: usize>(&self, extreme: Extreme, starts: &[usize], x: &[T], out: &mut [i64]) {
        let mut done = 0;
        while done < out.len() {
            let from = done.min(out.len().saturating_sub(LANES));
            let places = self.block::<S>(extreme, starts, from, x);
            let here = &mut out[from..];
            let count = here.len().min(LANES);
            here[..count].copy_from_slice(&places[..count]);
            done = from + count;
        }
    }

    /// The windows from `from` on. Taps in the padding are the element that replaces none.
    #[inline(always)]
    fn block<const S: usize>(&self, extreme: Extreme, starts: &[usize], from: usize, x: &[T]) -> [i64; LANES] {
        let none = T::replaces_none(extreme);
        let (first, last) = (self.first(from), (from + LANES).min(self.count) - 1);
        let is_inside = first >= 0 && self.first(last) + self.window as i64 <= self.length as i64;
        let (mut best, mut places) = ([none; LANES], [-1; LANES]);
        for &start in starts {
            for taps in (0..self.window).step_by(TAPS) {
                let count = TAPS.min(self.window - taps);
                // Lanes behind the last window read what is behind its row.
                let at = start as i64 + first + taps as i64;
                let inside = at as usize..(at as usize).saturating_add(LANES * S + TAPS);
                let mut padded;
                let row = match x.get(inside).filter(|_| is_inside) {
                    Some(row) => row,
                    None => {
                        padded = [none; LANES * WIDEST + TAPS];
                        shifted(&x[start..start + self.length], first + taps as i64, &mut padded[..LANES * S + TAPS]);
                        &padded
                    }
                };
                let mut tap = 0;
                while tap < count {
                    let (row, place) = (&row[tap..tap + LANES * S + GROUP], at + tap as i64);
                    let group = (count - tap).min(GROUP);
                    match group {
                        1 => compare::<T, S, 1>(extreme, row, place, &mut best, &mut places),
                        2 => compare::<T, S, 2>(extreme, row, place, &mut best, &mut places),
                        3 => compare::<T, S, 3>(extreme, row, place, &mut best, &mut places),
                        _ => compare::<T, S, GROUP>(extreme, row, place, &mut best, &mut places),
                    }
                    tap += group;
                }
            }
        }
        // Where no tap replaced the element that replaces none, all are that one.
        for (lane, place) in places.iter_mut().enumerate().filter(|(_, place)| **place < 0) {
            *place = starts[0] as i64 + (first + (lane * S) as i64).max(0);
        }
        places
    }

    /// The windows of one row, one after the other.
    #[inline(always)]
    fn apart(&self, extreme: Extreme, starts: &[usize], x: &[T], out: &mut [i64]) {
        for (window, out) in out.iter_mut().enumerate() {
            let first = self.first(window);
            let taps = first.max(0) as usize..(first + self.window as i64).min(self.length as i64) as usize;
            let mut at = starts[0] + taps.start;
            let mut best = x[at];
            for start in starts {
                let first = start + taps.start;
                for (tap, new) in x[first..start + taps.end].iter().enumerate() {
                    let replaces = extreme.replaces(new, &best);
                    (best, at) = if replaces { (*new, first + tap) } else { (best, at) };
                }
            }
            *out = at as i64;
        }
    }
}

/// Compares with the taps that lie at the beginning of a row, `N` of them, `S` elements from one window to the next.
///
/// The taps are counted in the compiler, and what is compared is in memory before and behind: in a loop over taps, or with
/// numbers that stay in registers from row to row, it takes the vectors apart, and needs two to four times as long.
#[inline(always)]
fn compare<T: Compared, const S: usize, const N: usize>(
    extreme: Extreme,
    row: &[T],
    place: i64,
    best: &mut [T; LANES],
    places: &mut [i64; LANES],
) {
    std::hint::black_box((&mut *best, &mut *places));
    let (mut own, mut taken) = (*best, [-1_i32; LANES]);
    for tap in 0..N {
        let (new, _) = row[tap..tap + LANES * S].as_chunks::<S>();
        for lane in 0..LANES {
            let replaces = extreme.replaces(&new[lane][0], &own[lane]);
            own[lane] = if replaces { new[lane][0] } else { own[lane] };
            taken[lane] = if replaces { tap as i32 } else { taken[lane] };
        }
    }
    *best = own;
    for lane in 0..LANES {
        let place = place + (lane * S) as i64 + i64::from(taken[lane]);
        places[lane] = if taken[lane] < 0 { places[lane] } else { place };
    }
}

/// The elements of a row from `first` on, where the row has them.
fn shifted<T: Copy>(row: &[T], first: i64, out: &mut [T]) {
    let before = first.min(0).unsigned_abs() as usize;
    let row = row.get(first.max(0) as usize..).unwrap_or_default();
    let count = row.len().min(out.len().saturating_sub(before));
    if count > 0 {
        out[before..before + count].copy_from_slice(&row[..count]);
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
                match windows.stride {
                    _ if !T::BESIDE || windows.count < FEW => windows.apart(extreme, starts, x, out),
                    1 => windows.beside::<1>(extreme, starts, x, out),
                    2 => windows.beside::<2>(extreme, starts, x, out),
                    3 => windows.beside::<3>(extreme, starts, x, out),
                    WIDEST => windows.beside::<WIDEST>(extreme, starts, x, out),
                    _ => windows.apart(extreme, starts, x, out),
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

impl<T: Compared> Kernel for Windows<T> {
    fn name(&self) -> String {
        match self.extreme {
            Extreme::Max => "window_argmax",
            Extreme::Min => "window_argmin",
        }
        .to_owned()
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
