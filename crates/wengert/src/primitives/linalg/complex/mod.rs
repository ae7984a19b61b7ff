//! Factorisations of complex matrices, which are pairs of real ones.
//!
//! An operation takes real and imaginary parts and gives parts. Its tangent is that of the pair, written with products, sums
//! and systems of pairs: no rule conjugates what a user did not conjugate. Where a factor is fixed up to a phase, the phase is
//! chosen, and the tangent keeps the choice ([`phase_kept`]).

mod cholesky;
mod eig;
mod eigh;
mod lu;
mod qr;
mod schur;
mod solve;
mod svd;

pub use cholesky::ComplexCholesky;
pub use eig::ComplexEig;
pub use eigh::ComplexEigh;
pub use lu::ComplexLu;
pub use qr::ComplexQr;
pub use schur::{ComplexCommutator, ComplexSchur};
pub use solve::{ComplexKind, ComplexSolve};
pub use svd::ComplexSvd;

use super::plain::C64;
use super::{Matrices, as_rows, dims, kept, matrix, scaled, transposed};
use crate::array::{Array, DType, Type};
use crate::error::{Misfit, misfit};
use crate::ops::{Binary, Compare, Logic};
use crate::primitives::einsum::rounded;
use crate::primitives::{
    ArgReduce, Broadcast, Cotangent, Cotangents, Extreme, Iota, MaskedCotangents, Operand, Reduce, Reducer, arity,
};
use crate::program::{Builder, Value};
use crate::transform::mask_out;

/// Complex arrays: real and imaginary parts.
pub(super) type Pair = [Value; 2];

/// What the operations here have in common as [`Primitive`](crate::primitives::Primitive)s: kernels that can fail, of matrices
/// in the last two axes, with real and imaginary parts of a matrix as first operands. Lanes that do not count get the harmless
/// matrix.
macro_rules! of_complex_matrices {
    ($harmless:ident) => {
        fn form(&self, _: &[&crate::array::Type]) -> crate::primitives::Form {
            crate::primitives::Form::Kernel
        }
        fn reach(&self, site: &crate::primitives::Site) -> crate::primitives::Reaches {
            super::super::matrix_by_matrix(site)
        }
        fn reaches_more(&self) -> Option<&'static str> {
            Some(super::super::WITHIN_MATRICES)
        }
        fn batch(
            &self,
            b: &mut Builder,
            args: &[Value],
            batched: &[bool],
            length: usize,
        ) -> crate::primitives::Batched {
            super::super::with_lane(*self, b, args, batched, length)
        }
        fn batch_masked(
            &self,
            b: &mut Builder,
            args: &[Value],
            batched: &[bool],
            length: usize,
            mask: Value,
        ) -> Option<crate::primitives::Batched> {
            use super::super::Harmless;
            let failing = [(0, Harmless::$harmless), (1, Harmless::Zeros)];
            Some(super::super::guarded(*self, b, args, batched, (length, mask), &failing))
        }
        fn gives_up(&self) -> bool {
            true
        }
    };
}
use of_complex_matrices;

// ---- values -------------------------------------------------------------------------------------

/// The shape of a batch of complex matrices, given by their parts: the axes before, rows, columns.
fn parts<'a>(args: &[&'a Type]) -> Result<(&'a [usize], usize, usize), Misfit> {
    arity(args, 2)?;
    let shape = matrix(args[0])?;
    if args[0] != args[1] {
        misfit!("the real part is {} and the imaginary part {}: they have to be alike", args[0], args[1]);
    }
    Ok(shape)
}

/// As [`parts`], of square matrices: the axes before, and the order.
fn square_parts<'a>(args: &[&'a Type]) -> Result<(&'a [usize], usize), Misfit> {
    parts(args)?;
    super::square(args[0])
}

/// Complex matrices, one after the other.
struct ComplexMatrices<'a> {
    parts: [Matrices<'a>; 2],
    dtype: DType,
    rows: usize,
    columns: usize,
}

impl<'a> ComplexMatrices<'a> {
    /// Of operands that have passed [`parts`].
    fn of(re: &'a Array, im: &'a Array) -> Self {
        let parts = [Matrices::of(re), Matrices::of(im)];
        ComplexMatrices { dtype: re.dtype(), rows: parts[0].rows, columns: parts[0].columns, parts }
    }

    fn count(&self) -> usize {
        self.parts[0].count()
    }

    fn get(&self, k: usize) -> Vec<C64> {
        let [re, im] = [0, 1].map(|part| self.parts[part].get(k));
        re.iter().zip(im).map(|(&re, &im)| C64::new(re, im)).collect()
    }

    /// A matrix without NaN and infinities.
    fn finite(&self, k: usize) -> Result<Vec<C64>, Misfit> {
        self.parts[0].finite_as(" of the real part", k)?;
        self.parts[1].finite_as(" of the imaginary part", k)?;
        Ok(self.get(k))
    }

    /// Which matrix it is, for errors.
    fn at(&self, k: usize) -> String {
        self.parts[0].at(k)
    }

    /// The parts of a result that is a batch of arrays of this shape.
    fn given(&self, own: &[usize], numbers: &[C64]) -> [Array; 2] {
        let shape = self.parts[0].shape(own);
        [|x: &C64| x.re, |x: &C64| x.im].map(|part| rounded(self.dtype, &shape, numbers.iter().map(part).collect()))
    }

    /// A real result.
    fn given_real(&self, own: &[usize], numbers: Vec<f64>) -> Array {
        rounded(self.dtype, &self.parts[0].shape(own), numbers)
    }
}

// ---- equations ----------------------------------------------------------------------------------

/// The parts of a matrix's tangent, zeros for one that has none; `None` if neither has one.
fn whole(b: &mut Builder, tangents: &[Option<Value>], args: &[Value]) -> Option<Pair> {
    if tangents[0].is_none() && tangents[1].is_none() {
        return None;
    }
    Some([0, 1].map(|part| tangents[part].unwrap_or_else(|| b.zeros_like(args[part]))))
}

/// A function of each part.
fn each(b: &mut Builder, x: Pair, f: impl Fn(&mut Builder, Value) -> Value) -> Pair {
    x.map(|x| f(b, x))
}

fn add(b: &mut Builder, x: Pair, y: Pair) -> Pair {
    [0, 1].map(|part| b.add(x[part], y[part]))
}

fn sub(b: &mut Builder, x: Pair, y: Pair) -> Pair {
    [0, 1].map(|part| b.sub(x[part], y[part]))
}

/// `x y`, by a product of real arrays.
pub(super) fn times(b: &mut Builder, x: Pair, y: Pair, product: impl Fn(&mut Builder, Value, Value) -> Value) -> Pair {
    let [rr, ii] = [product(b, x[0], y[0]), product(b, x[1], y[1])];
    let [ri, ir] = [product(b, x[0], y[1]), product(b, x[1], y[0])];
    [b.sub(rr, ii), b.add(ri, ir)]
}

/// The matrix product `x y`.
fn product(b: &mut Builder, x: Pair, y: Pair) -> Pair {
    times(b, x, y, super::product)
}

/// The matrix product `x^H y`.
fn product_hn(b: &mut Builder, x: Pair, y: Pair) -> Pair {
    let [rr, ii] = [0, 1].map(|part| super::product_tn(b, x[part], y[part]));
    let [ri, ir] = [super::product_tn(b, x[0], y[1]), super::product_tn(b, x[1], y[0])];
    [b.add(rr, ii), b.sub(ri, ir)]
}

/// `x^H`
fn adjoint(b: &mut Builder, x: Pair) -> Pair {
    let [re, im] = x.map(|x| transposed(b, x));
    [re, b.neg(im)]
}

/// `(x + x^H) / 2`
fn hermitian(b: &mut Builder, x: Pair) -> Pair {
    let other = adjoint(b, x);
    let sum = add(b, x, other);
    each(b, sum, |b, x| scaled(b, 0.5, x))
}

/// The squares of the moduli.
pub(super) fn squares(b: &mut Builder, x: Pair) -> Value {
    let [re, im] = x.map(|x| b.mul(x, x));
    b.add(re, im)
}

/// `op(A)^-1 X`
fn solved(b: &mut Builder, op: ComplexSolve, a: Pair, x: Pair) -> Pair {
    let parts = b.ops(op, &[a, x].concat());
    [parts[0], parts[1]]
}

/// `X A^-1`, which is `(A^-H X^H)^H`.
fn solved_from_right(b: &mut Builder, kind: ComplexKind, a: Pair, x: Pair) -> Pair {
    let turned = adjoint(b, x);
    let y = solved(b, ComplexSolve { kind, adjoint: true }, a, turned);
    adjoint(b, y)
}

/// The cotangents of the right-hand side of a system with a matrix, its first operands, by the system that is solved backward.
fn pulled(
    b: &mut Builder,
    cotangents: &[Option<Value>],
    args: &[Operand],
    solve: impl FnOnce(&mut Builder, Pair, Pair) -> Pair,
) -> Cotangents {
    let Some(some) = cotangents.iter().copied().flatten().next() else { return Ok(vec![None; 4]) };
    let present = [0, 1].map(|part| cotangents[part].unwrap_or_else(|| b.zeros_like(some)));
    let pulled = solve(b, [args[0].known(), args[1].known()], present);
    let pulled = [2, 3].map(|part: usize| args[part].is_linear().then_some(pulled[part - 2]));
    Ok([None, None].into_iter().chain(pulled).collect())
}

/// The masked form of a transpose whose results depend on both parts along these axes: they count where anything there does, which
/// `pull` is told, without the axes.
fn masked_along(
    b: &mut Builder,
    cotangents: &[Option<Cotangent>],
    axes: &[usize],
    pull: impl FnOnce(&mut Builder, &[Option<Value>], Value) -> Cotangents,
) -> Option<MaskedCotangents> {
    let present: Vec<Cotangent> = cotangents.iter().copied().flatten().collect();
    let shape = b.shape(present.first()?.value).to_vec();
    let mut somewhere = None;
    for cotangent in &present {
        let own = b.any(cotangent.mask?, axes);
        somewhere = Some(somewhere.map_or(own, |before| b.op(Logic::Or, &[before, own])));
    }
    let mask = b.spread(somewhere?, &shape, axes);
    let values: Vec<Option<Value>> = cotangents.iter().map(|ct| ct.map(|ct| ct.value)).collect();
    let pulled = pull(b, &values, somewhere?);
    // A column of zeros may have met NaN in its matrix.
    let mut masked = |value: Value| Cotangent { value: mask_out(b, mask, value), mask: Some(mask) };
    Some(pulled.map(|pulled| pulled.into_iter().map(|value| value.map(&mut masked)).collect()))
}

/// The first component of each column that is not negligible.
pub(super) fn first(b: &mut Builder, v: Pair) -> Value {
    let sizes = squares(b, v);
    let shape = b.shape(sizes).to_vec();
    let rows = shape.len() - 2;
    let largest = b.op(Reduce::new(Reducer::Max, &[rows]), &[sizes]);
    let bound = scaled(b, f64::powi(0.5, 80), largest);
    let bound = as_rows(b, bound, shape[rows]);
    let counts = b.op(Compare::Gt, &[sizes, bound]);
    let counts = b.convert(counts, DType::I64);
    let place = b.op(ArgReduce { extreme: Extreme::Max, axis: rows }, &[counts]);
    let place = as_rows(b, place, shape[rows]);
    let count = b.op(Iota { length: shape[rows] }, &[]);
    let count = b.op(Broadcast::new(&shape, &[rows]), &[count]);
    b.op(Compare::Eq, &[count, place])
}

/// The tangent z of columns v, less the multiple `i t v` of each with which the component that fixes its phase stays real; and t,
/// a number for each column.
fn phase_kept(b: &mut Builder, v: Pair, z: Pair) -> (Pair, Value) {
    let rows = dims(b, z[0]).0;
    // Numbers instead of a choice, so that columns of zeros are still seen to be zero in a cotangent.
    let first = first(b, v);
    let dtype = b.ty(z[1]).dtype;
    let [on, off] = [first, b.op(Logic::Not, &[first])].map(|places| b.convert(places, dtype));
    let [turn, length] = [z[1], v[0]].map(|x| {
        let only = b.mul(on, x);
        b.sum(only, &[rows])
    });
    let turn = b.op(Binary::Div, &[turn, length]);
    let [re, im] = less_phase(b, v, z, turn);
    ([re, b.mul(off, im)], turn)
}

/// `z - i t v`, with a number t for each column.
fn less_phase(b: &mut Builder, v: Pair, z: Pair, t: Value) -> Pair {
    let rows = dims(b, v[0]).1;
    let t = as_rows(b, t, rows);
    let [re, im] = v.map(|v| b.mul(t, v));
    [b.add(z[0], im), b.sub(z[1], re)]
}

/// `x - i diag(t)`
fn less_diagonal(b: &mut Builder, x: Pair, t: Value) -> Pair {
    let n = dims(b, x[0]).1;
    let t = as_rows(b, t, n);
    let t = kept(b, t, Compare::Eq);
    [x[0], b.sub(x[1], t)]
}

// ---- samples ------------------------------------------------------------------------------------

/// The parts of a complex matrix: a sample, and beside it one without a diagonal of its own.
fn sample_parts(seed: u64, shape: &[usize], diagonal: &[f64]) -> [Array; 2] {
    [super::sample(seed, shape, diagonal), super::sample(seed + 100, shape, &[0.0])]
}

/// The parts of matrices written out, real numbers first.
fn given_parts(shape: &[usize], parts: [&[f64]; 2]) -> [Array; 2] {
    parts.map(|numbers| Array::new(shape, numbers.to_vec()))
}

/// The parts with this complex number added beside the diagonal, which keeps components away from 0.
fn beside_parts(seed: u64, shape: &[usize], diagonal: &[f64], beside: C64) -> [Array; 2] {
    let (m, n) = (shape[shape.len() - 2], shape[shape.len() - 1]);
    let mut more = [beside.re, beside.im].into_iter();
    sample_parts(seed, shape, diagonal).map(|part| {
        let more = more.next().expect("two parts");
        let numbers = part.known::<f64>().iter().enumerate();
        let numbers = numbers.map(|(place, x)| x + if place / n % m == place % n { 0.0 } else { more });
        Array::new(shape, numbers.collect::<Vec<f64>>())
    })
}

/// The same numbers in single precision.
fn single_parts(parts: &[Array; 2]) -> [Array; 2] {
    [0, 1].map(|part| super::single(&parts[part]))
}
