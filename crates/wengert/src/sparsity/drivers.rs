//! The drivers of sparse derivatives: [`sparse_jacobian`], [`sparse_hessian`] and [`sparse_hessian_of_lagrangian`], at points
//! of numbers and of tensors.

#[cfg(feature = "arrays")]
mod tensor;

#[cfg(feature = "arrays")]
pub use self::tensor::SparseTensor;
use super::Csr;
use crate::leaf::{Active, Leaf};
use crate::record::record_at;
use crate::tape::Var;
use crate::tree::{Tree, leaves};

/// A leaf whose functions have sparse derivatives: `f64` and `Tensor`.
///
/// Sealed, as [`Leaf`] is.
pub trait SparseLeaf: Leaf {
    /// A sparse matrix with entries of this kind.
    type Matrix;

    /// See [`sparse_jacobian`].
    #[doc(hidden)]
    #[track_caller]
    fn sparse_jacobian<T, O>(x: &T, f: impl Fn(T::Vars) -> O) -> Self::Matrix
    where
        T: Tree<Leaf = Self>,
        O: Tree<Leaf = Self::Active>;

    /// See [`sparse_hessian`].
    #[doc(hidden)]
    #[track_caller]
    fn sparse_hessian<T: Tree<Leaf = Self>>(x: &T, f: impl Fn(T::Vars) -> Self::Active) -> Self::Matrix;

    /// See [`sparse_hessian_of_lagrangian`].
    #[doc(hidden)]
    #[track_caller]
    fn sparse_hessian_of_lagrangian<T, O>(
        x: &T,
        sigma: f64,
        lambda: &[f64],
        f: impl Fn(T::Vars) -> (Self::Active, O),
    ) -> Self::Matrix
    where
        T: Tree<Leaf = Self>,
        O: Tree<Leaf = Self::Active>;
}

/// The Jacobian as a sparse matrix: a row for each number of the result, a column for each number of the point, leaf after leaf.
///
/// At a point of numbers the pattern is that of the path which `f` takes there, and the matrix a [`Csr`]. At a point of tensors
/// it holds everywhere, and the values are a tensor ([`SparseTensor`]), which other drivers differentiate. To evaluate the same
/// derivative at many points, prepare it: [`Sparse`](super::Sparse), or a [recorded function](crate::record).
///
/// ```
/// use wengert::sparsity::sparse_jacobian;
/// use wengert::Tensor;
/// let j = sparse_jacobian([2.0, 3.0, 0.0], |[x, y, z]| [x * y, z.sin()]);
/// assert_eq!((j.pattern().row(0), j.values()), (&[0, 1][..], &[3.0, 2.0, 1.0][..]));
/// let j = sparse_jacobian(Tensor::from([1.0, 2.0, 4.0]), |x| x.slice(1..3) * x.slice(0..2));
/// assert_eq!(j.to_csr().values(), [2.0, 1.0, 4.0, 2.0]);
/// ```
///
/// # Panics
/// If an operation has no derivative, or a leaf is not real.
#[track_caller]
pub fn sparse_jacobian<T, O>(x: T, f: impl Fn(T::Vars) -> O) -> <T::Leaf as SparseLeaf>::Matrix
where
    T: Tree<Leaf: SparseLeaf>,
    O: Tree<Leaf = Active<T>>,
{
    T::Leaf::sparse_jacobian(&x, f)
}

/// The Hessian of a scalar function as a sparse matrix, both triangles; see [`sparse_jacobian`].
///
/// ```
/// use wengert::sparsity::sparse_hessian;
/// let h = sparse_hessian([1.0, 2.0, 3.0], |[x, y, z]| x * y + z * z);
/// assert_eq!(h.to_dense(), [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 2.0]]);
/// ```
///
/// # Panics
/// As [`sparse_jacobian`], and if the function of tensors does not give a single number.
#[track_caller]
pub fn sparse_hessian<T: Tree<Leaf: SparseLeaf>>(
    x: T,
    f: impl Fn(T::Vars) -> Active<T>,
) -> <T::Leaf as SparseLeaf>::Matrix {
    T::Leaf::sparse_hessian(&x, f)
}

/// The Hessian of the Lagrangian `sigma f + Σ lambda_k c_k` of a function that gives an objective and constraints, whose numbers
/// are counted leaf after leaf: what interior point methods ask for.
///
/// ```
/// use wengert::sparsity::sparse_hessian_of_lagrangian;
/// let h = sparse_hessian_of_lagrangian([1.0, 2.0], 0.5, &[3.0], |[x, y]| (x * x, [x * y]));
/// assert_eq!(h.to_dense(), [[1.0, 3.0], [3.0, 0.0]]);
/// ```
///
/// # Panics
/// As [`sparse_hessian`], and if `lambda` does not have a number for each constraint.
#[track_caller]
pub fn sparse_hessian_of_lagrangian<T, O>(
    x: T,
    sigma: f64,
    lambda: &[f64],
    f: impl Fn(T::Vars) -> (Active<T>, O),
) -> <T::Leaf as SparseLeaf>::Matrix
where
    T: Tree<Leaf: SparseLeaf>,
    O: Tree<Leaf = Active<T>>,
{
    T::Leaf::sparse_hessian_of_lagrangian(&x, sigma, lambda, f)
}

impl SparseLeaf for f64 {
    type Matrix = Csr;

    fn sparse_jacobian<T, O>(x: &T, f: impl Fn(T::Vars) -> O) -> Csr
    where
        T: Tree<Leaf = f64>,
        O: Tree<Leaf = Var>,
    {
        let point = leaves(x);
        record_at(x, f).sparse_jacobian(point)
    }

    fn sparse_hessian<T: Tree<Leaf = f64>>(x: &T, f: impl Fn(T::Vars) -> Var) -> Csr {
        let point = leaves(x);
        record_at(x, f).sparse_hessian(point)
    }

    fn sparse_hessian_of_lagrangian<T, O>(x: &T, sigma: f64, lambda: &[f64], f: impl Fn(T::Vars) -> (Var, O)) -> Csr
    where
        T: Tree<Leaf = f64>,
        O: Tree<Leaf = Var>,
    {
        let point = leaves(x);
        record_at(x, f).sparse_hessian_of_lagrangian(point, sigma, lambda.to_vec())
    }
}
