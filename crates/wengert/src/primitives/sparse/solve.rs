//! Linear systems with a sparse matrix.

use std::borrow::Cow;

#[cfg(feature = "text")]
use super::text;
use super::{
    SharedPattern, SparseProduct, SparseUnit, batched, check_alike, check_rows, check_values, in_batch, plain,
};
use crate::array::{Array, Type};
use crate::error::{Misfit, misfit};
use crate::primitives::einsum::{rounded, widened};
use crate::primitives::linalg::{KINDS, scaled};
#[cfg(feature = "text")]
use crate::primitives::parse::Fields;
use crate::primitives::sample::numbers;
use crate::primitives::{
    Attributes, Batched, Broadcast, Cotangent, Cotangents, Family, Form, MaskedCotangents, MatrixKind, Operand,
    OperandSet, Primitive, Reach, Reaches, Sample, Site, Tangents, arity,
};
use crate::program::{Builder, Value};
use wengert_kernels::pattern::Pattern;

/// `sparse_solve(values, B) = X` with `A X = B`, or `A^T X = B`: A has these values at the entries of its pattern, row by row.
///
/// `values[.., nnz]`, `B[.., n, k]`, X as B. Linear in B; `X' = A^-1 (B' - A' X)`, where A' has the pattern of A. So the derivative
/// by the values is `-(A^-T X_bar) X^T` at the entries of the pattern ([`SparseOuter`](super::SparseOuter)), and its matrix is
/// that of the system: what runs keeps the factors, so that forward and backward there is one factorisation.
///
/// [`MatrixKind::Positive`] reads `(A + A^T) / 2`, whose pattern has to be symmetric and have its diagonal; the derivative by
/// the values is symmetric then. A matrix that is singular is an error that names a row, one that is not positive definite an
/// error that names a pivot, and a pattern of which every matrix is singular is refused before there are numbers. A column of B
/// with an entry that is NaN or infinite has NaN as its solution.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SparseSolve {
    /// The pattern of A.
    pub pattern: SharedPattern,
    /// What is known of A.
    pub kind: MatrixKind,
    /// Whether A is transposed.
    pub transpose: bool,
}

impl SparseSolve {
    /// With A as it is.
    pub fn new(pattern: impl Into<SharedPattern>, kind: MatrixKind) -> Self {
        SparseSolve { pattern: pattern.into(), kind, transpose: false }
    }

    /// The system with the transposed matrix, which a symmetric one is itself.
    #[must_use]
    pub fn transposed(&self) -> Self {
        let transpose = self.kind == MatrixKind::General && !self.transpose;
        SparseSolve { transpose, ..self.clone() }
    }

    /// `A X`, where X is the solution: with the numbers of this matrix or of another one of its pattern.
    fn applied(&self, b: &mut Builder, values: Value, x: Value) -> Value {
        let product = SparseProduct { pattern: self.pattern.clone(), transpose: self.transpose };
        if self.kind == MatrixKind::General {
            return b.op(product, &[values, x]);
        }
        let one = b.op(product.transposed(), &[values, x]);
        let other = b.op(product, &[values, x]);
        let sum = b.add(one, other);
        scaled(b, 0.5, sum)
    }

    /// The values where `counts` holds, elsewhere those of a matrix that is regular.
    fn harmless(&self, b: &mut Builder, values: Value, counts: Value) -> Value {
        let ty = b.ty(values).clone();
        let unit = b.op(SparseUnit { pattern: self.pattern.clone() }, &[]);
        let unit = b.convert(unit, ty.dtype);
        let unit = b.op(Broadcast::new(&ty.shape, &[ty.rank() - 1]), &[unit]);
        b.select(counts, values, unit)
    }
}

impl Primitive for SparseSolve {
    fn name(&self) -> Cow<'static, str> {
        "sparse_solve".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 2)?;
        let order = match self.kind {
            MatrixKind::General => self.pattern.check_regular()?,
            MatrixKind::Positive => self.pattern.check_symmetric()?,
        };
        let lead = check_values(&self.pattern, args[0])?;
        let (other, _) = check_rows("rows", order, args[1])?;
        check_alike(args, [lead, other])?;
        Ok(vec![args[1].clone()])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let (values, right) = (widened(args[0]), widened(args[1]));
        let [lead @ .., order, columns] = args[1].shape() else { unreachable!("inference asks for a matrix") };
        let (count, size) = (self.pattern.nnz(), order * columns);
        let mut x = Vec::with_capacity(right.len());
        for k in 0..if right.is_empty() { 0 } else { lead.iter().product() } {
            let (own, right) = (&values[k * count..][..count], &right[k * size..][..size]);
            match plain::solve(&self.pattern, own, right, *columns, (self.kind, self.transpose)) {
                Ok(own) => x.extend(own),
                Err(why) => misfit!("{}{}", why.told(&self.pattern), in_batch(lead, k)),
            }
        }
        Ok(vec![rounded(args[1].dtype(), args[1].shape(), x)])
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Kernel
    }
    /// An unknown depends on all values of its matrix, and on its column of the right-hand side.
    fn reach(&self, site: &Site) -> Reaches {
        let out = &site.outs[0].shape;
        let lead = out.len() - 2;
        let shared = |behind: [Option<usize>; 2]| (0..lead).map(Some).chain(behind).collect::<Vec<Option<usize>>>();
        let values = site.boxes(&site.args[0].shape, out, &shared([None, None]));
        let right = site.boxes(&site.args[1].shape, out, &shared([None, Some(lead + 1)]));
        Ok(vec![vec![Reach::Boxes(values), Reach::Boxes(right)]])
    }
    fn reaches_more(&self) -> Option<&'static str> {
        Some("parts of the inverse of a matrix in blocks are zero")
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        vec![vec![1]]
    }
    fn jvp(&self, b: &mut Builder, args: &[Value], outs: &[Value], tangents: &[Option<Value>]) -> Tangents {
        let by_values = tangents[0].map(|values_dot| {
            let moved = self.applied(b, values_dot, outs[0]);
            b.neg(moved)
        });
        let right = b.add_present(by_values, tangents[1]);
        Ok(vec![right.map(|right| b.op(self.clone(), &[args[0], right]))])
    }
    fn transpose(&self, b: &mut Builder, cotangents: &[Option<Value>], args: &[Operand]) -> Cotangents {
        Ok(vec![None, cotangents[0].map(|ct| b.op(self.transposed(), &[args[0].known(), ct]))])
    }
    /// Every unknown depends on the whole column of the right-hand side.
    fn transpose_masked(
        &self,
        b: &mut Builder,
        cotangents: &[Option<Cotangent>],
        args: &[Operand],
    ) -> Option<MaskedCotangents> {
        let Cotangent { value, mask } = cotangents[0]?;
        let mask = mask?;
        let shape = b.shape(value).to_vec();
        let rows = shape.len() - 2;
        let somewhere = b.any(mask, &[rows]);
        let mask = b.spread(somewhere, &shape, &[rows]);
        let pulled = self.transpose(b, &[Some(value)], args).map(|mut pulled| pulled.remove(1));
        Some(pulled.map(|value| vec![None, value.map(|value| Cotangent { value, mask: Some(mask) })]))
    }
    fn batch(&self, b: &mut Builder, args: &[Value], marked: &[bool], length: usize) -> Batched {
        batched(self.clone(), b, args, marked, length)
    }
    fn batch_masked(
        &self,
        b: &mut Builder,
        args: &[Value],
        marked: &[bool],
        length: usize,
        mask: Value,
    ) -> Option<Batched> {
        let shape = b.shape(args[0]).to_vec();
        let counts = if marked[0] {
            b.spread(mask, &shape, &(1..shape.len()).collect::<Vec<usize>>())
        } else {
            let any = b.any(mask, &[0]);
            b.broadcast_scalar(any, &shape)
        };
        let values = self.harmless(b, args[0], counts);
        if !marked.contains(&true) {
            return Some(Ok(vec![(b.op(self.clone(), &[values, args[1]]), false)]));
        }
        Some(self.batch(b, &[values, args[1]], marked, length))
    }
    fn gives_up(&self) -> bool {
        true
    }
    fn attributes(&self) -> Attributes {
        let kind = KINDS.iter().find(|(_, kind)| *kind == self.kind).expect("every kind has a name").0;
        self.pattern.attributes().with("kind", kind).with("transpose", self.transpose)
    }
}

impl Family for SparseSolve {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        let read = || {
            let pattern = text::read(fields)?;
            Ok(SparseSolve { pattern, kind: fields.one_of("kind", &KINDS)?, transpose: fields.flag("transpose")? })
        };
        (name == "sparse_solve").then(read)
    }
    fn samples() -> Vec<Sample> {
        let lu = SparseSolve::new(general(), MatrixKind::General);
        let positive = SparseSolve::new(symmetric(), MatrixKind::Positive);
        let none = SparseSolve::new(Pattern::empty(0, 0), MatrixKind::General);
        let mut samples = Vec::new();
        for op in [lu.clone(), lu.transposed(), positive] {
            let values = |seed: u64, lead: &[usize]| regular(&op, seed, lead);
            samples.push(Sample::new(op.clone(), &[values(1, &[]), numbers(2, &[4, 2])]));
            samples.push(Sample::new(op.clone(), &[values(3, &[2]), numbers(4, &[2, 4, 1])]));
            samples.push(Sample::new(op.clone(), &[values(5, &[]), numbers(6, &[4, 0])]));
            let single = [values(7, &[]), numbers(8, &[4, 2])].map(|x| crate::primitives::linalg::single(&x));
            samples.push(Sample::new(op.clone(), &single));
        }
        // The inverse of a matrix in blocks has them too.
        let blocks = SparseSolve::new(Pattern::diagonal(2), MatrixKind::General);
        let values = regular(&blocks, 11, &[]);
        samples.push(Sample::new(blocks, &[values, numbers(12, &[2, 1])]));
        samples.push(Sample::new(none, &[numbers(9, &[0]), numbers(10, &[0, 2])]));
        samples
    }
}

/// A pattern of order 4 whose matrices need pivots: an entry of the diagonal is missing.
pub(super) fn general() -> Pattern {
    let entries = [(0, 0), (0, 1), (1, 0), (1, 2), (2, 1), (2, 2), (2, 3), (3, 0), (3, 3)];
    Pattern::from_entries(4, 4, entries).expect("the entries are inside")
}

/// A symmetric one.
fn symmetric() -> Pattern {
    let entries = [(0, 0), (0, 2), (1, 1), (1, 3), (2, 0), (2, 2), (2, 3), (3, 1), (3, 2), (3, 3)];
    Pattern::from_entries(4, 4, entries).expect("the entries are inside")
}

/// Values without a pattern of a matrix of the operation, with larger ones at an entry of each row and column.
fn regular(op: &SparseSolve, seed: u64, lead: &[usize]) -> Array {
    let large = op.pattern.transversal().expect("the pattern of a sample is regular");
    let count = op.pattern.nnz();
    let shape = [lead, &[count]].concat();
    let mut values: Vec<f64> = numbers(seed, &shape).known::<f64>().iter().map(|x| x / 4.0).collect();
    for values in values.chunks_exact_mut(count) {
        large.iter().enumerate().for_each(|(row, &entry)| values[entry] += 3.0 + row as f64);
    }
    Array::new(&shape, values)
}
