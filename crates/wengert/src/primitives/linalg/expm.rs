//! The exponential of matrices.

use std::borrow::Cow;

use super::{
    Finite, Harmless, Matrices, dims, guarded, identity, plain, product, sample, scaled, single, square, transposed,
    with_lane,
};
use crate::array::{Array, DType, Type};
use crate::error::{Line, Misfit, misfit};
use crate::ops::{Binary, Compare, Unary};
use crate::primitives::einsum::rounded;
#[cfg(feature = "text")]
use crate::primitives::parse::Fields;
use crate::primitives::{
    Batched, Bounds, Concat, Cond, Cotangent, Cotangents, Family, Form, MaskedCotangents, MatrixKind, MatrixSolve,
    Operand, OperandSet, Primitive, Reaches, Reduce, Reducer, Sample, Site, Source, Split, Tangents, While, arity,
};
use crate::program::{Builder, Program, Value};
use crate::transform::jvp;

/// `expm(A)`, the sum of `A^k / k!`.
///
/// Its derivative is [`ExpmFrechet`]. What runs is made of products, a system, and squarings
/// ([`Program::written_out`]); it keeps for the derivative what that needs too, if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Expm;

/// `expm_frechet(A, E)`: the derivative of the exponential at A along E. Linear in E; the transpose is the same at `A^T`, which
/// is `expm_frechet(A, E^T)^T`: so forward and backward it is at A, and shares the powers and factors of the exponential.
///
/// What runs is the tangent of what runs for the exponential, by its recurrence. Its own derivative is read off a matrix of
/// twice the order: `expm_frechet(A, E)` stands in the upper right of the exponential of `[[A, E], [0, A]]` (R. Mathias, 1996).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ExpmFrechet;

impl Primitive for Expm {
    fn name(&self) -> Cow<'static, str> {
        "expm".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 1)?;
        square(args[0])?;
        Ok(vec![args[0].clone()])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let a = Matrices::of(args[0]);
        let mut out = Vec::with_capacity(args[0].size());
        for k in 0..a.count() {
            out.extend(plain::expm(a.finite(k)?, a.rows));
        }
        Ok(vec![rounded(args[0].dtype(), args[0].shape(), out)])
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Kernel
    }
    fn reach(&self, site: &Site) -> Reaches {
        super::matrix_by_matrix(site)
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        Vec::new()
    }
    fn jvp(&self, b: &mut Builder, args: &[Value], _: &[Value], tangents: &[Option<Value>]) -> Tangents {
        Ok(vec![tangents[0].map(|a_dot| b.op(ExpmFrechet, &[args[0], a_dot]))])
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
}

impl Expm {
    /// What runs, for matrices of this type.
    pub(crate) fn program(ty: &Type, line: Option<Line>) -> Program {
        let mut b = Builder::new();
        b.line = line;
        let a = b.input("", ty.clone());
        let a = b.op(Finite::new("expm"), &[a]);
        let x = exponential(&mut b, a, None);
        b.finish(&[x])
    }
}

impl Family for Expm {
    #[cfg(feature = "text")]
    fn parse(name: &str, _: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "expm").then_some(Ok(Expm))
    }
    fn samples() -> Vec<Sample> {
        let square = sample(1, &[3, 3], &[0.5, -0.7, 1.1]);
        vec![
            Sample::new(Expm, std::slice::from_ref(&square)),
            Sample::new(Expm, &[single(&square)]),
            Sample::new(Expm, &[sample(2, &[1, 1], &[-0.5])]),
            Sample::new(Expm, &[sample(3, &[2, 2, 2], &[1.0])]),
            Sample::new(Expm, &[sample(4, &[0, 0], &[1.0])]),
        ]
    }
}

impl Primitive for ExpmFrechet {
    fn name(&self) -> Cow<'static, str> {
        "expm_frechet".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 2)?;
        square(args[0])?;
        if args[0] != args[1] {
            misfit!("the direction is {}, and has to be {} as the matrix is", args[1], args[0]);
        }
        Ok(vec![args[0].clone()])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let (a, e) = (Matrices::of(args[0]), Matrices::of(args[1]));
        let mut out = Vec::with_capacity(args[0].size());
        for k in 0..a.count() {
            out.extend(plain::expm_frechet(a.finite(k)?, e.finite(k)?, a.rows));
        }
        Ok(vec![rounded(args[0].dtype(), args[0].shape(), out)])
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Kernel
    }
    fn reach(&self, site: &Site) -> Reaches {
        super::matrix_by_matrix(site)
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        vec![vec![1]]
    }
    fn jvp(&self, b: &mut Builder, args: &[Value], _: &[Value], tangents: &[Option<Value>]) -> Tangents {
        let along_a = tangents[0].map(|a_dot| {
            let [a, e] = [args[0], args[1]];
            let (lead, n, _) = dims(b, a);
            let zero = b.zeros_like(a);
            let mut block = |x: Value, corner: Value| {
                let upper = b.op(Concat { axis: lead + 1 }, &[x, corner]);
                let lower = b.op(Concat { axis: lead + 1 }, &[zero, x]);
                b.op(Concat { axis: lead }, &[upper, lower])
            };
            let (twice, moved) = (block(a, e), block(a_dot, zero));
            let both = b.op(ExpmFrechet, &[twice, moved]);
            let upper = super::lu::part(b, both, 0, (0, n));
            super::lu::part(b, upper, 1, (n, 2 * n))
        });
        let along_e = tangents[1].map(|e_dot| b.op(ExpmFrechet, &[args[0], e_dot]));
        Ok(vec![b.add_present(along_a, along_e)])
    }
    fn transpose(&self, b: &mut Builder, cotangents: &[Option<Value>], args: &[Operand]) -> Cotangents {
        let pulled = cotangents[0].map(|ct| {
            let turned = transposed(b, ct);
            let along = b.op(ExpmFrechet, &[args[0].known(), turned]);
            transposed(b, along)
        });
        Ok(vec![None, pulled])
    }
    /// Every element depends on the whole direction.
    fn transpose_masked(
        &self,
        b: &mut Builder,
        cotangents: &[Option<Cotangent>],
        args: &[Operand],
    ) -> Option<MaskedCotangents> {
        // Where the derivative fails, the value has failed.
        super::by_whole_matrices(b, cotangents[0]?, args, &[], |b, value, args| self.transpose(b, &[Some(value)], args))
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
        let failing = [(0, Harmless::Identity), (1, Harmless::Zeros)];
        Some(guarded(*self, b, args, batched, (length, mask), &failing))
    }
    fn gives_up(&self) -> bool {
        true
    }
}

impl ExpmFrechet {
    /// What runs, for matrices of this type: the tangent of what runs for the exponential.
    pub(crate) fn program(ty: &Type, line: Option<Line>) -> Program {
        let mut b = Builder::new();
        b.line = line;
        let (a, e) = (b.input("", ty.clone()), b.input("", ty.clone()));
        let a = b.op(Finite::new("expm"), &[a]);
        let dot = exponential(&mut b, a, Some(e));
        b.finish(&[dot])
    }
}

impl Family for ExpmFrechet {
    #[cfg(feature = "text")]
    fn parse(name: &str, _: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "expm_frechet").then_some(Ok(ExpmFrechet))
    }
    fn samples() -> Vec<Sample> {
        let pair =
            |seed: u64, shape: &[usize]| [sample(seed, shape, &[0.5, -0.7]), sample(seed + 9, shape, &[1.0, 0.5])];
        vec![
            Sample::new(ExpmFrechet, &pair(1, &[2, 2])),
            Sample::new(ExpmFrechet, &pair(2, &[2, 2]).map(|x| single(&x))),
            Sample::new(ExpmFrechet, &pair(3, &[1, 1])),
            Sample::new(ExpmFrechet, &pair(4, &[2, 2, 2])),
            Sample::new(ExpmFrechet, &pair(5, &[0, 0])),
        ]
    }
}

// ---- in terms of products -----------------------------------------------------------------------

/// Degrees, and up to which 1-norm value and derivative of each are right to the last digits of double precision (Al-Mohy and
/// Higham 2009, table 6.1).
const DEGREES: [(usize, f64); 5] = [(3, 1.08e-2), (5, 2.00e-1), (7, 7.83e-1), (9, 1.78), (13, 4.74)];

/// More squarings than any norm needs.
const MOST_SQUARINGS: usize = 1100;

/// The exponential of A, or its derivative along a direction.
fn exponential(b: &mut Builder, a: Value, direction: Option<Value>) -> Value {
    let ty = b.ty(a).clone();
    if ty.size() == 0 {
        return direction.unwrap_or(a);
    }
    let norms = norms(b, a);
    let squarings = squarings(b, norms);
    let lead = ty.rank() - 2;
    let norm = largest(b, norms);
    // Degrees below the highest have no squarings, and a factor of 1. A matrix that is squared too often loses digits, one whose
    // degree is higher than it needs does not.
    let minus = b.neg(squarings);
    let factor = b.op(Unary::Exp2, &[minus]);
    let factor = b.convert(factor, ty.dtype);
    let mut scaled = |x: Value| {
        let factor = b.spread(factor, &ty.shape, &[lead, lead + 1]);
        b.mul(x, factor)
    };
    let (a, direction) = (scaled(a), direction.map(scaled));
    let args = [degree(b, norm), a];
    let line = b.line;
    let branches = DEGREES.map(|(degree, _)| approximant(&ty, degree, line));
    // The equation of the value is the same one with a direction and without: it is there once, with the residuals.
    let Split { known, unknown, unknown_args, .. } =
        Cond::by_index(branches).split(&[false, false, true]).expect("the value does not need the direction");
    let kept = b.ops(known, &args);
    let Some(direction) = direction else {
        return squared(b, &[kept[0]], squarings);
    };
    let operand = |source: &Source| match *source {
        Source::Operand(k) => args.get(k).copied().unwrap_or(direction),
        Source::Residual(k) => kept[k + 1],
    };
    let dot = b.ops(unknown, &unknown_args.iter().map(operand).collect::<Vec<Value>>())[0];
    squared(b, &[kept[0], dot], squarings)
}

/// The number of the degree that this norm takes.
fn degree(b: &mut Builder, norm: Value) -> Value {
    let number = b.ty(norm).clone();
    let mut index = b.full(0.0, &number.with_dtype(DType::I64));
    for (_, bound) in &DEGREES[..4] {
        let bound = b.full(*bound, &number);
        let above = b.op(Compare::Gt, &[norm, bound]);
        let above = b.convert(above, DType::I64);
        index = b.add(index, above);
    }
    index
}

/// How often the approximant of a matrix of this norm is squared.
fn squarings(b: &mut Builder, norm: Value) -> Value {
    let number = b.ty(norm).clone();
    let bound = b.full(DEGREES[4].1, &number);
    let quotient = b.div(norm, bound);
    let log = b.op(Unary::Log2, &[quotient]);
    let ceiling = b.op(Unary::Ceil, &[log]);
    let zero = b.zeros_like(ceiling);
    let most = b.full(MOST_SQUARINGS as f64, &number);
    let above = b.op(Compare::Gt, &[ceiling, zero]);
    let squarings = b.select(above, ceiling, zero);
    b.op(Binary::Min, &[squarings, most])
}

/// The 1-norm of each matrix, in double precision, which carries no derivative.
fn norms(b: &mut Builder, a: Value) -> Value {
    let sizes = b.op(Unary::Abs, &[a]);
    let sizes = b.op(Unary::Detach, &[sizes]);
    let sizes = b.convert(sizes, DType::F64);
    let rank = b.shape(sizes).len();
    let columns = b.sum(sizes, &[rank - 2]);
    b.op(Reduce::new(Reducer::Max, &[rank - 2]), &[columns])
}

/// The largest of all numbers.
fn largest(b: &mut Builder, x: Value) -> Value {
    let axes: Vec<usize> = (0..b.shape(x).len()).collect();
    if axes.is_empty() { x } else { b.op(Reduce::new(Reducer::Max, &axes), &[x]) }
}

/// The coefficients of the numerator of the diagonal Padé approximant of the exponential: the denominator has the same with
/// alternating signs.
fn coefficients(degree: usize) -> Vec<f64> {
    let mut coefficients = vec![1.0; degree + 1];
    for k in 0..degree {
        // c_(k+1) / c_k = (degree - k) / ((2 degree - k) (k + 1))
        coefficients[k + 1] = coefficients[k] * (degree - k) as f64 / ((2 * degree - k) * (k + 1)) as f64;
    }
    coefficients
}

/// The Program of the approximant at A, and of its tangent along E.
fn approximant(ty: &Type, degree: usize, line: Option<Line>) -> Program {
    let fraction = fraction(ty, degree, line);
    let mut b = Builder::new();
    b.line = line;
    let (a, e) = (b.input("", ty.clone()), b.input("", ty.clone()));
    let (parts, dots) = jvp::jvp(&mut b, &fraction, &[a], &[Some(e)]).expect("products have tangents");
    let solved = MatrixSolve::new(MatrixKind::General).factored(&mut b, parts[1]);
    let x = solved(&mut b, parts[0]);
    // D X = N, so that D X' = N' - D' X.
    let [dot, denominator_dot] = [dots[0], dots[1]].map(|dot| dot.expect("both parts depend on A"));
    let moved = product(&mut b, denominator_dot, x);
    let right = b.sub(dot, moved);
    let dot = solved(&mut b, right);
    b.finish(&[x, dot])
}

/// The Program of numerator and denominator of an approximant.
fn fraction(ty: &Type, degree: usize, line: Option<Line>) -> Program {
    let mut b = Builder::new();
    b.line = line;
    let a = b.input("", ty.clone());
    let c = coefficients(degree);
    let square = product(&mut b, a, a);
    let (odd, even) = if degree == 13 { halves_of_13(&mut b, square, &c) } else { halves(&mut b, ty, square, &c) };
    let odd = product(&mut b, a, odd);
    let (numerator, denominator) = (b.add(even, odd), b.sub(even, odd));
    b.finish(&[numerator, denominator])
}

/// `sum_k c[k] x_k` with the powers of a square, from the constant on.
fn combined(b: &mut Builder, powers: &[Value], c: impl Iterator<Item = f64>) -> Value {
    let terms: Vec<Value> = powers.iter().zip(c).map(|(&power, c)| scaled(b, c, power)).collect();
    terms[1..].iter().fold(terms[0], |sum, &term| b.add(sum, term))
}

/// The odd half, over A, and the even half of a numerator.
fn halves(b: &mut Builder, ty: &Type, square: Value, c: &[f64]) -> (Value, Value) {
    let mut powers = vec![identity(b, ty), square];
    while powers.len() < c.len() / 2 {
        let last = powers[powers.len() - 1];
        powers.push(product(b, last, square));
    }
    let odd = combined(b, &powers, c.iter().skip(1).step_by(2).copied());
    (odd, combined(b, &powers, c.iter().step_by(2).copied()))
}

/// The same of degree 13, with three powers and two products more (N. J. Higham, *The scaling and squaring method for the
/// matrix exponential revisited*, 2005).
fn halves_of_13(b: &mut Builder, square: Value, c: &[f64]) -> (Value, Value) {
    let ty = b.ty(square).clone();
    let fourth = product(b, square, square);
    let sixth = product(b, fourth, square);
    let powers = [identity(b, &ty), square, fourth, sixth];
    let mut half = |first: usize| {
        let low = combined(b, &powers, (0..4).map(|k| c[first + 2 * k]));
        let high = combined(b, &powers[1..], (4..7).map(|k| c[first + 2 * k]));
        let high = product(b, sixth, high);
        b.add(low, high)
    };
    let even = half(0);
    (half(1), even)
}

/// The last of a matrix and its tangent, or of a matrix alone, after each matrix was squared as often as its count says.
fn squared(b: &mut Builder, x: &[Value], counts: Value) -> Value {
    let (ty, number) = (b.ty(x[0]).clone(), b.ty(counts).clone());
    let lead = number.rank();
    let most = largest(b, counts);
    let single = b.ty(most).clone();
    let step = |b: &mut Builder| {
        let [most, counts] = [&single, &number].map(|ty| b.input("", ty.clone()));
        let done = b.input("", single.clone());
        (most, counts, done, x.iter().map(|_| b.input("", ty.clone())).collect::<Vec<Value>>())
    };
    let mut condition = Builder::new();
    condition.line = b.line;
    let (wanted, _, done, _) = step(&mut condition);
    let more = condition.op(Compare::Lt, &[done, wanted]);
    let condition = condition.finish(&[more]);
    let mut body = Builder::new();
    body.line = b.line;
    let (_, own, done, now) = step(&mut body);
    let one = body.full(1.0, &single);
    // Of one matrix, every step counts.
    let counting = (lead > 0).then(|| {
        let done = body.broadcast_scalar(done, &number.shape);
        let more = body.op(Compare::Lt, &[done, own]);
        body.spread(more, &ty.shape, &[lead, lead + 1])
    });
    let where_counting = |body: &mut Builder, yes: Value, no: Value| match counting {
        Some(counting) => body.select(counting, yes, no),
        None => yes,
    };
    // Zeros in the place of what stays, whose square may leave the range.
    let factors: Vec<Value> = now
        .iter()
        .map(|&x| {
            let zeros = body.zeros_like(x);
            where_counting(&mut body, x, zeros)
        })
        .collect();
    let mut next = vec![product(&mut body, factors[0], factors[0])];
    if let [x, dot] = factors[..] {
        let (right, left) = (product(&mut body, x, dot), product(&mut body, dot, x));
        next.push(body.add(right, left));
    }
    let mut results = vec![body.add(done, one)];
    for (next, &now) in next.into_iter().zip(&now) {
        results.push(where_counting(&mut body, next, now));
    }
    let body = body.finish(&results);
    let zero = b.zeros_like(most);
    let results = b.ops(While::new(condition, body, Bounds::default()), &[&[most, counts, zero], x].concat());
    results[x.len()]
}

#[cfg(test)]
mod tests;
