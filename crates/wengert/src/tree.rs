//! [`Tree`]: nested inputs and outputs; the derivative has their type.

mod constant;
mod containers;
mod form;
mod frozen;
mod paths;
mod structure;

pub use constant::Const;
pub use form::{Form, One, Several};
#[cfg(any(feature = "arrays", test))]
pub(crate) use frozen::listed;
pub use frozen::{Frozen, freeze};
pub use paths::Paths;
pub use structure::Structure;
#[doc(hidden)]
pub use structure::{Field, NotedByHash, NotedByNumber, NotedNever};
pub(crate) use structure::{check_direction, is_alike, is_one_type};

use crate::leaf::{Active, Leaf};
use crate::number::F32;
use crate::tape::Var;
#[cfg(feature = "arrays")]
use crate::tensor::Tensor;

/// Numbers in a shape: a number or `Tensor`; an array, slice or `Vec`; a tuple, `Option`, `Box` or `BTreeMap`; or a struct of
/// these with `#[derive(Tree)]`.
///
/// All leaves are of one type, `f64`, [`Var`] or `Tensor`. The order of the leaves is that of the
/// fields.
///
/// ```
/// use wengert::prelude::*;
/// let (a, b) = grad((2.0, [3.0, 4.0]), |(a, [b, c])| a * b * c);
/// assert_eq!((a, b), (12.0, [8.0, 6.0]));
/// let g: Vec<f64> = grad(vec![1.0, 2.0], |x| x.iter().map(|&x| x * x).sum());
/// assert_eq!(g, [2.0, 4.0]);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the point, a direction or the result of a driver",
    label = "not made of `f64`, `Var` or `Tensor`",
    note = "numbers are `f64`: write `2.0` for `2`, `n as f64` for an integer, `f64::from(x)` or `F32(x)` for an `f32`",
    note = "a struct or its parts: write `#[derive(Tree)]` above `struct`, with a type parameter in the place of its numbers",
    note = "an iterator becomes a list: `.collect::<Vec<_>>()`; a number on its own as a result is `lift(3.0)`"
)]
pub trait Tree {
    /// The type of the leaves.
    type Leaf: Leaf;
    /// The same with recorded leaves, [`Var`]s or `Tensor`s: what the function gets.
    type Vars;
    /// The same with leaves of the leaf type: what a derivative is.
    type Grad;
    /// The same with leaves of any type: the rows of a Jacobian, the status of every leaf.
    type Each<U>;
    /// Whether it is one leaf, as `f64` or `Tensor` ([`One`]), or a shape of several ([`Several`]), even if that holds one
    /// or none. The Jacobian of one tensor by one tensor is a tensor; between several there are blocks.
    type Form: Form;
    /// Whether there may be a [`Const`] inside. A tree that does not say may have one, which takes a driver a little longer.
    const HAS_DATA: bool = true;

    /// How many leaves there are.
    fn size(&self) -> usize;
    /// Calls `visit` with every leaf in order.
    fn for_each_leaf(&self, visit: &mut impl FnMut(Self::Leaf));
    /// Calls `visit` with every leaf in order, where it lies. Nothing is copied if the tree holds its leaves.
    fn visit_leaves(&self, visit: &mut impl FnMut(&Self::Leaf)) {
        self.for_each_leaf(&mut |leaf| visit(&leaf));
    }
    /// Notes what distinguishes this tree from others of its type with the same leaves: the lengths of its lists, and
    /// what it holds besides leaves. A tree that does not say is equal to none; see [`Structure`].
    fn structure(&self, structure: &mut Structure) {
        structure.opaque();
    }
    /// Notes the path of every leaf, in order; see [`Paths`]. A tree that does not say numbers its leaves.
    fn paths(&self, paths: &mut Paths) {
        paths.numbered(self.size());
    }
    /// The same with every leaf, in order, turned into a recorded one by `lift`.
    fn vars(&self, lift: &mut impl FnMut(Self::Leaf) -> Active<Self>) -> Self::Vars;
    /// The same with leaves from `next`, in order.
    fn grad(&self, next: &mut impl FnMut() -> Self::Leaf) -> Self::Grad;
    /// The same with leaves from `next`, in order.
    fn each<U>(&self, next: &mut impl FnMut() -> U) -> Self::Each<U>;

    /// Every leaf with its path, in order: what other libraries call named parameters.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let model = (Tensor::zeros(&[2, 3]), vec![Tensor::zeros(&[3])]);
    /// let sizes: Vec<_> = model.named_leaves().iter().map(|(path, x)| format!("{path}: {}", x.size())).collect();
    /// assert_eq!(sizes, ["0: 6", "1.0: 3"]);
    /// ```
    #[doc(alias("named_parameters", "tree_flatten_with_path"))]
    #[track_caller]
    fn named_leaves(&self) -> Vec<(String, Self::Leaf)> {
        Paths::of(self).iter().map(str::to_owned).zip(leaves(self)).collect()
    }

    /// The tree of `f` of every path and leaf.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let model = (Tensor::from([1.0, 2.0]), vec![Tensor::from([3.0])]);
    /// let model = model.map_leaves(|path, x| if path == "0" { x * 10.0 } else { x });
    /// assert_eq!((model.0.to_vec(), model.1[0].to_vec()), (vec![10.0, 20.0], vec![3.0]));
    /// ```
    #[doc(alias("tree_map", "tree_map_with_path"))]
    #[track_caller]
    fn map_leaves(&self, mut f: impl FnMut(&str, Self::Leaf) -> Self::Leaf) -> Self::Grad {
        let paths = Paths::of(self);
        let mut results = leaves(self).into_iter().enumerate();
        self.grad(&mut || {
            let (k, leaf) = results.next().expect("one per leaf");
            f(paths.get(k), leaf)
        })
    }
}

/// The leaves of a tree, in order.
pub(crate) fn leaves<T: Tree + ?Sized>(tree: &T) -> Vec<T::Leaf> {
    let mut leaves = Vec::with_capacity(tree.size());
    tree.for_each_leaf(&mut |leaf| leaves.push(leaf));
    leaves
}

/// Panics if a direction does not have as many leaves as the point, which are of type `L`.
#[track_caller]
pub(crate) fn check_size<L: Leaf>(driver: &str, what: &str, wanted: usize, got: usize) {
    let leaves = L::MANY;
    assert!(wanted == got, "`{driver}`: the {what} has {got} {leaves} where {wanted} are needed");
}

macro_rules! leaf {
    ($scalar:ty, $active:ty) => {
        impl Tree for $scalar {
            type Leaf = $scalar;
            type Vars = $active;
            type Grad = $scalar;
            type Each<U> = U;
            type Form = One;
            const HAS_DATA: bool = false;

            #[cfg_attr(not(debug_assertions), inline(always))]
            fn size(&self) -> usize {
                1
            }
            #[cfg_attr(not(debug_assertions), inline(always))]
            fn for_each_leaf(&self, visit: &mut impl FnMut($scalar)) {
                visit(self.clone());
            }
            fn visit_leaves(&self, visit: &mut impl FnMut(&$scalar)) {
                visit(self);
            }
            fn structure(&self, _structure: &mut Structure) {}
            fn paths(&self, paths: &mut Paths) {
                paths.leaf();
            }
            #[cfg_attr(not(debug_assertions), inline(always))]
            fn vars(&self, lift: &mut impl FnMut($scalar) -> $active) -> $active {
                lift(self.clone())
            }
            #[cfg_attr(not(debug_assertions), inline(always))]
            fn grad(&self, next: &mut impl FnMut() -> $scalar) -> $scalar {
                next()
            }
            #[cfg_attr(not(debug_assertions), inline(always))]
            fn each<U>(&self, next: &mut impl FnMut() -> U) -> U {
                next()
            }
        }
    };
}
leaf!(f64, Var);
leaf!(Var, Var);
#[cfg(feature = "arrays")]
leaf!(Tensor, Tensor);

/// Single precision outside, double precision inside: a derivative is rounded once.
impl Tree for F32 {
    type Leaf = f64;
    type Vars = Var;
    type Grad = F32;
    type Each<U> = U;
    type Form = One;
    const HAS_DATA: bool = false;

    fn size(&self) -> usize {
        1
    }
    fn for_each_leaf(&self, visit: &mut impl FnMut(f64)) {
        visit(f64::from(self.0));
    }
    fn structure(&self, _structure: &mut Structure) {}
    fn paths(&self, paths: &mut Paths) {
        paths.leaf();
    }
    fn vars(&self, lift: &mut impl FnMut(f64) -> Var) -> Var {
        lift(f64::from(self.0))
    }
    fn grad(&self, next: &mut impl FnMut() -> f64) -> F32 {
        F32(next() as f32)
    }
    fn each<U>(&self, next: &mut impl FnMut() -> U) -> U {
        next()
    }
}

impl<T: Tree, const N: usize> Tree for [T; N] {
    type Leaf = T::Leaf;
    type Vars = [T::Vars; N];
    type Grad = [T::Grad; N];
    type Each<U> = [T::Each<U>; N];
    type Form = Several;
    const HAS_DATA: bool = T::HAS_DATA;

    fn size(&self) -> usize {
        self.iter().map(Tree::size).sum()
    }
    fn for_each_leaf(&self, visit: &mut impl FnMut(T::Leaf)) {
        self.iter().for_each(|item| item.for_each_leaf(visit));
    }
    fn visit_leaves(&self, visit: &mut impl FnMut(&T::Leaf)) {
        self.iter().for_each(|item| item.visit_leaves(visit));
    }
    fn structure(&self, structure: &mut Structure) {
        structure.number(self.len());
        self.iter().for_each(|item| item.structure(structure));
    }
    fn paths(&self, paths: &mut Paths) {
        self.iter().enumerate().for_each(|(k, item)| paths.field(k, item));
    }
    fn vars(&self, lift: &mut impl FnMut(Self::Leaf) -> Active<Self>) -> Self::Vars {
        std::array::from_fn(|k| self[k].vars(lift))
    }
    fn grad(&self, next: &mut impl FnMut() -> T::Leaf) -> Self::Grad {
        std::array::from_fn(|k| self[k].grad(next))
    }
    fn each<U>(&self, next: &mut impl FnMut() -> U) -> Self::Each<U> {
        std::array::from_fn(|k| self[k].each(next))
    }
}

impl<T: Tree> Tree for [T] {
    type Leaf = T::Leaf;
    type Vars = Vec<T::Vars>;
    type Grad = Vec<T::Grad>;
    type Each<U> = Vec<T::Each<U>>;
    type Form = Several;
    const HAS_DATA: bool = T::HAS_DATA;

    fn size(&self) -> usize {
        self.iter().map(Tree::size).sum()
    }
    fn for_each_leaf(&self, visit: &mut impl FnMut(T::Leaf)) {
        self.iter().for_each(|item| item.for_each_leaf(visit));
    }
    fn visit_leaves(&self, visit: &mut impl FnMut(&T::Leaf)) {
        self.iter().for_each(|item| item.visit_leaves(visit));
    }
    fn structure(&self, structure: &mut Structure) {
        structure.number(self.len());
        self.iter().for_each(|item| item.structure(structure));
    }
    fn paths(&self, paths: &mut Paths) {
        self.iter().enumerate().for_each(|(k, item)| paths.field(k, item));
    }
    fn vars(&self, lift: &mut impl FnMut(Self::Leaf) -> Active<Self>) -> Self::Vars {
        self.iter().map(|item| item.vars(lift)).collect()
    }
    fn grad(&self, next: &mut impl FnMut() -> T::Leaf) -> Self::Grad {
        self.iter().map(|item| item.grad(next)).collect()
    }
    fn each<U>(&self, next: &mut impl FnMut() -> U) -> Self::Each<U> {
        self.iter().map(|item| item.each(next)).collect()
    }
}

/// What is a tree behind a pointer is the same tree.
macro_rules! pointer {
    ([$($generics:tt)*] $pointer:ty, $target:ty) => {
        impl<$($generics)*> Tree for $pointer {
            type Leaf = <$target as Tree>::Leaf;
            type Vars = <$target as Tree>::Vars;
            type Grad = <$target as Tree>::Grad;
            type Each<U> = <$target as Tree>::Each<U>;
            type Form = <$target as Tree>::Form;
            const HAS_DATA: bool = <$target as Tree>::HAS_DATA;

            fn size(&self) -> usize {
                <$target>::size(self)
            }
            fn for_each_leaf(&self, visit: &mut impl FnMut(Self::Leaf)) {
                <$target>::for_each_leaf(self, visit);
            }
            fn visit_leaves(&self, visit: &mut impl FnMut(&Self::Leaf)) {
                <$target>::visit_leaves(self, visit);
            }
            fn structure(&self, structure: &mut Structure) {
                <$target>::structure(self, structure);
            }
            fn paths(&self, paths: &mut Paths) {
                <$target>::paths(self, paths);
            }
            fn vars(&self, lift: &mut impl FnMut(Self::Leaf) -> Active<Self>) -> Self::Vars {
                <$target>::vars(self, lift)
            }
            fn grad(&self, next: &mut impl FnMut() -> Self::Leaf) -> Self::Grad {
                <$target>::grad(self, next)
            }
            fn each<U>(&self, next: &mut impl FnMut() -> U) -> Self::Each<U> {
                <$target>::each(self, next)
            }
        }
    };
}
pointer!([T: Tree + ?Sized] &T, T);
pointer!([T: Tree] Vec<T>, [T]);

macro_rules! tuple {
    ($first:ident $first_index:tt $($name:ident $index:tt)*) => {
        impl<$first: Tree, $($name: Tree<Leaf = $first::Leaf>),*> Tree for ($first, $($name,)*) {
            type Leaf = $first::Leaf;
            type Vars = ($first::Vars, $($name::Vars,)*);
            type Grad = ($first::Grad, $($name::Grad,)*);
            type Each<U> = ($first::Each<U>, $($name::Each<U>,)*);
            type Form = Several;
            const HAS_DATA: bool = $first::HAS_DATA $(|| $name::HAS_DATA)*;

            fn size(&self) -> usize {
                self.$first_index.size() $(+ self.$index.size())*
            }
            fn for_each_leaf(&self, visit: &mut impl FnMut(Self::Leaf)) {
                self.$first_index.for_each_leaf(visit);
                $(self.$index.for_each_leaf(visit);)*
            }
            fn visit_leaves(&self, visit: &mut impl FnMut(&Self::Leaf)) {
                self.$first_index.visit_leaves(visit);
                $(self.$index.visit_leaves(visit);)*
            }
            fn structure(&self, structure: &mut Structure) {
                self.$first_index.structure(structure);
                $(self.$index.structure(structure);)*
            }
            fn paths(&self, paths: &mut Paths) {
                paths.field($first_index, &self.$first_index);
                $(paths.field($index, &self.$index);)*
            }
            fn vars(&self, lift: &mut impl FnMut(Self::Leaf) -> Active<Self>) -> Self::Vars {
                (self.$first_index.vars(lift), $(self.$index.vars(lift),)*)
            }
            fn grad(&self, next: &mut impl FnMut() -> Self::Leaf) -> Self::Grad {
                (self.$first_index.grad(next), $(self.$index.grad(next),)*)
            }
            fn each<U>(&self, next: &mut impl FnMut() -> U) -> Self::Each<U> {
                (self.$first_index.each(next), $(self.$index.each(next),)*)
            }
        }
    };
}
tuple!(A 0);
tuple!(A 0 B 1);
tuple!(A 0 B 1 C 2);
tuple!(A 0 B 1 C 2 D 3);
tuple!(A 0 B 1 C 2 D 3 E 4);
tuple!(A 0 B 1 C 2 D 3 E 4 F 5);
tuple!(A 0 B 1 C 2 D 3 E 4 F 5 G 6);
tuple!(A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7);
