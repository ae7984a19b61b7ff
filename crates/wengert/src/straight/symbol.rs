//! The carrier that writes a [`List`]: a function or a rule of [`crate::ops`] that runs over it appends what it computes.
//!
//! [`Real`] is `Copy` and has no room for a list, so the list that is being written stands in a thread-local for that
//! time. The carrier counts as a plain number: rules are written out, with the formulas and the bits that plain numbers have.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::ops::{BitAnd, BitOr, Not};

use wengert_kernels::region::Kind;

use super::list::{Func, List, Node};
use crate::algorithm::Base;
use crate::ops::{Binary, Compare, Logic, Unary};
use crate::real::{Carrier, Mask, real_operators};
use crate::tape::Var;

thread_local! {
    /// The list that is being written.
    static LIST: RefCell<Option<List>> = const { RefCell::new(None) };
}

/// A number of the list: one that is known, or the result of an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Symbol {
    Number(f64),
    Node(Node),
}

/// A condition of the list.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SymbolMask {
    Known(bool),
    Node(Node),
}

/// Runs `write` with a new list, and gives the list.
pub(crate) fn write_list<R>(write: impl FnOnce() -> R) -> (List, R) {
    assert!(LIST.with_borrow(Option::is_none), "a list is written by nothing that writes another");
    LIST.set(Some(List::default()));
    let writing = Writing;
    let result = write();
    let list = LIST.take().expect("the list that is being written");
    std::mem::forget(writing);
    (list, result)
}

/// Drops the list if writing ends by a panic: the thread may go on to write others.
struct Writing;

impl Drop for Writing {
    fn drop(&mut self) {
        LIST.set(None);
    }
}

/// The list that is being written.
fn with_list<R>(f: impl FnOnce(&mut List) -> R) -> R {
    LIST.with_borrow_mut(|list| f(list.as_mut().expect("a symbol is used while its list is written")))
}

impl Symbol {
    /// The input of this number.
    pub(crate) fn input(number: u32) -> Self {
        Symbol::Node(with_list(|list| list.input(number, Kind::F64)))
    }

    /// Its operation.
    pub(crate) fn node(self) -> Node {
        match self {
            Symbol::Node(node) => node,
            Symbol::Number(number) => with_list(|list| list.real(number, Kind::F64)),
        }
    }

    /// A number again, if that is what the operation is.
    fn of(list: &List, node: Node) -> Self {
        match list.get(node).func {
            Func::Number(bits) => Symbol::Number(f64::from_bits(bits)),
            _ => Symbol::Node(node),
        }
    }
}

impl Not for SymbolMask {
    type Output = Self;
    fn not(self) -> Self {
        match self {
            SymbolMask::Known(known) => SymbolMask::Known(!known),
            SymbolMask::Node(node) => SymbolMask::Node(with_list(|list| list.logic(Logic::Not, &[node]))),
        }
    }
}

impl BitAnd for SymbolMask {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        match (self, other) {
            (SymbolMask::Known(false), _) | (_, SymbolMask::Known(false)) => SymbolMask::Known(false),
            (SymbolMask::Known(true), mask) | (mask, SymbolMask::Known(true)) => mask,
            (SymbolMask::Node(x), SymbolMask::Node(y)) => {
                SymbolMask::Node(with_list(|list| list.logic(Logic::And, &[x, y])))
            }
        }
    }
}

impl BitOr for SymbolMask {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        match (self, other) {
            (SymbolMask::Known(true), _) | (_, SymbolMask::Known(true)) => SymbolMask::Known(true),
            (SymbolMask::Known(false), mask) | (mask, SymbolMask::Known(false)) => mask,
            (SymbolMask::Node(x), SymbolMask::Node(y)) => {
                SymbolMask::Node(with_list(|list| list.logic(Logic::Or, &[x, y])))
            }
        }
    }
}

impl Mask for SymbolMask {
    const SYMBOLIC: bool = true;

    fn splat(outcome: bool) -> Self {
        SymbolMask::Known(outcome)
    }
    fn known(self) -> Option<bool> {
        match self {
            SymbolMask::Known(known) => Some(known),
            SymbolMask::Node(_) => None,
        }
    }
}

impl Base for Symbol {
    fn capture(_: Var) -> Self {
        unreachable!("a list is made of a recording without captures")
    }
    fn plain(self) -> f64 {
        match self {
            Symbol::Number(number) => number,
            Symbol::Node(_) => f64::NAN,
        }
    }
}

real_operators! { [] Symbol }

impl Carrier for Symbol {
    type Mask = SymbolMask;
    const PLAIN: bool = true;

    fn carry_constant(value: f64) -> Self {
        Symbol::Number(value)
    }
    fn carry_unary(self, op: Unary) -> Self {
        match self {
            // Exact, or rounded as everywhere.
            Symbol::Number(x) if op.roundings().is_some() => Symbol::Number(op.eval(x)),
            x => op.written_out(x).unwrap_or_else(|| {
                let x = x.node();
                with_list(|list| {
                    let node = list.unary(op, x);
                    Symbol::of(list, node)
                })
            }),
        }
    }
    fn carry_binary(self, other: Self, op: Binary) -> Self {
        op.written_out(self, other).unwrap_or_else(|| {
            let (x, y) = (self.node(), other.node());
            with_list(|list| {
                let node = list.binary(op, x, y);
                Symbol::of(list, node)
            })
        })
    }
    fn carry_compare(self, other: Self, op: Compare) -> SymbolMask {
        match (self, other) {
            (Symbol::Number(x), Symbol::Number(y)) => return SymbolMask::Known(op.eval(x, y)),
            // A condition that stands among the numbers, taken from them.
            (Symbol::Node(x), Symbol::Number(1.0)) if op == Compare::Eq => {
                if let Some(condition) = with_list(|list| list.condition(x)) {
                    return SymbolMask::Node(condition);
                }
            }
            _ => {}
        }
        let (x, y) = (self.node(), other.node());
        SymbolMask::Node(with_list(|list| list.compare(op, x, y)))
    }
    fn carry_select(mask: SymbolMask, yes: Self, no: Self) -> Self {
        match (mask, yes, no) {
            (SymbolMask::Known(mask), yes, no) => {
                if mask {
                    yes
                } else {
                    no
                }
            }
            (SymbolMask::Node(mask), Symbol::Number(1.0), Symbol::Number(no)) if no.to_bits() == 0 => {
                Symbol::Node(with_list(|list| list.convert(Kind::F64, mask)))
            }
            (SymbolMask::Node(mask), yes, no) => {
                let (yes, no) = (yes.node(), no.node());
                with_list(|list| {
                    let node = list.select(mask, yes, no);
                    Symbol::of(list, node)
                })
            }
        }
    }
    fn carry_all_finite(self) -> bool {
        match self {
            Symbol::Number(x) => x.is_finite(),
            // It is not known yet.
            Symbol::Node(_) => false,
        }
    }
}

/// Lists have no control flow: a comparison that would steer it is a guard, and those are written by what makes the list.
#[cold]
fn steers() -> ! {
    unreachable!("rules choose by masks")
}

impl PartialEq for Symbol {
    fn eq(&self, _: &Self) -> bool {
        steers()
    }
}

impl PartialOrd for Symbol {
    fn partial_cmp(&self, _: &Self) -> Option<Ordering> {
        steers()
    }
}

impl PartialEq<f64> for Symbol {
    fn eq(&self, _: &f64) -> bool {
        steers()
    }
}

impl PartialOrd<f64> for Symbol {
    fn partial_cmp(&self, _: &f64) -> Option<Ordering> {
        steers()
    }
}
