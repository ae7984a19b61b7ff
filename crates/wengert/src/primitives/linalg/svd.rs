//! Singular values and vectors.

use std::borrow::Cow;

use super::gaps::Divisor;
use super::spectral_frame::SpectralKind;
use super::{
    Clusters, Harmless, Matrices, Separate, dims, guarded, matrix, plain, product, product_nt, product_tn, sample,
    scaled, single, transposed, with_lane,
};
use crate::array::{Array, Type};
use crate::error::{Misfit, misfit};
use crate::primitives::einsum::rounded;
#[cfg(feature = "text")]
use crate::primitives::parse::Fields;
use crate::primitives::{Batched, Family, Form, OperandSet, Primitive, Reaches, Sample, Site, Tangents, arity};
use crate::program::{Builder, Value};

/// `svd(A) = (U, s, V^T)` with `A = U diag(s) V^T`, reduced: with k the smaller of rows and columns there are k singular values,
/// descending; the columns of U and the rows of V^T are orthonormal, and the first component of each column of U that is not
/// negligible is positive.
///
/// Vectors have a derivative only where their value stands apart from all others, and values only where what is made of
/// them is the same for values that are one, and not where they are 0: otherwise a derivative is an error. What `singular`
/// offers has one everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Svd;

impl Primitive for Svd {
    fn name(&self) -> Cow<'static, str> {
        "svd".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 1)?;
        let (lead, m, n) = matrix(args[0])?;
        let with = |own: &[usize]| args[0].with_shape([lead, own].concat());
        let rank = m.min(n);
        Ok(vec![with(&[m, rank]), with(&[rank]), with(&[rank, n])])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let a = Matrices::of(args[0]);
        let (mut left, mut values, mut right) = (Vec::new(), Vec::new(), Vec::new());
        for k in 0..a.count() {
            let Some(spectrum) = plain::svd(a.finite(k)?, a.rows, a.columns) else {
                misfit!("the rotations do not end{}", a.at(k));
            };
            left.extend(spectrum.left);
            values.extend(spectrum.values);
            right.extend(spectrum.right);
        }
        let (dtype, rank) = (args[0].dtype(), a.rows.min(a.columns));
        Ok(vec![
            rounded(dtype, &a.shape(&[a.rows, rank]), left),
            rounded(dtype, &a.shape(&[rank]), values),
            rounded(dtype, &a.shape(&[rank, a.columns]), right),
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
    /// With `P = U^T A' V`, its symmetric part E and its skew part O: `s' = diag(P)`; with `G = E / (s[j] - s[i])` and
    /// `H = O / (s[i] + s[j])` off the diagonal, `U^T U' = G + H` and `V^T V' = G - H`. On the longer side comes what is
    /// orthogonal to the vectors, `(A' V - U P) / s`.
    fn jvp(&self, b: &mut Builder, args: &[Value], outs: &[Value], tangents: &[Option<Value>]) -> Tangents {
        let Some(a_dot) = tangents[0] else { return Ok(vec![None; 3]) };
        let (_, m, n) = dims(b, args[0]);
        let ([u, s, vt], of) = ([outs[0], outs[1], outs[2]], SpectralKind::Singular);
        let seen = product_tn(b, u, a_dot);
        let p = product_nt(b, seen, vt);
        let s_dot = b.op(Clusters { of, transposed: false }, &[p, s]);
        let turned = transposed(b, p);
        let (sum, difference) = (b.add(p, turned), b.sub(p, turned));
        let [even, odd] = [sum, difference].map(|x| scaled(b, 0.5, x));
        let g = b.op(Separate { of, by: Divisor::Difference }, &[even, s]);
        let h = b.op(Separate { of, by: Divisor::Sum }, &[odd, s]);
        let by_value = Separate { of, by: Divisor::Value };
        let inside = b.add(g, h);
        let mut u_dot = product(b, u, inside);
        if m > n {
            let moved = product_nt(b, a_dot, vt);
            let along = product(b, u, p);
            let outside = b.sub(moved, along);
            let outside = b.op(by_value, &[outside, s]);
            u_dot = b.add(u_dot, outside);
        }
        let inside = b.sub(g, h);
        let mut v_dot = product_tn(b, vt, inside);
        if n > m {
            let moved = product_tn(b, a_dot, u);
            let along = super::contract(b, ["ji", "kj", "ik"], vt, p);
            let outside = b.sub(moved, along);
            let outside = b.op(by_value, &[outside, s]);
            v_dot = b.add(v_dot, outside);
        }
        Ok(vec![Some(u_dot), Some(s_dot), Some(transposed(b, v_dot))])
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
        Some(guarded(*self, b, args, batched, (length, mask), &[(0, Harmless::Distinct)]))
    }
    fn gives_up(&self) -> bool {
        true
    }
}

impl Family for Svd {
    #[cfg(feature = "text")]
    fn parse(name: &str, _: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "svd").then_some(Ok(Svd))
    }
    fn samples() -> Vec<Sample> {
        // Large elements beside the diagonal keep every first component away from 0.
        let apart = |seed: u64, shape: &[usize]| {
            let plain = sample(seed, shape, &[4.0, 10.0, 18.0]);
            let (m, n) = (shape[shape.len() - 2], shape[shape.len() - 1]);
            let beside = plain.known::<f64>().iter().enumerate();
            let beside = beside.map(|(place, x)| x + if place / n % m == place % n { 0.0 } else { 3.0 });
            Array::new(shape, beside.collect::<Vec<f64>>())
        };
        let square = apart(1, &[3, 3]);
        vec![
            Sample::new(Svd, std::slice::from_ref(&square)),
            Sample::new(Svd, &[single(&square)]),
            Sample::new(Svd, &[apart(2, &[4, 2])]),
            Sample::new(Svd, &[apart(3, &[2, 3])]),
            Sample::new(Svd, &[sample(4, &[1, 1], &[-4.0])]),
            Sample::new(Svd, &[apart(5, &[2, 2, 2])]),
            Sample::new(Svd, &[sample(6, &[2, 0], &[5.0])]),
            Sample::new(Svd, &[sample(7, &[0, 2], &[5.0])]),
        ]
    }
}
