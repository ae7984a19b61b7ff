//! Derivatives of Cholesky and LU factors of small matrices.

use super::triangles::mean;
use super::{Block, Kernel, LANES, Lanes, Matrices, Workspace, store_block, zero_pivots};
use crate::factor::{Fault, Number};

/// The tangents `x` with `x lᵀ + l xᵀ = (a + aᵀ) / 2`, or the cotangents `s` with `2 tril(s l) = tril(x)`, in place.
pub(in super::super) struct TangentLanes<'a, T> {
    pub(in super::super) l: &'a [T],
    pub(in super::super) n: usize,
    pub(in super::super) transposed: bool,
}

impl<T: Number> Kernel<T, 1> for TangentLanes<'_, T> {
    #[inline(always)]
    fn lanes(
        &self,
        first: usize,
        count: usize,
        [out]: [&mut [T]; 1],
        _: &mut [i64],
        Workspace { blocks: [l, x, _], staged }: &mut Workspace<T>,
    ) -> [Option<Fault>; LANES] {
        let n = self.n;
        Matrices { data: self.l, rows: n, columns: n }.place(first, count, l, staged);
        let faults = zero_pivots(n, |pivot| l[pivot][pivot]);
        Matrices { data: &*out, rows: n, columns: n }.place(0, count, x, staged);
        if self.transposed {
            cotangent(l, x, n);
        } else {
            mean(x, n);
            tangent(l, x, n);
        }
        store_block(x, [n, n], out, staged, count, &faults);
        faults
    }
}

/// Column by column.
#[inline(always)]
fn tangent<T: Number>(l: &Block<T>, x: &mut Block<T>, n: usize) {
    let half = Lanes::of(0.5);
    for column in 0..n {
        let mut rest = half * x[column][column];
        for k in 0..column {
            rest = rest - x[column][k] * l[column][k];
        }
        let slope = rest / l[column][column];
        x[column][column] = slope;
        for row in column + 1..n {
            let mut rest = x[row][column] - l[row][column] * slope;
            for k in 0..column {
                rest = rest - x[row][k] * l[column][k] - l[row][k] * x[column][k];
            }
            x[row][column] = rest / l[column][column];
            x[column][row] = Lanes::ZERO;
        }
    }
}

/// From the last column to the first: what is right of it and below is known.
#[inline(always)]
fn cotangent<T: Number>(l: &Block<T>, x: &mut Block<T>, n: usize) {
    let half = Lanes::of(0.5);
    for column in (0..n).rev() {
        for row in (column..n).rev() {
            let mut rest = half * x[row][column];
            for k in column + 1..n {
                rest = rest - x[row][k] * l[k][column];
            }
            let s = rest / l[column][column];
            (x[row][column], x[column][row]) = (s, s);
        }
    }
}

/// The tangents `l'` and `u'` with `l' u + l u' = a`, in one matrix, or the cotangents `s` of which `s uᵀ` and `lᵀ s` have a triangle
/// each of `x`, in place.
pub(in super::super) struct LuTangentLanes<'a, T> {
    pub(in super::super) l: &'a [T],
    pub(in super::super) u: &'a [T],
    pub(in super::super) n: usize,
    pub(in super::super) transposed: bool,
}

impl<T: Number> Kernel<T, 1> for LuTangentLanes<'_, T> {
    #[inline(always)]
    fn lanes(
        &self,
        first: usize,
        count: usize,
        [out]: [&mut [T]; 1],
        _: &mut [i64],
        Workspace { blocks: [l, u, x], staged }: &mut Workspace<T>,
    ) -> [Option<Fault>; LANES] {
        let n = self.n;
        Matrices { data: self.l, rows: n, columns: n }.place(first, count, l, staged);
        Matrices { data: self.u, rows: n, columns: n }.place(first, count, u, staged);
        // Nothing is divided by the last pivot.
        let faults = zero_pivots(n - 1, |pivot| u[pivot][pivot]);
        Matrices { data: &*out, rows: n, columns: n }.place(0, count, x, staged);
        if self.transposed {
            lu_cotangent(l, u, x, n);
        } else {
            lu_tangent(l, u, x, n);
        }
        store_block(x, [n, n], out, staged, count, &faults);
        faults
    }
}

/// By elimination.
#[inline(always)]
fn lu_tangent<T: Number>(l: &Block<T>, u: &Block<T>, x: &mut Block<T>, n: usize) {
    for step in 0..n {
        for row in step + 1..n {
            let slope = (x[row][step] - l[row][step] * x[step][step]) / u[step][step];
            x[row][step] = slope;
            for column in step + 1..n {
                x[row][column] = x[row][column] - slope * u[step][column] - l[row][step] * x[step][column];
            }
        }
    }
}

/// From the last row and column to the first.
#[inline(always)]
fn lu_cotangent<T: Number>(l: &Block<T>, u: &Block<T>, x: &mut Block<T>, n: usize) {
    for step in (0..n).rev() {
        for row in step + 1..n {
            let mut rest = x[row][step];
            for k in step + 1..n {
                rest = rest - x[row][k] * u[step][k];
            }
            x[row][step] = rest / u[step][step];
        }
        for column in step..n {
            let mut rest = x[step][column];
            for k in step + 1..n {
                rest = rest - l[k][step] * x[k][column];
            }
            x[step][column] = rest;
        }
    }
}
