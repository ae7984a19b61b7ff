//! Taylor series of any order from the rules of first derivatives alone.
//!
//! A [`SeriesGraph`] holds one univariate series a node, `y(t) = y_0 + y_1 t + y_2 t^2 + …`, and finds
//! coefficients on demand, in increasing order. For `y = op(x)` differentiation by `t` gives
//! `y' = p x'` with `p = ∂op/∂x`, itself a series, so
//!
//! ```text
//! k y_k = sum over j = 1 … k of  j x_j p_(k-j)
//! ```
//!
//! which asks for coefficients of `p` below `k` only. `p` is what the rule in [`crate::ops`]
//! computes from `x` and `y`: the rule runs once over the carrier [`SeriesSym`], which adds nodes to the
//! same graph, and refers back to the node of `y` itself. Equal operations on equal operands are
//! one node; so `sin` and `cos` each find the other and the graph stays finite, while `lgamma` has
//! a derivative of a new kind at every order and grows by one node an order. Coefficient `k` of a
//! node costs time `O(k)`.
//!
//! Sums, differences, products and quotients have recurrences of their own (R. E. Moore, *Interval
//! Analysis*, 1966). They are arithmetic of series, not rules of differentiation.
//!
//! A coefficient that is zero whatever the numbers are, as all but the first of a constant, is not
//! stored: it never meets an infinite factor, with which it would give NaN.
//!
//! Source of the method: A. Griewank and A. Walther, *Evaluating Derivatives* (2008), chapter 13.

use std::any::Any;
use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::marker::PhantomData;

use crate::ops::{Binary, Compare, Unary};
use crate::real::{Carrier, Mask, Real, real_operators};

// ---- series as slices ---------------------------------------------------------------------------
// A coefficient beyond the end of a slice is structurally zero; so is a result of `None`.

/// Coefficient `k` of `a + b`.
#[cfg_attr(not(debug_assertions), inline(always))]
#[track_caller]
pub(crate) fn sum<B: Real>(a: &[B], b: &[B], k: usize) -> Option<B> {
    match (a.get(k), b.get(k)) {
        (Some(&a), Some(&b)) => Some(a + b),
        (a, b) => a.or(b).copied(),
    }
}

/// Coefficient `k` of `a - b`.
#[cfg_attr(not(debug_assertions), inline(always))]
#[track_caller]
pub(crate) fn difference<B: Real>(a: &[B], b: &[B], k: usize) -> Option<B> {
    match (a.get(k), b.get(k)) {
        (Some(&a), Some(&b)) => Some(a - b),
        (a, b) => a.copied().or(b.map(|&b| -b)),
    }
}

/// Coefficient `k` of `a b`, by Cauchy's product: the sum of `a_j b_(k-j)`.
#[cfg_attr(not(debug_assertions), inline(always))]
#[track_caller]
pub(crate) fn product<B: Real>(a: &[B], b: &[B], k: usize) -> Option<B> {
    let first = (k + 1).saturating_sub(b.len());
    let terms = (first..a.len().min(k + 1)).map(|j| a[j] * b[k - j]);
    terms.reduce(|sum, term| sum + term)
}

/// Coefficient `k >= 1` of `c = a / b`, given those below: `(a_k - sum over j >= 1 of b_j c_(k-j)) / b_0`.
#[cfg_attr(not(debug_assertions), inline(always))]
#[track_caller]
pub(crate) fn quotient<B: Real>(a: &[B], b: &[B], c: &[B], k: usize) -> Option<B> {
    let known = product(b.get(1..).unwrap_or(&[]), c, k - 1);
    let numerator = match (a.get(k), known) {
        (Some(&a), Some(known)) => a - known,
        (Some(&a), None) => a,
        (None, Some(known)) => -known,
        (None, None) => return None,
    };
    Some(numerator / b[0])
}

/// Coefficient `k >= 1` of the series whose derivative is the sum of `p x'` over the pairs `(x, p)`.
#[track_caller]
fn chain<'a, B: Real>(edges: impl Iterator<Item = (&'a [B], &'a [B])>, k: usize) -> Option<B> {
    let terms = edges.flat_map(|(x, p)| {
        let first = (k + 1).saturating_sub(p.len()).max(1);
        (first..x.len().min(k + 1)).map(move |j| {
            let slope = if j == 1 { x[1] } else { x[j] * j as f64 };
            slope * p[k - j]
        })
    });
    let sum = terms.reduce(|sum, term| sum + term)?;
    Some(if k == 1 { sum } else { sum / k as f64 })
}

// ---- the graph ----------------------------------------------------------------------------------

/// A node of a [`SeriesGraph`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SeriesNode(u32);

/// What a node computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Op {
    /// The constant with these bits.
    Constant(u64),
    /// A function of one argument.
    Unary(Unary, SeriesNode),
    /// A function of two arguments.
    Binary(Binary, SeriesNode, SeriesNode),
}

/// How the coefficients of a node from 1 on are found.
#[derive(Clone, Copy, Debug)]
enum SeriesRule<B: Real> {
    /// All of them are there.
    Given,
    Neg(SeriesNode),
    Sum(SeriesNode, SeriesNode),
    Difference(SeriesNode, SeriesNode),
    Product(SeriesNode, SeriesNode),
    Quotient(SeriesNode, SeriesNode),
    /// `1/b`
    Reciprocal(SeriesNode),
    /// Coefficient by coefficient the first where the mask is true, else the second.
    Select(B::Mask, SeriesNode, SeriesNode),
    /// By the rule of this operation, which has not been run yet.
    Opaque(Op),
    /// By these operands and the derivatives in them.
    Chain([Option<(SeriesNode, SeriesNode)>; 2]),
}

/// The length of a series without an end.
const ENDLESS: usize = usize::MAX;

#[derive(Debug)]
struct Series<B: Real> {
    rule: SeriesRule<B>,
    /// The coefficients found so far; at least the first.
    coefficients: Vec<B>,
    /// Coefficients from here on are structurally zero. A constant has length 1.
    length: usize,
}

impl<B: Real> Series<B> {
    /// Whether coefficient `k` and those below are there, or structurally zero.
    fn reaches(&self, k: usize) -> bool {
        self.coefficients.len() > k || self.coefficients.len() >= self.length
    }
}

/// Hashes an [`Op`], a few small numbers, by multiplying each into the state: nobody chooses the
/// keys to collide, and the standard hash costs more than finding a short series.
#[derive(Default)]
struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        // The table takes its place from the low bits; the product is best mixed in the high ones.
        self.0 ^ (self.0 >> 32)
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }
    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }
    fn write_u64(&mut self, number: u64) {
        // An odd number near 2^64 over the golden ratio (Knuth, volume 3, section 6.4).
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    fn write_isize(&mut self, number: isize) {
        self.write_u64(number as u64);
    }
}

/// Series that depend on one another.
#[derive(Debug)]
pub(crate) struct SeriesGraph<B: Real> {
    series: Vec<Series<B>>,
    nodes: HashMap<Op, SeriesNode, BuildHasherDefault<Mix>>,
}

impl<B: Real> Default for SeriesGraph<B> {
    fn default() -> Self {
        SeriesGraph { series: Vec::new(), nodes: HashMap::default() }
    }
}

impl<B: Real> SeriesGraph<B> {
    fn push(&mut self, rule: SeriesRule<B>, coefficients: Vec<B>, length: usize) -> SeriesNode {
        let node = u32::try_from(self.series.len()).expect("fewer than 2^32 series in one graph");
        self.series.push(Series { rule, coefficients, length });
        SeriesNode(node)
    }

    fn get(&self, node: SeriesNode) -> &Series<B> {
        &self.series[node.0 as usize]
    }

    /// The coefficients of a node found so far.
    pub(crate) fn coefficients(&self, node: SeriesNode) -> &[B] {
        &self.get(node).coefficients
    }

    /// A series with these coefficients and structural zeros beyond; one coefficient is a constant.
    pub(crate) fn given(&mut self, coefficients: &[B]) -> SeriesNode {
        self.push(SeriesRule::Given, coefficients.to_vec(), coefficients.len())
    }

    /// The constant number.
    pub(crate) fn constant(&mut self, value: f64) -> SeriesNode {
        self.insert(Op::Constant(value.to_bits()), B::constant(value))
    }

    fn value(&self, node: SeriesNode) -> B {
        self.get(node).coefficients[0]
    }

    fn is_constant(&self, node: SeriesNode) -> bool {
        self.get(node).length == 1
    }

    /// The node of an operation, if there is one already. `-(-x)` is `x`.
    fn find(&self, op: Op) -> Option<SeriesNode> {
        if let Op::Unary(Unary::Neg, x) = op
            && let SeriesRule::Neg(x) = self.get(x).rule
        {
            return Some(x);
        }
        self.nodes.get(&op).copied()
    }

    /// The node of an operation, whose coefficient 0 has been computed.
    pub(crate) fn insert(&mut self, op: Op, value: B) -> SeriesNode {
        if let Some(node) = self.find(op) {
            return node;
        }
        let (rule, length) = self.rule_of(op);
        let rule = if length == 1 { SeriesRule::Given } else { rule };
        // Room for a few: most series are extended.
        let mut coefficients = Vec::with_capacity(length.min(8));
        coefficients.push(value);
        let node = self.push(rule, coefficients, length);
        self.nodes.insert(op, node);
        node
    }

    /// How the series of an operation is found, and where it ends as far as that is known.
    fn rule_of(&self, op: Op) -> (SeriesRule<B>, usize) {
        let length = |node| self.get(node).length;
        let product = |a, b| length(a).saturating_add(length(b) - 1);
        match op {
            Op::Constant(_) => (SeriesRule::Given, 1),
            Op::Unary(op, x) if op.is_flat() || self.is_constant(x) => (SeriesRule::Opaque(Op::Unary(op, x)), 1),
            Op::Unary(Unary::Neg, x) => (SeriesRule::Neg(x), length(x)),
            Op::Unary(Unary::Square, x) => (SeriesRule::Product(x, x), product(x, x)),
            Op::Unary(Unary::Recip, x) => (SeriesRule::Reciprocal(x), ENDLESS),
            Op::Unary(..) => (SeriesRule::Opaque(op), ENDLESS),
            Op::Binary(op, x, y) => match op {
                Binary::Add => (SeriesRule::Sum(x, y), length(x).max(length(y))),
                Binary::Sub => (SeriesRule::Difference(x, y), length(x).max(length(y))),
                Binary::Mul => (SeriesRule::Product(x, y), product(x, y)),
                Binary::Div if self.is_constant(y) => (SeriesRule::Quotient(x, y), length(x)),
                Binary::Div => (SeriesRule::Quotient(x, y), ENDLESS),
                op => {
                    let constant = self.is_constant(x) && (self.is_constant(y) || op.is_flat_in_y());
                    (SeriesRule::Opaque(Op::Binary(op, x, y)), if constant { 1 } else { ENDLESS })
                }
            },
        }
    }

    /// `yes` where the mask is true, else `no`, coefficient by coefficient.
    #[track_caller]
    pub(crate) fn select(&mut self, mask: B::Mask, yes: SeriesNode, no: SeriesNode) -> SeriesNode {
        match mask.known() {
            Some(true) => yes,
            Some(false) => no,
            None => {
                let value = B::select(mask, self.value(yes), self.value(no));
                let length = self.get(yes).length.max(self.get(no).length);
                self.push(SeriesRule::Select(mask, yes, no), vec![value], length)
            }
        }
    }

    /// Finds the coefficients of a node up to the one of `t^k`, or up to where it ends.
    ///
    /// What is missing waits on a stack of its own: a chain of as many nodes as there are orders,
    /// or records, does not recurse. Every coefficient is computed once.
    #[track_caller]
    pub(crate) fn extend(&mut self, node: SeriesNode, k: usize) {
        let mut waiting = vec![(node, k)];
        while let Some(&(node, k)) = waiting.last() {
            let series = self.get(node);
            if series.reaches(k) {
                waiting.pop();
            } else if let SeriesRule::Opaque(op) = series.rule {
                self.differentiate(node, op);
            } else if let Some(missing) = self.missing(node) {
                waiting.push(missing);
            } else {
                let next = self.next_coefficient(node).unwrap_or(B::constant(0.0));
                self.series[node.0 as usize].coefficients.push(next);
            }
        }
    }

    /// A coefficient that the next one of this node needs and that is not there yet.
    fn missing(&self, node: SeriesNode) -> Option<(SeriesNode, usize)> {
        let series = self.get(node);
        let k = series.coefficients.len();
        let needed = match series.rule {
            SeriesRule::Given | SeriesRule::Opaque(_) => [None; 4],
            SeriesRule::Neg(x) | SeriesRule::Reciprocal(x) => [Some((x, k)), None, None, None],
            SeriesRule::Sum(x, y)
            | SeriesRule::Difference(x, y)
            | SeriesRule::Product(x, y)
            | SeriesRule::Quotient(x, y)
            | SeriesRule::Select(_, x, y) => [Some((x, k)), Some((y, k)), None, None],
            SeriesRule::Chain([a, b]) => {
                [a.map(|(x, _)| (x, k)), a.map(|(_, p)| (p, k - 1)), b.map(|(x, _)| (x, k)), b.map(|(_, p)| (p, k - 1))]
            }
        };
        needed.into_iter().flatten().find(|&(node, k)| !self.get(node).reaches(k))
    }

    /// The next coefficient of a node; everything it needs is there.
    #[track_caller]
    fn next_coefficient(&self, node: SeriesNode) -> Option<B> {
        let Series { rule, coefficients, .. } = self.get(node);
        let k = coefficients.len();
        let of = |node| self.coefficients(node);
        match *rule {
            SeriesRule::Given | SeriesRule::Opaque(_) => None,
            SeriesRule::Neg(x) => of(x).get(k).map(|&x| -x),
            SeriesRule::Sum(x, y) => sum(of(x), of(y), k),
            SeriesRule::Difference(x, y) => difference(of(x), of(y), k),
            SeriesRule::Product(x, y) => product(of(x), of(y), k),
            SeriesRule::Quotient(x, y) => quotient(of(x), of(y), coefficients, k),
            SeriesRule::Reciprocal(x) => quotient(&[], of(x), coefficients, k),
            SeriesRule::Select(mask, x, y) => {
                let part = |node| of(node).get(k).copied().unwrap_or(B::constant(0.0));
                Some(B::select(mask, part(x), part(y)))
            }
            SeriesRule::Chain(edges) => chain(edges.iter().flatten().map(|&(x, p)| (of(x), of(p))), k),
        }
    }

    /// Runs the rule of the operation at this node, which adds the nodes of its derivatives.
    #[track_caller]
    fn differentiate(&mut self, node: SeriesNode, op: Op) {
        let edges = match op {
            Op::Unary(op, x) => [Some((x, self.symbolic(|| op.partial(SeriesSym::of(x), SeriesSym::of(node))))), None],
            Op::Binary(op, x, y) => {
                let by_x = !self.is_constant(x);
                let by_y = !self.is_constant(y) && !op.is_flat_in_y();
                let (a, b, z) = (SeriesSym::of(x), SeriesSym::of(y), SeriesSym::of(node));
                if by_x && by_y {
                    let mut second = None;
                    let first = self.symbolic(|| {
                        let (p, q) = op.partials(a, b, z);
                        second = Some((y, q.node));
                        p
                    });
                    [Some((x, first)), second]
                } else if by_x {
                    [Some((x, self.symbolic(|| op.partial_x(a, b, z)))), None]
                } else {
                    [Some((y, self.symbolic(|| op.partial_y(a, b, z)))), None]
                }
            }
            Op::Constant(_) => [None; 2],
        };
        // A derivative that ends, as the constant one of |x|, makes a polynomial of a polynomial.
        let lengths = edges.iter().flatten().map(|&(x, p)| self.get(x).length.saturating_add(self.get(p).length - 1));
        let length = lengths.max().unwrap_or(1);
        let series = &mut self.series[node.0 as usize];
        series.rule = SeriesRule::Chain(edges);
        series.length = length;
    }

    /// Runs a rule over [`SeriesSym`] with this graph lent to it.
    #[track_caller]
    fn symbolic(&mut self, rule: impl FnOnce() -> SeriesSym<B>) -> SeriesNode {
        let loan = Loan::of(std::mem::take(self));
        let result = rule().node;
        *self = loan.back();
        result
    }
}

// ---- the symbolic carrier -----------------------------------------------------------------------

thread_local! {
    /// The graphs that rules are adding to, innermost last: the arithmetic of a carrier that is
    /// itself a series runs rules inside a rule. A [`SeriesSym`] is `Copy` and so cannot hold its graph.
    static LENT: RefCell<Vec<Box<dyn Any>>> = const { RefCell::new(Vec::new()) };
}

/// A graph lent to the rule that runs; taken off the thread also if the rule panics.
struct Loan<B>(PhantomData<B>);

impl<B: Real> Loan<B> {
    fn of(graph: SeriesGraph<B>) -> Self {
        LENT.with_borrow_mut(|lent| lent.push(Box::new(graph)));
        Loan(PhantomData)
    }

    fn back(self) -> SeriesGraph<B> {
        std::mem::forget(self);
        let graph = LENT.with_borrow_mut(Vec::pop).expect("the graph was lent");
        *graph.downcast().expect("loans end innermost first")
    }
}

impl<B> Drop for Loan<B> {
    fn drop(&mut self) {
        LENT.with_borrow_mut(Vec::pop);
    }
}

/// A node of the graph lent on this thread: the carrier over which rules build series.
#[derive(Clone, Copy, Debug)]
struct SeriesSym<B> {
    node: SeriesNode,
    over: PhantomData<B>,
}

impl<B: Real> SeriesSym<B> {
    fn of(node: SeriesNode) -> Self {
        SeriesSym { node, over: PhantomData }
    }

    /// Never runs the arithmetic of `B` inside, which may lend a graph of its own.
    fn with_graph<T>(access: impl FnOnce(&mut SeriesGraph<B>) -> T) -> T {
        LENT.with_borrow_mut(|lent| {
            let graph = lent.last_mut().and_then(|graph| graph.downcast_mut());
            access(graph.expect("a rule runs while its graph is lent"))
        })
    }

    fn value(self) -> B {
        Self::with_graph(|graph| graph.value(self.node))
    }

    #[track_caller]
    fn apply(op: Op, value: impl FnOnce() -> B) -> Self {
        let found = Self::with_graph(|graph| graph.find(op));
        SeriesSym::of(found.unwrap_or_else(|| {
            let value = value();
            Self::with_graph(|graph| graph.insert(op, value))
        }))
    }
}

impl<B: Real> Carrier for SeriesSym<B> {
    type Mask = B::Mask;

    fn carry_constant(value: f64) -> Self {
        SeriesSym::apply(Op::Constant(value.to_bits()), || B::constant(value))
    }
    #[track_caller]
    fn carry_unary(self, op: Unary) -> Self {
        SeriesSym::apply(Op::Unary(op, self.node), || self.value().unary(op))
    }
    #[track_caller]
    fn carry_binary(self, other: Self, op: Binary) -> Self {
        SeriesSym::apply(Op::Binary(op, self.node, other.node), || self.value().binary(other.value(), op))
    }
    #[track_caller]
    fn carry_compare(self, other: Self, op: Compare) -> B::Mask {
        self.value().compare(other.value(), op)
    }
    #[track_caller]
    fn carry_decide(self, other: Self, op: Compare) -> Option<bool> {
        self.value().decide(other.value(), op)
    }
    #[track_caller]
    fn carry_select(mask: B::Mask, yes: Self, no: Self) -> Self {
        // On a graph of its own turn: a selection of the carrier may lend graphs.
        let mut graph = Self::with_graph(std::mem::take);
        let node = graph.select(mask, yes.node, no.node);
        Self::with_graph(|lent| *lent = graph);
        SeriesSym::of(node)
    }
    fn carry_all_finite(self) -> bool {
        self.value().all_finite()
    }
}

real_operators! { [B: Real] SeriesSym<B> }

impl<B: Real> PartialEq for SeriesSym<B> {
    #[track_caller]
    fn eq(&self, other: &Self) -> bool {
        self.value() == other.value()
    }
}

impl<B: Real> PartialOrd for SeriesSym<B> {
    #[track_caller]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.value().partial_cmp(&other.value())
    }
}

impl<B: Real> PartialEq<f64> for SeriesSym<B> {
    #[track_caller]
    fn eq(&self, other: &f64) -> bool {
        self.value() == *other
    }
}

impl<B: Real> PartialOrd<f64> for SeriesSym<B> {
    #[track_caller]
    fn partial_cmp(&self, other: &f64) -> Option<Ordering> {
        self.value().partial_cmp(other)
    }
}
