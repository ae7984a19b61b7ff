//! The Schur form of complex matrices, and the linear equation that its derivative solves.

use std::borrow::Cow;

use super::super::schur::{least_gap, repeated};
use super::super::{Harmless, kept, plain, spared};
use super::{
    ComplexMatrices, Pair, adjoint, given_parts, of_complex_matrices, phase_kept, product, product_hn, sample_parts,
    single_parts, square_parts, sub,
};
use crate::array::{Array, Type};
use crate::error::{Error, ErrorKind, Misfit, misfit};
use crate::ops::Compare;
#[cfg(feature = "text")]
use crate::primitives::parse::Fields;
use crate::primitives::{
    Attributes, Cotangent, Cotangents, Family, MaskedCotangents, Operand, OperandSet, Primitive, Sample, Tangents,
    arity,
};
use crate::program::{Builder, Value};

/// `complex_schur(re A, im A) = (re T, im T, re U, im U)`, the Schur form `A = U T U^H`: U is unitary, and T upper triangular.
///
/// The form is one of the matrix. The diagonal of T ascends by real parts, values with the same by imaginary parts; the first
/// component that is not negligible of each column of U is real and positive. It has a derivative where the values are apart:
/// otherwise that is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ComplexSchur;

impl Primitive for ComplexSchur {
    fn name(&self) -> Cow<'static, str> {
        "complex_schur".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        square_parts(args)?;
        Ok(vec![args[0].clone(); 4])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let a = ComplexMatrices::of(args[0], args[1]);
        let (mut forms, mut bases) = (Vec::new(), Vec::new());
        for k in 0..a.count() {
            let Some((t, u)) = plain::complex::ordered_schur(&a.finite(k)?, a.rows) else {
                misfit!("the steps to a Schur form do not end{}", a.at(k));
            };
            forms.extend(t);
            bases.extend(u);
        }
        let own = [a.rows, a.rows];
        Ok([a.given(&own, &forms), a.given(&own, &bases)].concat())
    }
    fn failure(&self, why: Misfit, args: &[&Type]) -> Error {
        Error::new(ErrorKind::Run, "schur", why.0).of(args.iter().copied())
    }
    /// All results, and of one matrix at a time it, its form and basis.
    fn defined_bytes(&self, args: &[&Type]) -> usize {
        let all = 4 * args[0].size() * size_of::<f64>();
        super::super::widened_bytes(args) + all + super::super::squares_bytes(args[0], 8)
    }
    of_complex_matrices!(Distinct);
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        Vec::new()
    }
    /// With `B = U^H A' U` and `W = U^H U'`, which is its own negative adjoint: `T' = B + T W - W T`, which is 0 below the
    /// diagonal. That is an equation for W there; on the diagonal, W keeps the phases.
    fn jvp(&self, b: &mut Builder, args: &[Value], outs: &[Value], tangents: &[Option<Value>]) -> Tangents {
        let Some(a_dot) = super::whole(b, tangents, args) else { return Ok(vec![None; 4]) };
        if b.ty(a_dot[0]).size() == 0 {
            return Ok(outs.iter().map(|&out| Some(b.zeros_like(out))).collect());
        }
        let (t, u) = ([outs[0], outs[1]], [outs[2], outs[3]]);
        let moved = product(b, a_dot, u);
        let moved = product_hn(b, u, moved);
        let right = moved.map(|x| b.neg(x));
        let below = solved(b, ComplexCommutator { adjoint: false }, t, right);
        let above = adjoint(b, below);
        let w = sub(b, below, above);
        let z = product(b, u, w);
        // Less `i turn` on the diagonal of W: T, which is on both sides of it, is turned as well.
        let (u_dot, turn) = phase_kept(b, u, z);
        let w = super::less_diagonal(b, w, turn);
        let (tw, wt) = (product(b, t, w), product(b, w, t));
        let change = sub(b, tw, wt);
        let t_dot = super::add(b, moved, change).map(|x| kept(b, x, Compare::Le));
        Ok([t_dot, u_dot].concat().into_iter().map(Some).collect())
    }
}

impl Family for ComplexSchur {
    #[cfg(feature = "text")]
    fn parse(name: &str, _: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "complex_schur").then_some(Ok(ComplexSchur))
    }
    fn samples() -> Vec<Sample> {
        // Values that rounding moves by a few units in the last place.
        let matrix = given_parts(&[2, 2], [&[-2.5, 1.5, -0.25, 1.0], &[2.5, -1.5, 1.5, -2.5]]);
        let batch: [&[f64]; 2] =
            [&[-1.5, -0.75, 0.5, -0.25, 1.75, 0.0, 0.0, -1.5], &[-2.5, -0.5, 0.75, 1.0, -2.5, 2.25, 0.0, 2.25]];
        let batch = given_parts(&[2, 2, 2], batch);
        vec![
            Sample::new(ComplexSchur, &matrix),
            Sample::new(ComplexSchur, &single_parts(&batch)),
            Sample::new(ComplexSchur, &batch),
            Sample::new(ComplexSchur, &sample_parts(2, &[1, 1], &[-4.0])),
            Sample::new(ComplexSchur, &sample_parts(4, &[0, 0], &[5.0])),
        ]
    }
}

/// `complex_commutator(re T, im T, re C, im C) = (re X, im X)`, the X that is zero but below the diagonal, with `T X - X T = C`
/// there; with `T^H` in the place of T if it is turned. Linear in C.
///
/// T has to be finite, but counts for nothing below the diagonal, and C nothing but there. It has one solution if the elements on the diagonal of T are different;
/// two that differ by no more than rounding (64 n units of the largest modulus) are an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ComplexCommutator {
    /// Whether T is transposed and conjugated.
    pub adjoint: bool,
}

/// The solution as a pair.
fn solved(b: &mut Builder, op: ComplexCommutator, t: Pair, c: Pair) -> Pair {
    let parts = b.ops(op, &[t, c].concat());
    [parts[0], parts[1]]
}

impl Primitive for ComplexCommutator {
    fn name(&self) -> Cow<'static, str> {
        "complex_commutator".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 4)?;
        square_parts(&args[..2])?;
        if args[2] != args[0] || args[3] != args[0] {
            misfit!("the parts of the right-hand side are {} and {}, and have to be {}", args[2], args[3], args[0]);
        }
        Ok(vec![args[2].clone(); 2])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let (t, c) = (ComplexMatrices::of(args[0], args[1]), ComplexMatrices::of(args[2], args[3]));
        let least = least_gap(t.rows, args[0].dtype());
        let mut x = Vec::with_capacity(args[2].size());
        for k in 0..t.count() {
            match plain::complex::commutator(&t.finite(k)?, t.rows, &c.get(k), self.adjoint, least) {
                Ok(solution) => x.extend(solution),
                Err(why) => misfit!("{}{}", repeated(why), t.at(k)),
            }
        }
        Ok(c.given(&[c.rows, c.rows], &x).into())
    }
    fn failure(&self, why: Misfit, args: &[&Type]) -> Error {
        Error::new(ErrorKind::Run, "schur", why.0).of(args[..2].iter().copied())
    }
    /// All solutions, and of one equation at a time both matrices and its solution.
    fn defined_bytes(&self, args: &[&Type]) -> usize {
        let all = 2 * args[2].size() * size_of::<f64>();
        super::super::widened_bytes(args) + all + super::super::squares_bytes(args[0], 6)
    }
    of_complex_matrices!(Distinct);
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        vec![vec![2, 3]]
    }
    /// The same equation with the right-hand side `C' - (T' X - X T')`.
    fn jvp(&self, b: &mut Builder, args: &[Value], outs: &[Value], tangents: &[Option<Value>]) -> Tangents {
        let by_t = super::whole(b, &tangents[..2], &args[..2]).map(|t_dot| {
            let t_dot = t_dot.map(|x| kept(b, x, Compare::Le));
            let t_dot = if self.adjoint { adjoint(b, t_dot) } else { t_dot };
            let x = [outs[0], outs[1]];
            let (left, right) = (product(b, x, t_dot), product(b, t_dot, x));
            sub(b, left, right)
        });
        let by_c = super::whole(b, &tangents[2..], &args[2..]);
        let right = match (by_t, by_c) {
            (Some(by_t), Some(by_c)) => super::add(b, by_t, by_c),
            (by_t, by_c) => match by_t.or(by_c) {
                Some(one) => one,
                None => return Ok(vec![None; 2]),
            },
        };
        Ok(solved(b, *self, [args[0], args[1]], right).map(Some).into())
    }
    fn transpose(&self, b: &mut Builder, cotangents: &[Option<Value>], args: &[Operand]) -> Cotangents {
        let back = ComplexCommutator { adjoint: !self.adjoint };
        super::pulled(b, cotangents, args, |b, matrix, right| solved(b, back, matrix, right))
    }
    /// Every element depends on a corner of both parts of the right-hand side.
    fn transpose_masked(
        &self,
        b: &mut Builder,
        cotangents: &[Option<Cotangent>],
        args: &[Operand],
    ) -> Option<MaskedCotangents> {
        let rank = b.shape(cotangents.iter().copied().flatten().next()?.value).len();
        // A form exists where eigenvalues repeat, and the equation has no solution there.
        let failing = [(0, Harmless::Distinct), (1, Harmless::Zeros)];
        super::masked_along(b, cotangents, &[rank - 2, rank - 1], |b, values, somewhere| {
            let args = spared(b, args, &failing, somewhere);
            self.transpose(b, values, &args)
        })
    }
    fn attributes(&self) -> Attributes {
        Attributes::default().with("adjoint", self.adjoint)
    }
}

impl Family for ComplexCommutator {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "complex_commutator").then(|| Ok(ComplexCommutator { adjoint: fields.flag("adjoint")? }))
    }
    fn samples() -> Vec<Sample> {
        let right = |seed: u64, shape: &[usize]| sample_parts(seed, shape, &[0.0]);
        let matrix = sample_parts(1, &[3, 3], &[6.0, -7.0, 2.0]);
        let mut samples = Vec::new();
        for op in [false, true].map(|adjoint| ComplexCommutator { adjoint }) {
            samples.push(Sample::new(op, &[matrix.clone(), right(2, &[3, 3])].concat()));
            samples.push(Sample::new(op, &[single_parts(&matrix), single_parts(&right(2, &[3, 3]))].concat()));
            let batch = sample_parts(7, &[2, 2, 2], &[5.0, 8.0]);
            samples.push(Sample::new(op, &[batch, right(8, &[2, 2, 2])].concat()));
            samples.push(Sample::new(op, &[sample_parts(5, &[0, 0], &[5.0]), right(6, &[0, 0])].concat()));
        }
        samples
    }
}
