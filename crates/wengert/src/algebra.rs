//! [`TreeMath`]: trees as vectors. Optimisers and solvers need a sum, a multiple, a scalar product; none of them needs to
//! know how the parameters are arranged.

use std::ops::{Add, Neg, Sub};
use std::panic::Location;

#[cfg(feature = "arrays")]
use crate::array::DType;
#[cfg(feature = "arrays")]
use crate::error::OrRaise;
use crate::leaf::Leaf;
use crate::real::Real;
use crate::tape::Var;
#[cfg(feature = "arrays")]
use crate::tensor::Tensor;
#[cfg(feature = "arrays")]
use crate::tensor::twins::TryConstruct;
use crate::tree::{Tree, leaves};

/// A tree as a vector of all its numbers: parameters, gradients, directions.
///
/// Every [`Tree`] whose derivative is of its own type has these methods: numbers and tensors, arrays, tuples and `Vec`s
/// of them, and structs with `#[derive(Tree)]`, which have `+`, `-` and products with `f64` besides. It is not in the
/// prelude, because others call their methods `dot` and `norm` too.
///
/// ```
/// use wengert::TreeMath;
/// use wengert::prelude::*;
///
/// #[derive(Tree)]
/// struct Layer {
///     weights: Tensor,
///     bias: Tensor,
/// }
///
/// let layer = Layer { weights: Tensor::from([[1.0, -2.0], [0.5, 3.0]]), bias: Tensor::from([0.25, 0.0]) };
/// let x = Tensor::from([1.0, 2.0]);
/// let gradient = grad(&layer, |l| (l.weights * &x).sum() + l.bias.sum());
/// assert_eq!(gradient.dot(&gradient).item(), 2.0 * (1.0 + 4.0) + 2.0);
///
/// let layer = layer - 0.5 * gradient;
/// assert_eq!(layer.bias.to_vec(), [-0.25, -0.5]);
/// ```
///
/// # Panics
/// Methods of two trees panic if these differ in the number of leaves or in the shape of one.
pub trait TreeMath: Tree<Grad = Self, Leaf: LeafMath> + Sized {
    /// The same tree of zeros: the vector that sums start from.
    #[track_caller]
    fn zeros_like(&self) -> Self {
        let mut results = leaves(self);
        for leaf in &mut results {
            *leaf = leaf.zero();
        }
        rebuilt(self, results)
    }

    /// The scalar product, `sum_k x_k y_k`, as a leaf: for tensors a single number in double precision, whatever their
    /// element type, which can be differentiated.
    #[track_caller]
    fn dot(&self, other: &Self) -> Self::Leaf {
        let (x, y): (Vec<_>, Vec<_>) = pairs("dot", self, other).unzip();
        <Self::Leaf as LeafMath>::dot(&x, &y)
    }

    /// The Euclidean norm, `sqrt(sum_k x_k^2)`, as a leaf; its derivative at zero is 0.
    #[track_caller]
    fn norm(&self) -> Self::Leaf {
        <Self::Leaf as LeafMath>::norm(&leaves(self))
    }

    /// Every number times `factor`; also written `tree * factor` of a derived struct.
    #[track_caller]
    fn scaled(&self, factor: f64) -> Self {
        let mut results = leaves(self);
        for leaf in &mut results {
            *leaf = leaf.times(factor);
        }
        rebuilt(self, results)
    }

    /// The tree of `f` of every leaf.
    fn map(&self, mut f: impl FnMut(Self::Leaf) -> Self::Leaf) -> Self {
        let mut results = leaves(self).into_iter();
        self.grad(&mut || f(results.next().expect("one per leaf")))
    }

    /// The tree of `f` of every two leaves at the same place.
    #[track_caller]
    fn map2(&self, other: &Self, mut f: impl FnMut(Self::Leaf, Self::Leaf) -> Self::Leaf) -> Self {
        let mut pairs = pairs("map2", self, other);
        self.grad(&mut || {
            let (x, y) = pairs.next().expect("one per leaf");
            f(x, y)
        })
    }

    /// `self + other`, as derived structs write it.
    #[doc(hidden)]
    #[track_caller]
    fn plus(&self, other: &Self) -> Self {
        let mut results = Vec::with_capacity(self.size());
        for (x, y) in pairs("add", self, other) {
            results.push(x + y);
        }
        rebuilt(self, results)
    }

    /// `self - other`, as derived structs write it.
    #[doc(hidden)]
    #[track_caller]
    fn minus(&self, other: &Self) -> Self {
        let mut results = Vec::with_capacity(self.size());
        for (x, y) in pairs("sub", self, other) {
            results.push(x - y);
        }
        rebuilt(self, results)
    }

    /// `-self`, as derived structs write it.
    #[doc(hidden)]
    #[track_caller]
    fn negated(&self) -> Self {
        let mut results = Vec::with_capacity(self.size());
        for leaf in leaves(self) {
            results.push(-leaf);
        }
        rebuilt(self, results)
    }
}

impl<T: Tree<Grad = T, Leaf: LeafMath>> TreeMath for T {}

/// What [`TreeMath`] asks of a leaf.
///
/// Sealed: implemented for `f64`, [`Var`] and `Tensor`.
pub trait LeafMath: Leaf + Add<Output = Self> + Sub<Output = Self> + Neg<Output = Self> {
    /// Zero of the same shape.
    #[doc(hidden)]
    #[track_caller]
    fn zero(&self) -> Self;
    /// The multiple.
    #[doc(hidden)]
    #[track_caller]
    fn times(&self, factor: f64) -> Self;
    /// The lengths of the axes.
    #[doc(hidden)]
    fn lengths(&self) -> &[usize];
    /// See [`TreeMath::dot`].
    #[doc(hidden)]
    #[track_caller]
    fn dot(x: &[Self], y: &[Self]) -> Self;
    /// See [`TreeMath::norm`].
    #[doc(hidden)]
    #[track_caller]
    fn norm(x: &[Self]) -> Self;
}

/// The leaves of two trees at the same places.
///
/// # Panics
/// If the trees are not of the same shape: nothing is stretched to fit.
#[track_caller]
fn pairs<T: TreeMath>(operation: &str, x: &T, y: &T) -> impl Iterator<Item = (T::Leaf, T::Leaf)> {
    let (x, y) = (leaves(x), leaves(y));
    let (left, right) = (x.len(), y.len());
    assert!(left == right, "`{operation}`: the trees have {left} and {right} leaves, and have to be alike");
    let misfit = x.iter().zip(&y).position(|(x, y)| x.lengths() != y.lengths());
    if let Some(k) = misfit {
        let (left, right) = (x[k].lengths(), y[k].lengths());
        let line = Location::caller();
        panic!(
            "`{operation}` at {line}: leaf {k} of the trees has the shapes {left:?} and {right:?}, which have to be equal"
        );
    }
    x.into_iter().zip(y)
}

/// The tree with these leaves in the places of its own.
fn rebuilt<T: TreeMath>(tree: &T, leaves: Vec<T::Leaf>) -> T {
    let mut leaves = leaves.into_iter();
    tree.grad(&mut || leaves.next().expect("one per leaf"))
}

macro_rules! scalar {
    ($scalar:ty, $norm:expr) => {
        impl LeafMath for $scalar {
            fn zero(&self) -> Self {
                Real::constant(0.0)
            }
            fn times(&self, factor: f64) -> Self {
                *self * factor
            }
            fn lengths(&self) -> &[usize] {
                &[]
            }
            fn dot(x: &[Self], y: &[Self]) -> Self {
                x.iter().zip(y).map(|(&x, &y)| x * y).sum()
            }
            fn norm(x: &[Self]) -> Self {
                $norm(x.iter().map(|&x| x * x).sum())
            }
        }
    };
}
scalar!(f64, f64::sqrt);
scalar!(Var, |squares: Var| {
    let zero: Var = Real::constant(0.0);
    Var::select(squares.equal(zero), zero, squares.sqrt())
});

#[cfg(feature = "arrays")]
impl LeafMath for Tensor {
    fn zero(&self) -> Self {
        Tensor::try_zeros_of(self.dtype(), self.shape()).or_raise()
    }
    fn times(&self, factor: f64) -> Self {
        self * factor
    }
    fn lengths(&self) -> &[usize] {
        self.shape()
    }
    fn dot(x: &[Self], y: &[Self]) -> Self {
        let mut sum = Tensor::from(0.0);
        for (x, y) in x.iter().zip(y) {
            sum += (x.convert(DType::F64) * y.convert(DType::F64)).sum();
        }
        sum
    }
    fn norm(x: &[Self]) -> Self {
        let flat: Vec<Tensor> = x.iter().map(|x| x.convert(DType::F64).flatten()).collect();
        match flat.iter().collect::<Vec<_>>()[..] {
            [] => Tensor::from(0.0),
            // As one vector: its norm neither overflows nor has a kink where one leaf is zero.
            ref parts => Tensor::concat(parts, 0).norm(),
        }
    }
}
