//! Factorisations and triangular systems of matrices.
//!
//! A matrix stands in the last two axes of an operand; the axes before are a batch, each matrix of which is a problem of its
//! own. Definitions (`plain`) compute in double precision and round once. Tangents are made of the other operations, so that
//! every mode and order follows from them; where a division could be by nothing, an operation of its own checks (`gaps`).
//! Functions of a spectrum are a family of their own (`spectral*`), whose derivatives do not ask for those of vectors.

mod cholesky;
mod cholesky_tangent;
mod complex;
mod det;
mod eig;
mod eigh;
mod expm;
mod finite;
mod gaps;
mod lu;
mod lu_tangent;
mod minors;
mod qr;
mod riccati;
mod schur;
mod solve;
mod spectral;
mod spectral_bits;
mod spectral_core;
mod spectral_frame;
mod spectral_function;
mod spectral_series;
mod spectral_sum;
mod spectral_units;
mod spectral_values;
mod svd;
mod sylvester;
mod triangular;

use std::borrow::Cow;

pub use cholesky::Cholesky;
pub(crate) use cholesky::not_positive;
pub use cholesky_tangent::CholeskyTangent;
pub use complex::{
    ComplexCholesky, ComplexCommutator, ComplexEig, ComplexEigh, ComplexKind, ComplexLu, ComplexQr, ComplexSchur,
    ComplexSolve, ComplexSvd,
};
pub use det::{Cofactor, Det};
pub use eig::Eig;
pub use eigh::Eigh;
pub use expm::{Expm, ExpmFrechet};
pub use finite::Finite;
pub use gaps::{Clusters, Divisor, Separate};
pub use lu::Lu;
pub use lu_tangent::LuTangent;
pub use plain::MatrixEquation;
pub use qr::Qr;
pub use riccati::Riccati;
pub use schur::{Commutator, Schur};
pub(crate) use solve::KINDS;
pub use solve::{MatrixKind, MatrixSolve};
pub use spectral::SpectralMap;
pub use spectral_bits::SpectralBits;
pub use spectral_frame::{SpectralFrame, SpectralKind, SpectralVectors};
pub use spectral_function::{SpectralFunction, SpectralPart};
pub use spectral_sum::SpectralSum;
pub use spectral_values::{SpectralCombination, SpectralForm, SpectralValues};
pub use svd::Svd;
pub use sylvester::Sylvester;
pub use triangular::{Side, Triangle, TriangularSolve};
pub(crate) use wengert_kernels::plain;

use super::einsum::{rounded, widened};
use super::sample::numbers;
use super::{
    Batched, Broadcast, Cotangent, Cotangents, Cumulative, Einsum, Gather, Iota, MaskedCotangents, Op, Operand,
    OutOfBounds, Reach, Reaches, Running, Site, check_float,
};
use crate::array::{Array, DType, Type};
use crate::error::{Misfit, misfit};
use crate::ops::{Compare, Logic};
use crate::program::{Builder, Value};

/// The most axes before a matrix: each needs a label in a contraction.
const MOST_AXES: usize = 26;

/// The shape of a batch of matrices: the axes before, rows, columns.
pub(super) fn matrix(ty: &Type) -> Result<(&[usize], usize, usize), Misfit> {
    check_float(ty)?;
    match &ty.shape[..] {
        [lead @ .., rows, columns] if lead.len() <= MOST_AXES => Ok((lead, *rows, *columns)),
        [_, _, ..] => misfit!("{ty} has more than {MOST_AXES} axes before its matrices"),
        _ => misfit!("{ty} is no matrix: it needs at least two axes"),
    }
}

/// The shape of a batch of square matrices: the axes before, and the order.
pub(super) fn square(ty: &Type) -> Result<(&[usize], usize), Misfit> {
    match matrix(ty)? {
        (lead, rows, columns) if rows == columns => Ok((lead, rows)),
        (_, rows, columns) => misfit!("the matrix is {rows} by {columns}, and has to be square"),
    }
}

/// The pattern of results that depend on whole matrices: each on the matrix of each operand at its place in the batch.
fn matrix_by_matrix(site: &Site) -> Reaches {
    // What has the highest rank is a batch of matrices.
    let lead =
        site.args.iter().copied().chain(site.outs).map(Type::rank).max().map_or(0, |rank| rank.saturating_sub(2));
    let shared: Vec<Option<usize>> = (0..lead).map(Some).collect();
    let of = |out: &Type| {
        let axes: Vec<Option<usize>> = shared.iter().copied().chain(vec![None; out.rank() - lead]).collect();
        site.args.iter().map(|arg| Reach::Boxes(site.boxes(&arg.shape, &out.shape, &axes))).collect()
    };
    Ok(site.outs.iter().map(of).collect())
}

/// Why they name more elements than there are.
const WITHIN_MATRICES: &str = "parts of factors are zero, or depend on parts of a matrix";

// ---- values -------------------------------------------------------------------------------------

/// The matrices of an operand, one after the other, in double precision.
pub(super) struct Matrices<'a> {
    lead: &'a [usize],
    pub(super) rows: usize,
    pub(super) columns: usize,
    elements: Cow<'a, [f64]>,
}

impl<'a> Matrices<'a> {
    /// Those of an operand that has passed [`matrix`].
    pub(super) fn of(x: &'a Array) -> Self {
        let [lead @ .., rows, columns] = x.shape() else { unreachable!("inference asks for a matrix") };
        Matrices { lead, rows: *rows, columns: *columns, elements: widened(x) }
    }

    pub(super) fn count(&self) -> usize {
        self.lead.iter().product()
    }

    pub(super) fn get(&self, k: usize) -> &[f64] {
        let size = self.rows * self.columns;
        &self.elements[k * size..(k + 1) * size]
    }

    /// A matrix without NaN and infinities.
    pub(super) fn finite(&self, k: usize) -> Result<&[f64], Misfit> {
        self.finite_as("", k)
    }

    /// A matrix without NaN and infinities, one of several operands: errors say which (` of A`).
    pub(super) fn finite_as(&self, of: &str, k: usize) -> Result<&[f64], Misfit> {
        let elements = self.get(k);
        match elements.iter().position(|x| !x.is_finite()) {
            None => Ok(elements),
            Some(place) => {
                let (row, column) = (place / self.columns, place % self.columns);
                misfit!("the element [{row}, {column}]{of} is {}{}", elements[place], self.at(k))
            }
        }
    }

    /// Which matrix it is, for errors; nothing if there is one only.
    pub(super) fn at(&self, k: usize) -> String {
        in_batch(self.lead, k)
    }

    /// The shape of a result: the axes before, then these.
    pub(super) fn shape(&self, own: &[usize]) -> Vec<usize> {
        [self.lead, own].concat()
    }
}

/// The place of a matrix in its batch, for errors.
pub(crate) fn in_batch(lead: &[usize], k: usize) -> String {
    if lead.is_empty() {
        return String::new();
    }
    let mut rest = k;
    let mut index: Vec<String> = Vec::with_capacity(lead.len());
    for length in lead.iter().rev() {
        index.push((rest % length).to_string());
        rest /= length;
    }
    index.reverse();
    format!(" (matrix [{}])", index.join(", "))
}

/// Bytes of operands in double precision that have another one; definitions compute in that.
pub(super) fn widened_bytes(args: &[&Type]) -> usize {
    let narrow = args.iter().filter(|ty| ty.dtype == DType::F32);
    narrow.map(|ty| ty.size() * size_of::<f64>()).sum()
}

/// Bytes of this many square matrices of the order of an operand, as definitions hold them while they run.
pub(super) fn squares_bytes(ty: &Type, count: usize) -> usize {
    let n = ty.shape.last().copied().unwrap_or(0);
    count * n * n * size_of::<f64>()
}

/// Bytes of this many lists of numbers as long as the side of an operand.
pub(super) fn sides_bytes(ty: &Type, count: usize) -> usize {
    count * ty.shape.last().copied().unwrap_or(0) * size_of::<f64>()
}

// ---- equations ----------------------------------------------------------------------------------

/// The number of axes before the matrices, rows, columns.
pub(super) fn dims(b: &Builder, x: Value) -> (usize, usize, usize) {
    let shape = b.shape(x);
    let rank = shape.len();
    (rank - 2, shape[rank - 2], shape[rank - 1])
}

/// The last two axes exchanged.
pub(crate) fn transposed(b: &mut Builder, x: Value) -> Value {
    let rank = b.shape(x).len();
    b.move_axis(x, rank - 1, rank - 2)
}

/// A contraction of batches: the labels of the last axes, the axes before shared.
pub(crate) fn contract(b: &mut Builder, [lhs, rhs, out]: [&str; 3], x: Value, y: Value) -> Value {
    let lead = b.shape(x).len() - lhs.len();
    let batch: Vec<u8> = (b'A'..).take(lead).collect();
    let with = |own: &str| [&batch[..], own.as_bytes()].concat();
    let op = Einsum::from_labels(&with(lhs), &with(rhs), &with(out)).expect("the labels are those of a product");
    b.op(op, &[x, y])
}

/// `x y`
pub(crate) fn product(b: &mut Builder, x: Value, y: Value) -> Value {
    contract(b, ["ij", "jk", "ik"], x, y)
}

/// `x^T y`
pub(crate) fn product_tn(b: &mut Builder, x: Value, y: Value) -> Value {
    contract(b, ["ji", "jk", "ik"], x, y)
}

/// `x y^T`
pub(crate) fn product_nt(b: &mut Builder, x: Value, y: Value) -> Value {
    contract(b, ["ij", "kj", "ik"], x, y)
}

/// A multiple.
pub(crate) fn scaled(b: &mut Builder, factor: f64, x: Value) -> Value {
    let ty = b.ty(x).clone();
    let factor = b.full(factor, &ty);
    b.mul(factor, x)
}

/// `(x + x^T) / 2`
pub(crate) fn symmetric(b: &mut Builder, x: Value) -> Value {
    let other = transposed(b, x);
    let sum = b.add(x, other);
    scaled(b, 0.5, sum)
}

/// Where the number of the row compares with that of the column, in the shape of `x`.
pub(crate) fn places(b: &mut Builder, x: Value, compare: Compare) -> Value {
    let shape = b.shape(x).to_vec();
    let rank = shape.len();
    let [rows, columns] = [rank - 2, rank - 1].map(|axis| {
        let count = b.op(Iota { length: shape[axis] }, &[]);
        b.op(Broadcast::new(&shape, &[axis]), &[count])
    });
    b.op(compare, &[rows, columns])
}

/// The elements where the number of the row compares with that of the column, zero elsewhere: what stands there is not read.
pub(crate) fn kept(b: &mut Builder, x: Value, compare: Compare) -> Value {
    let mask = places(b, x, compare);
    let zero = b.zeros_like(x);
    b.select(mask, x, zero)
}

/// The diagonal of square matrices.
pub(crate) fn diagonal(b: &mut Builder, x: Value) -> Value {
    let last = b.shape(x).len() - 1;
    let kept = kept(b, x, Compare::Eq);
    b.sum(kept, &[last])
}

/// A vector for each matrix as rows (`out[i, j] = x[j]`) of this many.
pub(crate) fn as_rows(b: &mut Builder, x: Value, rows: usize) -> Value {
    let mut shape = b.shape(x).to_vec();
    let at = shape.len() - 1;
    shape.insert(at, rows);
    b.spread(x, &shape, &[at])
}

/// A vector for each matrix as columns (`out[i, j] = x[i]`) of this many.
pub(crate) fn as_columns(b: &mut Builder, x: Value, columns: usize) -> Value {
    let mut shape = b.shape(x).to_vec();
    shape.push(columns);
    let at = shape.len() - 1;
    b.spread(x, &shape, &[at])
}

/// Ones on the diagonal of matrices of this type.
pub(crate) fn identity(b: &mut Builder, ty: &Type) -> Value {
    let one = b.full(1.0, ty);
    kept(b, one, Compare::Eq)
}

/// The rows of matrices in the order of a permutation for each.
pub(crate) fn permuted(b: &mut Builder, x: Value, order: Value) -> Value {
    let lead = dims(b, x).0;
    let indices = [b.shape(order), &[1]].concat();
    let indices = b.reshape(order, &indices);
    b.op(Gather { batch: lead, axes: vec![lead], mode: OutOfBounds::Error }, &[x, indices])
}

// ---- lanes --------------------------------------------------------------------------------------

/// What takes the place of an operand in lanes that do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Harmless {
    /// Ones on the diagonal.
    Identity,
    /// `1, 2, 3, …` along the last axis.
    Counting,
    /// Zeros.
    Zeros,
    /// `1, 2, 3, …` on the diagonal: values that are apart.
    Distinct,
}

impl Harmless {
    fn value(self, b: &mut Builder, ty: &Type) -> Value {
        match self {
            Harmless::Identity => identity(b, ty),
            Harmless::Zeros => b.full(0.0, ty),
            Harmless::Distinct => {
                let counting = Harmless::Counting.value(b, ty);
                kept(b, counting, Compare::Eq)
            }
            Harmless::Counting => {
                let last = ty.rank() - 1;
                let count = b.op(Iota { length: ty.shape[last] }, &[]);
                let count = b.convert(count, ty.dtype);
                let count = b.op(Broadcast::new(&ty.shape, &[last]), &[count]);
                let one = b.full(1.0, ty);
                b.add(count, one)
            }
        }
    }
}

/// The batched form of an operation that can fail on the operands named, where only the lanes of `mask` count.
pub(super) fn guarded(
    op: impl Into<Op>,
    b: &mut Builder,
    args: &[Value],
    batched: &[bool],
    (length, mask): (usize, Value),
    failing: &[(usize, Harmless)],
) -> Batched {
    let op: Op = op.into();
    let mut args = args.to_vec();
    for &(k, harmless) in failing {
        let ty = b.ty(args[k]).clone();
        let counts = if batched[k] {
            b.spread(mask, &ty.shape, &(1..ty.rank()).collect::<Vec<usize>>())
        } else {
            let any = b.any(mask, &[0]);
            b.broadcast_scalar(any, &ty.shape)
        };
        let harmless = harmless.value(b, &ty);
        args[k] = b.select(counts, args[k], harmless);
    }
    if batched.contains(&true) {
        return op.batch(b, &args, batched, length);
    }
    Ok(b.ops(op, &args).into_iter().map(|out| (out, false)).collect())
}

/// The batched form of an operation whose leading axes are a batch.
pub(super) fn with_lane(
    op: impl Into<Op>,
    b: &mut Builder,
    args: &[Value],
    batched: &[bool],
    length: usize,
) -> Batched {
    let op: Op = op.into();
    if !batched.contains(&true) {
        return Ok(b.ops(op, args).into_iter().map(|out| (out, false)).collect());
    }
    let args = b.batch_all(args, batched, length);
    Ok(b.ops(op, &args).into_iter().map(|out| (out, true)).collect())
}

/// Both of two conditions, of which either may be missing.
pub(super) fn both(b: &mut Builder, x: Option<Value>, y: Option<Value>) -> Option<Value> {
    match (x, y) {
        (Some(x), Some(y)) => Some(b.op(Logic::And, &[x, y])),
        (x, y) => x.or(y),
    }
}

/// The masked form of a transpose whose results depend on whole matrices: they count where anything of the matrix does. Of
/// matrices of which nothing does, operands at which the transpose may fail are replaced by harmless ones.
pub(super) fn by_whole_matrices(
    b: &mut Builder,
    cotangent: Cotangent,
    args: &[Operand],
    failing: &[(usize, Harmless)],
    pull: impl FnOnce(&mut Builder, Value, &[Operand]) -> Cotangents,
) -> Option<MaskedCotangents> {
    let Cotangent { value, mask } = cotangent;
    let shape = b.shape(value).to_vec();
    let own = [shape.len() - 2, shape.len() - 1];
    let somewhere = b.any(mask?, &own);
    let mask = b.spread(somewhere, &shape, &own);
    let args = spared(b, args, failing, somewhere);
    let pulled = pull(b, value, &args);
    let masked = |value: Option<Value>| value.map(|value| Cotangent { value, mask: Some(mask) });
    Some(pulled.map(|pulled| pulled.into_iter().map(masked).collect()))
}

/// Where something counts behind a place, in its row or a later one and in its column or a later one; or, without `behind`, before it.
pub(super) fn within_corners(b: &mut Builder, mask: Value, behind: bool) -> Value {
    let (lead, ..) = dims(b, mask);
    [lead, lead + 1].into_iter().fold(mask, |mask, axis| {
        let count = b.convert(mask, DType::I64);
        let count = b.op(Cumulative::new(Running::Max, axis, behind), &[count]);
        let zero = b.zeros_like(count);
        b.op(Compare::Gt, &[count, zero])
    })
}

/// The operands with harmless matrices, of those that an operation can fail on, where nothing counts: `somewhere` says of each
/// matrix whether anything does.
pub(super) fn spared(
    b: &mut Builder,
    args: &[Operand],
    failing: &[(usize, Harmless)],
    somewhere: Value,
) -> Vec<Operand> {
    let mut args = args.to_vec();
    let lead = b.shape(somewhere).len();
    for &(k, harmless) in failing {
        let ty = args[k].ty(b);
        let counts = b.spread(somewhere, &ty.shape, &(lead..ty.rank()).collect::<Vec<usize>>());
        let harmless = harmless.value(b, &ty);
        args[k] = Operand::Known(b.select(counts, args[k].known(), harmless));
    }
    args
}

// ---- samples ------------------------------------------------------------------------------------

/// A matrix, or a batch of them, with these numbers added to the diagonal of one without a pattern in `[-1/2, 1/2]`.
pub(super) fn sample(seed: u64, shape: &[usize], diagonal: &[f64]) -> Array {
    let &[.., _, columns] = shape else { unreachable!("a matrix") };
    let size = shape[shape.len() - 2] * columns;
    let mut elements: Vec<f64> = numbers(seed, shape).known::<f64>().iter().map(|x| x / 4.0).collect();
    for (place, x) in elements.iter_mut().enumerate() {
        let (row, column) = (place % size / columns, place % columns);
        *x += if row == column { diagonal[row % diagonal.len()] } else { 0.0 };
    }
    Array::new(shape, elements)
}

/// The same numbers in single precision.
pub(super) fn single(x: &Array) -> Array {
    Array::new(x.shape(), x.known::<f64>().iter().map(|&x| x as f32).collect::<Vec<f32>>())
}

/// The rounding unit of an element type.
pub(super) fn unit(dtype: DType) -> f64 {
    if dtype == DType::F32 { f64::from(f32::EPSILON) } else { f64::EPSILON }
}
