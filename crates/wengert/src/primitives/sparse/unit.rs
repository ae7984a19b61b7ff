//! Values that make a matrix of a pattern regular.

use std::borrow::Cow;

use super::SharedPattern;
use super::solve::general;
#[cfg(feature = "text")]
use super::text;
use crate::array::{Array, DType, Type};
use crate::error::Misfit;
#[cfg(feature = "text")]
use crate::primitives::parse::Fields;
use crate::primitives::{Attributes, Batched, Family, Form, OperandSet, Primitive, Sample, arity};
use crate::program::{Builder, Value};

/// `sparse_unit`: integers, 1 at one entry of each row and each column and 0 elsewhere, one for each entry of a square pattern.
/// Where the diagonal is in the pattern these are the values of the identity, else those of a permutation.
///
/// It stands for a matrix that any system can be solved with, where the values do not count. A pattern in which there is no
/// such choice belongs to singular matrices only, and is an error.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SparseUnit {
    /// The pattern.
    pub pattern: SharedPattern,
}

impl Primitive for SparseUnit {
    fn name(&self) -> Cow<'static, str> {
        "sparse_unit".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 0)?;
        self.pattern.check_regular()?;
        Ok(vec![Type::new(DType::I64, &[self.pattern.nnz()])])
    }
    fn eval(&self, _: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let mut values = vec![0i64; self.pattern.nnz()];
        self.pattern.transversal()?.iter().for_each(|&entry| values[entry] = 1);
        Ok(vec![Array::new(&[values.len()], values)])
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Kernel
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        Vec::new()
    }
    fn batch(&self, b: &mut Builder, _: &[Value], _: &[bool], _: usize) -> Batched {
        Ok(vec![(b.op(self.clone(), &[]), false)])
    }
    fn attributes(&self) -> Attributes {
        self.pattern.attributes()
    }
}

impl Family for SparseUnit {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "sparse_unit").then(|| Ok(SparseUnit { pattern: text::read(fields)? }))
    }
    fn samples() -> Vec<Sample> {
        vec![Sample::new(SparseUnit { pattern: general().into() }, &[])]
    }
}
