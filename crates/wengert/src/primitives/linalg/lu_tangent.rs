//! The derivative of LU factors, as a linear map of its own.

use std::borrow::Cow;

use super::{
    Harmless, Matrices, dims, guarded, kept, plain, product, product_nt, product_tn, sample, single, spared, square,
    with_lane, within_corners,
};
use crate::array::{Array, Type};
use crate::error::{Misfit, misfit};
use crate::ops::Compare;
use crate::primitives::einsum::rounded;
#[cfg(feature = "text")]
use crate::primitives::parse::Fields;
use crate::primitives::{
    Attributes, Batched, Cotangent, Cotangents, Family, Form, MaskedCotangents, Operand, OperandSet, Primitive,
    Reaches, Sample, Site, Tangents, arity,
};
use crate::program::{Builder, Value};
use crate::transform::mask_out;

/// `lu_tangent(L, U, A) = X`, with `below(X) U + L upper(X) = A`: how the LU factors of a square matrix change with it, whose rows
/// keep their order. The change of L stands below the diagonal of X, that of U on it and above. With `transpose`,
/// `lu_tangent(L, U, C) = S`, whose product `S U^T` has the elements of C below the diagonal, and `L^T S` those on it and above: the
/// cotangent of the matrix, of those of its factors.
///
/// Linear in the last operand. Of L only what stands below the diagonal is read, where there are ones, and of U nothing below it.
/// A 0 on the diagonal of U is an error that names its place, but for the last one, which nothing is divided by. Either costs
/// about two factorisations, and is its own derivative in L and U, with another right-hand side (M. B. Giles, *An extended collection
/// of matrix derivative results*, 2008, for the kind of rule; by blocks as I. Murray does for Cholesky factors, 2016).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LuTangent {
    /// Whether it is the transposed map.
    pub transpose: bool,
}

impl Primitive for LuTangent {
    fn name(&self) -> Cow<'static, str> {
        "lu_tangent".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 3)?;
        square(args[0])?;
        for other in &args[1..] {
            if other != &args[0] {
                misfit!("the lower factor is {}, and another matrix {other}: they have to be alike", args[0]);
            }
        }
        Ok(vec![args[0].clone()])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let [l, u, x] = [0, 1, 2].map(|k| Matrices::of(args[k]));
        let (n, of) = (l.rows, if self.transpose { plain::lu_cotangent } else { plain::lu_tangent });
        let mut out = Vec::with_capacity(args[2].size());
        for k in 0..l.count() {
            let pivots = u.get(k);
            if let Some(zero) = (0..n.saturating_sub(1)).find(|i| pivots[i * n + i] == 0.0) {
                misfit!("{}{}", plain::singular(zero), u.at(k));
            }
            out.extend(of(l.get(k), pivots, x.get(k), n));
        }
        Ok(vec![rounded(args[2].dtype(), args[2].shape(), out)])
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
        vec![vec![2]]
    }
    /// The same equations, with what L' and U' add to their left sides subtracted from the right ones.
    fn jvp(&self, b: &mut Builder, args: &[Value], outs: &[Value], tangents: &[Option<Value>]) -> Tangents {
        let mut moved = None;
        if let Some(l_dot) = tangents[0] {
            let l_dot = kept(b, l_dot, Compare::Gt);
            let by_l = if self.transpose {
                let on_and_above = product_tn(b, l_dot, outs[0]);
                kept(b, on_and_above, Compare::Le)
            } else {
                let u_dot = kept(b, outs[0], Compare::Le);
                product(b, l_dot, u_dot)
            };
            moved = Some(by_l);
        }
        if let Some(u_dot) = tangents[1] {
            let u_dot = kept(b, u_dot, Compare::Le);
            let by_u = if self.transpose {
                let below = product_nt(b, outs[0], u_dot);
                kept(b, below, Compare::Gt)
            } else {
                let l_dot = kept(b, outs[0], Compare::Gt);
                product(b, l_dot, u_dot)
            };
            moved = b.add_present(moved, Some(by_u));
        }
        let moved = moved.map(|moved| b.neg(moved));
        let right = b.add_present(moved, tangents[2]);
        Ok(vec![right.map(|right| b.op(*self, &[args[0], args[1], right]))])
    }
    fn transpose(&self, b: &mut Builder, cotangents: &[Option<Value>], args: &[Operand]) -> Cotangents {
        let back = LuTangent { transpose: !self.transpose };
        let pulled = cotangents[0].map(|ct| b.op(back, &[args[0].known(), args[1].known(), ct]));
        Ok(vec![None, None, pulled])
    }
    /// An element of a factor depends on the corner of the matrix above it and left of it; a cotangent of the matrix on those of the
    /// factors below it and right of it.
    fn transpose_masked(
        &self,
        b: &mut Builder,
        cotangents: &[Option<Cotangent>],
        args: &[Operand],
    ) -> Option<MaskedCotangents> {
        let Cotangent { value, mask } = cotangents[0]?;
        let mask = mask?;
        let (lead, ..) = dims(b, mask);
        let somewhere = b.any(mask, &[lead, lead + 1]);
        let args = spared(b, args, &[(1, Harmless::Identity)], somewhere);
        let mask = within_corners(b, mask, !self.transpose);
        let pulled = self.transpose(b, &[Some(value)], &args);
        Some(pulled.map(|mut pulled| {
            let value = pulled.remove(2).map(|value| mask_out(b, mask, value));
            vec![None, None, value.map(|value| Cotangent { value, mask: Some(mask) })]
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
        Some(guarded(*self, b, args, batched, (length, mask), &[(1, Harmless::Identity)]))
    }
    fn gives_up(&self) -> bool {
        true
    }
    fn attributes(&self) -> Attributes {
        Attributes::default().with("transpose", self.transpose)
    }
}

impl Family for LuTangent {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "lu_tangent").then(|| Ok(LuTangent { transpose: fields.flag("transpose")? }))
    }
    fn samples() -> Vec<Sample> {
        use crate::primitives::sample::numbers;
        let (l, u, a) = (numbers(1, &[3, 3]), sample(2, &[3, 3], &[2.0, -1.5, 3.0]), numbers(3, &[3, 3]));
        let batch = [numbers(4, &[2, 2, 2]), sample(5, &[2, 2, 2], &[2.0, 1.5]), numbers(6, &[2, 2, 2])];
        let mut samples = Vec::new();
        for transpose in [false, true] {
            let op = LuTangent { transpose };
            samples.push(Sample::new(op, &[l.clone(), u.clone(), a.clone()]));
            samples.push(Sample::new(op, &[single(&l), single(&u), single(&a)]));
            samples.push(Sample::new(op, &batch));
            samples.push(Sample::new(op, &[numbers(7, &[1, 1]), sample(8, &[1, 1], &[2.0]), numbers(9, &[1, 1])]));
            samples.push(Sample::new(op, &[numbers(1, &[0, 0]), sample(2, &[0, 0], &[1.0]), numbers(3, &[0, 0])]));
        }
        samples
    }
}
