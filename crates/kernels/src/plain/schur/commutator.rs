//! The linear equation that the derivative of a Schur form solves.

use std::ops::Range;

use super::super::transposed;
use super::{MatrixEquation, block_value, small};

/// Two eigenvalues that are too near to each other: their gap, and the largest modulus of all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Repeated {
    /// The gap.
    pub gap: f64,
    /// The largest modulus.
    pub largest: f64,
}

impl Repeated {
    /// The error, if two of these eigenvalues, real and imaginary parts, are nearer than a multiple of the largest modulus.
    pub(in super::super) fn check(values: &[(f64, f64)], least: f64) -> Result<(), Repeated> {
        let largest = largest(values);
        let gaps = values.iter().enumerate().flat_map(|(k, x)| {
            // A pair is apart from others if one of it is, with the imaginary parts on one side.
            values[..k].iter().map(move |y| (x.0 - y.0).hypot(x.1 - y.1))
        });
        let gap = gaps.fold(f64::INFINITY, f64::min);
        if gap <= least * largest { Err(Repeated { gap, largest }) } else { Ok(()) }
    }
}

/// The largest modulus.
fn largest(values: &[(f64, f64)]) -> f64 {
    values.iter().fold(0.0, |largest, (re, im)| largest.max(re.hypot(*im)))
}

/// The X that is zero but below the blocks on the diagonal of a quasi-triangular T, with `T X - X T = C` there; with `T^T` in the
/// place of T if asked for. `second[k]` says that row k is the second one of a block.
///
/// # Errors
/// [`Repeated`]: eigenvalues of two blocks are no more than `least` of the largest modulus apart.
pub fn commutator(t: &[f64], second: &[bool], c: &[f64], transpose: bool, least: f64) -> Result<Vec<f64>, Repeated> {
    let n = second.len();
    let starts: Vec<usize> = (0..=n).filter(|&k| k == 0 || k == n || !second[k]).collect();
    let blocks: Vec<Range<usize>> = starts.windows(2).map(|ends| ends[0]..ends[1]).collect();
    let mut own = vec![0.0; n * n];
    for block in &blocks {
        for i in block.clone() {
            own[i * n + block.start..(i + 1) * n].copy_from_slice(&t[i * n + block.start..(i + 1) * n]);
        }
    }
    let values: Vec<(f64, f64)> = blocks.iter().map(|block| block_value(&own, n, block.start, block.len())).collect();
    Repeated::check(&values, least)?;
    let (t, columns) = (transposed(&own, n, n), own);
    let (t, columns) = if transpose { (t, columns) } else { (columns, t) };
    // Columns of both matrices stand as rows beside them.
    let (mut x, mut x_columns) = (vec![0.0; n * n], vec![0.0; n * n]);
    let count = blocks.len();
    // From the lowest block on the left to the diagonal; of the transposed equation the other way.
    for step in (0..count * count).map(|step| if transpose { count * count - 1 - step } else { step }) {
        let (row, column) = (count - 1 - step % count, step / count);
        let (row, column) = if row > column { (&blocks[row], &blocks[column]) } else { continue };
        // Where T is not 0, and X is known.
        let between = column.end..row.start;
        let (left, right) = if transpose { (between.clone(), between) } else { (row.end..n, 0..column.start) };
        let dot = |x: &[f64], i: usize, y: &[f64], j: usize, range: &Range<usize>| -> f64 {
            let (x, y) = (&x[i * n..][range.clone()], &y[j * n..][range.clone()]);
            x.iter().zip(y).map(|(x, y)| x * y).sum()
        };
        let mut rest = Vec::with_capacity(row.len() * column.len());
        for (i, j) in row.clone().flat_map(|i| column.clone().map(move |j| (i, j))) {
            let known = dot(&x, i, &columns, j, &right) - dot(&t, i, &x_columns, j, &left);
            rest.push(c[i * n + j] + known);
        }
        let solved = between_blocks(&t, n, row, column, &rest);
        let Some(solved) = solved else {
            return Err(Repeated { gap: 0.0, largest: largest(&values) });
        };
        let places = row.clone().flat_map(|i| column.clone().map(move |j| (i, j)));
        for ((i, j), value) in places.zip(solved) {
            (x[i * n + j], x_columns[j * n + i]) = (value, value);
        }
    }
    Ok(x)
}

/// The block of X between two blocks of T: at most four unknowns. `None` if the two have an eigenvalue in common.
fn between_blocks(t: &[f64], n: usize, row: &Range<usize>, column: &Range<usize>, rest: &[f64]) -> Option<Vec<f64>> {
    let q = column.len();
    let minus: Vec<f64> = (0..q * q).map(|at| -t[(column.start + at / q) * n + column.start + at % q]).collect();
    small(MatrixEquation::Continuous, (t, n, row), (&minus, q, &(0..q)), rest, 0.0).ok()
}
