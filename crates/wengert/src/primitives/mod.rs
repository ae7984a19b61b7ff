//! The operations of a [`Program`](crate::Program): a small closed set of families, closed under transposition.
//!
//! A family is a struct that implements [`Primitive`], in a file of its own: types of the results,
//! value, linearity, tangent or transpose, batched form and samples stand together. Nobody writes
//! a vjp: reverse mode is the transpose of the linearised Program.
//!
//! To add one: the struct in its family's file, and one line in the list of [`Op`] below.

mod axes;
#[cfg(test)]
mod bilinear_laws;
mod contract;
mod control;
mod conv;
mod cumulative;
mod dynamic;
mod einsum;
mod elementwise;
mod ensure;
mod fft;
mod foreign;
mod gather;
mod index;
pub(crate) mod linalg;
mod literal;
#[cfg(feature = "text")]
mod parse;
pub(crate) mod random;
mod reduce;
mod roll;
pub(crate) mod rule;
mod sample;
mod scatter_reduce;
mod sort;
pub(crate) mod sparse;
mod text;
#[cfg(test)]
mod trials;
mod update;

use std::ops::Deref;

pub use crate::ops::Logic;
pub use axes::{Broadcast, Permute, Reshape, Reverse};
pub use contract::{
    Along, Batched, Cotangent, Cotangents, Form, MaskedCotangents, Masks, Narrowed, Operand, OperandSet, Phase,
    Primitive, Reaches, RunInside, Site, Source, Split, Tangents, Wiring, WithTangents,
};
pub use control::{
    Bounds, Call, Choice, Cond, Custom, Implicit, Krylov, LinearMethod, Recompute, Rule, Scan, Solve, Unwind, While,
};
pub(crate) use control::{linearised, run as run_inside};
pub use conv::{Conv, WindowArg};
pub use cumulative::{Cumulative, Recurrence, Running};
#[cfg(feature = "engine")]
pub(crate) use dynamic::clamped_start;
pub use dynamic::{DynamicSlice, DynamicUpdate};
pub use einsum::Einsum;
#[cfg(feature = "engine")]
pub(crate) use elementwise::divided_by_zero;
pub use elementwise::{Convert, Select};
pub use ensure::Ensure;
#[cfg(feature = "engine")]
pub(crate) use ensure::told;
pub use fft::{Fft, FftKind, FftScale, HalfWeights};
pub(crate) use fft::{transform_fits_in_memory, turned};
#[cfg(feature = "engine")]
pub(crate) use foreign::Examples;
pub(crate) use foreign::{Code, ForeignDerivative, Many, PlainCode, real};
pub use foreign::{Foreign, ForeignRole};
pub use gather::{Gather, OutOfBounds, Scatter, Write};
pub use index::{Concat, Pad, Slice};
pub use linalg::{
    Cholesky, CholeskyTangent, Clusters, Cofactor, Commutator, ComplexCholesky, ComplexCommutator, ComplexEig,
    ComplexEigh, ComplexKind, ComplexLu, ComplexQr, ComplexSchur, ComplexSolve, ComplexSvd, Det, Divisor, Eig, Eigh,
    Expm, ExpmFrechet, Finite, Lu, LuTangent, MatrixEquation, MatrixKind, MatrixSolve, Qr, Riccati, Schur, Separate,
    Side, SpectralBits, SpectralCombination, SpectralForm, SpectralFrame, SpectralFunction, SpectralKind, SpectralMap,
    SpectralPart, SpectralSum, SpectralValues, SpectralVectors, Svd, Sylvester, Triangle, TriangularSolve,
};
pub use literal::{Iota, Literal};
#[cfg(feature = "text")]
pub(crate) use parse::operation;
pub use random::{RandomBits, RandomKind};
pub(crate) use reduce::scale_along;
pub use reduce::{ArgReduce, Extreme, Reduce, Reducer};
pub use roll::Roll;
pub use sample::Sample;
#[cfg(feature = "engine")]
pub(crate) use scatter_reduce::Folded;
pub use scatter_reduce::{Fold, ScatterReduce};
pub use sort::ArgSort;
#[cfg(feature = "text")]
pub(crate) use sparse::Patterns;
pub use sparse::{SharedPattern, SparseOuter, SparseProduct, SparseSolve, SparseUnit};
pub(crate) use text::{Attribute, Attributes};
pub use update::Update;
pub use wengert_kernels::pattern::{Boxes, Lists, Places, Preceding, Reach};

use crate::array::Type;
use crate::error::Misfit;
use crate::ops::{Binary, Compare, Unary};

/// What a family has besides its contract.
pub(crate) trait Family: Primitive {
    /// Cases for the rule battery: every option, element type and a rank or two, inside the domain
    /// and away from kinks.
    fn samples() -> Vec<Sample>;

    /// The member of this name with these options; `None` if the family has none of this name.
    ///
    /// # Errors
    /// The option that is missing or wrong.
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut parse::Fields) -> Option<Result<Self, Misfit>>
    where
        Self: Sized;
}

/// A family as the enum holds it.
macro_rules! held {
    ($family:ty, $place:ident) => { $place<$family> };
    ($family:ty) => { $family };
}

/// A member of a family, as the enum holds it.
macro_rules! held_value {
    ($op:ident $place:ident) => {
        $place::new($op)
    };
    ($op:ident) => {
        $op
    };
}

/// Makes the enum of all operations and its one dispatch. The largest families are held in a `Box`: equations are copied by
/// every transformation, and a large one would make all of them large.
macro_rules! operations {
    ($( $(#[$doc:meta])* $name:ident($family:ty) $(in $place:ident)?, )*) => {
        /// An operation of a [`Program`](crate::Program).
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub enum Op { $( $(#[$doc])* $name(held!($family $(, $place)?)), )* }

        $( impl From<$family> for Op {
            fn from(op: $family) -> Op {
                Op::$name(held_value!(op $($place)?))
            }
        } )*

        impl Op {
            /// The operation as what all have in common.
            pub fn primitive(&self) -> &(dyn Primitive + 'static) {
                match self { $( Op::$name(op) => { let op: &$family = op; op } )* }
            }
        }

        /// The operation of this name, whose family reads its options.
        #[cfg(feature = "text")]
        fn from_fields(name: &str, fields: &mut parse::Fields) -> Option<Result<Op, Misfit>> {
            $( if let Some(op) = <$family as Family>::parse(name, fields) {
                return Some(op.map(Op::from));
            } )*
            None
        }

        /// The cases of every family for the rule battery.
        pub fn samples() -> Vec<Sample> {
            let mut samples = Vec::new();
            $( samples.extend(<$family as Family>::samples()); )*
            samples
        }
    };
}
operations! {
    /// A single number.
    Literal(Literal),
    /// `0, 1, 2, …`
    Iota(Iota),
    /// A function of one argument, element by element.
    Unary(Unary),
    /// A function of two arguments of one type, element by element.
    Binary(Binary),
    /// A comparison of two arguments of one type, element by element.
    Compare(Compare),
    /// A function of truth values, element by element.
    Logic(Logic),
    /// One of two values, element by element.
    Select(Select),
    /// Another element type.
    Convert(Convert),
    /// More axes, along which the elements repeat.
    Broadcast(Broadcast),
    /// The same elements in another shape.
    Reshape(Reshape),
    /// The axes in another order.
    Permute(Permute),
    /// The opposite order along axes.
    Reverse(Reverse),
    /// The elements moved along axes, around the ends.
    Roll(Roll),
    /// Every n-th element of a range along each axis.
    Slice(Slice),
    /// More elements before, after and between, or fewer.
    Pad(Pad),
    /// One after the other along an axis.
    Concat(Concat),
    /// A slice written or added to.
    Update(Update),
    /// A sum, product or extreme over axes.
    Reduce(Reduce),
    /// The position of an extreme along an axis.
    ArgReduce(ArgReduce),
    /// Running sums, products, extremes.
    Cumulative(Cumulative),
    /// `h_i = a_i h_(i-1) + b_i`
    Recurrence(Recurrence),
    /// Elements at indices.
    Gather(Gather),
    /// Elements added or written at indices.
    Scatter(Scatter),
    /// Extremes or products of elements at indices.
    ScatterReduce(ScatterReduce),
    /// A block at a computed start.
    DynamicSlice(DynamicSlice),
    /// A block written at a computed start.
    DynamicUpdate(DynamicUpdate),
    /// Contraction of two operands by labels.
    Einsum(Einsum),
    /// Convolution.
    Conv(Conv) in Box,
    /// The position of the extreme of each window.
    WindowArg(WindowArg) in Box,
    /// The permutation that sorts.
    ArgSort(ArgSort),
    /// Triangular systems.
    TriangularSolve(TriangularSolve),
    /// Linear systems with a matrix.
    MatrixSolve(MatrixSolve),
    /// The factor of a positive definite matrix.
    Cholesky(Cholesky),
    /// The derivative of that factor.
    CholeskyTangent(CholeskyTangent),
    /// Triangular factors, with pivots.
    Lu(Lu),
    /// The derivative of those factors.
    LuTangent(LuTangent),
    /// Orthogonal and triangular factors.
    Qr(Qr),
    /// Eigenvalues and vectors of symmetric matrices.
    Eigh(Eigh),
    /// Eigenvalues and vectors of general matrices.
    Eig(Eig),
    /// The Schur form of real matrices.
    Schur(Schur),
    /// The equation of its derivative.
    Commutator(Commutator),
    /// Singular values and vectors.
    Svd(Svd),
    /// Linear systems with a complex matrix.
    ComplexSolve(ComplexSolve),
    /// The factor of a complex positive definite matrix.
    ComplexCholesky(ComplexCholesky),
    /// Triangular factors of complex matrices, with pivots.
    ComplexLu(ComplexLu),
    /// Unitary and triangular factors.
    ComplexQr(ComplexQr),
    /// Eigenvalues and vectors of Hermitian matrices.
    ComplexEigh(ComplexEigh),
    /// Eigenvalues and vectors of complex matrices.
    ComplexEig(ComplexEig),
    /// The Schur form of complex matrices.
    ComplexSchur(ComplexSchur),
    /// The equation of its derivative.
    ComplexCommutator(ComplexCommutator),
    /// Singular values and vectors of complex matrices.
    ComplexSvd(ComplexSvd),
    /// Exponentials of matrices.
    Expm(Expm),
    /// Their derivatives.
    ExpmFrechet(ExpmFrechet),
    /// Matrices that have to be finite.
    Finite(Finite),
    /// Linear equations for matrices.
    Sylvester(Sylvester),
    /// Riccati equations.
    Riccati(Riccati),
    /// Determinants.
    Det(Det),
    /// Matrices of cofactors.
    Cofactor(Cofactor),
    /// Elements divided by gaps between values.
    Separate(Separate),
    /// The derivative of values that may repeat.
    Clusters(Clusters),
    /// Random bits from a key.
    RandomBits(RandomBits),
    /// A value, where a condition holds.
    Ensure(Ensure),
    /// The discrete Fourier transform.
    Fft(Fft) in Box,
    /// Values and vectors of matrices, as bits.
    SpectralFrame(SpectralFrame),
    /// A frame of values and vectors.
    SpectralBits(SpectralBits),
    /// Vectors of a frame.
    SpectralVectors(SpectralVectors),
    /// A matrix function, or a derivative of it.
    SpectralMap(SpectralMap) in Box,
    /// A sum over eigenvalues or singular values.
    SpectralSum(SpectralSum) in Box,
    /// Eigenvalues or singular values.
    SpectralValues(SpectralValues),
    /// Projectors onto vectors with weights, or a derivative of them.
    SpectralCombination(SpectralCombination),
    /// What directions are to each vector, or a derivative of that.
    SpectralForm(SpectralForm),
    /// Products of a sparse matrix.
    SparseProduct(SparseProduct),
    /// Products at the entries of a pattern.
    SparseOuter(SparseOuter),
    /// Values of a regular sparse matrix.
    SparseUnit(SparseUnit),
    /// Linear systems with a sparse matrix.
    SparseSolve(SparseSolve),
    /// A Program as one equation.
    Call(Call),
    /// A region that is computed again in the backward pass.
    Recompute(Recompute),
    /// One of two Programs.
    Cond(Cond),
    /// A Program again and again, a known number of times.
    Scan(Scan),
    /// A Program again and again, as long as a condition holds.
    While(While),
    /// A loop forwards, and another one backwards over it.
    Unwind(Unwind) in Box,
    /// A user's operation with its own derivative.
    Custom(Custom),
    /// A user's own code.
    Foreign(Foreign),
    /// A linear system, known by its map.
    Solve(Solve) in Box,
    /// A point that is known by an equation.
    Implicit(Implicit) in Box,
}

/// What all operations have in common is asked of the operation directly.
impl Deref for Op {
    type Target = dyn Primitive + 'static;

    fn deref(&self) -> &(dyn Primitive + 'static) {
        self.primitive()
    }
}

/// Checks the number of operands.
pub(crate) fn arity(args: &[&Type], wanted: usize) -> Result<(), Misfit> {
    if args.len() == wanted {
        return Ok(());
    }
    let plural = if wanted == 1 { "" } else { "s" };
    Err(Misfit(format!("it takes {wanted} operand{plural}, and got {}", args.len())))
}

/// Checks that an axis exists.
pub(crate) fn check_axis(axis: usize, ty: &Type) -> Result<(), Misfit> {
    if axis < ty.rank() {
        return Ok(());
    }
    Err(Misfit(format!("there is no axis {axis} in {ty}, which has {} axes", ty.rank())))
}

/// Checks that axes exist and differ.
pub(crate) fn check_axes(axes: &[usize], ty: &Type) -> Result<(), Misfit> {
    for (k, &axis) in axes.iter().enumerate() {
        check_axis(axis, ty)?;
        if axes[..k].contains(&axis) {
            return Err(Misfit(format!("axis {axis} is named twice")));
        }
    }
    Ok(())
}

/// Checks that the operand has real elements.
pub(crate) fn check_float(ty: &Type) -> Result<(), Misfit> {
    if ty.dtype.is_float() {
        return Ok(());
    }
    Err(Misfit(format!("it takes real numbers (f32 or f64), not {}; convert first", ty.dtype)))
}
