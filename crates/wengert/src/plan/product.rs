//! Contractions as products of matrices: which labels are rows, columns and sums, and how far apart their elements lie.

use smallvec::SmallVec;
use wengert_kernels::product::{Workspace, adds_alike, gathers, workspace};

use super::flatten::Flat;
use super::view::{View, joined};
use crate::array::DType;
use crate::ops::{Binary, Unary};
use crate::primitives::{Einsum, Op};
use crate::program::Value;

/// One product of matrices for each index of the batch axes, on the elements of three stored values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Matrices {
    /// Lengths of the batch axes.
    pub(super) batch: Batch<usize>,
    /// Rows of the left matrix, the inner length, columns of the right one.
    pub(super) dims: [usize; 3],
    pub(super) left: MatrixLayout,
    pub(super) right: MatrixLayout,
    pub(super) out: MatrixLayout,
}

/// Where a matrix lies in a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MatrixLayout {
    pub(super) value: Value,
    pub(super) offset: usize,
    /// From row to row and from column to column.
    pub(super) strides: [isize; 2],
    /// Along each batch axis.
    pub(super) batch: Batch<isize>,
}

/// Whether the result of a contraction is the same across its diagonal: `sum_k d(k) x(k, i) x(k, j)`, where both operands
/// are one array but for factors that depend on the labels which are added up. Hessians of fits are, and covariances.
///
/// An element may then be computed as its mirror image, which rounds differently, and overflows where `d(k) x(k, j)` does.
pub(super) fn is_symmetric(flat: &Flat, op: &Einsum, args: [Value; 2]) -> bool {
    let lone =
        |own: &[u8], other: &[u8]| -> Vec<u8> { own.iter().copied().filter(|label| !other.contains(label)).collect() };
    if !flat.program.ty(args[0]).dtype.is_float() {
        // Quotients of integers are truncated.
        return false;
    }
    let (&[i], &[j]) = (&lone(op.lhs(), op.rhs())[..], &lone(op.rhs(), op.lhs())[..]) else { return false };
    // The strides of the array by label, with one name for the rows of the result and for its columns.
    let array = |value: Value, labels: &[u8], own: u8| {
        let (value, labels) = unscaled(flat, value, labels.to_vec(), own);
        let view = &flat.views[value.index()];
        let name = |label: u8| if label == own { None } else { Some(label) };
        let axes = labels.iter().zip(&view.strides).zip(&view.shape);
        let mut axes: Vec<_> = axes.map(|((&label, &stride), &length)| (name(label), stride, length)).collect();
        axes.sort_unstable();
        (view.base, view.offset, axes)
    };
    array(args[0], op.lhs(), i) == array(args[1], op.rhs(), j)
}

/// An operand and its labels without factors that are the same along one of them.
fn unscaled(flat: &Flat, mut value: Value, mut labels: Vec<u8>, own: u8) -> (Value, Vec<u8>) {
    loop {
        let eqns = flat.program.eqns();
        // Equations are in the order of what they make.
        let after = eqns.partition_point(|eqn| eqn.first <= value);
        let Some(eqn) = after.checked_sub(1).map(|k| &eqns[k]).filter(|eqn| eqn.first == value) else { break };
        let is_factor = |arg: Value| {
            let along = labels.iter().zip(&flat.views[arg.index()].strides).find(|(label, _)| **label == own);
            flat.literals[arg.index()].is_some() || along.is_some_and(|(_, &stride)| stride == 0)
        };
        value = match (&eqn.op, &eqn.args[..]) {
            (Op::Unary(Unary::Neg | Unary::Detach), &[x]) => x,
            (Op::Binary(Binary::Mul | Binary::Div), &[x, factor]) if is_factor(factor) => x,
            (Op::Binary(Binary::Mul), &[factor, x]) if is_factor(factor) => x,
            (Op::Permute(permute), &[x]) => {
                let turned = labels.clone();
                permute.order.iter().zip(turned).for_each(|(&axis, label)| labels[axis] = label);
                x
            }
            _ => break,
        };
    }
    (value, labels)
}

/// The operand (0 or 1) of a contraction that a copy with its labels in this order makes faster to read, if one does: it
/// is read for many tiles of the result, and its rows are not contiguous.
pub(super) fn gathered(op: &Einsum, views: [&View; 2]) -> Option<(usize, Vec<u8>)> {
    let Matrices { batch, dims: [rows, inner, cols], left, right, out } = matrices(op, views, Value(0)).ok()?;
    // Tiles share the operand that has the columns of the result, along which its elements follow each other.
    let (k, labels, dims, strides) = match out.strides[1] <= out.strides[0] {
        true => (1, op.rhs(), [rows, inner, cols], right.strides),
        false => (0, op.lhs(), [cols, inner, rows], [left.strides[1], left.strides[0]]),
    };
    let &[first, last] = labels else { return None };
    let order = if op.out().contains(&last) { vec![first, last] } else { vec![last, first] };
    (batch.is_empty() && gathers(dims, strides)).then_some((k, order))
}

/// A number for each batch axis: mostly there are few.
pub(crate) type Batch<T> = SmallVec<[T; 2]>;

/// Products of matrices: strides as the kernels take them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct MatrixProduct {
    pub(crate) batch: Batch<usize>,
    pub(crate) dims: [usize; 3],
    pub(crate) left: (usize, [isize; 2], Batch<isize>),
    pub(crate) right: (usize, [isize; 2], Batch<isize>),
    pub(crate) out: ([usize; 2], Batch<usize>),
    /// Whether results are the same across the diagonal.
    pub(crate) symmetric: bool,
    /// Whether they are added to a third operand.
    pub(crate) adds: bool,
}

impl MatrixProduct {
    pub(super) fn new(matrices: Matrices, symmetric: bool) -> Self {
        let Matrices { batch, dims, left, right, out } = matrices;
        let unsigned =
            |strides: &[isize]| strides.iter().map(|stride| stride.cast_unsigned()).collect::<Batch<usize>>();
        let rows = unsigned(&out.strides);
        MatrixProduct {
            batch,
            dims,
            left: (left.offset, left.strides, left.batch),
            right: (right.offset, right.strides, right.batch),
            out: ([rows[0], rows[1]], unsigned(&out.batch)),
            symmetric,
            adds: false,
        }
    }

    /// Whether it can be added to an operand with the bits that a sum gives.
    pub(super) fn can_add(&self) -> bool {
        !self.symmetric && !self.adds && adds_alike(self.dims[1])
    }

    /// The operand that may lie where the result does.
    pub(super) fn in_place(&self) -> &'static [(u16, u16)] {
        if self.adds { &[(2, 0)] } else { &[] }
    }

    /// Multiplications and additions.
    pub(crate) fn operations(&self) -> usize {
        let [rows, inner, cols] = self.dims;
        // Of a symmetric result: the half that counts.
        let elements = if self.symmetric { rows * (rows + 1) / 2 } else { rows * cols };
        self.batch.iter().product::<usize>() * (2 * inner + usize::from(self.adds)) * elements
    }
}

/// Bytes that the library allocates for products of these matrices.
pub(super) fn library(product: &MatrixProduct, dtype: DType, threads: usize) -> Workspace {
    let MatrixProduct { dims, left, right, out, symmetric, .. } = product;
    let strides = [left.1, right.1, out.0.map(usize::cast_signed)];
    match dtype {
        DType::F32 => workspace::<f32>(*dims, strides, *symmetric, threads),
        DType::F64 => workspace::<f64>(*dims, strides, *symmetric, threads),
        DType::Bool | DType::I64 => Workspace::default(),
    }
}

/// A label with its length and its strides in both operands and the result; `None` where it is not.
#[derive(Clone, Copy)]
struct LabelAxis {
    length: usize,
    left: Option<isize>,
    right: Option<isize>,
    out: Option<isize>,
}

/// How many times as long a run has to be whose elements of the result lie apart.
const CONTIGUOUS: usize = 4;

/// The matrices of a contraction, or which operand (0 or 1) has to be copied with its inner labels last, in the order of
/// the left one.
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
    let axis = |label: u8, length: usize| LabelAxis {
        length,
        left: stride(op.lhs(), &x.strides, label),
        right: stride(op.rhs(), &y.strides, label),
        out: stride(op.out(), &result.strides, label),
    };
    let mut labels: Vec<u8> = op.out().to_vec();
    labels.extend(op.lhs().iter().filter(|label| !op.out().contains(label)));
    let axes: Vec<LabelAxis> =
        labels.iter().map(|&label| axis(label, length(label))).filter(|a| a.length != 1).collect();
    let pick = |left: bool, right: bool, out: bool| -> Vec<LabelAxis> {
        let fits = |a: &&LabelAxis| (a.left.is_some(), a.right.is_some(), a.out.is_some()) == (left, right, out);
        axes.iter().filter(fits).copied().collect()
    };
    let inner = pick(true, true, false);
    let Some(inner) = one(&inner, |a| [a.left, a.right]) else {
        // The operand whose inner labels do not follow each other is copied; if both do on their own, the right one.
        let apart = |stride: fn(&LabelAxis) -> Option<isize>| {
            joined(inner.iter().map(|a| (a.length, stride(a).unwrap_or(0)))).len() > 1
        };
        return Err(usize::from(!apart(|a| a.left)));
    };
    let mut batch = pick(true, true, true);
    let rows = best(pick(true, false, true), &mut batch, |a| [a.left, a.out]);
    let cols = best(pick(false, true, true), &mut batch, |a| [a.right, a.out]);
    let or_zero = Option::unwrap_or_default;
    let along =
        |stride: fn(&LabelAxis) -> Option<isize>| batch.iter().map(|a| or_zero(stride(a))).collect::<Batch<isize>>();
    Ok(Matrices {
        batch: batch.iter().map(|a| a.length).collect(),
        dims: [rows.length, inner.length, cols.length],
        left: MatrixLayout {
            value: x.base,
            offset: x.offset,
            strides: [or_zero(rows.left), or_zero(inner.left)],
            batch: along(|a| a.left),
        },
        right: MatrixLayout {
            value: y.base,
            offset: y.offset,
            strides: [or_zero(inner.right), or_zero(cols.right)],
            batch: along(|a| a.right),
        },
        out: MatrixLayout {
            value: out,
            offset: 0,
            strides: [or_zero(rows.out), or_zero(cols.out)],
            batch: along(|a| a.out),
        },
    })
}

/// Several labels as one, if they follow each other in both places.
fn one(axes: &[LabelAxis], strides: impl Fn(&LabelAxis) -> [Option<isize>; 2]) -> Option<LabelAxis> {
    let nothing = LabelAxis { length: 1, left: Some(1), right: Some(1), out: Some(1) };
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
    Some(LabelAxis { length, ..*last })
}

/// Several labels as one where they follow each other; otherwise the best run of them, and the others join the batch.
///
/// That is the longest one, except that elements of the result that follow each other are worth more: they are computed by
/// whole vectors, read from rows and written as such, where others are gathered and written one by one. What is chosen does
/// not change the order in which an element's products are added up, nor whether there is one row or column only.
fn best(
    axes: Vec<LabelAxis>,
    batch: &mut Vec<LabelAxis>,
    strides: impl Fn(&LabelAxis) -> [Option<isize>; 2],
) -> LabelAxis {
    let count = axes.len();
    let runs = (0..count).flat_map(|start| (start + 1..=count).map(move |end| (start, end)));
    let runs = runs.filter_map(|(start, end)| Some((one(&axes[start..end], &strides)?, start, end)));
    let worth = |run: &LabelAxis| if run.out == Some(1) { run.length.saturating_mul(CONTIGUOUS) } else { run.length };
    let Some((best, start, end)) = runs.max_by_key(|(run, _, _)| worth(run)) else {
        return LabelAxis { length: 1, left: Some(1), right: Some(1), out: Some(1) };
    };
    batch.extend(axes.iter().enumerate().filter(|(k, _)| *k < start || *k >= end).map(|(_, axis)| *axis));
    best
}

#[cfg(test)]
mod tests;
