//! Elimination with partial pivoting.

use std::borrow::Cow;

use super::{
    Harmless, LuTangent, Matrices, dims, guarded, kept, matrix, permuted, plain, product, sample, single, with_lane,
};
use crate::array::{Array, DType, Type};
use crate::error::Misfit;
use crate::ops::{Compare, Logic};
use crate::primitives::einsum::rounded;
#[cfg(feature = "text")]
use crate::primitives::parse::Fields;
use crate::primitives::{
    Batched, Broadcast, Concat, Family, Form, Iota, OperandSet, Primitive, Reaches, Sample, Side, Site, Slice,
    Tangents, Triangle, TriangularSolve, arity,
};
use crate::program::{Builder, Value};

/// `lu(A) = (L, U, p)` with `A[p] = L U`: L is lower trapezoidal with ones on its diagonal, U upper trapezoidal, p the order of
/// the rows (i64), chosen so that no element of L is larger than 1. Of equal pivots the first is taken.
///
/// It exists for every matrix, and for one that is singular a pivot, on the diagonal of U, is 0. The derivative holds p. It
/// needs pivots that are not 0, except for the last one of a matrix with at least as many columns as rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lu;

impl Primitive for Lu {
    fn name(&self) -> Cow<'static, str> {
        "lu".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 1)?;
        let (lead, m, n) = matrix(args[0])?;
        let with = |own: &[usize]| [lead, own].concat();
        let rank = m.min(n);
        let real = |own: &[usize]| args[0].with_shape(with(own));
        Ok(vec![real(&[m, rank]), real(&[rank, n]), Type::new(DType::I64, &with(&[m]))])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let a = Matrices::of(args[0]);
        let (mut lower, mut upper, mut order) = (Vec::new(), Vec::new(), Vec::new());
        for k in 0..a.count() {
            let (l, u, p) = plain::lu(a.finite(k)?, a.rows, a.columns);
            lower.extend(l);
            upper.extend(u);
            order.extend(p.into_iter().map(|row| row as i64));
        }
        let (dtype, rank) = (args[0].dtype(), a.rows.min(a.columns));
        Ok(vec![
            rounded(dtype, &a.shape(&[a.rows, rank]), lower),
            rounded(dtype, &a.shape(&[rank, a.columns]), upper),
            Array::new(&a.shape(&[a.rows]), order),
        ])
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Kernel
    }
    fn reach(&self, site: &Site) -> Reaches {
        super::matrix_by_matrix(site)
    }
    fn reaches_more(&self) -> Option<&'static str> {
        Some(super::WITHIN_MATRICES)
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        Vec::new()
    }
    /// The triangles L' and U' with `L' U + L U' = A'`, the rows of A' in their order, for the square part; what stands beside it
    /// in a wide matrix, or below it in a tall one, follows from the same equation.
    fn jvp(&self, b: &mut Builder, args: &[Value], outs: &[Value], tangents: &[Option<Value>]) -> Tangents {
        let Some(a_dot) = tangents[0] else { return Ok(vec![None; 3]) };
        let (_, m, n) = dims(b, args[0]);
        let rank = m.min(n);
        let a_dot = permuted(b, a_dot, outs[2]);
        let (l, u) = (part(b, outs[0], 0, (0, rank)), part(b, outs[1], 1, (0, rank)));
        let above = part(b, a_dot, 0, (0, rank));
        let square = part(b, above, 1, (0, rank));
        let both = b.op(LuTangent { transpose: false }, &[l, u, square]);
        let mut l_dot = kept(b, both, Compare::Gt);
        let mut u_dot = kept(b, both, Compare::Le);
        if n > m {
            let (beside, u_beside) = (part(b, a_dot, 1, (m, n)), part(b, outs[1], 1, (m, n)));
            let moved = product(b, l_dot, u_beside);
            let rest = b.sub(beside, moved);
            let lower = TriangularSolve { unit: true, ..TriangularSolve::new(Side::Left, Triangle::Lower) };
            let beside = b.op(lower, &[l, rest]);
            let axis = b.shape(u_dot).len() - 1;
            u_dot = b.op(Concat { axis }, &[u_dot, beside]);
        }
        if m > n {
            let (under, l_under) = (part(b, a_dot, 0, (n, m)), part(b, outs[0], 0, (n, m)));
            let moved = product(b, l_under, u_dot);
            let rest = b.sub(under, moved);
            let under = b.op(TriangularSolve::new(Side::Right, Triangle::Upper), &[u, rest]);
            let axis = b.shape(l_dot).len() - 2;
            l_dot = b.op(Concat { axis }, &[l_dot, under]);
        }
        Ok(vec![Some(l_dot), Some(u_dot), None])
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], length: usize) -> Batched {
        with_lane(*self, b, args, batched, length)
    }
    fn batch_masked(
        &self,
        b: &mut Builder,
        args: &[Value],
        batched: &[bool],
        length: usize,
        mask: Value,
    ) -> Option<Batched> {
        Some(guarded(*self, b, args, batched, (length, mask), &[(0, Harmless::Identity)]))
    }
    fn gives_up(&self) -> bool {
        true
    }
}

/// A range of the rows (0) or columns (1) of matrices.
pub(super) fn part(b: &mut Builder, x: Value, axis: usize, (start, end): (usize, usize)) -> Value {
    let shape = b.shape(x).to_vec();
    let axis = shape.len() - 2 + axis;
    if (start, end) == (0, shape[axis]) {
        return x;
    }
    b.op(Slice::along(&shape, axis, start, end), &[x])
}

/// The matrix with this number as its last pivot.
pub(super) fn with_last(b: &mut Builder, u: Value, pivot: f64) -> Value {
    let shape = b.shape(u).to_vec();
    let (last, order) = (shape.len() - 1, shape[shape.len() - 1]);
    if order == 0 {
        return u;
    }
    let on = super::places(b, u, Compare::Eq);
    let columns = b.op(Iota { length: order }, &[]);
    let columns = b.op(Broadcast::new(&shape, &[last]), &[columns]);
    let ty = b.ty(columns).clone();
    let end = b.full(order as f64 - 1.0, &ty);
    let is_last = b.op(Compare::Eq, &[columns, end]);
    let corner = b.op(Logic::And, &[on, is_last]);
    let ty = b.ty(u).clone();
    let pivot = b.full(pivot, &ty);
    b.select(corner, pivot, u)
}

impl Family for Lu {
    #[cfg(feature = "text")]
    fn parse(name: &str, _: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "lu").then_some(Ok(Lu))
    }
    fn samples() -> Vec<Sample> {
        // Large elements that are not on the diagonal fix the order of the rows.
        let turned = |seed: u64, m: usize, n: usize| {
            let plain = sample(seed, &[m, n], &[7.0, -8.0, 6.0]);
            let elements = plain.known::<f64>();
            let rows = (0..m).flat_map(|i| elements[(i + 1) % m * n..][..n].to_vec());
            Array::new(&[m, n], rows.collect::<Vec<f64>>())
        };
        let square = turned(1, 3, 3);
        vec![
            Sample::new(Lu, std::slice::from_ref(&square)),
            Sample::new(Lu, &[single(&square)]),
            Sample::new(Lu, &[turned(2, 4, 2)]),
            Sample::new(Lu, &[turned(3, 2, 4)]),
            Sample::new(Lu, &[sample(4, &[1, 1], &[3.0])]),
            Sample::new(Lu, &[sample(5, &[2, 2, 2], &[5.0])]),
            Sample::new(Lu, &[sample(6, &[0, 2], &[5.0])]),
            Sample::new(Lu, &[sample(7, &[2, 0], &[5.0])]),
        ]
    }
}
