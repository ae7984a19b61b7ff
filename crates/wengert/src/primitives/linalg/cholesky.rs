//! The Cholesky factor of symmetric positive definite matrices.

use std::borrow::Cow;

use super::{CholeskyTangent, Harmless, Matrices, guarded, plain, sample, single, square, with_lane};
use crate::array::{Array, Type};
use crate::error::{Misfit, misfit};
use crate::primitives::einsum::rounded;
#[cfg(feature = "text")]
use crate::primitives::parse::Fields;
use crate::primitives::{Batched, Family, Form, OperandSet, Primitive, Reaches, Sample, Site, Tangents, arity};
use crate::program::{Builder, Value};

/// `cholesky(A) = L`, lower triangular with a positive diagonal and `L L^T = (A + A^T) / 2`.
///
/// Above the diagonal L is 0. A matrix that is not positive definite is an error that names the first leading minor that is
/// not, and one with an entry that is no finite number names the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cholesky;

impl Primitive for Cholesky {
    fn name(&self) -> Cow<'static, str> {
        "cholesky".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 1)?;
        square(args[0])?;
        Ok(vec![args[0].clone()])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let a = Matrices::of(args[0]);
        let mut factors = Vec::with_capacity(args[0].size());
        for k in 0..a.count() {
            let symmetric = plain::symmetric(a.finite(k)?, a.rows);
            match plain::cholesky(&symmetric, a.rows) {
                Ok(factor) => factors.extend(factor),
                Err(minor) => misfit!("{}{}", not_positive(minor), a.at(k)),
            }
        }
        Ok(vec![rounded(args[0].dtype(), args[0].shape(), factors)])
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
    /// The triangle L' with `L' L^T + L L'^T = (A' + A'^T) / 2`.
    fn jvp(&self, b: &mut Builder, _: &[Value], outs: &[Value], tangents: &[Option<Value>]) -> Tangents {
        let map = CholeskyTangent { transpose: false };
        Ok(vec![tangents[0].map(|a_dot| b.op(map, &[outs[0], a_dot]))])
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

/// What an error says of a leading minor that is not positive.
pub(crate) fn not_positive(minor: usize) -> String {
    format!("the matrix is not positive definite: its leading minor of order {minor} is not positive")
}

impl Family for Cholesky {
    #[cfg(feature = "text")]
    fn parse(name: &str, _: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "cholesky").then_some(Ok(Cholesky))
    }
    fn samples() -> Vec<Sample> {
        let large = sample(1, &[3, 3], &[6.0, 7.0, 9.0]);
        vec![
            Sample::new(Cholesky, std::slice::from_ref(&large)),
            Sample::new(Cholesky, &[single(&large)]),
            Sample::new(Cholesky, &[sample(2, &[1, 1], &[4.0])]),
            Sample::new(Cholesky, &[sample(3, &[2, 2, 2], &[5.0, 8.0])]),
            Sample::new(Cholesky, &[sample(4, &[0, 0], &[5.0])]),
            Sample::new(Cholesky, &[sample(5, &[0, 2, 2], &[5.0])]),
        ]
    }
}
