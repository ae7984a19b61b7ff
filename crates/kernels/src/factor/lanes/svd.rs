//! Singular values and vectors of small matrices, by one-sided rotations.
//!
//! M. R. Hestenes, *Inversion of matrices by biorthogonalization and related results* (1958): rotations from the right make the
//! columns orthogonal; their lengths are the singular values. Small ones come out as accurate as large ones (J. Demmel and
//! K. Veselić, 1992).

use super::eigh::{Order, SWEEPS, angle, identity, orientation, rotate, rotation, scale, sort};
use super::{Block, Kernel, LANES, Lanes, Mask, Matrices, Workspace, any, store, store_block, store_row};
use crate::Float;
use crate::factor::{Fault, Number, SMALL};

/// The reduced decomposition, with singular values in descending order.
pub(in super::super) struct SvdLanes<'a, T> {
    pub(in super::super) a: &'a [T],
    pub(in super::super) rows: usize,
    pub(in super::super) columns: usize,
}

impl<T: Number> Kernel<T, 3> for SvdLanes<'_, T> {
    #[inline(always)]
    fn lanes(
        &self,
        first: usize,
        count: usize,
        outs: [&mut [T]; 3],
        _: &mut [i64],
        Workspace { blocks: [a, v, loaded], staged }: &mut Workspace<T>,
    ) -> [Option<Fault>; LANES] {
        let [u, values, vt] = outs;
        let (rows, columns, rank) = (self.rows, self.columns, self.rows.min(self.columns));
        let matrices = Matrices { data: self.a, rows, columns };
        let wide = columns > rows;
        let block = if wide { &mut *loaded } else { &mut *a };
        let mut faults = matrices.load(first, count, |_| 0..columns, block, staged);
        if wide {
            for row in 0..rows {
                for column in 0..columns {
                    a[column][row] = loaded[row][column];
                }
            }
        }
        let length = rows.max(columns);
        let back = scale(a, [length, rank]);
        identity(v, rank);
        let mut converged = false;
        let mut noise = Lanes::ZERO;
        let mut turning = [false; LANES];
        for sweeps in 0..SWEEPS {
            if sweeps == LATE {
                noise = rounding(a, [length, rank]).select(turning, Lanes::ZERO);
            }
            turning = sweep(a, v, [length, rank], (slack(sweeps), noise));
            if !any(turning) {
                converged = true;
                break;
            }
        }
        let mut lengths = [Lanes::ZERO; SMALL];
        for column in 0..rank {
            let size = squares(a, length, column).root();
            lengths[column] = size.select(size.above(noise), Lanes::ZERO);
        }
        let mut unsorted = lengths;
        sort(&mut lengths[..rank], Order::Descending, a, length);
        sort(&mut unsorted[..rank], Order::Descending, v, rank);
        for column in 0..rank {
            let size = lengths[column];
            let none = size.0.map(|x| x == T::ZERO);
            let divisor = Lanes::ONE.select(none, size);
            for row in a.iter_mut().take(length) {
                row[column] = row[column] / divisor;
            }
            if any(none) {
                for (lane, _) in none.into_iter().enumerate().filter(|&(_, none)| none) {
                    complete(a, [length, column], lane);
                }
            }
        }
        if !converged {
            faults = faults.map(|fault| fault.or(Some(Fault::NoConvergence)));
        }
        // The columns of `u` are oriented, whichever of the two they are.
        for column in 0..rank {
            let turn = if wide { orientation(v, rank, column) } else { orientation(a, length, column) };
            for row in 0..length {
                a[row][column] = a[row][column] * turn;
            }
            for row in 0..rank {
                v[row][column] = v[row][column] * turn;
            }
        }
        let (left, right): (&Block<T>, &Block<T>) = if wide { (v, a) } else { (a, v) };
        store_block(left, [rows, rank], u, staged, count, &faults);
        store(|row, column| right[column][row], [rank, columns], vt, staged, count, &faults);
        store_row(&lengths[..rank], back, values, count, &faults);
        faults
    }
}

/// The sum of the squares of a column.
#[inline(always)]
fn squares<T: Number>(a: &Block<T>, rows: usize, column: usize) -> Lanes<T> {
    let mut sum = Lanes::ZERO;
    for row in a.iter().take(rows) {
        sum = sum + row[column] * row[column];
    }
    sum
}

/// How many times the rounding of a product of two columns may stay after this many sweeps. One rotation leaves about as much as a
/// product has, so that equal values, and columns that are nothing but rounding, may turn about the bound for ever.
const fn slack(sweeps: usize) -> f64 {
    match sweeps / 8 {
        0 => 1.0,
        1 => 4.0,
        2 => 16.0,
        _ => 64.0,
    }
}

/// The sweeps after which columns are looked at that are nothing but rounding of the others: they are never orthogonal in proportion to
/// their own length, and are zeros.
const LATE: usize = 10;

/// The length up to which a column is rounding of the longest one.
#[inline(always)]
fn rounding<T: Number>(a: &Block<T>, [rows, columns]: [usize; 2]) -> Lanes<T> {
    let mut largest = Lanes::ZERO;
    for column in 0..columns {
        largest = largest.max(squares(a, rows, column));
    }
    largest.root() * Lanes::of(4.0 * rows as f64 * T::EPSILON.to_f64())
}

/// Rotates every pair of columns once, where they are not orthogonal and neither is noise; in which lanes any was not.
#[inline(always)]
fn sweep<T: Number>(
    a: &mut Block<T>,
    v: &mut Block<T>,
    [rows, columns]: [usize; 2],
    (slack, noise): (f64, Lanes<T>),
) -> Mask {
    let mut rotated = [false; LANES];
    let tolerance = Lanes::of(slack * rows as f64 * T::EPSILON.to_f64());
    for p in 0..columns {
        for q in p + 1..columns {
            let (alpha, beta) = (squares(a, rows, p), squares(a, rows, q));
            let mut gamma = Lanes::ZERO;
            for row in a.iter().take(rows) {
                gamma = gamma + row[p] * row[q];
            }
            let (one, other) = (alpha.root(), beta.root());
            let mut wanted = gamma.modulus().above(tolerance * (one * other));
            let (one, other) = (one.above(noise), other.above(noise));
            for lane in 0..LANES {
                wanted[lane] &= one[lane] & other[lane];
            }
            if !any(wanted) {
                continue;
            }
            for lane in 0..LANES {
                rotated[lane] |= wanted[lane];
            }
            let safe = gamma.select(wanted, Lanes::ONE);
            let tangent = angle((beta - alpha) / (safe + safe)).select(wanted, Lanes::ZERO);
            let (cosine, sine) = rotation(tangent);
            for row in a.iter_mut().take(rows).chain(v.iter_mut().take(columns)) {
                (row[p], row[q]) = rotate(row[p], row[q], cosine, sine, wanted);
            }
        }
    }
    rotated
}

/// Makes a column of one lane a unit vector orthogonal to those before it: the unit vector that lies least in their span,
/// less its part there, twice (W. Kahan and B. N. Parlett's "twice is enough", 1980).
#[cold]
fn complete<T: Number>(a: &mut Block<T>, [rows, column]: [usize; 2], lane: usize) {
    let within = |row: usize| (0..column).fold(T::ZERO, |sum, k| sum + a[row][k].0[lane] * a[row][k].0[lane]);
    let mut best = 0;
    for row in 1..rows {
        if within(row) < within(best) {
            best = row;
        }
    }
    let mut x = [T::ZERO; SMALL];
    x[best] = T::ONE;
    for _ in 0..2 {
        for k in 0..column {
            let along = (0..rows).fold(T::ZERO, |sum, row| sum + a[row][k].0[lane] * x[row]);
            (0..rows).for_each(|row| x[row] -= along * a[row][k].0[lane]);
        }
    }
    let length = Float::sqrt((0..rows).fold(T::ZERO, |sum, row| sum + x[row] * x[row]));
    (0..rows).for_each(|row| a[row][column].0[lane] = x[row] / length);
}
