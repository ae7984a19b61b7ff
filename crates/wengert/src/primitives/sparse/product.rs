//! Products of a sparse matrix with a matrix.

use std::borrow::Cow;

use super::{SharedPattern, SparseOuter, batched, check_alike, check_rows, check_values, text};
use crate::array::{Array, Type};
use crate::error::Misfit;
use crate::primitives::einsum::{rounded, widened};
#[cfg(feature = "text")]
use crate::primitives::parse::Fields;
use crate::primitives::sample::{numbers, numbers_f32};
use crate::primitives::{
    Attributes, Batched, Cotangents, Family, Form, Lists, Masks, Operand, OperandSet, Primitive, Reach, Reaches,
    Sample, Site, arity,
};
use crate::program::{Builder, Value};
use wengert_kernels::pattern::Pattern;

/// `sparse_product(values, X) = A X`, or `A^T X`: A has these values at the entries of its pattern, row by row.
///
/// `values[.., nnz]`, `X[.., cols, k]`, the result `[.., rows, k]`; with `A^T` rows and columns change places. Linear in each
/// operand: the transpose by X is the product with the other of A and `A^T`, that by the values is [`SparseOuter`]. An entry
/// that is not in the pattern is no number: it meets neither NaN nor an infinity of X.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SparseProduct {
    /// The pattern of A.
    pub pattern: SharedPattern,
    /// Whether A is transposed.
    pub transpose: bool,
}

impl SparseProduct {
    /// With A as it is.
    pub fn new(pattern: impl Into<SharedPattern>) -> Self {
        SparseProduct { pattern: pattern.into(), transpose: false }
    }

    /// The product with the transposed matrix.
    #[must_use]
    pub fn transposed(&self) -> Self {
        SparseProduct { pattern: self.pattern.clone(), transpose: !self.transpose }
    }
}

impl Primitive for SparseProduct {
    fn name(&self) -> Cow<'static, str> {
        "sparse_product".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 2)?;
        let lead = check_values(&self.pattern, args[0])?;
        let (what, taken, given) = match self.transpose {
            false => ("columns", self.pattern.cols(), self.pattern.rows()),
            true => ("rows", self.pattern.rows(), self.pattern.cols()),
        };
        let (other, columns) = check_rows(what, taken, args[1])?;
        check_alike(args, [lead, other])?;
        Ok(vec![args[1].with_shape([lead, &[given, columns]].concat())])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let out = self.infer(&[args[0].ty(), args[1].ty()])?.remove(0);
        let (values, x) = (widened(args[0]), widened(args[1]));
        let [lead @ .., given, columns] = &out.shape[..] else { unreachable!("inference gives a matrix") };
        let taken = if self.transpose { self.pattern.rows() } else { self.pattern.cols() };
        let mut y = vec![0.0; out.size()];
        for k in 0..lead.iter().product() {
            let values = &values[k * self.pattern.nnz()..];
            for (entry, (row, col)) in self.pattern.entries().enumerate() {
                let (to, from) = if self.transpose { (col, row) } else { (row, col) };
                for column in 0..*columns {
                    y[(k * given + to) * columns + column] += values[entry] * x[(k * taken + from) * columns + column];
                }
            }
        }
        Ok(vec![rounded(out.dtype, &out.shape, y)])
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Kernel
    }
    /// A row of the result depends on the entries of a row of A, and on the rows of X that these meet.
    fn reach(&self, site: &Site) -> Reaches {
        let [lead @ .., given, columns] = &site.outs[0].shape[..] else { unreachable!("inference gives a matrix") };
        let taken = if self.transpose { self.pattern.rows() } else { self.pattern.cols() };
        let turned = self.transpose.then(|| self.pattern.by_columns());
        let pattern = turned.map_or(&*self.pattern, |turned| &turned.pattern);
        let entry = |place: usize| turned.map_or(place, |turned| turned.entries[place]);
        let size = site.outs[0].size();
        let (mut values, mut x) = (Lists::with_room(size), Lists::with_room(size));
        for matrix in 0..lead.iter().product() {
            for row in 0..*given {
                for column in 0..*columns {
                    let places = pattern.starts()[row]..pattern.starts()[row + 1];
                    values.push(places.clone().map(|place| matrix * pattern.nnz() + entry(place)));
                    let met = places.map(|place| pattern.columns()[place] as usize);
                    x.push(met.map(|other| (matrix * taken + other) * columns + column));
                }
            }
        }
        Ok(vec![vec![Reach::Listed(values), Reach::Listed(x)]])
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        vec![vec![0], vec![1]]
    }
    fn masks(&self) -> Masks {
        Masks::Contracted
    }
    fn transpose(&self, b: &mut Builder, cotangents: &[Option<Value>], args: &[Operand]) -> Cotangents {
        let Some(ct) = cotangents[0] else { return Ok(vec![None; 2]) };
        if args[1].is_linear() {
            return Ok(vec![None, Some(b.op(self.transposed(), &[args[0].known(), ct]))]);
        }
        let x = args[1].known();
        let sides = if self.transpose { [x, ct] } else { [ct, x] };
        Ok(vec![Some(b.op(SparseOuter { pattern: self.pattern.clone() }, &sides)), None])
    }
    fn batch(&self, b: &mut Builder, args: &[Value], marked: &[bool], length: usize) -> Batched {
        batched(self.clone(), b, args, marked, length)
    }
    fn attributes(&self) -> Attributes {
        self.pattern.attributes().with("transpose", self.transpose)
    }
}

impl SharedPattern {
    /// The pattern in the text form.
    pub(super) fn attributes(&self) -> Attributes {
        Attributes::default().with("rows", self.rows()).with("cols", self.cols()).with("offsets", text::written(self))
    }
}

impl Family for SparseProduct {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        let read = || Ok(SparseProduct { pattern: text::read(fields)?, transpose: fields.flag("transpose")? });
        (name == "sparse_product").then(read)
    }
    fn samples() -> Vec<Sample> {
        let mut samples = Vec::new();
        for op in [SparseProduct::new(sample()), SparseProduct::new(sample()).transposed()] {
            let taken = if op.transpose { 3 } else { 4 };
            let case = |lead: &[usize], columns: usize| {
                let shapes = [[lead, &[5][..]].concat(), [lead, &[taken, columns]].concat()];
                Sample::new(op.clone(), &[numbers(1, &shapes[0]), numbers(2, &shapes[1])])
            };
            samples.extend([case(&[], 1), case(&[2], 2), case(&[2, 1], 2), case(&[], 0), case(&[0], 2)]);
            samples.push(Sample::new(op.clone(), &[numbers_f32(3, &[5]), numbers_f32(4, &[taken, 2])]));
        }
        let none = SparseProduct::new(Pattern::empty(2, 3));
        samples.push(Sample::new(none, &[numbers(5, &[0]), numbers(6, &[3, 2])]));
        samples
    }
}

/// A pattern of 3 by 4 with an empty column.
pub(super) fn sample() -> Pattern {
    let entries = [(0, 0), (0, 3), (1, 1), (2, 0), (2, 1)];
    Pattern::from_entries(3, 4, entries).expect("the entries are inside")
}
