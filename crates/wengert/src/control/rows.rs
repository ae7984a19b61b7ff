//! What a loop steps over, and what its steps give.

use super::{Carry, Control};
use crate::tape::Var;
#[cfg(feature = "arrays")]
use crate::tensor::Tensor;
use crate::tree::{Form, Structure, Tree, leaves};

/// What a loop steps over, one row after the other.
///
/// Over tensors a [`Tree`] of tensors, whose rows are those along axis 0. Over numbers a slice, array or `Vec` whose items are
/// the rows, trees of numbers or [`Var`]s each; or a tuple of these, of the same length. A step is a function of the numbers of a
/// row, so that rows have one structure: static fields, options and inner lengths that differ are an error.
///
/// Sealed by its methods, which are ours.
pub trait Rows<L> {
    /// One row, as the step gets it.
    type Row: Tree<Leaf = L>;
    /// A row for every row.
    type Prefixes;

    /// How many there are, or why that cannot be said.
    #[doc(hidden)]
    fn count(&self) -> Result<usize, String>;
    /// Calls `visit` with the numbers of a row in order; with all tensors, whatever the row.
    #[doc(hidden)]
    fn visit(&self, row: usize, visit: &mut dyn FnMut(L));
    /// The structure of a row, which all rows share; rows of tensors do by themselves.
    #[doc(hidden)]
    fn structure(&self, _row: usize) -> Option<u64> {
        None
    }
    /// A row of these leaves; there is one row at least.
    #[doc(hidden)]
    fn row(&self, next: &mut dyn FnMut() -> L) -> Self::Row;
    /// Rows of these leaves.
    #[doc(hidden)]
    fn prefixes(&self, leaves: Vec<L>) -> Self::Prefixes;
}

#[cfg(feature = "arrays")]
impl<X: Tree<Leaf = Tensor, Vars: Tree<Leaf = Tensor>>> Rows<Tensor> for X {
    type Row = X::Vars;
    type Prefixes = X::Vars;

    fn count(&self) -> Result<usize, String> {
        let mut length = None;
        for (k, array) in leaves(self).iter().enumerate() {
            let Some(&own) = array.shape().first() else {
                return Err(format!("leaf {k} of the arrays is a single number, and has no rows to step over"));
            };
            match length {
                None => length = Some(own),
                Some(first) if first == own => {}
                Some(first) => return Err(format!("leaf 0 of the arrays has {first} rows, and leaf {k} has {own}")),
            }
        }
        length.ok_or_else(|| "there is no array to step over; `fori` counts the steps".to_owned())
    }
    fn visit(&self, _: usize, visit: &mut dyn FnMut(Tensor)) {
        self.for_each_leaf(&mut |leaf| visit(leaf));
    }
    fn row(&self, next: &mut dyn FnMut() -> Tensor) -> X::Vars {
        self.vars(&mut |_| next())
    }
    fn prefixes(&self, leaves: Vec<Tensor>) -> X::Vars {
        let mut leaves = leaves.into_iter();
        self.vars(&mut |_| leaves.next().expect("one per leaf"))
    }
}

impl<T: Carry<Active = Var>> Rows<Var> for [T] {
    type Row = T::Vars;
    type Prefixes = Vec<T::Vars>;

    fn count(&self) -> Result<usize, String> {
        Ok(self.len())
    }
    fn visit(&self, row: usize, visit: &mut dyn FnMut(Var)) {
        self[row].for_each_leaf(&mut |leaf| visit(leaf.into()));
    }
    fn structure(&self, row: usize) -> Option<u64> {
        structure_of(&self[row])
    }
    fn row(&self, next: &mut dyn FnMut() -> Var) -> T::Vars {
        self[0].vars(&mut |_| next())
    }
    fn prefixes(&self, leaves: Vec<Var>) -> Vec<T::Vars> {
        let mut leaves = leaves.into_iter();
        self.iter().map(|row| row.vars(&mut |_| leaves.next().expect("one per leaf"))).collect()
    }
}

/// The structure of a tree, if it can be compared; a leaf by itself has none.
fn structure_of<T: Tree>(tree: &T) -> Option<u64> {
    if T::Form::IS_LEAF { None } else { Structure::of(tree).compared() }
}

/// Items behind a pointer are the same items.
macro_rules! pointer {
    ([$($generics:tt)*] $pointer:ty, $target:ty) => {
        impl<$($generics)*> Rows<Var> for $pointer {
            type Row = <$target as Rows<Var>>::Row;
            type Prefixes = <$target as Rows<Var>>::Prefixes;

            fn count(&self) -> Result<usize, String> {
                <$target as Rows<Var>>::count(self)
            }
            fn visit(&self, row: usize, visit: &mut dyn FnMut(Var)) {
                <$target as Rows<Var>>::visit(self, row, visit);
            }
            fn structure(&self, row: usize) -> Option<u64> {
                <$target as Rows<Var>>::structure(self, row)
            }
            fn row(&self, next: &mut dyn FnMut() -> Var) -> Self::Row {
                <$target as Rows<Var>>::row(self, next)
            }
            fn prefixes(&self, leaves: Vec<Var>) -> Self::Prefixes {
                <$target as Rows<Var>>::prefixes(self, leaves)
            }
        }
    };
}
pointer!([X: Rows<Var> + ?Sized] &X, X);
pointer!([T: Carry<Active = Var>] Vec<T>, [T]);
pointer!([T: Carry<Active = Var>, const N: usize] [T; N], [T]);

/// The golden ratio as 64 bits: no two structures side by side cancel.
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

/// Rows side by side.
macro_rules! tuple {
    ($($name:ident $index:tt)*) => {
        impl<$($name: Rows<Var, Prefixes = Vec<<$name as Rows<Var>>::Row>>),*> Rows<Var> for ($($name,)*) {
            type Row = ($($name::Row,)*);
            type Prefixes = Vec<Self::Row>;

            fn count(&self) -> Result<usize, String> {
                let counts = [$(self.$index.count()?),*];
                match counts.iter().position(|&count| count != counts[0]) {
                    None => Ok(counts[0]),
                    Some(k) => Err(format!("list 0 has {} rows, and list {k} has {}", counts[0], counts[k])),
                }
            }
            fn visit(&self, row: usize, visit: &mut dyn FnMut(Var)) {
                $(self.$index.visit(row, visit);)*
            }
            fn structure(&self, row: usize) -> Option<u64> {
                let parts = [$(self.$index.structure(row)),*];
                let mixed = |all: u64, part: u64| all.rotate_left(31).wrapping_mul(MIX) ^ part;
                parts.into_iter().flatten().reduce(mixed)
            }
            fn row(&self, next: &mut dyn FnMut() -> Var) -> Self::Row {
                ($(self.$index.row(next),)*)
            }
            fn prefixes(&self, leaves: Vec<Var>) -> Vec<Self::Row> {
                let mut leaves = leaves.into_iter();
                let mut next = || leaves.next().expect("one per leaf");
                (0..self.0.count().unwrap_or(0)).map(|_| self.row(&mut next)).collect()
            }
        }
    };
}
tuple!(A 0 B 1);
tuple!(A 0 B 1 C 2);
tuple!(A 0 B 1 C 2 D 3);

/// What a step of a [`scan`](crate::scan) gives beside the carry: a tree, or `()` for nothing.
pub trait StepRows<L> {
    /// The same of all steps: stacked tensors, or a list.
    type Stacked;
    /// The leaves of a step.
    #[doc(hidden)]
    fn rows(&self) -> Vec<L>;
    /// What is around the leaves.
    #[doc(hidden)]
    fn structure(&self) -> Option<u64>;
    /// The same structure with these leaves of all steps. There is no step to see only where there is none.
    #[doc(hidden)]
    fn stacked(step: Option<&Self>, leaves: Vec<L>) -> Self::Stacked;
}

#[cfg(feature = "arrays")]
impl<Y: Tree<Leaf = Tensor>> StepRows<Tensor> for Y {
    type Stacked = Y::Grad;

    fn rows(&self) -> Vec<Tensor> {
        leaves(self)
    }
    fn structure(&self) -> Option<u64> {
        structure_of(self)
    }
    fn stacked(step: Option<&Self>, leaves: Vec<Tensor>) -> Y::Grad {
        let mut leaves = leaves.into_iter();
        let step = step.expect("a step of tensors is always recorded");
        step.grad(&mut || leaves.next().expect("one per leaf"))
    }
}

impl<Y: Tree<Leaf = Var>> StepRows<Var> for Y {
    type Stacked = Vec<Y::Grad>;

    fn rows(&self) -> Vec<Var> {
        leaves(self)
    }
    fn structure(&self) -> Option<u64> {
        structure_of(self)
    }
    fn stacked(step: Option<&Self>, leaves: Vec<Var>) -> Vec<Y::Grad> {
        let Some(step) = step else { return Vec::new() };
        let count = leaves.len().checked_div(step.size()).unwrap_or(0);
        let mut leaves = leaves.into_iter();
        (0..count).map(|_| step.grad(&mut || leaves.next().expect("as many as the first step gave"))).collect()
    }
}

impl<L: Control> StepRows<L> for () {
    type Stacked = ();

    fn rows(&self) -> Vec<L> {
        Vec::new()
    }
    fn structure(&self) -> Option<u64> {
        None
    }
    fn stacked(_: Option<&Self>, _: Vec<L>) {}
}
