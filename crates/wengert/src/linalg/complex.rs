//! Factorisations and systems of complex matrices.

use super::{Side, System, Triangle, check_matrix, check_square};
use crate::complex::{Complex, IntoComplex};
use crate::error::{Error, Misfit, OrRaise};
use crate::primitives::linalg::identity;
use crate::primitives::{
    ComplexCholesky, ComplexEig, ComplexEigh, ComplexKind, ComplexLu, ComplexQr, ComplexSchur, ComplexSolve,
    ComplexSvd, Op,
};
use crate::program::{Builder, Value};
use crate::tensor::Tensor;
use crate::tensor::compose::compose_all;

/// Methods that panic, beside their `try_` twins.
macro_rules! raised {
    ($( $(#[$about:meta])* fn $name:ident = $twin:ident ($($arg:ident : $ty:ty),*) -> $out:ty; )*) => {
        impl Complex<Tensor> { $(
            $(#[$about])*
            ///
            /// # Panics
            #[doc = concat!("As [`Complex::", stringify!($twin), "`] returns an error.")]
            #[track_caller]
            pub fn $name(&self $(, $arg: $ty)*) -> $out {
                self.$twin($($arg),*).or_raise()
            }
        )* }
    };
}

raised! {
    /// `X` with `A X = B`, as [`Tensor::solve`]: a vector is one right-hand side, a matrix has one in each column. Either may be
    /// real.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let a = Complex::new(Tensor::from([[1.0, 0.0], [0.0, 2.0]]), Tensor::from([[1.0, 0.0], [0.0, 0.0]]));
    /// let x = a.solve(&Tensor::from([2.0, 4.0]));
    /// assert_eq!((x.re.to_vec(), x.im.to_vec()), (vec![1.0, 2.0], vec![-1.0, 0.0]));
    /// ```
    fn solve = try_solve(b: impl IntoComplex) -> Complex<Tensor>;
    /// `X` with `T X = B`, where T is a triangle of the matrix: the other half is not read, and its derivative is 0.
    ///
    /// ```
    /// use wengert::linalg::Triangle;
    /// use wengert::prelude::*;
    /// let t = Complex::new(Tensor::from([[1.0, f64::NAN], [0.0, 2.0]]), Tensor::from([[0.0, 0.0], [1.0, 0.0]]));
    /// let x = t.solve_triangular(&Tensor::from([2.0, 4.0]), Triangle::Lower);
    /// assert_eq!((x.re.to_vec(), x.im.to_vec()), (vec![2.0, 2.0], vec![0.0, -1.0]));
    /// ```
    fn solve_triangular = try_solve_triangular(b: impl IntoComplex, triangle: Triangle) -> Complex<Tensor>;
    /// The inverse. To multiply by it, [`Complex::solve`] is faster and more accurate.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let z = Complex::new(Tensor::from([[0.0]]), Tensor::from([[2.0]])).inv();
    /// assert_eq!((z.re.item(), z.im.item()), (0.0, -0.5));
    /// ```
    fn inv = try_inv() -> Complex<Tensor>;
    /// The lower triangular `L` with a real positive diagonal and `L L^H = (A + A^H) / 2`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let a = Complex::new(Tensor::from([[4.0, 0.0], [0.0, 5.0]]), Tensor::from([[0.0, -2.0], [2.0, 0.0]]));
    /// let l = a.cholesky();
    /// assert_eq!((l.re.to_vec(), l.im.to_vec()), (vec![2.0, 0.0, 0.0, 2.0], vec![0.0, 0.0, 1.0, 0.0]));
    /// ```
    fn cholesky = try_cholesky() -> Complex<Tensor>;
    /// `(L, U, p)` with `A[p] = L U`, as [`Tensor::lu`]: pivots have the largest modulus of their column, of equal ones the first.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let a = Complex::new(Tensor::from([[1.0, 2.0], [0.0, 1.0]]), Tensor::from([[0.0, 0.0], [2.0, 0.0]]));
    /// let (l, u, p) = a.lu();
    /// assert_eq!(l.matmul(&u).im.to_vec(), a.im.take(&p, 0).to_vec());
    /// ```
    fn lu = try_lu() -> (Complex<Tensor>, Complex<Tensor>, Tensor);
    /// `(Q, R)` with `A = Q R`, reduced: orthonormal columns, and an upper triangular `R` whose diagonal is real and not negative.
    ///
    /// The derivative needs independent columns, of a wide matrix those of its square part.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let a = Complex::new(Tensor::from([[3.0], [0.0]]), Tensor::from([[0.0], [4.0]]));
    /// let (q, r) = a.qr();
    /// assert!((r.re.item() - 5.0).abs() < 1e-14 && (q.im.to_vec()[1] - 0.8).abs() < 1e-15);
    /// ```
    fn qr = try_qr() -> (Complex<Tensor>, Complex<Tensor>);
    /// Ascending eigenvalues of `(A + A^H) / 2`, which are real, and its eigenvectors as columns, the first component of each that
    /// is not negligible real and positive.
    ///
    /// Derivatives exist as for [`Tensor::eigh`].
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let a = Complex::new(Tensor::zeros(&[2, 2]), Tensor::from([[0.0, -1.0], [1.0, 0.0]]));
    /// let (w, v) = a.eigh();
    /// assert!((w - Tensor::from([-1.0, 1.0])).abs().max().item() < 1e-15);
    /// assert!((v.im.to_vec()[2] + 0.5f64.sqrt()).abs() < 1e-15);
    /// ```
    fn eigh = try_eigh() -> (Tensor, Complex<Tensor>);
    /// The eigenvalues of [`Complex::eigh`] alone.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let a = Complex::new(Tensor::from([[2.0, 0.0], [0.0, 2.0]]), Tensor::from([[0.0, 1.0], [-1.0, 0.0]]));
    /// assert!((a.eigvalsh() - Tensor::from([1.0, 3.0])).abs().max().item() < 1e-14);
    /// ```
    fn eigvalsh = try_eigvalsh() -> Tensor;
    /// Eigenvalues of a general matrix, ascending by real and then by imaginary part, and its right eigenvectors as columns of
    /// length 1, the first component of each that is not negligible real and positive.
    ///
    /// A derivative needs all values to be apart from each other.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let a = Complex::new(Tensor::from([[1.0, 1.0], [0.0, 2.0]]), Tensor::from([[1.0, 0.0], [0.0, 0.0]]));
    /// let (w, _) = a.eig();
    /// assert!((w.re.to_vec()[1] - 2.0).abs() < 1e-15 && (w.im.to_vec()[0] - 1.0).abs() < 1e-15);
    /// ```
    fn eig = try_eig() -> (Complex<Tensor>, Complex<Tensor>);
    /// `(T, U)`, the Schur form `A = U T U^H`: U is unitary, and T upper triangular with the eigenvalues on its diagonal, ascending
    /// by real and then by imaginary part. The first component of each column of U that is not negligible is real and positive.
    ///
    /// A derivative needs all eigenvalues to be apart from each other.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let a = Complex::new(Tensor::from([[0.0, 1.0], [-1.0, 0.0]]), Tensor::zeros(&[2, 2]));
    /// let (t, u) = a.schur();
    /// assert!((u.matmul(&t).matmul(&u.conj().t()) - &a).abs().max().item() < 1e-14);
    /// assert!((t.im.to_vec()[0] + 1.0).abs() < 1e-14);
    /// ```
    fn schur = try_schur() -> (Complex<Tensor>, Complex<Tensor>);
    /// `(U, s, V^H)` with `A = U diag(s) V^H`, reduced, and descending `s`; the first component of each column of `U` that is not
    /// negligible is real and positive.
    ///
    /// Derivatives exist as for [`Tensor::svd`], and not of the vectors of a singular value that is 0.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let a = Complex::new(Tensor::from([[1.0, 2.0], [3.0, 4.0]]), Tensor::from([[0.0, 1.0], [-1.0, 0.0]]));
    /// let (u, s, vh) = a.svd();
    /// assert!(((u * s).matmul(&vh) - &a).abs().max().item() < 1e-14);
    /// ```
    fn svd = try_svd() -> (Complex<Tensor>, Tensor, Complex<Tensor>);
    /// The singular values of [`Complex::svd`] alone.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let a = Complex::new(Tensor::from([[3.0, 0.0], [0.0, 0.0]]), Tensor::from([[4.0, 0.0], [0.0, 2.0]]));
    /// assert!((a.singular_values() - Tensor::from([5.0, 2.0])).abs().max().item() < 1e-14);
    /// ```
    fn singular_values = try_singular_values() -> Tensor;
}

impl Complex<Tensor> {
    /// The results of one operation on the parts of a matrix.
    #[track_caller]
    fn factors(
        &self,
        name: &str,
        op: impl Into<Op>,
        check: impl FnOnce(&Builder, Value) -> Result<(), Misfit>,
    ) -> Result<Vec<Tensor>, Error> {
        let z = self.aligned(name)?;
        compose_all(name, &[&z.re, &z.im], |b, args| {
            check(b, args[0])?;
            Ok(b.emit(op, args)?)
        })
    }

    /// As [`Complex::solve`], with an error instead of a panic.
    ///
    /// # Errors
    /// If shapes or element types do not fit, or the matrix is singular.
    #[track_caller]
    pub fn try_solve(&self, b: impl IntoComplex) -> Result<Complex<Tensor>, Error> {
        self.solved("solve", b, ComplexKind::General)
    }

    /// As [`Complex::solve_triangular`], with an error instead of a panic.
    ///
    /// # Errors
    /// If shapes or element types do not fit, or there is a 0 on the diagonal.
    #[track_caller]
    pub fn try_solve_triangular(&self, b: impl IntoComplex, triangle: Triangle) -> Result<Complex<Tensor>, Error> {
        let kind = match triangle {
            Triangle::Lower => ComplexKind::Lower,
            Triangle::Upper => ComplexKind::Upper,
        };
        self.solved("solve_triangular", b, kind)
    }

    #[track_caller]
    fn solved(&self, name: &str, right: impl IntoComplex, kind: ComplexKind) -> Result<Complex<Tensor>, Error> {
        let (a, right) = (self.aligned(name)?, right.into_complex().whole(name)?);
        let results = compose_all(name, &[&a.re, &a.im, &right.re, &right.im], |b, args| {
            check_square(b, args[0])?;
            let re = System::new(b, args[0], args[2], Side::Left)?;
            let im = System::new(b, args[1], args[3], Side::Left)?;
            let x = b.emit(ComplexSolve::new(kind), &[re.a, im.a, re.right, im.right])?;
            Ok(vec![re.given(b, x[0]), im.given(b, x[1])])
        })?;
        Ok(Complex::pair(results))
    }

    /// As [`Complex::inv`], with an error instead of a panic.
    ///
    /// # Errors
    /// If it is not square, not of real and imaginary numbers of one type, or singular.
    #[track_caller]
    pub fn try_inv(&self) -> Result<Complex<Tensor>, Error> {
        let z = self.aligned("inv")?;
        let results = compose_all("inv", &[&z.re, &z.im], |b, args| {
            check_square(b, args[0])?;
            let ty = b.ty(args[0]).clone();
            let (one, none) = (identity(b, &ty), b.zeros_like(args[0]));
            Ok(b.emit(ComplexSolve::new(ComplexKind::General), &[args[0], args[1], one, none])?)
        })?;
        Ok(Complex::pair(results))
    }

    /// As [`Complex::cholesky`], with an error instead of a panic.
    ///
    /// # Errors
    /// If it is no square matrix of finite numbers, or not positive definite: the error names the leading minor.
    #[track_caller]
    pub fn try_cholesky(&self) -> Result<Complex<Tensor>, Error> {
        self.factors("cholesky", ComplexCholesky, is_square).map(Complex::pair)
    }

    /// As [`Complex::lu`], with an error instead of a panic.
    ///
    /// # Errors
    /// If it is no matrix of finite numbers.
    #[track_caller]
    pub fn try_lu(&self) -> Result<(Complex<Tensor>, Complex<Tensor>, Tensor), Error> {
        let mut parts = self.factors("lu", ComplexLu, is_matrix)?;
        let order = parts.remove(4);
        let u = parts.split_off(2);
        Ok((Complex::pair(parts), Complex::pair(u), order))
    }

    /// As [`Complex::qr`], with an error instead of a panic.
    ///
    /// # Errors
    /// If it is no matrix of finite numbers.
    #[track_caller]
    pub fn try_qr(&self) -> Result<(Complex<Tensor>, Complex<Tensor>), Error> {
        let mut parts = self.factors("qr", ComplexQr, is_matrix)?;
        let r = parts.split_off(2);
        Ok((Complex::pair(parts), Complex::pair(r)))
    }

    /// As [`Complex::eigh`], with an error instead of a panic.
    ///
    /// # Errors
    /// If it is no square matrix of finite numbers.
    #[track_caller]
    pub fn try_eigh(&self) -> Result<(Tensor, Complex<Tensor>), Error> {
        let mut parts = self.factors("eigh", ComplexEigh, is_square)?;
        let w = parts.remove(0);
        Ok((w, Complex::pair(parts)))
    }

    /// As [`Complex::eigvalsh`], with an error instead of a panic.
    ///
    /// # Errors
    /// If it is no square matrix of finite numbers.
    #[track_caller]
    pub fn try_eigvalsh(&self) -> Result<Tensor, Error> {
        Ok(self.factors("eigvalsh", ComplexEigh, is_square)?.remove(0))
    }

    /// As [`Complex::eig`], with an error instead of a panic.
    ///
    /// # Errors
    /// If it is no square matrix of finite numbers.
    #[track_caller]
    pub fn try_eig(&self) -> Result<(Complex<Tensor>, Complex<Tensor>), Error> {
        let mut parts = self.factors("eig", ComplexEig, is_square)?;
        let v = parts.split_off(2);
        Ok((Complex::pair(parts), Complex::pair(v)))
    }

    /// As [`Complex::schur`], with an error instead of a panic.
    ///
    /// # Errors
    /// If it is no square matrix of finite numbers.
    #[track_caller]
    pub fn try_schur(&self) -> Result<(Complex<Tensor>, Complex<Tensor>), Error> {
        let mut parts = self.factors("schur", ComplexSchur, is_square)?;
        let u = parts.split_off(2);
        Ok((Complex::pair(parts), Complex::pair(u)))
    }

    /// As [`Complex::svd`], with an error instead of a panic.
    ///
    /// # Errors
    /// If it is no matrix of finite numbers.
    #[track_caller]
    pub fn try_svd(&self) -> Result<(Complex<Tensor>, Tensor, Complex<Tensor>), Error> {
        let mut parts = self.factors("svd", ComplexSvd, is_matrix)?;
        let s = parts.remove(2);
        let vh = parts.split_off(2);
        Ok((Complex::pair(parts), s, Complex::pair(vh)))
    }

    /// As [`Complex::singular_values`], with an error instead of a panic.
    ///
    /// # Errors
    /// If it is no matrix of finite numbers.
    #[track_caller]
    pub fn try_singular_values(&self) -> Result<Tensor, Error> {
        Ok(self.factors("singular_values", ComplexSvd, is_matrix)?.remove(2))
    }
}

fn is_matrix(b: &Builder, x: Value) -> Result<(), Misfit> {
    check_matrix(b, x).map(drop)
}

fn is_square(b: &Builder, x: Value) -> Result<(), Misfit> {
    check_square(b, x).map(drop)
}
