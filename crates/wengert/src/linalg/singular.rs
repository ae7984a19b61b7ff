//! Functions of the singular values of matrices, with derivatives that are right where values repeat.

use std::ops::Range;
use std::panic::Location;

use super::function::function;
use super::spectral::{column, contracted, part, unit_column};
use crate::error::{Error, OrRaise, misfit};
use crate::ops::Unary;
use crate::primitives::{
    Concat, Einsum, Op, SpectralFrame, SpectralFunction, SpectralKind, SpectralMap, SpectralPart, SpectralSum,
    SpectralValues, SpectralVectors,
};
use crate::program::{Builder, Value};
use crate::tensor::Tensor;
use crate::tensor::compose::{as_of, compose, compose_all, single};

/// The singular values of matrices; see [`singular`].
#[derive(Clone, Debug)]
pub struct Singular {
    a: Tensor,
    frame: Tensor,
}

/// The singular values of `A = U Σ V^T`, of which functions, projectors, sums, values and vectors are taken.
///
/// Of `A` with the shape `[…, m, n]`; singular values are numbered in decreasing order. Each result asks for the gaps that it
/// needs and no others, as those of [`spectral`](super::spectral()) do. A singular value has its negative beside it, as the
/// eigenvalues of `[[0, A], [A^T, 0]]` have: so what needs a vector needs a value that is not 0, and a function that is odd
/// does not mind.
///
/// ```
/// use wengert::prelude::*;
/// use wengert::linalg::singular;
/// // Both singular values are 2, and U tanh(Σ) V^T has a derivative all the same.
/// let a = Tensor::from([[0.0, 2.0], [-2.0, 0.0]]);
/// let g = grad(&a, |a| singular(&a).map(|x| x.tanh()).slice((0, 0)));
/// // Along the symmetric part the derivative of tanh, along the other one tanh(2)/2.
/// let (along, across) = (1.0 - 2f64.tanh().powi(2), 2f64.tanh() / 2.0);
/// assert!((g.to_vec()[0] - (along + across) / 2.0).abs() < 1e-15);
/// ```
///
/// # Panics
/// As [`try_singular`] returns errors.
#[track_caller]
pub fn singular(a: &Tensor) -> Singular {
    try_singular(a).or_raise()
}

/// As [`singular`], with an error instead of a panic.
///
/// # Errors
/// If `A` is no real matrix, or has an entry that is not finite.
#[track_caller]
pub fn try_singular(a: &Tensor) -> Result<Singular, Error> {
    Singular::of("singular", a)
}

/// The polar decomposition `A = U H`: the nearest matrix with orthonormal columns (or rows, of a wide matrix), and
/// `H = (A^T A)^(1/2)`.
///
/// It is an error if a singular value is 0: then `U` is not determined.
///
/// ```
/// use wengert::Tensor;
/// let (u, h) = wengert::linalg::polar(&Tensor::from([[0.0, -2.0], [2.0, 0.0]]));
/// assert_eq!((u.to_vec(), h.to_vec()), (vec![0.0, -1.0, 1.0, 0.0], vec![2.0, 0.0, 0.0, 2.0]));
/// ```
///
/// # Panics
/// As [`try_polar`] returns errors.
#[track_caller]
pub fn polar(a: &Tensor) -> (Tensor, Tensor) {
    try_polar(a).or_raise()
}

/// As [`polar`], with an error instead of a panic.
///
/// # Errors
/// As [`try_singular`], and if a singular value is 0.
#[track_caller]
pub fn try_polar(a: &Tensor) -> Result<(Tensor, Tensor), Error> {
    let Singular { a, frame } = Singular::of("polar", a)?;
    let both = compose_all("polar", &[&a, &frame], |b, args| {
        let sign = SpectralFunction::one(SpectralPart::Positive);
        let u = b.op(SpectralMap::new("polar", SpectralKind::Singular, sign), args);
        let h = product(b, ["ji", "jk", "ik"], u, args[0]);
        let rank = b.shape(h).len();
        let other = b.move_axis(h, rank - 1, rank - 2);
        let (sum, ty) = (b.add(h, other), b.ty(h).clone());
        let half = b.full(0.5, &ty);
        Ok(vec![u, b.mul(sum, half)])
    });
    let mut both = as_of("polar", &[&a], both)?;
    let h = both.remove(1);
    Ok((both.remove(0), h))
}

/// The sum of all singular values.
///
/// Where some are 0 it has a kink, and the derivative is the shortest of those that bound it from below, `U_r V_r^T` of the
/// values that are not 0 (G. A. Watson, *Characterization of the subdifferential of some matrix norms*, 1992): as that of `|x|`
/// is 0 at 0.
///
/// ```
/// use wengert::prelude::*;
/// let (norm, g) = value_and_grad(&Tensor::from([[3.0, 0.0], [0.0, -3.0]]), |a| wengert::linalg::nuclear_norm(&a));
/// assert_eq!((norm.item(), g.to_vec()), (6.0, vec![1.0, 0.0, 0.0, -1.0]));
/// ```
///
/// # Panics
/// As [`try_nuclear_norm`] returns errors.
#[doc(alias = "trace_norm")]
#[track_caller]
pub fn nuclear_norm(a: &Tensor) -> Tensor {
    try_nuclear_norm(a).or_raise()
}

/// As [`nuclear_norm`], with an error instead of a panic.
///
/// # Errors
/// As [`try_singular`].
#[track_caller]
pub fn try_nuclear_norm(a: &Tensor) -> Result<Tensor, Error> {
    Singular::of("nuclear_norm", a)?.added("nuclear_norm", SpectralFunction::identity(SpectralPart::Rank))
}

/// The matrix of this rank that is nearest to `A`: `U_k Σ_k V_k^T` of the largest singular values (C. Eckart and G. Young, 1936).
///
/// It needs a gap behind the last of them, and that it is not 0.
///
/// ```
/// use wengert::Tensor;
/// let a = Tensor::from([[2.0, 0.0], [0.0, 1.0]]);
/// assert_eq!(wengert::linalg::low_rank(&a, 1).to_vec(), [2.0, 0.0, 0.0, 0.0]);
/// ```
///
/// # Panics
/// As [`try_low_rank`] returns errors.
#[track_caller]
pub fn low_rank(a: &Tensor, k: usize) -> Tensor {
    try_low_rank(a, k).or_raise()
}

/// As [`low_rank`], with an error instead of a panic.
///
/// # Errors
/// As [`try_singular`]; if there are fewer singular values, two equal ones are cut apart, or the last one is 0.
#[track_caller]
pub fn try_low_rank(a: &Tensor, k: usize) -> Result<Tensor, Error> {
    Singular::of("low_rank", a)?.applied("low_rank", SpectralFunction::identity(part(0..k)))
}

/// The pseudoinverse `V Σ^+ U^T`, with `1/σ` of the singular values that are not 0 (E. H. Moore, 1920; R. Penrose, 1955).
///
/// A value counts as 0 up to 8 roundings of the norm for each row of the longer side. The derivative is that along matrices of
/// the same rank (G. H. Golub and V. Pereyra, 1973); where the rank changes, the pseudoinverse jumps.
///
/// ```
/// use wengert::Tensor;
/// let a = Tensor::from([[2.0, 0.0], [0.0, 0.0], [0.0, 0.0]]);
/// assert_eq!(wengert::linalg::pinv(&a).to_vec(), [0.5, 0.0, 0.0, 0.0, 0.0, 0.0]);
/// ```
///
/// # Panics
/// As [`try_pinv`] returns errors.
#[doc(alias = "pseudo_inverse")]
#[track_caller]
pub fn pinv(a: &Tensor) -> Tensor {
    try_pinv(a).or_raise()
}

/// As [`pinv`], with an error instead of a panic.
///
/// # Errors
/// As [`try_singular`].
#[track_caller]
pub fn try_pinv(a: &Tensor) -> Result<Tensor, Error> {
    let Singular { a, frame } = Singular::of("pinv", a)?;
    let inverse = compose("pinv", &[&a, &frame], |b, args| {
        let inverse = SpectralFunction::of(Unary::Recip, SpectralPart::Rank);
        let inverse = b.op(SpectralMap::new("pinv", SpectralKind::Singular, inverse), args);
        let rank = b.shape(inverse).len();
        Ok(b.move_axis(inverse, rank - 1, rank - 2))
    });
    as_of("pinv", &[&a], inverse)
}

impl Singular {
    /// For a function of this name.
    #[track_caller]
    fn of(name: &str, a: &Tensor) -> Result<Self, Error> {
        let frame = single(name, SpectralFrame::new(name, SpectralKind::Singular), &[a])?;
        Ok(Singular { a: a.clone(), frame })
    }

    /// An operation on the matrix and its frame, of which the user knows the matrix.
    #[track_caller]
    fn single(&self, name: &str, op: impl Into<Op>) -> Result<Tensor, Error> {
        as_of(name, &[&self.a], single(name, op, &[&self.a, &self.frame]))
    }

    #[track_caller]
    fn applied(&self, name: &str, h: SpectralFunction) -> Result<Tensor, Error> {
        self.single(name, SpectralMap::new(name, SpectralKind::Singular, h))
    }

    #[track_caller]
    fn added(&self, name: &str, function: SpectralFunction) -> Result<Tensor, Error> {
        self.single(name, SpectralSum { name: name.to_owned(), spectrum: SpectralKind::Singular, function })
    }

    /// The function `U h(Σ) V^T`.
    ///
    /// `h` is as that of [`Spectral::map`](super::Spectral::map). Where its formula is an odd function (`x`, `x^3`, `tanh`), the
    /// result has derivatives of every order at any matrix. Any other function is read at singular values and continued as an
    /// odd one: then they have to be above 0, except in a value where `h(0) = 0`.
    ///
    /// ```
    /// use wengert::Tensor;
    /// use wengert::linalg::singular;
    /// let a = Tensor::from([[0.0, 2.0], [-2.0, 0.0]]);
    /// assert_eq!(singular(&a).map(|x| x * x).to_vec(), [0.0, 4.0, -4.0, 0.0]);
    /// ```
    ///
    /// # Panics
    /// As [`Singular::try_map`] returns errors.
    #[track_caller]
    pub fn map(&self, h: impl FnOnce(&Tensor) -> Tensor) -> Tensor {
        self.try_map(h).or_raise()
    }

    /// As [`Singular::map`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the function captures tensors, or is not one of one number; if it is not finite at a singular value, or it is not odd and
    /// not 0 at 0, and a singular value is 0.
    #[track_caller]
    pub fn try_map(&self, h: impl FnOnce(&Tensor) -> Tensor) -> Result<Tensor, Error> {
        let program = function("map", h, Location::caller())?;
        let part = if SpectralFunction::is_odd(&program, 0) { SpectralPart::All } else { SpectralPart::Positive };
        self.applied("map", SpectralFunction::new(program, part))
    }

    /// The sum of `h(σ)` over all singular values; a number for each matrix.
    ///
    /// Where the formula of `h` is an even function (`x^2`, `cosh`), it has derivatives of every order at any matrix, else where no
    /// singular value is 0.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// use wengert::linalg::singular;
    /// let a = Tensor::from([[1.0, 2.0], [0.0, 0.0]]);
    /// let g = grad(&a, |a| singular(&a).trace(|x| x * x));
    /// assert!(g.to_vec().iter().zip([2.0, 4.0, 0.0, 0.0]).all(|(g, wanted)| (g - wanted).abs() < 1e-14));
    /// ```
    ///
    /// # Panics
    /// As [`Singular::try_trace`] returns errors.
    #[track_caller]
    pub fn trace(&self, h: impl FnOnce(&Tensor) -> Tensor) -> Tensor {
        self.try_trace(h).or_raise()
    }

    /// As [`Singular::trace`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the function captures tensors, or is not one of one number.
    #[track_caller]
    pub fn try_trace(&self, h: impl FnOnce(&Tensor) -> Tensor) -> Result<Tensor, Error> {
        let program = function("trace", h, Location::caller())?;
        let part = if SpectralFunction::is_odd(&program, 1) { SpectralPart::All } else { SpectralPart::Positive };
        self.added("trace", SpectralFunction::new(program, part))
    }

    /// The projectors onto the left and the right singular vectors with these numbers, `U_r U_r^T` and `V_r V_r^T`.
    ///
    /// Only the gaps between the range and the values beside it count, of which 0 is one.
    ///
    /// ```
    /// use wengert::Tensor;
    /// use wengert::linalg::singular;
    /// let a = Tensor::from([[0.0, 2.0], [0.0, 0.0], [1.0, 0.0]]);
    /// let (left, right) = singular(&a).projector(0..1);
    /// assert_eq!(left.to_vec(), [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    /// assert_eq!(right.to_vec(), [0.0, 0.0, 0.0, 1.0]);
    /// ```
    ///
    /// # Panics
    /// As [`Singular::try_projector`] returns errors.
    #[track_caller]
    pub fn projector(&self, range: Range<usize>) -> (Tensor, Tensor) {
        self.try_projector(range).or_raise()
    }

    /// As [`Singular::projector`], with an error instead of a panic.
    ///
    /// # Errors
    /// If there is no such range, or it cuts a cluster, or a value of it is 0.
    #[track_caller]
    pub fn try_projector(&self, range: Range<usize>) -> Result<(Tensor, Tensor), Error> {
        let both = compose_all("projector", &[&self.a, &self.frame], |b, args| {
            let own = SpectralFunction::one(part(range));
            let isometry = b.emit(SpectralMap::new("projector", SpectralKind::Singular, own), args)?[0];
            let left = product(b, ["ij", "kj", "ik"], isometry, isometry);
            Ok(vec![left, product(b, ["ji", "jk", "ik"], isometry, isometry)])
        });
        let mut both = as_of("projector", &[&self.a], both)?;
        let right = both.remove(1);
        Ok((both.remove(0), right))
    }

    /// The sum of the singular values with these numbers.
    ///
    /// The value has no conditions; the derivative has those of [`Singular::projector`]. Of all values, also of those that are
    /// 0, it is the [`nuclear_norm`].
    ///
    /// ```
    /// use wengert::prelude::*;
    /// use wengert::linalg::singular;
    /// let a = Tensor::from([[0.0, 2.0], [2.0, 0.0], [0.0, 0.0]]);
    /// let (sum, g) = value_and_grad(&a, |a| singular(&a).sum(0..2));
    /// assert_eq!((sum.item(), g.to_vec()), (4.0, vec![0.0, 1.0, 1.0, 0.0, 0.0, 0.0]));
    /// ```
    ///
    /// # Panics
    /// As [`Singular::try_sum`] returns errors.
    #[track_caller]
    pub fn sum(&self, range: Range<usize>) -> Tensor {
        self.try_sum(range).or_raise()
    }

    /// As [`Singular::sum`], with an error instead of a panic.
    ///
    /// # Errors
    /// If there is no such range.
    #[track_caller]
    pub fn try_sum(&self, range: Range<usize>) -> Result<Tensor, Error> {
        self.added("sum", SpectralFunction::identity(part(range)))
    }

    /// All singular values in decreasing order, `[…, min(m, n)]`.
    ///
    /// One that repeats is not differentiable alone, nor is one that is 0: see [`Spectral::values`](super::Spectral::values).
    ///
    /// ```
    /// use wengert::prelude::*;
    /// use wengert::linalg::singular;
    /// let a = Tensor::from([[3.0, 0.0], [0.0, -1.0]]);
    /// let (values, d) = jvp(&a, &Tensor::from([[1.0, 5.0], [7.0, 1.0]]), |a| singular(&a).values());
    /// assert_eq!((values.to_vec(), d.to_vec()), (vec![3.0, 1.0], vec![1.0, -1.0]));
    /// ```
    ///
    /// # Panics
    /// As [`Singular::try_values`] returns errors.
    #[track_caller]
    pub fn values(&self) -> Tensor {
        self.try_values().or_raise()
    }

    /// As [`Singular::values`], with an error instead of a panic.
    ///
    /// # Errors
    /// None that [`try_singular`] has not found.
    #[track_caller]
    pub fn try_values(&self) -> Result<Tensor, Error> {
        let end = self.a.shape().iter().rev().take(2).min().copied().unwrap_or(0);
        let op = SpectralValues { spectrum: SpectralKind::Singular, start: 0, end };
        self.single("values", op)
    }

    /// The left and the right singular vectors with these numbers as columns, `[…, m, k]` and `[…, n, k]`; the first number of
    /// a left one is not negative.
    ///
    /// Each needs a gap to all other values and to 0. They are meant for a few: see [`Spectral::vectors`](super::Spectral::vectors).
    ///
    /// ```
    /// use wengert::Tensor;
    /// use wengert::linalg::singular;
    /// let (u, v) = singular(&Tensor::from([[3.0, 0.0], [0.0, -1.0]])).vectors(1..2);
    /// assert_eq!((u.to_vec(), v.to_vec()), (vec![0.0, 1.0], vec![0.0, -1.0]));
    /// ```
    ///
    /// # Panics
    /// As [`Singular::try_vectors`] returns errors.
    #[track_caller]
    pub fn vectors(&self, range: Range<usize>) -> (Tensor, Tensor) {
        self.try_vectors(range).or_raise()
    }

    /// As [`Singular::vectors`], with an error instead of a panic.
    ///
    /// # Errors
    /// If there is no such range, or a value is not apart from all others and from 0.
    #[track_caller]
    pub fn try_vectors(&self, range: Range<usize>) -> Result<(Tensor, Tensor), Error> {
        let both = compose_all("vectors", &[&self.a, &self.frame], |b, args| {
            let (shape, dtype) = (b.shape(args[0]).to_vec(), b.ty(args[0]).dtype);
            let [lead @ .., rows, columns] = &shape[..] else { unreachable!("the frame was made of a matrix") };
            let (start, end, count) = (range.start, range.end, *rows.min(columns));
            if start > end || end > count {
                misfit!("there are {count} singular values, and no range {start}..{end} of them");
            }
            let mut held = |skip: usize, length: usize| -> Result<Value, Error> {
                Ok(b.emit(SpectralVectors { skip, length, start, end, dtype }, &args[1..])?[0])
            };
            let (left_held, right_held) = (held(1, *rows)?, held(1 + rows, *columns)?);
            let none = |b: &mut Builder, length: usize| {
                let ty = b.ty(left_held).with_shape([lead, &[length, 0]].concat());
                b.full(0.0, &ty)
            };
            let (mut left, mut right) = (vec![none(b, *rows)], vec![none(b, *columns)]);
            for k in range {
                // `u v^T`, of which each vector is the image of the other one.
                let own = SpectralFunction::one(part(k..k + 1));
                let isometry = b.op(SpectralMap::new("vectors", SpectralKind::Singular, own), args);
                let (u, v) = (column(b, left_held, k - start), column(b, right_held, k - start));
                let (u, v) = (contracted(b, "ij", isometry, v), contracted(b, "ji", isometry, u));
                left.push(unit_column(b, u));
                right.push(unit_column(b, v));
            }
            let axis = shape.len() - 1;
            Ok(vec![b.op(Concat { axis }, &left), b.op(Concat { axis }, &right)])
        });
        let mut both = as_of("vectors", &[&self.a], both)?;
        let right = both.remove(1);
        Ok((both.remove(0), right))
    }
}

/// A product of matrices with these labels of the last axes.
fn product(b: &mut Builder, [x_labels, y_labels, out]: [&str; 3], x: Value, y: Value) -> Value {
    let lead: String = ('A'..).take(b.shape(x).len() - 2).collect();
    let spec = format!("{lead}{x_labels},{lead}{y_labels}->{lead}{out}");
    b.op(Einsum::new(&spec).expect("the labels are those of a product"), &[x, y])
}
