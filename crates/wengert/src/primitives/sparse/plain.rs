//! Sparse systems by elimination, as plainly as possible: the definition, in double precision.

use std::collections::{BTreeMap, BTreeSet};

use super::SharedPattern;
use crate::primitives::MatrixKind;
use crate::primitives::linalg::not_positive;

/// A row of a matrix, or one that is reduced: numbers by columns.
type Row = BTreeMap<usize, f64>;

/// Why a system has no solution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Refusal {
    /// An entry, by its number, is NaN or infinite.
    NotFinite { entry: usize, value: f64 },
    /// This row is a combination of others: nothing of it is left as a pivot.
    Singular { row: usize },
    /// The leading minor of this order is not positive.
    Minor { order: usize },
    /// The pivot of this row is not positive, in an order of the rows that is not their own.
    #[cfg_attr(not(feature = "linalg"), expect(dead_code, reason = "the library chooses an order of the rows"))]
    NotPositive { row: usize },
    /// Numbers became larger than there are.
    Overflow,
    /// There is not enough memory for the factors.
    #[cfg_attr(not(feature = "linalg"), expect(dead_code, reason = "the library says so"))]
    Memory,
}

impl Refusal {
    /// The sentence for users.
    pub(crate) fn told(self, pattern: &SharedPattern) -> String {
        match self {
            Refusal::NotFinite { entry, value } => {
                let row = pattern.starts().partition_point(|&start| start <= entry) - 1;
                format!("the element [{row}, {}] is {value}", pattern.columns()[entry])
            }
            Refusal::Singular { row } => {
                format!("the matrix is singular: row {row} is a combination of other rows, and its pivot is 0")
            }
            Refusal::Minor { order } => not_positive(order),
            Refusal::NotPositive { row } => {
                format!("the matrix is not positive definite: the pivot of row {row} is not positive")
            }
            Refusal::Overflow => {
                "the solution is too large for its element type: the matrix is close to a singular one, \
                                  or its entries are of very different sizes"
                    .to_owned()
            }
            Refusal::Memory => "there is not enough memory for the factors of the matrix".to_owned(),
        }
    }
}

/// The solutions of `A x = b`, or `A^T x = b`, for the columns of b, `columns` of them side by side. A column with an entry that
/// is not finite has NaN as its solution: every unknown may depend on every entry.
pub(super) fn solve(
    pattern: &SharedPattern,
    values: &[f64],
    right: &[f64],
    columns: usize,
    (kind, transpose): (MatrixKind, bool),
) -> Result<Vec<f64>, Refusal> {
    if let Some(entry) = values.iter().position(|x| !x.is_finite()) {
        return Err(Refusal::NotFinite { entry, value: values[entry] });
    }
    let mut rows = vec![Row::new(); pattern.rows()];
    for (entry, (row, col)) in pattern.entries().enumerate() {
        match kind {
            MatrixKind::Positive => {
                *rows[row].entry(col).or_default() += 0.5 * values[entry];
                *rows[col].entry(row).or_default() += 0.5 * values[entry];
            }
            MatrixKind::General if transpose => drop(rows[col].insert(row, values[entry])),
            MatrixKind::General => drop(rows[row].insert(col, values[entry])),
        }
    }
    let mut x = right.to_vec();
    eliminated(rows, &mut x, columns, kind)?;
    for column in 0..columns {
        let of = |x: &[f64]| x[column..].iter().step_by(columns).all(|x| x.is_finite());
        if !of(right) {
            x[column..].iter_mut().step_by(columns).for_each(|x| *x = f64::NAN);
        } else if !of(&x) {
            return Err(Refusal::Overflow);
        }
    }
    Ok(x)
}

/// Row by row: each is reduced by those before it, and keeps its largest number as the pivot; of a positive definite matrix
/// that on the diagonal. Then the unknowns from the last one to the first.
fn eliminated(rows: Vec<Row>, x: &mut [f64], columns: usize, kind: MatrixKind) -> Result<(), Refusal> {
    let n = rows.len();
    let mut step_of = vec![usize::MAX; n];
    let mut reduced: Vec<(usize, f64, Row)> = Vec::with_capacity(n);
    for (row, mut own) in rows.into_iter().enumerate() {
        let mut steps: BTreeSet<usize> = own.keys().map(|&col| step_of[col]).filter(|&step| step < row).collect();
        while let Some(step) = steps.pop_first() {
            let (col, pivot, above) = &reduced[step];
            let factor = own.remove(col).unwrap_or(0.0) / pivot;
            for (&col, value) in above {
                *own.entry(col).or_default() -= factor * value;
                if step_of[col] < row {
                    steps.insert(step_of[col]);
                }
            }
            for column in 0..columns {
                x[row * columns + column] -= factor * x[step * columns + column];
            }
        }
        let pivot = match kind {
            MatrixKind::Positive => own.get(&row).map(|&pivot| (row, pivot)),
            // Of equal ones the first.
            MatrixKind::General => own
                .iter()
                .map(|(&col, &value)| (col, value))
                .reduce(|best, other| if other.1.abs() > best.1.abs() { other } else { best }),
        };
        let (col, pivot) = match (pivot, kind) {
            (Some((col, pivot)), MatrixKind::Positive) if pivot > 0.0 => (col, pivot),
            (_, MatrixKind::Positive) => return Err(Refusal::Minor { order: row + 1 }),
            (Some((col, pivot)), MatrixKind::General) if pivot != 0.0 => (col, pivot),
            (_, MatrixKind::General) => return Err(Refusal::Singular { row }),
        };
        own.remove(&col);
        step_of[col] = row;
        reduced.push((col, pivot, own));
    }
    let mut solution = vec![0.0; x.len()];
    for (row, (col, pivot, own)) in reduced.iter().enumerate().rev() {
        for column in 0..columns {
            let known: f64 = own.iter().map(|(&other, value)| value * solution[other * columns + column]).sum();
            solution[col * columns + column] = (x[row * columns + column] - known) / pivot;
        }
    }
    x.copy_from_slice(&solution);
    Ok(())
}
