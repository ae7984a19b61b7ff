//! Determinants of small matrices, and their derivatives.

use super::triangles::eliminate;
use super::{Block, Kernel, LANES, Lanes, Matrices, Workspace, any, store_block};
use crate::factor::{Fault, Number};
use crate::plain;

/// Determinants, by LU factors.
pub(in super::super) struct DetLanes<'a, T> {
    pub(in super::super) a: &'a [T],
    pub(in super::super) n: usize,
}

impl<T: Number> Kernel<T, 1> for DetLanes<'_, T> {
    #[inline(always)]
    fn lanes(
        &self,
        first: usize,
        count: usize,
        [out]: [&mut [T]; 1],
        _: &mut [i64],
        Workspace { blocks: [a, ..], staged }: &mut Workspace<T>,
    ) -> [Option<Fault>; LANES] {
        let n = self.n;
        let faults = Matrices { data: self.a, rows: n, columns: n }.load(first, count, |_| 0..n, a, staged);
        let mut odd = [false; LANES];
        eliminate(a, [n, n], |_, _, swap| odd.iter_mut().zip(swap).for_each(|(odd, swap)| *odd ^= swap));
        let pivots = (0..n).fold(Lanes::ONE, |product, row| product * a[row][row]);
        let det = (-pivots).select(odd, pivots);
        for (k, out) in out.iter_mut().enumerate() {
            *out = if faults[k].is_some() { T::NAN } else { det.0[k] };
        }
        faults
    }
}

/// Matrices of cofactors of up to four rows.
pub(in super::super) struct MinorLanes<'a, T> {
    pub(in super::super) a: &'a [T],
    pub(in super::super) n: usize,
}

impl<T: Number> Kernel<T, 1> for MinorLanes<'_, T> {
    #[inline(always)]
    fn lanes(
        &self,
        first: usize,
        count: usize,
        [out]: [&mut [T]; 1],
        _: &mut [i64],
        Workspace { blocks: [a, c, _], staged }: &mut Workspace<T>,
    ) -> [Option<Fault>; LANES] {
        let n = self.n;
        let mut faults = Matrices { data: self.a, rows: n, columns: n }.load(first, count, |_| 0..n, a, staged);
        match n {
            1 => c[0][0] = Lanes::ONE,
            2 => two(a, c),
            3 => three(a, c),
            _ => four(a, c),
        }
        let mut check = Lanes::ZERO;
        for row in 0..n {
            for column in 0..n {
                check = check + c[row][column] * Lanes::ZERO;
            }
        }
        let wrong = check.0.map(|x| x != T::ZERO);
        if any(wrong) {
            (0..count).filter(|&lane| wrong[lane]).for_each(|lane| self.again(first, lane, c, &mut faults));
        }
        store_block(c, [n, n], out, staged, count, &faults);
        faults
    }
}

impl<T: Number> MinorLanes<'_, T> {
    /// Products that overflow may have a difference that does not: the cofactors of the matrix in this lane, by definition.
    #[cold]
    #[inline(never)]
    fn again(&self, first: usize, lane: usize, c: &mut Block<T>, faults: &mut [Option<Fault>; LANES]) {
        let n = self.n;
        let a: Vec<f64> = self.a[(first + lane) * n * n..][..n * n].iter().map(|x| x.to_f64()).collect();
        match plain::cofactors(&a, n) {
            Some(cofactors) => {
                for (place, &x) in cofactors.iter().enumerate() {
                    c[place / n][place % n].0[lane] = T::from_f64(x);
                }
            }
            None => faults[lane] = Some(Fault::NoConvergence),
        }
    }
}

#[inline(always)]
fn two<T: Number>(a: &Block<T>, c: &mut Block<T>) {
    (c[0][0], c[0][1]) = (a[1][1], -a[1][0]);
    (c[1][0], c[1][1]) = (-a[0][1], a[0][0]);
}

/// Rows and columns in turn have the sign in their order.
#[inline(always)]
fn three<T: Number>(a: &Block<T>, c: &mut Block<T>) {
    for row in 0..3 {
        let [above, below] = [&a[(row + 1) % 3], &a[(row + 2) % 3]];
        for column in 0..3 {
            let [j, k] = [(column + 1) % 3, (column + 2) % 3];
            c[row][column] = above[j] * below[k] - above[k] * below[j];
        }
    }
}

/// The minors of two neighbouring rows, of which those of three are made.
#[inline(always)]
fn four<T: Number>(a: &Block<T>, c: &mut Block<T>) {
    /// The columns that are left beside one.
    const OTHERS: [[usize; 3]; 4] = [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]];
    for (rows, pair) in [([0, 1], [2, 3]), ([2, 3], [0, 1])] {
        let [above, below] = pair.map(|row| &a[row]);
        let mut minors = [[Lanes::ZERO; 4]; 4];
        for j in 0..4 {
            for k in j + 1..4 {
                minors[j][k] = above[j] * below[k] - above[k] * below[j];
            }
        }
        for (row, other) in [rows, [rows[1], rows[0]]].map(|[row, other]| (row, other)) {
            for (column, [p, q, r]) in OTHERS.into_iter().enumerate() {
                let other = &a[other];
                let minor = other[p] * minors[q][r] - other[q] * minors[p][r] + other[r] * minors[p][q];
                c[row][column] = if (row + column).is_multiple_of(2) { minor } else { -minor };
            }
        }
    }
}
