//! Singular values and vectors.

use std::borrow::Cow;

use super::super::gaps::Divisor;
use super::super::spectral_frame::SpectralKind;
use super::super::{Separate, dims, kept, plain, scaled};
use super::eigh::values_moved;
use super::{
    ComplexMatrices, add, adjoint, each, given_parts, hermitian, less_phase, of_complex_matrices, parts, phase_kept,
    product, product_hn, sample_parts, single_parts, sub,
};
use crate::array::{Array, Type};
use crate::error::{Misfit, misfit};
use crate::ops::Compare;
#[cfg(feature = "text")]
use crate::primitives::parse::Fields;
use crate::primitives::{Family, OperandSet, Primitive, Sample, Tangents};
use crate::program::{Builder, Value};

/// `complex_svd(re A, im A) = (re U, im U, s, re V^H, im V^H)` with `A = U diag(s) V^H`, as [`Svd`](crate::primitives::Svd); the
/// first component of each column of U that is not negligible is real and positive.
///
/// Derivatives exist where those of [`Svd`](crate::primitives::Svd) do, and not of the vectors of a singular value that is 0,
/// whose phases are not tied to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ComplexSvd;

impl Primitive for ComplexSvd {
    fn name(&self) -> Cow<'static, str> {
        "complex_svd".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        let (lead, m, n) = parts(args)?;
        let with = |own: &[usize]| args[0].with_shape([lead, own].concat());
        let rank = m.min(n);
        let [u, vh] = [with(&[m, rank]), with(&[rank, n])];
        Ok(vec![u.clone(), u, with(&[rank]), vh.clone(), vh])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let a = ComplexMatrices::of(args[0], args[1]);
        let (mut left, mut values, mut right) = (Vec::new(), Vec::new(), Vec::new());
        for k in 0..a.count() {
            let Some(spectrum) = plain::complex::svd(&a.finite(k)?, a.rows, a.columns) else {
                misfit!("the rotations do not end{}", a.at(k));
            };
            left.extend(spectrum.left);
            values.extend(spectrum.values);
            right.extend(spectrum.right);
        }
        let rank = a.rows.min(a.columns);
        let values = a.given_real(&[rank], values);
        let [u, vh] = [a.given(&[a.rows, rank], &left), a.given(&[rank, a.columns], &right)];
        Ok(u.into_iter().chain([values]).chain(vh).collect())
    }
    /// All results, and of one matrix at a time it and its form of two diagonals, reflectors and vectors, and rotations of real
    /// columns.
    fn defined_bytes(&self, args: &[&Type]) -> usize {
        super::super::widened_bytes(args) + 32 * (args[0].size() + 1) * size_of::<f64>()
    }
    of_complex_matrices!(Distinct);
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        Vec::new()
    }
    /// With `P = U^H A' V`, its Hermitian part E and its skew part O: `s' = diag(E)`; with `G = E / (s[j] - s[i])` off the diagonal
    /// and `H = O / (s[i] + s[j])` on it too, `U^H U' = G + H` and `V^H V' = G - H`. On the longer side comes what is orthogonal to the
    /// vectors, `(A' V - U P) / s`. The phases of U are kept, and those of V turn with them.
    fn jvp(&self, b: &mut Builder, args: &[Value], outs: &[Value], tangents: &[Option<Value>]) -> Tangents {
        let Some(a_dot) = super::whole(b, tangents, args) else { return Ok(vec![None; 5]) };
        if b.ty(a_dot[0]).size() == 0 {
            return Ok(outs.iter().map(|&out| Some(b.zeros_like(out))).collect());
        }
        let (_, m, n) = dims(b, args[0]);
        let (u, s, vh, of) = ([outs[0], outs[1]], outs[2], [outs[3], outs[4]], SpectralKind::Singular);
        let separate = |by| Separate { of, by };
        let v = adjoint(b, vh);
        let seen = product_hn(b, u, a_dot);
        let p = product(b, seen, v);
        let even = hermitian(b, p);
        let odd = sub(b, p, even);
        let s_dot = values_moved(b, of, even, s);
        let g = even.map(|x| b.op(separate(Divisor::Difference), &[x, s]));
        let mut h = odd.map(|x| b.op(separate(Divisor::Sum), &[x, s]));
        let on = kept(b, odd[1], Compare::Eq);
        let on = scaled(b, 0.5, on);
        let on = b.op(separate(Divisor::Value), &[on, s]);
        h[1] = b.add(h[1], on);
        let inside = add(b, g, h);
        let mut u_dot = product(b, u, inside);
        if m > n {
            let (moved, along) = (product(b, a_dot, v), product(b, u, p));
            let outside = sub(b, moved, along);
            let outside = each(b, outside, |b, x| b.op(separate(Divisor::Value), &[x, s]));
            u_dot = add(b, u_dot, outside);
        }
        let inside = sub(b, g, h);
        let mut v_dot = product(b, v, inside);
        if n > m {
            let back = adjoint(b, p);
            let (moved, along) = (product_hn(b, a_dot, u), product(b, v, back));
            let outside = sub(b, moved, along);
            let outside = each(b, outside, |b, x| b.op(separate(Divisor::Value), &[x, s]));
            v_dot = add(b, v_dot, outside);
        }
        let (u_dot, turn) = phase_kept(b, u, u_dot);
        let v_dot = less_phase(b, v, v_dot, turn);
        let vh_dot = adjoint(b, v_dot);
        Ok([u_dot[0], u_dot[1], s_dot, vh_dot[0], vh_dot[1]].map(Some).into())
    }
}

impl Family for ComplexSvd {
    #[cfg(feature = "text")]
    fn parse(name: &str, _: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "complex_svd").then_some(Ok(ComplexSvd))
    }
    fn samples() -> Vec<Sample> {
        // No part of a vector is small, and values are far from each other: all are found to a few of their own roundings.
        let square: [&[f64]; 2] = [&[-3.0, -1.5, 2.25, 3.0], &[-0.5, -2.25, 1.0, -2.25]];
        let square = given_parts(&[2, 2], square);
        let tall: [&[f64]; 2] = [&[-1.5, -0.25, 4.0, 2.0, 3.0, -2.5], &[1.5, -2.25, 2.0, 2.5, 0.5, 1.75]];
        let wide: [&[f64]; 2] = [&[1.0, -3.25, -3.0, 1.75, -2.5, 3.0], &[-3.5, -1.75, 3.25, -1.5, -1.75, 3.0]];
        let batch: [&[f64]; 2] =
            [&[-3.0, -1.5, 2.25, 3.0, 1.5, -1.5, -1.25, 2.75], &[-0.5, -2.25, 1.0, -2.25, -3.25, -3.0, 3.0, -2.0]];
        vec![
            Sample::new(ComplexSvd, &square),
            Sample::new(ComplexSvd, &single_parts(&square)),
            Sample::new(ComplexSvd, &given_parts(&[3, 2], tall)),
            Sample::new(ComplexSvd, &given_parts(&[2, 3], wide)),
            Sample::new(ComplexSvd, &given_parts(&[2, 2, 2], batch)),
            Sample::new(ComplexSvd, &sample_parts(4, &[1, 1], &[-4.0])),
            Sample::new(ComplexSvd, &sample_parts(6, &[2, 0], &[5.0])),
            Sample::new(ComplexSvd, &sample_parts(7, &[0, 2], &[5.0])),
        ]
    }
}
