//! Products of two thin matrices at the entries of a pattern.

use std::borrow::Cow;

use super::product::sample;
#[cfg(feature = "text")]
use super::text;
use super::{SharedPattern, SparseProduct, check_alike, check_rows};
use crate::array::{Array, Type};
use crate::error::{Misfit, misfit};
use crate::primitives::einsum::{rounded, widened};
use crate::primitives::linalg::with_lane;
#[cfg(feature = "text")]
use crate::primitives::parse::Fields;
use crate::primitives::sample::{numbers, numbers_f32};
use crate::primitives::{
    Attributes, Batched, Cotangents, Family, Form, Lists, Masks, Operand, OperandSet, Primitive, Reach, Reaches,
    Sample, Site, arity,
};
use crate::program::{Builder, Value};
use wengert_kernels::pattern::Pattern;

/// `sparse_outer(U, V)`: the elements of `U V^T` at the entries of the pattern, row by row.
///
/// `U[.., rows, k]`, `V[.., cols, k]`, the result `[.., nnz]`: for an entry (i, j) the sum `sum_k U[i, k] V[j, k]`. The full product
/// is never made. Linear in each operand; the transposes are products with the sparse matrix of the cotangents
/// ([`SparseProduct`]).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SparseOuter {
    /// The pattern.
    pub pattern: SharedPattern,
}

impl Primitive for SparseOuter {
    fn name(&self) -> Cow<'static, str> {
        "sparse_outer".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 2)?;
        let (lead, one) = check_rows("rows", self.pattern.rows(), args[0])?;
        let (other, two) = check_rows("columns", self.pattern.cols(), args[1])?;
        if one != two {
            misfit!("the operands have {one} and {two} columns, and need as many");
        }
        check_alike(args, [lead, other])?;
        Ok(vec![args[0].with_shape([lead, &[self.pattern.nnz()]].concat())])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let out = self.infer(&[args[0].ty(), args[1].ty()])?.remove(0);
        let (u, v) = (widened(args[0]), widened(args[1]));
        let columns = args[0].shape()[args[0].shape().len() - 1];
        let [lead @ .., _] = &out.shape[..] else { unreachable!("inference gives an axis") };
        let mut values = Vec::with_capacity(out.size());
        for k in 0..lead.iter().product() {
            for (row, col) in self.pattern.entries() {
                let u = &u[(k * self.pattern.rows() + row) * columns..][..columns];
                let v = &v[(k * self.pattern.cols() + col) * columns..][..columns];
                values.push(u.iter().zip(v).fold(0.0, |sum, (u, v)| sum + u * v));
            }
        }
        Ok(vec![rounded(out.dtype, &out.shape, values)])
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Kernel
    }
    /// An entry depends on a row of each operand.
    fn reach(&self, site: &Site) -> Reaches {
        let [lead @ .., _] = &site.outs[0].shape[..] else { unreachable!("inference gives an axis") };
        let columns = site.args[0].shape[site.args[0].rank() - 1];
        let size = site.outs[0].size();
        let (mut u, mut v) = (Lists::with_room(size), Lists::with_room(size));
        for matrix in 0..lead.iter().product() {
            for (row, col) in self.pattern.entries() {
                let (row, col) = (matrix * self.pattern.rows() + row, matrix * self.pattern.cols() + col);
                u.push(row * columns..(row + 1) * columns);
                v.push(col * columns..(col + 1) * columns);
            }
        }
        Ok(vec![vec![Reach::Listed(u), Reach::Listed(v)]])
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        vec![vec![0], vec![1]]
    }
    fn masks(&self) -> Masks {
        Masks::Contracted
    }
    fn transpose(&self, b: &mut Builder, cotangents: &[Option<Value>], args: &[Operand]) -> Cotangents {
        let Some(ct) = cotangents[0] else { return Ok(vec![None; 2]) };
        let product = SparseProduct::new(&self.pattern);
        if args[0].is_linear() {
            return Ok(vec![Some(b.op(product, &[ct, args[1].known()])), None]);
        }
        Ok(vec![None, Some(b.op(product.transposed(), &[ct, args[0].known()]))])
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], length: usize) -> Batched {
        with_lane(self.clone(), b, args, batched, length)
    }
    fn attributes(&self) -> Attributes {
        self.pattern.attributes()
    }
}

impl Family for SparseOuter {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "sparse_outer").then(|| Ok(SparseOuter { pattern: text::read(fields)? }))
    }
    fn samples() -> Vec<Sample> {
        let op = SparseOuter { pattern: sample().into() };
        let case = |lead: &[usize], columns: usize| {
            let shapes = [[lead, &[3, columns][..]].concat(), [lead, &[4, columns]].concat()];
            Sample::new(op.clone(), &[numbers(1, &shapes[0]), numbers(2, &shapes[1])])
        };
        vec![
            case(&[], 1),
            case(&[2], 2),
            case(&[2, 1], 2),
            case(&[], 0),
            Sample::new(op.clone(), &[numbers_f32(3, &[3, 2]), numbers_f32(4, &[4, 2])]),
            Sample::new(
                SparseOuter { pattern: Pattern::empty(2, 1).into() },
                &[numbers(5, &[2, 2]), numbers(6, &[1, 2])],
            ),
        ]
    }
}
