//! Linear systems with a matrix.

use std::borrow::Cow;

use super::cholesky::not_positive;
use super::triangular::check_pair;
use super::{
    Harmless, Matrices, dims, guarded, matrix, permuted, plain, product, sample, single, square, symmetric, transposed,
    with_lane,
};
use crate::array::{Array, Type};
use crate::error::{Misfit, misfit};
use crate::primitives::einsum::{rounded, widened};
#[cfg(feature = "text")]
use crate::primitives::parse::Fields;
use crate::primitives::{
    ArgSort, Attributes, Batched, Cholesky, Cotangent, Cotangents, Family, Form, Lu, MaskedCotangents, Operand,
    OperandSet, Primitive, Reaches, Sample, Side, Site, Tangents, Triangle, TriangularSolve, arity,
};
use crate::program::{Builder, Value};

/// What is known of the matrix of a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MatrixKind {
    /// Nothing: it is factored with pivots.
    General,
    /// Symmetric, read as `(A + A^T) / 2`, and positive definite: by its Cholesky factor.
    Positive,
}

pub(crate) const KINDS: [(&str, MatrixKind); 2] =
    [("general", MatrixKind::General), ("positive", MatrixKind::Positive)];

/// `matrix_solve(A, B) = X` with `A X = B`, or `A^T X = B`. Linear in B; `X' = A^-1 (B' - A' X)`.
///
/// It exists for its derivatives: what runs is a factorisation and triangular systems ([`Program::written_out`]), so that all
/// systems with one matrix, forward and backward, share its factors. A matrix that is singular is an error that names the
/// pivot, one that is not positive definite an error that names the leading minor.
///
/// [`Program::written_out`]: crate::Program::written_out
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MatrixSolve {
    /// What is known of A.
    pub kind: MatrixKind,
    /// Whether A is transposed.
    pub transpose: bool,
}

impl MatrixSolve {
    /// With A as it is.
    pub fn new(kind: MatrixKind) -> Self {
        MatrixSolve { kind, transpose: false }
    }

    /// The solution by factors.
    pub(crate) fn written_out(self, b: &mut Builder, args: &[Value]) -> Value {
        self.factored(b, args[0])(b, args[1])
    }

    /// What solves systems with this matrix, by its factors.
    pub(super) fn factored(self, b: &mut Builder, a: Value) -> impl Fn(&mut Builder, Value) -> Value + use<> {
        let (lower, upper) = (Triangle::Lower, Triangle::Upper);
        let with = |triangle, transpose, unit| TriangularSolve { side: Side::Left, triangle, transpose, unit };
        let positive = self.kind == MatrixKind::Positive;
        let factors = if positive { vec![b.op(Cholesky, &[a])] } else { b.ops(Lu, &[a]) };
        move |b: &mut Builder, right: Value| {
            if positive {
                let y = b.op(with(lower, false, false), &[factors[0], right]);
                return b.op(with(lower, true, false), &[factors[0], y]);
            }
            let [l, u, order] = [factors[0], factors[1], factors[2]];
            if self.transpose {
                let y = b.op(with(upper, true, false), &[u, right]);
                let y = b.op(with(lower, true, true), &[l, y]);
                let axis = b.shape(order).len() - 1;
                let back = b.op(ArgSort::new(axis, false), &[order]);
                return permuted(b, y, back);
            }
            let right = permuted(b, right, order);
            let y = b.op(with(lower, false, true), &[l, right]);
            b.op(with(upper, false, false), &[u, y])
        }
    }
}

impl Primitive for MatrixSolve {
    fn name(&self) -> Cow<'static, str> {
        "matrix_solve".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 2)?;
        check_pair(args, square(args[0])?, matrix(args[1])?, Side::Left)?;
        Ok(vec![args[1].clone()])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let a = Matrices::of(args[0]);
        let right = widened(args[1]);
        let (n, columns) = (a.rows, args[1].shape()[args[1].shape().len() - 1]);
        let mut x = Vec::with_capacity(right.len());
        for k in 0..if right.is_empty() { 0 } else { a.count() } {
            let (own, right) = (a.finite(k)?, &right[k * n * columns..(k + 1) * n * columns]);
            x.extend(match self.kind {
                MatrixKind::General => plain::solve(own, n, right, columns, self.transpose)
                    .map_err(|pivot| Misfit(plain::singular(pivot) + &a.at(k)))?,
                MatrixKind::Positive => match plain::solve_positive(&plain::symmetric(own, n), n, right, columns) {
                    Ok(x) => x,
                    Err(minor) => misfit!("{}{}", not_positive(minor), a.at(k)),
                },
            });
        }
        Ok(vec![rounded(args[1].dtype(), args[1].shape(), x)])
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
    fn jvp(&self, b: &mut Builder, args: &[Value], outs: &[Value], tangents: &[Option<Value>]) -> Tangents {
        let by_a = tangents[0].map(|a_dot| {
            let a_dot = match (self.kind, self.transpose) {
                (MatrixKind::Positive, _) => symmetric(b, a_dot),
                (MatrixKind::General, true) => transposed(b, a_dot),
                (MatrixKind::General, false) => a_dot,
            };
            let moved = product(b, a_dot, outs[0]);
            b.neg(moved)
        });
        let right = b.add_present(by_a, tangents[1]);
        Ok(vec![right.map(|right| b.op(*self, &[args[0], right]))])
    }
    fn transpose(&self, b: &mut Builder, cotangents: &[Option<Value>], args: &[Operand]) -> Cotangents {
        let transpose = self.kind == MatrixKind::General && !self.transpose;
        let back = MatrixSolve { transpose, ..*self };
        Ok(vec![None, cotangents[0].map(|ct| b.op(back, &[args[0].known(), ct]))])
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
        let (shape, rows) = (b.shape(value).to_vec(), dims(b, value).0);
        let somewhere = b.any(mask, &[rows]);
        let mask = b.spread(somewhere, &shape, &[rows]);
        let pulled = self.transpose(b, &[Some(value)], args).map(|mut pulled| pulled.remove(1));
        Some(pulled.map(|value| vec![None, value.map(|value| Cotangent { value, mask: Some(mask) })]))
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
        let kind = KINDS.iter().find(|(_, kind)| *kind == self.kind).expect("every kind has a name").0;
        Attributes::default().with("kind", kind).with("transpose", self.transpose)
    }
}

impl Family for MatrixSolve {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        let read = || Ok(MatrixSolve { kind: fields.one_of("kind", &KINDS)?, transpose: fields.flag("transpose")? });
        (name == "matrix_solve").then(read)
    }
    fn samples() -> Vec<Sample> {
        use crate::primitives::sample::numbers;
        let general = MatrixSolve::new(MatrixKind::General);
        let back = MatrixSolve { transpose: true, ..general };
        let positive = MatrixSolve::new(MatrixKind::Positive);
        let matrix = sample(1, &[3, 3], &[6.0, 7.0, 9.0]);
        let mut samples = Vec::new();
        for op in [general, back, positive] {
            samples.push(Sample::new(op, &[matrix.clone(), numbers(2, &[3, 2])]));
            samples.push(Sample::new(op, &[sample(3, &[2, 2, 2], &[5.0]), numbers(4, &[2, 2, 1])]));
            samples.push(Sample::new(op, &[sample(5, &[0, 0], &[5.0]), numbers(6, &[0, 2])]));
        }
        samples.push(Sample::new(general, &[single(&matrix), single(&numbers(2, &[3, 2]))]));
        samples.push(Sample::new(positive, &[single(&matrix), single(&numbers(2, &[3, 2]))]));
        samples
    }
}
