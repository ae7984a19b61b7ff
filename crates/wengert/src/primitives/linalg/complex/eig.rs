//! Eigenvalues and vectors of general matrices.

use std::borrow::Cow;

use super::super::{eig::moved_with, plain};
use super::{ComplexMatrices, given_parts, of_complex_matrices, product, sample_parts, single_parts, square_parts};
use crate::array::{Array, Type};
use crate::error::{Error, ErrorKind, Misfit, misfit};
#[cfg(feature = "text")]
use crate::primitives::parse::Fields;
use crate::primitives::{Family, OperandSet, Primitive, Sample, Tangents};
use crate::program::{Builder, Value};

/// `complex_eig(re A, im A) = (re w, im w, re V, im V)`: eigenvalues and right vectors as [`Eig`](crate::primitives::Eig) has
/// them of a real matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ComplexEig;

impl Primitive for ComplexEig {
    fn name(&self) -> Cow<'static, str> {
        "complex_eig".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        let (lead, n) = square_parts(args)?;
        let values = args[0].with_shape([lead, &[n]].concat());
        Ok(vec![values.clone(), values, args[0].clone(), args[0].clone()])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let a = ComplexMatrices::of(args[0], args[1]);
        let (mut values, mut vectors) = (Vec::new(), Vec::new());
        for k in 0..a.count() {
            let Some((w, v)) = plain::complex::eig(&a.finite(k)?, a.rows) else {
                misfit!("the steps to a Schur form do not end{}", a.at(k));
            };
            values.extend(w);
            vectors.extend(v);
        }
        Ok([a.given(&[a.rows], &values), a.given(&[a.rows, a.rows], &vectors)].concat())
    }
    fn failure(&self, why: Misfit, args: &[&Type]) -> Error {
        Error::new(ErrorKind::Run, "eig", why.0).of(args.iter().copied())
    }
    /// All results, and of one matrix at a time it, its Schur form and vectors, and the eigenvectors one by one and beside each
    /// other.
    fn defined_bytes(&self, args: &[&Type]) -> usize {
        let all = 3 * args[0].size() * size_of::<f64>();
        super::super::widened_bytes(args) + all + super::super::squares_bytes(args[0], 14)
    }
    of_complex_matrices!(Distinct);
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        Vec::new()
    }
    fn jvp(&self, b: &mut Builder, args: &[Value], outs: &[Value], tangents: &[Option<Value>]) -> Tangents {
        let Some(a_dot) = super::whole(b, tangents, args) else { return Ok(vec![None; 4]) };
        if b.ty(a_dot[0]).size() == 0 {
            return Ok(outs.iter().map(|&out| Some(b.zeros_like(out))).collect());
        }
        let (w, v) = ([outs[0], outs[1]], [outs[2], outs[3]]);
        let moved = product(b, a_dot, v);
        let (w_dot, v_dot) = moved_with(b, moved, w, v, None);
        Ok([w_dot, v_dot].concat().into_iter().map(Some).collect())
    }
}

impl Family for ComplexEig {
    #[cfg(feature = "text")]
    fn parse(name: &str, _: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "complex_eig").then_some(Ok(ComplexEig))
    }
    fn samples() -> Vec<Sample> {
        // No part of a value or vector is small, and no two values are near.
        let matrix = given_parts(
            &[3, 3],
            [
                &[2.0, 1.75, -2.75, -1.0, 4.0, 2.25, -3.5, 3.5, -1.75],
                &[-3.75, -3.75, -2.75, -3.75, 0.0, 1.75, 2.5, 2.75, -1.0],
            ],
        );
        let batch: [&[f64]; 2] =
            [&[1.0, -0.75, 3.0, -0.5, 0.25, 3.25, -0.75, -0.25], &[-1.0, -3.5, -0.25, 1.0, -0.25, -1.0, -3.5, -1.0]];
        vec![
            Sample::new(ComplexEig, &matrix),
            Sample::new(ComplexEig, &single_parts(&matrix)),
            Sample::new(ComplexEig, &given_parts(&[2, 2, 2], batch)),
            Sample::new(ComplexEig, &sample_parts(2, &[1, 1], &[-4.0])),
            Sample::new(ComplexEig, &sample_parts(4, &[0, 0], &[5.0])),
        ]
    }
}
