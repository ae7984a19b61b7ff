//! The Cholesky factor of Hermitian positive definite matrices.

use std::borrow::Cow;

use super::super::cholesky::not_positive;
use super::super::{kept, plain, scaled};
use super::{
    ComplexKind, ComplexMatrices, ComplexSolve, adjoint, hermitian, of_complex_matrices, sample_parts, single_parts,
    square_parts,
};
use crate::array::{Array, Type};
use crate::error::{Misfit, misfit};
use crate::ops::Compare;
#[cfg(feature = "text")]
use crate::primitives::parse::Fields;
use crate::primitives::{Family, OperandSet, Primitive, Sample, Tangents};
use crate::program::{Builder, Value};

/// `complex_cholesky(re A, im A) = (re L, im L)`, lower triangular with a real positive diagonal and `L L^H = (A + A^H) / 2`.
///
/// A matrix that is not positive definite is an error that names the first leading minor that is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ComplexCholesky;

impl Primitive for ComplexCholesky {
    fn name(&self) -> Cow<'static, str> {
        "complex_cholesky".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        square_parts(args)?;
        Ok(vec![args[0].clone(); 2])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let a = ComplexMatrices::of(args[0], args[1]);
        let mut factors = Vec::with_capacity(args[0].size());
        for k in 0..a.count() {
            let own = plain::complex::hermitian(&a.finite(k)?, a.rows);
            match plain::complex::cholesky(&own, a.rows) {
                Ok(factor) => factors.extend(factor),
                Err(minor) => misfit!("{}{}", not_positive(minor), a.at(k)),
            }
        }
        Ok(a.given(&[a.rows, a.rows], &factors).into())
    }
    /// All factors, and of one matrix at a time the matrix, what is read of it, and its factor.
    fn defined_bytes(&self, args: &[&Type]) -> usize {
        let all = 2 * args[0].size() * size_of::<f64>();
        super::super::widened_bytes(args) + all + super::super::squares_bytes(args[0], 8)
    }
    of_complex_matrices!(Identity);
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        Vec::new()
    }
    /// `L' = L half(L^-1 A' L^-H)`, as for real matrices; the diagonal of what is halved is real.
    fn jvp(&self, b: &mut Builder, args: &[Value], outs: &[Value], tangents: &[Option<Value>]) -> Tangents {
        let Some(a_dot) = super::whole(b, tangents, args) else { return Ok(vec![None; 2]) };
        let l = [outs[0], outs[1]];
        let a_dot = hermitian(b, a_dot);
        let lower = ComplexSolve::new(ComplexKind::Lower);
        let left = super::solved(b, lower, l, a_dot);
        let turned = adjoint(b, left);
        let both = super::solved(b, lower, l, turned);
        let mut half = both.map(|x| kept(b, x, Compare::Gt));
        let on = kept(b, both[0], Compare::Eq);
        let on = scaled(b, 0.5, on);
        half[0] = b.add(half[0], on);
        let [re, im] = super::product(b, l, half);
        Ok(vec![Some(kept(b, re, Compare::Ge)), Some(kept(b, im, Compare::Gt))])
    }
}

impl Family for ComplexCholesky {
    #[cfg(feature = "text")]
    fn parse(name: &str, _: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "complex_cholesky").then_some(Ok(ComplexCholesky))
    }
    fn samples() -> Vec<Sample> {
        // Of order 2: beyond that, a part that does not move with the other one is 0 by rounding alone.
        let large = sample_parts(1, &[2, 2], &[6.0, 7.0]);
        vec![
            Sample::new(ComplexCholesky, &large),
            Sample::new(ComplexCholesky, &single_parts(&large)),
            Sample::new(ComplexCholesky, &sample_parts(2, &[1, 1], &[4.0])),
            Sample::new(ComplexCholesky, &sample_parts(3, &[2, 2, 2], &[5.0, 8.0])),
            Sample::new(ComplexCholesky, &sample_parts(4, &[0, 0], &[5.0])),
        ]
    }
}
