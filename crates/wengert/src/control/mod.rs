//! Control flow that a derivative knows of, over tensors and over numbers alike: loops that stay loops, and branches.
//!
//! What users call says what to do; each kind of leaf knows how. Tensors have operations that hold Programs
//! (`control/arrays.rs`), numbers a block on the tape (`control/numbers.rs`).

mod branches;
mod loops;

#[cfg(feature = "arrays")]
mod arrays;
mod numbers;
mod rows;

pub use branches::{Branch, cond, switch};
#[cfg(feature = "arrays")]
pub use branches::{try_cond, try_switch};
pub use loops::{Map, Scan, While, associative_scan, fori, map, scan, while_loop};
pub use rows::{Rows, StepRows};

#[cfg(feature = "arrays")]
pub(crate) use crate::error::Error as Fault;
use crate::leaf::Leaf;
use crate::tape::recording::Line;
use crate::tree::Tree;

/// What a loop carries and a branch takes: a [`Tree`] of tensors, of [`Var`](crate::Var)s, or of plain numbers.
///
/// It is implemented for every such tree; inside, its leaves are tensors or `Var`s.
pub trait Carry: Tree<Leaf: Leaf<Active = Self::Active> + Into<Self::Active>, Vars: Tree<Leaf = Self::Active>> {
    /// `Tensor` or [`Var`](crate::Var).
    type Active: Control;
}

impl<C, L: Control> Carry for C
where
    C: Tree<Leaf: Leaf<Active = L> + Into<L>, Vars: Tree<Leaf = L>>,
{
    type Active = L;
}

/// The leaves that loops and branches compute with: `Tensor` and [`Var`](crate::Var).
///
/// Sealed: implemented for these two.
pub trait Control: Leaf<Active = Self> + Run {
    /// What a condition is: a tensor of one truth value, or a `bool`.
    type Truth;
    /// What chooses one of many branches: a tensor of one integer, or an integer or `Var`.
    type Index;
}

/// The part of [`Control`] that is ours.
pub trait Run: Sized {
    /// See [`scan`].
    #[track_caller]
    fn scan<C, X, Y>(
        scan: &Scan,
        line: Line,
        init: C,
        xs: X,
        f: impl Fn(C::Vars, X::Row) -> (C::Vars, Y),
    ) -> Result<(C::Vars, Y::Stacked), Fault>
    where
        C: Carry<Active = Self>,
        X: Rows<Self>,
        Y: StepRows<Self>;

    /// See [`fori`].
    #[track_caller]
    fn fori<C>(
        scan: &Scan,
        line: Line,
        range: std::ops::Range<i64>,
        init: C,
        f: impl Fn(Self, C::Vars) -> C::Vars,
    ) -> Result<C::Vars, Fault>
    where
        C: Carry<Active = Self>;

    /// See [`map`].
    #[track_caller]
    fn map<X, Y>(map: &Map, line: Line, xs: X, f: impl Fn(X::Row) -> Y) -> Result<Y::Stacked, Fault>
    where
        X: Rows<Self>,
        Y: StepRows<Self>;

    /// See [`while_loop`].
    #[track_caller]
    fn while_loop<C>(
        bounds: &While,
        line: Line,
        init: C,
        condition: impl Fn(C::Vars) -> Self::Truth,
        body: impl Fn(C::Vars) -> C::Vars,
    ) -> Result<C::Vars, Fault>
    where
        Self: Control,
        C: Carry<Active = Self>;

    /// See [`associative_scan`].
    #[track_caller]
    fn prefixes<X>(line: Line, xs: X, f: impl Fn(X::Row, X::Row) -> X::Row) -> Result<X::Prefixes, Fault>
    where
        X: Rows<Self>;

    /// See [`cond`].
    #[track_caller]
    fn cond<T, O>(
        line: Line,
        condition: Self::Truth,
        x: T,
        yes: impl FnOnce(T::Vars) -> O,
        no: impl FnOnce(T::Vars) -> O,
    ) -> Result<O::Grad, Fault>
    where
        Self: Control,
        T: Carry<Active = Self>,
        O: Tree<Leaf = Self>;

    /// See [`switch`].
    #[track_caller]
    fn switch<T, O>(line: Line, index: Self::Index, x: T, branches: &[&dyn Fn(T::Vars) -> O]) -> Result<O::Grad, Fault>
    where
        Self: Control,
        T: Carry<Active = Self>,
        O: Tree<Leaf = Self>;
}

/// The result, or a panic with what is wrong, at the caller's line.
#[track_caller]
fn raised<T>(result: Result<T, Fault>) -> T {
    match result {
        Ok(value) => value,
        Err(fault) => panic!("{fault}"),
    }
}

#[cfg(feature = "arrays")]
fn fault(name: &str, why: String, line: Line) -> Fault {
    Fault::new(crate::error::ErrorKind::Misfit, name, why).at(Some(line))
}

#[cfg(not(feature = "arrays"))]
fn fault(name: &str, why: String, line: Line) -> Fault {
    Fault(format!("`{name}` at {line}: {why}"))
}

/// What a user can do wrong. With arrays it is [`crate::Error`].
#[cfg(not(feature = "arrays"))]
#[derive(Clone, Debug)]
pub struct Fault(String);

#[cfg(not(feature = "arrays"))]
impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}
