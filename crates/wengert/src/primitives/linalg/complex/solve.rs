//! Linear systems with a complex matrix.

use std::borrow::Cow;

use super::super::plain::{self, C64};
use super::super::{Harmless, dims, kept, spared};
use super::{ComplexMatrices, Pair, adjoint, of_complex_matrices, parts, sample_parts, single_parts, square_parts};
use crate::array::{Array, Type};
use crate::error::{Misfit, misfit};
use crate::ops::Compare;
#[cfg(feature = "text")]
use crate::primitives::parse::Fields;
use crate::primitives::sample::numbers;
use crate::primitives::{
    Attributes, Cotangent, Cotangents, Family, MaskedCotangents, Operand, OperandSet, Primitive, Sample, Tangents,
    arity,
};
use crate::program::{Builder, Value};

/// What is known of the complex matrix of a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ComplexKind {
    /// Nothing: it is factored with pivots.
    General,
    /// What stands on and below the diagonal is read, and counts as a triangular matrix.
    Lower,
    /// What stands on and above the diagonal is read, and counts as a triangular matrix.
    Upper,
}

const KINDS: [(&str, ComplexKind); 3] =
    [("general", ComplexKind::General), ("lower", ComplexKind::Lower), ("upper", ComplexKind::Upper)];

/// `complex_solve(re A, im A, re B, im B) = (re X, im X)` with `A X = B`, or `A^H X = B`. Linear in B; `X' = A^-1 (B' - A' X)`.
///
/// Of a triangle the other half is never read. A matrix that is singular is an error that names the pivot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ComplexSolve {
    /// What is known of A.
    pub kind: ComplexKind,
    /// Whether A is transposed and conjugated.
    pub adjoint: bool,
}

impl ComplexSolve {
    /// With A as it is.
    pub fn new(kind: ComplexKind) -> Self {
        ComplexSolve { kind, adjoint: false }
    }

    /// One system; fails with a pivot that is 0.
    fn solve(self, a: &[C64], n: usize, right: &[C64], columns: usize) -> Result<Vec<C64>, usize> {
        let turned = if self.adjoint { plain::complex::adjoint(a, n, n) } else { a.to_vec() };
        if self.kind == ComplexKind::General {
            return plain::complex::solve(&turned, n, right, columns);
        }
        if let Some(zero) = (0..n).find(|k| turned[k * n + k] == C64::ZERO) {
            return Err(zero);
        }
        let mut x = right.to_vec();
        let forward = (self.kind == ComplexKind::Lower) != self.adjoint;
        plain::complex::substitute(|i, j| turned[i * n + j], n, &mut x, columns, forward);
        Ok(x)
    }

    /// The part of A that is read, as it stands in the system.
    fn op_of(self, b: &mut Builder, a: Pair) -> Pair {
        let read = match self.kind {
            ComplexKind::General => a,
            ComplexKind::Lower => a.map(|x| kept(b, x, Compare::Ge)),
            ComplexKind::Upper => a.map(|x| kept(b, x, Compare::Le)),
        };
        if self.adjoint { adjoint(b, read) } else { read }
    }
}

impl Primitive for ComplexSolve {
    fn name(&self) -> Cow<'static, str> {
        "complex_solve".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 4)?;
        let (lead, n) = square_parts(&args[..2])?;
        let (other, rows, _) = parts(&args[2..])?;
        if args[0].dtype != args[2].dtype {
            misfit!("the element types differ; convert one of them first");
        }
        if lead != other {
            misfit!("the axes before the matrices are {lead:?} in one and {other:?} in the other");
        }
        if rows != n {
            misfit!("the matrix is {n} by {n}, and the right-hand side has {rows} rows");
        }
        Ok(vec![args[2].clone(); 2])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let (a, right) = (ComplexMatrices::of(args[0], args[1]), ComplexMatrices::of(args[2], args[3]));
        let mut x = Vec::with_capacity(args[2].size());
        for k in 0..if args[2].size() == 0 { 0 } else { a.count() } {
            let own = if self.kind == ComplexKind::General { a.finite(k)? } else { a.get(k) };
            let solved = self.solve(&own, a.rows, &right.get(k), right.columns);
            x.extend(solved.map_err(|pivot| Misfit(plain::singular(pivot) + &a.at(k)))?);
        }
        Ok(right.given(&[right.rows, right.columns], &x).into())
    }
    /// Of one matrix at a time: a copy as it is solved, factors, and the solution twice.
    fn defined_bytes(&self, args: &[&Type]) -> usize {
        let right = args[2].size() * 2 * size_of::<C64>();
        super::super::widened_bytes(args) + super::super::squares_bytes(args[0], 10) + right
    }
    of_complex_matrices!(Identity);
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        vec![vec![2, 3]]
    }
    fn jvp(&self, b: &mut Builder, args: &[Value], outs: &[Value], tangents: &[Option<Value>]) -> Tangents {
        let by_a = super::whole(b, &tangents[..2], &args[..2]).map(|a_dot| {
            let a_dot = self.op_of(b, a_dot);
            super::product(b, a_dot, [outs[0], outs[1]])
        });
        let by_right = super::whole(b, &tangents[2..], &args[2..]);
        let right = match (by_right, by_a) {
            (Some(right), Some(moved)) => super::sub(b, right, moved),
            (Some(right), None) => right,
            (None, Some(moved)) => moved.map(|x| b.neg(x)),
            (None, None) => return Ok(vec![None; 2]),
        };
        let x_dot = super::solved(b, *self, [args[0], args[1]], right);
        Ok(x_dot.map(Some).into())
    }
    fn transpose(&self, b: &mut Builder, cotangents: &[Option<Value>], args: &[Operand]) -> Cotangents {
        let back = ComplexSolve { adjoint: !self.adjoint, ..*self };
        super::pulled(b, cotangents, args, |b, matrix, right| super::solved(b, back, matrix, right))
    }
    /// Every unknown depends on the whole column of both parts of the right-hand side.
    fn transpose_masked(
        &self,
        b: &mut Builder,
        cotangents: &[Option<Cotangent>],
        args: &[Operand],
    ) -> Option<MaskedCotangents> {
        let rows = dims(b, cotangents.iter().copied().flatten().next()?.value).0;
        // Factors exist of singular matrices too, whose triangles have no solution.
        let failing = [(0, Harmless::Identity), (1, Harmless::Zeros)];
        super::masked_along(b, cotangents, &[rows], |b, values, columns| {
            let last = b.shape(columns).len() - 1;
            let somewhere = b.any(columns, &[last]);
            let args = spared(b, args, &failing, somewhere);
            self.transpose(b, values, &args)
        })
    }
    fn attributes(&self) -> Attributes {
        let kind = KINDS.iter().find(|(_, kind)| *kind == self.kind).expect("every kind has a name").0;
        Attributes::default().with("kind", kind).with("adjoint", self.adjoint)
    }
}

impl Family for ComplexSolve {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        let read = || Ok(ComplexSolve { kind: fields.one_of("kind", &KINDS)?, adjoint: fields.flag("adjoint")? });
        (name == "complex_solve").then(read)
    }
    fn samples() -> Vec<Sample> {
        let right = |seed: u64, shape: &[usize]| [numbers(seed, shape), numbers(seed + 50, shape)];
        let matrix = sample_parts(1, &[3, 3], &[6.0, -7.0, 9.0]);
        let mut samples = Vec::new();
        for (kind, adjoint) in KINDS.iter().flat_map(|(_, kind)| [(*kind, false), (*kind, true)]) {
            let op = ComplexSolve { kind, adjoint };
            samples.push(Sample::new(op, &[matrix.clone(), right(2, &[3, 2])].concat()));
            let batch = sample_parts(3, &[2, 2, 2], &[5.0, 8.0]);
            samples.push(Sample::new(op, &[batch, right(4, &[2, 2, 1])].concat()));
        }
        let general = ComplexSolve::new(ComplexKind::General);
        samples.push(Sample::new(general, &[sample_parts(5, &[0, 0], &[5.0]), right(6, &[0, 2])].concat()));
        samples.push(Sample::new(general, &[sample_parts(5, &[2, 2], &[5.0]), right(6, &[2, 0])].concat()));
        samples.push(Sample::new(general, &[single_parts(&matrix), single_parts(&right(2, &[3, 2]))].concat()));
        samples
    }
}
