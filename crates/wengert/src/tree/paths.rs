//! [`Paths`]: the name of every leaf of a tree.

use std::fmt::{Display, Write};

use super::Tree;

/// The path of every leaf of a tree, in order: names of fields, places in lists and keys of maps, joined by dots, as in
/// `layers.0.weight`.
///
/// A pointer, an `Option`, a [`Const`](super::Const) and a [`Frozen`](super::Frozen) add nothing to a path, and a tree that is
/// itself a leaf has the empty path. [`Tree::named_leaves`] and [`Tree::map_leaves`] give the leaves along with their paths.
///
/// ```
/// use wengert::prelude::*;
/// use wengert::Paths;
///
/// #[derive(Tree)]
/// struct Layer {
///     weight: Tensor,
///     #[tree(frozen)]
///     scale: Tensor,
/// }
/// let layer = || Layer { weight: Tensor::zeros(&[2, 2]), scale: Tensor::from(1.0) };
///
/// let paths = Paths::of(&(vec![layer(), layer()], Tensor::from(3.0)));
/// assert_eq!(paths.iter().collect::<Vec<_>>(), ["0.0.weight", "0.0.scale", "0.1.weight", "0.1.scale", "1"]);
/// assert!(!paths.is_frozen(0) && paths.is_frozen(1));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Paths {
    /// The path of what is being visited; none if only the marks are wanted.
    here: Option<String>,
    /// Whether that is frozen.
    frozen: bool,
    leaves: Vec<(String, bool)>,
}

impl Paths {
    /// The paths of a tree.
    ///
    /// # Panics
    /// If an implementation of [`Tree::paths`] by hand gives another number of paths than there are leaves.
    #[track_caller]
    pub fn of<T: Tree + ?Sized>(tree: &T) -> Self {
        let mut paths = Paths { here: Some(String::new()), ..Paths::default() };
        tree.paths(&mut paths);
        let (named, leaves) = (paths.len(), tree.size());
        assert!(named == leaves, "`Tree::paths` of {}: {named} paths for {leaves} leaves", std::any::type_name::<T>());
        paths
    }

    /// Which leaves of a tree are not differentiated.
    pub(crate) fn frozen_leaves<T: Tree + ?Sized>(tree: &T) -> Vec<bool> {
        let mut paths = Paths::default();
        tree.paths(&mut paths);
        paths.leaves.into_iter().map(|(_, frozen)| frozen).collect()
    }

    /// How many leaves there are.
    pub fn len(&self) -> usize {
        self.leaves.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.leaves.is_empty()
    }

    /// The paths, in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.leaves.iter().map(|(path, _)| &path[..])
    }

    /// The path of leaf `k`.
    ///
    /// # Panics
    /// If there is no such leaf.
    #[track_caller]
    pub fn get(&self, k: usize) -> &str {
        &self.leaves[self.checked(k)].0
    }

    /// Whether leaf `k` is in a frozen part or in data, and thus not differentiated.
    ///
    /// # Panics
    /// If there is no such leaf.
    #[track_caller]
    pub fn is_frozen(&self, k: usize) -> bool {
        self.leaves[self.checked(k)].1
    }

    #[track_caller]
    fn checked(&self, k: usize) -> usize {
        assert!(k < self.len(), "there is no leaf {k}: the tree has {}", self.len());
        k
    }

    // ---- for implementations of `Tree::paths` -----------------------------------------------------

    /// Notes a leaf, at the path of the tree being visited.
    pub fn leaf(&mut self) {
        self.leaves.push((self.here.clone().unwrap_or_default(), self.frozen));
    }

    /// Notes this many leaves by their numbers.
    pub fn numbered(&mut self, count: usize) {
        for k in 0..count {
            self.under(&k, Paths::leaf);
        }
    }

    /// Notes the leaves of a part under its name. An implementation of [`Tree`] by hand names its parts so:
    ///
    /// ```
    /// use wengert::{Active, Paths, Tree};
    /// struct Pair(f64, f64);
    /// impl Tree for Pair {
    ///     type Leaf = f64;
    ///     type Vars = [wengert::Var; 2];
    ///     type Form = wengert::Several;
    ///     type Grad = Pair;
    ///     type Each<U> = [U; 2];
    ///     fn paths(&self, paths: &mut Paths) {
    ///         paths.field("left", &self.0);
    ///         paths.field("right", &self.1);
    ///     }
    ///     // and the others
    /// #   fn size(&self) -> usize { 2 }
    /// #   fn for_each_leaf(&self, visit: &mut impl FnMut(f64)) { visit(self.0); visit(self.1) }
    /// #   fn vars(&self, lift: &mut impl FnMut(f64) -> Active<Self>) -> Self::Vars { [lift(self.0), lift(self.1)] }
    /// #   fn grad(&self, next: &mut impl FnMut() -> f64) -> Pair { Pair(next(), next()) }
    /// #   fn each<U>(&self, next: &mut impl FnMut() -> U) -> [U; 2] { [next(), next()] }
    /// }
    /// assert_eq!(Paths::of(&[Pair(1.0, 2.0)]).get(1), "0.right");
    /// ```
    pub fn field<T: Tree + ?Sized>(&mut self, name: impl Display, tree: &T) {
        self.under(&name, |paths| tree.paths(paths));
    }

    /// Notes the leaves of a part that is not differentiated, at the path of the tree being visited.
    pub fn frozen<T: Tree + ?Sized>(&mut self, tree: &T) {
        let around = std::mem::replace(&mut self.frozen, true);
        tree.paths(self);
        self.frozen = around;
    }

    /// Notes the leaves of a part under its name; none of them is differentiated.
    pub fn frozen_field<T: Tree + ?Sized>(&mut self, name: impl Display, tree: &T) {
        self.under(&name, |paths| paths.frozen(tree));
    }

    /// Notes a leaf under its name.
    #[cfg(feature = "arrays")]
    pub(crate) fn named_leaf(&mut self, name: &str) {
        self.under(&name, Paths::leaf);
    }

    /// Notes a tree, some of whose leaves are frozen beyond those that are so already.
    pub(super) fn with_frozen<T: Tree + ?Sized>(&mut self, tree: &T, frozen: &[bool]) {
        let start = self.len();
        tree.paths(self);
        for ((_, is_frozen), frozen) in self.leaves[start..].iter_mut().zip(frozen) {
            *is_frozen |= frozen;
        }
    }

    fn under(&mut self, name: &dyn Display, note: impl FnOnce(&mut Self)) {
        let Some(here) = &mut self.here else { return note(self) };
        let before = here.len();
        let dot = if before == 0 { "" } else { "." };
        write!(here, "{dot}{name}").expect("a string takes everything");
        if here.len() == before + dot.len() {
            here.truncate(before);
        }
        note(self);
        if let Some(here) = &mut self.here {
            here.truncate(before);
        }
    }
}

#[cfg(test)]
mod tests;
