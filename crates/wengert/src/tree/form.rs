//! [`Form`]: whether a tree is one leaf or a shape of several.

/// Whether a [`Tree`](crate::Tree) is one leaf, [`One`], or a shape of leaves, [`Several`].
///
/// In code that is generic over a tree of tensors, the Jacobian of either kind is had as blocks by a tuple of one:
///
/// ```
/// # #[cfg(feature = "arrays")] {
/// use wengert::prelude::*;
/// fn rank<T: Tree<Leaf = Tensor>>(x: T, f: impl Fn(T::Vars) -> Tensor) -> usize {
///     jacobian((x,), |(x,)| f(x)).dense().shape().len()
/// }
/// assert_eq!(rank(&Tensor::zeros(&[2, 3]), |x| x.sum()), 2);
/// assert_eq!(rank([Tensor::zeros(&[2]), Tensor::zeros(&[3])], |[x, y]| x.sum() * y), 2);
/// # }
/// ```
///
/// Sealed: implemented for these two.
pub trait Form: Sealed {
    /// The first type for one leaf, the second for several.
    type Choose<A, B>;
    /// Whether it is one leaf.
    #[doc(hidden)]
    const IS_LEAF: bool;

    /// What is made of `from` for one leaf, or for several.
    fn choose<S, A, B>(from: S, one: impl FnOnce(S) -> A, several: impl FnOnce(S) -> B) -> Self::Choose<A, B>;
}

/// One leaf: the [`Form`] of a number and of a tensor.
#[derive(Clone, Copy, Debug)]
pub enum One {}

/// Any number of leaves in a shape: the [`Form`] of arrays, lists, tuples and structs.
#[derive(Clone, Copy, Debug)]
pub enum Several {}

/// The seal.
pub trait Sealed {}
impl Sealed for One {}
impl Sealed for Several {}

impl Form for One {
    type Choose<A, B> = A;
    const IS_LEAF: bool = true;

    fn choose<S, A, B>(from: S, one: impl FnOnce(S) -> A, _: impl FnOnce(S) -> B) -> A {
        one(from)
    }
}

impl Form for Several {
    type Choose<A, B> = B;
    const IS_LEAF: bool = false;

    fn choose<S, A, B>(from: S, _: impl FnOnce(S) -> A, several: impl FnOnce(S) -> B) -> B {
        several(from)
    }
}
