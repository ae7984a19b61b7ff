//! The derivative of the cofactors of small matrices, by their minors.

use super::dims;
use crate::primitives::{Concat, Slice};
use crate::program::{Builder, Value};

/// Up to this order cofactors are differentiated as the polynomials that they are.
pub(super) const BY_MINORS: usize = 4;

/// The tangent of the matrix of cofactors. Those of `A` are the minors `det A[i + 1, …, i + n - 1; j + 1, …, j + n - 1]` of the rows and
/// columns behind their own, in turn; where `n` is even, rows and columns change their sign as they come around. So the tangent is
///
/// ```text
/// C'[i, j] = sum over k, l of A'[i + k, j + l] M(k, l)[i, j],   0 < k, l < n
/// ```
///
/// with the cofactors `M(k, l)` of those minors. All of them are made of whole matrices, turned by some rows and columns, so that
/// every order follows, whatever singular values repeat.
pub(super) fn moved_by_minors(b: &mut Builder, a: Value, a_dot: Value) -> Value {
    let n = dims(b, a).1;
    if n < 2 {
        return b.zeros_like(a_dot);
    }
    let (a, a_dot) = (turns(b, a, n), turns(b, a_dot, n));
    let mut sum = None;
    for (k, row) in a_dot.iter().enumerate() {
        for (l, &slope) in row.iter().enumerate() {
            let others = |left_out: usize| (0..n - 1).filter(|&k| k != left_out).collect::<Vec<usize>>();
            let minor = minor(b, &a, &others(k), &others(l));
            let term = match minor {
                None => slope,
                Some(minor) => b.mul(slope, minor),
            };
            sum = Some(match sum {
                None => term,
                Some(sum) if (k + l).is_multiple_of(2) => b.add(sum, term),
                Some(sum) => b.sub(sum, term),
            });
        }
    }
    sum.expect("one term at least")
}

/// A matrix whose rows begin with the `k + 1`-th, and its columns with the `l + 1`-th: at `[k][l]`.
fn turns(b: &mut Builder, x: Value, n: usize) -> Vec<Vec<Value>> {
    let rank = b.shape(x).len();
    let rows: Vec<Value> = (1..n).map(|k| turned(b, x, rank - 2, k)).collect();
    rows.into_iter().map(|x| (1..n).map(|l| turned(b, x, rank - 1, l)).collect()).collect()
}

/// The elements along an axis of an even length that come around have the other sign.
fn turned(b: &mut Builder, x: Value, axis: usize, by: usize) -> Value {
    let shape = b.shape(x).to_vec();
    let n = shape[axis];
    let behind = b.op(Slice::along(&shape, axis, by, n), &[x]);
    let mut around = b.op(Slice::along(&shape, axis, 0, by), &[x]);
    if n.is_multiple_of(2) {
        around = b.neg(around);
    }
    b.op(Concat { axis }, &[behind, around])
}

/// The determinant of some rows and columns, at most two; that of none is one.
fn minor(b: &mut Builder, at: &[Vec<Value>], rows: &[usize], columns: &[usize]) -> Option<Value> {
    match (rows, columns) {
        (&[i], &[j]) => Some(at[i][j]),
        (&[i, k], &[j, l]) => {
            let (on, off) = (b.mul(at[i][j], at[k][l]), b.mul(at[i][l], at[k][j]));
            Some(b.sub(on, off))
        }
        _ => None,
    }
}
