//! Cholesky factors, LU factors and triangular systems of small matrices.

use std::array::from_fn;

use super::{Block, Kernel, LANES, Lanes, Matrices, any, store};
use crate::factor::{Fault, Number, Reads, SMALL, Side, Triangle};

/// Cholesky factors, in place.
pub(in super::super) struct CholeskyLanes {
    pub(in super::super) n: usize,
    pub(in super::super) reads: Reads,
}

impl<T: Number> Kernel<T, 1> for CholeskyLanes {
    #[inline(always)]
    fn lanes(&self, _: usize, count: usize, [a]: [&mut [T]; 1], _: &mut [i64]) -> [Option<Fault>; LANES] {
        let n = self.n;
        let read = |row, column| self.reads == Reads::Mean || column <= row;
        let matrices = Matrices { data: a, rows: n, columns: n };
        let (mut l, mut faults) = matrices.load(0, count, read);
        if self.reads == Reads::Mean {
            mean(&mut l, n);
        }
        for column in 0..n {
            let mut rest = l[column][column];
            for k in 0..column {
                rest = rest - l[column][k] * l[column][k];
            }
            for (fault, &pivot) in faults.iter_mut().zip(&rest.0) {
                // Also false of a NaN, which comes of a fault before.
                if fault.is_none() && !(pivot > T::ZERO && pivot.finite()) {
                    *fault = Some(Fault::NotPositive { minor: column + 1 });
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
        store(&l, [n, n], a, count, &faults);
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

/// LU factors with partial pivoting.
pub(in super::super) struct LuLanes<'a, T> {
    pub(in super::super) a: &'a [T],
    pub(in super::super) rows: usize,
    pub(in super::super) columns: usize,
}

impl<T: Number> Kernel<T, 2> for LuLanes<'_, T> {
    #[inline(always)]
    fn lanes(&self, first: usize, count: usize, [l, u]: [&mut [T]; 2], order: &mut [i64]) -> [Option<Fault>; LANES] {
        let (rows, columns, rank) = (self.rows, self.columns, self.rows.min(self.columns));
        let (mut a, faults) = Matrices { data: self.a, rows, columns }.load(first, count, |_, _| true);
        let mut permutation: [[usize; LANES]; SMALL] = from_fn(|row| [row; LANES]);
        for step in 0..rank {
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
                    let (x, y) = (permutation[step], permutation[row]);
                    permutation[step] = from_fn(|k| if swap[k] { y[k] } else { x[k] });
                    permutation[row] = from_fn(|k| if swap[k] { x[k] } else { y[k] });
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
        let (mut lower, mut upper) = (Lanes::EMPTY, Lanes::EMPTY);
        for row in 0..rows {
            for column in 0..columns {
                if column < row {
                    lower[row][column] = a[row][column];
                } else {
                    upper[row][column] = a[row][column];
                }
            }
            lower[row][row] = Lanes::ONE;
        }
        store(&lower, [rows, rank], l, count, &faults);
        store(&upper, [rank, columns], u, count, &faults);
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
    fn lanes(&self, first: usize, count: usize, [b]: [&mut [T]; 1], _: &mut [i64]) -> [Option<Fault>; LANES] {
        let (n, unit, lower) = (self.n, self.unit, self.triangle == Triangle::Lower);
        let a = Matrices { data: &self.a[first * n * n..], rows: n, columns: n }.load_any(count);
        let mut faults = [None; LANES];
        if !unit {
            for pivot in 0..n {
                for (fault, &x) in faults.iter_mut().zip(&a[pivot][pivot].0) {
                    if fault.is_none() && x == T::ZERO {
                        *fault = Some(Fault::Singular { pivot });
                    }
                }
            }
        }
        // `x a = b` is `aᵀ xᵀ = bᵀ`: an unknown is a row of `b`, or a column.
        let left = self.side == Side::Left;
        let [rows, columns] = if left { [n, self.columns] } else { [self.columns, n] };
        let matrices = Matrices { data: b, rows, columns };
        let mut x = matrices.load_any(count);
        let transposed = self.transposed == left;
        let forwards = lower != transposed;
        for step in 0..n {
            let at = if forwards { step } else { n - 1 - step };
            for k in 0..self.columns {
                let mut rest = if left { x[at][k] } else { x[k][at] };
                for known in 0..step {
                    let other = if forwards { known } else { n - 1 - known };
                    let factor = if transposed { a[other][at] } else { a[at][other] };
                    rest = rest - factor * if left { x[other][k] } else { x[k][other] };
                }
                let rest = if unit { rest } else { rest / a[at][at] };
                *(if left { &mut x[at][k] } else { &mut x[k][at] }) = rest;
            }
        }
        store(&x, [rows, columns], b, count, &faults);
        faults
    }
}

impl<T: Number> Matrices<'_, T> {
    /// All entries of the first matrices, whatever they are.
    #[inline(always)]
    fn load_any(&self, count: usize) -> Block<T> {
        let mut block = Lanes::EMPTY;
        let size = self.rows * self.columns;
        for row in 0..self.rows {
            for column in 0..self.columns {
                block[row][column] =
                    Lanes(from_fn(|k| self.data[k.min(count - 1) * size + row * self.columns + column]));
            }
        }
        block
    }
}
