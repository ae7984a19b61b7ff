//! Orthogonal and triangular factors.

use std::borrow::Cow;

use super::lu::part;
use super::{
    Harmless, Matrices, dims, guarded, kept, matrix, plain, product, product_tn, sample, single, transposed, with_lane,
};
use crate::array::{Array, Type};
use crate::error::Misfit;
use crate::ops::Compare;
use crate::primitives::einsum::rounded;
#[cfg(feature = "text")]
use crate::primitives::parse::Fields;
use crate::primitives::{
    Batched, Family, Form, OperandSet, Primitive, Reaches, Sample, Side, Site, Tangents, Triangle, TriangularSolve,
    arity,
};
use crate::program::{Builder, Value};

/// `qr(A) = (Q, R)` with `A = Q R`, reduced: with k the smaller of rows and columns, Q has k orthonormal columns and R is upper
/// trapezoidal with k rows and a diagonal that is not negative.
///
/// It exists for every matrix. Its derivative needs the first k columns to be independent: a 0 on the diagonal of R is an
/// error there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Qr;

impl Primitive for Qr {
    fn name(&self) -> Cow<'static, str> {
        "qr".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 1)?;
        let (lead, m, n) = matrix(args[0])?;
        let with = |own: &[usize]| args[0].with_shape([lead, own].concat());
        Ok(vec![with(&[m, m.min(n)]), with(&[m.min(n), n])])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let a = Matrices::of(args[0]);
        let (mut orthogonal, mut upper) = (Vec::new(), Vec::new());
        for k in 0..a.count() {
            let (q, r) = plain::qr(a.finite(k)?, a.rows, a.columns);
            orthogonal.extend(q);
            upper.extend(r);
        }
        let (dtype, rank) = (args[0].dtype(), a.rows.min(a.columns));
        let shapes = [[a.rows, rank], [rank, a.columns]].map(|own| a.shape(&own));
        Ok(vec![rounded(dtype, &shapes[0], orthogonal), rounded(dtype, &shapes[1], upper)])
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
    /// With `Z = A' R^-1` of the square part and `C = Q^T Z`, `Q^T Q'` is the skew `W = below(C) - below(C)^T`: `Q' = Z - Q (C -
    /// W)`, which is `Q W` for a square Q, and `R' = (C - W) R`, which is `Q^T A' - W R` where A is wide.
    fn jvp(&self, b: &mut Builder, args: &[Value], outs: &[Value], tangents: &[Option<Value>]) -> Tangents {
        let Some(a_dot) = tangents[0] else { return Ok(vec![None; 2]) };
        let (_, m, n) = dims(b, args[0]);
        let rank = m.min(n);
        let (r, first) = (part(b, outs[1], 1, (0, rank)), part(b, a_dot, 1, (0, rank)));
        let z = b.op(TriangularSolve::new(Side::Right, Triangle::Upper), &[r, first]);
        let c = product_tn(b, outs[0], z);
        let below = kept(b, c, Compare::Gt);
        let turned = transposed(b, below);
        let skew = b.sub(below, turned);
        // C - W, which is upper triangular: of all of C, so that the cotangent of C has no mask.
        let upper = b.sub(c, skew);
        let q_dot = if m > n {
            // The small matrix is negated, not the product, nor its cotangent.
            let back = b.neg(upper);
            let along = product(b, outs[0], back);
            b.add(z, along)
        } else {
            product(b, outs[0], skew)
        };
        let r_dot = if m >= n {
            product(b, upper, outs[1])
        } else {
            let seen = product_tn(b, outs[0], a_dot);
            let moved = product(b, skew, outs[1]);
            b.sub(seen, moved)
        };
        Ok(vec![Some(q_dot), Some(kept(b, r_dot, Compare::Le))])
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

impl Family for Qr {
    #[cfg(feature = "text")]
    fn parse(name: &str, _: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "qr").then_some(Ok(Qr))
    }
    fn samples() -> Vec<Sample> {
        let square = sample(1, &[3, 3], &[4.0, -5.0, 6.0]);
        vec![
            Sample::new(Qr, std::slice::from_ref(&square)),
            Sample::new(Qr, &[single(&square)]),
            Sample::new(Qr, &[sample(2, &[4, 2], &[5.0, 6.0])]),
            Sample::new(Qr, &[sample(3, &[2, 4], &[5.0, 6.0])]),
            Sample::new(Qr, &[sample(4, &[1, 1], &[-3.0])]),
            Sample::new(Qr, &[sample(5, &[2, 2, 2], &[5.0])]),
            Sample::new(Qr, &[sample(6, &[2, 0], &[5.0])]),
            Sample::new(Qr, &[sample(7, &[0, 2], &[5.0])]),
        ]
    }
}
