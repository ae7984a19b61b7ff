//! Factorisations as methods of tensors.

use super::{check_matrix, check_square};
use crate::error::Error;
use crate::primitives::{Cholesky, Eig, Eigh, Lu, Qr, Schur, Svd};
use crate::tensor::Tensor;
use crate::tensor::compose::{compose, compose_all, or_raise};

or_raise! {
    trait TryFactorise: "factorisations";

    /// The lower triangular `L` with a positive diagonal and `L L^T = (A + A^T) / 2`.
    ///
    /// A matrix that is not positive definite is an error that names the leading minor.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let a = Tensor::from([[4.0, 2.0], [2.0, 5.0]]);
    /// assert_eq!(a.cholesky().to_vec(), [2.0, 0.0, 1.0, 2.0]);
    /// let why = Tensor::from([[1.0, 2.0], [2.0, 1.0]]).try_cholesky().unwrap_err();
    /// assert!(why.to_string().contains("its leading minor of order 2 is not positive"), "{why}");
    /// ```
    #[doc(alias("cho_factor", "potrf"))]
    fn cholesky = try_cholesky();
    /// `(L, U, p)` with `A[p] = L U`: ones on the diagonal of the lower `L`, `p` the order of the rows. Every matrix has these
    /// factors; a singular one has a 0 on the diagonal of `U`. The derivative holds `p`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let a = Tensor::from([[1.0, 2.0], [4.0, 2.0]]);
    /// let (l, u, p) = a.lu();
    /// assert_eq!(l.matmul(&u).to_vec(), a.take(&p, 0).to_vec());
    /// ```
    #[doc(alias = "lu_factor")]
    fn lu = try_lu() -> (Tensor, Tensor, Tensor);
    /// `(Q, R)` with `A = Q R`, reduced: orthonormal columns, and an upper triangular `R` whose diagonal is not negative.
    ///
    /// The derivative needs independent columns, of a wide matrix those of its square part.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let a = Tensor::from([[3.0, 1.0], [4.0, 2.0]]);
    /// let (q, r) = a.qr();
    /// assert!((q.t().matmul(&q) - Tensor::eye(2)).abs().max().item() < 1e-14);
    /// assert!((q.matmul(&r) - &a).abs().max().item() < 1e-14);
    /// ```
    #[doc(alias = "orth")]
    fn qr = try_qr() -> (Tensor, Tensor);
    /// Ascending eigenvalues of `(A + A^T) / 2`, and its eigenvectors as columns, the first component of each that is not
    /// negligible positive.
    ///
    /// Where eigenvalues repeat, vectors have no derivative: asking for it is an error. A gradient through the values alone
    /// is right if it is the same for all that are one.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let a = Tensor::from([[2.0, 1.0], [1.0, 2.0]]);
    /// let (w, v) = a.eigh();
    /// assert!((w.to_vec()[0] - 1.0).abs() < 1e-15 && (v.to_vec()[0] - 0.5f64.sqrt()).abs() < 1e-15);
    /// ```
    #[doc(alias("symmetric_eigen", "syevd"))]
    fn eigh = try_eigh() -> (Tensor, Tensor);
    /// The eigenvalues of [`Tensor::eigh`] alone.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let w = Tensor::from([[2.0, 1.0], [1.0, 2.0]]).eigvalsh();
    /// assert!((w - Tensor::from([1.0, 3.0])).abs().max().item() < 1e-14);
    /// ```
    #[doc(alias = "eigenvalues")]
    fn eigvalsh = try_eigvalsh();
    /// Eigenvalues of a general matrix, ascending by real and then by imaginary part, and its right eigenvectors as columns of
    /// length 1, the first component of each that is not negligible real and positive: `[re w, im w, re V, im V]`.
    ///
    /// A derivative needs all values to be apart from each other.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let [re, im, ..] = Tensor::from([[0.0, -2.0], [2.0, 0.0]]).eig();
    /// assert_eq!((re.to_vec(), im.to_vec()), (vec![0.0, 0.0], vec![-2.0, 2.0]));
    /// ```
    #[doc(alias("eigen", "geev"))]
    fn eig = try_eig() -> [Tensor; 4];
    /// `(T, Q)`, the real Schur form `A = Q T Q^T`: Q is orthogonal, and T upper triangular but for blocks of two rows on its
    /// diagonal, one for each pair of complex eigenvalues.
    ///
    /// Blocks ascend by the real part of their eigenvalues, those with the same by the size of the imaginary part: the first
    /// columns of Q span what decays fastest in `x' = A x`. The first component that is not negligible of each column is
    /// positive; in the two columns of a pair, the first row that is not negligible is positive and 0, and T is positive above
    /// the diagonal of the block (LAPACK makes the diagonal of a block constant instead, which fixes no basis where A is a
    /// rotation). A derivative needs eigenvalues of different blocks to be apart from each other.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let a = Tensor::from([[1.0, 2.0], [0.5, 1.0]]);
    /// let (t, q) = a.schur();
    /// assert!((q.matmul(&t).matmul(&q.t()) - &a).abs().max().item() < 1e-14);
    /// assert!(t.to_vec()[0].abs() < 1e-15 && (t.to_vec()[3] - 2.0).abs() < 1e-14);
    /// ```
    #[doc(alias("gees", "hseqr"))]
    fn schur = try_schur() -> (Tensor, Tensor);
    /// `(U, s, V^T)` with `A = U diag(s) V^T`, reduced, and descending `s`; the first component of each column of `U` that is not
    /// negligible is positive.
    ///
    /// Derivatives exist as for [`Tensor::eigh`]; a singular value has none where it is 0.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let a = Tensor::from([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
    /// let (u, s, vt) = a.svd();
    /// assert!(((u * s).matmul(&vt) - &a).abs().max().item() < 1e-14);
    /// ```
    #[doc(alias("singular_value_decomposition", "gesdd"))]
    fn svd = try_svd() -> (Tensor, Tensor, Tensor);
    /// The singular values of [`Tensor::svd`] alone.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let s = Tensor::from([[0.0, 3.0], [-2.0, 0.0]]).singular_values();
    /// assert!((s - Tensor::from([3.0, 2.0])).abs().max().item() < 1e-14);
    /// ```
    #[doc(alias = "svdvals")]
    fn singular_values = try_singular_values();
}

/// The tensors of a list of known length.
fn three(mut results: Vec<Tensor>) -> (Tensor, Tensor, Tensor) {
    let (last, middle) = (results.remove(2), results.remove(1));
    (results.remove(0), middle, last)
}

fn two(mut results: Vec<Tensor>) -> (Tensor, Tensor) {
    let last = results.remove(1);
    (results.remove(0), last)
}

impl TryFactorise for Tensor {
    /// As [`Tensor::cholesky`], with an error instead of a panic.
    ///
    /// # Errors
    /// If it is not square, not of real numbers, or not positive definite.
    #[track_caller]
    fn try_cholesky(&self) -> Result<Tensor, Error> {
        compose("cholesky", &[self], |b, args| {
            check_square(b, args[0])?;
            Ok(b.emit(Cholesky, args)?[0])
        })
    }

    /// As [`Tensor::lu`], with an error instead of a panic.
    ///
    /// # Errors
    /// If it is no matrix of finite real numbers.
    #[track_caller]
    fn try_lu(&self) -> Result<(Tensor, Tensor, Tensor), Error> {
        compose_all("lu", &[self], |b, args| {
            check_matrix(b, args[0])?;
            Ok(b.emit(Lu, args)?)
        })
        .map(three)
    }

    /// As [`Tensor::qr`], with an error instead of a panic.
    ///
    /// # Errors
    /// If it is no matrix of finite real numbers.
    #[track_caller]
    fn try_qr(&self) -> Result<(Tensor, Tensor), Error> {
        compose_all("qr", &[self], |b, args| {
            check_matrix(b, args[0])?;
            Ok(b.emit(Qr, args)?)
        })
        .map(two)
    }

    /// As [`Tensor::eigh`], with an error instead of a panic.
    ///
    /// # Errors
    /// If it is no square matrix of finite real numbers.
    #[track_caller]
    fn try_eigh(&self) -> Result<(Tensor, Tensor), Error> {
        compose_all("eigh", &[self], |b, args| {
            check_square(b, args[0])?;
            Ok(b.emit(Eigh, args)?)
        })
        .map(two)
    }

    /// As [`Tensor::eigvalsh`], with an error instead of a panic.
    ///
    /// # Errors
    /// If it is no square matrix of finite real numbers.
    #[track_caller]
    fn try_eigvalsh(&self) -> Result<Tensor, Error> {
        compose("eigvalsh", &[self], |b, args| {
            check_square(b, args[0])?;
            Ok(b.emit(Eigh, args)?[0])
        })
    }

    /// As [`Tensor::eig`], with an error instead of a panic.
    ///
    /// # Errors
    /// If it is no square matrix of finite real numbers.
    #[track_caller]
    fn try_eig(&self) -> Result<[Tensor; 4], Error> {
        let results = compose_all("eig", &[self], |b, args| {
            check_square(b, args[0])?;
            Ok(b.emit(Eig, args)?)
        })?;
        Ok(results.try_into().expect("four results"))
    }

    /// As [`Tensor::schur`], with an error instead of a panic.
    ///
    /// # Errors
    /// If it is no square matrix of finite real numbers.
    #[track_caller]
    fn try_schur(&self) -> Result<(Tensor, Tensor), Error> {
        compose_all("schur", &[self], |b, args| {
            check_square(b, args[0])?;
            Ok(b.emit(Schur, args)?)
        })
        .map(two)
    }

    /// As [`Tensor::svd`], with an error instead of a panic.
    ///
    /// # Errors
    /// If it is no matrix of finite real numbers.
    #[track_caller]
    fn try_svd(&self) -> Result<(Tensor, Tensor, Tensor), Error> {
        compose_all("svd", &[self], |b, args| {
            check_matrix(b, args[0])?;
            Ok(b.emit(Svd, args)?)
        })
        .map(three)
    }

    /// As [`Tensor::singular_values`], with an error instead of a panic.
    ///
    /// # Errors
    /// If it is no matrix of finite real numbers.
    #[track_caller]
    fn try_singular_values(&self) -> Result<Tensor, Error> {
        compose("singular_values", &[self], |b, args| {
            check_matrix(b, args[0])?;
            Ok(b.emit(Svd, args)?[1])
        })
    }
}
