//! `det`: the determinant by expansion along the first rows, without sharing minors, and its gradient.
//!
//! The expansion has `ell!` products. Of a large matrix it is not one Program: for each choice of columns for the first rows,
//! one after the other, what is left is a minor of [`BLOCK`] rows, whose expansion is a Program over arrays, compiled once. The
//! determinant is the sum of these terms and its gradient the sum of their gradients, so that the memory is that of one term,
//! whatever the size.
//!
//! In a term the minors of a row are an axis of arrays: those of all choices of columns for the rows above stand beside each
//! other, and equal minors of different choices are computed anew, as the benchmark wants it.

use serde::Deserialize;
use wengert::fallible::*;
use wengert::{Tensor, value_and_grad};

use super::input::{check_work, read};
use super::{Failure, Measured, Output, Settings, measure};

/// The rows of the minors that are expanded as arrays: their 8! / 3! smallest minors, of three rows each, are half a megabyte.
const BLOCK: usize = 8;

#[derive(Deserialize)]
struct Input {
    #[serde(rename = "A")]
    matrix: Vec<f64>,
    ell: u64,
}

pub(super) fn evaluate(function: &str, input: &str, settings: &Settings) -> Result<Measured, Failure> {
    let (Input { matrix, ell }, runs) = read(input)?;
    if ell == 0 || ell.checked_mul(ell) != Some(matrix.len() as u64) {
        return Err(Failure::new(format!("A has {} numbers, and ell is {ell}", matrix.len())));
    }
    check_work(&format!("the expansion of {ell} rows"), (1..=ell).try_fold(1u64, u64::checked_mul))?;
    // At most 17, or the work would be refused.
    let ell = ell as usize;
    let matrix = Tensor::try_from_vec(&[ell, ell], matrix)?;
    let start = (&matrix, &Tensor::iota(ell), &Tensor::from(1.0));
    let compiled = settings.compile();
    if function == "primal" {
        let f = compiled.function(|(matrix, order, sign): (Tensor, Tensor, Tensor)| term(&matrix, &order, &sign));
        let run = |&mut (): &mut ()| {
            let mut sum = 0.0;
            expand(ell, &mut |order, sign| {
                sum += f.try_call((&matrix, order, sign))?.item();
                Ok(())
            })?;
            Ok(sum)
        };
        measure(&runs, || Ok(f.plan(start).map(|_| ())?), run, Output::Number)
    } else {
        let f = compiled.function(|(matrix, order, sign): (Tensor, Tensor, Tensor)| {
            value_and_grad(matrix, |matrix| term(&matrix, &order, &sign)).1.reshape(&[-1])
        });
        let run = |&mut (): &mut ()| {
            let mut sum = vec![0.0; ell * ell];
            expand(ell, &mut |order, sign| {
                let term = f.try_call((&matrix, order, sign))?.to_vec();
                sum.iter_mut().zip(term).for_each(|(sum, term)| *sum += term);
                Ok(())
            })?;
            Ok(sum)
        };
        measure(&runs, || Ok(f.plan(start).map(|_| ())?), run, Output::Numbers)
    }
}

/// Calls `take` for each choice of columns for the rows above the last [`BLOCK`]: the columns in the order of the rows, those
/// that are left in ascending order behind them, and the sign of the choice.
fn expand(ell: usize, take: &mut impl FnMut(&Tensor, &Tensor) -> Result<(), Failure>) -> Result<(), Failure> {
    fn choose(
        rows: usize,
        order: &mut [i64],
        sign: f64,
        take: &mut impl FnMut(&Tensor, &Tensor) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let ell = order.len();
        if ell - rows <= BLOCK {
            return take(&Tensor::from(&*order), &Tensor::from(sign));
        }
        for j in rows..ell {
            // Column j comes to the front of those that are left, which keep their order.
            order[rows..=j].rotate_right(1);
            let sign = if (j - rows).is_multiple_of(2) { sign } else { -sign };
            choose(rows + 1, order, sign, take)?;
            order[rows..=j].rotate_left(1);
        }
        Ok(())
    }
    choose(0, &mut (0..ell as i64).collect::<Vec<_>>(), 1.0, take)
}

/// The entries of the first rows in their columns, times the minor that is left.
fn term(matrix: &Tensor, order: &Tensor, sign: &Tensor) -> Tensor {
    let matrix = matrix.take(order, 1);
    let above = matrix.shape()[0].saturating_sub(BLOCK) as isize;
    let chosen = (0..above).fold(sign.clone(), |product, row| product * matrix.slice((row, row)));
    let left = matrix.slice((above.., above..)).expand_dims(-1);
    chosen * minors(&left).sum()
}

/// The determinants of matrices that stand along the last axis of an array of shape `[rows, rows, matrices]`.
///
/// `D = sum_j (-1)^j a_0j D_j`, `D_j` without row 0 and column j.
fn minors(matrices: &Tensor) -> Tensor {
    let rows = matrices.shape()[0] as isize;
    let entry = |i: isize, j: isize| matrices.slice((i, j));
    if rows == 1 {
        return entry(0, 0);
    }
    let signed = |j: isize, term: Tensor| if j % 2 == 0 { term } else { -term };
    if rows <= 3 {
        // Nothing is shared yet: the minors of three rows have different columns.
        let below = |j: isize| without_column(&matrices.slice(1..), j);
        return (0..rows)
            .map(|j| signed(j, entry(0, j) * minors(&below(j))))
            .reduce(|sum, term| sum + term)
            .expect("rows");
    }
    let below: Vec<Tensor> = (0..rows).map(|j| without_column(&matrices.slice(1..), j)).collect();
    let below = minors(&Tensor::concat(&below.iter().collect::<Vec<_>>(), -1));
    let count = matrices.shape()[2] as isize;
    let below = below.reshape(&[rows, count]);
    (0..rows)
        .map(|j| signed(j, entry(0, j) * below.slice(j)))
        .reduce(|sum, term| sum + term)
        .expect("at least four rows")
}

fn without_column(matrices: &Tensor, j: isize) -> Tensor {
    Tensor::concat(&[&matrices.slice((.., ..j)), &matrices.slice((.., j + 1..))], 1)
}
