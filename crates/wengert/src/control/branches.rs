//! `cond` and `switch`: one of several functions.

use std::panic::Location;

#[cfg(feature = "arrays")]
use super::Fault;
use super::{Carry, Control, Run, raised};
use crate::tape::{Var, lift};
use crate::tree::Tree;

/// `yes(x)` if the condition, a single truth value, holds, else `no(x)`.
///
/// Over tensors both are recorded, one is run; outside a recording only the chosen function is called. Under
/// [`vmap`](crate::vmap) every example takes its own branch; the other one never reaches its derivative, and errors in it (an
/// index out of range) do not count.
///
/// Over numbers the condition is a `bool`, and it is the `if` of Rust: the chosen function is called, and what is recorded
/// remembers how the comparison came out.
///
/// ```
/// use wengert::prelude::*;
/// let xs = Tensor::from([-1.0, 4.0]);
/// let g = vmap(&xs, |x| grad(&x, |x| cond(&x.gt(0.0), &x, |x| x.sqrt(), |x| x.square())));
/// assert_eq!(g.to_vec(), [-2.0, 0.25]);
/// assert_eq!(grad(4.0, |x| cond(x > 0.0, x, |x| x.sqrt(), |x| x * x)), 0.25);
/// ```
///
/// # Panics
/// If the condition is not a single truth value, or the results differ in structure or type.
#[doc(alias = "if_else")]
#[track_caller]
pub fn cond<T, O>(
    condition: impl Into<<T::Active as Control>::Truth>,
    x: T,
    yes: impl FnOnce(T::Vars) -> O,
    no: impl FnOnce(T::Vars) -> O,
) -> O::Grad
where
    T: Carry,
    O: Tree<Leaf = T::Active>,
{
    raised(T::Active::cond(Location::caller(), condition.into(), x, yes, no))
}

/// As [`cond`], with an error instead of a panic.
///
/// # Errors
/// If the condition is not a single truth value, or the results differ in structure or type.
#[cfg(feature = "arrays")]
#[track_caller]
pub fn try_cond<T, O>(
    condition: impl Into<<T::Active as Control>::Truth>,
    x: T,
    yes: impl FnOnce(T::Vars) -> O,
    no: impl FnOnce(T::Vars) -> O,
) -> Result<O::Grad, Fault>
where
    T: Carry,
    O: Tree<Leaf = T::Active>,
{
    T::Active::cond(Location::caller(), condition.into(), x, yes, no)
}

/// The branch of an index, from 0: `branches[index](x)`.
///
/// Over tensors all are recorded, one is run. The branches take and give the same structures and types; they may capture
/// anything. Under [`vmap`](crate::vmap) every example takes its own branch, and the others never reach its derivative. An index
/// outside of the branches is an error when it runs, except where an example does not come here at all. Outside a recording
/// only the chosen function is called.
///
/// Over numbers the index is an integer or a [`Var`], and the chosen function is called. A `Var` is compared with the place, and
/// what is recorded is recorded again where another one is met; no derivative flows through it.
///
/// ```
/// use wengert::prelude::*;
/// let kernel = |k: i64, x: &Tensor| {
///     switch(Tensor::from(k), x, &[&|x| x.square(), &|x| (-x).exp(), &|x| x.sin()])
/// };
/// let x = Tensor::from(0.5);
/// assert_eq!(kernel(0, &x).item(), 0.25);
/// assert_eq!(grad(&x, |x| kernel(2, &x)).item(), 0.5f64.cos());
/// // a branch for every example
/// let (which, xs) = (Tensor::from([2, 0]), Tensor::from([1.0, 3.0]));
/// let y = vmap((&which, &xs), |(k, x)| switch(&k, &x, &[&|x| x.square(), &|x| (-x).exp(), &|x| x.sin()]));
/// assert_eq!(y.to_vec(), [1.0f64.sin(), 9.0]);
/// // over numbers, by the index of a loop
/// let mixed = |x: Var| fori(0..6, x, |i, c| switch(i % 2.0, c, &[&|c| c * x, &|c| c.sin()]));
/// assert!(grad(0.5, mixed) > 0.0);
/// ```
///
/// # Panics
/// If the index is not a single integer or outside of the branches, if there is no branch, or if the results differ in
/// structure or type.
#[doc(alias = "select")]
#[track_caller]
pub fn switch<T, O>(
    index: impl Into<<T::Active as Control>::Index>,
    x: T,
    branches: &[&dyn Fn(T::Vars) -> O],
) -> O::Grad
where
    T: Carry,
    O: Tree<Leaf = T::Active>,
{
    raised(T::Active::switch(Location::caller(), index.into(), x, branches))
}

/// As [`switch`], with an error instead of a panic.
///
/// # Errors
/// If the index is not a single integer or outside of the branches, if there is no branch, or if the results differ in
/// structure or type.
#[cfg(feature = "arrays")]
#[track_caller]
pub fn try_switch<T, O>(
    index: impl Into<<T::Active as Control>::Index>,
    x: T,
    branches: &[&dyn Fn(T::Vars) -> O],
) -> Result<O::Grad, Fault>
where
    T: Carry,
    O: Tree<Leaf = T::Active>,
{
    T::Active::switch(Location::caller(), index.into(), x, branches)
}

/// The number of a branch of a [`switch`] over numbers: an integer, or a [`Var`] that is one.
#[derive(Clone, Copy, Debug)]
pub struct Branch(pub(super) Var);

impl From<Var> for Branch {
    fn from(index: Var) -> Self {
        Branch(index)
    }
}

/// Integers are numbers of branches.
macro_rules! integers {
    ($($integer:ty)*) => {
        $(impl From<$integer> for Branch {
            fn from(index: $integer) -> Self {
                Branch(lift(index as f64))
            }
        })*
    };
}
integers!(i32 i64 u32 usize);
