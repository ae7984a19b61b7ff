//! The derivative of Cholesky's factor, as a linear map of its own.

use std::borrow::Cow;

use super::{
    Harmless, Matrices, guarded, kept, plain, product, product_nt, sample, scaled, single, spared, square, transposed,
    with_lane, within_corners,
};
use crate::array::{Array, Type};
use crate::error::{Misfit, misfit};
use crate::ops::{Compare, Logic};
use crate::primitives::einsum::rounded;
#[cfg(feature = "text")]
use crate::primitives::parse::Fields;
use crate::primitives::{
    Attributes, Batched, Cotangent, Cotangents, Family, Form, MaskedCotangents, Operand, OperandSet, Primitive,
    Reaches, Sample, Site, Tangents, arity,
};
use crate::program::{Builder, Value};
use crate::transform::mask_out;

/// `cholesky_tangent(L, A) = X`, lower triangular with `X L^T + L X^T = (A + A^T) / 2`: how the Cholesky factor L of a matrix
/// changes with it. With `transpose`, `cholesky_tangent(L, C) = S`, symmetric with `2 tril(S L) = tril(C)`: the cotangent of the
/// matrix, of that of its factor.
///
/// Linear in the second operand. Above the diagonal L is never read, nor is C. A 0 on the diagonal of L is an error that names
/// its place. Either costs about two factorisations (S. P. Smith, *Differentiation of the Cholesky algorithm*, 1995; I. Murray,
/// *Differentiation of the Cholesky decomposition*, 2016), and is its own derivative in L, with another right-hand side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CholeskyTangent {
    /// Whether it is the transposed map.
    pub transpose: bool,
}

impl Primitive for CholeskyTangent {
    fn name(&self) -> Cow<'static, str> {
        "cholesky_tangent".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 2)?;
        square(args[0])?;
        if args[1] != args[0] {
            misfit!("the factor is {}, and the other matrix {}: they have to be alike", args[0], args[1]);
        }
        Ok(vec![args[0].clone()])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let (l, x) = (Matrices::of(args[0]), Matrices::of(args[1]));
        let (n, of) = (l.rows, if self.transpose { plain::cholesky_cotangent } else { plain::cholesky_tangent });
        let mut out = Vec::with_capacity(args[1].size());
        for k in 0..l.count() {
            let own = l.get(k);
            if let Some(zero) = (0..n).find(|i| own[i * n + i] == 0.0) {
                misfit!("{}{}", plain::singular(zero), l.at(k));
            }
            out.extend(of(own, x.get(k), n));
        }
        Ok(vec![rounded(args[1].dtype(), args[1].shape(), out)])
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
        vec![vec![1]]
    }
    /// The same equation, with what L' adds to its left side subtracted from the right one: `A' - 2 X L'^T`, read as its
    /// symmetric part, or `C' - 2 S L'`.
    fn jvp(&self, b: &mut Builder, args: &[Value], outs: &[Value], tangents: &[Option<Value>]) -> Tangents {
        let by_l = tangents[0].map(|l_dot| {
            let l_dot = kept(b, l_dot, Compare::Ge);
            let times = if self.transpose { product } else { product_nt };
            let moved = times(b, outs[0], l_dot);
            scaled(b, -2.0, moved)
        });
        let right = b.add_present(by_l, tangents[1]);
        Ok(vec![right.map(|right| b.op(*self, &[args[0], right]))])
    }
    fn transpose(&self, b: &mut Builder, cotangents: &[Option<Value>], args: &[Operand]) -> Cotangents {
        let back = CholeskyTangent { transpose: !self.transpose };
        Ok(vec![None, cotangents[0].map(|ct| b.op(back, &[args[0].known(), ct]))])
    }
    /// An element of a factor depends on the corner of the matrix above it and left of it; a cotangent of the matrix on that of
    /// the factor below it and right of it.
    fn transpose_masked(
        &self,
        b: &mut Builder,
        cotangents: &[Option<Cotangent>],
        args: &[Operand],
    ) -> Option<MaskedCotangents> {
        let Cotangent { value, mask } = cotangents[0]?;
        let mut mask = mask?;
        let rank = b.shape(mask).len();
        let somewhere = b.any(mask, &[rank - 2, rank - 1]);
        let args = spared(b, args, &[(0, Harmless::Identity)], somewhere);
        if self.transpose {
            mask = either_half(b, mask);
        }
        mask = lower(b, mask);
        mask = within_corners(b, mask, !self.transpose);
        mask = lower(b, mask);
        if !self.transpose {
            mask = either_half(b, mask);
        }
        let pulled = self.transpose(b, &[Some(value)], &args);
        Some(pulled.map(|mut pulled| {
            let value = pulled.remove(1).map(|value| mask_out(b, mask, value));
            vec![None, value.map(|value| Cotangent { value, mask: Some(mask) })]
        }))
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
    fn attributes(&self) -> Attributes {
        Attributes::default().with("transpose", self.transpose)
    }
}

/// What is true on the diagonal or below it.
fn lower(b: &mut Builder, mask: Value) -> Value {
    let places = super::places(b, mask, Compare::Ge);
    b.op(Logic::And, &[mask, places])
}

/// What is true of a place, or of that on the other side of the diagonal.
fn either_half(b: &mut Builder, mask: Value) -> Value {
    let other = transposed(b, mask);
    b.op(Logic::Or, &[mask, other])
}

impl Family for CholeskyTangent {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "cholesky_tangent").then(|| Ok(CholeskyTangent { transpose: fields.flag("transpose")? }))
    }
    fn samples() -> Vec<Sample> {
        use crate::primitives::sample::numbers;
        let (l, a) = (sample(1, &[3, 3], &[2.0, -1.5, 3.0]), numbers(2, &[3, 3]));
        let batch = [sample(3, &[2, 2, 2], &[2.0, 1.5]), numbers(4, &[2, 2, 2])];
        let mut samples = Vec::new();
        for transpose in [false, true] {
            let op = CholeskyTangent { transpose };
            samples.push(Sample::new(op, &[l.clone(), a.clone()]));
            samples.push(Sample::new(op, &[single(&l), single(&a)]));
            samples.push(Sample::new(op, &batch));
            samples.push(Sample::new(op, &[sample(5, &[1, 1], &[2.0]), numbers(6, &[1, 1])]));
            samples.push(Sample::new(op, &[sample(7, &[0, 0], &[1.0]), numbers(8, &[0, 0])]));
        }
        samples
    }
}
