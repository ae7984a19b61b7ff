//! Contractions as products of matrices: which labels are rows, columns and sums, and how far apart their elements lie.

use super::view::{View, joined};
use crate::primitives::Einsum;
use crate::program::Value;

/// One product of matrices for each index of the batch axes, on the elements of three stored values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Matrices {
    /// Lengths of the batch axes.
    pub(super) batch: Vec<usize>,
    /// Rows of the left matrix, the inner length, columns of the right one.
    pub(super) dims: [usize; 3],
    pub(super) left: Place,
    pub(super) right: Place,
    pub(super) out: Place,
}

/// Where a matrix lies in a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) value: Value,
    pub(super) offset: usize,
    /// From row to row and from column to column.
    pub(super) strides: [isize; 2],
    /// Along each batch axis.
    pub(super) batch: Vec<isize>,
}

/// A label with its length and its strides in both operands and the result; `None` where it is not.
#[derive(Clone, Copy)]
struct Axis {
    length: usize,
    left: Option<isize>,
    right: Option<isize>,
    out: Option<isize>,
}

/// The matrices of a contraction, or which operand (0 or 1) has to be copied with its inner labels last, in the order of
/// the other operand.
pub(super) fn matrices(op: &Einsum, views: [&View; 2], out: Value) -> Result<Matrices, usize> {
    let [x, y] = views;
    if let Some(k) = views.iter().position(|view| view.strides.iter().any(|&stride| stride < 0)) {
        return Err(k);
    }
    let lengths = op.lhs().iter().zip(&x.shape).chain(op.rhs().iter().zip(&y.shape));
    let length = |label: u8| lengths.clone().find(|(own, _)| **own == label).map_or(1, |(_, &length)| length);
    let shape: Vec<usize> = op.out().iter().map(|&label| length(label)).collect();
    let result = View::whole(out, &shape);
    let stride = |labels: &[u8], strides: &[isize], label: u8| Some(strides[labels.iter().position(|&l| l == label)?]);
    let axis = |label: u8, length: usize| Axis {
        length,
        left: stride(op.lhs(), &x.strides, label),
        right: stride(op.rhs(), &y.strides, label),
        out: stride(op.out(), &result.strides, label),
    };
    let mut labels: Vec<u8> = op.out().to_vec();
    labels.extend(op.lhs().iter().filter(|label| !op.out().contains(label)));
    let axes: Vec<Axis> = labels.iter().map(|&label| axis(label, length(label))).filter(|a| a.length != 1).collect();
    let pick = |left: bool, right: bool, out: bool| -> Vec<Axis> {
        let fits = |a: &&Axis| (a.left.is_some(), a.right.is_some(), a.out.is_some()) == (left, right, out);
        axes.iter().filter(fits).copied().collect()
    };
    let inner = pick(true, true, false);
    let Some(inner) = one(&inner, |a| [a.left, a.right]) else {
        // The operand whose inner labels do not follow each other is copied; if both do on their own, the right one.
        let apart = |stride: fn(&Axis) -> Option<isize>| {
            joined(inner.iter().map(|a| (a.length, stride(a).unwrap_or(0)))).len() > 1
        };
        return Err(usize::from(!apart(|a| a.left)));
    };
    let mut batch = pick(true, true, true);
    let rows = longest(pick(true, false, true), &mut batch, |a| [a.left, a.out]);
    let cols = longest(pick(false, true, true), &mut batch, |a| [a.right, a.out]);
    let or_zero = Option::unwrap_or_default;
    let along = |stride: fn(&Axis) -> Option<isize>| batch.iter().map(|a| or_zero(stride(a))).collect::<Vec<isize>>();
    Ok(Matrices {
        batch: batch.iter().map(|a| a.length).collect(),
        dims: [rows.length, inner.length, cols.length],
        left: Place {
            value: x.base,
            offset: x.offset,
            strides: [or_zero(rows.left), or_zero(inner.left)],
            batch: along(|a| a.left),
        },
        right: Place {
            value: y.base,
            offset: y.offset,
            strides: [or_zero(inner.right), or_zero(cols.right)],
            batch: along(|a| a.right),
        },
        out: Place { value: out, offset: 0, strides: [or_zero(rows.out), or_zero(cols.out)], batch: along(|a| a.out) },
    })
}

/// Several labels as one, if they follow each other in both places.
fn one(axes: &[Axis], strides: impl Fn(&Axis) -> [Option<isize>; 2]) -> Option<Axis> {
    let nothing = Axis { length: 1, left: Some(1), right: Some(1), out: Some(1) };
    let Some((last, rest)) = axes.split_last() else { return Some(nothing) };
    let mut length = last.length;
    for axis in rest.iter().rev() {
        let [first, second] = strides(axis);
        let [inner, other] = strides(last);
        let follows = |outer: Option<isize>, inner: Option<isize>| {
            outer.zip(inner).is_some_and(|(outer, inner)| outer == inner * length.cast_signed())
        };
        if !follows(first, inner) || !follows(second, other) {
            return None;
        }
        length *= axis.length;
    }
    Some(Axis { length, ..*last })
}

/// Several labels as one where they follow each other; otherwise the longest run of them, and the others join the batch.
fn longest(axes: Vec<Axis>, batch: &mut Vec<Axis>, strides: impl Fn(&Axis) -> [Option<isize>; 2]) -> Axis {
    let count = axes.len();
    let runs = (0..count).flat_map(|start| (start + 1..=count).map(move |end| (start, end)));
    let runs = runs.filter_map(|(start, end)| Some((one(&axes[start..end], &strides)?, start, end)));
    let Some((best, start, end)) = runs.max_by_key(|(run, _, _)| run.length) else {
        return Axis { length: 1, left: Some(1), right: Some(1), out: Some(1) };
    };
    batch.extend(axes.iter().enumerate().filter(|(k, _)| *k < start || *k >= end).map(|(_, axis)| *axis));
    best
}
