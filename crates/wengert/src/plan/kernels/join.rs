//! Pad and concat: blocks of operands among others.

use std::ops::Range;

use wengert_kernels::parallel::for_chunks;
use wengert_kernels::region::Kind;

use super::nest::{Axis, Picture, merged};
use super::{Cell, GRAIN, Kernel, KernelCall, for_kind, rows_per_part};
use crate::array::{DType, Type};
use crate::error::Misfit;
use crate::plan::kernel::kind;
use crate::plan::view::View;
use crate::primitives;

/// An axis of a padded array.
#[derive(Clone, Copy, Debug)]
struct PadAxis {
    /// Places from one element to the next.
    step: usize,
    /// The place of element 0, which may not be there.
    low: i64,
    /// Length before.
    length: usize,
    /// Length after.
    padded: usize,
    /// Elements of the operand behind one index.
    inner: usize,
    /// Elements of the result behind one index.
    padded_inner: usize,
}

impl PadAxis {
    /// The elements whose places are in this range.
    fn elements(&self, places: &Range<usize>) -> Range<usize> {
        let step = self.step as i64;
        let before = |place: usize| (place as i64 - self.low + step - 1).div_euclid(step).clamp(0, self.length as i64);
        let (first, last) = (before(places.start), before(places.end));
        first as usize..last.max(first) as usize
    }

    /// The place of an element that is there.
    fn place(&self, element: usize) -> usize {
        (self.low + (element * self.step) as i64) as usize
    }
}

/// Elements among copies of a number.
#[derive(Clone, Debug)]
pub(super) struct PadKernel {
    kind: Kind,
    axes: Vec<PadAxis>,
    size: usize,
}

impl PadKernel {
    pub(super) fn new(op: &primitives::Pad, x: &Type, out: &Type) -> Self {
        let mut axes: Vec<PadAxis> = Vec::with_capacity(x.rank());
        let mut inner = (1, 1);
        for axis in (0..x.rank()).rev() {
            let (length, padded) = (x.shape[axis], out.shape[axis]);
            let untouched = op.low[axis] == 0 && op.high[axis] == 0 && (op.interior[axis] == 0 || length <= 1);
            // Axes at the end that stay whole are runs; a run's length is that of the innermost axis that does not.
            if !(axes.is_empty() && untouched) {
                let (low, step) = (op.low[axis], op.interior[axis] + 1);
                axes.push(PadAxis { step, low, length, padded, inner: inner.0, padded_inner: inner.1 });
            }
            inner = (inner.0 * length, inner.1 * padded);
        }
        axes.reverse();
        if axes.is_empty() {
            axes.push(PadAxis { step: 1, low: 0, length: 1, padded: 1, inner: inner.0, padded_inner: inner.1 });
        }
        PadKernel { kind: kind(x.dtype), axes, size: out.size() }
    }
}

/// The places in `places` along the first axis: `out` has all behind them.
fn pad<T: Cell>(axes: &[PadAxis], places: Range<usize>, x: &[T], value: T, out: &mut [T]) {
    let [axis, rest @ ..] = axes else { return };
    let elements = axis.elements(&places);
    if rest.is_empty() && axis.step == 1 && !elements.is_empty() {
        // They follow each other: one copy.
        let first = (axis.place(elements.start) - places.start) * axis.padded_inner;
        let run = &x[elements.start * axis.inner..elements.end * axis.inner];
        out[..first].fill(value);
        out[first..first + run.len()].copy_from_slice(run);
        return out[first + run.len()..].fill(value);
    }
    if rest.is_empty() && axis.inner == 1 && !elements.is_empty() {
        let (before, out) = out.split_at_mut(axis.place(elements.start) - places.start);
        before.fill(value);
        return spread(axis.step, &x[elements], value, out);
    }
    let mut filled = 0;
    for element in elements {
        let place = (axis.place(element) - places.start) * axis.padded_inner;
        out[filled..place].fill(value);
        filled = place + axis.padded_inner;
        let (x, block) = (&x[element * axis.inner..][..axis.inner], &mut out[place..filled]);
        match rest.first() {
            Some(next) => pad(rest, 0..next.padded, x, value, block),
            None => block.copy_from_slice(x),
        }
    }
    out[filled..].fill(value);
}

/// Every `step`-th place has an element, from the first on, as far as there are elements; the others have the number.
fn spread<T: Cell>(step: usize, x: &[T], value: T, out: &mut [T]) {
    /// As many whole steps as there are; how many that was.
    fn whole<T: Cell, const STEP: usize>(x: &[T], value: T, out: &mut [T]) -> usize {
        let (steps, _) = out.as_chunks_mut::<STEP>();
        let count = steps.len().min(x.len());
        for (out, &x) in steps.iter_mut().zip(x) {
            *out = std::array::from_fn(|k| if k == 0 { x } else { value });
        }
        count
    }
    // Known steps become vectors.
    let done = match step {
        2 => whole::<T, 2>(x, value, out),
        3 => whole::<T, 3>(x, value, out),
        4 => whole::<T, 4>(x, value, out),
        _ => 0,
    };
    let (x, out) = (&x[done..], &mut out[done * step..]);
    out.fill(value);
    for (out, &x) in out.iter_mut().step_by(step).zip(x) {
        *out = x;
    }
}

impl Kernel for PadKernel {
    fn name(&self) -> String {
        "pad".to_owned()
    }
    fn operations(&self) -> usize {
        self.size
    }
    fn run(&self, call: KernelCall<'_, '_>) -> Result<(), Misfit> {
        let row = self.axes[0].padded_inner.max(1);
        let rows = rows_per_part(row);
        for_kind!(self.kind, T => {
            let (x, value, out) = (T::of(&call.args[0]), T::of(&call.args[1])[0], T::of_mut(&mut call.outs[0]));
            for_chunks(call.pool, out, rows * row, |number, out| {
                let first = number * rows;
                pad(&self.axes, first..first + out.len() / row, x, value, out);
            });
        });
        Ok(())
    }
}

/// Operands one after the other along an axis.
#[derive(Clone, Debug)]
pub(super) struct ConcatKernel {
    kind: Kind,
    /// Elements of each operand in a row of the result.
    widths: Vec<usize>,
    row: usize,
    size: usize,
}

impl ConcatKernel {
    pub(super) fn new(op: primitives::Concat, args: &[&Type], out: &Type) -> Self {
        let width = |ty: &Type| ty.shape[op.axis..].iter().product::<usize>();
        let widths = args.iter().map(|arg| width(arg)).collect();
        ConcatKernel { kind: kind(out.dtype), widths, row: width(out), size: out.size() }
    }
}

/// Views one after the other along an axis, read where they lie.
#[derive(Clone, Debug)]
pub(super) struct ConcatViewsKernel {
    kind: Kind,
    parts: Vec<ConcatPart>,
    row: usize,
    size: usize,
}

/// An operand of a concatenation.
#[derive(Clone, Debug)]
struct ConcatPart {
    /// The axes before the one that is joined.
    outer: Vec<Axis>,
    /// Its elements behind one index of these.
    picture: Picture,
    offset: usize,
    /// How many.
    width: usize,
}

impl ConcatViewsKernel {
    pub(super) fn new(op: primitives::Concat, dtype: DType, views: &[&View]) -> Self {
        let parts: Vec<ConcatPart> = views.iter().map(|view| ConcatPart::new(op.axis, view)).collect();
        let row = parts.iter().map(|part| part.width).sum();
        ConcatViewsKernel { kind: kind(dtype), parts, row, size: views.iter().map(|view| view.count()).sum() }
    }
}

/// What is left of a concatenation along a first axis whose other operands were written where its result lies.
#[derive(Clone, Debug)]
pub(super) struct ConcatRestKernel {
    kind: Kind,
    /// Where in the result each operand goes, and how it is read.
    parts: Vec<(usize, ConcatPart)>,
    size: usize,
}

impl ConcatRestKernel {
    pub(super) fn new(dtype: DType, views: &[(usize, &View)]) -> Self {
        let part = |&(place, view): &(usize, &View)| (place, ConcatPart::new(0, view));
        let size = views.iter().map(|(_, view)| view.count()).sum();
        ConcatRestKernel { kind: kind(dtype), parts: views.iter().map(part).collect(), size }
    }
}

impl Kernel for ConcatRestKernel {
    fn name(&self) -> String {
        "concat".to_owned()
    }
    fn operations(&self) -> usize {
        self.size
    }
    fn note(&self) -> Option<&'static str> {
        Some(if self.parts.is_empty() {
            "all of it is written in its place"
        } else {
            "the rest is written in its place"
        })
    }
    fn run(&self, call: KernelCall<'_, '_>) -> Result<(), Misfit> {
        for_kind!(self.kind, T => {
            let out = T::of_mut(&mut call.outs[0]);
            for ((place, part), arg) in self.parts.iter().zip(call.args).filter(|((_, part), _)| part.width > 0) {
                part.picture.copy(call.pool, T::of(arg), part.offset, &mut out[*place..][..part.width]);
            }
        });
        Ok(())
    }
}

impl ConcatPart {
    fn new(axis: usize, view: &View) -> Self {
        ConcatPart {
            outer: merged(&view.shape[..axis], &view.strides[..axis]),
            picture: Picture::new(&view.shape[axis..], &view.strides[axis..]),
            offset: view.offset,
            width: view.shape[axis..].iter().product(),
        }
    }

    /// The place of the first element of a row.
    fn first(&self, row: usize) -> usize {
        let (mut place, mut left) = (self.offset.cast_signed(), row);
        for axis in self.outer.iter().rev() {
            place += (left % axis.length).cast_signed() * axis.stride;
            left /= axis.length;
        }
        place.cast_unsigned()
    }
}

impl Kernel for ConcatViewsKernel {
    fn name(&self) -> String {
        "concat".to_owned()
    }
    fn operations(&self) -> usize {
        self.size
    }
    fn run(&self, call: KernelCall<'_, '_>) -> Result<(), Misfit> {
        for_kind!(self.kind, T => {
            let mut out = T::of_mut(&mut call.outs[0]);
            if self.size == self.row {
                // One row: its operands are shared between the threads one by one.
                for (part, arg) in self.parts.iter().zip(call.args).filter(|(part, _)| part.width > 0) {
                    let (here, rest) = out.split_at_mut(part.width);
                    part.picture.copy(call.pool, T::of(arg), part.offset, here);
                    out = rest;
                }
                return Ok(());
            }
            let rows = rows_per_part(self.row);
            for_chunks(call.pool, out, rows * self.row, |number, out| {
                for (k, mut out) in out.chunks_mut(self.row).enumerate() {
                    for (part, arg) in self.parts.iter().zip(call.args).filter(|(part, _)| part.width > 0) {
                        let (here, rest) = out.split_at_mut(part.width);
                        part.picture.copy_here(T::of(arg), part.first(number * rows + k), here);
                        out = rest;
                    }
                }
            });
        });
        Ok(())
    }
}

impl Kernel for ConcatKernel {
    fn name(&self) -> String {
        "concat".to_owned()
    }
    fn operations(&self) -> usize {
        self.size
    }
    fn run(&self, call: KernelCall<'_, '_>) -> Result<(), Misfit> {
        // A part may begin and end inside a row: a single row of long operands is shared too.
        let part = 4 * GRAIN;
        for_kind!(self.kind, T => {
            for_chunks(call.pool, T::of_mut(&mut call.outs[0]), part, |number, mut out| {
                let (mut row, mut skipped) = (number * part / self.row, number * part % self.row);
                while !out.is_empty() {
                    for (arg, &width) in call.args.iter().zip(&self.widths) {
                        let count = width.saturating_sub(skipped).min(out.len());
                        let (here, rest) = out.split_at_mut(count);
                        if count > 0 {
                            here.copy_from_slice(&T::of(arg)[row * width + skipped..][..count]);
                        }
                        (out, skipped) = (rest, skipped.saturating_sub(width));
                    }
                    row += 1;
                }
            });
        });
        Ok(())
    }
}
