//! Eight small matrices at a time, one in each lane of a vector.
//!
//! Everything is written for one number, and runs on eight: what differs between matrices (a pivot's row, whether a rotation
//! is needed) is a mask. No lane sees the others, so that a matrix has the same bits wherever it stands in a batch, and
//! multiplications and additions are not fused, so that it has the same at every level.

use std::array::from_fn;
use std::ops::{Add, Div, Mul, Neg, Range, Sub};

use super::batch::{Outs, Report, parts};
use super::number::not_finite;
use super::{Failed, Fault, Number, SMALL};
use crate::arena::Line;
use crate::transpose::transpose;
use crate::{Float, Level, Pool, Work, dispatch_at, level};

mod determinants;
mod eigh;
mod qr;
mod svd;
mod tangent;
mod triangles;

pub(super) use determinants::{DetLanes, MinorLanes};
pub(super) use eigh::EighLanes;
pub(super) use qr::QrLanes;
pub(super) use svd::SvdLanes;
pub(super) use tangent::{LuTangentLanes, TangentLanes};
pub(super) use triangles::{CholeskyLanes, LuLanes, SolveLanes};

/// How many matrices there are in a vector.
pub(super) const LANES: usize = 8;

/// One number of each matrix.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lanes<T>([T; LANES]);

/// Something true or false of each matrix.
pub(super) type Mask = [bool; LANES];

/// Up to eight rows and columns.
pub(super) type Block<T> = [[Lanes<T>; SMALL]; SMALL];

/// What an algorithm works in. It begins with what the matrices before left: zeros for all of them would take as long as a
/// triangular system.
pub(super) struct Workspace<T> {
    blocks: [Block<T>; 3],
    staged: Staged<T>,
}

/// Entries on their way between matrices and blocks, row by row.
type Staged<T> = [[T; LANES]; SMALL * SMALL];

impl<T: Number> Workspace<T> {
    fn new() -> Self {
        Workspace { blocks: [[[Lanes::ZERO; SMALL]; SMALL]; 3], staged: [[T::ZERO; LANES]; SMALL * SMALL] }
    }
}

impl<T: Number> Lanes<T> {
    pub(super) const ZERO: Self = Lanes([T::ZERO; LANES]);
    pub(super) const ONE: Self = Lanes([T::ONE; LANES]);

    /// These numbers.
    #[inline(always)]
    pub(super) fn new(numbers: [T; LANES]) -> Self {
        Lanes(numbers)
    }
    /// The first numbers of a slice.
    #[inline(always)]
    pub(super) fn load(numbers: &[T]) -> Self {
        Lanes(from_fn(|k| numbers[k]))
    }
    #[inline(always)]
    pub(super) fn numbers(&self) -> &[T; LANES] {
        &self.0
    }
    #[inline(always)]
    fn map(self, f: impl Fn(T) -> T) -> Self {
        Lanes(from_fn(|k| f(self.0[k])))
    }
    #[inline(always)]
    pub(super) fn splat(x: T) -> Self {
        Lanes([x; LANES])
    }
    #[inline(always)]
    pub(super) fn of(x: f64) -> Self {
        Lanes([T::from_f64(x); LANES])
    }
    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(T, T) -> T) -> Self {
        Lanes(from_fn(|k| f(self.0[k], other.0[k])))
    }
    #[inline(always)]
    pub(super) fn root(self) -> Self {
        self.map(Float::sqrt)
    }
    #[inline(always)]
    pub(super) fn modulus(self) -> Self {
        self.map(Float::abs)
    }
    #[inline(always)]
    pub(super) fn above(self, other: Self) -> Mask {
        from_fn(|k| self.0[k] > other.0[k])
    }
    #[inline(always)]
    pub(super) fn max(self, other: Self) -> Self {
        self.zip(other, |x, y| if y > x { y } else { x })
    }
    /// `self` where the mask is true.
    #[inline(always)]
    pub(super) fn select(self, mask: Mask, other: Self) -> Self {
        Lanes(from_fn(|k| if mask[k] { self.0[k] } else { other.0[k] }))
    }
}

macro_rules! operator {
    ($($trait:ident $name:ident $operator:tt),*) => {$(
        impl<T: Number> $trait for Lanes<T> {
            type Output = Self;
            #[inline(always)]
            fn $name(self, other: Self) -> Self {
                Lanes(from_fn(|k| self.0[k] $operator other.0[k]))
            }
        }
    )*};
}
operator!(Add add +, Sub sub -, Mul mul *, Div div /);

impl<T: Number> Neg for Lanes<T> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        self.map(|x| -x)
    }
}

/// `-1` where it is below zero, else 1.
#[inline(always)]
fn sign<T: Number>(x: Lanes<T>) -> Lanes<T> {
    x.map(|x| if x < T::ZERO { -T::ONE } else { T::ONE })
}

#[inline(always)]
fn any(mask: Mask) -> bool {
    mask.iter().fold(false, |any, &lane| any | lane)
}

/// Matrices of one size, of which a few are read at a time.
#[derive(Clone, Copy)]
struct Matrices<'a, T> {
    data: &'a [T],
    rows: usize,
    columns: usize,
}

impl<T: Number> Matrices<'_, T> {
    /// All entries of the matrices from `first` on, whatever they are. Lanes behind the last matrix hold that once more.
    #[inline(always)]
    fn stage(&self, first: usize, count: usize, staged: &mut Staged<T>) {
        let size = self.rows * self.columns;
        if count == LANES {
            transpose([size, LANES], self.data, first * size, size.cast_signed(), staged.as_flattened_mut(), LANES);
        } else {
            for lane in 0..LANES {
                let matrix = &self.data[(first + lane.min(count - 1)) * size..][..size];
                for (entries, &x) in staged.iter_mut().zip(matrix) {
                    entries[lane] = x;
                }
            }
        }
    }

    /// The matrices from `first` on, whatever their entries are.
    #[inline(always)]
    fn place(&self, first: usize, count: usize, block: &mut Block<T>, staged: &mut Staged<T>) {
        self.stage(first, count, staged);
        for (row, entries) in block.iter_mut().zip(staged.chunks_exact(self.columns.max(1))).take(self.rows) {
            for (entry, &staged) in row.iter_mut().zip(entries) {
                *entry = Lanes(staged);
            }
        }
    }

    /// The matrices from `first` on, and the first entry of each that is not finite, among those in a range of columns of each
    /// row: the others are not to be read. If there is one, those in the block are finite all the same.
    #[inline(always)]
    fn load(
        &self,
        first: usize,
        count: usize,
        reads: impl Fn(usize) -> Range<usize>,
        block: &mut Block<T>,
        staged: &mut Staged<T>,
    ) -> [Option<Fault>; LANES] {
        self.place(first, count, block, staged);
        let mut check = Lanes::ZERO;
        for row in 0..self.rows {
            for column in reads(row) {
                // Zero, or NaN.
                check = check + block[row][column] * Lanes::ZERO;
            }
        }
        let mut faults = [None; LANES];
        if any(check.0.map(|x| x != T::ZERO)) {
            for (k, fault) in faults.iter_mut().enumerate() {
                let mut entries = (0..self.rows).flat_map(|row| reads(row).map(move |column| (row, column)));
                let wrong = entries.find(|&(row, column)| !block[row][column].0[k].finite());
                *fault = wrong.map(|(row, column)| not_finite(row, column, block[row][column].0[k]));
            }
            // Whatever follows meets finite numbers only.
            let finite = check.0.map(|x| x == T::ZERO);
            for row in 0..self.rows {
                for column in reads(row) {
                    block[row][column] = block[row][column].select(finite, Lanes::ZERO);
                }
            }
        }
        faults
    }
}

/// Writes matrices, given the entries of a row and a column; NaN where there is a fault.
#[inline(always)]
fn store<T: Number>(
    entry: impl Fn(usize, usize) -> Lanes<T>,
    [rows, columns]: [usize; 2],
    out: &mut [T],
    staged: &mut Staged<T>,
    count: usize,
    faults: &[Option<Fault>; LANES],
) {
    for row in 0..rows {
        for column in 0..columns {
            staged[row * columns + column] = entry(row, column).0;
        }
    }
    unstage([rows, columns], out, staged, count, faults);
}

/// Writes matrices of which all entries are staged; NaN where there is a fault.
#[inline(always)]
fn unstage<T: Number>(
    [rows, columns]: [usize; 2],
    out: &mut [T],
    staged: &Staged<T>,
    count: usize,
    faults: &[Option<Fault>; LANES],
) {
    let size = rows * columns;
    if count == LANES {
        transpose([LANES, size], staged.as_flattened(), 0, LANES.cast_signed(), out, size);
    }
    for (lane, out) in out.chunks_exact_mut(size.max(1)).enumerate().take(count) {
        if count < LANES {
            for (out, entries) in out.iter_mut().zip(staged) {
                *out = entries[lane];
            }
        }
        if faults[lane].is_some() {
            out.fill(T::NAN);
        }
    }
}

/// As [`store`], of rows and columns of a block.
#[inline(always)]
fn store_block<T: Number>(
    block: &Block<T>,
    sizes: [usize; 2],
    out: &mut [T],
    staged: &mut Staged<T>,
    count: usize,
    faults: &[Option<Fault>; LANES],
) {
    store(|row, column| block[row][column], sizes, out, staged, count, faults);
}

/// The first zero on the diagonal of each triangle.
#[inline(always)]
fn zero_pivots<T: Number>(n: usize, pivots: impl Fn(usize) -> Lanes<T>) -> [Option<Fault>; LANES] {
    let mut faults = [None; LANES];
    for pivot in 0..n {
        let entries = pivots(pivot).0;
        if any(entries.map(|x| x == T::ZERO)) {
            for (fault, &x) in faults.iter_mut().zip(&entries) {
                if fault.is_none() && x == T::ZERO {
                    *fault = Some(Fault::Singular { pivot });
                }
            }
        }
    }
    faults
}

/// As [`store`], of one row times a factor.
#[inline(always)]
fn store_row<T: Number>(
    row: &[Lanes<T>],
    factor: Lanes<T>,
    out: &mut [T],
    count: usize,
    faults: &[Option<Fault>; LANES],
) {
    for (column, &entry) in row.iter().enumerate() {
        let entry = entry * factor;
        for k in 0..count {
            out[k * row.len() + column] = if faults[k].is_some() { T::NAN } else { entry.0[k] };
        }
    }
}

/// An algorithm for the matrices of a few lanes.
pub(super) trait Kernel<T: Number, const K: usize>: Sync {
    /// Computes the matrices `first..first + count`, at most as many as there are lanes.
    fn lanes(
        &self,
        first: usize,
        count: usize,
        outs: [&mut [T]; K],
        integers: &mut [i64],
        workspace: &mut Workspace<T>,
    ) -> [Option<Fault>; LANES];
}

/// Some lanes' worth of matrices, at the machine's level.
struct Run<'a, T, S, const K: usize> {
    kernel: &'a S,
    first: usize,
    count: usize,
    outs: [(&'a mut [T], usize); K],
    integers: (&'a mut [i64], usize),
    report: &'a Report,
}

impl<T: Number, S: Kernel<T, K>, const K: usize> Work for Run<'_, T, S, K> {
    type Output = ();
    #[inline(always)]
    fn run(mut self) {
        let mut workspace = Workspace::new();
        for start in (0..self.count).step_by(LANES) {
            let count = LANES.min(self.count - start);
            let outs = self.outs.each_mut().map(|(out, size)| &mut out[start * *size..(start + count) * *size]);
            let size = self.integers.1;
            let integers = &mut self.integers.0[start * size..(start + count) * size];
            let faults = self.kernel.lanes(self.first + start, count, outs, integers, &mut workspace);
            for (k, fault) in faults.into_iter().enumerate().take(count) {
                if let Some(fault) = fault {
                    self.report.add(self.first + start + k, fault);
                }
            }
        }
    }
}

/// Runs an algorithm over a batch of matrices; `work` is that of one matrix.
pub(super) fn run<T: Number, S: Kernel<T, K>, const K: usize>(
    pool: &Pool,
    kernel: &S,
    [count, work]: [usize; 2],
    outs: Outs<'_, T, K>,
) -> Result<(), Failed> {
    run_at(level(), pool, kernel, [count, work], outs)
}

/// As [`run`], at a level that a test chooses.
fn run_at<T: Number, S: Kernel<T, K>, const K: usize>(
    level: Level,
    pool: &Pool,
    kernel: &S,
    [count, work]: [usize; 2],
    outs: Outs<'_, T, K>,
) -> Result<(), Failed> {
    let report = Report::default();
    let sizes: [usize; K] = from_fn(|k| outs.numbers[k].1);
    let size = outs.integers.1;
    let mut nothing: [Line; 0] = [];
    // Lanes do the work of one matrix in little more than an eighth of the time.
    parts(pool, [count, work.div_ceil(4), LANES], outs, &mut nothing, |part| {
        let mut out = 0;
        let outs = part.outs.map(|numbers| {
            out += 1;
            (numbers, sizes[out - 1])
        });
        let (first, count) = (part.first, part.count);
        dispatch_at(level, Run { kernel, first, count, outs, integers: (part.integers, size), report: &report });
    });
    report.result()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::factor::Reads;

    /// Fills results and a permutation.
    type Algorithm<'a> = &'a dyn Fn([&mut [f64]; 3], &mut [i64]);

    /// Every algorithm on 21 matrices of 5 rows.
    fn all(level: Level) -> Vec<u64> {
        const SIZES: [usize; 3] = [25 * 21, 5 * 21, 25 * 21];
        let pool = Pool::new(1);
        let mut bits = Vec::new();
        let place = |k: usize| if (k % 25).is_multiple_of(6) { 8.0 } else { ((k * 37) % 101) as f64 / 50.0 - 1.0 };
        let a: Vec<f64> = (0..SIZES[0]).map(place).collect();
        let mut note = |kernel: Algorithm<'_>| {
            let (mut outs, mut order) = ([a.clone(), vec![0.0; SIZES[1]], a.clone()], vec![0; SIZES[1]]);
            kernel(outs.each_mut().map(|out| &mut out[..]), &mut order);
            bits.extend(outs.iter().flatten().map(|x| x.to_bits()).chain(order.iter().map(|&k| k as u64)));
        };
        note(&|[l, ..], _| {
            let outs = Outs { numbers: [(l, 25)], integers: (&mut [], 0) };
            run_at(level, &pool, &CholeskyLanes { n: 5, reads: Reads::Mean }, [21, 1], outs).unwrap();
        });
        note(&|[v, values, _], _| {
            let outs = Outs { numbers: [(v, 25), (values, 5)], integers: (&mut [], 0) };
            run_at(level, &pool, &EighLanes { n: 5, reads: Reads::Mean }, [21, 1], outs).unwrap();
        });
        note(&|[u, values, vt], _| {
            let outs = Outs { numbers: [(u, 25), (values, 5), (vt, 25)], integers: (&mut [], 0) };
            run_at(level, &pool, &SvdLanes { a: &a, rows: 5, columns: 5 }, [21, 1], outs).unwrap();
        });
        note(&|[q, _, r], _| {
            let outs = Outs { numbers: [(q, 25), (r, 25)], integers: (&mut [], 0) };
            run_at(level, &pool, &QrLanes { a: &a, rows: 5, columns: 5 }, [21, 1], outs).unwrap();
        });
        note(&|[l, _, u], order| {
            let outs = Outs { numbers: [(l, 25), (u, 25)], integers: (order, 5) };
            run_at(level, &pool, &LuLanes { a: &a, rows: 5, columns: 5 }, [21, 1], outs).unwrap();
        });
        note(&|[cofactors, dets, _], _| {
            let outs = Outs { numbers: [(&mut dets[..21], 1)], integers: (&mut [], 0) };
            run_at(level, &pool, &DetLanes { a: &a, n: 5 }, [21, 1], outs).unwrap();
            let outs = Outs { numbers: [(&mut cofactors[..16 * 21], 16)], integers: (&mut [], 0) };
            run_at(level, &pool, &MinorLanes { a: &a[..16 * 21], n: 4 }, [21, 1], outs).unwrap();
        });
        bits
    }

    #[test]
    fn every_level_gives_the_same_bits() {
        let bits = all(Level::Baseline);
        assert!(Level::ALL.into_iter().all(|level| all(level) == bits));
    }
}
