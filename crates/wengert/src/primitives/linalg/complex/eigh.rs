//! Eigenvalues and eigenvectors of Hermitian matrices.

use std::borrow::Cow;

use super::super::gaps::Divisor;
use super::super::plain::C64;
use super::super::spectral_frame::SpectralKind;
use super::super::{Clusters, Separate, kept, plain};
use super::{
    ComplexMatrices, Pair, beside_parts, hermitian, of_complex_matrices, phase_kept, product, product_hn, sample_parts,
    single_parts, square_parts,
};
use crate::array::{Array, Type};
use crate::error::{Misfit, misfit};
use crate::ops::Compare;
#[cfg(feature = "text")]
use crate::primitives::parse::Fields;
use crate::primitives::{Family, OperandSet, Primitive, Sample, Tangents};
use crate::program::{Builder, Value};

/// `complex_eigh(re A, im A) = (w, re V, im V)`: the eigenvalues of `(A + A^H) / 2`, ascending, and their vectors as the
/// orthonormal columns of V, the first component of each that is not negligible real and positive.
///
/// Derivatives exist where those of [`Eigh`](crate::primitives::Eigh) do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ComplexEigh;

impl Primitive for ComplexEigh {
    fn name(&self) -> Cow<'static, str> {
        "complex_eigh".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        let (lead, n) = square_parts(args)?;
        Ok(vec![args[0].with_shape([lead, &[n]].concat()), args[0].clone(), args[0].clone()])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let a = ComplexMatrices::of(args[0], args[1]);
        let (mut values, mut vectors) = (Vec::new(), Vec::new());
        for k in 0..a.count() {
            let own = plain::complex::hermitian(&a.finite(k)?, a.rows);
            let Some((w, v)) = plain::complex::eigh(&own, a.rows) else {
                misfit!("the rotations do not end{}", a.at(k));
            };
            values.extend(w);
            vectors.extend(v);
        }
        let [re, im] = a.given(&[a.rows, a.rows], &vectors);
        Ok(vec![a.given_real(&[a.rows], values), re, im])
    }
    /// All results, and of one matrix at a time what is read, its two forms with their vectors, and rotations of real columns.
    fn defined_bytes(&self, args: &[&Type]) -> usize {
        let all = 3 * args[0].size() * size_of::<f64>();
        super::super::widened_bytes(args) + all + super::super::squares_bytes(args[0], 18)
    }
    of_complex_matrices!(Distinct);
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        Vec::new()
    }
    /// With `P = V^H A' V`: `w' = diag(P)`, and `V' = V G` with `G[i, j] = P[i, j] / (w[j] - w[i])`, with the phases of V kept.
    fn jvp(&self, b: &mut Builder, args: &[Value], outs: &[Value], tangents: &[Option<Value>]) -> Tangents {
        let Some(a_dot) = super::whole(b, tangents, args) else { return Ok(vec![None; 3]) };
        if b.ty(a_dot[0]).size() == 0 {
            return Ok(outs.iter().map(|&out| Some(b.zeros_like(out))).collect());
        }
        let (w, v, of) = (outs[0], [outs[1], outs[2]], SpectralKind::Symmetric);
        let a_dot = hermitian(b, a_dot);
        let moved = product(b, a_dot, v);
        let p = product_hn(b, v, moved);
        let w_dot = values_moved(b, of, p, w);
        let g = p.map(|p| b.op(Separate { of, by: Divisor::Difference }, &[p, w]));
        let z = product(b, v, g);
        let ([re, im], _) = phase_kept(b, v, z);
        Ok(vec![Some(w_dot), Some(re), Some(im)])
    }
}

/// The derivative of values, from a Hermitian matrix P: its diagonal, if P is a multiple of the identity where values repeat.
/// Beside the diagonal `re P + im P` is 0 in both halves only if both parts are.
pub(super) fn values_moved(b: &mut Builder, of: SpectralKind, p: Pair, w: Value) -> Value {
    let beside = kept(b, p[1], Compare::Ne);
    let both = b.add(p[0], beside);
    b.op(Clusters { of, transposed: false }, &[both, w])
}

impl Family for ComplexEigh {
    #[cfg(feature = "text")]
    fn parse(name: &str, _: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "complex_eigh").then_some(Ok(ComplexEigh))
    }
    fn samples() -> Vec<Sample> {
        let apart = |seed, shape: &[usize]| beside_parts(seed, shape, &[2.0, 11.0, 21.0], C64::new(3.0, 0.0));
        let matrix = apart(1, &[3, 3]);
        vec![
            Sample::new(ComplexEigh, &matrix),
            Sample::new(ComplexEigh, &single_parts(&matrix)),
            Sample::new(ComplexEigh, &sample_parts(2, &[1, 1], &[-4.0])),
            Sample::new(ComplexEigh, &apart(3, &[2, 2, 2])),
            Sample::new(ComplexEigh, &sample_parts(4, &[0, 0], &[5.0])),
        ]
    }
}
