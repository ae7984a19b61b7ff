//! Eigenvalues and eigenvectors of symmetric matrices.

use std::borrow::Cow;

use super::gaps::Divisor;
use super::spectral_frame::SpectralKind;
use super::{
    Clusters, Harmless, Matrices, Separate, guarded, plain, product, product_tn, sample, single, square, symmetric,
    with_lane,
};
use crate::array::{Array, Type};
use crate::error::{Misfit, misfit};
use crate::primitives::einsum::rounded;
#[cfg(feature = "text")]
use crate::primitives::parse::Fields;
use crate::primitives::{Batched, Family, Form, OperandSet, Primitive, Reaches, Sample, Site, Tangents, arity};
use crate::program::{Builder, Value};

/// `eigh(A) = (w, V)`: the eigenvalues of `(A + A^T) / 2`, ascending, and their vectors as the orthonormal columns of V, the
/// first component of each that is not negligible positive.
///
/// Vectors have a derivative only where their value stands apart from all others, and values only where what is made of
/// them is the same for values that are one: otherwise a derivative is an error. What `spectral` offers has one everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Eigh;

impl Primitive for Eigh {
    fn name(&self) -> Cow<'static, str> {
        "eigh".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 1)?;
        let (lead, n) = square(args[0])?;
        Ok(vec![args[0].with_shape([lead, &[n]].concat()), args[0].clone()])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let a = Matrices::of(args[0]);
        let (mut values, mut vectors) = (Vec::new(), Vec::new());
        for k in 0..a.count() {
            let symmetric = plain::symmetric(a.finite(k)?, a.rows);
            let Some((w, v)) = plain::eigh(&symmetric, a.rows) else {
                misfit!("the rotations do not end{}", a.at(k));
            };
            values.extend(w);
            vectors.extend(v);
        }
        let dtype = args[0].dtype();
        Ok(vec![rounded(dtype, &a.shape(&[a.rows]), values), rounded(dtype, args[0].shape(), vectors)])
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
    /// With `P = V^T A' V`: `w' = diag(P)`, and `V' = V G` with `G[i, j] = P[i, j] / (w[j] - w[i])`.
    fn jvp(&self, b: &mut Builder, _: &[Value], outs: &[Value], tangents: &[Option<Value>]) -> Tangents {
        let Some(a_dot) = tangents[0] else { return Ok(vec![None; 2]) };
        let [w, v] = [outs[0], outs[1]];
        let a_dot = symmetric(b, a_dot);
        let moved = product(b, a_dot, v);
        let p = product_tn(b, v, moved);
        let of = SpectralKind::Symmetric;
        let w_dot = b.op(Clusters { of, transposed: false }, &[p, w]);
        let g = b.op(Separate { of, by: Divisor::Difference }, &[p, w]);
        Ok(vec![Some(w_dot), Some(product(b, v, g))])
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

impl Family for Eigh {
    #[cfg(feature = "text")]
    fn parse(name: &str, _: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "eigh").then_some(Ok(Eigh))
    }
    fn samples() -> Vec<Sample> {
        // Large elements beside the diagonal keep every first component away from 0.
        let apart = |seed: u64, shape: &[usize]| {
            let plain = sample(seed, shape, &[2.0, 9.0, 16.0]);
            let n = shape[shape.len() - 1];
            let beside = plain.known::<f64>().iter().enumerate();
            let beside = beside.map(|(place, x)| x + if place / n % n == place % n { 0.0 } else { 3.0 });
            Array::new(shape, beside.collect::<Vec<f64>>())
        };
        let matrix = apart(1, &[3, 3]);
        vec![
            Sample::new(Eigh, std::slice::from_ref(&matrix)),
            Sample::new(Eigh, &[single(&matrix)]),
            Sample::new(Eigh, &[sample(2, &[1, 1], &[-4.0])]),
            Sample::new(Eigh, &[apart(3, &[2, 2, 2])]),
            Sample::new(Eigh, &[sample(4, &[0, 0], &[5.0])]),
        ]
    }
}
