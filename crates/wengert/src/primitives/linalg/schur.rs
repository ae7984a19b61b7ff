//! The Schur form of real matrices, and the linear equation that its derivative solves.

use std::borrow::Cow;

use super::complex::first;
use super::gaps::CLUSTER_UNITS;
use super::{
    Harmless, Matrices, as_columns, as_rows, dims, guarded, kept, matrix_by_matrix, places, plain, product, product_tn,
    sample, single, square, transposed, unit, with_lane,
};
use crate::array::{Array, DType, Type};
use crate::error::{Error, ErrorKind, Misfit, misfit};
use crate::ops::{Compare, Logic};
use crate::primitives::einsum::rounded;
#[cfg(feature = "text")]
use crate::primitives::parse::Fields;
use crate::primitives::{
    Attributes, Batched, Cotangent, Cotangents, Family, Form, MaskedCotangents, Operand, OperandSet, Primitive,
    Reaches, Roll, Sample, Site, Tangents, arity,
};
use crate::program::{Builder, Value};

/// `schur(A) = (T, Q)`, the real Schur form `A = Q T Q^T`: Q is orthogonal, and T upper triangular but for blocks of two rows on
/// its diagonal, one for each pair of complex eigenvalues.
///
/// The form is one of the matrix. Blocks ascend by the real part of their eigenvalues, those with the same by the size of the
/// imaginary part. The first component that is not negligible of each column of Q is positive; in the two columns of a pair, the
/// first row that is not negligible is positive and 0, and T is positive above the diagonal of the block. It has a derivative
/// where eigenvalues of different blocks are apart: otherwise that is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Schur;

impl Primitive for Schur {
    fn name(&self) -> Cow<'static, str> {
        "schur".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 1)?;
        square(args[0])?;
        Ok(vec![args[0].clone(), args[0].clone()])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let a = Matrices::of(args[0]);
        let (mut forms, mut bases) = (Vec::with_capacity(args[0].size()), Vec::with_capacity(args[0].size()));
        for k in 0..a.count() {
            let Some((t, q)) = plain::ordered_schur(a.finite(k)?, a.rows) else {
                misfit!("the steps to a Schur form do not end{}", a.at(k));
            };
            forms.extend(t);
            bases.extend(q);
        }
        Ok([forms, bases].into_iter().map(|part| rounded(args[0].dtype(), args[0].shape(), part)).collect())
    }
    /// Of one matrix at a time: the form and the basis, and lists of its blocks.
    fn defined_bytes(&self, args: &[&Type]) -> usize {
        3 * super::widened_bytes(args) + super::squares_bytes(args[0], 4) + super::sides_bytes(args[0], 8)
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Kernel
    }
    fn reach(&self, site: &Site) -> Reaches {
        matrix_by_matrix(site)
    }
    fn reaches_more(&self) -> Option<&'static str> {
        Some(super::WITHIN_MATRICES)
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        Vec::new()
    }
    /// With `B = Q^T A' Q` and the skew `W = Q^T Q'`: `T' = B + T W - W T`, which is 0 below the blocks. That is an equation for W
    /// there; within a block, W keeps what fixes the basis of a pair.
    fn jvp(&self, b: &mut Builder, _: &[Value], outs: &[Value], tangents: &[Option<Value>]) -> Tangents {
        let Some(a_dot) = tangents[0] else { return Ok(vec![None; 2]) };
        let [t, q] = [outs[0], outs[1]];
        if b.ty(a_dot).size() == 0 {
            return Ok(outs.iter().map(|&out| Some(b.zeros_like(out))).collect());
        }
        let columns = dims(b, t).0 + 1;
        let none = b.zeros_like(t);
        // The elements of blocks below the diagonal, and the second rows of blocks.
        let stands = b.op(Compare::Ne, &[t, none]);
        let lower = places(b, t, Compare::Gt);
        let within = b.op(Logic::And, &[stands, lower]);
        let second = b.any(within, &[columns]);
        let moved = product(b, a_dot, q);
        let moved = product_tn(b, q, moved);
        let right = b.neg(moved);
        let below = b.op(Commutator { transpose: false }, &[t, second, right]);
        let above = transposed(b, below);
        let outer = b.sub(below, above);
        let (inner, fixed) = within_pairs(b, q, outer, within);
        let w = b.add(outer, inner);
        let (tw, wt) = (product(b, t, w), product(b, w, t));
        let change = b.sub(tw, wt);
        let t_dot = b.add(moved, change);
        let upper = places(b, t, Compare::Le);
        let stays = b.op(Logic::Or, &[upper, within]);
        let t_dot = b.select(stays, t_dot, none);
        let q_dot = product(b, q, w);
        let q_dot = b.select(fixed, none, q_dot);
        Ok(vec![Some(t_dot), Some(q_dot)])
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
        Some(guarded(*self, b, args, batched, (length, mask), &[(0, Harmless::Distinct)]))
    }
    fn gives_up(&self) -> bool {
        true
    }
}

/// The rotation of pairs that keeps a 0 in the second column of each, given that of the blocks against each other and the elements
/// of blocks below the diagonal; and where in Q these zeros are.
fn within_pairs(b: &mut Builder, q: Value, outer: Value, within: Value) -> (Value, Value) {
    let (lead, n, _) = dims(b, q);
    let none = b.zeros_like(q);
    let along = product(b, q, outer);
    // The column before each.
    let forth = [vec![0; lead + 1], vec![1]].concat();
    let before = b.op(Roll::new(&forth), &[q]);
    let second = b.any(within, &[lead + 1]);
    let second = as_rows(b, second, n);
    let first = first(b, [before, q]);
    let fixed = b.op(Logic::And, &[first, second]);
    let [turn, length] = [along, before].map(|x| {
        let only = b.select(fixed, x, none);
        let sum = b.sum(only, &[lead]);
        as_rows(b, sum, n)
    });
    let within_above = transposed(b, within);
    let ty = b.ty(q).clone();
    let one = b.full(1.0, &ty);
    let turn = b.select(within_above, turn, none);
    let length = b.select(within_above, length, one);
    let quotient = b.div(turn, length);
    let turned = transposed(b, quotient);
    (b.sub(turned, quotient), fixed)
}

impl Family for Schur {
    #[cfg(feature = "text")]
    fn parse(name: &str, _: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "schur").then_some(Ok(Schur))
    }
    fn samples() -> Vec<Sample> {
        // A pair and a real value, three real values, one pair: values that rounding moves by a few units in the last place.
        let matrix = Array::new(&[3, 3], vec![1.5, -3.0, 1.0, 3.0, 3.0, 2.25, 1.0, 0.5, 2.25]);
        let real = Array::new(&[3, 3], vec![-3.0, -1.0, -2.0, 2.0, -0.25, -1.0, -2.0, -1.25, -0.5]);
        let batch = Array::new(&[2, 2, 2], vec![-2.75, 1.5, -0.75, -1.5, -1.75, -1.5, 0.25, 2.0]);
        vec![
            Sample::new(Schur, std::slice::from_ref(&matrix)),
            Sample::new(Schur, &[single(&matrix)]),
            Sample::new(Schur, &[real]),
            Sample::new(Schur, &[sample(2, &[1, 1], &[-4.0])]),
            Sample::new(Schur, &[batch]),
            Sample::new(Schur, &[sample(4, &[0, 0], &[5.0])]),
        ]
    }
}

/// `commutator(T, second, C) = X`, the X that is zero but below the blocks on the diagonal of T, with `T X - X T = C` there; with
/// `T^T` in the place of T if it is transposed. Linear in C.
///
/// Row k of T is the second one of a block where `second[k]` is true. T has to be finite, but counts for nothing below its blocks,
/// and C nothing but there. It has one solution if no eigenvalue of a block is one of another block; otherwise it is an error, also where they differ by no more
/// than rounding (64 n units of the largest modulus). For upper triangles and blocks of at most two rows it is solved from the
/// corner on (R. H. Bartels, G. W. Stewart, 1972).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Commutator {
    /// Whether T is transposed.
    pub transpose: bool,
}

/// The gap up to which eigenvalues are one, as a part of the largest modulus.
pub(super) fn least_gap(n: usize, dtype: DType) -> f64 {
    CLUSTER_UNITS * n as f64 * unit(dtype)
}

/// What an error says of two eigenvalues that are one.
pub(super) fn repeated(why: plain::Repeated) -> String {
    format!(
        "two eigenvalues are only {:e} apart, where the largest modulus is {:e}: but for rounding they are one, repeated, and a \
         Schur form has no derivative there",
        why.gap, why.largest
    )
}

impl Primitive for Commutator {
    fn name(&self) -> Cow<'static, str> {
        "commutator".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 3)?;
        let (lead, n) = square(args[0])?;
        let second = args[0].with_shape([lead, &[n]].concat()).with_dtype(DType::Bool);
        if *args[1] != second {
            misfit!("which rows are second ones is {}, and has to be {second}", args[1]);
        }
        if args[2] != args[0] {
            misfit!("the right-hand side is {}, and has to be {}", args[2], args[0]);
        }
        Ok(vec![args[0].clone()])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let [t, c] = [0, 2].map(|k| Matrices::of(args[k]));
        let (n, second) = (t.rows, args[1].known::<bool>());
        let least = least_gap(n, args[0].dtype());
        let mut out = Vec::with_capacity(args[2].size());
        for k in 0..t.count() {
            let second = &second[k * n..(k + 1) * n];
            match plain::commutator(t.finite_as(" of T", k)?, second, c.get(k), self.transpose, least) {
                Ok(x) => out.extend(x),
                Err(why) => misfit!("{}{}", repeated(why), t.at(k)),
            }
        }
        Ok(vec![rounded(args[2].dtype(), args[2].shape(), out)])
    }
    fn failure(&self, why: Misfit, args: &[&Type]) -> Error {
        Error::new(ErrorKind::Run, "schur", why.0).of([args[0]])
    }
    /// Of one equation at a time: the blocks of T and the solution, each with its transpose, and lists of blocks.
    fn defined_bytes(&self, args: &[&Type]) -> usize {
        2 * super::widened_bytes(args) + super::squares_bytes(args[0], 4) + super::sides_bytes(args[0], 8)
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Kernel
    }
    fn reach(&self, site: &Site) -> Reaches {
        matrix_by_matrix(site)
    }
    fn reaches_more(&self) -> Option<&'static str> {
        Some(super::WITHIN_MATRICES)
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        vec![vec![2]]
    }
    /// The same equation with the right-hand side `C' - (T' X - X T')`.
    fn jvp(&self, b: &mut Builder, args: &[Value], outs: &[Value], tangents: &[Option<Value>]) -> Tangents {
        let by_t = tangents[0].map(|t_dot| {
            let t_dot = within_blocks(b, t_dot, args[1]);
            let t_dot = if self.transpose { transposed(b, t_dot) } else { t_dot };
            let (left, right) = (product(b, outs[0], t_dot), product(b, t_dot, outs[0]));
            b.sub(left, right)
        });
        let sum = b.add_present(by_t, tangents[2]);
        Ok(vec![sum.map(|sum| b.op(*self, &[args[0], args[1], sum]))])
    }
    fn transpose(&self, b: &mut Builder, cotangents: &[Option<Value>], args: &[Operand]) -> Cotangents {
        let back = Commutator { transpose: !self.transpose };
        let pulled = cotangents[0].map(|ct| b.op(back, &[args[0].known(), args[1].known(), ct]));
        Ok(vec![None, None, pulled])
    }
    /// Every element depends on a whole corner of the right-hand side.
    fn transpose_masked(
        &self,
        b: &mut Builder,
        cotangents: &[Option<Cotangent>],
        args: &[Operand],
    ) -> Option<MaskedCotangents> {
        // A form exists where eigenvalues repeat, and the equation has no solution there.
        let failing = [(0, Harmless::Distinct), (1, Harmless::Zeros)];
        super::by_whole_matrices(b, cotangents[0]?, args, &failing, |b, value, args| {
            self.transpose(b, &[Some(value)], args)
        })
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
        let failing = [(0, Harmless::Distinct), (1, Harmless::Zeros), (2, Harmless::Zeros)];
        Some(guarded(*self, b, args, batched, (length, mask), &failing))
    }
    fn gives_up(&self) -> bool {
        true
    }
    fn attributes(&self) -> Attributes {
        Attributes::default().with("transpose", self.transpose)
    }
}

/// The elements on and above the diagonal, and those of the blocks below it; 0 elsewhere.
fn within_blocks(b: &mut Builder, x: Value, second: Value) -> Value {
    let (lead, n, _) = dims(b, x);
    let none = b.zeros_like(x);
    let ones = b.full(1.0, &b.ty(x).clone());
    let diagonal = kept(b, ones, Compare::Eq);
    // One row further down; the last one would come round to the first, above the diagonal.
    let down = [vec![0; lead], vec![1, 0]].concat();
    let moved = b.op(Roll::new(&down), &[diagonal]);
    let under = b.op(Compare::Ne, &[moved, none]);
    let second = as_columns(b, second, n);
    let under = b.op(Logic::And, &[under, second]);
    let upper = places(b, x, Compare::Le);
    let read = b.op(Logic::Or, &[upper, under]);
    b.select(read, x, none)
}

impl Family for Commutator {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "commutator").then(|| Ok(Commutator { transpose: fields.flag("transpose")? }))
    }
    fn samples() -> Vec<Sample> {
        use crate::primitives::sample::numbers;
        let flags = |shape: &[usize], second: &[bool]| Array::new(shape, second.to_vec());
        let (t, c) = (sample(1, &[4, 4], &[-3.0, 1.0, 1.5, 6.0]), numbers(2, &[4, 4]));
        let second = flags(&[4], &[false, false, true, false]);
        let batch = [sample(3, &[2, 2, 2], &[3.0, -1.0]), numbers(4, &[2, 2, 2])];
        let mut samples = Vec::new();
        for transpose in [false, true] {
            let op = Commutator { transpose };
            samples.push(Sample::new(op, &[t.clone(), second.clone(), c.clone()]));
            samples.push(Sample::new(op, &[single(&t), second.clone(), single(&c)]));
            let of_batch = flags(&[2, 2], &[false, false, false, true]);
            samples.push(Sample::new(op, &[batch[0].clone(), of_batch, batch[1].clone()]));
            samples.push(Sample::new(op, &[sample(5, &[1, 1], &[2.0]), flags(&[1], &[false]), numbers(6, &[1, 1])]));
            samples.push(Sample::new(op, &[sample(7, &[0, 0], &[1.0]), flags(&[0], &[]), numbers(8, &[0, 0])]));
        }
        samples
    }
}
