//! The leaves of a tree that a search or an equation moves, and those that are frozen.

use crate::tensor::Tensor;
use crate::tree::{Paths, Tree, leaves};

/// The leaves of a tree, each with a mark: a frozen one stays what it is, and the function gets it as if it had captured it.
pub(crate) struct Moved {
    all: Vec<Tensor>,
    frozen: Vec<bool>,
}

impl Moved {
    /// Those that are not frozen.
    pub(crate) fn of<T: Tree<Leaf = Tensor>>(tree: &T) -> Self {
        let all = leaves(tree);
        let frozen = if T::HAS_DATA { Paths::frozen_leaves(tree) } else { vec![false; all.len()] };
        Moved { all, frozen }
    }

    /// The leaves that move.
    pub(crate) fn point(&self) -> Vec<Tensor> {
        self.of_moved(self.all.clone())
    }

    /// Of a list with one for each leaf, those of leaves that move; another list as it is.
    pub(crate) fn of_moved(&self, list: Vec<Tensor>) -> Vec<Tensor> {
        if list.len() != self.all.len() {
            return list;
        }
        list.into_iter().zip(&self.frozen).filter(|(_, frozen)| !**frozen).map(|(leaf, _)| leaf).collect()
    }

    /// What the function gets for each leaf, of inputs for those that move.
    pub(crate) fn given(&self, mut input: impl FnMut() -> Tensor) -> impl FnMut(Tensor) -> Tensor {
        let mut frozen = self.frozen.iter();
        move |leaf| if frozen.next().is_some_and(|frozen| *frozen) { leaf } else { input() }
    }

    /// One for each leaf, of results for those that move and what `stays` makes of the others.
    pub(crate) fn with_frozen(&self, moved: Vec<Tensor>, stays: impl Fn(&Tensor) -> Tensor) -> Vec<Tensor> {
        let mut moved = moved.into_iter();
        let each = |(leaf, frozen): (&Tensor, &bool)| {
            if *frozen { stays(leaf) } else { moved.next().expect("one for each leaf that moves") }
        };
        self.all.iter().zip(&self.frozen).map(each).collect()
    }
}
