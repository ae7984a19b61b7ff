//! Eigenvalues and eigenvectors of small symmetric matrices, by Jacobi's rotations.
//!
//! C. G. J. Jacobi (1846), cyclic by rows; the angle and its order of operations are those of H. Rutishauser, *The Jacobi
//! method for real symmetric matrices* (Numerische Mathematik 9, 1966).

use super::triangles::mean;
use super::{Block, Kernel, LANES, Lanes, Mask, Matrices, Workspace, any, sign, store_block, store_row};
use crate::factor::{Fault, Number, Reads, SMALL};

/// Sweeps over all pairs. Five to eight are taken; convergence is quadratic.
pub(super) const SWEEPS: usize = 40;

/// Eigenvalues in ascending order, and eigenvectors in columns, in place.
pub(in super::super) struct EighLanes {
    pub(in super::super) n: usize,
    pub(in super::super) reads: Reads,
}

impl<T: Number> Kernel<T, 2> for EighLanes {
    #[inline(always)]
    fn lanes(
        &self,
        _: usize,
        count: usize,
        [out, values]: [&mut [T]; 2],
        _: &mut [i64],
        Workspace { blocks: [a, v, _], staged }: &mut Workspace<T>,
    ) -> [Option<Fault>; LANES] {
        let n = self.n;
        let read = |row| if self.reads == Reads::Mean { 0..n } else { 0..row + 1 };
        let mut faults = Matrices { data: out, rows: n, columns: n }.load(0, count, read, a, staged);
        match self.reads {
            Reads::Mean => mean(a, n),
            Reads::Lower => mirror(a, n),
        }
        let back = scale(a, [n, n]);
        identity(v, n);
        // Loops instead of closures in this module: those are compiled for the baseline where they are not inlined.
        let mut converged = false;
        for _ in 0..SWEEPS {
            if !sweep(a, v, n) {
                converged = true;
                break;
            }
        }
        let mut lambda = [Lanes::ZERO; SMALL];
        for k in 0..n {
            lambda[k] = a[k][k];
        }
        sort(&mut lambda[..n], Order::Ascending, v, n);
        for column in 0..n {
            let turn = orientation(v, n, column);
            for row in 0..n {
                v[row][column] = v[row][column] * turn;
            }
        }
        if !converged {
            faults = faults.map(|fault| fault.or(Some(Fault::NoConvergence)));
        }
        store_block(v, [n, n], out, staged, count, &faults);
        store_row(&lambda[..n], back, values, count, &faults);
        faults
    }
}

/// The upper triangle as the lower one.
#[inline(always)]
fn mirror<T: Number>(a: &mut Block<T>, n: usize) {
    for row in 0..n {
        for column in 0..row {
            a[column][row] = a[row][column];
        }
    }
}

/// Sets the first rows and columns to those of the identity.
#[inline(always)]
pub(super) fn identity<T: Number>(block: &mut Block<T>, n: usize) {
    for row in 0..n {
        for column in 0..n {
            block[row][column] = if row == column { Lanes::ONE } else { Lanes::ZERO };
        }
    }
}

/// Makes the largest entry about 1, by a power of two; its inverse.
#[inline(always)]
pub(super) fn scale<T: Number>(a: &mut Block<T>, [rows, columns]: [usize; 2]) -> Lanes<T> {
    let mut largest = Lanes::ZERO;
    for row in a.iter().take(rows) {
        for entry in row.iter().take(columns) {
            largest = largest.max(entry.modulus());
        }
    }
    let scales = largest.0.map(Number::scale);
    let down = Lanes(scales.map(|[down, _]| down));
    for row in a.iter_mut().take(rows) {
        for entry in row.iter_mut().take(columns) {
            *entry = *entry * down;
        }
    }
    Lanes(scales.map(|[_, up]| up))
}

/// Rotates every pair once, where it has to be; whether any was.
///
/// An element beside the diagonal is small enough when it is below half a unit in the last place of both its diagonal
/// elements' mean (J. Demmel and K. Veselić, *Jacobi's method is more accurate than QR*, 1992), or of the whole matrix
/// squared.
#[inline(always)]
fn sweep<T: Number>(a: &mut Block<T>, v: &mut Block<T>, n: usize) -> bool {
    let mut rotated = false;
    let tolerance = Lanes::of(0.5 * T::EPSILON.to_f64());
    let floor = Lanes([T::EPSILON * T::EPSILON; LANES]);
    for p in 0..n {
        for q in p + 1..n {
            let (app, aqq, apq) = (a[p][p], a[q][q], a[p][q]);
            let bound = tolerance * (app.modulus().root() * aqq.modulus().root());
            let wanted = apq.modulus().above(bound.max(floor));
            if !any(wanted) {
                continue;
            }
            rotated = true;
            let apq_safe = apq.select(wanted, Lanes::ONE);
            let tangent = angle((aqq - app) / (apq_safe + apq_safe)).select(wanted, Lanes::ZERO);
            let (cosine, sine) = rotation(tangent);
            for k in 0..n {
                if k != p && k != q {
                    let (x, y) = (a[k][p], a[k][q]);
                    let (x, y) = rotate(x, y, cosine, sine, wanted);
                    (a[k][p], a[p][k], a[k][q], a[q][k]) = (x, x, y, y);
                }
                (v[k][p], v[k][q]) = rotate(v[k][p], v[k][q], cosine, sine, wanted);
            }
            let change = tangent * apq;
            a[p][p] = (app - change).select(wanted, app);
            a[q][q] = (aqq + change).select(wanted, aqq);
            let rest = Lanes::ZERO.select(wanted, apq);
            (a[p][q], a[q][p]) = (rest, rest);
        }
    }
    rotated
}

/// The tangent of the smaller angle with this cotangent of its double.
#[inline(always)]
pub(super) fn angle<T: Number>(cotangent: Lanes<T>) -> Lanes<T> {
    let root = (Lanes::ONE + cotangent * cotangent).root();
    sign(cotangent) / (cotangent.modulus() + root)
}

/// Cosine and sine.
#[inline(always)]
pub(super) fn rotation<T: Number>(tangent: Lanes<T>) -> (Lanes<T>, Lanes<T>) {
    let cosine = Lanes::ONE / (Lanes::ONE + tangent * tangent).root();
    (cosine, tangent * cosine)
}

#[inline(always)]
pub(super) fn rotate<T: Number>(
    x: Lanes<T>,
    y: Lanes<T>,
    cosine: Lanes<T>,
    sine: Lanes<T>,
    wanted: Mask,
) -> (Lanes<T>, Lanes<T>) {
    ((cosine * x - sine * y).select(wanted, x), (sine * x + cosine * y).select(wanted, y))
}

/// An order of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Ascending,
    Descending,
}

/// Sorts values by exchanges of neighbours, and the columns of a block with them.
#[inline(always)]
pub(super) fn sort<T: Number>(values: &mut [Lanes<T>], order: Order, block: &mut Block<T>, rows: usize) {
    let n = values.len();
    for round in 0..n {
        for i in (round % 2..n.saturating_sub(1)).step_by(2) {
            let (x, y) = (values[i], values[i + 1]);
            let swap = if order == Order::Ascending { x.above(y) } else { y.above(x) };
            if any(swap) {
                (values[i], values[i + 1]) = (y.select(swap, x), x.select(swap, y));
                for row in block.iter_mut().take(rows) {
                    let (x, y) = (row[i], row[i + 1]);
                    (row[i], row[i + 1]) = (y.select(swap, x), x.select(swap, y));
                }
            }
        }
    }
}

/// The sign of a column's first component that is not negligible.
#[inline(always)]
pub(super) fn orientation<T: Number>(v: &Block<T>, rows: usize, column: usize) -> Lanes<T> {
    let mut largest = Lanes::ZERO;
    for row in v.iter().take(rows) {
        largest = largest.max(row[column].modulus());
    }
    let least = largest * Lanes::splat(T::NEGLIGIBLE);
    let mut first = Lanes::ZERO;
    for row in v.iter().take(rows).rev() {
        first = row[column].select(row[column].modulus().above(least), first);
    }
    sign(first)
}
