//! Unitary and triangular factors.

use std::borrow::Cow;

use super::super::lu::part;
use super::super::{dims, kept, plain};
use super::{
    ComplexKind, ComplexMatrices, adjoint, given_parts, of_complex_matrices, parts, product, product_hn, sample_parts,
    single_parts, solved_from_right, sub,
};
use crate::array::{Array, Type};
use crate::error::Misfit;
use crate::ops::Compare;
#[cfg(feature = "text")]
use crate::primitives::parse::Fields;
use crate::primitives::{Family, OperandSet, Primitive, Sample, Tangents};
use crate::program::{Builder, Value};

/// `complex_qr(re A, im A) = (re Q, im Q, re R, im R)` with `A = Q R`, reduced, as [`Qr`](crate::primitives::Qr): orthonormal
/// columns, and an upper trapezoidal R whose diagonal is real and not negative.
///
/// The derivative needs the first k columns to be independent: a 0 on the diagonal of R is an error there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ComplexQr;

impl Primitive for ComplexQr {
    fn name(&self) -> Cow<'static, str> {
        "complex_qr".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        let (lead, m, n) = parts(args)?;
        let with = |own: [usize; 2]| args[0].with_shape([lead, &own].concat());
        let [q, r] = [with([m, m.min(n)]), with([m.min(n), n])];
        Ok(vec![q.clone(), q, r.clone(), r])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let a = ComplexMatrices::of(args[0], args[1]);
        let (mut unitary, mut upper) = (Vec::new(), Vec::new());
        for k in 0..a.count() {
            let (q, r) = plain::complex::qr(&a.finite(k)?, a.rows, a.columns);
            unitary.extend(q);
            upper.extend(r);
        }
        let rank = a.rows.min(a.columns);
        Ok([a.given(&[a.rows, rank], &unitary), a.given(&[rank, a.columns], &upper)].concat())
    }
    /// All factors, and of one matrix at a time the matrix, its reflectors and its factors.
    fn defined_bytes(&self, args: &[&Type]) -> usize {
        super::super::widened_bytes(args) + 16 * (args[0].size() + 1) * size_of::<f64>()
    }
    of_complex_matrices!(Identity);
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        Vec::new()
    }
    /// With `Z = A' R^-1` of the square part and `C = Q^H Z`, `Q^H Q'` is `W = below(C) - below(C)^H + i im(diagonal of C)`,
    /// which leaves a real diagonal to `R' = (C - W) R`; of a wide matrix that is `Q^H A' - W R`. `Q' = Z - Q (C - W)`, which is
    /// `Q W` for a square Q.
    fn jvp(&self, b: &mut Builder, args: &[Value], outs: &[Value], tangents: &[Option<Value>]) -> Tangents {
        let Some(a_dot) = super::whole(b, tangents, args) else { return Ok(vec![None; 4]) };
        let (_, m, n) = dims(b, args[0]);
        let rank = m.min(n);
        let (q, whole_r) = ([outs[0], outs[1]], [outs[2], outs[3]]);
        let [r, first] = [whole_r, a_dot].map(|x| x.map(|x| part(b, x, 1, (0, rank))));
        let z = solved_from_right(b, ComplexKind::Upper, r, first);
        let c = product_hn(b, q, z);
        let below = c.map(|x| kept(b, x, Compare::Gt));
        let turned = adjoint(b, below);
        let mut skew = sub(b, below, turned);
        let phases = kept(b, c[1], Compare::Eq);
        skew[1] = b.add(skew[1], phases);
        let upper = sub(b, c, skew);
        let q_dot = if m > n {
            let along = product(b, q, upper);
            sub(b, z, along)
        } else {
            product(b, q, skew)
        };
        let r_dot = if m >= n {
            product(b, upper, whole_r)
        } else {
            let seen = product_hn(b, q, a_dot);
            let moved = product(b, skew, whole_r);
            sub(b, seen, moved)
        };
        let r_dot = [kept(b, r_dot[0], Compare::Le), kept(b, r_dot[1], Compare::Lt)];
        Ok([q_dot, r_dot].concat().into_iter().map(Some).collect())
    }
}

impl Family for ComplexQr {
    #[cfg(feature = "text")]
    fn parse(name: &str, _: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "complex_qr").then_some(Ok(ComplexQr))
    }
    fn samples() -> Vec<Sample> {
        // No part of a factor is small beside the others: all are found to a few of their own roundings.
        let square = given_parts(
            &[3, 3],
            [
                &[1.75, 2.25, -1.25, 1.5, 1.25, -0.25, 2.0, -3.5, -4.0],
                &[2.5, 3.5, -4.0, 3.25, -1.0, -2.25, 3.25, 3.75, 2.0],
            ],
        );
        let tall: [&[f64]; 2] =
            [&[3.5, 2.0, -2.5, 1.5, -2.0, -2.0, 4.0, -2.5], &[-2.75, 3.25, 2.75, 0.0, 2.0, -2.25, -2.0, -0.25]];
        let wide: [&[f64]; 2] =
            [&[-1.5, 1.75, 3.5, 2.5, -3.5, -4.0, 3.0, -2.25], &[1.75, 1.25, 4.0, 0.25, 2.0, -2.5, -2.5, 2.75]];
        let batch: [&[f64]; 2] =
            [&[-2.0, 3.25, 1.5, 1.75, -1.75, -2.25, 2.5, 1.0], &[1.5, -1.0, 1.75, -0.5, -1.75, -3.5, -2.25, 1.75]];
        vec![
            Sample::new(ComplexQr, &square),
            Sample::new(ComplexQr, &single_parts(&square)),
            Sample::new(ComplexQr, &given_parts(&[4, 2], tall)),
            Sample::new(ComplexQr, &given_parts(&[2, 4], wide)),
            Sample::new(ComplexQr, &given_parts(&[2, 2, 2], batch)),
            Sample::new(ComplexQr, &sample_parts(4, &[1, 1], &[-3.0])),
            Sample::new(ComplexQr, &sample_parts(6, &[2, 0], &[5.0])),
            Sample::new(ComplexQr, &sample_parts(7, &[0, 2], &[5.0])),
        ]
    }
}
