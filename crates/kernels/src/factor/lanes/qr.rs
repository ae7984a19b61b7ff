//! QR factors of small matrices, by Householder's reflections (A. S. Householder, 1958).

use super::eigh::{identity, scale};
use super::{Block, Kernel, LANES, Lanes, Matrices, Workspace, sign, store_block};
use crate::factor::{Fault, Number};

/// The reduced factors; the diagonal of R is not negative.
pub(in super::super) struct QrLanes<'a, T> {
    pub(in super::super) a: &'a [T],
    pub(in super::super) rows: usize,
    pub(in super::super) columns: usize,
}

impl<T: Number> Kernel<T, 2> for QrLanes<'_, T> {
    #[inline(always)]
    fn lanes(
        &self,
        first: usize,
        count: usize,
        [q, r]: [&mut [T]; 2],
        _: &mut [i64],
        Workspace { blocks: [a, vectors, product], staged }: &mut Workspace<T>,
    ) -> [Option<Fault>; LANES] {
        let (rows, columns, rank) = (self.rows, self.columns, self.rows.min(self.columns));
        let faults = Matrices { data: self.a, rows, columns }.load(first, count, |_| 0..columns, a, staged);
        let back = scale(a, [rows, columns]);
        let mut factors = [Lanes::ZERO; super::SMALL];
        for step in 0..rank {
            let mut below = Lanes::ZERO;
            for row in step + 1..rows {
                below = below + a[row][step] * a[row][step];
            }
            // Nothing to reflect where all is zero below the diagonal.
            let wanted = below.above(Lanes::ZERO);
            let top = a[step][step];
            let length = (below + top * top).root();
            let beta = -(sign(top) * length);
            let head = (top - beta).select(wanted, Lanes::ONE);
            let factor = ((beta - top) / beta.select(wanted, Lanes::ONE)).select(wanted, Lanes::ZERO);
            factors[step] = factor;
            vectors[step][step] = Lanes::ONE;
            for row in step + 1..rows {
                vectors[row][step] = (a[row][step] / head).select(wanted, Lanes::ZERO);
                a[row][step] = Lanes::ZERO;
            }
            a[step][step] = beta.select(wanted, top);
            for column in step + 1..columns {
                reflect(vectors, step, factor, a, column, rows);
            }
        }
        identity(product, rows);
        for step in (0..rank).rev() {
            for column in step..rank {
                reflect(vectors, step, factors[step], product, column, rows);
            }
        }
        for step in 0..rank {
            let turn = sign(a[step][step]);
            for column in 0..columns {
                a[step][column] = a[step][column] * turn * back;
            }
            for row in 0..rows {
                product[row][step] = product[row][step] * turn;
            }
        }
        store_block(product, [rows, rank], q, staged, count, &faults);
        store_block(a, [rank, columns], r, staged, count, &faults);
        faults
    }
}

/// Subtracts from a column its part along a vector, times a factor.
#[inline(always)]
fn reflect<T: Number>(vectors: &Block<T>, step: usize, factor: Lanes<T>, a: &mut Block<T>, column: usize, rows: usize) {
    let mut along = Lanes::ZERO;
    for row in step..rows {
        along = along + vectors[row][step] * a[row][column];
    }
    let along = along * factor;
    for row in step..rows {
        a[row][column] = a[row][column] - along * vectors[row][step];
    }
}
