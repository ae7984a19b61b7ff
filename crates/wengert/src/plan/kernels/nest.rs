//! Loop nests over elements: axes that are walked together are one, and what follows each other is copied as a run.

use wengert_kernels::Pool;
use wengert_kernels::parallel::for_chunks;
use wengert_kernels::transpose::transpose;

use super::{Cell, GRAIN};

/// Indices of the axes that are shared between threads, at least; a part of a transposition has a multiple of a quarter.
const TILE: usize = 64;

/// An axis of a nest: how long, and how far apart its elements are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Axis {
    pub(super) length: usize,
    pub(super) stride: isize,
}

/// The axes of a row-major walk: those of length 1 left out, neighbours that are walked as one joined.
pub(super) fn merged(shape: &[usize], strides: &[isize]) -> Vec<Axis> {
    let mut axes: Vec<Axis> = Vec::with_capacity(shape.len());
    for (&length, &stride) in shape.iter().zip(strides).filter(|(length, _)| **length != 1) {
        match axes.last_mut() {
            Some(outer) if outer.stride == stride * length.cast_signed() => {
                *outer = Axis { length: outer.length * length, stride };
            }
            _ => axes.push(Axis { length, stride }),
        }
    }
    axes
}

/// Calls `visit` with the position of every element of a nest, in row-major order.
pub(super) fn each(axes: &[Axis], position: isize, visit: &mut impl FnMut(isize)) {
    match axes {
        [] => visit(position),
        [last] => (0..last.length).for_each(|k| visit(position + k.cast_signed() * last.stride)),
        [first, inner @ ..] => {
            (0..first.length).for_each(|k| each(inner, position + k.cast_signed() * first.stride, visit));
        }
    }
}

/// An array whose elements, in row-major order, are those of another one at the places of a nest.
#[derive(Clone, Debug)]
pub(super) struct Picture {
    axes: Vec<Axis>,
    /// Elements behind one index of each axis.
    inner: Vec<usize>,
    /// The axis of which a part has a range.
    cut: usize,
    /// How many of its indices.
    rows: usize,
    /// The axis before the last along which the source's elements follow each other, if they do not along the last.
    crossed: Option<usize>,
}

impl Picture {
    /// Elements `offset + sum_k index_k * stride_k`, where the offset is told when they are copied.
    pub(super) fn new(shape: &[usize], strides: &[isize]) -> Self {
        let axes = merged(shape, strides);
        let mut inner = vec![1; axes.len()];
        for axis in (1..axes.len()).rev() {
            inner[axis - 1] = inner[axis] * axes[axis].length;
        }
        let last = axes.len().saturating_sub(1);
        let joined = axes.last().is_none_or(|axis| axis.stride == 1);
        let crossed = if joined { None } else { axes[..last].iter().position(|axis| axis.stride == 1) };
        // The first axis at which there are enough indices to share; a tile is not cut.
        let mut cut = 0;
        while cut < crossed.unwrap_or(last) && axes[..=cut].iter().map(|axis| axis.length).product::<usize>() < TILE {
            cut += 1;
        }
        let rows = GRAIN.div_ceil(inner.get(cut).map_or(1, |&inner| inner.max(1)));
        let rows = if crossed == Some(cut) { rows.next_multiple_of(TILE / 4) } else { rows };
        Picture { axes, inner, cut, rows, crossed }
    }

    /// The elements of `x` from `offset` on as a whole array.
    pub(super) fn copy<T: Cell>(&self, pool: &Pool, x: &[T], offset: usize, out: &mut [T]) {
        if self.axes.is_empty() {
            out.copy_from_slice(&x[offset..=offset]);
            return;
        }
        let inner = self.inner[self.cut];
        for_chunks(pool, out, (self.rows * inner).max(1), |number, chunk| {
            self.rows_from(number * self.rows, x, offset.cast_signed(), chunk);
        });
    }

    /// As [`Picture::copy`], on this thread alone.
    pub(super) fn copy_here<T: Cell>(&self, x: &[T], offset: usize, out: &mut [T]) {
        match self.axes.first() {
            None => out.copy_from_slice(&x[offset..=offset]),
            Some(first) => self.block(0, first.length, x, offset.cast_signed(), out),
        }
    }

    /// Whole rows, counted over the axes up to the one that is cut.
    fn rows_from<T: Cell>(&self, first: usize, x: &[T], offset: isize, mut out: &mut [T]) {
        let (inner, length) = (self.inner[self.cut], self.axes[self.cut].length);
        let mut row = first;
        while !out.is_empty() {
            let (outer, start) = (row / length, row % length);
            let count = (length - start).min(out.len() / inner);
            let (block, rest) = out.split_at_mut(count * inner);
            let mut position = offset + start.cast_signed() * self.axes[self.cut].stride;
            let mut left = outer;
            for axis in self.axes[..self.cut].iter().rev() {
                position += (left % axis.length).cast_signed() * axis.stride;
                left /= axis.length;
            }
            self.block(self.cut, count, x, position, block);
            (row, out) = (row + count, rest);
        }
    }

    /// The nest from an axis on, of which there are `length` indices here.
    fn block<T: Cell>(&self, level: usize, length: usize, x: &[T], position: isize, out: &mut [T]) {
        let axis = self.axes[level];
        if self.crossed == Some(level) {
            return self.transpose(level, length, x, position, out);
        }
        if level + 1 == self.axes.len() {
            return line(axis.stride, x, position, out);
        }
        if let [Axis { length: run @ 2..=4, stride: 1 }] = self.axes[level + 1..] {
            return match run {
                2 => short_lines::<T, 2>(axis.stride, x, position, out),
                3 => short_lines::<T, 3>(axis.stride, x, position, out),
                _ => short_lines::<T, 4>(axis.stride, x, position, out),
            };
        }
        for (k, part) in out.chunks_exact_mut(self.inner[level]).enumerate() {
            self.block(level + 1, self.axes[level + 1].length, x, position + k.cast_signed() * axis.stride, part);
        }
    }

    /// The axis along which the source's elements follow each other against the last one, for every index between.
    fn transpose<T: Cell>(&self, level: usize, length: usize, x: &[T], position: isize, out: &mut [T]) {
        let last = self.axes[self.axes.len() - 1];
        let (shape, to) = ([length, last.length], self.inner[level]);
        let mut place = 0;
        each(&self.axes[level + 1..self.axes.len() - 1], position, &mut |position| {
            transpose(shape, x, position.cast_unsigned(), last.stride, &mut out[place..], to);
            place += last.length;
        });
    }
}

/// Runs of the result from runs of `N` elements that are `stride` apart. Of constant length: many short ones would spend
/// their time in calls.
fn short_lines<T: Cell, const N: usize>(stride: isize, x: &[T], position: isize, out: &mut [T]) {
    for (k, out) in out.as_chunks_mut::<N>().0.iter_mut().enumerate() {
        let first = (position + k.cast_signed() * stride).cast_unsigned();
        out.copy_from_slice(&x[first..first + N]);
    }
}

/// A run of the result from elements that are `stride` apart.
fn line<T: Cell>(stride: isize, x: &[T], position: isize, out: &mut [T]) {
    let first = position.cast_unsigned();
    match stride {
        1 => out.copy_from_slice(&x[first..first + out.len()]),
        0 => out.fill(x[first]),
        -1 => out.iter_mut().zip(x[..=first].iter().rev()).for_each(|(out, &x)| *out = x),
        stride if stride > 0 => {
            out.iter_mut().zip(x[first..].iter().step_by(stride.cast_unsigned())).for_each(|(out, &x)| *out = x);
        }
        stride => {
            let x = x[..=first].iter().rev().step_by(stride.unsigned_abs());
            out.iter_mut().zip(x).for_each(|(out, &x)| *out = x);
        }
    }
}
