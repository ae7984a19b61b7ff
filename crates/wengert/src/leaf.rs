//! [`Leaf`]: the numbers a driver works on, and what every driver does with them.
//!
//! Plain numbers and variables are swept on the tape, tensors become Programs; the drivers in
//! [`crate::api`] ask the leaf.

use std::fmt::Debug;

use crate::tree::Tree;

/// The recorded leaf of a tree: what its function computes with.
pub type Active<T> = <<T as Tree>::Leaf as Leaf>::Active;

/// What the leaves of a [`Tree`] can be: `f64`, [`Var`](crate::Var), `Tensor`.
///
/// Sealed: implemented for these three.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a leaf of a point",
    label = "leaves are `f64`, `Var` or `Tensor`",
    note = "a driver takes trees of these: an array, `Vec`, tuple, or a struct with `#[derive(Tree)]`; `f32` is `F32(x)` or `f64::from(x)`"
)]
pub trait Leaf: Clone + Debug + Drive + 'static {
    /// The leaf that the function gets and gives.
    type Active: Leaf;
    /// The result of a function, with leaves of this type.
    type Out<O: Tree<Leaf = Self::Active>>;
    /// A Jacobian: the result with a gradient in place of every number; of tensors one tensor, or blocks.
    type Jacobian<T: Tree<Leaf = Self>, O: Tree<Leaf = Self::Active>>;
    /// A Hessian: the point with a gradient in place of every number; of tensors one tensor, or blocks.
    type Hessian<T: Tree<Leaf = Self>>;
    /// A linearised function, kept for its transpose.
    type Held: Clone + Debug;
}

/// The part of [`Leaf`] that is ours: one method per driver.
pub trait Drive: Sized {
    /// What messages call several of them.
    const MANY: &'static str;

    /// The same numbers, through which no derivative flows.
    #[must_use]
    #[track_caller]
    fn severed(self) -> Self;

    /// See [`crate::value_and_grad`].
    #[track_caller]
    fn value_and_grad<T>(x: &T, f: impl FnOnce(T::Vars) -> Self::Active) -> (Self, T::Grad)
    where
        Self: Leaf,
        T: Tree<Leaf = Self>;

    /// See [`crate::grad`].
    #[track_caller]
    fn grad<T>(x: &T, f: impl FnOnce(T::Vars) -> Self::Active) -> T::Grad
    where
        Self: Leaf,
        T: Tree<Leaf = Self>;

    /// See [`crate::value_and_grad_aux`].
    #[track_caller]
    fn value_and_grad_aux<T, A>(x: &T, f: impl FnOnce(T::Vars) -> (Self::Active, A)) -> (Self, Self::Out<A>, T::Grad)
    where
        Self: Leaf,
        T: Tree<Leaf = Self>,
        A: Tree<Leaf = Self::Active>;

    /// See [`crate::jvp`].
    #[track_caller]
    fn jvp<T, O>(x: &T, tangent: &[Self], f: impl FnOnce(T::Vars) -> O) -> (Self::Out<O>, Self::Out<O>)
    where
        Self: Leaf,
        T: Tree<Leaf = Self>,
        O: Tree<Leaf = Self::Active>;

    /// See [`crate::vjp`].
    #[track_caller]
    fn hold<T, O>(x: &T, f: impl FnOnce(T::Vars) -> O) -> (Self::Out<O>, Self::Held)
    where
        Self: Leaf,
        T: Tree<Leaf = Self>,
        O: Tree<Leaf = Self::Active>;

    /// See [`crate::Pullback::pull`].
    #[track_caller]
    fn pull<T>(x: &T, held: &Self::Held, cotangent: &[Self]) -> T::Grad
    where
        Self: Leaf,
        T: Tree<Leaf = Self>;

    /// See [`crate::jacobian`].
    #[track_caller]
    fn jacobian<T, O>(x: &T, f: impl FnOnce(T::Vars) -> O) -> Self::Jacobian<T, O>
    where
        Self: Leaf,
        T: Tree<Leaf = Self>,
        O: Tree<Leaf = Self::Active>;

    /// See [`crate::value_and_jacobian`].
    #[track_caller]
    fn value_and_jacobian<T, O>(x: &T, f: impl FnOnce(T::Vars) -> O) -> (Self::Out<O>, Self::Jacobian<T, O>)
    where
        Self: Leaf,
        T: Tree<Leaf = Self>,
        O: Tree<Leaf = Self::Active>;

    /// See [`crate::hessian`].
    #[track_caller]
    fn hessian<T>(x: &T, f: impl FnOnce(T::Vars) -> Self::Active) -> Self::Hessian<T>
    where
        Self: Leaf,
        T: Tree<Leaf = Self>;

    /// See [`crate::value_grad_and_hessian`].
    #[track_caller]
    fn value_grad_and_hessian<T>(x: &T, f: impl FnOnce(T::Vars) -> Self::Active) -> (Self, T::Grad, Self::Hessian<T>)
    where
        Self: Leaf,
        T: Tree<Leaf = Self>;

    /// See [`crate::value_grad_and_hvp`].
    #[track_caller]
    fn value_grad_and_hvp<T>(
        x: &T,
        vector: &[Self],
        f: impl FnOnce(T::Vars) -> Self::Active,
    ) -> (Self, T::Grad, T::Grad)
    where
        Self: Leaf,
        T: Tree<Leaf = Self>;

    /// See [`crate::hvp`].
    #[track_caller]
    fn hvp<T>(x: &T, vector: &[Self], f: impl FnOnce(T::Vars) -> Self::Active) -> T::Grad
    where
        Self: Leaf,
        T: Tree<Leaf = Self>;
}
