//! What may hold a tree besides lists and tuples: `Option`, `Box`, and maps that are in order; and keys of random numbers.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::hash::Hash;

#[cfg(feature = "arrays")]
use super::One;
use super::{Paths, Several, Structure, Tree};
#[cfg(feature = "arrays")]
use crate::error::OrRaise;
use crate::leaf::Active;
#[cfg(feature = "arrays")]
use crate::tensor::{Key, Tensor};

/// A part that may be missing: without leaves then.
///
/// ```
/// use wengert::prelude::*;
/// let line = |x: f64| move |(a, b): (Var, Option<Var>)| a * x + b.unwrap_or(0.0.into());
/// assert_eq!(grad((2.0, Some(1.0)), line(3.0)), (3.0, Some(1.0)));
/// assert_eq!(grad((2.0, None::<f64>), line(3.0)), (3.0, None));
/// ```
impl<T: Tree> Tree for Option<T> {
    type Leaf = T::Leaf;
    type Vars = Option<T::Vars>;
    type Grad = Option<T::Grad>;
    type Form = Several;
    type Each<U> = Option<T::Each<U>>;
    const HAS_DATA: bool = T::HAS_DATA;

    fn size(&self) -> usize {
        self.as_ref().map_or(0, Tree::size)
    }
    fn for_each_leaf(&self, visit: &mut impl FnMut(T::Leaf)) {
        self.iter().for_each(|tree| tree.for_each_leaf(visit));
    }
    fn visit_leaves(&self, visit: &mut impl FnMut(&T::Leaf)) {
        self.iter().for_each(|tree| tree.visit_leaves(visit));
    }
    fn structure(&self, structure: &mut Structure) {
        structure.value(&self.is_some());
        self.iter().for_each(|tree| tree.structure(structure));
    }
    fn paths(&self, paths: &mut Paths) {
        self.iter().for_each(|tree| tree.paths(paths));
    }
    fn vars(&self, lift: &mut impl FnMut(T::Leaf) -> Active<Self>) -> Self::Vars {
        self.as_ref().map(|tree| tree.vars(lift))
    }
    fn grad(&self, next: &mut impl FnMut() -> T::Leaf) -> Self::Grad {
        self.as_ref().map(|tree| tree.grad(next))
    }
    fn each<U>(&self, next: &mut impl FnMut() -> U) -> Self::Each<U> {
        self.as_ref().map(|tree| tree.each(next))
    }
}

impl<T: Tree> Tree for Box<T> {
    type Leaf = T::Leaf;
    type Vars = Box<T::Vars>;
    type Grad = Box<T::Grad>;
    type Form = Several;
    type Each<U> = Box<T::Each<U>>;
    const HAS_DATA: bool = T::HAS_DATA;

    fn size(&self) -> usize {
        T::size(self)
    }
    fn for_each_leaf(&self, visit: &mut impl FnMut(T::Leaf)) {
        T::for_each_leaf(self, visit);
    }
    fn visit_leaves(&self, visit: &mut impl FnMut(&T::Leaf)) {
        T::visit_leaves(self, visit);
    }
    fn structure(&self, structure: &mut Structure) {
        T::structure(self, structure);
    }
    fn paths(&self, paths: &mut Paths) {
        T::paths(self, paths);
    }
    fn vars(&self, lift: &mut impl FnMut(T::Leaf) -> Active<Self>) -> Self::Vars {
        Box::new(T::vars(self, lift))
    }
    fn grad(&self, next: &mut impl FnMut() -> T::Leaf) -> Self::Grad {
        Box::new(T::grad(self, next))
    }
    fn each<U>(&self, next: &mut impl FnMut() -> U) -> Self::Each<U> {
        Box::new(T::each(self, next))
    }
}

/// Parts by name, in the order of their keys, which are their names in a path. A `HashMap` has no order, and is no tree.
///
/// ```
/// use std::collections::BTreeMap;
/// use wengert::prelude::*;
/// use wengert::Paths;
/// let rates = BTreeMap::from([("growth", 2.0), ("decay", 3.0)]);
/// let slope = grad(&rates, |r| r["growth"] * r["decay"].square());
/// assert_eq!(slope, BTreeMap::from([("growth", 9.0), ("decay", 12.0)]));
/// assert_eq!(Paths::of(&rates).iter().collect::<Vec<_>>(), ["decay", "growth"]);
/// ```
impl<K: Ord + Clone + Hash + Display, T: Tree> Tree for BTreeMap<K, T> {
    type Leaf = T::Leaf;
    type Vars = BTreeMap<K, T::Vars>;
    type Grad = BTreeMap<K, T::Grad>;
    type Form = Several;
    type Each<U> = BTreeMap<K, T::Each<U>>;
    const HAS_DATA: bool = T::HAS_DATA;

    fn size(&self) -> usize {
        self.values().map(Tree::size).sum()
    }
    fn for_each_leaf(&self, visit: &mut impl FnMut(T::Leaf)) {
        self.values().for_each(|tree| tree.for_each_leaf(visit));
    }
    fn visit_leaves(&self, visit: &mut impl FnMut(&T::Leaf)) {
        self.values().for_each(|tree| tree.visit_leaves(visit));
    }
    fn structure(&self, structure: &mut Structure) {
        structure.number(self.len());
        for (key, tree) in self {
            structure.value(key);
            tree.structure(structure);
        }
    }
    fn paths(&self, paths: &mut Paths) {
        self.iter().for_each(|(key, tree)| paths.field(key, tree));
    }
    fn vars(&self, lift: &mut impl FnMut(T::Leaf) -> Active<Self>) -> Self::Vars {
        self.iter().map(|(key, tree)| (key.clone(), tree.vars(lift))).collect()
    }
    fn grad(&self, next: &mut impl FnMut() -> T::Leaf) -> Self::Grad {
        self.iter().map(|(key, tree)| (key.clone(), tree.grad(next))).collect()
    }
    fn each<U>(&self, next: &mut impl FnMut() -> U) -> Self::Each<U> {
        self.iter().map(|(key, tree)| (key.clone(), tree.each(next))).collect()
    }
}

/// A key of random numbers as a tree of its words, an `i64[2]`: so it is saved and loaded.
#[cfg(feature = "arrays")]
impl Tree for Key {
    type Leaf = Tensor;
    type Vars = Key;
    type Grad = Key;
    type Form = One;
    type Each<U> = U;
    const HAS_DATA: bool = false;

    fn size(&self) -> usize {
        1
    }
    fn for_each_leaf(&self, visit: &mut impl FnMut(Tensor)) {
        visit(self.words().clone());
    }
    fn visit_leaves(&self, visit: &mut impl FnMut(&Tensor)) {
        visit(self.words());
    }
    fn structure(&self, _structure: &mut Structure) {}
    fn paths(&self, paths: &mut Paths) {
        paths.leaf();
    }
    fn vars(&self, lift: &mut impl FnMut(Tensor) -> Tensor) -> Key {
        key_of(&lift(self.words().clone()))
    }
    fn grad(&self, next: &mut impl FnMut() -> Tensor) -> Key {
        key_of(&next())
    }
    fn each<U>(&self, next: &mut impl FnMut() -> U) -> U {
        next()
    }
}

/// The key of these words.
#[cfg(feature = "arrays")]
#[track_caller]
fn key_of(words: &Tensor) -> Key {
    Key::try_from_words(words).or_raise()
}
