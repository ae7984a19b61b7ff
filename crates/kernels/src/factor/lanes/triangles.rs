//! Cholesky factors, LU factors and triangular systems of small matrices.

use std::array::from_fn;
use std::cmp::Ordering;

use super::{Block, Kernel, LANES, Lanes, Mask, Matrices, Workspace, any, store, store_block, unstage, zero_pivots};
use crate::factor::{Fault, Number, Reads, SMALL, Side, Triangle};

/// Cholesky factors, in place.
pub(in super::super) struct CholeskyLanes {
    pub(in super::super) n: usize,
    pub(in super::super) reads: Reads,
}

impl<T: Number> Kernel<T, 1> for CholeskyLanes {
    #[inline(always)]
    fn lanes(
        &self,
        _: usize,
        count: usize,
        [a]: [&mut [T]; 1],
        _: &mut [i64],
        Workspace { blocks: [l, ..], staged }: &mut Workspace<T>,
    ) -> [Option<Fault>; LANES] {
        let n = self.n;
        let read = |row| if self.reads == Reads::Mean { 0..n } else { 0..row + 1 };
        let mut faults = Matrices { data: a, rows: n, columns: n }.load(0, count, read, l, staged);
        if self.reads == Reads::Mean {
            mean(l, n);
        }
        for column in 0..n {
            let mut rest = l[column][column];
            for k in 0..column {
                rest = rest - l[column][k] * l[column][k];
            }
            // Also false of a NaN, which comes of a fault before.
            let positive = |pivot: T| pivot > T::ZERO && pivot.finite();
            if any(rest.0.map(|pivot| !positive(pivot))) {
                for (fault, &pivot) in faults.iter_mut().zip(&rest.0) {
                    if fault.is_none() && !positive(pivot) {
                        *fault = Some(Fault::NotPositive { minor: column + 1 });
                    }
                }
            }
            let pivot = rest.root();
            l[column][column] = pivot;
            for row in column + 1..n {
                let mut rest = l[row][column];
                for k in 0..column {
                    rest = rest - l[row][k] * l[column][k];
                }
                l[row][column] = rest / pivot;
                l[column][row] = Lanes::ZERO;
            }
        }
        store_block(l, [n, n], a, staged, count, &faults);
        faults
    }
}

/// `(a + aᵀ) / 2`, in the lower triangle and the upper one.
#[inline(always)]
pub(super) fn mean<T: Number>(a: &mut Block<T>, n: usize) {
    let half = Lanes::of(0.5);
    for row in 0..n {
        for column in 0..row {
            // Halves first, so that nothing overflows.
            let mean = half * a[row][column] + half * a[column][row];
            (a[row][column], a[column][row]) = (mean, mean);
        }
    }
}

/// LU factors with partial pivoting, in place: what is below the diagonal, and the rest. `swapped` is told of the matrices of which
/// two rows are exchanged.
#[inline(always)]
pub(super) fn eliminate<T: Number>(
    a: &mut Block<T>,
    [rows, columns]: [usize; 2],
    mut swapped: impl FnMut(usize, usize, Mask),
) {
    for step in 0..rows.min(columns) {
        let mut largest = a[step][step].modulus();
        let mut place = [step; LANES];
        for row in step + 1..rows {
            let modulus = a[row][step].modulus();
            let better = modulus.above(largest);
            largest = modulus.select(better, largest);
            place = from_fn(|k| if better[k] { row } else { place[k] });
        }
        for row in step + 1..rows {
            let swap = place.map(|place| place == row);
            if any(swap) {
                for column in 0..columns {
                    let (x, y) = (a[step][column], a[row][column]);
                    (a[step][column], a[row][column]) = (y.select(swap, x), x.select(swap, y));
                }
                swapped(step, row, swap);
            }
        }
        // A pivot of zero means a column of zeros, which nothing has to be subtracted for.
        let pivot = a[step][step];
        let pivot = Lanes::ONE.select(pivot.0.map(|x| x == T::ZERO), pivot);
        for row in step + 1..rows {
            let factor = a[row][step] / pivot;
            a[row][step] = factor;
            for column in step + 1..columns {
                a[row][column] = a[row][column] - factor * a[step][column];
            }
        }
    }
}

/// LU factors with partial pivoting.
pub(in super::super) struct LuLanes<'a, T> {
    pub(in super::super) a: &'a [T],
    pub(in super::super) rows: usize,
    pub(in super::super) columns: usize,
}

impl<T: Number> Kernel<T, 2> for LuLanes<'_, T> {
    #[inline(always)]
    fn lanes(
        &self,
        first: usize,
        count: usize,
        [l, u]: [&mut [T]; 2],
        order: &mut [i64],
        Workspace { blocks: [a, ..], staged }: &mut Workspace<T>,
    ) -> [Option<Fault>; LANES] {
        let (rows, columns, rank) = (self.rows, self.columns, self.rows.min(self.columns));
        let faults = Matrices { data: self.a, rows, columns }.load(first, count, |_| 0..columns, a, staged);
        let mut permutation: [[usize; LANES]; SMALL] = from_fn(|row| [row; LANES]);
        eliminate(a, [rows, columns], |step, row, swap| {
            let (x, y) = (permutation[step], permutation[row]);
            permutation[step] = from_fn(|k| if swap[k] { y[k] } else { x[k] });
            permutation[row] = from_fn(|k| if swap[k] { x[k] } else { y[k] });
        });
        let lower = |row: usize, column: usize| match row.cmp(&column) {
            Ordering::Less => Lanes::ZERO,
            Ordering::Equal => Lanes::ONE,
            Ordering::Greater => a[row][column],
        };
        let upper = |row: usize, column: usize| if column < row { Lanes::ZERO } else { a[row][column] };
        store(lower, [rows, rank], l, staged, count, &faults);
        store(upper, [rank, columns], u, staged, count, &faults);
        for k in 0..count {
            for row in 0..rows {
                order[k * rows + row] = permutation[row][k] as i64;
            }
        }
        faults
    }
}

/// Triangular systems, in place on the right side.
pub(in super::super) struct SolveLanes<'a, T> {
    pub(in super::super) a: &'a [T],
    pub(in super::super) n: usize,
    pub(in super::super) columns: usize,
    pub(in super::super) triangle: Triangle,
    pub(in super::super) side: Side,
    pub(in super::super) transposed: bool,
    pub(in super::super) unit: bool,
}

impl<T: Number> Kernel<T, 1> for SolveLanes<'_, T> {
    #[inline(always)]
    fn lanes(
        &self,
        first: usize,
        count: usize,
        [b]: [&mut [T]; 1],
        _: &mut [i64],
        Workspace { blocks: [a, x, _], staged }: &mut Workspace<T>,
    ) -> [Option<Fault>; LANES] {
        let (n, unit, lower) = (self.n, self.unit, self.triangle == Triangle::Lower);
        // `x a = b` is `aᵀ xᵀ = bᵀ`: an unknown is a row of `b`, or a column.
        let left = self.side == Side::Left;
        let transposed = self.transposed == left;
        // The unknowns in the order in which they are found: the factors of those before stand in a lower triangle.
        let forwards = lower != transposed;
        let at = |step: usize| if forwards { step } else { n - 1 - step };
        Matrices { data: self.a, rows: n, columns: n }.stage(first, count, staged);
        for step in 0..n {
            for known in 0..step + 1 {
                let (row, column) = if transposed { (at(known), at(step)) } else { (at(step), at(known)) };
                a[step][known] = Lanes(staged[row * n + column]);
            }
        }
        let faults = zero_pivots(if unit { 0 } else { n }, |pivot| a[at(pivot)][at(pivot)]);
        let [rows, columns] = if left { [n, self.columns] } else { [self.columns, n] };
        let place = |step: usize, k: usize| if left { at(step) * self.columns + k } else { k * n + at(step) };
        Matrices { data: b, rows, columns }.stage(0, count, staged);
        for step in 0..n {
            for k in 0..self.columns {
                x[step][k] = Lanes(staged[place(step, k)]);
            }
        }
        for step in 0..n {
            for k in 0..self.columns {
                let mut rest = x[step][k];
                for known in 0..step {
                    rest = rest - a[step][known] * x[known][k];
                }
                let rest = if unit { rest } else { rest / a[step][step] };
                x[step][k] = rest;
                staged[place(step, k)] = rest.0;
            }
        }
        unstage([rows, columns], b, staged, count, &faults);
        faults
    }
}
