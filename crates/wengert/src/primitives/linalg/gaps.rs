//! Divisions by the gaps of a spectrum, and derivatives of its values: with a check that they exist.
//!
//! Where values repeat, vectors have no derivative, and that of the values depends on what is made of them. Both operations
//! here refuse to give a number then, forward and backward. Which vectors are asked for is read off the cotangent: columns
//! that are zero by their structure (what a slice leaves out), or that a mask says count nowhere, are not.

use std::borrow::Cow;

use super::spectral_frame::SpectralKind;
use super::{Harmless, both, dims, guarded, in_batch, kept, places, unit, with_lane};
use crate::array::{Array, DType, Type};
use crate::error::{Error, ErrorKind, Misfit, misfit};
use crate::ops::{Binary, Compare, Logic, Unary};
use crate::primitives::einsum::{rounded, widened};
#[cfg(feature = "text")]
use crate::primitives::parse::Fields;
use crate::primitives::sample::{numbers, numbers_f32};
use crate::primitives::{
    Attributes, Batched, Broadcast, Concat, Cotangent, Cotangents, Family, Form, MaskedCotangents, Op, Operand,
    OperandSet, Primitive, Reaches, Reducer, Sample, Site, Tangents, check_float,
};
use crate::program::{Builder, Value};

/// Values whose gap is at most this many units of the largest one, times their number, are one value, repeated.
pub(super) const CLUSTER_UNITS: f64 = 64.0;

/// Derivatives that differ by at most this many units of the largest one agree.
const AGREEMENT_UNITS: f64 = 4096.0;

impl SpectralKind {
    /// The operation that the values come from.
    fn operation(self) -> &'static str {
        match self {
            SpectralKind::Symmetric => "eigh",
            SpectralKind::Singular => "svd",
        }
    }

    /// What has derivatives where values repeat.
    fn method(self) -> &'static str {
        match self {
            SpectralKind::Symmetric => "spectral(a)",
            SpectralKind::Singular => "singular(a)",
        }
    }

    fn refusal(self, why: Misfit) -> Error {
        Error::new(ErrorKind::Run, self.operation(), why.0)
    }
}

/// The gap up to which two of these values are one.
fn least_gap<T: Copy + Into<f64>>(values: &[T], dtype: DType) -> f64 {
    let largest = values.iter().fold(0.0f64, |largest, &x| largest.max(x.into().abs()));
    CLUSTER_UNITS * values.len() as f64 * unit(dtype) * largest
}

/// Two values as errors tell them.
fn told<T: Copy + Into<f64>>(values: &[T], i: usize, j: usize, of: SpectralKind) -> String {
    let name = of.value();
    let (i, j) = (i.min(j), i.max(j));
    let [x, y]: [f64; 2] = [values[i], values[j]].map(Into::into);
    format!("the {name}s {i} and {j} are {x:e} and {y:e}, {:.1e} apart", (x - y).abs())
}

// ---- quotients ----------------------------------------------------------------------------------

/// What the elements are divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Divisor {
    /// `w[j] - w[i]`
    Difference,
    /// `w[j] + w[i]`
    Sum,
    /// `w[j]`, on the diagonal too.
    Value,
}

const DIVISORS: [(&str, Divisor); 3] =
    [("difference", Divisor::Difference), ("sum", Divisor::Sum), ("value", Divisor::Value)];

/// `separate(P, w, counts)`: the elements of P divided by gaps between values, `out[i, j] = P[i, j] / (w[j] - w[i])`, and 0 on
/// the diagonal.
///
/// Column j is 0 and not looked at where `counts[j]` is false; without that operand all columns count. In a column that
/// counts, a divisor that is 0 but for rounding (64 n units of the largest value) is an error: the vectors that the quotient
/// is a derivative of have none. Linear in P.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Separate {
    /// Which values w are.
    pub of: SpectralKind,
    /// What the elements are divided by.
    pub by: Divisor,
}

impl Separate {
    fn divisor<T: Copy + Into<f64>>(self, w: &[T], i: usize, j: usize) -> f64 {
        let (of_row, of_column) = (|| w[i].into(), w[j].into());
        match self.by {
            Divisor::Difference => of_column - of_row(),
            Divisor::Sum => of_column + of_row(),
            Divisor::Value => of_column,
        }
    }

    #[cold]
    fn refused<T: Copy + Into<f64>>(self, w: &[T], i: usize, j: usize) -> String {
        let (name, method) = (self.of.value(), self.of.method());
        match self.by {
            Divisor::Difference => format!(
                "{}: but for rounding they are one, repeated, and the vectors of a repeated value have no derivative; use \
                 `{method}` with `.map` for a function of the matrix, `.projector` for a space, `.sum` for {name}s",
                told(w, i, j, self.of)
            ),
            Divisor::Sum => format!("{}: both are 0, and their vectors have no derivative", told(w, i, j, self.of)),
            Divisor::Value => format!(
                "singular value {j} is {:e}, 0 but for rounding, and its vector on the longer side has no derivative; use \
                 `{method}` with `.projector` for a space",
                w[j].into()
            ),
        }
    }

    /// Gives the quotients of one matrix, row by row.
    pub(crate) fn divide<T: Copy + Into<f64>>(
        self,
        p: &[T],
        w: &[T],
        counts: impl Fn(usize) -> bool,
        dtype: DType,
        mut give: impl FnMut(f64),
    ) -> Result<(), String> {
        let least = least_gap(w, dtype);
        for (i, row) in p.chunks_exact(w.len().max(1)).enumerate() {
            for (j, &x) in row.iter().enumerate() {
                if (i == j && self.by != Divisor::Value) || !counts(j) {
                    give(0.0);
                    continue;
                }
                let divisor = self.divisor(w, i, j);
                if divisor.abs() <= least {
                    return Err(self.refused(w, i, j));
                }
                give(x.into() / divisor);
            }
        }
        Ok(())
    }
}

impl Primitive for Separate {
    fn name(&self) -> Cow<'static, str> {
        "separate".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        let [p, w, counts @ ..] = args else { misfit!("it takes a matrix and values, and got {}", args.len()) };
        let (lead, rows, columns) = super::matrix(p)?;
        if self.by != Divisor::Value && rows != columns {
            misfit!("the matrix is {rows} by {columns}, and has to be square");
        }
        let wanted = p.with_shape([lead, &[columns]].concat());
        if **w != wanted {
            misfit!("the values are {w}, and have to be {wanted}");
        }
        match counts {
            [] => {}
            [counts] if **counts == wanted.with_dtype(DType::Bool) => {}
            [counts] => misfit!("which columns count is {counts}, and has to be {}", wanted.with_dtype(DType::Bool)),
            _ => misfit!("it takes two or three operands, and got {}", args.len()),
        }
        Ok(vec![(*p).clone()])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let [.., rows, n] = args[0].shape()[..] else { unreachable!("inference asks for a matrix") };
        let (p, w) = (widened(args[0]), widened(args[1]));
        let counts = args.get(2).map(|counts| counts.known::<bool>());
        let lead = &args[0].shape()[..args[0].shape().len() - 2];
        let mut out = Vec::with_capacity(p.len());
        for k in 0..lead.iter().product() {
            let counts = |j: usize| counts.is_none_or(|counts| counts[k * n + j]);
            let (own, values) = (&p[k * rows * n..(k + 1) * rows * n], &w[k * n..(k + 1) * n]);
            self.divide(own, values, counts, args[0].dtype(), |x| out.push(x))
                .map_err(|why| Misfit(why + &in_batch(lead, k)))?;
        }
        Ok(vec![rounded(args[0].dtype(), args[0].shape(), out)])
    }
    fn failure(&self, why: Misfit, _: &[&Type]) -> Error {
        self.of.refusal(why)
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
        vec![vec![0]]
    }
    /// `(P' - out (w'[j] - w'[i]))`, divided.
    fn jvp(&self, b: &mut Builder, args: &[Value], outs: &[Value], tangents: &[Option<Value>]) -> Tangents {
        let by_w = tangents[1].map(|w_dot| {
            let (_, rows, columns) = dims(b, args[0]);
            let of_column = super::as_rows(b, w_dot, rows);
            let divisor = match self.by {
                Divisor::Value => of_column,
                by => {
                    let of_row = super::as_columns(b, w_dot, columns);
                    let op = if by == Divisor::Sum { Binary::Add } else { Binary::Sub };
                    b.op(op, &[of_column, of_row])
                }
            };
            let moved = b.mul(outs[0], divisor);
            b.neg(moved)
        });
        let sum = b.add_present(tangents[0], by_w);
        Ok(vec![sum.map(|sum| b.op(*self, &[&[sum], &args[1..]].concat()))])
    }
    fn transpose(&self, b: &mut Builder, cotangents: &[Option<Value>], args: &[Operand]) -> Cotangents {
        let mut pulled = vec![None; args.len()];
        if let Some(ct) = cotangents[0] {
            let mask = args.get(2).map(Operand::known);
            pulled[0] = Some(self.pulled(b, ct, args[1].known(), mask));
        }
        Ok(pulled)
    }
    fn transpose_masked(
        &self,
        b: &mut Builder,
        cotangents: &[Option<Cotangent>],
        args: &[Operand],
    ) -> Option<MaskedCotangents> {
        let Cotangent { value, mask } = cotangents[0]?;
        let mask = mask?;
        let rows = dims(b, value).0;
        let somewhere = b.any(mask, &[rows]);
        let counts = both(b, args.get(2).map(Operand::known), Some(somewhere));
        let value = self.pulled(b, value, args[1].known(), counts);
        let mut pulled = vec![None; args.len()];
        pulled[0] = Some(Cotangent { value, mask: Some(mask) });
        Some(Ok(pulled))
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
        Some(guarded(*self, b, args, batched, (length, mask), &[(1, Harmless::Counting)]))
    }
    fn gives_up(&self) -> bool {
        true
    }
    fn attributes(&self) -> Attributes {
        let by = DIVISORS.iter().find(|(_, by)| *by == self.by).expect("every divisor has a name").0;
        Attributes::default().with("of", self.of.word()).with("by", by)
    }
}

impl Separate {
    /// The cotangent of P, where the columns that are structurally zero do not count.
    fn pulled(self, b: &mut Builder, ct: Value, w: Value, counts: Option<Value>) -> Value {
        let structural = counting(b, ct);
        let counts = both(b, counts, structural);
        let mut args = vec![ct, w];
        args.extend(counts);
        b.op(self, &args)
    }
}

/// Which columns of a matrix are not structurally zero, in the shape of a vector for each matrix; `None` if that is not known
/// of any.
fn counting(b: &mut Builder, x: Value) -> Option<Value> {
    let shape = b.shape(x).to_vec();
    let axis = shape.len() - 1;
    let zero = zero_places(b, x, axis, MOST_EQUATIONS);
    if !zero.contains(&true) {
        return None;
    }
    let runs: Vec<Value> = zero
        .chunk_by(|x, y| x == y)
        .map(|run| b.full(f64::from(u8::from(!run[0])), &Type::new(DType::Bool, &[run.len()])))
        .collect();
    let row = if runs.len() == 1 { runs[0] } else { b.op(Concat { axis: 0 }, &runs) };
    let vector: Vec<usize> = [&shape[..axis - 1], &shape[axis..]].concat();
    Some(b.op(Broadcast::new(&vector, &[axis - 1]), &[row]))
}

/// How many equations a structure is followed through.
const MOST_EQUATIONS: usize = 32;

/// At which places of an axis a value is structurally zero: read off the equations that define it.
fn zero_places(b: &Builder, x: Value, axis: usize, depth: usize) -> Vec<bool> {
    let length = b.shape(x)[axis];
    let unknown = vec![false; length];
    if b.is_zero(x) {
        return vec![true; length];
    }
    let Some(eqn) = b.definition(x).filter(|_| depth > 0) else { return unknown };
    let of = |value: Value, axis: usize| zero_places(b, value, axis, depth - 1);
    let all = |x: Vec<bool>, y: Vec<bool>| x.into_iter().zip(y).map(|(x, y)| x && y).collect::<Vec<bool>>();
    let either = |x: Vec<bool>, y: Vec<bool>| x.into_iter().zip(y).map(|(x, y)| x || y).collect::<Vec<bool>>();
    match &eqn.op {
        Op::Pad(pad) if b.is_zero(eqn.args[1]) && pad.low[axis] >= 0 && pad.high[axis] >= 0 => {
            let inner = of(eqn.args[0], axis);
            let step = pad.interior[axis] + 1;
            let mut zero = vec![true; length];
            inner.iter().enumerate().for_each(|(k, inner)| zero[pad.low[axis] as usize + k * step] = *inner);
            zero
        }
        Op::Concat(concat) if concat.axis == axis => eqn.args.iter().flat_map(|&arg| of(arg, axis)).collect(),
        Op::Update(update) => {
            let (into, inner) = (of(eqn.args[0], axis), of(eqn.args[1], axis));
            let mut zero = into.clone();
            for (k, inner) in inner.into_iter().enumerate() {
                let place = update.start[axis] + k * update.stride[axis];
                zero[place] = into[place] && inner;
            }
            zero
        }
        Op::Binary(Binary::Add | Binary::Sub) => all(of(eqn.args[0], axis), of(eqn.args[1], axis)),
        Op::Select(_) => all(of(eqn.args[1], axis), of(eqn.args[2], axis)),
        Op::Unary(Unary::Neg) | Op::Permute(_) | Op::Broadcast(_) => match along(b, x, axis) {
            Some((value, axis)) => of(value, axis),
            None => unknown,
        },
        Op::Reduce(reduce) if reduce.reducer == Reducer::Sum => match along(b, x, axis) {
            Some((value, axis)) => of(value, axis),
            None => unknown,
        },
        Op::Binary(Binary::Div) => of(eqn.args[0], axis),
        Op::Binary(Binary::Mul) => either(of(eqn.args[0], axis), of(eqn.args[1], axis)),
        Op::Einsum(_) => {
            let types: Vec<&Type> = eqn.args.iter().map(|&arg| b.ty(arg)).collect();
            let from = eqn.op.along(axis, &types).unwrap_or_default();
            let pairs = eqn.args.iter().zip(from).filter_map(|(&arg, axis)| Some((arg, axis?)));
            pairs.fold(unknown, |zero, (arg, axis)| either(zero, of(arg, axis)))
        }
        _ => unknown,
    }
}

/// Where an axis of a value comes from, if it has one operand.
fn along(b: &Builder, x: Value, axis: usize) -> Option<(Value, usize)> {
    let eqn = b.definition(x)?;
    let arg = eqn.args[0];
    Some((arg, eqn.op.along(axis, &[b.ty(arg)])?[0]?))
}

impl Family for Separate {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        let read =
            || Ok(Separate { of: fields.one_of("of", &SpectralKind::WORDS)?, by: fields.one_of("by", &DIVISORS)? });
        (name == "separate").then(read)
    }
    fn samples() -> Vec<Sample> {
        let of = |by| Separate { of: SpectralKind::Singular, by };
        let w = Array::new(&[3], vec![9.0, 5.0, 2.5]);
        let ascending = Array::new(&[3], vec![-3.0f32, 1.0, 6.0]);
        let some = Array::new(&[3], vec![true, false, true]);
        let batch = Array::new(&[2, 2], vec![6.0, 2.0, 9.0, 3.0]);
        let difference = Separate { of: SpectralKind::Symmetric, by: Divisor::Difference };
        vec![
            Sample::new(of(Divisor::Difference), &[numbers(1, &[3, 3]), w.clone()]),
            Sample::new(of(Divisor::Sum), &[numbers(2, &[3, 3]), w.clone(), some.clone()]),
            Sample::new(of(Divisor::Value), &[numbers(3, &[4, 3]), w.clone()]),
            Sample::new(of(Divisor::Difference), &[numbers(4, &[3, 3]), w, some]),
            Sample::new(difference, &[numbers_f32(5, &[3, 3]), ascending]),
            Sample::new(difference, &[numbers(6, &[2, 2, 2]), batch]),
            Sample::new(difference, &[numbers(7, &[1, 1]), Array::new(&[1], vec![2.0])]),
            Sample::new(difference, &[numbers(8, &[0, 0]), numbers(9, &[0])]),
        ]
    }
}

// ---- values -------------------------------------------------------------------------------------

/// `clusters(P, w)`: the diagonal of P, which is the derivative of the values w if no two of them are one; and the transpose of
/// that, the diagonal matrix of a cotangent.
///
/// Where values repeat, the diagonal depends on which vectors were chosen for them. It is the derivative only if P is a
/// multiple of the identity there; a cotangent gives the derivative only if it is the same for all of them. Otherwise, and
/// where a singular value is 0 but for rounding and its derivative counts, it is an error. Linear in the first operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Clusters {
    /// Which values w are.
    pub of: SpectralKind,
    /// Whether a vector becomes a diagonal matrix.
    pub transposed: bool,
}

impl Clusters {
    /// The element of a matrix of derivatives, or of the diagonal one of a vector.
    fn element<T: Copy + Into<f64>>(self, p: &[T], n: usize, i: usize, j: usize) -> f64 {
        match self.transposed {
            true if i == j => p[i].into(),
            true => 0.0,
            false => p[i * n + j].into(),
        }
    }

    /// Checks one matrix or vector of derivatives, and gives the diagonal, or the diagonal matrix row by row.
    pub(crate) fn checked<T: Copy + Into<f64>>(
        self,
        p: &[T],
        w: &[T],
        dtype: DType,
        mut give: impl FnMut(f64),
    ) -> Result<(), String> {
        self.check(w, dtype, p)?;
        let n = w.len();
        for i in 0..n {
            let columns = if self.transposed { 0..n } else { i..i + 1 };
            columns.for_each(|j| give(self.element(p, n, i, j)));
        }
        Ok(())
    }

    /// Checks one matrix or vector of derivatives.
    fn check<T: Copy + Into<f64>>(self, w: &[T], dtype: DType, p: &[T]) -> Result<(), String> {
        let (name, method) = (self.of.value(), self.of.method());
        let (n, least) = (w.len(), least_gap(w, dtype));
        let at = |i: usize, j: usize| self.element(p, n, i, j);
        let largest = p.iter().map(|&x| x.into().abs()).fold(0.0f64, f64::max);
        let agreement = AGREEMENT_UNITS * unit(dtype) * largest;
        let mut start = 0;
        for i in 0..n {
            let value = w[i].into();
            if i > 0 && (value - w[i - 1].into()).abs() > least {
                start = i;
            }
            let apart = |j: &usize| {
                let off = (*j < i) && (at(i, *j).abs() > agreement || at(*j, i).abs() > agreement);
                off || (at(i, i) - at(*j, *j)).abs() > agreement
            };
            if let Some(j) = (start..i).find(apart) {
                return Err(format!(
                    "{}: but for rounding they are one, repeated, and what is made of them is not the same for each, so that it \
                     has no derivative; use `{method}` with `.sum` or `.map`, or the same weight for all of them",
                    told(w, j, i, self.of)
                ));
            }
            // The value is the length of what moves: it has a kink at 0.
            let kink = self.of == SpectralKind::Singular && value <= least;
            if kink && (at(i, i).abs() > agreement || (!self.transposed && largest > 0.0)) {
                return Err(format!(
                    "singular value {i} is {value:e}, 0 but for rounding, where {name}s have a kink and no derivative; use \
                     `{method}`, or leave it out"
                ));
            }
        }
        Ok(())
    }
}

impl Primitive for Clusters {
    fn name(&self) -> Cow<'static, str> {
        "clusters".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        super::super::arity(args, 2)?;
        let [p, w] = [args[0], args[1]];
        check_float(w)?;
        let Some(&n) = w.shape.last() else { misfit!("the values are {w}, and have to be a vector for each matrix") };
        let square = w.with_shape([&w.shape[..], &[n]].concat());
        super::square(&square)?;
        let (taken, given) = if self.transposed { (w.clone(), square) } else { (square, w.clone()) };
        if *p != taken {
            misfit!("the first operand is {p}, and has to be {taken} beside values {w}");
        }
        Ok(vec![given])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let (p, w) = (widened(args[0]), widened(args[1]));
        let [lead @ .., n] = args[1].shape() else { unreachable!("inference asks for a vector") };
        let (n, dtype) = (*n, args[0].dtype());
        let count = lead.iter().product();
        let (size, results) = if self.transposed { (n, n * n) } else { (n * n, n) };
        let mut out = Vec::with_capacity(count * results);
        for k in 0..count {
            self.checked(&p[k * size..(k + 1) * size], &w[k * n..(k + 1) * n], dtype, |x| out.push(x))
                .map_err(|why| Misfit(why + &in_batch(lead, k)))?;
        }
        let shape = if self.transposed { [args[1].shape(), &[n]].concat() } else { args[1].shape().to_vec() };
        Ok(vec![rounded(dtype, &shape, out)])
    }
    fn failure(&self, why: Misfit, _: &[&Type]) -> Error {
        self.of.refusal(why)
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
        vec![vec![0]]
    }
    fn multiplies(&self) -> bool {
        false
    }
    /// The values only decide what is checked.
    fn jvp(&self, b: &mut Builder, args: &[Value], _: &[Value], tangents: &[Option<Value>]) -> Tangents {
        Ok(vec![tangents[0].map(|tangent| b.op(*self, &[tangent, args[1]]))])
    }
    fn transpose(&self, b: &mut Builder, cotangents: &[Option<Value>], args: &[Operand]) -> Cotangents {
        let back = Clusters { transposed: !self.transposed, ..*self };
        Ok(vec![cotangents[0].map(|ct| b.op(back, &[ct, args[1].known()])), None])
    }
    fn transpose_masked(
        &self,
        b: &mut Builder,
        cotangents: &[Option<Cotangent>],
        args: &[Operand],
    ) -> Option<MaskedCotangents> {
        let Cotangent { value, mask } = cotangents[0]?;
        let mask = mask?;
        let n = *b.shape(value).last().expect("a vector for each matrix");
        let mask = if self.transposed {
            let last = b.shape(mask).len() - 1;
            let on = kept(b, mask, Compare::Eq);
            b.any(on, &[last])
        } else {
            let spread = super::as_rows(b, mask, n);
            let on = places(b, spread, Compare::Eq);
            b.op(Logic::And, &[spread, on])
        };
        let pulled = self.transpose(b, &[Some(value)], args).map(|mut pulled| pulled.remove(0));
        Some(pulled.map(|value| vec![value.map(|value| Cotangent { value, mask: Some(mask) }), None]))
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
        Some(guarded(*self, b, args, batched, (length, mask), &[(1, Harmless::Counting)]))
    }
    fn gives_up(&self) -> bool {
        true
    }
    fn attributes(&self) -> Attributes {
        Attributes::default().with("of", self.of.word()).with("transposed", self.transposed)
    }
}

impl Family for Clusters {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        let read =
            || Ok(Clusters { of: fields.one_of("of", &SpectralKind::WORDS)?, transposed: fields.flag("transposed")? });
        (name == "clusters").then(read)
    }
    fn samples() -> Vec<Sample> {
        let mut samples = Vec::new();
        for (of, w) in [
            (SpectralKind::Symmetric, Array::new(&[3], vec![-3.0, 1.0, 6.0])),
            (SpectralKind::Singular, Array::new(&[3], vec![9.0, 5.0, 2.5])),
        ] {
            let [plain, back] = [false, true].map(|transposed| Clusters { of, transposed });
            samples.push(Sample::new(plain, &[numbers(1, &[3, 3]), w.clone()]));
            samples.push(Sample::new(back, &[numbers(2, &[3]), w]));
            let batch = Array::new(&[2, 2], vec![6.0f32, 2.0, 9.0, 3.0]);
            samples.push(Sample::new(plain, &[numbers_f32(3, &[2, 2, 2]), batch.clone()]));
            samples.push(Sample::new(back, &[numbers_f32(4, &[2, 2]), batch]));
            samples.push(Sample::new(plain, &[numbers(5, &[0, 0]), numbers(6, &[0])]));
        }
        samples
    }
}
