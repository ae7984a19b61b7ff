//! Sparse matrices as operands: a pattern that is fixed, and the numbers of its entries, which are a value like any other.
//!
//! The pattern is part of the operation, the numbers stand in the last axis of an operand, row by row. Products with a sparse
//! matrix, with its transpose, and products of two thin matrices at the entries of the pattern are closed under
//! transposition; a system's derivatives are made of systems with the same matrix and of these. So the derivative by the
//! numbers has exactly the pattern, and nothing of the size of the full matrix is ever made.
//!
//! Operands have axes in front, which are a batch.

mod matching;
mod outer;
mod plain;
mod product;
mod shared;
mod solve;
mod text;
mod unit;

pub use outer::SparseOuter;
#[cfg(feature = "linalg")]
pub(crate) use plain::Refusal;
pub use product::SparseProduct;
pub use shared::SharedPattern;
pub use solve::SparseSolve;
#[cfg(feature = "text")]
pub(crate) use text::Patterns;
pub use unit::SparseUnit;

use super::linalg::{in_batch, with_lane};
use super::{Batched, check_float};
use crate::array::Type;
use crate::error::{Misfit, misfit};
use crate::program::{Builder, Value};

/// The axes before the numbers of entries, which have to be as many as the pattern has.
fn check_values<'a>(pattern: &SharedPattern, values: &'a Type) -> Result<&'a [usize], Misfit> {
    check_float(values)?;
    match &values.shape[..] {
        [lead @ .., count] if *count == pattern.nnz() => Ok(lead),
        [.., count] => misfit!("the pattern has {} entries, and there are {count} values", pattern.nnz()),
        [] => misfit!("{values} has no axis of values, one for each entry of the pattern"),
    }
}

/// The axes before a matrix that has to have this many rows, and its columns.
fn check_rows<'a>(what: &str, rows: usize, x: &'a Type) -> Result<(&'a [usize], usize), Misfit> {
    check_float(x)?;
    match &x.shape[..] {
        [lead @ .., own, columns] if *own == rows => Ok((lead, *columns)),
        [.., own, _] => misfit!("the sparse matrix has {rows} {what}, and the operand {own} rows"),
        _ => misfit!("{x} is no matrix: it needs at least two axes"),
    }
}

/// Checks that two operands have the same element type and the same axes before.
fn check_alike(args: &[&Type], leads: [&[usize]; 2]) -> Result<(), Misfit> {
    if args[0].dtype != args[1].dtype {
        misfit!("the operands are {} and {}: the element types have to be the same", args[0].dtype, args[1].dtype);
    }
    if leads[0] != leads[1] {
        misfit!("the axes before are {:?} and {:?}, and have to be the same", leads[0], leads[1]);
    }
    Ok(())
}

/// The batched form of an operation on the numbers of a matrix and another matrix. If all lanes have one sparse matrix, they
/// are columns of the other one.
fn batched(op: impl Into<super::Op>, b: &mut Builder, args: &[Value], batched: &[bool], length: usize) -> Batched {
    let op = op.into();
    if batched != [false, true] {
        return with_lane(op, b, args, batched, length);
    }
    let columns = b.shape(args[1])[b.shape(args[1]).len() - 1];
    let right = as_columns(b, args[1]);
    let out = b.op(op, &[args[0], right]);
    Ok(vec![(from_columns(b, out, [columns, length]), true)])
}

/// The first axis as columns: `[m, .., n, k]` to `[.., n, k m]`.
fn as_columns(b: &mut Builder, x: Value) -> Value {
    let last = b.shape(x).len() - 1;
    let moved = b.move_axis(x, 0, last);
    let [shape @ .., columns, lanes] = b.shape(moved) else { unreachable!("a matrix with an axis before") };
    let shape = [shape, &[columns * lanes]].concat();
    b.reshape(moved, &shape)
}

/// Back again, for this number of lanes with this number of columns each.
fn from_columns(b: &mut Builder, x: Value, [columns, lanes]: [usize; 2]) -> Value {
    let [shape @ .., _] = b.shape(x) else { unreachable!("a matrix") };
    let shape = [shape, &[columns, lanes]].concat();
    let last = shape.len() - 1;
    let apart = b.reshape(x, &shape);
    b.move_axis(apart, last, 0)
}
