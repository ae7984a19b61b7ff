//! Eigenvalues and vectors of general matrices.

use std::borrow::Cow;

use super::complex::{Pair, first, squares, times};
use super::{
    Harmless, Matrices, as_columns, as_rows, diagonal, dims, guarded, identity, kept, places, plain, product, sample,
    single, square, unit, with_lane,
};
use crate::array::{Array, Type};
use crate::error::{Error, ErrorKind, Misfit, misfit};
use crate::ops::{Binary, Compare, Logic, Unary};
use crate::primitives::einsum::rounded;
#[cfg(feature = "text")]
use crate::primitives::parse::Fields;
use crate::primitives::{
    Batched, Concat, Ensure, Family, Form, MatrixKind, MatrixSolve, OperandSet, Primitive, Reaches, Reduce, Reducer,
    Sample, Site, Tangents, arity, scale_along,
};
use crate::program::{Builder, Value};

/// `eig(A) = (re w, im w, re V, im V)`: the eigenvalues, ascending by real and then by imaginary part, and their right vectors as
/// columns of length 1, the first component of each that is not negligible real and positive.
///
/// Real values have real vectors; the others come in conjugate pairs. Values and vectors have a derivative only where all values
/// are apart from each other: otherwise it is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Eig;

impl Primitive for Eig {
    fn name(&self) -> Cow<'static, str> {
        "eig".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 1)?;
        let (lead, n) = square(args[0])?;
        let values = args[0].with_shape([lead, &[n]].concat());
        Ok(vec![values.clone(), values, args[0].clone(), args[0].clone()])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let a = Matrices::of(args[0]);
        let mut parts: [Vec<f64>; 4] = Default::default();
        for k in 0..a.count() {
            let Some((values, vectors)) = plain::eig(a.finite(k)?, a.rows) else {
                misfit!("the steps to a Schur form do not end{}", a.at(k));
            };
            parts[0].extend(values.iter().map(|x| x.re));
            parts[1].extend(values.iter().map(|x| x.im));
            parts[2].extend(vectors.iter().map(|x| x.re));
            parts[3].extend(vectors.iter().map(|x| x.im));
        }
        let [values, vectors] = [a.shape(&[a.rows]), args[0].shape().to_vec()];
        let shapes = [&values, &values, &vectors, &vectors];
        Ok(parts.into_iter().zip(shapes).map(|(part, shape)| rounded(args[0].dtype(), shape, part)).collect())
    }
    fn failure(&self, why: Misfit, args: &[&Type]) -> Error {
        Error::new(ErrorKind::Run, "eig", why.0).of(args.iter().copied())
    }
    /// Of one matrix at a time: Schur form and vectors, real and complex, and the eigenvectors one by one and beside each other.
    fn defined_bytes(&self, args: &[&Type]) -> usize {
        3 * super::widened_bytes(args) + super::squares_bytes(args[0], 10)
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
        Vec::new()
    }
    fn jvp(&self, b: &mut Builder, _: &[Value], outs: &[Value], tangents: &[Option<Value>]) -> Tangents {
        let Some(a_dot) = tangents[0] else { return Ok(vec![None; 4]) };
        if b.ty(a_dot).size() == 0 {
            return Ok(outs.iter().map(|&out| Some(b.zeros_like(out))).collect());
        }
        let (w, v) = ([outs[0], outs[1]], [outs[2], outs[3]]);
        let moved = v.map(|v| product(b, a_dot, v));
        // A real value stays one, and so does its vector.
        let none = b.zeros_like(w[1]);
        let real = b.op(Compare::Eq, &[w[1], none]);
        let (w_dot, v_dot) = moved_with(b, moved, w, v, Some(real));
        Ok([w_dot, v_dot].concat().into_iter().map(Some).collect())
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

/// The tangents of values and vectors, given `A' V`, and which values are real and stay so.
///
/// With `C = V^-1 A' V`: `w' = diag(C)`, and V' is `V G`, `G[i, j] = C[i, j] / (w[j] - w[i])`, plus a multiple of each vector
/// that keeps its length and phase.
pub(super) fn moved_with(b: &mut Builder, moved: Pair, w: Pair, v: Pair, real: Option<Value>) -> (Pair, Pair) {
    let n = dims(b, v[0]).1;
    let c = behind(b, v, moved);
    // Relative to the largest value: squares of gaps may leave the range.
    let lead = b.shape(w[0]).len() - 1;
    let both = b.op(Concat { axis: lead }, &w);
    let scale = scale_along(b, both, &[lead]);
    let relative = w.map(|w| over(b, w, scale));
    let gaps = relative.map(|w| {
        let (of_column, of_row) = (as_rows(b, w, n), as_columns(b, w, n));
        b.sub(of_column, of_row)
    });
    let sizes = squares(b, gaps);
    let ty = b.ty(sizes).clone();
    let eye = identity(b, &ty);
    let sizes = b.add(sizes, eye);
    let c = apart(b, c, relative, sizes, scale);
    let mut w_dot = c.map(|c| diagonal(b, c));
    if let Some(real) = real {
        let none = b.zeros_like(w[1]);
        w_dot[1] = b.select(real, none, w_dot[1]);
    }
    let gaps_back = [gaps[0], b.neg(gaps[1])];
    let off = c.map(|c| {
        let off = kept(b, c, Compare::Ne);
        over(b, off, scale)
    });
    let quotient = times(b, off, gaps_back, |b, x, y| b.mul(x, y)).map(|x| b.div(x, sizes));
    let z = times(b, v, quotient, product);
    // Along v: minus the part that changes its length, and that turns its first component.
    let rows = b.shape(z[0]).len() - 2;
    let [re, im] = [0, 1].map(|k| b.mul(v[k], z[k]));
    let growth = b.add(re, im);
    let growth = b.sum(growth, &[rows]);
    let first = first(b, v);
    let zero = b.zeros_like(z[1]);
    let [turn, length] = [z[1], v[0]].map(|x| {
        let only = b.select(first, x, zero);
        b.sum(only, &[rows])
    });
    let turn = b.div(turn, length);
    let along = [growth, turn].map(|x| {
        let x = as_rows(b, x, n);
        b.neg(x)
    });
    let own = times(b, v, along, |b, x, y| b.mul(x, y));
    let mut v_dot = [0, 1].map(|k| b.add(z[k], own[k]));
    let fixed = match real {
        Some(real) => {
            let real = as_rows(b, real, n);
            b.op(Logic::Or, &[first, real])
        }
        None => first,
    };
    v_dot[1] = b.select(fixed, zero, v_dot[1]);
    (w_dot, v_dot)
}

/// Matrices or vectors over a number for each.
fn over(b: &mut Builder, x: Value, number: Value) -> Value {
    let (shape, lead) = (b.shape(x).to_vec(), b.shape(number).len());
    let number = b.spread(number, &shape, &(lead..shape.len()).collect::<Vec<usize>>());
    b.div(x, number)
}

/// `V^-1 X` of complex matrices, as a system of twice the order.
fn behind(b: &mut Builder, v: Pair, x: Pair) -> Pair {
    let (lead, n, _) = dims(b, v[0]);
    let (rows, columns) = (Concat { axis: lead }, Concat { axis: lead + 1 });
    let minus = b.neg(v[1]);
    let upper = b.op(columns, &[v[0], minus]);
    let lower = b.op(columns, &[v[1], v[0]]);
    let matrix = b.op(rows, &[upper, lower]);
    let right = b.op(rows, &x);
    let both = b.op(MatrixSolve::new(MatrixKind::General), &[matrix, right]);
    [super::lu::part(b, both, 0, (0, n)), super::lu::part(b, both, 0, (n, 2 * n))]
}

/// The derivatives, if no two values are one but for rounding: `sizes` are the squares of the gaps, 1 on the diagonal. Values and
/// gaps are over the scale.
fn apart(b: &mut Builder, c: Pair, w: Pair, sizes: Value, scale: Value) -> Pair {
    let (lead, n, _) = dims(b, sizes);
    let moduli = squares(b, w);
    let detached = [moduli, sizes].map(|x| b.op(Unary::Detach, &[x]));
    let largest = b.op(Reduce::new(Reducer::Max, &[lead]), &[detached[0]]);
    // The diagonal is no gap.
    let off = places(b, sizes, Compare::Ne);
    let ty = b.ty(sizes).clone();
    let infinity = b.full(f64::INFINITY, &ty);
    let gaps = b.select(off, detached[1], infinity);
    let least = b.op(Reduce::new(Reducer::Min, &[lead, lead + 1]), &[gaps]);
    let [largest, least] = [largest, least].map(|x| b.op(Unary::Sqrt, &[x]));
    let ty = b.ty(largest).clone();
    let factor = b.full(super::gaps::CLUSTER_UNITS * n as f64 * unit(ty.dtype), &ty);
    let bound = b.op(Binary::Mul, &[factor, largest]);
    let holds = b.op(Compare::Gt, &[least, bound]);
    let [largest, least] = [largest, least].map(|x| b.mul(x, scale));
    let why = "two eigenvalues are only {} apart, where the largest modulus is {}: but for rounding they are one, repeated, and \
               eigenvalues and vectors of a general matrix have no derivative there";
    let ensure = Ensure::new("eig", why);
    c.map(|c| b.op(ensure.clone(), &[c, holds, least, largest]))
}

impl Family for Eig {
    #[cfg(feature = "text")]
    fn parse(name: &str, _: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "eig").then_some(Ok(Eig))
    }
    fn samples() -> Vec<Sample> {
        // A pair and a real value, far from each other.
        let turned = |seed: u64, shape: &[usize]| {
            let plain = sample(seed, shape, &[1.0, 2.0, 12.0]);
            let n = shape[shape.len() - 1];
            let beside = plain.known::<f64>().iter().enumerate().map(|(place, x)| match (place / n % n, place % n) {
                (0, 1) => x - 7.0,
                (1, 0) => x + 7.0,
                (i, j) if i != j => x + 1.0,
                _ => *x,
            });
            Array::new(shape, beside.collect::<Vec<f64>>())
        };
        let matrix = turned(1, &[3, 3]);
        let real = Array::new(&[2, 2], vec![3.0, 2.0, 1.5, -4.0]);
        vec![
            Sample::new(Eig, std::slice::from_ref(&matrix)),
            Sample::new(Eig, &[single(&matrix)]),
            Sample::new(Eig, &[real]),
            Sample::new(Eig, &[sample(2, &[1, 1], &[-4.0])]),
            Sample::new(Eig, &[turned(3, &[2, 2, 2])]),
            Sample::new(Eig, &[sample(4, &[0, 0], &[5.0])]),
        ]
    }
}
