//! The operations that move, order, draw or join elements, on whole arrays.
//!
//! A kernel is an operation with everything prepared that its types decide: merged axes, strides, the cut into parts.
//! It agrees with the operation's definition to the bit, except for sums of real numbers, which are trees.

mod conv;
mod copy;
mod defined;
mod ensure;
mod extreme;
#[cfg(feature = "linalg")]
mod factor;
mod fill;
mod finite;
mod foreign;
#[cfg(feature = "fft")]
mod fourier;
mod gaps;
mod gather;
mod join;
mod nest;
mod reduce;
mod roll;
mod running;
mod scatter;
mod sort;
mod sparse;
#[cfg(feature = "linalg")]
mod sparse_solve;
#[cfg(test)]
mod tests;

pub(super) use conv::{Planes, conv};
#[cfg(feature = "linalg")]
pub(crate) use sparse_solve::sparse_counts;
use wengert_kernels::arena::Plain;
use wengert_kernels::region::{Slice, SliceMut};

use super::allocated::Allocated;
use super::cost::GRAIN;
use super::kernel::{Kernel, KernelCall};
use super::view::View;
use crate::array::{DType, Type, row_major};
use crate::ops::Binary;
use crate::primitives::{self, Concat, Literal, Op, Scatter, ScatterReduce};

/// The kernel of an operation for operands and results of these types, which have passed inference. Where its work begins
/// is said when it runs ([`start`]).
pub(crate) fn kernel(op: &Op, args: &[&Type], outs: &[Type]) -> Box<dyn Kernel> {
    match op {
        Op::Iota(_) => Box::new(fill::IotaKernel),
        Op::RandomBits(op) => Box::new(fill::RandomBitsKernel::new(op, &outs[0])),
        Op::Binary(Binary::Rem) => Box::new(fill::RemainderKernel::new(args[0])),
        Op::Broadcast(op) => Box::new(copy::CopyKernel::broadcast(op, args[0])),
        Op::Reshape(_) => Box::new(copy::CopyKernel::whole(args[0])),
        Op::Permute(op) => Box::new(copy::CopyKernel::permute(op, args[0])),
        Op::Reverse(op) => Box::new(copy::CopyKernel::reverse(op, args[0])),
        Op::Roll(op) => Box::new(roll::RollKernel::new(op, args[0])),
        Op::Slice(op) => Box::new(copy::CopyKernel::slice(op, args[0], &outs[0])),
        Op::DynamicSlice(op) => Box::new(copy::DynamicSliceKernel::new(op, args[0])),
        Op::DynamicUpdate(_) => Box::new(copy::DynamicUpdateKernel::new(args[0], args[1])),
        Op::Update(op) => Box::new(copy::UpdateKernel::new(op, args[0], args[1])),
        Op::Pad(op) => Box::new(join::PadKernel::new(op, args[0], &outs[0])),
        Op::Concat(op) => Box::new(join::ConcatKernel::new(*op, args, &outs[0])),
        Op::Reduce(op) => Box::new(reduce::ReduceKernel::new(op, args[0])),
        Op::ArgReduce(op) => Box::new(extreme::ArgReduceKernel::new(*op, args[0])),
        Op::Cumulative(op) => Box::new(running::CumulativeKernel::new(*op, args[0])),
        Op::Recurrence(op) => Box::new(running::RecurrenceKernel::new(*op, args[0])),
        Op::Gather(op) => Box::new(gather::GatherKernel::new(op, args[0], args[1])),
        Op::Scatter(op) => scatter(op, args, None),
        Op::ScatterReduce(op) => scatter_reduce(op, args, None),
        Op::ArgSort(op) => Box::new(sort::ArgSortKernel::new(*op, args[0])),
        Op::Ensure(op) => Box::new(ensure::EnsureKernel::new(op, args[0], args[1])),
        Op::Separate(_) | Op::Clusters(_) => Box::new(gaps::GapsKernel::new(op, args, &outs[0])),
        Op::Finite(_) => Box::new(finite::FiniteKernel::new(args[0])),
        Op::Foreign(op) => Box::new(foreign::ForeignKernel::new(op, args, outs)),
        Op::Fft(op) => fourier(op, args),
        Op::SparseProduct(op) => Box::new(sparse::ProductKernel::new(op, args)),
        Op::SparseOuter(op) => Box::new(sparse::OuterKernel::new(op, args)),
        Op::SparseUnit(op) => Box::new(sparse::UnitKernel::new(op)),
        Op::SparseSolve(op) => sparse_solve(op, args),
        Op::TriangularSolve(_)
        | Op::MatrixSolve(_)
        | Op::Cholesky(_)
        | Op::CholeskyTangent(_)
        | Op::Lu(_)
        | Op::LuTangent(_)
        | Op::Qr(_)
        | Op::Eig(_)
        | Op::Schur(_)
        | Op::Commutator(_)
        | Op::Eigh(_)
        | Op::Svd(_)
        | Op::ComplexSolve(_)
        | Op::ComplexCholesky(_)
        | Op::ComplexLu(_)
        | Op::ComplexQr(_)
        | Op::ComplexEigh(_)
        | Op::ComplexEig(_)
        | Op::ComplexSchur(_)
        | Op::ComplexCommutator(_)
        | Op::ComplexSvd(_)
        | Op::Det(_)
        | Op::Cofactor(_)
        | Op::Expm(_)
        | Op::ExpmFrechet(_)
        | Op::Sylvester(_)
        | Op::Riccati(_)
        | Op::SpectralFrame(_)
        | Op::SpectralBits(_)
        | Op::SpectralVectors(_)
        | Op::SpectralMap(_)
        | Op::SpectralSum(_)
        | Op::SpectralValues(_)
        | Op::SpectralCombination(_)
        | Op::SpectralForm(_) => factor(op, args, outs),
        Op::WindowArg(op) => conv::window_arg(op, args, &outs[0]),
        Op::Literal(_)
        | Op::Unary(_)
        | Op::Binary(_)
        | Op::Compare(_)
        | Op::Logic(_)
        | Op::Select(_)
        | Op::Convert(_) => unreachable!("what works element by element is part of a region: {op:?}"),
        Op::Einsum(_) | Op::Conv(_) => unreachable!("what reads views is planned by itself: {op:?}"),
        Op::Call(_)
        | Op::Recompute(_)
        | Op::Cond(_)
        | Op::Scan(_)
        | Op::While(_)
        | Op::Unwind(_)
        | Op::Custom(_)
        | Op::Solve(_)
        | Op::Implicit(_) => {
            unreachable!("what holds Programs is planned by itself: {op:?}")
        }
    }
}

/// The kernel of a factorisation: the library's with the feature `linalg`, where it has one, else the definition.
fn factor(op: &Op, args: &[&Type], outs: &[Type]) -> Box<dyn Kernel> {
    #[cfg(feature = "linalg")]
    if let Some(kernel) = factor::FactorKernel::new(op, args, outs) {
        return Box::new(kernel);
    }
    // The order of a factorisation: elements times the length of a row.
    let touched: usize = outs.iter().map(Type::size).sum();
    let operations = args.iter().map(|ty| ty.size() * ty.shape.last().copied().unwrap_or(1)).sum::<usize>() + touched;
    Box::new(defined::DefinedKernel::new(op.clone(), args, operations))
}

/// The kernel of systems with sparse matrices: the library's with the feature `linalg`, else the definition.
fn sparse_solve(op: &primitives::SparseSolve, args: &[&Type]) -> Box<dyn Kernel> {
    #[cfg(feature = "linalg")]
    return Box::new(sparse_solve::SparseSolveKernel::new(op, args));
    #[cfg(not(feature = "linalg"))]
    {
        // A band as wide as the root of the order.
        let operations = args[0].size().saturating_mul(op.pattern.rows());
        Box::new(defined::DefinedKernel::new(op.clone(), args, operations))
    }
}

/// The kernel of a Fourier transform: fast ones with the feature `fft`, else the definition.
fn fourier(op: &primitives::Fft, args: &[&Type]) -> Box<dyn Kernel> {
    #[cfg(feature = "fft")]
    return Box::new(fourier::FourierKernel::new(op, args[0]));
    #[cfg(not(feature = "fft"))]
    Box::new(defined::DefinedKernel::new(op.clone(), args, op.defined_operations(args[0])))
}

/// The operation whose kernel does the work of `op` from another element of the result on ([`start`]): a loop over the
/// rows of an array has one kernel.
pub(crate) fn movable(op: &Op) -> Op {
    match op {
        Op::Update(op) => primitives::Update { start: vec![0; op.start.len()], ..op.clone() }.into(),
        op => op.clone(),
    }
}

/// The element of the first result at which the work of an operation on such operands begins.
pub(crate) fn start(op: &Op, args: &[&Type]) -> usize {
    match op {
        Op::Update(op) => row_major(&args[0].shape).iter().zip(&op.start).map(|(stride, start)| stride * start).sum(),
        _ => 0,
    }
}

/// The kernel that copies a view of an array of this type.
pub(super) fn copied(dtype: DType, view: &View) -> Box<dyn Kernel> {
    Box::new(copy::CopyKernel::view(dtype, view))
}

/// The kernel of a scatter into an array of which every element is `fill`, if that is known: then the array is no operand.
pub(super) fn scatter(op: &Scatter, args: &[&Type], fill: Option<Literal>) -> Box<dyn Kernel> {
    Box::new(scatter::ScatterKernel::new(op, args[0], args[1], fill))
}

/// As [`scatter`], where updates meet.
pub(super) fn scatter_reduce(op: &ScatterReduce, args: &[&Type], fill: Option<Literal>) -> Box<dyn Kernel> {
    Box::new(scatter::ScatterReduceKernel::new(op, args[0], args[1], fill))
}

/// The kernel that joins views of arrays of this type.
pub(super) fn joined(op: Concat, dtype: DType, views: &[&View]) -> Box<dyn Kernel> {
    Box::new(join::ConcatViewsKernel::new(op, dtype, views))
}

/// The kernel that writes these views of arrays of this type into an array, each from a place on; the others are there.
pub(super) fn joined_rest(dtype: DType, views: &[(usize, &View)]) -> Box<dyn Kernel> {
    Box::new(join::ConcatRestKernel::new(dtype, views))
}

/// Elements as kernels hold them: truth values are bytes.
trait Cell: Plain + Default + PartialOrd + std::fmt::Debug {
    /// The elements of an operand of this kind.
    fn of<'a>(slice: &Slice<'a>) -> &'a [Self];
    /// Those of a result.
    fn of_mut<'a>(slice: &'a mut SliceMut<'_>) -> &'a mut [Self];
    /// A number of this kind.
    fn of_literal(literal: Literal) -> Self;
}

macro_rules! cell {
    ($cell:ident, $kind:ident, $literal:ident) => {
        impl Cell for $cell {
            fn of<'a>(slice: &Slice<'a>) -> &'a [Self] {
                if let Slice::$kind(elements) = slice { elements } else { panic!("{} expected", stringify!($cell)) }
            }
            fn of_mut<'a>(slice: &'a mut SliceMut<'_>) -> &'a mut [Self] {
                if let SliceMut::$kind(elements) = slice { elements } else { panic!("{} expected", stringify!($cell)) }
            }
            fn of_literal(literal: Literal) -> Self {
                if let Literal::$literal(x) = literal { x.into() } else { panic!("{} expected", stringify!($cell)) }
            }
        }
    };
}
cell!(u8, U8, Bool);
cell!(i64, I64, I64);
cell!(f32, F32, F32);
cell!(f64, F64, F64);

/// Evaluates an expression with the element type of a [`Kind`] under a name.
macro_rules! for_kind {
    ($kind:expr, $cell:ident => $body:expr) => {
        match $kind {
            wengert_kernels::region::Kind::U8 => {
                type $cell = u8;
                $body
            }
            wengert_kernels::region::Kind::I64 => {
                type $cell = i64;
                $body
            }
            wengert_kernels::region::Kind::F32 => {
                type $cell = f32;
                $body
            }
            wengert_kernels::region::Kind::F64 => {
                type $cell = f64;
                $body
            }
        }
    };
}
use for_kind;

/// The bytes of workspace that this many elements of each thread take.
fn workspace<T: Plain>(count: usize, threads: usize) -> usize {
    count * threads * size_of::<T>()
}

/// The elements that a result is made of. They are there already where operand and result share their memory.
fn original<'a, T: Cell>(arg: &Slice<'a>) -> Option<&'a [T]> {
    if let Slice::Output(_) = arg { None } else { Some(T::of(arg)) }
}

/// Rows for one part, of this many elements each: enough for [`GRAIN`] elements of work.
fn rows_per_part(row: usize) -> usize {
    GRAIN.div_ceil(row.max(1))
}
