//! [`freeze`]: parts of a point that keep their values.
//!
//! A frozen leaf says so in its [`Paths`] alone. Drivers ask these, and give the function the leaf itself in place of an input
//! of the recording; where a recording is kept for other points, the input, severed.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use super::{Paths, Several, Structure, Tree};
use crate::leaf::Active;

/// The tree with the leaves frozen whose paths `which` picks: for all that is differentiated they are constants.
///
/// The function of a driver gets such a leaf as if it had captured it: no cotangent of it is ever formed, its derivative of every
/// order is 0, and the gradient has zeros in its place, so that it still has the type of the point. A driver around that one
/// differentiates by it as by anything captured. Optimisers leave the leaf as it is, decay included. It is saved and loaded like
/// any other. What is always frozen in a struct is marked `#[tree(frozen)]`.
///
/// [`record`](crate::record), [`compile`](crate::compile) and the like take a frozen leaf as an argument, new at every call.
///
/// ```
/// use wengert::freeze;
/// use wengert::optim::AdamW;
/// use wengert::prelude::*;
///
/// #[derive(Tree, Clone)]
/// struct Model {
///     base: Tensor,
///     head: Tensor,
/// }
/// let model = Model { base: Tensor::from([2.0, 3.0]), head: Tensor::from([1.0, 1.0]) };
///
/// let mut model = freeze(model, |path| path.starts_with("base"));
/// let mut opt = AdamW::new(0.1);
/// let slope = grad(&model, |m| (&m.base * &m.head).square().sum());
/// assert_eq!((slope.base.to_vec(), slope.head.to_vec()), (vec![0.0, 0.0], vec![8.0, 18.0]));
/// model = opt.step(model, &slope);
/// assert_eq!(model.base.to_vec(), [2.0, 3.0]);
/// assert!(model.head.to_vec()[0] < 1.0);
/// ```
///
/// # Panics
/// If no path is picked, which is nearly always a misspelt one.
#[track_caller]
pub fn freeze<T: Tree>(tree: T, which: impl Fn(&str) -> bool) -> Frozen<T> {
    let paths = Paths::of(&tree);
    let frozen: Arc<[bool]> = paths.iter().map(which).collect();
    assert!(frozen.contains(&true), "`freeze`: it picks none of the paths {}", listed(paths.iter()));
    Frozen { tree, frozen }
}

/// A tree of which some leaves are frozen: see [`freeze`]. It can be used like the tree, and its function gets the same.
#[derive(Clone, Debug)]
pub struct Frozen<T> {
    tree: T,
    frozen: Arc<[bool]>,
}

impl<T> Frozen<T> {
    /// The tree, no longer frozen.
    ///
    /// ```
    /// use wengert::freeze;
    /// let frozen = freeze((1.0, 2.0), |path| path == "0");
    /// assert_eq!(wengert::grad(&frozen, |x| x.0 * x.1).thaw(), (0.0, 1.0));
    /// assert_eq!(wengert::grad(frozen.thaw(), |x| x.0 * x.1), (2.0, 1.0));
    /// ```
    pub fn thaw(self) -> T {
        self.tree
    }
}

impl<T> Deref for Frozen<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.tree
    }
}

impl<T> DerefMut for Frozen<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.tree
    }
}

impl<T: Tree> Tree for Frozen<T> {
    type Leaf = T::Leaf;
    type Vars = Frozen<T::Vars>;
    type Grad = Frozen<T::Grad>;
    type Form = Several;
    type Each<U> = T::Each<U>;

    fn size(&self) -> usize {
        self.tree.size()
    }
    fn for_each_leaf(&self, visit: &mut impl FnMut(Self::Leaf)) {
        self.tree.for_each_leaf(visit);
    }
    fn visit_leaves(&self, visit: &mut impl FnMut(&Self::Leaf)) {
        self.tree.visit_leaves(visit);
    }
    fn structure(&self, structure: &mut Structure) {
        structure.value(&self.frozen);
        self.tree.structure(structure);
    }
    fn paths(&self, paths: &mut Paths) {
        paths.with_frozen(&self.tree, &self.frozen);
    }
    fn vars(&self, lift: &mut impl FnMut(Self::Leaf) -> Active<Self>) -> Self::Vars {
        Frozen { tree: self.tree.vars(lift), frozen: self.frozen.clone() }
    }
    fn grad(&self, next: &mut impl FnMut() -> Self::Leaf) -> Self::Grad {
        Frozen { tree: self.tree.grad(next), frozen: self.frozen.clone() }
    }
    fn each<U>(&self, next: &mut impl FnMut() -> U) -> Self::Each<U> {
        self.tree.each(next)
    }
}

/// The first few of these, for a message.
pub(crate) fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    const MOST: usize = 12;
    let names: Vec<&str> = names.into_iter().collect();
    let shown: Vec<String> = names.iter().take(MOST).map(|name| format!("`{name}`")).collect();
    let more = names.len() - shown.len();
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{rest}", shown.join(", "))
}
