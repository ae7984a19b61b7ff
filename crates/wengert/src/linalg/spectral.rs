//! Functions of the eigenvalues of symmetric matrices, with derivatives that are right where values repeat.

use std::ops::Range;
use std::panic::Location;

use super::function::function;
use crate::error::{Error, OrRaise, misfit};
use crate::ops::Unary;
use crate::primitives::{
    Concat, Einsum, Op, Reduce, Reducer, SpectralFrame, SpectralFunction, SpectralKind, SpectralMap, SpectralPart,
    SpectralSum, SpectralValues, SpectralVectors,
};
use crate::program::{Builder, Value};
use crate::tensor::Tensor;
use crate::tensor::compose::{as_of, compose, single};

/// The spectrum of symmetric matrices; see [`spectral`].
#[derive(Clone, Debug)]
pub struct Spectral {
    a: Tensor,
    frame: Tensor,
}

/// The spectrum of `(A + A^T) / 2`, of which matrix functions, projectors, sums, values and vectors are taken.
///
/// Of `A` with the shape `[…, n, n]`; eigenvalues are numbered in increasing order. The eigenvectors are found once. Each
/// result asks for the gaps that it needs and no others: a function for none, a projector and the derivative of a sum for those
/// at the ends of their range, a vector for those to all other values.
///
/// ```
/// use wengert::prelude::*;
/// use wengert::linalg::spectral;
/// // The gradient of tr(C exp A) at A = 1, where all eigenvalues are equal: e C.
/// let c = Tensor::from([[0.0, 2.0], [2.0, 0.0]]);
/// let a = Tensor::from([[1.0, 0.0], [0.0, 1.0]]);
/// let g = grad(&a, |a| (spectral(&a).map(|x| x.exp()) * &c).sum());
/// let e = 1f64.exp();
/// assert!(g.to_vec().iter().zip([0.0, 2.0 * e, 2.0 * e, 0.0]).all(|(g, wanted)| (g - wanted).abs() < 1e-14));
/// ```
///
/// # Panics
/// As [`try_spectral`] returns errors.
#[track_caller]
pub fn spectral(a: &Tensor) -> Spectral {
    try_spectral(a).or_raise()
}

/// As [`spectral`], with an error instead of a panic.
///
/// # Errors
/// If the matrices are not square, not real, or have an entry that is not finite.
#[track_caller]
pub fn try_spectral(a: &Tensor) -> Result<Spectral, Error> {
    Spectral::of("spectral", a)
}

/// The square root of a symmetric matrix without negative eigenvalues: `R R = (A + A^T) / 2`, with `R` symmetric.
///
/// It is an error if an eigenvalue is negative; one that is so by rounding alone, by less than n roundings of the norm, counts as
/// 0. Where one is 0 there is no derivative, and asking for it is an error.
///
/// ```
/// use wengert::prelude::*;
/// let a = Tensor::from([[2.0, 0.0], [0.0, 2.0]]);
/// let d = grad(&a, |a| wengert::linalg::sqrtm(&a).slice((0, 1)));
/// # let d = d.to_vec();
/// // The derivative at a multiple of the identity is half of the reciprocal root, shared by both places.
/// assert!((d[1] - 0.25 / 2f64.sqrt()).abs() < 1e-15 && (d[1] - d[2]).abs() < 1e-15);
/// let why = wengert::linalg::try_sqrtm(&Tensor::from([[4.0, 0.0], [0.0, -1.0]])).unwrap_err();
/// assert!(why.to_string().ends_with("the function is NaN at the eigenvalue 0, which is -1.000000e0"), "{why}");
/// ```
///
/// # Panics
/// As [`try_sqrtm`] returns errors.
#[doc(alias = "matrix_sqrt")]
#[track_caller]
pub fn sqrtm(a: &Tensor) -> Tensor {
    try_sqrtm(a).or_raise()
}

/// As [`sqrtm`], with an error instead of a panic.
///
/// # Errors
/// As [`try_spectral`], and if an eigenvalue is negative.
#[track_caller]
pub fn try_sqrtm(a: &Tensor) -> Result<Tensor, Error> {
    Spectral::of("sqrtm", a)?.applied("sqrtm", SpectralFunction::of(Unary::Sqrt, SpectralPart::All))
}

/// The logarithm of a symmetric matrix with positive eigenvalues: `exp(L) = (A + A^T) / 2`, with `L` symmetric.
///
/// It is an error if an eigenvalue is negative or 0.
///
/// ```
/// use wengert::prelude::*;
/// let a = Tensor::from([[1.0, 0.0], [0.0, 1.0]]);
/// // The logarithm is flat in no direction: at the identity its derivative is that of the matrix.
/// let (l, d) = jvp(&a, &Tensor::from([[0.0, 1.0], [1.0, 3.0]]), |a| wengert::linalg::logm(&a));
/// assert_eq!((l.to_vec(), d.to_vec()), (vec![0.0; 4], vec![0.0, 1.0, 1.0, 3.0]));
/// ```
///
/// # Panics
/// As [`try_logm`] returns errors.
#[doc(alias = "matrix_log")]
#[track_caller]
pub fn logm(a: &Tensor) -> Tensor {
    try_logm(a).or_raise()
}

/// As [`logm`], with an error instead of a panic.
///
/// # Errors
/// As [`try_spectral`], and if an eigenvalue is not positive.
#[track_caller]
pub fn try_logm(a: &Tensor) -> Result<Tensor, Error> {
    Spectral::of("logm", a)?.applied("logm", SpectralFunction::of(Unary::Ln, SpectralPart::All))
}

impl Spectral {
    /// For a function of this name.
    #[track_caller]
    fn of(name: &str, a: &Tensor) -> Result<Self, Error> {
        let frame = single(name, SpectralFrame::new(name, SpectralKind::Symmetric), &[a])?;
        Ok(Spectral { a: a.clone(), frame })
    }

    /// An operation on the matrix and its frame, of which the user knows the matrix.
    #[track_caller]
    fn single(&self, name: &str, op: impl Into<Op>) -> Result<Tensor, Error> {
        as_of(name, &[&self.a], single(name, op, &[&self.a, &self.frame]))
    }

    #[track_caller]
    fn applied(&self, name: &str, h: SpectralFunction) -> Result<Tensor, Error> {
        self.single(name, SpectralMap::new(name, SpectralKind::Symmetric, h))
    }

    #[track_caller]
    fn added(&self, name: &str, function: SpectralFunction) -> Result<Tensor, Error> {
        self.single(name, SpectralSum { name: name.to_owned(), spectrum: SpectralKind::Symmetric, function })
    }

    /// The matrix function `h(A) = V h(Λ) V^T`.
    ///
    /// `h` is run once, over one number in double precision, and is made of functions of numbers: it captures no tensors. It is
    /// exact whatever repeats, in every mode and order, where `h` has that many derivatives. Where `h`, or a derivative that is asked
    /// for, is NaN or infinite at an eigenvalue, it is an error that names the eigenvalue; one that is negative by rounding alone counts
    /// as 0 for a function without values below 0.
    ///
    /// ```
    /// use wengert::Tensor;
    /// use wengert::linalg::spectral;
    /// let a = Tensor::from([[2.0, 1.0], [1.0, 2.0]]);
    /// let square = spectral(&a).map(|x| x * x);
    /// assert!((square - a.matmul(&a)).abs().max().item() < 1e-14);
    /// ```
    ///
    /// # Panics
    /// As [`Spectral::try_map`] returns errors.
    #[track_caller]
    pub fn map(&self, h: impl FnOnce(&Tensor) -> Tensor) -> Tensor {
        self.try_map(h).or_raise()
    }

    /// As [`Spectral::map`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the function captures tensors, is not one of one number, or is not finite at an eigenvalue.
    #[track_caller]
    pub fn try_map(&self, h: impl FnOnce(&Tensor) -> Tensor) -> Result<Tensor, Error> {
        let program = function("map", h, Location::caller())?;
        self.applied("map", SpectralFunction::new(program, SpectralPart::All))
    }

    /// The sum of `h(λ)` over all eigenvalues, which is the trace of `h(A)`; a number for each matrix.
    ///
    /// It may be infinite, as that of a logarithm at a singular matrix; NaN at an eigenvalue is an error, and so is a derivative
    /// where that of `h` is not finite.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// use wengert::linalg::spectral;
    /// let a = Tensor::from([[2.0, 0.0], [0.0, 2.0]]);
    /// // ln det A has the gradient A^(-1).
    /// let g = grad(&a, |a| spectral(&a).trace(|x| x.ln()));
    /// assert_eq!(g.to_vec(), [0.5, 0.0, 0.0, 0.5]);
    /// ```
    ///
    /// # Panics
    /// As [`Spectral::try_trace`] returns errors.
    #[track_caller]
    pub fn trace(&self, h: impl FnOnce(&Tensor) -> Tensor) -> Tensor {
        self.try_trace(h).or_raise()
    }

    /// As [`Spectral::trace`], with an error instead of a panic.
    ///
    /// # Errors
    /// As [`Spectral::try_map`].
    #[track_caller]
    pub fn try_trace(&self, h: impl FnOnce(&Tensor) -> Tensor) -> Result<Tensor, Error> {
        let program = function("trace", h, Location::caller())?;
        self.added("trace", SpectralFunction::new(program, SpectralPart::All))
    }

    /// The projector onto the eigenvectors with these numbers: `V_r V_r^T`.
    ///
    /// Only the gaps between the range and the values beside it count.
    ///
    /// ```
    /// use wengert::Tensor;
    /// use wengert::linalg::spectral;
    /// let a = Tensor::from([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 5.0]]);
    /// assert_eq!(spectral(&a).projector(0..2).to_vec(), [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
    /// assert!(spectral(&a).try_projector(0..1).unwrap_err().to_string().contains("cuts a cluster"));
    /// ```
    ///
    /// # Panics
    /// As [`Spectral::try_projector`] returns errors.
    #[track_caller]
    pub fn projector(&self, range: Range<usize>) -> Tensor {
        self.try_projector(range).or_raise()
    }

    /// As [`Spectral::projector`], with an error instead of a panic.
    ///
    /// # Errors
    /// If there is no such range, or it cuts a cluster.
    #[track_caller]
    pub fn try_projector(&self, range: Range<usize>) -> Result<Tensor, Error> {
        self.applied("projector", SpectralFunction::one(part(range)))
    }

    /// The sum of the eigenvalues with these numbers.
    ///
    /// The value has no conditions; the derivative, which is the projector, has those of [`Spectral::projector`].
    ///
    /// ```
    /// use wengert::prelude::*;
    /// use wengert::linalg::spectral;
    /// let a = Tensor::from([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 5.0]]);
    /// let (sum, g) = value_and_grad(&a, |a| spectral(&a).sum(0..2));
    /// assert_eq!((sum.item(), g.to_vec()), (2.0, vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]));
    /// ```
    ///
    /// # Panics
    /// As [`Spectral::try_sum`] returns errors.
    #[track_caller]
    pub fn sum(&self, range: Range<usize>) -> Tensor {
        self.try_sum(range).or_raise()
    }

    /// As [`Spectral::sum`], with an error instead of a panic.
    ///
    /// # Errors
    /// If there is no such range.
    #[track_caller]
    pub fn try_sum(&self, range: Range<usize>) -> Result<Tensor, Error> {
        self.added("sum", SpectralFunction::identity(part(range)))
    }

    /// All eigenvalues in increasing order, `[…, n]`.
    ///
    /// One that repeats is not differentiable alone: what flows back has to be the same for all of its cluster, and a direction
    /// of forward mode must not move them apart; else it is an error, and so is a second derivative there.
    /// [`sum`](Spectral::sum) and [`trace`](Spectral::trace) are what is differentiable in every mode and order.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// use wengert::linalg::spectral;
    /// let a = Tensor::from([[1.0, 0.0], [0.0, 1.0]]);
    /// assert_eq!(grad(&a, |a| spectral(&a).values().square().sum()).to_vec(), [2.0, 0.0, 0.0, 2.0]);
    /// ```
    ///
    /// # Panics
    /// As [`Spectral::try_values`] returns errors.
    #[track_caller]
    pub fn values(&self) -> Tensor {
        self.try_values().or_raise()
    }

    /// As [`Spectral::values`], with an error instead of a panic.
    ///
    /// # Errors
    /// None that [`try_spectral`] has not found.
    #[track_caller]
    pub fn try_values(&self) -> Result<Tensor, Error> {
        let end = self.a.shape().last().copied().unwrap_or(0);
        let op = SpectralValues { spectrum: SpectralKind::Symmetric, start: 0, end };
        self.single("values", op)
    }

    /// The eigenvectors with these numbers as columns, `[…, n, k]`, each with a first number that is not negative.
    ///
    /// Each needs a gap to all other values. A vector is the projector onto it times a vector that is held, made one long: its
    /// derivative is that. So it takes memory and time for a matrix for each vector; it is meant for a few of them.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// use wengert::linalg::spectral;
    /// let a = Tensor::from([[1.0, 0.0], [0.0, 3.0]]);
    /// let (v, d) = jvp(&a, &Tensor::from([[0.0, 1.0], [1.0, 0.0]]), |a| spectral(&a).vectors(0..1));
    /// assert_eq!((v.to_vec(), d.to_vec()), (vec![1.0, 0.0], vec![0.0, -0.5]));
    /// ```
    ///
    /// # Panics
    /// As [`Spectral::try_vectors`] returns errors.
    #[track_caller]
    pub fn vectors(&self, range: Range<usize>) -> Tensor {
        self.try_vectors(range).or_raise()
    }

    /// As [`Spectral::vectors`], with an error instead of a panic.
    ///
    /// # Errors
    /// If there is no such range, or a value is not apart from all others.
    #[track_caller]
    pub fn try_vectors(&self, range: Range<usize>) -> Result<Tensor, Error> {
        let columns = compose("vectors", &[&self.a, &self.frame], |b, args| {
            let (shape, dtype) = (b.shape(args[0]).to_vec(), b.ty(args[0]).dtype);
            let length = shape[shape.len() - 1];
            let (start, end) = (range.start, range.end);
            if start > end || end > length {
                misfit!("there are {length} eigenvalues, and no range {start}..{end} of them");
            }
            let held = b.emit(SpectralVectors { skip: 1, length, start, end, dtype }, &args[1..])?[0];
            let mut columns = vec![b.full(0.0, &b.ty(held).with_shape([&shape[..shape.len() - 1], &[0]].concat()))];
            for k in range {
                let own = SpectralFunction::one(part(k..k + 1));
                let projector = b.op(SpectralMap::new("vectors", SpectralKind::Symmetric, own), args);
                let own = column(b, held, k - start);
                let image = contracted(b, "ij", projector, own);
                columns.push(unit_column(b, image));
            }
            Ok(b.op(Concat { axis: shape.len() - 1 }, &columns))
        });
        as_of("vectors", &[&self.a], columns)
    }
}

/// A range as a part of the values.
pub(super) fn part(range: Range<usize>) -> SpectralPart {
    SpectralPart::Range { start: range.start, end: range.end }
}

/// A column of matrices.
pub(super) fn column(b: &mut Builder, x: Value, k: usize) -> Value {
    let shape = b.shape(x).to_vec();
    let last = shape.len() - 1;
    let own = b.op(crate::primitives::Slice::along(&shape, last, k, k + 1), &[x]);
    b.reshape(own, &shape[..last])
}

/// A matrix times a vector `x[j]`, of labels `ij` or `ji`.
pub(super) fn contracted(b: &mut Builder, matrix: &str, a: Value, x: Value) -> Value {
    let lead: String = ('A'..).take(b.shape(x).len() - 1).collect();
    let spec = format!("{lead}{matrix},{lead}j->{lead}i");
    b.op(Einsum::new(&spec).expect("the labels are those of a product"), &[a, x])
}

/// A vector made one long, as a column.
pub(super) fn unit_column(b: &mut Builder, x: Value) -> Value {
    let shape = b.shape(x).to_vec();
    let last = shape.len() - 1;
    let square = b.op(Unary::Square, &[x]);
    let sum = b.op(Reduce::new(Reducer::Sum, &[last]), &[square]);
    let inverse = b.op(Unary::Rsqrt, &[sum]);
    let inverse = b.spread(inverse, &shape, &[last]);
    let unit = b.mul(x, inverse);
    b.reshape(unit, &[&shape[..], &[1]].concat())
}
